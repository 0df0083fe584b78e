#include "gangsched/engine/class_plan.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

/// RunPreFilterPlugins: unresolvable and error stop, unschedulable is remembered while the others run; node sets are intersected.
struct pre_filter_outcome {
  std::vector<bool> skipped;
  std::vector<std::string> narrowing;
};

GANGSCHED_INLINE void narrow(class_plan& plan, const node_names& names) {
  std::vector<symbol> wanted{names.names().begin(), names.names().end()};
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (plan.narrowed) {
    std::erase_if(plan.only, [&](symbol s) { return !std::binary_search(wanted.begin(), wanted.end(), s); });
  } else {
    plan.only = std::move(wanted);
    plan.narrowed = true;
  }
}

GANGSCHED_INLINE std::string joined(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) (text += text.empty() ? "" : " ") += name;  // as Go prints a list
  return text;
}

/// The plan outlives what the hook may have put together.
GANGSCHED_INLINE void reject_by(class_plan& plan, const plugin_entry& plugin, const status& said) {
  plan.rejected = said;
  plan.rejected_by = plugin.name;
  if (said.reason == nullptr) return;
  plan.rejection = said.reason;
  plan.rejected.reason = plan.rejection.c_str();
}

GANGSCHED_INLINE pre_filter_outcome run_pre_filters(class_plan& plan, const kernel_table& table,
                                                    const model::cluster_state& state) {
  pre_filter_outcome out;
  out.skipped.resize(table.plugins.size());
  for (const std::uint16_t index : table.at(point::pre_filter)) {
    const plugin_entry& plugin = table.plugins[index];
    planned hook{&plugin, plan.data[index].get(), 0};
    if (plugin.cycle_data) {
      plan.cycle_hooks.push_back(hook);
      if (plugin.add_pod != nullptr) plan.incremental.push_back(hook);
      continue;
    }
    node_names names;
    status said = plugin.pre_filter(plugin.self.get(), plan.context(state, hook, no_row), names);
    if (said.code == code::skip) {
      out.skipped[index] = true;
    } else if (said = hook_errors::accepts_or_rejects(said, neither_filters); !said.ok()) {
      if (plan.rejected.ok()) reject_by(plan, plugin, said);
      if (said.code != code::unschedulable) {
        reject_by(plan, plugin, said);
        break;
      }
    } else if (names.narrowed()) {
      narrow(plan, names);
      out.narrowing.push_back(plugin.name);
      if (!plan.only.empty()) continue;
      plan.rejection = out.narrowing.size() == 1
                           ? "node(s) didn't satisfy plugin " + plugin.name
                           : "node(s) didn't satisfy plugin(s) [" + joined(out.narrowing) + "] simultaneously";
      plan.rejected = status::unresolvable(plan.rejection.c_str());
      plan.rejected_by = plugin.name;
      break;
    }
  }
  plan.narrowed_by = joined(out.narrowing);
  return out;
}

/// @p elsewhere: what of a node changes unseen; what reads it cannot be kept.
GANGSCHED_INLINE planned plan_hook(const plugin_entry& plugin, void* data, std::uint8_t mark, reads facets, bool opaque,
                                   reads elsewhere) {
  return {&plugin, data, mark, covers(amounts, facets), opaque || any(facets & elsewhere)};
}

/// A local hook that cannot be kept is opaque; a keyed one is keyed all the same.
GANGSCHED_INLINE shape shape_of(const planned& hook, shape wished) {
  return hook.opaque && wished == shape::local ? shape::opaque : wished;
}

GANGSCHED_INLINE void plan_filter(class_plan& plan, const plugin_entry& plugin, void* data, reads elsewhere) {
  const filter_kernel& kernel = plugin.filter;
  const auto mark = static_cast<std::uint8_t>(plan.filters.size() + 1);
  const planned hook = plan_hook(plugin, data, mark, kernel.facets, kernel.opaque, elsewhere);
  plan.filters.push_back(hook);
  plan.filtering |= plugin_bit(*plan.table, plugin);
  plan.opaque |= hook.opaque;
  switch (shape_of(hook, kernel.shape)) {
    case shape::local:
      plan.local_filters.push_back(hook);
      plan.cached.by_amounts += hook.by_amounts;
      plan.cached.by_block += kernel.block != nullptr;
      plan.cached.filters |= kernel.facets;
      break;
    case shape::keyed:
      plan.keyed_filters.push_back(hook);
      if (!hook.opaque) {
        plan.cached.filter_keys.push_back(hook);
        plan.cached.keys |= kernel.facets;
      }
      break;
    default: plan.opaque_filters.push_back(hook); break;
  }
}

