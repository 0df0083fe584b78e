#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/claim_table.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/counters.hpp"
#include "gangsched/model/device_ledger.hpp"
#include "gangsched/model/group_table.hpp"
#include "gangsched/model/image_table.hpp"
#include "gangsched/model/kube_semantics.hpp"
#include "gangsched/model/named_objects.hpp"
#include "gangsched/model/node_table.hpp"
#include "gangsched/model/node_tree.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/pod_templates.hpp"
#include "gangsched/model/priority_table.hpp"
#include "gangsched/model/resource_kinds.hpp"
#include "gangsched/model/topology.hpp"

/// The tables behind a `cluster`: one column a fact, one row an object. Views read them; only `cluster` and `transaction` write.
namespace gangsched {

/// Spread constraints that a profile gives to pods without any (kube-framework 7.1). They have no selectors.
struct spread_defaults {
  std::vector<topology_spread> constraints;
  bool system = false;  ///< defaultingType System: nodes that lack a label take part
};

struct cluster_state;

/// Pods come on nodes by one entry of the undo log each, whose undoing takes them off again: it is the last that came.
class GANGSCHED_API placements final : public column_base {
 public:
  explicit placements(cluster_state& state) noexcept : state_(&state) {}
  /// What both count of each other: amounts, priorities, the node's list of pods.
  void put(row_t pod, row_t node);
  void take_off(row_t pod);

  void restore(row_t pod, std::uint32_t, std::uint64_t) noexcept override;
  void digest_into(digest&, row_t) const override {}  // all of it is in other columns

 private:
  cluster_state* state_;
};

/// Everything of one cluster. Heap-allocated and pinned by `cluster`, because columns point at its undo log.
struct GANGSCHED_API cluster_state {
  explicit cluster_state(std::size_t log_bound, const kube_semantics& whose = {});
  cluster_state(const cluster_state&) = delete;
  cluster_state& operator=(const cluster_state&) = delete;

  const kube_semantics semantics;
  undo_log undo;
  change_log log;
  interner names;
  node_table nodes;
  node_tree tree{names, undo};
  resource_kinds kinds{names, nodes};
  image_table images;
  pod_table pods;
  placements on_nodes{*this};
  priority_table priorities;  ///< of pods on nodes
  claim_table claims;         ///< of pods on nodes
  group_table groups;
  class_table classes;
  device_ledger devices{undo, log, names, nodes, pods, classes, kinds, in_hook};
  pod_templates templates;
  topology_table topologies;
  choice_table choices;
  counter_table counters;
  named_objects named;
  std::vector<spread_defaults> default_spread;  ///< of the profiles that schedule this cluster; it only grows
  mutable tuple_table tuples;                   ///< names for what keyed hooks say, no state
  label_map no_labels;
  column<std::uint64_t> arrivals;  ///< row 0: nodes, pods and groups ever added
  std::vector<std::unique_ptr<column<std::int64_t>>> plugin_columns;  ///< of nodes
  std::uint64_t attempts_after = 0;  ///< attempts are numbered from there
  bool in_hook = false;  ///< a hook is running: the host's calls that would change anything are refused

  /// Whatever is interned or numbered because somebody named it (names, kinds, counters, …) goes when nobody does any more: in a
  /// collection, which is due when as many of something were made since the last one as it found in use, and some. It keeps the numbers of
  /// what is used, so that whatever hangs on a node, pod, class or group is right as it was; who has more than that (plans, indexes) makes
  /// it anew when `plan_epoch` or `collections` moves. Called where a change begins. O(1), or O(state) amortised over what was made.
  void collect_if_due() {
    if (collection_due() && !undo.recording()) collect();
  }
  std::uint64_t collections = 0;  ///< that freed something
  bool collect_always = false;    ///< at every change: for tests

  /// The pod's class, re-keyed if counters came or went since it was computed.
  class_id class_of(row_t pod) {
    if (pods.cls_epoch[pod] != classes.epoch()) catch_up(pod);
    return pods.cls[pod];
  }

  // What happens to a pod, by row, without checks: `cluster` checks the host's calls, engines know what they do.
  void assume(row_t pod, row_t node);
  void bind(row_t pod);
  void release(row_t pod);
  void nominate(row_t pod, row_t node);
  /// Writes down that what was kept on @p before for the pod, and is now on @p after, changed.
  void log_nomination(row_t pod, row_t before, row_t after);
  /// Moves the pod to the list of @p node without a word in the log.
  void set_nominated_node(row_t pod, row_t node);
  void put_on_node(row_t pod, row_t node, removal how = removal::real);
  void take_off_node(row_t pod, removal how = removal::real);
  void mark_terminating(row_t pod);
  void set_pod_state(row_t pod, pod_state to);
  void count_claims(row_t pod, std::int32_t sign);
  /// Adds (sign +1) or takes back (−1) what a pod of class @p cls uses on @p node, but for its ports.
  void count_usage(row_t node, const pod_class& cls, std::int64_t sign);
  /// Whether the node's usage stays below 2^63 with one more pod of @p cls, instead of one of @p replaced if there is that.
  [[nodiscard]] bool fits_in_words(row_t node, const pod_class& cls, const pod_class* replaced = nullptr) const noexcept;
  /// What a pod of @p cls touches on its node.
  [[nodiscard]] static reads facets_of(const pod_class& cls) noexcept;
  /// What a hook sees of a node, asked for pods of @p cls, that changes without a record about that node.
  [[nodiscard]] static reads elsewhere(const pod_class& cls) noexcept { return cls.claims.empty() ? reads::nothing : reads::claims; }

