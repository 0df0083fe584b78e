#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gangsched/queues/volcano/session.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::volcano_session_test {
namespace {

using namespace gangsched::queues;
using volcano::action;
using volcano::job_phase;
using volcano::job_spec;
using volcano::plugin_name;
using volcano::resources;
using volcano::session;
using volcano::task_status;

resources cores(double count, double gigabytes = 0) { return {count * 1000, gigabytes * 1e9}; }

/// A cluster, its jobs and what a session over it decides, as names.
struct scene {
  volcano::cluster_state state;
  volcano::session_options options;

  scene(std::vector<action> actions, std::vector<std::vector<plugin_name>> tiers) {
    options.actions = std::move(actions);
    for (const auto& tier : tiers) {
      auto& made = options.tiers.emplace_back();
      for (const plugin_name name : tier) made.push_back({.name = name});
    }
  }
  scene& node(const resources& capacity) {
    state.nodes.push_back({"n" + std::to_string(state.nodes.size() + 1), capacity});
    return *this;
  }
  scene& queue(volcano::queue_spec spec) {
    spec.created = static_cast<std::int64_t>(state.queues.size());
    state.queues.push_back(std::move(spec));
    return *this;
  }
  job_spec& job(const char* name, queue_index queue, std::int32_t min_member, job_phase phase = job_phase::inqueue) {
    return state.jobs.emplace_back(job_spec{.name = name,
                                            .queue = queue,
                                            .created = static_cast<std::int64_t>(state.jobs.size()),
                                            .min_member = min_member,
                                            .phase = phase});
  }
  [[nodiscard]] volcano::session_result run() const {
    auto made = session::open(state, options);
    REQUIRE(made);
    return made->run();
  }
  [[nodiscard]] std::vector<std::string> names(const std::vector<volcano::decision>& of) const {
    std::vector<std::string> made;
    for (const auto& one : of) made.push_back(state.jobs[one.job].tasks[one.task].name);
    std::ranges::sort(made);
    return made;
  }
};

volcano::task_spec& add(job_spec& job, const resources& request, const char* role = "") {
  return job.tasks.emplace_back(volcano::task_spec{.name = job.name + "-" + std::to_string(job.tasks.size()),
                                                   .role = role,
                                                   .created = static_cast<std::int64_t>(job.tasks.size()),
                                                   .request = request});
}
volcano::task_spec& add_running(job_spec& job, const resources& request, volcano::node_index node = 0) {
  auto& made = add(job, request);
  made.status = task_status::running;
  made.node = node;
  return made;
}

using texts = std::vector<std::string>;
const std::vector<std::vector<plugin_name>> by_weight{{plugin_name::priority, plugin_name::gang},
                                                      {plugin_name::drf, plugin_name::proportion}};
const std::vector<std::vector<plugin_name>> by_capacity{{plugin_name::priority, plugin_name::gang},
                                                        {plugin_name::capacity}};

TEST_CASE("1: two masters that have to start together do not if a node is there for one only") {
  scene of{{action::allocate}, by_weight};
  of.node(cores(1)).queue({.name = "q"});
  job_spec& job = of.job("j", 0, 2);
  job.min_roles = {{"master", 2}, {"worker", 0}};
  add(job, cores(1), "master");
  add(job, cores(1), "master");
  add(job, cores(1), "worker");
  const auto got = of.run();
  CHECK(got.bound.empty());
  CHECK(got.phases == std::vector<job_phase>{job_phase::inqueue});
}

TEST_CASE("2: with a minimum of one for each of two roles and room for two, one of each role starts") {
  scene of{{action::allocate}, by_weight};
  of.node(cores(2)).queue({.name = "q"});
  job_spec& job = of.job("j", 0, 2);
  job.min_roles = {{"master", 1}, {"worker", 1}};
  add(job, cores(1), "master");
  add(job, cores(1), "worker");
  CHECK(of.names(of.run().bound) == texts{"j-0", "j-1"});
}

TEST_CASE("minimums of roles that are more than 32 bits together are more than the job's own") {
  scene of{{action::allocate}, by_weight};
  of.node(cores(2)).queue({.name = "q"});
  job_spec& job = of.job("j", 0, 2);
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  job.min_roles = {{"master", most}, {"worker", most}};
  add(job, cores(1), "master");
  add(job, cores(1), "worker");
  CHECK(of.names(of.run().bound) == texts{"j-0", "j-1"});
}

TEST_CASE("3: a job that fits nowhere does not hold up another queue's") {
  scene of{{action::allocate}, by_weight};
  of.node(cores(2)).queue({.name = "c1", .priority = 10}).queue({.name = "c2"});
  add(of.job("j1", 0, 1), cores(3));
  add(of.job("j2", 1, 1), cores(1));
  CHECK(of.names(of.run().bound) == texts{"j2-0"});
}

TEST_CASE("4: after every job the queues are asked again whose turn it is") {
  scene of{{action::allocate}, by_weight};
  of.node(cores(2)).queue({.name = "c1"}).queue({.name = "c2"});
  for (const queue_index queue : {0U, 1U}) {
    job_spec& job = of.job(queue == 0 ? "j1" : "j2", queue, 1);
    add(job, cores(1));
    add(job, cores(1));
  }
  CHECK(of.names(of.run().bound) == texts{"j1-0", "j2-0"});
}

TEST_CASE(
    "8: memory above what is deserved does not block a job that asks for cores alone, and one that asks for both does "
    "not start") {
  for (const double gigabytes : {0.0, 1.0}) {
    scene of{{action::enqueue, action::allocate}, by_weight};
    of.node(cores(2, 2)).queue({.name = "q", .capability = cores(2, 1)});
    job_spec& running = of.job("a", 0, 1, job_phase::running);
    add_running(running, cores(1, 1));
    running.min_resources = cores(1, 1);
    job_spec& asks = of.job("b", 0, 1, job_phase::pending);
    add(asks, cores(1, gigabytes));
    asks.min_resources = cores(1, gigabytes);
    const auto got = of.run();
    CHECK(of.names(got.bound) == (gigabytes == 0 ? texts{"b-0"} : texts{}));
    CHECK(got.phases[1] == (gigabytes == 0 ? job_phase::running : job_phase::pending));
  }
}

TEST_CASE("11: of a queue above what it deserves the task that is not protected goes") {
  scene of{{action::reclaim}, by_capacity};
  of.node(cores(4)).queue({.name = "q3", .deserved = cores(2)}).queue({.name = "q4", .deserved = cores(2)});
  add_running(of.job("p5", 0, 0, job_phase::running), cores(2)).is_protected = true;
  add_running(of.job("p6", 0, 0, job_phase::running), cores(2));
  add(of.job("asks", 1, 1), cores(2));
  const auto got = of.run();
  CHECK(of.names(got.evicted) == texts{"p6-0"});
  CHECK(of.names(got.pipelined) == texts{"asks-0"});
  CHECK(got.evicted.front().by == action::reclaim);
}

TEST_CASE("14: nobody is evicted for a task that would bring its queue above its limit") {
  for (const double limit : {8.0, 9.0}) {
    scene of{{action::reclaim}, by_capacity};
    of.node(cores(10))
        .queue({.name = "q1", .deserved = cores(1)})
        .queue({.name = "q2", .capability = cores(limit), .deserved = cores(9)});
    add_running(of.job("has", 0, 0, job_phase::running), cores(3));
    add_running(of.job("more", 1, 0, job_phase::running), cores(7));
    add(of.job("asks", 1, 1), cores(2));
    CHECK(of.names(of.run().evicted) == (limit == 9 ? texts{"has-0"} : texts{}));
  }
}

TEST_CASE(
    "18: reclaim goes by what victims free alone: what is idle beside them is not used, and they are evicted all the "
    "same") {
  scene of{{action::reclaim}, {{plugin_name::gang}, {plugin_name::capacity}}};
  of.node(cores(10, 2)).queue({.name = "q1"}).queue({.name = "q2", .deserved = cores(10, 2)});
  add_running(of.job("v", 0, 0, job_phase::running), cores(2, 2));
  add(of.job("asks", 1, 1), cores(2, 1));
  CHECK(of.names(of.run().evicted) == texts{"v-0"});
  scene more{{action::reclaim}, {{plugin_name::gang}, {plugin_name::capacity}}};
  more.node(cores(4, 2)).queue({.name = "q1"}).queue({.name = "q2", .deserved = cores(10, 2)});
  add_running(more.job("v", 0, 0, job_phase::running), cores(3, 1));
  add(more.job("asks", 1, 1), cores(3, 2));
  const auto got = more.run();
  CHECK(more.names(got.evicted) == texts{"v-0"});  // gang alone decides, in the tier before capacity's
  CHECK(got.pipelined.empty());
}

TEST_CASE("20: preemption takes what is idle and as many of lower priority as are missing, protected ones never") {
  scene of{{action::preempt}, by_capacity};
  of.node(cores(6)).queue({.name = "q"});
  for (const char* name : {"a", "b", "c"}) add_running(of.job(name, 0, 0, job_phase::running), cores(1));
  of.state.jobs[1].tasks[0].is_protected = true;
  job_spec& high = of.job("high", 0, 1);
  high.priority = 10;
  add(high, cores(5));
  const auto got = of.run();
  CHECK(of.names(got.evicted) == texts{"a-0", "c-0"});
  CHECK(of.names(got.pipelined) == texts{"high-0"});
}

TEST_CASE("20: a queue's limit makes victims although the node has room, and none if they are not enough") {
  struct row {
    double limit, asks;
    texts evicted;
  };
  for (const row& one : {row{4, 3, {"low-0"}}, row{6, 3, {}}, row{3, 4, {}}}) {
    scene of{{action::preempt}, by_capacity};
    of.node(cores(8)).queue({.name = "q", .capability = cores(one.limit)});
    add_running(of.job("low", 0, 0, job_phase::running), cores(3));
    job_spec& high = of.job("high", 0, 1);
    high.priority = 10;
    add(high, cores(one.asks));
    CAPTURE(one.limit);
    CHECK(of.names(of.run().evicted) == one.evicted);
  }
}

TEST_CASE("21: of one job's tasks the one of the lower priority goes first") {
  scene of{{action::preempt}, by_capacity};
  of.node(cores(6)).queue({.name = "q"});
  job_spec& low = of.job("low", 0, 0, job_phase::running);
  add_running(low, cores(3)).priority = 1;
  add_running(low, cores(3)).priority = 5;
  low.tasks[0].created = 1;
  low.tasks[1].created = 2;
  job_spec& high = of.job("high", 0, 1);
  high.priority = 10;
  add(high, cores(3));
  CHECK(of.names(of.run().evicted) == texts{"low-0"});
}

TEST_CASE("a gang gives members above its minimum only, and what preemption took for nothing stays") {
  scene of{{action::preempt}, by_capacity};
  of.node(cores(3)).queue({.name = "q"});
  job_spec& low = of.job("low", 0, 2, job_phase::running);
  for (int i = 0; i < 3; ++i) add_running(low, cores(1));
  job_spec& high = of.job("high", 0, 2);
  high.priority = 10;
  add(high, cores(1));
  add(high, cores(1));
  const auto got = of.run();
  CHECK(got.evicted.empty());
  CHECK(got.pipelined.empty());
  of.state.jobs[1].min_member = 1;
  CHECK(of.run().evicted.size() == 1);
}

TEST_CASE("a session without enqueue starts jobs that are pending, one with it asks first") {
  for (const bool asks : {false, true}) {
    scene of{asks ? std::vector{action::enqueue, action::allocate} : std::vector{action::allocate},
             {{plugin_name::gang}, {plugin_name::overcommit, plugin_name::capacity}}};
    of.node(cores(4)).queue({.name = "q"});
    job_spec& job = of.job("j", 0, 1, job_phase::pending);
    job.min_resources = cores(20);
    add(job, cores(1));
    const auto got = of.run();
    CHECK(got.bound.size() == (asks ? 0 : 1));
    CHECK(got.phases[0] == (asks ? job_phase::pending : job_phase::running));
  }
}

TEST_CASE("a job that lost members is unknown while some still run, and pending when none does") {
  scene of{{action::enqueue}, {{plugin_name::gang}, {plugin_name::overcommit}}};
  of.node(cores(2)).queue({.name = "q"});
  job_spec& job = of.job("j", 0, 2, job_phase::running);
  job.min_resources = cores(20);
  add_running(job, cores(1));
  add(job, cores(1));
  CHECK(of.run().phases[0] == job_phase::unknown);
  of.state.jobs[0].tasks[0].status = task_status::leaving;
  CHECK(of.run().phases[0] == job_phase::pending);
}

TEST_CASE("a task waits for a node that another leaves, and tasks without a request are placed last") {
  scene of{{action::allocate, action::backfill}, by_capacity};
  of.node(cores(2)).queue({.name = "q"});
  add_running(of.job("old", 0, 0, job_phase::running), cores(2)).status = task_status::leaving;
  add(of.job("next", 0, 1), cores(2));
  add(of.job("free", 0, 1), cores(0));
  const auto got = of.run();
  CHECK(of.names(got.pipelined) == texts{"next-0"});
  CHECK(of.names(got.bound) == texts{"free-0"});
  CHECK(got.bound.front().by == action::backfill);
}

TEST_CASE("bad sessions are refused by what is wrong with them") {
  const auto refused = [](const scene& of) {
    const auto made = session::open(of.state, of.options);
    REQUIRE_FALSE(made);
    return made.error();
  };
  scene twice{{}, {{plugin_name::gang}, {plugin_name::gang}}};
  CHECK(refused(twice).code == errc::malformed);
  scene both{{}, {{plugin_name::capacity, plugin_name::proportion}}};
  CHECK(refused(both).field == "tiers");
  scene of{{action::allocate}, by_weight};
  of.node(cores(1)).queue({.name = "q"});
  add(of.job("j", 0, 1), cores(1)).status = task_status::running;
  CHECK(refused(of).object == "task j-0");
  of.state.jobs[0].tasks[0].node = 7;
  CHECK(refused(of).code == errc::unknown);
  of.state.jobs[0].tasks[0].status = task_status::binding;
  CHECK(refused(of).field == "status");
  of.state.jobs[0].tasks[0] = {.name = "j-0"};
  of.state.jobs[0].queue = 3;
  CHECK(refused(of).object == "job j");
  of.state.jobs[0].queue = 0;
  of.state.queues[0].weight = -1;
  CHECK(refused(of).field == "weight");
}

}  // namespace
}  // namespace gangsched::testing::volcano_session_test
