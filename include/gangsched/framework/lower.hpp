#pragma once
#include "gangsched/framework/contract.hpp"
#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The kernels of @p self with @p weight for its scores.
template <class P>
plugin_entry lower(P self, std::int64_t weight = 1) {
  static_assert(detail::keeps_contract<P>());
  plugin_entry made;
  if constexpr (detail::well_formed<P>) {
    detail::whole_plugin::lower<P>(made, std::move(self), weight);
    detail::every_point::lower<P>(made);
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
