#include "gangsched/engine/index_cache.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE index_cache::cached* index_cache::entry_of(class_id cls) {
  if (place_.size() <= cls) place_.resize(state_->classes.size());
  std::uint32_t& at = place_[cls];
  const auto is_it = [&](const cached& one) { return one.cls == cls && one.index->plan().holds(*state_); };
  if (at >= all_.size() || !is_it(all_[at]))
    at = static_cast<std::uint32_t>(std::find_if(all_.begin(), all_.end(), is_it) - all_.begin());
  return at < all_.size() ? &all_[at] : nullptr;
}

GANGSCHED_INLINE class_index* index_cache::find(class_id cls) {
  const cached* const known = entry_of(cls);
  return known != nullptr ? known->index.get() : nullptr;
}

GANGSCHED_INLINE class_index* index_cache::use(class_id cls) {
  ++clock_;
  cached* const known = entry_of(cls);
  if (known == nullptr) return nullptr;
  known->used = clock_;
  return known->index.get();
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

GANGSCHED_INLINE bool index_cache::drop_outdated() {
  constexpr std::size_t most_at_once = 16;  // so that no call takes long
  const std::uint64_t epoch = state_->topologies.plan_epoch();
  if (epoch == cleared_epoch_) return false;
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
