#include "gangsched/engine/admission_checks.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE admission_checks::admission_checks(model::cluster_state& state, const profile_set& profiles,
                                                    const entity_view& entities, const instant& now) noexcept
    : state_(&state),
      entities_(&entities),
      now_(&now),
      any_(std::any_of(profiles.all().begin(), profiles.all().end(),
                       [](const kernel_table& one) { return !one.at(point::admission).empty(); })) {}

GANGSCHED_INLINE refusal admission_checks::ask_hooks(entity e, instant start) const {
  if (!e.group) static_cast<void>(state_->class_of(e.row));
  const kernel_table& profile = e.group ? entities_->profile_of_group(e.row) : entities_->profile_of(e.row);
  for (const plugin_entry& plugin : profile.hooks(point::admission)) {
    refusal made{{}, &plugin};
    if (e.group && plugin.admit_group != nullptr)
      made.said = plugin.admit_group(plugin.self.get(), group_view{*state_, e.row}, cluster_view{*state_}, start);
    else if (!e.group && plugin.admit_pod != nullptr)
      made.said = plugin.admit_pod(plugin.self.get(), pod_info{*state_, e.row}, cluster_view{*state_}, start);
    if (made.said.ok()) continue;
    if (!made.said.rejected() && made.said.code != code::error)
      made.said = status::error("an admit hook neither admits nor rejects");
    return made;
  }
  return {};
}

GANGSCHED_INLINE bool admission_checks::asks_each_pod(const kernel_table& profile) noexcept {
  for (const plugin_entry& plugin : profile.hooks(point::admission)) {
    if (plugin.admit_pod != nullptr && !plugin.admits_by_class) return true;
  }
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
