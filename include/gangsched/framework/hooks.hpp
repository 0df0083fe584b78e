#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/decision.hpp"
#include "gangsched/framework/events.hpp"
#include "gangsched/framework/views.hpp"

/// The types that hooks take and return, beside views and statuses.
namespace gangsched::inline GANGSCHED_ABI {

/// Node scores lie in [0, 100] after normalising; weights multiply them afterwards.
inline constexpr std::int64_t max_node_score = 100;

// --- queue

/// An entity as queue_sort sees it: a pod, or a group that is queued as one.
struct queued {
  pod_id pod{};      ///< the pod, or a group's first pending member
  group_id group{};  ///< set if the entity is a group
  std::int32_t priority = 0;
  instant since{};  ///< when it entered the queue, or failed last; of a group when it entered, unless wake_rule::hints
  instant entered{};          ///< when it entered the queue
  std::uint64_t arrival = 0;  ///< order of add_pod: the last tie-breaker
  instant start_by =
      instant::max();  ///< latest start by its deadline or longest wait (docs/deadlines.md); max(): it has neither
  instant expected_run_time{0};  ///< if the plugin says `reads_run_time`: of a group the longest; 0: unknown
};

/// Lower goes first: by band, then by order, then by arrival. O(1) per pod when few bands are in use.
struct sort_key {
  std::int64_t band = 0;
  std::int64_t order = 0;
};

/// The first entity of a queue, for queue_order plugins.
struct queue_head : queued {
  std::int64_t queue = 0;  ///< the result of queue_of
  instant now{};           ///< the time that the host passed
};

/// Whether a change can turn a rejection into success.
enum class hint : std::uint8_t { skip, queue };

/// A committed change that a rejected pod may wait for.
struct event {
  change_kind kind;
  reads facets;                   ///< what of `node` changed
  std::optional<node_info> node;  ///< its present state; absent if it is gone, or the change is not about a node
  std::optional<pod_info> pod;    ///< the pod that changed, or whose column word changed, if it still exists
  events what = events::nothing;  ///< one event under wake_rule::hints, else all that the change may be
  /// Under wake_rule::hints the object before and after the change; null if it did not exist then, or is of the other kind.
  const past_node* old_node = nullptr;
  const past_node* new_node = nullptr;
  const past_pod* old_pod = nullptr;
  const past_pod* new_pod = nullptr;
  bool own = false;  ///< the waiting pod itself changed
  // Of column_changed: the object whose word changed, if it is not `pod` or `node`.
  group_id group{};
  scope_row_id scope_row{};
  queue_id queue{};  ///< of queue_changed: the queue that changed; a default id if flavors changed
};

// --- scores

/// One raw score, or key, and how many candidates of the cycle have it. Hooks get them in ascending order.
struct scored_group {
  std::int64_t score;  ///< in: the raw score; out: normalised, in [0, 100]
  std::uint32_t population;
};

/// One key of a keyed filter, and how many nodes that no other filter rejected have it. Hooks get them in ascending order.
struct filtered_group {
  std::int64_t key;
  std::uint32_t population;
  status verdict = {};  ///< out
};

/// What the key of a node is computed from, beside what pods do not change of the node.
struct key_reads {
  std::vector<std::int64_t> words;   ///< of the pod: where none of `counters` counts a pod, equal words give equal keys
  std::vector<counter_id> counters;  ///< whose counts on the node are read
};

// --- pre-filter

/// Lets a pre_filter hook restrict the pod to some nodes. The sets of several plugins are intersected.
class node_names {
 public:
  /// Only these nodes (by name symbol) can be feasible; names that no node has are allowed.
  void only(std::vector<symbol> names) {
    names_ = std::move(names);
    narrowed_ = true;
  }
  [[nodiscard]] bool narrowed() const noexcept { return narrowed_; }
  [[nodiscard]] std::span<const symbol> names() const noexcept { return names_; }

 private:
  bool narrowed_ = false;
  std::vector<symbol> names_;
};

// --- reserve, permit, bind

/// A pod on the node chosen for it.
class reservation {
 public:
  reservation(model::viewed_tables& state, row_t pod_row, row_t node_row, instant when) noexcept
      : pod(state, pod_row), node(state, node_row), now(when), state_(&state) {}

  pod_info pod;
  node_info node;
  instant now;  ///< the time that the host passed

  [[nodiscard]] cluster_view cluster() const noexcept { return cluster_view{*state_}; }

 protected:
  model::viewed_tables* state_;
};

/// A reservation while it is made, for reserve hooks. Only they may add to columns, because only what is added before the attempt is
/// settled is undone together with the reservation.
class new_reservation : public reservation {
 public:
  using reservation::reservation;

  /// Adds to a column: of this node or another, of the pod's group or another, or of a scope, whose row is created on first use. No effect
  /// if the object does not exist. Sums are modulo 2^64. Undone automatically, exactly once, when the trial is discarded, the placement is
  /// released, or the pod is gone. O(what was added for the pod).
  void add(node_column column, std::int64_t amount) const { add(column, node.id(), amount); }
  void add(node_column column, node_id where, std::int64_t amount) const {
    if (cluster().node(where)) note(column.index, where.row, where.generation, amount);
  }
  void add(group_column column, std::int64_t amount) const {
    if (const auto group = pod.group()) add(column, group->id(), amount);
  }
  void add(group_column column, group_id of, std::int64_t amount) const {
    const model::group_table& groups = state_->groups;
    if (groups.alive(of.row) && groups.rows.generation(of.row) == of.generation)
      note(column.index, of.row, of.generation, amount);
  }
  GANGSCHED_API void add(scope_column column, scope_row_id row, std::int64_t amount) const;
  GANGSCHED_API void add(scope_column column, std::string_view row, std::int64_t amount) const;

 private:
  GANGSCHED_API void note(std::uint32_t column, row_t row, std::uint32_t generation, std::int64_t amount) const;
};

/// The result of permit, and how long a wait may last (at most 15 minutes, as in kube-scheduler).
struct permit_verdict {
  status verdict = {};
  instant timeout = std::chrono::minutes{5};
};

/// The waiting pods, for permit hooks to read and to allow.
class permit_room {
 public:
  virtual ~permit_room() = default;
  /// Pods that wait for this plugin, in order of their reservation; valid until the next call.
  [[nodiscard]] virtual std::span<const pod_id> waiting() const = 0;
  /// The plugin allows @p pod.
  virtual void allow(pod_id pod) = 0;
  [[nodiscard]] virtual pod_info info(pod_id pod) const = 0;
};

/// Makes columns for one plugin when the scheduler is made (`void attach(column_maker&)`, optional). They live as long as the cluster. A
/// named column can be found by other plugins, the host and later schedulers; an unnamed one belongs to the plugin alone.
class column_maker {
 public:
  explicit column_maker(model::viewed_tables& state) noexcept : state_(&state) {}

  // Columns that reserve hooks add to (`new_reservation::add`). O(rows).
  node_column make_node_column(std::string_view name = {}) { return {of_nodes(name, false)}; }
  group_column make_group_column(std::string_view name = {}) { return {of_groups(name, false)}; }
  scope_column make_scope_column(std::string_view scope, std::string_view name = {}) {
    return {of_scope(scope, name, false)};
  }
  // Columns that the host sets (`cluster::set_column`). @pre the name is not empty
  by_host<node_column> node_column_by_host(std::string_view name) { return {of_nodes(name, true)}; }
  by_host<group_column> group_column_by_host(std::string_view name) { return {of_groups(name, true)}; }
  by_host<pod_column> pod_column_by_host(std::string_view name) { return {of_pods(name)}; }
  by_host<scope_column> scope_column_by_host(std::string_view scope, std::string_view name) {
    return {of_scope(scope, name, true)};
  }
  /// Spread constraints for pods without any; the number of the set in `pod_counters::default_spread`.
  GANGSCHED_API std::uint32_t add_default_spread(const spread_defaults& set);

  /// The facets of all columns that the plugin asked for.
  [[nodiscard]] reads facets() const noexcept { return all_; }

