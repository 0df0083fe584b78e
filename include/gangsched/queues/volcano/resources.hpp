#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

/// Kinds of resources: thousandths of a core, bytes of memory, whole pods; devices from `first_device` on in thousandths of one.
using kind = std::uint32_t;
inline constexpr kind cpu = 0, memory = 1, pods = 2, first_device = 3;
inline constexpr kind most_kinds = 16;

/// Amounts of several kinds, as Volcano counts them. Cores and memory are always named, everything else only if it was set: an amount that
/// is not named is 0 or unlimited, as each comparison says. Amounts that differ by less than 0.1 are equal unless a comparison says
/// "exactly". No call allocates; each takes O(most_kinds).
class GANGSCHED_API resources {
 public:
  static constexpr double least = 0.1;  ///< anything less counts as 0
  [[nodiscard]] static bool not_above(double a, double b) { return a < b || std::abs(a - b) < least; }

  constexpr resources() = default;
  constexpr resources(double cores, double bytes) : amount_{cores, bytes} {}

  /// 0 for what is not named.
  [[nodiscard]] constexpr double get(kind of) const { return amount_[of]; }
  [[nodiscard]] constexpr bool names(kind of) const { return (named_ >> of & 1U) != 0; }
  /// The named kinds, as bits; cores and memory always.
  [[nodiscard]] constexpr std::uint16_t named() const { return named_; }
  static constexpr std::uint16_t always_named = 0b11;
  constexpr resources& set(kind of, double amount) {
    amount_[of] = amount;
    named_ = static_cast<std::uint16_t>(named_ | 1U << of);
    return *this;
  }

  resources& add(const resources& more);
  /// May become negative. If it names no device and no pods before, it names none afterwards.
  resources& subtract(const resources& less);
  resources& scale(double by);
  /// The smaller amount of each kind; what @p bound does not name is unlimited.
  resources& limit_to(const resources& bound);
  /// The same, but what @p bound does not name becomes 0. Cores and memory: as in limit_to.
  resources& limit_to_named(const resources& bound);

  /// Whether all amounts are 0, ignoring pods.
  [[nodiscard]] bool is_empty() const;
  /// Whether no amount is above that of @p bound, where what @p bound does not name is 0.
  [[nodiscard]] bool within(const resources& bound) const;
  /// The same, but what @p bound does not name is unlimited, and everything it names besides cores and memory has to be named here.
  [[nodiscard]] bool within_if_named(const resources& bound) const;
  /// Whether, of the kinds with an amount in @p asked, none is above @p bound; compared exactly, and without pods.
  [[nodiscard]] bool within_for(const resources& bound, const resources& asked) const;
  /// Whether some kind that is named here is exactly less than in @p than, or @p than names a kind that is not named here.
  [[nodiscard]] bool less_somewhere(const resources& than) const;
  /// The same with "not more", where kinds with the amount 0 in both count, too.
  [[nodiscard]] bool within_somewhere(const resources& bound) const;

  friend bool operator==(const resources&, const resources&) = default;

 private:
  std::array<double, most_kinds> amount_{};
  std::uint16_t named_ = always_named;
};

/// The larger amount of each kind; besides cores and memory only what is above 0 is named.
[[nodiscard]] GANGSCHED_API resources larger_of(const resources& a, const resources& b);

/// @return the largest ratio of @p has to @p of, over the kinds with an amount in @p of.
[[nodiscard]] GANGSCHED_API double dominant_share(const resources& has, const resources& of);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/volcano/resources.cpp"
#endif
