#pragma once
#include <span>
#include <vector>

#include "gangsched/engine/class_plan.hpp"
#include "gangsched/engine/key_groups.hpp"
#include "gangsched/engine/recent_amounts.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The results of the cached hooks for nodes, by row: the first rejecting local filter, the group, and the weighted sum of local scores.
/// Group and score are meaningful only where the verdict is `passes`.
struct row_scores {
  std::vector<std::uint8_t> verdict;
  std::vector<std::uint32_t> group;
  std::vector<std::int64_t> score;
  key_groups groups;
  const char* broken = nullptr;  ///< an error of a plugin that broke its contract, if any
  const plugin_entry* broken_by = nullptr;

  /// Takes the memory for what `refresh` remembers.
  void make_room(const model::cluster_state& state, const class_plan& plan) {
    if (plan.cached.by_amounts > 1) alike_.make_room(state.kinds.count());
    tuple_.reserve(plan.key_count());
  }
  void grow(row_t rows) {
    if (score.size() < rows) grow_to(rows);
  }

  /// Calls the local filters for every row; rows without a node get `no_node`. O(rows · hooks).
  void run_filters(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows);
  /// The local scores of rows that pass.
  void run_scores(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows);
  /// The keys and the group of a row that passes; of one that has a group, those keys again that read something of @p dirty.
  void run_keys(const model::cluster_state& state, const class_plan& plan, row_t row, reads dirty = reads::everything);
  /// The key of one of the plan's cached keyed filters, or scores.
  [[nodiscard]] static std::int64_t filter_key(const model::cluster_state& state, const class_plan& plan,
                                               const planned& hook, row_t row);
  [[nodiscard]] static std::int64_t score_key(const model::cluster_state& state, const class_plan& plan,
                                              const planned& hook, row_t row);

  /// One row again, of which @p dirty changed: the same as all of the above, where hooks by amounts are not asked what they have said of
  /// a node like it. What is known of such nodes, or null.
  amount_memory::answer* refresh(const model::cluster_state& state, const class_plan& plan, row_t row, reads dirty);

  /// Whether nothing would be remembered of so many rows (`amount_memory`), so that they may be asked about together.
  [[nodiscard]] bool remembers_nothing(const class_plan& plan, std::size_t rows) const noexcept {
    return plan.cached.by_amounts <= 1 || alike_.rests(rows);
  }
  static constexpr std::size_t most_together = amount_block::rows;
  /// `most_together` rows at most, which pass, of which @p dirty changed, which is not everything: as one after the other. O(rows · hooks).
  void refresh_passing(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows,
                       reads dirty);
  /// Whether hooks may be asked about so many rows as a block.
  [[nodiscard]] static bool fill_block(const class_plan& plan, std::size_t rows) noexcept {
    constexpr std::size_t least = 3;  // fewer are less work one by one
    return rows >= least && plan.cached.by_block != 0;
  }
  /// As `refresh_passing`, with a block of @p recent where that is possible. @pre fill_block(plan, rows)
  void refresh_block(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows,
                     reads dirty, recent_amounts& recent);

 private:
  void grow_to(row_t rows);
  void filter_again(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows,
                    reads dirty);
  [[nodiscard]] bool filter_block(const model::cluster_state& state, const class_plan& plan,
                                  std::span<const row_t> rows, const recent_amounts::window& block, reads dirty);
  void score_block(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows,
                   const recent_amounts::window& block);
  void judge(const model::cluster_state& state, const class_plan& plan, row_t row, reads dirty,
             amount_memory::answer* known);
  void rate(const model::cluster_state& state, const class_plan& plan, row_t row, amount_memory::answer* known);
  amount_memory alike_;
  std::vector<std::int64_t> tuple_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/row_scores.cpp"
#endif
