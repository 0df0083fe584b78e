#include "gangsched/model/restored_cluster.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/devices/device_grants.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/group_records.hpp"
#include "gangsched/model/make_class.hpp"
#include "gangsched/model/node_records.hpp"
#include "gangsched/model/pod_records.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE row_restorer::row_restorer(slots& of, const model::saved_rows& from)
    : of_(&of), from_(&from), taken_(from.generations.size()) {
  of.reserve(static_cast<row_t>(taken_.size()));
  for (const std::uint32_t generation : from.generations) of.set_generation(of.take(), generation);
}

GANGSCHED_INLINE bool row_restorer::offer(row_t row) {
  if (row >= taken_.size() || taken_[row] || of_->first_free() != no_row) return false;
  taken_[row] = true;
  of_->put_first(row);
  return true;
}

GANGSCHED_INLINE bool row_restorer::offer(const std::vector<row_t>& rows) {
  if (of_->first_free() != no_row) return false;
  for (auto at = rows.rbegin(); at != rows.rend(); ++at) {
    if (*at >= taken_.size() || taken_[*at]) return false;
    taken_[*at] = true;
    of_->put_first(*at);
  }
  return true;
}

GANGSCHED_INLINE bool row_restorer::finish() {
  if (of_->first_free() != no_row || of_->count() != taken_.size()) return false;
  for (auto at = from_->free.rbegin(); at != from_->free.rend(); ++at) {
    if (*at >= taken_.size() || taken_[*at]) return false;
    taken_[*at] = true;
    of_->put_first(*at);
  }
  return std::find(taken_.begin(), taken_.end(), false) == taken_.end();
}

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE cluster_restorer::cluster_restorer(const saved_cluster& from, const device_matcher& matcher,
                                                    std::uint64_t most_words)
    : from_(&from),
      cluster_(cluster_options{.log_bound = static_cast<std::size_t>(from.log_bound),
                               .semantics = from.semantics,
                               .device_matcher = matcher,
                               .attempts_after = from.attempts_after,
                               .keep_specs = from.keeps_specs}),
      most_words_(most_words) {}

GANGSCHED_INLINE slots& cluster_restorer::rows_of(table which) noexcept {
  cluster_state& all = state();
  switch (which) {
    case nodes: return all.nodes.rows;
    case pods: return all.pods.rows;
    case groups: return all.groups.rows;
    case namespaces: return all.named.namespaces.rows;
    case priority_classes: return all.named.priority_classes.rows;
    case budgets: return all.named.budgets.rows;
    case services: return all.named.services.rows;
    case controllers: return all.named.controllers.rows;
    case flavors: return all.queues.flavors.rows;
    case queues: return all.queues.rows;
    case queue_parts: return all.queues.parts.rows;
    case claims: return all.devices.resource_claims.rows;
    case rooms: return all.rooms.rows();
    default: return all.rooms.part_rows();
  }
}

/// A row that is free takes a byte, and a place in each table by row: a table is not to be much larger than what it is made from.
GANGSCHED_INLINE bool cluster_restorer::has_room(std::size_t wide) const noexcept {
  const auto rows = [&](table which) -> std::uint64_t { return from_->tables[which].generations.size(); };
  std::uint64_t all = 0;
  for (const saved_rows& one : from_->tables) all += one.generations.size();
  // No table has 2^31 rows, so that only the products with what is counted elsewhere could be too large.
  const auto fit = [&](std::uint64_t many, std::uint64_t each) { return each == 0 || many <= most_words_ / each; };
  return fit(rows(nodes) + rows(queues) * (1 + rows(flavors)) + rows(room_parts), wide) &&
         fit(all, from_->columns.all.size()) && from_->columns.rows.generations.size() <= most_words_;
}

