#pragma once
#include "gangsched/queues/yunikorn/resources.hpp"

namespace gangsched::testing {

/// So much of the first type of resource, and of the second.
inline queues::yunikorn::resources units(std::int64_t first) {
  queues::yunikorn::resources made;
  made.set(0, first);
  return made;
}
inline queues::yunikorn::resources units(std::int64_t first, std::int64_t second) {
  queues::yunikorn::resources made = units(first);
  made.set(1, second);
  return made;
}

}  // namespace gangsched::testing
