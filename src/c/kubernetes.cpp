#include "gangsched/c/kubernetes.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/src/c/handles.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

std::string_view word(const kube::value* object, std::string_view key) noexcept {
  const kube::value* const found = object == nullptr ? nullptr : object->find(key);
  return found != nullptr && found->kind == kube::value_kind::text ? std::string_view{found->text} : std::string_view{};
}

/// One object as a watch hands it over, and what it is called.
struct watched {
  kube::value object;
  std::string kind, ns, name, api;  ///< of which API group, empty if it is Kubernetes' core
  bool ended = false;               ///< a pod that will not run again, a reservation that holds nothing any more
};

result<watched> read_object(const char* given, std::size_t size) {
  auto all = kube::parse({"object", std::string{given, size}});
  if (!all) return std::move(all).error();
  if (all->size() != 1) return error{errc::malformed, "object", {}, "is not one document"};
  watched made{std::move(all->front().root), {}, {}, {}, {}};
  made.kind = word(&made.object, "kind");
  const kube::value* const meta = made.object.find("metadata");
  made.ns = ns_of(std::string{word(meta, "namespace")}.c_str());
  made.name = word(meta, "name");
  const std::string_view version = word(&made.object, "apiVersion");
  made.api = version.substr(0, std::min(version.find('/'), version.size()));
  if (made.api.size() == version.size()) made.api.clear();
  const std::string_view phase = word(made.object.find("status"), "phase");
  made.ended = (made.kind == "Pod" || made.kind == "Reservation") && (phase == "Succeeded" || phase == "Failed");
  return made;
}

error other_kind(const watched& one) {
  return {errc::unknown, "object", "kind",
          "\"" + one.kind + (one.api.empty() ? "" : "\" of \"" + one.api) +
              "\" is none that comes alone: Node, Pod, Reservation, PodGroup, CompositePodGroup, "
              "Namespace, Service, ReplicationController, ReplicaSet, StatefulSet, PodDisruptionBudget"};
}

/// A Reservation is in no namespace; its pod is in that of its template, where a Pod may have its name.
std::optional<pod_id> find_pod(const cluster& on, const watched& one) {
  const auto reservation = on.find_reservation(one.name);
  if (one.kind != "Pod") return reservation;
  const auto there = on.find_pod(one.ns, one.name);
  return there == reservation ? std::nullopt : there;
}

bool is_controller(const watched& one) noexcept {
  return one.kind == "ReplicationController" || one.kind == "ReplicaSet" || one.kind == "StatefulSet";
}

/// Whether the object is of the API group that has its kind; which groups of pods there are the reader knows. (Others have Services, too.)
bool is_of_its_group(const watched& one) noexcept {
  const bool apps = one.kind == "ReplicaSet" || one.kind == "StatefulSet";
  const std::string_view own = apps                                ? "apps"
                               : one.kind == "PodDisruptionBudget" ? "policy"
                               : one.kind == "Reservation"         ? "scheduling.koordinator.sh"
                                                                   : "";
  return word(&one.object, "apiVersion").empty() || one.api == own || one.kind.ends_with("PodGroup");
}

/// The new Pod is another than the one there, which is being deleted: a watch that was interrupted says so as one change.
bool is_made_anew(const cluster& on, pod_id there, const pod_spec& spec) {
  return on.is_terminating(there) && !spec.terminating &&
         (on.state_of(there) == pod_state::pending || on.node_of(there) != spec.node);
}

/// A pod without a node cannot be placed if it is not known where what it claims can be used.
result<void> claims_no_volumes(const kube::pod_manifest& pod) {
  for (std::size_t i = 0; pod.node.empty() && i < pod.volumes.size(); ++i) {
    if (pod.volumes[i].ephemeral || !pod.volumes[i].claim.empty())
      return error{errc::unknown,
                   {},
                   "volumes[" + std::to_string(i) + "]",
                   "the pod alone does not say where what it claims can be used"};
  }
  return {};
}

/// Adds the object or replaces what the cluster has of that name.
template <class Id, class Spec>
result<void> set(std::optional<Id> there, const Spec& spec, cluster& on, result<Id> (cluster::*add)(const Spec&),
                 result<void> (cluster::*update)(Id, const Spec&), std::uint64_t& made) {
  if (there) {
    made = number(*there);
    return (on.*update)(*there, spec);
  }
  const auto id = (on.*add)(spec);
  if (!id) return id.error();
  made = number(*id);
  return {};
}

const kube::read_options as_served{.defaulting = false, .expand = false};

