// The host's loop ends whatever plugins, options and hosts do, and nobody waits longer than the options say (docs/architecture.md, "Why
// the loop ends").
#include "world.hpp"

#include "gangsched/engine/queue.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::liveness_test {

namespace {

using places = std::vector<std::size_t>;

/// Rejects every pod, takes every change for a help, and nominates pods to one node and then another: each nomination that goes wakes the
/// others, whose nominations go, for ever.
struct restless {
  static constexpr std::string_view name = "Restless";
  using points = implements<point::filter, point::post_filter, point::requeue>;
  static constexpr events wakes_on = events::anything;

  [[nodiscard]] status filter(const pod_view&, node_view<reads::usage>) const { return status::unschedulable("never"); }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return hint::queue; }
  [[nodiscard]] victim_plan post_filter(trial& room, const pod_info&) const {
    victim_plan plan{.verdict = status::success()};
    const std::size_t next = ++*turns_ % 4;
    std::size_t at = 0;
    room.cluster().each_node([&](const node_info& node) {
      if (at++ == next) plan.nominated = node.id();
    });
    return plan;
  }

 private:
  std::shared_ptr<std::size_t> turns_ = std::make_shared<std::size_t>(0);
};

kernel_table with_restless() { return profile{priority_sort{}, restless{}}; }

/// Cycles until the loop ends; stops at @p most.
int cycles(world& w, int most) {
  for (int done = 0; done < most; ++done) {
    if (!w.scheduler.schedule_cycle(w.now)) return done;
  }
  return most;
}

/// A cluster with too little room, in which everything happens that an engine can undo.
class crowded {
 public:
  explicit crowded(std::uint64_t seed) : roll_(seed), w_(table(roll_), options(roll_), bounds(roll_)) {
    for (int i = 0; i < 4; ++i) {
      w_.add(a_node{"n" + std::to_string(i)}.cpu(roll_.between(2, 6)).label("rack", "r" + std::to_string(i / 2)));
    }
  }

  void step() {
    const std::size_t what = roll_.below(12);
    const std::vector<pod_id> pods = w_.cluster.pods();
    if (what < 4 || pods.empty()) return add_pod({});
    if (what < 6) return add_group();
    const pod_id pod = pods[roll_.below(pods.size())];
    if (what == 6) return w_.remove(pod);
    if (what == 7) return static_cast<void>(w_.scheduler.fail(pod, "so there").error());
    if (what == 8) return static_cast<void>(w_.cluster.set_terminating(pod, roll_.percent(50)));
    if (what == 9) {
      const std::string name = "n" + std::to_string(roll_.below(4));
      return w_.must(w_.cluster.update_node(w_.node(name), a_node{name}.cpu(roll_.between(1, 6)).label("rack", "r0")));
    }
    if (what == 10) {
      for (const pod_id one : pods) static_cast<void>(w_.scheduler.confirm(one).has_value());
      return;
    }
    w_.now += roll_.percent(50) ? instant{1} : instant{std::chrono::milliseconds{roll_.between(0, 20000)}};
  }

  /// The loop between two doings of the host; what the proof says of its length.
  void settle() {
    const std::size_t most =
        engine::most_tries * (w_.cluster.pods().size() + groups_) + w_.cluster.pods().size() + groups_ + 1;
    std::size_t done = 0;
    while (w_.scheduler.schedule_cycle(w_.now)) REQUIRE(++done <= most);
    static_cast<void>(w_.scheduler.permit(w_.now));
    const std::optional<instant> next = w_.scheduler.next_deadline();
    if (next && options_by_now_) REQUIRE(*next > w_.now);
  }

 private:
  scheduler_options options(dice& roll) {
    scheduler_options made{.seed = roll.next()};
    made.wake = static_cast<wake_rule>(roll.below(3));
    made.holds = static_cast<hold_rule>(roll.below(2));
    made.timers = roll.percent(15) ? timer_rule::by_host : timer_rule::by_now;
    options_by_now_ = made.timers == timer_rule::by_now;
    const instant odd[] = {instant{0}, instant{1}, instant{-1}, instant::min(), 10s, instant::max()};
    if (roll.percent(40)) made.initial_backoff = odd[roll.below(6)];
    if (roll.percent(40)) made.max_backoff = odd[roll.below(6)];
    if (roll.percent(40)) made.unschedulable_timeout = odd[roll.below(6)];
    if (roll.percent(40)) made.backoff_window = roll.percent(50) ? 1s : odd[roll.below(5)];
    return made;
  }
  static kernel_table table(dice& roll) {
    kernel_table made = profiles::kube_default();
    if (roll.percent(20)) add_plugin(made, lower(restless{}));
    return made;
  }
  static cluster_options bounds(dice& roll) {
    return {.log_bound = roll.percent(30) ? std::size_t{4} : std::size_t{1} << 16,
            .semantics = kube_semantics{static_cast<kube_release>(roll.below(3))}};
  }
  void add_pod(group_id group) {
    a_pod pod{"p" + std::to_string(made_++)};
    pod.cpu(roll_.between(1, 4)).priority(static_cast<std::int32_t>(10 * roll_.below(5)));
    if (group) pod.in(group);
    static_cast<void>(w_.cluster.add_pod(pod).has_value());
  }
  void add_group() {
    a_gang gang{"g" + std::to_string(made_++), static_cast<std::int32_t>(roll_.between(1, 3))};
    if (roll_.percent(40)) gang.permit().timeout(std::chrono::milliseconds{roll_.between(1, 9000)});
    if (roll_.percent(30)) gang.atomic();
    if (roll_.percent(30)) gang.priority(static_cast<std::int32_t>(10 * roll_.below(5)));
    if (roll_.percent(20)) gang.topology("rack");
    if (roll_.percent(40))
      std::get<gangsched::gang>(gang.spec.policy).stale_after = instant{roll_.percent(50) ? 0 : 1'000'000'000};
    const result<group_id> made = w_.cluster.add_group(gang);
    if (!made) return;
    ++groups_;
    for (std::int64_t i = roll_.between(1, 4); i > 0; --i) add_pod(*made);
  }

  dice roll_;
  bool options_by_now_ = true;
  world w_;
  std::size_t groups_ = 0;
  int made_ = 0;
};

}  // namespace

TEST_CASE("the loop ends after as many cycles as the proof says, in worlds full of what undoes itself",
          "[engine][liveness]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    crowded world{seed};
    for (int i = 0; i < 60; ++i) {
      world.step();
      if (i % 2 == 0) world.settle();
    }
  }
}

TEST_CASE("pods that wake one another for ever are tried a bounded number of times at one instant",
          "[engine][liveness]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::all, wake_rule::hints}) {
    world w{with_restless(), {.wake = rule}};
    for (const char* node : {"a", "b", "c", "d"}) w.add(a_node{node});
    for (const char* pod : {"p", "q", "r"}) w.add(a_pod{pod});
    const int most = static_cast<int>(engine::most_tries);
    CHECK(cycles(w, 1000) == 3);  // nobody had a nomination to lose
    w.must(w.cluster.update_node(w.node("a"), a_node{"a"}.cpu(2)));
    const int tried = cycles(w, 1000);
    // (Of equals the oldest comes first each time: with one at a time the third is not reached as often.)
    CHECK(tried > (rule == wake_rule::one_per_class ? most : 2 * most));
    CHECK(tried <= 3 * most);
    CHECK(cycles(w, 1000) == 0);
    // Who is woken once more waits for its backoff, and the host is told; the others wait for a change.
    REQUIRE(w.scheduler.next_deadline());
    CHECK(*w.scheduler.next_deadline() > w.now);
    const places where = w.counts();
    CHECK(where[0] == 0);
    CHECK(where[1] >= 1);
    CHECK(where[1] + where[2] == 3);
    // Whatever the host does makes a new beginning.
    w.add(a_pod{"s"});
    const int more = cycles(w, 1000);
    CHECK((more > 0 && more <= 4 * most));
  }
}

TEST_CASE("without backoff a pod that fails is tried as soon as time moves, and not before", "[engine][liveness]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::all, wake_rule::hints}) {
    for (const instant none : {instant{0}, instant{-5}}) {
      world w{profiles::kube_default(), {.max_backoff = none, .wake = rule}};
      w.add(a_node{"n"}.cpu(4));
      const pod_id pod = w.add(a_pod{"p"}.cpu(1));
      REQUIRE(w.run() == words{"bind p n"});
      w.fail(pod);
      CHECK(w.run().empty());
      CHECK(w.counts() == places{0, 1, 0, 0, 0});
      CHECK(w.scheduler.next_deadline() == w.now + 1ns);
      CHECK(w.run_at(w.now + 1ns) == words{"bind p n"});
    }
  }
}

TEST_CASE("without backoff a rejected pod is tried again at the change that helps", "[engine][liveness]") {
  world w{profiles::kube_default(), {.max_backoff = 0s}};
  w.add(a_node{"n"}.cpu(1));
  w.add(a_pod{"p"}.cpu(2));
  CHECK(w.run() == words{"reject p"});
  w.add(a_node{"m"}.cpu(2));
  CHECK(w.run() == words{"bind p m"});
}

TEST_CASE("a first backoff of nothing doubles to nothing, and is still not the same instant", "[engine][liveness]") {
  world w{profiles::kube_default(), {.initial_backoff = 0s}};
  w.add(a_node{"n"});
  const pod_id pod = w.add(a_pod{"p"});
  for (int i = 0; i < 3; ++i) {
    REQUIRE(w.run() == words{"bind p n"});
    w.fail(pod);
    CHECK(w.run().empty());
    w.now += 1ns;
  }
}

TEST_CASE("a gang that may not be stale at all is evicted at once, and again while it runs on, a second apart",
          "[engine][liveness]") {
  world w;
  w.add(a_node{"n"}.cpu(2));
  group_spec spec = a_gang{"gang", 2};
  std::get<gang>(spec.policy).stale_after = instant{0};
  const group_id gang = w.add(spec);
  for (const char* name : {"a", "b"}) w.add(a_pod{name}.cpu(1).in(gang));
  w.run(true);
  w.remove(w.pod("b"));
  CHECK(w.run() == words{"evict a n"});
  CHECK(w.run().empty());
  CHECK(w.scheduler.next_deadline() == instant{1s});
  CHECK(w.run_at(999ms).empty());
  CHECK(w.run_at(1s) == words{"evict a n"});
  CHECK(w.run().empty());
}

TEST_CASE("a hopeless gang is tried again when something changes that could help, or after five minutes",
          "[engine][liveness]") {
  for (const gang_mode mode : {gang_mode::group_cycle, gang_mode::permit}) {
    world w;
    w.add(a_node{"n"}.cpu(2));
    a_gang spec{"gang", 2};
    if (mode == gang_mode::permit) spec.permit();
    const group_id gang = w.add(spec);
    for (const char* name : {"a", "b"}) w.add(a_pod{name}.cpu(8).in(gang));
    int tried = 0;
    const auto count = [&](const words& said) {
      tried += static_cast<int>(std::count(said.begin(), said.end(), "reject a"));
    };
    count(w.run());
    while (const std::optional<instant> next = w.scheduler.next_deadline()) {
      if (*next > 600s) break;
      count(w.run_at(*next));
    }
    CHECK(tried == 2);  // at 0 and after five minutes
    w.now = 600s;
    w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(3)));  // too small still
    CHECK(w.run().empty());
    w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(16)));
    CHECK(w.run().size() >= 2);
    static_cast<void>(w.scheduler.permit(w.now));
    CHECK(w.cluster.state_of(w.pod("b")) == pod_state::assumed);
  }
}

TEST_CASE("a gang beside another is tried again when that one has a member elsewhere", "[engine][liveness]") {
  world w;
  for (const char* name : {"a0", "b0", "b1"}) w.add(a_node{name}.cpu(1).label("rack", std::string{name, 1}));
  const group_id first = w.add(a_gang{"first", 1});
  w.add(a_pod{"there"}.cpu(1).in(first).on(w.node("a0")));
  group_spec spec = a_gang{"beside", 1};
  spec.affinity.push_back({first, "rack"});
  w.add(a_pod{"late"}.cpu(1).in(w.add(spec)));
  CHECK(w.run() == words{"reject late"});
  w.now = 10s;
  w.add(a_pod{"more"}.cpu(1).in(first).on(w.node("b1")));  // whose node is full now
  CHECK(w.run() == words{"bind late b0"});
}

TEST_CASE("clocks may begin before their epoch, and near the end of time nothing overflows", "[engine][liveness]") {
  SECTION("a negative first time") {
    world w;
    w.add(a_node{"n"}.cpu(1));
    w.add(a_pod{"p"}.cpu(1));
    w.add(a_pod{"q"}.cpu(2));
    w.now = -100s;
    CHECK(w.run() == words{"bind p n", "reject q"});
    CHECK(w.scheduler.next_deadline() == w.now + 5min + 1ns);
    const cycle back = w.scheduler.schedule_cycle(-101s);
    REQUIRE(back.error() != nullptr);
    CHECK(back.error()->code == errc::time_went_back);
  }
  SECTION("who was there before any time was told comes before those that came later") {
    world w{profiles::kube_default(), world::lowest_first()};
    w.add(a_node{"n"}.cpu(1));
    scheduler late{w.cluster, profiles::kube_default()};
    const pod_id old = w.add(a_pod{"old"}.cpu(1));
    scheduler later{w.cluster, profiles::kube_default()};
    w.add(a_pod{"new"}.cpu(1));
    const cycle first = later.schedule_cycle(-1h);
    REQUIRE(first.decisions().size() == 1);
    CHECK(first.decisions()[0].pod == old);
  }
  for (const instant last : {instant::max(), instant::max() - 1ns, instant::max() - 1s, instant::max() - 4min}) {
    world w{profiles::kube_default(), {.backoff_window = last == instant::max() - 1s ? instant{1s} : instant{0}}};
    w.now = last;
    w.add(a_node{"n"}.cpu(2));
    const pod_id pod = w.add(a_pod{"p"}.cpu(1));
    w.add(a_pod{"big"}.cpu(8));
    const group_id gang = w.add(a_gang{"gang", 2}.permit());
    w.add(a_pod{"waits"}.cpu(1).in(gang));
    w.add(a_pod{"never"}.cpu(8).in(gang));
    CHECK(w.run().size() == 4);
    w.fail(pod);
    CHECK(w.run().empty());
    CHECK(w.permit().empty());
    const std::optional<instant> next = w.scheduler.next_deadline();
    if (next) CHECK(*next > w.now);
  }
}

TEST_CASE("who has to go at the end of time is told once, so that the host's loop ends", "[engine][liveness]") {
  SECTION("a reservation that is over") {
    world w;
    const node_id n = w.add(a_node{"n"}.cpu(1));
    pod_spec held = a_pod{"r"}.cpu(1);
    held.reservation = reservation_spec{.expires = instant::max() - 1s};
    held.node = n;
    w.add(held);
    w.now = instant::max() - 1s;
    CHECK(w.run() == words{"evict r n"});
    w.now = instant::max();
    CHECK(w.run() == words{"evict r n"});  // a second later, to a host that did not listen
    CHECK(w.run().empty());
  }
  SECTION("victims that had notice") {
    scheduler_options late = world::lowest_first();
    late.eviction_notice = 1h;
    world w{profiles::kube_default(), late};
    const node_id n = w.add(a_node{"n"}.cpu(1));
    pod_spec low = a_pod{"low"}.cpu(1);
    low.node = n;
    w.add(low);
    w.add(a_pod{"high"}.cpu(1).priority(10));
    w.now = instant::max();
    CHECK(w.run() == words{"nominate high n", "notice low n"});
    CHECK(w.run().empty());
  }
}

TEST_CASE("a pod that had a node before the scheduler was made stands in its queue when it fails",
          "[engine][liveness]") {
  world w;
  w.add(a_node{"n"}.cpu(2));
  w.add(a_pod{"first"}.cpu(1));
  const pod_id pod = w.add(a_pod{"p"}.cpu(1));
  w.must(w.cluster.assume(pod, w.node("n")));
  scheduler later{w.cluster, profiles::kube_default()};
  static_cast<void>(later.fail(pod, "no").error());
  const queue_standing stands = world::must(later.standing(pod));
  CHECK(stands.place == queue_place::error_backoff);
  CHECK(stands.errors == 1);
}

TEST_CASE("times below nothing count as nothing", "[engine][liveness]") {
  const scheduler_options below{
      .initial_backoff = -1s, .max_backoff = -1s, .backoff_window = -1s, .unschedulable_timeout = -1s};
  const scheduler_options nothing{
      .initial_backoff = 0s, .max_backoff = 0s, .backoff_window = 0s, .unschedulable_timeout = 0s};
  for (const scheduler_options& options : {below, nothing}) {
    world w{profiles::kube_default(), options};
    w.add(a_node{"n"}.cpu(1));
    w.add(a_pod{"big"}.cpu(8));
    CHECK(w.run() == words{"reject big"});
    CHECK(w.run().empty());
    CHECK(w.scheduler.next_deadline() == w.now + 1ns);
    CHECK(w.run_at(1ns) == words{"reject big"});
  }
}

TEST_CASE("what a cycle writes is no news to the next, though it be more than the log keeps", "[engine][loop]") {
  world w{profiles::kube_default(), world::lowest_first(), {.log_bound = 1}};
  w.add(a_node{"large"}.cpu(15).pods(3));
  const node_id small = w.add(a_node{"small"}.cpu(2));
  w.add(a_pod{"victim"}.cpu(4).on(small));
  const group_id gang = w.add(a_gang{"g", 4});
  const auto member = [&](const char* name, std::int64_t milli, std::int32_t priority) {
    w.add(a_pod{name}.cpu_milli(milli).priority(priority).in(gang));
  };
  member("a", 3000, 40), member("b", 250, 1), member("c", 2500, 1), member("d", 2000, 1), member("e", 1000, 10);
  int cycles = 0;
  while (cycles < 300 && w.scheduler.schedule_cycle(w.now)) ++cycles;
  CHECK(cycles < 100);
}

}  // namespace gangsched::testing::liveness_test
