#include "gangsched/engine/gang_holdings.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Order among incomplete gangs: first those with running members, which cannot give their room back; then priority; then age.
GANGSCHED_INLINE gang_holdings::rank gang_holdings::rank_of(row_t group) const {
  return {state_->groups.bound[group] == 0, -std::int64_t{entities_->group_priority(group)},
          state_->groups.arrival[group]};
}

GANGSCHED_INLINE bool gang_holdings::take_back(row_t own, entity e) {
  if (own != no_row && state_->groups.record[own]->spec.composite) return false;  // its groups are not in the room
  if (options_->holds == hold_rule::timers_only || binding_->waiting().empty() || !entities_->incomplete(own))
    return false;
  const rank mine = rank_of(own);
  std::vector<std::pair<rank, row_t>> later;
  row_t asked = no_row;  // members of a group mostly wait side by side
  binding_->waiting().each([&](const waiting_pods::entry& one) {
    const row_t group = state_->pods.group[one.pod.row];
    if (group == std::exchange(asked, group) || group == own || !entities_->incomplete(group)) return;
    const std::pair holder{rank_of(group), group};
    if (holder.first > mine && std::find(later.begin(), later.end(), holder) == later.end()) later.push_back(holder);
  });
  std::sort(later.rbegin(), later.rend());
  const std::size_t start = picks_->where().start;  // what is only tried examines no nodes
  const auto would_fit = [&](std::span<const row_t> gangs) {
    transaction trial{*state_};
    for (const row_t group : gangs) {
      for (const row_t held : binding_->waiting().members_of(group)) state_->assigned.release(held);
    }
    if (!e.group) return picks_->pick(e.row).node != no_row;
    return search_->place(parts_->of(e.row)).verdict.ok();
  };
  std::vector<row_t> giving;
  for (const auto& [its_rank, group] : later) {
    if (!giving.empty()) break;
    if (would_fit({&group, 1})) giving = {group};
  }
  for (std::size_t count = 2; giving.empty() && count <= later.size(); ++count) {
    std::vector<row_t> together;
    for (std::size_t i = 0; i < count; ++i) together.push_back(later[i].second);
    if (would_fit(together)) giving = std::move(together);
  }
  picks_->go_back({statistics_->decisions, start});
  for (const row_t group : giving) {
    for (const row_t held : binding_->waiting().members_of(group))
      binding_->send_back(held, "its node was taken back for an older gang", false);
  }
  return !giving.empty();
}

GANGSCHED_INLINE void gang_holdings::call_older(row_t own) {
  if (options_->holds == hold_rule::timers_only || !entities_->incomplete(own)) return;
  const rank mine = rank_of(own);
  struct candidate {
    std::uint64_t kind;  ///< of those alike; 0: like no other
    rank age;
    std::uint64_t arrival;
    row_t group;
    entity who;
  };
  std::vector<candidate> all;
  row_t asked = no_row;  // members of a group mostly failed one after another
  bool older = false;
  rank its;
  queue_->unschedulable().each([&](entity e, row_t group, std::uint64_t kind) {
    if (group == own || group == no_row) return;
    if (group != std::exchange(asked, group)) {
      older = entities_->incomplete(group);
      if (older) its = rank_of(group), older = its < mine;
    }
    if (older) all.push_back({kind, its, e.group ? 0 : state_->pods.arrival[e.row], group, e});
  });
  std::sort(all.begin(), all.end(), [](const candidate& a, const candidate& b) {
    return std::tie(a.age, a.arrival) < std::tie(b.age, b.arrival);
  });
  row_t called = no_row;             // of each group its oldest
  std::vector<std::uint64_t> tried;  // kinds
  for (const candidate& one : all) {
    if (one.group == std::exchange(called, one.group)) continue;
    if (one.kind != 0 && std::find(tried.begin(), tried.end(), one.kind) != tried.end()) {
      queue_->unschedulable().fail_again(one.who);
      continue;
    }
    if (!queue_->places().backs_off(*queue_->places().find(one.who), *now_)) tried.push_back(one.kind);
    ++statistics_->wake_ups;
    queue_->places().wake(one.who, *now_);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
