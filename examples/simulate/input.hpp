#pragma once
#include <stdexcept>

#include "simulate/options.hpp"
#include "simulate/simulation.hpp"

namespace simulate {

/// A mistake of the user's: what() is the line to show.
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads the files that the command line names; warnings go to standard error. Throws bad_input.
[[nodiscard]] scenario read_scenario(const command_line& from);

}  // namespace simulate
