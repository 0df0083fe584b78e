// What volumes mean for where a pod can run: the host's facts through the default profile.
#include "world.hpp"

namespace gangsched::testing::volumes_test {

namespace {

struct storage : world {
  using world::add;
  pod_id add(const std::string& name, pod_volumes volumes, const std::string& on = "") {
    a_pod made{name};
    made.spec.volumes = std::move(volumes);
    if (!on.empty()) made.on(node(on));
    return add(made);
  }
  /// The plugin that rejects the pod there, and why; empty if it fits.
  std::string verdict(const std::string& pod_name, const std::string& node_name) {
    const explanation all = must(scheduler.explain(pod(pod_name)));
    for (const node_verdict& one : all.nodes) {
      if (one.name != node_name) continue;
      if (one.code == code::success) return "";
      CHECK(one.reasons.size() == 1);
      return one.plugin + (one.code == code::unresolvable ? "! " : ": ") + one.reasons.front();
    }
    return "no such node";
  }
};

}  // namespace

TEST_CASE("VolumeBinding: only where the claims can be bound, and nowhere before they are", "[engine][volumes]") {
  storage w;
  for (const char* name : {"a", "b", "c"}) w.add(a_node{name});
  w.add("p", {.nodes = {{"c", "a", "elsewhere"}}});
  CHECK(w.verdict("p", "a").empty());
  CHECK(w.verdict("p", "b") == "VolumeBinding! node(s) didn't match PersistentVolume's node affinity");
  CHECK(w.verdict("p", "c").empty());
  w.add("q", {.unbound_claims = true});
  CHECK(w.verdict("q", "a") == "VolumeBinding! pod has unbound immediate PersistentVolumeClaims");
  CHECK(w.run() == words{"bind p a", "reject q"});
  pod_spec bound = a_pod{"q"};
  bound.volumes.nodes = {"b"};
  w.must(w.cluster.update_pod(w.pod("q"), bound));
  CHECK(w.run_at(20s) == words{"bind q b"});
}

TEST_CASE("VolumeBinding: claims without a volume have nodes of their own, and each lack is told",
          "[engine][volumes]") {
  storage w;
  for (const char* name : {"a", "b", "c", "d"}) w.add(a_node{name});
  w.add("p", {.nodes = {{"a", "b"}}, .bindable_nodes = {{"c", "a"}}});
  CHECK(w.verdict("p", "a").empty());
  CHECK(w.verdict("p", "b") == "VolumeBinding! node(s) didn't find available persistent volumes to bind");
  CHECK(w.verdict("p", "c") == "VolumeBinding! node(s) didn't match PersistentVolume's node affinity");
  const explanation all = w.must(w.scheduler.explain(w.pod("p")));
  CHECK(all.nodes.at(3).reasons == words{"node(s) didn't find available persistent volumes to bind",
                                         "node(s) didn't match PersistentVolume's node affinity"});
  CHECK(w.run() == words{"bind p a"});
}

TEST_CASE("VolumeBinding: a claim that is not there keeps its pod from every node, until the host says that it is",
          "[engine][volumes]") {
  storage w;
  w.add(a_node{"a"});
  w.add("p", {.claim_problem = "persistentvolumeclaim \"data\" not found"});
  CHECK(w.verdict("p", "a") == "VolumeBinding! persistentvolumeclaim \"data\" not found");
  CHECK(w.run() == words{"reject p"});
  w.must(w.cluster.update_pod(w.pod("p"), a_pod{"p"}));
  CHECK(w.run_at(20s) == words{"bind p a"});
}

TEST_CASE("VolumeZone: a zone of every volume, by present or beta label; a node without zones will do",
          "[engine][volumes]") {
  storage w;
  w.add(a_node{"east"}.zone("east"));
  w.add(a_node{"west"}.zone("west").label("topology.kubernetes.io/region", "r"));
  w.add(a_node{"old"}.label("failure-domain.beta.kubernetes.io/zone", "east"));
  w.add(a_node{"none"}.label("disk", "ssd"));
  const std::string no = "VolumeZone! node(s) had no available volume zone";
  w.add("present", {.zones = {{"topology.kubernetes.io/zone", {"east", "north"}}}});
  CHECK(w.verdict("present", "east").empty());
  CHECK(w.verdict("present", "west") == no);
  CHECK(w.verdict("present", "old") == no);
  CHECK(w.verdict("present", "none").empty());
  w.add("beta", {.zones = {{"failure-domain.beta.kubernetes.io/zone", {"east"}}}});
  CHECK(w.verdict("beta", "east").empty());
  CHECK(w.verdict("beta", "west") == no);
  CHECK(w.verdict("beta", "old").empty());
  w.add("both", {.zones = {{"topology.kubernetes.io/zone", {"west"}}, {"topology.kubernetes.io/region", {"q"}}}});
  CHECK(w.verdict("both", "west") == no);
}

TEST_CASE("VolumeRestrictions: a disk is for one pod of a node, unless all only read", "[engine][volumes]") {
  storage w;
  w.add(a_node{"n"});
  w.add(a_node{"m"});
  w.add("writer", {.disks = {{"d1"}}}, "n");
  w.add("reader", {.disks = {{"d2", true}}}, "n");
  const std::string no = "VolumeRestrictions: node(s) had no available disk";
  w.add("p1", {.disks = {{"d1", true}}});
  w.add("p2", {.disks = {{"d2", true}}});
  w.add("p3", {.disks = {{"d2"}}});
  w.add("p4", {.disks = {{"d3"}}});
  CHECK(w.verdict("p1", "n") == no);
  CHECK(w.verdict("p1", "m").empty());
  CHECK(w.verdict("p2", "n").empty());
  CHECK(w.verdict("p3", "n") == no);
  CHECK(w.verdict("p4", "n").empty());
  w.remove(w.pod("writer"));
  CHECK(w.verdict("p1", "n").empty());
}

TEST_CASE("VolumeRestrictions: a ReadWriteOncePod claim is for one pod of the cluster", "[engine][volumes]") {
  storage w;
  w.add(a_node{"n"});
  w.add(a_node{"m"});
  const pod_id user = w.add("user", {.exclusive_claims = {"data"}}, "n");
  w.add("p", {.exclusive_claims = {"logs", "data"}});
  w.add(a_pod{"other"}.ns("blue"));
  const std::string no =
      "VolumeRestrictions: node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access "
      "mode";
  CHECK(w.verdict("p", "n") == no);
  CHECK(w.verdict("p", "m") == no);
  CHECK(w.run() == words{"reject p", "bind other n"});
  w.remove(user);
  CHECK(w.run_at(20s) == words{"bind p n"});
}

TEST_CASE("VolumeRestrictions: a more important pod takes the claim from its user", "[engine][volumes]") {
  storage w;
  w.add(a_node{"n"});
  w.add("user", {.exclusive_claims = {"data"}}, "n");
  a_pod boss = a_pod{"boss"}.priority(5);
  boss.spec.volumes.exclusive_claims = {"data"};
  w.add(boss);
  CHECK(w.run() == words{"nominate boss n", "evict user n"});
  w.remove(w.pod("user"));
  CHECK(w.run() == words{"bind boss n"});
}

TEST_CASE("NodeVolumeLimits: a volume counts once on a node, and per driver with a limit", "[engine][volumes]") {
  storage w;
  node_spec node = a_node{"n"};
  node.volume_limits = {{"ebs", 3}};
  const node_id n = w.add(node);
  w.add("one", {.attachments = {{"ebs", "v1"}, {"ebs", "v2"}, {"ebs", "v1"}}}, "n");
  w.add("two", {.attachments = {{"ebs", "v2"}, {"nfs", "v1"}}}, "n");
  const std::string no = "NodeVolumeLimits: node(s) exceed max volume count";
  w.add("p1", {.attachments = {{"ebs", "v3"}}});
  w.add("p2", {.attachments = {{"ebs", "v3"}, {"ebs", "v4"}}});
  w.add("p3", {.attachments = {{"ebs", "v1"}, {"ebs", "v2"}, {"ebs", "v3"}}});
  w.add("p4", {.attachments = {{"nfs", "v2"}, {"nfs", "v3"}, {"nfs", "v4"}, {"nfs", "v5"}}});
  CHECK(w.verdict("p1", "n").empty());
  CHECK(w.verdict("p2", "n") == no);
  CHECK(w.verdict("p3", "n").empty());
  CHECK(w.verdict("p4", "n").empty());
  node.volume_limits["ebs"] = 1;  // more is there already than may be
  w.must(w.cluster.update_node(n, node));
  CHECK(w.verdict("p1", "n") == no);
  w.add("p5", {.attachments = {{"ebs", "v2"}}});
  CHECK(w.verdict("p5", "n").empty());
  node.volume_limits.clear();
  w.must(w.cluster.update_node(n, node));
  CHECK(w.verdict("p2", "n").empty());
}

TEST_CASE("what is wrong with volumes is refused by field", "[engine][volumes]") {
  storage w;
  const auto field = [&](pod_volumes volumes) {
    a_pod made{"p"};
    made.spec.volumes = std::move(volumes);
    const auto said = w.cluster.add_pod(made);
    return said ? std::string{} : said.error().field;
  };
  CHECK(field({.nodes = {{"A"}}}) == "volumes.nodes[0]");
  CHECK(field({.zones = {{"", {}}}}) == "volumes.zones[0].key");
  CHECK(field({.zones = {{"k", {"ok", "not ok"}}}}) == "volumes.zones[0].values[1]");
  CHECK(field({.disks = {{"d"}, {""}}}) == "volumes.disks[1].id");
  CHECK(field({.exclusive_claims = {""}}) == "volumes.exclusive_claims[0]");
  CHECK(field({.attachments = {{"", "v"}}}) == "volumes.attachments[0].driver");
  CHECK(field({.attachments = {{"d", ""}}}) == "volumes.attachments[0].id");
  node_spec node = a_node{"n"};
  node.volume_limits = {{"ebs", -1}};
  CHECK(w.cluster.add_node(node).error().field == "volume_limits[\"ebs\"]");
}

}  // namespace gangsched::testing::volumes_test
