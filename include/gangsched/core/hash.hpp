#pragma once
#include <cstdint>
#include <string_view>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that spreads every input bit.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class interner;
struct symbol;

/// A running 64-bit digest, the same on every compiler and run. Not for untrusted keys of a table.
class digest {
 public:
  constexpr digest() noexcept = default;
  /// A digest of names and resource kinds by their texts, because their numbers depend on the order of arrival and on sweeps.
  constexpr digest(const interner* names, const symbol* kinds) noexcept : names_(names), kinds_(kinds) {}
  /// An empty digest with the same tables of names and kinds.
  [[nodiscard]] constexpr digest another() const noexcept { return {names_, kinds_}; }
  /// The table of names; null: names are hashed by their numbers.
  [[nodiscard]] constexpr const interner* names() const noexcept { return names_; }
  /// Names of resource kinds, by kind; null: kinds are hashed by their numbers.
  [[nodiscard]] constexpr const symbol* kinds() const noexcept { return kinds_; }
  constexpr void add(std::uint64_t word) noexcept { state_ = mix64(state_ ^ mix64(word)); }
  constexpr void add(std::string_view text) noexcept {
    add(static_cast<std::uint64_t>(text.size()));
    std::uint64_t word = 0;
    unsigned filled = 0;
    for (const char c : text) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << (8 * filled);
      if (++filled == 8) {
        add(word);
        word = 0;
        filled = 0;
      }
    }
    if (filled != 0) add(word);
  }
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0x6a09e667f3bcc908u;
  const interner* names_ = nullptr;
  const symbol* kinds_ = nullptr;
};

}  // namespace gangsched::inline GANGSCHED_ABI
