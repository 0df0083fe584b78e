#include "gangsched/engine/explainer.hpp"

#include <algorithm>

#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What the pod lacks on the node of @p rows where it lacks least: first where only resources are short, then of the fewest, then by
/// the smallest share of what it asks for.
GANGSCHED_INLINE std::string explainer::shortage(row_t pod, const std::vector<row_t>& rows, std::string& change) {
  const pod_class& cls = state_->classes[state_->class_of(pod)];
  struct lack {
    std::size_t kinds = 0;
    double share = 0;
    row_t node = no_row;
  };
  std::optional<lack> least;
  status other;
  row_t other_node = no_row;
  const auto each_lack = [&](row_t node, const auto& visit) {
    const model::held_rooms::lift own_room{state_->rooms, cls, node};
    const auto look = [&](resource_kind kind, std::int64_t wanted) {
      const std::int64_t free = state_->nodes.allocatable.at(node, kind) - state_->nodes.used.at(node, kind);
      if (wanted > free) visit(kind, wanted - free, wanted);
    };
    look(kinds::pods, 1);
    for (const amount& one : cls.requests) look(one.kind, one.value);
  };
  const class_plan& plan = picks_->plan_of(state_->pods.cls[pod]);
  for (const row_t node : rows) {
    if (!state_->nodes.alive(node)) continue;
    static_cast<void>(picks_->begin_cycle(plan, pod));
    std::uint8_t mark = 0;
    const status said = picks_->filter(pod, node, &mark);
    if (said.ok()) continue;
    lack here{0, 0, node};
    each_lack(node, [&](resource_kind, std::int64_t missing, std::int64_t wanted) {
      ++here.kinds;
      here.share += static_cast<double>(missing) / static_cast<double>(wanted);
    });
    if (here.kinds == 0) {
      if (other_node == no_row) other = said, other_node = node;
      continue;
    }
    if (!least || std::pair{here.kinds, here.share} < std::pair{least->kinds, least->share}) least = here;
  }
  std::string text;
  if (least) {
    const std::string& name = state_->nodes.record[least->node]->name_text;
    each_lack(least->node, [&](resource_kind kind, std::int64_t missing, std::int64_t) {
      if (!text.empty()) text += ", ";
      text += std::to_string(missing);
      text += kind == kinds::cpu ? "m " : " ";
      text += state_->kinds.name(kind);
    });
    change = "free or add " + text + " on " + name;
    return text + " short on " + name;
  }
  if (other_node == no_row) return rows.empty() ? "it has no node" : "";
  const std::string& name = state_->nodes.record[other_node]->name_text;
  text = other.reason != nullptr ? other.reason : "rejected";
  text += state_->names.text(other.detail);
  change = "make " + name + " pass: " + text;
  return text + " (" + name + ")";
}

GANGSCHED_INLINE void explainer::explain_group(row_t group, std::vector<group_explanation>& out) {
  for (row_t child = state_->groups.first_child[group]; child != no_row; child = state_->groups.next_sibling[child]) {
    explain_group(child, out);
  }
  const model::group_record& record = *state_->groups.record[group];
  if (record.spec.composite) return;
  group_explanation why;
  why.group = {group, state_->groups.rows.generation(group)};
  why.name = record.spec.name;
  group_part whole;
  whole.group = group;
  whole.members = parts_->pending_members(group);
  const std::uint64_t placed = std::uint64_t{state_->groups.assumed[group]} + state_->groups.bound[group];
  const std::uint64_t wanted = state_->groups.min_count(group);
  if (state_->groups.record[state_->groups.root(group)]->expected) {
    why.summary =
        "waiting for the group \"" + state_->groups.record[state_->groups.root(group)]->spec.name + "\" to be added";
  } else if (whole.members.empty()) {
    why.summary = limits_->explain(group);
    if (why.summary.empty()) why.summary = placed == 0 ? "it has no members" : "nobody waits";
  } else if (std::any_of(whole.members.begin(), whole.members.end(),
                         [&](row_t pod) { return gates_->rejects_pod(pod); })) {
    const auto gated =
        std::find_if(whole.members.begin(), whole.members.end(), [&](row_t pod) { return gates_->rejects_pod(pod); });
    why.summary = explain(*gated).summary;
  } else if (admission_->ask(entities_->entity_of(whole.members.front()))) {
    why.summary = explain(whole.members.front()).summary;
  } else {
    const picker::position first = picks_->where();
    status said;
    placement_candidates& candidates = search_->candidates();
    const std::vector<placement> where = candidates.placements(whole, said);
    const candidate_list list = candidates.of(whole, where, nullptr);
    std::string change;
    for (const placement_candidate& one : list.all) {
      std::vector<row_t> rows;
      if (!one.from->all) rows = placement_candidates::rows_of(one, nullptr);
      for (row_t row = 0; one.from->all && row < state_->nodes.rows.count(); ++row) rows.push_back(row);
      transaction trial{*state_};
      placed_members there = search_->nobody();
      placement_verdict verdict{std::string{one.name()}, placed, wanted, {}};
      std::string its_change;
      for (const row_t pod : whole.members) {
        const picked found = picks_->pick(pod, &rows);
        status hook;
        if (found.node != no_row && there.place(pod, found, hook))
          ++verdict.fit;
        else if (verdict.missing.empty())
          verdict.missing = shortage(pod, rows, its_change);
      }
      const bool nearer = why.placements.empty() || verdict.fit > why.placements.front().fit;
      if (nearer) change = its_change;
      why.placements.insert(nearer ? why.placements.begin() : why.placements.end(), std::move(verdict));
    }
    picks_->go_back(first);
    std::stable_sort(why.placements.begin(), why.placements.end(),
                     [](const placement_verdict& a, const placement_verdict& b) { return a.fit > b.fit; });
    if (!said.ok() && said.reason != nullptr)
      why.summary = said.reason;
    else if (why.placements.empty())
      why.summary = "there is no placement for it";
    else {
      const placement_verdict& nearest = why.placements.front();
      if (!nearest.name.empty()) why.summary = nearest.name + ": ";
      why.summary +=
          std::to_string(nearest.fit) + " of " + std::to_string(placed + whole.members.size()) + " members fit";
      if (nearest.fit < wanted) why.summary += ", " + std::to_string(wanted) + " are needed";
      if (!nearest.missing.empty()) why.summary += ", " + nearest.missing;
      if (!nearest.missing.empty()) why.change = change;
    }
  }
  out.push_back(std::move(why));
}

/// Of a pod that waits.
GANGSCHED_INLINE void explainer::add_words_of(const plugin_entry& plugin, row_t pod, explanation& why) const {
  if (plugin.admission_words == nullptr || state_->pods.state[pod] != pod_state::pending) return;
  const std::string words = plugin.admission_words(plugin.self.get(), pod_info{*state_, pod}, cluster_view{*state_});
  if (!words.empty()) (why.summary += ": ") += words;
}

GANGSCHED_INLINE explanation explainer::explain(row_t pod) {
  if (!entities_->has_profile(pod)) {
    explanation why;
    why.code = code::unschedulable;
    why.summary = "no profile has the scheduler name \"";
    (why.summary += state_->names.text(state_->classes[state_->pods.cls[pod]].scheduler_name)) += "\"";
    return why;
  }
  if (const row_t its = state_->pods.group[pod]; its != no_row && state_->pods.state[pod] == pod_state::pending) {
    const model::group_record& root = *state_->groups.record[state_->groups.root(its)];
    if (root.expected) {
      explanation why;
      why.code = code::unresolvable;
      why.summary = "waiting for the group \"" + root.spec.name + "\" to be added";
      return why;
    }
  }
  const auto rejected = [&](const plugin_entry& plugin, const status& said, const char* word) {
    explanation why;
    why.rejected_by = plugin.name;
    why.code = said.code;
    why.summary = std::string{said.reason != nullptr ? said.reason : word} += state_->names.text(said.detail);
    return why;
  };
  for (const plugin_entry& plugin : entities_->profile_of(pod).hooks(point::pre_enqueue)) {
    if (state_->pods.state[pod] != pod_state::pending) break;
    static_cast<void>(state_->class_of(pod));
    const status said = plugin.pre_enqueue(plugin.self.get(), pod_info{*state_, pod});
    if (!said.ok()) return rejected(plugin, said, "gated");
  }
  if (state_->pods.state[pod] == pod_state::pending) {
    if (const refusal no = admission_->ask(entities_->entity_of(pod))) {
      explanation why = rejected(*no.by, no.said, "not admitted");
      add_words_of(*no.by, pod, why);
      return why;
    }
  }
  explanation why = picks_->explain(pod);
  for (const plugin_entry& plugin : entities_->profile_of(pod).hooks(point::admission)) add_words_of(plugin, pod, why);
  const row_t group = state_->pods.group[pod];
  if (group != no_row) {
    const row_t root = state_->groups.root(group);
    if (const char* reason = rejected_->reason_of({root, state_->groups.rows.generation(root)}))
      (why.summary += " Its group: ") += reason;
  }
  if (const auto found = notes_.find({pod, state_->pods.rows.generation(pod)}); found != notes_.end()) {
    (why.summary += " Last failure: ") += found->second;
  }
  return why;
}

GANGSCHED_INLINE void explainer::note(row_t pod, std::string_view text) {
  if (text.empty() && notes_.empty()) return;  // as a rule
  const pod_id id{pod, state_->pods.rows.generation(pod)};
  if (text.empty())
    notes_.erase(id);
  else
    notes_[id] = std::string{text};
}

GANGSCHED_INLINE void explainer::forget_row(row_t pod) {
  const auto owner = [&](const pod_id& id) {
    return state_->pods.alive(pod) && id.generation == state_->pods.rows.generation(pod);
  };
  for (auto it = notes_.lower_bound({pod, 0}); it != notes_.end() && it->first.row == pod;) {
    it = owner(it->first) ? std::next(it) : notes_.erase(it);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
