#pragma once

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Whether some element of @p all equals @p value. Here so that public headers need not include <algorithm>, which costs a consumer 0.1 s.
template <class T, class Range>
[[nodiscard]] constexpr bool is_among(const T& value, const Range& all) {
  for (const auto& one : all) {
    if (one == value) return true;
  }
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI
