#pragma once
#include <chrono>
#include <map>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/koordinator/overuse.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// How long the quotas of a cluster have been over their runtime quota, for hosts that periodically ask which pods to revoke
/// (`elastic_quota_policy::to_revoke`). Quotas are watched from the first call on.
struct overuse_watch {
  instant delay = std::chrono::minutes{2};  ///< DelayEvictTime of Koordinator's ElasticQuotaArgs
  std::map<queue_id, queues::koordinator::overuse_monitor> quotas = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI
