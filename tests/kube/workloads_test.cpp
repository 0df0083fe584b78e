#include "gangsched/model/state.hpp"
#include "kube/group_objects.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::workloads_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string kube_group(const std::string& name, const std::string& spec, const std::string& kind = "PodGroup") {
  return "apiVersion: scheduling.k8s.io/v1alpha3\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec +
         "}\n---\n";
}
std::string gang_of(int count) { return "schedulingPolicy: {gang: {minCount: " + std::to_string(count) + "}}"; }
std::string gang_of_groups(int count) {
  return "schedulingPolicy: {gang: {minGroupCount: " + std::to_string(count) + "}}";
}

}  // namespace

TEST_CASE("a tree of groups is read in any order of its objects", "[kube][workloads]") {
  const std::string ref = "workloadRef: {workloadName: w, templateName: t}, ";
  const std::vector<std::string> parts{
      kube_group("leaf", ref + "parentCompositePodGroupName: root, " + gang_of(2) +
                             ", disruptionMode: {all: {}}, preemptionPolicy: Never, priority: 7"),
      kube_group("root",
                 ref + gang_of_groups(1) + ", disruptionMode: all, schedulingConstraints: {topology: [{key: rack}]}",
                 "CompositePodGroup"),
      pod("p", "labels: {}", ", schedulingGroup: {podGroupName: leaf}, priority: 7")};
  for (const std::vector<std::size_t>& order : std::vector<std::vector<std::size_t>>{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    std::string text;
    for (const std::size_t i : order) text += parts[i];
    const manifests all = fine(text);
    CHECK(all.warnings.empty());
    CHECK(gang_in(all, "leaf").min_count == 2);
    CHECK(group(all, "leaf").parent == "root");
    CHECK(group(all, "leaf").spec.disruption == disruption_mode::all);
    CHECK(group(all, "leaf").spec.preemption == preemption_policy::never);
    CHECK(group(all, "leaf").spec.workload == "w");
    CHECK(gang_in(all, "root", true).min_count == 1);
    CHECK(group(all, "root", true).spec.topology.within == std::vector<std::string>{"rack"});
    cluster on;
    REQUIRE(apply(on, all));
    const auto leaf = on.find_group("default", "leaf"), root = on.find_group("default", "root", true);
    REQUIRE((leaf && root));
    CHECK(inside(on).groups.parent[leaf->row] == root->row);
    CHECK(inside(on).groups.members[leaf->row] == 1);
  }
}

TEST_CASE("disruption modes are words of 1.36, or objects", "[kube][workloads]") {
  const auto mode = [](const std::string& text) {
    return group(fine(kube_group("g", gang_of(1) + ", disruptionMode: " + text)), "g").spec.disruption;
  };
  CHECK(mode("Pod") == disruption_mode::single);
  CHECK(mode("PodGroup") == disruption_mode::all);
  CHECK(mode("{single: {}}") == disruption_mode::single);
  CHECK(mode("{all: {}}") == disruption_mode::all);
  CHECK(refusal(kube_group("g", gang_of(1) + ", disruptionMode: {}")) ==
        "a.yaml:4: PodGroup default/g: spec.disruptionMode: needs either single or all");
  CHECK(refusal(kube_group("g", gang_of(1) + ", disruptionMode: some"))
            .find("spec.disruptionMode: \"some\" is not one of") != std::string::npos);
}

TEST_CASE("templates that nobody made groups of become groups", "[kube][workloads]") {
  const std::string workload = R"(
apiVersion: scheduling.k8s.io/v1alpha3
kind: Workload
metadata: {name: w, namespace: team}
spec:
  controllerRef: {apiGroup: ray.io, kind: RayCluster, name: w}
  compositePodGroupTemplates:
  - name: root
    schedulingPolicy: {gang: {minGroupCount: 2}}
    priorityClassName: high
    podGroupTemplates:
    - {name: driver, schedulingPolicy: {basic: {}}, priorityClassName: high}
    compositePodGroupTemplates:
    - name: workers
      schedulingPolicy: {basic: {}}
      podGroupTemplates:
      - {name: a, schedulingPolicy: {gang: {minCount: 3}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}
)";
  const manifests all = fine(workload);
  REQUIRE(all.groups.size() == 4);
  CHECK(gang_in(all, "w-root", true).min_count == 2);
  CHECK(group(all, "w-driver").parent == "w-root");
  CHECK(group(all, "w-workers", true).parent == "w-root");
  CHECK(group(all, "w-a").parent == "w-workers");
  CHECK(gang_in(all, "w-a").min_count == 3);
  CHECK(group(all, "w-a").spec.ns == "team");
  CHECK(group(all, "w-a").from.line == 17);
  cluster on;
  REQUIRE(apply(on, all));
  CHECK(inside(on).groups.record[on.find_group("team", "w-driver")->row]->spec.priority == 9);

  CHECK(fine(workload, {.expand = false}).groups.empty());
  // Once somebody made one of them, the rest is somebody's too.
  const manifests made = fine(workload +
                              "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"
                              "metadata: {name: mine, namespace: team}\n"
                              "spec: {workloadRef: {workloadName: w, templateName: a}}\n");
  REQUIRE(made.groups.size() == 1);
  CHECK(gang_in(made, "mine").min_count == 3);
}

TEST_CASE("a Workload of 1.35 has its groups inside, one for each replica that pods name", "[kube][workloads]") {
  const manifests all = fine(
      "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\nmetadata: {name: w}\n"
      "spec: {podGroups: [{name: g, policy: {gang: {minCount: 2}}}]}\n---\n" +
      pod("p", "labels: {}", ", workloadRef: {name: w, podGroup: g, podGroupReplicaKey: \"1\"}"));
  CHECK(all.warnings.empty());
  CHECK(all.pods.at(0).group == "w-g-1");
  CHECK(gang_in(all, "w-g").min_count == 2);
  CHECK(gang_in(all, "w-g-1").min_count == 2);
}

TEST_CASE("what is wrong with Workloads and trees is named", "[kube][workloads]") {
  const auto workload = [](const std::string& spec) {
    return refusal("apiVersion: scheduling.k8s.io/v1alpha3\nkind: Workload\nmetadata: {name: w}\nspec: " + spec + "\n");
  };
  const std::string leaf = "schedulingPolicy: {basic: {}}";
  CHECK(workload("{podGroupTemplates: [{name: a, " + leaf + "}, {name: a, " + leaf + "}]}") ==
        "a.yaml:4: Workload default/w: spec.podGroupTemplates[1]: there is another template \"a\"");
  CHECK(workload("{podGroupTemplates: [{name: a}]}") ==
        "a.yaml:4: Workload default/w: spec.podGroupTemplates[0]: needs a schedulingPolicy");
  CHECK(
      workload("{podGroupTemplates: [], compositePodGroupTemplates: []}") ==
      "a.yaml:4: Workload default/w: spec.compositePodGroupTemplates: podGroupTemplates and compositePodGroupTemplates "
      "exclude each other");
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += (i == 0 ? "{name: t" : ", {name: t") + std::to_string(i) + ", " + leaf + "}";
  CHECK(workload("{podGroupTemplates: [" + nine + "]}") ==
        "a.yaml:4: Workload default/w: spec.podGroupTemplates: 9 templates are more than 8");
  std::string deep = "podGroupTemplates: [{name: leaf, " + leaf + "}]";
  for (const char* name : {"d", "c", "b"})
    deep = "compositePodGroupTemplates: [{name: " + std::string{name} + ", " + leaf + ", " + deep + "}]";
  CHECK(workload("{" + deep + "}") == "fine");
  CHECK(workload("{compositePodGroupTemplates: [{name: a, " + leaf + ", " + deep + "}]}")
            .find("the tree has more than 4 levels") != std::string::npos);

  const std::string ref = "workloadRef: {workloadName: w, templateName: t}, ";
  CHECK(refusal(kube_group("g", gang_of(1) + ",\n  priority: 1000000001")) ==
        "a.yaml:5: PodGroup default/g: spec.priority: 1000000001 is above 1000000000");
  CHECK(refusal(kube_group("g", "parentCompositePodGroupName: r, " + gang_of(1))) ==
        "a.yaml:4: PodGroup default/g: spec: parentCompositePodGroupName needs a workloadRef");
  CHECK(refusal(kube_group("g", gang_of_groups(1), "CompositePodGroup")) ==
        "a.yaml:4: CompositePodGroup default/g: spec: needs a workloadRef");
  CHECK(refusal(kube_group("g", "schedulingPolicy: {gang: {minCount: 0}}")) ==
        "a.yaml:4: PodGroup default/g: spec.schedulingPolicy.gang.minCount: 0 is not in 1 to 2147483647");
  const auto in = [&](const std::string& name, const std::string& parent, const std::string& more = "") {
    return kube_group(name, ref + "parentCompositePodGroupName: " + parent + ", " + gang_of_groups(1) + more,
                      "CompositePodGroup");
  };
  CHECK(refusal(in("a", "b") + in("b", "a")) ==
        "a.yaml:6: CompositePodGroup default/b: spec.parentCompositePodGroupName: is below the group itself");
  CHECK(refusal(in("a", "b") + in("b", "c") + in("c", "d") + in("d", "e"))
            .find("spec.parentCompositePodGroupName: the tree would have more than 4 levels") != std::string::npos);
  CHECK(refusal(in("a", "b", ", priority: 1") + in("b", "c", ", priority: 2"))
            .find("spec.priority: differs from that of") != std::string::npos);
  CHECK(refusal("apiVersion: scheduling.k8s.io/v1alpha3\nkind: Workload\nmetadata: {name: w}\nspec: "
                "{podGroupTemplates: [{name: a, " +
                leaf + "}]}\n---\n" + kube_group("g", ref + gang_of(1))) ==
        "a.yaml:6: PodGroup default/g: spec.workloadRef.templateName: the Workload \"w\" has no template \"t\"");
  CHECK(refusal(kube_group("g", "workloadRef: {workloadName: w, templateName: t}")) ==
        "a.yaml:1: PodGroup default/g: spec: needs a schedulingPolicy");
}

TEST_CASE("groups that are not in the files are waited for, and one warning says so", "[kube][workloads]") {
  const manifests all =
      fine(pod("p", "labels: {scheduling.x-k8s.io/pod-group: later}") +
           pod("q", "labels: {scheduling.x-k8s.io/pod-group: later}") +
           kube_group(
               "g", "workloadRef: {workloadName: w, templateName: t}, parentCompositePodGroupName: r, " + gang_of(1)));
  CHECK(warned(all) ==
        std::vector<std::string>{
            "a.yaml:11: PodGroup default/g: spec.parentCompositePodGroupName: no composite pod group \"r\": "
            "it waits for it",
            "a.yaml:1: Pod default/p: no pod group \"later\": its members wait for it"});
  cluster on;
  REQUIRE(apply(on, all));
  const auto later = on.find_group("default", "later");
  REQUIRE(later);
  CHECK(inside(on).groups.record[later->row]->expected);
  CHECK(inside(on).groups.members[later->row] == 2);
  CHECK(on.find_group("default", "r", true));
}

TEST_CASE("pods name their group in one of many ways, and in no two", "[kube][workloads]") {
  const auto group_of = [](const std::string& meta) { return fine(pod("p", meta)).pods.at(0).group; };
  CHECK(group_of("labels: {scheduling.x-k8s.io/pod-group: g}") == "g");
  CHECK(group_of("annotations: {scheduling.k8s.io/group-name: g}") == "g");
  CHECK(group_of("annotations: {scheduling.volcano.sh/group-name: g}") == "g");
  CHECK(group_of("annotations: {pod-group-name: g}") == "g");
  CHECK(group_of("annotations: {unknown.example.com/group-name: g}").empty());
  CHECK(group_of("labels: {scheduling.x-k8s.io/pod-group: g}, annotations: {scheduling.k8s.io/group-name: g}") == "g");
  CHECK(
      refusal(pod("p", "labels: {scheduling.x-k8s.io/pod-group: g}, annotations: {scheduling.k8s.io/group-name: h}")) ==
      "a.yaml:1: Pod default/p: metadata.annotations[\"scheduling.k8s.io/group-name\"]: a member of two groups: of "
      "\"h\", "
      "and of \"g\" by metadata.labels[\"scheduling.x-k8s.io/pod-group\"]");
  CHECK(refusal(pod("p", "labels: {scheduling.x-k8s.io/pod-group: g}", ", schedulingGroup: {podGroupName: h}"))
            .find("a member of two groups") != std::string::npos);
  const auto parsed = parse_yaml({"one", pod("p", "labels: {scheduling.x-k8s.io/pod-group: g, ray.io/group: w}")});
  REQUIRE(parsed);
  const auto alone = read_pod(parsed->at(0).root, "one");
  REQUIRE(alone);
  CHECK(alone->group == "g");
  CHECK(alone->spec.role == "w");
}

TEST_CASE("pod groups of scheduler-plugins are read", "[kube][workloads]") {
  const auto with = [](const std::string& spec) {
    return "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {" + spec + "}\n";
  };
  const manifests all = fine(with("minMember: 3, scheduleTimeoutSeconds: 10, minResources: {cpu: 3}"));
  CHECK(gang_in(all, "g").min_count == 3);
  CHECK(gang_in(all, "g").timeout == std::chrono::seconds{10});
  CHECK(gang_in(fine(with("minMember: 3")), "g").timeout == std::chrono::seconds{60});
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings[0].field == "spec.minResources");
  CHECK(refusal(with("minMember: 0")) == "a.yaml:4: PodGroup default/g: spec.minMember: 0 is not in 1 to 2147483647");
}

TEST_CASE("pod groups of Volcano count tasks, and tiers of HyperNodes are labels of nodes", "[kube][workloads]") {
  std::string text = R"(
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: hard},
 spec: {minMember: 4, minTaskMember: {worker: 3, master: 1}, queue: q, networkTopology: {mode: hard, highestTierAllowed: 1}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: soft},
 spec: {minMember: 2, minTaskMember: {worker: 3}, networkTopology: {mode: soft}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: named},
 spec: {minMember: 2, networkTopology: {highestTierName: spine}}}
---
{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: s0},
 spec: {tier: 2, tierName: spine,
 members: [{type: HyperNode, selector: {exactMatch: {name: r0}}}, {type: Node, selector: {labelMatch: {matchLabels: {rack: r1}}}}]}}
---
{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: r0},
 spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: n0}}}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n0}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {rack: r1}}}
)";
  const manifests all = fine(text);
  const gang& hard = gang_in(all, "hard");
  REQUIRE(hard.roles.size() == 2);
  CHECK(hard.roles[0].role == "master");
  CHECK(hard.roles[1].min_count == 3);
  CHECK(gang_in(all, "soft").roles.empty());  // fewer than the tasks: Volcano does not count them then
  const std::vector<std::string> first{"topology.volcano.sh/tier-1"};
  const std::vector<std::string> both{"topology.volcano.sh/tier-1", "topology.volcano.sh/tier-2"};
  CHECK(group(all, "hard").spec.topology.within == first);
  CHECK_FALSE(group(all, "hard").spec.topology.or_anywhere);
  CHECK(group(all, "soft").spec.topology.within == both);
  CHECK(group(all, "soft").spec.topology.or_anywhere);
  CHECK(group(all, "named").spec.topology.within == both);
  CHECK(all.nodes[0].spec.labels.at(both[0]) == "r0");
  CHECK(all.nodes[0].spec.labels.at(both[1]) == "s0");
  CHECK(all.nodes[1].spec.labels.count(both[0]) == 0);
  CHECK(all.nodes[1].spec.labels.at(both[1]) == "s0");
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings[0].reason == "no queue \"q\": its pods wait for it");
  CHECK(group(all, "hard").spec.queue == "q");

  const manifests none = fine(
      "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {networkTopology: "
      "{highestTierAllowed: 1}}}");
  CHECK(group(none, "g").spec.topology.within.empty());
  CHECK(warned(none) ==
        std::vector<std::string>{"a.yaml:1: PodGroup default/g: spec.networkTopology: no HyperNode is in the "
                                 "files, so that there are no tiers; it is left out"});
  CHECK(refusal(
            "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: a}, spec: {tier: 2, members: "
            "[{type: HyperNode, selector: {exactMatch: {name: a}}}]}}") ==
        "a.yaml:1: HyperNode a: spec.members: \"a\" is of tier 2, which is not below 2");
}

TEST_CASE("pod groups of KAI are trees of their sub-groups", "[kube][workloads]") {
  const auto with = [](const std::string& spec) {
    return "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\nspec: {" + spec + "}\n---\n";
  };
  const std::string levels = kueue_levels;
  const manifests all =
      fine(with("minMember: 3, subGroups: [{name: prefill, minSubGroup: 1}, {name: a, parent: prefill, minMember: 2, "
                "topologyConstraint: "
                "{topology: default, requiredTopologyLevel: block, preferredTopologyLevel: rack}}, {name: b, parent: "
                "prefill}, "
                "{name: decode, minMember: 1}]") +
           levels + pod("p", "labels: {kai.scheduler/subgroup-name: a}, annotations: {pod-group-name: g}"));
  CHECK(all.warnings.empty());
  CHECK(gang_in(all, "g", true).min_count == 2);
  CHECK(gang_in(all, "g-prefill", true).min_count == 1);
  CHECK(group(all, "g-a").parent == "g-prefill");
  CHECK(gang_in(all, "g-a").min_count == 2);
  CHECK(group(all, "g-a").spec.topology.within == std::vector<std::string>{"rack", "block"});
  CHECK_FALSE(group(all, "g-a").spec.topology.or_anywhere);
  CHECK(all.pods.at(0).group == "g-a");
  CHECK(gang_in(fine(with("minMember: 3")), "g").min_count == 3);

  CHECK(refusal(with("subGroups: [{name: a, parent: b}, {name: b, parent: a}, {name: c}]")) ==
        "a.yaml:4: PodGroup default/g: spec.subGroups[0].parent: a cycle");
  CHECK(refusal(with("subGroups: [{name: a, parent: nobody}, {name: c}]")) ==
        "a.yaml:4: PodGroup default/g: spec.subGroups[0].parent: no sub-group \"nobody\"");
  CHECK(refusal(with("minSubGroup: 3, subGroups: [{name: a}, {name: c}]")) ==
        "a.yaml:4: PodGroup default/g: spec.minSubGroup: 3 is above 2, the number of sub-groups");
  CHECK(refusal(with("subGroups: [{name: a}, {name: b, parent: a}, {name: c, parent: b}, {name: d, parent: c}]"))
            .find("more than 4 levels") != std::string::npos);
}

TEST_CASE("gangs of Koordinator are what their pods say", "[kube][workloads]") {
  const auto member = [](const std::string& name, const std::string& gang, const std::string& more) {
    return pod(name, "annotations: {gang.scheduling.koordinator.sh/name: " + gang + more + "}");
  };
  const std::string two = ", gang.scheduling.koordinator.sh/min-available: \"2\"";
  const std::string both = ", gang.scheduling.koordinator.sh/groups: '[\"default/b\", \"a\"]'";
  const manifests all = fine(
      member("p", "a", two + both + ", gang.scheduling.koordinator.sh/waiting-time: 1m30s") +
      member("q", "a", two + both + ", gang.scheduling.koordinator.sh/waiting-time: 1m30s") +
      member("r", "b", two + both) +
      member("s", "c",
             two + ", gang.scheduling.koordinator.sh/mode: NonStrict, gang.scheduling.koordinator.sh/match-policy: "
                   "only-waiting"));
  CHECK(all.warnings.empty());
  CHECK(gang_in(all, "a").min_count == 2);
  CHECK(gang_in(all, "a").timeout == std::chrono::seconds{90});
  CHECK(gang_in(all, "b").timeout == std::chrono::seconds{600});
  CHECK(gang_in(all, "b").match == match_policy::once_satisfied);
  CHECK(gang_in(all, "b").mode == gang_mode::group_cycle);
  CHECK(group(all, "a").parent == "a-group");
  CHECK(group(all, "b").parent == "a-group");
  CHECK(gang_in(all, "a-group", true).min_count == 2);
  CHECK(gang_in(all, "c").mode == gang_mode::permit);
  CHECK(gang_in(all, "c").match == match_policy::only_waiting);
  CHECK_FALSE(gang_in(all, "c").strict);
  cluster on;
  CHECK(apply(on, all));

  CHECK(refusal(member("p", "a", two) + member("q", "a", ", gang.scheduling.koordinator.sh/min-available: \"3\"")) ==
        "a.yaml:6: Pod default/q: metadata.annotations[\"gang.scheduling.koordinator.sh/min-available\"]: is \"3\", "
        "and \"2\" "
        "of pod default/p, of the same group");
  CHECK(refusal(member("p", "a", "")) ==
        "a.yaml:1: Pod default/p: metadata.annotations[\"gang.scheduling.koordinator.sh/min-available\"]: is needed");
  CHECK(refusal(member("p", "a", two + ", gang.scheduling.koordinator.sh/waiting-time: nans"))
            .find("is not a duration") != std::string::npos);
  CHECK(refusal(member("p", "a", two + both) +
                member("q", "b", two + ", gang.scheduling.koordinator.sh/groups: '[\"default/b\", \"default/c\"]'"))
            .find("is listed with other groups elsewhere") != std::string::npos);
  CHECK(refusal(member("p", "a", two + ", gang.scheduling.koordinator.sh/groups: '[\"x/b\"]'"))
            .find("\"x/b\" is of another namespace") != std::string::npos);
}

TEST_CASE("gangs that wait one by one are tried as a whole where they ask for what only that gives",
          "[kube][workloads]") {
  const std::string loose = "gang.scheduling.koordinator.sh/mode: NonStrict";
  const std::string both = ", gang.scheduling.koordinator.sh/groups: '[\"default/g\", \"default/other\"]'";
  const auto read = [&](const std::string& more, const std::string& others) {
    const auto one = [](const std::string& name, const std::string& annotations) {
      return "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name +
             ", annotations: {" + annotations + "}}\nspec: {minMember: 2}\n---\n";
    };
    return fine(one("g", loose + more) + one("other", others));
  };
  const manifests plain = read("", "");
  CHECK(gang_in(plain, "g").mode == gang_mode::permit);
  CHECK(plain.warnings.empty());
  const manifests together = read(both, both.substr(2));
  CHECK(gang_in(together, "g").mode == gang_mode::group_cycle);
  const manifests ratios = read(", gangsched.dev/ratios: '{to: other, mine: 1, theirs: 1}'", "");
  CHECK(gang_in(ratios, "g").mode == gang_mode::group_cycle);
  REQUIRE(ratios.warnings.size() == 1);
  CHECK(ratios.warnings[0].message().find(
            "needs all members to be placed together: the gang is, although its mode is NonStrict") !=
        std::string::npos);
  for (const manifests& all : {plain, together, ratios}) {
    cluster on;
    CHECK(apply(on, all));
  }
}

TEST_CASE("pod groups that Koordinator reads have annotations of their own", "[kube][workloads]") {
  const auto with = [](const std::string& name, const std::string& more) {
    return "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name +
           ", annotations: {" + more + "}}\nspec: {minMember: 2}\n---\n";
  };
  const std::string both = "gang.scheduling.koordinator.sh/groups: '[\"default/a\", \"default/b\"]'";
  const manifests all =
      fine(with("a", both) + with("b", both + ", gang.scheduling.koordinator.sh/match-policy: only-waiting") +
           with("c", "gang.scheduling.koordinator.sh/mode: NonStrict") +
           pod("p", "labels: {pod-group.scheduling.sigs.k8s.io: a}"));
  CHECK(all.warnings.empty());
  CHECK(all.pods.at(0).group == "a");
  CHECK(group(all, "a").parent == "a-group");
  CHECK(gang_in(all, "b").match == match_policy::only_waiting);
  CHECK(gang_in(all, "a-group", true).min_count == 2);
  CHECK(gang_in(all, "c").mode == gang_mode::permit);
  CHECK(refusal(with("a", "gang.scheduling.koordinator.sh/mode: Loose")) ==
        "a.yaml:1: PodGroup default/a: metadata.annotations[\"gang.scheduling.koordinator.sh/mode\"]: \"Loose\" is not "
        "one of "
        "Strict, NonStrict");
}

TEST_CASE("layers of Koordinator's topology are gathered in from the deepest one up", "[kube][workloads]") {
  const auto topology = [](const std::string& strategy) {
    const manifests all = fine(pod("p",
                                   "annotations: {gang.scheduling.koordinator.sh/name: a, "
                                   "gang.scheduling.koordinator.sh/min-available: \"2\", "
                                   "gang.scheduling.koordinator.sh/network-topology-spec: '{\"gatherStrategy\": [" +
                                       strategy + "]}'}") +
                               R"(
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: ClusterNetworkTopology
metadata: {name: default}
spec:
  networkTopologySpec:
  - {topologyLayer: Spine, labelKey: [example.com/spine]}
  - {topologyLayer: Block, parentTopologyLayer: Spine, labelKey: [example.com/block]}
  - {topologyLayer: Node, parentTopologyLayer: Block}
)");
    return group(all, "a").spec.topology;
  };
  const std::string spine = R"({"layer": "Spine", "strategy": "MustGather"})";
  const std::string block = R"({"layer": "Block", "strategy": "PreferGather", "podCountMultiple": 2})";
  CHECK(topology(spine + "," + block).within == std::vector<std::string>{"example.com/block", "example.com/spine"});
  CHECK_FALSE(topology(spine + "," + block).or_anywhere);
  CHECK(topology(block).or_anywhere);
  CHECK(topology(R"({"layer": "Node", "strategy": "MustGather"})").within ==
        std::vector<std::string>{"kubernetes.io/hostname"});
  REQUIRE(topology(block).slices.size() == 1);
  CHECK(topology(block).slices[0].size == 2);
}

TEST_CASE("Kueue's annotations are where a group is to be", "[kube][workloads]") {
  const auto topology = [](const std::string& annotations, const std::string& more = "") {
    const manifests all = fine(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n"
        "spec: {parallelism: 4, completions: 4, completionMode: Indexed, template: {metadata: "
        "{annotations: {" +
        annotations + "}}, spec: {containers: [{name: c}]}}}\n---\n" + more);
    CHECK(gang_in(all, "j").min_count == 4);
    for (const pod_manifest& one : all.pods) CHECK(one.group == "j");
    CHECK(all.pods.at(3).spec.rank == 3);
    return group(all, "j").spec.topology;
  };
  const std::string rack = "kueue.x-k8s.io/podset-preferred-topology: rack";
  CHECK(topology("kueue.x-k8s.io/podset-required-topology: rack", kueue_levels).within ==
        std::vector<std::string>{"rack"});
  CHECK_FALSE(topology("kueue.x-k8s.io/podset-required-topology: rack").or_anywhere);
  CHECK(topology(rack).within == std::vector<std::string>{"rack"});
  CHECK(topology(rack, kueue_levels).within == std::vector<std::string>{"rack", "block"});
  CHECK(topology(rack).or_anywhere);
  CHECK(topology("kueue.x-k8s.io/podset-unconstrained-topology: \"true\"").choice == domain_choice::least_free);
  CHECK(topology("kueue.x-k8s.io/podset-unconstrained-topology: \"true\"").within.empty());
  const group_topology sliced =
      topology("kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: \"2\"");
  REQUIRE(sliced.slices.size() == 1);
  CHECK(sliced.slices[0].key == "rack");
  CHECK(sliced.slices[0].size == 2);

  CHECK(refusal(pod("p", "annotations: {kueue.x-k8s.io/podset-slice-size: \"2\"}")) ==
        "a.yaml:1: Pod default/p: metadata.annotations[\"kueue.x-k8s.io/podset-slice-size\"]: goes with a "
        "slice-required-topology");
  CHECK(refusal(pod("p", "annotations: {" + rack + ", kueue.x-k8s.io/podset-required-topology: rack}"))
            .find("only one of required, preferred and unconstrained can be") != std::string::npos);
  CHECK(fine(pod("p", "annotations: {" + rack + "}")).warnings.at(0).reason.find("this one is in no group") !=
        std::string::npos);
}

TEST_CASE("Kueue's pod groups are gangs of as many pods as they say", "[kube][workloads]") {
  const auto member = [](const std::string& name, const std::string& annotations) {
    return pod(name, "labels: {kueue.x-k8s.io/pod-group-name: g}, annotations: {" + annotations + "}");
  };
  const std::string total = "kueue.x-k8s.io/pod-group-total-count: \"2\"";
  const manifests all =
      fine(member("p", total + ", kueue.x-k8s.io/podset-required-topology: rack") + member("q", total));
  CHECK(gang_in(all, "g").min_count == 2);
  CHECK(group(all, "g").spec.topology.within == std::vector<std::string>{"rack"});
  CHECK(refusal(member("p", "")).find("kueue.x-k8s.io/pod-group-total-count\"]: is needed beside the label") !=
        std::string::npos);
  CHECK(refusal(member("p", total + ", kueue.x-k8s.io/podset-required-topology: rack") +
                member("q", total + ", kueue.x-k8s.io/podset-required-topology: block"))
            .find("is not what other members of the group \"g\" ask for") != std::string::npos);
  CHECK(gang_in(fine(pod("p",
                         "labels: {pod-group.scheduling.sigs.k8s.io/name: l, "
                         "pod-group.scheduling.sigs.k8s.io/min-available: \"3\"}")),
                "l")
            .min_count == 3);
}

TEST_CASE("one group object is read for a host that gets them one by one", "[kube][workloads]") {
  const auto alone = [](const std::string& text) {
    auto parsed = parse_yaml({"one", text});
    if (!parsed) FAIL(parsed.error().message());
    return read_pod_group(parsed->at(0).root, "one");
  };
  const auto made = alone(kube_group(
      "g", "workloadRef: {workloadName: w, templateName: t}, parentCompositePodGroupName: r, " + gang_of(2)));
  REQUIRE(made);
  CHECK(made->parent == "r");
  CHECK(alone(kube_group("g", "workloadRef: {workloadName: w, templateName: t}, " + gang_of_groups(2),
                         "CompositePodGroup"))
            ->spec.composite);
  CHECK(alone("{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}, spec: {minMember: 3}}"));
  CHECK(alone("{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: g}}").error().reason ==
        "is no group that stands for itself");
}

TEST_CASE("a Job and a StatefulSet of one name are two gangs", "[kube][groups]") {
  const auto owned = [](const std::string& name, const std::string& kind, const std::string& api) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name +
           ", labels: {kueue.x-k8s.io/queue-name: q}, ownerReferences: [{apiVersion: " + api + ", kind: " + kind +
           ", name: train, controller: true, uid: u}]}, spec: {containers: [{name: c}]}}\n---\n";
  };
  const manifests apart =
      fine(owned("a", "Job", "batch/v1") + owned("b", "StatefulSet", "apps/v1") + owned("c", "Job", "batch/v1") +
           owned("d", "StatefulSet", "apps/v1") + owned("e", "StatefulSet", "apps/v1"));
  REQUIRE(apart.groups.size() == 2);
  CHECK(gang_in(apart, "train").min_count == 2);
  CHECK(gang_in(apart, "statefulset-train").min_count == 3);
  CHECK(apart.pods[1].group == "statefulset-train");
  CHECK(apart.pods[2].group == "train");
}

TEST_CASE("pods of Volcano's Job are none of Kubernetes' Job of that name", "[kube][groups]") {
  const auto running = [](const std::string& name, const std::string& api) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", ownerReferences: [{apiVersion: " + api +
           ", kind: Job, name: train, controller: true, uid: u}]}, spec: {containers: [{name: c}]}}\n---\n";
  };
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 2, completions: 2, template: "
      "{metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}}\n---\n";
  const auto made = [&](const std::string& api) {
    return fine(running("x-0", api) + running("x-1", api) + job).pods.size() - 2;
  };
  CHECK(made("batch.volcano.sh/v1alpha1") == 2);
  CHECK(made("batch/v1") == 0);
  CHECK(made("batch/v1beta1") == 0);
  CHECK(made("\"\"") == 0);
}

TEST_CASE("templates of two Workloads that would be one group are refused", "[kube][workloads]") {
  const auto workload = [](const std::string& name, const std::string& of, int count) {
    return "apiVersion: scheduling.k8s.io/v1alpha3\nkind: Workload\nmetadata: {name: " + name +
           "}\nspec: {podGroupTemplates: [{name: " + of + ", " + gang_of(count) + "}]}\n---\n";
  };
  const auto inside_of = [](const std::string& name, const std::string& of) {
    return "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\nmetadata: {name: " + name +
           "}\nspec: {podGroups: [{name: " + of + ", policy: {gang: {minCount: 2}}}]}\n---\n";
  };
  CHECK(reading_refusal(workload("a", "b-c", 2) + workload("a-b", "c", 8)) ==
        "a.yaml:9: Workload default/a-b: spec: \"c\" and \"b-c\" of the Workload \"a\" would both be the group "
        "\"a-b-c\"");
  CHECK(reading_refusal(inside_of("a", "b-c") + inside_of("a-b", "c")).ends_with("would both be the group \"a-b-c\""));
  CHECK(reading_refusal(workload("a", "b-c", 2) + workload("a-b", "d", 8)) == "fine");
  // What a controller has made of a template is that.
  CHECK(warned(fine(workload("w", "t", 2) +
                    kube_group("w-t", "workloadRef: {workloadName: w, templateName: t}, " + gang_of(3))))
            .empty());
  const manifests other = fine(workload("w", "t", 2) + kube_group("w-t", gang_of(3)));
  CHECK(gang_in(other, "w-t").min_count == 3);
  CHECK(warned(other) == std::vector<std::string>{"a.yaml:4: Workload default/w: spec: there is a pod group \"w-t\" "
                                                  "already: the template \"t\" is left out"});
}

TEST_CASE("HyperNodes may have longer names than values of labels", "[kube][workloads]") {
  const std::string begin(70, 'a');
  std::string text;
  for (const char* const each : {"0", "1"})
    text += "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: " + begin + each +
            "}, spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: n" + each +
            "}}}]}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: n" + each + "}}\n---\n";
  const manifests all = fine(text);
  REQUIRE(all.nodes.size() == 2);
  const std::string& first = all.nodes[0].spec.labels.at("topology.volcano.sh/tier-1");
  CHECK(first.size() <= 63);
  CHECK(first.starts_with("aaaa"));
  CHECK(first != all.nodes[1].spec.labels.at("topology.volcano.sh/tier-1"));
  CHECK(refusal(text) == "fine");
}

}  // namespace gangsched::testing::workloads_test
