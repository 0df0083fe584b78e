#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<resource_claim_id> cluster::add_resource_claim(const resource_claim_spec& spec) {
  GANGSCHED_TELL(add_resource_claim, add_resource_claim(spec), spec);
  model::cluster_state& state = *state_;
  model::resource_claim_table& claims = state.devices.resource_claims;
  const std::string object = detail::object_name("resource claim", spec.ns, spec.name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  if (spec.node && !contains(spec.node)) return error{errc::unknown, object, "node", "no such node"};
  if (!state.devices.can_ask(spec.devices))
    return error{errc::malformed, object, "devices", "have expressions, and the cluster has no device_matcher"};
  const std::optional<symbol> known = state.names.find(spec.ns);
  if (known && claims.by_name.find(*known, spec.name) != no_row)
    return error{errc::duplicate, object, "name", "exists already"};
  const symbol ns = state.names.intern(spec.ns);
  state.devices.ask_host(spec.devices);
  const row_t row = claims.rows.take();
  claims.record.grow(row + 1), claims.classes.grow(row + 1), claims.users.grow(row + 1);
  claims.node.grow(row + 1), claims.kept.grow(row + 1), claims.held.grow(row + 1);
  claims.record.set(row, std::make_unique<model::resource_claim_record>(
                             model::resource_claim_record{spec, ns, make_demands(spec.devices, state.names),
                                                          make_matches(spec.constraints, spec.devices, state.names)}));
  claims.by_name.insert(ns, spec.name, row);
  if (spec.node) state.devices.keep_claim(row, spec.node.row);
  whole.keep();
  return resource_claim_id{row, claims.rows.generation(row)};
}

GANGSCHED_INLINE result<void> cluster::remove_resource_claim(resource_claim_id claim) {
  GANGSCHED_TELL(remove_resource_claim, remove_resource_claim(claim), claim);
  model::cluster_state& state = *state_;
  model::resource_claim_table& claims = state.devices.resource_claims;
  GANGSCHED_REFUSE_IN_HOOK(state, "resource claim");
  call_mark whole{state};
  if (!contains(claim)) return detail::unknown_id("resource claim");
  const model::resource_claim_record& record = *claims.record[claim.row];
  if (claims.classes[claim.row] != 0) {
    return error{errc::wrong_state, detail::object_name("resource claim", record.spec.ns, record.spec.name), "name",
                 "a pod names it"};
  }
  if (claims.kept[claim.row]) state.devices.deallocate(claim.row);
  claims.by_name.erase(record.ns, record.spec.name);
  claims.record.set(claim.row, nullptr);
  claims.rows.give_back(claim.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::deallocate(resource_claim_id claim) {
  GANGSCHED_TELL(deallocate, deallocate(claim), claim);
  model::cluster_state& state = *state_;
  const model::resource_claim_table& claims = state.devices.resource_claims;
  GANGSCHED_REFUSE_IN_HOOK(state, "resource claim");
  call_mark whole{state};
  if (!contains(claim)) return detail::unknown_id("resource claim");
  if (claims.users[claim.row] != 0) {
    const resource_claim_spec& spec = claims.record[claim.row]->spec;
    return error{errc::wrong_state, detail::object_name("resource claim", spec.ns, spec.name), "node",
                 "a pod there uses it"};
  }
  if (claims.kept[claim.row]) state.devices.deallocate(claim.row);
  whole.keep();
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
