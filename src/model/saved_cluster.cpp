#include <algorithm>

#include "gangsched/model/restored_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE saved_rows saved(const slots& of) {
  saved_rows made;
  for (row_t row = 0; row < of.count(); ++row) made.generations.push_back(of.generation(row));
  for (row_t row = of.first_free(); row != no_row; row = of.free_after(row)) made.free.push_back(row);
  return made;
}

GANGSCHED_INLINE std::uint32_t cluster_saver::number_of(class_id cls, std::uint32_t generation) {
  if (cls >= state_->classes.size() || state_->classes.generation(cls) != generation) return none;
  return number_of(state_->classes.share(cls), false);
}

GANGSCHED_INLINE std::uint32_t cluster_saver::number_of(const std::shared_ptr<const pod_class>& cls, bool past) {
  const auto known = numbers_.find(cls.get());
  if (known != numbers_.end()) return known->second;
  saved_class one{*cls->said, cls->queue.row};
  const bool left = cls->queue && state_->queues.find(cls->queue) == no_row;
  const auto gone = [&](resource_claim_id claim) { return !state_->devices.resource_claims.contains(claim); };
  if (!past && (left || std::any_of(cls->claims.begin(), cls->claims.end(), gone))) return none;
  if (left) one.queue = no_row;
  std::erase_if(one.spec.resource_claims, gone);
  made_.classes.push_back(std::move(one));
  return numbers_[cls.get()] = static_cast<std::uint32_t>(made_.classes.size() - 1);
}

template <class Table, class Spec>
void cluster_saver::save_named(const Table& table, std::vector<saved_object<Spec>>& out) {
  for (row_t row = 0; row < table.rows.count(); ++row) {
    if (table.record[row] != nullptr) out.push_back({row, table.record[row]->spec, false});
  }
  made_.tables.push_back(saved(table.rows));
}

GANGSCHED_INLINE saved_devices cluster_saver::devices_of(const device_claim& claim) const {
  saved_devices made;
  for (const device_grant& one : claim.grants) {
    made.grants.push_back(
        {one.kind, one.request, one.device, one.milli, one.mig_start, text(one.mig_profile), one.amount});
  }
  made.link_points = claim.link_points;
  made.absent = claim.absent;
  return made;
}

GANGSCHED_INLINE node_spec cluster_saver::spec_of(const node_record& record) const {
  node_spec made;
  made.name = text(record.name);
  for (const label_symbols& label : record.labels) made.labels.emplace(text(label.key), text(label.value));
  for (const taint_symbols& taint : record.taints) {
    made.taints.push_back({text(taint.key), text(taint.value), taint.effect});
  }
  for (const image_symbols& image : record.images) made.images.push_back({{text(image.name)}, image.size_bytes});
  for (const symbol feature : record.features) made.declared_features.push_back(text(feature));
  for (const amount& has : record.allocatable) {
    made.allocatable.emplace(std::string{state_->kinds.name(has.kind)},
                             has.kind == kinds::cpu ? quantity::from_milli(has.value) : quantity{has.value});
  }
  for (const volume_limit& limit : record.volume_limits) made.volume_limits.emplace(text(limit.driver), limit.most);
  made.unschedulable = record.unschedulable;
  made.cookie = record.cookie;
  return made;
}

GANGSCHED_INLINE void cluster_saver::save_nodes() {
  const node_table& nodes = state_->nodes;
  std::vector<const device_inventory*> machines;
  const auto save = [&](row_t row) {
    const node_record& record = *nodes.record[row];
    saved_node& one = made_.nodes.emplace_back();
    one.row = row;
    one.spec = spec_of(record);
    one.arrival = nodes.arrival[row];
    if (record.spec != nullptr) one.kept = *record.spec;
    for (const resource_kind kind : record.beside_spec) one.beside_spec.emplace_back(state_->kinds.name(kind));
    if (record.devices == nullptr) return;
    const device_inventory* const its = record.devices->inventory.get();
    const auto known = std::find(machines.begin(), machines.end(), its);
    one.machine = static_cast<std::uint32_t>(known - machines.begin()) + 1;
    if (known == machines.end()) {
      machines.push_back(its);
      node_devices& machine = made_.machines.emplace_back(*its->said);
      for (gpu_spec& gpu : machine.gpus) gpu.id.clear(), gpu.healthy = true;  // said of each node
      for (other_device& device : machine.others) device.id.clear(), device.healthy = true;
    }
    one.devices = record.devices->ids;
    one.unhealthy.assign(record.devices->unhealthy.begin(), record.devices->unhealthy.end());
  };
  // An image has the size that the node said which listed it first, and that one may be gone.
  std::vector<bool> listed(state_->names.bound());
  for (const row_t node : nodes.tree.by_zone()) {
    save(node);
    for (const image_symbols& image : nodes.record[node]->images) {
      if (listed[image.name.value]) continue;
      listed[image.name.value] = true;
      const std::int64_t size = nodes.images.size_bytes(image.name);
      if (size != image.size_bytes) made_.image_sizes.emplace_back(text(image.name), size);
    }
  }
}

