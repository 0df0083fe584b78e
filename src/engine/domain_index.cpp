#include "gangsched/engine/domain_index.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void domain_index::sync() {
  bool moved = false;
  const bool known = stale_.read(*state_, reads::everything, [&](reads facets) {
    // Which node is in which domain changes only with labels and with nodes that come and go, which touch everything.
    moved = moved || any(facets & reads::labels);
    return true;
  });
  if (!known || moved || kinds_ != state_->kinds.count()) {
    build();
  } else {
    stale_.take([&](row_t row, reads facets) {
      if (of(row) == no_domain) return;
      stamps_[of(row)] = ++clock_;
      if (any(facets & (reads::allocatable | reads::usage))) recount(row);
    });
  }
  stale_.settle(state_->log);
}

GANGSCHED_INLINE void domain_index::build() {
  stale_.start(*state_);
  ++version_;
  const row_t rows = state_->nodes.rows.count();
  kinds_ = state_->kinds.count();
  std::vector<std::pair<symbol, row_t>> found;
  const std::optional<symbol> key = state_->names.find(key_);  // a key that is not known is no node's
  for (row_t row = 0; key && row < rows; ++row) {
    if (!state_->nodes.alive(row)) continue;
    if (const auto value = state_->nodes.record[row]->label(*key)) found.push_back({*value, row});
  }
  values_.clear();
  for (const auto& [value, row] : found) values_.push_back(value);
  const auto by_text = [&](symbol a, symbol b) { return a != b && state_->names.text(a) < state_->names.text(b); };
  std::sort(values_.begin(), values_.end(), [](symbol a, symbol b) { return a.value < b.value; });
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
  std::sort(values_.begin(), values_.end(), by_text);

  domain_of_.assign(rows, no_domain);
  first_.assign(values_.size() + 1, 0);
  for (const auto& [value, row] : found) {
    const auto at = std::lower_bound(values_.begin(), values_.end(), value, by_text);
    domain_of_[row] = static_cast<domain_id>(at - values_.begin());
    ++first_[domain_of_[row] + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  rows_.resize(found.size());
  std::vector<std::size_t> next = first_;
  for (const auto& [value, row] : found) rows_[next[domain_of_[row]]++] = row;
  stamps_.assign(values_.size(), ++clock_);
  sums_.assign(values_.size() * kinds_ * 2, 0);
  counted_.assign(std::size_t{rows} * kinds_ * 2, 0);
  for (const row_t row : rows_) recount(row);
}

/// What was counted of a row is replaced by what it has now.
GANGSCHED_INLINE void domain_index::recount(row_t row) {
  std::int64_t* const sum = sums_.data() + std::size_t{domain_of_[row]} * kinds_ * 2;
  std::int64_t* const mine = counted_.data() + std::size_t{row} * kinds_ * 2;
  const std::int64_t* const has = state_->nodes.allocatable.row(row);
  const std::int64_t* const uses = state_->nodes.used.row(row);
  // Unsigned: sums of hostile amounts may wrap, and come back as they were.
  const auto replace = [&](std::size_t at, std::int64_t now) {
    sum[at] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[at]) + static_cast<std::uint64_t>(now) -
                                        static_cast<std::uint64_t>(mine[at]));
    mine[at] = now;
  };
  for (resource_kind kind = 0; kind < kinds_; ++kind) {
    replace(std::size_t{2} * kind, has[kind]);
    replace(std::size_t{2} * kind + 1, uses[kind]);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
