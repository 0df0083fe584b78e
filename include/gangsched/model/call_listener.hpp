#pragma once
#include <cstdint>
#include <string_view>

#include "gangsched/core/id.hpp"
#include "gangsched/model/fwd.hpp"

/// The listener for the calls of a host, with their arguments and results: decision logs are written by it.
namespace gangsched::inline GANGSCHED_ABI {

struct cluster_options;

/// Calls that change, or could have changed, a cluster, its queues or a scheduler on it. Numbers appear in logs and are never reused.
enum class told : std::uint8_t {
  reserve = 1,
  add_node,
  update_node,
  set_device_health,
  remove_node,
  add_pod,
  add_pods,
  update_pod,
  resize_pods,
  remove_pod,
  set_terminating,
  add_group,
  expect_group,
  update_group,
  remove_group,
  set_namespace,
  remove_namespace,
  set_service,
  remove_service,
  set_controller,
  remove_controller,
  set_priority_class,
  remove_priority_class,
  set_held_room,
  remove_held_room,
  add_resource_claim,
  remove_resource_claim,
  deallocate,
  add_disruption_budget,
  update_disruption_budget,
  remove_disruption_budget,
  add_node_column,
  add_group_column,
  add_pod_column,
  add_scope_column,
  add_scope_row,
  remove_scope_row,
  set_node_column,
  set_group_column,
  set_pod_column,
  set_scope_column,
  assume,
  bind,
  release,
  nominate,
  class_of,
  begin_transaction,
  commit,
  roll_back,
  set_allocatable,
  add_queue = 64,
  update_queue,
  remove_queue,
  set_flavor,
  remove_flavor,
  make_scheduler = 80,
  schedule_cycle,
  permit,
  confirm,
  confirm_last,
  fail,
  fail_last,
  allow,
  allow_all,
  reject,
  restore,
  restore_waiting,
  catch_up,
  pop,
  add_unschedulable_pod,
  add_unschedulable_group,
  done_pod,
  done_group,
  activate,
  flush_backoff,
  flush_unschedulable,
  forget_cached,
};

/// One call, reported when it ends. Valid until the listener returns.
struct told_call {
  told what;
  const void* on;                ///< the scheduler, by the same pointer for each of its calls; null: the cluster
  const void* const* arguments;  ///< pointers to the arguments, in order, of the types that the function takes
  const void* answer;            ///< points to the result; null: the call returned nothing, or threw
  const model::cluster_state* of;
};

/// Is called for each call on one cluster, its queues and its schedulers (`cluster::listen`) until the listener or the cluster is
/// destroyed; it replaces the listener before it. Forks have none. It must not call the cluster or its schedulers. Without a listener a
/// call costs one more comparison.
class GANGSCHED_API call_listener {
 public:
  call_listener() = default;
  call_listener(const call_listener&) = delete;
  call_listener& operator=(const call_listener&) = delete;
  virtual ~call_listener();

  /// Refused calls, and calls that ran out of memory, are reported too. Not reported: questions, and calls made by hooks.
  virtual void called(const told_call& what) noexcept = 0;
  /// No more calls follow: the cluster is gone, or another listener has replaced this one.
  virtual void ended() noexcept {}
  /// The cluster whose calls are reported; null: none.
  [[nodiscard]] const model::cluster_state* told_of() const noexcept { return of_; }

 private:
  friend cluster;
  friend model::cluster_state;
  void end() noexcept {
    of_ = nullptr;
    ended();
  }
  model::cluster_state* of_ = nullptr;
};

namespace detail {

// What a listener may read of the cluster of a call.
[[nodiscard]] GANGSCHED_API const model::cluster_state& state_of(const cluster& of) noexcept;
[[nodiscard]] GANGSCHED_API std::uint64_t digest_of(const model::cluster_state& of);
[[nodiscard]] GANGSCHED_API std::string_view text_of(const model::cluster_state& of, symbol name) noexcept;
/// Whether nothing was done to the cluster yet, and no scheduler was made on it. O(state).
[[nodiscard]] GANGSCHED_API bool is_new(const model::cluster_state& of);
/// The options that the cluster was made with.
[[nodiscard]] GANGSCHED_API cluster_options options_of(const model::cluster_state& of);

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI
