#pragma once

/// What of the model is named in headers that a host includes, and looked into elsewhere.
namespace gangsched {

class cluster;
struct cluster_state;
struct device_state;
struct pod_class;

}  // namespace gangsched
