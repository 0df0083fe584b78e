// Claims that are allocated before anybody uses them, and devices whose capacities are shared.
#include <random>
#include <string>
#include <vector>

#include "gangsched/model/transaction.hpp"
#include "held_devices.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::kept_claims_test {

namespace {

using cards = std::vector<std::uint16_t>;

struct kept {
  cluster c;
  a_node spec = a_node("n").cards(4);
  node_id n, m;
  resource_claim_id claim;
  kept() {
    for (std::size_t i = 0; i < 4; ++i) spec.spec.devices.gpus[i].id = "GPU-" + std::to_string(i);
    n = c.add_node(spec).value();
    m = c.add_node(a_node("m").cards(4)).value();
    claim =
        c.add_resource_claim(
             {.name = "c", .devices = {{.count = 2}}, .held_devices = {{.id = "GPU-1"}, {.id = "GPU-3"}}, .node = n})
            .value();
  }
  bool has(std::size_t gpu) { return !c.devices_of(n).gpu(gpu).idle(); }
};

TEST_CASE("a claim that is allocated has its devices without users", "[model][resource_claims]") {
  kept k;
  CHECK(k.c.node_of(k.claim) == k.n);
  CHECK(k.c.users_of(k.claim) == 0);
  CHECK(cards_of(k.c, k.claim) == cards{1, 3});
  CHECK(k.has(1));
  const pod_id two = k.c.add_pod(a_pod("two").cards(2)).value();
  CHECK(k.c.assume(two, k.n));
  CHECK(k.c.devices_of(two)[0].device == 0);
  CHECK(k.c.devices_of(two)[1].device == 2);

  SECTION("and keeps them through the users that only were to run") {
    const pod_id p = k.c.add_pod(sharing("p", {k.claim})).value();
    const std::uint64_t before = inside(k.c).digest_with_derived();
    CHECK_FALSE(k.c.deallocate(resource_claim_id{}));
    {
      transaction trial{k.c};
      CHECK(k.c.assume(p, k.n));
      CHECK(k.c.bind(p));
      CHECK(k.c.remove_pod(p));
      CHECK_FALSE(k.c.node_of(k.claim));
    }
    CHECK(inside(k.c).digest_with_derived() == before);
    CHECK(k.c.assume(p, k.n));
    CHECK(k.c.users_of(k.claim) == 1);
    CHECK(k.c.release(p));
    CHECK(cards_of(k.c, k.claim) == cards{1, 3});
    CHECK(k.has(3));
  }
  SECTION("until one has run and left") {
    const pod_id p = k.c.add_pod(sharing("p", {k.claim}).on(k.n)).value();
    CHECK(cards_of(k.c, k.claim) == cards{1, 3});
    const auto wrong = k.c.deallocate(k.claim);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message() == "resource claim default/c: node: a pod there uses it");
    CHECK(k.c.remove_pod(p));
    CHECK_FALSE(k.c.node_of(k.claim));
    CHECK_FALSE(k.has(1));
  }
  SECTION("until one that ran before has used it and left") {
    a_pod runs = a_pod("runs").on(k.n);
    const pod_id user = k.c.add_pod(runs).value();
    runs.spec.resource_claims = {k.claim};
    CHECK(k.c.update_pod(user, runs));
    CHECK(cards_of(k.c, k.claim) == cards{1, 3});
    CHECK(k.c.remove_pod(user));
    CHECK_FALSE(k.c.node_of(k.claim));
    CHECK_FALSE(k.has(1));
  }
  SECTION("until it is deallocated") {
    CHECK(k.c.deallocate(k.claim));
    CHECK_FALSE(k.c.node_of(k.claim));
    CHECK_FALSE(k.has(1));
    CHECK(k.c.deallocate(k.claim));  // it is
    CHECK(k.c.add_pod(sharing("p", {k.claim}).on(k.m)));
    CHECK(k.c.node_of(k.claim) == k.m);
  }
  SECTION("until it, or its node, is removed") {
    CHECK(k.c.remove_resource_claim(k.claim));
    CHECK_FALSE(k.has(1));
    const resource_claim_id again =
        k.c.add_resource_claim({.name = "c", .devices = {{.count = 2}}, .node = k.m}).value();
    CHECK(cards_of(k.c, again).size() == 2);  // a guess
    CHECK(k.c.remove_node(k.m));
    CHECK_FALSE(k.c.node_of(again));
    CHECK(k.c.remove_resource_claim(again));
  }
  SECTION("also when the node's devices are told anew, or are told no more") {
    std::swap(k.spec.spec.devices.gpus[0], k.spec.spec.devices.gpus[3]);
    CHECK(k.c.update_node(k.n, k.spec));
    CHECK(cards_of(k.c, k.claim) == cards{1, 0});
    CHECK(k.has(0));
    k.spec.spec.devices.gpus.resize(1);  // the one that was number 3
    CHECK(k.c.update_node(k.n, k.spec));
    CHECK(cards_of(k.c, k.claim) == cards{0});
    CHECK(k.c.node_of(k.claim) == k.n);
    CHECK(k.c.deallocate(k.claim));
    CHECK_FALSE(k.has(0));
  }
  SECTION("whoever is said to run elsewhere") {
    const std::vector<std::int64_t> before = words_of(k.c, k.n);
    const pod_id p = k.c.add_pod(sharing("p", {k.claim}).on(k.m)).value();
    CHECK(k.c.node_of(k.claim) == k.n);
    CHECK(words_of(k.c, k.n) == before);
    for (std::size_t gpu = 0; gpu < 4; ++gpu) CHECK(k.c.devices_of(k.m).gpu(gpu).idle());
    CHECK(k.c.remove_pod(p));
    CHECK_FALSE(k.has(1));
  }
}

