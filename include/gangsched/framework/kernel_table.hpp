#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/point.hpp"

/// What a profile is lowered to: for each plugin a row of function pointers. The engine runs any table, however it was made.
namespace gangsched::inline GANGSCHED_ABI {

struct plugin_entry;  // plugin_entry.hpp
class hook_range;

/// A profile ready to run: its plugins, and per extension point their order (indices into `plugins`). A copy has its own plugins, so that
/// it can be attached to another cluster; a plugin that can be moved but not copied is shared by the copies, which then belong to one
/// cluster.
struct GANGSCHED_API kernel_table {
  kernel_table();
  kernel_table(const kernel_table& other);
  kernel_table(kernel_table&& other) noexcept;
  kernel_table& operator=(const kernel_table& other);
  kernel_table& operator=(kernel_table&& other) noexcept;
  ~kernel_table();

  std::string scheduler_name = "default-scheduler";  ///< of the pods that it is for
  std::vector<plugin_entry> plugins;
  std::array<std::vector<std::uint16_t>, point_count> order;
  /// Kubernetes' percentageOfNodesToScore: how many feasible nodes are enough. 0: by cluster size; 100 or nothing: all, which is exact.
  std::optional<std::int32_t> percentage_of_nodes_to_score = {};

  [[nodiscard]] std::span<const std::uint16_t> at(point p) const noexcept { return order[static_cast<std::size_t>(p)]; }
  [[nodiscard]] hook_range hooks(point p) const noexcept;  // plugin_entry.hpp
};

/// Appends @p entry to a table: at its points it runs after the plugins that are there already. Weight 0 becomes 1, as in kube-scheduler.
GANGSCHED_API void add_plugin(kernel_table& table, plugin_entry entry);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/kernel_table.cpp"
#endif
