#include "gangsched/kube/manifests.hpp"
#include "kube/group_reading.hpp"

// Koordinator's Reservations, and what pods say of them.
namespace gangsched::testing::reservation_manifests_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

constexpr const char* node =
    "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 8, pods: 9}}}\n---\n";

std::string reservation(const std::string& metadata, const std::string& spec, const std::string& status = "") {
  return "{apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: r" + metadata +
         "}, spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, resources: {requests: {cpu: "
         "4}}}]}}, " +
         spec + "}" + (status.empty() ? "" : ", status: {" + status + "}") + "}\n---\n";
}

std::string pod(const std::string& name, const std::string& metadata, const std::string& spec = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", " + metadata +
         "}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]" + spec + "}}\n---\n";
}

}  // namespace

TEST_CASE("a Reservation becomes a pod that holds what its template requests", "[kube][reservations]") {
  const manifests all = fine(reservation(
      ", labels: {scheduling.koordinator.sh/reservation-order: \"3\", tier: gold}, creationTimestamp: "
      "\"2026-01-01T00:00:00Z\", "
      "annotations: {scheduling.koordinator.sh/reservation-restricted-options: '{\"resources\": [\"cpu\"]}'}",
      "owners: [{object: {name: p, namespace: x}}, {controller: {kind: ReplicaSet, name: web, namespace: z}}, "
      "{labelSelector: {matchLabels: {app: z}}}], ttl: 1h, allocateOnce: false, allocatePolicy: Restricted, "
      "unschedulable: true, "
      "taints: [{key: k, effect: NoSchedule}]"));
  REQUIRE(all.pods.size() == 1);
  const pod_spec& made = all.pods[0].spec;
  CHECK(made.name == "r");
  CHECK(made.labels == label_map{{"a", "b"}, {"scheduling.koordinator.sh/reservation-order", "3"}, {"tier", "gold"}});
  CHECK(made.priority == 2147483647);
  REQUIRE(made.reservation);
  const reservation_spec& held = *made.reservation;
  REQUIRE(held.owners.size() == 3);
  CHECK(held.owners[0].pod == "p");
  CHECK(held.owners[0].ns == "x");
  CHECK(held.owners[1].controller.kind == controller_kind::replica_set);
  CHECK(held.owners[1].controller.name == "web");
  CHECK(held.owners[1].ns == "z");
  CHECK(held.owners[2].labels->match_labels == label_map{{"app", "z"}});
  CHECK(!held.once);
  CHECK(held.policy == allocate_policy::restricted);
  CHECK(held.restricted == std::vector<std::string>{"cpu"});
  CHECK(held.order == 3);
  CHECK(held.unschedulable);
  CHECK(held.expires == instant{std::chrono::seconds{1767225600 + 3600}});
  REQUIRE(held.taints.size() == 1);
  CHECK(held.taints[0].key == "k");
}

TEST_CASE("an owner that only its uid tells is nobody", "[kube][reservations]") {
  const auto owners = [](const std::string& of) {
    return fine(reservation("", "owners: [" + of + "]")).pods[0].spec.reservation->owners;
  };
  CHECK(owners("{object: {uid: x}}").empty());
  CHECK(owners("{controller: {uid: x, kind: Job}}, {labelSelector: {matchLabels: {a: b}}}").size() == 1);
  CHECK(owners("{object: {uid: x, name: p}}").size() == 1);
  CHECK(owners("{object: {uid: \"\", namespace: z}}").size() == 1);
  CHECK(owners("{object: {namespace: z}, controller: {namespace: w, name: w}}").empty());
  CHECK(owners("{controller: {namespace: w, name: w}, object: {name: p}}").at(0).ns == "w");
  CHECK(warned_lines(fine(reservation("", "owners: [{object: {uid: x}}]"))) ==
        "a.yaml:1: Reservation r: spec.owners[0].object: names a pod by uid, which is not read: nobody\n");
}

TEST_CASE("an order that is no number is none", "[kube][reservations]") {
  const auto order = [](const std::string& text) {
    return fine(
               reservation(", labels: {scheduling.koordinator.sh/reservation-order: \"" + text + "\"}", "owners: [{}]"))
        .pods[0]
        .spec.reservation->order;
  };
  CHECK(order("7") == 7);
  CHECK(order("7th") == 0);
  CHECK(order("99999999999999999999") == 0);
}

TEST_CASE("a Reservation is where its status says, or is to be where its template says", "[kube][reservations]") {
  const std::string any = "owners: [{}]";
  manifests all = fine(reservation("", any));
  CHECK(all.pods[0].spec.reservation->once);
  CHECK(all.pods[0].spec.reservation->expires == instant{std::chrono::hours{24}});
  all = fine(reservation("", any + ", ttl: 0s"));
  CHECK(!all.pods[0].spec.reservation->expires);
  all = fine(node + reservation("", any, "phase: Available, nodeName: n1"));
  CHECK(all.pods[0].node == "n1");
  CHECK(fine(reservation("", any + ", preAllocation: true")).pods[0].spec.reservation->pre_allocation ==
        pre_allocation::if_needed);
  CHECK(fine(reservation(", labels: {scheduling.koordinator.sh/pre-allocation-required: \"true\"}",
                         any + ", preAllocation: true"))
            .pods[0]
            .spec.reservation->pre_allocation == pre_allocation::required);
  CHECK(fine(reservation("", any, "phase: Succeeded, nodeName: n1")).pods.empty());
  CHECK(fine(reservation("", any, "phase: Failed")).pods.empty());
  CHECK(reading_refusal(reservation("", "owners: []")) == "a.yaml:1: Reservation r: needs spec.owners");
  CHECK(reading_refusal(reservation("", any + ", allocatePolicy: Some"))
            .starts_with("a.yaml:1: Reservation r: spec.allocatePolicy: \"Some\" is not one of"));
}

TEST_CASE("pods say which reservations they use, and which they were allocated from", "[kube][reservations]") {
  const std::string affinity =
      "annotations: {scheduling.koordinator.sh/reservation-affinity: '{\"reservationSelector\": {\"tier\": \"gold\"}, "
      "\"requiredDuringSchedulingIgnoredDuringExecution\": {\"reservationSelectorTerms\": [{\"matchExpressions\": "
      "[{\"key\": "
      "\"a\", \"operator\": \"Exists\"}]}]}, \"tolerations\": [{\"key\": \"k\", \"operator\": \"Exists\"}]}'}";
  const manifests all = fine(
      node +
      pod("mine", "annotations: {scheduling.koordinator.sh/reservation-allocated: '{\"name\": \"r\", \"uid\": \"u\"}'}",
          ", nodeName: n1") +
      reservation("", "owners: [{}], allocateOnce: false", "phase: Available, nodeName: n1") + pod("in", affinity) +
      pod("greedy", "labels: {scheduling.koordinator.sh/reservation-ignored: \"true\"}"));
  CHECK(all.warnings.empty());
  cluster on;
  const result<void> applied = apply(on, all);
  INFO((applied ? std::string{} : applied.error().message()));
  REQUIRE(applied.has_value());
  const pod_id r = *on.find_reservation("r");
  CHECK(on.reservation_of(*on.find_pod("default", "mine")) == r);
  CHECK(on.left_of(r, "cpu") == 3000);
  REQUIRE(all.pods.size() == 4);
  REQUIRE(all.pods[2].spec.reservation_affinity);
  const reservation_affinity& in = *all.pods[2].spec.reservation_affinity;
  CHECK(in.selector == label_map{{"tier", "gold"}});
  CHECK(in.tolerations.size() == 1);
  REQUIRE(in.required);
  CHECK(in.required->front().match_expressions[0].key == "a");
  CHECK(all.pods[3].spec.ignores_reservations);
  CHECK(reading_refusal(pod("bad", "annotations: {scheduling.koordinator.sh/reservation-affinity: '[1]'}")) ==
        "a.yaml:1: Pod default/bad: metadata.annotations[\"scheduling.koordinator.sh/reservation-affinity\"]: has to "
        "be an "
        "object, not a list");
}

TEST_CASE("pods say of which resources a reservation has to hold just what they request", "[kube][reservations]") {
  const auto exact = [](const std::string& json) {
    return "annotations: {scheduling.koordinator.sh/exact-match-reservation: '" + json + "'}";
  };
  const manifests all = fine(
      node + reservation("", "owners: [{}], allocateOnce: false", "phase: Available, nodeName: n1") +
      pod("p", exact("{\"resourceNames\": [\"memory\", \"cpu\"]}")) + pod("any", exact("{\"resourceNames\": []}")) +
      pod("greedy", exact("{\"resourceNames\": [\"cpu\"]}") +
                        ", labels: {scheduling.koordinator.sh/reservation-ignored: \"true\"}"));
  CHECK(all.warnings.empty());
  REQUIRE(all.pods.size() == 4);
  CHECK(all.pods[1].spec.exact_reservation == std::vector<std::string>{"memory", "cpu"});
  CHECK(all.pods[2].spec.exact_reservation.empty());
  CHECK(all.pods[3].spec.exact_reservation.empty());  // it minds no reservation
  cluster on;
  REQUIRE(apply(on, all).has_value());

  const std::string at = "Pod default/p: metadata.annotations[\"scheduling.koordinator.sh/exact-match-reservation\"]";
  CHECK(reading_refusal(pod("p", exact("["))).starts_with("a.yaml:1: " + at + ": is neither JSON nor YAML: "));
  CHECK(reading_refusal(pod("p", exact("[1]"))) == "a.yaml:1: " + at + ": has to be an object, not a list");
  CHECK(reading_refusal(pod("p", exact("{\"resourceNames\": \"cpu\"}"))) ==
        "a.yaml:1: " + at + ".resourceNames: has to be a list, not text");
  CHECK(reading_refusal(pod("p", exact("{\"resourceNames\": [\"cpu\", \"no name\"]}"))) ==
        "a.yaml:1: " + at + ".resourceNames[1]: \"no name\" is no name of a resource");
}

