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

/// Whether the group's minimum has nodes, and a member of it runs.
[[nodiscard]] inline bool has_minimum(const group_table& groups, row_t row) noexcept {
  return groups.bound[row] != 0 && groups.assumed[row] + groups.bound[row] >= groups.min_count(row);
}

/// Which pod is on which node, in which state, and which node it is nominated to. Calls take rows and check nothing: `cluster` checks the
/// host's calls, and the engine makes only valid ones. The object owns the counts over all pods on nodes. It writes the states and lists of
/// pods, the amounts, ports and lists of nodes, and the counts of group members by state; it updates devices, counters, columns and queues
/// with them, and writes the change log.
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
  std::uint64_t attempts_after = 0;  ///< attempts are numbered above this

  /// Logs, if the pod is a reservation or draws from one and is put on the node or taken off, that more or other resources are free there
  /// than its requests say.
  void log_reserved(row_t pod, row_t node);
  void assume(row_t pod, row_t node);
  void bind(row_t pod);
  void release(row_t pod);
  /// Puts the pods of @p there, which were on @p node before @p reservation, back on it; they then draw from the reservation.
  void allocate_around(row_t reservation, row_t node, const std::vector<row_t>& there);
  void put_on_node(row_t pod, row_t node, removal how = removal::real);
  /// The same for a restored pod, with exactly the devices that it had (`device_ledger::pod_came_again`).
  void put_on_node_again(row_t pod, row_t node);
  void take_off_node(row_t pod, removal how = removal::real);
  /// `device_ledger::claim_held` of a pod that is put there next: what a reservation holds is free for a pod that draws from it.
  void claim_held(row_t pod, row_t node, std::span<const held_device> held);
  void set_pod_state(row_t pod, pod_state to);
  /// To be called around a change of a node's devices: saves what pods and reservations there have, by device id, and restores what of that
  /// still exists; owners go on drawing from their reservation. O(pods there · what they have + claims that pods share).
  [[nodiscard]] node_claims take_devices(row_t node);
  void give_devices(row_t node, const node_claims& all);

  void nominate(row_t pod, row_t node);
  /// Nominates the pod to a node that is expected to have room for it at @p from.
  void reserve_node(row_t pod, row_t node, instant from);
  /// Logs that the room reserved for the pod changed: it was on @p before, and is on @p after from now on.
  void log_nomination(row_t pod, row_t before, row_t after);
  /// Moves the pod to the nominations of @p node without writing the log.
  void set_nominated_node(row_t pod, row_t node);

  /// Whether the node's usage stays below 2^63 with one more pod of @p cls (in place of one of @p replaced, if given), whichever owners
  /// leave the reservations there.
  [[nodiscard]] bool fits_in_words(row_t node, const pod_class& cls,
                                   const pod_class* replaced = nullptr) const noexcept;
  /// The same for @p more of one kind, in place of what @p replaced has of it. O(pods there), if there are reservations.
  [[nodiscard]] bool fits_in_words(row_t node, resource_kind kind, std::int64_t more,
                                   const pod_class* replaced = nullptr) const noexcept;
  /// The same for an amount that a room is to hold there, including the amounts that scores use.
  [[nodiscard]] bool fits_in_words(row_t node, const amount& held) const noexcept;
  /// What a pod of @p cls touches on its node.
  [[nodiscard]] static reads facets_of(const pod_class& cls) noexcept {
    reads facets = reads::usage | reads::pods;
    if (!cls.ports.empty()) facets |= reads::ports;
    // Some node may count its devices by a resource that the class requests.
    const bool others = !cls.requests.empty() && cls.requests.back().kind >= kinds::first_other;
    const bool own = cls.guaranteed || cls.bind_cpus.policy != cpu_bind_policy::none;
    if (!cls.devices.empty() || !cls.claims.empty() || others || own) facets |= reads::devices;
    if (!cls.claims.empty()) facets |= reads::claims;
    return facets;
  }

  void restore(row_t pod, std::uint32_t, std::uint64_t) noexcept override;
  void digest_into(digest&, row_t) const override {}  // all of it is in other columns

 private:
  void count_member(row_t group, pod_state from, pod_state to);
  template <class Devices>
  void come(row_t pod, row_t node, removal how, const Devices& count_devices);
  /// Adds (sign +1) or removes (−1) the exclusive claims of volumes that a pod of class @p cls on a node uses.
  void count_claims(row_t pod, const pod_class& cls, std::int32_t sign) {
    if (cls.volumes.disks) count_exclusive_claims(pod, sign);
  }
  void count_exclusive_claims(row_t pod, std::int32_t sign);
  /// Counts the pod's amounts and priority on the node, and links it into the node's list of pods.
  void put(row_t pod, const pod_class& cls, row_t node);
  void take_off(row_t pod);
  [[nodiscard]] std::vector<row_t> leave_reservation(row_t reservation, row_t node);
  /// Makes the devices of the reservation on @p node that the pod draws from available, and returns it; no_row if it has none.
  row_t open_devices(row_t pod, row_t node) { return reserved_.empty() ? no_row : open_reserved_devices(pod, node); }
  row_t open_reserved_devices(row_t pod, row_t node);
  /// Holds again what its owners have left of these devices. @p comes: an owner to be put on the node; @p goes: one still on it.
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
