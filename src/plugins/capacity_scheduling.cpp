#include "gangsched/plugins/capacity_scheduling.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "gangsched/policies/compared_resources.hpp"
#include "gangsched/policies/group_need.hpp"
#include "gangsched/policies/group_victims.hpp"
#include "gangsched/policies/queue_list.hpp"
#include "gangsched/queues/capacity_scheduling/victims.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {
inline constexpr const char* why_quota_evicts =
    "its quota uses more than its min, which others need now, or a more important pod of its quota needs it";
}  // namespace detail

/// The quotas, as of the last change of a queue that was read, and their use, as of the last question.
struct capacity_scheduling_policy::books {
  using amounts = compared_resources::amounts;
  using quota_pod = queues::capacity_scheduling::quota_pod;

  queue_news news = {};
  compared_resources resources = {};
  queue_list list = {};  ///< those that are quotas
  queues::capacity_scheduling::elastic_quotas quotas = {};
  bool aside = false;  ///< the filter is off: a search for victims checks quotas itself

  /// Brings the quotas up to the last change of a queue.
  void read(const cluster_view& cluster) {
    if (resources.bound() != cluster.kind_count()) news.forget();
    news.read(cluster, [&] { make(cluster); });
  }
  void make(const cluster_view& cluster) {
    const std::vector<queue_view> all =
        list.read(cluster, [](const queue_view& queue) { return !queue.expected() && !queue.has_children(); });
    name_resources(cluster, all);
    std::vector<queues::capacity_scheduling::resource_kind> compared;
    for (const resource_kind kind : resources.kinds())
      compared.push_back(kind < kinds::first_other ? queues::capacity_scheduling::resource_kind::field
                                                   : queues::capacity_scheduling::resource_kind::extended);
    std::vector<queues::capacity_scheduling::quota_spec> specs;
    amounts room(resources.size(), queues::largest_amount);  // for the sum of the mins
    for (const queue_view& queue : all) {
      auto& spec = specs.emplace_back();
      spec.name = queue.name();
      const queue_amounts* const its = queue.quota();
      if (its == nullptr) continue;
      spec.min = resources.of(its->guaranteed);
      for (std::size_t at = 0; at < resources.size(); ++at) {
        if (!queues::is_named((*spec.min)[at])) continue;
        (*spec.min)[at] = std::min((*spec.min)[at], room[at]);
        room[at] -= (*spec.min)[at];
      }
      if (!its->limit.empty()) spec.max = resources.of(its->limit);
    }
    // The model has no queue twice; amounts are bounded above, and resources here.
    quotas = queues::capacity_scheduling::elastic_quotas::make(compared, specs).value();
  }
  void name_resources(const cluster_view& cluster, const std::vector<queue_view>& all) {
    resources.clear(cluster.kind_count());
    resources.add(kinds::cpu);
    resources.add(kinds::memory);
    resources.add(kinds::ephemeral_storage);
    const auto add = [&](resource_kind kind) {
      if (kind >= kinds::first_other) resources.add(kind);
    };
    for (const queue_view& queue : all) {
      const queue_amounts* const its = queue.quota();
      if (its == nullptr) continue;
      for (const amount& one : its->guaranteed) add(one.kind);
      for (const amount& one : its->limit) add(one.kind);
    }
    for (resource_kind kind = kinds::first_other; kind < cluster.kind_count(); ++kind) add(kind);
  }

  /// Counts what quotas use as things stand, and what @p who needs beside that. @p own: whether a nominated pod belongs to @p who.
  template <class Own>
  [[nodiscard]] queues::capacity_scheduling::quota_demand count(const cluster_view& cluster, const quota_pod& who,
                                                                const Own& own) {
    amounts used(list.size() * resources.size()), room(resources.size(), queues::largest_amount);
    for (std::size_t quota = 0; quota < list.size(); ++quota) {
      const queue_view its = *cluster.queue(list.id(quota));
      for (std::size_t at = 0; at < resources.size(); ++at)
        room[at] -= used[quota * resources.size() + at] =
            std::clamp<std::int64_t>(its.used(resources.kinds()[at]), 0, room[at]);
    }
    std::vector<quota_pod> nominated;
    std::vector<amounts> requests;
    cluster.each_nominated([&](const pod_info& other) {
      const auto queue = other.queue();
      const queues::queue_index its = list.find(queue);
      if (its == queues::no_queue) return;
      amounts& asks = requests.emplace_back(resources.nothing());
      resources.add_request(other, asks);
      if (other.node()) {  // it is on its nominated node only in a filter's trial
        for (std::size_t at = 0; at < resources.size(); ++at) {
          std::int64_t& here = used[its * resources.size() + at];
          here -= std::min(here, queues::amount_or_zero(asks[at]));
        }
      }
      if (own(other))
        requests.pop_back();
      else
        nominated.push_back({its, {}, other.priority()});
    });
    for (std::size_t i = 0; i < nominated.size(); ++i) nominated[i].request = requests[i];
    quotas.set_used(used).value();
    if (auto made = quotas.demand(who, nominated)) return *std::move(made);
    const amounts all(resources.size(),
                      queues::largest_amount);  // the nominated ones alone ask for more than there can be
    return {all, all};
  }
};

/// The pods that may be evicted for a pod or group.
struct capacity_scheduling_policy::rule final : victim_rule {
  const books& of;
  books::quota_pod who;
  queues::capacity_scheduling::victim_scope scope;
  row_t own_tree = no_row;

  rule(const books& b, const books::quota_pod& pod, queues::capacity_scheduling::victim_scope within)
      : of(b), who(pod), scope(within) {}

  [[nodiscard]] bool may_go(const pod_info& pod) const override {
    const auto queue = pod.queue();
    const queues::queue_index its = of.list.find(queue);
    if (queue && its == queues::no_queue) return false;
    if (own_tree != no_row && pod.group() && pod.group()->root().row() == own_tree) return false;
    return of.quotas.may_evict(scope, who, {its, {}, victim_priority(pod)});
  }
  /// A unit counts as one pod of the quota of its first pod. @p request holds the unit's sum.
  [[nodiscard]] books::quota_pod as_pod(const cluster_view& cluster, const victim_unit& unit,
                                        books::amounts& request) const {
    request = of.resources.nothing();
    for (const pod_id id : unit.pods) of.resources.add_request(*cluster.pod(id), request);
    const auto queue = cluster.pod(unit.pods.front())->queue();
    return {of.list.find(queue), request, unit.rank.priority, unit.rank.start};
  }
  /// A quota loses no more than what it has borrowed: each victim counts as gone at once, the least important first.
  void arrange(const cluster_view& cluster, std::vector<victim_unit>& units) const override {
    victim_rule::arrange(cluster, units);
    drop_partial_units(cluster, *this, units);
    if (own_tree == no_row) return;  // select_victims sees to it
    queues::capacity_scheduling::elastic_quotas left = of.quotas;
    std::vector<victim_unit> made;
    books::amounts request;
    for (auto one = units.rbegin(); one != units.rend(); ++one) {
      const books::quota_pod its = as_pod(cluster, *one, request);
      if (!left.may_evict(scope, who, its)) continue;
      (void)left.release(its);  // fails if its pods are of several quotas: it counts as there, then
      made.push_back(std::move(*one));
    }
    std::erase_if(made, [&](const victim_unit& one) {  // what a gang needs stays while some of its surplus does
      return one.group && std::any_of(units.begin(), units.end(), [&](const victim_unit& other) {
               return other.goes_with == one.group && !other.pods.empty();
             });
    });
    std::reverse(made.begin(), made.end());
    units = std::move(made);
  }
};

/// Turns the filter off while it lives.
class capacity_scheduling_policy::quotas_aside {
 public:
  explicit quotas_aside(books& of) noexcept : of_(&of) { of.aside = true; }
  quotas_aside(const quotas_aside&) = delete;
  quotas_aside& operator=(const quotas_aside&) = delete;
  ~quotas_aside() { of_->aside = false; }

 private:
  books* of_;
};

/// One pod's search for the node whose victims cost least. Its quota may refuse a pod that fits on the node.
struct capacity_scheduling_policy::search {
  books& of;
  const pod_info& pod;
  quotas_aside aside{of};
  books::amounts request = of.resources.nothing();
  books::quota_pod who = {};
  queues::capacity_scheduling::quota_demand demand = {};
  std::vector<books::amounts> requests = {};   ///< by unit
  std::vector<books::quota_pod> as_pods = {};  ///< likewise
  std::optional<node_victims> nodes = {};

  search(books& b, const cluster_view& cluster, const pod_info& asking) : of(b), pod(asking) {
    const auto queue = pod.queue();
    of.resources.add_request(pod, request);
    who = {of.list.find(queue), request, pod.priority()};
    demand = of.count(cluster, who, [&](const pod_info& other) { return other.id() == pod.id(); });
  }
  [[nodiscard]] rule by() const { return {of, who, of.quotas.scope(who, demand)}; }

  [[nodiscard]] bool waits(trial& attempt) const {
    const rule any = by(), own{of, who, queues::capacity_scheduling::victim_scope::own_quota};
    return waits_for_leaving(attempt, pod,
                             [&](const pod_info& other) { return any.may_go(other) || own.may_go(other); });
  }
  void collect(trial& attempt) {
    const rule its = by();
    nodes.emplace(attempt, pod, its);
    requests.resize(nodes->units().size());
    for (std::size_t i = 0; i < requests.size(); ++i)
      as_pods.push_back(its.as_pod(attempt.cluster(), nodes->units()[i], requests[i]));
  }
  /// @pre collect()
  status choose(std::span<const std::uint32_t> here, queues::trial_node& node, node_victims::choice& out) {
    using queues::capacity_scheduling::victims_outcome;
    std::vector<books::quota_pod> running;
    for (const std::uint32_t i : here) running.push_back(as_pods[i]);
    auto found = select_victims(of.quotas, who, demand, running, node).value();
    out = {std::move(found.pods), found.violating};
    if (found.outcome == victims_outcome::found) return status::success();
    return found.outcome == victims_outcome::failed ? status::error("a pod would have to go twice")
                                                    : status::unschedulable("preemption is not helpful for scheduling");
  }
  [[nodiscard]] node_victims::policy chooser() { return std::bind_front(&search::choose, this); }
};

GANGSCHED_INLINE capacity_scheduling_policy::books& capacity_scheduling_policy::read(
    const cluster_view& cluster) const {
  books_->read(cluster);
  return *books_;
}

namespace detail {
inline status quota_admits(const std::optional<queue_view>& queue) {
  if (!queue) return status::success();
  if (!queue->admits()) return status::pending(queue_admits_nobody);
  return queue->has_children() ? status::unschedulable("pods run in queues without children") : status::success();
}
}  // namespace detail

GANGSCHED_INLINE status capacity_scheduling_policy::admit(const pod_view& pod, const cluster_view& cluster) const {
  return detail::quota_admits(cluster.queue_of(pod));
}
GANGSCHED_INLINE status capacity_scheduling_policy::admit(const group_view& group, const cluster_view&) const {
  return detail::quota_admits(group.queue());
}

GANGSCHED_INLINE queues::capacity_scheduling::quota_verdict capacity_scheduling_policy::check(
    const pod_info& pod, const cluster_view& cluster) const {
  books& of = read(cluster);
  const auto queue = pod.queue();
  const queues::queue_index its = of.list.find(queue);
  if (its == queues::no_queue) return {};
  books::amounts request = of.resources.nothing();
  of.resources.add_request(pod, request);
  const books::quota_pod who{its, request, pod.priority()};
  const auto demand = of.count(cluster, who, [&](const pod_info& other) { return other.id() == pod.id(); });
  return of.quotas.admit(who, demand);
}

GANGSCHED_INLINE void capacity_scheduling_policy::finish_filter(const pod_info& pod, const cluster_view& cluster,
                                                                std::span<filtered_group> groups) const {
  using queues::capacity_scheduling::quota_check;
  const auto queue = pod.queue();
  if (books_->aside || !queue) return;
  status said;
  if (read(cluster).list.find(*queue) == queues::no_queue) {
    said = status::unresolvable(queue_admits_nobody);
  } else {
    const auto verdict = check(pod, cluster);
    if (verdict) return;
    said = status::unschedulable(verdict.why == quota_check::over_max
                                     ? "its quota would use more than its max"
                                     : "all quotas together would use more than their mins");
  }
  refuse_all(groups, said);
}

GANGSCHED_INLINE status capacity_scheduling_policy::dry_run(trial& attempt, const pod_info& pod, node_id node,
                                                            node_candidate& out) const {
  search one{read(attempt.cluster()), attempt.cluster(), pod};
  one.collect(attempt);
  return one.nodes->dry_run(node, one.chooser(), out);
}

GANGSCHED_INLINE victim_plan capacity_scheduling_policy::post_filter(trial& attempt, const pod_info& pod) const {
  victim_plan plan;
  plan.verdict = status::unresolvable("there is nobody whose eviction its quota allows and that would help");
  if (pod.spec().preemption == preemption_policy::never) {
    plan.verdict = status::unresolvable("not eligible due to preemptionPolicy=Never.");
    plan.keep_nomination = true;
    return plan;
  }
  books& of = read(attempt.cluster());
  const auto queue = pod.queue();
  if (queue && of.list.find(*queue) == queues::no_queue) return plan;
  search one{of, attempt.cluster(), pod};
  if (one.waits(attempt)) {
    plan.keep_nomination = true;
    return plan;
  }
  one.collect(attempt);
  std::optional<node_candidate> best = one.nodes->best(one.chooser());
  if (!best) return plan;
  return std::move(*best).plan(detail::why_quota_evicts);
}

GANGSCHED_INLINE victim_plan capacity_scheduling_policy::group_preempt(trial& attempt, const group_view& group) const {
  victim_plan plan;
  plan.verdict = status::unresolvable("there is nobody whose eviction its quota allows and that would help");
  books& of = read(attempt.cluster());
  const auto queue = group.queue();
  const queues::queue_index its = of.list.find(queue);
  if (queue && its == queues::no_queue) return plan;
  const row_t tree = group.root().row();
  books::amounts request = of.resources.nothing();
  each_needed_pod(group.root(), [&](const pod_info& member) { of.resources.add_request(member, request); });
  const books::quota_pod who{its, request, tree_priority(group)};
  const auto demand = of.count(attempt.cluster(), who, [&](const pod_info& other) {
    return other.group() && other.group()->root().row() == tree;
  });
  rule by{of, who, of.quotas.scope(who, demand)};
  by.own_tree = tree;
  victim_plan made = find_group_victims(attempt, group, by, false, {});
  made.reason = detail::why_quota_evicts;
  if (made.verdict.code == code::error || (made.verdict.ok() && !made.victims.empty())) return made;
  plan.keep_nomination = made.keep_nomination;
  return plan;
}

}  // namespace gangsched::inline GANGSCHED_ABI
