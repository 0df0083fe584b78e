#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/claim_table.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/device_ledger.hpp"
#include "gangsched/model/group_table.hpp"
#include "gangsched/model/held_rooms.hpp"
#include "gangsched/model/node_table.hpp"
#include "gangsched/model/own_columns.hpp"
#include "gangsched/model/pod_counting.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/priority_table.hpp"
#include "gangsched/model/queue_counting.hpp"
#include "gangsched/model/reservation_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// Which pod is on which node, in which state, and which one it is nominated to: what happens to a pod, by row, without checks (`cluster`
/// checks the host's calls, engines know what they do). It owns what is counted of all pods on nodes; it writes the states and lists of
/// pods, the amounts, ports and lists of nodes and how many of a group's members are where, has devices, counters, columns and queues
/// follow, and writes the log.
///
/// A pod comes on its node by one entry of the undo log, whose undoing takes it off again: it is the last that came.
class GANGSCHED_API assigned_pods final : public column_base {
 public:
  assigned_pods(undo_log& undo, change_log& log, node_table& nodes, held_rooms& rooms, pod_table& pods,
                group_table& groups, class_table& classes, pod_counting& counting, device_ledger& devices,
                own_columns& columns, queue_counting& queued, reservation_table& reserved) noexcept
      : priorities(undo),
        claims(undo),
        undo_(undo),
        log_(log),
        nodes_(nodes),
        rooms_(rooms),
        pods_(pods),
        groups_(groups),
        classes_(classes),
        counting_(counting),
        devices_(devices),
        columns_(columns),
        queued_(queued),
        reserved_(reserved) {}
  assigned_pods(const assigned_pods&) = delete;
  assigned_pods& operator=(const assigned_pods& from) {
    priorities = from.priorities, claims = from.claims;
    attempts_after = from.attempts_after;
    return *this;
  }

  priority_table priorities;
  claim_table claims;
  std::uint64_t attempts_after = 0;  ///< attempts are numbered from there

  /// To readers of the log, if the pod is a reservation or draws from one, and comes on the node or leaves it: more or other things are
  /// free there than its requests say.
  void log_reserved(row_t pod, row_t node);
  void assume(row_t pod, row_t node);
  void bind(row_t pod);
  void release(row_t pod);
  /// Pods that were on @p node, and are off it now, are put back, and draw from the reservation, which has come meanwhile.
  void allocate_around(row_t reservation, row_t node, const std::vector<row_t>& there);
  void put_on_node(row_t pod, row_t node, removal how = removal::real);
  /// The same of a pod that is made again with the devices that it had (`device_ledger::pod_came_again`).
  void put_on_node_again(row_t pod, row_t node);
  void take_off_node(row_t pod, removal how = removal::real);
  void set_pod_state(row_t pod, pod_state to);

  void nominate(row_t pod, row_t node);
  /// The pod is nominated to a node that is expected to have room for it from then on.
  void reserve_node(row_t pod, row_t node, instant from);
  /// Writes down that what was kept on @p before for the pod, and is now on @p after, changed.
  void log_nomination(row_t pod, row_t before, row_t after);
  /// Moves the pod to the list of @p node without a word in the log.
  void set_nominated_node(row_t pod, row_t node);

  /// Adds (sign +1) or takes back (−1) the exclusive claims of volumes that a pod on a node uses.
  void count_claims(row_t pod, std::int32_t sign);
  /// Adds (sign +1) or takes back (−1) what a pod of class @p cls uses on @p node, but for its ports.
  void count_usage(row_t node, const pod_class& cls, std::int64_t sign);
  /// Whether the node's usage stays below 2^63 with one more pod of @p cls, instead of one of @p replaced if there is that, whoever
  /// leaves a reservation there.
  [[nodiscard]] bool fits_in_words(row_t node, const pod_class& cls,
                                   const pod_class* replaced = nullptr) const noexcept;
  /// The same of @p more of a kind, instead of what @p replaced has of it. O(pods there), if there are reservations.
  [[nodiscard]] bool fits_in_words(row_t node, resource_kind kind, std::int64_t more,
                                   const pod_class* replaced = nullptr) const noexcept;
  /// The same of what a room holds there: in what scores go by, too.
  [[nodiscard]] bool fits_in_words(row_t node, const amount& held) const noexcept;
  /// What a pod of @p cls touches on its node.
  [[nodiscard]] static reads facets_of(const pod_class& cls) noexcept;

  void restore(row_t pod, std::uint32_t, std::uint64_t) noexcept override;
  void digest_into(digest&, row_t) const override {}  // all of it is in other columns

 private:
  template <class Devices>
  void come(row_t pod, row_t node, removal how, const Devices& count_devices);
  /// What both count of each other: amounts, priorities, the node's list of pods.
  void put(row_t pod, row_t node);
  void take_off(row_t pod);
  [[nodiscard]] std::vector<row_t> leave_reservation(row_t reservation, row_t node);
  /// The reservation on @p node that the pod draws from, if that has devices there; else no_row. Then they are to be had.
  row_t open_devices(row_t pod, row_t node);
  /// What its owners have left of them is held again. @p comes: one that is about to be on the node; @p goes: one that still is.
  void close_devices(row_t reservation, row_t node, row_t comes, row_t goes);

  undo_log& undo_;
  change_log& log_;
  node_table& nodes_;
  held_rooms& rooms_;
  pod_table& pods_;
  group_table& groups_;
  class_table& classes_;
  pod_counting& counting_;
  device_ledger& devices_;
  own_columns& columns_;
  queue_counting& queued_;
  reservation_table& reserved_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/assigned_pods.cpp"
#endif
