#include <yaml-cpp/yaml.h>

#include "gangsched/kube/json_tree.hpp"
#include "gangsched/kube/simulation.hpp"

// JSON and YAML are one tree, written twice.
namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

using tree = json_tree;

void put_time(tree& to, const char* field, const std::optional<instant>& when) {
  if (when) to[field] = seconds(*when);
}

void put_text(tree& to, const char* field, const std::string& text) {
  if (!text.empty()) to[field] = text;
}

tree tree_of(const device_outcome& device) {
  tree made{{"name", device.name}};
  if (device.other) made["units"] = device.units;
  for (const auto& [name, amount] : device.capacities) made["capacities"].add({{"name", name}, {"amount", amount}});
  if (device.replica) made["replica"] = true;
  if (device.milli != 0) made["milli"] = device.milli;
  if (device.memory_mib != 0) made["memory_mib"] = device.memory_mib;
  put_text(made, "claim", device.claim);
  if (!device.cpus.empty()) made["cpus"] = device.cpus;
  if (!device.cells.empty()) made["bytes"] = device.bytes, made["cells"] = device.cells;
  if (device.mig_profile.empty()) return made;
  made["mig_profile"] = device.mig_profile;
  made["mig_start"] = device.mig_start;
  return made;
}

tree tree_of(const integer_resources& amounts) {
  tree made = tree::object();
  for (const auto& [name, amount] : amounts) made[name] = amount;
  return made;
}

tree tree_of(const gpu_cell& gpu) {
  tree made{{"name", gpu.name},
            {"healthy", gpu.healthy},
            {"used_milli", gpu.milli},
            {"used_memory_mib", gpu.used_memory_mib}};
  if (gpu.replicas != 0) made["used_replicas"] = gpu.replicas;
  if (gpu.slices == 0) return made;
  made["used_slices"] = tree::list();
  for (int slice = 0; slice < gpu.slices; ++slice)
    if ((gpu.used_slices >> slice & 1) != 0) made["used_slices"].add(slice);
  return made;
}

tree tree_of(const node_gpus& node) {
  tree made{{"node", node.node}, {"model", node.model}};
  if (node.memory_mib != 0) made["gpu_memory_mib"] = node.memory_mib;
  made["gpus"] = tree::list();
  for (const gpu_cell& one : node.gpus) made["gpus"].add(tree_of(one));
  return made;
}

/// Beside what a report without a time line has of the pod.
void put_timeline(tree& to, const pod_outcome& pod) {
  put_text(to, "queue", pod.queue);
  to["requests"] = tree_of(pod.requests);
  for (std::size_t i = 0; i < pod.devices.size(); ++i)
    if (!pod.devices[i].other) to["devices"][i]["taken_milli"] = pod.devices[i].taken_milli;
  for (const stay& one : pod.stays) {
    tree& made = to["stays"].add(tree{{"node", one.node}, {"from_seconds", seconds(one.from)}});
    put_time(made, "until_seconds", one.until);
  }
  for (const rejection& one : pod.rejections)
    to["rejections"].add({{"at_seconds", seconds(one.at)}, {"reason", one.reason}});
}

tree tree_of(const pod_outcome& pod) {
  tree made{{"namespace", pod.ns}, {"name", pod.name}};
  put_text(made, "group", pod.group);
  made["priority"] = pod.priority;
  made["status"] = name_of(pod.is);
  put_text(made, "node", pod.node);
  put_text(made, "nominated_node", pod.nominated_node);
  for (const device_outcome& one : pod.devices) made["devices"].add(tree_of(one));
  if (pod.score) made["score"] = *pod.score;
  put_time(made, "arrived_seconds", pod.arrived_at);
  put_time(made, "placed_seconds", pod.placed_at);
  if (!pod.was_running) made["attempts"] = pod.attempts;
  put_text(made, "evicted_by", pod.evicted_by);
  put_time(made, "evicted_seconds", pod.evicted_at);
  put_time(made, "gone_seconds", pod.gone_at);
  put_time(made, "ended_seconds", pod.ended_at);
  if (!pod.evicts.empty()) made["evicts"] = pod.evicts;
  put_text(made, "reason", pod.reason);
  return made;
}

