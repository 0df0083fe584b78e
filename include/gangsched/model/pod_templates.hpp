#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// Pods come in crowds that differ in their names: specs that passed every check, and the classes they came to. A cache of what `check`,
/// `requests_of` and `make_class` say, of pods without affinity, spread constraints and volumes; forgetting it changes nothing.
class GANGSCHED_API pod_templates {
 public:
  struct known {
    class_id cls;
    std::uint32_t generation;  ///< of the class
    std::uint32_t epoch;       ///< of the class table
    std::int32_t priority;     ///< resolved
    preemption_policy preemption;
  };

  /// What is known of pods that differ from @p spec only in what makes no class; null if nothing. O(size of the spec).
  [[nodiscard]] const known* find(const pod_spec& spec) const noexcept;
  /// Keeps what a pod came to, the second time that one like it comes. O(size of the spec).
  void keep(const pod_spec& spec, const known& what);

 private:
  struct entry {
    pod_spec spec;
    known what;
  };
  struct slot {
    std::uint64_t seen = 0, held = 0;  ///< hashes: of who came last, and of the entry
    std::unique_ptr<const entry> there = {};
  };
  static constexpr std::size_t slots = 256;
  std::vector<slot> slots_;  ///< by hash, made when the first pod comes
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/pod_templates.cpp"
#endif
