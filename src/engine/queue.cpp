#include "gangsched/engine/queue.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gangsched/engine/entity_view.hpp"
#include "gangsched/model/time_limits.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

GANGSCHED_INLINE scheduler_options without_negative_times(scheduler_options options) noexcept {
  for (instant* const time :
       {&options.initial_backoff, &options.max_backoff, &options.backoff_window, &options.unschedulable_timeout}) {
    *time = std::max(*time, instant{0});
  }
  return options;
}

/// Whether a list is mostly void: it has an entry for each entity in it (@p standing), and some of entities that have moved on.
[[nodiscard]] constexpr bool mostly_void(std::size_t entries, std::size_t standing) noexcept {
  return entries > 64 + 2 * standing;
}

/// The end of the window of backoffs that the time is in.
GANGSCHED_INLINE instant window_of(const scheduler_options& options, instant when) noexcept {
  const std::int64_t window = options.backoff_window.count();
  if (window <= 0) return when;
  const std::int64_t beyond = when.count() % window;
  return later_by(when, instant{beyond < 0 ? -beyond - window : -beyond});
}

GANGSCHED_INLINE instant backoff_end(const scheduler_options& options, instant since, std::uint32_t count,
                                     std::size_t members) noexcept {
  // kube-scheduler, backoff_queue.go: min(initial · 2^(n−1), max). For its groups since 1.37: max · √members.
  if (count == 0 || options.max_backoff.count() == 0) return no_backoff;
  double most = static_cast<double>(options.max_backoff.count());
  if (members > 1 && options.wake == wake_rule::hints) most *= std::sqrt(static_cast<double>(members));
  const double doubled = static_cast<double>(options.initial_backoff.count()) *
                         std::ldexp(1.0, static_cast<int>(std::min(count, 60u)) - 1);
  constexpr double longest = 9.0e18;  // what an instant holds
  return window_of(options, later_by(since, instant{static_cast<std::int64_t>(std::min({doubled, most, longest}))}));
}

}  // namespace detail

GANGSCHED_INLINE queue::queue(const model::cluster_state& state, const plugin_entry& sort, const plugin_entry* order,
                              const scheduler_options& options, const entity_view* entities)
    : state_(&state),
      entities_(entities),
      options_(detail::without_negative_times(options)),
      active_(state, sort, order) {}

/// The first time in a call, or the first time at all.
GANGSCHED_INLINE queue_item& queue::touch(row_t row, bool group) {
  const entity e{row, group};
  std::vector<queue_item>& items = e.group ? groups_ : pods_;
  if (items.size() <= e.row) {
    const std::size_t room = e.group ? state_->groups.rows.room() : state_->pods.rows.room();
    items.resize(std::max({std::size_t{e.row} + 1, room, items.size() * 2}));
  }
  queue_item& found = items[e.row];
  keep(e, found);
  if (const std::uint32_t owner = generation_of(e); found.generation != owner) {
    forget(e, found);
    found.generation = owner;
  }
  return found;
}

GANGSCHED_INLINE void queue::recall() noexcept {
  for (; !before_.empty(); before_.pop_back()) {
    const auto& [item, row, group] = before_.back();
    queue_item& there = (group ? groups_ : pods_)[row];
    ++left_[static_cast<std::size_t>(there.where)];
    ++came_[static_cast<std::size_t>(item.where)];
    there = item;
  }
}

GANGSCHED_INLINE void queue::rebuild() {
  active_.clear();
  backoff_.clear(), timed_.clear();
  parked_ = {};
  late_.clear();
  const auto stand = [&](const std::vector<queue_item>& items, const slots& rows, bool group) {
    for (row_t row = 0, end = known_rows(group); row < end; ++row) {
      const queue_item& it = items[row];
      const entity e{row, group};
      if (it.where == place::none || it.generation != rows.generation(row)) continue;
      if (it.where == place::active)
        active_.add(describe(e, it), e, it.ticket);
      else if (it.where == place::backoff)
        arm(backoff_, e, it);
      else if (it.where == place::timed)
        arm(timed_, e, it);
      else if (it.where == place::unschedulable)
        parked_.entries.push_back({it.since.count(), it.arrival, e, it.ticket});
      if (state_->pods.have_limits) note_late_start(row, group, it);
    }
  };
  stand(pods_, state_->pods.rows, false);
  stand(groups_, state_->groups.rows, true);
  std::sort(parked_.entries.begin(), parked_.entries.end(),
            [](const queue_entry& a, const queue_entry& b) { return a.before(b); });
}

GANGSCHED_INLINE void queue::begin_time(instant now) {
  before_.reserve(before_.size() + known_rows(false) + known_rows(true));
  const auto enter = [&](std::vector<queue_item>& items, const slots& rows, bool group) {
    for (row_t row = 0, end = known_rows(group); row < end; ++row) {
      queue_item& its = items[row];
      if (its.entered != instant::min() || its.generation != rows.generation(row)) continue;
      keep({row, group}, its);
      if (its.since == instant::min()) its.since = now;
      its.entered = its.since;  // (as `restore` said it, if it did)
    }
  };
  enter(pods_, state_->pods.rows, false);
  enter(groups_, state_->groups.rows, true);
  rebuild();
}

/// All but the ticket, by which entries elsewhere are told apart.
GANGSCHED_INLINE void queue::forget(entity e, queue_item& it) {
  if (it.where != place::none) move(e, it, place::none);
  it = {.generation = it.generation, .ticket = it.ticket + 1, .seen = it.seen};
}

GANGSCHED_INLINE void queue::renew(entity e) { forget(e, item(e)); }

GANGSCHED_INLINE void queue::note_move(row_t group, place from, place to) {
  const auto waits = [&](place where) {  // as unschedulable_pods::waits
    return where == place::timed || where == place::unschedulable ||
           (where == place::backoff && options_.wake != wake_rule::hints);
  };
  if (!waits(from) || waits(to)) return;
  constexpr std::size_t few = 64;
  if (groups_left_.size() > few + 2 * groups_.size()) {  // not read for long
    std::sort(groups_left_.begin(), groups_left_.end());
    groups_left_.erase(std::unique(groups_left_.begin(), groups_left_.end()), groups_left_.end());
  }
  groups_left_.push_back(group);
}

/// The first time at which a hook refuses it because of its deadline; the last instant: never, or no hook would.
GANGSCHED_INLINE instant queue::too_late_from(entity e) const {
  const kernel_table& profile = e.group ? entities_->profile_of_group(e.row) : entities_->profile_of(e.row);
  bool told = false;
  for (const plugin_entry& one : profile.hooks(point::admission)) told = told || one.admits_by_start;
  if (!told) return instant::max();
  const model::time_limits its =
      e.group ? model::limits_of_group(*state_, e.row) : model::limits_of_pod(*state_, e.row);
  return later_by(its.latest_start, instant{1});
}

/// Notes when it will be too late for a waiting entity to start, unless it was so when it entered or failed last: then that was reported.
GANGSCHED_INLINE void queue::note_late_start(row_t row, bool group, const queue_item& it) {
  if (entities_ == nullptr || !state_->pods.have_limits) return;
  const entity e{row, group};
  const instant when = waits(e) ? too_late_from(e) : instant::max();
  if (when == instant::max())
    late_.erase(e);
  else if (when > it.since)
    late_.set(e, when);
  else
    late_.set_told(e);
}

/// What else hooks see of a group; and of a pod where some have deadlines, or run times are in the keys.
GANGSCHED_INLINE void queue::describe_more(entity e, queued& made) const {
  if (!e.group) {
    made.pod = {e.row, state_->pods.rows.generation(e.row)};
    made.start_by = model::limits_of_pod(*state_, e.row).start_by(made.entered);
    if (sort().reads_run_time()) made.expected_run_time = state_->pods.record[e.row]->details->expected_run_time;
    return;
  }
  if (options_.wake != wake_rule::hints) made.since = made.entered;  // it keeps its age, however often it failed
  made.group = {e.row, state_->groups.rows.generation(e.row)};
  made.start_by = model::limits_of_group(*state_, e.row).start_by(made.entered);
  if (sort().reads_run_time()) made.expected_run_time = model::run_time_of_group(*state_, e.row);
  state_->groups.each_below(e.row, [&](row_t group) {
    row_t pod = state_->groups.first[group];
    const auto waits = [&] { return state_->pods.state[pod] == pod_state::pending && !state_->pods.terminating[pod]; };
    while (pod != no_row && !waits()) pod = state_->pods.next_in_group[pod];
    if (pod != no_row) made.pod = {pod, state_->pods.rows.generation(pod)};
    return pod == no_row;
  });
}

GANGSCHED_INLINE void queue::activate(entity e) {
  queue_item& it = item(e);
  if (it.where == place::active) return;
  move(e, it, place::active);
  active_.add(describe(e, it), e, it.ticket);
}

GANGSCHED_INLINE void queue::gate(entity e) {
  queue_item& it = item(e);
  if (it.where == place::gated) return;
  move(e, it, place::gated);
  it.was_gated = true;
}

GANGSCHED_INLINE bool queue::backs_off(const queue_item& it, instant now) const noexcept {
  if (it.ready == no_backoff) return false;
  return options_.backoff_window.count() > 0 ? it.ready >= detail::window_of(options_, now) : it.ready > now;
}

GANGSCHED_INLINE void queue::park(entity e, instant now, std::size_t members) {
  queue_item& it = item(e);
  it.strict = false;
  ++it.failures;
  it.errors = 0;
  it.since = now;
  it.ready = detail::backoff_end(options_, now, it.failures, members);
  move(e, it, place::unschedulable);
  // Void entries go when they are first, but the first entity may wait long while others behind fail again and again.
  if (detail::mostly_void(parked_.entries.size(), counts().unschedulable)) {
    parked_.entries.erase(parked_.entries.begin(),
                          parked_.entries.begin() + static_cast<std::ptrdiff_t>(parked_.front));
    parked_.front = 0;
    std::erase_if(parked_.entries,
                  [&](const queue_entry& one) { return !current(one.who, one.ticket, place::unschedulable); });
  }
  parked_.entries.push_back({now.count(), it.arrival, e, it.ticket});
}

GANGSCHED_INLINE void queue::retry_later(entity e, instant now, std::size_t members, bool error, bool strict) {
  queue_item& it = item(e);
  it.strict = strict;
  if (error)
    ++it.errors;
  else
    ++it.failures, it.errors = 0;
  it.since = now;
  // Not again at the same time, or the host's loop would never end.
  it.ready = std::max(detail::backoff_end(options_, now, error ? it.errors : it.failures, members),
                      detail::window_of(options_, later_by(now, instant{1})));
  move(e, it, place::timed);
  arm(timed_, e, it);
}

GANGSCHED_INLINE void queue::wait_until(entity e, instant now, instant when) {
  queue_item& it = item(e);
  it.strict = true;
  it.since = now;
  it.ready = std::max(std::min(when, later_by(now, options_.unschedulable_timeout)),
                      detail::window_of(options_, later_by(now, instant{1})));
  move(e, it, place::timed);
  arm(timed_, e, it);
}

GANGSCHED_INLINE void queue::wake(entity e, instant now) {
  queue_item& it = item(e);
  if (it.where == place::unschedulable || (it.where == place::timed && !it.strict)) wait_out(e, it, now);
}

GANGSCHED_INLINE void queue::ungate(entity e, instant now) {
  queue_item& it = item(e);
  if (it.where == place::gated) wait_out(e, it, now);
}

GANGSCHED_INLINE void queue::wait_out(entity e, queue_item& it, instant now) {
  if (!backs_off(it, now)) {
    activate(e);
    return;
  }
  move(e, it, it.strict ? place::timed : place::backoff);
  arm(it.strict ? timed_ : backoff_, e, it);
}

GANGSCHED_INLINE void queue::end_backoff(entity e) {
  queue_item& it = item(e);
  it.ready = no_backoff;
  if (it.where == place::backoff) activate(e);
}

GANGSCHED_INLINE bool queue::end_wait(entity e) {
  if (!waits(e)) return false;
  activate(e);
  return true;
}

GANGSCHED_INLINE void queue::reorder(entity e, bool smaller) {
  queue_item& it = item(e);
  // A smaller group has as much time as before or more: `flush_unschedulable` finds out, but of one that has been told.
  if (!smaller || late_.is_told(e)) note_late_start(e.row, e.group, it);
  if (it.where != place::active && it.where != place::backoff) return;
  const place where = it.where;
  take_out(e);
  if (where == place::active) return activate(e);
  move(e, it, place::backoff);
  arm(backoff_, e, it);
}

GANGSCHED_INLINE void queue::fly(entity e) { move(e, item(e), place::in_flight); }

GANGSCHED_INLINE bool queue::later(const timer& a, const timer& b) const noexcept {
  return a.when != b.when ? a.when > b.when : active_.sort().before(b.what, a.what);
}

GANGSCHED_INLINE void queue::arm(std::vector<timer>& heap, entity e, const queue_item& it) {
  const auto order = [&](const timer& a, const timer& b) { return later(a, b); };
  if (detail::mostly_void(heap.size(), counts().backoff)) {  // as in `park`
    std::erase_if(heap, [&](const timer& one) { return !current(one.who, one.ticket, it.where); });
    std::make_heap(heap.begin(), heap.end(), order);
  }
  heap.push_back({later_by(it.ready, options_.backoff_window), describe(e, it), e, it.ticket});
  std::push_heap(heap.begin(), heap.end(), order);
}

GANGSCHED_INLINE void queue::drop_void(std::vector<timer>& heap, place where) {
  while (!heap.empty() && !current(heap.front().who, heap.front().ticket, where)) {
    std::pop_heap(heap.begin(), heap.end(), [&](const timer& a, const timer& b) { return later(a, b); });
    heap.pop_back();
  }
}

GANGSCHED_INLINE void queue::activate_due(std::vector<timer>& heap, place where, instant now) {
  for (drop_void(heap, where); !heap.empty() && heap.front().when <= now && heap.front().when != instant::max();
       drop_void(heap, where)) {
    const entity e = heap.front().who;
    activate(e);
  }
}

GANGSCHED_INLINE std::optional<queue::popped> queue::pop(instant now) {
  for (;;) {
    entity e = active_.pop([&](const queue_entry& one) { return current(one.who, one.ticket, place::active); },
                           [&](entity one) { return describe(one, *find(one)); }, now);
    const bool early = e.row == no_row;
    if (early) {
      drop_void(backoff_, place::backoff);
      if (backoff_.empty()) return std::nullopt;
      e = backoff_.front().who;
    }
    queue_item& it = (e.group ? groups_ : pods_)[e.row];  // of its present owner, as its entry is current
    keep(e, it);
    if (it.round != round_) it.round = round_, it.tries = 0;
    if (it.tries >= most_tries) {
      put_off(e, it, now);
      continue;
    }
    ++it.tries;
    ++it.attempts;
    move(e, it, place::in_flight);
    return popped{e, early, early ? nullptr : active_.broken()};
  }
}

GANGSCHED_INLINE void queue::put_off(entity e, queue_item& it, instant now) {
  it.strict = false;
  it.ready = std::max(it.ready, detail::window_of(options_, later_by(now, instant{1})));
  move(e, it, place::timed);
  arm(timed_, e, it);
}

GANGSCHED_INLINE void queue::flush_unschedulable(instant now) {
  while (!late_.empty() && late_.when() <= now) {
    const entity e = late_.who();
    const instant when = waits(e) ? too_late_from(e) : instant::max();
    if (when <= now)
      activate(e);
    else if (when == instant::max())
      late_.erase(e);
    else
      late_.set(e, when);  // the more urgent member has left the group
  }
  while (!parked_.empty()) {
    const queue_entry first = parked_.first();
    const bool waits = current(first.who, first.ticket, place::unschedulable);
    if (waits && now <= later_by(instant{first.order}, options_.unschedulable_timeout)) break;
    parked_.pop();
    if (waits) wait_out(first.who, item(first.who), now);
  }
}

GANGSCHED_INLINE bool queue::overdue(instant now) const noexcept {
  const auto any_late = [&](const std::vector<queue_item>& items, row_t rows, bool groups) {
    for (row_t row = 0; row < rows && row < items.size(); ++row) {
      const queue_item* it = find({row, groups});
      const bool waits = it != nullptr && (it->where == place::unschedulable || it->where == place::gated);
      if (waits && now > later_by(it->since, options_.unschedulable_timeout)) return true;
    }
    return false;
  };
  return any_late(pods_, state_->pods.rows.count(), false) || any_late(groups_, state_->groups.rows.count(), true);
}

GANGSCHED_INLINE void queue::drop_void_fronts() {
  drop_void(backoff_, place::backoff);
  drop_void(timed_, place::timed);
  while (!parked_.empty()) {
    const queue_entry& first = parked_.first();
    if (current(first.who, first.ticket, place::unschedulable)) break;
    parked_.pop();
  }
}

GANGSCHED_INLINE std::optional<instant> queue::next_time() const {
  std::optional<instant> next;
  const auto offer = [&](instant when) { next = next ? std::min(*next, when) : when; };
  const auto first_of = [&](const std::vector<timer>& heap, place where) {
    for (const timer& one : heap) {
      if (!current(one.who, one.ticket, where)) continue;
      offer(one.when);
      if (&one == heap.data()) return;  // none is before it
    }
  };
  first_of(backoff_, place::backoff);
  first_of(timed_, place::timed);
  for (std::size_t i = parked_.front; i < parked_.entries.size(); ++i) {
    const queue_entry& one = parked_.entries[i];
    if (!current(one.who, one.ticket, place::unschedulable)) continue;
    // Strictly more than the timeout, as in kube-scheduler.
    offer(later_by(later_by(instant{one.order}, options_.unschedulable_timeout), instant{1}));
    break;
  }
  if (!late_.empty()) offer(late_.when());
  if (next == instant::max()) return std::nullopt;  // never
  return next;
}

GANGSCHED_INLINE queue_counts queue::counts() const noexcept {
  const auto count = [&](place p) {
    return static_cast<std::size_t>(came_[static_cast<std::size_t>(p)] - left_[static_cast<std::size_t>(p)]);
  };
  return {count(place::active), count(place::backoff) + count(place::timed), count(place::unschedulable),
          count(place::gated), 0};
}

GANGSCHED_INLINE saved_places queue::save() const {
  saved_places made;
  const auto items = [&](const std::vector<queue_item>& all, bool group) {
    for (row_t row = 0; row < all.size(); ++row) {
      const queue_item& it = all[row];
      const bool untouched = it.where == place::none && it.ticket == 0 && it.generation == 0 && it.arrival == 0;
      if (untouched) continue;
      made.items.push_back({row, group, static_cast<std::uint8_t>(it.where), it.strict, it.was_gated, it.generation,
                            it.ticket, it.attempts, it.failures, it.errors, it.priority, it.since, it.entered, it.ready,
                            it.arrival, it.round, it.tries});
    }
  };
  items(pods_, false), items(groups_, true);
  made.came = came_;
  made.round = round_;
  made.groups_left = groups_left_;
  return made;
}

GANGSCHED_INLINE std::optional<error> queue::restore(const saved_places& from) {
  const row_t of_groups = state_->groups.rows.count();
  std::vector<queue_item> pods(state_->pods.rows.count()), groups(of_groups);
  arrivals left{};
  for (const saved_item& one : from.items) {
    std::vector<queue_item>& items = one.group ? groups : pods;
    if (one.row >= items.size() || one.where > static_cast<std::uint8_t>(place::in_flight))
      return model::damaged("the queue");
    const std::uint32_t owner = generation_of({one.row, one.group});
    const bool alive = one.group ? state_->groups.alive(one.row) : state_->pods.alive(one.row);
    const auto where = static_cast<place>(one.where);
    queue_item& it = items[one.row];
    if (one.generation > owner || (where != place::none && one.generation == owner && !alive) || it.ticket != 0 ||
        it.where != place::none)
      return model::damaged("the queue");
    it = {where,        one.strict, one.was_gated, one.generation, one.ticket, one.attempts, one.failures, one.errors,
          one.priority, one.tries,  one.since,     one.entered,    one.ready,  one.arrival,  one.round,    0};
    --left[one.where];
  }
  for (const row_t group : from.groups_left) {
    if (group >= of_groups) return model::damaged("groups that left the queue");
  }
  groups_left_ = from.groups_left;
  pods_ = std::move(pods), groups_ = std::move(groups);
  came_ = from.came;
  for (std::size_t i = 0; i < left.size(); ++i) left_[i] = left[i] + came_[i];
  // (`none` is not counted: entities that were never in the queue have left it without having come there.)
  left_[static_cast<std::size_t>(place::none)] = 0;
  round_ = from.round;
  rebuild();
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
