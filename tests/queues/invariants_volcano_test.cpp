#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gangsched/queues/volcano/session.hpp"
#include "queues/invariants.hpp"

namespace gangsched::testing::invariants_volcano_test {

using namespace gangsched::queues;
using namespace gangsched::queues::volcano;
using invariants::holds;
using invariants::shuffled;

struct tally {
  std::size_t operations = 0, bound = 0, evicted = 0, pipelined = 0, back = 0;
};

resources some(dice& random, std::int64_t cores, std::int64_t bytes) {
  return {static_cast<double>(random.between(0, cores)) * 1000, static_cast<double>(random.between(0, bytes)) * 1024};
}

cluster_state random_cluster(dice& random, bool capacity) {
  cluster_state made;
  const std::size_t nodes = 1 + random.below(3), queues = 2 + random.below(3);
  for (std::size_t i = 0; i < nodes; ++i)
    made.nodes.push_back({"n" + std::to_string(i), resources{8000, 16 * 1024}.set(pods, 12)});
  for (std::size_t i = 0; i < queues; ++i) {
    queue_spec& one = made.queues.emplace_back();
    one.name = "q" + std::to_string(i);
    one.weight = static_cast<std::int32_t>(1 + random.below(3));
    one.priority = static_cast<std::int32_t>(random.below(2));
    one.created = static_cast<std::int64_t>(i);
    if (random.percent(40)) one.capability = {static_cast<double>(4 + random.below(12)) * 1000, 32 * 1024};
    if (random.percent(30)) one.guarantee = some(random, 2, 4);
    if (capacity) one.deserved = {static_cast<double>(1 + random.below(8)) * 1000, 16 * 1024};
  }
  return made;
}

void add_job(dice& random, cluster_state& to, std::int64_t now) {
  job_spec& one = to.jobs.emplace_back();
  one.name = "j" + std::to_string(now);
  one.queue = static_cast<queue_index>(random.below(to.queues.size()));
  one.priority = static_cast<std::int32_t>(random.below(3));
  one.created = now;
  const std::size_t tasks = 1 + random.below(4);
  one.min_member = static_cast<std::int32_t>(1 + random.below(tasks));
  const resources each = some(random, 3, 4);
  for (std::size_t i = 0; i < tasks; ++i) {
    task_spec& task = one.tasks.emplace_back();
    task.name = one.name + "-" + std::to_string(i);
    task.created = now;
    task.request = resources{each}.set(pods, 1);
  }
  one.min_resources = resources{each}.scale(one.min_member);
}

/// All plugins in one tier, so that each has a word about each victim.
session_options some_options(dice& random, bool capacity) {
  session_options made;
  made.actions = {action::enqueue, action::allocate, action::backfill};
  if (random.percent(70)) made.actions.push_back(action::reclaim);
  if (random.percent(70)) made.actions.push_back(action::preempt);
  made.tiers = {{{.name = plugin_name::priority}, {.name = plugin_name::gang}}};
  made.tiers[0].push_back({.name = capacity ? plugin_name::capacity : plugin_name::proportion});
  if (random.percent(50)) made.tiers[0].push_back({.name = plugin_name::overcommit});
  if (random.percent(40)) made.tiers[0].push_back({.name = plugin_name::drf});
  return made;
}

/// What of each node and queue the tasks hold that @p counts says of.
template <class Counts>
resources held(const cluster_state& in, const Counts& counts) {
  resources sum;
  for (const job_spec& job : in.jobs)
    for (const task_spec& task : job.tasks)
      if (counts(job, task)) sum.add(task.request);
  return sum;
}

/// One session and what follows from it, with what has to hold.
void live(dice& random, cluster_state& in, bool capacity, tally& count) {
  const session_options options = some_options(random, capacity);
  session opened = session::open(in, options).value();
  const auto runs = [](const task_spec& task) { return task.status == task_status::running; };
  for (queue_index queue = 0; queue < in.queues.size(); ++queue) {
    const queue_account& account = opened.queues()->account(queue);
    if (!account.takes_part) continue;
    holds(account.allocated ==
          held(in, [&](const job_spec& job, const task_spec& task) { return job.queue == queue && runs(task); }));
    holds(account.request.get(cpu) ==
          held(in, [&](const job_spec& job, const task_spec&) { return job.queue == queue; }).get(cpu));
  }
  std::vector<resources> bounds;  // what each queue may have allocated
  for (queue_index queue = 0; queue < in.queues.size(); ++queue) {
    const queue_account& account = opened.queues()->account(queue);
    bounds.push_back(capacity ? account.real_capability : account.deserved);
  }
  const session_result made = opened.run();
  count.operations += 1 + made.bound.size() + made.evicted.size();
  count.bound += made.bound.size();
  count.evicted += made.evicted.size();
  count.pipelined += made.pipelined.size();

  std::vector<bool> started(in.jobs.size(), false), lost(in.jobs.size(), false);
  for (const decision& one : made.bound) {
    task_spec& task = in.jobs[one.job].tasks[one.task];
    holds(task.status == task_status::pending && one.node < in.nodes.size());
    task.status = task_status::running;
    task.node = one.node;
    started[one.job] = true;
  }
  // Whoever goes holds its node until it is gone: so much has to fit. How many pods a node takes is a predicate's to say for those that
  // ask for nothing.
  for (node_index node = 0; node < in.nodes.size(); ++node) {
    const resources all =
        held(in, [&](const job_spec&, const task_spec& task) { return runs(task) && task.node == node; });
    for (const kind k : {cpu, memory}) holds(all.get(k) <= in.nodes[node].capacity.get(k));
  }
  for (const decision& one : made.evicted) {
    task_spec& task = in.jobs[one.job].tasks[one.task];
    holds(runs(task) && std::none_of(made.bound.begin(), made.bound.end(), [&](const decision& other) {
            return other.job == one.job && other.task == one.task;
          }));
    task.status = task_status::pending;
    task.node = no_node;
    lost[one.job] = true;
  }
  for (std::size_t job = 0; job < in.jobs.size(); ++job) {
    in.jobs[job].phase = made.phases[job];
    if (!started[job] && !lost[job]) continue;
    const auto members = std::count_if(
        in.jobs[job].tasks.begin(), in.jobs[job].tasks.end(),
        [&](const task_spec& task) { return runs(task) || task.request.get(cpu) + task.request.get(memory) == 0; });
    holds(members >= in.jobs[job].min_member);
  }
  for (queue_index queue = 0; queue < in.queues.size(); ++queue) {
    if (std::none_of(made.bound.begin(), made.bound.end(), [&](const decision& one) {
          return one.by == action::allocate && in.jobs[one.job].queue == queue;
        }))
      continue;
    for (const kind k : {cpu, memory}) {
      if (std::none_of(made.bound.begin(), made.bound.end(), [&](const decision& one) {
            return in.jobs[one.job].queue == queue && in.jobs[one.job].tasks[one.task].request.get(k) > 0;
          }))
        continue;
      holds(held(in, [&](const job_spec& job, const task_spec& task) {
              return job.queue == queue && runs(task);
            }).get(k) <= bounds[queue].get(k) + resources::least);
    }
  }
}

TEST_CASE("Volcano: sessions keep nodes and queues within what they have, and start and keep gangs whole",
          "[invariants]") {
  tally count;
  const std::size_t all = invariants::in_worlds(70, count.operations, [&](std::uint64_t seed) {
    dice random{seed};
    const bool capacity = random.percent(50);
    cluster_state cluster = random_cluster(random, capacity);
    for (std::int64_t now = 0; now < 30; ++now) {
      ++count.operations;
      if (random.percent(70)) add_job(random, cluster, now);
      if (cluster.jobs.size() > 8 || (random.percent(20) && !cluster.jobs.empty()))
        cluster.jobs.erase(cluster.jobs.begin() + static_cast<std::ptrdiff_t>(random.below(cluster.jobs.size())));
      live(random, cluster, capacity, count);
    }
  });
  CAPTURE(count.operations, count.bound, count.evicted, count.pipelined);
  CHECK(count.bound > all / 20);
  CHECK(count.evicted > all / 1000);
  CHECK(count.pipelined > all / 1000);
}

TEST_CASE(
    "Volcano: what is divided adds up, shares are an order, the order of queues decides nothing, and capacity does not "
    "go back and forth",
    "[invariants]") {
  tally count;
  const std::size_t all = invariants::in_worlds(60, count.operations, [&](std::uint64_t seed) {
    dice random{seed};
    const bool capacity = random.percent(50);
    const cluster_state cluster = random_cluster(random, capacity);
    const queue_policy policy = capacity ? queue_policy::capacity : queue_policy::proportion;
    const std::size_t queues = cluster.queues.size();
    // One kind, so that who has more than is due of it has it of what the victim would take back.
    const resources total{32'000, 0};
    std::vector<queue_spec> specs = cluster.queues;
    for (queue_spec& one : specs) {
      one.deserved = {one.deserved.get(cpu), 0};
      one.guarantee = {one.guarantee.get(cpu), 0};
      one.capability = {};
    }
    std::vector<job_load> jobs;
    for (std::size_t i = 0; i < queues * 3; ++i) {
      job_load& one = jobs.emplace_back();
      one.queue = static_cast<queue_index>(random.below(queues));
      one.allocated = {static_cast<double>(random.below(5)) * 1000, 0};
      one.pending = {static_cast<double>(random.below(5)) * 1000, 0};
    }
    const std::vector<std::size_t> order = [&] {
      std::vector<std::size_t> made(queues);
      for (std::size_t i = 0; i < queues; ++i) made[i] = i;
      return shuffled(random, made);
    }();
    std::vector<queue_spec> reordered;
    std::vector<queue_index> where(queues);
    for (std::size_t at = 0; at < queues; ++at) {
      reordered.push_back(specs[order[at]]);
      where[order[at]] = static_cast<queue_index>(at);
    }
    std::vector<job_load> moved = shuffled(random, jobs);
    for (job_load& one : moved) one.queue = where[one.queue];
    queue_shares shares = queue_shares::open(policy, total, specs, jobs).value();
    const queue_shares there = queue_shares::open(policy, total, reordered, moved).value();
    double deserved = 0, guaranteed = 0;
    for (queue_index queue = 0; queue < queues; ++queue) {
      const queue_account &one = shares.account(queue), &other = there.account(where[queue]);
      holds(std::abs(one.deserved.get(cpu) - other.deserved.get(cpu)) < 1e-6);
      holds(one.allocated == other.allocated && one.request == other.request);
      holds(one.deserved.get(cpu) <= std::max(one.real_capability.get(cpu), one.guarantee.get(cpu)) + 1e-6);
      holds(one.deserved.get(cpu) <= std::max(one.request.get(cpu), one.guarantee.get(cpu)) + 1e-6);
      holds(one.deserved.get(cpu) >= one.guarantee.get(cpu) - 1e-6);
      deserved += one.deserved.get(cpu);
      guaranteed += specs[queue].guarantee.get(cpu);
    }
    if (!capacity) holds(deserved <= total.get(cpu) + guaranteed + 1e-6);
    for (int step = 0; step < 20; ++step, ++count.operations) {
      const auto by = static_cast<queue_index>(random.below(queues));
      const resources task{static_cast<double>(1 + random.below(4)) * 1000, 0};
      for (queue_index a = 0; a < queues; ++a)
        for (queue_index b = 0; b < queues; ++b) {
          holds((shares.order(a, b) < 0) == (shares.order(b, a) > 0));
          for (queue_index c = 0; c < queues; ++c)
            if (shares.order(a, b) < 0 && shares.order(b, c) <= 0) holds(shares.order(a, c) < 0);
        }
      if (random.percent(50)) {
        if (shares.allocatable(by, task)) shares.allocate(by, task);
        continue;
      }
      std::vector<reclaim_candidate> candidates;
      for (queue_index queue = 0; queue < queues; ++queue)
        for (double left = shares.account(queue).allocated.get(cpu); queue != by && left >= 1000; left -= 1000)
          candidates.push_back({queue, {1000, 0}});
      std::vector<std::uint32_t> victims;
      shares.reclaimable(task, candidates, victims);
      if (!capacity || !shares.preemptive(by, task) || static_cast<double>(victims.size()) * 1000 < task.get(cpu))
        continue;
      victims.resize(static_cast<std::size_t>(task.get(cpu) / 1000));
      for (const std::uint32_t at : victims) shares.release(candidates[at].queue, candidates[at].request);
      shares.allocate(by, task);
      for (const std::uint32_t at : victims) {
        ++count.back;
        std::vector<std::uint32_t> back;
        shares.reclaimable(candidates[at].request, std::vector<reclaim_candidate>{{by, task}}, back);
        holds(back.empty() || !shares.preemptive(candidates[at].queue, candidates[at].request));
      }
    }
  });
  CAPTURE(count.operations, count.back);
  CHECK(count.back > all / 100);
}

}  // namespace gangsched::testing::invariants_volcano_test
