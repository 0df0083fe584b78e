#include <fmt/format.h>

#include <memory>

#include "conformance/cases.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/preemption_toleration.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/scheduler.hpp"

// scheduler-plugins/toleration.jsonl: who need not go for whom, asked of PreemptionToleration while it looks for victims.
namespace gangsched::conformance {
namespace {

constexpr instant toleration_now = std::chrono::hours{1000};

/// Says of the pod that runs whether it is exempt from the one that waits.
struct toleration_probe : preemption_toleration {
  std::shared_ptr<std::string> said = std::make_shared<std::string>();
  victim_plan post_filter(trial& attempt, const pod_info& pod) const {
    attempt.cluster().each_pod([&](const pod_info& other) {
      if (!other.node()) return;
      const std::optional<instant> until = exempt_until(other, pod, attempt.cluster());
      *said = !until ? "an error" : *until > attempt.now() ? "exempt" : "not exempt";
    });
    return preemption_toleration::post_filter(attempt, pod);
  }
};

bool says(const kube::value& of, std::string_view key) {
  const kube::value* found = of.find(key);
  return found != nullptr && found->text == "true";
}
std::int64_t number(const kube::value& of, std::string_view key, const std::string& file) {
  return std::stoll(field(of, key, file).text);
}

/// A class as its manifest has it.
std::string manifest_of(const kube::value& one, const std::string& file) {
  std::string annotations;
  const std::pair<const char*, const char*> keys[] = {{"minimumPreemptable", "minimum-preemptable-priority"},
                                                      {"tolerationSeconds", "toleration-seconds"}};
  for (const auto& [recorded, key] : keys) {
    if (const kube::value* text = one.find(recorded))
      annotations += fmt::format("{}\"preemption-toleration.scheduling.x-k8s.io/{}\":\"{}\"",
                                 annotations.empty() ? "" : ",", key, text->text);
  }
  return fmt::format(
      "{{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{{\"name\":\"{}\","
      "\"annotations\":{{{}}}}},\"value\":{}}}\n",
      text_field(one, "name", file), annotations, number(one, "value", file));
}

std::string ask(const kube::value& probe, const std::string& classes, const std::string& file) {
  gangsched::cluster cluster;
  if (!classes.empty()) must(kube::apply(cluster, must(kube::read(kube::source{"classes.yaml", classes}))));
  const node_id node =
      must(cluster.add_node({.name = "n", .allocatable = {{"cpu", quantity{1}}, {"pods", quantity{9}}}}));
  const kube::value& recorded = field(probe, "victim", file);
  pod_spec victim{.name = "victim", .containers = {{.requests = {{"cpu", quantity{1}}}}}};
  victim.node = node;
  if (const kube::value* named = recorded.find("class")) victim.priority_class = named->text;
  if (!says(recorded, "notScheduled") && recorded.find("scheduledAgo") != nullptr)
    victim.start_time = toleration_now - std::chrono::seconds{number(recorded, "scheduledAgo", file)};
  const auto added = cluster.add_pod(victim);
  if (!added) return added.error().code == errc::unknown ? "an error" : added.error().message();
  pod_spec preemptor{.name = "preemptor", .containers = victim.containers};
  const kube::value& its = field(probe, "preemptor", file);
  preemptor.priority = static_cast<std::int32_t>(number(its, "priority", file));
  if (says(its, "never")) preemptor.preemption = preemption_policy::never;
  must(cluster.add_pod(preemptor));
  const toleration_probe plugin;
  scheduler asked{cluster, profile{priority_sort{}, node_resources_fit{}, plugin}};
  const cycle done = asked.schedule_cycle(toleration_now);
  return done.error() != nullptr ? done.error()->message() : *plugin.said;
}

}  // namespace

void run_toleration_case(const kube::value& recorded, const std::string& file, tally& into) {
  std::string classes;
  for (const kube::value& one : field(recorded, "classes", file).items) classes += "---\n" + manifest_of(one, file);
  std::size_t count = 0;
  for (const kube::value& probe : field(recorded, "probes", file).items) {
    const std::string where = fmt::format("{} probe {}", text_field(recorded, "name", file), count++);
    const std::string wanted = says(probe, "error") ? "an error" : says(probe, "exempted") ? "exempt" : "not exempt";
    const std::string got = ask(probe, classes, file);
    into.compare("exempted", wanted == got, [&] { return difference{where, "exempted", "", wanted, got}; });
  }
}

}  // namespace gangsched::conformance