TEST_CASE("who holds devices that a node has no more holds the same when they are back", "[model][resource_claims]") {
  kept k;
  const pod_id user = k.c.add_pod(sharing("user", {k.claim}).on(k.n)).value();
  a_pod own{"own"};
  own.cards(1).on(k.n);
  own.spec.held_devices = {{.id = "GPU-2"}};
  const pod_id alone = k.c.add_pod(own).value();
  REQUIRE(cards_of(k.c, alone) == cards{2});
  a_node bare = a_node("n").cards(4);
  bare.spec.devices = {};
  CHECK(k.c.update_node(k.n, bare));  // its driver starts anew
  CHECK(k.c.node_of(k.claim) == k.n);
  CHECK(cards_of(k.c, k.claim).empty());
  CHECK(cards_of(k.c, alone).empty());
  a_node some = k.spec;
  some.spec.devices.gpus.pop_back();  // GPU-3 comes later
  CHECK(k.c.update_node(k.n, some));
  CHECK(cards_of(k.c, k.claim) == cards{1});
  CHECK(cards_of(k.c, alone) == cards{2});
  CHECK(k.c.update_node(k.n, k.spec));
  CHECK(cards_of(k.c, k.claim) == cards{1, 3});
  CHECK(cards_of(k.c, alone) == cards{2});
  CHECK(words_of(k.c, k.n) == claimed(k.c, k.n));
  CHECK(k.c.remove_pod(user));
  CHECK_FALSE(k.c.node_of(k.claim));
}

TEST_CASE("a claim that is allocated on a node has its devices when they come after it", "[model][resource_claims]") {
  cluster c;
  const node_id node = c.add_node(a_node("n")).value();
  const resource_claim_id claim =
      c.add_resource_claim({.name = "c", .devices = {{.count = 1}}, .held_devices = {{.id = "GPU-1"}}, .node = node})
          .value();
  SECTION("the pod that uses it comes first") { CHECK(c.add_pod(sharing("p", {claim}).on(node))); }
  SECTION("nobody does") {}
  a_node with = a_node("n").cards(2);
  for (std::size_t i = 0; i < 2; ++i) with.spec.devices.gpus[i].id = "GPU-" + std::to_string(i);
  CHECK(c.update_node(node, with));
  CHECK(c.node_of(claim) == node);
  CHECK(cards_of(c, claim) == cards{1});
}

