// What a crowd of alike pods is known to be, against what each of them would be by itself.
#include "gangsched/model/pod_templates.hpp"

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/make_class.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/model/validate.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::pod_templates_test {

namespace {

/// One of few enough that they come again and again.
pod_spec any_pod(dice& random, int number) {
  a_pod made{"p" + std::to_string(number)};
  made.cpu(random.between(1, 2)).ns(random.percent(70) ? "default" : "other");
  if (random.percent(40)) made.label("app", random.percent(50) ? "a" : "b");
  if (random.percent(20)) made.milli(random.percent(50) ? 500 : 250);
  if (random.percent(20)) made.device({.mig_profile = random.percent(50) ? "1g.5gb" : "2g.10gb"});
  if (random.percent(20)) made.tolerate("key", random.percent(50) ? "x" : "y");
  if (random.percent(10)) made.port(random.percent(50) ? 80 : 81);
  if (random.percent(10)) made.image("img:" + std::to_string(random.below(2)));
  if (random.percent(10)) made.spec.node_selector["zone"] = "z" + std::to_string(random.below(2));
  if (random.percent(10)) made.spec.guaranteed = true;
  if (random.percent(20)) made.spec.priority_class = random.percent(50) ? "high" : "low";
  if (random.percent(15))
    made.spec.affinity_to_pods.required.push_back(
        {.topology_key = "host", .selector = label_selector{{{"app", "a"}}, {}}});
  if (random.percent(15)) made.avoid("app", random.percent(50) ? "a" : "b", "host");
  if (random.percent(10)) made.prefer(5, "zone", {random.percent(50) ? "z0" : "z1"});
  if (random.percent(10))
    made.spec.topology_spread_constraints.push_back({.topology_key = "zone",
                                                     .max_skew = random.percent(50) ? 1 : 2,
                                                     .selector = label_selector{{{"app", "a"}}, {}}});
  if (random.percent(10)) made.spec.controller = {controller_kind::replica_set, "set"};
  if (random.percent(10)) made.spec.load.cpu_percent = random.percent(50) ? 50 : 60;
  if (random.percent(10)) made.require(random.percent(50) ? "X" : "Y");
  if (random.percent(5)) made.gate("wait/here");
  return made;
}

class_id plain_class(model::cluster_state& state, const pod_spec& spec) {
  const std::int32_t priority = spec.priority_class.empty() ? 0 : spec.priority_class == "high" ? 10 : 1;
  return make_class(state, spec, requests_of(spec, state.semantics).value(), priority,
                    preemption_policy::preempt_lower_priority);
}

}  // namespace

TEST_CASE("a pod of a crowd is of the class that it would be of by itself", "[model][class][templates]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    dice random{seed};
    cluster c;
    model::cluster_state& state = inside(c);
    for (const char* name : {"high", "low"})
      REQUIRE(c.set_priority_class({.name = name, .value = name == std::string_view{"high"} ? 10 : 1}));
    std::vector<std::pair<pod_id, pod_spec>> live;
    std::size_t known = 0;
    for (int step = 0; step < 600; ++step) {
      const std::size_t what = random.below(100);
      if (what < 25 && !live.empty()) {
        const std::size_t at = random.below(live.size());
        REQUIRE(c.remove_pod(live[at].first));
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what < 28) {
        REQUIRE(c.set_namespace({.name = "other", .labels = {{"team", std::to_string(random.below(2))}}}));
      } else if (step == 300) {
        state.counting.add_default_spread(
            {.constraints = {{.topology_key = "host", .action = when_unsatisfiable::schedule_anyway}}});
      } else if (what < 30) {
        REQUIRE(c.set_controller(
            {.name = "set", .selector = label_selector{{{"app", random.percent(50) ? "a" : "b"}}, {}}}));
      } else if (what < 33) {
        // A trial whose counters, and the epoch that they moved, are taken back.
        const transaction trial{state};
        REQUIRE(c.add_pod(any_pod(random, 100'000 + step)));
      } else {
        const pod_spec spec = any_pod(random, step);
        known += state.templates.find(spec) != nullptr;
        const result<pod_id> made = c.add_pod(spec);
        REQUIRE(made.has_value());
        live.emplace_back(*made, spec);
      }
      if (live.empty()) continue;
      const auto& [pod, spec] = live[random.percent(50) ? live.size() - 1 : random.below(live.size())];
      const class_id its = state.class_of(pod.row);  // first: counters that it names live then
      REQUIRE(its == plain_class(state, spec));
    }
    REQUIRE(known > 20);
  }
}

TEST_CASE("what is wrong with one pod of a crowd is said in the same words", "[model][class][templates]") {
  cluster c;
  const node_id node = c.add_node(a_node("n").cpu(64)).value();
  for (int i = 0; i < 3; ++i) REQUIRE(c.add_pod(a_pod("p" + std::to_string(i)).cpu(1)));
  REQUIRE(inside(c).templates.find(a_pod("q").cpu(1)) != nullptr);
  a_pod held = a_pod("held").cpu(1), gated = a_pod("gated").cpu(1).gate("wait/here").on(node),
        twice = a_pod("twice").cpu(1).gate("a/b").gate("a/b");
  held.spec.held_devices.push_back({.id = "GPU-0"});
  for (const a_pod& bad : {a_pod("Not a name").cpu(1), held, gated, twice}) {
    const result<pod_id> made = c.add_pod(bad);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().message() == check(bad.spec)->message());
  }
}

}  // namespace gangsched::testing::pod_templates_test
