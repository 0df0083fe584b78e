#include "gangsched/plugins/kai.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/framework/queue_view.hpp"
#include "gangsched/policies/kai_node_order.hpp"
#include "gangsched/policies/kai_snapshot.hpp"
#include "gangsched/queues/kai/reclaim.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// One call's search for room for a job.
struct kai_policy::search {
  using state = kai_snapshot::state;
  using job_victims = queues::kai::job_victims;

  const options& chosen;
  trial& attempt;
  std::shared_ptr<const kai_snapshot> as_is;  ///< as it was before the trial
  const kai_snapshot& now = *as_is;
  std::size_t mine = kai_snapshot::nothing;     ///< the job that needs room
  std::vector<std::size_t> wanted = {};         ///< its tasks that need room, in order
  std::vector<kai_snapshot::amount> idle = {};  ///< by node row: unused amounts, in the present state
  // Result of a simulation, by task.
  std::vector<state> at = {};
  std::vector<node_id> where = {};
  std::vector<bool> same_shares = {};  ///< it has the same shares of GPUs as before

  using rated_node = kai_rated_node;
  /// The nodes in the order in which a task with these needs tries them, as the trial stands.
  struct node_order {
    kai_snapshot::amount needs = {};
    kai_node_order nodes = {};
  };
  std::vector<node_order> orders = {};
  /// Filters' answers for a pod class whose filters read only the node and its pods.
  struct class_answers {
    const pod_class* cls = nullptr;
    bool possible = false;
    std::vector<std::uint64_t> refused_at = {};  ///< by row: 1 + `state_of` when the node refused one
    std::uint64_t nowhere_at = 0;                ///< 1 + `moves` when no node took one
  };
  std::vector<class_answers> answers = {};
  std::vector<std::uint64_t> state_of = {};  ///< by row: how often pods came or went in the trial
  std::vector<row_t> touched = {};           ///< nodes where pods came or went since the trial began anew
  std::uint64_t moves = 0;                   ///< how often pods came or went on any node
  std::vector<bool> is_wanted = {};          ///< by row: a pod is nominated there
  bool any_wanted = false;

  mutable std::optional<queues::kai::min_runtimes> runtimes = {};  ///< of all queues, once they were asked for
  mutable std::vector<queues::kai::pod_set> room_for_sets = {};    ///< of a job

  std::vector<std::size_t> waiting = {};          ///< jobs of which some tasks wait
  std::vector<job_victims> sequence = {};         ///< victims in their order, as far as that was asked for
  std::optional<queues::kai::victim_order> rest;  ///< of that order

  search(const options& with, trial& in, std::shared_ptr<const kai_snapshot> before)
      : chosen{with}, attempt{in}, as_is{std::move(before)} {
    if (!now.has_queues()) return;
    idle.resize(attempt.cluster().node_rows());
    attempt.cluster().each_node([&](const node_info& node) { idle[node.id().row] = now.free_of(node); });
    state_of.resize(idle.size());
    is_wanted.resize(idle.size());
    attempt.cluster().each_nominated(
        [&](const pod_info& pod) { is_wanted[pod.nominated_node()->id().row] = any_wanted = true; });
  }
  /// A pod came to the node or went.
  void touch(node_id node) {
    ++moves;
    ++state_of[node.row];
    touched.push_back(node.row);
  }
  /// Everything is as it was when the trial began.
  void start_anew() {
    attempt.reset();
    orders.clear();
    ++moves;
    for (const row_t row : touched) ++state_of[row];
    touched.clear();
  }

  enum class kind : std::uint8_t { consolidate, reclaim, preempt };

  [[nodiscard]] const queues::kai::job_entry& job(std::size_t which) const { return now.table.jobs()[which]; }
  [[nodiscard]] node_id home_of(std::size_t task) const { return now.places[task].node; }

  victim_plan run(std::size_t of) {
    victim_plan plan;
    if (of == kai_snapshot::nothing) return plan;
    mine = of;
    wanted = now.next_tasks(mine);
    if (wanted.empty()) {
      plan.keep_nomination = now.waits_for_victims(mine);
      return plan;
    }
    if (chosen.actions.allocate && wait_for_leaving(plan)) return plan;
    const bool preemptible = job(mine).preemptible;
    if (chosen.actions.consolidate && preemptible && enough_gpus() && solve(kind::consolidate, plan)) {
      plan.reason = "it moves to make room for a larger job";
      return plan;
    }
    const auto asked = now.table.sum_of(wanted);
    if (chosen.actions.reclaim && can_reclaim(*now.shares, {job(mine).queue, asked, preemptible}) &&
        solve(kind::reclaim, plan)) {
      plan.reason = "its queue gives back what it holds above its fair share";
      return plan;
    }
    if (chosen.actions.preempt && !now.exceeds_deserved(mine) && solve(kind::preempt, plan))
      plan.reason = "a job of higher priority needs room";
    return plan;
  }

  /// The start of a simulation: leaving pods are gone, pods that are promised a node are on it, victims are off theirs.
  void begin(std::span<const std::size_t> victims) {
    start_anew();
    at = now.table.as_filled();
    where.resize(at.size());
    same_shares.assign(at.size(), true);
    for (std::size_t t = 0; t < at.size(); ++t) {
      where[t] = home_of(t);
      if (at[t] != state::leaving && at[t] != state::coming_back) continue;
      attempt.remove(now.places[t].pod);
      touch(home_of(t));
    }
    for (const std::size_t t : victims) {
      at[t] = state::taken_off;
      touch(home_of(t));
      if (!now.places[t].promised)
        attempt.take_node(now.places[t].pod);
      else if (attempt.put(now.places[t].pod, home_of(t)))
        attempt.take_back(0);  // being put and taken back ends its nomination
    }
    for (std::size_t t = 0; t < at.size(); ++t) {
      if (!now.places[t].promised || at[t] != state::placed) continue;
      touch(home_of(t));
      (void)attempt.put(now.places[t].pod, home_of(t));
    }
  }

  [[nodiscard]] rated_node rate(const kai_snapshot::amount& needs, const node_info& node, std::size_t number) const {
    const bool gpus = needs[2] > 0;
    rated_node one{true, false, now.free_of(node)[gpus ? 2 : 0], number, node.id()};
    for (std::size_t r = 0; r < kai_snapshot::resources; ++r)
      one.fits_now = one.fits_now && needs[r] <= idle[node.id().row][r];
    one.apart = !gpus && now.count_of_gpus(node) == 0;
    return one;
  }
  /// Rated for all nodes. O(1) for equal needs until the trial begins anew or something is taken back.
  [[nodiscard]] const std::vector<rated_node>& nodes_for(const kai_snapshot::amount& needs) {
    const auto known = std::ranges::find(orders, needs, &node_order::needs);
    if (known != orders.end()) return known->nodes.all();
    constexpr std::size_t most = 8;
    if (orders.size() == most) orders.erase(orders.begin());
    std::vector<rated_node> all;
    attempt.cluster().each_node([&](const node_info& node) { all.push_back(rate(needs, node, all.size())); });
    return orders.emplace_back(node_order{needs, kai_node_order{std::move(all)}}).nodes.all();
  }
  /// Updates the orders after a pod was put on the node.
  void follow(node_id id) {
    touch(id);
    const node_info node = *attempt.cluster().node(id);
    for (node_order& one : orders) one.nodes.follow(rate(one.needs, node, one.nodes.number_of(id)));
  }
  [[nodiscard]] class_answers& answers_for(const pod_info& pod) {
    const auto known = std::ranges::find(answers, &pod.spec(), &class_answers::cls);
    if (known != answers.end()) return *known;
    constexpr std::size_t most = 64;
    if (answers.size() == most) answers.erase(answers.begin());
    struct nothing {};
    std::vector<row_t> changed;
    const bool possible = pod.spec().claims.empty() && attempt.recall<nothing>(pod.id(), changed) != nullptr;
    answers.push_back({&pod.spec(), possible, std::vector<std::uint64_t>(possible ? idle.size() : 0)});
    return answers.back();
  }
  /// The filters' answer; not asked again if the node refused the class and nothing has changed there since.
  [[nodiscard]] bool may_be_on(class_answers& its, pod_id pod, node_id node) {
    if (!its.possible || is_wanted[node.row]) return attempt.filter(pod, node).ok();
    if (its.refused_at[node.row] == state_of[node.row] + 1) return false;
    if (attempt.filter(pod, node).ok()) return true;
    its.refused_at[node.row] = state_of[node.row] + 1;
    return false;
  }
  bool put_on(std::size_t t, class_answers& its, node_id node) {
    const pod_id pod = now.places[t].pod;
    if (!may_be_on(its, pod, node) || !attempt.put(pod, node)) return false;
    follow(node);
    if (now.places[t].promised && home_of(t) != node) follow(home_of(t));  // it is not nominated there any more
    where[t] = node;
    same_shares[t] = kai_snapshot::shares_of(*attempt.cluster().pod(pod)) == now.places[t].shares;
    return true;
  }
  bool put_somewhere(std::size_t t, const std::vector<node_id>* within) {
    const queues::kai::amounts its_needs = now.table.needs(t);
    const kai_snapshot::amount needs{its_needs[0], its_needs[1], its_needs[2]};
    class_answers& its = answers_for(*attempt.cluster().pod(now.places[t].pod));
    if (within != nullptr) {
      std::vector<rated_node> order;
      for (const node_id id : *within) order.push_back(rate(needs, *attempt.cluster().node(id), order.size()));
      kai_node_order::sort(order);
      return std::ranges::any_of(order, [&](const rated_node& node) { return put_on(t, its, node.id); });
    }
    if (its.nowhere_at == moves + 1) return false;
    const std::uint64_t moves_before = moves;
    bool refused = its.possible && !any_wanted;
    for (const rated_node& node : nodes_for(needs)) {
      if (put_on(t, its, node.id)) return true;
      refused = refused && its.refused_at[node.id.row] == state_of[node.id.row] + 1;
    }
    if (refused) its.nowhere_at = moves_before + 1;
    return false;
  }

  bool place_within(std::span<const std::size_t> tasks, const std::vector<node_id>* within) {
    const std::size_t before = attempt.put_so_far();
    if (std::ranges::all_of(tasks, [&](std::size_t t) { return put_somewhere(t, within); })) return true;
    if (attempt.put_so_far() == before) return false;
    attempt.take_back(before);
    orders.clear();
    ++moves;
    for (const row_t row : touched) ++state_of[row];
    return false;
  }
  /// All of them or none, within what queues may hold.
  bool place(std::size_t of, std::span<const std::size_t> tasks, queues::kai::queue_shares& shares) {
    const auto sum = now.table.sum_of(tasks);
    if (shares.shortage(job(of).queue, sum, job(of).preemptible)) return false;
    std::vector<placement> candidates;
    if (const auto group = group_of(of); group && !group->spec().topology.within.empty())
      candidates = attempt.placements(*group);
    bool done = candidates.empty() && place_within(tasks, nullptr);
    for (const placement& one : candidates) {
      if (done) break;
      done = place_within(tasks, one.all ? nullptr : &one.nodes);
    }
    if (!done) return false;
    shares.allocate(job(of).queue, sum, job(of).preemptible);
    for (const std::size_t t : tasks) at[t] = state::placed;
    return true;
  }
  [[nodiscard]] std::optional<group_view> group_of(std::size_t of) const {
    if (!now.groups[of]) return std::nullopt;
    const auto pod = attempt.cluster().pod(now.places[job(of).sets.front().tasks.front()].pod);
    return pod ? std::optional{pod->group()->root()} : std::nullopt;
  }

  /// Room that others leave anyway.
  bool wait_for_leaving(victim_plan& plan) {
    begin({});
    queues::kai::queue_shares shares = *now.shares;
    if (!place(mine, wanted, shares)) return false;
    promise(plan);
    return true;
  }
  void promise(victim_plan& plan) const {
    plan.verdict = status::success();
    for (const std::size_t t : wanted) plan.nominations.push_back({now.places[t].pod, where[t]});
    plan.nominated = where[wanted.front()];
  }

  [[nodiscard]] bool enough_gpus() {
    begin({});
    double free = 0;
    attempt.cluster().each_node([&](const node_info& node) { free += now.free_gpus(node); });
    return free >= now.table.sum_of(wanted)[2];
  }

  // --- victims

  [[nodiscard]] const queues::kai::min_runtimes& min_runtimes() const {
    if (runtimes) return *runtimes;
    queues::kai::min_runtimes& all = runtimes.emplace();
    all.default_preempt = chosen.default_preempt_min_runtime;
    all.default_reclaim = chosen.default_reclaim_min_runtime;
    all.method = chosen.protection;
    all.preempt.resize(now.shares->tree().size());
    all.reclaim.resize(now.shares->tree().size());
    attempt.cluster().each_queue([&](const queue_view& queue) {
      const queues::queue_index i = now.list.find(queue);
      if (queue.spec().preempt_min_runtime != instant{}) all.preempt[i] = queue.spec().preempt_min_runtime;
      if (queue.spec().reclaim_min_runtime != instant{}) all.reclaim[i] = queue.spec().reclaim_min_runtime;
    });
    return all;
  }
  [[nodiscard]] bool is_protected(kind how, std::size_t victim) const {
    if (how == kind::consolidate || !job(victim).started) return false;
    const queues::queue_tree& tree = now.shares->tree();
    const queues::kai::min_runtimes& all = min_runtimes();
    const instant least = how == kind::preempt ? preempt_min_runtime(tree, all, job(victim).queue)
                                               : reclaim_min_runtime(tree, all, job(mine).queue, job(victim).queue);
    if (!queues::kai::is_protected(job(victim).started, least, attempt.now())) return false;
    attempt.spared_until(later_by(*job(victim).started, least));
    return true;
  }
  [[nodiscard]] bool may_be_victim(kind how, std::size_t which) const {
    const queues::kai::job_entry& of = job(which);
    if (!of.preemptible || which == mine) return false;
    if (!now.table.has_placed(which, now.table.as_filled())) return false;
    if (how == kind::reclaim && of.queue == job(mine).queue) return false;
    if (how == kind::preempt && (of.queue != job(mine).queue || of.rank.priority >= job(mine).rank.priority))
      return false;
    now.table.read_sets(which, now.table.as_filled(), room_for_sets);
    return is_elastic(room_for_sets) || !is_protected(how, which);
  }

  /// Takes the victims off; then @p first must find nodes, and victims are placed again where they can. Whether @p first did.
  bool simulate(std::span<const std::size_t> first, std::span<const std::size_t> victims) {
    begin(victims);
    queues::kai::queue_shares shares = *now.shares;
    std::vector<bool> is_victim(now.table.jobs().size());
    std::vector<std::size_t> jobs = waiting;
    jobs.push_back(mine);
    for (const std::size_t t : victims) {
      const std::size_t its = now.table.tasks()[t].job;
      shares.release(job(its).queue, now.table.needs(t), job(its).preemptible);
      if (!is_victim[its]) jobs.push_back(its);
      is_victim[its] = true;
    }
    std::ranges::sort(jobs);
    jobs.erase(std::ranges::unique(jobs).begin(), jobs.end());
    queues::kai::job_queue order{shares, false};
    for (const std::size_t j : jobs) {
      const auto next = j == mine ? std::vector<std::size_t>(first.begin(), first.end()) : now.table.next_tasks(j, at);
      if (next.empty()) continue;
      queues::kai::job_rank rank = job(j).rank;
      rank.state = now.table.state_of(j, at);
      order.push({job(j).queue, rank, now.table.sum_of(next), j});
    }
    bool placed = false;
    while (!order.empty()) {
      const std::size_t j = order.pop().which;
      if (j == mine) {
        if (!place(j, first, shares)) return false;
        placed = true;
      } else if (is_victim[j]) {
        (void)place(j, now.table.next_tasks(j, at), shares);
      }
    }
    return placed;
  }

  /// Whether the policy allows the simulation's result. @p all: all victims considered, also those that could stay.
  [[nodiscard]] bool is_allowed(kind how, std::span<const std::size_t> first,
                                const std::vector<job_victims>& all) const {
    const auto goes = [&](std::size_t t) { return at[t] == state::taken_off; };
    if (how == kind::consolidate)
      return std::ranges::none_of(all, [&](const job_victims& one) { return std::ranges::any_of(one.tasks, goes); });
    std::map<std::size_t, std::vector<std::size_t>> by_job;
    for (const job_victims& one : all)
      by_job[one.job].insert(by_job[one.job].end(), one.tasks.begin(), one.tasks.end());
    std::vector<std::vector<double>> held;
    std::vector<queues::queue_index> from;
    for (const auto& [j, tasks] : by_job) {
      std::vector<std::uint32_t> lost(job(j).sets.size());
      for (const std::size_t t : tasks) ++lost[now.table.tasks()[t].set];
      const auto sets = now.table.sets_of(j, now.table.as_filled());
      if (is_elastic(sets) && is_protected(how, j) && !keeps_minimum(sets, lost)) return false;
      if (how == kind::preempt) continue;
      for (const auto& part : now.table.reclaimed_of(tasks, at, !chosen.reclaim_may_move))
        held.push_back(now.table.sum_of(part)), from.push_back(job(j).queue);
    }
    if (how == kind::preempt) return true;
    std::vector<queues::kai::reclaimee> victims;
    for (std::size_t i = 0; i < held.size(); ++i) victims.push_back({from[i], held[i]});
    const auto asked = now.table.sum_of(first);
    queues::kai::reclaim_plan scratch;
    return may_reclaim(*now.shares, {job(mine).queue, asked, job(mine).preemptible}, victims, scratch,
                       chosen.saturation_multiplier);
  }

  /// Finds victims for the first wanted task, then for the first two, and so on; earlier victims go first. True if all find room.
  bool solve(kind how, victim_plan& plan) {
    std::vector<std::size_t> candidates;
    for (std::size_t j = 0; j < now.table.jobs().size(); ++j) {
      const bool enough = how == kind::consolidate && chosen.most_moved_jobs >= 0 &&
                          candidates.size() > static_cast<std::size_t>(chosen.most_moved_jobs);
      if (!enough && may_be_victim(how, j)) candidates.push_back(j);
    }
    if (candidates.empty()) return false;
    waiting.clear();
    for (std::size_t j = 0; j < now.table.jobs().size(); ++j)
      if (j != mine && now.table.has_next(j, now.table.as_filled())) waiting.push_back(j);
    sequence.clear();
    rest.emplace(now.table, *now.shares);
    for (const std::size_t j : candidates) rest->add(j);
    std::vector<job_victims> recorded;
    bool solved = false;
    for (std::size_t k = 1; k <= wanted.size(); ++k) {
      solved = solve_first(how, std::span{wanted}.first(k), recorded);
      if (!solved) continue;
      for (job_victims& one : recorded) std::erase_if(one.tasks, [&](std::size_t t) { return stays(t); });
      std::erase_if(recorded, [](const job_victims& one) { return one.tasks.empty(); });
    }
    if (solved) {
      promise(plan);
      for (const job_victims& one : recorded) {
        for (const std::size_t t : one.tasks) {
          plan.victims.push_back(now.places[t].pod);
          if (at[t] == state::placed) plan.moves.push_back({now.places[t].pod, where[t]});
        }
      }
    }
    start_anew();
    return solved;
  }
  /// Whether the simulation put this victim back where it was.
  [[nodiscard]] bool stays(std::size_t t) const {
    return at[t] == state::placed && where[t] == home_of(t) && same_shares[t];
  }

  /// The victims that come in this place; null behind the last.
  [[nodiscard]] const job_victims* victims_at(std::size_t place) {
    while (sequence.size() <= place) {
      std::optional<job_victims> next = rest->next();
      if (!next) return nullptr;
      sequence.push_back(*std::move(next));
    }
    return &sequence[place];
  }

  bool solve_first(kind how, std::span<const std::size_t> first, std::vector<job_victims>& recorded) {
    std::vector<std::size_t> always;
    for (const job_victims& one : recorded) always.insert(always.end(), one.tasks.begin(), one.tasks.end());
    std::vector<job_victims> scenario = recorded;
    if (!always.empty() && simulate(first, always) && is_allowed(how, first, scenario)) return true;
    std::vector<job_victims> potential;
    for (std::size_t place = 0; const job_victims* const next = victims_at(place); ++place) {
      const auto known = [&](std::size_t t) { return std::ranges::find(always, t) != always.end(); };
      if (std::ranges::any_of(next->tasks, known)) continue;
      potential.push_back(*next);
      scenario.push_back(*next);
      for (const node_id node : nodes_of(potential.back().job)) {
        std::vector<job_victims> here = recorded;
        std::vector<std::size_t> victims = always;
        for (const job_victims& one : potential) {
          if (!has_task_on(one.job, node, potential)) continue;
          here.push_back(one);
          victims.insert(victims.end(), one.tasks.begin(), one.tasks.end());
        }
        if (!simulate(first, victims)) continue;
        if (!is_allowed(how, first, scenario)) break;
        recorded = std::move(here);
        return true;
      }
    }
    return false;
  }
  /// Where tasks of a job are.
  [[nodiscard]] std::vector<node_id> nodes_of(std::size_t of) const {
    std::vector<node_id> all;
    for (const queues::kai::job_set& set : job(of).sets) {
      for (const std::size_t t : set.tasks)
        if (home_of(t) && std::ranges::find(all, home_of(t)) == all.end()) all.push_back(home_of(t));
    }
    return all;
  }
  [[nodiscard]] bool has_task_on(std::size_t of, node_id node, const std::vector<job_victims>& among) const {
    return std::ranges::any_of(among, [&](const job_victims& one) {
      return one.job == of && std::ranges::any_of(one.tasks, [&](std::size_t t) { return home_of(t) == node; });
    });
  }
};

GANGSCHED_INLINE std::int64_t kai_policy::queue_of(const pod_info& pod) const {
  const auto queue = pod.queue();
  if (!queue) return -1;
  queues::kai::pod_set set;
  std::vector<queues::kai::pod_set> sets;
  const auto add = [&](const group_view& group, const auto& self) -> void {
    if (group.members() != 0) {
      set = {group.is_gang() ? group.min_count() : 1, group.members(), 0, 0};
      group.each_member([&](const pod_info& one) { set.allocated += one.node() && !one.terminating() ? 1 : 0; });
      sets.push_back(set);
    }
    group.each_child([&](const group_view& child) { self(child, self); });
  };
  if (const auto group = pod.group()) add(group->root(), add);
  return std::int64_t{queue->row()} * 3 + (sets.empty() ? 0 : static_cast<int>(elastic_state_of(sets)));
}

/// One snapshot serves all questions until the next commit; inside a transaction each question makes its own.
struct kai_policy::memory {
  std::shared_ptr<const kai_snapshot> known = {};
  std::uint64_t at = 0;  ///< the number of changes it was made at

  [[nodiscard]] std::shared_ptr<const kai_snapshot> read(const cluster_view& cluster, const options& with) {
    const auto made = [&] {
      return std::make_shared<const kai_snapshot>(cluster, with.gpu, with.non_preemptible_from);
    };
    if (cluster.has_uncommitted()) return made();
    if (known == nullptr || !(known->cluster == cluster) || at != cluster.changes()) {
      known.reset();
      known = made();
      at = cluster.changes();
    }
    return known;
  }
};

GANGSCHED_INLINE bool kai_policy::queue_before(const queue_head& a, const queue_head& b,
                                               const cluster_view& cluster) const {
  const auto known = memory_->read(cluster, options_);
  const kai_snapshot& now = *known;
  const std::size_t first = now.job_of(a.pod), second = now.job_of(b.pod);
  if (first == kai_snapshot::nothing || second == kai_snapshot::nothing) return first != kai_snapshot::nothing;
  queues::kai::job_queue order{*now.shares, false};
  for (const std::size_t j : {second, first}) {
    const queues::kai::job_entry& its = now.table.jobs()[j];
    order.push({its.queue, its.rank, now.table.sum_of(now.next_tasks(j)), j});
  }
  return order.pop().which == first;
}

GANGSCHED_INLINE status kai_policy::admit(const pod_info& pod, const cluster_view& cluster) const {
  if (const auto queue = pod.queue(); queue && !queue->admits()) return status::pending(queue_admits_nobody);
  const auto now = memory_->read(cluster, options_);
  const std::size_t job = now->job_of(pod.id());
  const status may = now->may_start(job);
  return may.ok() ? now->within_limits(job) : may;
}

GANGSCHED_INLINE status kai_policy::admit(const group_view& group, const cluster_view& cluster) const {
  bool open = true;  // members may name queues of their own
  group.root().each_pod_below([&](const pod_info& member) {
    const auto its = member.queue();
    open = open && (!its || its->admits());
  });
  if (!open) return status::pending(queue_admits_nobody);
  const auto now = memory_->read(cluster, options_);
  return now->may_start(now->job_of(group));
}

GANGSCHED_INLINE status kai_policy::group_pre_filter(const group_view& group) const {
  if (!options_.actions.allocate) return status::unschedulable("nobody is allocated");
  if (group.parent()) return status::success();
  const auto now = memory_->read(group.cluster(), options_);
  return now->within_limits(now->job_of(group));
}

GANGSCHED_INLINE victim_plan kai_policy::post_filter(trial& attempt, const pod_info& pod) const {
  search one{options_, attempt, memory_->read(attempt.cluster(), options_)};
  return one.run(one.now.job_of(pod.id()));
}

GANGSCHED_INLINE victim_plan kai_policy::group_preempt(trial& attempt, const group_view& group) const {
  search one{options_, attempt, memory_->read(attempt.cluster(), options_)};
  return one.run(one.now.job_of(group));
}

}  // namespace gangsched::inline GANGSCHED_ABI
