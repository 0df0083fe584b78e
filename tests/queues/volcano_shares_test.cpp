#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gangsched/queues/volcano/queue_shares.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::volcano_shares_test {
namespace {

using namespace gangsched::queues;
using volcano::cpu;
using volcano::first_device;
using volcano::job_load;
using volcano::job_phase;
using volcano::memory;
using volcano::pods;
using volcano::queue_policy;
using volcano::queue_shares;
using volcano::queue_spec;
using volcano::resources;

constexpr double giga = 1e9;

resources cores(double count, double gigabytes = 0) { return {count * 1000, gigabytes * giga}; }

queue_shares opened(queue_policy policy, const resources& total, const std::vector<queue_spec>& queues,
                    const std::vector<job_load>& jobs) {
  auto made = queue_shares::open(policy, total, queues, jobs);
  REQUIRE(made);
  return *std::move(made);
}

/// What each deserves by proportion, round by round as it is written down: every queue with all kinds at once.
std::vector<resources> plain_division(const resources& total, const std::vector<queue_spec>& queues,
                                      const std::vector<volcano::queue_account>& accounts) {
  std::vector<resources> deserved(queues.size());
  std::vector<queue_index> open;
  for (queue_index q = 0; q < queues.size(); ++q)
    if (accounts[q].takes_part) open.push_back(q);
  for (resources remaining = total;;) {
    double weights = 0;
    for (const queue_index q : open) weights += queues[q].weight;
    if (weights == 0) return deserved;
    resources grown, shrunk;
    std::erase_if(open, [&](queue_index q) {
      const volcano::queue_account& at = accounts[q];
      const resources before = deserved[q];
      resources now = before;
      now.add(resources{remaining}.scale(queues[q].weight / weights));
      now = larger_of(now.limit_to(at.real_capability).limit_to_named(at.request), at.guarantee);
      for (volcano::kind k = 0; k < volcano::most_kinds; ++k) {
        if (!before.names(k) && !now.names(k)) continue;
        const double by = now.get(k) - before.get(k);
        grown.set(k, grown.get(k) + std::max(0.0, by));
        shrunk.set(k, shrunk.get(k) + std::max(0.0, -by));
      }
      deserved[q] = now;
      return at.request.within(now) || now == before;
    });
    const resources before = remaining;
    remaining.subtract(grown).add(shrunk);
    if (remaining.is_empty() || remaining == before) return deserved;
  }
}

job_load waiting(queue_index queue, const resources& request) { return {.queue = queue, .pending = request}; }
job_load running(queue_index queue, const resources& request) {
  return {.queue = queue, .phase = job_phase::running, .allocated_tasks = 1, .allocated = request};
}

TEST_CASE(
    "amounts that differ by less than a tenth are equal, but not where a queue's own limit is asked for what a task "
    "requests") {
  const resources five = cores(5);
  CHECK(resources{5000.05, 0}.within(five));
  CHECK_FALSE(resources{5000.2, 0}.within(five));
  CHECK_FALSE(resources{5000.05, 0}.within_for(five, cores(1)));
  CHECK(resources{5000.05, 0}.within_for(five, cores(0, 1)));
}

TEST_CASE("what is not named is nothing, or without a bound, as the comparison says") {
  const resources plain = cores(1), with_gpu = resources{1000, 0}.set(first_device, 1000);
  CHECK(plain.within(with_gpu));
  CHECK_FALSE(with_gpu.within(plain));
  CHECK_FALSE(plain.within_if_named(with_gpu));
  CHECK(with_gpu.within_if_named(plain));
  CHECK(plain.less_somewhere(with_gpu));
  CHECK(resources{with_gpu}.limit_to(plain).get(first_device) == 1000);
  CHECK(resources{with_gpu}.limit_to_named(plain).get(first_device) == 0);
  CHECK_FALSE(resources{plain}.subtract(with_gpu).names(first_device));
  CHECK(resources{0, 0}.set(pods, 5).is_empty());
}

TEST_CASE("what one queue does not ask for goes to others by their weights") {
  const auto shares = opened(queue_policy::proportion, cores(12),
                             {{.name = "a", .weight = 1}, {.name = "b", .weight = 2}, {.name = "c", .weight = 3}},
                             {waiting(0, cores(10)), waiting(1, cores(10)), waiting(2, cores(3))});
  CHECK(std::abs(shares.account(0).deserved.get(cpu) - 3000) < 1e-6);
  CHECK(std::abs(shares.account(1).deserved.get(cpu) - 6000) < 1e-6);
  CHECK(shares.account(2).deserved.get(cpu) == 3000);
}

TEST_CASE("a queue without jobs takes no part, but what it is guaranteed is kept for it") {
  const auto shares = opened(queue_policy::proportion, cores(10), {{.name = "a"}, {.name = "b", .guarantee = cores(4)}},
                             {waiting(0, cores(20))});
  CHECK(shares.account(0).real_capability.get(cpu) == 6000);
  CHECK(shares.account(0).deserved.get(cpu) == 6000);
  CHECK_FALSE(shares.account(1).takes_part);
  CHECK(shares.account(1).deserved == resources{});
}

TEST_CASE("a guarantee is deserved without a request, a capability bounds even a guarantee's queue") {
  const auto shares = opened(queue_policy::proportion, cores(10),
                             {{.name = "a", .guarantee = cores(4)}, {.name = "b", .capability = cores(2)}},
                             {waiting(0, cores(1)), waiting(1, cores(20))});
  CHECK(shares.account(0).deserved.get(cpu) == 4000);
  CHECK(shares.account(1).deserved.get(cpu) == 2000);
  CHECK(shares.account(1).real_capability.get(cpu) == 2000);
}

TEST_CASE("guarantees above what there is are given all the same, and the division ends") {
  const auto shares =
      opened(queue_policy::proportion, cores(10, 10),
             {{.name = "a", .guarantee = cores(8)}, {.name = "b", .guarantee = cores(6)}, {.name = "c"}},
             {waiting(0, cores(9, 1)), waiting(1, cores(1)), waiting(2, cores(5, 20))});
  CHECK(shares.account(0).deserved.get(cpu) == 8000);
  CHECK(shares.account(1).deserved.get(cpu) == 6000);
  CHECK(shares.account(2).real_capability.get(cpu) == -4000);
  CHECK_FALSE(shares.allocatable(2, cores(1)));
}

TEST_CASE("pods are divided and can decide a share, but a division does not go on for them") {
  const resources total = resources{4000, 0}.set(pods, 100);
  const auto shares = opened(queue_policy::proportion, total, {{.name = "a"}, {.name = "b"}},
                             {running(0, resources{500, 0}.set(pods, 3)), waiting(0, resources{3500, 0}.set(pods, 1)),
                              waiting(1, resources{4000, 0}.set(pods, 1))});
  CHECK(shares.account(0).deserved.get(pods) == 4);
  CHECK(shares.account(0).share == 0.75);
}

TEST_CASE(
    "by capacity a queue deserves what its user gave within its request and limit, and never less than its guarantee") {
  const auto shares = opened(queue_policy::capacity, cores(20),
                             {{.name = "a", .deserved = cores(5)},
                              {.name = "b", .capability = cores(4), .deserved = cores(9)},
                              {.name = "c", .guarantee = cores(3), .deserved = cores(1)}},
                             {waiting(0, cores(2)), waiting(1, cores(9)), running(2, cores(6))});
  CHECK(shares.account(0).deserved.get(cpu) == 2000);
  CHECK(shares.account(1).deserved.get(cpu) == 4000);
  CHECK(shares.account(2).deserved.get(cpu) == 3000);
  CHECK(shares.account(2).share == 2);
}

TEST_CASE("by proportion a task stays within what is deserved, by capacity within the limit: only for what it asks") {
  const std::vector<queue_spec> queues{{.name = "a", .capability = cores(8), .deserved = cores(2)}};
  const std::vector<job_load> jobs{running(0, cores(2, 9)), waiting(0, cores(1))};
  const auto by_capacity = opened(queue_policy::capacity, cores(10, 10), queues, jobs);
  CHECK(by_capacity.allocatable(0, cores(6)));
  CHECK_FALSE(by_capacity.allocatable(0, cores(7)));
  CHECK_FALSE(by_capacity.preemptive(0, cores(1)));
  CHECK_FALSE(by_capacity.overused(0));
  const auto by_weight = opened(queue_policy::proportion, cores(10, 10), queues, jobs);
  CHECK(by_weight.account(0).deserved.get(cpu) == 3000);
  CHECK(by_weight.allocatable(0, cores(1)));
  CHECK_FALSE(by_weight.allocatable(0, cores(1.5)));
  CHECK_FALSE(by_weight.allocatable(0, cores(1, 1)));
  CHECK(by_weight.preemptive(0, cores(100)));
}

TEST_CASE("a queue comes before another by priority, then by the smaller share, which follows what it gets") {
  auto shares = opened(queue_policy::capacity, cores(20),
                       {{.name = "a", .deserved = cores(4)},
                        {.name = "b", .deserved = cores(4)},
                        {.name = "c", .priority = 1, .deserved = cores(1)}},
                       {waiting(0, cores(4)), running(1, cores(1)), waiting(1, cores(3)), running(2, cores(1))});
  CHECK((shares.order(0, 1) < 0));
  CHECK((shares.order(2, 0) < 0));
  shares.allocate(0, cores(2));
  CHECK((shares.order(0, 1) > 0));
  shares.release(0, cores(1));
  CHECK((shares.order(0, 1) == 0));
}

TEST_CASE("a job may start while it fits beside what is allocated and reserved, and what is elastic does not count") {
  auto shares = opened(queue_policy::capacity, cores(10, 10), {{.name = "a"}},
                       {{.queue = 0,
                         .phase = job_phase::running,
                         .min_member = 1,
                         .allocated_tasks = 3,
                         .allocated = cores(6, 6),
                         .min_resources = cores(2, 2)},
                        {.queue = 0, .phase = job_phase::inqueue, .min_resources = cores(3, 3)}});
  CHECK(shares.account(0).elastic.get(cpu) == 4000);
  CHECK(shares.account(0).inqueue.get(cpu) == 3000);
  CHECK_FALSE(shares.enqueue(0, cores(6)));
  CHECK(shares.enqueue(0, cores(5)));
  CHECK_FALSE(shares.enqueue(0, cores(1)));
}

TEST_CASE("a job that uses no memory has nothing elastic, and devices that it misses are reserved as thousandths") {
  const job_load job{.queue = 0,
                     .phase = job_phase::running,
                     .min_member = 1,
                     .allocated_tasks = 3,
                     .allocated = cores(6),
                     .min_resources = resources{2000, 0}.set(first_device, 2000)};
  CHECK(job.elastic() == resources{});
  REQUIRE(job.reserved());
  CHECK(job.reserved()->get(cpu) == 0);
  CHECK(job.reserved()->get(first_device) == 2);
}

TEST_CASE(
    "a queue gives what it has above deserved, one after another, and nothing if it has less of anything than is "
    "asked") {
  const auto shares = opened(queue_policy::proportion, cores(10, 10), {{.name = "a"}, {.name = "b"}},
                             {running(0, cores(8, 8)), waiting(1, cores(8, 8))});
  std::vector<std::uint32_t> victims;
  const std::vector<volcano::reclaim_candidate> candidates(4, {0, cores(2, 2)});
  shares.reclaimable(cores(1, 1), candidates, victims);
  CHECK(victims == std::vector<std::uint32_t>{0, 1});
  shares.reclaimable(cores(1, 9), candidates, victims);
  CHECK(victims.empty());
}

TEST_CASE("by capacity a guarantee is never reclaimed, and devices without a deserved amount are not either") {
  std::vector<std::uint32_t> victims;
  const auto shares =
      opened(queue_policy::capacity, cores(10, 10), {{.name = "a", .guarantee = cores(5, 5)}, {.name = "b"}},
             {running(0, cores(8, 8)), waiting(1, cores(8, 8))});
  const std::vector<volcano::reclaim_candidate> candidates(4, {0, cores(2, 2)});
  shares.reclaimable(cores(1, 1), candidates, victims);
  CHECK(victims == std::vector<std::uint32_t>{0});
  const resources with_gpu = resources{2000, 2 * giga}.set(first_device, 1000);
  const auto devices =
      opened(queue_policy::capacity, cores(10, 10), {{.name = "a", .deserved = cores(5, 5)}}, {running(0, with_gpu)});
  devices.reclaimable(cores(1, 1), std::vector<volcano::reclaim_candidate>{{0, with_gpu}}, victims);
  CHECK(victims.empty());
}

TEST_CASE("27: jobs may start beyond the cluster by a factor, that is at least 1") {
  for (const double factor : {1.2, 0.8}) {
    volcano::overcommit limit{cores(6), {}, factor, {}};
    CHECK(limit.enqueueable(cores(7.2)));
    CHECK_FALSE(limit.enqueueable(cores(7.3)));
    CHECK_FALSE(limit.enqueueable(cores(20)));
    limit.enqueued(cores(2));
    CHECK_FALSE(limit.enqueueable(cores(6)));
    CHECK(limit.enqueueable(cores(0, 0)));
  }
}

TEST_CASE("bad queues and jobs are refused by name") {
  const auto refused = [](const std::vector<queue_spec>& queues, const std::vector<job_load>& jobs) {
    const auto made = queue_shares::open(queue_policy::proportion, cores(1), queues, jobs);
    REQUIRE_FALSE(made);
    return made.error();
  };
  CHECK(refused({{.name = ""}}, {}).code == errc::malformed);
  CHECK(refused({{.name = "a"}, {.name = "a"}}, {}).code == errc::duplicate);
  CHECK(refused({{.name = "a", .weight = -1}}, {}).field == "weight");
  CHECK(refused({{.name = "a", .guarantee = cores(-1)}}, {}).field == "guarantee");
  CHECK(refused({{.name = "a", .deserved = cores(0, -1)}}, {}).object == "queue a");
  CHECK(refused({{.name = "a"}}, {waiting(1, cores(1))}).code == errc::unknown);
  CHECK(refused({{.name = "a"}}, {waiting(0, cores(-1))}).field == "pending");
}

TEST_CASE(
    "no queue deserves more than its limit or request above its guarantee, and together they leave nothing that a "
    "queue could use") {
  std::mt19937 random{20261123};
  const auto below = [&](std::uint32_t bound) { return static_cast<double>(random() % bound); };
  std::size_t compared = 0;
  for (int round = 0; round < 300; ++round) {
    const resources total{1000 * (5 + below(40)), giga * (5 + below(40))};
    std::vector<queue_spec> queues;
    std::vector<job_load> jobs;
    for (std::uint32_t q = 0; q < 2 + random() % 6; ++q) {
      queue_spec one{.name = "q" + std::to_string(q), .weight = static_cast<std::int32_t>(1 + random() % 9)};
      if (random() % 3 == 0) one.capability = resources{1000 * below(20), 0};
      queues.push_back(one);
      jobs.push_back(waiting(q, {below(30000), below(30) * giga}));
    }
    const auto shares = opened(queue_policy::proportion, total, queues, jobs);
    for (const volcano::kind kind : {cpu, memory}) {
      double given = 0;
      bool wants = false;
      for (queue_index q = 0; q < queues.size(); ++q) {
        const auto& at = shares.account(q);
        const double most = std::min(at.request.get(kind), at.real_capability.get(kind));
        CHECK(at.deserved.get(kind) <= most);
        given += at.deserved.get(kind);
        // A queue that is cut short in one kind is not settled, so it goes on taking of the other.
        wants = wants || (at.deserved.get(kind) < most - 1 && !at.request.within(at.deserved));
        ++compared;
      }
      CHECK(given <= total.get(kind) + 1);
      if (wants) CHECK(given >= total.get(kind) - 1);
    }
  }
  CHECK(compared > 2000);
}

TEST_CASE("what is divided is to the last bit what the rounds say one by one, at first and when a queue counts anew") {
  std::mt19937 random{20261124};
  const auto below = [&](std::uint32_t bound) { return static_cast<double>(random() % bound); };
  const auto some = [&](double most) {
    resources made{random() % 5 == 0 ? 0 : most * 1000 * below(100) / 97, random() % 5 == 0 ? 0 : giga * below(50) / 7};
    for (const volcano::kind k : {pods, first_device, first_device + 4, volcano::most_kinds - 1})
      if (random() % 4 == 0) made.set(k, below(9000) / 11);
    return made;
  };
  std::size_t compared = 0, cut = 0;
  for (int round = 0; round < 400; ++round) {
    const resources total = some(1 + below(20));
    std::vector<queue_spec> queues;
    std::vector<job_load> jobs;
    const std::size_t count = 1 + random() % (round % 40 == 0 ? 300 : 12);
    for (std::uint32_t q = 0; q < count; ++q) {
      queue_spec one{.name = "q" + std::to_string(q), .weight = static_cast<std::int32_t>(random() % 7)};
      if (random() % 4 == 0) one.capability = some(1);
      if (random() % 4 == 0) one.guarantee = some(0.3);
      queues.push_back(one);
      if (random() % 8 != 0) jobs.push_back(waiting(q, some(2)));
      if (random() % 3 == 0) jobs.push_back(running(q, some(1)));
    }
    auto shares = opened(queue_policy::proportion, total, queues, jobs);
    for (int again = 0; again < 3; ++again) {
      std::vector<volcano::queue_account> accounts;
      for (queue_index q = 0; q < queues.size(); ++q) accounts.push_back(shares.account(q));
      const std::vector<resources> plain =
          plain_division(again == 2 ? resources{total}.scale(0.5) : total, queues, accounts);
      for (queue_index q = 0; q < queues.size(); ++q) {
        CHECK(plain[q] == accounts[q].deserved);
        CHECK(accounts[q].share == dominant_share(accounts[q].allocated, plain[q]));
        cut += accounts[q].request.within(plain[q]) ? 0 : 1;
        ++compared;
      }
      const auto one = static_cast<queue_index>(random() % queues.size());
      volcano::queue_load load{.takes_part = random() % 4 != 0};
      if (load.takes_part) load.request = load.allocated = some(1);
      shares.count(one, load);
      shares.settle(again == 1 ? resources{total}.scale(0.5) : total);
    }
  }
  CHECK(compared > 10'000);
  CHECK(cut > 2'000);
}

}  // namespace
}  // namespace gangsched::testing::volcano_shares_test
