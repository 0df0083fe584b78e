#pragma once
#include <string_view>

#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {

/// Adds what a selector of DRA says to a request (CEL: `device.driver == "gpu.example.com" && device.attributes["…"].ok`): the driver that
/// it names becomes the class of the request, if that is empty, and must be it otherwise. What of CEL is read is what is read of manifests
/// (docs/kubernetes.md). Error: malformed, for what is not understood, or another driver; then the request stays as it is. O(length).
[[nodiscard]] GANGSCHED_API result<void> add_device_selector(std::string_view expression, device_request& to);

}  // namespace gangsched::inline GANGSCHED_ABI::kube
