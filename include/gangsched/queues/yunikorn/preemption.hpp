#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// A node as preemption sees it.
struct node_amounts {
  node_number node = none;
  resources capacity = {};
  resources available = {};
  bool usable = true;  ///< false: closed, reserved for another ask, or unusable for this one even without pods
};

/// Why nothing is evicted for an ask.
enum class preemption_refusal : unsigned char {
  granted,
  preconditions,       ///< it may not preempt, did before, needs a certain node, or it is too early
  guarantees,          ///< its queue would not be within its guarantee even with all victims gone
  no_victims,          ///< no node gets room, or its queue does not
  short_of_resources,  ///< the victims hold less than it asks for
};

/// The victims, and where there is room then.
struct preemption_plan {
  preemption_refusal refusal = preemption_refusal::granted;
  node_number node = none;
  std::vector<ask_index> victims = {};  ///< in the order in which they were chosen
  [[nodiscard]] explicit operator bool() const noexcept { return refusal == preemption_refusal::granted; }
};

/// Finds victims for asks whose queue has less than its guarantee, among allocations of queues that have more. It changes nothing: the
/// caller carries out a plan by `partition::begin_preemption`. It keeps its buffers.
class GANGSCHED_API preemptor {
 public:
  /// @param retry how long an ask waits between two attempts.
  explicit preemptor(instant retry = std::chrono::seconds{15}) : retry_{retry} {}

  /// Whether the ask may try at @p now: it may preempt, never did, needs no certain node, waited as long as its queue says, and its last
  /// try was long enough ago.
  [[nodiscard]] bool may_try(const partition& queues, ask_index which, instant now) const;

  /// The victims for @p which, on a node with room for it and elsewhere as its queues' maxima need it. @pre `may_try` is true. Among nodes
  /// with equally few victims the first of @p nodes is taken. @param nodes_tried the ask fits its quotas and no node: a node with enough
  /// free room is not considered then. O(victims · (log victims + nodes · depth)).
  [[nodiscard]] preemption_plan find(const partition& queues, ask_index which, std::span<const node_amounts> nodes,
                                     bool nodes_tried);

 private:
  struct candidate {
    ask_index which = none;
    queue_index leaf = no_queue;
    node_number node = none;
    std::uint32_t reluctance = 0;  ///< originators, and above all those that opted out, are evicted last
    instant created{};
  };
  struct node_plan {
    std::size_t needed = 0;  ///< of the victims
    std::vector<std::size_t> victims = {};
  };

  void collect(ask_index which);
  void collect_below(queue_index queue, std::int64_t priority, bool all);
  void involve(queue_index queue);
  void add(queue_index queue, const resources& amount);
  void remove(queue_index queue, const resources& amount);
  [[nodiscard]] resources remaining(queue_index queue) const;
  [[nodiscard]] bool ask_within_guarantee() const;
  [[nodiscard]] bool ask_above_guarantee() const;
  [[nodiscard]] bool gives(const candidate& victim);
  [[nodiscard]] bool guarantee_can_be_met();
  [[nodiscard]] std::optional<node_plan> plan_node(const node_amounts& node);
  [[nodiscard]] bool extend(std::vector<std::size_t>& victims);
  [[nodiscard]] const resources& held(std::size_t victim) const;

  instant retry_;
  const partition* queues_ = nullptr;
  const ask* ask_ = nullptr;
  queue_index leaf_ = no_queue;  ///< the ask's
  std::vector<std::int64_t>
      priority_on_way_;  ///< by queue: the ask's priority there, if it is on its way up to the fence
  std::vector<bool> on_way_;
  std::vector<candidate> victims_;     ///< possible victims, in the order of eviction
  std::vector<queue_index> involved_;  ///< queues of the ask and of victims, and all above
  std::vector<bool> is_involved_;
  std::vector<resources> used_;  ///< by queue: what it would have
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/preemption.cpp"
#endif
