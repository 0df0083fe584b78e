#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gangsched/queues/volcano/fair_hierarchy.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::volcano_hierarchy_test {
namespace {

using namespace gangsched::queues;
using volcano::fair_hierarchy;
using volcano::hierarchy_node;
using volcano::resources;

resources cores(double count, double gigabytes = 0) { return {count * 1000, gigabytes * 1e9}; }

struct filled {
  fair_hierarchy tree;
  std::vector<fair_hierarchy::node_index> queues, jobs;

  explicit filled(const resources& total) : tree{fair_hierarchy::make(total).value()} {}
  void add(const char* path, const char* weights, const resources& request) {
    queues.push_back(tree.add_queue("queue", path, weights).value());
    jobs.push_back(tree.add_job(queues.back(), "job" + std::to_string(jobs.size()), request));
  }
  /// Gives a task to the queue whose turn it is among those that still want one and find room, until nobody does.
  void fill(const resources& total, const std::vector<resources>& tasks) {
    resources left = total;
    std::vector<resources> got(tasks.size());
    for (;;) {
      std::size_t next = tasks.size();
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        const resources with = resources{got[i]}.add(tasks[i]);
        if (!with.within(tree.node(jobs[i]).request) || !tasks[i].within(left)) continue;
        if (next == tasks.size() || tree.order(queues[i], queues[next]) < 0) next = i;
      }
      if (next == tasks.size()) return;
      tree.allocate(jobs[next], tasks[next]);
      got[next].add(tasks[next]);
      left.subtract(tasks[next]);
    }
  }
};

TEST_CASE(
    "25: what one branch cannot use goes to another, and what a branch holds is counted by its least job that wants "
    "more") {
  const resources total = cores(10, 10);
  filled of{total};
  of.add("root/sci", "100/50", cores(10, 10));
  of.add("root/eng/dev", "100/50/50", cores(10));
  of.add("root/eng/prod", "100/50/50", cores(0, 10));
  of.fill(total, {cores(1, 1), cores(1), cores(0, 1)});
  CHECK(of.tree.node(of.jobs[0]).allocated == cores(5, 5));
  CHECK(of.tree.node(of.jobs[1]).allocated == cores(5));
  CHECK(of.tree.node(of.jobs[2]).allocated == cores(0, 5));
}

TEST_CASE("25: a saturated job blocks nobody: of cores each of three gets a third, of memory each of two a half") {
  const resources total = cores(30, 30);
  filled of{total};
  of.add("root/pg1", "100/25", cores(30));
  of.add("root/pg2", "100/25", cores(30));
  of.add("root/pg3/pg31", "100/25/50", cores(30));
  of.add("root/pg3/pg32", "100/25/50", cores(0, 30));
  of.add("root/pg4", "100/25", cores(0, 30));
  of.fill(total, {cores(1), cores(1), cores(1), cores(0, 1), cores(0, 1)});
  for (const std::size_t i : {0u, 1u, 2u}) CHECK(of.tree.node(of.jobs[i]).allocated == cores(10));
  for (const std::size_t i : {3u, 4u}) CHECK(of.tree.node(of.jobs[i]).allocated == cores(0, 15));
}

TEST_CASE(
    "a job is saturated when it has all that it requests of some kind, or the cluster has no more of one that it "
    "holds") {
  filled of{cores(10, 10)};
  of.add("root/a", "1/1", cores(4, 4));
  of.add("root/b", "1/1", cores(8));
  of.tree.allocate(of.jobs[0], cores(3, 3));
  CHECK_FALSE(of.tree.node(of.jobs[0]).saturated);
  of.tree.allocate(of.jobs[0], cores(0, 1));
  CHECK(of.tree.node(of.jobs[0]).saturated);
  CHECK(of.tree.node(of.queues[0]).saturated);
  CHECK_FALSE(of.tree.node(fair_hierarchy::root).saturated);
  of.tree.allocate(of.jobs[1], cores(7));
  CHECK(of.tree.node(of.jobs[1]).saturated);
  CHECK(of.tree.node(fair_hierarchy::root).saturated);
  of.tree.release(of.jobs[1], cores(1));
  CHECK_FALSE(of.tree.node(of.jobs[1]).saturated);
}

TEST_CASE("whoever can use more comes first, then the smaller share for its weight") {
  filled of{cores(10)};
  of.add("root/a", "1/2", cores(10));
  of.add("root/b", "1/1", cores(10));
  of.tree.allocate(of.jobs[0], cores(3));
  of.tree.allocate(of.jobs[1], cores(2));
  CHECK((of.tree.order(of.queues[0], of.queues[1]) < 0));
  of.tree.allocate(of.jobs[0], cores(1));
  CHECK((of.tree.order(of.queues[0], of.queues[1]) == 0));
  of.add("root/c", "1/1", cores(1));
  of.tree.allocate(of.jobs[2], cores(1));
  CHECK((of.tree.order(of.queues[1], of.queues[2]) < 0));
}

TEST_CASE("a task may go if its queue would still come after the reclaimer's, each task alone") {
  filled of{cores(10)};
  of.add("root/a", "1/1", cores(10));
  of.add("root/b", "1/1", cores(10));
  of.tree.allocate(of.jobs[0], cores(7));
  of.tree.allocate(of.jobs[1], cores(1));
  std::vector<std::uint32_t> victims;
  const std::vector<fair_hierarchy::candidate> held{
      {of.queues[0], of.jobs[0], cores(2)}, {of.queues[0], of.jobs[0], cores(6)}, {of.queues[0], of.jobs[0], cores(1)}};
  of.tree.reclaimable({of.queues[1], of.jobs[1], cores(2)}, held, victims);
  CHECK(victims == std::vector<std::uint32_t>{0, 2});
  CHECK(of.tree.node(of.jobs[0]).allocated == cores(7));
}

TEST_CASE("a weight below 1 counts 1, and the queue that names a part of a path first gives its weight") {
  auto tree = fair_hierarchy::make(cores(1)).value();
  const auto a = tree.add_queue("a", "root/x/a", "1/0.5/2").value();
  const auto b = tree.add_queue("b", "root/x/b", "1/9/3").value();
  CHECK(tree.node(tree.node(a).parent).weight == 1);
  CHECK(tree.node(a).parent == tree.node(b).parent);
  CHECK(tree.path(b) == "root/x/b");
  CHECK(tree.add_queue("c", "", "").value() == fair_hierarchy::root);
}

TEST_CASE("bad paths are refused by the name of their queue, and change nothing") {
  auto tree = fair_hierarchy::make(cores(1)).value();
  for (const char* weights : {"1/2", "1/2/x", "1/2/"}) {
    const auto made = tree.add_queue("physics", "root/science/physics", weights);
    REQUIRE_FALSE(made);
    CHECK(made.error().object == "queue physics");
    CHECK(made.error().field == "hierarchy_weights");
    CHECK(made.error().code == errc::malformed);
    CHECK(tree.size() == 1);
  }
  const auto none = fair_hierarchy::make(cores(-1));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::out_of_range);
}

/// The shares of a tree from its rules alone: all of it, without what was known before.
hierarchy_node settled(const fair_hierarchy& tree, fair_hierarchy::node_index at, const resources& total,
                       const resources& allocated) {
  hierarchy_node made = tree.node(at);
  if (made.is_job) {
    made.share = volcano::dominant_share(made.allocated, total);
    made.saturated = false;
    for (const volcano::kind k : {volcano::cpu, volcano::memory}) {
      const bool more = total.get(k) > 0 && allocated.get(k) < total.get(k);
      if (made.allocated.get(k) > 0 && made.request.get(k) > 0 &&
          (!more || made.allocated.get(k) >= made.request.get(k)))
        made.saturated = true;
    }
    return made;
  }
  std::vector<hierarchy_node> children;
  for (const auto child : made.children) children.push_back(settled(tree, child, total, allocated));
  double least = 1;
  for (const auto& child : children)
    if (!child.saturated && child.share > 0) least = std::min(least, child.share);
  made.saturated = std::ranges::all_of(children, &hierarchy_node::saturated);
  made.allocated = {};
  for (auto& child : children)
    if (child.share > 0)
      made.allocated.add(child.saturated ? child.allocated : child.allocated.scale(least / child.share));
  made.share = volcano::dominant_share(made.allocated, total);
  return made;
}

TEST_CASE("a tree that is kept step by step has the shares of one that is counted anew") {
  std::mt19937 random{7};
  const auto below = [&](std::uint32_t bound) { return static_cast<double>(random() % bound); };
  std::size_t compared = 0, full = 0;
  for (int round = 0; round < 60; ++round) {
    const resources total = cores(8, 8);
    filled of{total};
    for (std::uint32_t job = 0; job < 3 + random() % 5; ++job) {
      const std::string path = "root/" + std::to_string(random() % 3) + "/" + std::to_string(random() % 2);
      of.add(path.c_str(), "1/2/3", cores(1 + below(5), below(4)));
    }
    resources allocated;
    for (int step = 0; step < 60; ++step) {
      const auto job = of.jobs[random() % of.jobs.size()];
      const resources task = cores(below(2), below(2));
      if (random() % 3 == 0 && task.within(of.tree.node(job).allocated)) {
        of.tree.release(job, task);
        allocated.subtract(task);
      } else if (resources{allocated}.add(task).within(total)) {
        of.tree.allocate(job, task);
        allocated.add(task);
      }
      full += allocated.get(volcano::cpu) >= total.get(volcano::cpu) ? 1 : 0;
      for (fair_hierarchy::node_index at = 0; at < of.tree.size(); ++at) {
        const hierarchy_node expected = settled(of.tree, at, total, allocated);
        REQUIRE(of.tree.node(at).share == expected.share);
        REQUIRE(of.tree.node(at).saturated == expected.saturated);
        ++compared;
      }
    }
  }
  CHECK(compared > 30000);
  CHECK(full > 100);
}

}  // namespace
}  // namespace gangsched::testing::volcano_hierarchy_test
