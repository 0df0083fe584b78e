#include "gangsched/queues/yunikorn/partition.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "gangsched/core/make_room.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

namespace detail {

[[nodiscard]] inline bool is_negative(const resources& of) {
  return !resources::all_of(of.types(), [&](resource_type type) { return of[type] >= 0; });
}
[[nodiscard]] inline error not_there(const char* kind, std::uint32_t which) {
  return {errc::unknown, kind + (" " + std::to_string(which)), "", "there is none"};
}
[[nodiscard]] inline std::vector<std::vector<user_limit>> limits_of(const std::vector<queue_settings>& settings) {
  std::vector<std::vector<user_limit>> made;
  for (const queue_settings& one : settings) made.push_back(one.limits);
  return made;
}
/// Takes a place that is free, or a new one.
template <class T>
[[nodiscard]] std::uint32_t place_for(T made, std::vector<T>& list, std::vector<std::uint32_t>& unused) {
  if (unused.empty()) {
    if (unused.capacity() <= list.size()) unused.reserve(2 * list.size() + 8);  // so that it can always be given back
    list.push_back(std::move(made));
    return static_cast<std::uint32_t>(list.size() - 1);
  }
  const std::uint32_t at = unused.back();
  list[at] = std::move(made);
  unused.pop_back();
  return at;
}

}  // namespace detail

GANGSCHED_INLINE node_host::~node_host() = default;
GANGSCHED_INLINE bool node_host::reserve(ask_index) { return false; }

GANGSCHED_INLINE partition::partition(queue_tree tree, std::vector<queue_settings> settings)
    : tree_{std::move(tree)},
      settings_{std::move(settings)},
      usage_(tree_.size()),
      fair_max_(tree_.size()),
      turns_(tree_.size()),
      members_(tree_.size()),
      limits_{tree_, detail::limits_of(settings_)} {
  for (const queue_index queue : tree_.top_down()) {
    if (tree_.parent(queue) == no_queue) continue;
    const queue_settings& above = settings_[tree_.parent(queue)];
    queue_settings& own = settings_[queue];
    own.priority_first = own.priority_first && above.priority_first;
    if (above.preemption == preemption_policy::disabled && own.preemption == preemption_policy::allow)
      own.preemption = preemption_policy::disabled;
  }
  settle_fair_max();
}

GANGSCHED_INLINE void partition::settle_fair_max() {
  for (const queue_index queue : tree_.top_down()) {
    const queue_index parent = tree_.parent(queue);
    if (parent == no_queue)
      fair_max_[queue] = settings_[queue].max;
    else
      fair_max_[queue] =
          fair_max_[parent].empty() ? fair_max_[parent] : overlay(fair_max_[parent], settings_[queue].max);
    turns_[queue].share = share_of(queue);
  }
}

GANGSCHED_INLINE void partition::refresh_turns(queue_index leaf) {
  for (queue_index queue = leaf; queue != no_queue; queue = tree_.parent(queue)) {
    turn& one = turns_[queue];
    const resources& pending = usage_[queue].pending;
    one.share = share_of(queue);
    one.priority = priority(queue);
    one.waits = !is_zero(pending);
    one.pending = 0;
    resources::for_each(pending.types(), [&](resource_type type) {
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
      const std::int64_t more = std::max<std::int64_t>(0, pending[type]);
      one.pending = one.pending > most - more ? most : one.pending + more;
    });
  }
}

GANGSCHED_INLINE result<partition> partition::make(queue_tree tree, std::vector<queue_settings> settings) {
  if (settings.size() != tree.size())
    return error{errc::malformed, "partition", "settings", "there has to be one for each queue"};
  for (queue_index queue = 0; queue < tree.size(); ++queue) {
    const auto wrong = [&](const char* field) {
      return error{errc::out_of_range, "queue " + tree.name(queue), field, "an amount is below 0"};
    };
    if (detail::is_negative(settings[queue].guaranteed)) return wrong("guaranteed");
    if (detail::is_negative(settings[queue].max)) return wrong("max");
    for (const user_limit& limit : settings[queue].limits)
      if (detail::is_negative(limit.max)) return wrong("limits");
  }
  return partition{std::move(tree), std::move(settings)};
}

GANGSCHED_INLINE bool partition::waits(ask_index which) const noexcept {
  return which < asks_.size() && asks_[which].spec.application != none && asks_[which].node == none;
}
GANGSCHED_INLINE bool partition::runs(ask_index which) const noexcept {
  return which < asks_.size() && asks_[which].spec.application != none && asks_[which].node != none;
}

GANGSCHED_INLINE result<void> partition::set_max(queue_index queue, const resources& max) {
  if (queue >= tree_.size()) return detail::not_there("queue", queue);
  if (detail::is_negative(max))
    return error{errc::out_of_range, "queue " + tree_.name(queue), "max", "an amount is below 0"};
  settings_[queue].max = max;
  settle_fair_max();
  return {};
}

GANGSCHED_INLINE result<application_index> partition::add_application(application_spec spec) {
  if (spec.queue >= tree_.size()) return detail::not_there("queue", spec.queue);
  if (!tree_.is_leaf(spec.queue))
    return error{errc::wrong_state, "queue " + tree_.name(spec.queue), "", "applications are in leaves"};
  const queue_index leaf = spec.queue;
  gangsched::detail::make_room(members_[leaf]);
  struct guard {
    ~guard() {
      if (!is_done) on->free_applications_.push_back(which);
    }
    partition* on;
    application_index which;
    bool is_done = false;
  } undo{this, detail::place_for(application{}, applications_, free_applications_)};
  application& made = applications_[undo.which];
  made.owner = limits_.owner(tree_, leaf, spec.user, spec.groups);
  undo.is_done = true;
  made.spec = std::move(spec);
  members_[leaf].push_back(undo.which);
  return undo.which;
}

GANGSCHED_INLINE result<void> partition::remove_application(application_index which) {
  if (!has(which)) return detail::not_there("application", which);
  application& gone = applications_[which];
  if (!gone.pending.empty() || !gone.allocations.empty())
    return error{errc::wrong_state, "application " + std::to_string(which), "", "it has asks or allocations"};
  std::erase(members_[gone.spec.queue], which);
  limits_.leave(tree_, gone.spec.queue, gone.owner, gone.spec.user);
  gone = {};
  free_applications_.push_back(which);
  return {};
}

GANGSCHED_INLINE result<ask_index> partition::add_ask(const ask_spec& spec) {
  if (!has(spec.application)) return detail::not_there("application", spec.application);
  if (detail::is_negative(spec.request) || is_zero(spec.request))
    return error{errc::out_of_range, "application " + std::to_string(spec.application), "request",
                 "has to be something, and nothing below 0"};
  application& of = applications_[spec.application];
  const std::size_t asks = of.pending.size() + of.allocations.size() + 1;  // all of them may wait, or be allocated
  if (of.pending.capacity() < asks) of.pending.reserve(2 * asks);
  if (of.allocations.capacity() < asks) of.allocations.reserve(2 * asks);
  ask made{spec};
  made.spec.request = {};
  resources::for_each(spec.request.types(), [&](resource_type type) {
    if (spec.request[type] != 0) made.spec.request.set(type, spec.request[type]);
  });
  const ask_index which = detail::place_for(std::move(made), asks_, free_asks_);
  if (of.state == application_state::fresh) set_state(of, application_state::accepted);
  if (of.state == application_state::completing) set_state(of, application_state::running);
  add_pending(which);
  refresh_turns(of.spec.queue);
  return which;
}

GANGSCHED_INLINE result<void> partition::remove_ask(ask_index which) {
  if (!waits(which)) return detail::not_there("waiting ask", which);
  application& of = applications_[asks_[which].spec.application];
  drop_pending(which);
  refresh_turns(of.spec.queue);
  forget(which);
  settle(of);
  return {};
}

GANGSCHED_INLINE result<void> partition::allocate(ask_index which, node_number node) {
  if (!waits(which)) return detail::not_there("waiting ask", which);
  if (node == none) return error{errc::out_of_range, "ask " + std::to_string(which), "node", "is none"};
  drop_pending(which);
  ask& placed = asks_[which];
  application& of = applications_[placed.spec.application];
  placed.node = node;
  of.allocations.push_back(which);
  of.allocated += placed.spec.request;
  for (queue_index up = of.spec.queue; up != no_queue; up = tree_.parent(up))
    usage_[up].allocated += placed.spec.request;
  refresh_turns(of.spec.queue);
  limits_.charge(tree_, of.spec.queue, of.owner, placed.spec.request);
  if (!of.counted) limits_.add_application(tree_, of.spec.queue, of.owner);
  of.counted = true;
  set_state(of, application_state::running);
  return {};
}

/// Counts what is allocated to the ask no more.
GANGSCHED_INLINE void partition::uncount(ask_index which) {
  const ask& gone = asks_[which];
  application& of = applications_[gone.spec.application];
  std::erase(of.allocations, which);
  of.allocated -= gone.spec.request;
  for (queue_index up = of.spec.queue; up != no_queue; up = tree_.parent(up)) {
    usage_[up].allocated -= gone.spec.request;
    for (std::uint32_t times = 0; times < gone.preempted; ++times) usage_[up].preempting -= gone.spec.request;
  }
  refresh_turns(of.spec.queue);
  limits_.discharge(tree_, of.spec.queue, of.owner, gone.spec.request);
}

GANGSCHED_INLINE result<void> partition::release(ask_index which) {
  if (!runs(which)) return detail::not_there("allocation", which);
  application& of = applications_[asks_[which].spec.application];
  uncount(which);
  forget(which);
  settle(of);
  return {};
}

GANGSCHED_INLINE result<void> partition::take_back(ask_index which) {
  if (!runs(which)) return detail::not_there("allocation", which);
  uncount(which);
  asks_[which].node = none;
  asks_[which].preempted = 0;
  add_pending(which);
  refresh_turns(applications_[asks_[which].spec.application].spec.queue);
  return {};
}

GANGSCHED_INLINE result<void> partition::begin_preemption(ask_index which, std::span<const ask_index> victims) {
  if (!waits(which)) return detail::not_there("waiting ask", which);
  for (const ask_index victim : victims)
    if (!runs(victim)) return detail::not_there("allocation", victim);
  asks_[which].triggered_preemption = true;
  mark_preempted(victims);
  application& of = applications_[asks_[which].spec.application];
  if (of.state == application_state::accepted && !of.preempting) {
    of.preempting = true;
    count_application(of, &queue_usage::claims, 1);
  }
  return {};
}

GANGSCHED_INLINE result<void> partition::begin_preemption(std::span<const ask_index> victims) {
  for (const ask_index victim : victims)
    if (!runs(victim)) return detail::not_there("allocation", victim);
  mark_preempted(victims);
  return {};
}

GANGSCHED_INLINE void partition::mark_preempted(std::span<const ask_index> victims) {
  for (const ask_index victim : victims) {
    ++asks_[victim].preempted;
    for (queue_index up = applications_[asks_[victim].spec.application].spec.queue; up != no_queue;
         up = tree_.parent(up))
      usage_[up].preempting += asks_[victim].spec.request;
  }
}

GANGSCHED_INLINE result<void> partition::hold(ask_index which, bool held) {
  if (!waits(which)) return detail::not_there("waiting ask", which);
  asks_[which].held = held;
  return {};
}

GANGSCHED_INLINE void partition::count_application(const application& which, std::uint32_t queue_usage::*in,
                                                   std::int32_t by) {
  for (queue_index up = which.spec.queue; up != no_queue; up = tree_.parent(up))
    usage_[up].*in += static_cast<std::uint32_t>(by);
}

GANGSCHED_INLINE void partition::stop_counting_preemptor(application& which) {
  if (which.preempting) count_application(which, &queue_usage::claims, -1);
  which.preempting = false;
}

GANGSCHED_INLINE void partition::set_state(application& which, application_state to) {
  if (which.state == to) return;
  if (which.state == application_state::running) count_application(which, &queue_usage::applications, -1);
  stop_counting_preemptor(which);
  if (to == application_state::running) count_application(which, &queue_usage::applications, 1);
  which.state = to;
}

/// An application that has nothing any more is completing.
GANGSCHED_INLINE void partition::settle(application& which) {
  if (!which.pending.empty() || !which.allocations.empty()) return;
  if (which.counted) limits_.remove_application(tree_, which.spec.queue, which.owner);
  which.counted = false;
  set_state(which, application_state::completing);
}

GANGSCHED_INLINE void partition::forget(ask_index which) {
  asks_[which] = {};
  free_asks_.push_back(which);
}

GANGSCHED_INLINE void partition::add_pending(ask_index which) {
  const ask_spec& spec = asks_[which].spec;
  application& of = applications_[spec.application];
  const auto before = [&](ask_index a, ask_index b) {
    const ask_spec &x = asks_[a].spec, &y = asks_[b].spec;
    return x.priority != y.priority ? x.priority > y.priority : x.created < y.created;
  };
  of.pending.insert(std::upper_bound(of.pending.begin(), of.pending.end(), which, before), which);
  for (queue_index up = of.spec.queue; up != no_queue; up = tree_.parent(up)) usage_[up].pending += spec.request;
  refresh_priority(of.spec.queue);
}

GANGSCHED_INLINE void partition::drop_pending(ask_index which) {
  const ask_spec& spec = asks_[which].spec;
  application& of = applications_[spec.application];
  std::erase(of.pending, which);
  for (queue_index up = of.spec.queue; up != no_queue; up = tree_.parent(up)) usage_[up].pending -= spec.request;
  refresh_priority(of.spec.queue);
}

GANGSCHED_INLINE void partition::refresh_priority(queue_index leaf) {
  std::optional<std::int32_t> highest;
  for (const application_index which : members_[leaf])
    if (!applications_[which].pending.empty())
      highest = std::max(highest, std::optional{top_priority(applications_[which])});
  for (queue_index queue = leaf; queue != no_queue && usage_[queue].priority != highest; queue = tree_.parent(queue)) {
    usage_[queue].priority = highest;
    highest.reset();
    if (tree_.parent(queue) == no_queue) break;
    for (const queue_index child : tree_.children(tree_.parent(queue))) highest = std::max(highest, priority(child));
  }
}

GANGSCHED_INLINE std::int32_t partition::top_priority(const application& which) const {
  return asks_[which.pending.front()].spec.priority;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
