#pragma once
#include "gangsched/framework/extension_point.hpp"

/// Which nodes are feasible, and which pods are preempted if none is.
namespace gangsched::inline GANGSCHED_ABI {

// --- pre_filter

namespace detail {
GANGSCHED_PROBE(pre_filter)
GANGSCHED_PROBE(add_pod)
GANGSCHED_PROBE(remove_pod)

template <class P>
consteval bool pre_filter_ok() {
  if constexpr (requires { &P::pre_filter; }) {
    using s = signature<decltype(&P::pre_filter)>;
    if constexpr (!s::is_hook)
      return false;
    else if constexpr (has_cycle_data<P>)
      return s::is_const && std::is_same_v<typename s::result, status> &&
             std::is_same_v<typename s::args,
                            std::tuple<const pod_info&, const cluster_view&, typename P::cycle_data&>>;
    else
      return s::is_const && std::is_same_v<typename s::result, status> &&
             (pod_parameters<P, typename s::args>::ok || pod_parameters<P, typename s::args, node_names&>::ok) &&
             !pod_parameters<P, typename s::args>::info;
  } else {
    return false;
  }
}
template <class P>
consteval bool increments_ok() {
  if constexpr (!calls_add_pod<P> && !calls_remove_pod<P>)
    return true;
  else if constexpr (!has_cycle_data<P>)
    return false;
  else
    return requires(const P p, const pod_info& pod, typename P::cycle_data& data, const node_info& node) {
      { p.add_pod(pod, data, pod, node) } -> std::same_as<status>;
      { p.remove_pod(pod, data, pod, node) } -> std::same_as<status>;
    };
}
}  // namespace detail

/// `status pre_filter(const pod_view&, [data&,] [node_names&]) const`, once per pod class: fills `P::data` for the other hooks; skip turns
/// the plugin's filter off for the class; a rejection holds for every node; node_names restricts the nodes. A plugin with `P::cycle_data`
/// instead runs once per cycle, `(const pod_info&, const cluster_view&, cycle_data&)`, may read everything, and may follow a trial by
/// `status add_pod / remove_pod(const pod_info& pod, cycle_data&, const pod_info& other, const node_info&) const`.
template <class P>
concept pre_filter_plugin = lists<P, point::pre_filter> && detail::pre_filter_ok<P>() && detail::increments_ok<P>();

namespace detail {
template <>
struct extension_point<point::pre_filter> {
  struct kernels {
    status (*pre_filter)(const void* self, const hook_context&, node_names&) = nullptr;
    status (*add_pod)(const void* self, const pod_info&, void* data, const pod_info&, const node_info&) = nullptr;
    status (*remove_pod)(const void* self, const pod_info&, void* data, const pod_info&, const node_info&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = pre_filter_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    if constexpr (P::points::set.has(point::pre_filter) && has_cycle_data<P>) {
      if constexpr (!calls_add_pod<P>) {
        GANGSCHED_SLIP(add_pod, add_pods);
        GANGSCHED_SLIP(add_pod, AddPod);
        GANGSCHED_SLIP(add_pod, addPod);
        GANGSCHED_SLIP(add_pod, addpod);
        GANGSCHED_SLIP(add_pod, added_pod);
        GANGSCHED_SLIP(add_pod, pod_added);
        GANGSCHED_SLIP(add_pod, on_add_pod);
      }
      if constexpr (!calls_remove_pod<P>) {
        GANGSCHED_SLIP(remove_pod, remove_pods);
        GANGSCHED_SLIP(remove_pod, RemovePod);
        GANGSCHED_SLIP(remove_pod, removePod);
        GANGSCHED_SLIP(remove_pod, removepod);
        GANGSCHED_SLIP(remove_pod, removed_pod);
        GANGSCHED_SLIP(remove_pod, pod_removed);
        GANGSCHED_SLIP(remove_pod, on_remove_pod);
        GANGSCHED_SLIP(remove_pod, delete_pod);
      }
    }
    GANGSCHED_HOOK(pre_filter,
                   "status pre_filter(const pod_view&, [data&,] [node_names&]) const, or with cycle_data status "
                   "pre_filter(const pod_info&, const cluster_view&, cycle_data&) const [and add_pod, remove_pod]");
    static_assert(!(calls_add_pod<P> || calls_remove_pod<P>) || names_pre_filter<P>,
                  "gangsched: add_pod and remove_pod go with pre_filter");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.pre_filter = [](const void* p, const hook_context& c, [[maybe_unused]] node_names& names) -> status {
      using args = typename signature<decltype(&P::pre_filter)>::args;
      if constexpr (pod_parameters<P, args, node_names&>::ok)
        return call_with<&P::pre_filter>(self_of<P>(p), c, names);
      else
        return call<&P::pre_filter>(self_of<P>(p), c, no_row);
    };
    if constexpr (calls_add_pod<P>) {
      using data = typename P::cycle_data;
      k.add_pod = [](const void* p, const pod_info& pod, void* d, const pod_info& other, const node_info& node) {
        return heard<P>([&] { return self_of<P>(p).add_pod(pod, *static_cast<data*>(d), other, node); });
      };
      k.remove_pod = [](const void* p, const pod_info& pod, void* d, const pod_info& other, const node_info& node) {
        return heard<P>([&] { return self_of<P>(p).remove_pod(pod, *static_cast<data*>(d), other, node); });
      };
    }
  }
};
}  // namespace detail

// --- filter

// amount_block.hpp
class amount_block;
struct filtered_block;
enum class block_verdict : std::uint8_t;

struct filter_kernel {
  gangsched::shape shape = shape::none;
  reads facets = reads::nothing;
  pod_reads decided_by = pod_reads::everything;  ///< of the pod's class, beside the node's facets
  /// Called every time: a filter that is opaque, or a keyed filter whose key reads everything.
  bool opaque = false;
  /// A keyed filter judges its groups for one pod: other pods of the class may get other verdicts.
  bool personal = false;
  /// Sets verdicts[row] = mark for every row of @p rows whose verdict is 0 and that is rejected; false if a verdict is an error.
  bool (*rows)(const void* self, const hook_context&, std::span<const row_t> rows, std::uint8_t* verdicts,
               std::uint8_t mark) = nullptr;
  /// The same verdicts for a block; false: the hook cannot judge these amounts.
  bool (*block)(const void* self, const hook_context&, filtered_block& nodes) = nullptr;
  /// One verdict on all nodes of a block by its ranges. Null: the plugin has no such hook.
  block_verdict (*bound)(const void* self, const hook_context&, const amount_block& nodes) = nullptr;
  status (*one)(const void* self, const hook_context&, row_t row) = nullptr;
  /// All reasons of a rejection. Null: the status has the only one.
  void (*reasons)(const void* self, const hook_context&, row_t row, std::vector<status>& out) = nullptr;
  std::int64_t (*key)(const void* self, const hook_context&, row_t row) = nullptr;
  /// The labels of a node that the verdict depends on; false: on others, too, or on its name. Null: that is not known.
  bool (*label_keys)(const void* self, const hook_context&, std::vector<symbol>& out) = nullptr;
  /// What the key is computed from. Null: it is asked for each class.
  void (*key_reads)(const void* self, const hook_context&, gangsched::key_reads& out) = nullptr;
  void (*finish)(const void* self, const hook_context&, std::span<filtered_group> groups) = nullptr;
  bool (*idle)(const void* self, const hook_context&) = nullptr;
  /// Of a personal filter: whether other pods of this pod's class get the same verdicts nevertheless.
  bool (*by_class)(const void* self, const hook_context&) = nullptr;
  /// Of a personal filter, for a member: whether the same member of equal groups gets the same verdicts.
  bool (*by_alike_groups)(const void* self, const hook_context&) = nullptr;
  std::int64_t (*capacity)(const void* self, const hook_context&, row_t row) = nullptr;
  std::vector<amount> (*least_free)(const void* self, const hook_context&) = nullptr;
};

namespace detail {
GANGSCHED_PROBE(filter)
GANGSCHED_PROBE(filter_key)
GANGSCHED_PROBE(filter_key_reads)
GANGSCHED_PROBE(filter_label_keys)
GANGSCHED_PROBE(finish_filter)
GANGSCHED_PROBE(filter_reasons)
GANGSCHED_PROBE(filter_block)
GANGSCHED_PROBE(filter_bound)
GANGSCHED_PROBE(filter_idle)
GANGSCHED_PROBE(filter_by_class)
GANGSCHED_PROBE(filter_by_alike_groups)
GANGSCHED_PROBE(capacity)
GANGSCHED_PROBE(least_free)

template <class P>
consteval bool filter_ok() {
  if constexpr (requires { &P::filter; })
    return node_hook<P, decltype(&P::filter), status>::ok;
  else
    return false;
}
template <class P>
consteval bool keyed_filter_ok() {
  if constexpr (requires {
                  &P::filter_key;
                  &P::finish_filter;
                }) {
    using s = signature<decltype(&P::finish_filter)>;
    if constexpr (!s::is_hook)
      return false;
    else
      return node_hook<P, decltype(&P::filter_key), std::int64_t>::ok && s::is_const &&
             std::is_void_v<typename s::result> &&
             (pod_parameters<P, typename s::args, std::span<filtered_group>>::ok ||
              pod_parameters<P, typename s::args, const cluster_view&, std::span<filtered_group>>::ok);
  } else {
    return false;
  }
}
/// Whether a keyed filter judges its groups for one pod instead of its class.
template <class P>
consteval bool personal() {
  if constexpr (keyed_filter_ok<P>()) {
    using judge = typename signature<decltype(&P::finish_filter)>::args;
    return std::is_same_v<std::remove_cvref_t<std::tuple_element_t<0, judge>>, pod_info>;
  } else {
    return false;
  }
}
}  // namespace detail

/// `status filter(pod, [const data&,] node) const` with pod_view and a node_view<…>: cached per class and node, called again when what it
/// reads changes. With pod_info, node_info or cycle_data: called every time. Or keyed: `std::int64_t filter_key(pod, [data,] node_view<…>)
/// const` sorts nodes into few groups, `void finish_filter(pod, [data,] [const cluster_view&,] span<filtered_group>) const` judges each
/// group at every pick, for the pod's class or, with pod_info, for the pod. Results: success, unschedulable, unresolvable or error. One
/// reason per status; a filter with more implements `void filter_reasons(pod, [data,] node, std::vector<status>&) const`. Optional, for a
/// filter that reads more than the class: `bool filter_by_class(pod_info) const` returns whether other pods of that pod's class get the
/// same verdict nevertheless: they are then not tried after it was rejected. `bool filter_by_alike_groups(pod_info, [cluster_view]) const`
/// returns the same of a member and the same member of groups that differ only in name, cookie and age and have no pod on a node: then one
/// of these groups is tried, if the plugin `ignores_group_identity`. `bool filter_idle(pod_view, [data,] [cluster_view]) const` is for a
/// filter whose pre-filter would skip only for now. `std::int64_t capacity(pod, [data,] node_view<…>) const` is for a verdict that changes
/// as pods of the class are added: an upper bound of how many the node takes, by what the filter reads. Without it any number counts as
/// possible, and groups are tried in more places.
/// Where classes come seldom, `bool filter_label_keys(pod_part, std::vector<symbol>&) const` lets nodes with the same values of some labels
/// share a verdict, and `void filter_key_reads(pod_view, [const data&,] key_reads&) const` lets classes share keys.
/// A filter that reads only allocatable and usage of a node can judge 64 nodes at a time: `bool filter_block(pod_view, [const data&,]
/// filtered_block&) const` computes the same verdicts by plain loops, or returns false; then `filter` is called for each node.
/// `block_verdict filter_bound(pod_view, [const data&,] const amount_block&) const` tells by their ranges if none, or all, are rejected.
/// A filter that rejects every node with less free (`node_view::free`) than the pod needs can have `std::vector<amount>
/// least_free(pod_view, [const data&]) const`: rejected pods are then found by the room that a node gets; without it all are checked.
template <class P>
concept filter_plugin = lists<P, point::filter> && (detail::filter_ok<P>() || detail::keyed_filter_ok<P>()) &&
                        detail::calls_filter<P> != (detail::calls_filter_key<P> || detail::calls_finish_filter<P>);

namespace detail {
/// A capacity is kept until the filter is asked again, so it may read only what the filter reads.
template <class P>
consteval bool capacity_ok() {
  if constexpr (calls_capacity<P> && names_filter<P>) {
    using room = node_hook<P, decltype(&P::capacity), std::int64_t>;
    return room::ok && covers(node_hook<P, decltype(&P::filter), status>::facets, room::facets);
  }
  return true;
}

/// A block has only amounts, so a filter with filter_block may read nothing else of a node.
template <class P>
consteval bool filter_block_ok() {
  if constexpr (calls_filter_block<P> && names_filter<P>) {
    using s = signature<decltype(&P::filter_block)>;
    if constexpr (!s::is_hook)
      return false;
    else
      return s::is_const && std::is_same_v<typename s::result, bool> &&
             pod_parameters<P, typename s::args, filtered_block&>::ok &&
             covers(reads::allocatable | reads::usage, node_hook<P, decltype(&P::filter), status>::facets);
  }
  return true;
}

template <class P>
consteval bool filter_key_reads_ok() {
  if constexpr (calls_filter_key_reads<P>)
    return keyed_filter_ok<P>() && tells_key_reads<P, decltype(&P::filter_key), decltype(&P::filter_key_reads)>();
  return true;
}

template <class P>
consteval bool filter_label_keys_ok() {
  if constexpr (calls_filter_label_keys<P>)
    return filter_ok<P>() && tells_label_keys<P, decltype(&P::filter_label_keys)>();
  return true;
}

template <class P>
consteval bool filter_bound_ok() {
  if constexpr (calls_filter_bound<P>) {
    using s = signature<decltype(&P::filter_bound)>;
    if constexpr (!s::is_hook || !calls_filter_block<P>)
      return false;
    else
      return s::is_const && std::is_same_v<typename s::result, block_verdict> &&
             pod_parameters<P, typename s::args, const amount_block&>::ok;
  }
  return true;
}

/// least_free is asked once for a class, so it may read only what all pods of the class share.
template <class P>
consteval bool least_free_ok() {
  if constexpr (calls_least_free<P>) {
    using s = signature<decltype(&P::least_free)>;
    if constexpr (!s::is_hook)
      return false;
    else
      return s::is_const && std::is_same_v<typename s::result, std::vector<amount>> &&
             pod_parameters<P, typename s::args>::ok && !pod_parameters<P, typename s::args>::info;
  }
  return true;
}

/// Loops over rows are here, so the plugin's code is inlined into them.
template <class P>
struct filter_kernels {
  static bool filter_rows(const void* self, const hook_context& c, std::span<const row_t> rows, std::uint8_t* verdicts,
                          std::uint8_t mark) {
    bool fine = true;
    for (const row_t row : rows) {
      if (verdicts[row] != 0) continue;
      const status said = call<&P::filter>(self_of<P>(self), c, row);
      if (said.ok()) continue;
      verdicts[row] = mark;
      fine = fine && said.rejected();
    }
    return fine;
  }
  static status filter_one(const void* self, const hook_context& c, row_t row) {
    return call<&P::filter>(self_of<P>(self), c, row);
  }
  static void filter_reasons(const void* self, const hook_context& c, row_t row, std::vector<status>& out) {
    using args = typename signature<decltype(&P::filter)>::args;
    reasons(self_of<P>(self), c, row, out, static_cast<args*>(nullptr));
  }
  template <class... A>
  static void reasons(const P& self, const hook_context& c, row_t row, std::vector<status>& out, std::tuple<A...>*) {
    heard<P>([&] { self.filter_reasons(supply<P, A>(c, row)..., out); });
  }
  static std::int64_t filter_key(const void* self, const hook_context& c, row_t row) {
    return call<&P::filter_key>(self_of<P>(self), c, row);
  }
  static bool filter_label_keys(const void* self, const hook_context& c, std::vector<symbol>& out) {
    return call_with<&P::filter_label_keys>(self_of<P>(self), c, out);
  }
  static void filter_key_reads(const void* self, const hook_context& c, key_reads& out) {
    call_with<&P::filter_key_reads>(self_of<P>(self), c, out);
  }
  static void finish_filter(const void* self, const hook_context& c, std::span<filtered_group> groups) {
    call_with<&P::finish_filter>(self_of<P>(self), c, groups);
  }
  static std::int64_t capacity(const void* self, const hook_context& c, row_t row) {
    return call<&P::capacity>(self_of<P>(self), c, row);
  }
  static bool filter_block(const void* self, const hook_context& c, filtered_block& nodes) {
    return call_with<&P::filter_block>(self_of<P>(self), c, nodes);
  }
  static block_verdict filter_bound(const void* self, const hook_context& c, const amount_block& nodes) {
    return call_with<&P::filter_bound>(self_of<P>(self), c, nodes);
  }
  static std::vector<amount> least_free(const void* self, const hook_context& c) {
    return call<&P::least_free>(self_of<P>(self), c, no_row);
  }
  static bool filter_idle(const void* self, const hook_context& c) {
    return call<&P::filter_idle>(self_of<P>(self), c, no_row);
  }
  static bool filter_by_class(const void* self, const hook_context& c) {
    return call<&P::filter_by_class>(self_of<P>(self), c, no_row);
  }
  static bool filter_by_alike_groups(const void* self, const hook_context& c) {
    return call<&P::filter_by_alike_groups>(self_of<P>(self), c, no_row);
  }
};

template <>
struct extension_point<point::filter> {
  struct kernels {
    filter_kernel filter;
  };
  template <class P>
  static constexpr bool well_formed = filter_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_CONTRACT(
        filter, names_filter<P> || names_filter_key<P> || names_finish_filter<P>,
        calls_filter<P> || calls_filter_key<P> || calls_finish_filter<P>, filter_plugin<P>,
        "status filter(const pod_view&, [const data&,] node_view<reads::...>) const, or filter_key and finish_filter");
    static_assert(!calls_capacity<P> || names_filter<P>, "gangsched: capacity goes with a filter");
    static_assert(capacity_ok<P>(),
                  "gangsched: std::int64_t capacity(const pod_view&, [const data&,] node_view<reads::...>) const reads "
                  "no more than filter");
    if constexpr (P::points::set.has(point::filter)) {
      static_assert(!calls_filter_block<P> || names_filter<P>, "gangsched: filter_block goes with a filter");
      static_assert(
          filter_block_ok<P>(),
          "gangsched: bool filter_block(const pod_view&, [const data&,] filtered_block&) const goes with a filter that "
          "takes node_view<reads::allocatable | reads::usage>, or less");
      static_assert(filter_bound_ok<P>(),
                    "gangsched: block_verdict filter_bound(const pod_view&, [const data&,] const amount_block&) const "
                    "goes with filter_block");
    }
    if constexpr (P::points::set.has(point::filter)) {
      static_assert(filter_label_keys_ok<P>(),
                    "gangsched: bool filter_label_keys(pod, std::vector<symbol>&) const goes with a filter");
      static_assert(filter_key_reads_ok<P>(),
                    "gangsched: void filter_key_reads(const pod_view&, [const data&,] key_reads&) const goes with a "
                    "filter_key that takes a pod_view, and reads of the node what pods do not change, and reads::pods");
    }
    static_assert(!calls_least_free<P> || names_filter<P>, "gangsched: least_free goes with a filter");
    static_assert(least_free_ok<P>(),
                  "gangsched: std::vector<amount> least_free(const pod_view&, [const data&]) const");
    static_assert(!(calls_filter_reasons<P> || calls_filter_idle<P>) || names_filter<P> || names_filter_key<P>,
                  "gangsched: filter_reasons and filter_idle go with a filter");
    static_assert(
        !calls_filter_by_class<P> || personal<P>(),
        "gangsched: bool filter_by_class(const pod_info&) const goes with a finish_filter that takes pod_info");
    static_assert(
        !calls_filter_by_alike_groups<P> || personal<P>(),
        "gangsched: bool filter_by_alike_groups(const pod_info&) const goes with a finish_filter that takes pod_info");
    if constexpr (P::points::set.has(point::filter) && !calls_filter_reasons<P>) {
      GANGSCHED_SLIP(filter_reasons, filter_reason);
      GANGSCHED_SLIP(filter_reasons, FilterReasons);
      GANGSCHED_SLIP(filter_reasons, filterReasons);
      GANGSCHED_SLIP(filter_reasons, filterreasons);
      GANGSCHED_SLIP(filter_reasons, filters_reasons);
      GANGSCHED_SLIP(filter_reasons, reasons_of_filter);
      GANGSCHED_SLIP(filter_reasons, filter_why);
    }
    if constexpr (P::points::set.has(point::filter) && !calls_filter_idle<P>) {
      GANGSCHED_SLIP(filter_idle, FilterIdle);
      GANGSCHED_SLIP(filter_idle, filterIdle);
      GANGSCHED_SLIP(filter_idle, filteridle);
      GANGSCHED_SLIP(filter_idle, idle_filter);
      GANGSCHED_SLIP(filter_idle, filter_is_idle);
      GANGSCHED_SLIP(filter_idle, is_filter_idle);
      GANGSCHED_SLIP(filter_idle, filter_skip);
      GANGSCHED_SLIP(filter_idle, skip_filter);
    }
    if constexpr (P::points::set.has(point::filter) && !calls_filter_label_keys<P>)
      GANGSCHED_SLIP(filter_label_keys, filter_labels);
    if constexpr (P::points::set.has(point::filter) && !calls_filter_key_reads<P>)
      GANGSCHED_SLIP(filter_key_reads, filter_reads);
    if constexpr (P::points::set.has(point::filter) && !calls_filter_by_class<P>) {
      GANGSCHED_SLIP(filter_by_class, filterByClass);
      GANGSCHED_SLIP(filter_by_class, filters_by_class);
      GANGSCHED_SLIP(filter_by_class, by_class);
    }
    if constexpr (P::points::set.has(point::filter) && !calls_filter_by_alike_groups<P>) {
      GANGSCHED_SLIP(filter_by_alike_groups, filterByAlikeGroups);
      GANGSCHED_SLIP(filter_by_alike_groups, filter_by_alike_group);
      GANGSCHED_SLIP(filter_by_alike_groups, by_alike_groups);
    }
    if constexpr (P::points::set.has(point::filter) && !calls_capacity<P>) {
      GANGSCHED_SLIP(capacity, Capacity);
      GANGSCHED_SLIP(capacity, capacities);
      GANGSCHED_SLIP(capacity, capcity);
      GANGSCHED_SLIP(capacity, capacty);
      GANGSCHED_SLIP(capacity, capasity);
      GANGSCHED_SLIP(capacity, capazity);
      GANGSCHED_SLIP(capacity, node_capacity);
      GANGSCHED_SLIP(capacity, filter_capacity);
    }
    if constexpr (P::points::set.has(point::filter) && !calls_least_free<P>) {
      GANGSCHED_SLIP(least_free, leastFree);
      GANGSCHED_SLIP(least_free, LeastFree);
      GANGSCHED_SLIP(least_free, least_room);
      GANGSCHED_SLIP(least_free, min_free);
    }
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    filter_kernel& to = k.filter;
    using from = filter_kernels<P>;
    if constexpr (calls_filter_idle<P>) to.idle = from::filter_idle;
    if constexpr (calls_filter_by_class<P>) to.by_class = from::filter_by_class;
    if constexpr (calls_filter_by_alike_groups<P>) to.by_alike_groups = from::filter_by_alike_groups;
    if constexpr (calls_capacity<P>) to.capacity = from::capacity;
    if constexpr (calls_least_free<P>) to.least_free = from::least_free;
    if constexpr (filter_ok<P>()) {
      using hook = node_hook<P, decltype(&P::filter), status>;
      to.shape = hook::opaque ? shape::opaque : shape::local;
      to.facets = hook::facets;
      to.decided_by = decided_by<P, decltype(&P::filter), status>();
      to.opaque = hook::opaque;
      to.rows = from::filter_rows;
      if constexpr (calls_filter_label_keys<P>) to.label_keys = from::filter_label_keys;
      if constexpr (calls_filter_block<P>) to.block = from::filter_block;
      if constexpr (calls_filter_bound<P>) to.bound = from::filter_bound;
      to.one = from::filter_one;
      if constexpr (calls_filter_reasons<P>) to.reasons = from::filter_reasons;
    } else {
      using hook = node_hook<P, decltype(&P::filter_key), std::int64_t>;
      to.shape = shape::keyed;
      to.facets = hook::facets;
      to.decided_by = decided_by<P, decltype(&P::filter_key), std::int64_t>();
      to.opaque = hook::opaque;
      to.personal = personal<P>();
      to.key = from::filter_key;
      if constexpr (calls_filter_key_reads<P>) to.key_reads = from::filter_key_reads;
      to.finish = from::finish_filter;
    }
  }
};
}  // namespace detail

// --- post_filter

namespace detail {
GANGSCHED_PROBE(post_filter)
}  // namespace detail

/// `victim_plan post_filter(trial&, const pod_info&) const` when no node fits: which pods to evict, found by trying. success with victims
/// nominates the node and evicts them; unresolvable stops the later plugins.
template <class P>
concept post_filter_plugin = lists<P, point::post_filter> && requires(const P p, trial& t, const pod_info& pod) {
  { p.post_filter(t, pod) } -> std::same_as<victim_plan>;
};

namespace detail {
template <>
struct extension_point<point::post_filter> {
  struct kernels {
    victim_plan (*post_filter)(const void* self, trial&, const pod_info&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = post_filter_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(post_filter, "victim_plan post_filter(trial&, const pod_info&) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.post_filter = [](const void* p, trial& t, const pod_info& pod) {
      return heard<P>([&] { return self_of<P>(p).post_filter(t, pod); });
    };
  }
};
}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI
