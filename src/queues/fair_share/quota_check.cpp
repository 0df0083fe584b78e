#include "gangsched/queues/fair_share/quota_check.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {
namespace detail {

/// What is in use below a queue or kept there, with a job more in @p job_queue.
struct held_amounts {
  const fair_shares& shares;
  const usage& now;
  std::size_t resource;
  queue_index job_queue;
  std::int64_t job;

  [[nodiscard]] std::int64_t used(queue_index queue) const {
    return now.used(queue, resource) + (shares.tree().is_within(job_queue, queue) ? job : 0);
  }
  [[nodiscard]] std::int64_t held(queue_index queue) const {
    if (shares.kept(queue, resource) == 0) return used(queue);
    std::int64_t below = 0, used_below = 0;
    for (const queue_index child : shares.tree().children(queue)) {
      below += held(child);
      used_below += used(child);
    }
    return std::max(shares.kept_by_itself(queue, resource), below + used(queue) - used_below);
  }
};

inline quota_verdict check_kept(const fair_shares& shares, queue_index queue, std::size_t resource, std::int64_t job,
                                const usage& now) {
  const held_amounts with{shares, now, resource, queue, job};
  const queue_tree& tree = shares.tree();
  bool borrows_beside_kept = false;  // there or below: what is kept there takes room above, too
  for (queue_index at = queue; at != no_queue; at = tree.parent(at)) {
    const queue_index parent = tree.parent(at);
    std::int64_t held = 0, in_use = 0;
    const std::span<const queue_index> siblings = parent == no_queue ? tree.roots() : tree.children(parent);
    if (with.used(at) > std::max(shares.guaranteed(at, resource), shares.kept(at, resource)))
      for (const queue_index one : siblings)
        borrows_beside_kept = borrows_beside_kept || (one != at && shares.kept(one, resource) > 0);
    if (!borrows_beside_kept) continue;
    // A parent without a limit has no more than there is.
    const std::int64_t capacity = shares.capacity(resource);
    const std::int64_t most = parent == no_queue ? capacity : std::min(shares.most(parent, resource), capacity);
    for (const queue_index one : siblings) {
      held += with.held(one);
      in_use += with.used(one);
    }
    if (held > most && held > in_use) return {refusal::kept_for_others, at, resource, most, held - most};
  }
  return {};
}

}  // namespace detail

GANGSCHED_INLINE quota_verdict check_quota(const fair_shares& shares, queue_index queue,
                                           std::span<const std::int64_t> request, const usage& now, bool runs) {
  const queue_tree& tree = shares.tree();
  for (queue_index at = queue; at != no_queue; at = tree.parent(at)) {
    if (!shares.admits(at)) return {refusal::closed, at};
    if (const std::int64_t running = now.running(at); !runs && running >= shares.most_running(at))
      return {refusal::too_many, at, 0, shares.most_running(at), running - shares.most_running(at) + 1};
    for (std::size_t i = 0; i < request.size(); ++i) {
      if (request[i] <= 0) continue;
      const std::int64_t used = now.used(at, i), most = shares.most(at, i);
      if (used > most - request[i]) return {refusal::over_limit, at, i, most, used - (most - request[i])};
    }
  }
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (request[i] <= 0) continue;
    if (const quota_verdict kept = detail::check_kept(shares, queue, i, request[i], now); !kept.ok()) return kept;
  }
  return {};
}

GANGSCHED_INLINE std::vector<borrower> borrowers(const fair_shares& shares, queue_index within, std::size_t resource,
                                                 const usage& now) {
  std::vector<borrower> made;
  const queue_tree& tree = shares.tree();
  for (queue_index queue = 0; queue < tree.size(); ++queue) {
    if (!tree.is_leaf(queue) || (within != no_queue && !tree.is_within(queue, within))) continue;
    const std::int64_t above = now.used(queue, resource) - shares.due(queue, resource);
    if (above > 0) made.push_back({queue, above});
  }
  std::stable_sort(made.begin(), made.end(), [](const borrower& a, const borrower& b) { return a.above > b.above; });
  return made;
}

GANGSCHED_INLINE std::string explain(const fair_shares& shares, const quota_verdict& verdict,
                                     std::span<const std::string_view> resource_names, const usage& now) {
  if (verdict.ok()) return "quota lets it start";
  const queue_tree& tree = shares.tree();
  std::string text = "queue " + tree.name(verdict.queue);
  if (verdict.why == refusal::closed) return text + " admits nobody";
  if (verdict.why == refusal::too_many)
    return text + " runs as many jobs as it may, " + std::to_string(verdict.most) + ": " +
           std::to_string(verdict.missing) + " would have to end";
  const std::string resource{resource_names[verdict.resource]};
  const bool over = verdict.why == refusal::over_limit;
  text += over ? " would use more " + resource + " than it may, " + std::to_string(verdict.most)
               : " would borrow " + resource + " that others keep";
  text += ": " + std::to_string(verdict.missing) + " would have to end";
  const queue_index within = over ? verdict.queue : tree.parent(verdict.queue);
  const std::vector<borrower> have = borrowers(shares, within, verdict.resource, now);
  for (std::size_t i = 0; i < std::min<std::size_t>(have.size(), 3); ++i)
    text += (i == 0 ? "; above what they are due: " : ", ") + tree.name(have[i].queue) + " by " +
            std::to_string(have[i].above);
  return text;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share
