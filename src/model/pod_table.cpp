#include "gangsched/model/pod_table.hpp"

#include "gangsched/devices/device_demand.hpp"
#include "gangsched/model/canonical.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE void pod_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::append(text, name, ns, details->labels, details->gates, start_time.has_value(),
                    start_time.value_or(instant::zero()).count(), details->controller.kind, details->controller.name);
  if (const pod_disks* const disks = details->disks.get()) {
    for (const auto& one : disks->disks) canonical::append(text, one.id, one.read_only);
    canonical::append(text, disks->exclusive_claims);
    for (const auto& one : disks->attachments) canonical::append(text, one.driver, one.id);
  }
  canonical::append(text, details->role, rank, queue, cookie);
  if (details->priority_class) canonical::append(text, details->priority_class);
  if (details->expected_run_time != instant{0}) canonical::append(text, details->expected_run_time.count());
  if (details->deadline || details->max_wait != instant{0}) {
    canonical::append(text, details->deadline.has_value(), details->deadline.value_or(instant::zero()).count(),
                      details->max_wait.count());
  }
  out.add(text.bytes);
}

GANGSCHED_INLINE pod_table::pod_table(undo_log& undo)
    : rows(undo),
      record(undo, words),
      state(undo, words),
      terminating(undo, words),
      preempted(undo, words),
      claim(undo, words),
      cls(undo, words),
      cls_epoch(undo, words),
      node(undo, words),
      nominated(undo, words),
      group(undo, words),
      next_on_node(undo, words),
      prev_on_node(undo, words),
      next_nominated(undo, no_row),
      prev_nominated(undo, no_row),
      attempt(undo),
      next_in_group(undo, words),
      prev_in_group(undo, words),
      arrival(undo, words),
      times(undo),
      by_name(undo, record) {}

GANGSCHED_INLINE pod_table& pod_table::operator=(const pod_table& from) {
  rows = from.rows;
  words = from.words;
  for (pod_words& one : words) one.record = nullptr, one.claim = nullptr;  // the original's
  record = from.record, claim = from.claim;
  next_nominated = from.next_nominated, prev_nominated = from.prev_nominated, attempt = from.attempt;
  times = from.times;
  by_name = from.by_name;
  grown = from.grown;
  name_classes = from.name_classes;
  have_limits = from.have_limits;
  return *this;
}

GANGSCHED_INLINE void pod_table::grow(row_t to) {
  if (to <= grown) return;
  const row_t room = to + to / 8;
  words.resize(room);
  next_nominated.grow(room), prev_nominated.grow(room), attempt.grow(room);
  grown = room;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