GANGSCHED_INLINE saved_disks cluster_saver::disks_of(const pod_disks& from, symbol ns) const {
  saved_disks made;
  for (const pod_disks::disk& one : from.disks) made.disks.push_back({text(one.id), one.read_only});
  const std::size_t before = state_->names.text(ns).size() + 1;  // "namespace/"
  for (const symbol claim : from.exclusive_claims) made.exclusive_claims.push_back(text(claim).substr(before));
  for (const pod_disks::attachment& one : from.attachments)
    made.attachments.push_back({text(one.driver), text(one.id)});
  return made;
}

GANGSCHED_INLINE void cluster_saver::save_pods() {
  const pod_table& pods = state_->pods;
  std::vector<row_t> rows;
  for (row_t row = 0; row < pods.rows.count(); ++row) {
    if (pods.alive(row)) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [&](row_t a, row_t b) { return pods.arrival[a] < pods.arrival[b]; });
  for (const row_t row : rows) {
    const pod_record& record = *pods.record[row];
    saved_pod& one = made_.pods.emplace_back();
    one.row = row;
    one.cls = number_of(pods.cls[row]);
    one.name = record.name;
    const pod_details& details = *record.details;
    one.labels = details.labels;
    one.gates = details.gates;
    one.times = {record.start_time, details.expected_run_time, details.deadline,
                 details.max_wait,  pods.times.started(row),   pods.times.reserved_from(row)};
    one.controller = details.controller;
    if (details.disks != nullptr) one.disks = disks_of(*details.disks, record.ns);
    one.role = details.role;
    one.rank = record.rank;
    if (record.queue != no_row) one.queue = state_->queues.record[record.queue]->spec.name;
    one.cookie = record.cookie;
    one.priority_class = text(details.priority_class);
    one.group = pods.group[row];
    one.arrival = pods.arrival[row];
    one.state = pods.state[row];
    one.terminating = pods.terminating[row], one.preempted = pods.preempted[row];
    one.node = pods.node[row];
    one.attempt = pods.attempt[row];
    if (pods.claim[row] != nullptr) one.devices = devices_of(*pods.claim[row]);
    if (one.node != no_row) one.reserved.from = state_->reserved.drawn_by(row);
    one.reserved.was_there = one.reserved.from != no_row && state_->reserved.was_there(row);
    if (state_->reserved.row_of(row) != no_row) {
      one.reserved.used_up = state_->reserved.used_up(row);
      if (const device_claim* const whole = state_->reserved.devices(row)) one.reserved.holds = devices_of(*whole);
    }
    if (details.spec != nullptr) one.kept = *details.spec;
  }
  // What is added last stands first.
  const auto backwards = [](std::vector<row_t> list, const auto& each) {
    for (auto at = list.rbegin(); at != list.rend(); ++at) each(*at);
  };
  const node_table& nodes = state_->nodes;
  for (row_t node = 0; node < nodes.rows.count(); ++node) {
    if (!nodes.alive(node)) continue;
    std::vector<row_t> there;
    for (row_t pod = nodes.first_pod[node]; pod != no_row; pod = pods.next_on_node[pod]) there.push_back(pod);
    backwards(std::move(there), [&](row_t pod) { made_.placed.push_back(pod); });
  }
  std::vector<row_t> wanted;
  for (row_t node = nodes.first_wanted[0]; node != no_row; node = nodes.next_wanted[node]) wanted.push_back(node);
  backwards(std::move(wanted), [&](row_t node) {
    std::vector<row_t> hope;
    for (row_t pod = nodes.first_nominated[node]; pod != no_row; pod = pods.next_nominated[pod]) hope.push_back(pod);
    backwards(std::move(hope), [&](row_t pod) { made_.nominated.emplace_back(pod, node); });
  });
}

GANGSCHED_INLINE void cluster_saver::save_groups() {
  const group_table& groups = state_->groups;
  for (row_t root = 0; root < groups.rows.count(); ++root) {
    if (!groups.alive(root) || groups.parent[root] != no_row) continue;
    groups.each_below(root, [&](row_t row) {
      const group_record& record = *groups.record[row];
      made_.groups.push_back({row, record.spec, record.expected, groups.satisfied[row], groups.arrival[row]});
      return true;
    });
  }
}

