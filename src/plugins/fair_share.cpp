#include "gangsched/plugins/fair_share.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "gangsched/core/is_among.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/policies/fair_share_books.hpp"
#include "gangsched/policies/fair_share_demand.hpp"
#include "gangsched/policies/fair_share_jobs.hpp"
#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/quota_check.hpp"
#include "gangsched/queues/fair_share/reclaim.hpp"
#include "gangsched/queues/fair_share/turns.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {
inline constexpr const char* too_many_kinds = "quotas name more kinds of resources than can be compared";
inline constexpr const char* why_evicted = "others are due what it uses, or a more important job of its queue needs it";
}  // namespace detail

/// Which of all pods that run in queues may go for the preemptor: those that reclaim_plan lets go.
struct fair_share_policy::rule final : victim_rule {
  fair_share_books& of;
  const fair_share_demand& wanted;
  const options& with;
  queues::fair_share::preemptor who;
  trial* attempt;
  instant now;
  bool keep_all = false;                             ///< keeps also units that may go only if others stay
  row_t own_tree = no_row;                           ///< the preemptor's own tree: none of its pods go
  std::vector<unsigned char> may_hold_victims = {};  ///< by queue

  /// How long pods of a queue run before they may go, and whether others may take from it at all.
  struct terms {
    bool known = false, lends = false;
    instant own_least{}, others_least{};
  };
  std::vector<queues::fair_share::running_unit>& running;
  std::vector<std::int64_t>& amounts;
  mutable std::vector<terms> terms_of = {};  ///< by queue, of those that were asked about

  rule(fair_share_books& b, const fair_share_demand& d, const options& chosen, const queue_view& queue,
       const detail::job_rank& job, trial& in)
      : of(b),
        wanted(d),
        with(chosen),
        attempt(&in),
        now(in.now()),
        own_tree(job.tree),
        running(b.memory.running),
        amounts(b.memory.amounts) {
    who = {d.queue, d.request, job.priority, job.arrival};
    who.own = static_cast<queues::fair_share::own_victims>(queue.spec().within_queue);
    if (d.grows) who.own = queues::fair_share::own_victims::never;  // its victims might take back first what is due
    who.others = static_cast<queues::fair_share::others_victims>(queue.spec().reclaim);
  }
  /// Whether the own queue may take from a pod of this priority.
  [[nodiscard]] bool may_yield(std::int32_t priority) const {
    using enum queues::fair_share::own_victims;
    return who.own != never &&
           (priority < who.priority || (priority == who.priority && who.own == lower_or_newer_equal_priority));
  }
  /// A quick test before all running pods are looked at: whether there may be victims at all. Either what is requested is within the
  /// queue's due, or some pod or group, possibly of the queue itself, is less important. O(resources + priorities).
  [[nodiscard]] bool may_find_somebody(const cluster_view& cluster) const {
    using namespace queues::fair_share;
    const fair_share_books::counts now_used{of, cluster};
    bool due = who.others != others_victims::never;
    for (std::size_t i = 0; i < who.request.size(); ++i)
      due = due && (who.request[i] == 0 || now_used.used(who.queue, i) <= of.shares.due(who.queue, i) - who.request[i]);
    if (due) return true;
    const std::optional<std::int32_t> lowest = cluster.lowest_priority();
    if (lowest && may_yield(*lowest)) return true;
    const std::optional<std::int32_t> of_groups = of.lowest_group_priority(cluster);
    return of_groups && may_yield(*of_groups);
  }
  [[nodiscard]] bool may_go(const pod_info& pod) const override {
    return of.list.find(pod.queue()) != queues::no_queue;
  }
  /// Victims can only be in the own queue, if the preemptor takes from it, and in others that use more than their due. With disruption
  /// budgets all queues are looked at, because every pod that might go is charged to the budgets.
  [[nodiscard]] bool looks_at(const pod_info& pod) const override {
    return may_hold_victims[of.list.find(*pod.queue())] != 0;
  }
  void find_holders(const cluster_view& cluster) {
    using namespace queues::fair_share;
    const fair_share_books::counts now_used{of, cluster};
    bool any = false;
    cluster.each_budget([&](const budget_view&) { any = true; });
    may_hold_victims.assign(of.list.size(), any ? 1 : 0);
    for (queues::queue_index queue = 0; queue < of.list.size() && !any; ++queue) {
      bool above = false;
      for (std::size_t i = 0; i < of.resources.size(); ++i)
        above = above || now_used.used(queue, i) > of.shares.due(queue, i);
      may_hold_victims[queue] =
          queue == who.queue ? who.own != own_victims::never : above && who.others != others_victims::never;
    }
  }
  void describe(const cluster_view& cluster, const std::vector<victim_unit>& units) const {
    const std::size_t width = of.resources.size();
    amounts.assign(units.size() * width, 0);
    running.clear();
    std::map<group_id, std::uint32_t> rests;  // of gangs with surplus
    std::map<row_t, detail::job_rank> ranks;  // of trees
    for (std::uint32_t u = 0; u < units.size(); ++u)
      if (units[u].group) rests.emplace(units[u].group, u);
    for (std::size_t u = 0; u < units.size(); ++u) {
      const victim_unit& unit = units[u];
      const pod_info first = *cluster.pod(unit.pods.front());
      const std::span<std::int64_t> its = std::span{amounts}.subspan(u * width, width);
      const auto group = first.group();
      const detail::job_rank job =
          group ? ranks.try_emplace(group->root().row(), *group).first->second : detail::job_rank{first};
      queues::fair_share::running_unit one{.amounts = its, .priority = job.priority, .arrival = job.arrival};
      one.start = unit.rank.start;
      one.part = first.arrival();
      if (unit.goes_with) {
        one.part |= std::uint64_t{1} << 63;
        if (const auto rest = rests.find(unit.goes_with); rest != rests.end()) one.after = rest->second;
      }
      for (const pod_id id : unit.pods) {
        const pod_info pod = *cluster.pod(id);
        const auto node = pod.node();
        for (std::size_t i = 0; i < width; ++i) {
          const fair_share_books::resource& resource = of.resources[i];
          if (!resource.flavor || (node && node->flavor() == resource.flavor)) its[i] += pod.request(resource.kind);
        }
        if (with.lost_work) one.lost_work += with.lost_work(pod);
      }
      const queue_view queue = *first.queue();
      one.queue = of.list.find(queue);
      const bool goes = first.terminating() || (group && group->root().row() == own_tree);  // anyway, or in no case
      const instant ran = elapsed(one.start, now);
      terms_of.resize(of.list.size());
      terms& its_queue = terms_of[one.queue];
      if (!its_queue.known)
        its_queue = {true, queue.spec().lends_running, nearest_min_runtime(queue, &queue_spec::preempt_min_runtime),
                     nearest_min_runtime(queue, &queue_spec::reclaim_min_runtime)};
      one.spared_by_own = goes || ran < its_queue.own_least;
      one.spared_by_others = goes || !its_queue.lends || ran < its_queue.others_least;
      const bool own = one.queue == who.queue;
      const bool eligible =
          own ? may_yield(one.priority) : its_queue.lends && who.others != queues::fair_share::others_victims::never;
      if (!goes && eligible)
        attempt->spared_until(later_by(one.start, own ? its_queue.own_least : its_queue.others_least));
      running.push_back(one);
    }
  }
  void begin(const cluster_view& cluster) const {
    of.plan.begin(of.shares, fair_share_books::counts{of, cluster}, who, running);
  }
  /// Whether all pods of the unit are in one queue: reclaim_plan counts a unit in one queue, but members of a gang may name their own.
  [[nodiscard]] static bool are_of_one_queue(const cluster_view& cluster, const victim_unit& unit) {
    if (!unit.group && !unit.goes_with) return true;
    const pod_info first = *cluster.pod(unit.pods.front());
    const auto queue = first.queue();
    bool one = queue.has_value();
    const auto look = [&](const pod_info& pod) {
      const auto its = pod.node() ? pod.queue() : queue;
      one = one && its && its->id() == queue->id();
    };
    if (one && unit.group) first.group()->find(unit.group)->each_pod_below(look);
    return one;
  }
  void arrange(const cluster_view& cluster, std::vector<victim_unit>& units) const override {
    std::erase_if(units, [&](const victim_unit& unit) { return !are_of_one_queue(cluster, unit); });
    describe(cluster, units);
    begin(cluster);
    std::vector<std::uint32_t> order;  // of eviction
    while (const auto next = of.plan.take_next()) order.push_back(*next);
    if (keep_all) {
      const std::size_t sure = order.size();
      for (std::uint32_t i = 0; i < units.size(); ++i)
        if (!of.plan.is_taken(i)) order.push_back(i);
      std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(sure), order.end(),
                       [&](auto a, auto b) { return units[b].rank.more_important(units[a].rank); });
    }
    order = detail::with_surplus(units, std::move(order));
    std::reverse(order.begin(), order.end());
    std::vector<victim_unit>& made = of.memory.other_units;
    made.clear();
    for (const std::uint32_t i : order) made.push_back(std::move(units[i]));
    const std::size_t before = units.size();
    units.swap(made);
    if (!keep_all) return;
    renumber(order, before);
    begin(cluster);
  }
  /// Rewrites `running` to the new order of the units.
  void renumber(const std::vector<std::uint32_t>& order, std::size_t before) const {
    std::vector<std::uint32_t>& number = of.memory.number;
    number.assign(before, queues::fair_share::no_unit);
    for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
    std::vector<queues::fair_share::running_unit>& made = of.memory.other_running;
    made.clear();
    for (const std::uint32_t i : order) {
      made.push_back(running[i]);
      std::uint32_t& after = made.back().after;
      if (after != queues::fair_share::no_unit) after = number[after];
    }
    running.swap(made);
  }
};

