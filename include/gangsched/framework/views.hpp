#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gangsched/core/status.hpp"
#include "gangsched/framework/fwd.hpp"
#include "gangsched/model/change.hpp"
#include "gangsched/model/counter_spec.hpp"
#include "gangsched/model/own_column.hpp"
#include "gangsched/model/viewed_tables.hpp"

/// What hooks see. A view has only the accessors of what it declares to read; the engine derives from a hook's signature what the hook
/// reads. A hook that reads devices includes device_views.hpp too, one that reads queues queue_view.hpp.
namespace gangsched::inline GANGSCHED_ABI {

class flavor_view;
struct priority_class_spec;

namespace detail {
// Views' access to tables that inline code does not read.
[[nodiscard]] GANGSCHED_API std::int64_t own_word(const model::viewed_tables& tables, std::uint32_t column,
                                                  row_t row) noexcept;
[[nodiscard]] GANGSCHED_API domain_id domain_of(const model::viewed_tables& tables, topology_id key,
                                                row_t node) noexcept;
[[nodiscard]] GANGSCHED_API flavor_id flavor_of(const model::viewed_tables& tables, row_t node) noexcept;
[[nodiscard]] GANGSCHED_API std::int32_t count_at(const model::viewed_tables& tables, counter_id counter,
                                                  row_t node) noexcept;
[[nodiscard]] GANGSCHED_API status claims_allow(const model::viewed_tables& tables, const pod_class& cls,
                                                row_t node) noexcept;
/// The number of the oldest change that is kept; and the change with this number.
[[nodiscard]] GANGSCHED_API std::uint64_t first_change(const model::viewed_tables& tables) noexcept;
[[nodiscard]] GANGSCHED_API const change& change_at(const model::viewed_tables& tables, std::uint64_t number) noexcept;
[[nodiscard]] GANGSCHED_API row_t budget_rows(const model::viewed_tables& tables) noexcept;
/// Null if this row has no budget.
[[nodiscard]] GANGSCHED_API const model::budget_record* budget_at(const model::viewed_tables& tables,
                                                                  row_t row) noexcept;
/// Keeps a copy of @p text. Outside of a scheduler's calls nothing is kept and the result is empty.
[[nodiscard]] inline const char* said(const model::viewed_tables& tables, std::string_view text) noexcept {
  return tables.said != nullptr ? tables.said->keep(text) : "";
}
}  // namespace detail

/// A node, restricted to what @p Reads names. A hook that takes `node_view<reads::labels>` is called again only when labels change; one
/// that takes `node_info` (everything) is called every time. `reads::claims` is about shared claims, not the node: for pods without shared
/// claims it adds nothing, for pods with them a hook that reads it is called every time.
template <reads Reads>
class node_view {
 public:
  static constexpr reads facets = Reads;

  constexpr node_view(const model::viewed_tables& state, row_t row) noexcept : state_(&state), row_(row) {}
  /// A view that reads more converts to one that reads less.
  template <reads More>
    requires(covers(More, Reads) && More != Reads)
  constexpr node_view(const node_view<More>& other) noexcept : state_(other.state_), row_(other.row_) {}

  [[nodiscard]] std::string_view name() const {
    needs<reads::name>();
    return state_->names.text(record().name);
  }
  [[nodiscard]] symbol name_symbol() const {
    needs<reads::name>();
    return record().name;
  }
  [[nodiscard]] node_id id() const {
    needs<reads::name>();
    return {row_, state_->nodes.rows.generation(row_)};
  }
  [[nodiscard]] std::uint64_t cookie() const {
    needs<reads::name>();
    return record().cookie;
  }

  /// The value of a label, if the node has it. By symbol O(log labels); by text one look-up more.
  [[nodiscard]] std::optional<symbol> label(symbol key) const {
    needs<reads::labels>();
    return record().label(key);
  }
  [[nodiscard]] std::optional<std::string_view> label(std::string_view key) const {
    needs<reads::labels>();
    const std::optional<symbol> known = state_->names.find(key);
    const std::optional<symbol> value = known ? record().label(*known) : std::nullopt;
    return value ? std::optional{state_->names.text(*value)} : std::nullopt;
  }
  [[nodiscard]] std::span<const label_symbols> labels() const {
    needs<reads::labels>();
    return record().labels;
  }
  [[nodiscard]] std::span<const taint_symbols> taints() const {
    needs<reads::taints>();
    return record().taints;
  }
  [[nodiscard]] bool unschedulable() const {
    needs<reads::schedulable>();
    return record().unschedulable;
  }
  /// Sorted by name symbol.
  [[nodiscard]] std::span<const image_symbols> images() const {
    needs<reads::images>();
    return record().images;
  }
  /// Ascending, each once.
  [[nodiscard]] std::span<const symbol> declared_features() const {
    needs<reads::features>();
    return record().features;
  }

  /// cpu in milli, everything else in whole units; 0 for what the node does not have.
  [[nodiscard]] std::int64_t allocatable(resource_kind kind) const {
    needs<reads::allocatable>();
    return state_->nodes.allocatable.at(row_, kind);
  }
  /// How many volumes of each driver can be attached; drivers without a limit are absent.
  [[nodiscard]] std::span<const volume_limit> volume_limits() const {
    needs<reads::allocatable>();
    return record().volume_limits;
  }
  [[nodiscard]] std::int64_t used(resource_kind kind) const {
    needs<reads::usage>();
    return state_->nodes.used.at(row_, kind);
  }
  /// Allocatable minus used; negative on an overcommitted node.
  [[nodiscard]] std::int64_t free(resource_kind kind) const {
    needs<reads::allocatable | reads::usage>();
    return allocatable(kind) - used(kind);
  }
  [[nodiscard]] std::int64_t allocatable(std::string_view name) const {
    needs<reads::allocatable>();
    const auto kind = state_->kinds.find(name);
    return kind ? allocatable(*kind) : 0;
  }
  [[nodiscard]] std::int64_t used(std::string_view name) const {
    needs<reads::usage>();
    const auto kind = state_->kinds.find(name);
    return kind ? used(*kind) : 0;
  }
  [[nodiscard]] std::int64_t free(std::string_view name) const {
    needs<reads::allocatable | reads::usage>();
    const auto kind = state_->kinds.find(name);
    return kind ? free(*kind) : 0;
  }
  /// The number of resource kinds in the cluster. The node has those kinds below it for which `allocatable` is above 0.
  [[nodiscard]] resource_kind kind_count() const noexcept { return state_->kinds.count(); }

  /// Host ports that its pods use.
  [[nodiscard]] std::span<const host_port> ports() const {
    needs<reads::ports>();
    return state_->nodes.ports[row_];
  }
  /// Its word of a column of the plugin's, or of one that the host sets.
  [[nodiscard]] std::int64_t own(node_column column) const {
    needs<reads::own>();
    return detail::own_word(*state_, column.index, row_);
  }
  [[nodiscard]] std::int64_t own(by_host<node_column> column) const { return own(node_column{column.index}); }
  /// The node's domain of a topology key, or no_domain.
  [[nodiscard]] domain_id domain(topology_id key) const {
    needs<reads::labels>();
    return detail::domain_of(*state_, key, row_);
  }
  /// The node's flavor, for queues with quota by flavor; a default id if it has none. Cached results are dropped when flavors change.
  [[nodiscard]] flavor_id flavor() const noexcept {
    needs<reads::labels>();
    return detail::flavor_of(*state_, row_);
  }
  /// Its devices in their present state; false in a boolean context if the host reported none. O(1).
  [[nodiscard]] device_state devices() const noexcept;
  /// Whether the host reported any. O(1).
  [[nodiscard]] bool has_devices() const noexcept {
    needs<reads::devices>();
    return state_->nodes.inventory[row_] != nullptr;
  }
  /// The device requests of pods of class @p cls, for this node's devices; empty if none concerns devices of the node. O(requests).
  [[nodiscard]] device_wants wants_of(const pod_class& cls) const;
  /// `wants_of`, if it is a single request and the node has devices and no kubelet that aligns resources; else nothing. O(requests).
  [[nodiscard]] std::optional<device_want> only_want(const pod_class& cls) const;
  /// Whether its devices can serve the device requests of pods of @p cls. Mostly O(devices).
  [[nodiscard]] status devices_fit(const pod_class& cls, const device_rules& rules) const;
  /// Whether the shared claims of pods of @p cls allow one more such pod on the node.
  [[nodiscard]] status claims_allow(const pod_class& cls) const noexcept {
    needs<reads::claims>();
    return cls.claims.empty() ? status::success() : detail::claims_allow(*state_, cls, row_);
  }
  /// The value of a counter of the model in the node's domain. A cached hook may read it only if the counter's topology is local: elsewhere
  /// it changes with pods on other nodes.
  [[nodiscard]] std::int32_t count(counter_id counter) const {
    needs<reads::labels | reads::taints | reads::name | reads::pods>();
    return detail::count_at(*state_, counter, row_);
  }
  /// Calls visit(pod_info) for every pod on the node, newest first.
  template <class Visit>
  void each_pod(Visit&& visit) const;

