#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<budget_id> cluster::add_disruption_budget(const pod_disruption_budget_spec& spec) {
  GANGSCHED_TELL(add_disruption_budget, add_disruption_budget(spec), spec);
  model::cluster_state& state = *state_;
  auto& budgets = state.named.budgets;
  const std::string object = detail::object_name("disruption budget", spec.ns, spec.name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  const std::optional<symbol> known = state.names.find(spec.ns);
  if (known && budgets.by_name.find(*known, spec.name) != no_row)
    return error{errc::duplicate, object, "name", "exists already"};
  const symbol ns = state.names.intern(spec.ns);
  const row_t row = budgets.rows.take();
  budgets.record.grow(row + 1);
  budgets.record.set(row, std::make_unique<model::budget_record>(model::budget_record{spec, ns}));
  budgets.by_name.insert(ns, spec.name, row);
  state.changed({.kind = change_kind::budget_changed, .row = row});
  whole.keep();
  return budget_id{row, budgets.rows.generation(row)};
}

GANGSCHED_INLINE result<void> cluster::update_disruption_budget(budget_id budget,
                                                                const pod_disruption_budget_spec& spec) {
  GANGSCHED_TELL(update_disruption_budget, update_disruption_budget(budget, spec), budget, spec);
  model::cluster_state& state = *state_;
  const std::string object = detail::object_name("disruption budget", spec.ns, spec.name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (!contains(budget)) return detail::unknown_id("disruption budget");
  if (auto wrong = check(spec)) return std::move(*wrong);
  const model::budget_record& record = *state.named.budgets.record[budget.row];
  const auto cannot = [&](const char* field, const char* why) { return error{errc::wrong_state, object, field, why}; };
  if (record.spec.name != spec.name) return cannot("name", "a disruption budget cannot be renamed");
  if (record.spec.ns != spec.ns) return cannot("ns", "a disruption budget cannot change its namespace");
  const auto said = [](const pod_disruption_budget_spec& one) {
    return canonical::bytes(one.selector, one.disruptions_allowed, one.disrupted_pods);
  };
  if (said(record.spec) == said(spec)) return {};
  state.named.budgets.record.set(budget.row,
                                 std::make_unique<model::budget_record>(model::budget_record{spec, record.ns}));
  state.changed({.kind = change_kind::budget_changed, .row = budget.row});
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_disruption_budget(budget_id budget) {
  GANGSCHED_TELL(remove_disruption_budget, remove_disruption_budget(budget), budget);
  model::cluster_state& state = *state_;
  auto& budgets = state.named.budgets;
  GANGSCHED_REFUSE_IN_HOOK(state, "disruption budget");
  call_mark whole{state};
  if (!contains(budget)) return detail::unknown_id("disruption budget");
  budgets.by_name.erase(budgets.record[budget.row]->ns, budgets.record[budget.row]->spec.name);
  budgets.record.set(budget.row, nullptr);
  budgets.rows.give_back(budget.row);
  state.changed({.kind = change_kind::budget_changed, .row = budget.row});
  whole.keep();
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
