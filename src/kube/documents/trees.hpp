#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/kube/document.hpp"

/// Trees that are made or completed here, for objects that other objects are made of.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// The object's field, or null.
inline value* find_field(value& object, std::string_view key) {
  const auto found = std::ranges::find(object.keys, key);
  return found == object.keys.end() ? nullptr : &object.items[static_cast<std::size_t>(found - object.keys.begin())];
}

inline value& set_field(value& object, std::string_view key, value to) {
  if (value* found = find_field(object, key)) return *found = std::move(to);
  object.keys.emplace_back(key);
  return object.items.emplace_back(std::move(to));
}

/// The object's field, which is made if there is none.
inline value& make_field(value& object, std::string_view key, value_kind kind) {
  if (value* found = find_field(object, key); found != nullptr && found->kind != value_kind::null) return *found;
  value made;
  made.kind = kind;
  made.line = object.line;
  return set_field(object, key, std::move(made));
}

inline value leaf(value_kind kind, std::string text, std::uint32_t line) {
  value made;
  made.kind = kind;
  made.line = line;
  made.text = std::move(text);
  return made;
}

inline value object_of(std::vector<std::pair<std::string, value>> fields, std::uint32_t line) {
  value made;
  made.kind = value_kind::object;
  made.line = line;
  for (auto& [key, of] : fields) {
    made.keys.push_back(std::move(key));
    made.items.push_back(std::move(of));
  }
  return made;
}

/// "a" of {a: …}; nothing if that is no text.
inline std::string_view text_at(const value& object, std::string_view key) {
  const value* found = object.find(key);
  return found != nullptr && found->kind == value_kind::text ? std::string_view{found->text} : std::string_view{};
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
