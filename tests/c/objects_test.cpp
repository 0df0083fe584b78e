// Objects as Kubernetes writes them, one at a time, and queues that have mistakes.
#include <algorithm>

#include "c/world.hpp"

namespace gangsched::testing::c_objects_test {

using words = std::vector<std::string>;

struct objects : c_world {
  [[nodiscard]] gangsched_code set(const std::string& text) const {
    return gangsched_cluster_set_object(cluster, text.data(), text.size(), 0, nullptr, error);
  }
  [[nodiscard]] gangsched_code remove(const std::string& text) const {
    return gangsched_cluster_remove_object(cluster, text.data(), text.size(), error);
  }
  void add(const std::string& text) const {
    must(gangsched_cluster_add_manifests(cluster, text.data(), text.size(), "all.yaml", 0, nullptr, error));
  }
};

std::string pod_named(const std::string& name, const std::string& more, const std::string& status = "{}") {
  return R"({"kind": "Pod", "metadata": {"name": ")" + name + R"("}, "spec": {"containers": [{"name": "c"}])" + more +
         R"(}, "status": )" + status + "}";
}

TEST_CASE("a pod that comes alone goes where its claim is, and is refused if it claims volumes", "[c]") {
  objects world;
  world.node("m", 4);
  world.add(R"({apiVersion: v1, kind: Node, metadata: {name: k}, status: {allocatable: {cpu: 4, pods: 110}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: cards, nodeName: k,
  pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d}]}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: card},
  spec: {selectors: [{cel: {expression: 'device.driver == "cards"'}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: one, namespace: default},
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: card}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: user, namespace: default},
  spec: {containers: [{name: c, image: i}], resourceClaims: [{name: c, resourceClaimName: one}]}}
)");
  world.schedules();
  CHECK(world.run() == words{"user bind k"});
  const auto claiming = [](const std::string& which) {
    return R"(, "resourceClaims": [{"name": "c", )" + which + "}]";
  };
  world.must(world.set(pod_named("p", claiming(R"("resourceClaimName": "one")"))));
  CHECK(world.run() == words{"p bind k"});  // where its claim is
  const std::string volume = R"(, "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])";
  CHECK(world.set(pod_named("r", volume)) == GANGSCHED_UNKNOWN);
  world.must(world.set(pod_named("r", volume + R"(, "nodeName": "m")")));
}

TEST_CASE("a pod says in C which reservation it draws from", "[c]") {
  objects world;
  const gangsched_node_id node = world.node("n", 8);
  world.must(
      world.set(R"({"kind": "Reservation", "metadata": {"name": "held"}, "spec": {"ttl": "0s", "allocateOnce": false,
    "owners": [{"labelSelector": {"matchLabels": {"a": "b"}}}], "template": {"spec": {"containers": [{"name": "c",
    "resources": {"requests": {"cpu": "6"}}}]}}}, "status": {"phase": "Available", "nodeName": "n"}})"));
  const gangsched_pod_id held = gangsched_cluster_find_pod(world.cluster, "default", "held");
  const gangsched_pod_id draws = world.pod_with("owner", 4, [&](gangsched_pod_spec& spec) {
    spec.node = node;
    spec.draws_from = held;
  });
  const gangsched_pod_id other = world.pod_with("other", 1, [&](gangsched_pod_spec& spec) { spec.node = node; });
  CHECK(gangsched_cluster_reservation_of(world.cluster, draws).value == held.value);
  CHECK(gangsched_cluster_reservation_of(world.cluster, other).value == 0);
  CHECK(gangsched_cluster_reservation_of(nullptr, draws).value == 0);
  CHECK(gangsched_cluster_requested(world.cluster, node, "cpu") == 7000);
}

TEST_CASE("queues with mistakes are left out, and the others count", "[c]") {
  objects world;
  const auto queue = [](const std::string& name, const std::string& spec) {
    return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name + "}\nspec: {" +
           spec + "}\n";
  };
  const auto set = [&](const std::string& text) {
    char* left_out = nullptr;
    world.must(gangsched_cluster_set_queues(world.cluster, text.data(), text.size(), "q.yaml", &left_out, world.error));
    const std::string said = left_out == nullptr ? "" : left_out;
    gangsched_free(left_out);
    return said;
  };
  const auto has = [&](const char* name) { return gangsched_cluster_find_queue(world.cluster, name).value != 0; };
  CHECK(set(queue("a", "") + queue("b", "parent: a")).empty());
  const std::string said =
      set(queue("a", "weight: [1]") + queue("b", "parent: b") + queue("c", "") + queue("d", "parent: c"));
  INFO(said);
  CHECK(std::ranges::count(said, '\n') == 2);
  CHECK_FALSE(has("a"));
  CHECK_FALSE(has("b"));
  CHECK(has("c"));
  CHECK(has("d"));
  CHECK(set(queue("b", "")).empty());
  CHECK(has("b"));
}

}  // namespace gangsched::testing::c_objects_test
