// Plugins that go by queues of the cluster: what they see in trials, and who is tried again when queues change.
#include "column_plugins.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "queue_world.hpp"

namespace gangsched::testing::queue_events_test {

namespace {

/// Pods stay within the limits of their queue and those above it, by flavor of the node where these are by flavor.
struct queue_limits {
  static constexpr std::string_view name = "QueueLimits";
  using points = implements<point::filter>;
  static constexpr bool reads_queues = true;

  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::labels> node) const {
    return node.flavor().row;
  }
  void finish_filter(const pod_view& pod, const cluster_view& cluster, std::span<filtered_group> groups) const {
    const auto queue = cluster.queue_of(pod);
    if (!queue) return;
    for (filtered_group& group : groups) {
      const auto flavor = cluster.flavor_at(static_cast<row_t>(group.key));
      const flavor_id its = flavor ? flavor->id() : flavor_id{};
      const bool within = queue->each_up([&](const queue_view& one) {
        if (one.expected()) return false;
        for (const amount& wanted : pod.requests()) {
          if (one.used(wanted.kind) + wanted.value > one.limit(wanted.kind).value_or(most)) return false;
          if (flavor && one.used(wanted.kind, its) + wanted.value > one.limit(wanted.kind, its).value_or(most))
            return false;
        }
        return true;
      });
      if (!within) group.verdict = status::unschedulable("over the limit of its queue");
    }
  }
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// The same, and is asked what can help: changes of queues that share one with the pod's.
struct choosy_limits : queue_limits {
  using points = implements<point::filter, point::requeue>;
  static constexpr events wakes_on = events::queue_changed;
  static hint helps(const event& e, const pod_view& pod) {
    return !e.queue || e.queue == pod.in_queue() ? hint::queue : hint::skip;
  }
  [[nodiscard]] hint requeue(const event& e, const pod_view& pod) const { return helps(e, pod); }
  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const { return helps(e, pod); }
};

/// Queues that are not there, or are held, let nobody in.
struct open_queues {
  static constexpr std::string_view name = "OpenQueues";
  using points = implements<point::admission, point::requeue>;
  static constexpr events wakes_on = events::queue_changed;
  [[nodiscard]] status let(const std::optional<queue_view>& queue) const {
    ++*asked;
    if (!queue || (!queue->expected() && queue->spec().state == queue_state::open)) return status::success();
    return status::unschedulable("its queue is not open");
  }
  [[nodiscard]] status admit(const pod_view& pod, const cluster_view& cluster) const {
    return let(cluster.queue_of(pod));
  }
  [[nodiscard]] status admit(const group_view& group, const cluster_view&) const { return let(group.queue()); }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return hint::queue; }
  [[nodiscard]] hint requeue(const event&, const pod_info&) const { return hint::queue; }
  std::shared_ptr<int> asked = std::make_shared<int>(0);
};

scheduler_options by(wake_rule rule) {
  scheduler_options options = world::lowest_first();
  options.wake = rule;
  return options;
}

queue_spec limited(const char* name, std::int64_t cores, const char* parent = "", const char* flavor = "") {
  queue_spec made = queue_of("cpu", name, 0, cores, parent);
  made.quotas[0].flavor = flavor;
  return made;
}

template <class... Plugins>
struct shared : queue_world {
  explicit shared(wake_rule rule, Plugins... plugins) : queue_world(with_columns_of(std::move(plugins)...), by(rule)) {}
  pod_id ask(const std::string& name, const char* queue, std::int64_t cores = 1, group_id group = {}) {
    return queue_world::ask(a_pod{name}.cpu(cores).in(group), queue);
  }
};

}  // namespace

TEST_CASE("limits of queues hold as things stand in a trial, and a pod that leaves another node lets the next one in",
          "[engine][queues]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  shared<queue_limits> w{rule, queue_limits{}};
  w.add(a_node{"n"}.cpu(8));
  w.add(a_node{"m"}.cpu(8));
  w.queue(limited("all", 5));
  w.queue(limited("a", 3, "all"));
  w.queue(limited("b", 4, "all"));
  const group_id gang = w.add(a_gang{"gang", 4});
  for (int i = 0; i < 4; ++i) w.ask("g" + std::to_string(i), "a", 1, gang);
  CHECK(sorted(w.run()) == words{"reject g0", "reject g1", "reject g2", "reject g3"});
  CHECK(w.cluster.queues().usage_of(w.cluster.queues().find("all").value()).used.empty());
  w.update(limited("a", 4, "all"));
  CHECK(w.run_at(30s).size() == 4);
  w.ask("p", "b", 2);
  CHECK(w.run_at(31s) == words{"reject p"});
  w.remove(w.pod("g0"));
  CHECK(w.run_at(60s).size() == 1);
  CHECK(w.cluster.queues().usage_of(w.cluster.queues().find("all").value()).used.at("cpu") == 5000);
  CHECK(w.scheduler.verify());
}

TEST_CASE("limits by flavor leave the nodes of others, and follow the labels of nodes", "[engine][queues]") {
  shared<queue_limits> w{wake_rule::one_per_class, queue_limits{}};
  w.must(w.cluster.queues().set_flavor({.name = "big", .node_labels = {{"gpu", "big"}}}));
  w.add(a_node{"n"}.cpu(8).label("gpu", "big"));
  w.add(a_node{"m"}.cpu(1).label("gpu", "small"));
  w.queue(limited("a", 2, "", "big"));
  for (int i = 0; i < 4; ++i) w.ask("p" + std::to_string(i), "a");
  CHECK(sorted(w.run()) == words{"bind p0 n", "bind p1 n", "bind p2 m", "reject p3"});
  w.must(w.cluster.queues().set_flavor({.name = "big", .node_labels = {{"gpu", "small"}}}));
  CHECK(w.run_at(30s) == words{"bind p3 n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("a plugin with a hint hears of its queues, and of nothing that happens in others", "[engine][queues]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  shared<choosy_limits> w{rule, choosy_limits{}};
  w.add(a_node{"n"}.cpu(8));
  w.queue(limited("a", 1));
  w.queue(limited("b", 8));
  for (const char* name : {"a0", "a1"}) w.ask(name, "a");
  for (const char* name : {"b0", "b1"}) w.ask(name, "b");
  CHECK(w.run().size() == 4);
  const std::uint64_t before = w.wake_ups();
  w.remove(w.pod("b0"));
  w.update(limited("b", 7));
  w.add(a_node{"m"}.cpu(8));
  CHECK(w.run_at(30s).empty());
  CHECK(w.wake_ups() == before);
  pod_spec moved = a_pod{"a0"}.cpu(1);
  moved.node = w.cluster.node_of(w.pod("a0")), moved.queue = "b";
  w.must(w.cluster.update_pod(w.pod("a0"), moved));
  CHECK(w.run_at(60s).size() == 1);
  CHECK(w.wake_ups() == before + 1);
}

TEST_CASE("who was refused because of his queue is asked again when queues change, and not before",
          "[engine][queues]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  const open_queues plugin;
  shared<open_queues> w{rule, plugin};
  w.add(a_node{"n"}.cpu(8));
  const group_id gang = w.add(a_gang{"gang", 2});
  w.ask("g0", "late", 1, gang), w.ask("g1", "late", 1, gang);
  const pod_id p = w.ask("p", "late");
  CHECK(sorted(w.run()) == words{"reject g0", "reject g1", "reject p"});
  const int before = *plugin.asked;
  w.add(a_node{"m"}.cpu(8));
  CHECK(w.run_at(20s).empty());
  CHECK(*plugin.asked == before);
  queue_spec late{.name = "late", .state = queue_state::hold};
  const queue_id id = w.queue(late);
  CHECK(w.run_at(40s).empty());
  CHECK(*plugin.asked == before + 2);
  late.state = queue_state::open;
  w.must(w.cluster.queues().update(id, late));
  CHECK(w.run_at(60s).size() == 3);
  CHECK(w.cluster.state_of(p) != pod_state::pending);
}

TEST_CASE("a pod whose queue changes by its namespace or its group is tried again", "[engine][queues]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  shared<open_queues> w{rule, open_queues{}};
  w.add(a_node{"n"}.cpu(8));
  queue_spec held{.name = "held", .state = queue_state::hold, .namespaces = {"default"}};
  w.queue(held);
  const group_id group = w.add(a_gang{"gang", 1});
  w.ask("p", ""), w.ask("g", "", 1, group);
  CHECK(sorted(w.run()) == words{"reject g", "reject p"});
  held.namespaces.clear();
  w.update(held);
  CHECK(w.run_at(30s).size() == 2);
  CHECK(w.scheduler.verify());
}

TEST_CASE("when others may be evicted, those that nobody could be evicted for are tried again",
          "[engine][queues][wake]") {
  scheduler_options options = world::lowest_first();
  options.wake = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  const int changed = GENERATE(0, 1, 2, 3, 4);
  const bool as_gang = changed < 3 && options.wake != wake_rule::hints && GENERATE(false, true);
  CAPTURE(changed, as_gang);
  core_queues w{profiles::with_queues(), options};
  const node_id node = w.add(a_node{"n"}.cpu(4));
  w.queue("lends", changed < 2 ? 0 : 4);
  w.queue("borrows", changed < 2 ? 4 : changed == 2 ? 4 : 0);
  w.queue("third", changed == 3 ? 4 : 0);
  const char* const theirs = changed == 3 ? "third" : changed == 4 ? "lends" : "borrows";
  for (const char* name : {"v0", "v1", "v2", "v3"}) w.ask(name, theirs, 1, changed == 4 ? 5 : 0, "n");
  if (as_gang)
    w.job("due", "lends", 1, 1, 1);
  else
    w.ask("due-0", "lends", 1, changed == 4 ? 5 : 0);
  CHECK(w.run() == words{"reject due-0"});
  switch (changed) {
    case 0:  // its guarantee is raised, and with it lent no more
      w.update(w.spec_of("borrows", 0));
      w.update(w.spec_of("lends", 4));
      break;
    case 1: w.must(w.cluster.queues().remove(w.cluster.queues().find("borrows").value())); break;
    case 2: w.update(w.spec_of("borrows", 0)); break;
    case 3: w.must(w.cluster.update_pod(w.pod("v0"), w.of("v0", "borrows", 1).on(node))); break;
    default: w.must(w.cluster.update_pod(w.pod("v0"), w.of("v0", "lends", 1, 0).on(node)));
  }
  CHECK(count(w.run_at(100s), "evict") == 1);
}

}  // namespace gangsched::testing::queue_events_test
