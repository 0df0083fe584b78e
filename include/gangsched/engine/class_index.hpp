#pragma once
#include <optional>
#include <string>

#include "gangsched/engine/buckets.hpp"
#include "gangsched/engine/options.hpp"
#include "gangsched/engine/row_scores.hpp"

namespace gangsched::engine {

/// One pod class against every node, kept up to date by replaying the change log: a tentative cursor. Per row the cached verdict,
/// group and score; per group its feasible rows by score. A placement costs one row's re-evaluation, with only the hooks that read
/// what changed. Structures and costs: docs/architecture.md, "The class index".
class GANGSCHED_API class_index {
 public:
  class_index(const cluster_state& state, std::shared_ptr<const class_plan> plan, engine_statistics& statistics);

  [[nodiscard]] const class_plan& plan() const noexcept { return *plan_; }
  /// Catches up with the log, roll-backs included. O(rows changed since), or O(nodes) to rebuild.
  void sync();

  /// Takes feasible rows out of their buckets for one pick, and puts them back. O(rows).
  void hide(std::span<const row_t> rows) {
    for (const row_t row : rows) unlink(row);
  }
  void show(std::span<const row_t> rows) {
    for (const row_t row : rows) link(row);
  }

  [[nodiscard]] const row_scores& rows() const noexcept { return rows_; }
  [[nodiscard]] row_t row_count() const noexcept { return row_count_; }
  /// Rows per verdict: how many each local filter rejects.
  [[nodiscard]] std::span<const std::uint32_t> verdict_counts() const noexcept { return counts_; }
  /// Whether rows are in buckets; if not (scores too wide, too many groups) a pick looks at every feasible row.
  [[nodiscard]] bool bucketed() const noexcept { return bucketed_; }
  [[nodiscard]] std::span<const buckets> groups() const noexcept { return groups_; }
  [[nodiscard]] const bucket_links& links() const noexcept { return links_; }

  /// What differs from an index built from nothing with @p fresh, if anything does. O(nodes · hooks).
  [[nodiscard]] std::optional<std::string> difference(std::shared_ptr<const class_plan> fresh) const;
  /// Builds anew at the next sync.
  void forget() noexcept { built_ = false; }

 private:
  static constexpr std::uint32_t max_groups = 512;
  struct touched {
    std::uint64_t position;
    row_t row;
    reads facets;
  };
  void build();
  void take_back();  ///< what a roll-back undid is stale
  void replay();
  void mark_stale(row_t row, reads facets);
  void refresh(row_t row, reads dirty);
  void link(row_t row);
  void unlink(row_t row);

  const cluster_state* state_;
  std::shared_ptr<const class_plan> plan_;
  engine_statistics* statistics_;
  row_scores rows_;
  row_t row_count_ = 0;
  std::uint32_t live_groups_ = 0;  // when it was built
  bucket_links links_;
  std::vector<buckets> groups_;
  std::vector<std::uint32_t> counts_;
  bool bucketed_ = true;
  bool built_ = false;
  log_cursor cursor_;
  std::vector<touched> ahead_;         // read inside a transaction that is still open: may be taken back
  std::vector<row_t> stale_;           // rows to re-read …
  std::vector<reads> stale_facets_;    // … and what of them changed, by row
};

}  // namespace gangsched::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/class_index.cpp"
#endif
