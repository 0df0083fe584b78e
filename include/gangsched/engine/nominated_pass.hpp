#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/status.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

class picker;

/// Whether @p nominated keeps its room from @p other: the other's priority is not higher, or it is in another queue, since priorities do
/// not compare across queues.
[[nodiscard]] inline bool keeps_room_from(const pod_class& nominated, const pod_class& other) noexcept {
  return nominated.priority >= other.priority || (nominated.queue && other.queue && nominated.queue != other.queue);
}

/// Puts the other pods that are nominated to a node, and keep their room from a pod (keeps_room_from), on the node
/// for as long as this lives. Filters are asked with them and without them, and must pass both times, as in
/// RunFilterPluginsWithNominatedPods: room that victims leave is kept for their preemptor, and no pod relies on one that may never come.
///
/// A node that is reserved from some time on (`pod_times::reserved_from`) is judged as it will be then: with
/// pods that will have come by then, without pods that are expected to have ended, and not at all if the pod
/// itself is expected to have ended. Members of one group do not keep reserved room from each other.
class GANGSCHED_API nominated_pass {
 public:
  /// As the node will be @p at that time, @p now or later. O(pods nominated to the node, and on it if it is reserved); cycle-level plugins
  /// are told.
  nominated_pass(picker& asks, model::cluster_state& state, row_t pod, row_t node, instant now, instant at);
  nominated_pass(const nominated_pass&) = delete;
  nominated_pass& operator=(const nominated_pass&) = delete;
  ~nominated_pass();

  /// The first time after @p time from which on the node is reserved for another pod, if the pod, started @p now, is expected to run then.
  /// O(pods nominated to the node).
  [[nodiscard]] static std::optional<instant> next_time(const model::cluster_state& state, row_t pod, row_t node,
                                                        instant now, instant time);
  /// Whether by amounts alone there is no room for the pod beside those for which the node is reserved @p at that time: then no hook need
  /// be called. O((pods nominated to the node, and on it) · what the pod requests).
  [[nodiscard]] static bool too_full(const model::cluster_state& state, row_t pod, row_t node, instant now, instant at);
  /// Whether there are any: without them one pass is enough.
  [[nodiscard]] explicit operator bool() const noexcept { return pass_.has_value(); }
  /// An error if they would not even fit into 64 bits.
  [[nodiscard]] const status& said() const noexcept { return said_; }

 private:
  void put(model::cluster_state& state, row_t other);

  picker* asks_;
  row_t pod_, node_;
  status said_;
  std::optional<transaction> pass_;
  std::vector<row_t> there_, gone_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

// Its body comes with picker.hpp, which it needs whole.
