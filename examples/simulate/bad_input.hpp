#pragma once
#include <stdexcept>

namespace simulate {

/// A mistake of the user's: what() is the line to show.
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace simulate
