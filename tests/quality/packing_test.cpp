// Gangs of different members that fill their nodes exactly: there is a place, and greedy placing does not find it.
#include "support/world.hpp"

#include <ctime>

#include "support/dice.hpp"

namespace gangsched::testing::packing_test {

namespace {

struct shape {
  const char* name;
  std::size_t nodes;
  std::int64_t cpus, memory;  ///< of a node, at most; half of that at least
};

/// @p total cut into so many parts, none of them 0.
std::vector<std::int64_t> cut(dice& roll, std::int64_t total, std::size_t parts) {
  std::vector<std::int64_t> made(parts, 1);
  for (std::int64_t left = total - static_cast<std::int64_t>(parts); left > 0; --left) ++made[roll.below(parts)];
  return made;
}

/// The steps of the search, if the gang was placed.
std::optional<std::uint64_t> place(std::uint64_t seed, const shape& of, std::size_t members, std::int64_t spare,
                                   double& seconds) {
  dice roll{seed};
  scheduler_options options;
  options.seed = roll.next();
  world w{profiles::kube_default(), options};
  struct size {
    std::int64_t cpus, memory;
  };
  std::vector<size> sizes;
  std::vector<std::size_t> each(of.nodes, members / of.nodes);
  for (std::size_t i = 0; i < members % of.nodes; ++i) ++each[i];
  for (std::size_t i = 0; i < of.nodes; ++i) {  // some have more members, some fewer
    const std::size_t from = roll.below(of.nodes), to = roll.below(of.nodes);
    if (each[from] > 2) --each[from], ++each[to];
  }
  for (std::size_t n = 0; n < of.nodes; ++n) {
    const std::int64_t cpus = std::max(static_cast<std::int64_t>(each[n]), roll.between(of.cpus / 2, of.cpus));
    const std::int64_t memory = std::max(static_cast<std::int64_t>(each[n]), roll.between(of.memory / 2, of.memory));
    a_node node{"n" + std::to_string(n)};
    node.cpu(cpus + roll.between(0, spare));
    if (of.memory != 0) node.resource("memory", quantity{(memory + roll.between(0, spare)) << 30});
    w.add(node);
    const std::vector<std::int64_t> by_cpu = cut(roll, cpus, each[n]), by_memory = cut(roll, memory, each[n]);
    for (std::size_t i = 0; i < each[n]; ++i) sizes.push_back({by_cpu[i], by_memory[i]});
  }
  for (std::size_t i = sizes.size(); i > 1; --i) std::swap(sizes[i - 1], sizes[roll.below(i)]);
  const group_id group = w.add(a_gang{"g", static_cast<std::int32_t>(sizes.size())});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    a_pod pod{"p" + std::to_string(i)};
    pod.cpu(sizes[i].cpus).in(group);
    if (of.memory != 0) pod.resource("memory", quantity{sizes[i].memory << 30});
    w.add(pod);
  }
  const std::clock_t begin = std::clock();
  const cycle done = w.scheduler.schedule_cycle(w.now);
  seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  REQUIRE(done.error() == nullptr);
  std::size_t bound = 0;
  for (const decision& one : done) bound += one.kind == decision_kind::bind ? 1 : 0;
  CHECK((bound == 0 || bound == sizes.size()));
  for (const node_id node : w.cluster.nodes()) {
    CHECK(w.cluster.requested(node, "cpu") <= w.cluster.allocatable(node, "cpu"));
    CHECK(w.cluster.requested(node, "memory") <= w.cluster.allocatable(node, "memory"));
  }
  if (bound == 0) return std::nullopt;
  return w.scheduler.statistics().search_steps;
}

/// @p telling: what was found goes to the standard output.
void check(std::uint64_t first, std::uint64_t last, bool telling) {
  const std::vector<shape> shapes{{"cores", 6, 16, 0},
                                  {"cores of large nodes", 6, 64, 0},
                                  {"cores, few nodes", 3, 64, 0},
                                  {"cores, many nodes", 10, 16, 0},
                                  {"cores and memory", 6, 16, 32},
                                  {"cores and memory, many nodes", 9, 32, 64}};
  for (const shape& one : shapes) {
    for (const std::size_t members : {std::size_t{16}, std::size_t{24}, std::size_t{32}, std::size_t{48}}) {
      for (const std::int64_t spare : {0, 1}) {
        int found = 0, searched = 0;
        std::uint64_t most = 0;
        double slowest = 0;
        for (std::uint64_t seed = first; seed < last; ++seed) {
          INFO("seed " << seed << ", " << one.name << ", " << members << " members");
          double seconds = 0;
          const std::optional<std::uint64_t> steps = place(seed, one, members, spare, seconds);
          found += steps ? 1 : 0;
          searched += steps && *steps != 0 ? 1 : 0;
          most = std::max(most, steps.value_or(0));
          slowest = std::max(slowest, seconds);
        }
        const auto all = static_cast<int>(last - first);
        if (telling)
          std::printf("%s, %zu members, spare %lld: %d of %d, steps at most %llu, slowest %.1f ms\n", one.name, members,
                      static_cast<long long>(spare), found, all, static_cast<unsigned long long>(most), slowest * 1e3);
        INFO(one.name << ", " << members << " members, spare " << spare << ": " << found << " of " << all << ", "
                      << searched << " of them by the search, steps at most " << most << ", slowest " << slowest * 1e3
                      << " ms");
        CHECK(found == all);
      }
    }
  }
}

}  // namespace

TEST_CASE("gangs of different members that fill their nodes exactly are placed", "[quality][search][property]") {
  check(0, 4, false);
}

TEST_CASE("gangs of different members that fill their nodes exactly are placed: more of them", "[.long][quality]") {
  check(0, 40, true);
}

}  // namespace gangsched::testing::packing_test
