#include "gangsched/engine/core.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gangsched/engine/attachments.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What is written while it lives is the scheduler's own: the queue does its part when it is written, not when the log is read.
class core::own_records {
 public:
  explicit own_records(core& of) noexcept : of_(&of), before_(of.state_->log.write_as(of.events_.author())) {}
  own_records(const own_records&) = delete;
  own_records& operator=(const own_records&) = delete;
  ~own_records() {
    of_->state_->log.write_as(before_);
    of_->events_.end_own_records();
    if (of_->backfill_.on()) of_->backfill_.read_log();  // as far as the scheduler has
  }

 private:
  core* of_;
  std::uint32_t before_;
};

GANGSCHED_INLINE core::core(model::cluster_state& on, profile_set profiles, const scheduler_options& options)
    : state_(&on),
      profiles_(std::move(profiles)),
      options_(options),
      entities_(*state_, profiles_),
      decisions_(*state_),
      error_(*state_),
      gates_(*state_, entities_),
      picker_(*state_, profiles_, options_, statistics_, now_),
      reservations_(*state_, entities_, picker_, now_),
      limits_(*state_, entities_),
      entered_(*state_, gates_),
      parts_(*state_, entities_, limits_, picker_, entered_),
      search_(*state_, entities_, parts_, picker_, reservations_, options_, statistics_),
      preemption_(*state_, entities_, gates_, parts_, picker_, search_),
      queue_(*state_, profiles_, entities_, gates_, limits_, parts_, picker_, options_, statistics_, now_),
      backfill_(*state_, entities_, parts_, picker_, search_, queue_.admission(), queue_.places(), decisions_, options_,
                statistics_, now_),
      explainer_(*state_, entities_, queue_.admission(), gates_, limits_, parts_, search_, picker_,
                 queue_.unschedulable()),
      binding_(*state_, entities_, reservations_, queue_, decisions_, error_, now_, options_.eviction_notice),
      holdings_(*state_, entities_, picker_, parts_, search_, queue_, binding_, options_, statistics_, now_),
      cycles_{
          {{*state_, entities_, reservations_, preemption_, backfill_, queue_, binding_, holdings_, decisions_, error_},
           picker_},
          {{*state_, entities_, reservations_, preemption_, backfill_, queue_, binding_, holdings_, decisions_, error_},
           parts_,
           search_}},
      events_(*state_, entities_, gates_, entered_, queue_, binding_, explainer_, now_) {
  GANGSCHED_ASSERT(!profile_set::difference(profiles_.all()));
  search_.let_members_preempt(preemption_);
  if (options.count_reasons) decisions_.rejections().count_reasons();
}

GANGSCHED_INLINE core::core(cluster& on, std::vector<kernel_table> profiles, const scheduler_options& options)
    : core(gangsched::detail::inside(on), profile_set{std::move(profiles), gangsched::detail::inside(on)}, options) {
  detail::attachments made{*state_};
  call_mark whole{*state_};
  profiles_.attach(*state_);
  events_.start_over();
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    if (state_->pods.state[pod] == pod_state::assumed && entities_.has_profile(pod)) binding_.reported().add(pod);
  }
  whole.keep();
  made.keep();
}

/// Each part takes what the original's holds. Those that are not named here hold nothing between two calls but what they make anew.
GANGSCHED_INLINE core::core(cluster& copy, const core& from, bool evicts)
    : core(gangsched::detail::inside(copy), from.profiles_.forked(gangsched::detail::inside(copy), evicts),
           from.options_) {
  statistics_ = from.statistics_;
  now_ = from.now_;
  before_ = from.before_;
  decisions_.rejections() = from.decisions_.rejections();
  gates_ = from.gates_;
  picker_ = from.picker_;
  entered_ = from.entered_;
  preemption_ = from.preemption_;
  queue_ = from.queue_;
  backfill_ = from.backfill_;
  explainer_ = from.explainer_;
  binding_ = from.binding_;
  events_ = from.events_;
}

GANGSCHED_INLINE void core::open_call(instant now) {
  standing_before& was = before_;
  was.whole = false;
  was.now = now_;
  was.statistics = statistics_;
  was.picks = picker_.where();
  decisions_.remember();
  state_->said = &decisions_.texts();
  binding_.remember();
  queue_.remember();
  backfill_.remember();
  was.whole = true;
  was.mended = was.torn;
  if (!was.torn) return;
  now_ = now;
  mend();
}

GANGSCHED_INLINE void core::abandon_call(bool question) noexcept {
  standing_before& was = before_;
  if (notes_) notes_->drop();
  if (!was.whole) return;  // it had not begun
  queue_.recall();
  backfill_.recall();
  binding_.recall();
  decisions_.recall();
  error_.clear();
  now_ = was.now;
  statistics_ = was.statistics;
  picker_.go_back(was.picks);
  if (!question || was.mended) return static_cast<void>(was.torn = true);
  forget_cached();
  search_.candidates().clear();
}

