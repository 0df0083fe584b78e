// Requests with alternatives: which one was chosen, of pods and of claims; and that what is held stays held.
#include <string>
#include <vector>

#include "gangsched/model/device_alternatives.hpp"
#include "held_devices.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::device_alternatives_test {

namespace {

using place = std::optional<std::int32_t>;

a_node cards(const char* name, int small, int large) {
  a_node made{name};
  for (int i = 0; i < small + large; ++i) {
    other_device& one = made.spec.devices.others.emplace_back();
    one.id = std::to_string(i);
    one.device_class = "card";
    one.attributes["d/large"] = i >= small;
  }
  return made;
}
device_request of_size(bool large, std::int32_t count) {
  return {.device_class = "card", .count = count, .selectors = {{"d/large", attribute_operator::equal, {large}}}};
}
device_request large_or_small(std::int32_t large, std::int32_t small) {
  return {.first_of = {of_size(true, large), of_size(false, small)}};
}

TEST_CASE("the alternative of a claim's request is numbered by the claim, that of a pod's own by the pod",
          "[model][devices]") {
  cluster c;
  const node_id n = c.add_node(cards("n", 4, 2)).value();
  const resource_claim_id claim =
      c.add_resource_claim({.name = "claim", .devices = {{.device_class = "card"}, large_or_small(2, 2)}}).value();
  const pod_id p = c.add_pod(sharing("p", {claim}).device(large_or_small(1, 2))).value();
  CHECK(alternative_of(c, p, 0) == place{});
  CHECK(alternative_of(c, claim, 1) == place{});
  REQUIRE(c.assume(p, n));
  CHECK(alternative_of(c, p, 0) == place{0});
  CHECK(alternative_of(c, claim, 0) == place{});  // it offers none
  CHECK(alternative_of(c, claim, 1) == place{1});
  for (const std::int32_t none : {-1, 1, 255}) CHECK(alternative_of(c, p, none) == place{});
  CHECK(alternative_of(c, claim, 2) == place{});
  const pod_id q = c.add_pod(sharing("q", {claim}).on(n)).value();
  CHECK(alternative_of(c, q, 0) == place{});
  CHECK(alternative_of(c, claim, 1) == place{1});
  REQUIRE(c.release(p));
  CHECK(alternative_of(c, p, 0) == place{});
  REQUIRE(c.remove_pod(q));
  CHECK(alternative_of(c, claim, 1) == place{});
  CHECK(alternative_of(c, resource_claim_id{}, 0) == place{});
  CHECK(alternative_of(c, pod_id{}, 0) == place{});
}

TEST_CASE("capacities of a shared device tell alternatives apart", "[model][devices]") {
  cluster c;
  a_node node{"n"};
  other_device& one = node.spec.devices.others.emplace_back();
  one = {.id = "a", .device_class = "card"};
  one.capacities["d/memory"] = {.amount = 10};
  one.shared = true;
  const node_id n = c.add_node(node).value();
  const auto of = [](std::int64_t memory) {
    return device_request{.device_class = "card", .capacities = {{"d/memory", memory}}};
  };
  for (const int expected : {0, 1, 2}) {
    const std::string name{static_cast<char>('a' + expected)};
    const pod_id p = c.add_pod(a_pod{name}.device({.first_of = {of(6), of(3), of(1)}}).on(n)).value();
    CHECK(alternative_of(c, p, 0) == place{expected});
  }
}

TEST_CASE("all the devices are held that the host says are held for one of a request's alternatives",
          "[model][devices]") {
  cluster c;
  const node_id n = c.add_node(cards("n", 4, 2)).value();
  const auto held = [](std::initializer_list<const char*> ids, std::int32_t request) {
    std::vector<held_device> made;
    for (const char* id : ids) made.push_back({.id = id, .request = request});
    return made;
  };
  const auto claim_with = [&](std::vector<held_device> has) {
    const resource_claim_id made =
        c.add_resource_claim(
             {.name = "x", .devices = {large_or_small(2, 3)}, .held_devices = std::move(has), .node = n})
            .value();
    return made;
  };
  SECTION("of the second") {
    const resource_claim_id x = claim_with(held({"3", "1", "2"}, 0));
    CHECK(cards_of(c, x) == std::vector<std::uint16_t>{3, 1, 2});
    CHECK(alternative_of(c, x, 0) == place{1});
  }
  SECTION("though the request is not said") {
    const resource_claim_id x = claim_with(held({"3", "1", "2"}, -1));
    CHECK(cards_of(c, x) == std::vector<std::uint16_t>{3, 1, 2});
    CHECK(alternative_of(c, x, 0) == place{1});
  }
  SECTION("of the first") {
    const resource_claim_id x = claim_with(held({"4", "5"}, 0));
    CHECK(cards_of(c, x) == std::vector<std::uint16_t>{4, 5});
    CHECK(alternative_of(c, x, 0) == place{0});
  }
  SECTION("of none: they are held, and no alternative is said") {
    const resource_claim_id x = claim_with(held({"0", "4"}, 0));
    CHECK(cards_of(c, x) == std::vector<std::uint16_t>{0, 4});
    CHECK(alternative_of(c, x, 0) == place{});
  }
  SECTION("by a pod") {
    a_pod p = a_pod{"p"}.device(large_or_small(2, 3)).on(n);
    p.spec.held_devices = held({"0", "1", "3"}, 0);
    const pod_id id = c.add_pod(p).value();
    CHECK(c.devices_of(id).size() == 3);
    CHECK(alternative_of(c, id, 0) == place{1});
  }
  SECTION("however many, where all are wanted") {
    const resource_claim_id x = c.add_resource_claim({.name = "all",
                                                      .devices = {{.device_class = "card", .all = true}},
                                                      .held_devices = held({"0", "1", "2", "3", "4", "5"}, 0),
                                                      .node = n})
                                    .value();
    CHECK(cards_of(c, x).size() == 6);
  }
  CHECK(words_of(c, n) == claimed(c, n));
}

TEST_CASE("what an alternative has is kept when the node's devices are told anew", "[model][devices]") {
  cluster c;
  SECTION("devices of a claim") {
    a_node node = cards("n", 4, 1);
    const node_id n = c.add_node(node).value();
    const resource_claim_id x = c.add_resource_claim({.name = "x", .devices = {large_or_small(2, 3)}}).value();
    REQUIRE(c.assume(c.add_pod(sharing("p", {x})).value(), n));
    CHECK(cards_of(c, x) == std::vector<std::uint16_t>{0, 1, 2});
    std::swap(node.spec.devices.others[0], node.spec.devices.others[4]);
    REQUIRE(c.update_node(n, node));
    CHECK(cards_of(c, x) == std::vector<std::uint16_t>{4, 1, 2});
    CHECK(alternative_of(c, x, 0) == place{1});
    CHECK(words_of(c, n) == claimed(c, n));
  }
  SECTION("a share of a GPU") {
    a_node node = a_node("n").cards(2);
    const node_id n = c.add_node(node).value();
    const pod_id both = c.add_pod(a_pod{"both"}.device({.count = 1}).on(n)).value();
    const pod_id most = c.add_pod(a_pod{"most"}.device({.milli = 600}).on(n)).value();
    const pod_id p = c.add_pod(a_pod{"p"}.device({.first_of = {{.milli = 500}, {.milli = 300}}}).on(n)).value();
    REQUIRE(c.devices_of(p).size() == 1);
    node.spec.devices.gpus[0].numa = node.spec.devices.gpus[0].numa == 0 ? 1 : 0;
    REQUIRE(c.update_node(n, node));
    REQUIRE(c.devices_of(p).size() == 1);
    CHECK(c.devices_of(p)[0].milli == 300);
    CHECK(c.devices_of(both).size() + c.devices_of(most).size() == 2);
    CHECK(words_of(c, n) == claimed(c, n));
  }
  SECTION("a share, where the first alternative is an instance") {
    a_node node = a_node("n").cards(1);
    const node_id n = c.add_node(node).value();
    const pod_id p =
        c.add_pod(a_pod{"p"}.device({.first_of = {{.mig_profile = "1g.5gb"}, {.milli = 800}, {.milli = 700}}}).on(n))
            .value();
    REQUIRE(c.devices_of(p).size() == 1);
    CHECK(c.devices_of(p)[0].milli == 800);
    node.spec.devices.gpu.replicas = 2;
    REQUIRE(c.update_node(n, node));
    REQUIRE(c.devices_of(p).size() == 1);
    CHECK(c.devices_of(p)[0].milli == 800);
  }
}

}  // namespace

}  // namespace gangsched::testing::device_alternatives_test
