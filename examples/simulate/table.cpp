#include "simulate/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace simulate {

std::string table::text() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const std::vector<std::string>& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (widths[i] != 0) widths[i] = std::max(widths[i], columns_[i].title.size());

  std::string all;
  const auto write = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      if (!line.empty()) line += "  ";
      line += columns_[i].right ? fmt::format("{:>{}}", cell(i), widths[i]) : fmt::format("{:<{}}", cell(i), widths[i]);
    }
    all += line.erase(line.find_last_not_of(' ') + 1) + '\n';
  };
  write([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const std::vector<std::string>& row : rows_) write([&](std::size_t i) -> const std::string& { return row[i]; });
  return all;
}

}  // namespace simulate
