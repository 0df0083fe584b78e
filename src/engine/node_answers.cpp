#include "gangsched/engine/node_answers.hpp"

#include <algorithm>
#include <bit>

#include "gangsched/core/lanes.hpp"
#include "gangsched/model/canonical.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

inline constexpr std::size_t block_rows = amount_block::rows;

/// What of a node pods do not change.
inline constexpr reads steady =
    reads::name | reads::labels | reads::taints | reads::schedulable | reads::allocatable | reads::images;

/// Whether what the hook says is kept for other classes.
template <class Kernel>
[[nodiscard]] bool is_kept(const Kernel& of) noexcept {
  return of.decided_by != pod_reads::everything && covers(steady, of.facets);
}

/// The bytes by which parts of pods are told apart.
inline void put_part(std::string& out, const pod_class& cls, pod_reads part) {
  out += static_cast<char>(part);
  if (covers(part, pod_reads::tolerations)) canonical::put(out, cls.tolerations);
  if (covers(part, pod_reads::node_affinity)) {
    canonical::put(out, cls.node_selector);
    canonical::put(out, cls.required_nodes);
    canonical::put(out, cls.preferred_nodes);
  }
  if (covers(part, pod_reads::images)) canonical::put(out, cls.images);
}

struct add_weighted {
  template <std::size_t N>
  GANGSCHED_LANES static void run(double* sum, const double* scores, double weight) {
    for (std::size_t i = 0; i < block_rows; i += N)
      (lanes<N>::load(sum + i) + lanes<N>::of(weight) * lanes<N>::load(scores + i)).store(sum + i);
  }
};

struct to_integers {
  template <std::size_t N>
  GANGSCHED_LANES static void run(const double* from, std::int64_t* to) {
    for (std::size_t i = 0; i < block_rows; i += N) lanes<N>::load(from + i).store_integers(to + i);
  }
};

/// The one of @p all that was used longest ago makes room, if there are as many as there may be and it is not in use since @p now.
template <class One>
One& add_one(std::vector<std::unique_ptr<One>>& all, std::size_t most, std::uint64_t now) {
  if (all.size() >= most) {
    const auto oldest =
        std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->used < b->used; });
    if ((*oldest)->used < now) return **oldest;
  }
  return *all.emplace_back(std::make_unique<One>());
}

}  // namespace detail

GANGSCHED_INLINE bool node_answers::at_once(const class_plan& plan) noexcept {
  return std::all_of(plan.local_filters.begin(), plan.local_filters.end(),
                     [](const planned& hook) {
                       return hook.plugin->filter.block != nullptr || detail::is_kept(hook.plugin->filter);
                     }) &&
         std::all_of(plan.local_scores.begin(), plan.local_scores.end(), [](const planned& hook) {
           return hook.plugin->score.block != nullptr || detail::is_kept(hook.plugin->score);
         });
}

GANGSCHED_INLINE void node_answers::sync() {
  const model::node_table& nodes = state_->nodes;
  const auto wanted = [](reads facets) { return any(facets & (detail::steady | reads::usage)); };
  const bool known = epoch_ == state_->topologies.plan_epoch() && stale_.read(*state_, wanted);
  const std::size_t rows = amount_columns::padded(nodes.rows.count());
  if (!known) {
    stale_.start(*state_);
    epoch_ = state_->topologies.plan_epoch();
    kept_.clear();
    groupings_.clear();
    changes_.clear();
    no_nodes_.assign(rows, no_node);
    for (row_t row = 0; row < nodes.rows.count(); ++row) no_nodes_[row] = nodes.alive(row) ? passes : no_node;
    amounts_.start(*state_);
  } else {
    if (no_nodes_.size() < rows) no_nodes_.resize(rows, no_node);
    stale_.take([&](row_t row, reads facets) {
      if (any(facets & amounts)) amounts_.update(*state_, row);
      if (any(facets & detail::steady)) remember_change(row, facets);
    });
  }
  stale_.settle(state_->log);
}

GANGSCHED_INLINE void node_answers::remember_change(row_t row, reads facets) {
  if (row < no_nodes_.size()) no_nodes_[row] = state_->nodes.alive(row) ? passes : no_node;
  if (changes_.size() >= no_nodes_.size()) {  // to ask anew is cheaper
    first_change_ += changes_.size();
    changes_.clear();
  }
  changes_.push_back({row, facets});
}

/// Fills `rows_` with those that changed since @p one was brought up to date; false if all have to be asked.
template <class Kept>
bool node_answers::changed_since(Kept& one, reads facets) {
  const bool listed = one.position >= first_change_;
  rows_.clear();
  for (std::size_t i = listed ? one.position - first_change_ : changes_.size(); i < changes_.size(); ++i) {
    // (A node that came or went matters even to who reads nothing.)
    if (any(changes_[i].facets & facets) || changes_[i].facets == reads::everything) rows_.push_back(changes_[i].row);
  }
  one.position = first_change_ + changes_.size();
  return listed;
}

/// What the hook says of the rows, which may have no node. False if it failed.
GANGSCHED_INLINE bool node_answers::ask(const class_plan& plan, const planned& hook, part what, answer& into,
                                        std::span<const row_t> rows) {
  const plugin_entry& plugin = *hook.plugin;
  const hook_context context = plan.context(*state_, hook, no_row);
  if (what != part::verdict) {
    for (const row_t row : rows) {
      if (no_nodes_[row] != passes) continue;
      into.values[row] = what == part::filter_key ? plugin.filter.key(plugin.self.get(), context, row)
                                                  : plugin.score.one(plugin.self.get(), context, row);
    }
    return true;
  }
  for (const row_t row : rows) into.rejects[row] = no_nodes_[row];
  return plugin.filter.rows(plugin.self.get(), context, rows, into.rejects.data(), 255);
}

/// What is kept of the hook for pods like these, up to date; null if it is asked each time, or failed.
GANGSCHED_INLINE const node_answers::answer* node_answers::find(const class_plan& plan, const planned& hook, part what,
                                                                row_scores& out) {
  const bool judges = what == part::verdict || what == part::filter_key;
  if (!(judges ? detail::is_kept(hook.plugin->filter) : detail::is_kept(hook.plugin->score))) return nullptr;
  const pod_reads of = judges ? hook.plugin->filter.decided_by : hook.plugin->score.decided_by;
  const reads facets = judges ? hook.plugin->filter.facets : hook.plugin->score.facets;
  const auto plugin = std::bit_cast<std::uintptr_t>(hook.plugin);
  key_.clear();
  canonical::put(key_, plugin);
  key_ += static_cast<char>(what);
  detail::put_part(key_, state_->classes[plan.cls], of);

  const std::size_t rows = no_nodes_.size();
  const auto place = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one->of == key_; });
  const bool known = place != kept_.end();
  answer& one = known ? **place : detail::add_one(kept_, most_, now_);
  one.used = now_;
  bool listed = false;
  if (known) {
    listed = changed_since(one, facets);
  } else {
    one.of = key_;
    one.serial = ++serial_;
    one.position = first_change_ + changes_.size();
  }
  if (what == part::verdict)
    one.rejects.resize(rows, no_node);
  else
    one.values.resize(rows, 0);
  if (!listed) {
    rows_.resize(state_->nodes.rows.count());
    for (row_t row = 0; row < rows_.size(); ++row) rows_[row] = row;
  }
  std::erase_if(rows_, [&](row_t row) { return row >= rows; });
  if (ask(plan, hook, what, one, rows_)) return &one;
  one.of.clear();  // nobody finds it
  out.broken = "a filter failed with an error";
  out.broken_by = hook.plugin;
  return nullptr;
}

GANGSCHED_INLINE void node_answers::list_sources(const class_plan& plan, row_scores& out) {
  filters_.clear();
  scores_.clear();
  for (const planned& hook : plan.local_filters) filters_.push_back({&hook, find(plan, hook, part::verdict, out)});
  for (const planned& hook : plan.local_scores) scores_.push_back({&hook, find(plan, hook, part::score, out)});
}

/// The filters in order, each about those of the block that none before it has rejected.
GANGSCHED_INLINE void node_answers::judge(const class_plan& plan, std::size_t first, row_scores& out,
                                          std::span<std::uint32_t> counts) {
  std::uint8_t* const verdict = out.verdict.data() + first;
  const auto reject = [&](const std::uint8_t* rejects, std::uint8_t mark) {
    for (std::size_t i = 0; i < detail::block_rows; ++i) {
      const auto open = static_cast<std::uint8_t>(verdict[i] == passes ? 255 : 0);
      verdict[i] = static_cast<std::uint8_t>(verdict[i] | (rejects[i] & open & mark));
    }
  };
  for (const source& one : filters_) {
    const plugin_entry& plugin = *one.hook->plugin;
    if (one.kept != nullptr) {
      reject(one.kept->rejects.data() + first, one.hook->mark);
      continue;
    }
    const hook_context context = plan.context(*state_, *one.hook, no_row);
    if (plugin.filter.block != nullptr) {
      filtered_block nodes{amounts_.by_kind(), first};
      if (plugin.filter.block(plugin.self.get(), context, nodes)) {
        for (std::uint8_t& each : nodes.rejected) each = static_cast<std::uint8_t>(each == 0 ? 0 : 255);
        reject(nodes.rejected, one.hook->mark);
        continue;
      }
    }
    rows_.clear();
    for (std::size_t i = 0; i < detail::block_rows; ++i)
      if (verdict[i] == passes) rows_.push_back(static_cast<row_t>(first + i));
    if (!plugin.filter.rows(plugin.self.get(), context, rows_, out.verdict.data(), one.hook->mark)) {
      out.broken = "a filter failed with an error";
      out.broken_by = &plugin;
    }
  }
  const auto count = [&](std::uint8_t mark) {
    std::uint8_t found = 0;
    for (std::size_t i = 0; i < detail::block_rows; ++i)
      found = static_cast<std::uint8_t>(found + (verdict[i] == mark));
    counts[mark] += found;
    return found;
  };
  if (count(passes) == detail::block_rows) return;
  for (const source& one : filters_) count(one.hook->mark);
  count(no_node);
}

GANGSCHED_INLINE void node_answers::score(const class_plan& plan, std::size_t first, row_scores& out) {
  double sum[detail::block_rows] = {};
  const auto broken = [&](const plugin_entry& by) {
    out.broken = "a score is outside 0 to 100";
    out.broken_by = &by;
  };
  by_row_.clear();
  for (const source& one : scores_) {
    const plugin_entry& plugin = *one.hook->plugin;
    scored_block nodes{amounts_.by_kind(), first};
    if (one.kept != nullptr || plugin.score.block == nullptr ||
        !plugin.score.block(plugin.self.get(), plan.context(*state_, *one.hook, no_row), nodes)) {
      by_row_.push_back(one);
      continue;
    }
    for (std::size_t i = 0; i < detail::block_rows; ++i) {
      if (nodes.score[i] >= 0.0 && nodes.score[i] <= static_cast<double>(max_node_score)) continue;
      if (out.verdict[first + i] == passes) broken(plugin);
      nodes.score[i] = 0.0;  // no place for it
    }
    run_lanes<detail::add_weighted>(&sum[0], &nodes.score[0], static_cast<double>(plugin.weight));
  }
  run_lanes<detail::to_integers>(&sum[0], out.score.data() + first);
  if (by_row_.empty()) return;
  rows_.clear();
  for (std::size_t i = 0; i < detail::block_rows; ++i)
    if (out.verdict[first + i] == passes) rows_.push_back(static_cast<row_t>(first + i));
  for (const source& one : by_row_) {
    const plugin_entry& plugin = *one.hook->plugin;
    const hook_context context = plan.context(*state_, *one.hook, no_row);
    if (one.kept == nullptr) {
      if (!plugin.score.rows(plugin.self.get(), context, rows_, plugin.weight, out.score.data())) broken(plugin);
      continue;
    }
    for (const row_t row : rows_) {
      const std::int64_t value = one.kept->values[row];
      if (value < 0 || value > max_node_score) broken(plugin);
      out.score[row] += plugin.weight * value;
    }
  }
}

GANGSCHED_INLINE void node_answers::regroup(grouping& of, std::span<const answer* const> keys, row_t row) {
  tuple_.clear();
  for (const answer* one : keys) tuple_.push_back(one->values[row]);
  of.group[row] = no_nodes_[row] == passes ? of.groups.find_or_add(tuple_) : key_groups::none;
}

/// The groups of all rows, if every key is kept; of those that pass, else.
GANGSCHED_INLINE void node_answers::group(const class_plan& plan, row_scores& out) {
  keys_.clear();
  reads facets = reads::nothing;
  for (const planned& hook : plan.cached.filter_keys) {
    keys_.push_back(find(plan, hook, part::filter_key, out));
    facets |= hook.plugin->filter.facets;
  }
  for (const planned& hook : plan.cached.score_keys) {
    keys_.push_back(find(plan, hook, part::score, out));
    facets |= hook.plugin->score.facets;
  }
  const std::size_t rows = no_nodes_.size();
  const std::size_t of_filters = plan.cached.filter_keys.size();
  if (std::find(keys_.begin(), keys_.end(), nullptr) != keys_.end()) {
    out.groups.reset(plan.key_count());
    for (row_t row = 0; row < rows; ++row) {
      if (out.verdict[row] != passes) continue;
      tuple_.clear();
      for (std::size_t key = 0; key < keys_.size(); ++key) {
        const bool filters = key < of_filters;
        tuple_.push_back(keys_[key] != nullptr ? keys_[key]->values[row]
                         : filters             ? row_scores::filter_key(*state_, plan, key, row)
                                               : row_scores::score_key(*state_, plan, key - of_filters, row));
      }
      out.group[row] = out.groups.find_or_add(tuple_);
    }
    return;
  }
  const auto same = [&](const auto& one) {
    return std::equal(one->of.begin(), one->of.end(), keys_.begin(), keys_.end(),
                      [](std::uint64_t serial, const answer* key) { return serial == key->serial; });
  };
  const auto place = std::find_if(groupings_.begin(), groupings_.end(), same);
  const bool known = place != groupings_.end();
  grouping& one = known ? **place : detail::add_one(groupings_, most_, now_);
  one.used = now_;
  const bool listed = known && changed_since(one, facets) &&
                      one.groups.size() <= std::max<std::uint32_t>(512, 2 * one.live);  // dead ones pile up
  one.group.resize(rows, key_groups::none);
  if (listed) {
    for (const row_t row : rows_)
      if (row < rows) regroup(one, keys_, row);
  } else {
    one.of.clear();
    for (const answer* key : keys_) one.of.push_back(key->serial);
    one.position = first_change_ + changes_.size();
    one.groups.reset(keys_.size());
    for (row_t row = 0; row < rows; ++row) regroup(one, keys_, row);
    one.live = one.groups.size();
  }
  out.groups = one.groups;
  std::copy(one.group.begin(), one.group.end(), out.group.begin());
}

GANGSCHED_INLINE void node_answers::rate(const class_plan& plan, row_scores& out, std::span<std::uint32_t> counts) {
  sync();
  ++now_;
  const std::size_t rows = no_nodes_.size();
  out.grow(static_cast<row_t>(rows));
  out.broken = nullptr;
  std::copy(no_nodes_.begin(), no_nodes_.end(), out.verdict.begin());
  std::fill(out.verdict.begin() + static_cast<std::ptrdiff_t>(rows), out.verdict.end(), no_node);
  list_sources(plan, out);
  for (std::size_t first = 0; first < rows; first += detail::block_rows) {
    const std::uint32_t before = counts[passes];
    judge(plan, first, out, counts);
    if (counts[passes] != before) score(plan, first, out);
  }
  counts[no_node] -=
      static_cast<std::uint32_t>(rows - state_->nodes.rows.count());  // what the last block has beyond them
  group(plan, out);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
