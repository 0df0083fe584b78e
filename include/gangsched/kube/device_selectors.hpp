#pragma once
#include <string_view>

#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {

/// Adds what a CEL selector of DRA (`device.driver == "gpu.example.com" && device.attributes["…"].ok`) requires to a device request. If the
/// selector names a driver, an empty class of @p to becomes that driver; any other class is an error. docs/kubernetes.md says which part of
/// CEL is understood, the same as in manifests. Error: malformed (not understood, or another driver): @p to is unchanged. O(length).
[[nodiscard]] GANGSCHED_API result<void> add_device_selector(std::string_view expression, device_request& to);

}  // namespace gangsched::inline GANGSCHED_ABI::kube
