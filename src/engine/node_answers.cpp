#include "gangsched/engine/node_answers.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "gangsched/core/lanes.hpp"
#include "gangsched/engine/weighted_sums.hpp"
#include "gangsched/model/canonical_selectors.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

inline constexpr std::size_t block_rows = amount_block::rows;

using gangsched::detail::steady_reads;

/// Whether what the hook says is kept for other classes.
template <class Kernel>
[[nodiscard]] bool is_kept(const Kernel& of) noexcept {
  return of.decided_by != pod_reads::everything && covers(steady_reads, of.facets);
}

/// Whether what a local hook says of nodes comes from other classes, or from blocks of nodes.
template <class Kernel>
[[nodiscard]] bool is_local_at_once(const Kernel& of) noexcept {
  return of.block != nullptr || is_kept(of);
}

/// Whether keys come from other classes, or are asked once for all whose keys read the same.
template <class Kernel>
[[nodiscard]] bool is_key_at_once(const Kernel& of) noexcept {
  return is_kept(of) || of.key_reads != nullptr;
}

/// The bytes by which parts of pods are told apart.
inline void put_part(std::string& out, const pod_class& cls, pod_reads part) {
  out += static_cast<char>(part);
  if (covers(part, pod_reads::tolerations)) canonical::append(out, cls.tolerations);
  if (covers(part, pod_reads::node_affinity)) {
    canonical::append(out, cls.node_selector, cls.required_nodes, cls.preferred_nodes);
  }
  if (covers(part, pod_reads::images)) canonical::append(out, cls.images);
  if (covers(part, pod_reads::features)) canonical::append(out, cls.required_features);
}

/// Adds to the sums of some rows.
struct add_where {
  template <std::size_t N>
  GANGSCHED_LANES static void run(double* sum, std::uint64_t rows, double more) {
    lane_bits<N> among{rows};
    for (std::size_t i = 0; i < block_rows; i += N) {
      const lanes<N> added = select(among.take(), lanes<N>::of(more), lanes<N>::of(0.0));
      (lanes<N>::load(sum + i) + added).store(sum + i);
    }
  }
};

/// The largest sum of some rows, and which of them have it.
struct find_top {
  template <std::size_t N>
  GANGSCHED_LANES static void run(const double* sum, std::uint64_t rows, double* top, std::uint64_t* tied) {
    lanes<N> largest = lanes<N>::of(-1.0);
    lane_bits<N> among{rows};
    for (std::size_t i = 0; i < block_rows; i += N)
      largest = larger(largest, select(among.take(), lanes<N>::load(sum + i), lanes<N>::of(-1.0)));
    const double found = largest_of(largest);
    lane_bits<N> equal;
    for (std::size_t i = 0; i < block_rows; i += N)
      equal.add(where_equal(lanes<N>::load(sum + i), lanes<N>::of(found)));
    *top = found;
    *tied = equal.all() & rows;
  }
};

}  // namespace detail

GANGSCHED_INLINE bool node_answers::at_once(const class_plan& plan) noexcept {
  const auto all = [](const std::vector<planned>& hooks, const auto& may) {
    return std::all_of(hooks.begin(), hooks.end(), may);
  };
  const auto judges = [](const planned& hook) { return detail::is_local_at_once(hook.plugin->filter); };
  const auto rates = [](const planned& hook) { return detail::is_local_at_once(hook.plugin->score); };
  const auto keys_filter = [](const planned& hook) { return detail::is_key_at_once(hook.plugin->filter); };
  const auto keys_score = [](const planned& hook) { return detail::is_key_at_once(hook.plugin->score); };
  return all(plan.local_filters, judges) && all(plan.local_scores, rates) &&
         all(plan.cached.filter_keys, keys_filter) && all(plan.cached.score_keys, keys_score);
}

GANGSCHED_INLINE void node_answers::forget_kept() noexcept {
  kept_.clear();
  groupings_.clear();
  alike_.clear();
  taint_lists_.clear();
}

