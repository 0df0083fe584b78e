#include "gangsched/c/cluster.h"

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/src/c/handles.hpp"
#include "gangsched/src/c/specs.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

/// Calls change(cluster), which says whether it was refused.
template <class Change>
gangsched_code change(gangsched_cluster* on, gangsched_error* error, Change&& change) noexcept {
  if (on == nullptr) return missing(error, "cluster");
  return guarded(error, [&] { return answer(error, change(on->model)); });
}

/// Calls add(cluster, spec), which says the id of what it made.
template <class Given, class Id, class Add>
gangsched_code add(gangsched_cluster* on, const Given* given, Id* made, gangsched_error* error, Add&& add) noexcept {
  if (on == nullptr) return missing(error, "cluster");
  if (given == nullptr) return missing(error, "spec");
  return guarded(error, [&] {
    const auto spec = read_spec(*given);
    if (!spec) return refuse(error, spec.error());
    const auto id = add(on->model, *spec);
    if (!id) return refuse(error, id.error());
    if (made != nullptr) *made = handed(*id);
    return c::ok;
  });
}

/// Calls update(cluster, spec).
template <class Given, class Update>
gangsched_code update(gangsched_cluster* on, const Given* given, gangsched_error* error, Update&& update) noexcept {
  if (given == nullptr) return missing(error, "spec");
  return change(on, error, [&](cluster& model) -> result<void> {
    const auto spec = read_spec(*given);
    if (!spec) return spec.error();
    return update(model, *spec);
  });
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_cluster_create(const gangsched_cluster_options* given, gangsched_cluster** made,
                                        gangsched_error* error) noexcept {
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    cluster_options options;
    if (given != nullptr) {
      const auto read = c::sized(given);
      if (!read) return c::wrong_size(error, "cluster options");
      if (read->log_bound != 0) options.log_bound = read->log_bound;
      options.attempts_after = read->attempts_after;
    }
    *made = new gangsched_cluster{cluster{options}};
    return c::ok;
  });
}
void gangsched_cluster_destroy(gangsched_cluster* on) noexcept { delete on; }
gangsched_code gangsched_cluster_reserve(gangsched_cluster* on, uint32_t nodes, uint32_t pods, uint32_t groups,
                                         gangsched_error* error) noexcept {
  return c::change(on, error,
                   [&](cluster& model) { return model.reserve({.nodes = nodes, .pods = pods, .groups = groups}); });
}

gangsched_code gangsched_cluster_add_node(gangsched_cluster* on, const gangsched_node_spec* spec,
                                          gangsched_node_id* made, gangsched_error* error) noexcept {
  return c::add(on, spec, made, error, [](cluster& model, const node_spec& one) { return model.add_node(one); });
}
gangsched_code gangsched_cluster_update_node(gangsched_cluster* on, gangsched_node_id node,
                                             const gangsched_node_spec* spec, gangsched_error* error) noexcept {
  return c::update(on, spec, error,
                   [&](cluster& model, const node_spec& one) { return model.update_node(c::of(node), one); });
}
gangsched_code gangsched_cluster_remove_node(gangsched_cluster* on, gangsched_node_id node, uint64_t* cookies,
                                             size_t capacity, size_t* count, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (cookies == nullptr && capacity != 0) return c::missing(error, "cookies");
  return c::guarded(error, [&] {
    const auto gone = on->model.remove_node(c::of(node));
    if (!gone) return c::refuse(error, gone.error());
    if (count != nullptr) *count = gone->size();
    for (size_t i = 0; i < gone->size() && i < capacity; ++i) cookies[i] = (*gone)[i].cookie;
    return c::ok;
  });
}

