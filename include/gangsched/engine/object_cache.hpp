#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/framework/hooks.hpp"
#include "gangsched/framework/past.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// An event with its objects, kept for the attempts under way when it happened.
struct object_event {
  change record;
  events what = events::nothing;
  std::shared_ptr<const past_node> old_node = nullptr, new_node = nullptr;
  std::shared_ptr<const past_pod> old_pod = nullptr, new_pod = nullptr;
  pod_id subject{};  ///< the pod that changed
  enum class audience : std::uint8_t { everybody, others, subject } to = audience::everybody;
  /// Only pods that are not more important than the subject can have been blocked by it.
  std::int32_t highest = std::numeric_limits<std::int32_t>::max();
};

class past_objects;
class past_saver;

[[nodiscard]] saved_event saved(const object_event& happened, past_saver& past);
/// Nothing if it is not what was saved; @p by_hints: with the objects that its kind has.
[[nodiscard]] std::optional<object_event> restored(const model::cluster_state& state, const saved_event& from,
                                                   const past_objects& past, bool by_hints);

/// The part @p was of a node, in a copy of its cluster.
[[nodiscard]] inline std::shared_ptr<const past_node> in_copy(const std::shared_ptr<const past_node>& was,
                                                              const model::viewed_tables& state) {
  return was == nullptr ? nullptr : std::make_shared<const past_node>(*was, state);
}

/// Reads the change log for hints: remembers every object as it was when its last change was read, so that events have an old and
/// a new one. Several changes of one object between two readings show as one, as they may to any client of Kubernetes.
/// O(objects) memory; O(size of the object) a change.
class GANGSCHED_API object_cache {
 public:
  explicit object_cache(const model::cluster_state& state) noexcept : state_(&state) {}
  object_cache& operator=(const object_cache& from);

  /// Forgets what was read: the cluster is as it is now.
  void start_over();
  /// Appends the events that the record is, in Kubernetes' order.
  void read(const change& record, std::vector<object_event>& out);

  /// What it knows of objects that have changed since @p unread, a position in the log; of others it knows what there is. And of a new one,
  /// that. Error: malformed, and nothing is changed. O(records); O(objects).
  [[nodiscard]] saved_known save(std::uint64_t unread, past_saver& past) const;
  [[nodiscard]] std::optional<error> restore(const saved_known& from, const past_objects& past);

 private:
  void read_node(const change& record, std::vector<object_event>& out);
  void read_pod_update(const change& record, std::vector<object_event>& out);
  [[nodiscard]] std::shared_ptr<const past_node> look_at_node(row_t row) const;
  [[nodiscard]] std::shared_ptr<const past_pod> look_at_pod(row_t row) const;

  peer<const model::cluster_state> state_;
  std::vector<std::shared_ptr<const past_node>> nodes_;
  std::vector<std::shared_ptr<const past_pod>> pods_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/object_cache.cpp"
#endif
