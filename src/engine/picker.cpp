#include "gangsched/engine/picker.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "gangsched/core/tie_break.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

inline constexpr std::size_t least_indexes = 64;

/// How many there may be, of so many nodes, if the host says that many (`scheduler_options::indexed_classes`).
[[nodiscard]] GANGSCHED_INLINE std::size_t most_indexes(std::size_t said, std::size_t nodes) noexcept {
  constexpr std::size_t most_by_default = 512, nodes_in_all = least_indexes * 100'000;
  if (said != 0) return said;
  return std::clamp<std::size_t>(nodes_in_all / std::max<std::size_t>(nodes, 1), least_indexes, most_by_default);
}

}  // namespace detail

GANGSCHED_INLINE picker::picker(model::cluster_state& state, const profile_set& profiles,
                                const scheduler_options& options, engine_statistics& statistics, const instant& now)
    : state_(&state),
      profiles_(&profiles),
      options_(options),
      statistics_(&statistics),
      now_(&now),
      indexes_(state),
      answers_(state, options.indexed_classes != 0 ? options.indexed_classes : detail::least_indexes),
      watched_(options.check_hooks || options.count_reasons) {}

GANGSCHED_INLINE std::unique_ptr<class_plan> picker::new_plan(class_id cls) const {
  const kernel_table* table = profiles_->find(state_->classes[cls]);
  auto made = make_plan(table != nullptr ? *table : profiles_->front(), *state_, cls);
  made->cached.served_by_answers = node_answers::serve(state_->classes[cls]) && node_answers::at_once(*made);
  return made;
}

GANGSCHED_INLINE const std::shared_ptr<const class_plan>& picker::renew_plan(class_id cls) {
  if (plans_.size() <= cls) plans_.resize(state_->classes.size());
  return plans_[cls] = new_plan(cls);
}

GANGSCHED_INLINE class_index& picker::index_of(class_id cls) {
  if (class_index* const known = indexes_.use(cls)) return *known;
  auto made = std::make_unique<class_index>(*state_, shared_plan(cls), *statistics_, &answers_);
  if (options_.count_reasons) made->keep_reasons();
  scanned_.candidates = 0;  // what it is about may be gone, and another index where that was
  return indexes_.add(cls, std::move(made), detail::most_indexes(options_.indexed_classes, state_->nodes.rows.count()));
}

GANGSCHED_INLINE std::vector<row_t> picker::feasible_rows(row_t pod, const std::vector<row_t>* within) {
  std::vector<row_t> all;
  for (row_t row = 0; within == nullptr && row < state_->nodes.rows.count(); ++row) all.push_back(row);
  only_filter_ = true;
  buffers_.candidates.clear();
  const model::held_rooms::lift own_room{state_->rooms, state_->classes[state_->class_of(pod)]};
  const picked said = pick_among(pod, state_->class_of(pod), within != nullptr ? within : &all, false);
  only_filter_ = false;
  if (said.said.code == code::error || !said.said.ok()) return {};
  std::vector<row_t> found = buffers_.candidates;
  std::sort(found.begin(), found.end());
  return found;
}

GANGSCHED_INLINE class_index* picker::capacity_index(class_id cls) {
  const class_plan& plan = plan_of(cls);
  if (!plan.rejected.ok() || plan.narrowed || look_into_reservations(*state_, cls)) return nullptr;
  class_index& index = index_of(cls);
  const model::held_rooms::lift own_room{state_->rooms, state_->classes[cls]};
  index.sync();
  if (state_->classes[cls].held_room) static_cast<void>(index.capacity());  // while its room is lifted
  return index.rows().broken == nullptr ? &index : nullptr;                 // the next pick says what is wrong
}

GANGSCHED_INLINE bool picker::skipped(const planned& hook) const noexcept {
  return std::find(skipped_.begin(), skipped_.end(), hook.plugin) != skipped_.end();
}

