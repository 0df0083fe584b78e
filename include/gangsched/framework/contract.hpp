#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Instantiated for every plugin of a profile before anything else is.
template <class P>
consteval bool keeps_contract() {
  constexpr bool whole = whole_plugin::keeps_contract<P>();
  if constexpr (plugin<P>)
    return whole && every_point::keeps_contract<P>();
  else
    return whole;
}

/// Whether every listed point has hooks of the right types: `lower` compiles only for those, so that no second error follows the first.
template <class P>
inline constexpr bool well_formed = [] {
  if constexpr (plugin<P>)
    return every_point::well_formed<P>();
  else
    return false;
}();

}  // namespace gangsched::inline GANGSCHED_ABI::detail
