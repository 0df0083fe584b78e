#include "gangsched/engine/grouped_rows.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void grouped_rows::reset(std::size_t scores) {
  if (scores != scores_) buckets_.clear();
  scores_ = scores;
  for (std::uint32_t i = 0; i < buckets_in_use_ && i < buckets_.size(); ++i) {
    std::fill(buckets_[i].heads.begin(), buckets_[i].heads.end(), no_row);
    std::fill(buckets_[i].sizes.begin(), buckets_[i].sizes.end(), 0);
    buckets_[i].set.clear();
  }
  buckets_in_use_ = 0;
  populated_.clear();
  population_.clear();
  best_.clear();
  head_.clear();
  buckets_of_.clear();
}

GANGSCHED_INLINE void grouped_rows::push(row_t& head, row_t row, std::uint32_t score) noexcept {
  links_[row] = {head, no_row, score};
  if (head != no_row) links_[head].prev = row;
  head = row;
}

GANGSCHED_INLINE void grouped_rows::put_into(buckets& its, row_t row, std::uint32_t score) noexcept {
  if (its.heads[score] == no_row) its.set.set(score);
  push(its.heads[score], row, score);
  ++its.sizes[score];
}

GANGSCHED_INLINE void grouped_rows::give_buckets(std::uint32_t group) {
  if (buckets_in_use_ == buckets_.size()) buckets_.emplace_back(scores_);
  buckets& its = buckets_[buckets_in_use_];
  for (row_t row = head_[group]; row != no_row;) {
    const row_t next = links_[row].next;
    put_into(its, row, links_[row].score);
    row = next;
  }
  head_[group] = no_row;
  buckets_of_[group] = buckets_in_use_++;
}

GANGSCHED_INLINE void grouped_rows::insert(row_t row, std::uint32_t group, std::uint32_t score) {
  if (group >= population_.size()) {
    const std::size_t groups = group + std::size_t{1};
    best_.resize(groups);
    head_.resize(groups, no_row);
    buckets_of_.resize(groups, none);
    population_.resize(groups, 0);
  }
  if (population_[group] == 0)
    populated_.insert(std::lower_bound(populated_.begin(), populated_.end(), group), group);
  else if (population_[group] == few && buckets_of_[group] == none)
    give_buckets(group);
  // From here on nothing throws.
  top& best = best_[group];
  if (population_[group]++ == 0 || score > best.score)
    best = {score, 1};
  else
    best.count += score == best.score;
  if (buckets_of_[group] == none)
    push(head_[group], row, score);
  else
    put_into(buckets_[buckets_of_[group]], row, score);
}

GANGSCHED_INLINE void grouped_rows::erase(row_t row, std::uint32_t group) noexcept {
  const auto [next, prev, score] = links_[row];
  const bool in_list = buckets_of_[group] == none;
  if (next != no_row) links_[next].prev = prev;
  if (prev != no_row)
    links_[prev].next = next;
  else
    (in_list ? head_[group] : buckets_[buckets_of_[group]].heads[score]) = next;
  if (!in_list) {
    buckets& its = buckets_[buckets_of_[group]];
    if (--its.sizes[score] == 0) its.set.reset(score);
  }
  if (--population_[group] == 0)
    populated_.erase(std::lower_bound(populated_.begin(), populated_.end(), group));
  else if (score == best_[group].score && --best_[group].count == 0)
    find_best(group);
}

/// The group has rows.
GANGSCHED_INLINE void grouped_rows::find_best(std::uint32_t group) noexcept {
  top& best = best_[group];
  if (buckets_of_[group] != none) {
    const buckets& its = buckets_[buckets_of_[group]];
    best.score = static_cast<std::uint32_t>(its.set.max());
    best.count = its.sizes[best.score];
    return;
  }
  best = {};
  for (row_t row = head_[group]; row != no_row; row = links_[row].next) {
    const std::uint32_t score = links_[row].score;
    if (best.count == 0 || score > best.score)
      best = {score, 1};
    else
      best.count += score == best.score;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
