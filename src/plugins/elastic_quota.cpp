#include "gangsched/plugins/elastic_quota.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/model/inside.hpp"
#include "gangsched/policies/compared_resources.hpp"
#include "gangsched/policies/group_victims.hpp"
#include "gangsched/policies/queue_list.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {
inline constexpr const char* why_elastic_quota_evicts = "a more important pod of its quota needs what it uses";
inline constexpr const char* no_elastic_victims =
    "there is nobody less important in its quota whose eviction would help";
}  // namespace detail

/// The quotas, as of the last change of a queue that was read, with what the cluster counted at the last question.
struct elastic_quota_policy::books {
  using amounts = compared_resources::amounts;
  using quota_pod = queues::koordinator::quota_pod;
  using quota_list = queues::koordinator::elastic_quotas;

  queue_news news = {};
  compared_resources resources = {};
  queue_list list = {};
  std::optional<quota_list> quotas = {};
  amounts room = {};   ///< what sums of requests and uses may reach, beside the mins
  bool aside = false;  ///< the filter is off: a search for victims checks quotas itself

  /// Brings the quotas up to the last change of a queue.
  void read(const cluster_view& cluster, const queues::koordinator::quota_options& options) {
    if (resources.bound() != cluster.kind_count()) news.forget();
    news.read(cluster, [&] { make(cluster, options); });
  }
  void make(const cluster_view& cluster, const queues::koordinator::quota_options& options) {
    const std::vector<queue_view> all = list.read(cluster);
    resources.clear(cluster.kind_count());
    for (const queue_view& queue : all)
      if (const queue_amounts* const its = queue.expected() ? nullptr : queue.quota())
        for (const amount& one : its->limit) resources.add(one.kind);
    room.assign(resources.size(), queues::largest_amount / 2);
    std::vector<queues::koordinator::quota_spec> specs;
    for (const queue_view& queue : all) specs.push_back(spec_of(queue, all));
    const amounts no_total(resources.size(), 0);
    // Amounts are bounded above, and resources here.
    quotas = quota_list::make(queue_list::tree_of(all), specs, no_total, options).value();
    const amounts any(resources.size(), std::numeric_limits<std::int64_t>::max());
    quotas->set_quota(quotas->default_quota(), {.max = any}).value();
  }
  /// Takes its min from the room for all mins.
  [[nodiscard]] queues::koordinator::quota_spec spec_of(const queue_view& queue, const std::vector<queue_view>& all) {
    queues::koordinator::quota_spec made;
    const queue_amounts* const its = queue.expected() ? nullptr : queue.quota();
    if (its == nullptr) return made;
    made.min = resources.of(its->guaranteed);
    for (std::size_t at = 0; at < resources.size(); ++at) {
      if (!queues::is_named(made.min[at])) continue;
      made.min[at] = std::min(made.min[at], room[at]);
      room[at] -= made.min[at];
    }
    made.max = resources.of(its->limit, std::numeric_limits<std::int64_t>::max());
    const auto kept = [&](const amount& one) { return queue_amounts::find(its->lending_limit, one.kind) == 0; };
    made.lends = its->guaranteed.empty() || !std::all_of(its->guaranteed.begin(), its->guaranteed.end(), kept);
    if (its->weights.empty()) return made;
    made.weight = resources.nothing();
    for (const auto& [kind, weight] : its->weights)
      if (const std::size_t at = resources.find(kind); at != compared_resources::none)
        made.weight[at] = whole_weight(weight, kind, all);
    return made;
  }
  /// In units of the amounts; where some queue's is no whole number, in millionths of them.
  [[nodiscard]] static std::int64_t whole_weight(double weight, resource_kind of, const std::vector<queue_view>& all) {
    const double unit = of == kinds::cpu ? 1000 : 1;
    const bool whole = std::all_of(all.begin(), all.end(), [&](const queue_view& queue) {
      const queue_amounts* const its = queue.quota();
      if (its == nullptr) return true;
      for (const auto& [kind, one] : its->weights)
        if (kind == of && std::round(one * unit) != one * unit) return false;
      return true;
    });
    constexpr double most = 9e18;
    return static_cast<std::int64_t>(std::min(std::round(weight * unit * (whole ? 1 : 1e6)), most));
  }

  /// Counts what the cluster has, and what is requested and used, as things stand. A nominated pod counts if it goes before @p who, whether
  /// a filter's trial shows it on its node or not.
  void count(const cluster_view& cluster, const pod_info* who) {
    const std::size_t width = resources.size(), all = list.size() + 1;  // the default quota is the last
    // Of sums each part fits into 64 bits; what is more than there is room for is cut off at the end.
    __extension__ using wide = __int128;
    std::vector<wide> wide_requested(all * width), wide_used(all * width);
    amounts requested(all * width), used(all * width), total(width);
    cluster.each_node([&](const node_info& node) {
      for (std::size_t at = 0; at < width; ++at) {
        const resource_kind kind = resources.kinds()[at];
        total[at] += std::min(node.allocatable(kind), queues::largest_amount - total[at]);
        wide_used[list.size() * width + at] += node.used(kind);
      }
    });
    for (std::size_t quota = 0; quota < list.size(); ++quota) {
      const queue_view its = *cluster.queue(list.id(quota));
      const queues::queue_index above = quotas->tree().parent(static_cast<queues::queue_index>(quota));
      for (std::size_t at = 0; at < width; ++at) {
        const std::int64_t asks = its.requested(resources.kinds()[at]), uses = its.used(resources.kinds()[at]);
        wide_requested[quota * width + at] += asks;
        wide_used[quota * width + at] += uses;
        if (above != queues::no_queue) wide_requested[above * width + at] -= asks;
        wide_used[(above == queues::no_queue ? list.size() : above) * width + at] -= uses;
      }
    }
    cluster.each_nominated([&](const pod_info& other) {
      const queues::queue_index its = list.find(other.queue());
      const int counts = who != nullptr && keeps_its_quota(other, *who) ? 1 : 0, is_there = other.node() ? 1 : 0;
      const std::size_t row = its == queues::no_queue ? list.size() : its;
      for (std::size_t at = 0; at < width; ++at)
        wide_used[row * width + at] += (counts - is_there) * wide{other.request(resources.kinds()[at])};
    });
    amounts left = room;
    for (const auto& [from, to] : {std::pair{&wide_used, &used}, std::pair{&wide_requested, &requested}})
      for (std::size_t i = 0; i < to->size(); ++i) {
        (*to)[i] = static_cast<std::int64_t>(std::clamp<wide>((*from)[i], 0, left[i % width]));
        left[i % width] -= (*to)[i];
      }
    // Sums have room for what grows when what shrinks has done so.
    for (const std::int64_t sign : {-1, 1}) {
      for (std::size_t quota = 0; quota < all; ++quota)
        move(static_cast<queues::queue_index>(quota), requested, used, sign);
    }
    quotas->set_total(total).value();
  }
  void move(queues::queue_index quota, const amounts& requested, const amounts& used, std::int64_t sign) {
    const std::size_t width = resources.size();
    amounts more_requested(width), more_used(width);
    bool any_requested = false, any_used = false;
    const auto accounts = quotas->accounts(quota);
    for (std::size_t at = 0; at < width; ++at) {
      more_requested[at] = std::max<std::int64_t>(sign * (requested[quota * width + at] - accounts[at].own_request), 0);
      more_used[at] = std::max<std::int64_t>(sign * (used[quota * width + at] - accounts[at].own_used), 0);
      any_requested = any_requested || more_requested[at] != 0;
      any_used = any_used || more_used[at] != 0;
    }
    if (sign < 0) {
      if (any_used) quotas->unassign_pod(quota, {more_used}).value();
      if (any_requested) quotas->remove_pod(quota, {more_requested}).value();
    } else {
      if (any_requested) quotas->add_pod(quota, {more_requested}).value();
      if (any_used) quotas->assign_pod(quota, {more_used}).value();
    }
  }
};

/// Less important pods of the same quota that are preemptible.
struct elastic_quota_policy::rule final : victim_rule {
  const elastic_quota_policy& policy;
  const books& of;
  queues::queue_index quota;
  std::int32_t priority;
  row_t own_tree = no_row;

  rule(const elastic_quota_policy& with, const books& b, queues::queue_index its, std::int32_t than)
      : policy(with), of(b), quota(its), priority(than) {}

