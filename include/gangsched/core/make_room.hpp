#pragma once

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Makes room for one more element, so that the next `push_back` cannot fail. An update of several vectors is safe if all of them get room
/// before the first one is written.
template <class Vector>
void make_room(Vector& all) {
  if (all.size() == all.capacity()) all.reserve(2 * all.size() + 8);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
