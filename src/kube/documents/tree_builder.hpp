#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/kube/document.hpp"

/// What the two parsers have in common: errors that name file and line, and no key twice.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

inline error syntax_error(errc code, std::string_view file, std::size_t line, std::string reason) {
  return {code, std::string{file} + ":" + std::to_string(line), "syntax", std::move(reason)};
}

inline error too_long(std::string_view file, std::size_t most) {
  return {errc::out_of_range, std::string{file}, "file", "has more than " + std::to_string(most) + " bytes"};
}

/// A key that an object has twice, or nothing. O(keys · log keys).
inline std::optional<std::string> repeated_key(const value& object) {
  if (object.keys.size() < 2) return std::nullopt;
  std::vector<std::string_view> sorted(object.keys.begin(), object.keys.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return std::nullopt;
  return std::string{*twice};
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
