// What the host says is held stays held, whatever becomes of the health and the presence of the devices.
#include "held_devices.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "devices/numa_nodes.hpp"
#include "gangsched/saved_state.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::held_devices_test {

namespace {

/// What is in use of the node's devices, whatever their health.
std::vector<std::int64_t> in_use(const cluster& c, node_id node) {
  std::vector<std::int64_t> words = words_of(c, node);
  for (std::uint32_t i = 0; i < c.devices_of(node).inventory->first_counter(); ++i)
    words[i] &= std::numeric_limits<std::int64_t>::max();
  return words;
}

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

/// A fork is the same cluster, and so is what a snapshot restores.
void check_copies(const cluster& c) {
  CHECK(c.fork().value().digest() == c.digest());
  const result<restored_state> again = saved_state::of(c, nullptr).value().restore({}, {}, 1 << 20);
  REQUIRE(again);
  CHECK(again->cluster.digest() == c.digest());
}

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
    if (what < 90) return tell();
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

}  // namespace gangsched::testing::held_devices_test
