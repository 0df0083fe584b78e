#include "gangsched/policies/victim_units.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE void victim_rule::arrange(const cluster_view& /*cluster*/, std::vector<victim_unit>& units) const {
  std::sort(units.begin(), units.end(),
            [](const victim_unit& a, const victim_unit& b) { return a.rank.more_important(b.rank); });
}

GANGSCHED_INLINE void victim_units::collect(const victim_rule& rule) {
  all_.clear();
  const cluster_view cluster = attempt_->cluster();
  std::map<group_id, std::size_t> whole;  // its unit
  std::map<group_id, group_view> partly;  // gangs with surplus
  cluster.each_node([&](const node_info& node) {
    node.each_pod([&](const pod_info& pod) {
      if (!rule.may_go(pod) || !rule.looks_at(pod)) return;
      if (const std::optional<group_view> group = disrupted_with(pod)) {
        const auto [found, made] = whole.try_emplace(group->id(), all_.size());
        if (made) all_.push_back({.group = group->id()});
        all_[found->second].pods.push_back(pod.id());
      } else if (!alpha_ && pod.group() && pod.group()->spec().disruption == disruption_mode::surplus) {
        partly.try_emplace(pod.group()->id(), *pod.group());
      } else {
        victim_unit& one = all_.emplace_back();
        one.pods.push_back(pod.id());
        one.rank = {victim_priority(pod), static_cast<std::uint8_t>(alpha_ && pod.group() ? 1 : 0), 1,
                    victim_start(pod), pod.arrival()};
      }
    });
  });
  for (const auto& [id, group] : partly) split(group);
  for (victim_unit& one : all_)
    if (one.group || one.goes_with) rate(one);
  rule.arrange(cluster, all_);
  mark_violating();
}

/// The most important members make up the minimum.
GANGSCHED_INLINE void victim_units::split(const group_view& of) {
  const std::vector<pod_info> running = running_members(of);
  victim_unit rest{.group = of.id()};
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (i < of.min_count())
      rest.pods.push_back(running[i].id());
    else
      all_.push_back({.pods = {running[i].id()}, .goes_with = of.id()});
  }
  all_.push_back(std::move(rest));
}

GANGSCHED_INLINE void victim_units::rate(victim_unit& one) const {
  const cluster_view cluster = attempt_->cluster();
  std::sort(one.pods.begin(), one.pods.end(),
            [&](pod_id a, pod_id b) { return cluster.pod(a)->arrival() < cluster.pod(b)->arrival(); });
  const pod_info first = *cluster.pod(one.pods.front());
  one.rank = {victim_priority(first), 0, static_cast<std::uint32_t>(one.pods.size()), victim_start(first),
              first.arrival()};
  if (one.group) one.rank.kind = first.group()->find(one.group)->spec().composite ? 2 : 1;
  if (alpha_ && first.group()) one.rank.kind = 1;
  for (const pod_id pod : one.pods) one.rank.start = std::min(one.rank.start, victim_start(*cluster.pod(pod)));
}

/// Budgets are used up in order of importance, also by units that will be put back. The rest of a gang is as protected as its surplus.
GANGSCHED_INLINE void victim_units::mark_violating() {
  const cluster_view cluster = attempt_->cluster();
  open_budgets budgets{cluster};
  if (budgets.empty()) return;
  budgets.open();
  for (victim_unit& one : all_) {
    for (const pod_id id : one.pods) {
      const pod_info pod = *cluster.pod(id);
      if (!alpha_) {
        one.violating = budgets.charge(pod) || one.violating;
      } else if (budgets.charge_to_first(pod)) {
        one.violating = true;
        break;
      }
    }
  }
  for (const victim_unit& surplus : all_) {
    if (!surplus.goes_with || !surplus.violating) continue;
    for (victim_unit& rest : all_) rest.violating = rest.violating || rest.group == surplus.goes_with;
  }
}

GANGSCHED_INLINE bool victim_units::rest_is_gone(const victim_unit& surplus) const {
  return surplus.goes_with && std::any_of(all_.begin(), all_.end(), [&](const victim_unit& one) {
           return one.gone && one.group == surplus.goes_with;
         });
}

}  // namespace gangsched::inline GANGSCHED_ABI
