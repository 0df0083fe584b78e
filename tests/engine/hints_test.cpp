// wake_rule::hints: which event wakes whom, plugin by plugin, as kube-scheduler's queueing hints do.
#include "host_queue.hpp"

#include "gangsched/framework/past.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::hints_test {

namespace {

/// Registers for nothing but nodes that come, and never thinks one helps.
struct hopeless {
  static constexpr std::string_view name = "Hopeless";
  using points = implements<point::filter, point::requeue>;
  static constexpr events wakes_on = events::node_added;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::name>) const { return status::unschedulable("never"); }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return hint::skip; }
};
/// Says nothing of events.
struct silent {
  static constexpr std::string_view name = "Silent";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::name>) const { return status::unschedulable("never"); }
};
/// Lets nobody in while the node named "closed" is there.
struct door {
  static constexpr std::string_view name = "Door";
  using points = implements<point::pre_enqueue, point::requeue>;
  static constexpr events wakes_on = events::node_removed;
  bool* open;
  [[nodiscard]] status pre_enqueue(const pod_info&) const {
    return *open ? status::success() : status::unschedulable("closed");
  }
  [[nodiscard]] hint requeue(const event& e, const pod_info&) const {
    return e.old_node->name() == "closed" ? hint::queue : hint::skip;
  }
};

struct update : host_queue {
  using host_queue::host_queue;
  /// Whether a pod rejected by the plugin is woken when the node becomes @p after.
  bool node_becomes(pod_id pod, const node_spec& after) {
    return wakes(pod, [&] { must(cluster.update_node(cluster.find_node(after.name).value(), after)); });
  }
  bool pod_becomes(pod_id pod, pod_id changed, const pod_spec& after) {
    return wakes(pod, [&] { must(cluster.update_pod(changed, after)); });
  }
  bool comes(pod_id pod, const node_spec& spec) {
    return wakes(pod, [&] { add(spec); });
  }
  bool comes(pod_id pod, const pod_spec& spec) {
    return wakes(pod, [&] { add(spec); });
  }
  bool goes(pod_id pod, pod_id gone) {
    return wakes(pod, [&] { remove(gone); });
  }
};

}  // namespace

TEST_CASE("NodeResourcesFit hears of room that is enough for the pod alone", "[engine][hints]") {
  update w;
  const node_id n = w.add(a_node{"n"}.cpu(1).memory("1Gi").pods(10));
  const pod_id other = w.add(a_pod{"other"}.cpu(1).memory("1Gi").on(n));
  const pod_id idle = w.add(a_pod{"idle"}.on(n));
  const pod_id p = w.add_rejected(a_pod{"p"}.cpu(4), {"NodeResourcesFit"});
  CHECK_FALSE(w.comes(p, a_node{"small"}.cpu(3).pods(10)));
  CHECK_FALSE(w.comes(p, a_node{"none"}.cpu(8).pods(0)));
  CHECK(w.comes(p, a_node{"large"}.cpu(4).pods(10)));
  CHECK_FALSE(w.node_becomes(p, a_node{"n"}.cpu(3).memory("1Gi").pods(10)));
  CHECK(w.node_becomes(p, a_node{"n"}.cpu(4).memory("1Gi").pods(10)));
  CHECK_FALSE(w.node_becomes(p, a_node{"n"}.cpu(4).memory("2Gi").pods(10)));  // not what it asks for
  CHECK(w.node_becomes(p, a_node{"n"}.cpu(4).memory("2Gi").pods(11)));
  CHECK_FALSE(w.node_becomes(p, a_node{"n"}.cpu(4).memory("2Gi").pods(11).label("a", "b")));
  CHECK(w.node_becomes(p, a_node{"n"}.cpu(4).memory("2Gi").pods(11).label("a", "b").taint("any")));
  CHECK_FALSE(w.pod_becomes(p, other, a_pod{"other"}.cpu(1).memory("512Mi").on(n)));
  CHECK(w.pod_becomes(p, other, a_pod{"other"}.cpu_milli(500).memory("512Mi").on(n)));
  CHECK_FALSE(w.pod_becomes(p, idle, a_pod{"idle"}.label("a", "b").on(n)));
  CHECK(w.goes(p, idle));  // any pod on a node
  const pod_id pending = w.add(a_pod{"pending"}.cpu(1));
  CHECK(w.pop() == "pending");
  w.reject(pending, {"Nobody"});
  CHECK_FALSE(w.goes(p, pending));
  CHECK_FALSE(w.pod_becomes(p, p, a_pod{"p"}.cpu(5)));
  CHECK(w.pod_becomes(p, p, a_pod{"p"}.cpu(3)));
}

