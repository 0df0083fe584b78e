#include "gangsched/engine/group_cycle.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void group_cycle::run(row_t group) {
  const model::pod_table& pods = with_.state.pods;
  parts_->enter(group);
  const group_part whole = parts_->of(group);
  const std::vector<row_t> members = whole.all_members();
  with_.queue.note_ratios(group);
  if (members.empty()) return with_.queue.unschedulable().pass_on_group(group);
  if (const status said = parts_->disagreement(group); !said.ok()) {
    note(members, said, {});
    reject(group, whole, {said});
    with_.queue.unschedulable().add_hopeless_group(group, said.reason);
    with_.queue.unschedulable().pass_on_group(group);
    return;
  }
  if (const status over = status::unresolvable(time_is_over); with_.backfilling.is_over({group, true})) {
    with_.backfilling.end_reservation({group, true});
    note(members, over, {});
    tell(members, over);
    with_.queue.wait_until({group, true}, instant::max());
    return with_.queue.unschedulable().pass_on_group(group);
  }
  if (const refusal no = with_.queue.ask_admission({group, true})) {
    tell(members, no);
    with_.backfilling.refused({group, true}, no);
    return with_.queue.refuse({group, true}, no);
  }
  if (const std::optional<instant> then = with_.backfilling.planned_start({group, true})) {
    with_.backfilling.plan({group, true}, *then);
    note(members, status::pending(starts_later), {});
    tell(members, status::pending(starts_later));
    with_.queue.wait_until({group, true}, *then);
    return with_.queue.unschedulable().pass_on_group(group);
  }
  std::uint64_t from = with_.state.log.end();
  const auto place = [&] {
    std::uint64_t budget = search_->budget();
    return search_->place(whole, {.budget = &budget, .own_lacks = true});
  };
  group_placement outcome = place();
  if (!outcome.verdict.ok() && outcome.verdict.code != code::error && with_.holdings.take_back(group, {group, true})) {
    from = with_.state.log.end();  // others hear of what was taken back
    outcome = place();
  }
  if (!outcome.verdict.ok() && outcome.verdict.code != code::error && with_.backfilling.make_way({group, true})) {
    from = with_.state.log.end();
    outcome = place();
  }
  if (!outcome.verdict.ok()) {
    const bool error = outcome.verdict.code == code::error;
    note_attempt(members, outcome, outcome.verdict);
    if (error && !outcome.of_group)
      with_.error.set({group, true}, outcome.verdict.reason, search_->errors().whose(outcome.verdict));
    const bool helped = reject(group, whole, outcome);
    // (Alike groups differ in age, by which they may take the room of waiting pods, and in run time, which decides about reserved nodes.)
    if (helped || error || !with_.binding.waiting().empty() || with_.backfilling.on())
      with_.queue.unschedulable().pass_on_group(group);
    else
      with_.queue.unschedulable().fail_alike_groups(group);
    return;
  }
  with_.state.log.mark_undone(from);
  with_.queue.places().item({group, true}).failures = 0;

  const std::vector<member_place> placed = outcome.members.take();
  for (const member_place& one : placed) with_.queue.count_out(one.pod);
  for (const member_place& one : placed) {
    if (pods.state[one.pod] != pod_state::assumed) continue;
    if (with_.binding.begin(one.pod, with_.entities.profile_of(one.pod), one.score))
      with_.holdings.call_older(pods.group[one.pod]);
  }
  // Members above the minimum that did not fit fail one by one, and come back as the group: at once, with its old timestamp,
  // as long as each cycle places a member (KEP-4671). The cycle that places none may preempt.
  bool left = false;
  bool kept = true;  // what a permit or bind hook sent back waits for its time
  if (placed.size() != members.size()) {
    std::vector<row_t> tried;
    for (const member_place& one : placed) {
      tried.push_back(one.pod);
      kept = kept && pods.state[one.pod] != pod_state::pending;
    }
    std::sort(tried.begin(), tried.end());
    for (const row_t pod : members) {
      if (pods.state[pod] != pod_state::pending || std::binary_search(tried.begin(), tried.end(), pod)) continue;
      left = true;
      note_attempt({&pod, 1}, outcome, {});
      with_.decisions.add(decision_kind::reject, pod).code = code::unschedulable;
    }
  }
  if (left && kept && !with_.entities.members_enter_singly())
    with_.queue.places().activate({group, true});
  else if (left)
    with_.queue.park_group(group, outcome.rejectors);
  with_.queue.unschedulable().pass_on_group(group);
}

/// Victims go for the group, which tries again when they are gone. False if it was not helped; @p broken: why, if that is an error;
/// @p retry_at: as `preemption_result`.
GANGSCHED_INLINE bool group_cycle::preempt_for(row_t group, status& broken, std::optional<instant>& retry_at) {
  if (with_.binding.awaits_victims({group, true})) return false;
  const preemption_result found = with_.makes_room.for_group(group);
  if (found.broken.code == code::error) {
    with_.error.set({group, true}, found.broken.reason, search_->errors().whose(found.broken));
    broken = found.broken;
  }
  retry_at = found.retry_at;
  found.add_to(with_.decisions);
  // Before its victims leave, so that it hears of them. If nobody has to, the places that were found are tried next time.
  if (found.helped && found.frees_at_once(with_.state.pods) && !with_.entities.members_enter_singly())
    with_.queue.retry_group(group, false, false);
  else if (found.helped)
    with_.queue.park_group(group, unknown_rejectors);
  for (const auto& [victim, why] : found.victims) with_.binding.preempt(victim, why, {group, true});
  found.add_moves_to(with_.decisions);
  return found.helped;
}

/// All of them share what is said of the one that it failed with.
GANGSCHED_INLINE void group_cycle::note(std::span<const row_t> members, const status& why, const group_lack& lack) {
  rejection_notes& notes = with_.decisions.rejections();
  shared_words words = notes.word_of(nullptr, why);
  if (words != nullptr) {
    rejection_words whole = lack.words != nullptr ? *lack.words : rejection_words{};
    if (!words->reasons.empty()) whole.group = words->reasons.front().text;
    if (lack.member != no_row) whole.member = {lack.member, with_.state.pods.rows.generation(lack.member)};
    whole.placed = lack.placed;
    words = std::make_shared<const rejection_words>(std::move(whole));
  }
  for (const row_t pod : members) notes.keep(pod, why, why.code == code::error ? 0 : lack.plugins, words);
}

/// After the search: of members that it left out, what each lacks itself is noted; of the others, why the group failed.
GANGSCHED_INLINE void group_cycle::note_attempt(std::span<const row_t> members, const group_placement& tried,
                                                const status& why) {
  std::vector<row_t> others;
  for (const row_t pod : members) {
    if (const auto own = tried.own_lacks.find(pod); own != tried.own_lacks.end())
      with_.decisions.rejections().keep(pod, {}, own->second.plugins, own->second.words);
    else
      others.push_back(pod);
  }
  if (!others.empty()) note(others, why, tried.lack);
}

GANGSCHED_INLINE void group_cycle::tell(std::span<const row_t> members, const status& why) {
  for (const row_t pod : members) {
    decision& said = with_.decisions.add(decision_kind::reject, pod);
    said.code = why.code;
    if (why.reason != nullptr) said.reason = with_.decisions.texts().keep(why.reason);
  }
}

/// An admission hook's word.
GANGSCHED_INLINE void group_cycle::tell(std::span<const row_t> members, const refusal& why) {
  if (why.said.code == code::error)
    with_.error.set(with_.entities.entity_of(members.front()), why.said.reason, why.by->name);
  for (const row_t pod : members)
    with_.decisions.rejections().keep(pod, with_.entities.profile_of(pod), why.by, why.said);
  tell(members, why.said);
}

/// Returns whether others go for it.
GANGSCHED_INLINE bool group_cycle::reject(row_t group, const group_part& whole, const group_outcome& why) {
  status verdict = why.verdict;
  const std::vector<row_t> members = whole.all_members();
  const auto nominated = [&] {
    return std::any_of(members.begin(), members.end(), [&](row_t pod) {
      return with_.state.pods.nominated[pod] != no_row &&
             with_.state.pods.times.reserved_from(pod) == model::pod_times::never;
    });
  };
  const bool hoped = nominated();
  // Also where its running members keep it from being placed at all, as in several domains: then it may move.
  const bool may_help = verdict.code != code::error || (why.of_group && !with_.entities.members_enter_singly());
  std::optional<instant> retry_at;
  if (may_help && preempt_for(group, verdict, retry_at)) return true;
  refusal late;
  if (verdict.code != code::error && with_.backfilling.on() && !with_.binding.awaits_victims({group, true}))
    late = with_.backfilling.reserve({group, true});
  if (late)
    tell(members, late);
  else
    tell(members, verdict);
  if (verdict.code == code::error || late.said.code == code::error)
    with_.queue.retry_group(group, true, true);
  else if (hoped && !nominated() && !with_.queue.by_hints())
    with_.queue.retry_group(group, false, false);  // without the room that some had kept from the others they may fit
  else
    with_.queue.park_group(group, why.rejectors, why.verdict.reason);
  if (retry_at) with_.queue.unschedulable().retry_at({group, true}, *retry_at);
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
