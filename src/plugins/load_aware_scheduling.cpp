#include "gangsched/plugins/load_aware_scheduling.hpp"

#include <algorithm>
#include <cmath>

#include "gangsched/core/is_among.hpp"
#include "gangsched/core/percent.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/model/service_class.hpp"
#include "gangsched/model/spec.hpp"
#include "gangsched/policies/pod_bounds.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// Go's: "1h5m30s", to the second.
GANGSCHED_INLINE std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t sum = 0, number = 0;
  bool digits = false;
  for (const char one : text) {
    if (one >= '0' && one <= '9' && number < 1'000'000'000) {
      number = 10 * number + (one - '0'), digits = true;
      continue;
    }
    const std::int64_t unit = one == 'h' ? 3600 : one == 'm' ? 60 : one == 's' ? 1 : 0;
    if (unit == 0 || !digits) return std::nullopt;
    sum = saturating_add(sum, number * unit), number = 0, digits = false;
  }
  if (digits || text.empty()) return std::nullopt;
  return sum;
}

/// How the arguments of load_aware_scheduling are read.
struct load_aware_reader {
  using pair = load_aware_scheduling::pair;
  static constexpr std::int64_t longest = 1'000'000'000;
  argument_reader read{load_aware_scheduling::name};

  bool amounts(const argument& value, const std::string& path, std::int64_t least, std::int64_t most, pair& out) {
    return read.fields(value, path, [&](std::string_view resource, const argument& v, const std::string& at) {
      if (resource != "cpu" && resource != "memory") return read.fail(errc::unknown, at, "is not cpu or memory");
      return read.number(v, at, least, most, out[resource == "cpu" ? 0 : 1]);
    });
  }
  /// What replaces all that is there if it names something.
  bool those_named(const argument& value, const std::string& path, pair& out) {
    pair named{-1, -1};
    if (!amounts(value, path, 0, 100, named)) return false;
    if (named != pair{-1, -1}) out = {std::max<std::int64_t>(named[0], 0), std::max<std::int64_t>(named[1], 0)};
    return true;
  }
  bool resources(const argument& value, const std::string& path) {
    return read.items(value, path, [&](const argument& v, const std::string& at) {
      std::string resource;
      return read.word<std::string>(v, at, {{"cpu", "cpu"}, {"memory", "memory"}}, resource);
    });
  }
  bool seconds(const argument& value, const std::string& path, std::int64_t& out) {
    if (value.if_int() != nullptr) return read.number(value, path, 0, longest, out);
    std::string text;
    if (!read.text(value, path, text)) return false;
    const auto made = seconds_of(text);
    if (!made || *made > longest)
      return read.fail(errc::malformed, path, '"' + text + "\" is not a duration like 5m0s");
    out = *made;
    return true;
  }
  bool type(const argument& value, const std::string& path, std::string& out) {
    return read.word<std::string>(
        value, path, {{"avg", "avg"}, {"p50", "p50"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}}, out);
  }
};

}  // namespace detail

GANGSCHED_INLINE std::optional<error> load_aware_scheduling::check(const options& chosen) {
  constexpr std::int64_t longest = detail::load_aware_reader::longest;
  const struct {
    const char* field;
    std::int64_t least, most;
    pair are;
    const char* why;
  } all[] = {
      {"factors", 1, 1000, chosen.factors, "is not in 1 to 1000"},
      {"thresholds", 0, 100, chosen.thresholds, "is not in 0 to 100"},
      {"prod_thresholds", 0, 100, chosen.prod_thresholds, "is not in 0 to 100"},
      {"percentile_thresholds", 0, 100, chosen.percentile_thresholds, "is not in 0 to 100"},
      {"weights", 0, 100, chosen.weights, "is not in 0 to 100"},
      {"dominant_weight", 0, 100, {chosen.dominant_weight}, "is not in 0 to 100"},
      {"expiration_seconds", 0, longest, {chosen.expiration_seconds}, "is not in 0 to 10^9"},
      {"settling_after_scheduled", 0, longest, {chosen.settling_after_scheduled}, "is not in 0 to 10^9"},
      {"settling_after_initialized", 0, longest, {chosen.settling_after_initialized}, "is not in 0 to 10^9"},
      {"filtered.seconds", 0, longest, {chosen.filtered.seconds}, "is not in 0 to 10^9"},
      {"scored.seconds", 0, longest, {chosen.scored.seconds}, "is not in 0 to 10^9"},
  };
  const auto wrong = [](errc code, const char* field, const char* why) {
    return error{code, "plugin LoadAwareScheduling", field, why};
  };
  for (const auto& one : all) {
    const auto [low, high] = std::minmax(one.are[0], one.are[1]);
    if (low < one.least || high > one.most) return wrong(errc::out_of_range, one.field, one.why);
  }
  const auto is_type = [](const std::string& type) {
    return is_among(type, std::array{"", "avg", "p50", "p90", "p95", "p99"});
  };
  if (!is_type(chosen.filtered.type)) return wrong(errc::malformed, "filtered.type", "is no kind of percentile");
  if (!is_type(chosen.scored.type)) return wrong(errc::malformed, "scored.type", "is no kind of percentile");
  if (chosen.by_percentile && chosen.filtered.type.empty())
    return wrong(errc::malformed, "filtered.type", "is missing beside by_percentile");
  return std::nullopt;
}

GANGSCHED_INLINE result<load_aware_scheduling> load_aware_scheduling::from(const argument& args) {
  constexpr pair unsaid{-1, -1};
  options made;
  made.weights = made.percentile_thresholds = unsaid;
  detail::load_aware_reader with;
  const auto read_aggregated = [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "usageThresholds") return with.those_named(value, path, made.percentile_thresholds);
    if (key == "usageAggregationType") return with.type(value, path, made.filtered.type);
    if (key == "usageAggregatedDuration") return with.seconds(value, path, made.filtered.seconds);
    if (key == "scoreAggregationType") return with.type(value, path, made.scored.type);
    if (key == "scoreAggregatedDuration") return with.seconds(value, path, made.scored.seconds);
    return with.read.unknown(path);
  };
  const bool fine = with.read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "estimatedScalingFactors") return with.amounts(value, path, 1, 1000, made.factors);
    if (key == "usageThresholds") return with.those_named(value, path, made.thresholds);
    if (key == "prodUsageThresholds") return with.those_named(value, path, made.prod_thresholds);
    if (key == "aggregated") return with.read.fields(value, path, read_aggregated);
    if (key == "resourceWeights") return with.those_named(value, path, made.weights);
    if (key == "dominantResourceWeight") return with.read.number(value, path, 0, 100, made.dominant_weight);
    if (key == "nodeMetricExpirationSeconds") return with.seconds(value, path, made.expiration_seconds);
    if (key == "filterExpiredNodeMetrics") return with.read.flag(value, path, made.filter_expired);
    if (key == "enableScheduleWhenNodeMetricsExpired") return with.read.flag(value, path, made.allow_expired);
    if (key == "scoreAccordingProdUsage") return with.read.flag(value, path, made.score_prod);
    if (key == "prodUsageIncludeSys") return with.read.flag(value, path, made.prod_with_system);
    if (key == "estimatedSecondsAfterPodScheduled") return with.seconds(value, path, made.settling_after_scheduled);
    if (key == "estimatedSecondsAfterInitialized") return with.seconds(value, path, made.settling_after_initialized);
    if (key == "allowCustomizeEstimation") return with.read.flag(value, path, made.customized);
    if (key == "supportedResources") return with.resources(value, path);
    std::string only;
    if (key == "estimator") return with.read.word<std::string>(value, path, {{"", ""}, {"defaultEstimator", ""}}, only);
    return with.read.unknown(path);
  });
  if (!fine) return std::move(with.read).failure();
  if (made.weights == unsaid) made.weights = made.dominant_weight == 0 ? pair{1, 1} : pair{};
  made.by_percentile = made.percentile_thresholds != unsaid;
  if (!made.by_percentile) made.percentile_thresholds = {};
  if (made.by_percentile && made.filtered.type.empty()) {
    return error{errc::malformed, "plugin LoadAwareScheduling", "args.aggregated.usageAggregationType",
                 "is missing beside usageThresholds"};
  }
  return load_aware_scheduling{std::move(made)};
}

GANGSCHED_INLINE void load_aware_scheduling::attach(column_maker& columns) {
  const auto nodes = [&](std::string_view cpu, std::string_view memory) -> each<node_column> {
    return {columns.node_column_by_host(cpu), columns.node_column_by_host(memory)};
  };
  const auto percentiles = [&](percentile_columns& of, const aggregate& how) {
    if (how.type.empty()) return;
    const std::string tail = how.type + (how.seconds == 0 ? "" : "." + std::to_string(how.seconds));
    of = {nodes("load.cpu." + tail, "load.memory." + tail), true};
  };
  measured_ = columns.node_column_by_host(node_load::measured);
  age_ = columns.node_column_by_host(node_load::age);
  interval_ = columns.node_column_by_host(node_load::interval);
  used_ = nodes(node_load::cpu_used, node_load::memory_used);
  system_ = nodes(node_load::cpu_system, node_load::memory_system);
  raw_ = nodes(node_load::cpu_raw, node_load::memory_raw);
  thresholds_ = nodes(node_load::cpu_threshold, node_load::memory_threshold);
  prod_thresholds_ = nodes(node_load::cpu_prod_threshold, node_load::memory_prod_threshold);
  percentile_thresholds_ = nodes(node_load::cpu_percentile_threshold, node_load::memory_percentile_threshold);
  percentiles(filtered_, options_.filtered);
  percentiles(scored_, options_.scored);
  own_ = {nodes(node_load::cpu_percentile, node_load::memory_percentile), true};
  pods_ = {columns.pod_column_by_host(node_load::cpu_used), columns.pod_column_by_host(node_load::memory_used)};
  scheduled_ = columns.pod_column_by_host(node_load::scheduled);
  initialized_ = columns.pod_column_by_host(node_load::initialized);
  other_class_ = columns.pod_column_by_host(node_load::other_class);
}

GANGSCHED_INLINE load_aware_scheduling::pair load_aware_scheduling::estimate(const pod_view& pod) const {
  constexpr pair of_nothing{250, 200 << 20};
  const priority_band band = pod.spec().band;
  if (band == priority_band::free)
    return {};  // (Koordinator knows no resources of theirs to estimate by, nor a default)
  const band_resources borrowed = resources_of(band);
  const std::array<std::string_view, 2> names = borrowed.cpu.empty() ? std::array<std::string_view, 2>{"cpu", "memory"}
                                                                     : std::array{borrowed.cpu, borrowed.memory};
  pair made{}, factors = options_.factors;
  if (const load_estimate* own = options_.customized ? pod.spec().load.get() : nullptr; own != nullptr)
    factors = {own->cpu_percent.value_or(factors[0]), own->memory_percent.value_or(factors[1])};
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto kind = pod.find_kind(names[i]);
    const std::int64_t limit = kind ? limit_of(pod.spec(), *kind) : 0;
    const std::int64_t most = std::max(limit, kind ? pod.request(*kind) : 0);
    made[i] = saturating_cast(std::round(static_cast<double>(most) * static_cast<double>(factors[i]) / 100));
    if (limit != 0) made[i] = std::min(made[i], limit);
    if (most == 0) made[i] = band == priority_band::mid ? 0 : of_nothing[i];
  }
  return made;
}

GANGSCHED_INLINE bool load_aware_scheduling::expired(room node) const {
  return options_.expiration_seconds > 0 && node_load::count(node.own(age_)).value_or(0) >= options_.expiration_seconds;
}

GANGSCHED_INLINE bool load_aware_scheduling::settling(const pod_info& pod, room node) const {
  const auto seconds = [](std::int64_t count) {
    constexpr std::int64_t longest = std::chrono::duration_cast<std::chrono::seconds>(instant::max()).count();
    return instant{std::chrono::seconds{std::clamp(count, -longest, longest)}};
  };
  const instant measured = node_load::when(node.own(measured_)).value_or(instant{});
  auto scheduled = node_load::when(pod.own(scheduled_));
  if (!scheduled) scheduled = pod.start_time();
  if (!scheduled || *scheduled > later_by(measured, -seconds(node_load::count(node.own(interval_)).value_or(0))))
    return true;
  instant after_scheduled = seconds(options_.settling_after_scheduled),
          after_initialized = seconds(options_.settling_after_initialized);
  if (const load_estimate* own = options_.customized ? pod.spec().load.get() : nullptr; own != nullptr) {
    after_scheduled = own->after_scheduled.value_or(after_scheduled);
    after_initialized = own->after_initialized.value_or(after_initialized);
  }
  const auto initialized = node_load::when(pod.own(initialized_));
  if (initialized && after_initialized > instant{0}) return later_by(*initialized, after_initialized) > measured;
  return after_scheduled > instant{0} && later_by(*scheduled, after_scheduled) > measured;
}

GANGSCHED_INLINE load_aware_scheduling::pair load_aware_scheduling::used(room node, by what,
                                                                         const percentile_columns& percentile,
                                                                         bool of_period) const {
  const auto words = [&](const each<node_column>& of) {
    return pair{node_load::count(node.own(of[0])).value_or(0), node_load::count(node.own(of[1])).value_or(0)};
  };
  const auto any_of = [&](const each<node_column>& of) { return node.own(of[0]) != 0 || node.own(of[1]) != 0; };
  pair sum{};
  bool estimates_alone = false;
  if (what == by::prod) {
    if (options_.prod_with_system) sum = words(system_);
  } else if (what == by::percentile && any_of(percentile.words)) {
    sum = words(percentile.words);
  } else if (what == by::percentile && of_period) {
    estimates_alone = true;
  } else {
    sum = words(used_);
  }
  node.each_pod([&](const pod_info& pod) {
    if (pod.spec().reserves != nullptr) return;
    if (what == by::prod && pod.spec().band != priority_band::prod) return;
    const bool measured = (pod.own(pods_[0]) != 0 || pod.own(pods_[1]) != 0) && !estimates_alone &&
                          !(what == by::prod && pod.own(other_class_) != 0);
    const bool estimated = !measured || settling(pod, node);
    const pair estimates = estimated ? estimate(pod) : pair{};
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const std::int64_t there = measured ? node_load::count(pod.own(pods_[i])).value_or(0) : 0;
      if (what == by::prod) sum[i] = saturating_add(sum[i], there);
      sum[i] = saturating_add(sum[i], std::max<std::int64_t>(estimates[i] - there, 0));
    }
  });
  return sum;
}

GANGSCHED_INLINE load_aware_scheduling::pair load_aware_scheduling::there(room node) const {
  return {node_load::count(node.own(raw_[0])).value_or(node.allocatable(kinds::cpu)),
          node_load::count(node.own(raw_[1])).value_or(node.allocatable(kinds::memory))};
}

GANGSCHED_INLINE load_aware_scheduling::pair load_aware_scheduling::thresholds(const pod_view& pod, room node, by& what,
                                                                               bool& own) const {
  const auto said = [&](pair of, const each<node_column>& columns) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] = node_load::count(node.own(columns[i])).value_or(of[i]);
    return of;
  };
  if (pod.spec().band == priority_band::prod) {
    what = by::prod;
    if (const pair prod = said(options_.prod_thresholds, prod_thresholds_); prod != pair{}) return prod;
  }
  own = node.own(percentile_thresholds_[0]) != 0 || node.own(percentile_thresholds_[1]) != 0;
  what = own || options_.by_percentile || options_.percentile_thresholds != pair{} ? by::percentile : by::use;
  if (own) return said({}, percentile_thresholds_);
  return what == by::percentile ? options_.percentile_thresholds : said(options_.thresholds, thresholds_);
}

GANGSCHED_INLINE status load_aware_scheduling::filter(const pod_view& pod, room node) const {
  if (pod.spec().of_daemon_set || node.own(measured_) == 0) return status::success();
  by what = by::use;
  bool own = false;
  const pair thresholds = this->thresholds(pod, node, what, own);
  if (thresholds == pair{}) return status::success();
  if (options_.filter_expired && expired(node)) {
    return options_.allow_expired ? status::success() : status::unschedulable("node(s) nodeMetric expired");
  }
  if (node.own(used_[0]) == 0 && node.own(used_[1]) == 0) return status::success();
  constexpr const char* reasons[2][2] = {
      {"node(s) cpu usage exceed threshold", "node(s) memory usage exceed threshold"},
      {"node(s) cpu aggregated usage exceed threshold", "node(s) memory aggregated usage exceed threshold"}};
  // (Of a node's own percentile that was not measured the host knows whether it stands for what is used.)
  const pair sum = own ? used(node, what, own_, true) : used(node, what, filtered_, options_.filtered.seconds != 0);
  const pair all = there(node), more = estimate(pod);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (thresholds[i] == 0 || all[i] == 0) continue;
    const double share = static_cast<double>(saturating_add(sum[i], more[i])) / static_cast<double>(all[i]) * 100;
    if (std::round(share) > static_cast<double>(thresholds[i]))
      return status::unschedulable(reasons[what == by::percentile ? 1 : 0][i]);
  }
  return status::success();
}

GANGSCHED_INLINE std::int64_t load_aware_scheduling::score(const pod_view& pod, room node) const {
  if (node.own(measured_) == 0 || expired(node) || (node.own(used_[0]) == 0 && node.own(used_[1]) == 0)) return 0;
  const bool is_prod = pod.spec().band == priority_band::prod;
  const by what = options_.score_prod && is_prod ? by::prod : scored_.asked ? by::percentile : by::use;
  const pair sum = used(node, what, scored_, options_.scored.seconds != 0), all = there(node), more = estimate(pod);
  std::int64_t total = 0, weights = options_.dominant_weight, least = max_node_score;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::int64_t left = all[i] - saturating_add(sum[i], more[i]);
    const std::int64_t score = all[i] <= 0 || left < 0 ? 0 : percent(left, all[i]);
    total += options_.weights[i] * score;
    weights += options_.weights[i];
    least = std::min(least, score);
  }
  total += options_.dominant_weight * least;
  return weights == 0 ? 0 : total / weights;
}

}  // namespace gangsched::inline GANGSCHED_ABI
