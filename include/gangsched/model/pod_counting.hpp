#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/counters.hpp"
#include "gangsched/model/device_ledger.hpp"
#include "gangsched/model/kube_semantics.hpp"
#include "gangsched/model/named_objects.hpp"
#include "gangsched/model/node_table.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/reservation_table.hpp"
#include "gangsched/model/topology.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// Which counters a pod is counted in: keeps classes, counters and their topologies correct while pods, nodes and namespaces change. It
/// owns the default spread constraints; it writes the tables of classes, counters, topologies and choices, the class of a pod and the
/// record of a node, and reads the others.
class GANGSCHED_API pod_counting {
 public:
  pod_counting(const kube_semantics& semantics, interner& names, node_table& nodes, pod_table& pods,
               class_table& classes, topology_table& topologies, choice_table& choices, counter_table& counters,
               const named_objects& named, device_ledger& devices, const reservation_table& reserved) noexcept
      : semantics_(semantics),
        names_(names),
        nodes_(nodes),
        pods_(pods),
        classes_(classes),
        topologies_(topologies),
        choices_(choices),
        counters_(counters),
        named_(named),
        devices_(devices),
        reserved_(reserved) {}
  pod_counting(const pod_counting&) = delete;
  pod_counting& operator=(const pod_counting& from) {
    default_spread = from.default_spread;
    kept_ = {};
    return *this;
  }

  std::vector<spread_defaults> default_spread;  ///< of the profiles that schedule this cluster; it only grows

  // --- pods
  /// The pod's class, re-keyed if counters came or went since it was computed.
  [[gnu::always_inline]] class_id class_of(row_t pod) {
    if (pods_.cls_epoch[pod] != classes_.epoch()) catch_up(pod);
    return pods_.cls[pod];
  }
  /// The first pod of a class makes the counters that it names live, which costs a walk over pods; the last one makes them dead.
  void enter_class(class_id cls);
  void leave_class(class_id cls);
  /// A pod, whose class is up to date, is put on @p node (+1) or taken off (−1).
  void count_pod(row_t pod, const pod_class& cls, row_t node, std::int32_t by, removal how = removal::real) {
    if (!cls.counters.counted.empty()) count_in(cls.counters.counted, pod, node, by, how);
  }
  /// The pod is being deleted: spread constraints no longer count it.
  void mark_terminating(row_t pod);

  // --- nodes and namespaces
  /// To be called around a change of a node: the counts of its pods are updated. `topology_table::settle` ends the change.
  void node_came(row_t node);
  void node_leaves(row_t node);
  void set_node_record(row_t node, std::unique_ptr<const node_record> record);
  /// Runs @p change, which gives a namespace the labels @p after, and updates the counters around it. O(pods) if any
  /// counter's namespace selector then matches differently.
  template <class Change>
  void relabel_namespace(symbol ns, const label_map& after, const Change& change) {
    if (!counters_.minds(ns, named_.labels_of(ns), after)) return change();
    const std::vector<row_t> pods_there = placed_in(ns);
    count_all(pods_there, -1);
    change();
    classes_.move_epoch();
    topologies_.move_plan_epoch();  // counts on nodes changed, which no node's facet reflects
    count_all(pods_there, +1);
  }

  // --- from the terms and constraints of a class to the counters they are about
  /// Default constraints for every pod without its own; returns the number of the set. Every pod is re-keyed.
  std::uint32_t add_default_spread(spread_defaults set);
  /// Fills what @p made names: counters of its affinity terms, its own spread constraints or, without any, the registered default ones with
  /// `default_selector`. New counters get numbers and are not live yet. O(terms).
  void name_counters(pod_class& made);
  /// Sets the counters that match the class to @p matched, derives what follows from that, and completes its key. O(matched).
  void match_counters(pod_class& made, std::vector<counter_id> matched) const;
  /// The selector of a pod's services and controller (helper.DefaultSelector): the services' selectors that match it, and its controller's.
  /// Absent if there are none. O(services).
  [[nodiscard]] std::optional<label_selector> default_selector(symbol ns, const label_map& labels,
                                                               const controller_ref& controller) const;

 private:
  /// Pods of a class with the same details stay in it, as long as no input of classes changes: the first of them was asked about.
  struct kept {
    std::weak_ptr<const pod_details> details;
    symbol ns = {};
    class_id cls = 0;
    std::uint32_t generation = 0;  ///< of the class
    std::uint32_t epoch = 0;
    std::uint64_t epoch_moves = 0;
  };
  [[nodiscard]] kept& kept_of(class_id cls) noexcept { return kept_[cls % kept_.size()]; }
  [[nodiscard]] bool is_kept(const pod_record& record, class_id cls) noexcept;
  void keep(const pod_record& record, class_id cls) noexcept;
  void rekey(row_t pod);
  void catch_up(row_t pod);
  void fill(counter_id id);
  void count_in(std::span<const counter_id> counted, row_t pod, row_t node, std::int32_t by, removal how);
  void count_all(const std::vector<row_t>& all, std::int32_t by);
  [[nodiscard]] std::vector<row_t> placed_in(symbol ns) const;
  void count_node(row_t node, bool came);

  const kube_semantics& semantics_;
  interner& names_;
  node_table& nodes_;
  pod_table& pods_;
  class_table& classes_;
  topology_table& topologies_;
  choice_table& choices_;
  counter_table& counters_;
  const named_objects& named_;
  device_ledger& devices_;
  const reservation_table& reserved_;
  std::array<kept, 64> kept_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/class_counters.cpp"
#include "gangsched/src/model/counters.cpp"
#include "gangsched/src/model/pod_counting.cpp"
#include "gangsched/src/model/topology.cpp"
#endif
