#pragma once
#include <memory>

#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/state.hpp"

/// What a cluster stores of a checked pod spec.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Null if the pod has no volumes that matter.
[[nodiscard]] GANGSCHED_API std::unique_ptr<const pod_disks> make_pod_disks(model::cluster_state& state,
                                                                            const pod_spec& spec);
/// The parts of the spec beside its class: those of an equal pod, @p like, if its times, gates and role are equal, too. @p like is null, or
/// has the labels, the controller and the priority class of the spec, and no volumes, as the spec. O(size of the spec).
[[nodiscard]] GANGSCHED_API std::shared_ptr<const model::pod_details> make_pod_details(
    model::cluster_state& state, const pod_spec& spec, std::shared_ptr<const model::pod_details> like);
/// @p queue: the row of the queue that it names. In the memory of a pod that was removed, if there is one.
[[nodiscard]] GANGSCHED_API std::unique_ptr<model::pod_record> make_pod_record(
    model::pod_table& pods, const pod_spec& spec, symbol ns, row_t queue,
    std::shared_ptr<const model::pod_details> details);

/// Whether the parts in which otherwise equal pods differ need no check, except for the name.
[[nodiscard]] inline bool says_nothing_of_its_own(const pod_spec& spec) noexcept {
  return spec.queue.empty() && spec.max_wait == instant{0} && spec.scheduling_gates.empty() &&
         spec.held_devices.empty() && spec.expected_run_time == instant{0} && !spec.node;
}

/// The cached data of pods like @p spec, if it is still valid. Until the next `pod_templates::keep`. O(size of the spec).
[[nodiscard]] GANGSCHED_API model::pod_templates::known* known_alike(model::cluster_state& state,
                                                                     const pod_spec& spec) noexcept;
/// The details that the pod shares with equal ones, which share them from then on. @p like: their cached data; null: none.
[[nodiscard]] GANGSCHED_API std::shared_ptr<const model::pod_details> details_for(model::cluster_state& state,
                                                                                  const pod_spec& spec,
                                                                                  model::pod_templates::known* like);

/// Whether a checked spec says of the pod what is so already: its record, its node or nomination, its devices. @p cls: the spec's class, in
/// its queue, which must be the pod's. @pre the pod's own class is of the present epoch. O(size of the spec).
[[nodiscard]] GANGSCHED_API bool says_the_same(const model::cluster_state& state, row_t pod, const pod_spec& spec,
                                               class_id cls, row_t queue);

/// Whether the objects that @p spec names exist, and fit; @p object names the pod in the error.
[[nodiscard]] GANGSCHED_API std::optional<error> check_references(const model::cluster_state& state,
                                                                  const pod_spec& spec, const object_label& object);
/// Links a pod without a group as its last member.
GANGSCHED_API void join_group(model::cluster_state& state, row_t pod, row_t group);
/// A new pod of a checked spec, on its node if the spec names one. @p epoch: of the class table when the class was made.
[[nodiscard]] GANGSCHED_API row_t insert_pod(model::cluster_state& state, const pod_spec& spec,
                                             const name_index::key& name,
                                             std::unique_ptr<const model::pod_record> record, class_id cls,
                                             std::uint32_t epoch);

}  // namespace gangsched::inline GANGSCHED_ABI::detail

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/pod_records.cpp"
#endif
