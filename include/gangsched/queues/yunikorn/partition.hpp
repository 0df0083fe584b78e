#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/queue_tree.hpp"
#include "gangsched/queues/yunikorn/resources.hpp"
#include "gangsched/queues/yunikorn/user_limits.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

using application_index = std::uint32_t;  ///< an application, from when it is added until it is removed
using ask_index = std::uint32_t;          ///< an ask, and the allocation that it becomes
using node_number = std::uint32_t;        ///< a node, as the host numbers them
inline constexpr std::uint32_t none = ~std::uint32_t{0};

/// A leaf's application.sort.policy.
enum class application_order : unsigned char { fifo, fair };
/// priority.policy (default, fence): whether priorities below count above the queue.
enum class priority_policy : unsigned char { pass, fence };
/// preemption.policy (default, fence, disabled).
enum class preemption_policy : unsigned char { allow, fence, disabled };

/// The host's settings of a queue. Children of a queue are always served fairly; `order` is that of a leaf's applications.
struct queue_settings {
  resources guaranteed = {};
  resources max = {};                  ///< of a root: all nodes together
  std::uint32_t max_applications = 0;  ///< 0: no bound
  application_order order = application_order::fifo;
  bool priority_first = true;  ///< application.sort.priority; false: share or submission first, in the whole subtree
  std::int32_t priority_offset = 0;                         ///< priority.offset: added on the way up
  priority_policy priority = priority_policy::pass;         ///< fence: above it only the offset counts
  preemption_policy preemption = preemption_policy::allow;  ///< disabled: in the subtree, but for fences
  instant preemption_delay = std::chrono::seconds{30};      ///< how long an ask of this leaf waits before it preempts
  instant quota_preemption_delay = {};  ///< how long it may be above its maximum before pods are preempted; 0: for ever
  std::uint32_t backoff_after = 0;      ///< asks without a node before an application of this leaf backs off; 0: never
  instant backoff = std::chrono::seconds{30};  ///< for how long
  std::vector<user_limit> limits = {};
};

/// An application as the host submits it.
struct application_spec {
  queue_index queue = no_queue;  ///< a leaf
  std::string user = {};
  std::vector<std::string> groups = {};
  std::int64_t submitted = 0;  ///< in any unit
};

/// A pod that an application asks for.
struct ask_spec {
  application_index application = none;
  resources request = {};
  std::int32_t priority = 0;
  instant created{};
  bool may_preempt = false;       ///< it may preempt others
  bool opted_out = false;         ///< others are evicted before it
  bool originator = false;        ///< it leads its application: others are evicted before it
  bool on_required_node = false;  ///< it has to be on one node: it neither preempts nor is preempted by guarantees
  bool stays = false;             ///< it is never evicted
};

/// Whether it may be evicted for others.
[[nodiscard]] constexpr bool may_go(const ask_spec& of) noexcept { return !of.on_required_node && !of.stays; }
/// The order of eviction (quota and required node preemption), lower first: 0 may go, 1 opted out, 2 leads its application.
[[nodiscard]] constexpr int turn_to_go(const ask_spec& of) noexcept { return of.originator ? 2 : of.opted_out ? 1 : 0; }

/// The states of an application that decide which limits apply.
enum class application_state : unsigned char {
  fresh,       ///< never had an ask
  accepted,    ///< has asks, never had an allocation: limits of applications apply to it
  running,     ///< counts
  completing,  ///< has neither asks nor allocations any more
};

/// An application and what it has.
struct application {
  application_spec spec;
  application_owner owner;
  application_state state = application_state::fresh;
  bool counted = false;     ///< its user and group are charged for it: it had an allocation and still has something
  bool preempting = false;  ///< accepted, and preempted for one of its asks: its queues count it
  std::optional<instant> backs_off_until = {};  ///< too many of its asks found no node
  resources allocated = {};
  std::vector<ask_index> pending = {};      ///< by priority, highest first, then age
  std::vector<ask_index> allocations = {};  ///< in no order
};

/// An ask, or the allocation that it became.
struct ask {
  ask_spec spec;
  node_number node = none;                     ///< where it is allocated
  bool held = false;                           ///< skipped by cycles: it replaces a placeholder (`gang_application`)
  bool triggered_preemption = false;           ///< it never preempts again
  std::uint32_t preempted = 0;                 ///< the number of asks that it is being preempted for
  std::optional<instant> preemption_try = {};  ///< when it last tried to preempt
};

/// The use of a queue.
struct queue_usage {
  resources allocated = {};
  resources preempting = {};  ///< the part of it that is being preempted
  resources pending = {};
  std::uint32_t applications = 0;  ///< that run
  std::uint32_t claims =
      0;  ///< accepted applications that preempt before they run: maxima of applications count them, too
  std::optional<std::int32_t> priority = {};  ///< the highest of the asks that wait below, before its own offset
};

/// Why an ask waits, as far as queues and limits are concerned.
struct wait_reasons {
  bool queue_applications = false;  ///< the application limit of a queue
  bool user_applications = false;   ///< … of its user or group
  bool user_quota = false;
  bool queue_quota = false;
  [[nodiscard]] bool any() const noexcept {
    return queue_applications || user_applications || user_quota || queue_quota;
  }
};

/// The host's nodes.
class GANGSCHED_API node_host {
 public:
  node_host() = default;
  node_host(const node_host&) = default;
  node_host& operator=(const node_host&) = default;
  virtual ~node_host();
  /// A node for an ask that fits all quotas; `none` if there is no room.
  virtual node_number place(ask_index which) = 0;
  /// Whether a node is reserved for an ask that has just found none. If so, the cycle ends.
  virtual bool reserve(ask_index which);
  /// Whether pods are preempted for an ask that exceeds a quota of its queues or, if @p nodes_tried, has no node. If so, the cycle ends.
  virtual bool preempt(ask_index which, bool nodes_tried) = 0;
};

/// The result of a cycle, at most one.
struct cycle_outcome {
  enum class kind : unsigned char { nothing, placed, reserved, preempting } what = kind::nothing;
  ask_index which = none;
};

/// Queues with applications, asks and allocations, in YuniKorn's order. Each change costs O(depth), and O(applications) of a leaf if its
/// highest priority is removed. Only adding allocates.
class GANGSCHED_API partition {
 public:
  /// @p settings by queue. Errors name the queue: `malformed` (not one for each), `out_of_range` (a negative guarantee or maximum).
  static result<partition> make(queue_tree tree, std::vector<queue_settings> settings);

  [[nodiscard]] const queue_tree& tree() const noexcept { return tree_; }
  [[nodiscard]] const queue_settings& settings(queue_index queue) const { return settings_[queue]; }
  [[nodiscard]] const queue_usage& usage(queue_index queue) const { return usage_[queue]; }
  [[nodiscard]] const application& of(application_index which) const { return applications_[which]; }
  [[nodiscard]] const ask& of_ask(ask_index which) const { return asks_[which]; }
  /// Whether there is such an application.
  [[nodiscard]] bool has(application_index which) const noexcept {
    return which < applications_.size() && applications_[which].spec.queue != no_queue;
  }
  /// Whether there is such an ask, without a node.
  [[nodiscard]] bool waits(ask_index which) const noexcept;
  /// Whether there is such an ask, and it is allocated.
  [[nodiscard]] bool runs(ask_index which) const noexcept;
  [[nodiscard]] std::span<const application_index> applications(queue_index leaf) const { return members_[leaf]; }

  // --- Changes. Errors: `unknown` (no such queue, application, ask), `wrong_state`, `out_of_range` (an amount below 0, or nothing). ---

  /// Sets the maximum of a queue; of a root, when nodes come and go. O(queues).
  result<void> set_max(queue_index queue, const resources& max);
  result<application_index> add_application(application_spec spec);
  /// @pre it has neither asks nor allocations, else `wrong_state`
  result<void> remove_application(application_index which);
  /// Only types with an amount above 0 are requested.
  result<ask_index> add_ask(const ask_spec& spec);
  /// The ask must be waiting.
  result<void> remove_ask(ask_index which);
  /// The ask has that node. Quotas are not checked: this also reports allocations that existed before.
  result<void> allocate(ask_index which, node_number node);
  /// The allocation ended, or was preempted: the ask is gone.
  result<void> release(ask_index which);
  /// The allocation ended, and its ask waits again. Its application goes on as it is, also if it has no allocation left.
  result<void> take_back(ask_index which);
  /// An ask preempts: its victims count as `preempting` until they are released. It never preempts again. A victim may have been one
  /// before.
  result<void> begin_preemption(ask_index which, std::span<const ask_index> victims);
  /// The same without an ask: the victims' queue exceeds its quota. Error: `unknown`, of a victim that is not allocated; nothing changed.
  result<void> begin_preemption(std::span<const ask_index> victims);
  /// Whether cycles skip a waiting ask. Error: `unknown`, of an ask that does not wait.
  result<void> hold(ask_index which, bool held);
  /// Records that an ask tried to preempt at @p now.
  void note_preemption_try(ask_index which, instant now) { asks_[which].preemption_try = now; }

  // --- Limits. ---

  /// What is left of the maxima on the way up. O(depth).
  [[nodiscard]] resources headroom(queue_index queue) const;
  /// The maximum that a queue's share refers to if it has no guarantee: the root's, replaced by each maximum on the way down.
  [[nodiscard]] const resources& fair_max(queue_index queue) const { return fair_max_[queue]; }
  /// The largest ratio, over types, of what is allocated to the guarantee, or to the fair maximum.
  [[nodiscard]] double share(queue_index queue) const { return turns_[queue].share; }
  /// As its parent sees it; empty if nothing waits.
  [[nodiscard]] std::optional<std::int32_t> priority(queue_index queue) const;
  [[nodiscard]] const user_limits& limits() const noexcept { return limits_; }
  /// What is left for the user and group of an application.
  [[nodiscard]] resources user_room(application_index which) const;
  [[nodiscard]] wait_reasons why_waiting(ask_index which) const;

  // --- Order. ---

  /// Children with waiting asks: by priority and share (or the other way round), then by larger waiting amounts, then by name. O(n log n),
  /// more for ties.
  [[nodiscard]] std::vector<queue_index> sorted_children(queue_index queue) const;
  /// Whether one leaf goes before another, both with waiting asks: by their priorities and shares below their common ancestor, then by how
  /// much waits there, then by name. A strict order; like sorted_children it puts larger waiting amounts first. O(depth).
  [[nodiscard]] bool goes_first(queue_index leaf, queue_index other) const;
  /// Applications of a leaf with waiting asks: by priority, then submission or shares (or the other way round).
  [[nodiscard]] std::vector<application_index> sorted_applications(queue_index leaf) const;
  /// Whether one goes before another of the same leaf, both with waiting asks. O(applications) for ties.
  [[nodiscard]] bool application_before(application_index one, application_index other) const;
  /// Whether the application has an allocation, or may have its first one by all limits of applications.
  [[nodiscard]] bool may_run(application_index which) const;

  /// One cycle: goes down the tree in order and offers each ask that fits its quotas to @p host, until one is placed (which allocates it),
  /// reserves or preempts. An ask that is not placed blocks nothing after it. With `backoff_after`, an application that backs off is tried
  /// again only when its backoff has ended at @p now. @p attempts of preemption for each leaf.
  cycle_outcome try_allocate(node_host& host, int attempts = 10, instant now = {});

 private:
  explicit partition(queue_tree tree, std::vector<queue_settings> settings);
  /// The keys by which siblings are compared, updated with their use and waiting asks.
  struct turn {
    double share = 0;
    std::int64_t pending =
        0;  ///< the sum over all types, saturating: larger waiting amounts have a larger sum, or a saturated one, too
    std::optional<std::int32_t> priority = {};
    bool waits = false;
  };

  /// An application in the order of its leaf.
  struct application_turn {
    application_index which = none;
    std::uint32_t position = 0;  ///< in order of arrival
    std::int32_t priority = 0;
    std::int64_t submitted = 0;
    std::vector<double> shares = {};  ///< of fair leaves
  };

  [[nodiscard]] double share_of(queue_index queue) const;
  [[nodiscard]] application_turn turn_of(application_index which, std::uint32_t position) const;
  [[nodiscard]] static bool goes_before(const queue_settings& leaf, const application_turn& a,
                                        const application_turn& b);
  void sort_applications(queue_index leaf, std::vector<application_turn>& sorted) const;
  void settle_fair_max();
  void refresh_turns(queue_index leaf);
  [[nodiscard]] bool goes_before(queue_index a, queue_index b, bool priority_first) const;
  [[nodiscard]] bool waits_for_more(queue_index a, queue_index b) const;
  /// The first of sorted_children; `no_queue` if none waits. O(children), more for ties.
  [[nodiscard]] queue_index first_child(queue_index queue) const;
  [[nodiscard]] bool queues_can_run(const application& which) const;
  [[nodiscard]] std::int32_t top_priority(const application& which) const;
  void set_state(application& which, application_state to);
  void count_application(const application& which, std::uint32_t queue_usage::*in, std::int32_t by);
  void stop_counting_preemptor(application& which);
  void refresh_priority(queue_index leaf);
  void add_pending(ask_index which);
  void drop_pending(ask_index which);
  void uncount(ask_index which);
  void forget(ask_index which);
  void settle(application& which);
  void mark_preempted(std::span<const ask_index> victims);
  cycle_outcome try_queue(queue_index queue, node_host& host, int attempts, instant now);
  cycle_outcome try_leaf(queue_index leaf, node_host& host, int attempts, instant now);
  cycle_outcome try_application(application_index which, const resources& room, node_host& host, int& attempts,
                                instant now);

  queue_tree tree_;
  std::vector<queue_settings> settings_;  ///< including what a subtree inherits
  std::vector<queue_usage> usage_;
  std::vector<resources> fair_max_;                      ///< by queue
  std::vector<turn> turns_;                              ///< by queue
  std::vector<std::vector<application_index>> members_;  ///< by leaf, in order of arrival
  user_limits limits_;
  std::vector<application> applications_;
  std::vector<ask> asks_;
  std::vector<std::uint32_t> free_applications_, free_asks_;
  std::vector<application_turn> trying_;  ///< applications of the leaf that the cycle is at
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/order.cpp"
#include "gangsched/src/queues/yunikorn/partition.cpp"
#endif
