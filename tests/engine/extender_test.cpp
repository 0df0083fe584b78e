// What the host decides itself, through callbacks.
#include "gangsched/plugins/extender.hpp"

#include "world.hpp"

namespace gangsched::testing::extender_test {

namespace {

kernel_table with(extender::callbacks host, std::int64_t weight = 1) {
  kernel_table table = profiles::kube_default();
  add_plugin(table, lower(extender{std::move(host)}, weight));
  return table;
}

/// Three nodes of 2, 4 and 4 cores.
void three(world& w) {
  w.add(a_node{"small"}.cpu(2));
  w.add(a_node{"a"}.cpu(4));
  w.add(a_node{"b"}.cpu(4));
}

}  // namespace

TEST_CASE("an extender's filter sees at once what the filters left, and its word counts", "[engine][extender]") {
  words seen;
  extender::callbacks host;
  host.filter = [&](const pod_info& pod, const cluster_view& cluster, std::span<extender::judged_node> nodes) {
    seen.push_back(std::string{pod.name()});
    for (extender::judged_node& one : nodes) {
      const std::string name{cluster.node(one.node)->name()};
      seen.push_back(name);
      if (name == "a") one.verdict = status::unschedulable("not that one");
    }
    return true;
  };
  world w{with(host)};
  three(w);
  w.add(a_pod{"p"}.cpu(3));
  CHECK(w.run() == words{"bind p b"});
  CHECK(seen == words{"p", "a", "b"});
  w.add(a_pod{"q"}.cpu(3));
  CHECK(w.run() == words{"reject q"});
  const explanation why = w.must(w.scheduler.explain(w.pod("q")));
  CHECK(why.nodes[1].plugin == "Extender");
  CHECK(why.nodes[1].reasons == std::vector<std::string>{"not that one"});
}

TEST_CASE("an extender judges the candidates of a preemption", "[engine][extender][preemption]") {
  using candidates = std::vector<default_preemption::candidate>;
  enum class word { drops, chooses, spares, fails, invents };
  const word says = GENERATE(word::drops, word::chooses, word::spares, word::fails, word::invents);
  const bool ignorable = GENERATE(true, false);
  const bool managed = GENERATE(true, false);
  std::vector<std::size_t> seen;
  pod_id other;
  default_preemption::extender host;
  host.preempt = [&](const pod_info& pod, const cluster_view&, candidates& among) {
    CHECK(pod.name() == "p");
    seen.push_back(among.size());
    switch (says) {
      case word::drops: among.erase(among.begin()); break;  // the cheaper one
      case word::chooses: among = {{among[1].node, {other}, 0}}; break;
      case word::spares: among[0].victims.clear(); break;
      case word::fails: return false;
      case word::invents: among[0].victims = {other}; break;  // it is on another node
    }
    return true;
  };
  host.ignorable = ignorable;
  if (managed) host.managed_resources = {"example.com/gpu"};
  world w{profile{priority_sort{}, node_resources_fit{}, default_preemption{}.ask(host)}};
  w.add(a_node{"a"}.cpu(2));
  w.add(a_node{"b"}.cpu(4));
  w.add(a_pod{"x"}.cpu(2).on(w.node("a")));
  w.add(a_pod{"y"}.cpu(2).priority(5).on(w.node("b")));
  other = w.add(a_pod{"z"}.cpu(2).priority(6).on(w.node("b")));
  w.add(a_pod{"p"}.cpu(2).priority(10));
  const words usual{"nominate p a", "evict x a"};
  const cycle done = w.scheduler.schedule_cycle(w.now);
  const words said = w.said(done.decisions());
  if (managed) {
    CHECK(seen.empty());
    CHECK(said == usual);
    return;
  }
  CHECK(seen == std::vector<std::size_t>{2});
  if (says == word::drops) {
    CHECK(said == words{"nominate p b", "evict y b"});
  } else if (says == word::chooses) {
    CHECK(said == words{"nominate p b", "evict z b"});
  } else if (!ignorable) {
    CHECK(said == words{"reject p"});
    CHECK(done.error() != nullptr);
  } else {
    CHECK(said == (says == word::spares ? words{"nominate p b", "evict y b"} : usual));
  }
}

TEST_CASE("an extender's score counts ten times its weight", "[engine][extender]") {
  extender::callbacks host;
  host.prioritize = [](const pod_info& pod, const cluster_view& cluster, std::span<extender::rated_node> nodes) {
    const std::string_view best = pod.name() == "p" ? "small" : "b";
    for (extender::rated_node& one : nodes) one.score = cluster.node(one.node)->name() == best ? 10 : 3;
    return true;
  };
  world w{with(host, 9)};
  three(w);
  w.add(a_pod{"p"}.cpu(1));
  const explanation all = w.must(w.scheduler.explain(w.pod("p")));
  CHECK(all.nodes[0].scores.back().weighted() == 900);
  CHECK(all.nodes[1].scores.back().weighted() == 270);
  CHECK(w.run() == words{"bind p small"});
  w.add(a_pod{"q"}.cpu(1));  // alike but for its name, which the callback reads
  CHECK(w.run() == words{"bind q b"});
}

TEST_CASE("an extender with managed resources is asked about pods that request one", "[engine][extender]") {
  int asked = 0, bound = 0;
  extender::callbacks host;
  host.managed_resources = {"example.com/never", "nvidia.com/gpu"};
  host.filter = [&](const pod_info&, const cluster_view&, std::span<extender::judged_node>) { return ++asked != 0; };
  host.bind = [&](const reservation&, decision& one) {
    ++bound;
    one.annotation = 7;
    return status::success();
  };
  world w{with(host)};
  w.add(a_node{"n"}.cpu(4).gpus(1));
  w.add(a_pod{"plain"}.cpu(1));
  CHECK(w.run() == words{"bind plain n"});
  CHECK((asked == 0 && bound == 0));
  w.add(a_pod{"gpu"}.gpus(1));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 1);
  CHECK(done.decisions()[0].annotation == 7);
  CHECK((asked == 1 && bound == 1));
}

TEST_CASE("an extender that fails ends the cycle with an error, unless it is ignorable", "[engine][extender]") {
  const bool ignorable = GENERATE(true, false);
  extender::callbacks host;
  host.ignorable = ignorable;
  host.filter = [](const pod_info&, const cluster_view&, std::span<extender::judged_node>) { return false; };
  host.prioritize = [](const pod_info&, const cluster_view&, std::span<extender::rated_node>) { return false; };
  world w{with(host)};
  three(w);
  w.add(a_pod{"p"}.cpu(1));
  if (ignorable) {
    CHECK(w.run() == words{"bind p a"});
  } else {
    const cycle done = w.scheduler.schedule_cycle(w.now);
    REQUIRE(done.error() != nullptr);
    CHECK(w.said(done.decisions()) == words{"reject p"});
  }
}

TEST_CASE("preemption hears an extender's filter too", "[engine][extender]") {
  extender::callbacks host;
  host.filter = [](const pod_info&, const cluster_view& cluster, std::span<extender::judged_node> nodes) {
    for (extender::judged_node& one : nodes) {
      if (cluster.node(one.node)->name() == "a") one.verdict = status::unresolvable("never there");
    }
    return true;
  };
  world w{with(host)};
  w.add(a_node{"a"}.cpu(2));
  w.add(a_node{"b"}.cpu(2));
  w.add(a_pod{"low-a"}.cpu(2).on(w.node("a")));
  w.add(a_pod{"low-b"}.cpu(2).priority(1).on(w.node("b")));
  w.add(a_pod{"p"}.cpu(2).priority(5));
  CHECK(w.run() == words{"nominate p b", "evict low-b b"});
}

}  // namespace gangsched::testing::extender_test
