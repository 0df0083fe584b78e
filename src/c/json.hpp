#pragma once
#include <string>

#include "gangsched/framework/argument.hpp"
#include "gangsched/scheduling/explanation.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {

// As JSON. What is no UTF-8 in a name is replaced. O(size).
[[nodiscard]] std::string to_json(const argument& from);
[[nodiscard]] std::string to_json(const explanation& from);
[[nodiscard]] std::string to_json(const std::vector<group_explanation>& from);

// As lines for people: a line for each node or placement below the summary.
[[nodiscard]] std::string to_text(const explanation& from);
[[nodiscard]] std::string to_text(const std::vector<group_explanation>& from);

}  // namespace gangsched::inline GANGSCHED_ABI::c
