#include <optional>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/flavor_assigner.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::kueue_assign_test {

using namespace gangsched::queues;
using namespace gangsched::queues::kueue;

/// Answers always the same.
class fixed_oracle final : public preemption_oracle {
 public:
  explicit fixed_oracle(preemption_outlook answer) : answer_(answer) {}
  oracle_answer ask(fr_index, std::int64_t) override { return {answer_, 0}; }

 private:
  preemption_outlook answer_;
};

/// Flavors "one" and "two" with 10 cpus each, of which the first has 2 in use.
struct world {
  explicit world(flavor_fungibility rules = {}, std::vector<flavor_spec> flavors = {{"one"}, {"two"}})
      : of(configuration::make({.flavors = std::move(flavors),
                                .queues = {{.name = "q",
                                            .groups = {{{"cpu", "pods"}, {{"one", {{10}, {5}}}, {"two", {{10}, {5}}}}}},
                                            .fungibility = rules}}})
               .value()),
        ledger(of) {
    ledger.add(of.first_queue(), of.find_fr(0, of.find_resource("cpu")), 2);
  }
  /// "flavor mode" of the cpus of each pod set, and the mode of all.
  std::string assign(const workload_spec& spec, preemption_outlook answer = preemption_outlook::preempt,
                     std::vector<std::int32_t> counts = {}, std::vector<std::uint32_t> begin = {}) {
    static const char* const modes[] = {"NoFit", "Preempt", "DeferredFit", "Fit"};
    const workload_shape shape = workload_shape::make(of, spec).value();
    fixed_oracle oracle{answer};
    flavor_assigner assigner{ledger};
    assigner.assign(shape, counts, begin, oracle, made);
    std::string text = modes[static_cast<std::size_t>(made.mode)];
    for (const assignment::pod_set& pods : made.pod_sets)
      for (const chosen_flavor& one : made.flavors_of(pods))
        if (of.resource(one.resource) == "cpu")
          text += "; " + of.flavor(one.flavor).name + " " + modes[static_cast<std::size_t>(one.mode)];
    return text;
  }

  configuration of;
  quota_ledger ledger;
  assignment made;
};

workload_spec needs(std::int64_t cpu, std::int32_t count = 1) {
  return {.name = "w", .queue = "q", .pod_sets = {{.count = count, .requests = {{"cpu", cpu}}}}};
}

TEST_CASE("K17: whether the search stops at a flavor that needs preemption is for whenCanPreempt to say") {
  world stops{{.when_can_preempt = flavor_search::may_stop}};
  CHECK(stops.assign(needs(9)) == "Preempt; one Preempt");
  CHECK(stops.made.has_pending_flavors());
  CHECK(stops.made.next_flavor == std::vector<std::uint32_t>{1});
  CHECK(stops.assign(needs(9), preemption_outlook::preempt, {}, {1}) == "Fit; two Fit");
  CHECK_FALSE(stops.made.has_pending_flavors());
  world goes_on;
  CHECK(goes_on.assign(needs(9)) == "Fit; two Fit");
  CHECK(goes_on.made.next_flavor == std::vector<std::uint32_t>{0});
}

TEST_CASE(
    "without candidates in the first flavor the search goes on, and such a flavor is worse than any other that is "
    "possible") {
  world w{{.when_can_preempt = flavor_search::may_stop}};
  CHECK(w.assign(needs(9), preemption_outlook::no_candidates) == "Fit; two Fit");
  CHECK(w.made.attempts.size() == 2);
  CHECK(w.made.attempts[0].mode == fit_mode::preempt);
}

TEST_CASE("pod sets see what those before them got, and all the resources of a group have one flavor") {
  world w;
  workload_spec two = needs(6);
  two.pod_sets.push_back(two.pod_sets[0]);
  CHECK(w.assign(two) == "Fit; one Fit; two Fit");
  CHECK(w.made.usage.size() == 4);
  CHECK(w.assign(needs(1, 6)) == "NoFit");  // six pods are more than the quota of pods
}

TEST_CASE("a resource that the queue lacks is in the way unless nothing of it is requested") {
  world w;
  workload_spec spec = needs(1);
  spec.pod_sets[0].requests["example.com/gpu"] = 0;
  CHECK(w.assign(spec) == "Fit; one Fit");
  spec.pod_sets[0].requests["example.com/gpu"] = 1;
  CHECK(w.assign(spec) == "NoFit");
}

TEST_CASE("taints and labels of a flavor keep pods off it; labels that it does not name do not") {
  const std::vector<flavor_spec> flavors{
      {.name = "one", .labels = {{"type", "a"}, {"size", "7"}}, .taints = {{"spot"}}},
      {.name = "two", .labels = {{"type", "b"}}}};
  world w{{}, flavors};
  const auto with = [&](auto&& change) {
    workload_spec spec = needs(1);
    spec.pod_sets[0].tolerations = {{.key = "spot"}};
    change(spec.pod_sets[0]);
    return w.assign(spec);
  };
  const auto affine = [&](label_requirement one) { return with([&](pod_set_spec& pods) { pods.affinity = {{one}}; }); };
  CHECK(with([](pod_set_spec&) {}) == "Fit; one Fit");
  CHECK(with([](pod_set_spec& pods) { pods.tolerations.clear(); }) == "Fit; two Fit");
  CHECK(with([](pod_set_spec& pods) { pods.tolerations = {{.key = "spot", .value = "no"}}; }) == "Fit; two Fit");
  CHECK(with([](pod_set_spec& pods) { pods.tolerations = {{}}; }) == "Fit; one Fit");
  CHECK(with([](pod_set_spec& pods) { pods.tolerations = {{.what = effect::no_execute}}; }) == "Fit; two Fit");
  CHECK(with([](pod_set_spec& pods) { pods.node_selector = {{"type", "b"}}; }) == "Fit; two Fit");
  CHECK(with([](pod_set_spec& pods) { pods.node_selector = {{"zone", "x"}}; }) == "Fit; one Fit");
  CHECK(affine({"type", label_operator::in, {"b"}}) == "Fit; two Fit");
  CHECK(affine({"type", label_operator::not_in, {"a"}}) == "Fit; two Fit");
  CHECK(affine({"zone", label_operator::in, {"x"}}) == "Fit; one Fit");
  CHECK(affine({"size", label_operator::exists}) == "Fit; one Fit");
  CHECK(affine({"size", label_operator::does_not_exist}) == "Fit; two Fit");
  CHECK(affine({"size", label_operator::greater, {"6"}}) == "Fit; one Fit");
  CHECK(affine({"size", label_operator::less, {"7"}}) == "Fit; two Fit");
  CHECK(with([](pod_set_spec& pods) {
          pods.affinity = {{{"type", label_operator::in, {"b"}}}, {{"zone", label_operator::in, {"x"}}}};
        }) == "Fit; one Fit");  // the second term says nothing of flavors
}

TEST_CASE("a flavor's own tolerations count, and preferences keep nobody off it") {
  const std::vector<flavor_spec> flavors{
      {.name = "one", .taints = {{"spot"}, {"soft", "", effect::prefer_no_schedule}}, .tolerations = {{.key = "spot"}}},
      {.name = "two"}};
  CHECK(world{{}, flavors}.assign(needs(1)) == "Fit; one Fit");
}

TEST_CASE("with fewer pods than all, flavors are those of so many pods") {
  world w;
  CHECK(w.assign(needs(4, 3)) == "NoFit");
  CHECK(w.assign(needs(4, 3), preemption_outlook::preempt, {2}) == "Fit; one Fit");
  CHECK(w.made.pod_sets[0].count == 2);
  workload_spec done = needs(4, 3);
  done.pod_sets[0].reclaimable = 3;
  CHECK(w.assign(done, preemption_outlook::preempt, {2}) == "Fit; one Fit");
  CHECK(w.made.pod_sets[0].count == 0);
}

TEST_CASE("equal shapes have equal keys, and what flavors depend on makes another") {
  const world w;
  const auto key = [&](auto&& change) {
    workload_spec spec = needs(2, 3);
    change(spec);
    return workload_shape::make(w.of, spec).value().key;
  };
  const std::string plain = key([](workload_spec&) {});
  CHECK(key([](workload_spec& s) { s.name = "other", s.uid = "x", s.created = instant{5}; }) == plain);
  CHECK(key([](workload_spec& s) { s.priority = 1; }) != plain);
  const auto finished = [&](std::optional<std::int32_t> least) {
    return [least](workload_spec& s) {
      s.pod_sets[0].min_count = least;
      s.pod_sets[0].count = 5;
      s.pod_sets[0].reclaimable = 2;
    };
  };
  CHECK(key(finished({})) == plain);  // three pods are left, which are admitted together
  CHECK(key(finished(1)) != key([](workload_spec& s) { s.pod_sets[0].min_count = 1; }));
  CHECK(key([](workload_spec& s) { s.pod_sets[0].count = 2; }) != plain);
  CHECK(key([](workload_spec& s) { s.pod_sets[0].min_count = 1; }) != plain);
  CHECK(key([](workload_spec& s) { s.pod_sets[0].requests["cpu"] = 1; }) != plain);
  CHECK(key([](workload_spec& s) { s.pod_sets[0].node_selector["a"] = "b"; }) != plain);
  CHECK(key([](workload_spec& s) { s.pod_sets[0].tolerations = {{}}; }) != plain);
  CHECK(key([](workload_spec& s) { s.pod_sets[0].affinity = {{{"a", label_operator::exists}}}; }) != plain);
}

TEST_CASE("a workload is refused by name, field and reason") {
  const world w;
  const auto with = [&](auto&& change) {
    workload_spec spec = needs(1, 3);
    change(spec);
    const auto made = workload_shape::make(w.of, spec);
    return made ? std::string{} : made.error().message();
  };
  const auto affine = [&](label_requirement one) {
    return with([&](workload_spec& s) { s.pod_sets[0].affinity = {{}, {one}}; });
  };
  CHECK(with([](workload_spec& s) { s.queue = "r"; }) == "workload w: queue: there is no queue r");
  CHECK(with([](workload_spec& s) { s.pod_sets.clear(); }) == "workload w: pod_sets: is empty");
  CHECK(with([](workload_spec& s) { s.pod_sets[0].count = -1; }) == "workload w: pod_sets[0].count: is negative");
  CHECK(with([](workload_spec& s) { s.pod_sets[0].min_count = 4; }) ==
        "workload w: pod_sets[0].min_count: has to be from 0 to the count");
  CHECK(with([](workload_spec& s) { s.pod_sets[0].reclaimable = 4; }) ==
        "workload w: pod_sets[0].reclaimable: has to be from 0 to the count");
  CHECK(with([](workload_spec& s) { s.pod_sets[0].requests["cpu"] = -1; }) ==
        "workload w: pod_sets[0].requests[cpu]: is negative");
  CHECK(affine({"a", label_operator::in}) == "workload w: pod_sets[0].affinity[1][0].values: is empty");
  CHECK(affine({"a", label_operator::exists, {"b"}}) ==
        "workload w: pod_sets[0].affinity[1][0].values: has to be empty");
  CHECK(affine({"a", label_operator::less, {"b"}}) ==
        "workload w: pod_sets[0].affinity[1][0].values: has to be one whole number");
}

}  // namespace gangsched::testing::kueue_assign_test
