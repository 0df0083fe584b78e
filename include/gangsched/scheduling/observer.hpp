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

/// What a scheduler tells its observer: after each of the host's calls, what that call did, step by step.
namespace gangsched::inline GANGSCHED_ABI {

/// Calls of the host's that are told.
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
  event,     ///< a change of the cluster was read: the queue, and who waits, heard of it
  timer,     ///< backoffs ended, or stays that were too long
  waits,     ///< the permit room: who may wait no longer, who may go
  attempt,   ///< an entity was popped and tried
  popped,    ///< an entity was popped for the host to try
  returned,  ///< the host gave back what it had popped
  answer,    ///< the host said what became of a bind
};

/// What came of an attempt, or of a bind.
enum class attempt_result : std::uint8_t {
  none,                   ///< nothing: who was popped is gone, or needs no node any more
  placed,                 ///< a node was reserved: for a group, for its minimum
  unschedulable,          ///< rejected
  waiting_on_preemption,  ///< room is being made
  error,                  ///< a hook failed; of a bind: the host did
  bound,                  ///< the host confirmed it
};

/// Span of time by `observer::now_ns`; 0 and 0 if that measures nothing.
struct measured_span {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] std::uint64_t length() const noexcept { return end > begin ? end - begin : 0; }
};

/// A step, in the order in which they were taken.
struct GANGSCHED_API observed_step {
  step_kind kind = step_kind::event;
  attempt_result result = attempt_result::none;  ///< of attempt, returned and answer
  bool from_backoff = false;                     ///< popped before its backoff was over, because nobody was active
  bool own = false;         ///< of an event: by what this scheduler decided, not by the host or another one
  std::string_view event;   ///< by what entities came into queues, in Kubernetes' words ("NodeAdd"); static storage
  measured_span took = {};  ///< of an attempt: the decision, which is what Kubernetes calls the algorithm
  /// Entities (pods, and groups that are queued as one) that came into the queue's parts in this step.
  std::uint32_t to_active = 0, to_backoff = 0, to_unschedulable = 0, to_gated = 0;
  pod_id pod = {};                      ///< who was tried or answered for; of a group, a member
  group_id group = {};                  ///< set if a group was tried as one
  std::string_view profile = {};        ///< its `scheduler_name`; valid as the scheduler is
  std::uint32_t attempts = 0;           ///< with it, this one included
  instant entered = instant::min();     ///< when it came into the queue; if it was gated, the time of this attempt
  std::uint32_t preemptions = 0;        ///< times that post_filter or group_preempt hooks were asked for room
  std::uint32_t victims = 0;            ///< they chose
  std::span<const decision> decisions;  ///< that were made in this step
  std::string_view note = {};           ///< what the host said: of an answer that is an error

  /// Whether a decision of this step evicts @p who: its nomination is then no attempt, but the end of what it was promised. O(decisions).
  [[nodiscard]] bool evicts(pod_id who) const noexcept;
};

/// A call of the host's, as it ended. All of it is valid until the observer returns.
struct observed_call {
  host_call what = host_call::schedule_cycle;
  instant now{};            ///< as the host said last
  measured_span took = {};  ///< without what the observer itself takes
  std::span<const observed_step> steps = {};
  std::span<const decision> decisions = {};  ///< of the whole call, in order
  queue_counts counts = {};                  ///< as it ended
  /// Why a pod was rejected, in the words of its last attempt (`why_rejected::text`); "" unless reasons are counted
  /// (`scheduler_options::count_reasons`). Allocates.
  [[nodiscard]] std::string why(pod_id pod) const { return why_text == nullptr ? std::string{} : why_text(of, pod); }

  // How the engine answers that.
  std::string (*why_text)(const void* of, pod_id pod) = nullptr;
  const void* of = nullptr;
};

/// A hook that ran, of a profile that is measured (`measure_hooks`).
struct observed_hook {
  std::string_view profile;  ///< `scheduler_name`
  std::string_view plugin;
  const void* key = nullptr;         ///< the same for the same plugin of the same profile, as long as that lives
  std::string_view extension_point;  ///< in Kubernetes' words ("ScoreExtensionNormalize"); static storage
  gangsched::code said = gangsched::code::success;  ///< success of hooks that say no status
  bool measured = false;                            ///< whether `took` says anything
  measured_span took = {};
  std::string_view event = {};  ///< of a requeue hook: what happened, in Kubernetes' words, and whether it helps
  bool helps = false;
};

/// Watches a scheduler (`scheduler::observe`) and changes no decision, whatever it does. It is called on the thread that calls the
/// scheduler, inside that call, when its work is done. Like a hook it may ask the cluster, and of the scheduler `why`, `counts`,
/// `next_deadline` and `statistics`; a call that would change something is refused (errc::busy). What it throws is swallowed and counted
/// (`engine_statistics::observer_errors`): the scheduler's call stands, and the observer is told of the next one.
class GANGSCHED_API observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;

  /// The time in nanoseconds, from any starting point: the library has no clock of its own. Asked where steps begin and end, and around
  /// hooks that are measured. 0, the default, measures nothing.
  [[nodiscard]] virtual std::uint64_t now_ns() noexcept { return 0; }
  /// A call of the host's did something, or could have. Not told: questions (`explain`, `why`, …), calls that were refused, and calls that
  /// ran out of memory.
  virtual void called(const observed_call& what) { static_cast<void>(what); }
  /// A hook ran. Called in the middle of a scheduler's call, which it must not disturb. Only of profiles made with `measure_hooks`.
  virtual void hook_ran(const observed_hook& what) noexcept { static_cast<void>(what); }
  /// Whether hooks are to be timed until the next call ends; asked before each. kube-scheduler times one attempt in ten.
  [[nodiscard]] virtual bool times_hooks() noexcept { return true; }
};

/// Tells several observers, in order, and uses the clock of the first that has one. If one throws, the others are told all the same, and
/// the first exception is thrown on afterwards.
class GANGSCHED_API observer_list final : public observer {
 public:
  /// The observers must live longer than the list; null ones are left out.
  observer_list(std::initializer_list<observer*> all);
  [[nodiscard]] std::uint64_t now_ns() noexcept override;
  void called(const observed_call& what) override;
  void hook_ran(const observed_hook& what) noexcept override;
  /// If one of them wants it.
  [[nodiscard]] bool times_hooks() noexcept override;

 private:
  std::vector<observer*> all_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/observer.cpp"
#endif
