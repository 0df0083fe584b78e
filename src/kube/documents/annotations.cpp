#include "gangsched/src/kube/documents/annotations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_duration(reader& read, const place& of, std::string_view like, instant& out) {
  std::string text;
  if (!read.text(of, text)) return false;
  const auto made = parse_duration(text);
  if (!made || *made < instant::zero())
    return read.fail(errc::malformed, of, fmt::format("\"{}\" is no duration like {}", text, like));
  out = *made;
  return true;
}

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

namespace gangsched::inline GANGSCHED_ABI::kube {

std::optional<instant> parse_duration(std::string_view text) {
  static constexpr std::pair<std::string_view, double> units[] = {{"ms", 1e6},   {"us", 1e3}, {"ns", 1},
                                                                  {"h", 3.6e12}, {"m", 6e10}, {"s", 1e9}};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return instant::zero();
  double nanos = 0;
  bool any = false;
  while (!text.empty()) {
    double count = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
    if (wrong != std::errc{} || !(count >= 0)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto unit = std::ranges::find_if(units, [&](const auto& one) { return text.starts_with(one.first); });
    if (unit == std::end(units)) return std::nullopt;
    text.remove_prefix(unit->first.size());
    nanos += count * unit->second;
    any = true;
  }
  constexpr double longest = 9e18;
  if (!any || !(nanos <= longest)) return std::nullopt;
  return instant{static_cast<std::int64_t>(negative ? -nanos : nanos)};
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
