#include "gangsched/engine/grouped_rows.hpp"

#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void grouped_rows::reset(std::size_t scores) {
  for (const std::uint32_t group : populated_) {
    if (buckets_of_[group] == none) continue;
    buckets& its = buckets_[buckets_of_[group]];
    std::fill(its.heads.begin(), its.heads.end(), no_row);
    std::fill(its.sizes.begin(), its.sizes.end(), 0);
    its.set.clear();
    spare_.push_back(buckets_of_[group]);  // (there is room for all)
  }
  if (scores != scores_) buckets_.clear(), spare_.clear();
  ++moves_;
  scores_ = scores;
  few_ = static_cast<std::uint32_t>(std::max<std::size_t>(24, scores / 64));
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

GANGSCHED_INLINE void grouped_rows::take_from(buckets& its, row_t row) noexcept {
  const auto [next, prev, score] = links_[row];
  if (next != no_row) links_[next].prev = prev;
  (prev != no_row ? links_[prev].next : its.heads[score]) = next;
  if (--its.sizes[score] == 0) its.set.reset(score);
}

GANGSCHED_INLINE void grouped_rows::give_buckets(std::uint32_t group) {
  if (spare_.empty()) {
    spare_.reserve(buckets_.size() + 1);
    buckets_.emplace_back(scores_);
    spare_.push_back(static_cast<std::uint32_t>(buckets_.size() - 1));
  }
  // From here on nothing throws.
  buckets& its = buckets_[spare_.back()];
  for (row_t row = head_[group]; row != no_row;) {
    const row_t next = links_[row].next;
    put_into(its, row, links_[row].score);
    row = next;
  }
  head_[group] = no_row;
  buckets_of_[group] = spare_.back();
  spare_.pop_back();
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
  else if (population_[group] == few_ && buckets_of_[group] == none)
    give_buckets(group);
  // From here on nothing throws.
  ++moves_;
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
  if (!in_list) {
    take_from(buckets_[buckets_of_[group]], row);
  } else {
    if (next != no_row) links_[next].prev = prev;
    (prev != no_row ? links_[prev].next : head_[group]) = next;
  }
  ++moves_;
  if (--population_[group] == 0) {
    populated_.erase(std::lower_bound(populated_.begin(), populated_.end(), group));
    if (!in_list) spare_.push_back(std::exchange(buckets_of_[group], none));  // (there is room for all)
  } else if (score == best_[group].score && --best_[group].count == 0) {
    find_best(group);
  }
}

GANGSCHED_INLINE void grouped_rows::rescore(row_t row, std::uint32_t group, std::uint32_t score) noexcept {
  const std::uint32_t before = links_[row].score;
  if (buckets_of_[group] == none) {
    links_[row].score = score;
  } else {
    buckets& its = buckets_[buckets_of_[group]];
    take_from(its, row);
    put_into(its, row, score);
  }
  top& best = best_[group];
  const bool was_best = before == best.score;
  if (score > best.score)
    best = {score, 1};
  else if (score == best.score)
    best.count += was_best ? 0 : 1;
  else if (was_best && --best.count == 0)
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
