// Compile-time profile, run-time profile and a reference written from the rules: the same decisions for the same events.
#include <cstdlib>

#include "differential_profiles.hpp"
#include "differential_runner.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::differential_test {

namespace {

/// GANGSCHED_SEQUENCES multiplies the number of sequences, for a long run.
std::uint64_t effort() {
  const char* const text = std::getenv("GANGSCHED_SEQUENCES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

void all_agree(std::uint64_t first_seed, std::uint64_t count, const mix& of) {
  differential_result sum;
  for (std::uint64_t seed = first_seed; seed < first_seed + count * effort(); ++seed) {
    const scenario what = make_scenario(seed, static_cast<unsigned>(seed % profile_kinds), of);
    INFO("seed " << seed);
    const differential_result got = run_differential(what);
    if (got.complaint) {
      const scenario least = shrink(what);
      FAIL(run_differential(least).complaint.value_or("the complaint went away") << "\n" << to_text(least));
    }
    sum.decisions += got.decisions;
    sum.placed += got.placed;
    sum.rejected += got.rejected;
    sum.waits += got.waits;
    sum.revoked += got.revoked;
    sum.explained += got.explained;
  }
  // The sequences are worth something: a good part of everything happens in them.
  INFO(sum.decisions << " decisions, " << sum.placed << " placed, " << sum.rejected << " rejected, " << sum.waits
                     << " waits, " << sum.revoked << " revoked, " << sum.explained << " explained");
  CHECK(sum.placed > 2 * count);
  CHECK(sum.rejected > count / 2);
  CHECK(sum.explained > count);
  if (of.permit_gangs && of.groups != 0) CHECK(sum.waits > count / 10);
}

}  // namespace

TEST_CASE("pods without groups: compile-time profile, run-time profile and reference agree on everything",
          "[engine][differential]") {
  all_agree(1'000'000, 1500, {.nodes = 8, .pods = 14, .groups = 0});
}

TEST_CASE("gangs tried in one cycle: compile-time profile, run-time profile and reference agree on everything",
          "[engine][differential]") {
  all_agree(2'000'000, 1500, {.nodes = 6, .pods = 14, .groups = 3, .permit_gangs = false});
}

TEST_CASE("gangs in the permit room: compile-time profile, run-time profile and reference agree on everything",
          "[engine][differential]") {
  all_agree(3'000'000, 1500, {.nodes = 5, .pods = 14, .groups = 3, .group_cycles = false});
}

TEST_CASE("pods and gangs of both modes: compile-time profile, run-time profile and reference agree on everything",
          "[engine][differential]") {
  all_agree(4'000'000, 1000, {.nodes = 11, .pods = 24, .groups = 4, .rounds = 7});
}

}  // namespace gangsched::testing::differential_test
