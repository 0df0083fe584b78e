#include "gangsched/engine/explainer.hpp"

#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What the pod lacks on the node of @p rows where it lacks least: first where only what the rejecting filter needs free is short, then of
/// the fewest resources, then by the smallest share of what it asks for.
GANGSCHED_INLINE std::string explainer::shortage(row_t pod, const std::vector<row_t>& rows, std::string& change,
                                                 std::string& plugin) {
  const pod_class& cls = state_->classes[state_->class_of(pod)];
  struct lack {
    std::size_t kinds = 0;
    double share = 0;
    row_t node = no_row;
    std::uint8_t mark = 0;
  };
  std::optional<lack> least;
  status other;
  std::uint8_t other_mark = 0;
  row_t other_node = no_row;
  const std::shared_ptr<const class_plan> kept = picks_->shared_plan(state_->pods.cls[pod]);
  const class_plan& plan = *kept;
  const auto each_lack = [&](row_t node, std::uint8_t mark, const auto& visit) {
    if (mark == 0) return;
    const planned& by = plan.filters[mark - 1u];
    if (by.plugin->filter.least_free == nullptr) return;
    const model::held_rooms::lift own_room{state_->rooms, cls, node};
    for (const amount& one : by.plugin->filter.least_free(by.plugin->self.get(), plan.context(*state_, by, no_row))) {
      const std::int64_t free = state_->nodes.allocatable.at(node, one.kind) - state_->nodes.used.at(node, one.kind);
      if (one.value > free) visit(one.kind, one.value - free, one.value);
    }
  };
  const auto name_plugin = [&](std::uint8_t mark) {
    plugin = mark != 0 ? plan.filters[mark - 1u].plugin->name : plan.rejected_by;
  };
  for (const row_t node : rows) {
    if (!state_->nodes.alive(node)) continue;
    static_cast<void>(picks_->begin_cycle(plan, pod));
    std::uint8_t mark = 0;
    const status said = picks_->filter(pod, node, &mark);
    if (said.ok()) continue;
    lack here{0, 0, node, mark};
    each_lack(node, mark, [&](resource_kind, std::int64_t missing, std::int64_t wanted) {
      ++here.kinds;
      here.share += static_cast<double>(missing) / static_cast<double>(wanted);
    });
    if (here.kinds == 0) {
      if (other_node == no_row) other = said, other_node = node, other_mark = mark;
      continue;
    }
    if (!least || std::pair{here.kinds, here.share} < std::pair{least->kinds, least->share}) least = here;
  }
  std::string text;
  if (least) {
    const std::string name{state_->names.text(state_->nodes.record[least->node]->name)};
    each_lack(least->node, least->mark, [&](resource_kind kind, std::int64_t missing, std::int64_t) {
      if (!text.empty()) text += ", ";
      text += std::to_string(missing);
      text += kind == kinds::cpu ? "m " : " ";
      text += state_->kinds.name(kind);
    });
    change = "free or add " + text + " on " + name;
    name_plugin(least->mark);
    return text + " short on " + name;
  }
  if (other_node == no_row) return rows.empty() ? "it has no node" : "";
  const std::string name{state_->names.text(state_->nodes.record[other_node]->name)};
  text = other.reason != nullptr ? other.reason : "rejected";
  text += state_->names.text(other.detail);
  change = "make " + name + " pass: " + text;
  name_plugin(other_mark);
  return text + " (" + name + ")";
}

/// Of a pod that waits.
GANGSCHED_INLINE void explainer::add_words_of(const plugin_entry& plugin, row_t pod, explanation& why) const {
  if (plugin.admission_words == nullptr || state_->pods.state[pod] != pod_state::pending) return;
  const std::string words = plugin.admission_words(plugin.self.get(), pod_info{*state_, pod}, cluster_view{*state_});
  if (words.empty()) return;
  if (why.summary.ends_with('.')) why.summary.pop_back();
  (why.summary += ": ") += words;
}

GANGSCHED_INLINE explanation explainer::rejected(const plugin_entry& plugin, const status& said,
                                                 const char* word) const {
  explanation why;
  why.rejected_by = plugin.name;
  why.code = said.code;
  why.summary = std::string{said.reason != nullptr ? said.reason : word} += state_->names.text(said.detail);
  return why;
}

/// Why a pending pod does not enter the queue, if it does not (`pre_enqueue_gates::rejects_pod`).
GANGSCHED_INLINE std::optional<explanation> explainer::why_gated(row_t pod) {
  if (const row_t its = state_->pods.group[pod]; its != no_row) {
    const model::group_record& root = *state_->groups.record[state_->groups.root(its)];
    if (root.expected) {
      explanation why;
      why.code = code::unresolvable;
      why.summary = "waiting for the group \"" + root.spec.name + "\" to be added";
      return why;
    }
  }
  static_cast<void>(state_->class_of(pod));
  for (const plugin_entry& plugin : entities_->profile_of(pod).hooks(point::pre_enqueue)) {
    const status said = plugin.pre_enqueue(plugin.self.get(), pod_info{*state_, pod});
    if (!said.ok()) return rejected(plugin, said, "gated");
  }
  return std::nullopt;
}

GANGSCHED_INLINE explanation explainer::explain(row_t pod) {
  if (!entities_->has_profile(pod)) {
    explanation why;
    why.code = code::unschedulable;
    why.summary = "no profile has the scheduler name \"";
    (why.summary += state_->names.text(state_->classes[state_->pods.cls[pod]].scheduler_name)) += "\"";
    return why;
  }
  if (state_->pods.state[pod] == pod_state::pending) {
    if (std::optional<explanation> gated = why_gated(pod)) return *std::move(gated);
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
    if (const char* reason = rejected_->reason_of({root, state_->groups.rows.generation(root)})) {
      (why.summary += " Its group: ") += reason;
      if (state_->pods.state[pod] == pod_state::pending) add_group_words(pod, why);
    } else if (state_->pods.state[pod] == pod_state::pending) {
      if (const std::string others = whom_it_waits_for(group); !others.empty())
        (why.summary += " Its group ") += others;
    }
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

GANGSCHED_INLINE std::string_view explainer::noted(row_t pod) const {
  const auto found = notes_.find({pod, state_->pods.rows.generation(pod)});
  return found != notes_.end() ? std::string_view{found->second} : std::string_view{};
}

GANGSCHED_INLINE void explainer::forget_row(row_t pod) {
  const auto owner = [&](const pod_id& id) {
    return state_->pods.alive(pod) && id.generation == state_->pods.rows.generation(pod);
  };
  for (auto it = notes_.lower_bound({pod, 0}); it != notes_.end() && it->first.row == pod;) {
    it = owner(it->first) ? std::next(it) : notes_.erase(it);
  }
}

GANGSCHED_INLINE std::optional<error> explainer::restore(const saved_host_words& from) {
  for (const auto& [pod, text] : from) {
    if (!gangsched::detail::had(state_->pods.rows, pod)) return model::damaged("words of the host");
  }
  std::map<pod_id, std::string> made;
  for (const auto& [pod, text] : from) made[pod] = text;
  notes_ = std::move(made);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
