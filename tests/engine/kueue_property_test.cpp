// Kueue's policy in random clusters: usage within quota, an end of evictions, owners who have their own; and the same answers as Kueue's
// controller, which knows no nodes.
#include <numeric>
#include <set>

#include "gangsched/queues/kueue/admission_controller.hpp"
#include "kueue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::kueue_property_test {

using namespace kueue_world;

namespace {

/// After each cycle nobody uses more than the rules of a flat cohort let it, counted plainly.
struct watched : shared {
  using shared::shared;
  struct rules {
    std::int64_t nominal, borrow, lend;
  };
  std::map<std::string, rules> all;
  std::size_t looked = 0;

  words act(instant when) {
    return shared::act(when, [&] { look(); });
  }
  void look() {
    std::int64_t nominal = 0, total = 0;
    std::map<std::string, std::int64_t> uses;
    for (const auto& [name, rule] : all) {
      uses[name] = used(name);
      nominal += rule.nominal;
      total += uses[name];
    }
    REQUIRE(total <= nominal);
    for (const auto& [name, rule] : all) {
      REQUIRE(uses[name] <= rule.nominal + rule.borrow);
      // What others do not lend and do not use is nobody's.
      std::int64_t kept = 0;
      for (const auto& [other, its] : all) kept += std::max<std::int64_t>(0, its.nominal - its.lend - uses[other]);
      REQUIRE(total + kept <= nominal);
      ++looked;
    }
  }
};

}  // namespace

TEST_CASE("in random clusters usage stays within quota, evictions end, and owners have their own",
          "[engine][kueue][property]") {
  std::ptrdiff_t evicted = 0, bound = 0;
  std::size_t looked = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    watched w{{.fair_sharing = {.enabled = roll.percent(40), .then_less_than_initial = false}}};
    const int nodes = 2 + static_cast<int>(roll.below(3));
    for (int i = 0; i < nodes; ++i) w.gpus(("n" + std::to_string(i)).c_str(), 4);
    w.cohort();
    std::int64_t left = nodes * 4;
    const std::vector<std::string> names{"a", "b", "c"};
    for (const std::string& name : names) {
      const std::int64_t nominal = roll.between(0, left), most = nodes * 4;
      left -= nominal;
      queue_spec spec = shared::team(name.c_str(), nominal);
      spec.heads = roll.percent(30) ? head_rule::strict : head_rule::best_effort;
      spec.within_queue = static_cast<queue_preemption>(roll.below(3));
      w.all[name] = {nominal, most, nominal};
      if (roll.percent(30)) spec.quotas[0].borrowing_limit[gpu] = w.all[name].borrow = roll.between(0, 4);
      if (roll.percent(30)) spec.quotas[0].lending_limit[gpu] = w.all[name].lend = roll.between(0, nominal);
      w.queue(spec);
    }
    std::map<std::string, std::int64_t> single;
    for (int wave = 0; wave < 5; ++wave) {
      CAPTURE(wave);
      const std::string& name = roll.of(names);
      const auto priority = static_cast<std::int32_t>(roll.below(3));
      if (roll.percent(30)) {
        w.ask_gang("g" + std::to_string(wave), name, static_cast<int>(roll.between(2, 4)), 1, priority);
      } else {
        const int more = static_cast<int>(roll.between(1, nodes * 3));
        w.ask(name, more, priority);
        single[name] += more;
      }
      const words said = w.act(std::chrono::minutes{wave * 20 + 1});
      evicted += count(said, "evict");
      bound += count(said, "bind");
      for (int minute = 2; minute < 12; ++minute) {  // who comes back may still find room
        const words later = w.act(std::chrono::minutes{wave * 20 + minute});
        bound += count(later, "bind");
        REQUIRE((minute < 6 || later.empty()));
        REQUIRE(count(later, "evict") == 0);
      }
      for (const auto& [one, pods] : single)
        if (w.cluster.queues().spec_of(w.cluster.queues().find(one).value())->heads == head_rule::best_effort)
          REQUIRE(w.used(one) >= std::min(w.all[one].nominal, pods));
    }
    REQUIRE(w.scheduler.verify());
    looked += w.looked;
  }
  CHECK(evicted > 200);
  CHECK(bound > 1000);
  CHECK(looked > 5000);
}

namespace {

namespace kueue = queues::kueue;

/// What one workload is told.
struct told {
  std::map<std::string, std::int64_t> pods;  ///< that start, by flavor
  std::set<std::string> victims;
  bool more_went = false;  ///< when the first victims had gone others had to go
  friend bool operator==(const told&, const told&) = default;
};

/// Queues of two flavors, in a cluster with a node for each, and as Kueue's controller has them.
struct both {
  shared on;
  kueue::admission_controller by;
  std::map<std::string, kueue::workload_id> ids = {};  ///< who runs
  std::map<std::string, std::string> queues = {};

  both(const kueue_policy::options& chosen, const kueue::configuration_spec& spec,
       const std::vector<queue_spec>& queues_of)
      : on(chosen),
        by(kueue::configuration::make(spec).value(),
           {.fair_sharing = chosen.fair_sharing, .partial_admission = chosen.partial_admission}) {
    for (const char* flavor : {"first", "next"}) {
      on.flavor(flavor);
      on.gpus(flavor, 60, flavor);
    }
    on.cohort();
    for (const queue_spec& one : queues_of) on.queue(one);
  }

  told ask_controller(const kueue::workload_spec& spec, instant now) {
    told made;
    const kueue::workload_id id = by.add(spec).value();
    for (int cycles = 0; cycles < 4; ++cycles) {
      const kueue::admission_cycle& done = by.cycle(now + std::chrono::seconds{cycles});
      for (const kueue::cycle_entry& one : done.entries()) {
        if (one.result != kueue::entry_result::admitted) continue;
        for (const kueue::chosen_flavor& each : one.flavors.flavors)
          made.pods[by.of().flavor(each.flavor).name] += each.amount / spec.pod_sets.front().requests.at(gpu);
      }
      std::vector<std::string> gone;
      for (const kueue::issued_preemption& one : done.preempted()) gone.push_back(by[one.workload].name);
      made.more_went = made.more_went || (!made.victims.empty() && !gone.empty());
      for (const std::string& name : gone) made.victims.insert(name), end(name);
      if (!made.pods.empty()) break;
    }
    if (made.pods.empty())
      by.remove(id).value();
    else
      ids[spec.name] = id;
    return made;
  }
  /// It is gone, for the controller.
  void end(const std::string& name) {
    by.remove(ids.at(name)).value();
    ids.erase(name);
  }
  told ask_cluster(const std::string& name, group_id group, instant now) {
    told made;
    on.now = now;
    for (bool more = true; more;) {
      const gangsched::cycle done = on.decide();
      more = static_cast<bool>(done);
      for (const decision& one : done) {
        if (one.kind == decision_kind::bind) {
          on.must(on.scheduler.confirm(one.pod));
          ++made.pods[std::string{on.cluster.name_of(one.node)}];
        }
        const std::string pod{on.cluster.name_of(one.pod)};
        if (one.kind == decision_kind::evict) made.victims.insert(pod.substr(0, pod.rfind('-')));
      }
      for (const std::string& victim : made.victims) leave(victim);
      // Kueue's jobs have no pods beside those that were admitted.
      if (!made.pods.empty() || !more) drop_waiting(name);
    }
    if (made.pods.empty()) on.must(on.cluster.remove_group(group));
    return made;
  }
  void drop_waiting(const std::string& name) {
    for (const pod_id pod : on.cluster.pods())
      if (on.cluster.state_of(pod) == pod_state::pending && on.cluster.name_of(pod).starts_with(name + "-"))
        on.remove(pod);
  }
  /// It is gone, for the cluster.
  void leave(const std::string& name) {
    for (const pod_id pod : on.cluster.pods())
      if (on.cluster.name_of(pod).starts_with(name + "-")) on.remove(pod);
    if (const auto group = on.cluster.find_group("default", name, false)) on.must(on.cluster.remove_group(*group));
  }
};

}  // namespace

