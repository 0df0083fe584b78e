#include "gangsched/queues/kueue/admission_controller.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE admission_controller::admission_controller(configuration of, const admission_options& options)
    : of_(std::move(of)),
      ledger_(of_),
      workloads_(of_.tree().size()),
      usage_(of_, options.local_usage),
      pods_(options.pods_ready),
      pending_(of_, workloads_, shapes_, &usage_),
      cycle_(ledger_, workloads_, shapes_, options, &usage_),
      generations_(of_.tree().size(), 0) {}

template <class Then>
result<workload_id> admission_controller::add_record(const workload_spec& spec, const Then& then) {
  auto made = workload_shape::make(of_, spec);
  if (!made) return std::move(made).error();
  if (shape_of_.size() == workloads_.rows()) {
    const std::size_t rows = 2 * shape_of_.size() + 8;
    progress_.resize(rows);
    shape_of_.resize(rows, 0);
  }
  if (pods_.options().enabled) {
    pods_.make_room(static_cast<row_t>(shape_of_.size()));
    timeouts_.reserve(shape_of_.size());
    returned_.reserve(shape_of_.size());
  }
  workload_record record{
      .name = spec.name, .uid = spec.uid, .queue = made->queue, .priority = spec.priority, .created = spec.created};
  struct guard {
    ~guard() {
      if (is_done) return;
      if (id) on->workloads_.erase(id.row);
      if (shape != none) on->shapes_.release(shape);
      if (local) on->usage_.let_go(*local);
    }
    admission_controller* on;
    std::optional<local_index> local = {};
    shape_index shape = none;
    workload_id id = {};
    bool is_done = false;
  } undo{this};
  if (counts_local(record.queue)) {
    record.local = usage_.find_or_add(record.queue, spec.local_queue);
    usage_.keep(record.local);
    undo.local = record.local;
  }
  undo.shape = shapes_.acquire(*std::move(made));
  undo.id = workloads_.add(std::move(record));
  // What it needs when it is admitted, or is not.
  const workload_shape& shape = shapes_[undo.shape];
  workloads_.make_room(undo.id.row, shape.requests.size());
  progress_[undo.id.row].next_flavor.reserve(shape.pod_sets.size() * of_.groups(shape.queue).size());
  if (pods_.options().enabled) pods_.begin(undo.id.row);
  then(undo.id.row, undo.shape);
  undo.is_done = true;
  shape_of_[undo.id.row] = undo.shape;
  progress_[undo.id.row].next_flavor.clear();
  progress_[undo.id.row].created = spec.created;
  return undo.id;
}

GANGSCHED_INLINE result<workload_id> admission_controller::add(const workload_spec& spec) {
  return add_record(spec, [&](row_t row, shape_index shape) { pending_.add(row, shape); });
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
  return add_record(spec, [&](row_t row, shape_index) {
    workloads_.admit(row, at, counted);
    const workload_record& one = workloads_[row];
    ledger_.add(one.queue, counted);
    if (counts_local(one.queue)) usage_.hold(one.local, counted);
    if (pods_.options().enabled) pods_.admitted(row, at);
  });
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
  if (counts_local(one.queue)) usage_.release(one.local, one.usage);
  ++generations_[one.queue];
  pending_.unpark(of_.tree().root_of(one.queue));
  workloads_.withdraw(workload);
}

GANGSCHED_INLINE void admission_controller::note_eviction(row_t workload) noexcept {
  workloads_.set_evicted(workload, true);
  if (pods_.options().enabled) pods_.note_eviction(workload);
  ++generations_[workloads_[workload].queue];
}

GANGSCHED_INLINE result<void> admission_controller::remove(workload_id id) {
  if (auto fault = fault_of(id, false)) return *std::move(fault);
  if (workloads_[id.row].admitted)
    free_quota(id.row);
  else if (pending_.has(id.row))
    pending_.erase(id.row);
  if (pods_.options().enabled) pods_.forget(id.row);
  const workload_record& gone = workloads_[id.row];
  if (counts_local(gone.queue)) usage_.let_go(gone.local);
  shapes_.release(shape_of_[id.row]);
  pending_.forget_if_unused(shape_of_[id.row]);
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
  pending_.make_room(id.row, shape_of_[id.row]);
  free_quota(id.row);
  progress_[id.row].next_flavor.clear();
  if (pods_.options().enabled) {
    if (const auto at = pods_.evicted_at(id.row); at && pods_.options().requeued == requeue_order::eviction)
      workloads_.set_created(id.row, *at);
    if (!pods_.withdrawn(id.row)) return {};
  }
  pending_.insert(id.row, shape_of_[id.row]);
  return {};
}

GANGSCHED_INLINE result<void> admission_controller::set_local_queue(const local_queue_spec& spec) {
  const auto local = usage_.set(spec);
  if (!local) return local.error();
  pending_.reorder(usage_.queue_of(*local));
  return {};
}

GANGSCHED_INLINE result<void> admission_controller::set_pods_ready(workload_id id, bool ready, instant now) {
  if (auto fault = fault_of(id, true)) return *std::move(fault);
  if (pods_.options().enabled) pods_.set_ready(id.row, ready, now);
  return {};
}