  [[nodiscard]] bool anybody(const cluster_view& cluster) const override { return anybody_below(cluster, priority); }
  [[nodiscard]] bool may_go(const pod_info& pod) const override {
    if (victim_priority(pod) >= priority || of.list.find(pod.queue()) != quota || !policy.is_preemptible(pod))
      return false;
    return own_tree == no_row || !pod.group() || pod.group()->root().row() != own_tree;
  }
  void arrange(const cluster_view& cluster, std::vector<victim_unit>& units) const override {
    victim_rule::arrange(cluster, units);
    drop_partial_units(cluster, *this, units);
  }
};

/// One pod's search for the node whose victims cost least. The filter is off while it lives.
struct elastic_quota_policy::search {
  books& of;
  queues::queue_index quota;
  std::optional<books::quota_list> own_quotas = {};  ///< of a pod that is not preemptible
  books::amounts request;
  bool preemptible;
  std::vector<books::amounts> requests = {};  ///< by unit
  std::optional<node_victims> nodes = {};

  search(books& b, const pod_info& pod, bool is_preemptible)
      : of(b), quota(b.list.find(pod.queue())), request(b.resources.nothing()), preemptible(is_preemptible) {
    of.resources.add_request(pod, request);
    of.aside = true;
  }
  search(const search&) = delete;
  search& operator=(const search&) = delete;
  ~search() { of.aside = false; }

  void collect(trial& attempt, const pod_info& pod, const rule& by) {
    const cluster_view cluster = attempt.cluster();
    nodes.emplace(attempt, pod, by);
    for (const victim_unit& unit : nodes->units()) {
      books::amounts& its = requests.emplace_back(of.resources.nothing());
      for (const pod_id id : unit.pods) of.resources.add_request(*cluster.pod(id), its);
    }
  }

  /// The node; a victim taken from it is also taken from the quota's use.
  struct counted_node {
    search& in;
    std::span<const std::uint32_t> here;
    queues::trial_node& node;
    std::vector<char> gone;

    void remove(std::uint32_t i) {
      node.remove(i);
      if (in.counts()) (void)in.quotas().unassign_pod(in.quota, {in.requests[here[i]]});
      gone[i] = 1;
    }
    void put_back(std::uint32_t i) {
      node.put_back(i);
      if (in.counts()) (void)in.quotas().assign_pod(in.quota, {in.requests[here[i]]});
      gone[i] = 0;
    }
    bool fits() { return node.fits(); }
    bool violates_budget(std::uint32_t i) { return node.violates_budget(i); }
  };
  [[nodiscard]] books::quota_list& quotas() { return own_quotas ? *own_quotas : *of.quotas; }
  [[nodiscard]] bool counts() const { return quota != queues::no_queue; }
  [[nodiscard]] bool over_quota() { return counts() && !quotas().admit(quota, {request, preemptible}).value(); }

  status choose(std::span<const std::uint32_t> here, queues::trial_node& node, node_victims::choice& out) {
    const status helpless = status::unschedulable("preemption is not helpful for scheduling");
    counted_node there{*this, here, node, std::vector<char>(here.size())};
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < here.size(); ++i) {
      all.push_back(i);
      there.remove(i);
    }
    status said = helpless;
    if (there.fits() && !over_quota()) {
      queues::victim_list found = queues::put_back(all, there, [&] { return over_quota(); });
      said = found.failed         ? status::error("a pod would have to go twice")
             : found.pods.empty() ? helpless
                                  : status::success();
      std::sort(found.pods.begin(), found.pods.end());
      out = {std::move(found.pods), found.violating};
    }
    for (std::uint32_t i = 0; counts() && i < here.size(); ++i)
      if (there.gone[i] != 0) (void)quotas().assign_pod(quota, {requests[here[i]]});
    return said;
  }
  [[nodiscard]] node_victims::policy chooser() { return std::bind_front(&search::choose, this); }
};

GANGSCHED_INLINE elastic_quota_policy::books& elastic_quota_policy::read(const cluster_view& cluster,
                                                                         const pod_info* who) const {
  books_->read(cluster, options_.quotas);
  books_->count(cluster, who);
  return *books_;
}

