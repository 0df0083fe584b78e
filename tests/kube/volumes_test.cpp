#include "gangsched/kube/volume_binder.hpp"
#include "kube/group_reading.hpp"

// What claims of volumes come to: the rules of VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits, and of controllers.
namespace gangsched::testing::volume_manifests_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

using words = std::vector<std::string>;
const read_options whole{.whole_cluster = true};

std::string object(const std::string& version, const std::string& kind, const std::string& metadata,
                   const std::string& rest = "") {
  return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {" + metadata + "}" +
         (rest.empty() ? "" : ", " + rest) + "}\n---\n";
}
std::string node(const std::string& name, const std::string& zone = "") {
  return object("v1", "Node",
                "name: " + name + ", labels: {host: " + name +
                    (zone.empty() ? "" : ", topology.kubernetes.io/zone: " + zone) + "}",
                "status: {allocatable: {cpu: 4, pods: 9}}");
}
std::string claim(const std::string& name, const std::string& spec, const std::string& status = "",
                  const std::string& metadata = "") {
  return object("v1", "PersistentVolumeClaim", "name: " + name + metadata,
                "spec: {" + spec + "}" + (status.empty() ? "" : ", status: {phase: " + status + "}"));
}
std::string volume(const std::string& name, const std::string& spec, const std::string& metadata = "") {
  return object("v1", "PersistentVolume", "name: " + name + metadata,
                "spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], " + spec + "}");
}
std::string storage_class(const std::string& name, const std::string& rest, const std::string& metadata = "") {
  return object("storage.k8s.io/v1", "StorageClass", "name: " + name + metadata, rest);
}
/// A pod with a volume of each claim.
std::string pod(const std::string& name, const words& claims, const std::string& spec = "") {
  std::string volumes;
  for (std::size_t i = 0; i < claims.size(); ++i)
    volumes += (i == 0 ? "" : ", ") + std::string{"{name: v"} + std::to_string(i) +
               ", persistentVolumeClaim: {claimName: " + claims[i] + "}}";
  return object("v1", "Pod", "name: " + name,
                "spec: {" + spec + (spec.empty() ? "" : ", ") + "volumes: [" + volumes + "]}");
}
std::string on(const std::string& host) {
  return "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: host, operator: In, values: [" +
         host + "]}]}]}}";
}
const std::string nodes = node("a", "east") + node("b", "west") + node("c", "west");
const std::string small = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}";
const std::string waiting = "provisioner: disk.io, volumeBindingMode: WaitForFirstConsumer";
const std::string local = "provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer";

pod_volumes needs(const manifests& all, const std::string& name) {
  for (const pod_manifest& one : all.pods)
    if (one.spec.name == name) return one.spec.volumes;
  FAIL("no pod " + name);
  return {};
}
pod_volumes needs(const std::string& text, const std::string& name = "p") { return needs(fine(text, whole), name); }
const pod_manifest& find(const manifests& all, const std::string& name) {
  for (const pod_manifest& one : all.pods)
    if (one.spec.name == name) return one;
  FAIL("no pod " + name);
  return all.pods.front();
}
using where = std::optional<words>;

}  // namespace

TEST_CASE("a claim that is bound leads to its volume's node affinity and zones", "[kube][volumes]") {
  const std::string bound = small + ", storageClassName: s, volumeName: v";
  const std::string mine = ", claimRef: {namespace: default, name: d}";
  const pod_volumes one =
      needs(nodes + pod("p", {"d"}) + claim("d", bound, "Bound") +
            volume("v", "storageClassName: s, csi: {driver: disk.io, volumeHandle: h}, " + on("a, c") + mine,
                   ", labels: {topology.kubernetes.io/zone: east__west}"));
  CHECK(one.nodes == where{{"a", "c"}});
  CHECK(!one.bindable_nodes);
  CHECK(one.claim_problem.empty());
  REQUIRE(one.zones.size() == 1);
  CHECK(one.zones[0].key == "topology.kubernetes.io/zone");
  CHECK(one.zones[0].values == words{"east", "west"});
  REQUIRE(one.attachments.size() == 1);
  CHECK(one.attachments[0].driver == "disk.io");
  CHECK(needs(nodes + pod("p", {"d"}) + claim("d", bound, "Bound") + volume("v", "storageClassName: s" + mine)).nodes ==
        where{});
  // Two volumes: where both are.
  const pod_volumes two =
      needs(nodes + pod("p", {"d", "e"}) + claim("d", "volumeName: v", "Bound") + claim("e", "volumeName: w", "Bound") +
            volume("v", on("a, c")) + volume("w", on("c, b")));
  CHECK(two.nodes == where{{"c"}});
}

TEST_CASE("claims that are missing, lost or being deleted are told in kube-scheduler's words", "[kube][volumes]") {
  const auto problem = [](const std::string& text) { return needs(text).claim_problem; };
  const manifests missing = fine(nodes + pod("p", {"d"}) + pod("q", {"d"}, "nodeName: a"), whole);
  CHECK(needs(missing, "p").claim_problem == "persistentvolumeclaim \"d\" not found");
  CHECK(needs(missing, "q").claim_problem.empty());  // it runs
  CHECK(warned_lines(missing) ==
        "a.yaml:7: Pod default/p: spec.volumes: no persistentvolumeclaim \"d\"; the pod waits for it\n");
  CHECK(problem(pod("p", {"d"}) + claim("d", "volumeName: v", "Lost")) ==
        "persistentvolumeclaim \"d\" bound to non-existent persistentvolume \"v\"");
  CHECK(problem(pod("p", {"d"}) + claim("d", small, "Pending", ", deletionTimestamp: \"2026-01-01T00:00:00Z\"")) ==
        "persistentvolumeclaim \"d\" is being deleted");
  CHECK(problem(pod("p", {"d"}) + claim("d", "volumeName: v", "Bound")) == "persistentvolume \"v\" not found");
  const std::string ephemeral = object("v1", "Pod", "name: p", "spec: {volumes: [{name: d, ephemeral: {}}]}");
  CHECK(problem(ephemeral) == "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-d\"");
  CHECK(problem(ephemeral + claim("p-d", "storageClassName: ''")) ==
        "PVC default/p-d was not created for pod default/p (pod is not owner)");
  const manifests volume_missing = fine(pod("p", {"d"}) + claim("d", "volumeName: v", "Bound"), whole);
  CHECK(warned_lines(volume_missing) ==
        "a.yaml:1: Pod default/p: spec.volumes: no persistentvolume \"v\"; the pod waits for it\n");
  CHECK(needs(fine(pod("p", {"d"}) + claim("d", "volumeName: v", "Bound")), "p").claim_problem.empty());
  const manifests part = fine(pod("p", {"d"}));  // the cluster may have it
  CHECK(needs(part, "p").claim_problem.empty());
  CHECK(warned_lines(part) ==
        "a.yaml:1: Pod default/p: spec.volumes: no persistentvolumeclaim \"d\"; where the volume can be used does not "
        "count\n");
}

TEST_CASE("an immediate claim is bound before anybody is placed, or keeps its pod from every node", "[kube][volumes]") {
  const std::string manual = ", storageClassName: manual";
  // The smallest volume that will do; whichever node it is on.
  const manifests all =
      fine(nodes + pod("p", {"d"}) + pod("q", {"e"}) + claim("d", small + manual) + claim("e", small + manual) +
               object("v1", "PersistentVolume", "name: big",
                      "spec: {capacity: {storage: 90Gi}, accessModes: [ReadWriteOnce], storageClassName: manual}") +
               volume("v", "storageClassName: manual, " + on("b")),
           whole);
  CHECK(needs(all, "p").nodes == where{{"b"}});
  CHECK(!needs(all, "q").nodes);
  CHECK(!needs(all, "q").unbound_claims);
  // A third one has none: the class is one of volumes that somebody makes by hand.
  CHECK(needs(pod("p", {"d"}) + pod("q", {"e"}) + claim("e", small + manual) + claim("d", small + manual) +
              volume("v", "storageClassName: manual"))
            .unbound_claims);
  const auto unbound = [&](const std::string& of, const std::string& spec, const std::string& status = "") {
    return needs(nodes + of + pod("p", {"d"}) + claim("d", spec, status)).unbound_claims;
  };
  const std::string made = storage_class("s", "provisioner: disk.io");
  CHECK_FALSE(unbound(made, small + ", storageClassName: s"));
  CHECK(unbound(made, small + ", storageClassName: s", "Pending"));  // its provisioner has not served it
  CHECK(unbound(made, small + ", storageClassName: other"));
  CHECK(unbound(made, small + ", storageClassName: ''"));
  CHECK(unbound(made, small));  // no class is the default
  CHECK_FALSE(unbound(storage_class("s", "provisioner: disk.io",
                                    ", annotations: {storageclass.kubernetes.io/is-default-class: 'true'}"),
                      small));
  CHECK(unbound(storage_class("s", "provisioner: kubernetes.io/no-provisioner"), small + ", storageClassName: s"));
  CHECK(unbound(made, small + ", storageClassName: s, volumeName: gone"));
  const std::string zonal = storage_class("s",
                                          "provisioner: disk.io, allowedTopologies: [{matchLabelExpressions: [{key: "
                                          "topology.kubernetes.io/zone, values: [west]}]}]");
  CHECK(needs(nodes + zonal + pod("p", {"d"}) + claim("d", small + ", storageClassName: s")).nodes ==
        where{{"b", "c"}});
}

TEST_CASE("which volumes do for a claim", "[kube][volumes]") {
  const std::string asks = small + ", storageClassName: s";
  const auto served = [&](const std::string& spec, const std::string& of, const std::string& metadata = "") {
    return !needs(nodes + storage_class("s", "provisioner: kubernetes.io/no-provisioner") + pod("p", {"d"}) +
                  claim("d", spec) + volume("v", of, metadata))
                .unbound_claims;
  };
  const std::string plain = "storageClassName: s";
  CHECK(served(asks, plain));
  CHECK_FALSE(served(asks, "storageClassName: t"));
  CHECK_FALSE(
      served("storageClassName: s, accessModes: [ReadWriteOnce], resources: {requests: {storage: 11Gi}}", plain));
  CHECK_FALSE(
      served("storageClassName: s, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}", plain));
  CHECK_FALSE(served(asks + ", volumeMode: Block", plain));
  CHECK(served(asks + ", volumeMode: Block", plain + ", volumeMode: Block"));
  CHECK_FALSE(served(asks + ", volumeAttributesClassName: fast", plain));
  CHECK_FALSE(served(asks + ", selector: {matchLabels: {kind: fast}}", plain));
  CHECK(served(asks + ", selector: {matchLabels: {kind: fast}}", plain, ", labels: {kind: fast}"));
  CHECK_FALSE(served(asks, plain, ", deletionTimestamp: \"2026-01-01T00:00:00Z\""));
  CHECK_FALSE(served(asks, plain + ", claimRef: {namespace: default, name: other}"));
  CHECK(served(asks, plain + ", claimRef: {namespace: default, name: d}"));  // kept for it
  CHECK_FALSE(served(asks, plain + ", claimRef: {namespace: elsewhere, name: d}"));
  CHECK(served(asks + ", volumeName: v", plain));
  CHECK_FALSE(served(asks + ", volumeName: v", plain + ", claimRef: {namespace: default, name: other}"));
  CHECK_FALSE(served(asks, "storageClassName: t", ", annotations: {volume.beta.kubernetes.io/storage-class: t}"));
  CHECK(served(asks, "storageClassName: t", ", annotations: {volume.beta.kubernetes.io/storage-class: s}"));
}

TEST_CASE("a claim that waits for its first consumer goes where a volume is, or is made", "[kube][volumes]") {
  const std::string asks = small + ", storageClassName: s";
  const auto bindable = [&](const std::string& of, const std::string& metadata = "") {
    const pod_volumes made = needs(nodes + of + pod("p", {"d"}) + claim("d", asks, "Pending", metadata));
    CHECK(!made.nodes);
    CHECK(made.claim_problem.empty());
    CHECK(!made.unbound_claims);
    return made.bindable_nodes;
  };
  CHECK(bindable(storage_class("s", waiting)) == where{});
  const std::string west =
      ", allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [west]}]}]";
  CHECK(bindable(storage_class("s", waiting + west)) == where{{"b", "c"}});
  CHECK(bindable(storage_class("s", local)) == where{words{}});
  CHECK(bindable(storage_class("s", local) + volume("v", "storageClassName: s, " + on("c")) +
                 volume("w", "storageClassName: s, " + on("a"))) == where{{"a", "c"}});
  CHECK(bindable(storage_class("s", local) + volume("v", "storageClassName: s")) ==
        where{});  // reached from everywhere
  CHECK(bindable(storage_class("s", waiting + west) + volume("v", "storageClassName: s, " + on("a"))) ==
        where{{"a", "b", "c"}});
  const std::string selected = ", annotations: {volume.kubernetes.io/selected-node: b}";
  CHECK(bindable(storage_class("s", waiting), selected) == where{{"b"}});
  CHECK(bindable(storage_class("s", local) + volume("v", "storageClassName: s, " + on("b")), selected) ==
        where{words{}});
}

TEST_CASE("two claims of a pod do not get the same volume", "[kube][volumes]") {
  const std::string asks = small + ", storageClassName: s";
  const std::string pods =
      nodes + storage_class("s", local) + pod("p", {"d", "e"}) + claim("d", asks) + claim("e", asks);
  const std::string one =
      volume("v1", "storageClassName: s, " + on("a")) + volume("v2", "storageClassName: s, " + on("b"));
  CHECK(needs(pods + one).bindable_nodes == where{words{}});
  CHECK(needs(pods + one + volume("v3", "storageClassName: s, " + on("b, c"))).bindable_nodes == where{{"b"}});
}

TEST_CASE("who is placed takes a volume, and gives it back if that came to nothing", "[kube][volumes]") {
  const std::string asks = small + ", storageClassName: s";
  const manifests all =
      fine(nodes + storage_class("s", local) + pod("p", {"d"}) + pod("q", {"e"}) + pod("friend", {"d"}) +
               claim("d", asks) + claim("e", asks) + volume("v", "storageClassName: s, " + on("a")) +
               volume("w", "storageClassName: s, " + on("b")),
           whole);
  volume_binder binder{all};
  const pod_manifest &p = find(all, "p"), &q = find(all, "q"), &other = find(all, "friend");
  CHECK(binder.needs(q).bindable_nodes == where{{"a", "b"}});
  const std::uint64_t before = binder.version();
  CHECK(binder.may_change(p));
  REQUIRE(binder.reserve(p, "a"));
  CHECK(binder.version() != before);
  CHECK_FALSE(binder.may_change(p));
  CHECK(binder.needs(q).bindable_nodes == where{{"b"}});
  CHECK(binder.needs(other).nodes == where{{"a"}});  // the claim has a volume now
  CHECK(!binder.needs(other).bindable_nodes);
  CHECK_FALSE(binder.reserve(q, "a"));
  CHECK(binder.needs(q).bindable_nodes == where{{"b"}});
  CHECK(binder.reserve(other, "a"));  // nothing is left to do
  binder.unreserve(other);
  CHECK(binder.needs(q).bindable_nodes == where{{"b"}});
  binder.unreserve(p);
  CHECK(binder.needs(q).bindable_nodes == where{{"a", "b"}});
  CHECK(binder.needs(other).bindable_nodes == where{{"a", "b"}});
}

TEST_CASE("a pod that comes again under its name does not give back what the first one got", "[kube][volumes]") {
  const std::string asks = small + ", storageClassName: s";
  const manifests all =
      fine(nodes + storage_class("s", local) + pod("p", {"d"}) + pod("q", {"e"}) + claim("d", asks) + claim("e", asks) +
               volume("v", "storageClassName: s, " + on("a")) + volume("w", "storageClassName: s, " + on("b")),
           whole);
  volume_binder binder{all};
  const pod_manifest &p = find(all, "p"), &q = find(all, "q");
  REQUIRE(binder.reserve(p, "a"));
  REQUIRE(binder.reserve(p, "a"));  // the first one has ended
  binder.unreserve(p);
  CHECK(binder.needs(p).nodes == where{{"a"}});
  CHECK(binder.needs(q).bindable_nodes == where{{"b"}});
}

TEST_CASE("who runs already has volumes for its claims, whether or not somebody says which", "[kube][volumes]") {
  const std::string asks = small + ", storageClassName: s";
  const manifests all =
      fine(nodes + storage_class("s", local) + pod("p", {"d"}, "nodeName: b") + pod("q", {"d"}) + pod("r", {"e"}) +
               claim("d", asks) + claim("e", asks) + volume("v", "storageClassName: s, " + on("a, b")) +
               volume("w", "storageClassName: s, " + on("c")),
           whole);
  CHECK(needs(all, "q").nodes == where{{"a", "b"}});
  CHECK(needs(all, "r").bindable_nodes == where{{"c"}});
}

TEST_CASE("a volume that is made can be reached where its driver says, or its class", "[kube][volumes]") {
  const std::string asks = small + ", storageClassName: s";
  const std::string pods = pod("p", {"d"}) + pod("q", {"d"}) + claim("d", asks);
  const auto after = [&](const std::string& of, const std::string& on_node) {
    const manifests all = fine(nodes + of + pods, whole);
    volume_binder binder{all};
    REQUIRE(binder.reserve(find(all, "p"), on_node));
    return binder.needs(find(all, "q")).nodes;
  };
  CHECK(after(storage_class("s", waiting), "b") == where{});
  const std::string both =
      ", allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [west, east]}]}]";
  CHECK(after(storage_class("s", waiting + both), "b") == where{{"b", "c"}});
  const auto drivers = [](const std::string& key) {
    std::string made;
    for (const char* const name : {"a", "b", "c"})
      made += object("storage.k8s.io/v1", "CSINode", std::string{"name: "} + name,
                     "spec: {drivers: [{name: disk.io, nodeID: x, topologyKeys: [" + key + "]}]}");
    return made;
  };
  CHECK(after(storage_class("s", waiting) + drivers("host"), "b") == where{{"b"}});
  CHECK(after(storage_class("s", waiting) + drivers("topology.kubernetes.io/zone"), "c") == where{{"b", "c"}});
}

TEST_CASE("a StatefulSet's claims and ephemeral ones are made of their templates", "[kube][volumes]") {
  const std::string set =
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {a: "
      "b}}, "
      "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}], volumes: [{name: data, "
      "emptyDir: {}}]}}, "
      "volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: s, " +
      small + "}}]}}\n---\n";
  const std::string there = claim("data-web-0", "volumeName: v", "Bound") + volume("v", on("b"));
  const std::string own = object(
      "v1", "Pod",
      "name: web-1, ownerReferences: [{kind: StatefulSet, name: web, controller: true, apiVersion: apps/v1, uid: u}]",
      "spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data-web-1}}]}");
  const manifests all = fine(
      nodes + storage_class("s", local) + volume("w", "storageClassName: s, " + on("c")) + set + there + own, whole);
  REQUIRE(all.pods.size() == 3);
  CHECK(needs(all, "web-0").nodes == where{{"b"}});
  CHECK(needs(all, "web-1").bindable_nodes == where{{"c"}});  // it is in the files, its claim is not
  CHECK(needs(all, "web-2").bindable_nodes == where{{"c"}});
  CHECK(all.volume_claims.size() == 3);
  CHECK(warned(all).empty());

  const manifests one =
      fine(nodes + storage_class("s", local) +
               object("v1", "Pod", "name: p",
                      "spec: {volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: b}}, "
                      "spec: {storageClassName: s, " +
                          small + "}}}}]}") +
               volume("w", "storageClassName: s, " + on("c")),
           whole);
  CHECK(needs(one, "p").bindable_nodes == where{{"c"}});
  REQUIRE(one.volume_claims.size() == 1);
  CHECK(one.volume_claims[0].name == "p-tmp");
  CHECK(one.volume_claims[0].owner_pod == "p");
  CHECK(claim_name(one.pods[0], one.pods[0].volumes[0]) == "p-tmp");
}

TEST_CASE("without a StorageClass in the files one is presumed, with one warning", "[kube][volumes]") {
  const manifests all =
      fine(nodes + pod("p", {"d"}) + pod("q", {"e"}) + pod("r", {"f"}) + claim("d", small) +
               claim("e", small + ", storageClassName: fast") + claim("f", small + ", storageClassName: ''"),
           whole);
  for (const char* const name : {"p", "q"}) {
    const pod_volumes made = needs(all, name);
    CHECK(!made.nodes);
    CHECK(!made.bindable_nodes);
    CHECK(!made.unbound_claims);
  }
  CHECK(needs(all, "r").unbound_claims);  // it wants a volume that somebody has made
  CHECK(warned_lines(all) ==
        "a.yaml:13: PersistentVolumeClaim default/d: spec.storageClassName: no StorageClass is in the files: presumed "
        "is that volumes of these "
        "are made wherever they are wanted: the default one, \"fast\"\n");
  CHECK(volume_binder{all}.presumed_classes() == words{"", "fast"});
  // Volumes of the class are there: somebody makes them by hand.
  CHECK(needs(pod("p", {"d"}) + claim("d", small + ", storageClassName: manual") +
              volume("v", "storageClassName: manual, claimRef: {name: other, namespace: elsewhere}"))
            .unbound_claims);
}

TEST_CASE("disks of the pod itself, and claims that one pod in the cluster can have", "[kube][volumes]") {
  const pod_volumes own = needs(object(
      "v1", "Pod", "name: p",
      "spec: {volumes: [{name: a, gcePersistentDisk: {pdName: g, readOnly: true}}, {name: b, awsElasticBlockStore: "
      "{volumeID: e, readOnly: true}}, {name: c, iscsi: {targetPortal: t, iqn: q, lun: 0}}, {name: d, rbd: {monitors: "
      "[m], "
      "image: i}}, {name: e, hostPath: {path: /x}}, {name: f, secret: {secretName: s}}, {name: g, projected: {sources: "
      "[]}}]}"));
  REQUIRE(own.disks.size() == 4);
  const words ids{"gce/g", "ebs/e", "iscsi/q", "rbd/m/rbd/i"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CHECK(own.disks[i].id == ids[i]);
    CHECK(own.disks[i].read_only == (i == 0));
  }
  CHECK(!own.nodes);
  CHECK(own.attachments.empty());  // nothing says that the plugins' work was migrated
  const manifests all = fine(nodes + pod("p", {"d"}) + pod("q", {"d"}, "nodeName: a") +
                                 claim("d", "accessModes: [ReadWriteOncePod], storageClassName: s"),
                             whole);
  CHECK(needs(all, "p").exclusive_claims == words{"d"});
  CHECK(needs(all, "q").exclusive_claims == words{"d"});
}

TEST_CASE("how many volumes of a driver a node can attach", "[kube][volumes]") {
  const std::string drivers = object(
      "storage.k8s.io/v1", "CSINode",
      "name: a, annotations: {storage.alpha.kubernetes.io/migrated-plugins: "
      "'kubernetes.io/aws-ebs,kubernetes.io/gce-pd'}",
      "spec: {drivers: [{name: disk.io, nodeID: x, allocatable: {count: 5}}, {name: ebs.csi.aws.com, nodeID: x}]}");
  const auto attachment = [](const std::string& name, const std::string& of) {
    return object(
        "storage.k8s.io/v1", "VolumeAttachment", "name: " + name,
        "spec: {attacher: disk.io, nodeName: a, source: {persistentVolumeName: " + of + "}}, status: {attached: true}");
  };
  const std::string csi = "csi: {driver: disk.io, volumeHandle: h}";
  const manifests all = fine(
      nodes + drivers + attachment("x", "used") + attachment("y", "idle") + attachment("z", "gone") +
          volume("used", csi + ", claimRef: {namespace: default, name: d}") + volume("idle", csi) +
          claim("d", "volumeName: used", "Bound") + pod("q", {"d"}, "nodeName: a") + storage_class("s", waiting) +
          storage_class("old", "provisioner: kubernetes.io/aws-ebs") + claim("new", small + ", storageClassName: s") +
          claim("ebs", small + ", storageClassName: old") + pod("p", {"new", "ebs"}),
      whole);
  CHECK(all.nodes[0].spec.volume_limits.at("disk.io") == 4);  // one is attached that no pod there uses
  CHECK(all.nodes[0].spec.volume_limits.size() == 1);
  const auto attached = [&](const std::string& name) {
    words made;
    for (const attached_volume& one : needs(all, name).attachments) made.push_back(one.driver + " " + one.id);
    return made;
  };
  CHECK(attached("q") == words{"disk.io default/d"});
  CHECK(attached("p") == words{"disk.io default/new", "ebs.csi.aws.com default/ebs"});
}

TEST_CASE("labels of volumes that no node can have do not make a pod impossible to add", "[kube][volumes]") {
  const manifests all = fine(nodes + pod("p", {"d"}) + claim("d", "volumeName: v", "Bound") +
                                 volume("v", "storageClassName: s", ", labels: {topology.kubernetes.io/zone: a__-b}"),
                             whole);
  CHECK(needs(all, "p").zones.at(0).values == words{"a"});
  cluster to;
  CHECK(apply(to, all));
}

TEST_CASE("a pod by itself cannot be told where its claims are", "[kube][volumes]") {
  const auto text = parse(source{"a.yaml", pod("p", {"d"})});
  REQUIRE(text);
  std::vector<warning> warnings;
  const auto made = read_pod((*text)[0].root, "a.yaml", &warnings);
  REQUIRE(made);
  CHECK(made->volumes.at(0).claim == "d");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].reason == "volume \"v0\": claims take other objects to know: where it can be used does not count");
}

TEST_CASE("images of one name are one disk only where Ceph clusters share a monitor", "[kube][volumes]") {
  const auto disks = [](const std::string& rest) {
    words made;
    const pod_volumes own =
        needs(object("v1", "Pod", "name: p", "spec: {volumes: [{name: d, rbd: {image: i" + rest + "}}]}"));
    for (const auto& one : own.disks) {
      made.push_back(one.id);
      CHECK(one.read_only == (rest.find("readOnly") != std::string::npos));
    }
    return made;
  };
  CHECK(disks(", monitors: [m1, m2], pool: p") == words{"rbd/m1/p/i", "rbd/m2/p/i"});
  CHECK(disks(", monitors: [m2, \"m3:6789\", m2], readOnly: true") == words{"rbd/m2/rbd/i", "rbd/m3:6789/rbd/i"});
  CHECK(disks("") == words{"rbd/rbd/i"});
}

}  // namespace gangsched::testing::volume_manifests_test
