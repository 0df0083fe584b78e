#pragma once
#include "gangsched/framework/extension_point.hpp"

/// From the choice of a node to the host's confirm.
namespace gangsched::inline GANGSCHED_ABI {

// --- choose_devices

namespace detail {
GANGSCHED_PROBE(choose_devices)

template <class P>
consteval bool choose_devices_ok() {
  if constexpr (requires { &P::choose_devices; })
    return node_hook<P, decltype(&P::choose_devices), device_rules>::ok;
  else
    return false;
}
}  // namespace detail

/// `device_rules choose_devices(pod, [const data&,] node) const`, with parameters as for a score: which of the chosen node's devices the
/// pod gets. The first plugin that lists the point decides; without one, and where a node is only considered, the default rules do.
template <class P>
concept choose_devices_plugin = lists<P, point::choose_devices> && detail::choose_devices_ok<P>();

namespace detail {
template <>
struct extension_point<point::choose_devices> {
  struct kernels {
    device_rules (*choose_devices)(const void* self, const hook_context&, row_t row) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = choose_devices_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(choose_devices,
                   "device_rules choose_devices(const pod_view&, [const data&,] node_view<reads::...>) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.choose_devices = [](const void* p, const hook_context& c, row_t row) {
      return call<&P::choose_devices>(self_of<P>(p), c, row);
    };
  }
};
}  // namespace detail

// --- reserve

namespace detail {
GANGSCHED_PROBE(reserve)
GANGSCHED_PROBE(unreserve)
}  // namespace detail

/// `status reserve(const new_reservation&)` after a node was chosen. `void unreserve(const reservation&) noexcept` takes it back: in
/// reverse order, idempotent, possibly without reserve. Both also run inside a group's trial. If the host removed the pod or its node,
/// unreserve is not called (there is no object to pass); what was `add`ed to columns is undone all the same.
template <class P>
concept reserve_plugin = lists<P, point::reserve> && requires(P p, const new_reservation& fresh, const reservation& r) {
  { p.reserve(fresh) } -> std::same_as<status>;
  { p.unreserve(r) } noexcept -> std::same_as<void>;
};

namespace detail {
template <>
struct extension_point<point::reserve> {
  struct kernels {
    status (*reserve)(void* self, const new_reservation&) = nullptr;
    void (*unreserve)(void* self, const reservation&) noexcept = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = reserve_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_CONTRACT(reserve, names_reserve<P> || names_unreserve<P>, calls_reserve<P> || calls_unreserve<P>,
                       reserve_plugin<P>,
                       "status reserve(const new_reservation&) and void unreserve(const reservation&) noexcept");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.reserve = [](void* p, const new_reservation& r) { return heard<P>([&] { return self_of<P>(p).reserve(r); }); };
    k.unreserve = [](void* p, const reservation& r) noexcept { self_of<P>(p).unreserve(r); };
  }
};
}  // namespace detail

// --- permit

namespace detail {
GANGSCHED_PROBE(permit)
}  // namespace detail

/// `permit_verdict permit(const reservation&, permit_room&)`: success, a rejection, or wait with a timeout.
template <class P>
concept permit_plugin = lists<P, point::permit> && requires(P p, const reservation& r, permit_room& room) {
  { p.permit(r, room) } -> std::same_as<permit_verdict>;
};

namespace detail {
template <>
struct extension_point<point::permit> {
  struct kernels {
    permit_verdict (*permit)(void* self, const reservation&, permit_room&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = permit_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(permit, "permit_verdict permit(const reservation&, permit_room&)");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.permit = [](void* p, const reservation& r, permit_room& room) {
      return heard<P>([&] { return self_of<P>(p).permit(r, room); });
    };
  }
};
}  // namespace detail

// --- pre_bind

namespace detail {
GANGSCHED_PROBE(pre_bind)
}  // namespace detail

/// `status pre_bind(const reservation&, decision&)` before a bind decision is handed out: may fill in its annotation; after a rejection the
/// pod returns to the queue.
template <class P>
concept pre_bind_plugin = lists<P, point::pre_bind> && requires(P p, const reservation& r, decision& d) {
  { p.pre_bind(r, d) } -> std::same_as<status>;
};

namespace detail {
template <>
struct extension_point<point::pre_bind> {
  struct kernels {
    status (*pre_bind)(void* self, const reservation&, decision&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = pre_bind_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(pre_bind, "status pre_bind(const reservation&, decision&)");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.pre_bind = [](void* p, const reservation& r, decision& d) {
      return heard<P>([&] { return self_of<P>(p).pre_bind(r, d); });
    };
  }
};
}  // namespace detail

// --- bind

namespace detail {
GANGSCHED_PROBE(bind)
}  // namespace detail

/// `status bind(const reservation&, decision&)`: success means that the plugin handles the bind, skip leaves it to the next plugin.
template <class P>
concept bind_plugin = lists<P, point::bind> && requires(P p, const reservation& r, decision& d) {
  { p.bind(r, d) } -> std::same_as<status>;
};

namespace detail {
template <>
struct extension_point<point::bind> {
  struct kernels {
    status (*bind)(void* self, const reservation&, decision&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = bind_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(bind, "status bind(const reservation&, decision&)");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.bind = [](void* p, const reservation& r, decision& d) {
      return heard<P>([&] { return self_of<P>(p).bind(r, d); });
    };
  }
};
}  // namespace detail

// --- post_bind

namespace detail {
GANGSCHED_PROBE(post_bind)
}  // namespace detail

/// `void post_bind(const reservation&) noexcept` after the host's confirm.
template <class P>
concept post_bind_plugin = lists<P, point::post_bind> && requires(P p, const reservation& r) {
  { p.post_bind(r) } noexcept -> std::same_as<void>;
};

namespace detail {
template <>
struct extension_point<point::post_bind> {
  struct kernels {
    void (*post_bind)(void* self, const reservation&) noexcept = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = post_bind_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(post_bind, "void post_bind(const reservation&) noexcept");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.post_bind = [](void* p, const reservation& r) noexcept { self_of<P>(p).post_bind(r); };
  }
};
}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI
