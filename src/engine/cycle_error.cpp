#include "gangsched/engine/cycle_error.hpp"

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void cycle_error::set(entity whose, const char* reason, std::string_view plugin) {
  reason_ = reason != nullptr ? reason : "a hook failed with an error";
  const std::string_view text = reason_;
  // (What the picker says begins with the plugin, and what is said of an exception with its name.)
  if (!plugin.empty() && !text.starts_with("plugin ") && !text.starts_with(plugin)) {
    ((named_ = "plugin ") += plugin) += ": ";
    reason_ = (named_ += reason_).c_str();
  }
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
