#pragma once
#include <string_view>
#include <utility>

#include "gangsched/core/hash_index.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/name_index.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// (namespace, name) to row, as `name_index`, of a table whose records have the names: for tables with many rows, of which it keeps eight
/// bytes each. Never iterated, but for a digest without order.
/// @tparam Records a column of records with `key()`, their namespace and name. One that is in the index is there, and keeps its key.
template <class Records>
class record_index final : public column_base {
 public:
  using key = name_index::key;

  record_index(undo_log& undo, const Records& records) noexcept : undo_(&undo), records_(&records) {}
  record_index(const record_index&) = delete;
  /// (No transaction is open. The records are copied beside it.)
  record_index& operator=(const record_index& from) {
    rows_ = from.rows_;
    return *this;
  }

  [[nodiscard]] static key key_of(symbol ns, std::string_view name) noexcept { return name_index::key_of(ns, name); }
  /// Prefetches for a later find.
  void prefetch(const key& of) const noexcept { rows_.prefetch(of.hash); }
  /// The row of the name, or no_row. O(length).
  [[nodiscard]] row_t find(const key& of) const noexcept {
    const row_t* const found = rows_.find(of.hash, [&](row_t row) {
      return (*records_)[row]->key() == std::pair{of.ns, of.name};
    });
    return found == nullptr ? no_row : *found;
  }
  [[nodiscard]] row_t find(symbol ns, std::string_view name) const noexcept { return find(key_of(ns, name)); }
  void reserve(std::size_t names) { rows_.reserve(names); }
  /// After this so many more can be inserted without failing, while nothing is recorded.
  void make_room(std::size_t more) { rows_.reserve(rows_.size() + more); }
  /// @pre the name is new. Its record must be set before the next `find`.
  void insert(const key& of, row_t row) {
    if (undo_->recording()) undo_->make_room();
    rows_.insert(of.hash, row);
    if (undo_->recording()) undo_->save(*this, row, came, of.hash);
  }
  void insert(symbol ns, std::string_view name, row_t row) { insert(key_of(ns, name), row); }
  /// @pre the name is in the index, with @p row
  void erase(const key& of, row_t row) {
    if (undo_->recording()) undo_->save(*this, row, went, of.hash);
    rows_.erase(of.hash, [row](row_t one) { return one == row; });
  }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }

  /// (What was erased is put back without allocating: the table had as many before.)
  void restore(row_t row, std::uint32_t what, std::uint64_t hash) noexcept override {
    if (what == went)
      rows_.insert(hash, row);
    else
      rows_.erase(hash, [row](row_t one) { return one == row; });
  }
  void digest_into(digest& out, row_t) const override {
    std::uint64_t sum = 0;  // commutative: the index has no order
    rows_.for_each([&](row_t row) {
      const auto [ns, name] = (*records_)[row]->key();
      digest one = out.another();
      add_name(one, ns);
      one.add(name);
      one.add(row);
      sum += one.value();
    });
    out.add(sum);
  }

 private:
  enum event : std::uint32_t { came, went };
  peer<undo_log> undo_;
  peer<const Records> records_;
  hash_index<row_t, std::uint32_t> rows_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
