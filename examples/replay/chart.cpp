#include "replay/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "replay/text.hpp"

namespace replay {

std::string chart(const outcome& of, instant until) {
  constexpr int width = 72, height = 12;
  const instant whole = until - of.first_arrival;
  std::array<load, width> columns;
  double peak = 0;
  for (int x = 0; x < width; ++x) {
    load& column = columns[static_cast<std::size_t>(x)];
    column = load_between(of, of.first_arrival + whole / width * x, of.first_arrival + whole / width * (x + 1));
    peak = std::max(peak, column.computing + column.idle);
  }
  double top = 1;  // of the axis
  for (const double lower : {0.5, 0.2, 0.1, 0.05, 0.02, 0.01}) {
    if (peak <= lower) top = lower;
  }

  std::string text;
  for (int y = height; y > 0; --y) {
    text += y % 3 == 0 ? fmt::format("  {:>6} |", percent(top * y / height)) : fmt::format("  {:>6} |", "");
    std::string line;
    const double middle = top * (y - 0.5) / height;
    for (const load& column : columns) {
      line += column.computing >= middle ? '#' : column.computing + column.idle >= middle ? '.' : ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  text += fmt::format("  {:>6} +{:-<{}}\n", "0 %", "", width);
  const std::string end = time_span(whole);
  return text + fmt::format("         {:<{}}{}\n", "0", width - static_cast<int>(end.size()) + 1, end);
}

}  // namespace replay
