#pragma once
#include <string>

#include "simulate/outcome.hpp"
#include "simulate/report.hpp"

namespace simulate {

/// What is otherwise than in an earlier run, as its JSON said it. Throws bad_input if @p before is no such result; @p file is its name.
[[nodiscard]] difference compare(const outcome& now, const std::string& before, const std::string& file);

}  // namespace simulate