result<void> set_object(cluster& on, const watched& one, std::uint64_t cookie, gangsched_object& made) {
  const auto told = [&](result<void> done) {
    return done ? std::move(done) : kube::error_about(done.error(), one.object, "object");
  };
  if (!is_of_its_group(one)) return other_kind(one);
  if (one.kind == "Node") {
    auto read = kube::read_node(one.object, "object", nullptr, as_served);
    if (!read) return std::move(read).error();
    read->spec.cookie = cookie;
    made.kind = GANGSCHED_OBJECT_NODE;
    return told(set(on.find_node(one.name), read->spec, on, &cluster::add_node, &cluster::update_node, made.id));
  }
  if (one.kind == "Pod" || one.kind == "Reservation") {
    auto there = find_pod(on, one);
    if (one.ended) return there ? on.remove_pod(*there) : result<void>{};
    auto read = (one.kind == "Pod" ? kube::read_pod : kube::read_reservation)(one.object, "object", nullptr, as_served);
    if (!read) return std::move(read).error();
    if (auto claims = claims_no_volumes(*read); !claims) return told(std::move(claims));
    auto spec = kube::spec_for(on, *read);
    if (!spec) return told(std::move(spec).error());
    spec->cookie = cookie;
    if (there && is_made_anew(on, *there, *spec)) {
      if (auto gone = on.remove_pod(*std::exchange(there, std::nullopt)); !gone) return gone;
    }
    made.kind = GANGSCHED_OBJECT_POD;
    return told(set(there, *spec, on, &cluster::add_pod, &cluster::update_pod, made.id));
  }
  if (one.kind == "PodGroup" || one.kind == "CompositePodGroup") {
    const auto read = kube::read_pod_group(one.object, "object");
    if (!read) return read.error();
    auto spec = kube::spec_for(on, *read);
    if (!spec) return told(std::move(spec).error());
    spec->cookie = cookie;
    made.kind = GANGSCHED_OBJECT_GROUP;
    auto there = on.find_group(one.ns, one.name, spec->composite);
    if (there && on.spec_of(*there) == nullptr) there.reset();  // only expected so far
    return told(set(there, *spec, on, &cluster::add_group, &cluster::update_group, made.id));
  }
  if (one.kind == "Namespace") {
    const auto read = kube::read_namespace(one.object, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_NAMESPACE;
    return told(on.set_namespace(*read));
  }
  if (one.kind == "Service") {
    const auto read = kube::read_service(one.object, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_SERVICE;
    return told(on.set_service({read->name, read->ns, read->selector}));
  }
  if (is_controller(one)) {
    const auto read = kube::read_controller(one.object, one.kind, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_CONTROLLER;
    return told(on.set_controller({kube::controller_kind_of(one.kind), read->name, read->ns, read->selector}));
  }
  if (one.kind == "PodDisruptionBudget") {
    const auto read = kube::read_disruption_budget(one.object, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_BUDGET;
    const pod_disruption_budget_spec spec{read->name, read->ns, read->selector, read->disruptions_allowed.value_or(0),
                                          read->disrupted_pods};
    const auto there = on.find_disruption_budget(one.ns, one.name);
    if (there) return told(on.update_disruption_budget(*there, spec));
    const auto added = on.add_disruption_budget(spec);
    return added ? result<void>{} : told(added.error());
  }
  return other_kind(one);
}

result<void> remove_object(cluster& on, const watched& one) {
  const auto no = [&] { return error{errc::unknown, one.kind + " " + one.name, {}, "is not there"}; };
  if (!is_of_its_group(one)) return other_kind(one);
  if (one.kind == "Node") {
    const auto there = on.find_node(one.name);
    if (!there) return no();
    const auto gone = on.remove_node(*there);
    return gone ? result<void>{} : gone.error();
  }
  if (one.kind == "Pod" || one.kind == "Reservation") {
    const auto there = find_pod(on, one);
    return there ? on.remove_pod(*there) : no();
  }
  if (one.kind == "PodGroup" || one.kind == "CompositePodGroup") {
    const auto there = on.find_group(one.ns, one.name, one.kind != "PodGroup");
    return there && on.spec_of(*there) != nullptr ? on.remove_group(*there) : no();  // (or it is only expected)
  }
  if (one.kind == "Namespace") return on.remove_namespace(one.name);
  if (one.kind == "Service") return on.remove_service(one.ns, one.name);
  if (is_controller(one)) return on.remove_controller(kube::controller_kind_of(one.kind), one.ns, one.name);
  if (one.kind == "PodDisruptionBudget") {
    const auto there = on.find_disruption_budget(one.ns, one.name);
    return there ? on.remove_disruption_budget(*there) : no();
  }
  return other_kind(one);
}

/// Takes the parents and namespaces from queues that are to have others: what one of them gives up another can have whichever comes first.
result<void> loosen_queues(cluster& on, const kube::manifests& read) {
  for (const kube::queue_manifest& one : read.queues) {
    const auto known = on.queues().find(one.spec.name);
    const queue_spec* const there = known ? on.queues().spec_of(*known) : nullptr;
    if (there == nullptr) continue;
    queue_spec less = *there;
    if (less.parent != one.spec.parent) less.parent.clear();
    std::erase_if(less.namespaces, [&](const std::string& ns) {
      return std::ranges::find(one.spec.namespaces, ns) == one.spec.namespaces.end();
    });
    if (less.parent == there->parent && less.namespaces.size() == there->namespaces.size()) continue;
    if (auto done = on.queues().update(*known, less); !done) return done;
  }
  return {};
}

/// Makes the cluster's queues and flavors those that were read: what was read only now is added, what is not there any more goes. (A flavor
/// stays: a queue that is only named may have quota of it.) With @p left_out those that are refused are put there, and are not there.
result<void> set_queues(cluster& on, const kube::manifests& read, std::vector<error>* left_out) {
  const auto noted = [&](const error& why) { return left_out != nullptr && (left_out->push_back(why), true); };
  for (const kube::flavor_manifest& one : read.flavors)
    if (auto done = on.queues().set_flavor(one.spec); !done && !noted(done.error())) return done;
  std::set<std::string_view> names;
  for (const kube::queue_manifest& one : read.queues) names.insert(one.spec.name);
  const std::vector<queue_id> there = on.queues().all();
  for (auto one = there.rbegin(); one != there.rend(); ++one) {  // children before their parents
    if (on.queues().spec_of(*one) == nullptr || names.contains(on.queues().name_of(*one))) continue;
    if (auto done = on.queues().remove(*one); !done) return done;
  }
  if (auto done = loosen_queues(on, read); !done) return done;
  for (const kube::queue_manifest& one : read.queues) {
    const auto known = on.queues().find(one.spec.name);
    if (known && on.queues().spec_of(*known) != nullptr) {
      auto done = on.queues().update(*known, one.spec);
      if (!done && !noted(done.error())) return done;
      if (!done) done = on.queues().remove(*known);
      if (!done) return done;
    } else if (const auto added = on.queues().add(one.spec); !added && !noted(added.error())) {
      return added.error();
    }
  }
  return {};
}

/// What was left out, a line each, in memory that the host frees; null if nothing was.
template <class Warnings>
char* copied_warnings(const Warnings& left_out) {
  std::string all;
  for (const auto& one : left_out) all += one.message() + "\n";
  return all.empty() ? nullptr : copied(all);
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_cluster_add_manifests(gangsched_cluster* on, const char* given, size_t size, const char* name,
                                               uint32_t flags, char** warnings, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (given == nullptr && size != 0) return c::missing(error, "text");
  if (warnings != nullptr) *warnings = nullptr;
  return c::guarded(error, [&] {
    kube::read_options how;
    how.defaulting = (flags & GANGSCHED_FROM_API_SERVER) == 0;
    how.expand = (flags & GANGSCHED_NO_EXPANSION) == 0;
    const kube::source file{c::text(name).empty() ? "manifests" : name,
                            size == 0 ? std::string{} : std::string{given, size}};
    const auto read = kube::read(file, how);
    if (!read) return c::refuse(error, read.error());
    char* const told = warnings == nullptr ? nullptr : c::copied_warnings(read->warnings);
    try {
      if (const auto done = kube::apply(on->model, *read); !done) {
        gangsched_free(told);
        return c::refuse(error, done.error());
      }
    } catch (...) {
      gangsched_free(told);
      throw;
    }
    if (warnings != nullptr) *warnings = told;
    return c::ok;
  });
}

gangsched_code gangsched_cluster_set_object(gangsched_cluster* on, const char* given, size_t size, uint64_t cookie,
                                            gangsched_object* made, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (given == nullptr) return c::missing(error, "text");
  return c::guarded(error, [&] {
    const auto read = c::read_object(given, size);
    if (!read) return c::refuse(error, read.error());
    gangsched_object became{};
    transaction all{on->model};  // names that are seen first become groups that are expected
    const auto done = c::set_object(on->model, *read, cookie, became);
    if (!done) return c::refuse(error, done.error());
    all.commit();
    if (made != nullptr) *made = became;
    return c::ok;
  });
}
gangsched_code gangsched_cluster_remove_object(gangsched_cluster* on, const char* given, size_t size,
                                               gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (given == nullptr) return c::missing(error, "text");
  return c::guarded(error, [&] {
    const auto read = c::read_object(given, size);
    if (!read) return c::refuse(error, read.error());
    return c::answer(error, c::remove_object(on->model, *read));
  });
}

gangsched_code gangsched_cluster_set_queues(gangsched_cluster* on, const char* given, size_t size, const char* name,
                                            char** left_out, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (given == nullptr && size != 0) return c::missing(error, "text");
  if (left_out != nullptr) *left_out = nullptr;
  return c::guarded(error, [&] {
    const kube::source file{c::text(name).empty() ? "queues" : name,
                            size == 0 ? std::string{} : std::string{given, size}};
    std::vector<gangsched::error> mistakes;
    std::vector<gangsched::error>* const noted = left_out == nullptr ? nullptr : &mistakes;
    kube::read_options how = c::as_served;
    how.mistakes = noted;
    const auto read = kube::read(file, how);
    if (!read) return c::refuse(error, read.error());
    transaction all{on->model};
    if (const auto done = c::set_queues(on->model, *read, noted); !done) return c::refuse(error, done.error());
    if (noted != nullptr) *left_out = c::copied_warnings(mistakes);
    all.commit();
    return c::ok;
  });
}
