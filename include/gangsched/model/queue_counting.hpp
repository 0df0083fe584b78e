#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/group_table.hpp"
#include "gangsched/model/node_table.hpp"
#include "gangsched/model/pod_counting.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/queue_table.hpp"
#include "gangsched/model/resource_kinds.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// Which queue a pod is in, and what each queue's pods use: keeps classes and the counts of queues correct while pods, groups, queues,
/// flavors and nodes change. It writes the counts and trees of queues, the flavors of nodes and the class of a pod.
class GANGSCHED_API queue_counting {
 public:
  queue_counting(const interner& names, change_log& log, const node_table& nodes, pod_table& pods,
                 const group_table& groups, class_table& classes, pod_counting& counting, const resource_kinds& kinds,
                 queue_table& queues) noexcept
      : names_(names),
        log_(log),
        nodes_(nodes),
        pods_(pods),
        groups_(groups),
        classes_(classes),
        counting_(counting),
        kinds_(kinds),
        queues_(queues),
        flavors_(queues.flavors),
        parts_(queues.parts) {}
  queue_counting(const queue_counting&) = delete;
  queue_counting& operator=(const queue_counting& from) {
    derived_ = from.derived_;
    return *this;
  }

  // --- membership
  /// Whether there are queues, or have been.
  [[nodiscard]] bool any() const noexcept { return queues_.rows.count() != 0; }
  /// The queue of a pod that names @p own (no_row: none). O(depth of the group's tree), and O(length) where queues take namespaces.
  [[nodiscard]] row_t queue_for(row_t own, symbol ns, row_t group) const noexcept;
  /// The same for a group; if neither it nor a group above names one, that of its first pod that has a queue.
  [[nodiscard]] row_t queue_of_group(row_t group) const noexcept;
  /// The class @p cls, of pods that are in @p queue. Results are cached. O(key), mostly O(1).
  [[nodiscard]] class_id class_in(class_id cls, row_t queue);
  /// The row of that name; adds an expected queue if there was none. O(length).
  [[nodiscard]] row_t expect(std::string_view name);
  /// An object names the queue, or ceases to. An expected queue is removed with the last mention.
  void name(row_t queue);
  void unname(row_t queue);

  // --- pods
  /// Whether what is requested stays below 2^63 in the queue and above with one more pod of @p cls. O(depth · kinds).
  [[nodiscard]] bool fits(const pod_class& cls) const noexcept;
  /// A pod whose class has a queue is added, or removed. O(depth · kinds).
  void enter(row_t pod);
  void leave(row_t pod);
  /// The part of the tree under @p root whose pods are in @p queue; created on first use. O(parts of the tree).
  [[nodiscard]] row_t part_for(row_t root, row_t queue);
  /// It is put on @p node (@p sign +1) or taken off (−1). Allocates for the undo log only. O(depth · kinds).
  void count(row_t pod, row_t node, const pod_class& cls, std::int64_t sign) {
    if (cls.queue) count_use(pod, node, cls, sign);
  }
  /// Moves the pod, with all its counts, to its proper queue, and logs that. False if the requests there would not fit into 64 bits: the
  /// caller must then undo the call. O(depth · kinds).
  [[nodiscard]] bool settle(row_t pod);
  /// For a group and all below it; the second call: for the pods of these namespaces that are not in a queue by their own or their groups'
  /// spec. O(pods below), O(pods).
  [[nodiscard]] bool settle_group(row_t group);
  [[nodiscard]] bool settle_namespaces(const std::vector<symbol>& of);

  // --- queues, flavors, nodes
  /// Moves a queue below another one, or to the roots, with all its counts. False as above. O(depth · kinds · flavors + siblings).
  [[nodiscard]] bool set_parent(row_t queue, row_t parent);
  /// A node was added, removed or changed its labels: updates its flavor. O(flavors · labels + pods there).
  void node_changed(row_t node);
  void node_leaves(row_t node);
  /// Updates the flavors of all nodes. O(nodes · flavors · labels).
  void flavors_changed();
  /// For readers of the log: a queue was added, changed or removed (no_row: flavors changed), or less is used in it. @p victims: others may
  /// be evicted from it or for it now.
  void changed(row_t queue, bool victims = false) {
    log_.write({.kind = change_kind::queue_changed, .more = victims, .facets = reads::queues, .row = queue});
  }
  /// Whether readers of the log are told when a pod of the queue goes or changes: less is used then, or, of a pod that waits in a queue
  /// that goes strictly in order, another may be the first.
  [[nodiscard]] bool tells_of(row_t queue, row_t node) const noexcept {
    return node != no_row || queues_.record[queue]->spec.heads == head_rule::strict;
  }

 private:
  struct derived {
    class_id from = no_class, made = no_class;
    std::uint32_t from_generation = 0, made_generation = 0;
    queue_id queue = {};
  };
  void count_use(row_t pod, row_t node, const pod_class& cls, std::int64_t sign);
  void count_flavor(const pod_class& cls, row_t flavor, std::int64_t sign);
  void count_running(row_t queue, bool more);
  void add(matrix_column& to, row_t queue, const pod_class& cls, std::int64_t sign);
  [[nodiscard]] bool add_row(matrix_column& to, row_t from, row_t queue, std::int64_t sign);
  void set_flavor(row_t node, row_t flavor);

  const interner& names_;
  change_log& log_;
  const node_table& nodes_;
  pod_table& pods_;
  const group_table& groups_;
  class_table& classes_;
  pod_counting& counting_;
  const resource_kinds& kinds_;
  queue_table& queues_;
  flavor_table& flavors_;
  queue_part_table& parts_;
  std::vector<derived> derived_;  ///< classes with a queue by those without, beside the undo log
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/queue_counting.cpp"
#endif
