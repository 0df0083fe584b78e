#pragma once
#include <string>

#include "gangsched/model/cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::report::detail {

/// "default/web-0"; nothing of a pod that is gone.
inline void append_name(std::string& to, const cluster& on, pod_id pod) {
  if (!on.contains(pod)) return;
  ((to += on.namespace_of(pod)) += '/') += on.name_of(pod);
}

}  // namespace gangsched::inline GANGSCHED_ABI::report::detail
