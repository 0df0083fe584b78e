#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include "gangsched/queues/kai/queue_shares.hpp"
#include "gangsched/queues/kai/reclaim.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"
#include "memory/fails_without_memory.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::queue_calls_test {

using namespace gangsched::queues;

/// A partition with two leaves that is used for a while.
struct used_partition {
  std::vector<yunikorn::queue_settings> settings = std::vector<yunikorn::queue_settings>(3);
  yunikorn::partition queues;
  yunikorn::application_index first = 0;
  yunikorn::ask_index waits = 0, runs = 0;

  used_partition()
      : queues{yunikorn::partition::make(
                   queue_tree::make(std::vector<queue_link>{{"root"}, {"a", "root"}, {"b", "root"}}).value(), limited())
                   .value()} {
    first = queues.add_application({1, "ann", {"dev"}}).value();
    waits = queues.add_ask(ask(1)).value();
    runs = queues.add_ask(ask(2)).value();
    queues.allocate(runs, 0).value();
  }
  static std::vector<yunikorn::queue_settings> limited() {
    std::vector<yunikorn::queue_settings> made(3);
    made[1].limits = {{{"ann"}, {"dev"}, ask(9).request, 3}};
    return made;
  }
  static yunikorn::ask_spec ask(std::int64_t amount) {
    yunikorn::ask_spec made;
    made.application = 0;
    made.request.set(0, amount);
    return made;
  }
  [[nodiscard]] std::string state() const {
    std::string made;
    const auto add = [&](std::int64_t number) { made += std::to_string(number) + " "; };
    for (queue_index queue = 0; queue < 3; ++queue) {
      const yunikorn::queue_usage& has = queues.usage(queue);
      for (const auto& one : {has.allocated, has.pending, has.preempting}) add(one[0]);
      add(has.applications);
      add(has.priority.value_or(-99));
      for (const yunikorn::application_index one : queues.applications(queue)) {
        const yunikorn::application& app = queues.of(one);
        add(static_cast<std::int64_t>(app.state));
        for (const yunikorn::ask_index held : app.allocations) add(held);
        for (const yunikorn::ask_index waiting : app.pending) add(waiting);
      }
    }
    add(queues.user_room(first)[0]);
    return made;
  }
};

/// The call changes something, and only if there was memory for it. @return how often there was too little.
template <class Call>
std::size_t fails(const Call& call) {
  return fails_without_memory<used_partition>(
      call, [](used_partition& of, used_partition&, const std::string& before) { REQUIRE(of.state() != before); });
}

TEST_CASE("a call of YuniKorn's queues for which there is no memory changes nothing, and only adding needs any") {
  CHECK(fails([](used_partition& of) { of.queues.add_application({2, "bob", {"dev"}}).value(); }) > 3);
  CHECK(fails([](used_partition& of) { of.queues.add_ask(of.ask(4)).value(); }) >= 3);
  CHECK(fails([](used_partition& of) { of.queues.allocate(of.waits, 1).value(); }) == 0);
  CHECK(fails([](used_partition& of) { of.queues.release(of.runs).value(); }) == 0);
  CHECK(fails([](used_partition& of) { of.queues.remove_ask(of.waits).value(); }) == 0);
  CHECK(fails([](used_partition& of) { of.queues.begin_preemption(of.waits, std::span{&of.runs, 1}).value(); }) == 0);
}

TEST_CASE("KAI's queues are counted, divided, ordered and asked for victims without memory") {
  std::vector<queue_link> links{{"a"}, {"b"}};
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("q" + std::to_string(i));
  for (std::size_t i = 0; i < names.size(); ++i) links.push_back({names[i], i % 2 == 0 ? "a" : "b"});
  kai::queue_shares shares{queue_tree::make(links).value(), 2};
  for (std::size_t r = 0; r < 2; ++r) shares.set_total(r, 50).value();
  const std::vector<double> job{1.5, 1};
  const auto work = [&] {
    double seen = 0;
    for (queue_index queue = 2; queue < links.size(); ++queue) {
      shares.add_request(queue, job);
      shares.allocate(queue, job, queue % 3 == 0);
    }
    shares.divide(1);
    for (queue_index queue = 2; queue + 2 < links.size(); ++queue) {
      seen += shares.order({queue, job}, {queue + 2, job}) < 0 ? 1 : 2;
      seen += shares.shortage(queue, job, false) ? 1 : 2;
    }
    return seen;
  };
  kai::reclaim_plan plan;
  const auto reclaim = [&] {
    const kai::reclaimer by{2, job};
    std::size_t taken = 0;
    plan.begin(shares, by);
    for (queue_index queue = 3; queue < links.size(); queue += 2, ++taken) plan.take({queue, job});
    return taken + (plan.keeps_balance() ? 1 : 0) + (plan.may_take_from(3) ? 1 : 0);
  };
  REQUIRE(reclaim() > 10);
  const std::size_t before = allocations();
  const double seen = work();
  const std::size_t taken = reclaim();
  const std::size_t after = allocations();
  CHECK(after == before);
  CHECK(seen > 0);
  CHECK(taken > 10);
}

}  // namespace gangsched::testing::queue_calls_test
