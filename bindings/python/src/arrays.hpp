#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace bindings {

namespace nb = nanobind;

/// An array of NumPy's that looks into memory of @p owner, which it keeps alive.
template <class T, class... Shape>
nb::ndarray<nb::numpy, T, Shape...> view_of(const std::vector<T>& data, std::initializer_list<std::size_t> shape,
                                            nb::handle owner) {
  return {const_cast<T*>(data.data()), shape, owner};
}

/// An array of NumPy's that owns its numbers.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(std::vector<T> data) {
  auto* const kept = new std::vector<T>(std::move(data));
  const nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return {kept->data(), {kept->size()}, owner};
}

}  // namespace bindings
