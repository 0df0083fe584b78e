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

}  // namespace detail

GANGSCHED_INLINE result<forked> scheduler::fork() const {
  const model::cluster_state& state = core_->state();
  if (auto refused = detail::refuse_busy(state)) return std::move(*refused);
  if (const plugin_entry* const plugin = detail::find_uncopied(core_->profiles()))
    return error{errc::wrong_state, "plugin " + plugin->name, "", "cannot be copied"};
  cluster copy = detail::copy_of(state);
  auto core = std::make_unique<engine::core>(copy, *core_);
  return forked{std::move(copy), scheduler{std::move(core)}};
}

}  // namespace gangsched::inline GANGSCHED_ABI
