#include <algorithm>

#include "gangsched/core/tie_break.hpp"
#include "gangsched/engine/picker.hpp"

// The pick that looks at every candidate.
namespace gangsched::inline GANGSCHED_ABI::engine {

/// Of nodes that pre-filters leave out, and of those @p rows that are left and rejected by filters.
GANGSCHED_INLINE void picker::count_narrowed_reasons(const class_plan& plan, row_t pod,
                                                     const std::vector<row_t>* within, const std::vector<row_t>& rows) {
  const std::size_t all = within != nullptr ? within->size() : state_->nodes.total[0];
  if (all > rows.size())
    reasons_.add("", "node(s) didn't satisfy plugin(s) [" + plan.narrowed_by + "]", all - rows.size());
  for (const row_t row : rows) {
    const std::uint8_t mark = scratch_.verdict[row];
    if (mark == passes || mark == no_node) continue;
    const planned& hook = plan.filters[mark - 1u];
    const hook_context context = plan.context(*state_, hook, no_row);
    count_reasons(plan, hook, pod, row, hook.plugin->filter.one(hook.plugin->self.get(), context, row));
  }
}

/// Asks about each of few nodes, without an index.
GANGSCHED_INLINE picked picker::scan_few(const class_plan& plan, row_t pod, const std::vector<row_t>* within,
                                         bool sample) {
  std::vector<row_t> rows;
  if (!plan.narrowed) rows = *within;
  for (const symbol name : plan.only) {
    const row_t row = state_->nodes.find(name);
    if (row == no_row) continue;
    if (within == nullptr || std::binary_search(within->begin(), within->end(), row)) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  scratch_.grow(state_->nodes.rows.count());
  scratch_.groups.reset(plan.key_count());
  scratch_.broken = nullptr;
  scratch_.run_filters(*state_, plan, rows);
  statistics_->rows_evaluated += rows.size();
  picked result;
  withhold(scratch_, pod, &rows, result);
  if (result.said.code == code::error) return result;
  buffers_.candidates.clear();
  for (const row_t row : rows) {
    if (scratch_.verdict[row] == passes)
      buffers_.candidates.push_back(row);
    else
      result.rejectors |= plan.rejector(scratch_.verdict[row]);
  }
  if (watched_) count_narrowed_reasons(plan, pod, within, rows);
  scratch_.run_scores(*state_, plan, buffers_.candidates);
  for (const row_t row : buffers_.candidates) scratch_.run_keys(*state_, plan, row);
  scratch_.groups.number_values();
  if (scratch_.broken != nullptr) {
    result.said = broken(plan, scratch_);
    return result;
  }
  return scan(plan, scratch_, pod, result, &rows, sample);
}

GANGSCHED_INLINE void picker::opaque_filters(const class_plan& plan, row_t pod, picked& result) {
  for (const planned& hook : plan.opaque_filters) {
    if (skipped(hook)) continue;
    const hook_context context = plan.context(*state_, hook, pod);
    statistics_->opaque_evaluations += buffers_.candidates.size();
    std::erase_if(buffers_.candidates, [&](row_t row) {
      const status said = hook.plugin->filter.one(hook.plugin->self.get(), context, row);
      if (said.ok()) return false;
      result.rejectors |= plan.rejector(hook.mark);
      if (watched_) count_reasons(plan, hook, pod, row, said);
      if (said.code == code::error) result.said = broken(*hook.plugin, said.reason, row);
      return true;
    });
  }
}

GANGSCHED_INLINE void picker::opaque_key_filters(const class_plan& plan, row_t pod, picked& result) {
  for (const planned& hook : plan.keyed_filters) {
    if (!hook.opaque || skipped(hook) || buffers_.candidates.empty()) continue;
    const hook_context context = plan.context(*state_, hook, pod);
    statistics_->opaque_evaluations += buffers_.candidates.size();
    buffers_.keys.clear();
    for (const row_t row : buffers_.candidates)
      buffers_.keys.push_back(hook.plugin->filter.key(hook.plugin->self.get(), context, row));
    number_keys();
    count_by_key(buffers_.distinct, buffers_.slot, buffers_.filtered);
    hook.plugin->filter.finish(hook.plugin->self.get(), context, buffers_.filtered);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < buffers_.candidates.size(); ++i) {
      const status& said = buffers_.filtered[buffers_.slot[i]].verdict;
      if (said.ok()) {
        buffers_.candidates[kept++] = buffers_.candidates[i];
        continue;
      }
      result.rejectors |= plan.rejector(hook.mark);
      if (watched_) reasons_.add(hook.plugin->name, reason_text(state_->names, said), 1);
      if (said.code == code::error) result.said = broken(*hook.plugin, said.reason, buffers_.candidates[i]);
    }
    buffers_.candidates.resize(kept);
  }
}

GANGSCHED_INLINE void picker::opaque_totals(const class_plan& plan, row_t pod, picked& result) {
  for (const planned& hook : plan.opaque_scores) {
    const hook_context context = plan.context(*state_, hook, pod);
    statistics_->opaque_evaluations += buffers_.candidates.size();
    if (!hook.plugin->score.rows(hook.plugin->self.get(), context, buffers_.candidates, hook.plugin->weight,
                                 buffers_.total.data())) {
      result.said = broken(*hook.plugin, "a score is outside 0 to 100");
    }
  }
  for (const planned& hook : plan.keyed_scores) {
    if (!hook.opaque) continue;
    const hook_context context = plan.context(*state_, hook, pod);
    statistics_->opaque_evaluations += buffers_.candidates.size();
    buffers_.keys.clear();
    for (const row_t row : buffers_.candidates)
      buffers_.keys.push_back(hook.plugin->score.one(hook.plugin->self.get(), context, row));
    number_keys();
    count_by_key(buffers_.distinct, buffers_.slot, buffers_.scored);
    if (hook.plugin->score.finish(hook.plugin->self.get(), context, buffers_.scored).code == code::skip) continue;
    check_range(*hook.plugin, buffers_.scored, result);
    for (std::size_t i = 0; i < buffers_.candidates.size(); ++i) {
      buffers_.total[buffers_.candidates[i]] += hook.plugin->weight * buffers_.scored[buffers_.slot[i]].score;
    }
  }
}

namespace detail {

/// How many feasible nodes are enough (kube-scheduler: numFeasibleNodesToFind).
[[nodiscard]] GANGSCHED_INLINE std::size_t enough(const kernel_table& table, std::size_t nodes) noexcept {
  constexpr std::size_t least = 100;
  if (table.at(point::score).empty()) return 1;  // any will do
  auto percentage = static_cast<std::int64_t>(table.percentage_of_nodes_to_score.value_or(100));
  if (nodes < least || percentage >= 100) return nodes;
  const auto all = static_cast<std::int64_t>(nodes);
  if (percentage == 0) percentage = std::max<std::int64_t>(50 - all / 125, 5);
  return std::max(static_cast<std::size_t>(all * percentage / 100), least);
}

}  // namespace detail

GANGSCHED_INLINE bool picker::in_order(const class_plan& plan) const noexcept {
  return options_.ties == tie_rule::kube_heap || plan.table->percentage_of_nodes_to_score.value_or(100) < 100;
}

/// Puts the candidates into the order in which kube-scheduler's one worker examines the nodes, beginning where the last cycle stopped,
/// and drops those after enough of them. O(nodes).
GANGSCHED_INLINE void picker::examine(const class_plan& plan, const std::vector<row_t>* among) {
  buffers_.feasible.assign(state_->nodes.rows.count(), 0);
  for (const row_t row : buffers_.candidates) buffers_.feasible[row] = 1;
  buffers_.listed.clear();
  for (const row_t row : state_->nodes.tree.rows()) {
    if (among == nullptr || std::binary_search(among->begin(), among->end(), row)) buffers_.listed.push_back(row);
  }
  buffers_.candidates.clear();
  const std::size_t wanted = detail::enough(*plan.table, buffers_.listed.size());
  std::size_t rejected = 0;
  bool tried = tried_ != no_row;  // one word on the nominated node, though it may be examined twice
  for (std::size_t i = 0; i < buffers_.listed.size(); ++i) {
    const row_t row = buffers_.listed[(start_ + i) % buffers_.listed.size()];
    if (buffers_.feasible[row] == 0) {
      ++rejected;
      tried = tried && row != tried_;
    } else if (buffers_.candidates.size() == wanted) {
      break;
    } else {
      buffers_.candidates.push_back(row);
    }
  }
  const std::uint32_t nodes = state_->nodes.total[0];
  if (nodes != 0) start_ = (start_ + buffers_.candidates.size() + rejected + (tried ? 1 : 0)) % nodes;
}

/// Without extenders kube-scheduler 1.36 heapifies the feasible nodes as examined, bottom-up; a child moves up only if strictly
/// greater, the left one unless the right is strictly greater; the root wins (newSortedNodeScores, container/heap).
GANGSCHED_INLINE row_t picker::top_of_heap() {
  buffers_.heap_rows = buffers_.candidates;
  const std::size_t size = buffers_.heap_rows.size();
  for (std::size_t start = size / 2; start-- > 0;) {
    for (std::size_t i = start, child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && buffers_.total[buffers_.heap_rows[child + 1]] > buffers_.total[buffers_.heap_rows[child]])
        ++child;
      if (buffers_.total[buffers_.heap_rows[child]] <= buffers_.total[buffers_.heap_rows[i]]) break;
      std::swap(buffers_.heap_rows[i], buffers_.heap_rows[child]);
      i = child;
    }
  }
  return buffers_.heap_rows.front();
}