GANGSCHED_INLINE fair_share_books& fair_share_policy::read(const cluster_view& cluster) const {
  books_->read(cluster);
  return *books_;
}

/// Whether the pod would take what victims went for: room kept for pods of its priority or higher, or of other queues; or, beyond its
/// queue's due, the place of a lesser pod of its own queue, which is within the due where this pod is not.
GANGSCHED_INLINE bool fair_share_policy::takes_promised(const fair_share_demand& wanted, const cluster_view& cluster,
                                                        std::int32_t priority, pod_id pod, row_t tree) const {
  const fair_share_books& b = *books_;
  const bool may_refuse = b.may_refuse(wanted.queue, wanted.request, wanted.runs);
  const fair_share_books::counts now{b, cluster};
  fair_share_books::with_promised all{now};
  std::vector<row_t> trees;
  std::vector<std::int64_t> lesser;  // requests of lesser pods of its queue, and its own
  cluster.each_nominated([&](const pod_info& other) {
    const auto queue = other.queue();
    const auto group = other.group();
    if (other.node() || other.id() == pod || !queue || b.list.find(*queue) == queues::no_queue) return;
    if (group && group->root().row() == tree) return;
    fair_share_demand its{b, *queue};
    its.add(b, other, other.nominated_node()->flavor());
    if (its.queue == wanted.queue && detail::priority_of_one(other) < priority) {
      if (lesser.empty()) lesser = wanted.request;
      for (std::size_t i = 0; i < lesser.size(); ++i) lesser[i] += its.request[i];
      return;
    }
    if (!may_refuse) return;
    all.promised.emplace_back(its.queue, std::move(its.request));
    if (group && (is_among(group->root().row(), trees) || is_on_nodes(group->root()))) return;
    if (group) trees.push_back(group->root().row());
    all.jobs.push_back(its.queue);
  });
  for (std::size_t i = 0; i < lesser.size(); ++i)
    if (wanted.request[i] > 0 && now.used(wanted.queue, i) > b.shares.due(wanted.queue, i) - lesser[i]) return true;
  return !all.promised.empty() &&
         !queues::fair_share::check_quota(b.shares, wanted.queue, wanted.request, all, wanted.runs).ok();
}

GANGSCHED_INLINE status fair_share_policy::check(const fair_share_demand& wanted, const cluster_view& cluster,
                                                 std::int32_t priority, pod_id pod, row_t group_tree) const {
  using queues::fair_share::refusal;
  const fair_share_books& b = *books_;
  const auto& tree = b.shares.tree();
  const queues::fair_share::quota_verdict said = queues::fair_share::check_quota(
      b.shares, wanted.queue, wanted.request, fair_share_books::counts{b, cluster}, wanted.runs);
  switch (said.why) {
    case refusal::none:
      return takes_promised(wanted, cluster, priority, pod, group_tree)
                 ? status::pending("what is left for its queue is kept for others for whom victims went")
                 : status::success();
    case refusal::closed: {
      const auto queue = cluster.queue(b.list.id(said.queue));
      return status::pending(!queue || queue->expected() ? "a queue that it is in is not there"
                                                         : "a queue that it is in admits nobody");
    }
    case refusal::too_many: return status::pending("its queue runs as many jobs as it may");
    default: break;
  }
  // Victims may help: what others use above their due, and what the own queue uses.
  const auto own = cluster.queue(b.list.id(wanted.queue));
  const queue_spec& spec = own->spec();
  const queues::queue_index within = said.why == refusal::over_limit ? said.queue : tree.parent(said.queue);
  std::int64_t may_end = spec.within_queue == queue_preemption::never
                             ? 0
                             : own->used(b.resources[said.resource].kind, b.resources[said.resource].flavor);
  if (spec.reclaim != queue_reclaim::never)
    for (const auto& one :
         queues::fair_share::borrowers(b.shares, within, said.resource, fair_share_books::counts{b, cluster}))
      if (one.queue != wanted.queue)
        may_end += cluster.queue(b.list.id(one.queue))
                       ->used(b.resources[said.resource].kind, b.resources[said.resource].flavor);
  if (said.missing <= may_end) return status::success();
  return status::pending(said.why == refusal::over_limit ? "over the limit of its queue"
                                                         : "what is left is kept for other queues");
}

GANGSCHED_INLINE status fair_share_policy::admit(const pod_info& pod, const cluster_view& cluster) const {
  const auto queue = pod.queue();
  if (!queue) return status::success();
  fair_share_books& b = read(cluster);
  if (!b.fault.empty()) return status::pending(detail::too_many_kinds);
  if (queue->has_children()) return status::unschedulable("pods run in queues without children");
  const auto group = pod.group();
  // All pods of a line of equal pods are asked: the last answer is reused.
  const bool alike = !group && !pod.nominated_node();
  if (alike && b.last_asked == &pod.spec()) return b.last_said;
  fair_share_demand wanted{b, *queue};
  if (group) {
    wanted.add_least(b, group->root(), {});  // it finds out whether some of it runs
    wanted.request.assign(b.resources.size(), 0);
  }
  wanted.add(b, pod, {});
  const status said = check(wanted, cluster, pod.priority(), pod.id(), group ? group->root().row() : no_row);
  if (alike) b.last_asked = &pod.spec(), b.last_said = said;
  return said;
}

GANGSCHED_INLINE status fair_share_policy::admit(const group_view& group, const cluster_view& cluster) const {
  const auto queue = group.queue();
  if (!queue) return status::success();
  const fair_share_books& b = read(cluster);
  if (!b.fault.empty()) return status::pending(detail::too_many_kinds);
  if (queue->has_children()) return status::unschedulable("pods run in queues without children");
  fair_share_demand wanted{b, *queue};
  wanted.add_least(b, group, {});
  return check(wanted, cluster, tree_priority(group), {}, group.root().row());
}

GANGSCHED_INLINE void fair_share_policy::finish_filter(const pod_info& pod, const cluster_view& cluster,
                                                       std::span<filtered_group> groups) const {
  const auto queue = pod.queue();
  if (!queue) return;
  const fair_share_books& b = read(cluster);
  if (!b.fault.empty()) return refuse_all(groups, status::unresolvable(detail::too_many_kinds));
  if (b.list.find(*queue) == queues::no_queue) return;
  const fair_share_books::counts now{b, cluster};
  const auto job = pod.group();
  const bool grows = detail::grows_a_whole(pod);
  for (filtered_group& group : groups) {
    const auto flavor = cluster.flavor_at(static_cast<row_t>(group.key));
    fair_share_demand wanted{b, *queue};
    wanted.add(b, pod, flavor ? flavor->id() : flavor_id{});
    wanted.runs = true;  // admission decides whether a job may start; this is about amounts
    const auto is_due = [&] {
      fair_share_demand beside{b, *queue};
      beside.add_beside(b, pod, flavor ? flavor->id() : flavor_id{});
      bool due = true;
      for (std::size_t i = 0; i < wanted.request.size(); ++i)
        due = due && (wanted.request[i] == 0 || now.used(wanted.queue, i) <= b.shares.due(wanted.queue, i) -
                                                                                 wanted.request[i] - beside.request[i]);
      return due;
    };
    const auto said = queues::fair_share::check_quota(b.shares, wanted.queue, wanted.request, now, wanted.runs);
    if (said.why == queues::fair_share::refusal::over_limit)
      group.verdict = status::unschedulable("over the limit of its queue");
    else if (said.why == queues::fair_share::refusal::kept_for_others)
      group.verdict = status::unschedulable("what is left is kept for other queues");
    else if (!said.ok())
      group.verdict = status::unresolvable("a queue that it is in admits nobody");
    else if (grows && !is_due())  // what is within the due as a whole would be lost as one
      group.verdict = status::unschedulable("its group goes as a whole, and grows by what its queue is due");
    else if (takes_promised(wanted, cluster, detail::priority_of_one(pod), pod.id(), job ? job->root().row() : no_row))
      group.verdict = status::unschedulable("what is left for its queue is kept for others for whom victims went");
  }
}

GANGSCHED_INLINE bool fair_share_policy::filter_by_alike_groups(const pod_info& pod,
                                                                const cluster_view& cluster) const {
  const fair_share_books& known = read(cluster);
  const auto is_fine = [&](const std::optional<queue_view>& queue) {
    if (!queue) return true;
    if (queue->spec().within_queue == queue_preemption::lower_or_newer_equal_priority) return false;
    const queues::fair_share::fair_shares& shares = known.shares;
    for (queues::queue_index up = known.list.find(*queue); up != queues::no_queue; up = shares.tree().parent(up))
      if (shares.priority(up) != shares.highest_priority_beside(up)) return false;
    return true;
  };
  return is_fine(pod.queue()) && is_fine(pod.group()->queue());
}

GANGSCHED_INLINE bool fair_share_policy::queue_before(const queue_head& a, const queue_head& b,
                                                      const cluster_view& cluster) const {
  fair_share_books& known = read(cluster);
  const auto place = [&](const queue_head& head) {
    return head.queue < 0 ? queues::no_queue : known.list.find_row(static_cast<std::size_t>(head.queue));
  };
  const auto rank = [&](const queue_head& head) {
    return head.queue < 0 ? 0 : place(head) == queues::no_queue ? 2 : 1;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) != 1) return false;
  const queues::fair_share::turn one{place(a), elapsed(a.entered, a.now)}, other{place(b), elapsed(b.entered, b.now)};
  const fair_share_books::counts used{known, cluster};
  return cluster.has_uncommitted()
             ? queues::fair_share::goes_first(known.shares, one, other, used, options_.head_start)
             : queues::fair_share::goes_first(known.shares, one, other, used, known.parts, options_.head_start);
}

/// Nodes without a flavor come last.
GANGSCHED_INLINE std::vector<flavor_id> fair_share_policy::flavors_of(const cluster_view& cluster) {
  std::vector<flavor_id> made;
  cluster.each_flavor([&](const flavor_view& one) { made.push_back(one.id()); });
  made.push_back({});
  return made;
}

GANGSCHED_INLINE std::string fair_share_policy::admission_words(const pod_info& pod,
                                                                const cluster_view& cluster) const {
  const auto queue = pod.queue();
  const fair_share_books& b = read(cluster);
  if (queue && !b.fault.empty()) return b.fault;
  if (!queue || b.list.find(*queue) == queues::no_queue) return {};
  fair_share_demand wanted{b, *queue};
  if (const auto group = pod.group())
    wanted.add_least(b, group->root(), {});
  else
    wanted.add(b, pod, {});
  const fair_share_books::counts now{b, cluster};
  const auto said = queues::fair_share::check_quota(b.shares, wanted.queue, wanted.request, now, wanted.runs);
  if (said.ok()) return {};
  std::vector<std::string_view> names;
  for (const fair_share_books::resource& one : b.resources) names.push_back(pod.kind_name(one.kind));
  return queues::fair_share::explain(b.shares, said, names, now);
}

GANGSCHED_INLINE victim_plan fair_share_policy::make_room(trial& attempt, const pod_info& pod, rule& by,
                                                          flavor_id flavor) const {
  using cost =
      std::array<std::int64_t, 5>;  // broken budgets, highest priority, lost work, pods, minus the earliest start
  victim_plan best;
  victim_units units{attempt, false};
  by.keep_all = true;
  units.all().swap(by.of.memory.units);
  units.collect(by);
  std::vector<victim_unit>& all = units.all();
  const cluster_view cluster = attempt.cluster();
  fair_share_books& b = by.of;
  std::vector<std::vector<std::uint32_t>> on_node(cluster.node_rows());  // by row: in the order of eviction
  for (std::uint32_t i = static_cast<std::uint32_t>(all.size()); i-- > 0;)
    for (const pod_id id : all[i].pods) {
      std::vector<std::uint32_t>& there = on_node[cluster.pod(id)->node()->id().row];
      if (there.empty() || there.back() != i) there.push_back(i);
    }
  const auto take = [&](std::uint32_t i, std::vector<std::uint32_t>& taken) {
    if (all[i].gone || !b.plan.may_take(i)) return;
    std::vector<std::uint32_t> with{i};  // surplus goes with what its gang needs
    for (std::uint32_t other = 0; all[i].group && other < all.size(); ++other)
      if (!all[other].gone && all[other].goes_with == all[i].group) with.push_back(other);
    if (!std::all_of(with.begin(), with.end(), [&](std::uint32_t one) { return b.plan.may_take(one); })) return;
    for (const std::uint32_t one : with) {
      b.plan.take(one);
      units.take(all[one]);
      taken.push_back(one);
    }
  };
  const auto within_quota = [&] {
    return queues::fair_share::check_quota(b.shares, by.wanted.queue, by.wanted.request,
                                           fair_share_books::counts{b, cluster}, true)
        .ok();
  };
  // Over a limit, a node may have room and no victims: it is enough then that pods on other nodes go.
  const bool anywhere = !within_quota();
  // Goes over nodes by a lower bound of their cost: victims elsewhere, for limits, only add to it. (No bound where something is kept for
  // queues: then all victims may have to be elsewhere, and none on the node.)
  const bool needs_nobody_elsewhere = !anywhere && !b.keeps;
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  std::int64_t least_work = 0;
  for (const queues::fair_share::running_unit& one : by.running) least_work = std::min(least_work, one.lost_work);
  const auto least_cost = [&](const std::vector<std::uint32_t>& here) {
    if (!needs_nobody_elsewhere || least_work < 0 || here.empty()) return cost{lowest, 0, 0, 0, 0};
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    cost made{most, most, most, most, most};
    for (const std::uint32_t i : here) {
      const cost its{all[i].violating ? 1 : 0, all[i].rank.priority, by.running[i].lost_work,
                     static_cast<std::int64_t>(all[i].pods.size()), -all[i].rank.start.count()};
      for (std::size_t n = 0; n < made.size(); ++n) made[n] = std::min(made[n], its[n]);
    }
    return made;
  };
  struct candidate {
    cost least;
    row_t row;
    const std::vector<std::uint32_t>* here;
  };
  std::vector<candidate> order;
  for (row_t row = 0; row < on_node.size(); ++row)
    if (anywhere || !on_node[row].empty()) order.push_back({least_cost(on_node[row]), row, &on_node[row]});
  std::sort(order.begin(), order.end(),
            [](const candidate& x, const candidate& y) { return std::tie(x.least, x.row) < std::tie(y.least, y.row); });
  std::optional<std::pair<cost, row_t>> least;
  std::vector<std::uint32_t> gone;
  for (const candidate& next : order) {
    if (least && *least < std::pair{next.least, next.row}) break;
    const std::optional<node_info> node = cluster.node_at(next.row);
    if (!node || node->flavor() != flavor) continue;
    if (attempt.filter(pod.id(), node->id()).code != code::unschedulable) continue;
    gone.clear();
    // Two rounds: once pods of the own branch are gone, further ones may go.
    for (int round = 0; round < 2; ++round)
      for (const std::uint32_t i : *next.here) take(i, gone);
    // Limits may need victims elsewhere.
    for (auto i = static_cast<std::uint32_t>(all.size()); i-- > 0 && !within_quota();) take(i, gone);
    std::sort(gone.begin(), gone.end());
    if (attempt.filter(pod.id(), node->id()).ok()) {
      units.reprieve([&](const victim_unit& one) {
        const auto i = static_cast<std::uint32_t>(&one - all.data());
        b.plan.give_back(i);
        const bool fits = attempt.filter(pod.id(), node->id()).ok();
        if (!fits) b.plan.take(i);
        return fits;
      });
      std::erase_if(gone, [&](std::uint32_t i) { return !all[i].gone; });
      cost price{0, lowest, 0, 0, lowest};
      for (const std::uint32_t i : gone) {
        price[0] += all[i].violating ? 1 : 0;
        price[1] = std::max<std::int64_t>(price[1], all[i].rank.priority);
        price[2] += by.running[i].lost_work;
        price[3] += static_cast<std::int64_t>(all[i].pods.size());
        price[4] = std::max(price[4], -all[i].rank.start.count());
      }
      if (!gone.empty() && (!least || std::pair{price, next.row} < *least)) {
        least.emplace(price, next.row);
        best.verdict = status::success();
        best.nominated = node->id();
        best.victims.clear();
        for (const std::uint32_t i : gone)
          best.victims.insert(best.victims.end(), all[i].pods.begin(), all[i].pods.end());
      }
    }
    for (const std::uint32_t i : gone) {
      b.plan.give_back(i);
      units.give_back(all[i]);
    }
  }
  all.swap(b.memory.units);
  return best;
}

