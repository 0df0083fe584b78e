#pragma once

#include "gangsched/core/config.hpp"

/// What of the model is named in headers that a host includes, and looked into elsewhere.
namespace gangsched::inline GANGSCHED_ABI {

class cluster;
class cluster_queues;
class queue_questions;
struct cluster_state;
struct device_state;
struct pod_class;

}  // namespace gangsched::inline GANGSCHED_ABI
