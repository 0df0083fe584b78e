#include "gangsched/framework/kernel_table.hpp"

#include <utility>

#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE kernel_table::kernel_table() = default;
GANGSCHED_INLINE kernel_table::kernel_table(const kernel_table& other)
    : scheduler_name(other.scheduler_name),
      plugins(other.plugins),
      order(other.order),
      percentage_of_nodes_to_score(other.percentage_of_nodes_to_score) {
  for (plugin_entry& plugin : plugins) {
    if (plugin.copy != nullptr) plugin.self = plugin.copy(plugin.self.get());
  }
}
GANGSCHED_INLINE kernel_table::kernel_table(kernel_table&& other) noexcept = default;
GANGSCHED_INLINE kernel_table& kernel_table::operator=(const kernel_table& other) {
  return *this = kernel_table{other};
}
GANGSCHED_INLINE kernel_table& kernel_table::operator=(kernel_table&& other) noexcept = default;
GANGSCHED_INLINE kernel_table::~kernel_table() = default;

GANGSCHED_INLINE void add_plugin(kernel_table& table, plugin_entry entry) {
  const auto index = static_cast<std::uint16_t>(table.plugins.size());
  if (entry.weight == 0) entry.weight = 1;
  for (std::size_t p = 0; p < point_count; ++p) {
    if (entry.points.has(static_cast<point>(p))) table.order[p].push_back(index);
  }
  table.plugins.push_back(std::move(entry));
}

}  // namespace gangsched::inline GANGSCHED_ABI
