#include "gangsched/queues/kai/fair_share.hpp"

#include <algorithm>
#include <cmath>

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

GANGSCHED_INLINE void fair_share_division::reserve(std::size_t claims) {
  lost_.reserve(claims);
  part_.reserve(claims);
  hungry_.reserve(claims);
}

GANGSCHED_INLINE double fair_share_division::divide(std::span<claim> claims, double total, double k) {
  double left = total;
  for (claim& one : claims) {
    one.fair_share = std::min(one.deserved == unlimited ? total : one.deserved, one.requestable);
    left -= one.fair_share;
  }
  return left > 0 ? divide_over_quota(claims, left, k) : 0;
}

GANGSCHED_INLINE double fair_share_division::divide_over_quota(std::span<claim> claims, double amount, double k) {
  reserve(claims.size());
  lost_.assign(claims.size(), 0);
  part_.resize(claims.size());
  const auto each_priority = [&](auto give) {
    for (std::size_t first = 0, end = 0; first < claims.size() && amount > 0; first = end) {
      while (end < claims.size() && claims[end].priority == claims[first].priority) ++end;
      amount = give(first, end);
    }
  };
  each_priority([&](std::size_t first, std::size_t end) { return fill(claims, first, end, amount, k); });
  each_priority([&](std::size_t first, std::size_t end) { return give_units(claims, first, end, amount); });
  return amount;
}

/// The rounds among the claims of one priority. @return what is left of @p left.
GANGSCHED_INLINE double fair_share_division::fill(std::span<claim> claims, std::size_t first, std::size_t end,
                                                  double left, double k) {
  hungry_.clear();
  for (std::size_t i = first; i < end; ++i)
    if (claims[i].weight > 0 && claims[i].requestable > claims[i].fair_share)
      hungry_.push_back(static_cast<std::uint32_t>(i));
  bool again = true;
  while (again && left > 0 && !hungry_.empty()) {
    double weights = 0, parts = 0;
    for (const std::uint32_t i : hungry_) weights += claims[i].weight;
    for (const std::uint32_t i : hungry_) {
      const double normal = claims[i].weight / weights;
      part_[i] = std::max(0.0, normal + k * (normal - claims[i].usage));
      parts += part_[i];
    }
    if (parts == 0) break;
    again = false;
    const double round = left;
    std::size_t still = 0;
    for (const std::uint32_t i : hungry_) {
      claim& one = claims[i];
      const double fair = round * (part_[i] / parts), need = one.requestable - one.fair_share;
      double given = need;
      if (left == 0) {
        given = 0;
      } else if (need <= fair) {
        lost_[i] = 0;
        again = again || need < fair;
      } else {
        given = std::max(0.0, std::floor(fair));
        if (fair > given) lost_[i] = fair - given;
      }
      one.fair_share += given;
      left -= given;
      if (one.requestable > one.fair_share) hungry_[still++] = i;
    }
    hungry_.resize(still);
  }
  return left;
}

/// What rounding left, to the claims of one priority. @return what is left of @p left.
GANGSCHED_INLINE double fair_share_division::give_units(std::span<claim> claims, std::size_t first, std::size_t end,
                                                        double left) {
  hungry_.clear();
  for (std::size_t i = first; i < end; ++i)
    if (lost_[i] > 0) hungry_.push_back(static_cast<std::uint32_t>(i));
  std::sort(hungry_.begin(), hungry_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return lost_[a] != lost_[b] ? lost_[a] > lost_[b] : a < b; });
  for (const std::uint32_t i : hungry_) {
    if (left <= 0) break;
    const double unit = std::min(1.0, left);
    claims[i].fair_share += unit;
    left -= unit;
  }
  return left;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
