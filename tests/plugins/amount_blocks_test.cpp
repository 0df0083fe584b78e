// What NodeResourcesFit and NodeResourcesBalancedAllocation say of 64 nodes at a time is what they say of each (`hooks` compares).
#include <algorithm>
#include <limits>

#include "gangsched/core/lanes.hpp"
#include "gangsched/plugins/node_resources_balanced_allocation.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::amount_blocks_test {

namespace {

using fit = node_resources_fit;

/// Amounts that make quotients come out whole, just below and just above, small and large ones, and too large ones.
std::int64_t an_amount(dice& roll) {
  constexpr std::int64_t limit = amount_block::limit;
  switch (roll.below(6)) {
    case 0: return 0;
    case 1: return roll.between(1, 7);
    case 2: return 100 * roll.between(1, 90) + roll.between(-1, 1);
    case 3: return roll.between(1, std::int64_t{1} << 36);
    case 4: return limit - roll.between(0, 3);
    default: return roll.percent(4) ? limit + roll.between(1, 1000) : roll.between(1, limit);
  }
}

/// Nodes of random amounts with pods on them, more of these than fit on some; pods of which each is asked about each node.
template <class Plugin>
void compare(const Plugin& plugin, std::uint64_t seed, bool score) {
  dice roll{seed};
  hooks on{Plugin{plugin}};
  std::vector<node_id> nodes;
  for (int i = 0; i < 70; ++i) {
    a_node node{"n" + std::to_string(i)};
    const std::int64_t cpu = an_amount(roll), memory = an_amount(roll);
    node.cpu_milli(cpu).resource("memory", quantity{memory}).resource("pods", quantity{roll.between(0, 3)});
    if (roll.percent(50)) node.gpus(roll.between(1, 8));
    nodes.push_back(on.add(node));
    for (std::int64_t there = roll.between(0, 2); there > 0; --there) {
      a_pod pod{"r" + std::to_string(i) + "-" + std::to_string(there)};
      pod.cpu_milli(roll.between(0, cpu)).resource("memory", quantity{roll.between(0, memory)});
      on.add(pod.on(nodes.back()));
    }
  }
  for (int i = 0; i < 12; ++i) {
    a_pod pod{"p" + std::to_string(i)};
    if (roll.percent(90)) pod.cpu_milli(an_amount(roll));
    if (roll.percent(90)) pod.resource("memory", quantity{an_amount(roll)});
    if (roll.percent(30)) pod.gpus(roll.between(1, 4));
    const pod_id id = on.add(pod);
    if (score) {
      static_cast<void>(on.scores(id));
    } else {
      for (const node_id node : nodes) static_cast<void>(on.filter(id, node));
    }
  }
}

/// The same of nodes that are nearly alike, so that bounds are close to what the nodes are rated: some full, some more than full.
template <class Plugin>
void compare_alike(const Plugin& plugin, std::uint64_t seed, const cluster_options& options) {
  dice roll{seed};
  const plugin_entry entry = lower(Plugin{plugin});
  cluster cluster{options};
  const std::int64_t cpu = roll.between(8, 90), memory = roll.between(8, 90), load = roll.between(0, 9);
  const auto about = [&](std::int64_t amount) { return 1000 * amount + roll.between(-99, 99); };
  for (int i = 0; i < 64; ++i) {
    a_node node{"n" + std::to_string(i)};
    node.cpu_milli(about(cpu)).resource("memory", quantity{about(memory)}).resource("pods", quantity{9});
    const node_id id = must(cluster.add_node(node));
    a_pod pod{"r" + std::to_string(i)};
    pod.cpu_milli(about(cpu) * load / 9).resource("memory", quantity{about(memory) * roll.between(load, 9) / 9});
    must(cluster.add_pod(pod.on(id)));
  }
  for (int i = 0; i < 12; ++i) {
    a_pod pod{"p" + std::to_string(i)};
    pod.cpu_milli(roll.between(0, 1000 * cpu / 3)).resource("memory", quantity{roll.between(0, 1000 * memory / 3)});
    static_cast<void>(hooks::scores(entry, cluster, must(cluster.add_pod(pod)), cluster.nodes()));
  }
}

struct third_of_the_larger {
  template <std::size_t N>
  GANGSCHED_LANES static void run(double* out, const double* a, const double* b) {
    for (std::size_t i = 0; i < 64; i += N)
      whole_part(larger(lanes<N>::load(a + i), lanes<N>::load(b + i)) / lanes<N>::of(3.0)).store(out + i);
  }
};

/// Where a is above b, as bits; and the larger of both, by these bits.
struct bits_and_back {
  template <std::size_t N>
  GANGSCHED_LANES static void run(const double* a, const double* b, std::uint64_t* above, double* larger_one) {
    lane_bits<N> found;
    for (std::size_t i = 0; i < 64; i += N) found.add(where_above(lanes<N>::load(a + i), lanes<N>::load(b + i)));
    *above = found.all();
    lane_bits<N> again{*above};
    for (std::size_t i = 0; i < 64; i += N)
      select(again.take(), lanes<N>::load(a + i), lanes<N>::load(b + i)).store(larger_one + i);
  }
};

}  // namespace

TEST_CASE("a block is judged and rated as its nodes are one by one", "[plugins]") {
  const std::vector<fit::weighted_resource> three = {{"cpu", 3}, {"memory", 1}, {"nvidia.com/gpu", 7}};
  std::vector<fit> fits;
  fits.emplace_back();
  fits.emplace_back(fit::options{.strategy = fit::strategy::most_allocated});
  fits.emplace_back(fit::options{.resources = three});
  fits.emplace_back(fit::options{.strategy = fit::strategy::requested_to_capacity_ratio, .shape = {{0, 10}, {100, 0}}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO(seed);
    CHECK_NOTHROW(compare(fits[seed % fits.size()], seed, true));
    CHECK_NOTHROW(compare(fit{}, seed, false));
    CHECK_NOTHROW(compare(node_resources_balanced_allocation{}, seed, true));
    CHECK_NOTHROW(compare(node_resources_balanced_allocation{{"cpu", "memory", "nvidia.com/gpu"}}, seed, true));
  }
}

TEST_CASE("no node is rated above the bound of its block, how close that may be", "[plugins]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    INFO(seed);
    cluster_options options;
    if (seed % 4 == 0) options.semantics = kube_semantics{kube_release::v1_35};
    CHECK_NOTHROW(compare_alike(node_resources_balanced_allocation{}, seed, options));
    CHECK_NOTHROW(compare_alike(fit{}, seed, options));
    CHECK_NOTHROW(compare_alike(fit{fit::options{.strategy = fit::strategy::most_allocated}}, seed, options));
  }
}

TEST_CASE("quotients by a rounded inverse are those of integers", "[core]") {
  dice roll{1};
  std::size_t wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    const std::int64_t whole = roll.between(1, roll.percent(50) ? 1000 : amount_block::limit);
    std::int64_t part = roll.between(0, 100) * whole + roll.between(-2, 2);
    if (roll.percent(50)) part = 100 * roll.between(0, whole);
    part = std::clamp<std::int64_t>(part, 0, 100 * whole);
    const lanes<2> got =
        quotient_of(lanes<2>::of(static_cast<double>(part)), lanes<2>::of(1.0 / static_cast<double>(whole)));
    for (std::size_t lane = 0; lane < 2; ++lane) wrong += got.all[lane] != static_cast<double>(part / whole);
  }
  CHECK(wrong == 0);
}

TEST_CASE("what holds for rows is a bit each, and the other way round", "[core]") {
  dice roll{8};
  for (int turn = 0; turn < 50; ++turn) {
    double a[64], b[64], chosen[64];
    std::uint64_t above = 0;
    for (int i = 0; i < 64; ++i) {
      a[i] = static_cast<double>(roll.between(-3, 3)), b[i] = static_cast<double>(roll.between(-3, 3));
      if (a[i] > b[i]) above |= std::uint64_t{1} << i;
    }
    std::uint64_t as_wide_as_may_be = 0, narrow = 0;
    run_lanes<bits_and_back>(&a[0], &b[0], &as_wide_as_may_be, &chosen[0]);
    CHECK(as_wide_as_may_be == above);
    for (int i = 0; i < 64; ++i) CHECK(chosen[i] == std::max(a[i], b[i]));
    bits_and_back::run<2>(a, b, &narrow, chosen);
    CHECK(narrow == above);
  }
  const double odd[] = {-0.5, 0.0, 100.0, 100.5, std::numeric_limits<double>::quiet_NaN(), -0.0, 1.0, 1e300};
  std::vector<bool> within;
  for (int i = 0; i < 8; i += 2) {
    const auto two = where_within(lanes<2>::load(odd + i), 0.0, 100.0);
    within.push_back(two.all[0] != 0), within.push_back(two.all[1] != 0);
  }
  CHECK(within == std::vector<bool>{false, true, true, false, false, true, true, false});
  CHECK(largest_of(lanes<2>::load(odd + 2)) == 100.5);
}

TEST_CASE("two lanes and more come to the same", "[core]") {
  dice roll{7};
  double a[64], b[64], two[64], as_wide_as_may_be[64];
  for (int i = 0; i < 64; ++i)
    a[i] = static_cast<double>(roll.between(0, 1000)), b[i] = static_cast<double>(roll.between(0, 1000));
  third_of_the_larger::run<2>(two, a, b);
  run_lanes<third_of_the_larger>(&as_wide_as_may_be[0], &a[0], &b[0]);
  CHECK(std::equal(two, two + 64, as_wide_as_may_be));
}

TEST_CASE("a node's amounts change with it, and what is too large is not in a block", "[engine]") {
  hooks on{fit{}};
  const node_id node = on.add(a_node{"n"}.cpu(4).memory("10"));
  engine::row_order order;
  order.reset(1);
  engine::amount_columns columns;
  columns.start(inside(on.cluster), order);
  const auto block = [&] { return amount_block{columns.by_kind(), 0}; };
  CHECK(block().allocatable(kinds::cpu)[node.row] == 4000.0);
  CHECK(block().share(kinds::memory)[node.row] == 0.0);
  CHECK(block().all_have(kinds::memory));
  on.add(a_pod{"p"}.on(node).memory("5"));
  columns.update(inside(on.cluster), node.row, order.place(node.row));
  CHECK(block().used(kinds::memory)[node.row] == 5.0);
  CHECK(block().share(kinds::memory)[node.row] == 0.5);
  must(on.cluster.update_node(node, a_node{"n"}.cpu(4).resource("memory", quantity{amount_block::limit + 1})));
  columns.update(inside(on.cluster), node.row, order.place(node.row));
  CHECK_FALSE(block().exact(kinds::memory));
  CHECK(block().exact(kinds::cpu, 1));
  CHECK_FALSE(block().exact(kinds::cpu, amount_block::limit + 1));
  must(on.cluster.update_node(node, a_node{"n"}.cpu(4)));
  columns.update(inside(on.cluster), node.row, order.place(node.row));
  CHECK(block().exact(kinds::memory));
  CHECK_FALSE(block().all_have(kinds::memory));
  must(on.cluster.remove_node(node));
  columns.update(inside(on.cluster), node.row, order.place(node.row));
  CHECK(block().all_have(kinds::memory));
}

}  // namespace gangsched::testing::amount_blocks_test
