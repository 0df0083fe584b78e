#include "gangsched/model/node_selector.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "gangsched/model/name_rules.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<std::int64_t> selector_number(std::string_view text) noexcept {
  // Go's ParseInt takes a leading '+', from_chars does not.
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

GANGSCHED_INLINE bool parses(const selector_requirement& wanted) noexcept {
  const bool numeric = wanted.op == selector_operator::gt || wanted.op == selector_operator::lt;
  return std::all_of(wanted.values.begin(), wanted.values.end(), [&](const std::string& value) {
    return detail::is_label_value(value) && (!numeric || selector_number(value));
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI
