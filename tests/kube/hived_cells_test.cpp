#include "gangsched/queues/hived/cell_scheduler.hpp"
#include "kube/queue_reading.hpp"

namespace gangsched::testing::hived_cells_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

const std::string types = R"(
  cellTypes:
    SOCKET: {childCellType: GPU, childCellNumber: 2}
    NODE: {childCellType: SOCKET, childCellNumber: 2, isNodeLevel: true}
    RACK: {childCellType: NODE, childCellNumber: 2})";

std::string configuration(const std::string& cells, const std::string& clusters) {
  return "kubeApiServerAddress: http://10.10.10.10:8080\nphysicalCluster:" + types + "\n  physicalCells: [" + cells +
         "]\nvirtualClusters: {" + clusters + "}\n---\n";
}
const std::string rack = "{cellType: RACK, cellChildren: [{cellAddress: n0}, {cellAddress: n1, pinnedCellId: mine}]}";
const std::string node =
    "{cellType: NODE, cellAddress: 10.0.0.3, cellChildren: [{cellAddress: 1, cellChildren: [{cellAddress: 6}, "
    "{cellAddress: 7, pinnedCellId: one}]}, "
    "{cellChildren: [{cellAddress: 0}, {cellAddress: 1}]}]}";

std::string asks(const std::string& name, const std::string& words) {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
         "\n  annotations:\n    hivedscheduler.microsoft.com/pod-scheduling-spec: '{" + words +
         "}'\nspec: {containers: [{name: c, resources: {limits: {hivedscheduler.microsoft.com/pod-scheduling-enable: "
         "1}}}]}\n---\n";
}
std::string refused(const std::string& text) {
  const std::string made = refusal(text);
  const std::size_t at = made.find("HiveD: ");
  return at == std::string::npos ? made : made.substr(at + 7);
}

}  // namespace

TEST_CASE("HiveD's configuration becomes cells and virtual clusters", "[kube][queues]") {
  const manifests all = fine(configuration(rack + ", " + node,
                                           "vc1: {virtualCells: [{cellType: RACK.NODE.SOCKET, cellNumber: 1}, "
                                           "{cellType: NODE, cellNumber: 0}], pinnedCells: [{pinnedCellId: one}]}, "
                                           "vc2: {pinnedCells: [{pinnedCellId: mine}]}"));
  CHECK(all.warnings.empty());
  REQUIRE(all.hived);
  const auto& made = all.hived->configuration;
  REQUIRE(made.types.size() == 3);
  CHECK(made.types[1].name == "NODE");
  CHECK(made.types[1].is_node);
  CHECK(made.types[2].children == 2);
  REQUIRE(made.cells.size() == 2);
  CHECK(made.cells[0].type == "RACK");
  CHECK(made.cells[0].children.at(1).node == "n1");
  CHECK(made.cells[0].children.at(1).pin == "mine");
  CHECK(made.cells[1].node == "10.0.0.3");
  CHECK(made.cells[1].children.at(0).children.at(1).device == 7);
  REQUIRE(made.clusters.size() == 2);
  CHECK(made.clusters[0].cells.at(0).chain == "RACK");
  CHECK(made.clusters[0].cells.at(0).type == "SOCKET");
  CHECK(made.clusters[0].cells.at(1).chain.empty());
  CHECK(made.clusters[0].pins == std::vector<std::string>{"one"});
  CHECK(queues::hived::cell_scheduler::make(made));
  // By number, for policies that know no cells.
  CHECK(said(quota(all, "vc1").guaranteed, "nvidia.com/gpu") == "3");
  CHECK(said(quota(all, "vc2").guaranteed, "nvidia.com/gpu") == "4");
}

TEST_CASE("HiveD's pods ask for devices in an annotation, alone or as a group", "[kube][queues]") {
  const std::string members =
      "affinityGroup: {name: job/a, members: [{podNumber: 2, leafCellNumber: 2}, {podNumber: 1, leafCellNumber: 1}]}";
  const std::string common =
      "virtualCluster: vc1, priority: 10, lazyPreemptionEnable: true, " + members + ", leafCellNumber: ";
  const manifests all = fine(configuration(rack, "vc1: {virtualCells: [{cellType: RACK.NODE, cellNumber: 1}]}") +
                             asks("one", common + "2") + asks("two", common + "1") +
                             asks("alone", "virtualCluster: vc1, priority: -1, leafCellNumber: 4, leafCellType: GPU"));
  CHECK(all.warnings.empty());
  CHECK(pod_in(all, "one").group == "job-a");
  CHECK(pod_in(all, "one").spec.queue == "vc1");
  CHECK(pod_in(all, "one").spec.priority == 10);
  CHECK(pod_in(all, "alone").spec.priority == -1);
  CHECK(said(pod_in(all, "one").spec.containers.at(0).requests, "nvidia.com/gpu") == "2");
  CHECK(pod_in(all, "one").spec.containers.at(0).requests.size() == 1);
  CHECK(gang_in(all, "job-a").min_count == 3);
  CHECK(group(all, "job-a").spec.queue == "vc1");
  REQUIRE(all.hived->groups.size() == 2);
  CHECK(all.hived->groups[0].name == "job/a");
  CHECK(all.hived->groups[0].members.at(0).pods == 2);
  CHECK(all.hived->groups[0].lazy_preemption);
  CHECK(all.hived->groups[1].name == "default/alone");
  CHECK(all.hived->groups[1].priority == queues::hived::opportunistic);
  CHECK(all.hived->groups[1].device_type == "GPU");
  CHECK_FALSE(all.hived->groups[1].lazy_preemption);

  const std::string at = "metadata.annotations[\"hivedscheduler.microsoft.com/pod-scheduling-spec\"]";
  CHECK(refusal(asks("p", "priority: 1, leafCellNumber: 1")) ==
        "a.yaml:1: Pod default/p: " + at + ": needs a virtualCluster");
  CHECK(refusal(asks("p", "virtualCluster: v")) == "a.yaml:1: Pod default/p: " + at + ": needs a leafCellNumber");
  CHECK(refusal(asks("p", "virtualCluster: v, leafCellNumber: 1, priority: 1001")) ==
        "a.yaml:1: Pod default/p: " + at + ".priority: 1001 is not in -1 to 1000");
  CHECK(refusal(asks("p", "virtualCluster: v, leafCellNumber: 3, " + members)) ==
        "a.yaml:1: Pod default/p: " + at + ": affinityGroup has no member with the leafCellNumber of this pod");
  CHECK(refusal(asks("p", common + "1") + asks("q", "virtualCluster: vc2, leafCellNumber: 1, " + members))
            .ends_with(at + ".affinityGroup: is not what other pods of \"job/a\" say"));
}

TEST_CASE("mistakes in HiveD's configuration are errors", "[kube][queues]") {
  CHECK(refused(configuration("{cellType: SHELF}", "")) ==
        "physicalCluster.physicalCells[0].cellType: no cell type \"SHELF\"");
  CHECK(refused(configuration("{cellAddress: x}", "")) == "physicalCluster.physicalCells[0]: needs a cellType");
  CHECK(refused(configuration("{cellType: NODE, cellAddress: n0, cellChildren: [{cellType: GPU}, {}]}", "")) ==
        "physicalCluster.physicalCells[0].cellChildren[0].cellType: is in a cell of \"SOCKET\"");
  CHECK(refused(configuration(rack, "v: {virtualCells: [{cellType: RACK.SOCKET, cellNumber: 1}]}")) ==
        "virtualClusters.v.virtualCells[0]: cellType: a \"RACK\" is not made of \"SOCKET\"");
  CHECK(refused(configuration(rack, "v: {pinnedCells: [{pinnedCellId: none}]}")).find("none") != std::string::npos);
  // All virtual clusters have to fit at once.
  CHECK(refused(configuration(rack, "v: {virtualCells: [{cellType: RACK.NODE, cellNumber: 2}]}")) == "fine");
  CHECK(
      refused(configuration(rack,
                            "v: {virtualCells: [{cellType: RACK.NODE, cellNumber: 2}]}, w: {virtualCells: [{cellType: "
                            "RACK.NODE.SOCKET, cellNumber: 1}]}"))
          .find("w") != std::string::npos);
  CHECK(refused(configuration(rack, "") + configuration(rack, ""))
            .ends_with("there is a configuration of HiveD already"));
}

TEST_CASE("a few lines of HiveD's cannot ask for endless cells", "[kube][queues][limits]") {
  const auto of = [](const std::string& all, const std::string& cells, const std::string& clusters = "") {
    return refused("physicalCluster: {cellTypes: {" + all + "}, physicalCells: [" + cells + "]}\nvirtualClusters: {" +
                   clusters + "}\n");
  };
  const std::string huge =
      "A: {childCellType: B, childCellNumber: 1000000}, B: {childCellType: C, childCellNumber: 1000000}";
  CHECK(of(huge, "{cellType: A}") == "physicalCluster.physicalCells[0]: there would be more than 1000000 cells");
  CHECK(of("A: {childCellType: B, childCellNumber: 2}, B: {childCellType: A, childCellNumber: 2}", "{cellType: A}") ==
        "physicalCluster.physicalCells[0]: there would be more than 1000000 cells");
  CHECK(of("A: {childCellType: B, childCellNumber: 2, isNodeLevel: true}", "{cellType: A, cellAddress: x}",
           "v: {virtualCells: [{cellType: A, cellNumber: 1000000}]}") ==
        "virtualClusters.v.virtualCells[0]: there would be more than 1000000 cells");
}

}  // namespace gangsched::testing::hived_cells_test
