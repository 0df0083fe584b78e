#include "gangsched/plugins/device_share.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/device_fit.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::device_share_test {

namespace {

using strategy = device_share::strategy;
using chosen = std::vector<int>;
constexpr auto least = strategy::least_allocated, most = strategy::most_allocated;
const std::vector<weighted_resource> both{{"koordinator.sh/gpu-memory-ratio"}, {"koordinator.sh/gpu-memory"}};

/// Eight GPUs, two behind each switch, four in each cell.
a_node box(const std::string& name, std::size_t gpus = 8, std::int64_t mib = 16'384) {
  a_node made = a_node{name}.cpu(64).cards(gpus, "", mib);
  for (std::size_t i = 0; i < gpus; ++i) {
    made.spec.devices.gpus[i].pcie = static_cast<std::int32_t>(i / 2);
    made.spec.devices.gpus[i].numa = static_cast<std::int32_t>(i / 4);
  }
  return made;
}
a_node without_places(a_node made) {
  for (gpu_spec& gpu : made.spec.devices.gpus) gpu.numa = gpu.pcie = -1;
  return made;
}

/// What DeviceShare decides with a scheduler, pod by pod.
struct shop {
  gangsched::cluster cluster;
  std::optional<gangsched::scheduler> scheduler;
  explicit shop(strategy how = least, std::vector<weighted_resource> resources = both) {
    scheduler.emplace(cluster, profile{priority_sort{}, device_share{how, std::move(resources)}});
  }
  node_id add(const node_spec& spec) { return must(cluster.add_node(spec)); }
  /// Somebody has these GPUs.
  void hold(node_id node, device_request request, const chosen& gpus, const std::string& name = "there") {
    a_pod pod{name};
    for (const int gpu : gpus) pod.spec.held_devices.push_back({.id = std::to_string(gpu)});
    must(cluster.add_pod(pod.device(std::move(request)).on(node)));
  }
  chosen take(const pod_spec& spec) {
    const pod_id pod = must(cluster.add_pod(spec));
    chosen all;
    if (const auto cycle = scheduler->schedule_cycle(instant{})) {
      for (const decision& one : cycle) {
        for (const device_grant& grant : one.devices)
          if (grant.is_gpu()) all.push_back(grant.device);
        if (one.kind == decision_kind::bind) must(scheduler->confirm(pod));
      }
    }
    return all;
  }
};

}  // namespace

TEST_CASE("DeviceShare scores by what the pod names, and what it does not name is untouched (O21)",
          "[plugins][devices]") {
  const auto rated = [](std::size_t gpus, const device_request& request, const device_request* there = nullptr) {
    hooks on{device_share{least, both}};
    const node_id n = on.add(box("n", gpus));
    if (there != nullptr) on.add(a_pod{"there"}.device(*there).on(n));
    return on.raw_score(on.add(a_pod{"p"}.device(request)), n);
  };
  CHECK(rated(1, {.milli = 1000, .memory_percent = 100}) == 50);
  CHECK(rated(1, {.count = 1}) == 50);
  CHECK(rated(2, {.milli = 500, .memory_percent = 50}) == 87);
  const device_request quarter{.milli = 250, .memory_percent = 25};
  CHECK(rated(1, {.milli = 500, .memory_percent = 50}, &quarter) == 50);
  CHECK(rated(1, {.milli = 500, .memory_mib = 8'192}, &quarter) == 50);
  CHECK(rated(4, {.count = 4}) == 87);  // one GPU's share, however many there are
}

TEST_CASE("DeviceShare weighs resources, and counts every share in both of memory's", "[plugins][devices]") {
  hooks on{device_share{most, {{"koordinator.sh/gpu-core", 3}, {"koordinator.sh/gpu-memory-ratio", 1}}}};
  const node_id n = on.add(box("n", 1, 81'920));
  on.add(a_pod{"there"}.device({.milli = 300, .memory_mib = 10'240}).on(n));  // 12.5 hundredths: 12
  CHECK(on.raw_score(on.add(a_pod{"a"}.device({.milli = 200, .memory_mib = 1'024})), n) == (3 * 50 + 12) / 4);
  CHECK(on.raw_score(on.add(a_pod{"b"}.device({.milli = 0, .memory_percent = 30})), n) == (3 * 30 + 42) / 4);

  hooks tenths{device_share{most, {{"koordinator.sh/gpu-memory"}}}};
  const node_id m = tenths.add(box("m", 1));
  const pod_id probe = tenths.add(a_pod{"probe"}.device({.milli = 100, .memory_percent = 1}));
  for (const int so_far : {0, 9, 19, 29}) {  // 1717986918 bytes each: not quite a tenth
    CHECK(tenths.raw_score(probe, m) == so_far);
    tenths.add(a_pod{"tenth" + std::to_string(so_far)}.device({.milli = 0, .memory_percent = 10}).on(m));
  }
}

TEST_CASE("DeviceShare looks at healthy GPUs, and at other devices that the pod asks for", "[plugins][devices]") {
  hooks on{device_share{least, device_share::defaults()}};
  a_node made = box("n", 2);
  made.spec.devices.gpus[1].healthy = false;
  for (int i = 0; i < 2; ++i)
    made.spec.devices.others.push_back({.id = "nic" + std::to_string(i), .device_class = "rdma", .units = 100});
  const node_id n = on.add(made);
  const node_id bare = on.add(a_node{"bare"}.cpu(4));
  const a_pod half = a_pod{"half"}.device({.milli = 500, .memory_percent = 50});
  CHECK(on.raw_score(on.add(half), n) == 75);
  CHECK(on.raw_score(on.add(a_pod{"nic"}.device({.device_class = "rdma", .units = 40})), n) == 80);
  a_pod two = half;
  two.spec.name = "two";
  const pod_id pair = on.add(two.device({.device_class = "rdma", .units = 40}));
  CHECK(on.raw_score(pair, n) == 155);
  CHECK(on.filter(pair, n).code == code::success);
  CHECK(on.filter(pair, bare).code == code::unresolvable);
  CHECK(on.filter(on.add(a_pod{"both"}.cards(2)), n).code == code::unschedulable);
  CHECK(on.pre_score(on.add(a_pod{"plain"}.cpu(1))).code == code::skip);
}

TEST_CASE("DeviceShare's scores are parts of the highest", "[plugins][devices]") {
  hooks on{device_share{least, both}};
  const node_id idle = on.add(box("idle", 1)), used = on.add(box("used", 1));
  on.add(a_pod{"there"}.device({.milli = 250, .memory_percent = 25}).on(used));
  const pod_id pod = on.add(a_pod{"p"}.device({.milli = 500, .memory_percent = 50}));
  CHECK(on.raw_score(pod, idle) == 75);
  CHECK(on.raw_score(pod, used) == 50);
  CHECK(on.scores(pod) == std::vector<std::int64_t>{100, 66});
}

TEST_CASE("DeviceShare takes the deepest scope that has enough, and of several the one most in use",
          "[plugins][devices]") {
  shop s;
  const node_id n = s.add(box("n"));
  s.hold(n, {}, {5});
  CHECK(s.take(a_pod{"one"}.cards(1)) == chosen{4});     // the switch that is in use
  CHECK(s.take(a_pod{"two"}.cards(2)) == chosen{6, 7});  // the cell that is
  CHECK(s.take(a_pod{"three"}.cards(3)) == chosen{0, 1, 2});
  CHECK(s.take(a_pod{"last"}.cards(1)) == chosen{3});
  CHECK(s.take(a_pod{"no"}.cards(1)).empty());

  shop wide;
  const node_id w = wide.add(box("w"));
  wide.hold(w, {.count = 2}, {0, 4});
  CHECK(wide.take(a_pod{"six"}.cards(6)) == chosen{1, 2, 3, 5, 6, 7});
}

TEST_CASE("DeviceShare shares GPUs that are shared already, by the score (O21)", "[plugins][devices]") {
  const a_pod half = a_pod{"half"}.device({.milli = 500, .memory_percent = 50});
  shop packs{most, {{"koordinator.sh/gpu-memory-ratio"}}};
  const node_id n = packs.add(box("n"));
  packs.hold(n, {}, {5});
  packs.hold(n, {.milli = 500, .memory_percent = 50}, {7}, "shared");
  CHECK(packs.take(half) == chosen{7});

  shop alone{most, {{"koordinator.sh/gpu-memory-ratio"}}};
  alone.hold(alone.add(box("n")), {}, {5});
  CHECK(alone.take(half) == chosen{4});  // behind the same switch as 5

  for (const auto how : {least, most}) {
    shop flat{how};
    const node_id f = flat.add(without_places(box("f", 4)));
    flat.hold(f, {.milli = 500, .memory_percent = 50}, {2}, "a");
    CHECK(flat.take(half) == (how == most ? chosen{2} : chosen{0}));
  }
}

TEST_CASE("DeviceShare's shares of several GPUs go by the score of each", "[plugins][devices]") {
  const a_pod two = a_pod{"two"}.device({.count = 2, .milli = 100, .memory_percent = 10});
  for (const auto how : {least, most}) {
    shop s{how};
    const node_id n = s.add(box("n", 4));
    s.hold(n, {.milli = 200, .memory_percent = 20}, {1}, "a");
    s.hold(n, {.milli = 500, .memory_percent = 50}, {3}, "b");
    CHECK(s.take(two) == (how == most ? chosen{1, 3} : chosen{0, 2}));
  }
}

TEST_CASE("DeviceShare takes partitions first, and scopes where there is none (O20)", "[plugins][devices]") {
  const auto fabric = [](gpu_partition_policy policy) {
    a_node made{"n"};
    made.spec.devices = make_node_devices(gpu_machine::hgx_h100_8, "", 81'920);
    const gpu_partition_table table = gpu_partition_table::nvswitch_8();
    made.spec.devices.gpu.partitions.assign(table.partitions().begin(), table.partitions().end());
    made.spec.devices.gpu.partition_policy = policy;
    return made;
  };
  for (const auto policy : {gpu_partition_policy::honor, gpu_partition_policy::prefer}) {
    shop s;
    s.hold(s.add(fabric(policy)), {.count = 2}, {2, 3});
    CHECK(s.take(a_pod{"two"}.cards(2)) == chosen{0, 1});
    shop five;
    five.hold(five.add(fabric(policy)), {}, {5});
    CHECK(five.take(a_pod{"two"}.cards(2)) == chosen{6, 7});
    shop three;
    three.hold(three.add(fabric(policy)), {.count = 2}, {2, 3});
    CHECK(three.take(a_pod{"three"}.cards(3)) == (policy == gpu_partition_policy::prefer ? chosen{4, 5, 6} : chosen{}));
  }
}

TEST_CASE("DeviceShare keeps to the scope that a pod requires", "[plugins][devices]") {
  shop s;
  const node_id n = s.add(box("n"));
  s.hold(n, {.count = 5}, {1, 3, 4, 5, 6});
  CHECK(s.take(a_pod{"switch"}.device({.count = 2, .within = device_scope::pcie})).empty());
  s.cluster.remove_pod(*s.cluster.find_pod("default", "switch")).value();
  CHECK(s.take(a_pod{"cell"}.device({.count = 2, .within = device_scope::numa})) == chosen{0, 2});
}

TEST_CASE("DeviceShare goes before DynamicResources, which goes on filtering", "[plugins][devices]") {
  cluster c;
  must(c.add_node(box("n")));
  scheduler s{c, profile{priority_sort{}, device_share{most, both}, device_fit{share_rule::widest}}};
  const auto take = [&](const pod_spec& spec) {
    const pod_id pod = must(c.add_pod(spec));
    chosen all;
    for (const decision& one : s.schedule_cycle(instant{}))
      for (const device_grant& grant : one.devices) all.push_back(grant.device);
    must(s.confirm(pod));
    return all;
  };
  for (int i = 0; i < 4; ++i)
    CHECK(take(a_pod{"p" + std::to_string(i)}.device({.milli = 250, .memory_percent = 25})) == chosen{0});
}

TEST_CASE("DeviceShare takes Koordinator's arguments by name", "[plugins][devices]") {
  using fields = argument::fields;
  const auto made = [](argument strategy) {
    const auto one = device_share::from(fields{{"kind", "DeviceShareArgs"}, {"scoringStrategy", std::move(strategy)}});
    return one ? std::string{"fine"} : one.error().message();
  };
  const auto resource = [](argument weight) {
    return fields{{"resources", argument::list{fields{{"name", "koordinator.sh/gpu-core"}, {"weight", weight}}}}};
  };
  CHECK(made(fields{{"type", "MostAllocated"}}) == "fine");
  CHECK(made(resource(100)) == "fine");
  CHECK(made(resource(0)) == "plugin DeviceShare: args.scoringStrategy.resources[0].weight: 0 is not in 1 to 100");
  CHECK(made(fields{{"type", "Most"}}) ==
        "plugin DeviceShare: args.scoringStrategy.type: \"Most\" is not LeastAllocated or MostAllocated");
  CHECK(device_share::from(fields{{"strategy", "MostAllocated"}}).error().message() ==
        "plugin DeviceShare: args.strategy: there is no such argument");

  hooks defaults{must(builtin_plugins().make("DeviceShare", {}))};
  const node_id n = defaults.add(box("n", 1));
  CHECK(defaults.raw_score(defaults.add(a_pod{"p"}.cards(1)), n) == 50);
}

// --- The rules once more, as Koordinator walks through them: a tree of scopes, and books of each pod.

namespace {

struct ask {
  int count = 1;
  std::int64_t core = 0;  ///< hundredths
  std::optional<std::int64_t> ratio = {}, mib = {};
  [[nodiscard]] bool shared() const { return !ratio || *ratio < 100; }
  [[nodiscard]] device_request request() const {
    device_request made{.count = count, .milli = static_cast<std::int32_t>(10 * core)};
    if (core == 100 && ratio == 100) return made;
    if (mib)
      made.memory_mib = *mib;
    else
      made.memory_percent = static_cast<std::int32_t>(*ratio);
    return made;
  }
};

using resources = std::map<std::string, std::int64_t>;

struct reference_node {
  std::int64_t mib = 0;
  bool as_asked = false;                    ///< gpu_memory_rule
  std::vector<std::pair<int, int>> places;  ///< cell, switch
  std::set<int> bad;
  std::map<int, resources> used;  ///< by number, of those that somebody has a part of
  std::map<int, std::int64_t> used_mib;

  [[nodiscard]] resources total(int gpu) const {
    if (bad.contains(gpu)) return {};
    return {{"gpu-core", 100}, {"gpu-memory-ratio", 100}, {"gpu-memory", mib << 20}};
  }
  [[nodiscard]] resources free(int gpu) const {
    resources left = total(gpu);
    if (const auto found = used.find(gpu); found != used.end())
      for (auto& [name, amount] : left) amount = std::max<std::int64_t>(0, amount - found->second.at(name));
    return left;
  }
  [[nodiscard]] std::int64_t mib_of(const ask& pod) const { return pod.mib ? *pod.mib : mib * *pod.ratio / 100; }
  [[nodiscard]] bool has_room(int gpu, const ask& pod) const {
    if (bad.contains(gpu)) return false;
    if (pod.core == 100 && pod.ratio == 100) return !used.contains(gpu);
    const auto found = used_mib.find(gpu);
    if (as_asked && pod.ratio) return pod.core <= free(gpu)["gpu-core"] && *pod.ratio <= free(gpu)["gpu-memory-ratio"];
    return pod.core <= free(gpu)["gpu-core"] && mib_of(pod) <= mib - (found == used_mib.end() ? 0 : found->second);
  }
  void put(int gpu, const ask& pod, int sign) {
    resources& to = used[gpu];
    const std::int64_t all = mib << 20, bytes = pod.mib ? *pod.mib << 20 : *pod.ratio * all / 100;
    to["gpu-core"] += sign * pod.core;
    to["gpu-memory"] += sign * bytes;
    to["gpu-memory-ratio"] += sign * (pod.ratio ? *pod.ratio : std::int64_t(double(bytes) / double(all) * 100));
    used_mib[gpu] += sign * mib_of(pod);
    if (to["gpu-core"] == 0 && to["gpu-memory"] == 0) used.erase(gpu), used_mib.erase(gpu);
  }
};

struct reference_policy {
  bool most = false;
  resources weights;

  [[nodiscard]] std::int64_t rate(const resources& with, const resources& total) const {
    std::int64_t sum = 0, all = 0;
    for (const auto& [name, weight] : weights) {
      const auto found = total.find(name);
      if (found == total.end() || found->second == 0) continue;
      const auto asked = with.find(name);
      const std::int64_t used = asked == with.end() ? 0 : asked->second, capacity = found->second;
      sum += weight * (most              ? std::min(used, capacity) * 100 / capacity
                       : used > capacity ? 0
                                         : (capacity - used) * 100 / capacity);
      all += weight;
    }
    return all == 0 ? 0 : sum / all;
  }
  [[nodiscard]] static resources named(const ask& pod) {
    resources made{{"gpu-core", pod.core}};
    if (pod.ratio) made["gpu-memory-ratio"] = *pod.ratio;
    if (pod.mib) made["gpu-memory"] = *pod.mib << 20;
    return made;
  }
  /// Koordinator's scoreDevice and scoreNode: what is used counts where there is not more free than in all.
  [[nodiscard]] std::int64_t rate_left(const ask& pod, const resources& total, const resources& free) const {
    resources with;
    const resources asked = named(pod);
    for (const auto& [name, all] : total) {
      const auto left = free.find(name);
      const std::int64_t rest = left == free.end() ? 0 : left->second;
      const auto more = asked.find(name);
      with[name] = all < rest ? all : all - rest + (more == asked.end() ? 0 : more->second);
    }
    return rate(with, total);
  }
  [[nodiscard]] std::int64_t score(const reference_node& node, const ask& pod) const {
    resources total, free;
    for (int gpu = 0; gpu < int(node.places.size()); ++gpu) {
      for (const auto& [name, amount] : node.total(gpu)) total[name] += amount;
      for (const auto& [name, amount] : node.free(gpu)) free[name] += amount;
    }
    return rate_left(pod, total, free);
  }

  struct pick {
    chosen gpus;
    int depth = 0, in_use = 0;
    std::int64_t score = -1;
  };
  struct scope {
    std::set<int> gpus;
    std::vector<scope> below;
  };
  [[nodiscard]] std::optional<pick> search(const reference_node& node, const ask& pod, const scope& at, int depth,
                                           int in_use) const {
    ++depth;
    for (const int gpu : at.gpus)
      if (node.used.contains(gpu) && !node.bad.contains(gpu)) {
        ++in_use;
        break;
      }
    std::optional<pick> best;
    for (const scope& one : at.below) {
      const auto other = search(node, pod, one, depth, in_use);
      if (!other) continue;
      const auto rank = [&](const pick& of) { return std::tuple{of.depth, of.in_use, pod.shared() ? of.score : 0}; };
      if (!best || rank(*best) < rank(*other)) best = other;
    }
    if (best) return best;
    pick made{{}, depth, in_use, -1};
    for (const int gpu : at.gpus) {
      if (!node.has_room(gpu, pod)) continue;
      if (!pod.shared()) {
        if (int(made.gpus.size()) < pod.count) made.gpus.push_back(gpu);
      } else if (const auto score = rate_left(pod, node.free(gpu), node.total(gpu)); score > made.score) {
        made.gpus = {gpu}, made.score = score;
      }
    }
    return int(made.gpus.size()) == pod.count ? std::optional{made} : std::nullopt;
  }
  [[nodiscard]] chosen choose(const reference_node& node, const ask& pod) const {
    chosen fit;
    for (int gpu = 0; gpu < int(node.places.size()); ++gpu)
      if (node.has_room(gpu, pod)) fit.push_back(gpu);
    if (int(fit.size()) < pod.count) return {};
    const bool placed = std::none_of(node.places.begin(), node.places.end(), [](const auto& place) {
      return place == std::pair{-1, -1};
    });
    if (placed && !(pod.shared() && pod.count > 1)) {
      std::map<int, std::map<int, std::set<int>>> cells;
      scope root;
      for (int gpu = 0; gpu < int(node.places.size()); ++gpu) {
        cells[node.places[std::size_t(gpu)].first][node.places[std::size_t(gpu)].second].insert(gpu);
        root.gpus.insert(gpu);
      }
      for (const auto& [cell, switches] : cells) {
        scope& one = root.below.emplace_back();
        for (const auto& [number, gpus] : switches) {
          one.gpus.insert(gpus.begin(), gpus.end());
          one.below.push_back({gpus, {}});
        }
      }
      return search(node, pod, root, 0, 0)->gpus;
    }
    std::stable_sort(fit.begin(), fit.end(), [&](int a, int b) {
      return rate_left(pod, node.total(a), node.free(a)) > rate_left(pod, node.total(b), node.free(b));
    });
    fit.resize(std::size_t(pod.count));
    std::sort(fit.begin(), fit.end());
    return fit;
  }
};

}  // namespace

TEST_CASE("DeviceShare scores and chooses as the rules say, on random nodes", "[plugins][devices]") {
  std::mt19937 random{20'261'126};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  const auto any = [&](std::initializer_list<int> of) { return of.begin()[dice(static_cast<int>(of.size()))]; };
  std::size_t placed = 0;
  for (int round = 0; round < 150; ++round) {
    reference_policy rule{dice(2) == 0, {}};
    std::vector<weighted_resource> weights;
    for (const char* const name : {"gpu-core", "gpu-memory-ratio", "gpu-memory"}) {
      if (dice(3) == 0) continue;
      rule.weights[name] = 1 + dice(5);
      weights.push_back({std::string{"koordinator.sh/"} + name, rule.weights[name]});
    }
    hooks on{device_share{rule.most ? most : least, weights}};
    scheduler s{on.cluster, profile{priority_sort{}, device_share{rule.most ? most : least, weights}}};
    reference_node node;
    node.mib = any({16'384, 24'576, 81'920, 1'001});
    node.as_asked = dice(2) == 0;
    a_node told = box("n", static_cast<std::size_t>(any({1, 2, 4, 8, 8, 16})), node.mib);
    if (node.as_asked) told.spec.devices.gpu.memory_rule = gpu_memory_rule::as_asked;
    const int layout = dice(4);
    for (std::size_t i = 0; i < told.spec.devices.gpus.size(); ++i) {
      gpu_spec& gpu = told.spec.devices.gpus[i];
      if (layout == 0) gpu.numa = dice(3) - 1, gpu.pcie = dice(4);
      if (layout == 1) gpu.numa = dice(2), gpu.pcie = dice(3);  // one number in several cells
      if (layout == 2 && dice(8) == 0) gpu.numa = gpu.pcie = -1;
      gpu.healthy = dice(10) != 0;
      if (!gpu.healthy) node.bad.insert(static_cast<int>(i));
      node.places.emplace_back(gpu.numa, gpu.pcie);
    }
    const node_id n = on.add(told);
    struct running {
      pod_id id;
      ask what;
      chosen gpus;
    };
    std::vector<running> all;
    for (int step = 0; step < 40; ++step) {
      INFO("round " << round << " step " << step);
      if (!all.empty() && dice(4) == 0) {
        const auto gone = all.begin() + dice(static_cast<int>(all.size()));
        must(on.cluster.remove_pod(gone->id));
        for (const int gpu : gone->gpus) node.put(gpu, gone->what, -1);
        all.erase(gone);
        continue;
      }
      ask pod{.count = any({1, 1, 1, 2, 3, 4}), .core = any({0, 10, 25, 33, 50, 100})};
      if (dice(3) == 0)
        pod.core = 100, pod.ratio = 100;
      else if (dice(2) == 0)
        pod.ratio = any({1, 10, 20, 25, 30, 50, 75, 100});
      else
        pod.mib = 1 + dice(static_cast<int>(node.mib) / 2);
      const pod_id id = on.add(a_pod{"p" + std::to_string(step)}.device(pod.request()));
      const chosen wanted = rule.choose(node, pod);
      CHECK((on.filter(id, n).code == code::success) == !wanted.empty());
      CHECK(on.raw_score(id, n) == rule.score(node, pod));
      chosen got;
      if (const auto cycle = s.schedule_cycle(instant{})) {
        for (const decision& one : cycle)
          for (const device_grant& grant : one.devices) got.push_back(grant.device);
      }
      REQUIRE(got == wanted);
      if (wanted.empty()) {
        must(on.cluster.remove_pod(id));
        continue;
      }
      must(s.confirm(id));
      for (const int gpu : wanted) node.put(gpu, pod, 1);
      all.push_back({id, pod, wanted});
      ++placed;
    }
  }
  CHECK(placed > 1'000);
}

}  // namespace gangsched::testing::device_share_test
