#pragma once
#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A pointer from one part of an object to another part. Assigning a part copies its data but keeps its own `peer` pointers. To copy the
/// whole object, construct a new one, whose parts point at each other; then assign the original's part to each part.
template <class T>
class peer {
 public:
  peer(T* to) noexcept : to_(to) {}  // NOLINT(google-explicit-constructor): it stands for the pointer
  peer(const peer&) = delete;
  peer& operator=(const peer&) noexcept { return *this; }
  [[nodiscard]] T* operator->() const noexcept { return to_; }
  operator T*() const noexcept { return to_; }  // NOLINT(google-explicit-constructor)

 private:
  T* to_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