TEST_CASE("NodeAffinity hears of nodes that match now and did not before", "[engine][hints]") {
  update w;
  w.add(a_node{"n"});
  const pod_id p = w.add_rejected(a_pod{"p"}.select("disk", "ssd"), {"NodeAffinity"});
  CHECK_FALSE(w.comes(p, a_node{"hdd"}.label("disk", "hdd")));
  CHECK(w.comes(p, a_node{"ssd"}.label("disk", "ssd")));
  CHECK(w.node_becomes(p, a_node{"n"}.label("disk", "ssd")));
  CHECK_FALSE(w.node_becomes(p, a_node{"n"}.label("disk", "ssd").label("a", "b")));
  CHECK_FALSE(w.node_becomes(p, a_node{"n"}.label("a", "b")));
  CHECK(w.node_becomes(p, a_node{"n"}.label("a", "b").taint("any")));
}

TEST_CASE("TaintToleration and NodeUnschedulable hear of nodes that open, and of tolerations", "[engine][hints]") {
  update w;
  w.add(a_node{"n"}.taint("x").unschedulable());
  const pod_id taints = w.add_rejected(a_pod{"taints"}, {"TaintToleration"});
  const pod_id cordon = w.add_rejected(a_pod{"cordon"}, {"NodeUnschedulable"});
  const auto both = [&](const node_spec& after) {
    const queue_standing before = w.must(w.scheduler.standing(cordon));
    const bool first = w.node_becomes(taints, after);
    const bool second = w.place(cordon) != queue_place::unschedulable;
    if (second) {
      CHECK(w.pop() == "cordon");
      w.must(w.scheduler.add_unschedulable(cordon, before.rejected, w.now));
      w.now += 1min;
    }
    return std::pair{first, second};
  };
  CHECK(both(a_node{"n"}.taint("y").unschedulable()) == std::pair{false, false});
  CHECK(both(a_node{"n"}.unschedulable()) == std::pair{true, false});
  CHECK(both(a_node{"n"}) == std::pair{false, true});
  CHECK(both(a_node{"n"}.taint("z", "", taint_effect::prefer_no_schedule)) == std::pair{false, false});
  CHECK_FALSE(w.comes(taints, a_node{"tainted"}.taint("x").unschedulable()));
  CHECK(w.pod_becomes(taints, taints, a_pod{"taints"}.tolerate("anything")));
  CHECK_FALSE(w.pod_becomes(cordon, cordon, a_pod{"cordon"}.tolerate("anything")));
  CHECK(
      w.pod_becomes(cordon, cordon, a_pod{"cordon"}.tolerate("anything").tolerate("node.kubernetes.io/unschedulable")));
}

TEST_CASE("NodeDeclaredFeatures hears of other features, whichever, and of other requirements", "[engine][hints]") {
  update w;
  w.add(a_node{"n"}.declare("Y"));
  const pod_id p = w.add_rejected(a_pod{"p"}.require("X"), {"NodeDeclaredFeatures"});
  CHECK(w.comes(p, a_node{"without"}));
  CHECK(w.node_becomes(p, a_node{"n"}.declare("Z")));
  CHECK(w.node_becomes(p, a_node{"n"}.declare("X").declare("Z")));
  CHECK_FALSE(w.node_becomes(p, a_node{"n"}.declare("Z").declare("X")));
  CHECK_FALSE(w.node_becomes(p, a_node{"n"}.declare("Z").declare("X").cpu(4).label("a", "b")));
  CHECK(w.node_becomes(p, a_node{"n"}.declare("Z").declare("X").cpu(4).label("a", "b").taint("t")));
  CHECK_FALSE(w.pod_becomes(p, p, a_pod{"p"}.require("X").label("a", "b")));
  CHECK_FALSE(w.pod_becomes(p, p, a_pod{"p"}.require("X").require("X").label("a", "b")));
  CHECK(w.pod_becomes(p, p, a_pod{"p"}.require("Y").label("a", "c")));  // beside something else
  CHECK(w.pod_becomes(p, p, a_pod{"p"}.label("a", "c")));
  CHECK_FALSE(w.comes(p, a_pod{"another"}.require("X")));
}

TEST_CASE("NodePorts and NodeName hear of new nodes, taints, and ports that are left", "[engine][hints]") {
  update w;
  const node_id n = w.add(a_node{"n"});
  const pod_id same = w.add(a_pod{"same"}.port(80).on(n));
  const pod_id other = w.add(a_pod{"other"}.port(81).on(n));
  const pod_id p = w.add_rejected(a_pod{"p"}.port(80), {"NodePorts"});
  CHECK_FALSE(w.goes(p, other));
  CHECK(w.goes(p, same));
  CHECK(w.comes(p, a_node{"m"}));
  CHECK_FALSE(w.node_becomes(p, a_node{"m"}.label("a", "b")));
  CHECK(w.node_becomes(p, a_node{"m"}.label("a", "b").taint("x")));
  w.remove(p);
  const pod_id named = w.add_rejected(a_pod{"named"}, {"NodeName"});
  CHECK(w.comes(named, a_node{"k"}));
  CHECK_FALSE(w.node_becomes(named, a_node{"k"}.cpu(3)));
}

TEST_CASE("PodTopologySpread hears of its namespace's pods and of domains", "[engine][hints]") {
  update w;
  const node_id n = w.add(a_node{"n"}.zone("a"));
  pod_spec spread = a_pod{"p"}.label("app", "x");
  spread.topology_spread_constraints.push_back(
      {.topology_key = "topology.kubernetes.io/zone", .selector = label_selector{.match_labels = {{"app", "x"}}}});
  const pod_id p = w.add_rejected(spread, {"PodTopologySpread"});
  CHECK(w.comes(p, a_pod{"mine"}.label("app", "x").on(n)));
  CHECK_FALSE(w.comes(p, a_pod{"theirs"}.label("app", "x").ns("other").on(n)));
  CHECK_FALSE(w.comes(p, a_pod{"unlike"}.label("app", "y").on(n)));
  CHECK(w.pod_becomes(p, w.pod("unlike"), a_pod{"unlike"}.label("app", "x").on(n)));
  CHECK_FALSE(w.pod_becomes(p, w.pod("unlike"), a_pod{"unlike"}.label("app", "x").label("more", "y").on(n)));
  CHECK(w.goes(p, w.pod("mine")));
  CHECK_FALSE(w.comes(p, a_node{"nowhere"}));
  CHECK(w.comes(p, a_node{"b"}.zone("b")));
  CHECK(w.node_becomes(p, a_node{"b"}.zone("c")));
  CHECK_FALSE(w.node_becomes(p, a_node{"b"}.zone("c").label("more", "y")));
  CHECK(w.node_becomes(p, a_node{"b"}.zone("c").label("more", "y").taint("t")));
  CHECK(w.node_becomes(p, a_node{"b"}));
  CHECK_FALSE(w.wakes(p, [&] { w.must(w.cluster.remove_node(w.node("b"))); }));
  CHECK(w.wakes(p, [&] { w.must(w.cluster.remove_node(n)); }));
  pod_spec tolerant = spread;
  tolerant.tolerations.push_back({.key = "t"});
  CHECK_FALSE(w.pod_becomes(p, p, tolerant));
  tolerant.labels["app"] = "z";
  CHECK(w.pod_becomes(p, p, tolerant));
}