GANGSCHED_INLINE victim_plan fair_share_policy::post_filter(trial& attempt, const pod_info& pod) const {
  victim_plan plan;
  const auto queue = pod.queue();
  if (!queue) return plan;
  plan.verdict = status::unresolvable("its queue may take from nobody what would help");
  fair_share_books& b = read(attempt.cluster());
  if (pod.spec().preemption == preemption_policy::never || b.list.find(*queue) == queues::no_queue) return plan;
  if (awaits_victims(pod)) {
    plan.keep_nomination = true;
    return plan;
  }
  for (const flavor_id flavor : flavors_of(attempt.cluster())) {
    fair_share_demand wanted{b, *queue};
    wanted.add(b, pod, flavor);
    wanted.grows = detail::grows_a_whole(pod);
    rule by{b, wanted, options_, *queue, detail::job_rank{pod}, attempt};
    if (!by.may_find_somebody(attempt.cluster())) continue;
    by.find_holders(attempt.cluster());
    victim_plan made = make_room(attempt, pod, by, flavor);
    if (!made.verdict.ok()) continue;
    made.reason = detail::why_evicted;
    return made;
  }
  return plan;
}

GANGSCHED_INLINE victim_plan fair_share_policy::group_preempt(trial& attempt, const group_view& group) const {
  victim_plan plan;
  const auto queue = group.queue();
  if (!queue) return plan;
  fair_share_books& b = read(attempt.cluster());
  plan.verdict = status::unresolvable("its queue may take from nobody what would help");
  if (b.list.find(*queue) == queues::no_queue) return plan;
  for (const flavor_id flavor : flavors_of(attempt.cluster())) {
    fair_share_demand wanted{b, *queue};
    wanted.add_most(b, group.root(), flavor);
    rule by{b, wanted, options_, *queue, detail::job_rank{group}, attempt};
    attempt.reset();
    if (!by.may_find_somebody(attempt.cluster())) continue;
    by.find_holders(attempt.cluster());
    victim_plan made = find_group_victims(attempt, group, by, true, options_.lost_work);
    made.reason = detail::why_evicted;
    if (made.verdict.code == code::error || (made.verdict.ok() && !made.victims.empty())) return made;
    plan.keep_nomination = plan.keep_nomination || made.keep_nomination;
  }
  return plan;
}

GANGSCHED_INLINE result<fair_share_policy> fair_share_policy::from(const argument& args) {
  options chosen;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key != "headStartSeconds") return read.unknown(path);
    std::int64_t seconds = 0;
    if (!read.number(value, path, 1, 1'000'000'000, seconds)) return false;
    chosen.head_start = std::chrono::seconds{seconds};
    return true;
  });
  if (!fine) return std::move(read).failure();
  return fair_share_policy{std::move(chosen)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
