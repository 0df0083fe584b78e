#pragma once
#include <memory>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/class_index.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The indexes of the classes that were picked for last. What it returns is valid until another is added, or some are dropped.
class GANGSCHED_API index_cache {
 public:
  struct cached {
    class_id cls;
    std::uint64_t used;
    std::unique_ptr<class_index> index;
  };

  explicit index_cache(const model::cluster_state& state) noexcept : state_(&state) {}

  /// The class's, if its plan is still valid, or null. It need not be complete.
  [[nodiscard]] class_index* find(class_id cls) {
    const cached* const known = entry_of(cls);
    return known != nullptr ? known->index.get() : nullptr;
  }
  /// The same, and it is the one used last.
  [[nodiscard]] class_index* use(class_id cls) {
    ++clock_;
    cached* const known = entry_of(cls);
    if (known == nullptr) return nullptr;
    known->used = clock_;
    return known->index.get();
  }
  /// As the one used last; those used least go, until there are at most @p most.
  class_index& add(class_id cls, std::unique_ptr<class_index> made, std::size_t most);
  void erase(class_id cls);
  /// Frees some of those that will not be used again, because their plan is no longer valid: of classes that are gone, or from before a
  /// collection. Returns whether any was freed. Not inside a trial, after which they may be valid again. O(indexes) where inputs of plans
  /// have changed since the last time, else O(1).
  bool drop_outdated() { return state_->topologies.plan_epoch() != cleared_epoch_ && drop(); }
  void clear() noexcept { all_.clear(); }
  [[nodiscard]] const std::vector<cached>& all() const noexcept { return all_; }

 private:
  [[nodiscard]] bool is_of(const cached& one, class_id cls) const noexcept {
    return one.cls == cls && one.index->plan().holds(*state_);
  }
  [[nodiscard]] cached* entry_of(class_id cls) {
    if (cls < place_.size() && place_[cls] < all_.size() && is_of(all_[place_[cls]], cls)) return &all_[place_[cls]];
    return search(cls);
  }
  [[nodiscard]] cached* search(class_id cls);
  bool drop();

  peer<const model::cluster_state> state_;
  std::vector<cached> all_;
  std::vector<std::uint32_t> place_;  ///< by class: where its index was found last
  std::uint64_t clock_ = 0;           ///< of the least-recently-used rule; not time
  std::uint64_t cleared_epoch_ = 0;   ///< `topology_table::plan_epoch` when all that did not hold had gone
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/index_cache.cpp"
#endif
