// What the host says is held stays held, whatever becomes of the health and the presence of the devices.
#include "held_devices.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::held_devices_test {

namespace {

/// What has been granted, with the devices by id: numbers may change.
template <class Holder>
std::vector<std::string> grants_of(const cluster& c, node_id node, Holder holder) {
  std::vector<std::string> all;
  for (const device_grant& one : c.devices_of(holder)) {
    std::string text{c.name_of(node, one)};
    for (const std::int64_t number : {std::int64_t{static_cast<int>(one.kind)}, std::int64_t{one.request},
                                      std::int64_t{one.milli}, std::int64_t{one.mig_start}, one.amount})
      text += " " + std::to_string(number);
    all.push_back(text + " " + std::string{inside(c).names.text(one.mig_profile)});
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// A node's devices, requests for some of them, and what the host says is held for these.
struct sample {
  std::string name;
  node_devices devices;
  std::vector<device_request> requests;
  std::vector<held_device> held;
  std::size_t grants;  ///< capacities of shared devices included
};

std::vector<sample> samples() {
  std::vector<sample> all;
  node_devices gpus;
  gpus.gpu = {.model = "NVIDIA-A100-SXM4-40GB", .memory_mib = 40960};
  gpus.gpus = {{.id = "g0"}, {.id = "g1"}, {.id = "g2"}};
  node_devices as_asked = gpus;
  as_asked.gpu.memory_rule = gpu_memory_rule::as_asked;
  node_devices divided = gpus, fixed = gpus;
  for (gpu_spec& one : divided.gpus) one.mig = mig_mode::dynamic;
  for (gpu_spec& one : fixed.gpus) one.mig = mig_mode::fixed, one.instances = {{"1g.5gb", 0}, {"1g.5gb", 1}};
  node_devices nics;
  for (const char* id : {"n0", "n1", "n2"})
    nics.others.push_back({.id = id, .device_class = "nic", .units = 4, .attributes = {{"d/fast", id[1] != '2'}}});
  node_devices counting = nics, sharing = nics;
  counting.counters = {{"set/slices", 8}};
  for (other_device& one : counting.others) one.units = 1, one.consumes = {{"set/slices", 2}};
  for (other_device& one : sharing.others) {
    one.units = 1, one.shared = true;
    one.capacities["d/memory"] = {.amount = 10};
  }
  const attribute_selector fast{"d/fast", attribute_operator::equal, {true}};
  const attribute_selector slow{"d/fast", attribute_operator::equal, {false}};

  all.push_back({"whole GPUs", gpus, {{.count = 2}}, {{.id = "g1"}, {.id = "g0"}}, 2});
  all.push_back({"a share of a GPU", gpus, {{.milli = 400}}, {{.id = "g1"}}, 1});
  all.push_back({"a share of memory", gpus, {{.milli = 0, .memory_mib = 1000}}, {{.id = "g1", .request = 0}}, 1});
  all.push_back({"MIG instances",
                 divided,
                 {{.count = 2, .mig_profile = "1g.5gb"}},
                 {{.id = "g1", .mig_start = 2}, {.id = "g1", .mig_start = 4}},
                 2});
  all.push_back({"an instance that is there", fixed, {{.mig_profile = "1g.5gb"}}, {{.id = "g1", .mig_start = 1}}, 1});
  all.push_back(
      {"units of devices", nics, {{.device_class = "nic", .count = 2, .units = 3}}, {{.id = "n1"}, {.id = "n2"}}, 2});
  all.push_back({"access as an administrator", nics, {{.device_class = "nic", .admin = true}}, {{.id = "n1"}}, 1});
  all.push_back({"devices that use up counters", counting, {{.device_class = "nic"}}, {{.id = "n1"}}, 1});
  all.push_back({"capacity of a shared device",
                 sharing,
                 {{.device_class = "nic", .capacities = {{"d/memory", 3}}}},
                 {{.id = "n1", .capacities = {{"d/memory", 6}}}},
                 2});
  all.push_back({"one of two alternatives",
                 nics,
                 {{.first_of = {{.device_class = "nic", .count = 1, .units = 2, .selectors = {slow}},
                                {.device_class = "nic", .count = 2, .units = 1, .selectors = {fast}}}}},
                 {{.id = "n1"}, {.id = "n0"}},
                 2});
  all.push_back({"a form of a GPU",
                 gpus,
                 {{.first_of = {{.mig_profile = "1g.5gb"}, {.milli = 300}}}},
                 {{.id = "g1", .request = 0}},
                 1});
  all.push_back(
      {"all devices", nics, {{.device_class = "nic", .all = true}}, {{.id = "n0"}, {.id = "n1"}, {.id = "n2"}}, 3});
  all.push_back({"a form of a GPU with hundredths of its memory",
                 as_asked,
                 {{.first_of = {{.mig_profile = "1g.5gb"}, {.milli = 100, .memory_percent = 30}}}},
                 {{.id = "g1", .request = 0}},
                 1});
  node_devices both = gpus;
  both.others = nics.others;
  all.push_back({"GPUs, and a device beside them",
                 both,
                 {{.count = 1}, {.device_class = "nic"}},
                 {{.id = "n1", .request = 1}, {.id = "g1", .request = 0}},
                 2});
  return all;
}

enum class holder { claim, used_claim, pod };

/// One node with the devices of a sample, and that which holds some of them.
struct held_world {
  const sample& what;
  holder by;
  cluster c;
  node_spec spec;
  node_id n;
  resource_claim_id claim;
  pod_id pod;

  held_world(const sample& from, holder which) : what{from}, by{which} {
    spec = a_node("n");
    spec.devices = what.devices;
  }
  void come() {
    n = c.add_node(spec).value();
    a_pod user = a_pod("user").on(n);
    if (by == holder::pod) {
      user.spec.devices = what.requests, user.spec.held_devices = what.held;
    } else {
      claim = c.add_resource_claim({.name = "claim", .devices = what.requests, .held_devices = what.held, .node = n})
                  .value();
      user.spec.resource_claims = {claim};
    }
    if (by != holder::claim) pod = c.add_pod(user).value();
  }
  [[nodiscard]] std::vector<std::string> grants() const {
    return by == holder::pod ? grants_of(c, n, pod) : grants_of(c, n, claim);
  }
  /// Whether it holds just what the sample says, and the node's words say so, too.
  [[nodiscard]] std::vector<std::string> checked_grants() const {
    CHECK(in_use(c, n) == claimed(c, n));
    for (const held_device& one : what.held) {
      const auto has = [&](const device_grant& grant) { return c.name_of(n, grant) == one.id; };
      const auto all = by == holder::pod ? c.devices_of(pod) : c.devices_of(claim);
      CHECK(std::any_of(all.begin(), all.end(), has));
    }
    CHECK(grants().size() == what.grants);
    return grants();
  }
  void health(const std::string& id, bool healthy) {
    for (gpu_spec& one : spec.devices.gpus)
      if (one.id == id) one.healthy = healthy;
    for (other_device& one : spec.devices.others)
      if (one.id == id) one.healthy = healthy;
  }
  void tell() { REQUIRE(c.update_node(n, spec)); }
  void leave() {
    if (by != holder::claim) REQUIRE(c.remove_pod(pod));
    if (by == holder::claim) REQUIRE(c.deallocate(claim));
    CHECK(in_use(c, n) == std::vector<std::int64_t>(words_of(c, n).size()));
  }
};

TEST_CASE("what the host says is held stays held while it is unhealthy", "[model][devices]") {
  for (const sample& what : samples()) {
    for (const holder by : {holder::claim, holder::used_claim, holder::pod}) {
      CAPTURE(what.name, by);
      const std::string& id = what.held.front().id;
      const std::vector<std::string> expected = [&] {
        held_world w{what, by};
        w.come();
        return w.checked_grants();
      }();
      for (const bool late : {false, true}) {
        for (const bool by_id : {false, true}) {
          CAPTURE(late, by_id);
          held_world w{what, by};
          const auto turn = [&](bool healthy) {
            w.health(id, healthy);
            if (by_id)
              REQUIRE(w.c.set_device_health(w.n, id, healthy));
            else
              w.tell();
          };
          if (late) w.health(id, false);
          w.come();
          if (!late) turn(false);
          CHECK(w.checked_grants() == expected);
          w.spec.labels["x"] = "y";  // the node is told anew, its devices are as they were
          w.tell();
          w.spec.devices.gpu.compute_capability = 80;  // and now they are not
          w.tell();
          CHECK(w.checked_grants() == expected);
          check_copies(w.c);
          turn(true);
          CHECK(w.checked_grants() == expected);
          turn(false);
          CHECK(w.checked_grants() == expected);
          w.leave();
          turn(true);
          w.tell();
          CHECK(w.grants().empty());
        }
      }
    }
  }
}

TEST_CASE("what the host says is held is held again when the node has it again", "[model][devices]") {
  for (const sample& what : samples()) {
    for (const holder by : {holder::claim, holder::used_claim, holder::pod}) {
      CAPTURE(what.name, by);
      const std::vector<std::string> expected = [&] {
        held_world w{what, by};
        w.come();
        return w.checked_grants();
      }();
      for (const bool late : {false, true}) {
        for (const held_device& gone : what.held) {
          CAPTURE(late, gone.id);
          held_world w{what, by};
          node_spec without = w.spec;
          std::erase_if(without.devices.gpus, [&](const gpu_spec& one) { return one.id == gone.id; });
          std::erase_if(without.devices.others, [&](const other_device& one) { return one.id == gone.id; });
          node_spec none = w.spec;
          none.devices = {};
          const node_spec all = w.spec;
          if (late) w.spec = without;
          w.come();
          if (!late) REQUIRE(w.c.update_node(w.n, without));
          CHECK(w.grants().size() < what.grants);
          CHECK(in_use(w.c, w.n) == claimed(w.c, w.n));
          check_copies(w.c);
          w.spec = all;
          for (const held_device& one : what.held) w.health(one.id, false);
          w.tell();
          CHECK(w.checked_grants() == expected);
          check_copies(w.c);
          REQUIRE(w.c.update_node(w.n, none));
          CHECK(w.grants().empty());
          REQUIRE(w.c.update_node(w.n, without));
          const std::uint64_t before = inside(w.c).digest_with_derived();
          {
            transaction trial{w.c};
            w.tell();
            CHECK(w.checked_grants() == expected);
          }
          CHECK(inside(w.c).digest_with_derived() == before);
          REQUIRE(w.c.update_node(w.n, all));
          CHECK(w.checked_grants() == expected);
          w.leave();
        }
      }
    }
  }
}

TEST_CASE("what is there is held for its own request while that of another request is gone", "[model][devices]") {
  cluster c;
  node_spec node = a_node("n");
  a_pod pod{"p"};
  std::vector<std::string> ids;
  SECTION("instances that resources count") {
    node.devices.gpu.model = "NVIDIA-A100-SXM4-40GB";
    node.devices.gpus = {{.id = "m0", .mig = mig_mode::fixed, .instances = {{"1g.5gb", 0}}},
                         {.id = "m1", .mig = mig_mode::fixed, .instances = {{"2g.10gb", 0}}}};
    pod.resource("nvidia.com/mig-1g.5gb", "1").resource("nvidia.com/mig-2g.10gb", "1");
    pod.spec.held_devices = {{.id = "m0", .mig_start = 0}, {.id = "m1", .mig_start = 0}};
    ids = {"m0", "m1"};
  }
  SECTION("devices of two classes") {
    node.devices.others = {{.id = "a", .device_class = "nic", .units = 4},
                           {.id = "b", .device_class = "card", .units = 4}};
    pod.device({.device_class = "nic", .units = 2}).device({.device_class = "card", .units = 3});
    pod.spec.held_devices = {{.id = "a"}, {.id = "b"}};
    ids = {"a", "b"};
  }
  const auto expected = [&] {
    cluster other;
    const node_id n = other.add_node(node).value();
    return grants_of(other, n, other.add_pod(pod.on(n)).value());
  }();
  REQUIRE(expected.size() == 2);
  const auto without = [&](const std::string& gone) {
    node_spec made = node;
    std::erase_if(made.devices.gpus, [&](const gpu_spec& one) { return one.id == gone; });
    std::erase_if(made.devices.others, [&](const other_device& one) { return one.id == gone; });
    return made;
  };
  const node_id n = c.add_node(without(ids[0])).value();
  const pod_id p = c.add_pod(pod.on(n)).value();
  for (const std::string& gone : {ids[0], ids[1], ids[0]}) {
    REQUIRE(c.update_node(n, without(gone)));
    CHECK(c.devices_of(p).size() == 1);
    REQUIRE(c.update_node(n, node));
    CHECK(grants_of(c, n, p) == expected);
    CHECK(in_use(c, n) == claimed(c, n));
  }
}

/// A node with enough of something for two pods, the same with too little, and a request for some of it.
struct shrinking {
  std::string name;
  node_devices enough, less;
  std::vector<device_request> asks;  ///< none: a GPU by number
};

std::vector<shrinking> shrinking_nodes() {
  std::vector<shrinking> all;
  const auto add = [&](const std::string& name, std::vector<device_request> asks, const node_devices& from,
                       const auto& change) {
    node_devices less = from;
    change(less);
    all.push_back({name, from, less, std::move(asks)});
  };
  node_devices one, two, shared, counting, gpu, replicas, dynamic, fixed;
  one.others = {{.id = "x", .device_class = "nic", .units = 2}};
  two.others = {{.id = "x", .device_class = "nic"}, {.id = "y", .device_class = "nic"}};
  shared.others = {{.id = "x", .device_class = "nic"}};
  shared.others[0].shared = true, shared.others[0].capacities["d/bw"] = {.amount = 10};
  counting = two;
  counting.counters = {{"s/c", 2}};
  for (other_device& its : counting.others) its.consumes = {{"s/c", 1}};
  gpu.gpus = {{.id = "g0"}};
  gpu.gpu = {.model = "NVIDIA-A100-SXM4-40GB", .memory_mib = 1000};
  replicas = dynamic = gpu;
  replicas.gpu.replicas = 2;
  dynamic.gpu.memory_mib = 40960, dynamic.gpus[0].mig = mig_mode::dynamic;
  fixed = dynamic;
  fixed.gpus[0].mig = mig_mode::fixed, fixed.gpus[0].instances = {{"3g.20gb", 0}, {"3g.20gb", 4}};
  const std::vector<device_request> nic{{.device_class = "nic"}}, mig{{.mig_profile = "3g.20gb"}};
  add("units", nic, one, [](node_devices& to) { to.others[0].units = 1; });
  add("devices", nic, two, [](node_devices& to) { to.others.pop_back(); });
  add("capacity", {{.device_class = "nic", .capacities = {{"d/bw", 5}}}}, shared,
      [](node_devices& to) { to.others[0].capacities["d/bw"].amount = 5; });
  add("counter", nic, counting, [](node_devices& to) { to.counters["s/c"] = 1; });
  add("replicas", {}, replicas, [](node_devices& to) { to.gpu.replicas = 1; });
  add("memory", {{.milli = 400, .memory_mib = 450}}, gpu, [](node_devices& to) { to.gpu.memory_mib = 600; });
  add("one instance", mig, fixed, [](node_devices& to) { to.gpus[0].instances.pop_back(); });
  add("no instances", mig, fixed,
      [](node_devices& to) { to.gpus[0].mig = mig_mode::off, to.gpus[0].instances.clear(); });
  add("not divided", mig, dynamic, [](node_devices& to) { to.gpus[0].mig = mig_mode::off; });
  return all;
}

TEST_CASE("who has devices has them again when the node has enough for everybody again", "[model][devices]") {
  const bool claims = GENERATE(false, true);
  for (const shrinking& what : shrinking_nodes()) {
    CAPTURE(what.name, claims);
    if (claims && what.asks.empty()) continue;
    node_spec node = a_node("n");
    node.allocatable["nvidia.com/gpu"] = quantity{2};
    const auto with = [&](const node_devices& devices) { return node.devices = devices, node; };
    cluster c;
    const node_id n = c.add_node(with(what.enough)).value();
    const auto add = [&](const std::string& name) {
      a_pod pod{name};
      resource_claim_id claim;
      for (const device_request& one : what.asks)
        if (!claims) pod.device(one);
      if (claims)
        pod.spec.resource_claims = {claim = c.add_resource_claim({.name = name, .devices = what.asks}).value()};
      if (what.asks.empty()) pod.gpus(1);
      return std::pair{c.add_pod(pod.on(n)).value(), claim};
    };
    const auto of = [&](const auto& it) { return claims ? grants_of(c, n, it.second) : grants_of(c, n, it.first); };
    const auto a = add("a"), b = add("b");
    const auto had = std::pair{of(a), of(b)};
    REQUIRE((!had.first.empty() && !had.second.empty()));
    REQUIRE(c.update_node(n, with(what.less)));
    CHECK((of(a).empty() || of(b).empty()));
    CHECK(in_use(c, n) == claimed(c, n));
    check_copies(c);
    const auto less = std::pair{of(a), of(b)};
    node.labels["told"] = "anew";
    REQUIRE(c.update_node(n, with(what.less)));
    CHECK(std::pair{of(a), of(b)} == less);
    const std::uint64_t before = inside(c).digest_with_derived();
    {
      transaction trial{c};
      REQUIRE(c.update_node(n, with(what.enough)));
      CHECK(std::pair{of(a), of(b)} == had);
    }
    CHECK(inside(c).digest_with_derived() == before);
    REQUIRE(c.update_node(n, with(what.enough)));
    CHECK(std::pair{of(a), of(b)} == had);
    CHECK(of(add("late")).empty());
    CHECK(in_use(c, n) == claimed(c, n));
    check_copies(c);
  }
}

TEST_CASE("what is back is taken from nobody who got it in between", "[model][devices]") {
  node_spec node = a_node("n");
  node.devices.others = {{.id = "x", .device_class = "nic", .units = 2}};
  cluster c;
  const node_id n = c.add_node(node).value();
  const auto add = [&](const char* name) {
    return c.add_pod(a_pod(name).device({.device_class = "nic"}).on(n)).value();
  };
  const auto tell = [&](std::int64_t units) {
    node.devices.others[0].units = units;
    REQUIRE(c.update_node(n, node));
  };
  const pod_id a = add("a"), b = add("b");
  tell(1);
  REQUIRE(c.devices_of(b).empty());
  REQUIRE(c.remove_pod(a));
  const pod_id late = add("late");
  REQUIRE(c.devices_of(late).size() == 1);
  node.labels["told"] = "anew", node.devices.others[0].numa = 0;
  tell(1);
  CHECK(c.devices_of(late).size() == 1);
  CHECK(c.devices_of(b).empty());
  tell(2);
  CHECK(c.devices_of(late).size() == 1);
  CHECK(c.devices_of(b).size() == 1);
  CHECK(in_use(c, n) == claimed(c, n));
}

TEST_CASE("a reservation keeps a device that is unhealthy while pods draw others from it", "[model][devices]") {
  cluster c;
  node_spec node = a_node("n");
  node.devices.gpus = {{.id = "g0"}, {.id = "g1"}, {.id = "g2"}};
  const node_id n = c.add_node(node).value();
  pod_spec holds = a_pod("r").cards(2).on(n);
  holds.held_devices = {{.id = "g0"}, {.id = "g1"}};
  holds.reservation = reservation_spec{.once = false};
  const pod_id r = c.add_pod(holds).value();
  pod_spec draws = a_pod("o").cards(1).on(n);
  draws.draws_from = r;
  const bool by_id = GENERATE(false, true);
  const auto turn = [&](bool healthy) {
    node.devices.gpus[0].healthy = healthy;
    if (by_id)
      REQUIRE(c.set_device_health(n, "g0", healthy));
    else
      REQUIRE(c.update_node(n, node));
  };
  turn(false);
  const pod_id o = c.add_pod(draws).value();
  CHECK(cards_of(c, o) == std::vector<std::uint16_t>{1});
  CHECK(cards_of(c, r) == std::vector<std::uint16_t>{0});
  turn(true);
  CHECK(cards_of(c, r) == std::vector<std::uint16_t>{0});
  turn(false);
  REQUIRE(c.remove_pod(o));
  turn(true);
  CHECK(cards_of(c, r) == std::vector<std::uint16_t>{0, 1});
  CHECK(in_use(c, n) == claimed(c, n));
}

}  // namespace

}  // namespace gangsched::testing::held_devices_test
