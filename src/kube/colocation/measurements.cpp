#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "gangsched/core/saturating_add.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/node_load.hpp"
#include "gangsched/src/kube/colocation/colocation.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/documents/trees.hpp"

// NodeMetric (slo.koordinator.sh/v1alpha1), what nodes' annotations say beside it, and the ConfigMap slo-controller-config.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// What a column can say at most (`node_load::count_word`).
constexpr std::int64_t most_counted = std::numeric_limits<std::int64_t>::max() - 1;

/// The sum of two, where one of them is known.
void add(std::optional<std::int64_t>& to, const std::optional<std::int64_t>& more) {
  if (more) to = saturating_add(to.value_or(0), *more);
}

/// In whole units, or in thousandths; of what does not fit, what fits.
std::int64_t counted(const quantity& amount, bool in_thousandths = false) {
  std::int64_t units = 0;
  if (in_thousandths ? amount.milli_value(units) : amount.value(units)) return units;
  return amount.negative() ? std::numeric_limits<std::int64_t>::min() : most_counted;
}

load_amounts load_of(const resource_list& amounts) {
  load_amounts made;
  if (const auto cpu = amounts.find("cpu"); cpu != amounts.end()) made.cpu = counted(cpu->second, true);
  if (const auto memory = amounts.find("memory"); memory != amounts.end()) made.memory = counted(memory->second);
  return made;
}

/// A ResourceMap.
bool read_use(reader& read, const place& of, load_amounts& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "resources") return read.ignore(key, v, {"devices"});
    resource_list amounts;
    if (!read.amounts(v, amounts)) return false;
    out = load_of(amounts);
    return true;
  });
}

bool read_aggregated(reader& read, const place& of, node_metric_manifest& out) {
  return read.items(of, [&](const place& item) {
    instant over{0};
    std::vector<std::pair<std::string, load_amounts>> found;
    const bool fine = read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "duration") return read_duration(read, v, "5m0s", over);
      if (key != "usage") return read.ignore(key, v, {});
      return read.fields(v, [&](std::string_view type, const place& w) {
        return read_use(read, w, found.emplace_back(std::string{type}, load_amounts{}).second);
      });
    });
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(over).count();
    for (auto& [type, uses] : found) out.aggregated.emplace_back(fmt::format("{}.{}", type, seconds), uses);
    return fine;
  });
}

bool read_pod_use(reader& read, const place& of, node_metric_manifest::pod_use& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.name);
    if (key == "namespace") return read.text(v, out.ns);
    if (key == "priority") return read.text(v, out.band);
    if (key == "podUsage") return read_use(read, v, out.used);
    return read.ignore(key, v, {"qos", "extensions"});
  });
}

/// What applications beside all pods use is the system's, if they are more important than batch.
bool read_host_application(reader& read, const place& of, node_metric_manifest& out) {
  std::string band;
  load_amounts used;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "priority") return read.text(v, band);
    if (key == "usage") return read_use(read, v, used);
    return read.ignore(key, v, {"name", "qos"});
  });
  if (const priority_band of_what = band_of(band); of_what == priority_band::prod || of_what == priority_band::mid)
    add(out.system.cpu, used.cpu), add(out.system.memory, used.memory);
  return fine;
}

bool read_metric_status(reader& read, const place& of, node_metric_manifest& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "updateTime") return read.time(v, out.measured.emplace());
    if (key == "podsMetric")
      return read.list(v, out.pods, [&](const place& item, auto& one) { return read_pod_use(read, item, one); });
    if (key == "hostApplicationMetric")
      return read.items(v, [&](const place& item) { return read_host_application(read, item, out); });
    const bool reclaimable = key == "prodReclaimableMetric";
    if (!reclaimable && key != "nodeMetric") return read.ignore(key, v, {});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (reclaimable) return field == "resource" ? read_use(read, w, out.reclaimable) : read.ignore(field, w, {});
      if (field == "nodeUsage") return read_use(read, w, out.used);
      if (field == "aggregatedNodeUsages") return read_aggregated(read, w, out);
      if (field != "systemUsage") return read.ignore(field, w, {"aggregatedSystemUsages"});
      load_amounts own;  // (host applications may have come before)
      if (!read_use(read, w, own)) return false;
      add(out.system.cpu, own.cpu), add(out.system.memory, own.memory);
      return true;
    });
  });
}

