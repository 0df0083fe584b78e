#include "gangsched/model/label_selector.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE bool matches(const label_selector& selector, const label_map& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  for (const selector_requirement& want : selector.match_expressions) {
    const auto found = labels.find(want.key);
    const bool present = found != labels.end();
    const bool listed =
        present && std::find(want.values.begin(), want.values.end(), found->second) != want.values.end();
    switch (want.op) {
      case selector_operator::in:
        if (!listed) return false;
        break;
      case selector_operator::not_in:
        if (listed) return false;
        break;
      case selector_operator::exists:
        if (!present) return false;
        break;
      case selector_operator::does_not_exist:
        if (present) return false;
        break;
      default: return false;
    }
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI
