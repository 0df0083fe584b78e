// gangsched-gang-streams SEEDS: how long gangs of 64 wait in streams of gangs of 2 to 64 GPUs, by what the scheduler does about it, beside
// two plain queues on a count of GPUs. Fails if what docs/backfill.md says of them is not so.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "gangsched/gangsched.hpp"
#include "streams/gang_stream.hpp"

namespace {

using namespace gangsched;
using namespace gangsched::testing;

constexpr std::int64_t nodes = 64, gpus_a_node = 8;

template <class T>
T must(result<T> made) {
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message().c_str());
    std::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(made);
}

/// Oldest first; the first that does not fit stops the others (`strict`), or does not (greedy by age).
std::vector<instant> plain_queue(const std::vector<stream_gang>& stream, bool strict) {
  std::vector<instant> starts(stream.size(), instant::max());
  std::multimap<instant, std::size_t> ends;
  std::vector<std::size_t> waiting;
  std::int64_t free = nodes * gpus_a_node;
  for (std::size_t next = 0; next < stream.size();) {
    const bool ending = !ends.empty() && ends.begin()->first <= stream[next].arrives;
    const instant now = ending ? ends.begin()->first : stream[next].arrives;
    if (ending) {
      free += stream[ends.begin()->second].size;
      ends.erase(ends.begin());
    } else {
      waiting.push_back(next++);
    }
    for (std::size_t i = 0; i < waiting.size();) {
      const stream_gang& one = stream[waiting[i]];
      if (one.size > free && strict) break;
      if (one.size > free) {
        ++i;
        continue;
      }
      free -= one.size;
      starts[waiting[i]] = now;
      ends.emplace(now + one.runs, waiting[i]);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return starts;
}

std::vector<instant> schedule(const std::vector<stream_gang>& stream, const scheduler_options& options, double error) {
  cluster on;
  for (std::int64_t i = 0; i < nodes; ++i) {
    node_spec node;
    node.name = "n" + std::to_string(i);
    node.allocatable = {{"cpu", quantity{1000}}, {"pods", quantity{110}}, {"nvidia.com/gpu", quantity{gpus_a_node}}};
    must(on.add_node(node));
  }
  scheduler decides{on, profiles::bin_packing(), options};
  std::vector<instant> starts(stream.size(), instant::max());
  std::vector<std::vector<pod_id>> pods(stream.size());
  std::vector<group_id> groups(stream.size());
  std::multimap<instant, std::size_t> ends;
  dice roll{99};
  const auto decide = [&](instant now) {
    while (auto cycle = decides.schedule_cycle(now)) {
      for (const decision& one : cycle) {
        if (one.kind != decision_kind::bind) continue;
        must(decides.confirm(one.pod));
        const auto gang = static_cast<std::size_t>(one.pod_cookie);
        if (starts[gang] != instant::max()) continue;
        starts[gang] = now;
        ends.emplace(now + stream[gang].runs, gang);
      }
    }
  };
  for (std::size_t next = 0; next < stream.size();) {
    const instant arrival = stream[next].arrives;
    const auto timer = decides.next_deadline();
    if (!ends.empty() && ends.begin()->first <= arrival && (!timer || ends.begin()->first <= *timer)) {
      const auto [now, gang] = *ends.begin();
      ends.erase(ends.begin());
      for (const pod_id pod : pods[gang]) must(on.remove_pod(pod));
      must(on.remove_group(groups[gang]));
      decide(now);
    } else if (timer && *timer <= arrival) {
      decide(*timer);
    } else {
      group_spec group;
      group.name = "g" + std::to_string(next);
      group.policy = gang{.min_count = static_cast<std::int32_t>(stream[next].size)};
      groups[next] = must(on.add_group(group));
      const double expected = error == 0 ? 1 : 1 + error * static_cast<double>(roll.below(1001)) / 1000;
      for (std::int64_t i = 0; i < stream[next].size; ++i) {
        pod_spec pod;
        pod.name = group.name + "-" + std::to_string(i);
        pod.containers.emplace_back().requests = {{"nvidia.com/gpu", quantity{1}}};
        pod.group = groups[next];
        pod.cookie = next;
        pod.expected_run_time =
            instant{static_cast<std::int64_t>(static_cast<double>(stream[next].runs.count()) * expected)};
        pods[next].push_back(must(on.add_pod(pod)));
      }
      decide(arrival);
      ++next;
    }
  }
  return starts;
}

struct policy {
  const char* name;
  std::function<std::vector<instant>(const std::vector<stream_gang>&)> run;
};

}  // namespace

int main(int count, char** arguments) {
  const std::uint64_t seeds = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 20;
  const auto by = [](scheduler_options options, double error = 0) {
    return [options, error](const std::vector<stream_gang>& stream) { return schedule(stream, options, error); };
  };
  const scheduler_options easy{.backfill = backfill_rule::easy}, drain{.max_overtake = std::chrono::minutes{30}};
  const std::vector<policy> policies{
      {"strict FIFO (by the book)", [](const auto& stream) { return plain_queue(stream, true); }},
      {"greedy by age (by the book)", [](const auto& stream) { return plain_queue(stream, false); }},
      {"default", by({})},
      {"backfill easy", by(easy)},
      {"easy, estimates 1 to 3 times", by(easy, 2)},
      {"backfill conservative", by({.backfill = backfill_rule::conservative})},
      {"max_overtake 30 min", by(drain)},
  };
  bool fine = true;
  std::printf("%-30s %5s %12s %10s %10s %8s\n", "", "load", "utilisation", "mean wait", "64s wait", "never");
  for (const double load : {0.8, 0.95, 1.2}) {
    std::vector<stream_outcome> sums(policies.size());
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const std::vector<stream_gang> stream = make_gang_stream({.seed = seed, .load = load});
      for (std::size_t i = 0; i < policies.size(); ++i) {
        const stream_outcome one = judge_stream(stream, policies[i].run(stream), nodes * gpus_a_node);
        sums[i].utilisation += one.utilisation / static_cast<double>(seeds);
        sums[i].mean_wait += one.mean_wait / static_cast<double>(seeds);
        sums[i].mean_wait_64 += one.mean_wait_64 / static_cast<double>(seeds);
        sums[i].never_64 += one.never_64, sums[i].gangs_64 += one.gangs_64;
      }
    }
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const stream_outcome& one = sums[i];
      std::printf("%-30s %5.2f %11.2f%% %8.0f s %8.0f s %4zu/%zu\n", policies[i].name, load, 100 * one.utilisation,
                  one.mean_wait, one.mean_wait_64, one.never_64, one.gangs_64);
    }
    const auto promise = [&](const char* what, bool kept) {
      if (!kept) std::printf("NOT SO at load %.2f: %s\n", load, what);
      fine = fine && kept;
    };
    promise("EASY wastes no more than a point against greedy by age",
            sums[3].utilisation >= sums[1].utilisation - 0.01);
    promise("gangs of 64 wait no longer with EASY than in strict FIFO", sums[3].mean_wait_64 <= sums[0].mean_wait_64);
  }
  return fine ? 0 : 1;
}
