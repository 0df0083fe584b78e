#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/kube/document.hpp"

/// What the two parsers have in common: errors that name file and line, and of a key that is there twice the last.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

inline error syntax_error(errc code, std::string_view file, std::size_t line, std::string reason) {
  return {code, std::string{file} + ":" + std::to_string(line), "syntax", std::move(reason)};
}

inline error too_long(std::string_view file, std::size_t most) {
  return {errc::out_of_range, std::string{file}, "file", "has more than " + std::to_string(most) + " bytes"};
}

/// Leaves of the keys that @p object has several times the last, and says which they were. O(keys · log keys).
inline void keep_last_keys(value& object, std::vector<repeated_key>& repeated) {
  const std::size_t count = object.keys.size();
  if (count < 2) return;
  std::vector<std::size_t> by_key(count);
  for (std::size_t i = 0; i < count; ++i) by_key[i] = i;
  std::stable_sort(by_key.begin(), by_key.end(),
                   [&](std::size_t a, std::size_t b) { return object.keys[a] < object.keys[b]; });
  std::vector<bool> earlier(count);
  bool any = false;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    if (object.keys[by_key[i]] != object.keys[by_key[i + 1]]) continue;
    earlier[by_key[i]] = any = true;
    repeated.push_back({object.line, object.keys[by_key[i]]});
  }
  if (!any) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (earlier[i]) continue;
    if (kept != i) object.keys[kept] = std::move(object.keys[i]), object.items[kept] = std::move(object.items[i]);
    ++kept;
  }
  object.keys.resize(kept);
  object.items.resize(kept);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
