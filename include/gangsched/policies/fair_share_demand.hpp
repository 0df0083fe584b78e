#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/policies/fair_share_books.hpp"
#include "gangsched/policies/fair_share_jobs.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What a pod or a tree of groups needs of a queue. If a tree has members in several queues, it is the part of those in this one; each part
/// is looked at when its pods are.
struct fair_share_demand {
  queues::queue_index queue = queues::no_queue;
  std::vector<std::int64_t> request;  ///< by resource; those of flavors are added for the node's
  bool runs = false;                  ///< some of its pods run already
  bool grows = false;  ///< it includes a waiting pod beyond the minimum, of a group that is disrupted as a whole

  fair_share_demand(const fair_share_books& b, const queue_view& of)
      : queue(b.list.find(of)), request(b.resources.size()) {}

  void add(const fair_share_books& b, const pod_view& pod, flavor_id flavor) {
    for (std::size_t i = 0; i < request.size(); ++i) {
      const fair_share_books::resource& one = b.resources[i];
      if (!one.flavor || one.flavor == flavor) request[i] += pod.request(one.kind);
    }
  }
  /// The minimum of the tree: of each gang in it the first members up to its minimum, running ones included; if all have that, one member
  /// more.
  void add_least(const fair_share_books& b, const group_view& root, flavor_id flavor) {
    bool found = false;
    each_need(root, [&](const std::vector<pod_info>& pending, std::size_t count) {
      found = true;
      for (std::size_t i = 0; i < std::min(pending.size(), count); ++i)
        if (is_in_queue(b, pending[i])) add(b, pending[i], flavor);
    });
    root.each_pod_below([&](const pod_info& member) {
      if (found || !waits(member) || !is_in_queue(b, member)) return;
      found = true;
      add(b, member, flavor);
    });
  }
  /// What has to start together with @p more, a pod beyond its tree's minimum: of each gang that the tree needs, and of the pod's own, the
  /// first other members up to its minimum.
  void add_beside(const fair_share_books& b, const pod_info& more, flavor_id flavor) {
    const group_view own = *more.group();
    each_need(own.root(), [&](const std::vector<pod_info>& pending, std::size_t count) {
      const bool is_own = pending.front().group()->id() == own.id();
      if (!is_own && detail::grows_a_whole(pending.front())) return;
      std::size_t left = is_own ? count - 1 : count;
      for (const bool thought : {true, false})  // those tried on their nominated node are counted there
        for (const pod_info& member : pending) {
          if (left == 0 || member.id() == more.id() || member.node().has_value() != thought) continue;
          if (!thought && is_in_queue(b, member)) add(b, member, flavor);
          --left;
        }
    });
  }
  /// The amounts for which pods are evicted, whichever members find room then: by resource, of those that request most.
  void add_most(const fair_share_books& b, const group_view& root, flavor_id flavor) {
    fair_share_demand one{*this};
    std::vector<std::int64_t> amounts;
    each_need(root, [&](const std::vector<pod_info>& pending, std::size_t count) {
      for (std::size_t i = 0; i < request.size(); ++i) {
        if (b.resources[i].flavor && b.resources[i].flavor != flavor) continue;
        amounts.clear();
        for (const pod_info& member : pending)
          if (is_in_queue(b, member)) amounts.push_back(member.request(b.resources[i].kind));
        std::sort(amounts.begin(), amounts.end(), std::greater<>{});
        for (std::size_t n = 0; n < std::min(amounts.size(), count); ++n) request[i] += amounts[n];
      }
    });
    root.each_pod_below([&](const pod_info& member) {
      if (!waits(member) || !is_in_queue(b, member)) return;
      grows = grows || detail::grows_a_whole(member);
      one.request.assign(request.size(), 0);
      one.add(b, member, flavor);
      for (std::size_t i = 0; i < request.size(); ++i) request[i] = std::max(request[i], one.request[i]);
    });
  }

 private:
  [[nodiscard]] bool is_in_queue(const fair_share_books& b, const pod_info& member) const {
    return b.list.find(member.queue()) == queue;
  }
  static bool waits(const pod_info& member) { return member.state() == pod_state::pending && !member.terminating(); }
  /// Calls visit(waiting members, how many its minimum lacks) for each gang of the tree that lacks some.
  template <class Visit>
  void each_need(const group_view& group, Visit&& visit) {
    const std::uint32_t there = group.assumed() + group.bound(), least = group.spec().composite ? 0 : group.min_count();
    runs = runs || there > 0;
    if (least > there) {
      std::vector<pod_info> pending;
      group.each_member([&](const pod_info& member) {
        if (waits(member)) pending.push_back(member);
      });
      if (!pending.empty()) visit(pending, least - there);
    }
    group.each_child([&](const group_view& child) { each_need(child, visit); });
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI
