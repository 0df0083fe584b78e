#pragma once

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Room for one element more: the next `push_back` cannot fail. What is written down in several places is safe if all of them have room
/// before the first is written to.
template <class Vector>
void make_room(Vector& all) {
  if (all.size() == all.capacity()) all.reserve(2 * all.size() + 8);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