GANGSCHED_INLINE status picker::begin_cycle(const class_plan& plan, row_t pod) {
  skipped_.clear();
  rejected_by_ = nullptr;
  misled_ = {};
  for (const planned& hook : plan.cycle_hooks) {
    hook.plugin->reset_data(hook.data);
    node_names unused;
    ++statistics_->opaque_evaluations;
    status said = hook.plugin->pre_filter(hook.plugin->self.get(), plan.context(*state_, hook, pod), unused);
    if (said.code == code::skip) skipped_.push_back(hook.plugin);
    if (said.ok() || said.code == code::skip) continue;
    said = hook_errors::accepts_or_rejects(said, neither_filters);
    rejected_by_ = hook.plugin;
    return said.code == code::error ? broken(*hook.plugin, said.reason) : said;
  }
  return {};
}

GANGSCHED_INLINE void picker::skip_idle(const class_plan& plan, row_t pod) {
  if (!state_->semantics.has(quirk::idle_affinity_filter)) return;
  for (const planned& hook : plan.filters) {
    const filter_kernel& kernel = hook.plugin->filter;
    if (kernel.idle != nullptr && kernel.idle(hook.plugin->self.get(), plan.context(*state_, hook, pod)))
      skipped_.push_back(hook.plugin);
  }
}

/// The text of an error that a hook caused: whose, and where. Lives until the next one.
GANGSCHED_INLINE status picker::broken(const plugin_entry& plugin, const char* what, row_t node) {
  broken_ = "plugin " + plugin.name;
  if (node != no_row) (broken_ += ", node ") += state_->names.text(state_->nodes.record[node]->name);
  (broken_ += ": ") += what != nullptr ? what : "failed with an error";
  return status::error(broken_.c_str());
}

/// The kernels only say that something is wrong: looks again for where.
GANGSCHED_INLINE status picker::broken(const class_plan& plan, const row_scores& rows) {
  const plugin_entry& plugin = *rows.broken_by;
  const auto mine = [&](const planned& hook) { return hook.plugin == &plugin; };
  const auto filter = std::find_if(plan.local_filters.begin(), plan.local_filters.end(), mine);
  const auto score = std::find_if(plan.local_scores.begin(), plan.local_scores.end(), mine);
  for (row_t row = 0; row < state_->nodes.rows.count(); ++row) {
    if (!state_->nodes.alive(row)) continue;
    if (filter != plan.local_filters.end()) {
      const status said = plugin.filter.one(plugin.self.get(), plan.context(*state_, *filter, no_row), row);
      if (!said.ok() && !said.rejected()) return broken(plugin, said.reason, row);
    }
    if (score != plan.local_scores.end()) {
      const std::int64_t value = plugin.score.one(plugin.self.get(), plan.context(*state_, *score, no_row), row);
      if (value < 0 || value > max_node_score) return broken(plugin, rows.broken, row);
    }
  }
  return broken(plugin, rows.broken);
}

GANGSCHED_INLINE picked picker::pick(row_t pod, const std::vector<row_t>* within) {
  const class_id cls = state_->class_of(pod);
  if (look_into_reservations(*state_, cls)) return pick_with_reservations(*this, *state_, pod, within);
  const model::held_rooms::lift own_room{state_->rooms, state_->classes[cls]};
  if (scanned_.candidates != 0 && goes_on(cls, within)) return scan_on(scanned_.index->plan(), *scanned_.index, pod);
  const row_t nominated = state_->pods.nominated[pod];
  if (nominated == no_row || (within != nullptr && !std::binary_search(within->begin(), within->end(), nominated))) {
    return pick_among(pod, cls, within, true);
  }
  const position before = where();
  const std::vector<row_t> only{nominated};
  const picked there = pick_among(pod, cls, &only, false);
  if (there.node != no_row) return there;
  go_back(before);  // both are one answer
  tried_ = nominated;
  const picked found = pick_among(pod, state_->class_of(pod), within, true);  // (a trial may have given it another)
  tried_ = no_row;
  return found;
}

GANGSCHED_INLINE picked picker::pick_among(row_t pod, class_id cls, const std::vector<row_t>* within, bool sample) {
  const class_plan& plan = *shared_plan(cls);  // until a trial makes another
  picked result;
  if (watched_) reasons_.clear();
  if (watched_ && options_.check_hooks) {
    if (const auto wrong = plan_difference(plan, *new_plan(cls))) {
      broken_ = "a hook read more than its signature says: " + *wrong;
      indexes_.erase(cls);
      plans_[cls] = nullptr;
      result.said = status::error(broken_.c_str());
      return result;
    }
  }
  if (!plan.rejected.ok()) {
    ++statistics_->decisions;
    result.said = errors.note(plan.rejected_by, plan.rejected);
    return result;
  }
  if (const status said = begin_cycle(plan, pod); !said.ok()) {
    ++statistics_->decisions;
    result.said = said;
    return result;
  }
  const class_index* const its = indexes_.find(cls);
  const bool whole = its != nullptr && its->whole();
  // (For a nominated pod that one node is asked about: no index is built for that.)
  const bool few = plan.narrowed || (within != nullptr && within->size() == 1 && !watched_ && !whole);
  const bool by_groups = within == nullptr && !plan.opaque && !in_order(plan);
  const bool may_do_without = by_groups && !watched_ && !only_filter_ && plan.cached.served_by_answers;
  // To ask again about what has changed is less work than to ask about all nodes at once as long as that is not much. (A class that was not
  // picked for before is picked for without an index: it may not come again.)
  const std::uint64_t not_much = std::max<std::uint64_t>(16, state_->nodes.rows.count() / 16);
  const bool up_to_date = whole && its->unread() <= not_much;
  const bool unindexed = may_do_without && !few && !up_to_date && !seen_.see(*state_, cls, not_much);
  if (few || unindexed) {
    const std::shared_ptr<const class_plan> kept = plans_[cls];
    return few ? scan_few(plan, pod, within, sample) : without_index(plan, pod);
  }
  class_index& index = its != nullptr ? *indexes_.use(cls) : index_of(cls);
  if (!may_do_without)
    index.sync();
  else if (!index.sync_some(std::max<std::size_t>(options_.indexed_at_once, 1)))
    return without_index(index.plan(), pod);
  if (watched_ && options_.check_hooks) {
    if (const auto wrong = index.difference(new_plan(cls))) {
      broken_ = "a hook read more than its signature says: " + *wrong;
      index.forget();
      result.said = status::error(broken_.c_str());
      return result;
    }
  }
  if (index.rows().broken != nullptr) {
    result.said = broken(plan, index.rows());
    index.forget();  // it may be better next time
    return result;
  }
  const row_scores& rows = index.rows();
  const bool from_groups = by_groups && index.grouped();
  // (`withhold` tries, so that `plan` may be another after it: below it is this one, or the index's own.)
  const std::shared_ptr<const class_plan> kept = from_groups ? nullptr : plans_[cls];
  buffers_.withheld.clear();
  if (state_->nodes.first_wanted[0] != no_row) withhold(rows, pod, within, result);
  if (result.said.code == code::error) return result;
  if (from_groups) {
    index.hide(buffers_.withheld);
    from_index(index, pod, result);
    index.show(buffers_.withheld);
    return result;
  }
  const bool lasting = within != nullptr && !plan.opaque && !only_filter_ && !in_order(plan);
  if (lasting && remembers(index, *within)) return scan_on(plan, index, pod);
  scanned_.candidates = 0;
  buffers_.candidates.clear();
  if (within != nullptr) {
    buffers_.candidates.resize(within->size());
    std::size_t count = 0;
    for (const row_t row : *within) {
      const std::uint8_t verdict = row < index.row_count() ? rows.verdict[row] : no_node;
      buffers_.candidates[count] = row;
      if (verdict == passes)
        ++count;
      else if (verdict != no_node)
        result.rejectors |= plan.rejector(verdict);
    }
    buffers_.candidates.resize(count);
  } else {
    for (row_t row = 0; row < index.row_count(); ++row) {
      if (rows.verdict[row] == passes) buffers_.candidates.push_back(row);
    }
    for (const planned& hook : plan.local_filters) {
      if (index.verdict_counts()[hook.mark] != 0) result.rejectors |= plan.rejector(hook.mark);
    }
  }
  const std::uint64_t rejectors = result.rejectors;
  result = scan(plan, rows, pod, result, within, sample);
  if (lasting && buffers_.withheld.empty() && result.node != no_row) remember(index, *within, result, rejectors);
  return result;
}

/// The same answer, of a class that may not come again.
GANGSCHED_INLINE picked picker::without_index(const class_plan& plan, row_t pod) {
  std::array<std::uint32_t, 256> counts{};
  answers_.judge(plan, unindexed_, counts);
  statistics_->rows_evaluated += state_->nodes.rows.count();
  picked result;
  if (unindexed_.broken != nullptr) {
    result.said = broken(plan, unindexed_);
    return result;
  }
  unindexed_.grow(state_->nodes.rows.count());
  for (row_t row = state_->nodes.first_wanted[0]; row != no_row; row = state_->nodes.next_wanted[row])
    unindexed_.verdict[row] = answers_.lets_pass(row) ? passes : no_node;
  withhold(unindexed_, pod, nullptr, result);
  if (result.said.code == code::error) return result;
  for (const row_t row : buffers_.withheld) answers_.leave_out(row);
  for (const planned& hook : plan.local_filters) {
    if (counts[hook.mark] != 0) result.rejectors |= plan.rejector(hook.mark);
  }
  const position before = where();
  ++statistics_->scans;
  const std::uint64_t decision = statistics_->decisions++;
  unindexed_.groups.number_values();
  answers_.count_groups(unindexed_, buffers_.of_groups.population);
  find_populated();
  judge_groups(plan, unindexed_, pod, result);
  if (result.said.code == code::error || buffers_.of_groups.open_groups.empty()) return result;
  score_groups(plan, unindexed_, pod, result);
  if (result.said.code == code::error) return result;
  const std::int64_t best = answers_.best(unindexed_, buffers_.of_groups.open, buffers_.of_groups.offset);
  if (unindexed_.broken != nullptr) {
    go_back(before);
    result = {};
    result.said = broken(plan, unindexed_);
    return result;
  }
  result.score = best;
  const auto each = [&](auto&& visit) { answers_.each_tied(visit); };
  if (options_.ties == tie_rule::lowest_row) {
    each([&](row_t row) { result.node = std::min(result.node, row); });
    return result;
  }
  mixed_.grow(state_->nodes.rows.count());
  result.node = break_tie(
      options_.seed, decision, answers_.tied(), state_->nodes.rows.count(),
      [&](row_t row) { return answers_.is_tied(row); }, each, mixed_);
  return result;
}

GANGSCHED_INLINE void picker::check_range(const plugin_entry& plugin, std::span<const scored_group> groups,
                                          picked& result) {
  for (const scored_group& group : groups) {
    if (group.score < 0 || group.score > max_node_score) result.said = broken(plugin, "a score is outside 0 to 100");
  }
}

/// Numbers equal keys, ascending.
GANGSCHED_INLINE void picker::number_keys() {
  if (std::adjacent_find(buffers_.keys.begin(), buffers_.keys.end(), std::not_equal_to<>{}) == buffers_.keys.end()) {
    buffers_.distinct.assign(buffers_.keys.begin(), buffers_.keys.begin() + (buffers_.keys.empty() ? 0 : 1));
    buffers_.slot.assign(buffers_.keys.size(), 0);
    return;
  }
  buffers_.distinct.assign(buffers_.keys.begin(), buffers_.keys.end());
  std::sort(buffers_.distinct.begin(), buffers_.distinct.end());
  buffers_.distinct.erase(std::unique(buffers_.distinct.begin(), buffers_.distinct.end()), buffers_.distinct.end());
  buffers_.slot.clear();
  for (const std::int64_t key : buffers_.keys) {
    buffers_.slot.push_back(static_cast<std::uint32_t>(
        std::lower_bound(buffers_.distinct.begin(), buffers_.distinct.end(), key) - buffers_.distinct.begin()));
  }
}

/// The groups with members, of all.
GANGSCHED_INLINE void picker::find_populated() {
  buffers_.populated.clear();
  for (std::uint32_t group = 0; group < buffers_.of_groups.population.size(); ++group) {
    if (buffers_.of_groups.population[group] != 0) buffers_.populated.push_back(group);
  }
}

GANGSCHED_INLINE void picker::count_reasons(const class_plan& plan, const planned& hook, row_t pod, row_t node,
                                            const status& said) {
  each_reason(hook, plan.context(*state_, hook, pod), node, said,
              [&](const status& one) { reasons_.add(hook.plugin->name, reason_text(state_->names, one), 1); });
}

