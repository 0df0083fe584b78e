// Gangs, trees, pods and their ends in any order: no gang runs with less than its minimum by the scheduler's doing (I1), and what
// nodes have free and used is always all they have (I7).
#include <map>

#include "support/dice.hpp"
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::gang_accounting_test {

namespace {

class shop {
 public:
  explicit shop(std::uint64_t seed)
      : roll_(seed), w_{profiles::kube_default(), {.seed = seed, .ties = static_cast<tie_rule>(seed % 3)}} {
    for (int i = 0; i < 6; ++i) add_node();
  }
  void step() {
    const std::size_t what = roll_.below(10);
    const std::vector<pod_id> pods = w_.cluster.pods();
    if (what < 3)
      add_job();
    else if (what < 6)
      run();
    else if (what == 6 && !pods.empty())
      end(roll_.of(pods));
    else if (what == 7)
      add_node();
    else if (what == 8)
      remove_node();
    else
      w_.now += std::chrono::milliseconds{roll_.between(0, 5000)};
    check();
  }
  int gangs_placed = 0, gangs_refused = 0;

 private:
  void add_node() {
    a_node node{"n" + std::to_string(made_++)};
    node.cpu(roll_.between(1, 6)).label("rack", "r" + std::to_string(roll_.below(3)));
    w_.add(node.label("zone", roll_.percent(50) ? "a" : "b"));
  }
  void remove_node() {
    const std::vector<node_id> nodes = w_.cluster.nodes();
    if (nodes.size() < 4) return;
    for (const removed_pod& gone : w_.must(w_.cluster.remove_node(roll_.of(nodes)))) pods_.erase(gone.id);
  }
  void end(pod_id pod) {
    pods_.erase(pod);
    w_.remove(pod);
  }
  void add_job() {
    const std::string name = "j" + std::to_string(made_++);
    const bool tree = roll_.percent(40);
    group_id root{};
    if (tree) {
      group_spec spec{
          .name = name, .policy = gang{.min_count = static_cast<std::int32_t>(roll_.between(1, 2))}, .composite = true};
      if (roll_.percent(40)) spec.topology.within = {"zone"};
      root = w_.add(spec);
    }
    for (int child = 0; child < (tree ? 2 : 1); ++child) {
      const auto size = static_cast<std::int32_t>(roll_.between(1, 4));
      gang policy{.min_count = static_cast<std::int32_t>(roll_.between(1, size))};
      if (roll_.percent(20)) policy.roles = {{"head", 1}};
      group_spec spec{.name = name + "-" + std::to_string(child), .policy = policy, .parent = root};
      if (roll_.percent(40)) spec.topology.within = {"rack"};
      if (roll_.percent(20)) spec.topology.choice = static_cast<domain_choice>(1 + roll_.below(4));
      if (roll_.percent(20)) spec.topology.slices = {{"rack", 2}};
      const group_id group = w_.add(spec);
      const std::int64_t all_alike = roll_.percent(50) ? 500 * roll_.between(1, 4) : 0;
      for (int i = 0; i < size; ++i) {
        const std::int64_t milli = all_alike != 0 ? all_alike : 500 * roll_.between(1, 4);
        a_pod pod{spec.name + "-" + std::to_string(i)};
        pod.cpu_milli(milli).in(group);
        if (i == 0 || roll_.percent(30)) pod.spec.role = "head";
        if (roll_.percent(50)) pod.spec.rank = i;
        pods_[w_.add(pod)] = milli;
      }
    }
  }
  /// A cycle; a group that is refused leaves no trace. Some of what is bound is confirmed, some fails.
  void run() {
    const std::uint64_t before = inside(w_.cluster).digest_with_derived();
    const cycle done = w_.scheduler.schedule_cycle(w_.now);
    REQUIRE(done.error() == nullptr);
    std::vector<decision> all{done.begin(), done.end()};
    std::map<group_id, int> bound;
    for (const decision& one : all) {
      if (one.kind == decision_kind::bind) ++bound[one.group];
    }
    if (bound.empty() && !all.empty()) {
      ++gangs_refused;
      CHECK(inside(w_.cluster).digest_with_derived() == before);
    }
    const model::cluster_state& state = inside(w_.cluster);
    for (const auto& [group, count] : bound) {
      ++gangs_placed;
      const group_view view{state, group.row};
      CHECK(view.assumed() + view.bound() >= view.min_count());
    }
    for (const decision& one : all) {
      if (one.kind != decision_kind::bind) continue;
      if (roll_.percent(80))
        w_.confirm(one.pod);
      else
        CHECK(w_.scheduler.fail(one.pod, "no").error() == nullptr);
    }
  }
  void check() {
    for (const node_id node : w_.cluster.nodes()) {
      std::int64_t used = 0;
      for (const auto& [pod, milli] : pods_) used += w_.cluster.node_of(pod) == node ? milli : 0;
      CHECK(w_.cluster.requested(node, "cpu") == used);
      CHECK(used <= w_.cluster.allocatable(node, "cpu"));
    }
    const result<void> right = w_.scheduler.verify();
    INFO((right ? std::string{} : right.error().message()));
    CHECK(right);
  }

  dice roll_;
  world w_;
  std::map<pod_id, std::int64_t> pods_;  ///< with their requests
  int made_ = 0;
};

}  // namespace

TEST_CASE("whatever comes and goes, gangs stand with their minimum and nodes add up", "[engine][group][property]") {
  int placed = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    shop one{seed};
    for (int step = 0; step < 60; ++step) one.step();
    placed += one.gangs_placed, refused += one.gangs_refused;
  }
  CHECK(placed > 300);
  CHECK(refused > 100);
}

}  // namespace gangsched::testing::gang_accounting_test
