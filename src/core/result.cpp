#include "gangsched/core/result.hpp"

#include <fmt/format.h>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::malformed: return "malformed";
    case errc::out_of_range: return "out_of_range";
    case errc::overflow: return "overflow";
    case errc::duplicate: return "duplicate";
    case errc::unknown: return "unknown";
    case errc::wrong_state: return "wrong_state";
    case errc::outdated: return "outdated";
    case errc::busy: return "busy";
    case errc::time_went_back: return "time_went_back";
    case errc::contract: return "contract";
  }
  return "?";
}

GANGSCHED_INLINE std::string error::message() const {
  const std::string_view why = reason.empty() ? to_string(code) : std::string_view(reason);
  return fmt::format("{}{}{}{}{}", object, object.empty() ? "" : ": ", field, field.empty() ? "" : ": ", why);
}

namespace detail {

GANGSCHED_INLINE void throw_bad_access(const error* why) {
  throw bad_result_access{why == nullptr ? std::string{"a result that was moved from"} : why->message()};
}

}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI
