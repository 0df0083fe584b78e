#pragma once
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/framework/point.hpp"
#include "gangsched/framework/signature.hpp"

/// What the traits of the extension points (points/) are made of.
namespace gangsched::inline GANGSCHED_ABI {

/// What a kernel is called with: a pod class, a pod of it (no_row while only the class is known), and the plugin's data.
struct hook_context {
  const model::viewed_tables* state;
  const pod_class* cls;
  row_t pod = no_row;
  void* data = nullptr;
};

/// How the engine treats a hook (docs/architecture.md, "Shapes").
enum class shape : std::uint8_t {
  none,    ///< the plugin has no such hook
  local,   ///< cached per class and node; asked again when the node's columns it reads change
  keyed,   ///< its key is cached like that; groups of equal keys are judged at picks
  opaque,  ///< asked for every candidate every time
};

namespace detail {

/// Everything about one extension point:
///   kernels                 its part of a plugin's row in the kernel table
///   keeps_contract<P>()     instantiated for every plugin: its static assertions are what a plugin's author reads first
///   well_formed<P>()        whether a plugin that lists the point has the hooks it needs
///   lower<P>(kernels&)      for those that list it
/// The concept (for plugins' authors) and the probes for its hooks' names stand before it in the same file.
template <point At>
struct extension_point;

/// Converts to any parameter type.
struct anything {
  template <class T>
  operator T&() const noexcept;
};
template <class T>
inline constexpr bool points_to_function =
    std::is_member_function_pointer_v<T> || (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>);

// names_: P has a member of that name that may be meant as a hook, also an overloaded, templated or private one: naming it in a class that
// inherits it from two bases is ambiguous. Data members and types do not count.
//  calls_: P has a public member function of that name. A private member cannot be told from a function and does not count.
#define GANGSCHED_PROBE(hook)                                                                          \
  struct probe_##hook {                                                                                \
    int hook;                                                                                          \
  };                                                                                                   \
  template <class P>                                                                                   \
  struct both_##hook : P, probe_##hook {};                                                             \
  template <class P>                                                                                   \
  concept keeps_##hook = requires { typename P::hook; } || requires(P& p) {                            \
    requires !std::is_function_v<std::remove_reference_t<decltype((p.hook))>>;                         \
  };                                                                                                   \
  template <class P>                                                                                   \
  concept names_##hook = !requires { &both_##hook<P>::hook; } && !keeps_##hook<P>;                     \
  template <class P>                                                                                   \
  concept calls_##hook =                                                                               \
      names_##hook<P> &&                                                                               \
      (                                                                                                \
          requires { requires points_to_function<decltype(&P::hook)>; } ||                             \
          requires(P& p, anything a) { p.hook(a); } || requires(P& p, anything a) { p.hook(a, a); } || \
          requires(P& p, anything a) { p.hook(a, a, a); } || requires(P& p, anything a) { p.hook(a, a, a, a); });

// One message per mistake in a hook; the compiler's output begins with it.
#define GANGSCHED_CONTRACT(point_name, named, called, well_formed, expected)         \
  static_assert(!P::points::set.has(point::point_name) || (named),                   \
                "gangsched: the plugin lists point::" #point_name                    \
                " but has no hook for it (misspelt?); expected: " expected);         \
  static_assert(P::points::set.has(point::point_name) || !(called),                  \
                "gangsched: the plugin has a hook for point::" #point_name           \
                " but does not list that point in its `points`");                    \
  static_assert(!P::points::set.has(point::point_name) || !(named) || (well_formed), \
                "gangsched: the hook for point::" #point_name " has the wrong type; expected: " expected)

// The same for a point with one hook, which has the point's name.
#define GANGSCHED_HOOK(hook, expected) \
  GANGSCHED_CONTRACT(hook, names_##hook<P>, calls_##hook<P>, hook##_plugin<P>, expected)

// A misspelt optional hook or value would be ignored silently. So likely misspellings are errors: only a handful for each, because each
// check costs compile time for every plugin.
#define GANGSCHED_SLIP(meant, word)                                   \
  static_assert(                                                      \
      !requires { requires points_to_function<decltype(&P::word)>; }, \
      "gangsched: the plugin has `" #word "`, which nothing calls: is `" #meant "` meant?")
#define GANGSCHED_ODD(meant, word) \
  static_assert(                   \
      !requires { P::word; }, "gangsched: the plugin has `" #word "`, which nobody reads: is `" #meant "` meant?")

template <class P>
const P& self_of(const void* self) noexcept {
  return *static_cast<const P*>(self);
}
template <class P>
P& self_of(void* self) noexcept {
  return *static_cast<P*>(self);
}

template <class P, class Arg>
decltype(auto) supply(const hook_context& c, [[maybe_unused]] row_t row) {
  using T = std::remove_cvref_t<Arg>;
  if constexpr (pod_argument<T>::is_class)
    return T{pod_view{*c.state, *c.cls}};
  else if constexpr (std::is_same_v<T, pod_info>)
    return pod_info{*c.state, c.pod};
  else if constexpr (std::is_same_v<T, cluster_view>)
    return cluster_view{*c.state};
  else if constexpr (node_argument<T>::is_node)
    return T{*c.state, row};
  else
    return *static_cast<T*>(c.data);
}

/// Calls a hook whose parameters all come from the context. It is an argument of the template, so that kernels can inline it.
template <auto Hook, class P, class... A>
[[gnu::always_inline]] inline decltype(auto) call(const P& self, const hook_context& c, row_t row, std::tuple<A...>*) {
  return heard<P>([&]() -> decltype(auto) { return (self.*Hook)(supply<P, A>(c, row)...); });
}
template <auto Hook, class P>
[[gnu::always_inline]] inline decltype(auto) call(const P& self, const hook_context& c, row_t row) {
  return call<Hook>(self, c, row, static_cast<typename signature<decltype(Hook)>::args*>(nullptr));
}

/// The same for hooks whose last parameter is given by the caller.
template <auto Hook, class P, class Last, std::size_t... I>
decltype(auto) call_with(const P& self, const hook_context& c, Last&& last, std::index_sequence<I...>) {
  using args = typename signature<decltype(Hook)>::args;
  return heard<P>([&]() -> decltype(auto) {
    return (self.*Hook)(supply<P, std::tuple_element_t<I, args>>(c, no_row)..., std::forward<Last>(last));
  });
}
template <auto Hook, class P, class Last>
decltype(auto) call_with(const P& self, const hook_context& c, Last&& last) {
  return call_with<Hook>(self, c, std::forward<Last>(last),
                         std::make_index_sequence<std::tuple_size_v<typename signature<decltype(Hook)>::args> - 1>{});
}

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI
