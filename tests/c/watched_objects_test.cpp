// Objects of Kubernetes one by one, as a watch reports them.
#include <cstdint>
#include <string>
#include <vector>

#include "world.hpp"

namespace gangsched::testing::watched_objects_test {

namespace {

using lines = std::vector<std::string>;

const std::string node = R"({"kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a"}},
                             "status": {"allocatable": {"cpu": "4", "pods": "110"}}})";

std::string pod(const std::string& name, const std::string& cpu, const std::string& meta = "",
                const std::string& spec = "", const std::string& status = "") {
  return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name + "\"" + meta + R"(}, "spec": {)" +
         spec + R"("containers": [{"name": "c", "resources": {"requests": {"cpu": ")" + cpu + R"("}}}]})" +
         (status.empty() ? "" : ", \"status\": {" + status + "}") + "}";
}
std::string reservation(const std::string& name) {
  return R"({"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": ")" +
         name + R"("}, "spec": {"ttl": "0s", "owners": [{"labelSelector": {"matchLabels": {"q": "q"}}}],
                 "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}},
                 "status": {"phase": "Available", "nodeName": "n"}})";
}

struct watched : c_world {
  gangsched_code set(const std::string& text) const {
    return gangsched_cluster_set_object(cluster, text.data(), text.size(), 0, nullptr, error);
  }
  gangsched_code removed(const std::string& text) const {
    return gangsched_cluster_remove_object(cluster, text.data(), text.size(), error);
  }
  void is(const std::string& text) const { must(set(text)); }
  std::string refusal(const std::string& text) const {
    const std::uint64_t before = gangsched_cluster_digest(cluster);
    const gangsched_code said = set(text);
    CHECK(said != GANGSCHED_OK);
    CHECK(gangsched_cluster_digest(cluster) == before);
    return said == GANGSCHED_OK ? "" : error.message();
  }
  [[nodiscard]] std::int64_t used() const {
    return gangsched_cluster_requested(cluster, gangsched_cluster_find_node(cluster, "n"), "cpu");
  }
  lines turn() { return run(now += 2'000'000'000); }
  std::int64_t now = 0;
};

}  // namespace

TEST_CASE("an object that is told again wakes nobody", "[c]") {
  for (const std::int32_t base : {GANGSCHED_PROFILE_DEFAULT, GANGSCHED_PROFILE_WITH_QUEUES}) {
    watched w;
    gangsched_scheduler_options options{};
    options.struct_size = sizeof options;
    options.profile = base;
    w.schedules(nullptr, &options);
    const auto affinity = [](const std::string& more) {
      return R"("affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", )" +
             more + R"("labelSelector": {"matchLabels": {"x": "y"}}}]}}, )";
    };
    const lines others = {
        node,
        R"({"kind": "Namespace", "metadata": {"name": "default", "labels": {"t": "v"}}})",
        R"({"kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"x": "y"}}})",
        R"({"kind": "ReplicaSet", "metadata": {"name": "s"}, "spec": {"selector": {"matchLabels": {"x": "y"}}}})",
        R"({"kind": "PodDisruptionBudget", "metadata": {"name": "s"}, "spec": {"selector": {"matchLabels": {"x": "y"}}},
            "status": {"disruptionsAllowed": 1}})",
        R"({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"},
            "spec": {"minMember": 2}})",
        reservation("held"),
        pod("runs", "1", R"(, "labels": {"z": "y"})", R"("nodeName": "n", )")};
    const std::string member = R"(, "labels": {"scheduling.x-k8s.io/pod-group": "g"})";
    const lines waiting = {pod("big", "8"),
                           pod("elsewhere", "0", "", R"("nodeSelector": {"a": "b"}, )"),
                           pod("near", "0", "", affinity("")),
                           pod("near-ns", "0", "", affinity(R"("namespaceSelector": {"matchLabels": {"t": "u"}}, )")),
                           pod("m0", "8", member),
                           pod("m1", "8", member)};
    for (const lines* all : {&others, &waiting})
      for (const std::string& one : *all) w.is(one);
    CHECK_FALSE(w.turn().empty());
    w.turn();
    for (const lines* all : {&others, &waiting})
      for (const std::string& one : *all) {
        INFO(one);
        w.is(one);
        CHECK(w.turn().empty());
      }
    w.is(pod("big", "2", R"(, "labels": {"q": "q"})"));  // what is new of it counts
    CHECK(w.turn().at(0) == "big bind n");
  }
}

TEST_CASE("a pod waits for its claims of devices, and one that runs has what is known of them", "[c]") {
  watched w;
  w.schedules();
  w.is(node);
  const std::string named = R"("resourceClaims": [{"name": "d", "resourceClaimName": "rc"}], )";
  CHECK(w.refusal(pod("p", "1", "", named)) ==
        "object:1: Pod default/p: spec.resourceClaims: no resource claim \"rc\"");
  w.is(pod("r", "1", "", named + R"("nodeName": "n", )"));
  CHECK(w.used() == 1000);
  const gangsched_device_request two = [] {
    gangsched_device_request one{};
    one.struct_size = sizeof one;
    one.count = 2;
    return one;
  }();
  gangsched_resource_claim_spec claim{};
  claim.struct_size = sizeof claim;
  claim.name = "rc";
  claim.devices = &two;
  claim.device_count = 1;
  gangsched_resource_claim_id made{};
  w.must(gangsched_cluster_add_resource_claim(w.cluster, &claim, &made, w.error));
  w.is(pod("p", "1", "", named));
  CHECK(w.turn() == lines{"p reject"});
  const std::string to_be_made = R"("resourceClaims": [{"name": "d", "resourceClaimTemplateName": "t"}], )";
  w.is(pod("q", "1", "", to_be_made));
  CHECK(w.turn().empty());
  w.is(pod("q", "1", "", to_be_made, R"("resourceClaimStatuses": [{"name": "d", "resourceClaimName": "rc"}])"));
  CHECK(w.turn() == lines{"q reject"});
}

TEST_CASE("a Pod is not the Reservation of its name", "[c]") {
  watched w;
  w.is(node);
  w.is(reservation("web"));
  CHECK(w.used() == 3000);
  CHECK(w.set(pod("web", "1")) == GANGSCHED_DUPLICATE);
  CHECK(w.error.message() == "object:1: Pod default/web: metadata.name: exists already");
  CHECK(w.removed(pod("web", "1")) == GANGSCHED_UNKNOWN);
  w.is(pod("web", "1", "", R"("nodeName": "n", )", R"("phase": "Succeeded")"));
  CHECK(w.used() == 3000);
  w.is(pod("own", "1"));
  w.must(w.removed(pod("own", "1")));
  w.must(w.removed(reservation("web")));
  CHECK(w.used() == 0);
}

TEST_CASE("a pod that was being deleted and comes without that is made anew", "[c]") {
  watched w;
  w.schedules();
  w.is(node);
  const std::string going = R"(, "deletionTimestamp": "2026-01-01T00:00:00Z")", there = R"("nodeName": "n", )";
  w.is(pod("p", "2", going));
  CHECK(w.turn().empty());
  w.is(pod("p", "2"));
  CHECK(w.turn() == lines{"p bind n"});
  w.is(pod("r", "1", going, there));
  const std::uint64_t runs = gangsched_cluster_find_pod(w.cluster, "default", "r").value;
  w.is(pod("r", "1", "", there));  // what a watch says late
  CHECK(gangsched_cluster_find_pod(w.cluster, "default", "r").value == runs);
  w.is(pod("r", "1"));
  CHECK(w.turn() == lines{"r bind n"});
}

TEST_CASE("errors about one object name it and the place in it", "[c]") {
  watched w;
  w.is(node);
  CHECK(w.refusal(pod("p", "1", "", R"("nodeName": "nowhere", )")) ==
        "object:1: Pod default/p: spec.nodeName: no node \"nowhere\"");
  CHECK(w.refusal(R"({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"},
                      "spec": {"minMember": 1, "priorityClassName": "no"}})") ==
        "object:2: PodGroup default/g: spec.priorityClassName: no priority class \"no\"");
  CHECK(w.refusal(R"({"kind": "PodDisruptionBudget", "metadata": {"name": "BAD_NAME"}, "spec": {}})")
            .starts_with("object:1: PodDisruptionBudget default/BAD_NAME: metadata.name: "));
  CHECK(w.refusal(R"({"kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a b": "c"}}})")
            .starts_with("object:1: Service default/s: spec.selector"));
  const std::string other = R"({"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "s"}})";
  CHECK(w.refusal(other).find("\"Service\" of \"serving.knative.dev\"") != std::string::npos);
  CHECK(w.removed(other) == GANGSCHED_UNKNOWN);
}

TEST_CASE("Koordinator's annotations on a PodGroup count when it comes alone", "[c]") {
  watched w;
  w.schedules();
  w.is(node);
  w.is(R"({"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g",
           "annotations": {"gang.scheduling.koordinator.sh/mode": "NonStrict"}}, "spec": {"minMember": 2}})");
  for (const auto& [name, cpu] : {std::pair{"a", "1"}, std::pair{"b", "8"}})
    w.is(pod(name, cpu, R"(, "labels": {"pod-group.scheduling.sigs.k8s.io": "g"})"));
  CHECK(w.turn() == lines{"a wait n", "b reject"});
  CHECK(w.refusal(R"({"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "h",
           "annotations": {"gang.scheduling.koordinator.sh/mode": "no"}}, "spec": {"minMember": 2}})")
            .find("\"no\" is not one of Strict, NonStrict") != std::string::npos);
}

}  // namespace gangsched::testing::watched_objects_test
