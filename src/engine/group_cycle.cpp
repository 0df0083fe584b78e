#include <algorithm>
#include <limits>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// A group's cycle (kube-workloads 4), from the queue to the permit room. group_search.cpp finds the places.
namespace gangsched::engine {

namespace detail {

/// Of @p members, in their order: those that minimums by role still need, and the others.
struct role_split {
  std::vector<row_t> needed, others;
};
GANGSCHED_INLINE role_split split_by_need(const cluster_state& state, row_t group, const gang& policy, std::span<const row_t> members) {
  std::vector<std::int64_t> missing;
  for (const role_minimum& one : policy.roles) missing.push_back(one.min_count);
  const auto take = [&](row_t pod) {
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (policy.roles[i].role == state.pods.record[pod]->role) return missing[i]-- > 0;
    }
    return false;
  };
  for (row_t pod = state.groups.first[group]; pod != no_row; pod = state.pods.next_in_group[pod]) {
    if (state.pods.node[pod] != no_row) static_cast<void>(take(pod));
  }
  role_split made;
  for (const row_t pod : members) (take(pod) ? made.needed : made.others).push_back(pod);
  return made;
}

/// Members that come before those that minimums by role need could take their room for nothing.
GANGSCHED_INLINE void needed_roles_first(const cluster_state& state, row_t group, const gang& policy, std::vector<row_t>& members) {
  role_split all = split_by_need(state, group, policy, members);
  all.needed.insert(all.needed.end(), all.others.begin(), all.others.end());
  members = std::move(all.needed);
}

}  // namespace detail

/// Those of a group of pods, in the order in which they are tried: by priority, then rank, then age; first those that minimums by role
/// need. Of an elastic gang not more than its maximum, or @p desired: than it desires; and not more than its ratios allow.
GANGSCHED_INLINE std::vector<row_t> core::pending_members(row_t group, bool desired) {
  const pod_table& pods = state_->pods;
  std::vector<row_t> members;
  bool sorted = true;
  const auto order = [&](row_t pod) {
    constexpr std::int64_t last = std::int64_t{1} << 40;
    const std::optional<std::int32_t>& rank = pods.record[pod]->rank;
    return std::pair{-std::int64_t{state_->classes[pods.cls[pod]].priority}, rank ? std::int64_t{*rank} : last};
  };
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = pods.next_in_group[pod]) {
    if (!entities_.wants_node(pod)) continue;
    static_cast<void>(state_->class_of(pod));
    sorted = sorted && (members.empty() || order(members.back()) <= order(pod));
    members.push_back(pod);
  }
  if (entities_.members_enter_singly()) order_as_entered(group, members);
  else if (!sorted) std::stable_sort(members.begin(), members.end(), [&](row_t a, row_t b) { return order(a) < order(b); });
  const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  if (policy != nullptr && !policy->roles.empty()) detail::needed_roles_first(*state_, group, *policy, members);
  std::optional<std::uint64_t> limit = ratio_limit(group);
  if (policy != nullptr) {
    const std::optional<std::int32_t>& own = desired && policy->desired_count ? policy->desired_count : policy->max_count;
    if (own) limit = std::min(limit.value_or(~std::uint64_t{0}), static_cast<std::uint64_t>(*own));
  }
  if (limit) {
    const std::uint64_t placed = std::uint64_t{state_->groups.assumed[group]} + state_->groups.bound[group];
    if (placed + members.size() > *limit) members.resize(placed < *limit ? static_cast<std::size_t>(*limit - placed) : 0);
  }
  return members;
}

/// Cuts members into runs that share a domain each, and those into smaller runs.
GANGSCHED_INLINE void core::cut(part& whole, const std::vector<topology_slice>& slices) {
  if (whole.layer == slices.size()) return;
  const auto size = static_cast<std::size_t>(slices[whole.layer].size);
  for (std::size_t at = 0; at < whole.members.size(); at += size) {
    const auto begin = whole.members.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = whole.members.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, whole.members.size()));
    part& run = whole.parts.emplace_back();
    run.group = whole.group;
    run.layer = whole.layer + 1;
    run.members.assign(begin, end);
    cut(run, slices);
  }
  whole.members.clear();
}

