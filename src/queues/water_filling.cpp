#include "gangsched/queues/water_filling.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues {
namespace detail {

__extension__ using wide_amount = __int128;

inline std::int64_t claimed_low(const fill_claim& claim) {
  const std::int64_t guarantee = std::min(claim.guarantee, claim.limit);
  return claim.lends ? std::min(guarantee, claim.request) : guarantee;
}
inline std::int64_t claimed_high(const fill_claim& claim) {
  if (claim.weight == 0) return claimed_low(claim);
  return std::max(std::min(claim.request, claim.limit), claimed_low(claim));
}

}  // namespace detail

GANGSCHED_INLINE result<void> water_filling::check(std::int64_t total, std::span<const fill_claim> claims,
                                                   std::size_t shares) {
  const auto wrong = [](errc code, std::size_t claim, const char* field, const char* reason) {
    return error{code, "claim " + std::to_string(claim), field, reason};
  };
  if (shares != claims.size())
    return error{errc::malformed, "water filling", "shares",
                 std::to_string(shares) + " for " + std::to_string(claims.size()) + " claims"};
  if (total < 0 || total > largest_amount)
    return error{errc::out_of_range, "water filling", "total", std::to_string(total) + " is not in 0 … 2^61"};
  std::int64_t requests = 0, guarantees = 0, weights = 0;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const fill_claim& one = claims[i];
    if (one.request < 0) return wrong(errc::out_of_range, i, "request", "is negative");
    if (one.guarantee < 0) return wrong(errc::out_of_range, i, "guarantee", "is negative");
    if (one.limit < 0) return wrong(errc::out_of_range, i, "limit", "is negative");
    if (one.weight < 0) return wrong(errc::out_of_range, i, "weight", "is negative");
    if (one.request > largest_amount - requests) return wrong(errc::overflow, i, "request", "the sum is above 2^61");
    if (one.guarantee > largest_amount - guarantees)
      return wrong(errc::overflow, i, "guarantee", "the sum is above 2^61");
    if (one.weight > largest_amount - weights) return wrong(errc::overflow, i, "weight", "the sum is above 2^61");
    requests += one.request;
    guarantees += one.guarantee;
    weights += one.weight;
  }
  return {};
}

/// Divides @p total among `open_`; the lows add up to at most @p total, the highs to more. If a level turns out too high, the final level
/// is lower, so claims at their low stay there and are settled; if it is too low, claims at their high are settled. (Bitran and Hax 1981,
/// in whole numbers.)
GANGSCHED_INLINE water_level water_filling::fill(std::int64_t total, std::span<std::int64_t> shares) {
  std::int64_t left = total;
  while (true) {
    std::int64_t weights = 0;
    for (const bounds& one : open_) weights += one.weight;
    if (weights == 0) return {};
    // With this level the claims would add up to the total if there were no lows and highs.
    const water_level level{left, weights};
    const auto at_low = [&](const bounds& one) {
      return detail::wide_amount{one.weight} * level.numerator <= detail::wide_amount{one.low} * level.denominator;
    };
    const auto at_high = [&](const bounds& one) {
      return detail::wide_amount{one.weight} * level.numerator >= detail::wide_amount{one.high} * level.denominator;
    };
    detail::wide_amount held = 0, held_weights = 0;
    for (const bounds& one : open_) {
      if (!at_low(one) && !at_high(one)) continue;
      held += at_low(one) ? one.low : one.high;
      held_weights += one.weight;
    }
    // What lows and highs hold, against what they would at the level.
    const detail::wide_amount over = held * level.denominator - held_weights * level.numerator;
    const bool settle_low = over >= 0, settle_high = over <= 0;
    const std::size_t before = open_.size();
    std::erase_if(open_, [&](const bounds& one) {
      const bool low = at_low(one);
      if (low ? !settle_low : !(settle_high && at_high(one))) return false;
      shares[one.claim] = low ? one.low : one.high;
      left -= shares[one.claim];
      return true;
    });
    if (open_.size() != before && over != 0) continue;
    if (open_.empty()) return {};

    std::int64_t handed = 0;
    for (bounds& one : open_) {
      const detail::wide_amount share = detail::wide_amount{one.weight} * level.numerator;
      shares[one.claim] = static_cast<std::int64_t>(share / level.denominator);
      one.remainder = static_cast<std::int64_t>(share % level.denominator);
      handed += shares[one.claim];
    }
    // The remainders add up to a whole number of units, fewer than there are remainders; and a claim that has one is below its high.
    const auto units = open_.begin() + static_cast<std::ptrdiff_t>(left - handed);
    const auto larger = [](const bounds& a, const bounds& b) {
      return a.remainder != b.remainder ? a.remainder > b.remainder : a.claim < b.claim;
    };
    if (units != open_.begin()) std::nth_element(open_.begin(), units - 1, open_.end(), larger);
    std::for_each(open_.begin(), units, [&](const bounds& one) { ++shares[one.claim]; });
    return level;
  }
}

GANGSCHED_INLINE water_level water_filling::divide_checked(std::int64_t total, std::span<const fill_claim> claims,
                                                           std::span<std::int64_t> shares) {
  open_.clear();
  open_.reserve(claims.size());
  detail::wide_amount lows = 0, highs = 0;
  for (std::uint32_t i = 0; i < claims.size(); ++i) {
    open_.push_back({detail::claimed_low(claims[i]), detail::claimed_high(claims[i]), claims[i].weight, i});
    lows += open_.back().low;
    highs += open_.back().high;
    shares[i] = open_.back().high;
  }
  if (highs <= total) return {};
  if (lows > total)  // guarantees are weights of their own then
    for (bounds& one : open_) one = {0, one.low, one.low, one.claim};
  std::erase_if(open_, [&](const bounds& one) {
    const bool settled = one.low == one.high;  // so are those without weight
    if (settled) shares[one.claim] = one.low;
    if (settled) total -= one.low;
    return settled;
  });
  return fill(total, shares);
}

GANGSCHED_INLINE result<water_level> water_filling::divide(std::int64_t total, std::span<const fill_claim> claims,
                                                           std::span<std::int64_t> shares) {
  if (result<void> wrong = check(total, claims, shares.size()); !wrong) return std::move(wrong).error();
  return divide_checked(total, claims, shares);
}

GANGSCHED_INLINE result<void> water_filling::divide(const queue_tree& tree, std::int64_t total,
                                                    std::span<const fill_claim> claims,
                                                    std::span<std::int64_t> shares) {
  if (claims.size() != tree.size())
    return error{errc::malformed, "water filling", "claims",
                 std::to_string(claims.size()) + " for a tree of " + std::to_string(tree.size())};
  if (result<void> wrong = check(total, claims, shares.size()); !wrong) return wrong;
  for (queue_index queue = 0; queue < tree.size(); ++queue)
    if (!tree.is_leaf(queue) && claims[queue].request != 0)
      return error{errc::malformed, "queue " + tree.name(queue), "request",
                   "it has children, whose requests are its own"};
  up_.assign(claims.begin(), claims.end());
  members_.reserve(tree.size());
  member_shares_.reserve(tree.size());
  const std::span<const queue_index> top_down = tree.top_down();
  std::for_each(top_down.rbegin(), top_down.rend(), [&](queue_index queue) {
    if (tree.is_leaf(queue)) return;
    std::int64_t low = 0, high = 0;
    for (const queue_index child : tree.children(queue)) {
      low += detail::claimed_low(up_[child]);
      high += detail::claimed_high(up_[child]);
    }
    up_[queue].request = high;
    up_[queue].guarantee = std::max(up_[queue].guarantee, low);
  });
  const auto divide_level = [&](std::int64_t of, std::span<const queue_index> queues) {
    members_.clear();
    for (const queue_index queue : queues) members_.push_back(up_[queue]);
    member_shares_.assign(queues.size(), 0);
    divide_checked(of, members_, member_shares_);
    for (std::size_t i = 0; i < queues.size(); ++i) shares[queues[i]] = member_shares_[i];
  };
  divide_level(total, tree.roots());
  for (const queue_index queue : top_down)
    if (!tree.is_leaf(queue)) divide_level(shares[queue], tree.children(queue));
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues
