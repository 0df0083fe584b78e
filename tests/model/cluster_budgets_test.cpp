// Disruption budgets: what a host says of them, and whom they are about.
#include "gangsched/framework/views.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::cluster_budgets_test {

namespace {

pod_disruption_budget_spec budget(std::string name, label_selector selector = {.match_labels = {{"app", "web"}}}) {
  return {.name = std::move(name), .selector = std::move(selector), .disruptions_allowed = 1};
}

}  // namespace

TEST_CASE("a disruption budget is added, updated, found and removed, each with a record", "[model][cluster][budget]") {
  cluster c;
  const budget_id b = c.add_disruption_budget(budget("b")).value();
  CHECK(c.contains(b));
  CHECK(c.find_disruption_budget("default", "b") == b);
  CHECK_FALSE(c.find_disruption_budget("other", "b"));
  pod_disruption_budget_spec more = budget("b");
  more.disruptions_allowed = 5;
  REQUIRE(c.update_disruption_budget(b, more));
  CHECK(inside(c).named.budgets.record[b.row]->spec.disruptions_allowed == 5);
  REQUIRE(c.remove_disruption_budget(b));
  CHECK_FALSE(c.contains(b));
  CHECK_FALSE(c.find_disruption_budget("default", "b"));
  const happened one{change_kind::budget_changed, b.row};
  CHECK(events_since(c, 0) == std::vector<happened>{one, one, one});
  const budget_id again = c.add_disruption_budget(budget("b")).value();
  CHECK(again != b);
  CHECK_FALSE(c.contains(b));
}

TEST_CASE("a disruption budget that is wrong is refused and changes nothing", "[model][cluster][budget]") {
  cluster c;
  const budget_id b = c.add_disruption_budget(budget("b")).value();
  const auto add = [&](errc code, const char* object, const char* field, const pod_disruption_budget_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.add_disruption_budget(spec); });
  };
  add(errc::duplicate, "disruption budget default/b", "name", budget("b"));
  add(errc::malformed, "disruption budget default/B", "name", budget("B"));
  add(errc::malformed, "disruption budget default/x", "selector.match_labels[\"a b\"]",
      budget("x", {.match_labels = {{"a b", ""}}}));
  add(errc::malformed, "disruption budget default/x", "selector.match_expressions[0].values",
      budget("x", {.match_expressions = {{"app", selector_operator::in, {}}}}));
  pod_disruption_budget_spec bad = budget("x");
  bad.ns = "A";
  add(errc::malformed, "disruption budget A/x", "ns", bad);
  bad = budget("x");
  bad.disruptions_allowed = -1;
  add(errc::out_of_range, "disruption budget default/x", "disruptions_allowed", bad);
  bad = budget("x");
  bad.disrupted_pods = {"fine", ""};
  add(errc::malformed, "disruption budget default/x", "disrupted_pods[1]", bad);

  const auto update = [&](errc code, const char* object, const char* field, budget_id id,
                          const pod_disruption_budget_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.update_disruption_budget(id, spec); });
  };
  update(errc::wrong_state, "disruption budget default/x", "name", b, budget("x"));
  bad = budget("b");
  bad.ns = "other";
  update(errc::wrong_state, "disruption budget other/b", "ns", b, bad);
  update(errc::unknown, "disruption budget", "id", {b.row, b.generation + 1}, budget("b"));
  check_refused(c, errc::unknown, "disruption budget", "id", [&] { return c.remove_disruption_budget({}); });
}

TEST_CASE("a discarded trial leaves the disruption budgets as they were", "[model][cluster][budget]") {
  cluster c;
  const budget_id b = c.add_disruption_budget(budget("b")).value();
  const std::uint64_t before = inside(c).digest_with_derived();
  {
    transaction trial{c};
    REQUIRE(c.remove_disruption_budget(b));
    REQUIRE(c.add_disruption_budget(budget("other")));
    CHECK(inside(c).digest_with_derived() != before);
  }
  CHECK(inside(c).digest_with_derived() == before);
  CHECK(c.find_disruption_budget("default", "b") == b);
}

TEST_CASE("a budget is about labelled pods of its namespace that a selector with content matches",
          "[model][cluster][budget]") {
  cluster c;
  const auto covers = [&](const pod_disruption_budget_spec& spec, const pod_spec& pod) {
    const budget_id b = c.add_disruption_budget(spec).value();
    const pod_id p = c.add_pod(pod).value();
    const budget_view view{*inside(c).named.budgets.record[b.row]};
    const bool said = view.covers(pod_info{inside(c), p.row});
    REQUIRE(c.remove_disruption_budget(b));
    REQUIRE(c.remove_pod(p));
    return said;
  };
  const a_pod web = a_pod{"p"}.label("app", "web");
  CHECK(covers(budget("b"), web));
  CHECK_FALSE(covers(budget("b"), a_pod{"p"}.label("app", "db")));
  CHECK_FALSE(covers(budget("b"), a_pod{"p"}.label("app", "web").ns("other")));
  CHECK(covers(budget("b", {.match_expressions = {{"app", selector_operator::exists, {}}}}), web));
  CHECK_FALSE(covers(budget("b", label_selector{}), web));
  CHECK_FALSE(covers({.name = "b"}, web));
  const label_selector unlabelled{.match_expressions = {{"x", selector_operator::does_not_exist, {}}}};
  CHECK(covers(budget("b", unlabelled), web));
  CHECK_FALSE(covers(budget("b", unlabelled), a_pod{"p"}));
}

TEST_CASE("a budget knows by name which pods are on their way out", "[model][cluster][budget]") {
  cluster c;
  pod_disruption_budget_spec spec = budget("b");
  spec.disrupted_pods = {"gone"};
  const budget_view view{*inside(c).named.budgets.record[c.add_disruption_budget(spec).value().row]};
  CHECK(view.disrupts(pod_info{inside(c), c.add_pod(a_pod{"gone"}).value().row}));
  CHECK_FALSE(view.disrupts(pod_info{inside(c), c.add_pod(a_pod{"stays"}).value().row}));
}

}  // namespace gangsched::testing::cluster_budgets_test
