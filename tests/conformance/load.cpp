#include <fmt/format.h>

#include <cmath>
#include <map>

#include "conformance/cases.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/model/node_load.hpp"
#include "gangsched/plugins/load_aware_scheduling.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"

// Scores of scheduler-plugins and Koordinator by nodes' load and size: the plugin by its name and its arguments, on a cluster whose columns
// are fed as a host would, asked by `explain`.
namespace gangsched::conformance {
namespace {

using fields = argument::fields;

std::int64_t whole(const kube::value& of) { return std::stoll(of.text); }
double real(const kube::value& of) { return std::stod(of.text); }
bool is_true(const kube::value& of, std::string_view key) {
  const kube::value* found = of.find(key);
  return found != nullptr && found->text == "true";
}
std::span<const kube::value> items(const kube::value& of, std::string_view key) {
  const kube::value* found = of.find(key);
  return found == nullptr ? std::span<const kube::value>{} : std::span<const kube::value>{found->items};
}

resource_list amounts_of(const kube::value* map) {
  resource_list made;
  for (std::size_t i = 0; map != nullptr && i < map->keys.size(); ++i) {
    const std::string& name = map->keys[i];
    const std::int64_t amount = whole(map->items[i]);
    made[name] = name == "cpu" ? quantity::from_milli(amount) : quantity{amount};
  }
  return made;
}

/// A part of an argument that stands under the same names in the recording.
fields numbers(const kube::value* map) {
  fields made;
  for (std::size_t i = 0; map != nullptr && i < map->keys.size(); ++i)
    made.emplace_back(map->keys[i], argument{real(map->items[i])});
  return made;
}

/// Says what it thinks a pod will use.
struct estimate_probe : load_aware_scheduling {
  using points = implements<point::score>;
  pair* said;
  estimate_probe(load_aware_scheduling of, pair* into) : load_aware_scheduling(std::move(of)), said(into) {}
  [[nodiscard]] std::int64_t score(const pod_view& pod, room) const { return *said = estimate(pod), 0; }
  status filter(const pod_view&, room) const = delete;
};

class load_case {
 public:
  load_case(const kube::value& recorded, const std::string& file, tally& into)
      : recorded_(&recorded), file_(&file), into_(&into), name_(text_field(recorded, "name", file)) {
    const kube::value* config = recorded.find("config");
    config_ = config == nullptr ? &recorded : config;
  }

  void trimaran(std::string_view plugin, const argument& args, std::string_view pick) {
    start(plugin, args);
    for (const kube::value& one : items(*recorded_, "nodes")) {
      const node_id node = add_node(one);
      set(node, node_load::cpu_capacity,
          node_load::count_word(whole(field(field(one, "capacity", *file_), "cpu", *file_))));
      measure(node, one, pick);
      for (const std::string_view key : {"pods", "recent"}) {
        for (const kube::value& other : items(one, key)) {
          pod_spec spec = read_pod(other);
          spec.node = node;
          if (key == "recent") spec.start_time = now() - seconds("recentAge");
          must(cluster_.add_pod(spec));
        }
      }
    }
    compare_scores(plugin, read_pod(field(*recorded_, "pod", *file_)));
  }

  void target_load() {
    const std::string cpu = text_of("default") + "m";
    trimaran("TargetLoadPacking",
             fields{{"targetUtilization", whole(field(*config_, "target", *file_))},
                    {"defaultRequestsMultiplier", text_of("multiplier")},
                    {"defaultRequests", fields{{"cpu", cpu}}}},
             "last");
  }
  void load_variation() {
    trimaran("LoadVariationRiskBalancing",
             fields{{"safeVarianceMargin", real(field(*config_, "margin", *file_))},
                    {"safeVarianceSensitivity", real(field(*config_, "sensitivity", *file_))}},
             "average");
  }
  void low_risk() {
    trimaran("LowRiskOverCommitment",
             fields{{"smoothingWindowSize", whole(field(*config_, "window", *file_))},
                    {"riskLimitWeights", numbers(config_->find("limitWeights"))}},
             "average");
  }
  void power() {
    fields models;
    for (const kube::value& one : items(*recorded_, "nodes")) {
      if (const auto k = items(one, "power"); !k.empty())
        models.emplace_back(text_field(one, "name", *file_),
                            fields{{"k0", real(k[0])}, {"k1", real(k[1])}, {"k2", real(k[2])}});
    }
    trimaran("Peaks", fields{{"nodePowerModel", models}}, "first");
  }

  void allocatable() {
    fields args{{"mode", text_of("mode")}};
    argument::list resources;
    if (const kube::value* weights = config_->find("weights"))
      for (std::size_t i = 0; i < weights->keys.size(); ++i)
        resources.emplace_back(fields{{"name", weights->keys[i]}, {"weight", whole(weights->items[i])}});
    args.emplace_back("resources", resources);
    start("NodeResourcesAllocatable", args);
    for (const kube::value& one : items(*recorded_, "nodes")) add_node(one);
    compare_scores("NodeResourcesAllocatable", {.name = "pod"});
  }

  void node_scores() {
    fields resources;
    const kube::value& plus = field(*config_, "fitPlus", *file_);
    for (std::size_t i = 0; i < plus.keys.size(); ++i) {
      const kube::value& one = plus.items[i];
      resources.emplace_back(plus.keys[i], fields{{"type", text_field(one, "type", *file_)},
                                                  {"weight", whole(field(one, "weight", *file_))}});
    }
    argument::list scarce;
    for (const std::string& one : texts(config_->find("scarce"))) scarce.emplace_back(one);
    const std::pair<const char*, std::pair<const char*, argument>> plugins[] = {
        {"fitPlus", {"NodeResourcesFitPlus", resources}}, {"scarce", {"ScarceResourceAvoidance", scarce}}};
    for (const auto& [key, plugin] : plugins) {
      cluster_ = gangsched::cluster{};
      start(plugin.first, fields{{"resources", plugin.second}});
      for (const kube::value& one : items(*recorded_, "nodes")) {
        const node_id node = add_node(one);
        for (const kube::value& other : items(one, "pods")) {
          pod_spec spec = bare_pod(other);
          spec.node = node;
          must(cluster_.add_pod(spec));
        }
      }
      compare_normalized(plugin.first, explain(bare_pod(field(*recorded_, "pod", *file_))),
                         field(*recorded_, key, *file_));
      scheduler_.reset();
    }
  }

  void amplified() {
    const kube::value& weights = field(*config_, "weights", *file_);
    argument::list resources;
    for (std::size_t i = 0; i < weights.keys.size(); ++i)
      resources.emplace_back(fields{{"name", weights.keys[i]}, {"weight", whole(weights.items[i])}});
    const fields args{{"scoringStrategy", fields{{"type", text_of("strategy")}, {"resources", resources}}}};
    start("NodeNUMAResource", args);
    for (const kube::value& one : items(*recorded_, "nodes")) {
      const node_id node = must(cluster_.add_node(numa_node(one)));
      for (const kube::value& other : items(one, "pods")) {
        pod_spec spec = bound_pod(other);
        spec.node = node;
        must(cluster_.add_pod(spec));
      }
    }
    std::size_t number = 0;
    for (const kube::value& one : items(*recorded_, "tries")) {
      const std::string where = fmt::format("{} try {}", name_, number++);
      const pod_spec pod = bound_pod(field(one, "pod", *file_));
      if (const kube::value* refused = one.find("refused")) {
        const pod_id id = must(cluster_.add_pod(pod));
        const explanation said = must(scheduler_->explain(id));
        const bool asked = said.rejected_by.empty() || said.nodes.empty() || said.nodes.front().reasons.empty();
        const std::string got = asked ? "nodes were asked" : said.nodes.front().reasons.front();
        into_->compare("refused", got == refused->text, [&] {
          return difference{where, "refused", "", refused->text, got};
        });
        must(cluster_.remove_pod(id));
        continue;
      }
      compare_filter(where, pod, field(one, "filter", *file_));
      start("NodeNUMAResource", args, true);
      compare_scores("NodeNUMAResource", pod, one);
      start("NodeNUMAResource", args);
    }
  }

  void load_aware() {
    const auto part = [&](std::string_view key, const kube::value& of) { return wholes(of.find(key)); };
    // The recording has what the plugin went by: there is none where a file that names none would get the defaults.
    const auto all_of = [&](std::string_view key) {
      const fields named = part(key, *config_);
      return named.empty() ? fields{{"cpu", 0}, {"memory", 0}} : named;
    };
    fields args{{"estimatedScalingFactors", part("factors", *config_)},
                {"resourceWeights", all_of("weights")},
                {"usageThresholds", all_of("thresholds")},
                {"prodUsageThresholds", part("prodThresholds", *config_)},
                {"enableScheduleWhenNodeMetricsExpired", is_true(*config_, "allowExpired")},
                {"scoreAccordingProdUsage", is_true(*config_, "scoreProd")},
                {"prodUsageIncludeSys", is_true(*config_, "prodIncludesSystem")}};
    const auto copy = [](fields& to, const kube::value& from, const char* key, const char* as) {
      const kube::value* found = from.find(key);
      if (found == nullptr) return;
      to.emplace_back(as, found->kind == kube::value_kind::text ? argument{found->text} : argument{whole(*found)});
    };
    copy(args, *config_, "dominantWeight", "dominantResourceWeight");
    copy(args, *config_, "expirationSeconds", "nodeMetricExpirationSeconds");
    copy(args, *config_, "estimateAfterScheduled", "estimatedSecondsAfterPodScheduled");
    copy(args, *config_, "estimateAfterInitialized", "estimatedSecondsAfterInitialized");
    if (const kube::value* aggregated = config_->find("aggregated")) {
      fields inside{{"usageThresholds", part("thresholds", *aggregated)}};
      copy(inside, *aggregated, "type", "usageAggregationType"),
          copy(inside, *aggregated, "seconds", "usageAggregatedDuration");
      copy(inside, *aggregated, "scoreType", "scoreAggregationType");
      copy(inside, *aggregated, "scoreSeconds", "scoreAggregatedDuration");
      args.emplace_back("aggregated", inside);
    }
    start("LoadAwareScheduling", args);
    for (const kube::value& one : items(*recorded_, "nodes")) feed(one);
    std::size_t number = 0;
    for (const kube::value& one : items(*recorded_, "tries")) {
      const std::string where = fmt::format("{} try {}", name_, number++);
      const pod_spec pod = classed_pod(field(one, "pod", *file_));
      compare_estimate(where, args, pod, field(one, "estimate", *file_));
      compare_filter(where, pod, field(one, "filter", *file_));
      // The recording has scores of nodes that the filter refuses, too.
      start("LoadAwareScheduling", args, true);
      compare_scores("LoadAwareScheduling", pod, one);
      start("LoadAwareScheduling", args);
    }
  }

 private:
  /// A part of an argument that stands under the same names in the recording, in whole numbers.
  static fields wholes(const kube::value* map) {
    fields made;
    for (std::size_t i = 0; map != nullptr && i < map->keys.size(); ++i)
      made.emplace_back(map->keys[i], argument{whole(map->items[i])});
    return made;
  }
  /// Two sockets with a NUMA node each, two threads a core.
  node_spec numa_node(const kube::value& one) const {
    const auto cpus = static_cast<unsigned>(whole(field(one, "cpus", *file_)));
    node_numa numa;
    for (unsigned cell = 0; cell < 2; ++cell) {
      numa_cell& made = numa.cells.emplace_back();
      made.id = cell;
      for (unsigned id = cell * cpus / 2; id < (cell + 1) * cpus / 2; ++id) made.cpus.push_back({id, id / 2, cell, 0});
    }
    numa.cpu_amplification_percent = static_cast<std::int32_t>(std::lround(100 * real(field(one, "ratio", *file_))));
    node_spec made{.name = text_field(one, "name", *file_), .allocatable = amounts_of(one.find("allocatable"))};
    made.devices.numa = std::move(numa);
    return made;
  }
  pod_spec bound_pod(const kube::value& one) const {
    pod_spec made{.name = text_field(one, "name", *file_)};
    made.containers.push_back({.requests = amounts_of(one.find("requests"))});
    if (is_true(one, "bound")) made.bind_cpus = {cpu_bind_policy::full_pcpus, false};
    return made;
  }
  /// One with its requests and limits in a single container, and a priority class of Koordinator's.
  pod_spec classed_pod(const kube::value& one) const {
    pod_spec made{.name = text_field(one, "name", *file_)};
    made.containers.push_back({.requests = amounts_of(one.find("requests")), .limits = amounts_of(one.find("limits"))});
    const std::string& of = text_field(one, "class", *file_);
    made.priority = of == "prod" ? 9500 : of == "mid" ? 7500 : 5500;
    if (is_true(one, "daemonSet")) made.controller = {controller_kind::daemon_set, "set"};
    return made;
  }
  template <class Id>
  void set_amounts(Id of, const kube::value* map, std::string_view cpu, std::string_view memory) {
    for (std::size_t i = 0; map != nullptr && i < map->keys.size(); ++i)
      must(cluster_.set_column(of, map->keys[i] == "cpu" ? cpu : memory, node_load::count_word(whole(map->items[i]))));
  }
  /// A node's own replace what all have: of a resource that is not named there is none then.
  void set_thresholds(node_id of, const kube::value* map, std::string_view cpu, std::string_view memory) {
    if (map == nullptr || map->keys.empty()) return;
    set(of, cpu, node_load::count_word(0)), set(of, memory, node_load::count_word(0));
    set_amounts(of, map, cpu, memory);
  }
  /// A node and its pods as koordlet measures them.
  void feed(const kube::value& one) {
    const node_id node = add_node(one);
    set_amounts(node, one.find("rawAllocatable"), node_load::cpu_raw, node_load::memory_raw);
    set_thresholds(node, one.find("thresholds"), node_load::cpu_threshold, node_load::memory_threshold);
    set_thresholds(node, one.find("prodThresholds"), node_load::cpu_prod_threshold, node_load::memory_prod_threshold);
    if (!is_true(one, "noMetrics")) {
      set(node, node_load::measured, node_load::word(now()));
      set(node, node_load::age, node_load::count_word(whole(field(one, "age", *file_))));
      set(node, node_load::interval, node_load::count_word(whole(field(one, "reportInterval", *file_))));
    }
    if (!is_true(one, "noMetrics") && !is_true(one, "emptyMetrics")) {
      set_amounts(node, one.find("usage"), node_load::cpu_used, node_load::memory_used);
      set_amounts(node, one.find("systemUsage"), node_load::cpu_system, node_load::memory_system);
      feed_percentiles(node, one);
    }
    for (const kube::value& other : items(one, "pods")) {
      pod_spec spec = classed_pod(other);
      spec.node = node;
      spec.start_time = now() + std::chrono::seconds{whole(field(other, "scheduled", *file_))};
      const pod_id pod = must(cluster_.add_pod(spec));
      if (const kube::value* initialized = other.find("initialized"))
        must(cluster_.set_column(pod, node_load::initialized,
                                 node_load::word(now() + std::chrono::seconds{whole(*initialized)})));
      set_amounts(pod, other.find("usage"), node_load::cpu_used, node_load::memory_used);
      const kube::value* reported = other.find("reportedClass");
      if (reported != nullptr && reported->text != text_field(other, "class", *file_))
        must(cluster_.set_column(pod, node_load::other_class, 1));
    }
  }
  /// Those columns that the plugin made; the longest period without its name, too.
  void feed_percentiles(node_id node, const kube::value& one) {
    std::map<std::string, std::int64_t> longest;
    const auto put = [&](const std::string& tail, const kube::value& amounts) {
      for (std::size_t i = 0; i < amounts.keys.size(); ++i) {
        const std::string column = "load." + amounts.keys[i] + "." + tail;
        if (cluster_.column_of(node, column)) set(node, column, node_load::count_word(whole(amounts.items[i])));
      }
    };
    for (const kube::value& period : items(one, "aggregated")) {
      const std::int64_t seconds = whole(field(period, "seconds", *file_));
      const kube::value& types = field(period, "usage", *file_);
      for (std::size_t i = 0; i < types.keys.size(); ++i) {
        put(fmt::format("{}.{}", types.keys[i], seconds), types.items[i]);
        std::int64_t& most = longest[types.keys[i]];
        if (seconds >= most) most = seconds, put(types.keys[i], types.items[i]);
      }
    }
  }
  void compare_estimate(const std::string& where, const argument& args, const pod_spec& pod,
                        const kube::value& recorded) {
    load_aware_scheduling::pair said{};
    gangsched::scheduler asked{
        cluster_, profile{priority_sort{}, estimate_probe{must(load_aware_scheduling::from(args)), &said}}};
    const pod_id id = must(cluster_.add_pod(pod));
    static_cast<void>(must(asked.explain(id)));
    must(cluster_.remove_pod(id));
    for (std::size_t i = 0; i < recorded.keys.size(); ++i) {
      const std::int64_t wanted = whole(recorded.items[i]), got = said[recorded.keys[i] == "cpu" ? 0 : 1];
      compare("estimate", where + " " + recorded.keys[i], wanted == got, wanted, got);
    }
  }
  void compare_filter(const std::string& where, const pod_spec& pod, const kube::value& recorded) {
    static const std::map<std::string, std::string> words{
        {"node(s) nodeMetric expired", "expired"},
        {"node(s) cpu usage exceed threshold", "cpu"},
        {"node(s) memory usage exceed threshold", "memory"},
        {"node(s) cpu aggregated usage exceed threshold", "cpu aggregated"},
        {"node(s) memory aggregated usage exceed threshold", "memory aggregated"}};
    std::map<std::string, std::string> said;
    const pod_id id = must(cluster_.add_pod(pod));
    for (const node_verdict& node : must(scheduler_->explain(id)).nodes) {
      const auto known = node.reasons.empty() ? words.end() : words.find(node.reasons.front());
      said[node.name] = node.code == code::success ? "ok" : known == words.end() ? node.reasons.front() : known->second;
    }
    must(cluster_.remove_pod(id));
    for (std::size_t i = 0; i < recorded.keys.size(); ++i) {
      const std::string& wanted = recorded.items[i].text;
      const std::string& got = said[recorded.keys[i]];
      into_->compare("filter", wanted == got, [&] {
        return difference{where, "filter", recorded.keys[i], wanted, got};
      });
    }
  }

  static instant now() { return std::chrono::hours{1}; }
  [[nodiscard]] std::chrono::seconds seconds(std::string_view key) const {
    return std::chrono::seconds{whole(field(*config_, key, *file_))};
  }
  [[nodiscard]] std::string text_of(std::string_view key) const { return field(*config_, key, *file_).text; }

  void start(std::string_view plugin, const argument& args, bool unfiltered = false) {
    static const plugin_registry registry = builtin_plugins();
    runtime_profile chosen{registry};
    chosen.enable("PrioritySort").enable(plugin, 1, args);
    if (unfiltered) chosen.disable(plugin, point::filter);
    scheduler_.emplace(cluster_, must(chosen.table()));
  }
  node_id add_node(const kube::value& one) {
    return must(cluster_.add_node(
        {.name = text_field(one, "name", *file_), .allocatable = amounts_of(one.find("allocatable"))}));
  }
  void set(node_id node, std::string_view column, std::int64_t word) { must(cluster_.set_column(node, column, word)); }

  /// What is measured of a node. @p pick: which of several numbers of the CPU it takes that are a mean or the latest.
  void measure(node_id node, const kube::value& one, std::string_view pick) {
    const auto metrics = items(one, "metrics");
    if (is_true(one, "unknown") || metrics.empty()) return;
    set(node, node_load::measured, node_load::word(now()));
    for (const bool is_cpu : {true, false}) {
      std::optional<double> mean, deviation;
      bool averaged = false;
      for (const kube::value& metric : metrics) {
        if (text_field(metric, "type", *file_) != (is_cpu ? "CPU" : "Memory")) continue;
        const std::string& how = text_field(metric, "operator", *file_);
        const double value = real(field(metric, "value", *file_));
        if (how == "STD") {
          deviation = value;
        } else if (pick == "average" || !is_cpu) {
          if (how == "AVG" || !averaged) mean = value;
          averaged = averaged || how == "AVG";
        } else if (!how.empty() && (pick == "last" || !mean)) {
          mean = value;
        }
      }
      if (mean) set(node, is_cpu ? node_load::cpu_mean : node_load::memory_mean, node_load::word(*mean));
      if (deviation)
        set(node, is_cpu ? node_load::cpu_deviation : node_load::memory_deviation, node_load::word(*deviation));
    }
  }

