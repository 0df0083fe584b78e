#include "kube/group_reading.hpp"

// NVIDIA's ComputeDomain: pods that name the template which its controller makes.
namespace gangsched::testing::compute_domain_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

const std::string domain =
    "{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: d, namespace: ml}, spec: "
    "{numNodes: 2, channel: "
    "{resourceClaimTemplate: {name: d-channel}}}}\n---\n";
const std::string device_class =
    "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: compute-domain-default-channel.nvidia.com}, "
    "spec: {selectors: "
    "[{cel: {expression: \"device.driver == 'compute-domain.nvidia.com' && "
    "device.attributes['compute-domain.nvidia.com'].type == 'channel' && "
    "device.attributes['compute-domain.nvidia.com'].id == 0\"}}]}}\n---\n";
const std::string pod =
    "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ml}, spec: {containers: [{name: c}], resourceClaims: "
    "[{name: mine, "
    "resourceClaimTemplateName: d-channel}]}}\n---\n";

}  // namespace

TEST_CASE("a pod that names a ComputeDomain's template asks for a channel", "[kube][dra]") {
  for (const std::string& text : {domain + device_class + pod, pod + device_class + domain}) {
    const manifests all = fine(text);
    CHECK(warned_lines(all) == "");
    REQUIRE(all.pods.at(0).spec.devices.size() == 1);
    const device_request& one = all.pods[0].spec.devices[0];
    CHECK(one.name == "mine/channel");
    CHECK(one.device_class == "compute-domain.nvidia.com");
    CHECK(one.count == 1);
    CHECK(one.selectors.size() == 2);
  }
  const manifests without = fine(domain + pod);
  REQUIRE(without.pods.at(0).unresolved.size() == 1);
  CHECK(without.pods[0].unresolved[0].find("there is no DeviceClass \"compute-domain-default-channel.nvidia.com\"") !=
        std::string::npos);
}

TEST_CASE("a template in the files counts more than the ComputeDomain that it is of", "[kube][dra]") {
  const std::string made =
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: d-channel, namespace: ml}, spec: "
      "{spec: {devices: "
      "{requests: [{name: r, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com, count: "
      "2}}]}}}}\n---\n";
  CHECK(fine(domain + device_class + pod + made).pods.at(0).spec.devices.at(0).count == 2);
  CHECK(reading_refusal(
            "{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: d}, spec: {numNodes: 2}}")
            .find("needs spec.channel.resourceClaimTemplate.name") != std::string::npos);
}

}  // namespace gangsched::testing::compute_domain_test
