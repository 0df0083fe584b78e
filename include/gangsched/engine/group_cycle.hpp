#pragma once
#include "gangsched/engine/cycle_parts.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// A group's scheduling cycle (KEP-4671), from the queue to its members' reservations or its rejection. `group_search` finds the places.
/// Stateless.
class GANGSCHED_API group_cycle {
 public:
  group_cycle(const cycle_parts& with, group_parts& parts, group_search& search) noexcept
      : with_(with), parts_(&parts), search_(&search) {}

  void run(row_t group);

 private:
  void note(std::span<const row_t> members, const status& why, const group_lack& lack);
  void note_attempt(std::span<const row_t> members, const group_placement& tried, const status& why);
  void tell(std::span<const row_t> members, const status& why);
  void tell(std::span<const row_t> members, const refusal& why);
  bool preempt_for(row_t group, status& broken, std::optional<instant>& retry_at);
  bool reject(row_t group, const group_part& whole, const group_outcome& why);

  cycle_parts with_;
  group_parts* parts_;
  group_search* search_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/group_cycle.cpp"
#endif
