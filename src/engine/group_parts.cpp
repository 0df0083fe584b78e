#include "gangsched/engine/group_parts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "gangsched/framework/hook_error.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// Of @p members, in their order: those that minimums by role still need, and the others.
struct role_split {
  std::vector<row_t> needed, others;
};
GANGSCHED_INLINE role_split split_by_need(const model::cluster_state& state, row_t group, const gang& policy,
                                          std::span<const row_t> members) {
  std::vector<std::int64_t> missing;
  for (const role_minimum& one : policy.roles) missing.push_back(one.min_count);
  const auto take = [&](row_t pod) {
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (policy.roles[i].role == state.pods.record[pod]->details->role) return missing[i]-- > 0;
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
GANGSCHED_INLINE void needed_roles_first(const model::cluster_state& state, row_t group, const gang& policy,
                                         std::vector<row_t>& members) {
  role_split all = split_by_need(state, group, policy, members);
  all.needed.insert(all.needed.end(), all.others.begin(), all.others.end());
  members = std::move(all.needed);
}

/// Members that have a node by the value of a label there; those on nodes without it are left out.
using members_by_value = std::map<std::string_view, std::vector<row_t>>;
GANGSCHED_INLINE members_by_value by_value(const model::cluster_state& state, std::span<const row_t> placed,
                                           std::string_view key) {
  members_by_value made;
  const std::optional<symbol> known = state.names.find(key);
  for (const row_t pod : placed) {
    const std::optional<symbol> value = known ? state.nodes.record[state.pods.node[pod]]->label(*known) : std::nullopt;
    if (value) made[state.names.text(*value)].push_back(pod);
  }
  return made;
}

/// The group's members that have a node and keep it.
GANGSCHED_INLINE std::vector<row_t> staying_members(const model::cluster_state& state, row_t group) {
  std::vector<row_t> found;
  for (row_t pod = state.groups.first[group]; pod != no_row; pod = state.pods.next_in_group[pod]) {
    if (state.pods.node[pod] != no_row && !state.pods.terminating[pod]) found.push_back(pod);
  }
  return found;
}

/// Whether members that have a node are whole slices in every domain.
GANGSCHED_INLINE bool are_whole(const model::cluster_state& state, std::span<const row_t> placed,
                                std::span<const topology_slice> slices) {
  if (slices.empty() || placed.empty()) return true;
  const members_by_value all = by_value(state, placed, slices.front().key);
  return std::all_of(all.begin(), all.end(), [&](const auto& one) {
    return one.second.size() % static_cast<std::size_t>(slices.front().size) == 0 &&
           are_whole(state, one.second, slices.subspan(1));
  });
}

/// Runs for what slices lack of which some members have a node already, in the domains of these: of the members that wait those that are
/// in the same run by rank, and then the first.
GANGSCHED_INLINE void complete_runs(const model::cluster_state& state, group_part& whole,
                                    std::span<const topology_slice> slices, const members_by_value& placed,
                                    std::vector<std::vector<row_t>>& beside) {
  const auto size = static_cast<std::size_t>(slices.front().size);
  std::vector<std::size_t> lacks;
  for (const auto& [value, those] : placed) {
    if (value.empty() || (those.size() % size == 0 && are_whole(state, those, slices.subspan(1)))) continue;
    group_part& run = whole.parts.emplace_back();
    run.group = whole.group;
    run.layer = whole.layer + 1;
    run.only_in = value;
    lacks.push_back(size - those.size() % size);
    beside.push_back(those);
  }
  const auto run_of = [&](row_t pod) {
    const std::optional<std::int32_t>& rank = state.pods.record[pod]->rank;
    return rank ? std::optional{static_cast<std::size_t>(*rank) / size} : std::nullopt;
  };
  for (const bool by_rank : {true, false}) {
    std::erase_if(whole.members, [&](row_t pod) {
      const std::optional<std::size_t> mine = run_of(pod);
      if (by_rank && !mine) return false;
      for (std::size_t i = 0; i < lacks.size(); ++i) {
        const auto is_theirs = [&](row_t other) { return run_of(other) == mine; };
        if (lacks[i] == 0 || (by_rank && std::none_of(beside[i].begin(), beside[i].end(), is_theirs))) continue;
        whole.parts[i].members.push_back(pod);
        --lacks[i];
        return true;
      }
      return false;
    });
  }
}

/// Cuts members into runs that share a domain each, and those into smaller runs. @p placed: members in the same domain that have a node.
GANGSCHED_INLINE void cut_runs(const model::cluster_state& state, group_part& whole,
                               std::span<const topology_slice> slices, std::span<const row_t> placed) {
  if (slices.empty()) return;
  std::vector<std::vector<row_t>> beside;
  if (!placed.empty()) complete_runs(state, whole, slices, by_value(state, placed, slices.front().key), beside);
  const auto size = static_cast<std::size_t>(slices.front().size);
  for (std::size_t at = 0; at < whole.members.size(); at += size) {
    const auto begin = whole.members.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = whole.members.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, whole.members.size()));
    group_part& run = whole.parts.emplace_back();
    run.group = whole.group;
    run.layer = whole.layer + 1;
    run.members.assign(begin, end);
  }
  whole.members.clear();
  beside.resize(whole.parts.size());
  for (std::size_t i = 0; i < whole.parts.size(); ++i) cut_runs(state, whole.parts[i], slices.subspan(1), beside[i]);
  std::erase_if(whole.parts, [](const group_part& one) { return one.members.empty() && one.parts.empty(); });
}

}  // namespace detail

GANGSCHED_INLINE void group_part::collect(std::vector<row_t>& out) const {
  out.insert(out.end(), members.begin(), members.end());
  for (const group_part& one : parts) one.collect(out);
}

GANGSCHED_INLINE std::vector<row_t> group_parts::unsorted_pending_members(row_t group) const {
  std::vector<row_t> members;
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (entities_->wants_node(pod)) members.push_back(pod);
  }
  return members;
}

GANGSCHED_INLINE void group_parts::enter(row_t root) {
  if (!entities_->members_enter_singly()) return;
  state_->groups.each_below(root, [&](row_t group) {
    entered_->enter(group, unsorted_pending_members(group));
    return true;
  });
}

GANGSCHED_INLINE std::vector<row_t> group_parts::pending_members(row_t group, bool desired) {
  std::vector<row_t> members = unsorted_pending_members(group);
  for (const row_t pod : members) static_cast<void>(state_->class_of(pod));
  const auto priority = [&](row_t pod) { return -std::int64_t{state_->classes[state_->pods.cls[pod]].priority}; };
  const auto order = [&](row_t pod) {
    constexpr std::int64_t last = std::int64_t{1} << 40;
    const std::optional<std::int32_t>& rank = state_->pods.record[pod]->rank;
    return std::pair{priority(pod), rank ? std::int64_t{*rank} : last};
  };
  const auto sort_by = [&](const auto& key) {
    const auto before = [&](row_t a, row_t b) { return key(a) < key(b); };
    if (!std::is_sorted(members.begin(), members.end(), before))
      std::stable_sort(members.begin(), members.end(), before);
  };
  if (entities_->members_enter_singly())
    entered_->sort(group, members), sort_by(priority);
  else
    sort_by(order);
  const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  if (policy != nullptr && !policy->roles.empty()) detail::needed_roles_first(*state_, group, *policy, members);
  std::optional<std::uint64_t> limit = limits_->by_ratios(group);
  if (policy != nullptr) {
    const std::optional<std::int32_t>& own =
        desired && policy->desired_count ? policy->desired_count : policy->max_count;
    if (own) limit = std::min(limit.value_or(~std::uint64_t{0}), static_cast<std::uint64_t>(*own));
  }
  if (limit) {
    const std::uint64_t placed = std::uint64_t{state_->groups.assumed[group]} + state_->groups.bound[group];
    if (placed + members.size() > *limit)
      members.resize(placed < *limit ? static_cast<std::size_t>(*limit - placed) : 0);
  }
  return members;
}

GANGSCHED_INLINE group_room group_parts::room_for(row_t group) {
  const group_part whole = of(group, true);
  return {count_classes(whole.all_members()), least_members(whole)};
}

GANGSCHED_INLINE bool group_parts::may_fit(const group_room& room) {
  std::int64_t there = 0;
  for (const auto& [cls, count] : room.classes) {
    class_index* const index = picks_->capacity_index(cls);
    if (index == nullptr) return true;
    there += std::min(count, index->capacity());
  }
  return static_cast<std::uint64_t>(there) >= room.members;
}

GANGSCHED_INLINE bool group_parts::may_fit(row_t group) try {
  return may_fit(room_for(group));
} catch (const hook_error&) {
  picks_->forget_cached();  // the index that was being brought up to date is half of one
  return true;
}

GANGSCHED_INLINE class_counts group_parts::count_classes(std::span<const row_t> members) {
  class_counts out;
  for (const row_t pod : members) {
    const class_id cls = state_->class_of(pod);
    auto known = std::find_if(out.begin(), out.end(), [&](const auto& one) { return one.first == cls; });
    if (known == out.end()) known = out.insert(known, {cls, 0});
    ++known->second;
  }
  return out;
}

