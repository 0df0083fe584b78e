#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gangsched/devices/gpu_outlook.hpp"
#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Reads the argument of expected pods: [{cpuMilli, gpus, milli, models, count}]. Defaults: 0 CPU, 1 GPU, all of it, every model, one pod.
/// Like the calls of `argument_reader` it returns false on an error, which the reader keeps. O(lines).
[[nodiscard]] inline bool read_expected_pods(argument_reader& read, const argument& value, const std::string& path,
                                             std::vector<expected_pods>& out) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const auto small = [&](const argument& v, const std::string& at, std::int64_t least, std::int64_t limit,
                         std::int32_t& to) {
    std::int64_t number = 0;
    if (!read.number(v, at, least, limit, number)) return false;
    to = static_cast<std::int32_t>(number);
    return true;
  };
  return read.items(value, path, [&](const argument& item, const std::string& at) {
    expected_pods& one = out.emplace_back();
    one.gpus = 1;
    return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
      if (field == "cpuMilli") return read.number(v, where, 0, most, one.cpu_milli);
      if (field == "gpus") return small(v, where, 0, max_node_gpus, one.gpus);
      if (field == "milli") return small(v, where, 1, whole_gpu, one.milli);
      if (field == "models") return read.texts(v, where, one.models);
      if (field == "count") return read.number(v, where, 1, std::int64_t{1} << 32, one.count);
      return read.unknown(where);
    });
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI
