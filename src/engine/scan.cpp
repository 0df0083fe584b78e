#include <algorithm>
#include <limits>

#include "gangsched/core/tie_break.hpp"
#include "gangsched/engine/picker.hpp"

// The pick that looks at every candidate.
namespace gangsched::engine {

GANGSCHED_INLINE picked picker::narrowed(const class_plan& plan, row_t pod, const std::vector<row_t>* within, bool sample) {
  std::vector<row_t> rows;
  for (const symbol name : plan.only) {
    const row_t row = state_->nodes.by_name.find({}, state_->names.text(name));
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
  candidates_.clear();
  for (const row_t row : rows) {
    if (scratch_.verdict[row] == passes) candidates_.push_back(row);
    else result.rejectors |= plan.rejector(scratch_.verdict[row]);
  }
  scratch_.run_scores(*state_, plan, candidates_);
  for (const row_t row : candidates_) scratch_.run_keys(*state_, plan, row);
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
    statistics_->opaque_evaluations += candidates_.size();
    std::erase_if(candidates_, [&](row_t row) {
      const status said = hook.plugin->filter.one(hook.plugin->self.get(), context, row);
      if (said.ok()) return false;
      result.rejectors |= plan.rejector(hook.mark);
      if (said.code == code::error) result.said = broken(*hook.plugin, said.reason, row);
      return true;
    });
  }
}

GANGSCHED_INLINE void picker::opaque_key_filters(const class_plan& plan, row_t pod, picked& result) {
  for (const planned& hook : plan.keyed_filters) {
    if (!hook.opaque || skipped(hook) || candidates_.empty()) continue;
    const hook_context context = plan.context(*state_, hook, pod);
    statistics_->opaque_evaluations += candidates_.size();
    keys_.clear();
    for (const row_t row : candidates_) keys_.push_back(hook.plugin->filter.key(hook.plugin->self.get(), context, row));
    number_keys();
    filtered_.clear();
    for (const std::int64_t key : distinct_) filtered_.push_back({key, 0, {}});
    for (const std::uint32_t slot : slot_) ++filtered_[slot].population;
    hook.plugin->filter.finish(hook.plugin->self.get(), context, filtered_);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const status& said = filtered_[slot_[i]].verdict;
      if (said.ok()) {
        candidates_[kept++] = candidates_[i];
        continue;
      }
      result.rejectors |= plan.rejector(hook.mark);
      if (said.code == code::error) result.said = broken(*hook.plugin, said.reason, candidates_[i]);
    }
    candidates_.resize(kept);
  }
}

GANGSCHED_INLINE void picker::opaque_totals(const class_plan& plan, row_t pod, picked& result) {
  for (const planned& hook : plan.opaque_scores) {
    const hook_context context = plan.context(*state_, hook, pod);
    statistics_->opaque_evaluations += candidates_.size();
    if (!hook.plugin->score.rows(hook.plugin->self.get(), context, candidates_, hook.plugin->weight, total_.data())) {
      result.said = broken(*hook.plugin, "a score is outside 0 to 100");
    }
  }
  for (const planned& hook : plan.keyed_scores) {
    if (!hook.opaque) continue;
    const hook_context context = plan.context(*state_, hook, pod);
    statistics_->opaque_evaluations += candidates_.size();
    keys_.clear();
    for (const row_t row : candidates_) keys_.push_back(hook.plugin->score.one(hook.plugin->self.get(), context, row));
    number_keys();
    scored_.clear();
    for (const std::int64_t raw : distinct_) scored_.push_back({raw, 0});
    for (const std::uint32_t slot : slot_) ++scored_[slot].population;
    if (hook.plugin->score.finish(hook.plugin->self.get(), context, scored_).code == code::skip) continue;
    check_range(*hook.plugin, scored_, result);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      total_[candidates_[i]] += hook.plugin->weight * scored_[slot_[i]].score;
    }
  }
}

