#include "kube/device_objects.hpp"
#include "kube/group_reading.hpp"

// How much claims and pools may have.
namespace gangsched::testing::device_limits_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;
using namespace gangsched::kube::testing::device_objects;

TEST_CASE("who has a claim for more devices than one can have waits", "[kube][dra]") {
  const auto waits = [](const std::string& requests) {
    const manifests all = fine(
        node + of_driver + "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}\n" +
        "spec: {devices: {requests: [" + requests + "]}}\n---\n" +
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {resourceClaims: [{name: mine, resourceClaimName: " +
        "x}], containers: [{name: c, resources: {claims: [{name: mine}]}}]}\n---\n");
    return all.pods.at(0).unresolved.empty() ? std::string{} : all.pods.at(0).unresolved.front();
  };
  const auto request = [](const std::string& name, int count) {
    return "{name: " + name + ", exactly: {deviceClassName: c, count: " + std::to_string(count) + "}}";
  };
  CHECK(waits(request("a", 16) + ", " + request("b", 16)).empty());
  CHECK(waits(request("a", 16) + ", " + request("b", 17)).ends_with("33 devices are more than a claim can have, 32"));
  CHECK(waits("{name: a, firstAvailable: [{name: s, deviceClassName: c, count: 40}, {name: t, deviceClassName: c, "
              "count: 8}]}, " +
              request("b", 24))
            .empty());
}

TEST_CASE("a device that consumes a counter that its pool does not have is not given out", "[kube][dra]") {
  const manifests all = fine(
      slice("{name: part, consumesCounters: [{counterSet: s, counters: {m: {value: 1}}}]}, {name: whole}", "", "v1") +
      node);
  const std::vector<other_device>& has = all.nodes.at(0).spec.devices.others;
  CHECK_FALSE(has[0].healthy);
  CHECK(has[0].consumes.empty());
  CHECK(has[1].healthy);
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings[0].reason.find("\"part\" consumes the counter") != std::string::npos);
}

}  // namespace gangsched::testing::device_limits_test
