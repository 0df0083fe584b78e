#pragma once
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What mistakes in the options are about; the field is the member's name.
inline constexpr const char* the_options = "options";

/// Mistakes of the user's, one or more. Thrown within a run only, which returns them.
struct bad_input {
  explicit bad_input(std::vector<error> all) : mistakes(std::move(all)) {}
  bad_input(std::string object, std::string field, std::string reason)
      : mistakes{{errc::malformed, std::move(object), std::move(field), std::move(reason)}} {}
  std::vector<error> mistakes;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
