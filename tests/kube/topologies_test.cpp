#include "kube/group_objects.hpp"

// Kueue's Topology, and what its annotations say of topologies.
namespace gangsched::testing::topologies_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

TEST_CASE("what Kueue refuses of annotations for topologies", "[kube][workloads]") {
  const auto asks = [](const std::string& annotations) { return pod("p", "annotations: {" + annotations + "}"); };
  const auto choice = [](const std::string& word) {
    const manifests all = fine(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 2, completions: 2, template: "
        "{metadata: "
        "{annotations: {kueue.x-k8s.io/podset-unconstrained-topology: \"" +
        word + "\"}}, spec: {containers: [{name: c}]}}}\n---\n");
    return all.groups.empty() ? domain_choice::scored : group(all, "j").spec.topology.choice;
  };
  CHECK(choice("T") == domain_choice::least_free);
  CHECK(choice("1") == domain_choice::least_free);
  CHECK(choice("False") == domain_choice::scored);
  CHECK(refusal(asks("kueue.x-k8s.io/podset-unconstrained-topology: \"yes\"")).find("\"yes\" is not true or false") !=
        std::string::npos);
  CHECK(refusal(asks("kueue.x-k8s.io/podset-required-topology: rack, kueue.x-k8s.io/podset-group-name: g, "
                     "kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: \"2\""))
            .find("and group-name exclude each other") != std::string::npos);
}

TEST_CASE("racks of two blocks that are called alike are two racks", "[kube][workloads]") {
  const auto node = [](const std::string& name, const std::string& labels) {
    return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {" + labels + "}}\n---\n";
  };
  const auto job = [](const std::string& annotations) {
    return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 4, completions: 4, template: "
           "{metadata: "
           "{annotations: {" +
           annotations + "}}, spec: {containers: [{name: c}]}}}\n---\n";
  };
  const std::string rack = "kueue.x-k8s.io/podset-preferred-topology: rack";
  const std::string key = "gangsched.dev/topology-1-default";
  const std::string nodes = node("n1", "block: a, rack: r1") + node("n2", "block: b, rack: r1") +
                            node("n3", "block: b, rack: r2") + node("n4", "rack: r1");
  const manifests all = fine(job(rack) + kueue_levels + nodes);
  CHECK(group(all, "j").spec.topology.within == std::vector<std::string>{key, "block"});
  CHECK(all.nodes.at(0).spec.labels.at(key) == "a.r1");
  CHECK(all.nodes.at(1).spec.labels.at(key) == "b.r1");
  CHECK(all.nodes.at(2).spec.labels.at(key) == "b.r2");
  CHECK_FALSE(all.nodes.at(3).spec.labels.contains(key));  // it is in no block
  const std::string slices =
      "kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: \"2\"";
  CHECK(group(fine(job(slices) + kueue_levels + nodes), "j").spec.topology.slices.at(0).key == key);
  // Without the Topology nothing is known of blocks, and names that are all different stay what they are.
  CHECK(group(fine(job(rack) + nodes), "j").spec.topology.within == std::vector<std::string>{"rack"});
  const manifests plain =
      fine(job(rack) + kueue_levels + node("n1", "block: a, rack: r1") + node("n2", "block: b, rack: r2"));
  CHECK(group(plain, "j").spec.topology.within == std::vector<std::string>{"rack", "block"});
  CHECK_FALSE(plain.nodes.at(0).spec.labels.contains(key));
  // Values that are the same in one line are still two.
  const manifests dots = fine(job(rack) + kueue_levels + node("n1", "block: a.b, rack: c") +
                              node("n2", "block: a, rack: b.c") + node("n3", "block: x, rack: c"));
  CHECK(dots.nodes.at(0).spec.labels.at(key) == "a.b.c");
  CHECK(dots.nodes.at(1).spec.labels.at(key) == "a.b.c.2");
}

}  // namespace gangsched::testing::topologies_test
