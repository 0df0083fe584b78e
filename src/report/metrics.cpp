#include "gangsched/report/metrics.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/report/words.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "gangsched/src/report/kube_families.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

namespace {

/// "" of what kube-scheduler does not count.
std::string_view result_word(attempt_result result) {
  switch (result) {
    case attempt_result::placed:
    case attempt_result::bound: return "scheduled";
    case attempt_result::unschedulable: return "unschedulable";
    case attempt_result::waiting_on_preemption: return "waiting_on_preemption";
    case attempt_result::error: return "error";
    case attempt_result::none: break;
  }
  return "";
}

constexpr std::array<std::string_view, 16> attempt_numbers{"0", "1", "2",  "3",  "4",  "5",  "6",  "7",
                                                           "8", "9", "10", "11", "12", "13", "14", "15+"};

double seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }
double seconds(instant time) { return std::chrono::duration<double>(time).count(); }

/// Which status stands for an extension point when several plugins said something: an error, else a rejection, else a wait.
int weight_of(code said) {
  switch (said) {
    case code::error: return 4;
    case code::unresolvable: return 3;
    case code::unschedulable:
    case code::pending: return 2;
    case code::wait: return 1;
    case code::success:
    case code::skip: break;
  }
  return 0;
}

}  // namespace

namespace detail {

/// What is known of a pod between its attempt and what becomes of it.
struct pod_facts {
  std::uint32_t generation = 0;
  std::uint32_t attempts = 0;
  bool known = false, waits = false;
  std::uint64_t began = 0;        ///< its attempt, by the clock
  instant entered{};              ///< the queue
  instant waits_since{};          ///< in the permit room
  std::string_view profile = {};  ///< one of `metrics::state::profiles`
};

/// The plugins of one extension point in this call, together.
struct point_sum {
  std::string_view extension_point;
  std::string profile;
  code said = code::success;
  std::uint64_t length = 0;
};

}  // namespace detail

struct metrics::state {
  using pod_facts = detail::pod_facts;
  using point_sum = detail::point_sum;

  explicit state(const metrics_options& how) : options(how), times_hooks(how.time_hooks_every != 0) {}

  pod_facts& facts_of(pod_id pod) {
    if (facts.size() <= pod.row) facts.resize(std::max<std::size_t>(std::size_t{pod.row} + 1, 2 * facts.size()));
    pod_facts& found = facts[pod.row];
    if (!found.known || found.generation != pod.generation) found = {.generation = pod.generation};
    return found;
  }
  void begin_attempt(pod_facts& of, const observed_step& step) {
    if (!of.known) of.entered = step.entered;
    of.known = true;
    of.attempts = step.attempts;
    of.began = step.took.begin;
    const auto known = profiles.find(step.profile);
    of.profile = known != profiles.end() ? *known : *profiles.emplace(step.profile).first;
  }
  void count_attempt(std::string_view result, std::string_view profile, std::uint64_t length) {
    attempts.add({result, profile});
    if (measures()) attempt_duration.observe({result, profile}, seconds(length));
  }
  [[nodiscard]] bool measures() const { return measured; }
  void read_arrivals(const observed_step& step);
  void read_decisions(const observed_step& step, instant now);
  void read_attempt(const observed_step& step);
  void read_returned(const observed_step& step);
  void read_answer(const observed_step& step, instant now);
  void end_wait(pod_facts& of, std::string_view result, instant now) {
    if (!of.waits) return;
    of.waits = false;
    permit_wait.observe({result}, seconds(elapsed(of.waits_since, now)));
  }
  void end_points();

  metrics_options options;
  bool times_hooks;
  bool measured = false;  ///< in this call
  std::uint64_t cycles = 0;
  std::vector<pod_facts> facts;
  std::set<std::string, std::less<>> profiles;  ///< names: schedulers may come and go
  std::vector<point_sum> points;                ///< the first `points_used`: the others are kept for their memory
  std::size_t points_used = 0;

