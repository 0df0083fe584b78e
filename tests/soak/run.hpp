#pragma once
#include <optional>
#include <string>
#include <vector>

#include "setting.hpp"
#include "step.hpp"

namespace gangsched::soak {

struct outcome {
  std::optional<fault> found;
  std::uint64_t digest = 0;  ///< of the decisions
  std::uint64_t steps = 0, decisions = 0, refused = 0;
};

/// A random sequence, which ends at the first fault. Now and then it is done again: the same way, and without what has to change nothing.
/// @param steps gets what was done, if it is wanted.
[[nodiscard]] outcome run_random(const setting& on, std::size_t length, sequence* steps = nullptr);
/// A given sequence. @param lines gets steps and decisions in words.
[[nodiscard]] outcome run_steps(const setting& on, const sequence& steps, std::vector<std::string>* lines = nullptr);
/// The same, and done again as random ones are.
[[nodiscard]] outcome run_compared(const setting& on, const sequence& steps, std::vector<std::string>* lines = nullptr);

/// The least sequence that shows the fault of this one, by `run_compared`: no step and no trait of an object can be left out.
[[nodiscard]] sequence shrink_steps(const setting& on, sequence steps);

}  // namespace gangsched::soak
