#include <algorithm>
#include <limits>

#include "gangsched/kube/configuration.hpp"
#include "gangsched/profiles.hpp"
#include "kube/group_reading.hpp"

// What small files may ask for is bounded, and refused before it is made. These cases would take minutes or all memory otherwise.

namespace gangsched::testing::limits_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string pod(int number) {
  return "---\nkind: Pod\napiVersion: v1\nmetadata: {name: p" + std::to_string(number) + "}\n";
}
std::string controller(const std::string& api, const std::string& kind, const std::string& spec) {
  return "---\napiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: x}\nspec: {" + spec + "}\n";
}

}  // namespace

TEST_CASE("copies of templates are refused before the first is made", "[kube][limits]") {
  const std::string most = std::to_string(std::numeric_limits<std::int32_t>::max());
  const std::string pods = ", template: {spec: {containers: [{name: c}]}}";
  for (const auto& [api, kind, spec] : std::initializer_list<std::tuple<const char*, const char*, std::string>>{
           {"apps/v1", "Deployment", "replicas: " + most + pods},
           {"apps/v1", "ReplicaSet", "replicas: " + most + pods},
           {"apps/v1", "StatefulSet", "replicas: " + most + pods},
           {"v1", "ReplicationController", "replicas: " + most + pods},
           {"batch/v1", "Job", "parallelism: " + most + ", completions: " + most + pods},
           {"batch/v1", "Job", "completionMode: Indexed, parallelism: " + most + ", completions: " + most + pods},
           {"batch/v1", "CronJob", "jobTemplate: {spec: {parallelism: " + most + pods + "}}"}}) {
    INFO(kind);
    CHECK(reading_refusal(controller(api, kind, spec)).ends_with(": spec: there would be more than 1000000 pods"));
    CHECK(reading_refusal(controller(api, kind, spec), {.expand = false}) == "fine");
  }
  CHECK(reading_refusal(controller("batch.volcano.sh/v1alpha1", "Job", "tasks: [{replicas: " + most + pods + "}]")) ==
        "a.yaml:5: Job default/x: spec: there would be more than 1000000 pods");
  CHECK(reading_refusal(controller(
            "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
            "replicas: " + most + ", leaderWorkerTemplate: {size: " + most + ", workerTemplate: {spec: {}}}")) ==
        "a.yaml:5: LeaderWorkerSet default/x: spec: there would be more than 1000000 pods");
  CHECK(reading_refusal(controller("jobset.x-k8s.io/v1alpha2", "JobSet",
                                   "replicatedJobs: [{name: a, replicas: " + most +
                                       ", template: {spec: {parallelism: " + most + ", template: {spec: {}}}}}]")) ==
        "a.yaml:5: JobSet default/x: spec.replicatedJobs[0]: there would be more than 1000000 pods");
}

TEST_CASE("pods of a DaemonSet are counted before they are made", "[kube][limits]") {
  std::string nodes, labels;
  for (int i = 0; i < 8'000; ++i) {
    nodes += "---\n{apiVersion: v1, kind: Node, metadata: {name: n" + std::to_string(i) + "}}\n";
    labels += "k" + std::to_string(i) + ": " + std::string(60, 'v') + ", ";
  }
  CHECK(reading_refusal(
            nodes + controller("apps/v1", "DaemonSet", "template: {metadata: {labels: {" + labels + "}}, spec: {}}"))
            .ends_with("DaemonSet default/x: spec: there would be more than 1000000 pods"));
}

TEST_CASE("a group has a bounded number of sub-groups", "[kube][limits]") {
  const auto job = [](int parts) {
    const std::string count = std::to_string(parts);
    return controller("batch.volcano.sh/v1alpha1", "Job",
                      "tasks: [{name: t, replicas: " + count + ", partitionPolicy: {totalPartitions: " + count +
                          ", partitionSize: 1}, template: {spec: {containers: [{name: c}]}}}]");
  };
  CHECK(reading_refusal(job(10'000)) == "fine");
  CHECK(reading_refusal(job(10'001)) ==
        "a.yaml:2: Job default/x: spec.tasks.partitionPolicy: makes more than 10000 sub-groups");
}

TEST_CASE("the limit of pods is for all of them together", "[kube][limits]") {
  const auto of = [](const std::string& name, int count) {
    return "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: " + name +
           "}\nspec: {replicas: " + std::to_string(count) + ", template: {spec: {}}}\n";
  };
  const auto job = [](const std::string& name, int count) {
    return "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " + name +
           "}\nspec: {tasks: [{replicas: " + std::to_string(count) + ", template: {spec: {}}}]}\n";
  };
  CHECK(reading_refusal(pod(0) + pod(1) + of("a", 3) + job("b", 5), {.max_pods = 10}) == "fine");
  CHECK(reading_refusal(pod(0) + pod(1) + of("a", 3) + job("b", 5), {.max_pods = 9}) ==
        "a.yaml:15: Job default/b: spec: there would be more than 9 pods");
  CHECK(reading_refusal(pod(0) + pod(1) + of("a", 3) + job("b", 5), {.max_pods = 4}) ==
        "a.yaml:18: Job default/b: spec: there would be more than 4 pods");
  CHECK(reading_refusal(pod(0) + pod(1) + of("a", 3), {.max_pods = 4}) ==
        "a.yaml:10: StatefulSet default/a: spec: there would be more than 4 pods");
  CHECK(reading_refusal(pod(0) + pod(1) + pod(2), {.max_pods = 2}) ==
        "a.yaml:10: Pod default/p2: there would be more than 2 pods");
  // Many workloads that are few pods each are as many together.
  CHECK(reading_refusal(job("a", 6) + job("b", 6), {.max_pods = 10}) ==
        "a.yaml:10: Job default/b: spec: there would be more than 10 pods");
  // Who is there already is not made again.
  std::string there;
  for (int i = 0; i < 3; ++i)
    there += "---\nkind: Pod\napiVersion: v1\nmetadata: {name: a-" + std::to_string(i) + "}\n";
  CHECK(reading_refusal(there + of("a", 4), {.max_pods = 4}) == "fine");
}

TEST_CASE("copies of a long template count more than once", "[kube][limits]") {
  const std::string label = std::string(60, 'v');
  std::string labels;
  for (int i = 0; i < 200; ++i) labels += "k" + std::to_string(i) + ": " + label + ", ";
  const std::string long_one = "replicas: 10, template: {metadata: {labels: {" + labels + "}}, spec: {}}";
  CHECK(reading_refusal(controller("apps/v1", "ReplicaSet", "replicas: 10, template: {spec: {}}"), {.max_pods = 10}) ==
        "fine");
  CHECK(reading_refusal(controller("apps/v1", "ReplicaSet", long_one), {.max_pods = 50}) ==
        "a.yaml:2: ReplicaSet default/x: spec: there would be more than 50 pods");
  CHECK(reading_refusal(controller("apps/v1", "ReplicaSet", long_one), {.max_pods = 200}) == "fine");
}

TEST_CASE("budgets are counted at once as they are one by one", "[kube][limits]") {
  manifests all;
  const auto add = [&](const char* ns, label_map selector, std::vector<selector_requirement> terms,
                       std::optional<std::int32_t> said) {
    disruption_budget_manifest& made = all.budgets.emplace_back();
    made.ns = ns;
    made.name = "b" + std::to_string(all.budgets.size());
    made.selector.emplace(label_selector{std::move(selector), std::move(terms)});
    made.max_unavailable = count_or_percent{.number = 30, .percent = true};
    made.disruptions_allowed = said;
  };
  add("a", {{"app", "x"}}, {}, {});
  add("a", {{"app", "x"}, {"tier", "front"}}, {}, {});
  add("a", {}, {{.key = "tier", .op = selector_operator::exists}}, {});
  add("a", {}, {}, {});
  add("b", {{"app", "x"}}, {}, {});
  add("b", {{"app", "none"}}, {}, {});
  add("a", {{"app", "y"}}, {}, 7);
  all.budgets.emplace_back().ns = "a";  // selects nothing
  for (int i = 0; i < 40; ++i) {
    pod_manifest& one = all.pods.emplace_back();
    one.spec.ns = i % 3 == 0 ? "b" : "a";
    one.spec.labels = {{"app", i % 2 == 0 ? "x" : "y"}};
    if (i % 5 == 0) one.spec.labels.emplace("tier", i % 4 == 0 ? "front" : "back");
    if (i % 7 != 0) one.node = "n";
    one.spec.terminating = i % 11 == 0;
  }
  std::vector<std::int32_t> each;
  for (const disruption_budget_manifest& one : all.budgets) each.push_back(disruptions_allowed(all, one));
  CHECK(disruptions_allowed(all) == each);
  CHECK(std::ranges::count(each, 0) < 5);
  // Among some of the pods: as if the others were not there.
  std::vector<std::size_t> some;
  manifests rest = all;
  rest.pods.clear();
  for (std::size_t i = 0; i < all.pods.size(); ++i)
    if (i % 3 != 1) some.push_back(i), rest.pods.push_back(all.pods[i]);
  CHECK(disruptions_allowed(all, some) == disruptions_allowed(rest));
  CHECK(disruptions_allowed(all, some) != each);
}

TEST_CASE("HyperNodes do not look at nodes without bound", "[kube][limits]") {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "---\nkind: Node\napiVersion: v1\nmetadata: {name: n" + std::to_string(i) + "}\n";
  text +=
      "---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: all}\nspec:\n  tier: 1\n  "
      "members:\n";
  std::string many = text;
  for (int i = 0; i < 20'001; ++i) many += "  - {type: Node, selector: {labelMatch: {matchLabels: {a: b}}}}\n";
  CHECK(reading_refusal(text + "  - {type: Node, selector: {regexMatch: {pattern: ^n}}}\n") == "fine");
  CHECK(reading_refusal(many) ==
        "a.yaml:4002: HyperNode all: spec.members: nodes would be looked at more than 20000000 times");
}

TEST_CASE("annotations cannot multiply what they say", "[kube][limits]") {
  const auto annotated = [](const std::string& text) {
    return reading_refusal(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    gangsched.dev/devices: '" + text + "'\n");
  };
  std::string copies;
  for (int i = 0; i < 300; ++i) copies += ", *a";
  CHECK(annotated("[&a {name: x, models: [a, b]}]") == "fine");
  CHECK(annotated("[&a {name: x, models: [a, b]}" + copies + "]")
            .ends_with("is neither JSON nor YAML: aliases make too much of the file"));
  CHECK(annotated("[" + std::string(300'000, ' ') + "]")
            .ends_with("is neither JSON nor YAML: has more than 262144 bytes"));
  std::string cpus = "0-9";
  for (int i = 0; i < 1000; ++i) cpus += ",0-9";
  const std::string reserved =
      "apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\nmetadata:\n  name: node\n  annotations:\n"
      "    kubelet.koordinator.sh/cpu-manager-policy: '{\"policy\": \"static\", \"reservedCPUs\": \"" +
      cpus +
      "\"}'\nzones: [{name: node-0, type: Node, resources: [{name: cpu, capacity: 4, allocatable: 4, available: "
      "4}]}]\n";
  CHECK(reading_refusal(reserved).find("is no list of CPUs like 0-3,8") != std::string::npos);
}

TEST_CASE("a configuration has a bounded number of profiles and plugins", "[kube][limits]") {
  const plugin_registry registry = builtin_plugins();
  const auto told = [&](const std::string& text) {
    const auto made = read_configuration({"c.yaml", text}, registry);
    return made ? "fine" : made.error().message();
  };
  std::string profiles = "profiles:\n", plugins = "profiles: [{plugins: {score: {disabled: [";
  for (int i = 0; i <= 1000; ++i) profiles += "- {}\n", plugins += "{name: x},";
  CHECK(told(profiles) == "c.yaml:2: KubeSchedulerConfiguration: profiles: has more than 1000 entries");
  CHECK(told(plugins + "]}}}]") ==
        "c.yaml:1: profile default-scheduler: profiles[0].plugins.score.disabled: has more than 1000 entries");
}

}  // namespace gangsched::testing::limits_test
