#include "support.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

#include "gangsched/core/hash.hpp"

namespace {
std::atomic<std::size_t> allocation_count{0};
std::size_t drained = 0;
}

// Not inlined: gcc 12 would see free() meet operator new.
__attribute__((noinline)) void* operator new(std::size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace bench {

using namespace gangsched;

std::size_t allocations() noexcept { return allocation_count.load(std::memory_order_relaxed); }

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

quantity mebi(std::int64_t amount) { return quantity{amount << 20}; }

cluster mixed_nodes(int nodes, bool with_hostnames) {
  cluster made;
  for (int i = 0; i < nodes; ++i) {
    const int shape = i % 20;
    node_spec node;
    node.name = "node-" + std::to_string(i);
    node.labels = {{"topology.kubernetes.io/zone", "zone" + std::to_string(i % 3)}, {"shape", std::to_string(shape)}};
    if (with_hostnames) node.labels["kubernetes.io/hostname"] = node.name;
    node.allocatable = {{"cpu", 32 + 4 * shape}, {"memory", mebi(65536 + 8192 * shape)}, {"pods", 110 + shape}};
    if (shape % 5 == 0) node.taints = {{"maintenance", "", taint_effect::prefer_no_schedule}};
    if (shape == 7) node.taints = {{"dedicated", "gpu", taint_effect::no_schedule}};
    const node_id id = must(made.add_node(node));
    for (int load = 0; load < (i / 20) % 20; ++load) {
      pod_spec running;
      running.name = "running-" + std::to_string(i) + "-" + std::to_string(load);
      running.node = id;
      running.containers = {{.requests = {{"cpu", quantity::from_milli(250)}, {"memory", mebi(512)}}}};
      must(made.add_pod(running));
    }
  }
  return made;
}

void add_pods(cluster& to, int pods, int classes) {
  for (int i = 0; i < pods; ++i) {
    pod_spec pod;
    pod.name = "pod-" + std::to_string(i);
    pod.labels = {{"app", "web"}, {"index", std::to_string(i)}};
    pod.containers = {{.requests = {{"cpu", quantity::from_milli(100 + 10 * (i % classes))}, {"memory", mebi(200)}}}};
    pod.affinity.preferred = {{10, {{{"topology.kubernetes.io/zone", selector_operator::in, {"zone1"}}}}}};
    must(to.add_pod(pod));
  }
}

void add_different_pods(cluster& to, int pods) {
  for (int i = 0; i < pods; ++i) {
    const std::string own = std::to_string(i);
    pod_spec pod;
    pod.name = "pod-" + own;
    pod.labels = {{"app", own}};
    pod.containers = {{.requests = {{"cpu", quantity::from_milli(100 + 10 * i)}, {"memory", mebi(200)}}}};
    pod.tolerations = {{.key = "team", .op = toleration_operator::equal, .value = own}};
    pod.affinity.required = {{{{"shape", selector_operator::not_in, {"19", own}}}}};
    topology_spread spread{.topology_key = "topology.kubernetes.io/zone", .selector = label_selector{pod.labels, {}}};
    pod.topology_spread_constraints.push_back(spread);
    spread.topology_key = "kubernetes.io/hostname";
    spread.action = when_unsatisfiable::schedule_anyway;
    pod.topology_spread_constraints.push_back(spread);
    must(to.add_pod(pod));
  }
}

void label_decisions(benchmark::State& state, const cluster& decided) {
  digest sum;
  for (const pod_id pod : decided.pods()) {
    const node_id node = decided.node_of(pod);
    if (!node) continue;
    sum.add(decided.name_of(pod));
    sum.add(decided.name_of(node));
    for (const device_grant& one : decided.devices_of(pod)) sum.add(decided.name_of(node, one));
  }
  state.SetLabel(fmt::format("{:016x}", sum.value()));
}

void count_allocations(benchmark::State& state, double count, double pods) {
  state.counters["allocations/pod"] = count / pods;
  state.counters["drained"] = static_cast<double>(drained);
}

run_result warm_up(scheduler& scheduler, std::size_t expected) {
  run_result out;
  const instant now{1};
  std::size_t before = 0;
  const double start = cpu_seconds();
  while (const cycle cycle = scheduler.schedule_cycle(now)) {
    for (const decision& one : cycle) {
      if (one.kind != decision_kind::bind) continue;
      if (scheduler.confirm(one.pod)) ++out.bound;
      if (out.bound == expected / 2) before = allocations();
    }
  }
  out.seconds = cpu_seconds() - start;
  out.steady_allocations = allocations() - before;
  return out;
}

__attribute__((noinline)) run_result drain(scheduler& scheduler, std::size_t expected) {
  const run_result done = warm_up(scheduler, expected);
  drained += done.bound;
  return done;
}

}  // namespace bench
