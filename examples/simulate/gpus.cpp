#include "simulate/gpus.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gangsched/core/quantity.hpp>

#include <algorithm>

namespace simulate {
namespace {

using gangsched::quantity;
using gangsched::quantity_format;

/// What a cell is made of.
struct marks {
  const char *used, *free, *slice, *instance, *unhealthy;
};
constexpr marks drawn{"█", "·", "■", "□", "x"};
constexpr marks plain{"#", ".", "m", "o", "x"};

constexpr int width = 8;

void repeat(std::string& to, const char* mark, int times) {
  for (; times > 0; --times) to += mark;
}

std::string cell_of(const gpu_cell& gpu, const marks& with) {
  std::string made;
  if (!gpu.healthy) {
    repeat(made, with.unhealthy, width);
  } else if (gpu.slices != 0) {
    for (int slice = 0; slice < gpu.slices; ++slice) {
      const unsigned bit = 1u << slice;
      made += (gpu.used_slices & bit) != 0 ? with.slice : (gpu.instances & bit) != 0 ? with.instance : with.free;
    }
    repeat(made, " ", width - gpu.slices);
  } else {
    // Whoever has a little of it is seen.
    const int eighths = (std::min(gpu.milli, 1000) * width + 999) / 1000;
    repeat(made, with.used, eighths);
    repeat(made, with.free, width - eighths);
  }
  return made;
}

}  // namespace

std::string text_of(const device_outcome& device) {
  if (!device.capacities.empty()) {
    std::string made = device.name;
    for (const auto& [name, amount] : device.capacities)
      made += fmt::format(" {} {}", name.substr(name.rfind('/') + 1), amount);
    return made;
  }
  if (device.other)
    return device.whole        ? device.name
           : device.units == 0 ? device.name + " (admin)"
                               : fmt::format("{} {} units", device.name, device.units);
  if (!device.mig_profile.empty()) return fmt::format("{} {}@{}", device.name, device.mig_profile, device.mig_start);
  if (device.replica) return device.name + " replica";
  if (!device.cpus.empty()) return "cpu " + device.cpus;
  if (device.bytes != 0) {
    const quantity bytes = quantity::from_nanos(quantity{device.bytes}.nanos(), quantity_format::binary_si);
    return fmt::format("{} {}@{}", device.name, bytes.to_string(), fmt::join(device.cells, ","));
  }
  std::string made = device.name;
  if (device.milli != 0 && (device.milli != 1000 || device.memory_mib != 0))
    made += fmt::format(" {}/1000", device.milli);
  if (device.memory_mib != 0) made += fmt::format(" {} MiB", device.memory_mib);
  return made;
}

std::string gpu_map(const outcome& of, bool ascii) {
  const marks& with = ascii ? plain : drawn;
  std::size_t longest = 4, models = 5;
  bool any = false, sliced = false, instances = false, unhealthy = false;
  for (const node_gpus& node : of.gpus) {
    if (node.gpus.empty()) continue;
    any = true;
    longest = std::max(longest, node.node.size());
    models = std::max(models, node.model.size());
    for (const gpu_cell& gpu : node.gpus) {
      sliced = sliced || (gpu.healthy && gpu.slices != 0);
      instances = instances || (gpu.healthy && gpu.instances != 0);
      unhealthy = unhealthy || !gpu.healthy;
    }
  }
  if (!any) return {};
  std::string all = fmt::format("{:<{}}  {:<{}}  GPUS\n", "NODE", longest, "MODEL", models);
  for (const node_gpus& node : of.gpus) {
    if (node.gpus.empty()) continue;
    all += fmt::format("{:<{}}  {:<{}} ", node.node, longest, node.model, models);
    std::string cells;
    for (const gpu_cell& gpu : node.gpus) cells += ' ' + cell_of(gpu, with);
    all += cells.substr(0, cells.find_last_not_of(' ') + 1) + '\n';
  }
  all += fmt::format("{} used  {} free", with.used, with.free);
  if (sliced) all += fmt::format("  {} MIG slice in use", with.slice);
  if (instances) all += fmt::format("  {} instance that nobody has", with.instance);
  if (unhealthy) all += fmt::format("  {} unhealthy", with.unhealthy);
  return all + "; eighths of compute or memory, whichever more is used of\n";
}

}  // namespace simulate