TEST_CASE(
    "workloads that come one after another are told what Kueue's controller tells them, partial admission included",
    "[engine][kueue][property]") {
  std::size_t admitted = 0, cut = 0, preempted = 0, refused = 0, in_vain = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    kueue_policy::options chosen;
    chosen.fair_sharing.enabled = roll.percent(30);
    chosen.partial_admission = !roll.percent(15);
    kueue::configuration_spec spec{.flavors = {{"first"}, {"next"}}, .cohorts = {{"all"}}};
    std::vector<queue_spec> queues;
    const std::vector<std::string> names{"a", "b", "c"};
    for (const std::string& name : names) {
      queue_spec one{.name = name, .parent = "all"};
      kueue::queue_spec its{.name = name, .cohort = "all"};
      one.within_queue = static_cast<queue_preemption>(roll.below(3));
      its.preemption.within_queue = static_cast<kueue::victim_policy>(one.within_queue);
      one.reclaim = static_cast<queue_reclaim>(roll.below(3));
      its.preemption.within_cohort = one.reclaim == queue_reclaim::never ? kueue::victim_policy::never
                                     : one.reclaim == queue_reclaim::any ? kueue::victim_policy::any
                                                                         : kueue::victim_policy::lower_priority;
      one.flavors.stops_at_borrowing = roll.percent(60);
      one.flavors.stops_at_preemption = roll.percent(30);
      its.fungibility.when_can_borrow =
          one.flavors.stops_at_borrowing ? kueue::flavor_search::may_stop : kueue::flavor_search::try_next;
      its.fungibility.when_can_preempt =
          one.flavors.stops_at_preemption ? kueue::flavor_search::may_stop : kueue::flavor_search::try_next;
      kueue::resource_group group{{gpu}, {}};
      for (const char* flavor : {"first", "next"}) {
        kueue::quota amounts{.nominal = roll.between(0, 6)};
        queue_quota quota{.flavor = flavor, .guaranteed = {{gpu, amounts.nominal}}};
        if (roll.percent(30)) quota.borrowing_limit[gpu] = amounts.borrowing_limit = roll.between(0, 4);
        if (roll.percent(30)) quota.lending_limit[gpu] = amounts.lending_limit = roll.between(0, amounts.nominal);
        one.quotas.push_back(quota);
        group.flavors.push_back({flavor, {amounts}});
      }
      its.groups.push_back(group);
      queues.push_back(one);
      spec.queues.push_back(its);
    }
    both with{chosen, spec, queues};
    for (int number = 0; number < 30; ++number) {
      CAPTURE(number);
      const instant now = std::chrono::minutes{number + 1};
      if (!with.ids.empty() && roll.percent(25)) {
        const std::string goes =
            std::next(with.ids.begin(), static_cast<std::ptrdiff_t>(roll.below(with.ids.size())))->first;
        with.end(goes), with.leave(goes);
      }
      const std::string name = "w" + std::to_string(100 + number), queue = roll.of(names);
      const auto pods = static_cast<std::int32_t>(roll.between(1, 8)),
                 least = chosen.partial_admission ? static_cast<std::int32_t>(roll.between(1, pods)) : pods,
                 priority = static_cast<std::int32_t>(roll.below(3));
      const group_id group = with.on.ask_gang(name, queue, pods, 1, priority, least);
      const told by_cluster = with.ask_cluster(name, group, now);
      const told by_controller =
          with.ask_controller({.name = name,
                               .uid = name,
                               .queue = queue,
                               .priority = priority,
                               .created = instant{number},
                               .pod_sets = {{.count = pods, .min_count = least, .requests = {{gpu, 1}}}}},
                              now);
      if (by_controller.more_went && by_cluster.victims.empty()) {
        // Kueue's victims did not make room: where nodes count nobody goes then. The cluster goes on as the controller does.
        for (const std::string& one : by_controller.victims) with.leave(one);
        if (with.ids.contains(name)) with.end(name);
        ++in_vain;
        continue;
      }
      CHECK(by_cluster.pods == by_controller.pods);
      REQUIRE(by_cluster.victims == by_controller.victims);
      const auto started = std::accumulate(by_cluster.pods.begin(), by_cluster.pods.end(), std::int64_t{0},
                                           [](std::int64_t sum, const auto& one) { return sum + one.second; });
      ++(started > 0 ? admitted : refused);
      cut += started > 0 && started < pods ? 1 : 0;
      preempted += by_cluster.victims.size();
    }
  }
  CHECK(admitted > 1500);
  CHECK(refused > 300);
  CHECK(cut > 200);
  CHECK(preempted > 200);
  CHECK(in_vain < 20);
}

}  // namespace gangsched::testing::kueue_property_test
