#include "gangsched/queues/kueue/admission_controller.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE admission_controller::admission_controller(configuration of, const admission_options& options)
    : of_(std::move(of)),
      ledger_(of_),
      workloads_(of_.tree().size()),
      pending_(of_, workloads_, shapes_),
      cycle_(ledger_, workloads_, shapes_, options),
      generations_(of_.tree().size(), 0) {}

GANGSCHED_INLINE result<workload_id> admission_controller::add_record(const workload_spec& spec, shape_index& shape) {
  auto made = workload_shape::make(of_, spec);
  if (!made) return std::move(made).error();
  const queue_index queue = made->queue;
  if (shape_of_.size() == workloads_.rows()) {
    const std::size_t rows = 2 * shape_of_.size() + 8;
    progress_.resize(rows);
    shape_of_.resize(rows, 0);
  }
  shape = shapes_.acquire(*std::move(made));
  const workload_id id = workloads_.add(
      {.name = spec.name, .uid = spec.uid, .queue = queue, .priority = spec.priority, .created = spec.created});
  shape_of_[id.row] = shape;
  progress_[id.row].next_flavor.clear();
  return id;
}

GANGSCHED_INLINE result<workload_id> admission_controller::add(const workload_spec& spec) {
  shape_index shape = 0;
  result<workload_id> made = add_record(spec, shape);
  if (made) pending_.add(made->row, shape);
  return made;
}

GANGSCHED_INLINE result<workload_id> admission_controller::add_admitted(const workload_spec& spec, instant at,
                                                                        std::span<const admitted_usage> usage) {
  std::vector<fr_amount> counted;
  for (const admitted_usage& one : usage) {
    if (one.amount < 0)
      return error{errc::out_of_range, "workload " + spec.name, "usage of " + one.resource, "is negative"};
    const flavor_index flavor = of_.find_flavor(one.flavor);
    const resource_index resource = of_.find_resource(one.resource);
    if (flavor == none || resource == none || of_.find_fr(flavor, resource) == none) continue;
    count_in(counted, of_.find_fr(flavor, resource), one.amount);
  }
  shape_index shape = 0;
  result<workload_id> made = add_record(spec, shape);
  if (!made) return made;
  workloads_.admit(made->row, at, counted);
  ledger_.add(workloads_[made->row].queue, counted);
  return made;
}

GANGSCHED_INLINE std::optional<error> admission_controller::fault_of(workload_id id, bool has_to_be_admitted) const {
  if (!workloads_.knows(id)) return error{errc::unknown, "workload", "id", "there is no such workload"};
  if (has_to_be_admitted && !workloads_[id.row].admitted)
    return error{errc::wrong_state, "workload " + workloads_[id.row].name, "", "has no quota"};
  return std::nullopt;
}

GANGSCHED_INLINE void admission_controller::free_quota(row_t workload) noexcept {
  const workload_record& one = workloads_[workload];
  ledger_.remove(one.queue, one.usage);
  ++generations_[one.queue];
  pending_.unpark(of_.tree().root_of(one.queue));
  workloads_.withdraw(workload);
}

GANGSCHED_INLINE void admission_controller::note_eviction(row_t workload) noexcept {
  workloads_.set_evicted(workload, true);
  ++generations_[workloads_[workload].queue];
}

GANGSCHED_INLINE result<void> admission_controller::remove(workload_id id) {
  if (auto fault = fault_of(id, false)) return *std::move(fault);
  if (workloads_[id.row].admitted)
    free_quota(id.row);
  else
    pending_.erase(id.row);
  shapes_.release(shape_of_[id.row]);
  workloads_.erase(id.row);
  return {};
}

GANGSCHED_INLINE result<void> admission_controller::mark_evicted(workload_id id) {
  if (auto fault = fault_of(id, true)) return *std::move(fault);
  note_eviction(id.row);
  return {};
}

GANGSCHED_INLINE result<void> admission_controller::evicted(workload_id id) {
  if (auto fault = fault_of(id, true)) return *std::move(fault);
  free_quota(id.row);
  progress_[id.row].next_flavor.clear();
  pending_.add(id.row, shape_of_[id.row]);
  return {};
}

GANGSCHED_INLINE result<void> admission_controller::set_quota(queue_index node, fr_index of, const quota& amounts) {
  if (auto set = ledger_.set_quota(node, of, amounts); !set) return set;
  const queue_index root = of_.tree().root_of(node);
  for (queue_index queue = of_.first_queue(); queue < of_.tree().size(); ++queue)
    if (of_.tree().root_of(queue) == root) ++generations_[queue];
  pending_.unpark(root);
  return {};
}

GANGSCHED_INLINE std::span<const std::uint32_t> admission_controller::begin_with(row_t workload) const {
  const progress& one = progress_[workload];
  // Progress of the cycle before counts whatever happened since; older progress as long as nothing happened in its queue.
  if (cycles_ - one.cycle > 1 && generations_[workloads_[workload].queue] > one.generation) return {};
  return one.next_flavor;
}

GANGSCHED_INLINE const admission_cycle& admission_controller::cycle(instant now) {
  ++cycles_;
  cycle_.begin();
  for (queue_index queue = of_.first_queue(); queue < of_.tree().size(); ++queue)
    if (const row_t head = pending_.head(queue); head != no_row)
      cycle_.nominate(head, shape_of_[head], begin_with(head));
  cycle_.run();
  for (const cycle_entry& entry : cycle_.entries()) settle(entry, now);
  for (const issued_preemption& one : cycle_.preempted()) note_eviction(one.workload);
  return cycle_;
}

GANGSCHED_INLINE void admission_controller::settle(const cycle_entry& entry, instant now) {
  progress& searched = progress_[entry.workload];
  if (entry.result == entry_result::admitted) {
    workloads_.admit(entry.workload, now, entry.flavors.usage);
    ledger_.add(entry.queue, entry.flavors.usage);
    pending_.erase(entry.workload);
    ++generations_[entry.queue];
    searched.next_flavor.clear();
    return;
  }
  if (entry.forgets_flavors) {
    searched.next_flavor.clear();
  } else {
    searched.next_flavor = entry.flavors.next_flavor;
    searched.cycle = cycles_;
    searched.generation = generations_[entry.queue];
  }
  if (of_.strategy(entry.queue) == queueing_strategy::strict_fifo) return;
  if (entry.reason == requeue_reason::pending_preemption) pending_.make_sticky(entry.workload);
  const bool found_nothing =
      entry.reason == requeue_reason::no_fit || entry.reason == requeue_reason::preemption_no_candidates;
  if (found_nothing && !entry.flavors.has_pending_flavors()) pending_.park(entry.shape);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
