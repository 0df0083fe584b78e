// Devices that must have an attribute in common, or not: against a search that tries everything.
#include <algorithm>
#include <random>

#include "gangsched/devices/device_fit.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::device_constraints_test {

namespace {

struct asked {
  interner names;
  device_inventory inventory;
  std::vector<device_demand> demands;
  std::vector<device_match> matches;
  std::vector<std::int64_t> words;

  asked(std::vector<other_device> has, const std::vector<device_request>& requests,
        const std::vector<device_constraint>& constraints) {
    node_devices node;
    node.others = std::move(has);
    for (std::size_t i = 0; i < node.others.size(); ++i) node.others[i].id = std::to_string(i);
    inventory = make_inventory(node, names, "node n").value();
    complete_inventory(inventory);
    REQUIRE_FALSE(check(requests, "pod p"));
    REQUIRE_FALSE(check(constraints, requests, "pod p", "constraints"));
    demands = make_demands(requests, names);
    matches = make_matches(constraints, requests, names);
    words.assign(inventory.words(), 0);
  }
  /// The devices in order of the requests; empty if there are none.
  [[nodiscard]] std::vector<std::uint16_t> choose() const {
    device_wants wants;
    for (std::size_t i = 0; i < demands.size(); ++i)
      wants.push_back({&demands[i], demands[i].count, static_cast<std::uint8_t>(i)});
    wants.matches = matches;
    device_claim claim;
    if (!choose_devices({&inventory, words.data()}, wants, {}, claim).ok()) return {};
    std::vector<std::uint16_t> chosen;
    for (const device_grant& one : claim.grants) chosen.push_back(one.device);
    return chosen;
  }
};
using chosen = std::vector<std::uint16_t>;

other_device a(const char* kind, std::optional<device_attribute> root, std::optional<device_attribute> index = {}) {
  other_device made{.id = "", .device_class = kind};
  if (root) made.attributes["d/root"] = *root;
  if (index) made.attributes["d/index"] = *index;
  return made;
}
device_request want(const char* kind, std::int32_t count = 1) { return {.device_class = kind, .count = count}; }

TEST_CASE("devices of several requests have the same value, if need be by going back", "[devices][constraints]") {
  using text = std::string;
  const std::vector<other_device> has = {a("card", text{"r0"}),  a("card", text{"r1"}), a("card", text{"r1"}),
                                         a("nic", std::nullopt), a("nic", text{"r1"}),  a("nic", text{"r2"})};
  const auto choose = [&](const std::vector<device_request>& requests,
                          const std::vector<device_constraint>& constraints) {
    return asked{has, requests, constraints}.choose();
  };
  CHECK(choose({want("card"), want("nic")}, {}) == chosen{0, 3});
  CHECK(choose({want("card"), want("nic")}, {{"d/root"}}) == chosen{1, 4});
  CHECK(choose({want("nic"), want("card", 2)}, {{"d/root"}}) == chosen{4, 1, 2});
  CHECK(choose({want("card", 2), want("nic")}, {{"d/root", {0}}}) == chosen{1, 2, 3});
  CHECK(choose({want("card", 3)}, {{"d/root"}}).empty());
  CHECK(choose({want("nic", 2)}, {{"d/root"}}).empty());
  CHECK(choose({want("card")}, {{"d/unheard-of"}}).empty());
  CHECK(choose({want("card", 2)}, {{"d/root", {}, true}}) == chosen{0, 1});
  CHECK(choose({want("card", 3)}, {{"d/root", {}, true}}).empty());
  CHECK(choose({{.device_class = "nic", .all = true}}, {{"d/root"}}).empty());
  CHECK(choose({{.first_of = {want("card", 3), want("nic")}}}, {{"d/root"}}) == chosen{4});
}

TEST_CASE("a constraint on one alternative counts where that alternative is taken", "[devices][constraints]") {
  using text = std::string;
  const std::vector<other_device> has = {a("card", text{"r0"}), a("card", text{"r1"}), a("nic", text{"r2"}),
                                         a("nic", text{"r1"})};
  const device_request either{.first_of = {want("card"), want("nic")}};
  const auto choose = [&](const std::vector<device_request>& requests,
                          const std::vector<device_constraint>& constraints) {
    return asked{has, requests, constraints}.choose();
  };
  const device_constraint on_card{"d/root", {1}, false, {{0, 0}}}, on_nic{"d/root", {1}, false, {{0, 1}}};
  CHECK(choose({either, want("nic")}, {}) == chosen{0, 2});
  CHECK(choose({either, want("nic")}, {on_card}) == chosen{1, 3});
  CHECK(choose({either, want("nic")}, {on_nic}) == chosen{0, 2});
  CHECK(choose({either, want("nic")}, {{"d/root", {0, 1}}}) == chosen{1, 3});
  // The card would have to be where no NIC is left: then it is the NIC, which nothing is said about.
  const std::vector<other_device> apart = {a("card", text{"r0"}), a("nic", text{"r1"}), a("nic", text{"r2"})};
  CHECK(asked{apart, {either, want("nic")}, {on_card}}.choose() == chosen{1, 2});
  CHECK(asked{apart, {either, want("nic")}, {{"d/root", {0, 1}}}}.choose().empty());
  CHECK(asked{apart, {either, want("nic")}, {{"d/root", {}, false, {{0, 0}}}}}.choose() == chosen{0, 1});

  const std::vector<device_request> requests{either, want("nic"), {.count = 1}};
  const auto refused = [&](device_constraint::alternative of) {
    const std::vector<device_constraint> all{{"d/root", {1}, false, {of}}};
    const auto wrong = check(all, requests, "pod p", "device_constraints");
    REQUIRE(wrong);
    return wrong->message();
  };
  CHECK(refused({3, 0}) == "pod p: device_constraints[0].alternatives: there is no request 3");
  CHECK(refused({0, 2}) == "pod p: device_constraints[0].alternatives: request 0 has no alternative 2");
  CHECK(refused({1, 0}) == "pod p: device_constraints[0].alternatives: request 1 has no alternative 0");
}

TEST_CASE("values of different types are never the same", "[devices][constraints]") {
  const std::vector<other_device> has = {a("card", std::string{"1"}), a("card", std::int64_t{1}), a("card", true),
                                         a("card", std::int64_t{1})};
  CHECK(asked(has, {want("card", 2)}, {{"d/root"}}).choose() == chosen{1, 3});
  CHECK(asked(has, {want("card", 3)}, {{"d/root", {}, true}}).choose() == chosen{0, 1, 2});
}

TEST_CASE("something is found exactly if there is something, and it is what was asked for", "[devices][constraints]") {
  std::mt19937 random{20261122};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  int found = 0, none = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<other_device> has;
    for (int i = 0; i < 3 + dice(5); ++i) {
      const auto value = [&]() -> std::optional<device_attribute> {
        if (dice(6) == 0) return std::nullopt;
        return device_attribute{std::int64_t{dice(3)}};
      };
      has.push_back(a(dice(2) == 0 ? "card" : "nic", value(), value()));
    }
    std::vector<device_request> requests;
    std::vector<std::size_t> slots;  // the request of each device
    for (int i = 0; i < 1 + dice(3); ++i) {
      requests.push_back(want(dice(2) == 0 ? "card" : "nic", 1 + dice(2)));
      slots.insert(slots.end(), static_cast<std::size_t>(requests.back().count), requests.size() - 1);
    }
    std::vector<device_constraint> constraints;
    for (int i = 0; i < 1 + dice(2); ++i) {
      device_constraint one{dice(2) == 0 ? "d/root" : "d/index", {}, dice(3) == 0};
      if (dice(2) == 0) one.requests.push_back(dice(static_cast<int>(requests.size())));
      constraints.push_back(one);
    }
    const auto good = [&](const std::vector<std::uint16_t>& devices) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (has[devices[i]].device_class != requests[slots[i]].device_class) return false;
        if (std::count(devices.begin(), devices.end(), devices[i]) != 1) return false;
      }
      return std::all_of(constraints.begin(), constraints.end(), [&](const device_constraint& one) {
        std::vector<device_attribute> values;
        for (std::size_t i = 0; i < slots.size(); ++i) {
          const auto& about = one.requests;
          if (!about.empty() &&
              std::find(about.begin(), about.end(), static_cast<std::int32_t>(slots[i])) == about.end())
            continue;
          const auto value = has[devices[i]].attributes.find(one.attribute);
          if (value == has[devices[i]].attributes.end()) return false;
          values.push_back(value->second);
        }
        std::sort(values.begin(), values.end());
        const auto different = std::unique(values.begin(), values.end()) - values.begin();
        return different == (one.distinct ? static_cast<std::ptrdiff_t>(values.size()) : 1);
      });
    };
    bool possible = false;
    std::vector<std::uint16_t> all(slots.size(), 0);
    for (bool more = true; more && !possible;) {
      possible = good(all);
      more = false;
      for (std::uint16_t& digit : all) {
        if (++digit < has.size()) {
          more = true;
          break;
        }
        digit = 0;
      }
    }
    const chosen made = asked(has, requests, constraints).choose();
    REQUIRE(made.empty() == !possible);
    if (possible) REQUIRE(good(made));
    ++(possible ? found : none);
  }
  CHECK(found > 300);
  CHECK(none > 300);
}

}  // namespace

}  // namespace gangsched::testing::device_constraints_test
