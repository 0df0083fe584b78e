#include <functional>
#include <new>
#include <optional>

#include "gangsched/model/transaction.hpp"
#include "memory/full_house.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::cluster_calls_test {

struct call {
  const char* name;
  std::function<void(full_house&)> make;
};

template <class T>
void done(const result<T>& made) {
  if (!made) throw made.error();
}

/// Whether the call comes to its end although the n-th allocation fails. If not, nothing happened, and made again it does what it did
/// where nothing failed.
bool succeeds(const call& of, long nth, failing_allocation::how how, full_house& house, std::uint64_t before,
              std::uint64_t after) {
  INFO(of.name << ", allocation " << nth << (how == failing_allocation::how::once ? " alone" : " and all after it"));
  const bool failed = fails_at(house, nth, how, [&] { of.make(house); });
  if (!failed) {
    REQUIRE(inside(house.cluster).digest_with_derived() == after);
    return true;
  }
  REQUIRE(inside(house.cluster).digest_with_derived() == before);
  of.make(house);
  REQUIRE(inside(house.cluster).digest_with_derived() == after);
  house.run();
  house.check_accounts();
  return false;
}

void fails_everywhere(const call& of) {
  full_house twin;
  const std::uint64_t before = inside(twin.cluster).digest_with_derived();
  of.make(twin);
  const std::uint64_t after = inside(twin.cluster).digest_with_derived();
  twin.run();
  const std::uint64_t later = inside(twin.cluster).digest_with_derived();
  for (const auto how : {failing_allocation::how::from_then_on, failing_allocation::how::once}) {
    for (long nth = 1;; nth += how == failing_allocation::how::once ? 3 : 1) {
      full_house house;
      REQUIRE(inside(house.cluster).digest_with_derived() == before);
      if (succeeds(of, nth, how, house, before, after)) break;
      REQUIRE(inside(house.cluster).digest_with_derived() == later);
    }
  }
}

const std::vector<call>& calls() {
  static const std::string team = "namespace-with-a-name-of-some-length";
  static const std::vector<call> all{
      {"set_column of a row", [](full_house& h) { done(h.cluster.set_column(h.licence, "owned", 7)); }},
      {"set_column of a group", [](full_house& h) { done(h.cluster.set_column(h.train, "most", 7)); }},
      {"add_scope_row",
       [](full_house& h) { done(h.cluster.add_scope_row("a-scope-with-a-name-of-some-length", "a-row-with-one")); }},
      {"add_scope_column",
       [](full_house& h) { done(h.cluster.add_scope_column("racks", "a-column-with-a-name-of-some-length")); }},
      {"queues().add, with pods of a namespace",
       [](full_house& h) {
         done(h.cluster.queues().add({.name = "a-queue-with-a-name-of-some-length",
                                      .parent = "a-parent-with-a-name-of-some-length",
                                      .quotas = {{.limit = {{"example.com/a-new-resource", 2}}}},
                                      .namespaces = {"default"}}));
       }},
      {"queues().update, with another parent",
       [](full_house& h) {
         done(h.cluster.queues().update(h.lab, {.name = "lab", .parent = "a-parent-with-a-name-of-some-length"}));
       }},
      {"queues().remove", [](full_house& h) { done(h.cluster.queues().remove(h.lab)); }},
      {"queues().set_flavor, a new one",
       [](full_house& h) {
         done(h.cluster.queues().set_flavor(
             {.name = "a-flavor-with-a-name-of-some-length", .node_labels = {{"rack", "rack-0"}}}));
       }},
      {"queues().remove_flavor", [](full_house& h) { done(h.cluster.queues().remove_flavor("spare")); }},
      {"add_pod, to a new queue",
       [](full_house& h) {
         pod_spec spec = a_pod{"newcomer"}.cpu(1).in(h.train).on(h.nodes[3]);
         spec.queue = "a-queue-with-a-name-of-some-length";
         done(h.cluster.add_pod(spec));
       }},
      {"update_pod, to another queue",
       [](full_house& h) {
         pod_spec spec = a_pod{"single"}.cpu(1).gpus(1).priority(5).on(h.cluster.node_of(h.single));
         spec.queue = "a-queue-with-a-name-of-some-length";
         done(h.cluster.update_pod(h.single, spec));
       }},
      {"update_group, to another queue",
       [](full_house& h) {
         group_spec spec = *h.cluster.spec_of(h.train);
         spec.queue = "a-queue-with-a-name-of-some-length";
         done(h.cluster.update_group(h.train, spec));
       }},
      {"set_held_room, a new one",
       [](full_house& h) {
         done(h.cluster.set_held_room({.name = "a-room-with-a-name-of-some-length",
                                       .parts = {{h.nodes[0], {{"cpu", 1}, {"example.com/a-new-resource", 2}}}}}));
       }},
      {"set_held_room, moved",
       [](full_house& h) {
         done(h.cluster.set_held_room(
             {.name = "team", .parts = {{h.nodes[1], {{"cpu", 3}, {"memory", 1024}}}, {h.nodes[3], {{"cpu", 1}}}}}));
       }},
      {"add_pod, a reservation for others",
       [](full_house& h) {
         done(h.cluster.add_pod(h.holder("another", "an-application-with-a-name-of-some-length")));
       }},
      {"add_pod, one that draws",
       [](full_house& h) {
         pod_spec draws = a_pod{"another"}.cpu_milli(5).label("app", "guest").on(h.nodes[2]);
         draws.draws_from = h.reservation;
         done(h.cluster.add_pod(draws));
       }},
      {"update_pod, a reservation for others",
       [](full_house& h) {
         done(h.cluster.update_pod(h.reservation, h.holder("holds", "an-application-with-a-name-of-some-length")));
       }},
      {"remove_pod, a reservation that is in use", [](full_house& h) { done(h.cluster.remove_pod(h.reservation)); }},
      {"remove_pod, one that draws", [](full_house& h) { done(h.cluster.remove_pod(h.guest)); }},
      {"remove_held_room", [](full_house& h) { done(h.cluster.remove_held_room("team")); }},
      {"remove_node, with held room", [](full_house& h) { done(h.cluster.remove_node(h.nodes[1])); }},
      {"remove_scope_row", [](full_house& h) { done(h.cluster.remove_scope_row(h.licence)); }},
      {"add_node", [](full_house& h) { done(h.cluster.add_node(full_house::machine(7))); }},
      {"update_node",
       [](full_house& h) {
         node_spec changed = full_house::machine(0);
         changed.labels["topology.kubernetes.io/zone"] = "a-zone-that-nobody-had-before";
         changed.taints.clear();
         changed.images.push_back({{"registry/image:of-another-name"}, 5});
         changed.devices.gpus.pop_back();
         done(h.cluster.update_node(h.nodes[0], changed));
       }},
      {"set_device_health", [](full_house& h) { done(h.cluster.set_device_health(h.nodes[0], "1", false)); }},
      {"remove_node", [](full_house& h) { done(h.cluster.remove_node(h.nodes[0])); }},
      {"add_pod",
       [](full_house& h) {
         done(h.cluster.add_pod(a_pod{"a-pod-with-a-name-of-some-length"}.cpu(1).gpus(1).in(h.train)));
       }},
      {"add_pod, in a namespace of its own",
       [](full_house& h) { done(h.cluster.add_pod(a_pod{"new"}.ns(team).label("a-label-of-some-length", "value"))); }},
      {"add_pod, with everything",
       [](full_house& h) { done(h.cluster.add_pod(full_house::clothed("a-pod-with-a-name-of-some-length"))); }},
      {"add_pod, with a new counter",
       [](full_house& h) {
         done(h.cluster.add_pod(a_pod{"new"}.cpu(1).label("app", "db").avoid("app", "a-value-that-is-new", "rack")));
       }},
      {"add_pod, running, with a new resource",
       [](full_house& h) {
         done(h.cluster.add_pod(a_pod{"new"}.cpu(1).resource("example.com/a-new-resource", 1).on(h.nodes[0])));
       }},
      {"add_pod, running, with devices",
       [](full_house& h) { done(h.cluster.add_pod(a_pod{"new"}.milli(500).on(h.nodes[0]))); }},
      {"add_pods",
       [](full_house& h) {
         done(h.cluster.add_pods(
             full_house::clothed("x"),
             std::vector<std::string>{"one-of-some-length-000", "two-of-some-length-000", "three-of-some-length"}));
       }},
      {"update_pod, running",
       [](full_house& h) {
         pod_spec changed = a_pod{"single"}
                                .cpu(2)
                                .gpus(2)
                                .priority(5)
                                .label("a-label-of-some-length", "a-value-of-some-length")
                                .port(90);
         changed.node = h.cluster.node_of(h.single);
         done(h.cluster.update_pod(h.single, changed));
       }},
      {"update_pod, pending",
       [](full_house& h) { done(h.cluster.update_pod(h.hopeless, a_pod{"hopeless"}.cpu(1).avoid("app", "db"))); }},
      {"update_pod, bound by others",
       [](full_house& h) { done(h.cluster.update_pod(h.hopeless, a_pod{"hopeless"}.cpu(100).on(h.nodes[1]))); }},
      {"resize_pods",
       [](full_house& h) {
         pod_spec changed = a_pod{"single"}.cpu(2).gpus(1).priority(5);
         changed.node = h.cluster.node_of(h.single);
         done(h.cluster.resize_pods(std::vector{h.single}, std::vector{changed}));
       }},
      {"remove_pod", [](full_house& h) { done(h.cluster.remove_pod(h.single)); }},
      {"remove_pod, with counters", [](full_house& h) { done(h.cluster.remove_pod(h.choosy)); }},
      {"remove_pod, with a claim", [](full_house& h) { done(h.cluster.remove_pod(h.running[2])); }},
      {"remove_pod, of a group", [](full_house& h) { done(h.cluster.remove_pod(h.waiting[0])); }},
      {"set_terminating", [](full_house& h) { done(h.cluster.set_terminating(h.choosy, true)); }},
      {"add_group",
       [](full_house& h) {
         group_spec made = full_house::gang_of("a-group-with-a-name-of-some-length", 2);
         made.topology.within = {"a-key-that-is-new-and-long"};
         made.affinity = {{.to = h.train, .key = "rack"}};
         done(h.cluster.add_group(made));
       }},
      {"expect_group", [](full_house& h) { done(h.cluster.expect_group(team, "a-group-with-a-name-of-some-length")); }},
      {"update_group",
       [](full_house& h) { done(h.cluster.update_group(h.wait, full_house::gang_of("wait", 2, gang_mode::permit))); }},
      {"remove_group", [](full_house& h) { done(h.cluster.remove_group(h.wait)); }},
      {"remove_group, of a tree", [](full_house& h) { done(h.cluster.remove_group(h.leaf)); }},
      {"set_namespace",
       [](full_house& h) {
         done(h.cluster.set_namespace({"default", {{"team", "a-team-of-some-length"}}}));
       }},
      {"set_namespace, new",
       [](full_house& h) {
         done(h.cluster.set_namespace({team, {{"team", "b"}}}));
       }},
      {"remove_namespace", [](full_house& h) { done(h.cluster.remove_namespace("default")); }},
      {"set_service",
       [](full_house& h) {
         done(h.cluster.set_service({.name = "a-service-of-some-length", .ns = team, .selector = {{"a", "b"}}}));
       }},
      {"remove_service", [](full_house& h) { done(h.cluster.remove_service("default", "web")); }},
      {"set_controller",
       [](full_house& h) { done(h.cluster.set_controller({.name = "a-controller-of-some-length"})); }},
      {"remove_controller",
       [](full_house& h) { done(h.cluster.remove_controller(controller_kind::replica_set, "default", "web")); }},
      {"set_priority_class",
       [](full_house& h) {
         done(h.cluster.set_priority_class({.name = "a-class-of-some-length", .value = 7, .global_default = true}));
       }},
      {"remove_priority_class", [](full_house& h) { done(h.cluster.remove_priority_class("high")); }},
      {"add_disruption_budget",
       [](full_house& h) { done(h.cluster.add_disruption_budget({.name = "a-budget-of-some-length", .ns = team})); }},
      {"update_disruption_budget",
       [](full_house& h) {
         done(h.cluster.update_disruption_budget(h.budget, {.name = "web", .disruptions_allowed = 3}));
       }},
      {"remove_disruption_budget", [](full_house& h) { done(h.cluster.remove_disruption_budget(h.budget)); }},
      {"add_resource_claim",
       [](full_house& h) {
         done(h.cluster.add_resource_claim({.name = "a-claim-of-some-length",
                                            .devices = {{.device_class = "rdma", .expressions = {"y > 1"}}},
                                            .node = h.nodes[2]}));
       }},
      {"deallocate", [](full_house& h) { done(h.cluster.deallocate(h.kept)); }},
      {"remove_resource_claim", [](full_house& h) { done(h.cluster.remove_resource_claim(h.kept)); }},
      {"assume", [](full_house& h) { done(h.cluster.assume(h.hopeless, h.nodes[2])); }},
      {"bind", [](full_house& h) { done(h.cluster.bind(h.free[0])); }},
      {"release", [](full_house& h) { done(h.cluster.release(h.free[0])); }},
      {"nominate", [](full_house& h) { done(h.cluster.nominate(h.hopeless, h.nodes[1])); }},
      {"reserve", [](full_house& h) { done(h.cluster.reserve({.nodes = 50, .pods = 500, .groups = 50})); }},
      {"a transaction that is discarded",
       [](full_house& h) {
         transaction trial{h.cluster};
         done(h.cluster.remove_pod(h.single));
         done(h.cluster.assume(full_house::must(h.cluster.add_pod(full_house::clothed("new"))), h.nodes[1]));
         done(h.cluster.remove_node(h.nodes[0]));
       }},
      {"a transaction that is kept",
       [](full_house& h) {
         transaction trial{h.cluster};
         done(h.cluster.remove_pod(h.single));
         done(h.cluster.assume(full_house::must(h.cluster.add_pod(full_house::clothed("new"))), h.nodes[1]));
         done(h.cluster.remove_node(h.nodes[0]));
         trial.commit();
       }},
  };
  return all;
}

TEST_CASE(
    "a call of the cluster for which there is no memory changes nothing, and does the same when it is made again") {
  for (const call& one : calls()) {
    DYNAMIC_SECTION(one.name) { fails_everywhere(one); }
  }
}

/// Says yes, in words that have to be kept somewhere, until it has no memory.
struct forgetful {
  long asks_left = 0;
  static device_verdict ask(void* context, std::string_view expression, const other_device& device) {
    forgetful& me = *static_cast<forgetful*>(context);
    if (me.asks_left-- == 0) throw std::bad_alloc{};
    if (device.id.empty() && expression == "odd") return {.error = "an expression that is too odd for this host"};
    return {.matches = true};
  }
};

TEST_CASE("a call in which the host's device_matcher has no memory changes nothing") {
  const auto other_node = [] {
    node_spec made = full_house::machine(0);
    made.name = "other";
    made.devices.others[0].attributes["speed"] = std::int64_t{400};
    return made;
  };
  const std::vector<std::pair<const char*, std::function<void(cluster&)>>> asking{
      {"add_pod",
       [](cluster& c) {
         done(c.add_pod(a_pod{"p"}.device({.device_class = "rdma", .expressions = {"odd", "z > 1"}})));
       }},
      {"add_resource_claim",
       [](cluster& c) {
         done(c.add_resource_claim({.name = "c", .devices = {{.device_class = "rdma", .expressions = {"odd"}}}}));
       }},
      {"add_node", [&](cluster& c) { done(c.add_node(other_node())); }},
      {"update_node",
       [&](cluster& c) {
         node_spec changed = other_node();
         changed.name = "node-0";
         done(c.update_node(*c.find_node("node-0"), changed));
       }},
  };
  for (const auto& [name, make] : asking) {
    DYNAMIC_SECTION(name) {
      long failures = 0;
      for (long left = 0;; ++left) {
        forgetful host{1'000'000};
        cluster c{{.device_matcher = {forgetful::ask, &host}}};
        done(c.add_node(full_house::machine(0)));
        done(c.add_pod(a_pod{"first"}.device({.device_class = "rdma", .expressions = {"x > 1"}})));
        const std::uint64_t before = inside(c).digest_with_derived();
        host.asks_left = left;
        bool failed = false;
        try {
          make(c);
        } catch (const std::bad_alloc&) {
          failed = true;
        }
        if (!failed) break;
        ++failures;
        REQUIRE(inside(c).digest_with_derived() == before);
        REQUIRE_FALSE(inside(c).in_hook);
        REQUIRE_FALSE(inside(c).undo.recording());
        host.asks_left = 1'000'000;
        make(c);
        cluster twin{{.device_matcher = {forgetful::ask, &host}}};
        done(twin.add_node(full_house::machine(0)));
        done(twin.add_pod(a_pod{"first"}.device({.device_class = "rdma", .expressions = {"x > 1"}})));
        make(twin);
        REQUIRE(inside(c).digest_with_derived() == inside(twin).digest_with_derived());
      }
      CHECK(failures > 0);
    }
  }
}

TEST_CASE("a refused call names nothing that was not named before") {
  full_house house;
  const std::string ns = "a-namespace-that-nobody-has";
  const std::size_t names = inside(house.cluster).names.size();
  const auto classes = inside(house.cluster).classes.size();
  const auto kinds = inside(house.cluster).kinds.count();
  CHECK_FALSE(house.cluster.add_pod(a_pod{"p"}.ns(ns).cpu(1).in(house.train)));
  CHECK_FALSE(house.cluster.add_pod(a_pod{"p"}.ns(ns).priority_class("none")));
  CHECK_FALSE(house.cluster.add_pod(a_pod{"p"}.ns(ns).resource("example.com/new", 1).on(node_id{77, 7})));
  pod_spec huge = a_pod{"p"}.ns(ns).cpu(INT64_MAX / 1500).on(house.nodes[0]);
  REQUIRE(house.cluster.add_pod(a_pod{"large"}.cpu(INT64_MAX / 1500).on(house.nodes[0])));
  const std::size_t names_then = inside(house.cluster).names.size();
  huge.containers[0].requests["example.com/new"] = 1;
  CHECK_FALSE(house.cluster.add_pod(huge));
  CHECK(inside(house.cluster).names.size() == names_then);
  CHECK(names_then == names);
  CHECK_FALSE(house.cluster.add_pods(a_pod{"p"}.ns(ns), std::vector<std::string>{"Not a name"}));
  CHECK_FALSE(house.cluster.remove_service(ns, "web"));
  CHECK_FALSE(house.cluster.remove_controller(controller_kind::replica_set, ns, "web"));
  CHECK_FALSE(house.cluster.add_group({.name = "g", .ns = ns, .parent = house.tree}));
  CHECK(inside(house.cluster).names.size() == names);
  CHECK(inside(house.cluster).classes.size() == classes + 1);
  CHECK(inside(house.cluster).kinds.count() == kinds);
}

}  // namespace gangsched::testing::cluster_calls_test
