#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include "gangsched/core/config.hpp"

/// Kubernetes' rules for names and labels (apimachinery util/validation), as predicates. O(length), no allocation.
namespace gangsched::inline GANGSCHED_ABI::detail {

[[nodiscard]] constexpr bool is_lower_alnum(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
[[nodiscard]] constexpr bool is_alnum(char c) noexcept { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

/// By character, whether it is one of a-z, 0-9 and '-': called for every name of every object.
inline constexpr std::array<bool, 256> in_dns_label = [] {
  std::array<bool, 256> made{};
  for (std::size_t c = 0; c < made.size(); ++c)
    made[c] = is_lower_alnum(static_cast<char>(c)) || static_cast<char>(c) == '-';
  return made;
}();

/// At most 63 of a-z, 0-9 and '-', neither first nor last a '-'.
[[nodiscard]] constexpr bool is_dns_label(std::string_view text) noexcept {
  if (text.empty() || text.size() > 63 || !is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  for (const char c : text)
    if (!in_dns_label[static_cast<unsigned char>(c)]) return false;
  return true;
}

/// At most 253 characters, parts like DNS labels (but of any length) joined by '.'.
[[nodiscard]] constexpr bool is_dns_subdomain(std::string_view text) noexcept {
  if (text.empty() || text.size() > 253 || !is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_dns_label[static_cast<unsigned char>(text[i])]) continue;
    if (text[i] != '.' || !is_lower_alnum(text[i - 1]) || !is_lower_alnum(text[i + 1])) return false;
  }
  return true;
}

/// Empty, or at most 63 of A-Z, a-z, 0-9, '-', '_' and '.', first and last a letter or digit.
[[nodiscard]] constexpr bool is_label_value(std::string_view text) noexcept {
  if (text.empty()) return true;
  if (text.size() > 63 || !is_alnum(text.front()) || !is_alnum(text.back())) return false;
  for (const char c : text)
    if (!is_alnum(c) && c != '-' && c != '_' && c != '.') return false;
  return true;
}

/// Of a queue or flavor, whose names have other rules: 1 to 253 characters of ASCII, none of them blank or invisible.
inline constexpr const char* not_a_queue_name = "is no name: 1 to 253 characters of ASCII without blanks";
[[nodiscard]] constexpr bool is_queue_name(std::string_view text) noexcept {
  for (const char c : text)
    if (c <= ' ' || c > '~') return false;
  return !text.empty() && text.size() <= 253;
}

/// A non-empty label value, with an optional DNS subdomain and '/' before it.
[[nodiscard]] constexpr bool is_qualified_name(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return !text.empty() && is_label_value(text);
  const std::string_view name = text.substr(slash + 1);
  return is_dns_subdomain(text.substr(0, slash)) && !name.empty() && is_label_value(name);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
