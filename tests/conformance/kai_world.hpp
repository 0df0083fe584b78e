#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "conformance/cases.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/plugins/device_fit.hpp"
#include "gangsched/plugins/gang_scheduling.hpp"
#include "gangsched/plugins/inter_pod_affinity.hpp"
#include "gangsched/plugins/kai.hpp"
#include "gangsched/plugins/node_affinity.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/scheduling_gates.hpp"
#include "gangsched/plugins/topology_placement.hpp"
#include "gangsched/scheduler.hpp"

/// A case of kai-tests.jsonl as a cluster, and its actions run on it.
namespace gangsched::conformance {

using namespace std::chrono_literals;

/// KAI's nodeplacement: the node that has least left of GPUs, or, for tasks without them, of CPU; or most. Tasks without GPUs go where
/// there are none (resourcetype). Nodes are rated by rank, so that no difference is lost in rounding.
struct kai_node_placement {
  static constexpr std::string_view name = "KaiNodePlacement";
  using points = implements<point::score>;
  bool spread = false;

  static bool wants_gpus(const pod_view& pod) {
    return !pod.spec().devices.empty() || pod.request("nvidia.com/gpu") != 0;
  }
  [[nodiscard]] std::int64_t score(const pod_view& pod,
                                   node_view<reads::allocatable | reads::usage | reads::devices> node) const {
    if (!wants_gpus(pod)) {
      const bool apart = node.allocatable("nvidia.com/gpu") == 0 && !node.has_devices();
      return node.free(kinds::cpu) * 2 + (apart ? 0 : 1) * (std::int64_t{1} << 50);
    }
    const device_state inside = node.devices();
    std::int64_t free = inside ? 0 : node.free("nvidia.com/gpu") * 1000;
    for (std::uint32_t i = 0; i < inside.gpu_count(); ++i) free += inside.free_milli(i);
    return free;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    std::vector<std::int64_t> values;
    for (const scored_group& one : groups) values.push_back(one.score);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (scored_group& one : groups) {
      const auto rank = std::lower_bound(values.begin(), values.end(), one.score) - values.begin();
      one.score = std::max<std::int64_t>(0, spread ? 100 - (std::ssize(values) - 1 - rank) : 100 - rank);
    }
  }
};

inline double number(const kube::value* of) { return of == nullptr ? 0 : std::strtod(of->text.c_str(), nullptr); }
inline std::string text_of(const kube::value* of) { return of == nullptr ? std::string{} : of->text; }
inline const std::vector<kube::value>& items(const kube::value* of) {
  static const std::vector<kube::value> none;
  return of == nullptr ? none : of->items;
}

/// A task as the test sees it.
struct kai_task {
  std::string name, status, node, set;
  std::vector<std::string> gpus;  ///< which of its node's, by the names of the case
  bool gpus_known = true;         ///< a nomination does not say which
  const kube::value* recorded = nullptr;
  pod_id pod;
};
struct kai_job {
  std::string name;
  const kube::value* recorded = nullptr;
  std::vector<kai_task> tasks;
  std::map<std::string, group_id> groups;  ///< pod sets by name; "" alone is the job
  std::map<std::string, group_spec> specs;
  std::map<std::string, int> least;  ///< by pod set
};

class kai_world {
 public:
  kai_world(const kube::value& recorded, const std::string& file) : recorded_{&recorded}, file_{&file} {
    for (const kube::value& one : field(recorded, "jobs", file).items) {
      kai_job& job = jobs_.emplace_back();
      job.name = text_field(one, "name", file);
      job.recorded = &one;
      for (const kube::value& task : field(one, "tasks", file).items)
        job.tasks.push_back({text_field(task, "name", file),
                             text_field(task, "state", file),
                             text_of(task.find("node")),
                             text_of(task.find("podSet")),
                             texts(task.find("gpuGroups")),
                             true,
                             &task,
                             {}});
    }
    std::stable_sort(jobs_.begin(), jobs_.end(), [](const kai_job& a, const kai_job& b) {
      return number(a.recorded->find("ageMinutes")) > number(b.recorded->find("ageMinutes"));
    });
    for (const kai_job& job : jobs_)
      for (const kai_task& task : job.tasks) {
        const double gpu = gpu_of(job, task);
        fractions_ = fractions_ || gpu != std::floor(gpu) || number(job.recorded->find("gpuMemory")) != 0;
      }
  }

  /// All actions of the case, once each.
  void session() {
    build();
    for (const std::string& action : texts(recorded_->find("actions"))) run(action);
    cluster_.reset();
  }
  /// Between two rounds: who was placed runs, who was evicted or waits for room is pending again.
  void next_round() {
    for (kai_job& job : jobs_)
      for (kai_task& task : job.tasks) {
        if (task.status == "Binding") task.status = "Running";
        const bool deleted = text_of(job.recorded->find("deletedNotRequeued")) == "true";
        if (task.status == "Pipelined" || (task.status == "Releasing" && !deleted)) {
          task.status = "Pending";
          task.node.clear();
          task.gpus.clear();
        }
      }
  }
  [[nodiscard]] const std::vector<kai_job>& jobs() const noexcept { return jobs_; }
  [[nodiscard]] bool has_fractions() const noexcept { return fractions_; }

 private:
  static constexpr instant grace = 60s;  ///< of stale gangs

  /// As a name of the cluster's.
  static std::string dns(std::string name) {
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
    return name;
  }
  static double gpu_of(const kai_job& job, const kai_task& task) {
    const kube::value* own = task.recorded->find("gpu");
    return number(own != nullptr ? own : job.recorded->find("gpu"));
  }
  static quantity amount(double of, bool milli = false) {
    return must(quantity::parse(fmt::format("{}{}", static_cast<std::int64_t>(of), milli ? "m" : "")));
  }

  void build() {
    cluster_.emplace();
    gpu_names_.clear();
    kept_out_.clear();
    for (const kube::value& one : field(*recorded_, "nodes", *file_).items) add_node(one);
    add_queues();
    add_claims();
    give_out_gpus();
    for (kai_job& job : jobs_) add_job(job);
  }

  /// Tasks that run have GPUs: those that the case names, then whole ones of which it says nothing.
  void give_out_gpus() {
    if (!fractions_) return;
    for (const bool named : {true, false})
      for (kai_job& job : jobs_)
        for (kai_task& task : job.tasks) {
          if (task.node.empty() || task.status == "Pending" || task.status == "Pipelined") continue;
          if (task.gpus.empty() == named) continue;
          for (const std::string& gpu : task.gpus) index_of(task.node, gpu);
          const double whole = named ? 0 : gpu_of(job, task);
          for (int i = 0; i < static_cast<int>(whole); ++i) {
            task.gpus.push_back(fmt::format("{} whole {}", task.name, i));
            index_of(task.node, task.gpus.back());
          }
        }
  }

  void add_node(const kube::value& one) {
    node_spec spec;
    spec.name = text_field(one, "name", *file_);
    spec.labels["kai.scheduler/type"] = spec.name;  // what tasks that name nodes look at
    if (const kube::value* labels = one.find("labels"))
      for (std::size_t i = 0; i < labels->keys.size(); ++i) spec.labels[labels->keys[i]] = labels->items[i].text;
    spec.allocatable["cpu"] = amount(number(one.find("cpuMillis")), true);
    spec.allocatable["memory"] = amount(number(one.find("memory")));
    spec.allocatable["pods"] = amount(number(one.find("maxPods")));
    // A node whose GPUs are divided hands out none as a whole; a pod that changes how they are divided (KAI's legacy MIG) has all of it.
    const std::string strategy = text_of(one.find("migStrategy"));
    const auto gpus = strategy == "mixed" ? 0 : static_cast<int>(number(one.find("gpus")));
    if (gpus != 0) spec.allocatable["nvidia.com/gpu"] = amount(gpus);
    const bool changed = std::ranges::any_of(jobs_, [&](const kai_job& job) {
      return std::ranges::any_of(job.tasks, [&](const kai_task& task) {
        return is_legacy(task) && task.node == spec.name && task.status != "Pending";
      });
    });
    if (const kube::value* mig = one.find("migInstances"); mig != nullptr && !changed)
      for (std::size_t i = 0; i < mig->keys.size(); ++i)
        spec.allocatable[mig->keys[i]] = amount(number(&mig->items[i]));
    if (fractions_ && strategy.empty() && gpus != 0 && gpus <= 16) {
      spec.devices.gpu.memory_mib =
          std::max<std::int64_t>(100, static_cast<std::int64_t>(number(one.find("gpuMemory"))) / 100 * 100);
      for (int i = 0; i < gpus; ++i) spec.devices.gpus.push_back({.id = std::to_string(i)});
    }
    if (const kube::value* dra = recorded_->find("dra"))
      for (const kube::value& slice : items(dra->find("ResourceSlices"))) {
        if (text_of(slice.find("nodeName")) != spec.name) continue;
        for (int i = 0; i < static_cast<int>(number(slice.find("Count"))); ++i)
          spec.devices.others.push_back({.id = fmt::format("{}-{}", text_of(slice.find("Name")), i),
                                         .device_class = text_of(slice.find("DeviceClassName"))});
      }
    must(cluster_->add_node(spec));
  }

  static bool is_legacy(const kai_task& task) { return text_of(task.recorded->find("legacyMig")) == "true"; }

  void add_claims() {
    claims_.clear();
    const kube::value* dra = recorded_->find("dra");
    if (dra == nullptr) return;
    for (const kube::value& one : items(dra->find("ResourceClaims"))) {
      resource_claim_spec spec{.name = text_of(one.find("name"))};
      spec.devices.push_back({.device_class = text_of(one.find("deviceClassName")),
                              .count = static_cast<std::int32_t>(number(one.find("count")))});
      spec.most_pods -= static_cast<std::int32_t>(items(one.find("reservedFor")).size());
      if (spec.most_pods < 1) spec.devices.front().count = 1000;  // nobody may use it any more
      spec.most_pods = std::max(spec.most_pods, 1);
      claims_[spec.name] = must(cluster_->add_resource_claim(spec));
    }
  }

  void add_queues() {
    std::vector<const kube::value*> all;
    for (const kube::value& one : field(*recorded_, "queues", *file_).items) all.push_back(&one);
    std::stable_sort(all.begin(), all.end(), [](const kube::value* a, const kube::value* b) {
      const auto key = [](const kube::value* of) {
        return std::pair{!text_of(of->find("parent")).empty(), number(of->find("index"))};
      };
      return key(a) < key(b);
    });
    for (const kube::value* one : all) {
      queue_spec spec{.name = text_field(*one, "name", *file_), .parent = text_of(one->find("parent"))};
      spec.priority = static_cast<std::int32_t>(number(one->find("priority")));
      queue_quota quota;
      const std::pair<const char*, const char*> names[] = {
          {"cpu", "cpu"}, {"memory", "memory"}, {"gpu", "nvidia.com/gpu"}};
      for (const auto& [key, resource] : names) {
        const kube::value& has = field(*one, key, *file_);
        const bool milli = key == std::string_view{"cpu"};
        const double limit = number(has.find("limit")), said = number(has.find("deserved"));
        const double deserved =
            limit >= 0 && (said < 0 || said > limit) ? limit : said;  // nobody has more than the limit
        quota.guaranteed[resource] =
            deserved < 0 ? amount(std::ldexp(1, 61), milli) : amount(std::ceil(deserved), milli);
        if (limit >= 0) quota.limit[resource] = amount(limit, milli);
        quota.weights[resource] = std::max(0.0, number(has.find("weight")));
      }
      spec.quotas.push_back(std::move(quota));
      must(cluster_->queues().add(spec));
    }
  }

  static bool is_active(const std::string& status) {
    return status == "Running" || status == "Binding" || status == "Pipelined";
  }

  /// What the topology constraint says, narrowest first.
  void constrain(group_spec& spec, const kube::value* said) const {
    if (said == nullptr) return;
    const std::string required = text_of(said->find("required")), preferred = text_of(said->find("preferred"));
    std::vector<std::string> levels;
    for (const kube::value& one : items(recorded_->find("topologies")))
      if (text_of(one.find("name")) == text_of(said->find("topology"))) levels = texts(one.find("levels"));
    std::reverse(levels.begin(), levels.end());
    const std::string from = preferred.empty() ? required : preferred;
    bool inside = false;
    for (const std::string& level : levels) {
      inside = inside || level == from;
      if (inside) spec.topology.within.push_back(level);
      if (level == required) break;
    }
    spec.topology.or_anywhere = required.empty() && !spec.topology.within.empty();
    spec.topology.choice = domain_choice::least_free;
  }

  static int least_of(const kube::value& set) { return static_cast<int>(number(set.find("minAvailable"))); }
  void add_set(kai_job& job, group_spec spec, int least, const std::string& name) {
    job.least[name] = std::max(1, least);
    spec.policy = gang{.min_count = job.least[name], .stale_after = grace};
    job.specs[name] = spec;
    job.groups[name] = must(cluster_->add_group(spec));
  }
  void add_sets(kai_job& job, const kube::value& of, group_id above, const std::string& path) {
    for (const kube::value& child : items(of.find("children"))) {
      group_spec spec{.name = path + "." + dns(text_of(child.find("name"))), .composite = true, .parent = above};
      spec.priority = static_cast<std::int32_t>(number(job.recorded->find("priority")));
      spec.policy = gang{.min_count = static_cast<std::int32_t>(items(child.find("children")).size() +
                                                                items(child.find("podSets")).size()),
                         .stale_after = grace};
      constrain(spec, child.find("topology"));
      add_sets(job, child, must(cluster_->add_group(spec)), spec.name);
    }
    for (const kube::value& set : items(of.find("podSets"))) {
      const std::string name = text_of(set.find("name"));
      group_spec spec{.name = path + ".s." + dns(name), .parent = above};
      spec.priority = static_cast<std::int32_t>(number(job.recorded->find("priority")));
      constrain(spec, set.find("topology"));
      add_set(job, spec, least_of(set), name);
    }
  }

  void add_job(kai_job& job) {
    job.groups.clear(), job.specs.clear(), job.least.clear();
    const kube::value& tree = field(*job.recorded, "groups", *file_);
    group_spec root{.name = dns(job.name), .queue = text_field(*job.recorded, "queue", *file_)};
    root.priority = static_cast<std::int32_t>(number(job.recorded->find("priority")));
    constrain(root, tree.find("topology"));
    const std::vector<kube::value>& sets = items(tree.find("podSets"));
    if (items(tree.find("children")).empty() && sets.empty()) {  // all of its tasks are one set
      add_set(job, root, static_cast<int>(job.tasks.size()), "default");
    } else if (items(tree.find("children")).empty() && sets.size() == 1) {
      constrain(root, sets.front().find("topology"));
      add_set(job, root, least_of(sets.front()), text_of(sets.front().find("name")));
    } else {
      root.composite = true;
      root.policy = gang{.min_count = static_cast<std::int32_t>(items(tree.find("children")).size() + sets.size()),
                         .stale_after = grace};
      add_sets(job, tree, must(cluster_->add_group(root)), root.name);
    }
    for (kai_task& task : job.tasks) add_task(job, task);
    set_maximums(job);
  }

  [[nodiscard]] std::string set_of(const kai_job& job, const kai_task& task) const {
    if (job.groups.contains(task.set)) return task.set;
    return job.groups.contains("default") ? "default" : job.groups.begin()->first;
  }

  void add_task(kai_job& job, kai_task& task) {
    task.pod = {};
    if (task.status == "Failed" || task.status == "Succeeded") return;
    pod_spec spec = spec_of(job, task);
    if (!task.node.empty() && task.status != "Pending") {
      const node_id node = find_node(*cluster_, task.node, *task.recorded, *file_);
      if (task.status == "Pipelined") {
        spec.nominated_node = node;
      } else {
        spec.node = node;
        spec.terminating = task.status == "Releasing";
        if (fractions_)
          for (const std::string& gpu : task.gpus) spec.held_devices.push_back({.id = index_of(task.node, gpu)});
      }
    }
    task.pod = must(cluster_->add_pod(spec));
  }

  /// The GPU of a node that the case calls so: one that has no name yet, if it is new.
  std::string index_of(const std::string& node, const std::string& gpu) {
    auto& known = gpu_names_[node];
    return known.try_emplace(gpu, std::to_string(known.size())).first->second;
  }

  [[nodiscard]] pod_spec spec_of(const kai_job& job, const kai_task& task) const {
    pod_spec spec{.name = dns(task.name)};
    spec.group = job.groups.at(set_of(job, task));
    spec.priority = static_cast<std::int32_t>(number(job.recorded->find("priority")));
    container& one = spec.containers.emplace_back();
    if (text_of(job.recorded->find("bestEffort")) != "true") {
      one.requests["cpu"] = amount(number(job.recorded->find("cpuMillis")), true);
      one.requests["memory"] = amount(number(job.recorded->find("memory")));
    }
    const double gpu = gpu_of(job, task);
    const auto memory = static_cast<std::int64_t>(number(job.recorded->find("gpuMemory")));
    const auto devices = std::max(1, static_cast<std::int32_t>(number(job.recorded->find("fractionDevices"))));
    if (memory != 0)
      spec.devices.push_back({.count = devices, .milli = 0, .memory_mib = memory});
    else if (gpu != std::floor(gpu))
      spec.devices.push_back({.count = devices,
                              .milli = static_cast<std::int32_t>(std::lround(gpu * 1000)),
                              .memory_percent = static_cast<std::int32_t>(std::lround(gpu * 100))});
    else if (gpu != 0)
      one.requests["nvidia.com/gpu"] = amount(gpu);
    if (const kube::value* mig = task.recorded->find("migInstances"))
      for (std::size_t i = 0; i < mig->keys.size(); ++i) one.requests[mig->keys[i]] = amount(number(&mig->items[i]));
    if (const kube::value* first = task.recorded->find("priority"))
      spec.rank = 1000 - static_cast<std::int32_t>(number(first));
    if (const auto kinds = texts(task.recorded->find("nodes")); !kinds.empty()) {
      spec.affinity.required.emplace();
      spec.affinity.required->push_back({.match_expressions = {{"kai.scheduler/type", selector_operator::in, kinds}}});
    }
    if (const kube::value* labels = task.recorded->find("labels"))
      for (std::size_t i = 0; i < labels->keys.size(); ++i) spec.labels[labels->keys[i]] = labels->items[i].text;
    for (const std::string& claim : texts(task.recorded->find("claims")))
      spec.resource_claims.push_back(claims_.at(claim));
    if (is_legacy(task) && task.status == "Pending") spec.scheduling_gates.push_back("legacy-mig");
    const auto term = [&](const kube::value& key) {  // pods like itself in the same domain of that label
      return pod_affinity_term{.topology_key = key.text, .selector = label_selector{.match_labels = spec.labels}};
    };
    if (const kube::value* key = task.recorded->find("affinityKey"))
      spec.affinity_to_pods.required.push_back(term(*key));
    if (const kube::value* key = task.recorded->find("antiAffinityKey"))
      spec.anti_affinity_to_pods.required.push_back(term(*key));
    return spec;
  }

  /// A set gets all that its minimum lacks; when no set of the job lacks any, one of them gets one more.
  void set_maximums(kai_job& job) {
    std::map<std::string, int> active, waiting;
    for (const kai_task& task : job.tasks) {
      active[set_of(job, task)] += is_active(task.status) ? 1 : 0;
      waiting[set_of(job, task)] += task.status == "Pending" ? 1 : 0;
    }
    const bool lacks = std::any_of(job.least.begin(), job.least.end(), [&](const auto& one) {
      return active[one.first] < one.second && waiting[one.first] != 0;
    });
    std::string grows;
    double lowest = 0;
    for (const auto& [set, least] : job.least) {
      const double ratio = static_cast<double>(active[set]) / least;
      if (!lacks && waiting[set] != 0 && (grows.empty() || ratio < lowest)) grows = set, lowest = ratio;
    }
    for (const auto& [set, least] : job.least) {
      group_spec& spec = job.specs.at(set);
      const int most = std::max(least, active[set] + leaving_of(job, set) + (set == grows && !grows.empty() ? 1 : 0));
      if (std::get<gang>(spec.policy).max_count == most) continue;
      std::get<gang>(spec.policy).max_count = most;
      must(cluster_->update_group(job.groups.at(set), spec));
    }
  }
  [[nodiscard]] int leaving_of(const kai_job& job, const std::string& set) const {
    return static_cast<int>(std::ranges::count_if(
        job.tasks, [&](const kai_task& task) { return set_of(job, task) == set && task.status == "Releasing"; }));
  }

  [[nodiscard]] kernel_table table_for(const std::string& action) const {
    kai_policy::options chosen;
    chosen.actions = {action == "allocate", action == "consolidation", action == "reclaim", action == "preempt"};
    chosen.most_moved_jobs = -1;
    kai_node_placement placement;
    share_rule share = share_rule::tightest;
    if (const kube::value* config = recorded_->find("config"))
      for (const kube::value& tier : items(config->find("tiers")))
        for (const kube::value& plugin : items(tier.find("plugins"))) {
          const kube::value* arguments = plugin.find("arguments");
          if (text_of(plugin.find("name")) == "gpuspread") share = share_rule::widest;
          if (text_of(plugin.find("name")) == "nodeplacement" && arguments != nullptr)
            placement.spread = text_of(arguments->find("gpu")) == "spread";
        }
    return profile{kai_policy{chosen},
                   scheduling_gates{},
                   node_affinity_plugin{},
                   weighted<node_resources_fit>{node_resources_fit{}, 1},
                   inter_pod_affinity{},
                   device_fit{share},
                   gang_scheduling{},
                   topology_placement{},
                   weighted<kai_node_placement>{placement, 1000}}
        .table();
  }

  void run(const std::string& action) {
    if (action == "stalegangeviction") return evict_stale();
    scheduler_options options;
    options.ties = tie_rule::lowest_row;
    options.timers = timer_rule::by_host;
    options.initial_backoff = options.max_backoff = 1h;
    options.search_budget = 0;
    for (kai_job* job : kept_out_) keep_out(*job, false);
    kept_out_.clear();
    scheduler by{*cluster_, table_for(action), options};
    for (int i = 0; i < 2000; ++i) {
      const cycle done = by.schedule_cycle(now_);
      if (done.error() != nullptr) throw unreadable(text_of(recorded_->find("id")) + ": " + done.error()->message());
      if (!done) return;
      carry_out(by, std::vector<decision>(done.begin(), done.end()));
    }
    throw unreadable(text_of(recorded_->find("id")) + ": " + action + " does not end");
  }

  /// A job is tried once by each action.
  void keep_out(kai_job& job, bool out) {
    for (kai_task& task : job.tasks) {
      if (task.status != "Pending") continue;
      pod_spec spec = spec_of(job, task);
      if (out) spec.scheduling_gates.push_back("tried");
      must(cluster_->update_pod(task.pod, spec));
    }
  }

  kai_task* find(pod_id pod, kai_job** of = nullptr) {
    for (kai_job& job : jobs_)
      for (kai_task& task : job.tasks)
        if (task.pod == pod) {
          if (of != nullptr) *of = &job;
          return &task;
        }
    return nullptr;
  }

  void carry_out(scheduler& by, const std::vector<decision>& all) {
    std::set<kai_job*> changed;
    std::vector<std::pair<kai_job*, kai_task*>> evicted;
    for (const decision& one : all) {
      kai_job* job = nullptr;
      kai_task* const task = find(one.pod, &job);
      if (task == nullptr) continue;
      if (one.kind == decision_kind::bind) {
        task->status = "Binding";
        task->node = cluster_->name_of(one.node);
        note_gpus(*task, one.devices);
        must(by.confirm(one.pod));
      } else if (one.kind == decision_kind::evict) {
        task->status = "Releasing";
        evicted.emplace_back(job, task);
      } else if (one.kind == decision_kind::nominate) {
        task->status = "Pipelined";
        task->node = cluster_->name_of(one.node);
        task->gpus_known = false;
      } else if (one.kind == decision_kind::reject) {
        if (task->status == "Pending" && !kept_out_.contains(job)) keep_out(*job, true), kept_out_.insert(job);
        continue;
      }
      changed.insert(job);
    }
    for (const auto& [job, task] : evicted) {
      const bool moves = task->status == "Pipelined";
      must(cluster_->set_terminating(task->pod, !moves));
      if (!moves) continue;
      pod_spec stand_in = spec_of(*job, *task);
      stand_in.name += "-moved";
      stand_in.nominated_node = find_node(*cluster_, task->node, *task->recorded, *file_);
      task->pod = must(cluster_->add_pod(stand_in));
    }
    for (kai_job& job : jobs_)
      for (kai_task& task : job.tasks) {
        if (task.status != "Pipelined" || cluster_->nominated_node_of(task.pod)) continue;
        const bool moved = cluster_->name_of(task.pod).ends_with("-moved");  // what it stands in for is on its way out
        task.status = moved ? "Releasing" : "Pending";
        changed.insert(&job);
      }
    for (kai_job* job : changed) set_maximums(*job);
  }

  void note_gpus(kai_task& task, std::span<const device_grant> devices) {
    task.gpus.clear();
    task.gpus_known = true;
    auto& known = gpu_names_[task.node];
    for (const device_grant& one : devices) {
      if (!one.is_gpu()) continue;
      const std::string index = std::to_string(one.device);
      const auto found = std::ranges::find_if(known, [&](const auto& name) { return name.second == index; });
      std::string name = found != known.end() ? found->first : task.node + " new " + index;
      known[name] = index;
      task.gpus.push_back(std::move(name));
    }
  }

  void evict_stale() {
    // Whoever is promised a node counts for his gang.
    for (kai_job& job : jobs_) {
      if (std::ranges::none_of(job.tasks, [](const kai_task& task) { return task.status == "Pipelined"; })) continue;
      for (auto& [set, spec] : job.specs) {
        std::get<gang>(spec.policy).stale_after.reset();
        must(cluster_->update_group(job.groups.at(set), spec));
      }
    }
    scheduler_options options;
    options.timers = timer_rule::by_host;
    kai_policy::options none;
    none.actions = {false, false, false, false};
    scheduler by{*cluster_, profile{kai_policy{none}, node_resources_fit{}, gang_scheduling{}}.table(), options};
    // The engine learns of a gang when it first sees it: that was so many seconds ago.
    double since = 0;
    for (const kai_job& job : jobs_) since = std::max(since, number(job.recorded->find("staleSeconds")));
    if (recorded_->find("rounds") != nullptr) since = 61;  // those tests have no grace
    const instant first = now_ - std::chrono::seconds{static_cast<std::int64_t>(since)};
    for (const instant at : {first, now_}) {
      for (int i = 0; i < 200; ++i) {
        const cycle done = by.schedule_cycle(at);
        if (!done) break;
        carry_out(by, std::vector<decision>(done.begin(), done.end()));
      }
    }
  }

  const kube::value* recorded_;
  const std::string* file_;
  std::vector<kai_job> jobs_;
  std::optional<cluster> cluster_;
  std::map<std::string, std::map<std::string, std::string>>
      gpu_names_;  ///< by node: the case's name of a GPU, and its id
  std::map<std::string, resource_claim_id> claims_;
  std::set<kai_job*> kept_out_;
  bool fractions_ = false;
  instant now_ = 1000000h;
};

}  // namespace gangsched::conformance
