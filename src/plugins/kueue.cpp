#include "gangsched/plugins/kueue.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/core/is_among.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/framework/placements.hpp"
#include "gangsched/policies/known_refusals.hpp"
#include "gangsched/policies/kueue_books.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {
inline constexpr const char* no_kueue_queue = "pods run in queues without children";
inline constexpr const char* no_kueue_quota = "couldn't assign flavors to its pods: insufficient quota";
inline constexpr const char* no_unused_kueue_quota =
    "couldn't assign flavors to its pods: insufficient unused quota, and nobody may be preempted for it";
inline constexpr const char* quota_for_fewer = "there is quota for fewer pods of its workload";
inline constexpr const char* why_kueue_evicts = "preempted to accommodate a workload that quota is due to";

/// Success if Kueue's rules can be applied to the queue; else why not.
inline status kueue_knows(const kueue_books& books, const std::optional<queue_view>& queue) {
  if (!queue->admits()) return status::pending(queue_admits_nobody);
  if (!books.quotas.fault().empty()) return status::pending("its cohorts are nested deeper than Kueue has them");
  return books.quotas.find(*queue) == queues::no_queue ? status::unschedulable(no_kueue_queue) : status::success();
}

}  // namespace detail

struct kueue_policy::memory {
  /// What a head is compared by.
  struct head {
    kueue_books::queue_index queue = queues::no_queue;
    std::uint32_t borrowing = 0;
    std::int32_t priority = 0;
    std::uint64_t arrival = 0;
    double used = 0;  ///< by its local queue, if past usage counts
    kueue_books::standing standing = {};
  };
  kueue_books books;
  std::uint64_t heads_at = 0;  ///< the number of changes they were made at
  std::map<row_t, head> heads = {};
  known_refusals refused = {};

  explicit memory(const options& chosen)
      : books(chosen.fair_sharing, chosen.partial_admission, chosen.by_local_usage) {}

  [[nodiscard]] const head& of(const queue_head& asked, const cluster_view& cluster, bool fair) {
    if (heads_at != cluster.changes()) heads.clear();
    heads_at = cluster.changes();
    if (const auto known = heads.find(asked.pod.row); known != heads.end()) return known->second;
    return heads.emplace(asked.pod.row, look_at(asked, cluster, fair)).first->second;
  }
  [[nodiscard]] head look_at(const queue_head& asked, const cluster_view& cluster, bool fair) {
    const auto pod = cluster.pod(asked.pod);
    if (!pod) return {};
    const auto group = pod->group();
    const kueue_books::workload who = asked.group && group ? books.of(group->root()) : books.of(*pod);
    if (who.queue == queues::no_queue || who.sets.empty()) return {};
    const kueue_books::entry& entry = books.look(cluster, who);
    head made{who.queue, entry.flavors.borrowing, who.priority, who.arrival, books.score(cluster, who.queue, who.ns)};
    if (fair) made.standing = books.with(who, entry);
    return made;
  }

  /// How much of its quota a tree uses: the share of the resource and flavor that it uses most of.
  [[nodiscard]] double load(queues::queue_index root) {
    double most = 0;
    for (const queues::kueue::fr_index of : books.quotas.ledger().provided(root)) {
      const auto all = static_cast<double>(books.quotas.ledger().subtree_quota(root, of));
      if (all > 0) most = std::max(most, static_cast<double>(books.quotas.ledger().usage(root, of)) / all);
    }
    return most;
  }
  /// Compares queues where heads alone cannot decide: the one with the smaller share first, then the one that uses less of its quota.
  [[nodiscard]] bool uses_less(queues::queue_index a, queues::queue_index b) {
    const queues::kueue::quota_ledger& ledger = books.quotas.ledger();
    if (const int by_share = compare(ledger.share(a), ledger.share(b)); by_share != 0) return by_share < 0;
    return std::pair{load(a), a} < std::pair{load(b), b};
  }
  [[nodiscard]] bool shares_first(const head& a, const head& b) {
    const queues::queue_tree& tree = books.quotas.all().tree();
    queues::queue_index x = a.queue, y = b.queue;
    if (tree.root_of(x) != tree.root_of(y)) {
      x = tree.root_of(x), y = tree.root_of(y);
      return std::pair{load(x), x} < std::pair{load(y), y};
    }
    while (tree.depth(x) > tree.depth(y)) x = tree.parent(x);
    while (tree.depth(y) > tree.depth(x)) y = tree.parent(y);
    while (tree.parent(x) != tree.parent(y)) x = tree.parent(x), y = tree.parent(y);
    const auto standing = [&](queues::queue_index node, const head& its) {
      if (node == its.queue) return its.standing;
      const queues::kueue::dominant_share share = books.quotas.ledger().share(node);
      return kueue_books::standing{share.borrows, share};
    };
    const kueue_books::standing of_x = standing(x, a), of_y = standing(y, b);
    if (of_x.borrows != of_y.borrows) return of_y.borrows;
    if (const int by_share = compare(of_x.share, of_y.share); by_share != 0) return by_share < 0;
    const bool is_cohort = x != a.queue, other_is_cohort = y != b.queue;
    if (is_cohort || other_is_cohort) return std::pair{is_cohort, x} < std::pair{other_is_cohort, y};
    return a.priority != b.priority ? a.priority > b.priority : a.arrival < b.arrival;
  }
};

/// One call's search for room.
struct kueue_policy::search {
  trial& attempt;
  kueue_books& books;
  kueue_books::workload who;
  std::optional<pod_info> pod = {};
  std::optional<group_view> group = {};
  std::vector<assignment> placed = {};

  [[nodiscard]] victim_plan run() {
    victim_plan plan;
    plan.verdict = status::unresolvable("its queue may preempt nobody whose nodes would do");
    if (who.queue == queues::no_queue || who.sets.empty()) return plan;
    if (waits_for_victims()) {
      plan.keep_nomination = true;
      return plan;
    }
    std::vector<pod_id> leaving;
    attempt.cluster().each_pod([&](const pod_info& one) {
      if (one.node() && one.terminating()) leaving.push_back(one.id());
    });
    for (const pod_id one : leaving) attempt.remove(one);
    const kueue_books::entry made = books.look(attempt.cluster(), who);
    if (made.flavors.mode == queues::kueue::fit_mode::fit) {
      if (!leaving.empty() && place(nullptr))
        promise(plan);
      else
        plan.verdict = status::unschedulable("its quota is there, and no node that would do has room");
      return plan;
    }
    if (made.targets.empty() || !may_preempt()) return plan;
    const std::vector<pod_id> victims = pods_of(made.targets);
    if (tries(victims, made, nullptr)) {
      plan.victims = victims;
      promise(plan);
    } else if (pod) {
      look_node_by_node(plan);
    } else {
      look_on_more_and_more(plan);
    }
    if (plan.verdict.ok()) plan.reason = detail::why_kueue_evicts;
    return plan;
  }

  template <class Visit>
  void each_member(const Visit& visit) const {
    if (pod) visit(*pod);
    if (group) group->root().each_pod_below(visit);
  }
  [[nodiscard]] bool waits_for_victims() const {
    bool waits = false;
    each_member([&](const pod_info& member) { waits = waits || awaits_victims(member); });
    return waits;
  }
  [[nodiscard]] bool may_preempt() const {
    if (group && group->root().spec().preemption) return *group->root().spec().preemption != preemption_policy::never;
    bool may = true;
    each_member([&](const pod_info& member) {
      may = may && (member.node() || member.spec().preemption != preemption_policy::never);
    });
    return may;
  }
  void promise(victim_plan& plan) const {
    plan.verdict = status::success();
    plan.nominated = placed.front().node;
    if (group) plan.nominations = placed;
  }

  /// Finds nodes as the trial stands; fills `placed`. @p only: the one node that a pod may use; null: any.
  [[nodiscard]] bool place(const node_id* only) {
    placed.clear();
    if (group) return attempt.place(*group, placed).ok() && !placed.empty();
    std::vector<node_id> nodes;
    if (only != nullptr)
      nodes.push_back(*only);
    else
      attempt.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    for (const node_id node : nodes) {
      if (!attempt.filter(pod->id(), node).ok()) continue;
      placed.push_back({pod->id(), node});
      return true;
    }
    return false;
  }
  /// All pods of the workloads, in the order of the workloads.
  [[nodiscard]] std::vector<pod_id> pods_of(const std::vector<queues::kueue::preemption_target>& targets) const {
    std::vector<pod_id> made;
    for (const queues::kueue::preemption_target& one : targets) {
      const std::vector<pod_id>& all = books.jobs().all()[one.workload].pods;
      made.insert(made.end(), all.begin(), all.end());
    }
    return made;
  }
  /// Whether the workload finds nodes once @p victims are gone. Leaves the trial as it was; rows of jobs may change.
  [[nodiscard]] bool tries(const std::vector<pod_id>& victims, const kueue_books::entry& made, const node_id* only) {
    for (const pod_id one : victims) attempt.remove(one);
    bool fits = false;
    {  // They go for as many pods as the entry is for: with them gone others could go for more.
      const struct guard {
        guard(kueue_books& of, const kueue_books::workload& by, const kueue_books::entry& as) : books{&of}, who{&by} {
          of.fix_counts(by, &as);
        }
        ~guard() { books->fix_counts(*who, nullptr); }
        kueue_books* books;
        const kueue_books::workload* who;
      } fixed{books, who, made};
      fits = place(only);
    }
    for (auto one = victims.rbegin(); one != victims.rend(); ++one) attempt.restore(*one);
    return fits;
  }

  /// By job: whether it has a pod on one of the nodes, shares the tree of cohorts, and is not the workload itself.
  [[nodiscard]] std::vector<bool> jobs_on(std::span<const row_t> nodes) const {
    const cluster_view cluster = attempt.cluster();
    books.list_jobs(cluster);
    const kueue_jobs& jobs = books.jobs();
    const queues::queue_index root = books.quotas.root_of(who.queue);
    std::vector<bool> made(jobs.all().size());
    for (const row_t node : nodes) {
      cluster.node_at(node)->each_pod([&](const pod_info& there) {
        const row_t its = jobs.of_pod(there.row());
        if (its != no_row && jobs.root_of(its) == root && !owns(jobs.all()[its])) made[its] = true;
      });
    }
    return made;
  }
  [[nodiscard]] bool owns(const kueue_jobs::job& one) const {
    return one.tree == no_row ? is_among(who.pod, one.pods) : one.tree == who.tree;
  }
  /// Looks for victims on one node alone. Takes the node whose victims are least important, then fewest, then the first node.
  void look_node_by_node(victim_plan& plan) {
    std::optional<std::tuple<std::int32_t, std::size_t>> least;
    std::vector<node_id> nodes;
    attempt.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    for (const node_id node : nodes) {
      const std::vector<bool> may_go = jobs_on({&node.row, 1});
      if (std::find(may_go.begin(), may_go.end(), true) == may_go.end()) continue;
      const kueue_books::entry made = books.look_again(attempt.cluster(), who, may_go);
      const std::vector<queues::kueue::preemption_target>& targets = made.targets;
      if (targets.empty()) continue;
      std::int32_t highest = books.jobs().all()[targets.front().workload].priority;
      for (const queues::kueue::preemption_target& one : targets)
        highest = std::max(highest, books.jobs().all()[one.workload].priority);
      std::vector<pod_id> victims = pods_of(targets);
      const std::tuple cost{highest, victims.size()};
      if ((least && *least <= cost) || !tries(victims, made, &node)) continue;
      least = cost;
      plan.victims = std::move(victims);
      promise(plan);
    }
  }
  /// Looks for victims on the nodes with most pods that could go: on one node, then on two, four and so on.
  void look_on_more_and_more(victim_plan& plan) {
    std::map<row_t, std::size_t> count;
    const cluster_view cluster = attempt.cluster();
    books.list_jobs(cluster);
    const queues::queue_index root = books.quotas.root_of(who.queue);
    for (const kueue_jobs::job& one : books.jobs().all())
      for (const pod_id id : one.pods)
        if (books.jobs().root_of(books.jobs().of_pod(id.row)) == root)
          count[cluster.pod(id)->node()->id().row] += owns(one) ? 0 : 1;
    std::vector<std::pair<std::size_t, row_t>> order;
    for (const auto& [row, pods] : count) order.emplace_back(pods, row);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t nodes = 1; nodes < order.size(); nodes *= 2) {
      std::vector<row_t> meant;
      for (std::size_t i = 0; i < nodes; ++i) meant.push_back(order[i].second);
      const kueue_books::entry made = books.look_again(cluster, who, jobs_on(meant));
      std::vector<pod_id> victims = pods_of(made.targets);
      if (victims.empty() || !tries(victims, made, nullptr)) continue;
      plan.victims = std::move(victims);
      promise(plan);
      return;
    }
  }
};

GANGSCHED_INLINE kueue_policy::memory& kueue_policy::read(const cluster_view& cluster) const {
  memory& of = memory_.made(options_);
  of.books.scores = scores_;
  of.books.read(cluster);
  return of;
}

GANGSCHED_INLINE bool kueue_policy::queue_before(const queue_head& a, const queue_head& b,
                                                 const cluster_view& cluster) const {
  memory& known = read(cluster);
  const bool fair = options_.fair_sharing.enabled;
  const memory::head first = known.of(a, cluster, fair), second = known.of(b, cluster, fair);
  const auto rank = [](const queue_head& asked, const memory::head& its) {
    return asked.queue < 0 ? 0 : its.queue == queues::no_queue ? 2 : 1;
  };
  const int of_a = rank(a, first), of_b = rank(b, second);
  if (of_a != of_b || of_a != 1) return of_a < of_b;
  const bool same = first.queue == second.queue;  // of two namespaces
  if (same && first.used != second.used) return first.used < second.used;
  const auto by_usage = [&](queues::queue_index of) { return known.books.quotas.all().by_local_usage(of); };
  if (!same && fair) return known.shares_first(first, second);
  if (!same && (by_usage(first.queue) || by_usage(second.queue))) return known.uses_less(first.queue, second.queue);
  if (!same && first.borrowing != second.borrowing) return first.borrowing < second.borrowing;
  return first.priority != second.priority ? first.priority > second.priority : first.arrival < second.arrival;
}

/// A pod, or a group.
template <class Asked>
status kueue_policy::admit_one(const Asked& asked, const cluster_view& cluster) const {
  using queues::kueue::fit_mode;
  const auto queue = asked.queue();
  if (!queue) return status::success();
  memory& of = read(cluster);
  kueue_books& books = of.books;
  if (const status known = detail::kueue_knows(books, queue); !known.ok()) return known;
  // With strict heads, or within_queue by age, the answer depends on which workloads came before: it is not reused.
  const bool strict = queue->spec().heads == head_rule::strict;
  const bool by_age = queue->spec().within_queue == queue_preemption::lower_or_newer_equal_priority;
  const auto request = strict || by_age ? std::nullopt : known_refusals::of(asked);
  if (const status* const said = of.refused.find(request, cluster)) return *said;
  const kueue_books::workload who = books.of(asked);
  if (who.sets.empty()) return status::success();
  if (strict) {
    const auto one = cluster.pod(who.sets.front().like);
    if (one && books.has_earlier(cluster, who, *one))
      return status::pending("an earlier workload of its queue waits, and the queue goes strictly in order");
  }
  const kueue_books::entry& made = books.look(cluster, who);
  if (!made.targets.empty()) return status::success();
  if (made.flavors.mode == fit_mode::fit)
    return kueue_books::has_place(who, made, asked) ? status::success() : status::pending(detail::quota_for_fewer);
  const bool never = made.flavors.mode == fit_mode::no_fit;
  const status said = status::pending(never ? detail::no_kueue_quota : detail::no_unused_kueue_quota);
  if (request) of.refused.add(*request, said);
  return said;
}

GANGSCHED_INLINE status kueue_policy::admit(const pod_info& pod, const cluster_view& cluster) const {
  return admit_one(pod, cluster);
}

GANGSCHED_INLINE status kueue_policy::admit(const group_view& group, const cluster_view& cluster) const {
  return admit_one(group, cluster);
}

GANGSCHED_INLINE std::string kueue_policy::admission_words(const pod_info& pod, const cluster_view& cluster) const {
  const auto queue = pod.queue();
  kueue_books& books = read(cluster).books;
  if (!queue || !detail::kueue_knows(books, queue).ok()) return books.quotas.fault();
  const auto group = pod.group();
  const kueue_books::workload who = group ? books.of(group->root()) : books.of(pod);
  if (who.queue == queues::no_queue || who.sets.empty()) return {};
  static_cast<void>(books.look(cluster, who));
  std::string said = books.words(cluster, who);
  std::uint32_t all = 0, there = 0;
  if (group) {
    group->root().each_pod_below([&](const pod_info& member) {
      ++all;
      there += member.node() ? 1 : 0;
    });
  }
  // With fewer than all.
  if (there > 0)
    said = std::to_string(there) + " of " + std::to_string(all) + " pods of its workload are admitted; " + said;
  return said;
}

