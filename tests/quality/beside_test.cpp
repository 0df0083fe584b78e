// Gangs whose members say beside whom they may be, on small clusters, against a search of everything that is written plainly here:
// every order of members, every node for each.
#include "support/world.hpp"

#include <set>

#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::beside_test {

namespace {

enum key : int { host, zone };
struct machine {
  int cpus;
  int zone;  ///< -1: without the label
};
/// Of pods with the label app=…, in a domain of the key.
struct term {
  int app = -1;  ///< none
  key of = zone;
  int skew = 1;  ///< of a spread
};
struct kind {
  int cpus = 0, app = 0;
  term near = {}, far = {}, spread = {};
};
struct problem {
  std::vector<machine> machines;
  std::vector<kind> kinds;
  std::vector<std::pair<std::size_t, std::size_t>> running;  ///< kind, machine
  std::vector<std::size_t> members;                          ///< kinds, in the order in which they are added
  std::size_t least = 0;
};

/// How many pods of each kind are on each machine.
using counts = std::vector<std::vector<int>>;

class everything {
 public:
  explicit everything(const problem& of) : of_(of) {
    now_.assign(of.kinds.size(), std::vector<int>(of.machines.size(), 0));
    left_.assign(of.kinds.size(), 0);
    for (const auto& [what, where] : of.running) ++now_[what][where];
    for (const std::size_t what : of.members) ++left_[what];
  }
  [[nodiscard]] bool possible() { return from(0); }
  /// As kube-scheduler's filters judge one pod after another.
  [[nodiscard]] bool may_be(std::size_t what, std::size_t where) const {
    const kind& one = of_.kinds[what];
    int used = 0;
    for (std::size_t k = 0; k < now_.size(); ++k) used += now_[k][where] * of_.kinds[k].cpus;
    if (used + one.cpus > of_.machines[where].cpus) return false;
    if (one.near.app >= 0) {
      const int mine = domain(where, one.near.of);
      const bool first = one.app == one.near.app && with_label(one.near.app, one.near.of, any) == 0;
      if (mine < 0 || (!first && with_label(one.near.app, one.near.of, mine) == 0)) return false;
    }
    if (one.far.app >= 0) {
      const int mine = domain(where, one.far.of);
      if (mine >= 0 && with_label(one.far.app, one.far.of, mine) != 0) return false;
    }
    for (std::size_t k = 0; k < now_.size(); ++k) {
      const term& theirs = of_.kinds[k].far;
      const int mine = theirs.app == one.app ? domain(where, theirs.of) : -1;
      for (std::size_t m = 0; mine >= 0 && m < of_.machines.size(); ++m) {
        if (now_[k][m] != 0 && domain(m, theirs.of) == mine) return false;
      }
    }
    if (one.spread.app >= 0) {
      const int mine = domain(where, one.spread.of);
      if (mine < 0) return false;
      int least = 1000;
      for (std::size_t m = 0; m < of_.machines.size(); ++m) {
        if (const int other = domain(m, one.spread.of); other >= 0)
          least = std::min(least, with_label(one.spread.app, one.spread.of, other));
      }
      const int self = one.app == one.spread.app ? 1 : 0;
      if (with_label(one.spread.app, one.spread.of, mine) + self - least > one.spread.skew) return false;
    }
    return true;
  }

 private:
  static constexpr int any = -2;
  [[nodiscard]] int domain(std::size_t where, key of) const {
    return of == host ? static_cast<int>(where) : of_.machines[where].zone;
  }
  [[nodiscard]] int with_label(int app, key of, int in) const {
    int found = 0;
    for (std::size_t k = 0; k < now_.size(); ++k) {
      for (std::size_t m = 0; of_.kinds[k].app == app && m < of_.machines.size(); ++m) {
        const int its = domain(m, of);
        if (its >= 0 && (in == any || its == in)) found += now_[k][m];
      }
    }
    return found;
  }
  bool from(std::size_t placed) {
    if (placed >= of_.least) return true;
    if (!seen_.insert(now_).second) return false;
    for (std::size_t what = 0; what < left_.size(); ++what) {
      for (std::size_t where = 0; left_[what] != 0 && where < of_.machines.size(); ++where) {
        if (!may_be(what, where)) continue;
        --left_[what], ++now_[what][where];
        const bool found = from(placed + 1);
        ++left_[what], --now_[what][where];
        if (found) return true;
      }
    }
    return false;
  }

