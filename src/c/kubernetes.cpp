#include "gangsched/c/kubernetes.h"

#include <algorithm>
#include <set>
#include <string_view>
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
  std::string kind, ns, name;
  bool ended = false;  ///< a pod that will not run again, a reservation that holds nothing any more
};

/// The kind as it is called in the API groups that are read here; those of others, of which some are called alike, have their group in it.
/// Groups of pods are told apart by their reader, and an object need not say what API it is of.
std::string kind_of(const kube::value& object) {
  const std::string kind{word(&object, "kind")};
  const std::string_view version = word(&object, "apiVersion");
  const std::size_t slash = version.find('/');
  if (version.empty() || kind == "PodGroup" || kind == "CompositePodGroup") return kind;
  const std::string_view group = slash == std::string_view::npos ? std::string_view{} : version.substr(0, slash);
  std::string_view own;
  if (kind == "ReplicaSet" || kind == "StatefulSet") own = "apps";
  if (kind == "PodDisruptionBudget") own = "policy";
  if (kind == "Reservation") own = "scheduling.koordinator.sh";
  return group == own ? kind : kind + "." + std::string{group};
}

result<watched> read_object(const char* given, std::size_t size) {
  auto all = kube::parse({"object", std::string{given, size}});
  if (!all) return std::move(all).error();
  if (all->size() != 1) return error{errc::malformed, "object", {}, "is not one document"};
  watched made{std::move(all->front().root), {}, {}, {}};
  made.kind = kind_of(made.object);
  const kube::value* const meta = made.object.find("metadata");
  made.ns = ns_of(std::string{word(meta, "namespace")}.c_str());
  made.name = word(meta, "name");
  const std::string_view phase = word(made.object.find("status"), "phase");
  made.ended = (made.kind == "Pod" || made.kind == "Reservation") && (phase == "Succeeded" || phase == "Failed");
  return made;
}

error other_kind(const watched& one) {
  return {errc::unknown, "object", "kind",
          "\"" + one.kind +
              "\" is none that comes alone: Node, Pod, Reservation, PodGroup, CompositePodGroup, "
              "Namespace, Service, ReplicationController, ReplicaSet, StatefulSet, PodDisruptionBudget"};
}

/// A Reservation is in no namespace; its pod is in that of its template, and not the Pod of its name there.
std::optional<pod_id> find_pod(const cluster& on, const watched& one) {
  const auto reservation = on.find_reservation(one.name);
  if (one.kind != "Pod") return reservation;
  const auto pod = on.find_pod(one.ns, one.name);
  return pod == reservation ? std::nullopt : pod;
}

/// Gives the pod its claims of devices by name. A pod without a node cannot be placed if it is not known what it claims, by which claims
/// or volumes; one that runs has what it has.
result<void> name_claims(const cluster& on, kube::pod_manifest& pod) {
  const bool waits = pod.node.empty();
  const auto unknown = [&](std::string_view field, std::size_t at, const std::string& why) {
    return error{errc::unknown, "Pod " + pod.spec.ns + "/" + pod.spec.name,
                 std::string{field} + "[" + std::to_string(at) + "]", why};
  };
  for (std::size_t i = 0; i < pod.claims.size(); ++i) {
    const kube::pod_claim& one = pod.claims[i];
    if (!one.claim.empty() && on.find_resource_claim(pod.spec.ns, one.claim))
      pod.shared_claims.push_back(one.claim);
    else if (waits)
      return unknown("spec.resourceClaims", i,
                     one.claim.empty() ? "its claim is not made yet" : "no claim \"" + one.claim + "\"");
  }
  for (std::size_t i = 0; waits && i < pod.volumes.size(); ++i)
    if (pod.volumes[i].ephemeral || !pod.volumes[i].claim.empty())
      return unknown("spec.volumes", i, "the pod alone does not say where what it claims can be used");
  std::ranges::sort(pod.shared_claims);
  pod.shared_claims.erase(std::unique(pod.shared_claims.begin(), pod.shared_claims.end()), pod.shared_claims.end());
  return {};
}

