// How long a nomination keeps room, and what its end does.
#include "world.hpp"

namespace gangsched::testing::nominations_test {

TEST_CASE("a nomination to a node that has become too small ends with its victims", "[engine][preemption][wake]") {
  const bool as_gang = GENERATE(false, true), terminating = GENERATE(false, true);
  world w;
  const node_id node = w.add(a_node{"n"}.cpu(2));
  for (const char* name : {"v1", "v2"}) w.add(a_pod{name}.cpu(1).on(node));
  a_pod big{"big"};
  big.cpu(2).priority(5);
  if (as_gang) big.in(w.add(a_gang{"g", 1}.priority(5)));
  w.add(big);
  CHECK(w.run() == words{"nominate big n", "evict v1 n", "evict v2 n"});
  w.must(w.cluster.update_node(node, a_node{"n"}.cpu(1)));
  CHECK(w.run_at(2s).empty());
  for (const char* name : {"v1", "v2"}) {
    if (terminating) w.must(w.cluster.set_terminating(w.pod(name), true));
  }
  w.remove(w.pod("v1"));
  CHECK(w.run_at(4s).empty());
  w.remove(w.pod("v2"));
  w.add(a_pod{"small"}.cpu(1));
  w.run_at(20s);
  CHECK(w.cluster.node_of(w.pod("small")) == node);
}

TEST_CASE("a gang whose member gives up its nomination is tried without it", "[engine][preemption][group]") {
  world w;
  const node_id node = w.add(a_node{"n"}.cpu(2));
  w.add(a_pod{"low"}.cpu(2).on(node));
  const group_id group = w.add(a_gang{"g", 1}.priority(10));
  w.add(a_pod{"big"}.cpu(2).priority(10).in(group));
  w.add(a_pod{"small"}.cpu(1).priority(10).in(group));
  CHECK(count(w.run(), "nominate big") == 1);
  w.must(w.cluster.update_node(node, a_node{"n"}.cpu(1)));
  w.remove(w.pod("low"));
  w.run_at(2s);
  w.run_at(60s);
  CHECK(w.cluster.node_of(w.pod("small")) == node);
}

TEST_CASE("who is let through once the victims have left is nominated, though another one is let through now",
          "[engine][preemption][group]") {
  world w;
  const node_id node = w.add(a_node{"n"}.cpu(4));
  const pod_id low = w.add(a_pod{"low"}.cpu(4).on(node));
  a_gang one_of_two{"g", 1};
  one_of_two.priority(10);
  std::get<gang>(one_of_two.spec.policy).max_count = 1;
  const group_id group = w.add(one_of_two);
  w.add(a_pod{"never"}.cpu(8).priority(10).in(group));  // the first in order; no node is large enough
  w.add(a_pod{"then"}.cpu(4).priority(10).in(group));
  const words said = w.run();
  CHECK(count(said, "nominate then n") == 1);
  CHECK(count(said, "evict low n") == 1);
  w.remove(low);
  CHECK(count(w.run_at(20s), "bind then n") == 1);
}

}  // namespace gangsched::testing::nominations_test
