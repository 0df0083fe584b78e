#include <new>
#include <string>

#include "gangsched/kube/manifests.hpp"
#include "memory/failing_new.hpp"
#include "memory/full_house.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::apply_test {

const char* const text = R"(
apiVersion: v1
kind: Namespace
metadata: {name: a-namespace-of-some-length, labels: {team: a-team-of-some-length}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: a-priority-class-of-some-length}
value: 7
---
apiVersion: v1
kind: Service
metadata: {name: a-service-of-some-length, namespace: a-namespace-of-some-length}
spec: {selector: {app: an-app-of-some-length}}
---
apiVersion: v1
kind: Node
metadata: {name: a-node-with-a-name-of-some-length, labels: {a-label-of-some-length: a-value-of-some-length}}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", example.com/a-new-resource: "4"}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a-budget-of-some-length, namespace: a-namespace-of-some-length}
spec: {minAvailable: 1, selector: {matchLabels: {app: an-app-of-some-length}}}
---
apiVersion: v1
kind: Pod
metadata: {name: a-running-pod-of-some-length, namespace: a-namespace-of-some-length, labels: {app: an-app-of-some-length}}
spec:
  nodeName: a-node-with-a-name-of-some-length
  containers: [{name: c, resources: {requests: {cpu: "1", example.com/a-new-resource: "1"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: a-waiting-pod-of-some-length, namespace: a-namespace-of-some-length, labels: {app: an-app-of-some-length}}
spec:
  priorityClassName: a-priority-class-of-some-length
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: a-label-of-some-length, labelSelector: {matchLabels: {app: another-app-of-some-length}}}
  containers: [{name: c, resources: {requests: {cpu: "1"}}}]
)";

TEST_CASE("manifests for which there is no memory change nothing, and are applied whole when there is") {
  const kube::manifests read = full_house::must(kube::read(kube::source{.name = "all.yaml", .text = text}));
  full_house twin;
  full_house::must(kube::apply(twin.cluster, read));
  const std::uint64_t after = inside(twin.cluster).digest_with_derived();
  twin.run();
  const std::uint64_t later = inside(twin.cluster).digest_with_derived();
  long failures = 0;
  for (const auto how : {failing_allocation::how::from_then_on, failing_allocation::how::once}) {
    bool failed = true;
    for (long nth = 1; failed; nth += how == failing_allocation::how::once ? 3 : 1) {
      full_house house;
      const std::uint64_t before = inside(house.cluster).digest_with_derived();
      bool thrown = false;
      {
        failing_allocation fails{nth, how};
        try {
          const result<void> applied = kube::apply(house.cluster, read);
          if (!applied) throw applied.error();
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        failed = fails.stop();
      }
      INFO("allocation " << nth << (how == failing_allocation::how::once ? " alone" : " and all after it"));
      REQUIRE(thrown == failed);
      REQUIRE_FALSE(inside(house.cluster).undo.recording());
      if (!failed) break;
      ++failures;
      REQUIRE(inside(house.cluster).digest_with_derived() == before);
      full_house::must(kube::apply(house.cluster, read));
      REQUIRE(inside(house.cluster).digest_with_derived() == after);
      house.run();
      house.check_accounts();
      REQUIRE(inside(house.cluster).digest_with_derived() == later);
    }
  }
  CHECK(failures > 100);
}

TEST_CASE("manifests of which one is refused change nothing") {
  full_house house;
  const std::uint64_t before = inside(house.cluster).digest_with_derived();
  const std::string with_stranger = std::string{text} +
                                    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: single, namespace: default}\n"
                                    "spec: {containers: [{name: c}]}\n";
  const kube::manifests read = full_house::must(kube::read(kube::source{.name = "all.yaml", .text = with_stranger}));
  const result<void> refused = kube::apply(house.cluster, read);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == errc::duplicate);
  CHECK(inside(house.cluster).digest_with_derived() == before);
  house.check_accounts();
}

}  // namespace gangsched::testing::apply_test
