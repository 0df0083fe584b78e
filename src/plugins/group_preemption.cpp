#include "gangsched/plugins/group_preemption.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <set>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/disruption.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// One call's tools.
struct group_preemption::search {
  struct unit {
    std::vector<pod_id> pods;
    victim_rank rank;
    group_id group{};      ///< of a unit that is a group, or the rest of one without its surplus
    group_id goes_with{};  ///< of surplus: it cannot stay without the rest of this group
    bool violating = false;
    bool gone = false;
  };
  /// What placements are compared by; lower is better.
  struct cost {
    std::int64_t violations = 0, highest = 0, work = 0, groups = 0, pods = 0;
    instant late{};  ///< minus the earliest start among the units of highest priority
    friend auto operator<=>(const cost&, const cost&) = default;
  };

  const group_preemption& plugin;
  trial& attempt;
  const group_view& group;
  const std::int32_t priority = tree_priority(group);
  const bool alpha = group.semantics().release() < kube_release::v1_37;
  std::vector<unit> units = {};  ///< most important first
  std::vector<assignment> placed = {};

  [[nodiscard]] bool may_preempt() const {
    if (const auto& own = group.root().spec().preemption; own && !alpha) return *own != preemption_policy::never;
    bool may = true;
    group.root().each_pod_below([&](const pod_info& pod) {
      const bool counts = pod.state() == pod_state::pending && !pod.terminating();
      may = may && !(counts && pod.spec().preemption == preemption_policy::never);
    });
    return may;
  }

  /// Somebody who went for this group is not gone yet.
  [[nodiscard]] bool still_waits() const {
    bool waits = false;
    group.root().each_pod_below([&](const pod_info& member) {
      const std::optional<node_info> node = member.nominated_node();
      if (!node || waits) return;
      node->each_pod([&](const pod_info& other) {
        waits = waits || (other.terminating() && other.preempted() && victim_priority(other) < priority);
      });
    });
    return waits;
  }

  void collect() {
    std::map<group_id, std::size_t> whole;  // its unit
    std::set<group_id> partly;              // gangs with surplus
    attempt.cluster().each_node([&](const node_info& node) {
      node.each_pod([&](const pod_info& pod) {
        if (victim_priority(pod) >= priority) return;
        if (const std::optional<group_view> all = disrupted_with(pod)) {
          const auto [found, made] = whole.try_emplace(all->id(), units.size());
          if (made) units.push_back({.pods = {}, .rank = {}, .group = all->id()});
          units[found->second].pods.push_back(pod.id());
        } else if (!alpha && pod.group() && pod.group()->spec().disruption == disruption_mode::surplus) {
          partly.insert(pod.group()->id());
        } else {
          units.push_back({.pods = {pod.id()}, .rank = {}});
        }
      });
    });
    for (const group_id of : partly) split(*group.find(of));
    for (unit& one : units) rate(one);
    std::sort(units.begin(), units.end(), [](const unit& a, const unit& b) { return a.rank.more_important(b.rank); });
    mark_violating();
  }

  /// The most important members make up the minimum.
  void split(const group_view& of) {
    const std::vector<pod_info> running = running_members(of);
    unit rest{.pods = {}, .rank = {}, .group = of.id()};
    for (std::size_t i = 0; i < running.size(); ++i) {
      if (i < of.min_count())
        rest.pods.push_back(running[i].id());
      else
        units.push_back({.pods = {running[i].id()}, .rank = {}, .goes_with = of.id()});
    }
    units.push_back(std::move(rest));
  }

  void rate(unit& one) const {
    const cluster_view cluster = attempt.cluster();
    std::sort(one.pods.begin(), one.pods.end(),
              [&](pod_id a, pod_id b) { return cluster.pod(a)->arrival() < cluster.pod(b)->arrival(); });
    const pod_info first = *cluster.pod(one.pods.front());
    one.rank = {victim_priority(first), 0, static_cast<std::uint32_t>(one.pods.size()), victim_start(first),
                first.arrival()};
    if (one.group) one.rank.kind = group.find(one.group)->spec().composite ? 2 : 1;
    if (alpha && first.group()) one.rank.kind = 1;
    for (const pod_id pod : one.pods) one.rank.start = std::min(one.rank.start, victim_start(*cluster.pod(pod)));
  }

  /// Budgets are used up in order of importance, also by units that will be put back. The rest of a gang is as protected as its surplus.
  void mark_violating() {
    const cluster_view cluster = attempt.cluster();
    open_budgets budgets{cluster};
    if (budgets.empty()) return;
    budgets.open();
    for (unit& one : units) {
      for (const pod_id id : one.pods) {
        const pod_info pod = *cluster.pod(id);
        if (!alpha) {
          one.violating = budgets.charge(pod) || one.violating;
        } else if (budgets.charge_to_first(pod)) {
          one.violating = true;
          break;
        }
      }
    }
    for (const unit& surplus : units) {
      if (!surplus.goes_with || !surplus.violating) continue;
      for (unit& rest : units) rest.violating = rest.violating || rest.group == surplus.goes_with;
    }
  }

  void take(unit& one) {
    for (const pod_id pod : one.pods) attempt.remove(pod);
    one.gone = true;
  }
  void give_back(unit& one) {
    for (const pod_id pod : one.pods) attempt.restore(pod);
    one.gone = false;
  }
  [[nodiscard]] bool rest_is_gone(const unit& surplus) const {
    return surplus.goes_with && std::any_of(units.begin(), units.end(), [&](const unit& one) {
             return one.gone && one.group == surplus.goes_with;
           });
  }

  /// Puts back who need not go, by @p fits, asked while the unit is there. Whether anybody was.
  template <class Fits>
  bool reprieve(const Fits& fits) {
    bool any = false;
    for (const bool violating : {true, false}) {
      for (unit& one : units) {
        if (!one.gone || one.violating != violating || rest_is_gone(one)) continue;
        give_back(one);
        if (fits(one))
          any = true;
        else
          take(one);
      }
    }
    return any;
  }
  void reprieve_where_they_are() {
    attempt.suppose(placed);
    reprieve([&](const unit& one) { return attempt.still_fits(one.pods); });
  }
  /// Until nobody can be put back, wherever the members would go then.
  void reprieve_elsewhere() {
    std::size_t effort = std::size_t{1} << 16;  // members that may be placed for it
    const auto fits = [&](const unit& one) {
      if (attempt.still_fits(one.pods)) return true;
      if (effort < placed.size()) return false;
      effort -= placed.size();
      std::vector<assignment> other;
      if (!attempt.place(group, other).ok() || other.size() < placed.size()) return false;
      placed = std::move(other);
      attempt.suppose(placed);
      return true;
    };
    attempt.suppose(placed);
    while (reprieve(fits)) {
    }
  }

  void take_all() {
    for (unit& one : units)
      if (!one.gone) take(one);
  }

  [[nodiscard]] cost price() const {
    const cluster_view cluster = attempt.cluster();
    cost made{0, std::numeric_limits<std::int64_t>::min()};
    std::set<group_id> disturbed;
    for (const unit& one : units) {
      if (!one.gone) continue;
      made.violations += one.violating ? 1 : 0;
      if (one.rank.priority > made.highest) made.highest = one.rank.priority, made.late = -one.rank.start;
      if (one.rank.priority == made.highest) made.late = std::max(made.late, -one.rank.start);
      made.pods += static_cast<std::int64_t>(one.pods.size());
      for (const pod_id id : one.pods) {
        const pod_info pod = *cluster.pod(id);
        if (plugin.lost_work_) made.work += plugin.lost_work_(pod);
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
      for (std::size_t i = units.size(); i-- > 0;) {
        if (units[i].violating == violating) order.push_back(i);
      }
    }
    return order;
  }
  void take_first(const std::vector<std::size_t>& order, std::size_t count) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      unit& one = units[order[i]];
      if (one.gone && i >= count)
        give_back(one);
      else if (!one.gone && i < count)
        take(one);
    }
  }
  /// As few of the first to go as will do for so many members; then who of them need not. False if not even all will do; and if all have
  /// to go wherever the members do, which is Kubernetes' choice.
  bool solve(const placement* within, std::size_t members) {
    const std::vector<std::size_t> order = order_of_loss();
    std::vector<assignment> found;
    const auto enough = [&](std::size_t count) {
      take_first(order, count);
      return attempt.place(group, found, within).ok() && found.size() >= members;
    };
    if (!enough(units.size())) return false;
    placed = found;
    if (within == nullptr && !enough(units.size() - 1)) return false;
    std::size_t too_few = 0, will_do = units.size();  // nobody is too few, or nobody would have been asked
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
      for (const unit& one : units) best_gone.push_back(one.gone);
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
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (units[i].gone && !best_gone[i])
        give_back(units[i]);
      else if (!units[i].gone && best_gone[i])
        take(units[i]);
    }
    placed = std::move(best_placed);
  }

  /// Groups of the tree that lack members of their minimum though some run, and say that they move then; not those below one that does.
  struct mover {
    group_view group;
    std::vector<pod_id> running = {};  ///< and not on their way out
  };
  [[nodiscard]] static bool has_minimum(const group_view& of) {
    std::uint32_t there = 0;
    if (of.spec().composite) {
      of.each_child([&](const group_view& child) { there += has_minimum(child) ? 1 : 0; });
      return there >= of.min_count();
    }
    const gang* policy = of.policy();
    std::vector<std::int32_t> roles(policy == nullptr ? 0 : policy->roles.size());
    of.each_member([&](const pod_info& member) {
      if (!member.node() || member.terminating()) return;
      ++there;
      for (std::size_t i = 0; i < roles.size(); ++i) roles[i] += policy->roles[i].role == member.role() ? 1 : 0;
    });
    for (std::size_t i = 0; i < roles.size(); ++i)
      if (roles[i] < policy->roles[i].min_count) return false;
    return there >= of.min_count();
  }
  static void find_movers(const group_view& in, std::vector<mover>& out) {
    if (in.spec().topology.when_full == full_domain::move && !has_minimum(in)) {
      mover made{in};
      in.each_pod_below([&](const pod_info& pod) {
        if (pod.node() && !pod.terminating()) made.running.push_back(pod.id());
      });
      if (!made.running.empty()) return out.push_back(std::move(made));
    }
    in.each_child([&](const group_view& child) { find_movers(child, out); });
  }
  [[nodiscard]] static bool any_moves(const group_view& of) {
    bool any = is_moving(of);
    of.each_child([&](const group_view& child) { any = any || any_moves(child); });
    return any;
  }

  /// The group's own members leave, if all the group has room then: more of it than run now, and nobody else goes.
  victim_plan move() {
    victim_plan plan;
    std::vector<mover> movers;
    if (!alpha) find_movers(group.root(), movers);
    if (movers.empty()) return plan;
    attempt.reset();
    for (const mover& one : movers) {
      std::vector<pod_id> all;
      one.group.each_pod_below([&](const pod_info& pod) {
        if (pod.node()) all.push_back(pod.id());
      });
      for (const pod_id pod : all) attempt.take_node(pod);
      plan.victims.insert(plan.victims.end(), one.running.begin(), one.running.end());
    }
    plan.verdict = attempt.place(group, plan.nominations);
    if (!plan.verdict.ok()) return plan;
    const auto lies_in = [&](pod_id pod, const group_view& where) {
      for (std::optional<group_view> up = attempt.cluster().pod(pod)->group(); up; up = up->parent())
        if (up->row() == where.row()) return true;
      return false;
    };
    for (const mover& one : movers) {
      const auto placed_of_it = std::count_if(plan.nominations.begin(), plan.nominations.end(),
                                              [&](const assignment& made) { return lies_in(made.pod, one.group); });
      if (static_cast<std::size_t>(placed_of_it) > one.running.size()) continue;
      plan.verdict = status::unschedulable("the group has no more room elsewhere");
      return plan;
    }
    plan.reason = "its group moves to where all of it has room";
    return plan;
  }

  victim_plan run() {
    victim_plan plan;
    if (any_moves(group.root())) {
      plan.keep_nomination = true;
      return plan;
    }
    plan = preempt();
    if (plan.verdict.code != code::unschedulable || plan.keep_nomination) return plan;
    if (victim_plan moved = move(); moved.verdict.ok() || moved.verdict.code == code::error) return moved;
    return plan;
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
    if (anybody_below(attempt.cluster(), priority)) collect();
    if (units.empty()) {
      plan.verdict = status::unschedulable("No preemption victims found for incoming preemptor");
      return plan;
    }
    take_all();
    if (const status said = attempt.place(group, placed); !said.ok()) {
      plan.verdict =
          said.code == code::error ? said : status::unschedulable("preemption is not helpful for scheduling");
      return plan;
    }
    if (alpha) {
      std::vector<assignment> anywhere;
      reprieve([&](const unit&) { return attempt.place(group, anywhere).ok(); });
      placed.clear();
    } else {
      reprieve_where_they_are();
      if (plugin.rule_ == rule::least_disruption) {
        compare_placements();
        reprieve_elsewhere();
      }
    }
    plan.verdict = status::success();
    for (const unit& one : units) {
      if (one.gone) plan.victims.insert(plan.victims.end(), one.pods.begin(), one.pods.end());
    }
    plan.nominations = std::move(placed);
    return plan;
  }
};

GANGSCHED_INLINE victim_plan group_preemption::group_preempt(trial& attempt, const group_view& group) const {
  return search{*this, attempt, group}.run();
}

GANGSCHED_INLINE result<group_preemption> group_preemption::from(const argument& args) {
  rule chosen = rule::least_disruption;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    std::string text;
    if (key != "rule") return read.unknown(path);
    if (!read.text(value, path, text)) return false;
    if (text == "Kubernetes")
      chosen = rule::kubernetes;
    else if (text != "LeastDisruption")
      return read.fail(errc::malformed, path, "is not LeastDisruption or Kubernetes");
    return true;
  });
  if (!fine) return std::move(read).failure();
  return group_preemption{chosen};
}

}  // namespace gangsched::inline GANGSCHED_ABI
