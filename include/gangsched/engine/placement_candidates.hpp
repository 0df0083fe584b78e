#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "gangsched/engine/bound_memory.hpp"
#include "gangsched/engine/domain_cache.hpp"
#include "gangsched/engine/group_parts.hpp"
#include "gangsched/engine/placed_members.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// A placement that a part may be tried in. A domain's nodes are not looked up before they are needed.
struct placement_candidate {
  const placement* from = nullptr;
  domain_index* domains = nullptr;  ///< null: the nodes of `from`
  domain_id domain = no_domain;
  bool whole = true;  ///< nothing of the domain is out of bounds
  std::uint32_t tier = 0;
  std::uint64_t room = 0;  ///< members that find room there, at most
  bool tried = false;
  bool feasible = false;

  /// Of its domain, else of its placement.
  [[nodiscard]] std::string_view name() const { return domains != nullptr ? domains->name(domain) : from->name; }
};

/// The placements of one part, and the scores of those that were tried.
///
/// A scorer's result is either a score in [0, 100] or relative to the best. `bound` and `raw` hold one number per candidate and scorer. The
/// search tries the candidate with the highest bound until no other can win: bounds never lie below scores, and a relative score is bounded
/// only while no untried candidate may have more than the most seen.
struct candidate_list {
  std::vector<placement_candidate> all;
  class_counts classes;  ///< of the members
  std::uint64_t members = 0;
  hook_range scorers{nullptr, {}};
  std::vector<std::int64_t> bound, raw;
  std::vector<std::int64_t> most;  ///< by relative scorer: the highest raw score seen
  struct rule {
    std::int64_t weight;
    bool relative;
  };
  std::vector<rule> rules;  ///< of each scorer, side by side

  void set_scorers(hook_range hooks) {
    scorers = hooks;
    for (const plugin_entry& one : hooks) rules.push_back({one.weight, one.relative_placement_score});
    bound.assign(all.size() * hooks.size(), 0);
    raw.assign(all.size() * hooks.size(), 0);
    most.assign(hooks.size(), 0);
  }
  void note(std::size_t which, const std::vector<std::int64_t>& scores) {
    for (std::size_t s = 0; s < scorers.size(); ++s) {
      raw[which * scorers.size() + s] = scores[s];
      most[s] = std::max(most[s], scores[s]);
    }
  }
  /// The weighted sum of one candidate's numbers. False in @p known if it may still turn out higher than anything that was seen.
  [[nodiscard]] std::int64_t total(const std::vector<std::int64_t>& of, std::size_t which, bool& known) const {
    std::int64_t sum = 0;
    const std::int64_t* number = of.data() + which * rules.size();
    const std::int64_t* highest = most.data();
    for (const rule& one : rules) {
      const std::int64_t mine = *number++;
      const std::int64_t top = *highest++;
      if (!one.relative) {
        sum += one.weight * mine;
      } else if (mine > top) {
        known = false;
        sum += one.weight * max_node_score;
      } else if (top != 0) {
        sum += one.weight * (mine == top ? max_node_score : max_node_score * mine / top);
      }
    }
    return sum;
  }
};

/// Where a part of a group may be tried: the generators' placements, how much room there is at most, and which scores it cannot exceed.
/// Caches the domains of labels, and the bounds of their scores by the shape of the demand.
class GANGSCHED_API placement_candidates {
 public:
  placement_candidates(model::cluster_state& state, const entity_view& entities, group_parts& parts,
                       picker& picks) noexcept
      : state_(&state), entities_(&entities), parts_(&parts), picks_(&picks), domains_(state) {}

  [[nodiscard]] domain_cache& domains() noexcept { return domains_; }

  /// The generators' placements, intersected pairwise; of a slice the domains that it may share. A generator's status in @p said, if it is
  /// not success.
  [[nodiscard]] std::vector<placement> placements(const group_part& what, status& said);
  /// Appends the placement, or one for each domain of the label that it stands for.
  void expand(const placement& one, std::vector<placement>& out);
  /// The nodes that the group's affinity to other groups allows of @p within (all, if null), which are in @p out if it excludes any. A
  /// group without a member on a node has no effect.
  [[nodiscard]] const std::vector<row_t>* beside_others(row_t group, const std::vector<row_t>* within,
                                                        std::vector<row_t>& out);
  /// Expands the placements @p where, which the answer points to, and bounds what fits into each: per class of the members by its cached
  /// filters, so never too low.
  [[nodiscard]] candidate_list of(const group_part& what, const std::vector<placement>& where,
                                  const std::vector<row_t>* within);
  /// The nodes of a candidate, ascending.
  [[nodiscard]] static std::vector<row_t> rows_of(const placement_candidate& one, const std::vector<row_t>* within);
  /// The scores that the candidates with room for @p least members cannot exceed. O(candidates) where they are domains.
  void bound_scores(const group_part& what, candidate_list& list, const std::vector<row_t>* within,
                    std::uint64_t least);
  /// The score of the candidate @p which, where the members after the first @p from are placed now. @p rows: its nodes; null: all.
  void score(const group_part& what, candidate_list& list, std::size_t which, const std::vector<row_t>* rows,
             const placed_members& placed, std::size_t from);

  /// Between attempts: what was not used lately, or may be of names that were collected since, goes.
  void drop_unused() {
    if (domains_.drop_unused()) forget_bounds();  // they know them by their addresses
  }
  void forget_bounds() { bounds_ = {}; }
  void clear() {
    forget_bounds();
    domains_.clear();
  }

 private:
  model::cluster_state* state_;
  const entity_view* entities_;
  group_parts* parts_;
  picker* picks_;
  domain_cache domains_;
  bound_memory bounds_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/placement_candidates.cpp"
#endif
