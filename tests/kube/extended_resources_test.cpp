#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "kube/device_objects.hpp"
#include "kube/group_reading.hpp"

// Extended resources that stand for devices (KEP-5004).
namespace gangsched::testing::extended_resources_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;
using namespace gangsched::kube::testing::device_objects;

TEST_CASE("extended resources stand for devices of a class", "[kube][dra]") {
  const std::string devices = "{name: g0}, {name: g1}, {name: g2}";
  const auto named = [](const std::string& name, const std::string& resource, const std::string& created = "") {
    std::string text = device_class(name, "device.driver == \"d.io\"");
    text.replace(text.find("spec: {"), 7, "spec: {extendedResourceName: " + resource + ", ");
    if (!created.empty()) text.replace(text.find("{name: " + name), 6, "{creationTimestamp: " + created + ", name:");
    return text;
  };
  const auto asks = [](const std::string& name, const std::string& resource, int count, const std::string& init = "") {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {" + init +
           "containers: [{name: c, resources: {limits: {cpu: 1, " + resource + ": " + std::to_string(count) +
           "}}}]}\n---\n";
  };
  const auto placed = [](const manifests& all) {
    cluster on;
    const auto applied = apply(on, all);
    INFO((applied ? std::string{} : applied.error().message()));
    REQUIRE(applied.has_value());
    scheduler decides{on, profiles::kube_default()};
    std::string names;
    while (auto cycle = decides.schedule_cycle({}))
      for (const decision& one : cycle)
        if (one.kind == decision_kind::bind) names += std::string{on.name_of(one.pod)} + " ";
    return names;
  };
  const std::string implicit = "deviceclass.resource.kubernetes.io/c";
  const manifests all = fine(node + slice(devices) + named("c", "d.io/gpu") + asks("two", "d.io/gpu", 2) +
                             asks("one", implicit, 1) + asks("late", "d.io/gpu", 1));
  CHECK(all.warnings.empty());
  REQUIRE(all.pods[0].spec.devices.size() == 1);
  CHECK(all.pods[0].spec.devices[0].count == 2);
  CHECK(all.pods[0].spec.devices[0].device_class == "d.io");
  CHECK(all.pods[0].spec.devices[0].name == "container-0-request-1");
  CHECK(all.pods[0].spec.containers[0].requests.at("d.io/gpu") == quantity{2});  // quotas count it
  CHECK(all.nodes[0].spec.allocatable.at("d.io/gpu") == quantity{3});
  CHECK(placed(all) == "two one ");
  CHECK(placed(fine(node + slice(devices) + of_driver + asks("one", implicit, 1))) == "one ");
  CHECK(placed(fine(node + slice(devices) + of_driver + asks("one", "d.io/gpu", 1))).empty());

  // Init containers use what the containers after them have; a sidecar has its own.
  const auto init = [](int first, int second, const std::string& more = "") {
    const auto one = [](const char* name, int count, const std::string& rest) {
      return "{name: " + std::string{name} + ", resources: {limits: {d.io/gpu: " + std::to_string(count) + "}}" + rest +
             "}";
    };
    return "initContainers: [" + one("a", first, "") + ", " + one("b", second, more) + "], ";
  };
  const auto counts = [&](const std::string& containers) {
    const manifests made = fine(node + slice(devices) + named("c", "d.io/gpu") + asks("p", "d.io/gpu", 2, containers));
    std::vector<std::pair<std::string, std::int32_t>> found;
    for (const device_request& one : made.pods[0].spec.devices) found.emplace_back(one.name, one.count);
    return found;
  };
  using request = std::pair<std::string, std::int32_t>;
  CHECK(counts(init(1, 2)) == std::vector<request>{{"container-2-request-1", 2}});
  CHECK(counts(init(3, 4)) == std::vector<request>{{"container-1-request-0", 2}, {"container-2-request-1", 2}});
  CHECK(counts(init(4, 1, ", restartPolicy: Always")) ==
        std::vector<request>{{"container-0-request-0", 1}, {"container-1-request-0", 1}, {"container-2-request-1", 2}});

  // Of two classes the newer, else the first by name.
  const auto waits = [&](const std::string& classes) {
    return !fine(node + slice(devices) + classes + asks("p", "d.io/gpu", 1)).pods[0].unresolved.empty();
  };
  std::string unclear = named("b", "d.io/gpu");
  unclear.replace(unclear.find("device.driver == \"d.io\""), 23, "device.attributes[\"d.io\"].x.matches(\"y\")");
  CHECK(waits(unclear + named("c", "d.io/gpu")));
  CHECK_FALSE(waits(unclear + named("a", "d.io/gpu")));
  CHECK_FALSE(waits(unclear + named("c", "d.io/gpu", "2026-01-01T00:00:00Z")));

  // Where a device plugin counts the resource there are no claims for it.
  const std::string counting =
      "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\nstatus: {allocatable: {cpu: 8, pods: 9, d.io/gpu: 1}}\n---\n";
  const manifests mixed = fine(node + slice(devices) + counting + named("c", "d.io/gpu") + asks("p", "d.io/gpu", 1) +
                               asks("q", "d.io/gpu", 1));
  CHECK(mixed.pods[0].spec.devices.empty());
  CHECK(placed(mixed) == "p ");
  CHECK(warned_lines(mixed).find("spec.extendedResourceName: some nodes count \"d.io/gpu\"") != std::string::npos);

  // A pod that runs has what its claim has.
  const std::string running =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: runs}\nspec: {nodeName: n1, containers: [{name: c, resources: "
      "{limits: "
      "{d.io/gpu: 1}}}]}\nstatus: {phase: Running, extendedResourceClaimStatus: {resourceClaimName: x, "
      "requestMappings: "
      "[{containerName: c, resourceName: d.io/gpu, requestName: r}]}}\n---\n";
  const std::string held =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}\nspec: {devices: {requests: [{name: r, "
      "exactly: {deviceClassName: c}}]}}\nstatus: {allocation: {devices: {results: [{request: r, driver: d.io, pool: "
      "n1, "
      "device: g1}]}}}\n---\n";
  const manifests runs = fine(node + slice(devices) + named("c", "d.io/gpu") + running + held);
  CHECK(runs.pods[0].shared_claims == std::vector<std::string>{"x"});
  CHECK(runs.pods[0].spec.devices.empty());
  REQUIRE(runs.claims.size() == 1);
  CHECK(runs.claims[0].spec.held_devices.at(0).id == "g1");
}

}  // namespace gangsched::testing::extended_resources_test
