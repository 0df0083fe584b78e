#include "gangsched/plugins/scarce_resource_avoidance.hpp"

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<scarce_resource_avoidance> scarce_resource_avoidance::from(const argument& args) {
  std::vector<std::string> scarce;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    return key == "resources" ? read.texts(value, path, scarce) : read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return scarce_resource_avoidance{std::move(scarce)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
