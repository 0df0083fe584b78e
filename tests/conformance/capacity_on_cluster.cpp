#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "conformance/cases.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/plugins/capacity_scheduling.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/plugins/scheduling_gates.hpp"
#include "gangsched/scheduler.hpp"

// scheduler-plugins/capacity.jsonl with nodes and queues of a cluster: what the plugin CapacityScheduling says of each node.
namespace gangsched::conformance {
namespace {

using names = std::vector<std::string>;

std::int64_t whole(const kube::value& of) { return std::stoll(of.text); }

resource_list amounts_of(const kube::value* map) {
  resource_list made;
  for (std::size_t i = 0; map != nullptr && i < map->keys.size(); ++i)
    made[map->keys[i]] =
        map->keys[i] == "cpu" ? quantity::from_milli(whole(map->items[i])) : quantity{whole(map->items[i])};
  return made;
}

struct quota_findings {
  bool asked = false;
  queues::capacity_scheduling::quota_verdict verdict = {};
  std::map<std::string, std::string> victims;  ///< by node
  std::string chosen;                          ///< node and victims
};

/// The plugin, asked about each node by itself before it chooses one.
struct quota_probe : capacity_scheduling_policy {
  std::shared_ptr<quota_findings> found;
  explicit quota_probe(std::shared_ptr<quota_findings> into) : found(std::move(into)) {}

  static std::string text(const cluster_view& cluster, std::span<const pod_id> victims) {
    names made;
    for (const pod_id one : victims) made.emplace_back(cluster.pod(one)->name());
    std::ranges::sort(made);
    return fmt::format("{}", fmt::join(made, ","));
  }
  victim_plan post_filter(trial& attempt, const pod_info& pod) const {
    found->asked = true;
    found->verdict = check(pod, attempt.cluster());
    std::vector<node_id> nodes;
    attempt.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    for (const node_id node : nodes) {
      node_candidate made;
      const status said = dry_run(attempt, pod, node, made);
      found->victims[std::string{attempt.cluster().node(node)->name()}] =
          said.ok()                          ? text(attempt.cluster(), made.victims)
          : said.code == code::unschedulable ? "none"
                                             : "an error";
    }
    victim_plan plan = capacity_scheduling_policy::post_filter(attempt, pod);
    if (plan.verdict.ok())
      found->chosen =
          fmt::format("{} {}", attempt.cluster().node(plan.nominated)->name(), text(attempt.cluster(), plan.victims));
    return plan;
  }
};

class capacity_case {
 public:
  capacity_case(const kube::value& recorded, const std::string& file, tally& into)
      : recorded_(&recorded), file_(&file), into_(&into), name_(text_field(recorded, "name", file)) {}

  void build() {
    for (const kube::value& one : field(*recorded_, "quotas", *file_).items) {
      const std::string& ns = text_field(one, "namespace", *file_);
      queue_spec spec{.name = ns, .namespaces = {ns}};
      spec.quotas = {{.guaranteed = amounts_of(one.find("min")), .limit = amounts_of(one.find("max"))}};
      must(cluster_.queues().add(spec));
    }
    for (const kube::value& one : field(*recorded_, "nodes", *file_).items)
      must(cluster_.add_node(
          {.name = text_field(one, "name", *file_), .allocatable = amounts_of(one.find("allocatable"))}));
    for (const kube::value& one : field(*recorded_, "pods", *file_).items) {
      pod_spec spec = read_pod(one);
      spec.node = find_node(cluster_, text_field(one, "node", *file_), one, *file_);
      if (const kube::value* start = one.find("start")) spec.start_time = std::chrono::seconds{whole(*start)};
      must(cluster_.add_pod(spec));
    }
    for (const kube::value& one : field(*recorded_, "nominated", *file_).items) {
      pod_spec spec = read_pod(one);
      spec.nominated_node = find_node(cluster_, text_field(one, "node", *file_), one, *file_);
      spec.scheduling_gates = {"example.com/stands-in-the-queue"};
      must(cluster_.add_pod(spec));
    }
    pod_ = must(cluster_.add_pod(read_pod(field(*recorded_, "pod", *file_))));
  }

  void run() {
    run_cycle();
    if (into_->exceptions.contains(name_) && !differs_)
      into_->add({name_, "cluster", "", "an exception, as listed", "no difference"});
  }

 private:
  void run_cycle() {
    const auto found = std::make_shared<quota_findings>();
    gangsched::scheduler scheduler{
        cluster_, profile{priority_sort{}, scheduling_gates{}, node_resources_fit{}, quota_probe{found}}};
    const cycle done = scheduler.schedule_cycle(instant{1});
    compare("verdict", "cycle", "", done.error() == nullptr ? "" : done.error()->message());
    const kube::value& prefilter = field(*recorded_, "prefilter", *file_);
    const kube::value* ok = prefilter.find("ok");
    const bool admitted = ok != nullptr && ok->text == "true";
    const names fitting = texts(recorded_->find("fits"));
    const bool runs = admitted && !fitting.empty();
    const auto its = std::ranges::find(done.decisions(), pod_, &decision::pod);
    const bool bound = its != done.decisions().end() && its->kind == decision_kind::bind;
    const std::string where{bound ? cluster_.name_of(its->node) : ""};
    compare("verdict", "node", runs ? "one that fits" : "",
            runs && std::ranges::find(fitting, where) != fitting.end() ? "one that fits" : where);
    if (runs) return;
    const std::string_view reasons[]{"fits", "max", "min"};
    compare("verdict", "", admitted ? "fits" : text_field(prefilter, "reason", *file_),
            found->asked ? std::string{reasons[static_cast<std::size_t>(found->verdict.why)]} : "not asked");
    const kube::value& victims = field(*recorded_, "victims", *file_);
    bool chosen = found->chosen.empty();
    for (std::size_t i = 0; i < victims.keys.size(); ++i) {
      const kube::value& one = victims.items[i];
      names wanted = texts(&one);
      std::ranges::sort(wanted);
      const std::string expected = one.kind == kube::value_kind::null     ? "none"
                                   : one.kind == kube::value_kind::object ? "an error"
                                                                          : fmt::format("{}", fmt::join(wanted, ","));
      compare("victims", victims.keys[i], expected, found->victims[victims.keys[i]]);
      chosen = chosen || found->chosen == fmt::format("{} {}", victims.keys[i], expected);
    }
    compare("victims", "chosen", "of one of the nodes", chosen ? "of one of the nodes" : found->chosen);
  }

  pod_spec read_pod(const kube::value& one) const {
    pod_spec made{.name = text_field(one, "name", *file_), .ns = text_field(one, "namespace", *file_)};
    made.containers.push_back({.requests = amounts_of(one.find("requests"))});
    if (const kube::value* priority = one.find("priority")) made.priority = static_cast<std::int32_t>(whole(*priority));
    return made;
  }
  void compare(const std::string& level, const std::string& node, const std::string& expected, const std::string& got) {
    const bool listed = expected != got && into_->exceptions.contains(name_);
    if (listed) ++into_->levels["cluster " + level].exceptions;
    differs_ = differs_ || listed;
    into_->compare("cluster " + level, expected == got || listed, [&] {
      return difference{name_, "cluster " + level, node, expected, got};
    });
  }

  const kube::value* recorded_;
  const std::string* file_;
  tally* into_;
  std::string name_;
  gangsched::cluster cluster_;
  pod_id pod_;
  bool differs_ = false;  ///< where that is listed
};

}  // namespace

void run_capacity_case_on_cluster(const kube::value& recorded, const std::string& file, tally& into) {
  capacity_case one{recorded, file, into};
  one.build();
  one.run();
}

}  // namespace gangsched::conformance
