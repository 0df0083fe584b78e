#include "gangsched/plugins/volcano.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/framework/disruption.hpp"
#include "gangsched/policies/group_need.hpp"
#include "gangsched/policies/node_victims.hpp"
#include "gangsched/policies/volcano_books.hpp"
#include "gangsched/policies/volcano_configuration.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

inline constexpr const char* why_volcano_reclaims = "its queue has more than it deserves, and another one less";
inline constexpr const char* why_volcano_preempts = "a job of its queue that goes first needs what it uses";
inline constexpr const char* no_volcano_victims = "nobody goes for it by what Volcano's plugins say together";
/// system-cluster-critical and what is above it.
inline constexpr std::int32_t volcano_critical = 2'000'000'000;

inline status volcano_queue_admits(const queue_view& queue) {
  if (!queue.admits()) return status::pending(queue_admits_nobody);
  return queue.has_children() ? status::unschedulable("pods run in queues without children") : status::success();
}

/// Whether all groups of a tree have their minimums. Waiting pods that ask for nothing count as members. O(members).
inline bool volcano_gang_ready(const volcano_books& books, const group_view& root) {
  bool ready = true;
  const auto look = [&](const group_view& group, const auto& self) -> void {
    std::uint32_t has = 0;
    group.each_member([&](const pod_info& pod) {
      has += pod.node() ? (pod.terminating() ? 0 : 1) : books.request_of(pod).is_empty() ? 1 : 0;
    });
    if (!group.spec().composite) ready = ready && has >= group.min_count();
    group.each_child([&](const group_view& child) { self(child, self); });
  };
  look(root, look);
  return ready;
}

}  // namespace detail

GANGSCHED_INLINE queues::volcano::session_options volcano_policy::options::defaults() {
  using queues::volcano::action;
  using queues::volcano::plugin_name;
  return {
      .actions = {action::enqueue, action::allocate, action::backfill},
      .tiers = {{{.name = plugin_name::priority}, {.name = plugin_name::gang}},
                {{.name = plugin_name::overcommit}, {.name = plugin_name::drf}, {.name = plugin_name::proportion}}}};
}

GANGSCHED_INLINE volcano_policy::volcano_policy(options chosen) : options_(std::move(chosen)) {
  GANGSCHED_ASSERT(queues::volcano::check(options_.session));
  by_priority_ = find(options_.session.tiers, queues::volcano::plugin_name::priority) != nullptr;
}

GANGSCHED_INLINE volcano_books& volcano_policy::read(const cluster_view& cluster) const {
  books_->read(cluster, options_.session.tiers);
  return *books_;
}

GANGSCHED_INLINE bool volcano_policy::takes(queues::volcano::action one) const {
  return std::ranges::find(options_.session.actions, one) != options_.session.actions.end();
}

GANGSCHED_INLINE queues::volcano::queue_account volcano_policy::account(const queue_view& queue,
                                                                        const cluster_view& cluster) const {
  volcano_books& books = read(cluster);
  const queues::queue_index at = books.find(queue);
  if (books.shares() == nullptr || at == queues::no_queue) return {};
  books.follow(cluster, at);
  return books.shares()->account(at);
}

// --- order

GANGSCHED_INLINE std::int64_t volcano_policy::queue_of(const pod_info& pod) const {
  const auto queue = pod.queue();
  if (!queue) return -1;
  // Jobs of a queue that have nothing yet have equal shares and need no queue of their own; a job on nodes has its own.
  const auto group = pod.group();
  if (group && is_on_nodes(group->root())) return (std::int64_t{1} << 40) + group->root().row();
  return queue->row();
}

GANGSCHED_INLINE bool volcano_policy::queue_before(const queue_head& a, const queue_head& b,
                                                   const cluster_view& cluster) const {
  volcano_books& books = read(cluster);
  const auto pod_a = cluster.pod(a.pod), pod_b = cluster.pod(b.pod);
  const auto queue_of_one = [&](const auto& pod) { return pod ? books.find(pod->queue()) : queues::no_queue; };
  const queues::queue_index left = queue_of_one(pod_a), right = queue_of_one(pod_b);
  if (left == queues::no_queue || right == queues::no_queue)
    return left == queues::no_queue && right != queues::no_queue;
  const queues::volcano::votes all = books.votes(cluster, options_.session.tiers);
  if (left != right) {
    books.follow(cluster, left);
    books.follow(cluster, right);
    const std::weak_ordering said = all.order(left, right);
    return said != 0 ? said < 0 : left < right;
  }
  const auto rank = [&](const pod_info& pod, std::int32_t priority) {
    queues::volcano::job_rank made{.priority = priority};
    const auto group = pod.group();
    made.ready = group && detail::volcano_gang_ready(books, group->root());
    made.share = group ? books.share_of(group->root()) : 0;
    return made;
  };
  const std::weak_ordering said = all.order(rank(*pod_a, a.priority), rank(*pod_b, b.priority));
  return said != 0 ? said < 0 : less(a, b);
}

// --- what may start

GANGSCHED_INLINE status volcano_policy::may_enqueue(const pod_info& one, const queue_view& queue,
                                                    const cluster_view& cluster) const {
  if (!takes(queues::volcano::action::enqueue)) return status::success();
  volcano_books& books = read(cluster);
  const queues::queue_index at = books.find(queue);
  if (at == queues::no_queue) return status::success();
  volcano_books::resources least = books.request_of(one);
  if (const auto group = one.group()) {
    if (detail::volcano_gang_ready(books, group->root())) return status::success();  // it runs
    least = {};
    each_needed_pod(group->root(), [&](const pod_info& pod) { least.add(books.request_of(pod)); });
  }
  const auto kept = books.reserved(cluster, at, volcano_books::key_of(one));
  if (books.shares() != nullptr) {
    books.follow(cluster, at);
    books.shares()->set_reserved(at, kept.own_inqueue, kept.own_elastic);
  }
  std::optional<queues::volcano::overcommit> bound;
  if (const auto* const its = find(options_.session.tiers, queues::volcano::plugin_name::overcommit)) {
    const queues::volcano::job_load all{.phase = queues::volcano::job_phase::inqueue, .min_resources = kept.inqueue};
    bound.emplace(books.total(), books.used(cluster), its->overcommit_factor, std::span{&all, 1});
  }
  const queues::volcano::votes votes{&options_.session.tiers, &books.total(), books.shares(), nullptr, {}};
  if (votes.enqueueable(at, least, books.shares(), bound ? &*bound : nullptr)) return status::success();
  return status::pending("its queue, or the cluster, has no room for what it needs to start");
}

GANGSCHED_INLINE status volcano_policy::admit(const pod_info& pod, const cluster_view& cluster) const {
  const auto queue = pod.queue();
  if (!queue) return status::success();
  const status said = detail::volcano_queue_admits(*queue);
  return said.ok() ? may_enqueue(pod, *queue, cluster) : said;
}

GANGSCHED_INLINE status volcano_policy::admit(const group_view& group, const cluster_view& cluster) const {
  status said = status::success();
  std::optional<pod_info> one;
  group.each_pod_below([&](const pod_info& pod) {
    const auto its = pod.queue();  // members may name queues of their own
    if (its && said.ok()) said = detail::volcano_queue_admits(*its);
    if (!one && pod.state() == pod_state::pending) one = pod;
  });
  const auto queue = group.queue();
  return said.ok() && one && queue ? may_enqueue(*one, *queue, cluster) : said;
}

GANGSCHED_INLINE void volcano_policy::finish_filter(const pod_info& pod, const cluster_view& cluster,
                                                    std::span<filtered_group> groups) const {
  const auto queue = pod.queue();
  if (!queue) return;
  const auto refuse = [&](const status& why) { refuse_all(groups, why); };
  volcano_books& books = read(cluster);
  const queues::queue_index at = books.find(queue);
  if (at == queues::no_queue || !queue->admits()) return refuse(status::unresolvable(queue_has_no_pods));
  // Room reserved for jobs whose victims were evicted.
  const volcano_books::job_key own = volcano_books::key_of(pod);
  std::vector<pod_info> promised;
  cluster.each_nominated([&](const pod_info& other) {
    if (other.node() || other.id() == pod.id() || !other.queue()) return;
    if (own.first != no_row && volcano_books::key_of(other) == own) return;
    if (*other.queue() == *queue && other.priority() < pod.priority()) return;
    promised.push_back(other);
  });
  const bool within = queue->each_up([&](const queue_view& one) {
    const queue_amounts* const quota = one.quota();
    if (quota == nullptr) return true;
    return std::ranges::all_of(quota->limit, [&](const amount& limit) {
      const std::int64_t asked = limit.kind == kinds::pods ? 1 : pod.request(limit.kind);
      std::int64_t used = one.used(limit.kind);
      for (const pod_info& other : promised) {
        bool below = false;
        other.queue()->each_up([&](const queue_view& up) { return below = below || up == one, !below; });
        if (below) used += limit.kind == kinds::pods ? 1 : other.request(limit.kind);
      }
      return asked == 0 || used + asked <= limit.value;
    });
  });
  if (!within) return refuse(status::unschedulable("over the limit of a queue that it is in"));
  if (books.shares() == nullptr) return;
  volcano_books::resources more;
  for (const pod_info& other : promised)
    if (*other.queue() == *queue) more.add(books.request_of(other));
  books.follow(cluster, at, more);
  if (books.shares()->allocatable(at, books.request_of(pod))) return;
  refuse(status::unschedulable("its queue would have more than it deserves, or may have"));
}

// --- victims

/// One job's search for room.
struct volcano_policy::search {
  using resources = volcano_books::resources;
  struct task {
    pod_id pod = {};
    std::uint32_t job = 0;
    std::int32_t priority = 0;
    std::uint64_t arrival = 0;
    resources request = {};
    instant start = {};
    bool stays = false;  ///< it is never a victim
    bool gone = false;
  };
  /// The pods of one group, or a pod without a group. Each group of a tree keeps its own minimum.
  struct job {
    queues::volcano::voting_job counts = {};
    std::int32_t pipelined = 0, tasks = 1;
    row_t tree = no_row;  ///< the root of its groups
    queues::volcano::job_rank rank = {};
  };

  const volcano_policy& policy;
  trial& attempt;
  volcano_books& books;
  std::optional<queues::volcano::queue_shares> shares = {};
  std::optional<volcano_books::tree> tree = {};
  std::vector<job> jobs = {};
  std::vector<task> running = {}, wanted = {};
  std::vector<std::vector<std::uint32_t>> on = {};              ///< running pods, by row of the node
  std::map<volcano_books::job_key, std::uint32_t> number = {};  ///< by row of the group, or of the pod
  std::vector<assignment> placed = {};
  std::vector<pod_id> victims = {};

  search(const volcano_policy& with, trial& in) : policy{with}, attempt{in}, books{with.read(in.cluster())} {
    const cluster_view cluster = attempt.cluster();
    if (const volcano_books::tree* const its = books.hierarchy(cluster)) tree = *its;
    if (books.shares() != nullptr) shares = *books.shares();
  }

  std::uint32_t job_of(const pod_info& pod) {
    const auto group = pod.group();
    const volcano_books::job_key key =
        group ? volcano_books::job_key{group->row(), no_row} : volcano_books::key_of(pod);
    const auto [found, made] = number.try_emplace(key, static_cast<std::uint32_t>(jobs.size()));
    if (!made) return found->second;
    job& one = jobs.emplace_back();
    one.counts.queue = books.find(pod.queue());
    one.counts.priority = one.rank.priority = victim_priority(pod);
    one.rank.created = static_cast<std::int64_t>(group ? group->root().arrival() : pod.arrival());
    one.rank.name = pod.name();
    if (group) {
      one.counts.min_member = static_cast<std::int32_t>(group->is_gang() ? group->min_count() : 1);
      one.tasks = static_cast<std::int32_t>(group->members());
      one.tree = group->root().row();
      one.rank.name = group->root().name();
    }
    if (tree) one.counts.leaf = leaf_of(pod, one.counts.queue);
    return found->second;
  }
  [[nodiscard]] queues::volcano::fair_hierarchy::node_index leaf_of(const pod_info& pod, queues::queue_index queue) {
    const auto [found, made] = tree->leaves.try_emplace(volcano_books::key_of(pod));
    if (!made) return found->second;
    resources all = books.request_of(pod);
    if (const auto group = pod.group()) {
      all = {};
      group->root().each_pod_below([&](const pod_info& member) { all.add(books.request_of(member)); });
    }
    return found->second = tree->jobs.add_job(tree->queue_nodes[queue], {}, all);
  }
  [[nodiscard]] task task_of(const pod_info& pod) {
    return {pod.id(), job_of(pod), pod.priority(), pod.arrival(), books.request_of(pod)};
  }

  /// Collects the running pods; takes leaving pods off their nodes.
  void collect() {
    const cluster_view cluster = attempt.cluster();
    on.resize(cluster.node_rows());
    std::vector<pod_id> leaving;
    cluster.each_node([&](const node_info& node) {
      node.each_pod([&](const pod_info& pod) {
        if (pod.terminating()) return leaving.push_back(pod.id());
        const auto queue = pod.queue();
        if (books.find(queue) == queues::no_queue) return;
        task one = task_of(pod);
        one.stays = is_protected(pod);
        one.start = victim_start(pod);
        on[node.id().row].push_back(static_cast<std::uint32_t>(running.size()));
        job& its = jobs[one.job];
        ++its.counts.ready;
        its.counts.allocated.add(one.request);
        running.push_back(std::move(one));
      });
    });
    for (const pod_id pod : leaving) attempt.remove(pod);
    for (job& one : jobs) {
      one.rank.share = dominant_share(one.counts.allocated, books.total());
      one.rank.ready = one.counts.ready >= one.counts.min_member;
    }
    if (!shares) return;
    std::vector<resources> used(books.queue_count());
    for (const task& one : running) used[jobs[one.job].counts.queue].add(one.request);
    cluster.each_nominated([&](const pod_info& pod) {  // promised
      const queues::queue_index its = books.find(pod.queue());
      if (!pod.node() && its != queues::no_queue) used[its].add(books.request_of(pod));
    });
    for (queues::queue_index at = 0; at < used.size(); ++at) shares->set_allocated(at, used[at]);
  }
  [[nodiscard]] bool is_protected(const pod_info& pod) const {
    if (policy.options_.spares_critical && (pod.priority() >= detail::volcano_critical || pod.ns() == "kube-system"))
      return true;
    return pod.label(policy.options_.preemptable_label) == "false" || disrupted_with(pod);
  }
  /// A pod that waits, and whose room is looked for.
  void want(const pod_info& pod) {
    if (shares && pod.nominated_node()) shares->release(books.find(pod.queue()), books.request_of(pod));
    wanted.push_back(task_of(pod));
  }

  [[nodiscard]] queues::volcano::votes votes() const {
    const auto* const tiers = &policy.options_.session.tiers;
    if (!tree) return {tiers, &books.total(), shares ? &*shares : nullptr, nullptr, {}};
    return {tiers, &books.total(), shares ? &*shares : nullptr, &tree->jobs, tree->queue_nodes};
  }
  [[nodiscard]] static queues::volcano::voting_task voter(const task& of) { return {of.job, of.priority, of.request}; }
  [[nodiscard]] bool same_job(const task& a, const task& b) const {
    return a.job == b.job || (jobs[a.job].tree != no_row && jobs[a.job].tree == jobs[b.job].tree);
  }
  /// Whether @p a is evicted before @p b: the later in the order of queues, jobs and tasks.
  [[nodiscard]] bool goes_first(const task& a, const task& b) const {
    const job &left = jobs[a.job], &right = jobs[b.job];
    std::weak_ordering said = std::weak_ordering::equivalent;
    if (left.counts.queue != right.counts.queue) {
      said = votes().order(left.counts.queue, right.counts.queue);
      if (said == 0) said = left.counts.queue <=> right.counts.queue;
    } else if (!same_job(a, b)) {
      said = votes().order(left.rank, right.rank);
    }
    if (said != 0) return said > 0;
    if (policy.by_priority_ && a.priority != b.priority) return a.priority < b.priority;
    return a.arrival > b.arrival;
  }

  void take(task& victim, int sign) {
    jobs[victim.job].counts.ready -= sign;
    victim.gone = sign > 0;
    if (victim.gone)
      attempt.remove(victim.pod);
    else
      attempt.restore(victim.pod);
    count(victim, !victim.gone);
  }
  /// Adds the task's request to the counts, or takes it off.
  void count(const task& one, bool has) {
    queues::volcano::voting_job& its = jobs[one.job].counts;
    if (has) {
      its.allocated.add(one.request);
      if (shares) shares->allocate(its.queue, one.request);
      if (tree) tree->jobs.allocate(its.leaf, one.request);
    } else {
      its.allocated.subtract(one.request);
      if (shares) shares->release(its.queue, one.request);
      if (tree) tree->jobs.release(its.leaf, one.request);
    }
  }
  /// Puts the task on the node, if filters let it in.
  bool settle(const task& asker, node_id node) {
    if (!attempt.filter(asker.pod, node).ok() || !attempt.put(asker.pod, node)) return false;
    ++jobs[asker.job].pipelined;
    count(asker, true);
    placed.push_back({asker.pod, node});
    return true;
  }

  enum class from : std::uint8_t { nobody, own_queue, own_job, others };

  /// @p within: nodes by row, null: all.
  bool make_room(const task& asker, from whom, const std::vector<node_id>* within) {
    const queues::queue_index queue = jobs[asker.job].counts.queue;
    if (whom == from::others && shares) {
      if (shares->overused(queue) || !shares->allocatable(queue, asker.request) ||
          !shares->preemptive(queue, asker.request))
        return false;
    }
    bool done = false;
    const auto look = [&](const node_info& node) { done = done || make_room_on(asker, whom, node); };
    if (within == nullptr)
      attempt.cluster().each_node(look);
    else
      for (const node_id id : *within) look(*attempt.cluster().node(id));
    return done;
  }
  bool make_room_on(const task& asker, from whom, const node_info& node) {
    resources room = books.free_of(node);
    if (whom == from::nobody) return asker.request.within(room) && settle(asker, node.id());
    std::vector<std::uint32_t> here;
    std::vector<queues::volcano::voting_task> candidates;
    for (const std::uint32_t one : on[node.id().row]) {
      if (!may_go(running[one], asker, whom)) continue;
      here.push_back(one);
      candidates.push_back(voter(running[one]));
    }
    if (here.empty()) return false;
    const auto found = votes().victims(voter(asker), candidates, whom == from::others,
                                       [&](std::uint32_t which) { return jobs[which].counts; });
    std::vector<std::uint32_t> order;
    for (const std::uint32_t place : found) {
      order.push_back(here[place]);
      room.add(running[here[place]].request);
    }
    if (order.empty() || !asker.request.within(room)) return false;
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return goes_first(running[a], running[b]); });
    std::size_t gone = 0;
    while (gone < order.size()) {
      take(running[order[gone++]], 1);
      if (!asker.request.within(books.free_of(node)) || !settle(asker, node.id())) continue;
      for (std::size_t i = 0; i < gone; ++i) victims.push_back(running[order[i]].pod);
      return true;
    }
    while (gone > 0) take(running[order[--gone]], -1);
    return false;
  }
  [[nodiscard]] bool may_go(const task& one, const task& asker, from whom) const {
    if (one.stays || one.gone) return false;
    const bool own = jobs[one.job].counts.queue == jobs[asker.job].counts.queue;
    const auto queue = attempt.cluster().pod(one.pod)->queue();
    const auto ran_for = [&](instant queue_spec::*least) {
      const instant runtime = nearest_min_runtime(*queue, least);
      if (elapsed(one.start, attempt.now()) >= runtime) return true;
      attempt.spared_until(later_by(one.start, runtime));
      return false;
    };
    if (whom == from::others) return !own && queue->spec().lends_running && ran_for(&queue_spec::reclaim_min_runtime);
    if (!own || same_job(one, asker) != (whom == from::own_job)) return false;
    if (asker.request.is_empty() && !one.request.is_empty()) return false;
    return ran_for(&queue_spec::preempt_min_runtime);
  }

  /// Finds room for the wanted tasks of each job up to its minimum, on nodes of the placement; for all, if the job has it already.
  bool run(from whom, const std::vector<node_id>* within) {
    for (job& one : jobs) one.pipelined = 0;
    for (const task& one : wanted) {
      const job& its = jobs[one.job];
      const std::int32_t has = its.counts.ready + its.pipelined;
      const bool grows = its.counts.ready >= its.counts.min_member;
      if (!grows && has >= its.counts.min_member) continue;
      if (make_room(one, from::nobody, within)) continue;
      if (whom == from::own_queue && !votes().starving(has, its.counts.min_member, its.tasks)) continue;
      if (whom == from::own_job && !grows) continue;
      (void)make_room(one, whom, within);
    }
    const auto enough = [&](const task& one) {
      const job& its = jobs[one.job];
      return its.counts.ready + its.pipelined >= its.counts.min_member;
    };
    return !placed.empty() && std::ranges::all_of(wanted, enough);
  }

  /// Tries the actions in order, and the placements in order for each; takes the first that succeeds.
  victim_plan plan(const std::vector<placement>& placements) {
    victim_plan made;
    made.verdict = status::unresolvable(detail::no_volcano_victims);
    std::vector<std::pair<from, const char*>> ways{{from::nobody, nullptr}};
    for (const queues::volcano::action one : policy.options_.session.actions) {
      if (one == queues::volcano::action::reclaim) ways.emplace_back(from::others, detail::why_volcano_reclaims);
      if (one != queues::volcano::action::preempt) continue;
      ways.emplace_back(from::own_queue, detail::why_volcano_preempts);
      ways.emplace_back(from::own_job, detail::why_volcano_preempts);
    }
    const std::vector<job> jobs_before = jobs;
    const std::vector<task> running_before = running;
    const auto shares_before = shares;
    const auto tree_before = tree;
    for (const auto& [whom, reason] : ways) {
      for (std::size_t i = 0; i < std::max<std::size_t>(placements.size(), 1); ++i) {
        const bool anywhere = placements.empty() || placements[i].all;
        if (run(whom, anywhere ? nullptr : &placements[i].nodes)) {
          made.verdict = status::success();
          made.nominated = placed.front().node;
          made.nominations = std::move(placed);
          made.victims = std::move(victims);
          made.reason = reason;
          return made;
        }
        attempt.take_back(0);
        for (std::size_t one = 0; one < running.size(); ++one)
          if (running[one].gone) attempt.restore(running[one].pod);
        jobs = jobs_before;
        running = running_before;
        shares = shares_before;
        tree = tree_before;
        placed.clear();
        victims.clear();
      }
    }
    return made;
  }
};

GANGSCHED_INLINE victim_plan volcano_policy::post_filter(trial& attempt, const pod_info& pod) const {
  victim_plan plan;
  const auto queue = pod.queue();
  if (!queue) return plan;
  plan.verdict = status::unresolvable(detail::no_volcano_victims);
  if (pod.spec().preemption == preemption_policy::never) return plan;
  if (read(attempt.cluster()).find(queue) == queues::no_queue) return plan;
  if (waits_for_leaving(attempt, pod, [](const pod_info& other) { return other.preempted(); })) {
    plan.keep_nomination = true;
    return plan;
  }
  search one{*this, attempt};
  one.collect();
  one.want(pod);
  plan = one.plan({});
  plan.nominations.clear();
  return plan;
}

GANGSCHED_INLINE victim_plan volcano_policy::group_preempt(trial& attempt, const group_view& group) const {
  victim_plan plan;
  const auto queue = group.queue();
  if (!queue) return plan;
  plan.verdict = status::unresolvable(detail::no_volcano_victims);
  bool may = read(attempt.cluster()).find(queue) != queues::no_queue, waits = false;
  std::vector<pod_info> members;
  group.root().each_pod_below([&](const pod_info& pod) {
    if (pod.state() != pod_state::pending || pod.terminating()) return;
    may = may && pod.spec().preemption != preemption_policy::never && books_->find(pod.queue()) != queues::no_queue;
    members.push_back(pod);
    waits = waits || awaits_victims(pod);
  });
  plan.keep_nomination = may && waits;
  if (!may || waits) return plan;
  const std::vector<placement> placements = attempt.placements(group);
  search one{*this, attempt};
  one.collect();
  std::ranges::stable_sort(
      members, [&](const pod_info& a, const pod_info& b) { return by_priority_ && a.priority() > b.priority(); });
  for (const pod_info& pod : members) one.want(pod);
  return one.plan(placements);
}

GANGSCHED_INLINE result<volcano_policy> volcano_policy::from(const argument& args) {
  options chosen;
  if (const auto right = read_volcano_configuration(args, chosen.session, chosen.spares_critical); !right)
    return right.error();
  return volcano_policy{std::move(chosen)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
