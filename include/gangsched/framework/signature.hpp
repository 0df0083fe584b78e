#pragma once
#include <tuple>
#include <type_traits>

#include "gangsched/framework/fwd.hpp"
#include "gangsched/framework/pod_reads.hpp"
#include "gangsched/framework/point.hpp"
#include "gangsched/framework/views.hpp"

/// Derives what a hook reads from the types of its parameters.
namespace gangsched::inline GANGSCHED_ABI::detail {

template <class T>
struct signature {
  static constexpr bool is_hook = false;
};
template <class R, class C, bool Const, class... A>
struct hook_signature {
  static constexpr bool is_hook = true;
  static constexpr bool is_const = Const;
  using result = R;
  using args = std::tuple<A...>;
};
template <class R, class C, class... A>
struct signature<R (C::*)(A...)> : hook_signature<R, C, false, A...> {};
template <class R, class C, class... A>
struct signature<R (C::*)(A...) noexcept> : hook_signature<R, C, false, A...> {};
template <class R, class C, class... A>
struct signature<R (C::*)(A...) const> : hook_signature<R, C, true, A...> {};
template <class R, class C, class... A>
struct signature<R (C::*)(A...) const noexcept> : hook_signature<R, C, true, A...> {};

template <class T>
struct node_argument {
  static constexpr bool is_node = false;
};
template <reads Reads>
struct node_argument<node_view<Reads>> {
  static constexpr bool is_node = true;
  static constexpr reads facets = Reads;
};

template <class T>
struct pod_argument {
  static constexpr bool is_class = std::is_same_v<T, pod_view>;
  static constexpr pod_reads facets = pod_reads::everything;
};
template <pod_reads Reads>
struct pod_argument<pod_part<Reads>> {
  static constexpr bool is_class = true;
  static constexpr pod_reads facets = Reads;
};

template <class P>
concept has_class_data = requires { typename P::data; };
template <class P>
concept has_cycle_data = requires { typename P::cycle_data; };
template <class P, class T>
consteval bool is_data() {
  if constexpr (has_class_data<P>)
    return std::is_same_v<T, typename P::data>;
  else if constexpr (has_cycle_data<P>)
    return std::is_same_v<T, typename P::cycle_data>;
  else
    return false;
}

/// A pod, or its class; optionally the plugin's data; optionally further, fixed parameters `Tail`.
template <class P, class Args, class... Tail>
struct pod_parameters {
  static constexpr bool ok = false;
};
template <class P, class Pod, class... Rest, class... Tail>
struct pod_parameters<P, std::tuple<Pod, Rest...>, Tail...> {
  static constexpr bool info = std::is_same_v<std::remove_cvref_t<Pod>, pod_info>;
  static constexpr bool pod_ok = info || pod_argument<std::remove_cvref_t<Pod>>::is_class;
  static constexpr pod_reads facets = pod_argument<std::remove_cvref_t<Pod>>::facets;
  template <class... R>
  static consteval bool rest_ok(std::tuple<R...>*) {
    if constexpr (sizeof...(R) == sizeof...(Tail))
      return std::is_same_v<std::tuple<R...>, std::tuple<Tail...>>;
    else
      return false;
  }
  template <class D, class... R>
  static consteval bool with_data(std::tuple<D, R...>*) {
    return is_data<P, std::remove_cvref_t<D>>() && rest_ok(static_cast<std::tuple<R...>*>(nullptr));
  }
  static consteval bool with_data(std::tuple<>*) { return false; }
  static constexpr bool data = with_data(static_cast<std::tuple<Rest...>*>(nullptr));
  static constexpr bool ok = pod_ok && (data || rest_ok(static_cast<std::tuple<Rest...>*>(nullptr)));
};

/// (pod, [data,] node) → R: filter, score, filter_key, score_key.
template <class P, class Hook, class R>
struct node_hook {
  static constexpr bool ok = false;
};
template <class P, class Hook, class R>
  requires(signature<Hook>::is_hook && std::tuple_size_v<typename signature<Hook>::args> >= 2)
struct node_hook<P, Hook, R> {
  using args = typename signature<Hook>::args;
  using node = std::remove_cvref_t<std::tuple_element_t<std::tuple_size_v<args> - 1, args>>;
  using pods = pod_parameters<P, args, std::tuple_element_t<std::tuple_size_v<args> - 1, args>>;
  static constexpr bool ok = signature<Hook>::is_const && std::is_same_v<typename signature<Hook>::result, R> &&
                             node_argument<node>::is_node && pods::ok;
  static consteval reads read() {
    if constexpr (node_argument<node>::is_node)
      return node_argument<node>::facets;
    else
      return reads::everything;
  }
  static constexpr reads facets = read();
  /// Called anew for every pod and every candidate, because it reads everything of the node, the pod itself, or data of the cycle.
  static consteval bool is_opaque() {
    if constexpr (ok)
      return facets == reads::everything || pods::info || (pods::data && has_cycle_data<P>);
    else
      return true;
  }
  static constexpr bool opaque = is_opaque();
  static constexpr bool takes_data = pods::data;
};

/// Of a node what pods do not change.
inline constexpr reads steady_reads = reads::name | reads::labels | reads::taints | reads::schedulable |
                                      reads::allocatable | reads::images | reads::features;

/// Whether @p Tell is a hook that says what a key of the class is computed from, and @p Key a key of which that can be said.
template <class P, class Key, class Tell>
consteval bool tells_key_reads() {
  using key = node_hook<P, Key, std::int64_t>;
  if constexpr (!signature<Tell>::is_hook || !key::ok)
    return false;
  else
    return signature<Tell>::is_const && std::is_void_v<typename signature<Tell>::result> && !key::opaque &&
           covers(steady_reads | reads::pods, key::facets) &&
           pod_parameters<P, typename signature<Tell>::args, key_reads&>::ok;
}

/// Whether @p Tell is a hook that says which labels another depends on.
template <class P, class Tell>
consteval bool tells_label_keys() {
  if constexpr (!signature<Tell>::is_hook)
    return false;
  else
    return signature<Tell>::is_const && std::is_same_v<typename signature<Tell>::result, bool> &&
           pod_parameters<P, typename signature<Tell>::args, std::vector<symbol>&>::ok;
}

/// The parts of a pod's class that a hook with these parameters reads.
template <class... A>
consteval pod_reads read_of_pod(std::tuple<A...>*) {
  return pod_argument<std::remove_cvref_t<std::tuple_element_t<0, std::tuple<A...>>>>::facets;
}
template <class P>
consteval pod_reads read_by_pre_hooks() {
  pod_reads read = pod_reads::nothing;
  if constexpr (P::points::set.has(point::pre_filter))
    read = read | read_of_pod(static_cast<typename signature<decltype(&P::pre_filter)>::args*>(nullptr));
  if constexpr (P::points::set.has(point::pre_score))
    read = read | read_of_pod(static_cast<typename signature<decltype(&P::pre_score)>::args*>(nullptr));
  return read;
}
/// The parts of a pod's class that decide a cached hook's result: what it reads, and what the hooks that fill its data read.
template <class P, class Hook, class R>
consteval pod_reads decided_by() {
  using hook = node_hook<P, Hook, R>;
  if constexpr (hook::takes_data)
    return read_of_pod(static_cast<typename signature<Hook>::args*>(nullptr)) | read_by_pre_hooks<P>();
  else
    return read_of_pod(static_cast<typename signature<Hook>::args*>(nullptr));
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
