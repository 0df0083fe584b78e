#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/group_records.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// More members of the group may be evicted now.
GANGSCHED_INLINE void tell_queue_of_victims(model::cluster_state& state, row_t group) {
  for (row_t pod = state.groups.first[group]; pod != no_row; pod = state.pods.next_in_group[pod]) {
    const queue_id queue = state.classes[state.pods.cls[pod]].queue;
    if (state.pods.node[pod] != no_row && queue) return state.queued.changed(queue.row, true);
  }
}

/// Another may be the first of a queue that goes strictly in order, if a member waits there.
GANGSCHED_INLINE void tell_line(model::cluster_state& state, row_t group) {
  const model::pod_table& pods = state.pods;
  state.groups.each_below(group, [&](row_t below) {
    row_t pod = state.groups.first[below];
    for (; pod != no_row; pod = pods.next_in_group[pod]) {
      const queue_id queue = state.classes[pods.cls[pod]].queue;
      if (!queue || pods.node[pod] != no_row || !state.queued.tells_of(queue.row, no_row)) continue;
      state.queued.changed(queue.row);
      break;
    }
    return pod == no_row;
  });
}

}  // namespace detail

GANGSCHED_INLINE result<group_id> cluster::expect_group(std::string_view ns, std::string_view name, bool composite) {
  GANGSCHED_TELL(expect_group, expect_group(ns, name, composite), ns, name, composite);
  model::cluster_state& state = *state_;
  group_spec spec{.name = std::string{name}, .ns = std::string{ns}, .composite = composite};
  GANGSCHED_REFUSE_IN_HOOK(state, detail::object_name("group", ns, name));
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  const symbol where = state.names.intern(ns);
  row_t row = state.groups.names_of(composite).find(where, name);
  if (row == no_row)
    row = detail::make_group(state,
                             std::make_unique<model::group_record>(model::group_record{std::move(spec), where, true}));
  whole.keep();
  return group_id{row, state.groups.rows.generation(row)};
}

GANGSCHED_INLINE result<group_id> cluster::add_group(const group_spec& spec) {
  GANGSCHED_TELL(add_group, add_group(spec), spec);
  model::cluster_state& state = *state_;
  model::group_table& groups = state.groups;
  const std::string object = detail::object_name("group", spec.ns, spec.name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  const std::optional<symbol> known = state.names.find(spec.ns);
  row_t row = known ? groups.names_of(spec.composite).find(*known, spec.name) : no_row;
  if (row != no_row && !groups.record[row]->expected) return error{errc::duplicate, object, "name", "exists already"};
  if (auto wrong = detail::check_references(state, spec, object)) return std::move(*wrong);
  if (auto wrong = detail::check_tree(state, row, spec, object)) return std::move(*wrong);
  if (auto wrong = detail::check_ratios(state, row, spec, object)) return std::move(*wrong);
  const symbol ns = state.names.intern(spec.ns);
  auto record = detail::make_group_record(state, spec, ns);
  const bool expected = row != no_row;
  if (!expected) row = detail::make_group(state, std::move(record));
  detail::set_parent(groups, row, spec.parent ? spec.parent.row : no_row);
  if (expected) {
    if (auto put = detail::put_group(state, row, std::move(record), object); !put) return std::move(put).error();
  }
  groups.satisfied.set(row, model::has_minimum(groups, row));  // its members may have come before it
  state.changed({.kind = change_kind::group_added, .row = row});
  whole.keep();
  return group_id{row, groups.rows.generation(row)};
}

GANGSCHED_INLINE result<void> cluster::update_group(group_id group, const group_spec& spec) {
  GANGSCHED_TELL(update_group, update_group(group, spec), group, spec);
  model::cluster_state& state = *state_;
  const std::string object = detail::object_name("group", spec.ns, spec.name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (!contains(group)) return detail::unknown_id(object);
  if (auto wrong = check(spec)) return std::move(*wrong);
  const model::group_record& record = *state.groups.record[group.row];
  const auto cannot = [&](const char* field, const char* why) { return error{errc::wrong_state, object, field, why}; };
  if (record.expected) return cannot("name", "nobody has added the group yet");
  if (record.spec.name != spec.name) return cannot("name", "a group cannot be renamed");
  if (record.spec.ns != spec.ns) return cannot("ns", "a group cannot change its namespace");
  if (record.spec.composite != spec.composite) return cannot("composite", "a group cannot change its kind");
  if (record.spec.parent != spec.parent) return cannot("parent", "a group cannot move to another group");
  if (record.spec.policy.index() != spec.policy.index()) return cannot("policy", "the kind of policy cannot change");
  const gang* before = std::get_if<gang>(&record.spec.policy);
  const gang* after = std::get_if<gang>(&spec.policy);
  if (before != nullptr && before->mode != after->mode) return cannot("policy.mode", "the mode cannot change");
  if (auto wrong = detail::check_references(state, spec, object)) return std::move(*wrong);
  if (auto wrong = detail::check_tree(state, group.row, spec, object)) return std::move(*wrong);
  if (auto wrong = detail::check_ratios(state, group.row, spec, object)) return std::move(*wrong);
  const std::uint32_t old_minimum = state.groups.min_count(group.row);
  model::group_record same_minimum{spec, record.ns};
  if (same_minimum.bytes() == record.bytes()) return {};
  if (gang* policy = std::get_if<gang>(&same_minimum.spec.policy)) policy->min_count = before->min_count;
  const bool more = same_minimum.bytes() != record.bytes();
  if (auto put = detail::put_group(state, group.row, detail::make_group_record(state, spec, record.ns), object); !put)
    return put;
  if (model::has_minimum(state.groups, group.row)) state.groups.satisfied.set(group.row, true);
  state.changed({.kind = change_kind::group_updated,
                 .more = more,
                 .row = group.row,
                 .before = old_minimum,
                 .after = state.groups.min_count(group.row)});
  if (state.groups.min_count(group.row) < old_minimum) detail::tell_queue_of_victims(state, group.row);
  detail::tell_line(state, group.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_group(group_id group) {
  GANGSCHED_TELL(remove_group, remove_group(group), group);
  model::cluster_state& state = *state_;
  model::group_table& groups = state.groups;
  GANGSCHED_REFUSE_IN_HOOK(state, "group");
  call_mark whole{state};
  if (!contains(group)) return detail::unknown_id("group");
  const model::group_record& record = *groups.record[group.row];
  const row_t parent = groups.parent[group.row];
  state.columns.clear_host_words(scope_number::groups, group.row);
  detail::set_parent(groups, group.row, no_row);
  if (groups.members[group.row] == 0 && groups.children[group.row] == 0) {
    detail::erase_group(state, group.row);
  } else {
    group_spec known{.name = record.spec.name, .ns = record.spec.ns, .composite = record.spec.composite};
    auto expected = std::make_unique<model::group_record>(model::group_record{std::move(known), record.ns, true});
    const std::string object = detail::object_name("group", record.spec.ns, record.spec.name);
    if (auto put = detail::put_group(state, group.row, std::move(expected), object); !put) return put;
  }
  state.changed({.kind = change_kind::group_removed, .row = group.row, .before = parent});
  if (groups.members[group.row] != 0) detail::tell_line(state, group.row);
  if (parent != no_row) detail::forget_if_unwanted(state, parent);
  whole.keep();
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
