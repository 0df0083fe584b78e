#include "gangsched/model/group_records.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Levels of a tree of groups, its root's included (KEP-6012).
inline constexpr int most_levels = 4;

GANGSCHED_INLINE int height_of(const model::group_table& groups, row_t row) {
  int below = 0;
  for (row_t child = groups.first_child[row]; child != no_row; child = groups.next_sibling[child]) {
    below = std::max(below, height_of(groups, child));
  }
  return below + 1;
}

/// What a group and one right below it have to agree on, beside what the whole tree has to (`disagrees_with_tree`).
GANGSCHED_INLINE std::optional<error> disagree(const group_spec& parent, const group_spec& child,
                                               const group_spec& blamed, const std::string& object) {
  const bool above = &blamed == &parent;
  const auto wrong = [&](const char* field, const char* what) {
    std::string why{what};
    (why += above ? " a group in it, \"" : " the group it is in, \"") += above ? child.name : parent.name;
    return error{errc::malformed, object, field, why += '"'};
  };
  if (parent.ns != child.ns) return wrong("ns", "is not that of");
  if (parent.workload != child.workload) return wrong("workload", "is not that of");
  if (parent.disruption == disruption_mode::all && child.disruption != disruption_mode::all) {
    return wrong("disruption", above ? "is all, which is not that of" : "is not all, as that of");
  }
  return std::nullopt;
}

/// Whether one that is the whole tree's is not that of @p spec, which has to be the only one in it, or to become it.
GANGSCHED_INLINE std::optional<error> differs_from(const group_spec& other, const group_spec& spec,
                                                   const std::string& object) {
  const auto wrong = [&](const char* field) {
    return error{errc::malformed, object, field, "differs from that of a group of the tree, \"" + other.name + '"'};
  };
  if (spec.priority && other.priority && *spec.priority != *other.priority) return wrong("priority");
  if (spec.preemption && other.preemption && *spec.preemption != *other.preemption) return wrong("preemption");
  return std::nullopt;
}

/// What the whole tree has to agree on: a group may say it, one above it, or any other one. Those that are in the tree agree, so that the
/// first group that says it stands for all; those below the group, which was expected, may come with it into another tree.
GANGSCHED_INLINE std::optional<error> disagrees_with_tree(const model::group_table& groups, row_t row,
                                                          const group_spec& spec, const std::string& object) {
  group_spec whole{.name = spec.name, .priority = spec.priority, .preemption = spec.preemption};
  std::optional<error> different;
  const auto compare = [&](row_t top) {
    bool priority = false, preemption = false;  // said by some group
    groups.each_below(top, [&](row_t other) {
      if (other == row) return true;
      const group_spec& its = groups.record[other]->spec;
      different = differs_from(its, whole, object);
      if (!whole.priority) whole.priority = its.priority;
      if (!whole.preemption) whole.preemption = its.preemption;
      priority = priority || its.priority, preemption = preemption || its.preemption;
      return !different && !(priority && preemption);
    });
  };
  if (row != no_row && groups.children[row] != 0) compare(row);
  const bool says = whole.priority || whole.preemption;  // else it agrees with every tree
  if (!different && says && spec.parent) compare(groups.root(spec.parent.row));
  return different;
}

GANGSCHED_INLINE std::optional<error> check_tree(const model::cluster_state& state, row_t row, const group_spec& spec,
                                                 const std::string& object) {
  const model::group_table& groups = state.groups;
  int depth = 1;
  if (spec.parent) {
    const auto wrong = [&](errc code, const char* why) { return error{code, object, "parent", why}; };
    if (!names_group(state, spec.parent)) return wrong(errc::unknown, "no such group");
    const model::group_record& parent = *groups.record[spec.parent.row];
    if (!parent.spec.composite) return wrong(errc::malformed, "is not a group of groups");
    for (row_t up = spec.parent.row; up != no_row; up = groups.parent[up], ++depth) {
      if (up == row) return wrong(errc::malformed, "is below the group itself");
    }
    if (!parent.expected) {
      if (auto different = disagree(parent.spec, spec, spec, object)) return different;
    } else if (parent.spec.ns != spec.ns) {
      return wrong(errc::malformed, "is of another namespace");
    }
  }
  const int height = row == no_row ? 1 : height_of(groups, row);
  if (depth + height - 1 > most_levels || (spec.composite && depth == most_levels)) {
    return error{errc::out_of_range, object, "parent", "the tree would have more than 4 levels"};
  }
  for (row_t child = row == no_row ? no_row : groups.first_child[row]; child != no_row;
       child = groups.next_sibling[child]) {
    if (auto different = disagree(spec, groups.record[child]->spec, spec, object)) return different;
  }
  return disagrees_with_tree(groups, row, spec, object);
}

GANGSCHED_INLINE std::optional<error> check_references(const model::cluster_state& state, const group_spec& spec,
                                                       const std::string& object) {
  const auto unknown = [&](const char* list, std::size_t place, const char* field) {
    return error{errc::unknown, object, std::string{list} + '[' + std::to_string(place) + "]." + field,
                 "no such group"};
  };
  for (std::size_t i = 0; i < spec.start_after.size(); ++i)
    if (!names_group(state, spec.start_after[i].on)) return unknown("start_after", i, "on");
  for (std::size_t i = 0; i < spec.affinity.size(); ++i)
    if (!names_group(state, spec.affinity[i].to)) return unknown("affinity", i, "to");
  return std::nullopt;
}

GANGSCHED_INLINE row_t make_group(model::cluster_state& state, std::unique_ptr<const model::group_record> record) {
  model::group_table& groups = state.groups;
  const row_t row = groups.rows.take();
  groups.grow(row + 1);
  state.columns.grow(scope_number::groups, row + 1);
  groups.arrival.set(row, state.next_arrival());
  groups.satisfied.set(row, false);
  groups.names_of(record->spec.composite).insert(record->ns, record->spec.name, row);
  groups.record.set(row, std::move(record));
  return row;
}

GANGSCHED_INLINE void set_parent(model::group_table& groups, row_t row, row_t parent) {
  if (groups.parent[row] == parent) return;
  if (const row_t old = groups.parent[row]; old != no_row) {
    const row_t next = groups.next_sibling[row], prev = groups.prev_sibling[row];
    if (next != no_row)
      groups.prev_sibling.set(next, prev);
    else
      groups.last_child.set(old, prev);
    if (prev != no_row)
      groups.next_sibling.set(prev, next);
    else
      groups.first_child.set(old, next);
    groups.children.set(old, groups.children[old] - 1);
  }
  groups.parent.set(row, parent);
  groups.next_sibling.set(row, no_row);
  groups.prev_sibling.set(row, no_row);
  if (parent == no_row) return;
  // Children stand in order of arrival, whenever it was learnt whose they are.
  row_t after = groups.last_child[parent];
  while (after != no_row && groups.arrival[after] > groups.arrival[row]) after = groups.prev_sibling[after];
  const row_t before = after == no_row ? groups.first_child[parent] : groups.next_sibling[after];
  groups.prev_sibling.set(row, after);
  groups.next_sibling.set(row, before);
  if (after != no_row)
    groups.next_sibling.set(after, row);
  else
    groups.first_child.set(parent, row);
  if (before != no_row)
    groups.prev_sibling.set(before, row);
  else
    groups.last_child.set(parent, row);
  groups.children.set(parent, groups.children[parent] + 1);
}

GANGSCHED_INLINE std::unique_ptr<const model::group_record> make_group_record(model::cluster_state& state,
                                                                              const group_spec& spec, symbol ns) {
  auto made = std::make_unique<model::group_record>(model::group_record{spec, ns});
  if (!spec.queue.empty()) state.queued.name(made->queue = state.queued.expect(spec.queue));
  state.pods.have_limits = state.pods.have_limits || spec.deadline || spec.max_wait != instant{0};
  return made;
}

GANGSCHED_INLINE result<void> put_group(model::cluster_state& state, row_t row,
                                        std::unique_ptr<const model::group_record> record, const std::string& object) {
  const row_t before = state.groups.record[row]->queue;
  state.groups.record.set(row, std::move(record));
  if (!state.queued.settle_group(row))
    return error{errc::overflow, object, "queue", "what its pods request would not fit into 64 bits there"};
  if (before != no_row) state.queued.unname(before);
  return {};
}

GANGSCHED_INLINE void erase_group(model::cluster_state& state, row_t row) {
  model::group_table& groups = state.groups;
  const model::group_record& record = *groups.record[row];
  if (record.queue != no_row) state.queued.unname(record.queue);
  groups.names_of(record.spec.composite).erase(record.ns, record.spec.name);
  state.columns.clear(scope_number::groups, row);
  groups.record.set(row, nullptr);
  groups.rows.give_back(row);
}

/// A group that is only expected goes with its last member or child.
GANGSCHED_INLINE void forget_if_unwanted(model::cluster_state& state, row_t row) {
  if (state.groups.record[row]->expected && state.groups.members[row] == 0 && state.groups.children[row] == 0) {
    erase_group(state, row);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
