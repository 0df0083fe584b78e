#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Where a check is in a spec: a chain on the stack that becomes text only when something is wrong.
struct spec_path {
  enum class step : std::uint8_t { field, element, entry };
  const spec_path* up = nullptr;
  step kind = step::field;
  std::string_view name = {};
  std::size_t index = 0;

  [[nodiscard]] spec_path field(std::string_view of) const noexcept { return {this, step::field, of}; }
  [[nodiscard]] spec_path at(std::size_t number) const noexcept { return {this, step::element, {}, number}; }
  [[nodiscard]] spec_path at(std::string_view key) const noexcept { return {this, step::entry, key}; }

  [[nodiscard]] std::string text() const {
    std::string all = up == nullptr ? std::string{} : up->text();
    switch (kind) {
      case step::field:
        if (!all.empty()) all += '.';
        all += name;
        break;
      case step::element: all += "[" + std::to_string(index) + "]"; break;
      case step::entry: all.append("[\"").append(name).append("\"]"); break;
    }
    return all;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail
