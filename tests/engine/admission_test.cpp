// Who was popped is let in or refused; who was refused waits for what concerns who refused it, and is let in then.
#include "host_queue.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "support/dice.hpp"

namespace gangsched::testing::admission_test {

namespace {

/// How many pods of the namespace have a node.
std::int64_t placed(const cluster_view& cluster, std::string_view ns) {
  std::int64_t count = 0;
  cluster.each_node(
      [&](const node_info& node) { node.each_pod([&](const pod_info& pod) { count += pod.ns() == ns ? 1 : 0; }); });
  return count;
}

/// At most so many pods of a namespace at once.
struct namespace_quota {
  static constexpr std::string_view name = "NamespaceQuota";
  using points = implements<point::admission, point::requeue>;
  static constexpr bool ignores_group_identity = true;
  static constexpr events wakes_on = events::pod_removed;
  std::shared_ptr<std::int64_t> limit = std::make_shared<std::int64_t>(2);
  code says = code::unschedulable;

  [[nodiscard]] status admit(const pod_view& pod, const cluster_view& cluster) const {
    return judge(placed(cluster, pod.ns()) + 1);
  }
  [[nodiscard]] status admit(const group_view& group, const cluster_view& cluster) const {
    std::int64_t wanted = 0;
    group.each_pod_below([&](const pod_info& pod) { wanted += pod.node() ? 0 : 1; });
    return judge(placed(cluster, group.spec().ns) + wanted);
  }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return hint::queue; }
  [[nodiscard]] status judge(std::int64_t usage) const {
    return usage <= *limit ? status{} : status{says, {}, "namespace quota used up"};
  }
};

/// The same by a label, which makes no class: pods of one class differ.
struct label_quota {
  static constexpr std::string_view name = "LabelQuota";
  using points = implements<point::admission>;
  std::int64_t limit = 1;

  [[nodiscard]] status admit(const pod_info& pod, const cluster_view& cluster) const {
    std::int64_t count = 0;
    cluster.each_node([&](const node_info& node) {
      node.each_pod([&](const pod_info& other) { count += other.label("queue") == pod.label("queue") ? 1 : 0; });
    });
    return count < limit ? status{} : status::unschedulable("queue full");
  }
};

/// Of a gang at most one member more may wait than it needs.
struct few_wait {
  static constexpr std::string_view name = "FewWait";
  using points = implements<point::admission>;
  static constexpr bool ignores_group_identity = true;
  std::shared_ptr<int> asked = std::make_shared<int>(0);

  [[nodiscard]] status admit(const group_view& group, const cluster_view&) const {
    ++*asked;
    const bool few = std::cmp_less_equal(group.pending(), std::get<gang>(group.spec().policy).min_count + 1);
    return few ? status{} : status::unschedulable("too many wait");
  }
};

/// A hook that is what the test says.
struct callback {
  static constexpr std::string_view name = "Callback";
  using points = implements<point::admission>;
  std::function<status(const pod_info&, const cluster_view&)> pods;
  std::function<status(const group_view&)> groups;

  [[nodiscard]] status admit(const pod_info& pod, const cluster_view& cluster) const {
    return pods ? pods(pod, cluster) : status{};
  }
  [[nodiscard]] status admit(const group_view& group, const cluster_view&) const {
    return groups ? groups(group) : status{};
  }
};

template <class... Plugins>
kernel_table with(Plugins... plugins) {
  return profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, topology_placement{}, plugins...};
}

scheduler_options by(wake_rule rule) {
  scheduler_options made = world::lowest_first();
  made.wake = rule;
  return made;
}

struct quota_world : world {
  explicit quota_world(wake_rule rule = wake_rule::one_per_class, const namespace_quota& quota = {})
      : world(with(quota), by(rule)) {}
  explicit quota_world(kernel_table profile, wake_rule rule = wake_rule::one_per_class)
      : world(std::move(profile), by(rule)) {}
  /// What is decided when all backoffs are over.
  words later() { return now += 20s, run(true); }
  std::uint64_t cycles() const { return scheduler.statistics().cycles; }
  void drop(const std::string& ns, const std::string& name) { remove(cluster.find_pod(ns, name).value()); }
};

}  // namespace

