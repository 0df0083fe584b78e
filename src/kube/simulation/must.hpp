#pragma once
#include "gangsched/core/result.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What cannot fail unless the simulator is wrong.
template <class T>
T must(result<T> got) {
  if (!got) throw std::logic_error{got.error().message()};
  if constexpr (!std::is_void_v<T>) return *std::move(got);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
