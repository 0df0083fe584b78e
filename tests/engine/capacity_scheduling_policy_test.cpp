// CapacityScheduling on the queues of a cluster: who may run, and who goes for whom.
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "queue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::capacity_scheduling_policy_test {

namespace {

using queues::capacity_scheduling::quota_check;

kernel_table with(capacity_scheduling_policy policy = {}) {
  return profile{priority_sort{},   scheduling_gates{}, node_resources_fit{},
                 gang_scheduling{}, device_fit{},       std::move(policy)};
}

/// Quotas of cores, one a namespace.
struct quota_world : queue_world {
  quota_world() : queue_world(with()) {}

  static queue_spec spec_of(const std::string& name, std::int64_t min, std::optional<std::int64_t> max = {}) {
    queue_quota quota;
    quota.guaranteed["cpu"] = min;
    if (max) quota.limit["cpu"] = *max, quota.limit["memory"] = std::int64_t{1} << 50;
    return {.name = name, .quotas = {std::move(quota)}, .namespaces = {name}};
  }
  void quota(const std::string& name, std::int64_t min, std::optional<std::int64_t> max = {}) {
    queue(spec_of(name, min, max));
  }
  pod_id ask(const std::string& name, const std::string& ns, std::int64_t cores, std::int32_t priority = 0,
             const char* on = "", std::int64_t start = 0) {
    a_pod one{name};
    one.ns(ns).cpu(cores).priority(priority);
    if (*on != 0) one.on(node(on)), one.spec.start_time = std::chrono::seconds{start};
    return ids[name] = add(one);
  }
  void gone(const std::string& name) {
    must(cluster.remove_pod(ids.at(name)));
    ids.erase(name);
  }
  std::map<std::string, pod_id> ids = {};
};

}  // namespace

TEST_CASE(
    "pods are refused above the max of their quota and above the sum of all mins, and tried again when a pod of any "
    "quota went",
    "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(64));
  w.quota("a", 4, 6);
  w.quota("b", 4);
  w.ask("b1", "b", 4, 5, "n");
  w.ask("a1", "a", 4);
  CHECK(w.run() == words{"bind a1 n"});
  w.ask("a2", "a", 3);  // over the max
  CHECK(w.run() == words{"reject a2"});
  w.ask("b2", "b", 1, 5);  // all mins are used
  CHECK(w.run_at(1s) == words{"reject b2"});
  w.gone("a1");
  CHECK(sorted(w.run_at(60s)) == words{"bind a2 n", "bind b2 n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("who borrowed gives back what others are guaranteed, the least important first and no more than it borrowed",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  w.quota("a", 4);
  w.quota("b", 4);
  w.ask("b1", "b", 2, 7, "n", 1);
  w.ask("b2", "b", 2, 5, "n", 1);
  w.ask("b3", "b", 2, 6, "n", 1);
  w.ask("b4", "b", 2, 6, "n", 2);
  w.ask("a1", "a", 3, -5);  // whatever its priority is
  CHECK(sorted(w.run()) == words{"evict b2 n", "evict b4 n", "nominate a1 n"});
  w.ask("a2", "a", 2, -5);  // with a1 it would be above its min, and nobody of its own is less important
  CHECK(w.run() == words{"reject a2"});
  w.ask("b5", "b", 1, 9);  // room is kept for a1
  w.must(w.cluster.set_terminating(w.ids["b2"], true));
  w.must(w.cluster.set_terminating(w.ids["b4"], true));
  w.run_at(1s);
  CHECK(w.cluster.nominated_node_of(w.ids["a1"]) == w.node("n"));
  w.gone("b2");
  w.gone("b4");
  const words said = w.run_at(60s);
  CHECK(std::ranges::count(said, "bind a1 n") == 1);
  CHECK(w.scheduler.verify());
}

TEST_CASE("above its min a quota takes from its own lower priorities only, where they are in the way of its max too",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(64));
  w.quota("a", 2, 4);
  w.quota("b", 20);
  w.ask("b1", "b", 19, -9, "n");
  w.ask("a1", "a", 2, 1, "n", 1);
  w.ask("a2", "a", 2, 1, "n", 2);
  w.ask("a3", "a", 2, 3);  // the node has room, the quota has none
  CHECK(sorted(w.run()) == words{"evict a1 n", "evict a2 n", "nominate a3 n"});  // the sum of mins is 22
  quota_world other;
  other.add(a_node{"n"}.cpu(64));
  other.quota("a", 2, 4);
  other.quota("b", 20);
  other.ask("a1", "a", 2, 1, "n", 1);
  other.ask("a2", "a", 2, 1, "n", 2);
  other.ask("a3", "a", 2, 3);
  CHECK(sorted(other.run()) == words{"evict a2 n", "nominate a3 n"});
}

TEST_CASE("pods without a quota take from each other by priority, and quotas have nothing to do with them",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(4));
  w.quota("a", 2);
  w.ask("a1", "a", 2, 100, "n");
  w.ask("free", "none", 2, 2, "n");
  w.ask("high", "none", 2, 9);
  CHECK(sorted(w.run()) == words{"evict free n", "nominate high n"});
  w.ask("higher", "none", 4, 99);
  CHECK(w.run() == words{"reject higher"});
  w.ask("a2", "a", 1, 99);  // above its min, and nobody of its own is less important
  w.gone("free");
  const words said = w.run_at(60s);
  CHECK(std::ranges::count(said, "bind high n") == 1);
  CHECK(count(said, "evict") == 0);
}

TEST_CASE("a pod for whom others went is not in its own way, and in that of others of its quota",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"m"}.cpu(4));
  w.quota("a", 4, 4);
  w.quota("b", 4);
  w.ask("b1", "b", 4, 6, "n");
  w.ask("b2", "b", 2, 5, "m");
  w.ask("a1", "a", 3);
  CHECK(sorted(w.run()) == words{"evict b2 m", "nominate a1 m"});
  w.ask("a2", "a", 2);  // with a1 it is more than its max
  CHECK(w.run_at(1s) == words{"reject a2"});
  w.gone("b2");
  CHECK(sorted(w.run_at(60s)) == words{"bind a1 m", "reject a2"});
  w.gone("b1");
  CHECK(w.run_at(120s) == words{"reject a2"});
  w.gone("a1");
  CHECK(w.run_at(180s).size() == 1);
  CHECK(w.cluster.node_of(w.ids["a2"]) != node_id{});
}

TEST_CASE("budgets are spared where others will do, and nodes are compared by who would go", "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"m"}.cpu(4));
  w.quota("a", 4);
  w.quota("b", 4);
  pod_disruption_budget_spec budget{.name = "keep", .ns = "b"};
  budget.selector.emplace().match_labels["app"] = "db";
  w.must(w.cluster.add_disruption_budget(budget));
  for (const char* name : {"b1", "b2"}) {
    a_pod one{name};
    one.ns("b").cpu(2).priority(1).label("app", "db").on(w.node("n"));
    w.ids[name] = w.add(one);
  }
  w.ask("b3", "b", 2, 8, "m");
  w.ask("b4", "b", 2, 9, "m");
  w.ask("a1", "a", 2);
  CHECK(sorted(w.run()) == words{"evict b3 m", "nominate a1 m"});
}

TEST_CASE("a gang takes back what its quota is guaranteed, and who goes as a whole goes as a whole",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"m"}.cpu(4));
  w.quota("a", 4);
  w.quota("b", 4);
  group_spec whole{.name = "whole", .queue = "b"};
  whole.policy = gang{.min_count = 2};
  whole.disruption = disruption_mode::all;
  const group_id group = w.add(whole);
  for (const char* on : {"n", "m"}) w.ids[on] = w.add(a_pod{std::string{"w-"} + on}.cpu(2).in(group).on(w.node(on)));
  w.ask("b1", "b", 2, 3, "n");
  w.ask("b2", "b", 2, 3, "m");
  group_spec mine{.name = "mine", .queue = "a"};
  mine.policy = gang{.min_count = 2};
  const group_id asks = w.add(mine);
  for (int i = 0; i < 2; ++i) w.add(a_pod{"g" + std::to_string(i)}.cpu(2).in(asks));
  const words said = sorted(w.run());
  CHECK(said == words{"evict w-m m", "evict w-n n", "nominate g0 n", "nominate g1 m"});
}

TEST_CASE("a single pod takes a whole group with it, and its surplus first where that is elastic",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(4));
  w.quota("a", 2);
  w.quota("b", 3);
  group_spec elastic{.name = "elastic", .queue = "b"};
  elastic.policy = gang{.min_count = 2};
  elastic.disruption = disruption_mode::surplus;
  const group_id group = w.add(elastic);
  for (int i = 0; i < 4; ++i) w.add(a_pod{"e" + std::to_string(i)}.cpu(1).in(group).on(w.node("n")));
  w.ask("a1", "a", 1);
  CHECK(sorted(w.run()) == words{"evict e3 n", "nominate a1 n"});
}

TEST_CASE("without queues pods take from each other by priority, and a queue without a quota has a min of nothing",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(2));
  w.ask("low", "any", 2, 1, "n");
  w.ask("high", "any", 1, 2);
  CHECK(sorted(w.run()) == words{"evict low n", "nominate high n"});
  quota_world none;
  none.add(a_node{"n"}.cpu(2));
  none.queue({.name = "none", .namespaces = {"none"}});
  none.ask("p", "none", 1);
  CHECK(none.run() == words{"reject p"});
  none.quota("other", 1);  // what all quotas may use is the sum of all mins
  CHECK(none.run_at(60s) == words{"bind p n"});
}

TEST_CASE("queues that are not there, are held, or have others below them admit nobody until that changes",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8));
  const auto in = [&](const char* name, const char* queue) {
    pod_spec spec = a_pod{name}.cpu(1);
    spec.queue = queue;
    return w.add(spec);
  };
  in("p", "late");
  CHECK(w.run() == words{"reject p"});
  w.quota("late", 4);
  CHECK(w.run_at(60s) == words{"bind p n"});
  queue_spec held = quota_world::spec_of("late", 4);
  held.state = queue_state::hold;
  w.update(held);
  in("q", "late");
  CHECK(w.run_at(61s) == words{"reject q"});
  w.update(quota_world::spec_of("late", 4));
  CHECK(w.run_at(120s) == words{"bind q n"});
  queue_spec below = quota_world::spec_of("below", 4);
  below.parent = "late";
  w.queue(below);
  in("r", "late");
  in("s", "below");
  CHECK(sorted(w.run_at(121s)) == words{"bind s n", "reject r"});
}

TEST_CASE("a resource that no quota has a min of is nobody's, and one that is named later is compared from then on",
          "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8).gpus(8));
  w.quota("a", 8);
  w.ids["p"] = w.add(a_pod{"p"}.ns("a").cpu(1).gpus(1));
  CHECK(w.run() == words{"reject p"});
  queue_spec with_gpus = quota_world::spec_of("a", 8);
  with_gpus.quotas[0].guaranteed["nvidia.com/gpu"] = 2;
  w.update(with_gpus);
  CHECK(w.run_at(60s) == words{"bind p n"});
  w.add(a_pod{"q"}.ns("a").cpu(1).gpus(2));
  CHECK(w.run_at(61s) == words{"reject q"});
}

TEST_CASE("ephemeral storage is compared like cpu and memory: what a min or max lacks is 0", "[engine][capacity]") {
  quota_world w;
  w.add(a_node{"n"}.cpu(8).resource("ephemeral-storage", 100));
  w.quota("a", 4);
  const auto ask = [&](const char* name, std::int64_t storage) {
    return w.add(a_pod{name}.ns("a").cpu(1).resource("ephemeral-storage", storage));
  };
  ask("p", 1);
  CHECK(w.run() == words{"reject p"});
  queue_spec with_storage = quota_world::spec_of("a", 4);
  with_storage.quotas[0].guaranteed["ephemeral-storage"] = 2;
  w.update(with_storage);
  CHECK(w.run_at(60s) == words{"bind p n"});
  const pod_id q = ask("q", 2);
  CHECK(w.run_at(61s) == words{"reject q"});
  w.remove(q);
  queue_spec limited = quota_world::spec_of("b", 4, 4);
  limited.quotas[0].guaranteed.clear();
  w.queue(limited);
  w.add(a_pod{"r"}.ns("b").cpu(1).resource("ephemeral-storage", 1));  // the mins have room, its max has none
  CHECK(w.run_at(62s) == words{"reject r"});
}

namespace {

/// What the rules say, counted from the pods one by one. Amounts of cores and GPUs.
struct plain {
  using amounts = std::array<std::int64_t, 2>;
  struct quota {
    amounts min{}, max{};
    bool limited = false;
  };
  struct pod {
    std::size_t quota;
    amounts asks{};
    std::int32_t priority = 0;
    bool on_node = false, nominated = false;
  };
  std::vector<quota> quotas;
  std::map<std::string, pod> pods;

  [[nodiscard]] amounts used(std::size_t of) const {
    amounts made{};
    for (const auto& [name, one] : pods)
      if (one.quota == of && one.on_node)
        for (std::size_t r = 0; r < 2; ++r) made[r] += one.asks[r];
    return made;
  }
  [[nodiscard]] bool over_min(std::size_t of, const amounts& uses) const {
    return uses[0] > quotas[of].min[0] || uses[1] > quotas[of].min[1];
  }
  [[nodiscard]] quota_check verdict(const std::string& who) const {
    const pod& asking = pods.at(who);
    amounts own = asking.asks, all = asking.asks, sum{}, min{};
    for (const auto& [name, one] : pods) {
      if (!one.nominated || name == who) continue;
      const bool same = one.quota == asking.quota;
      if (same ? one.priority < asking.priority : over_min(one.quota, used(one.quota))) continue;
      for (std::size_t r = 0; r < 2; ++r) {
        all[r] += one.asks[r];
        if (same) own[r] += one.asks[r];
      }
    }
    for (std::size_t q = 0; q < quotas.size(); ++q) {
      const amounts its = used(q);
      for (std::size_t r = 0; r < 2; ++r) sum[r] += its[r], min[r] += quotas[q].min[r];
    }
    const quota& mine = quotas[asking.quota];
    const amounts uses = used(asking.quota);
    if (mine.limited && (uses[0] + own[0] > mine.max[0] || (own[1] > 0 && uses[1] + own[1] > mine.max[1])))
      return quota_check::over_max;
    return sum[0] + all[0] > min[0] || sum[1] + all[1] > min[1] ? quota_check::over_min : quota_check::fits;
  }
};

/// Asks the policy about whoever is popped, in the profile of the policy itself.
struct asking {
  static constexpr std::string_view name = "Asking";
  using points = implements<point::admission>;
  capacity_scheduling_policy policy = {};
  std::shared_ptr<std::map<std::string, quota_check>> said = std::make_shared<std::map<std::string, quota_check>>();
  [[nodiscard]] status admit(const pod_info& pod, const cluster_view& cluster) const {
    (*said)[std::string{pod.name()}] = policy.check(pod, cluster).why;
    return status::success();
  }
};

}  // namespace

