// gangsched-gang-streams SEEDS: how long gangs of 64 wait in streams of gangs of 2 to 64 GPUs, by what the scheduler does about it, beside
// plain queues on a count of GPUs. Fails if what docs/backfill.md says of them is not so.
// gangsched-gang-streams --philly FILE [SPEED]: the same of a job list of philly, and how long its jobs of 8 workers wait.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/framework/profile.hpp"
#include "gangsched/gangsched.hpp"
#include "gangsched/plugins/gang_scheduling.hpp"
#include "gangsched/plugins/least_slack_sort.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/scheduling/run_time_estimates.hpp"
#include "streams/gang_stream.hpp"

#if GANGSCHED_HAS_REPLAY
#include "replay/philly.hpp"
#endif

namespace {

using namespace gangsched;
using namespace gangsched::testing;

constexpr std::int64_t gpus_a_node = 8;

template <class T>
T must(result<T> made) {
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message().c_str());
    std::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(made);
}

/// A queue on a count of GPUs: when each gang starts.
class plain_queue {
 public:
  plain_queue(const std::vector<stream_gang>& stream, std::int64_t gpus)
      : stream_(&stream), free_(gpus), starts_(stream.size(), instant::max()) {}

  /// @p pass: calls try_each, after each arrival and each end.
  std::vector<instant> run(const std::function<void(plain_queue&)>& pass) {
    for (std::size_t next = 0; next < stream_->size();) {
      const bool ending = !ends_.empty() && ends_.begin()->first <= (*stream_)[next].arrives;
      now_ = ending ? ends_.begin()->first : (*stream_)[next].arrives;
      if (ending) {
        free_ += ends_.begin()->second;
        ends_.erase(ends_.begin());
      } else {
        waiting_.push_back(next++);
      }
      pass(*this);
    }
    return std::move(starts_);
  }
  /// Oldest first: those start of which may(gang) says so.
  template <class May>
  void try_each(const May& may) {
    std::erase_if(waiting_, [&](std::size_t which) {
      const stream_gang& one = (*stream_)[which];
      if (!may(one)) return false;
      free_ -= one.size;
      starts_[which] = now_;
      ends_.emplace(now_ + one.runs, one.size);
      return true;
    });
  }
  [[nodiscard]] instant now() const { return now_; }
  [[nodiscard]] std::int64_t free() const { return free_; }
  /// When enough is free for the gang, and how much is left beside it then.
  [[nodiscard]] std::pair<instant, std::int64_t> shadow_of(const stream_gang& one) const {
    std::int64_t then = free_;
    instant when = now_;
    for (auto end = ends_.begin(); then < one.size; ++end) when = end->first, then += end->second;
    return {when, then - one.size};
  }

 private:
  const std::vector<stream_gang>* stream_;
  std::int64_t free_;
  std::vector<instant> starts_;
  std::multimap<instant, std::int64_t> ends_;
  std::vector<std::size_t> waiting_;
  instant now_{};
};

/// The first that does not fit stops the others (`strict`), or does not (greedy by age).
std::vector<instant> first_come(const std::vector<stream_gang>& stream, std::int64_t gpus, bool strict) {
  return plain_queue{stream, gpus}.run([&](plain_queue& queue) {
    bool stopped = false;
    queue.try_each([&](const stream_gang& one) {
      const bool fits = !stopped && one.size <= queue.free();
      stopped = stopped || (strict && !fits);
      return fits;
    });
  });
}

/// EASY (Lifka 1995): the oldest that does not fit is told when it will; others start that end by then, or need no more than is left beside
/// it then.
std::vector<instant> plain_easy(const std::vector<stream_gang>& stream, std::int64_t gpus) {
  return plain_queue{stream, gpus}.run([](plain_queue& queue) {
    std::optional<std::pair<instant, std::int64_t>> shadow;
    queue.try_each([&](const stream_gang& one) {
      if (!shadow && one.size > queue.free()) shadow = queue.shadow_of(one);
      if (one.size > queue.free()) return false;
      if (!shadow || queue.now() + one.runs <= shadow->first) return true;
      if (one.size > shadow->second) return false;
      shadow->second -= one.size;
      return true;
    });
  });
}

/// How long gangs are expected to run.
struct estimates {
  double error = 0;       ///< up to so much longer than they will; their own time is 1
  bool learnt = false;    ///< by those of the same size that ended
  std::int32_t wait = 0;  ///< their longest wait in percent of that, for LeastSlackSort; 0: PrioritySort
};

std::vector<instant> schedule(const std::vector<stream_gang>& stream, std::int64_t gpus,
                              const scheduler_options& options, const estimates& by) {
  cluster on;
  for (std::int64_t i = 0; i < gpus / gpus_a_node; ++i) {
    node_spec node;
    node.name = "n" + std::to_string(i);
    node.allocatable = {{"cpu", quantity{1000}}, {"pods", quantity{110}}, {"nvidia.com/gpu", quantity{gpus_a_node}}};
    must(on.add_node(node));
  }
  const node_resources_fit packs{{.strategy = node_resources_fit::strategy::most_allocated}};
  const kernel_table by_slack =
      profile{least_slack_sort{{.max_wait_percent = by.wait}}, packs, gang_scheduling{}}.table();
  scheduler decides{on, by.wait == 0 ? profiles::bin_packing() : by_slack, options};
  std::vector<instant> starts(stream.size(), instant::max());
  std::vector<std::vector<pod_id>> pods(stream.size());
  std::vector<group_id> groups(stream.size());
  std::multimap<instant, std::size_t> ends;
  dice roll{99};
  run_time_estimates learnt;
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
      const std::string size = std::to_string(stream[gang].size);
      learnt.ended(std::array{std::string_view{size}, std::string_view{"all"}}, stream[gang].runs);
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
      const double expected = by.error == 0 ? 1 : 1 + by.error * static_cast<double>(roll.below(1001)) / 1000;
      instant runs{static_cast<std::int64_t>(static_cast<double>(stream[next].runs.count()) * expected)};
      const std::string size = std::to_string(stream[next].size);
      if (by.learnt)
        runs = learnt.estimate(std::array{std::string_view{size}, std::string_view{"all"}}).value_or(instant{0});
      for (std::int64_t i = 0; i < stream[next].size; ++i) {
        pod_spec pod;
        pod.name = group.name + "-" + std::to_string(i);
        pod.containers.emplace_back().requests = {{"nvidia.com/gpu", quantity{1}}};
        pod.group = groups[next];
        pod.cookie = next;
        pod.expected_run_time = runs;
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
  std::function<std::vector<instant>(const std::vector<stream_gang>&, std::int64_t gpus)> run;
};

std::vector<policy> all_policies() {
  const auto by = [](const scheduler_options& options, const estimates& how = {}) {
    return [options, how](const std::vector<stream_gang>& stream, std::int64_t gpus) {
      return schedule(stream, gpus, options, how);
    };
  };
  const auto plain = [](bool strict) {
    return [strict](const std::vector<stream_gang>& stream, std::int64_t gpus) {
      return first_come(stream, gpus, strict);
    };
  };
  const scheduler_options easy{.backfill = backfill_rule::easy}, drain{.max_overtake = std::chrono::minutes{30}};
  return {
      {"strict FIFO (by the book)", plain(true)},
      {"greedy by age (by the book)", plain(false)},
      {"EASY (by the book)", plain_easy},
      {"default", by({})},
      {"backfill easy", by(easy)},
      {"easy, estimates 1 to 3 times", by(easy, {.error = 2})},
      {"easy, estimates learnt", by(easy, {.learnt = true})},
      {"easy, waits in proportion", by(easy, {.wait = 10})},
      {"the same, estimates 1 to 3 times", by(easy, {.error = 2, .wait = 10})},
      {"backfill conservative", by({.backfill = backfill_rule::conservative})},
      {"max_overtake 30 min", by(drain)},
  };
}
constexpr std::size_t fifo = 0, greedy = 1, book = 2, with_easy = 4, in_proportion = 7;  // of those

bool streams_of_gangs(std::uint64_t seeds) {
  constexpr std::int64_t gpus = 512;
  const std::vector<policy> policies = all_policies();
  bool fine = true;
  std::printf("%-34s %5s %12s %10s %10s %8s\n", "", "load", "utilisation", "mean wait", "64s wait", "never");
  for (const double load : {0.8, 0.95, 1.2}) {
    std::vector<stream_outcome> sums(policies.size());
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const std::vector<stream_gang> stream = make_gang_stream({.seed = seed, .load = load, .gpus = gpus});
      for (std::size_t i = 0; i < policies.size(); ++i) {
        const stream_outcome one = judge_stream(stream, policies[i].run(stream, gpus), gpus);
        sums[i].utilisation += one.utilisation / static_cast<double>(seeds);
        sums[i].mean_wait += one.mean_wait / static_cast<double>(seeds);
        sums[i].mean_wait_64 += one.mean_wait_64 / static_cast<double>(seeds);
        sums[i].never_64 += one.never_64, sums[i].gangs_64 += one.gangs_64;
      }
    }
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const stream_outcome& one = sums[i];
      std::printf("%-34s %5.2f %11.2f%% %8.0f s %8.0f s %4zu/%zu\n", policies[i].name, load, 100 * one.utilisation,
                  one.mean_wait, one.mean_wait_64, one.never_64, one.gangs_64);
    }
    const auto promise = [&](const char* what, bool kept) {
      if (!kept) std::printf("NOT SO at load %.2f: %s\n", load, what);
      fine = fine && kept;
    };
    promise("EASY wastes no more than half a point against greedy by age",
            sums[with_easy].utilisation >= sums[greedy].utilisation - 0.005);
    promise("EASY is what it is by the book", std::abs(sums[with_easy].utilisation - sums[book].utilisation) <= 0.001 &&
                                                  sums[with_easy].mean_wait_64 <= 1.01 * sums[book].mean_wait_64);
    promise("gangs of 64 wait no longer with EASY than in strict FIFO",  // of one stream it may be a second
            sums[with_easy].mean_wait_64 <= sums[fifo].mean_wait_64 || seeds < 10);
    promise("longest waits in proportion to run times waste no more either",
            sums[in_proportion].utilisation >= sums[greedy].utilisation - 0.005);
    promise("gangs of 64 wait no longer with them than in strict FIFO",
            sums[in_proportion].mean_wait_64 <= sums[fifo].mean_wait_64 || seeds < 10);
  }
  return fine;
}

