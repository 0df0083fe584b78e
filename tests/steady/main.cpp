// A cluster that is 95 % full while pods come and go, for as many decisions as is said: now and then all that the scheduler keeps is
// compared with what it would be if it were made from nothing, and a pick with all nodes asked anew; memory must not grow.
//   usage: gangsched-steady-soak [DECISIONS [NODES [SEED]]]   (2^20 1000 1)
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "gangsched/gangsched.hpp"
#include "gangsched/profiles.hpp"
#include "support/dice.hpp"

namespace {

using namespace gangsched;
using gangsched::testing::dice;

constexpr std::uint64_t between_scans = 1 << 16;
constexpr double fullness = 0.95;

template <class T>
T must(result<T> from) {
  if (!from) {
    std::cerr << from.error().message() << '\n';
    std::exit(1);
  }
  return std::move(from).value();
}

quantity mebi(std::uint64_t amount) { return quantity{static_cast<std::int64_t>(amount << 20)}; }

/// Twenty shapes in three zones, a tenth of them tainted.
node_spec node_of(int i) {
  node_spec made;
  made.name = "n" + std::to_string(i);
  made.labels = {{"kubernetes.io/hostname", made.name},
                 {"topology.kubernetes.io/zone", "z" + std::to_string(i % 3)},
                 {"disk", i % 4 == 0 ? "ssd" : "hdd"}};
  made.allocatable = {
      {"cpu", 16 + 4 * (i % 5)}, {"memory", mebi(32768 + 8192 * static_cast<std::uint64_t>(i % 4))}, {"pods", 110}};
  if (i % 10 == 0) made.taints = {{.key = "spot", .effect = taint_effect::no_schedule}};
  return made;
}

/// Of forty classes, but for one in sixteen, which requests what none before it did.
pod_spec pod_of(dice& roll, std::uint64_t number) {
  pod_spec made;
  made.name = "p" + std::to_string(number);
  const std::uint64_t kind = roll.below(8);
  made.labels = {{"app", "a" + std::to_string(kind)}};
  quantity cpu = quantity::from_milli(static_cast<std::int64_t>(250 * (1 + roll.below(5))));
  if (roll.below(16) == 0) cpu = quantity::from_milli(static_cast<std::int64_t>(100 + number % 3001));
  made.containers = {{.requests = {{"cpu", cpu}, {"memory", mebi(256 * (1 + kind))}}}};
  const label_selector own{.match_labels = made.labels};
  if (kind == 1) made.node_selector = {{"disk", "ssd"}};
  if (kind == 2) made.tolerations = {{.key = "spot", .op = toleration_operator::exists}};
  if (kind == 3) {
    topology_spread spread;
    spread.topology_key = "topology.kubernetes.io/zone";
    spread.max_skew = 1000;
    spread.selector = own;
    made.topology_spread_constraints = {spread};
  }
  if (kind == 4) made.anti_affinity_to_pods.preferred = {{10, {"kubernetes.io/hostname", own}}};
  if (kind == 5) made.affinity_to_pods.preferred = {{10, {"topology.kubernetes.io/zone", own}}};
  return made;
}

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0, resident = 0;
  std::ifstream{"/proc/self/statm"} >> pages >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

struct soak {
  cluster nodes;
  scheduler by;
  dice roll;
  struct runs {
    pod_id pod;
    std::int64_t milli;
  };
  std::vector<runs> running;
  std::uint64_t decisions = 0, came = 0, rejected = 0, scans = 0, wrong = 0, next_scan = between_scans;
  std::int64_t cpu_there = 0, cpu_used = 0;  // thousandths

  soak(int count, std::uint64_t seed)
      : by(nodes, profiles::kube_default(), {.seed = seed, .indexed_at_once = 256}), roll(seed) {
    for (int i = 0; i < count; ++i) {
      must(nodes.add_node(node_of(i)));
      cpu_there += 1000 * (16 + 4 * (i % 5));
    }
  }

  void complain(const std::string& what) {
    std::cout << "after " << decisions << " decisions: " << what << '\n';
    ++wrong;
  }

  /// A pod comes, and is placed or gives up. With @p compare its node is one of the best of all, asked anew.
  bool add(bool compare) {
    const pod_spec spec = pod_of(roll, came++);
    const pod_id pod = must(nodes.add_pod(spec));
    std::int64_t best = -1;
    explanation all;
    if (compare) {
      all = must(by.explain(pod));
      for (const node_verdict& one : all.nodes)
        if (one.code == code::success) best = std::max(best, one.total);
    }
    bool bound = false;
    while (const cycle made = by.schedule_cycle(instant{1})) {
      for (const decision& one : made) {
        ++decisions;
        if (one.pod != pod) complain("somebody else was decided on");
        if (one.kind != decision_kind::bind) continue;
        bound = true;
        if (!by.confirm(pod)) complain("a bind could not be confirmed");
        if (!compare) continue;
        const auto its = std::find_if(all.nodes.begin(), all.nodes.end(),
                                      [&](const node_verdict& on) { return on.node == one.node; });
        if (its == all.nodes.end() || its->code != code::success)
          complain("a pod is where it may not be");
        else if (its->total != best)
          complain("a pod is on a node with " + std::to_string(its->total) + " of " + std::to_string(best));
      }
    }
    if (compare && !bound && best >= 0) complain("a pod was rejected that had a node");
    if (bound) {
      running.push_back({pod, must(spec.containers[0].requests.at("cpu").milli_value())});
      cpu_used += running.back().milli;
    } else {
      ++rejected;
      must(nodes.remove_pod(pod));
    }
    return bound;
  }

  void remove_one() {
    const std::size_t which = roll.below(running.size());
    must(nodes.remove_pod(running[which].pod));
    cpu_used -= running[which].milli;
    running[which] = running.back();
    running.pop_back();
  }

  [[nodiscard]] double used() const { return static_cast<double>(cpu_used) / static_cast<double>(cpu_there); }

  void scan() {
    ++scans;
    if (const auto said = by.verify(); !said) complain(said.error().message());
    for (int i = 0; i < 20; ++i) {
      add(true);
      remove_one();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int which, std::uint64_t usual) {
    return which < argc ? std::strtoull(argv[which], nullptr, 10) : usual;
  };
  const std::uint64_t decisions = argument(1, 1 << 20);
  soak of{static_cast<int>(argument(2, 1000)), argument(3, 1)};
  while (of.used() < fullness) of.add(false);
  const std::size_t pods = of.running.size();
  std::cout << pods << " pods run, " << of.used() * 100 << " % of the CPUs are used\n";
  std::uint64_t settled = 0, most = 0;
  while (of.decisions < decisions) {
    of.remove_one();
    while (of.running.size() < pods && !of.add(false)) {
    }
    if (of.decisions < of.next_scan) continue;
    of.next_scan += between_scans;
    of.scan();
    while (of.running.size() < pods) of.add(false);
    most = std::max(most, resident_bytes());
    if (settled == 0 && of.decisions >= decisions / 4) settled = most;
  }
  std::cout << of.decisions << " decisions, " << of.rejected << " of them rejections; " << of.scans
            << " times all was compared: " << of.wrong << " differences; " << (settled >> 20)
            << " MiB after a quarter, at most " << (most >> 20) << "\n";
  const bool flat = most <= settled + settled / 20 + (std::uint64_t{4} << 20);
  if (!flat) std::cout << "memory grew\n";
  return of.wrong == 0 && of.scans != 0 && flat ? 0 : 1;
}