TEST_CASE("InterPodAffinity hears of pods that match, and of topology keys", "[engine][hints]") {
  update w;
  const node_id n = w.add(a_node{"n"}.zone("a"));
  pod_spec near = a_pod{"near"}.label("role", "near");
  near.affinity_to_pods.required.push_back(
      {"topology.kubernetes.io/zone", label_selector{.match_labels = {{"app", "x"}}}});
  const pod_id likes = w.add_rejected(near, {"InterPodAffinity"});
  CHECK(w.comes(likes, a_pod{"x"}.label("app", "x").on(n)));
  CHECK_FALSE(w.comes(likes, a_pod{"y"}.label("app", "y").on(n)));
  CHECK(w.pod_becomes(likes, w.pod("y"), a_pod{"y"}.label("app", "x").on(n)));
  CHECK_FALSE(w.goes(likes, w.pod("y")));
  CHECK_FALSE(w.comes(likes, a_node{"nowhere"}));
  CHECK(w.node_becomes(likes, a_node{"nowhere"}.zone("b")));
  CHECK(w.node_becomes(likes, a_node{"nowhere"}.zone("c")));
  CHECK_FALSE(w.node_becomes(likes, a_node{"nowhere"}));
  CHECK(w.comes(likes, a_pod{"hater"}.avoid("role", "near").on(n)) == false);
  CHECK(w.goes(likes, w.pod("hater")));
  w.remove(likes);

  const pod_id hates =
      w.add_rejected(a_pod{"hates"}.avoid("app", "x", "topology.kubernetes.io/zone"), {"InterPodAffinity"});
  CHECK_FALSE(w.comes(hates, a_pod{"x2"}.label("app", "x").on(n)));
  CHECK(w.pod_becomes(hates, w.pod("x2"), a_pod{"x2"}.label("app", "z").on(n)));
  CHECK(w.goes(hates, w.pod("x")));
  CHECK(w.comes(hates, a_node{"free"}));
  CHECK_FALSE(w.node_becomes(hates, a_node{"free"}.zone("d")));
  CHECK(w.node_becomes(hates, a_node{"free"}));
  CHECK(w.pod_becomes(hates, hates, a_pod{"hates"}.label("own", "1").avoid("app", "x", "topology.kubernetes.io/zone")));
}

TEST_CASE("volume plugins hear of nodes, of pods that leave volumes, and of the host's facts", "[engine][hints]") {
  update w;
  node_spec limited = a_node{"n"};
  limited.volume_limits["csi"] = 1;
  const node_id n = w.add(limited);
  pod_spec user = a_pod{"user"}.on(n);
  user.volumes.disks.push_back({"disk", false});
  user.volumes.attachments.push_back({"csi", "v1"});
  const pod_id there = w.add(user);
  const pod_id idle = w.add(a_pod{"idle"}.on(n));
  pod_spec spec = a_pod{"p"};
  spec.volumes.disks.push_back({"disk", false});
  spec.volumes.attachments.push_back({"csi", "v2"});
  const pod_id p = w.add_rejected(spec, {"VolumeRestrictions"});
  const pod_id q = w.add_rejected([&] { return spec.name = "q", spec; }(), {"NodeVolumeLimits"});
  CHECK_FALSE(w.goes(p, idle));
  limited.volume_limits["csi"] = 2;
  CHECK(w.node_becomes(q, limited));
  CHECK(w.place(p) == queue_place::unschedulable);
  limited.taints.push_back({"t", "", taint_effect::no_schedule});
  CHECK_FALSE(w.node_becomes(q, limited));
  CHECK(w.place(p) == queue_place::active);
  CHECK(w.pop() == "p");
  w.reject(p, {"VolumeRestrictions"});
  CHECK(w.goes(q, there));
  CHECK(w.place(p) == queue_place::backoff);
  w.remove(p), w.remove(q);

  pod_spec bound = a_pod{"bound"};
  bound.volumes.nodes = {"n"};
  const pod_id b = w.add_rejected(bound, {"VolumeBinding"});
  CHECK(w.comes(b, a_node{"m"}));
  CHECK_FALSE(w.node_becomes(b, a_node{"m"}.cpu(1)));
  CHECK(w.node_becomes(b, a_node{"m"}.cpu(1).label("a", "b")));
  CHECK_FALSE(w.pod_becomes(b, b, bound));
  bound.volumes.nodes = {"m"};
  CHECK(w.pod_becomes(b, b, bound));
}

TEST_CASE("a pod is asked by the plugins that rejected it, and by no others", "[engine][hints]") {
  update w{profile{priority_sort{}, hopeless{}, silent{}, node_resources_fit{}}};
  w.add(a_node{"n"});
  const pod_id p = w.add_rejected(a_pod{"p"}.cpu(1), {"Hopeless"});
  CHECK_FALSE(w.comes(p, a_node{"m"}.cpu(8)));
  CHECK(w.node_becomes(
      p, a_node{"m"}.cpu(8).taint("t")));  // as with every plugin that wants new nodes and says nothing of taints
  w.remove(p);
  const pod_id q = w.add_rejected(a_pod{"q"}.cpu(1), {"Silent"});
  CHECK(w.node_becomes(q, a_node{"m"}.cpu(8)));  // who says nothing hears of everything
  w.remove(q);
  const pod_id r = w.add_rejected(a_pod{"r"}.cpu(1), {"OfTheHost"});
  CHECK_FALSE(w.comes(r, a_node{"k"}.cpu(8)));
}

TEST_CASE("a gate that minds an event is asked again", "[engine][hints]") {
  bool open = false;
  host_queue w{profile{priority_sort{}, door{&open}}};
  const node_id closed = w.add(a_node{"closed"}), other = w.add(a_node{"other"});
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.place(p) == queue_place::gated);
  open = true;
  w.must(w.cluster.remove_node(other));
  CHECK(w.place(p) == queue_place::gated);
  w.must(w.cluster.remove_node(closed));
  CHECK(w.place(p) == queue_place::active);
}

TEST_CASE("a pod that loses the node it was nominated to leaves room to those not above it", "[engine][hints]") {
  const wake_rule rule = GENERATE(wake_rule::hints, wake_rule::all);
  scheduler_options options = host_queue::as_kube();
  options.wake = rule;
  host_queue w{profiles::kube_default(), options};
  const node_id n = w.add(a_node{"n"}.cpu(2));
  const pod_id chosen = w.add(a_pod{"chosen"}.cpu(2).priority(5).nominated(n));
  const pod_id below = w.add(a_pod{"below"}.cpu(2));
  const pod_id above = w.add(a_pod{"above"}.cpu(2).priority(9));
  for (const char* name : {"above", "chosen", "below"}) {
    CHECK(w.pop() == name);
    w.reject(w.pod(name), {"NodeResourcesFit"});
  }
  w.now = 1min;
  SECTION("it is nominated elsewhere") { w.must(w.cluster.nominate(chosen, {})); }
  SECTION("it is removed") { w.remove(chosen); }
  CHECK(w.place(below) == queue_place::active);
  if (rule == wake_rule::hints) CHECK(w.place(above) == queue_place::unschedulable);
}

TEST_CASE("with no node at all an attempt of the engine ends as with an error", "[engine][hints]") {
  world w{profiles::kube_default(), with_kube_queue(world::lowest_first())};
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.run() == words{"reject p"});
  const queue_standing stands = w.must(w.scheduler.standing(p));
  CHECK(stands.place == queue_place::error_backoff);
  CHECK(stands.errors == 1);
  w.add(a_node{"n"});
  CHECK(w.run_at(1s).empty());
  CHECK(w.run_at(2s) == words{"bind p n"});
}

TEST_CASE("the engine's cycles under hints place whoever fits, if not at once then after five minutes",
          "[engine][hints]") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    dice roll{seed};
    world w{profiles::kube_default(), with_kube_queue({.ties = tie_rule::lowest_row})};
    std::vector<std::string> pods;
    for (int step = 0; step < 200; ++step) {
      const std::size_t kind = roll.below(10);
      const std::string name = std::to_string(step);
      if (kind < 5) {
        a_pod pod{"p" + name};
        pod.cpu(roll.between(1, 4)).label("app", roll.percent(50) ? "x" : "y");
        if (roll.percent(20)) pod.select("disk", "ssd");
        if (roll.percent(20)) pod.avoid("app", "x");
        if (roll.percent(20)) pod.port(80);
        w.add(pod);
        pods.push_back("p" + name);
      } else if (kind < 6) {
        w.add(a_node{"n" + name}
                  .cpu(roll.between(1, 8))
                  .label("kubernetes.io/hostname", name)
                  .label("disk", roll.percent(50) ? "ssd" : "hdd"));
      } else if (kind < 8 && !pods.empty()) {
        const std::size_t which = roll.below(pods.size());
        w.remove(w.pod(pods[which]));
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        w.now += std::chrono::milliseconds{roll.between(0, 3000)};
        w.run(true);
      }
    }
    for (int i = 0; i < 3; ++i) w.now += 6min, w.run(true);
    for (const std::string& name : pods) {
      if (w.cluster.state_of(w.pod(name)) != pod_state::pending) continue;
      for (const node_verdict& node : w.must(w.scheduler.explain(w.pod(name))).nodes) CHECK(node.code != code::success);
    }
  }
}

}  // namespace gangsched::testing::hints_test
