#include <algorithm>
#include <optional>
#include <utility>

#include "gangsched/engine/explainer.hpp"
#include "gangsched/engine/member_progress.hpp"
#include "gangsched/model/transaction.hpp"

// Why a group is not placed: how far its members come in each of its placements, and what refuses it there.
namespace gangsched::inline GANGSCHED_ABI::engine {

/// The first member of the group's tree that hooks keep out of the queue, and all others with it; empty if there is none.
GANGSCHED_INLINE std::string explainer::whom_it_waits_for(row_t group) {
  std::string made;
  if (entities_->members_enter_singly()) return made;
  state_->groups.each_below(state_->groups.root(group), [&](row_t below) {
    for (row_t pod = state_->groups.first[below]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (!entities_->wants_node(pod)) continue;
      const std::optional<explanation> gated = why_gated(pod);
      if (!gated) continue;
      made = "waits for " + state_->pods.record[pod]->name + ": " + gated->summary;
      return false;
    }
    return true;
  });
  return made;
}

/// Says so if no node has any of the labels that the group's topology is by; else empty.
GANGSCHED_INLINE std::string explainer::labels_of_no_node(row_t group) {
  std::string keys;
  for (const std::string& key : state_->groups.record[group]->spec.topology.within) {
    if (search_->candidates().domains().of(key).size() != 0) return {};
    (keys += keys.empty() ? "no node has the label " : " or ") += key;
  }
  return keys;
}

GANGSCHED_INLINE std::string explainer::why_not_tried(row_t group, const std::vector<row_t>& waiting) {
  const model::group_record& root = *state_->groups.record[state_->groups.root(group)];
  if (root.expected) return "waiting for the group \"" + root.spec.name + "\" to be added";
  if (waiting.empty()) {
    std::string limit = limits_->explain(group);
    if (!limit.empty()) return limit;
    return state_->groups.assumed[group] + state_->groups.bound[group] == 0 ? "it has no members" : "nobody waits";
  }
  if (const status said = parts_->disagreement(state_->groups.root(group)); !said.ok()) return said.reason;
  const auto gated = std::find_if(waiting.begin(), waiting.end(), [&](row_t pod) { return gates_->rejects_pod(pod); });
  if (gated != waiting.end()) return explain(*gated).summary;
  if (std::string other = whom_it_waits_for(group); !other.empty()) return other;
  if (admission_->ask(entities_->entity_of(waiting.front()))) return explain(waiting.front()).summary;
  return {};
}

/// Places the members one after another, for what each lacks that finds no node. Of the first of those in @p change what would help it.
GANGSCHED_INLINE void explainer::count_members(row_t group, const std::vector<row_t>& waiting,
                                               const std::vector<row_t>& rows, placement_verdict& verdict,
                                               std::string& change) {
  transaction trial{*state_};
  placed_members there = search_->nobody();
  const group_topology& topology = state_->groups.record[group]->spec.topology;
  std::optional<spread_limit> limit;
  if (!topology.spread_key.empty())
    limit.emplace(*state_, search_->candidates().domains().of(topology.spread_key), group, topology.spread_most);
  std::pair<class_id, std::uint64_t> last_kind{no_class, 0};
  for (const row_t pod : waiting) {
    const std::vector<row_t>& open = limit ? limit->open(&rows) : rows;
    const picked found = picks_->pick(pod, &open);
    status hook;
    if (found.node != no_row && there.place(pod, found, hook)) {
      ++verdict.fit;
      if (limit) limit->add(found.node);
      continue;
    }
    std::string its_change;
    member_lack& lack = verdict.lacks.emplace_back();
    lack.pod = {pod, state_->pods.rows.generation(pod)};
    lack.name = state_->pods.record[pod]->name;
    const std::pair kind{state_->class_of(pod), verdict.fit};
    if (found.node == no_row && verdict.lacks.size() > 1 && kind == last_kind) {  // alike, and nothing has changed
      lack.plugin = verdict.lacks[verdict.lacks.size() - 2].plugin;
      lack.missing = verdict.lacks[verdict.lacks.size() - 2].missing;
      continue;
    }
    last_kind = kind;
    if (found.node == no_row && open.empty() && !rows.empty()) {
      lack.missing = "each domain of " + topology.spread_key + " has as many members as may share one";
    } else if (found.node == no_row) {
      lack.missing = shortage(pod, open, its_change, lack.plugin);
    } else {
      const plugin_entry* const by = hook.ok() ? nullptr : there.refused_by();
      if (by != nullptr) lack.plugin = by->name;
      lack.missing = hook.ok() ? "the node's usage would not fit into 64 bits" : reason_text(state_->names, hook);
      ((lack.missing += " (") += state_->names.text(state_->nodes.record[found.node]->name)) += ")";
    }
    if (verdict.missing.empty()) verdict.missing = lack.missing, change = its_change;
  }
}

/// Of the first role that lacks members, where those of @p verdict find none: "0 of 1 members of the role \"driver\" fit". Or nothing.
GANGSCHED_INLINE std::string explainer::role_that_lacks(row_t group, const placement_verdict& verdict) const {
  const gang* const policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  if (policy == nullptr) return {};
  for (const role_minimum& one : policy->roles) {
    std::int64_t fit = 0;
    for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (state_->pods.record[pod]->details->role != one.role) continue;
      const auto is_it = [&](const member_lack& lack) { return lack.pod.row == pod; };
      const bool placed =
          state_->pods.node[pod] != no_row ||
          (entities_->wants_node(pod) && std::none_of(verdict.lacks.begin(), verdict.lacks.end(), is_it));
      fit += placed ? 1 : 0;
    }
    if (fit < one.min_count) {
      return std::to_string(fit) + " of " + std::to_string(one.min_count) + " members of the role \"" + one.role +
             "\" fit";
    }
  }
  return {};
}

/// What refuses a group of which enough members find a node each.
GANGSCHED_INLINE std::string explainer::why_not_together(row_t group, const status& said,
                                                         const placement_verdict& verdict) const {
  if (std::string role = role_that_lacks(group, verdict); !role.empty()) return role;
  const std::vector<topology_slice>& slices = state_->groups.record[group]->spec.topology.slices;
  if (slices.empty() || said.code == code::error) return reason_text(state_->names, said);
  std::string text = "slices";
  for (const topology_slice& one : slices) {
    if (&one != &slices.front()) text += ", and";
    ((text += " of ") += std::to_string(one.size)) += " that share " + one.key;
  }
  return text + " do not fit";
}

/// Whether an attempt among these nodes would place it: slices, minimums by role and complete searches count. Nothing of it stays.
GANGSCHED_INLINE void explainer::ask_whether_feasible(const group_part& attempt, const std::vector<row_t>& rows,
                                                      std::uint64_t& budget, placement_verdict& verdict) {
  const transaction trial{*state_};
  group_placement found = search_->place_within(attempt, rows, {&budget});
  verdict.feasible = found.verdict.ok() && !found.members.empty();
  if (!verdict.feasible) {
    if (verdict.fit < verdict.wanted) return;
    std::string together = why_not_together(attempt.group, found.verdict, verdict);
    if (!verdict.missing.empty()) (together += ", ") += verdict.missing;
    verdict.missing = std::move(together);
    return;
  }
  const std::vector<assignment> placed = found.members.assignments();
  const std::size_t all = attempt.all_members().size();
  if (placed.size() <= all - verdict.lacks.size()) return;
  // A search in full finds more than one after another does.
  verdict.fit += placed.size() - (all - verdict.lacks.size());
  std::erase_if(verdict.lacks, [&](const member_lack& one) {
    return std::any_of(placed.begin(), placed.end(), [&](const assignment& its) { return its.pod == one.pod; });
  });
  verdict.missing = verdict.lacks.empty() ? std::string{} : verdict.lacks.front().missing;
}

GANGSCHED_INLINE void explainer::explain_placements(row_t group, group_explanation& why) {
  const group_part attempt = parts_->of(group);
  const std::vector<row_t> waiting = attempt.all_members();
  group_part whole;
  whole.group = group;
  whole.members = waiting;
  const std::uint64_t placed = std::uint64_t{state_->groups.assumed[group]} + state_->groups.bound[group];
  const std::uint64_t wanted = state_->groups.min_count(group);
  const picker::position first = picks_->where();
  placement_candidates& candidates = search_->candidates();
  status said;
  std::vector<row_t> beside;
  const std::vector<row_t>* within = nullptr;
  for (row_t up = group; up != no_row; up = state_->groups.parent[up])  // it lies where groups above it may be
    within = candidates.beside_others(up, within, beside);
  const std::vector<placement> where = candidates.placements(whole, said);
  std::uint64_t budget = search_->budget();
  std::vector<std::string> changes;  // by placement
  for (const placement_candidate& one : candidates.of(whole, where, within).all) {
    std::vector<row_t> rows;
    if (!one.from->all)
      rows = placement_candidates::rows_of(one, within);
    else if (within != nullptr)
      rows = *within;
    else
      for (row_t row = 0; row < state_->nodes.rows.count(); ++row)
        if (state_->nodes.alive(row)) rows.push_back(row);
    placement_verdict verdict{.name = std::string{one.name()}, .fit = placed, .wanted = wanted};
    std::string change;
    count_members(group, waiting, rows, verdict, change);
    picks_->go_back(first);
    ask_whether_feasible(attempt, rows, budget, verdict);
    picks_->go_back(first);
    if (verdict.lacks.empty()) change.clear();
    const auto nearer = [&](const placement_verdict& other) {
      return std::pair{verdict.feasible, verdict.fit} > std::pair{other.feasible, other.fit};
    };
    const auto at = std::find_if(why.placements.begin(), why.placements.end(), nearer);
    changes.insert(changes.begin() + (at - why.placements.begin()), std::move(change));
    why.placements.insert(at, std::move(verdict));
  }
  if (!said.ok() && said.reason != nullptr) {
    why.summary = said.reason;
    return;
  }
  if (why.placements.empty()) {
    why.summary = "there is no placement for it";
    if (const std::string labels = labels_of_no_node(group); !labels.empty()) (why.summary += ": ") += labels;
    return;
  }
  const placement_verdict& nearest = why.placements.front();
  if (!nearest.name.empty()) why.summary = nearest.name + ": ";
  why.summary += std::to_string(nearest.fit) + " of " + std::to_string(placed + waiting.size()) + " members fit";
  if (nearest.fit < wanted) why.summary += ", " + std::to_string(wanted) + " are needed";
  if (nearest.missing.empty()) return;
  why.summary += ", " + nearest.missing;
  why.change = changes.front();
}

GANGSCHED_INLINE void explainer::explain_group(row_t group, std::vector<group_explanation>& out) {
  for (row_t child = state_->groups.first_child[group]; child != no_row; child = state_->groups.next_sibling[child])
    explain_group(child, out);
  const model::group_record& record = *state_->groups.record[group];
  if (record.spec.composite) return;
  group_explanation why;
  why.group = {group, state_->groups.rows.generation(group)};
  why.name = record.spec.name;
  why.summary = why_not_tried(group, parts_->pending_members(group));
  if (why.summary.empty()) explain_placements(group, why);
  out.push_back(std::move(why));
}

/// What members lack, by trying: of the pod itself, and of the first if that is another.
GANGSCHED_INLINE void explainer::add_group_words(row_t pod, explanation& why) {
  std::vector<group_explanation> groups;
  const transaction trial{*state_};
  const row_t group = state_->pods.group[pod];
  explain_group(group, groups);
  if (groups.empty()) return;
  if (groups.back().placements.empty()) {
    if (const std::string labels = labels_of_no_node(group); !labels.empty()) (why.summary += "; ") += labels;
    return;
  }
  const placement_verdict& nearest = groups.back().placements.front();
  why.lacks = nearest.lacks;
  if (nearest.missing.empty()) return;
  const std::uint64_t all = nearest.fit + nearest.lacks.size();
  (why.summary += "; ") += std::to_string(nearest.fit) + " of " + std::to_string(all) + " members fit";
  if (!nearest.name.empty()) (why.summary += " in ") += nearest.name;
  if (why.lacks.empty()) {
    (why.summary += ", ") += nearest.missing;
    return;
  }
  const auto own =
      std::find_if(why.lacks.begin(), why.lacks.end(), [&](const member_lack& one) { return one.pod.row == pod; });
  const member_lack& named = own != why.lacks.end() ? *own : why.lacks.front();
  if (!named.missing.empty()) ((why.summary += ", " + named.name) += ": ") += named.missing;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
