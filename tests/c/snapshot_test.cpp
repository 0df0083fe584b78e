// A cluster and its scheduler as bytes: what comes of them goes on as the original, and what is no snapshot makes nothing.
#include <cstdint>
#include <cstring>

#include "c/world.hpp"

namespace gangsched::testing::c_snapshot_test {

namespace {

constexpr std::int64_t second = 1'000'000'000;

struct c_bytes {
  char* it = nullptr;
  std::size_t size = 0;
  c_bytes() = default;
  c_bytes(const c_bytes&) = delete;
  c_bytes& operator=(const c_bytes&) = delete;
  ~c_bytes() { gangsched_free(it); }
  void take(const c_world& of) {
    of.must(gangsched_scheduler_snapshot(of.scheduler, &it, &size, of.error));
    REQUIRE(it != nullptr);
  }
};

/// A world on handles that are made of bytes.
struct c_restored : c_world {
  c_restored() {
    gangsched_cluster_destroy(cluster);
    cluster = nullptr;
  }
  explicit c_restored(const c_bytes& from, const gangsched_configuration* by = nullptr,
                      const gangsched_restore_options* options = nullptr)
      : c_restored() {
    must(restore(from.it, from.size, by, options));
  }
  gangsched_code restore(const void* bytes, std::size_t size, const gangsched_configuration* by = nullptr,
                         const gangsched_restore_options* options = nullptr) {
    return gangsched_scheduler_from_snapshot(bytes, size, by, options, &cluster, &scheduler, error);
  }
};

std::vector<gangsched_decision> decide(const c_world& in, std::int64_t now) {
  std::vector<gangsched_decision> made(16);
  std::size_t count = 0;
  in.must(gangsched_scheduler_run(in.scheduler, now, made.data(), made.size(), &count, in.error));
  made.resize(count);
  return made;
}

/// Two nodes with a gang that runs, who waits behind it, and one that was taken for good.
struct busy_world : c_world {
  busy_world() {
    node("a", 4, 11);
    node("b", 4, 12);
    const auto train = gang("train", 2);
    pod("t0", 3, train, 21);
    pod("t1", 3, train, 22);
    pod("late", 3, {}, 23);
    gangsched_scheduler_options options{};
    options.struct_size = sizeof options;
    options.seed = 7;
    options.unschedulable_timeout = 39 * second;
    schedules(nullptr, &options);
    for (const gangsched_decision& one : decide(*this, second))
      if (one.kind == GANGSCHED_BIND && one.pod_cookie == 21)
        must(gangsched_scheduler_confirm(scheduler, one.pod, one.attempt, error));
  }
};

}  // namespace

TEST_CASE("what is made of a snapshot in C decides as the original goes on to, with its ids, attempts and cookies",
          "[c]") {
  busy_world world;
  const auto before = gangsched_cluster_digest(world.cluster);
  c_bytes bytes;
  bytes.take(world);
  CHECK(gangsched_cluster_digest(world.cluster) == before);

  c_restored again{bytes};
  CHECK(gangsched_cluster_digest(again.cluster) == before);
  const gangsched_pod_id t1 = gangsched_cluster_find_pod(world.cluster, "default", "t1");
  CHECK(gangsched_cluster_find_pod(again.cluster, "default", "t1").value == t1.value);
  CHECK(gangsched_scheduler_counts(again.scheduler).unschedulable == 1);
  const std::int64_t deadline = gangsched_scheduler_next_deadline(again.scheduler);  // by the options of the original
  CHECK(deadline == gangsched_scheduler_next_deadline(world.scheduler));
  CHECK(deadline < 60 * second);
  // The answer to a decision of the original is understood by the restored one.
  const gangsched_attempt attempt = gangsched_cluster_pod_attempt(again.cluster, t1);
  REQUIRE(attempt != 0);
  CHECK(attempt == gangsched_cluster_pod_attempt(world.cluster, t1));
  for (const c_world* one : {static_cast<const c_world*>(&world), static_cast<const c_world*>(&again)}) {
    one->must(gangsched_scheduler_confirm(one->scheduler, t1, attempt, one->error));
    CHECK(gangsched_cluster_pod_state(one->cluster, t1) == GANGSCHED_POD_BOUND);
    one->node("c", 4, 13);
  }
  const auto mine = decide(world, 7 * second), its = decide(again, 7 * second);
  REQUIRE(mine.size() == 1);
  REQUIRE(its.size() == 1);
  CHECK(its[0].kind == GANGSCHED_BIND);
  CHECK(its[0].pod_cookie == 23);
  CHECK(its[0].node_cookie == 13);
  CHECK(its[0].attempt == mine[0].attempt);
  CHECK(its[0].node.value == mine[0].node.value);
  CHECK(gangsched_cluster_digest(again.cluster) == gangsched_cluster_digest(world.cluster));
}

TEST_CASE("a base profile that the options of a scheduler said is said again to restore it", "[c]") {
  c_world world;
  gangsched_scheduler_options made{};
  made.struct_size = sizeof made;
  made.profile = GANGSCHED_PROFILE_WITH_QUEUES;
  world.schedules(nullptr, &made);
  c_bytes bytes;
  bytes.take(world);
  gangsched_restore_options options{};
  options.struct_size = sizeof options;
  c_restored again;
  CHECK(again.restore(bytes.it, bytes.size, nullptr, &options) == GANGSCHED_WRONG_STATE);
  options.profile = 4;
  CHECK(again.restore(bytes.it, bytes.size, nullptr, &options) == GANGSCHED_OUT_OF_RANGE);
  options.profile = GANGSCHED_PROFILE_WITH_QUEUES;
  again.must(again.restore(bytes.it, bytes.size, nullptr, &options));
  CHECK(again.run().empty());
}

TEST_CASE("bytes in C are the host's: they may go before and after what was made of them, and are the same each time",
          "[c]") {
  auto world = std::make_unique<busy_world>();
  auto bytes = std::make_unique<c_bytes>();
  bytes->take(*world);
  c_bytes same;
  same.take(*world);
  REQUIRE(same.size == bytes->size);
  CHECK(std::memcmp(same.it, bytes->it, same.size) == 0);
  world.reset();
  c_restored again{*bytes};
  bytes.reset();
  c_bytes third;
  third.take(again);
  REQUIRE(third.size == same.size);
  CHECK(std::memcmp(third.it, same.it, same.size) == 0);
}

TEST_CASE("decisions that nobody took are not lost in a snapshot: it is refused until they are", "[c]") {
  c_world world;
  world.node("a", 4);
  const auto pod = world.pod("p", 1);
  world.schedules();
  world.must(gangsched_scheduler_schedule_cycle(world.scheduler, 0, nullptr, world.error));
  c_bytes bytes;
  CHECK(gangsched_scheduler_snapshot(world.scheduler, &bytes.it, &bytes.size, world.error) == GANGSCHED_WRONG_STATE);
  CHECK(world.error.message() == "snapshot: scheduler: has decisions that wait to be taken");
  CHECK(bytes.it == nullptr);
  CHECK(bytes.size == 0);
  gangsched_decision one{};
  std::size_t count = 0;
  world.must(gangsched_scheduler_take(world.scheduler, &one, 1, &count, world.error));
  REQUIRE(count == 1);
  bytes.take(world);
  c_restored again{bytes};
  again.must(gangsched_scheduler_confirm(again.scheduler, one.pod, one.attempt, again.error));
  CHECK(gangsched_cluster_pod_state(again.cluster, pod) == GANGSCHED_POD_BOUND);
}

TEST_CASE("of damaged bytes nothing is made, and handles stay as they were", "[c]") {
  busy_world world;
  c_bytes bytes;
  bytes.take(world);
  c_restored again;
  const auto refused = [&](const std::string& text) {
    CHECK(again.restore(text.data(), text.size()) == GANGSCHED_MALFORMED);
    CHECK(again.cluster == nullptr);
    CHECK(again.scheduler == nullptr);
    gangsched_cluster* alone = nullptr;
    CHECK(gangsched_cluster_from_snapshot(text.data(), text.size(), &alone, again.error) == GANGSCHED_MALFORMED);
    CHECK(alone == nullptr);
    return again.error.message();
  };
  const std::string whole{bytes.it, bytes.size};
  CHECK(refused("") == "snapshot: bytes: are not those of a snapshot");
  CHECK(refused("hello, this is a text") == "snapshot: bytes: are not those of a snapshot");
  CHECK(refused(whole.substr(0, whole.size() / 2)) == "snapshot: bytes: are cut off, or more than there were");
  CHECK(refused(whole + "x") == "snapshot: bytes: are cut off, or more than there were");
  for (std::size_t at = 20; at < whole.size(); at += 97) {
    std::string harmed = whole;
    harmed[at] = static_cast<char>(harmed[at] ^ 0x10);
    INFO("byte " << at);
    CHECK(refused(harmed) == "snapshot: checksum: does not match: the bytes are damaged");
  }
  again.must(again.restore(whole.data(), whole.size()));
  CHECK(gangsched_cluster_digest(again.cluster) == gangsched_cluster_digest(world.cluster));
}

TEST_CASE("a snapshot in C is refused with other profiles than it was taken with, and made with the same ones", "[c]") {
  c_world world;
  world.node("a", 4);
  world.pod("p", 1);
  gangsched_configuration* by = nullptr;
  world.must(gangsched_configuration_create(&by, world.error));
  gangsched_profile_spec profile{};
  profile.struct_size = sizeof profile;
  profile.base = GANGSCHED_PROFILE_WITH_QUEUES;
  world.must(gangsched_configuration_add_profile(by, nullptr, &profile, world.error));
  world.schedules(by);
  c_bytes bytes;
  bytes.take(world);

  c_restored again;
  CHECK(again.restore(bytes.it, bytes.size) == GANGSCHED_WRONG_STATE);
  CHECK_FALSE(again.error.message().empty());
  CHECK(again.cluster == nullptr);
  again.must(again.restore(bytes.it, bytes.size, by));
  gangsched_configuration_destroy(by);
  CHECK(again.run() == std::vector<std::string>{"p bind a"});
}

TEST_CASE("a cluster is saved alone, and comes out of any snapshot for a scheduler that begins anew", "[c]") {
  busy_world world;
  c_bytes alone, whole;
  world.must(gangsched_cluster_snapshot(world.cluster, &alone.it, &alone.size, world.error));
  whole.take(world);
  CHECK(alone.size < whole.size);
  for (const c_bytes* one : {&alone, &whole}) {
    c_restored again;
    again.must(gangsched_cluster_from_snapshot(one->it, one->size, &again.cluster, again.error));
    CHECK(gangsched_cluster_digest(again.cluster) == gangsched_cluster_digest(world.cluster));
    again.schedules();
    CHECK(again.run(second) == std::vector<std::string>{"late reject"});
  }
  c_restored none;
  CHECK(none.restore(alone.it, alone.size) == GANGSCHED_WRONG_STATE);
  CHECK(none.error.message() == "snapshot: scheduler: the cluster was saved alone");
}

TEST_CASE("who watches a restored scheduler is said anew, and counts from zero", "[c]") {
  busy_world world;
  c_bytes bytes;
  bytes.take(world);
  gangsched_restore_options options{};
  options.struct_size = sizeof options;
  options.metrics = GANGSCHED_METRICS_TIMED;
  options.events_kept = 8;
  options.trace = GANGSCHED_TRACE_BY_NOW;
  c_restored again{bytes, nullptr, &options};
  again.node("c", 4);
  CHECK(again.run(20 * second) == std::vector<std::string>{"late bind c"});
  again.must(gangsched_scheduler_confirm(again.scheduler, gangsched_cluster_find_pod(again.cluster, "default", "late"),
                                         0, again.error));
  char* text = nullptr;
  again.must(gangsched_scheduler_metrics(again.scheduler, &text, again.error));
  const std::string metrics = text;
  gangsched_free(text);
  CHECK(metrics.find("scheduler_schedule_attempts_total{result=\"scheduled\",profile=\"default-scheduler\"} 1\n") !=
        std::string::npos);
  gangsched_pod_event event{};
  std::size_t count = 0;
  again.must(gangsched_scheduler_events(again.scheduler, &event, 1, &count, again.error));
  REQUIRE(count == 1);
  CHECK(text_of(event.reason) == "Scheduled");
  CHECK(text_of(event.name) == "late");
  again.must(gangsched_scheduler_trace(again.scheduler, &text, again.error));
  CHECK(std::string{text}.find("late") != std::string::npos);
  gangsched_free(text);
  // A snapshot of a scheduler whose hooks are measured is that of one whose hooks are not.
  c_bytes measured;
  measured.take(again);
  c_restored third{measured};
  CHECK(gangsched_cluster_digest(third.cluster) == gangsched_cluster_digest(again.cluster));

  c_restored none;
  options.metrics = 9;
  CHECK(none.restore(bytes.it, bytes.size, nullptr, &options) == GANGSCHED_OUT_OF_RANGE);
  options.metrics = 0;
  options.struct_size = 4;
  CHECK(none.restore(bytes.it, bytes.size, nullptr, &options) == GANGSCHED_MALFORMED);
  CHECK(none.cluster == nullptr);
}

TEST_CASE("a snapshot in C is refused from inside a callback, and where a pointer is null", "[c]") {
  busy_world world;
  c_bytes bytes;
  std::size_t size = 0;
  CHECK(gangsched_scheduler_snapshot(nullptr, &bytes.it, &size, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_snapshot(world.scheduler, nullptr, &size, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_snapshot(world.scheduler, &bytes.it, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_cluster_snapshot(nullptr, &bytes.it, &size, world.error) == GANGSCHED_MALFORMED);
  CHECK(bytes.it == nullptr);
  bytes.take(world);
  c_restored again;
  CHECK(again.restore(nullptr, 5) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_from_snapshot(bytes.it, bytes.size, nullptr, nullptr, nullptr, &again.scheduler,
                                          again.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_from_snapshot(bytes.it, bytes.size, nullptr, nullptr, &again.cluster, nullptr,
                                          again.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_cluster_from_snapshot(nullptr, 0, &again.cluster, again.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_cluster_from_snapshot(bytes.it, bytes.size, nullptr, again.error) == GANGSCHED_MALFORMED);

  struct asks {
    const gangsched_scheduler* scheduler = nullptr;
    const gangsched_cluster* cluster = nullptr;
    std::vector<gangsched_code> said = {};
  } inside;
  c_world other;
  other.node("a", 4);
  other.pod("p", 1);
  gangsched_plugin plugin{};
  plugin.struct_size = sizeof plugin;
  plugin.name = "Asks";
  plugin.user_data = &inside;
  plugin.reads = GANGSCHED_READS_EVERYTHING;
  plugin.filter = [](void* self, const gangsched_pod_view*, const gangsched_nodes_view*, std::size_t,
                     gangsched_verdict*) {
    auto& on = *static_cast<asks*>(self);
    char* made = nullptr;
    std::size_t length = 0;
    on.said.push_back(gangsched_scheduler_snapshot(on.scheduler, &made, &length, nullptr));
    on.said.push_back(gangsched_cluster_snapshot(on.cluster, &made, &length, nullptr));
    gangsched_free(made);
  };
  gangsched_registry* registry = nullptr;
  gangsched_configuration* by = nullptr;
  other.must(gangsched_registry_create(&registry, other.error));
  other.must(gangsched_registry_add(registry, &plugin, other.error));
  other.must(gangsched_configuration_create(&by, other.error));
  const gangsched_profile_plugin named{"Asks", 0, nullptr};
  gangsched_profile_spec profile{};
  profile.struct_size = sizeof profile;
  profile.plugins = &named;
  profile.plugin_count = 1;
  other.must(gangsched_configuration_add_profile(by, registry, &profile, other.error));
  other.schedules(by);
  inside.scheduler = other.scheduler, inside.cluster = other.cluster;
  CHECK(other.run() == std::vector<std::string>{"p bind a"});
  REQUIRE(inside.said.size() == 2);
  CHECK(inside.said[0] == GANGSCHED_BUSY);
  CHECK(inside.said[1] == GANGSCHED_BUSY);
  gangsched_registry_destroy(registry);
  gangsched_configuration_destroy(by);
}

}  // namespace gangsched::testing::c_snapshot_test
