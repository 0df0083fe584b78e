#include "gangsched/model/state.hpp"
#include "kube/group_objects.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::group_words_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string group_of(const std::string& name, const std::string& words, const std::string& topology = "",
                     const std::string& policy = "gang: {minCount: 2}") {
  return "apiVersion: scheduling.k8s.io/v1alpha3\nkind: PodGroup\nmetadata:\n  name: " + name + "\n  annotations: {" +
         words + "}\nspec: {schedulingPolicy: {" + policy + "}" + topology + "}\n---\n";
}

}  // namespace

// Words of single systems: Kueue's layers of slices, Volcano's patterns and sub-groups.

TEST_CASE("Kueue's slices have up to three layers", "[kube][workloads]") {
  const auto job = [](const std::string& layers, const std::string& more = "") {
    return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 8, completions: 8, template: "
           "{metadata: {annotations: {" +
           more + "kueue.x-k8s.io/podset-slice-required-topology-constraints: '" + layers +
           "'}}, spec: {containers: [{name: c}]}}}\n---\n" + kueue_levels;
  };
  const manifests all = fine(job(R"([{"topology": "block", "size": 4}, {"topology": "rack", "size": "2"}])",
                                 "kueue.x-k8s.io/podset-preferred-topology: block, "));
  CHECK(all.warnings.empty());
  const group_topology& made = group(all, "j").spec.topology;
  CHECK(made.within == std::vector<std::string>{"block"});
  REQUIRE(made.slices.size() == 2);
  CHECK(made.slices[0].key == "block");
  CHECK(made.slices[0].size == 4);
  CHECK(made.slices[1].key == "rack");
  CHECK(made.slices[1].size == 2);

  const auto reason = [&](const std::string& layers, const std::string& more = "") {
    const std::string said = refusal(job(layers, more));
    const std::string field = "metadata.annotations[\"kueue.x-k8s.io/podset-slice-required-topology-constraints\"]";
    const std::size_t at = said.find(field);
    return at == std::string::npos ? said : said.substr(at + field.size());
  };
  CHECK(refusal(pod("p", "annotations: {kueue.x-k8s.io/podset-slice-required-topology-constraints: '[]'}")) ==
        "a.yaml:1: Pod default/p: metadata.annotations[\"kueue.x-k8s.io/podset-slice-required-topology-constraints\"]: "
        "has 0 layers, which is not 1 to 3");
  CHECK(reason("{}") == ": is no JSON list like [{\"topology\": …, \"size\": …}]");
  CHECK(reason(R"([{"topology": "block"}])") == "[0].size: is needed");
  CHECK(reason(R"([{"size": 2}])") == "[0].topology: names no label");
  CHECK(reason(R"([{"topology": "block", "size": 0}])") == "[0].size: \"0\" is no number above 0");
  CHECK(reason(R"([{"topology": "block", "sizes": [1, 3]}])") ==
        "[0].sizes: slices of different sizes are not modelled");
  CHECK(reason(R"([{"topology": "block", "size": 4}, {"topology": "rack", "size": 3}])") ==
        "[1].size: 3 does not divide 4, the size before it");
  CHECK(reason(R"([{"topology": "block", "size": 4}, {"topology": "block", "size": 2}])") ==
        "[1].topology: \"block\" is a layer before it already");
  CHECK(reason(R"([{"topology": "rack", "size": 4}, {"topology": "block", "size": 2}])") ==
        "[1].topology: \"block\" is not below \"rack\" in the Topology \"default\"");
  CHECK(reason(R"([{"topology": "rack", "size": 2}])", "kueue.x-k8s.io/podset-group-name: a, ") ==
        ": and group-name exclude each other");
}

TEST_CASE("sub-groups of Volcano's pod groups are what the labels of their pods make", "[kube][workloads]") {
  const auto with = [](const std::string& spec) {
    return "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {" + spec +
           "}}\n---\n{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: r}, spec: {tier: "
           "1}}\n---\n"
           "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: s}, spec: {tier: 2}}\n---\n";
  };
  // Pods of one sub-group each: "0:2 1:2" are two pods of part 0 and two of part 1.
  const auto members = [](std::initializer_list<std::pair<const char*, int>> parts, int others = 0) {
    std::string text;
    int made = 0;
    const auto add = [&](const std::string& labels) {
      text += pod("p" + std::to_string(made++), labels + "annotations: {scheduling.volcano.sh/group-name: g}");
    };
    for (const auto& [part, count] : parts)
      for (int i = 0; i < count; ++i) add("labels: {role: worker, part: " + std::string{part} + "}, ");
    for (int i = 0; i < others; ++i) add("");
    return text;
  };
  const auto policy = [](const std::string& more) {
    return "subGroupPolicy: [{name: w, labelSelector: {matchLabels: {role: worker}}, matchLabelKeys: [part], " + more +
           "}]";
  };
  const std::string two = "subGroupSize: 2, networkTopology: {mode: hard, highestTierAllowed: 1}";

  // Everybody is needed: the master, and two pairs in a rack each (Volcano 6).
  const manifests all = fine(with("minMember: 5, networkTopology: {highestTierAllowed: 2}, " + policy(two)) +
                             members({{"\"0\"", 2}, {"\"1\"", 2}}, 1));
  CHECK(all.warnings.empty());
  CHECK(all.groups.size() == 4);
  CHECK(gang_in(all, "g", true).min_count == 3);
  CHECK(group(all, "g", true).spec.topology.within.size() == 2);
  CHECK(gang_in(all, "g").min_count == 1);
  CHECK(group(all, "g").parent == "g");
  CHECK(group(all, "g").spec.topology.within.empty());
  CHECK(gang_in(all, "g-w-0").min_count == 2);
  CHECK(group(all, "g-w-0").parent == "g");
  CHECK(group(all, "g-w-0").spec.topology.within == std::vector<std::string>{"topology.volcano.sh/tier-1"});
  CHECK(all.pods[1].group == "g-w-0");
  CHECK(all.pods[2].group == "g-w-1");
  CHECK(all.pods[4].group == "g");
  cluster on;
  CHECK(apply(on, all));

  // So many sub-groups, or so many members of them.
  const std::string three = members({{"a", 2}, {"b", 2}, {"c", 2}});
  CHECK(
      gang_in(fine(with("minMember: 1, " + policy("minSubGroups: 2, subGroupSize: 2")) + three), "g", true).min_count ==
      2);
  CHECK(gang_in(fine(with("minMember: 3, " + policy("subGroupSize: 2")) + three), "g", true).min_count == 2);
  const manifests more = fine(with("minMember: 1, " + policy("minSubGroups: 4, subGroupSize: 2")) + three);
  CHECK(gang_in(more, "g", true).min_count == 4);  // waits for one that is still to come
  CHECK(more.warnings.empty());

  // What a tree cannot say.
  const manifests other = fine(with("minMember: 5, " + policy("minSubGroups: 2, subGroupSize: 2")) +
                               members({{"a", 2}, {"b", 2}, {"c", 2}}, 2));
  CHECK(gang_in(other, "g", true).min_count == 2);
  CHECK(gang_in(other, "g-w", true).min_count == 2);
  CHECK(gang_in(other, "g").min_count == 1);
  CHECK(group(other, "g-w-c").parent == "g-w");
  CHECK(warned(other) ==
        std::vector<std::string>{
            "a.yaml:1: PodGroup default/g: spec.minMember: of the members outside of sub-groups 1 have "
            "to start here; in Volcano any other members will do"});
  const manifests uneven =
      fine(with("minMember: 3, minTaskMember: {a: 1}, " + policy("")) + members({{"a", 3}, {"b", 1}}));
  CHECK(gang_in(uneven, "g", true).min_count == 2);
  CHECK(gang_in(uneven, "g-w-a").min_count == 3);
  REQUIRE(uneven.warnings.size() == 1);
  CHECK(uneven.warnings[0].reason == "3 members of sub-groups that are not of one size: all 4 are needed here");

  // Labels may be what names may not; pods that come later cannot be known.
  const manifests odd = fine(with("minMember: 2, " + policy("")) + members({{"A_1", 1}, {"B_1", 1}}));
  CHECK(odd.pods[0].group.starts_with("g-w-"));
  CHECK(odd.pods[0].group != odd.pods[1].group);
  const manifests none = fine(with("minMember: 2, " + policy("")) + members({}, 2));
  CHECK(gang_in(none, "g").min_count == 2);
  CHECK(warned(none) ==
        std::vector<std::string>{"a.yaml:1: PodGroup default/g: spec.subGroupPolicy: no pod in the files is in "
                                 "one of its sub-groups; it is left out"});
  CHECK(fine(with("minMember: 1, subGroupPolicy: [{name: w, labelSelector: {}}]")).warnings.at(0).reason ==
        "has no matchLabelKeys, without which Volcano makes no sub-groups; it is left out");

  CHECK(refusal(with("subGroupPolicy: [{name: w, matchLabelKeys: [a], subGroupSize: 0}]")) ==
        "a.yaml:1: PodGroup default/g: spec.subGroupPolicy[0].subGroupSize: 0 is not in 1 to 2147483647");
  CHECK(refusal(with("subGroupPolicy: [{name: w, matchLabelKeys: [a]}, {name: w, matchLabelKeys: [b]}]")) ==
        "a.yaml:1: PodGroup default/g: spec.subGroupPolicy[1]: there is another policy \"w\"");
  CHECK(refusal(with("minMember: 2, " + policy("")) + members({{"a", 1}, {"b", 1}}) +
                "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g-w-a}}") ==
        "a.yaml:1: PodGroup default/g: spec.subGroupPolicy[0]: another group is called \"g-w-a\" too");
}

TEST_CASE("members of a HyperNode may be nodes whose names have a pattern in them", "[kube][workloads]") {
  const auto members = [](const std::string& pattern, const std::string& type = "Node") {
    std::string text =
        "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: r}, spec: {tier: 1, members: "
        "[{type: " +
        type + ", selector: {regexMatch: {pattern: '" + pattern + "'}}}]}}\n---\n";
    for (const char* name : {"gpu-1", "gpu-12", "old-gpu-1", "gpu.a"})
      text += "{apiVersion: v1, kind: Node, metadata: {name: " + std::string{name} + "}}\n---\n";
    return text;
  };
  const auto found = [&](const std::string& pattern) {
    std::string all;
    for (const node_manifest& one : fine(members(pattern)).nodes)
      if (one.spec.labels.count("topology.volcano.sh/tier-1") != 0) all += one.spec.name + " ";
    return all;
  };
  CHECK(found("gpu-1") == "gpu-1 gpu-12 old-gpu-1 ");  // anywhere, as Go's MatchString
  CHECK(found("^gpu-[0-9]+$") == "gpu-1 gpu-12 ");
  CHECK(found("^(?:old-)?gpu-\\d$") == "gpu-1 old-gpu-1 ");
  CHECK(found("gpu\\.") == "gpu.a ");
  CHECK(found("^(g*)*(p*)*(u*)*$").empty());
  CHECK(found("^(([a-z0-9-]*)*)*[.]$").empty());  // and soon

  const std::string at = "a.yaml:1: HyperNode r: spec.members[0].selector.regexMatch.pattern: ";
  CHECK(refusal(members("gpu-(")) == at + "\"gpu-(\" is no regular expression");
  CHECK(refusal(members("[z-a]")) == at + "\"[z-a]\" is no regular expression");
  CHECK(refusal(members("")) == at + "is empty");
  CHECK(refusal(members(std::string(1025, 'a'))) == at + "is longer than 1024 characters");
  CHECK(found("(?i)GPU").empty());
  CHECK(warned(fine(members("(?i)GPU"))) ==
        std::vector<std::string>{at + "\"(?i\" is not understood; its members are left out"});
  CHECK(warned(fine(members("\\Agpu"))) ==
        std::vector<std::string>{at + "\"\\A\" is not understood; its members are left out"});
  CHECK(found("^g{1}pu-1$") == "gpu-1 ");
  CHECK(warned(fine(members("(?:a{50}){50}"))) ==
        std::vector<std::string>{at + "\"(?:a{50}){50}\" repeats more than 1000 times; its members are left out"});
  CHECK(warned(fine(members("g{2,2000}"))).size() == 1);
  CHECK(fine(members("r", "HyperNode")).warnings.at(0).field == "spec.members[0]");
}

TEST_CASE("KAI's pod groups say for how long they may be stale", "[kube][workloads]") {
  const auto stale = [](const std::string& meta, const std::string& spec) {
    const manifests all = fine("{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g" + meta +
                               "}, spec: {minMember: 2" + spec + "}}");
    return gang_in(all, "g", all.groups.at(0).spec.composite).stale_after;
  };
  const auto noted = [](const std::string& time) {
    return ", annotations: {kai.scheduler/staleness-grace-period: " + time + "}";
  };
  using std::chrono::seconds;
  CHECK_FALSE(stale("", ""));
  CHECK(stale("", ", stalenessGracePeriod: 1m30s") == seconds{90});
  CHECK(stale(noted("30s"), "") == seconds{30});
  CHECK(stale(noted("30s"), ", stalenessGracePeriod: 0s") == seconds{0});
  CHECK(stale(noted("30s"), ", subGroups: [{name: a}, {name: b}]") == seconds{30});  // of the whole tree
  CHECK_FALSE(stale(noted("30s"), ", stalenessGracePeriod: -1s"));
  CHECK_FALSE(stale(noted("soon"), ""));
  CHECK(stale(", annotations: {gangsched.dev/stale-after: 5s}", ", stalenessGracePeriod: 1m") == seconds{5});
  const std::string kai = "{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g";
  CHECK(warned(fine(kai + noted("soon") + "}, spec: {minMember: 2}}")) ==
        std::vector<std::string>{
            "a.yaml:1: PodGroup default/g: metadata.annotations[\"kai.scheduler/staleness-grace-period\"]: "
            "\"soon\" is no duration like 60s; it is left out"});
  CHECK(refusal(kai + "}, spec: {minMember: 2, stalenessGracePeriod: soon}}") ==
        "a.yaml:1: PodGroup default/g: spec.stalenessGracePeriod: \"soon\" is no duration like 60s");
}

TEST_CASE("pod groups of any family have words of this library's own", "[kube][workloads]") {
  const std::string rack = ", schedulingConstraints: {topology: [{key: rack}]}";
  const std::string move = "gangsched.dev/when-full: move";
  const manifests all = fine(group_of("g", move + ", gangsched.dev/stale-after: 1m", rack));
  CHECK(all.warnings.empty());
  CHECK(group(all, "g").spec.topology.when_full == full_domain::move);
  CHECK(gang_in(all, "g").stale_after == std::chrono::minutes{1});
  CHECK(group(fine(group_of("g", "gangsched.dev/when-full: wait", rack)), "g").spec.topology.when_full ==
        full_domain::wait);
  // Where members are to be may be known from other objects only.
  const manifests tiers =
      fine("{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g, annotations: {" + move +
           "}}, spec: {networkTopology: {highestTierAllowed: 1}}}\n---\n"
           "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: r}, spec: {tier: 1}}");
  CHECK(group(tiers, "g").spec.topology.when_full == full_domain::move);

  // Two groups in step, whichever is read first.
  const manifests two = fine(group_of("prefill", "gangsched.dev/ratios: '{to: decode, theirs: 2}'") +
                             group_of("decode", "gangsched.dev/ratios: '[{to: prefill, mine: 2}]'"));
  CHECK(two.warnings.empty());
  cluster on;
  REQUIRE(apply(on, two));
  const auto decode = on.find_group("default", "decode"), prefill = on.find_group("default", "prefill");
  REQUIRE((decode && prefill));
  const group_spec& made = inside(on).groups.record[decode->row]->spec;
  REQUIRE(made.ratios.size() == 1);
  CHECK(made.ratios[0].to == *prefill);
  CHECK(made.ratios[0].mine == 2);
  CHECK(made.ratios[0].theirs == 1);
  const manifests alone = fine(group_of("g", "gangsched.dev/ratios: '{to: nobody}'"));
  CHECK(warned(alone) ==
        std::vector<std::string>{"a.yaml:1: PodGroup default/g: metadata.annotations[\"gangsched.dev/ratios\"]: no "
                                 "pod group \"nobody\": members above the minimum wait for it"});
  // What is a tree by other objects' words is meant as a whole.
  const manifests tree = fine(
      group_of("g", "gangsched.dev/ratios: '{to: t}'") +
      "{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: t}, spec: {subGroups: [{name: a}]}}");
  CHECK(group(tree, "g").ratios.at(0).composite);
  cluster of_tree;
  CHECK(apply(of_tree, tree));

  const auto said = [](const std::string& text) {
    const std::string all_of_it = refusal(text), before = "PodGroup default/g: metadata.annotations";
    const std::size_t at = all_of_it.find(before);
    return at == std::string::npos ? all_of_it : all_of_it.substr(at + before.size());
  };
  CHECK(refusal(group_of("g", "gangsched.dev/when-full: leave", rack)) ==
        "a.yaml:5: PodGroup default/g: metadata.annotations[\"gangsched.dev/when-full\"]: \"leave\" is not one of "
        "wait, move");
  CHECK(said(group_of("g", move)) == "[\"gangsched.dev/when-full\"]: there is no domain to move from");
  CHECK(said(group_of("g", "gangsched.dev/stale-after: -1s")) ==
        "[\"gangsched.dev/stale-after\"]: \"-1s\" is no duration like 60s");
  CHECK(said(group_of("g", "gangsched.dev/stale-after: 1s", "", "basic: {}")) ==
        "[\"gangsched.dev/stale-after\"]: the group is no gang, so that one member is enough");
  CHECK(said(group_of("g", "gangsched.dev/ratios: '[{mine: 2}]'")) == "[\"gangsched.dev/ratios\"][0]: names no group");
  CHECK(said(group_of("g", "gangsched.dev/ratios: '[{to: a, their: 2}]'")) ==
        "[\"gangsched.dev/ratios\"][0].their: there is no such field");
  CHECK(said(group_of("g", "gangsched.dev/ratios: '[{to: a, mine: 0}]'")) ==
        "[\"gangsched.dev/ratios\"][0].mine: is below 1");
  CHECK(said(group_of("g", "gangsched.dev/ratios: '{to: g}'")) ==
        "[\"gangsched.dev/ratios\"][0].to: is the group itself");
}

TEST_CASE("deadlines and longest waits are read of groups, pods and templates", "[kube][workloads]") {
  const std::string words = "gangsched.dev/deadline: 1970-01-02T00:00:00Z, gangsched.dev/max-wait: 10m";
  const manifests of_group = fine(group_of("g", words));
  CHECK(group(of_group, "g").spec.deadline == std::chrono::hours{24});
  CHECK(group(of_group, "g").spec.max_wait == std::chrono::minutes{10});
  const manifests of_pod = fine(pod("p", "annotations: {" + words + "}"));
  CHECK(of_pod.pods.at(0).spec.deadline == std::chrono::hours{24});
  CHECK(of_pod.pods.at(0).spec.max_wait == std::chrono::minutes{10});
  const manifests of_job =
      fine("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {metadata: {annotations: {" + words +
           "}}, spec: {containers: [{name: c}]}}}");
  CHECK(of_job.pods.at(0).spec.deadline == std::chrono::hours{24});
  CHECK_FALSE(fine(pod("p", "annotations: {}")).pods.at(0).spec.deadline.has_value());

  CHECK(refusal(pod("p", "annotations: {gangsched.dev/max-wait: -1s}")) ==
        "a.yaml:3: Pod default/p: metadata.annotations[\"gangsched.dev/max-wait\"]: \"-1s\" is no duration like 10m");
  CHECK(refusal(group_of("g", "gangsched.dev/deadline: tomorrow")) ==
        "a.yaml:5: PodGroup default/g: metadata.annotations[\"gangsched.dev/deadline\"]: \"tomorrow\" is no time like "
        "2026-01-31T12:00:00Z");
}

TEST_CASE("Volcano's annotation of a controller makes its pods a gang", "[kube][groups]") {
  const auto set = [](const std::string& kind, const std::string& name, const std::string& least,
                      const std::string& scheduler = "volcano") {
    return "{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: " + name +
           ", annotations: {scheduling.volcano.sh/group-min-member: \"" + least +
           "\"}}, spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
           "{schedulerName: " +
           scheduler + ", containers: [{name: c}]}}}}\n---\n";
  };
  const manifests all = fine(set("StatefulSet", "set", "2"));
  CHECK(gang_in(all, "set").min_count == 2);
  for (const pod_manifest& one : all.pods) CHECK(one.group == "set");
  const manifests made = fine(set("Deployment", "web", "5"));
  REQUIRE(made.groups.size() == 1);
  CHECK(made.groups[0].spec.name == made.pods[0].owner_name);
  CHECK(std::get<gang>(made.groups[0].spec.policy).min_count == 5);  // it waits for more pods
  for (const char* const least : {"1", "0", "x"}) CHECK(fine(set("StatefulSet", "set", least)).groups.empty());
  CHECK(fine(set("StatefulSet", "set", "2", "other")).groups.empty());
}

}  // namespace gangsched::testing::group_words_test
