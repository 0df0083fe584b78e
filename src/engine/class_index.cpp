#include "gangsched/engine/class_index.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE class_index::class_index(const model::cluster_state& state, std::shared_ptr<const class_plan> plan,
                                          engine_statistics& statistics, node_answers* answers)
    : state_(&state), plan_(std::move(plan)), statistics_(&statistics), answers_(answers), counts_(256) {}

GANGSCHED_INLINE bool class_index::sync_some(std::size_t most) {
  const bool in_parts = most < state_->nodes.rows.count();
  const bool was_whole = whole_;
  const reads cached = plan_->cached_facets(), finishing = plan_->cached.finish_reads.value_or(reads::nothing);
  const bool known = stale_.read(*state_, cached | finishing, [&](reads facets) {
    // A node that came or went matters even to a class that reads nothing.
    const bool anything = facets == reads::everything;
    if (anything || any(facets & finishing)) group_scores_hold_ = false;
    return anything || any(facets & cached);
  });
  // The first two parts are to get the memory.
  const bool new_memory = known && !whole_ && groups_.grow(row_count_);
  if (new_memory && in_parts) {
    stale_.settle(state_->log);
    return false;
  }
  if (known)
    replay();
  else
    begin_build();
  if (!whole_ && (known || !in_parts)) build(most);
  rows_.groups.number_values();
  stale_.settle(state_->log);
  if (in_parts && !was_whole && rows_.broken != nullptr) {
    // The hook may work again when all rows have been asked; until then a pick without the index reports its error.
    stale_.forget();
    whole_ = false;
  }
  return whole_;
}

GANGSCHED_INLINE void class_index::begin_build() {
  ++statistics_->index_builds;
  row_count_ = state_->nodes.rows.count();
  rows_.grow(row_count_);
  const auto end = rows_.verdict.begin() + static_cast<std::ptrdiff_t>(row_count_);
  // Those without a node, too: one may come there before they are asked.
  std::fill(rows_.verdict.begin(), end, not_asked);
  // Rows of nodes that were added in a trial and taken back: not counted until they come again.
  std::fill(end, rows_.verdict.end(), no_node);
  stale_.start(*state_);
  grouped_ = plan_->cached.local_range < score_set::limit;
  groups_.reset(grouped_ ? static_cast<std::size_t>(plan_->cached.local_range) + 1 : 0);
  rows_.groups.reset(plan_->key_count());
  rows_.broken = nullptr;
  std::fill(counts_.begin(), counts_.end(), 0);
  counts_[not_asked] = row_count_;
  if (reasons_ != nullptr) reasons_->clear();
  whole_ = false;
  asked_upto_ = {};
  group_scores_hold_ = false;
}

GANGSCHED_INLINE void class_index::build(std::size_t most) {
  refreshes_ += 2;
  groups_.grow(row_count_);
  rows_.make_room(*state_, *plan_);
  const std::uint32_t before = counts_[not_asked];
  const auto link_all = [&](const auto& each) {
    if (rows_.groups.size() > max_groups()) grouped_ = false;
    each([&](row_t row) { link(row); });
  };
  if (served()) {
    if (plan_->cached.by_block != 0) answers_->recent().make_room(*state_);
    const char* const broken = rows_.broken;  // a row that was asked again before
    const plugin_entry* const by = rows_.broken_by;
    answers_->rate(*plan_, rows_, counts_, asked_upto_, most);
    if (rows_.broken == nullptr) rows_.broken = broken, rows_.broken_by = by;
    link_all([&](const auto& visit) { answers_->each_passing(visit); });
  } else {
    ask_all();
    link_all([&](const auto& visit) { std::for_each(passing_.begin(), passing_.end(), visit); });
  }
  statistics_->rows_evaluated += before - counts_[not_asked];
  whole_ = counts_[not_asked] == 0;
  if (!whole_) return;
  for (row_t row = 0; reasons_ != nullptr && row < row_count_; ++row) learn_reasons(row);
  live_groups_ = rows_.groups.size();
  if (counts_capacity_) count_capacities();
}

/// One row after the other.
GANGSCHED_INLINE void class_index::ask_all() {
  std::vector<row_t>& all = passing_;
  all.resize(row_count_);
  std::iota(all.begin(), all.end(), row_t{0});
  rows_.run_filters(*state_, *plan_, all);
  std::fill(counts_.begin(), counts_.end(), 0);
  for (const row_t row : all) ++counts_[rows_.verdict[row]];
  std::erase_if(all, [&](row_t row) { return rows_.verdict[row] != passes; });
  rows_.run_scores(*state_, *plan_, all);
  for (const row_t row : all) rows_.run_keys(*state_, *plan_, row);
}

/// What asking the stale rows again will read, which is far apart: all of it is on the way while the first ones are asked.
GANGSCHED_INLINE void class_index::prefetch_stale() const noexcept {
  const reads cached = plan_->cached_facets();
  const bool by_amounts = !fills_block(stale_.size()) && any(cached & amounts),
             by_devices = any(cached & reads::devices);
  const bool grouped = plan_->key_count() != 0;
  for (const row_t row : stale_.rows()) {
    if (row >= row_count_) continue;
    if (by_amounts) {
      gangsched::detail::prefetch(state_->nodes.allocatable.row(row));
      gangsched::detail::prefetch(state_->nodes.used.row(row));
    }
    if (by_devices) {
      state_->nodes.inventory.prefetch(row);
      state_->nodes.devices.prefetch(row, 16);
    }
    gangsched::detail::prefetch(rows_.verdict.data() + row);
    gangsched::detail::prefetch(rows_.score.data() + row);
    if (grouped) gangsched::detail::prefetch(rows_.group.data() + row);
    groups_.prefetch(row);
  }
}

GANGSCHED_INLINE void class_index::replay() {
  if (stale_.empty()) return;
  constexpr std::size_t few = 4;  // before these are asked nothing arrives from far away
  if (stale_.size() > few) prefetch_stale();
  const row_t rows = state_->nodes.rows.count();
  rows_.grow(std::max(rows, row_count_));
  if (rows > row_count_) groups_.grow(rows);
  const bool counts_capacity = counts_capacity_ && whole_;  // they are counted at the end of a build
  if (counts_capacity) capacity_.resize(std::max(rows, row_count_));
  for (; row_count_ < rows; ++row_count_) ++counts_[no_node];
  const bool together = !counts_capacity && reasons_ == nullptr &&
                        (fills_block(stale_.size()) || rows_.remembers_nothing(*plan_, stale_.size()));
  std::array<row_t, row_scores::most_together> passing;
  std::size_t count = 0;
  reads dirty = reads::nothing;
  const auto ask = [&] {
    refresh_passing({passing.data(), count}, dirty);
    count = 0;
    dirty = reads::nothing;
  };
  stale_.take([&](row_t row, reads facets) {
    if (!together || row >= row_count_ || rows_.verdict[row] != passes || facets == reads::everything)
      return refresh_one(row, facets, counts_capacity);
    passing[count++] = row;
    dirty |= facets;
    if (count == passing.size()) ask();
  });
  if (count != 0) ask();
  if (whole_ && rows_.groups.outgrown(live_groups_)) stale_.forget();  // start over at the next pick
}

GANGSCHED_INLINE void class_index::refresh_one(row_t row, reads facets, bool counts_capacity) {
  if (row >= row_count_) return;
  if (rows_.verdict[row] == not_asked) {
    if (row < state_->nodes.rows.count()) return;
    --counts_[not_asked], ++counts_[no_node];  // it was there in a trial only
    rows_.verdict[row] = no_node;
    return;
  }
  ++statistics_->rows_evaluated;
  amount_memory::answer* const known = refresh(row, facets);
  if (counts_capacity) keep_capacity(row, capacity_now(row, known));
}

GANGSCHED_INLINE void class_index::keep_capacity(row_t row, std::int64_t now) {
  for (capacity_sums& sums : capacity_sums_) {
    if (sums.lifetime.expired()) continue;
    if (const domain_id domain = sums.of->of(row); domain != no_domain && domain < sums.by_domain.size()) {
      sums.by_domain[domain] += now - capacity_[row];
    }
  }
  capacity_total_ += now - capacity_[row];
  capacity_[row] = now;
}

GANGSCHED_INLINE amount_memory::answer* class_index::refresh(row_t row, reads dirty) {
  const std::uint8_t before = rows_.verdict[row];
  const std::uint32_t group = rows_.group[row];
  const std::int64_t score = rows_.score[row];
  amount_memory::answer* const known = rows_.refresh(*state_, *plan_, row, dirty);
  ++refreshes_;
  last_refreshed_ = row;
  note_refreshed(row, before, group, score);
  return known;
}

/// As `row_scores::refresh_passing`.
GANGSCHED_INLINE void class_index::refresh_passing(std::span<const row_t> rows, reads dirty) {
  std::array<std::uint32_t, row_scores::most_together> group;
  std::array<std::int64_t, row_scores::most_together> score;
  const bool keys = any(dirty & plan_->cached.keys);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    score[i] = rows_.score[rows[i]];
    if (keys) group[i] = rows_.group[rows[i]];
  }
  if (fills_block(rows.size()))
    rows_.refresh_block(*state_, *plan_, rows, dirty, answers_->recent());
  else
    rows_.refresh_passing(*state_, *plan_, rows, dirty);
  statistics_->rows_evaluated += rows.size();
  refreshes_ += rows.size();
  last_refreshed_ = rows.back();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const row_t row = rows[i];
    if (rows_.verdict[row] != passes || (keys && rows_.group[row] != group[i]) || rows_.broken != nullptr) [[unlikely]]
      note_refreshed(row, passes, keys ? group[i] : rows_.group[row], score[i]);
    else if (rows_.score[row] != score[i] && grouped_)
      groups_.rescore(row, rows_.group[row], static_cast<std::uint32_t>(rows_.score[row]));
  }
}

/// The row was asked again; the rest is what was said of it before.
GANGSCHED_INLINE void class_index::note_refreshed(row_t row, std::uint8_t verdict, std::uint32_t group,
                                                  std::int64_t score) {
  const std::uint8_t now = rows_.verdict[row];
  if (verdict == passes && now == passes && rows_.group[row] == group && rows_.broken == nullptr) {
    if (rows_.score[row] != score && grouped_)
      groups_.rescore(row, group, static_cast<std::uint32_t>(rows_.score[row]));
    return;
  }
  --counts_[verdict];
  ++counts_[now];
  if (verdict == passes) unlink(row, group);
  if (now == passes) link(row);
  if (reasons_ != nullptr) learn_reasons(row);
}

/// The words of the filter that rejects it, as things stand.
GANGSCHED_INLINE void class_index::learn_reasons(row_t row) {
  const std::uint8_t mark = rows_.verdict[row];
  if (mark == passes || mark == no_node) return reasons_->drop(row);
  std::vector<std::string> texts;
  const planned& hook = plan_->filters[mark - 1u];
  const hook_context context = plan_->context(*state_, hook, no_row);
  each_reason(hook, context, row, hook.plugin->filter.one(hook.plugin->self.get(), context, row),
              [&](const status& said) { texts.push_back(reason_text(state_->names, said)); });
  std::sort(texts.begin(), texts.end());
  reasons_->set(row, {mark, std::move(texts)});
}

GANGSCHED_INLINE std::int64_t class_index::capacity_now(row_t row, amount_memory::answer* known) const {
  constexpr std::int64_t plenty = 1 << 20;  // sums of it stay small
  if (rows_.verdict[row] != passes) return 0;
  const auto least = [&](std::int64_t most, bool by_amounts) {
    for (const planned& hook : plan_->local_filters) {
      if (hook.plugin->filter.capacity == nullptr || (known != nullptr && hook.by_amounts != by_amounts)) continue;
      const hook_context context = plan_->context(*state_, hook, no_row);
      most = std::min(most, hook.plugin->filter.capacity(hook.plugin->self.get(), context, row));
    }
    return most;
  };
  if (known != nullptr && known->capacity < 0) known->capacity = std::max<std::int64_t>(least(plenty, true), 0);
  return std::max<std::int64_t>(least(known != nullptr ? known->capacity : plenty, false), 1);  // the filters pass now
}

GANGSCHED_INLINE void class_index::count_capacities() {
  counts_capacity_ = true;
  capacity_sums_.clear();
  capacity_.assign(row_count_, 0);
  capacity_total_ = 0;
  for (row_t row = 0; row < row_count_; ++row) capacity_total_ += capacity_[row] = capacity_now(row, nullptr);
}

GANGSCHED_INLINE std::int64_t class_index::capacity() {
  if (!counts_capacity_) count_capacities();
  return capacity_total_;
}

GANGSCHED_INLINE std::int64_t class_index::capacity(row_t row) {
  if (!counts_capacity_) count_capacities();
  return row < capacity_.size() ? capacity_[row] : 0;
}

GANGSCHED_INLINE std::span<const std::int64_t> class_index::capacities(const domain_index& domains) {
  if (!counts_capacity_) count_capacities();
  std::erase_if(capacity_sums_, [](const capacity_sums& one) { return one.lifetime.expired(); });
  auto sums = std::find_if(capacity_sums_.begin(), capacity_sums_.end(),
                           [&](const capacity_sums& one) { return one.of == &domains; });
  if (sums == capacity_sums_.end()) sums = capacity_sums_.insert(sums, {&domains, domains.lifetime(), 0, {}});
  if (sums->version != domains.version()) {
    sums->version = domains.version();
    sums->by_domain.assign(domains.size(), 0);
    for (domain_id one = 0; one < domains.size(); ++one) {
      for (const row_t row : domains.rows(one)) sums->by_domain[one] += capacity(row);
    }
  }
  return sums->by_domain;
}

GANGSCHED_INLINE bool class_index::groups_are_as_scored() noexcept {
  const std::span<const std::uint32_t> now = groups_.population();
  const std::vector<std::uint32_t>& then = group_scores_.population;
  const auto both_have_any = [](std::uint32_t a, std::uint32_t b) { return (a == 0) == (b == 0); };
  const bool same = plan_->cached.by_population
                        ? std::equal(now.begin(), now.end(), then.begin(), then.end())
                        : std::equal(now.begin(), now.end(), then.begin(), then.end(), both_have_any);
  if (same) group_scores_moves_ = groups_.moves();
  return same;
}

GANGSCHED_INLINE void class_index::remember_group_scores(const group_scores& said) {
  group_scores_hold_ = false;
  if (!plan_->cached.finish_reads) return;
  group_scores_ = said;
  group_scores_moves_ = groups_.moves();
  group_scores_hold_ = true;
}

GANGSCHED_INLINE void class_index::link(row_t row) {
  if (!grouped_) return;
  if (rows_.broken != nullptr && (rows_.score[row] < 0 || rows_.score[row] > plan_->cached.local_range))
    rows_.score[row] = 0;
  groups_.insert(row, rows_.group[row], static_cast<std::uint32_t>(rows_.score[row]));
}

GANGSCHED_INLINE void class_index::unlink(row_t row, std::uint32_t group) {
  if (grouped_) groups_.erase(row, group);
}

GANGSCHED_INLINE std::optional<std::string> class_index::difference(std::shared_ptr<const class_plan> plan) const {
  engine_statistics unused;
  class_index fresh{*state_, std::move(plan), unused};
  fresh.sync();
  const auto at = [&](row_t row) {
    return state_->nodes.alive(row) ? "node " + std::string{state_->names.text(state_->nodes.record[row]->name)}
                                    : "row " + std::to_string(row);
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
      return at(row) + ": score " + std::to_string(rows_.score[row]) + " instead of " +
             std::to_string(fresh.rows_.score[row]);
    }
    for (std::size_t key = 0; key < plan_->key_count(); ++key) {
      if (rows_.groups.key(rows_.group[row], key) != fresh.rows_.groups.key(fresh.rows_.group[row], key)) {
        return at(row) + ": key " + std::to_string(key);
      }
    }
  }
  if (counts_ != fresh.counts_ && row_count_ == fresh.row_count_) return "the counts of verdicts";
  if (!grouped_ || !fresh.grouped_) return std::nullopt;
  std::size_t linked = 0;
  for (std::uint32_t group = 0; group < groups_.population().size(); ++group) {
    std::uint32_t population = 0, best = 0, have_it = 0;
    bool right = true;
    groups_.each(group, [&](row_t row, std::uint32_t score) {
      right = right && rows_.verdict[row] == passes && rows_.group[row] == group && rows_.score[row] == score;
      if (population++ == 0 || score > best)
        best = score, have_it = 1;
      else
        have_it += score == best;
    });
    if (!right) return "a row is in the wrong group, or with another score";
    if (population != groups_.population()[group]) return "the size of a group";
    const std::span<const std::uint32_t> populated = groups_.populated();
    if (std::binary_search(populated.begin(), populated.end(), group) != (population != 0))
      return "the groups that have rows";
    if (population != 0 && (best != groups_.best(group) || have_it != groups_.best_count(group)))
      return "the best of a group";
    linked += population;
  }
  if (linked != counts_[passes]) return "the number of rows in groups";
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