/// The best of the candidates by `total_of(row)`; those that tie are in `buffers_.tied`, in the order of the candidates.
template <class Total>
std::int64_t picker::find_best(const Total& total_of) {
  buffers_.tied.resize(buffers_.candidates.size());
  std::int64_t best = -1;
  std::size_t count = 0;
  for (const row_t row : buffers_.candidates) {
    const std::int64_t total = total_of(row);
    if (total < best) continue;
    if (total > best) best = total, count = 0;
    buffers_.tied[count++] = row;
  }
  buffers_.tied.resize(count);
  return best;
}

/// May sort them.
GANGSCHED_INLINE row_t picker::break_scan_tie(std::vector<row_t>& tied, std::uint64_t decision) {
  if (tied.size() == 1) return tied.front();
  if (options_.ties == tie_rule::lowest_row) return *std::min_element(tied.begin(), tied.end());
  const row_t rows = state_->nodes.rows.count();
  mixed_.grow(rows);
  // Many that tie are drawn from all rows: only then is it asked which do.
  if (tied.size() * tied.size() >= rows && !std::is_sorted(tied.begin(), tied.end()))
    std::sort(tied.begin(), tied.end());
  return break_tie(
      options_.seed, decision, tied.size(), rows,
      [&](row_t row) { return std::binary_search(tied.begin(), tied.end(), row); },
      [&](auto&& visit) {
        for (const row_t row : tied) visit(row);
      },
      mixed_);
}

/// Whether the last pick among these nodes can be gone on from, with the node that was asked again since where it belongs now.
GANGSCHED_INLINE bool picker::remembers(const class_index& index, const std::vector<row_t>& within) {
  scan_memory& last = scanned_;
  const row_scores& rows = index.rows();
  const std::uint64_t since = index.refreshes() - last.refreshes;
  if (last.index != &index || since > 1 || last.candidates == 0 || !buffers_.withheld.empty() || last.within != within)
    return false;
  last.refreshes = index.refreshes();
  if (since == 0) return true;
  const row_t row = index.last_refreshed();
  const auto at = std::lower_bound(last.rows.begin(), last.rows.end(), row);  // ascending, as the candidates were
  if (at == last.rows.end() || *at != row) return !std::binary_search(within.begin(), within.end(), row);
  const auto tied = std::lower_bound(last.tied.begin(), last.tied.end(), row);
  const bool was_best = tied != last.tied.end() && *tied == row;
  if (rows.verdict[row] != passes) {
    if (rows.verdict[row] == no_node || last.rows.size() == 1) return false;
    last.rows.erase(at);
    last.knows_more = last.knows_more && !index.plan().cached.by_population;
    last.candidates = static_cast<std::uint32_t>(last.rows.size());
    last.rejectors |= index.plan().rejector(rows.verdict[row]);
    if (was_best) last.tied.erase(tied);
  } else if (rows.group[row] != last.group) {
    return false;
  } else if (rows.score[row] > last.best) {
    last.best = rows.score[row];
    last.tied.assign(1, row);
  } else if (rows.score[row] < last.best) {
    if (was_best) last.tied.erase(tied);
  } else if (!was_best) {
    return false;  // rare: only what is taken back is rated as before
  }
  if (last.tied.empty()) {
    last.best = rows.score[last.rows.front()];
    for (const row_t one : last.rows) {
      if (rows.score[one] < last.best) continue;
      if (rows.score[one] > last.best) last.best = rows.score[one], last.tied.clear();
      last.tied.push_back(one);
    }
  }
  return true;
}

/// Whether nothing has to be asked for this pod but what the last pick remembers.
GANGSCHED_INLINE bool picker::goes_on(class_id cls, const std::vector<row_t>* within) {
  class_index* const index = scanned_.index;
  if (within == nullptr || watched_ || only_filter_) return false;
  const class_plan& plan = index->plan();
  // (No pod is nominated to any node, so that this one is not either.)
  if (plan.cls != cls || !plan.holds(*state_) || !plan.cycle_hooks.empty() || state_->nodes.first_wanted[0] != no_row)
    return false;
  buffers_.withheld.clear();
  skipped_.clear();
  rejected_by_ = nullptr;
  if (&index_of(plan.cls) != index) return false;  // (It is in use.)
  index->sync();
  if (index->rows().broken == nullptr && remembers(*index, *within)) return true;
  scanned_.candidates = 0;
  return false;
}

/// The same answer as that of a scan that begins anew.
GANGSCHED_INLINE picked picker::scan_on(const class_plan& plan, const class_index& index, row_t pod) {
  ++statistics_->scans;
  const std::uint64_t decision = statistics_->decisions++;
  scan_memory& last = scanned_;
  const row_scores& rows = index.rows();
  picked result;
  result.rejectors = last.rejectors;
  if (last.goes_on_with(state_->log, plan.cached.finish_reads) && plan.cached.filter_keys.empty()) {
    result.score = last.best + last.more;
    result.node = break_scan_tie(last.tied, decision);
    return result;
  }
  buffers_.of_groups.population.assign(rows.groups.size(), 0);
  buffers_.of_groups.population[last.group] = last.candidates;
  buffers_.populated.assign(1, last.group);
  if (!plan.cached.filter_keys.empty()) {
    judge_groups(plan, rows, pod, result);
    if (result.said.code == code::error || buffers_.of_groups.open[last.group] == 0) return result;
  }
  last.more = score_only_group(plan, rows, pod, last.group, result);
  if (result.said.code == code::error) return result;
  last.knows_more = plan.cached.finish_reads.has_value();
  result.score = last.best + last.more;
  result.node = break_scan_tie(last.tied, decision);
  return result;
}

/// Of a scan that the cached parts alone have decided.
GANGSCHED_INLINE void picker::remember(class_index& index, const std::vector<row_t>& within, const picked& found,
                                       std::uint64_t rejectors) {
  const row_scores& rows = index.rows();
  const std::uint32_t group = rows.group[found.node];
  if (buffers_.of_groups.population[group] != buffers_.candidates.size() || buffers_.populated.size() != 1) return;
  scanned_.index = &index;
  scanned_.refreshes = index.refreshes();
  scanned_.within = within;
  scanned_.rows = buffers_.candidates;
  scanned_.knows_more = false;
  scanned_.tied = buffers_.tied;
  scanned_.tied.reserve(scanned_.rows.size());
  scanned_.candidates = buffers_.of_groups.population[group];
  scanned_.group = group;
  scanned_.best = found.score - buffers_.of_groups.offset[group];
  scanned_.rejectors = rejectors;
}

GANGSCHED_INLINE picked picker::scan(const class_plan& plan, const row_scores& rows, row_t pod, picked result,
                                     const std::vector<row_t>* among, bool sample) {
  ++statistics_->scans;
  const std::uint64_t decision = statistics_->decisions++;
  const std::vector<row_t>& withheld = buffers_.withheld;
  if (!withheld.empty()) {
    std::erase_if(buffers_.candidates,
                  [&](row_t row) { return std::binary_search(withheld.begin(), withheld.end(), row); });
  }
  if (plan.opaque) {
    opaque_filters(plan, pod, result);
    opaque_key_filters(plan, pod, result);
  }

  const auto populate = [&] {
    buffers_.of_groups.population.assign(rows.groups.size(), 0);
    if (rows.groups.size() == 1)
      buffers_.of_groups.population[0] = static_cast<std::uint32_t>(buffers_.candidates.size());
    else
      for (const row_t row : buffers_.candidates) ++buffers_.of_groups.population[rows.group[row]];
    find_populated();
  };
  populate();
  judge_groups(plan, rows, pod, result);
  if (buffers_.of_groups.open_groups.size() != buffers_.populated.size())
    std::erase_if(buffers_.candidates, [&](row_t row) { return buffers_.of_groups.open[rows.group[row]] == 0; });
  if (result.said.code == code::error || only_filter_) return result;
  if (sample && in_order(plan)) {
    examine(plan, among);
    populate();
    buffers_.of_groups.open_all(buffers_.populated);  // examined nodes are in open groups
  }
  if (buffers_.candidates.empty()) return result;
  score_groups(plan, rows, pod, result);
  if (result.said.code == code::error) return result;

  const auto cached_total = [&](row_t row) { return rows.score[row] + buffers_.of_groups.offset[rows.group[row]]; };
  const bool in_heap = options_.ties == tie_rule::kube_heap;
  if (!in_heap && !plan.opaque) {
    result.score = find_best(cached_total);
    result.node = break_scan_tie(buffers_.tied, decision);
    return result;
  }
  if (buffers_.total.size() < state_->nodes.rows.count()) buffers_.total.resize(state_->nodes.rows.count());
  for (const row_t row : buffers_.candidates) buffers_.total[row] = cached_total(row);
  opaque_totals(plan, pod, result);
  if (result.said.code == code::error) return result;
  result.score = find_best([&](row_t row) { return buffers_.total[row]; });
  result.node = in_heap ? top_of_heap() : break_scan_tie(buffers_.tied, decision);
  return result;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
