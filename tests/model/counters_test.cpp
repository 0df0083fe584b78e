#include "gangsched/model/counters.hpp"

#include <map>
#include <string>
#include <vector>

#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/affinity_dice.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::counters_test {

namespace {

/// What a counter should say, from the tables of nodes and pods alone.
struct recount {
  std::map<domain_id, std::int32_t> pods;
  std::map<domain_id, std::uint32_t> nodes;
};

/// How often a pod carries the term that a counter counts.
std::int32_t carried(const model::cluster_state& state, row_t pod, const counter_spec& spec) {
  const pod_class& cls = state.classes[state.pods.cls[pod]];
  std::int32_t times = 0;
  const auto look = [&](const pod_affinity_term& term, counts what, std::int32_t weight) {
    if (what != spec.what || weight != spec.weight) return;
    if (state.names.find(term.topology_key) != state.topologies.key(spec.topology)) return;
    model::pod_scope scope{{term.selector, {}, term.namespace_selector}};
    for (const std::string& ns : term.namespaces) scope[0].namespaces.push_back(*state.names.find(ns));
    if (term.namespaces.empty() && !term.namespace_selector) scope[0].namespaces.push_back(cls.ns);
    std::sort(scope[0].namespaces.begin(), scope[0].namespaces.end());
    const auto bytes = [](const model::pod_scope& of) {
      return canonical::bytes(of[0].selector) + canonical::bytes(of[0].namespaces) +
             canonical::bytes(of[0].namespace_selector);
    };
    times += bytes(scope) == bytes(state.counters.scope(spec.scope)) ? 1 : 0;
  };
  for (const auto& term : cls.affinity_to_pods.required) look(term, counts::carrying_affinity, 0);
  for (const auto& term : cls.anti_affinity_to_pods.required) look(term, counts::carrying_anti, 0);
  for (const auto& one : cls.affinity_to_pods.preferred) look(one.term, counts::carrying_preference, one.weight);
  for (const auto& one : cls.anti_affinity_to_pods.preferred) look(one.term, counts::carrying_preference, -one.weight);
  return times;
}

recount count_again(const model::cluster_state& state, const counter_spec& spec) {
  recount made;
  for (row_t node = 0; node < state.nodes.rows.count(); ++node) {
    if (!state.nodes.alive(node)) continue;
    if (spec.nodes != every_node && !takes(state.choices.choice(spec.nodes), *state.nodes.record[node], state.names))
      continue;
    domain_id domain = node;
    if (spec.topology != node_itself) {
      domain = state.topologies.domain(spec.topology, node);
      const auto label = state.nodes.record[node]->label(state.topologies.key(spec.topology));
      if (domain == no_domain) {
        REQUIRE_FALSE(label.has_value());
        continue;
      }
      REQUIRE(state.topologies.value(spec.topology, domain) == label.value_or(symbol{}));
    }
    ++made.nodes[domain];
    for (row_t pod = state.nodes.first_pod[node]; pod != no_row; pod = state.pods.next_on_node[pod]) {
      const model::pod_record& record = *state.pods.record[pod];
      if (spec.what != counts::matching) {
        made.pods[domain] += carried(state, pod, spec);
      } else if (!spec.nobody && !(spec.spread && state.pods.terminating[pod])) {
        made.pods[domain] += matches(state.counters.scope(spec.scope), record.ns, record.details->labels,
                                     state.named.labels_of(record.ns))
                                 ? 1
                                 : 0;
      }
    }
  }
  return made;
}

void check_counters(const model::cluster_state& state) {
  for (counter_id id = 0; id < state.counters.size(); ++id) {
    if (!state.counters.lives(id)) continue;
    const counter_spec& spec = state.counters.spec(id);
    const recount right = count_again(state, spec);
    INFO("counter " << id << " of kind " << static_cast<int>(spec.what) << ", topology " << spec.topology);
    std::int64_t total = 0;
    for (domain_id domain = 0; domain < 64; ++domain) {
      const auto found = right.pods.find(domain);
      const std::int32_t count = found == right.pods.end() ? 0 : found->second;
      INFO("domain " << domain);
      REQUIRE(state.counters.count(id, domain) == count);
      total += count;
    }
    REQUIRE(state.counters.total(id) == total);
    if (!spec.spread || spec.topology == node_itself) continue;
    std::optional<std::int32_t> least;
    for (const auto& [domain, nodes] : right.nodes) {
      const auto found = right.pods.find(domain);
      const std::int32_t count = found == right.pods.end() ? 0 : found->second;
      least = std::min(least.value_or(count), count);
    }
    REQUIRE(state.counters.domains(id) == right.nodes.size());
    REQUIRE(state.counters.least(id) == least.value_or(0));
  }
}

/// Every pod is of the class that its namespace, labels and controller say, whether or not pods like it were asked about before.
void check_classes(model::cluster_state& state) {
  for (row_t row = 0; row < state.pods.rows.count(); ++row) {
    if (!state.pods.alive(row)) continue;
    const pod_class& cls = state.classes[state.class_of(row)];
    const model::pod_record& record = *state.pods.record[row];
    const label_map& labels = record.details->labels;
    REQUIRE(cls.counters.matched == state.counters.matching(record.ns, labels, state.named.labels_of(record.ns)));
    if (state.counting.default_spread.empty() || !cls.spread.empty()) continue;
    const auto selector = state.counting.default_selector(record.ns, labels, record.details->controller);
    REQUIRE(canonical::bytes(cls.default_selector) == canonical::bytes(selector));
  }
}

/// Random events in transactions up to @p depth deep, most of them taken back.
void play(cluster& c, affinity_events& events, int depth, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) {
    if (depth > 0 && events.random.rolls().percent(10)) {
      const std::uint64_t before = inside(c).digest_with_derived();
      transaction trial{c};
      play(c, events, depth - 1, events.random.rolls().below(8));
      if (events.random.rolls().percent(40)) {
        trial.commit();
      } else {
        trial.roll_back();
        REQUIRE(inside(c).digest_with_derived() == before);
      }
    } else if (events.random.rolls().percent(5)) {
      const std::string name = "alike-" + std::to_string(events.random.rolls().below(1000)) + "-";
      static_cast<void>(c.add_pods(events.random.pod({}, 10), std::vector{name + "a", name + "b", name + "c"}));
    } else {
      events.any();
    }
    check_classes(inside(c));
    check_counters(inside(c));
  }
}

}  // namespace

