#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gangsched/queues/capacity_scheduling/victims.hpp"
#include "gangsched/queues/koordinator/elastic_quota.hpp"
#include "gangsched/queues/koordinator/overuse.hpp"
#include "queues/invariants.hpp"

namespace gangsched::testing::invariants_quota_test {

using namespace gangsched::queues;
using invariants::holds;
using invariants::shuffled;
using amounts = std::vector<std::int64_t>;

struct pod {
  queue_index quota = no_queue;
  amounts request;
  std::int32_t priority = 0;
  instant start{};
  bool preemptible = true, assigned = false;
};

amounts some_request(dice& random, std::size_t resources) {
  amounts made;
  for (std::size_t i = 0; i < resources; ++i) made.push_back(random.between(0, 5));
  return made;
}

// --- Koordinator ---

struct quota_tally {
  std::size_t operations = 0, admitted = 0, refused = 0, shared = 0, revoked = 0;
};

/// Quotas and pods, and the same with quotas that were named in another order.
class quota_life {
 public:
  quota_life(dice random, quota_tally& count)
      : random_(random),
        count_(&count),
        plan_(random_, 2 + random_.below(8), 3),
        resources_(1 + random_.below(2)),
        order_(shuffled(random_, plan_.order())),
        rank_of_(order_.size()) {
    for (std::size_t at = 0; at < order_.size(); ++at) rank_of_[order_[at]] = static_cast<queue_index>(at);
    koordinator::quota_options options;
    options.check_parents = random_.percent(50);
    options.scale_min = random_.percent(80);
    options.rounding = koordinator::share_rounding::largest_remainder;
    std::vector<koordinator::quota_spec> specs, reordered;
    for (std::size_t i = 0; i < plan_.names.size(); ++i) specs.push_back(some_spec());
    for (const std::size_t at : order_) reordered.push_back(specs[at]);
    total_ = amounts(resources_, 0);
    for (std::int64_t& one : total_) one = random_.between(0, 60);
    quotas_ = koordinator::elastic_quotas::make(plan_.make(plan_.order()), specs, total_, options).value();
    other_ = koordinator::elastic_quotas::make(plan_.make(order_), reordered, total_, options).value();
  }

  void step() {
    ++count_->operations;
    const std::size_t what = random_.below(100);
    if (what < 30) {
      add();
    } else if (what < 60) {
      admit();
    } else if (what < 80) {
      leave();
    } else if (what < 88) {
      check_shares();
    } else if (what < 93) {
      revoke();
    } else if (what < 97) {
      const auto quota = static_cast<queue_index>(random_.below(size()));
      const koordinator::quota_spec to = some_spec();
      quotas_.set_quota(quota, to).value();
      other_.set_quota(rank_of_[quota], to).value();
    } else {
      for (std::int64_t& one : total_) one = random_.between(0, 60);
      quotas_.set_total(total_).value();
      other_.set_total(total_).value();
    }
  }

  /// Used and requested are what the pods say. A max names every resource here, so that everything counts.
  void check() const {
    amounts used(size() * resources_), fixed(used), own(used);
    for (const pod& one : pods_)
      for (std::size_t resource = 0; resource < resources_; ++resource) {
        own[one.quota * resources_ + resource] += one.request[resource];
        for (queue_index up = one.quota; up != no_queue && one.assigned; up = quotas_.tree().parent(up)) {
          used[up * resources_ + resource] += one.request[resource];
          if (!one.preemptible) fixed[up * resources_ + resource] += one.request[resource];
        }
      }
    for (queue_index quota = 0; quota < size(); ++quota)
      for (std::size_t resource = 0; resource < resources_; ++resource) {
        const koordinator::quota_account& one = quotas_.accounts(quota)[resource];
        const std::size_t at = quota * resources_ + resource;
        holds(one.used == used[at] && one.non_preemptible_used == fixed[at] && one.own_request == own[at]);
      }
  }

 private:
  [[nodiscard]] queue_index size() const { return static_cast<queue_index>(plan_.names.size()); }
  koordinator::quota_spec some_spec() {
    koordinator::quota_spec made;
    for (std::size_t i = 0; i < resources_; ++i) {
      made.min.push_back(random_.between(0, 12));
      made.max.push_back(made.min.back() + random_.between(0, 30));
      made.weight.push_back(random_.between(0, 5));
    }
    made.lends = random_.percent(75);
    return made;
  }
  [[nodiscard]] koordinator::quota_pod counted(const pod& one) const { return {one.request, one.preemptible}; }
  template <class Call>
  void both(const pod& one, Call call) {
    call(quotas_, one.quota);
    call(other_, rank_of_[one.quota]);
  }
  void add() {
    pod made{static_cast<queue_index>(random_.below(size())), some_request(random_, resources_),
             static_cast<std::int32_t>(random_.below(3)), instant{random_.between(0, 99)}, random_.percent(80)};
    both(made, [&](auto& in, queue_index quota) { in.add_pod(quota, counted(made)).value(); });
    pods_.push_back(std::move(made));
  }
  /// Who is let in stays within its runtime quota, of what may not be preempted within min, and with parents asked within theirs.
  void admit() {
    if (pods_.empty()) return;
    pod& one = random_.of(pods_);
    if (one.assigned) return;
    const koordinator::quota_verdict verdict = quotas_.admit(one.quota, counted(one)).value();
    const koordinator::quota_verdict there = other_.admit(rank_of_[one.quota], counted(one)).value();
    holds(verdict.why == there.why && verdict.resources == there.resources);
    ++(verdict ? count_->admitted : count_->refused);
    if (!verdict) return;
    both(one, [&](auto& in, queue_index quota) { in.assign_pod(quota, counted(one)).value(); });
    one.assigned = true;
    for (queue_index up = one.quota; up != no_queue; up = quotas_.tree().parent(up)) {
      quotas_.refresh(up);
      for (std::size_t resource = 0; resource < resources_; ++resource) {
        const koordinator::quota_account& account = quotas_.accounts(up)[resource];
        if (up == one.quota || (quotas_.options().check_parents && one.request[resource] > 0))
          holds(account.used <= account.runtime);
        if (up == one.quota && !one.preemptible && one.request[resource] > 0)
          holds(account.non_preemptible_used <= account.min);
      }
      if (!quotas_.options().check_parents) break;
    }
  }
  void leave() {
    if (pods_.empty()) return;
    const std::size_t at = random_.below(pods_.size());
    pod& one = pods_[at];
    if (one.assigned) both(one, [&](auto& in, queue_index quota) { in.unassign_pod(quota, counted(one)).value(); });
    one.assigned = false;
    if (random_.percent(40)) return;
    both(one, [&](auto& in, queue_index quota) { in.remove_pod(quota, counted(one)).value(); });
    pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  /// Runtime quotas of siblings are no more than their parent's, or than what they have before anything is shared; and no unit is left
  /// while somebody with a weight asks for it. A second look finds the same, and so does one in another order.
  void check_shares() {
    ++count_->shared;
    quotas_.refresh();
    other_.refresh();
    const auto check_level = [&](std::span<const queue_index> siblings, std::size_t resource, std::int64_t total) {
      std::int64_t given = 0, floors = 0;
      bool wanted = false;
      for (const queue_index quota : siblings) {
        const koordinator::quota_account& one = quotas_.accounts(quota)[resource];
        given += one.runtime;
        floors += one.limited > one.scaled_min || !quotas_.spec(quota).lends ? one.scaled_min : one.limited;
        wanted = wanted || (one.runtime < one.limited && one.weight > 0);
        const koordinator::quota_account& there = other_.accounts(rank_of_[quota])[resource];
        holds(one.runtime == there.runtime && one.scaled_min == there.scaled_min && one.limited == there.limited);
      }
      holds(given <= std::max(total, floors));
      if (wanted) holds(given >= total);
    };
    for (std::size_t resource = 0; resource < resources_; ++resource) {
      check_level(quotas_.tree().roots(), resource, quotas_.shared(resource));
      for (queue_index quota = 0; quota < size(); ++quota)
        check_level(quotas_.tree().children(quota), resource, quotas_.accounts(quota)[resource].runtime);
    }
  }
  /// Whoever is revoked would be too much if it came back.
  void revoke() {
    const auto quota = static_cast<queue_index>(random_.below(size()));
    if (!quotas_.is_over_runtime(quota)) return;
    amounts used, runtime;
    for (const koordinator::quota_account& one : quotas_.accounts(quota)) {
      used.push_back(one.used);
      runtime.push_back(one.runtime);
    }
    std::vector<koordinator::assigned_pod> assigned;
    std::vector<std::size_t> which;
    bool any = false;
    for (std::size_t at = 0; at < pods_.size(); ++at) {
      const pod& one = pods_[at];
      if (!one.assigned || !quotas_.tree().is_within(one.quota, quota)) continue;
      assigned.push_back({one.request, one.priority, one.start, one.preemptible});
      which.push_back(at);
      any = any || !one.preemptible;
    }
    const std::vector<std::uint32_t> gone = koordinator::pods_to_revoke(used, runtime, assigned);
    amounts left = used;
    for (const std::uint32_t at : gone)
      for (std::size_t resource = 0; resource < resources_; ++resource)
        left[resource] -= assigned[at].request[resource];
    const auto within = [&](const amounts& of, const amounts& more) {
      for (std::size_t resource = 0; resource < resources_; ++resource)
        if (of[resource] + more[resource] > runtime[resource]) return false;
      return true;
    };
    if (within(left, amounts(resources_, 0)))
      for (const std::uint32_t at : gone)
        holds(!within(left, amounts(assigned[at].request.begin(), assigned[at].request.end())));
    else
      holds(any);  // who may not be preempted is over alone
    for (const std::uint32_t at : gone) {
      pod& one = pods_[which[at]];
      holds(one.preemptible);
      both(one, [&](auto& in, queue_index in_quota) { in.unassign_pod(in_quota, counted(one)).value(); });
      one.assigned = false;
      ++count_->revoked;
    }
  }

  dice random_;
  quota_tally* count_;
  invariants::tree_plan plan_;
  std::size_t resources_;
  std::vector<std::size_t> order_;
  std::vector<queue_index> rank_of_;
  amounts total_;
  koordinator::elastic_quotas quotas_ = koordinator::elastic_quotas::make({}, {}, {}).value(), other_ = quotas_;
  std::vector<pod> pods_;
};

TEST_CASE(
    "Koordinator: usage stays within quotas, runtime quotas add up to the last unit, and the order of quotas decides "
    "nothing",
    "[invariants]") {
  quota_tally count;
  const std::size_t all = invariants::in_worlds(160, count.operations, [&](std::uint64_t seed) {
    quota_life of{dice{seed}, count};
    invariants::step_and_check(of, 100);
  });
  CAPTURE(count.operations, count.admitted, count.refused, count.shared, count.revoked);
  CHECK(count.admitted > all / 20);
  CHECK(count.refused > all / 20);
  CHECK(count.shared > all / 20);
  CHECK(count.revoked > all / 500);
}

// --- CapacityScheduling ---

struct capacity_tally {
  std::size_t operations = 0, admitted = 0, searches = 0, victims = 0;
};

/// A node on which only one resource counts.
struct one_node : trial_node {
  const std::vector<capacity_scheduling::quota_pod>* running = nullptr;
  std::int64_t free = 0, wanted = 0;
  void remove(std::uint32_t at) override { free += (*running)[at].request[0]; }
  void put_back(std::uint32_t at) override { free -= (*running)[at].request[0]; }
  bool fits() override { return wanted <= free; }
};

TEST_CASE(
    "CapacityScheduling: usage stays within min and max, victims are needed and do not come back, and the order of "
    "quotas decides nothing",
    "[invariants]") {
  using namespace capacity_scheduling;
  capacity_tally count;
  const std::size_t all = invariants::in_worlds(100, count.operations, [&](std::uint64_t seed) {
    dice random{seed};
    const std::vector<resource_kind> kinds(1 + random.below(2), resource_kind::field);
    const std::size_t size = 2 + random.below(3);
    std::vector<quota_spec> specs;
    for (std::size_t i = 0; i < size; ++i) {
      quota_spec& one = specs.emplace_back(quota_spec{"q" + std::to_string(i), amounts{}, amounts{}});
      for (std::size_t resource = 0; resource < kinds.size(); ++resource) {
        one.min->push_back(random.between(0, 12));
        one.max->push_back(one.min->back() + random.between(0, 12));
      }
    }
    elastic_quotas quotas = elastic_quotas::make(kinds, specs).value();
    elastic_quotas other = elastic_quotas::make(kinds, shuffled(random, specs)).value();
    const auto there = [&](queue_index quota) { return other.find(quotas.name(quota)).value(); };
    std::vector<pod> pods;
    const auto counted = [](const pod& one) { return quota_pod{one.quota, one.request, one.priority, one.start}; };
    const auto use = [&](const pod& one, bool more) {
      quota_pod moved = counted(one);
      moved.quota = there(one.quota);
      if (more) quotas.use(counted(one)).value(), other.use(moved).value();
      if (!more) quotas.release(counted(one)).value(), other.release(moved).value();
    };
    const auto everything = [&] {
      amounts made;
      for (queue_index quota = 0; quota < size; ++quota)
        made.insert(made.end(), quotas.used(quota).begin(), quotas.used(quota).end());
      return made;
    };
    for (int step = 0; step < 80; ++step) {
      ++count.operations;
      pod one{static_cast<queue_index>(random.below(size)), some_request(random, kinds.size()),
              static_cast<std::int32_t>(random.below(3)), instant{step}};
      if (!pods.empty() && random.percent(25)) {
        const std::size_t at = random.below(pods.size());
        use(pods[at], false);
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      const quota_demand demand = quotas.demand(counted(one), {}).value();
      const quota_verdict verdict = quotas.admit(counted(one), demand);
      quota_pod moved = counted(one);
      moved.quota = there(one.quota);
      const quota_verdict verdict_there = other.admit(moved, demand);
      holds(verdict.why == verdict_there.why && verdict.resources == verdict_there.resources);
      std::vector<quota_pod> running, running_there;
      std::int64_t used = 0;
      for (const pod& p : pods) {
        running.push_back(counted(p));
        running_there.push_back(counted(p));
        running_there.back().quota = there(p.quota);
        used += p.request[0];
      }
      const std::int64_t node_size = std::max<std::int64_t>(used, random.between(10, 40));
      if (verdict && used + one.request[0] <= node_size) {
        use(one, true);
        pods.push_back(one);
        ++count.admitted;
      } else {
        ++count.searches;
        const amounts before = everything();
        one_node node{}, node_there{};
        node.running = &running;
        node.free = node_size - used;
        node.wanted = one.request[0];
        node_there = node;
        node_there.running = &running_there;
        const victims found = select_victims(quotas, counted(one), demand, running, node).value();
        holds(everything() == before);
        // The numbers of the pods are the same there, where the quotas have others.
        holds(select_victims(other, moved, demand, running_there, node_there).value().pods == found.pods);
        if (found.outcome != victims_outcome::found) continue;
        std::vector<pod> gone;
        std::int64_t free = node_size - used;
        for (const std::uint32_t at : found.pods) {
          gone.push_back(pods[at]);
          free += pods[at].request[0];
          use(pods[at], false);
        }
        holds(one.request[0] <= free && quotas.admit(counted(one), demand));
        for (const pod& back : gone) {  // none could stay
          use(back, true);
          holds(free - back.request[0] < one.request[0] || !quotas.admit(counted(one), demand));
          use(back, false);
        }
        std::vector<std::uint32_t> places = found.pods;
        std::sort(places.rbegin(), places.rend());
        for (const std::uint32_t at : places) pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(at));
        use(one, true);
        pods.push_back(one);
        count.victims += gone.size();
        for (const pod& back : gone) {  // and none may evict who came
          const quota_demand of_back = quotas.demand(counted(back), {}).value();
          const victim_scope scope = quotas.scope(counted(back), of_back);
          if (kinds.size() == 1) holds(!quotas.may_evict(scope, counted(back), counted(one)));
        }
      }
      // What is used is what the pods use, within each max; all mins together bound all use.
      amounts counted_use(size * kinds.size()), total(kinds.size()), mins(kinds.size());
      for (const pod& p : pods)
        for (std::size_t resource = 0; resource < kinds.size(); ++resource) {
          counted_use[p.quota * kinds.size() + resource] += p.request[resource];
          total[resource] += p.request[resource];
        }
      holds(everything() == counted_use);
      for (std::size_t resource = 0; resource < kinds.size(); ++resource) {
        for (std::size_t quota = 0; quota < size; ++quota) {
          mins[resource] += (*specs[quota].min)[resource];
          holds(counted_use[quota * kinds.size() + resource] <= (*specs[quota].max)[resource]);
        }
        holds(total[resource] <= mins[resource]);
      }
    }
  });
  CAPTURE(count.operations, count.admitted, count.searches, count.victims);
  CHECK(count.admitted > all / 20);
  CHECK(count.searches > all / 20);
  CHECK(count.victims > all / 200);
}

}  // namespace gangsched::testing::invariants_quota_test
