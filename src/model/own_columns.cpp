#include "gangsched/model/own_columns.hpp"

#include <algorithm>

#include "gangsched/model/free_places.hpp"
#include "gangsched/model/pod_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Names of rows are found by scope and name; scopes are numbers, and so are symbols.
GANGSCHED_INLINE symbol key_of_scope(scope_number scope) noexcept { return symbol{static_cast<std::uint32_t>(scope)}; }

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE own_columns::own_columns(undo_log& undo, change_log& log, const slots& nodes, const slots& groups,
                                          const pod_table& pods)
    : undo_(&undo),
      log_(&log),
      nodes_(&nodes),
      groups_(&groups),
      pods_(&pods),
      rows_(undo),
      records_(undo),
      by_name_(undo),
      noted_(undo) {}

GANGSCHED_INLINE own_columns& own_columns::operator=(const own_columns& from) {
  columns_ = detail::copies_of(from.columns_, [&](const own_column& one) {
    return std::make_unique<own_column>(one.of, one.name, one.writer, one.facet, *undo_);
  });
  scopes_ = from.scopes_;
  makers_ = from.makers_;
  rows_ = from.rows_, records_ = from.records_, by_name_ = from.by_name_;
  noted_ = from.noted_, noting_ = from.noting_;
  return *this;
}

GANGSCHED_INLINE const slots& own_columns::rows_of(scope_number of) const noexcept {
  switch (of) {
    case scope_number::nodes: return *nodes_;
    case scope_number::groups: return *groups_;
    case scope_number::pods: return pods_->rows;
    default: return rows_;
  }
}

GANGSCHED_INLINE std::uint32_t own_columns::make(scope_number of, std::string_view name, column_writer writer,
                                                 reads facet) {
  auto made = std::make_unique<own_column>(of, name, writer, facet, *undo_);
  made->words.grow(rows_of(of).count());
  columns_.push_back(std::move(made));
  return static_cast<std::uint32_t>(columns_.size() - 1);
}

GANGSCHED_INLINE std::optional<std::uint32_t> own_columns::find(scope_number of, std::string_view name,
                                                                column_writer writer) const noexcept {
  if (name.empty()) return std::nullopt;
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    const own_column& one = *columns_[i];
    if (one.of == of && one.writer == writer && one.name == name) return i;
  }
  return std::nullopt;
}

GANGSCHED_INLINE void own_columns::set(std::uint32_t column, row_t row, std::int64_t value) {
  own_column& to = *columns_[column];
  if (to.words[row] == value) return;
  to.words.set(row, value);
  log_->write({.kind = change_kind::column_changed,
               .facets = to.facet,
               .row = row,
               .before = static_cast<std::uint32_t>(to.of),
               .after = to.of == scope_number::pods ? pods_->node[row] : no_row});
}

GANGSCHED_INLINE void own_columns::add(std::uint32_t column, row_t row, std::int64_t amount) {
  const auto sum = static_cast<std::uint64_t>(at(column, row)) + static_cast<std::uint64_t>(amount);
  set(column, row, static_cast<std::int64_t>(sum));
}

GANGSCHED_INLINE scope_number own_columns::scope(std::string_view name) {
  if (const auto known = find_scope(name)) return *known;
  scopes_.emplace_back(name);
  return static_cast<scope_number>(static_cast<std::uint32_t>(scope_number::first_named) + scopes_.size() - 1);
}

GANGSCHED_INLINE std::optional<scope_number> own_columns::find_scope(std::string_view name) const noexcept {
  const auto found = std::find(scopes_.begin(), scopes_.end(), name);
  if (found == scopes_.end()) return std::nullopt;
  return static_cast<scope_number>(static_cast<std::uint32_t>(scope_number::first_named) +
                                   static_cast<std::uint32_t>(found - scopes_.begin()));
}

GANGSCHED_INLINE std::string_view own_columns::scope_name(scope_number scope) const noexcept {
  constexpr std::string_view tables[] = {"nodes", "groups", "pods"};
  if (scope < scope_number::first_named) return tables[static_cast<std::uint32_t>(scope)];
  return scopes_[static_cast<std::uint32_t>(scope) - static_cast<std::uint32_t>(scope_number::first_named)];
}

GANGSCHED_INLINE row_t own_columns::row(scope_number scope, std::string_view name) {
  if (const row_t known = find_row(scope, name); known != no_row) return known;
  const row_t row = rows_.make_room();
  records_.grow(row + 1);
  for (const auto& one : columns_) {
    if (one->of >= scope_number::first_named) one->words.grow(row + 1);
  }
  static_cast<void>(rows_.take());
  by_name_.insert(detail::key_of_scope(scope), name, row);
  records_.set(row, std::make_unique<scope_row_record>(scope_row_record{scope, std::string{name}}));
  return row;
}

GANGSCHED_INLINE row_t own_columns::find_row(scope_number scope, std::string_view name) const noexcept {
  return by_name_.find(detail::key_of_scope(scope), name);
}

GANGSCHED_INLINE void own_columns::remove_row(row_t row) {
  const scope_number scope = records_[row]->scope;
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i]->of == scope) set(i, row, 0);
  }
  by_name_.erase(detail::key_of_scope(scope), records_[row]->name);
  records_.set(row, nullptr);
  rows_.give_back(row);
}

GANGSCHED_INLINE void own_columns::grow(scope_number of, row_t rows) {
  for (const auto& one : columns_) {
    if (one->of == of) one->words.grow(rows);
  }
}

GANGSCHED_INLINE void own_columns::clear(scope_number of, row_t row) {
  for (const auto& one : columns_) {
    if (one->of == of && one->words[row] != 0) one->words.set(row, 0);
  }
}

GANGSCHED_INLINE void own_columns::clear_host_words(scope_number of, row_t row) {
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i]->of == of && columns_[i]->writer == column_writer::host) set(i, row, 0);
  }
}

GANGSCHED_INLINE void own_columns::note(row_t pod, const column_use& use) {
  auto now = std::make_unique<noted_uses>();
  if (pod >= noting_) noted_.grow(pod + 1), noting_ = pod + 1;
  if (noted_[pod] != nullptr) *now = *noted_[pod];
  now->all.push_back(use);
  noted_.set(pod, std::move(now));
  add(use.column, use.row, use.amount);
}

/// What it was noted of may be gone, and its row another's.
GANGSCHED_INLINE void own_columns::count_noted(row_t pod, std::int64_t sign) {
  for (const column_use& use : noted_[pod]->all) {
    const slots& rows = rows_of(columns_[use.column]->of);
    const auto amount = static_cast<std::uint64_t>(sign) * static_cast<std::uint64_t>(use.amount);
    if (rows.generation(use.row) == use.generation) add(use.column, use.row, static_cast<std::int64_t>(amount));
  }
}

GANGSCHED_INLINE void own_columns::digest_into(digest& out) const {
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    const own_column& one = *columns_[i];
    for (row_t row = 0; row < rows_of(one.of).count(); ++row) {
      if (one.words[row] == 0) continue;
      out.add(std::uint64_t{row} << 32 | i);
      out.add(static_cast<std::uint64_t>(one.words[row]));
    }
  }
  rows_.digest_into(out);
  records_.digest_into(out, rows_.count());
  for (row_t pod = 0; pod < noting_; ++pod) {
    if (noted_[pod] == nullptr) continue;
    out.add(pod);
    noted_[pod]->digest_into(out);
  }
}

GANGSCHED_INLINE void own_columns::cut(const extent& to) noexcept {
  columns_.resize(to.columns);
  scopes_.resize(to.scopes);
  makers_ = to.makers;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
