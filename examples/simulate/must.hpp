#pragma once
#include <gangsched/core/result.hpp>

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace simulate {

/// What cannot fail unless the simulator is wrong.
template <class T>
T must(gangsched::result<T> got) {
  if (!got) throw std::logic_error{got.error().message()};
  if constexpr (!std::is_void_v<T>) return *std::move(got);
}

}  // namespace simulate
