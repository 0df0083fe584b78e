#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A set of numbers 0 … Bits - 1, one bit each: trivially copyable, walked in ascending order. Operations on one member are O(1),
/// on the set O(Bits / 64).
template <unsigned Bits>
class fixed_set {
  static_assert(Bits % 64 == 0);

 public:
  /// One more than the largest possible member.
  static constexpr unsigned capacity = Bits;

  constexpr fixed_set() noexcept = default;
  /// The numbers @p from … @p to - 1.
  [[nodiscard]] static constexpr fixed_set range(unsigned from, unsigned to) noexcept {
    fixed_set all;
    for (unsigned member = from; member < to; ++member) all.insert(member);
    return all;
  }

  constexpr void insert(unsigned member) noexcept { words_[word(member)] |= mask(member); }
  constexpr void erase(unsigned member) noexcept { words_[word(member)] &= ~mask(member); }
  [[nodiscard]] constexpr bool contains(unsigned member) const noexcept {
    return member < Bits && (words_[word(member)] & mask(member)) != 0;
  }

  /// Members 64·@p word … 64·@p word + 63 as bits; and to set them.
  [[nodiscard]] constexpr std::uint64_t bits(std::size_t word) const noexcept { return words_[word]; }
  constexpr void set_bits(std::size_t word, std::uint64_t bits) noexcept { words_[word] = bits; }

  [[nodiscard]] constexpr unsigned count() const noexcept {
    unsigned members = 0;
    for (const std::uint64_t bits : words_) members += static_cast<unsigned>(std::popcount(bits));
    return members;
  }
  [[nodiscard]] constexpr bool empty() const noexcept {
    for (const std::uint64_t bits : words_)
      if (bits != 0) return false;
    return true;
  }
  /// The smallest member; Bits when there is none.
  [[nodiscard]] constexpr unsigned first() const noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] != 0) return static_cast<unsigned>(i * 64) + static_cast<unsigned>(std::countr_zero(words_[i]));
    return Bits;
  }
  /// The @p n smallest members, or all of them.
  [[nodiscard]] constexpr fixed_set lowest(unsigned n) const noexcept {
    fixed_set low;
    for_each([&](unsigned member) {
      if (n == 0) return;
      low.insert(member);
      --n;
    });
    return low;
  }

  /// Calls visit(member) for every member in ascending order; each word is read once.
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t bits = words_[i]; bits != 0; bits &= bits - 1)
        visit(static_cast<unsigned>(i * 64) + static_cast<unsigned>(std::countr_zero(bits)));
  }

  constexpr fixed_set& operator|=(const fixed_set& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  constexpr fixed_set& operator&=(const fixed_set& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  /// Takes out what is in @p other.
  constexpr fixed_set& operator-=(const fixed_set& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  [[nodiscard]] friend constexpr fixed_set operator|(fixed_set a, const fixed_set& b) noexcept { return a |= b; }
  [[nodiscard]] friend constexpr fixed_set operator&(fixed_set a, const fixed_set& b) noexcept { return a &= b; }
  [[nodiscard]] friend constexpr fixed_set operator-(fixed_set a, const fixed_set& b) noexcept { return a -= b; }
  friend constexpr bool operator==(const fixed_set&, const fixed_set&) noexcept = default;

 private:
  static constexpr std::uint64_t mask(unsigned member) noexcept { return std::uint64_t{1} << (member % 64); }
  static constexpr std::size_t word(unsigned member) noexcept {
    GANGSCHED_ASSERT(member < Bits);
    return member / 64;
  }
  std::array<std::uint64_t, Bits / 64> words_{};
};

/// Logical CPUs of one node, by the id the kernel gives them.
using cpu_set = fixed_set<1024>;
/// Devices of one kind on one node, by index.
using device_set = fixed_set<256>;

}  // namespace gangsched::inline GANGSCHED_ABI
