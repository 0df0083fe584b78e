#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "gangsched/queues/capacity_scheduling/victims.hpp"
#include "gangsched/queues/koordinator/elastic_quota.hpp"
#include "gangsched/queues/water_filling.hpp"

// Quotas alone, without a cluster: dividing a total, admitting and counting pods, looking for victims.
namespace {

using namespace gangsched::queues;
using amounts = std::vector<std::int64_t>;

std::int64_t roll(std::mt19937& dice, std::int64_t most) {
  return static_cast<std::int64_t>(dice() % static_cast<unsigned>(most + 1));
}

/// Ten queues at the top, ten below each of them, and all others below these hundred.
queue_tree tree_of(std::size_t queues) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < queues; ++i) names.push_back("q" + std::to_string(i));
  std::vector<queue_link> links;
  for (std::size_t i = 0; i < queues; ++i) {
    queue_link& one = links.emplace_back(queue_link{names[i]});
    if (i >= 10) one.parent = names[i < 110 ? i % 10 : 10 + i % 100];
  }
  return queue_tree::make(links).value();
}

void water_filling_of_queues(benchmark::State& state) {
  std::mt19937 dice{1};
  std::vector<fill_claim> claims(static_cast<std::size_t>(state.range(0)));
  for (fill_claim& one : claims)
    one = {.request = roll(dice, 100'000), .guarantee = roll(dice, 20'000), .weight = 1 + roll(dice, 99)};
  amounts shares(claims.size());
  water_filling fill;
  for (auto _ : state) benchmark::DoNotOptimize(fill.divide(20'000 * state.range(0), claims, shares).value());
}
BENCHMARK(water_filling_of_queues)->Arg(30)->Arg(1'000)->Arg(10'000);

koordinator::elastic_quotas quotas_of(std::size_t queues) {
  std::mt19937 dice{2};
  std::vector<koordinator::quota_spec> specs(queues);
  for (koordinator::quota_spec& one : specs)
    one = {.min = {roll(dice, 100), roll(dice, 100)}, .max = {1'000'000, 1'000'000}};
  return koordinator::elastic_quotas::make(tree_of(queues), specs, amounts{1'000'000, 1'000'000}).value();
}

/// A pod requests, is admitted and counted, and goes: its siblings' shares are divided anew each time.
void koordinator_admission(benchmark::State& state) {
  koordinator::elastic_quotas quotas = quotas_of(static_cast<std::size_t>(state.range(0)));
  std::mt19937 dice{3};
  const amounts request{5, 7};
  for (auto _ : state) {
    const auto quota = static_cast<queue_index>(110 + roll(dice, state.range(0) - 111));
    quotas.add_pod(quota, {request}).value();
    const bool admitted = static_cast<bool>(quotas.admit(quota, {request}).value());
    if (admitted) quotas.assign_pod(quota, {request}).value();
    if (admitted) quotas.unassign_pod(quota, {request}).value();
    quotas.remove_pod(quota, {request}).value();
  }
}
BENCHMARK(koordinator_admission)->Arg(1'000)->Arg(10'000);

/// Requests and uses alone: what a change of one pod costs.
void koordinator_counting(benchmark::State& state) {
  koordinator::elastic_quotas quotas = quotas_of(static_cast<std::size_t>(state.range(0)));
  std::mt19937 dice{4};
  const amounts request{5, 7};
  for (auto _ : state) {
    const auto quota = static_cast<queue_index>(110 + roll(dice, state.range(0) - 111));
    quotas.add_pod(quota, {request}).value();
    quotas.remove_pod(quota, {request}).value();
  }
}
BENCHMARK(koordinator_counting)->Arg(1'000)->Arg(10'000);

class bench_node : public trial_node {
 public:
  void remove(std::uint32_t) override { ++free_; }
  void put_back(std::uint32_t) override { --free_; }
  bool fits() override { return free_ >= 100; }

 private:
  std::int64_t free_ = 0;
};

/// 200 pods of quotas over their min, of which half have to go.
void capacity_victims(benchmark::State& state) {
  using namespace capacity_scheduling;
  const capacity_scheduling::resource_kind kinds[]{capacity_scheduling::resource_kind::field};
  elastic_quotas quotas =
      elastic_quotas::make(kinds, std::vector<quota_spec>{{"a", amounts{200}}, {"b", amounts{0}}}).value();
  const amounts one{1}, hundred{100};
  std::vector<quota_pod> running;
  for (std::int32_t i = 0; i < 200; ++i) running.push_back({1, one, i % 7, std::chrono::seconds{i}});
  for (const quota_pod& pod : running) quotas.use(pod).value();
  const quota_pod pod{0, hundred};
  const quota_demand demand = quotas.demand(pod, {}).value();
  for (auto _ : state) {
    bench_node node;
    benchmark::DoNotOptimize(select_victims(quotas, pod, demand, running, node).value().pods.size());
  }
}
BENCHMARK(capacity_victims);

}  // namespace
