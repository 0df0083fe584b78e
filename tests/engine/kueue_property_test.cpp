// Kueue's policy in random clusters: usage within quota, an end of evictions, owners who have their own.
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

}  // namespace gangsched::testing::kueue_property_test
