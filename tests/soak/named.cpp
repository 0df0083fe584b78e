#include <algorithm>

#include "gangsched/model/node_load.hpp"
#include "host.hpp"

/// Groups, and what is known by name: classes, namespaces, services, budgets, claims.
namespace gangsched::soak {

void host::add_group(const step& one) {
  const std::optional<references> to = find_references(one);
  if (!to) return;
  const auto there = known_.groups.find(one.object);
  if (there != known_.groups.end() && !there->second.expected) return;
  const group_spec spec = make_group(one, *to);
  if (there != known_.groups.end() && there->second.spec.composite != spec.composite)
    return;  // that would be another one
  called<"cluster::add_group">();
  const result<group_id> made = tell([&] { return cluster_.add_group(spec); });
  if (!made) return;
  if (there != known_.groups.end() && there->second.id != *made) {
    wrong("add_group of an expected group makes another one");
  }
  known_.groups[one.object] = {*made, one, spec, one.group};
}

void host::expect_group(const step& one) {
  if (known_.groups.contains(one.object)) return;
  const bool composite = one.details().percent(20);
  called<"cluster::expect_group">();
  const group_id made = must(cluster_.expect_group("default", group_name(one.object), composite), "expect_group");
  known_group group{.id = made, .made = one, .spec = {.name = group_name(one.object), .composite = composite}};
  group.expected = true;
  known_.groups[one.object] = std::move(group);
}

void host::update_group(const step& one) {
  const auto found = known_.groups.find(one.object);
  if (found == known_.groups.end()) return;
  known_group& group = found->second;
  const std::optional<references> to = find_references(one);
  if (!to) return;
  group_spec spec = make_group(one, *to);
  spec.parent = group.spec.parent;
  spec.composite = group.spec.composite;
  if (spec.policy.index() != group.spec.policy.index()) spec.policy = group.spec.policy;
  if (auto* policy = std::get_if<gang>(&spec.policy)) {
    policy->mode = std::get<gang>(group.spec.policy).mode;
    policy->strict = policy->strict && policy->mode == gang_mode::permit;
  }
  if (group.above != nobody) {
    spec.priority = group.spec.priority;
    spec.preemption = group.spec.preemption;
  }
  called<"cluster::update_group">();
  if (!tell([&] { return cluster_.update_group(group.id, spec); })) return;
  if (group.expected) wrong("update_group of a group that is only expected is taken", spec.name);
  group.spec = spec;
  group.made = one;
}

void host::remove_group(const step& one) {
  const auto group = known_.groups.find(one.object);
  if (group == known_.groups.end()) return;
  called<"cluster::remove_group">();
  const bool done = tell([&] { return cluster_.remove_group(group->second.id); }).has_value();
  if (!done && !group->second.expected) wrong("remove_group is refused", text_of_group(one.object));
  if (!done) return;
  group->second.spec = {.name = group->second.spec.name, .composite = group->second.spec.composite};
  group->second.expected = true;
  group->second.satisfied = false;
  group->second.above = nobody;
  drop_gone_groups();
}

/// Expected groups go with their last member or child, which may be what the last step removed.
void host::drop_gone_groups() {
  for (auto group = known_.groups.begin(); group != known_.groups.end();) {
    if (cluster_.contains(group->second.id)) {
      ++group;
      continue;
    }
    if (!group->second.expected) wrong("a group is gone that nobody removed", group->second.spec.name);
    if (known_.members(group->first) != 0) wrong("a group is gone that has members", group->second.spec.name);
    if (known_.dead_groups.size() < 64) known_.dead_groups.push_back(group->second.id);
    group = known_.groups.erase(group);
  }
}

/// Some of most nodes, at times more than is free there; or nothing at all, or the room is given up.
void host::hold_room(const step& one) {
  dice any = one.details();
  held_room_spec spec{.name = room_name(one.object)};
  if (any.percent(25)) {
    called<"cluster::remove_held_room">();
    const bool was = known_.rooms.erase(one.object) != 0;
    const result<void> said = tell([&] { return cluster_.remove_held_room(spec.name); });
    if (said.has_value() != was) wrong("remove_held_room is wrong about whether there was one");
    return;
  }
  std::map<number, amounts> parts;
  for (const auto& [at, node] : known_.nodes) {
    if (any.percent(40)) continue;
    resource_list held{{"cpu", quantity{any.between(0, 4)}}};
    if (any.percent(30)) held["memory"] = quantity{any.between(0, 3) << 30};
    spec.parts.push_back({node.id, held});
    parts[at] = amounts_of(held);
  }
  called<"cluster::set_held_room">();
  must(cluster_.set_held_room(spec), "set_held_room");
  known_.rooms[one.object] = std::move(parts);
}

/// How loaded a node or a pod is, as LoadAwareScheduling and its like hear it: mostly what can be, now and then a word that says nothing.
void host::measure(const step& one, dice any) {
  using namespace node_load;
  const auto cpu = [&] { return any.percent(10) ? any.between(-3, 3) : count_word(any.between(0, 9000)); };
  const auto memory = [&] { return any.percent(10) ? any.between(-3, 3) : count_word(any.between(0, 12) << 30); };
  const auto share = [&] {
    return any.percent(10) ? any.between(-3, 3) : word(static_cast<double>(any.between(0, 130)));
  };
  const auto moment = [&] { return any.percent(10) ? 0 : word(now_ - std::chrono::seconds{any.between(0, 100)}); };
  const std::map<std::string_view, std::int64_t> of_nodes{{measured, moment()},
                                                          {age, count_word(any.between(0, 400))},
                                                          {interval, count_word(any.between(0, 60))},
                                                          {cpu_mean, share()},
                                                          {memory_mean, share()},
                                                          {cpu_deviation, share()},
                                                          {cpu_used, cpu()},
                                                          {memory_used, memory()},
                                                          {cpu_system, cpu()},
                                                          {"load.cpu.p95", cpu()},
                                                          {"load.cpu.avg", cpu()},
                                                          {cpu_raw, cpu()},
                                                          {cpu_threshold, count_word(any.between(0, 100))},
                                                          {cpu_prod_threshold, count_word(any.between(0, 100))},
                                                          {cpu_percentile_threshold, count_word(any.between(0, 100))},
                                                          {cpu_percentile, cpu()},
                                                          {price, count_word(any.between(0, 5))}};
  const std::map<std::string_view, std::int64_t> of_pods{{cpu_used, cpu()},
                                                         {memory_used, memory()},
                                                         {scheduled, moment()},
                                                         {initialized, moment()},
                                                         {other_class, any.between(0, 1)}};
  if (const auto node = known_.nodes.find(one.node); node != known_.nodes.end()) {
    for (const auto& [column, its] : of_nodes) {
      if (column != measured && any.percent(60)) continue;
      must(cluster_.add_node_column(column), "add_node_column");
      must(cluster_.set_column(node->second.id, column, its), "set_column of a node");
    }
  }
  if (const auto pod = known_.pods.find(one.object); pod != known_.pods.end()) {
    for (const auto& [column, its] : of_pods) {
      if (any.percent(60)) continue;
      must(cluster_.add_pod_column(column), "add_pod_column");
      must(cluster_.set_column(pod->second.id, column, its), "set_column of a pod");
    }
  }
}

void host::set_column(const step& one) {
  dice any = one.details();
  if (any.percent(50)) return measure(one, any);
  if (!known_.has_columns) {
    called<"cluster::add_node_column">();
    called<"cluster::add_group_column">();
    called<"cluster::add_pod_column">();
    called<"cluster::add_scope_column">();
    must(cluster_.add_node_column("heat"), "add_node_column");
    must(cluster_.add_group_column("share"), "add_group_column");
    must(cluster_.add_pod_column("noise"), "add_pod_column");
    must(cluster_.add_scope_column("licences", "owned"), "add_scope_column");
    known_.has_columns = true;
  }
  const std::int64_t value = any.between(-5, 100);
  if (const auto node = known_.nodes.find(one.node); node != known_.nodes.end() && any.percent(40)) {
    called<"cluster::set_column(node_id)">();
    must(cluster_.set_column(node->second.id, "heat", value), "set_column of a node");
    known_.heat[one.node] = value;
    called<"cluster::set_allocatable">();
    node->second.lent = value < 0 ? 0 : value % 7;
    must(cluster_.set_allocatable(node->second.id, {{"example.com/lent", quantity{node->second.lent}}}),
         "set_allocatable");
  } else if (const auto group = known_.groups.find(one.group); group != known_.groups.end() && any.percent(40)) {
    called<"cluster::set_column(group_id)">();
    called<"cluster::column_of(group_id)">();
    must(cluster_.set_column(group->second.id, "share", value), "set_column of a group");
    if (cluster_.column_of(group->second.id, "share") != value)
      wrong("a column is not what the host set", group->second.spec.name);
  } else if (const auto pod = known_.pods.find(one.object); pod != known_.pods.end() && any.percent(40)) {
    called<"cluster::set_column(pod_id)">();
    called<"cluster::column_of(pod_id)">();
    must(cluster_.set_column(pod->second.id, "noise", value), "set_column of a pod");
    if (cluster_.column_of(pod->second.id, "noise") != value)
      wrong("a column is not what the host set", pod->second.spec.name);
  } else {
    const std::string name = "l" + std::to_string(any.below(3));
    called<"cluster::add_scope_row">();
    called<"cluster::contains(scope_row_id)">();
    called<"cluster::name_of(scope_row_id)">();
    const scope_row_id row = must(cluster_.add_scope_row("licences", name), "add_scope_row");
    if (!cluster_.contains(row) || cluster_.name_of(row) != name) wrong("a scope's row is not what was made", name);
    called<"cluster::set_column(scope_row_id)">();
    must(cluster_.set_column(row, "owned", value), "set_column of a scope's row");
    known_.licences[name] = value;
    if (!any.percent(30)) return;
    called<"cluster::remove_scope_row">();
    must(cluster_.remove_scope_row(row), "remove_scope_row");
    known_.licences.erase(name);
    if (cluster_.contains(row)) wrong("a scope's row is there that was removed", name);
  }
}

void host::change_name(const step& one) {
  dice any = one.details();
  const std::string ns = "ns" + std::to_string(one.object), name = "s" + std::to_string(one.object);
  service_spec service{.name = name, .selector = {{"app", "a" + std::to_string(any.below(4))}}};
  controller_spec controller{.name = "c" + std::to_string(one.object)};
  controller.kind = static_cast<controller_kind>(1 + any.below(3));
  controller.selector = label_selector{.match_labels = service.selector};
  const auto took = [](std::set<number>& all, number at, bool made) {
    if (made) all.insert(at);
    if (!made) all.erase(at);
  };
  const auto removed = [&](const result<void>& made, bool was, const char* call) {
    if (made.has_value() != was) wrong(std::string{call} + (was ? " is refused" : " takes an unknown name"));
  };
  switch (one.what) {
    case act::set_namespace:
      called<"cluster::set_namespace">();
      must(cluster_.set_namespace({ns, {{"team", "t" + std::to_string(any.below(2))}}}), "set_namespace");
      return took(known_.namespaces, one.object, true);
    case act::remove_namespace:
      called<"cluster::remove_namespace">();
      removed(tell([&] { return cluster_.remove_namespace(ns); }), known_.namespaces.contains(one.object),
              "remove_namespace");
      return took(known_.namespaces, one.object, false);
    case act::set_service:
      called<"cluster::set_service">();
      must(cluster_.set_service(service), "set_service");
      return took(known_.services, one.object, true);
    case act::remove_service:
      called<"cluster::remove_service">();
      removed(tell([&] { return cluster_.remove_service("default", name); }), known_.services.contains(one.object),
              "remove_service");
      return took(known_.services, one.object, false);
    case act::set_controller:
      controller.kind = controller_kind::replica_set;
      called<"cluster::set_controller">();
      must(cluster_.set_controller(controller), "set_controller");
      return took(known_.controllers, one.object, true);
    case act::remove_controller:
      called<"cluster::remove_controller">();
      removed(
          tell([&] { return cluster_.remove_controller(controller_kind::replica_set, "default", controller.name); }),
          known_.controllers.contains(one.object), "remove_controller");
      return took(known_.controllers, one.object, false);
    case act::set_priority_class: {
      const priority_class_spec made = make_priority_class(one);
      called<"cluster::set_priority_class">();
      must(cluster_.set_priority_class(made), "set_priority_class");
      known_.classes[one.object] = made;
      return;
    }
    default:
      called<"cluster::remove_priority_class">();
      removed(tell([&] { return cluster_.remove_priority_class("pc" + std::to_string(one.object)); }),
              known_.classes.contains(one.object), "remove_priority_class");
      known_.classes.erase(one.object);
  }
}

void host::change_claim(const step& one) {
  const auto claim = known_.claims.find(one.object);
  if (one.what == act::add_claim) {
    if (claim != known_.claims.end()) return;
    const auto node = known_.nodes.find(one.node);
    const resource_claim_spec spec = make_claim(one, node == known_.nodes.end() ? node_id{} : node->second.id);
    called<"cluster::add_resource_claim">();
    if (const auto made = tell([&] { return cluster_.add_resource_claim(spec); }))
      known_.claims[one.object] = {*made, spec};
    return;
  }
  if (claim == known_.claims.end()) return;
  const resource_claim_id id = claim->second.id;
  const auto names = [&](const known_pod& pod) {
    return std::find(pod.spec.resource_claims.begin(), pod.spec.resource_claims.end(), id) !=
           pod.spec.resource_claims.end();
  };
  bool named = false, used = false;
  for (const auto& [at, pod] : known_.pods) {
    named = named || names(pod);
    used = used || (names(pod) && pod.placed());
  }
  if (one.what == act::deallocate) {
    called<"cluster::deallocate">();
    if (tell([&] { return cluster_.deallocate(id); }).has_value() == used)
      wrong("deallocate of a used claim is taken, or of another refused");
    return;
  }
  called<"cluster::remove_resource_claim">();
  if (tell([&] { return cluster_.remove_resource_claim(id); }).has_value() == named) {
    wrong("remove_resource_claim of a named claim is taken, or of another refused");
  }
  if (!named) known_.claims.erase(claim);
}

void host::change_budget(const step& one) {
  const auto budget = known_.budgets.find(one.object);
  const bool there = budget != known_.budgets.end();
  if (there == (one.what == act::add_budget)) return;
  switch (one.what) {
    case act::add_budget:
      called<"cluster::add_disruption_budget">();
      known_.budgets[one.object] = must(cluster_.add_disruption_budget(make_budget(one)), "add_disruption_budget");
      return;
    case act::update_budget:
      called<"cluster::update_disruption_budget">();
      return must(cluster_.update_disruption_budget(budget->second, make_budget(one)), "update_disruption_budget");
    default:
      called<"cluster::remove_disruption_budget">();
      must(cluster_.remove_disruption_budget(budget->second), "remove_disruption_budget");
      known_.budgets.erase(budget);
  }
}

}  // namespace gangsched::soak
