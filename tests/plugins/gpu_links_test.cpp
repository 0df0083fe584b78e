#include "gangsched/plugins/gpu_links.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "gangsched/devices/gpu_machines.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::gpu_links_test {

namespace {

std::int64_t plain_nvlinks(const link_matrix& links, unsigned set) {
  std::int64_t sum = 0;
  for (std::size_t a = 0; a < links.gpus(); ++a) {
    for (std::size_t b = 0; b < a; ++b) sum += (set >> a & set >> b & 1) != 0 ? links(a, b).nvlinks : 0;
  }
  return sum;
}

unsigned count(unsigned set) { return static_cast<unsigned>(std::popcount(set)); }

/// Pods of one, two and four GPUs come to boxes of two quads and go again.
struct outcome {
  std::size_t fours = 0, split = 0,
              needlessly = 0;  ///< split: over both quads; needlessly: a whole quad was free somewhere
  double waited = 0;           ///< four-GPU pods that found no node
};
outcome stream(kernel_table table, double load, std::uint64_t seed) {
  constexpr std::size_t boxes = 16;
  dice roll{seed};
  gangsched::cluster cluster;
  gangsched::scheduler scheduler{cluster, std::move(table), {.ties = tie_rule::lowest_row}};
  for (std::size_t box = 0; box < boxes; ++box) {
    node_spec one = a_node("box" + std::to_string(box)).cpu(256).memory("1Ti").gpus(8);
    one.devices = make_node_devices(gpu_machine::two_quads, "H200", 143'771);
    cluster.add_node(one).value();
  }
  std::map<node_id, unsigned> used;
  std::vector<std::pair<pod_id, std::pair<node_id, unsigned>>> running;
  outcome made;
  double in_use = 0;
  for (int step = 0; step < 4000; ++step) {
    while (in_use > load * static_cast<double>(8 * boxes)) {
      std::swap(roll.of(running), running.back());
      const auto [pod, where] = running.back();
      running.pop_back();
      used[where.first] &= ~where.second;
      in_use -= count(where.second);
      cluster.remove_pod(pod).value();
    }
    const std::int64_t gpus = roll.percent(40) ? 1 : roll.percent(50) ? 2 : 4;
    const pod_id pod =
        cluster
            .add_pod(
                a_pod("p" + std::to_string(step)).cpu(2).gpus(gpus).device({.count = static_cast<std::int32_t>(gpus)}))
            .value();
    bool whole_quad = used.size() < boxes;
    for (const auto& [node, taken] : used) whole_quad = whole_quad || (taken & 0x0f) == 0 || (taken & 0xf0) == 0;
    bool placed = false;
    while (const gangsched::cycle done = scheduler.schedule_cycle(std::chrono::seconds{20 * step})) {
      for (const decision& one : done) {
        if (one.kind != decision_kind::bind) continue;
        placed = true;
        unsigned set = 0;
        for (const auto& gpu : one.devices) set |= 1U << gpu.device;
        REQUIRE(count(set) == static_cast<unsigned>(gpus));
        if (gpus == 4) {
          const bool split = set != 0x0f && set != 0xf0;
          ++made.fours, made.split += split, made.needlessly += split && whole_quad;
        }
        used[one.node] |= set;
        in_use += count(set);
        running.push_back({pod, {one.node, set}});
        REQUIRE(scheduler.confirm(pod).has_value());
      }
    }
    if (placed) continue;
    made.waited += gpus == 4;
    cluster.remove_pod(pod).value();
  }
  return made;
}

}  // namespace

TEST_CASE("GpuLinks rates by the NVLinks of the set and of what stays free", "[plugins][links]") {
  std::vector<link_matrix> boxes;
  for (const gpu_machine one :
       {gpu_machine::dgx1_v100, gpu_machine::two_quads, gpu_machine::bridged_pairs, gpu_machine::dgx2})
    boxes.push_back(make_gpu_topology(one).links);
  dice roll{3};
  for (const link_matrix& links : boxes) {
    const best_sets sets{links};
    std::vector<std::int64_t> most(links.gpus() + 1);
    for (unsigned set = 0; set <= links.all(); ++set)
      most[count(set)] = std::max(most[count(set)], plain_nvlinks(links, set));
    for (std::size_t size = 1; size <= links.gpus(); ++size) CHECK(sets.most_nvlinks(size) == most[size]);
    for (int round = 0; round < 300; ++round) {
      const auto free = static_cast<gpu_mask>((roll.next() | roll.next()) & links.all());
      const unsigned size = 1 + static_cast<unsigned>(roll.below(6));
      const gpu_mask taken = sets.best(free, size);
      CHECK(sets.nvlinks(free) == plain_nvlinks(links, free));
      if (taken == 0) {
        CHECK(gpu_links::rated(sets, free, taken) == 0);
        continue;
      }
      const std::int64_t between = plain_nvlinks(links, taken), others = plain_nvlinks(links, free) - between;
      const std::int64_t first = size == 1 ? 70 : 70 * between / most[size];
      const auto cut = static_cast<double>(others - plain_nvlinks(links, free & ~unsigned{taken}));
      const double average = 2.0 * static_cast<double>(most[links.gpus()]) * size / static_cast<double>(links.gpus());
      const double second = 30 * cut / std::max({cut, average, 1.0});
      CHECK(gpu_links::rated(sets, free, taken) == first + 30 - static_cast<std::int64_t>(std::floor(second + 1e-9)));
    }
  }
}

TEST_CASE("pods of four GPUs have a whole quad, since those of one and two break none that is whole",
          "[plugins][links]") {
  outcome with, without;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto add = [](outcome& to, const outcome& one) {
      to.fours += one.fours, to.split += one.split, to.needlessly += one.needlessly, to.waited += one.waited;
    };
    kernel_table table = profiles::kube_default();
    add(with, stream(table, 0.8, seed));
    const auto links = std::ranges::find(table.plugins, gpu_links::name, &plugin_entry::name) - table.plugins.begin();
    for (auto& at : table.order) std::erase(at, links);
    add(without, stream(table, 0.8, seed));
  }
  INFO("with: " << with.split << " of " << with.fours << " split, " << with.needlessly
                << " needlessly; without: " << without.split << " of " << without.fours << ", " << without.needlessly);
  CHECK(with.fours > 3000);
  CHECK(without.needlessly > 100);
  // A clairvoyant splits none: there is always a whole quad for them, if singles and pairs stay together.
  CHECK(with.needlessly == 0);
  CHECK(50 * with.split < with.fours);
  CHECK(50 * with.waited < static_cast<double>(with.fours));
  CHECK(with.fours >= without.fours);
}

}  // namespace gangsched::testing::gpu_links_test
