#pragma once
#include <cmath>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// ln Γ(x) for x > 0, by Stirling's series beyond 12. (`std::lgamma` writes a global.)
[[nodiscard]] inline double log_gamma(double x) noexcept {
  double product = 1;
  for (; x < 12; ++x) product *= x;
  const double y = 1 / (x * x);
  const double series =
      (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * (691.0 / 360360)))))) / x;
  constexpr double half_log_two_pi = 0.91893853320467274178;
  return (x - 0.5) * std::log(x) - x + half_log_two_pi + series - std::log(product);
}

/// The continued fraction of the incomplete beta function (Lentz's method); it converges fast for x < (a + 1)/(a + b + 2).
[[nodiscard]] inline double beta_fraction(double a, double b, double x) noexcept {
  constexpr double tiny = 1e-300, close = 1e-16;
  const auto away_from_0 = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), made = d;
  for (int i = 1; i <= 100'000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_0(1 + even * d), c = away_from_0(1 + even / c);
    made *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_0(1 + odd * d), c = away_from_0(1 + odd / c);
    made *= d * c;
    if (std::fabs(d * c - 1) < close) break;
  }
  return made;
}

}  // namespace detail

/// The probability that a Beta distribution with these parameters, both above 0, is at most @p x: the regularised incomplete beta function.
/// To about 13 digits for parameters up to 10^4. O(√(a + b)) at most.
[[nodiscard]] inline double beta_at_most(double a, double b, double x) noexcept {
  if (!(x > 0)) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(detail::log_gamma(a + b) - detail::log_gamma(a) - detail::log_gamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * detail::beta_fraction(a, b, x) / a;
  return 1 - front * detail::beta_fraction(b, a, 1 - x) / b;
}

}  // namespace gangsched::inline GANGSCHED_ABI
