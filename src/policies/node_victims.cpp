#include "gangsched/policies/node_victims.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "gangsched/policies/node_cost.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Units as pods of a node.
class node_victims::tried_node final : public queues::trial_node {
 public:
  tried_node(node_victims& of, node_id node, const std::vector<std::uint32_t>& here)
      : of_(&of), node_(node), here_(&here) {}

  void remove(std::uint32_t i) override {
    of_->units_.take(unit(i));
    back_ = none;
  }
  void put_back(std::uint32_t i) override {
    of_->units_.give_back(unit(i));
    back_ = i;
  }
  /// Surplus does not fit while what its gang needs is gone.
  bool fits() override {
    if (back_ != none && unit(back_).goes_with && of_->rest_is_gone(unit(back_))) return false;
    return of_->attempt_->filter(of_->pod_.id(), node_).ok();
  }
  bool violates_budget(std::uint32_t i) override {
    bool violates = false;
    for (const pod_id id : unit(i).pods) violates = of_->budgets_.charge(*of_->attempt_->cluster().pod(id)) || violates;
    return violates;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  [[nodiscard]] victim_unit& unit(std::uint32_t i) const { return of_->units_.all()[(*here_)[i]]; }

  node_victims* of_;
  node_id node_;
  const std::vector<std::uint32_t>* here_;
  std::uint32_t back_ = none;  ///< the unit that was put back last
};

GANGSCHED_INLINE node_victims::node_victims(trial& attempt, const pod_info& pod, const victim_rule& rule)
    : attempt_(&attempt),
      pod_(pod),
      units_(attempt, pod.semantics().release() < kube_release::v1_37),
      budgets_(attempt.cluster()) {
  const cluster_view cluster = attempt.cluster();
  if (rule.anybody(cluster)) units_.collect(rule);
  for (std::uint32_t i = 0; i < units().size(); ++i) {
    for (const pod_id id : units()[i].pods) {
      std::vector<std::uint32_t>& there = on_[cluster.pod(id)->node()->id().row];
      if (there.empty() || there.back() != i) there.push_back(i);
    }
  }
}

GANGSCHED_INLINE bool node_victims::rest_is_gone(const victim_unit& surplus) const {
  return std::any_of(units().begin(), units().end(),
                     [&](const victim_unit& one) { return one.gone && one.group == surplus.goes_with; });
}

/// With surplus elsewhere that cannot stay.
GANGSCHED_INLINE void node_victims::add_to(std::vector<pod_id>& victims, const victim_unit& gone) const {
  victims.insert(victims.end(), gone.pods.begin(), gone.pods.end());
  for (const victim_unit& other : units())
    if (gone.group && other.goes_with == gone.group && !other.gone)
      victims.insert(victims.end(), other.pods.begin(), other.pods.end());
}

GANGSCHED_INLINE status node_victims::dry_run(node_id node, const policy& choose, node_candidate& out) {
  const auto here = on_.find(node.row);
  if (here == on_.end()) return status::unschedulable("nobody on the node may go");
  budgets_.open();
  tried_node there{*this, node, here->second};
  choice found;
  const status said = choose(here->second, there, found);
  out = {node, {}, static_cast<std::int64_t>(found.violating)};
  if (said.ok())
    for (const std::uint32_t i : found.victims) add_to(out.victims, units()[here->second[i]]);
  for (victim_unit& one : units_.all())
    if (one.gone) units_.give_back(one);
  return said;
}

GANGSCHED_INLINE std::optional<node_candidate> node_victims::best(const policy& choose) {
  const bool groups = pod_.semantics().release() >= kube_release::v1_37;
  const auto priority = [&](const pod_info& one) { return groups ? victim_priority(one) : one.priority(); };
  std::optional<node_candidate> made;
  node_cost price;
  for (const auto& [row, here] : on_) {
    const node_id node = attempt_->cluster().node_at(row)->id();
    const status now = attempt_->filter(pod_.id(), node);
    node_candidate found;
    if (now.code == code::unresolvable || now.code == code::error || !dry_run(node, choose, found).ok()) continue;
    const node_cost its = cost_of_victims(attempt_->cluster(), found.victims, found.violations, priority);
    if (made && !(its < price)) continue;
    made = std::move(found);
    price = its;
  }
  return made;
}

GANGSCHED_INLINE void drop_partial_units(const cluster_view& cluster, const victim_rule& rule,
                                         std::vector<victim_unit>& units) {
  std::erase_if(units, [&](const victim_unit& unit) {
    for (const pod_id id : unit.pods)
      if (!rule.may_go(*cluster.pod(id))) return true;
    const pod_info first = *cluster.pod(unit.pods.front());
    const std::optional<group_view> whole = disrupted_with(first);
    if (!whole) return false;
    bool all = true;
    whole->each_pod_below([&](const pod_info& pod) { all = all && (!pod.node() || rule.may_go(pod)); });
    return !all;
  });
}

GANGSCHED_INLINE bool waits_for_leaving(trial& attempt, const pod_info& pod,
                                        const std::function<bool(const pod_info&)>& may_go) {
  const auto node = pod.nominated_node();
  if (!node || attempt.filter(pod.id(), node->id()).code == code::unresolvable) return false;
  bool found = false;
  node->each_pod([&](const pod_info& other) { found = found || (other.terminating() && may_go(other)); });
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI
