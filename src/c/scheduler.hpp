#pragma once
#include <span>

#include "gangsched/c/scheduler.h"
#include "gangsched/src/c/handles.hpp"
#include "gangsched/src/c/watchers.hpp"

/// A scheduler with what it decided and the host has not taken.
struct gangsched_scheduler {
  gangsched_scheduler(gangsched_cluster& on, std::vector<gangsched::kernel_table> profiles,
                      const gangsched::scheduler_options& options, std::unique_ptr<gangsched::c::watchers> watching)
      : model(&on.model), watched(std::move(watching)), engine(on.model, std::move(profiles), options) {}
  /// A fork of @p from, with what that decided.
  gangsched_scheduler(gangsched_cluster& on, gangsched::scheduler forked, const gangsched_scheduler& from);
  /// One that was restored on @p on.
  gangsched_scheduler(gangsched_cluster& on, gangsched::scheduler restored,
                      std::unique_ptr<gangsched::c::watchers> watching)
      : model(&on.model), watched(std::move(watching)), engine(std::move(restored)) {}

  /// Moves what the last call decided into the list. If that throws, for want of memory, it is done next time: nothing is lost.
  /// O(decisions).
  void settle();
  /// Keeps what a call decided, and says whether it was refused. Before each call that decides there is a `settle`, so that all is kept.
  gangsched_code keep(gangsched::cycle made, gangsched_error* error);
  /// Hands out decisions that hold. O(decisions).
  std::size_t take(gangsched_decision* into, std::size_t capacity) noexcept;
  /// Whether decisions that hold wait to be taken. O(decisions).
  [[nodiscard]] bool has_decisions() const noexcept;

  gangsched::cluster* model;
  std::unique_ptr<gangsched::c::watchers> watched;  ///< null: nobody watches
  gangsched::scheduler engine;

 private:
  void add(std::span<const gangsched::decision> fresh);
  [[nodiscard]] bool holds(const gangsched_decision& one) const noexcept;
  gangsched::cycle fresh_;  ///< not in the list yet
  std::vector<gangsched_decision> decided_;
  std::size_t taken_ = 0;
};

namespace gangsched::inline GANGSCHED_ABI::c {

/// The profiles of a configuration, made for one scheduler; the default one if @p from is null or has none. Error: what a plugin says.
[[nodiscard]] result<std::vector<kernel_table>> profiles_of(const gangsched_configuration* from);
/// Makes hooks tell who watches them, before there is a scheduler of these profiles.
void measure(std::vector<kernel_table>& tables, watchers& by);
/// Makes the scheduler tell who watches it.
[[nodiscard]] result<void> watch(gangsched_scheduler& on);

}  // namespace gangsched::inline GANGSCHED_ABI::c
