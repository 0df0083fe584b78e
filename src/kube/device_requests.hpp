#pragma once
#include "gangsched/src/kube/devices.hpp"

namespace gangsched::kube::detail {

/// A request in the words of our own annotation, gangsched.dev/devices; docs/kubernetes.md has its fields. Without a count, whole GPUs are
/// as many as the containers of @p pod ask for by number.
bool read_device_request(reader& read, const place& of, const pod_spec& pod, device_request& out);

}  // namespace gangsched::kube::detail