TEST_CASE("a claim cannot be allocated on a node that is not there", "[model][resource_claims]") {
  cluster c;
  const auto made = c.add_resource_claim({.name = "c", .devices = {{.count = 1}}, .node = node_id{7, 1}});
  REQUIRE_FALSE(made);
  CHECK(made.error().message() == "resource claim default/c: node: no such node");
  CHECK_FALSE(c.find_resource_claim("default", "c"));
}

TEST_CASE("what pods use of a shared device's capacities adds up, and comes back", "[model][devices]") {
  cluster c;
  a_node node{"n"};
  for (const char* id : {"a", "b"}) {
    other_device& one = node.spec.devices.others.emplace_back(other_device{.id = id, .device_class = "card"});
    one.capacities["d/memory"] = {.amount = 10, .policy = capacity_policy{.least = 2, .step = 2}};
    one.capacities["d/cores"] = {.amount = 4, .policy = capacity_policy{.standard = 1}};
    one.shared = true;
  }
  const node_id n = c.add_node(node).value();
  const std::vector<std::int64_t> empty = words_of(c, n);
  const auto wanting = [](const std::string& name, std::int64_t memory) {
    return a_pod{name}.device({.device_class = "card", .capacities = {{"d/memory", memory}}});
  };
  const pod_id p = c.add_pod(wanting("p", 5).on(n)).value();
  const std::span<const device_grant> has = c.devices_of(p);
  REQUIRE(has.size() == 3);
  CHECK(c.name_of(n, has[0]) == "a");
  for (const device_grant& one : has.subspan(1)) {
    CHECK(c.name_of(n, one) == "a");
    CHECK(one.amount == (c.capacity_of(n, one) == "d/memory" ? 6 : 1));
  }
  CHECK(c.capacity_of(n, has[0]).empty());

  SECTION("of a pod that others bound as the host says") {
    a_pod told = wanting("q", 1).on(n);
    told.spec.held_devices = {{.id = "b", .capacities = {{"d/memory", 8}}}};
    const pod_id q = c.add_pod(told).value();
    CHECK(c.name_of(n, c.devices_of(q)[0]) == "b");
    std::swap(node.spec.devices.others[0], node.spec.devices.others[1]);
    node.spec.devices.others[0].numa = 3;  // another inventory
    CHECK(c.update_node(n, node));
    std::int64_t memory = 0;
    for (const device_grant& one : c.devices_of(q)) memory += c.capacity_of(n, one) == "d/memory" ? one.amount : 0;
    CHECK(memory == 8);
    CHECK(c.devices_of(q)[0].device == 0);
    CHECK(c.devices_of(p)[0].device == 1);
    CHECK(c.remove_pod(q));
  }
  SECTION("in any order") {
    std::mt19937 random{7};
    std::vector<pod_id> there;
    for (int round = 0; round < 400; ++round) {
      if (!there.empty() && random() % 2 == 0) {
        const std::size_t which = random() % there.size();
        CHECK(c.remove_pod(there[which]));
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const pod_id made =
            c.add_pod(wanting("r" + std::to_string(round), static_cast<std::int64_t>(random() % 8))).value();
        CHECK(c.assume(made, n));
        there.push_back(made);
      }
      std::vector<std::int64_t> sum = empty;
      for (const pod_id pod : c.pods()) {
        const device_claim* claim = inside(c).pods.claim[pod.row];
        for (const device_claim::change& one : claim == nullptr ? device_claim{}.changes : claim->changes) {
          sum[one.word] += static_cast<std::int64_t>(one.more);
        }
      }
      REQUIRE(words_of(c, n) == sum);
      const device_state now = c.devices_of(n);
      for (std::size_t i = 0; i < now.inventory->counters.size(); ++i) {
        REQUIRE(now.used[now.inventory->first_counter() + i] <= now.inventory->counters[i].value);
      }
    }
    for (const pod_id pod : there) CHECK(c.remove_pod(pod));
  }
  CHECK(c.remove_pod(p));
  CHECK(words_of(c, n) == empty);
}

}  // namespace

}  // namespace gangsched::testing::kept_claims_test
