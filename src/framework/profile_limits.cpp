#include "gangsched/framework/profile_limits.hpp"

#include <string>
#include <utility>

#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE std::optional<error> beyond_limits(const kernel_table& profile) {
  constexpr std::size_t most_filters = 253, most_permits = 64;
  constexpr std::int64_t most_weight = (std::int64_t{1} << 53) / max_node_score;
  const auto refuse = [&](const char* at, std::string why) {
    return error{errc::out_of_range, "profile " + profile.scheduler_name, at, std::move(why)};
  };
  const auto refuse_count = [&](const char* at, std::size_t most) {
    return refuse(at, "a profile has at most " + std::to_string(most) + " plugins there");
  };
  if (profile.at(point::filter).size() > most_filters) return refuse_count("filter", most_filters);
  if (profile.at(point::permit).size() > most_permits) return refuse_count("permit", most_permits);
  for (const auto& [at, name] :
       {std::pair{point::score, "score"}, std::pair{point::score_placement, "score_placement"}}) {
    std::int64_t left = most_weight;
    for (const plugin_entry& plugin : profile.hooks(at)) {
      if (plugin.weight < 0) return refuse((plugin.name + ".weight").c_str(), "is negative");
      if (plugin.weight > left) return refuse(name, "total score of its plugins, weight x 100, could exceed 2^53");
      left -= plugin.weight;
    }
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
