#include "gangsched/queues/volcano/votes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

namespace detail {

/// Shares that differ by less are equal for preemption between jobs.
inline constexpr double share_tolerance = 1e-6;

}  // namespace detail

GANGSCHED_INLINE result<void> check(const session_options& options) {
  std::vector<plugin_name> seen;
  for (const auto& tier : options.tiers) {
    for (const plugin& one : tier) {
      if (std::ranges::find(seen, one.name) != seen.end())
        return error{errc::malformed, "session", "tiers", "a plugin is there twice"};
      seen.push_back(one.name);
    }
  }
  if (find(options.tiers, plugin_name::proportion) != nullptr && find(options.tiers, plugin_name::capacity) != nullptr)
    return error{errc::malformed, "session", "tiers", "proportion and capacity exclude each other"};
  return {};
}

GANGSCHED_INLINE const plugin* find(const plugin_tiers& tiers, plugin_name name) {
  for (const auto& tier : tiers)
    if (const auto found = std::ranges::find(tier, name, &plugin::name); found != tier.end()) return &*found;
  return nullptr;
}

GANGSCHED_INLINE std::weak_ordering votes::order(queue_index a, queue_index b) const {
  for (const auto& tier : *tiers) {
    for (const plugin& one : tier) {
      std::weak_ordering said = std::weak_ordering::equivalent;
      if (one.name == plugin_name::proportion || one.name == plugin_name::capacity) said = queues->order(a, b);
      if (one.name == plugin_name::drf && hierarchy != nullptr) said = hierarchy->order(queue_nodes[a], queue_nodes[b]);
      if (said != 0) return said;
    }
  }
  return std::weak_ordering::equivalent;
}

GANGSCHED_INLINE std::weak_ordering votes::order(const job_rank& a, const job_rank& b) const {
  const auto first = [](bool left) { return left ? std::weak_ordering::less : std::weak_ordering::greater; };
  for (const auto& tier : *tiers) {
    for (const plugin& one : tier) {
      if (one.name == plugin_name::priority && a.priority != b.priority) return first(a.priority > b.priority);
      if (one.name == plugin_name::gang && a.ready != b.ready) return first(b.ready);
      if (one.name == plugin_name::drf && a.share != b.share) return first(a.share < b.share);
    }
  }
  if (a.created != b.created) return a.created <=> b.created;
  return a.name <=> b.name;
}

GANGSCHED_INLINE bool votes::starving(std::int32_t has, std::int32_t min_member, std::int32_t tasks) const {
  for (const auto& tier : *tiers) {
    bool asked = false;
    for (const plugin& one : tier) {
      if (one.name != plugin_name::gang && one.name != plugin_name::priority) continue;
      asked = true;
      if (has >= (one.name == plugin_name::gang ? min_member : tasks)) return false;
    }
    if (asked) return true;
  }
  return false;
}

GANGSCHED_INLINE bool votes::enqueueable(queue_index queue, const resources& min, queue_shares* with,
                                         const overcommit* bound) const {
  for (const auto& tier : *tiers) {
    bool permitted = false;
    for (const plugin& one : tier) {
      if (one.name == plugin_name::overcommit) {
        if (!bound->enqueueable(min)) return false;
        permitted = true;
      }
      if (one.name == plugin_name::proportion || one.name == plugin_name::capacity) {
        if (!with->enqueue(queue, min)) return false;
        permitted = true;
      }
    }
    if (permitted) return true;
  }
  return true;
}

GANGSCHED_INLINE std::vector<std::uint32_t> votes::victims(const voting_task& asker,
                                                           std::span<const voting_task> candidates, bool reclaims,
                                                           const std::function<voting_job(std::uint32_t)>& job) const {
  // A tier's list is what all its plugins name; none at all asks the next tier. Once a plugin has named a victim, what others name can only
  // shorten its list.
  std::vector<std::uint32_t> found;
  bool named = false;
  for (const auto& tier : *tiers) {
    for (const plugin& one : tier) {
      if (!(reclaims ? one.reclaimable : one.preemptable)) continue;
      const bool asks =
          reclaims ? one.name == plugin_name::gang || one.name == plugin_name::proportion ||
                         one.name == plugin_name::capacity || (one.name == plugin_name::drf && hierarchy != nullptr)
                   : one.name == plugin_name::priority || one.name == plugin_name::gang || one.name == plugin_name::drf;
      if (!asks) continue;
      std::vector<std::uint32_t> by_it = named_by(one, asker, candidates, reclaims, job);
      if (by_it.empty()) {
        found.clear();
        break;
      }
      if (!named) {
        found = std::move(by_it);
      } else {
        std::erase_if(found, [&](std::uint32_t place) { return !std::ranges::binary_search(by_it, place); });
      }
      named = true;
    }
    if (!found.empty()) return found;
  }
  return found;
}

/// In the order of the candidates.
GANGSCHED_INLINE std::vector<std::uint32_t> votes::named_by(const plugin& of, const voting_task& asker,
                                                            std::span<const voting_task> candidates, bool reclaims,
                                                            const std::function<voting_job(std::uint32_t)>& job) const {
  std::vector<std::uint32_t> found;
  if (of.name == plugin_name::proportion || of.name == plugin_name::capacity) {
    std::vector<reclaim_candidate> all;
    for (const voting_task& task : candidates) all.push_back({job(task.job).queue, task.request});
    queues->reclaimable(asker.request, all, found);
    return found;
  }
  if (of.name == plugin_name::drf && reclaims) {
    const auto one = [&](const voting_task& task) {
      const voting_job its = job(task.job);
      return fair_hierarchy::candidate{queue_nodes[its.queue], its.leaf, task.request};
    };
    std::vector<fair_hierarchy::candidate> all;
    for (const voting_task& task : candidates) all.push_back(one(task));
    hierarchy->reclaimable(one(asker), all, found);
    return found;
  }
  // Gang and drf count for each job what the candidates before have left of it.
  struct rest {
    std::uint32_t number;
    voting_job of;
  };
  std::vector<rest> left;
  const voting_job by = job(asker.job);
  const double share = dominant_share(resources{by.allocated}.add(asker.request), *total);
  for (std::uint32_t place = 0; place < candidates.size(); ++place) {
    const voting_task& task = candidates[place];
    auto at = std::ranges::find(left, task.job, &rest::number);
    if (at == left.end()) at = left.insert(left.end(), {task.job, job(task.job)});
    voting_job& its = at->of;
    if (of.name == plugin_name::priority) {
      if (task.job == asker.job ? task.priority >= asker.priority : its.priority >= by.priority) continue;
    } else if (of.name == plugin_name::gang) {
      if (its.ready <= its.min_member) continue;
      --its.ready;
    } else {
      const double remains = dominant_share(its.allocated.subtract(task.request), *total);
      if (share >= remains && std::abs(share - remains) > detail::share_tolerance) continue;
    }
    found.push_back(place);
  }
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano
