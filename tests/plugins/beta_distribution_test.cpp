#include "gangsched/policies/beta_distribution.hpp"

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::beta_distribution_test {

namespace {

/// The integral of the density by Simpson's rule, for parameters of at least 2.
double integrated(double a, double b, double x) {
  constexpr int steps = 4000;
  const auto density = [&](double at) { return std::pow(at, a - 1) * std::pow(1 - at, b - 1); };
  const auto area = [&](double to) {
    double sum = density(0) + density(to);
    for (int i = 1; i < steps; ++i) sum += density(to * i / steps) * (i % 2 == 1 ? 4 : 2);
    return sum * to / steps / 3;
  };
  return area(x) / area(1);
}

bool small(double difference, double most) { return std::fabs(difference) <= most; }

}  // namespace

TEST_CASE("a Beta distribution is what can be said of it without a series", "[plugins][load]") {
  for (const double x : {0.01, 0.3, 0.5, 0.77, 0.999}) {
    CHECK(small(beta_at_most(1, 1, x) - (x), 1e-13));
    CHECK(small(beta_at_most(3, 1, x) - (x * x * x), 1e-13));
    CHECK(small(beta_at_most(1, 3, x) - (1 - std::pow(1 - x, 3)), 1e-13));
    CHECK(small(beta_at_most(0.5, 0.5, x) - (2 / 3.14159265358979323846 * std::asin(std::sqrt(x))), 1e-12));
    CHECK(small(beta_at_most(7, 2.5, x) + beta_at_most(2.5, 7, 1 - x) - (1), 1e-13));
  }
  CHECK(beta_at_most(2, 3, 0) == 0);
  CHECK(beta_at_most(2, 3, -1) == 0);
  CHECK(beta_at_most(2, 3, 1) == 1);
  CHECK(small(beta_at_most(1e6, 1e6, 0.5) - (0.5), 1e-9));
  CHECK(small(beta_at_most(1e6, 1e6, 0.6) - 1, 1e-12));
  CHECK(small(beta_at_most(0.001, 0.001, 0.5) - (0.5), 1e-9));
}

TEST_CASE("a Beta distribution is the integral of its density", "[plugins][load]") {
  dice random{1};
  for (int i = 0; i < 200; ++i) {
    const auto some = [&](double least, double most) {
      return least + (most - least) * static_cast<double>(random.below(1'000'000)) / 1e6;
    };
    const double a = some(3, 40), b = some(3, 40), x = some(0.01, 0.99);
    INFO(a << " " << b << " " << x);
    CHECK(small(beta_at_most(a, b, x) - (integrated(a, b, x)), 1e-9));
  }
}

}  // namespace gangsched::testing::beta_distribution_test
