#include "gangsched/engine/active_queue.hpp"

#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void active_queue::add_to_its_queue(const queued& what, entity who, std::uint32_t ticket) {
  std::optional<hook_error> broken;  // said when it is popped
  const std::optional<std::int64_t> key = queue_of(what.pod, broken);
  (key ? by_queue_[*key] : all_).add(sort_, what, who, ticket);
}

GANGSCHED_INLINE std::optional<std::int64_t> active_queue::queue_of(pod_id pod, std::optional<hook_error>& broken) const
    try {
  const std::optional<pod_info> found = cluster_view{*state_}.pod(pod);
  if (!found) return std::nullopt;
  return order_->queue_of(order_->self.get(), *found);
} catch (const hook_error& thrown) {
  broken = thrown;
  return std::nullopt;
}

/// Where the plugin has no preference, or failed, the queue sort decides.
GANGSCHED_INLINE bool active_queue::goes_before(const queue_head& a, const queue_head& b,
                                                std::optional<hook_error>& broken) const {
  if (!broken) {
    try {
      const cluster_view cluster{*state_};
      if (order_->queue_before(order_->self.get(), a, b, cluster)) return true;
      if (order_->queue_before(order_->self.get(), b, a, cluster)) return false;
    } catch (const hook_error& thrown) {
      broken = thrown;
    }
  }
  return sort_.before(a, b);
}

GANGSCHED_INLINE void active_queue::clear() {
  all_.clear();
  by_queue_.clear();
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
