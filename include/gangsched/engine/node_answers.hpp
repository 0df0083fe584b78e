#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gangsched/engine/amount_columns.hpp"
#include "gangsched/engine/row_scores.hpp"
#include "gangsched/engine/stale_rows.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Asks the cached hooks of a class about all nodes. A hook that reads of nodes what pods do not change, and not the whole class
/// (`pod_part`), is asked once for all classes that are alike in what it reads; one that reads amounts only, and can, judges 64 nodes at a
/// time. The others are asked as `row_scores` asks them, and the answers are the same (docs/architecture.md, "Answers that classes share").
class GANGSCHED_API node_answers {
 public:
  /// Of so many hooks and pods' parts what they said is kept; and of as many combinations of keys the groups.
  node_answers(const model::cluster_state& state, std::size_t most)
      : state_(&state), most_(std::max<std::size_t>(most, 8)) {}

  /// Whether the answers for this class can be kept beside those of others: not while room that is its alone counts as free.
  [[nodiscard]] static bool serve(const pod_class& cls) noexcept { return !cls.held_room; }
  /// Whether no local hook of the plan has to be asked about nodes one by one.
  [[nodiscard]] static bool at_once(const class_plan& plan) noexcept;
  /// Writes verdict, score and group of every row to @p out. @p counts, by verdict: adds how many rows have it.
  /// O(nodes · hooks that are asked), and O(changes since the last time).
  void rate(const class_plan& plan, row_scores& out, std::span<std::uint32_t> counts);
  void forget() noexcept {
    stale_.forget();
    kept_.clear();
    groupings_.clear();
  }

 private:
  /// What a hook said of each node to pods that are alike.
  struct answer {
    std::string of;  // which hook, and the part of the pod
    std::uint64_t serial = 0;
    std::uint64_t used = 0;
    std::uint64_t position = 0;         // in the list of changes
    std::vector<std::uint8_t> rejects;  // by row, of a filter: 0 or 255
    std::vector<std::int64_t> values;   // by row, of a key or a score
  };
  /// The groups that keys make together.
  struct grouping {
    std::vector<std::uint64_t> of;  // serials of the answers
    std::uint64_t used = 0;
    std::uint64_t position = 0;
    std::uint32_t live = 0;  // groups when it was made
    key_groups groups;
    std::vector<std::uint32_t> group;  // by row
  };
  struct changed_row {
    row_t row;
    reads facets;
  };
  /// Where a hook's word on the rows of a block comes from.
  struct source {
    const planned* hook;
    const answer* kept;  // null: it is asked
  };
  enum class part : char { verdict, filter_key, score };

  void sync();
  void remember_change(row_t row, reads facets);
  [[nodiscard]] const answer* find(const class_plan& plan, const planned& hook, part what, row_scores& out);
  [[nodiscard]] bool ask(const class_plan& plan, const planned& hook, part what, answer& into,
                         std::span<const row_t> rows);
  template <class Kept>
  [[nodiscard]] bool changed_since(Kept& one, reads facets);
  void list_sources(const class_plan& plan, row_scores& out);
  void judge(const class_plan& plan, std::size_t first, row_scores& out, std::span<std::uint32_t> counts);
  void score(const class_plan& plan, std::size_t first, row_scores& out);
  void group(const class_plan& plan, row_scores& out);
  void regroup(grouping& of, std::span<const answer* const> keys, row_t row);

  const model::cluster_state* state_;
  std::size_t most_;
  stale_rows stale_;
  std::uint64_t epoch_ = 0;  // topology_table::plan_epoch: numbers have the meaning that they had
  amount_columns amounts_;
  std::vector<std::uint8_t> no_nodes_;  // by row: `passes` or `no_node`
  std::vector<changed_row> changes_;    // of what pods do not change; the first has the number `first_change_`
  std::uint64_t first_change_ = 0;
  std::uint64_t now_ = 0;     // calls so far: of the least-recently-used rule
  std::uint64_t serial_ = 0;  // of answers
  std::vector<std::unique_ptr<answer>> kept_;
  std::vector<std::unique_ptr<grouping>> groupings_;

  // Of one call: kept for their memory only.
  std::string key_;
  std::vector<source> filters_, scores_, by_row_;
  std::vector<const answer*> keys_;
  std::vector<std::int64_t> tuple_;
  std::vector<row_t> rows_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/node_answers.cpp"
#endif
