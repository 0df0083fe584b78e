#pragma once
#include "gangsched/engine/cycle_parts.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// A pod's scheduling cycle (schedule_one.go), from the queue to its reservation or its rejection. Stateless.
class GANGSCHED_API pod_cycle {
 public:
  pod_cycle(const cycle_parts& with, picker& picks) noexcept : with_(with), picks_(&picks) {}

  void run(row_t pod);
  /// Records it, and puts the pod where it waits.
  void reject(row_t pod, const picked& why);

 private:
  [[nodiscard]] bool tell(row_t pod, const status& why);
  void wait_for(row_t pod, instant then);
  void expire(row_t pod);
  void refuse(row_t pod, const refusal& why);
  void place(row_t pod, const picked& where);
  void refuse_place(row_t pod, const picked& why, const plugin_entry* by);
  bool preempt_for(row_t pod, std::uint64_t rejectors, std::optional<instant>& retry_at);

  cycle_parts with_;
  picker* picks_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/pod_cycle.cpp"
#endif
