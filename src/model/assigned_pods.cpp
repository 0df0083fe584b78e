#include "gangsched/model/assigned_pods.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/node_claims.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Calls visit(kind, amount) for what a pod of the class uses on its node, its ports apart.
template <class Visit>
void each_used(const pod_class& cls, const Visit& visit) {
  for (const amount& a : cls.requests) visit(a.kind, a.value);
  visit(kinds::pods, std::int64_t{1});
  visit(kinds::scored_cpu, cls.scored_cpu);
  visit(kinds::scored_memory, cls.scored_memory);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE bool assigned_pods::fits_in_words(row_t node, const pod_class& cls,
                                                   const pod_class* replaced) const noexcept {
  bool fits = true;
  if (replaced == nullptr && reserved_.empty()) {  // as a rule: what is used there is all that counts
    const std::int64_t* const used = nodes_.used.row(node);
    gangsched::detail::each_used(cls, [&](resource_kind kind, std::int64_t more) {
      std::int64_t sum = 0;
      fits &= !__builtin_add_overflow(used[kind], more, &sum);
    });
  } else {
    gangsched::detail::each_used(
        cls, [&](resource_kind kind, std::int64_t more) { fits = fits && fits_in_words(node, kind, more, replaced); });
  }
  return fits;
}

GANGSCHED_INLINE bool assigned_pods::fits_in_words(row_t node, resource_kind kind, std::int64_t more,
                                                   const pod_class* replaced) const noexcept {
  std::int64_t sum = nodes_.used.at(node, kind);
  const auto add = [&](std::int64_t by) { return !__builtin_add_overflow(sum, by, &sum); };
  if (replaced != nullptr) {
    sum -= counted_amount(*replaced, kind);
    if (!add(rooms_.drawn(replaced->held_room, node, kind))) return false;  // the new class may not own the room
  }
  // When owners leave, reservations hold again what these had drawn, or had kept from being held.
  for (row_t pod = reserved_.empty() ? no_row : nodes_.first_pod[node]; pod != no_row; pod = pods_.next_on_node[pod]) {
    if (reserved_.row_of(pod) == no_row) continue;
    if (!add(counted_amount(classes_[pods_.cls[pod]], kind) - reserved_.left(pod, kind))) return false;
  }
  return add(more);
}

GANGSCHED_INLINE bool assigned_pods::fits_in_words(row_t node, const amount& held) const noexcept {
  const auto fits = [&](resource_kind kind) { return fits_in_words(node, kind, held.value); };
  return fits(held.kind) && (held.kind != kinds::cpu || fits(kinds::scored_cpu)) &&
         (held.kind != kinds::memory || fits(kinds::scored_memory));
}

GANGSCHED_INLINE void assigned_pods::put(row_t pod, const pod_class& cls, row_t node) {
  const bool saved = undo_.recording();
  if (saved) undo_.make_room();
  const undo_log::pause words{undo_};
  priorities.add(cls.priority, +1);  // first, because only this may allocate
  std::int64_t* const used = nodes_.used.unsaved_row(node);
  gangsched::detail::each_used(cls, [&](resource_kind kind, std::int64_t amount) { used[kind] += amount; });
  rooms_.draw(cls, node, +1);
  reserved_.came(pod, node);
  queued_.count(pod, node, cls, +1);
  if (const row_t next = nodes_.first_pod[node]; next != no_row) {  // (a pod that is nowhere has no neighbours)
    pods_.next_on_node.set(pod, next);
    pods_.prev_on_node.set(next, pod);
  }
  nodes_.first_pod.set(node, pod);
  pods_.node.set(pod, node);
  if (saved) undo_.save(*this, pod, 0, 0);
}

GANGSCHED_INLINE void assigned_pods::take_off(row_t pod) {
  const row_t node = pods_.node[pod];
  const pod_class& cls = classes_[pods_.cls[pod]];
  reserved_.leaves(pod, node);
  gangsched::detail::each_used(cls,
                               [&](resource_kind kind, std::int64_t amount) { nodes_.used.add(node, kind, -amount); });
  rooms_.draw(cls, node, -1);
  queued_.count(pod, node, cls, -1);
  priorities.add(cls.priority, -1);
  const row_t next = pods_.next_on_node[pod];
  const row_t prev = pods_.prev_on_node[pod];
  if (next != no_row) pods_.prev_on_node.set(next, prev);
  if (prev != no_row)
    pods_.next_on_node.set(prev, next);
  else
    nodes_.first_pod.set(node, next);
  pods_.next_on_node.set(pod, no_row);
  pods_.prev_on_node.set(pod, no_row);
  pods_.node.set(pod, no_row);
}

GANGSCHED_INLINE void assigned_pods::restore(row_t pod, std::uint32_t, std::uint64_t) noexcept {
  const undo_log::pause words{undo_};
  take_off(pod);
}

/// @p count_devices: counts the devices that a pod of the class has on the node.
template <class Devices>
void assigned_pods::come(row_t pod, row_t node, removal how, const Devices& count_devices) {
  if (const row_t next = nodes_.first_pod[node]; next != no_row) pods_.prefetch(next);
  const pod_class& cls = classes_[counting_.class_of(pod)];  // by which the pod is counted
  counting_.count_pod(pod, cls, node, +1, how);
  for (const host_port& port : cls.ports) nodes_.ports.add(node, port);
  count_devices(cls);
  count_claims(pod, cls, +1);
  put(pod, cls, node);
}

GANGSCHED_INLINE row_t assigned_pods::open_reserved_devices(row_t pod, row_t node) {
  const row_t from = reserved_.drawn_by(pod);
  if (from == no_row || pods_.node[from] != node || pods_.claim[from] == nullptr) return no_row;
  if (reserved_.devices(from) == nullptr) {
    if (pods_.claim[from]->grants.empty()) return no_row;
    reserved_.keep_devices(from, std::make_unique<const device_claim>(*pods_.claim[from]));
  }
  devices_.open_reservation(from, node);
  return from;
}

GANGSCHED_INLINE void assigned_pods::close_devices(row_t reservation, row_t node, row_t comes, row_t goes) {
  std::vector<const device_claim*> taken;
  bool drawn = false, by_newcomer = false;
  const auto add = [&](row_t owner) {
    drawn = true;
    by_newcomer = by_newcomer || !reserved_.was_there(owner);
    if (pods_.claim[owner] != nullptr) taken.push_back(pods_.claim[owner]);
  };
  for (row_t other = nodes_.first_pod[node]; other != no_row; other = pods_.next_on_node[other])
    if (other != goes && reserved_.drawn_by(other) == reservation) add(other);
  if (comes != no_row) add(comes);
  const bool once = classes_[pods_.cls[reservation]].reserves->spec.once;
  const bool spent = once && (by_newcomer || reserved_.used_up(reservation));
  devices_.close_reservation(reservation, node, spent ? nullptr : reserved_.devices(reservation), taken);
  if (!drawn && !spent) reserved_.forget_devices(reservation);
}

GANGSCHED_INLINE void assigned_pods::claim_held(row_t pod, row_t node, std::span<const held_device> held) {
  const row_t from = held.empty() ? no_row : open_devices(pod, node);
  devices_.claim_held(pod, node, held);
  if (from != no_row) devices_.undo_open_reservation(from, node);
}

/// Reservations that pods draw from are told as wholes: what is left of them follows from what each pod draws.
GANGSCHED_INLINE node_claims assigned_pods::take_devices(row_t node) {
  std::vector<pod_devices> wholes;
  for (row_t pod = reserved_.empty() ? no_row : nodes_.first_pod[node]; pod != no_row; pod = pods_.next_on_node[pod]) {
    if (reserved_.row_of(pod) == no_row) continue;
    const device_claim* const kept = reserved_.devices(pod);
    const device_claim* const whole = kept != nullptr || reserved_.owners(pod) == 0 ? kept : pods_.claim[pod];
    if (whole == nullptr) continue;
    wholes.push_back({pod, devices_.told(*whole, node)});
    reserved_.forget_devices(pod);
  }
  const auto by_row = [](const pod_devices& a, const pod_devices& b) { return a.pod < b.pod; };
  std::sort(wholes.begin(), wholes.end(), by_row);
  node_claims all = devices_.take_claims(node);
  std::erase_if(all.pods,
                [&](const pod_devices& one) { return std::binary_search(wholes.begin(), wholes.end(), one, by_row); });
  all.wholes = std::move(wholes);
  return all;
}

GANGSCHED_INLINE void assigned_pods::give_devices(row_t node, const node_claims& all) {
  devices_.give_claims(node, all);
  for (const pod_devices& one : all.wholes) {
    auto has = devices_.held_alone(one.pod, node, *one.held);
    if (has->grants.empty()) {  // nothing to draw from; what is absent may come back
      pods_.claim.set(one.pod, std::move(has));
      continue;
    }
    reserved_.keep_devices(one.pod, std::move(has));
    close_devices(one.pod, node, no_row, no_row);
  }
  devices_.claim_rest(node, all);
}

GANGSCHED_INLINE void assigned_pods::put_on_node(row_t pod, row_t node, removal how) {
  come(pod, node, how, [&](const pod_class& cls) {
    if (cls.reserves != nullptr && pods_.claim[pod] != nullptr &&
        reserved_.owners(pod) != 0) {  // the owners are there already
      if (reserved_.devices(pod) == nullptr && !pods_.claim[pod]->grants.empty())
        reserved_.keep_devices(pod, std::make_unique<const device_claim>(*pods_.claim[pod]));
      if (reserved_.devices(pod) != nullptr) return close_devices(pod, node, no_row, no_row);
    }
    const row_t from = open_devices(pod, node);
    if (from != no_row && pods_.claim[pod] == nullptr)
      static_cast<void>(devices_.claim_within(pod, node, *reserved_.devices(from)));
    devices_.pod_came(pod, cls, node);
    if (from != no_row) close_devices(from, node, pod, no_row);
  });
}

GANGSCHED_INLINE void assigned_pods::put_on_node_again(row_t pod, row_t node) {
  come(pod, node, removal::real, [&](const pod_class& cls) { devices_.pod_came_again(pod, cls, node); });
}

GANGSCHED_INLINE void assigned_pods::take_off_node(row_t pod, removal how) {
  const row_t node = pods_.node[pod];
  const pod_class& cls = classes_[counting_.class_of(pod)];
  counting_.count_pod(pod, cls, node, -1, how);
  for (const host_port& port : cls.ports) nodes_.ports.remove(node, port);
  const row_t from = open_devices(pod, node);
  devices_.pod_leaves(pod, cls, node);
  if (from != no_row) close_devices(from, node, no_row, pod);
  count_claims(pod, cls, -1);
  take_off(pod);
}

GANGSCHED_INLINE void assigned_pods::count_exclusive_claims(row_t pod, std::int32_t sign) {
  for (const symbol claim : pods_.record[pod]->details->disks->exclusive_claims) claims.add(claim, sign);
}

GANGSCHED_INLINE void assigned_pods::set_pod_state(row_t pod, pod_state to) {
  const pod_state from = pods_.state[pod];
  pods_.state.set(pod, to);
  if (to == pod_state::bound) {
    devices_.pod_runs(classes_[pods_.cls[pod]]);
    if (!reserved_.empty()) reserved_.runs(pod);
  }
  if (const row_t group = pods_.group[pod]; group != no_row) count_member(group, from, to);
}

/// A member of the group goes from one state to another.
GANGSCHED_INLINE void assigned_pods::count_member(row_t group, pod_state from, pod_state to) {
  const auto count = [&](column<std::uint32_t>& counter, pod_state counted) {
    if (from == counted) counter.set(group, counter[group] - 1);
    if (to == counted) counter.set(group, counter[group] + 1);
  };
  count(groups_.assumed, pod_state::assumed);
  count(groups_.bound, pod_state::bound);
  if (to == pod_state::bound && !groups_.satisfied[group] && has_minimum(groups_, group))
    groups_.satisfied.set(group, true);
}

GANGSCHED_INLINE void assigned_pods::log_reserved(row_t pod, row_t node) {
  if (reserved_.involves(pod)) log_.write({.kind = change_kind::node_updated, .facets = reads::usage, .row = node});
}

GANGSCHED_INLINE void assigned_pods::assume(row_t pod, row_t node) {
  if (const row_t from = reserved_.drawn_by(pod); from != no_row && pods_.node[from] != node)
    reserved_.choose(pod, no_row);
  put_on_node(pod, node);
  set_pod_state(pod, pod_state::assumed);
  nominate(pod, no_row);
  pods_.attempt.set(pod, static_cast<bind_attempt>(attempts_after + log_.end() + 1));  // of the next log record
  log_.write(
      {.kind = change_kind::pod_assumed, .facets = facets_of(classes_[pods_.cls[pod]]), .row = pod, .after = node});
  log_reserved(pod, node);
}

GANGSCHED_INLINE void assigned_pods::bind(row_t pod) {
  set_pod_state(pod, pod_state::bound);
  log_.write({.kind = change_kind::pod_bound, .facets = reads::pods, .row = pod, .after = pods_.node[pod]});
  log_reserved(pod, pods_.node[pod]);
}

/// Takes the pods that draw from a reservation off the node which that leaves, and ends their drawing: they were there before it. Returns
/// them, so that the caller can put them back.
GANGSCHED_INLINE std::vector<row_t> assigned_pods::leave_reservation(row_t reservation, row_t node) {
  std::vector<row_t> there;
  if (reserved_.empty() || reserved_.row_of(reservation) == no_row || reserved_.owners(reservation) == 0) return there;
  for (row_t other = nodes_.first_pod[node]; other != no_row; other = pods_.next_on_node[other])
    if (reserved_.drawn_by(other) == reservation) there.push_back(other);
  for (const row_t owner : there) take_off_node(owner), reserved_.choose(owner, no_row);
  return there;
}

GANGSCHED_INLINE void assigned_pods::allocate_around(row_t reservation, row_t node, const std::vector<row_t>& there) {
  for (const row_t owner : there) reserved_.choose(owner, reservation, true), put_on_node(owner, node);
  log_reserved(reservation, node);
}

GANGSCHED_INLINE void assigned_pods::release(row_t pod) {
  const row_t node = pods_.node[pod];
  columns_.take_back(pod);
  const std::vector<row_t> there = leave_reservation(pod, node);
  take_off_node(pod);
  devices_.drop_claim(pod);
  for (const row_t owner : there) put_on_node(owner, node);
  log_reserved(pod, node);
  if (!reserved_.empty() && reserved_.drawn_by(pod) != no_row) reserved_.choose(pod, no_row);
  pods_.times.set_started(pod, pod_times::never);
  set_pod_state(pod, pod_state::pending);
  pods_.attempt.set(pod, bind_attempt::none);
  log_.write(
      {.kind = change_kind::pod_released, .facets = facets_of(classes_[pods_.cls[pod]]), .row = pod, .before = node});
  if (const queue_id queue = classes_[pods_.cls[pod]].queue) queued_.changed(queue.row);
}

GANGSCHED_INLINE void assigned_pods::nominate(row_t pod, row_t node) {
  const row_t before = pods_.nominated[pod];
  if (before == node) return;
  set_nominated_node(pod, node);
  log_nomination(pod, before, node);
}

GANGSCHED_INLINE void assigned_pods::reserve_node(row_t pod, row_t node, instant from) {
  const row_t before = pods_.nominated[pod];
  if (before == node && pods_.times.reserved_from(pod) == from) return;
  if (before != node) set_nominated_node(pod, node);
  pods_.times.set_reserved_from(pod, from);
  log_nomination(pod, before, node);
}

GANGSCHED_INLINE void assigned_pods::log_nomination(row_t pod, row_t before, row_t after) {
  constexpr reads all = reads::usage | reads::pods | reads::ports | reads::devices | reads::claims;
  log_.write({.kind = change_kind::pod_nominated, .facets = all, .row = pod, .before = before, .after = after});
}

GANGSCHED_INLINE void assigned_pods::set_nominated_node(row_t pod, row_t node) {
  const row_t before = pods_.nominated[pod];
  pods_.times.set_reserved_from(pod, pod_times::never);
  if (before != no_row) {
    const row_t next = pods_.next_nominated[pod];
    const row_t prev = pods_.prev_nominated[pod];
    if (next != no_row) pods_.prev_nominated.set(next, prev);
    if (prev != no_row)
      pods_.next_nominated.set(prev, next);
    else
      nodes_.first_nominated.set(before, next);
    if (nodes_.first_nominated[before] == no_row) nodes_.want(before, false);
  }
  const row_t first = node == no_row ? no_row : nodes_.first_nominated[node];
  pods_.nominated.set(pod, node);
  pods_.next_nominated.set(pod, first);
  pods_.prev_nominated.set(pod, no_row);
  if (first != no_row) pods_.prev_nominated.set(first, pod);
  if (node == no_row) return;
  if (first == no_row) nodes_.want(node, true);
  nodes_.first_nominated.set(node, pod);
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
