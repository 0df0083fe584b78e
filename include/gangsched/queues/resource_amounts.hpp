#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues {

/// Stands for an amount that is not given, where that differs from 0. Amounts are vectors by resource, each resource in the host's units.
inline constexpr std::int64_t unnamed = std::numeric_limits<std::int64_t>::min();

/// The largest allowed amount, also of the sum of everything guaranteed, requested and used of a resource: two such sums fit into 64 bits.
inline constexpr std::int64_t largest_amount = std::int64_t{1} << 61;

/// The number of resources that a verdict can name: a bit each.
inline constexpr std::size_t most_resources = 64;

[[nodiscard]] constexpr bool is_named(std::int64_t amount) noexcept { return amount != unnamed; }
/// 0 if it is not given.
[[nodiscard]] constexpr std::int64_t amount_or_zero(std::int64_t amount) noexcept {
  return is_named(amount) ? amount : 0;
}

/// Whether @p amounts is a valid vector of @p resources amounts; an empty one names none. Errors carry @p object and @p field: `malformed`
/// (another length), `out_of_range` (negative, or above @p largest).
GANGSCHED_API result<void> check_amounts(std::span<const std::int64_t> amounts, std::size_t resources,
                                         std::string_view object, std::string_view field,
                                         std::int64_t largest = largest_amount);

/// The same for a pod's request, which has to be given. @p name makes the text for the object, if there is an error.
template <class Name>
result<void> check_request(std::span<const std::int64_t> request, std::size_t resources, Name name) {
  bool right = request.size() == resources;
  for (const std::int64_t amount : request)
    right = right && (!is_named(amount) || (amount >= 0 && amount <= largest_amount));
  if (right) return {};
  if (!request.empty()) return check_amounts(request, resources, name(), "request");
  return error{errc::malformed, name(), "request", "has no amounts"};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/resource_amounts.cpp"
#endif
