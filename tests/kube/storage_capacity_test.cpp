#include <random>

#include "gangsched/kube/volume_binder.hpp"
#include "kube/group_reading.hpp"

// CSIStorageCapacity: VolumeBinding's rule of where there is room for a volume that is to be made (hasEnoughCapacity).
namespace gangsched::testing::storage_capacity_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

using words = std::vector<std::string>;
const read_options whole{.whole_cluster = true};

std::string node(const std::string& name, const std::string& zone) {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name + ", labels: {zone: " + zone +
         "}}, status: {allocatable: {cpu: 4, pods: 9}}}\n---\n";
}
std::string driver(const std::string& counts = "storageCapacity: true") {
  return "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: disk.io}, spec: {attachRequired: false, " +
         counts + "}}\n---\n";
}
const std::string storage_class =
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: disk.io, volumeBindingMode: "
    "WaitForFirstConsumer}\n---\n";
const std::string nodes = node("a", "east") + node("b", "west") + node("c", "west");

std::string capacity(const std::string& name, const std::string& where, const std::string& rest,
                     const std::string& of = "s") {
  return "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: " + name +
         ", namespace: drivers}, " + (where.empty() ? "" : "nodeTopology: {matchLabels: {" + where + "}}, ") +
         "storageClassName: " + of + (rest.empty() ? "" : ", " + rest) + "}\n---\n";
}
/// A pod that claims so much.
std::string pod(const std::string& name, const std::string& size, const std::string& of = "s") {
  return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name +
         "}, spec: {accessModes: [ReadWriteOnce], storageClassName: " + of +
         ", resources: {requests: {storage: " + size +
         "}}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name +
         "}, spec: {containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: " + name +
         "}}]}}\n---\n";
}
using where = std::optional<words>;
where bindable(const std::string& text) { return fine(text, whole).pods.at(0).spec.volumes.bindable_nodes; }

}  // namespace

TEST_CASE("a volume is made only where its driver has room for it", "[kube][volumes]") {
  const std::string before = nodes + storage_class, east = "zone: east", west = "zone: west", p = pod("p", "5Gi");
  CHECK(bindable(before + p) == where{});
  CHECK(bindable(before + capacity("x", east, "capacity: 1Gi") + p) ==
        where{});  // the driver does not say that it counts
  CHECK(bindable(before + driver("storageCapacity: false") + p) == where{});
  CHECK(bindable(before + driver() + p) == where{words{}});
  CHECK(bindable(before + driver() + capacity("x", east, "capacity: 5Gi") + p) == where{words{"a"}});
  CHECK(bindable(before + driver() + capacity("x", west, "capacity: 6Gi") + p) == where{words{"b", "c"}});
  CHECK(bindable(before + driver() + capacity("x", west, "capacity: 4Gi") + p) == where{words{}});
  CHECK(bindable(before + driver() + capacity("x", west, "capacity: 9Gi", "t") + p) ==
        where{words{}});                                                                          // of another class
  CHECK(bindable(before + driver() + capacity("x", "", "capacity: 9Gi") + p) == where{words{}});  // on no node
  CHECK(bindable(before + driver() + capacity("x", west, "") + p) == where{words{}});             // not known
  CHECK(bindable(before + driver() + capacity("x", west, "capacity: 9Gi, maximumVolumeSize: 4Gi") + p) ==
        where{words{}});
  CHECK(bindable(before + driver() + capacity("x", west, "maximumVolumeSize: 5Gi") + p) == where{words{"b", "c"}});
  CHECK(bindable(before + driver() + capacity("x", west, "capacity: 2Gi") + capacity("z", east, "capacity: 9Gi") + p) ==
        where{words{"a"}});
  const std::string everywhere =
      "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: e}, nodeTopology: {}, "
      "storageClassName: s, "
      "capacity: 9Gi}\n---\n";
  CHECK(bindable(before + driver() + everywhere + p) == where{words{"a", "b", "c"}});
  const manifests all = fine(before + driver() + capacity("x", east, "capacity: 5Gi"));
  CHECK(all.warnings.empty());
  CHECK(all.capacity_drivers == words{"disk.io"});
  CHECK(all.storage_capacities.at(0).ns == "drivers");
  CHECK(reading_refusal("{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: x}}")
            .find("needs a storageClassName") != std::string::npos);
}

TEST_CASE("a volume that is there already needs no room", "[kube][volumes]") {
  const std::string volume =
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 5Gi}, accessModes: "
      "[ReadWriteOnce], "
      "storageClassName: s, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: "
      "In, values: "
      "[east]}]}]}}}}\n---\n";
  CHECK(bindable(nodes + storage_class + driver() + volume + pod("p", "5Gi")) == where{words{"a"}});
  CHECK(bindable(nodes + storage_class + driver() + volume + capacity("x", "zone: west", "capacity: 5Gi") +
                 pod("p", "5Gi")) == where{words{"a", "b", "c"}});
}

TEST_CASE("what is made takes room, and gives it back where it is not made after all", "[kube][volumes]") {
  const manifests all = fine(nodes + storage_class + driver() + capacity("x", "zone: west", "capacity: 8Gi") +
                             pod("p", "5Gi") + pod("q", "5Gi") + pod("r", "3Gi"));
  volume_binder binder{all};
  const auto places = [&](std::size_t pod) { return binder.needs(all.pods[pod]).bindable_nodes; };
  CHECK_FALSE(binder.reserve(all.pods[0], "a"));
  const auto before = binder.version();
  REQUIRE(binder.reserve(all.pods[0], "b"));
  CHECK(binder.version() > before);
  CHECK(places(1) == where{words{}});
  CHECK(places(2) == where{words{"b", "c"}});
  CHECK_FALSE(binder.reserve(all.pods[1], "c"));
  REQUIRE(binder.reserve(all.pods[2], "c"));
  binder.unreserve(all.pods[0]);
  CHECK(places(1) == where{words{"b", "c"}});
  CHECK(binder.reserve(all.pods[1], "c"));
}

