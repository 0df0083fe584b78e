#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gangsched/model/change.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The position of a reader: everything before `position` was read, and `truncations` roll-backs were known then.
struct log_cursor {
  std::uint64_t position = 0;
  std::uint64_t truncations = 0;
};

/// The history of changes to a cluster, in order and bounded. Positions count from the beginning of time and never wrap.
/// A roll-back truncates it; readers learn of that from `truncated_since`. A reader behind `begin()` must rebuild.
/// Rebuilding counts as having read everything up to `end()`; records behind `committed_end()` may still be rolled back.
class change_log {
 public:
  /// A bound so that sums of positions and bounds fit into 64 bits.
  static constexpr std::size_t largest_bound = std::size_t{1} << 40;
  /// At least @p bound records are kept, at most `largest_bound`; older ones are dropped when twice as many are there.
  explicit change_log(std::size_t bound = std::size_t{1} << 16) : bound_(std::min(bound, largest_bound)) {}

  [[nodiscard]] std::size_t bound() const noexcept { return bound_; }
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }
  /// The first record that can be read: begin(), except after `stand`.
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint64_t end() const noexcept { return first_ + records_.size(); }
  /// Where the outermost open transaction began, else end(): what committed readers may read up to.
  [[nodiscard]] std::uint64_t committed_end() const noexcept { return open_ ? mark_ : end(); }
  [[nodiscard]] const change& operator[](std::uint64_t position) const noexcept {
    return records_[static_cast<std::size_t>(position - first_)];
  }
  [[nodiscard]] bool in_transaction() const noexcept { return open_; }
  [[nodiscard]] log_cursor tip() const noexcept { return {end(), truncations_}; }
  [[nodiscard]] std::uint64_t truncations() const noexcept { return truncations_; }

  /// Makes room for twice the bound, or for a million records if that is more.
  void reserve() { records_.reserve(std::min(2 * bound_ + 1, std::size_t{1} << 20)); }
  void append(const change& record) {
    if (records_.size() == records_.capacity()) [[unlikely]]
      grow();
    records_.push_back(record);
    records_.back().author = author_ & last_author;
  }
  /// Outside transactions, this also drops records beyond the bound.
  void write(const change& what) {
    append(what);
    trim();
  }
  /// The number by which a scheduler recognises its own records; none of the last four million was the same.
  [[nodiscard]] std::uint32_t new_author() noexcept { return authors_ = authors_ % last_author + 1; }
  /// Sets the author of the records from here on. @return the author before.
  std::uint32_t write_as(std::uint32_t author) noexcept { return std::exchange(author_, author); }
  /// Marks the records from @p from on as `undone`: they wake no pods. O(records since).
  void mark_undone(std::uint64_t from) noexcept {
    for (std::size_t i = static_cast<std::size_t>(std::max(from, first_) - first_); i < records_.size(); ++i)
      records_[i].undone = true;
  }
  /// After this, @p more records can be appended without failing.
  void make_room(std::size_t more) {
    if (records_.capacity() - records_.size() < more) records_.reserve(2 * records_.size() + more);
  }

  /// Whether @p reader has unread records, or has read records that were rolled back.
  [[nodiscard]] bool lost(const log_cursor& reader) const noexcept {
    return reader.position < begin_ || reader.truncations < forgotten_cut_;
  }
  /// The lowest end a roll-back has left since @p truncations, or end() if there was none. O(log).
  [[nodiscard]] std::uint64_t truncated_since(std::uint64_t truncations) const noexcept {
    // `cuts_` is increasing in both members: the first newer cut is the lowest of the newer ones.
    std::size_t low = 0, high = cuts_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (cuts_[middle].number > truncations)
        high = middle;
      else
        low = middle + 1;
    }
    return low == cuts_.size() ? end() : cuts_[low].end;
  }

  // For snapshots, outside transactions.
  struct cut {
    std::uint64_t number;
    std::uint64_t end;
  };
  struct standing {
    std::uint64_t begin, truncations, forgotten_cut;
    std::uint32_t authors;
    std::vector<cut> cuts;
  };
  [[nodiscard]] standing stands() const { return {begin_, truncations_, forgotten_cut_, authors_, cuts_}; }
  /// Becomes a log that ended with the records @p last at @p end. It lacks earlier records, whatever begin() returns; no reader needs them.
  /// @pre @p last has at most @p end − begin() records.
  void stand(standing as, std::uint64_t end, std::vector<change> last) {
    begin_ = as.begin;
    first_ = end - last.size();
    records_ = std::move(last);
    truncations_ = as.truncations, forgotten_cut_ = as.forgotten_cut, authors_ = as.authors;
    cuts_ = std::move(as.cuts);
  }

  // For transactions and calls.
  void begin_transaction() noexcept {
    open_ = true;
    mark_ = end();
  }
  void end_transaction() noexcept {
    open_ = false;
    trim();
  }
  /// Until `let_go`, keeps every record from here on, with room for the one entry that a roll-back of this mark writes.
  void hold() {
    const std::size_t wanted = cuts_.size() + held_ + 1;
    if (cuts_.capacity() < wanted) cuts_.reserve(2 * wanted + 8);
    ++held_;
  }
  void let_go() noexcept {
    --held_;
    trim();
  }
  /// Forgets the records from @p end_position on, which were held.
  void truncate(std::uint64_t end_position) noexcept {
    if (end_position == end()) return;  // no reader can have read records that do not exist
    records_.resize(static_cast<std::size_t>(end_position - first_));
    ++truncations_;
    while (!cuts_.empty() && cuts_.back().end >= end_position) cuts_.pop_back();
    cuts_.push_back({truncations_, end_position});
  }
  /// Drops the oldest records when there are more than twice the bound and none is held.
  void trim() noexcept {
    if (held_ == 0 && end() - begin_ >= 2 * bound_) cut_off();
  }

 private:
  /// Drops records as if each had been the last of a call, so that the result does not depend on which of them were held.
  [[gnu::noinline]] void cut_off() noexcept {
    begin_ = bound_ == 0 ? end() : begin_ + bound_ * ((end() - begin_) / bound_ - 1);
    if (begin_ > first_) {
      records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(begin_ - first_));
      first_ = begin_;
    }
    std::size_t old_cuts = 0;
    while (old_cuts < cuts_.size() && cuts_[old_cuts].end < begin_) forgotten_cut_ = cuts_[old_cuts++].number;
    cuts_.erase(cuts_.begin(), cuts_.begin() + static_cast<std::ptrdiff_t>(old_cuts));
  }
  /// (By more than a vector would: a change is 20 bytes, and each growth copies all of them one by one.)
  [[gnu::noinline]] void grow() { records_.reserve(4 * records_.size() + 64); }

  static constexpr std::uint32_t last_author = (1u << 22) - 1;
  std::size_t bound_;
  std::vector<change> records_;
  std::uint64_t begin_ = 0;
  std::uint64_t first_ = 0;  ///< position of the first record kept: begin_, except after `stand`
  std::uint64_t mark_ = 0;
  std::uint64_t truncations_ = 0;
  std::uint64_t forgotten_cut_ = 0;
  bool open_ = false;
  std::uint32_t author_ = 0, authors_ = 0;
  std::uint32_t held_ = 0;
  std::vector<cut> cuts_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