TEST_CASE("names of resources that a pod asks for as devices are not compared, and no others", "[kube][reservations]") {
  struct outcome {
    std::vector<std::string> compared;
    std::string warned;
  };
  const auto read_one = [](const std::string& names, const std::string& requests) {
    const manifests all = fine(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {"
        "scheduling.koordinator.sh/exact-match-reservation: '{\"resourceNames\": [" +
        names + "]}'}}, spec: {containers: [{name: c, resources: {requests: {" + requests + "}, limits: {" + requests +
        "}}}]}}");
    return outcome{all.pods[0].spec.exact_reservation, warned_lines(all)};
  };
  const std::vector<std::string> cpu{"cpu"};
  const outcome shares =
      read_one("\"koordinator.sh/gpu-core\", \"cpu\", \"koordinator.sh/rdma\"",
               "cpu: 1, koordinator.sh/gpu-core: 50, koordinator.sh/gpu-memory-ratio: 50, koordinator.sh/rdma: 100");
  CHECK(shares.compared == cpu);
  const std::string at =
      "a.yaml:1: Pod default/p: "
      "metadata.annotations[\"scheduling.koordinator.sh/exact-match-reservation\"].resourceNames";
  CHECK(shares.warned == at + "[0]: \"koordinator.sh/gpu-core\" is of devices here; it is not compared\n" + at +
                             "[2]: \"koordinator.sh/rdma\" is of devices here; it is not compared\n");
  for (const char* name : {"nvidia.com/gpumem", "volcano.sh/vgpu-number", "aliyun.com/gpu-mem", "koordinator.sh/gpu"}) {
    INFO(name);
    const std::string quoted = "\"" + std::string{name} + "\", \"cpu\"";
    const outcome made = read_one(quoted, "cpu: 1, " + std::string{name} + ": 1");
    CHECK(made.compared == cpu);
    CHECK(made.warned.find("is of devices here") != std::string::npos);
    const outcome without = read_one(quoted, "cpu: 1");  // neither has it perhaps: that ends the comparison
    CHECK(without.compared == std::vector<std::string>{name, "cpu"});
    CHECK(without.warned.empty());
  }
}

TEST_CASE("what is wrong with a reservation affinity is said of the annotation", "[kube][reservations]") {
  const std::string at = "Pod default/p: metadata.annotations[\"scheduling.koordinator.sh/reservation-affinity\"]";
  const auto refusal_of = [](const std::string& json) {
    return reading_refusal(pod("p", "annotations: {scheduling.koordinator.sh/reservation-affinity: '" + json + "'}"));
  };
  CHECK(refusal_of("{\"name\": \"No Name\"}").starts_with("a.yaml:1: " + at + ".name: "));
  CHECK(refusal_of("{\"reservationSelector\": {\"no key\": \"x\"}}")
            .starts_with("a.yaml:1: " + at + ".reservationSelector[\"no key\"]: "));
  CHECK(refusal_of("{\"requiredDuringSchedulingIgnoredDuringExecution\": {\"reservationSelectorTerms\": "
                   "[{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\"}]}]}}")
            .starts_with("a.yaml:1: " + at +
                         ".requiredDuringSchedulingIgnoredDuringExecution.reservationSelectorTerms[0]."
                         "matchExpressions[0]"));
}

TEST_CASE("a Reservation that is Available holds what its status says", "[kube][reservations]") {
  const auto held = [](const std::string& status, const std::string& spec = "") {
    const manifests all = fine(node + reservation("", "owners: [{}], allocateOnce: false" + spec, status));
    return all.pods[0].spec.containers.at(0).requests;
  };
  const resource_list four{{"cpu", 4}}, three{{"cpu", 3}, {"memory", quantity{std::int64_t{1} << 30}}};
  const std::string on = "phase: Available, nodeName: n1, allocatable: ";
  CHECK(held(on + "{cpu: 3, memory: 1Gi}") == three);
  CHECK(held(on + "{cpu: 4000m}") == four);
  CHECK(held("phase: Available, nodeName: n1") == four);
  CHECK(held("phase: Pending, allocatable: {cpu: 3}") == four);
  CHECK(held(on + "{cpu: 4, memory: 0}") == four);
  const manifests wrong = fine(node + reservation("", "owners: [{}]", on + "{cpu: -1}"));
  CHECK(wrong.pods[0].spec.containers[0].requests == four);
  CHECK(warned_lines(wrong) ==
        "a.yaml:3: Reservation r: status.allocatable: is negative; it holds what its template requests\n");
  // Devices stay what its template asks for.
  const manifests shares = fine(
      "{apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: r}, spec: {owners: [{}], "
      "template: {"
      "spec: {containers: [{name: a, resources: {requests: {cpu: 2, koordinator.sh/gpu: 50}}}, {name: b, resources: "
      "{requests: "
      "{cpu: 2}}}]}}}, status: {phase: Available, nodeName: n1, allocatable: {cpu: 6, koordinator.sh/gpu-core: 50, "
      "koordinator.sh/gpu-memory-ratio: 50}}}");
  CHECK(shares.pods[0].spec.containers.at(0).requests == resource_list{{"cpu", 6}});
  CHECK(shares.pods[0].spec.containers.at(1).requests.empty());
  CHECK(shares.pods[0].spec.devices.size() == 1);

  cluster with;
  REQUIRE(apply(with, fine(node + reservation("", "owners: [{}], allocateOnce: false", on + "{cpu: 3}"))).has_value());
  CHECK(with.left_of(*with.find_reservation("r"), "cpu") == 3000);
}

TEST_CASE("a Reservation and a pod of its namespace may have one name", "[kube][reservations]") {
  const std::string away = ", nodeName: n1", any = "owners: [{}], allocateOnce: false";
  const manifests all =
      fine(node + reservation("", any, "phase: Available, nodeName: n1") + pod("r", "namespace: default") +
           pod("near", "annotations: {scheduling.koordinator.sh/reservation-affinity: '{\"name\": \"r\"}'}") +
           pod("drew", "annotations: {scheduling.koordinator.sh/reservation-allocated: '{\"name\": \"r\"}'}", away) +
           pod("r-reservation", "namespace: default"));
  cluster on;
  const auto done = apply(on, all);
  if (!done) FAIL(done.error().message());
  REQUIRE(on.find_pod("default", "r"));
  const auto held = on.find_reservation("r-reservation-2");
  REQUIRE(held);
  CHECK(on.find_pod("default", "r") != held);
  CHECK(on.reservation_of(*on.find_pod("default", "drew")) == *held);
  CHECK(all.pods[2].spec.reservation_affinity->name == "r-reservation-2");
  CHECK(warned_lines(all) ==
        "a.yaml:3: Reservation r: metadata.name: a pod in its template's namespace has that name: it is called "
        "\"r-reservation-2\" here\n");
  // Whose pods it is not, it does not keep from being made.
  for (const char* const set : {"apiVersion: apps/v1, kind: StatefulSet, metadata: {name: r}, spec: {replicas: 1, ",
                                "apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: r}, spec: {"}) {
    const bool stateful = std::string{set}.find("apps") != std::string::npos;
    const std::string its = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}";
    const std::string text = std::string{"{"} + set +
                             (stateful ? "selector: {matchLabels: {a: b}}, " + its
                                       : "pytorchReplicaSpecs: {Worker: {replicas: 1, " + its + "}}") +
                             "}}\n---\n";
    const manifests both = fine(reservation(stateful ? "-0" : "-worker-0", any) + text);
    REQUIRE(both.pods.size() == 2);
    CHECK(both.pods[1].spec.name == (stateful ? "r-0" : "r-worker-0"));
    CHECK(both.pods[0].spec.name == both.pods[1].spec.name + "-reservation");
  }
}

}  // namespace gangsched::testing::reservation_manifests_test