  /// The text of a symbol.
  [[nodiscard]] std::string_view text(symbol name) const { return state_->names.text(name); }
  /// Makes a reason at run time: a copy of @p text for a status, valid until the scheduler's next schedule_cycle, permit or pop; the
  /// library copies what it keeps for longer. O(length · log such texts).
  [[nodiscard]] const char* say(std::string_view text) const noexcept { return detail::said(*state_, text); }

 private:
  template <reads>
  friend class node_view;
  /// The compiler's error message if a hook reads more than its view declares.
  template <reads Facets>
  static constexpr void needs() noexcept {
    static_assert(covers(Reads, Facets),
                  "a hook asks the node for something that its node_view does not read: add that facet to the "
                  "node_view it takes");
  }
  [[nodiscard]] const model::node_record& record() const noexcept { return *state_->nodes.record[row_]; }
  const model::viewed_tables* state_;
  row_t row_;
};

using node_info = node_view<reads::everything>;

/// A pod's class: all that a cached hook may read of a pod.
class pod_view {
 public:
  constexpr pod_view(const model::viewed_tables& state, const pod_class& cls) noexcept : state_(&state), class_(&cls) {}

  [[nodiscard]] const pod_class& spec() const noexcept { return *class_; }
  /// The Kubernetes release and rules that are followed; constant for a cluster.
  [[nodiscard]] const kube_semantics& semantics() const noexcept { return state_->semantics; }
  [[nodiscard]] std::int32_t priority() const noexcept { return class_->priority; }
  [[nodiscard]] std::string_view ns() const { return text(class_->ns); }
  [[nodiscard]] std::span<const amount> requests() const noexcept { return class_->requests; }
  /// The request for a resource: cpu in milli, everything else in whole units; 0 if there is none.
  [[nodiscard]] std::int64_t request(resource_kind kind) const noexcept { return class_->request(kind); }
  [[nodiscard]] std::int64_t request(std::string_view name) const {
    const auto kind = state_->kinds.find(name);
    return kind ? request(*kind) : 0;
  }
  [[nodiscard]] std::span<const toleration_symbols> tolerations() const noexcept { return class_->tolerations; }
  [[nodiscard]] bool tolerates(const taint_symbols& taint) const noexcept {
    for (const toleration_symbols& one : class_->tolerations)
      if (one.tolerates(taint)) return true;
    return false;
  }
  [[nodiscard]] std::span<const host_port> ports() const noexcept { return class_->ports; }
  /// The queue of its pods; a default id if none. Hooks that see the cluster can read the queue itself (`cluster_view::queue_of`).
  [[nodiscard]] queue_id in_queue() const noexcept { return class_->queue; }
  [[nodiscard]] std::string_view text(symbol name) const { return state_->names.text(name); }
  /// As `node_view::say`.
  [[nodiscard]] const char* say(std::string_view text) const noexcept { return detail::said(*state_, text); }
  [[nodiscard]] std::optional<symbol> find(std::string_view text) const { return state_->names.find(text); }
  [[nodiscard]] std::optional<resource_kind> find_kind(std::string_view name) const { return state_->kinds.find(name); }
  [[nodiscard]] std::string_view kind_name(resource_kind kind) const { return state_->kinds.name(kind); }
  [[nodiscard]] symbol kind_symbol(resource_kind kind) const { return state_->kinds.symbols()[kind]; }

  /// What one of the class's counters counts, and whether its topology is local. Constant while a plan is used.
  [[nodiscard]] GANGSCHED_API const counter_spec& counter(counter_id id) const noexcept;
  [[nodiscard]] GANGSCHED_API bool local(topology_id key) const noexcept;
  /// The domain of a label's value, or no_domain.
  [[nodiscard]] GANGSCHED_API domain_id find_domain(topology_id key, symbol value) const noexcept;
  /// Packs several words into one key, and unpacks them. A single word is its own key.
  [[nodiscard]] GANGSCHED_API std::int64_t pack(std::span<const std::int64_t> words) const;
  [[nodiscard]] GANGSCHED_API std::span<const std::int64_t> unpack(const std::int64_t& key, std::size_t words) const;

 protected:
  const model::viewed_tables* state_;
  const pod_class* class_;
};

class group_view;
class cluster_view;

/// One pod with everything of its own. A hook that takes it is called anew for every pod.
class pod_info : public pod_view {
 public:
  pod_info(const model::viewed_tables& state, row_t row) noexcept
      : pod_view(state, state.classes[state.pods.cls[row]]), row_(row) {}

  [[nodiscard]] pod_id id() const noexcept { return {row_, state_->pods.rows.generation(row_)}; }
  [[nodiscard]] std::string_view name() const { return record().name; }
  [[nodiscard]] const label_map& labels() const { return record().details->labels; }
  [[nodiscard]] std::optional<std::string_view> label(const std::string& key) const {
    const auto found = record().details->labels.find(key);
    return found == record().details->labels.end() ? std::nullopt : std::optional<std::string_view>{found->second};
  }
  [[nodiscard]] std::span<const std::string> gates() const { return record().details->gates; }
  [[nodiscard]] std::uint64_t cookie() const { return record().cookie; }
  [[nodiscard]] std::optional<instant> start_time() const { return record().start_time; }
  /// The latest start from which the pod still ends by its deadline; the last instant if it has none. O(depth of its group).
  [[nodiscard]] GANGSCHED_API instant latest_start() const noexcept;
  /// Its priority class, if it names one (`cluster_view::priority_class`).
  [[nodiscard]] symbol priority_class() const { return record().details->priority_class; }
  [[nodiscard]] pod_state state() const noexcept { return state_->pods.state[row_]; }
  [[nodiscard]] bool terminating() const noexcept { return state_->pods.terminating[row_]; }
  /// Whether it terminates because a scheduler evicted it.
  [[nodiscard]] bool preempted() const noexcept { return state_->pods.preempted[row_]; }
  /// The pod's own volumes; null if there are none.
  [[nodiscard]] const pod_disks* disks() const noexcept { return record().details->disks.get(); }
  /// The pod's word in a column of the host. A hook that reads it for a pod on its node needs `reads::own` on that node.
  [[nodiscard]] std::int64_t own(by_host<pod_column> column) const {
    return detail::own_word(*state_, column.index, row_);
  }
  /// How many pods on nodes use an exclusive claim.
  [[nodiscard]] GANGSCHED_API std::uint32_t claim_users(symbol claim) const noexcept;
  /// Order of add_pod among nodes, pods and groups.
  [[nodiscard]] std::uint64_t arrival() const noexcept { return state_->pods.arrival[row_]; }
  [[nodiscard]] std::optional<group_view> group() const;
  /// The pod's queue; it may be one that was named but not added yet.
  [[nodiscard]] GANGSCHED_API std::optional<queue_view> queue() const noexcept;
  /// The pod's devices on its node; null if it has none.
  [[nodiscard]] const device_claim* devices() const noexcept { return state_->pods.claim[row_]; }
  /// Its role in its group; empty if it has none. The second call: its rank (index) there, if it has one.
  [[nodiscard]] std::string_view role() const { return record().details->role; }
  [[nodiscard]] std::optional<std::int32_t> rank() const { return record().rank; }
  /// The node that it runs on or is assumed on.
  [[nodiscard]] std::optional<node_info> node() const {
    const row_t row = state_->pods.node[row_];
    return row == no_row ? std::nullopt : std::optional{node_info{*state_, row}};
  }
  /// The node that it is nominated to.
  [[nodiscard]] std::optional<node_info> nominated_node() const {
    const row_t row = state_->pods.nominated[row_];
    return row == no_row ? std::nullopt : std::optional{node_info{*state_, row}};
  }
  [[nodiscard]] row_t row() const noexcept { return row_; }

 private:
  [[nodiscard]] const model::pod_record& record() const noexcept { return *state_->pods.record[row_]; }
  row_t row_;
};

/// A gang or basic group: of pods, or of groups.
class group_view {
 public:
  group_view(const model::viewed_tables& state, row_t row) noexcept : state_(&state), row_(row) {}

  [[nodiscard]] group_id id() const noexcept { return {row_, state_->groups.rows.generation(row_)}; }
  [[nodiscard]] std::string_view name() const { return spec().name; }
  [[nodiscard]] const group_spec& spec() const { return state_->groups.record[row_]->spec; }
  [[nodiscard]] std::uint64_t cookie() const { return spec().cookie; }
  /// It was named, but not added yet; of its spec only the name counts.
  [[nodiscard]] bool expected() const noexcept { return state_->groups.record[row_]->expected; }
  [[nodiscard]] const gang* policy() const noexcept { return std::get_if<gang>(&spec().policy); }
  [[nodiscard]] bool is_gang() const noexcept { return policy() != nullptr; }
  /// The gang's minimum; 1 for a basic group. Of a composite group it counts groups right below it, else members.
  [[nodiscard]] std::uint32_t min_count() const { return state_->groups.min_count(row_); }
  [[nodiscard]] std::uint32_t members() const noexcept { return state_->groups.members[row_]; }
  /// Members with a node reserved; members that run; and members that have neither.
  [[nodiscard]] std::uint32_t assumed() const noexcept { return state_->groups.assumed[row_]; }
  [[nodiscard]] std::uint32_t bound() const noexcept { return state_->groups.bound[row_]; }
  [[nodiscard]] std::uint32_t pending() const noexcept { return members() - assumed() - bound(); }
  /// Order of add_group among nodes, pods and groups; of an expected group, the order of its first mention.
  [[nodiscard]] std::uint64_t arrival() const noexcept { return state_->groups.arrival[row_]; }
  /// Whether its minimum once had nodes, and a member ran.
  [[nodiscard]] bool satisfied() const noexcept { return state_->groups.satisfied[row_]; }
  /// The latest start from which all waiting pods of it, and of groups below it, still end by their deadlines; instant::max() if they have
  /// none. O(members).
  [[nodiscard]] GANGSCHED_API instant latest_start() const noexcept;
  /// Calls visit(pod_info) for every member in order of arrival.
  template <class Visit>
  void each_member(Visit&& visit) const {
    for (row_t pod = state_->groups.first[row_]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      visit(pod_info{*state_, pod});
    }
  }
  /// Groups right below it; calls visit(group_view) for each in order of arrival.
  [[nodiscard]] std::uint32_t children() const noexcept { return state_->groups.children[row_]; }
  template <class Visit>
  void each_child(Visit&& visit) const {
    for (row_t child = state_->groups.first_child[row_]; child != no_row; child = state_->groups.next_sibling[child]) {
      visit(group_view{*state_, child});
    }
  }
  /// Members of it and of all groups below it, parents first.
  template <class Visit>
  void each_pod_below(Visit&& visit) const {
    state_->groups.each_below(row_, [&](row_t row) {
      group_view{*state_, row}.each_member(visit);
      return true;
    });
  }
  [[nodiscard]] std::optional<group_view> parent() const {
    const row_t row = state_->groups.parent[row_];
    return row == no_row ? std::nullopt : std::optional{group_view{*state_, row}};
  }
  /// The root of its tree. O(depth).
  [[nodiscard]] group_view root() const { return {*state_, state_->groups.root(row_)}; }
  [[nodiscard]] std::optional<group_view> find(group_id other) const {
    const bool there = state_->groups.alive(other.row) && state_->groups.rows.generation(other.row) == other.generation;
    return there ? std::optional{group_view{*state_, other.row}} : std::nullopt;
  }
  /// The group's queue, or that of the nearest group above it that names one; if none does, the queue of its first pod that has one.
  /// O(depth of its tree + its pods).
  [[nodiscard]] GANGSCHED_API std::optional<queue_view> queue() const noexcept;
  [[nodiscard]] row_t row() const noexcept { return row_; }
  [[nodiscard]] std::int64_t own(group_column column) const { return detail::own_word(*state_, column.index, row_); }
  [[nodiscard]] std::int64_t own(by_host<group_column> column) const {
    return detail::own_word(*state_, column.index, row_);
  }
  /// As `node_view::say`.
  [[nodiscard]] const char* say(std::string_view text) const noexcept { return detail::said(*state_, text); }
  /// The group's cluster.
  [[nodiscard]] cluster_view cluster() const noexcept;
  [[nodiscard]] const kube_semantics& semantics() const noexcept { return state_->semantics; }

 private:
  const model::viewed_tables* state_;
  row_t row_;
};

inline std::optional<group_view> pod_info::group() const {
  const row_t row = state_->pods.group[row_];
  return row == no_row ? std::nullopt : std::optional{group_view{*state_, row}};
}

template <reads Reads>
template <class Visit>
void node_view<Reads>::each_pod(Visit&& visit) const {
  needs<reads::pods>();
  for (row_t pod = state_->nodes.first_pod[row_]; pod != no_row; pod = state_->pods.next_on_node[pod]) {
    visit(pod_info{*state_, pod});
  }
}

/// A PodDisruptionBudget.
class budget_view {
 public:
  explicit budget_view(const model::budget_record& of) noexcept : record_(&of) {}

  [[nodiscard]] GANGSCHED_API const pod_disruption_budget_spec& spec() const noexcept;
  /// Whether it covers the pod (filterPodsWithPDBViolation): same namespace, a selector that is not empty, a pod with labels.
  [[nodiscard]] GANGSCHED_API bool covers(const pod_info& pod) const;
  /// Whether the budget lists the pod in disruptedPods: then its eviction is counted already.
  [[nodiscard]] GANGSCHED_API bool disrupts(const pod_info& pod) const;

 private:
  const model::budget_record* record_;
};

/// The cluster as a whole, read only.
class cluster_view {
 public:
  explicit cluster_view(const model::viewed_tables& state) noexcept : state_(&state) {}
  /// The lowest priority of the pods that are on nodes, if there are any. O(priorities).
  [[nodiscard]] GANGSCHED_API std::optional<std::int32_t> lowest_priority() const noexcept;
  /// The priority class of that name; null if there is none (any more). Valid until it is set again or removed. O(length).
  [[nodiscard]] GANGSCHED_API const priority_class_spec* priority_class(symbol name) const noexcept;
  /// The number of nodes.
  [[nodiscard]] std::uint32_t node_count() const noexcept { return state_->nodes.total[0]; }
  /// The image's size and how many nodes have it; zeros if none has it. O(1).
  [[nodiscard]] std::int64_t image_size(symbol name) const noexcept { return state_->nodes.images.size_bytes(name); }
  [[nodiscard]] std::uint32_t image_nodes(symbol name) const noexcept { return state_->nodes.images.nodes(name); }
  [[nodiscard]] std::uint32_t node_rows() const noexcept { return state_->nodes.rows.count(); }  ///< all rows are below
  /// Calls visit(node_info) for every node by row.
  template <class Visit>
  void each_node(Visit&& visit) const {
    for (row_t row = 0; row < state_->nodes.rows.count(); ++row) {
      if (state_->nodes.alive(row)) visit(node_info{*state_, row});
    }
  }
  /// The node with this id, if there is one.
  [[nodiscard]] std::optional<node_info> node(node_id id) const {
    if (!state_->nodes.alive(id.row) || state_->nodes.rows.generation(id.row) != id.generation) return std::nullopt;
    return node_info{*state_, id.row};
  }
  /// Calls visit(pod_info) for every pod that is nominated to a node, those of a node together.
  template <class Visit>
  void each_nominated(Visit&& visit) const {
    for (row_t node = state_->nodes.first_wanted[0]; node != no_row; node = state_->nodes.next_wanted[node])
      for (row_t pod = state_->nodes.first_nominated[node]; pod != no_row; pod = state_->pods.next_nominated[pod])
        visit(pod_info{*state_, pod});
  }
  /// Calls visit(budget_view) for every disruption budget by row.
  template <class Visit>
  void each_budget(Visit&& visit) const {
    for (row_t row = 0; row < detail::budget_rows(*state_); ++row) {
      if (const model::budget_record* const one = detail::budget_at(*state_, row)) visit(budget_view{*one});
    }
  }
  /// The pod with this id, if there is one.
  [[nodiscard]] std::optional<pod_info> pod(pod_id id) const {
    if (!state_->pods.alive(id.row) || state_->pods.rows.generation(id.row) != id.generation) return std::nullopt;
    return pod_info{*state_, id.row};
  }
  /// The pod in this row, if there is one.
  [[nodiscard]] std::optional<pod_info> pod_at(row_t row) const {
    return row < state_->pods.rows.count() && state_->pods.alive(row) ? std::optional{pod_info{*state_, row}}
                                                                      : std::nullopt;
  }
  [[nodiscard]] row_t pod_rows() const noexcept { return state_->pods.rows.count(); }  ///< all rows are below
  /// Calls visit(pod_info) for every pod by row. O(pods).
  template <class Visit>
  void each_pod(Visit&& visit) const {
    for (row_t row = 0; row < state_->pods.rows.count(); ++row) {
      if (state_->pods.alive(row)) visit(pod_info{*state_, row});
    }
  }
  /// The node in this row, if there is one.
  [[nodiscard]] std::optional<node_info> node_at(row_t row) const {
    return state_->nodes.alive(row) ? std::optional{node_info{*state_, row}} : std::nullopt;
  }
  [[nodiscard]] std::string_view text(symbol name) const { return state_->names.text(name); }
  /// As `node_view::say`.
  [[nodiscard]] const char* say(std::string_view text) const noexcept { return detail::said(*state_, text); }
  [[nodiscard]] std::optional<resource_kind> find_kind(std::string_view name) const { return state_->kinds.find(name); }
  /// The number of resource kinds: all kinds in use are below it. A kind that is no longer used has the name "".
  [[nodiscard]] resource_kind kind_count() const noexcept { return state_->kinds.count(); }
  [[nodiscard]] std::string_view kind_name(resource_kind kind) const { return state_->kinds.name(kind); }

  /// Whether there are groups, or have been. O(1).
  [[nodiscard]] bool has_groups() const noexcept { return state_->groups.rows.count() != 0; }
  /// Calls visit(group_view) for every group by row.
  template <class Visit>
  void each_group(Visit&& visit) const {
    for (row_t row = 0; row < state_->groups.rows.count(); ++row) {
      if (state_->groups.alive(row)) visit(group_view{*state_, row});
    }
  }

  /// The number of changes committed so far, for comparison; those of an open transaction do not count. O(1).
  [[nodiscard]] GANGSCHED_API std::uint64_t changes() const noexcept;
  /// Whether an open transaction (a trial is one) has changed something. O(1).
  [[nodiscard]] GANGSCHED_API bool has_uncommitted() const noexcept;
  /// Calls visit(const change&) for each committed change from number @p first on. False, without any call, if that one is no longer kept.
  template <class Visit>
  bool each_change(std::uint64_t first, Visit&& visit) const {
    if (first < detail::first_change(*state_)) return false;
    for (std::uint64_t i = first; i < changes(); ++i) visit(detail::change_at(*state_, i));
    return true;
  }
  /// The group in this row, if there is one.
  [[nodiscard]] std::optional<group_view> group_at(row_t row) const {
    return state_->groups.alive(row) ? std::optional{group_view{*state_, row}} : std::nullopt;
  }
  /// Calls visit(const change&) for each change of an open transaction (a trial is one) that was not taken back. O(those).
  template <class Visit>
  void each_uncommitted(Visit&& visit) const {
    for (std::uint64_t i = changes(), end = standing().end; i < end; ++i) visit(detail::change_at(*state_, i));
  }
  /// The end of the change log, with the changes of an open transaction. Equal values of one cluster mean the same state. O(1).
  struct log_standing {
    std::uint64_t end = 0, roll_backs = 0;
    friend bool operator==(const log_standing&, const log_standing&) = default;
  };
  [[nodiscard]] GANGSCHED_API log_standing standing() const noexcept;
  /// Whether both are views of the same cluster.
  friend bool operator==(const cluster_view& a, const cluster_view& b) noexcept { return a.state_ == b.state_; }
  /// Whether there are queues, or have been. O(1).
  [[nodiscard]] GANGSCHED_API bool has_queues() const noexcept;
  /// Calls visit(queue_view) for every queue, expected ones included: parents first, siblings by name.
  template <class Visit>
  void each_queue(Visit&& visit) const;
  /// The queue with this name, or this id, if there is one; the last call: the queue of a class's pods.
  [[nodiscard]] GANGSCHED_API std::optional<queue_view> find_queue(std::string_view name) const;
  [[nodiscard]] GANGSCHED_API std::optional<queue_view> queue(queue_id id) const noexcept;
  [[nodiscard]] GANGSCHED_API std::optional<queue_view> queue_of(const pod_view& pod) const noexcept;
  /// Calls visit(flavor_view) for every flavor, by name.
  template <class Visit>
  void each_flavor(Visit&& visit) const;
  /// The flavor in this row (keys of hooks name flavors by row), if there is one.
  [[nodiscard]] GANGSCHED_API std::optional<flavor_view> flavor_at(row_t row) const noexcept;

  /// The row of that name in the column's scope, if there is one. O(length).
  [[nodiscard]] GANGSCHED_API std::optional<scope_row_id> find_row(scope_column column, std::string_view name) const;
  [[nodiscard]] std::optional<scope_row_id> find_row(by_host<scope_column> column, std::string_view name) const {
    return find_row(scope_column{column.index}, name);
  }
  /// The word of a row; 0 of one that is gone. O(1).
  [[nodiscard]] GANGSCHED_API std::int64_t own(scope_column column, scope_row_id row) const;
  [[nodiscard]] std::int64_t own(by_host<scope_column> column, scope_row_id row) const {
    return own(scope_column{column.index}, row);
  }

  /// The model's counters (counters.hpp): pods in a domain, in all; of a spread counter the least of the domains with a node that counts,
  /// and how many these are. O(1).
  [[nodiscard]] GANGSCHED_API std::int32_t count(counter_id counter, domain_id domain) const;
  [[nodiscard]] GANGSCHED_API std::int64_t total(counter_id counter) const;
  [[nodiscard]] GANGSCHED_API std::int32_t least(counter_id counter) const;
  [[nodiscard]] GANGSCHED_API std::uint32_t domains(counter_id counter) const;

 private:
  const model::viewed_tables* state_;
};

inline cluster_view group_view::cluster() const noexcept { return cluster_view{*state_}; }

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/framework/queue_view.hpp"  // which includes views.cpp: that needs both
#endif
