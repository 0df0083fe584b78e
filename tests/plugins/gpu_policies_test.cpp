#include <cmath>
#include <random>
#include <set>

#include "gangsched/plugins.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

// The policies of the FGD experiment against their formulas (its simulator's pkg/simulator/plugin), written down here in floating point.
namespace gangsched::testing::gpu_policies_test {

namespace {

/// A node with some GPUs in use, and what its plugins see of a pod.
struct one_node {
  gangsched::cluster cluster;
  node_id node;
  std::int64_t cpu = 0;
  std::vector<std::int32_t> left;
  std::vector<std::string> kinds;

  one_node(std::int64_t cores, std::size_t gpus) : cpu(1000 * cores), left(gpus, 1000) {
    node = cluster.add_node(a_node("n").cpu(cores).memory("1Ti").cards(gpus, "M", 1000)).value();
  }
  void takes(const std::string& name, std::int64_t cpu_milli, std::int32_t gpus, std::int32_t milli,
             std::vector<std::string> from, std::int32_t memory_percent = 0) {
    a_pod made = a_pod(name).cpu_milli(cpu_milli).on(node);
    if (gpus != 0) made.device({.count = gpus, .milli = milli, .memory_percent = memory_percent});
    for (const std::string& id : from) {
      made.spec.held_devices.push_back({.id = id});
      left[std::stoul(id)] -= milli;
    }
    cluster.add_pod(made).value();
    cpu -= cpu_milli;
    if (gpus != 0) kinds.push_back(milli < 1000 ? "share" : std::to_string(gpus));
  }
  [[nodiscard]] double idle() const {
    double sum = 0;
    for (const std::int32_t one : left) sum += one;
    return sum;
  }
  template <class Plugin>
  std::int64_t score(const Plugin& plugin, std::int64_t cpu_milli, std::int32_t gpus, std::int32_t milli,
                     std::int32_t memory_percent = 0) {
    a_pod made = a_pod("asks").cpu_milli(cpu_milli);
    if (gpus != 0) made.device({.count = gpus, .milli = milli, .memory_percent = memory_percent});
    const pod_id pod = cluster.add_pod(made).value();
    const model::cluster_state& state = inside(cluster);
    const std::int64_t said =
        plugin.score(pod_view{state, state.classes[state.pods.cls[pod.row]]}, node_info{state, node.row});
    cluster.remove_pod(pod).value();
    return said;
  }
};

struct asked {
  std::int64_t cpu;
  std::int32_t gpus, milli;
};

}  // namespace

TEST_CASE("policies score as their formulas say", "[plugins][packing]") {
  std::mt19937 random{5};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  for (int round = 0; round < 200; ++round) {
    one_node n{8 + dice(120), static_cast<std::size_t>(1 + dice(8))};
    for (int i = 0; i < dice(4); ++i) {
      const auto gpu = static_cast<std::size_t>(dice(static_cast<int>(n.left.size())));
      const std::int32_t milli = dice(3) == 0 ? 1000 : 10 * (1 + dice(99));
      if (n.left[gpu] >= milli && (milli < 1000 || n.left[gpu] == 1000))
        n.takes("p" + std::to_string(i), 500, 1, milli, {std::to_string(gpu)});
    }
    const asked ask = dice(5) == 0   ? asked{1000, 0, 0}
                      : dice(2) == 0 ? asked{250 * dice(16), 1, 10 * (1 + dice(99))}
                                     : asked{4000, 1 + dice(3), 1000};
    const double c = static_cast<double>(ask.cpu), g = static_cast<double>(ask.gpus) * ask.milli,
                 C = static_cast<double>(n.cpu), G = n.idle();

    CHECK(n.score(gpu_dot_product{}, ask.cpu, ask.gpus, ask.milli) ==
          static_cast<std::int64_t>(
              std::floor(100 * (1 - 0.5 * (C / 128000 * c / 128000 + G / 8000 * g / 8000)) + 1e-9)));
    if (C >= c && G >= g) {
      CHECK(n.score(gpu_best_fit{}, ask.cpu, ask.gpus, ask.milli) ==
            static_cast<std::int64_t>(std::floor(100 * (1 - 0.5 * ((C - c) / 128000 + (G - g) / 8000)) + 1e-9)));
    }

    const std::string kind = ask.gpus == 0 ? "" : ask.milli < 1000 ? "share" : std::to_string(ask.gpus);
    std::set<std::string> kinds(n.kinds.begin(), n.kinds.end());
    const std::int64_t base = static_cast<std::int64_t>(25 * (8000 - G) / 8000);
    const std::int64_t bonus = kinds.contains(kind) ? (kinds.size() == 1 ? 75 : 50) : kinds.empty() ? 25 : 0;
    CHECK(n.score(gpu_clustering{}, ask.cpu, ask.gpus, ask.milli) == (ask.gpus == 0 ? 0 : base + bonus));
  }
}

TEST_CASE("packing prefers shared GPUs, then nodes in use, then idle nodes", "[plugins][packing]") {
  one_node idle{64, 8}, used{64, 8}, two{64, 2};
  used.takes("a", 1000, 1, 300, {"0"});
  used.takes("b", 1000, 1, 1000, {"1"});
  two.takes("c", 1000, 2, 1000, {"0", "1"});
  CHECK(idle.score(gpu_packing{}, 1000, 1, 500) == 25);
  CHECK(used.score(gpu_packing{}, 1000, 1, 500) == 100 - 70 / 10);
  CHECK(used.score(gpu_packing{}, 1000, 1, 800) == 49);
  CHECK(used.score(gpu_packing{}, 1000, 4, 1000) == 46);
  CHECK(used.score(gpu_packing{}, 1000, 0, 0) == 0);
  CHECK(one_node(8, 1).score(gpu_packing{}, 1000, 1, 500) == 32);
}

TEST_CASE("GpuClustering is not below 0 on nodes with more than eight GPUs", "[plugins][packing]") {
  one_node large{64, 16};
  CHECK(large.score(gpu_clustering{}, 1000, 1, 500) == 25);
  large.takes("a", 1000, 1, 500, {"0"});
  CHECK(large.score(gpu_clustering{}, 1000, 1, 500) == 75);
  CHECK(large.score(gpu_clustering{}, 1000, 2, 1000) == 0);
  CHECK(one_node(64, 2).score(gpu_clustering{}, 1000, 17, 1000) == 25 * 6 / 8 + 25);  // there are no such pods anywhere
}

TEST_CASE("pods with shares of several GPUs are one kind with those that have one", "[plugins][packing]") {
  one_node n{64, 8};
  n.takes("a", 1000, 2, 500, {"0", "1"}, 50);
  CHECK(n.score(gpu_clustering{}, 1000, 2, 500, 50) == 3 + 75);
  CHECK(n.score(gpu_clustering{}, 1000, 1, 500) == 3 + 75);
  CHECK(n.score(gpu_clustering{}, 1000, 2, 1000) == 3);
}

TEST_CASE("GpuBestFit rounds down on nodes that have too little, too", "[plugins][packing]") {
  one_node n{8, 1};
  CHECK(n.score(gpu_best_fit{}, 8'000 + 16'000, 0, 0) == 100);
  CHECK(n.score(gpu_best_fit{}, 8'000 + 16'000 + 2'559, 0, 0) == 100);
  CHECK(n.score(gpu_best_fit{}, 8'000 + 16'000 + 2'560, 0, 0) == 101);
}

TEST_CASE("GpuDotProduct is 0 for the largest amounts", "[plugins][packing]") {
  one_node n{std::int64_t{1} << 53, 1};
  for (const std::int64_t cpu : {std::int64_t{1} << 52, std::int64_t{3} << 50, std::int64_t{1} << 62})
    CHECK(n.score(gpu_dot_product{}, cpu, 0, 0) == 0);
}

TEST_CASE("FGD's score grows where the logistic function does", "[plugins][packing]") {
  const auto plain = [](std::int64_t gain) {
    const double x = static_cast<double>(gain) / (1000.0 * static_cast<double>(gpu_outlook::unit));
    return static_cast<std::int64_t>(std::floor(100 / (1 + std::exp(-x))));
  };
  CHECK(gpu_fragmentation::rated(0) == 50);
  CHECK(gpu_fragmentation::rated(-1) == 49);
  for (std::int64_t gain = -800'000'000; gain <= 800'000'000; gain += 1'234'567)
    REQUIRE(gpu_fragmentation::rated(gain) == plain(gain));
}

TEST_CASE("FGD puts a share where the slivers are, and prices keep scarce models free", "[plugins][packing]") {
  const std::vector<expected_pods> target = {
      {.cpu_milli = 1000, .gpus = 1, .milli = 500, .count = 5},
      {.cpu_milli = 1000, .gpus = 1, .milli = 1000, .models = {"scarce"}, .count = 5}};
  const auto where = [&](kernel_table profile, std::int32_t milli) {
    gangsched::cluster cluster;
    const node_id scarce = cluster.add_node(a_node("scarce").cpu(64).cards(2, "scarce")).value();
    const node_id plenty = cluster.add_node(a_node("plenty").cpu(64).cards(8, "plenty")).value();
    cluster.add_pod(a_pod("there").milli(400).on(plenty)).value();
    cluster.add_pod(a_pod("here").milli(500).on(scarce)).value();
    scheduler scheduler{cluster, std::move(profile), {.ties = tie_rule::lowest_row}};
    const pod_id pod = cluster.add_pod(a_pod("p").cpu(1).milli(milli)).value();
    while (scheduler.schedule_cycle(instant{})) {
    }
    std::string text{cluster.name_of(cluster.node_of(pod))};
    for (const device_grant& one : cluster.devices_of(pod)) (text += ' ') += cluster.name_of(cluster.node_of(pod), one);
    return text;
  };
  CHECK(where(profile{priority_sort{}, gpu_fragmentation{target}, device_fit{}}, 500) == "scarce 0");
  CHECK(where(profile{priority_sort{}, gpu_fragmentation{target}, device_fit{}}, 100) == "plenty 0");
  const auto book = std::make_shared<gpu_price_book>(
      gpu_price_book::of(target, {{.model = "scarce", .gpus = 2}, {.model = "plenty", .gpus = 8}}));
  CHECK(book->models[0].price > 1000);
  // A host that learns may not have seen the largest pods yet.
  const gpu_price_book unseen =
      gpu_price_book::of(std::vector<expected_pods>{{.gpus = 1, .milli = 500, .count = 10}, {.gpus = 8, .count = 0}},
                         {{.model = "any", .gpus = 8}});
  CHECK(unseen.bids.size() == 1001);
  CHECK(where(profile{priority_sort{}, gpu_pricing{book}, device_fit{}}, 500).starts_with("plenty"));
}

TEST_CASE("shares that ask for much CPU go where there is more of it for each GPU", "[plugins][packing]") {
  const std::vector<expected_pods> target = {{.cpu_milli = 12000, .gpus = 1, .milli = 470, .count = 20},
                                             {.cpu_milli = 3000, .gpus = 1, .milli = 470, .count = 20},
                                             {.cpu_milli = 80000, .gpus = 8, .milli = 1000, .count = 5}};
  const auto supply = [](std::int64_t of_each) {
    return std::vector<gpu_supply>{{.model = "dense", .gpus = 8, .cpu_milli = 96 * of_each},
                                   {.model = "wide", .gpus = 2, .cpu_milli = 104 * of_each}};
  };
  const auto book = std::make_shared<gpu_price_book>(gpu_price_book::of(target, supply(1000)));
  CHECK((book->cpu_weight == 256 && book->large_gpus == 8 && book->large_cpu == 10000));
  // Nothing is known of the CPU; or the pods that fill the GPUs need all of it.
  CHECK(gpu_price_book::of(target, supply(0)).cpu_weight == 0);
  CHECK(gpu_price_book::of(target, supply(500)).cpu_weight == 0);
  // The largest pods do not say what CPU they need: then nothing is kept for them.
  std::vector<expected_pods> silent = target;
  silent.back().cpu_milli = 0;
  CHECK(gpu_price_book::of(silent, supply(1000)).large_gpus == 0);

  const auto where = [&](std::int64_t cores) {
    gangsched::cluster cluster;
    cluster.add_node(a_node("dense").cpu(96).cards(8, "dense")).value();
    cluster.add_node(a_node("large").cpu(400).cards(8, "large")).value();  // its CPU is for eight GPUs at once
    cluster.add_node(a_node("wide").cpu(104).cards(2, "wide")).value();
    scheduler scheduler{
        cluster, profile{priority_sort{}, gpu_pricing{book}, device_fit{}}, {.ties = tie_rule::lowest_row}};
    const pod_id pod = cluster.add_pod(a_pod("p").cpu(cores).milli(470)).value();
    while (scheduler.schedule_cycle(instant{})) {
    }
    return std::string{cluster.name_of(cluster.node_of(pod))};
  };
  book->outlook = gpu_outlook{}, book->bids.clear();  // the CPU alone decides
  CHECK(where(12) == "wide");
  CHECK(where(4) == "dense");  // less than a share of the CPU
  book->large_gpus = 0;
  CHECK(where(12) == "large");
  book->cpu_weight = 0;
  CHECK(where(12) == "dense");
}

TEST_CASE("near-equals go to the first node, wherever the best one lies", "[plugins][packing]") {
  gangsched::cluster cluster;
  const pod_id share = cluster.add_pod(a_pod("share").milli(100)).value(),
               whole = cluster.add_pod(a_pod("whole").cards(1)).value();
  const auto view = [&](pod_id pod) {
    return pod_view{inside(cluster), inside(cluster).classes[inside(cluster).pods.cls[pod.row]]};
  };
  const gpu_pricing plugin{std::make_shared<gpu_price_book>()};
  std::vector<scored_group> groups = {{1000, 1}, {920, 1}, {919, 1}, {838, 1}, {-20000, 1}};
  plugin.normalize_score(view(share), groups);
  CHECK((groups[0].score == 100 && groups[1].score == 100 && groups[2].score == 99 && groups[3].score == 98 &&
         groups[4].score == 0));
  groups = {{1000, 1}, {680, 1}, {679, 1}};
  plugin.normalize_score(view(whole), groups);
  CHECK((groups[0].score == 100 && groups[1].score == 100 && groups[2].score == 99));
}

TEST_CASE("what a plugin goes by may change, if the host says so", "[plugins][packing]") {
  gangsched::cluster cluster;
  cluster.add_node(a_node("a").cpu(64).cards(1, "A")).value();
  cluster.add_node(a_node("b").cpu(64).cards(1, "B")).value();
  const std::vector<expected_pods> target = {{.gpus = 1, .milli = 100}};
  const auto book = std::make_shared<gpu_price_book>(
      gpu_price_book::of(target, {{.model = "A", .gpus = 1}, {.model = "B", .gpus = 1}}));
  scheduler scheduler{
      cluster, profile{priority_sort{}, gpu_pricing{book}, device_fit{}}, {.ties = tie_rule::lowest_row}};
  const auto place = [&](const char* name) {
    const pod_id pod = cluster.add_pod(a_pod(name).milli(100)).value();
    while (scheduler.schedule_cycle(instant{})) {
    }
    const std::string at{cluster.name_of(cluster.node_of(pod))};
    cluster.remove_pod(pod).value();
    return at;
  };
  CHECK(place("first") == "a");
  book->models[0].price = 5000;
  CHECK(scheduler.forget_cached());
  CHECK(place("second") == "b");
  book->models[0].price = 4'000'000'000;  // 64 bits do not hold what it comes to
  CHECK(scheduler.forget_cached());
  CHECK(place("third") == "b");
}

}  // namespace gangsched::testing::gpu_policies_test