GANGSCHED_INLINE bool picker::passes_locally(class_id cls, row_t node) {
  const class_plan& plan = plan_of(cls);
  if (!plan.rejected.ok() || !state_->nodes.alive(node)) return false;
  if (look_into_reservations(*state_, cls)) return passes_with_reservations(*this, *state_, cls, node);
  if (plan.narrowed && !std::binary_search(plan.only.begin(), plan.only.end(), state_->nodes.record[node]->name)) {
    return false;
  }
  const model::held_rooms::lift own_room{state_->rooms, state_->classes[cls], node};
  for (const planned& hook : plan.local_filters) {
    const status said = hook.plugin->filter.one(hook.plugin->self.get(), plan.context(*state_, hook, no_row), node);
    if (said.code == code::error) return true;  // the attempt will say what it is
    if (!said.ok()) return false;
  }
  return true;
}

GANGSCHED_INLINE status picker::filter(row_t pod, row_t node, std::uint8_t* by) {
  if (look_into_reservations(*state_, state_->class_of(pod)))
    return filter_with_reservations(*this, *state_, pod, node, by);
  const class_plan& plan = plan_of(state_->class_of(pod));
  if (!plan.rejected.ok()) return plan.rejected;
  if (!misled_.ok()) return misled_;
  if (plan.narrowed && !std::binary_search(plan.only.begin(), plan.only.end(), state_->nodes.record[node]->name)) {
    return status::unresolvable("node(s) didn't satisfy plugin(s)");
  }
  const model::held_rooms::lift own_room{state_->rooms, state_->classes[state_->pods.cls[pod]], node};
  for (const planned& hook : plan.filters) {
    if (skipped(hook)) continue;
    const filter_kernel& kernel = hook.plugin->filter;
    const hook_context context = plan.context(*state_, hook, pod);
    status said;
    if (kernel.shape == shape::keyed) {
      filtered_group group{kernel.key(hook.plugin->self.get(), context, node), 1, {}};
      kernel.finish(hook.plugin->self.get(), context, {&group, 1});
      said = group.verdict;
    } else {
      said = kernel.one(hook.plugin->self.get(), context, node);
    }
    if (said.ok()) continue;
    if (by != nullptr) *by = hook.mark;
    return said;
  }
  return {};
}

GANGSCHED_INLINE void picker::follow(row_t pod, row_t other, row_t node, bool added) noexcept {
  try {
    const class_plan& plan = plan_of(state_->class_of(pod));
    for (const planned& hook : plan.incremental) {
      if (skipped(hook)) continue;
      const auto run = added ? hook.plugin->add_pod : hook.plugin->remove_pod;
      const status said = run(hook.plugin->self.get(), pod_info{*state_, pod}, hook.data, pod_info{*state_, other},
                              node_info{*state_, node});
      if (said.code == code::error && misled_.ok()) misled_ = said;
    }
  } catch (...) {
    misled_ = status::error("no memory to follow what a trial does");
  }
}

GANGSCHED_INLINE std::optional<std::string> picker::difference() {
  for (const index_cache::cached& one : indexes_.all()) {
    // What a class without pods counts by may be dead; its index is brought up to date when the next pod comes.
    if (!one.index->plan().holds(*state_) || !state_->classes.has_pods(one.cls)) continue;
    const model::held_rooms::lift own_room{state_->rooms, state_->classes[one.cls]};
    one.index->sync();
    if (one.index->rows().broken != nullptr) continue;  // a hook failed: the next pick says so, and it is made anew
    const std::shared_ptr<const class_plan> fresh = new_plan(one.cls);
    if (const auto wrong = plan_difference(one.index->plan(), *fresh))
      return "class " + std::to_string(one.cls) + ", " + *wrong;
    if (const auto wrong = one.index->difference(fresh)) return "class " + std::to_string(one.cls) + ", " + *wrong;
    if (picked said;
        one.index->known_group_scores() != nullptr && group_scores_of(*one.index, no_row, said, true) == nullptr)
      return "class " + std::to_string(one.cls) + ", " + said.said.reason;
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
