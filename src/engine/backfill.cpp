#include "gangsched/engine/backfill.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/core/is_among.hpp"
#include "gangsched/engine/supposed_moves.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// The least count in [0, @p most] for which fits(count), which is taken to hold from some count on. Nothing if it does not hold for
/// @p most. O(log count) calls: the counts are first doubled, since few have to go as a rule. The last call that held was for the answer.
template <class Fits>
std::optional<std::size_t> least_that_fits(std::size_t most, const Fits& fits) {
  std::size_t below = 0, above = 0;  // all counts before `below` do not fit
  while (!fits(above)) {
    if (above == most) return std::nullopt;
    below = above + 1;
    above = std::min(most, std::max<std::size_t>(1, 2 * above));
  }
  while (below < above) {
    const std::size_t middle = below + (above - below) / 2;
    if (fits(middle))
      above = middle;
    else
      below = middle + 1;
  }
  return above;
}

/// While it lives, filters are asked as if that were the time.
class supposed_time {
 public:
  supposed_time(picker& of, instant when) noexcept : of_(&of) { of.suppose_time(when); }
  supposed_time(const supposed_time&) = delete;
  supposed_time& operator=(const supposed_time&) = delete;
  ~supposed_time() { of_->suppose_time(std::nullopt); }

 private:
  picker* of_;
};

}  // namespace detail

GANGSCHED_INLINE queued backfill::standing(entity e) const {
  queued made = places_->describe(e, *places_->find(e));
  made.since = made.entered;  // age, however often it failed
  return made;
}

GANGSCHED_INLINE bool backfill::stands_before(entity a, entity b) const {
  return places_->sort().before(standing(a), standing(b));
}

GANGSCHED_INLINE std::vector<row_t> backfill::pods_of(entity e) const {
  std::vector<row_t> pods;
  if (!e.group) {
    pods.push_back(e.row);
  } else {
    entities_->each_member(e.row, [&](row_t pod) {
      if (state_->pods.node[pod] == no_row) pods.push_back(pod);
    });
  }
  return pods;
}

/// Some more than once.
template <class Visit>
void backfill::each_holder(const Visit& visit) const {
  const model::node_table& nodes = state_->nodes;
  for (row_t node = nodes.first_wanted[0]; node != no_row; node = nodes.next_wanted[node]) {
    for (row_t pod = nodes.first_nominated[node]; pod != no_row; pod = state_->pods.next_nominated[pod]) {
      if (state_->pods.times.reserved_from(pod) == model::pod_times::never || !entities_->wants_node(pod)) continue;
      if (const entity e = entities_->entity_of(pod); places_->find(e) != nullptr && !planned_start(e)) visit(e);
    }
  }
}

/// The holders of which @p which is true, each once.
template <class Which>
std::vector<entity> backfill::holders(const Which& which) const {
  std::vector<entity> all;
  each_holder([&](entity e) {
    if (!is_among(e, all) && which(e)) all.push_back(e);
  });
  return all;
}

/// The holder of a reservation; the last in queue order if there are several.
GANGSCHED_INLINE std::optional<entity> backfill::holder() const {
  std::optional<entity> last;
  each_holder([&](entity e) {
    if (!last || (*last != e && stands_before(*last, e))) last = e;
  });
  return last;
}

/// A pod that leaves at its expected end changes nothing: its room was counted on. Nor does one that leaves later with one reservation; of
/// several the later ones were planned for when the first would have ended.
GANGSCHED_INLINE void backfill::read_log() {
  const change_log& log = state_->log;
  const model::pod_table& pods = state_->pods;
  const std::uint64_t from = std::exchange(offers_.seen, log.end());
  // (One for each row that the table has room for: reading what schedulers write at the end of a call then takes no memory.)
  ends_.reserve(pods.rows.room());
  for (row_t pod = static_cast<row_t>(ends_.size()); pod < pods.rows.room(); ++pod) {
    ends_.push_back(pods.alive(pod) ? pods.expected_end(pod) : *now_);
    if (pods.alive(pod)) offers_.next_end = std::min(offers_.next_end, ends_.back());
  }
  if (from < log.first()) offers_.stale = true;
  for (std::uint64_t at = std::max(from, log.first()); at < log.end(); ++at) {
    const change& one = log[at];
    if (one.node() == no_row || one.about_numbers() || one.facets == reads::name) continue;
    if (one.kind == change_kind::pod_bound) continue;
    if (!one.about_pod()) {
      offers_.stale = true;
      continue;
    }
    instant& its = ends_[one.row];
    const bool left = one.kind == change_kind::pod_removed || one.kind == change_kind::pod_released;
    if (left)
      offers_.left = true, offers_.stale = offers_.stale || its > *now_ || (its < *now_ && !one_at_a_time());
    else if (one.kind != change_kind::pod_assumed)
      offers_.stale = true;
    if (left || !pods.alive(one.row)) continue;
    its = pods.expected_end(one.row);
    offers_.next_end = std::min(offers_.next_end, its);
  }
}

/// Whether a pod runs longer than expected: what it uses may become free at any moment. O(pods) if one does.
GANGSCHED_INLINE bool backfill::anybody_late() {
  const instant before = std::exchange(offers_.looked, *now_);
  if (offers_.next_end > *now_) return false;
  offers_.next_end = instant::max();
  bool late = false;
  for (row_t pod = 0; pod < ends_.size(); ++pod) {
    if (!state_->pods.alive(pod) || state_->pods.node[pod] == no_row) continue;
    const instant end = ends_[pod];
    late = late || (end > before && end <= *now_);
    if (end > *now_) offers_.next_end = std::min(offers_.next_end, end);
  }
  return late;
}

/// It is overtaken once it has waited longer than `max_overtake`.
GANGSCHED_INLINE instant backfill::overtaken_at(entity e) const {
  return later_by(later_by(places_->find(e)->entered, options_->max_overtake), instant{1});
}

/// Waiting entities that have waited for too long since then. O(waiting), once at each time.
GANGSCHED_INLINE std::vector<entity> backfill::overtaken_since(instant before) const {
  std::vector<entity> since;
  if (options_->max_overtake == instant::max() || before == *now_) return since;
  places_->each_waiting([&](entity e) {
    if (const instant when = overtaken_at(e); when > before && when <= *now_) since.push_back(e);
  });
  return since;
}

GANGSCHED_INLINE void backfill::end_reservation(entity e) {
  for (const row_t pod : pods_of(e)) {
    if (state_->pods.times.reserved_from(pod) == model::pod_times::never) continue;
    state_->assigned.nominate(pod, no_row);
    offers_.moved = true;
  }
}

/// Whether the entity fits at that time on a cluster without those pods, and where.
GANGSCHED_INLINE bool backfill::fits(entity e, std::span<const row_t> without, instant at, found& out) {
  const picker::position stood = picks_->where();
  transaction attempt{*state_};
  for (const row_t pod : without) suppose_gone(*state_, pod);
  const detail::supposed_time then{*picks_, at};
  std::vector<assignment> places;
  if (e.group && !parts_->may_fit(parts_->room_for(e.row))) {
    // It need not be tried.
  } else if (!e.group) {
    const row_t node = picks_->pick(e.row).node;
    if (node != no_row)
      places.push_back({{e.row, state_->pods.rows.generation(e.row)}, {node, state_->nodes.rows.generation(node)}});
  } else {
    group_placement made = search_->place(parts_->of(e.row), false);
    if (made.verdict.ok()) places = made.members.assignments();
    made.members.discard();
  }
  attempt.roll_back();
  picks_->go_back(stood);
  if (places.empty()) return false;
  out = {at, std::move(places)};
  return true;
}

GANGSCHED_INLINE std::optional<backfill::found> backfill::when_others_end(entity e) {
  const model::pod_table& pods = state_->pods;
  std::vector<ending> ends;
  for (row_t pod = 0; pod < pods.rows.count(); ++pod) {
    if (!pods.alive(pod)) continue;
    if (pods.node[pod] == no_row) {  // it may end before others start, if it has a reservation
      const instant from = pods.times.reserved_from(pod), run = pods.record[pod]->details->expected_run_time;
      if (from < model::pod_times::unknown_yet && run != instant{0} && entities_->entity_of(pod) != e)
        ends.push_back({later_by(std::max(from, *now_), run), no_row});
      continue;
    }
    const instant when = pods.terminating[pod] ? *now_ : pods.expected_end(pod);
    if (when != model::pod_times::never) ends.push_back({std::max(when, *now_), pod});
  }
  std::sort(ends.begin(), ends.end(),
            [](const ending& a, const ending& b) { return a.when != b.when ? a.when < b.when : a.pod < b.pod; });
  std::vector<row_t> gone;
  std::vector<std::pair<instant, std::size_t>> until;  // by time: how many are gone by then
  for (const ending& one : ends) {
    if (one.pod != no_row) gone.push_back(one.pod);
    if (until.empty() || until.back().first != one.when) until.emplace_back(one.when, 0);
    until.back().second = gone.size();
  }
  if (until.empty()) return std::nullopt;
  found made;
  const auto tried = detail::least_that_fits(until.size() - 1, [&](std::size_t which) {
    return fits(e, std::span{gone}.first(until[which].second), until[which].first, made);
  });
  return tried ? std::optional{std::move(made)} : std::nullopt;
}

/// Nodes are emptied, those first of which the least share of what the entity asks for is used. (What a DaemonSet runs stays.)
GANGSCHED_INLINE std::optional<backfill::found> backfill::where_least_has_to_go(entity e) {
  const model::node_table& nodes = state_->nodes;
  const std::vector<row_t> pods = pods_of(e);
  if (pods.empty()) return std::nullopt;
  const pod_class& asks = state_->classes[state_->class_of(pods.front())];
  struct used_node {
    double share;
    row_t row;
  };
  std::vector<used_node> order;
  for (row_t node = 0; node < nodes.rows.count(); ++node) {
    if (!nodes.alive(node)) continue;
    double share = 0;
    for (const amount& one : asks.requests) {
      const std::int64_t all = nodes.allocatable.at(node, one.kind);
      if (all > 0)
        share = std::max(share, static_cast<double>(nodes.used.at(node, one.kind)) / static_cast<double>(all));
    }
    order.push_back({share, node});
  }
  std::sort(order.begin(), order.end(), [](const used_node& a, const used_node& b) {
    return a.share != b.share ? a.share < b.share : a.row < b.row;
  });
  std::vector<row_t> gone;
  std::vector<std::size_t> until{0};  // by how many nodes are empty
  for (const used_node& one : order) {
    for (row_t pod = nodes.first_pod[one.row]; pod != no_row; pod = state_->pods.next_on_node[pod])
      if (state_->pods.record[pod]->details->controller.kind != controller_kind::daemon_set) gone.push_back(pod);
    until.push_back(gone.size());
  }
  found made;
  const auto tried = detail::least_that_fits(
      until.size() - 1, [&](std::size_t empty) { return fits(e, std::span{gone}.first(until[empty]), *now_, made); });
  return tried ? std::optional{std::move(made)} : std::nullopt;
}

/// Decides nothing for pods whose node stays. @p before: from when on nodes were reserved before, if they were.
GANGSCHED_INLINE void backfill::keep(entity e, const found& what, std::optional<instant> before) {
  std::vector<row_t> rest = pods_of(e);
  statistics_->reservations += before ? 0 : 1;
  statistics_->late_reservations += before && *before < what.from ? 1 : 0;
  offers_.held = true;
  offers_.moved = offers_.moved || (before && *before != what.from);
  for (const assignment& one : what.places) {
    const bool moves = state_->pods.nominated[one.pod.row] != one.node.row;
    offers_.moved = offers_.moved || (before && moves);
    state_->assigned.reserve_node(one.pod.row, one.node.row, what.from);
    if (moves) decisions_->nominate(one.pod.row, one.node);
    rest.erase(std::remove(rest.begin(), rest.end(), one.pod.row), rest.end());
  }
  for (const row_t pod : rest)
    if (state_->pods.times.reserved_from(pod) != model::pod_times::never) state_->assigned.nominate(pod, no_row);
}

GANGSCHED_INLINE refusal backfill::reserve(entity e) {
  const std::optional<entity> last = one_at_a_time() ? holder() : std::nullopt;
  if (last && *last != e) {
    if (!stands_before(e, *last)) return {};
    end_reservation(*last);
  }
  std::optional<instant> before = reserved_from(e);
  const auto again =
      std::find_if(offers_.again.begin(), offers_.again.end(), [&](const auto& one) { return one.first == e; });
  if (again != offers_.again.end()) {
    before = again->second;
    offers_.again.erase(again);
  } else if (before && *before > *now_ && covers_minimum(e)) {
    return {};  // as it was promised, so it is
  }
  std::optional<found> what;
  if (options_->backfill != backfill_rule::none) what = when_others_end(e);
  const bool overtaken = options_->max_overtake != instant::max() && overtaken_at(e) <= *now_;
  if (!what && overtaken) what = where_least_has_to_go(e);
  refusal too_late;
  if (what) too_late = admission_->ask_for(e, what->from);
  if (what && !too_late)
    keep(e, *what, before);
  else
    end_reservation(e);
  return too_late;
}

/// Whether as many members have a reservation as its minimum lacks: a gang may have grown.
GANGSCHED_INLINE bool backfill::covers_minimum(entity e) const {
  if (!e.group || state_->groups.record[e.row]->spec.composite) return true;
  std::size_t reserved = state_->groups.assumed[e.row] + state_->groups.bound[e.row];
  for (const row_t pod : pods_of(e)) reserved += state_->pods.times.reserved_from(pod) < model::pod_times::unknown_yet;
  return reserved >= state_->groups.min_count(e.row);
}

/// What is said of each of its pods that is a reservation.
template <class Visit>
void backfill::each_spec(entity e, const Visit& visit) const {
  if (state_->reserved.empty()) return;
  const auto look = [&](row_t pod) {
    const reservation_terms* const its = state_->classes[state_->pods.cls[pod]].reserves.get();
    if (its != nullptr) visit(its->spec);
  };
  if (e.group)
    entities_->each_member(e.row, look);
  else
    look(e.row);
}

GANGSCHED_INLINE bool backfill::is_over(entity e) const {
  bool over = false;
  each_spec(e, [&](const reservation_spec& one) { over = over || (one.expires && *one.expires <= *now_); });
  return over;
}

GANGSCHED_INLINE std::optional<instant> backfill::planned_start(entity e) const {
  std::optional<instant> last;
  each_spec(e, [&](const reservation_spec& one) {
    if (one.starts && *one.starts > *now_) last = std::max(last.value_or(*one.starts), *one.starts);
  });
  return last;
}

GANGSCHED_INLINE void backfill::plan(entity e, instant then) {
  std::vector<row_t> gone;
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    if (!state_->pods.alive(pod) || state_->pods.node[pod] == no_row) continue;
    if (leaves_by(state_->pods, pod, then)) gone.push_back(pod);
  }
  found what;
  std::vector<row_t> rest = pods_of(e);
  if (fits(e, gone, then, what)) {
    for (const assignment& one : what.places) {
      const bool moves = state_->pods.nominated[one.pod.row] != one.node.row;
      state_->assigned.reserve_node(one.pod.row, one.node.row, then);
      if (moves) decisions_->nominate(one.pod.row, one.node);
      std::erase(rest, one.pod.row);
    }
  }
  for (const row_t pod : rest)
    if (state_->pods.times.reserved_from(pod) != model::pod_times::never) state_->assigned.nominate(pod, no_row);
}

/// Whether by amounts, of all nodes together, both could run at that time: without that they cannot.
GANGSCHED_INLINE bool backfill::enough_beside(entity e, entity holder, instant then) const {
  const model::pod_table& pods = state_->pods;
  const pod_class& asks = state_->classes[state_->class_of(pods_of(e).front())];
  for (const amount& one : asks.requests) {
    __extension__ __int128 left = 0;  // a sum over all nodes
    const auto asked_by = [&](row_t pod) { return state_->classes[state_->class_of(pod)].request(one.kind); };
    for (row_t node = 0; node < state_->nodes.rows.count(); ++node) {
      if (!state_->nodes.alive(node)) continue;
      __extension__ __int128 free = state_->nodes.allocatable.at(node, one.kind);
      free -= state_->nodes.used.at(node, one.kind);
      for (row_t pod = state_->nodes.first_pod[node]; pod != no_row; pod = pods.next_on_node[pod])
        if (leaves_by(pods, pod, then)) free += asked_by(pod);
      if (free > 0) left += free;  // what one node has too little of others cannot give
    }
    for (const entity who : {e, holder})
      for (const row_t pod : pods_of(who)) left -= asked_by(pod);
    if (left < 0) return false;
  }
  return true;
}

GANGSCHED_INLINE bool backfill::make_way(entity e) {
  if (options_->backfill != backfill_rule::easy) return false;
  const std::optional<entity> first = holder();
  if (!first || *first == e || !stands_before(*first, e) || pods_of(e).empty()) return false;
  const std::optional<instant> before = reserved_from(*first);
  if (!before || !enough_beside(e, *first, std::max(*before, *now_))) return false;
  std::optional<found> moved;
  {
    transaction attempt{*state_};
    for (const row_t pod : pods_of(*first)) state_->assigned.nominate(pod, no_row);
    found own;
    if (fits(e, {}, *now_, own)) {
      for (const assignment& one : own.places) {
        suppose_back(*state_, one.pod.row, one.node.row);
        if (state_->pods.record[one.pod.row]->details->expected_run_time != instant{0})
          state_->pods.times.set_started(one.pod.row, *now_);
      }
      moved = when_others_end(*first);
    }
    attempt.roll_back();
  }
  if (!moved || moved->from > std::max(*before, *now_)) return false;
  keep(*first, *moved, before);
  return true;
}

/// When nodes are reserved for the entity; the last time, if members of a group have several.
GANGSCHED_INLINE std::optional<instant> backfill::reserved_from(entity e) const {
  std::optional<instant> from;
  for (const row_t pod : pods_of(e)) {
    const instant its = state_->pods.times.reserved_from(pod);
    if (its < model::pod_times::unknown_yet) from = std::max(from.value_or(its), its);
  }
  return from;
}

/// If there are several reservations, all are made anew in queue order, so that no entity is delayed by one after it.
GANGSCHED_INLINE void backfill::look_again() {
  offers_.again.clear();
  for (const entity e : holders([](entity) { return true; })) {
    static_cast<void>(places_->end_wait(e));
    offers_.again.emplace_back(e, reserved_from(e).value_or(*now_));
    if (one_at_a_time()) continue;
    for (const row_t pod : pods_of(e)) {
      if (state_->pods.times.reserved_from(pod) != model::pod_times::never)
        state_->pods.times.set_reserved_from(pod, model::pod_times::unknown_yet);
    }
  }
}

/// Gates have closed for it, or its group is gone: it will not be tried, and nobody can tell when.
GANGSCHED_INLINE void backfill::end_hopeless() {
  const auto hopeless = [&](entity e) {
    const place where = places_->find(e)->where;
    return where == place::gated || where == place::none;
  };
  for (const entity e : holders(hopeless)) end_reservation(e);
}

/// What has become free is what they wait for, whether or not it wakes them.
GANGSCHED_INLINE void backfill::try_due_holders() {
  const auto due = [&](entity e) { return reserved_from(e).value_or(instant::max()) <= *now_; };
  for (const entity e : holders(due)) static_cast<void>(places_->end_wait(e));
}

GANGSCHED_INLINE void backfill::try_in_turn(std::vector<entity> all) {
  std::sort(all.begin(), all.end(), [&](entity a, entity b) { return stands_before(b, a); });
  offers_.next = std::move(all);
}

/// Nobody has a reservation: now it may be known when the first can start. (Of the others, too; but that would be all of them each time.)
GANGSCHED_INLINE void backfill::try_first_waiting() {
  std::optional<entity> first;
  places_->each_waiting([&](entity e) {
    if (!first || stands_before(e, *first)) first = e;
  });
  if (first) static_cast<void>(places_->end_wait(*first));
}

GANGSCHED_INLINE void backfill::offer() {
  read_log();
  const instant before = offers_.looked;
  end_hopeless();
  if (anybody_late()) offers_.stale = offers_.moved = true;
  std::optional<entity> last = holder();
  const bool stale = std::exchange(offers_.stale, false), left = std::exchange(offers_.left, false);
  if (stale)
    look_again();
  else if (left)
    try_due_holders();
  std::vector<entity> overtaken = overtaken_since(before);
  if (offers_.moved || (offers_.held && !last)) {
    offers_.held = last.has_value();
    offers_.moved = false;
    overtaken.clear();
    places_->each_waiting([&](entity e) { overtaken.push_back(e); });
    try_in_turn(std::move(overtaken));
  } else if (!overtaken.empty()) {
    if (one_at_a_time() && last) std::erase_if(overtaken, [&](entity e) { return !stands_before(e, *last); });
    if (offers_.next.empty()) try_in_turn(std::move(overtaken));
  } else if (stale && !last && options_->backfill != backfill_rule::none) {
    try_first_waiting();
  }
  while (!offers_.next.empty()) {
    const entity next = offers_.next.back();
    offers_.next.pop_back();
    if (places_->end_wait(next)) return;
  }
}

GANGSCHED_INLINE std::optional<instant> backfill::next_time() const {
  if (!on()) return std::nullopt;
  instant next = instant::max();
  bool waits = false;
  const bool bounded = options_->max_overtake != instant::max();
  if (bounded) {
    places_->each_waiting([&](entity e) {
      waits = true;
      if (const instant when = overtaken_at(e); when > *now_) next = std::min(next, when);
    });
  } else {
    const queue_counts all = places_->counts();
    waits = all.backoff + all.unschedulable != 0;
  }
  if (waits) next = std::min(next, offers_.next_end);
  return next == instant::max() ? std::nullopt : std::optional{next};
}

GANGSCHED_INLINE saved_backfill backfill::save() const {
  saved_backfill made{offers_.held, offers_.moved,  offers_.stale,    offers_.left, offers_.seen,
                      ends_,        offers_.looked, offers_.next_end, {},           {}};
  for (const auto& [who, from] : offers_.again) made.again.push_back({{who.row, who.group}, from});
  for (const entity who : offers_.next) made.next.emplace_back(who.row, who.group);
  return made;
}

GANGSCHED_INLINE std::optional<error> backfill::restore(const saved_backfill& from) {
  const auto there = [&](const std::pair<row_t, bool>& one) {
    return one.first < (one.second ? state_->groups.rows : state_->pods.rows).count();
  };
  offers made{from.held, from.moved, from.stale, from.left, from.seen, from.looked, from.next_end, {}, {}};
  for (const auto& [who, when] : from.again) {
    if (!there(who)) return model::damaged("whose reservations are looked for again");
    made.again.emplace_back(entity{who.first, who.second}, when);
  }
  for (const auto& who : from.next) {
    if (!there(who)) return model::damaged("who is to be offered a reservation");
    made.next.push_back({who.first, who.second});
  }
  if (from.seen > state_->log.end()) return model::damaged("where reservations stand in the log");
  ends_ = from.ends;
  offers_ = std::move(made);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
