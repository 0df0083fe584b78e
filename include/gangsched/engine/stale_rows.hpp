#pragma once
#include <algorithm>
#include <span>
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
    std::uint64_t position = cursor_.position;
    if (position >= end) return true;
    reads* known = facets_.data();
    std::size_t rows = facets_.size();
    for (const change* record = &log[position]; position != end; ++position, ++record) {
      const reads changed = record->facets;
      if (!any(changed & facets) && changed != reads::everything) continue;
      const row_t node = record->node();
      if (node == no_row) continue;
      cursor_.position = position;  // (there may be no memory to mark it)
      if (position >= committed) ahead_.push_back({position, node, changed});
      if (!wanted(changed)) continue;
      if (node >= rows) [[unlikely]] {
        facets_.resize(node + 1, reads::nothing);
        known = facets_.data(), rows = facets_.size();
      }
      if (!any(known[node])) list(node);
      known[node] |= changed;
    }
    cursor_.position = end;
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
    count_ = 0;
    if (rows_.size() < usual) rows_.resize(usual);
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

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::span<const row_t> rows() const noexcept { return {rows_.data(), count_}; }
  /// Calls visit(row, facets) for every stale row, which are none then.
  template <class Visit>
  void take(Visit&& visit) {
    for (const row_t row : rows()) {
      const reads facets = facets_[row];
      facets_[row] = reads::nothing;
      visit(row, facets);
    }
    count_ = 0;
  }

 private:
  struct touched {
    std::uint64_t position;
    row_t row;
    reads facets;
  };
  void mark(row_t row, reads facets) {
    if (row >= facets_.size()) facets_.resize(row + 1, reads::nothing);
    if (!any(facets_[row])) list(row);
    facets_[row] |= facets;
  }
  [[gnu::always_inline]] void list(row_t row) {
    if (count_ == rows_.size()) [[unlikely]]
      rows_.resize(2 * count_ + usual);
    rows_[count_++] = row;
  }
  static constexpr std::size_t usual = 64;  // for so many changes there is room from the beginning
  bool started_ = false;
  log_cursor cursor_;
  std::vector<touched> ahead_;
  std::vector<row_t> rows_;  // the first `count_`
  std::size_t count_ = 0;
  std::vector<reads> facets_;  // by row
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