  /// The first pod of a class brings the counters that it names to life, which costs a walk over pods; the last one lets them die.
  void enter_class(class_id cls);
  void leave_class(class_id cls);
  /// Around a change of a node: what counts there moves along. `topologies.settle()` ends the change.
  void node_came(row_t node);
  void node_leaves(row_t node);
  void set_node_record(row_t node, std::unique_ptr<const node_record> record);
  [[nodiscard]] const label_map& namespace_labels(symbol ns) const;
  /// Runs @p change, which gives a namespace the labels @p after, with what that means to counters around it. O(pods) if any
  /// counter minds.
  template <class Change>
  void relabel_namespace(symbol ns, const label_map& after, const Change& change) {
    if (!counters.minds(ns, namespace_labels(ns), after)) return change();
    const std::vector<row_t> pods_there = placed_in(ns);
    count_all(pods_there, -1);
    change();
    classes.move_epoch();
    topologies.move_plan_epoch();  // counts on nodes moved, and no node's facet says so
    count_all(pods_there, +1);
  }
  /// Default constraints for every pod without its own; returns the number of the set. Every pod is re-keyed.
  std::uint32_t add_default_spread(spread_defaults set);

  /// Adds to a plugin's column.
  void add_own(std::uint32_t index, row_t node, std::int64_t value) {
    plugin_columns[index]->set(node, (*plugin_columns[index])[node] + value);
    changed({.kind = change_kind::node_updated, .facets = reads::own, .row = node});
  }
  /// The next number of the order in which nodes, pods and groups arrive.
  std::uint64_t next_arrival() {
    arrivals.set(0, arrivals[0] + 1);
    return arrivals[0];
  }
  /// Appends to the change log.
  void changed(const change& record) {
    log.write(record);
  }
  [[nodiscard]] std::uint64_t digest() const;

 private:
  /// How many may be made before the next collection.
  struct collection_limits {
    std::size_t names = 1024, counters = 256, topologies = 16, choices = 64, kinds = 16, expressions = 16, priorities = 256, tuples = 65536;
  };
  collection_limits limits_;
  [[nodiscard]] bool collection_due() const noexcept {
    return names.made() >= limits_.names || counters.made() >= limits_.counters || topologies.made() >= limits_.topologies ||
           choices.made() >= limits_.choices || kinds.made() >= limits_.kinds || devices.expressions_made() >= limits_.expressions ||
           priorities.known() >= limits_.priorities || tuples.size() >= limits_.tuples || collect_always;
  }
  void collect();
  void rekey(row_t pod);
  void catch_up(row_t pod);
  void fill(counter_id id);
  void count_pod(row_t pod, row_t node, std::int32_t by, removal how = removal::real);
  void count_all(const std::vector<row_t>& all, std::int32_t by);
  [[nodiscard]] std::vector<row_t> placed_in(symbol ns) const;
  void count_node(row_t node, bool came);
};

// From the terms and constraints of a class to the counters they are about.

/// Fills what @p made names: counters of its affinity terms, its own spread constraints or, without any, the registered default
/// ones with `default_selector`. New counters get numbers and do not live yet. O(terms).
GANGSCHED_API void name_counters(cluster_state& state, pod_class& made);
/// Makes @p matched what the class is matched by, with all that follows from it, and completes its key. O(matched).
GANGSCHED_API void match_counters(const cluster_state& state, pod_class& made, std::vector<counter_id> matched);

/// The selector of a pod's services and controller (kube-framework 7.1, helper.DefaultSelector): the services' selectors that match
/// it, and its controller's. Absent if it comes to nothing. O(services).
[[nodiscard]] GANGSCHED_API std::optional<label_selector> default_selector(const cluster_state& state, symbol ns,
                                                                           const label_map& labels,
                                                                           const controller_ref& controller);

}  // namespace gangsched

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/class_counters.cpp"
#include "gangsched/src/model/collect.cpp"
#include "gangsched/src/model/counters.cpp"
#include "gangsched/src/model/state.cpp"
#include "gangsched/src/model/state_counters.cpp"
#include "gangsched/src/model/state_digest.cpp"
#include "gangsched/src/model/topology.cpp"
#endif
