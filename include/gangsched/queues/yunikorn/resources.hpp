#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "gangsched/core/config.hpp"

/// The queues of Apache YuniKorn 1.6: the order of asks, limits, and preemption.
namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// A type of resource, as the host numbers them: below max_types.
using resource_type = std::uint32_t;
inline constexpr std::size_t max_types = 32;

/// Amounts by type, where a type that is not set differs from one that is 0: a limit without a type does not limit it. The name of each
/// comparison tells what a missing type means. Sums saturate.
class resources {
 public:
  constexpr resources() = default;

  constexpr void set(resource_type type, std::int64_t amount) noexcept {
    GANGSCHED_ASSERT(type < max_types);
    types_ |= std::uint32_t{1} << type;
    amounts_[type] = amount;
  }
  [[nodiscard]] constexpr bool has(resource_type type) const noexcept { return (types_ >> type & 1) != 0; }
  /// 0 for a type that is not set.
  [[nodiscard]] constexpr std::int64_t operator[](resource_type type) const noexcept { return amounts_[type]; }
  /// Whether no type is set.
  [[nodiscard]] constexpr bool empty() const noexcept { return types_ == 0; }
  /// The types that are set, as bits.
  [[nodiscard]] constexpr std::uint32_t types() const noexcept { return types_; }

  constexpr resources& operator+=(const resources& other) noexcept {
    for_each(other.types_, [&](resource_type type) { set(type, sum(amounts_[type], other.amounts_[type])); });
    return *this;
  }
  constexpr resources& operator-=(const resources& other) noexcept {
    for_each(other.types_, [&](resource_type type) { set(type, sum(amounts_[type], -other.amounts_[type])); });
    return *this;
  }
  [[nodiscard]] friend constexpr resources operator+(resources a, const resources& b) noexcept { return a += b; }
  [[nodiscard]] friend constexpr resources operator-(resources a, const resources& b) noexcept { return a -= b; }
  /// The same types with the same amounts; `same_amounts` ignores the types.
  friend constexpr bool operator==(const resources&, const resources&) = default;

  /// Calls @p visit(type) for each bit of @p types, in order.
  template <class Visit>
  static constexpr void for_each(std::uint32_t types, Visit visit) {
    for (; types != 0; types &= types - 1) visit(static_cast<resource_type>(std::countr_zero(types)));
  }
  /// Whether @p holds(type) for each bit of @p types.
  template <class Holds>
  [[nodiscard]] static constexpr bool all_of(std::uint32_t types, Holds holds) {
    for (; types != 0; types &= types - 1)
      if (!holds(static_cast<resource_type>(std::countr_zero(types)))) return false;
    return true;
  }

 private:
  [[nodiscard]] static constexpr std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                           least = std::numeric_limits<std::int64_t>::min();
    if (b > 0 && a > most - b) return most;
    if (b < 0 && a < least - b) return least;
    return a + b;
  }

  std::uint32_t types_ = 0;
  std::array<std::int64_t, max_types> amounts_{};
};

/// @p base minus @p less, where base is set; other types stay unset.
[[nodiscard]] constexpr resources minus_where_set(const resources& base, const resources& less) noexcept {
  resources made = base - less, kept;
  resources::for_each(base.types(), [&](resource_type type) { kept.set(type, made[type]); });
  return kept;
}
/// The smaller amount of each type; where only one is set, that one.
[[nodiscard]] constexpr resources least(const resources& a, const resources& b) noexcept {
  resources made = a;
  resources::for_each(b.types(),
                      [&](resource_type type) { made.set(type, a.has(type) ? std::min(a[type], b[type]) : b[type]); });
  return made;
}
/// @p over; where that is not set, @p under.
[[nodiscard]] constexpr resources overlay(const resources& under, const resources& over) noexcept {
  resources made = under;
  resources::for_each(over.types(), [&](resource_type type) { made.set(type, over[type]); });
  return made;
}

[[nodiscard]] constexpr bool is_zero(const resources& of) noexcept {
  return resources::all_of(of.types(), [&](resource_type type) { return of[type] == 0; });
}
/// Whether the amounts are the same, where unset counts as 0.
[[nodiscard]] constexpr bool same_amounts(const resources& a, const resources& b) noexcept {
  return resources::all_of(a.types() | b.types(), [&](resource_type type) { return a[type] == b[type]; });
}
/// Whether a node or queue with @p room has room for @p request; a type that room lacks counts as 0, and negative room as 0.
[[nodiscard]] constexpr bool fits(const resources& room, const resources& request) noexcept {
  return resources::all_of(request.types(),
                           [&](resource_type type) { return request[type] <= std::max<std::int64_t>(0, room[type]); });
}
/// As `fits`, but a type that room lacks is unlimited.
[[nodiscard]] constexpr bool fits_limit(const resources& room, const resources& request) noexcept {
  return resources::all_of(request.types() & room.types(),
                           [&](resource_type type) { return request[type] <= std::max<std::int64_t>(0, room[type]); });
}
/// Whether no amount of @p a is less than that of @p b, where unset counts as 0.
[[nodiscard]] constexpr bool at_least(const resources& a, const resources& b) noexcept {
  return resources::all_of(a.types() | b.types(), [&](resource_type type) { return a[type] >= b[type]; });
}
/// … and some amount is more.
[[nodiscard]] constexpr bool strictly_greater(const resources& a, const resources& b) noexcept {
  return at_least(a, b) && !same_amounts(a, b);
}
/// Whether @p a, of the types that both have, is nowhere less than @p b and somewhere more; if they have none in common, whether both have
/// some; if @p b has none, whether everything of @p a is positive.
[[nodiscard]] constexpr bool strictly_greater_where_set(const resources& a, const resources& b) noexcept {
  const std::uint32_t common = a.types() & b.types();
  if (b.empty()) return !a.empty() && resources::all_of(a.types(), [&](resource_type type) { return a[type] > 0; });
  if (common == 0) return !a.empty();
  return resources::all_of(common, [&](resource_type type) { return a[type] >= b[type]; }) &&
         !resources::all_of(common, [&](resource_type type) { return a[type] == b[type]; });
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
