// Claims of devices that pods share: who holds what, and when it is given back.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "devices/numa_nodes.hpp"
#include "gangsched/model/device_alternatives.hpp"
#include "gangsched/model/transaction.hpp"
#include "held_devices.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::resource_claims_test {

namespace {

TEST_CASE("the first pod of a claim allocates it, the last one that leaves gives it back", "[model][resource_claims]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cards(4)).value();
  const resource_claim_id pair = c.add_resource_claim({.name = "pair", .devices = {{.count = 2}}}).value();
  CHECK(c.find_resource_claim("default", "pair") == pair);
  CHECK_FALSE(c.node_of(pair));
  const pod_id a = c.add_pod(sharing("a", {pair}).cards(1)).value(), b = c.add_pod(sharing("b", {pair})).value();
  CHECK(std::ranges::equal(c.claims_of(b), std::vector{pair}));

  const std::uint64_t before = inside(c).digest_with_derived();
  {
    transaction trial{c};
    CHECK(c.assume(a, n));
    CHECK(c.assume(b, n));
    CHECK(c.release(a));
  }
  CHECK(inside(c).digest_with_derived() == before);

  CHECK(c.assume(a, n));
  CHECK(c.node_of(pair) == n);
  CHECK(cards_of(c, pair).size() == 2);
  CHECK(c.devices_of(a).size() == 1);  // its own; none of it is the claim's
  const std::vector<std::int64_t> with_one = words_of(c, n);
  CHECK(c.assume(b, n));
  CHECK(c.users_of(pair) == 2);
  CHECK(c.devices_of(b).empty());
  CHECK(words_of(c, n) == with_one);
  CHECK(words_of(c, n) == claimed(c, n));

  CHECK(c.remove_pod(a));
  CHECK(c.users_of(pair) == 1);
  CHECK(cards_of(c, pair).size() == 2);
  CHECK(words_of(c, n) == claimed(c, n));
  CHECK(c.release(b));
  CHECK_FALSE(c.node_of(pair));
  CHECK(c.devices_of(pair).empty());
  for (std::size_t gpu = 0; gpu < 4; ++gpu) CHECK(c.devices_of(n).gpu(gpu).idle());
}

TEST_CASE("of a pod's and of a claim's requests the alternative is known that devices were chosen for",
          "[model][resource_claims]") {
  const auto of_model = [](const char* model) {
    return device_request{.device_class = "card",
                          .selectors = {{"d/model", attribute_operator::equal, {std::string{model}}}}};
  };
  cluster c;
  node_spec spec = a_node("n");
  for (const char* model : {"small", "large"})
    spec.devices.others.push_back(
        {.id = model, .device_class = "card", .attributes = {{"d/model", std::string{model}}}});
  const node_id n = c.add_node(spec).value();
  const resource_claim_spec shared{.name = "c", .devices = {{.first_of = {of_model("huge"), of_model("large")}}}};
  const resource_claim_id claim = c.add_resource_claim(shared).value();
  // The pod would have the large one itself, which leaves none for the claim.
  const pod_id pod =
      c.add_pod(sharing("p", {claim}).device({.first_of = {of_model("large"), of_model("small")}})).value();
  CHECK_FALSE(alternative_of(c, pod, 0));
  CHECK_FALSE(alternative_of(c, claim, 0));
  REQUIRE(c.assume(pod, n));
  CHECK(alternative_of(c, pod, 0) == 1);
  CHECK(alternative_of(c, claim, 0) == 1);
  for (const std::int32_t other : {-1, 1, 255, 70'000}) {
    CHECK_FALSE(alternative_of(c, pod, other));
    CHECK_FALSE(alternative_of(c, claim, other));
  }
  REQUIRE(c.remove_pod(pod));
  CHECK_FALSE(alternative_of(c, pod, 0));
  CHECK_FALSE(alternative_of(c, claim, 0));

  resource_claim_spec held = shared;
  held.name = "held";
  held.node = n;
  held.held_devices = {{.id = "small", .request = 0}};
  const resource_claim_id said = c.add_resource_claim(held).value();
  CHECK(c.devices_of(said).size() == 1);
  CHECK_FALSE(alternative_of(c, said, 0));  // the host's choice, not one of these
}

TEST_CASE("whom a trial puts back finds his claim as it was", "[model][resource_claims]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cards(4)).value();
  const resource_claim_id one = c.add_resource_claim({.name = "one", .devices = {{.count = 1}}}).value();
  const pod_id first = c.add_pod(a_pod("first").cards(1).on(n)).value();
  const pod_id p = c.add_pod(sharing("p", {one}).on(n)).value();
  CHECK(cards_of(c, one) == std::vector<std::uint16_t>{1});
  transaction trial{c};
  CHECK(c.remove_pod(first));
  inside(c).assigned.take_off_node(p.row);
  CHECK_FALSE(c.node_of(one));
  CHECK(c.devices_of(n).gpu(1).idle());
  SECTION("the devices that it had, if they are free") {
    inside(c).assigned.put_on_node(p.row, n.row);
    CHECK(cards_of(c, one) == std::vector<std::uint16_t>{1});
  }
  SECTION("others, if they are not") {
    a_pod late = a_pod("late").cards(1).on(n);
    late.spec.held_devices = {{.id = "1"}};
    CHECK(c.add_pod(late));
    inside(c).assigned.put_on_node(p.row, n.row);
    CHECK(cards_of(c, one) == std::vector<std::uint16_t>{0});
  }
  CHECK(words_of(c, n) == claimed(c, n));
}

TEST_CASE("claims of pods that others bound have what the host says, or what the library guesses",
          "[model][resource_claims]") {
  cluster c;
  a_node node = a_node("n").cards(4);
  for (std::size_t i = 0; i < 4; ++i) node.spec.devices.gpus[i].id = "GPU-" + std::to_string(i);
  const node_id n = c.add_node(node).value();
  const resource_claim_id told =
      c.add_resource_claim(
           {.name = "told", .devices = {{.count = 2}}, .held_devices = {{.id = "GPU-3"}, {.id = "GPU-1"}}})
          .value();
  const resource_claim_id guessed = c.add_resource_claim({.name = "guessed", .devices = {{.count = 1}}}).value();
  const pod_id p = c.add_pod(sharing("p", {told, guessed}).on(n)).value();
  const pod_id q = c.add_pod(sharing("q", {told}).on(n)).value();
  CHECK(cards_of(c, told) == std::vector<std::uint16_t>{3, 1});
  CHECK(cards_of(c, guessed) == std::vector<std::uint16_t>{0});
  CHECK(c.name_of(n, c.devices_of(told)[0]) == "GPU-3");

  SECTION("and keep it when the node's devices are told anew in another order") {
    std::swap(node.spec.devices.gpus[0], node.spec.devices.gpus[3]);
    CHECK(c.update_node(n, node));
    CHECK(cards_of(c, told) == std::vector<std::uint16_t>{0, 1});
    CHECK(cards_of(c, guessed) == std::vector<std::uint16_t>{3});
    CHECK(words_of(c, n) == claimed(c, n));
  }
  SECTION("an unhealthy device is said of everyone who has it by a claim") {
    CHECK(c.set_device_health(n, "GPU-3", false).value() == std::vector{p, q});
    CHECK(c.set_device_health(n, "GPU-0", false).value() == std::vector{p});
    CHECK(c.update_pod(p, sharing("p", {told, guessed}).label("a", "b").on(n)));
    CHECK(cards_of(c, guessed) == std::vector<std::uint16_t>{0});
    CHECK(words_of(c, n)[0] < 0);  // its mark
  }
  SECTION("a pod whose spec names a claim no more uses it no more") {
    CHECK(c.update_pod(p, sharing("p", {guessed}).on(n)));
    CHECK(c.users_of(told) == 1);
    CHECK(c.update_pod(q, a_pod("q").on(n)));
    CHECK_FALSE(c.node_of(told));
    CHECK(cards_of(c, guessed) == std::vector<std::uint16_t>{0});
    CHECK(words_of(c, n) == claimed(c, n));
  }
  SECTION("a node that goes takes them along") {
    CHECK(c.remove_node(n));
    CHECK(c.users_of(told) == 0);
    CHECK(c.remove_resource_claim(told));
    CHECK_FALSE(c.contains(told));
  }
}

TEST_CASE("a pod that others bound elsewhere uses the claim where it is", "[model][resource_claims]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cards(1)).value(), m = c.add_node(a_node("m").cards(1)).value();
  const resource_claim_id one = c.add_resource_claim({.name = "one", .devices = {{.count = 1}}}).value();
  const pod_id p = c.add_pod(sharing("p", {one}).on(n)).value(), q = c.add_pod(sharing("q", {one}).on(m)).value();
  CHECK(c.node_of(one) == n);
  CHECK(c.users_of(one) == 2);
  CHECK(c.devices_of(m).gpu(0).idle());
  SECTION("and gives it back there") {
    CHECK(c.remove_pod(p));
    CHECK(c.node_of(one) == n);
    const std::uint64_t from = inside(c).log.end();
    CHECK(c.remove_pod(q));
    CHECK(c.devices_of(n).gpu(0).idle());
    // Whoever reads the log of node n hears of it.
    const auto said = gangsched::testing::changes_since(c, from);
    CHECK(std::any_of(said.begin(), said.end(), [&](const change& record) {
      return record.node() == n.row && any(record.facets & reads::devices);
    }));
  }
  SECTION("until that node is gone: then it is nowhere, and the next pod allocates it again") {
    CHECK(c.remove_node(n));
    CHECK_FALSE(c.node_of(one));
    CHECK(c.users_of(one) == 1);
    const pod_id r = c.add_pod(sharing("r", {one}).on(m)).value();
    CHECK(c.node_of(one) == m);
    CHECK(words_of(c, m) == claimed(c, m));
    CHECK(c.remove_pod(q));
    CHECK(c.node_of(one) == m);
    CHECK(c.remove_pod(r));
    CHECK(c.devices_of(m).gpu(0).idle());
  }
}

TEST_CASE("a pod keeps its own device, and no claim gets it, when its labels change", "[model][resource_claims]") {
  cluster c;
  node_spec node = a_node("n");
  node.devices.others = {{.id = "card0", .device_class = "card"}};
  const node_id n = c.add_node(node).value();
  const std::vector<held_device> held{{.id = "card0"}};
  const resource_claim_id claim =
      c.add_resource_claim({.name = "k", .devices = {{.device_class = "card"}}, .held_devices = held}).value();
  pod_spec spec = sharing("p", {claim}).device({.device_class = "card"}).on(n);
  spec.held_devices = held;
  const pod_id pod = c.add_pod(spec).value();
  REQUIRE(c.add_pod(sharing("q", {claim}).on(n)));
  REQUIRE(cards_of(c, pod) == std::vector<std::uint16_t>{0});
  REQUIRE(cards_of(c, claim).empty());
  spec.held_devices.clear();
  spec.labels["a"] = "b";
  REQUIRE(c.update_pod(pod, spec));
  CHECK(cards_of(c, pod) == std::vector<std::uint16_t>{0});
  CHECK(cards_of(c, claim).empty());
  CHECK(c.devices_of(n).used[0] == 1);
  check_copies(c);
}

TEST_CASE("nonsense about claims is refused, and says what", "[model][resource_claims]") {
  cluster c;
  const resource_claim_spec good{.name = "x", .devices = {{.device_class = "nic"}, {.count = 1}}};
  const auto with = [&](auto change) {
    resource_claim_spec made = good;
    change(made);
    return [&c, made] { return c.add_resource_claim(made); };
  };
  const char* const x = "resource claim default/x";
  check_refused(c, errc::malformed, "resource claim default/X", "name", with([](auto& one) { one.name = "X"; }));
  check_refused(c, errc::malformed, x, "devices", with([](auto& one) { one.devices.clear(); }));
  check_refused(c, errc::out_of_range, x, "devices[0].count", with([](auto& one) { one.devices[0].count = 0; }));
  check_refused(c, errc::out_of_range, x, "most_pods", with([](auto& one) { one.most_pods = -1; }));
  check_refused(c, errc::malformed, x, "constraints[0].attribute", with([](auto& one) {
                  one.constraints = {{"", {0}}};
                }));
  check_refused(c, errc::unknown, x, "constraints[0].requests", with([](auto& one) {
                  one.constraints = {{"d/a", {2}}};
                }));
  check_refused(c, errc::malformed, x, "constraints[0].requests", with([](auto& one) {
                  one.constraints = {{"d/a", {0, 1}}};
                }));
  check_refused(c, errc::malformed, x, "constraints[1].requests", with([](auto& one) {
                  one.constraints = {{"d/a", {0}}, {"d/a"}};
                }));
  check_refused(c, errc::malformed, "pod default/p", "device_constraints[0].attribute", [&] {
    a_pod made = a_pod("p").device({.device_class = "nic"});
    made.spec.device_constraints = {{""}};
    return c.add_pod(made);
  });

  const resource_claim_id claim = c.add_resource_claim(good).value();
  check_refused(c, errc::duplicate, x, "name", [&] { return c.add_resource_claim(good); });
  resource_claim_spec foreign = good;
  foreign.ns = "other";
  const resource_claim_id theirs = c.add_resource_claim(foreign).value();
  check_refused(c, errc::malformed, "pod default/p", "resource_claims[1]", [&] {
    return c.add_pod(sharing("p", {claim, theirs}));
  });
  check_refused(c, errc::duplicate, "pod default/p", "resource_claims[1]", [&] {
    return c.add_pod(sharing("p", {claim, claim}));
  });
  check_refused(c, errc::unknown, "pod default/p", "resource_claims[0]", [&] { return c.add_pod(sharing("p", {{}})); });
  resource_claim_spec large{.name = "large"};
  large.devices.assign(253, {.device_class = "nic"});
  const resource_claim_id many = c.add_resource_claim(large).value();
  check_refused(c, errc::out_of_range, "pod default/p", "resource_claims[1]", [&] {
    return c.add_pod(sharing("p", {many, claim}));
  });

  const pod_id p = c.add_pod(sharing("p", {claim})).value();
  check_refused(c, errc::wrong_state, x, "name", [&] { return c.remove_resource_claim(claim); });
  CHECK(c.remove_pod(p));
  CHECK(c.remove_resource_claim(claim));
  check_refused(c, errc::unknown, "resource claim", "id", [&] { return c.remove_resource_claim(claim); });
  check_refused(c, errc::unknown, "pod default/q", "resource_claims[0]",
                [&] { return c.add_pod(sharing("q", {claim})); });
}

TEST_CASE("whatever happens, the words of a node are the sum of what pods and claims hold",
          "[model][resource_claims]") {
  std::mt19937 random{20261122};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  for (int round = 0; round < 60; ++round) {
    cluster c;
    const auto machine = [&](int i) {
      a_node made = a_node("n" + std::to_string(i)).cards(static_cast<std::size_t>(1 + dice(6)), "m", 1000);
      for (int nic = 0; nic < dice(4); ++nic) {
        made.spec.devices.others.push_back(
            {.id = "nic" + std::to_string(nic), .device_class = "rdma", .units = 1 + dice(2)});
      }
      if (i == 2) {
        const auto policy = static_cast<numa_policy>(dice(4));
        made.spec.devices.numa = gangsched::testing::sockets_of_eight(2, 100, policy);
        for (gpu_spec& gpu : made.spec.devices.gpus) gpu.numa = dice(3) - 1;
      }
      return made;
    };
    std::vector<node_id> nodes;
    for (int i = 0; i < 3; ++i) nodes.push_back(c.add_node(machine(i)).value());
    std::vector<resource_claim_id> claims;
    for (int i = 0; i < 4; ++i) {
      resource_claim_spec made{.name = "c" + std::to_string(i), .devices = {{.count = 1 + dice(2)}}};
      if (dice(2) == 0) made.devices = {{.milli = 100 + dice(500)}, {.device_class = "rdma"}};
      if (dice(2) == 0) made.held_devices = {{.id = std::to_string(dice(4))}};
      claims.push_back(c.add_resource_claim(made).value());
    }
    std::vector<pod_id> pods;
    for (int step = 0; step < 80; ++step) {
      if (dice(3) == 0 || pods.empty()) {
        a_pod made{"p" + std::to_string(step)};
        for (const resource_claim_id one : claims)
          if (dice(3) == 0) made.spec.resource_claims.push_back(one);
        if (dice(3) == 0) made.cards(1);
        made.spec.guaranteed = dice(2) == 0;
        made.cpu(1 + dice(3)).resource("memory", quantity{dice(60)});
        if (dice(3) == 0) made.on(nodes[static_cast<std::size_t>(dice(3))]);
        pods.push_back(c.add_pod(made).value());
      } else {
        const std::size_t which = static_cast<std::size_t>(dice(static_cast<int>(pods.size())));
        const pod_id pod = pods[which];
        const node_id node = nodes[static_cast<std::size_t>(dice(3))];
        move_on_trial(c, pod, node, [&] { return dice(3) != 0; });
        if (dice(5) == 0) {
          CHECK(c.remove_pod(pod));
          pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(which));
        }
      }
      if (dice(10) == 0) {  // other devices, or none
        const int i = dice(3);
        const node_id node = nodes[static_cast<std::size_t>(i)];
        if (dice(3) == 0) CHECK(c.update_node(node, a_node("n" + std::to_string(i))));
        CHECK(c.update_node(node, machine(i)));
      }
      for (const node_id node : nodes) {
        REQUIRE(words_of(c, node) == claimed(c, node));
        for (std::size_t gpu = 0; gpu < c.devices_of(node).gpu_count(); ++gpu)
          REQUIRE(c.devices_of(node).gpu(gpu).milli() <= whole_gpu);
      }
      for (const resource_claim_id claim : claims) {
        const auto uses = [&](pod_id pod) {
          const auto all = c.claims_of(pod);
          return c.node_of(pod) && std::find(all.begin(), all.end(), claim) != all.end();
        };
        REQUIRE(c.users_of(claim) == static_cast<std::uint32_t>(std::count_if(pods.begin(), pods.end(), uses)));
        if (c.users_of(claim) == 0) REQUIRE(inside(c).devices.resource_claims.held[claim.row] == nullptr);
      }
    }
  }
}

}  // namespace

}  // namespace gangsched::testing::resource_claims_test
