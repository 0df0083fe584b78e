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

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What is written as JSON or YAML. Unlike nlohmann's it takes no memory to go: where memory runs out it may be half made.
class tree {
 public:
  enum class form : std::uint8_t { null, word, text, list, object };  ///< word: a number, true or false

  tree() = default;
  tree(std::string_view text) : form_(form::text), text_(text) {}
  tree(const std::string& text) : tree(std::string_view{text}) {}
  tree(const char* text) : tree(std::string_view{text}) {}
  tree(bool truth) : form_(form::word), text_(truth ? "true" : "false") {}
  template <std::integral Number>
  tree(Number number) : form_(form::word), text_(std::to_string(number)) {}
  tree(double number);
  template <class Item>
  tree(const std::vector<Item>& all) : form_(form::list), items_(all.begin(), all.end()) {}
  tree(std::initializer_list<std::pair<const char*, tree>> fields);

  [[nodiscard]] static tree list() { return tree{form::list}; }
  [[nodiscard]] static tree object() { return tree{form::object}; }

  [[nodiscard]] form is() const noexcept { return form_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<std::string>& keys() const noexcept { return keys_; }  ///< of an object
  [[nodiscard]] const std::vector<tree>& items() const noexcept { return items_; }       ///< of it, or of a list

  /// The field, which is made if it is not there; what is null becomes an object. O(fields).
  tree& operator[](std::string_view key);
  tree& operator[](std::size_t at) { return items_[at]; }
  /// What is null becomes a list.
  tree& add(tree item);
  [[nodiscard]] tree& back() { return items_.back(); }

  /// @p indent: spaces for each level; -1: all in one line. What is no UTF-8 is replaced. O(size).
  [[nodiscard]] std::string json(int indent) const;

 private:
  explicit tree(form is) : form_(is) {}
  void write(std::string& to, int indent, std::size_t depth) const;

  form form_ = form::null;
  std::string text_;
  std::vector<std::string> keys_;
  std::vector<tree> items_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
