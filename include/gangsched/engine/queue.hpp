#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/active_queue.hpp"
#include "gangsched/engine/late_starts.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/scheduling/options.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

class entity_view;

enum class place : std::uint8_t {
  none,           ///< not in the queue: unknown, or placed
  active,         ///< may be popped
  backoff,        ///< woken, but its backoff is not over; popped early when nothing is active
  timed,          ///< waits for its backoff only: after an error, and failed groups
  unschedulable,  ///< waits for a change that can help
  gated,          ///< rejected by a pre-enqueue hook
  in_flight,      ///< popped: being tried
};

inline constexpr instant no_backoff = instant::min();

/// The state of one entity in the queue.
struct queue_item {
  place where = place::none;
  bool strict = false;           ///< its backoff is not ended early
  bool was_gated = false;        ///< since it entered
  std::uint32_t generation = 0;  ///< of the row's owner: an item of an earlier owner is ignored
  std::uint32_t ticket = 0;      ///< changes with every move: entries with an older one are void
  std::uint32_t attempts = 0;    ///< times it was popped
  std::uint32_t failures = 0;    ///< unschedulable attempts
  std::uint32_t errors = 0;      ///< attempts in a row that ended in an error
  std::int32_t priority = 0;
  std::uint32_t tries = 0;     ///< attempts in `round`
  instant since{};             ///< when it entered, or failed last
  instant entered{};           ///< when it entered
  instant ready = no_backoff;  ///< when its backoff ends
  std::uint64_t arrival = 0;
  std::uint64_t round = 0;  ///< of its last attempt
  std::uint64_t seen = 0;   ///< the call that touched it last
};
static_assert(sizeof(queue_item) == 80);  // each call copies those that it touches

/// The most attempts of one entity in a round: more than decisions that undo one another ever need. So the host's loop ends.
inline constexpr std::uint32_t most_tries = 16;

/// Orders of active, backoff and unschedulable entities. Knows times and order, not the reasons of waiting. Entering and leaving costs what
/// it does in `sorted_entities`.
class GANGSCHED_API queue {
 public:
  /// @p order: null without a plugin that orders several queues; @p entities: those whose hooks reject by time; null: none.
  queue(const model::cluster_state& state, const plugin_entry& sort, const plugin_entry* order,
        const scheduler_options& options, const entity_view* entities = nullptr);

  /// Of the row's present owner: data of an earlier owner is dropped.
  [[nodiscard, gnu::always_inline]] queue_item& item(entity e) {
    std::vector<queue_item>& items = e.group ? groups_ : pods_;
    if (e.row < items.size()) {
      queue_item& found = items[e.row];
      if (found.seen == call_ && found.generation == generation_of(e)) return found;
    }
    return touch(e.row, e.group);
  }
  /// Null if there is no data of the row's present owner.
  [[nodiscard]] const queue_item* find(entity e) const noexcept {
    const std::vector<queue_item>& items = e.group ? groups_ : pods_;
    return e.row < items.size() && items[e.row].generation == generation_of(e) ? &items[e.row] : nullptr;
  }
  void prefetch(row_t pod) const noexcept {
    if (pod < pods_.size()) gangsched::detail::prefetch_object(&pods_[pod]);
  }

