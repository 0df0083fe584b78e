#include <algorithm>

#include "gangsched/model/cluster_checks.hpp"

// Groups that grow in step: whether what they ask of each other can be had.
namespace gangsched::detail {

/// The groups that a way along ratios has led through, and how many members of the first it allows for one of the last: mine / theirs.
struct ratio_way {
  std::vector<row_t> through;
  double mine = 1, theirs = 1;  ///< exact up to 2^53
};

/// Whether going on comes back to the first group with less than one member of it for each that it has: then nobody could go first.
/// O(ways between the groups).
GANGSCHED_INLINE bool ratios_shrink(const group_table& groups, const std::vector<group_ratio>& ratios, const ratio_way& way) {
  for (const group_ratio& one : ratios) {
    const row_t next = one.to.row;
    if (!groups.alive(next) || groups.rows.generation(next) != one.to.generation) continue;
    ratio_way on{way.through, way.mine * one.mine, way.theirs * one.theirs};
    if (next == way.through.front()) {
      if (on.mine < on.theirs) return true;
      continue;
    }
    if (std::find(way.through.begin(), way.through.end(), next) != way.through.end()) continue;
    on.through.push_back(next);
    if (ratios_shrink(groups, groups.record[next]->spec.ratios, on)) return true;
  }
  return false;
}

GANGSCHED_INLINE std::optional<error> check_ratios(const cluster_state& state, row_t row, const group_spec& spec, const std::string& object) {
  if (spec.ratios.empty()) return std::nullopt;
  const auto wrong = [&](errc code, const std::string& field, const char* why) { return error{code, object, field, why}; };
  const gang* policy = std::get_if<gang>(&spec.policy);
  if (spec.composite) return wrong(errc::malformed, "ratios", "a group of groups has none");
  if (policy != nullptr && policy->mode == gang_mode::permit) return wrong(errc::malformed, "ratios", "a gang in permit mode has none");
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
  // (Nobody has a ratio to a group that is new.)
  if (row == no_row || !ratios_shrink(state.groups, spec.ratios, {{row}})) return std::nullopt;
  return wrong(errc::malformed, "ratios", "contradict those of the other groups: none of them could grow first");
}

}  // namespace gangsched::detail