  pod_spec read_pod(const kube::value& one) const {
    pod_spec made{.name = text_field(one, "name", *file_), .overhead = amounts_of(one.find("overhead"))};
    const auto add = [&](std::string_view key, std::vector<container>& to) {
      for (const kube::value& each : items(one, key))
        to.push_back({.requests = amounts_of(each.find("requests")), .limits = amounts_of(each.find("limits"))});
    };
    add("containers", made.containers), add("init", made.init_containers);
    return made;
  }
  /// Of one whose containers are lists of requests.
  pod_spec bare_pod(const kube::value& one) const {
    pod_spec made{.name = text_field(one, "name", *file_)};
    for (const kube::value& each : items(one, "containers")) made.containers.push_back({.requests = amounts_of(&each)});
    return made;
  }

  std::map<std::string, plugin_score> explain(const pod_spec& pod) {
    std::map<std::string, plugin_score> made;
    const pod_id id = must(cluster_.add_pod(pod));
    for (const node_verdict& node : must(scheduler_->explain(id)).nodes)
      if (!node.scores.empty()) made[node.name] = node.scores.front();
    must(cluster_.remove_pod(id));
    return made;
  }

  void compare_scores(std::string_view plugin, const pod_spec& pod) { compare_scores(plugin, pod, *recorded_); }
  void compare_scores(std::string_view plugin, const pod_spec& pod, const kube::value& recorded) {
    const auto scores = explain(pod);
    const kube::value& raw = field(recorded, recorded.find("score") != nullptr ? "score" : "scores", *file_);
    const bool power = plugin == "Peaks";
    for (std::size_t i = 0; i < raw.keys.size(); ++i) {
      const std::int64_t wanted = whole(raw.items[i]);
      const auto found = scores.find(raw.keys[i]);
      const std::int64_t got = found == scores.end() ? -1 : found->second.raw;
      // Powers of e: the recording's README says how near they have to come.
      const double allowed = power ? std::max(std::fabs(static_cast<double>(wanted)) * 1e-9, 100.0) : 0;
      const bool near = power && std::fabs(static_cast<double>(wanted) - static_cast<double>(got)) <= allowed;
      compare(std::string{plugin}, raw.keys[i], found != scores.end() && (wanted == got || near), wanted, got);
    }
    if (const kube::value* normalized = recorded_->find("normalized"))
      compare_normalized(std::string{plugin} + " normalized", scores, *normalized);
  }
  void compare_normalized(const std::string& level, const std::map<std::string, plugin_score>& scores,
                          const kube::value& recorded) {
    for (std::size_t i = 0; i < recorded.keys.size(); ++i) {
      const std::int64_t wanted = whole(recorded.items[i]);
      const auto found = scores.find(recorded.keys[i]);
      const std::int64_t got = found == scores.end() ? -1 : found->second.normalized;
      compare(level, recorded.keys[i], wanted == got, wanted, got);
    }
  }
  void compare(const std::string& level, const std::string& node, bool same, std::int64_t wanted, std::int64_t got) {
    into_->compare(level, same, [&] {
      return difference{name_, level, node, fmt::format("{}", wanted), fmt::format("{}", got)};
    });
  }

  const kube::value* recorded_;
  const kube::value* config_;
  const std::string* file_;
  tally* into_;
  std::string name_;
  gangsched::cluster cluster_;
  std::optional<gangsched::scheduler> scheduler_;
};

using runner = void (load_case::*)();
const std::map<std::string, runner, std::less<>>& runners() {
  static const std::map<std::string, runner, std::less<>> all{
      {"targetload", &load_case::target_load},  {"loadvariation", &load_case::load_variation},
      {"lowrisk", &load_case::low_risk},        {"peaks", &load_case::power},
      {"allocatable", &load_case::allocatable}, {"nodescore", &load_case::node_scores},
      {"loadaware", &load_case::load_aware},    {"amplified", &load_case::amplified},
  };
  return all;
}

/// What the name of a case begins with, before its number.
std::string_view kind_of(const kube::value& recorded) {
  const kube::value* name = recorded.find("name");
  if (name == nullptr) return {};
  return std::string_view{name->text}.substr(0, name->text.rfind('-'));
}

}  // namespace

bool is_load_case(const kube::value& recorded) {
  return recorded.find("nodes") != nullptr && runners().contains(kind_of(recorded));
}

void run_load_case(const kube::value& recorded, const std::string& file, tally& into) {
  load_case one{recorded, file, into};
  (one.*runners().find(kind_of(recorded))->second)();
}

}  // namespace gangsched::conformance