  const problem& of_;
  counts now_;
  std::vector<std::size_t> left_;
  std::set<counts> seen_;
};

term roll_term(dice& roll, unsigned chance, int apps) {
  if (!roll.percent(chance)) return {};
  return {static_cast<int>(roll.below(static_cast<std::size_t>(apps))), roll.percent(65) ? zone : host,
          static_cast<int>(roll.between(1, 2))};
}
problem roll_problem(dice& roll) {
  problem made;
  const std::size_t zones = 1 + roll.below(3);
  made.machines.resize(1 + roll.below(6));
  for (machine& one : made.machines)
    one = {static_cast<int>(roll.between(1, 6)), roll.percent(6) ? -1 : static_cast<int>(roll.below(zones))};
  const int apps = static_cast<int>(roll.between(1, 3));
  const bool scarce = roll.percent(50);
  made.kinds.resize(2 + roll.below(3));
  for (kind& one : made.kinds) {
    one.cpus = static_cast<int>(roll.between(scarce ? 1 : 0, scarce ? 3 : 1));
    one.app = static_cast<int>(roll.below(static_cast<std::size_t>(apps)));
    one.near = roll_term(roll, 35, apps), one.far = roll_term(roll, 15, apps), one.spread = roll_term(roll, 25, apps);
  }
  for (std::size_t i = roll.percent(40) ? 1 + roll.below(3) : 0; i > 0; --i) {
    const std::size_t what = roll.below(made.kinds.size()), where = roll.below(made.machines.size());
    if (made.machines[where].cpus < 4) continue;
    made.running.push_back({what, where});
  }
  for (std::size_t i = 2 + roll.below(7); i > 0; --i) made.members.push_back(roll.below(made.kinds.size()));
  made.least = made.members.size();
  if (roll.percent(30)) made.least -= roll.below(made.least);
  return made;
}

pod_spec pod_of(const problem& of, std::size_t what, const std::string& name) {
  const kind& one = of.kinds[what];
  const auto app = [](int number) { return label_selector{.match_labels = {{"app", "a" + std::to_string(number)}}}; };
  const auto name_of = [](key k) { return std::string{k == host ? "kubernetes.io/hostname" : "zone"}; };
  a_pod made{name};
  made.label("app", "a" + std::to_string(one.app));
  if (one.cpus != 0) made.cpu(one.cpus);
  if (one.near.app >= 0) made.spec.affinity_to_pods.required.push_back({name_of(one.near.of), app(one.near.app)});
  if (one.far.app >= 0) made.spec.anti_affinity_to_pods.required.push_back({name_of(one.far.of), app(one.far.app)});
  if (one.spread.app >= 0) {
    topology_spread spread{.topology_key = name_of(one.spread.of), .max_skew = one.spread.skew};
    spread.selector = app(one.spread.app);
    made.spec.topology_spread_constraints.push_back(spread);
  }
  return made;
}

struct tally {
  int worlds = 0, placed = 0, refused = 0, missed = 0, wrong = 0, unproved = 0;
  std::uint64_t steps = 0, most = 0;
};

void try_one(std::uint64_t seed, tally& sums) {
  dice roll{seed};
  const problem asked = roll_problem(roll);
  INFO("seed " << seed << ", machines " << asked.machines.size() << ", members " << asked.members.size() << ", least "
               << asked.least);
  scheduler_options options;
  options.seed = roll.next();
  world w{profiles::kube_default(), options};
  std::vector<node_id> nodes;
  for (std::size_t m = 0; m < asked.machines.size(); ++m) {
    a_node node{"n" + std::to_string(m)};
    node.cpu(asked.machines[m].cpus).label("kubernetes.io/hostname", "n" + std::to_string(m));
    if (asked.machines[m].zone >= 0) node.label("zone", "z" + std::to_string(asked.machines[m].zone));
    nodes.push_back(w.add(node));
  }
  for (std::size_t i = 0; i < asked.running.size(); ++i) {
    pod_spec spec = pod_of(asked, asked.running[i].first, "r" + std::to_string(i));
    spec.node = nodes[asked.running[i].second];
    w.add(spec);
  }
  const group_id group = w.add(a_gang{"g", static_cast<std::int32_t>(asked.least)});
  for (std::size_t i = 0; i < asked.members.size(); ++i) {
    pod_spec spec = pod_of(asked, asked.members[i], "p" + std::to_string(i));
    spec.group = group;
    w.add(spec);
  }
  const std::uint64_t before = inside(w.cluster).digest();
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.error() == nullptr);
  std::string reason;
  std::size_t bound = 0;
  for (const decision& one : done) {
    bound += one.kind == decision_kind::bind ? 1 : 0;
    if (one.reason != nullptr) reason = one.reason;
  }
  CHECK((bound == 0 || bound >= asked.least));
  if (bound == 0) CHECK(inside(w.cluster).digest() == before);
  ++sums.worlds;
  sums.steps += w.scheduler.statistics().search_steps;
  sums.most = std::max(sums.most, w.scheduler.statistics().search_steps);
  const bool possible = everything{asked}.possible();
  if (bound != 0) {
    ++sums.placed;
    CHECK(possible);
  } else {
    ++sums.refused;
    sums.missed += possible ? 1 : 0;
    const bool proved = reason == "there is no place for the group's minimum";
    if (proved) CHECK_FALSE(possible);
    sums.unproved += proved ? 0 : 1;
  }
}

void check(std::uint64_t first, std::uint64_t last) {
  tally sums;
  for (std::uint64_t seed = first; seed < last; ++seed) try_one(seed, sums);
  INFO("worlds " << sums.worlds << ", placed " << sums.placed << ", refused " << sums.refused
                 << ", of these with a place " << sums.missed << ", without a proof " << sums.unproved << ", steps "
                 << sums.steps << ", at most " << sums.most);
  CHECK(sums.placed * 4 > sums.worlds);
  CHECK(sums.refused * 10 > sums.worlds);
  CHECK(sums.missed == 0);
}

}  // namespace

TEST_CASE("a gang whose members mind each other is placed if there is an order in which it can be",
          "[quality][search][property]") {
  check(0, 2000);
}

TEST_CASE("a gang whose members mind each other is placed if there is an order in which it can be: more worlds",
          "[.long][quality]") {
  check(2000, 60000);
}

}  // namespace gangsched::testing::beside_test
