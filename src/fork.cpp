#include "gangsched/fork.hpp"

#include <utility>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// The first plugin that cannot be copied; null if all can.
GANGSCHED_INLINE const plugin_entry* find_uncopied(std::span<const kernel_table> profiles) noexcept {
  for (const kernel_table& table : profiles) {
    for (const plugin_entry& one : table.plugins) {
      if (one.copy == nullptr) return &one;
    }
  }
  return nullptr;
}

GANGSCHED_INLINE result<forked> fork_of(const engine::core& from, bool evicts) {
  const model::cluster_state& state = from.state();
  if (auto refused = refuse_busy(state)) return std::move(*refused);
  if (const plugin_entry* const plugin = find_uncopied(from.profiles()))
    return error{errc::wrong_state, "plugin " + plugin->name, "", "cannot be copied"};
  cluster copy = copy_of(state);
  auto core = std::make_unique<engine::core>(copy, from, evicts);
  return forked{std::move(copy), scheduler{std::move(core)}};
}

GANGSCHED_INLINE result<forked> fork_without_evictions(const scheduler& of) { return fork_of(of.inside(), false); }

}  // namespace detail

GANGSCHED_INLINE result<forked> scheduler::fork() const { return detail::fork_of(*core_, true); }

}  // namespace gangsched::inline GANGSCHED_ABI
