#pragma once
#include <cstddef>
#include <cstdint>

#include "gangsched/core/hash.hpp"

namespace gangsched::testing {

/// Random numbers that are the same everywhere for the same seed.
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_(mix64(seed)) {}

  std::uint64_t next() noexcept { return mix64(state_ += 0x9e3779b97f4a7c15u); }
  /// 0 … @p bound - 1. The bias of the remainder does not matter here.
  std::size_t below(std::size_t bound) noexcept { return static_cast<std::size_t>(next() % bound); }
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool percent(unsigned chance) noexcept { return below(100) < chance; }
  /// An element of a container that is not empty.
  template <class List>
  auto& of(List& list) noexcept {
    return list[below(list.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace gangsched::testing
