#include "gangsched/engine/index_cache.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE index_cache::cached* index_cache::search(class_id cls) {
  if (place_.size() <= cls) place_.resize(state_->classes.size());
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const cached& one) { return is_of(one, cls); });
  place_[cls] = static_cast<std::uint32_t>(found - all_.begin());
  return found != all_.end() ? &*found : nullptr;
}

GANGSCHED_INLINE class_index& index_cache::add(class_id cls, std::unique_ptr<class_index> made, std::size_t most) {
  const auto oldest = [&] {
    return std::min_element(all_.begin(), all_.end(), [](const cached& a, const cached& b) { return a.used < b.used; });
  };
  while (all_.size() >= most) all_.erase(oldest());
  return *all_.emplace_back(cached{cls, ++clock_, std::move(made)}).index;
}

GANGSCHED_INLINE void index_cache::erase(class_id cls) {
  std::erase_if(all_, [&](const cached& one) { return one.cls == cls; });
}

GANGSCHED_INLINE bool index_cache::drop() {
  constexpr std::size_t most_at_once = 16;  // so that no call takes long
  const std::uint64_t epoch = state_->topologies.plan_epoch();
  std::size_t dropped = 0;
  std::erase_if(all_, [&](const cached& one) {
    const bool goes = dropped < most_at_once && !one.index->plan().holds(*state_);
    dropped += goes ? 1 : 0;
    return goes;
  });
  if (dropped < most_at_once) cleared_epoch_ = epoch;
  return dropped != 0;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
