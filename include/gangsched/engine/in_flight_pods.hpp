#pragma once
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/object_cache.hpp"
#include "gangsched/engine/queue.hpp"
#include "gangsched/scheduling/attempt.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Attempts of the host that are under way, and the events since the first of them began (inFlightEvents, active_queue.go). An attempt is
/// judged by these events when it returns, since only then it is known which plugins rejected it.
class GANGSCHED_API in_flight_pods {
 public:
  struct entry {
    entity who;
    pod_id pod;  ///< of a group, its first pending member
    group_id group;
    std::uint64_t from = 0;  ///< the first event that it has not seen
    bool requeue = false;    ///< it is tried again whatever its outcome
    bool joined = false;     ///< of a group: a member was added that is not in the attempt
    bool early = false;
    std::uint32_t number = 1;
  };

  explicit in_flight_pods(const model::cluster_state& state) : state_(&state) {}
  in_flight_pods& operator=(const in_flight_pods& from);

  [[nodiscard]] bool empty() const noexcept { return attempts_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return attempts_.size(); }
  /// In the order in which they began; valid until one begins or ends.
  [[nodiscard]] std::span<const entry> all() const noexcept { return attempts_; }
  /// Null if the present pod or group of the row is not being tried. Valid as long as `all`. O(attempts), like those below.
  [[nodiscard]] entry* find(entity e) noexcept;
  [[nodiscard]] const entry* find(entity e) const noexcept;
  /// Null if it is not being tried. Its row may have been reused.
  [[nodiscard]] entry* find(pod_id pod) noexcept;
  [[nodiscard]] entry* find(group_id group) noexcept;

  entry& begin_attempt(entry made);
  /// Drops events that no attempt needs any more.
  void end_attempt(const entry& over);
  /// All of them are tried again, whatever their outcome.
  void requeue_all() noexcept;

  /// For attempts under way; no effect if there are none. One that takes too long for all events to be kept is tried again.
  void add_event(object_event&& happened);
  /// Calls visit(event), which returns whether to go on, for those that the attempt has not seen.
  template <class Visit>
  void each_event_since(const entry& attempt, Visit&& visit) const {
    for (std::uint64_t at = attempt.from; at < end_of_events(); ++at) {
      if (!visit(events_[static_cast<std::size_t>(at - first_event_)])) return;
    }
  }

  /// Calls visit(event) for all that are kept.
  template <class Visit>
  void each_event(const Visit& visit) const {
    for (const object_event& one : events_) visit(one);
  }

  // For a call that may be abandoned: `recall` puts back the attempts that were under way when `remember` was called. What happened since
  // they began may be forgotten: `requeue_all` is to follow.
  void remember() {
    before_.clear();
    if (!attempts_.empty()) before_ = attempts_;
  }
  void recall() noexcept;

  /// What it holds, as plain data; and of a new one, that. @p past: objects as they were; @p by_hints: events have what their kind has.
  /// Error: malformed, and nothing is changed. O(attempts + events).
  [[nodiscard]] saved_in_flight save(past_saver& past) const;
  [[nodiscard]] std::optional<error> restore(const saved_in_flight& from, const past_objects& past, bool by_hints);

 private:
  [[nodiscard]] std::uint64_t end_of_events() const noexcept { return first_event_ + events_.size(); }

  peer<const model::cluster_state> state_;
  std::vector<entry> attempts_, before_;  ///< in order of `from`
  std::deque<object_event> events_;
  std::uint64_t first_event_ = 0;  ///< its number
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/in_flight_pods.cpp"
#endif
