// The host's word on a node: filters that read it are asked again when it changes, and nobody else hears of that.
#include <string>

#include "world.hpp"

namespace gangsched::testing::node_cookie_test {

namespace {

/// Only nodes whose cookie says so.
struct open_by_cookie {
  static constexpr std::string_view name = "OpenByCookie";
  using points = implements<point::filter>;

  [[nodiscard]] status filter(const pod_view&, node_view<reads::name> node) const {
    return node.cookie() == 7 ? status::success() : status::unschedulable("closed");
  }
};

node_spec with_cookie(a_node node, std::uint64_t cookie) {
  node.spec.cookie = cookie;
  return node.spec;
}

}  // namespace

TEST_CASE("a filter that reads a node's cookie is asked again when only that changes", "[wake]") {
  scheduler_options options = world::lowest_first();
  options.check_hooks = GENERATE(false, true);
  const bool in_gang = GENERATE(false, true);
  world w{profile{priority_sort{}, node_resources_fit{}, open_by_cookie{}}, options};
  const node_id n = w.add(a_node{"n"}.cpu(4));
  a_pod p = a_pod{"p"}.cpu(1);
  w.add(in_gang ? p.in(w.add(a_gang{"gang", 1})) : p);
  CHECK(w.run() == words{"reject p"});
  w.must(w.cluster.update_node(n, with_cookie(a_node{"n"}.cpu(4), 6)));
  CHECK(w.run_at(w.now + 20s).empty());
  w.must(w.cluster.update_node(n, with_cookie(a_node{"n"}.cpu(4), 7)));
  CHECK(w.run_at(w.now + 20s) == words{"bind p n"});
  w.add(a_pod{"q"}.cpu(1));
  CHECK(w.run() == words{"bind q n"});
  w.must(w.cluster.update_node(n, with_cookie(a_node{"n"}.cpu(4), 8)));
  w.add(a_pod{"r"}.cpu(1));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  CHECK(done.error() == nullptr);
  CHECK(w.said(done.decisions()) == words{"reject r"});
}

TEST_CASE("a node's cookie is news to nobody whose filters do not read it", "[wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  scheduler_options options = world::lowest_first();
  options.wake = rule;
  world w{profiles::kube_default(), options};
  const node_id n = w.add(a_node{"n"}.cpu(4).label("zone", "a"));
  w.add(a_node{"m"}.cpu(1).label("zone", "b"));
  w.add(a_pod{"runs"}.cpu(3).on(n));
  w.add(a_pod{"large"}.cpu(2));
  w.add(a_pod{"elsewhere"}.cpu(1).select("zone", "c"));
  for (const char* name : {"x", "y"}) w.add(a_pod{name}.cpu(2).in(w.add(a_gang{std::string{"gang-"} + name, 1})));
  CHECK(w.run(true).size() == 4);
  w.now += 20s;
  w.run(true);  // groups under hints, whose backoff is over
  const std::uint64_t woken = w.scheduler.statistics().wake_ups;
  w.must(w.cluster.update_node(n, with_cookie(a_node{"n"}.cpu(4).label("zone", "a"), 7)));
  CHECK(w.run(true).empty());
  CHECK(w.scheduler.statistics().wake_ups == woken);
}

}  // namespace gangsched::testing::node_cookie_test
