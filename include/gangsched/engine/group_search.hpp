#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "gangsched/engine/placement_candidates.hpp"
#include "gangsched/scheduling/options.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Members that preempt for themselves while their group is placed, as in Kubernetes 1.36.
class member_preemption {
 public:
  member_preemption() = default;
  member_preemption(const member_preemption&) = delete;
  member_preemption& operator=(const member_preemption&) = delete;

  /// A group's attempt begins.
  virtual void begin() = 0;
  /// Whether the members of the group do.
  [[nodiscard]] virtual bool preempts(row_t group) const = 0;
  /// The node that a member would have after its victims; or none.
  [[nodiscard]] virtual row_t make_room(row_t pod) = 0;
  /// All members of a part were tried: they may have to wait for the victims.
  virtual void settle(status& verdict, const placed_members& placed) = 0;

 protected:
  ~member_preemption() = default;
};

/// The outcome of a group's attempt.
struct group_outcome {
  status verdict;
  std::uint64_t rejectors = 0;  ///< as in `picked`
  bool of_group =
      false;  ///< an error that means that the group cannot be placed as it stands, and not that a hook failed
};

/// The first member that found no node in the placement where most members had one, and the plugins that rejected it.
struct group_lack {
  row_t member = no_row;
  std::size_t placed = 0;  ///< members that had a node by then
  std::uint64_t plugins = 0;
  shared_words words = {};  ///< null if they are not counted
};

/// The same with the members that were placed, up to reserve, inside the caller's transaction.
struct group_placement : group_outcome {
  placed_members members;
  group_lack lack = {};
  /// What each lacks that found no node though the group did without it, if `search_effort` asks for that (`place`).
  std::unordered_map<row_t, group_lack> own_lacks = {};
};

/// How far a search goes beyond greedy placing.
struct search_effort {
  std::uint64_t* budget = nullptr;  ///< steps of complete searches, of which what is used is taken; null: none
  std::size_t members = 0;          ///< of a group of pods so many have to find a place, also if its minimum is less
  bool own_lacks = false;           ///< record for each member that finds none why, at the cost of its texts
};

/// Finding places for a group (KEP-4671, KEP-5732): for each part the placements inside those of the part above it; in each the members
/// one after another, or the parts below; the best one stays. Everything is tried in transactions, and nothing of a failed attempt is left.
class GANGSCHED_API group_search {
 public:
  group_search(model::cluster_state& state, const entity_view& entities, group_parts& parts, picker& picks,
               reservations& reserved, const scheduler_options& options, engine_statistics& statistics) noexcept
      : state_(&state),
        entities_(&entities),
        parts_(&parts),
        picks_(&picks),
        reserved_(&reserved),
        budget_(options.search_budget),
        statistics_(&statistics),
        candidates_(state, entities, parts, picks) {}
  /// From now on @p how is called while members are tried; before, none of them preempts. It must outlive the search.
  void let_members_preempt(member_preemption& how) noexcept { evictions_ = &how; }

  /// In the best placement. No member is placed if the verdict is not success. @p complete: a full search follows if greedy placing fails,
  /// within the budget.
  [[nodiscard]] group_placement place(const group_part& whole, bool complete = true);
  [[nodiscard]] group_placement place(const group_part& whole, const search_effort& how);
  /// Among these nodes (ascending), whatever placements there are. Some may be placed even if the verdict is not success. No member
  /// preempts.
  [[nodiscard]] group_placement place_within(const group_part& whole, const std::vector<row_t>& rows,
                                             const search_effort& how = {});
  /// Whose hooks' errors verdicts are.
  [[nodiscard]] const hook_errors& errors() const noexcept { return picks_->errors; }
  /// Steps that complete searches for one group may take.
  [[nodiscard]] std::uint64_t budget() const noexcept { return budget_; }
  /// Its members one after another on any nodes, also if they are too few.
  [[nodiscard]] group_placement place_members(const group_part& whole);
  /// An empty list, for callers that place members one by one.
  [[nodiscard]] placed_members nobody() noexcept { return {*state_, *reserved_}; }
  /// For callers that try pods elsewhere that have a node.
  [[nodiscard]] reservations::supposed_releases supposed_releases() noexcept {
    return reservations::supposed_releases{*reserved_};
  }
  /// The time that hooks get.
  [[nodiscard]] instant now() const noexcept { return reserved_->now(); }

  [[nodiscard]] placement_candidates& candidates() noexcept { return candidates_; }

 private:
  /// @p how: of a whole group: complete searches come for each level of `within` after it was tried greedily; if its minimum holds, for its
  /// parts.
  group_outcome choose(const group_part& what, const std::vector<row_t>* within, placed_members& placed,
                       const search_effort& how);
  template <class Attempt>
  group_outcome enough(const search_effort& how, placed_members& placed, const Attempt& attempt);
  group_outcome choose_among(const group_part& what, candidate_list& list, std::uint32_t tier,
                             const std::vector<row_t>* within, placed_members& placed, const search_effort& for_parts);
  group_outcome fill(const group_part& what, const std::vector<row_t>* within, placed_members& placed,
                     const search_effort& for_parts = {});
  group_outcome try_members(const group_part& what, const std::vector<row_t>* within, placed_members& placed);
  group_outcome try_parts(const group_part& what, const std::vector<row_t>* within, placed_members& placed,
                          const search_effort& for_parts);
  [[nodiscard]] status ask_pre_filters(row_t group) const;
  [[nodiscard]] bool is_basic(row_t group) const {
    return !std::holds_alternative<gang>(state_->groups.record[group]->spec.policy);
  }
  [[nodiscard]] status feasible(row_t group, const group_progress& progress) const;
  [[nodiscard]] group_lack lack_of(row_t pod, const picked& found, const status& said,
                                   const std::vector<row_t>* within) const;
  // group_search_planned.cpp
  group_outcome place_planned(const group_part& what, const std::vector<row_t>* within, placed_members& placed);
  // group_search_ranks.cpp
  status order_by_rank(const group_part& what, placed_members& placed, std::size_t from);
  status order_all_by_rank(const group_part& of, placed_members& placed);
  // group_search_complete.cpp
  [[nodiscard]] bool worth_searching(const group_part& whole);
  [[nodiscard]] group_part without_plans(group_part of) const;
  group_outcome search_completely(const group_part& whole, group_outcome refused, std::optional<std::uint32_t> tier,
                                  placed_members& placed, const search_effort& how, const std::vector<row_t>* within);

  model::cluster_state* state_;
  const entity_view* entities_;
  group_parts* parts_;
  picker* picks_;
  reservations* reserved_;
  std::uint64_t budget_;
  engine_statistics* statistics_;
  member_preemption* evictions_ = nullptr;
  placement_candidates candidates_;
  // Of the attempt under way: the last result for each member counts.
  group_lack lack_;
  std::unordered_map<row_t, group_lack> own_lacks_;
  bool asks_own_lacks_ = false;
  bool may_preempt_ = false;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/group_search.cpp"
#include "gangsched/src/engine/group_search_complete.cpp"
#include "gangsched/src/engine/group_search_planned.cpp"
#include "gangsched/src/engine/group_search_ranks.cpp"
#endif