TEST_CASE("who is refused at admission waits with the plugin's reason, and only what lets it in costs an attempt",
          "[engine][admission]") {
  quota_world w{GENERATE(wake_rule::one_per_class, wake_rule::hints)};
  w.add(a_node{"n"}.cpu(100));
  for (int i = 0; i < 5; ++i) w.add(a_pod{"a" + std::to_string(i)}.ns("a").cpu(1));
  for (int i = 0; i < 2; ++i) w.add(a_pod{"b" + std::to_string(i)}.ns("b").cpu(1));
  CHECK(w.run(true) ==
        words{"bind a0 n", "bind a1 n", "reject a2", "reject a3", "reject a4", "bind b0 n", "bind b1 n"});
  CHECK(w.counts() == places{0, 0, 3, 0, 0});
  const auto why = w.must(w.scheduler.explain(w.cluster.find_pod("a", "a3").value()));
  CHECK(why.rejected_by == "NamespaceQuota");
  CHECK(why.summary == "namespace quota used up");
  CHECK(why.code == code::unschedulable);
  CHECK(why.nodes.empty());

  const std::uint64_t before = w.cycles(), woken = w.wake_ups();
  w.drop("b", "b0");
  w.add(a_node{"m"}.cpu(0));
  CHECK(w.later().empty());
  CHECK(w.cycles() == before);
  CHECK(w.wake_ups() == woken);
  w.drop("a", "a0");
  CHECK(w.later() == words{"bind a2 n"});
  w.drop("a", "a1");
  w.drop("a", "a2");
  CHECK(w.later() == words{"bind a3 n", "bind a4 n"});
  CHECK(w.cycles() == before + 3);
  CHECK(w.wake_ups() == woken + 3);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a refusal counts for the backoff, one that is pending is over with the event", "[engine][admission]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  const code says = GENERATE(code::unschedulable, code::pending);
  quota_world w{rule, {.limit = std::make_shared<std::int64_t>(1), .says = says}};
  w.add(a_node{"n"}.cpu(9));
  const pod_id first = w.add(a_pod{"first"}.cpu(1));
  const pod_id second = w.add(a_pod{"second"}.cpu(1).priority(-1));
  const group_id gang = w.add(a_gang{"gang", 1}.priority(-2));
  w.add(a_pod{"member"}.cpu(1).priority(-2).in(gang));
  std::vector<code> codes;
  for (int i = 0; i < 3; ++i) {
    const gangsched::cycle done = w.scheduler.schedule_cycle(w.now);
    for (const decision& one : done.decisions()) codes.push_back(one.code);
    if (i == 0) w.confirm(first);
  }
  CHECK(codes == std::vector{code::success, says, says});
  w.remove(first);
  CHECK(w.must(w.scheduler.standing(second)).failures == 1);
  CHECK(w.counts() == (says == code::pending ? places{2, 0, 0, 0, 0} : places{0, 2, 0, 0, 0}));
}

TEST_CASE("a gang is refused whole, holds nothing, and of those alike one is woken", "[engine][admission]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  quota_world w{rule, {.limit = std::make_shared<std::int64_t>(4)}};
  w.add(a_node{"n"}.cpu(100));
  const auto gang = [&](const std::string& name) {
    const group_id group = w.add(a_gang{name, 3});
    for (int i = 0; i < 3; ++i) w.add(a_pod{name + std::to_string(i)}.cpu(1).in(group));
    return group;
  };
  w.add(a_pod{"x"}.cpu(1)), w.add(a_pod{"y"}.cpu(1));
  CHECK(w.run(true).size() == 2);
  const group_id f = gang("f");
  for (const char* name : {"g", "h", "i"}) gang(name);
  CHECK(w.run(true).size() == 12);
  CHECK(w.cluster.assumed().empty());
  CHECK(w.counts() == places{0, 0, 4, 0, 0});
  const auto why = w.must(w.scheduler.explain(f));
  REQUIRE(why.size() == 1);
  CHECK(why[0].summary == "namespace quota used up");
  CHECK(w.later().empty());
  const std::uint64_t before = w.cycles(), woken = w.wake_ups();
  w.remove(w.pod("x"));
  CHECK(w.later() == words{"bind f0 n", "bind f1 n", "bind f2 n"});
  w.add(a_node{"m"}.cpu(0));
  CHECK(w.later().empty());
  for (const char* name : {"y", "f0"}) {
    w.remove(w.pod(name));
    CHECK(w.later().empty());
  }
  w.remove(w.pod("f1"));
  CHECK(w.later() == words{"bind g0 n", "bind g1 n", "bind g2 n"});
  CHECK(w.cycles() == before + 2);
  CHECK(w.wake_ups() == woken + 2);
  CHECK(w.scheduler.verify());
}

TEST_CASE("of a tree its root is asked, and members of a gang in permit mode each for itself", "[engine][admission]") {
  words asked;
  callback hook;
  hook.pods = [&](const pod_info& pod, const cluster_view&) { return asked.emplace_back(pod.name()), status{}; };
  hook.groups = [&](const group_view& group) {
    return asked.emplace_back(group.name()), status::unresolvable("no trees");
  };
  quota_world w{with(hook)};
  w.add(a_node{"n"}.cpu(100));
  group_spec root{.name = "root", .policy = gang{.min_count = 1}, .composite = true};
  const group_id tree = w.add(root);
  const group_id leaf = w.add(group_spec{.name = "leaf", .policy = gang{.min_count = 2}, .parent = tree});
  for (const char* name : {"l0", "l1"}) w.add(a_pod{name}.cpu(1).in(leaf));
  CHECK(w.run(true) == words{"reject l0", "reject l1"});
  CHECK(asked == words{"root"});
  asked.clear();
  quota_world v{with(hook)};
  v.add(a_node{"n"}.cpu(100));
  const group_id waits = v.add(a_gang{"waits", 2}.permit());
  for (const char* name : {"w0", "w1"}) v.add(a_pod{name}.cpu(1).in(waits));
  CHECK(v.run() == words{"wait w0 n", "bind w1 n"});
  CHECK(asked == words{"w0", "w1"});
}

TEST_CASE("pods of a class that a hook tells apart are asked each for itself", "[engine][admission]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints, wake_rule::all);
  quota_world w{with(label_quota{}), rule};
  w.add(a_node{"n"}.cpu(100));
  for (const char* queue : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) w.add(a_pod{queue + std::to_string(i)}.cpu(1).label("queue", queue));
  }
  CHECK(w.run(true) ==
        words{"bind a0 n", "reject a1", "reject a2", "reject a3", "bind b0 n", "reject b1", "reject b2", "reject b3"});
  CHECK(w.later().empty());
  const std::uint64_t before = w.cycles();
  w.remove(w.pod("b0"));
  words said = w.later();
  CHECK(said.front() == "bind b1 n");
  if (rule != wake_rule::all) CHECK(w.cycles() == before + 1);
  w.remove(w.pod("b1"));
  CHECK(w.later().front() == "bind b2 n");
  w.remove(w.pod("a0"));
  CHECK(w.later().front() == "bind a1 n");
  if (rule != wake_rule::all) CHECK(w.cycles() == before + 3);
}

TEST_CASE("a host that takes entities off the queue gets those that are let in", "[engine][admission]") {
  const auto limit = std::make_shared<std::int64_t>(1);
  host_queue w{with(namespace_quota{.limit = limit})};
  w.add(a_node{"n"}.cpu(9));
  const pod_id running = w.add(a_pod{"running"}.cpu(1).on(w.node("n")));
  const pod_id refused = w.add(a_pod{"refused"}.cpu(1));
  const group_id gang = w.add(a_gang{"gang", 1});
  w.add(a_pod{"member"}.cpu(1).in(gang));
  w.add(a_pod{"other"}.ns("other").cpu(1).priority(-1));
  CHECK(w.pop() == "other");
  CHECK(w.pop().empty());
  CHECK(w.place(refused) == queue_place::unschedulable);
  CHECK(w.must(w.scheduler.standing(refused)).rejected.unschedulable_plugins == words{"NamespaceQuota"});
  CHECK(w.place(w.pod("member")) == queue_place::unschedulable);
  CHECK(w.scheduler.in_flight().size() == 1);
  w.now += 1min;
  w.remove(running);
  CHECK(w.pop() == "refused");
}

