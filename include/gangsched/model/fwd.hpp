#pragma once

#include "gangsched/core/config.hpp"

/// What of the model is named in headers that a host includes, and looked into elsewhere.
namespace gangsched::inline GANGSCHED_ABI {

class cluster;
class cluster_queues;
class queue_questions;
struct cluster_state;
struct device_claim;
struct device_demand;
struct device_inventory;
struct device_match;
struct device_record;
struct device_rules;
struct device_state;
struct device_want;
struct device_wants;
struct pod_class;
struct spread_defaults;
struct viewed_tables;

}  // namespace gangsched::inline GANGSCHED_ABI
