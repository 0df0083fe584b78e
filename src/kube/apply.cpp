#include <fmt/format.h>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/src/kube/colocation/colocation.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/core/unread_objects.hpp"
#include "gangsched/src/kube/documents/kinds.hpp"
#include "gangsched/src/kube/documents/trees.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace detail {

/// Kubernetes' own priority classes, which exist in every cluster.
const priority_class_spec* system_class(std::string_view name) {
  static const priority_class_spec all[] = {{"system-cluster-critical", 2'000'000'000},
                                            {"system-node-critical", 2'000'001'000}};
  for (const priority_class_spec& one : all)
    if (one.name == name) return &one;
  return nullptr;
}

/// The value of the class of that name; Kubernetes' own are added when they are first asked for.
std::optional<std::int32_t> find_class(cluster& on, const std::string& name) {
  if (const auto known = on.find_priority_class(name)) return known;
  const priority_class_spec* const own = system_class(name);
  if (own == nullptr) return std::nullopt;
  static_cast<void>(on.set_priority_class(*own));
  return own->value;
}

/// Adds manifests to a cluster, object by object; the first error is kept in the manifest's words.
class applier {
 public:
  applier(cluster& on, const manifests& what) : on_(&on), what_(&what) {}

  result<void> run() {
    for (const namespace_spec& one : what_->namespaces)
      if (auto set = on_->set_namespace(one); !set) return std::move(set).error();
    for (const priority_class_spec& one : what_->priority_classes)
      if (auto set = on_->set_priority_class(one); !set) return std::move(set).error();
    for (const service_manifest& one : what_->services)
      if (auto set = on_->set_service({one.name, one.ns, one.selector}); !set)
        return told(set.error(), "Service", one.ns, one.name, one.from);
    for (const controller_manifest& one : what_->controllers)
      if (auto set = on_->set_controller({controller_kind_of(one.kind), one.name, one.ns, one.selector}); !set)
        return told(set.error(), one.kind, one.ns, one.name, one.from);
    for (const flavor_manifest& one : what_->flavors)
      if (auto set = on_->queues().set_flavor(one.spec); !set)
        return told(set.error(), "ResourceFlavor", {}, one.spec.name, one.from);
    for (const queue_manifest& one : what_->queues)
      if (auto added = on_->queues().add(one.spec); !added)
        return told(added.error(), one.kind, one.ns, one.name, one.from);
    for (const node_manifest& one : what_->nodes)
      if (auto added = on_->add_node(one.spec); !added) return told(added.error(), "Node", {}, one.spec.name, one.from);
    const std::vector<std::int32_t> allowed = disruptions_allowed(*what_);
    for (std::size_t i = 0; i < what_->budgets.size(); ++i) {
      const disruption_budget_manifest& one = what_->budgets[i];
      const pod_disruption_budget_spec spec{one.name, one.ns, one.selector, allowed[i], one.disrupted_pods};
      if (auto added = on_->add_disruption_budget(spec); !added)
        return told(added.error(), "PodDisruptionBudget", one.ns, one.name, one.from);
    }
    for (const group_manifest& one : what_->groups)
      if (auto added = add_to(&cluster::add_group, one); !added)
        return told(added.error(), one.kind, one.spec.ns, one.spec.name, one.from);
    for (const resource_claim_manifest& one : what_->claims)
      if (auto added = add_claim(one); !added)
        return told(added.error(), "ResourceClaim", one.spec.ns, one.spec.name, one.from);
    for (const bool reservations : {true, false}) {
      for (const pod_manifest& one : what_->pods) {
        if (one.spec.reservation.has_value() != reservations) continue;
        if (auto added = add_to(&cluster::add_pod, one); !added)
          return told(added.error(), reservations ? "Reservation" : "Pod", one.spec.ns, one.spec.name, one.from);
      }
    }
    if (auto wrong = apply_measurements(*on_, *what_)) return *std::move(wrong);
    return {};
  }

 private:
  [[nodiscard]] error told(const error& wrong, std::string_view kind, std::string_view ns, std::string_view name,
                           origin from) const {
    const std::string file = from.file < what_->files.size() ? what_->files[from.file] : std::string{"?"};
    return {wrong.code, fmt::format("{}:{}: {}", file, from.line, object_name(kind, ns, name)),
            manifest_path(kind, wrong.field), wrong.reason};
  }

  template <class Id, class Spec, class Manifest>
  result<Id> add_to(result<Id> (cluster::*add)(const Spec&), const Manifest& one) {
    auto spec = spec_for(*on_, one);
    if (!spec) return std::move(spec).error();
    return (on_->*add)(*spec);
  }

  result<resource_claim_id> add_claim(const resource_claim_manifest& one) {
    resource_claim_spec spec = one.spec;
    if (!one.node.empty()) {
      const auto node = on_->find_node(one.node);
      if (!node) return error{errc::unknown, {}, "node", fmt::format("no node \"{}\"", one.node)};
      spec.node = *node;
    }
    return on_->add_resource_claim(spec);
  }

  cluster* on_;
  const manifests* what_;
};

}  // namespace detail

result<group_spec> spec_for(cluster& on, const group_manifest& one) {
  group_spec spec = one.spec;
  if (!one.priority_class.empty() && !spec.priority) {
    spec.priority = detail::find_class(on, one.priority_class);
    if (!spec.priority)
      return error{errc::unknown, {}, "priority_class", "no priority class \"" + one.priority_class + "\""};
  }
  if (!one.parent.empty()) {
    auto parent = on.expect_group(spec.ns, one.parent, true);
    if (!parent) return {std::move(parent).error()};
    spec.parent = *parent;
  }
  for (const group_dependency_manifest& before : one.start_after) {
    auto first = on.expect_group(spec.ns, before.on, before.composite);
    if (!first) return {std::move(first).error()};
    spec.start_after.push_back({*first, before.until});
  }
  for (const group_ratio_manifest& ratio : one.ratios) {
    auto other = on.expect_group(spec.ns, ratio.to, ratio.composite);
    if (!other) return {std::move(other).error()};
    spec.ratios.push_back({*other, ratio.mine, ratio.theirs});
  }
  return spec;
}

result<pod_spec> spec_for(cluster& on, const pod_manifest& one) {
  pod_spec spec = one.spec;
  const auto unknown = [](const char* field, const char* what, const std::string& name) {
    return error{errc::unknown, {}, field, fmt::format("no {} \"{}\"", what, name)};
  };
  spec.controller = {controller_kind_of(one.owner_kind), one.owner_name};
  for (std::size_t i = 0; i < one.limits.size(); ++i) {
    const bool init = i >= spec.containers.size();
    (init ? spec.init_containers[i - spec.containers.size()] : spec.containers[i]).limits = one.limits[i];
  }
  if (!one.unresolved.empty() && one.node.empty()) spec.scheduling_gates.emplace_back(unresolved_gate);
  if (!one.node.empty()) {
    const auto node = on.find_node(one.node);
    if (!node) return unknown("node", "node", one.node);
    spec.node = *node;
    spec.held_devices = one.held_devices;
  }
  if (spec.node && !one.reservation.empty()) {  // it may be gone, and then nothing is drawn from it
    const auto from = on.find_reservation(one.reservation);
    if (from && on.node_of(*from) == spec.node) spec.draws_from = *from;
  }
  if (!one.nominated_node.empty()) {
    if (const auto node = on.find_node(one.nominated_node)) spec.nominated_node = *node;  // it may be gone
  }
  if (!one.group.empty()) {
    auto group = on.expect_group(spec.ns, one.group);  // it may come later
    if (!group) return error{group.error().code, {}, "group", group.error().reason};
    spec.group = *group;
  }
  for (const std::string& name : one.shared_claims) {
    const auto claim = on.find_resource_claim(spec.ns, name);
    if (!claim && spec.node) continue;  // it is only not known what it uses
    if (!claim) return unknown("resource_claims", "resource claim", name);
    spec.resource_claims.push_back(*claim);
  }
  if (!spec.priority_class.empty()) {
    // kube-scheduler goes by the number that the pod was stored with, whatever became of its class.
    const auto value = detail::find_class(on, spec.priority_class);
    if (value && spec.priority.value_or(*value) != *value) spec.priority_class.clear();
  }
  return spec;
}

error error_about(const error& wrong, const value& object, std::string_view file) {
  const std::string_view kind = detail::text_at(object, "kind");
  return detail::in_manifest(wrong, kind, file, object,
                             detail::name_of_object(object, kind, !detail::is_cluster_scoped(kind)));
}

result<void> apply(cluster& on, const manifests& what) {
  transaction all{on};
  auto done = detail::applier{on, what}.run();
  if (done) all.commit();
  return done;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
