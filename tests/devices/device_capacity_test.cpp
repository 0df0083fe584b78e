// Devices that several requests share: how much of their capacities each takes.
#include "gangsched/devices/device_fit.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::device_capacity_test {

namespace {

using amount = std::optional<std::int64_t>;

/// A node with cards of 10 units of memory that are shared.
struct shared_cards {
  interner names;
  device_inventory inventory;
  std::vector<std::int64_t> words;

  explicit shared_cards(const std::vector<capacity_spec>& memory, bool shared = true) {
    node_devices node;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      other_device& one = node.others.emplace_back(other_device{.id = std::to_string(i), .device_class = "card"});
      one.capacities["d/memory"] = memory[i];
      one.shared = shared;
    }
    inventory = make_inventory(node, names, "node n").value();
    words.assign(inventory.words(), 0);
  }
  /// What is used of each device's memory by one more pod: pairs of device and amount. Empty: there is no room.
  std::vector<std::pair<int, std::int64_t>> take(const std::vector<device_request>& requests) {
    REQUIRE_FALSE(check(requests, "pod p"));
    const std::vector<device_demand> demands = make_demands(requests, names);
    device_wants wants;
    for (std::size_t i = 0; i < demands.size(); ++i)
      wants.push_back({&demands[i], demands[i].count, static_cast<std::uint8_t>(i)});
    device_claim claim;
    const bool fits = devices_fit({&inventory, words.data()}, wants, {}).ok();
    CHECK(choose_devices({&inventory, words.data()}, wants, {}, claim).ok() == fits);
    if (fits) CHECK(still_free({&inventory, words.data()}, claim));
    std::vector<std::pair<int, std::int64_t>> taken;
    for (const device_grant& one : claim.grants)
      if (one.kind == device_grant::form::capacity) taken.emplace_back(one.device, one.amount);
    for (const device_claim::change& one : claim.changes) words[one.word] += static_cast<std::int64_t>(one.more);
    return taken;
  }
};
device_request memory(std::int64_t wanted, std::int32_t count = 1) {
  return {.device_class = "card", .count = count, .capacities = {{"d/memory", wanted}}};
}
using taken = std::vector<std::pair<int, std::int64_t>>;

TEST_CASE("what is asked for of a capacity is rounded up as its policy says", "[devices][capacity]") {
  const capacity_spec any{10};
  CHECK(capacity_taken(any, 3) == amount{3});
  CHECK(capacity_taken(any, {}) == amount{10});
  CHECK(capacity_taken(any, 11) == amount{});
  const capacity_spec listed{10, capacity_policy{.standard = 2, .values = {2, 4, 8}}};
  CHECK(capacity_taken(listed, {}) == amount{2});
  CHECK(capacity_taken(listed, 1) == amount{2});
  CHECK(capacity_taken(listed, 3) == amount{4});
  CHECK(capacity_taken(listed, 8) == amount{8});
  CHECK(capacity_taken(listed, 9) == amount{});
  const capacity_spec range{10, capacity_policy{.standard = 1, .least = 2, .most = 8, .step = 3}};
  CHECK(capacity_taken(range, {}) == amount{1});
  CHECK(capacity_taken(range, 0) == amount{2});
  CHECK(capacity_taken(range, 3) == amount{5});
  CHECK(capacity_taken(range, 8) == amount{8});
  CHECK(capacity_taken(range, 9) == amount{});
  const capacity_spec open{10, capacity_policy{.least = 2}};
  CHECK(capacity_taken(open, 1) == amount{2});
  CHECK(capacity_taken(open, 7) == amount{7});
  CHECK(capacity_taken(open, 11) == amount{});
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(capacity_taken({most, capacity_policy{.least = 0, .step = 2}}, most) == amount{});
}

TEST_CASE("a shared device is given away as long as its capacities last", "[devices][capacity]") {
  shared_cards node{{capacity_spec{10}, capacity_spec{10}}};
  CHECK(node.take({memory(6)}) == taken{{0, 6}});
  CHECK(node.take({memory(5)}) == taken{{1, 5}});
  CHECK(node.take({memory(4)}) == taken{{0, 4}});
  CHECK(node.take({memory(6)}).empty());
  CHECK(node.take({memory(2, 2)}) == taken{{1, 2}, {1, 2}});  // the same one twice
  CHECK(node.take({{.device_class = "card"}}).empty());       // all of it, and some is used
  CHECK(node.take({{.device_class = "card", .admin = true}}).empty());
  CHECK(node.words.back() == 9);
}

TEST_CASE("requests of one pod share a device too, unless an attribute is to differ", "[devices][capacity]") {
  node_devices has;
  for (const char* id : {"a", "b"}) {
    other_device& one = has.others.emplace_back(other_device{.id = id, .device_class = "card"});
    one.attributes["d/uuid"] = std::string{id};
    one.capacities["d/memory"] = {10, {}};
    one.shared = true;
  }
  interner names;
  const device_inventory inventory = make_inventory(has, names, "node n").value();
  const std::vector<std::int64_t> words(inventory.words());
  const std::vector<device_request> requests{memory(3), memory(3)};
  const std::vector<device_demand> demands = make_demands(requests, names);
  const auto chosen = [&](const std::vector<device_constraint>& constraints) {
    device_wants wants;
    for (std::uint8_t i = 0; i < 2; ++i) wants.push_back({&demands[i], 1, i});
    wants.matches = make_matches(constraints, requests, names);
    device_claim claim;
    REQUIRE(choose_devices({&inventory, words.data()}, wants, {}, claim).ok());
    std::vector<int> devices;
    for (const device_grant& one : claim.grants)
      if (one.kind == device_grant::form::other) devices.push_back(one.device);
    return devices;
  };
  CHECK(chosen({}) == std::vector{0, 0});
  CHECK(chosen({{"d/uuid", {}, true}}) == std::vector{0, 1});
}

TEST_CASE("a device that is not shared needs the capacity that is asked for, and goes as a whole",
          "[devices][capacity]") {
  shared_cards node{{capacity_spec{4}, capacity_spec{10}}, false};
  const std::vector<device_request> requests{memory(5), {.device_class = "card", .capacities = {{"d/cores", 1}}}};
  const std::vector<device_demand> demands = make_demands(requests, node.names);
  const device_state now{&node.inventory, node.words.data()};
  CHECK_FALSE(is_free(now, demands[0], 0));
  CHECK(is_free(now, demands[0], 1));
  CHECK_FALSE(is_free(now, demands[1], 1));  // has none of it
  CHECK(node.take({memory(5)}).empty());     // nothing is counted
  CHECK_FALSE(is_free({&node.inventory, node.words.data()}, demands[0], 1));
}

TEST_CASE("capacities that make no sense are refused", "[devices][capacity]") {
  const auto refused = [](const std::function<void(other_device&)>& change) {
    node_devices node;
    other_device& one = node.others.emplace_back(other_device{.id = "a", .device_class = "card"});
    one.shared = true;
    one.capacities["d/m"] = {10, capacity_policy{}};
    change(one);
    interner names;
    const auto made = make_inventory(node, names, "node n");
    REQUIRE_FALSE(made);
    return made.error().message();
  };
  const auto policy = [&](const capacity_policy& of) {
    return refused([&](other_device& one) { one.capacities["d/m"].policy = of; });
  };
  const std::string at = "node n: devices.others[0].";
  CHECK(refused([](other_device& one) { one.capacities["d/m"].amount = -1; }) ==
        at + "capacities[\"d/m\"].amount: is negative");
  CHECK(policy({.standard = 11}) == at + "capacities[\"d/m\"].policy.standard: is negative, or more than there is");
  CHECK(policy({.values = {2, 1}}) == at + "capacities[\"d/m\"].policy.values: are not ascending");
  CHECK(policy({.values = {11}}) == at + "capacities[\"d/m\"].policy.values: are negative, or more than there is");
  CHECK(policy({.values = {1}, .least = 1}) == at + "capacities[\"d/m\"].policy.values: are there beside a range");
  CHECK(policy({.most = 1}) == at + "capacities[\"d/m\"].policy.least: is not told beside the rest of the range");
  CHECK(policy({.least = 3, .most = 2}) == at + "capacities[\"d/m\"].policy.most: is less than the least");
  CHECK(policy({.least = 3, .step = 0}) == at + "capacities[\"d/m\"].policy.step: is not above 0");
  CHECK(refused([](other_device& one) { one.units = 2; }) == at + "units: are not 1, and its capacities are shared");
  CHECK(refused([](other_device& one) { one.consumes.push_back({"c", 1}); }).starts_with(at + "consumes: counters"));
  CHECK(check(std::vector{memory(-1)}, "pod p")->message() ==
        "pod p: devices[0].capacities[\"d/memory\"]: is negative");
}

}  // namespace

}  // namespace gangsched::testing::device_capacity_test