GANGSCHED_INLINE std::uint64_t group_parts::least_members(const group_part& of) const {
  const model::group_table& groups = state_->groups;
  if (of.is_slice()) return of.members.size();
  std::uint64_t least = groups.min_count(of.group);
  if (!groups.record[of.group]->spec.composite) {
    const std::uint64_t placed = std::uint64_t{groups.assumed[of.group]} + groups.bound[of.group];
    return least > placed ? least - placed : 0;
  }
  std::vector<std::uint64_t> each;
  for (const group_part& one : of.parts) each.push_back(least_members(one));
  std::sort(each.begin(), each.end());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < each.size() && i < least; ++i) sum += each[i];
  return sum;
}

GANGSCHED_INLINE void group_parts::cut(group_part& whole) const {
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
  if (policy != nullptr && !policy->roles.empty())
    needed = detail::split_by_need(*state_, whole.group, *policy, whole.members).needed;
  std::sort(needed.begin(), needed.end());
  detail::cut_runs(*state_, whole, slices, detail::staying_members(*state_, whole.group));
  const auto order_runs = [&](auto&& self,
                              group_part& of) -> std::pair<bool, std::int64_t> {  // not needed, −priority of the run
    std::vector<std::pair<std::pair<bool, std::int64_t>, std::size_t>> keys;
    std::pair<bool, std::int64_t> best{true, std::numeric_limits<std::int64_t>::max()};
    for (std::size_t i = 0; i < of.parts.size(); ++i) keys.push_back({self(self, of.parts[i]), i});
    for (const row_t pod : of.members) {
      best = std::min(best, {!std::binary_search(needed.begin(), needed.end(), pod), -std::int64_t{priority(pod)}});
    }
    for (const auto& [key, unused] : keys) best = std::min(best, key);
    if (std::is_sorted(keys.begin(), keys.end())) return best;
    std::sort(keys.begin(), keys.end());
    std::vector<group_part> sorted;
    for (const auto& [unused, i] : keys) sorted.push_back(std::move(of.parts[i]));
    of.parts = std::move(sorted);
    return best;
  };
  static_cast<void>(order_runs(order_runs, whole));
}

/// Alike members, filters that look at one node only: then room is a number per node.
GANGSCHED_INLINE bool group_parts::can_plan(const group_part& what) {
  const group_topology& topology = state_->groups.record[what.group]->spec.topology;
  if (topology.choice == domain_choice::scored || what.members.empty() || !topology.spread_key.empty()) return false;
  const class_id cls = state_->class_of(what.members.front());
  if (std::any_of(what.members.begin(), what.members.end(), [&](row_t pod) { return state_->class_of(pod) != cls; }))
    return false;
  // A last slice that is shorter is cut, not planned, and so is what completes one.
  if (!topology.slices.empty() &&
      (what.members.size() % static_cast<std::size_t>(topology.slices.front().size) != 0 ||
       !detail::are_whole(*state_, detail::staying_members(*state_, what.group), topology.slices)))
    return false;
  // Which of the slices minimums by role need is to be searched, unless all of them are.
  const gang* policy = std::get_if<gang>(&state_->groups.record[what.group]->spec.policy);
  const std::size_t placed = std::size_t{state_->groups.assumed[what.group]} + state_->groups.bound[what.group];
  const bool some =
      policy != nullptr && !policy->roles.empty() && std::cmp_less(policy->min_count, placed + what.members.size());
  if (some && !topology.slices.empty()) return false;
  const class_plan& plan = picks_->plan_of(cls);
  return !plan.opaque && plan.keyed_filters.empty() && plan.cycle_hooks.empty() &&
         picks_->capacity_index(cls) != nullptr;
}

GANGSCHED_INLINE group_part group_parts::of(row_t group, bool desired) {
  group_part made;
  made.group = group;
  const group_spec& spec = state_->groups.record[group]->spec;
  if (!spec.composite) {
    made.members = pending_members(group, desired);
    made.planned = can_plan(made);
    cut(made);
    if (made.planned && !made.parts.empty()) {  // run by run, but the plan says where they begin
      made.members = made.all_members();
      made.parts.clear();
    }
  }
  for (row_t child = state_->groups.first_child[group]; child != no_row; child = state_->groups.next_sibling[child]) {
    made.parts.push_back(of(child, desired));
  }
  return made;
}

GANGSCHED_INLINE status group_parts::disagreement(row_t root) const {
  status said;
  if (entities_->members_enter_singly()) return said;
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

}  // namespace gangsched::inline GANGSCHED_ABI::engine
