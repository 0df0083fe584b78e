#include "gangsched/framework/past.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE past_node::past_node(const model::viewed_tables& state, row_t row)
    : state_(&state),
      id_{row, state.nodes.rows.generation(row)},
      name_(state.names.text(state.nodes.record[row]->name)),
      record_(*state.nodes.record[row]) {}

GANGSCHED_INLINE past_pod::past_pod(const model::viewed_tables& state, row_t row)
    : id_{row, state.pods.rows.generation(row)},
      class_(state.classes.share(state.pods.cls[row])),
      labels_(state.pods.record[row]->details->labels),
      gated_(!state.pods.record[row]->details->gates.empty()) {
  if (const pod_disks* disks = state.pods.record[row]->details->disks.get())
    disks_ = std::make_shared<const pod_disks>(*disks);
}

}  // namespace gangsched::inline GANGSCHED_ABI
