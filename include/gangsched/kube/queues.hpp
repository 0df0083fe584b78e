#pragma once
#include <string>
#include <vector>

#include "gangsched/queues/hived/cell_layout.hpp"
#include "gangsched/queues/hived/cell_scheduler.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"

/// Parts of queue configurations that `queue_spec` cannot express, in the form that the policies of queues/ take.
namespace gangsched::inline GANGSCHED_ABI::kube {

/// YuniKorn's queues.yaml: its partition `default`, with the limits of users and groups, and the queues that placement rules made.
struct yunikorn_queues {
  std::vector<std::string> types = {};  ///< by queues::yunikorn::resource_type: "cpu", in milli, others in whole units
  std::vector<std::string> names = {};  ///< full paths, "root.a.b", a queue after the one it is in
  std::vector<std::string> parents = {};                        ///< of each; empty: it is the root
  std::vector<queues::yunikorn::queue_settings> settings = {};  ///< of each
};

/// HiveD's configuration, and the groups that pods name, each once, in the order of the pods. A pod that names no group is a group of its
/// own, called "namespace/name".
struct hived_cells {
  queues::hived::configuration configuration = {};
  std::vector<queues::hived::group_request> groups = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube
