// Koordinator's ElasticQuota on the queues of a cluster: who may run within the runtime quota, and who goes for whom.
#include <map>
#include <memory>
#include <optional>

#include "gangsched/plugins/elastic_quota.hpp"
#include "queue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::elastic_quota_policy_test {

namespace {

using verdict = queues::koordinator::quota_verdict;
using reason = verdict::reason;
constexpr const char* preemptible = "quota.scheduling.koordinator.sh/preemptible";

kernel_table with(elastic_quota_policy::options chosen) {
  return profile{priority_sort{}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{},
                 elastic_quota_policy{std::move(chosen)}};
}

struct quota_world : core_queues {
  explicit quota_world(queues::koordinator::quota_options chosen = {}) : core_queues(with({.quotas = chosen})) {}
};

}  // namespace

TEST_CASE("a quota may use what others do not ask for, and less when they do", "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("research", 4, 8);
  w.queue("product", 4, 8);
  w.ask("p1", "product", 6);
  CHECK(w.run() == words{"bind p1 n"});
  w.ask("r1", "research", 3);            // product asks for 6 and may use 5 now; research may use its 3
  CHECK(w.run() == words{"reject r1"});  // there is no room on the node: nobody goes for another quota
  w.ask("p2", "product", 1);
  CHECK(w.run_at(1s) == words{"reject p2"});
  w.remove(w.pod("p1"));
  const words said = w.run_at(60s);
  CHECK(std::ranges::count(said, "bind r1 n") == 1);
  CHECK(std::ranges::count(said, "bind p2 n") == 1);
  CHECK(w.scheduler.verify());
}

TEST_CASE("pods without a queue are not limited, and what they use is not shared", "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("a", 0, 8);
  w.queue("b", 0, 8);
  const pod_id free = w.add(a_pod{"free"}.cpu(4).on(w.node("n")));
  w.add(w.of("b1", "b", 4).gate("later"));
  w.ask("a1", "a", 3);  // four are shared by two who want them
  CHECK(w.run() == words{"reject a1"});
  w.remove(free);
  CHECK(w.run_at(60s) == words{"bind a1 n"});
}

TEST_CASE("what pods without a queue use is not shared, though 64 bits do not hold its sum", "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("a", 0, 8);
  for (const char* name : {"x", "y"}) {
    w.add(a_node{name}.cpu(8));
    w.add(a_pod{std::string{"on-"} + name}.cpu(std::int64_t{5} << 50).on(w.node(name)));
  }
  w.ask("a1", "a", 3);
  CHECK(w.run() == words{"reject a1"});
}

TEST_CASE("with parents asked, a pod is refused where a quota above is over its own", "[engine][koordinator]") {
  for (const bool asked : {false, true}) {
    quota_world w{{.check_parents = asked, .scale_min = false}};
    w.add(a_node{"n"}.cpu(64));
    w.queue("company", 4, 4);
    w.queue("a", 4, 8, "company");
    w.queue("b", 4, 8, "company");  // mins are given even if they add up to more than there is
    w.ask("a1", "a", 4);
    w.ask("b1", "b", 4);
    CHECK(w.run() == (asked ? words{"bind a1 n", "reject b1"} : words{"bind a1 n", "bind b1 n"}));
  }
}

TEST_CASE("pods that are not preemptible stay within the min, and nobody takes them", "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("a", 3, 6);
  const auto fixed = [&](const char* name, std::int64_t cores, std::int32_t priority) {
    w.add(w.of(name, "a", cores, priority).label(preemptible, "false"));
  };
  fixed("f1", 2, 0);
  CHECK(w.run(true) == words{"bind f1 n"});
  fixed("f2", 2, 0);
  CHECK(w.run(true) == words{"reject f2"});
  fixed("f3", 1, 0);
  CHECK(sorted(w.run(true)) == words{"bind f3 n", "reject f2"});
  w.remove(w.pod("f2"));
  w.ask("p1", "a", 3);
  CHECK(w.run(true) == words{"bind p1 n"});
  w.ask("p2", "a", 4, 9);  // p1 alone is not enough
  CHECK(w.run(true) == words{"reject p2"});
  w.ask("p3", "a", 3, 8);
  CHECK(sorted(w.run(true)) == words{"evict p1 n", "nominate p3 n"});
}

TEST_CASE("who goes is less important and of the same quota, and no more than let the pod in",
          "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.add(a_node{"m"}.cpu(8));
  w.queue("a", 4, 6);
  w.queue("b", 4, 16);
  w.ask("a1", "a", 2, 1, "n");
  w.ask("a2", "a", 2, 2, "n");
  w.ask("a3", "a", 2, 3, "m");
  w.ask("b1", "b", 1, 0, "m");
  w.ask("high", "a", 2, 5);  // there is room on both nodes
  CHECK(sorted(w.run()) == words{"evict a1 n", "nominate high n"});
  w.must(w.cluster.set_terminating(w.pod("a1"), true));
  w.run_at(1s);
  CHECK(w.cluster.nominated_node_of(w.pod("high")) == w.node("n"));
  w.remove(w.pod("a1"));
  CHECK(w.run_at(60s).size() == 1);
  CHECK(w.cluster.node_of(w.pod("high")) != node_id{});
  w.ask("low", "a", 1, 1);
  CHECK(w.run_at(61s) == words{"reject low"});
}

TEST_CASE("what victims released of a quota is kept for whom they went, from less important pods",
          "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("a", 1, 1);
  w.ask("low", "a", 1, 0, "n");
  w.ask("high", "a", 1, 1);
  CHECK(w.run_at(1s) == words{"nominate high n", "evict low n"});
  w.remove(w.pod("low"));
  w.ask("again", "a", 1);  // made anew by its controller, while the preemptor waits for its next attempt
  const words said = w.run_each_second(2, 20);
  CHECK(count(said, "evict") == 0);
  CHECK(count(said, "bind high n") == 1);
  CHECK(count(said, "bind again") == 0);
}

TEST_CASE("a gang takes room from less important pods of its quota", "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"m"}.cpu(4));
  w.queue("a", 8, 8);
  w.queue("b", 0, 8);
  for (int i = 0; i < 3; ++i) w.ask("a" + std::to_string(i), "a", 2, 1, i < 2 ? "n" : "m");
  w.ask("b0", "b", 2, 0, "m");
  w.job("g", "a", 2, 2, 2, 7);
  const words said = sorted(w.run());
  CHECK(count(said, "evict a") == 2);
  CHECK(count(said, "nominate g") == 2);
  CHECK(said.size() == 4);
}

TEST_CASE("queues that are not there or are held admit nobody, and what a queue says later counts from then on",
          "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.ask("p", "late", 1);
  CHECK(w.run() == words{"reject p"});
  w.queue("late", 0, 1);
  CHECK(w.run_at(60s) == words{"bind p n"});
  w.ask("q", "late", 1);
  CHECK(w.run_at(61s) == words{"reject q"});
  w.update(w.spec_of("late", 0, 2));
  CHECK(w.run_at(120s) == words{"bind q n"});
}

TEST_CASE("without queues pods take from each other by priority, and a queue without a limit limits nothing",
          "[engine][koordinator]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(2));
  w.add(a_pod{"low"}.cpu(2).priority(1).on(w.node("n")));
  w.add(a_pod{"high"}.cpu(1).priority(2));
  CHECK(sorted(w.run()) == words{"evict low n", "nominate high n"});
  quota_world free;
  free.add(a_node{"n"}.cpu(2));
  free.queue(queue_spec{.name = "free"});
  free.ask("p", "free", 2);
  CHECK(free.run() == words{"bind p n"});
}

TEST_CASE("arguments of ElasticQuota are read by name", "[engine][koordinator]") {
  CHECK(elastic_quota_policy::from({}));
  CHECK(elastic_quota_policy::from(argument::fields{{"enableRuntimeQuota", false}, {"enableCheckParentQuota", true}}));
  CHECK(elastic_quota_policy::from(argument::fields{{"enableRuntimeQuota", "no"}}).error().code == errc::malformed);
  CHECK(elastic_quota_policy::from(argument::fields{{"delayEvictTime", 1}}).error().code == errc::unknown);
}

namespace {

/// A quota that has lent, and has to give back: product runs eight cores, of which research wants its four.
struct overused_world : quota_world {
  overused_world() {
    add(a_node{"n"}.cpu(8));
    queue("research", 4, 8);
    queue("product", 4, 8);
  }
  void run_pod(const std::string& name, std::int64_t cores, std::int32_t priority, bool may_go = true) {
    a_pod one = of(name, "product", cores, priority);
    if (!may_go) one.label(preemptible, "false");
    add(one);
    run();
  }
  words revoke(instant when) {
    words all;
    for (const pod_id pod : policy.to_revoke(cluster, when, watch)) all.emplace_back(cluster.name_of(pod));
    return all;
  }
  elastic_quota_policy policy = {};
  overuse_watch watch = {};
};

}  // namespace

TEST_CASE("pods of a quota over its runtime quota are revoked once it was for longer than the delay",
          "[engine][koordinator]") {
  overused_world w;
  w.run_pod("p9", 3, 9);
  w.run_pod("p5", 4, 5);
  w.run_pod("p1", 1, 1);
  CHECK(w.revoke(0s).empty());
  w.ask("r1", "research", 4);
  CHECK(w.run_at(1s) == words{"reject r1"});  // nobody goes for another quota
  CHECK(w.revoke(10s).empty());
  CHECK(w.revoke(120s).empty());         // it was within at 0 s, and longer than the delay has not passed
  CHECK(w.revoke(121s) == words{"p5"});  // down to four: p1 and p5 would go, and of them p1 need not
  CHECK(w.revoke(122s).empty());         // the time begins anew
  CHECK(w.revoke(242s) == words{"p5"});  // the host has not listened
  w.remove(w.pod("p5"));
  CHECK(w.revoke(400s).empty());
  CHECK(w.run_at(401s) == words{"bind r1 n"});
}

TEST_CASE("a quota that is within its runtime quota once is watched anew, and who leaves counts as gone",
          "[engine][koordinator]") {
  overused_world w;
  w.run_pod("p5", 4, 5);
  w.run_pod("p1", 4, 1);
  const pod_id asks = w.add(w.of("r1", "research", 4).gate("later"));
  CHECK(w.revoke(0s).empty());
  CHECK(w.revoke(100s).empty());
  w.remove(asks);
  CHECK(w.revoke(110s).empty());  // within: nobody else asks
  w.add(w.of("r2", "research", 4).gate("later"));
  CHECK(w.revoke(200s).empty());
  CHECK(w.revoke(230s).empty());
  overuse_watch other = w.watch;
  CHECK(w.policy.to_revoke(w.cluster, 231s, other).size() == 1);
  w.must(w.cluster.set_terminating(w.pod("p5")));
  CHECK(w.revoke(231s).empty());
}

TEST_CASE("pods that are not preemptible are not revoked, nor are those of a quota that went",
          "[engine][koordinator]") {
  overused_world w;
  w.run_pod("kept", 4, 0, false);
  w.run_pod("p2", 2, 2);
  w.run_pod("p1", 2, 1);
  w.add(w.of("r1", "research", 4).gate("later"));
  CHECK(w.revoke(0s).empty());
  CHECK(w.watch.quotas.size() == 2);
  CHECK(w.revoke(121s) == words{"p2", "p1"});
  w.queue("empty", 1, 1);
  CHECK(w.revoke(122s).empty());
  CHECK(w.watch.quotas.size() == 3);
  w.must(w.cluster.queues().remove(w.cluster.queues().find("empty").value()));
  CHECK(w.revoke(123s).empty());
  CHECK(w.watch.quotas.size() == 2);
}

namespace {

/// Asks the policy about whoever is popped.
struct asking {
  static constexpr std::string_view name = "Asking";
  using points = implements<point::admission>;
  elastic_quota_policy policy;
  std::shared_ptr<std::map<std::string, verdict>> said = std::make_shared<std::map<std::string, verdict>>();
  std::shared_ptr<std::vector<std::int64_t>> runtimes = std::make_shared<std::vector<std::int64_t>>();
  [[nodiscard]] status admit(const pod_info& pod, const cluster_view& cluster) const {
    (*said)[std::string{pod.name()}] = policy.check(pod, cluster);
    runtimes->clear();
    const auto& all = policy.quotas(cluster);
    for (queues::queue_index quota = 0; quota < all.tree().size(); ++quota)
      for (const auto& one : all.accounts(quota)) runtimes->push_back(one.runtime);
    return status::success();
  }
};

}  // namespace

TEST_CASE("admissions and runtime quotas are those of the arithmetic, fed pod by pod, in random clusters",
          "[engine][koordinator]") {
  using namespace queues::koordinator;
  std::size_t compared = 0, refused = 0, evictions = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    dice roll{seed};
    const quota_options chosen{.runtime = roll.percent(85),
                               .check_parents = roll.percent(50),
                               .scale_min = roll.percent(50),
                               .guarantee_usage = roll.percent(30)};
    asking probe{elastic_quota_policy{elastic_quota_policy::options{.quotas = chosen}}};
    queue_world w{profile{priority_sort{}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}, probe,
                          elastic_quota_policy{elastic_quota_policy::options{.quotas = chosen}}}};
    std::map<std::string, std::int64_t> nodes;
    const auto add_node = [&](const std::string& name) {
      nodes[name] = roll.between(4, 10);
      w.add(a_node{name}.cpu(nodes[name]).gpus(4));
    };
    for (int i = 0; i < 3; ++i) add_node("n" + std::to_string(i));
    // In the order of `each_queue`: parents first, siblings by name.
    const std::vector<std::pair<std::string, std::string>> tree{{"a", ""}, {"a1", "a"}, {"a2", "a"}, {"b", ""}};
    struct quota {
      std::int64_t min[2], max[2];
      bool lends;
    };
    std::map<std::string, quota> quotas;
    const auto spec_of = [&](const std::string& name, const std::string& parent) {
      quota& its = quotas[name];
      for (int r = 0; r < 2; ++r) its.min[r] = roll.between(0, 5), its.max[r] = its.min[r] + roll.between(0, 10);
      its.lends = roll.percent(70);
      queue_quota made;
      const char* const names[]{"cpu", "nvidia.com/gpu"};
      for (int r = 0; r < 2; ++r) {
        made.guaranteed[names[r]] = its.min[r], made.limit[names[r]] = its.max[r];
        if (!its.lends) made.lending_limit[names[r]] = 0;
      }
      return queue_spec{.name = name, .parent = parent, .quotas = {std::move(made)}};
    };
    for (const auto& [name, parent] : tree) w.queue(spec_of(name, parent));
    struct pod {
      std::string queue;
      std::int64_t asks[2];
      std::int32_t priority;
      bool fixed;
      pod_id id;
    };
    std::map<std::string, pod> pods;
    /// Cores in thousandths.
    const auto plain = [&] {
      std::vector<queues::queue_link> links;
      std::vector<quota_spec> specs;
      for (const auto& [name, parent] : tree) {
        const quota& its = quotas[name];
        links.push_back({name, parent});
        specs.push_back(
            {.min = {its.min[0] * 1000, its.min[1]}, .max = {its.max[0] * 1000, its.max[1]}, .lends = its.lends});
      }
      std::vector<std::int64_t> total(2);
      for (const auto& [name, cores] : nodes) total[0] += cores * 1000, total[1] += 4;
      auto made = elastic_quotas::make(queues::queue_tree::make(links).value(), specs, total, chosen).value();
      const std::vector<std::int64_t> any(2, std::numeric_limits<std::int64_t>::max());
      made.set_quota(made.default_quota(), {.max = any}).value();
      for (const auto& [name, one] : pods) {
        const queues::queue_index its = one.queue.empty() ? made.default_quota() : *made.tree().find(one.queue);
        const std::vector<std::int64_t> request{one.asks[0] * 1000, one.asks[1] == 0 ? queues::unnamed : one.asks[1]};
        made.add_pod(its, {request, !one.fixed}).value();
        if (w.cluster.node_of(one.id) != node_id{}) made.assign_pod(its, {request, !one.fixed}).value();
      }
      return made;
    };
    for (int step = 0; step < 50; ++step) {
      w.now += 60s;
      if (roll.percent(60)) {
        const std::string name = "p" + std::to_string(step);
        const char* const in[]{"", "a1", "a1", "a2", "b", "b", "a"};
        pod made{in[roll.below(7)],
                 {roll.between(1, 4), roll.between(0, 2)},
                 static_cast<std::int32_t>(roll.below(3)),
                 roll.percent(20),
                 {}};
        a_pod spec{name};
        spec.spec.queue = made.queue;
        spec.cpu(made.asks[0]).priority(made.priority);
        if (made.asks[1] > 0) spec.gpus(made.asks[1]);
        if (made.fixed) spec.label(preemptible, "false");
        made.id = w.add(spec);
        pods[name] = made;
      } else if (roll.percent(60) && !pods.empty()) {
        const auto gone = std::next(pods.begin(), static_cast<std::ptrdiff_t>(roll.below(pods.size())));
        w.remove(gone->second.id);
        pods.erase(gone);
      } else if (roll.percent(20)) {
        add_node("m" + std::to_string(step));
      } else {
        const auto& [name, parent] = tree[roll.below(tree.size())];
        w.update(spec_of(name, parent));
      }
      for (int cycles = 0; cycles < 100; ++cycles) {
        probe.said->clear();
        auto expected = plain();
        std::map<row_t, pod> wanted;  // pods that are nominated
        for (const auto& [name, one] : pods)
          if (w.cluster.nominated_node_of(one.id) != node_id{}) wanted.emplace(one.id.row, one);
        const gangsched::cycle done = w.scheduler.schedule_cycle(w.now);
        INFO("seed " << seed << " step " << step);
        REQUIRE(done.error() == nullptr);
        if (!done) break;
        for (const auto& [name, said] : *probe.said) {
          const pod& one = pods.at(name);
          if (one.queue.empty()) continue;
          const std::vector<std::int64_t> request{one.asks[0] * 1000, one.asks[1] == 0 ? queues::unnamed : one.asks[1]};
          auto with_promised = expected;  // what is kept for those who go first counts as used
          for (const auto& [number, other] : wanted) {
            if (number == one.id.row || (other.priority < one.priority && other.queue == one.queue)) continue;
            const auto& tree_of = with_promised.tree();
            const queues::queue_index its =
                other.queue.empty() ? with_promised.default_quota() : *tree_of.find(other.queue);
            const std::vector<std::int64_t> asks{other.asks[0] * 1000,
                                                 other.asks[1] == 0 ? queues::unnamed : other.asks[1]};
            with_promised.assign_pod(its, {asks}).value();
          }
          const verdict right = with_promised.admit(*expected.tree().find(one.queue), {request, !one.fixed}).value();
          ++compared;
          refused += right ? 0 : 1;
          REQUIRE(said.why == right.why);
          REQUIRE(said.quota == right.quota);
          REQUIRE(said.resources == right.resources);
          expected.refresh();
          std::vector<std::int64_t> runtimes;
          for (queues::queue_index quota = 0; quota < expected.tree().size(); ++quota)
            for (const auto& account : expected.accounts(quota)) runtimes.push_back(account.runtime);
          REQUIRE(*probe.runtimes == runtimes);
        }
        std::vector<std::string> victims;
        std::string preemptor;
        for (const decision& one : done) {
          const std::string name{w.cluster.name_of(one.pod)};
          if (one.kind == decision_kind::nominate) preemptor = name;
          if (one.kind == decision_kind::evict) victims.push_back(name);
          if (one.kind == decision_kind::bind) w.confirm(one.pod);
        }
        for (const std::string& name : victims) {
          ++evictions;
          const pod &victim = pods.at(name), &by = pods.at(preemptor);
          REQUIRE(victim.queue == by.queue);
          REQUIRE(victim.priority < by.priority);
          REQUIRE_FALSE(victim.fixed);
          w.remove(victim.id);
          pods.erase(name);
        }
      }
    }
    CHECK(w.scheduler.verify());
  }
  CHECK(compared > 800);
  CHECK(refused > 200);
  CHECK(evictions > 20);
}

}  // namespace gangsched::testing::elastic_quota_policy_test
