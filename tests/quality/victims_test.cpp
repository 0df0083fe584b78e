// Who goes for a gang of different members, on small clusters, against every set of victims, each with a search of every place.
#include "support/world.hpp"

#include <functional>
#include <limits>
#include <tuple>

#include "support/dice.hpp"

namespace gangsched::testing::victims_test {

namespace {

struct machine {
  int cpus, gpus;
};
struct runner {
  std::size_t where;
  int cpus, gpus, priority;
  int job;  ///< the group it is in, or -1
};
struct problem {
  std::vector<machine> machines;
  std::vector<runner> running;
  std::vector<bool> together;    ///< jobs: all of it goes, or nobody
  std::vector<machine> members;  ///< what they need
  std::size_t least = 0;
  int priority = 5;
};
/// (As many members as find room when all victims are gone keep it: group_preemption.hpp.)
/// What victims cost, without budgets and work (group_preemption.hpp).
using price = std::tuple<int, std::size_t, std::size_t>;  ///< highest priority, groups, pods

class everything {
 public:
  explicit everything(const problem& of) : of_(of) {
    for (std::size_t i = 0; i < of.running.size(); ++i) {
      const runner& one = of.running[i];
      if (priority_of(one) >= of.priority) continue;
      const bool whole = one.job >= 0 && of.together[static_cast<std::size_t>(one.job)];
      const auto same = [&](const std::vector<std::size_t>& unit) {
        return whole && of.running[unit.front()].job == one.job;
      };
      const auto known = std::find_if(units_.begin(), units_.end(), same);
      if (known != units_.end())
        known->push_back(i);
      else
        units_.push_back({i});
    }
  }
  /// A job's priority is its own.
  [[nodiscard]] static int priority_of(const runner& one) { return one.job >= 0 ? one.job : one.priority; }
  [[nodiscard]] bool fits_without(const std::vector<bool>& gone, std::size_t members) const {
    std::vector<machine> room = of_.machines;
    for (std::size_t i = 0; i < of_.running.size(); ++i) {
      if (gone[i]) continue;
      room[of_.running[i].where].cpus -= of_.running[i].cpus;
      room[of_.running[i].where].gpus -= of_.running[i].gpus;
    }
    return place(room, 0, members);
  }
  [[nodiscard]] price price_of(const std::vector<bool>& gone) const {
    int highest = std::numeric_limits<int>::min();
    std::vector<int> jobs;
    std::size_t pods = 0;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (!gone[i]) continue;
      ++pods;
      highest = std::max(highest, priority_of(of_.running[i]));
      if (const int job = of_.running[i].job; job >= 0 && std::find(jobs.begin(), jobs.end(), job) == jobs.end())
        jobs.push_back(job);
    }
    return {highest, jobs.size(), pods};
  }
  /// The least that victims cost so that the gang fits; nothing if it does not.
  [[nodiscard]] std::optional<price> best(std::size_t members) const {
    std::optional<price> found;
    for (std::size_t set = 0; set < std::size_t{1} << units_.size(); ++set) {
      const std::vector<bool> gone = who(set);
      const price here = price_of(gone);
      if ((!found || here < *found) && fits_without(gone, members)) found = here;
    }
    return found;
  }
  /// No unit of them can stay.
  [[nodiscard]] bool minimal(const std::vector<bool>& gone, std::size_t members) const {
    for (const std::vector<std::size_t>& unit : units_) {
      if (!gone[unit.front()]) continue;
      std::vector<bool> fewer = gone;
      for (const std::size_t i : unit) fewer[i] = false;
      if (fits_without(fewer, members)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::vector<bool> who(std::size_t set) const {
    std::vector<bool> gone(of_.running.size(), false);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (const std::size_t i : units_[u]) gone[i] = (set >> u & 1) != 0;
    }
    return gone;
  }
  bool place(std::vector<machine>& room, std::size_t at, std::size_t missing) const {
    if (missing == 0) return true;
    if (of_.members.size() - at < missing) return false;
    const machine& one = of_.members[at];
    for (machine& there : room) {
      if (there.cpus < one.cpus || there.gpus < one.gpus) continue;
      there.cpus -= one.cpus, there.gpus -= one.gpus;
      const bool found = place(room, at + 1, missing - 1);
      there.cpus += one.cpus, there.gpus += one.gpus;
      if (found) return true;
    }
    return place(room, at + 1, missing);
  }

  const problem& of_;
  std::vector<std::vector<std::size_t>> units_;
};

problem roll_problem(dice& roll) {
  problem made;
  made.machines.resize(2 + roll.below(3));
  for (machine& one : made.machines) one = {static_cast<int>(roll.between(2, 8)), static_cast<int>(roll.below(3))};
  std::vector<machine> left = made.machines;
  for (int i = 0; i < 3; ++i) made.together.push_back(roll.percent(60));
  for (std::size_t i = 2 + roll.below(8); i > 0; --i) {
    runner one{roll.below(made.machines.size()), static_cast<int>(roll.between(1, 4)), roll.percent(25) ? 1 : 0,
               static_cast<int>(roll.between(0, 4)), -1};
    if (roll.percent(20)) one.priority = 9;
    if (roll.percent(30)) one.job = static_cast<int>(roll.below(3));
    machine& there = left[one.where];
    if (there.cpus < one.cpus || there.gpus < one.gpus) continue;
    there.cpus -= one.cpus, there.gpus -= one.gpus;
    made.running.push_back(one);
  }
  std::vector<machine> kinds(2 + roll.below(2));
  for (machine& one : kinds) one = {static_cast<int>(roll.between(1, 4)), roll.percent(25) ? 1 : 0};
  if (kinds[0].cpus == kinds[1].cpus) kinds[1].cpus = kinds[0].cpus % 4 + 1;
  made.members = {kinds[0], kinds[1]};
  for (std::size_t i = roll.below(4); i > 0; --i) made.members.push_back(roll.of(kinds));
  for (std::size_t i = made.members.size(); i > 1; --i) std::swap(made.members[i - 1], made.members[roll.below(i)]);
  made.least = made.members.size();
  if (roll.percent(25)) made.least -= roll.below(made.least);
  return made;
}

struct tally {
  int worlds = 0, with_victims = 0, possible = 0, refused = 0, needless = 0, not_minimal = 0, dear = 0, not_started = 0;
};

void try_one(std::uint64_t seed, bool permit, tally& sums) {
  dice roll{seed};
  const problem asked = roll_problem(roll);
  INFO("seed " << seed << ", machines " << asked.machines.size() << ", running " << asked.running.size() << ", members "
               << asked.members.size() << ", least " << asked.least);
  scheduler_options options;
  options.seed = roll.next();
  world w{profiles::kube_default(), options};
  std::vector<node_id> nodes;
  for (std::size_t m = 0; m < asked.machines.size(); ++m)
    nodes.push_back(w.add(a_node{"n" + std::to_string(m)}.cpu(asked.machines[m].cpus).gpus(asked.machines[m].gpus)));
  std::vector<group_id> jobs;
  for (std::size_t i = 0; i < asked.together.size(); ++i) {
    a_gang job{"job" + std::to_string(i), 1};
    job.priority(static_cast<std::int32_t>(i)).spec.disruption =
        asked.together[i] ? disruption_mode::all : disruption_mode::single;
    jobs.push_back(w.add(job));
  }
  std::vector<pod_id> runners;
  for (std::size_t i = 0; i < asked.running.size(); ++i) {
    const runner& one = asked.running[i];
    a_pod pod{"r" + std::to_string(i)};
    pod.cpu(one.cpus).gpus(one.gpus).priority(everything::priority_of(one)).on(nodes[one.where]);
    if (one.job >= 0) pod.in(jobs[static_cast<std::size_t>(one.job)]);
    runners.push_back(w.add(pod));
  }
  a_gang gang{"g", static_cast<std::int32_t>(asked.least)};
  if (permit) gang.permit();
  const group_id group = w.add(gang.priority(asked.priority));
  for (std::size_t i = 0; i < asked.members.size(); ++i)
    w.add(a_pod{"p" + std::to_string(i)}
              .cpu(asked.members[i].cpus)
              .gpus(asked.members[i].gpus)
              .priority(asked.priority)
              .in(group));

  const everything all{asked};
  const bool possible = all.best(asked.least).has_value();
  const bool free = all.fits_without(std::vector<bool>(asked.running.size(), false), asked.least);
  ++sums.worlds;
  sums.possible += possible ? 1 : 0;
  const auto members_with_node = [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < asked.members.size(); ++i)
      count += w.cluster.node_of(w.pod("p" + std::to_string(i))) ? 1 : 0;
    return count;
  };
  // Who goes for the minimum; for those above it somebody may go as for any pod.
  std::vector<bool> gone(asked.running.size(), false);
  bool any = false;
  for (int turn = 0; turn < 100; ++turn) {
    const cycle done = w.decide();
    for (const decision& one : done) {
      if (one.kind != decision_kind::evict) continue;
      const auto its = std::find(runners.begin(), runners.end(), one.pod);
      REQUIRE(its != runners.end());
      gone[static_cast<std::size_t>(its - runners.begin())] = true;
      any = true;
    }
    if (!done) {  // what came back waits for its time
      if (any || members_with_node() >= asked.least || turn > 40) break;
      w.now += 1min;
    }
    if (any || members_with_node() >= asked.least) break;
  }
  if (!any) {
    if (possible && members_with_node() < asked.least) ++sums.refused;
    return;
  }
  ++sums.with_victims;
  std::size_t meant = 0;
  for (std::size_t i = 0; i < asked.members.size(); ++i) {
    const pod_id member = w.pod("p" + std::to_string(i));
    meant += w.cluster.node_of(member) || w.cluster.nominated_node_of(member) ? 1 : 0;
  }
  CHECK(meant >= asked.least);
  CHECK(all.fits_without(gone, meant));
  sums.needless += free ? 1 : 0;
  sums.not_minimal += all.minimal(gone, meant) ? 0 : 1;
  sums.dear += all.price_of(gone) > *all.best(meant) ? 1 : 0;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) w.remove(runners[i]);
  }
  for (int turn = 0; turn < 20 && members_with_node() < asked.least; ++turn) {
    w.now += 1min;
    w.run();
  }
  sums.not_started += members_with_node() < asked.least ? 1 : 0;
}

void check(std::uint64_t first, std::uint64_t last, bool permit) {
  tally sums;
  for (std::uint64_t seed = first; seed < last; ++seed) try_one(seed, permit, sums);
  INFO((permit ? "permit mode" : "group cycle")
       << ", worlds " << sums.worlds << ", possible " << sums.possible << ", refused " << sums.refused
       << ", with victims " << sums.with_victims << ", for nothing " << sums.needless << ", not minimal "
       << sums.not_minimal << ", dearer than the best " << sums.dear << ", not started afterwards "
       << sums.not_started);
  CHECK(sums.with_victims * 5 > sums.worlds);
  CHECK(sums.refused == 0);
  CHECK(sums.needless == 0);
  CHECK(sums.not_minimal == 0);
  CHECK(sums.dear == 0);
  CHECK(sums.not_started == 0);
}

}  // namespace

TEST_CASE("those who go for a gang of different members are as few and as cheap as can be",
          "[quality][preemption][property]") {
  check(0, 1000, false);
}

TEST_CASE("those who go for different members in permit mode are as few and as cheap as can be",
          "[quality][preemption][permit][property]") {
  check(0, 1000, true);
}

TEST_CASE("those who go for gangs of different members are as few and as cheap as can be: more worlds",
          "[.long][quality]") {
  check(1000, 20000, GENERATE(false, true));
}

}  // namespace gangsched::testing::victims_test