TEST_CASE("claims of one pod are judged each by itself, and what is made of all of them takes room",
          "[kube][volumes]") {
  const auto claiming = [](const std::string& name, const std::string& size, const std::string& spec = "") {
    std::string claims;
    for (const char* const end : {"1", "2"})
      claims += "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name + end +
                "}, spec: {accessModes: [ReadWriteOnce], storageClassName: s, resources: {requests: {storage: " + size +
                "}}}}\n---\n";
    return claims + "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" + spec +
           "containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: " + name +
           "1}}, {name: w, persistentVolumeClaim: {claimName: " + name + "2}}]}}\n---\n";
  };
  const std::string before = nodes + storage_class + driver(), room = capacity("x", "zone: west", "capacity: 10Gi");
  const where west = words{"b", "c"}, nowhere = words{};
  for (const auto& [has, each] : {std::pair{"10Gi", "6Gi"}, {"9E", "9E"}}) {  // of the latter two are more than 64 bits
    const manifests all = fine(before + capacity("x", "zone: west", std::string{"capacity: "} + has) +
                                   claiming("p", each) + pod("q", has) + pod("r", "1"),
                               whole);
    volume_binder binder{all};
    const auto places = [&](std::size_t pod) { return binder.needs(all.pods[pod]).bindable_nodes; };
    CHECK(places(0) == west);
    REQUIRE(binder.reserve(all.pods[0], "b"));
    CHECK(places(1) == nowhere);
    CHECK(places(2) == nowhere);
    binder.unreserve(all.pods[0]);
    CHECK(places(0) == west);
    CHECK(places(1) == west);
    REQUIRE(binder.reserve(all.pods[1], "c"));
    CHECK(places(2) == nowhere);
  }
  const manifests running = fine(before + room + claiming("p", "6Gi", "nodeName: b, ") + pod("r", "1Gi"), whole);
  CHECK(running.pods.at(1).spec.volumes.bindable_nodes == nowhere);
  // Another room of the node is taken first.
  const manifests two = fine(before + room + capacity("z", "zone: west", "capacity: 10Gi") +
                                 claiming("p", "6Gi", "nodeName: b, ") + pod("q", "4Gi") + pod("r", "5Gi"),
                             whole);
  CHECK(two.pods.at(1).spec.volumes.bindable_nodes == west);
  CHECK(two.pods.at(2).spec.volumes.bindable_nodes == nowhere);
}

TEST_CASE("capacities at random are as a plain rule has them", "[kube][volumes]") {
  std::mt19937 dice{5};
  const auto roll = [&](unsigned sides) { return static_cast<std::int64_t>(dice() % sides); };
  for (int round = 0; round < 100; ++round) {
    struct room {
      std::string zone, of;
      std::int64_t capacity, largest, used = 0;  // -1: not said
    };
    std::vector<room> rooms;
    std::string text = nodes + storage_class + driver();
    for (std::int64_t n = roll(5); n > 0; --n) {
      room& one = rooms.emplace_back(
          room{roll(2) == 0 ? "east" : "west", roll(4) == 0 ? "t" : "s", roll(12) - 1, roll(3) == 0 ? roll(9) : -1});
      text += capacity("x" + std::to_string(n), "zone: " + one.zone,
                       (one.capacity < 0 ? "" : "capacity: " + std::to_string(one.capacity) + "Gi, ") +
                           (one.largest < 0 ? "" : "maximumVolumeSize: " + std::to_string(one.largest) + "Gi, "),
                       one.of);
    }
    std::vector<std::int64_t> sizes;
    for (int p = 0; p < 6; ++p) {
      sizes.push_back(1 + roll(6));
      text += pod("p" + std::to_string(p), std::to_string(sizes.back()) + "Gi");
    }
    const manifests all = fine(text, whole);
    volume_binder binder{all};
    const std::vector<std::pair<std::string, std::string>> zones{{"a", "east"}, {"b", "west"}, {"c", "west"}};
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      const auto fits = [&](const room& one, const std::string& zone) {
        if (one.of != "s" || one.zone != zone || (one.capacity < 0 && one.largest < 0)) return false;
        std::int64_t most = one.largest >= 0 ? one.largest : one.capacity;
        if (one.used > 0 && one.capacity >= 0) most = std::min(most, one.capacity - one.used);
        return sizes[p] <= most;
      };
      words wanted;
      for (const auto& [name, zone] : zones)
        if (std::ranges::any_of(rooms, [&, its = zone](const room& one) { return fits(one, its); }))
          wanted.push_back(name);
      INFO(text);
      REQUIRE(binder.needs(all.pods[p]).bindable_nodes == where{wanted});
      const auto& [name, zone] = zones[static_cast<std::size_t>(roll(3))];
      const auto its = std::ranges::find_if(rooms, [&, in = zone](const room& one) { return fits(one, in); });
      REQUIRE(binder.reserve(all.pods[p], name) == (its != rooms.end()));
      if (its != rooms.end() && its->capacity >= 0) its->used += sizes[p];
    }
  }
}

}  // namespace gangsched::testing::storage_capacity_test
