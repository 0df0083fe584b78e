#pragma once
#include <memory>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A plugin's cache, which can be rebuilt at any time. It is made on first use; a copy of the plugin starts with an empty one. T may be
/// incomplete where the plugin is declared, so that only the plugin's source file needs its definition.
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

  /// Makes T from @p from at the first call, which allocates. Valid until this object is moved from or assigned to.
  template <class... From>
  [[nodiscard]] T& made(const From&... from) const {
    if (!what_) what_ = std::make_shared<T>(from...);
    return *what_;
  }
  /// Null until T is made.
  [[nodiscard]] const T* get() const noexcept { return what_.get(); }
  [[nodiscard]] T& operator*() const { return made(); }
  [[nodiscard]] T* operator->() const { return &made(); }

 private:
  mutable std::shared_ptr<T> what_ = {};  // not shared: a shared_ptr can destroy T where T is incomplete
};

}  // namespace gangsched::inline GANGSCHED_ABI
