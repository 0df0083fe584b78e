#pragma once
/// The cluster, the framework, ready-made profiles and the scheduler. The library's plugins as types: plugins.hpp.
#include "gangsched/framework/registry.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/version.hpp"
