#pragma once
#include <cstdint>

namespace replay {

/// Random numbers that are the same on every machine: splitmix64 from a seed and a name for what they are drawn for.
class random {
 public:
  explicit random(std::uint64_t seed, std::uint64_t what = 0, std::uint64_t which = 0)
      : state_(mix(mix(mix(seed) + what) + which)) {}

  [[nodiscard]] std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }

  /// From 0 to @p bound − 1, for bounds that are small beside 2^64.
  [[nodiscard]] std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace replay
