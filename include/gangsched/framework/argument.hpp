#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A plugin's argument as a host's configuration has it: a tree of plain values (what YAML and JSON can say).
struct argument {
  using list = std::vector<argument>;
  using fields = std::vector<std::pair<std::string, argument>>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, list, fields> value;

  argument() = default;
  argument(bool v) : value(v) {}
  argument(int v) : value(std::int64_t{v}) {}
  argument(std::int64_t v) : value(v) {}
  argument(double v) : value(v) {}
  argument(const char* v) : value(std::string{v}) {}
  argument(std::string v) : value(std::move(v)) {}
  argument(list v) : value(std::move(v)) {}
  argument(fields v) : value(std::move(v)) {}

  // if_…: null if it is of another kind. (Numbers that are no whole ones: std::get_if<double>(&value).)
  [[nodiscard]] bool empty() const noexcept { return std::holds_alternative<std::monostate>(value); }
  [[nodiscard]] const bool* if_bool() const noexcept { return std::get_if<bool>(&value); }
  [[nodiscard]] const std::int64_t* if_int() const noexcept { return std::get_if<std::int64_t>(&value); }
  [[nodiscard]] const std::string* if_text() const noexcept { return std::get_if<std::string>(&value); }
  [[nodiscard]] const list* if_list() const noexcept { return std::get_if<list>(&value); }
  [[nodiscard]] const fields* if_fields() const noexcept { return std::get_if<fields>(&value); }
  /// The field of that name, or null.
  [[nodiscard]] const argument* find(std::string_view name) const noexcept {
    if (const fields* all = if_fields()) {
      for (const auto& [key, field] : *all)
        if (key == name) return &field;
    }
    return nullptr;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI
