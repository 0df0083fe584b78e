#pragma once
#include <span>

#include "gangsched/c/scheduler.h"
#include "gangsched/core/text_pool.hpp"
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
  /// Before decisions are handed out: if the last turn was over, the reasons of its decisions are not good any more.
  void begin_taking() noexcept;
  /// Hands out decisions that hold. O(decisions).
  std::size_t take(gangsched_decision* into, std::size_t capacity) noexcept;
  /// After it: less was handed out than there was room for.
  void end_taking(bool over) noexcept { over_ = over; }
  /// Whether decisions that hold wait to be taken. O(decisions).
  [[nodiscard]] bool has_decisions() const noexcept;
  /// A line about a decision, good until the next one; empty if its pod is gone.
  [[nodiscard]] const char* describe(const gangsched_decision& one);

  gangsched::cluster* model;
  std::unique_ptr<gangsched::c::watchers> watched;  ///< null: no monitoring
  gangsched::scheduler engine;

 private:
  void add(std::span<const gangsched::decision> fresh);
  [[nodiscard]] bool holds(const gangsched_decision& one) const noexcept;
  gangsched::cycle fresh_;  ///< not in the list yet
  std::vector<gangsched_decision> decided_;
  std::size_t taken_ = 0;
  gangsched::text_pool reasons_;  ///< of those in the list: the engine's own go with its next call
  gangsched::text_pool handed_;   ///< of those that were handed out in this turn
  bool over_ = false;
  std::string described_;
};

namespace gangsched::inline GANGSCHED_ABI::c {

/// GANGSCHED_PROFILE_…; bin packing counts @p resource beside cpu and memory.
[[nodiscard]] kernel_table base_profile(std::int32_t base, const std::string& resource);
/// The profiles of a configuration, made for one scheduler; if @p from is null or has none, the base profile @p otherwise. Errors:
/// what a plugin says, out_of_range (no such base).
[[nodiscard]] result<std::vector<kernel_table>> profiles_of(const gangsched_configuration* from,
                                                            std::int32_t otherwise);
/// Makes hooks report to the watchers, before there is a scheduler of these profiles.
void measure(std::vector<kernel_table>& tables, watchers& by);
/// Makes the scheduler report to its watchers.
[[nodiscard]] result<void> watch(gangsched_scheduler& on);

}  // namespace gangsched::inline GANGSCHED_ABI::c
