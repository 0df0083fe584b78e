#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/devices/device_grant.hpp"
#include "gangsched/framework/decision.hpp"
#include "gangsched/framework/fwd.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A running pod that would have to move, and the devices it would get. `from` and `to` may be the same node, with other devices.
struct pod_move {
  pod_id pod;
  node_id from, to;
  std::vector<device_grant> devices;
};

/// Moves after which a group fits. They were tried in a transaction that was rolled back; the host carries them out.
struct move_plan {
  std::vector<pod_move> moves;     ///< by row of the pod; empty: the group fits without moves
  std::vector<assignment> placed;  ///< where its members go when those have moved
  std::int64_t cost = 0;           ///< sum over the moves
};

/// What moving a running pod costs: any callable from a const pod_info& to a number; below 0: the pod must stay. Default: 1 for each pod.
class move_cost {
 public:
  move_cost() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, move_cost> &&
             std::is_invocable_r_v<std::int64_t, F&, const pod_info&>)
  move_cost(F&& of) : target_(std::make_shared<std::decay_t<F>>(std::forward<F>(of))) {
    call_ = [](void* target, const pod_info& pod) -> std::int64_t {
      return (*static_cast<std::decay_t<F>*>(target))(pod);
    };
  }
  [[nodiscard]] std::int64_t operator()(const pod_info& pod) const {
    return call_ == nullptr ? 1 : call_(target_.get(), pod);
  }

 private:
  std::shared_ptr<void> target_;
  std::int64_t (*call_)(void*, const pod_info&) = nullptr;
};

/// Limits of the search for moves.
struct move_options {
  std::size_t most_moves = 64;  ///< in a plan
  move_cost cost = {};
  std::size_t nodes_tried = 64;  ///< that are cleared alone, cheapest first, before several are
};

}  // namespace gangsched::inline GANGSCHED_ABI
