#include "gangsched/scheduler.hpp"

#include <utility>

#include "gangsched/engine/core.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// While it lives, calls from inside a hook are refused. At its end the store of hooks' texts is unset: its scheduler may go.
class hook_guard {
 public:
  explicit hook_guard(model::cluster_state& state) noexcept
      : state_(&state), before_(std::exchange(state.in_hook, true)) {}
  hook_guard(const hook_guard&) = delete;
  hook_guard& operator=(const hook_guard&) = delete;
  ~hook_guard() {
    state_->in_hook = before_;
    state_->said = nullptr;
  }

 private:
  model::cluster_state* state_;
  bool before_;
};

/// Guards a call: unless it reaches `done`, everything is undone, in the cluster and in what only the engine knows.
class running_call {
 public:
  explicit running_call(engine::core& core, bool question = false) : running_call(core, core.now(), question) {}
  running_call(engine::core& core, instant now, bool question = false) : guard_(core.state()), mark_(core.state()) {
    abandoned_.core = &core, abandoned_.question = question;
    core.open_call(now);
  }
  running_call(const running_call&) = delete;
  running_call& operator=(const running_call&) = delete;
  /// @p answer exists already, so nothing can fail any more.
  template <class Answer>
  Answer done(Answer answer) noexcept {
    mark_.keep();
    std::exchange(abandoned_.core, nullptr)->close_call();
    return answer;
  }

 private:
  struct abandoned_call {
    abandoned_call() = default;
    abandoned_call(const abandoned_call&) = delete;
    abandoned_call& operator=(const abandoned_call&) = delete;
    ~abandoned_call() {
      if (core != nullptr) core->abandon_call(question);
    }
    engine::core* core = nullptr;
    bool question = false;
  };

  hook_guard guard_;
  abandoned_call abandoned_;  // after the mark has rolled back
  call_mark mark_;
};

GANGSCHED_INLINE std::optional<error> refuse_timed(const engine::core& core, const model::cluster_state& state,
                                                   instant now) {
  if (!is_busy(state) && now >= core.now()) [[likely]]
    return std::nullopt;
  if (auto busy = refuse_busy(state)) return busy;
  return error{errc::time_went_back, "scheduler", "now", "is earlier than in the call before"};
}

GANGSCHED_INLINE std::optional<error> refuse_pod(const model::cluster_state& state, pod_id pod, pod_state wanted,
                                                 const char* why) {
  if (!is_busy(state) && names_pod(state, pod) && state.pods.state[pod.row] == wanted) [[likely]]
    return std::nullopt;
  if (auto busy = refuse_busy(state)) return busy;
  if (!names_pod(state, pod)) return unknown_id("pod");
  return error{errc::wrong_state, pod_text(state, pod.row), "state", why};
}

GANGSCHED_INLINE std::optional<error> refuse_waiting(const engine::core& core, const model::cluster_state& state,
                                                     pod_id pod) {
  if (auto refused = refuse_pod(state, pod, pod_state::assumed, "does not wait")) return refused;
  if (!core.binding().waiting().has(pod.row))
    return error{errc::wrong_state, pod_text(state, pod.row), "state", "does not wait"};
  return std::nullopt;
}

/// Runs a question in a transaction that is undone: neither the cluster nor the next decision changes.
template <class Answer, class Question>
result<Answer> ask(engine::core& core, Question&& question) {
  running_call call{core, true};
  std::optional<result<Answer>> said;
  {
    const transaction trial{core.state()};
    const engine::picker::position stood = core.picks();
    try {
      said.emplace(question());
    } catch (const hook_error& thrown) {
      core.forget_cached();
      core.picks_go_back(stood);
      said.emplace(error{errc::contract, "scheduler", "plugins", thrown.what()});
    }
  }
  return call.done(*std::move(said));
}

/// A vector of one. (An initialiser list would copy it.)
GANGSCHED_INLINE std::vector<kernel_table> just(kernel_table one) {
  std::vector<kernel_table> all;
  all.push_back(std::move(one));
  return all;
}

GANGSCHED_INLINE std::vector<kernel_table> checked(std::vector<kernel_table> profiles) {
  scheduler::check(profiles).value();
  return profiles;
}

/// A pod that is gone may still be in flight, so that is checked first.
GANGSCHED_INLINE std::optional<error> refuse_untried(engine::core& core, pod_id pod) {
  if (core.is_tried(pod)) return std::nullopt;
  if (!names_pod(core.state(), pod)) return unknown_id("pod");
  return error{errc::wrong_state, pod_text(core.state(), pod.row), "queue", "is not in flight"};
}
GANGSCHED_INLINE std::optional<error> refuse_untried(engine::core& core, group_id group) {
  if (core.is_tried(group)) return std::nullopt;
  if (!names_group(core.state(), group)) return unknown_id("group");
  const group_spec& spec = core.state().groups.record[group.row]->spec;
  return error{errc::wrong_state, object_name("group", spec.ns, spec.name), "queue", "is not in flight"};
}

/// Whether an answer comes too late: the pod has no node, or has one by another attempt.
GANGSCHED_INLINE std::optional<error> refuse_late(const model::cluster_state& state, pod_id pod, bind_attempt attempt) {
  if (auto busy = refuse_busy(state)) return busy;
  if (!names_pod(state, pod)) return unknown_id("pod");
  const auto number = [](bind_attempt which) { return std::to_string(static_cast<std::uint64_t>(which)); };
  const bind_attempt now = state.pods.attempt[pod.row];
  if (now == attempt) return std::nullopt;
  const char* const by =
      state.pods.state[pod.row] == pod_state::assumed ? ", the one under way is " : ", the pod runs by ";
  std::string why = number(attempt) + " is over";
  if (now != bind_attempt::none) why += by + number(now);
  return error{errc::outdated, pod_text(state, pod.row), "attempt", std::move(why)};
}

}  // namespace detail

GANGSCHED_INLINE void cycle::iterator::pass_over() noexcept {
  const auto holds = [&](const decision& one) {
    if (!detail::names_pod(*of_, one.pod)) return false;
    if (one.kind == decision_kind::nominate) return detail::names_node(*of_, one.node);
    const bool reserved = one.kind == decision_kind::bind || one.kind == decision_kind::wait;
    return !reserved || of_->pods.attempt[one.pod.row] == one.attempt;
  };
  while (at_ != end_ && !holds(*at_)) ++at_;
}

GANGSCHED_INLINE scheduler::scheduler(cluster& on, kernel_table profile, const scheduler_options& options)
    : scheduler(on, detail::just(std::move(profile)), options) {}
GANGSCHED_INLINE scheduler::scheduler(cluster& on, std::vector<kernel_table> profiles, const scheduler_options& options)
    : core_(std::make_unique<engine::core>(on, detail::checked(std::move(profiles)), options)) {
  model::cluster_state& state = core_->state();
  if (state.listener == nullptr || state.in_hook) [[likely]]
    return;
  const std::span<const kernel_table> tables = core_->profiles();
  const void* const arguments[]{&tables, &options};
  state.listener->called({told::make_scheduler, core_.get(), arguments, nullptr, &state});
}
GANGSCHED_INLINE result<void> scheduler::check(std::span<const kernel_table> profiles) {
  if (auto wrong = engine::profile_set::difference(profiles)) return std::move(*wrong);
  return {};
}
GANGSCHED_INLINE scheduler::scheduler(scheduler&&) noexcept = default;
GANGSCHED_INLINE scheduler& scheduler::operator=(scheduler&&) noexcept = default;
GANGSCHED_INLINE scheduler::~scheduler() = default;

GANGSCHED_INLINE scheduler::scheduler(std::unique_ptr<engine::core> core) noexcept : core_(std::move(core)) {}

GANGSCHED_INLINE cycle scheduler::schedule_cycle(instant now) {
  GANGSCHED_TELL_OF(core_->state(), schedule_cycle, core_.get(), schedule_cycle(now), now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  detail::running_call call{*core_, now};
  const bool worked = core_->schedule(now);
  cycle done{worked, core_->decisions(), core_->state()};
  if (const engine::cycle_error& why = core_->failure(); why.reason() != nullptr) {
    done.set_error({errc::contract, why.object(), "plugins", why.reason()});
  }
  return call.done(std::move(done));
}

GANGSCHED_INLINE cycle scheduler::permit(instant now) {
  GANGSCHED_TELL_OF(core_->state(), permit, core_.get(), permit(now), now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  detail::running_call call{*core_, now};
  core_->permit(now);
  cycle done{!core_->decisions().empty(), core_->decisions(), core_->state()};
  if (const engine::cycle_error& why = core_->failure(); why.reason() != nullptr) {
    done.set_error({errc::contract, why.object(), "plugins", why.reason()});
  }
  return call.done(std::move(done));
}

GANGSCHED_INLINE result<void> scheduler::confirm(pod_id pod) {
  GANGSCHED_TELL_OF(core_->state(), confirm_last, core_.get(), confirm(pod), pod);
  const model::cluster_state& state = core_->state();
  if (auto refused = detail::refuse_pod(state, pod, pod_state::assumed, "is not assumed")) return std::move(*refused);
  if (core_->binding().waiting().has(pod.row)) {
    return error{errc::wrong_state, detail::pod_text(state, pod.row), "state", "still waits in the permit room"};
  }
  detail::running_call call{*core_};
  core_->confirm(pod.row);
  return call.done(result<void>{});
}

GANGSCHED_INLINE cycle scheduler::fail(pod_id pod, std::string_view reason) {
  GANGSCHED_TELL_OF(core_->state(), fail_last, core_.get(), fail(pod, reason), pod, reason);
  if (auto refused = detail::refuse_pod(core_->state(), pod, pod_state::assumed, "nothing is reserved for it")) {
    return std::move(*refused);
  }
  detail::running_call call{*core_};
  cycle said{true, core_->fail(pod.row, reason), core_->state()};
  return call.done(std::move(said));
}

GANGSCHED_INLINE result<void> scheduler::confirm(pod_id pod, bind_attempt attempt) {
  GANGSCHED_TELL_OF(core_->state(), confirm, core_.get(), confirm(pod, attempt), pod, attempt);
  if (auto late = detail::refuse_late(core_->state(), pod, attempt)) return std::move(*late);
  return confirm(pod);
}

GANGSCHED_INLINE cycle scheduler::fail(pod_id pod, bind_attempt attempt, std::string_view reason) {
  GANGSCHED_TELL_OF(core_->state(), fail, core_.get(), fail(pod, attempt, reason), pod, attempt, reason);
  if (auto late = detail::refuse_late(core_->state(), pod, attempt)) return std::move(*late);
  return fail(pod, reason);
}

GANGSCHED_INLINE result<void> scheduler::allow(pod_id pod) {
  GANGSCHED_TELL_OF(core_->state(), allow_all, core_.get(), allow(pod), pod);
  if (auto refused = detail::refuse_waiting(*core_, core_->state(), pod)) return std::move(*refused);
  core_->allow(pod.row, {});
  return {};
}

GANGSCHED_INLINE result<void> scheduler::allow(pod_id pod, std::string_view plugin) {
  GANGSCHED_TELL_OF(core_->state(), allow, core_.get(), allow(pod, plugin), pod, plugin);
  if (auto refused = detail::refuse_waiting(*core_, core_->state(), pod)) return std::move(*refused);
  if (!plugin.empty() && core_->allow(pod.row, plugin)) return {};
  return error{errc::wrong_state, detail::pod_text(core_->state(), pod.row), "plugin",
               (std::string{"\""} += plugin) += "\" does not hold it"};
}

GANGSCHED_INLINE result<std::vector<std::string>> scheduler::pending_plugins(pod_id pod) const {
  if (auto refused = detail::refuse_waiting(*core_, core_->state(), pod)) return std::move(*refused);
  return core_->binding().pending_plugins(pod.row);
}

GANGSCHED_INLINE result<void> scheduler::reject(pod_id pod, std::string_view reason) {
  GANGSCHED_TELL_OF(core_->state(), reject, core_.get(), reject(pod, reason), pod, reason);
  if (auto refused = detail::refuse_waiting(*core_, core_->state(), pod)) return std::move(*refused);
  core_->note(pod.row, reason);
  core_->reject(pod.row);
  return {};
}

GANGSCHED_INLINE std::optional<instant> scheduler::next_deadline() const { return std::as_const(*core_).next_time(); }

GANGSCHED_INLINE result<void> scheduler::restore(pod_id pod, const queue_position& position) {
  GANGSCHED_TELL_OF(core_->state(), restore, core_.get(), restore(pod, position), pod, position);
  if (auto refused = detail::refuse_pod(core_->state(), pod, pod_state::pending, "is not pending"))
    return std::move(*refused);
  detail::running_call call{*core_};
  core_->restore(pod.row, position);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::restore(const waiting_pod& as) {
  GANGSCHED_TELL_OF(core_->state(), restore_waiting, core_.get(), restore(as), as);
  const model::cluster_state& state = core_->state();
  if (auto refused = detail::refuse_pod(state, as.pod, pod_state::assumed, "is not assumed"))
    return std::move(*refused);
  if (core_->binding().waiting().has(as.pod.row))
    return error{errc::wrong_state, detail::pod_text(state, as.pod.row), "state", "waits already"};
  if (const std::optional<std::string> unknown = core_->binding().unknown_permit_plugin(as))
    return error{errc::malformed, detail::pod_text(state, as.pod.row), "holders",
                 "no permit plugin \"" + *unknown + "\""};
  detail::running_call call{*core_};
  core_->restore(as);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::catch_up(instant now) {
  GANGSCHED_TELL_OF(core_->state(), catch_up, core_.get(), catch_up(now), now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  detail::running_call call{*core_, now};
  core_->catch_up(now);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<std::optional<attempt>> scheduler::pop(instant now) {
  GANGSCHED_TELL_OF(core_->state(), pop, core_.get(), pop(now), now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  detail::running_call call{*core_, now};
  return call.done(result<std::optional<attempt>>{core_->pop(now)});
}

GANGSCHED_INLINE result<void> scheduler::add_unschedulable(pod_id pod, const rejected_by& why, instant now) {
  GANGSCHED_TELL_OF(core_->state(), add_unschedulable_pod, core_.get(), add_unschedulable(pod, why, now), pod, why,
                    now);
  const model::cluster_state& state = core_->state();
  if (auto refused = detail::refuse_timed(*core_, state, now)) return std::move(*refused);
  if (auto refused = detail::refuse_untried(*core_, pod)) return std::move(*refused);
  if (detail::names_pod(state, pod) && state.pods.state[pod.row] == pod_state::assumed) {
    return error{errc::wrong_state, detail::pod_text(state, pod.row), "state", "a node is reserved for it"};
  }
  detail::running_call call{*core_, now};
  core_->add_unschedulable(pod, why, now);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::add_unschedulable(group_id group, const rejected_by& why, instant now) {
  GANGSCHED_TELL_OF(core_->state(), add_unschedulable_group, core_.get(), add_unschedulable(group, why, now), group,
                    why, now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  if (auto refused = detail::refuse_untried(*core_, group)) return std::move(*refused);
  detail::running_call call{*core_, now};
  core_->add_unschedulable(group, why, now);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::done(pod_id pod) {
  GANGSCHED_TELL_OF(core_->state(), done_pod, core_.get(), done(pod), pod);
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  if (auto refused = detail::refuse_untried(*core_, pod)) return std::move(*refused);
  detail::running_call call{*core_};
  core_->done(pod);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::done(group_id group) {
  GANGSCHED_TELL_OF(core_->state(), done_group, core_.get(), done(group), group);
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  if (auto refused = detail::refuse_untried(*core_, group)) return std::move(*refused);
  detail::running_call call{*core_};
  core_->done(group);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::activate(std::span<const pod_id> pods, instant now) {
  GANGSCHED_TELL_OF(core_->state(), activate, core_.get(), activate(pods, now), pods, now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  for (const pod_id pod : pods) {
    if (!detail::names_pod(core_->state(), pod)) return detail::unknown_id("pod");
  }
  detail::running_call call{*core_, now};
  core_->activate(pods, now);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::flush_backoff(instant now) {
  GANGSCHED_TELL_OF(core_->state(), flush_backoff, core_.get(), flush_backoff(now), now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  detail::running_call call{*core_, now};
  core_->flush_backoff(now);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<void> scheduler::flush_unschedulable(instant now) {
  GANGSCHED_TELL_OF(core_->state(), flush_unschedulable, core_.get(), flush_unschedulable(now), now);
  if (auto refused = detail::refuse_timed(*core_, core_->state(), now)) return std::move(*refused);
  detail::running_call call{*core_, now};
  core_->flush_unschedulable(now);
  return call.done(result<void>{});
}

GANGSCHED_INLINE result<queue_standing> scheduler::standing(pod_id pod) const {
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  if (!detail::names_pod(core_->state(), pod)) return detail::unknown_id("pod");
  return core_->standing(pod.row);
}

GANGSCHED_INLINE std::vector<attempt> scheduler::in_flight() const { return core_->in_flight(); }

GANGSCHED_INLINE result<explanation> scheduler::explain(pod_id pod) {
  if (core_->state().in_hook)
    return error{errc::busy, "scheduler", "", "a hook may not call the scheduler that runs it"};
  if (!detail::names_pod(core_->state(), pod)) return detail::unknown_id("pod");
  return detail::ask<explanation>(*core_, [&] { return core_->explain(pod.row); });
}

GANGSCHED_INLINE result<std::vector<group_explanation>> scheduler::explain(group_id group) {
  if (core_->state().in_hook)
    return error{errc::busy, "scheduler", "", "a hook may not call the scheduler that runs it"};
  if (!detail::names_group(core_->state(), group)) return detail::unknown_id("group");
  return detail::ask<std::vector<group_explanation>>(*core_, [&] {
    std::vector<group_explanation> all;
    core_->explain_group(group.row, all);
    return all;
  });
}

GANGSCHED_INLINE result<why_rejected> scheduler::why(pod_id pod) const {
  const model::cluster_state& state = core_->state();
  if (!detail::names_pod(state, pod)) return detail::unknown_id("pod");
  if (state.pods.node[pod.row] == no_row) {
    if (auto made = std::as_const(*core_).why(pod)) return std::move(*made);
  }
  return error{errc::wrong_state, detail::pod_text(state, pod.row), "queue", "was not rejected"};
}

GANGSCHED_INLINE result<std::vector<queued_entity>> scheduler::queue() const {
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  return std::as_const(*core_).list_queue();
}

GANGSCHED_INLINE result<std::vector<waiting_pod>> scheduler::waiting() const {
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  return core_->binding().list_waiting();
}

GANGSCHED_INLINE pending_pods scheduler::pending() const { return std::as_const(*core_).pending(); }

GANGSCHED_INLINE queue_counts scheduler::counts() const { return std::as_const(*core_).counts(); }

GANGSCHED_INLINE result<void> scheduler::observe(observer* by) {
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  core_->observe(by);
  return {};
}

GANGSCHED_INLINE const engine_statistics& scheduler::statistics() const noexcept { return core_->statistics(); }

GANGSCHED_INLINE result<std::optional<move_plan>> scheduler::plan_moves(group_id group, const move_options& options) {
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  if (!detail::names_group(core_->state(), group)) return detail::unknown_id("group");
  return detail::ask<std::optional<move_plan>>(*core_, [&] { return core_->plan_moves(group.row, options); });
}

GANGSCHED_INLINE result<void> scheduler::forget_cached() {
  GANGSCHED_TELL_OF(core_->state(), forget_cached, core_.get(), forget_cached());
  if (auto refused = detail::refuse_busy(core_->state())) return std::move(*refused);
  core_->forget_cached();
  return {};
}

GANGSCHED_INLINE result<void> scheduler::verify() {
  if (core_->state().in_hook) return *detail::refuse_busy(core_->state());
  const auto compared = detail::ask<std::optional<std::string>>(*core_, [&] { return core_->difference(); });
  if (!compared) return compared.error();
  if (const auto& wrong = *compared) return error{errc::contract, "class index", "rows", *wrong};
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
