#include <algorithm>
#include <limits>
#include <utility>

#include "gangsched/queues/yunikorn/partition.hpp"

// What queues may have, and whose turn it is.
namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

namespace detail {

/// Parts of an application's usage, each of the leaf's guarantee, or the amount itself where that has none; the largest first.
[[nodiscard]] inline std::vector<double> shares_of(const resources& used, const resources& guaranteed) {
  std::vector<double> made;
  resources::for_each(used.types(), [&](resource_type type) {
    const auto amount = static_cast<double>(used[type]);
    made.push_back(guaranteed[type] == 0 ? amount : amount / static_cast<double>(guaranteed[type]));
  });
  std::sort(made.begin(), made.end(), std::greater<>{});
  return made;
}
/// Less than 0 if @p a has used less: the largest parts are compared first, then the next ones; a part that is not there is 0.
[[nodiscard]] inline int compare_shares(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const double x = i < a.size() ? a[i] : 0, y = i < b.size() ? b[i] : 0;
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

}  // namespace detail

GANGSCHED_INLINE resources partition::headroom(queue_index queue) const {
  resources made;
  for (; queue != no_queue; queue = tree_.parent(queue))
    made = least(made, minus_where_set(settings_[queue].max, usage_[queue].allocated));
  return made;
}

GANGSCHED_INLINE double partition::share_of(queue_index queue) const {
  double largest = 0;
  const resources& fair_max = fair_max_[queue];
  const resources& used = usage_[queue].allocated;
  resources::for_each(used.types(), [&](resource_type type) {
    const resources& of = settings_[queue].guaranteed.has(type) ? settings_[queue].guaranteed : fair_max;
    if (used[type] < 0 || !of.has(type)) return;
    const double part =
        of[type] > 0 ? static_cast<double>(used[type]) / static_cast<double>(of[type]) : (used[type] > 0 ? 1.0 : 0.0);
    largest = std::max(largest, part);
  });
  return largest;
}

GANGSCHED_INLINE std::optional<std::int32_t> partition::priority(queue_index queue) const {
  const queue_settings& has = settings_[queue];
  const std::optional<std::int32_t>& waiting = usage_[queue].priority;
  if (!waiting) return waiting;
  if (has.priority == priority_policy::fence) return has.priority_offset;
  const std::int64_t sum = std::int64_t{*waiting} + has.priority_offset;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
}

GANGSCHED_INLINE resources partition::user_room(application_index which) const {
  return limits_.room(tree_, applications_[which].spec.queue, applications_[which].owner);
}

GANGSCHED_INLINE bool partition::queues_can_run(const application& which) const {
  if (which.preempting) return true;
  for (queue_index up = which.spec.queue; up != no_queue; up = tree_.parent(up)) {
    const std::uint32_t most = settings_[up].max_applications;
    if (most != 0 && usage_[up].applications + usage_[up].claims >= most) return false;
  }
  return true;
}

GANGSCHED_INLINE bool partition::may_run(application_index which) const {
  const application& of = applications_[which];
  return of.state != application_state::accepted ||
         (queues_can_run(of) && limits_.can_run(tree_, of.spec.queue, of.owner));
}

GANGSCHED_INLINE wait_reasons partition::why_waiting(ask_index which) const {
  const ask_spec& spec = asks_[which].spec;
  const application& of = applications_[spec.application];
  wait_reasons why;
  if (of.state == application_state::accepted) {
    why.queue_applications = !queues_can_run(of);
    why.user_applications = !limits_.can_run(tree_, of.spec.queue, of.owner);
  }
  if (why.any()) return why;
  why.user_quota = !fits_limit(user_room(spec.application), spec.request);
  why.queue_quota = !why.user_quota && !fits_limit(headroom(of.spec.queue), spec.request);
  return why;
}

GANGSCHED_INLINE bool partition::goes_before(queue_index a, queue_index b, bool priority_first) const {
  const turn &one = turns_[a], &other = turns_[b];
  if (priority_first && one.priority != other.priority) return one.priority > other.priority;
  if (one.share != other.share) return one.share < other.share;
  return one.priority > other.priority;
}

/// Whether @p a waits for at least as much of everything as @p b, and for more of something.
GANGSCHED_INLINE bool partition::waits_for_more(queue_index a, queue_index b) const {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (turns_[a].pending <= turns_[b].pending && turns_[a].pending < most) return false;
  return strictly_greater(usage_[a].pending - usage_[b].pending, {});
}

GANGSCHED_INLINE bool partition::goes_first(queue_index leaf, queue_index other) const {
  std::vector<queue_index> a, b;  // the ways up
  for (; leaf != no_queue; leaf = tree_.parent(leaf)) a.push_back(leaf);
  for (; other != no_queue; other = tree_.parent(other)) b.push_back(other);
  queue_index parent = no_queue;
  for (; !a.empty() && !b.empty() && a.back() == b.back(); a.pop_back(), b.pop_back()) parent = a.back();
  if (a.empty() || b.empty()) return false;
  const queue_index one = a.back(), two = b.back();
  const bool priority_first = parent == no_queue || settings_[parent].priority_first;
  if (goes_before(one, two, priority_first) || goes_before(two, one, priority_first))
    return goes_before(one, two, priority_first);
  if (turns_[one].pending != turns_[two].pending) return turns_[one].pending > turns_[two].pending;
  return tree_.name_rank(one) < tree_.name_rank(two);
}

GANGSCHED_INLINE queue_index partition::first_child(queue_index queue) const {
  const bool priority_first = settings_[queue].priority_first;
  queue_index first = no_queue;
  for (const queue_index child : tree_.children(queue)) {
    if (!turns_[child].waits) continue;
    if (first == no_queue || goes_before(child, first, priority_first) ||
        (!goes_before(first, child, priority_first) && tree_.name_rank(child) < tree_.name_rank(first)))
      first = child;
  }
  for (const queue_index child : tree_.children(queue))
    if (turns_[child].waits && !goes_before(first, child, priority_first) && waits_for_more(child, first))
      return sorted_children(queue).front();
  return first;
}

GANGSCHED_INLINE std::vector<queue_index> partition::sorted_children(queue_index queue) const {
  std::vector<queue_index> sorted;
  for (const queue_index child : tree_.children(queue))
    if (turns_[child].waits) sorted.push_back(child);
  const bool priority_first = settings_[queue].priority_first;
  const auto before = [&](queue_index a, queue_index b) { return goes_before(a, b, priority_first); };
  std::sort(sorted.begin(), sorted.end(), [&](queue_index a, queue_index b) {
    if (before(a, b) || before(b, a)) return before(a, b);
    return tree_.name_rank(a) < tree_.name_rank(b);
  });
  for (auto first = sorted.begin(), end = first; first != sorted.end(); first = end) {
    while (end != sorted.end() && !before(*first, *end)) ++end;
    // Among equals: again and again the first for which no other waits for more of everything.
    const bool are_alike = std::all_of(first, end, [&](queue_index one) {
      return turns_[one].pending == turns_[*first].pending &&
             turns_[one].pending < std::numeric_limits<std::int64_t>::max();
    });
    for (auto at = first; !are_alike && at != end; ++at) {
      const auto next = std::find_if(at, end, [&](queue_index one) {
        return std::none_of(at, end, [&](queue_index other) { return waits_for_more(other, one); });
      });
      std::rotate(at, next, next + 1);
    }
  }
  return sorted;
}

GANGSCHED_INLINE partition::application_turn partition::turn_of(application_index which, std::uint32_t position) const {
  const application& of = applications_[which];
  const queue_settings& has = settings_[of.spec.queue];
  const bool fair = has.order == application_order::fair;
  return {which, position, top_priority(of), of.spec.submitted,
          fair ? detail::shares_of(of.allocated, has.guaranteed) : std::vector<double>{}};
}

GANGSCHED_INLINE bool partition::goes_before(const queue_settings& leaf, const application_turn& a,
                                             const application_turn& b) {
  if (leaf.priority_first && a.priority != b.priority) return a.priority > b.priority;
  if (leaf.order == application_order::fair) {
    if (const int by = detail::compare_shares(a.shares, b.shares); by != 0) return by < 0;
  } else if (a.submitted != b.submitted) {
    return a.submitted < b.submitted;
  }
  return a.priority != b.priority ? a.priority > b.priority : a.position < b.position;
}

GANGSCHED_INLINE void partition::sort_applications(queue_index leaf, std::vector<application_turn>& sorted) const {
  sorted.clear();
  for (const application_index which : members_[leaf])
    if (!applications_[which].pending.empty())
      sorted.push_back(turn_of(which, static_cast<std::uint32_t>(sorted.size())));
  std::sort(sorted.begin(), sorted.end(),
            [&](const application_turn& a, const application_turn& b) { return goes_before(settings_[leaf], a, b); });
}

GANGSCHED_INLINE bool partition::application_before(application_index one, application_index other) const {
  const queue_index leaf = applications_[one].spec.queue;
  const auto turn_in_leaf = [&](application_index which) {
    const auto at = std::find(members_[leaf].begin(), members_[leaf].end(), which);
    return turn_of(which, static_cast<std::uint32_t>(at - members_[leaf].begin()));
  };
  return goes_before(settings_[leaf], turn_in_leaf(one), turn_in_leaf(other));
}

GANGSCHED_INLINE std::vector<application_index> partition::sorted_applications(queue_index leaf) const {
  std::vector<application_turn> sorted;
  sort_applications(leaf, sorted);
  std::vector<application_index> made;
  for (const application_turn& one : sorted) made.push_back(one.which);
  return made;
}

GANGSCHED_INLINE cycle_outcome partition::try_allocate(node_host& host, int attempts, instant now) {
  for (const queue_index root : tree_.roots())
    if (const cycle_outcome done = try_queue(root, host, attempts, now); done.what != cycle_outcome::kind::nothing)
      return done;
  return {};
}

GANGSCHED_INLINE cycle_outcome partition::try_queue(queue_index queue, node_host& host, int attempts, instant now) {
  if (tree_.is_leaf(queue)) return try_leaf(queue, host, attempts, now);
  const queue_index first = first_child(queue);
  if (first == no_queue) return {};
  if (const cycle_outcome done = try_queue(first, host, attempts, now); done.what != cycle_outcome::kind::nothing)
    return done;
  for (const queue_index child : sorted_children(queue))
    if (child != first)
      if (const cycle_outcome done = try_queue(child, host, attempts, now); done.what != cycle_outcome::kind::nothing)
        return done;
  return {};
}

GANGSCHED_INLINE cycle_outcome partition::try_leaf(queue_index leaf, node_host& host, int attempts, instant now) {
  const resources room = headroom(leaf);
  sort_applications(leaf, trying_);
  for (std::size_t at = 0; at < trying_.size(); ++at) {
    const application_index which = trying_[at].which;
    if (!may_run(which)) continue;
    std::optional<instant>& until = applications_[which].backs_off_until;
    if (until && now < *until) continue;
    until.reset();
    const cycle_outcome done = try_application(which, room, host, attempts, now);
    if (done.what != cycle_outcome::kind::nothing) return done;
  }
  return {};
}

/// Asks that exceed a quota do not count for its backing off, and it does so when there is one more to try.
GANGSCHED_INLINE cycle_outcome partition::try_application(application_index which, const resources& room,
                                                          node_host& host, int& attempts, instant now) {
  application& of = applications_[which];
  const queue_settings& leaf = settings_[of.spec.queue];
  const resources of_user = user_room(which);
  std::uint32_t without_node = 0;
  for (const ask_index one : of.pending) {
    if (leaf.backoff_after != 0 && without_node >= leaf.backoff_after) {
      of.backs_off_until = later_by(now, leaf.backoff);
      return {};
    }
    const resources& request = asks_[one].spec.request;
    if (asks_[one].held || !fits_limit(of_user, request)) continue;
    const bool within_quota = fits_limit(room, request);
    if (within_quota) {
      if (const node_number node = host.place(one); node != none) {
        allocate(one, node).value();
        return {cycle_outcome::kind::placed, one};
      }
      if (host.reserve(one)) return {cycle_outcome::kind::reserved, one};
      if (!asks_[one].spec.on_required_node) ++without_node;
    }
    if (attempts <= 0 || (within_quota && asks_[one].spec.on_required_node)) continue;
    --attempts;
    if (host.preempt(one, within_quota)) return {cycle_outcome::kind::preempting, one};
  }
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
