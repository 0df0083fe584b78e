// Hooks that throw: the exception becomes a contract error of the cycle that names the plugin, and everything is accounted for.
#include "reservation_pods.hpp"
#include "support/inside.hpp"

#include <new>
#include <stdexcept>

namespace gangsched::testing::throwing_hooks_test {

namespace {

using places = std::vector<std::size_t>;

/// Throws in the hook that the host says, while it says so.
struct switchboard {
  std::string where;
  std::string what = "the plug is out";
  void operator()(std::string_view hook) const {
    if (where == hook && what.empty()) throw 42;
    if (where == hook) throw std::runtime_error(what);
  }
};
using board = std::shared_ptr<switchboard>;

struct thrower {
  static constexpr std::string_view name = "Thrower";
  using points = implements<point::pre_enqueue, point::requeue, point::admission, point::pre_filter, point::filter,
                            point::post_filter, point::pre_score, point::score, point::reserve, point::permit,
                            point::pre_bind, point::bind, point::group_pre_filter, point::placement_feasible,
                            point::score_placement, point::group_preempt>;
  board at;
  node_column held;

  void attach(column_maker& columns) { held = columns.make_node_column(); }
  [[nodiscard]] status pre_enqueue(const pod_info&) const { return (*at)("pre_enqueue"), status::success(); }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return (*at)("requeue"), hint::skip; }
  [[nodiscard]] status admit(const pod_view&, const cluster_view&) const { return (*at)("admit"), status::success(); }
  [[nodiscard]] status admit(const group_view&, const cluster_view&) const { return (*at)("admit"), status::success(); }
  [[nodiscard]] status pre_filter(const pod_view&) const { return (*at)("pre_filter"), status::success(); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::usage>) const {
    return (*at)("filter"), status::success();
  }
  [[nodiscard]] victim_plan post_filter(trial&, const pod_info&) const { return (*at)("post_filter"), victim_plan{}; }
  [[nodiscard]] status pre_score(const pod_view&) const { return (*at)("pre_score"), status::success(); }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::usage>) const { return (*at)("score"), 1; }
  void normalize_score(const pod_view&, std::span<scored_group>) const { (*at)("normalize_score"); }
  status reserve(const new_reservation& r) { return r.add(held, 1), (*at)("reserve"), status::success(); }
  void unreserve(const reservation&) noexcept {}
  permit_verdict permit(const reservation&, permit_room&) { return (*at)("permit"), permit_verdict{}; }
  status pre_bind(const reservation&, decision&) { return (*at)("pre_bind"), status::success(); }
  status bind(const reservation&, decision&) { return (*at)("bind"), status::skip(); }
  [[nodiscard]] status group_pre_filter(const group_view&) const {
    return (*at)("group_pre_filter"), status::success();
  }
  [[nodiscard]] status placement_feasible(const group_view&, const group_progress&) const {
    return (*at)("placement_feasible"), status::success();
  }
  [[nodiscard]] std::int64_t score_placement(const group_view&, const placement_view&,
                                             std::span<const assignment>) const {
    return (*at)("score_placement"), 0;
  }
  [[nodiscard]] victim_plan group_preempt(trial&, const group_view&) const {
    return (*at)("group_preempt"), victim_plan{};
  }
};

/// Keyed by node, which is judged anew at each pick.
struct keyed_thrower {
  static constexpr std::string_view name = "Keyed";
  using points = implements<point::filter>;
  board at;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::usage>) const {
    return (*at)("filter_key"), 0;
  }
  void finish_filter(const pod_view&, const cluster_view&, std::span<filtered_group>) const { (*at)("finish_filter"); }
};

/// Throws once when it is armed, asked about a pod of one core.
struct throws_once {
  static constexpr std::string_view name = "ThrowsOnce";
  using points = implements<point::filter>;
  std::shared_ptr<int> times;
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::usage>) const {
    if (pod.request(kinds::cpu) == 1000 && *times > 0 && --*times == 0) throw std::runtime_error("once");
    return status::success();
  }
};

/// Whose note of a class cannot be made.
struct noteless {
  static constexpr std::string_view name = "Noteless";
  using points = implements<point::pre_filter, point::filter>;
  static inline bool throws = false;
  struct data {
    data() {
      if (throws) throw std::runtime_error("no note");
    }
  };
  [[nodiscard]] status pre_filter(const pod_view&, data&) const { return status::success(); }
  [[nodiscard]] status filter(const pod_view&, const data&, node_view<reads::schedulable> node) const {
    return node.unschedulable() ? status::unschedulable("no") : status::success();
  }
};

struct fixture : world {
  board at;
  explicit fixture(const board& with)
      : world(profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, topology_placement{}, thrower{with, {}},
                      keyed_thrower{with}}),
        at(with) {
    for (const char* name : {"n", "m"}) add(a_node{name}.cpu(2).label("rack", name));
  }
  fixture() : fixture(std::make_shared<switchboard>()) {}

  /// One cycle, which has to end in an error of the plugin.
  words broken(std::string_view plugin) {
    const gangsched::cycle done = scheduler.schedule_cycle(now);
    CHECK(static_cast<bool>(done));
    REQUIRE(done.error() != nullptr);
    CHECK(done.error()->code == errc::contract);
    INFO(done.error()->message());
    CHECK(done.error()->reason.find(plugin) != std::string::npos);
    return said(done.decisions());
  }
  /// Nobody holds anything.
  void check_books() {
    for (const node_id node : cluster.nodes()) {
      CHECK(cluster.requested(node, "cpu") == 0);
      CHECK(inside(cluster).columns.at(0, node.row) == 0);
    }
    CHECK(cluster.assumed().empty());
    CHECK_FALSE(inside(cluster).in_hook);
    CHECK_FALSE(inside(cluster).undo.recording());
  }
};

}  // namespace

TEST_CASE("a hook that throws ends its pod's cycle in a contract error, and the pod is tried again with error backoff",
          "[engine][hooks]") {
  for (const char* where : {"admit", "pre_filter", "filter", "pre_score", "score", "normalize_score", "filter_key",
                            "finish_filter", "reserve", "permit", "pre_bind", "bind"}) {
    for (const char* what : {"the plug is out", ""}) {
      INFO(where);
      fixture w;
      w.at->where = where, w.at->what = what;
      w.add(a_pod{"p"}.cpu(1));
      CHECK(w.broken(std::string_view{where}.starts_with("fi") && std::string_view{where} != "filter"
                         ? "Keyed"
                         : "Thrower") == words{std::string_view{where}.ends_with("bind") ? "reject p n" : "reject p"});
      w.check_books();
      CHECK(w.counts() == places{0, 1, 0, 0, 0});
      const queue_standing stands = world::must(w.scheduler.standing(w.pod("p")));
      CHECK(stands.errors == 1);
      CHECK(w.scheduler.next_deadline() == instant{1s});
      CHECK(w.run().empty());
      w.at->where.clear();
      w.must(w.scheduler.forget_cached());  // a class-level verdict is kept, and hooks are pure
      CHECK(w.run_at(1s).size() == 1);
      CHECK(w.cluster.assumed().size() == 1);
      CHECK(w.scheduler.verify());
    }
  }
}

TEST_CASE("a hook that throws ends its gang's cycle, and nothing of the gang is left", "[engine][hooks]") {
  for (const char* where : {"admit", "pre_filter", "filter", "score", "normalize_score", "finish_filter", "reserve",
                            "group_pre_filter", "placement_feasible", "score_placement"}) {
    INFO(where);
    fixture w;
    w.at->where = where;
    const group_id gang = w.add(a_gang{"gang", 2}.topology("rack"));
    w.add(a_pod{"a"}.cpu(1).in(gang));
    w.add(a_pod{"b"}.cpu(1).in(gang));
    CHECK(w.broken(std::string_view{where} == "finish_filter" ? "Keyed" : "Thrower") == words{"reject a", "reject b"});
    w.check_books();
    CHECK(w.counts() == places{0, 1, 0, 0, 0});
    w.at->where.clear();
    w.must(w.scheduler.forget_cached());
    CHECK(w.run_at(1s).size() == 2);
    CHECK(w.cluster.assumed().size() == 2);
    CHECK(w.scheduler.verify());
  }
}

TEST_CASE("a hook that throws while it looks for room evicts nobody", "[engine][hooks]") {
  SECTION("for a pod") {
    fixture w;
    w.at->where = "post_filter";
    w.add(a_pod{"p"}.cpu(8));
    CHECK(w.broken("Thrower") == words{"reject p"});
    CHECK(w.counts() == places{0, 1, 0, 0, 0});
    w.check_books();
  }
  SECTION("for a gang") {
    fixture w;
    w.at->where = "group_preempt";
    w.add(a_pod{"p"}.cpu(8).in(w.add(a_gang{"gang", 1})));
    CHECK(w.broken("Thrower") == words{"reject p"});
    CHECK(w.counts() == places{0, 1, 0, 0, 0});
    w.check_books();
  }
}

TEST_CASE("a pre_enqueue hook that throws keeps its pod gated, a requeue hook that throws wakes it",
          "[engine][hooks]") {
  SECTION("pre_enqueue") {
    fixture w;
    w.at->where = "pre_enqueue";
    w.add(a_pod{"p"}.cpu(1));
    CHECK(w.run().empty());
    CHECK(w.counts() == places{0, 0, 0, 1, 0});
    w.at->where.clear();
    w.must(w.cluster.update_pod(w.pod("p"), a_pod{"p"}.cpu(1).label("now", "yes")));
    CHECK(w.run().size() == 1);
  }
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::hints}) {
    const board at = std::make_shared<switchboard>();
    world w{profile{priority_sort{}, node_resources_fit{}, thrower{at, {}}}, {.wake = rule}};
    w.add(a_pod{"p"}.cpu(1));
    w.add(a_node{"n"}.cpu(0));
    CHECK(w.run() == words{"reject p"});
    at->where = "requeue";
    w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(1)));
    CHECK(w.run() == words{"bind p n"});
  }
}

TEST_CASE("a question that comes upon a hook that throws is an error, and the next decision is what it would have been",
          "[engine][hooks]") {
  fixture w, silent;
  for (fixture* one : {&w, &silent}) {
    one->add(a_pod{"p"}.cpu(8));
    const group_id gang = one->add(a_gang{"gang", 3});
    for (const char* name : {"q", "r", "s"}) one->add(a_pod{name}.cpu(2).in(gang));
    CHECK(one->run().size() == 4);
  }
  w.at->where = "finish_filter";
  const std::uint64_t digest = inside(w.cluster).digest_with_derived();
  const auto why = w.scheduler.explain(w.pod("p"));
  REQUIRE_FALSE(why);
  CHECK(why.error().code == errc::contract);
  CHECK(why.error().reason.find("Keyed") != std::string::npos);
  CHECK_FALSE(w.scheduler.explain(w.cluster.find_group("default", "gang").value()));
  CHECK_FALSE(w.scheduler.plan_moves(w.cluster.find_group("default", "gang").value()));
  CHECK(inside(w.cluster).digest_with_derived() == digest);
  CHECK_FALSE(inside(w.cluster).in_hook);
  w.at->where.clear();
  for (fixture* one : {&w, &silent}) one->add(a_pod{"t"}.cpu(1));
  CHECK(w.run() == silent.run());
}

TEST_CASE(
    "what a filter could not say while a gang's room was counted is asked again, and said by the member's own attempt",
    "[engine][hooks]") {
  const auto times = std::make_shared<int>(0);
  world w{profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, topology_placement{}, throws_once{times}}};
  for (const char* node : {"n", "m"}) w.add(a_node{node}.cpu(2).label("rack", node));
  const group_id group = w.add(a_gang{"g", 2}.topology("rack"));
  const pod_id large = w.add(a_pod{"large"}.cpu(9).priority(1).in(group));
  w.add(a_pod{"small"}.cpu(1).in(group));
  *times = 1;
  CHECK(w.run() == words{"reject large", "reject small"});
  CHECK(*times == 0);
  CHECK(w.scheduler.verify());
  w.must(w.cluster.update_pod(large, a_pod{"large"}.cpu(1).priority(1).in(group)));
  w.now = 1min;
  const cycle said = w.scheduler.schedule_cycle(w.now);
  CHECK((said.error() == nullptr || said.error()->code == errc::contract));
  CHECK(sorted(w.run_at(2min)).size() + w.said(said.decisions()).size() >= 2);
}

TEST_CASE("a hook that throws when an event may end a gang's backoff fails no call, and the gang is tried",
          "[engine][hooks]") {
  const auto times = std::make_shared<int>(0);
  world w{profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, throws_once{times}}};
  const node_id node = w.add(a_node{"n"}.cpu(1));
  const group_id group = w.add(a_gang{"g", 2});
  for (const char* pod : {"a", "b"}) w.add(a_pod{pod}.cpu(1).in(group));
  CHECK(w.run() == words{"reject a", "reject b"});
  w.must(w.cluster.update_node(node, a_node{"n"}.cpu(2)));
  *times = 1;
  w.must(w.scheduler.catch_up(w.now));
  CHECK(*times == 0);
  CHECK(w.scheduler.verify());
  CHECK(sorted(w.run()) == words{"bind a n", "bind b n"});
}

TEST_CASE("data of a plugin whose constructor throws is an error of the attempt, and of no other call",
          "[engine][hooks]") {
  world w{profile{priority_sort{}, noteless{}, node_resources_fit{}}};
  const node_id node = w.add(a_node{"n"}.cpu(1));
  w.add(a_pod{"p"}.cpu(2));
  CHECK(w.run() == words{"reject p"});
  noteless::throws = true;
  w.must(w.scheduler.forget_cached());
  w.must(w.cluster.update_node(node, a_node{"n"}.cpu(2)));
  w.must(w.scheduler.catch_up(w.now));  // judges whether that helps
  w.now += 10s;
  const gangsched::cycle tried = w.scheduler.schedule_cycle(w.now);
  CAPTURE(w.said(tried.decisions()));
  REQUIRE(tried.error() != nullptr);
  CHECK(tried.error()->code == errc::contract);
  noteless::throws = false;
  CHECK(w.run_at(w.now + 10s) == words{"bind p n"});
}
namespace {

/// Knows who has reserved.
struct bookkeeper {
  static constexpr std::string_view name = "Bookkeeper";
  using points = implements<point::reserve>;
  std::shared_ptr<std::vector<pod_id>> reserved = std::make_shared<std::vector<pod_id>>();
  status reserve(const new_reservation& r) { return reserved->push_back(r.pod.id()), status::success(); }
  void unreserve(const reservation& r) noexcept { std::erase(*reserved, r.pod.id()); }
};

/// Has no memory in the hook that the host says, when it has been asked that often.
struct memoryless {
  static constexpr std::string_view name = "Memoryless";
  using points = implements<point::pre_filter, point::filter, point::reserve>;
  struct cycle_data {};
  std::shared_ptr<std::string> where = std::make_shared<std::string>();
  std::shared_ptr<int> times = std::make_shared<int>(0);
  void use(std::string_view hook) const {
    if (*where == hook && *times > 0 && --*times == 0) throw std::bad_alloc{};
  }
  [[nodiscard]] status pre_filter(const pod_info&, const cluster_view&, cycle_data&) const { return status::success(); }
  [[nodiscard]] status add_pod(const pod_info&, cycle_data&, const pod_info&, const node_info&) const {
    return use("add_pod"), status::success();
  }
  [[nodiscard]] status remove_pod(const pod_info&, cycle_data&, const pod_info&, const node_info&) const {
    return use("remove_pod"), status::success();
  }
  [[nodiscard]] status filter(const pod_info&, const cycle_data&, node_info) const { return status::success(); }
  status reserve(const new_reservation&) { return use("reserve"), status::success(); }
  void unreserve(const reservation&) noexcept {}
};

/// Throws where devices are to be chosen, while the host says so.
struct chooser {
  static constexpr std::string_view name = "Chooser";
  using points = implements<point::choose_devices>;
  board at;
  [[nodiscard]] device_rules choose_devices(const pod_view&, node_view<reads::devices>) const {
    return (*at)("choose_devices"), device_rules{};
  }
};

/// Says what the host wants it to say.
struct planner {
  static constexpr std::string_view name = "Planner";
  using points = implements<point::post_filter, point::group_preempt>;
  std::shared_ptr<victim_plan> plan = std::make_shared<victim_plan>();
  [[nodiscard]] victim_plan post_filter(trial&, const pod_info&) const { return *plan; }
  [[nodiscard]] victim_plan group_preempt(trial&, const group_view&) const { return *plan; }
};

}  // namespace

TEST_CASE("where a reserve hook has no memory, the reserve hooks before it forget the pod", "[engine][hooks]") {
  const bookkeeper books;
  const memoryless short_of;
  world w{profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, books, short_of}};
  w.add(a_node{"n"}.cpu(8));
  const bool in_gang = GENERATE(false, true);
  if (in_gang) {
    const group_id gang = w.add(a_gang{"gang", 3});
    for (const char* pod : {"a", "b", "c"}) w.add(a_pod{pod}.cpu(1).in(gang));
  } else {
    w.add(a_pod{"p"}.cpu(1));
  }
  *short_of.where = "reserve", *short_of.times = in_gang ? 3 : 1;
  CHECK_THROWS_AS(w.scheduler.schedule_cycle(w.now), std::bad_alloc);
  CHECK(books.reserved->empty());
  CHECK(w.cluster.assumed().empty());
  CHECK(w.run_at(w.now + 10s).size() == (in_gang ? 3u : 1u));
  CHECK(books.reserved->size() == (in_gang ? 3u : 1u));
  CHECK(w.scheduler.verify());
}

TEST_CASE("a hook that has no memory to follow the end of a trial is an error of the attempt", "[engine][hooks]") {
  const memoryless short_of;
  world w{profile{priority_sort{}, scheduling_gates{}, node_resources_fit{}, short_of}};
  for (const char* node : {"n", "m"})
    w.add(a_pod{std::string{"to-"} + node}.cpu(4).priority(1).gate("later").nominated(w.add(a_node{node}.cpu(8))));
  w.add(a_pod{"p"}.cpu(1));
  *short_of.where = GENERATE(as<std::string>{}, "add_pod", "remove_pod"), *short_of.times = 1;
  const cycle tried = w.scheduler.schedule_cycle(w.now);
  CAPTURE(w.said(tried.decisions()));
  REQUIRE(tried.error() != nullptr);
  CHECK(tried.error()->reason.find("no memory") != std::string::npos);
  CHECK(*short_of.times == 0);
  for (const node_id node : w.cluster.nodes()) CHECK(w.cluster.requested(node, "cpu") == 0);
  CHECK(w.run_at(w.now + 10s).size() == 1);
  CHECK(w.cluster.assumed().size() == 1);
  CHECK(w.scheduler.verify());
}

TEST_CASE("where choosing devices for a reservation fails, pods that it was to allocate around stay on their node",
          "[engine][hooks][reservations]") {
  const board at = std::make_shared<switchboard>();
  world w{profile{priority_sort{}, node_resources_fit{}, chooser{at}, device_fit{}}};
  node_spec machine = a_node{"n"}.cpu(8);
  machine.devices = {.gpu = {.model = "A", .memory_mib = 40'000}, .gpus = {{.id = "gpu-0"}, {.id = "gpu-1"}}};
  const node_id n = w.add(machine);
  pod_spec there = owner("there", 5);
  there.node = n;
  const pod_id runs = w.add(there);
  pod_spec held = holder("r", 6);
  held.devices = {{.milli = 500}};
  held.reservation->pre_allocation = pre_allocation::if_needed;
  const pod_id r = w.add(held);
  at->where = "choose_devices";
  const cycle tried = w.scheduler.schedule_cycle(w.now);
  CAPTURE(w.said(tried.decisions()));
  REQUIRE(tried.error() != nullptr);
  CHECK(w.cluster.requested(n, "cpu") == 5000);
  CHECK(!w.cluster.reservation_of(runs));
  CHECK(w.scheduler.verify());
  at->where.clear();
  CHECK(w.run_at(w.now + 10s) == words{"bind r n"});
  CHECK(w.cluster.reservation_of(runs) == r);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
}

TEST_CASE("what a hook says of pods and nodes that there are not breaks its contract, and nobody goes for it",
          "[engine][hooks]") {
  const planner says;
  world w{profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, says}};
  const node_id n = w.add(a_node{"n"}.cpu(1)), gone = w.add(a_node{"gone"}.cpu(1));
  const pod_id left = w.add(a_pod{"left"}.cpu(1).on(n)), stays = w.add(a_pod{"stays"}.cpu(1).on(n));
  w.remove(left);
  w.must(w.cluster.remove_node(gone));
  const bool in_gang = GENERATE(false, true);
  const pod_id waits = in_gang ? w.add(a_pod{"p"}.cpu(1).in(w.add(a_gang{"gang", 1}))) : w.add(a_pod{"p"}.cpu(1));
  victim_plan wrong{.verdict = status::success(), .nominated = n};
  if (in_gang) wrong.nominations = {{waits, n}};
  const int which = in_gang ? GENERATE(0, 1, 2, 3, 4) : GENERATE(0, 1, 2, 3);
  if (which == 0) wrong.victims = {stays, left};
  if (which == 1) wrong.victims = {stays}, wrong.moves = {{stays, gone}};
  if (which == 2) wrong.nominations = {{left, n}};
  if (which == 3) wrong.nominations = {{waits, gone}};
  if (which == 4) wrong.nominations = {{stays, n}};
  INFO(which);
  *says.plan = wrong;
  const cycle tried = w.scheduler.schedule_cycle(w.now);
  CAPTURE(w.said(tried.decisions()));
  REQUIRE(tried.error() != nullptr);
  CHECK(tried.error()->code == errc::contract);
  CHECK(tried.error()->reason.find("Planner") != std::string::npos);
  CHECK(w.said(tried.decisions()) == words{"reject p"});
  CHECK(w.cluster.nominated_node_of(waits) == node_id{});
  CHECK(w.cluster.nominated_node_of(stays) == node_id{});
}

}  // namespace gangsched::testing::throwing_hooks_test
