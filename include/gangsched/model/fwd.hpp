#pragma once

#include "gangsched/core/config.hpp"

/// Types of the model that hosts' headers name and do not define.
namespace gangsched::inline GANGSCHED_ABI {

class call_listener;
class cluster;
class cluster_questions;
class cluster_queues;
class queue_questions;
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

}  // namespace gangsched::inline GANGSCHED_ABI

/// The tables behind a cluster.
namespace gangsched::inline GANGSCHED_ABI::model {

struct budget_record;
struct cluster_state;
struct viewed_tables;

}  // namespace gangsched::inline GANGSCHED_ABI::model
