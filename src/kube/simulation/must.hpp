#pragma once
#include "gangsched/core/result.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What cannot be, unless the simulator is wrong.
struct broken_contract : std::logic_error {
  using std::logic_error::logic_error;
};
template <class T>
T must(result<T> got) {
  if (!got) throw broken_contract{got.error().message()};
  if constexpr (!std::is_void_v<T>) return *std::move(got);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
