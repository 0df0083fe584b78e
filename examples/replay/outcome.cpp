#include "replay/outcome.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace replay {

load load_between(const outcome& of, instant from, instant to) {
  if (to <= from || of.gpu_milli == 0) return {};
  double computing = 0, idle = 0;
  for (std::size_t i = 0; i < of.usage.size(); ++i) {
    const instant begin = std::max(from, of.usage[i].from);
    const instant end = std::min(to, i + 1 < of.usage.size() ? of.usage[i + 1].from : to);
    if (end <= begin) continue;
    const auto length = static_cast<double>((end - begin).count());
    computing += length * static_cast<double>(of.usage[i].computing);
    idle += length * static_cast<double>(of.usage[i].idle);
  }
  const double whole = static_cast<double>((to - from).count()) * static_cast<double>(of.gpu_milli);
  return {computing / whole, idle / whole};
}

double peak_load(const outcome& of) {
  std::int64_t most = 0;
  for (const usage_point& point : of.usage) most = std::max(most, point.computing + point.idle);
  return of.gpu_milli == 0 ? 0 : static_cast<double>(most) / static_cast<double>(of.gpu_milli);
}

double latencies::percentile(double share) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if ((below += buckets_[i]) < std::max<std::uint64_t>(rank, 1)) continue;
    const std::size_t shift = i < std::size_t{2} << fine ? 0 : (i >> fine) - 1;
    return std::ldexp(static_cast<double>(i - (shift << fine)) + (shift > 0 ? 0.5 : 0.0), static_cast<int>(shift));
  }
  return 0;
}

wait_figures figures_of(const std::vector<double>& sorted) {
  if (sorted.empty()) return {};
  // The smallest value that this share of all values does not exceed.
  const auto percentile = [&](double share) {
    return sorted[static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1];
  };
  return {.count = sorted.size(),
          .mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size()),
          .p50 = percentile(0.50),
          .p90 = percentile(0.90),
          .p99 = percentile(0.99),
          .most = sorted.back()};
}

}  // namespace replay
