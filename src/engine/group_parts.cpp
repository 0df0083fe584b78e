#include "gangsched/engine/group_parts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
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

/// Slices told by rank: each is a run of ranks, from the lowest rank in the group on.
class ranked_slices {
 public:
  ranked_slices(const model::cluster_state& state, row_t group) : state_(&state) {
    for (row_t pod = state.groups.first[group]; pod != no_row; pod = state.pods.next_in_group[pod]) {
      const std::optional<std::int32_t>& rank = state.pods.record[pod]->rank;
      if (rank && (!lowest_ || *rank < *lowest_)) lowest_ = *rank;
    }
  }
  struct slice {
    std::vector<row_t> there = {};  ///< its members that have a node
    std::string_view value = {};    ///< of the label there
    bool torn = false;              ///< in several domains: it is told by rank no more
    std::size_t part = 0;           ///< 1 + that of its other members
    /// Whether a member that waits belongs there.
    [[nodiscard]] bool lacks_members(std::size_t size) const { return !torn && !value.empty() && there.size() < size; }
  };
  /// Those of @p size that have members with a node, by number.
  [[nodiscard]] std::map<std::int64_t, slice> begun(const members_by_value& placed, std::int32_t size) const {
    std::map<std::int64_t, slice> made;
    for (const auto& [value, those] : placed) {
      for (const row_t pod : those) {
        const std::optional<std::int64_t> number = of(pod, size);
        if (!number) continue;
        slice& one = made[*number];
        one.torn = one.torn || (!one.there.empty() && one.value != value);
        one.there.push_back(pod), one.value = value;
      }
    }
    return made;
  }
  [[nodiscard]] std::optional<std::int64_t> of(row_t pod, std::int32_t size) const {
    const std::optional<std::int32_t>& rank = state_->pods.record[pod]->rank;
    return rank ? std::optional{(std::int64_t{*rank} - *lowest_) / size} : std::nullopt;
  }

 private:
  const model::cluster_state* state_;
  std::optional<std::int64_t> lowest_;
};

/// Whether one of the members that wait is of a slice of which others have a node, by rank.
GANGSCHED_INLINE bool complete_one_by_rank(const model::cluster_state& state, const group_part& what,
                                           std::span<const row_t> placed, std::span<const topology_slice> slices) {
  const ranked_slices ranks{state, what.group};
  return std::any_of(slices.begin(), slices.end(), [&](const topology_slice& one) {
    const auto begun = ranks.begun(by_value(state, placed, one.key), one.size);
    return std::any_of(what.members.begin(), what.members.end(), [&](row_t pod) {
      const std::optional<std::int64_t> number = ranks.of(pod, one.size);
      const auto known = number ? begun.find(*number) : begun.end();
      return known != begun.end() && known->second.lacks_members(static_cast<std::size_t>(one.size));
    });
  });
}

/// Runs for what slices lack of which some members have a node already, in the domains of these. First members that wait go to the slices
/// that they are in by rank; then, where the number of members that have a node tells that more are missing, the first of the others.
GANGSCHED_INLINE void complete_runs(const model::cluster_state& state, group_part& whole,
                                    std::span<const topology_slice> slices, const members_by_value& placed,
                                    const ranked_slices& ranks, std::vector<std::vector<row_t>>& beside) {
  const auto size = static_cast<std::size_t>(slices.front().size);
  const auto add_run = [&](std::string_view value, std::vector<row_t> those) {
    group_part& run = whole.parts.emplace_back();
    run.group = whole.group;
    run.layer = whole.layer + 1;
    run.only_in = value;
    beside.push_back(std::move(those));
  };
  std::map<std::int64_t, ranked_slices::slice> begun = ranks.begun(placed, slices.front().size);
  std::erase_if(whole.members, [&](row_t pod) {
    const std::optional<std::int64_t> number = ranks.of(pod, slices.front().size);
    const auto found = number ? begun.find(*number) : begun.end();
    if (found == begun.end()) return false;
    ranked_slices::slice& mine = found->second;
    if (!mine.lacks_members(size)) return false;
    if (mine.part == 0) add_run(mine.value, mine.there), mine.part = whole.parts.size();
    whole.parts[mine.part - 1].members.push_back(pod);
    mine.there.push_back(pod);
    return true;
  });
  for (const auto& [value, those] : placed) {
    std::size_t coming = 0;
    std::vector<row_t> others = those;
    for (std::size_t i = 0; i < whole.parts.size(); ++i) {
      if (whole.parts[i].only_in != value) continue;
      coming += whole.parts[i].members.size();
      std::erase_if(others,
                    [&](row_t pod) { return std::find(beside[i].begin(), beside[i].end(), pod) != beside[i].end(); });
    }
    const bool enough = (those.size() + coming) % size == 0;
    if (value.empty() || (enough && (coming != 0 || are_whole(state, those, slices.subspan(1))))) continue;
    add_run(value, std::move(others));
    const std::size_t lacks = std::min(size - (those.size() + coming) % size, whole.members.size());
    const auto end = whole.members.begin() + static_cast<std::ptrdiff_t>(lacks);
    whole.parts.back().members.assign(whole.members.begin(), end);
    whole.members.erase(whole.members.begin(), end);
  }
}

