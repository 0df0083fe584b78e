#include "gangsched/engine/profile_set.hpp"

#include <utility>

#include "gangsched/framework/profile_limits.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE profile_set::profile_set(std::vector<kernel_table> tables, model::cluster_state& state)
    : tables_(std::move(tables)) {
  for (const kernel_table& one : tables_) names_.push_back(state.names.keep(one.scheduler_name));
}

GANGSCHED_INLINE profile_set profile_set::forked(const model::cluster_state& to, bool evicts) const {
  profile_set made = *this;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    kernel_table& table = made.tables_[i];
    for (std::size_t j = 0; j < table.plugins.size(); ++j) {
      const plugin_entry& from = tables_[i].plugins[j];
      if (from.fork != nullptr) table.plugins[j].self = from.fork(from.self.get(), cluster_view{to});
    }
    table = unmeasured_hooks(std::move(table));
    if (evicts) continue;
    for (const point one : {point::post_filter, point::group_preempt})
      table.order[static_cast<std::size_t>(one)].clear();
  }
  return made;
}

GANGSCHED_INLINE void profile_set::attach(model::cluster_state& state) {
  attached_at_ = state.columns.mark();
  for (kernel_table& table : tables_) {
    for (plugin_entry& plugin : table.plugins) {
      column_maker columns{state};
      if (plugin.attach != nullptr) plugin.attach(plugin.self.get(), columns);
      plugin.columns = columns.facets();
      const bool hears = plugin.requeue != nullptr || plugin.requeue_pod != nullptr;
      if (plugin.reads_queues || plugin.points.has(point::admission) ||
          (hears && any(plugin.wakes_on & events::queue_changed)))
        plugin.columns |= reads::queues;
      plugin.filter.facets = with_columns(plugin.filter.facets, plugin.columns);
      plugin.score.facets = with_columns(plugin.score.facets, plugin.columns);
      if (plugin.score.finish_reads)
        plugin.score.finish_reads = with_columns(*plugin.score.finish_reads, plugin.columns);
    }
  }
}

GANGSCHED_INLINE std::optional<error> profile_set::difference(std::span<const kernel_table> tables) {
  if (tables.empty()) return error{errc::malformed, "scheduler", "profiles", "there has to be one"};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string object = "profile " + tables[i].scheduler_name;
    const hook_range sort = tables[i].hooks(point::queue_sort);
    if (sort.size() != 1) return error{errc::malformed, object, "queue_sort", "a profile has exactly one"};
    const std::string& first = tables.front().hooks(point::queue_sort)[0].name;
    if (sort[0].name != first)
      return error{errc::malformed, object, "queue_sort", "all profiles have one queue: it is " + first + " elsewhere"};
    const hook_range order = tables[i].hooks(point::queue_order), orders = tables.front().hooks(point::queue_order);
    if (order.size() > 1) return error{errc::malformed, object, "queue_order", "a profile has at most one"};
    if (order.size() != orders.size() || (!order.empty() && order[0].name != orders[0].name)) {
      const std::string other = orders.empty() ? "in no order of its own" : orders[0].name;
      return error{errc::malformed, object, "queue_order",
                   "all profiles have the same queues: it is " + other + " elsewhere"};
    }
    if (std::optional<error> wrong = gangsched::detail::beyond_limits(tables[i])) return wrong;
    for (std::size_t j = 0; j < i; ++j) {
      if (tables[j].scheduler_name == tables[i].scheduler_name)
        return error{errc::duplicate, object, "scheduler_name", "two profiles have it"};
    }
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
