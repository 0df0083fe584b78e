#pragma once
#include <span>
#include <vector>

#include "gangsched/engine/class_plan.hpp"

namespace gangsched::engine {

/// Numbers for tuples of cached keys: the groups of a class. Few; looked up by scanning.
class key_groups {
 public:
  static constexpr std::uint16_t none = 0xffff;

  void reset(std::size_t keys) {
    keys_ = keys;
    tuples_.clear();
    count_ = 0;
  }
  [[nodiscard]] std::uint16_t size() const noexcept { return count_; }
  [[nodiscard]] std::int64_t key(std::uint16_t group, std::size_t which) const noexcept {
    return tuples_[group * keys_ + which];
  }
  /// The group of a tuple, made on first sight. O(groups).
  std::uint16_t find_or_add(std::span<const std::int64_t> tuple) {
    for (std::uint16_t group = 0; group < count_; ++group) {
      std::size_t i = 0;
      while (i < keys_ && tuples_[group * keys_ + i] == tuple[i]) ++i;
      if (i == keys_) return group;
    }
    tuples_.insert(tuples_.end(), tuple.begin(), tuple.end());
    return count_++;
  }

 private:
  std::size_t keys_ = 0;
  std::vector<std::int64_t> tuples_;
  std::uint16_t count_ = 0;
};

/// What the cached hooks say of nodes, by row: the first rejecting local filter, the group, and the weighted sum of local scores.
/// Group and score mean something only where the verdict is `passes`.
struct row_scores {
  std::vector<std::uint8_t> verdict;
  std::vector<std::uint16_t> group;
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
  void run_filters(const cluster_state& state, const class_plan& plan, std::span<const row_t> rows);
  /// Asks only those that read @p dirty; right only where every local filter passed before.
  void run_filters(const cluster_state& state, const class_plan& plan, std::span<const row_t> rows, reads dirty);
  /// The local scores of rows that pass.
  void run_scores(const cluster_state& state, const class_plan& plan, std::span<const row_t> rows);
  void run_keys(const cluster_state& state, const class_plan& plan, row_t row);

 private:
  std::vector<std::int64_t> tuple_;
};

}  // namespace gangsched::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/row_scores.cpp"
#endif
