#pragma once
#include "gangsched/framework/misspelt.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::detail {

// One sentence per way to get a hook wrong; the first line of the compiler's output is the sentence.
#define GANGSCHED_CONTRACT(point_name, named, called, well_formed, expected)                                                \
  static_assert(!P::points::set.has(point::point_name) || (named),                                                          \
                "gangsched: the plugin lists point::" #point_name " but has no hook for it (misspelt?); expected: " expected); \
  static_assert(P::points::set.has(point::point_name) || !(called),                                                         \
                "gangsched: the plugin has a hook for point::" #point_name " but does not list that point in its `points`"); \
  static_assert(!P::points::set.has(point::point_name) || !(named) || (well_formed),                                        \
                "gangsched: the hook for point::" #point_name " has the wrong type; expected: " expected)

#define GANGSCHED_HOOK(hook, expected) GANGSCHED_CONTRACT(hook, names_##hook<P>, calls_##hook<P>, hook##_plugin<P>, expected)

/// A capacity is kept until the filter is asked again: it must not change by anything else.
template <class P>
consteval bool capacity_ok() {
  if constexpr (calls_capacity<P> && names_filter<P>) {
    using room = node_hook<P, decltype(&P::capacity), std::int64_t>;
    return room::ok && covers(node_hook<P, decltype(&P::filter), status>::facets, room::facets);
  }
  return true;
}

/// Instantiated for every plugin of a profile before anything else is.
template <class P>
consteval bool keeps_contract() {
  static_assert(std::is_class_v<P> && !std::is_final_v<P>, "gangsched: a plugin is a class that is not final");
  static_assert(requires { { P::name } -> std::convertible_to<std::string_view>; },
                "gangsched: a plugin needs `static constexpr std::string_view name`");
  static_assert(requires { { P::points::set } -> std::convertible_to<point_set>; },
                "gangsched: a plugin needs `using points = gangsched::implements<gangsched::point::...>`, the points it takes part in");
  static_assert(std::move_constructible<P>, "gangsched: a plugin must be movable");
  static_assert(!calls_capacity<P> || names_filter<P>, "gangsched: capacity goes with a filter");
  static_assert(capacity_ok<P>(),
                "gangsched: std::int64_t capacity(const pod_view&, [const data&,] node_view<reads::...>) const reads no more than filter");
  static_assert(!(calls_filter_reasons<P> || calls_filter_idle<P>) || names_filter<P> || names_filter_key<P>,
                "gangsched: filter_reasons and filter_idle go with a filter");
  static_assert(!(calls_add_pod<P> || calls_remove_pod<P>) || names_pre_filter<P>, "gangsched: add_pod and remove_pod go with pre_filter");
  static_assert(!calls_placement_bound<P> || names_score_placement<P>, "gangsched: placement_bound goes with score_placement");
  static_assert(!(has_class_data<P> && has_cycle_data<P>), "gangsched: a plugin has `data` (per class) or `cycle_data`, not both");
  if constexpr (plugin<P>) {
    static_assert(P::points::set.bits != 0, "gangsched: a plugin must list at least one point");
    static_assert(nothing_misspelt<P>());
    GANGSCHED_CONTRACT(queue_sort, names_key<P> || names_less<P>, calls_key<P> || calls_less<P>, queue_sort_plugin<P>,
                       "sort_key key(const queued&) const noexcept, or bool less(const queued&, const queued&) const noexcept");
    GANGSCHED_HOOK(pre_enqueue, "status pre_enqueue(const pod_info&) const");
    GANGSCHED_HOOK(requeue, "hint requeue(const event&, const pod_view&) const, or with const pod_info&");
    GANGSCHED_HOOK(pre_filter,
                       "status pre_filter(const pod_view&, [data&,] [node_names&]) const, or with cycle_data status "
                       "pre_filter(const pod_info&, const cluster_view&, cycle_data&) const [and add_pod, remove_pod]");
    GANGSCHED_CONTRACT(filter, names_filter<P> || names_filter_key<P> || names_finish_filter<P>,
                       calls_filter<P> || calls_filter_key<P> || calls_finish_filter<P>, filter_plugin<P>,
                       "status filter(const pod_view&, [const data&,] node_view<reads::...>) const, or filter_key and finish_filter");
    GANGSCHED_HOOK(post_filter,
                       "victim_plan post_filter(trial&, const pod_info&) const");
    GANGSCHED_HOOK(pre_score, "status pre_score(const pod_view&, [data&]) const");
    GANGSCHED_CONTRACT(score, names_score<P> || names_score_key<P> || names_finish_score<P> || names_normalize_score<P>,
                       calls_score<P> || calls_score_key<P> || calls_finish_score<P> || calls_normalize_score<P>,
                       score_plugin<P>,
                       "std::int64_t score(const pod_view&, [const data&,] node_view<reads::...>) const [and void "
                       "normalize_score(const pod_view&, std::span<scored_group>) const], or score_key and finish_score");
    GANGSCHED_HOOK(choose_devices,
                       "device_rules choose_devices(const pod_view&, [const data&,] node_view<reads::...>) const");
    GANGSCHED_CONTRACT(reserve, names_reserve<P> || names_unreserve<P>, calls_reserve<P> || calls_unreserve<P>, reserve_plugin<P>,
                       "status reserve(const new_reservation&) and void unreserve(const reservation&) noexcept");
    GANGSCHED_HOOK(permit, "permit_verdict permit(const reservation&, permit_room&)");
    GANGSCHED_HOOK(pre_bind, "status pre_bind(const reservation&, decision&)");
    GANGSCHED_HOOK(bind, "status bind(const reservation&, decision&)");
    GANGSCHED_HOOK(post_bind, "void post_bind(const reservation&) noexcept");
    GANGSCHED_HOOK(group_pre_filter,
                       "status group_pre_filter(const group_view&) const");
    GANGSCHED_HOOK(generate_placements,
                       "status generate_placements(const group_view&, const cluster_view&, const placement_sink&) const");
    GANGSCHED_HOOK(placement_feasible,
                       "status placement_feasible(const group_view&, const group_progress&) const");
    GANGSCHED_HOOK(score_placement,
                       "std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const");
    GANGSCHED_HOOK(group_preempt,
                       "victim_plan group_preempt(trial&, const group_view&) const");
  }
  return true;
}
#undef GANGSCHED_CONTRACT
#undef GANGSCHED_HOOK

/// Whether every listed point is there and of the right type: `lower` compiles for those only, so that the sentence stays alone.
template <class P>
inline constexpr bool well_formed = [] {
  if constexpr (!plugin<P>) {
    return false;
  } else {
    constexpr point_set s = P::points::set;
    return (!s.has(point::queue_sort) || queue_sort_plugin<P>)&&(!s.has(point::pre_enqueue) || pre_enqueue_plugin<P>)&&(
        !s.has(point::requeue) || requeue_plugin<P>)&&(!s.has(point::pre_filter) || pre_filter_plugin<P>)&&(
        !s.has(point::filter) || filter_plugin<P>)&&(!s.has(point::post_filter) || post_filter_plugin<P>)&&(
        !s.has(point::pre_score) || pre_score_plugin<P>)&&(!s.has(point::score) || score_plugin<P>)&&(
        !s.has(point::choose_devices) || choose_devices_plugin<P>)&&(
        !s.has(point::reserve) || reserve_plugin<P>)&&(!s.has(point::permit) || permit_plugin<P>)&&(
        !s.has(point::pre_bind) || pre_bind_plugin<P>)&&(!s.has(point::bind) || bind_plugin<P>)&&(
        !s.has(point::post_bind) || post_bind_plugin<P>)&&(!s.has(point::group_pre_filter) || group_pre_filter_plugin<P>)&&(
        !s.has(point::generate_placements) || generate_placements_plugin<P>)&&(
        !s.has(point::placement_feasible) || placement_feasible_plugin<P>)&&(
        !s.has(point::score_placement) || score_placement_plugin<P>)&&(!s.has(point::group_preempt) || group_preempt_plugin<P>);
  }
}();

}  // namespace gangsched::detail
