#pragma once
#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A pointer from one part of a whole to another. To assign a part to another copies what it holds, and leaves whom that one works with: a
/// copy of the whole is made as any other, of parts that know each other, and then each takes what the original's holds.
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
