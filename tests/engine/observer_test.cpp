// scheduler::observe and measure_hooks: what is told, and that it changes nothing.
#include "gangsched/scheduling/observer.hpp"

#include <map>
#include <stdexcept>

#include "gangsched/core/hash.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::observer_test {

namespace {

/// Writes down what it is told, and counts its clock up at every look.
struct notebook final : observer {
  words calls, steps;
  std::map<std::string, int> hooks;
  std::uint64_t time = 0;
  bool ordered = true;

  std::uint64_t now_ns() noexcept override { return ++time; }
  void hook_ran(const observed_hook& what) noexcept override {
    ++hooks[std::string{what.plugin} + "/" + std::string{what.extension_point}];
    ordered = ordered && what.measured && what.took.begin < what.took.end;
  }
  void called(const observed_call& what) override {
    calls.emplace_back(to_string(what.what));
    std::uint64_t last = what.took.begin;
    for (const observed_step& step : what.steps) {
      ordered = ordered && last < step.took.begin && step.took.begin < step.took.end;
      last = step.took.end;
      std::string text;
      switch (step.kind) {
        case step_kind::event: text = step.own ? "own event" : "event"; break;
        case step_kind::timer: text = "timer"; break;
        case step_kind::waits: text = "waits"; break;
        case step_kind::attempt: text = "attempt"; break;
        case step_kind::popped: text = "popped"; break;
        case step_kind::returned: text = "returned"; break;
        case step_kind::answer: text = "answer"; break;
      }
      (text += ' ') += step.event;
      constexpr const char* results[] = {"", " placed", " unschedulable", " preempts", " error", " bound"};
      text += results[static_cast<std::size_t>(step.result)];
      if (step.attempts != 0) text += " #" + std::to_string(step.attempts);
      if (step.from_backoff) text += " early";
      const auto came = [&](const char* where, std::uint32_t number) {
        if (number != 0) text += " " + std::string{where} + "+" + std::to_string(number);
      };
      came("active", step.to_active);
      came("backoff", step.to_backoff);
      came("unschedulable", step.to_unschedulable);
      came("gated", step.to_gated);
      if (step.preemptions != 0) text += " asked " + std::to_string(step.preemptions);
      if (step.victims != 0) text += " victims " + std::to_string(step.victims);
      if (!step.note.empty()) text += " \"" + std::string{step.note} + "\"";
      if (!step.decisions.empty()) text += " decided " + std::to_string(step.decisions.size());
      steps.push_back(std::move(text));
    }
    ordered = ordered && last < what.took.end;
  }
  words take() { return std::exchange(steps, {}); }
};

}  // namespace

TEST_CASE("an observer is told of the steps of each call, in Kubernetes' words", "[engine][observer]") {
  world w;
  notebook seen;
  REQUIRE(w.scheduler.observe(&seen));
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("a").cpu(1));
  w.add(a_pod("b").cpu(4));
  CHECK(w.cycle() == words{"bind a n1"});
  CHECK(seen.take() == words{"event NodeAdd", "event UnschedulablePodAdd active+1",
                             "event UnschedulablePodAdd active+1",
                             "attempt ScheduleAttemptFailure placed #1 decided 1"});
  REQUIRE(w.scheduler.confirm(w.pod("a")));
  CHECK(seen.take() == words{"own event AssignedPodAdd", "answer ScheduleAttemptFailure bound #1"});
  CHECK(w.cycle() == words{"reject b"});
  CHECK(seen.take() == words{"own event AssignedPodAdd",
                             "attempt ScheduleAttemptFailure unschedulable #1 unschedulable+1 asked 1 decided 1"});
  CHECK(w.cycle().empty());
  CHECK(seen.take().empty());
  w.add(a_node("n2").cpu(4));
  w.now += 500ms;
  CHECK(w.cycle() == words{"bind b n2"});  // nobody else is there
  CHECK(seen.take() == words{"event NodeAdd backoff+1", "attempt ScheduleAttemptFailure placed #2 early decided 1"});
  static_cast<void>(w.scheduler.fail(w.pod("b"), "no image"));
  CHECK(seen.take() ==
        words{"own event AssignedPodAdd", "answer ScheduleAttemptFailure error #2 backoff+1 \"no image\""});
  w.now += 10s;
  CHECK(w.cycle() == words{"bind b n2"});
  CHECK(seen.take() == words{"own event AssignedPodDelete", "timer BackoffComplete active+1",
                             "attempt ScheduleAttemptFailure placed #3 decided 1"});
  CHECK(seen.ordered);
  CHECK(seen.calls == words{"schedule_cycle", "confirm", "schedule_cycle", "schedule_cycle", "schedule_cycle", "fail",
                            "schedule_cycle"});
  REQUIRE(w.scheduler.explain(w.pod("b")));
  CHECK(seen.calls.size() == 7);  // a question is nothing that was done
  REQUIRE(w.scheduler.observe(nullptr));
  REQUIRE(w.scheduler.confirm(w.pod("b")));
  CHECK(seen.calls.size() == 7);
}

TEST_CASE("an observer is told of room that is made, of the permit room and of stays that were too long",
          "[engine][observer]") {
  world w;
  notebook seen;
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("low").cpu(2));
  CHECK(w.run(true) == words{"bind low n1"});
  REQUIRE(w.scheduler.observe(&seen));
  pod_spec high = a_pod("high").cpu(2);
  high.priority = 10;
  w.add(high);
  CHECK(w.cycle() == words{"nominate high n1", "evict low n1"});
  CHECK(seen.take().back() == "attempt ScheduleAttemptFailure preempts #1 unschedulable+1 asked 1 victims 1 decided 2");
  w.now += 6min;
  static_cast<void>(w.scheduler.schedule_cycle(w.now));
  const words steps = seen.take();
  CHECK(std::find(steps.begin(), steps.end(), "timer UnschedulableTimeout active+1") != steps.end());
}

TEST_CASE("a host that decides by itself is observed as well", "[engine][observer]") {
  world w;
  notebook seen;
  REQUIRE(w.scheduler.observe(&seen));
  w.add(a_pod("a").cpu(1));
  REQUIRE(w.scheduler.pop(w.now)->has_value());
  CHECK(seen.take() == words{"event UnschedulablePodAdd active+1", "popped ScheduleAttemptFailure #1"});
  w.add(a_node("n1").cpu(2));
  REQUIRE(w.scheduler.catch_up(w.now));
  CHECK(seen.take() == words{"event NodeAdd"});
  const pending_pods pending = w.scheduler.pending();
  CHECK(pending.in_flight == 1);
  REQUIRE(pending.in_flight_events.size() == 1);
  CHECK(pending.in_flight_events[0].event == "NodeAdd");
  REQUIRE(w.scheduler.add_unschedulable(w.pod("a"), {.unschedulable_plugins = {"NodeResourcesFit"}}, w.now));
  CHECK(seen.take().back().starts_with("returned ScheduleAttemptFailure unschedulable #1 "));
  REQUIRE(w.scheduler.activate(std::vector{w.pod("a")}, w.now));
  CHECK(seen.take() == words{"event ForceActivate active+1"});
  REQUIRE(w.scheduler.pop(w.now)->has_value());
  REQUIRE(w.scheduler.done(w.pod("a")));
  CHECK(seen.take().back() == "returned ScheduleAttemptFailure");
  CHECK(seen.calls == words{"pop", "catch_up", "add_unschedulable", "activate", "pop", "done"});
}

TEST_CASE("how many pods wait where, and whom which plugin rejected, is known in numbers", "[engine][observer]") {
  world w;
  w.add(a_node("n1").cpu(2));
  for (const char* name : {"a", "b", "c"}) w.add(a_pod(name).cpu(4));
  pod_spec gated = a_pod("gated");
  gated.scheduling_gates = {"later"};
  w.add(gated);
  w.run();
  w.add(a_pod("late").cpu(1));
  REQUIRE(w.scheduler.catch_up(w.now));
  const pending_pods pending = w.scheduler.pending();
  CHECK(pending.unschedulable == 3);
  CHECK(pending.gated == 1);
  CHECK(pending.active == 1);
  CHECK(pending.backoff + pending.in_flight + pending.kept_back == 0);
  REQUIRE(pending.by_plugin.size() == 1);
  CHECK(pending.by_plugin[0].plugin == "NodeResourcesFit");
  CHECK(pending.by_plugin[0].profile == "default-scheduler");
  CHECK(pending.by_plugin[0].pods == 3);
}

TEST_CASE("what an observer throws changes nothing, and it is told of the next call", "[engine][observer]") {
  struct thrower final : observer {
    int calls = 0;
    void called(const observed_call&) override {
      ++calls;
      throw std::runtime_error{"no room for notes"};
    }
  };
  world w;
  thrower bad;
  notebook good;
  observer_list both{&bad, nullptr, &good};
  REQUIRE(w.scheduler.observe(&both));
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("a").cpu(1));
  CHECK(w.run(true) == words{"bind a n1"});
  CHECK(w.cluster.state_of(w.pod("a")) == pod_state::bound);
  CHECK(bad.calls == 3);
  CHECK(good.calls == words{"schedule_cycle", "confirm", "schedule_cycle"});
  CHECK(good.ordered);  // its clock is the list's
  CHECK(w.scheduler.statistics().observer_errors == 3);
}

TEST_CASE("an observer may ask, and what would change anything is refused", "[engine][observer]") {
  struct meddler final : observer {
    world* w = nullptr;
    std::vector<errc> refused;
    std::string why;
    std::size_t active = 0;
    void called(const observed_call& what) override {
      refused.push_back(w->scheduler.schedule_cycle(w->now).error()->code);
      refused.push_back(w->scheduler.confirm(w->pod("a")).error().code);
      refused.push_back(w->scheduler.observe(nullptr).error().code);
      refused.push_back(w->cluster.add_pod(a_pod("more")).error().code);
      refused.push_back(w->cluster.remove_pod(w->pod("a")).error().code);
      why = what.why(w->pod("b"));
      active = what.counts.active;
    }
  };
  scheduler_options options = world::lowest_first();
  options.count_reasons = true;
  world w{profiles::kube_default(), options};
  meddler bad;
  bad.w = &w;
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("a").cpu(1));
  w.add(a_pod("b").cpu(8));
  CHECK(w.cycle() == words{"bind a n1"});
  REQUIRE(w.scheduler.observe(&bad));
  CHECK(w.cycle() == words{"reject b"});
  CHECK(bad.refused == std::vector<errc>(5, errc::busy));
  CHECK(bad.why.starts_with("0/1 nodes are available: 1 Insufficient cpu."));
  CHECK(bad.active == 0);
  REQUIRE(w.scheduler.confirm(w.pod("a")));
  CHECK(w.cluster.state_of(w.pod("a")) == pod_state::bound);
}

TEST_CASE("a profile that is measured tells of its hooks", "[engine][observer]") {
  notebook seen;
  world w{measure_hooks(profiles::kube_default(), seen)};
  w.add(a_node("n1").cpu(2));
  w.add(a_node("n2").cpu(2));
  w.add(a_pod("a").cpu(1));
  CHECK(w.run(true) == words{"bind a n1"});
  CHECK(seen.hooks["NodeResourcesFit/Filter"] > 0);
  CHECK(seen.hooks["NodeResourcesFit/Score"] > 0);
  CHECK(seen.hooks["TaintToleration/ScoreExtensionNormalize"] > 0);
  CHECK(seen.hooks["SchedulingGates/PreEnqueue"] > 0);
  CHECK(seen.hooks["DefaultPreemption/PostFilter"] == 0);
  w.add(a_pod("big").cpu(8));
  w.run();
  CHECK(seen.hooks["DefaultPreemption/PostFilter"] == 1);
  CHECK(seen.ordered);
}

namespace {

/// Hooks that only tell how pods share answers; each notes whether it was called with its own plugin.
struct noting {
  static constexpr int mark = 42;
  int own = mark;
  void note(const char* hook) const { heard()[hook] = own == mark; }
  static std::map<std::string, bool>& heard() {
    static std::map<std::string, bool> all;
    return all;
  }
};

using choosy = pod_part<pod_reads::node_affinity>;
using labelled = node_view<reads::labels>;
using counted = node_view<reads::labels | reads::pods>;

struct tells_labels : noting {
  static constexpr std::string_view name = "TellsLabels";
  using points = implements<point::filter, point::score>;
  [[nodiscard]] status filter(const choosy&, labelled) const { return status::success(); }
  [[nodiscard]] bool filter_label_keys(const choosy&, std::vector<symbol>&) const {
    note("filter_label_keys");
    return true;
  }
  [[nodiscard]] std::int64_t score(const choosy&, labelled) const { return 1; }
  [[nodiscard]] bool score_label_keys(const choosy&, std::vector<symbol>&) const {
    note("score_label_keys");
    return true;
  }
};

struct tells_words : noting {
  static constexpr std::string_view name = "TellsWords";
  using points = implements<point::filter, point::score>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, counted) const { return 0; }
  void filter_key_reads(const pod_view&, key_reads&) const { note("filter_key_reads"); }
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
  [[nodiscard]] std::int64_t score_key(const pod_view&, counted) const { return 0; }
  void score_key_reads(const pod_view&, key_reads&) const { note("score_key_reads"); }
  void finish_score(const pod_view&, std::span<scored_group>) const {}
};

}  // namespace

TEST_CASE("hooks that are not reported are called with their own plugin, too", "[engine][observer]") {
  notebook seen;
  noting::heard().clear();
  world w{measure_hooks(profile{priority_sort{}, tells_labels{}, tells_words{}}, seen)};
  for (int i = 0; i < 16; ++i) w.add(a_node("n" + std::to_string(i)).cpu(2));
  w.add(a_pod("a").cpu(1));
  CHECK(w.run().size() == 1);
  CHECK(noting::heard() == std::map<std::string, bool>{{"filter_key_reads", true},
                                                       {"filter_label_keys", true},
                                                       {"score_key_reads", true},
                                                       {"score_label_keys", true}});
}

namespace {

/// What a host lives through by these dice, as one number.
std::uint64_t life(std::uint64_t seed, bool hints, observer* watched) {
  dice roll{seed};
  scheduler_options options{.seed = seed};
  if (hints) options = with_kube_queue(options);
  cluster on;
  kernel_table profile = profiles::kube_default();
  if (watched != nullptr) profile = measure_hooks(std::move(profile), *watched);
  scheduler by{on, std::move(profile), options};
  if (watched != nullptr) REQUIRE(by.observe(watched));
  digest sum;
  std::vector<pod_id> pods;
  instant now{0};
  const auto live = [&](const cycle& done) {
    for (const decision& one : done) {
      for (const std::uint64_t word : {static_cast<std::uint64_t>(one.kind), std::uint64_t{one.pod.row},
                                       std::uint64_t{one.node.row}, static_cast<std::uint64_t>(one.score)})
        sum.add(word);
      if (one.kind == decision_kind::bind && roll.below(8) != 0) REQUIRE(by.confirm(one.pod));
      if (one.kind == decision_kind::evict && on.contains(one.pod)) REQUIRE(on.remove_pod(one.pod));
    }
  };
  for (int step = 0; step < 60; ++step) {
    const std::string number = std::to_string(step);
    switch (roll.below(7)) {
      case 0: {
        a_node node{"n" + number};
        static_cast<void>(
            on.add_node(node.cpu(1 + static_cast<std::int64_t>(roll.below(8))).zone(roll.below(2) == 0 ? "a" : "b")));
        break;
      }
      case 1: {
        const auto members = static_cast<std::int32_t>(2 + roll.below(3));
        const auto group = on.add_group({.name = "g" + number, .policy = gang{.min_count = members}});
        for (std::int32_t i = 0; i < members; ++i) {
          pod_spec member = a_pod("m" + number + "-" + std::to_string(i)).cpu(1);
          member.group = *group;
          pods.push_back(on.add_pod(member).value());
        }
        break;
      }
      case 2:
        if (!pods.empty() && on.contains(pods[roll.below(pods.size())]))
          static_cast<void>(on.remove_pod(pods[roll.below(pods.size())]));
        break;
      default: {
        pod_spec pod = a_pod("p" + number).cpu(1 + static_cast<std::int64_t>(roll.below(4)));
        pod.priority = static_cast<std::int32_t>(roll.below(3));
        pods.push_back(on.add_pod(pod).value());
      }
    }
    now += std::chrono::milliseconds{roll.below(3000)};
    for (bool more = true; more;) {
      const cycle done = by.schedule_cycle(now);
      live(done);
      more = static_cast<bool>(done);
    }
    live(by.permit(now));
    sum.add(on.digest());
  }
  return sum.value();
}

}  // namespace

TEST_CASE("random lives: an observer and hooks that are measured change no decision", "[engine][observer]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const bool hints : {false, true}) {
      INFO("seed " << seed << (hints ? ", hints" : ""));
      notebook seen;
      CHECK(life(seed, hints, nullptr) == life(seed, hints, &seen));
      CHECK(seen.ordered);
      CHECK_FALSE(seen.hooks.empty());
    }
  }
}

}  // namespace gangsched::testing::observer_test
