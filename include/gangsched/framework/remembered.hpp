#pragma once
#include <memory>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What a plugin remembers between calls and can make anew at any time: made when it is first asked for; a copy of the plugin begins
/// without it. T may be incomplete where the plugin is declared, so that what it remembers is known to its body only.
template <class T>
class remembered {
 public:
  remembered() = default;
  remembered(const remembered& /*other*/) noexcept {}
  remembered(remembered&&) noexcept = default;
  remembered& operator=(const remembered& /*other*/) noexcept {
    what_.reset();
    return *this;
  }
  remembered& operator=(remembered&&) noexcept = default;
  ~remembered() = default;

  /// Made of @p from, the first time, which allocates. Valid until it is moved from or assigned to.
  template <class... From>
  [[nodiscard]] T& made(const From&... from) const {
    if (!what_) what_ = std::make_shared<T>(from...);
    return *what_;
  }
  [[nodiscard]] T& operator*() const { return made(); }
  [[nodiscard]] T* operator->() const { return &made(); }

 private:
  mutable std::shared_ptr<T> what_ = {};  // never shared: it knows how to end a T where that is incomplete
};

}  // namespace gangsched::inline GANGSCHED_ABI
