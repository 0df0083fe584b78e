#pragma once
#include <vector>

#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Reads the change log for data that is kept per node: which rows changed since, roll-backs included. What was read inside a transaction
/// that is still open may be undone, and is stale again then.
class stale_rows {
 public:
  /// Catches up. False if the data has to be rebuilt; call `start` then. A change is relevant if it is of something in @p facets and
  /// @p wanted says so too, and also of nothing there if a node came or went.
  template <class Wanted>
  bool read(const model::cluster_state& state, reads facets, const Wanted& wanted) {
    const change_log& log = state.log;
    if (!started_ || log.lost(cursor_)) return false;
    if (cursor_.truncations != log.truncations()) {
      const std::uint64_t cut = log.truncated_since(cursor_.truncations);
      while (!ahead_.empty() && ahead_.back().position >= cut) {
        if (wanted(ahead_.back().facets)) mark(ahead_.back().row, ahead_.back().facets);
        ahead_.pop_back();
      }
      cursor_.position = std::min(cursor_.position, cut);
      cursor_.truncations = log.truncations();
    }
    if (log.end() - cursor_.position > state.nodes.rows.count()) return false;
    const std::uint64_t committed = log.committed_end();
    // What was read in transactions that are over will not be taken back.
    if (!ahead_.empty() && ahead_.back().position < committed) ahead_.clear();
    const std::uint64_t end = log.end();
    for (std::uint64_t position = cursor_.position; position < end; cursor_.position = ++position) {
      const change& record = log[position];
      if (!any(record.facets & facets) && record.facets != reads::everything) continue;
      const row_t node = record.node();
      if (node == no_row) continue;
      if (position >= committed) ahead_.push_back({position, node, record.facets});
      if (wanted(record.facets)) mark(node, record.facets);
    }
    return true;
  }
  /// How many records there are that it has not read.
  [[nodiscard]] std::uint64_t unread(const change_log& log) const noexcept {
    return log.end() - std::min(cursor_.position, log.end());
  }
  /// To be called when no transaction is open, or else after each read: forgets what cannot be taken back any more.
  void settle(const change_log& log) {
    if (!log.in_transaction()) ahead_.clear();
  }
  /// Everything is known as it is now.
  void start(const model::cluster_state& state) {
    started_ = true;
    rows_.clear();
    facets_.assign(state.nodes.rows.count(), reads::nothing);
    ahead_.clear();
    cursor_ = state.log.tip();
    // Inside a transaction everything since its beginning may be taken back: those rows are read again then.
    for (std::uint64_t position = state.log.committed_end(); position < cursor_.position; ++position) {
      const change& record = state.log[position];
      if (record.node() != no_row) ahead_.push_back({position, record.node(), record.facets});
    }
  }
  void forget() noexcept { started_ = false; }

  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] const std::vector<row_t>& rows() const noexcept { return rows_; }
  /// Calls visit(row, facets) for every stale row, which are none then.
  template <class Visit>
  void take(Visit&& visit) {
    for (const row_t row : rows_) {
      const reads facets = facets_[row];
      facets_[row] = reads::nothing;
      visit(row, facets);
    }
    rows_.clear();
  }

 private:
  struct touched {
    std::uint64_t position;
    row_t row;
    reads facets;
  };
  [[gnu::always_inline]] void mark(row_t row, reads facets) {
    if (row >= facets_.size()) facets_.resize(row + 1, reads::nothing);
    if (!any(facets_[row])) rows_.push_back(row);
    facets_[row] |= facets;
  }
  bool started_ = false;
  log_cursor cursor_;
  std::vector<touched> ahead_;
  std::vector<row_t> rows_;
  std::vector<reads> facets_;  // by row
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
