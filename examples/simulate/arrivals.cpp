#include "simulate/arrivals.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "replay/csv.hpp"
#include "simulate/bad_input.hpp"

namespace simulate {
namespace {

constexpr std::int64_t longest = std::int64_t{100} * 365 * 86'400;  // seconds

/// Which pods each name means, with and without their namespaces.
std::multimap<std::string, std::size_t> pods_by_name(const gangsched::kube::manifests& what) {
  std::multimap<std::string, std::size_t> all;
  for (std::size_t i = 0; i < what.pods.size(); ++i) {
    const gangsched::kube::pod_manifest& pod = what.pods[i];
    for (const std::string* const name : {&pod.spec.name, &pod.owner_name, &pod.group}) {
      if (name->empty()) continue;
      all.emplace(*name, i);
      all.emplace(pod.spec.ns + "/" + *name, i);
    }
  }
  return all;
}

}  // namespace

std::vector<lifetime> read_arrivals(const std::string& file, const gangsched::kube::manifests& what) {
  const std::multimap<std::string, std::size_t> by_name = pods_by_name(what);
  std::vector<lifetime> all(what.pods.size());
  try {
    replay::csv_file table{file};
    const auto name = table.find("name"), arrival = table.find("arrival_s");
    const auto duration = table.find_if_there("duration_s");
    while (table.next()) {
      const auto [first, last] = by_name.equal_range(table.text(name));
      if (first == last)
        table.fail(name, fmt::format("\"{}\" is no pod, no controller and no group", table.text(name)));
      lifetime said{.arrives = std::chrono::seconds{table.number(arrival, 0, longest)}};
      if (duration && !table.text(*duration).empty())
        said.runs = std::chrono::seconds{table.number(*duration, 0, longest)};
      for (auto one = first; one != last; ++one) all[one->second] = said;
    }
  } catch (const replay::bad_input& wrong) {
    throw bad_input{wrong.what()};
  }
  return all;
}

}  // namespace simulate
