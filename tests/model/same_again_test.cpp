// What says the same again changes nothing, and tells nobody.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "gangsched/model/cluster_queues.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::same_again_test {

namespace {

group_spec gang_of(std::int32_t many) { return {.name = "g", .policy = gang{.min_count = many}}; }

/// Whether the call changes anything that is kept or told.
bool changes(cluster& c, const std::function<bool()>& call) {
  const std::uint64_t digest = c.digest(), end = inside(c).log.end();
  REQUIRE(call());
  return c.digest() != digest || inside(c).log.end() != end;
}

}  // namespace

TEST_CASE("a pod that is told again is the same", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8).gpus(2).label("zone", "a")).value();
  const group_id g = c.add_group(gang_of(2)).value();
  REQUIRE(c.queues().add({.name = "q"}));
  const resource_claim_id claim = c.add_resource_claim({.name = "rc", .devices = {{.count = 1}}}).value();
  pod_spec disks = a_pod("disks").cpu(1);
  disks.volumes.disks = {{.id = "gce/one", .read_only = true}};
  disks.volumes.exclusive_claims = {"mine"};
  disks.volumes.attachments = {
      {.driver = "csi", .id = "v"}, {.driver = "csi", .id = "w"}, {.driver = "csi", .id = "v"}};
  pod_spec queued = a_pod("queued").cpu(1);
  queued.queue = "q";
  pod_spec timed = a_pod("timed").cpu(1);
  timed.expected_run_time = std::chrono::minutes{1};
  timed.deadline = std::chrono::minutes{9};
  pod_spec shares = a_pod("shares");
  shares.resource_claims = {claim};
  const std::vector<pod_spec> all = {a_pod("plain").cpu(1),
                                     a_pod("gated").gate("a/b"),
                                     a_pod("member").in(g).label("app", "web"),
                                     a_pod("apart").label("app", "web").avoid("app", "web"),
                                     a_pod("hopes").cpu(1).nominated(n),
                                     a_pod("goes").terminating(),
                                     a_pod("runs").cpu(1).label("app", "db").on(n),
                                     a_pod("computes").gpus(1).on(n),
                                     disks,
                                     queued,
                                     timed,
                                     shares};
  std::vector<pod_id> ids;
  for (const pod_spec& one : all) ids.push_back(c.add_pod(one).value());
  const auto at = [&](std::string_view name) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].name == name) return i;
    FAIL(name);
    return all.size();
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    REQUIRE(c.update_pod(ids[i], all[i]));  // whose class is older than selectors that came after it
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(all[i].name);
    CHECK_FALSE(changes(c, [&] { return c.update_pod(ids[i], all[i]).has_value(); }));
  }
  const auto differs = [&](std::string_view name, const std::function<void(pod_spec&)>& change) {
    const std::size_t i = at(name);
    pod_spec other = all[i];
    change(other);
    INFO(name);
    CHECK(changes(c, [&] { return c.update_pod(ids[i], other).has_value(); }));
    CHECK_FALSE(changes(c, [&] { return c.update_pod(ids[i], other).has_value(); }));
    const bool again = c.update_pod(ids[i], all[i]).has_value();
    CHECK(again);
  };
  differs("plain", [](pod_spec& p) { p.labels = {{"x", "y"}}; });
  differs("plain", [](pod_spec& p) { p.cookie = 7; });
  differs("plain", [](pod_spec& p) { p.rank = 7; });
  differs("plain", [](pod_spec& p) { p.priority = 7; });
  differs("plain", [](pod_spec& p) { p.role = "r"; });
  differs("plain", [](pod_spec& p) { p.queue = "q"; });
  differs("plain", [](pod_spec& p) { p.max_wait = std::chrono::minutes{7}; });
  differs("plain", [](pod_spec& p) { p.controller = {controller_kind::replica_set, "r"}; });
  differs("plain", [&](pod_spec& p) { p.nominated_node = n; });
  differs("plain", [](pod_spec& p) { p.containers.front().requests["cpu"] = quantity{3}; });
  differs("gated", [](pod_spec& p) { p.scheduling_gates = {"a/c"}; });
  differs("hopes", [](pod_spec& p) { p.nominated_node = {}; });
  differs("runs", [](pod_spec& p) { p.start_time = std::chrono::seconds{7}; });
  differs("disks", [](pod_spec& p) { p.volumes.disks.front().read_only = false; });
  differs("disks", [](pod_spec& p) { p.volumes.exclusive_claims = {"other"}; });
  differs("disks", [](pod_spec& p) { p.volumes.attachments.front().id = "w"; });
  differs("timed", [](pod_spec& p) { p.deadline = std::chrono::minutes{8}; });
  differs("shares", [](pod_spec& p) { p.resource_claims.clear(); });
  pod_spec leaves = all[at("runs")];
  leaves.terminating = true;
  CHECK(changes(c, [&] { return c.update_pod(ids[at("runs")], leaves).has_value(); }));
  leaves.preempted = true;
  CHECK(changes(c, [&] { return c.update_pod(ids[at("runs")], leaves).has_value(); }));
  CHECK_FALSE(changes(c, [&] { return c.update_pod(ids[at("runs")], leaves).has_value(); }));
}

TEST_CASE("a pod whose devices are told in other words has them as before", "[model][cluster][pod]") {
  cluster c;
  node_spec spec = a_node("n").cpu(8);
  for (const char* const id : {"gpu-0", "gpu-1", "gpu-2"}) spec.devices.gpus.push_back({.id = id});
  const node_id n = c.add_node(spec).value();
  pod_spec holds = a_pod("holds").on(n);
  holds.devices = {{.count = 2}};
  holds.held_devices = {{.id = "gpu-2"}, {.id = "gpu-0"}};
  const pod_id pod = c.add_pod(holds).value();
  const auto told = [&](const pod_spec& one) { return changes(c, [&] { return c.update_pod(pod, one).has_value(); }); };
  CHECK_FALSE(told(holds));
  holds.held_devices = {{.id = "gpu-0", .request = 0}, {.id = "gpu-2", .request = 0}};
  CHECK_FALSE(told(holds));
  holds.held_devices = {{.id = "gpu-0"}, {.id = "gpu-1"}};
  CHECK(told(holds));
  CHECK_FALSE(told(holds));
}

TEST_CASE("owners that a reservation names are told again as the same", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  pod_spec held = a_pod("held").cpu(4).on(n);
  held.reservation = reservation_spec{.owners = {{.pod = "b"}}};
  const pod_id r = c.add_pod(held).value();
  std::vector<pod_id> pods;
  for (const char* name : {"a", "b", "c"}) pods.push_back(c.add_pod(a_pod(name).cpu(1)).value());
  for (int round = 0; round < 2; ++round) {
    CHECK_FALSE(changes(c, [&] { return c.update_pod(r, held).has_value(); }));
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const bool changed = changes(c, [&] {
        return c.update_pod(pods[i], a_pod(std::string(1, static_cast<char>('a' + i))).cpu(1)).has_value();
      });
      if (round > 0) CHECK_FALSE(changed);
    }
  }
}

TEST_CASE("the spec that is kept is the one told last", "[model][cluster][pod]") {
  cluster c{{.keep_specs = true}};
  const pod_id p = c.add_pod(a_pod("p").cpu(1)).value();
  const std::uint64_t end = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").cpu(1)));
  CHECK(inside(c).log.end() == end);
  REQUIRE(inside(c).pods.record[p.row]->details->spec != nullptr);
}

TEST_CASE("other objects that are told again are the same", "[model][cluster]") {
  cluster c;
  const auto twice = [&](const std::function<bool()>& one, const std::function<bool()>& other) {
    CHECK(changes(c, one));
    CHECK_FALSE(changes(c, one));
    CHECK(changes(c, other));
    CHECK_FALSE(changes(c, other));
  };
  const auto ns = [&](const char* value) { return c.set_namespace({"n", {{"a", value}}}).has_value(); };
  twice([&] { return ns("1"); }, [&] { return ns("2"); });
  const auto service = [&](const char* value) { return c.set_service({"s", "n", {{"a", value}}}).has_value(); };
  twice([&] { return service("1"); }, [&] { return service("2"); });
  const auto controller = [&](const char* value) {
    return c.set_controller({controller_kind::replica_set, "r", "n", label_selector{{{"a", value}}, {}}}).has_value();
  };
  twice([&] { return controller("1"); }, [&] { return controller("2"); });
  const budget_id budget = c.add_disruption_budget({.name = "b"}).value();
  const auto allowed = [&](std::int32_t many) {
    return c.update_disruption_budget(budget, {.name = "b", .disruptions_allowed = many}).has_value();
  };
  twice([&] { return allowed(1); }, [&] { return allowed(2); });
  const group_id group = c.add_group(gang_of(2)).value();
  const auto minimum = [&](std::int32_t many) { return c.update_group(group, gang_of(many)).has_value(); };
  twice([&] { return minimum(3); }, [&] { return minimum(4); });
  const queue_id queue = c.queues().add({.name = "q"}).value();
  const auto weight = [&](double many) { return c.queues().update(queue, {.name = "q", .weight = many}).has_value(); };
  twice([&] { return weight(2); }, [&] { return weight(3); });
  const auto flavor = [&](const char* value) { return c.queues().set_flavor({"f", {{"a", value}}}).has_value(); };
  twice([&] { return flavor("1"); }, [&] { return flavor("2"); });
}

}  // namespace gangsched::testing::same_again_test
