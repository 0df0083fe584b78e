#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gangsched/queues/hived/cell_scheduler.hpp"
#include "gangsched/queues/indexed_heap.hpp"
#include "gangsched/queues/kai/reclaim.hpp"
#include "gangsched/queues/kueue/admission_controller.hpp"
#include "gangsched/queues/volcano/session.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"
#include "support.hpp"

// Policies of queues without a cluster: shares divided, turns taken, usage counted, victims chosen. 10,000 queues are ten with ten below
// each, and all others below these hundred.
namespace {

using namespace gangsched::queues;

struct named_tree {
  std::vector<std::string> names, parents;
  explicit named_tree(std::size_t queues, const std::string& root = {}) {
    if (!root.empty()) names.push_back(root), parents.emplace_back();
    for (std::size_t i = 0; i < queues; ++i) {
      names.push_back("q" + std::to_string(i));
      parents.push_back(i < 10 ? root : "q" + std::to_string(i < 110 ? i % 10 : 10 + i % 100));
    }
  }
  [[nodiscard]] queue_tree make() const {
    std::vector<queue_link> links;
    for (std::size_t i = 0; i < names.size(); ++i) links.push_back({names[i], parents[i]});
    return queue_tree::make(links).value();
  }
};

queue_tree flat(std::size_t queues) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < queues; ++i) names.push_back("q" + std::to_string(i));
  std::vector<queue_link> links;
  for (const std::string& name : names) links.push_back({name});
  return queue_tree::make(links).value();
}

/// Says how often something allocated after it had run once.
class allocation_count {
 public:
  explicit allocation_count(benchmark::State& state) : state_(&state), before_(bench::allocations()) {}
  ~allocation_count() {
    state_->counters["allocations"] =
        benchmark::Counter(static_cast<double>(bench::allocations() - before_), benchmark::Counter::kAvgIterations);
  }
  allocation_count(const allocation_count&) = delete;
  allocation_count& operator=(const allocation_count&) = delete;

 private:
  benchmark::State* state_;
  std::size_t before_;
};

// --- KAI ---

kai::queue_shares kai_queues(queue_tree tree, std::size_t jobs_of_leaf) {
  std::mt19937 dice{1};
  const auto queues = static_cast<double>(tree.size());
  kai::queue_shares shares{std::move(tree), 1};
  shares.set_total(0, 10 * queues).value();
  for (queue_index queue = 0; queue < shares.tree().size(); ++queue) {
    shares.set_quota(queue, 0, {static_cast<double>(dice() % 5), kai::unlimited, static_cast<double>(1 + dice() % 9)})
        .value();
    if (!shares.tree().is_leaf(queue)) continue;
    const double job = 1;
    for (std::size_t i = 0; i < jobs_of_leaf * (1 + dice() % 2); ++i) shares.add_request(queue, {&job, 1});
  }
  return shares;
}

void kai_divide(benchmark::State& state) {
  const auto queues = static_cast<std::size_t>(state.range(0));
  kai::queue_shares shares = kai_queues(queues > 1'000 ? named_tree{queues}.make() : flat(queues), 10);
  shares.divide();
  const allocation_count count{state};
  for (auto _ : state) shares.divide(1);
}
BENCHMARK(kai_divide)->Arg(30)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMicrosecond);

/// A job counts at its queue and two above it, and goes.
void kai_allocation(benchmark::State& state) {
  kai::queue_shares shares = kai_queues(named_tree{10'000}.make(), 1);
  std::mt19937 dice{2};
  const double job = 1;
  const allocation_count count{state};
  for (auto _ : state) {
    const auto queue = static_cast<queue_index>(110 + dice() % 9'890);
    shares.allocate(queue, {&job, 1}, true);
    shares.release(queue, {&job, 1}, true);
  }
}
BENCHMARK(kai_allocation);

/// 100,000 jobs wait in 10,000 queues three deep: each goes to the queue whose turn it is on every level, in heaps of siblings.
void kai_turns(benchmark::State& state) {
  const queue_tree tree = named_tree{10'000}.make();
  const double job = 1;
  std::int64_t served = 0;
  for (auto _ : state) {
    state.PauseTiming();
    kai::queue_shares shares = kai_queues(tree, 7);
    shares.divide();
    std::vector<std::vector<std::uint32_t>> heaps(tree.size() + 1);  // of children that have something waiting
    std::vector<std::uint32_t> place(tree.size()), left(tree.size());
    for (queue_index queue = 0; queue < tree.size(); ++queue)
      if (tree.is_leaf(queue)) left[queue] = static_cast<std::uint32_t>(shares.share(queue, 0).request);
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      return shares.order({a, {&job, 1}}, {b, {&job, 1}}) < 0;
    };
    const auto placed = [&](std::uint32_t one) -> std::uint32_t& { return place[one]; };
    for (queue_index queue = 0; queue < tree.size(); ++queue)
      heaps[queue].assign(tree.children(queue).begin(), tree.children(queue).end());
    heaps[tree.size()].assign(tree.roots().begin(), tree.roots().end());
    for (auto& heap : heaps) gangsched::queues::detail::make_heap(heap, before, placed);
    state.ResumeTiming();
    while (!heaps[tree.size()].empty()) {
      queue_index queue = heaps[tree.size()].front();
      while (!heaps[queue].empty()) queue = heaps[queue].front();
      shares.allocate(queue, {&job, 1}, true);
      ++served;
      bool is_empty = --left[queue] == 0;
      for (queue_index up = queue; up != no_queue; up = tree.parent(up)) {
        auto& heap = heaps[tree.parent(up) == no_queue ? tree.size() : tree.parent(up)];
        if (is_empty)
          gangsched::queues::detail::take_out(heap, place[up], before, placed);
        else
          gangsched::queues::detail::sink(heap, place[up], before, placed);
        is_empty = is_empty && heap.empty();
      }
    }
  }
  state.SetItemsProcessed(served);
}
BENCHMARK(kai_turns)->Unit(benchmark::kMillisecond);

/// 200 victims of 20 queues, each asked for when its turn comes.
void kai_reclaim(benchmark::State& state) {
  kai::queue_shares shares{flat(21), 1};
  shares.set_total(0, 420).value();
  const double one = 1, many = 200;
  shares.set_quota(0, 0, {.deserved = 200}).value();
  shares.add_request(0, {&many, 1});
  for (queue_index queue = 1; queue < 21; ++queue) {
    shares.set_quota(queue, 0, {.deserved = 5}).value();
    for (int i = 0; i < 21; ++i) shares.add_request(queue, {&one, 1}), shares.allocate(queue, {&one, 1}, true);
  }
  shares.divide();
  kai::reclaim_plan plan;
  std::size_t victims = 0;
  for (auto _ : state) {
    plan.begin(shares, {0, {&many, 1}});
    victims = 0;
    for (int i = 0; i < 200; ++i) {
      const auto queue = static_cast<queue_index>(1 + i % 20);
      if (!plan.may_take_from(queue)) continue;
      plan.take({queue, {&one, 1}});
      ++victims;
    }
    benchmark::DoNotOptimize(plan.keeps_balance());
  }
  state.counters["victims"] = static_cast<double>(victims);
}
BENCHMARK(kai_reclaim)->Unit(benchmark::kMicrosecond);

// --- Kueue ---

/// 10,000 queues below 100 cohorts below ten, with ten workloads each.
void kueue_deep(benchmark::State& state, bool fair) {
  kueue::configuration_spec spec{.flavors = {{"f"}}};
  for (int i = 0; i < 10; ++i) spec.cohorts.push_back({"a" + std::to_string(i), "all"});
  for (int i = 0; i < 100; ++i) spec.cohorts.push_back({"b" + std::to_string(i), "a" + std::to_string(i % 10)});
  for (int i = 0; i < 10'000; ++i)
    spec.queues.push_back({.name = "q" + std::to_string(i),
                           .cohort = "b" + std::to_string(i % 100),
                           .weight = 1.0 + i % 3,
                           .groups = {{{"cpu"}, {{"f", {{5 + 5 * (i % 3)}}}}}}});
  std::int64_t admitted = 0;
  for (auto _ : state) {
    state.PauseTiming();
    kueue::admission_options options;
    options.fair_sharing.enabled = fair;
    auto controller = std::make_unique<kueue::admission_controller>(kueue::configuration::make(spec).value(), options);
    for (int i = 0; i < 100'000; ++i)
      controller
          ->add({.name = "w",
                 .uid = std::to_string(i),
                 .queue = "q" + std::to_string(i % 10'000),
                 .created = gangsched::instant{i},
                 .pod_sets = {{.requests = {{"cpu", 1}}}}})
          .value();
    state.ResumeTiming();
    for (bool some = true; some;) {
      some = false;
      for (const kueue::cycle_entry& entry : controller->cycle(std::chrono::seconds{1}).entries()) {
        some = true;
        if (entry.result == kueue::entry_result::admitted) ++admitted;
      }
    }
    state.PauseTiming();
    controller.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(admitted);
}
BENCHMARK_CAPTURE(kueue_deep, classical, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(kueue_deep, fair, true)->Unit(benchmark::kMillisecond);

/// Usage of a queue and the cohorts above it.
void kueue_usage(benchmark::State& state) {
  kueue::configuration_spec spec{.flavors = {{"f"}}};
  for (int i = 0; i < 100; ++i) spec.cohorts.push_back({"b" + std::to_string(i), "all"});
  for (int i = 0; i < 10'000; ++i)
    spec.queues.push_back({.name = "q" + std::to_string(i),
                           .cohort = "b" + std::to_string(i % 100),
                           .groups = {{{"cpu"}, {{"f", {{5}}}}}}});
  const kueue::configuration of = kueue::configuration::make(spec).value();
  kueue::quota_ledger ledger{of};
  std::mt19937 dice{2};
  const allocation_count count{state};
  for (auto _ : state) {
    const auto queue = static_cast<queue_index>(of.first_queue() + dice() % 10'000);
    ledger.add(queue, 0, 1);
    ledger.remove(queue, 0, 1);
  }
}
BENCHMARK(kueue_usage);

// --- YuniKorn ---

struct any_node final : yunikorn::node_host {
  yunikorn::node_number place(yunikorn::ask_index) override { return 0; }
  bool preempt(yunikorn::ask_index, bool) override { return false; }
};

/// Asks are placed until none is left: after each everything is sorted again. Queues, and asks of each.
void yunikorn_cycles(benchmark::State& state) {
  const auto queues = static_cast<std::size_t>(state.range(0)), asks = static_cast<std::size_t>(state.range(1));
  std::vector<std::string> names{"root"};
  for (std::size_t i = 0; i < queues; ++i) names.push_back("root.q" + std::to_string(i));
  std::vector<queue_link> links{{"root"}};
  for (std::size_t i = 1; i <= queues; ++i) links.push_back({names[i], "root"});
  std::vector<yunikorn::queue_settings> settings(queues + 1);
  for (std::size_t i = 0; i <= queues; ++i) {
    yunikorn::resources amount;
    amount.set(0, static_cast<std::int64_t>(i == 0 ? 1'000'000 : 10 + i % 7));
    (i == 0 ? settings[i].max : settings[i].guaranteed) = amount;
  }
  yunikorn::resources one;
  one.set(0, 1);
  std::int64_t placed = 0;
  any_node host;
  for (auto _ : state) {
    state.PauseTiming();
    auto partition = std::make_unique<yunikorn::partition>(
        yunikorn::partition::make(queue_tree::make(links).value(), settings).value());
    for (std::size_t i = 1; i <= queues; ++i) {
      const auto application = partition->add_application({.queue = static_cast<queue_index>(i), .user = "u"}).value();
      for (std::size_t ask = 0; ask < asks; ++ask)
        partition->add_ask({.application = application, .request = one}).value();
    }
    const std::size_t before = bench::allocations();
    state.ResumeTiming();
    for (int i = 0; i < 2'000; ++i)
      if (partition->try_allocate(host).what == yunikorn::cycle_outcome::kind::placed) ++placed;
    state.PauseTiming();
    state.counters["allocations/placed"] = static_cast<double>(bench::allocations() - before) / 2'000;
    partition.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(placed);
}
BENCHMARK(yunikorn_cycles)->Args({2, 5'000})->Args({30, 500})->Args({1'000, 50})->Unit(benchmark::kMillisecond);

// --- Volcano ---

std::vector<volcano::queue_spec> volcano_queues(std::size_t count) {
  std::vector<volcano::queue_spec> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i].name = "q" + std::to_string(i);
    made[i].weight = static_cast<std::int32_t>(1 + i % 9);
  }
  return made;
}

struct volcano_demand {
  std::vector<volcano::queue_spec> specs;
  std::vector<volcano::job_load> jobs;
  volcano::resources total;
  explicit volcano_demand(std::size_t queues)
      : specs{volcano_queues(queues)},
        jobs(queues),
        total{20'000.0 * static_cast<double>(queues), 200'000.0 * static_cast<double>(queues)} {
    std::mt19937 dice{3};
    for (std::size_t i = 0; i < queues; ++i) {
      jobs[i].queue = static_cast<queue_index>(i);
      jobs[i].pending = {static_cast<double>(dice() % 100'000), static_cast<double>(dice() % 1'000'000)};
    }
  }
  [[nodiscard]] volcano::queue_shares open() const {
    return volcano::queue_shares::open(volcano::queue_policy::proportion, total, specs, jobs).value();
  }
};

/// Queues that are checked, and what they deserve by weight.
void volcano_open(benchmark::State& state) {
  const volcano_demand demand{static_cast<std::size_t>(state.range(0))};
  for (auto _ : state) benchmark::DoNotOptimize(demand.open().size());
}
BENCHMARK(volcano_open)->Arg(30)->Arg(1'000)->Unit(benchmark::kMicrosecond);

/// What they deserve when one of them asks for something else.
void volcano_divide(benchmark::State& state) {
  const volcano_demand demand{static_cast<std::size_t>(state.range(0))};
  volcano::queue_shares shares = demand.open();
  volcano::queue_load load = shares.account(0);
  double asked = 1;
  for (auto _ : state) {
    load.request = {asked += 1, 5};
    shares.count(0, load);
    shares.settle(demand.total);
  }
}
BENCHMARK(volcano_divide)->Arg(30)->Arg(1'000)->Unit(benchmark::kMicrosecond);

/// KAI's large cluster: 100 nodes with 8 GPUs, 500 jobs with one each, in 4 queues: a session from its opening on.
void volcano_session(benchmark::State& state) {
  volcano::cluster_state cluster;
  for (int i = 0; i < 100; ++i)
    cluster.nodes.push_back(
        {"n" + std::to_string(i),
         volcano::resources{64'000, 1e12}.set(volcano::pods, 110).set(volcano::first_device, 8'000)});
  cluster.queues = volcano_queues(4);
  for (int i = 0; i < 500; ++i) {
    volcano::job_spec& job = cluster.jobs.emplace_back();
    job.name = "j" + std::to_string(i);
    job.queue = static_cast<queue_index>(i % 4);
    job.created = i;
    job.phase = volcano::job_phase::inqueue;
    job.tasks.push_back(
        {.name = job.name,
         .request = volcano::resources{1'000, 1e9}.set(volcano::pods, 1).set(volcano::first_device, 1'000)});
  }
  const volcano::session_options options{
      .actions = {volcano::action::allocate},
      .tiers = {{{.name = volcano::plugin_name::gang}, {.name = volcano::plugin_name::proportion}}}};
  std::int64_t bound = 0;
  for (auto _ : state)
    bound += static_cast<std::int64_t>(volcano::session::open(cluster, options).value().run().bound.size());
  state.SetItemsProcessed(bound);
}
BENCHMARK(volcano_session)->Unit(benchmark::kMillisecond);

// --- HiveD ---

/// A thousand nodes of 8 devices in racks of ten, ten virtual clusters that have eight racks each: groups of two nodes come and go
/// while the rest is full.
void hived_groups(benchmark::State& state) {
  hived::configuration cluster;
  cluster.types = {{"two", "gpu", 2}, {"four", "two", 2}, {"node", "four", 2, true}, {"rack", "node", 10}};
  for (int rack = 0; rack < 100; ++rack) {
    hived::physical_cell cell{.type = "rack"};
    for (int node = 0; node < 10; ++node) cell.children.push_back({.node = "n" + std::to_string(rack * 10 + node)});
    cluster.cells.push_back(std::move(cell));
  }
  for (int i = 0; i < 10; ++i) cluster.clusters.push_back({"vc" + std::to_string(i), {{"rack", "rack", 8}}, {}});
  hived::cell_scheduler cells = hived::cell_scheduler::make(cluster).value();
  std::vector<std::string> names;
  for (int i = 0; i < 390; ++i) {
    names.push_back("g" + std::to_string(i));
    cells.place({names.back(), "vc" + std::to_string(i % 10), 1, {{2, 8}}}).value();
  }
  std::size_t at = 0;
  for (auto _ : state) {
    cells.remove(names[at]).value();
    benchmark::DoNotOptimize(cells.place({names[at], "vc" + std::to_string(at % 10), 1, {{2, 8}}}).value().state);
    at = (at + 7) % names.size();
  }
}
BENCHMARK(hived_groups)->Unit(benchmark::kMicrosecond);

}  // namespace
