// The domains of a label and the room that a class has in them, against plain recounts: after random changes, inside trials that are
// still open, and after they were rolled back.
#include "gangsched/engine/domain_index.hpp"

#include <map>
#include <optional>
#include <set>

#include "gangsched/engine/class_index.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::domain_index_test {

using namespace gangsched::engine;

namespace {

/// A cluster that changes at random, as a host or a trial would change it.
class changing {
 public:
  explicit changing(std::uint64_t seed, const cluster_options& bounds) : cluster(bounds), roll(seed) {
    for (int i = 0; i < 8; ++i) add_node();
  }
  gangsched::cluster cluster;
  dice roll;

  void change() {
    const std::vector<node_id> nodes = cluster.nodes();
    std::vector<pod_id> pods = cluster.pods();
    std::erase_if(pods, [&](pod_id pod) { return cluster.name_of(pod).starts_with("class"); });
    const std::size_t what = roll.below(12);
    if (nodes.size() < 3 || what == 0) return add_node();
    const node_id node = roll.of(nodes);
    if (what == 1 && nodes.size() > 5) return static_cast<void>(world::must(cluster.remove_node(node)));
    if (what <= 3) return world::must(cluster.update_node(node, random_node(std::string{cluster.name_of(node)})));
    if (what <= 6 || pods.empty()) return add_pod(node);
    const pod_id pod = roll.of(pods);
    switch (what) {
      case 7: return world::must(cluster.remove_pod(pod));
      case 8:
      case 9: return static_cast<void>(cluster.assume(pod, node).has_value());  // what does not apply is refused
      case 10: return static_cast<void>(cluster.release(pod).has_value());
      default: return static_cast<void>(cluster.bind(pod).has_value());
    }
  }

 private:
  a_node random_node(const std::string& name) {
    a_node node{name};
    node.cpu_milli(roll.between(0, 9000)).memory(std::to_string(roll.between(1, 16)) + "Gi").pods(roll.between(1, 8));
    if (roll.percent(30)) node.gpus(roll.between(1, 4));
    if (roll.percent(85)) node.label("rack", "r" + std::to_string(roll.below(12)));
    if (roll.percent(60)) node.label("zone", std::string(1, static_cast<char>('a' + roll.below(3))));
    if (roll.percent(50)) node.label("disk", "ssd");
    if (roll.percent(10)) node.taint("x");
    return node.unschedulable(roll.percent(10));
  }
  void add_node() { static_cast<void>(world::must(cluster.add_node(random_node("n" + std::to_string(made_++))))); }
  void add_pod(node_id node) {
    a_pod pod{"p" + std::to_string(made_++)};
    pod.cpu_milli(roll.between(0, 2500)).memory(std::to_string(roll.between(0, 3)) + "Gi");
    if (roll.percent(20)) pod.gpus(1);
    if (roll.percent(20)) pod.port(80);
    if (roll.percent(50)) pod.on(node);
    static_cast<void>(world::must(cluster.add_pod(pod)));
  }
  int made_ = 0;
};

std::map<std::string, std::vector<row_t>> domains_by_hand(const cluster& c, const std::string& key) {
  std::map<std::string, std::vector<row_t>> all;
  for (const node_id node : c.nodes()) {
    const auto value = node_info{inside(c), node.row}.label(std::string_view{key});
    if (value) all[std::string{*value}].push_back(node.row);
  }
  for (auto& [name, rows] : all) std::sort(rows.begin(), rows.end());
  return all;
}

void compare(const changing& now, const domain_index& index, const std::string& key) {
  const auto expected = domains_by_hand(now.cluster, key);
  REQUIRE(index.size() == expected.size());
  domain_id domain = 0;
  std::set<row_t> found_there;
  for (const auto& [name, rows] : expected) {  // in order of value
    CHECK(index.name(domain) == name);
    CHECK(std::vector<row_t>(index.rows(domain).begin(), index.rows(domain).end()) == rows);
    for (resource_kind kind = 0; kind < inside(now.cluster).kinds.count(); ++kind) {
      std::int64_t allocatable = 0, used = 0;
      for (const row_t row : rows) {
        allocatable += node_info{inside(now.cluster), row}.allocatable(kind);
        used += node_info{inside(now.cluster), row}.used(kind);
      }
      CHECK(index.allocatable(domain, kind) == allocatable);
      CHECK(index.used(domain, kind) == used);
    }
    for (const row_t row : rows) CHECK(index.of(row) == domain);
    found_there.insert(rows.begin(), rows.end());
    ++domain;
  }
  for (row_t row = 0; row < inside(now.cluster).nodes.rows.count(); ++row) {
    if (!found_there.contains(row)) CHECK(index.of(row) == no_domain);
  }
}

/// A pod class, and by hand how many more of it a node takes.
struct wanted_class {
  std::int64_t milli_cpu;
  std::int64_t gibibytes;
  bool ssd, port;

  [[nodiscard]] a_pod pod(const std::string& name) const {
    a_pod made{name};
    made.cpu_milli(milli_cpu).memory(std::to_string(gibibytes) + "Gi");
    if (ssd) made.select("disk", "ssd");
    if (port) made.port(80);
    return made;
  }
  [[nodiscard]] std::int64_t room(const cluster& c, node_id node) const {
    const node_info info{inside(c), node.row};
    const auto& record = *inside(c).nodes.record[node.row];
    if (record.unschedulable || !record.taints.empty()) return 0;
    if (ssd && info.label("disk") != "ssd") return 0;
    std::int64_t pods = 0;
    bool port_taken = false;
    for (const pod_id other : c.pods()) {
      if (c.node_of(other) != node) continue;
      ++pods;
      port_taken = port_taken || !inside(c).classes[inside(c).pods.cls[other.row]].ports.empty();
    }
    std::int64_t most = c.allocatable(node, "pods") - pods;
    const auto by = [&](const char* resource, std::int64_t amount) {
      if (amount > 0) most = std::min(most, (c.allocatable(node, resource) - c.requested(node, resource)) / amount);
    };
    by("cpu", milli_cpu), by("memory", gibibytes << 30);
    if (port) most = port_taken ? 0 : std::min<std::int64_t>(most, 1);
    return std::max<std::int64_t>(most, 0);
  }
};

/// The indexes under test, as a scheduler would keep them.
struct watched {
  changing now;
  kernel_table table = profiles::kube_default();
  engine_statistics statistics;
  std::vector<wanted_class> kinds{{1500, 1, false, false}, {0, 2, true, false}, {700, 0, false, true}};
  std::vector<pod_id> pods;
  domain_index racks, zones;
  std::vector<std::unique_ptr<class_index>> rooms;

  watched(std::uint64_t seed, const cluster_options& bounds)
      : now(seed, bounds), racks(inside(now.cluster), "rack"), zones(inside(now.cluster), "zone") {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      pods.push_back(world::must(now.cluster.add_pod(kinds[i].pod("class" + std::to_string(i)))));
      rooms.push_back(nullptr);
    }
  }
  class_index& room_of(std::size_t i) {
    model::cluster_state& state = inside(now.cluster);
    if (rooms[i] == nullptr || !rooms[i]->plan().holds(state)) {
      rooms[i] = std::make_unique<class_index>(state, make_plan(table, state, state.class_of(pods[i].row)), statistics);
    }
    rooms[i]->sync();
    return *rooms[i];
  }
  void check() {
    const bool domains_first = now.roll.percent(50);
    if (domains_first) racks.sync(), zones.sync();
    for (std::size_t i = 0; i < kinds.size(); ++i) static_cast<void>(room_of(i));
    racks.sync(), zones.sync();
    compare(now, racks, "rack");
    compare(now, zones, "zone");
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      class_index& room = room_of(i);
      std::int64_t total = 0;
      for (const node_id node : now.cluster.nodes()) {
        CHECK(room.capacity(node.row) == kinds[i].room(now.cluster, node));
        total += room.capacity(node.row);
      }
      CHECK(room.capacity() == total);
      for (const domain_index* domains : {&racks, &zones}) {
        for (domain_id domain = 0; domain < domains->size(); ++domain) {
          std::int64_t sum = 0;
          for (const node_id node : now.cluster.nodes())
            sum += domains->of(node.row) == domain ? kinds[i].room(now.cluster, node) : 0;
          CHECK(room.capacities(*domains)[domain] == sum);
        }
      }
    }
  }
  /// Changes in a trial, looked at or not, kept or not.
  void trial(int depth) {
    transaction attempt{now.cluster};
    for (std::size_t i = 1 + now.roll.below(4); i > 0; --i) {
      if (depth > 0 && now.roll.percent(35))
        trial(depth - 1);
      else
        now.change();
      if (now.roll.percent(30)) check();
    }
    if (now.roll.percent(40))
      attempt.commit();
    else
      ++rolled_back;
  }
  int rolled_back = 0;
};

}  // namespace

TEST_CASE("domains and the room in them are what a recount says, in trials and after roll-backs", "[engine][domains]") {
  const bool forgetful = GENERATE(false, true);  // a log that is lost every few changes
  int rolled_back = 0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    INFO("seed " << seed << (forgetful ? ", short log" : ""));
    watched w{seed, forgetful ? cluster_options{.log_bound = 8} : cluster_options{}};
    for (int step = 0; step < 30; ++step) {
      if (w.now.roll.percent(50))
        w.trial(2);
      else
        w.now.change();
      if (w.now.roll.percent(60)) w.check();
    }
    w.check();
    rolled_back += w.rolled_back;
  }
  CHECK(rolled_back > 200);
}

TEST_CASE("room in domains of an index that is gone is not another's at its address", "[engine][domains]") {
  watched w{1, {}};
  std::optional<domain_index> domains;
  for (const char* key : {"rack", "zone", "rack", "zone"}) {
    domains.emplace(inside(w.now.cluster), key);
    w.now.change();
    domains->sync();
    class_index& room = w.room_of(0);
    REQUIRE(room.capacities(*domains).size() == domains->size());
    for (domain_id domain = 0; domain < domains->size(); ++domain) {
      std::int64_t sum = 0;
      for (const row_t row : domains->rows(domain)) sum += room.capacity(row);
      CHECK(room.capacities(*domains)[domain] == sum);
    }
  }
}

TEST_CASE("a change that moves nobody leaves the domains' version, and one that does moves it", "[engine][domains]") {
  world w;
  const node_id a = w.add(a_node{"a"}.cpu(4).label("rack", "r1"));
  w.add(a_node{"b"}.cpu(4).label("rack", "r2"));
  model::cluster_state& state = inside(w.cluster);
  domain_index racks{state, "rack"};
  racks.sync();
  const std::uint64_t version = racks.version();
  w.add(a_pod{"p"}.cpu(1).on(a));
  racks.sync();
  CHECK(racks.version() == version);
  CHECK(racks.used(racks.of(a.row), kinds::cpu) == 1000);
  {
    transaction trial{state};
    w.must(w.cluster.update_node(a, a_node{"a"}.cpu(4).label("rack", "r2")));
    racks.sync();
    CHECK(racks.size() == 1);
    CHECK(racks.version() != version);
  }
  racks.sync();
  CHECK(racks.size() == 2);
  CHECK(racks.used(racks.of(a.row), kinds::cpu) == 1000);
}

}  // namespace gangsched::testing::domain_index_test
