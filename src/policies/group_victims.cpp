#include "gangsched/policies/group_victims.hpp"

#include <algorithm>
#include <compare>
#include <limits>
#include <set>

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// One call's tools.
struct group_victim_search {
  /// What placements are compared by; lower is better.
  struct cost {
    std::int64_t violations = 0, highest = 0, work = 0, groups = 0, pods = 0;
    instant late{};  ///< minus the earliest start among the units of highest priority
    friend auto operator<=>(const cost&, const cost&) = default;
  };

  trial& attempt;
  const group_view& group;
  const victim_rule& rule;
  const bool least_disruption;
  const work_of_pod& lost_work;
  const bool alpha = group.semantics().release() < kube_release::v1_37;
  victim_units units{attempt, alpha};
  std::vector<assignment> placed = {};
  std::size_t effort = std::size_t{1} << 16;  ///< members that may be placed to find better victims

  [[nodiscard]] bool may_preempt() const {
    if (const auto& own = group.root().spec().preemption; own && !alpha) return *own != preemption_policy::never;
    bool may = true;
    group.root().each_pod_below([&](const pod_info& pod) {
      const bool counts = pod.state() == pod_state::pending && !pod.terminating();
      may = may && !(counts && pod.spec().preemption == preemption_policy::never);
    });
    return may;
  }

  /// A victim that was evicted for this group is not gone yet.
  [[nodiscard]] bool still_waits() const {
    bool waits = false;
    group.root().each_pod_below([&](const pod_info& member) {
      waits = waits || awaits_victims(member, [&](const pod_info& other) { return rule.may_go(other); });
    });
    return waits;
  }

  void reprieve_where_they_are() {
    attempt.suppose(placed);
    units.reprieve([&](const victim_unit& one) { return attempt.still_fits(one.pods); },
                   [&](const victim_unit& one) { return attempt.known_to_be_in_the_way(one.pods, false); });
  }
  /// Whether as many members have room with the unit there: where they are supposed to go, or else elsewhere.
  bool fits_with(const victim_unit& one) {
    if (attempt.still_fits(one.pods)) return true;
    if (effort < placed.size()) return false;
    effort -= placed.size();
    std::vector<assignment> other;
    if (!attempt.place(group, other).ok() || other.size() < placed.size()) return false;
    placed = std::move(other);
    attempt.suppose(placed);
    return true;
  }
  /// Until no unit can be put back, wherever the members would go then.
  void reprieve_elsewhere() {
    attempt.suppose(placed);
    const auto hopeless = [&](const victim_unit& one) {
      if (!attempt.known_to_be_in_the_way(one.pods, false)) return false;
      if (effort < placed.size()) return true;
      if (!attempt.known_to_be_in_the_way(one.pods, true)) return false;
      effort -= placed.size();  // what an attempt takes, so that where effort ends does not depend on what is known
      return true;
    };
    while (units.reprieve([&](const victim_unit& one) { return fits_with(one); }, hopeless)) {
    }
  }

  /// Whether its members differ: then it matters which of them go where, and the first victims found are often not the best.
  [[nodiscard]] bool mixed() const {
    const pod_class* first = nullptr;
    bool differ = false;
    group.root().each_pod_below([&](const pod_info& pod) {
      if (pod.state() != pod_state::pending || pod.terminating()) return;
      if (first == nullptr) first = &pod.spec();
      differ = differ || &pod.spec() != first;
    });
    return differ;
  }
  /// Branch and bound over the units that go: what victims cost never falls when one more goes, and members have no more room when one more
  /// stays. Those that cost most are decided on first.
  struct cheapest_victims {
    group_victim_search& with;
    std::vector<std::size_t> order = {};  ///< of those to decide on
    cost best = {};
    std::vector<bool> gone = {};  ///< of the best, by unit
    std::vector<assignment> where = {};

