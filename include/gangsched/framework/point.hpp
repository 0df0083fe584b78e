#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Places in the cycle where plugins take part. Each has a trait in points/, which says what a plugin must have for it.
enum class point : std::uint8_t {
  queue_sort,
  queue_order,
  pre_enqueue,
  requeue,
  admission,
  pre_filter,
  filter,
  post_filter,
  pre_score,
  score,
  choose_devices,
  reserve,
  permit,
  pre_bind,
  bind,
  post_bind,
  group_pre_filter,
  generate_placements,
  placement_feasible,
  score_placement,
  group_preempt,
};
inline constexpr std::size_t point_count = static_cast<std::size_t>(point::group_preempt) + 1;  // the last one

/// A set of points.
struct point_set {
  std::uint32_t bits = 0;
  [[nodiscard]] constexpr bool has(point p) const noexcept { return ((bits >> static_cast<unsigned>(p)) & 1u) != 0; }
  constexpr void add(point p) noexcept { bits |= 1u << static_cast<unsigned>(p); }
  constexpr void remove(point p) noexcept { bits &= ~(1u << static_cast<unsigned>(p)); }
};

/// What a plugin is at: `using points = implements<point::filter, point::score>;`.
template <point... Points>
struct implements {
  static constexpr point_set set{((1u << static_cast<unsigned>(Points)) | ... | 0u)};
};

/// Has a name, says what it implements, can be moved.
template <class P>
concept plugin = std::move_constructible<P> && requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::points::set } -> std::convertible_to<point_set>;
};

template <class P, point Point>
concept lists = plugin<P> && P::points::set.has(Point);

}  // namespace gangsched::inline GANGSCHED_ABI
