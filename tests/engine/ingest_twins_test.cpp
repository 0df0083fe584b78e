// Pods in crowds, in a cluster that knows them again and in one that has forgotten every pod before the next comes: all answers, decisions
// and states are the same.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/gangsched.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::ingest_twins_test {

namespace {

/// One of few enough that they come again and again; @p bad: wrong in one thing.
pod_spec any_pod(dice& random, int number, bool bad) {
  a_pod made{"p" + std::to_string(number)};
  made.cpu_milli(random.percent(80) ? 100 : 300).ns(random.percent(80) ? "default" : "other");
  if (random.percent(60)) made.label("app", random.percent(50) ? "a" : "b");
  if (random.percent(20)) made.tolerate("key", random.percent(50) ? "x" : "y");
  if (random.percent(20)) made.select("zone", random.percent(50) ? "z0" : "z1");
  if (random.percent(15)) made.avoid("app", random.percent(50) ? "a" : "b", random.percent(50) ? "host" : "zone");
  if (random.percent(15)) made.prefer(5, "zone", {random.percent(50) ? "z0" : "z1"});
  if (random.percent(15))
    made.spec.affinity_to_pods.preferred.push_back(
        {3, {.topology_key = "zone", .selector = label_selector{{{"app", "a"}}, {}}}});
  if (random.percent(15))
    made.spec.topology_spread_constraints.push_back({.topology_key = "zone",
                                                     .max_skew = random.percent(50) ? 1 : 2,
                                                     .action = when_unsatisfiable::schedule_anyway,
                                                     .selector = label_selector{{{"app", "a"}}, {}}});
  if (random.percent(10)) made.spec.controller = {controller_kind::replica_set, "set"};
  if (random.percent(20)) made.priority_class(random.percent(50) ? "high" : "low");
  // What makes no class:
  if (random.percent(5)) made.gate("wait/here");
  if (random.percent(10)) made.spec.role = "head";
  if (random.percent(10)) made.spec.max_wait = instant{1'000'000'000};
  if (random.percent(10)) made.spec.expected_run_time = instant{5};
  if (random.percent(10)) made.spec.start_time = instant{random.between(1, 3)};
  made.cookie(random.below(3));
  if (!bad) return made;
  switch (random.below(7)) {
    case 0: made.spec.name = "Not a name"; break;
    case 1: made.spec.scheduling_gates = {"no gate"}; break;
    case 2: made.spec.priority_class = "nobody"; break;
    case 3: made.spec.labels["bad key!"] = ""; break;
    case 4: made.spec.affinity.preferred.push_back({.weight = 101}); break;
    case 5: made.spec.containers.back().requests["cpu"] = quantity{std::int64_t{1} << 62}; break;
    default: made.spec.max_wait = instant{-1};
  }
  return made;
}

struct twin {
  bool forgets;
  gangsched::cluster cluster{};
  gangsched::scheduler scheduler{cluster, profiles::kube_default()};
  std::vector<pod_id> pods{};

  /// Makes a call, and says what came of it.
  template <class Call>
  std::string tell(const Call& call) {
    if (forgets) inside(cluster).templates = {};
    auto made = call(*this);
    return made ? "done" : made.error().message();
  }
  std::string run(instant now) {
    std::string said;
    while (const cycle one = scheduler.schedule_cycle(now)) {
      for (const decision& each : one) {
        said += std::to_string(static_cast<int>(each.kind)) + ":" + std::to_string(each.pod.row) + ">" +
                std::to_string(each.node.row) + "/" + std::to_string(each.pod_cookie) + " ";
        if (each.kind == decision_kind::bind && !scheduler.confirm(each.pod)) said += "?";
      }
    }
    return said;
  }
};

}  // namespace

TEST_CASE("a cluster that knows pods again does what one does that never does", "[engine][templates]") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    twin both[2] = {{false}, {true}};
    dice random{seed};
    const auto same = [&](const auto& call) {
      const std::string one = both[0].tell(call), other = both[1].tell(call);
      REQUIRE(one == other);
      return one == "done";
    };
    for (int i = 0; i < 6; ++i)
      same([&](twin& of) {
        return of.cluster.add_node(a_node("n" + std::to_string(i))
                                       .cpu(3)
                                       .label("zone", "z" + std::to_string(i % 3))
                                       .label("host", "n" + std::to_string(i)));
      });
    for (const char* name : {"high", "low"})
      same([&](twin& of) {
        return of.cluster.set_priority_class({.name = name, .value = name == std::string_view{"high"} ? 10 : 1});
      });
    std::vector<pod_spec> live;
    std::size_t known = 0, refused = 0;
    for (int step = 0; step < 500; ++step) {
      INFO("seed " << seed << ", step " << step);
      const std::size_t what = random.below(100);
      const std::size_t at = live.empty() ? 0 : random.below(live.size());
      if (what < 20 && !live.empty()) {
        same([&](twin& of) { return of.cluster.remove_pod(of.pods[at]); });
        for (twin& of : both) of.pods.erase(of.pods.begin() + static_cast<std::ptrdiff_t>(at));
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what < 35 && !live.empty()) {
        pod_spec spec = any_pod(random, step, random.percent(15));
        spec.name = live[at].name, spec.ns = live[at].ns;
        const bool bound = static_cast<bool>(both[0].cluster.node_of(both[0].pods[at]));
        if (bound) spec.scheduling_gates.clear();
        const bool done = same([&](twin& of) {
          pod_spec mine = spec;
          if (bound) mine.node = of.cluster.node_of(of.pods[at]);
          return of.cluster.update_pod(of.pods[at], mine);
        });
        if (done) live[at] = spec;
      } else if (what < 45) {
        pod_spec like = any_pod(random, step, random.percent(15));
        if (random.percent(30)) like.rank = 4;
        std::vector<std::string> names;
        for (std::size_t i = 0; i < 1 + random.below(4); ++i)
          names.push_back("q" + std::to_string(4 * step) + "-" + std::to_string(i));
        if (random.percent(10)) names.push_back(names.front());
        if (random.percent(10)) names.push_back("No name");
        const bool done = same([&](twin& of) {
          auto made = of.cluster.add_pods(like, names);
          if (made) of.pods.insert(of.pods.end(), made->begin(), made->end());
          return made;
        });
        refused += !done;
        for (std::size_t i = 0; done && i < names.size(); ++i) {
          live.push_back(like);
          live.back().name = names[i];
        }
      } else if (what < 48) {
        const pod_spec spec = any_pod(random, 100'000 + step, false);
        for (twin& of : both) {
          if (of.forgets) inside(of.cluster).templates = {};
          const transaction trial{inside(of.cluster)};
          REQUIRE(of.cluster.add_pod(spec));
        }
      } else if (what < 50) {
        same([&](twin& of) {
          return of.cluster.set_namespace({.name = "other", .labels = {{"team", std::to_string(step % 2)}}});
        });
      } else if (what < 52) {
        inside(both[0].cluster).collection.always = inside(both[1].cluster).collection.always = step % 2 == 0;
      } else if (what < 60) {
        const std::string one = both[0].run(instant{step + 1}), other = both[1].run(instant{step + 1});
        REQUIRE(one == other);
      } else {
        const pod_spec spec = any_pod(random, step, random.percent(10));
        known += inside(both[0].cluster).templates.find(spec) != nullptr;
        const bool done = same([&](twin& of) {
          auto made = of.cluster.add_pod(spec);
          if (made) of.pods.push_back(*made);
          return made;
        });
        if (done) live.push_back(spec);
        refused += !done;
      }
      REQUIRE(both[0].pods == both[1].pods);
      if (step % 25 == 0) REQUIRE(inside(both[0].cluster).digest() == inside(both[1].cluster).digest());
    }
    REQUIRE(both[0].run(instant{1000}) == both[1].run(instant{1000}));
    REQUIRE(inside(both[0].cluster).digest() == inside(both[1].cluster).digest());
    REQUIRE(known > 10);
    REQUIRE(refused > 10);
  }
}

TEST_CASE("pods made alike share what they say, and a pod that says something else has its own", "[model][templates]") {
  cluster c;
  const auto details = [&](const pod_spec& spec) {
    return inside(c).pods.record[c.add_pod(spec).value().row]->details.get();
  };
  const auto like = [](int i) { return a_pod("p" + std::to_string(i)).cpu(1).label("app", "a").cookie(7); };
  for (int i = 0; i < 2; ++i) static_cast<void>(details(like(i)));
  const auto* shared = details(like(2));
  CHECK(details(like(3)) == shared);
  CHECK(details(like(4).cookie(8)) == shared);
  CHECK(details(like(5).gate("wait/here")) != shared);
  a_pod head = like(6);
  head.spec.role = "head";
  CHECK(details(head) != shared);
  CHECK(details(like(7).label("app", "b")) != shared);
}

}  // namespace gangsched::testing::ingest_twins_test