TEST_CASE("a hook that neither admits nor rejects is an error of the attempt", "[engine][admission]") {
  callback hook;
  hook.pods = [](const pod_info&, const cluster_view&) { return status::wait(); };
  hook.groups = [](const group_view&) { return status::skip(); };
  quota_world w{with(hook)};
  w.add(a_node{"n"}.cpu(9));
  w.add(a_pod{"p"}.cpu(1).priority(1));
  w.add(a_pod{"m"}.cpu(1).in(w.add(a_gang{"gang", 1})));
  for (const char* who : {"reject p", "reject m"}) {
    const gangsched::cycle done = w.scheduler.schedule_cycle(w.now);
    REQUIRE(done.error() != nullptr);
    CHECK(done.error()->code == errc::contract);
    CHECK(w.said(done.decisions()) == words{who});
  }
  CHECK(w.counts() == places{0, 2, 0, 0, 0});
}

TEST_CASE("hooks that change their mind between an event and the attempt do not keep the loop from its end",
          "[engine][admission]") {
  int asked = 0;
  callback hook;
  hook.pods = [&](const pod_info&, const cluster_view&) {
    return ++asked % 2 == 1 ? status::pending("not now") : status{};
  };
  hook.groups = [&](const group_view&) { return ++asked % 2 == 1 ? status::pending("not now") : status{}; };
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::hints}) {
    quota_world w{with(hook), rule};
    w.add(a_node{"n"}.cpu(50));
    for (int i = 0; i < 8; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
    const group_id gang = w.add(a_gang{"gang", 2});
    for (const char* name : {"g0", "g1"}) w.add(a_pod{name}.cpu(1).in(gang));
    for (int round = 0; round < 20; ++round) {
      w.later();
      w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(50 + round)));
    }
    CHECK(w.scheduler.verify());
  }
}

TEST_CASE("a pod that is updated is asked again, and one that is let in by no filter waits for both",
          "[engine][admission]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  quota_world w{rule, {.limit = std::make_shared<std::int64_t>(1)}};
  const node_id node = w.add(a_node{"n"}.cpu(1));
  const pod_id first = w.add(a_pod{"first"}.cpu(1));
  for (const char* name : {"p", "q", "r"}) w.add(a_pod{name}.cpu(1));
  CHECK(w.run(true) == words{"bind first n", "reject p", "reject q", "reject r"});
  w.must(w.cluster.update_node(node, a_node{"n"}.cpu(0)));
  w.remove(first);  // let in, but there is no room
  const words said = w.later();
  CHECK(said.front() == "reject p");
  CHECK(w.later().empty());
  w.must(w.cluster.update_node(node, a_node{"n"}.cpu(9)));
  CHECK(w.later().front().starts_with("bind "));
  CHECK(w.later().empty());
  CHECK(w.counts() == places{0, 0, 2, 0, 0});
}

/// Pods and gangs of three namespaces come and go, nodes and limits change; whoever could be placed when nothing happens any more is.
TEST_CASE("a refused gang is asked again when a member that waits goes, or the gang changes", "[engine][admission]") {
  const few_wait hook;
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  const bool two_alike = GENERATE(false, true);
  quota_world w{with(hook), rule};
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = w.add(a_gang{"gang", 1});
  for (const char* name : {"a", "b", "c", "d"}) w.add(a_pod{name}.cpu(1).in(gang));
  if (two_alike) {
    const group_id other = w.add(a_gang{"other", 1});
    for (const char* name : {"e", "f", "g", "h"}) w.add(a_pod{name}.cpu(1).in(other));
  }
  CHECK(w.run(true).size() == (two_alike ? 8 : 4));
  SECTION("a member is removed") {
    w.remove(w.pod("d"));
    CHECK(w.later().empty());  // it is refused again, which costs no attempt
    w.remove(w.pod("c"));
    CHECK(w.later() == words{"bind a n", "bind b n"});
  }
  SECTION("members are removed together, and it is asked once") {
    w.remove(w.pod("d"));
    w.remove(w.pod("c"));
    *hook.asked = 0;
    CHECK(w.later() == words{"bind a n", "bind b n"});
    if (rule != wake_rule::hints && !two_alike) CHECK(*hook.asked == 2);  // when it was woken, and when it was tried
  }
  SECTION("members are being deleted") {
    w.must(w.cluster.set_terminating(w.pod("c"), true));
    w.must(w.cluster.set_terminating(w.pod("d"), true));
    CHECK(w.later().empty());  // they count as pending until they are gone
    w.remove(w.pod("c"));
    w.remove(w.pod("d"));
    CHECK(w.later() == words{"bind a n", "bind b n"});
  }
  SECTION("the gang is another one") {
    w.must(w.cluster.update_group(gang, a_gang{"gang", 3}.spec));
    CHECK(w.later() == words{"bind a n", "bind b n", "bind c n", "bind d n"});
  }
  SECTION("all of them go") {
    for (const char* name : {"a", "b", "c", "d"}) w.remove(w.pod(name));
    CHECK(w.later().empty());
  }
}

TEST_CASE("nobody who is let in and finds room is forgotten", "[engine][admission]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints, wake_rule::all);
  const bool each_pod = GENERATE(false, true);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(rule, each_pod, seed);
    const auto limit = std::make_shared<std::int64_t>(3);
    namespace_quota quota{.limit = limit};
    if (seed % 3 == 0) quota.says = code::pending;
    callback personal;
    personal.pods = [quota](const pod_info& pod, const cluster_view& cluster) {
      return quota.judge(placed(cluster, pod.ns()) + 1);
    };
    personal.groups = [quota](const group_view& group) { return quota.admit(group, group.cluster()); };
    quota_world w{each_pod ? with(personal) : with(quota), rule};
    dice random{seed};
    struct member {
      pod_id pod;
      group_id group;
    };
    std::vector<member> pods;
    int made = 0;
    for (int i = 0; i < 3; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(random.between(0, 3)));
    for (int step = 0; step < 60; ++step) {
      const std::string ns(1, static_cast<char>('a' + random.below(3)));
      const std::string name = "p" + std::to_string(made++);
      switch (random.below(5)) {
        case 0:
        case 1: pods.push_back({w.add(a_pod{name}.ns(ns).cpu(random.between(1, 2))), {}}); break;
        case 2: {
          const group_id gang = w.add(a_gang{name, 2}.ns(ns));
          for (const char* end : {"-0", "-1"}) pods.push_back({w.add(a_pod{name + end}.ns(ns).cpu(1).in(gang)), gang});
          break;
        }
        case 3: {
          const std::string node = "n" + std::to_string(random.below(3));
          w.must(w.cluster.update_node(w.node(node), a_node{node}.cpu(random.between(0, 5))));
          break;
        }
        default:
          if (pods.empty()) break;
          const std::size_t gone = random.below(pods.size());
          w.remove(pods[gone].pod);
          pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      w.later();
      w.later();
      for (const auto& [pod, gang] : pods) {
        if (w.cluster.node_of(pod)) continue;
        const auto why = w.scheduler.explain(pod);
        REQUIRE(why);
        INFO(w.cluster.name_of(pod) << ": " << why->summary);
        if (w.must(w.scheduler.standing(pod)).place == queue_place::gated) continue;
        CHECK(w.must(w.scheduler.standing(pod)).place != queue_place::active);
        const bool has_room = std::any_of(why->nodes.begin(), why->nodes.end(),
                                          [](const node_verdict& one) { return one.code == code::success; });
        const bool alone = !gang;
        CHECK_FALSE((alone && has_room && why->rejected_by.empty()));
        if (!alone) {
          const auto group = w.must(w.scheduler.explain(gang));
          const bool fits = std::any_of(group.front().placements.begin(), group.front().placements.end(),
                                        [](const placement_verdict& one) { return one.fit >= one.wanted; });
          CHECK_FALSE(fits);
        }
      }
    }
    CHECK(w.scheduler.verify());
  }
}

}  // namespace gangsched::testing::admission_test
