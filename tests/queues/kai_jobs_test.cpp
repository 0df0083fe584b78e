#include "gangsched/queues/kai/job_table.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::kai_jobs_test {

using namespace gangsched::queues;
using kai::task_state;
using numbers = std::vector<std::size_t>;

namespace {

/// Departments a (a1, a2) and b (b1), one resource of which there are twelve.
kai::queue_shares make_shares() {
  const std::vector<queue_link> links{{"a"}, {"b"}, {"a1", "a"}, {"a2", "a"}, {"b1", "b"}};
  kai::queue_shares shares{queue_tree::make(links).value(), 1};
  shares.set_total(0, 12).value();
  for (queue_index q = 0; q < 5; ++q) shares.set_quota(q, 0, {.deserved = q < 2 ? 6.0 : 3.0}).value();
  return shares;
}

struct jobs {
  kai::job_table table{1};
  std::uint64_t arrivals = 0;

  /// So many placed and so many waiting, each of one unit.
  std::size_t add(queue_index queue, int priority, std::uint32_t least, int placed, int waiting) {
    const std::size_t job =
        table.add_job({queue, {priority, {}, static_cast<std::int64_t>(arrivals), "j"}, priority < 100});
    const std::uint32_t set = table.add_set(job, least);
    for (int i = 0; i < placed + waiting; ++i)
      table.add_task({job, set, 0, arrivals++, i < placed ? task_state::placed : task_state::waiting},
                     std::vector<double>{1});
    return job;
  }
};

numbers order_of(kai::job_queue& queue) {
  numbers out;
  while (!queue.empty()) out.push_back(queue.pop().which);
  return out;
}

}  // namespace

TEST_CASE("jobs of a tree of queues take turns by their queues' shares, and victims leave in the reverse order") {
  kai::queue_shares shares = make_shares();
  const queue_index a1 = *shares.tree().find("a1"), a2 = *shares.tree().find("a2"), b1 = *shares.tree().find("b1");
  shares.allocate(a1, std::vector<double>{2}, true);
  shares.allocate(b1, std::vector<double>{1}, true);
  shares.divide();
  kai::job_queue waiting{shares, false};
  const auto job = [](queue_index queue, int priority, std::size_t which) {
    return kai::queued_job{queue, {priority, {}, static_cast<std::int64_t>(which), "j"}, {1}, which};
  };
  waiting.push(job(a1, 50, 0));
  waiting.push(job(a1, 90, 1));
  waiting.push(job(a2, 50, 2));
  waiting.push(job(b1, 50, 3));
  CHECK(order_of(waiting) == numbers{3, 2, 1, 0});
  kai::job_queue victims{shares, true};
  victims.push(job(a1, 50, 0));
  victims.push(job(a1, 90, 1));
  victims.push(job(b1, 50, 3));
  CHECK(order_of(victims) == numbers{0, 1, 3});
  CHECK(victims.empty());
}

TEST_CASE("victims that were popped count as gone from their queue") {
  kai::queue_shares shares = make_shares();
  const queue_index a1 = *shares.tree().find("a1"), a2 = *shares.tree().find("a2");
  shares.allocate(a1, std::vector<double>{5}, true);
  shares.allocate(a2, std::vector<double>{4}, true);
  shares.divide();
  kai::job_queue victims{shares, true};
  for (std::size_t i = 0; i < 5; ++i) victims.push({a1, {50, {}, static_cast<std::int64_t>(i), "j"}, {1}, i});
  for (std::size_t i = 5; i < 9; ++i) victims.push({a2, {50, {}, static_cast<std::int64_t>(i), "j"}, {1}, i});
  numbers first;
  for (int i = 0; i < 4; ++i) first.push_back(victims.pop().which);
  CHECK(std::ranges::count_if(first, [](std::size_t which) { return which < 5; }) >= 2);
  CHECK(std::ranges::count_if(first, [](std::size_t which) { return which >= 5; }) >= 1);
}

TEST_CASE("a job is started with all that its minimums lack, and grows by one pod at a time") {
  jobs made;
  const std::size_t gang = made.add(0, 50, 3, 1, 4), grown = made.add(0, 50, 1, 2, 2), whole = made.add(0, 50, 2, 2, 0);
  made.table.finish();
  const auto& at = made.table.as_filled();
  CHECK(made.table.next_tasks(gang, at) == numbers{1, 2});
  CHECK(made.table.next_tasks(grown, at) == numbers{7});
  CHECK(made.table.next_tasks(whole, at).empty());
  CHECK(made.table.jobs()[gang].rank.state == kai::elastic_state::below_minimum);
  CHECK(made.table.jobs()[grown].rank.state == kai::elastic_state::above_minimum);
  CHECK(made.table.jobs()[whole].rank.state == kai::elastic_state::at_minimum);
  CHECK(made.table.sum_of(made.table.next_tasks(gang, at)) == std::vector<double>{2});
}

TEST_CASE("tasks are started by rank and then by age, and go in the reverse order") {
  kai::job_table table{1};
  const std::size_t job = table.add_job({0});
  const std::uint32_t set = table.add_set(job, 1);
  const std::vector<double> one{1};
  table.add_task({job, set, 5, 1, task_state::placed}, one);
  table.add_task({job, set, 2, 3, task_state::placed}, one);
  table.add_task({job, set, 2, 2, task_state::placed}, one);
  table.finish();
  CHECK(table.jobs()[job].sets[set].tasks == numbers{2, 1, 0});
  CHECK(table.next_victims(job, table.as_filled()) == numbers{0});
}

TEST_CASE("what a reclaim takes is surplus one by one and the rest as one") {
  jobs made;
  made.add(0, 50, 2, 4, 0);
  made.table.finish();
  std::vector<task_state> at = made.table.as_filled();
  const numbers all{3, 2, 1, 0};
  CHECK(made.table.reclaimed_of(all, at, true) == std::vector<numbers>{{1}, {0}, {3, 2}});
  CHECK(made.table.reclaimed_of(all, at, false).empty());
  at[2] = at[1] = task_state::taken_off;
  CHECK(made.table.reclaimed_of(all, at, false) == std::vector<numbers>{{1}, {2}});
}

TEST_CASE("queues are asked for what comes back, and not for what leaves") {
  kai::queue_shares shares = make_shares();
  const queue_index a1 = *shares.tree().find("a1");
  kai::job_table table{1};
  const std::size_t job = table.add_job({a1, {120, {}, 0, "j"}, false});
  const std::uint32_t set = table.add_set(job, 1);
  using enum task_state;
  for (const task_state state : {placed, waiting, leaving, coming_back})
    table.add_task({job, set, 0, 0, state}, std::vector<double>{1});
  table.count_into(shares);
  CHECK(shares.share(a1, 0).request == 3);
  CHECK(shares.share(a1, 0).allocated == 1);
  CHECK(shares.share(a1, 0).allocated_non_preemptible == 1);
}

TEST_CASE("each placed task of the candidates is a victim once, surplus before the rest of its job, in random tables") {
  std::mt19937 random{7};
  std::size_t taken = 0;
  for (int round = 0; round < 300; ++round) {
    kai::queue_shares shares = make_shares();
    jobs made;
    const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
    for (int j = 0; j < 6; ++j)
      made.add(static_cast<queue_index>(2 + up_to(3)), 50 + up_to(2), static_cast<std::uint32_t>(1 + up_to(3)),
               up_to(5), up_to(3));
    made.table.finish();
    made.table.count_into(shares);
    shares.divide();
    kai::victim_order order{made.table, shares};
    for (std::size_t j = 0; j < made.table.jobs().size(); ++j) order.add(j);
    std::vector<task_state> at = made.table.as_filled();
    while (const auto next = order.next()) {
      REQUIRE_FALSE(next->tasks.empty());
      const bool above = made.table.state_of(next->job, at) == kai::elastic_state::above_minimum;
      if (above) CHECK(next->tasks.size() == 1);
      for (const std::size_t t : next->tasks) {
        REQUIRE(at[t] == task_state::placed);
        at[t] = task_state::taken_off;
        ++taken;
      }
      if (!above) CHECK(made.table.placed_of(next->job, at).empty());
    }
    CHECK(std::ranges::count(at, task_state::placed) == 0);
  }
  CHECK(taken > 2000);
}

}  // namespace gangsched::testing::kai_jobs_test
