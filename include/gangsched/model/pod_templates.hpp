#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct pod_details;

/// A cache of the results of `check`, `requests_of` and `make_class` for pods without volumes and claims: many pods differ only in their
/// names, so checked specs are kept with their classes. Dropping an entry changes no result.
class GANGSCHED_API pod_templates {
 public:
  struct known {
    class_id cls;
    std::uint32_t generation;  ///< of the class
    std::uint32_t epoch;       ///< of the class table
    std::int32_t priority;     ///< resolved
    preemption_policy preemption;
    /// The details of the last of these pods, while a pod has them; not owned, because their names are freed with the last pod.
    std::weak_ptr<const pod_details> details;
  };

  /// The cached data of pods that differ from @p spec only in parts outside the class; null if there is none. Until the next `keep`. O(size
  /// of the spec).
  [[nodiscard]] known* find(const pod_spec& spec) noexcept;
  /// Keeps a pod's results, the second time that an equal one is added, and returns them. O(size of the spec), amortised over additions.
  known* keep(const pod_spec& spec, known what);

 private:
  struct entry {
    pod_spec spec;
    known what;
  };
  struct place {
    std::uint64_t hash = 0;
    std::unique_ptr<entry> there = {};
  };
  struct slot {
    std::array<std::uint64_t, 2> seen = {};  ///< hashes of the last ones that were not found
    std::array<place, 2> places = {};
    std::uint8_t older = 0;  ///< which of the two is replaced next
  };
  static constexpr std::size_t least_slots = 128, most_slots = 2048;

  [[nodiscard]] slot& slot_of(std::uint64_t hash) noexcept { return slots_[hash & (slots_.size() - 1)]; }
  [[nodiscard]] place* find(const pod_spec& spec, std::uint64_t hash) noexcept;
  void grow();

  std::vector<slot> slots_;    ///< by hash, a power of two, made when the first pod comes
  std::size_t displaced_ = 0;  ///< how many unused entries were replaced since the last growth
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/pod_templates.cpp"
#endif
