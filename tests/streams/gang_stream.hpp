#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "support/dice.hpp"

/// Streams of gangs for one pool of GPUs, in which large gangs starve behind small ones unless somebody sees to it.
namespace gangsched::testing {

/// A gang whose members ask for one GPU each and all run that long.
struct stream_gang {
  std::int64_t size;
  instant arrives, runs;
};

struct stream_options {
  std::uint64_t seed = 0;
  double load = 0.95;  ///< work that arrives a second, as a share of what the GPUs do
  std::size_t gangs = 600;
  std::int64_t gpus = 512;
  double mean_run = 600;  ///< seconds
};

/// Sizes are 2, 4, … 64, each as likely; times between arrivals are exponential, and so is how long a gang runs, from 30 s to eight times
/// the mean. By arrival. The same everywhere for the same options.
[[nodiscard]] inline std::vector<stream_gang> make_gang_stream(const stream_options& options) {
  dice roll{options.seed};
  const auto exponential = [&](double mean) {
    const double uniform = static_cast<double>(roll.next() >> 11) * 0x1p-53;
    return -mean * std::log1p(-uniform);
  };
  const auto seconds = [](double of) { return instant{static_cast<std::int64_t>(of * 1e3) * 1'000'000}; };
  constexpr double mean_size = (2 + 4 + 8 + 16 + 32 + 64) / 6.0;
  const double between = mean_size * options.mean_run / (options.load * static_cast<double>(options.gpus));
  std::vector<stream_gang> all;
  double at = 0;
  for (std::size_t i = 0; i < options.gangs; ++i) {
    at += exponential(between);
    const double runs = std::min(std::max(30.0, exponential(options.mean_run)), 8 * options.mean_run);
    all.push_back({std::int64_t{2} << roll.below(6), seconds(at), seconds(runs)});
  }
  return all;
}

/// What became of a stream up to the last arrival.
struct stream_outcome {
  double utilisation = 0;    ///< of the GPUs, from the first arrival to the last
  double mean_wait = 0;      ///< seconds, of all; who has not started waits to the end of the last arrival
  double mean_wait_64 = 0;   ///< of gangs of 64
  std::size_t never_64 = 0;  ///< gangs of 64 that had not started then
  std::size_t gangs_64 = 0;
};

/// @p starts: of each gang; instant::max() if it has not started by the last arrival.
[[nodiscard]] inline stream_outcome judge_stream(const std::vector<stream_gang>& stream,
                                                 const std::vector<instant>& starts, std::int64_t gpus) {
  const instant first = stream.front().arrives, last = stream.back().arrives;
  const auto in_seconds = [](instant of) { return std::chrono::duration<double>(of).count(); };
  stream_outcome made;
  double work = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const instant start = std::min(starts[i], last);
    work += static_cast<double>(stream[i].size) * in_seconds(std::min(last, start + stream[i].runs) - start);
    const double wait = in_seconds(start - stream[i].arrives);
    made.mean_wait += wait / static_cast<double>(stream.size());
    if (stream[i].size != 64) continue;
    ++made.gangs_64;
    made.mean_wait_64 += wait;
    made.never_64 += starts[i] > last ? 1 : 0;
  }
  if (made.gangs_64 != 0) made.mean_wait_64 /= static_cast<double>(made.gangs_64);
  made.utilisation = work / (static_cast<double>(gpus) * in_seconds(last - first));
  return made;
}

}  // namespace gangsched::testing