gangsched_code gangsched_cluster_add_pod(gangsched_cluster* on, const gangsched_pod_spec* spec, gangsched_pod_id* made,
                                         gangsched_error* error) noexcept {
  return c::add(on, spec, made, error, [](cluster& model, const pod_spec& one) { return model.add_pod(one); });
}
gangsched_code gangsched_cluster_update_pod(gangsched_cluster* on, gangsched_pod_id pod, const gangsched_pod_spec* spec,
                                            gangsched_error* error) noexcept {
  return c::update(on, spec, error,
                   [&](cluster& model, const pod_spec& one) { return model.update_pod(c::of(pod), one); });
}
gangsched_code gangsched_cluster_remove_pod(gangsched_cluster* on, gangsched_pod_id pod,
                                            gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.remove_pod(c::of(pod)); });
}
gangsched_code gangsched_cluster_set_terminating(gangsched_cluster* on, gangsched_pod_id pod, bool preempted,
                                                 gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.set_terminating(c::of(pod), preempted); });
}
gangsched_code gangsched_cluster_assume(gangsched_cluster* on, gangsched_pod_id pod, gangsched_node_id node,
                                        gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.assume(c::of(pod), c::of(node)); });
}
gangsched_code gangsched_cluster_bind(gangsched_cluster* on, gangsched_pod_id pod, gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.bind(c::of(pod)); });
}
gangsched_code gangsched_cluster_release(gangsched_cluster* on, gangsched_pod_id pod, gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.release(c::of(pod)); });
}
gangsched_code gangsched_cluster_nominate(gangsched_cluster* on, gangsched_pod_id pod, gangsched_node_id node,
                                          gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.nominate(c::of(pod), c::of(node)); });
}

gangsched_code gangsched_cluster_add_group(gangsched_cluster* on, const gangsched_group_spec* spec,
                                           gangsched_group_id* made, gangsched_error* error) noexcept {
  return c::add(on, spec, made, error, [](cluster& model, const group_spec& one) { return model.add_group(one); });
}
gangsched_code gangsched_cluster_expect_group(gangsched_cluster* on, const char* ns, const char* name, bool composite,
                                              gangsched_group_id* made, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    const auto id = on->model.expect_group(c::ns_of(ns), c::text(name), composite);
    if (!id) return c::refuse(error, id.error());
    *made = c::handed(*id);
    return c::ok;
  });
}
gangsched_code gangsched_cluster_update_group(gangsched_cluster* on, gangsched_group_id group,
                                              const gangsched_group_spec* spec, gangsched_error* error) noexcept {
  return c::update(on, spec, error,
                   [&](cluster& model, const group_spec& one) { return model.update_group(c::of(group), one); });
}
gangsched_code gangsched_cluster_remove_group(gangsched_cluster* on, gangsched_group_id group,
                                              gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.remove_group(c::of(group)); });
}
gangsched_code gangsched_cluster_set_allocatable(gangsched_cluster* on, gangsched_node_id node,
                                                 gangsched_amounts amounts, gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) -> result<void> {
    const auto read = c::read_allocatable(model.name_of(c::of(node)), amounts);
    if (!read) return read.error();
    return model.set_allocatable(c::of(node), *read);
  });
}
gangsched_code gangsched_cluster_set_namespace(gangsched_cluster* on, const char* name, gangsched_pairs labels,
                                               gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) -> result<void> {
    const auto spec = c::read_namespace(name, labels);
    if (!spec) return spec.error();
    return model.set_namespace(*spec);
  });
}
gangsched_code gangsched_cluster_remove_namespace(gangsched_cluster* on, const char* name,
                                                  gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.remove_namespace(c::text(name)); });
}
gangsched_code gangsched_cluster_set_priority_class(gangsched_cluster* on, const gangsched_priority_class_spec* spec,
                                                    gangsched_error* error) noexcept {
  return c::update(on, spec, error,
                   [](cluster& model, const priority_class_spec& one) { return model.set_priority_class(one); });
}
gangsched_code gangsched_cluster_remove_priority_class(gangsched_cluster* on, const char* name,
                                                       gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.remove_priority_class(c::text(name)); });
}

