#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/kube/configuration.hpp"
#include "gangsched/kube/manifests.hpp"
#include "gangsched/plugins/yunikorn.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// Asks YuniKorn's policy which pods have to go because a queue is above its maximum, over virtual time.
class lowered_maxima {
 public:
  /// As the first profile that names the plugin has it; none, if no queue says after how long. Error: bad arguments.
  static result<std::optional<lowered_maxima>> made_for(const scheduler_configuration& profiles);

  [[nodiscard]] std::vector<pod_id> due(const cluster& of, instant now) { return policy_.over_quota(of, now, watch_); }
  /// When to ask again if nothing happens any more after @p last_change. By the end of the longest delay every queue was due: what is still
  /// above a maximum then stays there.
  [[nodiscard]] std::optional<instant> next(instant last_change) const;

 private:
  lowered_maxima(yunikorn_policy policy, instant longest) : policy_{std::move(policy)}, longest_{longest} {}

  yunikorn_policy policy_;
  instant longest_;
  queues::yunikorn::quota_watch watch_ = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
