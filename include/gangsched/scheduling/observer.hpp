#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/status.hpp"
#include "gangsched/framework/decision.hpp"
#include "gangsched/scheduling/options.hpp"

/// What a scheduler reports to its observer: after each call of the host, what that call did, step by step.
namespace gangsched::inline GANGSCHED_ABI {

/// Calls of the host that are reported.
enum class host_call : std::uint8_t {
  schedule_cycle,
  permit,
  confirm,
  fail,
  restore,
  catch_up,
  pop,
  add_unschedulable,
  done,
  activate,
  flush,  ///< flush_backoff and flush_unschedulable
};
[[nodiscard]] constexpr std::string_view to_string(host_call what) noexcept {
  switch (what) {
    case host_call::schedule_cycle: return "schedule_cycle";
    case host_call::permit: return "permit";
    case host_call::confirm: return "confirm";
    case host_call::fail: return "fail";
    case host_call::restore: return "restore";
    case host_call::catch_up: return "catch_up";
    case host_call::pop: return "pop";
    case host_call::add_unschedulable: return "add_unschedulable";
    case host_call::done: return "done";
    case host_call::activate: return "activate";
    case host_call::flush: return "flush";
  }
  return "";
}

/// What a step of a call was about.
enum class step_kind : std::uint8_t {
  event,     ///< changes of the cluster were read, and the queue and waiting pods updated
  timer,     ///< backoffs ended, or pods stayed unschedulable too long
  waits,     ///< waiting pods (permit) were rejected or allowed
  attempt,   ///< an entity was popped and tried
  popped,    ///< an entity was popped for the host to try
  returned,  ///< the host returned what it had popped
  answer,    ///< the host reported the outcome of a bind
};

/// Outcome of an attempt, or of a bind.
enum class attempt_result : std::uint8_t {
  none,                   ///< nothing: the popped entity is gone, or needs no node any more
  placed,                 ///< a node was reserved: for a group, for its minimum
  unschedulable,          ///< rejected
  waiting_on_preemption,  ///< preemption is making room
  error,                  ///< a hook failed; of a bind: the host reported a failure
  bound,                  ///< the host confirmed it
};

/// A span of time by `observer::now_ns`; 0 and 0 if the observer does not measure.
struct measured_span {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] std::uint64_t length() const noexcept { return end > begin ? end - begin : 0; }
};

/// A step of a call; steps are in the order in which they were taken.
struct GANGSCHED_API observed_step {
  step_kind kind = step_kind::event;
  attempt_result result = attempt_result::none;  ///< of attempt, returned and answer
  bool from_backoff = false;                     ///< popped before its backoff ended, because nothing was active
  bool own = false;  ///< of an event: caused by a decision of this scheduler, not by the host or another scheduler
  std::string_view event;   ///< what moved entities between queues, by Kubernetes' name ("NodeAdd"); static storage
  measured_span took = {};  ///< of an attempt: its decision, which Kubernetes calls the scheduling algorithm
  /// How many entities (pods, and groups that are queued as one) entered each part of the queue in this step.
  std::uint32_t to_active = 0, to_backoff = 0, to_unschedulable = 0, to_gated = 0;
  pod_id pod = {};                      ///< the pod of the attempt or answer; of a group, a member
  group_id group = {};                  ///< set if a group was tried as one
  std::string_view profile = {};        ///< its `scheduler_name`; valid as long as the scheduler
  std::uint32_t attempts = 0;           ///< attempts with this entity, this one included
  instant entered = instant::min();     ///< when it entered the queue; if it was gated, the time of this attempt
  std::uint32_t preemptions = 0;        ///< calls of post_filter or group_preempt hooks
  std::uint32_t victims = 0;            ///< chosen by them
  std::span<const decision> decisions;  ///< that were made in this step
  std::string_view note = {};           ///< the host's message, of an answer that is an error

  /// Whether a decision of this step evicts @p who: a nominate of that pod then names the node of its replacement. O(decisions).
  [[nodiscard]] bool evicts(pod_id who) const noexcept;
};

/// One call of the host, reported when it ends. Valid until the observer returns.
struct observed_call {
  host_call what = host_call::schedule_cycle;
  instant now{};            ///< the time that the host passed last
  measured_span took = {};  ///< without the time spent in the observer
  std::span<const observed_step> steps = {};
  std::span<const decision> decisions = {};  ///< of the whole call, in order
  queue_counts counts = {};                  ///< at the end of the call
  /// Why the pod's last attempt was rejected (`why_rejected::text`); "" unless reasons are counted (`scheduler_options::count_reasons`).
  /// Allocates.
  [[nodiscard]] std::string why(pod_id pod) const { return why_text == nullptr ? std::string{} : why_text(of, pod); }

  // The engine's function behind `why`.
  std::string (*why_text)(const void* of, pod_id pod) = nullptr;
  const void* of = nullptr;
};

/// A hook that ran, of a profile made with `measure_hooks`.
struct observed_hook {
  std::string_view profile;  ///< `scheduler_name`
  std::string_view plugin;
  const void* key = nullptr;                        ///< identifies a plugin of a profile, as long as that profile lives
  std::string_view extension_point;                 ///< by Kubernetes' name ("ScoreExtensionNormalize"); static storage
  gangsched::code said = gangsched::code::success;  ///< success for hooks that return no status
  bool measured = false;                            ///< whether `took` was measured
  measured_span took = {};
  std::string_view event = {};  ///< of a requeue hook: the event, by Kubernetes' name, and its hint
  bool helps = false;
};

/// Watches a scheduler (`scheduler::observe`); it cannot change a decision. It is called on the thread that calls the scheduler, inside
/// that call, after its work is done. It may read the cluster, and call the scheduler's `why`, `counts`, `next_deadline` and `statistics`;
/// a call that would change something is refused (errc::busy). Its exceptions are caught and counted
/// (`engine_statistics::observer_errors`): the scheduler's call stands, and the observer is called again after the next one.
class GANGSCHED_API observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;

  /// The time in nanoseconds, from any starting point: the library has no clock of its own. Called where steps begin and end, and around
  /// hooks that are measured. 0, the default: nothing is measured.
  [[nodiscard]] virtual std::uint64_t now_ns() noexcept { return 0; }
  /// Called after each call of the host that did something, or could have. Not reported: questions (`explain`, `why`, …), calls that were
  /// refused, and calls that ran out of memory.
  virtual void called(const observed_call& what) { static_cast<void>(what); }
  /// Called when a hook ran, in the middle of a scheduler's call, which it must not disturb. Only for profiles made with `measure_hooks`.
  virtual void hook_ran(const observed_hook& what) noexcept { static_cast<void>(what); }
  /// Whether hooks are to be timed until the next call ends; called before each. kube-scheduler times one attempt in ten.
  [[nodiscard]] virtual bool times_hooks() noexcept { return true; }
};

/// Forwards to several observers, in order, and uses the clock of the first that has one. If one throws, the others are still called, and
/// the first exception is rethrown afterwards.
class GANGSCHED_API observer_list final : public observer {
 public:
  /// The observers must live longer than the list; null ones are left out.
  observer_list(std::initializer_list<observer*> all);
  [[nodiscard]] std::uint64_t now_ns() noexcept override;
  void called(const observed_call& what) override;
  void hook_ran(const observed_hook& what) noexcept override;
  /// True if one of the observers returns true.
  [[nodiscard]] bool times_hooks() noexcept override;

 private:
  std::vector<observer*> all_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/observer.cpp"
#endif
