#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/devices/device_fit.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/claim_table.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/counters.hpp"
#include "gangsched/model/image_table.hpp"
#include "gangsched/model/kube_semantics.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/node_tree.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/pod_state.hpp"
#include "gangsched/model/pod_templates.hpp"
#include "gangsched/model/port_column.hpp"
#include "gangsched/model/priority_table.hpp"
#include "gangsched/model/resource_claims.hpp"
#include "gangsched/model/slots.hpp"
#include "gangsched/model/spec.hpp"
#include "gangsched/model/topology.hpp"

/// The tables behind a `cluster`: one column a fact, one row an object. Views read them; only `cluster` and `transaction` write.
namespace gangsched {

/// How many volumes of a driver can be attached to a node.
struct volume_limit {
  symbol driver;
  std::int32_t most;
  friend bool operator==(const volume_limit&, const volume_limit&) = default;
};

/// What a pod has of its node's devices, while the node's devices change. Absent: nobody knows.
struct pod_devices {
  row_t pod;
  std::optional<std::vector<held_device>> held;
};
/// What all pods there have, and what claims that they share.
struct node_claims {
  std::vector<pod_devices> pods;
  struct claim {
    row_t row;
    std::vector<held_device> held;
    bool kept;
  };
  std::vector<claim> shared;
};

/// A node's devices, as far as they change only when the host says so.
struct device_record {
  std::shared_ptr<const device_inventory> inventory;
  std::vector<std::string> ids;  ///< of the GPUs, then of the others
  std::vector<bool> unhealthy;   ///< the same
  /// Resources that count GPUs, and what a pod that requests one of them asks for.
  std::vector<std::pair<resource_kind, device_demand>> counted;
  std::vector<resource_kind> memory_kinds;  ///< of its NUMA cells: what each kind of memory there is requested as

  /// Its place in `ids`, if the node has the device. O(devices).
  [[nodiscard]] GANGSCHED_API std::optional<std::uint32_t> find(std::string_view id) const noexcept;
};

/// What of a node changes only when the host says so.
struct node_record {
  std::string name_text;
  symbol name;
  std::vector<label_symbols> labels;  ///< by key symbol
  std::vector<taint_symbols> taints;  ///< in the host's order
  std::vector<image_symbols> images;  ///< by name symbol, each name once
  std::vector<amount> allocatable;
  std::vector<volume_limit> volume_limits;
  std::optional<device_record> devices;
  bool unschedulable = false;
  std::uint64_t cookie = 0;

  /// The value of label @p key, if the node has it. O(log labels).
  [[nodiscard]] GANGSCHED_API std::optional<symbol> label(symbol key) const noexcept;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct node_table {
  explicit node_table(undo_log& undo);

  slots rows;
  object_column<node_record> record;  ///< null: no node in this row
  column<const device_inventory*> inventory;  ///< the record's; null: it has no devices
  matrix_column allocatable;
  matrix_column used;
  matrix_column devices;  ///< in use of them (device_inventory.hpp)
  column<row_t> first_pod;
  column<row_t> first_nominated;  ///< of the pods that are nominated to it
  column<row_t> next_wanted, prev_wanted;  ///< among the nodes that pods are nominated to
  column<row_t> first_wanted;              ///< row 0: the first of them
  column<std::uint64_t> arrival;  ///< order of add_node
  port_column ports;
  name_index by_name;
  column<std::uint32_t> total;  ///< row 0: nodes there are

  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
  void want(row_t node, bool wanted);
  void set_record(row_t row, std::unique_ptr<const node_record> to);
  /// What filters and scores of a node mostly read.
  void prefetch(row_t row) const noexcept {
    record.prefetch(row), inventory.prefetch(row);
    allocatable.prefetch(row, 1), used.prefetch(row, 1), devices.prefetch(row, 16);
  }
  /// Makes every column at least that long, here and below.
  GANGSCHED_API void grow(row_t to, resource_kind kinds);
};

/// The volumes that are a pod's own.
struct pod_disks {
  struct disk {
    symbol id;
    bool read_only;
  };
  struct attachment {
    symbol driver, id;
    friend bool operator==(const attachment&, const attachment&) = default;
  };
  std::vector<disk> disks;
  std::vector<symbol> exclusive_claims;  ///< "namespace/claim"
  std::vector<attachment> attachments;   ///< each once
};

struct pod_record {
  std::string name;
  symbol ns;
  label_map labels;
  std::vector<std::string> gates;
  std::optional<instant> start_time;
  controller_ref controller;
  std::unique_ptr<const pod_disks> disks;  ///< null if there are none
  std::string role;
  std::optional<std::int32_t> rank;
  std::uint64_t cookie = 0;
  GANGSCHED_API void digest_into(digest& out) const;
};

/// What changes of a pod as it comes and goes, in one cache line.
struct alignas(64) pod_words {
  const pod_record* record = nullptr;
  const device_claim* claim = nullptr;
  std::uint64_t arrival = 0;
  class_id cls = no_class;
  std::uint32_t cls_epoch = 0;
  row_t node = no_row, nominated = no_row, group = no_row;
  row_t next_on_node = no_row, prev_on_node = no_row;
  row_t next_in_group = no_row, prev_in_group = no_row;
  pod_state state = pod_state::none;
  bool terminating = false, preempted = false;
};
static_assert(sizeof(pod_words) == 64);

struct pod_table {
  explicit pod_table(undo_log& undo);

  slots rows;
  std::vector<pod_words> words;
  word_object_column<&pod_words::record> record;
  word_column<&pod_words::state> state;
  word_column<&pod_words::terminating> terminating;
  word_column<&pod_words::preempted> preempted;  ///< it terminates because a scheduler evicted it
  word_object_column<&pod_words::claim> claim;   ///< what it holds of its node's devices; null: nothing
  word_column<&pod_words::cls> cls;
  word_column<&pod_words::cls_epoch> cls_epoch;  ///< the selector epoch `cls` was computed in
  word_column<&pod_words::node> node;
  word_column<&pod_words::nominated> nominated;
  word_column<&pod_words::group> group;
  word_column<&pod_words::next_on_node> next_on_node;
  word_column<&pod_words::prev_on_node> prev_on_node;
  column<row_t> next_nominated, prev_nominated;  ///< to the same node
  column<bind_attempt> attempt;  ///< that gave it the node which it has; none: it has none, or came with it
  word_column<&pod_words::next_in_group> next_in_group;
  word_column<&pod_words::prev_in_group> prev_in_group;
  word_column<&pod_words::arrival> arrival;  ///< order of add_pod
  name_index by_name;
  row_t grown = 0;  ///< rows that every column has

  GANGSCHED_API void grow(row_t to);
  void prefetch(row_t row) const noexcept { detail::prefetch(&words[row]); }
  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && state[row] != pod_state::none; }
};

struct group_record {
  group_spec spec;
  symbol ns;
  bool expected = false;  ///< nobody has added it yet, or it was removed before its members: only its name is known
  /// All of it, canonical.
  [[nodiscard]] GANGSCHED_API std::string bytes() const;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct group_table {
  explicit group_table(undo_log& undo);

  slots rows;
  object_column<group_record> record;
  column<row_t> first, last;               ///< members in order of arrival
  column<std::uint32_t> members, assumed, bound;  ///< pending = members − assumed − bound
  column<bool> satisfied;                  ///< its minimum had nodes once, and a member ran
  column<row_t> parent, first_child, last_child, next_sibling, prev_sibling;  ///< children in order of arrival
  column<std::uint32_t> children;
  column<std::uint64_t> arrival;           ///< order of add_group
  name_index by_name, composite_by_name;

  [[nodiscard]] const name_index& names_of(bool composite) const noexcept { return composite ? composite_by_name : by_name; }
  [[nodiscard]] name_index& names_of(bool composite) noexcept { return composite ? composite_by_name : by_name; }
  /// The top of the tree that the group is in. O(depth).
  [[nodiscard]] row_t root(row_t row) const noexcept {
    while (parent[row] != no_row) row = parent[row];
    return row;
  }
  /// Calls visit(row) for the group and every group below it, parents first. Until it says false.
  template <class Visit>
  bool each_below(row_t row, Visit&& visit) const {
    if (!visit(row)) return false;
    for (row_t child = first_child[row]; child != no_row; child = next_sibling[child]) {
      if (!each_below(child, visit)) return false;
    }
    return true;
  }

  GANGSCHED_API void grow(row_t to);
  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
  /// Members, or child groups, that must be placed together: the gang's minimum count, 1 for a basic group.
  [[nodiscard]] std::uint32_t min_count(row_t row) const noexcept {
    const gang* policy = std::get_if<gang>(&record[row]->spec.policy);
    return policy != nullptr ? static_cast<std::uint32_t>(policy->min_count) : 1;
  }
};

struct namespace_record {
  namespace_spec spec;
  GANGSCHED_API void digest_into(digest& out) const;
};
struct service_record {
  service_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};
struct controller_record {
  controller_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};
/// What a controller goes by in its table.
[[nodiscard]] inline std::string controller_key(controller_kind kind, std::string_view name) {
  return std::string(1, static_cast<char>('0' + static_cast<int>(kind))) += name;
}

/// Spread constraints that a profile gives to pods without any (kube-framework 7.1). They have no selectors.
struct spread_defaults {
  std::vector<topology_spread> constraints;
  bool system = false;  ///< defaultingType System: nodes that lack a label take part
};

struct priority_class_record {
  priority_class_spec spec;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct budget_record {
  pod_disruption_budget_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};

/// A table of nothing but names and records.
template <class Record>
struct named_table {
  explicit named_table(undo_log& undo) : rows(undo), record(undo), by_name(undo) {}
  slots rows;
  object_column<Record> record;
  name_index by_name;
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
  std::vector<symbol> kind_names;  ///< by resource_kind; of one that is free: `no_kind`
  node_table nodes;
  node_tree tree{names, undo};
  image_table images;
  pod_table pods;
  placements on_nodes{*this};
  priority_table priorities;  ///< of pods on nodes
  claim_table claims;         ///< of pods on nodes
  resource_claim_table resource_claims;
  group_table groups;
  class_table classes;
  pod_templates templates;
  topology_table topologies;
  choice_table choices;
  counter_table counters;
  named_table<namespace_record> namespaces;
  named_table<priority_class_record> priority_classes;
  named_table<budget_record> budgets;
  named_table<service_record> services;
  named_table<controller_record> controllers;
  std::vector<spread_defaults> default_spread;  ///< of the profiles that schedule this cluster; it only grows
  mutable tuple_table tuples;                   ///< names for what keyed hooks say, no state
  label_map no_labels;
  column<std::uint64_t> arrivals;  ///< row 0: nodes, pods and groups ever added
  std::vector<std::unique_ptr<column<std::int64_t>>> plugin_columns;  ///< of nodes
  /// By canonical bytes: nodes with equal devices share one.
  std::vector<std::pair<std::string, std::weak_ptr<const device_inventory>>> inventories;
  device_matcher matcher;
  std::uint64_t attempts_after = 0;  ///< attempts are numbered from there
  std::vector<std::pair<symbol, symbol>> expressions;  ///< that the host is asked about, and of which class of devices; no state
  bool in_hook = false;  ///< a hook is running: the host's calls that would change anything are refused

  /// The kind of resource @p name, made on first sight (kind_of) or only if it is known.
  resource_kind kind_of(std::string_view name);
  [[nodiscard]] std::optional<resource_kind> find_kind(std::string_view name) const;
  /// "" of one that is free.
  [[nodiscard]] std::string_view kind_name(resource_kind kind) const {
    return kind_names[kind] == no_kind ? std::string_view{} : names.text(kind_names[kind]);
  }
  /// The bound of every kind.
  [[nodiscard]] resource_kind kind_count() const noexcept { return static_cast<resource_kind>(kind_names.size()); }
  static constexpr symbol no_kind{0xffffffffu};

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
  /// What a pod of @p cls asks of the node's devices, with its claims that are not on it; nothing if the node has none that it asks for.
  /// O(requests).
  [[nodiscard]] device_wants wants_of(const pod_class& cls, row_t node) const;
  /// That, of a node with devices whose kubelet aligns nothing, if it is one thing only: what most pods ask for. O(requests).
  [[nodiscard]] std::optional<device_want> only_want(const pod_class& cls, row_t node) const;
  [[nodiscard]] device_state devices_of(row_t node) const noexcept {
    const device_inventory* const inventory = nodes.inventory[node];
    return inventory != nullptr ? device_state{inventory, nodes.devices.row(node)} : device_state{};
  }
  /// Whether the claims that pods of @p cls share let one more of them onto @p node. O(claims).
  [[nodiscard]] status claims_allow(const pod_class& cls, row_t node) const noexcept;
  /// Chooses the devices that the pod is to have on @p node, before it is put there. False if there are none for it.
  bool claim_devices(row_t pod, row_t node, const device_rules& rules = {});
  /// Makes the claim of what the host says that a pod on @p node holds already; if that is nothing, leaves it open. Then its shared claims.
  void claim_held(row_t pod, row_t node, std::span<const held_device> held);
  /// Whether the pod, which is on no node now, could have on @p node what it and its claims had there.
  [[nodiscard]] bool claims_still_free(row_t pod, row_t node) const;
  /// Forgets what the pod had on a node that it has left, and its shared claims that nobody has any more.
  void drop_claim(row_t pod) {
    if (pods.claim[pod] != nullptr) pods.claim.set(pod, nullptr);
    drop_unused(classes[pods.cls[pod]].claims);
  }
  void drop_unused(std::span<const resource_claim_id> shared);
  /// Allocates the claim on @p node, with what the host says that it has there, before anybody uses it; and takes that back.
  void keep_claim(row_t claim, row_t node);
  void deallocate(row_t claim);
  /// Asks the host about the expressions of @p requests, and about the devices of a new inventory, what it was not asked before.
  void ask_host(std::span<const device_request> requests);
  void ask_host(const device_inventory& inventory);
  /// Whether there is somebody to ask, if there is something.
  [[nodiscard]] bool can_ask(std::span<const device_request> requests) const;
  /// Adds (sign +1) or takes back (−1) what the pod holds of the node's devices.
  void count_devices(row_t pod, row_t node, std::int64_t sign);
  /// Zeros the words of the node's devices; marks the unhealthy ones.
  void clear_devices(row_t node);
  void mark_devices(row_t node);
  /// Around a change of a node's devices: what each pod there has, by id; and as much of that as there is now.
  [[nodiscard]] node_claims take_claims(row_t node);
  void give_claims(row_t node, const node_claims& all);
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
    log.append(record);
    log.trim();
  }
  [[nodiscard]] std::uint64_t digest() const;

