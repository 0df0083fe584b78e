#pragma once
#include <stdexcept>

namespace simulate {

/// Mistakes of the user's: what() has a line for each.
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace simulate
