#include "gangsched/plugins/node_resources_balanced_allocation.hpp"

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<node_resources_balanced_allocation> node_resources_balanced_allocation::from(
    const argument& args) {
  std::vector<std::string> names;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key != "resources") return read.unknown(path);
    return read.items(value, path, [&](const argument& item, const std::string& at) {
      std::string& one = names.emplace_back();
      std::int64_t weight = 1;
      return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
        if (field == "name") return read.text(v, where, one);
        if (field == "weight") return read.number(v, where, 1, 1, weight);
        return read.unknown(where);
      });
    });
  });
  if (!fine) return std::move(read).failure();
  if (names.empty()) return node_resources_balanced_allocation{};
  return node_resources_balanced_allocation{std::move(names)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