/// Runs are of neighbours in rank, then in age, whoever comes first when they are placed: the run with a member that a minimum by role
/// needs, then the one with the highest priority.
GANGSCHED_INLINE void core::cut_by_rank(part& whole) {
  const std::vector<topology_slice>& slices = state_->groups.record[whole.group]->spec.topology.slices;
  if (slices.empty() || whole.members.empty()) return;
  const auto priority = [&](row_t pod) { return state_->classes[state_->pods.cls[pod]].priority; };
  std::vector<row_t> chosen = std::move(whole.members);
  std::sort(chosen.begin(), chosen.end());
  whole.members.clear();
  for (row_t pod = state_->groups.first[whole.group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (std::binary_search(chosen.begin(), chosen.end(), pod)) whole.members.push_back(pod);
  }
  std::stable_sort(whole.members.begin(), whole.members.end(), [&](row_t a, row_t b) {
    const std::optional<std::int32_t>&of_a = state_->pods.record[a]->rank, &of_b = state_->pods.record[b]->rank;
    if (of_a && of_b && *of_a != *of_b) return *of_a < *of_b;
    if (of_a.has_value() != of_b.has_value()) return of_a.has_value();
    return priority(a) > priority(b);
  });
  std::vector<row_t> needed;
  const gang* policy = std::get_if<gang>(&state_->groups.record[whole.group]->spec.policy);
  if (policy != nullptr && !policy->roles.empty()) needed = detail::split_by_need(*state_, whole.group, *policy, whole.members).needed;
  std::sort(needed.begin(), needed.end());
  cut(whole, slices);
  const auto order_runs = [&](auto&& self, part& of) -> std::pair<bool, std::int64_t> {  // not needed, −priority of the run
    std::vector<std::pair<std::pair<bool, std::int64_t>, std::size_t>> keys;
    std::pair<bool, std::int64_t> best{true, std::numeric_limits<std::int64_t>::max()};
    for (std::size_t i = 0; i < of.parts.size(); ++i) keys.push_back({self(self, of.parts[i]), i});
    for (const row_t pod : of.members) {
      best = std::min(best, {!std::binary_search(needed.begin(), needed.end(), pod), -std::int64_t{priority(pod)}});
    }
    for (const auto& [key, unused] : keys) best = std::min(best, key);
    if (std::is_sorted(keys.begin(), keys.end())) return best;
    std::sort(keys.begin(), keys.end());
    std::vector<part> sorted;
    for (const auto& [unused, i] : keys) sorted.push_back(std::move(of.parts[i]));
    of.parts = std::move(sorted);
    return best;
  };
  static_cast<void>(order_runs(order_runs, whole));
}

GANGSCHED_INLINE core::part core::make_part(row_t group, bool desired) {
  part made;
  made.group = group;
  const group_spec& spec = state_->groups.record[group]->spec;
  if (!spec.composite) {
    made.members = pending_members(group, desired);
    made.planned = can_plan(made);
    cut_by_rank(made);
    if (made.planned && !made.parts.empty()) {  // run by run, but the plan says where they begin
      std::vector<row_t> by_run;
      collect_members(made, by_run);
      made.members = std::move(by_run);
      made.parts.clear();
    }
  }
  for (row_t child = state_->groups.first_child[group]; child != no_row; child = state_->groups.next_sibling[child]) {
    made.parts.push_back(make_part(child, desired));
  }
  return made;
}

GANGSCHED_INLINE void core::collect_members(const part& of, std::vector<row_t>& out) {
  out.insert(out.end(), of.members.begin(), of.members.end());
  for (const part& one : of.parts) collect_members(one, out);
}

/// What the groups and pods of a tree have to agree on, running ones included (kube-workloads 4, behaviour 19).
GANGSCHED_INLINE status core::disagreement(row_t root) const {
  status said;
  if (entities_.members_enter_singly()) return said;
  const group_spec& top = state_->groups.record[root]->spec;
  const pod_class* first = nullptr;
  state_->groups.each_below(root, [&](row_t row) {
    const group_spec& spec = state_->groups.record[row]->spec;
    if (spec.priority && top.priority && *spec.priority != *top.priority) {
      said = status::error("the groups of the tree have different priorities");
    }
    for (row_t pod = state_->groups.first[row]; pod != no_row && said.ok(); pod = state_->pods.next_in_group[pod]) {
      const pod_class& cls = state_->classes[state_->pods.cls[pod]];
      if (first == nullptr) first = &cls;
      if (top.priority && cls.priority != *top.priority) {
        said = status::error("a member's priority differs from that of its group");
      } else if (cls.scheduler_name != first->scheduler_name) {
        said = status::error("the members of the group have different scheduler names");
      } else if (top.priority && !top.preemption && cls.preemption != first->preemption) {
        said = status::error("the members of the group have different preemption policies");
      }
    }
    return said.ok();
  });
  return said;
}

GANGSCHED_INLINE void core::run_group(row_t group) {
  const pod_table& pods = state_->pods;
  const part whole = make_part(group);
  std::vector<row_t> members;
  collect_members(whole, members);
  note_ratios(group);
  if (members.empty()) return unschedulable_.pass_on_group(group);
  group_outcome outcome;
  outcome.verdict = disagreement(group);
  if (!outcome.verdict.ok()) {
    reject_group(group, whole, outcome);
    unschedulable_.add_hopeless_group(group, outcome.verdict.reason);
    unschedulable_.pass_on_group(group);
    return;
  }
  std::uint64_t from = state_->log.end();
  outcome = place_group(whole);
  if (!outcome.verdict.ok() && outcome.verdict.code != code::error && take_back_holdings(group, {group, true})) {
    from = state_->log.end();  // others hear of what was taken back
    outcome = place_group(whole);
  }
  if (!outcome.verdict.ok()) {
    const bool error = outcome.verdict.code == code::error;
    if (error && !outcome.of_group) error_.set({group, true}, outcome.verdict.reason);
    reject_group(group, whole, outcome);
    // (Age decides who takes the room of pods that wait.)
    if (error || !waiting_.empty()) unschedulable_.pass_on_group(group);
    else unschedulable_.fail_alike_groups(group);
    return;
  }
  suppress_events(from);
  queue_.item({group, true}).failures = 0;

  std::vector<member_place> placed = std::move(placed_);
  placed_.clear();
  for (member_place& one : placed) {
    count_out(one.pod);
    if (!one.uses.empty()) reservations_.keep(one.pod, std::move(one.uses));
  }
  for (const member_place& one : placed) {
    if (pods.state[one.pod] == pod_state::assumed) ask_permit(one.pod, one.score);
  }
  // Those above the minimum that did not fit fail singly and come back as the group: at once, with its old timestamp, while some member
  // finds a node each time (kube-workloads 4, behaviour 17). The cycle in which none does may preempt.
  std::vector<row_t> tried;
  bool kept = true;  // what a permit or bind hook sent back waits for its time
  for (const member_place& one : placed) {
    tried.push_back(one.pod);
    kept = kept && pods.state[one.pod] != pod_state::pending;
  }
  std::sort(tried.begin(), tried.end());
  bool left = false;
  for (const row_t pod : members) {
    if (pods.state[pod] != pod_state::pending || std::binary_search(tried.begin(), tried.end(), pod)) continue;
    left = true;
    decisions_.add(decision_kind::reject, pod).code = code::unschedulable;
  }
  if (left && kept && !entities_.members_enter_singly()) queue_.activate({group, true});
  else if (left) park_group(group, outcome.rejectors);
  unschedulable_.pass_on_group(group);
}

GANGSCHED_INLINE void core::reject_group(row_t group, const part& whole, const group_outcome& why) {
  status verdict = why.verdict;
  if (verdict.code != code::error && make_group_room(group, verdict)) return;
  const bool error = verdict.code == code::error;
  std::vector<row_t> members;
  collect_members(whole, members);
  for (const row_t pod : members) {
    decision& said = decisions_.add(decision_kind::reject, pod);
    said.code = verdict.code;
    said.reason = verdict.reason;
  }
  if (error) retry_group(group, true, true);
  else park_group(group, why.rejectors, why.verdict.reason);
}

}  // namespace gangsched::engine
