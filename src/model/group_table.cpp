#include "gangsched/model/group_table.hpp"

#include "gangsched/model/canonical.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE std::string group_record::bytes() const {
  std::string out;
  canonical::append(out, expected, spec.name, spec.ns, spec.policy.index());
  if (const gang* policy = std::get_if<gang>(&spec.policy)) {
    canonical::append(out, policy->min_count, policy->desired_count, policy->max_count);
    canonical::append(out, canonical::size_of(policy->roles));
    for (const role_minimum& one : policy->roles) canonical::append(out, one.role, one.min_count);
    canonical::append(out, policy->mode, policy->timeout.count(), policy->atomic, policy->match, policy->strict,
                      policy->stale_after.has_value(), policy->stale_after.value_or(instant::zero()).count());
  }
  canonical::append(out, spec.composite, spec.parent, spec.workload, spec.priority, spec.preemption, spec.queue,
                    spec.topology.within, spec.topology.or_anywhere);
  canonical::append(out, canonical::size_of(spec.topology.slices));
  for (const topology_slice& one : spec.topology.slices) canonical::append(out, one.key, one.size);
  canonical::append(out, spec.topology.spread_key, spec.topology.spread_most, spec.topology.choice,
                    spec.topology.when_full, spec.disruption);
  canonical::append(out, canonical::size_of(spec.start_after), canonical::size_of(spec.affinity),
                    canonical::size_of(spec.ratios));
  for (const group_dependency& one : spec.start_after) canonical::append(out, one.on, one.until);
  for (const group_affinity& one : spec.affinity) canonical::append(out, one.to, one.key, one.apart);
  for (const group_ratio& one : spec.ratios) canonical::append(out, one.to, one.mine, one.theirs);
  canonical::append(out, spec.done, spec.cookie);
  if (spec.deadline || spec.max_wait != instant{0}) {
    canonical::append(out, spec.deadline.has_value(), spec.deadline.value_or(instant::zero()).count(),
                      spec.max_wait.count());
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
