#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/devices/device_demand.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/reads.hpp"
#include "gangsched/model/reservation_terms.hpp"
#include "gangsched/model/slots.hpp"

namespace gangsched::inline GANGSCHED_ABI {

class digest;

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

/// The amounts of a pod of the class on its node, kinds that are not requested included. O(kinds requested).
[[nodiscard]] inline std::int64_t counted_amount(const pod_class& cls, resource_kind kind) noexcept {
  switch (kind) {
    case kinds::pods: return 1;
    case kinds::scored_cpu: return cls.scored_cpu;
    case kinds::scored_memory: return cls.scored_memory;
    default: return cls.request(kind);
  }
}

struct cluster_state;
struct node_table;
struct pod_table;
class class_table;

/// The owners of reservations: one set for all reservations with equal owners.
struct owner_set {
  std::string key;  ///< canonical bytes of the owners
  std::vector<reservation_owner> owners;
  void digest_into(digest&) const {}  // derived from the reservations' own specs
};
/// A reservation: its pod, and its owners.
struct reservation_record {
  row_t pod;
  row_t set;
  void digest_into(digest&) const {}  // `reservation_table` has its own
};

/// Reservations, and the pods that draw from them. A reservation is a pod that holds what it requests for its owners
/// (`pod_spec::reservation`). As long as it is on a node, what is left of it counts as used there:
class GANGSCHED_API reservation_table {
 public:
  reservation_table(undo_log& undo, node_table& nodes, pod_table& pods, class_table& classes);
  reservation_table(const reservation_table&) = delete;
  reservation_table& operator=(const reservation_table& from);

  /// Whether there are none.
  [[nodiscard]] bool empty() const noexcept { return count_[0] == 0; }
  /// Whether some set names a pod, so that pods that differ only in their names may be of different classes.
  [[nodiscard]] bool names_pods() const noexcept { return naming_[0] != 0; }

  // --- changes of reservations
  /// The pod, whose class is a reservation's, becomes one. True if its set of owners is new: classes must then be rebuilt.
  bool add(row_t pod);
  /// The pod, on no node now, stops being one; pods that draw from it stop. True if no other has its owners. O(pods on @p node).
  bool remove(row_t pod, row_t node);
  /// The pod, on no node now, becomes the reservation of its new class. Pods on @p node go on drawing from it. True if classes must be
  /// rebuilt. O(pods on the node).
  bool renew(row_t pod, row_t node);
  /// The sets that contain a pod, ascending. O(sets · their conditions).
  [[nodiscard]] std::vector<row_t> owned_by(std::string_view ns, std::string_view name, const label_map& labels,
                                            const controller_ref& controller) const;

  // --- questions
  /// The row of the reservation that the pod is, or no_row.
  [[nodiscard]] row_t row_of(row_t pod) const noexcept;
  /// The pod of the reservation that a pod draws from, or is to draw from, or no_row.
  [[nodiscard]] row_t drawn_by(row_t pod) const noexcept {
    if (empty()) return no_row;
    const row_t row = pod < pod_rows_ ? of_pod_[pod] : no_row;
    return row == no_row || record_[row] == nullptr || record_[row]->pod == pod ? no_row : record_[row]->pod;
  }
  /// @pre the pod is a reservation on its node. O(1).
  [[nodiscard]] std::int64_t left(row_t pod, resource_kind kind) const noexcept;
  /// What its owners request of what it holds.
  [[nodiscard]] std::int64_t drawn(row_t pod, resource_kind kind) const noexcept {
    return drawn_.at(row_of(pod), kind);
  }
  /// Whether it is for one owner only, and an owner added after it draws from it, or has run: then it holds nothing.
  [[nodiscard]] bool spent(row_t pod) const noexcept;
  /// Whether an owner of a reservation with `once` has run: it stays spent, even after that owner leaves.
  [[nodiscard]] bool used_up(row_t pod) const noexcept;
  [[nodiscard]] std::uint32_t owners(row_t pod) const noexcept;
  /// Calls visit(pod) for the pods of the reservations with that set of owners, in the order in which they were last changed.
  template <class Visit>
  void each_in(row_t set, Visit&& visit) const {
    for (row_t row = first_[set]; row != no_row; row = next_[row]) visit(record_[row]->pod);
  }
  /// The same for all, in unspecified order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (row_t row = 0; row < rows_.count(); ++row)
      if (record_[row] != nullptr) visit(record_[row]->pod);
  }
  /// Whether the pod is a reservation, or draws from one.
  [[nodiscard]] bool involves(row_t pod) const noexcept {
    return pod < pod_rows_ && of_pod_[pod] != no_row && record_[of_pod_[pod]] != nullptr;
  }
  /// Whether pods of the class look for room in reservations first.
  [[nodiscard]] bool concerns(const pod_class& cls) const noexcept {
    return cls.reservation_affinity != nullptr ||
           (!empty() && (cls.ignores_reservations || !cls.owned.empty() || pre_allocates(cls)));
  }
  /// Whether pods of the class are reservations that may hold what other pods have already.
  [[nodiscard]] static bool pre_allocates(const pod_class& cls) noexcept {
    return cls.reserves != nullptr && cls.reserves->spec.pre_allocation != pre_allocation::none;
  }
  /// What of a node decides, beside what filters read, whether a pod of the class may be there: an affinity may select a reservation by the
  /// labels of its node, and a reservation may hold what pods there have.
  [[nodiscard]] static reads also_reads(const pod_class& cls) noexcept {
    return (cls.reservation_affinity != nullptr ? reads::labels : reads::nothing) |
           (pre_allocates(cls) ? reads::pods : reads::nothing);
  }
  /// The set of owners of the reservation that the pod is.
  [[nodiscard]] row_t set_of(row_t pod) const noexcept { return record_[row_of(pod)]->set; }
  /// Whether pods of @p cls, which is in its set, may use the reservation on @p node, as far as names, labels, taints and exact amounts are
  /// concerned. What it has left is not checked. O(requirements of the pod on it).
  [[nodiscard]] bool lets(const cluster_state& state, row_t pod, const pod_class& cls, row_t node, bool runs) const;
  /// The same, whatever amounts it holds. It may be unschedulable for a pod that runs.
  [[nodiscard]] bool admits(const cluster_state& state, row_t pod, const pod_class& cls, row_t node, bool runs) const;

  // --- devices: what a reservation has of its node's in all, while others have some of it
  [[nodiscard]] const device_claim* devices(row_t pod) const noexcept { return devices_[row_of(pod)]; }
  void keep_devices(row_t pod, std::unique_ptr<const device_claim> held) { devices_.set(row_of(pod), std::move(held)); }
  void forget_devices(row_t pod) {
    if (devices(pod) != nullptr) devices_.set(row_of(pod), nullptr);
  }

  // --- pods that draw
  /// The pod, which has no node, is to draw from @p from, or from none. @p there: it was on its node before that reservation.
  void choose(row_t pod, row_t from, bool there = false);
  [[nodiscard]] bool was_there(row_t pod) const noexcept { return pod < pod_rows_ && was_there_[pod]; }
  /// To be called around a pod's stay on its node, after its requests are counted there and before they are subtracted: counts it as a
  /// reservation, or as drawing from one.
  void came(row_t pod, row_t node) {
    if (!empty()) count(pod, node, +1);
  }
  void leaves(row_t pod, row_t node) {
    if (!empty()) count(pod, node, -1);
  }
  /// The reservation is spent: an owner ran.
  void use_up(row_t pod) { used_up_.set(row_of(pod), true); }
  /// The pod runs: the reservation that it draws from is spent if it has `once`.
  void runs(row_t pod);

  /// Whether nodes are evaluated in their present state, without regard to reservations (`reservation_pass`). No state.
  [[nodiscard]] bool aside() const noexcept { return aside_; }
  void set_aside(bool now) noexcept { aside_ = now; }

  void digest_into(digest& out, row_t pods) const;

 private:
  [[nodiscard]] bool is_on(row_t row, row_t node) const noexcept;
  void count(row_t pod, row_t node, std::int64_t sign);
  void draw(row_t row, row_t pod, row_t node, std::int64_t sign);
  [[nodiscard]] std::uint32_t newcomers(row_t row) const noexcept { return owners_[row] - there_before_[row]; }
  [[nodiscard]] row_t find_set(const std::vector<reservation_owner>& owners, bool& fresh);
  void point(row_t pod, row_t at);

  node_table& nodes_;
  pod_table& pods_;
  class_table& classes_;
  slots rows_, sets_;
  object_column<reservation_record> record_;
  object_column<owner_set> set_;
  column<row_t> first_, last_;  ///< by set: its reservations
  column<row_t> next_, prev_;
  matrix_column drawn_;                 ///< by row and kind, with kinds::pods and what scores go by
  column<std::uint32_t> owners_;        ///< that draw from it
  column<std::uint32_t> there_before_;  ///< those of them that it was allocated around
  column<bool> used_up_;
  object_column<device_claim> devices_;  ///< null: no pod has any of them, or it has none
  column<row_t> of_pod_;    ///< by pod: the row of the reservation that it is or draws from; rows up to `pod_rows_`
  column<bool> was_there_;  ///< by pod: it is one of those
  column<std::uint32_t> count_;   ///< row 0: reservations
  column<std::uint32_t> naming_;  ///< row 0: sets that name pods
  row_t pod_rows_ = 0;
  bool aside_ = false;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

// Its body comes with state.hpp.