bool is_controller(const watched& one) noexcept {
  return one.kind == "ReplicationController" || one.kind == "ReplicaSet" || one.kind == "StatefulSet";
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

/// What names an object that is not there, as @p wrong says, is called by its own name.
error told(error wrong, const watched& one) {
  if (wrong.object.empty()) wrong.object = one.kind + " " + (one.kind == "Reservation" ? "" : one.ns + "/") + one.name;
  return wrong;
}

const kube::read_options as_served{.defaulting = false, .expand = false};

result<void> set_object(cluster& on, const watched& one, std::uint64_t cookie, gangsched_object& made) {
  if (one.kind == "Node") {
    auto read = kube::read_node(one.object, "object", nullptr, as_served);
    if (!read) return std::move(read).error();
    read->spec.cookie = cookie;
    made.kind = GANGSCHED_OBJECT_NODE;
    return set(on.find_node(one.name), read->spec, on, &cluster::add_node, &cluster::update_node, made.id);
  }
  if (one.kind == "Pod" || one.kind == "Reservation") {
    const auto there = find_pod(on, one);
    if (one.ended) return there ? on.remove_pod(*there) : result<void>{};
    auto read = (one.kind == "Pod" ? kube::read_pod : kube::read_reservation)(one.object, "object", nullptr, as_served);
    if (!read) return std::move(read).error();
    if (one.kind == "Pod")
      if (auto named = name_claims(on, *read); !named) return named;
    auto spec = kube::spec_for(on, *read);
    if (!spec) return told(std::move(spec).error(), one);
    spec->cookie = cookie;
    made.kind = GANGSCHED_OBJECT_POD;
    return set(there, *spec, on, &cluster::add_pod, &cluster::update_pod, made.id);
  }
  if (one.kind == "PodGroup" || one.kind == "CompositePodGroup") {
    const auto read = kube::read_pod_group(one.object, "object");
    if (!read) return read.error();
    auto spec = kube::spec_for(on, *read);
    if (!spec) return told(std::move(spec).error(), one);
    spec->cookie = cookie;
    made.kind = GANGSCHED_OBJECT_GROUP;
    auto there = on.find_group(one.ns, one.name, spec->composite);
    if (there && on.spec_of(*there) == nullptr) there.reset();  // only expected so far
    return set(there, *spec, on, &cluster::add_group, &cluster::update_group, made.id);
  }
  if (one.kind == "Namespace") {
    const auto read = kube::read_namespace(one.object, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_NAMESPACE;
    return on.set_namespace(*read);
  }
  if (one.kind == "Service") {
    const auto read = kube::read_service(one.object, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_SERVICE;
    return on.set_service({read->name, read->ns, read->selector});
  }
  if (is_controller(one)) {
    const auto read = kube::read_controller(one.object, one.kind, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_CONTROLLER;
    return on.set_controller({kube::controller_kind_of(one.kind), read->name, read->ns, read->selector});
  }
  if (one.kind == "PodDisruptionBudget") {
    const auto read = kube::read_disruption_budget(one.object, "object");
    if (!read) return read.error();
    made.kind = GANGSCHED_OBJECT_BUDGET;
    const pod_disruption_budget_spec spec{read->name, read->ns, read->selector, read->disruptions_allowed.value_or(0),
                                          read->disrupted_pods};
    const auto there = on.find_disruption_budget(one.ns, one.name);
    if (there) return on.update_disruption_budget(*there, spec);
    const auto added = on.add_disruption_budget(spec);
    return added ? result<void>{} : added.error();
  }
  return other_kind(one);
}

result<void> remove_object(cluster& on, const watched& one) {
  const auto no = [&] { return error{errc::unknown, one.kind + " " + one.name, {}, "is not there"}; };
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
    return there ? on.remove_group(*there) : no();
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