/// As when the log was lost: entities that wait for a change are tried again.
GANGSCHED_INLINE void core::mend() {
  forget_cached();
  decisions_.rejections().clear();
  search_.candidates().clear();
  gates_.forget_open();
  queue_.places().rebuild();
  events_.start_over();
  before_.torn = false;
}

GANGSCHED_INLINE void core::forget_cached() {
  picker_.forget_cached();
  search_.candidates().forget_bounds();
  preemption_.forget_cached();
  queue_.unschedulable().forget_conditions();
}

/// Nothing is read in the middle of a trial, in which the tables show what may never have been.
GANGSCHED_INLINE void core::read_log() {
  if (state_->undo.trying()) return;
  search_.candidates().drop_unused();
  picker_.drop_outdated();
  if (notes_) [[unlikely]]
    notes_->read_log();
  else
    events_.read();
  if (backfill_.on()) backfill_.read_log();
}

/// Entities that were tried in vain may be tried again if time has moved, or if the log says what the engine did not write.
GANGSCHED_INLINE void core::begin_call(instant now) {
  if (now != now_ || events_.has_news()) queue_.places().begin_round();
  if (now_ == instant::min() && now != now_) queue_.places().begin_time(now);
  now_ = now;
}

/// The beginning of every call that decides: the host's changes, what they ended, and waits that are over.
GANGSCHED_INLINE void core::begin_deciding(instant now) {
  begin_call(now);
  decisions_.clear();
  error_.clear();
  picker_.errors.clear();
  read_log();
  notes_.begin(step_kind::waits, schedule_attempt_failure);
  binding_.reported().report_ended(decisions_);
  binding_.expire_waits();
  notes_.end_if_anything();
}

GANGSCHED_INLINE void core::flush() {
  if (notes_) [[unlikely]]
    return notes_->flush();
  queue_.flush();
}

GANGSCHED_INLINE bool core::schedule(instant now) {
  const own_records own{*this};
  notes_.open(host_call::schedule_cycle);
  begin_deciding(now);
  if (events_.has_unread()) read_log();
  flush();
  queue& places = queue_.places();
  const auto pop = [&] {
    if (backfill_.on()) backfill_.offer();
    return places.pop(now);
  };
  while (const std::optional<queue::popped> next = pop()) {
    // Nothing happens between here and the end of the cycle, so that there is nothing to keep for it.
    if (notes_) [[unlikely]]
      notes_->begin_attempt(*next);
    const bool worked = try_entity(*next);
    if (notes_) [[unlikely]]
      notes_->end_attempt();
    if (places.land(next->who) && next->who.group && state_->groups.alive(next->who.row))
      queue_.requeue_group(next->who.row);
    if (!worked) continue;
    ++statistics_.cycles;
    places.tidy();
    return true;
  }
  places.tidy();
  return decisions_.size() != 0;
}

/// An attempt that a hook's exception ends left nothing behind but what it decided before: hooks that may throw it are asked inside trials,
/// or before anything is written. What was being computed for caches is forgotten with them.
GANGSCHED_INLINE bool core::try_entity(const queue::popped& next) {
  const entity e = next.who;
  status said;
  try {
    if (next.broken) throw *next.broken;
    return run(e);
  } catch (const hook_error& thrown) {
    said = error_.thrown(thrown.what());
  }
  forget_cached();
  if (!e.group) {
    picked failed;
    failed.said = said;
    decisions_.rejections().keep(e.row, entities_.profile_of(e.row), nullptr, said);
    cycles_.of_pod.reject(e.row, failed);
    queue_.unschedulable().pass_on(e.row);
    return true;
  }
  error_.set(e, said.reason);
  entities_.each_member(e.row, [&](row_t pod) {
    if (!entities_.wants_node(pod)) return;
    decision& rejected = decisions_.add(decision_kind::reject, pod);
    rejected.code = said.code;
    rejected.reason = said.reason;
    decisions_.rejections().keep(pod, entities_.profile_of(pod), nullptr, said);
  });
  queue_.retry_group(e.row, true, true);
  queue_.unschedulable().pass_on_group(e.row);
  return true;
}

GANGSCHED_INLINE bool core::run(entity e) {
  if (e.group) {
    if (!state_->groups.alive(e.row)) return false;
    cycles_.of_group.run(e.row);
    return decisions_.size() != 0 || error_.reason() != nullptr;
  }
  const model::pod_table& pods = state_->pods;
  if (!pods.alive(e.row) || pods.state[e.row] != pod_state::pending || pods.terminating[e.row]) return false;
  cycles_.of_pod.run(e.row);
  return true;
}

