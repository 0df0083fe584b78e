#include "gangsched/framework/points.hpp"

#include <array>
#include <cstddef>
#include <new>
#include <vector>

#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/lower.hpp"
#include "support/catch.hpp"

// One plugin that is right for each extension point, and some that are not. What the compiler then says: tests/compile_fail.

namespace gangsched::testing::points_test {

namespace {

template <point... Points>
struct of {
  static constexpr std::string_view name = "test";
  using points = implements<Points...>;
};

using room = node_view<reads::allocatable | reads::usage>;

}  // namespace

// --- plugins at all

namespace {
struct nameless {
  using points = implements<point::filter>;
};
struct pointless {
  static constexpr std::string_view name = "test";
};
struct pinned : of<> {
  pinned() = default;
  pinned(pinned&&) = delete;
};
}  // namespace

TEST_CASE("a plugin has a name, a list of points, and can be moved") {
  STATIC_REQUIRE(plugin<of<>>);
  STATIC_REQUIRE_FALSE(plugin<nameless>);
  STATIC_REQUIRE_FALSE(plugin<pointless>);
  STATIC_REQUIRE_FALSE(plugin<pinned>);
  STATIC_REQUIRE(lists<of<point::bind>, point::bind>);
  STATIC_REQUIRE_FALSE(lists<of<point::bind>, point::filter>);
}

TEST_CASE("a set of points") {
  constexpr point_set some = implements<point::queue_sort, point::group_preempt>::set;
  STATIC_REQUIRE(some.has(point::queue_sort));
  STATIC_REQUIRE(some.has(point::group_preempt));
  STATIC_REQUIRE_FALSE(some.has(point::filter));
  point_set changed = some;
  changed.add(point::filter);
  changed.remove(point::queue_sort);
  CHECK(changed.has(point::filter));
  CHECK_FALSE(changed.has(point::queue_sort));
}

// --- queue

namespace {
struct by_key : of<point::queue_sort> {
  sort_key key(const queued&) const noexcept { return {}; }
};
struct by_less : of<point::queue_sort> {
  bool less(const queued&, const queued&) const noexcept { return false; }
};
struct may_throw : of<point::queue_sort> {
  sort_key key(const queued&) const { return {}; }
};
struct plain_number : of<point::queue_sort> {
  std::int64_t key(const queued&) const noexcept { return 0; }
};
struct unlisted_sort : of<point::filter> {
  sort_key key(const queued&) const noexcept { return {}; }
};
struct admits : of<point::pre_enqueue> {
  status pre_enqueue(const pod_info&) const { return {}; }
};
struct admits_bool : of<point::pre_enqueue> {
  bool pre_enqueue(const pod_info&) const { return true; }
};
struct changes_itself : of<point::pre_enqueue> {
  status pre_enqueue(const pod_info&) { return {}; }
};
struct hints : of<point::requeue> {
  hint requeue(const event&, const pod_view&) const { return hint::skip; }
};
struct hints_bool : of<point::requeue> {
  bool requeue(const event&, const pod_view&) const { return true; }
};
struct queues : of<point::queue_order> {
  std::int64_t queue_of(const pod_info&) const { return 0; }
  bool queue_before(const queue_head&, const queue_head&, const cluster_view&) const { return false; }
};
struct queues_by_name : of<point::queue_order> {
  symbol queue_of(const pod_info& pod) const { return pod.spec().ns; }
  bool queue_before(const queue_head&, const queue_head&, const cluster_view&) const { return false; }
};
struct queues_by_class : queues {
  static std::int64_t queue_of(const pod_view&, int) { return 0; }
};
struct queues_without_order : of<point::queue_order> {
  std::int64_t queue_of(const pod_info&) const { return 0; }
};
struct lets_in_pods : of<point::admission> {
  status admit(const pod_info&, const cluster_view&) const { return {}; }
};
struct lets_in_classes : of<point::admission> {
  status admit(const pod_view&, const cluster_view&) const { return {}; }
};
struct lets_in_groups : of<point::admission> {
  status admit(const group_view&, const cluster_view&) const { return {}; }
};
struct lets_in_both : lets_in_pods, lets_in_groups {
  using points = implements<point::admission>;
  static constexpr std::string_view name = "both";
  using lets_in_groups::admit;
  using lets_in_pods::admit;
};
struct lets_in_blindly : of<point::admission> {
  status admit(const pod_info&) const { return {}; }
};
struct lets_in_one_wrongly : of<point::admission> {
  status admit(const pod_info&, const cluster_view&) const { return {}; }
  bool admit(const group_view&, const cluster_view&) const { return true; }
};
}  // namespace

TEST_CASE("queue points") {
  STATIC_REQUIRE(queue_sort_plugin<by_key>);
  STATIC_REQUIRE(queue_sort_plugin<by_less>);
  STATIC_REQUIRE_FALSE(queue_sort_plugin<may_throw>);
  STATIC_REQUIRE_FALSE(queue_sort_plugin<plain_number>);
  STATIC_REQUIRE_FALSE(queue_sort_plugin<unlisted_sort>);
  STATIC_REQUIRE(pre_enqueue_plugin<admits>);
  STATIC_REQUIRE_FALSE(pre_enqueue_plugin<admits_bool>);
  STATIC_REQUIRE_FALSE(pre_enqueue_plugin<changes_itself>);
  STATIC_REQUIRE(requeue_plugin<hints>);
  STATIC_REQUIRE_FALSE(requeue_plugin<hints_bool>);
  STATIC_REQUIRE(queue_order_plugin<queues>);
  STATIC_REQUIRE(queue_order_plugin<queues_by_name>);
  STATIC_REQUIRE_FALSE(queue_order_plugin<queues_by_class>);
  STATIC_REQUIRE_FALSE(queue_order_plugin<queues_without_order>);
  STATIC_REQUIRE(admission_plugin<lets_in_pods>);
  STATIC_REQUIRE(admission_plugin<lets_in_groups>);
  STATIC_REQUIRE(admission_plugin<lets_in_both>);
  STATIC_REQUIRE_FALSE(admission_plugin<lets_in_blindly>);
  STATIC_REQUIRE_FALSE(admission_plugin<lets_in_one_wrongly>);
}

TEST_CASE("an admission hook that takes a class of pods says so in the kernel table") {
  CHECK(lower(lets_in_classes{}).admits_by_class);
  CHECK_FALSE(lower(lets_in_pods{}).admits_by_class);
  CHECK(lower(lets_in_groups{}).admit_pod == nullptr);
  CHECK(lower(lets_in_pods{}).admit_group == nullptr);
  const plugin_entry both = lower(lets_in_both{});
  CHECK((both.admit_pod != nullptr && both.admit_group != nullptr));
}

// --- pre-filter

namespace {
struct looks : of<point::pre_filter> {
  status pre_filter(const pod_view&) const { return {}; }
};
struct fills : of<point::pre_filter> {
  struct data {};
  status pre_filter(const pod_view&, data&) const { return {}; }
};
struct narrows : of<point::pre_filter> {
  status pre_filter(const pod_view&, node_names&) const { return {}; }
};
struct fills_and_narrows : of<point::pre_filter> {
  struct data {};
  status pre_filter(const pod_view&, data&, node_names&) const { return {}; }
};
struct follows : of<point::pre_filter> {
  struct cycle_data {};
  status pre_filter(const pod_info&, const cluster_view&, cycle_data&) const { return {}; }
  status add_pod(const pod_info&, cycle_data&, const pod_info&, const node_info&) const { return {}; }
  status remove_pod(const pod_info&, cycle_data&, const pod_info&, const node_info&) const { return {}; }
};
struct sees_the_pod : of<point::pre_filter> {  // once per class there is no pod to see
  status pre_filter(const pod_info&) const { return {}; }
};
struct foreign_data : of<point::pre_filter> {
  status pre_filter(const pod_view&, fills::data&) const { return {}; }
};
struct only_adds : follows {
  status remove_pod(int) const;
};
struct follows_class_data : of<point::pre_filter> {
  struct data {};
  status pre_filter(const pod_view&, data&) const { return {}; }
  status add_pod(const pod_info&, data&, const pod_info&, const node_info&) const { return {}; }
  status remove_pod(const pod_info&, data&, const pod_info&, const node_info&) const { return {}; }
};
}  // namespace

TEST_CASE("pre_filter") {
  STATIC_REQUIRE(pre_filter_plugin<looks>);
  STATIC_REQUIRE(pre_filter_plugin<fills>);
  STATIC_REQUIRE(pre_filter_plugin<narrows>);
  STATIC_REQUIRE(pre_filter_plugin<fills_and_narrows>);
  STATIC_REQUIRE(pre_filter_plugin<follows>);
  STATIC_REQUIRE_FALSE(pre_filter_plugin<sees_the_pod>);
  STATIC_REQUIRE_FALSE(pre_filter_plugin<foreign_data>);
  STATIC_REQUIRE_FALSE(pre_filter_plugin<only_adds>);
  STATIC_REQUIRE_FALSE(pre_filter_plugin<follows_class_data>);
}

// --- filter

namespace {
struct local_filter : of<point::filter> {
  status filter(const pod_view&, room) const { return {}; }
};
struct data_filter : of<point::filter> {
  struct data {};
  status filter(const pod_view&, const data&, room) const { return {}; }
};
struct opaque_filter : of<point::filter> {
  status filter(const pod_info&, const node_info&) const { return {}; }
};
struct keyed_filter : of<point::filter> {
  std::int64_t filter_key(const pod_view&, room) const { return 0; }
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
};
struct cluster_keyed_filter : of<point::filter> {
  std::int64_t filter_key(const pod_view&, room) const { return 0; }
  void finish_filter(const pod_view&, const cluster_view&, std::span<filtered_group>) const {}
};
struct both_filters : keyed_filter {
  status filter(const pod_view&, room) const { return {}; }
};
struct half_keyed_filter : of<point::filter> {
  std::int64_t filter_key(const pod_view&, room) const { return 0; }
};
struct bool_filter : of<point::filter> {
  bool filter(const pod_view&, room) const { return true; }
};
struct raw_state_filter : of<point::filter> {
  status filter(const pod_view&, const model::cluster_state&) const { return {}; }
};
struct swapped_filter : of<point::filter> {
  status filter(room, const pod_view&) const { return {}; }
};
struct template_filter : of<point::filter> {
  template <class Node>
  status filter(const pod_view&, Node) const {
    return {};
  }
};
struct overloaded_filter : of<point::filter> {
  status filter(const pod_view&, room) const { return {}; }
  status filter(const pod_view&, node_info) const { return {}; }
};
}  // namespace

TEST_CASE("filter") {
  STATIC_REQUIRE(filter_plugin<local_filter>);
  STATIC_REQUIRE(filter_plugin<data_filter>);
  STATIC_REQUIRE(filter_plugin<opaque_filter>);
  STATIC_REQUIRE(filter_plugin<keyed_filter>);
  STATIC_REQUIRE(filter_plugin<cluster_keyed_filter>);
  STATIC_REQUIRE_FALSE(filter_plugin<both_filters>);
  STATIC_REQUIRE_FALSE(filter_plugin<half_keyed_filter>);
  STATIC_REQUIRE_FALSE(filter_plugin<bool_filter>);
  STATIC_REQUIRE_FALSE(filter_plugin<raw_state_filter>);
  STATIC_REQUIRE_FALSE(filter_plugin<swapped_filter>);
  // Its type says what a hook reads, so it must have one.
  STATIC_REQUIRE_FALSE(filter_plugin<template_filter>);
  STATIC_REQUIRE_FALSE(filter_plugin<overloaded_filter>);
}

// --- score

namespace {
struct looks_before_scoring : of<point::pre_score> {
  status pre_score(const pod_view&) const { return {}; }
};
struct fills_before_scoring : of<point::pre_score> {
  struct data {};
  status pre_score(const pod_view&, data&) const { return {}; }
};
struct void_pre_score : of<point::pre_score> {
  void pre_score(const pod_view&) const {}
};
struct local_score : of<point::score> {
  std::int64_t score(const pod_view&, room) const { return 0; }
};
struct normalized_score : of<point::score> {
  std::int64_t score(const pod_view&, room) const { return 0; }
  void normalize_score(const pod_view&, std::span<scored_group>) const {}
};
struct keyed_score : of<point::score> {
  std::int64_t score_key(const pod_view&, room) const { return 0; }
  void finish_score(const pod_view&, const cluster_view&, std::span<scored_group>) const {}
};
struct int_score : of<point::score> {
  int score(const pod_view&, room) const { return 0; }
};
struct bad_normalize : of<point::score> {
  std::int64_t score(const pod_view&, room) const { return 0; }
  void normalize_score(std::span<scored_group>) const {}
};
struct only_normalize : of<point::score> {
  void normalize_score(const pod_view&, std::span<scored_group>) const {}
};
}  // namespace

TEST_CASE("pre_score and score") {
  STATIC_REQUIRE(pre_score_plugin<looks_before_scoring>);
  STATIC_REQUIRE(pre_score_plugin<fills_before_scoring>);
  STATIC_REQUIRE_FALSE(pre_score_plugin<void_pre_score>);
  STATIC_REQUIRE(score_plugin<local_score>);
  STATIC_REQUIRE(score_plugin<normalized_score>);
  STATIC_REQUIRE(score_plugin<keyed_score>);
  STATIC_REQUIRE_FALSE(score_plugin<int_score>);
  STATIC_REQUIRE_FALSE(score_plugin<bad_normalize>);
  STATIC_REQUIRE_FALSE(score_plugin<only_normalize>);
}

// --- from choose_devices to post-bind

namespace {
struct chooses_devices : of<point::choose_devices> {
  device_rules choose_devices(const pod_view&, room) const { return {}; }
};
struct chooses_a_device : of<point::choose_devices> {
  int choose_devices(const pod_view&, room) const { return 0; }
};
struct reserves : of<point::reserve> {
  status reserve(const new_reservation&) { return {}; }
  void unreserve(const reservation&) noexcept {}
};
struct never_unreserves : of<point::reserve> {
  status reserve(const reservation&) { return {}; }
};
struct throwing_unreserve : of<point::reserve> {
  status reserve(const reservation&) { return {}; }
  void unreserve(const reservation&) {}
};
struct permits : of<point::permit> {
  permit_verdict permit(const reservation&, permit_room&) { return {}; }
};
struct permits_status : of<point::permit> {
  status permit(const reservation&, permit_room&) { return {}; }
};
struct binds : of<point::pre_bind, point::bind, point::post_bind> {
  status pre_bind(const reservation&, decision&) { return {}; }
  status bind(const reservation&, decision&) { return {}; }
  void post_bind(const reservation&) noexcept {}
};
struct binds_wrongly : of<point::pre_bind, point::bind, point::post_bind> {
  bool pre_bind(const reservation&, decision&) { return true; }
  status bind(const decision&) { return {}; }
  void post_bind(const reservation&) {}
};
// Only reserve may note something: later it is settled what will be taken back.
struct notes_late : of<point::reserve, point::permit, point::pre_bind, point::bind, point::post_bind> {
  status reserve(const new_reservation&) { return {}; }
  void unreserve(const new_reservation&) noexcept {}
  permit_verdict permit(const new_reservation&, permit_room&) { return {}; }
  status pre_bind(const new_reservation&, decision&) { return {}; }
  status bind(const new_reservation&, decision&) { return {}; }
  void post_bind(const new_reservation&) noexcept {}
};
template <class Reservation>
concept adds = requires(const Reservation& r, node_column column) { r.add(column, 1); };
}  // namespace

TEST_CASE("choose_devices, reserve, permit and bind") {
  STATIC_REQUIRE(choose_devices_plugin<chooses_devices>);
  STATIC_REQUIRE_FALSE(choose_devices_plugin<chooses_a_device>);
  STATIC_REQUIRE(adds<new_reservation>);
  STATIC_REQUIRE_FALSE(adds<reservation>);
  STATIC_REQUIRE_FALSE(reserve_plugin<notes_late>);
  STATIC_REQUIRE_FALSE(permit_plugin<notes_late>);
  STATIC_REQUIRE_FALSE(pre_bind_plugin<notes_late>);
  STATIC_REQUIRE_FALSE(bind_plugin<notes_late>);
  STATIC_REQUIRE_FALSE(post_bind_plugin<notes_late>);
  STATIC_REQUIRE(reserve_plugin<reserves>);
  STATIC_REQUIRE_FALSE(reserve_plugin<never_unreserves>);
  STATIC_REQUIRE_FALSE(reserve_plugin<throwing_unreserve>);
  STATIC_REQUIRE(permit_plugin<permits>);
  STATIC_REQUIRE_FALSE(permit_plugin<permits_status>);
  STATIC_REQUIRE(pre_bind_plugin<binds>);
  STATIC_REQUIRE(bind_plugin<binds>);
  STATIC_REQUIRE(post_bind_plugin<binds>);
  STATIC_REQUIRE_FALSE(pre_bind_plugin<binds_wrongly>);
  STATIC_REQUIRE_FALSE(bind_plugin<binds_wrongly>);
  STATIC_REQUIRE_FALSE(post_bind_plugin<binds_wrongly>);
}

// --- preemption and groups

namespace {
struct groups : of<point::post_filter, point::group_pre_filter, point::generate_placements, point::placement_feasible,
                   point::score_placement, point::group_preempt> {
  victim_plan post_filter(trial&, const pod_info&) const { return {}; }
  status group_pre_filter(const group_view&) const { return {}; }
  status generate_placements(const group_view&, const cluster_view&, const placement_sink&) const { return {}; }
  status placement_feasible(const group_view&, const group_progress&) const { return {}; }
  std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const {
    return 0;
  }
  victim_plan group_preempt(trial&, const group_view&) const { return {}; }
};
struct wrong_groups : of<point::post_filter, point::group_pre_filter, point::generate_placements,
                         point::placement_feasible, point::score_placement, point::group_preempt> {
  status post_filter(trial&, const pod_info&) const { return {}; }
  bool group_pre_filter(const group_view&) const { return true; }
  status generate_placements(const group_view&, const placement_sink&) const { return {}; }
  status placement_feasible(const group_view&) const { return {}; }
  double score_placement(const group_view&, const placement_view&, std::span<const assignment>) const { return 0; }
  victim_plan group_preempt(const group_view&) const { return {}; }
};
}  // namespace

TEST_CASE("preemption and group points") {
  STATIC_REQUIRE(post_filter_plugin<groups>);
  STATIC_REQUIRE(group_pre_filter_plugin<groups>);
  STATIC_REQUIRE(generate_placements_plugin<groups>);
  STATIC_REQUIRE(placement_feasible_plugin<groups>);
  STATIC_REQUIRE(score_placement_plugin<groups>);
  STATIC_REQUIRE(group_preempt_plugin<groups>);
  STATIC_REQUIRE_FALSE(post_filter_plugin<wrong_groups>);
  STATIC_REQUIRE_FALSE(group_pre_filter_plugin<wrong_groups>);
  STATIC_REQUIRE_FALSE(generate_placements_plugin<wrong_groups>);
  STATIC_REQUIRE_FALSE(placement_feasible_plugin<wrong_groups>);
  STATIC_REQUIRE_FALSE(score_placement_plugin<wrong_groups>);
  STATIC_REQUIRE_FALSE(group_preempt_plugin<wrong_groups>);
}

// --- every point, from one list

namespace {
template <point At>
struct only_lists : of<At> {};

/// Right for every point at once but for one queue sort and one of everything.
struct all_points
    : of<point::queue_sort, point::queue_order, point::pre_enqueue, point::requeue, point::admission, point::pre_filter,
         point::filter, point::pre_score, point::score, point::choose_devices, point::reserve, point::permit,
         point::pre_bind, point::bind, point::post_bind, point::post_filter, point::group_pre_filter,
         point::generate_placements, point::placement_feasible, point::score_placement, point::group_preempt> {
  sort_key key(const queued&) const noexcept { return {}; }
  std::int64_t queue_of(const pod_info&) const { return 0; }
  bool queue_before(const queue_head&, const queue_head&, const cluster_view&) const { return false; }
  status pre_enqueue(const pod_info&) const { return {}; }
  hint requeue(const event&, const pod_view&) const { return hint::skip; }
  status admit(const pod_info&, const cluster_view&) const { return {}; }
  status pre_filter(const pod_view&) const { return {}; }
  status filter(const pod_view&, room) const { return {}; }
  status pre_score(const pod_view&) const { return {}; }
  std::int64_t score(const pod_view&, room) const { return 0; }
  device_rules choose_devices(const pod_view&, room) const { return {}; }
  status reserve(const new_reservation&) { return {}; }
  void unreserve(const reservation&) noexcept {}
  permit_verdict permit(const reservation&, permit_room&) { return {}; }
  status pre_bind(const reservation&, decision&) { return {}; }
  status bind(const reservation&, decision&) { return {}; }
  void post_bind(const reservation&) noexcept {}
  victim_plan post_filter(trial&, const pod_info&) const { return {}; }
  status group_pre_filter(const group_view&) const { return {}; }
  status generate_placements(const group_view&, const cluster_view&, const placement_sink&) const { return {}; }
  status placement_feasible(const group_view&, const group_progress&) const { return {}; }
  std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const {
    return 0;
  }
  victim_plan group_preempt(trial&, const group_view&) const { return {}; }
};

/// Of each point: whether a plugin that lists it alone and has nothing for it is refused, and one that has all is not.
template <std::size_t... I>
consteval bool tells_right_from_wrong(std::index_sequence<I...>) {
  return (
      (detail::extension_point<static_cast<point>(I)>::template well_formed<all_points> &&
       !detail::extension_point<static_cast<point>(I)>::template well_formed<only_lists<static_cast<point>(I)>>)&&...);
}

/// Of each point: whether it adds something to the row of a plugin in the kernel table.
template <std::size_t... I>
std::vector<std::size_t> points_without_kernels(std::index_sequence<I...>) {
  std::vector<std::size_t> none;
  const auto look = [&]<point At>() {
    using kernels = typename detail::extension_point<At>::kernels;
    alignas(kernels) std::array<std::byte, sizeof(kernels)> bytes[2] = {};
    detail::extension_point<At>::template lower<all_points>(*new (&bytes[0]) kernels);
    new (&bytes[1]) kernels;
    if (bytes[0] == bytes[1]) none.push_back(static_cast<std::size_t>(At));
  };
  (look.template operator()<static_cast<point>(I)>(), ...);
  return none;
}
}  // namespace

TEST_CASE("every point has a trait: what is right, what is wrong, and what becomes of it") {
  constexpr auto every = std::make_index_sequence<point_count>{};
  STATIC_REQUIRE(tells_right_from_wrong(every));
  CHECK(points_without_kernels(every).empty());
  STATIC_REQUIRE(detail::keeps_contract<all_points>());
  STATIC_REQUIRE(detail::every_point::well_formed<all_points>());
  const plugin_entry row = lower(all_points{});
  CHECK(row.points.bits == (1u << point_count) - 1);
}

// --- a member counts as there whatever its shape

namespace {
struct hidden {
 private:
  [[maybe_unused]] status filter(const pod_view&, room) const { return {}; }
};
struct with_data {
  int filter = 0;
  static constexpr int score = 0;
  const int& key = score;
  unsigned less : 3;
  using bind = int;
  enum { permit };

 private:
  [[maybe_unused]] int pre_bind = 0;
};
struct static_hook {
  static status filter(const pod_view&, room) { return {}; }
};
}  // namespace

TEST_CASE("a hook is seen by name, even one that cannot be called") {
  STATIC_REQUIRE(detail::names_filter<local_filter>);
  STATIC_REQUIRE(detail::names_filter<template_filter>);
  STATIC_REQUIRE(detail::names_filter<overloaded_filter>);
  STATIC_REQUIRE(detail::names_filter<hidden>);
  STATIC_REQUIRE_FALSE(detail::names_filter<local_score>);
  STATIC_REQUIRE(detail::names_filter<static_hook>);
}

TEST_CASE("data members, types and private members with the name of a hook are the plugin's own affair") {
  STATIC_REQUIRE_FALSE(detail::names_filter<with_data>);
  STATIC_REQUIRE_FALSE(detail::names_score<with_data>);
  STATIC_REQUIRE_FALSE(detail::names_key<with_data>);
  STATIC_REQUIRE_FALSE(detail::names_less<with_data>);
  STATIC_REQUIRE_FALSE(detail::names_bind<with_data>);
  STATIC_REQUIRE_FALSE(detail::names_permit<with_data>);
  STATIC_REQUIRE_FALSE(detail::calls_pre_bind<with_data>);
  STATIC_REQUIRE_FALSE(detail::calls_filter<hidden>);
  STATIC_REQUIRE(detail::calls_filter<local_filter>);
  STATIC_REQUIRE(detail::calls_filter<template_filter>);
  STATIC_REQUIRE(detail::calls_filter<static_hook>);
}

}  // namespace gangsched::testing::points_test
