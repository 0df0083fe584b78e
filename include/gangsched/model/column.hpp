#pragma once
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/core/peer.hpp"
#include "gangsched/model/undo_log.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Rows are added one at a time: columns grow in steps, so that most additions cost a comparison per column.
[[nodiscard]] constexpr std::size_t grown_to(row_t rows) noexcept { return std::size_t{rows} + rows / 8; }

namespace detail {

/// Prefetches the cache line at @p address. Several distant lines requested together arrive in the time of one.
inline void prefetch(const void* address) noexcept {
  asm volatile("");  // gcc drops calls of functions that do nothing else
  __builtin_prefetch(address, 1);
}
/// The lines of an object, if there is one.
template <class T>
void prefetch_object(const T* object) noexcept {
  if (object == nullptr) return;
  for (std::size_t at = 0; at < sizeof(T); at += 64) prefetch(reinterpret_cast<const char*>(object) + at);
  if constexpr (alignof(T) < 64) prefetch(reinterpret_cast<const char*>(object + 1) - 1);  // it may begin in mid-line
}

/// Memory that begins with a cache line.
template <class T>
struct line_allocator {
  using value_type = T;
  line_allocator() = default;
  template <class U>
  line_allocator(const line_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* at, std::size_t) noexcept { ::operator delete(at, std::align_val_t{64}); }
  friend bool operator==(const line_allocator&, const line_allocator&) noexcept { return true; }
};

template <class T>
std::uint64_t to_word(T value) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T>
T from_word(std::uint64_t word) noexcept {
  T value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

template <class>
struct member_of;
template <class Row, class T>
struct member_of<T Row::*> {
  using row = Row;
  using type = T;
};

}  // namespace detail

/// One word a row, at most 8 bytes. Reads are array reads; a write saves the old word while a transaction is open.
template <class T>
  requires(std::is_trivially_copyable_v<T> && sizeof(T) <= 8)
class column final : public column_base {
 public:
  explicit column(undo_log& undo, T initial = T{}) noexcept : undo_(&undo), initial_(initial) {}

  void grow(row_t rows) {
    if (data_.size() < rows) data_.resize(grown_to(rows), initial_);
  }
  [[nodiscard]] T operator[](row_t row) const noexcept { return static_cast<T>(data_[row]); }
  void prefetch(row_t row) const noexcept { detail::prefetch(data_.data() + row); }
  void set(row_t row, T value) {
    if (undo_->recording()) undo_->save(*this, row, 0, detail::to_word((*this)[row]));
    data_[row] = value;
  }

  void restore(row_t row, std::uint32_t, std::uint64_t old) noexcept override {
    data_[row] = detail::from_word<T>(old);
  }
  void digest_into(digest& out, row_t rows) const override {
    for (row_t row = 0; row < rows; ++row) out.add(detail::to_word((*this)[row]));
  }

 private:
  peer<undo_log> undo_;
  T initial_;
  std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>> data_;  // not vector<bool>'s bits
};

/// One 64-bit integer per (row, kind), rows contiguous: eight of a node's amounts are one cache line.
class GANGSCHED_API matrix_column final : public column_base {
 public:
  explicit matrix_column(undo_log& undo) noexcept : undo_(&undo) {}

  /// Makes room for @p rows rows of @p kinds kinds. O(size) when the number of kinds outgrows the stride.
  void grow(row_t rows, std::uint32_t kinds);
  [[nodiscard]] std::int64_t at(row_t row, std::uint32_t kind) const noexcept {
    return data_[std::size_t{row} * stride_ + kind];
  }
  [[nodiscard]] const std::int64_t* row(row_t row) const noexcept { return &data_[std::size_t{row} * stride_]; }
  /// The first @p kinds of a row, if it is there.
  void prefetch(row_t row, std::uint32_t kinds) const noexcept {
    const std::size_t first = std::size_t{row} * stride_;
    for (std::size_t at = first; at < first + kinds && at < data_.size(); at += 8) detail::prefetch(data_.data() + at);
  }
  void set(row_t row, std::uint32_t kind, std::int64_t value) {
    std::int64_t& word = data_[std::size_t{row} * stride_ + kind];
    if (undo_->recording()) undo_->save(*this, row, kind, static_cast<std::uint64_t>(word));
    word = value;
  }
  void add(row_t row, std::uint32_t kind, std::int64_t more) { set(row, kind, at(row, kind) + more); }
  /// To be written while the undo log pauses: another entry of it undoes the change.
  [[nodiscard]] std::int64_t* unsaved_row(row_t row) noexcept { return &data_[std::size_t{row} * stride_]; }

  void restore(row_t row, std::uint32_t kind, std::uint64_t old) noexcept override {
    data_[std::size_t{row} * stride_ + kind] = static_cast<std::int64_t>(old);
  }
  /// Zeros do not contribute, so that a wider stride, or a row not used yet, has the same digest.
  void digest_into(digest& out, row_t rows) const override;
  /// The same, independent of the order of kinds, which are hashed by name if the digest knows names; of the first @p kinds.
  void digest_by_kind(digest& out, row_t rows, std::uint32_t kinds) const;

 private:
  peer<undo_log> undo_;
  std::uint32_t stride_ = 8;
  std::vector<std::int64_t, detail::line_allocator<std::int64_t>> data_;
};

/// A column whose words are members of a struct, @p Member, with one struct per row: for tables whose rows are accessed one by one, so that
/// a row is one cache line and not one per column.
template <auto Member>
class word_column final : public column_base {
  using row_type = typename detail::member_of<decltype(Member)>::row;
  using T = typename detail::member_of<decltype(Member)>::type;
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);

 public:
  word_column(undo_log& undo, std::vector<row_type>& rows) noexcept : undo_(&undo), rows_(&rows) {}

  [[nodiscard]] T operator[](row_t row) const noexcept { return (*rows_)[row].*Member; }
  void set(row_t row, T value) {
    T& word = (*rows_)[row].*Member;
    if (undo_->recording()) undo_->save(*this, row, 0, detail::to_word(word));
    word = value;
  }

  void restore(row_t row, std::uint32_t, std::uint64_t old) noexcept override {
    (*rows_)[row].*Member = detail::from_word<T>(old);
  }
  void digest_into(digest& out, row_t rows) const override {
    for (row_t row = 0; row < rows; ++row) out.add(detail::to_word((*this)[row]));
  }

 private:
  peer<undo_log> undo_;
  peer<std::vector<row_type>> rows_;
};

/// The same for objects, as in `object_column`.
template <auto Member>
class word_object_column final : public column_base {
  using row_type = typename detail::member_of<decltype(Member)>::row;
  using T = std::remove_cv_t<std::remove_pointer_t<typename detail::member_of<decltype(Member)>::type>>;

 public:
  word_object_column(undo_log& undo, std::vector<row_type>& rows) : undo_(&undo), rows_(&rows) {
    if constexpr (used_again) spares_.reserve(most_spares);
  }
  word_object_column(const word_object_column&) = delete;
  /// Copies the objects of @p from. @pre as many rows, without objects
  word_object_column& operator=(const word_object_column& from) {
    for (std::size_t i = 0; i < rows_->size(); ++i) {
      if (const T* const object = (*from.rows_)[i].*Member) (*rows_)[i].*Member = new T(*object);
    }
    return *this;
  }
  ~word_object_column() override {
    for (const row_type& row : *rows_) delete (row.*Member);
    for (const T* object : spares_) delete object;
  }

  [[nodiscard]] const T* operator[](row_t row) const noexcept { return (*rows_)[row].*Member; }
  void set(row_t row, std::unique_ptr<const T> object) {
    const T*& there = (*rows_)[row].*Member;
    if (undo_->recording()) {
      undo_->save_owned(*this, row, 0, std::bit_cast<std::uint64_t>(there));
    } else {
      retire(there);
    }
    there = object.release();
  }
  /// An empty object to fill and `set`: a retired one, if there is one.
  [[nodiscard]] std::unique_ptr<T> make() {
    if (spares_.empty()) return std::make_unique<T>();
    std::unique_ptr<T> made{spares_.back()};
    spares_.pop_back();
    return made;
  }
  /// Returns an object of make() that was not set.
  void give_back(std::unique_ptr<T> object) noexcept { retire(object.release()); }

  void restore(row_t row, std::uint32_t, std::uint64_t old) noexcept override {
    retire((*rows_)[row].*Member);
    (*rows_)[row].*Member = std::bit_cast<const T*>(old);
  }
  void discard(std::uint32_t, std::uint64_t old) noexcept override { retire(std::bit_cast<const T*>(old)); }
  void digest_into(digest& out, row_t rows) const override {
    for (row_t row = 0; row < rows; ++row) {
      out.add(std::uint64_t{(*this)[row] != nullptr});
      if ((*this)[row] != nullptr) (*this)[row]->digest_into(out);
    }
  }

 private:
  static constexpr bool used_again = requires(T& object) { object.clear(); };
  static constexpr std::size_t most_spares = 256;
  void retire(const T* object) noexcept {
    if constexpr (used_again) {
      if (object != nullptr && spares_.size() < most_spares) {
        const_cast<T*>(object)->clear();  // made by make(), without other owners
        return spares_.push_back(const_cast<T*>(object));
      }
    }
    delete object;
  }

  peer<undo_log> undo_;
  peer<std::vector<row_type>> rows_;
  std::vector<T*> spares_;  ///< of a T that can be cleared; there is room for all of them
};

/// One immutable heap object a row, replaced as a whole. T has `void digest_into(digest&) const`.
template <class T>
class object_column final : public column_base {
 public:
  explicit object_column(undo_log& undo) noexcept : undo_(&undo) {}
  object_column(const object_column&) = delete;
  /// Copies of the objects of @p from, instead of those that are here. O(rows).
  object_column& operator=(const object_column& from) {
    if (this == &from) return *this;
    for (const T*& object : data_) delete std::exchange(object, nullptr);
    data_.assign(from.data_.size(), nullptr);
    for (std::size_t i = 0; i < data_.size(); ++i) {
      if (from.data_[i] != nullptr) data_[i] = new T(*from.data_[i]);
    }
    return *this;
  }
  ~object_column() override {
    for (const T* object : data_) delete object;
  }

  void grow(row_t rows) {
    if (data_.size() < rows) data_.resize(grown_to(rows), nullptr);
  }
  [[nodiscard]] const T* operator[](row_t row) const noexcept { return data_[row]; }
  void prefetch(row_t row) const noexcept { detail::prefetch(data_.data() + row); }
  void set(row_t row, std::unique_ptr<const T> object) {
    if (undo_->recording()) {
      undo_->save_owned(*this, row, 0, std::bit_cast<std::uint64_t>(data_[row]));
    } else {
      delete data_[row];
    }
    data_[row] = object.release();
  }

  void restore(row_t row, std::uint32_t, std::uint64_t old) noexcept override {
    delete data_[row];
    data_[row] = std::bit_cast<const T*>(old);
  }
  void discard(std::uint32_t, std::uint64_t old) noexcept override { delete std::bit_cast<const T*>(old); }
  void digest_into(digest& out, row_t rows) const override {
    for (row_t row = 0; row < rows; ++row) {
      out.add(std::uint64_t{data_[row] != nullptr});
      if (data_[row] != nullptr) data_[row]->digest_into(out);
    }
  }

 private:
  static_assert(sizeof(const T*) == 8, "an undo entry keeps the old object's address in its 64-bit word");
  peer<undo_log> undo_;
  std::vector<const T*> data_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/column.cpp"
#endif
