#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gangsched/queues/kai/gangs.hpp"
#include "gangsched/queues/kai/reclaim.hpp"
#include "queues/invariants.hpp"

namespace gangsched::testing::invariants_kai_test {

using namespace gangsched::queues;
using invariants::holds;
using invariants::shuffled;
using kai::queue_shares;

/// A job: one set of pods that start together, each with the same request.
struct job {
  queue_index queue = no_queue;
  std::vector<double> pod;
  kai::pod_set pods;
  bool preemptible = true;

  [[nodiscard]] std::vector<double> of(std::uint32_t count) const {
    std::vector<double> made = pod;
    for (double& one : made) one *= count;
    return made;
  }
};

/// Everything that the shares say, to the bit: amounts are whole, so sums are exact in any order.
std::vector<double> everything(const queue_shares& in, const std::vector<std::size_t>& order) {
  std::vector<double> all;
  for (const std::size_t at : order)
    for (std::size_t resource = 0; resource < in.resources(); ++resource) {
      const kai::resource_share& one = in.share(static_cast<queue_index>(at), resource);
      for (const double amount : {one.deserved, one.limit, one.weight, one.usage, one.request, one.allocated,
                                  one.allocated_non_preemptible, one.fair_share})
        all.push_back(amount);
    }
  return all;
}

struct tally {
  std::size_t operations = 0, started = 0, refused = 0, reclaimed = 0, back = 0, divided = 0, peeled = 0;
};

/// Queues whose parents hold what their children do, jobs that come and go, and the same in another order of queues beside it.
class life {
 public:
  life(dice random, tally& count)
      : random_(random),
        count_(&count),
        plan_(random_, 3 + random_.below(8), 3),
        resources_(1 + random_.below(3)),
        order_(shuffled(random_, plan_.order())),
        shares_(plan_.make(plan_.order()), resources_),
        other_(plan_.make(order_), resources_),
        rank_of_(order_.size()) {
    for (std::size_t at = 0; at < order_.size(); ++at) rank_of_[order_[at]] = at;
    for (std::size_t resource = 0; resource < resources_; ++resource) {
      total_.push_back(static_cast<double>(random_.below(60)));
      shares_.set_total(resource, total_.back()).value();
      other_.set_total(resource, total_.back()).value();
    }
    for (queue_index queue = 0; queue < size(); ++queue) {
      set_quota(queue);
      const kai::queue_rank rank{static_cast<int>(random_.below(3)), static_cast<std::int64_t>(random_.below(3))};
      shares_.set_rank(queue, rank).value();
      other_.set_rank(there(queue), rank).value();
    }
    shrunk_.clear();
  }

  void step() {
    ++count_->operations;
    const std::size_t what = random_.below(100);
    if (what < 30) {
      add();
    } else if (what < 55) {
      start();
    } else if (what < 70) {
      end();
    } else if (what < 80) {
      divide();
    } else if (what < 94) {
      reclaim();
    } else if (what < 97) {
      peel();
    } else {
      set_quota(static_cast<queue_index>(random_.below(size())));
    }
  }

  /// What is kept, counted from the beginning; usage stays within limits, and of jobs that stay within what is deserved.
  void check() const {
    std::vector<double> request(size() * resources_), allocated(request), fixed(request);
    for (const job& one : jobs_)
      for (queue_index up = one.queue; up != no_queue; up = shares_.tree().parent(up))
        for (std::size_t resource = 0; resource < resources_; ++resource) {
          const std::size_t at = up * resources_ + resource;
          request[at] += one.of(one.pods.pods)[resource];
          allocated[at] += one.of(one.pods.allocated)[resource];
          if (!one.preemptible) fixed[at] += one.of(one.pods.allocated)[resource];
        }
    for (queue_index queue = 0; queue < size(); ++queue)
      for (std::size_t resource = 0; resource < resources_; ++resource) {
        const kai::resource_share& one = shares_.share(queue, resource);
        const std::size_t at = queue * resources_ + resource;
        holds(one.request == request[at] && one.allocated == allocated[at] &&
              one.allocated_non_preemptible == fixed[at]);
        if (is_shrunk(queue)) continue;
        holds(kai::within(one.allocated, one.limit));
        holds(kai::within(one.allocated_non_preemptible, one.deserved));
      }
    // Nothing of it depends on the order in which queues were named.
    holds(everything(shares_, plan_.order()) == everything(other_, rank_of_));
    for (const job& one : jobs_) holds(one.pods.allocated == 0 || one.pods.allocated >= one.pods.min_available);
  }

 private:
  [[nodiscard]] queue_index size() const { return static_cast<queue_index>(plan_.names.size()); }
  [[nodiscard]] queue_index there(queue_index queue) const { return static_cast<queue_index>(rank_of_[queue]); }
  [[nodiscard]] bool is_shrunk(queue_index queue) const {
    return std::find(shrunk_.begin(), shrunk_.end(), queue) != shrunk_.end();
  }
  [[nodiscard]] queue_index leaf() {
    for (;;)
      if (const auto queue = static_cast<queue_index>(random_.below(size())); shares_.tree().is_leaf(queue))
        return queue;
  }
  void set_quota(queue_index queue) {
    for (std::size_t resource = 0; resource < resources_; ++resource) {
      // A queue that is above a limit below what it deserves could both lose to others and take from them.
      const double deserved = random_.percent(10) ? kai::unlimited : static_cast<double>(random_.below(20));
      const bool is_limited = deserved != kai::unlimited && random_.percent(30);
      const kai::quota to{deserved, is_limited ? deserved + static_cast<double>(random_.below(12)) : kai::unlimited,
                          static_cast<double>(random_.below(4))};
      shares_.set_quota(queue, resource, to).value();
      other_.set_quota(there(queue), resource, to).value();
    }
    shrunk_.push_back(queue);
  }
  void hold(job& one, std::uint32_t pods, bool more) {
    const std::vector<double> amount = one.of(pods);
    if (more) {
      shares_.allocate(one.queue, amount, one.preemptible);
      other_.allocate(there(one.queue), amount, one.preemptible);
      one.pods.allocated += pods;
    } else {
      shares_.release(one.queue, amount, one.preemptible);
      other_.release(there(one.queue), amount, one.preemptible);
      one.pods.allocated -= pods;
    }
  }
  void add() {
    job made{leaf(), {}, {}, random_.percent(80)};
    for (std::size_t resource = 0; resource < resources_; ++resource)
      made.pod.push_back(static_cast<double>(random_.below(4)));
    made.pods.pods = static_cast<std::uint32_t>(1 + random_.below(5));
    made.pods.min_available = static_cast<std::uint32_t>(1 + random_.below(made.pods.pods));
    const std::vector<double> request = made.of(made.pods.pods);
    shares_.add_request(made.queue, request);
    other_.add_request(there(made.queue), request);
    jobs_.push_back(std::move(made));
  }
  /// Its minimum at once, then pod by pod, as far as limits go.
  void start() {
    if (jobs_.empty()) return;
    job& one = random_.of(jobs_);
    if (one.pods.allocated == one.pods.pods) return;
    const std::uint32_t pods = one.pods.allocated == 0 ? one.pods.min_available : 1;
    const bool refused = shares_.shortage(one.queue, one.of(pods), one.preemptible).has_value();
    holds(refused == other_.shortage(there(one.queue), one.of(pods), one.preemptible).has_value());
    ++(refused ? count_->refused : count_->started);
    if (!refused) hold(one, pods, true);
  }
  void end() {
    if (jobs_.empty()) return;
    const std::size_t at = random_.below(jobs_.size());
    job one = jobs_[at];
    hold(one, one.pods.allocated, false);
    const std::vector<double> request = one.of(one.pods.pods);
    shares_.remove_request(one.queue, request);
    other_.remove_request(there(one.queue), request);
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  /// Whoever is in the way of a shrunk quota goes pod by pod: first what is above the minimum, then all that is left.
  void peel() {
    if (jobs_.empty()) return;
    job& one = random_.of(jobs_);
    if (one.pods.allocated == 0) return;
    ++count_->peeled;
    std::vector<kai::set_eviction> out;
    const bool stays = kai::next_eviction(std::vector{one.pods}, out);
    holds(out.size() == 1 && out.front().pods <= one.pods.allocated);
    const std::uint32_t left = one.pods.allocated - out.front().pods;
    holds(stays ? left >= one.pods.min_available : left == 0);
    hold(one, out.front().pods, false);
  }

  /// What is divided among siblings is no more than there is or than is guaranteed, and nothing is left while somebody asks for it.
  void divide() {
    ++count_->divided;
    shares_.divide();
    other_.divide();
    const auto check_level = [&](std::span<const queue_index> siblings, std::size_t resource, double total) {
      double given = 0, guaranteed = 0;
      bool wanted = false;
      for (const queue_index queue : siblings) {
        const kai::resource_share& one = shares_.share(queue, resource);
        given += one.fair_share;
        guaranteed += one.deserved == kai::unlimited ? std::min(total, one.requestable())
                                                     : std::min(one.deserved, one.requestable());
        wanted = wanted || (one.weight > 0 && one.fair_share < one.requestable());
      }
      holds(given <= std::max(total, guaranteed));
      if (wanted) holds(given >= total);
    };
    for (std::size_t resource = 0; resource < resources_; ++resource) {
      check_level(shares_.tree().roots(), resource, total_[resource]);
      for (queue_index queue = 0; queue < size(); ++queue)
        check_level(shares_.tree().children(queue), resource, shares_.share(queue, resource).fair_share);
    }
    check_order();
  }

  /// Siblings are in one order: antisymmetric, and transitive but where "may hold less" decides, which upstream asks of pairs.
  void check_order() {
    for (queue_index queue = 0; queue < size(); ++queue) {
      const std::span<const queue_index> siblings = shares_.tree().children(queue);
      for (const queue_index a : siblings)
        for (const queue_index b : siblings) {
          const auto by = shares_.order({a}, {b});
          holds((by < 0) == (shares_.order({b}, {a}) > 0));
          holds((by == 0) == (a == b));
          holds(by == other_.order({there(a)}, {there(b)}));
          if (by >= 0 || shares_.dominant_share(a) == shares_.dominant_share(b)) continue;
          for (const queue_index c : siblings)
            if (shares_.order({b}, {c}) < 0 && shares_.dominant_share(b) != shares_.dominant_share(c))
              holds(shares_.order({a}, {c}) < 0);
        }
    }
  }

  /// A job that waits takes pods of others one by one until as much is free as it needs. It leaves no trace until it is carried out, and
  /// nobody who lost something last can have it back.
  void reclaim() {
    if (jobs_.empty()) return;
    shares_.divide();
    other_.divide();
    job& by = random_.of(jobs_);
    if (by.pods.allocated != 0) return;
    const std::vector<double> request = by.of(by.pods.min_available);
    const kai::reclaimer who{by.queue, request, by.preemptible};
    if (!can_reclaim(shares_, who) || shares_.shortage(by.queue, request, by.preemptible)) return;
    const std::vector<double> before = everything(shares_, plan_.order());
    std::vector<std::pair<std::size_t, std::uint32_t>> taken;  // jobs, and how many pods of each
    std::vector<double> freed(resources_, 0);
    plan_of_.begin(shares_, who);
    const auto is_enough = [&] {
      for (std::size_t resource = 0; resource < resources_; ++resource)
        if (freed[resource] < request[resource]) return false;
      return true;
    };
    const auto is_related = [&](queue_index victim) { return victim == by.queue; };
    for (std::size_t at = jobs_.size(); at-- > 0 && !is_enough();) {
      job& victim = jobs_[at];
      std::vector<kai::set_eviction> out;
      kai::pod_set left = victim.pods;
      while (left.allocated > 0 && !is_enough() && victim.preemptible && !is_related(victim.queue) &&
             plan_of_.may_take_from(victim.queue)) {
        kai::next_eviction(std::vector{left}, out);
        const std::uint32_t pods = out.front().pods;
        const std::vector<double> held = victim.of(pods);
        plan_of_.take({victim.queue, held});
        for (std::size_t resource = 0; resource < resources_; ++resource) freed[resource] += held[resource];
        left.allocated -= pods;
        taken.emplace_back(at, pods);
      }
    }
    holds(everything(shares_, plan_.order()) == before);
    if (taken.empty() || !is_enough() || !plan_of_.keeps_balance()) return;
    ++count_->reclaimed;
    for (const auto& [at, pods] : taken) hold(jobs_[at], pods, false);
    hold(by, by.pods.min_available, true);
    if (!shrunk_.empty()) return;  // somebody may be above what it may hold at all
    const auto& [last, pods] = taken.back();
    const std::vector<double> lost = jobs_[last].of(pods);
    // Whoever is due nothing at all may take from others that are not either, as upstream: for as long as that lasts.
    for (const queue_index side : {by.queue, jobs_[last].queue})
      for (queue_index up = side; up != no_queue; up = shares_.tree().parent(up))
        for (std::size_t resource = 0; resource < resources_; ++resource)
          if (shares_.share(up, resource).fair_share <= 0) return;
    ++count_->back;
    const kai::reclaimer back{jobs_[last].queue, lost, true};
    holds(!can_reclaim(shares_, back) ||
          !may_reclaim(shares_, back, std::vector<kai::reclaimee>{{by.queue, request}}, plan_of_));
  }

  dice random_;
  tally* count_;
  invariants::tree_plan plan_;
  std::size_t resources_;
  std::vector<std::size_t> order_;
  queue_shares shares_, other_;
  std::vector<std::size_t> rank_of_;  ///< by queue: its number in other_
  std::vector<double> total_;
  std::vector<job> jobs_;
  std::vector<queue_index> shrunk_;  ///< whose quota changed while jobs were there
  kai::reclaim_plan plan_of_;
};

TEST_CASE(
    "KAI: limits hold, what is divided adds up, what was reclaimed stays, and the order of queues decides nothing",
    "[invariants]") {
  tally count;
  const std::size_t all = invariants::in_worlds(200, count.operations, [&](std::uint64_t seed) {
    life of{dice{seed}, count};
    invariants::step_and_check(of, 100);
  });
  CAPTURE(count.operations, count.started, count.refused, count.reclaimed, count.back, count.divided, count.peeled);
  CHECK(count.started > all / 20);
  CHECK(count.refused > all / 50);
  CHECK(count.reclaimed > all / 500);
  CHECK(count.back > all / 2000);
  CHECK(count.divided > all / 20);
  CHECK(count.peeled > all / 200);
}

}  // namespace gangsched::testing::invariants_kai_test