GANGSCHED_INLINE void core::permit(instant now) {
  const own_records own{*this};
  notes_.open(host_call::permit);
  begin_deciding(now);
  flush();
  notes_.begin(step_kind::waits, schedule_attempt_failure);
  binding_.finish_waiting();
  notes_.end_if_anything();
  read_log();
  queue_.places().tidy();
}

GANGSCHED_INLINE bool core::allow(row_t pod, std::string_view plugin) {
  queue_.places().begin_round();
  return binding_.allow(pod, plugin);
}

GANGSCHED_INLINE void core::reject(row_t pod) {
  queue_.places().begin_round();
  binding_.reject(pod);
}

GANGSCHED_INLINE void core::confirm(row_t pod) {
  queue_.places().begin_round();
  notes_.open(host_call::confirm);
  read_log();
  if (notes_) notes_->begin_answer(pod, attempt_result::bound);
  const own_records own{*this};
  binding_.confirm(pod);
  explainer_.note(pod, {});
}

GANGSCHED_INLINE std::span<const decision> core::fail(row_t pod, std::string_view reason) {
  queue_.places().begin_round();
  notes_.open(host_call::fail);
  read_log();
  if (notes_) notes_->begin_answer(pod, attempt_result::error);
  const own_records own{*this};
  const std::span<const decision> made = binding_.fail(pod);
  explainer_.note(pod, reason);
  if (notes_) notes_->answered(made, reason);
  return made;
}

/// What a host does that has the queue to itself, or by hand, is news.
GANGSCHED_INLINE void core::catch_up(instant now) {
  begin_call(now);
  queue_.places().begin_round();
  notes_.open(host_call::catch_up);
  read_log();
  queue_.places().tidy();
}

GANGSCHED_INLINE std::optional<attempt> core::pop(instant now) {
  notes_.open(host_call::pop);
  decisions_.drop_answers();
  catch_up(now);
  if (!notes_) return queue_.pop_attempt();
  notes_->flush();
  notes_->begin(step_kind::popped, schedule_attempt_failure);
  const std::optional<attempt> next = queue_.pop_attempt();
  if (!next) return next;
  notes_->last().from_backoff = next->from_backoff;
  notes_->describe(next->group ? entity{next->group.row, true} : entity{next->pod.row, false});
  return next;
}

/// As if the attempt had been the engine's.
GANGSCHED_INLINE void core::note_host_rejection(row_t pod, const rejected_by& why) {
  if (!state_->pods.alive(pod) || state_->pods.state[pod] != pod_state::pending) return;
  const bool waits = why.unschedulable_plugins.empty() && !why.pending_plugins.empty();
  const bool error = why.unschedulable_plugins.empty() && why.pending_plugins.empty();
  const status said{error ? code::error : waits ? code::pending : code::unschedulable, {}, nullptr};
  const kernel_table& profile = entities_.profile_of(pod);
  std::uint64_t plugins = 0;
  for (const plugin_entry& plugin : profile.plugins) {
    const auto names_it = [&](const std::vector<std::string>& all) {
      return std::find(all.begin(), all.end(), plugin.name) != all.end();
    };
    if (names_it(why.unschedulable_plugins) || names_it(why.pending_plugins)) plugins |= plugin_bit(profile, plugin);
  }
  decisions_.rejections().keep(pod, said, plugins, nullptr);
}

GANGSCHED_INLINE void core::add_unschedulable(pod_id pod, const rejected_by& why, instant now) {
  notes_.open(host_call::add_unschedulable);
  catch_up(now);
  if (notes_) notes_->begin_returned({pod.row, false}, why);
  if (gangsched::detail::names_pod(*state_, pod)) note_host_rejection(pod.row, why);
  queue_.add_unschedulable(pod, why);
}

GANGSCHED_INLINE void core::add_unschedulable(group_id group, const rejected_by& why, instant now) {
  notes_.open(host_call::add_unschedulable);
  catch_up(now);
  if (notes_) notes_->begin_returned({group.row, true}, why);
  if (gangsched::detail::names_group(*state_, group))
    entities_.each_member(group.row, [&](row_t pod) { note_host_rejection(pod, why); });
  queue_.add_unschedulable(group, why);
}

GANGSCHED_INLINE void core::done(pod_id pod) {
  notes_.open(host_call::done);
  notes_.begin(step_kind::returned, schedule_attempt_failure);
  queue_.done(pod);
}

GANGSCHED_INLINE void core::done(group_id group) {
  notes_.open(host_call::done);
  notes_.begin(step_kind::returned, schedule_attempt_failure);
  queue_.done(group);
}

GANGSCHED_INLINE void core::activate(std::span<const pod_id> pods, instant now) {
  notes_.open(host_call::activate);
  catch_up(now);
  notes_.begin(step_kind::event, "ForceActivate");
  queue_.activate(pods);
}

