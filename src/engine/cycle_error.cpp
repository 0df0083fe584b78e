#include "gangsched/engine/cycle_error.hpp"

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void cycle_error::set(entity whose, const char* reason) {
  reason_ = reason != nullptr ? reason : "a hook failed with an error";
  if (!whose.group) {
    object_ = gangsched::detail::pod_text(*state_, whose.row);
    return;
  }
  const group_spec& spec = state_->groups.record[whose.row]->spec;
  object_ = gangsched::detail::object_name("group", spec.ns, spec.name);
}

GANGSCHED_INLINE status cycle_error::thrown(const char* what) {
  thrown_ = what;
  return status::error(thrown_.c_str());
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