TEST_CASE("counters are what a recount from nothing gives, after any events and roll-backs", "[model][counters]") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    INFO("seed " << seed);
    cluster c;
    if (seed % 2 == 1) {
      topology_spread host, zone;
      host.topology_key = "kubernetes.io/hostname", zone.topology_key = "topology.kubernetes.io/zone";
      host.action = zone.action = when_unsatisfiable::schedule_anyway;
      inside(c).counting.add_default_spread({{host, zone}, seed % 4 == 1});
    }
    affinity_events events{c, seed, 40};
    events.add_nodes(8);
    play(c, events, 3, 200);
  }
}

TEST_CASE("a victim's removal in a trial counts down for spread even what was not counted", "[model][counters]") {
  cluster c;
  const node_id node = c.add_node(a_node("n").zone("a")).value();
  a_pod asks{"asks"};
  asks.label("app", "web");
  asks.spec.topology_spread_constraints.push_back(
      {.topology_key = "topology.kubernetes.io/zone", .selector = label_selector{}});
  asks.spec.topology_spread_constraints.push_back(
      {.topology_key = "kubernetes.io/hostname", .selector = label_selector{.match_labels = {{"app", "web"}}}});
  asks.avoid("app", "web", "topology.kubernetes.io/zone");
  const pod_id pod = c.add_pod(asks).value();
  c.add_node(a_node("other").zone("a").label("kubernetes.io/hostname", "other")).value();
  REQUIRE(c.update_node(node, a_node("n").zone("a").label("kubernetes.io/hostname", "n")));
  const pod_id victim = c.add_pod(a_pod("victim").label("app", "web").terminating().on(node)).value();
  model::cluster_state& state = inside(c);
  const pod_counters& of = state.classes[state.class_of(pod.row)].counters;
  const counter_id everything = of.spread[0].counter, web = of.spread[1].counter, anti = of.anti_affinity[0];
  const domain_id zone = state.topologies.domain(state.counters.spec(everything).topology, node.row);
  const domain_id host = state.topologies.domain(state.counters.spec(web).topology, node.row);
  const auto now = [&] {
    return std::vector<std::int32_t>{state.counters.count(everything, zone), state.counters.least(everything),
                                     state.counters.count(web, host), state.counters.least(web),
                                     state.counters.count(anti, zone)};
  };
  const std::uint64_t before = inside(c).digest_with_derived();
  REQUIRE(now() == std::vector<std::int32_t>{0, 0, 0, 0, 1});
  {
    transaction trial{state};
    state.assigned.take_off_node(victim.row, model::removal::trial);
    CHECK(now() == std::vector<std::int32_t>{-1, -1, -1, -1, 0});
    state.assigned.put_on_node(victim.row, node.row, model::removal::trial);
    CHECK(now() == std::vector<std::int32_t>{0, 0, 0, 0, 1});
    state.assigned.take_off_node(victim.row);
    CHECK(now() == std::vector<std::int32_t>{0, 0, 0, 0, 0});
  }
  CHECK(inside(c).digest_with_derived() == before);
  CHECK(now() == std::vector<std::int32_t>{0, 0, 0, 0, 1});
}

TEST_CASE("the default selector is that of the services and the controller together", "[model][counters]") {
  cluster c;
  inside(c).counting.add_default_spread({{topology_spread{.topology_key = "zone"}}, false});
  const auto selector = [&](const pod_id pod) {
    return inside(c).classes[inside(c).class_of(pod.row)].default_selector;
  };
  const pod_id pod = c.add_pod([] {
                        a_pod made{"p"};
                        made.label("app", "web").label("tier", "f");
                        made.spec.controller = {controller_kind::replica_set, "rs"};
                        return made.spec;
                      }())
                         .value();
  CHECK_FALSE(selector(pod).has_value());
  REQUIRE(c.set_service({"none", "default", {}}));
  REQUIRE(c.set_service({"other", "default", {{"app", "db"}}}));
  REQUIRE(c.set_service({"elsewhere", "blue", {{"app", "web"}}}));
  REQUIRE(
      c.set_controller({controller_kind::stateful_set, "rs", "default", label_selector{.match_labels = {{"a", "b"}}}}));
  CHECK_FALSE(selector(pod).has_value());
  REQUIRE(c.set_service({"web", "default", {{"app", "web"}}}));
  REQUIRE(selector(pod));
  CHECK(selector(pod)->match_labels == label_map{{"app", "web"}});
  REQUIRE(c.set_service({"front", "default", {{"tier", "f"}}}));
  CHECK(selector(pod)->match_labels == label_map{{"app", "web"}, {"tier", "f"}});
  // A controller need not select its pod: then the two exclude each other.
  REQUIRE(c.set_controller(
      {controller_kind::replica_set, "rs", "default", label_selector{.match_labels = {{"app", "old"}}}}));
  CHECK_FALSE(matches(*selector(pod), {{"app", "web"}, {"tier", "f"}}));
  REQUIRE(c.remove_controller(controller_kind::replica_set, "default", "rs"));
  REQUIRE(c.remove_service("default", "web"));
  CHECK(selector(pod)->match_labels == label_map{{"tier", "f"}});
  CHECK(c.remove_service("default", "web").error().code == errc::unknown);
  CHECK(c.set_service({"Bad", "default", {}}).error().field == "name");
  CHECK(c.set_controller({controller_kind::none, "rs", "default", {}}).error().field == "kind");
  CHECK(c.set_controller({controller_kind::stateful_set, "Bad", "blue", {}}).error().object == "stateful set blue/Bad");
  CHECK(c.remove_controller(controller_kind::replica_set, "default", "rs").error().object == "replica set default/rs");
  const pod_id own = c.add_pod([] {
                        a_pod made{"own"};
                        made.label("tier", "f");
                        made.spec.topology_spread_constraints.push_back({.topology_key = "zone"});
                        return made.spec;
                      }())
                         .value();
  CHECK_FALSE(selector(own).has_value());
}

TEST_CASE("a key is local where each of many domains is one node", "[model][counters]") {
  cluster c;
  model::topology_table& topologies = inside(c).topologies;
  const topology_id hosts = topologies.number(inside(c).names.intern("kubernetes.io/hostname"));
  topologies.follow(hosts, inside(c).nodes);
  const auto host = [](int i) {
    const std::string name = "n" + std::to_string(i);
    return a_node(name).label("kubernetes.io/hostname", name);
  };
  std::vector<node_id> nodes;
  for (int i = 0; i < 15; ++i) nodes.push_back(c.add_node(host(i)).value());
  CHECK_FALSE(topologies.local(hosts));
  const std::uint64_t before = topologies.plan_epoch();
  {
    transaction trial{c};
    c.add_node(host(15)).value();
    CHECK(topologies.local(hosts));
    CHECK(topologies.plan_epoch() != before);
  }
  CHECK_FALSE(topologies.local(hosts));
  CHECK(topologies.plan_epoch() == before);
  nodes.push_back(c.add_node(host(15)).value());
  const std::uint64_t local = topologies.plan_epoch();
  for (int i = 0; i < 8; ++i) REQUIRE(c.remove_node(nodes[static_cast<std::size_t>(i)]));
  CHECK(topologies.local(hosts));
  CHECK(topologies.plan_epoch() == local);
  REQUIRE(c.remove_node(nodes[8]));
  CHECK_FALSE(topologies.local(hosts));
  CHECK(topologies.local(node_itself));
  for (int i = 20; i < 40; ++i) c.add_node(host(i)).value();
  CHECK(topologies.local(hosts));
  REQUIRE(c.update_node(nodes[9], a_node("n9").label("kubernetes.io/hostname", "n10")));
  CHECK_FALSE(topologies.local(hosts));
}

TEST_CASE("packed tuples are equal where they are equal", "[model][counters]") {
  model::tuple_table tuples;
  const std::vector<std::int64_t> one{7}, two{7, -1}, other{-1, 7}, three{7, -1, 0};
  CHECK(tuples.pack(one) == 7);
  CHECK(tuples.pack(two) == tuples.pack(two));
  CHECK(tuples.pack(two) != tuples.pack(other));
  CHECK(tuples.pack(two) != tuples.pack(three));
  const std::int64_t word = tuples.pack(other), single = 7;
  const auto back = tuples.unpack(word, 2);
  CHECK(std::vector<std::int64_t>(back.begin(), back.end()) == other);
  CHECK(tuples.unpack(single, 1).front() == 7);
}

TEST_CASE("packed tuples have the words of a plain map, however many there are", "[model][counters]") {
  dice roll{7};
  model::tuple_table tuples;
  for (int round = 0; round < 2; ++round) {
    std::map<std::vector<std::int64_t>, std::int64_t> known;
    for (int i = 0; i < 3000; ++i) {
      std::vector<std::int64_t> tuple(2 + roll.below(3));
      for (std::int64_t& word : tuple) word = roll.between(-4, 4);
      const auto [at, is_new] = known.emplace(tuple, static_cast<std::int64_t>(known.size()));
      REQUIRE(tuples.pack(tuple) == at->second);
      const auto back = tuples.unpack(at->second, tuple.size());
      CHECK(std::equal(back.begin(), back.end(), tuple.begin(), tuple.end()));
    }
    CHECK(tuples.size() == known.size());
    tuples.clear();
  }
}

}  // namespace gangsched::testing::counters_test
