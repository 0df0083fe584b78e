#include "gangsched/report/words.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

std::string_view word_of(code said) noexcept {
  switch (said) {
    case code::success: return "Success";
    case code::error: return "Error";
    case code::unschedulable: return "Unschedulable";
    case code::unresolvable: return "UnschedulableAndUnresolvable";
    case code::wait: return "Wait";
    case code::skip: return "Skip";
    case code::pending: return "Pending";
  }
  return "";
}

}  // namespace gangsched::inline GANGSCHED_ABI::report
