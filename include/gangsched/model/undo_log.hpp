#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/hash.hpp"
#include "gangsched/core/id.hpp"
#include "gangsched/core/make_room.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// State whose words can be restored. Every piece of a cluster's state is one of these.
class column_base {
 public:
  virtual ~column_base() = default;
  /// Puts @p old back at (row, sub).
  virtual void restore(row_t row, std::uint32_t sub, std::uint64_t old) noexcept = 0;
  /// The old value, saved as owned, is no longer needed (outermost commit): frees it.
  virtual void discard(std::uint32_t /*sub*/, std::uint64_t /*old*/) noexcept {}
  /// Adds the content of rows [0, rows) to @p out.
  virtual void digest_into(digest& out, row_t rows) const = 0;
};

/// The old values of every word changed since the outermost open transaction began. Nothing is recorded while none is open.
class undo_log {
 public:
  [[nodiscard]] bool recording() const noexcept { return depth_ != 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// (Out of line, so that its many inlined callers stay small.)
  [[gnu::noinline]] void save(column_base& column, row_t row, std::uint32_t sub, std::uint64_t old) {
    if (size_ == room_) return save_in_more_room(column, row, sub, old);
    entries_[size_++] = {&column, old, row, sub};
  }
  /// The same; the column is notified (`discard`) when the old value is no longer needed.
  void save_owned(column_base& column, row_t row, std::uint32_t sub, std::uint64_t old) {
    make_room();
    owned_.push_back(size_);
    save(column, row, sub, old);
  }
  /// After this one save, of either kind, cannot fail: for code that must change something before it knows what to save.
  void make_room() {
    detail::make_room(owned_);
    if (size_ == room_) make_more_room();
  }

  /// During its life nothing is saved: for changes that another entry of the log undoes as a whole.
  class pause {
   public:
    explicit pause(undo_log& of) noexcept : of_(&of), depth_(of.depth_) { of.depth_ = 0; }
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;
    ~pause() { of_->depth_ = depth_; }

   private:
    undo_log* of_;
    std::uint32_t depth_;
  };

  /// Opens a (nested) checkpoint; the returned mark goes to exactly one of roll_back and keep.
  std::size_t open() noexcept {
    ++depth_;
    return size_;
  }
  /// The same for a call that is atomic (`call_mark`). Such a mark alone is no trial: its changes are final.
  std::size_t open_call() noexcept {
    if (!trying()) ++calls_;
    return open();
  }
  void close_call() noexcept {
    if (calls_ > depth_) calls_ = depth_;
  }
  /// Whether a transaction is open that may be discarded.
  [[nodiscard]] bool trying() const noexcept { return depth_ != calls_; }
  /// Restores every word saved since @p mark, newest first. O(words changed).
  void roll_back(std::size_t mark) noexcept {
    while (size_ > mark) {
      const entry& last = entries_[--size_];
      last.column->restore(last.row, last.sub, last.old);
    }
    while (!owned_.empty() && owned_.back() >= mark) owned_.pop_back();
    --depth_;
  }
  /// Keeps the changes: they belong to the enclosing checkpoint, or are final if there is none.
  void keep() noexcept {
    if (--depth_ != 0) return;
    for (const std::size_t at : owned_) entries_[at].column->discard(entries_[at].sub, entries_[at].old);
    owned_.clear();
    size_ = 0;
  }

 private:
  struct entry {
    column_base* column = nullptr;
    std::uint64_t old = 0;
    row_t row = 0;
    std::uint32_t sub = 0;
  };
  [[gnu::noinline]] void save_in_more_room(column_base& column, row_t row, std::uint32_t sub, std::uint64_t old) {
    make_more_room();
    save(column, row, sub, old);
  }
  void make_more_room() {
    entries_.resize(4 * size_ + 256);
    room_ = entries_.size();
  }

  std::vector<entry> entries_;      // the first `size_` count
  std::vector<std::size_t> owned_;  // ascending: those with owned old values
  std::size_t size_ = 0, room_ = 0;
  std::uint32_t depth_ = 0;
  std::uint32_t calls_ = 0;  // the outermost of `depth_`, which are of calls
};

}  // namespace gangsched::inline GANGSCHED_ABI
