#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/admission_controller.hpp"
#include "queues/invariants.hpp"

// Admission fair sharing, and waiting for pods to be ready. Cases by number are those of Kueue's own tests.
namespace gangsched::testing::kueue_admission_test {

using namespace gangsched::queues;
using namespace gangsched::queues::kueue;
using namespace std::chrono_literals;

bool close(double a, double b) { return std::abs(a - b) < 1e-9; }

queue_spec cpu_queue(std::string name, std::int64_t cpu, preemption_rules rules = {}) {
  return {.name = std::move(name),
          .cohort = {},
          .groups = {{{"cpu", "gpu"}, {{"f", {{cpu}, {1'000}}}}}},
          .preemption = rules,
          .by_local_usage = true};
}

workload_spec needs(std::string name, std::string local, std::int64_t cpu, std::int32_t priority = 0,
                    instant created = 0s, std::int64_t gpu = 0) {
  return {.name = name,
          .uid = name,
          .queue = "q",
          .local_queue = std::move(local),
          .priority = priority,
          .created = created,
          .pod_sets = {{.requests = {{"cpu", cpu}, {"gpu", gpu}}}}};
}

struct world {
  admission_controller kueue;
  std::map<std::string, workload_id> ids = {};
  std::vector<pods_timeout> timeouts = {};  ///< of the last cycle

  explicit world(std::vector<queue_spec> queues, const admission_options& options = {})
      : kueue(configuration::make({.flavors = {{"f"}}, .queues = std::move(queues)}).value(), options) {}
  void add(const workload_spec& spec) { ids[spec.name] = kueue.add(spec).value(); }
  void runs(const workload_spec& spec) {
    std::vector<admitted_usage> usage;
    for (const auto& [resource, amount] : spec.pod_sets[0].requests) usage.push_back({"f", resource, amount});
    ids[spec.name] = kueue.add_admitted(spec, 0s, usage).value();
  }
  void weighs(std::string local, double weight, std::map<std::string, double> consumed = {}) {
    kueue.set_local_queue({std::move(local), "q", weight, std::move(consumed)}).value();
  }
  /// Who is admitted in a cycle, and who is asked to go.
  std::string cycle(instant now) {
    const std::span<const pods_timeout> late = kueue.advance(now);
    timeouts.assign(late.begin(), late.end());
    std::string text;
    const admission_cycle& made = kueue.cycle(now);
    for (const cycle_entry& entry : made.entries())
      if (entry.result == entry_result::admitted) text += (text.empty() ? "" : ", ") + kueue[entry.workload].name;
    for (const issued_preemption& one : made.preempted())
      text += (text.empty() ? "-" : ", -") + kueue[one.workload].name;
    return text;
  }
  [[nodiscard]] double consumed(const std::string& local, const std::string& resource) const {
    const local_usage& all = kueue.usage_of_local_queues();
    const queue_index queue = kueue.of().find_queue("q").value();
    return all.consumed(all.find(queue, local).value(), kueue.of().find_resource(resource));
  }
  workload_id operator[](const std::string& name) const { return ids.at(name); }
};

const admission_options hourly{.local_usage = {.half_life = 1h, .sampling_interval = 5min}};

TEST_CASE("K25: of 2 CPUs that are always in use 1, 1.5 and 1.75 are consumed after one, two and three half-lives") {
  world w{{cpu_queue("q", 100)}, hourly};
  w.runs(needs("r", "a", 2));
  w.cycle(0h);
  CHECK(w.consumed("a", "cpu") == 0);
  w.cycle(1h);
  CHECK(close(w.consumed("a", "cpu"), 1));
  w.cycle(2h);
  CHECK(close(w.consumed("a", "cpu"), 1.5));
  w.cycle(3h);
  CHECK(close(w.consumed("a", "cpu"), 1.75));
  w.kueue.remove(w["r"]).value();
  w.cycle(4h);
  CHECK(close(w.consumed("a", "cpu"), 0.875));
}

TEST_CASE("K24: the head is of the local queue that used less, whatever the priorities; within one priority decides") {
  world w{{cpu_queue("q", 100)}, hourly};
  w.weighs("a", 1, {{"cpu", 2}});
  w.weighs("b", 1, {{"cpu", 1}});
  w.add(needs("urgent", "a", 1, 9)), w.add(needs("late", "b", 1, 0, 2s)), w.add(needs("early", "b", 1, 0, 1s));
  CHECK(w.cycle(1s) == "early");
  CHECK(w.cycle(2s) == "late");
  CHECK(w.cycle(3s) == "urgent");
}

TEST_CASE("K24: resources count by their weights, and a local queue's usage by its own") {
  admission_options options = hourly;
  options.local_usage.resource_weights = {{"cpu", 0}};
  world w{{cpu_queue("q", 100)}, options};
  w.weighs("a", 1, {{"cpu", 1}, {"gpu", 10}});
  w.weighs("b", 1, {{"cpu", 1'000}, {"gpu", 1}});
  w.add(needs("of a", "a", 1)), w.add(needs("of b", "b", 1));
  CHECK(w.cycle(1s) == "of b");
  w.add(needs("again", "b", 1));
  w.weighs("a", 20);
  CHECK(w.cycle(2s) == "of a");
  w.add(needs("never first", "c", 1));
  w.weighs("c", 0);
  CHECK(w.cycle(3s) == "again");
  CHECK(w.cycle(4s) == "never first");
}

TEST_CASE("an admission counts at once, so that local queues alternate though no time passes") {
  world w{{cpu_queue("q", 100)}, hourly};
  for (const char* name : {"a1", "a2", "a3"}) w.add(needs(name, "a", 1, 5));
  for (const char* name : {"b1", "b2"}) w.add(needs(name, "b", 1));
  std::string order;
  for (int i = 0; i < 5; ++i) order += w.cycle(0s) + " ";
  CHECK(order == "a1 b1 a2 b2 a3 ");
  CHECK(close(w.consumed("a", "cpu"), 3 * (1 - std::pow(0.5, 5.0 / 60))));
}

TEST_CASE("what is admitted counts since the last sample, and all that it asked for counts for an interval more") {
  queue_spec queue = cpu_queue("q", 5);
  queue.groups[0] = {{"cpu", "pods"}, {{"f", {{5}, {100}}}}};
  world w{{queue}, hourly};
  w.weighs("a", 2);
  w.cycle(0min);
  workload_spec wide = needs("wide", "a", 1);
  wide.pod_sets = {{.count = 8, .min_count = 2, .requests = {{"cpu", 1}}}};
  w.add(wide);
  CHECK(w.cycle(4min) == "wide");  // with 5 pods
  const auto part = [](double minutes) { return 1 - std::pow(0.5, minutes / 60); };
  CHECK(close(w.consumed("a", "cpu"), 5 * part(4) + 8 * part(5)));
  CHECK(close(w.consumed("a", "pods"), 5 * part(4)));  // it asked for no "pods"
  // The time of one that has used nothing, and of which nothing else was said, begins with its first admission.
  w.add(needs("new", "b", 0)), w.add(needs("next", "b", 0, 0, 1s));
  CHECK(w.cycle(7min) == "new");
  CHECK(w.cycle(9min) == "next");
  CHECK(close(w.consumed("b", "pods"), 2 * part(2)));
}

TEST_CASE("pods that have finished use nothing, also if the workload was admitted with fewer pods than it asked for") {
  world w{{cpu_queue("q", 9)}};
  workload_spec wide = needs("wide", "a", 1);
  wide.pod_sets = {{.count = 4, .requests = {{"cpu", 1}}, .reclaimable = 2},
                   {.name = "aux", .count = 8, .min_count = 1, .requests = {{"cpu", 1}}}};
  w.add(wide);
  CHECK(w.cycle(1s) == "wide");  // 4 and 5 pods, of which 2 have finished
  w.add(needs("large", "a", 3, 1)), w.add(needs("small", "a", 2));
  CHECK(w.cycle(2s).empty());
  CHECK(w.cycle(3s) == "small");
  for (const char* name : {"wide", "small", "large"}) w.kueue.remove(w[name]).value();
  w.add(needs("all", "a", 9));
  CHECK(w.cycle(4s) == "all");
}

TEST_CASE(
    "local queues that nobody uses are forgotten once nothing is left of their past, unless something was said of "
    "them") {
  world w{{cpu_queue("q", 100)}, hourly};
  w.weighs("dear", 2);
  w.runs(needs("long", "runs", 2));
  w.add(needs("wide", "waits", 1'000));
  const local_usage& all = w.kueue.usage_of_local_queues();
  std::size_t most = 0;
  for (int hour = 0; hour < 500; ++hour) {
    const std::string name = "b" + std::to_string(hour);
    w.add(needs(name, name, 10));
    CHECK(w.cycle(std::chrono::hours{hour}).find(name) == 0);
    w.kueue.remove(w[name]).value();
    most = std::max(most, all.size());
  }
  CHECK(most <= 40);  // 30 half-lives of what one admission counts, and those three
  w.cycle(1'000h);
  const queue_index queue = w.kueue.of().find_queue("q").value();
  CHECK(all.size() == 3);
  CHECK_FALSE(all.find(queue, "b499"));
  CHECK((all.find(queue, "dear") && all.find(queue, "waits")));
  CHECK(close(w.consumed("runs", "cpu"), 2));
  w.weighs("dear", 1);
  w.kueue.remove(w["wide"]).value();  // it never used anything
  w.cycle(1'001h);
  CHECK(all.size() == 1);
  w.add(needs("again", "b499", 1)), w.add(needs("early", "runs", 1, 9));
  CHECK(w.cycle(1'002h) == "again");
}

TEST_CASE("shapes of workloads that have gone are forgotten, whether they were admitted, waited or were inadmissible") {
  world w{{cpu_queue("q", 0), cpu_queue("r", 100)}};
  for (int number = 0; number < 100; ++number) {
    const std::string name = "w" + std::to_string(number);
    workload_spec large = needs(name, "a", 1 + number);
    large.pod_sets[0].node_selector = {{"host", name}};
    w.add(large);
    CHECK(w.cycle(1s).empty());
    CHECK(w.kueue.waiting(w.kueue.of().find_queue("q").value(), false).size() == 1);
    workload_spec small = needs("s" + name, "a", 1);
    small.queue = "r";
    small.pod_sets[0].node_selector = {{"host", name}};
    w.add(small);
    CHECK(w.cycle(2s) == "s" + name);
    CHECK(w.kueue.shapes() == 2);
    for (const std::string& one : {name, "s" + name}) w.kueue.remove(w[one]).value();
    CHECK(w.kueue.shapes() == 0);
  }
  // It is remembered that there is no room as long as somebody has that shape.
  w.add(needs("one", "a", 1)), w.add(needs("two", "a", 1));
  w.cycle(3s);
  w.kueue.remove(w["one"]).value();
  w.add(needs("three", "a", 1));
  CHECK(w.kueue.waiting(w.kueue.of().find_queue("q").value(), false).size() == 2);
  CHECK(w.kueue.shapes() == 1);
}

TEST_CASE("of a queue those go first whose local queue used more, and who preempted stays its head") {
  world w{{cpu_queue("q", 2, {.within_queue = victim_policy::lower_priority})}, hourly};
  w.weighs("a", 1, {{"cpu", 5}});
  w.weighs("b", 1, {{"cpu", 1}});
  w.runs(needs("of a", "a", 1, 1)), w.runs(needs("of b", "b", 1, 0));
  w.add(needs("preempts", "b", 1, 9));
  CHECK(w.cycle(1s) == "-of a");
  w.add(needs("other", "c", 1, 9));
  w.kueue.evicted(w["of a"]).value();
  CHECK(w.cycle(2s) == "preempts");
}

TEST_CASE("a queue that does not go by usage has its heads by priority") {
  queue_spec plain = cpu_queue("q", 100);
  plain.by_local_usage = false;
  world w{{plain}, hourly};
  w.weighs("a", 1, {{"cpu", 2}});
  w.add(needs("of a", "a", 1, 1)), w.add(needs("of b", "b", 1, 0));
  CHECK(w.cycle(1s) == "of a");
  CHECK(w.kueue.set_local_queue({"x", "none"}).error().code == errc::unknown);
  CHECK(w.kueue.set_local_queue({"x", "q", std::nan("")}).error().code == errc::out_of_range);
  CHECK(w.kueue.set_local_queue({"x", "q", 1, {{"cpu", -1}}}).error().message() ==
        "local queue x: consumed cpu: has to be finite and at least 0");
}

TEST_CASE("whatever comes and goes, heads are those of the rules, counted anew each time") {
  std::size_t heads = 0, of_less_priority = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    dice random{seed};
    world w{{cpu_queue("q", 12)}, hourly};
    struct local {
      double weight = 1, consumed = 0;
      std::optional<instant> sampled = {};
      double held = 0;
    };
    std::map<std::string, local> locals;
    std::map<std::string, workload_spec> waiting, running;
    const auto decay = [](local& one, instant now) {
      const double part = 1 - std::pow(0.5, static_cast<double>((now - *one.sampled).count()) /
                                                static_cast<double>(instant{1h}.count()));
      one.consumed = one.consumed * (1 - part) + one.held * part;
      one.sampled = now;
    };
    instant now{};
    for (int step = 0; step < 80; ++step) {
      now += std::chrono::seconds{random.between(0, 200)};
      if (random.percent(45)) {
        workload_spec one =
            needs("w" + std::to_string(step), std::string(1, static_cast<char>('a' + random.below(3))),
                  random.between(1, 3), static_cast<std::int32_t>(random.below(3)), instant{random.between(0, 3)});
        w.add(one);
        locals[one.local_queue];
        waiting[one.name] = std::move(one);
        continue;
      }
      if (random.percent(20) && !running.empty()) {
        auto gone = running.begin();
        std::advance(gone, static_cast<std::ptrdiff_t>(random.below(running.size())));
        locals[gone->second.local_queue].held -= static_cast<double>(gone->second.pod_sets[0].requests.at("cpu"));
        w.kueue.remove(w[gone->first]).value();
        running.erase(gone);
        continue;
      }
      for (auto& [name, one] : locals) {
        if (one.consumed == 0 && one.held == 0) one.sampled.reset();
        if (one.sampled && now - *one.sampled >= 5min) decay(one, now);
      }
      std::vector<const workload_spec*> order;
      for (const auto& [name, one] : waiting) order.push_back(&one);
      std::sort(order.begin(), order.end(), [&](const workload_spec* a, const workload_spec* b) {
        const double of_a = locals[a->local_queue].consumed, of_b = locals[b->local_queue].consumed;
        if (of_a != of_b) return of_a < of_b;
        if (a->priority != b->priority) return a->priority > b->priority;
        return a->created != b->created ? a->created < b->created : a->uid < b->uid;
      });
      // Those of a shape that was tried in vain wait until something goes: the head is the first that is not so.
      std::erase_if(order, [&](const workload_spec* one) {
        const std::vector<row_t> parked = w.kueue.waiting(w.kueue.of().find_queue("q").value(), false);
        return std::find(parked.begin(), parked.end(), w[one->name].row) != parked.end();
      });
      const std::string admitted = w.cycle(now);
      if (order.empty()) continue;
      ++heads;
      if (std::any_of(order.begin(), order.end(),
                      [&](const workload_spec* one) { return one->priority > order[0]->priority; }))
        ++of_less_priority;
      if (admitted.empty()) continue;
      REQUIRE(admitted == order[0]->name);
      local& one = locals[order[0]->local_queue];
      const auto cpu = static_cast<double>(order[0]->pod_sets[0].requests.at("cpu"));
      if (!one.sampled) one.sampled = now;
      one.held += cpu;
      decay(one, now);
      one.consumed += cpu * (1 - std::pow(0.5, 5.0 / 60));
      running[admitted] = waiting[admitted];
      waiting.erase(admitted);
      REQUIRE(close(w.consumed(running[admitted].local_queue, "cpu"), one.consumed));
    }
  }
  CHECK(heads > 2'000);
  CHECK(of_less_priority > 500);
}

// --- Waiting for pods ---

admission_options waits_for_pods() {
  admission_options made;
  made.pods_ready.enabled = true;
  made.pods_ready.timeout = 5min;
  return made;
}

TEST_CASE(
    "pods that are not ready in time: the workload goes, and comes back after a backoff that doubles up to its "
    "maximum") {
  admission_options options = waits_for_pods();
  options.pods_ready.backoff_max = 200s;
  world w{{cpu_queue("q", 1)}, options};
  w.add(needs("slow", "a", 1));
  instant now{};
  for (const instant backoff : {instant{60s}, instant{120s}, instant{200s}, instant{200s}}) {
    CHECK(w.cycle(now) == "slow");
    CHECK(w.kueue.next_timeout() == now + 5min);
    w.cycle(now + 5min - 1s);
    CHECK(w.timeouts.empty());
    now += 5min;
    w.cycle(now);
    REQUIRE(w.timeouts.size() == 1);
    CHECK(w.timeouts[0].offered_again == now + backoff);
    CHECK_FALSE(w.timeouts[0].deactivated);
    CHECK(w.kueue[w["slow"].row].evicted);
    w.kueue.evicted(w["slow"]).value();
    CHECK(w.kueue.next_timeout() == now + backoff);
    CHECK(w.cycle(now + backoff - 1s).empty());
    now += backoff;
  }
}

TEST_CASE("after as many times as the limit says a workload is deactivated, until it is activated") {
  admission_options options = waits_for_pods();
  options.pods_ready.backoff_limit = 1;
  world w{{cpu_queue("q", 1)}, options};
  w.add(needs("slow", "a", 1));
  CHECK(w.kueue.activate(w["slow"]).error().message() == "workload slow: is not deactivated");
  w.cycle(0s), w.cycle(5min);
  w.kueue.evicted(w["slow"]).value();
  CHECK(w.cycle(6min) == "slow");
  w.cycle(11min);
  REQUIRE(w.timeouts.size() == 1);
  CHECK(w.timeouts[0].deactivated);
  CHECK(w.timeouts[0].times == 2);
  w.kueue.evicted(w["slow"]).value();
  CHECK(w.kueue.is_deactivated(w["slow"].row));
  CHECK_FALSE(w.kueue.next_timeout());
  CHECK(w.cycle(99h).empty());
  w.kueue.activate(w["slow"]).value();
  CHECK(w.cycle(99h) == "slow");
  w.cycle(100h);
  CHECK(w.timeouts[0].times == 1);
  w.kueue.remove(w["slow"]).value();
  CHECK_FALSE(w.kueue.next_timeout());
}

TEST_CASE("who was told to be deactivated may be activated before it has gone, and waits as soon as it has") {
  admission_options options = waits_for_pods();
  options.pods_ready.backoff_limit = 0;
  world w{{cpu_queue("q", 1)}, options};
  w.add(needs("slow", "a", 1));
  w.cycle(0s), w.cycle(5min);
  REQUIRE(w.timeouts.size() == 1);
  REQUIRE(w.timeouts[0].deactivated);
  w.kueue.activate(w["slow"]).value();
  CHECK_FALSE(w.kueue.activate(w["slow"]));
  CHECK(w.kueue[w["slow"].row].evicted);  // it goes all the same
  w.kueue.evicted(w["slow"]).value();
  CHECK_FALSE(w.kueue.is_deactivated(w["slow"].row));
  CHECK(w.cycle(5min) == "slow");
  w.cycle(10min);
  REQUIRE(w.timeouts.size() == 1);
  CHECK(w.timeouts[0].times == 1);
}

TEST_CASE("pods that are ready in time may be lost again, for as long as recovery takes at most") {
  admission_options options = waits_for_pods();
  for (const bool bounded : {true, false}) {
    options.pods_ready.recovery_timeout = bounded ? std::optional<instant>{1min} : std::nullopt;
    world w{{cpu_queue("q", 1)}, options};
    w.add(needs("one", "a", 1));
    w.cycle(0s);
    w.kueue.set_pods_ready(w["one"], true, 4min).value();
    CHECK_FALSE(w.kueue.next_timeout());
    w.kueue.set_pods_ready(w["one"], false, 10min).value();
    w.kueue.set_pods_ready(w["one"], true, 10min + 30s).value();
    w.kueue.set_pods_ready(w["one"], false, 20min).value();
    w.cycle(20min + 59s);
    CHECK(w.timeouts.empty());
    w.cycle(21min);
    CHECK(w.timeouts.size() == (bounded ? 1u : 0u));
  }
}

TEST_CASE("who was evicted for its pods stands in its queue as if it were new, or where it was") {
  for (const requeue_order order : {requeue_order::eviction, requeue_order::creation}) {
    admission_options options = waits_for_pods();
    options.pods_ready.requeued = order;
    world w{{cpu_queue("q", 1)}, options};
    w.add(needs("old", "a", 1, 0, 1s));
    w.cycle(2s);
    w.add(needs("young", "a", 1, 0, 3s));
    w.cycle(302s);
    w.kueue.evicted(w["old"]).value();
    CHECK(w.cycle(400s) == (order == requeue_order::eviction ? "young" : "old"));
    w.kueue.remove(w[order == requeue_order::eviction ? "young" : "old"]).value();
    CHECK(w.cycle(401s) == (order == requeue_order::eviction ? "old" : "young"));
    if (order == requeue_order::eviction) CHECK(w.kueue[w["old"].row].created == 1s);
  }
}

TEST_CASE("with block_admission one at a time starts, everybody else waits for its pods, and preemption goes on") {
  admission_options options = waits_for_pods();
  options.pods_ready.block_admission = true;
  queue_spec other = cpu_queue("p", 5);
  world w{{cpu_queue("q", 5, {.within_queue = victim_policy::lower_priority}), other}, options};
  w.add(needs("first", "a", 2, 0, 1s)), w.add(needs("second", "a", 2, 0, 2s));
  workload_spec elsewhere = needs("elsewhere", "a", 2, 0, 3s);
  elsewhere.queue = "p";
  w.add(elsewhere);
  CHECK(w.cycle(1s) == "first");
  const admission_cycle& blocked = w.kueue.cycle(2s);
  REQUIRE(blocked.entries().size() == 2);
  for (const cycle_entry& entry : blocked.entries()) {
    CHECK(entry.result == entry_result::skipped);
    CHECK(entry.reason == requeue_reason::pods_not_ready);
  }
  w.add(needs("urgent", "a", 4, 9));
  CHECK(w.cycle(3s) == "-first");
  w.kueue.evicted(w["first"]).value();
  CHECK(w.cycle(4s) == "urgent");
  CHECK(w.cycle(5s).empty());
  w.kueue.set_pods_ready(w["urgent"], true, 6s).value();
  CHECK(w.cycle(7s) == "elsewhere");
}

TEST_CASE("who is asked to go for another reason is not too late any more, and waits again at once") {
  world w{{cpu_queue("q", 1)}, waits_for_pods()};
  w.add(needs("one", "a", 1));
  CHECK(w.kueue.set_pods_ready(w["one"], true, 0s).error().code == errc::wrong_state);
  w.cycle(0s);
  w.kueue.mark_evicted(w["one"]).value();
  CHECK_FALSE(w.kueue.next_timeout());
  w.kueue.set_pods_ready(w["one"], false, 1s).value();
  w.cycle(1h);
  CHECK(w.timeouts.empty());
  w.kueue.evicted(w["one"]).value();
  CHECK(w.cycle(2h) == "one");
}

}  // namespace gangsched::testing::kueue_admission_test
