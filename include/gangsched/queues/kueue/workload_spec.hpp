#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/queues/kueue/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

enum class label_operator : std::uint8_t { in, not_in, exists, does_not_exist, greater, less };

/// A requirement on a node's label, as in Kubernetes' node affinity.
struct label_requirement {
  std::string key;
  label_operator op = label_operator::in;
  std::vector<std::string> values = {};  ///< one whole number for `greater` and `less`
};

struct pod_set_spec {
  std::string name = "main";
  std::int32_t count = 1;
  std::optional<std::int32_t> min_count = {};         ///< partial admission may go down to this
  std::map<std::string, std::int64_t> requests = {};  ///< of one pod; "pods" is counted where a queue has quota of it
  std::map<std::string, std::string> node_selector = {};
  std::vector<std::vector<label_requirement>> affinity =
      {};  ///< all of one of these terms have to hold; empty: no term
  std::vector<tolerated_taint> tolerations = {};
  std::int32_t reclaimable = 0;  ///< pods that have finished and need nothing any more
};

struct workload_spec {
  std::string name;
  std::string uid = {};  ///< breaks ties, as text
  std::string queue;
  std::string local_queue = {};  ///< the local queue whose past usage admission fair sharing uses for it
  std::int32_t priority = 0;
  instant created = {};
  std::vector<pod_set_spec> pod_sets;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
