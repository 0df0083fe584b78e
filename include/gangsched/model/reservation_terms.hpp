#pragma once
#include <vector>

#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/reservation_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A reservation as a class has it.
struct reservation_terms {
  reservation_spec spec;
  std::vector<resource_kind>
      restricted;  ///< if that is its policy: the kinds of which owners get what is left, and no more
};

}  // namespace gangsched::inline GANGSCHED_ABI
