#pragma once
#include <vector>

#include "gangsched/kube/configuration.hpp"
#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What YuniKorn's and HiveD's configurations say that queues have no words for, as arguments of the plugins in each profile that names
/// them. A profile's own arguments count before: a field as a whole, of YuniKorn's delays each queue, and HiveD's cells as a whole. Offsets
/// of YuniKorn's priorities become priorities of its queues, where only those of fences are otherwise. What a plugin cannot express is a
/// warning.
void add_policy_settings(manifests& from, scheduler_configuration& to, std::vector<warning>& warnings);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
