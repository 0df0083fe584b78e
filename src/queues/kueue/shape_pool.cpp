#include "gangsched/queues/kueue/shape_pool.hpp"

#include <utility>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/make_room.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE std::size_t shape_pool::hash_of(const std::string& key) noexcept {
  digest made;
  made.add(key);
  return made.value();
}

GANGSCHED_INLINE shape_index shape_pool::acquire(workload_shape shape) {
  const std::size_t hash = hash_of(shape.key);
  const auto is_same = [&](shape_index other) { return shapes_[other].key == shape.key; };
  if (const shape_index* known = by_key_.find(hash, is_same)) return ++users_[*known], *known;
  by_key_.make_room();
  if (free_.empty()) {
    gangsched::detail::make_room(users_);
    if (free_.capacity() <= shapes_.size()) free_.reserve(2 * shapes_.size() + 8);  // so that release() needs no memory
    shapes_.emplace_back();
    users_.push_back(0);
    free_.push_back(static_cast<shape_index>(shapes_.size() - 1));
  }
  const shape_index made = free_.back();
  free_.pop_back();
  shapes_[made] = std::move(shape);
  users_[made] = 1;
  by_key_.insert(hash, made);
  return made;
}

GANGSCHED_INLINE void shape_pool::release(shape_index shape) noexcept {
  if (--users_[shape] > 0) return;
  by_key_.erase(hash_of(shapes_[shape].key), [&](shape_index other) { return other == shape; });
  free_.push_back(shape);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
