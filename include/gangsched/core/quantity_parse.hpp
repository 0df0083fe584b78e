#pragma once
// The constexpr reader behind quantity::parse() and the _q literal.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// How an amount is spelt: 1500m, 1536Mi, 15e2.
enum class quantity_format : std::uint8_t { decimal_si, binary_si, decimal_exponent };

namespace detail {

__extension__ using quantity_nanos = __int128;
__extension__ using quantity_magnitude = unsigned __int128;

enum class quantity_verdict : std::uint8_t { good, malformed, too_large };

struct parsed_quantity {
  quantity_verdict verdict = quantity_verdict::malformed;
  quantity_format format = quantity_format::decimal_si;
  quantity_nanos nanos = 0;
};

/// What a suffix multiplies by: 2^exponent (binary_si) or 10^exponent.
struct quantity_scale {
  bool known = false;
  quantity_format format = quantity_format::decimal_si;
  std::int64_t exponent = 0;
};

inline constexpr quantity_magnitude quantity_nano = 1'000'000'000;
inline constexpr quantity_magnitude quantity_limit = ~quantity_magnitude{0} >> 1;

/// The leading digits, taken off @p text.
[[nodiscard]] constexpr std::string_view take_quantity_digits(std::string_view& text) noexcept {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

/// Takes a sign off @p text; true if it was a minus.
[[nodiscard]] constexpr bool take_quantity_sign(std::string_view& text) noexcept {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return false;
  const bool minus = text[0] == '-';
  text.remove_prefix(1);
  return minus;
}

/// Suffixes are tried before exponents: "E" is 10^18, "E3" is 10^3. An exponent outside 64 bits is not one, as upstream.
[[nodiscard]] constexpr quantity_scale read_quantity_suffix(std::string_view suffix) noexcept {
  if (suffix.empty()) return {true, quantity_format::decimal_si, 0};
  const bool binary = suffix.size() == 2 && suffix[1] == 'i';
  if (binary || suffix.size() == 1) {
    const std::string_view letters = binary ? "KMGTPE" : "num kMGTPE";
    const auto at = static_cast<std::int64_t>(letters.find(suffix[0]));  // -1: none
    if (at < 0 || suffix[0] == ' ') return {};
    if (binary) return {true, quantity_format::binary_si, 10 * at + 10};
    return {true, quantity_format::decimal_si, 3 * at - 9};
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return {};
  suffix.remove_prefix(1);
  const bool minus = take_quantity_sign(suffix);
  const std::string_view digits = take_quantity_digits(suffix);
  if (digits.empty() || !suffix.empty()) return {};
  std::uint64_t size = 0, most = (std::uint64_t{1} << 63) - (minus ? 0u : 1u);
  for (const char c : digits) {
    if (size > most / 10) return {};
    size = size * 10 + static_cast<unsigned>(c - '0');
    if (size > most) return {};
  }
  // No text is long enough for exponents beyond 2^62 to differ; below that, adding its length cannot overflow.
  constexpr std::uint64_t enough = std::uint64_t{1} << 62;
  const auto exponent = static_cast<std::int64_t>(size < enough ? size : enough);
  return {true, quantity_format::decimal_exponent, minus ? -exponent : exponent};
}

/// whole.fraction × 10^exponent in nanos, rounded up; false if above quantity_limit. O(length), whatever the exponent.
[[nodiscard]] constexpr bool decimal_quantity(std::string_view whole, std::string_view fraction, std::int64_t exponent,
                                              quantity_magnitude& out) noexcept {
  // The power of ten, in nanos, of the next digit.
  std::int64_t place = static_cast<std::int64_t>(whole.size()) + exponent + 8;
  quantity_magnitude n = 0;
  bool rest = false;
  for (const std::string_view part : {whole, fraction}) {
    for (const char c : part) {
      if (place >= 0 && n > quantity_limit / 10) return false;
      if (place >= 0) n = n * 10 + static_cast<unsigned>(c - '0');
      rest = rest || (place < 0 && c != '0');
      --place;
    }
  }
  for (; place >= 0 && n != 0; --place) {
    if (n > quantity_limit / 10) return false;
    n *= 10;
  }
  out = n + (rest ? 1u : 0u);
  return out <= quantity_limit;
}

/// whole.fraction × 2^shift in nanos, rounded up, at most 2^63-1 units. O(length).
[[nodiscard]] constexpr quantity_magnitude binary_quantity(std::string_view whole, std::string_view fraction,
                                                           unsigned shift) noexcept {
  constexpr std::uint64_t most_units = ~std::uint64_t{0} >> 1;
  constexpr quantity_magnitude most = quantity_nano * most_units;
  quantity_magnitude n = 0;
  for (const char c : whole) {
    n = n * 10 + static_cast<unsigned>(c - '0');
    if (n > (most_units >> shift)) return most;
  }
  for (std::size_t i = 0; i < 9; ++i)
    n = n * 10 + static_cast<unsigned>((i < fraction.size() ? fraction[i] : '0') - '0');
  // The decimals finer than a nano, times 2^shift from the right as on paper: `carry` (< 2^60) is what reaches the nanos.
  std::uint64_t carry = 0;
  bool rest = false;
  for (std::size_t i = fraction.size(); i > 9; --i) {
    const std::uint64_t product = (static_cast<std::uint64_t>(fraction[i - 1] - '0') << shift) + carry;
    rest = rest || product % 10 != 0;
    carry = product / 10;
  }
  n = (n << shift) + carry + (rest ? 1u : 0u);
  return n < most ? n : most;
}

[[nodiscard]] constexpr parsed_quantity parse_quantity(std::string_view text) noexcept {
  const bool minus = take_quantity_sign(text);
  const std::string_view whole = take_quantity_digits(text);
  std::string_view fraction;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    fraction = take_quantity_digits(text);
  }
  const quantity_scale scale = read_quantity_suffix(text);
  if (!scale.known || (whole.empty() && fraction.empty())) return {};
  quantity_magnitude size = 0;
  auto format = scale.format;
  if (format == quantity_format::binary_si) {
    size = binary_quantity(whole, fraction, static_cast<unsigned>(scale.exponent));
    if (size != 0 && size < quantity_nano) format = quantity_format::decimal_si;
  } else if (!decimal_quantity(whole, fraction, scale.exponent, size)) {
    return {quantity_verdict::too_large, format, 0};
  }
  return {quantity_verdict::good, format, static_cast<quantity_nanos>(size) * (minus ? -1 : 1)};
}

/// Never defined: a literal that reaches this is no constant expression, and the name says why.
void this_literal_is_not_a_quantity();

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI
