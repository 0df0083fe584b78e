#include "gangsched/plugins/node_resources_fit_plus.hpp"

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<error> node_resources_fit_plus::check(const std::vector<resource>& resources) {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].weight < 1 || resources[i].weight > 1'000'000)
      return error{errc::out_of_range, "plugin NodeResourcesFitPlus", "resources[" + std::to_string(i) + "].weight",
                   "is not in 1 to 10^6"};
  }
  return std::nullopt;
}

GANGSCHED_INLINE result<node_resources_fit_plus> node_resources_fit_plus::from(const argument& args) {
  std::vector<resource> made;
  argument_reader read{name};
  const auto read_resource = [&](std::string_view resource_name, const argument& value, const std::string& path) {
    resource& one = made.emplace_back();
    one.name = resource_name;
    return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
      if (field == "weight") return read.number(v, at, 1, 1'000'000, one.weight);
      if (field != "type") return read.unknown(at);
      return read.word(v, at,
                       {{"LeastAllocated", strategy::least_allocated}, {"MostAllocated", strategy::most_allocated}},
                       one.strategy);
    });
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    return key == "resources" ? read.fields(value, path, read_resource) : read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return node_resources_fit_plus{std::move(made)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