GANGSCHED_INLINE void node_answers::start() {
  const model::node_table& nodes = state_->nodes;
  stale_.start(*state_);
  epoch_ = state_->topologies.plan_epoch();
  forget_kept();
  changes_.clear();
  order_.reset(nodes.rows.count());
  since_.moved = nodes.rows.count(), since_.rated = 0, since_.next_stretch = 0;
  nodes_.clear(order_.size());
  for (row_t row = 0; row < order_.size(); ++row) nodes_.set(row, nodes.alive(row));
  amounts_.start(*state_, order_);
  order_many();
}

GANGSCHED_INLINE void node_answers::sync() {
  const bool known = epoch_ == state_->topologies.plan_epoch() &&
                     stale_.read(*state_, detail::steady_reads | reads::usage, [](reads) { return true; });
  if (!known) {
    start();
  } else {
    order_.grow(state_->nodes.rows.count());
    nodes_.grow(order_.size());
    stale_.take([&](row_t row, reads facets) {
      if (any(facets & amounts) && row < order_.size())
        amounts_.update(*state_, row, order_.place(row)), ++since_.moved;
      if (any(facets & detail::steady_reads)) remember_change(row, facets);
    });
  }
  stale_.settle(state_->log);
}

GANGSCHED_INLINE void node_answers::remember_change(row_t row, reads facets) {
  if (row < order_.size()) nodes_.set(order_.place(row), state_->nodes.alive(row));
  if (changes_.size() >= places()) {  // to ask anew is cheaper
    first_change_ += changes_.size();
    changes_.clear();
  }
  changes_.push_back({row, facets});
}

/// Lists the rows that changed since that position in the list of changes, which becomes the present one; false if all have to be asked.
GANGSCHED_INLINE bool node_answers::changed_since(std::uint64_t& position, reads facets) {
  const bool listed = position >= first_change_;
  buffers_.rows.clear();
  for (std::size_t i = listed ? position - first_change_ : changes_.size(); i < changes_.size(); ++i) {
    // (An added or removed node matters even to hooks that read nothing.)
    const bool matters = any(changes_[i].facets & facets) || changes_[i].facets == reads::everything;
    if (matters && changes_[i].row < order_.size()) buffers_.rows.push_back(changes_[i].row);
  }
  position = first_change_ + changes_.size();
  return listed;
}

/// What the hook says of the rows, which may have no node. False if it failed.
GANGSCHED_INLINE bool node_answers::ask(const class_plan& plan, const planned& hook, part what, answer& into,
                                        std::span<const row_t> rows) {
  const plugin_entry& plugin = *hook.plugin;
  const hook_context context = plan.context(*state_, hook, no_row);
  std::vector<std::uint8_t>& marks = buffers_.marks;
  if (what == part::verdict) {
    for (const row_t row : rows) marks[row] = nodes_.has(order_.place(row)) ? passes : no_node;
    const bool fine = plugin.filter.rows(plugin.self.get(), context, rows, marks.data(), 1);
    for (const row_t row : rows) into.rejects.set(order_.place(row), marks[row] == 1);
    return fine;
  }
  for (const row_t row : rows) {
    const row_t place = order_.place(row);
    if (!nodes_.has(place)) continue;
    const std::int64_t value = what == part::filter_key ? plugin.filter.key(plugin.self.get(), context, row)
                                                        : plugin.score.one(plugin.self.get(), context, row);
    if (what == part::score)
      into.ratings[place] = static_cast<double>(value);
    else
      into.values[place] = value;
  }
  return true;
}

/// What is kept under `buffers::key`, made if there is nothing yet. @p listed: `buffers::rows` has the rows that changed in @p facets since
/// it was brought up to date; otherwise all have to be asked.
GANGSCHED_INLINE node_answers::answer& node_answers::take_answer(bool& listed, reads facets) {
  const std::string& key = buffers_.key;
  const auto place = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one->of == key; });
  const bool known = place != kept_.end();
  answer& one = known ? **place : detail::add_one(kept_, most_, now_);
  one.used = now_;
  listed = known && changed_since(one.position, facets);
  if (known) return one;
  one.of = key;
  one.serial = ++serial_;
  one.position = first_change_ + changes_.size();
  return one;
}

/// What is kept of the hook for pods like these, up to date; null if it is asked each time, or failed.
GANGSCHED_INLINE node_answers::answer* node_answers::find(const class_plan& plan, const planned& hook, part what,
                                                          row_scores& out) {
  const bool judges = what == part::verdict || what == part::filter_key;
  if (!(judges ? detail::is_kept(hook.plugin->filter) : detail::is_kept(hook.plugin->score))) return nullptr;
  const pod_reads of = judges ? hook.plugin->filter.decided_by : hook.plugin->score.decided_by;
  std::string& key = buffers_.key;
  key.clear();
  canonical::append(key, std::bit_cast<std::uintptr_t>(hook.plugin));
  key += static_cast<char>(what);
  detail::put_part(key, state_->classes[plan.cls], of);

  bool listed = false;
  answer& one = take_answer(listed, judges ? hook.plugin->filter.facets : hook.plugin->score.facets);
  if (what == part::verdict)
    one.rejects.grow(places());
  else if (what == part::score)
    one.ratings.resize(places(), 0.0), one.most.resize(nodes_.words(), 0.0);
  else
    one.values.resize(places(), 0);
  const bool changed = !listed || !buffers_.rows.empty();
  bool fine = true;
  if (listed) {
    fine = ask(plan, hook, what, one, buffers_.rows);
  } else if (!ask_alike(plan, hook, what, one, fine)) {
    buffers_.rows.resize(state_->nodes.rows.count());
    std::iota(buffers_.rows.begin(), buffers_.rows.end(), row_t{0});
    fine = ask(plan, hook, what, one, buffers_.rows);
  }
  if (changed && what == part::score) one.find_most(0, one.most.size());
  if (changed && (what == part::filter_key || what == part::score_key)) share_values(one);
  if (fine) return &one;
  one.of.clear();  // it is not found any more
  out.broken = "a filter failed with an error";
  out.broken_by = hook.plugin;
  return nullptr;
}

/// Gives a key whose values are new, or may have changed, a number: that of another one of the hook that has the same values, so that
/// groups that are made of that are its groups, too.
GANGSCHED_INLINE void node_answers::share_values(answer& one) {
  constexpr std::size_t of_hook = sizeof(std::uintptr_t) + sizeof(part);
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const auto& other) {
    return other.get() != &one && other->position == one.position &&
           other->of.compare(0, of_hook, one.of, 0, of_hook) == 0 && other->values == one.values;
  });
  if (same != kept_.end())
    one.serial = (*same)->serial, one.shared = (*same)->shared = true;
  else if (one.shared)
    one.serial = ++serial_, one.shared = false;
}

GANGSCHED_INLINE void node_answers::begin(const class_plan& plan, row_scores& out) {
  ++now_;
  out.broken = nullptr;
  // (Each by its own size: without memory for the second the first has grown.)
  if (buffers_.marks.size() < places()) buffers_.marks.resize(places(), passes);
  if (buffers_.added.size() < places()) buffers_.added.resize(places(), 0);
  filters_.clear();
  scores_.clear();
  for (const planned& hook : plan.local_filters)
    filters_.push_back({&hook, find(plan, hook, part::verdict, out), plan.context(*state_, hook, no_row)});
  for (const planned& hook : plan.local_scores)
    scores_.push_back({&hook, find(plan, hook, part::score, out), plan.context(*state_, hook, no_row)});
}

GANGSCHED_INLINE void node_answers::list_rows(std::size_t block, std::uint64_t about) {
  buffers_.rows.clear();
  row_bits::each_place(about,
                       [&](std::size_t at) { buffers_.rows.push_back(order_.row(block * detail::block_rows + at)); });
}

/// Which of those that are @p open the filter rejects; of others it may say anything.
GANGSCHED_INLINE std::uint64_t node_answers::rejected_of(const source& one, std::size_t block, std::uint64_t open,
                                                         row_scores& out) {
  if (one.kept != nullptr) return one.kept->rejects.word(block);
  const plugin_entry& plugin = *one.hook->plugin;
  filtered_block nodes{amounts_.by_kind(), block * detail::block_rows};
  const block_verdict all = plugin.filter.bound != nullptr ? plugin.filter.bound(plugin.self.get(), one.context, nodes)
                                                           : block_verdict::unknown;
  if (all != block_verdict::unknown) return all == block_verdict::none_rejected ? 0 : open;
  if (plugin.filter.block != nullptr && plugin.filter.block(plugin.self.get(), one.context, nodes))
    return nodes.rejected;
  list_rows(block, open);
  std::vector<std::uint8_t>& marks = buffers_.marks;
  for (const row_t row : buffers_.rows) marks[row] = passes;
  if (!plugin.filter.rows(plugin.self.get(), one.context, buffers_.rows, marks.data(), 1)) {
    out.broken = "a filter failed with an error";
    out.broken_by = &plugin;
  }
  std::uint64_t rejects = 0;
  for (const row_t row : buffers_.rows) {
    if (marks[row] != passes) rejects |= std::uint64_t{1} << order_.place(row) % detail::block_rows;
  }
  return rejects;
}

/// Those that reject no node at all, by the ranges of all: no block is asked about.
GANGSCHED_INLINE void node_answers::drop_idle_filters() {
  const amount_block all{amounts_.of_all(), 0};
  std::erase_if(filters_, [&](const source& one) {
    const plugin_entry& plugin = *one.hook->plugin;
    return one.kept == nullptr && plugin.filter.bound != nullptr &&
           plugin.filter.bound(plugin.self.get(), one.context, all) == block_verdict::none_rejected;
  });
}

template <class Rejected>
std::uint64_t node_answers::judge_block(std::size_t block, std::uint64_t open, row_scores& out,
                                        std::span<std::uint32_t> counts, const Rejected& rejected) {
  for (const source& one : filters_) {
    if (open == 0) break;
    const std::uint64_t rejects = rejected_of(one, block, open, out) & open;
    if (rejects == 0) continue;
    open &= ~rejects;
    counts[one.hook->mark] += static_cast<std::uint32_t>(std::popcount(rejects));
    rejected(rejects, one.hook->mark);
  }
  return open;
}

GANGSCHED_INLINE bool node_answers::add_by_row(const source& one, std::size_t block, std::uint64_t about, double* sum) {
  const plugin_entry& plugin = *one.hook->plugin;
  list_rows(block, about);
  std::vector<std::int64_t>& added = buffers_.added;
  for (const row_t row : buffers_.rows) added[row] = 0;
  const bool fine = plugin.score.rows(plugin.self.get(), one.context, buffers_.rows, plugin.weight, added.data());
  for (const row_t row : buffers_.rows) sum[order_.place(row) % detail::block_rows] += static_cast<double>(added[row]);
  return fine;
}

GANGSCHED_INLINE void node_answers::score_block(std::size_t block, std::uint64_t about, double* sum, row_scores& out) {
  bool first = true;
  for (const source& one : scores_) {
    const plugin_entry& plugin = *one.hook->plugin;
    scored_block nodes{amounts_.by_kind(), block * detail::block_rows};
    const double* scores = one.kept != nullptr ? one.kept->ratings.data() + block * detail::block_rows : nullptr;
    if (scores == nullptr && plugin.score.block != nullptr && plugin.score.block(plugin.self.get(), one.context, nodes))
      scores = &nodes.score[0];
    bool fine = true;
    if (scores != nullptr) {
      std::uint64_t wrong = 0;
      const auto weight = static_cast<double>(plugin.weight);
      if (first)
        run_lanes<detail::add_weighted<true>>(sum, detail::block_rows, scores, weight, &wrong);
      else
        run_lanes<detail::add_weighted<false>>(sum, detail::block_rows, scores, weight, &wrong);
      fine = (wrong & about) == 0;
    } else {
      if (first) std::fill_n(sum, detail::block_rows, 0.0);
      fine = add_by_row(one, block, about, sum);
    }
    first = false;
    if (fine) continue;
    out.broken = "a score is outside 0 to 100";
    out.broken_by = &plugin;
  }
  if (first) std::fill_n(sum, detail::block_rows, 0.0);
}

GANGSCHED_INLINE void node_answers::judge(const class_plan& plan, row_scores& out, std::span<std::uint32_t> counts) {
  sync();
  reorder();  // (An index that is built looks at all nodes in any order.)
  begin(plan, out);
  drop_idle_filters();
  passing_.clear(places());
  for (std::size_t block = 0; block < passing_.words(); ++block)
    passing_.word(block) = judge_block(block, nodes_.word(block), out, counts, [](std::uint64_t, std::uint8_t) {});
  const key_groups& groups = group(plan, out, out.groups);
  if (&groups != &out.groups) out.groups = groups;
}

GANGSCHED_INLINE void node_answers::rate(const class_plan& plan, row_scores& out, std::span<std::uint32_t> counts,
                                         progress& at, std::size_t most) {
  sync();
  begin(plan, out);
  out.grow(static_cast<row_t>(places()));
  if (at.order_version != order_.version()) at = {0, order_.version()};
  passing_.clear(places());
  std::size_t asked = 0;
  for (; at.block < passing_.words() && asked < most; ++at.block) {
    const std::size_t first = at.block * detail::block_rows;
    std::uint64_t about = 0;
    for (std::size_t i = 0; i < detail::block_rows && first + i < order_.size(); ++i)
      about |= std::uint64_t{out.verdict[order_.row(first + i)] == not_asked} << i;
    if (about == 0) continue;
    const auto count = [](std::uint64_t rows) { return static_cast<std::uint32_t>(std::popcount(rows)); };
    const auto write = [&](std::uint64_t there, std::uint8_t mark) {
      row_bits::each_place(there, [&](std::size_t i) { out.verdict[order_.row(first + i)] = mark; });
    };
    asked += count(about);
    counts[not_asked] -= count(about);
    const std::uint64_t gone = about & ~nodes_.word(at.block);
    write(gone, no_node);
    counts[no_node] += count(gone);
    const std::uint64_t open = passing_.word(at.block) = judge_block(at.block, about & ~gone, out, counts, write);
    if (open == 0) continue;
    counts[passes] += count(open);
    write(open, passes);
    double sum[detail::block_rows];
    score_block(at.block, open, &sum[0], out);
    row_bits::each_place(open,
                         [&](std::size_t i) { out.score[order_.row(first + i)] = static_cast<std::int64_t>(sum[i]); });
  }
  const key_groups& groups = group(plan, out, buffers_.groups);
  if (out.groups.size() == 0) {
    out.groups = groups;
    passing_.each([&](row_t place) { out.group[order_.row(place)] = group_[place]; });
    return;
  }
  std::vector<std::uint32_t>& number = buffers_.number;
  number.assign(groups.size(), key_groups::none);
  passing_.each([&](row_t place) {
    std::uint32_t& its = number[group_[place]];
    if (its == key_groups::none) {
      buffers_.tuple.clear();
      for (std::size_t key = 0; key < plan.key_count(); ++key) buffers_.tuple.push_back(groups.key(group_[place], key));
      its = out.groups.find_or_add(buffers_.tuple);
    }
    out.group[order_.row(place)] = its;
  });
}

GANGSCHED_INLINE void node_answers::count_groups(const row_scores& of, std::vector<std::uint32_t>& population) const {
  population.assign(of.groups.size(), 0);
  if (population.size() == 1) {
    population[0] = passing_.count();
  } else if (grouping_ == nullptr || grouping_->places.empty()) {
    passing_.each([&](row_t place) { ++population[group_[place]]; });
  } else {
    for (std::size_t group = 0; group < population.size(); ++group)
      population[group] = passing_.count_common(grouping_->places[group]);
  }
}

/// What the local scores of a block come to at most, without offsets.
GANGSCHED_INLINE double node_answers::bound_of(std::size_t block) const {
  const amount_block nodes{amounts_.by_kind(), block * detail::block_rows};
  constexpr double slack = 1e-6;  // rounding
  double sum = slack;
  for (const source& one : scores_) {
    const plugin_entry& plugin = *one.hook->plugin;
    auto most = static_cast<double>(max_node_score);
    if (one.kept != nullptr)
      most = one.kept->most[block];
    else if (plugin.score.bound != nullptr)
      most = plugin.score.bound(plugin.self.get(), one.context, nodes);
    sum += static_cast<double>(plugin.weight) * most;
  }
  return sum;
}

/// The best sum of the nodes @p about; those that have it are in `tied_` then.
GANGSCHED_INLINE double node_answers::best_of(std::size_t block, std::uint64_t about,
                                              std::span<const std::int64_t> offset, row_scores& out) {
  double sum[detail::block_rows];
  score_block(block, about, &sum[0], out);
  if (offset.size() == 1 || grouping_ == nullptr || grouping_->places.empty()) {
    row_bits::each_place(about, [&](std::size_t at) {
      sum[at] += static_cast<double>(offset[group_[block * detail::block_rows + at]]);
    });
  } else {
    for (std::size_t group = 0; group < offset.size(); ++group) {
      const std::uint64_t its = grouping_->places[group].word(block) & about;
      if (its != 0) run_lanes<detail::add_where>(&sum[0], its, static_cast<double>(offset[group]));
    }
  }
  double top = -1.0;
  run_lanes<detail::find_top>(&sum[0], about, &top, &tied_.word(block));
  return top;
}

GANGSCHED_INLINE std::int64_t node_answers::best(row_scores& out, std::span<const std::uint8_t> open,
                                                 std::span<const std::int64_t> offset) {
  using bounded = std::pair<double, std::size_t>;  // what no sum of a block is above
  const std::size_t blocks = passing_.words();
  tied_.clear(places());
  buffers_.tops.assign(blocks, -1.0);
  buffers_.open.assign(blocks, 0);
  std::vector<bounded>& bounds = buffers_.bounds;
  bounds.clear();
  for (std::size_t block = 0; block < blocks; ++block) bounds.emplace_back(0.0, block);
  double largest_of_all = 0;
  const auto take = [&](std::size_t group, std::size_t block, std::uint64_t its) {
    if (its == 0) return;
    buffers_.open[block] |= its;
    bounds[block].first = std::max(bounds[block].first, static_cast<double>(offset[group]));
    largest_of_all = std::max(largest_of_all, static_cast<double>(offset[group]));
  };
  const bool listed = offset.size() == 1 || (grouping_ != nullptr && !grouping_->places.empty());
  for (std::size_t block = 0; !listed && block < blocks; ++block) {
    row_bits::each_place(passing_.word(block), [&](std::size_t at) {
      const std::uint32_t group = group_[block * detail::block_rows + at];
      if (open[group] != 0) take(group, block, std::uint64_t{1} << at);
    });
  }
  for (std::size_t group = 0; listed && group < offset.size(); ++group) {
    if (open[group] == 0) continue;
    const row_bits& its = offset.size() == 1 ? passing_ : grouping_->places[group];
    for (std::size_t block = 0; block < blocks; ++block) take(group, block, passing_.word(block) & its.word(block));
  }
  std::erase_if(bounds, [&](const bounded& one) { return buffers_.open[one.second] == 0; });
  double best = -1.0;
  const auto rate_best = [&](auto first, auto end) {
    for (auto one = first; one != end; ++one) one->first += bound_of(one->second);
    std::make_heap(first, end);
    for (; end != first && first->first >= best; --end) {
      const std::size_t block = first->second;
      std::pop_heap(first, end);
      buffers_.tops[block] = best_of(block, buffers_.open[block], offset, out);
      ++since_.rated;
      best = std::max(best, buffers_.tops[block]);
    }
  };
  // Blocks with nodes of the best groups first: of others mostly none could come up to those whatever the scores say, and they are not
  // asked for bounds.
  const auto others =
      std::partition(bounds.begin(), bounds.end(), [&](const bounded& one) { return one.first == largest_of_all; });
  rate_best(bounds.begin(), others);
  double most = 0;
  for (const source& one : scores_) {
    const bool above = one.kept != nullptr && !one.kept->most.empty();  // what is no score: to be found out
    const double its = above ? *std::max_element(one.kept->most.begin(), one.kept->most.end()) : 0.0;
    most += static_cast<double>(one.hook->plugin->weight) * std::max(its, static_cast<double>(max_node_score));
  }
  rate_best(others, std::remove_if(others, bounds.end(), [&](const bounded& one) { return one.first + most < best; }));
  for (std::size_t block = 0; block < blocks; ++block)
    if (buffers_.tops[block] != best) tied_.word(block) = 0;
  return static_cast<std::int64_t>(best);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
