#include "replay/tenants_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "replay/text.hpp"

namespace replay {
namespace {

class table {
 public:
  explicit table(const tenants_chapter& of) : of_(of) {}

  /// A row for each tenant, with a figure for each policy and for the cluster of its own.
  void write(std::string_view what, const std::function<std::string(const tenant_outcome&)>& figure) {
    text_ += fmt::format("  {:<26}{:>10}", what, "GPUs");
    for (const outcome& one : of_.of.outcomes) text_ += fmt::format("{:>15}", policy_name(one));
    text_ += fmt::format("{:>15}\n", "alone");
    for (std::size_t tenant = 0; tenant < of_.alone.size(); ++tenant) {
      text_ += fmt::format("    {:<24}{:>10}", of_.of.work.tenants[tenant].name,
                           grouped(static_cast<std::uint64_t>(of_.of.work.tenants[tenant].gpus)));
      for (const outcome& one : of_.of.outcomes) text_ += fmt::format("{:>15}", figure(one.tenants[tenant]));
      text_ += fmt::format("{:>15}\n", figure(of_.alone[tenant]));
    }
  }
  /// A figure for each policy.
  void write_line(std::string_view what, const std::function<std::string(const outcome&)>& figure) {
    text_ += fmt::format("  {:<36}", what);
    for (const outcome& one : of_.of.outcomes) text_ += fmt::format("{:>15}", figure(one));
    text_ += '\n';
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  const tenants_chapter& of_;
  std::string text_;
};

std::uint64_t evictions(const outcome& of) {
  std::uint64_t all = 0;
  for (const tenant_outcome& one : of.tenants) all += one.preempted;
  return all;
}

}  // namespace

workload alone(const workload& all, std::uint32_t tenant) {
  workload to = all;
  const std::int64_t gpus = all.tenants[tenant].gpus;
  const auto nodes =
      static_cast<std::size_t>(gpus * 1000 * static_cast<std::int64_t>(all.nodes.size()) / all.gpu_milli);
  to.nodes.resize(std::clamp<std::size_t>(nodes, 1, all.nodes.size()));
  to.gpu_milli = gpus * 1000;
  for (std::uint32_t other = 0; other < to.tenants.size(); ++other)
    if (other != tenant) to.tenants[other].gpus = 0;
  std::erase_if(to.jobs, [&](const job& one) { return one.tenant != tenant; });
  return to;
}

std::string text_report(const tenants_chapter& of) {
  const chapter& what = of.of;
  table out{of};
  std::string head = fmt::format("{} by tenant: {}\n  {} nodes with {} GPUs, {} jobs of {} tenants; seed {}\n",
                                 what.name, what.work.source, grouped(what.work.nodes.size()),
                                 grouped(static_cast<std::uint64_t>(what.work.gpu_milli / 1000)),
                                 grouped(what.work.jobs.size()), what.work.tenants.size(), what.seed);
  const auto of_sorted = [](const std::vector<double>& sorted, double wait_figures::*figure) {
    return sorted.empty() ? "-" : time_span(figures_of(sorted).*figure);
  };
  const std::pair<const char*, double wait_figures::*> figures[] = {{"mean", &wait_figures::mean},
                                                                    {"p50", &wait_figures::p50},
                                                                    {"p90", &wait_figures::p90},
                                                                    {"p99", &wait_figures::p99},
                                                                    {"max", &wait_figures::most}};
  for (const auto& [name, figure] : figures)
    out.write(fmt::format("waiting time, {}", name),
              [&](const tenant_outcome& t) { return of_sorted(t.waits, figure); });
  out.write("completion time, mean",
            [&](const tenant_outcome& t) { return of_sorted(t.completion, &wait_figures::mean); });
  out.write("slowdown, p90", [](const tenant_outcome& t) {
    return t.slowdown.empty() ? "-" : fmt::format("{:.2f}", figures_of(t.slowdown).p90);
  });
  out.write("usage against entitlement", [](const tenant_outcome& t) { return percent(t.share); });
  out.write_line("Jain's index of usage/entitlement", [](const outcome& o) {
    std::vector<double> shares;
    for (const tenant_outcome& one : o.tenants) shares.push_back(one.share);
    return fmt::format("{:.3f}", jain_index(shares));
  });
  const auto anomaly = [&](const outcome& o) {
    return anomaly_of(o.tenants, of.own[static_cast<std::size_t>(&o - what.outcomes.data())]);
  };
  out.write_line("tenants that wait longer than alone",
                 [&](const outcome& o) { return std::to_string(anomaly(o).tenants); });
  out.write_line("  the one that loses most, on average",
                 [&](const outcome& o) { return time_span(anomaly(o).most_seconds); });
  out.write_line("jobs evicted", [](const outcome& o) { return grouped(evictions(o)); });
  out.write_line("GPUs at work while jobs arrive",
                 [](const outcome& o) { return percent(load_between(o, o.first_arrival, o.last_arrival).computing); });
  out.write_line("the replay took", [](const outcome& o) { return fmt::format("{:.2f} s", o.wall_seconds); });
  return head + out.take();
}

}  // namespace replay
