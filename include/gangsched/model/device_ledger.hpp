#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/devices/device_fit.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/device_record.hpp"
#include "gangsched/model/node_table.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/resource_claims.hpp"
#include "gangsched/model/resource_kinds.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct node_claims;

/// Which pod has which devices inside nodes. It owns the inventories that nodes share, the claims that pods share, and the host's answers
/// about devices; in other tables it writes what pods hold (`pod_table::claim`) and what of a node's devices is in use
/// (`node_table::devices`), and the log where a claim changes a node without another record.
class GANGSCHED_API device_ledger {
 public:
  device_ledger(undo_log& undo, change_log& log, interner& names, node_table& nodes, pod_table& pods,
                class_table& classes, const resource_kinds& kinds, bool& in_hook);
  device_ledger(const device_ledger&) = delete;
  /// Inventories contain the answers of the host's matcher, so a ledger with a matcher gets inventories of its own, in O(nodes).
  device_ledger& operator=(const device_ledger& from);

  resource_claim_table resource_claims;

  // --- questions
  [[nodiscard]] device_state devices_of(row_t node) const noexcept {
    const device_inventory* const inventory = nodes_.inventory[node];
    return inventory != nullptr ? device_state{inventory, nodes_.devices.row(node)} : device_state{};
  }
  /// The device requests of a pod of @p cls for the node, with those of its claims that are not allocated there; nothing if none concerns
  /// the node. O(requests).
  [[nodiscard]] device_wants wants_of(const pod_class& cls, row_t node) const;
  /// The same without its claims.
  [[nodiscard]] device_wants own_wants_of(const pod_class& cls, row_t node) const;
  /// The same if it is a single request, on a node with devices whose kubelet aligns nothing: the usual case. O(requests).
  [[nodiscard]] std::optional<device_want> only_want(const pod_class& cls, row_t node) const {
    const device_inventory* const inventory = nodes_.inventory[node];
    if (inventory == nullptr || cls.devices.size() > 1 || !cls.device_matches.empty() || !cls.claims.empty() ||
        (inventory->numa && !cls.containers.empty())) {
      return std::nullopt;
    }
    // requests for GPUs say how the counted ones are to be chosen
    const bool counts = !inventory->gpus.empty() && (cls.devices.empty() || !cls.devices.front().wants_gpu());
    if (counts) return only_counted_want(cls, node);
    if (cls.devices.empty()) return std::nullopt;
    return device_want{&cls.devices.front(), cls.devices.front().count, 0};
  }
  /// The facets of a node that hooks for pods of @p cls read, and that can change without a log record about that node.
  [[nodiscard]] static reads elsewhere(const pod_class& cls) noexcept {
    return cls.claims.empty() ? reads::nothing : reads::claims;
  }
  /// Whether the claims that pods of @p cls share allow one more of them on @p node. O(claims).
  [[nodiscard]] status claims_allow(const pod_class& cls, row_t node) const noexcept;
  /// Whether the pod, which is on no node now, could have on @p node what it and its claims had there.
  [[nodiscard]] bool claims_still_free(row_t pod, row_t node) const;

  // --- pods
  /// Chooses the devices that the pod is to have on @p node, before it is put there. False if there are none for it.
  bool claim_devices(row_t pod, row_t node, const device_rules& rules = {});
  /// The same for a scheduler's decision: it ignores what the pod's claims had there before their last pod left.
  bool claim_anew(row_t pod, row_t node, const device_rules& rules);
  /// Claims the devices that the pod on @p node holds according to the host; without that, leaves them open. Then the pod's shared claims.
  void claim_held(row_t pod, row_t node, std::span<const held_device> held);
  /// Counts the devices of the pod, of class @p cls, as in use, chosen now if they were not before, and the pod as a user of its shared
  /// claims; or undoes that. The pod then keeps its devices, so that it can be put back as it was.
  void pod_came(row_t pod, const pod_class& cls, row_t node) {
    const bool shares = !cls.claims.empty();
    if (nodes_.inventory[node] != nullptr) {
      if (pods_.claim[pod] == nullptr || shares) static_cast<void>(claim_devices(pod, node));
      count_devices(pod, node, +1);
    }
    if (shares) count_users(cls, node, +1);
  }
  /// The same for a restored pod, with exactly the devices that it had (`pod_table::claim`), even if none: nothing is chosen. Its
  /// shared claims follow when all of their users are there (`allocate_again`).
  void pod_came_again(row_t pod, const pod_class& cls, row_t node) {
    count_devices(pod, node, +1);
    for (const resource_claim_id claim : cls.claims)
      resource_claims.users.set(claim.row, resource_claims.users[claim.row] + 1);
  }
  void pod_leaves(row_t pod, const pod_class& cls, row_t node) {
    count_devices(pod, node, -1);
    if (!cls.claims.empty()) count_users(cls, node, -1);
  }
  /// Makes the devices that a reservation has on @p node available, until it is closed; the second call undoes that.
  void open_reservation(row_t pod, row_t node) { count_devices(pod, node, -1); }
  void undo_open_reservation(row_t pod, row_t node) { count_devices(pod, node, +1); }
  /// Lets it hold again what @p taken leaves of @p held, which is everything that it has; null: nothing.
  void close_reservation(row_t pod, row_t node, const device_claim* held, std::span<const device_claim* const> taken);
  /// Chooses devices for the pod, before it is put there, among those of an open reservation. False if they do not suffice.
  bool claim_within(row_t pod, row_t node, const device_claim& held);
  /// Drops what the pod had on a node that it has left, and its shared claims without users.
  void drop_claim(row_t pod) {
    if (pods_.claim[pod] != nullptr) pods_.claim.set(pod, nullptr);
    drop_unused(classes_[pods_.cls[pod]].claims);
  }
  void drop_unused(std::span<const resource_claim_id> shared);
  /// The pod, of class @p cls, runs: from now on its shared claims last only as long as their users.
  void pod_runs(const pod_class& cls) {
    for (const resource_claim_id claim : cls.claims) {
      if (resource_claims.kept[claim.row]) resource_claims.kept.set(claim.row, false);
    }
  }
  /// The first pod of a class that names shared claims was added, or the last one removed.
  void class_came(const pod_class& cls);
  void class_left(const pod_class& cls);

  // --- claims and nodes
  /// Allocates the claim on @p node, with the devices that the host named, before a pod uses it; the second call undoes that.
  void keep_claim(row_t claim, row_t node);
  void deallocate(row_t claim);
  /// Allocates a restored claim as it was. @pre it is allocated nowhere
  void allocate_again(row_t claim, row_t node, std::unique_ptr<const device_claim> devices, bool kept) {
    resource_claims.kept.set(claim, kept);
    allocate(claim, node, std::move(devices));
  }
  /// The inventory that nodes with equal devices share; @p said is the host's spec of them. O(inventories); for a new one also the calls of
  /// the host.
  [[nodiscard]] std::shared_ptr<const device_inventory> share(device_inventory&& inventory, const node_devices& said);
  /// Marks the unhealthy ones of a new node's devices.
  void mark_devices(row_t node);
  /// To be called around a change of a node's devices: saves what each pod has, by device id; restores what still exists, be it healthy or
  /// not, first to those that had it, and keeps the rest as absent. Then pods whose devices are unknown choose among what is left.
  [[nodiscard]] node_claims take_claims(row_t node);
  void give_claims(row_t node, const node_claims& all);
  void claim_rest(row_t node, const node_claims& all);
  /// A claim on @p node in the host's terms; the second call: the part of it that the pod has there if it is not shared.
  [[nodiscard]] std::vector<held_device> told(const device_claim& claim, row_t node) const;
  [[nodiscard]] std::unique_ptr<device_claim> held_alone(row_t pod, row_t node,
                                                         std::span<const held_device> held) const;

  // --- the host's answers about devices
  void answer_by(const device_matcher& matcher) noexcept { matcher_ = matcher; }
  [[nodiscard]] const device_matcher& matcher() const noexcept { return matcher_; }
  /// Calls the host for the expressions of @p requests that it has not answered yet.
  void ask_host(std::span<const device_request> requests);
  /// False if @p requests have expressions and there is no matcher to evaluate them.
  [[nodiscard]] bool can_ask(std::span<const device_request> requests) const;

  // --- for collections
  [[nodiscard]] std::size_t inventories() const noexcept { return inventories_.size(); }
  /// The number of expressions; and how many are new since the last sweep.
  [[nodiscard]] std::size_t expressions() const noexcept { return expressions_.size(); }
  [[nodiscard]] std::size_t expressions_made() const noexcept { return expressions_made_; }
  /// Drops inventories without nodes, and expressions that are not marked. Marks the names of the rest.
  void sweep() noexcept;

 private:
  [[nodiscard]] std::optional<device_want> only_counted_want(const pod_class& cls, row_t node) const;
  bool claim_shared(row_t pod, row_t node, const device_rules& rules);
  [[nodiscard]] std::vector<held_device> hold(row_t node, device_wants& wants, std::span<const held_device> held,
                                              std::vector<std::int64_t>& words, device_claim& made) const;
  [[nodiscard]] device_wants held_wants(row_t node, device_wants wants, std::span<const held_device> held) const;
  void allocate(row_t claim, row_t node, std::unique_ptr<const device_claim> devices);
  void count_devices(row_t pod, row_t node, std::int64_t sign);
  void count_changes(const device_claim& claim, row_t node, std::int64_t sign);
  void count_users(const pod_class& cls, row_t node, std::int64_t sign);
  void clear_devices(row_t node);
  void ask_host(const device_inventory& inventory);

  change_log& log_;
  interner& names_;
  node_table& nodes_;
  pod_table& pods_;
  class_table& classes_;
  const resource_kinds& kinds_;
  bool& in_hook_;
  /// By canonical bytes: nodes with equal devices share one.
  std::vector<std::pair<std::string, std::weak_ptr<const device_inventory>>> inventories_;
  device_matcher matcher_;
  std::vector<std::pair<symbol, symbol>>
      expressions_;  // that the host is asked about, and of which class of devices; no state
  std::size_t expressions_made_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/device_ledger.cpp"
#include "gangsched/src/model/device_ledger_answers.cpp"
#include "gangsched/src/model/device_ledger_claims.cpp"
#endif
