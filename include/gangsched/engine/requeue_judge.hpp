#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/engine/object_cache.hpp"
#include "gangsched/engine/picker.hpp"
#include "gangsched/engine/requeue_index.hpp"
#include "gangsched/scheduling/attempt.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The plugins that rejected a pod (`plugin_bit`).
struct rejection {
  static constexpr std::uint64_t elsewhere = std::uint64_t{1} << 63;  ///< those that the profile does not have
  /// Beside plugins it may be that no reservation will do, or nothing that one may hold: every event concerns it.
  static constexpr std::uint64_t anything = std::uint64_t{1} << 62;
  std::uint64_t unschedulable = 0, pending = 0;
  bool at_admission = false;  ///< by admission hooks, before the attempt

  [[nodiscard]] std::uint64_t all() const noexcept { return unschedulable | pending; }
  [[nodiscard]] bool empty() const noexcept { return all() == 0; }
};

/// The effect of an event on an unschedulable pod (queueingStrategy). The later ones are the stronger ones.
enum class queueing_strategy : std::uint8_t { skip, after_backoff, immediately };

/// An event as hooks see it, and which plugins it concerns.
struct queueing_event {
  struct audience {
    std::uint64_t unasked = 0, asked = 0;  ///< plugins, as in a rejection
  };
  event what;
  std::vector<audience> by_profile;
};

/// The classes of a group's pending members with their generations, and what rejected them.
struct rejected_group {
  group_id group;
  std::vector<std::pair<class_id, std::uint32_t>> classes;
  std::uint64_t rejectors;  ///< plugins; 0: no filter, any change may help
};

/// Judges whether an event can help a rejected pod or group. There are two rules. Exact: local filters are evaluated again on the one node
/// that changed, so that a change elsewhere wakes no pod in vain; for keyed and opaque filters, which read several nodes, any change of
/// what they read can help; a plugin's own `requeue` decides if it has one. Hints, as in kube-scheduler: the `requeue` hooks for pods of
/// the plugins that rejected the pod are called; whether the pod fits is not checked. Stateless.
class GANGSCHED_API requeue_judge {
 public:
  requeue_judge(model::cluster_state& state, const profile_set& profiles, const entity_view& entities,
                picker& picks) noexcept
      : state_(&state), profiles_(&profiles), entities_(&entities), picks_(&picks) {}

  // Exact.
  /// The part of a change that can help an entity at all: assumptions and pending pods cannot, and the end of a nomination frees the room
  /// that was reserved for the pod, unless the pod took it.
  [[nodiscard]] std::optional<change> helpful(const change& record) const noexcept;
  [[nodiscard]] event event_of(const change& record) const;
  /// What `event_of` says of the record in `event::what`.
  [[nodiscard]] static events kind_of(const change& record) noexcept;
  /// @p rejectors: plugins whose filters rejected pods of the class.
  [[nodiscard]] bool helps(class_id cls, std::uint64_t rejectors, const change& record, const event& what);
  [[nodiscard]] bool helps(const rejected_group& group, const change& record, const event& what);
  /// Whether the event concerns one of @p refusers, admission plugins of the class's profile.
  [[nodiscard]] bool concerns(class_id cls, std::uint64_t refusers, const event& what) const;
  [[nodiscard]] bool concerns(const rejected_group& group, std::uint64_t refusers, const event& what) const;
  /// The conditions under which an event concerns or helps pods of the class, or makes a rejector `outdated`. @p filtered: filters rejected
  /// some of them, by @p rejectors; @p refusers: admission plugins that rejected some. Valid as long as `topology_table::plan_epoch` does
  /// not move; for a group also as long as its tree is unchanged. O(plugins); O(members + groups of the tree).
  [[nodiscard]] help_condition condition_of(class_id cls, bool filtered, std::uint64_t rejectors,
                                            std::uint64_t refusers);
  [[nodiscard]] help_condition condition_of(const rejected_group& group, bool filtered, std::uint64_t refusers);
  /// The plugins that may have rejected pods of the class, where that is unknown: all that have a filter for it now; still unknown, if a
  /// pre-filter rejects it. To be called at the rejection: filters come and go with live counters.
  [[nodiscard]] std::uint64_t possible_rejectors(class_id cls);
  /// Those of @p rejectors that have no filter for the class any more, because its input is gone: any change helps then.
  [[nodiscard]] std::uint64_t outdated(class_id cls, std::uint64_t rejectors);
  /// Of the class's pods.
  [[nodiscard]] const kernel_table& profile_of(class_id cls) const noexcept {
    const kernel_table* const found = profiles_->find(state_->classes[cls]);
    return found != nullptr ? *found : profiles_->front();
  }
  /// Whether other pods of the class get the same results, or, @p in_alike_groups, the same members of groups like its own: no hook depends
  /// on the pod itself.
  [[nodiscard]] bool fares_as_its_class(row_t pod, bool in_alike_groups = false);
  /// Pending groups with the same number get the same results: it is enough to try one of them. 0: unlike all others. They have equal specs
  /// but for name and cookie, equal priorities, and members of the same classes in the same order; no member has a node, is nominated, or
  /// has a hook that depends on the pod itself; no group hook distinguishes them (`ignores_group_identity`). O(members).
  [[nodiscard]] std::uint64_t kind_of(const rejected_group& group);
  /// Whether some group of the tree reads domains of node labels, so that members that have nodes restrict the others. O(groups).
  [[nodiscard]] bool reads_labels(row_t root) const;

  // Hints.
  [[nodiscard]] queueing_event queueing_event_of(const object_event& happened) const;
  /// @p what: of that event.
  [[nodiscard]] queueing_strategy judge(row_t pod, const rejection& by, const object_event& happened,
                                        queueing_event& what) const;
  /// All plugins that rejected the pod, given the filters @p rejectors. Empty if there is no node: to Kubernetes that is an error.
  [[nodiscard]] rejection rejection_of(row_t pod, std::uint64_t rejectors);
  /// The same from a host's names. @p rejectors gets those with a filter to call; unknown, if some has none.
  [[nodiscard]] rejection named(row_t pod, const rejected_by& why, std::uint64_t& rejectors);
  [[nodiscard]] rejected_by names_of(row_t pod, const rejection& by) const;
  /// Whether some pre_enqueue hook of some profile is to be called for the event.
  [[nodiscard]] bool concerns_gates(const queueing_event& what) const noexcept;
  /// Whether a pre_enqueue plugin of the pod's profile may accept it after the event.
  [[nodiscard]] bool may_open_gate(row_t pod, const queueing_event& what) const;

 private:
  /// Of a change of a column: whether the plugin, or some plugin of the profile, asked for that column. Other events concern all plugins.
  [[nodiscard]] static bool concerns(const plugin_entry& plugin, const change& record) noexcept;
  [[nodiscard]] static bool concerns(const kernel_table& profile, const change& record) noexcept;
  /// Whether a plugin preempts by what queues say: a change of these may let it evict for a pod, whatever filter rejected that.
  [[nodiscard]] static bool preempts_by_queues(const kernel_table& profile) noexcept;
  [[nodiscard]] const queueing_event::audience& audience_of(const queueing_event& what,
                                                            const kernel_table& profile) const noexcept;
  [[nodiscard]] bool reads_neighbours(row_t root) const;
  template <class Is>
  bool any_class(const rejected_group& of, const Is& is) const;
  void add_needs(class_id cls, std::uint64_t rejectors, help_condition& to);
  void add_concerns(class_id cls, std::uint64_t refusers, help_condition& to) const;

  peer<model::cluster_state> state_;
  peer<const profile_set> profiles_;
  peer<const entity_view> entities_;
  peer<picker> picks_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/requeue_hints.cpp"
#include "gangsched/src/engine/requeue_judge.cpp"
#endif
