#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// A group's cycle (kube-workloads 4): one transaction; placements; members pod by pod with placement_feasible after each; the best
// placement is done again for good. Nothing of a failed attempt is left.
namespace gangsched::engine {

GANGSCHED_INLINE status core::feasible(row_t group, const group_progress& progress) const {
  // Without a plugin that says otherwise one member is enough.
  status said = progress.scheduled > 0 ? status::success() : status::wait();
  for (const plugin_entry& plugin : table_of_group(group).hooks(point::placement_feasible)) {
    said = plugin.placement_feasible(plugin.self.get(), group_view{*state_, group}, progress);
    if (!said.ok()) return said;
  }
  return said;
}

GANGSCHED_INLINE std::vector<placement> core::placements(row_t group, status& said) const {
  std::vector<placement> all;
  all.push_back({{}, {}, true});
  for (const plugin_entry& plugin : table_of_group(group).hooks(point::generate_placements)) {
    std::vector<placement> next;
    said = plugin.generate_placements(plugin.self.get(), group_view{*state_, group}, cluster_view{*state_}, [&](placement made) {
      std::sort(made.nodes.begin(), made.nodes.end());
      for (const placement& before : all) {
        if (before.all || made.all) {
          next.push_back(before.all ? made : before);
          continue;
        }
        placement both{before.name + "/" + made.name, {}, false};
        std::set_intersection(before.nodes.begin(), before.nodes.end(), made.nodes.begin(), made.nodes.end(),
                              std::back_inserter(both.nodes));
        if (!both.nodes.empty()) next.push_back(std::move(both));
      }
    });
    if (said.code == code::skip) {
      said = {};
      continue;
    }
    if (!said.ok()) return {};
    all = std::move(next);
  }
  return all;
}

/// Places members one after another inside the caller's transaction; `placed_` says where. Reserve hooks have run.
GANGSCHED_INLINE core::group_outcome core::try_members(row_t group, const std::vector<row_t>& members,
                                                      const std::vector<row_t>* within) {
  placed_.clear();
  group_outcome out;
  group_progress progress{state_->groups.assumed[group] + state_->groups.bound[group],
                          static_cast<std::uint32_t>(members.size())};
  out.verdict = feasible(group, progress);
  for (std::size_t i = 0; i < members.size() && (out.verdict.ok() || out.verdict.code == code::wait); ++i) {
    const row_t pod = members[i];
    const picked found = picker_.pick(pod, within);
    out.rejectors |= found.node == no_row ? found.rejectors : 0;
    if (found.said.code == code::error) {
      out.verdict = found.said;
      break;
    }
    --progress.remaining;
    if (found.node != no_row && state_->fits_in_words(found.node, state_->classes[state_->pods.cls[pod]])) {
      transaction one{*state_};
      state_->assume(pod, found.node);
      member_place placed{pod, found.node, found.score, {}};
      status said;
      if (reserve(pod, found.node, placed.uses, said)) {
        one.commit();
        placed_.push_back(std::move(placed));
        ++progress.scheduled;
      } else {
        one.roll_back();
        if (said.code == code::error) {
          out.verdict = said;
          break;
        }
      }
    }
    out.verdict = feasible(group, progress);
  }
  if (out.verdict.code == code::wait) out.verdict = status::unschedulable("fewer members fit than the group needs");
  if (out.verdict.ok() && placed_.empty()) out.verdict = status::unschedulable("no pods were schedulable");
  return out;
}

/// Before the trial is rolled back: what reserve hooks did outside the cluster is undone in reverse.
GANGSCHED_INLINE void core::discard_members() {
  for (auto one = placed_.rbegin(); one != placed_.rend(); ++one) unreserve(one->pod, one->node);
  placed_.clear();
}

/// In the order in which they are tried: by priority, then age.
GANGSCHED_INLINE std::vector<row_t> core::pending_members(row_t group) {
  const pod_table& pods = state_->pods;
  std::vector<row_t> members;
  bool sorted = true;
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = pods.next_in_group[pod]) {
    if (pods.state[pod] != pod_state::pending || pods.terminating[pod] || !ours(pod)) continue;
    const auto priority = [&](row_t row) { return state_->classes[state_->class_of(row)].priority; };
    sorted = sorted && (members.empty() || priority(members.back()) >= priority(pod));
    members.push_back(pod);
  }
  if (!sorted) {
    std::stable_sort(members.begin(), members.end(), [&](row_t a, row_t b) {
      return state_->classes[pods.cls[a]].priority > state_->classes[pods.cls[b]].priority;
    });
  }
  return members;
}

