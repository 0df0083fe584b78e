// A node's devices against plain lists of what is held of them, through whatever is said of the devices.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "held_devices.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::held_devices_random_test {

namespace {

/// Some of a device, in plain words: thousandths of a GPU, an instance on one that is divided, units, or capacity of a shared device.
struct piece {
  std::string id;
  std::int64_t amount = 1;
  std::int32_t start = -1;  ///< of an instance
  friend bool operator==(const piece&, const piece&) = default;
};
using pieces = std::vector<piece>;
std::vector<std::string> in_words(const pieces& all) {
  std::vector<std::string> made;
  for (const piece& one : all)
    made.push_back(one.id + ": " + std::to_string(one.amount) +
                   (one.start < 0 ? "" : " at " + std::to_string(one.start)));
  std::sort(made.begin(), made.end());
  return made;
}

/// A node, and what is held of its devices as plain lists: what the host said, or what the library has chosen, is kept to the end.
struct plain_rules {
  struct has_some {
    std::string name;
    resource_claim_id claim = {};
    pod_id pod = {};
    pieces held = {};
    bool open = false;  ///< nothing was said, and nothing could be chosen yet
  };

  explicit plain_rules(std::uint64_t seed) : random{seed} {
    node_devices& devices = all.devices;
    devices.gpu = {.model = "NVIDIA-A100-SXM4-40GB", .memory_mib = 40960};
    devices.gpus = {{.id = "g0"}, {.id = "g1"}, {.id = "g2"}, {.id = "m0", .mig = mig_mode::dynamic}};
    for (const char* id : {"n0", "n1", "n2"})
      devices.others.push_back(
          {.id = id, .device_class = "nic", .units = 2, .attributes = {{"d/fast", std::string{id} != "n0"}}});
    for (const char* id : {"s0", "s1"}) {
      other_device& one = devices.others.emplace_back(other_device{.id = id, .device_class = "card"});
      one.capacities["d/memory"] = {.amount = 10}, one.shared = true;
    }
    now = all;
    n = c.add_node(now).value();
  }

  // --- the rules
  /// Whether no more of a device is held than there is.
  [[nodiscard]] static bool fits(const pieces& every) {
    std::map<std::string, std::int64_t> sums;
    std::map<std::pair<std::string, std::int32_t>, int> instances;
    for (const piece& one : every) {
      sums[one.id] += one.start < 0 ? one.amount : 1;  // an instance: less than the whole
      if (one.start >= 0 && ++instances[{one.id, one.start}] > 1) return false;
    }
    return std::all_of(sums.begin(), sums.end(), [](const auto& one) {
      const char kind = one.first[0];
      return one.second <= (kind == 'n' ? 2 : kind == 's' ? 10 : whole_gpu);
    });
  }
  [[nodiscard]] pieces everything() const {
    pieces every;
    for (const has_some& one : holders) every.insert(every.end(), one.held.begin(), one.held.end());
    return every;
  }
  [[nodiscard]] std::optional<bool> health_of(const std::string& id) const {  // none: it is not there
    for (const gpu_spec& one : now.devices.gpus)
      if (one.id == id) return one.healthy;
    for (const other_device& one : now.devices.others)
      if (one.id == id) return one.healthy;
    return std::nullopt;
  }

  // --- what the library says
  [[nodiscard]] pieces granted(const has_some& of) const {
    pieces made;
    const bool of_claim = static_cast<bool>(of.claim);
    for (const device_grant& one : of_claim ? c.devices_of(of.claim) : c.devices_of(of.pod)) {
      const std::string id{c.name_of(n, one)};
      using form = device_grant::form;
      if (one.kind == form::mig)
        made.push_back({id, 1, one.mig_start});
      else if (one.kind == form::gpu || one.kind == form::share)
        made.push_back({id, one.milli});
      else if (one.kind == form::capacity || id[0] != 's')
        made.push_back({id, one.amount});
    }
    return made;
  }
  /// Writes down what was chosen for those of which nothing was known.
  void learn() {
    for (has_some& one : holders) {
      if (!one.open || granted(one).empty()) continue;
      one.held = granted(one), one.open = false;
      for (const piece& chosen : one.held) REQUIRE(health_of(chosen.id) == true);
    }
  }
  void check() const {
    REQUIRE(fits(everything()));
    for (const has_some& one : holders) {
      CAPTURE(one.name);
      pieces there;
      for (const piece& its : one.held)
        if (health_of(its.id)) there.push_back(its);
      REQUIRE(in_words(granted(one)) == in_words(there));
    }
    if (c.devices_of(n)) REQUIRE(in_use(c, n) == claimed(c, n));
  }

