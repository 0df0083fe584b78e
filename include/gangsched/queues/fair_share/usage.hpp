#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/queue_tree.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {

/// The use of queues, as the caller counts it: for a queue including those below it. Complexities of readers assume O(1) per call.
class usage {
 public:
  virtual ~usage() = default;
  [[nodiscard]] virtual std::int64_t used(queue_index queue, std::size_t resource) const = 0;
  /// The number of running jobs.
  [[nodiscard]] virtual std::int64_t running(queue_index queue) const = 0;
};

/// Counts by itself. The tree has to outlive it.
class usage_counts final : public usage {
 public:
  usage_counts(const queue_tree& tree, std::size_t resources)
      : tree_(&tree), resources_(resources), used_(tree.size() * resources), running_(tree.size()) {}

  /// A job starts. @p amounts by resource. O(depth · resources).
  void start(queue_index queue, std::span<const std::int64_t> amounts) { count(queue, amounts, 1); }
  /// It ends. @pre It was started.
  void end(queue_index queue, std::span<const std::int64_t> amounts) { count(queue, amounts, -1); }

  [[nodiscard]] std::int64_t used(queue_index queue, std::size_t resource) const override {
    return used_[queue * resources_ + resource];
  }
  [[nodiscard]] std::int64_t running(queue_index queue) const override { return running_[queue]; }

 private:
  void count(queue_index queue, std::span<const std::int64_t> amounts, std::int64_t sign) {
    for (; queue != no_queue; queue = tree_->parent(queue)) {
      running_[queue] += sign;
      for (std::size_t i = 0; i < resources_; ++i) used_[queue * resources_ + i] += sign * amounts[i];
    }
  }
  const queue_tree* tree_;
  std::size_t resources_;
  std::vector<std::int64_t> used_, running_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share
