#include "gangsched/engine/class_index.hpp"

#include <algorithm>
#include <numeric>

namespace gangsched::engine {

GANGSCHED_INLINE class_index::class_index(const cluster_state& state, std::shared_ptr<const class_plan> plan,
                                          engine_statistics& statistics)
    : state_(&state), plan_(std::move(plan)), statistics_(&statistics), counts_(256) {}

GANGSCHED_INLINE void class_index::sync() {
  const change_log& log = state_->log;
  if (!built_ || log.lost(cursor_)) {
    build();
  } else {
    take_back();
    if (log.end() - cursor_.position > state_->nodes.rows.count()) build();
    else replay();
  }
  if (!log.in_transaction()) ahead_.clear();
}

GANGSCHED_INLINE void class_index::build() {
  ++statistics_->index_builds;
  built_ = true;
  row_count_ = state_->nodes.rows.count();
  const class_plan& plan = *plan_;
  rows_.grow(row_count_);
  // Rows of nodes that were added in a trial and taken back: not counted until they come again.
  std::fill(rows_.verdict.begin() + static_cast<std::ptrdiff_t>(row_count_), rows_.verdict.end(), no_node);
  links_.grow(row_count_);
  stale_facets_.assign(rows_.verdict.size(), reads::nothing);
  stale_.clear();
  ahead_.clear();
  groups_.clear();
  rows_.groups.reset(plan.key_count());
  rows_.broken = nullptr;
  std::fill(counts_.begin(), counts_.end(), 0);
  bucketed_ = plan.local_range < score_set::limit;

  std::vector<row_t> all(row_count_);
  std::iota(all.begin(), all.end(), row_t{0});
  rows_.run_filters(*state_, plan, all);
  for (const row_t row : all) ++counts_[rows_.verdict[row]];
  std::erase_if(all, [&](row_t row) { return rows_.verdict[row] != passes; });
  rows_.run_scores(*state_, plan, all);
  for (const row_t row : all) {
    rows_.run_keys(*state_, plan, row);
    if (rows_.groups.size() > max_groups) bucketed_ = false;
    link(row);
  }
  live_groups_ = rows_.groups.size();
  statistics_->rows_evaluated += row_count_;
  cursor_ = state_->log.tip();
  // Inside a transaction everything since its beginning may be taken back: those rows are read again then.
  for (std::uint64_t position = state_->log.committed_end(); position < cursor_.position; ++position) {
    const change& record = state_->log[position];
    if (record.node() != no_row) ahead_.push_back({position, record.node(), record.facets});
  }
}

GANGSCHED_INLINE void class_index::mark_stale(row_t row, reads facets) {
  if (row == no_row || !any(facets & plan_->cached_facets()) ) {
    // A node that came or went matters even to a class that reads nothing.
    if (row == no_row || facets != reads::everything) return;
  }
  if (row >= stale_facets_.size()) stale_facets_.resize(row + 1, reads::nothing);
  if (!any(stale_facets_[row])) stale_.push_back(row);
  stale_facets_[row] |= facets;
}

GANGSCHED_INLINE void class_index::take_back() {
  const change_log& log = state_->log;
  if (cursor_.truncations == log.truncations()) return;
  const std::uint64_t cut = log.truncated_since(cursor_.truncations);
  while (!ahead_.empty() && ahead_.back().position >= cut) {
    mark_stale(ahead_.back().row, ahead_.back().facets);
    ahead_.pop_back();
  }
  cursor_.position = std::min(cursor_.position, cut);
  cursor_.truncations = log.truncations();
}

GANGSCHED_INLINE void class_index::replay() {
  const change_log& log = state_->log;
  const std::uint64_t committed = log.committed_end();
  for (; cursor_.position < log.end(); ++cursor_.position) {
    const change& record = log[cursor_.position];
    const row_t node = record.node();
    if (node == no_row) continue;
    mark_stale(node, record.facets);
    if (cursor_.position >= committed) ahead_.push_back({cursor_.position, node, record.facets});
  }
  if (stale_.empty()) return;
  const row_t rows = state_->nodes.rows.count();
  rows_.grow(std::max(rows, row_count_));
  links_.grow(std::max(rows, row_count_));
  if (stale_facets_.size() < rows_.verdict.size()) stale_facets_.resize(rows_.verdict.size(), reads::nothing);
  for (; row_count_ < rows; ++row_count_) ++counts_[no_node];
  statistics_->rows_evaluated += stale_.size();
  for (const row_t row : stale_) {
    const reads facets = stale_facets_[row];
    stale_facets_[row] = reads::nothing;
    if (row < row_count_) refresh(row, facets);
  }
  stale_.clear();
  if (rows_.groups.size() > std::max(max_groups, 2 * live_groups_)) built_ = false;  // dead groups pile up: start over at the next pick
}

GANGSCHED_INLINE void class_index::refresh(row_t row, reads dirty) {
  const class_plan& plan = *plan_;
  const std::uint8_t before = rows_.verdict[row];
  if (before == passes) unlink(row);
  --counts_[before];
  const std::span<const row_t> one{&row, 1};
  if (before == passes && dirty != reads::everything) {
    if (any(dirty & plan.filter_facets)) rows_.run_filters(*state_, plan, one, dirty);
  } else {
    rows_.run_filters(*state_, plan, one);
  }
  const std::uint8_t after = rows_.verdict[row];
  ++counts_[after];
  if (after != passes) return;
  if (before != passes || any(dirty & plan.score_facets)) rows_.run_scores(*state_, plan, one);
  if (before != passes || any(dirty & plan.key_facets)) rows_.run_keys(*state_, plan, row);
  link(row);
}

GANGSCHED_INLINE void class_index::link(row_t row) {
  if (!bucketed_) return;
  if (rows_.broken != nullptr && (rows_.score[row] < 0 || rows_.score[row] > plan_->local_range)) rows_.score[row] = 0;
  const std::uint32_t group = rows_.group[row];
  while (groups_.size() <= group) groups_.emplace_back(static_cast<std::size_t>(plan_->local_range) + 1);
  groups_[group].insert(links_, row, static_cast<std::size_t>(rows_.score[row]));
}

GANGSCHED_INLINE void class_index::unlink(row_t row) {
  if (bucketed_) groups_[rows_.group[row]].erase(links_, row, static_cast<std::size_t>(rows_.score[row]));
}

GANGSCHED_INLINE std::optional<std::string> class_index::difference(std::shared_ptr<const class_plan> plan) const {
  engine_statistics unused;
  class_index fresh{*state_, std::move(plan), unused};
  fresh.build();
  const auto at = [&](row_t row) {
    return state_->nodes.alive(row) ? "node " + state_->nodes.record[row]->name_text : "row " + std::to_string(row);
  };
  if (row_count_ < fresh.row_count_) return "it knows " + std::to_string(row_count_) + " rows";
  for (row_t row = 0; row < fresh.row_count_; ++row) {
    const std::uint8_t mine = rows_.verdict[row];
    const std::uint8_t right = fresh.rows_.verdict[row];
    if (mine != right) {
      const auto first = std::min<std::size_t>(mine == passes ? right : mine, right == passes ? mine : right);
      const bool named = first >= 1 && first <= plan_->filters.size();
      return at(row) + ": verdict of " + (named ? plan_->filters[first - 1].plugin->name : "the node's presence");
    }
    if (mine != passes) continue;
    if (rows_.score[row] != fresh.rows_.score[row]) {
      return at(row) + ": score " + std::to_string(rows_.score[row]) + " instead of " + std::to_string(fresh.rows_.score[row]);
    }
    for (std::size_t key = 0; key < plan_->key_count(); ++key) {
      if (rows_.groups.key(rows_.group[row], key) != fresh.rows_.groups.key(fresh.rows_.group[row], key)) {
        return at(row) + ": key " + std::to_string(key);
      }
    }
  }
  if (counts_ != fresh.counts_ && row_count_ == fresh.row_count_) return "the counts of verdicts";
  if (!bucketed_ || !fresh.bucketed_) return std::nullopt;
  std::size_t linked = 0;
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    linked += groups_[group].population();
    for (std::size_t score = 0; score <= static_cast<std::size_t>(plan_->local_range); ++score) {
      std::uint32_t size = 0;
      for (row_t row = groups_[group].head(score); row != no_row; row = links_.next[row], ++size) {
        if (rows_.verdict[row] != passes || rows_.group[row] != group || rows_.score[row] != static_cast<std::int64_t>(score)) {
          return at(row) + ": in the wrong bucket";
        }
      }
      if (size != groups_[group].size(score)) return "the size of a bucket";
    }
  }
  if (linked != counts_[passes]) return "the number of rows in buckets";
  return std::nullopt;
}

}  // namespace gangsched::engine
