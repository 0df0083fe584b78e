#pragma once
#include <optional>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/sorted_entities.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Entities in the active queue, which may be popped. Without a queue-order plugin there is one order, that of the queue sort. With one,
/// each of its queues has such an order, and at each pop the plugin chooses among the queues' first entities: O(queues) per pop.
class GANGSCHED_API active_queue {
 public:
  struct popped {
    entity who;
    std::optional<hook_error> broken;  ///< an exception of the plugin about it
  };

  /// @p order: null without such a plugin.
  active_queue(const model::cluster_state& state, const plugin_entry& sort, const plugin_entry* order) noexcept
      : state_(&state), sort_(sort), order_(order) {}

  [[nodiscard]] const sort_order& sort() const noexcept { return sort_; }
  /// Whether a plugin assigns entities to queues.
  [[nodiscard]] bool has_queues() const noexcept { return order_ != nullptr; }
  void add(const queued& what, entity who, std::uint32_t ticket);
  /// Pops the first entity that is active by current(entry); describe(entity) gives what hooks see of an entity.
  template <class Current, class Describe>
  [[nodiscard]] std::optional<popped> pop(const Current& current, const Describe& describe, instant now);
  void clear();

 private:
  /// Nothing if it is unknown: the pod is gone, or the hook threw an exception, which @p broken gets.
  [[nodiscard]] std::optional<std::int64_t> queue_of(pod_id pod, std::optional<hook_error>& broken) const;
  [[nodiscard]] bool goes_before(const queue_head& a, const queue_head& b, std::optional<hook_error>& broken) const;
  template <class Current, class Describe>
  [[nodiscard]] std::optional<popped> pop_unknown(const Current& current, const Describe& describe);

  peer<const model::cluster_state> state_;
  sort_order sort_;
  peer<const plugin_entry> order_;
  sorted_entities all_;  // all entities; with a queue-order plugin, those whose queue is unknown
  std::map<std::int64_t, sorted_entities> by_queue_;
};

template <class Current, class Describe>
std::optional<active_queue::popped> active_queue::pop(const Current& current, const Describe& describe, instant now) {
  if (order_ != nullptr) {
    if (std::optional<popped> unknown = pop_unknown(current, describe)) return unknown;
    std::optional<popped> made;
    sorted_entities* best = nullptr;
    queue_head first;
    std::optional<hook_error> broken;
    for (auto it = by_queue_.begin(); it != by_queue_.end();) {
      const queue_entry* const head = it->second.first(sort_, current);
      if (head == nullptr && by_queue_.size() > 64) {  // a few empty ones are kept, as in sorted_entities
        it = by_queue_.erase(it);
        continue;
      }
      if (head != nullptr) {
        const queue_head its{describe(head->who), it->first, now};
        if (best == nullptr || goes_before(its, first, broken))
          best = &it->second, first = its, made = popped{head->who, {}};
      }
      ++it;
    }
    if (best == nullptr) return std::nullopt;
    best->pop_first(sort_);
    made->broken = std::move(broken);
    return made;
  }
  const queue_entry* const first = all_.first(sort_, current);
  if (first == nullptr) return std::nullopt;
  const entity who = first->who;
  all_.pop_first(sort_);
  return popped{who, {}};
}

/// Calls the hook again about an entity whose queue is unknown. Its exception is the attempt's error; this time it may succeed.
template <class Current, class Describe>
std::optional<active_queue::popped> active_queue::pop_unknown(const Current& current, const Describe& describe) {
  while (const queue_entry* const first = all_.first(sort_, current)) {
    const queue_entry one = *first;
    all_.pop_first(sort_);
    const queued what = describe(one.who);
    popped made{one.who, {}};
    const std::optional<std::int64_t> key = queue_of(what.pod, made.broken);
    if (!key) return made;
    by_queue_[*key].add(sort_, what, one.who, one.ticket);
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/active_queue.cpp"
#endif