  /// Puts an entity where it is not yet; from anywhere else it is taken out first.
  void activate(entity e);
  void gate(entity e);
  /// The gate opened: to active, or to backoff if it was tried before and has to wait.
  void ungate(entity e, instant now);
  /// After a failed attempt: `park` waits for a change, `retry_later` for the backoff, which ends later than @p now; @p strict: no change
  /// shortens it. @p members: under wake_rule::hints the maximal backoff of a group is multiplied by √members.
  void park(entity e, instant now, std::size_t members = 1);
  void retry_later(entity e, instant now, std::size_t members, bool error, bool strict);
  /// Waits until @p when, whatever happens; at most for the `unschedulable_timeout`.
  void wait_until(entity e, instant now, instant when);
  /// A change can help a parked or timed entity: to active, or to backoff while that lasts.
  void wake(entity e, instant now);
  /// Ends the entity's backoff; an entity that waits for nothing else becomes active.
  void end_backoff(entity e);
  /// Activates the entity if it waits for a change, or for a backoff that may be cut short. Returns whether it did.
  bool end_wait(entity e);
  /// Calls visit(entity) for all that `end_wait` is for. O(rows).
  template <class Visit>
  void each_waiting(const Visit& visit) const {
    for (const bool group : {false, true}) {
      for (row_t row = 0, end = known_rows(group); row < end; ++row)
        if (const entity e{row, group}; waits(e)) visit(e);
    }
  }
  void take_out(entity e) {
    if (queue_item& it = item(e); it.where != place::none) move(e, it, place::none);
  }
  /// Takes it out if it is still in flight. Returns whether it did.
  [[gnu::always_inline]] bool land(entity e) {
    queue_item& it = item(e);
    if (it.where != place::in_flight) return false;
    move(e, it, place::none);
    return true;
  }
  /// Removes it, and drops its counts of attempts.
  void renew(entity e);
  /// Its key has changed. @p smaller: a group that a member has left, so that it is not more urgent than before.
  void reorder(entity e, bool smaller = false);
  /// Its queue may have changed, or its latest start or expected run time.
  void ask_order_again(entity e, bool smaller = false) {
    if (active_.has_queues() || sort().reads_times(state_->pods.have_limits)) reorder(e, smaller);
  }
  /// Whether a hook rejects the waiting entity because of its deadline. O(members).
  [[nodiscard]] bool is_too_late(entity e, instant now) const {
    return entities_ != nullptr && state_->pods.have_limits && too_late_from(e) <= now;
  }
  /// The entity is in flight again: the same attempt goes on.
  void fly(entity e);

  /// Pops the first active entity, else the first whose backoff may be cut short (`early`); nothing if there is neither. It is in
  /// flight then. An entity that has used up its tries in this round is not popped, but waits for its backoff and for another instant.
  struct popped {
    entity who;
    bool early;
    const hook_error* broken;  ///< the error that ends the attempt, or null; valid until the next is popped
  };
  std::optional<popped> pop(instant now);
  /// The host made a change, or time moved: all entities may be tried again.
  void begin_round() noexcept { ++round_; }
  /// The host passes the time for the first time: entities that were there before enter now. O(entities log entities).
  void begin_time(instant now);
  /// Moves those whose backoff is over to active.
  void flush_backoff(instant now) {
    if (!backoff_.empty()) activate_due(backoff_, place::backoff, now);
    if (!timed_.empty()) activate_due(timed_, place::timed, now);
  }
  /// Moves entities that have waited for a change for longer than `unschedulable_timeout`, as if one could help them; and to active those
  /// for which it has become too late to start, if a hook is to reject them for it.
  void flush_unschedulable(instant now);
  /// Whether an entity has waited so long, or for a gate. O(entities).
  [[nodiscard]] bool overdue(instant now) const noexcept;
  /// The earliest time at which a flush would do something. O(1) after `tidy`, else O(entities that wait).
  [[nodiscard]] std::optional<instant> next_time() const;
  /// Drops what is void at the front of the lists that next_time looks at.
  void tidy() {
    if (may_be_due()) drop_void_fronts();
  }
  /// Whether anything is in the lists that next_time looks at: else no flush does anything.
  [[nodiscard]] bool may_be_due() const noexcept {
    return !backoff_.empty() || !timed_.empty() || !parked_.empty() || !late_.empty();
  }
  [[nodiscard]] queue_counts counts() const noexcept;
  /// How many ever came into each place.
  using arrivals = std::array<std::uint64_t, 7>;
  [[nodiscard]] const arrivals& came() const noexcept { return came_; }

  /// Calls visit(row) for every group that stopped waiting for a change or its backoff since this was last called, some more than once.
  template <class Visit>
  void each_group_left(const Visit& visit) {
    for (const row_t group : groups_left_) visit(group);
    groups_left_.clear();
  }

  /// From here on every entity's state is saved before it is changed, until the next call of this. `recall` restores all of that, and
  /// leaves the orders to `rebuild`. O(1); O(touched since); O(entities log entities).
  void remember() noexcept {
    before_.clear();
    ++call_;
  }
  void recall() noexcept;
  void rebuild();
  /// Whether its backoff is not over.
  [[nodiscard]] bool backs_off(const queue_item& item, instant now) const noexcept;
  /// The key of an entity for the queue sort.
  [[nodiscard]] queued describe(entity e, const queue_item& item) const {
    queued made{.priority = item.priority, .since = item.since, .entered = item.entered, .arrival = item.arrival};
    if (e.group || sort().reads_times(state_->pods.have_limits))
      describe_more(e, made);
    else
      made.pod = {e.row, item.generation};
    return made;
  }
  [[nodiscard]] const sort_order& sort() const noexcept { return active_.sort(); }

  /// The entities in each place, as plain data; and sets those of a new one, and the orders. Error: malformed, and nothing is changed.
  /// O(entities); O(entities log entities).
  [[nodiscard]] saved_places save() const;
  [[nodiscard]] std::optional<error> restore(const saved_places& from);

 private:
  struct remembered {
    remembered(row_t r, bool g, const queue_item& it) noexcept : item(it), row(r), group(g) {}  // in its place
    queue_item item;
    row_t row;
    bool group;
  };
  struct timer {
    instant when;  ///< the first time at which its backoff does not hold
    queued what;   ///< of those with the same `when` the queue sort decides
    entity who;
    std::uint32_t ticket;
  };
  [[nodiscard]] std::uint32_t generation_of(entity e) const noexcept {
    return e.group ? state_->groups.rows.generation(e.row) : state_->pods.rows.generation(e.row);
  }
  /// Rows of pods, or of groups, of which something may be known: there is room for more than the tables have.
  [[nodiscard]] row_t known_rows(bool group) const noexcept {
    const std::size_t items = (group ? groups_ : pods_).size();
    return static_cast<row_t>(std::min(items, std::size_t{(group ? state_->groups.rows : state_->pods.rows).count()}));
  }
  [[nodiscard]] bool waits(entity e) const noexcept {
    const queue_item* const its = find(e);
    return its != nullptr && (its->where == place::unschedulable || its->where == place::backoff ||
                              (its->where == place::timed && !its->strict));
  }
  [[nodiscard]] bool later(const timer& a, const timer& b) const noexcept;
  [[nodiscard]] bool current(entity e, std::uint32_t ticket, place where) const noexcept {
    const std::vector<queue_item>& items = e.group ? groups_ : pods_;
    if (e.row >= items.size()) return false;
    const queue_item& its = items[e.row];
    return its.ticket == ticket && its.where == where && its.generation == generation_of(e);
  }
  // (Rows and kinds one by one where the caller is inlined: it need not put an entity together for what it seldom does.)
  [[nodiscard]] queue_item& touch(row_t row, bool group);
  /// Saves its state if that is the first time in this call.
  [[gnu::always_inline]] void keep(entity e, queue_item& item) {
    if (item.seen == call_) return;
    before_.emplace_back(e.row, e.group, item);
    item.seen = call_;
  }
  [[gnu::always_inline]] void move(entity e, queue_item& item, place to) {
    if (e.group) note_move(e.row, item.where, to);
    ++left_[static_cast<std::size_t>(item.where)];
    ++came_[static_cast<std::size_t>(to)];
    item.where = to;
    ++item.ticket;
    if (state_->pods.have_limits) note_late_start(e.row, e.group, item);
  }
  void note_move(row_t group, place from, place to);
  void describe_more(entity e, queued& made) const;
  void drop_void_fronts();
  void forget(entity e, queue_item& item);
  void wait_out(entity e, queue_item& item, instant now);
  void arm(std::vector<timer>& heap, entity e, const queue_item& item);
  [[nodiscard]] instant too_late_from(entity e) const;
  void note_late_start(row_t row, bool group, const queue_item& item);
  void activate_due(std::vector<timer>& heap, place where, instant now);
  void drop_void(std::vector<timer>& heap, place where);
  void put_off(entity e, queue_item& item, instant now);

  peer<const model::cluster_state> state_;
  peer<const entity_view> entities_;
  scheduler_options options_;
  std::vector<queue_item> pods_, groups_;
  std::vector<row_t> groups_left_;
  active_queue active_;
  std::vector<timer> backoff_, timed_;  // heaps
  queue_fifo parked_;                   // by `order` = since
  late_starts late_;                    // of those that wait and could be too late
  arrivals came_{}, left_{};            // by place; the difference is what is there
  std::vector<remembered> before_;      // as it was touched
  std::uint64_t call_ = 0;
  std::uint64_t round_ = 1;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/queue.cpp"
#endif
