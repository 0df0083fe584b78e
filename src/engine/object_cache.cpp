#include "gangsched/engine/object_cache.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "gangsched/engine/saved_past.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

/// Some request of @p before is smaller in @p after, or gone.
GANGSCHED_INLINE bool scaled_down(const pod_class& before, const pod_class& after) noexcept {
  return std::any_of(before.requests.begin(), before.requests.end(),
                     [&](const amount& one) { return after.request(one.kind) < one.value; });
}

}  // namespace detail

GANGSCHED_INLINE object_cache& object_cache::operator=(const object_cache& from) {
  nodes_ = from.nodes_;
  for (std::shared_ptr<const past_node>& one : nodes_) one = in_copy(one, *state_);
  pods_ = from.pods_;
  return *this;
}

GANGSCHED_INLINE std::shared_ptr<const past_node> object_cache::look_at_node(row_t row) const {
  return state_->nodes.alive(row) ? std::make_shared<const past_node>(*state_, row) : nullptr;
}
GANGSCHED_INLINE std::shared_ptr<const past_pod> object_cache::look_at_pod(row_t row) const {
  return state_->pods.alive(row) ? std::make_shared<const past_pod>(*state_, row) : nullptr;
}

GANGSCHED_INLINE void object_cache::start_over() {
  nodes_.assign(state_->nodes.rows.count(), nullptr);
  for (row_t row = 0; row < nodes_.size(); ++row) nodes_[row] = look_at_node(row);
  pods_.assign(state_->pods.rows.count(), nullptr);
  for (row_t row = 0; row < pods_.size(); ++row) pods_[row] = look_at_pod(row);
}

GANGSCHED_INLINE void object_cache::read_node(const change& record, std::vector<object_event>& out) {
  if (nodes_.size() <= record.row) nodes_.resize(record.row + 1);
  std::shared_ptr<const past_node>& known = nodes_[record.row];
  if (record.kind == change_kind::node_removed) {
    if (known != nullptr) out.push_back({.record = record, .what = events::node_removed, .old_node = std::move(known)});
    known = nullptr;
    return;
  }
  if (record.kind == change_kind::node_updated && any(record.facets & reads::usage) &&
      state_->nodes.alive(record.row)) {
    // Room that is held for other owners, or no more. Kubernetes has no word for that; a node that comes helps the same pods.
    out.push_back({.record = record, .what = events::node_added, .new_node = known = look_at_node(record.row)});
    return;
  }
  constexpr reads told = reads::labels | reads::taints | reads::schedulable | reads::allocatable | reads::images |
                         reads::features | reads::devices;
  if (!state_->nodes.alive(record.row) || !any(record.facets & told)) return;
  const std::shared_ptr<const past_node> before = std::exchange(known, look_at_node(record.row));
  if (record.kind == change_kind::node_added || before == nullptr) {
    out.push_back({.record = record, .what = events::node_added, .new_node = known});
    return;
  }
  const model::node_record& a = before->record();
  const model::node_record& b = known->record();
  const auto tell = [&](bool changed, events what) {
    if (changed) out.push_back({.record = record, .what = what, .old_node = before, .new_node = known});
  };
  tell(a.unschedulable && !b.unschedulable, events::node_taints);
  tell(a.allocatable != b.allocatable || any(record.facets & reads::devices), events::node_allocatable);
  tell(a.labels != b.labels, events::node_labels);
  tell(a.taints != b.taints, events::node_taints);
  tell(a.volume_limits != b.volume_limits, events::node_volume_limits);
  tell(a.features != b.features, events::node_features);
  tell(any(record.facets & reads::images), events::node_images);
}

GANGSCHED_INLINE void object_cache::read_pod_update(const change& record, std::vector<object_event>& out) {
  if (!state_->pods.alive(record.row)) return;
  const std::shared_ptr<const past_pod> after = look_at_pod(record.row);
  if (pods_[record.row] != nullptr && pods_[record.row]->id() != after->id())
    return;  // it is gone already, and its row another's
  const std::shared_ptr<const past_pod> before = std::exchange(pods_[record.row], after);
  const bool placed = record.before != no_row;
  // An assumed pod is no event: it is not known to run yet.
  if (before == nullptr || (placed && state_->pods.state[record.row] != pod_state::bound)) return;
  const std::size_t none = out.size();
  const auto tell = [&](bool changed, events what) {
    if (!changed) return;
    out.push_back({.record = record, .what = what, .old_pod = before, .new_pod = after, .subject = after->id()});
    if (!placed) out.back().to = object_event::audience::subject;
  };
  tell(before->labels() != after->labels(), events::pod_labels);
  tell(detail::scaled_down(before->spec(), after->spec()), events::pod_scaled_down);
  tell(before->gated() && !after->gated(), events::pod_gates_gone);
  tell(before->spec().tolerations.size() != after->spec().tolerations.size(), events::pod_tolerations);
  tell(out.size() == none || !(before->spec().volumes == after->spec().volumes) ||
           before->spec().required_features != after->spec().required_features,
       events::pod_updated);
}

GANGSCHED_INLINE void object_cache::read(const change& record, std::vector<object_event>& out) {
  if (record.about_pod() && pods_.size() <= record.row) pods_.resize(record.row + 1);
  switch (record.kind) {
    case change_kind::node_added:
    case change_kind::node_updated:
    case change_kind::node_removed: return read_node(record, out);
    case change_kind::pod_added:
    case change_kind::pod_bound: {
      const std::shared_ptr<const past_pod> pod = pods_[record.row] = look_at_pod(record.row);
      if (pod == nullptr || record.after == no_row) return;
      out.push_back({.record = record, .what = events::pod_added, .new_pod = pod, .subject = pod->id()});
      return;
    }
    case change_kind::pod_updated: return read_pod_update(record, out);
    case change_kind::pod_terminating: {
      const std::shared_ptr<const past_pod>& pod = pods_[record.row];
      if (pod == nullptr || record.after == no_row) return;
      out.push_back(
          {.record = record, .what = events::pod_updated, .old_pod = pod, .new_pod = pod, .subject = pod->id()});
      return;
    }
    case change_kind::pod_nominated: {
      // To others it is as if the pod had left that node; but not when it goes on to run somewhere.
      const std::shared_ptr<const past_pod>& pod = pods_[record.row];
      const bool there = pod != nullptr && state_->pods.alive(record.row) &&
                         pod->id().generation == state_->pods.rows.generation(record.row);
      const pod_state now = there ? state_->pods.state[record.row] : pod_state::none;
      if (pod == nullptr || record.before == no_row || now == pod_state::assumed || now == pod_state::bound) return;
      change left = record;
      left.kind = change_kind::pod_released;
      left.facets = reads::usage | reads::ports | reads::pods | reads::devices;
      out.push_back({.record = left,
                     .what = events::pod_removed,
                     .old_pod = pod,
                     .subject = pod->id(),
                     .to = object_event::audience::others,
                     .highest = pod->spec().priority});
      return;
    }
    case change_kind::pod_released:
    case change_kind::pod_removed: {
      const bool gone = record.kind == change_kind::pod_removed;
      const std::shared_ptr<const past_pod> pod = gone ? std::exchange(pods_[record.row], nullptr) : pods_[record.row];
      if (pod == nullptr || record.before == no_row) return;
      out.push_back({.record = record,
                     .what = events::pod_removed,
                     .old_pod = pod,
                     .subject = pod->id(),
                     .to = object_event::audience::others});
      return;
    }
    case change_kind::namespace_changed: out.push_back({.record = record, .what = events::namespace_changed}); return;
    case change_kind::column_changed: out.push_back({.record = record, .what = events::column_changed}); return;
    case change_kind::queue_changed: out.push_back({.record = record, .what = events::queue_changed}); return;
    default: return;
  }
}

GANGSCHED_INLINE saved_known object_cache::save(std::uint64_t unread, past_saver& past) const {
  std::set<row_t> nodes, pods;
  for (std::uint64_t at = std::max(unread, state_->log.begin()); at < state_->log.end(); ++at) {
    const change& record = state_->log[at];
    if (record.about_pod())
      pods.insert(record.row);
    else if (record.kind <= change_kind::node_removed)
      nodes.insert(record.row);
  }
  saved_known made;
  const auto known = [](const auto& all, row_t row) { return row < all.size() ? all[row] : nullptr; };
  for (const row_t row : nodes) made.nodes.emplace_back(row, past.number_of(known(nodes_, row)));
  for (const row_t row : pods) made.pods.emplace_back(row, past.number_of(known(pods_, row)));
  return made;
}

GANGSCHED_INLINE std::optional<error> object_cache::restore(const saved_known& from, const past_objects& past) {
  for (const auto& [row, number] : from.nodes) {
    if (row >= state_->nodes.rows.count() || !past.has_node(number)) return model::damaged("nodes as they were read");
  }
  for (const auto& [row, number] : from.pods) {
    if (row >= state_->pods.rows.count() || !past.has_pod(number)) return model::damaged("pods as they were read");
  }
  start_over();
  for (const auto& [row, number] : from.nodes) nodes_[row] = past.node(number);
  for (const auto& [row, number] : from.pods) pods_[row] = past.pod(number);
  return std::nullopt;
}

GANGSCHED_INLINE saved_event saved(const object_event& happened, past_saver& past) {
  return {model::saved(happened.record),
          static_cast<std::uint32_t>(happened.what),
          past.number_of(happened.old_node),
          past.number_of(happened.new_node),
          past.number_of(happened.old_pod),
          past.number_of(happened.new_pod),
          happened.subject,
          static_cast<std::uint8_t>(happened.to),
          happened.highest};
}

GANGSCHED_INLINE std::optional<object_event> restored(const model::cluster_state& state, const saved_event& from,
                                                      const past_objects& past, bool by_hints) {
  const std::optional<change> record = model::restored(state, from.record);
  if (!record || !past.has_node(from.old_node) || !past.has_node(from.new_node) || !past.has_pod(from.old_pod) ||
      !past.has_pod(from.new_pod) || from.to > static_cast<std::uint8_t>(object_event::audience::subject))
    return std::nullopt;
  const auto what = static_cast<events>(from.what);
  if (by_hints) {
    const bool about_node = record->kind <= change_kind::node_removed;
    const bool has_node = from.old_node != 0 || from.new_node != 0, has_pod = from.old_pod != 0 || from.new_pod != 0;
    if ((about_node && !has_node) || (record->about_pod() && !has_pod) || std::popcount(from.what) != 1)
      return std::nullopt;
    const bool lacks = what == events::node_added     ? from.new_node == 0
                       : what == events::node_removed ? from.old_node == 0
                       : about_node                   ? from.old_node == 0 || from.new_node == 0
                       : what == events::pod_added    ? from.new_pod == 0
                       : what == events::pod_removed  ? from.old_pod == 0
                                                      : record->about_pod() && (from.old_pod == 0 || from.new_pod == 0);
    if (lacks) return std::nullopt;
  }
  return object_event{*record,
                      what,
                      past.node(from.old_node),
                      past.node(from.new_node),
                      past.pod(from.old_pod),
                      past.pod(from.new_pod),
                      from.subject,
                      static_cast<object_event::audience>(from.to),
                      from.highest};
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
