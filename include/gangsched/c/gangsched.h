#pragma once
/// gangsched in C: a cluster that the host keeps up to date, and a scheduler that returns decisions (docs/c.md). C11, and C++.
#include "gangsched/c/base.h"
#include "gangsched/c/cluster.h"
#include "gangsched/c/devices.h"
#include "gangsched/c/kubernetes.h"
#include "gangsched/c/objects.h"
#include "gangsched/c/plugins.h"
#include "gangsched/c/report.h"
#include "gangsched/c/scheduler.h"
#include "gangsched/c/simulation.h"
#include "gangsched/c/snapshot.h"
#include "gangsched/c/what_if.h"
