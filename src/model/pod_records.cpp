#include "gangsched/model/pod_records.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE std::unique_ptr<const pod_disks> make_pod_disks(model::cluster_state& state, const pod_spec& spec) {
  const pod_volumes& from = spec.volumes;
  if (from.disks.empty() && from.exclusive_claims.empty() && from.attachments.empty()) return nullptr;
  auto made = std::make_unique<pod_disks>();
  for (const used_disk& one : from.disks) made->disks.push_back({state.names.intern(one.id), one.read_only});
  for (const std::string& claim : from.exclusive_claims) {
    made->exclusive_claims.push_back(state.names.intern(spec.ns + '/' + claim));
  }
  for (const attached_volume& one : from.attachments) {
    const pod_disks::attachment volume{state.names.intern(one.driver), state.names.intern(one.id)};
    auto& all = made->attachments;
    if (std::find(all.begin(), all.end(), volume) == all.end()) all.push_back(volume);
  }
  return made;
}

GANGSCHED_INLINE std::shared_ptr<const pod_spec> kept(const model::cluster_state& state, const pod_spec& spec) {
  return state.keeps_specs ? std::make_shared<const pod_spec>(spec) : nullptr;
}

GANGSCHED_INLINE std::shared_ptr<const model::pod_details> make_pod_details(
    model::cluster_state& state, const pod_spec& spec, std::shared_ptr<const model::pod_details> like) {
  if (like != nullptr && like->spec == nullptr && !state.keeps_specs && like->gates == spec.scheduling_gates &&
      like->expected_run_time == spec.expected_run_time && like->deadline == spec.deadline &&
      like->max_wait == spec.max_wait && like->role == spec.role)
    return like;
  const symbol priority_class = state.names.intern(spec.priority_class);
  state.pods.name_classes = state.pods.name_classes || priority_class;
  state.pods.have_limits = state.pods.have_limits || spec.deadline || spec.max_wait != instant{0};
  return std::make_shared<const model::pod_details>(model::pod_details{.priority_class = priority_class,
                                                                       .labels = spec.labels,
                                                                       .gates = spec.scheduling_gates,
                                                                       .expected_run_time = spec.expected_run_time,
                                                                       .deadline = spec.deadline,
                                                                       .max_wait = spec.max_wait,
                                                                       .controller = spec.controller,
                                                                       .disks = make_pod_disks(state, spec),
                                                                       .role = spec.role,
                                                                       .spec = kept(state, spec)});
}

GANGSCHED_INLINE std::unique_ptr<const model::pod_record> make_pod_record(
    const pod_spec& spec, symbol ns, row_t queue, std::shared_ptr<const model::pod_details> details) {
  return std::unique_ptr<const model::pod_record>{new model::pod_record{.name = spec.name,
                                                                        .details = std::move(details),
                                                                        .start_time = spec.start_time,
                                                                        .cookie = spec.cookie,
                                                                        .rank = spec.rank,
                                                                        .ns = ns,
                                                                        .queue = queue}};
}

GANGSCHED_INLINE model::pod_templates::known* known_alike(model::cluster_state& state, const pod_spec& spec) noexcept {
  model::pod_templates::known* const like = state.templates.find(spec);
  const bool holds = like != nullptr && like->epoch == state.classes.epoch() &&
                     like->generation == state.classes.generation(like->cls);
  return holds ? like : nullptr;
}

GANGSCHED_INLINE std::shared_ptr<const model::pod_details> details_for(model::cluster_state& state,
                                                                       const pod_spec& spec,
                                                                       model::pod_templates::known* like) {
  if (like == nullptr) return make_pod_details(state, spec, nullptr);
  auto made = make_pod_details(state, spec, like->details.lock());
  like->details = made;
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
