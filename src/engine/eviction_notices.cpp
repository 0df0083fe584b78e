#include "gangsched/engine/eviction_notices.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE std::uint32_t eviction_notices::generation_of(entity who) const {
  return who.group ? state_->groups.rows.generation(who.row) : state_->pods.rows.generation(who.row);
}

GANGSCHED_INLINE bool eviction_notices::somebody_waits(entity who, bool nominated) const {
  const model::pod_table& pods = state_->pods;
  const auto waits = [&](row_t pod) {
    return pods.state[pod] == pod_state::pending && !pods.terminating[pod] &&
           (!nominated || pods.nominated[pod] != no_row);
  };
  if (!who.group) return waits(who.row);
  const model::group_table& groups = state_->groups;
  const bool of_pods = !groups.record[who.row]->spec.composite;
  if (of_pods && groups.members[who.row] < groups.min_count(who.row)) return false;  // its gate has closed
  return !state_->groups.each_below(who.row, [&](row_t group) {
    for (row_t pod = state_->groups.first[group]; pod != no_row; pod = pods.next_in_group[pod])
      if (waits(pod)) return false;
    return true;
  });
}

GANGSCHED_INLINE bool eviction_notices::needs(const beneficiary& one) const {
  const bool alive = one.who.group ? state_->groups.alive(one.who.row) : state_->pods.alive(one.who.row);
  return alive && generation_of(one.who) == one.generation && somebody_waits(one.who, one.nominated);
}

GANGSCHED_INLINE bool eviction_notices::runs(pod_id victim) const {
  const model::pod_table& pods = state_->pods;
  return gangsched::detail::names_pod(*state_, victim) && pods.state[victim.row] == pod_state::bound &&
         !pods.terminating[victim.row];
}

GANGSCHED_INLINE bool eviction_notices::give(pod_id victim, const char* reason, entity for_whom, instant now) {
  const beneficiary whom{for_whom, generation_of(for_whom), somebody_waits(for_whom, true)};
  const auto known = std::find_if(all_.begin(), all_.end(), [&](const notice& one) { return one.victim == victim; });
  if (known != all_.end()) {
    auto& others = known->for_whom;
    if (std::find(others.begin(), others.end(), whom) == others.end()) others.push_back(whom);
    return false;
  }
  all_.push_back({victim, later_by(now, span_), reason != nullptr, reason != nullptr ? reason : "", {whom}});
  return true;
}

GANGSCHED_INLINE bool eviction_notices::awaits(entity who) const {
  return std::any_of(all_.begin(), all_.end(), [&](const notice& one) {
    return runs(one.victim) && std::any_of(one.for_whom.begin(), one.for_whom.end(), [&](const beneficiary& whom) {
             return whom.who == who && whom.generation == generation_of(who) && needs(whom);
           });
  });
}

/// Drops what is over. @return victims that may stay.
GANGSCHED_INLINE std::vector<row_t> eviction_notices::drop_ended() {
  std::vector<row_t> stay;
  if (!std::exchange(look_, false)) return stay;
  std::erase_if(all_, [&](notice& one) {
    if (!runs(one.victim)) return true;
    std::erase_if(one.for_whom, [&](const beneficiary& whom) { return !needs(whom); });
    if (!one.for_whom.empty()) return false;
    stay.push_back(one.victim.row);
    return true;
  });
  return stay;
}

GANGSCHED_INLINE std::optional<instant> eviction_notices::next_due() const noexcept {
  std::optional<instant> next;
  for (const notice& one : all_) next = std::min(next.value_or(one.due), one.due);
  return next;
}

GANGSCHED_INLINE std::vector<saved_notice> eviction_notices::save() const {
  std::vector<saved_notice> made;
  for (const notice& one : all_) {
    saved_notice& saved = made.emplace_back();
    saved.victim = one.victim, saved.due = one.due;
    if (one.has_reason) saved.reason = one.reason;
    for (const beneficiary& whom : one.for_whom)
      saved.for_whom.push_back({whom.who.row, whom.generation, whom.who.group, whom.nominated});
  }
  return made;
}

GANGSCHED_INLINE std::optional<error> eviction_notices::restore(const std::vector<saved_notice>& from) {
  std::vector<notice> made;
  for (const saved_notice& one : from) {
    if (!gangsched::detail::had(state_->pods.rows, one.victim)) return model::damaged("notices of evictions");
    notice& known = made.emplace_back();
    known.victim = one.victim, known.due = one.due;
    known.has_reason = one.reason.has_value(), known.reason = one.reason.value_or("");
    for (const saved_notice::beneficiary& whom : one.for_whom) {
      const slots& rows = whom.is_group ? state_->groups.rows : state_->pods.rows;
      if (whom.row >= rows.count()) return model::damaged("notices of evictions");
      known.for_whom.push_back({{whom.row, whom.is_group}, whom.generation, whom.nominated});
    }
  }
  all_ = std::move(made);
  look_ = true;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
