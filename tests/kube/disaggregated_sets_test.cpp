#include <set>

#include "kube/group_reading.hpp"

// DisaggregatedSet: LeaderWorkerSets for each role.
namespace gangsched::testing::disaggregated_sets_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string role(const std::string& name, int replicas, int size) {
  return "{name: " + name + ", metadata: {labels: {app: llm}}, spec: {replicas: " + std::to_string(replicas) +
         ", leaderWorkerTemplate: {size: " + std::to_string(size) +
         ", workerTemplate: {metadata: {labels: {app: llm}}, spec: {containers: [{name: c, resources: {requests: {cpu: "
         "1}}}]}}}}}";
}
std::string set(const std::string& roles, const std::string& more = "", const std::string& metadata = "") {
  return "{apiVersion: disaggregatedset.x-k8s.io/v1, kind: DisaggregatedSet, metadata: {name: d, namespace: ml" +
         metadata + "}, spec: {" + more + "roles: [" + roles + "]}}\n---\n";
}

}  // namespace

TEST_CASE("a DisaggregatedSet is a LeaderWorkerSet for each role", "[kube][groups]") {
  const manifests all = fine(set(role("prefill", 2, 4) + ", " + role("decode", 1, 2)));
  CHECK(warned_lines(all) == "");
  REQUIRE(all.groups.size() == 3);
  CHECK(all.pods.size() == 10);
  std::map<std::string, int> members;
  std::set<std::string> names;
  for (const pod_manifest& pod : all.pods) {
    CHECK(pod.spec.ns == "ml");
    CHECK(pod.spec.labels.at("disaggregatedset.x-k8s.io/name") == "d");
    CHECK(pod.spec.labels.at("disaggregatedset.x-k8s.io/slice") == "0");
    const std::string& role = pod.spec.labels.at("disaggregatedset.x-k8s.io/role");
    CHECK(pod.spec.labels.at("app") == "d-0-" + role);  // over the template's own
    const std::string& revision = pod.spec.labels.at("disaggregatedset.x-k8s.io/revision");
    CHECK(pod.spec.name.starts_with("d-0-" + revision + "-" + role + "-"));
    ++members[role];
    names.insert(pod.spec.name);
  }
  CHECK(members == std::map<std::string, int>{{"decode", 2}, {"prefill", 8}});
  CHECK(names.size() == 10);
  CHECK(std::get<gang>(all.groups[0].spec.policy).min_count == 4);
  CHECK(std::get<gang>(all.groups[2].spec.policy).min_count == 2);
  CHECK(all.groups[0].spec.name.starts_with("d-0-"));
  CHECK(all.groups[0].spec.name.ends_with("-prefill-0"));
}

TEST_CASE("slices multiply it, and one that is deleted or has its sets makes none", "[kube][groups]") {
  const std::string two = role("prefill", 1, 2) + ", " + role("decode", 1, 1);
  CHECK(fine(set(two, "slices: 3, ")).pods.size() == 9);
  CHECK(fine(set(two, "", ", deletionTimestamp: '2026-01-01T00:00:00Z'")).pods.empty());
  const std::string made =
      "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: d-0-x-prefill, namespace: ml, "
      "ownerReferences: [{kind: DisaggregatedSet, name: d, controller: true}]}, spec: {replicas: 1, "
      "leaderWorkerTemplate: {size: 3, "
      "workerTemplate: {spec: {containers: [{name: c}]}}}}}\n---\n";
  CHECK(fine(set(two) + made).pods.size() == 3);
  CHECK(fine(made + set(two)).pods.size() == 3);
}

TEST_CASE("a placement policy keeps a slice together and others away", "[kube][groups]") {
  const std::string roles = role("prefill", 1, 2) + ", " + role("decode", 1, 1);
  const auto words = [](const std::vector<pod_affinity_term>& terms) {
    std::string all;
    for (const pod_affinity_term& one : terms) {
      all += one.topology_key + ":";
      for (const selector_requirement& each : one.selector->match_expressions) {
        const std::string key = each.key.substr(each.key.find('/') + 1);
        const bool has = each.op == selector_operator::exists;
        all += " " + key +
               (has                                ? ""
                : each.op == selector_operator::in ? "=" + each.values.at(0)
                                                   : "!=" + each.values.at(0));
      }
      all += "; ";
    }
    return all;
  };
  const auto asked = [&](const std::string& policy) {
    std::set<std::string> all;
    for (const pod_manifest& pod : fine(set(roles, "slices: 2, placementPolicy: {" + policy + "}, ")).pods)
      all.insert(words(pod.spec.affinity_to_pods.required) + "not " + words(pod.spec.anti_affinity_to_pods.required));
    return all;
  };
  using texts = std::set<std::string>;
  CHECK(asked("type: None") == texts{"not "});
  CHECK(asked("type: ExclusiveSlice, topology: zone") ==
        texts{"zone: name=d slice=0; not zone: name=d slice slice!=0; ",
              "zone: name=d slice=1; not zone: name=d slice!=1; "});
  CHECK(asked("type: ExclusiveTopology, topology: rack") ==
        texts{"rack: name=d slice=0; not rack: name=d slice slice!=0; rack: name name!=d slice; ",
              "rack: name=d slice=1; not rack: name=d slice!=1; rack: name name!=d slice; "});
  // What the template has of its own stays.
  std::string own = role("a", 1, 1);
  own.insert(own.find("containers:"),
             "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
             "zone, labelSelector: {matchLabels: {a: b}}}]}}, ");
  const manifests all = fine(set(own, "placementPolicy: {type: ExclusiveSlice, topology: zone}, "));
  CHECK(all.pods.at(0).spec.affinity_to_pods.required.size() == 2);
  CHECK(warned_lines(all) == "");
}

TEST_CASE("what is wrong with a DisaggregatedSet is told", "[kube][groups]") {
  CHECK(reading_refusal(set("{name: a}")).find("spec.roles[0]: needs a spec") != std::string::npos);
  CHECK(reading_refusal(set(role("a", 1, 1) + ", " + role("a", 1, 1))).find("there is another role \"a\"") !=
        std::string::npos);
  CHECK(reading_refusal(set(role("b", 1, 1) + ", {name: a, spec: {leaderWorkerTemplate: {size: 2}}}"))
            .find("spec.roles[1].spec: needs a workerTemplate") != std::string::npos);
  CHECK(reading_refusal(set(role("b", 1, 1) + ", {name: a, spec: {replicas: x, leaderWorkerTemplate: {size: 2}}}"))
            .find("spec.roles[1].spec.replicas: ") != std::string::npos);
  // A warning inside a role is told once, not for each slice.
  std::string odd = role("b", 1, 1);
  odd.insert(odd.find("replicas:"), "speed: 9, ");
  const std::string told = warned_lines(fine(set(role("a", 1, 1) + ", " + odd, "slices: 3, ")));
  const std::string where = "spec.roles[1].spec.speed: there is no such field";
  CHECK(told.find(where) != std::string::npos);
  CHECK(told.find(where) == told.rfind(where));
  CHECK(reading_refusal(set(role("a", 1, 1), "placementPolicy: {type: Near, topology: zone}, "))
            .find("spec.placementPolicy.type: \"Near\"") != std::string::npos);
  CHECK(reading_refusal(set(role("a", 1, 1), "placementPolicy: {type: ExclusiveSlice, topology: '!!'}, "))
            .find("spec.placementPolicy") != std::string::npos);
  CHECK(reading_refusal(set(role("a", 1, 1), "placementPolicy: {type: ExclusiveSlice}, "))
            .find("spec.placementPolicy: needs a topology") != std::string::npos);
  CHECK(reading_refusal(set(role("a", 1, 400)), {.max_pods = 100}).find("more than") != std::string::npos);
}

}  // namespace gangsched::testing::disaggregated_sets_test
