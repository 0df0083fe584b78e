#pragma once
#include <cstdint>
#include <optional>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/model/queue_spec.hpp"
#include "gangsched/model/reads.hpp"
#include "gangsched/model/spec.hpp"

/// Checks of what a host passes, by Kubernetes' API rules as far as scheduling depends on them. Pure: whether a name or an id exists is
/// checked by `cluster`.
namespace gangsched::inline GANGSCHED_ABI {

/// The parts of a node's spec that an earlier check accepted, beside its name.
struct right_before {
  /// Of labels, taints, allocatable (amounts that are not 0, volume limits), images and features.
  reads parts = reads::nothing;
  std::uint64_t labels = 0;  ///< of the first 64 labels, a bit each
};

/// The first error, naming object ("pod default/web-1"), field ("tolerations[2].effect") and reason. O(size).
[[nodiscard]] GANGSCHED_API std::optional<error> check(const node_spec& spec);
/// The same; the parts in @p right are not checked again.
[[nodiscard]] GANGSCHED_API std::optional<error> check(const node_spec& spec, const right_before& right);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const pod_spec& spec);
/// Only the checks that concern this pod alone; for otherwise equal pods all other checks give the same result.
[[nodiscard]] GANGSCHED_API std::optional<error> check_own(const pod_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const resource_claim_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const held_room_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const group_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const priority_class_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const pod_disruption_budget_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const namespace_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const service_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const controller_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const queue_spec& spec);
[[nodiscard]] GANGSCHED_API std::optional<error> check(const flavor_spec& spec);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/validate.cpp"
#include "gangsched/src/model/validate_queues.cpp"
#endif
