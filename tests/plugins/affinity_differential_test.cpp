#include <algorithm>

#include "affinity_reference.hpp"
#include "gangsched/gangsched.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/plugins.hpp"
#include "support/affinity_dice.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

// InterPodAffinity and PodTopologySpread in the engine against the rules computed from nothing, after every kind of event.
namespace gangsched::testing::affinity_differential_test {

namespace {

struct sheet {
  std::vector<std::string> reasons;  ///< by node
  std::vector<std::optional<std::int64_t>> affinity, spread;
};

sheet expected(cluster& c, pod_id pod, const affinity_reference::options& options) {
  affinity_reference rules{c, pod, options};
  sheet made;
  std::vector<row_t> feasible;
  for (const node_id node : c.nodes()) {
    std::string reason = rules.spread(node.row);
    if (reason.empty()) reason = rules.affinity(node.row);
    if (reason.empty()) feasible.push_back(node.row);
    made.reasons.push_back(std::move(reason));
  }
  const auto fill = [&](auto& into, const std::optional<std::vector<std::int64_t>>& scores) {
    into.resize(made.reasons.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < into.size(); ++i) {
      if (made.reasons[i].empty() && scores) into[i] = (*scores)[next++];
    }
  };
  fill(made.affinity, rules.affinity_scores(feasible));
  fill(made.spread, rules.spread_scores(feasible));
  return made;
}

sheet said(scheduler& s, pod_id pod) {
  sheet made;
  const explanation why = s.explain(pod).value();
  for (const node_verdict& node : why.nodes) {
    made.reasons.push_back(node.reasons.empty() ? "" : node.reasons.front());
    made.affinity.emplace_back();
    made.spread.emplace_back();
    for (const plugin_score& one : node.scores)
      (one.plugin == "InterPodAffinity" ? made.affinity : made.spread).back() = one.normalized;
  }
  return made;
}

/// A scheduler of the two plugins, and what it must say.
struct contestant {
  scheduler engine;
  affinity_reference::options options;
};

/// How often each verdict, and each kind of score, came up.
using tally = std::map<std::string, std::size_t>;

void note(tally& seen, const sheet& one) {
  for (const std::string& reason : one.reasons) ++seen[reason];
  const auto scores = [&](const char* name, const auto& all) {
    for (const auto& score : all)
      ++seen[name + std::string{!score ? " absent" : *score == 0 ? " 0" : *score == 100 ? " 100" : " between"}];
  };
  scores("affinity", one.affinity);
  scores("spread", one.spread);
}

void compare(cluster& c, contestant& who, dice& roll, tally& seen) {
  std::vector<pod_id> pending;
  for (const pod_id pod : c.pods()) {
    // Terms are read off classes below: all of them must be up to date.
    static_cast<void>(inside(c).class_of(pod.row));
    if (c.state_of(pod) == pod_state::pending) pending.push_back(pod);
  }
  for (std::size_t i = 0; i < 3 && !pending.empty(); ++i) {
    const pod_id pod = roll.of(pending);
    INFO("pod " << c.name_of(pod));
    const sheet right = expected(c, pod, who.options), got = said(who.engine, pod);
    CHECK(got.reasons == right.reasons);
    CHECK(got.affinity == right.affinity);
    CHECK(got.spread == right.spread);
    note(seen, right);
  }
}

topology_spread constraint(const char* key, std::int32_t skew, when_unsatisfiable action) {
  topology_spread one;
  one.topology_key = key, one.max_skew = skew, one.action = action;
  return one;
}

void duel(std::uint64_t seed, std::size_t steps, tally& seen) {
  INFO("seed " << seed);
  constexpr auto soft = when_unsatisfiable::schedule_anyway;
  const std::vector<topology_spread> system{constraint("kubernetes.io/hostname", 3, soft),
                                            constraint("topology.kubernetes.io/zone", 5, soft)};
  const std::vector<topology_spread> list{constraint("rack", 1, when_unsatisfiable::do_not_schedule),
                                          constraint("rack", 2, soft), constraint("kubernetes.io/hostname", 2, soft)};
  cluster c;
  if (seed % 2 == 0) inside(c).topologies.local_from = 2;
  inside(c).collection.always = seed % 3 == 1;  // names, counters and topologies that nobody names go at every change
  affinity_events events{c, seed, seed % 3 == 0 ? 15u : 35u};
  events.random.shared_hostnames = seed % 4 < 2;
  contestant first{scheduler{c, profile{priority_sort{}, pod_topology_spread{}, inter_pod_affinity{}}},
                   {1, false, system, true}};
  events.add_nodes(3 + seed % 8);
  for (std::size_t i = 0; i < 40; ++i) events.any();
  // The second comes to a cluster that is in use.
  contestant second{scheduler{c, profile{priority_sort{}, pod_topology_spread{list},
                                         inter_pod_affinity{{.hard_pod_affinity_weight = 7,
                                                             .ignore_preferred_terms_of_existing_pods = true}}}},
                    {7, true, list, false}};
  dice& roll = events.random.rolls();
  instant now{0};
  for (std::size_t i = 0; i < steps; ++i) {
    events.any();
    if (roll.percent(10)) {
      transaction trial{c};
      for (std::size_t k = 0; k < 4; ++k) events.any();
      compare(c, roll.percent(50) ? first : second, roll, seen);
    }
    contestant& turn = roll.percent(70) ? first : second;
    compare(c, turn, roll, seen);
    if (!roll.percent(40)) continue;
    now += instant{1'000'000'000};
    for (const decision& one : turn.engine.schedule_cycle(now)) {
      if (one.kind != decision_kind::bind || roll.percent(20)) continue;
      static_cast<void>(turn.engine.confirm(one.pod));
    }
    const auto verified = turn.engine.verify();
    INFO((verified ? std::string{} : verified.error().message()));
    CHECK(verified.has_value());
  }
}

}  // namespace

TEST_CASE("inter-pod affinity and topology spread say what the plain rules say", "[plugins][affinity]") {
  tally seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) duel(seed, 100, seen);
  CHECK(seen.size() == 6 + 2 * 4);  // every verdict and every kind of score
  for (const auto& [what, times] : seen) {
    INFO(what);
    CHECK(times > 300);
  }
}

TEST_CASE("inter-pod affinity and topology spread, for long", "[.][soak]") {
  tally seen;
  for (std::uint64_t seed = 100; seed < 1100; ++seed) duel(seed, 200, seen);
}

// Every decision, with every hook asked again: nothing cached may be older than what it was made of.
TEST_CASE("affinity and spread decide from an index as they would from nothing", "[plugins][affinity]") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    INFO("seed " << seed);
    cluster c;
    if (seed % 2 == 0) inside(c).topologies.local_from = 2;
    affinity_events events{c, 1000 + seed, 30};
    events.random.shared_hostnames = false;
    events.add_nodes(12);
    scheduler s{c, profiles::kube_default(), {.check_hooks = true}};
    instant now{0};
    for (std::size_t i = 0; i < 150; ++i) {
      events.any();
      const cycle done = s.schedule_cycle(now += instant{1'000'000'000});
      INFO((done.error() != nullptr ? done.error()->message() : std::string{}));
      CHECK(done.error() == nullptr);
      for (const decision& one : done) {
        if (one.kind == decision_kind::bind) CHECK(s.confirm(one.pod));
      }
    }
  }
}

}  // namespace gangsched::testing::affinity_differential_test
