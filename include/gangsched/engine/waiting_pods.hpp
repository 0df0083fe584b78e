#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The pods that permit hooks hold (waiting_pods_map.go), in order of reservation: by which hooks, and until when; and the groups that
/// changed, whose members are to be judged again.
class GANGSCHED_API waiting_pods {
 public:
  struct entry {
    pod_id pod;
    bind_attempt attempt;
    std::int64_t score;                  ///< of its node, for the decision
    std::uint64_t plugins = 0;           ///< indices (in order of point::permit) that have not allowed it yet
    std::uint64_t overruled = 0;         ///< those that the host has allowed it for: they are not called any more
    std::vector<instant> deadline = {};  ///< by index, from when a plugin first held it
    const char* rejected = nullptr;      ///< why it is to be taken back, or null
  };

  explicit waiting_pods(const model::cluster_state& state) noexcept : state_(&state) {}

  /// The plugin holds the pod, from @p now for @p timeout, at most 15 minutes; the first time counts.
  static void hold(entry& one, std::size_t plugin, instant now, instant timeout);

  void add(entry&& one);
  /// It no longer waits. Its entry stays until `compact`.
  void remove(row_t pod) {
    if (pod >= place_.size() || place_[pod] == 0) return;
    moved_.emplace_back(pod, place_[pod]);
    place_[pod] = 0;
  }
  [[nodiscard]] bool has(row_t pod) const noexcept { return find(pod) != nullptr; }
  /// Null if the pod does not wait. Valid until another is added.
  [[nodiscard]] const entry* find(row_t pod) const noexcept;
  [[nodiscard]] entry* find(row_t pod) {
    keep_entries();
    return const_cast<entry*>(std::as_const(*this).find(pod));
  }
  /// No entry is there, not even of pods that wait no more. O(1).
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// Calls visit(entry) for each that waits, those included that are added meanwhile.
  template <class Visit>
  void each(Visit&& visit) {
    keep_entries();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (stands(i)) visit(all_[i]);
    }
  }
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (stands(i)) visit(all_[i]);
    }
  }
  [[nodiscard]] std::vector<row_t> members_of(row_t group) const;
  [[nodiscard]] std::size_t count() const noexcept;
  /// The earliest deadline that is still to come true. O(pods that wait).
  [[nodiscard]] std::optional<instant> next_deadline() const noexcept;

  /// The group changed, or the number of its members with a node: hooks may judge its members differently now. `no_row`: no effect.
  void group_changed(row_t group);
  /// The log does not cover which groups changed.
  void all_groups_changed();
  [[nodiscard]] bool has_changed_groups() const noexcept { return !changed_.empty(); }
  /// The groups since the last call of this.
  [[nodiscard]] std::vector<row_t> take_changed_groups() noexcept { return std::exchange(changed_, {}); }

  /// At the end of this call, entries of pods that wait no more go.
  void compact() noexcept { compact_ = true; }
  // For a call that may be abandoned: `recall` restores the waiting pods, and their holders, as of `remember`. What is about to change is
  // saved: places one by one, entries all at once.
  void remember() noexcept {
    moved_.clear();
    count_before_ = all_.size();
    kept_ = all_.empty();
  }
  void recall() noexcept;
  void end_call() noexcept;

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_waiting save() const;
  [[nodiscard]] std::optional<error> restore(const saved_waiting& from);

 private:
  struct standing {
    std::uint64_t plugins;
    const char* rejected;
  };
  void keep_entries() {
    if (!kept_) copy_entries();
  }
  void copy_entries();
  [[nodiscard]] bool stands(std::size_t at) const noexcept { return find(all_[at].pod.row) == &all_[at]; }

  peer<const model::cluster_state> state_;
  std::vector<std::uint32_t> place_;  ///< by pod row: 1 + its place among all while it waits
  std::vector<entry> all_;
  std::vector<row_t> changed_;
  std::vector<standing> before_;                        ///< of the first `count_before_`, if they were kept
  std::vector<std::pair<row_t, std::uint32_t>> moved_;  ///< pods, and their `place_` before
  std::size_t count_before_ = 0;
  bool kept_ = true;
  bool compact_ = false;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/waiting_pods.cpp"
#endif
