#pragma once
#include <string>

#include "replay/outcome.hpp"

namespace replay {

/// The time line of a replay that has one, as a JSON object. Times are seconds since the first arrival.
[[nodiscard]] std::string timeline_json(const workload& work, const outcome& of);

}  // namespace replay