GANGSCHED_INLINE void plan_score(class_plan& plan, const plugin_entry& plugin, void* data, reads elsewhere) {
  const score_kernel& kernel = plugin.score;
  const planned hook = plan_hook(plugin, data, 0, kernel.facets, kernel.opaque, elsewhere);
  plan.scores.push_back(hook);
  plan.opaque |= hook.opaque;
  switch (shape_of(hook, kernel.shape)) {
    case shape::local:
      plan.local_scores.push_back(hook);
      plan.cached.by_amounts += hook.by_amounts;
      plan.cached.by_block += kernel.block != nullptr;
      plan.cached.scores |= kernel.facets;
      plan.cached.local_range += plugin.weight * max_node_score;
      break;
    case shape::keyed:
      plan.keyed_scores.push_back(hook);
      if (!hook.opaque) {
        plan.cached.score_keys.push_back(hook);
        if (!kernel.finish_reads)
          plan.cached.finish_reads.reset();
        else if (plan.cached.finish_reads)
          *plan.cached.finish_reads |= *kernel.finish_reads;
        plan.cached.by_population |= kernel.reads_population;
        plan.cached.keys |= kernel.facets;
      }
      break;
    default: plan.opaque_scores.push_back(hook); break;
  }
}

}  // namespace detail

GANGSCHED_INLINE std::unique_ptr<class_plan> make_plan(const kernel_table& table, const model::cluster_state& state,
                                                       class_id cls) {
  auto plan = std::make_unique<class_plan>();
  plan->cls = cls;
  plan->table = &table;
  plan->generation = state.classes.generation(cls);
  plan->epoch = state.topologies.plan_epoch();
  plan->data.reserve(table.plugins.size());
  plan->filters.reserve(table.at(point::filter).size());
  plan->local_filters.reserve(table.at(point::filter).size());
  plan->scores.reserve(table.at(point::score).size());
  plan->local_scores.reserve(table.at(point::score).size());
  for (const plugin_entry& plugin : table.plugins) {
    plan->data.push_back(plugin.make_data != nullptr ? plugin.make_data() : nullptr);
  }
  const reads elsewhere = model::device_ledger::elsewhere(state.classes[cls]);
  const detail::pre_filter_outcome outcome = detail::run_pre_filters(*plan, table, state);
  for (const std::uint16_t index : table.at(point::filter)) {
    if (outcome.skipped[index]) continue;
    detail::plan_filter(*plan, table.plugins[index], plan->data[index].get(), elsewhere);
  }
  std::vector<bool> skips_score(table.plugins.size());
  for (const std::uint16_t index : table.at(point::pre_score)) {
    const plugin_entry& plugin = table.plugins[index];
    const planned hook{&plugin, plan->data[index].get(), 0};
    const status said = plugin.pre_score(plugin.self.get(), plan->context(state, hook, no_row));
    if (said.code == code::skip)
      skips_score[index] = true;
    else if (!said.ok() && plan->rejected.ok())
      detail::reject_by(*plan, plugin,
                        hook_errors::accepts_or_rejects(said, "a pre_score hook neither accepts nor rejects"));
  }
  for (const std::uint16_t index : table.at(point::score)) {
    if (!skips_score[index]) detail::plan_score(*plan, table.plugins[index], plan->data[index].get(), elsewhere);
  }
  for (const std::uint16_t index : table.at(point::choose_devices)) {
    plan->device_choosers.push_back({&table.plugins[index], plan->data[index].get(), 0});
  }
  return plan;
}

GANGSCHED_INLINE std::optional<std::string> plan_difference(const class_plan& a, const class_plan& b) {
  const auto text = [](const status& said) { return std::string_view{said.reason != nullptr ? said.reason : ""}; };
  if (a.rejected.code != b.rejected.code || a.rejected.detail != b.rejected.detail ||
      text(a.rejected) != text(b.rejected)) {
    return "the rejection by " + (a.rejected.ok() ? b.rejected_by : a.rejected_by);
  }
  if (a.narrowed_by != b.narrowed_by || a.only != b.only)
    return "the nodes left by [" + a.narrowed_by + "], then [" + b.narrowed_by + "]";
  const auto skip = [](const std::vector<planned>& before,
                       const std::vector<planned>& after) -> std::optional<std::string> {
    for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      if (i < before.size() && i < after.size() && before[i].plugin == after[i].plugin) continue;
      return "what " + (i < before.size() ? before[i] : after[i]).plugin->name + " skips";
    }
    return std::nullopt;
  };
  if (auto wrong = skip(a.filters, b.filters)) return wrong;
  return skip(a.scores, b.scores);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
