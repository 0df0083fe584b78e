#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "gangsched/queues/kueue/configuration.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// What a queue or a cohort borrows as a part of what its cohort can lend, of the resource for which that is largest, in thousandths
/// (Kueue's dominant resource share).
struct dominant_share {
  double unweighted = 0;  ///< 0 too if nothing of what it borrows can be lent
  double weight = 1;
  resource_index resource = none;  ///< the first by name of equal ones; `none` if the share is 0
  bool borrows = false;            ///< it uses more of some resource than its quota

  /// Divided by the weight; infinite for a share above 0 with the weight 0.
  [[nodiscard]] double weighted() const noexcept {
    if (unweighted == 0) return 0;
    return weight == 0 ? std::numeric_limits<double>::infinity() : unweighted / weight;
  }
  /// The same rounded up, as Kueue publishes it; infinite: 2^63-1.
  [[nodiscard]] std::int64_t rounded() const noexcept {
    const double up = std::ceil(weighted());
    return up < 9223372036854775808.0 ? static_cast<std::int64_t>(up) : std::numeric_limits<std::int64_t>::max();
  }
  /// By weighted(), infinite ones by the unweighted share: below 0 if @p a has the smaller one.
  [[nodiscard]] friend int compare(const dominant_share& a, const dominant_share& b) noexcept {
    const bool too_much = a.weight == 0 && a.unweighted != 0, other_too_much = b.weight == 0 && b.unweighted != 0;
    if (too_much != other_too_much) return too_much ? 1 : -1;
    const double of_a = too_much ? a.unweighted : a.weighted(), of_b = too_much ? b.unweighted : b.weighted();
    return of_a < of_b ? -1 : of_a > of_b ? 1 : 0;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
