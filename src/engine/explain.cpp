#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gangsched/core/nodes_line.hpp"
#include "gangsched/engine/picker.hpp"

// Why and why not, from nothing: no index, every filter asked in profile order. For people, not for the hot path.
namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

/// The first rejecting filter's word on one node, with all its reasons. True if some filter rejects.
GANGSCHED_INLINE bool reject(const model::cluster_state& state, const planned& hook, const hook_context& context,
                             row_t row, const status& said, node_verdict& out) {
  if (said.ok()) return false;
  out.code = said.code;
  out.plugin = hook.plugin->name;
  each_reason(hook, context, row, said,
              [&](const status& one) { out.reasons.push_back(reason_text(state.names, one)); });
  std::sort(out.reasons.begin(), out.reasons.end());
  return true;
}

GANGSCHED_INLINE std::string summary_line(const explanation& why) {
  std::map<std::string, std::size_t> counts;
  std::size_t feasible = 0;
  for (const node_verdict& node : why.nodes) {
    if (node.code == code::success) ++feasible;
    for (const std::string& reason : node.reasons) ++counts[reason];
  }
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(fmt::format("{} {}", count, reason));
  return gangsched::detail::nodes_line(feasible, why.nodes.size(), std::move(parts));
}

}  // namespace detail

/// The first of the two passes: what the node says with the pods that are nominated to it, now and when it is reserved.
GANGSCHED_INLINE bool picker::reject_with_nominated(const class_plan& plan, row_t pod, row_t node, node_verdict& out) {
  const instant begin = supposed_time_.value_or(*now_);
  for (std::optional<instant> at = begin; at; at = nominated_pass::next_time(*state_, pod, node, begin, *at)) {
    const nominated_pass pass{*this, *state_, pod, node, *now_, *at};
    if (!pass) continue;
    if (!pass.said().ok()) {
      out.code = pass.said().code;
      out.reasons = {pass.said().reason};
      return true;
    }
    std::uint8_t by = 0;
    const status said = filter(pod, node, &by);
    if (by == 0) continue;
    const planned& hook = plan.filters[by - 1];
    if (detail::reject(*state_, hook, plan.context(*state_, hook, pod), node, said, out)) return true;
  }
  return false;
}

GANGSCHED_INLINE std::vector<std::string> picker::reasons(row_t pod, row_t node) {
  const std::shared_ptr<const class_plan> kept = shared_plan(state_->class_of(pod));
  const class_plan& plan = *kept;
  const model::held_rooms::lift own_room{state_->rooms, state_->classes[state_->class_of(pod)]};
  node_verdict verdict;
  if (reject_with_nominated(plan, pod, node, verdict)) return std::move(verdict.reasons);
  std::uint8_t by = 0;
  const status said = filter(pod, node, &by);
  if (said.ok()) return {};
  if (by == 0) return {reason_text(state_->names, said)};
  const planned& hook = plan.filters[by - 1u];
  detail::reject(*state_, hook, plan.context(*state_, hook, pod), node, said, verdict);
  return std::move(verdict.reasons);
}

GANGSCHED_INLINE shared_words picker::words(row_t pod, const picked& found, const std::vector<row_t>* within) {
  if (!options_.count_reasons) return nullptr;
  const class_plan& plan = plan_of(state_->class_of(pod));
  const std::size_t nodes = within != nullptr ? within->size() : state_->nodes.total[0];
  if (!found.said.ok()) {
    const std::string by = !plan.rejected.ok() ? plan.rejected_by : rejected_by_ != nullptr ? rejected_by_->name : "";
    return std::make_shared<rejection_words>(rejection_words{{{by, reason_text(state_->names, found.said), 0}}, nodes});
  }
  const row_reasons* const kept = plan.narrowed ? nullptr : index_of(plan.cls).reasons();
  const auto count = [&](const row_reasons::words& said, std::size_t rows) {
    for (const std::string& text : said.second) reasons_.add(plan.filters[said.first - 1u].plugin->name, text, rows);
  };
  if (kept != nullptr && within == nullptr) kept->each(count);
  if (kept != nullptr && within != nullptr) {
    for (const row_t row : *within) {
      if (const row_reasons::words* const said = kept->find(row)) count(*said, 1);
    }
  }
  return std::make_shared<rejection_words>(rejection_words{reasons_.all(), nodes});
}

