// What the calls of the host's loop allocate once everything has been seen: a program of its own, because it counts for all of it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

#include "devices/numa_nodes.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/queues/koordinator/elastic_quota.hpp"
#include "gangsched/queues/kueue/admission_controller.hpp"
#include "gangsched/queues/water_filling.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#ifdef GANGSCHED_TEST_REPORT
#include "gangsched/report/metrics.hpp"
#include "gangsched/report/trace.hpp"
#endif

namespace {
std::size_t allocations = 0, largest = 0;

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  largest = std::max(largest, size);
  void* const made = alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                                    : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (made == nullptr) throw std::bad_alloc{};
  return made;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size, 0); }
void* operator new[](std::size_t size) { return counted(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
// What asks for memory without an exception is sanitizers' own otherwise, and not for operator delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
// Not inlined: gcc takes what is left of one, a call of free, for the wrong end of what operator new gave.
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete[](void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete[](void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }

namespace gangsched::testing::allocations_test {

namespace {

/// How often each call allocated in all rounds together.
struct counts {
  std::size_t cycle = 0, confirm = 0, permit = 0, remove = 0, add = 0;
  std::size_t placed = 0, rejected = 0;
};

/// A host whose pods come and go in order; the kinds in turn.
class host {
 public:
  explicit host(gangsched::cluster& cluster, std::vector<pod_spec> kinds, std::size_t pods, observer* watcher)
      : cluster_(&cluster),
        scheduler_(cluster,
                   watcher != nullptr ? measure_hooks(profiles::kube_default(), *watcher) : profiles::kube_default(),
                   {.ties = tie_rule::lowest_row}),
        kinds_(std::move(kinds)) {
    there_.resize(pods);
    REQUIRE(scheduler_.observe(watcher));
  }
  counts rounds(std::size_t number) {
    counts made;
    for (std::size_t i = 0; i < number; ++i) round(made);
    return made;
  }

 private:
  template <class Call>
  static void count(std::size_t& sum, const Call& call) {
    const std::size_t before = allocations;
    call();
    sum += allocations - before;
  }
  void round(counts& made) {
    const std::size_t place = next_ % there_.size();
    if (there_[place]) count(made.remove, [&] { static_cast<void>(cluster_->remove_pod(there_[place])); });
    pod_spec& spec = kinds_[next_ % kinds_.size()];
    spec.name = "pod-" + std::to_string(next_++);
    count(made.add, [&] { there_[place] = cluster_->add_pod(spec).value(); });
    now_ += std::chrono::milliseconds{1};
    for (bool more = true; more;) {
      std::array<pod_id, 16> bound{};
      std::size_t binds = 0;
      count(made.cycle, [&] {
        const cycle done = scheduler_.schedule_cycle(now_);
        more = static_cast<bool>(done);
        for (const decision& one : done) {
          if (one.kind == decision_kind::bind)
            bound[binds++] = one.pod;
          else
            ++made.rejected;
        }
      });
      made.placed += binds;
      for (std::size_t i = 0; i < binds; ++i) {
        count(made.confirm, [&] { static_cast<void>(scheduler_.confirm(bound[i])); });
      }
    }
    count(made.permit, [&] { static_cast<void>(scheduler_.permit(now_)); });
  }

  gangsched::cluster* cluster_;
  gangsched::scheduler scheduler_;
  std::vector<pod_spec> kinds_;
  std::vector<pod_id> there_;
  std::size_t next_ = 0;
  instant now_{0};
};

/// Everybody who comes is placed, and the calls of the loop allocate nothing; cycles only if the node's kubelet @p aligns.
void check_steady(gangsched::cluster& cluster, std::vector<pod_spec> kinds, std::size_t pods, bool aligns = false,
                  observer* watcher = nullptr) {
  host all{cluster, std::move(kinds), pods, watcher};
  static_cast<void>(all.rounds(8000));  // as long as tables grow
  const counts made = all.rounds(2000);
  CHECK(made.placed == 2000);
  CHECK(made.rejected == 0);
  if (!aligns) CHECK(made.cycle == 0);
  CHECK(made.confirm == 0);
  CHECK(made.permit == 0);
  CHECK(made.remove <= 2);  // the table of names is cleaned up now and then
  CHECK(made.add <= 2);     // the same
}

void add_nodes(gangsched::cluster& cluster, const a_node& like, int number) {
  for (int i = 0; i < number; ++i) {
    node_spec one = like;
    one.name = "n" + std::to_string(i);
    REQUIRE(cluster.add_node(one));
  }
}

}  // namespace

TEST_CASE("a steady-state cycle allocates nothing: pods without devices", "[allocations]") {
  gangsched::cluster cluster;
  add_nodes(cluster, a_node{"n"}.cpu(16).memory("64Gi").zone("a"), 20);
  check_steady(
      cluster,
      {a_pod{"p"}.cpu(1).memory("1Gi"), a_pod{"p"}.cpu(2).priority(7), a_pod{"p"}.cpu_milli(100).label("app", "web")},
      60);
}

#ifdef GANGSCHED_TEST_REPORT
namespace {
std::uint64_t the_time = 0;
std::uint64_t ticking() noexcept { return the_time += 1000; }
}  // namespace

TEST_CASE("a steady-state cycle allocates nothing: with metrics and a trace", "[allocations]") {
  gangsched::cluster cluster;
  report::metrics metrics{{.clock = ticking}};
  report::trace trace{cluster, {.clock = ticking, .records = 1000}};
  observer_list both{&metrics, &trace};
  add_nodes(cluster, a_node{"n"}.cpu(16).memory("64Gi").zone("a"), 20);
  check_steady(
      cluster,
      {a_pod{"p"}.cpu(1).memory("1Gi"), a_pod{"p"}.cpu(2).priority(7), a_pod{"p"}.cpu_milli(100).label("app", "web")},
      60, false, &both);
  CHECK(trace.dropped() > 10'000);
}
#endif

TEST_CASE("a steady-state cycle allocates nothing: pods in queues", "[allocations]") {
  gangsched::cluster cluster;
  cluster.queues().set_flavor({.name = "zone-a", .node_labels = {{"topology.kubernetes.io/zone", "a"}}}).value();
  static_cast<void>(cluster.queues().add({.name = "team", .parent = "company", .namespaces = {"default"}}).value());
  add_nodes(cluster, a_node{"n"}.cpu(16).memory("64Gi").zone("a"), 20);
  a_pod named = a_pod{"p"}.cpu(1);
  named.spec.queue = "other-team";
  check_steady(cluster, {a_pod{"p"}.cpu(1).memory("1Gi"), named, a_pod{"p"}.cpu(2).priority(7)}, 60);
  CHECK(cluster.queues().usage_of(cluster.queues().find("team").value(), "zone-a").used.at("pods") > 10);
}

TEST_CASE("a steady-state cycle allocates nothing: whole GPUs, shares and GPUs by number", "[allocations]") {
  gangsched::cluster cluster;
  a_node node = a_node{"n"}.cpu(64).gpus(8);
  node.spec.devices = make_node_devices(gpu_machine::dgx1_v100, "V100", 32768);
  add_nodes(cluster, node, 10);
  check_steady(cluster,
               {a_pod{"p"}.cards(1), a_pod{"p"}.milli(300), a_pod{"p"}.cards(4), a_pod{"p"}.milli(500),
                a_pod{"p"}.gpus(2), a_pod{"p"}.device({.count = 2, .within = device_scope::nvlink})},
               20);
}

TEST_CASE("a steady-state cycle allocates nothing: MIG instances", "[allocations]") {
  gangsched::cluster cluster;
  a_node node = a_node{"n"}.cpu(64).cards(4, "NVIDIA-A100-SXM4-40GB");
  for (gpu_spec& one : node.spec.devices.gpus) one.mig = mig_mode::dynamic;
  add_nodes(cluster, node, 10);
  check_steady(cluster,
               {a_pod{"p"}.device({.mig_profile = "1g.5gb"}), a_pod{"p"}.device({.mig_profile = "3g.20gb"}),
                a_pod{"p"}.device({.count = 2, .mig_profile = "2g.10gb"})},
               20);
}

TEST_CASE("a steady-state cycle allocates nothing: devices of claims", "[allocations]") {
  gangsched::cluster cluster;
  a_node node = a_node{"n"}.cpu(64).cards(4);
  for (int i = 0; i < 8; ++i) {
    node.spec.devices.gpus[static_cast<std::size_t>(i / 2)].pcie = i / 2;
    node.spec.devices.others.push_back(
        {.id = "nic" + std::to_string(i), .device_class = "rdma", .units = 4, .pcie = i / 2});
  }
  add_nodes(cluster, node, 10);
  check_steady(cluster,
               {a_pod{"p"}.device({.device_class = "rdma"}), a_pod{"p"}.device({.device_class = "rdma", .count = 2}),
                a_pod{"p"}.cards(1).device({.device_class = "rdma", .beside_gpus = device_scope::pcie})},
               20);
}

TEST_CASE("what is not the choice itself allocates nothing where a kubelet aligns", "[allocations]") {
  gangsched::cluster cluster;
  a_node node = a_node{"n"}.cpu(16).memory("200").gpus(4).cards(4);
  node_numa numa;
  numa.cells = numa_cells(2, 16, [](numa_cpu& cpu, unsigned& cell) { cpu.socket = cell = cpu.id / 8; });
  for (numa_cell& cell : numa.cells) cell.memory_bytes = 100;
  numa.policy = numa_policy::single_numa_node;
  numa.cpu.is_static = numa.static_memory = true;
  for (std::size_t i = 0; i < 4; ++i) node.spec.devices.gpus[i].numa = i < 2 ? 0 : 1;
  node.spec.devices.numa = numa;
  add_nodes(cluster, node, 10);
  a_pod own = a_pod{"p"}.cpu(2).memory("10"), with_gpu = a_pod{"p"}.cpu(2).memory("10").gpus(1);
  own.spec.guaranteed = with_gpu.spec.guaranteed = true;
  check_steady(cluster, {own, with_gpu}, 20, true);
}

TEST_CASE("who fails again and again behind somebody who waits takes no more memory each time", "[allocations]") {
  for (const bool in_gang : {false, true}) {
    for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::hints}) {
      gangsched::cluster cluster;
      REQUIRE(cluster.add_node(a_node{"n"}.cpu(1)));
      gangsched::scheduler by{cluster, profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = rule}};
      instant now{0};
      const auto reject = [&] {
        std::size_t rejected = 0;
        while (const cycle done = by.schedule_cycle(now)) rejected += done.decisions().size();
        return rejected;
      };
      const auto add = [&](const char* name, int cpu) {
        a_pod pod{name};
        pod.cpu(cpu);
        if (in_gang) pod.in(cluster.add_group(a_gang{name, 1}).value());
        return cluster.add_pod(pod).value();
      };
      static_cast<void>(add("first", 2));
      REQUIRE(reject() == 1);
      const pod_id again[]{add("again", 3)};
      largest = 0;
      for (int i = 0; i < 20'000; ++i) {
        now += std::chrono::nanoseconds{1};
        REQUIRE(by.activate(again, now));
        REQUIRE(reject() == 1);
      }
      INFO((in_gang ? "gang, " : "pod, ") << static_cast<int>(rule));
      CHECK(largest < 64 * 1024);
    }
  }
}

TEST_CASE("quotas that are counted, divided and asked for admission allocate nothing", "[allocations]") {
  using namespace queues;
  const queue_link links[]{{"a"}, {"b"}, {"a1", "a"}, {"a2", "a"}};
  std::vector<koordinator::quota_spec> specs(4);
  for (koordinator::quota_spec& one : specs) {
    one.min.push_back(2);
    one.max.push_back(20);
  }
  constexpr std::int64_t total[]{4}, more[]{10}, request[]{3};
  const queue_tree tree = queue_tree::make(links).value();
  auto quotas = koordinator::elastic_quotas::make(tree, specs, total).value();
  const koordinator::quota_pod pod{request};
  std::vector<fill_claim> claims(4);
  claims[1].request = claims[2].request = claims[3].request = 7;
  std::vector<std::int64_t> shares(4);
  water_filling fill;
  std::size_t admitted = 0, refused = 0;
  const auto round = [&] {
    for (const queue_index quota : {1u, 2u, 3u, quotas.default_quota()}) {
      quotas.add_pod(quota, pod).value();
      quotas.set_total(admitted % 2 == 0 ? std::span{total} : std::span{more}).value();
      ++(quotas.admit(quota, pod).value() ? admitted : refused);
      quotas.assign_pod(quota, pod).value();
    }
    quotas.refresh();
    for (const queue_index quota : {1u, 2u, 3u, quotas.default_quota()}) {
      quotas.unassign_pod(quota, pod).value();
      quotas.remove_pod(quota, pod).value();
    }
    fill.divide(tree, 10, claims, shares).value();
  };
  round();
  const std::size_t before = allocations;
  for (int i = 0; i < 50; ++i) round();
  CHECK(allocations == before);
  CHECK(admitted > 50);
  CHECK(refused > 20);
}

TEST_CASE("cycles that admit by Kueue's quota allocate nothing, with fair sharing and without", "[allocations]") {
  using namespace queues::kueue;
  using namespace std::chrono_literals;
  for (const bool fair : {false, true}) {
    configuration_spec spec{.flavors = {{"f"}, {"g"}}, .cohorts = {{"below", "all"}}, .queues = {}};
    for (int i = 0; i < 6; ++i)
      spec.queues.push_back({.name = "q" + std::to_string(i),
                             .cohort = i % 2 == 0 ? "all" : "below",
                             .groups = {{{"cpu", "gpu"}, {{"f", {{2}, {2}}}, {"g", {{3}, {3}}}}}}});
    admission_controller kueue{configuration::make(spec).value(), {.fair_sharing = {.enabled = fair}}};
    std::size_t in_cycles = 0, admitted = 0, rejected = 0;
    std::vector<workload_id> there;
    const auto round = [&] {
      for (int i = 0; i < 40; ++i) {
        const std::string name = std::to_string(i);
        const pod_set_spec pods{.requests = {{"cpu", 1 + i % 2}, {"gpu", 1}}};
        there.push_back(kueue
                            .add({.name = name,
                                  .uid = name,
                                  .queue = "q" + std::to_string(i % 6),
                                  .created = instant{i},
                                  .pod_sets = {pods}})
                            .value());
      }
      const std::size_t before = allocations;
      for (bool some = true; some;) {
        some = false;
        for (const cycle_entry& entry : kueue.cycle(1s).entries()) {
          some = true;
          ++(entry.result == entry_result::admitted ? admitted : rejected);
        }
      }
      for (const workload_id one : there) kueue.remove(one).value();
      in_cycles += allocations - before;
      there.clear();
    };
    for (int i = 0; i < 5; ++i) round();
    in_cycles = 0;
    for (int i = 0; i < 20; ++i) round();
    CHECK(in_cycles == 0);
    CHECK(admitted > 400);
    CHECK(rejected > 100);
  }
}

}  // namespace gangsched::testing::allocations_test
