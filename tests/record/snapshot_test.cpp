// Snapshots: what is restored goes on as the original does, and what is no snapshot is refused.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "gangsched/core/hash.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/service_class.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/record/snapshot.hpp"
#include "gangsched/saved_state.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "support/dice.hpp"
#include "support/world.hpp"

namespace gangsched::testing::snapshot_test {

namespace {

using record::restore_cluster;
using record::restore_setup;
using record::restore_snapshot;
using record::take_snapshot;
using bytes = std::vector<std::byte>;

restore_setup kube() { return {.profiles = {profiles::kube_default()}}; }

/// All that a host could tell two of them apart by, now.
words standing(const cluster& on, const scheduler& by) {
  words all;
  for (const queued_entity& one : by.queue().value()) {
    all.push_back(std::string{on.name_of(one.pod)} + " " + std::to_string(static_cast<int>(one.standing.place)) + " " +
                  std::to_string(one.standing.attempts) + " " + std::to_string(one.standing.since.count()) + " " +
                  one.why);
  }
  for (const waiting_pod& one : by.waiting().value()) {
    all.push_back("waits " + std::string{on.name_of(one.pod)} + " " + std::to_string(one.holders.size()));
    for (const waiting_pod::holder& holder : one.holders)
      all.push_back(holder.plugin + " " + std::to_string(holder.until.count()));
  }
  return all;
}

/// Decisions from now on, every bind confirmed.
words go_on(cluster& on, scheduler& by, instant now) {
  words all;
  const auto say = [&](const cycle& said) {
    for (const decision& one : said) {
      all.push_back(std::string{to_string(one.kind)} + " " + std::string{on.name_of(one.pod)} + " " +
                    (one.node ? std::string{on.name_of(one.node)} : "-") + " " + std::to_string(one.score) + " " +
                    std::to_string(static_cast<std::uint64_t>(one.attempt)));
      if (one.kind == decision_kind::bind) by.confirm(one.pod, one.attempt).value();
    }
  };
  for (const instant step : {instant{0s}, instant{2s}, instant{15s}, instant{400s}, instant{1000s}}) {
    while (const cycle said = by.schedule_cycle(now + step)) say(said);
    say(by.permit(now + step));
  }
  return all;
}

struct both {
  std::function<void(cluster&, scheduler&)> then = [](cluster&, scheduler&) {};  ///< before they go on
  restore_setup setup = kube();
};

/// A restored one stands and goes on as the original.
void check_alike(cluster& on, scheduler& by, instant now, both with = {}) {
  const std::uint64_t before = on.digest();
  const bytes taken = take_snapshot(on, by).value();
  CHECK(on.digest() == before);
  auto made = restore_snapshot(taken, with.setup);
  INFO((made ? std::string{} : made.error().message()));
  REQUIRE(made);
  CHECK(made->cluster.digest() == before);
  CHECK(standing(made->cluster, made->scheduler) == standing(on, by));
  CHECK(take_snapshot(made->cluster, made->scheduler).value() == taken);
  with.then(on, by);
  with.then(made->cluster, made->scheduler);
  CHECK(go_on(made->cluster, made->scheduler, now) == go_on(on, by, now));
  CHECK(made->cluster.digest() == on.digest());
}
void check_alike(world& w, both with = {}) { check_alike(w.cluster, w.scheduler, w.now, std::move(with)); }

/// Nodes, and pods of which some find no place.
void fill(world& w) {
  for (const char* name : {"n1", "n2"}) w.add(a_node(name).cpu(4));
  for (const char* name : {"a", "b", "c", "d", "e"}) w.add(a_pod(name).cpu(2));
}

}  // namespace

TEST_CASE("pods and groups wait for the time when others may be evicted for them", "[record][preemption]") {
  world w{profiles::with_queues()};
  for (const char* const name : {"owner", "borrower"}) {
    queue_spec queue{.name = name, .reclaim_min_runtime = 60s};
    queue.quotas = {{.guaranteed = {{"cpu", *name == 'o' ? 4 : 0}}}};
    w.must(w.cluster.queues().add(queue));
  }
  w.add(a_node{"n"}.cpu(4));
  for (int i = 0; i < 4; ++i) {
    a_pod one = a_pod{"b" + std::to_string(i)}.cpu(1).queue("borrower").on(w.node("n"));
    one.spec.start_time = std::chrono::seconds{10 + 5 * i};
    w.add(one);
  }
  w.add(a_pod{"single"}.cpu(1).queue("owner"));
  a_gang pair{"pair", 2};
  pair.spec.queue = "owner";
  const group_id group = w.add(pair);
  for (const char* const name : {"pair-0", "pair-1"}) w.add(a_pod{name}.cpu(1).in(group));
  w.run_at(20s);
  CHECK(w.scheduler.next_deadline() == 70s);
  const auto made =
      restore_snapshot(take_snapshot(w.cluster, w.scheduler).value(), {.profiles = {profiles::with_queues()}});
  REQUIRE(made);
  CHECK(made->scheduler.next_deadline() == 70s);
  w.now = 68s;
  check_alike(w, {.setup = {.profiles = {profiles::with_queues()}}});
  CHECK(w.cluster.nominated_node_of(w.pod("single")));
}

TEST_CASE("a cluster alone comes back with its ids and its digest", "[record]") {
  world w;
  fill(w);
  w.run(true);
  w.remove(w.pod("b"));
  w.cluster.remove_node(w.node("n2")).value();
  w.add(a_node("n3").cpu(1));
  const bytes taken = take_snapshot(w.cluster).value();
  cluster again = restore_cluster(taken).value();
  CHECK(again.digest() == w.cluster.digest());
  CHECK(again.find_node("n3") == w.cluster.find_node("n3"));
  CHECK(again.find_pod("default", "a") == w.cluster.find_pod("default", "a"));
  CHECK(restore_snapshot(taken, kube()).error().code == errc::wrong_state);
  // The cluster of one with a scheduler may be had by itself as well.
  CHECK(restore_cluster(take_snapshot(w.cluster, w.scheduler).value()).value().digest() == w.cluster.digest());
}

TEST_CASE("who waits for a change, in backoff, behind a gate or in flight goes on waiting", "[record]") {
  const wake_rule wake = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  world w{profiles::kube_default(), {.ties = tie_rule::uniform, .wake = wake}};
  fill(w);
  w.add(a_pod("gated").cpu(1).gate("later"));
  w.now = 1s;
  w.run();
  w.fail(w.pod("a"));
  w.cluster.nominate(w.pod("e"), w.node("n1")).value();
  if (wake != wake_rule::hints) static_cast<void>(w.scheduler.pop(w.now).value());
  if (wake == wake_rule::hints) w.scheduler.catch_up(w.now).value();
  check_alike(w, {.then = [&](cluster& on, scheduler& by) {
                on.add_node(a_node("more").cpu(64)).value();
                on.update_pod(on.find_pod("default", "gated").value(), a_pod("gated").cpu(1)).value();
                for (const attempt& one : by.in_flight())
                  by.add_unschedulable(one.pod, {.unschedulable_plugins = {"NodeResourcesFit"}}, 3s).value();
              }});
}

TEST_CASE("what the host did and nobody has read yet is read by the restored one", "[record]") {
  world w;
  fill(w);
  w.run();
  w.remove(w.pod("a"));
  w.add(a_node("n3").cpu(1));
  w.add(a_pod("late").cpu(1));
  w.cluster.set_terminating(w.pod("b")).value();
  check_alike(w);
}

TEST_CASE("who waits for a reservation of just its size waits on", "[record]") {
  world w;
  w.add(a_node("n").cpu(8));
  pod_spec holds = a_pod("holds").cpu(4);
  holds.reservation = reservation_spec{.owners = {{.pod = "guest"}}, .once = false};
  holds.node = w.node("n");
  w.add(holds);
  pod_spec guest = a_pod("guest").cpu(3);
  guest.reservation_affinity = reservation_affinity{.name = "holds"}, guest.exact_reservation = {"cpu", "memory"};
  w.add(guest);
  CHECK(w.run(true) == words{"reject guest"});
  SECTION("as long as it does") {
    check_alike(w, {.then = [](cluster& on, scheduler&) { on.add_node(a_node("m").cpu(8)).value(); }});
    CHECK(!w.cluster.node_of(w.pod("guest")));
  }
  SECTION("until there is one") {
    holds.containers[0].requests.insert_or_assign("cpu", quantity{3});
    check_alike(w, {.then = [&](cluster& on, scheduler&) { on.update_pod(w.pod("holds"), holds).value(); }});
    CHECK(w.cluster.reservation_of(w.pod("guest")) == w.pod("holds"));
  }
}

TEST_CASE("who failed between two changes is tried in the same order, whatever numbers classes have", "[record]") {
  world w;
  w.add(a_node{"n"}.cpu(4));
  const auto owner = [&](const char* name) { return w.add(a_pod{name}.cpu(3).label("of", "held")); };
  w.remove(owner("gone"));  // its class has a lower number than it has after a restart
  pod_spec held = a_pod{"held"}.cpu(3);
  held.reservation.emplace().owners.emplace_back().labels.emplace().match_labels = {{"of", "held"}};
  const pod_id reservation = w.add(held);
  w.run(true);
  w.must(w.cluster.set_terminating(reservation, true));
  owner("a");
  w.add(a_pod{"b"}.cpu(3));
  owner("c");
  w.add(a_pod{"d"}.cpu(3));
  w.run();
  auto made = restore_snapshot(take_snapshot(w.cluster, w.scheduler).value(), kube());
  REQUIRE(made);
  w.remove(reservation);
  made->cluster.remove_pod(reservation).value();
  CHECK(go_on(made->cluster, made->scheduler, w.now) == go_on(w.cluster, w.scheduler, w.now));
  CHECK(w.cluster.node_of(w.pod("a")) == w.node("n"));
}

TEST_CASE("gangs keep their reservations, their deadlines and their trees", "[record]") {
  world w;
  fill(w);
  group_spec permit{.name = "permit", .policy = gang{.min_count = 3, .mode = gang_mode::permit, .timeout = 30s}};
  const group_id waits = w.add(permit);
  for (const char* name : {"p1", "p2"}) w.add(a_pod(name).cpu(1).in(waits));
  const group_id tree = w.add(group_spec{.name = "tree", .policy = gang{.min_count = 2}, .composite = true});
  for (const char* name : {"left", "right"}) {
    const group_id child = w.add(group_spec{.name = name, .policy = gang{.min_count = 2}, .parent = tree});
    for (int i = 0; i < 2; ++i) w.add(a_pod(std::string{name} + std::to_string(i)).cpu(1).in(child));
  }
  const group_id expected = w.cluster.expect_group("default", "later").value();
  w.add(a_pod("early").cpu(1).in(expected));
  w.now = 1s;
  w.run();
  check_alike(w, {.then = [&](cluster& on, scheduler&) {
                on.add_node(a_node("more").cpu(8)).value();
                on.add_pod(a_pod("p3").cpu(1).in(waits)).value();
                on.add_group({.name = "later"}).value();
              }});
}

TEST_CASE("queues keep what is used in them, and columns their words", "[record]") {
  world w;
  w.cluster.queues().set_flavor({.name = "any"}).value();
  w.cluster.queues().add({.name = "top"}).value();
  w.cluster.queues()
      .add({.name = "q",
            .parent = "top",
            .quotas = {{.flavor = "any", .guaranteed = {{"cpu", 4}}}},
            .namespaces = {"default"}})
      .value();
  w.cluster.add_node_column("heat").value();
  w.cluster.add_scope_column("licences", "free").value();
  const scope_row_id licence = w.cluster.add_scope_row("licences", "matlab").value();
  fill(w);
  w.cluster.set_column(w.node("n1"), "heat", 7).value();
  w.cluster.set_column(licence, "free", -3).value();
  w.cluster.set_held_room({.name = "room", .parts = {{.node = w.node("n1"), .amounts = {{"cpu", 1}}}}}).value();
  w.cluster.set_priority_class({.name = "high", .value = 100}).value();
  w.cluster.set_namespace({.name = "default", .labels = {{"team", "a"}}}).value();
  w.cluster.set_service({.name = "s", .selector = {{"app", "web"}}}).value();
  w.cluster.set_controller({.kind = controller_kind::replica_set, .name = "r"}).value();
  w.cluster.add_disruption_budget({.name = "b", .selector = label_selector{}}).value();
  w.run(true);
  const queue_usage used = w.cluster.queues().usage_of(w.cluster.queues().find("top").value());
  cluster again = restore_cluster(take_snapshot(w.cluster).value()).value();
  CHECK(again.queues().usage_of(again.queues().find("top").value()).used == used.used);
  check_alike(w);
}

TEST_CASE("features that nodes declare and pods require come back, as sets", "[record]") {
  world w;
  w.add(a_node("n1").declare("Y").declare("X").declare("Y"));
  w.add(a_node("n2").declare("Z"));
  w.add(a_pod("a").require("Y").require("X"));
  w.add(a_pod("b").require("Z").require("X"));
  w.run(true);
  check_alike(w, {.then = [](cluster& on, scheduler&) {
                on.update_node(on.find_node("n2").value(), a_node("n2").declare("X").declare("Z")).value();
              }});
  CHECK(w.cluster.node_of(w.pod("b")) == w.node("n2"));
}

TEST_CASE("rooms of all that fits into 64 bits come back, whatever is held of something else", "[record]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4));
  w.must(w.cluster.set_held_room({.name = "a", .parts = {{n, {{"memory", quantity{most}}}}}}));
  w.must(w.cluster.set_held_room({.name = "b", .parts = {{n, {{"example.com/x", quantity{most}}}}}}));
  const result<cluster> again = restore_cluster(take_snapshot(w.cluster).value());
  REQUIRE(again);
  CHECK(again->digest() == w.cluster.digest());
  CHECK(again->left_of_room("b", n, "example.com/x") == most);
}

TEST_CASE("devices that a node does not have now stay whose they are", "[record]") {
  world w;
  const node_id node = w.add(a_node{"n"}.cpu(4));
  const resource_claim_id claim = w.must(w.cluster.add_resource_claim(
      {.name = "c", .devices = {{.count = 1}}, .held_devices = {{.id = "GPU-1"}}, .node = node}));
  cluster again = restore_cluster(take_snapshot(w.cluster).value()).value();
  CHECK(again.digest() == w.cluster.digest());
  node_spec with = a_node{"n"}.cpu(4);
  with.devices.gpus = {{.id = "GPU-0"}, {.id = "GPU-1"}};
  w.must(again.update_node(node, with));
  REQUIRE(again.devices_of(claim).size() == 1);
  CHECK(again.devices_of(claim)[0].device == 1);
}

TEST_CASE("devices stay whose they are", "[record]") {
  world w;
  node_spec gpus = a_node("n1").cpu(32);
  gpus.devices.gpu = {.model = "NVIDIA-A100-SXM4-40GB", .memory_mib = 40960};
  gpus.devices.gpu.memory_rule = gpu_memory_rule::as_asked;
  gpus.devices.gpus = {
      {.id = "g0"}, {.id = "g1", .healthy = false}, {.id = "g2"}, {.id = "g3", .mig = mig_mode::dynamic}};
  gpus.devices.others = {{.id = "nic", .device_class = "rdma", .units = 4, .attributes = {{"speed", std::int64_t{3}}}}};
  const node_id node = w.add(gpus);
  pod_spec shares = a_pod("share").cpu(1);
  shares.devices = {{.count = 1, .milli = 500}};
  w.add(shares);
  for (const auto& [name, request] : {std::pair{"hundredths", device_request{.milli = 100, .memory_percent = 30}},
                                      {"mib", device_request{.milli = 100, .memory_mib = 12'500}}}) {
    pod_spec by_memory = a_pod(name).cpu(1);
    by_memory.devices = {request};
    w.add(by_memory);
  }
  pod_spec slice = a_pod("slice").cpu(1);
  slice.devices = {{.count = 1, .mig_profile = "1g.5gb"}};
  w.add(slice);
  const resource_claim_id claim =
      w.cluster.add_resource_claim({.name = "nics", .devices = {{.name = "one", .device_class = "rdma"}}}).value();
  for (const char* name : {"first", "second"}) {
    pod_spec sharing = a_pod(name).cpu(1);
    sharing.resource_claims = {claim};
    w.add(sharing);
  }
  w.run(true);
  w.cluster.set_device_health(node, "g0", false).value();
  CHECK(w.cluster.node_of(claim) == node);
  shares.name = "next";
  w.add(shares);
  check_alike(w);
}

TEST_CASE("classes of priority and of service that labels say are there again", "[record]") {
  const std::string band{priority_band_label}, qos{qos_label};
  world w;
  w.add(a_node("n").cpu(2));
  w.add(a_pod("a").cpu(1).label(band, "koord-batch"));
  w.add(a_pod("b").cpu(1).label(qos, "BE"));
  w.add(a_pod("c").cpu(1).label(band, "koord-mid").priority(9000));
  w.add(a_pod("d").cpu(1).label(band, "nothing").priority(9000));
  pod_spec of_overhead = a_pod("e");
  of_overhead.overhead = {{"cpu", quantity{1}}};
  w.add(of_overhead);
  w.add(a_pod("f").cpu(1).guaranteed());
  w.add(a_pod("g").priority(3500));
  w.run(true);
  const auto classes = [](const cluster& on) {
    std::vector<std::pair<priority_band, qos_class>> all;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
      const pod_id pod = on.find_pod("default", name).value();
      all.emplace_back(band_of(on, pod), qos_of(on, pod));
    }
    return all;
  };
  const auto before = classes(w.cluster);
  check_alike(w, {.then = [&](cluster& on, scheduler&) {
                on.add_pod(a_pod("h").cpu(1).label(qos, "BE")).value();
                CHECK(classes(on) == before);
              }});
}

TEST_CASE("with specs that are kept, they are there again", "[record]") {
  world w{profiles::kube_default(), world::lowest_first(), {.keep_specs = true}};
  fill(w);
  w.run(true);
  check_alike(w);
}

TEST_CASE("bytes that are none of a snapshot are refused, whatever they are", "[record]") {
  world w;
  fill(w);
  w.run();
  const bytes taken = take_snapshot(w.cluster, w.scheduler).value();
  for (std::size_t size = 0; size < taken.size(); size += 1 + size / 16)
    CHECK(restore_snapshot(std::span{taken}.first(size), kube()).error().code == errc::malformed);
  for (std::size_t at = 0; at < taken.size(); ++at) {
    bytes harmed = taken;
    harmed[at] ^= std::byte{0x10};
    const auto made = restore_snapshot(harmed, kube());
    REQUIRE(!made);
    CHECK(made.error().code == errc::malformed);
  }
  bytes other = taken;
  other[8] = std::byte{9};  // the version
  CHECK(restore_snapshot(other, kube()).error().message().find("this library reads 3") != std::string::npos);
  CHECK(restore_snapshot(std::as_bytes(std::span{"gangslog of something else"}), kube()).error().code ==
        errc::malformed);
}

TEST_CASE("a snapshot of other profiles, or of a busy cluster, is refused", "[record]") {
  world w;
  fill(w);
  const bytes taken = take_snapshot(w.cluster, w.scheduler).value();
  kernel_table renamed = profiles::kube_default();
  renamed.scheduler_name = "other";
  const auto other = restore_snapshot(taken, {.profiles = {renamed}});
  REQUIRE(!other);
  CHECK(other.error().code == errc::wrong_state);
  CHECK(other.error().message().find("when it was saved") != std::string::npos);
  CHECK(restore_snapshot(taken, {}).error().code == errc::wrong_state);
  const device_matcher any{[](void*, std::string_view, const other_device&) { return device_verdict{}; }, nullptr};
  CHECK(restore_snapshot(taken, {.profiles = {profiles::kube_default()}, .matcher = any}).error().code ==
        errc::wrong_state);
  const transaction open{w.cluster};
  CHECK(take_snapshot(w.cluster, w.scheduler).error().code == errc::busy);
  CHECK(take_snapshot(w.cluster).error().code == errc::busy);
  world elsewhere;
  CHECK(take_snapshot(elsewhere.cluster, w.scheduler).error().code == errc::wrong_state);
}

namespace {

/// With the checksum that belongs there.
bytes repaired(bytes made) {
  if (made.size() < 28) return made;
  const std::uint64_t size = made.size() - 28;
  for (unsigned at = 0; at < 8; ++at) made[12 + at] = static_cast<std::byte>((size >> (8 * at)) & 0xff);
  digest sum;
  sum.add(std::uint64_t{0});
  sum.add(std::string_view{reinterpret_cast<const char*>(made.data()), made.size() - 8});
  for (unsigned at = 0; at < 8; ++at)
    made[made.size() - 8 + at] = static_cast<std::byte>((sum.value() >> (8 * at)) & 0xff);
  return made;
}

/// Of nearly everything there is.
bytes some_snapshot() {
  world w;
  fill(w);
  node_spec gpus = a_node("gpus").cpu(8).declare("X");
  gpus.devices.gpu = {.model = "NVIDIA-A100-SXM4-40GB", .memory_mib = 40960};
  gpus.devices.gpus = {{.id = "g0"}, {.id = "g1", .mig = mig_mode::dynamic}};
  w.add(gpus);
  w.cluster.queues().set_flavor({.name = "any"}).value();
  w.cluster.queues().add({.name = "q", .quotas = {{.flavor = "any", .guaranteed = {{"cpu", 4}}}}}).value();
  const group_id train =
      w.add(group_spec{.name = "train", .policy = gang{.min_count = 3, .mode = gang_mode::permit}, .queue = "q"});
  for (const char* name : {"m1", "m2"}) w.add(a_pod(name).cpu(1).in(train));
  const group_id big = w.add(group_spec{.name = "big", .policy = gang{.min_count = 2}});
  for (const char* name : {"b1", "b2"}) w.add(a_pod(name).cpu(64).in(big));
  pod_spec shares = a_pod("share").cpu(1).require("X");
  shares.devices = {{.count = 1, .milli = 500}};
  shares.affinity_to_pods.preferred = {{.weight = 5, .term = {.topology_key = "zone", .selector = label_selector{}}}};
  w.add(shares);
  w.cluster.add_node_column("heat").value();
  w.cluster.set_column(w.node("n1"), "heat", 7).value();
  w.cluster.set_held_room({.name = "room", .parts = {{.node = w.node("n2"), .amounts = {{"cpu", 1}}}}}).value();
  pod_spec holds = a_pod("holds").cpu(1);
  holds.reservation = reservation_spec{.owners = {{.labels = label_selector{.match_labels = {{"app", "guest"}}}}}};
  holds.node = w.node("n2");
  w.add(holds);
  pod_spec guest = a_pod("guest").cpu(1).label("app", "guest");
  guest.node = w.node("n2"), guest.draws_from = w.pod("holds");
  w.add(guest);
  w.now = 1s;
  w.run();
  w.cluster.nominate(w.pod("b1"), w.node("n1")).value();
  static_cast<void>(w.scheduler.pop(20s));
  w.remove(w.pod("a"));
  return take_snapshot(w.cluster, w.scheduler).value();
}

}  // namespace

TEST_CASE("a snapshot of a cluster that keeps more changes than any can is refused", "[record]") {
  const cluster on{{.log_bound = std::size_t{1} << 40}};
  bytes taken = take_snapshot(on).value();
  REQUIRE(restore_cluster(taken));
  bytes bound(5, std::byte{0x80});
  bound.push_back(std::byte{0x20});
  const auto at = std::ranges::search(taken, bound);
  REQUIRE(at.size() == bound.size());
  at.back() = std::byte{0x40};
  const auto made = restore_cluster(repaired(std::move(taken)));
  REQUIRE(!made);
  CHECK(made.error().message() == "snapshot: log_bound: is more than 2^40");
}

TEST_CASE("tables whose product does not fit into 64 bits are refused like any others that are too large", "[record]") {
  const cluster on;
  saved_state saved = saved_state::of(on, nullptr).value();
  constexpr std::size_t flavors = 8, queues = 9;  // as in model::cluster_restorer
  saved.cluster.tables.at(queues).generations.resize(std::size_t{1} << 22);
  saved.cluster.tables.at(flavors).generations.resize((std::size_t{1} << 22) - 1);
  for (std::size_t i = 0; saved.cluster.kinds.size() + kinds::first_other < std::size_t{1} << 20; ++i)
    saved.cluster.kinds.push_back(std::to_string(i));
  const auto made = saved.restore({}, {}, 1 << 16);
  REQUIRE(!made);
  CHECK(made.error().code == errc::malformed);
  CHECK(made.error().message().find("tables") != std::string::npos);
}

TEST_CASE("whatever stands in a snapshot, with the right checksum, is restored or refused", "[record]") {
  const bytes taken = some_snapshot();
  REQUIRE(repaired(taken) == taken);
  REQUIRE(restore_snapshot(taken, kube()));
  dice any{7};
  std::size_t restored = 0;
  const char* const wanted = std::getenv("GANGSCHED_SNAPSHOT_DAMAGE");  // more of them, by hand
  const long rounds = wanted != nullptr ? std::strtol(wanted, nullptr, 10) : 2000;
  for (long round = 0; round < rounds; ++round) {
    bytes harm = taken;
    for (std::uint64_t changes = 1 + any.below(2); changes > 0; --changes) {
      const std::size_t at = 20 + static_cast<std::size_t>(any.below(harm.size() - 28));
      if (any.percent(50))
        harm[at] = static_cast<std::byte>(any.below(256));
      else
        harm[at] ^= static_cast<std::byte>(1u << any.below(8));
    }
    auto made = restore_snapshot(repaired(std::move(harm)), kube());
    if (!made) continue;
    ++restored;
    static_cast<void>(standing(made->cluster, made->scheduler));
    const instant now{30s};
    while (made->scheduler.schedule_cycle(now)) {
    }
    static_cast<void>(made->scheduler.permit(now));
    for (const node_id node : made->cluster.nodes()) static_cast<void>(made->cluster.remove_node(node));
    for (const pod_id pod : made->cluster.pods()) static_cast<void>(made->cluster.remove_pod(pod));
    static_cast<void>(made->scheduler.schedule_cycle(now + 1s));
  }
  CHECK(restored > 0);  // what a scheduler counts is not checked, for one
}

}  // namespace gangsched::testing::snapshot_test