/// Cuts members into runs that share a domain each, and those into smaller runs. @p placed: members in the same domain that have a node.
GANGSCHED_INLINE void cut_runs(const model::cluster_state& state, group_part& whole,
                               std::span<const topology_slice> slices, const ranked_slices& ranks,
                               std::span<const row_t> placed) {
  if (slices.empty()) return;
  std::vector<std::vector<row_t>> beside;
  if (!placed.empty()) complete_runs(state, whole, slices, by_value(state, placed, slices.front().key), ranks, beside);
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
  for (std::size_t i = 0; i < whole.parts.size(); ++i)
    cut_runs(state, whole.parts[i], slices.subspan(1), ranks, beside[i]);
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
  const bool by_role = policy != nullptr && !policy->roles.empty();
  std::optional<std::uint64_t> limit = limits_->by_ratios(group);
  if (policy != nullptr) {
    const std::optional<std::int32_t>& own =
        desired && policy->desired_count ? policy->desired_count : policy->max_count;
    if (own) limit = std::min(limit.value_or(~std::uint64_t{0}), static_cast<std::uint64_t>(*own));
  }
  const std::uint64_t placed = std::uint64_t{state_->groups.assumed[group]} + state_->groups.bound[group];
  if (limit && placed + members.size() > *limit) {
    // Pods were evicted for those that are nominated: others that were let through instead would find no room beside them. Who has no room
    // on any node, were it alone, must not keep out who has.
    std::vector<row_t> chosen = members;
    std::vector<class_id> misfits;
    for (const auto& [cls, unused] : count_classes(members)) {
      class_index* const index = picks_->capacity_index(cls);
      if (index != nullptr && index->capacity() == 0) misfits.push_back(cls);
    }
    const auto turn = [&](row_t pod) {
      const bool nominated = state_->pods.nominated[pod] != no_row;
      const bool fits = std::find(misfits.begin(), misfits.end(), state_->pods.cls[pod]) == misfits.end();
      return std::tuple{!nominated && !fits, priority(pod), !nominated};
    };
    std::stable_sort(chosen.begin(), chosen.end(), [&](row_t a, row_t b) { return turn(a) < turn(b); });
    if (by_role) detail::needed_roles_first(*state_, group, *policy, chosen);
    chosen.resize(placed < *limit ? static_cast<std::size_t>(*limit - placed) : 0);
    std::sort(chosen.begin(), chosen.end());
    std::erase_if(members, [&](row_t pod) { return !std::binary_search(chosen.begin(), chosen.end(), pod); });
  }
  if (by_role) detail::needed_roles_first(*state_, group, *policy, members);
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
  detail::cut_runs(*state_, whole, slices, detail::ranked_slices{*state_, whole.group},
                   detail::staying_members(*state_, whole.group));
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
  if (!topology.slices.empty()) {
    const std::vector<row_t> staying = detail::staying_members(*state_, what.group);
    if (what.members.size() % static_cast<std::size_t>(topology.slices.front().size) != 0 ||
        !detail::are_whole(*state_, staying, topology.slices) ||
        detail::complete_one_by_rank(*state_, what, staying, topology.slices))
      return false;
  }
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