/// Fields that are not there stay as they are.
bool read_strategy_field(reader& read, std::string_view key, const place& v, colocation_manifest::choice& out) {
  using policy = colocation_strategy::policy;
  colocation_strategy& to = out.strategy;
  constexpr std::int64_t most_percent = 1'000'000, most_seconds = 1'000'000'000;
  const auto percent = [&](std::int64_t& into) { return read.integer(v, into, 0, most_percent); };
  const auto limit = [&](std::optional<std::int64_t>& into) {
    return read.integer(v, into.emplace(), 0, most_percent);
  };
  const auto by = [&](policy& into) {
    return read.word(
        v, into,
        {{"usage", policy::usage}, {"request", policy::request}, {"maxUsageRequest", policy::max_usage_request}});
  };
  const auto duration = [&](instant& into, std::chrono::seconds unit) {
    std::int64_t count = 0;
    if (!read.integer(v, count, 1, most_seconds / unit.count())) return false;
    return into = count * unit, true;
  };
  if (key == "enable") return read.boolean(v, out.enabled);
  if (key == "cpuReclaimThresholdPercent") return percent(to.cpu.reclaim_percent);
  if (key == "memoryReclaimThresholdPercent") return percent(to.memory.reclaim_percent);
  if (key == "cpuCalculatePolicy") return by(to.cpu.by);
  if (key == "memoryCalculatePolicy") return by(to.memory.by);
  if (key == "batchCPUThresholdPercent") return limit(to.cpu.batch_percent);
  if (key == "batchMemoryThresholdPercent") return limit(to.memory.batch_percent);
  if (key == "midCPUThresholdPercent") return percent(to.cpu.mid_percent);
  if (key == "midMemoryThresholdPercent") return percent(to.memory.mid_percent);
  if (key == "midUnallocatedPercent") return percent(to.mid_unallocated_percent);
  if (key == "degradeTimeMinutes") return duration(to.degrade_after, std::chrono::minutes{1});
  if (key == "updateTimeThresholdSeconds") return duration(to.update_after, std::chrono::seconds{1});
  if (key == "resourceDiffThreshold") {
    quantity share;
    if (!read.amount(v, share)) return false;
    to.least_change = static_cast<double>(share.nanos()) / 1e9;
    return true;
  }
  return read.ignore(key, v,
                     {"name", "metricAggregateDurationSeconds", "metricReportIntervalSeconds", "metricAggregatePolicy",
                      "metricMemoryCollectPolicy", "extensions"});
}

constexpr const char* own_strategy = "node.koordinator.sh/colocation-strategy";

/// A label's part of one; nothing if it is none (getNodeReclaimPercent).
std::optional<std::int64_t> percent_of_label(const label_map& labels, std::string_view key) {
  const auto found = labels.find(key);
  if (found == labels.end()) return std::nullopt;
  const auto parsed = quantity::parse(found->second);
  constexpr std::int64_t most_percent = 1'000'000, nanos_of_percent = 10'000'000;
  if (!parsed || *parsed < quantity{} || *parsed > quantity{most_percent / 100}) return std::nullopt;
  return static_cast<std::int64_t>(parsed->nanos() / nanos_of_percent);
}

/// What the node says counts before what is said of it (UpdateColocationStrategyForNode).
colocation_manifest::choice for_node(colocation_manifest::choice chosen, const node_manifest& of) {
  if (const auto said = of.annotations.find(own_strategy); said != of.annotations.end()) {
    reader read{own_strategy, of.spec.name, nullptr};
    colocation_manifest::choice own = chosen;
    const bool fine = read_inside(read, {}, said->second, [&](reader& in, const place& root) {
      return in.fields(root,
                       [&](std::string_view key, const place& v) { return read_strategy_field(in, key, v, own); });
    });
    if (fine) chosen = std::move(own);
  }
  if (const auto own = percent_of_label(of.spec.labels, "node.koordinator.sh/cpu-reclaim-ratio"))
    chosen.strategy.cpu.reclaim_percent = *own;
  if (const auto own = percent_of_label(of.spec.labels, "node.koordinator.sh/memory-reclaim-ratio"))
    chosen.strategy.memory.reclaim_percent = *own;
  return chosen;
}

/// Sets what is known of a node or a pod, as counts.
template <class Object>
std::optional<error> set_counts(cluster& on, Object of, const load_amounts& amounts, std::string_view cpu,
                                std::string_view memory) {
  for (const auto& [column, amount] : {std::pair{cpu, amounts.cpu}, std::pair{memory, amounts.memory}}) {
    if (!amount || *amount < 0) continue;
    if (auto set = on.set_column(of, column, node_load::count_word(std::min(*amount, most_counted))); !set)
      return std::move(set).error();
  }
  return std::nullopt;
}

/// The same of columns that need not be there yet.
std::optional<error> set_new_counts(cluster& on, node_id node, const load_amounts& amounts, std::string_view cpu,
                                    std::string_view memory) {
  if (!amounts.cpu && !amounts.memory) return std::nullopt;
  for (const std::string_view column : {cpu, memory})
    if (auto made = on.add_node_column(column); !made) return std::move(made).error();
  return set_counts(on, node, amounts, cpu, memory);
}

/// Koordinator counts those that it measured and that are gone by what they used; here that is the system's.
std::optional<error> set_pods(cluster& on, const node_metric_manifest& from, node_id node, load_amounts& system) {
  for (const node_metric_manifest::pod_use& one : from.pods) {
    const auto pod = on.find_pod(one.ns.empty() ? "default" : one.ns, one.name);
    const priority_band band = band_of(one.band);
    if (!pod || on.node_of(*pod) != node) {
      const bool counts = band != priority_band::batch && band != priority_band::free;
      if (counts) add(system.cpu, one.used.cpu), add(system.memory, one.used.memory);
      continue;
    }
    if (auto wrong = set_counts(on, *pod, one.used, node_load::cpu_used, node_load::memory_used)) return wrong;
    const bool other = band != band_of(on, *pod);  // (of one that is measured as of none too)
    if (auto set = on.set_column(*pod, node_load::other_class, other ? 1 : 0); !set) return std::move(set).error();
  }
  return std::nullopt;
}

/// What was measured of a mean or a percentile: "p95.300", or over the longest period "p95"; null if nothing was.
const load_amounts* measured_by(const node_metric_manifest& from, std::string_view how) {
  const load_amounts* found = nullptr;
  std::int64_t longest = -1;
  for (const auto& [name, amounts] : from.aggregated) {
    if (!amounts.cpu && !amounts.memory) continue;
    if (name == how) found = &amounts;
    if (how.find('.') != std::string_view::npos || name.substr(0, name.rfind('.')) != how) continue;
    const std::int64_t seconds = std::stoll(name.substr(name.rfind('.') + 1));
    if (seconds >= longest) longest = seconds, found = &amounts;
  }
  return found;
}

/// The node's own thresholds for a mean or a percentile. One over the longest period that was not measured is what is used.
std::optional<error> set_percentile(cluster& on, const node_manifest& of, const node_metric_manifest& from,
                                    node_id node) {
  if (auto wrong = set_new_counts(on, node, of.percentile_thresholds, node_load::cpu_percentile_threshold,
                                  node_load::memory_percentile_threshold))
    return wrong;
  if (!of.percentile_thresholds.cpu) return std::nullopt;
  const load_amounts* used = measured_by(from, of.percentile);
  if (used == nullptr && of.percentile.find('.') == std::string::npos) used = &from.used;
  if (used == nullptr) return std::nullopt;
  return set_new_counts(on, node, *used, node_load::cpu_percentile, node_load::memory_percentile);
}

/// Since when pods have their node, and their init containers have ended.
std::optional<error> set_times(cluster& on, const pod_manifest& of) {
  const auto pod = of.scheduled || of.initialized ? on.find_pod(of.spec.ns, of.spec.name) : std::nullopt;
  if (!pod) return std::nullopt;
  for (const auto& [column, at] :
       {std::pair{node_load::scheduled, of.scheduled}, std::pair{node_load::initialized, of.initialized}}) {
    if (!at) continue;
    if (auto set = on.set_column(*pod, column, node_load::word(*at)); !set) return std::move(set).error();
  }
  return std::nullopt;
}