namespace detail {

/// How many feasible nodes are enough (kube-framework 1.6).
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
  feasible_.assign(state_->nodes.rows.count(), 0);
  for (const row_t row : candidates_) feasible_[row] = 1;
  listed_.clear();
  for (const row_t row : state_->tree.rows()) {
    if (among == nullptr || std::binary_search(among->begin(), among->end(), row)) listed_.push_back(row);
  }
  candidates_.clear();
  const std::size_t wanted = detail::enough(*plan.table, listed_.size());
  std::size_t rejected = 0;
  bool tried = tried_ != no_row;  // one word on the nominated node, though it may be examined twice
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    const row_t row = listed_[(start_ + i) % listed_.size()];
    if (feasible_[row] == 0) {
      ++rejected;
      tried = tried && row != tried_;
    } else if (candidates_.size() == wanted) {
      break;
    } else {
      candidates_.push_back(row);
    }
  }
  const std::uint32_t nodes = state_->nodes.total[0];
  if (nodes != 0) start_ = (start_ + candidates_.size() + rejected + (tried ? 1 : 0)) % nodes;
}

/// Without extenders kube-scheduler 1.36 heapifies the feasible nodes as examined, bottom-up; a child moves up only if strictly
/// greater, the left one unless the right is strictly greater; the root wins (peer-workloads, "The placements themselves").
GANGSCHED_INLINE row_t picker::top_of_heap() {
  heap_rows_ = candidates_;
  const std::size_t size = heap_rows_.size();
  for (std::size_t start = size / 2; start-- > 0;) {
    for (std::size_t i = start, child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && total_[heap_rows_[child + 1]] > total_[heap_rows_[child]]) ++child;
      if (total_[heap_rows_[child]] <= total_[heap_rows_[i]]) break;
      std::swap(heap_rows_[i], heap_rows_[child]);
      i = child;
    }
  }
  return heap_rows_.front();
}

/// The best of the candidates by `total_of(row)`; those that tie are in `tied_`, in the order of the candidates.
template <class Total>
std::int64_t picker::find_best(const Total& total_of) {
  tied_.resize(candidates_.size());
  std::int64_t best = -1;
  std::size_t count = 0;
  for (const row_t row : candidates_) {
    const std::int64_t total = total_of(row);
    if (total < best) continue;
    if (total > best) best = total, count = 0;
    tied_[count++] = row;
  }
  tied_.resize(count);
  return best;
}

/// May sort them.
GANGSCHED_INLINE row_t picker::break_scan_tie(std::vector<row_t>& tied, std::uint64_t decision) {
  if (tied.size() == 1) return tied.front();
  if (options_.ties == tie_rule::lowest_row) return *std::min_element(tied.begin(), tied.end());
  const row_t rows = state_->nodes.rows.count();
  // Many that tie are drawn from all rows: only then is it asked which do.
  if (tied.size() * tied.size() >= rows && !std::is_sorted(tied.begin(), tied.end())) std::sort(tied.begin(), tied.end());
  return break_tie(
      options_.seed, decision, tied.size(), rows, [&](row_t row) { return std::binary_search(tied.begin(), tied.end(), row); },
      [&](auto&& visit) {
        for (const row_t row : tied) visit(row);
      },
      mixed_rows());
}

/// Whether the last pick among these nodes can be gone on from, with the node that was asked again since where it belongs now.
GANGSCHED_INLINE bool picker::remembers(const class_index& index, const std::vector<row_t>& within) {
  scan_memory& last = scanned_;
  const row_scores& rows = index.rows();
  const std::uint64_t since = index.refreshes() - last.refreshes;
  if (last.index != &index || since > 1 || last.candidates == 0 || !withheld_.empty() || last.within != within) return false;
  last.refreshes = index.refreshes();
  const row_t row = index.last_refreshed();
  if (since == 0 || !std::binary_search(within.begin(), within.end(), row)) return true;
  // (It was a candidate if it is in the group.)
  const bool stays = rows.verdict[row] == passes && rows.group[row] == last.group;
  const auto at = std::lower_bound(last.tied.begin(), last.tied.end(), row);  // they are ascending, as the candidates were
  if (!stays || at == last.tied.end() || *at != row) return false;
  if (rows.score[row] == last.best) return true;
  if (rows.score[row] > last.best) {
    last.best = rows.score[row];
    last.tied.assign(1, row);
    return true;
  }
  last.tied.erase(at);
  return !last.tied.empty();
}

/// Whether nothing has to be asked for this pod but what the last pick remembers.
GANGSCHED_INLINE bool picker::goes_on(row_t pod, const std::vector<row_t>* within) {
  class_index* const index = scanned_.index;
  if (scanned_.candidates == 0 || within == nullptr || options_.check_hooks || only_filter_) return false;
  const class_plan& plan = index->plan();
  // (Nobody is nominated anywhere, so that this pod is not either.)
  if (plan.cls != state_->class_of(pod) || !plan.holds(*state_) || !plan.cycle_hooks.empty() ||
      state_->nodes.first_wanted[0] != no_row)
    return false;
  withheld_.clear();
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
  population_.assign(rows.groups.size(), 0);
  population_[last.group] = last.candidates;
  if (!plan.cached_filter_keys.empty()) {
    judge_groups(plan, rows, pod, result);
    if (result.said.code == code::error || open_[last.group] == 0) return result;
  }
  const std::int64_t more = score_only_group(plan, rows, pod, last.group, result);
  if (result.said.code == code::error) return result;
  result.score = last.best + more;
  result.node = break_scan_tie(last.tied, decision);
  return result;
}

/// Of a scan that the cached parts alone have decided.
GANGSCHED_INLINE void picker::remember(class_index& index, const std::vector<row_t>& within, const picked& found, std::uint64_t rejectors) {
  const row_scores& rows = index.rows();
  const std::uint32_t group = rows.group[found.node];
  if (population_[group] != candidates_.size() || std::count(populated_.begin(), populated_.end(), 1) != 1) return;
  scanned_.index = &index;
  scanned_.refreshes = index.refreshes();
  scanned_.within = within;
  scanned_.tied = tied_;
  scanned_.candidates = population_[group];
  scanned_.group = group;
  scanned_.best = found.score - offset_[group];
  scanned_.rejectors = rejectors;
}

GANGSCHED_INLINE picked picker::scan(const class_plan& plan, const row_scores& rows, row_t pod, picked result,
                                     const std::vector<row_t>* among, bool sample) {
  ++statistics_->scans;
  const std::uint64_t decision = statistics_->decisions++;
  if (!withheld_.empty()) std::erase_if(candidates_, [&](row_t row) { return withheld(row); });
  if (plan.opaque) {
    opaque_filters(plan, pod, result);
    opaque_key_filters(plan, pod, result);
  }

  const auto populate = [&] {
    population_.assign(rows.groups.size(), 0);
    if (rows.groups.size() == 1) population_[0] = static_cast<std::uint32_t>(candidates_.size());
    else for (const row_t row : candidates_) ++population_[rows.group[row]];
  };
  populate();
  judge_groups(plan, rows, pod, result);
  if (open_ != populated_) std::erase_if(candidates_, [&](row_t row) { return open_[rows.group[row]] == 0; });
  if (result.said.code == code::error || only_filter_) return result;
  if (sample && in_order(plan)) {
    examine(plan, among);
    populate();
    for (std::size_t g = 0; g < open_.size(); ++g) open_[g] = open_[g] != 0 && population_[g] != 0;
  }
  if (candidates_.empty()) return result;
  score_groups(plan, rows, pod, result);
  if (result.said.code == code::error) return result;

  const auto cached_total = [&](row_t row) { return rows.score[row] + offset_[rows.group[row]]; };
  const bool in_heap = options_.ties == tie_rule::kube_heap;
  if (!in_heap && !plan.opaque) {
    result.score = find_best(cached_total);
    result.node = break_scan_tie(tied_, decision);
    return result;
  }
  if (total_.size() < state_->nodes.rows.count()) total_.resize(state_->nodes.rows.count());
  for (const row_t row : candidates_) total_[row] = cached_total(row);
  opaque_totals(plan, pod, result);
  if (result.said.code == code::error) return result;
  result.score = find_best([&](row_t row) { return total_[row]; });
  result.node = in_heap ? top_of_heap() : break_scan_tie(tied_, decision);
  return result;
}

}  // namespace gangsched::engine
