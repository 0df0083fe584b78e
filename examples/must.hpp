#pragma once
#include <gangsched/core/result.hpp>

#include <cstdlib>
#include <iostream>
#include <type_traits>
#include <utility>

/// The value, or the end of the program with what the library says is wrong.
template <class T>
T must(gangsched::result<T> result) {
  if (!result) {
    std::cerr << result.error().message() << '\n';
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}
