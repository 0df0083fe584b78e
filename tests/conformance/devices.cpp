#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/cases.hpp"
#include "gangsched/kube/manifests.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"

// Koordinator's DeviceShare: nodes and pods as the manifests that Koordinator has, the plugin by its name and its arguments, verdicts and
// scores as `explain` says them, and devices as the scheduler decides on them.
namespace gangsched::conformance {
namespace {

using fields = argument::fields;

std::int64_t whole(const kube::value& of) { return std::stoll(of.text); }

/// Of one GPU: hundredths of core, MiB.
struct part {
  std::int64_t core = 0, mib = 0;
  friend bool operator==(const part&, const part&) = default;
};
using parts = std::map<std::int64_t, part>;  ///< by minor

std::string text_of(const parts& of) {
  std::string made;
  for (const auto& [minor, one] : of)
    made += fmt::format("{}{}: {} core {} MiB", made.empty() ? "" : ", ", minor, one.core, one.mib);
  return made.empty() ? "none" : made;
}

class device_case {
 public:
  device_case(const kube::value& recorded, const std::string& file, tally& into)
      : recorded_(&recorded), file_(&file), into_(&into), name_(text_field(recorded, "name", file)) {}

  void run() {
    for (const kube::value& one : field(*recorded_, "nodes", *file_).items) add_node(one);
    start();
    std::size_t number = 0;
    for (const kube::value& step : field(*recorded_, "steps", *file_).items) {
      where_ = fmt::format("{} step {}", name_, number++);
      const std::string& op = text_field(step, "op", *file_);
      if (op == "remove") {
        if (const auto found = pods_.find(text_field(step, "pod", *file_)); found != pods_.end())
          must(cluster_.remove_pod(found->second)), pods_.erase(found);
      } else if (op == "pod") {
        pod(step);
      } else {
        refuse(*file_, step, "unknown op " + op);
      }
    }
  }

 private:
  static constexpr const char* plugin = "DeviceShare";

  void add_node(const kube::value& one) {
    const std::string& name = text_field(one, "name", *file_);
    const auto& gpus = field(one, "gpus", *file_).items;
    std::string devices;
    for (const kube::value& gpu : gpus) {
      const std::int64_t minor = whole(field(gpu, "minor", *file_)), memory = whole(field(gpu, "memory", *file_));
      const kube::value* bad = gpu.find("bad");
      devices += fmt::format(
          R"({}{{"type": "gpu", "id": "GPU-{}", "minor": {}, "health": {}, "topology": {{"nodeID": {}, "pcieID": "{}"}},
             "resources": {{"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100, "koordinator.sh/gpu-memory": {}}}}})",
          devices.empty() ? "" : ", ", minor, minor, bad == nullptr || bad->text != "true",
          whole(field(gpu, "numa", *file_)), text_field(gpu, "pcie", *file_), memory);
    }
    const std::string text = fmt::format(
        R"([{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{}", "labels": {{"kubernetes.io/hostname": "{}"}}}},
             "status": {{"allocatable": {{"nvidia.com/gpu": {}, "pods": 1000}}}}}},
            {{"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": {{"name": "{}"}},
             "spec": {{"devices": [{}]}}}}])",
        name, name, gpus.size(), name, devices);
    must(kube::apply(cluster_, must(kube::read({*file_, list_of(text)}))));
    nodes_.push_back(name);
  }
  static std::string list_of(const std::string& items) {
    return fmt::format(R"({{"apiVersion": "v1", "kind": "List", "items": {}}})", items);
  }

  void start() {
    const kube::value& config = field(*recorded_, "config", *file_);
    const kube::value& weights = field(config, "weights", *file_);
    argument::list resources;
    for (std::size_t i = 0; i < weights.keys.size(); ++i)
      resources.emplace_back(fields{{"name", weights.keys[i]}, {"weight", whole(weights.items[i])}});
    const std::string& strategy = text_field(config, "strategy", *file_);
    static const plugin_registry registry = builtin_plugins();
    runtime_profile chosen{registry};
    chosen.enable("PrioritySort").enable("NodeAffinity").disable("NodeAffinity", point::score);
    chosen.enable(plugin, 1, fields{{"scoringStrategy", fields{{"type", strategy}, {"resources", resources}}}});
    scheduler_.emplace(cluster_, must(chosen.table()), scheduler_options{.ties = tie_rule::lowest_row});
  }

  /// Pods as somebody would apply them; @p node: where they have to go.
  [[nodiscard]] result<pod_spec> read_pod(const kube::value& one, const std::string& node = {}) {
    const std::string selector =
        node.empty() ? "" : fmt::format(R"("nodeSelector": {{"kubernetes.io/hostname": "{}"}}, )", node);
    const std::string text = fmt::format(
        R"({{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{}"}},
            "spec": {{{}"containers": [{{"name": "main", "resources": {{"requests": {}}}}}]}}}})",
        text_field(one, "name", *file_), selector, to_json(field(one, "requests", *file_)));
    const result<kube::manifests> made = kube::read({*file_, text});
    if (!made) return made.error();
    return kube::spec_for(cluster_, made->pods.front());
  }

  void pod(const kube::value& step) {
    const kube::value& recorded = field(step, "pod", *file_);
    const result<pod_spec> spec = read_pod(recorded);
    const bool invalid = step.find("invalid") != nullptr;
    compare("invalid", "", invalid ? "refused" : "taken", spec ? "taken" : "refused");
    if (invalid || !spec) return;
    const pod_id id = must(cluster_.add_pod(*spec));
    const explanation said = must(scheduler_->explain(id));
    compare_verdicts(step, said);
    const kube::value* node = step.find("node");
    if (node == nullptr) return must(cluster_.remove_pod(id));
    place(step, id, node->text);
  }

  void compare_verdicts(const kube::value& step, const explanation& said) {
    std::set<std::string> fit;
    for (const std::string& one : texts(step.find("fits"))) fit.insert(one);
    for (const node_verdict& node : said.nodes) {
      const bool fits = node.code == code::success;
      compare("fits", node.name, fit.contains(node.name) ? "fits" : "does not fit",
              fits                   ? "fits"
              : node.reasons.empty() ? "does not fit"
                                     : "does not fit: " + node.reasons.front(),
              fit.contains(node.name) == fits);
      const auto mine = std::find_if(node.scores.begin(), node.scores.end(),
                                     [](const plugin_score& one) { return one.plugin == plugin; });
      for (const char* const level : {"scores", "normalized"}) {
        const kube::value* all = step.find(level);
        const kube::value* wanted = all == nullptr ? nullptr : all->find(node.name);
        if (wanted == nullptr) continue;
        const bool raw = level == std::string_view{"scores"};
        const std::string got =
            mine == node.scores.end() ? "none" : fmt::format("{}", raw ? mine->raw : mine->normalized);
        compare(level, node.name, wanted->text, got);
      }
    }
  }

  /// The node that scores best, the first of equals, in the recording.
  [[nodiscard]] std::string best_of(const kube::value& step) const {
    const kube::value& scores = field(step, "normalized", *file_);
    std::string best;
    std::int64_t most = -1;
    for (const std::string& node : nodes_) {
      const kube::value* score = scores.find(node);
      if (score != nullptr && whole(*score) > most) most = whole(*score), best = node;
    }
    return best;
  }

  void place(const kube::value& step, pod_id id, const std::string& node) {
    const kube::value& recorded = field(step, "pod", *file_);
    const std::string& name = text_field(recorded, "name", *file_);
    const bool best = best_of(step) == node;
    if (!best) {  // somebody put it elsewhere
      must(cluster_.remove_pod(id));
      id = must(cluster_.add_pod(must(read_pod(recorded, node))));
    }
    parts wanted, got;
    for (const kube::value& one : field(step, "devices", *file_).items) {
      const kube::value& of = field(one, "resources", *file_);
      const kube::value* core = of.find("koordinator.sh/gpu-core");
      wanted[whole(field(one, "minor", *file_))] = {core == nullptr ? 0 : whole(*core),
                                                    whole(field(of, "koordinator.sh/gpu-memory", *file_)) >> 20};
    }
    std::string where = "nowhere";
    if (const auto cycle = scheduler_->schedule_cycle(instant{})) {
      for (const decision& one : cycle) {
        if (one.kind != decision_kind::bind) continue;
        where = cluster_.name_of(one.node);
        for (const device_grant& grant : one.devices) {
          const std::string id_of{cluster_.name_of(one.node, grant)};
          got[std::stoll(id_of.substr(id_of.find('-') + 1))] = {grant.milli / 10, grant.amount};
        }
      }
    }
    if (best) compare("node", "", node, where);
    if (where == node) compare("devices", node, text_of(wanted), text_of(got));
    if (where != "nowhere") must(scheduler_->confirm(id));
    if (where != node || wanted != got) {  // it goes on from what was recorded
      must(cluster_.remove_pod(id));
      pod_spec spec = must(read_pod(recorded));
      spec.node = find_node(cluster_, node, step, *file_);
      for (const auto& [minor, unused] : wanted) spec.held_devices.push_back({.id = fmt::format("GPU-{}", minor)});
      id = must(cluster_.add_pod(spec));
    }
    pods_[name] = id;
  }

  void compare(const std::string& level, const std::string& node, const std::string& wanted, const std::string& got) {
    compare(level, node, wanted, got, wanted == got);
  }
  void compare(const std::string& level, const std::string& node, const std::string& wanted, const std::string& got,
               bool same) {
    into_->compare(level, same, [&] { return difference{where_, level, node, wanted, got}; });
  }

  const kube::value* recorded_;
  const std::string* file_;
  tally* into_;
  std::string name_, where_;
  gangsched::cluster cluster_;
  std::optional<gangsched::scheduler> scheduler_;
  std::vector<std::string> nodes_;
  std::map<std::string, pod_id> pods_;
};

}  // namespace

void run_device_case(const kube::value& recorded, const std::string& file, tally& into) {
  device_case{recorded, file, into}.run();
}

}  // namespace gangsched::conformance