std::optional<error> set_node(cluster& on, const node_metric_manifest& from, node_id node) {
  load_amounts system = from.system;
  if (auto wrong = set_pods(on, from, node, system)) return wrong;
  if (auto wrong = set_counts(on, node, from.used, node_load::cpu_used, node_load::memory_used)) return wrong;
  if (auto wrong = set_counts(on, node, system, node_load::cpu_system, node_load::memory_system)) return wrong;
  if (auto wrong = set_counts(on, node, from.reclaimable, node_load::cpu_reclaimable, node_load::memory_reclaimable))
    return wrong;
  for (const auto& [how, amounts] : from.aggregated) {
    if (auto wrong = set_new_counts(on, node, amounts, "load.cpu." + how, "load.memory." + how)) return wrong;
    const std::string type = how.substr(0, how.rfind('.'));
    const load_amounts* const longest = measured_by(from, type);
    if (longest != &amounts) continue;
    if (auto wrong = set_new_counts(on, node, amounts, "load.cpu." + type, "load.memory." + type)) return wrong;
  }
  std::vector<std::pair<std::string_view, std::int64_t>> words;
  constexpr std::int64_t often = 60;  // DefaultNodeMetricReportInterval
  words.emplace_back(node_load::interval, node_load::count_word(from.interval_seconds.value_or(often)));
  if (from.measured) words.emplace_back(node_load::measured, node_load::word(*from.measured));
  for (const auto& [column, word] : words)
    if (auto set = on.set_column(node, column, word); !set) return std::move(set).error();
  return std::nullopt;
}

/// Sets what the node's own object says: what there is with kubelet's part, and in truth; what is reserved, and what is given away
/// elsewhere; and its thresholds.
std::optional<error> set_words_of_node(cluster& on, const node_manifest& from, node_id node) {
  if (auto wrong = set_new_counts(on, node, from.raw, node_load::cpu_raw, node_load::memory_raw)) return wrong;
  if (auto wrong = set_new_counts(on, node, from.thresholds, node_load::cpu_threshold, node_load::memory_threshold))
    return wrong;
  if (auto wrong = set_new_counts(on, node, from.prod_thresholds, node_load::cpu_prod_threshold,
                                  node_load::memory_prod_threshold))
    return wrong;
  if (auto wrong =
          set_counts(on, node, from.batch_elsewhere, node_load::cpu_batch_elsewhere, node_load::memory_batch_elsewhere))
    return wrong;
  if (auto wrong =
          set_counts(on, node, load_of(from.spec.capacity), node_load::cpu_capacity, node_load::memory_capacity))
    return wrong;
  return set_counts(on, node, load_of(from.reserved), node_load::cpu_reserved, node_load::memory_reserved);
}

std::optional<error> lend(cluster& on, const colocation_manifest& by, const node_manifest& of, node_id node,
                          instant measured) {
  const auto chosen = std::find_if(by.choices.begin(), by.choices.end(), [&](const colocation_manifest::choice& one) {
    return !one.nodes || matches(*one.nodes, of.spec.labels);
  });
  if (chosen == by.choices.end()) return std::nullopt;
  const colocation_manifest::choice its = for_node(*chosen, of);
  if (!its.enabled || !by.choices.back().enabled) return std::nullopt;
  for (const priority_band band : {priority_band::batch, priority_band::mid}) {
    const band_resources names = resources_of(band);
    for (const std::string_view name : {names.cpu, names.memory})
      if (of.spec.allocatable.contains(name)) return std::nullopt;  // Koordinator said it already
  }
  colocation shares{its.strategy};
  if (auto done = shares.refresh(on, node, measured); !done) return std::move(done).error();
  return std::nullopt;
}

}  // namespace

bool read_node_and_load(reader& read, const place& of, node_manifest& out, const read_options& how) {
  if (!read_node(read, of, out, how)) return false;
  // What is named replaces what the plugin has for all nodes; of a resource that is not there is none then.
  const auto percentages = [](reader& in, const place& v, load_amounts& to) {
    return in.fields(v, [&](std::string_view key, const place& w) {
      if (!to.cpu) to = {0, 0};
      if (key != "cpu" && key != "memory") return in.ignore(key, w, {});
      return in.integer(w, key == "cpu" ? *to.cpu : *to.memory, 0, std::int64_t{1'000'000});
    });
  };
  const auto aggregated = [&](reader& in, const place& root) {
    instant over{0};
    const bool fine = in.fields(root, [&](std::string_view key, const place& v) {
      if (key == "usageThresholds") return percentages(in, v, out.percentile_thresholds);
      if (key == "usageAggregationType") return in.text(v, out.percentile);
      return key == "usageAggregatedDuration" ? read_duration(in, v, "5m0s", over) : in.ignore(key, v, {});
    });
    if (out.percentile.empty()) out.percentile_thresholds = {};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(over).count();
    if (seconds != 0) out.percentile += fmt::format(".{}", seconds);
    return fine;
  };
  const auto thresholds = [&](reader& in, const place& root) {
    return in.fields(root, [&](std::string_view key, const place& v) {
      if (key == "usageThresholds") return percentages(in, v, out.thresholds);
      if (key == "prodUsageThresholds") return percentages(in, v, out.prod_thresholds);
      return key == "aggregatedUsage" ? aggregated(in, v) : in.ignore(key, v, {});
    });
  };
  const auto raw = [&](reader& in, const place& root) {
    resource_list amounts;
    return in.amounts(root, amounts) && (out.raw = load_of(amounts), true);
  };
  const auto allocation = [&](reader& in, const place& item) {
    std::string band;
    resource_list amounts;
    const bool fine = in.fields(item, [&](std::string_view key, const place& v) {
      if (key == "priority") return in.text(v, band);
      return key == "resources" ? in.amounts(v, amounts) : in.ignore(key, v, {"name"});
    });
    const band_resources names = resources_of(priority_band::batch);
    for (const auto& [name, to] :
         {std::pair{names.cpu, &out.batch_elsewhere.cpu}, std::pair{names.memory, &out.batch_elsewhere.memory}}) {
      const auto found = amounts.find(name);
      if (band_of(band) == priority_band::batch && found != amounts.end()) add(*to, counted(found->second));
    }
    return fine;
  };
  const auto elsewhere = [&](reader& in, const place& root) {
    return in.fields(root, [&](std::string_view key, const place& v) {
      if (key != "allocations") return in.ignore(key, v, {});
      return in.items(v, [&](const place& item) { return allocation(in, item); });
    });
  };
  // Koordinator's plugins do without annotations that they cannot read.
  if (!read_if_sound(read, of, "scheduling.koordinator.sh/usage-thresholds", thresholds))
    out.thresholds = out.prod_thresholds = out.percentile_thresholds = {};
  if (!read_if_sound(read, of, "node.koordinator.sh/raw-allocatable", raw)) out.raw = {};
  const auto strategy = [](reader& in, const place& root) {
    colocation_manifest::choice trial;
    return in.fields(root,
                     [&](std::string_view key, const place& v) { return read_strategy_field(in, key, v, trial); });
  };
  read_if_sound(read, of, own_strategy, strategy);
  return read_annotation(read, of, "node.koordinator.sh/thirdPartyAllocations", elsewhere);
}

bool read_node_metric(reader& read, const place& of, node_metric_manifest& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name(read, v, out.node);
    if (key == "status") return read_metric_status(read, v, out);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "metricCollectPolicy") return read.ignore(field, w, {});
      return read.fields(w, [&](std::string_view one, const place& x) {
        if (one == "reportIntervalSeconds")
          return read.integer(x, out.interval_seconds.emplace(), 0, std::int64_t{1'000'000'000});
        return read.ignore(one, x, {"aggregateDurationSeconds", "nodeAggregatePolicy", "nodeMemoryCollectPolicy"});
      });
    });
  });
  return fine && (!out.node.empty() || read.fail(errc::malformed, of, "needs metadata.name"));
}

bool read_strategies(reader& read, const place& of, colocation_manifest& out) {
  colocation_manifest::choice all;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    return key == "nodeConfigs" || read_strategy_field(read, key, v, all);
  });
  if (!fine) return false;
  if (const value* const own = of.at->find("nodeConfigs"); own != nullptr && own->kind != value_kind::null) {
    const bool read_all = read.items(place{own, &of, "nodeConfigs"}, [&](const place& item) {
      colocation_manifest::choice one = all;
      const bool known = read.fields(item, [&](std::string_view key, const place& v) {
        return key == "nodeSelector" ? read_label_selector(read, v, one.nodes.emplace())
                                     : read_strategy_field(read, key, v, one);
      });
      if (one.nodes) out.choices.push_back(std::move(one));  // without a selector it is about no node
      return known;
    });
    if (!read_all) return false;
  }
  // What a cluster's strategy does not enable is off, whatever is said of some nodes.
  for (colocation_manifest::choice& one : out.choices) one.enabled = one.enabled && all.enabled;
  out.choices.push_back(std::move(all));
  return true;
}

std::optional<bool> read_colocation_object(reader& read, const place& of, std::string_view api_group,
                                           std::string_view kind, origin from, colocation_objects& out,
                                           manifests& made) {
  if (api_group == "config.koordinator.sh" && kind == "ClusterColocationProfile") {
    out.profiles.emplace_back().from = from;
    return read_profile(read, of, out.profiles.back());
  }
  if (api_group == "slo.koordinator.sh" && kind == "NodeMetric") {
    made.node_metrics.emplace_back().from = from;
    return read_node_metric(read, of, made.node_metrics.back());
  }
  const value* const data = api_group.empty() && kind == "ConfigMap" ? of.at->find("data") : nullptr;
  const value* const text = data == nullptr ? nullptr : data->find("colocation-config");
  if (text == nullptr || text->kind != value_kind::text) return std::nullopt;
  const spot at = find_spot(of, {"data", "colocation-config"});
  if (const value* const meta = of.at->find("metadata");
      meta == nullptr || text_at(*meta, "name") != "slo-controller-config") {
    // Others may have a key of that name, too: what is no configuration is theirs.
    reader trial{read.file(), read.object(), nullptr};
    const bool fits = read_inside(trial, at, std::string{text->text}, [](reader& inner, const place& v) {
      return v.at->kind == value_kind::object || inner.fail(errc::malformed, v, "is no object");
    });
    if (!fits) return read.warn(at.line, at.path, "is no configuration of colocation; it is left out");
  }
  if (made.colocation) return read.fail(errc::duplicate, of, "there is a colocation-config already");
  made.colocation.emplace().from = from;
  return read_inside(read, at, std::string{text->text},
                     [&](reader& inner, const place& v) { return read_strategies(inner, v, *made.colocation); });
}

std::optional<error> apply_measurements(cluster& on, const manifests& what) {
  if (what.node_metrics.empty()) return std::nullopt;
  if (auto made = colocation::make_columns(on); !made) return std::move(made).error();
  if (auto made = on.add_node_column(node_load::interval); !made) return std::move(made).error();
  for (const std::string_view name : {node_load::other_class, node_load::scheduled, node_load::initialized})
    if (auto made = on.add_pod_column(name); !made) return std::move(made).error();
  for (const pod_manifest& of : what.pods)
    if (auto wrong = set_times(on, of)) return wrong;
  sorted_map<const node_metric_manifest*> by_node;
  for (const node_metric_manifest& one : what.node_metrics) by_node.insert_or_assign(one.node, &one);
  for (const node_manifest& of : what.nodes) {
    const auto found = by_node.find(of.spec.name);
    const auto node = on.find_node(of.spec.name);
    if (found == by_node.end() || !node) continue;
    const node_metric_manifest& metric = *found->second;
    auto wrong = set_words_of_node(on, of, *node);
    if (!wrong) wrong = set_percentile(on, of, metric, *node);
    if (!wrong) wrong = set_node(on, metric, *node);
    if (!wrong && what.colocation && metric.measured) wrong = lend(on, *what.colocation, of, *node, *metric.measured);
    if (!wrong) continue;
    wrong->object = where(what, metric.from, "NodeMetric", {}, metric.node);
    return wrong;
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