GANGSCHED_INLINE bool elastic_quota_policy::is_preemptible(const pod_info& pod) const {
  return pod.label(options_.preemptible_label) != "false";
}

namespace detail {
inline status elastic_quota_admits(const std::optional<queue_view>& queue) {
  return !queue || queue->admits() ? status::success() : status::pending(queue_admits_nobody);
}
}  // namespace detail

GANGSCHED_INLINE status elastic_quota_policy::admit(const pod_view& pod, const cluster_view& cluster) const {
  return detail::elastic_quota_admits(cluster.queue_of(pod));
}
GANGSCHED_INLINE status elastic_quota_policy::admit(const group_view& group, const cluster_view&) const {
  return detail::elastic_quota_admits(group.queue());
}

GANGSCHED_INLINE queues::koordinator::quota_verdict elastic_quota_policy::check(const pod_info& pod,
                                                                                const cluster_view& cluster) const {
  if (!pod.queue()) return {};
  books& of = read(cluster, &pod);
  const queues::queue_index its = of.list.find(pod.queue());
  books::amounts request = of.resources.nothing();
  of.resources.add_request(pod, request);
  if (is_preemptible(pod)) return of.quotas->admit(its, {request}).value();
  books::quota_list with = with_non_preemptible(cluster);
  return with.admit(its, {request, false}).value();
}

GANGSCHED_INLINE const queues::koordinator::elastic_quotas& elastic_quota_policy::quotas(
    const cluster_view& cluster) const {
  books& of = read(cluster);
  of.quotas->refresh();
  return *of.quotas;
}

GANGSCHED_INLINE void elastic_quota_policy::finish_filter(const pod_info& pod, const cluster_view& cluster,
                                                          std::span<filtered_group> groups) const {
  using reason = queues::koordinator::quota_verdict::reason;
  if (books_->aside || !pod.queue()) return;
  if (!pod.queue()->admits()) {  // its own, where that of its group does
    for (filtered_group& group : groups) group.verdict = status::unresolvable(queue_admits_nobody);
    return;
  }
  const auto verdict = check(pod, cluster);
  if (verdict) return;
  const status said =
      status::unschedulable(verdict.why == reason::over_quota ? "its quota would use more than it may now"
                            : verdict.why == reason::non_preemptible
                                ? "pods of its quota that are not preemptible would use more than its min"
                                : "a quota above its own would use more than it may now");
  refuse_all(groups, said);
}

GANGSCHED_INLINE victim_plan elastic_quota_policy::post_filter(trial& attempt, const pod_info& pod) const {
  victim_plan plan;
  plan.verdict = status::unresolvable(detail::no_elastic_victims);
  if (pod.spec().preemption == preemption_policy::never) {
    plan.verdict = status::unresolvable("not eligible due to preemptionPolicy=Never.");
    plan.keep_nomination = true;
    return plan;
  }
  const cluster_view cluster = attempt.cluster();
  books& of = read(cluster);
  const bool preemptible = is_preemptible(pod);
  search one{of, pod, preemptible};
  if (!preemptible && one.counts()) one.own_quotas = with_non_preemptible(cluster);
  const rule by{*this, of, one.quota, pod.priority()};
  const auto leaves = [&](const pod_info& other) {
    return of.list.find(other.queue()) == one.quota && victim_priority(other) < pod.priority();
  };
  if (waits_for_leaving(attempt, pod, leaves)) {
    plan.keep_nomination = true;
    return plan;
  }
  one.collect(attempt, pod, by);
  std::optional<node_candidate> best = one.nodes->best(one.chooser());
  if (!best) return plan;
  return std::move(*best).plan(detail::why_elastic_quota_evicts);
}

GANGSCHED_INLINE victim_plan elastic_quota_policy::group_preempt(trial& attempt, const group_view& group) const {
  victim_plan plan;
  plan.verdict = status::unresolvable(detail::no_elastic_victims);
  const books& of = read(attempt.cluster());
  const auto queue = group.queue();
  rule by{*this, of, of.list.find(queue), tree_priority(group)};
  by.own_tree = group.root().row();
  victim_plan made = find_group_victims(attempt, group, by, false, {});
  made.reason = detail::why_elastic_quota_evicts;
  if (made.verdict.code == code::error || (made.verdict.ok() && !made.victims.empty())) return made;
  plan.keep_nomination = made.keep_nomination;
  return plan;
}

/// Counts what pods use that are not preemptible as such. O(pods).
GANGSCHED_INLINE queues::koordinator::elastic_quotas elastic_quota_policy::with_non_preemptible(
    const cluster_view& cluster) const {
  books::quota_list made = *books_->quotas;
  cluster.each_pod([&](const pod_info& pod) {
    const queues::queue_index its = books_->list.find(pod.queue());
    if (its == queues::no_queue || !pod.node() || pod.nominated_node() || is_preemptible(pod)) return;
    books::amounts request = books_->resources.nothing();
    books_->resources.add_request(pod, request);
    if (made.unassign_pod(its, {request})) made.assign_pod(its, {request, false}).value();
  });
  return made;
}

GANGSCHED_INLINE std::vector<pod_id> elastic_quota_policy::to_revoke(const cluster& of, instant now,
                                                                     overuse_watch& watch) const {
  return to_revoke(cluster_view{detail::inside(of)}, now, watch);
}

GANGSCHED_INLINE std::vector<pod_id> elastic_quota_policy::to_revoke(const cluster_view& of, instant now,
                                                                     overuse_watch& watch) const {
  struct running {
    std::vector<pod_id> pods = {};
    std::vector<books::amounts> requests = {};
    std::vector<queues::koordinator::assigned_pod> assigned = {};
    books::amounts leaving = {};
  };
  books& known = read(of);
  std::map<queue_id, queues::koordinator::overuse_monitor> watched;
  std::map<queues::queue_index, running> over;
  for (std::size_t at = 0; at < known.list.size(); ++at) {
    const auto quota = static_cast<queues::queue_index>(at);
    auto monitor = queues::koordinator::overuse_monitor{now, watch.delay};
    if (const auto its = watch.quotas.find(known.list.id(at)); its != watch.quotas.end()) monitor = its->second;
    if (monitor.look(now, known.quotas->is_over_runtime(quota))) over[quota].leaving = known.resources.nothing();
    watched.emplace(known.list.id(at), monitor);
  }
  if (!over.empty())
    of.each_pod([&](const pod_info& pod) {
      const auto its = over.find(known.list.find(pod.queue()));
      if (its == over.end() || !pod.node()) return;
      if (pod.terminating()) return known.resources.add_request(pod, its->second.leaving);
      its->second.pods.push_back(pod.id());
      known.resources.add_request(pod, its->second.requests.emplace_back(known.resources.nothing()));
    });
  std::vector<pod_id> made;
  for (auto& [quota, its] : over) {
    const auto accounts = known.quotas->accounts(quota);
    books::amounts used = known.resources.nothing(), runtime = used;
    for (std::size_t at = 0; at < used.size(); ++at) {
      used[at] = std::max<std::int64_t>(accounts[at].used - queues::amount_or_zero(its.leaving[at]), 0);
      if (queues::is_named(accounts[at].max)) runtime[at] = accounts[at].runtime;
    }
    for (std::size_t i = 0; i < its.pods.size(); ++i) {
      const pod_info pod = *of.pod(its.pods[i]);
      its.assigned.push_back(
          {its.requests[i], pod.priority(), pod.start_time().value_or(instant{}), is_preemptible(pod)});
    }
    for (const std::uint32_t one : queues::koordinator::pods_to_revoke(used, runtime, its.assigned))
      made.push_back(its.pods[one]);
  }
  watch.quotas.swap(watched);
  return made;
}

GANGSCHED_INLINE result<elastic_quota_policy> elastic_quota_policy::from(const argument& args) {
  options chosen;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    bool* const meant = key == "enableRuntimeQuota"       ? &chosen.quotas.runtime
                        : key == "enableCheckParentQuota" ? &chosen.quotas.check_parents
                        : key == "enableMinQuotaScale"    ? &chosen.quotas.scale_min
                                                          : nullptr;
    return meant == nullptr ? read.unknown(path) : read.flag(value, path, *meant);
  });
  if (!fine) return std::move(read).failure();
  return elastic_quota_policy{std::move(chosen)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
