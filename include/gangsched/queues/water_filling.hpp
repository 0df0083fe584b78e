#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/queue_tree.hpp"
#include "gangsched/queues/resource_amounts.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues {

/// The claim of one party on what is shared.
struct fill_claim {
  std::int64_t request = 0;
  std::int64_t guarantee =
      0;  ///< it gets that much before any claim gets more, as far as it requests it or does not lend
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< it never gets more
  std::int64_t weight = 1;                                        ///< 0: the guarantee alone
  bool lends = true;                                              ///< false: it gets its guarantee whatever it requests
};

/// The water level: a claim with more than its guarantee and less than its request gets its weight times this, before rounding. A fraction,
/// not reduced; 0 / 1 if there is no such claim. Where guarantees shrink: the fraction of each that is left.
struct water_level {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};

/// Weighted max-min fairness with guarantees and limits, without a rounding error: the exact shares are fractions, and each whole share is
/// one of the two whole numbers beside its fraction. What is handed out is the total, or all that is requested; a share can only grow by
/// taking from a claim that has no more for its weight. If the guarantees exceed the total, they shrink in proportion. An object keeps its
/// memory: dividing for no more queues than before does not allocate.
class GANGSCHED_API water_filling {
 public:
  /// Divides @p total among @p claims, as `shares`. Leftover units go to the claims whose fractions lost most, ties to the first. Errors:
  /// `malformed` (as many shares as claims), `out_of_range` (a negative amount or weight, a total above largest_amount), `overflow` (the
  /// sums of requests, guarantees or weights above it). O(n) a round and O(n log n) once; each round settles at least one claim, of equally
  /// distributed claims a constant part.
  result<water_level> divide(std::int64_t total, std::span<const fill_claim> claims, std::span<std::int64_t> shares);

  /// Divides @p total among the queues of a tree, from the roots down, each queue's whole share among its children. A queue requests what
  /// those below it request together, within its limit; its guarantee is at least what they are guaranteed together, as far as that goes.
  /// Claims and shares by queue. Errors also: `malformed` (a queue with children has a request). O(queues · log siblings), with divide's
  /// rounds.
  result<void> divide(const queue_tree& tree, std::int64_t total, std::span<const fill_claim> claims,
                      std::span<std::int64_t> shares);

 private:
  struct bounds {
    std::int64_t low = 0, high = 0, weight = 0;
    std::uint32_t claim = 0;
    std::int64_t remainder = 0;  ///< of its share, in units of one over the level's denominator
  };
  static result<void> check(std::int64_t total, std::span<const fill_claim> claims, std::size_t shares);
  water_level divide_checked(std::int64_t total, std::span<const fill_claim> claims, std::span<std::int64_t> shares);
  water_level fill(std::int64_t total, std::span<std::int64_t> shares);

  std::vector<bounds> open_;                 ///< claims whose share is not settled
  std::vector<fill_claim> up_;               ///< of a tree, with the requests of those below
  std::vector<fill_claim> members_;          ///< of one level of it
  std::vector<std::int64_t> member_shares_;  ///< likewise
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/water_filling.cpp"
#endif
