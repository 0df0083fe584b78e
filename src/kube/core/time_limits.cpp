#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_time_limits(reader& read, const place& meta, std::optional<instant>& deadline, instant& max_wait) {
  const value* const found = meta.at == nullptr ? nullptr : meta.at->find("annotations");
  if (found == nullptr || found->kind != value_kind::object) return true;
  const place annotations{found, &meta, "annotations"};
  if (const value* const by = found->find("gangsched.dev/deadline")) {
    if (!read.time({by, &annotations, "gangsched.dev/deadline"}, deadline.emplace())) return false;
  }
  const value* const longest = found->find("gangsched.dev/max-wait");
  if (longest == nullptr) return true;
  return read_duration(read, {longest, &annotations, "gangsched.dev/max-wait"}, "10m", max_wait);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
