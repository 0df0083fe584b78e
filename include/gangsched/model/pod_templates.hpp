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

/// A cache of what `check`, `requests_of` and `make_class` say of pods without volumes and claims: many pods differ only in their names, so
/// specs that passed every check are kept with their classes. Forgetting an entry changes nothing.
class GANGSCHED_API pod_templates {
 public:
  struct known {
    class_id cls;
    std::uint32_t generation;  ///< of the class
    std::uint32_t epoch;       ///< of the class table
    std::int32_t priority;     ///< resolved
    preemption_policy preemption;
    /// What the last of these pods has, while one that has it is there; not owned, because its names go when no pod has them.
    std::weak_ptr<const pod_details> details;
  };

  /// What is known of pods that differ from @p spec only in what makes no class; null if nothing. Until the next `keep`. O(size of the
  /// spec).
  [[nodiscard]] known* find(const pod_spec& spec) noexcept;
  /// Keeps what a pod came to, the second time that one like it comes, and says where. O(size of the spec), and amortised over what comes.
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
    std::array<std::uint64_t, 2> seen = {};  ///< hashes of those who came last and were not known
    std::array<place, 2> places = {};
    std::uint8_t older = 0;  ///< of the two, which goes first
  };
  static constexpr std::size_t least_slots = 128, most_slots = 2048;

  [[nodiscard]] slot& slot_of(std::uint64_t hash) noexcept { return slots_[hash & (slots_.size() - 1)]; }
  [[nodiscard]] place* find(const pod_spec& spec, std::uint64_t hash) noexcept;
  void grow();

  std::vector<slot> slots_;    ///< by hash, a power of two, made when the first pod comes
  std::size_t displaced_ = 0;  ///< how often somebody was forgotten unknown since there are so many slots
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/pod_templates.cpp"
#endif
