#include "replay/report.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "replay/chart.hpp"
#include "replay/text.hpp"

namespace replay {
namespace {

constexpr std::size_t most_reasons = 6;

std::uint64_t whole_gpus(std::int64_t milli) { return static_cast<std::uint64_t>(milli / 1000); }

class writer {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void block(std::string_view text) { text_ += text; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_fates(writer& out, std::string_view what, const fates& of) {
  out.line("  {:<6} {} arrived: {} placed, {} waiting, {} left before they were placed", what, grouped(of.arrived),
           grouped(of.placed()), grouped(of.waiting), grouped(of.left));
  out.line("         of those placed, {} finished and {} run on", grouped(of.finished), grouped(of.running));
}

void write_reasons(writer& out, const std::map<std::string, rejection>& all) {
  std::vector<std::pair<std::string, rejection>> by_count{all.begin(), all.end()};
  std::ranges::stable_sort(by_count, std::greater{}, [](const auto& entry) { return entry.second.count; });
  for (std::size_t i = 0; i < by_count.size() && i < most_reasons; ++i) {
    out.line("    {:>7}  {}", grouped(by_count[i].second.count), by_count[i].second.example);
  }
  if (by_count.size() > most_reasons) {
    std::uint64_t rest = 0;
    for (std::size_t i = most_reasons; i < by_count.size(); ++i) rest += by_count[i].second.count;
    out.line("    {:>7}  for {} other sets of reasons", grouped(rest), by_count.size() - most_reasons);
  }
}

/// Why pods were rejected, and why the rest still waits.
void write_why(writer& out, const outcome& of) {
  std::uint64_t pods = 0;
  for (const auto& [reasons, why] : of.rejections) pods += why.count;
  out.line("  {} attempts were rejected, of {} pods; first rejections by reasons, each with its latest line:",
           grouped(of.rejected_attempts), grouped(pods));
  write_reasons(out, of.rejections);
  if (of.still_waiting.empty()) return;
  out.line("  pods that wait at the end, by reasons:");
  write_reasons(out, of.still_waiting);
}

using by_size = std::vector<std::vector<double>>;

/// Figures of each size that has some, with a line for each outcome.
void write_by_size(writer& out, const chapter& of, std::string_view what, std::string_view count,
                   by_size outcome::*values, const std::function<std::string(double)>& text) {
  const auto any = [&](std::size_t size) {
    return std::ranges::any_of(of.outcomes, [&](const outcome& one) { return !(one.*values)[size].empty(); });
  };
  bool headed = false;
  for (std::size_t size = 0; size < of.work.sizes.size(); ++size) {
    if (!any(size)) continue;
    if (!std::exchange(headed, true)) {
      out.line("");
      out.line("  {:<28}{:>12}{:>11}{:>11}{:>11}{:>11}{:>11}", what, count, "mean", "p50", "p90", "p99", "max");
    }
    std::string row = of.work.sizes[size];
    for (const outcome& one : of.outcomes) {
      const wait_figures w = figures_of((one.*values)[size]);
      const auto cell = [&](double value) { return w.count == 0 ? "-" : text(value); };
      out.line("    {:<14}{:<12}{:>10}{:>11}{:>11}{:>11}{:>11}{:>11}", row,
               of.outcomes.size() > 1 ? name_of(one.gangs) : "", grouped(w.count), cell(w.mean), cell(w.p50),
               cell(w.p90), cell(w.p99), cell(w.most));
      row.clear();
    }
  }
}

void write_times(writer& out, const chapter& of) {
  const auto span = [](double seconds) { return time_span(seconds); };
  write_by_size(out, of, "waiting time", "started", &outcome::waits, span);
  write_by_size(out, of, "completion time", "finished", &outcome::completion, span);
  write_by_size(out, of, "slowdown: that / own duration", "finished", &outcome::slowdown,
                [](double times) { return fmt::format("{:.2f}", times); });
}

/// A line of figures, one for each outcome.
void write_row(writer& out, const chapter& of, std::string_view what,
               const std::function<std::string(const outcome&)>& figure) {
  std::string line = fmt::format("  {:<42}", what);
  for (const outcome& one : of.outcomes) line += fmt::format("{:>14}", figure(one));
  out.line("{}", line);
}

void write_speed(writer& out, const chapter& of) {
  write_row(out, of, "speed: decisions", [](const outcome& o) { return grouped(o.decisions); });
  write_row(out, of, "  decisions per second of schedule_cycle", [](const outcome& o) {
    return o.scheduling_seconds > 0
               ? grouped(static_cast<std::uint64_t>(static_cast<double>(o.decisions) / o.scheduling_seconds))
               : "-";
  });
  write_row(out, of, "  calls of schedule_cycle", [](const outcome& o) { return grouped(o.calls.count()); });
  write_row(out, of, "  a call, p50", [](const outcome& o) { return short_time(o.calls.percentile(0.50)); });
  write_row(out, of, "  a call, p99", [](const outcome& o) { return short_time(o.calls.percentile(0.99)); });
  write_row(out, of, "  the replay took", [](const outcome& o) { return fmt::format("{:.2f} s", o.wall_seconds); });
}

void write_chart(writer& out, const chapter& of, const outcome& one) {
  // The same time for all outcomes; of the end, when nobody arrives any more, a part will do.
  instant until{};
  for (const outcome& each : of.outcomes) until = std::max(until, each.end);
  until = std::min(until, one.last_arrival + (one.last_arrival - one.first_arrival) / 4);
  const load mean = load_between(one, one.first_arrival, one.last_arrival);
  std::string mode, idle;
  if (of.outcomes.size() > 1) mode = fmt::format(", {}", name_of(one.gangs));
  if (mean.idle > 0) idle = fmt::format(" at work (#), {} held idle (.)", percent(mean.idle));
  out.line("");
  out.line("  GPUs in use, of {}{}: {}{} on average while pods arrive, {} at most", grouped(whole_gpus(one.gpu_milli)),
           mode, percent(mean.computing), idle, percent(peak_load(one)));
  out.block(chart(one, until));
}

void write_gangs(writer& out, const chapter& of) {
  const auto row = [&](std::string_view what, const std::function<std::string(const outcome&)>& figure) {
    write_row(out, of, what, figure);
  };
  const auto hours = [](instant length) { return time_span(length); };
  row("", [](const outcome& o) { return std::string{name_of(o.gangs)}; });
  row("gangs (of 2 workers or more)", [](const outcome& o) { return grouped(o.multi.arrived); });
  row("  finished", [](const outcome& o) { return grouped(o.multi.finished); });
  row("  running at the end", [](const outcome& o) { return grouped(o.multi.running); });
  row("  waiting at the end, nothing placed", [](const outcome& o) { return grouped(o.multi.waiting); });
  row("  partially placed at the end", [](const outcome& o) { return grouped(o.multi.holding); });
  row("  partially placed for some time", [](const outcome& o) { return grouped(o.partial.ever); });
  row("  partially placed, most at once", [](const outcome& o) { return grouped(o.partial.at_once); });
  row("GPU-hours held idle by incomplete gangs",
      [](const outcome& o) { return grouped(static_cast<std::uint64_t>(o.partial.idle_gpu_hours + 0.5)); });
  row("deadlock: gangs blocked each other for", [&](const outcome& o) { return hours(o.partial.deadlock); });
  row("  longest time", [&](const outcome& o) { return hours(o.partial.longest_deadlock); });
  row("other jobs", [](const outcome& o) { return grouped(o.jobs.arrived - o.multi.arrived); });
  row("  finished", [](const outcome& o) { return grouped(o.jobs.finished - o.multi.finished); });
  row("  running at the end", [](const outcome& o) { return grouped(o.jobs.running - o.multi.running); });
  row("  waiting at the end", [](const outcome& o) { return grouped(o.jobs.waiting - o.multi.waiting); });
  row("the last event came after", [&](const outcome& o) { return hours(o.end - o.first_arrival); });
}

}  // namespace

std::string_view name_of(handling gangs) {
  switch (gangs) {
    case handling::group_cycle: return "group cycle";
    case handling::permit: return "permit";
    case handling::pod_by_pod: return "pod by pod";
  }
  return "";
}

double peak_memory_mib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

std::string text_report(const chapter& of) {
  writer out;
  const outcome& first = of.outcomes.front();
  std::size_t pods = 0;
  for (const job& j : of.work.jobs) pods += j.workers;
  out.line("{}: {}", of.name, of.work.source);
  out.line("  {} nodes with {} GPUs; {}{} pods arriving within {}; profile {}; seed {}", grouped(of.work.nodes.size()),
           grouped(whole_gpus(of.work.gpu_milli)),
           pods == of.work.jobs.size() ? "" : grouped(of.work.jobs.size()) + " jobs with ", grouped(pods),
           time_span(first.last_arrival - first.first_arrival),
           of.profile == profile_choice::pack ? "pack (MostAllocated)" : "spread (LeastAllocated)", of.seed);
  if (of.work.spread > instant{}) {
    out.line("  a job's workers arrive within {} of each other and start together", time_span(of.work.spread));
  }
  out.line("");
  if (of.outcomes.size() > 1) {
    write_gangs(out, of);
  } else {
    write_fates(out, "pods", first.pods);
  }
  write_chart(out, of, first);
  if (of.outcomes.size() > 1) write_chart(out, of, of.outcomes.back());
  write_times(out, of);
  out.line("");
  for (const outcome& one : of.outcomes) {
    if (of.outcomes.size() > 1) out.line("  {}", name_of(one.gangs));
    write_why(out, one);
  }
  out.line("");
  write_speed(out, of);
  return out.take();
}

}  // namespace replay
