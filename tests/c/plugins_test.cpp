// Plugins as tables of callbacks.
#include <algorithm>
#include <functional>

#include "c/world.hpp"

namespace gangsched::testing::c_plugins_test {

using words = std::vector<std::string>;

/// A plugin whose callbacks are functions of C++, and that counts who is alive.
struct plugin_in_words {
  gangsched_plugin table{};
  std::function<gangsched_verdict(const gangsched_pod_view*, const gangsched_nodes_view*, std::size_t)> filter;
  std::function<std::int64_t(const gangsched_pod_view*, const gangsched_nodes_view*, std::size_t)> score;
  std::function<gangsched_verdict(const gangsched_pod_view*, gangsched_permit_room*, std::int64_t*)> permit;
  std::function<bool(const gangsched_queued&, const gangsched_queued&)> less;
  int asked = 0, batches = 0, destroyed = 0, instances = 0, reserved = 0;
  std::string arguments;

  explicit plugin_in_words(const char* name, std::uint32_t reads = GANGSCHED_READS_EVERYTHING) {
    table.struct_size = sizeof table;
    table.name = name;
    table.user_data = this;
    table.reads = reads;
    table.destroy = [](void* self) { ++of(self).destroyed; };
  }
  static plugin_in_words& of(void* self) { return *static_cast<plugin_in_words*>(self); }
  void filters() {
    table.filter = [](void* self, const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, std::size_t count,
                      gangsched_verdict* verdicts) {
      ++of(self).batches;
      for (std::size_t i = 0; i < count; ++i) ++of(self).asked, verdicts[i] = of(self).filter(pod, nodes, i);
    };
  }
  void scores() {
    table.score = [](void* self, const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, std::size_t count,
                     std::int64_t* scores) {
      for (std::size_t i = 0; i < count; ++i) ++of(self).asked, scores[i] = of(self).score(pod, nodes, i);
    };
  }
};

struct plugin_world : c_world {
  gangsched_registry* registry = nullptr;
  gangsched_configuration* by = nullptr;
  plugin_world() {
    must(gangsched_registry_create(&registry, error));
    must(gangsched_configuration_create(&by, error));
  }
  ~plugin_world() { forget(); }
  void forget() {
    gangsched_registry_destroy(registry);
    gangsched_configuration_destroy(by);
    registry = nullptr;
    by = nullptr;
  }
  void uses(const plugin_in_words& plugin, std::int64_t weight = 0, const char* arguments = nullptr,
            bool check_hooks = false) {
    must(gangsched_registry_add(registry, &plugin.table, error));
    gangsched_profile_plugin one{plugin.table.name, weight, arguments};
    gangsched_profile_spec profile{};
    profile.struct_size = sizeof profile;
    profile.plugins = &one;
    profile.plugin_count = 1;
    must(gangsched_configuration_add_profile(by, registry, &profile, error));
    gangsched_scheduler_options options{};
    options.struct_size = sizeof options;
    options.check_hooks = check_hooks;
    schedules(by, &options);
  }
};

constexpr gangsched_verdict pass{GANGSCHED_SUCCESS, nullptr}, refuse{GANGSCHED_UNRESOLVABLE, "node(s) were not wanted"};

TEST_CASE("a filter sees pod and node, and its reasons are told", "[c][plugins]") {
  plugin_in_words plugin{"Wanted"};
  plugin.filters();
  plugin.filter = [&](const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, std::size_t i) {
    CHECK(text_of(gangsched_pod_view_name(pod)) == "p");
    CHECK(gangsched_pod_view_cookie(pod) == 9);
    CHECK(gangsched_pod_view_request(pod, "cpu") == 1000);
    CHECK(text_of(gangsched_pod_view_namespace(pod)) == "default");
    CHECK(gangsched_nodes_view_free(nodes, i, "cpu") == 4000);
    return gangsched_nodes_view_cookies(nodes)[i] == 2 ? pass : refuse;
  };
  {
    plugin_world world;
    world.node("a", 4, 1);
    world.node("b", 4, 2);
    world.uses(plugin);
    world.forget();
    CHECK(plugin.destroyed == 0);  // the scheduler has it
    const gangsched_pod_id pod = world.pod("p", 1, {}, 9);
    CHECK(world.run() == words{"p bind b"});
    CHECK(plugin.asked == 2);
    CHECK(plugin.batches == 1);
    world.must(gangsched_cluster_release(world.cluster, pod, world.error));
    CHECK(world.explain(pod, GANGSCHED_TEXT).find("a: Wanted: node(s) were not wanted") != std::string::npos);
  }
  CHECK(plugin.destroyed == 1);
}

TEST_CASE("a filter that says what it reads is asked again only when that changes", "[c][plugins]") {
  plugin_in_words plugin{"Heat", GANGSCHED_READS_COLUMNS};
  const char* const columns[] = {"heat"};
  plugin.table.columns = {columns, 1};
  plugin.filters();
  plugin.filter = [](const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, std::size_t i) {
    CHECK(gangsched_pod_view_name(pod).data == nullptr);     // of pods alike none is the one
    CHECK(gangsched_nodes_view_free(nodes, i, "cpu") == 0);  // it does not read usage
    CHECK(gangsched_nodes_view_label(nodes, i, "x").data == nullptr);
    return gangsched_nodes_view_column(nodes, i, 0) < 50 ? pass : refuse;
  };
  plugin_world world;
  std::vector<gangsched_node_id> nodes;
  for (int i = 0; i < 100; ++i) nodes.push_back(world.node(("n" + std::to_string(i)).c_str(), 1));
  world.must(gangsched_cluster_add_node_column(world.cluster, "heat", world.error));
  for (const gangsched_node_id one : nodes)
    world.must(gangsched_cluster_set_node_column(world.cluster, one, "heat", 80, world.error));
  world.must(gangsched_cluster_set_node_column(world.cluster, nodes[7], "heat", 20, world.error));
  SECTION("asked once a node, and once more for one that changed") {
    world.uses(plugin);
    world.pod("p", 1);
    world.pod("q", 1);
    CHECK(world.run() == words{"p bind n7", "q reject"});
    const int before = plugin.asked;
    CHECK(before <= 110);
    world.must(gangsched_cluster_set_node_column(world.cluster, nodes[70], "heat", 10, world.error));
    CHECK(world.run(1) == words{"q bind n70"});
    CHECK(plugin.asked - before <= 4);
  }
  SECTION("and nothing is remembered that would be said otherwise") {
    world.uses(plugin, 0, nullptr, true);
    world.pod("p", 1);
    CHECK(world.run() == words{"p bind n7"});
  }
}

TEST_CASE("scores go by their weight, remembered or not", "[c][plugins]") {
  for (const std::uint32_t reads : {0u, unsigned{GANGSCHED_READS_NAME}}) {
    plugin_in_words plugin{"Last", reads};
    plugin.scores();
    plugin.score = [](const gangsched_pod_view*, const gangsched_nodes_view* nodes, std::size_t i) {
      return gangsched_nodes_view_cookies(nodes)[i] == 3 ? 100 : 0;
    };
    plugin_world world;
    for (int i = 0; i < 5; ++i) world.node(("n" + std::to_string(i)).c_str(), 8, static_cast<std::uint64_t>(i));
    world.uses(plugin, 50);
    for (const char* name : {"p", "q", "r"}) world.pod(name, 1);
    CHECK(world.run() == words{"p bind n3", "q bind n3", "r bind n3"});
  }
}

TEST_CASE("a plugin that breaks its contract ends the cycle with an error, and nobody is lost", "[c][plugins]") {
  plugin_in_words plugin{"Broken"};
  plugin.scores();
  std::int64_t says = 101;
  plugin.score = [&](const gangsched_pod_view*, const gangsched_nodes_view*, std::size_t) { return says; };
  plugin_world world;
  world.node("a", 4);
  world.node("b", 4);
  world.uses(plugin);
  world.pod("p", 1);
  gangsched_decision one[4];
  std::size_t count = 9;
  CHECK(gangsched_scheduler_run(world.scheduler, 0, one, 4, &count, world.error) == GANGSCHED_CONTRACT);
  CHECK(world.error.message().find("Broken") != std::string::npos);
  REQUIRE(count == 1);
  CHECK(one[0].kind == GANGSCHED_REJECT);
  CHECK(one[0].code == GANGSCHED_ERROR);
  says = 7;
  CHECK(world.run(5'000'000'000).size() == 1);
}

TEST_CASE("a permit callback holds a pod, and lets those go that wait for it", "[c][plugins]") {
  plugin_in_words plugin{"Pairs"};
  plugin.table.permit = [](void* self, const gangsched_pod_view* pod, const gangsched_nodes_view*, std::int64_t,
                           std::int64_t* timeout, gangsched_permit_room* room) {
    return plugin_in_words::of(self).permit(pod, room, timeout);
  };
  plugin.permit = [](const gangsched_pod_view*, gangsched_permit_room* room,
                     std::int64_t* timeout) -> gangsched_verdict {
    const gangsched_pod_id* waiting = nullptr;
    const std::size_t count = gangsched_permit_room_waiting(room, &waiting);
    if (count == 0) return *timeout = 10'000'000'000, gangsched_verdict{GANGSCHED_PERMIT_WAIT, "waits for another"};
    for (std::size_t i = 0; i < count; ++i) gangsched_permit_room_allow(room, waiting[i]);
    return pass;
  };
  plugin_world world;
  world.node("a", 8);
  world.uses(plugin);
  world.pod("p", 1);
  CHECK(world.run() == words{"p wait a"});
  CHECK(gangsched_scheduler_next_deadline(world.scheduler) == 10'000'000'000);
  world.pod("q", 1);
  CHECK(world.run(1) == words{"q bind a", "p bind a"});
}

TEST_CASE("less orders the queue in place of the base's plugin", "[c][plugins]") {
  plugin_in_words plugin{"YoungestFirst"};
  plugin.table.less = [](void* self, const gangsched_queued* a, const gangsched_queued* b) {
    return plugin_in_words::of(self).less(*a, *b);
  };
  plugin.less = [](const gangsched_queued& a, const gangsched_queued& b) { return a.arrival > b.arrival; };
  plugin_world world;
  world.node("a", 8);
  world.uses(plugin);
  for (const char* name : {"p", "q", "r"}) world.pod(name, 1);
  CHECK(world.run() == words{"r bind a", "q bind a", "p bind a"});
}

TEST_CASE("several queues go in the order of a plugin, which may ask the cluster, and say that it failed",
          "[c][plugins]") {
  /// Queues by the pod's cookie: that with fewer pods on nodes goes first.
  struct fewest_first {
    const c_world* in = nullptr;
    bool fails = false;
    std::size_t running(std::int64_t queue) const {
      gangsched_pod_id pods[16];
      const std::size_t count = gangsched_cluster_pods(in->cluster, pods, 16);
      return static_cast<std::size_t>(std::count_if(pods, pods + count, [&](gangsched_pod_id pod) {
        return gangsched_cluster_pod_node(in->cluster, pod).value != 0 &&
               text_of(gangsched_cluster_pod_name(in->cluster, pod))[0] == static_cast<char>(queue);
      }));
    }
  } order;
  plugin_in_words plugin{"FewestFirst"};
  plugin.table.user_data = &order;
  plugin.table.destroy = nullptr;
  plugin.table.queue_of = [](void* self, const gangsched_pod_view* pod, std::int64_t* queue) {
    *queue = text_of(gangsched_pod_view_name(pod))[0];
    return static_cast<fewest_first*>(self)->fails ? gangsched_verdict{GANGSCHED_ERROR, "on purpose"} : pass;
  };
  plugin_world world;
  CHECK(gangsched_registry_add(world.registry, &plugin.table, world.error) == GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "plugin FewestFirst: queue_of: goes with queue_before");
  plugin.table.queue_before = [](void* self, const gangsched_queue_head* a, const gangsched_queue_head* b,
                                 bool* before) {
    CHECK(a->now == 0);
    CHECK(a->first.pod.value != b->first.pod.value);
    const auto& by = *static_cast<fewest_first*>(self);
    *before = by.running(a->queue) < by.running(b->queue);
    return pass;
  };
  order.in = &world;
  world.node("x", 16);
  world.uses(plugin);
  for (const char* name : {"a0", "a1", "a2"}) world.pod(name, 1);
  for (const char* name : {"b0", "b1"}) world.pod(name, 1);
  world.pod("b2", 1, {}, 0, 9);  // within a queue by priority
  CHECK(world.run() == words{"b2 bind x", "a0 bind x", "a1 bind x", "b0 bind x", "a2 bind x", "b1 bind x"});

  order.fails = true;
  world.pod("c", 1);
  gangsched_decision decisions[4];
  std::size_t count = 0;
  CHECK(gangsched_scheduler_run(world.scheduler, 0, decisions, 4, &count, world.error) == GANGSCHED_CONTRACT);
  CHECK(world.error.message().find("on purpose") != std::string::npos);
  order.fails = false;
  CHECK(world.run(60'000'000'000) == words{"c bind x"});
}

TEST_CASE("what reserve counts, unreserve takes back", "[c][plugins]") {
  plugin_in_words plugin{"Licences"};
  plugin.filters();
  plugin.filter = [&](const gangsched_pod_view*, const gangsched_nodes_view*, std::size_t) {
    return plugin.reserved < 1 ? pass : refuse;
  };
  plugin.table.reserve = [](void* self, const gangsched_pod_view*, const gangsched_nodes_view* node) {
    CHECK(text_of(gangsched_nodes_view_name(node, 0)) == "a");
    return ++plugin_in_words::of(self).reserved, pass;
  };
  plugin_world world;
  CHECK(gangsched_registry_add(world.registry, &plugin.table, world.error) ==
        GANGSCHED_MALFORMED);  // one without the other
  plugin.table.unreserve = [](void* self, const gangsched_pod_view*, const gangsched_nodes_view*) {
    --plugin_in_words::of(self).reserved;
  };
  world.node("a", 8);
  world.uses(plugin);
  const gangsched_pod_id first = world.pod("p", 1);
  world.pod("q", 1);
  CHECK(world.run() == words{"p bind a", "q reject"});
  CHECK(plugin.reserved == 1);
  world.must(gangsched_scheduler_fail(world.scheduler, first, 0, "no", world.error));
  CHECK(plugin.reserved == 0);
}

TEST_CASE("a pre_enqueue callback keeps pods out", "[c][plugins]") {
  plugin_in_words plugin{"Gate"};
  plugin.table.pre_enqueue = [](void*, const gangsched_pod_view* pod) {
    return text_of(gangsched_pod_view_name(pod)) == "p" ? refuse : pass;
  };
  plugin_world world;
  world.node("a", 8);
  world.uses(plugin);
  world.pod("p", 1);
  world.pod("q", 1);
  CHECK(world.run() == words{"q bind a"});
  CHECK(gangsched_scheduler_counts(world.scheduler).gated == 1);
}

TEST_CASE("create makes an instance of its arguments for each scheduler, or refuses them", "[c][plugins]") {
  plugin_in_words plugin{"Configured"};
  plugin.scores();
  plugin.score = [](const gangsched_pod_view*, const gangsched_nodes_view*, std::size_t) { return 1; };
  plugin.table.create = [](void* self, const char* arguments, void** instance, const char** reason) -> gangsched_code {
    plugin_in_words::of(self).arguments = arguments;
    if (std::string{arguments} == R"("bad")") return *reason = "are bad", GANGSCHED_MALFORMED;
    *instance = self;
    return ++plugin_in_words::of(self).instances, GANGSCHED_OK;
  };
  plugin.table.destroy_instance = [](void* self) { --plugin_in_words::of(self).instances; };
  {
    plugin_world world;
    world.node("a", 8);
    world.uses(plugin, 1, "limit: 3\nnames: [x, z]\nhalf: 0.5\n");
    CHECK(plugin.arguments == R"({"limit":3,"names":["x","z"],"half":0.5})");
    CHECK(plugin.instances == 1);
    gangsched_profile_plugin one{"Configured", 0, "bad"};
    gangsched_profile_spec profile{};
    profile.struct_size = sizeof profile;
    profile.scheduler_name = "other";
    profile.plugins = &one;
    profile.plugin_count = 1;
    CHECK(gangsched_configuration_add_profile(world.by, world.registry, &profile, world.error) == GANGSCHED_MALFORMED);
    CHECK(world.error.message() == "plugin Configured: args: are bad");
    c_world second;
    second.schedules(world.by);
    CHECK(plugin.instances == 2);
  }
  CHECK(plugin.instances == 0);
  CHECK(plugin.destroyed == 1);
}

TEST_CASE("a table that cannot be a plugin is refused, and its pointer stays the caller's", "[c][plugins]") {
  plugin_in_words plugin{"Empty"};
  {
    plugin_world world;
    CHECK(gangsched_registry_add(world.registry, &plugin.table, world.error) == GANGSCHED_MALFORMED);
    plugin.filters();
    plugin.table.name = "NodeResourcesFit";
    CHECK(gangsched_registry_add(world.registry, &plugin.table, world.error) == GANGSCHED_DUPLICATE);
    plugin.table.name = "Odd";
    plugin.table.reads = 1u << 20;
    CHECK(gangsched_registry_add(world.registry, &plugin.table, world.error) == GANGSCHED_MALFORMED);
  }
  CHECK(plugin.destroyed == 0);
}

TEST_CASE("callbacks that would change the cluster or the scheduler are busy", "[c][plugins]") {
  plugin_in_words plugin{"Meddler"};
  plugin_world world;
  world.node("a", 8);
  plugin.filters();
  plugin.filter = [&](const gangsched_pod_view* pod, const gangsched_nodes_view*, std::size_t) {
    CHECK(gangsched_cluster_remove_pod(world.cluster, gangsched_pod_view_id(pod), nullptr) == GANGSCHED_BUSY);
    CHECK(gangsched_scheduler_schedule_cycle(world.scheduler, 0, nullptr, nullptr) == GANGSCHED_BUSY);
    const std::string gone = R"({"kind": "Pod", "metadata": {"name": "z"}, "spec": {"containers": [{"name": "c"}]}})";
    CHECK(gangsched_cluster_set_object(world.cluster, gone.data(), gone.size(), 0, nullptr, nullptr) == GANGSCHED_BUSY);
    return pass;
  };
  world.uses(plugin);
  world.pod("p", 1);
  CHECK(world.run() == words{"p bind a"});
}

}  // namespace gangsched::testing::c_plugins_test
