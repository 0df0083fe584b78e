#pragma once
#include <string>
#include <vector>

#include "replay/report.hpp"

namespace replay {

/// What each tenant had under each policy, side by side, and what he would have alone: `alone` is by tenant, each replayed in a cluster of
/// his own.
struct tenants_chapter {
  chapter of;  ///< its outcomes differ in `queue_policy`
  std::vector<tenant_outcome> alone;
};

[[nodiscard]] std::string text_report(const tenants_chapter& of);
[[nodiscard]] std::string json_report(const tenants_chapter& of);

/// The workload of one of its tenants, on as many nodes as are his.
[[nodiscard]] workload alone(const workload& all, std::uint32_t tenant);

}  // namespace replay
