#include "replay/philly.hpp"

#include <fmt/format.h>
#include <gangsched/model/validate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "replay/csv.hpp"

namespace replay::philly {
namespace {

using gangsched::quantity;
using namespace gangsched::literals;

constexpr const char* gpu = "nvidia.com/gpu";
constexpr std::int64_t most_workers = 4096;

enum size : std::uint32_t { one, two, four, eight, other };

std::uint32_t size_of(std::int64_t workers) {
  switch (workers) {
    case 1: return one;
    case 2: return two;
    case 4: return four;
    case 8: return eight;
    default: return other;
  }
}

/// The most GPUs that the jobs would use on average over a quarter of the time from the first arrival to the last, were each job to
/// start at once.
double demand_in_busiest_quarter(const trace& from, double speed) {
  constexpr std::size_t steps = 400, quarter = steps / 4;
  const auto [first, last] = std::ranges::minmax(from.jobs, {}, &training::arrival);
  const double begin = static_cast<double>(first.arrival) / speed;
  const double step = std::max(1.0, static_cast<double>(last.arrival) / speed - begin) / steps;
  std::array<double, steps> used{};  // GPU seconds by step
  for (const training& t : from.jobs) {
    const double start = static_cast<double>(t.arrival) / speed - begin;
    const double end = start + static_cast<double>(t.duration);
    for (auto i = static_cast<std::size_t>(start / step); i < steps && static_cast<double>(i) * step < end; ++i) {
      const double within =
          std::min(end, static_cast<double>(i + 1) * step) - std::max(start, static_cast<double>(i) * step);
      used[i] += static_cast<double>(t.workers) * within;
    }
  }
  double most = 0;
  for (std::size_t i = 0; i + quarter <= steps; ++i) {
    const auto window = used.begin() + static_cast<std::ptrdiff_t>(i);
    most = std::max(most, std::accumulate(window, window + quarter, 0.0));
  }
  return most / (step * quarter);
}

/// The virtual clusters by name, with whole nodes: each has what its largest job needs, and those that are left go one by one to whom
/// most is lacking of his part of the GPU time.
std::vector<tenant> tenants_of(const trace& from, std::int64_t nodes) {
  struct part {
    double gpu_seconds = 0;
    std::int64_t nodes = 0;
  };
  std::map<std::string, part> parts;
  double all = 0;
  for (const training& t : from.jobs) {
    if (t.cluster.empty()) return {};
    part& of = parts[t.cluster];
    const double work = static_cast<double>(t.workers) * static_cast<double>(t.duration);
    of.gpu_seconds += work;
    all += work;
    of.nodes = std::max(of.nodes, (t.workers + gpus_per_node - 1) / gpus_per_node);
  }
  for (const auto& [name, of] : parts) nodes -= of.nodes;
  for (; nodes > 0; --nodes) {
    const auto lacks = [&](const auto& one) {  // GPU time for each node that it would have
      return one.second.gpu_seconds / static_cast<double>(one.second.nodes + 1);
    };
    ++std::ranges::max_element(parts, {}, lacks)->second.nodes;
  }
  std::vector<tenant> tenants;
  for (const auto& [name, of] : parts) tenants.push_back({name, of.nodes * gpus_per_node});
  return tenants;
}

std::int64_t suitable_gpus(const trace& from, double speed) {
  const double nodes = demand_in_busiest_quarter(from, speed) / default_load / static_cast<double>(gpus_per_node);
  const std::int64_t largest = std::ranges::max(from.jobs, {}, &training::workers).workers;
  std::int64_t least = (largest + gpus_per_node - 1) / gpus_per_node;
  if (const std::vector<tenant> tenants = tenants_of(from, 0); !tenants.empty()) {
    least = 0;
    for (const tenant& one : tenants) least += one.gpus / gpus_per_node;
  }
  return std::max(least, static_cast<std::int64_t>(std::lround(std::min(nodes, 100'000.0)))) * gpus_per_node;
}

}  // namespace

trace read(const std::string& path) {
  csv_file file{path};
  const auto name = file.find("job");
  const auto arrival = file.find("arrival_s");
  const auto workers = file.find("workers");
  const auto duration = file.find("duration_s");
  const auto cluster = file.find_if_there("vc");
  std::int64_t all = 0;
  trace to;
  to.source = std::filesystem::path{path}.filename().string();
  while (file.next()) {
    to.jobs.push_back({.name = file.unique(name),
                       .cluster = cluster ? file.text(*cluster) : "",
                       .arrival = file.number(arrival, 0, most_seconds),
                       .workers = file.number(workers, 1, most_workers),
                       .duration = file.number(duration, 0, most_seconds)});
    all += to.jobs.back().workers;
    if (all > most_pods) file.fail(workers, fmt::format("more than {} workers in all", most_pods));
    if (const auto failure = gangsched::check(gangsched::group_spec{.name = to.jobs.back().name})) {
      file.fail(name, failure->reason);
    }
    if (cluster && to.jobs.back().cluster.empty()) file.fail(*cluster, "no name");
  }
  return to;
}

workload to_workload(const trace& from, const options& how) {
  const std::int64_t gpus = how.gpus > 0 ? how.gpus : suitable_gpus(from, how.speed);
  workload to;
  to.source = from.source;
  to.gpu_resource = gpu;
  to.gpu_milli = gpus * 1000;
  to.sizes = {"1 worker", "2 workers", "4 workers", "8 workers", "other"};
  to.spread = std::chrono::seconds{how.spread};
  for (std::int64_t left = gpus; left > 0; left -= gpus_per_node) {
    to.nodes.push_back(
        {.name = fmt::format("node-{:04}", to.nodes.size()),
         .allocatable = {
             {"cpu", 96}, {"memory", "768Gi"_q}, {"pods", 110}, {gpu, quantity{std::min(left, gpus_per_node)}}}});
  }

  gangsched::pod_spec worker;
  worker.containers.push_back({.requests = {{"cpu", 8}, {"memory", "64Gi"_q}, {gpu, 1}}});
  for (std::uint32_t size = 0; size < to.sizes.size(); ++size) {
    to.shapes.push_back({.pod = worker, .gpu_milli = 1000, .size = size});
  }
  to.tenants = tenants_of(from, static_cast<std::int64_t>(to.nodes.size()));
  const auto tenant_of = [&](const training& t) {
    const auto found = std::ranges::lower_bound(to.tenants, t.cluster, {}, &tenant::name);
    return static_cast<std::uint32_t>(found - to.tenants.begin());
  };
  for (const training& t : from.jobs) {
    to.jobs.push_back({.name = t.name,
                       .shape = size_of(t.workers),
                       .workers = static_cast<std::uint32_t>(t.workers),
                       .tenant = tenant_of(t),
                       .arrival = arrival_at(t.arrival, how.speed),
                       .lifetime = std::chrono::seconds{t.duration}});
  }
  std::ranges::stable_sort(to.jobs, {}, &job::arrival);
  for (std::size_t i = 0; i < to.jobs.size(); ++i) to.jobs[i].number = i;
  return to;
}

}  // namespace replay::philly
