#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "gangsched/core/hash.hpp"
#include "gangsched/engine/class_plan.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Numbers for tuples of cached keys: the groups of a class. Usually few; as many as there are nodes if a raw score differs on each.
class key_groups {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  void reset(std::size_t keys) {
    keys_ = keys;
    tuples_.clear();
    table_.assign(16, none);
    count_ = 0;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] std::int64_t key(std::uint32_t group, std::size_t which) const noexcept {
    return tuples_[group * keys_ + which];
  }
  /// The group of a tuple, made on first sight. O(1).
  std::uint32_t find_or_add(std::span<const std::int64_t> tuple) {
    if (2 * (count_ + 1) > table_.size()) grow();
    std::size_t at = place(tuple);
    for (; table_[at] != none; at = (at + 1) & (table_.size() - 1)) {
      if (std::equal(tuple.begin(), tuple.end(), tuples_.begin() + static_cast<std::ptrdiff_t>(table_[at] * keys_)))
        return table_[at];
    }
    table_[at] = count_;
    tuples_.insert(tuples_.end(), tuple.begin(), tuple.end());
    return count_++;
  }

 private:
  [[nodiscard]] std::size_t place(std::span<const std::int64_t> tuple) const noexcept {
    std::uint64_t hash = 0;
    for (const std::int64_t key : tuple) hash = mix64(hash ^ static_cast<std::uint64_t>(key));
    return static_cast<std::size_t>(hash) & (table_.size() - 1);
  }
  void grow() {
    table_.assign(2 * table_.size(), none);
    for (std::uint32_t group = 0; group < count_; ++group) {
      std::size_t at = place({tuples_.data() + group * keys_, keys_});
      while (table_[at] != none) at = (at + 1) & (table_.size() - 1);
      table_[at] = group;
    }
  }
  std::size_t keys_ = 0;
  std::vector<std::int64_t> tuples_;
  std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(16, none);  // open addressing, at most half full
  std::uint32_t count_ = 0;
};

/// What the cached hooks say of nodes, by row: the first rejecting local filter, the group, and the weighted sum of local scores.
/// Group and score mean something only where the verdict is `passes`.
struct row_scores {
  std::vector<std::uint8_t> verdict;
  std::vector<std::uint32_t> group;
  std::vector<std::int64_t> score;
  key_groups groups;
  const char* broken = nullptr;  ///< a plugin's broken contract, if one was seen
  const plugin_entry* broken_by = nullptr;

  void grow(row_t rows) {
    if (verdict.size() >= rows) return;
    verdict.resize(rows, no_node);
    group.resize(rows, key_groups::none);
    score.resize(rows, 0);
  }

  /// Asks the local filters about every row; rows without a node get `no_node`. O(rows · hooks).
  void run_filters(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows);
  /// The local scores of rows that pass.
  void run_scores(const model::cluster_state& state, const class_plan& plan, std::span<const row_t> rows);
  void run_keys(const model::cluster_state& state, const class_plan& plan, row_t row);
  /// The key of one of the plan's cached keyed filters, or scores.
  [[nodiscard]] static std::int64_t filter_key(const model::cluster_state& state, const class_plan& plan,
                                               std::size_t which, row_t row);
  [[nodiscard]] static std::int64_t score_key(const model::cluster_state& state, const class_plan& plan,
                                              std::size_t which, row_t row);

  /// One row again, of which @p dirty changed: the same as all of the above, where hooks by amounts are not asked what they have said of
  /// a node like it. What is known of such nodes, or null.
  amount_memory::answer* refresh(const model::cluster_state& state, const class_plan& plan, row_t row, reads dirty);

 private:
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
