#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Whether nodes score higher the less of a resource is used, or the more.
enum class allocation_strategy : std::uint8_t { least_allocated, most_allocated };

/// A resource that a score considers, and its weight.
struct weighted_resource {
  std::string name;
  std::int64_t weight = 1;
};

/// Reads [{name, weight}], weights from 1 to @p most. False: an error, which @p read keeps.
[[nodiscard]] inline bool read_weighted_resources(argument_reader& read, const argument& value, const std::string& path,
                                                  std::int64_t most, std::vector<weighted_resource>& out) {
  return read.items(value, path, [&](const argument& item, const std::string& at) {
    weighted_resource& one = out.emplace_back();
    return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
      if (field == "name") return read.text(v, where, one.name);
      return field == "weight" ? read.number(v, where, 1, most, one.weight) : read.unknown(where);
    });
  });
}

/// Reads Koordinator's {type: LeastAllocated | MostAllocated, resources: [{name, weight}]}, weights from 1 to 100.
[[nodiscard]] inline bool read_allocation_strategy(argument_reader& read, const argument& value,
                                                   const std::string& path, allocation_strategy& how,
                                                   std::vector<weighted_resource>& out) {
  return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
    if (field == "resources") return read_weighted_resources(read, v, at, 100, out);
    if (field != "type") return read.unknown(at);
    return read.word(v, at,
                     {{"LeastAllocated", allocation_strategy::least_allocated},
                      {"MostAllocated", allocation_strategy::most_allocated}},
                     how);
  });
}

/// Makes a plugin from the argument `scoringStrategy` alone: a strategy and resources; without resources, P::defaults().
template <class P>
[[nodiscard]] result<P> by_allocation_strategy(const argument& args) {
  allocation_strategy how = allocation_strategy::least_allocated;
  std::vector<weighted_resource> resources;
  argument_reader read{P::name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    return key == "scoringStrategy" ? read_allocation_strategy(read, value, path, how, resources) : read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return P{how, resources.empty() ? P::defaults() : std::move(resources)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
