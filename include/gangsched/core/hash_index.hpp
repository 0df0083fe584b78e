#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A hash table of small values. The caller supplies the hash, and a predicate that picks one of the values with that hash. Nothing
/// iterates over the table where its order could be observed. Only growth allocates; if that fails nothing has changed. An erased value can
/// be put back without allocating. (Abseil's tables are broken once their growth has failed.)
/// @tparam Mark how much of each hash is stored: half of it saves memory, at one needless comparison in billions.
template <class Value, std::unsigned_integral Mark = std::uint64_t>
  requires(std::is_trivially_copyable_v<Value>)
class hash_index {
 public:
  /// The value with this hash for which same(value), or null. O(1).
  template <class Same>
  [[nodiscard]] const Value* find(std::size_t hash, const Same& same) const noexcept {
    if (slots_.empty()) return nullptr;
    const Mark mark = mark_of(hash);
    for (std::size_t at = home(mark); slots_[at].mark != 0; at = next(at)) {
      if (slots_[at].mark == mark && same(slots_[at].value)) return &slots_[at].value;
    }
    return nullptr;
  }
  /// Prefetches the slot: the value will be looked up soon.
  void prefetch(std::size_t hash) const noexcept {
    asm volatile("");  // gcc drops calls of functions that do nothing else
    if (!slots_.empty()) __builtin_prefetch(&slots_[home(mark_of(hash))]);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// After this, inserting up to @p values in all cannot fail.
  void reserve(std::size_t values) {
    std::size_t wanted = slots_.empty() ? 16 : slots_.size();
    while (values > room_of(wanted)) wanted *= 2;
    if (wanted != slots_.size()) grow_to(wanted);
  }
  /// The next insert cannot fail. O(1) amortised.
  void make_room() {
    if (size_ + 1 > room_of(slots_.size())) reserve(size_ + 1);
  }
  /// @pre the value is not in the table. Allocates as make_room().
  void insert(std::size_t hash, Value value) {
    make_room();
    put({mark_of(hash), value});
    ++size_;
  }
  /// @pre the value is in the table.
  template <class Same>
  void erase(std::size_t hash, const Same& same) noexcept {
    const Mark mark = mark_of(hash);
    std::size_t hole = home(mark);
    while (slots_[hole].mark != mark || !same(slots_[hole].value)) hole = next(hole);
    // Later values move back toward their home slots, so that no search stops too early at the hole.
    for (std::size_t at = next(hole); slots_[at].mark != 0; at = next(at)) {
      const std::size_t wants = home(slots_[at].mark);
      if (((at - wants) & (slots_.size() - 1)) < ((at - hole) & (slots_.size() - 1))) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
    --size_;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const slot& one : slots_) {
      if (one.mark != 0) visit(one.value);
    }
  }

 private:
  struct slot {
    Mark mark = 0;  // of the hash; 0: nothing is here
    Value value{};
  };
  [[nodiscard]] static Mark mark_of(std::size_t hash) noexcept {
    const auto mark = static_cast<Mark>(hash);
    return mark != 0 ? mark : 1;
  }
  [[nodiscard]] static std::size_t room_of(std::size_t slots) noexcept { return slots / 4 * 3; }
  [[nodiscard]] std::size_t home(Mark mark) const noexcept {
    std::uint64_t folded = mark;
    folded ^= folded >> 32;
    return folded & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & (slots_.size() - 1); }
  void put(const slot& made) noexcept {
    std::size_t at = home(made.mark);
    while (slots_[at].mark != 0) at = next(at);
    slots_[at] = made;
  }
  [[gnu::noinline]] void grow_to(std::size_t slots) {
    std::vector<slot> before(slots);
    before.swap(slots_);
    for (const slot& one : before) {
      if (one.mark != 0) put(one);
    }
  }

  std::vector<slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI
