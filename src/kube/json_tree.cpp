#include "gangsched/kube/json_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace {

/// How many bytes the character at the front has; 0: it is no UTF-8.
std::size_t length_of_first(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xc0u) == 0x80u; };
  const unsigned first = at(0), second = at(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool fine =
        follows(1) && follows(2) && !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f);
    return fine ? 3 : 0;
  }
  if (first < 0xf0 || first > 0xf4) return 0;
  const bool fine =
      follows(1) && follows(2) && follows(3) && !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
  return fine ? 4 : 0;
}

void write_text(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const std::size_t length = length_of_first(text);
    switch (const char first = text.front(); first) {
      case '"': to += "\\\""; break;
      case '\\': to += "\\\\"; break;
      case '\b': to += "\\b"; break;
      case '\f': to += "\\f"; break;
      case '\n': to += "\\n"; break;
      case '\r': to += "\\r"; break;
      case '\t': to += "\\t"; break;
      default:
        if (length == 0)
          to += "\xef\xbf\xbd";
        else if (static_cast<unsigned char>(first) < 0x20)
          fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(first));
        else
          to += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  to += '"';
}

void new_line(std::string& to, int indent, std::size_t depth) {
  if (indent < 0) return;
  to += '\n';
  to.append(static_cast<std::size_t>(indent) * depth, ' ');
}

}  // namespace

json_tree::json_tree(double number) {
  if (!std::isfinite(number)) return;
  form_ = form::word;
  text_ = fmt::format("{}", number);
  if (text_.find_first_not_of("-0123456789") == std::string::npos) text_ += ".0";  // it is read as such again
}

json_tree::json_tree(std::initializer_list<std::pair<const char*, json_tree>> fields) : form_(form::object) {
  for (const auto& [key, item] : fields) (*this)[key] = item;
}

json_tree& json_tree::operator[](std::string_view key) {
  GANGSCHED_ASSERT(form_ == form::object || form_ == form::null);
  form_ = form::object;
  const auto found = std::ranges::find(keys_, key);
  if (found != keys_.end()) return items_[static_cast<std::size_t>(found - keys_.begin())];
  keys_.emplace_back(key);
  return items_.emplace_back();
}

json_tree& json_tree::add(json_tree item) {
  GANGSCHED_ASSERT(form_ == form::list || form_ == form::null);
  form_ = form::list;
  return items_.emplace_back(std::move(item));
}

void json_tree::write(std::string& to, int indent, std::size_t depth) const {
  if (form_ == form::null) to += "null";
  if (form_ == form::word) to += text_;
  if (form_ == form::text) write_text(to, text_);
  if (form_ != form::list && form_ != form::object) return;
  const bool named = form_ == form::object;
  to += named ? '{' : '[';
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (i > 0) to += ',';
    new_line(to, indent, depth + 1);
    if (named) {
      write_text(to, keys_[i]);
      to += indent < 0 ? ":" : ": ";
    }
    items_[i].write(to, indent, depth + 1);
  }
  if (!items_.empty()) new_line(to, indent, depth);
  to += named ? '}' : ']';
}

std::string json_tree::json(int indent) const {
  std::string made;
  write(made, indent, 0);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
