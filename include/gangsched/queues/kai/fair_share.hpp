#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"

/// The queues of KAI-Scheduler 0.12, with its numbers. Amounts of a resource are in units that are divided whole: one GPU, a thousandth of
/// a CPU, a byte. They may have fractions: half a GPU can be requested. All sums are doubles, as upstream.
namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// As a deserved amount or a limit: no bound.
inline constexpr double unlimited = -1;
[[nodiscard]] constexpr bool within(double amount, double bound) noexcept {
  return bound == unlimited || amount <= bound;
}

/// One queue's terms, use and fair share of one resource.
struct resource_share {
  double deserved = 0;                   ///< its quota, which is never reclaimed; may be `unlimited`
  double limit = unlimited;              ///< it never holds more
  double weight = 1;                     ///< its part of what is left when every queue has what it deserves
  double usage = 0;                      ///< the part of the cluster that it used in the past, 0 to 1
  double request = 0;                    ///< what its jobs hold and request
  double allocated = 0;                  ///< what its jobs hold
  double allocated_non_preemptible = 0;  ///< the part of it held by jobs that are not preemptible
  double fair_share = 0;                 ///< the result of the last division

  /// Its request, within its limit.
  [[nodiscard]] double requestable() const noexcept { return limit == unlimited || request < limit ? request : limit; }
  /// What it may hold without being reclaimed from: the larger of what it deserves and its fair share, within its limit.
  [[nodiscard]] double allocatable() const noexcept {
    if (deserved == unlimited) return limit;
    const double due = fair_share > deserved ? fair_share : deserved;
    return limit == unlimited || due < limit ? due : limit;
  }
};

/// A queue's part in the division of one resource among siblings.
struct claim {
  int priority = 0;
  double deserved = 0;     ///< or `unlimited`: all there is
  double requestable = 0;  ///< its request, within its limit
  double weight = 1;
  double usage = 0;
  double fair_share = 0;  ///< the result
};

/// Divides one resource among siblings. Claims stand in the order in which queues precede each other: by priority, highest first, then
/// age, then name. All numbers are finite and at least 0. What it allocates it keeps, so that a second division of as many claims
/// allocates nothing.
class GANGSCHED_API fair_share_division {
 public:
  /// Divisions of at most as many claims allocate nothing from now on.
  void reserve(std::size_t claims);

  /// Gives every queue what it deserves and requests, even if the sum exceeds @p total, and divides the rest with `divide_over_quota`.
  /// @param k how much past usage counts against a queue; 0: not at all. @return what remains undivided, at least 0.
  double divide(std::span<claim> claims, double total, double k);

  /// Adds parts of @p amount to the claims' fair shares. Priority by priority: in rounds, each queue that wants more gets its part of what
  /// was there at the start of the round, but no more than it needs, and whole units only; there is another round while some queue needed
  /// less than its part. A part is by weight, made larger or smaller by k times the difference of the normalised weight and past usage.
  /// What rounding left is then handed out in single units, by priority, to the claims that lost the largest fractions, regardless of their
  /// requests (as upstream). @return what remains undivided. O(n · rounds), where each round but the last satisfies a claim.
  double divide_over_quota(std::span<claim> claims, double amount, double k);

 private:
  double fill(std::span<claim> claims, std::size_t first, std::size_t end, double left, double k);
  double give_units(std::span<claim> claims, std::size_t first, std::size_t end, double left);

  std::vector<double> lost_;  ///< by claim: the fraction that rounding took in the last round that gave it a part
  std::vector<double> part_;  ///< by claim: its part of the round, before parts are normalised to a sum of one
  std::vector<std::uint32_t> hungry_;  ///< claims of one priority that want more, in order
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/fair_share.cpp"
#endif
