#pragma once
#include <optional>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/sorted_entities.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Entities in the active queue, which may be popped. Without a queue-order plugin there is one order, that of the queue sort. With one,
/// each of its queues has such an order, and at each pop the plugin chooses among the queues' first entities: O(queues) per pop.
class GANGSCHED_API active_queue {
 public:
  /// @p order: null without such a plugin.
  active_queue(const model::cluster_state& state, const plugin_entry& sort, const plugin_entry* order) noexcept
      : state_(&state), sort_(sort), order_(order) {}

  [[nodiscard]] const sort_order& sort() const noexcept { return sort_; }
  /// Whether a plugin assigns entities to queues.
  [[nodiscard]] bool has_queues() const noexcept { return order_ != nullptr; }
  void add(const queued& what, entity who, std::uint32_t ticket) {
    if (order_ == nullptr)
      all_.add(sort_, what, who, ticket);
    else
      add_to_its_queue(what, who, ticket);
  }
  /// Pops the first entity that is active by current(entry), of no row if there is none; describe(entity) gives what hooks see of one.
  template <class Current, class Describe>
  [[nodiscard, gnu::always_inline]] entity pop(const Current& current, const Describe& describe, instant now) {
    return order_ == nullptr ? all_.pop(sort_, current) : pop_by_plugin(current, describe, now);
  }
  /// An exception of the plugin about the entity that was popped last, or null.
  [[nodiscard]] const hook_error* broken() const noexcept { return broken_ ? &*broken_ : nullptr; }
  void clear();

 private:
  void add_to_its_queue(const queued& what, entity who, std::uint32_t ticket);
  /// Nothing if it is unknown: the pod is gone, or the hook threw an exception, which @p broken gets.
  [[nodiscard]] std::optional<std::int64_t> queue_of(pod_id pod, std::optional<hook_error>& broken) const;
  [[nodiscard]] bool goes_before(const queue_head& a, const queue_head& b, std::optional<hook_error>& broken) const;
  template <class Current, class Describe>
  [[nodiscard]] entity pop_unknown(const Current& current, const Describe& describe);
  template <class Current, class Describe>
  [[nodiscard, gnu::noinline]] entity pop_by_plugin(const Current& current, const Describe& describe, instant now);

  peer<const model::cluster_state> state_;
  sort_order sort_;
  peer<const plugin_entry> order_;
  sorted_entities all_;  // all entities; with a queue-order plugin, those whose queue is unknown
  std::map<std::int64_t, sorted_entities> by_queue_;
  std::optional<hook_error> broken_;  // only the plugin's
};

template <class Current, class Describe>
entity active_queue::pop_by_plugin(const Current& current, const Describe& describe, instant now) {
  broken_.reset();
  if (const entity unknown = pop_unknown(current, describe); unknown.row != no_row) return unknown;
  entity who;
  sorted_entities* best = nullptr;
  queue_head first;
  for (auto it = by_queue_.begin(); it != by_queue_.end();) {
    const queue_entry* const head = it->second.first(sort_, current);
    if (head == nullptr && by_queue_.size() > 64) {  // a few empty ones are kept, as in sorted_entities
      it = by_queue_.erase(it);
      continue;
    }
    if (head != nullptr) {
      const queue_head its{describe(head->who), it->first, now};
      if (best == nullptr || goes_before(its, first, broken_)) best = &it->second, first = its, who = head->who;
    }
    ++it;
  }
  if (best == nullptr) return {};
  best->pop_first(sort_);
  return who;
}

/// Calls the hook again about an entity whose queue is unknown. Its exception is the attempt's error; this time it may succeed.
template <class Current, class Describe>
entity active_queue::pop_unknown(const Current& current, const Describe& describe) {
  while (const queue_entry* const first = all_.first(sort_, current)) {
    const queue_entry one = *first;
    all_.pop_first(sort_);
    const queued what = describe(one.who);
    const std::optional<std::int64_t> key = queue_of(what.pod, broken_);
    if (!key) return one.who;
    by_queue_[*key].add(sort_, what, one.who, one.ticket);
  }
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/active_queue.cpp"
#endif