GANGSCHED_INLINE result<void> cluster_restorer::begin(const own_columns::extent& columns) {
  cluster_state& all = state();
  if (from_->tables.size() != tables) return damaged("tables");
  for (const saved_rows& one : from_->tables) {
    if (one.generations.size() >= std::size_t{1} << 31) return damaged("tables");
  }
  if (!has_room(from_->kinds.size() + kinds::first_other)) return damaged("tables");
  for (const std::string& name : from_->names) static_cast<void>(all.names.intern(name));
  for (const std::string& name : from_->kinds) static_cast<void>(all.kinds.number(name));
  for (std::size_t i = 0; i < tables; ++i) tables_.emplace_back(rows_of(static_cast<table>(i)), from_->tables[i]);
  grow();
  if (!all.columns.restore(from_->columns, columns)) return damaged("columns");
  return {};
}

/// Every table is as long as it was.
GANGSCHED_INLINE void cluster_restorer::grow() {
  cluster_state& all = state();
  const resource_kind wide = all.kinds.count();
  all.nodes.grow(all.nodes.rows.count(), wide);
  all.topologies.grow(all.nodes.rows.count());
  all.choices.grow(all.nodes.rows.count());
  all.pods.grow(all.pods.rows.count());
  all.groups.grow(all.groups.rows.count());
  const auto named = [](auto& objects) { objects.record.grow(objects.rows.count()); };
  named(all.named.namespaces), named(all.named.priority_classes), named(all.named.budgets), named(all.named.services);
  named(all.named.controllers);
  resource_claim_table& shared = all.devices.resource_claims;
  const row_t of_claims = shared.rows.count();
  shared.record.grow(of_claims), shared.classes.grow(of_claims), shared.users.grow(of_claims);
  shared.node.grow(of_claims), shared.kept.grow(of_claims), shared.held.grow(of_claims);
  flavor_table& kinds_of_nodes = all.queues.flavors;
  const row_t of_flavors = kinds_of_nodes.rows.count();
  kinds_of_nodes.record.grow(of_flavors), kinds_of_nodes.next.grow(of_flavors);
  kinds_of_nodes.of.grow(all.nodes.rows.count());
  all.queues.grow(all.queues.rows.count(), wide);
  for (row_t flavor = 0; flavor < of_flavors; ++flavor) all.queues.add_flavor(flavor, wide);
  queue_part_table& parts = all.queues.parts;
  for (column<row_t>* one : {&parts.root, &parts.queue, &parts.next}) one->grow(parts.rows.count());
  parts.pods.grow(parts.rows.count()), parts.placed.grow(parts.rows.count());
  all.rooms.grow();
}

template <class Spec, class Set>
result<void> cluster_restorer::set_named(table which, const std::vector<saved_object<Spec>>& all, const Set& set) {
  for (const saved_object<Spec>& one : all) {
    if (!tables_[which].offer(one.row)) return damaged("rows");
    if (auto made = set(one.spec); !made) return std::move(made).error();
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::set_names() {
  const auto first_wrong = [](auto... steps) {
    result<void> made;
    static_cast<void>((... && (made = steps(), made.has_value())));
    return made;
  };
  return first_wrong(
      [&] {
        return set_named(namespaces, from_->namespaces,
                         [&](const namespace_spec& one) { return cluster_.set_namespace(one); });
      },
      [&] {
        return set_named(priority_classes, from_->priority_classes,
                         [&](const priority_class_spec& one) { return cluster_.set_priority_class(one); });
      },
      [&] {
        return set_named(budgets, from_->budgets,
                         [&](const pod_disruption_budget_spec& one) { return cluster_.add_disruption_budget(one); });
      },
      [&] {
        return set_named(services, from_->services, [&](const service_spec& one) { return cluster_.set_service(one); });
      },
      [&] {
        return set_named(controllers, from_->controllers,
                         [&](const controller_spec& one) { return cluster_.set_controller(one); });
      },
      [&] {
        return set_named(flavors, from_->flavors,
                         [&](const flavor_spec& one) { return cluster_.queues().set_flavor(one); });
      });
}

GANGSCHED_INLINE result<void> cluster_restorer::add_queues() {
  for (const saved_object<queue_spec>& one : from_->queues) {
    if (one.spec.name.empty() || !tables_[queues].offer(one.row) || state().queued.expect(one.spec.name) != one.row)
      return damaged("queues");
  }
  for (const saved_object<queue_spec>& one : from_->queues) {
    if (one.expected) continue;
    std::size_t more = 0;
    for (const queue_quota& quota : one.spec.quotas) {
      more += quota.guaranteed.size() + quota.limit.size() + quota.borrowing_limit.size() + quota.lending_limit.size();
      more += quota.weights.size();
    }
    if (!has_room(state().kinds.count() + more)) return damaged("queues");
    if (auto made = cluster_.queues().add(one.spec); !made) return std::move(made).error();
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::add_nodes() {
  for (const saved_node& one : from_->nodes) {
    if (!tables_[nodes].offer(one.row)) return damaged("nodes");
    node_spec spec = one.spec;
    if (one.machine != 0) {
      if (one.machine > from_->machines.size()) return damaged("machines");
      spec.devices = from_->machines[one.machine - 1];
      const std::size_t devices = spec.devices.gpus.size() + spec.devices.others.size();
      if (one.devices.size() != devices || one.unhealthy.size() != devices) return damaged("devices");
      for (std::size_t i = 0; i < devices; ++i) {
        const std::size_t other = i - spec.devices.gpus.size();
        (i < spec.devices.gpus.size() ? spec.devices.gpus[i].id : spec.devices.others[other].id) = one.devices[i];
        (i < spec.devices.gpus.size() ? spec.devices.gpus[i].healthy : spec.devices.others[other].healthy) =
            one.unhealthy[i] == 0;
      }
    }
    std::size_t more = one.spec.allocatable.size() + 64;
    if (spec.devices.numa) {
      for (const numa_cell& cell : spec.devices.numa->cells) more += cell.hugepages.size();
    }
    if (!has_room(state().kinds.count() + more)) return damaged("nodes");
    auto made = cluster_.add_node(spec);
    if (!made) return std::move(made).error();
    state().nodes.arrival.set(one.row, one.arrival);
    if (!one.kept && one.beside_spec.empty()) continue;
    auto record = std::make_unique<node_record>(*state().nodes.record[one.row]);
    if (one.kept) {
      if (auto wrong = check(*one.kept)) return std::move(*wrong);
      record->spec = std::make_shared<const node_spec>(*one.kept);
    }
    for (const std::string& name : one.beside_spec) {
      const auto kind = state().kinds.find(name);
      const std::int64_t has = kind ? gangsched::detail::amount_of(*record, *kind) : 0;
      if (has == 0) return damaged("nodes");
      gangsched::detail::set_beside_spec(state().kinds, *record, {*kind, has});
    }
    state().nodes.record.set(one.row, std::move(record));
  }
  for (const auto& [name, size] : from_->image_sizes) {
    const std::optional<symbol> image = state().names.find(name);
    if (size < 0 || !image || state().nodes.images.nodes(*image) == 0) return damaged("images");
    state().nodes.images.set_size(*image, size);
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::add_groups() {
  cluster_state& all = state();
  for (const saved_group& one : from_->groups) {
    const std::string object = gangsched::detail::object_name("group", one.spec.ns, one.spec.name);
    if (auto wrong = check(one.spec)) return std::move(*wrong);
    const symbol ns = all.names.intern(one.spec.ns);
    if (all.groups.names_of(one.spec.composite).find(ns, one.spec.name) != no_row || !tables_[groups].offer(one.row) ||
        (one.expected && one.spec.parent))
      return damaged("groups");
    if (auto wrong = gangsched::detail::check_tree(all, no_row, one.spec, object)) return std::move(*wrong);
    auto record = one.expected ? std::make_unique<const group_record>(group_record{one.spec, ns, true})
                               : gangsched::detail::make_group_record(all, one.spec, ns);
    static_cast<void>(gangsched::detail::make_group(all, std::move(record)));
    all.groups.arrival.set(one.row, one.arrival);
    gangsched::detail::set_parent(all.groups, one.row, one.spec.parent.row);
  }
  // Ratios to groups that are gone say nothing.
  for (const saved_group& one : from_->groups) {
    if (one.spec.ratios.empty()) continue;
    group_spec there = one.spec;
    std::erase_if(there.ratios,
                  [&](const group_ratio& ratio) { return !gangsched::detail::names_group(all, ratio.to); });
    const std::string object = gangsched::detail::object_name("group", one.spec.ns, one.spec.name);
    if (auto wrong = gangsched::detail::check_ratios(all, one.row, there, object)) return std::move(*wrong);
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::add_claims() {
  for (const saved_claim& one : from_->claims) {
    if (!tables_[claims].offer(one.row)) return damaged("claims");
    resource_claim_spec spec = one.spec;
    spec.node = {};  // where it is now is said apart
    if (auto made = cluster_.add_resource_claim(spec); !made) return std::move(made).error();
    auto record = std::make_unique<resource_claim_record>(*state().devices.resource_claims.record[one.row]);
    record->spec.node = one.spec.node;
    state().devices.resource_claims.record.set(one.row, std::move(record));
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::add_rooms() {
  cluster_state& all = state();
  for (const saved_room& one : from_->rooms) {
    std::vector<held_room_record::part> parts;
    std::vector<row_t> rows;
    row_t last = no_row;
    for (const saved_room::part& from : one.parts) {
      if (!has_room(all.kinds.count() + from.amounts.size())) return damaged("held rooms");
      if (!all.nodes.alive(from.node) || (last != no_row && from.node <= last)) return damaged("held rooms");
      last = from.node;
      rows.push_back(from.row);
      integer_resources amounts;
      for (const auto& [name, value] : from.amounts) {
        if (value <= 0 || !is_counted_resource(name) || amounts.contains(name)) return damaged("held rooms");
        amounts.emplace(name, value);
      }
      parts.push_back({from.node, no_row, to_amounts(all, amounts)});
      for (const amount& held : parts.back().amounts) {
        if (!all.assigned.fits_in_words(from.node, held)) return damaged("held rooms");
      }
    }
    if (one.name.empty()) return damaged("held rooms");
    const symbol owner = all.names.intern(one.name);
    if (all.rooms.find(owner) != nullptr || !tables_[rooms].offer(one.row) || !tables_[room_parts].offer(rows))
      return damaged("held rooms");
    all.rooms.set(one.name, owner, std::move(parts), [](row_t, const auto&) {});
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::add_queue_parts() {
  cluster_state& all = state();
  for (const saved_queue_part& one : from_->queue_parts) {
    if (!all.groups.alive(one.root) || all.groups.parent[one.root] != no_row || !all.queues.alive(one.queue) ||
        !tables_[queue_parts].offer(one.row) || all.queued.part_for(one.root, one.queue) != one.row)
      return damaged("parts of queues");
  }
  return {};
}

GANGSCHED_INLINE result<class_id> cluster_restorer::make_class(const pod_spec& spec, row_t queue) {
  cluster_state& all = state();
  const gangsched::detail::object_label object{"pod", spec.ns, spec.name};
  if (auto wrong = check(spec)) return std::move(*wrong);
  if (auto wrong = gangsched::detail::check_references(all, spec, object)) return std::move(*wrong);
  if (queue != no_row && !all.queues.alive(queue)) return damaged("classes");
  std::size_t names = spec.overhead.size() + (spec.resources ? spec.resources->size() : 0);
  for (const std::vector<container>* some : {&spec.containers, &spec.init_containers}) {
    for (const container& one : *some) names += one.requests.size() + one.limits.size();
  }
  // Domains of a key, and which nodes a constraint is about, are by node, too.
  names += spec.topology_spread_constraints.size() + spec.affinity_to_pods.required.size() +
           spec.affinity_to_pods.preferred.size() + spec.anti_affinity_to_pods.required.size() +
           spec.anti_affinity_to_pods.preferred.size() + all.topologies.size();
  if (!has_room(all.kinds.count() + names)) return damaged("classes");
  auto requests = requests_of(spec, all.semantics);
  if (!requests) return std::move(requests).error();
  const class_id plain = gangsched::make_class(all, spec, *requests, spec.priority.value_or(0), spec.preemption);
  return all.queued.any() ? all.queued.class_in(plain, queue) : plain;
}

GANGSCHED_INLINE void put_disks(const saved_disks& from, pod_volumes& to) {
  to.disks = from.disks, to.exclusive_claims = from.exclusive_claims, to.attachments = from.attachments;
}
GANGSCHED_INLINE bool has_disks(const saved_disks& from) noexcept {
  return !from.disks.empty() || !from.exclusive_claims.empty() || !from.attachments.empty();
}

GANGSCHED_INLINE result<void> cluster_restorer::add_pod(const saved_pod& from) {
  cluster_state& all = state();
  if (from.cls >= from_->classes.size()) return damaged("classes of pods");
  const saved_class& its = from_->classes[from.cls];
  pod_spec spec = its.spec;
  spec.name = from.name, spec.labels = from.labels;
  spec.scheduling_gates = from.gates;
  spec.start_time = from.times.start_time;
  spec.expected_run_time = from.times.expected_run_time;
  spec.deadline = from.times.deadline, spec.max_wait = from.times.max_wait;
  spec.controller = from.controller;
  put_disks(from.disks, spec.volumes);
  spec.role = from.role, spec.rank = from.rank;
  spec.queue = from.queue;
  spec.cookie = from.cookie;
  spec.terminating = from.terminating, spec.preempted = from.preempted;
  if (from.group != no_row) {
    if (!all.groups.alive(from.group)) return damaged("groups of pods");
    spec.group = {from.group, all.groups.rows.generation(from.group)};
  }
  const symbol ns = all.names.intern(spec.ns);
  if (all.pods.by_name.find(ns, spec.name) != no_row || !tables_[pods].offer(from.row)) return damaged("pods");
  known_class& known = known_[from.cls];
  const bool like_it = known.like != nullptr && known.epoch == all.classes.epoch() &&
                       known.like->labels == from.labels && known.like->controller.kind == from.controller.kind &&
                       known.like->controller.name == from.controller.name && !has_disks(from.disks) &&
                       !has_disks(known.like->disks);
  if (like_it) {
    if (auto wrong = check_own(spec)) return std::move(*wrong);
    if (auto wrong = gangsched::detail::check_references(all, spec, {"pod", spec.ns, spec.name}))
      return std::move(*wrong);
  } else {
    auto made = make_class(spec, its.queue);
    if (!made) return std::move(made).error();
    known = {&from, *made, all.classes.epoch(), {}};
  }
  row_t own = no_row;
  if (!from.queue.empty()) {
    own = all.queues.by_name.find({}, from.queue);
    if (own == no_row) return damaged("queues of pods");
  }
  spec.priority_class = from.priority_class;
  if (!all.queued.fits(all.classes[known.made])) return damaged("amounts");
  const bool shares = like_it && known.like->priority_class == from.priority_class;
  auto details = gangsched::detail::make_pod_details(all, spec, shares ? known.details.lock() : nullptr);
  if (shares || !like_it) known.details = details;
  static_cast<void>(gangsched::detail::insert_pod(
      all, spec, all.pods.by_name.key_of(ns, spec.name),
      gangsched::detail::make_pod_record(all.pods, spec, ns, own, std::move(details)), known.made, known.epoch));
  all.pods.arrival.set(from.row, from.arrival);
  by_row_[from.row] = &from;
  if (!from.kept) return {};
  if (auto wrong = check(*from.kept)) return std::move(*wrong);
  auto record = std::make_unique<pod_record>(*all.pods.record[from.row]);
  auto with_spec = std::make_shared<pod_details>(*record->details);
  with_spec->spec = std::make_shared<const pod_spec>(*from.kept);
  record->details = std::move(with_spec);
  all.pods.record.set(from.row, std::move(record));
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::add_pods() {
  known_.resize(from_->classes.size());
  by_row_.resize(state().pods.rows.count());
  for (const saved_pod& one : from_->pods) {
    if (auto made = add_pod(one); !made) return made;
  }
  return {};
}

/// Of a node's devices, if the node has them and no other claim has; @p alone: whatever other claims have.
GANGSCHED_INLINE std::unique_ptr<device_claim> cluster_restorer::devices(row_t node, const saved_devices& from,
                                                                         bool alone) {
  cluster_state& all = state();
  const device_inventory* const inventory = all.nodes.inventory[node];
  if (inventory == nullptr && !from.grants.empty()) return nullptr;
  auto made = std::make_unique<device_claim>();
  made->link_points = from.link_points;
  made->absent = from.absent;
  if (inventory == nullptr) return made;
  std::vector<std::int64_t> words = words_of_any_health({inventory, all.nodes.devices.row(node)});
  if (alone) std::fill(words.begin(), words.end(), 0);
  for (const saved_grant& one : from.grants) {
    using form = device_grant::form;
    const device_grant grant{
        one.kind, one.request, one.device, one.milli, one.mig_start, all.names.intern(one.mig_profile), one.amount};
    const bool cells = grant.of_container(), other = one.kind == form::other || one.kind == form::capacity;
    const bool there = cells   ? inventory->numa != nullptr && one.milli >= 0 && one.mig_start <= 2
                       : other ? one.device < inventory->others.size() && one.amount >= 0
                               : one.device < inventory->gpus.size() && one.milli >= 0 && one.milli <= whole_gpu &&
                                     one.amount >= 0 && one.mig_start < (one.kind == form::share ? 101 : 8);
    if (!there ||
        (one.kind == form::capacity &&
         (one.milli < 0 || static_cast<std::size_t>(one.milli) >= inventory->others[one.device].capacities.size())))
      return nullptr;
    if (!is_free({inventory, words.data()}, grant)) return nullptr;
    std::size_t next = made->changes.size();
    for (add_grant(*inventory, grant, *made); next < made->changes.size(); ++next)
      words[made->changes[next].word] = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(words[made->changes[next].word]) + made->changes[next].more);
  }
  return made;
}

GANGSCHED_INLINE result<void> cluster_restorer::place_pods() {
  cluster_state& all = state();
  std::size_t with_node = 0;
  for (const saved_pod& one : from_->pods) {
    const bool placed = one.node != no_row;
    if (placed ? one.state != pod_state::assumed && one.state != pod_state::bound : one.state != pod_state::pending)
      return damaged("states of pods");
    if (placed ? !all.nodes.alive(one.node) : one.devices.has_value()) return damaged("places of pods");
    with_node += placed ? 1 : 0;
  }
  if (with_node != from_->placed.size()) return damaged("places of pods");
  for (const saved_pod& one : from_->pods) {
    if (!one.reserved.used_up) continue;
    if (all.reserved.row_of(one.row) == no_row) return damaged("reservations");
    all.reserved.use_up(one.row);
  }
  for (const row_t pod : from_->placed) {
    const saved_pod* const from = pod < by_row_.size() ? by_row_[pod] : nullptr;
    if (from == nullptr || from->node == no_row || all.pods.node[pod] != no_row) return damaged("places of pods");
    if (!all.assigned.fits_in_words(from->node, all.classes[all.class_of(pod)])) return damaged("amounts");
    if (from->devices) {
      auto has = devices(from->node, *from->devices);
      if (has == nullptr) return damaged("devices of pods");
      all.pods.claim.set(pod, std::move(has));
    }
    if (from->reserved.holds) {
      auto whole = all.reserved.row_of(pod) == no_row ? nullptr : devices(from->node, *from->reserved.holds, true);
      if (whole == nullptr) return damaged("devices of reservations");
      all.reserved.keep_devices(pod, std::move(whole));
    }
    if (from->reserved.from != no_row) {
      const bool known = all.pods.alive(from->reserved.from) && all.reserved.row_of(from->reserved.from) != no_row;
      if (!known || all.reserved.row_of(pod) != no_row || by_row_[from->reserved.from]->node != from->node)
        return damaged("reservations of pods");
      all.reserved.choose(pod, from->reserved.from, from->reserved.was_there);
    }
    all.assigned.put_on_node_again(pod, from->node);
    all.assigned.set_pod_state(pod, from->state);
    all.pods.attempt.set(pod, from->attempt);
    all.pods.times.set_started(pod, from->times.started);
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::nominate() {
  cluster_state& all = state();
  for (const auto& [pod, node] : from_->nominated) {
    if (!all.pods.alive(pod) || all.pods.node[pod] != no_row || all.pods.nominated[pod] != no_row ||
        !all.nodes.alive(node))
      return damaged("nominations");
    all.assigned.set_nominated_node(pod, node);
    all.pods.times.set_reserved_from(pod, by_row_[pod]->times.reserved_from);
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::settle_claims() {
  cluster_state& all = state();
  for (const saved_claim& one : from_->claims) {
    if ((one.node != no_row) != one.devices.has_value() || (one.kept && !one.devices)) return damaged("claims");
    if (!one.devices) continue;
    if (!all.nodes.alive(one.node)) return damaged("claims");
    auto has = devices(one.node, *one.devices);
    if (has == nullptr) return damaged("devices of claims");
    all.devices.allocate_again(one.row, one.node, std::move(has), one.kept);
  }
  return {};
}

GANGSCHED_INLINE result<void> cluster_restorer::finish() {
  cluster_state& all = state();
  all.pods.have_limits = from_->have_limits;
  const own_columns::extent everything{from_->columns.all.size(), from_->columns.scopes.size(), from_->columns.makers};
  if (!all.columns.restore(from_->columns, everything))
    return error{errc::wrong_state, "snapshot", "profiles", "their plugins make other columns"};
  for (const auto step :
       {&cluster_restorer::set_names, &cluster_restorer::add_queues, &cluster_restorer::add_nodes,
        &cluster_restorer::add_groups, &cluster_restorer::add_claims, &cluster_restorer::add_rooms,
        &cluster_restorer::add_queue_parts, &cluster_restorer::add_pods, &cluster_restorer::place_pods,
        &cluster_restorer::nominate, &cluster_restorer::settle_claims}) {
    if (auto made = (this->*step)(); !made) return made;
  }
  for (row_restorer& one : tables_) {
    if (!one.finish()) return damaged("rows");
  }
  // A pod that gets its class anew may bring counters to life by which others do.
  for (std::uint32_t epoch = all.classes.epoch() + 1; epoch != all.classes.epoch();) {
    epoch = all.classes.epoch();
    for (const saved_pod& one : from_->pods) static_cast<void>(all.class_of(one.row));
  }
  for (const saved_group& one : from_->groups) all.groups.satisfied.set(one.row, one.satisfied);
  for (const saved_class& one : from_->classes) {
    const std::size_t number = classes_.size();
    if (known_[number].like != nullptr) {
      classes_.push_back(all.class_of(known_[number].like->row));
      continue;
    }
    auto made = make_class(one.spec, one.queue);
    if (!made) return std::move(made).error();
    classes_.push_back(*made);
  }
  if (!all.columns.restore_words(from_->columns)) return damaged("columns");
  all.arrivals.set(0, from_->arrivals);
  if (!restore_log()) return damaged("log");
  if (all.digest() != from_->digest)
    return error{errc::malformed, "snapshot", "digest", "what it says leads to another cluster"};
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