gangsched_code gangsched_cluster_set_device_health(gangsched_cluster* on, gangsched_node_id node, const char* device,
                                                   bool healthy, gangsched_pod_id* pods, size_t capacity, size_t* count,
                                                   gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (pods == nullptr && capacity != 0) return c::missing(error, "pods");
  return c::guarded(error, [&] {
    const auto have = on->model.set_device_health(c::of(node), c::text(device), healthy);
    if (!have) return c::refuse(error, have.error());
    if (count != nullptr) *count = have->size();
    for (size_t i = 0; i < have->size() && i < capacity; ++i) pods[i] = c::handed((*have)[i]);
    return c::ok;
  });
}
gangsched_code gangsched_cluster_add_resource_claim(gangsched_cluster* on, const gangsched_resource_claim_spec* spec,
                                                    gangsched_resource_claim_id* made,
                                                    gangsched_error* error) noexcept {
  return c::add(on, spec, made, error,
                [](cluster& model, const resource_claim_spec& one) { return model.add_resource_claim(one); });
}
gangsched_code gangsched_cluster_remove_resource_claim(gangsched_cluster* on, gangsched_resource_claim_id claim,
                                                       gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.remove_resource_claim(c::of(claim)); });
}
gangsched_code gangsched_cluster_deallocate(gangsched_cluster* on, gangsched_resource_claim_id claim,
                                            gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.deallocate(c::of(claim)); });
}

gangsched_code gangsched_cluster_add_queue(gangsched_cluster* on, const gangsched_queue_spec* spec,
                                           gangsched_queue_id* made, gangsched_error* error) noexcept {
  return c::add(on, spec, made, error, [](cluster& model, const queue_spec& one) { return model.queues().add(one); });
}
gangsched_code gangsched_cluster_update_queue(gangsched_cluster* on, gangsched_queue_id queue,
                                              const gangsched_queue_spec* spec, gangsched_error* error) noexcept {
  return c::update(on, spec, error,
                   [&](cluster& model, const queue_spec& one) { return model.queues().update(c::of(queue), one); });
}
gangsched_code gangsched_cluster_remove_queue(gangsched_cluster* on, gangsched_queue_id queue,
                                              gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.queues().remove(c::of(queue)); });
}
gangsched_code gangsched_cluster_set_flavor(gangsched_cluster* on, const gangsched_flavor_spec* spec,
                                            gangsched_error* error) noexcept {
  return c::update(on, spec, error,
                   [](cluster& model, const flavor_spec& one) { return model.queues().set_flavor(one); });
}
gangsched_code gangsched_cluster_remove_flavor(gangsched_cluster* on, const char* name,
                                               gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.queues().remove_flavor(c::text(name)); });
}

gangsched_code gangsched_cluster_add_node_column(gangsched_cluster* on, const char* column,
                                                 gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.add_node_column(c::text(column)); });
}
gangsched_code gangsched_cluster_add_group_column(gangsched_cluster* on, const char* column,
                                                  gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.add_group_column(c::text(column)); });
}
gangsched_code gangsched_cluster_add_pod_column(gangsched_cluster* on, const char* column,
                                                gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.add_pod_column(c::text(column)); });
}
gangsched_code gangsched_cluster_set_node_column(gangsched_cluster* on, gangsched_node_id node, const char* column,
                                                 int64_t value, gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.set_column(c::of(node), c::text(column), value); });
}
gangsched_code gangsched_cluster_set_group_column(gangsched_cluster* on, gangsched_group_id group, const char* column,
                                                  int64_t value, gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.set_column(c::of(group), c::text(column), value); });
}
gangsched_code gangsched_cluster_set_pod_column(gangsched_cluster* on, gangsched_pod_id pod, const char* column,
                                                int64_t value, gangsched_error* error) noexcept {
  return c::change(on, error, [&](cluster& model) { return model.set_column(c::of(pod), c::text(column), value); });
}
