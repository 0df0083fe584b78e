#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/quota_check.hpp"
#include "gangsched/queues/fair_share/reclaim.hpp"
#include "gangsched/queues/fair_share/turns.hpp"

// The library's own policy for queues, without a cluster.
namespace {

namespace fair = gangsched::queues::fair_share;
using gangsched::queues::queue_index;
using gangsched::queues::queue_link;
using gangsched::queues::queue_tree;

std::int64_t amount_below(std::mt19937& dice, std::int64_t bound) { return static_cast<std::int64_t>(dice()) % bound; }

/// Three resources. Up to 1,000 queues flat; of more ten at the top, ten below each of these, and the others below those.
struct shared_cluster {
  explicit shared_cluster(std::size_t queues) : wide(queues > 1000), shares(make(queues, wide)), now(shares.tree(), 3) {
    std::mt19937 dice{1};
    for (std::size_t i = 0; i < 3; ++i) shares.set_capacity(i, static_cast<std::int64_t>(20'000 * queues)).value();
    for (queue_index queue = 0; queue < queues; ++queue) {
      if (!shares.tree().is_leaf(queue)) continue;
      leaves.push_back(queue);
      for (std::size_t i = 0; i < 3; ++i) shares.set_requested(queue, i, amount_below(dice, 100'000)).value();
    }
    shares.divide();
  }
  static fair::fair_shares make(std::size_t queues, bool wide) {
    std::mt19937 dice{2};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < queues; ++i) names.push_back("q" + std::to_string(i));
    std::vector<queue_link> links;
    std::vector<fair::queue_terms> terms(queues);
    for (std::size_t i = 0; i < queues; ++i) {
      links.push_back({names[i], wide && i >= 10 ? names[i < 110 ? i % 10 : 10 + i % 100] : std::string_view{}});
      if (!wide || i >= 110)
        for (int r = 0; r < 3; ++r) terms[i].guaranteed.push_back(amount_below(dice, 20'000));
      terms[i].weight = fair::weight_unit * (1 + amount_below(dice, 9));
    }
    return fair::fair_shares::make(queue_tree::make(links).value(), 3, terms).value();
  }
  bool wide;
  fair::fair_shares shares;
  fair::usage_counts now;
  std::vector<queue_index> leaves;
};

/// Everything anew: of one resource.
void fair_share_divide(benchmark::State& state) {
  shared_cluster with{static_cast<std::size_t>(state.range(0))};
  const std::int64_t there = with.shares.capacity(0);
  std::int64_t less = 0;
  for (auto _ : state) {
    less = 1000 - less;
    with.shares.set_capacity(0, there - less).value();
    with.shares.divide();
  }
}
BENCHMARK(fair_share_divide)->Arg(30)->Arg(1'000)->Arg(10'000);

/// One queue asks for more: its siblings' shares, and those of the queues above.
void fair_share_request(benchmark::State& state) {
  shared_cluster with{static_cast<std::size_t>(state.range(0))};
  std::mt19937 dice{3};
  for (auto _ : state) {
    with.shares.set_requested(with.leaves[dice() % with.leaves.size()], 0, amount_below(dice, 100'000)).value();
    with.shares.divide();
  }
}
BENCHMARK(fair_share_request)->Arg(1'000)->Arg(10'000);

/// Quota asked and counted, for a job that starts and ends.
void fair_share_admission(benchmark::State& state) {
  shared_cluster with{static_cast<std::size_t>(state.range(0))};
  std::mt19937 dice{4};
  const std::vector<std::int64_t> job{1, 4, 16};
  for (auto _ : state) {
    const queue_index queue = with.leaves[dice() % with.leaves.size()];
    if (!fair::check_quota(with.shares, queue, job, with.now).ok()) continue;
    with.now.start(queue, job);
    with.now.end(queue, job);
  }
}
BENCHMARK(fair_share_admission)->Arg(1'000)->Arg(10'000);

void fair_share_turn(benchmark::State& state) {
  shared_cluster with{static_cast<std::size_t>(state.range(0))};
  std::mt19937 dice{5};
  for (const queue_index queue : with.leaves) {
    const std::vector<std::int64_t> used{amount_below(dice, 20'000), amount_below(dice, 20'000),
                                         amount_below(dice, 20'000)};
    with.now.start(queue, used);
  }
  for (auto _ : state) {
    const queue_index a = with.leaves[dice() % with.leaves.size()], b = with.leaves[dice() % with.leaves.size()];
    benchmark::DoNotOptimize(fair::goes_first(with.shares, {a}, {b}, with.now));
  }
}
BENCHMARK(fair_share_turn)->Arg(1'000)->Arg(10'000);

/// 200 victims of 10,000 running jobs.
void fair_share_victims(benchmark::State& state) {
  shared_cluster with{static_cast<std::size_t>(state.range(0))};
  std::mt19937 dice{6};
  const std::vector<std::int64_t> job{10'000, 10'000, 10'000};
  for (std::size_t i = 0; i < 3; ++i) with.shares.set_requested(with.leaves.front(), i, 4'000'000).value();
  with.shares.divide();
  std::vector<fair::running_unit> running;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const queue_index queue = with.leaves[1 + dice() % (with.leaves.size() - 1)];
    running.push_back(
        {.queue = queue, .amounts = job, .priority = static_cast<std::int32_t>(dice() % 5), .arrival = i});
    with.now.start(queue, job);
  }
  const std::vector<std::int64_t> request{1'000, 1'000, 1'000};
  fair::reclaim_plan plan;
  std::size_t victims = 0;
  for (auto _ : state) {
    plan.begin(with.shares, with.now, {.queue = with.leaves.front(), .request = request}, running);
    for (int i = 0; i < 200; ++i) victims += plan.take_next() ? 1 : 0;
  }
  state.counters["victims"] = static_cast<double>(victims) / static_cast<double>(state.iterations());
}
BENCHMARK(fair_share_victims)->Arg(30)->Arg(1'000);

}  // namespace