GANGSCHED_INLINE void cluster_saver::save_queues() {
  const queue_table& queues = state_->queues;
  for (row_t row = 0; row < queues.rows.count(); ++row) {
    if (queues.alive(row)) made_.queues.push_back({row, queues.record[row]->spec, queues.record[row]->expected});
  }
  const queue_part_table& parts = queues.parts;
  std::vector<row_t> roots;
  for (row_t part = 0; part < parts.rows.count(); ++part) {
    if (parts.pods[part] != 0) roots.push_back(parts.root[part]);
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  for (const row_t root : roots) {
    std::vector<saved_queue_part> there;
    for (row_t part = parts.first[root]; part != no_row; part = parts.next[part])
      there.push_back({part, root, parts.queue[part]});
    made_.queue_parts.insert(made_.queue_parts.end(), there.rbegin(), there.rend());
  }
}

GANGSCHED_INLINE void cluster_saver::save_rooms() {
  state_->rooms.each([&](const held_room_record& record) {
    saved_room& one = made_.rooms.emplace_back();
    one.row = state_->rooms.row_of(record.owner);
    one.name = record.name;
    for (const held_room_record::part& from : record.parts) {
      saved_room::part& part = one.parts.emplace_back();
      part.node = from.node, part.row = from.row;
      for (const amount& held : from.amounts) part.amounts.emplace_back(state_->kinds.name(held.kind), held.value);
    }
  });
}

GANGSCHED_INLINE saved_change saved(const change& one) noexcept {
  return {static_cast<std::uint8_t>(one.kind),
          static_cast<std::uint8_t>((one.more ? 1 : 0) | (one.undone ? 2 : 0)),
          one.author,
          static_cast<std::uint32_t>(one.facets),
          one.row,
          one.before,
          one.after};
}

GANGSCHED_INLINE void cluster_saver::save_log(std::uint64_t unread) {
  const change_log& log = state_->log;
  const change_log::standing stands = log.stands();
  saved_log& made = made_.log;
  made.begin = stands.begin;
  made.first = std::min(std::max(unread, log.first()), log.end());
  made.truncations = stands.truncations, made.forgotten = stands.forgotten_cut;
  made.authors = stands.authors;
  for (const change_log::cut& one : stands.cuts) made.cuts.emplace_back(one.number, one.end);
  for (std::uint64_t at = made.first; at < log.end(); ++at) made.records.push_back(saved(log[at]));
}

GANGSCHED_INLINE saved_cluster cluster_saver::save(std::uint64_t unread) && {
  const cluster_state& state = *state_;
  made_.log_bound = state.log.bound();
  made_.semantics = state.semantics;
  made_.matches_devices = state.devices.matcher().ask != nullptr;
  made_.attempts_after = state.assigned.attempts_after;
  made_.keeps_specs = state.keeps_specs;
  made_.have_limits = state.pods.have_limits;
  for (std::uint32_t name = 1; name < state.names.bound(); ++name) {
    if (!state.names.text(symbol{name}).empty()) made_.names.push_back(text(symbol{name}));
  }
  for (resource_kind kind = kinds::first_other; kind < state.kinds.count(); ++kind) {
    if (!state.kinds.name(kind).empty()) made_.kinds.emplace_back(state.kinds.name(kind));
  }
  made_.tables.push_back(saved(state.nodes.rows));
  made_.tables.push_back(saved(state.pods.rows));
  made_.tables.push_back(saved(state.groups.rows));
  save_named(state.named.namespaces, made_.namespaces);
  save_named(state.named.priority_classes, made_.priority_classes);
  save_named(state.named.budgets, made_.budgets);
  save_named(state.named.services, made_.services);
  save_named(state.named.controllers, made_.controllers);
  save_named(state.queues.flavors, made_.flavors);
  const resource_claim_table& claims = state.devices.resource_claims;
  for (const slots* rows :
       {&state.queues.rows, &state.queues.parts.rows, &claims.rows, &state.rooms.rows(), &state.rooms.part_rows()})
    made_.tables.push_back(saved(*rows));
  save_queues();
  save_nodes();
  save_groups();
  for (row_t row = 0; row < claims.rows.count(); ++row) {
    if (claims.record[row] == nullptr) continue;
    saved_claim& one = made_.claims.emplace_back();
    one.row = row;
    one.spec = claims.record[row]->spec;
    one.node = claims.node[row];
    one.kept = claims.kept[row];
    if (claims.held[row] != nullptr) one.devices = devices_of(*claims.held[row]);
  }
  save_rooms();
  save_pods();
  made_.columns = state.columns.save();
  save_log(unread);
  made_.arrivals = state.arrivals[0];
  made_.digest = state.digest();
  return std::move(made_);
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
