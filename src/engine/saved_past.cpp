#include "gangsched/engine/saved_past.hpp"

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE std::uint32_t past_saver::number_of(const std::shared_ptr<const past_node>& was) {
  if (was == nullptr) return 0;
  std::uint32_t& number = numbers_[was.get()];
  if (number != 0) return number;
  made_.nodes.push_back({was->id(), classes_->spec_of(was->record())});
  made_.nodes.back().spec.name = was->name();
  return number = static_cast<std::uint32_t>(made_.nodes.size());
}

GANGSCHED_INLINE std::uint32_t past_saver::number_of(const std::shared_ptr<const past_pod>& was) {
  if (was == nullptr) return 0;
  std::uint32_t& number = numbers_[was.get()];
  if (number != 0) return number;
  saved_past_pod made{was->id(), classes_->number_of(was->shared_spec(), true), was->labels(), was->gated(), {}};
  if (was->disks() != nullptr) made.disks = classes_->disks_of(*was->disks(), was->spec().ns);
  made_.pods.push_back(std::move(made));
  return number = static_cast<std::uint32_t>(made_.pods.size());
}

GANGSCHED_INLINE std::optional<error> past_objects::restore(model::cluster_state& in, const saved_past& from,
                                                            std::span<const class_id> classes) {
  past_objects made;
  for (const saved_past_node& one : from.nodes) {
    auto record = model::restored_record(in, one.spec);
    if (!record || !gangsched::detail::had(in.nodes.rows, one.node)) return model::damaged("nodes as they were");
    made.nodes_.push_back(std::make_shared<const past_node>(in, one.node, *std::move(record)));
  }
  for (const saved_past_pod& one : from.pods) {
    if (one.cls >= classes.size() || !gangsched::detail::had(in.pods.rows, one.pod))
      return model::damaged("pods as they were");
    std::shared_ptr<const pod_class> cls = in.classes.share(classes[one.cls]);
    auto disks = model::restored_disks(in, one.disks, cls->ns);
    made.pods_.push_back(
        std::make_shared<const past_pod>(one.pod, std::move(cls), one.labels, one.gated, std::move(disks)));
  }
  *this = std::move(made);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