GANGSCHED_INLINE std::uint64_t picker::rejectors_of(row_t pod, const picked& found) {
  const class_plan& plan = plan_of(state_->class_of(pod));
  if (found.said.ok() || found.said.code == code::error) return found.rejectors;
  if (plan.rejected.ok())
    return found.rejectors | (rejected_by_ != nullptr ? plugin_bit(*plan.table, *rejected_by_) : 0);
  for (const plugin_entry& plugin : plan.table->plugins) {
    if (plugin.name == plan.rejected_by) return found.rejectors | plugin_bit(*plan.table, plugin);
  }
  return found.rejectors;
}

GANGSCHED_INLINE explanation picker::explain(row_t pod) {
  explanation why;
  const model::held_rooms::lift own_room{state_->rooms, state_->classes[state_->class_of(pod)]};
  const std::shared_ptr<const class_plan> kept = shared_plan(state_->class_of(pod));
  const class_plan& plan = *kept;
  const std::vector<row_t> reserved = nodes_by_reservation(*this, *state_, pod);
  const row_t from = fitting_reservation(*this, *state_, pod, no_row);
  const std::shared_ptr<const pod_class> cls = state_->classes.share(state_->pods.cls[pod]);
  const without_reservations plainly{*state_};
  status said = plan.rejected;
  std::string by = plan.rejected_by;
  if (said.ok()) {
    said = begin_cycle(plan, pod);
    if (rejected_by_ != nullptr) by = rejected_by_->name;
  }
  skip_idle(plan, pod);
  std::vector<row_t> rows;
  for (row_t row = 0; row < state_->nodes.rows.count(); ++row) {
    if (!state_->nodes.alive(row)) continue;
    rows.push_back(row);
    node_verdict& node = why.nodes.emplace_back();
    node.node = {row, state_->nodes.rows.generation(row)};
    node.name = state_->names.text(state_->nodes.record[row]->name);
  }
  if (!said.ok()) {
    why.rejected_by = by;
    why.code = said.code;
    why.summary = fmt::format("0/{} nodes are available: {}.", rows.size(), reason_text(state_->names, said));
    for (node_verdict& node : why.nodes) {
      node.code = said.code;
      node.plugin = by;
      node.reasons = {reason_text(state_->names, said)};
    }
    return why;
  }

  // Keyed filters need to know what the others leave.
  const auto judge = [&](const planned& hook, const std::vector<std::size_t>& among, const auto& each) {
    const hook_context context = plan.context(*state_, hook, pod);
    buffers_.keys.clear();
    for (const std::size_t i : among)
      buffers_.keys.push_back(hook.plugin->filter.key(hook.plugin->self.get(), context, rows[i]));
    number_keys();
    const std::vector<std::uint32_t> slots = buffers_.slot;
    std::vector<filtered_group> groups;
    count_by_key(buffers_.distinct, slots, groups);
    if (!groups.empty()) hook.plugin->filter.finish(hook.plugin->self.get(), context, groups);
    for (std::size_t j = 0; j < among.size(); ++j) each(among[j], groups[slots[j]].verdict);
  };
  std::vector<std::size_t> left;
  std::vector<std::size_t> unnarrowed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (plan.narrowed && !std::binary_search(plan.only.begin(), plan.only.end(), state_->nodes.record[rows[i]]->name)) {
      why.nodes[i].code = code::unresolvable;
      why.nodes[i].reasons = {fmt::format("node(s) didn't satisfy plugin(s) [{}]", plan.narrowed_by)};
      continue;
    }
    unnarrowed.push_back(i);
    bool passed = true;
    for (const planned& hook : plan.filters) {
      if (hook.plugin->filter.shape == shape::keyed || skipped(hook)) continue;
      passed =
          passed && hook.plugin->filter.one(hook.plugin->self.get(), plan.context(*state_, hook, pod), rows[i]).ok();
    }
    if (passed) left.push_back(i);
  }
  std::map<std::pair<const plugin_entry*, std::size_t>, status> keyed;  // verdicts of keyed filters by node
  for (const planned& hook : plan.filters) {
    if (hook.plugin->filter.shape != shape::keyed || skipped(hook)) continue;
    judge(hook, left, [&](std::size_t i, const status& s) { keyed[{hook.plugin, i}] = s; });
    std::vector<std::size_t> others;
    std::set_difference(unnarrowed.begin(), unnarrowed.end(), left.begin(), left.end(), std::back_inserter(others));
    // A node that another filter rejects is judged by itself: only its verdict is wanted, if this filter comes first.
    for (const std::size_t i : others)
      judge(hook, {i}, [&](std::size_t n, const status& s) { keyed[{hook.plugin, n}] = s; });
  }
  std::vector<std::size_t> feasible;
  for (const std::size_t i : unnarrowed) {
    if (std::binary_search(reserved.begin(), reserved.end(), rows[i])) {
      feasible.push_back(i);
      continue;
    }
    if (cls->reservation_affinity != nullptr) {
      const status none = no_reservation(*state_, *cls, rows[i]);
      why.nodes[i].code = none.code, why.nodes[i].reasons = {reason_text(state_->names, none)};
      continue;
    }
    bool rejected = reject_with_nominated(plan, pod, rows[i], why.nodes[i]);
    for (const planned& hook : plan.filters) {
      if (rejected) break;
      if (skipped(hook)) continue;
      const hook_context context = plan.context(*state_, hook, pod);
      const status one = hook.plugin->filter.shape == shape::keyed
                             ? keyed[{hook.plugin, i}]
                             : hook.plugin->filter.one(hook.plugin->self.get(), context, rows[i]);
      if ((rejected = detail::reject(*state_, hook, context, rows[i], one, why.nodes[i]))) break;
    }
    if (!rejected) feasible.push_back(i);
  }
  const row_t chosen = from != no_row ? state_->pods.node[from] : state_->pods.nominated[pod];
  const auto own = std::find_if(feasible.begin(), feasible.end(), [&](std::size_t i) { return rows[i] == chosen; });
  if (own != feasible.end()) feasible = {*own};  // the others are not asked
  for (const planned& hook : plan.scores) {
    const hook_context context = plan.context(*state_, hook, pod);
    buffers_.keys.clear();
    for (const std::size_t i : feasible)
      buffers_.keys.push_back(hook.plugin->score.one(hook.plugin->self.get(), context, rows[i]));
    number_keys();
    const std::vector<std::int64_t> raws = buffers_.keys;
    const std::vector<std::uint32_t> slots = buffers_.slot;
    std::vector<scored_group> groups;
    count_by_key(buffers_.distinct, slots, groups);
    if (hook.plugin->score.finish != nullptr && !groups.empty() &&
        hook.plugin->score.finish(hook.plugin->self.get(), context, groups).code == code::skip) {
      continue;
    }
    for (std::size_t j = 0; j < feasible.size(); ++j) {
      node_verdict& node = why.nodes[feasible[j]];
      const std::int64_t normalized = groups[slots[j]].score;
      node.scores.push_back(
          {hook.plugin->name, hook.plugin->score.raw_is_key ? normalized : raws[j], normalized, hook.plugin->weight});
      node.total += node.scores.back().weighted();
    }
  }
  why.summary = detail::summary_line(why);
  return why;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
