#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_grant.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/pod_state.hpp"
#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {
// inside.hpp
inline model::cluster_state& inside(cluster_questions& on) noexcept;
inline const model::cluster_state& inside(const cluster_questions& on) noexcept;
}  // namespace detail

class cluster_listing;

/// Questions that a host may ask a `cluster`, each about one object: O(1) if no cost is named. An id or name that nothing has is no error:
/// the answer is nothing, false, 0, "" or a default id. Lists are by row. Several threads may ask at once while no thread writes.
class GANGSCHED_API cluster_questions {
 public:
  /// O(length of the name).
  [[nodiscard]] std::optional<node_id> find_node(std::string_view name) const;
  [[nodiscard]] std::optional<pod_id> find_pod(std::string_view ns, std::string_view name) const;
  [[nodiscard]] std::optional<group_id> find_group(std::string_view ns, std::string_view name,
                                                   bool composite = false) const;
  [[nodiscard]] std::optional<budget_id> find_disruption_budget(std::string_view ns, std::string_view name) const;
  [[nodiscard]] std::optional<resource_claim_id> find_resource_claim(std::string_view ns, std::string_view name) const;
  [[nodiscard]] bool contains(node_id node) const noexcept;
  [[nodiscard]] bool contains(pod_id pod) const noexcept;
  [[nodiscard]] bool contains(group_id group) const noexcept;
  [[nodiscard]] bool contains(budget_id budget) const noexcept;
  [[nodiscard]] bool contains(resource_claim_id claim) const noexcept;
  [[nodiscard]] pod_state state_of(pod_id pod) const noexcept;  ///< none: there is no such pod
  /// Where the pod runs or is assumed; a default id if nowhere.
  [[nodiscard]] node_id node_of(pod_id pod) const noexcept;
  [[nodiscard]] node_id nominated_node_of(pod_id pod) const noexcept;
  /// The group that the pod is a member of; a default id if of none.
  [[nodiscard]] group_id group_of(pod_id pod) const noexcept;
  /// Whether it is being deleted (`cluster::set_terminating`).
  [[nodiscard]] bool is_terminating(pod_id pod) const noexcept;
  /// When the nominated node is expected to have room, if it is reserved for the pod (`scheduler_options::backfill`). O(1).
  [[nodiscard]] std::optional<instant> reserved_from(pod_id pod) const noexcept;
  /// The attempt that gave the pod its node; none if it has no node, or was added with it. O(1).
  [[nodiscard]] bind_attempt attempt_of(pod_id pod) const noexcept;
  /// The priority that the pod was added with; that of its priority class if the spec had none.
  [[nodiscard]] std::int32_t priority_of(pod_id pod) const noexcept;
  /// What add_group or update_group said last; null for an id that nothing has, and while the group is only expected. Valid until the
  /// group is updated or removed. O(1).
  [[nodiscard]] const group_spec* spec_of(group_id group) const noexcept;
  /// The value of a priority class, if there is one of that name. O(1).
  [[nodiscard]] std::optional<std::int32_t> find_priority_class(std::string_view name) const;
  /// Names, and a pod's namespace, are valid until the object is updated or removed; "" for an id that nothing has. O(1).
  [[nodiscard]] std::string_view name_of(node_id node) const;
  [[nodiscard]] std::string_view name_of(pod_id pod) const;
  [[nodiscard]] std::string_view name_of(group_id group) const;
  [[nodiscard]] std::string_view namespace_of(pod_id pod) const;
  [[nodiscard]] std::string_view namespace_of(group_id group) const;
  /// The id of the device that @p grant is about, and of its MIG profile; "" if the node has none such.
  [[nodiscard]] std::string_view name_of(node_id node, const device_grant& grant) const;
  [[nodiscard]] std::string_view profile_of(const device_grant& grant) const;
  /// The name of the capacity that @p grant is about; "" if it is about none. O(1).
  [[nodiscard]] std::string_view capacity_of(node_id node, const device_grant& grant) const;
  /// What the pod has of its node's devices. Valid until it leaves the node or the node changes.
  [[nodiscard]] std::span<const device_grant> devices_of(pod_id pod) const noexcept;
  /// The claims that the pod shares, in its order; where one of them is allocated (a default id: nowhere), what it has there, and how many
  /// pods on nodes use it.
  [[nodiscard]] std::span<const resource_claim_id> claims_of(pod_id pod) const noexcept;
  [[nodiscard]] node_id node_of(resource_claim_id claim) const noexcept;
  [[nodiscard]] std::span<const device_grant> devices_of(resource_claim_id claim) const noexcept;
  [[nodiscard]] std::uint32_t users_of(resource_claim_id claim) const noexcept;
  [[nodiscard]] std::string_view name_of(resource_claim_id claim) const;
  /// The node's devices as they are now (devices/device_inventory.hpp); false in a boolean context if the host told of none.
  [[nodiscard]] device_state devices_of(node_id node) const noexcept;
  [[nodiscard]] std::uint64_t cookie_of(node_id node) const;
  [[nodiscard]] std::uint64_t cookie_of(pod_id pod) const;
  [[nodiscard]] std::uint64_t cookie_of(group_id group) const;
  /// How much of a resource is allocatable on a node, or requested there, as whole numbers: cpu in thousandths (16 cores are 16,000),
  /// memory and storage in bytes, others as they are counted; 0 if it has none of it. O(kinds of resources).
  [[nodiscard]] std::int64_t allocatable(node_id node, std::string_view resource) const;
  [[nodiscard]] std::int64_t requested(node_id node, std::string_view resource) const;
  /// What the owners of a held room have not drawn of it yet on a node, which `requested` contains; same units; 0 if nothing of it is
  /// held there. O(log parts + resources held).
  [[nodiscard]] std::int64_t left_of_room(std::string_view room, node_id node, std::string_view resource) const;
  /// The reservation of that name, in whichever namespace its pod is: the first that came. O(reservations).
  [[nodiscard]] std::optional<pod_id> find_reservation(std::string_view name) const;
  /// The reservation (`pod_spec::reservation`) that a pod on a node draws from; a default id if from none. O(1).
  [[nodiscard]] pod_id reservation_of(pod_id pod) const noexcept;
  /// What a reservation has left for its owners, in the same units; 0 if the pod is no reservation, has no node, or
  /// was for one owner only, which has it. O(1).
  [[nodiscard]] std::int64_t left_of(pod_id reservation, std::string_view resource) const;
  /// A word of a named column: of the host's column, else of the one that reserve hooks count; nothing if there is no such column or
  /// object. O(columns).
  [[nodiscard]] std::optional<std::int64_t> column_of(node_id node, std::string_view column) const;
  [[nodiscard]] std::optional<std::int64_t> column_of(group_id group, std::string_view column) const;
  [[nodiscard]] std::optional<std::int64_t> column_of(pod_id pod, std::string_view column) const;
  [[nodiscard]] std::optional<std::int64_t> column_of(scope_row_id row, std::string_view column) const;
  /// The row of that name, if it was added and not removed since. O(length).
  [[nodiscard]] std::optional<scope_row_id> find_scope_row(std::string_view scope, std::string_view row) const;
  [[nodiscard]] bool contains(scope_row_id row) const noexcept;
  /// Valid until the row is removed; "" for an id that nothing has. O(1).
  [[nodiscard]] std::string_view name_of(scope_row_id row) const;
  /// Pods with a reserved node that are not bound yet (no `bind` has confirmed it), by row. O(pods).
  [[nodiscard]] std::vector<pod_id> assumed() const;
  [[nodiscard]] std::vector<node_id> nodes() const;  ///< O(nodes)
  [[nodiscard]] std::vector<pod_id> pods() const;    ///< O(pods)

  /// Tables of what there is: amounts of nodes, groups with members, specs; to be used with model/cluster_listing.hpp included.
  [[nodiscard]] inline cluster_listing list() const noexcept;

  /// A digest over the whole state: equal states, equal digests. O(state).
  [[nodiscard]] std::uint64_t digest() const;

 protected:
  explicit cluster_questions(std::unique_ptr<model::cluster_state> state) noexcept;
  cluster_questions(cluster_questions&&) noexcept;
  cluster_questions& operator=(cluster_questions&&) noexcept;
  ~cluster_questions();

  std::unique_ptr<model::cluster_state> state_;

 private:
  friend model::cluster_state& detail::inside(cluster_questions& on) noexcept;
  friend const model::cluster_state& detail::inside(const cluster_questions& on) noexcept;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/cluster_questions.cpp"
#endif
