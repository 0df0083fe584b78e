#include <map>
#include <memory>
#include <random>

#include "../../examples/restart.hpp"
#include "engine/world.hpp"

namespace gangsched::testing::restart_test {

namespace {

/// What outlives the host: what it saved, and what runs.
struct outside {
  struct pod {
    pod_spec spec;
    std::string group, node, nominated, binding;
    queue_position position = {};
    std::optional<waiting_pod> waiting = {};
  };
  std::vector<node_spec> nodes;  // in order of arrival
  std::vector<group_spec> groups;
  std::map<std::string, pod> pods;
  std::map<std::string, std::string> runs;  // the kubelets' word: pod, node
  instant now{0};
  int starts = 0, crashes = 0, restored_waits = 0;

  [[nodiscard]] std::int64_t cpu(const std::string& pod_name) const {
    std::int64_t cores = 0;
    for (const container& one : pods.at(pod_name).spec.containers) {
      std::int64_t milli = 0;
      REQUIRE(one.requests.at("cpu").milli_value(milli));
      cores += milli / 1000;
    }
    return cores;
  }
  void start(const std::string& pod_name, const std::string& node) {
    ++starts;
    CAPTURE(pod_name, node);
    CHECK_FALSE(runs.contains(pod_name));  // nobody runs twice
    runs[pod_name] = node;
    std::int64_t used = 0, has = 0;
    for (const auto& [other, where] : runs) used += where == node ? cpu(other) : 0;
    for (const node_spec& one : nodes) {
      std::int64_t milli = 0;
      if (one.name == node && one.allocatable.at("cpu").milli_value(milli)) has = milli / 1000;
    }
    CHECK(used <= has);  // no overcommit
  }
};

struct crashed {};

/// The host's process: the loop of docs/embedding.md, which saves before it acts. It crashes at its @p left-th step.
struct process {
  outside& life;
  int left;
  gangsched::cluster cluster;
  std::optional<gangsched::scheduler> scheduler;

  process(outside& of, int steps) : life(of), left(steps) {
    for (const node_spec& one : life.nodes) REQUIRE(cluster.add_node(one));
    for (const group_spec& one : life.groups) REQUIRE(cluster.add_group(one));
    std::vector<saved_pod> saved;
    for (const auto& [name, one] : life.pods) {
      saved_pod pod{one.spec, one.position, node(one.binding), one.waiting};
      pod.spec.node = node(one.node);
      pod.spec.nominated_node = node(one.nominated);
      if (!one.group.empty()) pod.spec.group = cluster.find_group("default", one.group).value();
      life.restored_waits += one.waiting ? 1 : 0;
      saved.push_back(std::move(pod));
    }
    std::vector<pod_id> ids;
    scheduler.emplace(world::must(resume(cluster, saved, ids)));
    // (The names of those that were being bound: an answer may send others back.)
    std::vector<std::string> open;
    for (const auto& [name, one] : life.pods) {
      if (!one.binding.empty() && !one.waiting) open.push_back(name);
    }
    for (const std::string& name : open) {
      const pod_id pod = id(name);
      if (cluster.state_of(pod) == pod_state::assumed) run(name, cluster.attempt_of(pod), 0);
    }
  }
  /// The host may end here.
  void step() {
    if (left != 0 && --left == 0) throw crashed{};
  }
  [[nodiscard]] node_id node(const std::string& name) const {
    return name.empty() ? node_id{} : cluster.find_node(name).value();
  }
  [[nodiscard]] pod_id id(std::string_view name) const { return cluster.find_pod("default", name).value(); }
  [[nodiscard]] std::string text(pod_id pod) const { return std::string{cluster.name_of(pod)}; }
  [[nodiscard]] std::string text(node_id of) const { return std::string{cluster.name_of(of)}; }

  /// All that one call decided, in one write: a gang is on disk as a whole or not at all.
  void save(const gangsched::cycle& cycle) {
    const std::vector<waiting_pod> room = world::must(scheduler->waiting());
    for (const decision& one : cycle.decisions()) {
      if (!cluster.contains(one.pod)) continue;
      outside::pod& pod = life.pods.at(text(one.pod));
      if (one.kind == decision_kind::nominate) pod.nominated = text(one.node);
      if (one.kind == decision_kind::bind || one.kind == decision_kind::wait) {
        pod.binding = text(one.node);
        pod.nominated.clear();
      }
      if (one.kind == decision_kind::bind || one.kind == decision_kind::revoke) pod.waiting.reset();
      if (one.kind == decision_kind::revoke) pod.binding.clear();
      for (const waiting_pod& waiting : room) {
        if (one.kind == decision_kind::wait && waiting.pod == one.pod) pod.waiting = waiting;
      }
      if (one.kind == decision_kind::reject || one.kind == decision_kind::revoke)
        pod.position = world::must(scheduler->standing(one.pod)).position();
    }
    step();
  }
  void execute(const gangsched::cycle& cycle, unsigned refused) {
    REQUIRE(cycle.error() == nullptr);
    save(cycle);
    for (const decision& one : cycle) {
      const std::string name = text(one.pod);
      switch (one.kind) {
        case decision_kind::bind: run(name, one.attempt, refused); break;
        case decision_kind::evict:
          // Its object goes with it, in one write; whoever controls it makes another.
          life.runs.erase(name);
          life.pods.at(name).node.clear();
          life.pods.at(name).position = {};
          step();
          replace(name);
          break;
        case decision_kind::revoke:
          if (life.runs.contains(name)) life.runs.erase(name), step();
          break;
        case decision_kind::wait:
        case decision_kind::nominate:
        case decision_kind::notice:
        case decision_kind::withdraw:
        case decision_kind::reject: break;
      }
    }
  }
  /// @p refused: of a hundred starts so many fail.
  void run(const std::string& name, bind_attempt attempt, unsigned refused) {
    const std::string where = life.pods.at(name).binding;
    if (!life.runs.contains(name)) {
      step();
      if (static_cast<unsigned>(life.starts * 37 % 100) < refused) {
        ++life.starts;
        const gangsched::cycle answer = scheduler->fail(id(name), attempt, "the node could not");
        life.pods.at(name).binding.clear();
        life.pods.at(name).position = world::must(scheduler->standing(id(name))).position();
        return execute(answer, refused);
      }
      life.start(name, where);
      step();
    }
    world::must(scheduler->confirm(id(name), attempt));
    life.pods.at(name).binding.clear();
    life.pods.at(name).node = where;
    step();
  }
  void replace(const std::string& name) {
    pod_spec spec = life.pods.at(name).spec;
    spec.group =
        life.pods.at(name).group.empty() ? group_id{} : cluster.find_group("default", life.pods.at(name).group).value();
    if (const auto old = cluster.find_pod("default", name)) world::must(cluster.remove_pod(*old));
    world::must(cluster.add_pod(spec));
  }
  void turn(unsigned refused) {
    for (bool more = true; more;) {
      const gangsched::cycle cycle = scheduler->schedule_cycle(life.now);
      execute(cycle, refused);
      more = static_cast<bool>(cycle);
    }
    execute(scheduler->permit(life.now), refused);
  }
};

/// A random life of a cluster, with a host that crashes when @p next_crash says so (steps until then, 0: never). In the end everybody runs.
template <class NextCrash>
outside live(unsigned seed, int operations, const NextCrash& next_crash) {
  outside life;
  std::mt19937 random{seed};
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  std::unique_ptr<process> host;
  const auto guarded = [&](const auto& what) {
    for (bool done = false; !done;) {
      try {
        if (host == nullptr) host = std::make_unique<process>(life, next_crash());
        what();
        done = true;
      } catch (const crashed&) {
        ++life.crashes;
        host.reset();
      }
    }
  };
  int made = 0;
  const auto add_node = [&](std::int64_t cores) {
    life.nodes.push_back(a_node{"n" + std::to_string(life.nodes.size())}.cpu(cores));
    if (host != nullptr) world::must(host->cluster.add_node(life.nodes.back()));
  };
  const auto add_pod = [&](const std::string& group) {
    const std::string name = "p" + std::to_string(made++);
    outside::pod pod{a_pod{name}.cpu(1 + below(3)).priority(group.empty() ? below(3) : 1), group, {}, {}, {}};
    life.pods.emplace(name, pod);
    if (host == nullptr) return;
    if (!group.empty()) pod.spec.group = host->cluster.find_group("default", group).value();
    world::must(host->cluster.add_pod(pod.spec));
  };
  for (int i = 0; i < 3; ++i) add_node(4);
  for (int operation = 0; operation < operations; ++operation) {
    switch (below(6)) {
      case 0: add_node(2 + below(4)); break;
      case 1: {
        const int size = 2 + below(2);
        a_gang gang{"g" + std::to_string(life.groups.size()), size};
        if (below(2) == 0) gang.permit().timeout(20s);
        life.groups.push_back(gang);
        if (host != nullptr) world::must(host->cluster.add_group(gang));
        for (int i = 0; i < size; ++i) add_pod(life.groups.back().name);
        break;
      }
      case 2: {
        std::vector<std::string> single;
        for (const auto& [name, node] : life.runs) {
          if (life.pods.at(name).group.empty() && life.pods.at(name).node == node) single.push_back(name);
        }
        if (single.empty()) break;
        const std::string name = single[static_cast<std::size_t>(below(static_cast<unsigned>(single.size())))];
        life.runs.erase(name);
        life.pods.erase(name);
        if (host != nullptr) world::must(host->cluster.remove_pod(host->id(name)));
        break;
      }
      default: add_pod({}); break;
    }
    life.now += std::chrono::milliseconds{below(4000)};
    guarded([&] { host->turn(10); });
  }
  // With room and time everybody runs.
  for (int i = 0; i < 40; ++i) add_node(8);
  for (int i = 0; i < 40; ++i) {
    const instant latest = life.now + std::chrono::minutes{2};
    life.now = std::max(life.now + 1ms, std::min(latest, host->scheduler->next_deadline().value_or(latest)));
    guarded([&] { host->turn(0); });
  }
  CHECK(life.runs.size() == life.pods.size());  // nobody is lost
  for (const auto& [name, pod] : life.pods) {
    CAPTURE(name);
    CHECK(pod.node == life.runs[name]);
    CHECK(pod.binding.empty());
    CHECK(host->cluster.state_of(host->id(name)) == pod_state::bound);
    CHECK(host->text(host->cluster.node_of(host->id(name))) == pod.node);
  }
  return life;
}

TEST_CASE("a host that crashes at any step of its loop goes on from what it saved", "[engine][restart][property]") {
  const auto seed = static_cast<unsigned>(GENERATE(range(0, 3)));
  int crash_at = 1;
  for (bool crashing = true; crashing; ++crash_at) {
    CAPTURE(seed, crash_at);
    bool first = true;
    const outside after = live(seed, 14, [&] { return std::exchange(first, false) ? crash_at : 0; });
    crashing = after.crashes != 0;
  }
  CHECK(crash_at > 60);
}

TEST_CASE("so does one that crashes again and again", "[engine][restart][property]") {
  int crashes = 0, waits = 0;
  for (unsigned seed = 100; seed < 130; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const outside after = live(seed, 40, [&] { return 5 + static_cast<int>(random() % 40); });
    crashes += after.crashes;
    waits += after.restored_waits;
  }
  CHECK(crashes > 100);
  CHECK(waits > 10);
}

TEST_CASE("a pod in the permit room is restored with who holds it and until when", "[engine][restart]") {
  world before;
  before.add(a_node{"n"}.cpu(8));
  const group_id gang = before.add(a_gang{"g", 2}.permit().timeout(30s));
  before.add(a_pod{"m1"}.cpu(1).in(gang));
  before.add(a_pod{"m2"}.cpu(100).in(gang));
  before.now = 10s;
  CHECK(before.run() == words{"wait m1 n", "reject m2"});
  waiting_pod saved = world::must(before.scheduler.waiting()).at(0);

  gangsched::cluster cluster;
  const node_id n = cluster.add_node(a_node{"n"}.cpu(8)).value();
  const group_id again = cluster.add_group(a_gang{"g", 2}.permit().timeout(30s)).value();
  const pod_id m1 = cluster.add_pod(a_pod{"m1"}.cpu(1).in(again)).value();
  REQUIRE(cluster.assume(m1, n));
  gangsched::scheduler scheduler{cluster, profiles::kube_default(), world::lowest_first()};
  saved.pod = m1;
  waiting_pod wrong = saved;
  wrong.holders.push_back({"Nobody", 1s});
  CHECK(scheduler.restore(wrong).error().code == errc::malformed);
  world::must(scheduler.restore(saved));
  CHECK(scheduler.restore(saved).error().code == errc::wrong_state);
  const std::vector<waiting_pod> room = world::must(scheduler.waiting());
  REQUIRE(room.size() == 1);
  CHECK(room[0].holders == std::vector<waiting_pod::holder>{{"GangScheduling", 40s}});
  CHECK(room[0].attempt == cluster.attempt_of(m1));
  CHECK(scheduler.permit(20s).decisions().empty());
  CHECK(scheduler.next_deadline() == 40s);

  SECTION("its time ends when it would have") {
    const auto ended = scheduler.permit(40s);
    REQUIRE(ended.decisions().size() == 1);
    CHECK(ended.decisions()[0].kind == decision_kind::revoke);
  }
  SECTION("it goes when its gang is complete") {
    REQUIRE(cluster.add_pod(a_pod{"m2"}.cpu(1).in(again)));
    const auto placed = scheduler.schedule_cycle(25s);
    REQUIRE(placed.decisions().size() == 1);
    std::vector<pod_id> bound;
    for (const decision& one : placed) {
      if (one.kind == decision_kind::bind) bound.push_back(one.pod);
    }
    for (const decision& one : scheduler.permit(25s)) {
      if (one.kind == decision_kind::bind) bound.push_back(one.pod);
    }
    CHECK(bound.size() == 2);
  }
  SECTION("what the host had answered stays answered") {
    world::must(scheduler.allow(m1, "GangScheduling"));
    saved = world::must(scheduler.waiting()).at(0);
    CHECK(saved.allowed == words{"GangScheduling"});
    CHECK(saved.holders.empty());
  }
  SECTION("a word of the host's against it stays, too") {
    world::must(scheduler.reject(m1, "no"));
    CHECK(world::must(scheduler.waiting()).at(0).rejected);
  }
}

TEST_CASE("errors in a row are restored with their backoff", "[engine][restart]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  const pod_id p = w.add(a_pod{"p"}.cpu(1));
  CHECK(w.run() == words{"bind p n"});
  CHECK(w.fail(p).empty());
  CHECK(w.run_at(1s) == words{"bind p n"});
  CHECK(w.fail(p).empty());
  const queue_position saved = world::must(w.scheduler.standing(p)).position();
  CHECK(saved.errors == 2);
  CHECK(saved.attempts == 2);
  CHECK(saved.since == 1s);

  world again;
  again.add(a_node{"n"}.cpu(8));
  const pod_id same = again.add(a_pod{"p"}.cpu(1));
  world::must(again.scheduler.restore(same, saved));
  CHECK(world::must(again.scheduler.standing(same)).place == queue_place::error_backoff);
  CHECK(world::must(again.scheduler.standing(same)).backoff_until == 3s);
  CHECK(world::must(again.scheduler.standing(same)).attempts == 2);
  CHECK(again.run_at(2s).empty());
  CHECK(again.run_at(3s) == words{"bind p n"});
}

}  // namespace

}  // namespace gangsched::testing::restart_test
