#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/framework/events.hpp"
#include "gangsched/framework/hooks.hpp"
#include "gangsched/framework/views.hpp"

/// Past states of objects, which hints compare with. In a header of their own, because few hooks need them.
namespace gangsched::inline GANGSCHED_ABI {

/// A node in a past state; the node itself may be changed or gone. Accessors as of `node_view`. Valid during the hook's call.
class past_node {
 public:
  GANGSCHED_API past_node(const model::viewed_tables& state, row_t row);
  past_node(const model::viewed_tables& state, node_id id, model::node_record record)
      : state_(&state), id_(id), name_(state.names.text(record.name)), record_(std::move(record)) {}
  /// The same state, in a copy of its cluster.
  past_node(const past_node& was, const model::viewed_tables& state) : past_node(was) { state_ = &state; }

  [[nodiscard]] node_id id() const noexcept { return id_; }
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] symbol name_symbol() const noexcept { return record_.name; }
  [[nodiscard]] std::optional<symbol> label(symbol key) const noexcept { return record_.label(key); }
  [[nodiscard]] std::optional<std::string_view> label(std::string_view key) const {
    const std::optional<symbol> known = state_->names.find(key);
    const std::optional<symbol> value = known ? record_.label(*known) : std::nullopt;
    return value ? std::optional{state_->names.text(*value)} : std::nullopt;
  }
  [[nodiscard]] std::span<const label_symbols> labels() const noexcept { return record_.labels; }
  [[nodiscard]] std::span<const taint_symbols> taints() const noexcept { return record_.taints; }
  [[nodiscard]] bool unschedulable() const noexcept { return record_.unschedulable; }
  [[nodiscard]] std::span<const amount> allocatable() const noexcept { return record_.allocatable; }
  [[nodiscard]] std::int64_t allocatable(resource_kind kind) const noexcept {
    for (const amount& one : record_.allocatable)
      if (one.kind == kind) return one.value;
    return 0;
  }
  [[nodiscard]] std::span<const volume_limit> volume_limits() const noexcept { return record_.volume_limits; }
  [[nodiscard]] std::string_view text(symbol name) const { return state_->names.text(name); }
  [[nodiscard]] const model::node_record& record() const noexcept { return record_; }

 private:
  const model::viewed_tables* state_;
  node_id id_;
  std::string name_;  ///< a copy: the text is dropped with the node
  model::node_record record_;
};

/// A pod in a past state. Accessors as of `pod_info`. Valid during the hook's call.
class past_pod {
 public:
  GANGSCHED_API past_pod(const model::viewed_tables& state, row_t row);
  past_pod(pod_id id, std::shared_ptr<const pod_class> cls, label_map labels, bool gated,
           std::shared_ptr<const pod_disks> disks)
      : id_(id), class_(std::move(cls)), labels_(std::move(labels)), gated_(gated), disks_(std::move(disks)) {}

  [[nodiscard]] pod_id id() const noexcept { return id_; }
  [[nodiscard]] const pod_class& spec() const noexcept { return *class_; }
  [[nodiscard]] const std::shared_ptr<const pod_class>& shared_spec() const noexcept { return class_; }
  [[nodiscard]] const label_map& labels() const noexcept { return labels_; }
  [[nodiscard]] bool gated() const noexcept { return gated_; }
  /// The pod's own volumes; null if there are none. Valid as long as this object.
  [[nodiscard]] const pod_disks* disks() const noexcept { return disks_.get(); }

 private:
  pod_id id_;
  std::shared_ptr<const pod_class> class_;
  label_map labels_;
  bool gated_;
  std::shared_ptr<const pod_disks> disks_;
};

/// The hint of plugins that depend on a node's labels and on the pod's own volumes.
[[nodiscard]] inline hint hint_of_volumes(const event& e, const pod_info& pod) {
  if (e.new_node != nullptr) return hint::queue;
  return e.own && e.old_pod->spec().volumes != pod.spec().volumes ? hint::queue : hint::skip;
}

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/past.cpp"
#endif