  // --- what happens
  /// A request, and what the host could say is held for it: of what is not held yet.
  [[nodiscard]] std::pair<device_request, pieces> draw() {
    const auto ids = [&](char kind) {
      std::vector<std::string> made;
      for (const gpu_spec& one : all.devices.gpus)
        if (one.id[0] == kind) made.push_back(one.id);
      for (const other_device& one : all.devices.others)
        if (one.id[0] == kind) made.push_back(one.id);
      return random.of(made);
    };
    const std::size_t count = 1 + random.below(2);
    pieces held;
    switch (random.below(6)) {
      case 0:
        while (held.size() < count) held.push_back({ids(random.percent(80) ? 'g' : 'm'), whole_gpu});
        return {{.count = static_cast<std::int32_t>(count)}, held};
      case 1: {
        const auto milli = static_cast<std::int32_t>(250 * (1 + random.below(2)));
        return {{.milli = milli}, {{ids('g'), milli}}};
      }
      case 2:
        while (held.size() < count) held.push_back({ids('m'), 1, static_cast<std::int32_t>(random.below(7))});
        return {{.count = static_cast<std::int32_t>(count), .mig_profile = "1g.5gb"}, held};
      case 3:
        while (held.size() < count) held.push_back({ids('n')});
        if (held.front() == held.back()) held.resize(1);
        return {{.device_class = "nic", .count = static_cast<std::int32_t>(held.size())}, held};
      case 4: {
        const auto memory = static_cast<std::int64_t>(1 + random.below(6));
        return {{.device_class = "card", .capacities = {{"d/memory", memory}}}, {{ids('s'), memory}}};
      }
      default:
        const auto nics = [](bool fast, std::int32_t many) {
          return device_request{
              .device_class = "nic", .count = many, .selectors = {{"d/fast", attribute_operator::equal, {fast}}}};
        };
        held = random.percent(50) ? pieces{{"n0"}} : pieces{{"n2"}, {"n1"}};
        return {{.first_of = {nics(false, 1), nics(true, 2)}}, held};
    }
  }
  void add() {
    auto [request, held] = draw();
    pieces with = everything();
    with.insert(with.end(), held.begin(), held.end());
    const bool said = fits(with) && random.percent(70);
    has_some made{.name = "x" + std::to_string(next++)};
    std::vector<held_device> told;
    for (const piece& one : held) {
      told.push_back({.id = one.id, .request = random.percent(50) ? 0 : -1, .mig_start = one.start});
      if (one.id[0] == 's' && random.percent(50)) told.back().capacities["d/memory"] = one.amount;
    }
    if (!said) told.clear(), held.clear();
    const bool of_claim = random.percent(50);
    if (of_claim) {
      resource_claim_spec spec{.name = made.name, .devices = {request}, .held_devices = told};
      const bool kept = random.percent(60);
      if (kept) spec.node = n;
      made.claim = c.add_resource_claim(spec).value();
      if (kept && !said) made.held = granted(made);  // what is free now, and else nothing
      if (said) made.held = held;
      if (kept && random.percent(50)) {
        holders.push_back(std::move(made));
        return;
      }
      made.pod = c.add_pod(sharing(made.name, {made.claim}).on(n)).value();
      made.open = made.held.empty();  // it runs: the library guesses as soon as it can
    } else {
      a_pod spec = a_pod{made.name}.device(request);
      if (said || random.percent(50)) {
        spec.on(n), spec.spec.held_devices = told;
        made.pod = c.add_pod(spec).value();
      } else {
        made.pod = c.add_pod(spec).value();
        REQUIRE(c.assume(made.pod, n));
      }
      made.open = !said;
      if (said) made.held = held;
    }
    holders.push_back(std::move(made));
  }
  void remove() {
    const std::size_t which = random.below(holders.size());
    const has_some gone = holders[which];
    holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(which));
    if (gone.pod) REQUIRE(c.remove_pod(gone.pod));
    if (!gone.claim) return;
    if (!gone.pod && random.percent(50)) REQUIRE(c.deallocate(gone.claim));
    REQUIRE(c.remove_resource_claim(gone.claim));
  }
  /// A pod comes to a claim that has none, or one that was assumed goes again: the claim keeps what it has.
  void use() {
    has_some& one = random.of(holders);
    if (!one.claim || one.pod || !c.node_of(one.claim)) return;
    const pod_id user = c.add_pod(sharing(one.name, {one.claim})).value();
    REQUIRE(c.assume(user, n));
    if (random.percent(50)) REQUIRE(c.release(user));
    REQUIRE(c.remove_pod(user));
  }
  void tell() {
    const auto change = [&](auto& devices, const auto& from) {
      const std::size_t which = random.below(from.size());
      const auto found =
          std::find_if(devices.begin(), devices.end(), [&](const auto& one) { return one.id == from[which].id; });
      if (found == devices.end())
        devices.push_back(from[which]), devices.back().healthy = random.percent(50);
      else if (random.percent(60))
        found->healthy = !found->healthy;
      else
        devices.erase(found);
      if (random.percent(20)) std::reverse(devices.begin(), devices.end());
    };
    if (random.percent(5))
      now.devices = {};
    else if (now.devices.gpus.empty() || random.percent(10))
      now.devices = all.devices;
    else if (random.percent(50))
      change(now.devices.gpus, all.devices.gpus);
    else
      change(now.devices.others, all.devices.others);
    REQUIRE(c.update_node(n, now));
  }
  /// The node has too little for a while; nobody comes in between.
  void shrink() {
    if (std::any_of(holders.begin(), holders.end(), [](const has_some& one) { return one.open; })) return;
    node_spec less = now;
    for (other_device& one : less.devices.others) {
      if (random.percent(50)) one.units = 1;
      for (auto& [name, its] : one.capacities) its.amount = 1 + static_cast<std::int64_t>(random.below(10));
    }
    for (gpu_spec& one : less.devices.gpus)
      if (random.percent(50)) one.mig = mig_mode::off;
    REQUIRE(c.update_node(n, less));
    if (c.devices_of(n)) REQUIRE(in_use(c, n) == claimed(c, n));
    REQUIRE(c.update_node(n, now));
  }
  void set_health() {
    if (now.devices.gpus.empty()) return;
    gpu_spec& one = random.of(now.devices.gpus);
    one.healthy = !one.healthy;
    REQUIRE(c.set_device_health(n, one.id, one.healthy));
  }
  void step() {
    const std::size_t what = random.below(100);
    if (what < 35 || holders.empty()) return add();
    if (what < 55) return remove();
    if (what < 65) return use();
    if (what < 83) return tell();
    if (what < 90) return shrink();
    set_health();
  }
  /// A step that is rolled back, and a call that fails.
  void step_in_vain() {
    const std::uint64_t before = inside(c).digest_with_derived();
    const auto [told, had, number] = std::tuple{now, holders, next};
    {
      transaction trial{c};
      for (int i = 0; i < 3; ++i) step(), learn();
    }
    now = told, holders = had, next = number;
    REQUIRE(inside(c).digest_with_derived() == before);
    node_spec wrong = now;
    wrong.devices.others.push_back({.id = "x", .device_class = ""});
    REQUIRE_FALSE(c.update_node(n, wrong));
    REQUIRE(inside(c).digest_with_derived() == before);
  }
  void copy() {
    check_copies(c);
    c = random.percent(50) ? c.fork().value()
                           : std::move(saved_state::of(c, nullptr).value().restore({}, {}, 1 << 20).value().cluster);
  }

  dice random;
  node_spec all = a_node("n"), now;
  cluster c;
  node_id n;
  std::vector<has_some> holders;
  int next = 0;
};

TEST_CASE("whatever is said of a node's devices, they stay with those that have them", "[model][devices]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    plain_rules rules{seed};
    for (int step = 0; step < 60; ++step) {
      CAPTURE(step);
      rules.step();
      rules.learn();
      rules.check();
      if (step % 10 == 5) rules.step_in_vain(), rules.check();
      if (step % 20 == 7) rules.copy(), rules.check();
    }
    while (!rules.holders.empty()) rules.remove(), rules.learn(), rules.check();
    REQUIRE(rules.c.update_node(rules.n, rules.all));
    CHECK(words_of(rules.c, rules.n) == std::vector<std::int64_t>(words_of(rules.c, rules.n).size()));
  }
}

}  // namespace

}  // namespace gangsched::testing::held_devices_random_test
