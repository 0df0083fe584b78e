#include "gangsched/core/quantity.hpp"

#include <limits>

#include <fmt/format.h>

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE quantity_magnitude quantity_size(quantity_nanos nanos) noexcept {
  const auto bits = static_cast<quantity_magnitude>(nanos);
  return nanos < 0 ? quantity_magnitude{0} - bits : bits;
}

GANGSCHED_INLINE bool round_quantity(quantity_nanos nanos, std::uint64_t step, std::int64_t& out) noexcept {
  const quantity_magnitude size = quantity_size(nanos);
  quantity_magnitude rounded = 0;
  if (size <= std::numeric_limits<std::uint64_t>::max()) {  // nearly always; a 128-bit division is a library call
    const auto narrow = static_cast<std::uint64_t>(size);
    rounded = narrow / step + (narrow % step != 0 ? 1u : 0u);
  } else {
    rounded = size / step + (size % step != 0 ? 1u : 0u);
  }
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  if (rounded > top || (rounded == top && nanos >= 0)) return false;
  const auto narrow = static_cast<std::uint64_t>(rounded);
  out = static_cast<std::int64_t>(nanos < 0 ? std::uint64_t{0} - narrow : narrow);
  return true;
}

GANGSCHED_INLINE error quantity_error(errc code, std::string_view text, const char* reason) {
  return {code, "quantity", std::string(text), reason};
}

}  // namespace detail

GANGSCHED_INLINE result<quantity> quantity::parse(std::string_view text) {
  const detail::parsed_quantity parsed = detail::parse_quantity(text);
  switch (parsed.verdict) {
    case detail::quantity_verdict::good: break;
    case detail::quantity_verdict::malformed:
      return detail::quantity_error(errc::malformed, text,
                                    "expected a number and an optional suffix, such as 100m or 1.5Gi");
    case detail::quantity_verdict::too_large:
      return detail::quantity_error(errc::out_of_range, text, "beyond 2^127-1 billionths");
  }
  return from_nanos(parsed.nanos, parsed.format);
}

GANGSCHED_INLINE bool quantity::value(std::int64_t& out) const noexcept {
  return detail::round_quantity(nanos_, 1'000'000'000, out);
}

GANGSCHED_INLINE bool quantity::milli_value(std::int64_t& out) const noexcept {
  return detail::round_quantity(nanos_, 1'000'000, out);
}

GANGSCHED_INLINE result<std::int64_t> quantity::value() const {
  std::int64_t out = 0;
  if (!value(out)) return detail::quantity_error(errc::overflow, to_string(), "does not fit into 64 bits");
  return out;
}

GANGSCHED_INLINE result<std::int64_t> quantity::milli_value() const {
  std::int64_t out = 0;
  if (!milli_value(out))
    return detail::quantity_error(errc::overflow, to_string(), "in thousandths does not fit into 64 bits");
  return out;
}

GANGSCHED_INLINE std::string quantity::to_string() const {
  if (nanos_ == 0) return "0";
  const char* const sign = nanos_ < 0 ? "-" : "";
  detail::quantity_magnitude mantissa = detail::quantity_size(nanos_);
  // Binary suffixes would lose a fraction and confuse below 1024.
  if (format_ == format_kind::binary_si && mantissa % detail::quantity_nano == 0 &&
      mantissa >= 1024 * detail::quantity_nano) {
    constexpr const char* suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    std::size_t power = 0;
    for (mantissa /= detail::quantity_nano; power < 6 && mantissa % 1024 == 0; ++power) mantissa /= 1024;
    return fmt::format("{}{}{}", sign, mantissa, suffixes[power]);
  }
  int exponent = -9;
  for (; mantissa % 1000 == 0 && (exponent < 18 || format_ == format_kind::decimal_exponent); exponent += 3)
    mantissa /= 1000;
  if (format_ == format_kind::decimal_exponent) {
    return exponent == 0 ? fmt::format("{}{}", sign, mantissa) : fmt::format("{}{}e{}", sign, mantissa, exponent);
  }
  constexpr const char* suffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  return fmt::format("{}{}{}", sign, mantissa, suffixes[(exponent + 9) / 3]);
}

}  // namespace gangsched::inline GANGSCHED_ABI
