#pragma once
#include "gangsched/src/kube/devices/devices.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// A request in the words of our own annotation, gangsched.dev/devices; docs/kubernetes.md has its fields. Without a count, whole GPUs are
/// as many as the containers of @p pod ask for by number.
bool read_device_request(reader& read, const place& of, const pod_spec& pod, device_request& out);

/// How many GPUs the containers ask for by number; 0 if that is none, or too many.
std::int32_t counted_gpus(const pod_spec& pod);

/// Narrows the GPUs of a pod to what HAMi's use-gputype and nouse-gputype say, out of the products @p models that there are.
void choose_gpu_types(pod_manifest& pod, const std::set<std::string>& models);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
