#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "host.hpp"

/// What every decision has to keep to.
namespace gangsched::soak {

namespace {

void mix(std::uint64_t& into, std::uint64_t word) { into = mix64(into ^ word); }
void mix(std::uint64_t& into, std::string_view text) {
  std::uint64_t words = text.size();
  for (const char letter : text) words = words * 0x100000001b3u ^ static_cast<unsigned char>(letter);
  mix(into, words);
}

std::set<std::int32_t> ports_of(const pod_spec& spec) {
  std::set<std::int32_t> all;
  for (const container& one : spec.containers) {
    for (const container_port& port : one.ports) all.insert(port.host_port);
  }
  return all;
}

}  // namespace

number host::number_of(pod_id pod) const {
  for (const auto& [at, known] : known_.pods) {
    if (known.id == pod) return at;
  }
  return nobody;
}

void host::note(const decision& one, from whom) {
  constexpr std::string_view names[] = {"schedule_cycle", "permit", "fail"};
  ++counts_.decisions;
  mix(digest_, static_cast<std::uint64_t>(one.kind) << 8 | static_cast<std::uint64_t>(one.code));
  mix(digest_, static_cast<std::uint64_t>(now_.count()));
  mix(digest_, cluster_.name_of(one.pod));
  mix(digest_, cluster_.name_of(one.node));
  mix(digest_, static_cast<std::uint64_t>(one.rank));
  mix(digest_, static_cast<std::uint64_t>(one.score));
  if (one.reason != nullptr) mix(digest_, one.reason);
  for (const device_grant& grant : one.devices) {
    mix(digest_, static_cast<std::uint64_t>(grant.kind) << 32 | std::uint64_t{grant.request} << 16 | grant.device);
    mix(digest_, static_cast<std::uint64_t>(grant.milli));
    mix(digest_, static_cast<std::uint64_t>(grant.mig_start));
    mix(digest_, static_cast<std::uint64_t>(grant.amount));
    called<"cluster::profile_of">();
    mix(digest_, cluster_.profile_of(grant));
  }
  if (lines_ == nullptr) return;
  std::string line = std::string{names[static_cast<std::size_t>(whom)]} + " at " +
                     std::to_string(now_.count() / 1'000'000) + " ms: " + std::string{to_string(one.kind)} + " " +
                     std::string{cluster_.name_of(one.pod)};
  if (one.node) line += " on " + std::string{cluster_.name_of(one.node)};
  if (one.group) line += " of " + std::string{cluster_.name_of(one.group)};
  if (one.reason != nullptr) line += ": " + std::string{one.reason};
  lines_->push_back("    " + line);
}

void host::take(const cycle& said, from whom) {
  if (const error* why = said.error()) {
    // (What threw while an event was judged is said by the next attempt of that class.)
    const bool owed = std::exchange(error_owed_, false);
    if (why->code == errc::contract && !rules_->threw && !owed) wrong("a contract error", why->message());
    if (why->code != errc::contract) wrong("a call of the scheduler is refused", why->message());
  }
  const bool threw = std::exchange(rules_->threw, false);
  error_owed_ = error_owed_ || (threw && said.error() == nullptr);
  std::set<std::tuple<decision_kind, pod_id, bind_attempt>> seen;
  for (const decision& one : said.decisions()) {
    note(one, whom);
    if (!seen.insert({one.kind, one.pod, one.attempt}).second)
      wrong("a decision is there twice in one call", std::string{to_string(one.kind)});
    take_one(one, whom);
  }
  for (const decision& one : said.decisions()) {
    if (one.kind != decision_kind::wait) continue;
    if (const auto pod = known_.pods.find(number_of(one.pod)); pod != known_.pods.end() && pod->second.waiting)
      note_holders(pod->second);
  }
  check_victims(said.decisions());
  check_states("a call of the scheduler");
  if (whom == from::fail) return;
  if (!owed_.empty()) wrong("a reservation that the host ended is not revoked", text_of(owed_.begin()->second));
  const std::span<const decision> all = said.decisions();
  const auto loses_sibling_after = [&](const decision& one) {
    return std::any_of(all.begin(), all.end(), [&](const decision& other) {
      return &other > &one && other.kind == decision_kind::revoke && other.group == one.group;
    });
  };
  for (const decision& one : said) {
    if (cluster_.attempt_of(one.pod) != one.attempt && one.kind == decision_kind::bind)
      wrong("a loop shows a bind that holds no more");
    const known_pod& pod = known_.pods.at(number_of(one.pod));
    if (pod.state != pod_state::assumed) continue;
    if (whom == from::cycle && (one.kind == decision_kind::bind || one.kind == decision_kind::wait))
      check_place(pod, one);
    // (A permit or bind hook that fails takes its member alone, after the group had its minimum.)
    const bool reserved = one.kind == decision_kind::bind || one.kind == decision_kind::wait;
    if (reserved && !(threw && (whom == from::cycle || loses_sibling_after(one)))) check_gang(pod, one.kind, whom);
  }
  note_satisfied();
}

/// Members that others placed count too, whenever that was.
void host::note_satisfied() {
  for (auto& [at, group] : known_.groups) {
    if (!group.satisfied && group.policy() != nullptr)
      group.satisfied = known_.ready(at) >= static_cast<std::uint32_t>(group.min_count());
  }
}

void host::take_one(const decision& one, from whom) {
  const std::string kind{to_string(one.kind)};
  const number at = number_of(one.pod);
  if (at == nobody) wrong("a decision about a pod that is gone", kind);
  known_pod& pod = known_.pods.at(at);
  if (one.pod_cookie != pod.spec.cookie) wrong("a decision has a wrong cookie", kind + " " + text_of(at));
  if (one.group != (pod.group == nobody ? group_id{} : known_.groups.at(pod.group).id))
    wrong("a decision has a wrong group", text_of(at));
  number node = nobody;
  if (one.node) {
    node = static_cast<number>(one.node_cookie - 1'000'000);
    const auto there = known_.nodes.find(node);
    if (there == known_.nodes.end() || there->second.id != one.node)
      wrong("a decision has a wrong node", kind + " " + text_of(at));
  }
  // (What it was told late, about a reservation that is over, is no answer to what the host said since.)
  if (one.kind != decision_kind::revoke || !owed_.contains(one.attempt)) pod.refused = false;
  switch (one.kind) {
    case decision_kind::bind:
      if (pod.terminating) wrong("bind of a pod that terminates", text_of(at));
      if (!pod.spec.scheduling_gates.empty()) wrong("bind of a gated pod", text_of(at));
      if (pod.state == pod_state::pending) {
        pod.state = pod_state::assumed;
        pod.node = node;
      } else if (!pod.waiting) {
        wrong("bind of a pod that neither is pending nor waits", text_of(at));
      } else if (pod.node != node) {
        wrong("bind on another node than it waits on", text_of(at));
      } else if (pod.attempt != one.attempt) {
        wrong("bind by another attempt than it waits by", text_of(at));
      }
      pod.attempt = one.attempt;
      pod.waiting = false;
      pod.decided = true;
      pod.by_others = false;
      return;
    case decision_kind::wait:
      if (whom == from::permit) wrong("permit says of a pod that it goes on waiting", text_of(at));
      if (pod.state != pod_state::pending) wrong("wait of a pod that is not pending", text_of(at));
      if (pod.terminating) wrong("wait of a pod that terminates", text_of(at));
      pod.state = pod_state::assumed;
      pod.node = node;
      pod.attempt = one.attempt;
      pod.waiting = true;
      pod.by_others = false;
      pod.overruled = false;
      pod.holders.clear();
      pod.wait_most = instant::zero();
      return;
    case decision_kind::revoke:
      if (const auto owed = owed_.find(one.attempt); owed != owed_.end()) {
        if (owed->second != at) wrong("revoke of another pod's reservation", text_of(at));
        owed_.erase(owed);
        return;
      }
      if (one.attempt != pod.attempt) wrong("revoke of another reservation than the pod has", text_of(at));
      if (pod.state != pod_state::assumed) wrong("revoke of a pod that nothing is reserved for", text_of(at));
      pod.state = pod_state::pending;
      pod.node = nobody;
      pod.waiting = pod.decided = false;
      return;
    case decision_kind::reject:
      if (pod.state != pod_state::pending) wrong("reject of a pod that is not pending", text_of(at));
      return;
    case decision_kind::nominate:
      if (pod.state != pod_state::pending) wrong("nominate of a pod that is not pending", text_of(at));
      if (node == nobody) wrong("nominate without a node", text_of(at));
      return;
    case decision_kind::notice:
      if (pod.state != pod_state::bound || pod.terminating) wrong("notice of a pod that does not run", text_of(at));
      if (pod.noticed || on_.scheduler.eviction_notice == instant{0}) wrong("a notice too many", text_of(at));
      pod.noticed = now_;
      return;
    case decision_kind::withdraw:
      if (!pod.noticed) wrong("a notice is withdrawn that nobody had", text_of(at));
      pod.noticed.reset();
      return;
    case decision_kind::evict:
      if (pod.state != pod_state::bound) wrong("evict of a pod that does not run", text_of(at));
      if (pod.terminating) wrong("evict of a pod that terminates", text_of(at));
      if (one.reason != nullptr && std::string_view{one.reason} == "a queue that it is in drains" && !drains(pod))
        wrong("evict of a pod whose queue does not drain", text_of(at));
      pod.evicted = true;
      return;
  }
}

/// Where a pod was put that had no node before.
void host::check_place(const known_pod& pod, const decision& one) const {
  const known_node& node = known_.nodes.at(pod.node);
  const std::string where = pod.spec.name + " on " + node.spec.name;
  if (!admits(node.spec, pod.spec, on_.cluster.semantics.release()))
    wrong("a pod is put where taints, labels, features or the switch forbid it", where);
  if (!pod.spec.required_node.empty() && pod.spec.required_node != node.spec.name)
    wrong("a pod is not put on the node it names", where);
  if (const pod_id drawn = cluster_.reservation_of(pod.id)) {
    const amounts holds = needs_of(known_.pods.at(number_of(drawn)).spec), wanted = needs_of(pod.spec);
    for (const std::string& name : pod.spec.exact_reservation) {
      const auto i = static_cast<std::size_t>(std::find(resources.begin(), resources.end(), name) - resources.begin());
      if (holds[i] != wanted[i]) wrong("a reservation does not hold just what its owner needs", where);
      if (wanted[i] == 0) break;
    }
  }
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (pod.needs[i] == 0 || (resources[i].starts_with("nvidia.com/") && !pod.spec.devices.empty())) continue;
    // (What is left of room that is held for it the pod does not ask for; the host may hold more than there is.)
    std::int64_t own = 0, ignoring = 0, ignored = 0;
    for (const auto& [room, parts] : known_.rooms)
      own += pod.spec.held_room == room_name(room) ? known_.left(room, pod.node)[i] : 0;
    for (const auto& [at, other] : known_.pods) {
      const bool lets = other.node == pod.node && other.spec.reservation && &other != &pod &&
                        (pod.spec.ignores_reservations || cluster_.reservation_of(pod.id) == other.id);
      if (lets) own += left_of(other)[i];
      if (other.node == pod.node && &other != &pod && other.spec.ignores_reservations) ignoring += other.needs[i];
      if (other.node == pod.node && other.spec.reservation) ignored += left_of(other)[i];
      if (pod.spec.reservation && other.spec.ignores_reservations && other.node == pod.node) own += other.needs[i];
    }
    if (pod.spec.reservation && pod.spec.reservation->pre_allocation != pre_allocation::none) continue;
    // (Those who came after it in the same call, and pass over what is reserved.)
    if (!pod.spec.ignores_reservations) own += std::min(ignoring, ignored);
    if (cluster_.requested(node.id, resources[i]) - own > node.allocatable[i])
      wrong("a node gets more than it has", std::string{resources[i]} + ": " + where + ", where " +
                                                std::to_string(cluster_.requested(node.id, resources[i])) +
                                                " are requested, " + std::to_string(own) + " of it its own");
  }
  const std::set<std::int32_t> ports = ports_of(pod.spec);
  for (const auto& [at, other] : known_.pods) {
    if (&other == &pod || other.node == nobody) continue;
    const bool off = (other.spec.reservation && other.node == pod.node &&
                      (pod.spec.ignores_reservations || cluster_.reservation_of(pod.id) == other.id)) ||
                     cluster_.reservation_of(other.id) == pod.id ||
                     (pod.spec.reservation && other.spec.ignores_reservations && other.node == pod.node);
    if (off) continue;  // it was judged as if that were not there
    const known_node& there = known_.nodes.at(other.node);
    if (other.node == pod.node && !ports.empty()) {
      for (const std::int32_t port : ports_of(other.spec)) {
        if (ports.contains(port)) wrong("two pods have one port", where + " beside " + other.spec.name);
      }
    }
    if (is_against(pod.spec, node.spec, other.spec, there.spec) ||
        is_against(other.spec, there.spec, pod.spec, node.spec)) {
      wrong("a pod is put where anti-affinity forbids it", where + ", " + other.spec.name);
    }
    const auto& mine = pod.spec.volumes.exclusive_claims;
    for (const std::string& claim : other.spec.volumes.exclusive_claims) {
      if (other.spec.ns == pod.spec.ns && std::find(mine.begin(), mine.end(), claim) != mine.end())
        wrong("an exclusive volume has two pods", where);
    }
  }
  for (const device_grant& grant : one.devices) {
    if (grant.of_container() || grant.kind == device_grant::form::capacity) continue;
    called<"cluster::name_of(node_id, const device_grant &)">();
    const std::string_view name = cluster_.name_of(node.id, grant);
    const auto& gpus = node.spec.devices.gpus;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::string id = gpus[i].id.empty() ? std::to_string(i) : gpus[i].id;
      if (grant.is_gpu() && id == name && !gpus[i].healthy) wrong("a pod gets a device that is not healthy", where);
    }
    for (const other_device& device : node.spec.devices.others) {
      if (!grant.is_gpu() && device.id == name && !device.healthy)
        wrong("a pod gets a device that is not healthy", where);
    }
  }
}

/// After a call that placed a member or let one go its gang has its minimums, and so have the groups above.
void host::check_gang(const known_pod& pod, decision_kind kind, from whom) const {
  if (pod.group == nobody) return;
  const known_group& group = known_.groups.at(pod.group);
  const gang* policy = group.policy();
  const bool permit = policy != nullptr && policy->mode == gang_mode::permit;
  // In permit mode the minimum counts when they are let go; in the group cycle when they are placed, whoever makes them wait then.
  if (permit ? kind == decision_kind::wait : whom == from::permit) return;
  const std::string who = pod.spec.name + " of " + text_of_group(pod.group);
  const bool overruled = std::any_of(known_.pods.begin(), known_.pods.end(), [&](const auto& one) {
    return one.second.group == pod.group && one.second.placed() && one.second.overruled;
  });
  if (policy != nullptr && !group.overruled && !overruled) {
    const bool satisfied = policy->match == match_policy::once_satisfied && group.satisfied;
    if (policy->match != match_policy::only_waiting && !satisfied &&
        known_.placed(pod.group) < static_cast<std::uint32_t>(policy->min_count)) {
      wrong("a gang is bound below its minimum", who);
    }
    for (const role_minimum& role : policy->roles) {
      if (!satisfied && known_.placed(pod.group, role.role) < static_cast<std::uint32_t>(role.min_count))
        wrong("a gang is bound below the minimum of a role", who);
    }
    const bool others = std::any_of(known_.pods.begin(), known_.pods.end(), [&](const auto& one) {
      return one.second.group == pod.group && one.second.by_others;
    });
    if (policy->max_count && !others && known_.placed(pod.group) > static_cast<std::uint32_t>(*policy->max_count))
      wrong("a gang is bound above its maximum", who);
  }
  for (number above = group.above; above != nobody; above = known_.groups.at(above).above) {
    if (!known_.groups.contains(above)) return;
    const known_group& tree = known_.groups.at(above);
    if (!tree.expected && !tree.overruled && known_.ready(above) < static_cast<std::uint32_t>(tree.min_count()))
      wrong("a tree is bound below its minimum", who);
  }
}

/// Who is evicted to make room is less important than who gets it. Evictions with a reason are no preemption.
void host::check_victims(std::span<const decision> all) const {
  std::optional<std::int32_t> best;
  const bool groups = on_.cluster.semantics.release() >= kube_release::v1_37;
  for (const decision& one : all) {
    if (one.kind != decision_kind::nominate) continue;
    const known_pod& pod = known_.pods.at(number_of(one.pod));
    const gang* policy = pod.group == nobody ? nullptr : known_.groups.at(pod.group).policy();
    const bool alone = pod.group == nobody || (policy != nullptr && policy->mode == gang_mode::permit);
    const std::int32_t priority = alone ? pod.priority : known_.tree_priority(pod.group);
    best = std::max(best.value_or(priority), priority);
  }
  for (const decision& one : all) {
    if (one.reason != nullptr) continue;
    if (on_.scheduler.eviction_notice != instant{0} && one.kind == decision_kind::evict) {
      const known_pod& pod = known_.pods.at(number_of(one.pod));
      if (!pod.noticed || now_ < later_by(*pod.noticed, on_.scheduler.eviction_notice))
        wrong("a victim goes before its time", pod.spec.name);
      continue;
    }
    if (one.kind != decision_kind::evict && one.kind != decision_kind::notice) continue;
    if (!best && !groups) continue;  // groups of these releases nominate nobody
    if (!best) wrong("somebody is evicted for nobody", std::string{cluster_.name_of(one.pod)});
    const known_pod& pod = known_.pods.at(number_of(one.pod));
    std::int32_t priority = pod.priority;
    if (pod.group != nobody && groups) priority = known_.tree_priority(pod.group);
    if (pod.group != nobody && !groups) priority = std::min(priority, known_.tree_priority(pod.group));
    if (priority >= *best) {
      wrong("a victim is not less important than who makes it go",
            pod.spec.name + " of " + std::to_string(priority) + " for " + std::to_string(*best));
    }
  }
}

}  // namespace gangsched::soak