/// Up to reserve, in the best placement; `placed_` says where. Nothing is left if the verdict is not success.
GANGSCHED_INLINE core::group_outcome core::place_group(row_t group, const std::vector<row_t>& members) {
  const pod_table& pods = state_->pods;
  group_outcome outcome;
  for (const plugin_entry& plugin : table_of_group(group).hooks(point::group_pre_filter)) {
    outcome.verdict = plugin.group_pre_filter(plugin.self.get(), group_view{*state_, group});
    if (!outcome.verdict.ok()) return outcome;
  }
  const std::vector<placement> where = placements(group, outcome.verdict);
  if (!outcome.verdict.ok()) return outcome;

  // Each placement is tried and discarded, except that the only one need not be. Picks are numbered from the same start, so that the
  // best one comes out again exactly.
  const picker::position first = picker_.where();
  std::size_t best = where.size();
  std::int64_t best_score = -1;
  const auto rows_of = [&](const placement& p) {
    std::vector<row_t> rows;
    for (const node_id node : p.nodes) rows.push_back(node.row);
    return rows;
  };
  const auto attempt = [&](const placement& p) {
    picker_.go_back(first);
    if (p.all) return try_members(group, members, nullptr);
    const std::vector<row_t> rows = rows_of(p);
    return try_members(group, members, &rows);
  };
  outcome.verdict = status::unschedulable("no placement is left for the group");
  for (std::size_t i = 0; where.size() > 1 && i < where.size(); ++i) {
    transaction trial{*state_};
    group_outcome tried = attempt(where[i]);
    if (tried.verdict.ok()) {
      std::vector<assignment> assigned;
      for (const member_place& one : placed_) {
        assigned.push_back({{one.pod, pods.rows.generation(one.pod)}, {one.node, state_->nodes.rows.generation(one.node)}});
      }
      std::int64_t score = 0;
      for (const plugin_entry& plugin : table_of_group(group).hooks(point::score_placement)) {
        score += plugin.weight * plugin.score_placement(plugin.self.get(), group_view{*state_, group}, where[i], assigned);
      }
      if (score > best_score) best = i, best_score = score;
    } else {
      tried.rejectors |= outcome.rejectors;
      if (i == 0 || tried.verdict.code == code::error) outcome = tried;
      else outcome.rejectors = tried.rejectors;
    }
    discard_members();
    if (tried.verdict.code == code::unresolvable || tried.verdict.code == code::error) {
      outcome = tried;
      best = where.size();
      break;
    }
  }
  if (where.size() == 1) best = 0;
  if (best < where.size()) {
    transaction commitment{*state_};
    outcome = attempt(where[best]);
    if (outcome.verdict.ok()) commitment.commit();
    else discard_members();
  }
  return outcome;
}

GANGSCHED_INLINE void core::run_group(row_t group) {
  const pod_table& pods = state_->pods;
  const std::vector<row_t> members = pending_members(group);
  if (members.empty()) return;
  std::uint64_t from = state_->log.end();
  group_outcome outcome = place_group(group, members);
  if (!outcome.verdict.ok() && outcome.verdict.code != code::error && take_back_holdings(group, {group, true})) {
    from = state_->log.end();  // others hear of what was taken back
    outcome = place_group(group, members);
  }
  if (!outcome.verdict.ok()) return reject_group(group, members, outcome);
  hush(from);
  queue_.item({group, true}).failures = 0;

  const std::vector<member_place> placed = std::move(placed_);
  placed_.clear();
  for (const member_place& one : placed) {
    count_out(one.pod);
    if (!one.uses.empty()) uses_[{one.pod, pods.rows.generation(one.pod)}] = one.uses;
  }
  for (const member_place& one : placed) {
    if (pods.state[one.pod] == pod_state::assumed) ask_permit(one.pod, one.score);
  }
  // Those above the minimum that did not fit fail singly and come back as the group.
  bool left = false;
  for (const row_t pod : members) {
    if (pods.state[pod] != pod_state::pending) continue;
    if (std::any_of(placed.begin(), placed.end(), [&](const member_place& one) { return one.pod == pod; })) continue;
    left = true;
    decide(decision_kind::reject, pod).code = code::unschedulable;
  }
  if (left) park_group(group, outcome.rejectors);
}

GANGSCHED_INLINE void core::reject_group(row_t group, const std::vector<row_t>& members, const group_outcome& why) {
  const bool error = why.verdict.code == code::error;
  if (error) {
    broken_ = why.verdict.reason != nullptr ? why.verdict.reason : "a hook failed with an error";
    const group_record& record = *state_->groups.record[group];
    broken_object_ = gangsched::detail::object_name("group", record.spec.ns, record.spec.name);
  }
  if (!error && make_group_room(group)) return;
  for (const row_t pod : members) {
    decision& said = decide(decision_kind::reject, pod);
    said.code = why.verdict.code;
    said.reason = why.verdict.reason;
  }
  if (error) retry_group(group, true, true);
  else park_group(group, why.rejectors, why.verdict.reason);
}

GANGSCHED_INLINE bool core::make_group_room(row_t group) {
  const kernel_table& table = table_of_group(group);
  if (table.at(point::group_preempt).empty()) return false;
  victim_plan plan;
  for (const std::uint16_t index : table.at(point::group_preempt)) {
    const plugin_entry& plugin = table.plugins[index];
    const std::unique_ptr<trial> attempt = start_trial(index);
    plan = plugin.group_preempt(plugin.self.get(), *attempt, group_view{*state_, group});
    if (plan.verdict.code != code::unschedulable) break;
  }
  if (!plan.verdict.ok() || plan.victims.empty()) return false;
  park_group(group, ~std::uint64_t{0});  // before its victims leave, so that it hears of them
  for (const pod_id victim : plan.victims) evict(victim);
  return true;
}

}  // namespace gangsched::engine
