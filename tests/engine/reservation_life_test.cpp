// Reservations and devices, running pods and time.
#include <limits>

#include "gangsched/core/is_among.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "reservation_pods.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::reservation_life_test {

namespace {

node_devices gpu_devices(int count) {
  node_devices made;
  made.gpu = {.model = "A", .memory_mib = 40'000};
  for (int i = 0; i < count; ++i) made.gpus.push_back({.id = "gpu-" + std::to_string(i)});
  return made;
}

std::vector<std::uint16_t> gpus_of(const world& w, pod_id pod) {
  std::vector<std::uint16_t> made;
  for (const device_grant& one : w.cluster.devices_of(pod)) made.push_back(one.device);
  return made;
}

/// Fails when it is asked for the nth time.
struct fails_once {
  static constexpr std::string_view name = "FailsOnce";
  using points = implements<point::filter>;
  std::shared_ptr<int> asks_left;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::usage>) const {
    return --*asks_left == 0 ? status::error("its server does not answer") : status::success();
  }
};

}  // namespace

TEST_CASE("a hook that fails when the reservation is looked for again leaves the pod without a node",
          "[engine][reservations]") {
  std::size_t failed = 0;
  for (int at = 1; at <= 12; ++at) {
    const auto asks_left = std::make_shared<int>(1000);
    kernel_table profile = profiles::kube_default();
    add_plugin(profile, lower(fails_once{asks_left}));
    world w{std::move(profile)};
    const node_id n = w.add(a_node{"n"}.cpu(4));
    pod_spec held = holder("r", 3);
    held.node = n;
    w.add(held);
    w.add(owner("p", 2));
    *asks_left = at;
    const cycle first = w.scheduler.schedule_cycle(w.now);
    INFO("failing when it is asked the " << at << "th time");
    CHECK(w.cluster.requested(n, "cpu") == 3000);
    if (const error* why = first.error()) {
      ++failed;
      CHECK(w.said(first.decisions()) == words{"reject p"});
      CHECK(why->message() == "pod default/p: plugins: its server does not answer");
      w.now += 60s;
      CHECK(w.run() == words{"bind p n"});
    }
    CHECK(w.cluster.reservation_of(w.pod("p")) == w.pod("r"));
    CHECK(w.scheduler.verify());
  }
  CHECK(failed >= 2);  // when it is picked for, and when its node is reserved
}

TEST_CASE("a reservation's devices are its owners', and it has again what they leave",
          "[engine][reservations][devices]") {
  world w;
  node_spec machine = a_node{"n"}.cpu(64).gpus(4);
  machine.devices = gpu_devices(4);
  const node_id n = w.add(machine);
  pod_spec held = a_pod{"r"}.cpu(1).gpus(2);
  held.reservation = reservation_spec{.owners = {{.labels = app("a")}}, .once = false};
  const pod_id r = w.add(held);
  CHECK(w.run(true) == words{"bind r n"});
  const std::vector<std::uint16_t> own = gpus_of(w, r);
  REQUIRE(own.size() == 2);
  const auto mine = [&](const char* name, int gpus) { return a_pod{name}.gpus(gpus).label("app", "a"); };
  w.add(mine("one", 1));
  CHECK(w.run(true) == words{"bind one n"});
  CHECK(is_among(gpus_of(w, w.pod("one"))[0], own));
  CHECK(gpus_of(w, r).size() == 1);
  w.add(a_pod{"stranger"}.gpus(3));
  CHECK(w.run(true) == words{"reject stranger"});
  w.add(mine("two", 3));  // one that is left, and two that are free
  CHECK(w.run(true) == words{"bind two n"});
  CHECK(gpus_of(w, r).empty());
  CHECK(w.cluster.requested(n, "nvidia.com/gpu") == 4);
  w.remove(w.pod("one"));
  CHECK(gpus_of(w, r).size() == 1);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  {
    transaction trial{w.cluster};
    w.remove(w.pod("two"));
    CHECK(gpus_of(w, r) == own);
  }
  CHECK(inside(w.cluster).digest_with_derived() == before);
  w.remove(w.pod("two"));
  CHECK(gpus_of(w, r) == own);
  CHECK(w.cluster.requested(n, "nvidia.com/gpu") == 2);
  pod_spec part = a_pod{"part"}.label("app", "a");
  part.devices = {{.milli = 300}};
  part.reservation_affinity = reservation_affinity{.name = "r"};
  w.add(part);
  CHECK(w.run(true) == words{"bind part n"});
  CHECK(is_among(gpus_of(w, w.pod("part"))[0], own));
  CHECK(gpus_of(w, r) == own);  // of one of them the rest
  CHECK(w.cluster.devices_of(r)[0].milli + w.cluster.devices_of(r)[1].milli == 1700);
  w.add(a_pod{"others"}.gpus(2));
  CHECK(w.run(true) == words{"bind others n"});
  w.remove(r);
  w.add(a_pod{"last"}.gpus(1));
  CHECK(w.run(true) == words{"bind last n"});
}