GANGSCHED_INLINE void kueue_policy::finish_filter(const pod_info& pod, const cluster_view& cluster,
                                                  std::span<filtered_group> groups) const {
  const auto queue = pod.queue();
  if (!queue) return;
  kueue_books& books = read(cluster).books;
  if (!detail::kueue_knows(books, queue).ok()) {
    refuse_all(groups, status::unresolvable(queue_admits_nobody));
    return;
  }
  const auto& [who, made] = books.look_at(cluster, pod);
  for (filtered_group& group : groups) {
    const auto flavor = cluster.flavor_at(static_cast<row_t>(group.key));
    const flavor_id on = flavor ? flavor->id() : flavor_id{};
    if (made.flavors.mode != queues::kueue::fit_mode::fit)
      group.verdict = status::unschedulable(detail::no_kueue_quota);
    else if (!kueue_books::has_place(who, made, pod))
      group.verdict = status::unschedulable(detail::quota_for_fewer);
    else if (!books.is_for(who, made, pod, on))
      group.verdict = status::unschedulable("its workload has another flavor");
  }
}

GANGSCHED_INLINE victim_plan kueue_policy::post_filter(trial& attempt, const pod_info& pod) const {
  const auto queue = pod.queue();
  if (!queue) return {};
  kueue_books& books = read(attempt.cluster()).books;
  if (const status known = detail::kueue_knows(books, queue); !known.ok())
    return {.verdict = status::unresolvable(queue_admits_nobody)};
  return search{attempt, books, books.of(pod), pod}.run();
}

GANGSCHED_INLINE victim_plan kueue_policy::group_preempt(trial& attempt, const group_view& group) const {
  const auto queue = group.queue();
  if (!queue) return {};
  kueue_books& books = read(attempt.cluster()).books;
  if (const status known = detail::kueue_knows(books, queue); !known.ok())
    return {.verdict = status::unresolvable(queue_admits_nobody)};
  return search{attempt, books, books.of(group), {}, group}.run();
}

GANGSCHED_INLINE result<kueue_policy> kueue_policy::from(const argument& args) {
  using queues::kueue::fair_strategy;
  options chosen;
  argument_reader read{name};
  const auto read_strategies = [&](const argument& value, const std::string& path) {
    std::vector<fair_strategy> all;
    const bool fine = read.items(value, path, [&](const argument& item, const std::string& at) {
      return read.word(item, at,
                       {{"LessThanOrEqualToFinalShare", fair_strategy::less_or_equal_final},
                        {"LessThanInitialShare", fair_strategy::less_than_initial}},
                       all.emplace_back());
    });
    if (!fine) return false;
    const bool known = all.size() == 1 || (all.size() == 2 && all[0] == fair_strategy::less_or_equal_final &&
                                           all[1] == fair_strategy::less_than_initial);
    if (!known)
      return read.fail(errc::malformed, path,
                       "has to be one strategy, or LessThanOrEqualToFinalShare and then LessThanInitialShare");
    chosen.fair_sharing.first = all[0];
    chosen.fair_sharing.then_less_than_initial = all.size() == 2;
    return true;
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "usageBasedQueues")
      return read.items(value, path, [&](const argument& item, const std::string& at) {
        return read.text(item, at, chosen.by_local_usage.emplace_back());
      });
    if (key == "partialAdmission") return read.flag(value, path, chosen.partial_admission);
    if (key != "fairSharing") return read.unknown(path);
    return read.fields(value, path, [&](std::string_view field, const argument& its, const std::string& at) {
      if (field == "preemptionStrategies") return read_strategies(its, at);
      return field == "enable" ? read.flag(its, at, chosen.fair_sharing.enabled) : read.unknown(at);
    });
  });
  if (!fine) return std::move(read).failure();
  return kueue_policy{chosen};
}

}  // namespace gangsched::inline GANGSCHED_ABI
