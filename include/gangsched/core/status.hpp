#pragma once
#include <cstdint>

#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The result of a hook. Same codes and meaning as in kube-scheduler's framework.
enum class code : std::uint8_t {
  success = 0,
  error = 1,          ///< the hook itself failed; the pod is retried with error backoff
  unschedulable = 2,  ///< rejected; removing pods may help
  unresolvable = 3,   ///< rejected; removing pods cannot help (UnschedulableAndUnresolvable)
  wait = 4,           ///< permit and placement_feasible only
  skip = 5,           ///< pre_filter / pre_score: nothing to do for this pod; bind: left to the next plugin
  pending = 6,        ///< rejected, waits for an external event; the next event that can help ends the backoff
};

/// A code and a reason: a text and, where the reason is about a named thing, that name ("Insufficient " + cpu). The text has static
/// storage, or is kept by a hook's view (`node_view::say`). Trivially copyable; the two are only concatenated on demand (`explain`). Hooks
/// make them by the functions below, each named after its code.
struct status {
  gangsched::code code = gangsched::code::success;
  symbol detail{};  ///< appended to `reason`
  const char* reason = nullptr;

  static constexpr status success() noexcept { return {}; }
  static constexpr status skip() noexcept { return {gangsched::code::skip, {}, nullptr}; }
  static constexpr status wait(const char* why = nullptr) noexcept { return {gangsched::code::wait, {}, why}; }
  static constexpr status pending(const char* why) noexcept { return {gangsched::code::pending, {}, why}; }
  static constexpr status error(const char* why) noexcept { return {gangsched::code::error, {}, why}; }
  static constexpr status unschedulable(const char* why, symbol about = {}) noexcept {
    return {gangsched::code::unschedulable, about, why};
  }
  static constexpr status unresolvable(const char* why, symbol about = {}) noexcept {
    return {gangsched::code::unresolvable, about, why};
  }

  [[nodiscard]] constexpr bool ok() const noexcept { return code == gangsched::code::success; }
  /// unschedulable, unresolvable or pending
  [[nodiscard]] constexpr bool rejected() const noexcept {
    return code == gangsched::code::unschedulable || code == gangsched::code::unresolvable ||
           code == gangsched::code::pending;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI
