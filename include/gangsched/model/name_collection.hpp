#pragma once
#include <cstddef>
#include <cstdint>

#include "gangsched/core/config.hpp"
#include "gangsched/model/fwd.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// Frees interned or numbered things (names, kinds, counters, …) that are no longer named: classes without pods when they are many,
/// everything else in a collection. One is due when as many of something were made since the last one as that found in use, plus some.
/// Numbers in use never change, so references to nodes, pods, classes and groups stay valid. Code that keeps more than that (plans,
/// indexes) rebuilds it when `topology_table::plan_epoch` or `freed` moves. A collection reads every table of the cluster, and sweeps those
/// that give out numbers.
class GANGSCHED_API name_collection {
 public:
  explicit name_collection(cluster_state& of) noexcept : state_(of) {}
  name_collection(const name_collection&) = delete;
  name_collection& operator=(const name_collection& from) noexcept {
    freed = from.freed, always = from.always;
    limits_ = from.limits_;
    return *this;
  }

  /// Called where a change begins; does nothing inside a transaction. O(1), or O(state) amortised over what was made.
  void run_if_due();

  std::uint64_t freed = 0;  ///< collections that freed something
  bool always = false;      ///< at every change: for tests

 private:
  /// How many may be made before the next one.
  struct limits {
    std::size_t names = 1024, counters = 256, topologies = 16, choices = 64, kinds = 16, expressions = 16,
                priorities = 256, tuples = 65536;
  };
  [[nodiscard]] bool due() const noexcept;
  void run();

  cluster_state& state_;
  limits limits_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

// Its bodies come with state.hpp, which they need whole.
