#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "replay/workload.hpp"

/// Numbers as people read them.
namespace replay {

[[nodiscard]] std::string grouped(std::uint64_t number);  // 13,716
[[nodiscard]] std::string time_span(double seconds);      // 12 s, 3.4 min, 5.6 h, 7.8 d
[[nodiscard]] std::string time_span(instant length);
[[nodiscard]] std::string short_time(double nanos);  // 12 ns, 3.4 us, 5.6 ms
[[nodiscard]] std::string percent(double share);     // 12.3 %
[[nodiscard]] inline double seconds_of(instant length) { return std::chrono::duration<double>(length).count(); }

}  // namespace replay
