#include "simulate/arrivals.hpp"

#include <chrono>
#include <cstdint>

#include "replay/csv.hpp"

namespace simulate {

std::vector<gangsched::kube::simulation::arrival> read_arrivals(const std::string& file) {
  constexpr std::int64_t longest = std::int64_t{100} * 365 * 86'400;  // seconds
  std::vector<gangsched::kube::simulation::arrival> all;
  replay::csv_file table{file};
  const auto name = table.find("name"), arrival = table.find("arrival_s");
  const auto duration = table.find_if_there("duration_s");
  while (table.next()) {
    auto& one = all.emplace_back();
    one.name = table.text(name);
    one.where = table.place_of(name);
    one.arrives = std::chrono::seconds{table.number(arrival, 0, longest)};
    if (duration && !table.text(*duration).empty())
      one.runs = std::chrono::seconds{table.number(*duration, 0, longest)};
  }
  return all;
}

}  // namespace simulate
