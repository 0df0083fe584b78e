#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/queues/capacity_scheduling/victims.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::capacity_scheduling_test {

using namespace gangsched::queues;
using namespace gangsched::queues::capacity_scheduling;
using amounts = std::vector<std::int64_t>;
using std::chrono::seconds;

constexpr resource_kind memory_only[]{resource_kind::field};
constexpr resource_kind cpu_and_gpu[]{resource_kind::field, resource_kind::extended};

elastic_quotas make(std::span<const resource_kind> kinds, const std::vector<quota_spec>& specs) {
  return elastic_quotas::make(kinds, specs).value();
}
quota_check check(const elastic_quotas& quotas, const quota_pod& pod, const std::vector<quota_pod>& nominated = {}) {
  return quotas.admit(pod, quotas.demand(pod, nominated).value()).why;
}
std::int64_t add(std::int64_t a, std::int64_t b) { return amount_or_zero(a) + amount_or_zero(b); }

/// A node with so much free of each resource.
class node : public trial_node {
 public:
  node(amounts free, amounts asks, std::vector<amounts> running, amounts nominated = {})
      : free_(std::move(free)), asks_(std::move(asks)), running_(std::move(running)), nominated_(std::move(nominated)) {
    nominated_.resize(free_.size(), 0);
  }
  void remove(std::uint32_t pod) override { move(pod, 1); }
  void put_back(std::uint32_t pod) override { move(pod, -1); }
  bool fits() override {
    for (std::size_t i = 0; i < free_.size(); ++i)
      if (amount_or_zero(asks_[i]) > free_[i] - nominated_[i]) return false;
    return true;
  }
  bool violates_budget(std::uint32_t pod) override { return std::ranges::find(protected_, pod) != protected_.end(); }
  void protect(std::vector<std::uint32_t> pods) { protected_ = std::move(pods); }
  [[nodiscard]] const amounts& free() const { return free_; }

 private:
  void move(std::uint32_t pod, std::int64_t sign) {
    for (std::size_t i = 0; i < free_.size(); ++i) free_[i] += sign * amount_or_zero(running_[pod][i]);
  }
  amounts free_, asks_;
  std::vector<amounts> running_;
  amounts nominated_;
  std::vector<std::uint32_t> protected_;
};

TEST_CASE("P4: a pod is refused above the max of its quota, and above the sum of all mins") {
  elastic_quotas one = make(memory_only, {{"ns1", amounts{1000}, amounts{2000}}});
  one.use({0, amounts{300}}).value();
  CHECK(check(one, {0, amounts{500}}) == quota_check::fits);
  CHECK(check(one, {0, amounts{1800}}) == quota_check::over_max);

  elastic_quotas two =
      make(memory_only, {{"ns1", amounts{1000}, amounts{2000}}, {"ns2", amounts{1000}, amounts{2000}}});
  two.use({0, amounts{1800}}).value();
  two.use({1, amounts{200}}).value();
  CHECK(check(two, {1, amounts{500}}) == quota_check::over_min);
  CHECK(check(two, {no_queue, amounts{500}}) == quota_check::fits);
}

TEST_CASE("P5: over its min a pod takes from its own quota, within it from quotas that are over theirs") {
  const amounts fifty{50};
  const std::vector<amounts> requests(3, fifty);
  const std::vector<quota_pod> running{{0, fifty, 5}, {1, fifty, 9}, {1, fifty, 5}};
  for (const auto& [min1, min2, victim] : {std::tuple{50, 200, 0u}, {150, 50, 2u}}) {
    elastic_quotas quotas =
        make(memory_only, {{"ns1", amounts{min1}, amounts{200}}, {"ns2", amounts{min2}, amounts{200}}});
    for (const quota_pod& pod : running) quotas.use(pod).value();
    const quota_pod pod{0, fifty, 9};
    node trial{{0}, fifty, requests};
    const victims got = select_victims(quotas, pod, quotas.demand(pod, {}).value(), running, trial).value();
    CHECK(got.outcome == victims_outcome::found);
    CHECK(got.pods == std::vector<std::uint32_t>{victim});
    CHECK(trial.free() == fifty);
    CHECK(quotas.used(1)[0] == 100);
  }
}