    [[nodiscard]] std::vector<victim_unit>& all() const { return with.units.all(); }
    [[nodiscard]] cost price_of_decided(std::size_t decided) const {
      std::vector<std::size_t> open;
      for (std::size_t i = decided; i < order.size(); ++i) {
        if (all()[order[i]].gone) open.push_back(order[i]);
      }
      for (const std::size_t i : open) all()[i].gone = false;
      const cost made = with.price();
      for (const std::size_t i : open) all()[i].gone = true;
      return made;
    }
    /// A gang's surplus does not stay without the rest of it.
    [[nodiscard]] bool consistent() const {
      return std::none_of(all().begin(), all().end(), [&](const victim_unit& stays) {
        return !stays.gone && stays.goes_with && std::any_of(all().begin(), all().end(), [&](const victim_unit& rest) {
          return rest.gone && rest.group == stays.goes_with;
        });
      });
    }
    /// @pre The members have room at `with.placed`, those from @p at on being gone.
    void decide(std::size_t at) {
      if (with.effort == 0 || !(price_of_decided(at) < best)) return;
      if (at == order.size()) {
        if (!consistent()) return;
        best = with.price(), where = with.placed;
        for (std::size_t i = 0; i < all().size(); ++i) gone[i] = all()[i].gone;
        return;
      }
      --with.effort;
      victim_unit& one = all()[order[at]];
      const std::vector<assignment> before = with.placed;
      with.units.give_back(one);
      with.attempt.suppose(before);
      if (with.fits_with(one)) decide(at + 1);
      with.placed = before;
      with.units.take(one);
      decide(at + 1);
    }
  };
  void find_cheapest() {
    constexpr std::size_t most = 24;  // units to decide on
    cheapest_victims search{*this};
    search.best = price(), search.where = placed;
    for (const victim_unit& one : units.all()) search.gone.push_back(one.gone);
    // No unit goes that is worse than the worst of the best victims so far.
    const cost& known = search.best;
    for (std::size_t i = 0; i < units.all().size(); ++i) {
      const victim_unit& one = units.all()[i];
      if (known.violations == 0 && one.violating) continue;
      if (known.violations == 0 && one.rank.priority > known.highest) continue;
      search.order.push_back(i);
    }
    if (search.order.size() <= most) {
      std::stable_sort(search.order.begin(), search.order.end(), [&](std::size_t a, std::size_t b) {
        return units.all()[a].violating && !units.all()[b].violating;
      });
      for (const std::size_t i : search.order) {
        if (!units.all()[i].gone) units.take(units.all()[i]);
      }
      search.decide(0);
    }
    set_gone(search.gone);
    placed = std::move(search.where);
  }
  void set_gone(const std::vector<bool>& gone) {
    for (std::size_t i = 0; i < units.all().size(); ++i) {
      if (units.all()[i].gone && !gone[i])
        units.give_back(units.all()[i]);
      else if (!units.all()[i].gone && gone[i])
        units.take(units.all()[i]);
    }
  }

  [[nodiscard]] cost price() const {
    const cluster_view cluster = attempt.cluster();
    cost made{0, std::numeric_limits<std::int64_t>::min()};
    std::set<group_id> disturbed;
    for (const victim_unit& one : units.all()) {
      if (!one.gone) continue;
      made.violations += one.violating ? 1 : 0;
      if (one.rank.priority > made.highest) made.highest = one.rank.priority, made.late = -one.rank.start;
      if (one.rank.priority == made.highest) made.late = std::max(made.late, -one.rank.start);
      made.pods += static_cast<std::int64_t>(one.pods.size());
      for (const pod_id id : one.pods) {
        const pod_info pod = *cluster.pod(id);
        if (lost_work) made.work += lost_work(pod);
        if (const auto of = pod.group()) disturbed.insert(of->root().id());
      }
    }
    made.groups = static_cast<std::int64_t>(disturbed.size());
    return made;
  }

  /// In the order in which they go: those that break no budget first, the least important first.
  [[nodiscard]] std::vector<std::size_t> order_of_loss() const {
    std::vector<std::size_t> order;
    for (const bool violating : {false, true}) {
      for (std::size_t i = units.all().size(); i-- > 0;) {
        if (units.all()[i].violating == violating) order.push_back(i);
      }
    }
    return order;
  }
  void take_first(const std::vector<std::size_t>& order, std::size_t count) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      victim_unit& one = units.all()[order[i]];
      if (one.gone && i >= count)
        units.give_back(one);
      else if (!one.gone && i < count)
        units.take(one);
    }
  }
  /// As few of the first to go as will do for so many members; then those of them that need not go are put back. False if not even all will
  /// do; and if all have to go wherever the members do, which is Kubernetes' choice.
  bool solve(const placement* within, std::size_t members) {
    const std::vector<std::size_t> order = order_of_loss();
    std::vector<assignment> found;
    const auto enough = [&](std::size_t count) {
      take_first(order, count);
      return attempt.place(group, found, within).ok() && found.size() >= members;
    };
    if (!enough(units.all().size())) return false;
    placed = found;
    if (within == nullptr && !enough(units.all().size() - 1)) return false;
    std::size_t too_few = 0, will_do = units.all().size();  // none is too few: else no victims would be sought
    while (will_do - too_few > 1) {
      const std::size_t middle = too_few + (will_do - too_few) / 2;
      if (enough(middle))
        will_do = middle, placed = found;
      else
        too_few = middle;
    }
    take_first(order, will_do);
    reprieve_where_they_are();
    return true;
  }
  /// Kubernetes' choice, unless another one is cheaper. @pre Kubernetes' stands, and victims are chosen for it.
  void compare_placements() {
    const std::size_t members = placed.size();
    cost best = price();
    std::vector<assignment> best_placed = placed;
    std::vector<bool> best_gone;
    const auto keep = [&] {
      best_gone.clear();
      for (const victim_unit& one : units.all()) best_gone.push_back(one.gone);
    };
    const auto consider = [&](const placement* within) {
      if (!solve(within, members)) return;
      if (const cost here = price(); here < best) best = here, best_placed = placed, keep();
    };
    keep();
    consider(nullptr);
    const std::vector<placement> all = attempt.placements(group);
    for (const placement& where : all) {
      if (all.size() > 1) consider(&where);
    }
    set_gone(best_gone);
    placed = std::move(best_placed);
  }

  victim_plan preempt() {
    victim_plan plan;
    if (!may_preempt()) {
      plan.verdict = status::unschedulable("not eligible due to preemptionPolicy=Never.");
      return plan;
    }
    if (alpha && !group.spec().topology.within.empty()) {
      plan.verdict = status::unschedulable(
          "workload aware preemption is not supported for pod groups with scheduling constraints");
      return plan;
    }
    if (!alpha && still_waits()) {
      plan.verdict = status::unschedulable("not eligible due to terminating pods on the nominated nodes.");
      plan.keep_nomination = true;
      return plan;
    }
    if (rule.anybody(attempt.cluster())) units.collect(rule);
    if (units.all().empty()) {
      plan.verdict = status::unschedulable("No preemption victims found for incoming preemptor");
      return plan;
    }
    units.take_all();
    if (const status said = attempt.place(group, placed); !said.ok()) {
      plan.verdict =
          said.code == code::error ? said : status::unschedulable("preemption is not helpful for scheduling");
      return plan;
    }
    if (alpha) {
      std::vector<assignment> anywhere;
      units.reprieve([&](const victim_unit&) { return attempt.place(group, anywhere).ok(); },
                     [&](const victim_unit& one) { return attempt.known_to_be_in_the_way(one.pods, true); });
      placed.clear();
    } else {
      reprieve_where_they_are();
      if (least_disruption) {
        compare_placements();
        reprieve_elsewhere();
        if (mixed()) find_cheapest();
      }
    }
    plan.verdict = status::success();
    for (const victim_unit& one : units.all()) {
      if (one.gone) plan.victims.insert(plan.victims.end(), one.pods.begin(), one.pods.end());
    }
    plan.nominations = std::move(placed);
    return plan;
  }
};

}  // namespace detail

GANGSCHED_INLINE victim_plan find_group_victims(trial& attempt, const group_view& group, const victim_rule& rule,
                                                bool least_disruption, const work_of_pod& lost_work) {
  return detail::group_victim_search{attempt, group, rule, least_disruption, lost_work}.preempt();
}

}  // namespace gangsched::inline GANGSCHED_ABI
