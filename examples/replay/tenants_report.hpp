#pragma once
#include <string>
#include <vector>

#include "replay/report.hpp"

namespace replay {

/// What each tenant had under each policy, side by side, and what he would have alone: in a cluster of his own, which nobody divides.
struct tenants_chapter {
  chapter of;                         ///< its outcomes differ in `queue_policy`
  std::vector<tenant_outcome> alone;  ///< by tenant
  /// By outcome and tenant: in a cluster of his own under that policy, which each is compared with. Policies try jobs in other orders,
  /// in a cluster for one tenant too, and that is not what sharing is to blame for.
  std::vector<std::vector<tenant_outcome>> own;
};

[[nodiscard]] std::string text_report(const tenants_chapter& of);
[[nodiscard]] std::string json_report(const tenants_chapter& of);

/// The workload of one of its tenants, on as many nodes as are his.
[[nodiscard]] workload alone(const workload& all, std::uint32_t tenant);

}  // namespace replay
