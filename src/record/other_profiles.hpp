#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/src/record/frames.hpp"

namespace gangsched::inline GANGSCHED_ABI::record {

[[nodiscard]] inline std::string list_of_plugins(const std::vector<std::uint16_t>& order, const profile_words& of) {
  std::string text;
  for (const std::uint16_t at : order) {
    if (!text.empty()) text += ", ";
    text += at < of.plugins.size() ? of.plugins[at].name : "?";
  }
  return text.empty() ? "none" : text;
}

/// What of the profiles is not as it was when it was @p done.
[[nodiscard]] inline std::optional<error> other_profiles(const std::vector<profile_words>& then,
                                                         const std::vector<profile_words>& now,
                                                         const std::string& done) {
  const auto other = [&](const std::string& profile, std::string field, const std::string& was, const std::string& is) {
    return error{errc::wrong_state, "profile " + profile, std::move(field),
                 "was " + was + " when it was " + done + ", is " + is};
  };
  if (then.size() != now.size())
    return error{
        errc::wrong_state, "scheduler", "profiles",
        "were " + std::to_string(then.size()) + " when it was " + done + ", are " + std::to_string(now.size())};
  for (std::size_t i = 0; i < then.size(); ++i) {
    const profile_words &a = then[i], &b = now[i];
    if (a.scheduler_name != b.scheduler_name)
      return other(a.scheduler_name, "scheduler_name", a.scheduler_name, b.scheduler_name);
    for (std::size_t p = 0; p < std::max(a.plugins.size(), b.plugins.size()); ++p) {
      const std::string was = p < a.plugins.size() ? a.plugins[p].name : "none";
      const std::string is = p < b.plugins.size() ? b.plugins[p].name : "none";
      if (was != is || p >= a.plugins.size() || p >= b.plugins.size())  // (one may be called "none")
        return other(a.scheduler_name, "plugins[" + std::to_string(p) + "]", was, is);
      if (a.plugins[p].weight != b.plugins[p].weight)
        return other(a.scheduler_name, "weight of " + was, std::to_string(a.plugins[p].weight),
                     std::to_string(b.plugins[p].weight));
    }
    for (std::size_t p = 0; p < std::max(a.order.size(), b.order.size()); ++p) {
      if (p >= a.order.size() || p >= b.order.size() || a.order[p] != b.order[p])
        return other(a.scheduler_name, "point " + std::to_string(p),
                     p < a.order.size() ? list_of_plugins(a.order[p], a) : "none",
                     p < b.order.size() ? list_of_plugins(b.order[p], b) : "none");
    }
    if (bytes_of(a) != bytes_of(b))
      return other(a.scheduler_name, "points or percentage of nodes to score", "other", "as here");
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
