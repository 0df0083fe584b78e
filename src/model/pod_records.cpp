#include "gangsched/model/pod_records.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/pod_reservations.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE std::unique_ptr<const pod_disks> make_pod_disks(model::cluster_state& state, const pod_spec& spec) {
  const pod_volumes& from = spec.volumes;
  if (from.disks.empty() && from.exclusive_claims.empty() && from.attachments.empty()) return nullptr;
  auto made = std::make_unique<pod_disks>();
  for (const used_disk& one : from.disks) made->disks.push_back({state.names.intern(one.id), one.read_only});
  for (const std::string& claim : from.exclusive_claims) {
    made->exclusive_claims.push_back(state.names.intern(spec.ns + '/' + claim));
  }
  for (const attached_volume& one : from.attachments) {
    const pod_disks::attachment volume{state.names.intern(one.driver), state.names.intern(one.id)};
    auto& all = made->attachments;
    if (std::find(all.begin(), all.end(), volume) == all.end()) all.push_back(volume);
  }
  return made;
}

GANGSCHED_INLINE std::shared_ptr<const pod_spec> kept(const model::cluster_state& state, const pod_spec& spec) {
  return state.keeps_specs ? std::make_shared<const pod_spec>(spec) : nullptr;
}

GANGSCHED_INLINE std::shared_ptr<const model::pod_details> make_pod_details(
    model::cluster_state& state, const pod_spec& spec, std::shared_ptr<const model::pod_details> like) {
  if (like != nullptr && like->spec == nullptr && !state.keeps_specs && like->gates == spec.scheduling_gates &&
      like->expected_run_time == spec.expected_run_time && like->deadline == spec.deadline &&
      like->max_wait == spec.max_wait && like->role == spec.role)
    return like;
  const symbol priority_class = state.names.intern(spec.priority_class);
  state.pods.name_classes = state.pods.name_classes || priority_class;
  state.pods.have_limits = state.pods.have_limits || spec.deadline || spec.max_wait != instant{0};
  return std::make_shared<const model::pod_details>(model::pod_details{.priority_class = priority_class,
                                                                       .labels = spec.labels,
                                                                       .gates = spec.scheduling_gates,
                                                                       .expected_run_time = spec.expected_run_time,
                                                                       .deadline = spec.deadline,
                                                                       .max_wait = spec.max_wait,
                                                                       .controller = spec.controller,
                                                                       .disks = make_pod_disks(state, spec),
                                                                       .role = spec.role,
                                                                       .spec = kept(state, spec)});
}

GANGSCHED_INLINE std::unique_ptr<model::pod_record> make_pod_record(model::pod_table& pods, const pod_spec& spec,
                                                                    symbol ns, row_t queue,
                                                                    std::shared_ptr<const model::pod_details> details) {
  std::unique_ptr<model::pod_record> made = pods.record.make();
  made->name = spec.name;
  made->details = std::move(details);
  made->start_time = spec.start_time;
  made->cookie = spec.cookie;
  made->rank = spec.rank;
  made->ns = ns;
  made->queue = queue;
  return made;
}

GANGSCHED_INLINE model::pod_templates::known* known_alike(model::cluster_state& state, const pod_spec& spec) noexcept {
  model::pod_templates::known* const like = state.templates.find(spec);
  const bool holds = like != nullptr && like->epoch == state.classes.epoch() &&
                     like->generation == state.classes.generation(like->cls);
  return holds ? like : nullptr;
}

GANGSCHED_INLINE std::shared_ptr<const model::pod_details> details_for(model::cluster_state& state,
                                                                       const pod_spec& spec,
                                                                       model::pod_templates::known* like) {
  if (like == nullptr) return make_pod_details(state, spec, nullptr);
  auto made = make_pod_details(state, spec, like->details.lock());
  like->details = made;
  return made;
}

/// What a pod says twice it has once.
template <class Name>
bool same_attachments(const auto& has, const std::vector<attached_volume>& said, const Name& name) {
  std::size_t known = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const auto same = [&](const attached_volume& one) { return one.driver == said[i].driver && one.id == said[i].id; };
    if (std::any_of(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
    if (known == has.size() || name(has[known].driver) != said[i].driver || name(has[known].id) != said[i].id)
      return false;
    ++known;
  }
  return known == has.size();
}

GANGSCHED_INLINE bool same_details(const model::cluster_state& state, const model::pod_details& has,
                                   const pod_spec& spec) {
  const auto name = [&](symbol one) { return state.names.text(one); };
  if (name(has.priority_class) != spec.priority_class || has.labels != spec.labels ||
      has.gates != spec.scheduling_gates || has.expected_run_time != spec.expected_run_time ||
      has.deadline != spec.deadline || has.max_wait != spec.max_wait || has.role != spec.role ||
      has.controller.kind != spec.controller.kind || has.controller.name != spec.controller.name)
    return false;
  const pod_volumes& volumes = spec.volumes;
  if (has.disks == nullptr)
    return volumes.disks.empty() && volumes.exclusive_claims.empty() && volumes.attachments.empty();
  const std::size_t start = spec.ns.size() + 1;
  return std::ranges::equal(has.disks->disks, volumes.disks,
                            [&](const pod_disks::disk& a, const used_disk& b) {
                              return name(a.id) == b.id && a.read_only == b.read_only;
                            }) &&
         std::ranges::equal(has.disks->exclusive_claims, volumes.exclusive_claims,
                            [&](symbol a, const std::string& b) { return name(a).substr(start) == b; }) &&
         same_attachments(has.disks->attachments, volumes.attachments, name);
}

/// The devices of a pod on @p node are those that the spec says it holds, in any order and as far as it says so, and the claims that it
/// shares are allocated.
GANGSCHED_INLINE bool same_devices(const model::cluster_state& state, row_t pod, row_t node, const pod_spec& spec) {
  for (const resource_claim_id claim : spec.resource_claims)
    if (state.devices.resource_claims.held[claim.row] == nullptr) return false;
  const device_claim* const claim = state.pods.claim[pod];
  if (spec.held_devices.empty() || claim == nullptr) return spec.held_devices.empty();
  std::vector<held_device> has = state.devices.told(*claim, node);
  if (has.size() != spec.held_devices.size()) return false;
  for (const held_device& said : spec.held_devices) {
    const auto found = std::find_if(has.begin(), has.end(), [&](const held_device& one) {
      const auto& [id, request, mig_start, places, bytes, capacities] = one;
      return id == said.id && (said.request < 0 || request == said.request) && mig_start == said.mig_start &&
             places == said.places && bytes == said.bytes && (said.capacities.empty() || capacities == said.capacities);
    });
    if (found == has.end()) return false;
    has.erase(found);
  }
  return true;
}

GANGSCHED_INLINE bool says_the_same(const model::cluster_state& state, row_t pod, const pod_spec& spec, class_id cls,
                                    row_t queue) {
  const model::pod_table& pods = state.pods;
  const model::pod_record& has = *pods.record[pod];
  if (cls != pods.cls[pod] || has.queue != queue || has.cookie != spec.cookie || has.rank != spec.rank ||
      has.start_time != spec.start_time)
    return false;
  if ((spec.terminating && !pods.terminating[pod]) || (spec.terminating && spec.preempted && !pods.preempted[pod]))
    return false;
  const row_t node = pods.node[pod];
  if (spec.node && pods.state[pod] != pod_state::bound) return false;
  if (node == no_row && pods.nominated[pod] != (spec.nominated_node ? spec.nominated_node.row : no_row)) return false;
  if (spec.draws_from && state.reserved.drawn_by(pod) != spec.draws_from.row) return false;
  return same_details(state, *has.details, spec) && (node == no_row || same_devices(state, pod, node, spec));
}

GANGSCHED_INLINE std::optional<error> check_references(const model::cluster_state& state, const pod_spec& spec,
                                                       const object_label& object) {
  if (spec.group && !names_group(state, spec.group)) return error{errc::unknown, object, "group", "no such group"};
  if (spec.group && state.names.text(state.groups.record[spec.group.row]->ns) != spec.ns) {
    return error{errc::malformed, object, "group", "is of another namespace"};
  }
  if (spec.group && state.groups.record[spec.group.row]->spec.composite) {
    return error{errc::malformed, object, "group", "is a group of groups"};
  }
  if (!state.devices.can_ask(spec.devices))
    return error{errc::malformed, object, "devices", "have expressions, and the cluster has no device_matcher"};
  std::size_t requests = spec.devices.size();
  for (std::size_t i = 0; i < spec.resource_claims.size(); ++i) {
    const resource_claim_id claim = spec.resource_claims[i];
    const std::string field = "resource_claims[" + std::to_string(i) + "]";
    if (!state.devices.resource_claims.contains(claim)) return error{errc::unknown, object, field, "no such claim"};
    const model::resource_claim_record& record = *state.devices.resource_claims.record[claim.row];
    if (state.names.text(record.ns) != spec.ns) return error{errc::malformed, object, field, "is of another namespace"};
    const auto twice =
        std::find(spec.resource_claims.begin(), spec.resource_claims.end(), claim) - spec.resource_claims.begin();
    if (static_cast<std::size_t>(twice) != i) return error{errc::duplicate, object, field, "is there twice"};
    requests += record.devices.size();
    if (requests >= counted_request)
      return error{errc::out_of_range, object, field, "makes more than 254 requests with the pod's others"};
  }
  if (spec.node && !names_node(state, spec.node)) return error{errc::unknown, object, "node", "no such node"};
  if (auto wrong = check_draws_from(state, spec, object)) return wrong;
  if (spec.nominated_node && !names_node(state, spec.nominated_node)) {
    return error{errc::unknown, object, "nominated_node", "no such node"};
  }
  return std::nullopt;
}

GANGSCHED_INLINE void join_group(model::cluster_state& state, row_t pod, row_t group) {
  model::group_table& groups = state.groups;
  state.pods.group.set(pod, group);
  const row_t last = groups.last[group];
  state.pods.prev_in_group.set(pod, last);
  state.pods.next_in_group.set(pod, no_row);
  if (last != no_row)
    state.pods.next_in_group.set(last, pod);
  else
    groups.first.set(group, pod);
  groups.last.set(group, pod);
  groups.members.set(group, groups.members[group] + 1);
}

GANGSCHED_INLINE row_t insert_pod(model::cluster_state& state, const pod_spec& spec, const name_index::key& name,
                                  std::unique_ptr<const model::pod_record> record, class_id cls, std::uint32_t epoch) {
  model::pod_table& pods = state.pods;
  // What takes memory comes first: of most pods nothing after this does.
  const row_t row = pods.rows.make_room();
  pods.grow(row + 1);
  state.columns.grow(scope_number::pods, row + 1);
  state.log.make_room(2);
  const row_t queue = record->queue;
  pods.by_name.insert(name, row);
  static_cast<void>(pods.rows.take());
  pods.record.set(row, std::move(record));
  pods.cls_epoch.set(row, epoch);
  state.counting.enter_class(cls);  // may move the epoch: this pod is re-keyed then like every other
  pods.cls.set(row, cls);
  if (spec.reservation) {
    if (state.reserved.add(row)) state.classes.move_epoch();
  } else if (state.reserved.names_pods()) {
    pods.cls_epoch.set(row, state.classes.epoch() - 1);  // its class may be that of another name
  }
  pods.terminating.set(row, spec.terminating);
  pods.preempted.set(row, spec.terminating && spec.preempted);
  pods.node.set(row, no_row);
  pods.nominated.set(row, no_row);
  pods.times.forget(row);
  if (spec.nominated_node && !spec.node) state.assigned.set_nominated_node(row, spec.nominated_node.row);
  pods.arrival.set(row, state.next_arrival());
  if (spec.group)
    join_group(state, row, spec.group.row);
  else
    pods.group.set(row, no_row);
  pods.claim.set(row, nullptr);
  if (queue != no_row) state.queued.name(queue);
  if (state.classes[cls].queue) state.queued.enter(row);
  if (spec.node) {
    if (spec.draws_from) state.reserved.choose(row, spec.draws_from.row);
    state.assigned.claim_held(row, spec.node.row, spec.held_devices);
    state.assigned.put_on_node(row, spec.node.row);
  }
  state.assigned.set_pod_state(row, spec.node ? pod_state::bound : pod_state::pending);
  state.changed({.kind = change_kind::pod_added,
                 .facets = spec.node ? model::assigned_pods::facets_of(state.classes[cls]) : reads::nothing,
                 .row = row,
                 .after = spec.node ? spec.node.row : no_row});
  if (spec.node) state.assigned.log_reserved(row, spec.node.row);
  return row;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
