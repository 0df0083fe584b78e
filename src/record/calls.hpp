#pragma once
#include <string_view>
#include <utility>

#include "gangsched/model/call_listener.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/scheduler.hpp"

/// Which function each call is: what arguments stand in a log, and how they are made again, follows from its type.
namespace gangsched::inline GANGSCHED_ABI::record {

template <auto Function>
struct function {};

/// That of several which takes the arguments of a signature.
template <class Signature>
struct taking;
template <class... Arguments>
struct taking<void(Arguments...)> {
  template <class Object, class Answer>
  static consteval auto of(Answer (Object::*one)(Arguments...)) {
    return one;
  }
};

/// Calls visit(name, function<&cluster::add_node>{}), or whichever it is. False if there is no such call, or it is none of a function's.
template <class Visit>
bool with_call(told what, Visit&& visit) {
#define GANGSCHED_CALL(name, function_of) \
  case told::name: return visit(std::string_view{#name}, function<function_of>{}), true
  switch (what) {
    GANGSCHED_CALL(reserve, &cluster::reserve);
    GANGSCHED_CALL(add_node, &cluster::add_node);
    GANGSCHED_CALL(update_node, &cluster::update_node);
    GANGSCHED_CALL(set_allocatable, &cluster::set_allocatable);
    GANGSCHED_CALL(set_device_health, &cluster::set_device_health);
    GANGSCHED_CALL(remove_node, &cluster::remove_node);
    GANGSCHED_CALL(add_pod, &cluster::add_pod);
    GANGSCHED_CALL(add_pods, &cluster::add_pods);
    GANGSCHED_CALL(update_pod, &cluster::update_pod);
    GANGSCHED_CALL(resize_pods, &cluster::resize_pods);
    GANGSCHED_CALL(remove_pod, &cluster::remove_pod);
    GANGSCHED_CALL(set_terminating, &cluster::set_terminating);
    GANGSCHED_CALL(add_group, &cluster::add_group);
    GANGSCHED_CALL(expect_group, &cluster::expect_group);
    GANGSCHED_CALL(update_group, &cluster::update_group);
    GANGSCHED_CALL(remove_group, &cluster::remove_group);
    GANGSCHED_CALL(set_namespace, &cluster::set_namespace);
    GANGSCHED_CALL(remove_namespace, &cluster::remove_namespace);
    GANGSCHED_CALL(set_service, &cluster::set_service);
    GANGSCHED_CALL(remove_service, &cluster::remove_service);
    GANGSCHED_CALL(set_controller, &cluster::set_controller);
    GANGSCHED_CALL(remove_controller, &cluster::remove_controller);
    GANGSCHED_CALL(set_priority_class, &cluster::set_priority_class);
    GANGSCHED_CALL(remove_priority_class, &cluster::remove_priority_class);
    GANGSCHED_CALL(set_held_room, &cluster::set_held_room);
    GANGSCHED_CALL(remove_held_room, &cluster::remove_held_room);
    GANGSCHED_CALL(add_resource_claim, &cluster::add_resource_claim);
    GANGSCHED_CALL(remove_resource_claim, &cluster::remove_resource_claim);
    GANGSCHED_CALL(deallocate, &cluster::deallocate);
    GANGSCHED_CALL(add_disruption_budget, &cluster::add_disruption_budget);
    GANGSCHED_CALL(update_disruption_budget, &cluster::update_disruption_budget);
    GANGSCHED_CALL(remove_disruption_budget, &cluster::remove_disruption_budget);
    GANGSCHED_CALL(add_node_column, &cluster::add_node_column);
    GANGSCHED_CALL(add_group_column, &cluster::add_group_column);
    GANGSCHED_CALL(add_pod_column, &cluster::add_pod_column);
    GANGSCHED_CALL(add_scope_column, &cluster::add_scope_column);
    GANGSCHED_CALL(add_scope_row, &cluster::add_scope_row);
    GANGSCHED_CALL(remove_scope_row, &cluster::remove_scope_row);
    GANGSCHED_CALL(set_node_column, (taking<void(node_id, std::string_view, std::int64_t)>::of(&cluster::set_column)));
    GANGSCHED_CALL(set_group_column,
                   (taking<void(group_id, std::string_view, std::int64_t)>::of(&cluster::set_column)));
    GANGSCHED_CALL(set_pod_column, (taking<void(pod_id, std::string_view, std::int64_t)>::of(&cluster::set_column)));
    GANGSCHED_CALL(set_scope_column,
                   (taking<void(scope_row_id, std::string_view, std::int64_t)>::of(&cluster::set_column)));
    GANGSCHED_CALL(assume, &cluster::assume);
    GANGSCHED_CALL(bind, &cluster::bind);
    GANGSCHED_CALL(release, &cluster::release);
    GANGSCHED_CALL(nominate, &cluster::nominate);
    GANGSCHED_CALL(class_of, &cluster::class_of);
    GANGSCHED_CALL(add_queue, &cluster_queues::add);
    GANGSCHED_CALL(update_queue, &cluster_queues::update);
    GANGSCHED_CALL(remove_queue, &cluster_queues::remove);
    GANGSCHED_CALL(set_flavor, &cluster_queues::set_flavor);
    GANGSCHED_CALL(remove_flavor, &cluster_queues::remove_flavor);
    GANGSCHED_CALL(schedule_cycle, &scheduler::schedule_cycle);
    GANGSCHED_CALL(permit, &scheduler::permit);
    GANGSCHED_CALL(confirm, (taking<void(pod_id, bind_attempt)>::of(&scheduler::confirm)));
    GANGSCHED_CALL(confirm_last, (taking<void(pod_id)>::of(&scheduler::confirm)));
    GANGSCHED_CALL(fail, (taking<void(pod_id, bind_attempt, std::string_view)>::of(&scheduler::fail)));
    GANGSCHED_CALL(fail_last, (taking<void(pod_id, std::string_view)>::of(&scheduler::fail)));
    GANGSCHED_CALL(allow, (taking<void(pod_id, std::string_view)>::of(&scheduler::allow)));
    GANGSCHED_CALL(allow_all, (taking<void(pod_id)>::of(&scheduler::allow)));
    GANGSCHED_CALL(reject, &scheduler::reject);
    GANGSCHED_CALL(restore, (taking<void(pod_id, const queue_position&)>::of(&scheduler::restore)));
    GANGSCHED_CALL(restore_waiting, (taking<void(const waiting_pod&)>::of(&scheduler::restore)));
    GANGSCHED_CALL(catch_up, &scheduler::catch_up);
    GANGSCHED_CALL(pop, &scheduler::pop);
    GANGSCHED_CALL(add_unschedulable_pod,
                   (taking<void(pod_id, const rejected_by&, instant)>::of(&scheduler::add_unschedulable)));
    GANGSCHED_CALL(add_unschedulable_group,
                   (taking<void(group_id, const rejected_by&, instant)>::of(&scheduler::add_unschedulable)));
    GANGSCHED_CALL(done_pod, (taking<void(pod_id)>::of(&scheduler::done)));
    GANGSCHED_CALL(done_group, (taking<void(group_id)>::of(&scheduler::done)));
    GANGSCHED_CALL(activate, &scheduler::activate);
    GANGSCHED_CALL(flush_backoff, &scheduler::flush_backoff);
    GANGSCHED_CALL(flush_unschedulable, &scheduler::flush_unschedulable);
    GANGSCHED_CALL(forget_cached, &scheduler::forget_cached);
    case told::make_scheduler:
    case told::begin_transaction:
    case told::commit:
    case told::roll_back: return false;
  }
#undef GANGSCHED_CALL
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