tree tree_of(const group_outcome& group) {
  tree made{{"namespace", group.ns}, {"name", group.name}};
  put_text(made, "parent", group.parent);
  made["composite"] = group.composite;
  if (group.known) made["minimum"] = group.minimum;
  made["bound"] = group.bound;
  made["pending"] = group.pending;
  for (const role_outcome& role : group.roles)
    made["roles"].add({{"role", role.role}, {"minimum", role.minimum}, {"bound", role.bound}});
  put_text(made, "domain_key", group.domain_key);
  put_text(made, "domain", group.domain);
  if (!group.known) {
    put_text(made, "message", group.message);
    return made;
  }
  tree& condition = made["condition"];
  condition = {
      {"type", group.condition()}, {"status", group.scheduled_at ? "True" : "False"}, {"reason", group.reason}};
  put_text(condition, "message", group.message);
  put_time(condition, "since_seconds", group.scheduled_at);
  return made;
}

tree tree_of(const node_verdict& node, const std::string& chosen) {
  tree made{{"name", node.name}};
  if (node.code != code::success) {
    put_text(made, "plugin", node.plugin);
    made["reasons"] = node.reasons;
    return made;
  }
  if (!chosen.empty()) made["chosen"] = node.name == chosen;
  made["scores"] = tree::list();
  for (const plugin_score& one : node.scores) {
    made["scores"].add({{"plugin", one.plugin},
                        {"raw", one.raw},
                        {"normalized", one.normalized},
                        {"weight", one.weight},
                        {"score", one.weighted()}});
  }
  made["total"] = node.total;
  return made;
}

tree tree_of(const queue_outcome& queue) {
  tree made{{"name", queue.name}};
  put_text(made, "parent", queue.parent);
  put_text(made, "state", queue.known && state_of(queue).empty() ? "open" : std::string{state_of(queue)});
  made["running"] = queue.running;
  made["amounts"] = tree::list();
  for (const queue_amount& one : queue.amounts) {
    tree amount{{"resource", one.resource}};
    put_text(amount, "flavor", one.flavor);
    if (one.guaranteed) amount["guaranteed"] = *one.guaranteed;
    if (one.limit) amount["limit"] = *one.limit;
    amount["used"] = one.used;
    if (one.borrowed) amount["borrowed"] = *one.borrowed;
    if (one.waiting) amount["waiting"] = *one.waiting;
    made["amounts"].add(std::move(amount));
  }
  return made;
}

tree tree_of(const scale_up_outcome& answer) {
  tree made{{"plans", tree::list()}, {"left", answer.left}};
  for (const scale_up_plan& plan : answer.plans) {
    tree nodes = tree::list();
    for (const added_node& node : plan.nodes) nodes.add({{"shape", node.shape}, {"pods", node.pods}});
    made["plans"].add({{"price", plan.price}, {"nodes", std::move(nodes)}});
  }
  return made;
}

tree tree_of(const removable_outcome& node) {
  tree made{{"node", node.node}, {"moves", tree::list()}};
  for (const auto& [pod, to] : node.moves) made["moves"].add({{"pod", pod}, {"node", to}});
  return made;
}

tree tree_of(const difference& diff) {
  const auto tree_of_all = [](const std::vector<changed_object>& changes) {
    tree all = tree::list();
    for (const changed_object& one : changes) {
      tree& made = all.add(tree{{"name", one.name}});
      put_text(made, "before", one.before);
      put_text(made, "now", one.now);
    }
    return all;
  };
  tree made{{"pods", tree_of_all(diff.pods)}, {"groups", tree_of_all(diff.groups)}, {"numbers", tree::list()}};
  for (const changed_number& one : diff.numbers)
    made["numbers"].add({{"what", one.what}, {"before", one.before}, {"now", one.now}});
  return made;
}

