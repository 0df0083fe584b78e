#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/quota_ledger.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::kueue_quota_test {

using namespace gangsched::queues;
using namespace gangsched::queues::kueue;

/// A queue with one resource in one flavor.
queue_spec cpu_queue(std::string name, std::string cohort, quota cpu, double weight = 1) {
  return {
      .name = std::move(name), .cohort = std::move(cohort), .weight = weight, .groups = {{{"cpu"}, {{"f", {cpu}}}}}};
}
cohort_spec cpu_cohort(std::string name, std::string parent, quota cpu, double weight = 1) {
  return {std::move(name), std::move(parent), weight, {{{"cpu"}, {{"f", {cpu}}}}}};
}

/// A ledger beside its configuration.
struct world {
  explicit world(const configuration_spec& from) : of(configuration::make(from).value()), ledger(of) {}
  [[nodiscard]] queue_index queue(std::string_view name) const { return of.find_queue(name).value(); }
  [[nodiscard]] queue_index cohort(std::string_view name) const { return of.find_cohort(name).value(); }
  [[nodiscard]] fr_index fr(std::string_view flavor, std::string_view resource) const {
    return of.find_fr(of.find_flavor(flavor), of.find_resource(resource));
  }
  void use(std::string_view name, std::string_view flavor, std::string_view resource, std::int64_t amount) {
    ledger.add(queue(name), fr(flavor, resource), amount);
  }
  [[nodiscard]] double share(std::string_view name) const { return ledger.share(queue(name)).weighted(); }

  configuration of;
  quota_ledger ledger;
};

std::string failure_of(const configuration_spec& from) {
  const auto made = configuration::make(from);
  return made ? "" : made.error().message();
}

TEST_CASE("amounts without bound stay so, and what does not fit stays at the ends") {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK(sum(unlimited, -5) == unlimited);
  CHECK(sum(unlimited - 1, 5) == unlimited);
  CHECK(sum(least, -1) == least);
  CHECK(difference(unlimited, unlimited) == 0);
  CHECK(difference(unlimited, 7) == unlimited);
  CHECK(difference(7, unlimited) == least);
  CHECK(difference(-7, unlimited - 1) == least);
  CHECK(difference(least, 1) == least);
  CHECK(product(1'000'000'000'000, 1'000'000'000'000) == unlimited);
}

TEST_CASE("K26: what a queue lends is room of the others up to its lending limit") {
  world w{{.flavors = {{"f"}},
           .cohorts = {cpu_cohort("all", "", {10'000})},
           .queues = {cpu_queue("one", "all", {10'000}), cpu_queue("two", "all", {10'000, unlimited, 9'000})}}};
  w.use("one", "f", "cpu", 1'000);
  w.use("two", "f", "cpu", 500);
  const fr_index cpu = w.fr("f", "cpu");
  CHECK(w.ledger.available(w.queue("one"), cpu) == 28'000);
  CHECK(w.ledger.available(w.queue("two"), cpu) == 28'500);
  CHECK(w.ledger.potential(w.queue("one"), cpu) == 29'000);
  CHECK(w.ledger.potential(w.queue("two"), cpu) == 30'000);
}

TEST_CASE("K27: a queue may use its cohort's own quota, too") {
  world w{{.flavors = {{"f"}}, .cohorts = {cpu_cohort("all", "", {10})}, .queues = {cpu_queue("one", "all", {10})}}};
  w.use("one", "f", "cpu", 11);
  CHECK(w.ledger.available(w.queue("one"), w.fr("f", "cpu")) == 9);
}

TEST_CASE("K28: too much use leaves nothing even for a queue that lends and borrows nothing") {
  world w{{.flavors = {{"f"}},
           .cohorts = {cpu_cohort("all", "", {10})},
           .queues = {cpu_queue("one", "all", {10}), cpu_queue("two", "all", {10, 0, 0})}}};
  w.use("one", "f", "cpu", 31);
  CHECK(w.ledger.room(w.queue("one"), w.fr("f", "cpu")) == 0);
  CHECK(w.ledger.room(w.queue("two"), w.fr("f", "cpu")) == 0);
}

TEST_CASE("K29: limits of lending and borrowing bound what a queue can ever get") {
  const auto potential = [](quota own, quota other) {
    world w{{.flavors = {{"f"}},
             .cohorts = {cpu_cohort("all", "", {20})},
             .queues = {cpu_queue("one", "all", own), cpu_queue("two", "all", other)}}};
    return w.ledger.potential(w.queue("one"), w.fr("f", "cpu"));
  };
  CHECK(potential({10}, {10}) == 40);
  CHECK(potential({10}, {10, unlimited, 5}) == 35);
  CHECK(potential({10, 2}, {10}) == 12);
}

configuration_spec two_resources(double weight) {
  const auto queue = [](const char* name, std::int64_t cpu, std::int64_t gpu, double of) {
    return queue_spec{
        .name = name, .cohort = "all", .weight = of, .groups = {{{"cpu", "gpu"}, {{"f", {{cpu}, {gpu}}}}}}};
  };
  return {.flavors = {{"f"}}, .cohorts = {}, .queues = {queue("cq", 2'000, 5, weight), queue("lender", 8'000, 5, 1)}};
}

TEST_CASE("K1, K2: the resource of which most is borrowed decides, divided by the weight") {
  const auto share = [](double weight, std::int64_t cpu, std::int64_t gpu) {
    world w{two_resources(weight)};
    w.use("cq", "f", "cpu", cpu);
    w.use("cq", "f", "gpu", gpu);
    const dominant_share made = w.ledger.share(w.queue("cq"));
    return std::pair{made.rounded(), made.resource == none ? std::string{} : w.of.resource(made.resource)};
  };
  CHECK(share(1, 3'000, 7) == std::pair{std::int64_t{200}, std::string{"gpu"}});
  CHECK(share(1, 3'000, 3) == std::pair{std::int64_t{100}, std::string{"cpu"}});
  CHECK(share(1, 1'000 + 4'000, 2 + 4) == std::pair{std::int64_t{300}, std::string{"cpu"}});
  CHECK(share(2, 3'000, 7).first == 100);
  CHECK(share(0.5, 3'000, 7).first == 400);
  CHECK(share(0, 3'000, 7).first == std::numeric_limits<std::int64_t>::max());
  CHECK(share(0, 2'000, 5).first == 0);
  CHECK(share(1, 3'000, 6) == std::pair{std::int64_t{100}, std::string{"cpu"}});  // equal shares: the first name
}

TEST_CASE("K3: room in one flavor does not make up for what is borrowed in another") {
  world w{{.flavors = {{"on-demand"}, {"spot"}},
           .queues = {{.name = "cq", .cohort = "all", .groups = {{{"cpu"}, {{"on-demand", {{20}}}, {"spot", {{80}}}}}}},
                      {.name = "lender", .cohort = "all", .groups = {{{"cpu"}, {{"on-demand", {{100}}}}}}}}}};
  w.use("cq", "on-demand", "cpu", 15 + 10);
  w.use("cq", "spot", "cpu", 5);
  CHECK(w.share("cq") == 25);
}

TEST_CASE("K4: a share is rounded up") {
  const auto rounded = [](std::int64_t used, double weight) {
    world w{
        {.flavors = {{"f"}}, .queues = {cpu_queue("cq", "all", {500}, weight), cpu_queue("lender", "all", {1'000})}}};
    w.use("cq", "f", "cpu", used);
    return w.ledger.share(w.queue("cq")).rounded();
  };
  CHECK(rounded(501, 1) == 1);
  CHECK(rounded(800, 300) == 1);
}

TEST_CASE("K5: cohorts in cohorts have shares of what theirs can lend") {
  const auto shares = [](quota child, std::int64_t root, std::int64_t queue) {
    world w{{.flavors = {{"f"}},
             .cohorts = {cpu_cohort("root", "", {root}), cpu_cohort("child", "root", child, 2)},
             .queues = {cpu_queue("cq", "child", {queue})}}};
    w.use("cq", "f", "cpu", 10);
    return std::pair{w.ledger.share(w.queue("cq")).weighted(), w.ledger.share(w.cohort("child")).weighted()};
  };
  CHECK(shares({}, 45, 5) == std::pair{100.0, 50.0});
  CHECK(shares({}, 50, 0) == std::pair{200.0, 100.0});
  CHECK(shares({0, 10}, 50, 0) == std::pair{1000.0, 100.0});
}

TEST_CASE("infinite shares are compared without their weights, and come after every finite one") {
  const auto share = [](double unweighted, double weight) { return dominant_share{unweighted, weight, 0, true}; };
  CHECK(compare(share(10, 0), share(20, 0)) < 0);
  CHECK(compare(share(10, 0), share(1e9, 0.001)) > 0);
  CHECK(compare(share(0, 0), share(0, 1)) == 0);
  CHECK(compare(share(10, 2), share(6, 1)) < 0);
}

TEST_CASE("how far a queue has to go to find room is the height of the subtree that has it") {
  world w{{.flavors = {{"f"}},
           .cohorts = {cpu_cohort("root", "", {0}), cpu_cohort("mid", "root", {4}), cpu_cohort("deep", "mid", {0}),
                       cpu_cohort("other", "root", {50})},
           .queues = {cpu_queue("q", "mid", {2}), cpu_queue("d", "deep", {3}), cpu_queue("alone", "", {1})}}};
  const auto of = [&](const char* name, std::int64_t amount) {
    const auto found = w.ledger.lowest_that_fits(w.queue(name), w.fr("f", "cpu"), amount);
    return std::pair{found.height, found.below_root};
  };
  CHECK(of("q", 2) == std::pair{0u, true});
  CHECK(of("q", 9) == std::pair{2u, true});  // a deeper sibling raises the number
  CHECK(of("q", 10) == std::pair{3u, false});
  CHECK(of("q", 1'000) == std::pair{3u, false});
  CHECK(of("d", 4) == std::pair{2u, true});
  CHECK(of("alone", 5) == std::pair{0u, false});
}

TEST_CASE("resources are in the order of the hashes of their names") {
  world w{{.flavors = {{"f"}},
           .queues = {
               {.name = "q", .groups = {{{"memory", "cpu", "pods", "example.com/gpu"}, {{"f", {{}, {}, {}, {}}}}}}}}}};
  std::vector<std::string> order;
  for (resource_index i = 0; i < w.of.resource_count(); ++i) order.push_back(w.of.resource(i));
  CHECK(order == std::vector<std::string>{"memory", "pods", "example.com/gpu", "cpu"});
}

TEST_CASE("a configuration is refused by object, field and reason") {
  const configuration_spec good{.flavors = {{"f"}}, .queues = {cpu_queue("q", "all", {1})}};
  const auto with = [&](auto&& change) {
    configuration_spec made = good;
    change(made);
    return failure_of(made);
  };
  CHECK(failure_of(good).empty());
  CHECK(with([](auto& c) { c.flavors.push_back({""}); }) == "flavor : name: is empty");
  CHECK(with([](auto& c) { c.flavors.push_back({"f"}); }) == "flavor f: name: another flavor has it");
  CHECK(with([](auto& c) { c.cohorts = {{""}}; }) == "cohort : name: is empty");
  CHECK(with([](auto& c) { c.cohorts = {{"a"}, {"a"}}; }) == "cohort a: name: another cohort has it");
  CHECK(with([](auto& c) { c.queues.push_back({""}); }) == "queue : name: is empty");
  CHECK(with([](auto& c) { c.queues.push_back(c.queues[0]); }) == "queue q: name: another queue has it");
  CHECK(with([](auto& c) {
          c.cohorts = {{"a", "b"}, {"b", "a"}};
        }) == "cohort a: parent: the cohorts above it lead back to it");
  CHECK(with([](auto& c) { c.cohorts = {{"a", "", -1}}; }) == "cohort a: weight: has to be a number from 0");
  CHECK(with([](auto& c) { c.queues[0].weight = std::nan(""); }) == "queue q: weight: has to be a number from 0");
  CHECK(with([](auto& c) { c.queues[0].groups[0].resources = {""}; }) ==
        "queue q: groups[0].resources: has one without a name");
  CHECK(with([](auto& c) { c.queues[0].groups[0].resources.push_back("cpu"); }) ==
        "queue q: groups[0].resources: names cpu again");
  CHECK(with([](auto& c) {
          c.queues[0].groups.push_back({{"gpu"}, {{"f", {{}}}}});
        }) == "queue q: groups[1].flavors[0]: names f again");
  CHECK(with([](auto& c) { c.queues[0].groups[0].flavors[0].flavor = "g"; }) ==
        "queue q: groups[0].flavors[0]: there is no flavor g");
  CHECK(with([](auto& c) { c.queues[0].groups[0].flavors[0].quotas.clear(); }) ==
        "queue q: groups[0].flavors[0].quotas: has to have one for each resource of the group");
  CHECK(with([](auto& c) { c.queues[0].groups[0].flavors[0].quotas[0].lending_limit = -1; }) ==
        "queue q: groups[0].flavors[0].quotas[0]: has a negative amount");
  CHECK(with([](auto& c) {
          for (int i = 0; i < 1'001; ++i)
            c.cohorts.push_back({"c" + std::to_string(i), i == 0 ? "" : "c" + std::to_string(i - 1)});
          c.queues[0].cohort = "c1000";
        }) == "queue q: parent: has more than 1000 cohorts above it");
}

TEST_CASE("a quota that cannot be changed is refused and stays") {
  world w{{.flavors = {{"f"}, {"g"}},
           .queues = {cpu_queue("q", "all", {7}), {.name = "r", .groups = {{{"cpu"}, {{"g", {{1}}}}}}}}}};
  const fr_index mine = w.fr("f", "cpu");
  CHECK(w.ledger.set_quota(w.queue("q"), w.fr("g", "cpu"), {1}).error().message() ==
        "queue q: quota of cpu: it has none in this flavor");
  CHECK(w.ledger.set_quota(w.queue("q"), mine, {-1}).error().code == errc::out_of_range);
  CHECK(w.ledger.set_quota(99'999'999, mine, {1}).error().message() ==
        "quotas: node: there is no queue or cohort 99999999");
  CHECK(w.ledger.set_quota(w.queue("q"), 99'999'999, {1}).error().message() ==
        "queue q: quota: there is no resource and flavor 99999999");
  {
    const quota_ledger::trial open{w.ledger};
    CHECK(w.ledger.set_quota(w.queue("q"), mine, {1}).error().code == errc::wrong_state);
  }
  CHECK(w.ledger.own(w.queue("q"), mine) == quota{7});
  CHECK(w.ledger.set_quota(w.queue("q"), mine, {9, 1, 2}).has_value());
  CHECK(w.ledger.available(w.cohort("all"), mine) == 2);
}

/// The rules as they are written in docs/queues/kueue.md, from the queues' usage alone.
struct plain_rules {
  const configuration& of;
  std::map<std::pair<queue_index, fr_index>, quota> own = {};
  std::map<std::pair<queue_index, fr_index>, std::int64_t> used = {};  // of queues

  [[nodiscard]] quota quota_of(queue_index node, fr_index fr) const {
    const auto found = own.find({node, fr});
    return found == own.end() ? quota{} : found->second;
  }
  [[nodiscard]] std::int64_t s(queue_index node, fr_index fr) const {
    std::int64_t made = quota_of(node, fr).nominal;
    for (const queue_index child : of.tree().children(node)) made += s(child, fr) - kept(child, fr);
    return made;
  }
  [[nodiscard]] std::int64_t kept(queue_index node, fr_index fr) const {
    const std::int64_t lend = quota_of(node, fr).lending_limit;
    return lend == unlimited ? 0 : std::max<std::int64_t>(0, s(node, fr) - lend);
  }
  [[nodiscard]] std::int64_t u(queue_index node, fr_index fr) const {
    const auto found = used.find({node, fr});
    std::int64_t made = found == used.end() ? 0 : found->second;
    for (const queue_index child : of.tree().children(node))
      made += std::max<std::int64_t>(0, u(child, fr) - kept(child, fr));
    return made;
  }
  [[nodiscard]] std::int64_t available(queue_index node, fr_index fr) const {
    if (of.tree().parent(node) == no_queue) return s(node, fr) - u(node, fr);
    std::int64_t above = available(of.tree().parent(node), fr);
    if (const std::int64_t limit = quota_of(node, fr).borrowing_limit; limit != unlimited)
      above = std::min(above,
                       s(node, fr) - kept(node, fr) - std::max<std::int64_t>(0, u(node, fr) - kept(node, fr)) + limit);
    return std::max<std::int64_t>(0, kept(node, fr) - u(node, fr)) + above;
  }
  [[nodiscard]] std::int64_t potential(queue_index node, fr_index fr) const {
    if (of.tree().parent(node) == no_queue) return s(node, fr);
    const std::int64_t limit = quota_of(node, fr).borrowing_limit;
    const std::int64_t made = kept(node, fr) + potential(of.tree().parent(node), fr);
    return limit == unlimited ? made : std::min(made, s(node, fr) + limit);
  }
  [[nodiscard]] double share(queue_index node) const {
    if (of.tree().parent(node) == no_queue) return 0;
    double most = 0;
    for (resource_index resource = 0; resource < of.resource_count(); ++resource) {
      std::int64_t borrowed = 0, lendable = 0;
      for (fr_index fr = 0; fr < of.fr_count(); ++fr) {
        if (of.resource_of(fr) != resource) continue;
        borrowed += std::max<std::int64_t>(0, u(node, fr) - s(node, fr));
        lendable += potential(of.tree().parent(node), fr);
      }
      if (lendable > 0) most = std::max(most, static_cast<double>(borrowed) * 1000.0 / static_cast<double>(lendable));
    }
    if (most == 0) return 0;
    return of.weight(node) == 0 ? std::numeric_limits<double>::infinity() : most / of.weight(node);
  }
};

configuration_spec random_tree(dice& random) {
  configuration_spec made{.flavors = {{"f"}, {"g"}}};
  const double weights[] = {0, 0.5, 1, 1, 3};
  const auto random_quota = [&] {
    return quota{random.between(0, 9), random.percent(40) ? random.between(0, 6) : unlimited,
                 random.percent(40) ? random.between(0, 6) : unlimited};
  };
  const auto groups = [&] {
    return std::vector<resource_group>{
        {{"cpu", "gpu"}, {{"f", {random_quota(), random_quota()}}, {"g", {random_quota(), random_quota()}}}}};
  };
  const std::size_t cohorts = 1 + random.below(5), queues = 1 + random.below(6);
  const auto cohort_name = [](std::size_t i) { return "c" + std::to_string(i); };
  for (std::size_t i = 0; i < cohorts; ++i)
    made.cohorts.push_back({cohort_name(i), i > 0 && random.percent(80) ? cohort_name(random.below(i)) : "",
                            weights[random.below(5)], random.percent(50) ? groups() : std::vector<resource_group>{}});
  for (std::size_t i = 0; i < queues; ++i)
    made.queues.push_back({.name = "q" + std::to_string(i),
                           .cohort = random.percent(90) ? cohort_name(random.below(cohorts)) : "",
                           .weight = weights[random.below(5)],
                           .groups = groups()});
  return made;
}

TEST_CASE(
    "whatever is added, taken away, tried, rolled back and given other quota: the ledger says what the plain rules "
    "say") {
  std::size_t compared = 0, borrowing = 0, infinite = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice random{seed};
    world w{random_tree(random)};
    plain_rules plain{w.of};
    for (queue_index node = 0; node < w.of.tree().size(); ++node)
      for (const auto& [fr, amounts] : w.of.quotas(node)) plain.own[{node, fr}] = amounts;
    const auto compare = [&] {
      for (queue_index node = 0; node < w.of.tree().size(); ++node) {
        for (fr_index fr = 0; fr < w.of.fr_count(); ++fr) {
          REQUIRE(w.ledger.subtree_quota(node, fr) == plain.s(node, fr));
          REQUIRE(w.ledger.kept(node, fr) == plain.kept(node, fr));
          REQUIRE(w.ledger.usage(node, fr) == plain.u(node, fr));
          REQUIRE(w.ledger.available(node, fr) == plain.available(node, fr));
          REQUIRE(w.ledger.potential(node, fr) == plain.potential(node, fr));
          const auto below = w.of.tree().children(node);
          REQUIRE(w.ledger.borrowing_children(node, fr) == std::ranges::count_if(below, [&](queue_index child) {
                    return plain.u(child, fr) > plain.s(child, fr);
                  }));
          compared += 6;
        }
        const double share = w.ledger.share(node).weighted();
        REQUIRE(share == plain.share(node));
        borrowing += share > 0 ? 1 : 0;
        infinite += std::isinf(share) ? 1 : 0;
      }
    };
    const auto random_queue = [&] {
      return static_cast<queue_index>(w.of.first_queue() + random.below(w.of.queue_count()));
    };
    const auto change = [&](auto& used) {
      const queue_index queue = random_queue();
      const auto fr = static_cast<fr_index>(random.below(w.of.fr_count()));
      std::int64_t& now = used[{queue, fr}];
      if (now > 0 && random.percent(40)) {
        const std::int64_t less = random.between(1, now);
        now -= less;
        w.ledger.remove(queue, fr, less);
      } else {
        const std::int64_t more = random.between(0, 7);
        now += more;
        w.ledger.add(queue, fr, more);
      }
    };
    for (int step = 0; step < 25; ++step) {
      change(plain.used);
      if (random.percent(20)) {
        const auto before = plain.used;
        {
          const quota_ledger::trial outer{w.ledger};
          for (int i = 0; i < 3; ++i) change(plain.used);
          const auto between = plain.used;
          {
            const quota_ledger::trial inner{w.ledger};
            for (int i = 0; i < 3; ++i) change(plain.used);
            compare();
          }
          plain.used = between;
          compare();
        }
        plain.used = before;
      }
      if (random.percent(20)) {
        const auto node = static_cast<queue_index>(random.below(w.of.tree().size()));
        if (const auto own = w.of.quotas(node); !own.empty()) {
          const fr_index fr = own[random.below(own.size())].of;
          const quota other{random.between(0, 9), random.percent(50) ? random.between(0, 6) : unlimited,
                            random.percent(50) ? random.between(0, 6) : unlimited};
          plain.own[{node, fr}] = other;
          REQUIRE(w.ledger.set_quota(node, fr, other).has_value());
        }
      }
      if (step % 5 == 4) compare();
    }
    compare();
  }
  CHECK(compared > 100'000);
  CHECK(borrowing > 500);
  CHECK(infinite > 50);
}

}  // namespace gangsched::testing::kueue_quota_test
