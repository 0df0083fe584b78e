#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/hash.hpp"
#include "gangsched/core/id.hpp"

namespace gangsched {

/// Something whose words can be put back. Every piece of a cluster's state is one of these.
class column_base {
 public:
  virtual ~column_base() = default;
  /// Puts @p old back at (row, sub).
  virtual void restore(row_t row, std::uint32_t sub, std::uint64_t old) noexcept = 0;
  /// The old value will never be needed again (outermost commit): frees what it owned.
  virtual void discard(std::uint32_t /*sub*/, std::uint64_t /*old*/) noexcept {}
  /// Adds the content of rows [0, rows) to @p out.
  virtual void digest_into(digest& out, row_t rows) const = 0;
};

/// The old values of every word changed since the outermost open transaction began. Nothing is recorded while none is open.
class undo_log {
 public:
  [[nodiscard]] bool recording() const noexcept { return depth_ != 0; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  void save(column_base& column, row_t row, std::uint32_t sub, std::uint64_t old) {
    entries_.push_back({&column, old, row, sub});
  }

  /// Opens a (nested) checkpoint; the returned mark goes to exactly one of roll_back and keep.
  std::size_t open() noexcept {
    ++depth_;
    return entries_.size();
  }
  /// Restores every word saved since @p mark, newest first. O(words changed).
  void roll_back(std::size_t mark) noexcept {
    while (entries_.size() > mark) {
      const entry& last = entries_.back();
      last.column->restore(last.row, last.sub, last.old);
      entries_.pop_back();
    }
    --depth_;
  }
  /// Keeps the changes: they belong to the enclosing checkpoint, or are final if there is none.
  void keep() noexcept {
    if (--depth_ != 0) return;
    for (const entry& done : entries_) done.column->discard(done.sub, done.old);
    entries_.clear();
  }

 private:
  struct entry {
    column_base* column;
    std::uint64_t old;
    row_t row;
    std::uint32_t sub;
  };
  std::vector<entry> entries_;
  std::uint32_t depth_ = 0;
};

}  // namespace gangsched