TEST_CASE(
    "P16: without a max there is no limit but all mins, and a limit that lacks a resource is 0 in it, or none if that "
    "is extended") {
  elastic_quotas quotas = make(cpu_and_gpu, {{"none", amounts{100, 100}},
                                             {"gpu only", amounts{100, 100}, amounts{unnamed, 5}},
                                             {"cpu only", std::nullopt, amounts{5, unnamed}}});
  CHECK(check(quotas, {0, amounts{200, 200}}) == quota_check::fits);
  CHECK(check(quotas, {0, amounts{201, unnamed}}) == quota_check::over_min);
  CHECK(check(quotas, {1, amounts{1, 1}}) == quota_check::over_max);
  CHECK(check(quotas, {1, amounts{0, 5}}) == quota_check::fits);
  CHECK(check(quotas, {1, amounts{unnamed, 6}}) == quota_check::over_max);
  CHECK(check(quotas, {2, amounts{5, 200}}) == quota_check::fits);
  CHECK(quotas.admit({2, amounts{6, 201}}, quotas.demand({2, amounts{6, 201}}, {}).value()).resources == 1);
  // Without a min for GPUs anywhere no pod with a quota may have one.
  CHECK(check(make(cpu_and_gpu, {{"a", amounts{100, unnamed}}}), {0, amounts{1, 1}}) == quota_check::over_min);
}

TEST_CASE("a quota that is over its max in an extended resource refuses only who names it, in cpu everybody") {
  elastic_quotas quotas = make(cpu_and_gpu, {{"a", amounts{100, 100}, amounts{50, 5}}});
  quotas.use({0, amounts{10, 7}}).value();
  CHECK(check(quotas, {0, amounts{1, unnamed}}) == quota_check::fits);
  CHECK(check(quotas, {0, amounts{1, 0}}) == quota_check::over_max);
  quotas.set_quota(0, {"", amounts{100, 100}, amounts{5, 50}}).value();
  CHECK(check(quotas, {0, amounts{unnamed, 1}}) == quota_check::over_max);
}

TEST_CASE(
    "pods that are nominated count if they go first: of its quota by priority, of others while they are within their "
    "min") {
  elastic_quotas quotas = make(memory_only, {{"a", amounts{100}, amounts{60}}, {"b", amounts{50}}, {"c", amounts{10}}});
  quotas.use({2, amounts{11}}).value();
  const amounts ten{10};
  const quota_pod pod{0, ten, 5};
  const auto demand =
      quotas
          .demand(pod,
                  std::vector<quota_pod>{
                      {0, ten, 5}, {0, ten, 4}, {0, ten, 6}, {1, ten, 0}, {2, ten, 9}, {no_queue, ten, 9}})
          .value();
  CHECK(demand.own == amounts{30});
  CHECK(demand.all == amounts{40});
  quotas.use({0, amounts{31}}).value();
  CHECK(quotas.admit(pod, demand).why == quota_check::over_max);
  CHECK(check(quotas, pod) == quota_check::fits);
}

TEST_CASE("a quota loses no more pods than it is over its min by, the least important first whatever their priority") {
  const std::vector<amounts> requests{{10}, {10}, {10}, {10}};
  const std::vector<quota_pod> running{{1, requests[0], 100, seconds{1}},
                                       {1, requests[1], 100, seconds{2}},
                                       {1, requests[2], 0, seconds{3}},
                                       {no_queue, requests[3], 0}};
  elastic_quotas quotas = make(memory_only, {{"a", amounts{40}}, {"b", amounts{15}}});
  for (const quota_pod& pod : running) quotas.use(pod).value();
  const quota_pod pod{0, requests[0], 1};
  const amounts thirty{30};
  const quota_pod large{0, thirty, 1};
  node for_one{{0}, requests[0], requests};
  CHECK(select_victims(quotas, pod, quotas.demand(pod, {}).value(), running, for_one)->pods ==
        std::vector<std::uint32_t>{2});
  node for_three{{0}, thirty, requests};
  CHECK(select_victims(quotas, large, quotas.demand(large, {}).value(), running, for_three)->outcome ==
        victims_outcome::none);
}

TEST_CASE("a pod without a quota takes from pods without one that are less important, and leaves quotas alone") {
  const amounts ten{10};
  const std::vector<amounts> requests(3, ten);
  const std::vector<quota_pod> running{{0, ten, 0}, {no_queue, ten, 5}, {no_queue, ten, 3}};
  elastic_quotas quotas = make(memory_only, {{"a", amounts{0}}});
  quotas.use(running[0]).value();
  const quota_pod pod{no_queue, ten, 5};
  node trial{{0}, ten, requests};
  CHECK(select_victims(quotas, pod, quotas.demand(pod, {}).value(), running, trial)->pods ==
        std::vector<std::uint32_t>{2});
}

TEST_CASE("pods that a budget protects are put back first, and counted if they cannot be") {
  const amounts ten{10}, twenty{20};
  const std::vector<amounts> requests(3, ten);
  const std::vector<quota_pod> running{{0, ten, 3}, {0, ten, 2}, {0, ten, 1}};
  elastic_quotas quotas = make(memory_only, {{"a", amounts{30}}});
  for (const quota_pod& pod : running) quotas.use(pod).value();
  for (const bool both : {false, true}) {
    const quota_pod pod{0, both ? twenty : ten, 5};
    node trial{{both ? 0 : 10}, pod.request.empty() ? ten : amounts(pod.request.begin(), pod.request.end()), requests};
    trial.protect({1, 2});
    const victims got = select_victims(quotas, pod, quotas.demand(pod, {}).value(), running, trial).value();
    CHECK(got.pods == (both ? std::vector<std::uint32_t>{0, 2} : std::vector<std::uint32_t>{0}));
    CHECK(got.violating == (both ? 1 : 0));
  }
}

TEST_CASE("who is in the way of the node, and out of it still of the quota, makes the search fail as upstream") {
  const amounts ten{10};
  const std::vector<amounts> requests{ten};
  const std::vector<quota_pod> running{{1, ten, 0}};
  elastic_quotas quotas = make(memory_only, {{"a", amounts{20}}, {"b", amounts{5}}});
  quotas.use(running[0]).value();
  const quota_pod pod{0, ten, 5};
  for (const bool nominated : {false, true}) {
    std::vector<quota_pod> others;
    const amounts lots{8}, none{0};
    if (nominated) others = {{0, lots, 9}, {1, none, 9}, {0, lots, 9}};
    const auto demand = quotas.demand(pod, others).value();
    node trial{{0}, ten, requests};
    const victims got = select_victims(quotas, pod, demand, running, trial).value();
    // With 16 more of its own quota it is over its min and looks there, where nobody is.
    CHECK(got.outcome == (nominated ? victims_outcome::none : victims_outcome::found));
    CHECK(quotas.used(1)[0] == 10);
  }
  elastic_quotas wide = make(memory_only, {{"a", amounts{10}}, {"b", amounts{5}}, {"c", amounts{5}}});
  wide.use(running[0]).value();
  const amounts eleven{11};
  const quota_pod elsewhere{2, eleven, 0};
  node trial{{0}, ten, requests};
  const victims got =
      select_victims(wide, pod, wide.demand(pod, std::vector{elsewhere}).value(), running, trial).value();
  CHECK(got.outcome == victims_outcome::failed);
  CHECK(got.pods.empty());
  CHECK(wide.used(1)[0] == 10);
}

TEST_CASE("quotas and pods are refused by name, field and reason, and nothing changes") {
  const auto failure = [](std::span<const resource_kind> kinds, const std::vector<quota_spec>& specs) {
    const auto made = elastic_quotas::make(kinds, specs);
    return made ? std::string{} : made.error().message();
  };
  CHECK(failure(memory_only, {{""}}) == "quota : name: is empty");
  CHECK(failure(memory_only, {{"a"}, {"a"}}) == "quota a: name: another quota has it");
  CHECK(failure(memory_only, {{"a", amounts{1, 2}}}) == "quota a: min: has 2 amounts for 1 resources");
  CHECK(failure(memory_only, {{"a", {}, amounts{-1}}}) == "quota a: max[0]: -1 is not in 0 … 9223372036854775807");
  CHECK(failure(memory_only, {{"a", amounts{largest_amount}}, {"b", amounts{1}}}) ==
        "quota b: min[0]: the sum is too large");
  CHECK(failure(std::vector<resource_kind>(65), {}) == "elastic quotas: resources: 65, at most 64 can be");

  elastic_quotas quotas = make(memory_only, {{"a", amounts{10}}});
  const auto message = [](const auto& of) { return of ? std::string{} : of.error().message(); };
  CHECK(message(quotas.use({3, amounts{1}})) == "quota 3: there is none");
  CHECK(message(quotas.use({0, amounts{1, 2}})) == "quota a: request: has 2 amounts for 1 resources");
  CHECK(message(quotas.use({no_queue, {}})) == "a pod without quota: request: has no amounts");
  CHECK(message(quotas.release({0, amounts{1}})) == "quota a: request[0]: the quota uses only 0");
  quotas.use({0, amounts{largest_amount}}).value();
  CHECK(message(quotas.use({0, amounts{1}})) == "quota a: request[0]: the sum is too large");
  CHECK(message(quotas.set_quota(1, {})) == "quota 1: there is none");
  const amounts huge{largest_amount};
  CHECK(message(quotas.demand({0, amounts{1}}, std::vector<quota_pod>{{0, huge}})) ==
        "quota a: request[0]: the sum of nominated pods is too large");
  CHECK(quotas.used(0)[0] == largest_amount);
}

// The rules once more: sums counted from all pods for each question.

struct plain_world {
  std::vector<resource_kind> kinds;
  std::vector<quota_spec> quotas;
  std::vector<quota_pod> pods;  // all that run
  std::vector<char> gone;

  [[nodiscard]] std::int64_t used(queue_index quota, std::size_t resource) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < pods.size(); ++i)
      if (gone[i] == 0 && pods[i].quota == quota) sum += amount_or_zero(pods[i].request[resource]);
    return sum;
  }
  [[nodiscard]] std::int64_t min(queue_index quota, std::size_t resource) const {
    return quotas[quota].min ? amount_or_zero((*quotas[quota].min)[resource]) : 0;
  }
  [[nodiscard]] bool over_min(queue_index quota, const amounts* with) const {
    for (std::size_t r = 0; r < kinds.size(); ++r) {
      if (with != nullptr && kinds[r] == resource_kind::extended && !is_named((*with)[r])) continue;
      if (used(quota, r) + (with == nullptr ? 0 : amount_or_zero((*with)[r])) > min(quota, r)) return true;
    }
    return false;
  }
  [[nodiscard]] quota_check check(const quota_pod& pod, const amounts& own, const amounts& all) const {
    if (pod.quota == no_queue) return quota_check::fits;
    for (std::size_t r = 0; r < kinds.size() && quotas[pod.quota].max; ++r) {
      const std::int64_t max = (*quotas[pod.quota].max)[r];
      const bool extended = kinds[r] == resource_kind::extended;
      if (extended && (!is_named(max) || !is_named(own[r]))) continue;
      if (used(pod.quota, r) + amount_or_zero(own[r]) > amount_or_zero(max)) return quota_check::over_max;
    }
    for (std::size_t r = 0; r < kinds.size(); ++r) {
      std::int64_t uses = amount_or_zero(all[r]), mins = 0;
      for (queue_index quota = 0; quota < quotas.size(); ++quota) {
        uses += used(quota, r);
        mins += min(quota, r);
      }
      if (uses > mins) return quota_check::over_min;
    }
    return quota_check::fits;
  }

  /// Nothing: an error.
  std::optional<std::vector<std::uint32_t>> victims(const quota_pod& pod, const amounts& own, const amounts& all,
                                                    std::vector<std::uint32_t> here, const amounts& free) {
    const auto fits = [&] {
      for (std::size_t r = 0; r < kinds.size(); ++r) {
        std::int64_t left = free[r];
        for (const std::uint32_t i : here) left += gone[i] != 0 ? amount_or_zero(pods[i].request[r]) : 0;
        if (amount_or_zero(pod.request[r]) > left) return false;
      }
      return true;
    };
    const auto restored = [&](std::vector<std::uint32_t> found) {
      std::ranges::fill(gone, 0);
      return found;
    };
    std::ranges::sort(here, [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple{pods[a].priority, -pods[a].start.count()} <
             std::tuple{pods[b].priority, -pods[b].start.count()};
    });
    const bool in_quota = pod.quota != no_queue, takes_own = in_quota && over_min(pod.quota, &own);
    std::vector<std::uint32_t> taken;
    for (const std::uint32_t i : here) {
      const quota_pod& one = pods[i];
      const bool lower = one.quota == pod.quota && one.priority < pod.priority;
      const bool borrows = one.quota != no_queue && one.quota != pod.quota && over_min(one.quota, nullptr);
      if (!in_quota || takes_own ? !lower : !borrows) continue;
      gone[i] = 1;
      taken.push_back(i);
    }
    const amounts alone(pod.request.begin(), pod.request.end());
    if (taken.empty() || !fits() || check(pod, alone, alone) != quota_check::fits) return restored({});
    std::vector<std::uint32_t> found;
    for (auto i = taken.rbegin(); i != taken.rend(); ++i) {
      gone[*i] = 0;
      const bool fitted = fits();
      if (!fitted) gone[*i] = 1;
      const bool over = check(pod, own, all) != quota_check::fits;
      if (!fitted && over) {
        restored({});
        return std::nullopt;
      }
      if (fitted && !over) continue;
      gone[*i] = 1;
      found.push_back(*i);
    }
    return restored(found);
  }
};

amounts random_amounts(dice& roll, std::size_t resources, std::int64_t most, unsigned unnamed_percent) {
  amounts made(resources);
  for (std::int64_t& one : made) one = roll.percent(unnamed_percent) ? unnamed : roll.between(0, most);
  return made;
}