  using family = detail::family;
  family attempts{detail::schedule_attempts_total}, attempt_duration{detail::scheduling_attempt_duration},
      algorithm{detail::scheduling_algorithm_duration}, handling{detail::event_handling_duration},
      victims{detail::preemption_victims}, preemptions{detail::preemption_attempts_total},
      sli{detail::pod_scheduling_sli_duration}, pod_attempts{detail::pod_scheduling_attempts},
      point_duration{detail::framework_extension_point_duration}, plugin_duration{detail::plugin_execution_duration},
      hint_duration{detail::queueing_hint_execution_duration}, incoming{detail::queue_incoming_pods_total},
      permit_wait{detail::permit_wait_duration}, evaluations{detail::plugin_evaluation_total},
      group_attempts{detail::podgroup_schedule_attempts_total},
      group_duration{detail::podgroup_scheduling_attempt_duration},
      group_algorithm{detail::podgroup_scheduling_algorithm_duration};
};

void metrics::state::read_arrivals(const observed_step& step) {
  const auto came = [&](std::string_view queue, std::uint32_t number) {
    if (number != 0) incoming.add({queue, step.event}, number);
  };
  came("active", step.to_active);
  came("backoff", step.to_backoff);
  came("unschedulable", step.to_unschedulable + step.to_gated);
  if (step.from_backoff) incoming.add({"active", "PopFromBackoffQ"});
}

void metrics::state::read_attempt(const observed_step& step) {
  if (step.preemptions != 0) preemptions.add({}, step.preemptions);
  if (step.victims != 0) victims.observe({}, step.victims);
  const std::string_view result = result_word(step.result);
  if (result.empty()) return;
  if (step.group) group_attempts.add({result, step.profile});
  if (!measures()) return;
  (step.group ? group_algorithm : algorithm).observe({}, seconds(step.took.length()));
  if (step.group) group_duration.observe({result, step.profile}, seconds(step.took.length()));
}

void metrics::state::read_decisions(const observed_step& step, instant now) {
  const bool attempt = step.kind == step_kind::attempt;
  for (const decision& one : step.decisions) {
    if (one.kind == decision_kind::evict || one.kind >= decision_kind::notice ||
        (one.kind == decision_kind::nominate && step.evicts(one.pod)))
      continue;
    detail::pod_facts& of = facts_of(one.pod);
    if (attempt && one.kind != decision_kind::revoke) begin_attempt(of, step);
    switch (one.kind) {
      case decision_kind::bind: end_wait(of, "Success", now); break;
      case decision_kind::wait: of.waits = true, of.waits_since = now; break;
      case decision_kind::nominate: count_attempt("unschedulable", step.profile, step.took.length()); break;
      case decision_kind::reject:
        count_attempt(one.code == code::error ? "error" : "unschedulable", step.profile, step.took.length());
        break;
      case decision_kind::revoke:
        end_wait(of, "Unschedulable", now);
        if (of.known) count_attempt("unschedulable", of.profile, step.took.end - of.began);
        break;
      case decision_kind::evict:
      case decision_kind::notice:
      case decision_kind::withdraw: break;
    }
  }
}

void metrics::state::read_returned(const observed_step& step) {
  if (step.result == attempt_result::none || step.profile.empty()) return;
  const detail::pod_facts* of = step.pod ? &facts_of(step.pod) : nullptr;
  count_attempt(result_word(step.result), step.profile, of != nullptr && of->known ? step.took.end - of->began : 0);
}

void metrics::state::read_answer(const observed_step& step, instant now) {
  detail::pod_facts& of = facts_of(step.pod);
  const std::uint64_t length = of.known ? step.took.end - of.began : step.took.length();
  if (step.result == attempt_result::error) end_wait(of, "Error", now);
  count_attempt(result_word(step.result), step.profile, length);
  if (step.result != attempt_result::bound) return;
  if (of.known) {
    pod_attempts.observe({}, of.attempts);
    sli.observe({attempt_numbers[std::min<std::size_t>(of.attempts, attempt_numbers.size() - 1)]},
                seconds(elapsed(of.entered, now)));
  }
  of = {};
}

void metrics::state::end_points() {
  for (std::size_t i = 0; i < points_used; ++i) {
    const detail::point_sum& one = points[i];
    point_duration.observe({one.extension_point, word_of(one.said), one.profile}, seconds(one.length));
  }
  points_used = 0;
}

metrics::metrics(const metrics_options& options) : state_(std::make_unique<state>(options)) {}
metrics::~metrics() = default;

std::uint64_t metrics::now_ns() noexcept { return state_->options.clock == nullptr ? 0 : state_->options.clock(); }

void metrics::called(const observed_call& what) {
  state& to = *state_;
  to.measured = what.took.end != 0;
  for (const observed_step& step : what.steps) {
    to.read_arrivals(step);
    switch (step.kind) {
      case step_kind::event:
        if (to.measures()) to.handling.observe({step.event}, seconds(step.took.length()));
        break;
      case step_kind::attempt: to.read_attempt(step); break;
      case step_kind::answer: to.read_answer(step, what.now); break;
      case step_kind::returned: to.read_returned(step); break;
      case step_kind::popped:
        if (step.pod) to.begin_attempt(to.facts_of(step.pod), step);
        break;
      case step_kind::timer:
      case step_kind::waits: break;
    }
    to.read_decisions(step, what.now);
  }
  to.end_points();
  if (what.what == host_call::schedule_cycle) ++to.cycles;
  to.times_hooks = to.options.time_hooks_every != 0 && to.cycles % to.options.time_hooks_every == 0;
}

bool metrics::times_hooks() noexcept { return state_->times_hooks; }

void metrics::hook_ran(const observed_hook& what) noexcept {
  state& to = *state_;
  try {
    const std::string_view at = what.extension_point;
    if (at == "PreFilter" || at == "Filter" || at == "PreScore" || at == "Score")
      to.evaluations.add({what.plugin, at, what.profile});
    if (!what.measured || what.took.end == 0) return;
    const double took = seconds(what.took.length());
    if (at == "QueueingHint") {
      to.hint_duration.observe({what.plugin, what.event, what.helps ? "Queue" : "QueueSkip"}, took);
      return;
    }
    to.plugin_duration.observe({what.plugin, at, word_of(what.said)}, took);
    const auto end = to.points.begin() + static_cast<std::ptrdiff_t>(to.points_used);
    auto its = std::find_if(to.points.begin(), end, [&](const detail::point_sum& one) {
      return one.extension_point == at && one.profile == what.profile;
    });
    if (its == end) {
      if (to.points_used == to.points.size()) to.points.emplace_back();
      its = to.points.begin() + static_cast<std::ptrdiff_t>(to.points_used++);
      its->extension_point = at;
      its->profile = what.profile;
      its->said = code::success;
      its->length = 0;
    }
    its->length += what.took.length();
    if (weight_of(what.said) > weight_of(its->said)) its->said = what.said;
  } catch (const std::bad_alloc&) {
    // What there is no memory for is not counted.
  }
}

std::string metrics::text(const scheduler& by, const cluster& on) const {
  const state& from = *state_;
  const pending_pods waiting = by.pending();
  detail::family pending{detail::pending_pods_now}, in_flight{detail::inflight_events}, cached{detail::cache_size},
      unschedulable{detail::unschedulable_pods};
  pending.add({"active"}, static_cast<double>(waiting.active));
  pending.add({"backoff"}, static_cast<double>(waiting.backoff));
  pending.add({"unschedulable"}, static_cast<double>(waiting.unschedulable));
  pending.add({"gated"}, static_cast<double>(waiting.gated));
  in_flight.add({"PodPopped"}, static_cast<double>(by.counts().in_flight));
  for (const pending_pods::kept_event& one : waiting.in_flight_events)
    in_flight.add({one.event}, static_cast<double>(one.number));
  for (const pending_pods::rejected& one : waiting.by_plugin)
    unschedulable.add({one.plugin, one.profile}, static_cast<double>(one.pods));
  const std::vector<pod_id> pods = on.pods();
  const auto placed = std::count_if(pods.begin(), pods.end(), [&](pod_id pod) { return bool{on.node_of(pod)}; });
  cached.add({"nodes"}, static_cast<double>(on.nodes().size()));
  cached.add({"pods"}, static_cast<double>(placed));
  cached.add({"assumed_pods"}, static_cast<double>(on.assumed().size()));

  std::string out;
  const auto write = [&](const auto&... all) { (all.write(out), ...); };
  write(from.attempts, from.attempt_duration, from.algorithm, from.handling, from.victims, from.preemptions, pending,
        in_flight, from.sli, from.pod_attempts, from.point_duration, from.plugin_duration, from.hint_duration,
        from.incoming, from.permit_wait, cached, unschedulable, from.evaluations, from.group_attempts,
        from.group_duration, from.group_algorithm);
  return out;
}

}  // namespace gangsched::inline GANGSCHED_ABI::report