TEST_CASE("admissions are those of the plain rules, and who goes was borrowing or less important, in random clusters",
          "[engine][capacity]") {
  std::size_t compared = 0, refused = 0, evictions = 0, wrong = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    dice roll{seed};
    asking probe;
    queue_world w{profile{priority_sort{}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}, probe,
                          capacity_scheduling_policy{}}};
    plain rules;
    for (int i = 0; i < 3; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(8).gpus(4));
    const auto spec_of = [&](std::size_t q) {
      queue_spec spec{.name = "q" + std::to_string(q), .namespaces = {"q" + std::to_string(q)}};
      plain::quota& its = rules.quotas[q];
      its = {{roll.between(0, 9), roll.between(0, 5)}, {}, roll.percent(50)};
      queue_quota quota;
      quota.guaranteed["cpu"] = its.min[0], quota.guaranteed["nvidia.com/gpu"] = its.min[1];
      if (its.limited) {
        its.max = {its.min[0] + roll.between(0, 6), its.min[1] + roll.between(0, 3)};
        quota.limit["cpu"] = its.max[0], quota.limit["nvidia.com/gpu"] = its.max[1];
        quota.limit["memory"] = 1;
      }
      spec.quotas = {std::move(quota)};
      return spec;
    };
    for (std::size_t q = 0; q < 3; ++q) {
      rules.quotas.emplace_back();
      w.queue(spec_of(q));
    }
    std::map<std::string, pod_id> ids;
    const auto sync = [&] {
      for (auto& [name, one] : rules.pods) {
        one.on_node = w.cluster.node_of(ids[name]) != node_id{};
        one.nominated = w.cluster.nominated_node_of(ids[name]) != node_id{};
      }
    };
    for (int step = 0; step < 60; ++step) {
      w.now += 60s;
      if (roll.percent(55)) {
        const std::string name = "p" + std::to_string(step);
        plain::pod made{
            roll.below(3), {roll.between(0, 4), roll.between(0, 2)}, static_cast<std::int32_t>(roll.below(3))};
        a_pod spec{name};
        spec.ns("q" + std::to_string(made.quota)).priority(made.priority).cpu(made.asks[0]);
        if (made.asks[1] > 0) spec.gpus(made.asks[1]);
        rules.pods[name] = made;
        ids[name] = w.add(spec);
      } else if (roll.percent(60) && !rules.pods.empty()) {
        const auto gone = std::next(rules.pods.begin(), static_cast<std::ptrdiff_t>(roll.below(rules.pods.size())));
        w.remove(ids[gone->first]);
        rules.pods.erase(gone);
      } else {
        const std::size_t q = roll.below(3);
        w.update(spec_of(q));
      }
      for (int cycles = 0; cycles < 100; ++cycles) {
        sync();
        probe.said->clear();
        const gangsched::cycle done = w.scheduler.schedule_cycle(w.now);
        REQUIRE(done.error() == nullptr);
        if (!done) break;
        std::vector<std::string> victims;
        std::string preemptor;
        for (const decision& one : done) {
          const std::string name{w.cluster.name_of(one.pod)};
          if (one.kind == decision_kind::evict) victims.push_back(name);
          if (one.kind == decision_kind::nominate) preemptor = name;
          if (one.kind != decision_kind::bind) continue;
          wrong += rules.verdict(name) == quota_check::fits ? 0 : 1;
          w.confirm(one.pod);
        }
        for (const auto& [name, said] : *probe.said) {
          ++compared;
          refused += said == quota_check::fits ? 0 : 1;
          wrong += said == rules.verdict(name) ? 0 : 1;
        }
        // The least important go first; each finds its quota borrowing still, or is of the preemptor's and less important.
        evictions += victims.size();
        std::map<std::size_t, plain::amounts> uses;
        for (std::size_t q = 0; q < 3; ++q) uses[q] = rules.used(q);
        for (std::int32_t priority = 0; priority < 3; ++priority) {
          std::vector<std::string> here;
          for (const std::string& name : victims)
            if (rules.pods[name].priority == priority) here.push_back(name);
          for (auto one = here.rbegin(); one != here.rend(); ++one) {
            const plain::pod& victim = rules.pods[*one];
            const plain::pod& by = rules.pods[preemptor];
            if (victim.quota == by.quota ? victim.priority >= by.priority
                                         : !rules.over_min(victim.quota, uses[victim.quota]))
              ++wrong;
            for (std::size_t r = 0; r < 2; ++r) uses[victim.quota][r] -= victim.asks[r];
          }
        }
        for (const std::string& name : victims) {
          w.remove(ids[name]);
          rules.pods.erase(name);
        }
      }
      INFO("seed " << seed << " step " << step);
      REQUIRE(wrong == 0);
    }
    CHECK(w.scheduler.verify());
  }
  CHECK(compared > 3000);
  CHECK(refused > 300);
  CHECK(evictions > 100);
  UNSCOPED_INFO("compared " << compared << ", refused " << refused << ", evictions " << evictions);
  CHECK(wrong == 0);
}

}  // namespace gangsched::testing::capacity_scheduling_policy_test
