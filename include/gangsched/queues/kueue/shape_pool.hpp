#pragma once

#include <cstdint>
#include <vector>

#include "gangsched/core/hash_index.hpp"
#include "gangsched/queues/kueue/workload_shape.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

using shape_index = std::uint32_t;

/// Shapes, each stored once, with reference counts.
class GANGSCHED_API shape_pool {
 public:
  /// The number of the shape with this key, with one more reference. O(key).
  shape_index acquire(workload_shape shape);
  /// Adds a reference. O(1).
  void retain(shape_index shape) noexcept { ++users_[shape]; }
  /// Drops a reference; the number of a shape without references is reused. O(key).
  void release(shape_index shape) noexcept;
  [[nodiscard]] const workload_shape& operator[](shape_index shape) const noexcept { return shapes_[shape]; }
  [[nodiscard]] std::size_t users(shape_index shape) const noexcept { return users_[shape]; }
  /// How many shapes are in use.
  [[nodiscard]] std::size_t known() const noexcept { return shapes_.size() - free_.size(); }
  /// The bound of every number.
  [[nodiscard]] std::size_t size() const noexcept { return shapes_.size(); }

 private:
  [[nodiscard]] static std::size_t hash_of(const std::string& key) noexcept;

  std::vector<workload_shape> shapes_;
  std::vector<std::uint32_t> users_;
  std::vector<shape_index> free_;
  hash_index<shape_index> by_key_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/shape_pool.cpp"
#endif
