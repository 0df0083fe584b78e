#pragma once
#include <string>

#include "replay/outcome.hpp"

namespace replay {

/// GPUs in use from the first arrival to @p until, 72 columns by 12 lines: '#' is at work, '.' is held idle by incomplete gangs.
/// Each column is the mean over its time.
[[nodiscard]] std::string chart(const outcome& of, instant until);

}  // namespace replay
