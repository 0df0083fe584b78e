#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/status.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

class picker;

/// Whether the room that one is nominated to is kept from the other: that is not more important, or of another queue, among which priority
/// says nothing.
[[nodiscard]] inline bool keeps_room_from(const pod_class& nominated, const pod_class& other) noexcept {
  return nominated.priority >= other.priority || (nominated.queue && other.queue && nominated.queue != other.queue);
}

/// The other pods that are nominated to a node and keep their room from a pod (keeps_room_from), put there for as long as this lives.
/// Filters are asked with them and without them, and both must pass (kube-framework 1.3): the room that victims leave is kept for whom they
/// left for, and nobody counts on a pod that may never come.
class GANGSCHED_API nominated_pass {
 public:
  /// O(pods nominated to the node); cycle-level plugins are told.
  nominated_pass(picker& asks, model::cluster_state& state, row_t pod, row_t node);
  nominated_pass(const nominated_pass&) = delete;
  nominated_pass& operator=(const nominated_pass&) = delete;
  ~nominated_pass();

  /// Whether there are any: without them one pass is enough.
  [[nodiscard]] explicit operator bool() const noexcept { return pass_.has_value(); }
  /// An error if they would not even fit into 64 bits.
  [[nodiscard]] const status& said() const noexcept { return said_; }

 private:
  picker* asks_;
  row_t pod_, node_;
  status said_;
  std::optional<transaction> pass_;
  std::vector<row_t> there_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

// Its body comes with picker.hpp, which it needs whole.
