#pragma once
#include <cstddef>

/// The global operator new of this program, which can be told to fail.
namespace gangsched::testing {

/// While it lives, the n-th allocation (from 1) fails: that one alone, or every one from there on. What is allocated for an exception in
/// flight is none of operator new's business.
class failing_allocation {
 public:
  enum class how { once, from_then_on };
  explicit failing_allocation(long nth, how when = how::from_then_on) noexcept;
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;
  ~failing_allocation() { stop(); }
  /// Allocations succeed again. Whether one failed until now.
  bool stop() noexcept;
};

/// Allocations since the program began.
[[nodiscard]] std::size_t allocations() noexcept;

}  // namespace gangsched::testing
