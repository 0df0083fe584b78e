#include <cmath>
#include <map>

#include "gangsched/model/cluster_checks.hpp"

// Groups that grow in step: whether what they ask of each other can be had.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Whether some path along ratios returns to the group with less than one member of it for each that it has: no group could be first.
/// Nothing if there are too many ways to tell. (Bellman and Ford's search by logarithms: no other group has such a way.)
GANGSCHED_INLINE std::optional<bool> ratios_shrink(const model::group_table& groups, row_t row,
                                                   const std::vector<group_ratio>& ratios) {
  // A product of two ratios of numbers up to a million that is not 1 differs from it by more; one of many may differ by less, and counts
  // as 1.
  constexpr double slack = 5e-13;
  constexpr std::size_t most = 100'000;
  std::map<row_t, double> least{{row, 0.0}};  // of ways to a group: log2 of the members of the first one for one of it
  std::vector<row_t> open{row};
  std::size_t steps = 0;
  for (std::size_t at = 0; at < open.size(); ++at) {
    const row_t from = open[at];
    const double so_far = least.at(from);
    for (const group_ratio& one : from == row ? ratios : groups.record[from]->spec.ratios) {
      if (++steps > most) return std::nullopt;
      const row_t next = one.to.row;
      if (!groups.alive(next) || groups.rows.generation(next) != one.to.generation) continue;
      const double on = so_far + std::log2(one.mine) - std::log2(one.theirs);
      if (next == row) {
        if (on < -slack) return true;
        continue;
      }
      const auto [known, first] = least.try_emplace(next, on);
      if (!first && on >= known->second - slack) continue;
      known->second = on;
      open.push_back(next);
    }
  }
  return false;
}

GANGSCHED_INLINE std::optional<error> check_ratios(const model::cluster_state& state, row_t row, const group_spec& spec,
                                                   const std::string& object) {
  if (spec.ratios.empty()) return std::nullopt;
  const auto wrong = [&](errc code, const std::string& field, const char* why) {
    return error{code, object, field, why};
  };
  if (spec.composite) return wrong(errc::malformed, "ratios", "a group of groups has none");
  for (std::size_t i = 0; i < spec.ratios.size(); ++i) {
    constexpr std::int32_t most = 1'000'000;
    const group_ratio& one = spec.ratios[i];
    const std::string at = "ratios[" + std::to_string(i) + "]";
    if (!names_group(state, one.to)) return wrong(errc::unknown, at + ".to", "no such group");
    for (row_t up = spec.parent ? spec.parent.row : no_row; up != no_row; up = state.groups.parent[up]) {
      if (up == one.to.row) return wrong(errc::malformed, at + ".to", "is above the group");
    }
    if (one.to.row == row) return wrong(errc::malformed, at + ".to", "is the group itself");
    for (const auto& [value, name] : {std::pair{one.mine, ".mine"}, std::pair{one.theirs, ".theirs"}}) {
      if (value < 1) return wrong(errc::out_of_range, at + name, "is below 1");
      if (value > most) return wrong(errc::out_of_range, at + name, "is above 1000000");
    }
  }
  // (No group has a ratio to one that is new.)
  if (row == no_row) return std::nullopt;
  const std::optional<bool> shrink = ratios_shrink(state.groups, row, spec.ratios);
  if (!shrink) return wrong(errc::out_of_range, "ratios", "lead to too many groups");
  if (!*shrink) return std::nullopt;
  return wrong(errc::malformed, "ratios", "contradict those of the other groups: none of them could grow first");
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
