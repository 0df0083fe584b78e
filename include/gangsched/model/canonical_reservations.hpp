#pragma once
#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/reservation_terms.hpp"

/// Canonical bytes of reservations, of their owners, and of a pod's requirements on its reservation.
namespace gangsched::inline GANGSCHED_ABI::canonical {

template <class Out>
void put(Out& out, const controller_ref& v) {
  put_fields(out, v.kind, v.name);
}
template <class Out>
void put(Out& out, const reservation_owner& v) {
  put_fields(out, v.pod, v.ns, v.controller, v.labels);
}
template <class Out>
void put(Out& out, const reservation_spec& v) {
  put_fields(out, v.owners, v.once, v.policy, v.restricted, v.order, v.pre_allocation, v.starts, v.expires,
             v.unschedulable, v.taints);
}
template <class Out>
void put(Out& out, const reservation_affinity& v) {
  put_fields(out, v.name, v.selector, v.required, v.tolerations);
}

}  // namespace gangsched::inline GANGSCHED_ABI::canonical
