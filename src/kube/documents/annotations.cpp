#include "gangsched/src/kube/documents/annotations.hpp"

#include <fmt/format.h>

#include <charconv>

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

spot find_spot(const place& of, std::initializer_list<std::string_view> steps) {
  spot found{of.at->line, of.path()};
  const value* at = of.at;
  for (const std::string_view step : steps) {
    const value* next = nullptr;
    if (at != nullptr && step.starts_with('[')) {
      std::size_t index = 0;
      std::from_chars(step.data() + 1, step.data() + step.size(), index);
      if (index < at->items.size()) next = &at->items[index];
      found.path += step;
    } else {
      if (at != nullptr) next = at->find(step);
      const bool plain = step.find_first_of("./[\" ") == std::string_view::npos;
      found.path += plain ? fmt::format("{}{}", found.path.empty() ? "" : ".", step) : fmt::format("[\"{}\"]", step);
    }
    if (next != nullptr) found.line = next->line;
    at = next;
  }
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
