#include "gangsched/queues/yunikorn/quota_preemption.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

namespace detail {

/// Of each type of @p bounded what @p used has above @p bound; types of which that is nothing are left out.
[[nodiscard]] inline resources above(const resources& used, const resources& bound, std::uint32_t bounded) {
  resources made;
  resources::for_each(bounded, [&](resource_type type) {
    if (used[type] > bound[type]) made.set(type, used[type] - bound[type]);
  });
  return made;
}

[[nodiscard]] inline resources stays(const partition& queues, queue_index queue) {
  return queues.usage(queue).allocated - queues.usage(queue).preempting;
}

/// What the queue is to free.
[[nodiscard]] inline resources to_free(const partition& queues, queue_index queue) {
  const resources& max = queues.settings(queue).max;
  const resources over = above(stays(queues, queue), max, max.types());
  resources over_guarantee;  // the most of all on the way up
  for (queue_index up = queue; up != no_queue; up = queues.tree().parent(up)) {
    const resources& guaranteed = queues.settings(up).guaranteed;
    const resources its = above(queues.usage(up).allocated, guaranteed, guaranteed.types());
    resources::for_each(
        its.types(), [&](resource_type type) { over_guarantee.set(type, std::max(over_guarantee[type], its[type])); });
  }
  resources made = over;
  resources::for_each(over.types() & over_guarantee.types(),
                      [&](resource_type type) { made.set(type, std::min(over[type], over_guarantee[type])); });
  return made;
}

/// A part of each leaf below a queue in what it is to free.
inline void hand_down(const partition& queues, queue_index queue, const resources& amount,
                      std::vector<std::pair<queue_index, resources>>& leaves) {
  if (queues.tree().is_leaf(queue)) {
    leaves.emplace_back(queue, amount);
    return;
  }
  struct part {
    queue_index child;
    std::uint32_t types;  ///< of which it is to keep what it is guaranteed, or nothing
    resources above;
  };
  std::vector<part> parts;
  resources all;
  for (const queue_index child : queues.tree().children(queue)) {
    const resources& used = queues.usage(child).allocated;
    const resources& guaranteed = queues.settings(child).guaranteed;
    const std::uint32_t types = guaranteed.empty() ? used.types() : guaranteed.types();
    parts.push_back({child, types, above(used, guaranteed, types)});
    all += parts.back().above;
  }
  __extension__ using wide = __int128;
  for (const part& one : parts) {
    resources its;
    resources::for_each(one.types & amount.types(), [&](resource_type type) {
      its.set(type,
              one.above[type] == 0 ? 0 : static_cast<std::int64_t>(wide{one.above[type]} * amount[type] / all[type]));
    });
    if (!is_zero(its)) hand_down(queues, one.child, its, leaves);
  }
}

struct quota_victim {
  ask_index which = none;
  const ask* of = nullptr;
  int kind = 0;      ///< `turn_to_go`
  int matching = 0;  ///< types of what is to be freed, in percent of its own
  std::chrono::hours hour{};
  std::vector<double> parts = {};  ///< of the maximum, of the types to be freed, the largest first
};

[[nodiscard]] inline bool goes_before(const quota_victim& a, const quota_victim& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.matching != b.matching) return a.matching > b.matching;
  if (a.of->spec.priority != b.of->spec.priority) return a.of->spec.priority < b.of->spec.priority;
  if (a.hour != b.hour) return a.hour > b.hour;
  for (std::size_t i = 0; i < std::max(a.parts.size(), b.parts.size()); ++i) {
    const double x = i < a.parts.size() ? a.parts[i] : 0, y = i < b.parts.size() ? b.parts[i] : 0;
    if (x != y) return x < y;
  }
  if (a.of->spec.created != b.of->spec.created) return a.of->spec.created > b.of->spec.created;
  return a.which < b.which;
}

inline void choose(const partition& queues, queue_index leaf, const resources& amount, std::vector<ask_index>& chosen) {
  const resources& max = queues.settings(leaf).max;
  std::vector<quota_victim> sorted;
  for (const application_index application : queues.applications(leaf))
    for (const ask_index which : queues.of(application).allocations) {
      const ask& of = queues.of_ask(which);
      const std::uint32_t types = of.spec.request.types();
      if ((types & amount.types()) == 0 || !may_go(of.spec) || of.preempted != 0) continue;
      quota_victim& one = sorted.emplace_back(quota_victim{which, &of});
      one.kind = turn_to_go(of.spec);
      one.matching = std::popcount(types & amount.types()) * 100 / std::popcount(types);
      one.hour = std::chrono::floor<std::chrono::hours>(of.spec.created);
      resources::for_each(types & amount.types(), [&](resource_type type) {
        const auto held = static_cast<double>(of.spec.request[type]);
        one.parts.push_back(max[type] == 0 ? held : held / static_cast<double>(max[type]));
      });
      std::sort(one.parts.begin(), one.parts.end(), std::greater<>{});
    }
  std::sort(sorted.begin(), sorted.end(), goes_before);
  resources freed;
  for (const quota_victim& one : sorted) {
    const resources with = freed + one.of->spec.request;
    if (!fits_limit(amount, with)) continue;
    freed = with;
    chosen.push_back(one.which);
  }
}

}  // namespace detail

GANGSCHED_INLINE bool is_over_max(const partition& queues, queue_index queue) {
  const resources& max = queues.settings(queue).max;
  return !detail::above(queues.usage(queue).allocated, max, max.types()).empty();
}

GANGSCHED_INLINE std::vector<ask_index> over_quota_victims(const partition& queues, queue_index queue) {
  std::vector<ask_index> chosen;
  const resources amount = detail::to_free(queues, queue);
  if (amount.empty()) return chosen;
  std::vector<std::pair<queue_index, resources>> leaves;
  detail::hand_down(queues, queue, amount, leaves);
  std::sort(leaves.begin(), leaves.end(), [&](const auto& a, const auto& b) {
    return queues.tree().name_rank(a.first) < queues.tree().name_rank(b.first);
  });
  for (const auto& [leaf, part] : leaves) detail::choose(queues, leaf, part, chosen);
  return chosen;
}

GANGSCHED_INLINE std::vector<queue_index> quota_watch::due(const partition& queues, instant now) {
  std::vector<queue_index> made;
  std::map<std::string, instant> seen;
  std::vector<bool> above_is_due(queues.tree().size());
  for (const queue_index queue : queues.tree().top_down()) {
    const queue_index parent = queues.tree().parent(queue);
    above_is_due[queue] = parent != no_queue && above_is_due[parent];
    const instant delay = queues.settings(queue).quota_preemption_delay;
    if (delay <= instant::zero() || !is_over_max(queues, queue)) continue;
    const auto known = due_at_.find(queues.tree().name(queue));
    instant at = known == due_at_.end() ? later_by(now, delay) : known->second;
    if (at <= now && !above_is_due[queue]) {
      above_is_due[queue] = true;
      made.push_back(queue);
      at = later_by(now, delay);
    }
    seen.emplace(queues.tree().name(queue), at);
  }
  due_at_ = std::move(seen);
  return made;
}

GANGSCHED_INLINE instant quota_watch::next() const {
  instant least = instant::max();
  for (const auto& [name, at] : due_at_) least = std::min(least, at);
  return least;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
