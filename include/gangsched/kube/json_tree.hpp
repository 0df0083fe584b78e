#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {

/// A value that is written as JSON or YAML; fields keep their order. Unlike with nlohmann's tree, its destruction allocates nothing. If
/// memory runs out while it is filled, it may be incomplete.
class GANGSCHED_API json_tree {
 public:
  enum class form : std::uint8_t { null, word, text, list, object };  ///< word: a number, true or false

  json_tree() = default;
  json_tree(std::string_view text) : form_(form::text), text_(text) {}
  json_tree(const std::string& text) : json_tree(std::string_view{text}) {}
  json_tree(const char* text) : json_tree(std::string_view{text}) {}
  template <std::same_as<bool> Truth>
  json_tree(Truth truth) : form_(form::word), text_(truth ? "true" : "false") {}
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  json_tree(Number number) : form_(form::word), text_(std::to_string(number)) {}
  json_tree(double number);  ///< null, unless it is finite
  template <class Item>
  json_tree(const std::vector<Item>& all) : form_(form::list), items_(all.begin(), all.end()) {}
  json_tree(std::initializer_list<std::pair<const char*, json_tree>> fields);

  [[nodiscard]] static json_tree list() { return json_tree{form::list}; }
  [[nodiscard]] static json_tree object() { return json_tree{form::object}; }

  [[nodiscard]] form is() const noexcept { return form_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<std::string>& keys() const noexcept { return keys_; }  ///< of an object
  [[nodiscard]] const std::vector<json_tree>& items() const noexcept { return items_; }  ///< of it, or of a list

  /// The field @p key, made if it is missing; a null value becomes an object first. @pre the value is null or an object. O(fields).
  json_tree& operator[](std::string_view key);
  json_tree& operator[](std::size_t at) { return items_[at]; }
  /// Appends @p item; a null value becomes a list first. @pre the value is null or a list.
  json_tree& add(json_tree item);
  [[nodiscard]] json_tree& back() { return items_.back(); }

  /// @p indent: spaces for each level; -1: all in one line. What is no UTF-8 is replaced. O(size).
  [[nodiscard]] std::string json(int indent) const;

 private:
  explicit json_tree(form is) : form_(is) {}
  void write(std::string& to, int indent, std::size_t depth) const;

  form form_ = form::null;
  std::string text_;
  std::vector<std::string> keys_;
  std::vector<json_tree> items_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube
