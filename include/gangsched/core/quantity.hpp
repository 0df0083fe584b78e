#pragma once
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "gangsched/core/config.hpp"
#include "gangsched/core/quantity_parse.hpp"
#include "gangsched/core/result.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Integer types of up to 64 bits that count something: neither bool nor a character type.
template <class T>
concept count_of_units =
    std::integral<T> && sizeof(T) <= 8 && !std::same_as<T, bool> && !std::same_as<T, char> &&
    !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

}  // namespace detail

/// An amount of a resource with the meaning of Kubernetes' resource.Quantity (apimachinery 1.36): exact to 1e-9, finer input
/// rounded away from zero. Sums of quantities are exact; conversion to an integer rounds once.
///
/// Deliberate difference: text without a digit ("+", ".", "m", "Ki"), which upstream takes for 0, is malformed.
/// Limits: amounts up to ±(2^127-1) nanos, 1.7e29 units. Negative amounts round away from zero whatever their spelling;
/// upstream's Value() of a negative amount outside its 64-bit form is an accident and is not followed.
class quantity {
 public:
  using nanos_t = detail::quantity_nanos;
  using format_kind = quantity_format;

  constexpr quantity() noexcept = default;
  /// @p units whole units: every integer that has at most 64 bits, unsigned ones too.
  template <detail::count_of_units T>
  constexpr quantity(T units) noexcept : nanos_(nanos_t{units} * nano) {}
  /// A fraction is written "1500m"_q, parsed, or made by from_milli. 1.5 does not compile: as an integer it would be 1, and 0.1, taken
  /// exactly, would be 100000000.000000005551 nanos, which a quantity, exact to 1e-9, would have to round silently. Booleans and characters
  /// do not compile either: '4' is 52.
  template <class T>
    requires(std::is_arithmetic_v<T> && !detail::count_of_units<T>)
  quantity(T) = delete;
  [[nodiscard]] static constexpr quantity from_milli(std::int64_t milli) noexcept {
    return from_nanos(nanos_t{milli} * 1'000'000);
  }
  [[nodiscard]] static constexpr quantity from_nanos(nanos_t nanos,
                                                     format_kind format = format_kind::decimal_si) noexcept {
    quantity q;
    q.nanos_ = nanos;
    q.format_ = format;
    return q;
  }
  /// Parses "100m", "1.5Gi", "12e6", … Amounts with a binary suffix are capped at ±(2^63-1).
  /// Error: malformed, or out_of_range beyond the limits (object "quantity", field the text). O(length).
  [[nodiscard]] GANGSCHED_API static result<quantity> parse(std::string_view text);

  [[nodiscard]] constexpr nanos_t nanos() const noexcept { return nanos_; }
  [[nodiscard]] constexpr format_kind format() const noexcept { return format_; }
  [[nodiscard]] constexpr bool negative() const noexcept { return nanos_ < 0; }

  /// The amount rounded away from zero to an integer. Error: overflow (object "quantity", field the text).
  [[nodiscard]] GANGSCHED_API result<std::int64_t> value() const;
  /// 1000 times the amount rounded away from zero to an integer. Error: overflow.
  [[nodiscard]] GANGSCHED_API result<std::int64_t> milli_value() const;
  /// The same without the error's cost: false if it does not fit.
  [[nodiscard]] GANGSCHED_API bool value(std::int64_t& out) const noexcept;
  [[nodiscard]] GANGSCHED_API bool milli_value(std::int64_t& out) const noexcept;

  /// Canonical text, as Kubernetes prints it: largest suffix with a whole mantissa.
  [[nodiscard]] GANGSCHED_API std::string to_string() const;

  /// Exact; sums beyond the limits stay at the limit, where value() reports overflow. A zero takes over the other's format.
  constexpr quantity& operator+=(const quantity& other) noexcept {
    if (nanos_ == 0) format_ = other.format_;
    if (__builtin_add_overflow(nanos_, other.nanos_, &nanos_)) {
      const auto limit = static_cast<nanos_t>(detail::quantity_limit);
      nanos_ = other.nanos_ < 0 ? -limit : limit;
    }
    return *this;
  }
  friend constexpr quantity operator+(quantity a, const quantity& b) noexcept { return a += b; }
  friend constexpr bool operator==(const quantity& a, const quantity& b) noexcept { return a.nanos_ == b.nanos_; }
  friend constexpr std::strong_ordering operator<=>(const quantity& a, const quantity& b) noexcept {
    return a.nanos_ < b.nanos_   ? std::strong_ordering::less
           : a.nanos_ > b.nanos_ ? std::strong_ordering::greater
                                 : std::strong_ordering::equal;
  }

 private:
  static constexpr nanos_t nano = 1'000'000'000;
  nanos_t nanos_ = 0;
  format_kind format_ = format_kind::decimal_si;
};

namespace literals {

/// "1500m"_q, "1Gi"_q; a text that parse() rejects does not compile.
[[nodiscard]] consteval quantity operator""_q(const char* text, std::size_t length) {
  const detail::parsed_quantity parsed = detail::parse_quantity({text, length});
  if (parsed.verdict != detail::quantity_verdict::good) detail::this_literal_is_not_a_quantity();
  return quantity::from_nanos(parsed.nanos, parsed.format);
}

}  // namespace literals
}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/core/quantity.cpp"
#endif
