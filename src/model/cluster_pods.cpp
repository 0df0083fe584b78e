#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/canonical_class.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/make_class.hpp"
#include "gangsched/model/name_rules.hpp"
#include "gangsched/model/pod_records.hpp"
#include "gangsched/model/pod_reservations.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

struct resolved_priority {
  std::int32_t value = 0;
  preemption_policy preemption = preemption_policy::preempt_lower_priority;
};

/// What the Priority admission of Kubernetes does: the named class, else the default class, else 0. A number beside a class must agree.
GANGSCHED_INLINE result<resolved_priority> resolve_priority(const model::cluster_state& state, const pod_spec& spec,
                                                            const object_label& object) {
  const auto& table = state.named.priority_classes;
  const priority_class_spec* found = nullptr;
  if (!spec.priority_class.empty()) {
    const row_t row = table.by_name.find({}, spec.priority_class);
    if (row == no_row) {
      return error{errc::unknown, object, "priority_class", "no priority class \"" + spec.priority_class + "\""};
    }
    found = &table.record[row]->spec;
    if (spec.priority && *spec.priority != found->value) {
      return error{errc::malformed, object, "priority", "differs from the value of its priority class"};
    }
    if (spec.preemption == preemption_policy::never && found->preemption != spec.preemption) {
      return error{errc::malformed, object, "preemption", "differs from the policy of its priority class"};
    }
  } else if (!spec.priority) {
    // Of several default classes the lowest counts, as in Kubernetes; the name decides between equals.
    for (row_t row = 0; row < table.rows.count(); ++row) {
      if (table.record[row] == nullptr || !table.record[row]->spec.global_default) continue;
      const priority_class_spec& one = table.record[row]->spec;
      if (found == nullptr || std::tie(one.value, one.name) < std::tie(found->value, found->name)) found = &one;
    }
  }
  if (found != nullptr) return resolved_priority{found->value, found->preemption};
  return resolved_priority{spec.priority.value_or(0), spec.preemption};
}

/// As the state's own of a class, before there is one: a refused call names nothing that was not named before.
GANGSCHED_INLINE bool fits_in_words(const model::cluster_state& state, row_t node, const pod_requests& requests,
                                    const pod_class* replaced = nullptr) {
  for (const auto& [name, value] : requests.requests) {
    const std::optional<resource_kind> kind = state.kinds.find(name);
    if (kind && !state.assigned.fits_in_words(node, *kind, value, replaced)) return false;
  }
  return state.assigned.fits_in_words(node, kinds::scored_cpu, requests.scored_cpu, replaced) &&
         state.assigned.fits_in_words(node, kinds::scored_memory, requests.scored_memory, replaced);
}

GANGSCHED_INLINE error queue_overflow(std::string object) {
  return {errc::overflow, std::move(object), "queue", "what its pods request would not fit into 64 bits"};
}

GANGSCHED_INLINE void leave_group(model::cluster_state& state, row_t pod) {
  model::group_table& groups = state.groups;
  const row_t group = state.pods.group[pod];
  const row_t next = state.pods.next_in_group[pod];
  const row_t prev = state.pods.prev_in_group[pod];
  if (next != no_row)
    state.pods.prev_in_group.set(next, prev);
  else
    groups.last.set(group, prev);
  if (prev != no_row)
    state.pods.next_in_group.set(prev, next);
  else
    groups.first.set(group, next);
  groups.members.set(group, groups.members[group] - 1);
  state.pods.group.set(pod, no_row);
  forget_if_unwanted(state, group);
}

/// Whether pods of both classes ask a node for the same devices. @p aligned: its kubelet gives out CPUs and memory as well.
GANGSCHED_INLINE bool ask_alike(const pod_class& a, const pod_class& b, bool aligned) {
  const auto same_containers = [](const pod_class& one, const pod_class& other) {
    return one.guaranteed == other.guaranteed && one.bind_cpus == other.bind_cpus &&
           canonical::bytes(one.containers) == canonical::bytes(other.containers);
  };
  const auto counted = [](const pod_class& cls) {
    return std::find_if(cls.requests.begin(), cls.requests.end(),
                        [](const amount& one) { return one.kind >= kinds::first_other; });
  };
  return canonical::bytes(a.devices) == canonical::bytes(b.devices) &&
         canonical::bytes(a.device_matches) == canonical::bytes(b.device_matches) &&
         (!aligned || same_containers(a, b)) && std::equal(counted(a), a.requests.end(), counted(b), b.requests.end());
}

/// Whether adding a pod that waits comes down to words: then `insert_pod` cannot fail once it has written one.
GANGSCHED_INLINE bool adds_words(const model::cluster_state& state, const pod_spec& spec, class_id cls) noexcept {
  return !spec.node && !spec.nominated_node && !state.undo.recording() && !spec.reservation &&
         (state.classes.has_pods(cls) || state.classes[cls].counters.named.empty());
}

/// The same for removing a pod.
GANGSCHED_INLINE bool removes_words(const model::cluster_state& state, row_t pod) noexcept {
  if (state.undo.recording() || state.pods.cls_epoch[pod] != state.classes.epoch() || state.columns.has_notes(pod))
    return false;
  const pod_class& cls = state.classes[state.pods.cls[pod]];
  return cls.claims.empty() && cls.counters.counted.empty() && !cls.queue && !state.reserved.involves(pod);
}

/// The row of the queue that a pod names, which it is to be counted for; no_row: none.
GANGSCHED_INLINE row_t own_queue(model::cluster_state& state, const pod_spec& spec) {
  return spec.queue.empty() ? no_row : state.queued.expect(spec.queue);
}

/// The class @p cls in the queue that the pod is in if it names @p own.
GANGSCHED_INLINE class_id in_its_queue(model::cluster_state& state, const pod_spec& spec, symbol ns, row_t own,
                                       class_id cls) {
  if (!state.queued.any()) return cls;
  return state.queued.class_in(cls, state.queued.queue_for(own, ns, spec.group ? spec.group.row : no_row));
}

/// The class of a checked spec for a pod on @p node, or nowhere, that counts there already if its row is @p there: that of @p like, what is
/// known of pods like it, or a new one, which is known from then on. @p like is null afterwards unless it is about this spec.
GANGSCHED_INLINE result<class_id> class_for(model::cluster_state& state, const pod_spec& spec,
                                            const resolved_priority& priority, const object_label& object,
                                            model::pod_templates::known*& like, row_t node, row_t there = no_row) {
  const pod_class* const replaced = node != no_row && there != no_row ? &state.classes[state.pods.cls[there]] : nullptr;
  if (like != nullptr && like->priority == priority.value && like->preemption == priority.preemption) {
    if (node != no_row && !state.assigned.fits_in_words(node, state.classes[like->cls], replaced))
      return usage_overflow(object);
    return like->cls;
  }
  like = nullptr;
  auto requests = requests_of(spec, state.semantics);
  if (!requests) return std::move(requests).error();
  if (node != no_row && !fits_in_words(state, node, *requests, replaced)) return usage_overflow(object);
  const class_id cls = make_class(state, spec, *requests, priority.value, priority.preemption);
  // Epochs of a trial are taken back: a number comes again that means something else.
  if (!state.undo.recording()) {
    like = state.templates.keep(spec, {.cls = cls,
                                       .generation = state.classes.generation(cls),
                                       .epoch = state.classes.epoch(),
                                       .priority = priority.value,
                                       .preemption = priority.preemption,
                                       .details = {}});
  }
  return cls;
}

}  // namespace detail

GANGSCHED_INLINE result<pod_id> cluster::add_pod(const pod_spec& spec) {
  GANGSCHED_TELL(add_pod, add_pod(spec), spec);
  model::cluster_state& state = *state_;
  model::pod_table& pods = state.pods;
  GANGSCHED_REFUSE_IN_HOOK(state, detail::object_name("pod", spec.ns, spec.name));
  state.collection.run_if_due();
  const std::optional<symbol> ns = state.names.find(spec.ns);
  name_index::key name{};
  if (ns) pods.by_name.prefetch(name = pods.by_name.key_of(*ns, spec.name));
  model::pod_templates::known* like = detail::known_alike(state, spec);
  if (auto wrong = like != nullptr ? check_own(spec) : check(spec)) return std::move(*wrong);
  const detail::object_label object{"pod", spec.ns, spec.name};
  if (ns && pods.by_name.find(name) != no_row) return error{errc::duplicate, object, "name", "exists already"};
  if (auto wrong = detail::check_references(state, spec, object)) return std::move(*wrong);
  auto priority = detail::resolve_priority(state, spec, object);
  if (!priority) return std::move(priority).error();
  const auto known = detail::class_for(state, spec, *priority, object, like, spec.node ? spec.node.row : no_row);
  if (!known) return known.error();
  class_id cls = *known;

  if (!ns) name = pods.by_name.key_of(state.names.intern(spec.ns), spec.name);
  std::optional<call_mark> whole;
  row_t own = no_row;
  const row_t group = spec.group ? spec.group.row : no_row;
  if (!spec.queue.empty() || state.queued.queue_for(no_row, name.ns, group) != no_row) {
    whole.emplace(state);
    own = detail::own_queue(state, spec);
    cls = state.queued.class_in(cls, state.queued.queue_for(own, name.ns, group));
    if (!state.queued.fits(state.classes[cls])) return detail::queue_overflow(object);
  } else if (!detail::adds_words(state, spec, cls)) {
    whole.emplace(state);
  }
  auto record = detail::make_pod_record(pods, spec, name.ns, own, detail::details_for(state, spec, like));
  const row_t row = detail::insert_pod(state, spec, name, std::move(record), cls, state.classes.epoch());
  if (whole) whole->keep();
  return pod_id{row, pods.rows.generation(row)};
}

GANGSCHED_INLINE result<std::vector<pod_id>> cluster::add_pods(const pod_spec& like,
                                                               std::span<const std::string> names) {
  GANGSCHED_TELL(add_pods, add_pods(like, names), like, names);
  model::cluster_state& state = *state_;
  model::pod_table& pods = state.pods;
  GANGSCHED_REFUSE_IN_HOOK(state, detail::object_name("pod", like.ns, like.name));
  state.collection.run_if_due();
  std::vector<pod_id> made;
  if (names.empty()) return made;
  detail::object_label object{"pod", like.ns, names.front()};
  const auto named = [&](const std::string& name) {
    pod_spec one = like;
    one.name = name;
    return one;
  };
  model::pod_templates::known* known = detail::known_alike(state, like);
  if (known == nullptr || !detail::is_dns_subdomain(names.front()) || !detail::says_nothing_of_its_own(like)) {
    if (auto wrong = check(named(names.front()))) return std::move(*wrong);
  }
  if (like.node || like.nominated_node) {
    return error{errc::malformed, object, like.node ? "node" : "nominated_node", "pods that are added together wait"};
  }
  if (auto wrong = detail::check_references(state, like, object)) return std::move(*wrong);
  const std::optional<symbol> known_ns = state.names.find(like.ns);
  for (const std::string& name : names) {
    const bool good = detail::is_dns_subdomain(name);
    if (good && (!known_ns || pods.by_name.find(*known_ns, name) == no_row)) continue;
    if (!good) return *check(named(name));
    object.name = name;
    return error{errc::duplicate, object, "name", "exists already"};
  }
  if (like.rank &&
      names.size() - 1 > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() - std::max(*like.rank, 0))) {
    return error{errc::overflow, object, "rank", "the last pod's would not fit into 32 bits"};
  }
  if (std::adjacent_find(names.begin(), names.end(), std::greater_equal<>{}) != names.end()) {
    std::vector<std::string_view> sorted{names.begin(), names.end()};
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
      object.name = *twice;
      return error{errc::duplicate, object, "name", "is there twice"};
    }
  }
  auto priority = detail::resolve_priority(state, like, object);
  if (!priority) return std::move(priority).error();
  const auto its = detail::class_for(state, like, *priority, object, known, no_row);
  if (!its) return its.error();
  class_id cls = *its;
  const symbol ns = state.names.intern(like.ns);
  const auto room = static_cast<row_t>(names.size());
  std::optional<call_mark> whole;
  row_t own = no_row;
  if (!like.queue.empty() || state.queued.any()) {
    whole.emplace(state);
    own = detail::own_queue(state, like);
    cls = detail::in_its_queue(state, like, ns, own, cls);
  } else if (!detail::adds_words(state, like, cls)) {
    whole.emplace(state);
  }
  const std::uint32_t epoch = state.classes.epoch();
  made.reserve(names.size());
  std::vector<std::unique_ptr<const model::pod_record>> records;  // all before the first comes in: then none can fail
  records.reserve(names.size());
  const auto details = detail::details_for(state, like, known);
  for (const std::string& name : names) {
    auto one = detail::make_pod_record(pods, like, ns, own, details);
    one->name = name;
    if (like.rank) one->rank = *like.rank + static_cast<std::int32_t>(records.size());
    if (state.keeps_specs) {  // as if it had come alone
      pod_spec said = named(name);
      said.rank = one->rank;
      one->details = detail::make_pod_details(state, said, nullptr);
    }
    records.push_back(std::move(one));
  }
  pods.grow(pods.rows.make_room(room) + room);
  state.columns.grow(scope_number::pods, pods.rows.count() + room);
  state.log.make_room(std::min<std::size_t>(names.size() + 1, 2 * state.log.bound() + 1));
  pods.by_name.make_room(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (whole && !state.queued.fits(state.classes[cls])) {
      object.name = names[i];
      return detail::queue_overflow(object);
    }
    const row_t row =
        detail::insert_pod(state, like, pods.by_name.key_of(ns, names[i]), std::move(records[i]), cls, epoch);
    made.push_back({row, pods.rows.generation(row)});
  }
  if (whole) whole->keep();
  return made;
}

GANGSCHED_INLINE result<void> cluster::update_pod(pod_id pod, const pod_spec& spec) {
  GANGSCHED_TELL(update_pod, update_pod(pod, spec), pod, spec);
  model::cluster_state& state = *state_;
  model::pod_table& pods = state.pods;
  const detail::object_label object{"pod", spec.ns, spec.name};
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (!contains(pod)) return detail::unknown_id(std::string{object});
  state.class_of(pod.row);  // one of an earlier epoch would be another whatever the pod asks for
  // What is known of pods like it may be about one of another name, which other reservations are for.
  model::pod_templates::known* like = state.reserved.names_pods() ? nullptr : detail::known_alike(state, spec);
  if (auto wrong = like != nullptr ? check_own(spec) : check(spec)) return std::move(*wrong);
  if (auto wrong = detail::check_references(state, spec, object)) return std::move(*wrong);
  const row_t row = pod.row;
  const auto cannot = [&](const char* field, const char* why) { return error{errc::wrong_state, object, field, why}; };
  if (pods.record[row]->name != spec.name) return cannot("name", "a pod cannot be renamed");
  if (state.names.text(pods.record[row]->ns) != spec.ns) return cannot("ns", "a pod cannot change its namespace");
  if (pods.group[row] != spec.group.row) return cannot("group", "a pod cannot change its group");
  const pod_state now = pods.state[row];
  if (now == pod_state::bound && pods.node[row] != spec.node.row) return cannot("node", "a bound pod cannot move");
  if (now != pod_state::pending &&
      state.names.text(state.classes[pods.cls[row]].scheduler_name) != spec.scheduler_name) {
    return cannot("scheduler_name", "a pod that has a node cannot change its scheduler");
  }
  if (now == pod_state::assumed && !spec.scheduling_gates.empty()) {
    return cannot("scheduling_gates", "a pod that a node is reserved for cannot be gated");
  }
  auto priority = detail::resolve_priority(state, spec, object);
  if (!priority) return std::move(priority).error();
  const row_t node = spec.node ? spec.node.row : pods.node[row];
  const auto known =
      detail::class_for(state, spec, *priority, object, like, node, pods.node[row] == node ? row : no_row);
  if (!known) return known.error();
  const std::uint32_t epoch = state.classes.epoch();
  const row_t own = detail::own_queue(state, spec), named = pods.record[row]->queue;
  const class_id cls = detail::in_its_queue(state, spec, pods.record[row]->ns, own, *known);
  if (detail::says_the_same(state, row, spec, cls, own)) {
    if (state.keeps_specs)
      pods.record.set(row, detail::make_pod_record(pods, spec, pods.record[row]->ns, own,
                                                   detail::make_pod_details(state, spec, nullptr)));
    whole.keep();
    return {};
  }

  if (now == pod_state::assumed && spec.node && pods.node[row] != spec.node.row) state.assigned.release(row);
  const bool gates_changed = pods.record[row]->details->gates != spec.scheduling_gates;
  const row_t held = pods.node[row];
  const reads before = held == no_row ? reads::nothing : model::assigned_pods::facets_of(state.classes[pods.cls[row]]);
  if (held != no_row) state.assigned.take_off_node(row);
  const queue_id left = state.classes[pods.cls[row]].queue;
  const std::int32_t priority_before = state.classes[pods.cls[row]].priority;
  const bool tells_queue = left && state.queued.tells_of(left.row, held);  // it moved, or may use less
  if (left) state.queued.leave(row);
  pods.record.set(
      row, detail::make_pod_record(pods, spec, pods.record[row]->ns, own, detail::details_for(state, spec, like)));
  pods.cls_epoch.set(row, state.reserved.names_pods() ? epoch - 1 : epoch);  // that may be another name's class
  const bool asks_other = cls != pods.cls[row];
  const device_record* devices = held == no_row ? nullptr : state.nodes.record[held]->devices.get();
  const bool aligned = devices != nullptr && devices->inventory->numa;
  const bool asks_other_devices =
      asks_other && !detail::ask_alike(state.classes[cls], state.classes[pods.cls[row]], aligned);
  const std::vector<resource_claim_id> shared = state.classes[pods.cls[row]].claims;
  state.counting.enter_class(cls);
  state.counting.leave_class(pods.cls[row]);
  pods.cls.set(row, cls);
  if (spec.reservation || state.reserved.involves(row) || spec.draws_from)
    detail::settle_reservation(state, row, held, spec);
  if (own != no_row) state.queued.name(own);
  if (named != no_row) state.queued.unname(named);
  if (!state.queued.fits(state.classes[cls])) return detail::queue_overflow(object);
  if (state.classes[cls].queue) state.queued.enter(row);
  if (held != no_row) {
    if (asks_other_devices) state.pods.claim.set(row, nullptr);
    if (spec.node) state.assigned.claim_held(row, held, spec.held_devices);
    state.assigned.put_on_node(row, held);
    if (now == pod_state::bound) {
      state.reserved.runs(row);
      state.devices.pod_runs(state.classes[cls]);
    }
    state.devices.drop_unused(shared);  // claims that it names no more
  }
  const reads after = held == no_row ? reads::nothing : model::assigned_pods::facets_of(state.classes[cls]);
  state.changed({.kind = change_kind::pod_updated, .facets = before | after, .row = row, .before = held});
  if (held != no_row) state.assigned.log_reserved(row, held);
  const queue_id queue = state.classes[cls].queue;
  const bool victims = held != no_row && (left != queue || state.classes[cls].priority < priority_before);
  if (tells_queue || (victims && (left || queue))) state.queued.changed((left ? left : queue).row, victims);
  if (gates_changed) state.changed({.kind = change_kind::pod_gated, .row = row});
  if (!spec.node && held == no_row) {
    const row_t hoped = pods.nominated[row];
    const row_t hopes = spec.nominated_node ? spec.nominated_node.row : no_row;
    state.assigned.nominate(row, hopes);
    if (hopes != no_row && hopes == hoped && asks_other) state.assigned.log_nomination(row, hopes, hopes);
  }
  if (spec.terminating) static_cast<void>(set_terminating(pod, spec.preempted));
  if (spec.node && pods.state[row] != pod_state::bound) {
    if (pods.state[row] == pod_state::pending) {
      state.assigned.claim_held(row, spec.node.row, spec.held_devices);
      state.assigned.assume(row, spec.node.row);
    }
    state.assigned.bind(row);
  }
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::resize_pods(std::span<const pod_id> pods, std::span<const pod_spec> specs) {
  GANGSCHED_TELL(resize_pods, resize_pods(pods, specs), pods, specs);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "pod");
  state.collection.run_if_due();
  if (pods.size() != specs.size()) return error{errc::malformed, "pod", "specs", "are not as many as the pods"};
  const auto free = [&](row_t node, resource_kind kind) {
    return state.nodes.allocatable.at(node, kind) - state.nodes.used.at(node, kind);
  };
  std::vector<std::int64_t> before;  // what is free of what each asks for, on its node
  transaction whole{state};
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const row_t node = contains(pods[i]) ? state.pods.node[pods[i].row] : no_row;
    for (resource_kind kind = 0; kind < state.kinds.count(); ++kind)
      before.push_back(node == no_row ? 0 : free(node, kind));
  }
  const resource_kind kinds_before = state.kinds.count();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (auto updated = update_pod(pods[i], specs[i]); !updated) return updated;
  }
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const row_t node = state.pods.node[pods[i].row];
    if (node == no_row) continue;
    for (const amount& one : state.classes[state.pods.cls[pods[i].row]].requests) {
      const std::int64_t left = free(node, one.kind);
      // A node that was overcommitted before may stay so, not become more so.
      const std::int64_t was = one.kind < kinds_before ? before[i * kinds_before + one.kind] : 0;
      if (left >= 0 || left >= was) continue;
      return error{errc::wrong_state, detail::object_name("pod", specs[i].ns, specs[i].name), "requests",
                   std::to_string(-left) + " of " + std::string{state.kinds.name(one.kind)} +
                       " would be short on node " + std::string{state.names.text(state.nodes.record[node]->name)}};
    }
  }
  whole.commit();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_pod(pod_id pod) {
  GANGSCHED_TELL(remove_pod, remove_pod(pod), pod);
  model::cluster_state& state = *state_;
  model::pod_table& pods = state.pods;
  GANGSCHED_REFUSE_IN_HOOK(state, "pod");
  if (!contains(pod)) return detail::unknown_id("pod");
  const row_t row = pod.row;
  std::optional<call_mark> whole;
  if (detail::removes_words(state, row))
    state.log.make_room(2);
  else
    whole.emplace(state);
  const row_t node = pods.node[row];
  detail::prefetch_object(pods.claim[row]), detail::prefetch_object(pods.record[row]);
  if (node != no_row) {
    state.nodes.prefetch(node);
    if (const row_t next = pods.next_on_node[row]; next != no_row) pods.prefetch(next);
    if (const row_t prev = pods.prev_on_node[row]; prev != no_row)
      pods.prefetch(prev);
    else
      state.nodes.first_pod.prefetch(node);
  }
  const reads facets = node == no_row ? reads::nothing : model::assigned_pods::facets_of(state.classes[pods.cls[row]]);
  state.columns.take_back(row);
  if (node != no_row) {
    state.assigned.log_reserved(row, node);
    state.assigned.take_off_node(row);
  }
  if (state.reserved.involves(row)) detail::forget_reservation(state, row, node);
  state.devices.drop_claim(row);
  state.assigned.nominate(row, no_row);
  state.assigned.set_pod_state(row, pod_state::none);
  pods.attempt.set(row, bind_attempt::none);
  const row_t group = pods.group[row];
  const queue_id queue = state.classes[pods.cls[row]].queue;
  const bool tells_queue = queue && state.queued.tells_of(queue.row, node);
  if (queue) state.queued.leave(row);
  if (const row_t named = pods.record[row]->queue; named != no_row) state.queued.unname(named);
  if (group != no_row) detail::leave_group(state, row);
  state.counting.leave_class(pods.cls[row]);
  pods.cls.set(row, no_class);
  pods.by_name.erase(pods.by_name.key_of(pods.record[row]->ns, pods.record[row]->name), row);
  pods.record.set(row, nullptr);
  state.columns.clear(scope_number::pods, row);
  pods.rows.give_back(row);
  state.changed({.kind = change_kind::pod_removed, .facets = facets, .row = row, .before = node, .after = group});
  if (tells_queue) state.queued.changed(queue.row);
  if (whole) whole->keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::set_terminating(pod_id pod, bool preempted) {
  GANGSCHED_TELL(set_terminating, set_terminating(pod, preempted), pod, preempted);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "pod");
  call_mark whole{state};
  if (!contains(pod)) return detail::unknown_id("pod");
  const bool more = preempted && !state.pods.preempted[pod.row];
  if (state.pods.terminating[pod.row] && !more) return {};
  if (!state.pods.terminating[pod.row]) state.counting.mark_terminating(pod.row);
  if (more) state.pods.preempted.set(pod.row, true);
  const row_t node = state.pods.node[pod.row];
  state.changed({.kind = change_kind::pod_terminating,
                 .facets = node == no_row ? reads::nothing : reads::pods,
                 .row = pod.row,
                 .after = node});
  const queue_id queue = state.classes[state.pods.cls[pod.row]].queue;
  if (queue && node == no_row && state.queued.tells_of(queue.row, node)) state.queued.changed(queue.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<std::uint32_t> cluster::class_of(pod_id pod) {
  GANGSCHED_TELL(class_of, class_of(pod), pod);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "pod");
  if (!contains(pod)) return detail::unknown_id("pod");
  call_mark whole{*state_};
  const class_id found = state_->class_of(pod.row);
  whole.keep();
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI
