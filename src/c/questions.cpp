#include <span>

#include "gangsched/c/cluster.h"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/device_alternatives.hpp"
#include "gangsched/src/c/handles.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

/// What ask(cluster) says; @p otherwise without a cluster, or without memory for the question.
template <class Said, class Ask>
Said ask(const gangsched_cluster* on, Said otherwise, Ask&& ask) noexcept {
  return on == nullptr ? otherwise : quietly(otherwise, [&] { return ask(on->model); });
}

/// The id as C has it; of none the id that names nothing.
template <class Id>
auto found(const std::optional<Id>& id) noexcept {
  return id ? handed(*id) : handed(Id{});
}

/// Writes as many as there is room for.
template <class Id, class Into>
std::size_t list(const std::vector<Id>& all, Into* into, std::size_t capacity) noexcept {
  for (std::size_t i = 0; into != nullptr && i < all.size() && i < capacity; ++i) into[i] = handed(all[i]);
  return all.size();
}

std::size_t list_devices(const cluster& in, node_id node, std::span<const device_grant> all, gangsched_device* into,
                         std::size_t capacity) {
  std::size_t count = 0;
  for (const device_grant& one : all) {
    if (one.of_container()) continue;
    if (into != nullptr && count < capacity) {
      const std::int32_t milli = one.kind == device_grant::form::share ? one.milli : 0;
      const std::int32_t request = one.request == counted_request ? -1 : one.request;
      into[count] = {handed(in.name_of(node, one)), handed(in.profile_of(one)), milli, one.amount, request};
    }
    ++count;
  }
  return count;
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

int64_t gangsched_cluster_queue_used(const gangsched_cluster* on, gangsched_queue_id queue,
                                     const char* resource) noexcept {
  return c::ask(on, std::int64_t{0}, [&](const cluster& model) {
    const queue_usage usage = model.queues().usage_of(c::of(queue));
    const auto found = usage.used.find(c::text(resource));
    return found == usage.used.end() ? 0 : found->second;
  });
}
gangsched_queue_id gangsched_cluster_queue_of(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  return c::ask(on, gangsched_queue_id{},
                [&](const cluster& model) { return c::handed(model.queues().queue_of(c::of(pod))); });
}
int64_t gangsched_cluster_node_column(const gangsched_cluster* on, gangsched_node_id node,
                                      const char* column) noexcept {
  return c::ask(on, std::int64_t{0},
                [&](const cluster& model) { return model.column_of(c::of(node), c::text(column)).value_or(0); });
}

gangsched_node_id gangsched_cluster_find_node(const gangsched_cluster* on, const char* name) noexcept {
  return c::ask(on, gangsched_node_id{},
                [&](const cluster& model) { return c::found(model.find_node(c::text(name))); });
}
gangsched_pod_id gangsched_cluster_find_pod(const gangsched_cluster* on, const char* ns, const char* name) noexcept {
  return c::ask(on, gangsched_pod_id{},
                [&](const cluster& model) { return c::found(model.find_pod(c::ns_of(ns), c::text(name))); });
}
gangsched_group_id gangsched_cluster_find_group(const gangsched_cluster* on, const char* ns, const char* name,
                                                bool composite) noexcept {
  return c::ask(on, gangsched_group_id{}, [&](const cluster& model) {
    return c::found(model.find_group(c::ns_of(ns), c::text(name), composite));
  });
}
gangsched_resource_claim_id gangsched_cluster_find_resource_claim(const gangsched_cluster* on, const char* ns,
                                                                  const char* name) noexcept {
  return c::ask(on, gangsched_resource_claim_id{},
                [&](const cluster& model) { return c::found(model.find_resource_claim(c::ns_of(ns), c::text(name))); });
}
gangsched_queue_id gangsched_cluster_find_queue(const gangsched_cluster* on, const char* name) noexcept {
  return c::ask(on, gangsched_queue_id{},
                [&](const cluster& model) { return c::found(model.queues().find(c::text(name))); });
}
gangsched_text gangsched_cluster_node_name(const gangsched_cluster* on, gangsched_node_id node) noexcept {
  return c::ask(on, gangsched_text{}, [&](const cluster& model) { return c::handed(model.name_of(c::of(node))); });
}
gangsched_text gangsched_cluster_pod_name(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  return c::ask(on, gangsched_text{}, [&](const cluster& model) { return c::handed(model.name_of(c::of(pod))); });
}
gangsched_text gangsched_cluster_group_name(const gangsched_cluster* on, gangsched_group_id group) noexcept {
  return c::ask(on, gangsched_text{}, [&](const cluster& model) { return c::handed(model.name_of(c::of(group))); });
}
gangsched_text gangsched_cluster_queue_name(const gangsched_cluster* on, gangsched_queue_id queue) noexcept {
  return c::ask(on, gangsched_text{},
                [&](const cluster& model) { return c::handed(model.queues().name_of(c::of(queue))); });
}

static_assert(static_cast<int>(pod_state::bound) == GANGSCHED_POD_BOUND);
int32_t gangsched_cluster_pod_state(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  return on == nullptr ? GANGSCHED_POD_NONE : static_cast<int32_t>(on->model.state_of(c::of(pod)));
}
gangsched_node_id gangsched_cluster_pod_node(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  return on == nullptr ? gangsched_node_id{} : c::handed(on->model.node_of(c::of(pod)));
}
gangsched_attempt gangsched_cluster_pod_attempt(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  return on == nullptr ? 0 : static_cast<gangsched_attempt>(on->model.attempt_of(c::of(pod)));
}
gangsched_node_id gangsched_cluster_nominated_node(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  return on == nullptr ? gangsched_node_id{} : c::handed(on->model.nominated_node_of(c::of(pod)));
}
gangsched_pod_id gangsched_cluster_reservation_of(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  return on == nullptr ? gangsched_pod_id{} : c::handed(on->model.reservation_of(c::of(pod)));
}
int64_t gangsched_cluster_reserved_from(const gangsched_cluster* on, gangsched_pod_id pod) noexcept {
  if (on == nullptr) return GANGSCHED_NEVER;
  const auto when = on->model.reserved_from(c::of(pod));
  return when ? when->count() : GANGSCHED_NEVER;
}
int64_t gangsched_cluster_allocatable(const gangsched_cluster* on, gangsched_node_id node,
                                      const char* resource) noexcept {
  return c::ask(on, std::int64_t{0},
                [&](const cluster& model) { return model.allocatable(c::of(node), c::text(resource)); });
}
int64_t gangsched_cluster_requested(const gangsched_cluster* on, gangsched_node_id node,
                                    const char* resource) noexcept {
  return c::ask(on, std::int64_t{0},
                [&](const cluster& model) { return model.requested(c::of(node), c::text(resource)); });
}
size_t gangsched_cluster_nodes(const gangsched_cluster* on, gangsched_node_id* into, size_t capacity) noexcept {
  return c::ask(on, std::size_t{0}, [&](const cluster& model) { return c::list(model.nodes(), into, capacity); });
}
size_t gangsched_cluster_pods(const gangsched_cluster* on, gangsched_pod_id* into, size_t capacity) noexcept {
  return c::ask(on, std::size_t{0}, [&](const cluster& model) { return c::list(model.pods(), into, capacity); });
}
size_t gangsched_cluster_devices(const gangsched_cluster* on, gangsched_pod_id pod, gangsched_device* into,
                                 size_t capacity) noexcept {
  return c::ask(on, std::size_t{0}, [&](const cluster& model) {
    return c::list_devices(model, model.node_of(c::of(pod)), model.devices_of(c::of(pod)), into, capacity);
  });
}
gangsched_node_id gangsched_cluster_claim_node(const gangsched_cluster* on,
                                               gangsched_resource_claim_id claim) noexcept {
  return on == nullptr ? gangsched_node_id{} : c::handed(on->model.node_of(c::of(claim)));
}
size_t gangsched_cluster_claim_devices(const gangsched_cluster* on, gangsched_resource_claim_id claim,
                                       gangsched_device* into, size_t capacity) noexcept {
  return c::ask(on, std::size_t{0}, [&](const cluster& model) {
    return c::list_devices(model, model.node_of(c::of(claim)), model.devices_of(c::of(claim)), into, capacity);
  });
}
int32_t gangsched_cluster_alternative(const gangsched_cluster* on, gangsched_pod_id pod, int32_t request) noexcept {
  return c::ask(on, std::int32_t{-1},
                [&](const cluster& model) { return alternative_of(model, c::of(pod), request).value_or(-1); });
}
int32_t gangsched_cluster_claim_alternative(const gangsched_cluster* on, gangsched_resource_claim_id claim,
                                            int32_t request) noexcept {
  return c::ask(on, std::int32_t{-1},
                [&](const cluster& model) { return alternative_of(model, c::of(claim), request).value_or(-1); });
}
uint64_t gangsched_cluster_digest(const gangsched_cluster* on) noexcept {
  return c::ask(on, std::uint64_t{0}, [](const cluster& model) { return model.digest(); });
}
