#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gangsched/engine/amount_columns.hpp"
#include "gangsched/engine/row_bits.hpp"
#include "gangsched/engine/row_order.hpp"
#include "gangsched/engine/row_scores.hpp"
#include "gangsched/engine/stale_rows.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

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

/// Evaluates the cached hooks of a class for all nodes. A hook that reads of nodes only what pods do not change, and of the class only a
/// part (`pod_part`), is called once for all classes with an equal part. A hook that reads only amounts, and supports it, judges 64 nodes
/// at a time. The others are called as by `row_scores`, with the same results (docs/architecture.md, "Answers that classes share").
class GANGSCHED_API node_answers {
 public:
  /// @p most (at least 8): how many answers are kept, of a hook to a part of pods; and for how many combinations of keys groups.
  node_answers(const model::cluster_state& state, std::size_t most)
      : state_(&state), most_(std::max<std::size_t>(most, 8)) {}

  /// Whether the answers for this class can be kept beside those of others: not while room that is its alone counts as free.
  [[nodiscard]] static bool serve(const pod_class& cls) noexcept { return !cls.held_room; }
  /// Whether no hook of the plan has to be called node by node. (Otherwise an index is not much more work, and lasts.)
  [[nodiscard]] static bool at_once(const class_plan& plan) noexcept;
  /// How far `rate` has come: the blocks before that one have been asked about, as nodes stood then.
  struct progress {
    std::size_t block = 0;
    std::uint64_t order_version = 0;
  };
  /// Writes verdict, score and group of rows that are `not_asked` in @p out, of as many as @p most or a few more, from @p at on; groups
  /// that are there keep their numbers. Keeps @p counts: how many rows have a verdict.
  /// O(rows asked · hooks that are asked), and O(changes since the last time).
  void rate(const class_plan& plan, row_scores& out, std::span<std::uint32_t> counts, progress& at, std::size_t most);
  /// Those that the last `rate` has found to pass.
  template <class Visit>
  void each_passing(Visit&& visit) const {
    passing_.each([&](row_t place) { visit(order_.row(place)); });
  }

  // The same for one pick, in steps, without a word for each row. @pre at_once(plan)
  /// The local filters and the groups: afterwards `lets_pass(row)` tells which rows pass. Of @p out only `groups` and `broken` are written.
  void judge(const class_plan& plan, row_scores& out, std::span<std::uint32_t> counts);
  [[nodiscard]] bool lets_pass(row_t row) const noexcept { return passing_.has(order_.place(row)); }
  /// Excludes the row from the steps that follow.
  void leave_out(row_t row) noexcept { passing_.set(order_.place(row), false); }
  /// How many of the passing rows are in each group.
  void count_groups(const row_scores& of, std::vector<std::uint32_t>& population) const;
  /// The local scores: the best sum with the @p offset of the group, of rows in groups that are @p open; −1 if there are none. Blocks whose
  /// bounds cannot reach it are not rated. O(blocks · scores + rows of those that are rated).
  [[nodiscard]] std::int64_t best(row_scores& out, std::span<const std::uint8_t> open,
                                  std::span<const std::int64_t> offset);
  // The rows that have it.
  [[nodiscard]] std::uint32_t tied() const noexcept { return tied_.count(); }
  [[nodiscard]] bool is_tied(row_t row) const noexcept { return tied_.has(order_.place(row)); }
  template <class Visit>
  void each_tied(Visit&& visit) const {
    tied_.each([&](row_t place) { visit(order_.row(place)); });
  }
  void forget() noexcept {
    stale_.forget();
    recent_.forget();
    forget_kept();
  }
  /// For class indexes, which ask again about few nodes. @pre serve(cls)
  [[nodiscard]] recent_amounts& recent() noexcept { return recent_; }

 private:
  /// What a hook said of each node to pods that are alike, by place.
  struct answer {
    std::string of;            // which hook, and the part of the pod; or what of a node (`find_trait`)
    std::uint64_t serial = 0;  // equal numbers, equal values
    bool shared = false;       // another answer has the same number
    std::uint64_t used = 0;
    std::uint64_t position = 0;        // in the list of changes
    row_bits rejects;                  // by a filter
    std::vector<std::int64_t> values;  // of a key
    row_bits asked;               // of a key that is asked when it is needed (`key_reads`): places whose value is known
    std::vector<double> ratings;  // of a score
    std::vector<double> most;     // of the ratings, by block
    /// From one block to before another.
    void find_most(std::size_t from, std::size_t to);
  };
  /// The groups that keys make together.
  struct grouping {
    std::vector<std::uint64_t> of;  // serials of the answers
    std::uint64_t used = 0;
    std::uint64_t position = 0;
    std::uint32_t live = 0;  // groups when it was made
    key_groups groups;
    std::vector<std::uint32_t> group;  // by place
    row_bits numbered;                 // places that have one
    std::vector<row_bits> places;      // by group, if there are few; else empty
  };
  /// A key of the class.
  struct keyed_by {
    const planned* hook;
    bool filters;
    answer* kept;  // null: it is asked each time
    bool lazily;   // `answer::asked`
  };
  struct changed_row {
    row_t row;
    reads facets;
  };
  /// Where a hook's results for the rows of a block come from.
  struct source {
    const planned* hook;
    const answer* kept;  // null: it is called
    hook_context context;
  };
  enum class part : char { verdict, filter_key, score, score_key };
  /// What of a node pods do not change, as a number: of its list of taints, whether it is schedulable, of the value of a label.
  enum class trait : char { taints, schedulable, label };
  void forget_kept() noexcept;

  /// Places that there are, as columns have them.
  [[nodiscard]] std::size_t places() const noexcept { return nodes_.words() * row_bits::rows_in_word; }
  void sync();
  void start();
  /// Puts nodes in order again where it is time.
  void reorder();
  void order_many();
  void put_in_order(std::size_t first, std::size_t end);
  void remember_change(row_t row, reads facets);
  [[nodiscard]] answer* find(const class_plan& plan, const planned& hook, part what, row_scores& out);
  [[nodiscard]] answer* find_lazy_key(const class_plan& plan, const planned& hook, part what);
  [[nodiscard]] answer& take_answer(bool& listed, reads facets);
  void share_values(answer& one);
  [[nodiscard]] bool ask_alike(const class_plan& plan, const planned& hook, part what, answer& into, bool& fine);
  [[nodiscard]] answer& find_trait(trait what, symbol label = {});
  [[nodiscard]] const grouping& alike_nodes(reads facets);
  [[nodiscard]] bool ask(const class_plan& plan, const planned& hook, part what, answer& into,
                         std::span<const row_t> rows);
  [[nodiscard]] bool changed_since(std::uint64_t& position, reads facets);
  void begin(const class_plan& plan, row_scores& out);
  void drop_idle_filters();
  void list_rows(std::size_t block, std::uint64_t about);
  /// The filters in order, each for those rows of the block that are @p open and that none before it has rejected: calls rejected(places,
  /// mark) for each that rejects some. Returns the rows that pass.
  template <class Rejected>
  [[nodiscard]] std::uint64_t judge_block(std::size_t block, std::uint64_t open, row_scores& out,
                                          std::span<std::uint32_t> counts, const Rejected& rejected);
  [[nodiscard]] std::uint64_t rejected_of(const source& one, std::size_t block, std::uint64_t open, row_scores& out);
  /// Weighted sums of the local scores of a block, right for @p about.
  void score_block(std::size_t block, std::uint64_t about, double* sum, row_scores& out);
  /// Of a score that is called node by node. False if it is not one.
  [[nodiscard]] bool add_by_row(const source& one, std::size_t block, std::uint64_t about, double* sum);
  /// The groups of the nodes that pass: kept ones if every key is, or else numbered in @p fresh. Returns the groups that `group_` then
  /// numbers.
  [[nodiscard]] const key_groups& group(const class_plan& plan, row_scores& out, key_groups& fresh);
  void list_keys(const class_plan& plan, row_scores& out);
  void find_counted_nodes();
  template <class Tuple>
  [[nodiscard]] grouping& kept_groups(std::vector<std::unique_ptr<grouping>>& among, std::span<answer* const> keys,
                                      reads facets, const row_bits& wanted, const Tuple& list);
  void list_tuple(const class_plan& plan, row_t place, bool counted);
  template <class Tuple>
  void number(grouping& of, row_t place, const Tuple& list);
  [[nodiscard]] double bound_of(std::size_t block) const;
  [[nodiscard]] double best_of(std::size_t block, std::uint64_t about, std::span<const std::int64_t> offset,
                               row_scores& out);

  const model::cluster_state* state_;
  std::size_t most_;
  stale_rows stale_;
  std::uint64_t epoch_ = 0;  // topology_table::plan_epoch when numbers were assigned
  row_order order_;          // nodes that are alike side by side, when it was made
  struct {
    std::size_t next_stretch = 0;  // of places, to be put in order
    std::size_t moved = 0;         // amounts that changed since that was done last
    std::size_t rated = 0;         // blocks that were rated since
  } since_;
  amount_columns amounts_;
  recent_amounts recent_;
  row_bits nodes_;                    // places of nodes
  std::vector<changed_row> changes_;  // of what pods do not change; the first has the number `first_change_`
  std::uint64_t first_change_ = 0;
  std::uint64_t now_ = 0;     // calls so far: of the least-recently-used rule
  std::uint64_t serial_ = 0;  // of answers
  std::vector<std::unique_ptr<answer>> kept_;
  std::vector<std::unique_ptr<grouping>> groupings_;
  std::vector<std::unique_ptr<grouping>> alike_;  // nodes by taints and labels: hooks are asked once for each group
  std::unordered_map<std::string, std::int64_t> taint_lists_;  // numbers of lists of taints

  // Of one pick.
  std::vector<source> filters_, scores_;
  row_bits passing_, tied_;
  const grouping* grouping_ = nullptr;    // null: some key is not kept
  const std::uint32_t* group_ = nullptr;  // by place
  struct buffers {                        // kept for their memory only
    std::string key;
    std::vector<double> tops;  // by block
    std::vector<std::pair<double, std::size_t>> bounds;
    std::vector<std::uint64_t> open;   // by block
    std::vector<std::uint32_t> group;  // by place
    std::vector<std::uint8_t> marks;   // by row: what a filter says
    std::vector<std::int64_t> added;   // by row: what a score adds
    std::vector<keyed_by> keys;
    std::vector<answer*> kept;  // of these
    std::vector<answer*> traits;
    std::vector<symbol> labels;
    key_reads reads;
    std::vector<counter_id> counters;  // that keys read which are asked lazily
    row_bits counted, others;          // places of nodes where some of these count a pod, and where none does
    std::vector<row_t> first;          // by group of nodes that are alike: the place of one
    std::vector<double> ratings;       // likewise: what a score says
    std::vector<std::int64_t> tuple;
    std::vector<row_t> rows;
    key_groups groups;
    std::vector<std::uint32_t> number;  // by group as it is kept here: the number that it has in `rate`'s @p out
  };
  buffers buffers_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/node_answers.cpp"
#include "gangsched/src/engine/node_answers_groups.cpp"
#include "gangsched/src/engine/node_answers_order.cpp"
#endif
