#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A list that is replaced as a whole, for records of which there are many: the size of a pointer, which is null for an empty list. Reads
/// are those of std::vector; making one is O(elements).
template <class T>
  requires(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::size_t))
class tight_list {
 public:
  using value_type = T;
  using const_iterator = const T*;

  tight_list() noexcept = default;
  explicit tight_list(std::span<const T> all) : block_(made_of(all)) {}
  tight_list(const std::vector<T>& all) : tight_list(std::span<const T>{all}) {}
  tight_list(const tight_list& from) : tight_list(std::span<const T>{from.begin(), from.size()}) {}
  tight_list(tight_list&& from) noexcept : block_(std::exchange(from.block_, nullptr)) {}
  tight_list& operator=(tight_list from) noexcept {
    std::swap(block_, from.block_);
    return *this;
  }
  ~tight_list() { ::operator delete(block_); }

  [[nodiscard]] std::size_t size() const noexcept { return block_ == nullptr ? 0 : block_->size; }
  [[nodiscard]] bool empty() const noexcept { return block_ == nullptr; }
  [[nodiscard]] const T* data() const noexcept {
    return block_ == nullptr ? nullptr : std::launder(reinterpret_cast<const T*>(block_ + 1));
  }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size(); }
  [[nodiscard]] const T& operator[](std::size_t at) const noexcept { return data()[at]; }
  friend bool operator==(const tight_list& a, const tight_list& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  struct head {
    std::size_t size;  // never 0; so many elements follow
  };
  [[nodiscard]] static head* made_of(std::span<const T> all) {
    if (all.empty()) return nullptr;
    head* const made = ::new (::operator new(sizeof(head) + all.size_bytes())) head{all.size()};
    std::uninitialized_copy(all.begin(), all.end(), reinterpret_cast<T*>(made + 1));
    return made;
  }
  head* block_ = nullptr;
};

}  // namespace gangsched::inline GANGSCHED_ABI
