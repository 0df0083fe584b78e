#include "gangsched/src/c/scheduler.hpp"

#include <algorithm>

#include "gangsched/scheduling/measure_hooks.hpp"
#include "gangsched/src/c/specs.hpp"

using namespace gangsched;

static_assert(static_cast<int>(decision_kind::withdraw) == GANGSCHED_WITHDRAW);
static_assert(static_cast<int>(tie_rule::kube_heap) == GANGSCHED_TIES_KUBE_HEAP);
static_assert(static_cast<int>(wake_rule::hints) == GANGSCHED_WAKE_HINTS);
static_assert(static_cast<int>(queue_place::kept_back) == GANGSCHED_PLACE_KEPT_BACK);
static_assert(static_cast<int>(timer_rule::by_host) == GANGSCHED_TIMERS_BY_HOST);

gangsched_scheduler::gangsched_scheduler(gangsched_cluster& on, scheduler forked, const gangsched_scheduler& from)
    : model(&on.model),
      engine(std::move(forked)),
      decided_(from.decided_.begin() + static_cast<std::ptrdiff_t>(from.taken_), from.decided_.end()) {
  for (gangsched_decision& one : decided_)
    if (one.reason != nullptr) one.reason = reasons_.keep(one.reason);
  add(from.fresh_.decisions());
}

void gangsched_scheduler::settle() {
  const auto fresh = fresh_.decisions();
  if (fresh.empty()) return;
  if (taken_ == decided_.size()) decided_.clear(), taken_ = 0, reasons_.clear();
  add(fresh);
  fresh_ = {};
}

void gangsched_scheduler::add(std::span<const decision> fresh) {
  const std::size_t wanted = decided_.size() + fresh.size();  // the room doubles: the host may take none for long
  if (decided_.capacity() < wanted) decided_.reserve(std::max(wanted, 2 * decided_.size()));
  for (const decision& one : fresh) {
    decided_.push_back({static_cast<gangsched_decision_kind>(one.kind), one.rank, static_cast<int32_t>(one.code), 0,
                        c::handed(one.pod), c::handed(one.node), c::handed(one.group),
                        static_cast<gangsched_attempt>(one.attempt), one.pod_cookie, one.node_cookie, one.score,
                        one.annotation, one.reason == nullptr ? nullptr : reasons_.keep(one.reason)});
  }
}

gangsched_code gangsched_scheduler::keep(cycle made, gangsched_error* error) {
  fresh_ = std::move(made);
  const gangsched_code said = fresh_.error() == nullptr ? GANGSCHED_OK : c::refuse(error, *fresh_.error());
  settle();
  return said;
}

bool gangsched_scheduler::holds(const gangsched_decision& one) const noexcept {
  const pod_id pod = c::of(one.pod);
  if (!model->contains(pod)) return false;
  if (one.kind == GANGSCHED_NOMINATE) return model->contains(c::of(one.node));
  const bool reserved = one.kind == GANGSCHED_BIND || one.kind == GANGSCHED_WAIT;
  return !reserved || static_cast<gangsched_attempt>(model->attempt_of(pod)) == one.attempt;
}

void gangsched_scheduler::begin_taking() noexcept {
  if (over_) handed_.clear();
  over_ = false;
}

std::size_t gangsched_scheduler::take(gangsched_decision* into, std::size_t capacity) noexcept {
  std::size_t count = 0;
  for (; taken_ < decided_.size() && count < capacity; ++taken_) {
    if (!holds(decided_[taken_])) continue;
    gangsched_decision& one = into[count++] = decided_[taken_];
    if (one.reason != nullptr) one.reason = handed_.keep(one.reason);
  }
  return count;
}

bool gangsched_scheduler::has_decisions() const noexcept {
  return !fresh_.decisions().empty() ||
         std::any_of(decided_.begin() + static_cast<std::ptrdiff_t>(taken_), decided_.end(),
                     [&](const gangsched_decision& one) { return holds(one); });
}

const char* gangsched_scheduler::describe(const gangsched_decision& one) {
  const pod_id pod = c::of(one.pod);
  if (!model->contains(pod)) return "";
  const std::string_view ns = model->namespace_of(pod), node = model->name_of(c::of(one.node));
  std::string made = ns == "default" ? "" : std::string{ns} + "/";
  made.append(model->name_of(pod)).append(": ").append(gangsched_decision_kind_name(one.kind));
  const bool leaves = one.kind == GANGSCHED_EVICT || one.kind >= GANGSCHED_REVOKE;
  if (!node.empty()) made.append(leaves ? " from " : " to ").append(node);
  if (one.reason != nullptr) {
    made.append(", ").append(one.reason);
  } else if (one.kind == GANGSCHED_REJECT) {
    if (const auto why = engine.explain(pod); why && !why->summary.empty()) made.append(", ").append(why->summary);
  }
  described_ = std::move(made);
  return described_.c_str();
}

namespace gangsched::inline GANGSCHED_ABI::c {

result<std::vector<kernel_table>> profiles_of(const gangsched_configuration* from, std::int32_t otherwise) {
  std::vector<kernel_table> made;
  if (from != nullptr) {
    for (const auto& make : from->profiles) {
      auto some = make();
      if (!some) return std::move(some).error();
      for (kernel_table& one : *some) made.push_back(std::move(one));
    }
  }
  if (!made.empty()) return made;
  if (otherwise < GANGSCHED_PROFILE_DEFAULT || otherwise > GANGSCHED_PROFILE_EMPTY)
    return error{errc::out_of_range, "options", "profile", std::to_string(otherwise) + " is none of them"};
  made.push_back(base_profile(otherwise, "nvidia.com/gpu"));
  return made;
}

void measure(std::vector<kernel_table>& tables, watchers& by) {
  if (by.metrics() == nullptr && by.trace() == nullptr) return;
  for (kernel_table& one : tables) one = measure_hooks(std::move(one), *by.all());
}

result<void> watch(gangsched_scheduler& on) {
  observer* const all = on.watched->all();
  return all == nullptr ? result<void>{} : on.engine.observe(all);
}

namespace {

/// Calls work(scheduler), which says a code.
template <class Work>
gangsched_code with(gangsched_scheduler* on, gangsched_error* error, Work&& work) noexcept {
  if (on == nullptr) return missing(error, "scheduler");
  return guarded(error, [&] { return work(*on); });
}
/// Calls work(engine), which says whether it was refused.
template <class Work>
gangsched_code ask(gangsched_scheduler* on, gangsched_error* error, Work&& work) noexcept {
  return with(on, error, [&](gangsched_scheduler& it) { return answer(error, work(it.engine)); });
}

bind_attempt attempt(gangsched_attempt number) noexcept { return static_cast<bind_attempt>(number); }

gangsched_code confirm(gangsched_scheduler& on, pod_id pod, gangsched_attempt number, gangsched_error* error) {
  return answer(error, number == 0 ? on.engine.confirm(pod) : on.engine.confirm(pod, attempt(number)));
}
gangsched_code fail(gangsched_scheduler& on, pod_id pod, gangsched_attempt number, const char* reason,
                    gangsched_error* error) {
  on.settle();
  const std::string_view why = text(reason);
  return on.keep(number == 0 ? on.engine.fail(pod, why) : on.engine.fail(pod, attempt(number), why), error);
}

/// A time that is 0 where nothing is said, and below 0 where there is none.
void set_time(std::int64_t said, instant& into) noexcept {
  if (said != 0) into = instant{said < 0 ? 0 : said};
}

/// False: a number that is none of an enumeration.
std::optional<error> read_options(const gangsched_scheduler_options& from, scheduler_options& into) {
  const struct {
    const char* field;
    std::int32_t word, last;
  } rules[]{{"ties", from.ties, GANGSCHED_TIES_KUBE_HEAP},
            {"wake", from.wake, GANGSCHED_WAKE_HINTS},
            {"timers", from.timers, GANGSCHED_TIMERS_BY_HOST},
            {"backfill", from.backfill, GANGSCHED_BACKFILL_CONSERVATIVE}};
  for (const auto& [field, word, last] : rules) {
    if (word < 0 || word > last)
      return error{errc::out_of_range, "scheduler options", field, std::to_string(word) + " is none of them"};
  }
  into.seed = from.seed;
  into.ties = static_cast<tie_rule>(from.ties);
  into.wake = static_cast<wake_rule>(from.wake);
  into.timers = static_cast<timer_rule>(from.timers);
  into.backfill = static_cast<backfill_rule>(from.backfill);
  into.check_hooks = from.check_hooks;
  into.count_reasons = from.count_reasons;
  set_time(from.initial_backoff, into.initial_backoff);
  set_time(from.max_backoff, into.max_backoff);
  set_time(from.backoff_window, into.backoff_window);
  set_time(from.unschedulable_timeout, into.unschedulable_timeout);
  set_time(from.max_overtake, into.max_overtake);
  set_time(from.eviction_notice, into.eviction_notice);
  return std::nullopt;
}

/// The spec of an event, or what is wrong with it.
template <class Given>
auto spec_in(const gangsched_event& event) -> decltype(read_spec(std::declval<const Given&>())) {
  if (event.spec == nullptr) return error{errc::malformed, "event", "spec", "is null"};
  return read_spec(*static_cast<const Given*>(event.spec));
}
template <class Given, class Add>
result<void> add(gangsched_event& event, Add&& add) {
  const auto spec = spec_in<Given>(event);
  if (!spec) return spec.error();
  const auto id = add(*spec);
  if (!id) return id.error();
  event.id = number(*id);
  return {};
}
template <class Given, class Update>
result<void> update(const gangsched_event& event, Update&& update) {
  const auto spec = spec_in<Given>(event);
  if (!spec) return spec.error();
  return update(*spec);
}

gangsched_code tell(cluster& on, gangsched_scheduler* scheduler, gangsched_event& event, gangsched_error* error) {
  const auto pod = id_of<pod_id>(event.id);
  const auto node = id_of<node_id>(event.id);
  const auto group = id_of<group_id>(event.id);
  switch (event.kind) {
    case GANGSCHED_ADD_NODE:
      return answer(error, add<gangsched_node_spec>(event, [&](const node_spec& one) { return on.add_node(one); }));
    case GANGSCHED_UPDATE_NODE:
      return answer(
          error, update<gangsched_node_spec>(event, [&](const node_spec& one) { return on.update_node(node, one); }));
    case GANGSCHED_REMOVE_NODE: {
      const auto gone = on.remove_node(node);
      return gone ? GANGSCHED_OK : refuse(error, gone.error());
    }
    case GANGSCHED_ADD_POD:
      return answer(error, add<gangsched_pod_spec>(event, [&](const pod_spec& one) { return on.add_pod(one); }));
    case GANGSCHED_UPDATE_POD:
      return answer(error,
                    update<gangsched_pod_spec>(event, [&](const pod_spec& one) { return on.update_pod(pod, one); }));
    case GANGSCHED_REMOVE_POD: return answer(error, on.remove_pod(pod));
    case GANGSCHED_SET_TERMINATING: return answer(error, on.set_terminating(pod, event.value != 0));
    case GANGSCHED_ADD_GROUP:
      return answer(error, add<gangsched_group_spec>(event, [&](const group_spec& one) { return on.add_group(one); }));
    case GANGSCHED_UPDATE_GROUP:
      return answer(error, update<gangsched_group_spec>(
                               event, [&](const group_spec& one) { return on.update_group(group, one); }));
    case GANGSCHED_REMOVE_GROUP: return answer(error, on.remove_group(group));
    case GANGSCHED_SET_NODE_COLUMN: return answer(error, on.set_column(node, text(event.text), event.value));
    case GANGSCHED_CONFIRM:
      return scheduler == nullptr ? missing(error, "scheduler") : confirm(*scheduler, pod, event.attempt, error);
    case GANGSCHED_FAIL:
      return scheduler == nullptr ? missing(error, "scheduler")
                                  : fail(*scheduler, pod, event.attempt, event.text, error);
    default:
      return refuse(error, {errc::out_of_range, "event", "kind", std::to_string(event.kind) + " is none of them"});
  }
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

gangsched_code gangsched_scheduler_create(gangsched_cluster* on, const gangsched_configuration* configuration,
                                          const gangsched_scheduler_options* given, gangsched_scheduler** made,
                                          gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    const auto read = given == nullptr ? std::optional{gangsched_scheduler_options{}} : c::sized(given);
    if (!read) return c::wrong_size(error, "scheduler options");
    auto tables = c::profiles_of(configuration, read->profile);
    if (!tables) return c::refuse(error, tables.error());
    scheduler_options options;
    if (configuration != nullptr) {
      options.initial_backoff = configuration->initial_backoff.value_or(options.initial_backoff);
      options.max_backoff = configuration->max_backoff.value_or(options.max_backoff);
    }
    if (const auto wrong = c::read_options(*read, options)) return c::refuse(error, *wrong);
    if (const auto fine = scheduler::check(*tables); !fine) return c::refuse(error, fine.error());
    auto watching = c::watchers::make(on->model, *read);
    if (!watching) return c::refuse(error, watching.error());
    c::measure(*tables, **watching);
    auto whole = std::make_unique<gangsched_scheduler>(*on, *std::move(tables), options, *std::move(watching));
    if (const auto watched = c::watch(*whole); !watched) return c::refuse(error, watched.error());
    *made = whole.release();
    return c::ok;
  });
}
void gangsched_scheduler_destroy(gangsched_scheduler* on) noexcept { delete on; }

const char* gangsched_decision_kind_name(gangsched_decision_kind kind) noexcept {
  if (kind < GANGSCHED_BIND || kind > GANGSCHED_WITHDRAW) return "";
  return to_string(static_cast<decision_kind>(kind)).data();  // of a literal
}

gangsched_code gangsched_scheduler_schedule_cycle(gangsched_scheduler* on, int64_t now, bool* worked,
                                                  gangsched_error* error) noexcept {
  return c::with(on, error, [&](gangsched_scheduler& it) {
    it.settle();
    cycle made = it.engine.schedule_cycle(instant{now});
    if (worked != nullptr) *worked = static_cast<bool>(made);
    return it.keep(std::move(made), error);
  });
}
gangsched_code gangsched_scheduler_permit(gangsched_scheduler* on, int64_t now, gangsched_error* error) noexcept {
  return c::with(on, error, [&](gangsched_scheduler& it) {
    it.settle();
    return it.keep(it.engine.permit(instant{now}), error);
  });
}
gangsched_code gangsched_scheduler_take(gangsched_scheduler* on, gangsched_decision* into, size_t capacity,
                                        size_t* count, gangsched_error* error) noexcept {
  if (count == nullptr) return c::missing(error, "count");
  *count = 0;
  if (into == nullptr && capacity != 0) return c::missing(error, "into");
  return c::with(on, error, [&](gangsched_scheduler& it) {
    it.settle();
    it.begin_taking();
    *count = it.take(into, capacity);
    it.end_taking(*count < capacity);
    return c::ok;
  });
}
gangsched_code gangsched_scheduler_run(gangsched_scheduler* on, int64_t now, gangsched_decision* into, size_t capacity,
                                       size_t* count, gangsched_error* error) noexcept {
  if (count == nullptr) return c::missing(error, "count");
  *count = 0;
  if (into == nullptr) return c::missing(error, "into");
  return c::with(on, error, [&](gangsched_scheduler& it) {
    it.settle();
    it.begin_taking();
    *count = it.take(into, capacity);
    const auto more = [&](cycle made) {
      const gangsched_code said = it.keep(std::move(made), error);
      *count += it.take(into + *count, capacity - *count);
      it.end_taking(*count < capacity);
      return said;
    };
    while (*count < capacity) {
      cycle made = it.engine.schedule_cycle(instant{now});
      const bool worked{made};
      if (const gangsched_code said = more(std::move(made)); said != GANGSCHED_OK) return said;
      if (worked) continue;
      cycle verdicts = it.engine.permit(instant{now});
      const bool changed{verdicts};
      if (const gangsched_code said = more(std::move(verdicts)); said != GANGSCHED_OK || !changed) return said;
    }
    return c::ok;
  });
}

const char* gangsched_scheduler_describe(gangsched_scheduler* on, const gangsched_decision* one) noexcept {
  if (on == nullptr || one == nullptr) return "";
  return c::quietly("", [&] { return on->describe(*one); });
}

gangsched_code gangsched_scheduler_confirm(gangsched_scheduler* on, gangsched_pod_id pod, gangsched_attempt attempt,
                                           gangsched_error* error) noexcept {
  return c::with(on, error, [&](gangsched_scheduler& it) { return c::confirm(it, c::of(pod), attempt, error); });
}
gangsched_code gangsched_scheduler_fail(gangsched_scheduler* on, gangsched_pod_id pod, gangsched_attempt attempt,
                                        const char* reason, gangsched_error* error) noexcept {
  return c::with(on, error, [&](gangsched_scheduler& it) { return c::fail(it, c::of(pod), attempt, reason, error); });
}
gangsched_code gangsched_scheduler_allow(gangsched_scheduler* on, gangsched_pod_id pod, const char* plugin,
                                         gangsched_error* error) noexcept {
  return c::ask(on, error,
                [&](scheduler& it) { return plugin == nullptr ? it.allow(c::of(pod)) : it.allow(c::of(pod), plugin); });
}
gangsched_code gangsched_scheduler_reject(gangsched_scheduler* on, gangsched_pod_id pod, const char* reason,
                                          gangsched_error* error) noexcept {
  return c::ask(on, error, [&](scheduler& it) { return it.reject(c::of(pod), c::text(reason)); });
}

gangsched_code gangsched_tell(gangsched_cluster* on, gangsched_scheduler* told, gangsched_event* events, size_t count,
                              gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (events == nullptr && count != 0) return c::missing(error, "events");
  if (told != nullptr && told->model != &on->model)
    return c::guarded(error, [&] {
      return c::refuse(error, {errc::malformed, "scheduler", {}, "is on another cluster"});
    });
  gangsched_code first = GANGSCHED_OK;
  for (size_t i = 0; i < count; ++i) {
    gangsched_error* const into = first == GANGSCHED_OK ? error : nullptr;
    events[i].code = c::guarded(into, [&] { return c::tell(on->model, told, events[i], into); });
    if (first == GANGSCHED_OK) first = events[i].code;
  }
  return first;
}

int64_t gangsched_scheduler_next_deadline(const gangsched_scheduler* on) noexcept {
  if (on == nullptr) return GANGSCHED_NEVER;
  return c::quietly(GANGSCHED_NEVER, [&] {
    const auto at = on->engine.next_deadline();
    return at ? at->count() : GANGSCHED_NEVER;
  });
}
gangsched_code gangsched_scheduler_catch_up(gangsched_scheduler* on, int64_t now, gangsched_error* error) noexcept {
  return c::ask(on, error, [&](scheduler& it) { return it.catch_up(instant{now}); });
}
gangsched_code gangsched_scheduler_standing(const gangsched_scheduler* on, gangsched_pod_id pod,
                                            gangsched_queue_standing* standing, gangsched_error* error) noexcept {
  if (standing == nullptr) return c::missing(error, "standing");
  if (on == nullptr) return c::missing(error, "scheduler");
  return c::guarded(error, [&]() -> gangsched_code {
    const result<queue_standing> found = on->engine.standing(c::of(pod));
    if (!found) return c::refuse(error, found.error());
    *standing = {static_cast<std::int32_t>(found->place),
                 found->attempts,
                 found->failures,
                 found->errors,
                 found->since.count(),
                 found->backoff_until ? found->backoff_until->count() : GANGSCHED_NEVER};
    return GANGSCHED_OK;
  });
}
gangsched_code gangsched_scheduler_restore(gangsched_scheduler* on, gangsched_pod_id pod,
                                           const gangsched_queue_standing* as, gangsched_error* error) noexcept {
  if (as == nullptr) return c::missing(error, "as");
  const queue_position stood{as->failures, instant{as->since}, as->errors, as->attempts};
  return c::ask(on, error, [&](scheduler& it) { return it.restore(c::of(pod), stood); });
}
gangsched_code gangsched_scheduler_activate(gangsched_scheduler* on, const gangsched_pod_id* pods, size_t count,
                                            int64_t now, gangsched_error* error) noexcept {
  if (pods == nullptr && count != 0) return c::missing(error, "pods");
  return c::ask(on, error, [&](scheduler& it) {
    std::vector<pod_id> ids;
    for (size_t i = 0; i < count; ++i) ids.push_back(c::of(pods[i]));
    return it.activate(ids, instant{now});
  });
}
gangsched_code gangsched_scheduler_flush_backoff(gangsched_scheduler* on, int64_t now,
                                                 gangsched_error* error) noexcept {
  return c::ask(on, error, [&](scheduler& it) { return it.flush_backoff(instant{now}); });
}
gangsched_code gangsched_scheduler_flush_unschedulable(gangsched_scheduler* on, int64_t now,
                                                       gangsched_error* error) noexcept {
  return c::ask(on, error, [&](scheduler& it) { return it.flush_unschedulable(instant{now}); });
}
gangsched_code gangsched_scheduler_forget_cached(gangsched_scheduler* on, gangsched_error* error) noexcept {
  return c::ask(on, error, [&](scheduler& it) { return it.forget_cached(); });
}

gangsched_counts gangsched_scheduler_counts(const gangsched_scheduler* on) noexcept {
  if (on == nullptr) return {};
  return c::quietly(gangsched_counts{}, [&] {
    const queue_counts all = on->engine.counts();
    return gangsched_counts{all.active, all.backoff, all.unschedulable, all.gated, all.waiting, all.in_flight};
  });
}
uint64_t gangsched_scheduler_decisions(const gangsched_scheduler* on) noexcept {
  return on == nullptr ? 0 : on->engine.statistics().decisions;
}
gangsched_code gangsched_scheduler_statistics(const gangsched_scheduler* on, gangsched_statistics* into,
                                              gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (into == nullptr) return c::missing(error, "into");
  return c::guarded(error, [&] {
    const std::size_t size = into->struct_size;
    if (size < sizeof(std::size_t) + sizeof(std::uint64_t)) return c::wrong_size(error, "statistics");
    const engine_statistics& so_far = on->engine.statistics();
    const gangsched_statistics all{size,
                                   so_far.cycles,
                                   so_far.decisions,
                                   so_far.index_builds,
                                   so_far.rows_evaluated,
                                   so_far.opaque_evaluations,
                                   so_far.scans,
                                   so_far.search_steps,
                                   so_far.wake_ups,
                                   so_far.observer_errors,
                                   so_far.reservations,
                                   so_far.late_reservations};
    std::memcpy(into, &all, std::min(size, sizeof all));
    return c::ok;
  });
}
