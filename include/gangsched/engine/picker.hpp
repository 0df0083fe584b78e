#pragma once
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/core/tie_break.hpp"
#include "gangsched/engine/hook_errors.hpp"
#include "gangsched/engine/index_cache.hpp"
#include "gangsched/engine/nominated_pass.hpp"
#include "gangsched/engine/profile_set.hpp"
#include "gangsched/engine/reservation_pass.hpp"
#include "gangsched/scheduling/explanation.hpp"
#include "gangsched/scheduling/options.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The result of filters and scores for one pod.
struct picked {
  row_t node = no_row;
  std::int64_t score = 0;
  std::uint64_t rejectors = 0;  ///< plugins (`plugin_bit`) whose filters rejected some node
  status said;                  ///< an error, or the pre-filter's verdict
  bool kept = false;  ///< some node is reserved for pods nominated there: other pods of the class may be among those
};

/// When classes were picked for last, as positions in the log.
class seen_classes {
 public:
  /// Whether @p cls was seen before, with at most @p most records since; it is seen now.
  [[nodiscard]] bool see(const model::cluster_state& state, class_id cls, std::uint64_t most) {
    if (by_class_.size() <= cls) by_class_.resize(state.classes.size());
    seen& last = by_class_[cls];
    const std::uint64_t now = state.log.end();
    const bool known = last.known && last.generation == state.classes.generation(cls);
    const std::uint64_t changes = now > last.position ? now - last.position : 0;
    last = {state.classes.generation(cls), true, now};
    return known && changes <= most;
  }

 private:
  struct seen {
    std::uint32_t generation = 0;
    bool known = false;
    std::uint64_t position = 0;
  };
  std::vector<seen> by_class_;
};

/// What `row_mixer` makes of each row, computed once.
class mixed_rows {
 public:
  [[nodiscard]] std::uint64_t operator()(row_t row) const noexcept { return by_row_[row]; }
  void grow(row_t rows) {
    while (by_row_.size() < rows) by_row_.push_back(row_mixer{}(static_cast<row_t>(by_row_.size())));
  }

 private:
  std::vector<std::uint64_t> by_row_;
};

/// The pod cycle's selection of a node. Answers from the class index, or, where a hook must be called for every candidate (opaque hooks, a
/// restricted set of nodes, kube's tie order), by a scan over the candidates. Both end in the same rule: keyed hooks judge groups, groups
/// offer their best, ties are broken by a pure function.
class GANGSCHED_API picker {
 public:
  hook_errors errors;  ///< of hooks that returned one, here and in what is done with the picks

  /// @p now: the time that the host passed; read at each call.
  picker(model::cluster_state& state, const profile_set& profiles, const scheduler_options& options,
         engine_statistics& statistics, const instant& now);

  /// Where the picks stand. Plans and indexes are made anew.
  picker& operator=(const picker& from) noexcept {
    start_ = from.start_;
    return *this;
  }

  /// The best node for @p pod, among @p within (ascending rows) if given; the one that it is nominated to, if that will do
  /// (kube-scheduler: schedulePod). O(groups) from the index, O(candidates · hooks) scanning;
  /// and O(hooks) for each node that it could have, were it not for pods nominated there.
  picked pick(row_t pod, const std::vector<row_t>* within = nullptr);
  /// What each pick changes for those after it: the number of the next decision, and the node to begin with. A trial puts it back,
  /// so that the same pick comes out again, or as if the trial had never been.
  struct position {
    std::uint64_t decision;
    std::size_t start;
  };
  [[nodiscard]] position where() const noexcept { return {statistics_->decisions, start_}; }
  void go_back(const position& to) noexcept { statistics_->decisions = to.decision, start_ = to.start; }
  /// All filters on one node, in profile order; @p by: the mark of the one that rejects.
  status filter(row_t pod, row_t node, std::uint8_t* by = nullptr);
  /// The same with the pods that are nominated to it; success if none are that matter.
  status filter_with_nominated(row_t pod, row_t node, std::uint8_t* by = nullptr, bool counting = false);
  /// The plan of a class, created on first use. A pick, a filter with nominated pods or any other trial may replace it: code that uses it
  /// afterwards keeps a share.
  const class_plan& plan_of(class_id cls) { return *shared_plan(cls); }
  const std::shared_ptr<const class_plan>& shared_plan(class_id cls) {
    const bool holds = cls < plans_.size() && plans_[cls] != nullptr && plans_[cls]->holds(*state_);
    return holds ? plans_[cls] : renew_plan(cls);
  }
  /// Whether the local filters of a class pass on a node as it is now, or one of them fails.
  bool passes_locally(class_id cls, row_t node);
  /// The first difference between cached results and present results of the hooks, if any.
  std::optional<std::string> difference();
  explanation explain(row_t pod);
  /// The reasons of the filter that rejects the pod on a node, with the pods nominated to it or without, sorted; empty if none does.
  [[nodiscard]] std::vector<std::string> reasons(row_t pod, row_t node);
  /// Filters that are idle now are not asked again until the next cycle begins, whatever a trial changes.
  void skip_idle(const class_plan& plan, row_t pod);
  /// For trials, also where they end: updates cycle-level plugins about a pod. If one fails or has no memory, filters are an error until
  /// the next cycle begins.
  void follow(row_t pod, row_t other, row_t node, bool added) noexcept;
  /// All nodes (of those @p within, if given) where the pod fits, ascending. O(nodes).
  std::vector<row_t> feasible_rows(row_t pod, const std::vector<row_t>* within);
  /// The class's index, up to date, for how much room it sees; null if it cannot tell nodes apart by itself.
  [[nodiscard]] class_index* capacity_index(class_id cls);
  /// For trials: filters are evaluated as at that time, from here on; nothing: in the present state.
  void suppose_time(std::optional<instant> when) noexcept { supposed_time_ = when; }
  /// Drops every plan and index.
  void forget_cached() {
    answers_.forget();
    indexes_.clear();
    plans_.clear();
    scanned_.candidates = 0;
    only_filter_ = false;  // an exception may have ended a pick
    tried_ = no_row;
  }
  /// Frees some of the indexes that do not hold any more (`index_cache::drop_outdated`). Not inside a trial.
  void drop_outdated() {
    if (indexes_.drop_outdated()) scanned_.candidates = 0;  // what it is about may be gone
  }
  /// Runs the cycle-level pre-filters for a pod, once before a trial or a pick.
  status begin_cycle(const class_plan& plan, row_t pod);
  /// The error of a plugin that broke its contract, in a text that is kept until the next one.
  status broken(const plugin_entry& plugin, const char* what, row_t node = no_row);
  /// For the last pick, which found no node among @p within (all, if null): the reasons of all plugins that rejected the pod; null unless
  /// they are counted. O(nodes in within + reasons).
  [[nodiscard]] shared_words words(row_t pod, const picked& found, const std::vector<row_t>* within = nullptr);
  [[nodiscard]] bool counts_reasons() const noexcept { return options_.count_reasons; }
  /// Of any pick that found none: the plugins that rejected the pod, pre-filters included.
  [[nodiscard]] std::uint64_t rejectors_of(row_t pod, const picked& found);
  /// The plugin whose pre-filter rejected the pod when a cycle last began, or null.
  [[nodiscard]] const plugin_entry* rejected_by() const noexcept { return rejected_by_; }

 private:
  /// The last pick among given nodes, if their cached parts said all and they are all of one group. A pick of the same class among the
  /// same nodes with at most one of them asked again since goes on from there: members of a gang that are alike.
  struct scan_memory {
    class_index* index = nullptr;
    std::uint64_t refreshes = 0;
    std::vector<row_t> within;
    std::vector<row_t> rows;  ///< the candidates, ascending
    std::vector<row_t> tied;  ///< the best of them
    std::uint32_t candidates = 0;
    std::uint32_t group = 0;  ///< that they are in
    std::int64_t best = -1;   ///< without what the group adds
    std::uint64_t rejectors = 0;
    std::int64_t more = 0;  ///< what the group adds, if it is known
    bool knows_more = false;
    log_cursor seen = {};

    /// Whether it still adds that: nothing has changed of nodes that the hooks read which say it. O(records since).
    [[nodiscard]] bool goes_on_with(const change_log& log, const std::optional<reads>& finish_reads) noexcept {
      constexpr std::uint64_t most_read = 16;  // a member writes one
      const log_cursor before = std::exchange(seen, log.tip());
      bool same = knows_more && finish_reads && before.truncations == log.truncations() && !log.lost(before) &&
                  log.end() - before.position <= most_read;
      for (std::uint64_t at = before.position; same && at < log.end(); ++at)
        same = log[at].facets != reads::everything && !any(log[at].facets & *finish_reads);
      return knows_more = same;
    }
  };
  [[nodiscard]] std::unique_ptr<class_plan> new_plan(class_id cls) const;
  const std::shared_ptr<const class_plan>& renew_plan(class_id cls);
  class_index& index_of(class_id cls);
  picked pick_among(row_t pod, class_id cls, const std::vector<row_t>* within, bool sample);
  picked without_index(const class_plan& plan, row_t pod);
  void from_index(class_index& index, row_t pod, picked& result);
  /// Groups of an index that have the best nodes, which are so many.
  struct best_groups {
    std::uint32_t first = 0;
    bool several = false;
    std::uint64_t count = 0;
  };
  [[nodiscard]] row_t break_index_tie(const class_index& index, const group_scores& scores, std::int64_t best,
                                      const best_groups& which, std::uint64_t decision);
  const group_scores* group_scores_of(class_index& index, row_t pod, picked& result, bool anew);
  picked scan(const class_plan& plan, const row_scores& rows, row_t pod, picked result, const std::vector<row_t>* among,
              bool sample);
  [[nodiscard]] bool remembers(const class_index& index, const std::vector<row_t>& within);
  [[nodiscard]] picked scan_on(const class_plan& plan, const class_index& index, row_t pod);
  [[nodiscard]] bool goes_on(class_id cls, const std::vector<row_t>* within);
  void remember(class_index& index, const std::vector<row_t>& within, const picked& found, std::uint64_t rejectors);
  picked scan_few(const class_plan& plan, row_t pod, const std::vector<row_t>* within, bool sample);
  /// Which of the rows @p among (all, if null) that pass do not with the pods nominated there: `buffers::withheld`.
  void withhold(const row_scores& rows, row_t pod, const std::vector<row_t>* among, picked& result);
  void count_reasons(const class_plan& plan, const planned& hook, row_t pod, row_t node, const status& said);
  void count_narrowed_reasons(const class_plan& plan, row_t pod, const std::vector<row_t>* within,
                              const std::vector<row_t>& rows);
  bool reject_with_nominated(const class_plan& plan, row_t pod, row_t node, node_verdict& out);
  void judge_groups(const class_plan& plan, const row_scores& rows, row_t pod, picked& result);
  void score_groups(const class_plan& plan, const row_scores& rows, row_t pod, picked& result);
  [[nodiscard]] std::int64_t score_only_group(const class_plan& plan, const row_scores& rows, row_t pod,
                                              std::uint32_t group, picked& result);
  void find_populated();
  /// Whether the order in which nodes are examined matters.
  [[nodiscard]] bool in_order(const class_plan& plan) const noexcept;
  void examine(const class_plan& plan, const std::vector<row_t>* among);
  void opaque_filters(const class_plan& plan, row_t pod, picked& result);
  void opaque_key_filters(const class_plan& plan, row_t pod, picked& result);
  void opaque_totals(const class_plan& plan, row_t pod, picked& result);
  [[nodiscard]] row_t top_of_heap();
  template <class Total>
  std::int64_t find_best(const Total& total_of);
  [[nodiscard]] row_t break_scan_tie(std::vector<row_t>& tied, std::uint64_t decision);
  [[nodiscard]] bool skipped(const planned& hook) const noexcept;
  void check_range(const plugin_entry& plugin, std::span<const scored_group> groups, picked& result);
  void number_keys();
  status broken(const class_plan& plan, const row_scores& rows);

  model::cluster_state* state_;
  const profile_set* profiles_;
  scheduler_options options_;
  engine_statistics* statistics_;
  peer<const instant> now_;
  std::optional<instant> supposed_time_;
  std::vector<std::shared_ptr<const class_plan>> plans_;  // by class
  index_cache indexes_;
  seen_classes seen_;
  node_answers answers_;
  std::size_t start_ = 0;     // in the order of the snapshot: the node that the next pick examines first
  bool only_filter_ = false;  // the pick ends with the candidates
  bool watched_;              // checked, or its reasons counted
  row_t tried_ = no_row;      // the nominated node, if the pick has found it rejected already
  row_scores scratch_;        // of narrowed classes
  row_scores unindexed_;      // of classes without an index
  scan_memory scanned_;
  reason_counts reasons_;  // of the last pick: of filters that are not cached
  mixed_rows mixed_;       // for ties
  std::string broken_;     // the text of the last contract error
  status misled_;          // an incremental hook failed since the cycle began: filter results are then meaningless
  const plugin_entry* rejected_by_ = nullptr;
  std::vector<const plugin_entry*> skipped_;  // by this cycle's pre-filters

  /// Of one pick: kept for their memory only.
  struct buffers {
    std::vector<row_t> withheld;  ///< ascending
    std::vector<row_t> candidates;
    group_scores of_groups;
    std::vector<std::uint32_t> populated;  ///< the groups that some candidate is in, ascending
    value_sums sums;
    std::vector<std::int64_t> keys;   ///< of candidates
    std::vector<std::uint32_t> slot;  ///< by place in `keys`: which of `distinct` it is
    std::vector<filtered_group> filtered;
    std::vector<scored_group> scored;
    std::vector<std::int64_t> distinct;
    std::vector<std::int64_t> total;  ///< by row, of the candidates; where the cached parts are not all of it
    std::vector<row_t> tied;          ///< the best of the candidates
    std::vector<row_t> heap_rows;
    std::vector<std::uint8_t> feasible;  ///< by row
    std::vector<row_t> listed;           ///< the nodes that may be examined, in order
  };
  buffers buffers_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/explain.cpp"
#include "gangsched/src/engine/nominated_pass.cpp"
#include "gangsched/src/engine/pick_by_groups.cpp"
#include "gangsched/src/engine/picker.cpp"
#include "gangsched/src/engine/reservation_pass.cpp"
#include "gangsched/src/engine/scan.cpp"
#endif