 private:
  /// How many may be made before the next collection.
  struct collection_limits {
    std::size_t names = 1024, counters = 256, topologies = 16, choices = 64, kinds = 16, expressions = 16, priorities = 256, tuples = 65536;
  };
  collection_limits limits_;
  std::vector<resource_kind> free_kinds_;
  std::size_t kinds_made_ = 0, expressions_made_ = 0;
  [[nodiscard]] bool collection_due() const noexcept {
    return names.made() >= limits_.names || counters.made() >= limits_.counters || topologies.made() >= limits_.topologies ||
           choices.made() >= limits_.choices || kinds_made_ >= limits_.kinds || expressions_made_ >= limits_.expressions ||
           priorities.known() >= limits_.priorities || tuples.size() >= limits_.tuples || collect_always;
  }
  void collect();
  [[nodiscard]] device_wants own_wants_of(const pod_class& cls, row_t node) const;
  bool claim_shared(row_t pod, row_t node, const device_rules& rules);
  [[nodiscard]] std::unique_ptr<device_claim> hold(row_t node, device_wants wants, std::span<const held_device> held,
                                                   std::vector<std::int64_t>& words) const;
  void allocate(row_t claim, row_t node, std::unique_ptr<const device_claim> devices);
  void count_changes(const device_claim& claim, row_t node, std::int64_t sign);
  void count_users(row_t pod, row_t node, std::int64_t sign);
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
#include "gangsched/src/model/host_answers.cpp"
#include "gangsched/src/model/state.cpp"
#include "gangsched/src/model/state_counters.cpp"
#include "gangsched/src/model/state_devices.cpp"
#include "gangsched/src/model/state_digest.cpp"
#include "gangsched/src/model/state_resource_claims.cpp"
#include "gangsched/src/model/topology.cpp"
#endif
