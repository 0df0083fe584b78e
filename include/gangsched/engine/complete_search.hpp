#pragma once
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/engine/member_packing.hpp"
#include "gangsched/engine/member_progress.hpp"
#include "gangsched/engine/placement_candidates.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The complete search for groups that greedy placing refuses. It backtracks over what greedy placing decides only once (each
/// part's domain, each member's node, which members go without) until the minimum is placed, nothing is left to try, or the
/// budget is used up. Alike members take nodes in ascending order if order does not matter; if one goes without a node, so do
/// the alike ones after it. Where filters look at other members, each order of a part's members is tried, but each
/// arrangement on nodes is looked at once, whatever order led to it. Parts of a tree, and slices, are tried in their order.
///
/// What a part needs is also a question of amounts (`member_packing`). If amounts do not suffice, the part has
/// no place; if trying the nodes of members one after another takes long, the packing that was found is tried.
class GANGSCHED_API complete_search {
 public:
  /// Its conditions, and where it places.
  struct tools {
    model::cluster_state& state;
    const entity_view& entities;
    group_parts& parts;
    placement_candidates& candidates;
    picker& picks;
    placed_members& placed;
  };
  /// @p symmetric: members' filters look at one node only, so that the order of members does not matter.
  /// @p whole: only its placements of the level @p tier are tried. @p members: of a group of pods so many find a place at least.
  complete_search(const tools& with, const group_part& whole, std::uint32_t tier, std::uint64_t budget, bool symmetric,
                  std::size_t members = 0)
      : with_(with), whole_(&whole), tier_(tier), left_(budget), symmetric_(symmetric), members_(members) {}

  /// Whether all parts found their places among the nodes @p within (null: all), inside the caller's transaction.
  [[nodiscard]] bool run(const std::vector<row_t>* within) {
    return solve(*whole_, within, [] { return true; });
  }
  /// Among these nodes, whatever placements there are.
  [[nodiscard]] bool run_within(const std::vector<row_t>& rows) {
    return fill(*whole_, &rows, [] { return true; });
  }
  [[nodiscard]] bool exhausted() const noexcept { return left_ == 0; }
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

 private:
  using continuation = std::function<bool()>;  ///< what has to succeed once a part stands
  using member_kind = std::pair<class_id, std::string_view>;

  [[nodiscard]] bool step();
  [[nodiscard]] status feasible(row_t group, const group_progress& progress) const;
  [[nodiscard]] member_kind kind_of(row_t pod) const;
  void alike_together(std::vector<row_t>& members) const;
  [[nodiscard]] std::vector<member_kind> kinds_of(const group_part& what) const;
  bool solve(const group_part& what, const std::vector<row_t>* within, const continuation& rest);
  bool fill(const group_part& what, const std::vector<row_t>* within, const continuation& rest);
  bool fill_slices(const group_part& what, std::size_t at, const member_progress& progress,
                   const std::vector<row_t>* within, const continuation& rest);
  bool fill_parts(const group_part& what, std::size_t at, group_progress groups, const std::vector<row_t>* within,
                  const continuation& rest);
  struct leaf;
  bool place_by_kind(leaf& of);
  [[nodiscard]] bool enough(const group_part& what, std::size_t count, const member_progress& progress,
                            status& said) const;
  bool place(const leaf& of, std::size_t at, std::size_t count, const member_progress& progress, row_t lowest);
  /// Which members are where: two sums of hashes, so that the order of members does not show. (Two that differ have the same sums once in
  /// 2^128 times.)
  using arrangement = std::pair<std::uint64_t, std::uint64_t>;
  bool place_in_any_order(leaf& of, const member_progress& progress, const arrangement& where);
  struct packed {
    member_packing::answer said = member_packing::answer::unknown;
    std::vector<std::pair<row_t, row_t>> where = {};  ///< member, node
  };
  [[nodiscard]] std::optional<packed> pack(const leaf& of, std::uint64_t& steps);
  [[nodiscard]] std::size_t least_of(const group_part& what) const;
  bool place_listed(const leaf& of, const std::vector<std::pair<row_t, row_t>>& all, std::size_t at,
                    const member_progress& progress);
  [[nodiscard]] std::vector<row_t> open_to(row_t pod, const std::vector<row_t>* within);
  template <class Then>
  bool place_one(row_t pod, row_t node, const Then& then);

  tools with_;
  const group_part* whole_;
  std::uint32_t tier_;
  std::uint64_t left_;
  bool symmetric_;
  std::size_t members_;
  const group_part* whole_members_ = nullptr;  ///< of the whole, alike ones together
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/complete_search.cpp"
#endif
