#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/model/affinity_spec.hpp"

/// Reservations as in Koordinator (its Reservation object and its plugin Reservation): a pod that holds what it requests for later pods,
/// its owners. docs/reservations.md.
namespace gangsched::inline GANGSCHED_ABI {

/// Which pods may use a reservation: everything that is given has to match the pod. An empty one matches every pod.
struct reservation_owner {
  std::string pod = {};            ///< its name; empty: any
  std::string ns = {};             ///< its namespace; empty: any
  controller_ref controller = {};  ///< of it; without a kind any, without a name any of the kind
  std::optional<label_selector> labels = {};
};

/// How owners draw from a reservation (Koordinator's allocatePolicy).
enum class allocate_policy : std::uint8_t {
  aligned,  ///< owners take what is left of the reservation, and what they need beyond that from what is free on the node
  restricted  ///< of the resources that are restricted an owner's request has to be left there as a whole
};

/// Whether a reservation may hold what running pods among its owners already have: they then draw from it, and what they leave stays held.
enum class pre_allocation : std::uint8_t {
  none,
  if_needed,  ///< where it does not fit beside them
  required    ///< of at least one pod
};

/// What makes a pod a reservation.
struct reservation_spec {
  std::vector<reservation_owner> owners = {};  ///< one of them has to match; none: no pod may use it
  bool once = true;  ///< allocateOnce: it ends with the first owner that runs, and holds nothing any more
  allocate_policy policy = allocate_policy::aligned;
  std::vector<std::string> restricted = {};  ///< of policy restricted; none that it requests: all of those
  gangsched::pre_allocation pre_allocation = gangsched::pre_allocation::none;
  std::int64_t order = 0;  ///< lowest first; 0: after those that have one, by how full they would be
  /// When it is placed, not before: from its addition on, nodes are drained for it (maintenance, a planned job).
  std::optional<instant> starts = {};
  std::optional<instant> expires = {};  ///< it is to be removed then, whatever is left of it
  bool unschedulable = false;           ///< new owners do not use it, unless they name it
  std::vector<taint> taints = {};       ///< as `reservation_affinity` says
};

/// The reservation that a pod must be in: it runs in one that it may use, or not at all (ReservationAffinity in Koordinator).
struct reservation_affinity {
  std::string name = {};    ///< of the reservation, which is its pod's name; then nothing else counts
  label_map selector = {};  ///< labels of the reservation, or, where it has none of that key, of its node
  std::optional<std::vector<node_selector_term>> required = {};  ///< the same; metadata.name is the reservation's
  std::vector<toleration> tolerations = {};  ///< of its taints but prefer_no_schedule; without an affinity: all
};

}  // namespace gangsched::inline GANGSCHED_ABI
