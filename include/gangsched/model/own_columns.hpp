#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/own_column.hpp"
#include "gangsched/model/saved_tables.hpp"
#include "gangsched/model/slots.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct pod_table;

/// What a reserve hook added to a column for a pod.
struct column_use {
  std::uint32_t column;
  row_t row;
  std::uint32_t generation;  ///< of the row, so that uses of a removed object are ignored
  std::int64_t amount;
};

/// A row of a named scope.
struct scope_row_record {
  scope_number scope;
  std::string name;
  void digest_into(digest& out) const {
    out.add(static_cast<std::uint64_t>(scope));
    out.add(std::string_view{name});
  }
};

/// Everything that reserve hooks added for a pod.
struct noted_uses {
  std::vector<column_use> all;
  void digest_into(digest& out) const {
    for (const column_use& one : all) {
      out.add(std::uint64_t{one.row} << 32 | one.column);
      out.add(static_cast<std::uint64_t>(one.amount));
    }
  }
};

/// Columns that plugins and hosts made, the rows of named scopes, and what reserve hooks added for each pod, which is undone exactly once.
/// Columns and scopes live as long as the cluster: a second request for the same name returns the same column. Words are under the undo
/// log, and every change of one is in the change log.
class GANGSCHED_API own_columns {
 public:
  /// @p nodes and @p groups: the rows of these tables. All of them outlive this.
  own_columns(undo_log& undo, change_log& log, const slots& nodes, const slots& groups, const pod_table& pods);
  own_columns& operator=(const own_columns& from);

  // --- columns
  /// An empty name: a column that cannot be found by name. O(rows).
  std::uint32_t make(scope_number of, std::string_view name, column_writer writer, reads facet);
  [[nodiscard]] std::optional<std::uint32_t> find(scope_number of, std::string_view name,
                                                  column_writer writer) const noexcept;
  /// The facet for the next maker of columns.
  [[nodiscard]] reads new_facet() noexcept { return own_facet(makers_++); }
  [[nodiscard]] std::size_t size() const noexcept { return columns_.size(); }
  [[nodiscard]] scope_number scope_of(std::uint32_t column) const noexcept { return columns_[column]->of; }
  [[nodiscard]] reads facet_of(std::uint32_t column) const noexcept { return columns_[column]->facet; }
  [[nodiscard]] std::int64_t at(std::uint32_t column, row_t row) const noexcept { return columns_[column]->words[row]; }
  void set(std::uint32_t column, row_t row, std::int64_t value);
  /// Modulo 2^64, so that what was added can always be taken back.
  void add(std::uint32_t column, row_t row, std::int64_t amount);

  // --- named scopes and their rows
  /// Created on first use.
  scope_number scope(std::string_view name);
  [[nodiscard]] std::optional<scope_number> find_scope(std::string_view name) const noexcept;
  [[nodiscard]] std::string_view scope_name(scope_number scope) const noexcept;
  /// Created on first use. O(length).
  row_t row(scope_number scope, std::string_view name);
  /// no_row if there is none. O(length).
  [[nodiscard]] row_t find_row(scope_number scope, std::string_view name) const noexcept;
  [[nodiscard]] bool contains(scope_row_id id) const noexcept {
    return id.row < rows_.count() && records_[id.row] != nullptr && rows_.generation(id.row) == id.generation;
  }
  [[nodiscard]] scope_row_id id_of(row_t row) const noexcept { return {row, rows_.generation(row)}; }
  [[nodiscard]] const scope_row_record& record(row_t row) const noexcept { return *records_[row]; }
  /// Rows ever used.
  [[nodiscard]] row_t row_count() const noexcept { return rows_.count(); }
  /// @pre all words of the row are zero
  void remove_row(row_t row);

  // --- rows of nodes, groups and pods
  void grow(scope_number of, row_t rows);
  /// Zeros the words of a removed row. The log has a record of the removal.
  void clear(scope_number of, row_t row);
  /// Zeros the host's words of a row whose object stays, with a change record for each.
  void clear_host_words(scope_number of, row_t row);

  // --- what reserve hooks add
  /// Adds to a column and records it for the pod. O(what is recorded for it).
  void note(row_t pod, const column_use& use);
  [[nodiscard]] bool has_notes(row_t pod) const noexcept { return pod < noting_ && noted_[pod] != nullptr; }
  [[nodiscard]] std::vector<column_use> notes_of(row_t pod) const {
    return has_notes(pod) ? noted_[pod]->all : std::vector<column_use>{};
  }
  /// Stops counting what is recorded for the pod (@p sign −1), or counts it again, while a trial has the pod off its node.
  void count(row_t pod, std::int64_t sign) {
    if (has_notes(pod)) count_noted(pod, sign);
  }
  /// The pod leaves its node for good: what is recorded for it is undone.
  void take_back(row_t pod) {
    if (has_notes(pod)) count_noted(pod, -1), noted_.set(pod, nullptr);
  }

  /// Words that are 0, and unused names, do not contribute.
  void digest_into(digest& out) const;

  /// The present sizes, and a return to them, as far as the undo log does not cover that. @pre words made since are gone
  struct extent {
    std::size_t columns, scopes;
    std::uint32_t makers;
  };
  [[nodiscard]] extent mark() const noexcept { return {columns_.size(), scopes_.size(), makers_}; }
  void cut(const extent& to) noexcept;

  // --- saving and restoring columns
  /// O(columns · rows).
  [[nodiscard]] saved_columns save() const;
  /// Columns and scopes, up to there. Existing ones have to match. False if they do not, or the data is invalid.
  [[nodiscard]] bool restore(const saved_columns& from, const extent& upto);
  /// Everything else, once pods and all columns exist. False if the data is invalid; then part of it may have been restored.
  [[nodiscard]] bool restore_words(const saved_columns& from);

 private:
  struct own_column {
    own_column(scope_number rows_of, std::string_view named, column_writer written_by, reads as, undo_log& undo)
        : of(rows_of), writer(written_by), facet(as), name(named), words(undo) {}
    scope_number of;
    column_writer writer;
    reads facet;
    std::string name;
    column<std::int64_t> words;
  };
  [[nodiscard]] const slots& rows_of(scope_number of) const noexcept;
  void count_noted(row_t pod, std::int64_t sign);

  peer<undo_log> undo_;
  peer<change_log> log_;
  peer<const slots> nodes_;
  peer<const slots> groups_;
  peer<const pod_table> pods_;
  std::vector<std::unique_ptr<own_column>> columns_;
  std::vector<std::string> scopes_;  ///< names
  std::uint32_t makers_ = 0;
  slots rows_;
  object_column<scope_row_record> records_;
  name_index by_name_;
  object_column<noted_uses> noted_;  ///< by pod
  row_t noting_ = 0;                 ///< how long that is
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/own_columns.cpp"
#endif
