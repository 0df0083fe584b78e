#pragma once
#include "gangsched/framework/extension_point.hpp"

/// Hooks that order the queue, keep pods out of it, and wake waiting pods.
namespace gangsched::inline GANGSCHED_ABI {

// --- queue_sort

namespace detail {
GANGSCHED_PROBE(key)
GANGSCHED_PROBE(less)
GANGSCHED_PROBE(reads_run_time)
}  // namespace detail

/// Orders the queue; exactly one in a profile. `sort_key key(const queued&) const noexcept`, or a strict weak order
/// `bool less(const queued&, const queued&) const noexcept`. No cluster access. With a key O(1) per pod, with less O(log n). One that
/// reads `queued::expected_run_time` says so by `bool reads_run_time() const noexcept`: O(members) then whenever a member comes or goes.
template <class P>
concept queue_sort_plugin = lists<P, point::queue_sort> && (
                                                               requires(const P p, const queued& q) {
                                                                 { p.key(q) } noexcept -> std::same_as<sort_key>;
                                                               } ||
                                                               requires(const P p, const queued& q) {
                                                                 { p.less(q, q) } noexcept -> std::same_as<bool>;
                                                               });

namespace detail {
template <>
struct extension_point<point::queue_sort> {
  struct kernels {
    sort_key (*sort_by_key)(const void* self, const queued&) noexcept = nullptr;
    bool (*sort_less)(const void* self, const queued&, const queued&) noexcept = nullptr;
    bool (*sorts_by_run_time)(const void* self) noexcept = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = queue_sort_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_CONTRACT(
        queue_sort, names_key<P> || names_less<P>, calls_key<P> || calls_less<P>, queue_sort_plugin<P>,
        "sort_key key(const queued&) const noexcept, or bool less(const queued&, const queued&) const noexcept");
    static_assert(!keeps_reads_run_time<P>,
                  "gangsched: reads_run_time is a function: bool reads_run_time() const noexcept");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    if constexpr (calls_reads_run_time<P>)
      k.sorts_by_run_time = [](const void* p) noexcept -> bool { return self_of<P>(p).reads_run_time(); };
    if constexpr (requires(const P& p, const queued& q) {
                    { p.key(q) } noexcept -> std::same_as<sort_key>;
                  }) {
      k.sort_by_key = [](const void* p, const queued& q) noexcept { return self_of<P>(p).key(q); };
    } else {
      k.sort_less = [](const void* p, const queued& a, const queued& b) noexcept { return self_of<P>(p).less(a, b); };
    }
  }
};
}  // namespace detail

// --- queue_order

namespace detail {
GANGSCHED_PROBE(queue_of)
GANGSCHED_PROBE(queue_before)
}  // namespace detail

/// Orders several queues; at most one such plugin in a scheduler. `std::int64_t queue_of(const pod_info&) const`, or a symbol: the pod's
/// queue; a group is in that of its first pending member. `bool queue_before(const queue_head&, const queue_head&, const cluster_view&)
/// const`, a strict weak order: whose head is popped first, as the cluster is now. Of equal heads, and within a queue, queue_sort decides.
template <class P>
concept queue_order_plugin =
    lists<P, point::queue_order> &&
    requires(const P p, const pod_info& pod, const queue_head& head, const cluster_view& cluster) {
      requires std::same_as<decltype(p.queue_of(pod)), std::int64_t> || std::same_as<decltype(p.queue_of(pod)), symbol>;
      { p.queue_before(head, head, cluster) } -> std::same_as<bool>;
    };

namespace detail {
template <>
struct extension_point<point::queue_order> {
  struct kernels {
    std::int64_t (*queue_of)(const void* self, const pod_info&) = nullptr;
    bool (*queue_before)(const void* self, const queue_head&, const queue_head&, const cluster_view&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = queue_order_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_CONTRACT(
        queue_order, (names_queue_of<P> && names_queue_before<P>), (calls_queue_of<P> || calls_queue_before<P>),
        queue_order_plugin<P>,
        "std::int64_t queue_of(const pod_info&) const (or symbol), and bool queue_before(const queue_head&, "
        "const queue_head&, const cluster_view&) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.queue_of = [](const void* p, const pod_info& pod) -> std::int64_t {
      return heard<P>([&]() -> std::int64_t {
        if constexpr (std::same_as<decltype(self_of<P>(p).queue_of(pod)), symbol>)
          return self_of<P>(p).queue_of(pod).value;
        else
          return self_of<P>(p).queue_of(pod);
      });
    };
    k.queue_before = [](const void* p, const queue_head& a, const queue_head& b, const cluster_view& cluster) {
      return heard<P>([&] { return self_of<P>(p).queue_before(a, b, cluster); });
    };
  }
};
}  // namespace detail

// --- pre_enqueue

namespace detail {
GANGSCHED_PROBE(pre_enqueue)
}  // namespace detail

/// `status pre_enqueue(const pod_info&) const`: anything but success keeps the pod (and the group it is queued with) out of the queue.
/// Called again whenever the pod, its group or a sibling changes, or as docs/extension-points/pre-enqueue.md says.
template <class P>
concept pre_enqueue_plugin = lists<P, point::pre_enqueue> && requires(const P p, const pod_info& pod) {
  { p.pre_enqueue(pod) } -> std::same_as<status>;
};

namespace detail {
template <>
struct extension_point<point::pre_enqueue> {
  struct kernels {
    status (*pre_enqueue)(const void* self, const pod_info&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = pre_enqueue_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(pre_enqueue, "status pre_enqueue(const pod_info&) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.pre_enqueue = [](const void* p, const pod_info& pod) {
      return heard<P>([&] { return self_of<P>(p).pre_enqueue(pod); });
    };
  }
};
}  // namespace detail

// --- requeue

namespace detail {
GANGSCHED_PROBE(requeue)
}  // namespace detail

/// `hint requeue(const event&, const pod_view&) const`: whether a change can help a pod that this plugin rejected; called for the events in
/// `static constexpr events wakes_on`, or, without that, for every event. A hook that takes the pod itself (`const pod_info&`) answers for
/// pods, not for classes, and is called under wake_rule::hints only. Without a hook the engine decides by what the filter reads: for a
/// change of a node, whether the pod now passes the filters there.
template <class P>
concept requeue_plugin = lists<P, point::requeue> && requires(const P p, const event& e, const pod_info& pod) {
  { p.requeue(e, pod) } -> std::same_as<hint>;
};

namespace detail {
template <>
struct extension_point<point::requeue> {
  struct kernels {
    hint (*requeue)(const void* self, const event&,
                    const pod_view&) = nullptr;  ///< null if the hook takes the pod itself
    hint (*requeue_pod)(const void* self, const event&, const pod_info&) = nullptr;  ///< either kind
    events wakes_on = events::anything;                                              ///< events that it is called for
  };
  template <class P>
  static constexpr bool well_formed = requeue_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(requeue, "hint requeue(const event&, const pod_view&) const, or with const pod_info&");
    static_assert(
        P::points::set.has(point::requeue) || !requires { P::wakes_on; },
        "gangsched: the plugin has `wakes_on`, which nobody reads without a hook for point::requeue");
    if constexpr (P::points::set.has(point::requeue) && !requires { P::wakes_on; }) {
      GANGSCHED_ODD(wakes_on, wake_on);
      GANGSCHED_ODD(wakes_on, wakes_ons);
      GANGSCHED_ODD(wakes_on, wakesOn);
      GANGSCHED_ODD(wakes_on, WakesOn);
      GANGSCHED_ODD(wakes_on, woken_by);
      GANGSCHED_ODD(wakes_on, wakes_up_on);
      GANGSCHED_ODD(wakes_on, events_to_register);
      GANGSCHED_ODD(wakes_on, EventsToRegister);
    }
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.requeue_pod = [](const void* p, const event& v, const pod_info& pod) {
      return heard<P>([&] { return self_of<P>(p).requeue(v, pod); });
    };
    if constexpr (requires(const P& p, const event& v, const pod_view& pod) { p.requeue(v, pod); }) {
      k.requeue = [](const void* p, const event& v, const pod_view& pod) {
        return heard<P>([&] { return self_of<P>(p).requeue(v, pod); });
      };
    }
    if constexpr (requires {
                    { P::wakes_on } -> std::convertible_to<events>;
                  })
      k.wakes_on = P::wakes_on;
  }
};
}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI
