#pragma once
/// Everything: the cluster, the framework, the plugins of the library, the profiles made of them, and the scheduler.
#include "gangsched/framework/registry.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/version.hpp"
