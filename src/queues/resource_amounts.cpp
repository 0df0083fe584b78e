#include "gangsched/queues/resource_amounts.hpp"

#include <string>

namespace gangsched::inline GANGSCHED_ABI::queues {

GANGSCHED_INLINE result<void> check_amounts(std::span<const std::int64_t> amounts, std::size_t resources,
                                            std::string_view object, std::string_view field, std::int64_t largest) {
  if (!amounts.empty() && amounts.size() != resources)
    return error{errc::malformed, std::string{object}, std::string{field},
                 "has " + std::to_string(amounts.size()) + " amounts for " + std::to_string(resources) + " resources"};
  for (std::size_t resource = 0; resource < amounts.size(); ++resource)
    if (is_named(amounts[resource]) && (amounts[resource] < 0 || amounts[resource] > largest))
      return error{errc::out_of_range, std::string{object}, std::string{field} + "[" + std::to_string(resource) + "]",
                   std::to_string(amounts[resource]) + " is not in 0 … " + std::to_string(largest)};
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues
