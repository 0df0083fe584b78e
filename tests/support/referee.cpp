#include "support/referee.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace reference {

void referee::drop_node(node_id id) {
  const world::losses lost = world_.drop_node(id);
  std::erase_if(room_, [&](const waiter& w) {
    return std::find(lost.released.begin(), lost.released.end(), w.pod) != lost.released.end();
  });
  for (const pod_id& pod : lost.gone) {
    queue_.erase({pod, {}});
    std::erase_if(owed_, [&](const verdict& owed) { return owed.pod == pod; });
  }
  for (verdict& owed : owed_) {
    if (owed.node == id.row) owed.node = no_row;
  }
  for (const pod_id& pod : lost.released) owed_.push_back({"revoke", pod, no_row, 0});
}

void referee::put_pod(pod_id id, const pod_spec& spec) {
  const auto before = world_.pods.find(id);
  const bool reserved =
      before != world_.pods.end() && (before->second.stage == stage::assumed || before->second.stage == stage::waiting);
  if (reserved && spec.node && spec.node.row != before->second.node)
    owed_.push_back({"revoke", id, before->second.node, 0});
  world_.put_pod(id, spec);
  const pod& now = world_.pods.at(id);
  if (now.stage == stage::bound) std::erase_if(room_, [&](const waiter& w) { return w.pod == id; });
  if (const auto its = queue_.find(entity_of(now)); its != queue_.end()) its->second.touched = true;
  take_out_the_idle();
}

void referee::remove_pod(pod_id id) {
  std::erase_if(room_, [&](const waiter& w) { return w.pod == id; });
  queue_.erase({id, {}});
  seen_.erase(id);
  std::erase_if(owed_, [&](const verdict& owed) { return owed.pod == id; });
  world_.pods.erase(id);
  take_out_the_idle();
}

void referee::end_pod(pod_id id) {
  world_.pods.at(id).terminating = true;
  take_out_the_idle();
}

void referee::put_group(group_id id, const group_spec& spec) {
  world_.put_group(id, spec);
  for (auto& [who, its] : queue_) {
    const group_id of = who.group ? who.group : world_.pods.at(who.pod).spec.group;
    if (of == id) its.touched = true;
  }
}

void referee::remove_group(group_id id) {
  world_.groups.erase(id);
  queue_.erase({{}, id});
}

void referee::confirm(pod_id id) {
  look_around(now_);
  world_.pods.at(id).stage = stage::bound;
  item& its = queue_[entity_of(world_.pods.at(id))];
  if (!its.in) its.failures = its.errors = 0;
}

void referee::allow(pod_id id) {
  for (waiter& w : room_) w.allowed = w.allowed || w.pod == id;
}

void referee::reject(pod_id id) {
  for (waiter& w : room_) {
    if (w.pod == id) w.rejected = true, w.allowed = false;
  }
}

std::vector<pod_id> referee::in_stage(stage which) const {
  std::vector<pod_id> all;
  for (const auto& [id, pod] : world_.pods) {
    if (pod.stage == which) all.push_back(id);
  }
  return all;
}

std::vector<pod_id> referee::undecided() const {
  std::vector<pod_id> all;
  for (const waiter& w : room_) {
    if (!w.rejected && !may_go(w)) all.push_back(w.pod);
  }
  return all;
}

std::optional<instant> referee::next_deadline() const {
  std::optional<instant> next;
  const auto offer = [&](instant when) { next = next ? std::min(*next, when) : when; };
  for (const waiter& w : room_) {
    if (!may_go(w) && !world_.pods.at(w.pod).terminating) offer(w.deadline);
  }
  for (const auto& [who, its] : queue_) {
    if (its.in && its.standing == standing::timed && !its.touched && !gated(who) && !pending_of(who).empty())
      offer(its.ready);
  }
  return next;
}

// --- who is who

referee::entity referee::entity_of(const pod& of) const {
  const group* group = world_.group_of(of);
  return group != nullptr && group->together() ? entity{{}, group->id} : entity{of.id, {}};
}

std::vector<const pod*> referee::pending_of(const entity& who) const {
  std::vector<const pod*> all;
  if (!who.group)
    all.push_back(&world_.pods.at(who.pod));
  else
    all = world_.members(who.group);
  std::erase_if(all, [&](const pod* p) { return !waits_for_room(*p); });
  return all;
}

// A group has its own priority, or that of its most important member.
std::int64_t referee::priority_of(const group& of) const {
  if (of.spec.priority) return *of.spec.priority;
  std::int64_t most = INT64_MIN;
  for (const pod* member : world_.members(of.id)) most = std::max<std::int64_t>(most, member->priority());
  return most;
}

// PrioritySort on entities: priority, time, arrival.
referee::rank referee::rank_of(const entity& who) const {
  const item& its = queue_.at(who);
  const std::int64_t priority =
      who.group ? priority_of(world_.groups.at(who.group)) : world_.pods.at(who.pod).priority();
  return {-priority, who.group ? its.entered : its.since, its.arrival};  // a group keeps its age
}

bool referee::gated(const entity& who) const {
  const std::vector<const pod*> members = pending_of(who);
  return !members.empty() && gated_by(world_, *members.front(), rules_).has_value();
}

bool referee::fits(const entity& who) const {
  // Members go where they score best: with less room elsewhere a group may fit that did not. Nobody is woken for that.
  if (who.group) return queue_.at(who).placed_before == placements_ && try_group(world_, who.group, rules_, 0).stands;
  return !look(world_, who.pod, rules_).feasible.empty();
}

bool referee::must_be_active(const entity& who, const item& its, instant now) const {
  if (!its.in || pending_of(who).empty() || gated(who)) return false;
  if (its.standing == standing::fresh) return true;
  if (its.standing == standing::timed) return its.ready <= now;
  return now - its.since > times_.unschedulable_timeout || (times_.wake_all && its.ready <= now && fits(who));
}

std::string referee::name(pod_id id) const {
  const auto found = world_.pods.find(id);
  return found == world_.pods.end() ? "nobody" : found->second.spec.name;
}
std::string referee::name(const entity& who) const {
  return who.group ? "group " + world_.groups.at(who.group).spec.name : name(who.pod);
}

std::string referee::text(const std::vector<verdict>& all) const {
  std::string made;
  for (const verdict& v : all) {
    made += (made.empty() ? "" : ", ") + v.kind + " " + name(v.pod);
    if (v.node != no_row) made += "@" + (world_.nodes.contains(v.node) ? world_.nodes.at(v.node).spec.name : "?");
    if (v.score != 0) made += " with " + std::to_string(v.score);
  }
  return made.empty() ? "nothing" : made;
}

// --- time and order

// Who has nobody left that waits is out of the queue.
void referee::take_out_the_idle() {
  for (auto& [who, its] : queue_) its.in = its.in && !pending_of(who).empty();
}

// The scheduler looks at what happened: whoever waits for room stands in the queue from now on. Time counts from the first entry (a
// pod whose node was taken away has not lost its place); a group's from when it had nobody waiting before.
void referee::look_around(instant now) {
  now_ = now;
  take_out_the_idle();
  std::vector<const pod*> waiting;
  for (const auto& [id, pod] : world_.pods) {
    if (waits_for_room(pod)) waiting.push_back(&pod);
  }
  std::sort(waiting.begin(), waiting.end(), [](const pod* a, const pod* b) { return a->arrival < b->arrival; });
  for (const pod* one : waiting) {
    item& its = queue_[entity_of(*one)];
    const bool before = std::exchange(seen_[one->id], true);
    its.arrival = its.in ? std::min(its.arrival, one->arrival) : one->arrival;
    if (std::exchange(its.in, true)) continue;
    its.standing = standing::fresh;
    its.ready = now;
    if (!before || entity_of(*one).group) its.since = its.entered = now;
  }
}

std::optional<std::string> referee::check_turn(const entity& who, instant now) {
  const auto found = queue_.find(who);
  if (found == queue_.end() || !found->second.in) return name(who) + " is attempted, but does not wait for room";
  const item& its = found->second;
  if (gated(who)) return name(who) + " is attempted, but is gated";
  // (Room for all of it ends a group's backoff.)
  const bool early = its.standing != standing::fresh && its.ready > now && (!who.group || its.error);
  if (early && its.error && !its.touched) return name(who) + " is attempted before its backoff after an error is over";
  for (const auto& [other, theirs] : queue_) {
    if (other == who || !must_be_active(other, theirs, now)) continue;
    if (early) return "the backoff of " + name(who) + " is cut short while " + name(other) + " is active";
    rank first = rank_of(other), second = rank_of(who);
    // Those that failed at the same time come back in any order.
    if (theirs.standing != standing::fresh && its.standing != standing::fresh) first.arrival = second.arrival;
    if (first < second) return name(who) + " is attempted before " + name(other);
  }
  return std::nullopt;
}

// kube-scheduler: calculateBackoffDuration, backend/queue/backoff_queue.go.
void referee::come_back(const entity& who, instant now, bool error) {
  item& its = queue_[who];
  // Members that fail together are one failure.
  const bool counted = who.group && its.in && its.standing != standing::fresh && its.since == now;
  unsigned& count = error ? its.errors : its.failures;
  if (!counted || count == 0) ++count;
  if (!error) its.errors = 0;
  its.in = true;
  const double longest = static_cast<double>(times_.max_backoff.count());
  const double wanted = static_cast<double>(times_.initial_backoff.count()) *
                        std::pow(2.0, static_cast<int>(error ? its.errors : its.failures) - 1);
  its.since = now;
  its.ready = now + instant{static_cast<std::int64_t>(std::min(wanted, longest))};
  its.standing = error ? standing::timed : standing::parked;
  its.error = error;
  its.touched = false;
  its.placed_before = placements_;
}

std::optional<std::string> referee::at_rest(instant now) {
  look_around(now);
  expire(now);
  for (const auto& [who, its] : queue_) {
    if (!its.in || pending_of(who).empty() || gated(who)) continue;
    const bool waits_it_out = its.error && its.ready > now;
    if (its.standing == standing::fresh) return name(who) + " was never attempted, but the loop has ended";
    if (!waits_it_out && must_be_active(who, its, now))
      return name(who) + " may be attempted again, but the loop has ended";
    if (!waits_it_out && fits(who)) return name(who) + " would fit, but the loop has ended";
  }
  return std::nullopt;
}

// --- attempts

verdict referee::settle(pod_id id, const choice& where, instant now) {
  const group* group = world_.group_of(world_.pods.at(id));
  world_.place(id, where.node, stage::assumed);
  ++placements_;
  if (group == nullptr || group->together()) return {"bind", id, where.node, where.score};
  if (staying(group->id) < group->minimum()) {
    world_.place(id, where.node, stage::waiting);
    room_.push_back({id, where.score, now + std::min<instant>(group->gang()->timeout, std::chrono::minutes{15})});
    return {"wait", id, where.node, where.score};
  }
  return {"bind", id, where.node, where.score};
}

// Members with a node that are not about to leave it.
int referee::staying(group_id group) const {
  const std::vector<const pod*> members = world_.members(group);
  return static_cast<int>(std::count_if(members.begin(), members.end(),
                                        [](const pod* p) { return p->stage != stage::pending && !p->terminating; }));
}

// The minimum is there, whenever it is asked.
bool referee::may_go(const waiter& w) const {
  const pod& its = world_.pods.at(w.pod);
  const group* group = world_.group_of(its);
  return !w.rejected && !its.terminating && (w.allowed || staying(group->id) >= group->minimum());
}

void referee::send_back(pod_id id, instant now, std::vector<verdict>& said) {
  said.push_back({"revoke", id, world_.pods.at(id).node, 0});
  std::erase_if(room_, [&](const waiter& w) { return w.pod == id; });
  world_.release(id);
  if (world_.pods.at(id).terminating) return;
  const entity who = entity_of(world_.pods.at(id));
  come_back(who, now, false);
  queue_[who].standing = standing::timed;
  queue_[who].error = true;  // it waits its backoff out
}

std::vector<group_id> referee::rooms_to_take(const entity& who, std::uint64_t numbered) {
  const group* own = who.group ? &world_.groups.at(who.group) : world_.group_of(world_.pods.at(who.pod));
  const auto incomplete = [&](const group& g) { return world_.placed(g.id) < g.minimum(); };
  if (!times_.older_first || own == nullptr || !incomplete(*own)) return {};
  const auto runs = [&](const group& g) {
    const std::vector<const pod*> members = world_.members(g.id);
    return std::any_of(members.begin(), members.end(), [](const pod* p) { return p->stage == stage::bound; });
  };
  // Who runs cannot give its room back, and goes first.
  const auto age = [&](const group& g) { return std::tuple{!runs(g), -priority_of(g), g.arrival}; };
  std::vector<const group*> later;
  for (const waiter& w : room_) {
    const group* other = world_.group_of(world_.pods.at(w.pod));
    const bool known = std::find(later.begin(), later.end(), other) != later.end();
    if (!known && incomplete(*other) && age(*other) > age(*own)) later.push_back(other);
  }
  std::sort(later.begin(), later.end(), [&](const group* a, const group* b) { return age(*a) > age(*b); });
  const auto fits_without = [&](const std::vector<group_id>& gangs) {
    reference::world trial = world_;
    for (const waiter& w : room_) {
      if (std::find(gangs.begin(), gangs.end(), world_.pods.at(w.pod).spec.group) != gangs.end()) trial.release(w.pod);
    }
    if (!who.group) return choose(trial, who.pod, rules_, numbered + picks_++).node != no_row;
    const group_answer answer = try_group(trial, who.group, rules_, numbered + picks_);
    picks_ += answer.picks;
    return answer.stands;
  };
  for (const group* one : later) {
    if (fits_without({one->id})) return {one->id};
  }
  std::vector<group_id> together;
  for (const group* one : later) {
    together.push_back(one->id);
    if (together.size() > 1 && fits_without(together)) return together;
  }
  return {};
}

bool referee::take_rooms(const entity& who, instant now, std::uint64_t numbered, std::vector<verdict>& said) {
  const std::vector<group_id> giving = rooms_to_take(who, numbered);
  for (const group_id group : giving) {
    const std::vector<waiter> before = room_;
    for (const waiter& w : before) {
      if (world_.pods.at(w.pod).spec.group == group) send_back(w.pod, now, said);
    }
  }
  return !giving.empty();
}

std::vector<verdict> referee::attempt_pod(pod_id id, instant now, std::uint64_t numbered) {
  std::vector<verdict> said;
  const entity who{id, {}};
  choice chosen = choose(world_, id, rules_, numbered + picks_++);
  world_.start = chosen.start;
  if (chosen.node == no_row && take_rooms(who, now, numbered, said)) {
    chosen = choose(world_, id, rules_, numbered + picks_++);
    world_.start = chosen.start;
  }
  if (chosen.node == no_row) {
    said.push_back({"reject", id});
    come_back(who, now, false);
  } else {
    queue_[who].touched = false;
    said.push_back(settle(id, chosen, now));
  }
  return said;
}

std::vector<verdict> referee::attempt_group(group_id id, instant now, std::uint64_t numbered) {
  std::vector<verdict> said;
  const entity who{{}, id};
  // kube-scheduler, schedule_one_podgroup.go: members have their group's priority, or nobody is tried.
  const group& its = world_.groups.at(id);
  const std::vector<const pod*> all = world_.members(id);
  if (its.spec.priority &&
      std::any_of(all.begin(), all.end(), [&](const pod* one) { return one->priority() != *its.spec.priority; })) {
    for (const pod* one : pending_of(who)) said.push_back({"reject", one->id});
    come_back(who, now, true);
    return said;
  }
  group_answer answer = try_group(world_, id, rules_, numbered);
  picks_ += answer.picks;
  world_.start = answer.start;
  if (!answer.stands && take_rooms(who, now, numbered, said)) {
    answer = try_group(world_, id, rules_, numbered + picks_);
    picks_ += answer.picks;
    world_.start = answer.start;
  }
  if (answer.stands) queue_[who].failures = 0;
  for (const auto& [pod, where] : answer.placed) said.push_back(settle(pod, where, now));
  for (const pod_id& pod : answer.left) said.push_back({"reject", pod});
  if (answer.stands &&
      !answer.left.empty()) {  // at once, with its old timestamp (scheduling_queue.go: preserveTimestamp)
    queue_[who].in = true;
    queue_[who].standing = standing::fresh;
  }
  if (answer.stands || answer.left.empty())
    queue_[who].touched = queue_[who].error = false;
  else
    come_back(who, now, false);
  return said;
}

std::vector<verdict> referee::attempt(const entity& who, instant now, std::uint64_t numbered) {
  queue_[who].in = false;
  return who.group ? attempt_group(who.group, now, numbered) : attempt_pod(who.pod, now, numbered);
}

// --- calls

std::optional<std::string> referee::compare(const std::string& what, const std::vector<verdict>& wanted,
                                            const std::vector<verdict>& said) const {
  if (wanted == said) return std::nullopt;
  return what + ": expected " + text(wanted) + "; got " + text(said);
}

void referee::expire(instant now) {
  std::vector<pod_id> ends;
  for (const waiter& w : room_) {
    if (!may_go(w) && (w.rejected || w.deadline <= now || world_.pods.at(w.pod).terminating)) ends.push_back(w.pod);
  }
  for (const pod_id pod : ends) send_back(pod, now, owed_);
}

std::optional<std::string> referee::cycle(instant now, const std::vector<verdict>& said, std::uint64_t numbered) {
  look_around(now);
  expire(now);
  picks_ = 0;
  if (said.empty()) return "a cycle that did something decided nothing";
  for (const verdict& v : said) {
    if (!world_.pods.contains(v.pod)) return "a decision about nobody";
  }
  // The host hears first whose room was taken back.
  std::vector<verdict> wanted = std::exchange(owed_, {});
  if (said.size() <= wanted.size()) return compare("revocations", wanted, said);
  const entity who = entity_of(world_.pods.at(said.back().pod));
  if (auto wrong = check_turn(who, now)) return wrong;
  for (verdict& v : attempt(who, now, numbered)) wanted.push_back(std::move(v));
  return compare("cycle of " + name(who), wanted, said);
}

std::optional<std::string> referee::permit(instant now, const std::vector<verdict>& said) {
  look_around(now);
  expire(now);
  std::vector<verdict> wanted = std::move(owed_);
  owed_.clear();
  for (const waiter& w : room_) {
    if (!may_go(w)) continue;  // its wait was said
    wanted.push_back({"bind", w.pod, world_.pods.at(w.pod).node, w.score});
    world_.pods.at(w.pod).stage = stage::assumed;
  }
  std::erase_if(room_, [&](const waiter& w) { return world_.pods.at(w.pod).stage != stage::waiting; });
  return compare("permit", wanted, said);
}

std::optional<std::string> referee::fail(pod_id id, const std::vector<verdict>& said) {
  look_around(now_);
  std::vector<verdict> wanted;
  bool returns = false;  // some member of what was given back waits again
  const auto give_back = [&](pod_id pod) {
    std::erase_if(room_, [&](const waiter& w) { return w.pod == pod; });
    world_.release(pod);
    const entity who = entity_of(world_.pods.at(pod));
    returns = returns || !world_.pods.at(pod).terminating;
    if (!who.group && !world_.pods.at(pod).terminating) come_back(who, now_, true);
  };
  const group* group = world_.group_of(world_.pods.at(id));
  give_back(id);
  if (group != nullptr && group->gang() != nullptr && group->gang()->atomic) {
    for (const pod* member : world_.members(group->id)) {
      if (member->stage == stage::bound && !member->terminating) {
        wanted.push_back({"evict", member->id, member->node, 0});
      } else if (member->stage == stage::assumed || member->stage == stage::waiting) {
        wanted.push_back({"revoke", member->id, member->node, 0});
        give_back(member->id);
      }
    }
  }
  if (const entity who = entity_of(world_.pods.at(id)); who.group && returns) come_back(who, now_, true);
  return compare("fail of " + name(id), wanted, said);
}

}  // namespace reference