TEST_CASE("a reservation that is for once from now on is over if an owner of it runs", "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8));
  pod_spec held = holder("r", 4);
  held.node = n;
  const pod_id r = w.add(held);
  w.add(owner("one", 1));
  CHECK(w.run(true) == words{"bind one n"});
  CHECK(w.cluster.left_of(r, "cpu") == 3000);
  held.reservation->once = true;
  w.must(w.cluster.update_pod(r, held));
  CHECK(w.cluster.left_of(r, "cpu") == 0);
  w.remove(w.pod("one"));
  CHECK(w.cluster.left_of(r, "cpu") == 0);
  w.now = 1s;
  CHECK(w.run() == words{"evict r n"});
}

TEST_CASE("amounts at the end of 64 bits are told from what is drawn already", "[engine][reservations]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  world w;
  const auto of = [](const char* name, std::int64_t amount) {
    pod_spec made = a_pod{name}.resource("example.com/x", quantity{amount}).label("app", "a");
    return made;
  };
  node_spec machine = a_node{"n"}.cpu(8);
  machine.allocatable["example.com/x"] = quantity{most};
  w.add(machine);
  pod_spec held = of("r", 100);
  held.reservation = reservation_spec{.owners = {{.labels = app("a")}}, .once = false};
  w.add(held);
  CHECK(w.run(true) == words{"bind r n"});
  w.add(of("one", 10));
  CHECK(w.run(true) == words{"bind one n"});
  w.add(of("vast", most));
  CHECK(w.run(true) == words{"reject vast"});
}

TEST_CASE("what an owner keeps from being held counts for the usage that has to fit into 64 bits",
          "[engine][reservations]") {
  constexpr std::int64_t much = (std::int64_t{1} << 62) + 10;
  world w;
  const auto of = [](const char* name, std::int64_t amount) {
    pod_spec made = a_pod{name}.resource("example.com/x", quantity{amount});
    return made;
  };
  node_spec machine = a_node{"n"}.cpu(8);
  machine.allocatable["example.com/x"] = quantity{std::numeric_limits<std::int64_t>::max()};
  const node_id n = w.add(machine);
  pod_spec held = of("r", much);
  held.reservation = reservation_spec{.owners = {{.labels = app("a")}}, .once = true};
  held.node = n;
  const pod_id r = w.add(held);
  pod_spec first = of("first", 1);
  first.labels = {{"app", "a"}};
  w.add(first);
  CHECK(w.run() == words{"bind first n"});
  CHECK(w.cluster.requested(n, "example.com/x") == 1);
  pod_spec other = of("other", much);
  other.node = n;
  CHECK(w.cluster.add_pod(other).error().code == errc::overflow);  // the owner may fail yet
  other = of("other", much - 100);
  other.node = n;
  w.add(other);
  SECTION("it fails") {
    CHECK(w.scheduler.fail(w.pod("first"), "no disk").error() == nullptr);
    CHECK(w.cluster.requested(n, "example.com/x") == 2 * (much - 50));
  }
  SECTION("it runs, and the reservation is for all from then on") {
    w.must(w.scheduler.confirm(w.pod("first")));
    held.reservation->once = false;
    w.must(w.cluster.update_pod(r, held));
    CHECK(w.cluster.requested(n, "example.com/x") == 2 * (much - 50));
    held.containers[0].requests["example.com/x"] = quantity{much + 100};
    const std::uint64_t before = inside(w.cluster).digest_with_derived();
    CHECK(w.cluster.update_pod(r, held).error().code == errc::overflow);
    CHECK(inside(w.cluster).digest_with_derived() == before);
  }
}

TEST_CASE("an update may say which reservation a pod draws from", "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(16));
  pod_spec there = owner("there", 2);
  there.node = n;
  w.add(there);
  SECTION("one that it draws from already, as it was there before") {
    pod_spec held = holder("r", 4, "a", true);
    held.reservation->pre_allocation = pre_allocation::required;
    const pod_id r = w.add(held);
    CHECK(w.run(true) == words{"bind r n"});
    CHECK(w.cluster.left_of(r, "cpu") == 2000);
    there.draws_from = r;
    w.must(w.cluster.update_pod(w.pod("there"), there));
    CHECK(w.cluster.left_of(r, "cpu") == 2000);
    w.now = 1s;
    CHECK(w.run().empty());
  }
  SECTION("one that is for once: it is over then") {
    pod_spec held = holder("r", 4, "a", true);
    held.node = n;
    const pod_id r = w.add(held);
    there.draws_from = r;
    w.must(w.cluster.update_pod(w.pod("there"), there));
    w.remove(w.pod("there"));
    CHECK(w.cluster.left_of(r, "cpu") == 0);
    CHECK(w.run() == words{"evict r n"});
  }
}

TEST_CASE("who ignores reservations takes no devices from them", "[engine][reservations][devices]") {
  world w;
  node_spec machine = a_node{"n"}.cpu(8).gpus(2);
  machine.devices = gpu_devices(2);
  const node_id n = w.add(machine);
  pod_spec held = a_pod{"r"}.cpu(6).gpus(2);
  held.reservation = reservation_spec{.owners = {{.labels = app("a")}}};
  held.node = n;
  w.add(held);
  pod_spec greedy = a_pod{"wants-a-gpu"}.cpu(1).gpus(1);
  greedy.ignores_reservations = true;
  w.add(greedy);
  CHECK(w.run(true) == words{"reject wants-a-gpu"});
  pod_spec plain = a_pod{"plain"}.cpu(4);
  plain.ignores_reservations = true;
  w.add(plain);
  CHECK(w.run(true) == words{"bind plain n"});
  w.remove(w.pod("r"));
  w.now = 60s;
  CHECK(w.run(true) == words{"bind wants-a-gpu n"});
}

TEST_CASE("a reservation for once that is allocated around a pod holds the devices beside it, and then all",
          "[engine][reservations][devices]") {
  world w;
  node_spec machine = a_node{"n"}.cpu(64).gpus(4);
  machine.devices = gpu_devices(4);
  const node_id n = w.add(machine);
  pod_spec there = a_pod{"there"}.gpus(2).label("app", "a");
  there.node = n;
  w.add(there);
  pod_spec held = a_pod{"r"}.gpus(3);
  held.reservation =
      reservation_spec{.owners = {{.labels = app("a")}}, .once = true, .pre_allocation = pre_allocation::if_needed};
  const pod_id r = w.add(held);
  CHECK(w.run(true) == words{"bind r n"});
  CHECK(w.cluster.reservation_of(w.pod("there")) == r);
  CHECK(w.cluster.left_of(r, "nvidia.com/gpu") == 1);
  CHECK(!gpus_of(w, r).empty());  // it is not over: nobody came after it
  const std::vector<std::uint16_t> beside = gpus_of(w, r);
  w.remove(w.pod("there"));
  CHECK(w.cluster.left_of(r, "nvidia.com/gpu") == 3);
  CHECK(gpus_of(w, r).size() == 3);
  for (const std::uint16_t one : beside) CHECK(is_among(one, gpus_of(w, r)));
  w.add(a_pod{"stranger"}.gpus(2));
  CHECK(w.run(true) == words{"reject stranger"});
}

