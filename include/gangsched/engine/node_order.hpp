#pragma once
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::engine {

/// The order in which kube-scheduler's snapshot lists the nodes (kube-framework 1.7): zones in the order they were first seen, one
/// node of each in turn; within a zone by arrival. A committed cursor over the change log; O(nodes) when nodes or zones changed.
class GANGSCHED_API node_order {
 public:
  explicit node_order(cluster_state& state);
  /// Node rows in order, as of the last committed change.
  [[nodiscard]] const std::vector<row_t>& rows();

 private:
  struct zone {
    symbol region, name;
    std::vector<row_t> nodes;
  };
  void rebuild();
  void add(row_t node);
  void remove(row_t node);
  cluster_state* state_;
  symbol region_key_, zone_key_, old_region_key_, old_zone_key_;
  std::vector<zone> zones_;
  std::vector<row_t> order_;
  log_cursor cursor_;
  bool built_ = false, dirty_ = true;
};

}  // namespace gangsched::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/node_order.cpp"
#endif