TEST_CASE("verdicts and victims are those of the rules read one by one") {
  std::map<quota_check, std::size_t> verdicts;
  std::map<victims_outcome, std::size_t> outcomes;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    plain_world world;
    for (std::int64_t i = roll.between(1, 3); i > 0; --i)
      world.kinds.push_back(roll.percent(50) ? resource_kind::field : resource_kind::extended);
    const std::size_t resources = world.kinds.size();
    for (std::int64_t i = roll.between(1, 4); i > 0; --i) {
      quota_spec& spec = world.quotas.emplace_back();
      spec.name = "q" + std::to_string(i);
      if (roll.percent(95)) spec.min = random_amounts(roll, resources, 40, 5);
      if (roll.percent(60)) spec.max = random_amounts(roll, resources, 60, 10);
    }
    elastic_quotas quotas = make(world.kinds, world.quotas);
    std::vector<amounts> requests;
    for (int i = 0; i < 20; ++i) requests.push_back(random_amounts(roll, resources, 10, 15));
    const auto random_pod = [&](std::size_t which) {
      const auto quota = static_cast<queue_index>(roll.below(world.quotas.size() + 1));
      return quota_pod{quota < world.quotas.size() ? quota : no_queue, requests[which],
                       static_cast<std::int32_t>(roll.between(0, 3)), seconds{static_cast<std::int64_t>(which)}};
    };
    for (std::size_t i = 0; i < 14; ++i) {
      world.pods.push_back(random_pod(i));
      quotas.use(world.pods.back()).value();
    }
    world.gone.assign(world.pods.size(), 0);
    const quota_pod pod = random_pod(14);
    amounts own = requests[14], all = own;
    std::vector<quota_pod> nominated;
    for (std::size_t i = 15; i < 15 + roll.below(5); ++i) {
      const quota_pod& one = nominated.emplace_back(random_pod(i));
      const bool same = one.quota == pod.quota && one.priority >= pod.priority;
      if (pod.quota == no_queue || one.quota == no_queue) continue;
      if (!same && (one.quota == pod.quota || world.over_min(one.quota, nullptr))) continue;
      for (std::size_t r = 0; r < resources; ++r) {
        if (!is_named(one.request[r])) continue;
        all[r] = add(all[r], one.request[r]);
        if (same) own[r] = add(own[r], one.request[r]);
      }
    }
    const quota_demand demand = quotas.demand(pod, nominated).value();
    REQUIRE(demand.own == own);
    REQUIRE(demand.all == all);
    const quota_check verdict = quotas.admit(pod, demand).why;
    REQUIRE(verdict == world.check(pod, own, all));
    ++verdicts[verdict];

    std::vector<std::uint32_t> here;
    std::vector<quota_pod> running;
    std::vector<amounts> running_requests;
    for (std::uint32_t i = 0; i < world.pods.size(); ++i) {
      if (roll.percent(30)) continue;
      here.push_back(i);
      running.push_back(world.pods[i]);
      running_requests.emplace_back(world.pods[i].request.begin(), world.pods[i].request.end());
    }
    const amounts free = random_amounts(roll, resources, 6, 0);
    node trial{free, requests[14], running_requests};
    victims got = select_victims(quotas, pod, demand, running, trial).value();
    for (std::uint32_t& victim : got.pods) victim = here[victim];
    const auto expected = world.victims(pod, own, all, here, free);
    REQUIRE((got.outcome == victims_outcome::failed) == !expected.has_value());
    REQUIRE(got.pods == expected.value_or(std::vector<std::uint32_t>{}));
    REQUIRE((got.outcome == victims_outcome::found) == !got.pods.empty());
    ++outcomes[got.outcome];
    for (queue_index quota = 0; quota < quotas.size(); ++quota)
      for (std::size_t r = 0; r < resources; ++r) REQUIRE(quotas.used(quota)[r] == world.used(quota, r));
  }
  CHECK(verdicts[quota_check::fits] > 300);
  CHECK(verdicts[quota_check::over_max] > 300);
  CHECK(verdicts[quota_check::over_min] > 300);
  CHECK(outcomes[victims_outcome::found] > 300);
  CHECK(outcomes[victims_outcome::failed] > 10);
}

TEST_CASE("a host that counts itself says what all quotas use, or changes nothing") {
  elastic_quotas quotas = make(cpu_and_gpu, {{"a", amounts{4, 1}}, {"b", amounts{2, 1}}});
  quotas.use({0, amounts{3, 1}}).value();
  quotas.set_used(amounts{1, 0, 3, 1}).value();
  CHECK(std::ranges::equal(quotas.used(0), amounts{1, 0}));
  CHECK(std::ranges::equal(quotas.used(1), amounts{3, 1}));
  CHECK(quotas.is_over_min(1));
  CHECK(check(quotas, {0, amounts{3, 0}}) == quota_check::over_min);
  CHECK(check(quotas, {0, amounts{2, 1}}) == quota_check::fits);
  CHECK(quotas.set_used(amounts{1, 0, 3}).error().code == errc::malformed);
  CHECK(quotas.set_used(amounts{1, 0, -1, 0}).error().code == errc::out_of_range);
  const auto large = quotas.set_used(amounts{1, largest_amount, 0, 1});
  CHECK(large.error().code == errc::overflow);
  CHECK(large.error().field == "used[1]");
  CHECK(std::ranges::equal(quotas.used(1), amounts{3, 1}));
}

}  // namespace gangsched::testing::capacity_scheduling_test
