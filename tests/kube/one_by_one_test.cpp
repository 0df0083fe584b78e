// What objects that are read by themselves say, for hosts that follow a watch.
#include <string>
#include <vector>

#include "gangsched/kube/manifests.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::one_by_one_test {

using namespace gangsched::kube;

namespace {

value object(const std::string& text) {
  auto all = parse({"one.yaml", text});
  REQUIRE(all);
  return std::move(all->at(0).root);
}
value pod_with(const std::string& spec, const std::string& status = "{}") {
  return object("kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}], " + spec + "}\nstatus: " + status +
                "\n");
}

}  // namespace

TEST_CASE("a pod by itself shares the claims of devices that it names", "[kube][devices]") {
  const std::string claims =
      "resourceClaims: [{name: a, resourceClaimName: rc}, {name: b, resourceClaimTemplateName: t}, "
      "{name: c, resourceClaimName: rc}]";
  const auto waits = read_pod(pod_with(claims), "one.yaml");
  REQUIRE(waits);
  CHECK(waits->shared_claims == std::vector<std::string>{"rc"});
  CHECK(waits->unresolved == std::vector<std::string>{"the ResourceClaim of template \"t\" is not made yet"});
  const std::string status = "{resourceClaimStatuses: [{name: b, resourceClaimName: p-b-1}]}";
  const auto made = read_pod(pod_with(claims, status), "one.yaml");
  REQUIRE(made);
  CHECK(made->shared_claims == std::vector<std::string>{"rc", "p-b-1"});
  CHECK(made->unresolved.empty());

  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const auto refused = spec_for(c, *made);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::unknown);
  CHECK(error_about(refused.error(), pod_with(claims, status), "one.yaml").message() ==
        "one.yaml:3: Pod default/p: spec.resourceClaims: no resource claim \"rc\"");
  const auto runs = read_pod(pod_with(claims + ", nodeName: \"n\"", status), "one.yaml");
  REQUIRE(runs);
  CHECK(spec_for(c, *runs)->resource_claims.empty());
  CHECK(spec_for(c, *runs)->node == n);
  const resource_claim_id rc = c.add_resource_claim({.name = "rc", .devices = {{.count = 1}}}).value();
  CHECK(spec_for(c, *runs)->resource_claims == std::vector<resource_claim_id>{rc});
  const auto gated = spec_for(c, *waits);
  REQUIRE(gated);
  CHECK(gated->resource_claims == std::vector<resource_claim_id>{rc});
  CHECK(gated->scheduling_gates == std::vector<std::string>{unresolved_gate});
}

TEST_CASE("a PodGroup by itself has what Koordinator's annotations say", "[kube][workloads]") {
  const auto group = [](const std::string& annotations) {
    return object(
        "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: PodGroup\nmetadata:\n  name: g\n  annotations:\n" +
        annotations + "spec: {minMember: 2}\n");
  };
  const std::string word = "    gang.scheduling.koordinator.sh/";
  std::vector<warning> warnings;
  const auto made = read_pod_group(
      group(word + "mode: NonStrict\n" + word + "match-policy: only-waiting\n" + word + "groups: '[\"default/h\"]'\n"),
      "one.yaml", &warnings);
  REQUIRE(made);
  CHECK(std::get<gang>(made->spec.policy).mode == gang_mode::permit);
  CHECK(std::get<gang>(made->spec.policy).match == match_policy::only_waiting);
  CHECK(made->parent.empty());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].reason == "which gangs start together takes other objects to know; it is left out");
  const auto wrong = read_pod_group(group(word + "mode: sometimes\n"), "one.yaml");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message().find("\"sometimes\" is not one of Strict, NonStrict") != std::string::npos);
}

}  // namespace gangsched::testing::one_by_one_test
