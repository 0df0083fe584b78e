#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <iterator>

#include "replay/report.hpp"
#include "replay/tenants_report.hpp"
#include "replay/text.hpp"
#include "replay/timeline.hpp"
#include "report_page/page.hpp"

namespace replay {
namespace {

class json_writer {
 public:
  void open(std::string_view key = {}) {
    begin(key);
    text_ += '{';
    ++depth_;
    first_ = true;
  }
  void close() {
    --depth_;
    if (!first_) new_line();
    text_ += '}';
    first_ = false;
  }
  template <std::integral T>
  void field(std::string_view key, T value) {
    begin(key);
    text_ += std::to_string(value);
  }
  void field(std::string_view key, double value) {
    begin(key);
    fmt::format_to(std::back_inserter(text_), "{:.9g}", value);
  }
  void field(std::string_view key, std::string_view value) {
    begin(key);
    text_ += report_page::quoted(value);
  }
  /// What is JSON already.
  void written(std::string_view key, std::string_view json) {
    begin(key);
    text_ += json;
  }
  [[nodiscard]] std::string take() { return std::move(text_ += '\n'); }

 private:
  void begin(std::string_view key) {
    if (depth_ == 0) return;
    if (!first_) text_ += ',';
    first_ = false;
    new_line();
    text_ += report_page::quoted(key);
    text_ += ": ";
  }
  void new_line() {
    text_ += '\n';
    text_.append(depth_ * 2, ' ');
  }

  std::string text_;
  std::size_t depth_ = 0;
  bool first_ = true;
};

void write(json_writer& out, std::string_view key, const fates& of) {
  out.open(key);
  out.field("arrived", of.arrived);
  out.field("placed", of.placed());
  out.field("finished", of.finished);
  out.field("running", of.running);
  out.field("holding", of.holding);
  out.field("waiting", of.waiting);
  out.field("left", of.left);
  out.close();
}

void write(json_writer& out, std::string_view key, const std::map<std::string, rejection>& reasons) {
  out.open(key);
  for (const auto& [reason, why] : reasons) out.field(reason, why.count);
  out.close();
}

void write_times(json_writer& out, std::string_view key, const std::vector<double>& sorted) {
  const wait_figures w = figures_of(sorted);
  out.open(key);
  out.field("count", w.count);
  out.field("mean", w.mean);
  out.field("p50", w.p50);
  out.field("p90", w.p90);
  out.field("p99", w.p99);
  out.field("max", w.most);
  out.close();
}

/// Of sizes that have some.
void write_by_size(json_writer& out, std::string_view key, const workload& work,
                   const std::vector<std::vector<double>>& values) {
  out.open(key);
  for (std::size_t size = 0; size < work.sizes.size(); ++size) {
    if (!values[size].empty()) write_times(out, work.sizes[size], values[size]);
  }
  out.close();
}

void write(json_writer& out, const workload& work, const outcome& of) {
  write(out, "pods", of.pods);
  write(out, "jobs", of.jobs);
  write(out, "gangs", of.multi);
  out.open("partial");
  out.field("ever", of.partial.ever);
  out.field("at_once", of.partial.at_once);
  out.field("at_end", of.partial.at_end);
  out.field("idle_gpu_hours", of.partial.idle_gpu_hours);
  out.field("deadlock_seconds", seconds_of(of.partial.deadlock));
  out.field("longest_deadlock_seconds", seconds_of(of.partial.longest_deadlock));
  out.close();
  const load mean = load_between(of, of.first_arrival, of.last_arrival);
  out.open("load");  // from the first arrival to the last
  out.field("computing", mean.computing);
  out.field("idle", mean.idle);
  out.field("peak", peak_load(of));
  out.close();
  write_by_size(out, "waiting_seconds", work, of.waits);
  write_by_size(out, "completion_seconds", work, of.completion);
  write_by_size(out, "slowdown", work, of.slowdown);
  out.field("rejected_attempts", of.rejected_attempts);
  write(out, "first_rejections", of.rejections);
  write(out, "still_waiting", of.still_waiting);
  out.field("end_seconds", seconds_of(of.end - of.first_arrival));
  out.open("speed");
  out.field("calls", of.calls.count());
  out.field("decisions", of.decisions);
  out.field("scheduling_seconds", of.scheduling_seconds);
  out.field("decisions_per_second",
            of.scheduling_seconds > 0 ? static_cast<double>(of.decisions) / of.scheduling_seconds : 0.0);
  out.field("call_p50_ns", of.calls.percentile(0.50));
  out.field("call_p99_ns", of.calls.percentile(0.99));
  out.field("wall_seconds", of.wall_seconds);
  out.close();
  if (of.times) out.written("timeline", timeline_json(work, of));
}

void write(json_writer& out, std::string_view key, const workload& work, const std::vector<tenant_outcome>& tenants) {
  out.open(key);
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const tenant_outcome& one = tenants[i];
    out.open(work.tenants[i].name);
    out.field("gpus", work.tenants[i].gpus);
    out.field("arrived", one.arrived);
    out.field("evicted", one.preempted);
    write_times(out, "waiting_seconds", one.waits);
    write_times(out, "completion_seconds", one.completion);
    write_times(out, "slowdown", one.slowdown);
    out.field("gpu_seconds", one.gpu_seconds);
    out.field("share", one.share);
    out.close();
  }
  out.close();
}

}  // namespace

std::string json_report(const tenants_chapter& of) {
  json_writer out;
  out.open();
  out.field("source", of.of.work.source);
  out.field("nodes", of.of.work.nodes.size());
  out.field("gpus", of.of.work.gpu_milli / 1000);
  out.field("seed", of.of.seed);
  for (std::size_t policy = 0; policy < of.of.outcomes.size(); ++policy) {
    const outcome& one = of.of.outcomes[policy];
    out.open(policy_name(one));
    std::vector<double> shares;
    for (const tenant_outcome& each : one.tenants) shares.push_back(each.share);
    out.field("jain_index", jain_index(shares));
    const sharing_anomaly anomaly = anomaly_of(one.tenants, of.own[policy]);
    out.field("tenants_worse_than_alone", anomaly.tenants);
    out.field("most_seconds_worse", anomaly.most_seconds);
    write(out, "tenants", of.of.work, one.tenants);
    write(out, "alone", of.of.work, of.own[policy]);
    write(out, of.of.work, one);
    out.close();
  }
  write(out, "alone", of.of.work, of.alone);
  out.close();
  return out.take();
}

std::string page_runs(const std::vector<chapter>& all) {
  std::string runs;
  for (const chapter& one : all) {
    const bool by_policy = std::ranges::any_of(one.outcomes, [](const outcome& o) { return !o.queue_policy.empty(); });
    for (const outcome& o : one.outcomes) {
      const std::string_view how = by_policy ? policy_name(o) : name_of(o.gangs);
      json_writer result;
      result.open();
      write(result, one.work, o);
      result.close();
      const std::string name = one.outcomes.size() > 1 ? fmt::format("{}, {}", one.name, how) : one.name;
      runs += fmt::format("{}{{\"name\": {}, \"result\": {}}}", runs.empty() ? "" : ",\n", report_page::quoted(name),
                          result.take());
    }
  }
  return '[' + runs + ']';
}

std::string json_report(const std::vector<chapter>& all) {
  json_writer out;
  out.open();
  for (const chapter& one : all) {
    out.open(one.name);
    out.field("source", one.work.source);
    out.field("nodes", one.work.nodes.size());
    out.field("gpus", one.work.gpu_milli / 1000);
    out.field("profile", one.profile == profile_choice::pack ? "pack" : "spread");
    out.field("seed", one.seed);
    for (const outcome& o : one.outcomes) {
      std::string key{name_of(o.gangs)};
      for (char& c : key) c = c == ' ' ? '_' : c;
      out.open(one.outcomes.size() > 1 ? key : "result");
      write(out, one.work, o);
      out.close();
    }
    out.close();
  }
  out.field("peak_memory_mib", peak_memory_mib());
  out.close();
  return out.take();
}

}  // namespace replay