TEST_CASE("a reservation is over when its time is, or when an owner has what was there for once",
          "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  pod_spec timed = holder("timed", 2), once = holder("once", 2, "b", true);
  timed.reservation->expires = 30s;
  w.add(timed), w.add(once);
  CHECK(w.run(true).size() == 2);
  CHECK(w.scheduler.next_deadline() == instant{30s});
  w.add(owner("p", 1, "b"));
  CHECK(w.run() == words{"bind p n"});
  CHECK(w.permit().empty());
  w.confirm(w.pod("p"));
  CHECK(w.permit() == words{"evict once n"});
  w.remove(w.pod("once"));
  CHECK(w.permit_at(29s).empty());
  const gangsched::cycle told = w.scheduler.permit(30s);
  REQUIRE(w.said(told.decisions()) == words{"evict timed n"});
  CHECK(std::string{told.decisions()[0].reason} == "the time of the reservation is over");
  CHECK(w.permit_at(30s).empty());
  CHECK(w.permit_at(31s) == words{"evict timed n"});  // for a host that did not listen
  timed.node = w.node("n"), timed.reservation->expires = 100s;
  w.must(w.cluster.update_pod(w.pod("timed"), timed));
  CHECK(w.permit_at(40s).empty());
  CHECK(w.scheduler.next_deadline() == instant{100s});
}

TEST_CASE("a reservation holds what pods that run have, and keeps what they leave", "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8)), m = w.add(a_node{"m"}.cpu(8));
  const auto running = [&](pod_spec spec, const node_id node) {
    spec.node = node;
    return w.add(spec);
  };
  running(owner("large", 5), n), running(owner("small", 2), n), running(owner("other", 3, "b"), m);
  pod_spec held = holder("r", 6, "a", true);
  held.reservation->pre_allocation = pre_allocation::if_needed;
  SECTION("as few as are needed, and only where it does not fit beside them") {
    const pod_id r = w.add(held);
    CHECK(w.run() == words{"bind r n"});
    CHECK(w.cluster.reservation_of(w.pod("large")) == r);
    CHECK(!w.cluster.reservation_of(w.pod("small")));
    CHECK(w.cluster.left_of(r, "cpu") == 1000);
    CHECK(w.cluster.requested(n, "cpu") == 8000);
    SECTION("and gives it back if it is not confirmed") {
      static_cast<void>(w.fail(r));
      CHECK(!w.cluster.reservation_of(w.pod("large")));
      CHECK(w.cluster.requested(n, "cpu") == 7000);
    }
    SECTION("and what they leave is for owners that come") {
      w.confirm(r);
      w.remove(w.pod("large"));
      CHECK(w.cluster.left_of(r, "cpu") == 6000);
      CHECK(w.cluster.requested(n, "cpu") == 8000);
      w.add(owner("next", 4));
      CHECK(w.run(true) == words{"bind next n", "evict r n"});
      CHECK(w.cluster.left_of(r, "cpu") == 0);
      CHECK(w.cluster.requested(n, "cpu") == 6000);
    }
    SECTION("and owners that come get the rest of one that is shared") {
      w.confirm(r);
      held.reservation->once = false, held.node = n;
      w.must(w.cluster.update_pod(r, held));
      CHECK(w.cluster.left_of(r, "cpu") == 1000);
      w.add(owner("beside", 1));
      CHECK(w.run(true) == words{"bind beside n"});
      CHECK(w.cluster.left_of(r, "cpu") == 0);
    }
    CHECK(w.scheduler.verify());
  }
  SECTION("of one pod at least, if it says so") {
    held.containers[0].requests.insert_or_assign("cpu", quantity{1});
    held.reservation->pre_allocation = pre_allocation::required;
    const pod_id r = w.add(held);
    CHECK(w.run(true) == words{"bind r n"});
    CHECK(w.cluster.reservation_of(w.pod("large")) == r);  // both score nothing: the oldest
    pod_spec none = held;
    none.name = "none", none.reservation->owners = {{.labels = app("nobody")}};
    w.add(none);
    CHECK(w.run() == words{"reject none"});
  }
  SECTION("of those whose whole request it will hold, if it is restricted") {
    held.containers[0].requests.insert_or_assign("cpu", quantity{3});
    held.reservation->pre_allocation = pre_allocation::required;
    held.reservation->policy = allocate_policy::restricted;
    const pod_id r = w.add(held);
    CHECK(w.run(true) == words{"bind r n"});
    CHECK(w.cluster.reservation_of(w.pod("small")) == r);
    CHECK(!w.cluster.reservation_of(w.pod("large")));
    pod_spec less = held;
    less.name = "less", less.containers[0].requests.insert_or_assign("cpu", quantity{1});
    w.add(less);
    CHECK(w.run() == words{"reject less"});
  }
  SECTION("of those that have any of it") {
    pod_spec other = a_pod{"memory"}.memory("1Gi").label("app", "c");
    running(other, n);
    held.containers[0].requests.insert_or_assign("cpu", quantity{1});
    held.reservation->pre_allocation = pre_allocation::required;
    held.reservation->owners = {{.labels = app("c")}};
    w.add(held);
    CHECK(w.run() == words{"reject r"});
  }
  SECTION("of those that run, also if it is unschedulable") {
    held.reservation->unschedulable = true;
    const pod_id r = w.add(held);
    CHECK(w.run(true) == words{"bind r n"});
    CHECK(w.cluster.reservation_of(w.pod("large")) == r);
  }
  SECTION("of no more than it will hold together, if it is restricted") {
    held.containers[0].requests.insert_or_assign("cpu", quantity{6});
    held.reservation->policy = allocate_policy::restricted;
    held.required_node = "n";
    running(owner("beside", 1, "b"), n);
    w.add(held);
    CHECK(w.run() == words{"reject r"});  // both would have to be gone, but they have seven
  }
  SECTION("several of them") {
    held.containers[0].requests.insert_or_assign("cpu", quantity{8});
    held.required_node = "n";
    const pod_id r = w.add(held);
    CHECK(w.run(true) == words{"bind r n"});
    CHECK(w.cluster.left_of(r, "cpu") == 1000);
    CHECK(w.cluster.requested(n, "cpu") == 8000);
    const std::uint64_t before = inside(w.cluster).digest_with_derived();
    {
      transaction trial{w.cluster};
      w.remove(w.pod("small"));
      CHECK(w.cluster.left_of(r, "cpu") == 3000);
      w.remove(r);
      CHECK(w.cluster.requested(n, "cpu") == 5000);
    }
    CHECK(inside(w.cluster).digest_with_derived() == before);
  }
}

