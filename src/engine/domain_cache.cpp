#include "gangsched/engine/domain_cache.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE domain_index& domain_cache::of(std::string_view key) {
  auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one->key() == key; });
  if (found == all_.end())
    found = all_.insert(found, std::make_unique<domain_index>(*state_, std::string{key}));
  else
    std::rotate(found, found + 1, all_.end()), found = all_.end() - 1;  // used last
  (*found)->sync();
  return **found;
}

GANGSCHED_INLINE bool domain_cache::drop() noexcept {
  const bool all = std::exchange(collections_, state_->collection.freed) != state_->collection.freed;
  all_.erase(all_.begin(), all ? all_.end() : all_.end() - std::ptrdiff_t{most});
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
