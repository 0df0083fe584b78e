#pragma once
#include "gangsched/core/lanes.hpp"
#include "gangsched/framework/hooks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine::detail {

/// Adds scores to sums, or begins these with the @p First; those that are no scores count as 0, and are said.
template <bool First>
struct add_weighted {
  template <std::size_t N>
  GANGSCHED_LANES static void run(double* sum, std::size_t size, const double* scores, double weight,
                                  std::uint64_t* wrong) {
    lane_bits<N> outside;
    for (std::size_t i = 0; i < size; i += N) {
      const lanes<N> score = lanes<N>::load(scores + i);
      const auto within = where_within(score, 0.0, static_cast<double>(max_node_score));
      outside.add(~within);
      const lanes<N> counted = select(within, score, lanes<N>::of(0.0));
      const lanes<N> added = lanes<N>::of(weight) * counted;
      (First ? added : lanes<N>::load(sum + i) + added).store(sum + i);
    }
    *wrong = outside.all();
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine::detail