#if GANGSCHED_HAS_REPLAY
/// Jobs of the Philly trace, as gangsched-replay reads them, at so many times their speed.
void stream_of_philly(const std::string& file, double speed) {
  const replay::workload work = replay::philly::to_workload(replay::philly::read(file), {.speed = speed});
  const auto gpus = static_cast<std::int64_t>(work.nodes.size()) * gpus_a_node;
  std::vector<stream_gang> stream;
  for (const replay::job& one : work.jobs)
    stream.push_back({std::int64_t{one.workers}, one.arrival, one.lifetime.value_or(instant{0})});
  std::printf("%zu jobs, %lld GPUs\n%-34s %12s %12s %12s %12s\n", stream.size(), static_cast<long long>(gpus), "",
              "utilisation", "others wait", "8s wait", "8s, p99");
  for (const policy& one : all_policies()) {
    const std::vector<instant> starts = one.run(stream, gpus);
    const instant last = stream.back().arrives;
    std::vector<double> eights;
    double others = 0, all_eights = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const double wait = std::chrono::duration<double>(std::min(starts[i], last) - stream[i].arrives).count();
      if (stream[i].size == 8)
        eights.push_back(wait), all_eights += wait;
      else
        others += wait;
    }
    std::sort(eights.begin(), eights.end());
    const std::size_t rank = (99 * eights.size() + 99) / 100;
    std::printf("%-34s %11.2f%% %10.0f s %10.0f s %10.0f s\n", one.name,
                100 * judge_stream(stream, starts, gpus).utilisation,
                others / static_cast<double>(stream.size() - eights.size()),
                all_eights / static_cast<double>(eights.size()), eights[rank - 1]);
  }
}
#endif

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words{arguments + 1, arguments + count};
#if GANGSCHED_HAS_REPLAY
  if (words.size() > 1 && words[0] == "--philly") {
    stream_of_philly(words[1], words.size() > 2 ? std::strtod(words[2].c_str(), nullptr) : 1);
    return 0;
  }
#endif
  return streams_of_gangs(words.empty() ? 20 : std::strtoull(words[0].c_str(), nullptr, 10)) ? 0 : 1;
}