tree tree_of(const outcome& of, const report_options& how) {
  if (!of.errors.empty()) {
    tree all = tree::list();
    for (const error& one : of.errors) {
      tree& made = all.add(tree::object());
      put_text(made, "object", one.object);
      put_text(made, "field", one.field);
      made["reason"] = one.reason;
    }
    return {{"errors", std::move(all)}};
  }
  const outcome::counts counts = of.count();
  tree made;
  made["summary"] = {{"nodes", of.nodes},
                     {"pods", counts.to_place},
                     {"placed", counts.placed},
                     {"ended", counts.ended},
                     {"evicted", counts.evicted},
                     {"unscheduled", counts.unscheduled},
                     {"end_seconds", seconds(of.end)}};
  made["pods"] = tree::list();
  for (const pod_outcome& pod : of.pods)
    if (how.shows(pod)) {
      made["pods"].add(tree_of(pod));
      if (how.timeline) put_timeline(made["pods"].back(), pod);
    }
  for (const node_outcome& node : of.node_list)
    if (how.timeline) made["nodes"].add({{"name", node.name}, {"allocatable", tree_of(node.allocatable)}});
  for (const group_outcome& group : of.groups) made["groups"].add(tree_of(group));
  if (how.gpus) made["node_gpus"] = tree::list();
  for (const node_gpus& node : of.gpus)
    if (how.gpus) made["node_gpus"].add(tree_of(node));
  if (how.queues) made["queues"] = tree::list();
  for (const queue_outcome& queue : of.queues)
    if (how.queues) made["queues"].add(tree_of(queue));
  if (of.scale_up) made["scale_up"] = tree_of(*of.scale_up);
  if (of.scale_down) {
    made["scale_down"] = tree::list();
    for (const removable_outcome& one : *of.scale_down) made["scale_down"].add(tree_of(one));
  }
  if (of.diff) made["diff"] = tree_of(*of.diff);
  if (of.explained_group) {
    made["explain"]["groups"] = tree::list();
    for (const group_explanation& one : of.explained_group->why) {
      tree group{{"name", one.name}, {"summary", one.summary}};
      put_text(group, "change", one.change);
      group["placements"] = tree::list();
      for (const placement_verdict& where : one.placements) {
        tree place{{"name", where.name}, {"fit", where.fit}, {"needed", where.wanted}, {"feasible", where.feasible}};
        put_text(place, "missing", where.missing);
        group["placements"].add(std::move(place));
      }
      made["explain"]["groups"].add(std::move(group));
    }
  }
  if (!of.explained) return made;
  const pod_outcome& pod = of.pods[of.explained->pod];
  tree& why = made["explain"];
  why = {{"pod", full_name(pod)}, {"at_seconds", seconds(of.explained->at)}, {"summary", of.explained->why.summary}};
  for (const helpful_change& one : of.explained->changes)
    why["changes"].add({{"change", one.text}, {"nodes", one.nodes}});
  put_text(why, "change_for_group", of.explained->change_for_group);
  why["nodes"] = tree::list();
  for (const node_verdict& node : of.explained->why.nodes) why["nodes"].add(tree_of(node, pod.node));
  return made;
}

void write(YAML::Emitter& out, const tree& of) {
  switch (of.is()) {
    case tree::form::object:
      out << YAML::BeginMap;
      for (std::size_t i = 0; i < of.keys().size(); ++i) {
        out << YAML::Key << of.keys()[i] << YAML::Value;
        write(out, of.items()[i]);
      }
      out << YAML::EndMap;
      break;
    case tree::form::list:
      out << YAML::BeginSeq;
      for (const tree& item : of.items()) write(out, item);
      out << YAML::EndSeq;
      break;
    case tree::form::text: out << YAML::DoubleQuoted << of.text(); break;  // a pod may be called "1" or "yes"
    case tree::form::word: out << of.text(); break;
    case tree::form::null: out << YAML::Null; break;
  }
}

}  // namespace

std::string json_of(const outcome& of, const report_options& how) { return tree_of(of, how).json(how.indent) + '\n'; }

std::string yaml_of(const outcome& of, const report_options& how) {
  YAML::Emitter out;
  write(out, tree_of(of, how));
  return std::string{out.c_str()} + '\n';
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
