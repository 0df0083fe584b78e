// Which alternative of a request its devices were chosen for, against a search that tries everything in order and writes it down.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/devices/device_fit.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::device_alternatives_test {

namespace {

/// A device of the plain search: one pod's, or shared by its memory.
struct plain_device {
  std::string kind;
  std::optional<std::int64_t> root;
  std::int64_t memory = 0;  ///< of a shared one
  std::int64_t left = 0;    ///< of that, or whether it is free
};

struct choice {
  std::vector<std::uint16_t> devices = {};
  std::vector<std::int32_t> places = {};  ///< by request; −1: it offers no alternatives
};

/// Alternatives in order, of each the devices in order, then the next request: the first way that keeps all constraints.
class plain_search {
 public:
  plain_search(std::vector<plain_device> has, const std::vector<device_request>& requests,
               const std::vector<device_constraint>& constraints)
      : has_(std::move(has)), requests_(requests), constraints_(constraints) {}

  [[nodiscard]] std::optional<choice> run() {
    if (!request(0)) return std::nullopt;
    return made_;
  }

 private:
  struct taken {
    std::size_t request;
    std::int32_t place;
    std::uint16_t device;
  };

  bool request(std::size_t index) {
    if (index == requests_.size()) {
      made_.devices.clear();
      for (const taken& one : taken_) made_.devices.push_back(one.device);
      return true;
    }
    const device_request& its = requests_[index];
    made_.places.resize(requests_.size());
    if (its.first_of.empty()) return made_.places[index] = -1, devices(index, its, its.count, 0);
    for (std::size_t k = 0; k < its.first_of.size(); ++k) {
      made_.places[index] = static_cast<std::int32_t>(k);
      if (devices(index, its.first_of[k], its.first_of[k].count, 0)) return true;
    }
    return false;
  }
  bool devices(std::size_t index, const device_request& what, std::int32_t left, std::size_t from) {
    if (left == 0) return request(index + 1);
    for (std::size_t i = from; i < has_.size(); ++i) {
      plain_device& one = has_[i];
      const auto asked = what.capacities.find("d/memory");
      const std::int64_t memory = asked == what.capacities.end() ? one.memory : asked->second;
      const std::int64_t uses = one.memory == 0 ? 1 : memory;
      if (one.kind != what.device_class || one.left < uses) continue;
      taken_.push_back({index, made_.places[index], static_cast<std::uint16_t>(i)});
      one.left -= uses;
      if (keeps_constraints() && devices(index, what, left - 1, one.memory == 0 ? i + 1 : i)) return true;
      one.left += uses;
      taken_.pop_back();
    }
    return false;
  }
  [[nodiscard]] bool keeps_constraints() const {
    for (const device_constraint& one : constraints_) {
      std::vector<std::int64_t> values;
      for (const taken& has : taken_) {
        const auto number = static_cast<std::int32_t>(has.request);
        const bool all = one.requests.empty() && one.alternatives.empty();
        bool covered = all || std::find(one.requests.begin(), one.requests.end(), number) != one.requests.end();
        for (const device_constraint::alternative& of : one.alternatives)
          covered = covered || (of.request == number && of.place == has.place);
        if (!covered) continue;
        if (!has_[has.device].root) return false;
        values.push_back(*has_[has.device].root);
      }
      std::sort(values.begin(), values.end());
      const auto different = std::unique(values.begin(), values.end()) - values.begin();
      if (!values.empty() && different != (one.distinct ? static_cast<std::ptrdiff_t>(values.size()) : 1)) return false;
    }
    return true;
  }

  std::vector<plain_device> has_;
  const std::vector<device_request>& requests_;
  const std::vector<device_constraint>& constraints_;
  std::vector<taken> taken_;
  choice made_;
};

/// Something that is asked of a node.
struct asked {
  interner& names;
  std::vector<device_demand> demands;
  device_wants wants;
  device_claim claim;

  asked(interner& in, const std::vector<device_request>& requests, const std::vector<device_constraint>& constraints)
      : names(in) {
    REQUIRE_FALSE(check(requests, "pod p"));
    REQUIRE_FALSE(check(constraints, requests, "pod p", "constraints"));
    demands = make_demands(requests, names);
    for (std::size_t i = 0; i < demands.size(); ++i)
      wants.push_back({&demands[i], demands[i].count, static_cast<std::uint8_t>(i)});
    wants.matches = make_matches(constraints, requests, names);
  }
  bool choose(const device_inventory& inventory, const std::vector<std::int64_t>& words) {
    return choose_devices({&inventory, words.data()}, wants, {}, claim).ok();
  }
};

device_request random_request(dice& roll) {
  static const std::vector<std::string> kinds{"card", "nic", "slice"};
  device_request made{.device_class = kinds[roll.below(kinds.size())], .count = 1 + static_cast<int>(roll.below(2))};
  if (made.device_class == "slice" && roll.percent(80)) made.capacities["d/memory"] = 10 * roll.between(1, 8);
  return made;
}

}  // namespace

TEST_CASE("of each request the alternative is known that its devices were chosen for, whatever else is in use since",
          "[devices][alternatives]") {
  std::size_t found = 0, later = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    dice roll{seed};
    node_devices node;
    std::vector<plain_device> plain;
    for (std::size_t i = 0, count = 3 + roll.below(6); i < count; ++i) {
      const bool shared = roll.percent(35);
      plain_device one{shared ? "slice" : roll.percent(50) ? "card" : "nic", {}, shared ? 80 : 0, shared ? 80 : 1};
      other_device made{.id = std::to_string(i), .device_class = one.kind, .shared = shared};
      if (shared) made.capacities["d/memory"] = {80, {}};
      if (roll.percent(85)) made.attributes["d/root"] = one.root.emplace(roll.between(0, 2));
      plain.push_back(one);
      node.others.push_back(made);
    }
    interner names;
    device_inventory inventory = make_inventory(node, names, "node n").value();
    complete_inventory(inventory);
    std::vector<std::int64_t> words(inventory.words(), 0);
    for (std::size_t i = roll.below(4); i-- > 0;) {  // others have some already
      asked other{names, {random_request(roll)}, {}};
      if (!other.choose(inventory, words)) continue;
      for (const device_claim::change& one : other.claim.changes)
        words[one.word] += static_cast<std::int64_t>(one.more);
      for (const device_grant& one : other.claim.grants) {
        plain_device& of = plain[one.device];
        if (of.memory == 0)
          of.left = 0;
        else if (one.kind == device_grant::form::capacity)
          of.left -= one.amount;
      }
    }
    std::vector<device_request> requests;
    for (std::size_t i = 1 + roll.below(3); i-- > 0;) {
      device_request one = random_request(roll);
      if (roll.percent(75)) {
        one = {};
        for (std::size_t k = 1 + roll.below(3); k-- > 0;) one.first_of.push_back(random_request(roll));
      }
      requests.push_back(one);
    }
    std::vector<device_constraint> constraints;
    for (std::size_t i = roll.below(3); i-- > 0;) {
      device_constraint one{"d/root", {}, roll.percent(30)};
      const auto number = static_cast<std::int32_t>(roll.below(requests.size()));
      const std::size_t offers = requests[static_cast<std::size_t>(number)].first_of.size();
      if (offers != 0 && roll.percent(60))
        one.alternatives.push_back({number, static_cast<std::int32_t>(roll.below(offers))});
      if (roll.percent(50)) one.requests.push_back(static_cast<std::int32_t>(roll.below(requests.size())));
      constraints.push_back(one);
    }
    INFO("seed " << seed);
    asked pod{names, requests, constraints};
    const std::optional<choice> right = plain_search{plain, requests, constraints}.run();
    const bool chose = pod.choose(inventory, words);
    REQUIRE(chose == right.has_value());
    if (!chose) continue;
    std::vector<std::uint16_t> devices;
    for (const device_grant& one : pod.claim.grants)
      if (one.kind == device_grant::form::other) devices.push_back(one.device);
    REQUIRE(devices == right->devices);
    const std::span<const device_grant> grants{pod.claim.grants.data(), pod.claim.grants.size()};
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto place = alternative_chosen(inventory, pod.wants, grants, static_cast<std::uint8_t>(i));
      REQUIRE((place ? *place : -1) == right->places[i]);
      ++found;
      later += right->places[i] > 0 ? 1 : 0;
    }
  }
  CHECK(found > 2000);
  CHECK(later > 300);
}

TEST_CASE("grants that the wants do not lead to are of no alternative", "[devices][alternatives]") {
  interner names;
  node_devices node;
  for (const char* id : {"a", "b"}) node.others.push_back({.id = id, .device_class = "card"});
  device_inventory inventory = make_inventory(node, names, "node n").value();
  complete_inventory(inventory);
  const device_request two{.device_class = "card", .count = 2}, one{.device_class = "card"};
  const asked pod{names, {{.first_of = {two, one}}, {.device_class = "card"}}, {}};
  const auto place = [&](const std::vector<device_grant>& grants) {
    return alternative_chosen(inventory, pod.wants, grants, 0);
  };
  const auto card = [](std::uint8_t request, std::uint16_t device) {
    return device_grant{.kind = device_grant::form::other, .request = request, .device = device, .amount = 1};
  };
  CHECK(place({card(0, 1), card(1, 0)}) == std::uint8_t{1});
  CHECK(place({card(0, 0), card(0, 1)}) == std::nullopt);  // nothing is left for the other request
  CHECK(place({card(1, 0)}) == std::nullopt);
  CHECK(place({}) == std::nullopt);
  CHECK(alternative_chosen(inventory, pod.wants, std::vector{card(0, 1), card(1, 0)}, 1) == std::nullopt);
}

}  // namespace gangsched::testing::device_alternatives_test
