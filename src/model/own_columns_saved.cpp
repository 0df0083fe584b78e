#include <algorithm>
#include <utility>

#include "gangsched/model/own_columns.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/restored_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE saved_columns own_columns::save() const {
  saved_columns made;
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    const own_column& one = *columns_[i];
    made.all.push_back({static_cast<std::uint32_t>(one.of), one.writer == column_writer::host, one.name,
                        static_cast<std::uint32_t>(one.facet)});
    for (row_t row = 0; row < rows_of(one.of).count(); ++row) {
      if (one.words[row] != 0) made.words.push_back({i, row, one.words[row]});
    }
  }
  made.scopes = scopes_;
  made.makers = makers_;
  made.rows = saved(rows_);
  for (row_t row = 0; row < rows_.count(); ++row) {
    if (records_[row] == nullptr) continue;
    made.names.push_back({row, static_cast<std::uint32_t>(records_[row]->scope), records_[row]->name});
  }
  for (row_t pod = 0; pod < noting_; ++pod) {
    if (noted_[pod] == nullptr) continue;
    saved_columns::note& note = made.notes.emplace_back();
    note.pod = pod;
    for (const column_use& use : noted_[pod]->all)
      note.uses.push_back({use.column, use.row, use.generation, use.amount});
  }
  return made;
}

GANGSCHED_INLINE bool own_columns::restore(const saved_columns& from, const extent& upto) {
  if (upto.columns > from.all.size() || upto.scopes > from.scopes.size()) return false;
  while (scopes_.size() < upto.scopes) scopes_.push_back(from.scopes[scopes_.size()]);
  for (std::size_t i = 0; i < upto.columns; ++i) {
    const saved_columns::column& one = from.all[i];
    const auto scope = static_cast<scope_number>(one.scope);
    if (one.scope >= static_cast<std::uint32_t>(scope_number::first_named) + scopes_.size()) return false;
    const column_writer writer = one.by_host ? column_writer::host : column_writer::reserve_hooks;
    if (i == columns_.size()) {
      static_cast<void>(make(scope, one.name, writer, static_cast<reads>(one.facet)));
    } else if (const own_column& there = *columns_[i]; there.of != scope || there.writer != writer ||
                                                       there.name != one.name ||
                                                       there.facet != static_cast<reads>(one.facet)) {
      return false;
    }
  }
  if (columns_.size() > from.all.size() || scopes_.size() > from.scopes.size()) return false;
  makers_ = upto.makers;
  return true;
}

GANGSCHED_INLINE bool own_columns::restore_words(const saved_columns& from) {
  if (!std::equal(scopes_.begin(), scopes_.end(), from.scopes.begin(), from.scopes.end())) return false;
  row_restorer rows{rows_, from.rows};
  records_.grow(rows_.count());
  for (const auto& one : columns_) one->words.grow(rows_of(one->of).count());
  for (const saved_columns::row& one : from.names) {
    const auto first = static_cast<std::uint32_t>(scope_number::first_named);
    const auto scope = static_cast<scope_number>(one.scope);
    if (one.scope < first || one.scope - first >= scopes_.size() || one.name.empty() ||
        find_row(scope, one.name) != no_row || !rows.offer(one.at) || row(scope, one.name) != one.at)
      return false;
  }
  if (!rows.finish()) return false;
  const auto is_there = [&](std::uint32_t column, row_t row) {
    return column < columns_.size() && row < rows_of(columns_[column]->of).count();
  };
  for (const saved_columns::word& one : from.words) {
    if (!is_there(one.column, one.row)) return false;
    columns_[one.column]->words.set(one.row, one.value);
  }
  for (const saved_columns::note& one : from.notes) {
    if (!pods_->alive(one.pod) || has_notes(one.pod)) return false;
    auto noted = std::make_unique<noted_uses>();
    for (const saved_columns::use& use : one.uses) {
      if (!is_there(use.column, use.row)) return false;
      noted->all.push_back({use.column, use.row, use.generation, use.amount});
    }
    if (one.pod >= noting_) noted_.grow(one.pod + 1), noting_ = one.pod + 1;
    noted_.set(one.pod, std::move(noted));
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