GANGSCHED_INLINE result<void> admission_controller::activate(workload_id id) {
  if (auto fault = fault_of(id, false)) return *std::move(fault);
  if (!pods_.options().enabled || !pods_.is_to_be_activated(id.row))
    return error{errc::wrong_state, "workload " + workloads_[id.row].name, "", "is not deactivated"};
  if (!is_deactivated(id.row)) {  // it has quota yet: evicted() sees to it that it waits again
    pods_.activate(id.row);
    return {};
  }
  pending_.make_room(id.row, shape_of_[id.row]);
  pods_.activate(id.row);
  workloads_.set_created(id.row, progress_[id.row].created);
  pending_.insert(id.row, shape_of_[id.row]);
  return {};
}

GANGSCHED_INLINE std::span<const pods_timeout> admission_controller::advance(instant now) {
  returned_.clear();
  struct guard {
    ~guard() {
      if (is_done) return;
      for (const row_t row : on->returned_) {
        on->pending_.erase(row);
        on->pods_.resume_backoff(row);
      }
    }
    admission_controller* on;
    bool is_done = false;
  } undo{this};
  for (row_t row = pods_.backoff_over(now); row != no_row; row = pods_.backoff_over(now)) {
    pending_.make_room(row, shape_of_[row]);
    pods_.end_backoff(row);
    pending_.insert(row, shape_of_[row]);
    returned_.push_back(row);  // there is room: add_record() sees to it, here and below
  }
  undo.is_done = true;
  usage_.sample(now, [&](queue_index queue) { pending_.reorder(queue); });
  timeouts_.clear();
  for (row_t row = pods_.too_late(now); row != no_row; row = pods_.too_late(now)) {
    timeouts_.push_back(pods_.time_out(row, now));
    note_eviction(row);
  }
  return timeouts_;
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
  if (cycles_ > one.cycle && generations_[workloads_[workload].queue] > one.generation) return {};
  return one.next_flavor;
}

GANGSCHED_INLINE const admission_cycle& admission_controller::cycle(instant now) {
  cycle_.begin();
  for (queue_index queue = of_.first_queue(); queue < of_.tree().size(); ++queue)
    if (const row_t head = pending_.head(queue); head != no_row)
      cycle_.nominate(head, shape_of_[head], begin_with(head));
  const bool blocks = pods_.options().enabled && pods_.options().block_admission;
  cycle_.run(!blocks ? admission_gate::open : pods_.all_ready() ? admission_gate::one : admission_gate::closed);
  for (const cycle_entry& entry : cycle_.entries()) make_room(entry);
  ++cycles_;
  for (const cycle_entry& entry : cycle_.entries()) settle(entry, now);
  for (const issued_preemption& one : cycle_.preempted()) note_eviction(one.workload);
  return cycle_;
}

GANGSCHED_INLINE void admission_controller::make_room(const cycle_entry& entry) {
  // One entry of a queue at most: room for one more is enough.
  if (entry.result == entry_result::admitted) {
    workloads_.make_room(entry.workload, entry.flavors.usage.size());
    counted_.reserve(entry.flavors.usage.size());
  } else {
    progress_[entry.workload].next_flavor.reserve(entry.flavors.next_flavor.size());
  }
}

GANGSCHED_INLINE void admission_controller::count_unfinished(const cycle_entry& entry) noexcept {
  counted_.assign(entry.flavors.usage.begin(), entry.flavors.usage.end());
  const workload_shape& shape = shapes_[entry.shape];
  for (std::size_t number = 0; number < entry.flavors.pod_sets.size(); ++number) {
    const assignment::pod_set& pods = entry.flavors.pod_sets[number];
    const std::int32_t unfinished = shape.pod_sets[number].count;
    if (pods.count <= unfinished) continue;  // where fewer pods were tried, those that have finished were counted
    for (const chosen_flavor& one : entry.flavors.flavors_of(pods))
      count_in(counted_, of_.find_fr(one.flavor, one.resource),
               product(one.amount / pods.count, unfinished) - one.amount);
  }
}

GANGSCHED_INLINE void admission_controller::charge(const cycle_entry& entry, instant now) noexcept {
  const local_index local = workloads_[entry.workload].local;
  usage_.hold(local, counted_);  // as in Kueue before the sample
  usage_.sample_one(local, now);
  const workload_shape& shape = shapes_[entry.shape];
  for (const workload_shape::pod_set& pods : shape.pod_sets)  // all pods that it asked for, however many were admitted
    for (const workload_shape::request& one : shape.requests_of(pods))
      if (one.of != none && !one.counts_pods) usage_.charge(local, one.of, product(one.each, pods.count));
  pending_.reorder(entry.queue);
}

GANGSCHED_INLINE void admission_controller::settle(const cycle_entry& entry, instant now) noexcept {
  progress& searched = progress_[entry.workload];
  if (entry.result == entry_result::admitted) {
    count_unfinished(entry);
    workloads_.note_admitted(entry.workload, now, counted_);
    ledger_.add(entry.queue, counted_);
    pending_.erase(entry.workload);
    workloads_.set_created(entry.workload, progress_[entry.workload].created);
    if (counts_local(entry.queue)) charge(entry, now);
    if (pods_.options().enabled) pods_.admitted(entry.workload, now);
    ++generations_[entry.queue];
    searched.next_flavor.clear();
    return;
  }
  if (entry.forgets_flavors) {
    searched.next_flavor.clear();
  } else {
    searched.next_flavor.assign(entry.flavors.next_flavor.begin(), entry.flavors.next_flavor.end());
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
