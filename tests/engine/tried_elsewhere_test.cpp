// Pods that have a node are tried on others, to make room for members of their group: what reserve hooks hold for them stays as it is.
#include "support/inside.hpp"
#include "world.hpp"

#include <memory>
#include <set>

namespace gangsched::testing::tried_elsewhere_test {

namespace {

/// Keeps what it reserved outside the cluster: at most one place a pod.
struct places_of_pods {
  static constexpr std::string_view name = "PlacesOfPods";
  using points = implements<point::reserve>;
  struct book {
    std::set<std::string> held;
    int twice = 0;
  };
  std::shared_ptr<book> kept = std::make_shared<book>();

  status reserve(const reservation& r) {
    if (!kept->held.insert(std::string{r.pod.name()}).second) ++kept->twice;
    return status::success();
  }
  void unreserve(const reservation& r) noexcept { kept->held.erase(std::string{r.pod.name()}); }
};

/// So many pods a node, counted in a column.
struct seats {
  static constexpr std::string_view name = "Seats";
  using points = implements<point::filter, point::reserve>;
  std::int64_t most;
  node_column taken;

  void attach(column_maker& columns) { taken = columns.make_node_column(); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::own> node) const {
    return node.own(taken) < most ? status::success() : status::unschedulable("all seats are taken");
  }
  status reserve(const new_reservation& r) { return r.add(taken, 1), status::success(); }
  void unreserve(const reservation&) noexcept {}
};

kernel_table with(auto... plugins) {
  return profile{priority_sort{},      gang_scheduling{},    node_affinity_plugin{}, node_resources_fit{},
                 default_preemption{}, topology_placement{}, group_preemption{},     std::move(plugins)...};
}

/// A gang whose members are placed one by one; the first takes room that only the last one can use.
struct one_by_one : world {
  explicit one_by_one(int least, auto... plugins)
      : world(with(std::move(plugins)...), lowest_first()), gang(add(a_gang{"g", least}.permit().priority(9))) {
    for (const char* name : {"n", "m"}) add(a_node{name}.cpu(4).label("name", name));
  }
  a_pod member(const char* name, int cpu) const { return a_pod{name}.cpu(cpu).priority(9).in(gang); }

  group_id gang;
};

}  // namespace

TEST_CASE("a waiting member that is tried elsewhere in vain stays reserved where it is", "[engine][hooks][permit]") {
  const places_of_pods plugin;
  one_by_one w{2, plugin};
  w.add(a_pod{"low"}.cpu(1).on(w.node("n")));
  w.add(a_pod{"high"}.cpu(4).priority(99).on(w.node("m")));
  w.add(w.member("first", 2)), w.add(w.member("last", 4));
  CHECK(w.run() == words{"wait first n", "reject last"});
  CHECK(plugin.kept->held == std::set<std::string>{"first"});
  CHECK(plugin.kept->twice == 0);
  w.fail(w.pod("first"));
  CHECK(plugin.kept->held.empty());
}

TEST_CASE("a waiting member gives its node to another, and is reserved anew where it goes", "[engine][hooks][permit]") {
  const places_of_pods plugin;
  one_by_one w{2, plugin, seats{1, {}}};
  w.add(w.member("first", 2)), w.add(w.member("last", 3).select("name", "n"));
  words said = w.run();
  CHECK(said == words{"wait first n", "nominate last n", "revoke first n", "nominate first m"});
  CHECK(plugin.kept->held.empty());
  w.now += 1min;
  said = w.run();
  CHECK(sorted(said) == words{"bind last n", "wait first m"});
  CHECK(w.permit() == words{"bind first m"});
  CHECK(plugin.kept->held == std::set<std::string>{"first", "last"});
  CHECK(plugin.kept->twice == 0);
}

TEST_CASE("what a waiting member holds in columns counts where it is tried", "[engine][hooks][permit]") {
  const places_of_pods plugin;
  one_by_one w{3, plugin, seats{1, {}}};
  w.add(w.member("first", 2)), w.add(w.member("second", 1).select("name", "m"));
  w.add(w.member("last", 3).select("name", "n"));
  CHECK(w.run() == words{"wait first n", "wait second m", "reject last"});
  CHECK(plugin.kept->held == std::set<std::string>{"first", "second"});
  for (const char* name : {"n", "m"}) CHECK(inside(w.cluster).columns.at(0, w.node(name).row) == 1);
}

TEST_CASE("running members of a gang that would move stay reserved where they run", "[engine][hooks][move]") {
  const places_of_pods plugin;
  world w{with(plugin), world::lowest_first()};
  for (const char* name : {"a1", "a2", "b1"}) w.add(a_node{name}.cpu(2).label("rack", {name, 1}));
  group_spec spec{.name = "g", .policy = gang{.min_count = 2}, .priority = 9};
  spec.topology = {.within = {"rack"}, .when_full = full_domain::move};
  const group_id gang = w.add(spec);
  for (const char* name : {"g-0", "g-1"}) w.add(a_pod{name}.cpu(2).priority(9).in(gang));
  REQUIRE(w.run() == words{"bind g-0 a1", "bind g-1 a2"});
  for (const char* name : {"g-0", "g-1"}) w.confirm(w.pod(name));
  w.remove(w.pod("g-1"));
  w.add(a_pod{"other"}.cpu(2).priority(99).on(w.node("a2")));
  plugin.kept->held.erase("g-1");  // (unreserve is not called for a pod that the host removed)
  w.add(a_pod{"g-2"}.cpu(2).priority(9).in(gang));
  CHECK(w.run() == words{"reject g-2"});
  CHECK(plugin.kept->held == std::set<std::string>{"g-0"});
  CHECK(plugin.kept->twice == 0);
}

}  // namespace gangsched::testing::tried_elsewhere_test
