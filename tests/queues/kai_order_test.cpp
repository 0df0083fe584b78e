#include <algorithm>
#include <random>
#include <vector>

#include "gangsched/queues/kai/queue_shares.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::kai_order_test {

using namespace gangsched::queues;
using kai::queue_shares;

/// Siblings a and b, with one resource of which there are 100 (and a second one that nobody uses).
struct siblings {
  queue_shares shares{queue_tree::make(std::vector<queue_link>{{"a"}, {"b"}}).value(), 2};
  std::vector<double> job_a{1}, job_b{1}, victims_a{}, victims_b{};

  siblings() { shares.set_total(0, 100).value(); }
  siblings& has(queue_index queue, double deserved, double fair_share, double allocated) {
    shares.set_quota(queue, 0, {deserved}).value();
    shares.set_fair_share(queue, 0, fair_share).value();
    shares.set_load(queue, 0, {allocated, allocated}).value();
    return *this;
  }
  [[nodiscard]] char first() const {
    const auto by = shares.order({0, job_a, victims_a}, {1, job_b, victims_b});
    const auto reverse = shares.order({1, job_b, victims_b}, {0, job_a, victims_a});
    REQUIRE((by < 0) == (reverse > 0));
    REQUIRE((by > 0) == (reverse < 0));
    return by < 0 ? 'a' : by > 0 ? 'b' : '=';
  }
};

TEST_CASE("a queue above its fair share of everything comes after one that is not") {
  siblings of;
  of.has(0, 0, 10, 11).has(1, 0, 90, 80);
  CHECK(of.shares.dominant_share(0) > of.shares.dominant_share(1));
  CHECK(of.first() ==
        'b');  // by its share only: of the second resource a holds nothing, and so is not above its share of everything
  of.shares.set_rank(0, {5, 0}).value();
  CHECK(of.first() == 'a');
  of.shares.set_load(0, 1, {1, 1}).value();

  CHECK(of.first() == 'b');
}

TEST_CASE(
    "a queue that stays within what it deserves with its job comes before one that does not, whatever the priority") {
  siblings of;
  of.has(0, 10, 50, 10).has(1, 10, 50, 9);
  of.shares.set_rank(0, {5, 0}).value();
  CHECK(of.first() == 'b');
  of.job_b = {2};
  CHECK(of.first() == 'a');
}

TEST_CASE("priority decides next, then who would hold what it may have nothing of") {
  siblings of;
  of.has(0, 0, 50, 40).has(1, 0, 50, 10);
  CHECK(of.first() == 'b');  // the lower dominant share
  of.shares.set_rank(0, {1, 0}).value();
  CHECK(of.first() == 'a');
  of.shares.set_rank(0, {0, 0}).value();
  of.job_b = {1, 1};
  CHECK(of.first() == 'a');
}

TEST_CASE("the dominant share with the job and without the victims decides, then the one without either") {
  siblings of;
  of.has(0, 0, 50, 20).has(1, 0, 50, 25);
  CHECK(of.first() == 'a');
  of.job_a = {10};
  CHECK(of.first() == 'b');  // 30 of 50 against 26 of 50
  of.victims_a = {5};
  of.victims_b = {1};
  CHECK(of.first() == 'a');  // 25 of 50 each; 20 against 25 before
}

TEST_CASE("between equal shares who may hold less comes first, then the older one, then the name") {
  siblings of;
  of.has(0, 0, 50, 0).has(1, 0, 40, 0);
  of.job_a = of.job_b = {};
  CHECK(of.first() == 'b');
  of.has(0, 0, 40, 0);
  CHECK(of.first() == 'a');
  of.shares.set_rank(1, {0, -1}).value();
  CHECK(of.first() == 'b');
  of.shares.set_fair_share(1, 1, 5).value();  // more of the second resource
  CHECK(of.first() == 'a');
}

TEST_CASE("random siblings are in one order") {
  std::size_t compared = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<double>(dice() % below); };
    std::vector<queue_link> links{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}};
    queue_shares shares{queue_tree::make(links).value(), 2};
    std::vector<std::vector<double>> jobs;
    for (queue_index queue = 0; queue < links.size(); ++queue) {
      jobs.push_back({roll(3), roll(2)});
      shares.set_rank(queue, {static_cast<int>(dice() % 2), static_cast<std::int64_t>(dice() % 2)}).value();
      for (std::size_t r = 0; r < 2; ++r) {
        shares.set_total(r, 10).value();
        shares.set_quota(queue, r, {roll(3), dice() % 3 == 0 ? roll(6) : kai::unlimited}).value();
        shares.set_fair_share(queue, r, roll(4)).value();
        shares.set_load(queue, r, {5, roll(4)}).value();
      }
    }
    // Who may hold less is no total order between more than two, and is asked only when all shares are equal: compare pairs.
    for (queue_index a = 0; a < links.size(); ++a)
      for (queue_index b = 0; b < links.size(); ++b) {
        const auto by = shares.order({a, jobs[a]}, {b, jobs[b]}), reverse = shares.order({b, jobs[b]}, {a, jobs[a]});
        REQUIRE((by < 0) == (reverse > 0));
        REQUIRE((by == 0) == (a == b));
        ++compared;
      }
  }
  CHECK(compared == 7500);
}

TEST_CASE("a job is refused by the lowest limit on its way up that it exceeds, of what it asks for") {
  const std::vector<queue_link> links{{"org"}, {"team", "org"}};
  queue_shares shares{queue_tree::make(links).value(), 2};
  shares.set_quota(0, 0, {2, 10}).value();
  shares.set_quota(1, 0, {4, 8}).value();
  shares.set_quota(1, 1, {0, 1}).value();
  shares.allocate(1, std::vector<double>{6, 3}, true);  // above the limit of the second resource already
  CHECK_FALSE(shares.shortage(1, std::vector<double>{2}, true));
  const auto over = shares.shortage(1, std::vector<double>{5}, true);
  REQUIRE(over);
  CHECK(over->queue == 1);
  CHECK(over->exceeded_by == 3);
  CHECK_FALSE(over->non_preemptible);
  const auto second = shares.shortage(1, std::vector<double>{1, 1}, true);
  REQUIRE(second);
  CHECK(second->resource == 1);
  shares.set_quota(1, 0, {4, kai::unlimited}).value();
  const auto above = shares.shortage(1, std::vector<double>{5}, true);
  REQUIRE(above);
  CHECK(above->queue == 0);
}

TEST_CASE("a job that nobody may preempt stays within what each queue above it deserves") {
  const std::vector<queue_link> links{{"org"}, {"team", "org"}};
  queue_shares shares{queue_tree::make(links).value(), 1};
  shares.set_quota(0, 0, {3}).value();
  shares.set_quota(1, 0, {4}).value();
  shares.allocate(1, std::vector<double>{6}, true);  // does not count
  CHECK_FALSE(shares.shortage(1, std::vector<double>{3}, false));
  const auto above = shares.shortage(1, std::vector<double>{4}, false);
  REQUIRE(above);
  CHECK(above->queue == 0);
  CHECK(above->non_preemptible);
  CHECK(above->exceeded_by == 1);
  shares.allocate(1, std::vector<double>{2}, false);
  CHECK(shares.shortage(1, std::vector<double>{3}, false)->queue == 1);
  CHECK_FALSE(shares.shortage(1, std::vector<double>{3}, true));
}

}  // namespace gangsched::testing::kai_order_test