TEST_CASE("nodes drain toward a reservation that is planned, and it is there when its time comes",
          "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(8)), w.add(a_node{"m"}.cpu(8).label("spare", "yes"));
  const auto job = [&](const char* name, int cpu, instant runs, const char* only = "n") {
    pod_spec made = a_pod{name}.cpu(cpu);
    made.expected_run_time = runs;
    made.required_node = only;
    return w.add(made);
  };
  const pod_id before = job("before", 6, 100s);
  CHECK(w.run(true) == words{"bind before n"});
  pod_spec planned = holder("maintenance", 8);
  planned.required_node = "n";
  planned.reservation->starts = 200s, planned.reservation->expires = 300s;
  w.add(planned);
  CHECK(w.run() == words{"nominate maintenance n", "reject maintenance"});
  CHECK(w.scheduler.why(w.pod("maintenance"))->plugins.empty());
  CHECK(w.scheduler.next_deadline() == instant{200s});
  CHECK(w.cluster.reserved_from(w.pod("maintenance")) == instant{200s});
  CHECK(w.run_at(150s).empty());
  w.remove(before);
  job("long", 4, 100s), job("short", 4, 40s);
  pod_spec endless = a_pod{"endless"}.cpu(1);
  endless.required_node = "n";
  w.add(endless);
  CHECK(w.run(true) == words{"reject long", "bind short n", "reject endless"});
  w.remove(w.pod("short"));
  CHECK(count(w.run_at(199s), "bind") == 0);
  w.now = 200s;
  CHECK(count(w.run(true), "bind maintenance n") == 1);
  CHECK(w.permit_at(300s) == words{"evict maintenance n"});
  w.remove(w.pod("maintenance"));
  w.now = 600s;
  CHECK(count(w.run(true), "bind ") == 2);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a planned reservation starts when an update says so", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(4));
  pod_spec planned = holder("planned", 4);
  planned.reservation->starts = 1000s;
  const pod_id pod = w.add(planned);
  CHECK(w.run() == words{"nominate planned n", "reject planned"});
  planned.reservation->starts = 100s, planned.nominated_node = w.node("n");
  w.must(w.cluster.update_pod(pod, planned));
  CHECK(w.run_at(10s) == words{"reject planned"});
  CHECK(w.cluster.reserved_from(pod) == instant{100s});
  CHECK(w.scheduler.next_deadline() == instant{100s});
  planned.reservation->starts = 290s, planned.nominated_node = {};
  w.must(w.cluster.update_pod(pod, planned));
  CHECK(w.run_at(20s) == words{"nominate planned n", "reject planned"});
  w.add(a_pod{"endless"}.cpu(4));
  CHECK(w.run() == words{"reject endless"});
  CHECK(count(w.run_at(290s), "bind planned n") == 1);
}

TEST_CASE("a reservation that had no node in its time gets none later, and nobody goes for it",
          "[engine][reservations]") {
  world w;
  a_node cordoned{"n"};
  cordoned.cpu(4);
  cordoned.spec.unschedulable = true;
  const node_id n = w.add(cordoned);
  pod_spec planned = holder("maintenance", 4);
  planned.priority = 99, planned.reservation->starts = 50s, planned.reservation->expires = 100s;
  const pod_id pod = w.add(planned);
  w.add(a_pod{"runs"}.cpu(4).on(n));
  CHECK(w.run() == words{"reject maintenance"});
  CHECK(w.run_at(50s) == words{"reject maintenance"});
  w.now = 200s;
  w.must(w.cluster.update_node(n, a_node{"n"}.cpu(4)));
  CHECK(w.run().empty());
  w.now = 1000s;
  const cycle told = w.scheduler.schedule_cycle(w.now);
  REQUIRE(w.said(told.decisions()) == words{"reject maintenance"});
  CHECK(std::string{told.decisions()[0].reason} == "the time of the reservation is over");
  planned.reservation->expires = 2000s;
  w.must(w.cluster.update_pod(pod, planned));
  CHECK(count(w.run(), "nominate maintenance n") == 1);
  planned.name = "never", planned.reservation->expires = 50s;
  CHECK(w.cluster.add_pod(planned).error().field == "reservation.expires");
}

TEST_CASE("a planned reservation keeps its nodes no longer than its time", "[engine][reservations]") {
  const bool alone = GENERATE(true, false);
  world w;
  w.add(a_node{"n"}.cpu(8));
  pod_spec old = a_pod{"old"}.cpu(6);
  old.expected_run_time = 90s;
  w.add(old);
  CHECK(w.run(true) == words{"bind old n"});
  pod_spec planned = holder("planned", 8);
  planned.reservation->starts = 100s, planned.reservation->expires = 150s;
  if (!alone) planned.group = w.add(group_spec{.name = "held", .policy = gang{.min_count = 1}});
  w.add(planned);
  CHECK(count(w.run(), "nominate planned n") == 1);
  w.add(a_pod{"kept-off"}.cpu(1));
  CHECK(w.run() == words{"reject kept-off"});
  CHECK(count(w.run_at(100s), "bind") == 0);  // `old` runs on
  CHECK(w.scheduler.next_deadline() == instant{150s});
  const words said = w.run_at(150s);
  CHECK(count(said, "bind kept-off n") == 1);
  CHECK(count(said, "reject planned") == 1);
  CHECK_FALSE(w.cluster.nominated_node_of(w.pod("planned")));
  CHECK(w.scheduler.next_deadline().value_or(instant::max()) > 200s);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a gang of reservations is planned for a rack", "[engine][reservations][groups]") {
  world w;
  for (int i = 0; i < 4; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(4).label("rack", i < 2 ? "a" : "b"));
  pod_spec stays = a_pod{"stays"}.cpu(1);
  stays.node = w.node("n0");
  w.add(stays);
  pod_spec ends = stays;
  ends.name = "ends", ends.node = w.node("n3"), ends.start_time = instant{0}, ends.expected_run_time = 50s;
  w.add(ends);
  const group_id held = w.add(a_gang{"held", 2}.topology("rack"));
  for (int i = 0; i < 2; ++i) {
    pod_spec one = holder("r" + std::to_string(i), 4, "job");
    one.group = held;
    one.reservation->starts = 60s;
    w.add(one);
  }
  CHECK(sorted(w.run()) == words{"nominate r0 n2", "nominate r1 n3", "reject r0", "reject r1"});
  w.add(a_pod{"endless"}.cpu(4));
  CHECK(w.run(true) == words{"bind endless n1"});
  w.add(a_pod{"another"}.cpu(4));
  CHECK(w.run(true) == words{"reject another"});
  w.remove(w.pod("ends"));
  w.now = 60s;
  const words then = sorted(w.run(true));
  CHECK(count(then, "bind r0 n2") + count(then, "bind r1 n3") == 2);
}

TEST_CASE("to be planned for later is no failure: a gang backs off from its first as for one",
          "[engine][reservations][groups]") {
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = wake_rule::hints, .count_reasons = true}};
  w.add(a_node{"n"}.cpu(4));
  const group_id held = w.add(a_gang{"held", 2});
  for (int i = 0; i < 2; ++i) {
    pod_spec one = holder("r" + std::to_string(i), 2, "job");
    one.group = held;
    one.reservation->starts = 60s;
    w.add(one);
  }
  const pod_id first = w.pod("r0");
  CHECK(sorted(w.run()) == words{"nominate r0 n", "nominate r1 n", "reject r0", "reject r1"});
  CHECK(w.scheduler.standing(first)->failures == 0);
  CHECK(w.scheduler.queue()->front().why == "the time that it starts at has not come");
  CHECK(w.scheduler.next_deadline() == instant{60s});
  w.add(a_pod{"endless"}.cpu(4).priority(1));
  w.now = 60s;
  const words then = w.run(true);
  CHECK(count(then, "bind endless n") == 1);
  CHECK(count(then, "bind r") == 0);
  CHECK(w.scheduler.standing(first)->failures == 1);
  CHECK(w.scheduler.next_deadline() == instant{61s});
}

}  // namespace gangsched::testing::reservation_life_test
