#include "gangsched/model/group_table.hpp"

#include "gangsched/model/canonical.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE std::string group_record::bytes() const {
  std::string out;
  canonical::put(out, expected);
  canonical::put(out, spec.name);
  canonical::put(out, spec.ns);
  canonical::put(out, spec.policy.index());
  if (const gang* policy = std::get_if<gang>(&spec.policy)) {
    canonical::put(out, policy->min_count);
    canonical::put(out, policy->desired_count);
    canonical::put(out, policy->max_count);
    for (const role_minimum& one : policy->roles) canonical::put(out, one.role), canonical::put(out, one.min_count);
    canonical::put(out, policy->mode);
    canonical::put(out, policy->timeout.count());
    canonical::put(out, policy->atomic);
    canonical::put(out, policy->match);
    canonical::put(out, policy->strict);
    canonical::put(out, policy->stale_after.has_value()),
        canonical::put(out, policy->stale_after.value_or(instant::zero()).count());
  }
  const auto put_id = [&](group_id id) { canonical::put(out, id.row), canonical::put(out, id.generation); };
  canonical::put(out, spec.composite);
  put_id(spec.parent);
  canonical::put(out, spec.workload);
  canonical::put(out, spec.priority);
  canonical::put(out, spec.preemption);
  canonical::put(out, spec.queue);
  canonical::put(out, spec.topology.within);
  canonical::put(out, spec.topology.or_anywhere);
  for (const topology_slice& one : spec.topology.slices) canonical::put(out, one.key), canonical::put(out, one.size);
  canonical::put(out, spec.topology.spread_key);
  canonical::put(out, spec.topology.spread_most);
  canonical::put(out, spec.topology.choice);
  canonical::put(out, spec.topology.when_full);
  canonical::put(out, spec.disruption);
  for (const group_dependency& one : spec.start_after) put_id(one.on), canonical::put(out, one.until);
  for (const group_affinity& one : spec.affinity)
    put_id(one.to), canonical::put(out, one.key), canonical::put(out, one.apart);
  for (const group_ratio& one : spec.ratios)
    put_id(one.to), canonical::put(out, one.mine), canonical::put(out, one.theirs);
  canonical::put(out, spec.done);
  canonical::put(out, spec.cookie);
  if (spec.deadline || spec.max_wait != instant{0}) {
    canonical::put(out, spec.deadline.has_value());
    canonical::put(out, spec.deadline.value_or(instant::zero()).count());
    canonical::put(out, spec.max_wait.count());
  }
  return out;
}

GANGSCHED_INLINE void group_record::digest_into(digest& out) const { out.add(std::string_view{bytes()}); }

GANGSCHED_INLINE group_table::group_table(undo_log& undo)
    : rows(undo),
      record(undo),
      first(undo, no_row),
      last(undo, no_row),
      members(undo),
      assumed(undo),
      bound(undo),
      satisfied(undo),
      parent(undo, no_row),
      first_child(undo, no_row),
      last_child(undo, no_row),
      next_sibling(undo, no_row),
      prev_sibling(undo, no_row),
      children(undo),
      arrival(undo),
      by_name(undo),
      composite_by_name(undo) {}

GANGSCHED_INLINE void group_table::grow(row_t to) {
  for (column<row_t>* one : {&first, &last, &parent, &first_child, &last_child, &next_sibling, &prev_sibling})
    one->grow(to);
  for (column<std::uint32_t>* one : {&members, &assumed, &bound, &children}) one->grow(to);
  record.grow(to), arrival.grow(to), satisfied.grow(to);
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
