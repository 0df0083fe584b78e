#pragma once
#include <utility>

#include "gangsched/framework/points/admission.hpp"
#include "gangsched/framework/points/binding.hpp"
#include "gangsched/framework/points/filters.hpp"
#include "gangsched/framework/points/groups.hpp"
#include "gangsched/framework/points/plugin.hpp"
#include "gangsched/framework/points/queue.hpp"
#include "gangsched/framework/points/scores.hpp"
#undef GANGSCHED_PROBE
#undef GANGSCHED_CONTRACT
#undef GANGSCHED_HOOK
#undef GANGSCHED_SLIP
#undef GANGSCHED_ODD

/// The extension points: what a plugin may be, each as a concept with its contract. docs/extension-points/ has a page for each.
///
/// A plugin is a movable type with `static constexpr std::string_view name` and `using points = implements<point::…>`, the points that it
/// takes part in. The list makes a misspelt hook an error instead of a plugin that silently never runs. Hooks are public member functions:
/// data members, types and private members may have a hook's name. The list does not cover optional hooks, so likely misspellings of those
/// are errors of their own.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Applies the requirements of all points.
template <class Indices>
struct point_list;
template <std::size_t... I>
struct point_list<std::index_sequence<I...>> {
  template <point At>
  using trait = extension_point<At>;

  /// All points' parts of a plugin's row in the kernel table.
  struct kernels : trait<static_cast<point>(I)>::kernels... {};

  template <class P>
  static consteval bool keeps_contract() {
    return (trait<static_cast<point>(I)>::template keeps_contract<P>() && ...);
  }
  template <class P>
  static consteval bool well_formed() {
    return ((!P::points::set.has(static_cast<point>(I)) || trait<static_cast<point>(I)>::template well_formed<P>)&&...);
  }
  /// @pre well_formed<P>()
  template <class P>
  static void lower(kernels& row) {
    (lower_at<P, static_cast<point>(I)>(row), ...);
  }

 private:
  template <class P, point At>
  static void lower_at(typename trait<At>::kernels& row) {
    if constexpr (P::points::set.has(At)) trait<At>::template lower<P>(row);
  }
};
using every_point = point_list<std::make_index_sequence<point_count>>;

}  // namespace gangsched::inline GANGSCHED_ABI::detail