 private:
  GANGSCHED_API std::uint32_t of_nodes(std::string_view name, bool by_host);
  GANGSCHED_API std::uint32_t of_groups(std::string_view name, bool by_host);
  GANGSCHED_API std::uint32_t of_pods(std::string_view name);
  GANGSCHED_API std::uint32_t of_scope(std::string_view scope, std::string_view name, bool by_host);
  std::uint32_t find_or_make(scope_number of, std::string_view name, bool by_host);
  model::viewed_tables* state_;
  reads mine_ = reads::nothing;  ///< of those that it made
  reads all_ = reads::nothing;
};

// --- post-filter: making room

struct placement;

/// What a post_filter or group_preempt hook may try. Everything happens in a transaction that is discarded when the hook returns.
class trial {
 public:
  virtual ~trial() = default;
  [[nodiscard]] virtual cluster_view cluster() const = 0;
  /// The time that the host passed.
  [[nodiscard]] virtual instant now() const = 0;
  /// The filters' verdict on @p node in the trial, both with the pods that are nominated to it and without them
  /// (RunFilterPluginsWithNominatedPods).
  [[nodiscard]] virtual status filter(pod_id pod, node_id node) = 0;
  /// Whether the reasons why preemption does not help are wanted (`victim_plan::words`): `scheduler_options::count_reasons`.
  [[nodiscard]] virtual bool counts_reasons() const = 0;
  /// All reasons of the filter that rejects the pod on that node now, as users read them, sorted; empty if no filter does. O(plugins).
  [[nodiscard]] virtual std::vector<std::string> reasons(pod_id pod, node_id node) = 0;
  /// A pod that could go stays only until @p when, because it has not run for long enough: if the hooks find no victims, the pod or group
  /// is tried again at the earliest such time. Times that are not after `now`, and `instant::max()`, are ignored. O(1).
  virtual void spared_until(instant when) = 0;
  /// Takes a running pod off its node, or puts it back. O(1), and O(pods removed) to put one back.
  virtual void remove(pod_id victim) = 0;
  virtual void restore(pod_id victim) = 0;
  /// Unassigns a member, running or not: `place` then looks for a node for it, as for waiting members.
  virtual void take_node(pod_id member) = 0;
  /// Puts a pod without a node on one until `reset` or `take_back`: takes devices, calls reserve hooks, runs no filters. False, and nothing
  /// is done, if devices, a reserve hook or a sum refuses. For a running pod call take_node first.
  [[nodiscard]] virtual bool put(pod_id pod, node_id node) = 0;
  /// The number of pods that are put; the second call takes off the last ones until @p left remain.
  [[nodiscard]] virtual std::size_t put_so_far() const = 0;
  virtual void take_back(std::size_t left) = 0;
  /// Restores every pod that was removed, and takes off every pod that was put.
  virtual void reset() = 0;
  /// The placements that the group's cycle would try; none for a group of groups, whose parts have their own.
  [[nodiscard]] virtual std::vector<placement> placements(const group_view& group) = 0;
  /// Runs the group's whole cycle as things stand, or in one placement only. Returns the verdict and, on success, the node of each member,
  /// in order of placing. Leaves the trial unchanged. If placing members one after another fails, all ways are searched: each search within
  /// `scheduler_options::search_budget`, all together within eight times that. After `suppose` it is for as many members as that named.
  [[nodiscard]] virtual status place(const group_view& group, std::vector<assignment>& placed,
                                     const placement* within = nullptr) = 0;
  /// Records where members would go, for `still_fits`. O(members · log members).
  virtual void suppose(std::span<const assignment> placed) = 0;
  /// Whether the members still fit where `suppose` put them, one after another. @p moved: pods removed or restored since they last fit; if
  /// the members' filters read only their own node, only the nodes of those pods are checked. Leaves the trial unchanged.
  [[nodiscard]] virtual bool still_fits(std::span<const pod_id> moved) = 0;
  /// Whether it is known of pods that are away that still_fits, or @p anywhere `place`, would fail if they came back: it has failed for an
  /// equal pod of the node, with all else as it is.
  [[nodiscard]] virtual bool known_to_be_in_the_way(std::span<const pod_id> /*away*/, bool /*anywhere*/) {
    return false;
  }

  /// What the plugin remembers from cycle to cycle about nodes for pods of this class; created on first use. @p changed: the rows to
  /// evaluate again, ascending; some may have no node any more. Null if filter results depend on more than class, node and pods nominated
  /// to the node: then nothing can be remembered. To be called before any pod is removed. One type per plugin.
  template <class Memory>
  [[nodiscard]] Memory* recall(pod_id pod, std::vector<row_t>& changed) {
    std::shared_ptr<void>* const found = kept(pod, changed);
    if (found == nullptr) return nullptr;
    if (*found == nullptr) *found = std::make_shared<Memory>();
    return static_cast<Memory*>(found->get());
  }

 private:
  [[nodiscard]] virtual std::shared_ptr<void>* kept(pod_id pod, std::vector<row_t>& changed) = 0;
};

/// What a post_filter or group_preempt hook found: whom to evict, and who is nominated where.
struct victim_plan {
  status verdict = status::unschedulable("preemption is not helpful for scheduling");
  node_id nominated = {};
  std::vector<pod_id> victims = {};  ///< evicted if they run; those that only wait lose their nominations
  /// Of a group: the nodes of its members after the victims are gone. Each member is nominated to its node.
  std::vector<assignment> nominations = {};
  /// Victims that only move, and the nodes they fit on: the host gets a `nominate` after the `evict`.
  std::vector<assignment> moves = {};
  const char* reason = nullptr;  ///< of the evictions, if they need one; static storage
  /// Without success the pod loses its nomination, unless every plugin sets this.
  bool keep_nomination = false;
  /// Without success: the message why no node will do (`why_rejected::post_filter`); only where the trial counts reasons.
  std::string words = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/hooks.cpp"
#endif
