#pragma once
#include <concepts>
#include <cstdint>
#include <string_view>

#include "gangsched/framework/hooks.hpp"
#include "gangsched/framework/placements.hpp"
#include "gangsched/framework/signature.hpp"

/// The extension points: what a plugin may be, each as a concept with its contract. docs/extension-points/ has a page for each.
///
/// A plugin is a movable type with `static constexpr std::string_view name` and `using points = implements<point::…>`, the list of
/// what it takes part in. The list makes a misspelt hook an error instead of a plugin that silently never runs. Hooks are public member
/// functions: data members, types and private members may have a hook's name. Of those that a plugin may leave out no list tells that
/// one is meant; slips of a letter and other spellings of them are errors (misspelt.hpp).
namespace gangsched {

enum class point : std::uint8_t {
  queue_sort,
  pre_enqueue,
  requeue,
  pre_filter,
  filter,
  post_filter,
  pre_score,
  score,
  choose_devices,
  reserve,
  permit,
  pre_bind,
  bind,
  post_bind,
  group_pre_filter,
  generate_placements,
  placement_feasible,
  score_placement,
  group_preempt,
};
inline constexpr std::size_t point_count = 19;

struct point_set {
  std::uint32_t bits = 0;
  [[nodiscard]] constexpr bool has(point p) const noexcept { return ((bits >> static_cast<unsigned>(p)) & 1u) != 0; }
  constexpr void add(point p) noexcept { bits |= 1u << static_cast<unsigned>(p); }
  constexpr void remove(point p) noexcept { bits &= ~(1u << static_cast<unsigned>(p)); }
};

template <point... Points>
struct implements {
  static constexpr point_set set{((1u << static_cast<unsigned>(Points)) | ... | 0u)};
};

/// Has a name, says what it implements, can be moved.
template <class P>
concept plugin = std::move_constructible<P> && requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::points::set } -> std::convertible_to<point_set>;
};

template <class P, point Point>
concept lists = plugin<P> && P::points::set.has(Point);

namespace detail {

/// Becomes an argument for any parameter.
struct anything {
  template <class T>
  operator T&() const noexcept;
};
template <class T>
inline constexpr bool points_to_function =
    std::is_member_function_pointer_v<T> || (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>);

// names_: P has a member of that name that may be meant as a hook, also an overloaded, templated or private one: naming it in a class
// that inherits it from two bases is ambiguous. Data members and types are the plugin's own affair.
// calls_: P has a public member function of that name. A private member cannot be told from a function and is none.
#define GANGSCHED_PROBE(hook)                                                                                                  \
  struct probe_##hook {                                                                                                        \
    int hook;                                                                                                                  \
  };                                                                                                                           \
  template <class P>                                                                                                           \
  struct both_##hook : P, probe_##hook {};                                                                                     \
  template <class P>                                                                                                           \
  concept keeps_##hook = requires { typename P::hook; } ||                                                                     \
                         requires(P& p) { requires !std::is_function_v<std::remove_reference_t<decltype((p.hook))>>; };        \
  template <class P>                                                                                                           \
  concept names_##hook = !requires { &both_##hook<P>::hook; } && !keeps_##hook<P>;                                             \
  template <class P>                                                                                                           \
  concept calls_##hook = names_##hook<P> && (                                                                                  \
      requires { requires points_to_function<decltype(&P::hook)>; } || requires(P& p, anything a) { p.hook(a); } ||            \
      requires(P& p, anything a) { p.hook(a, a); } || requires(P& p, anything a) { p.hook(a, a, a); } ||                       \
      requires(P& p, anything a) { p.hook(a, a, a, a); });
GANGSCHED_PROBE(key)
GANGSCHED_PROBE(less)
GANGSCHED_PROBE(pre_enqueue)
GANGSCHED_PROBE(requeue)
GANGSCHED_PROBE(pre_filter)
GANGSCHED_PROBE(add_pod)
GANGSCHED_PROBE(remove_pod)
GANGSCHED_PROBE(filter)
GANGSCHED_PROBE(filter_key)
GANGSCHED_PROBE(finish_filter)
GANGSCHED_PROBE(filter_reasons)
GANGSCHED_PROBE(filter_idle)
GANGSCHED_PROBE(capacity)
GANGSCHED_PROBE(post_filter)
GANGSCHED_PROBE(pre_score)
GANGSCHED_PROBE(score)
GANGSCHED_PROBE(score_key)
GANGSCHED_PROBE(finish_score)
GANGSCHED_PROBE(normalize_score)
GANGSCHED_PROBE(choose_devices)
GANGSCHED_PROBE(reserve)
GANGSCHED_PROBE(unreserve)
GANGSCHED_PROBE(permit)
GANGSCHED_PROBE(pre_bind)
GANGSCHED_PROBE(bind)
GANGSCHED_PROBE(post_bind)
GANGSCHED_PROBE(group_pre_filter)
GANGSCHED_PROBE(generate_placements)
GANGSCHED_PROBE(placement_feasible)
GANGSCHED_PROBE(score_placement)
GANGSCHED_PROBE(placement_bound)
GANGSCHED_PROBE(group_preempt)
GANGSCHED_PROBE(attach)
#undef GANGSCHED_PROBE

template <class P>
consteval bool pre_filter_ok() {
  if constexpr (requires { &P::pre_filter; }) {
    using s = signature<decltype(&P::pre_filter)>;
    if constexpr (!s::is_hook) return false;
    else if constexpr (has_cycle_data<P>)
      return s::is_const && std::is_same_v<typename s::result, status> &&
             std::is_same_v<typename s::args, std::tuple<const pod_info&, const cluster_view&, typename P::cycle_data&>>;
    else
      return s::is_const && std::is_same_v<typename s::result, status> &&
             (pod_parameters<P, typename s::args>::ok || pod_parameters<P, typename s::args, node_names&>::ok) &&
             !pod_parameters<P, typename s::args>::info;
  } else {
    return false;
  }
}
template <class P>
consteval bool pre_score_ok() {
  if constexpr (requires { &P::pre_score; }) {
    using s = signature<decltype(&P::pre_score)>;
    if constexpr (!s::is_hook) return false;
    else return s::is_const && std::is_same_v<typename s::result, status> && pod_parameters<P, typename s::args>::ok;
  } else {
    return false;
  }
}
template <class P>
consteval bool increments_ok() {
  if constexpr (!calls_add_pod<P> && !calls_remove_pod<P>) return true;
  else if constexpr (!has_cycle_data<P>) return false;
  else
    return requires(const P p, const pod_info& pod, typename P::cycle_data& data, const node_info& node) {
      { p.add_pod(pod, data, pod, node) } -> std::same_as<status>;
      { p.remove_pod(pod, data, pod, node) } -> std::same_as<status>;
    };
}
template <class P>
consteval bool filter_ok() {
  if constexpr (requires { &P::filter; }) return node_hook<P, decltype(&P::filter), status>::ok;
  else return false;
}
template <class P>
consteval bool keyed_filter_ok() {
  if constexpr (requires { &P::filter_key; &P::finish_filter; }) {
    using s = signature<decltype(&P::finish_filter)>;
    if constexpr (!s::is_hook) return false;
    else
      return node_hook<P, decltype(&P::filter_key), std::int64_t>::ok && s::is_const && std::is_void_v<typename s::result> &&
             (pod_parameters<P, typename s::args, std::span<filtered_group>>::ok ||
              pod_parameters<P, typename s::args, const cluster_view&, std::span<filtered_group>>::ok);
  } else {
    return false;
  }
}
template <class P>
consteval bool choose_devices_ok() {
  if constexpr (requires { &P::choose_devices; }) return node_hook<P, decltype(&P::choose_devices), device_rules>::ok;
  else return false;
}
template <class P>
consteval bool score_ok() {
  if constexpr (requires { &P::score; }) return node_hook<P, decltype(&P::score), std::int64_t>::ok;
  else return false;
}
template <class P>
consteval bool normalize_ok() {
  if constexpr (!calls_normalize_score<P>) return true;
  else if constexpr (requires { &P::normalize_score; }) {
    using s = signature<decltype(&P::normalize_score)>;
    if constexpr (!s::is_hook) return false;
    else
      return s::is_const && std::is_void_v<typename s::result> &&
             pod_parameters<P, typename s::args, std::span<scored_group>>::ok;
  } else {
    return false;
  }
}
template <class P>
consteval bool keyed_score_ok() {
  if constexpr (requires { &P::score_key; &P::finish_score; }) {
    using s = signature<decltype(&P::finish_score)>;
    if constexpr (!s::is_hook) return false;
    else
      return node_hook<P, decltype(&P::score_key), std::int64_t>::ok && s::is_const &&
             (std::is_void_v<typename s::result> || std::is_same_v<typename s::result, status>)&&(
                 pod_parameters<P, typename s::args, std::span<scored_group>>::ok ||
                  pod_parameters<P, typename s::args, const cluster_view&, std::span<scored_group>>::ok);
  } else {
    return false;
  }
}

}  // namespace detail

/// Orders the queue; exactly one in a profile. `sort_key key(const queued&) const noexcept`, or a strict weak order
/// `bool less(const queued&, const queued&) const noexcept`. No cluster access. With a key O(1) per pod, with less O(log n).
template <class P>
concept queue_sort_plugin = lists<P, point::queue_sort> && (
    requires(const P p, const queued& q) { { p.key(q) } noexcept -> std::same_as<sort_key>; } ||
    requires(const P p, const queued& q) { { p.less(q, q) } noexcept -> std::same_as<bool>; });

/// `status pre_enqueue(const pod_info&) const`: anything but success keeps the pod (and the group it is queued with) out of the
/// queue. Asked again whenever the pod, its group or a sibling changes.
template <class P>
concept pre_enqueue_plugin = lists<P, point::pre_enqueue> && requires(const P p, const pod_info& pod) {
  { p.pre_enqueue(pod) } -> std::same_as<status>;
};

/// `hint requeue(const event&, const pod_view&) const`: whether a change can help a pod this plugin rejected; asked about the events
/// in `static constexpr events wakes_on`, or, without that, about every one. A hook that takes the pod itself (`const pod_info&`)
/// answers for pods, not for classes, and is asked under wake_rule::hints only. Without a hook the engine decides from what the
/// filter reads: for a change of a node, whether the pod passes the filters there now.
template <class P>
concept requeue_plugin = lists<P, point::requeue> && requires(const P p, const event& e, const pod_info& pod) {
  { p.requeue(e, pod) } -> std::same_as<hint>;
};

/// `status pre_filter(const pod_view&, [data&,] [node_names&]) const`, once per pod class: fills `P::data` for the other hooks; skip
/// turns the plugin's filter off for the class; a rejection is every node's; node_names narrows the nodes. A plugin with
/// `P::cycle_data` instead runs once per cycle, `(const pod_info&, const cluster_view&, cycle_data&)`, may read everything, and may
/// follow a trial by `status add_pod / remove_pod(const pod_info& pod, cycle_data&, const pod_info& other, const node_info&) const`.
template <class P>
concept pre_filter_plugin = lists<P, point::pre_filter> && detail::pre_filter_ok<P>() && detail::increments_ok<P>();

/// `status filter(pod, [const data&,] node) const` with pod_view and a node_view<…>: cached per class and node, asked again when
/// what it reads changes. With pod_info, node_info or cycle_data: asked every time. Or keyed: `std::int64_t filter_key(pod, [data,]
/// node_view<…>) const` sorts nodes into few groups, `void finish_filter(pod, [data,] [const cluster_view&,] span<filtered_group>)
/// const` judges each group at every pick. success, unschedulable, unresolvable or error. One reason per status; a filter with more implements
/// `void filter_reasons(pod, [data,] node, std::vector<status>&) const`.
/// One whose pre-filter would skip only as things stand: `bool filter_idle(pod_view, [data,] [cluster_view]) const`. One whose verdict
/// changes as pods of the class come: `std::int64_t capacity(pod, [data,] node_view<…>) const`, how many the node takes at most, by
/// what the filter reads; without it any number counts as possible, and groups are tried in more places than need be.
template <class P>
concept filter_plugin = lists<P, point::filter> && (detail::filter_ok<P>() != detail::keyed_filter_ok<P>());

/// `victim_plan post_filter(trial&, const pod_info&) const` when no node fits: who would have to go, found by trying. success with
/// victims nominates the node and evicts them; unresolvable stops the later plugins.
template <class P>
concept post_filter_plugin = lists<P, point::post_filter> && requires(const P p, trial& t, const pod_info& pod) {
  { p.post_filter(t, pod) } -> std::same_as<victim_plan>;
};

/// `status pre_score(const pod_view&, [data&]) const`, once per class: skip turns the plugin's score off for the class (it is then
/// absent, not zero).
template <class P>
concept pre_score_plugin = lists<P, point::pre_score> && detail::pre_score_ok<P>();

/// `std::int64_t score(pod, [const data&,] node) const`, in [0, 100], higher is better, times the plugin's weight. With
/// `void normalize_score(pod, [data,] span<scored_group>) const` raw scores may be any integer; it sees each raw value once, with
/// how many candidates have it. Or keyed: `score_key` and `finish_score`, as for filters; finish_score may return a status, and
/// skip says that the plugin has no score for the class this time (absent, as with pre_score).
template <class P>
concept score_plugin = lists<P, point::score> && ((detail::score_ok<P>() && detail::normalize_ok<P>()) != detail::keyed_score_ok<P>());

/// `device_rules choose_devices(pod, [const data&,] node) const`, as a score takes them: once the node is chosen, which of its devices
/// the pod gets. The first plugin that lists the point decides; without one, and where pods only might go, the default rules do.
template <class P>
concept choose_devices_plugin = lists<P, point::choose_devices> && detail::choose_devices_ok<P>();

/// `status reserve(const new_reservation&)` after the choice, `void unreserve(const reservation&) noexcept` when it is taken back: in
/// reverse order, idempotent, possibly without reserve. Runs inside the group's trial too. When the host removed the pod or its node,
/// unreserve is not called (there is nothing to look at); what was `add`ed to columns is taken back all the same.
template <class P>
concept reserve_plugin = lists<P, point::reserve> && requires(P p, const new_reservation& fresh, const reservation& r) {
  { p.reserve(fresh) } -> std::same_as<status>;
  { p.unreserve(r) } noexcept -> std::same_as<void>;
};

/// `permit_verdict permit(const reservation&, permit_room&)`: success, a rejection, or wait with a timeout.
template <class P>
concept permit_plugin = lists<P, point::permit> && requires(P p, const reservation& r, permit_room& room) {
  { p.permit(r, room) } -> std::same_as<permit_verdict>;
};

/// `status pre_bind(const reservation&, decision&)` before a bind decision is handed out: may fill in its annotation; a rejection
/// takes the pod back.
template <class P>
concept pre_bind_plugin = lists<P, point::pre_bind> && requires(P p, const reservation& r, decision& d) {
  { p.pre_bind(r, d) } -> std::same_as<status>;
};

/// `status bind(const reservation&, decision&)`: success claims the decision, skip leaves it to the next.
template <class P>
concept bind_plugin = lists<P, point::bind> && requires(P p, const reservation& r, decision& d) {
  { p.bind(r, d) } -> std::same_as<status>;
};

/// `void post_bind(const reservation&) noexcept` after the host's confirm.
template <class P>
concept post_bind_plugin = lists<P, point::post_bind> && requires(P p, const reservation& r) {
  { p.post_bind(r) } noexcept -> std::same_as<void>;
};

/// `status group_pre_filter(const group_view&) const`, once per group cycle: rejects the whole group.
template <class P>
concept group_pre_filter_plugin = lists<P, point::group_pre_filter> && requires(const P p, const group_view& g) {
  { p.group_pre_filter(g) } -> std::same_as<status>;
};

/// `status generate_placements(const group_view&, const cluster_view&, const placement_sink&) const`: the subsets of nodes the
/// group may be placed in; skip if the plugin has no word on it. Several plugins' are intersected pairwise, their tiers added. Without
/// any: all nodes. Asked for every group of a tree; those of a group lie within those of the group above it.
template <class P>
concept generate_placements_plugin = lists<P, point::generate_placements> &&
    requires(const P p, const group_view& g, const cluster_view& c, const placement_sink& sink) {
      { p.generate_placements(g, c, sink) } -> std::same_as<status>;
    };

/// `status placement_feasible(const group_view&, const group_progress&) const`, before the first member and after each: success
/// (enough), wait (go on), unschedulable (give up this placement), unresolvable (give up the group).
template <class P>
concept placement_feasible_plugin = lists<P, point::placement_feasible> &&
    requires(const P p, const group_view& g, const group_progress& progress) {
      { p.placement_feasible(g, progress) } -> std::same_as<status>;
    };

/// `std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const` in [0, 100] for each
/// feasible placement, asked while the assignment stands. With `static constexpr bool relative_to_best = true` any number from 0 on:
/// it counts as a percentage of the highest. `std::int64_t placement_bound(const placement_view&, const placement_demand&) const`,
/// optional: no assignment scores more; placements that cannot win are then not tried. It depends on nothing else, and is kept.
template <class P>
concept score_placement_plugin = lists<P, point::score_placement> &&
    requires(const P p, const group_view& g, const placement_view& where, std::span<const assignment> a) {
      { p.score_placement(g, where, a) } -> std::same_as<std::int64_t>;
    };

/// `victim_plan group_preempt(trial&, const group_view&) const` when no placement is feasible.
template <class P>
concept group_preempt_plugin = lists<P, point::group_preempt> && requires(const P p, trial& t, const group_view& g) {
  { p.group_preempt(t, g) } -> std::same_as<victim_plan>;
};

}  // namespace gangsched
