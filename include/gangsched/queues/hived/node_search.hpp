#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/hived/cell_binding.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// Why a group waits.
enum class obstacle : unsigned char {
  quota,  ///< its virtual cluster has too few cells that it may use (an opportunistic one: there are too few free devices)
  bad_node,       ///< it would have to use a bad node
  not_suggested,  ///< it would have to use a node that the caller did not suggest
  no_usable_cell  ///< there are virtual cells, but all the physical cells that they may be are bad or not suggested
};
/// "quota", …
[[nodiscard]] GANGSCHED_API std::string_view to_string(obstacle what) noexcept;

/// What a search did not find.
struct search_failure {
  obstacle why = obstacle::quota;
  std::uint32_t level = 0;  ///< the lowest at which a cell holds the pod
  std::uint32_t count = 0;  ///< pods of this level that are left
  cell_index cell = none;   ///< the one that is bad or not suggested, of the kind that was searched
};

/// Chooses devices for pods. Pods, the smallest first, fill nodes one after another (next fit): healthy nodes first, then suggested ones,
/// then those with the most devices in use. In a node: the lowest cell with enough devices, free ones before those of lower priority.
class GANGSCHED_API node_search {
 public:
  /// Virtual devices for a group of @p priority, without preemption if that is possible. @p sizes ascending. @param out one device after
  /// the other, overwritten.
  /// O(nodes · log nodes + devices · levels).
  std::optional<search_failure> find_virtual(const cell_binding& cells, const virtual_view& view,
                                             std::span<const std::uint32_t> sizes, std::int32_t priority,
                                             node_choice nodes, std::vector<cell_index>& out);
  /// Free physical devices, for an opportunistic group; prefers nodes where more opportunistic and fewer guaranteed devices are in use.
  std::optional<search_failure> find_physical(const cell_binding& cells, std::uint32_t chain,
                                              std::span<const std::uint32_t> sizes, node_choice nodes,
                                              std::vector<cell_index>& out);

 private:
  /// A cell that is a node or part of one.
  struct room {
    cell_index cell = none;
    cell_index first_device = none;
    std::int32_t devices = 0;
    std::int32_t free = 0;
    std::int32_t pack = 0;   ///< devices near which the group should be
    std::int32_t avoid = 0;  ///< devices from which it should stay away
    bool healthy = true, suggested = true;
  };
  std::optional<search_failure> choose_rooms(const cell_chain& chain, std::span<const std::uint32_t> sizes);
  template <class PriorityOf>
  void choose_devices(const cell_chain& chain, std::span<const std::uint32_t> sizes, std::int32_t below,
                      const PriorityOf& priority_of, std::vector<cell_index>& out);

  std::vector<room> rooms_;
  std::vector<std::size_t> chosen_;  ///< by pod: its room
  std::vector<std::uint32_t> left_;  ///< devices of one room that may be used, in order of preference, from its first
  std::vector<std::uint32_t> in_group_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/hived/node_search.cpp"
#endif
