#pragma once
#include <cstdint>

#include "gangsched/core/id.hpp"
#include "gangsched/model/reads.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The rows that a column has a word for: nodes, groups, pods, or a named scope. Named scopes are numbered from `first_named`.
enum class scope_number : std::uint32_t { nodes, groups, pods, first_named };

enum class change_kind : std::uint8_t {
  node_added,       ///< row = node
  node_updated,     ///< row = node, facets = what changed
  node_removed,     ///< row = node
  pod_added,        ///< row = pod, after = node row if it came bound
  pod_updated,      ///< row = pod, before = its node row if it is on one
  pod_removed,      ///< row = pod, before = node row if it was on one, after = group row if it was in one
  pod_terminating,  ///< row = pod, after = its node row
  pod_gated,        ///< row = pod: its scheduling gates changed
  pod_nominated,  ///< row = pod, before/after = node rows (the same if only what it asks for changed); facets = what is kept for it
  pod_assumed,        ///< row = pod, after = node row
  pod_bound,          ///< row = pod, after = node row: an assumed pod was confirmed
  pod_released,       ///< row = pod, before = node row: it is pending again
  group_added,        ///< row = group
  group_updated,      ///< row = group, before/after = minimum counts, more
  group_removed,      ///< row = group
  namespace_changed,  ///< which one is not recorded: its symbol may mean another name when the record is read
  budget_changed,     ///< row = budget: added, updated or removed
  queue_changed,  ///< row = queue: added, changed or removed, or less is used in it and above; no_row: flavors changed
  column_changed,  ///< row = of a node, group, pod or named scope, before = `scope()`, after = the pod's node row; facets = the column's
};

/// One record of the change log, 20 bytes.
struct change {
  change_kind kind;
  bool more : 1 =
      false;  ///< of group_updated: something else than the minimum changed; of queue_changed: who may be evicted, by
              ///< the queue itself, or by a pod or gang that runs in it, and not only what is used
  bool undone : 1 =
      false;  ///< wakes no waiting pod: its author took it back in the same cycle, or less room is left than before
  std::uint32_t author : 22 = 0;  ///< the scheduler that wrote it (`change_log::new_author`), or 0: the host
  reads facets = reads::nothing;  ///< what of a node it touched, and which columns
  row_t row = no_row;
  std::uint32_t before = no_row;
  std::uint32_t after = no_row;

  [[nodiscard]] constexpr bool about_pod() const noexcept {
    return kind >= change_kind::pod_added && kind <= change_kind::pod_released;
  }
  [[nodiscard]] constexpr bool about_group() const noexcept {
    return kind >= change_kind::group_added && kind <= change_kind::group_removed;
  }
  /// Whether it is about numbers that plugins read: only plugins that read these are told of it.
  [[nodiscard]] constexpr bool about_numbers() const noexcept {
    return kind == change_kind::column_changed || kind == change_kind::queue_changed;
  }
  /// Whether queues may let other pods be evicted now.
  [[nodiscard]] constexpr bool about_victims() const noexcept { return kind == change_kind::queue_changed && more; }
  /// The scope of a column_changed record.
  [[nodiscard]] constexpr scope_number scope() const noexcept { return static_cast<scope_number>(before); }
  /// The node whose facets changed, or no_row.
  [[nodiscard]] constexpr row_t node() const noexcept {
    if (kind == change_kind::pod_assumed) return after;  // most records are that: before the table of a switch
    switch (kind) {
      case change_kind::node_added:
      case change_kind::node_updated:
      case change_kind::node_removed: return row;
      case change_kind::pod_updated:
      case change_kind::pod_removed:
      case change_kind::pod_released: return before;
      case change_kind::pod_added:
      case change_kind::pod_terminating:
      case change_kind::pod_assumed:
      case change_kind::pod_bound: return after;
      case change_kind::column_changed: return scope() == scope_number::nodes ? row : after;
      default: return no_row;
    }
  }
};
static_assert(sizeof(change) == 20);

}  // namespace gangsched::inline GANGSCHED_ABI
