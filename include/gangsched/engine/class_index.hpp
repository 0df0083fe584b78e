#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "gangsched/engine/domain_index.hpp"
#include "gangsched/engine/group_scores.hpp"
#include "gangsched/engine/grouped_rows.hpp"
#include "gangsched/engine/node_answers.hpp"
#include "gangsched/engine/row_reasons.hpp"
#include "gangsched/engine/row_scores.hpp"
#include "gangsched/scheduling/options.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// One pod class against every node, kept up to date by replaying the change log: a tentative cursor. Per row the cached verdict,
/// group and score; per group its feasible rows by score. A placement costs one row's re-evaluation, with only the hooks that read
/// what changed. Structures and costs: docs/architecture.md, "The class index".
class GANGSCHED_API class_index {
 public:
  /// @p answers, if not null: is asked for all rows at once when the index is built.
  class_index(const model::cluster_state& state, std::shared_ptr<const class_plan> plan, engine_statistics& statistics,
              node_answers* answers = nullptr);

  [[nodiscard]] const class_plan& plan() const noexcept { return *plan_; }
  /// Catches up with the log, roll-backs included. O(rows changed since), or O(nodes) to build it.
  void sync() { static_cast<void>(sync_some(~std::size_t{0})); }
  /// The same, but builds no more than its memory, or as many rows as @p most and a few more. False if that is not all, or a hook failed:
  /// the index is then invalid, and the next call goes on. O(rows changed since + rows built).
  [[nodiscard]] bool sync_some(std::size_t most);
  /// Whether it was built, and not forgotten since.
  [[nodiscard]] bool whole() const noexcept { return whole_; }
  /// How many records of the log there are that it has not read.
  [[nodiscard]] std::uint64_t unread() const noexcept { return stale_.unread(state_->log); }

  /// Takes feasible rows out of their groups for one pick, and puts them back. O(rows).
  void hide(std::span<const row_t> rows) {
    for (const row_t row : rows) unlink(row, rows_.group[row]);
  }
  void show(std::span<const row_t> rows) {
    for (const row_t row : rows) link(row);
  }

  [[nodiscard]] const row_scores& rows() const noexcept { return rows_; }
  /// How often a row was evaluated again, and which one was last; moves on by more than one when all are.
  [[nodiscard]] std::uint64_t refreshes() const noexcept { return refreshes_; }
  [[nodiscard]] row_t last_refreshed() const noexcept { return last_refreshed_; }
  [[nodiscard]] row_t row_count() const noexcept { return row_count_; }
  /// Rows per verdict: how many each local filter rejects.
  [[nodiscard]] std::span<const std::uint32_t> verdict_counts() const noexcept { return counts_; }
  /// Whether some local filter rejects a row.
  [[nodiscard]] bool rejects_some() const noexcept { return counts_[passes] + counts_[no_node] != row_count_; }
  /// Whether rows are in their groups by score; if not (scores too wide, too many groups) a pick looks at every feasible row.
  [[nodiscard]] bool grouped() const noexcept { return grouped_; }
  [[nodiscard]] const grouped_rows& groups() const noexcept { return groups_; }
  /// The last results for the groups, if the keyed hooks would return them again; else null. O(1), or O(groups) where rows have moved.
  [[nodiscard]] const group_scores* known_group_scores() noexcept {
    return group_scores_hold_ && (group_scores_moves_ == groups_.moves() || groups_are_as_scored()) ? &group_scores_
                                                                                                    : nullptr;
  }
  /// The keyed hooks have returned that for the present groups: kept if they may return it again (`cached_parts::finish_reads`). O(groups).
  void remember_group_scores(const group_scores& said);

  /// What differs from an index built from nothing with @p fresh, if anything does. O(nodes · hooks).
  [[nodiscard]] std::optional<std::string> difference(std::shared_ptr<const class_plan> fresh) const;
  /// From the next build on the reasons of rejected rows are kept. Null before that.
  void keep_reasons() { reasons_ = std::make_unique<row_reasons>(); }
  [[nodiscard]] const row_reasons* reasons() const noexcept { return reasons_.get(); }
  /// Builds anew at the next sync.
  void forget() noexcept {
    stale_.forget();
    whole_ = false;
  }

  /// How many more pods of the class the node takes, by the cached filters: never too few. Kept from the first call on.
  [[nodiscard]] std::int64_t capacity(row_t row);
  /// The sum over all nodes.
  [[nodiscard]] std::int64_t capacity();
  /// The sums by domain. Both are synchronised. O(1), O(nodes) the first time.
  [[nodiscard]] std::span<const std::int64_t> capacities(const domain_index& domains);

 private:
  /// To go through more groups than that is no less work than to go through the nodes.
  [[nodiscard]] std::uint32_t max_groups() const noexcept { return std::max(key_groups::usual, row_count_ / 4); }
  struct capacity_sums {
    const domain_index* of;
    std::weak_ptr<const void> lifetime;  ///< of that index: once it has expired the sums are invalid
    std::uint64_t version;
    std::vector<std::int64_t> by_domain;
  };
  [[nodiscard]] bool served() const noexcept {
    return answers_ != nullptr && node_answers::serve(state_->classes[plan_->cls]);
  }
  /// Whether so many rows are asked about as a block.
  [[nodiscard]] bool fills_block(std::size_t rows) const noexcept {
    return row_scores::fill_block(*plan_, rows) && served();
  }
  void begin_build();
  void build(std::size_t most);
  void ask_all();
  void replay();
  void count_capacities();
  void keep_capacity(row_t row, std::int64_t now);
  [[nodiscard]] bool groups_are_as_scored() noexcept;
  /// @p known: of nodes like it, if not null.
  [[nodiscard]] std::int64_t capacity_now(row_t row, amount_memory::answer* known) const;
  void refresh_one(row_t row, reads facets, bool counts_capacity);
  amount_memory::answer* refresh(row_t row, reads dirty);
  void refresh_passing(std::span<const row_t> rows, reads dirty);
  void note_refreshed(row_t row, std::uint8_t verdict, std::uint32_t group, std::int64_t score);
  void learn_reasons(row_t row);
  void prefetch_stale() const noexcept;
  void link(row_t row);
  void unlink(row_t row, std::uint32_t group);

  const model::cluster_state* state_;
  std::shared_ptr<const class_plan> plan_;
  engine_statistics* statistics_;
  node_answers* answers_;
  row_scores rows_;
  row_t row_count_ = 0;
  std::uint64_t refreshes_ = 0;
  row_t last_refreshed_ = no_row;
  std::uint32_t live_groups_ = 0;  // when it was built
  grouped_rows groups_;
  std::vector<row_t> passing_;  // of a build that asks one row after the other
  bool whole_ = false;          // no row is `not_asked`
  node_answers::progress asked_upto_;
  std::vector<std::uint32_t> counts_;
  bool grouped_ = true;
  group_scores group_scores_;
  bool group_scores_hold_ = false;        // nothing that they depend on has changed except the groups
  std::uint64_t group_scores_moves_ = 0;  // `grouped_rows::moves` when the groups were as they have been scored
  stale_rows stale_;
  bool counts_capacity_ = false;
  std::vector<std::int64_t> capacity_;  // by row
  std::int64_t capacity_total_ = 0;
  std::vector<capacity_sums> capacity_sums_;
  std::unique_ptr<row_reasons> reasons_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/class_index.cpp"
#endif
