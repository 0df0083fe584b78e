#pragma once
#include "gangsched/core/config.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/queues/hived/cell_layout.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Reads `physicalCluster` and `virtualClusters` of HiveD's configuration (hivedscheduler, pkg/api/config.go) from a plugin's argument.
/// False for the wrong form, an unknown type, or more than 1,000,000 cells; whether the cells fit is not checked. @param virtual_ones may
/// be empty.
[[nodiscard]] GANGSCHED_API bool read_hived_cells(argument_reader& read, const argument& physical,
                                                  const argument& virtual_ones, queues::hived::configuration& out);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/hived_arguments.cpp"
#endif