GANGSCHED_INLINE void core::flush_backoff(instant now) {
  notes_.open(host_call::flush);
  catch_up(now);
  notes_.begin(step_kind::timer, "BackoffComplete");
  queue_.places().flush_backoff(now);
}

GANGSCHED_INLINE void core::flush_unschedulable(instant now) {
  notes_.open(host_call::flush);
  catch_up(now);
  notes_.begin(step_kind::timer, "UnschedulableTimeout");
  queue_.flush_unschedulable();
}

GANGSCHED_INLINE void core::restore(row_t pod, const queue_position& position) {
  notes_.open(host_call::restore);
  read_log();
  notes_.begin(step_kind::returned, "ForceActivate");
  queue_.restore(pod, position);
}

GANGSCHED_INLINE void core::restore(const waiting_pod& as) {
  notes_.open(host_call::restore);
  read_log();
  binding_.restore(as);
}

GANGSCHED_INLINE std::optional<move_plan> core::plan_moves(row_t group, const move_options& options) {
  const std::vector<row_t> waiting = parts_.of(group, true).all_members();
  if (!waiting.empty()) {
    const entity e = entities_.entity_of(waiting.front());
    if (backfill_.is_over(e) || backfill_.planned_start(e)) return std::nullopt;
    if (!explainer_.why_not_tried(group, waiting).empty()) return std::nullopt;
  }
  return move_planner{*state_, parts_, picker_, reservations_, search_}.plan(group, options);
}

GANGSCHED_INLINE std::optional<instant> core::next_time() const {
  if (before_.torn) return now_;  // at once: orders are to be made anew
  std::optional<instant> next = queue_.places().next_time();
  for (const std::optional<instant>& due :
       {queue_.unschedulable().next_retry(), binding_.next_deadline(), backfill_.next_time()})
    if (due) next = std::min(next.value_or(*due), *due);
  if (next == instant::max()) return std::nullopt;  // never
  return next;
}

GANGSCHED_INLINE queue_standing core::standing(row_t pod) const {
  queue_standing made = queue_.standing(pod);
  if (made.place == queue_place::none || !made.rejected.unschedulable_plugins.empty() ||
      !made.rejected.pending_plugins.empty())
    return made;
  if (std::optional<why_rejected> known = why({pod, state_->pods.rows.generation(pod)}))
    (known->code == code::pending ? made.rejected.pending_plugins : made.rejected.unschedulable_plugins) =
        std::move(known->plugins);
  return made;
}

GANGSCHED_INLINE std::optional<why_rejected> core::why(pod_id pod) const {
  const rejection_notes::note* const found = decisions_.rejections().find(pod);
  if (found == nullptr) return std::nullopt;
  why_rejected made;
  made.code = found->code;
  const kernel_table& profile = entities_.profile_of(pod.row);
  for (const plugin_entry& plugin : profile.plugins) {
    if ((found->plugins & plugin_bit(profile, plugin)) != 0) made.plugins.push_back(plugin.name);
  }
  if (found->words == nullptr) return made;
  const rejection_words& words = *found->words;
  made.reasons = words.reasons;
  made.nodes = words.nodes;
  made.group = words.group;
  made.placed = words.placed;
  made.post_filter = words.post_filter;
  if (gangsched::detail::names_pod(*state_, words.member)) {
    made.member = words.member;
    made.member_name = state_->pods.record[words.member.row]->name;
  }
  return made;
}

GANGSCHED_INLINE std::vector<queued_entity> core::list_queue() const {
  std::vector<queued_entity> all;
  for (const scheduling_queue::listed& one : queue_.list()) {
    queued_entity& made = all.emplace_back();
    made.pod = {one.pod, state_->pods.rows.generation(one.pod)};
    made.standing = standing(one.pod);
    made.pods = one.pods;
    if (one.who.group && made.standing.place != queue_place::kept_back)
      made.group = {one.who.row, state_->groups.rows.generation(one.who.row)};
    const bool waits_for_time =
        made.standing.place == queue_place::error_backoff;  // without a failure: for its planned start
    if (made.standing.failures + made.standing.errors == 0 && !waits_for_time) continue;
    if (const auto known = why(made.pod))
      made.why = known->text();
    else
      made.why = explainer_.noted(one.pod);  // the last attempt found a node
    const char* const own = made.group ? queue_.unschedulable().reason_of(made.group) : nullptr;
    if (made.why.empty() && own != nullptr) made.why = own;
  }
  return all;
}

GANGSCHED_INLINE queue_counts core::counts() const {
  queue_counts all = queue_.places().counts();
  all.waiting = binding_.waiting().count();
  all.in_flight = queue_.in_flight().size();
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
