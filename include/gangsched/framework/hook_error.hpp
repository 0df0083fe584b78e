#pragma once
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gangsched/framework/hooks.hpp"
#include "gangsched/framework/placements.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Thrown when a hook threw an exception: the attempt ends with a contract error of the cycle (`cycle::error`). No call of the library
/// throws it; hooks that run other hooks (post_filter, group_preempt) may see it, and must let it pass.
class GANGSCHED_API hook_error : public std::exception {
 public:
  hook_error(std::string_view plugin, std::string_view what);
  [[nodiscard]] const char* what() const noexcept override;

 private:
  std::shared_ptr<const std::string> text_;  // copies do not throw
};

namespace detail {

/// "NAME threw an exception", in static storage.
template <class P>
struct threw_text {
  static constexpr std::string_view name = P::name, rest = " threw an exception";
  static constexpr std::array<char, name.size() + rest.size() + 1> text = [] {
    std::array<char, name.size() + rest.size() + 1> made{};
    std::size_t at = 0;
    for (const char c : name) made[at++] = c;
    for (const char c : rest) made[at++] = c;
    return made;
  }();
};

/// The result for a hook that threw: an error, if the type can be one; for a hint `queue`, as the change may help; else throws hook_error.
template <class P, class Said>
Said say_for(const char* what) {
  if constexpr (std::is_same_v<Said, status>)
    return status::error(threw_text<P>::text.data());
  else if constexpr (std::is_same_v<Said, permit_verdict>)
    return permit_verdict{status::error(threw_text<P>::text.data())};
  else if constexpr (std::is_same_v<Said, victim_plan>)
    return victim_plan{.verdict = status::error(threw_text<P>::text.data())};
  else if constexpr (std::is_same_v<Said, hint>)
    return hint::queue;
  else
    throw hook_error{std::string_view{P::name}, what};
}

/// The result for a hook that threw what is being handled. std::bad_alloc and hook_error pass through.
template <class P, class Said>
[[gnu::noinline, gnu::cold]] Said say_for_thrown() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const hook_error&) {
    throw;
  } catch (const std::exception& thrown) {
    return say_for<P, Said>(thrown.what());
  } catch (...) {
    return say_for<P, Said>("not a std::exception");
  }
}

/// Calls a hook of P and turns its exceptions into results. (What handles them is elsewhere, so that this is small where it is inlined.)
template <class P, class Hook>
auto heard(Hook&& hook) -> std::invoke_result_t<Hook&> {
  try {
    return hook();
  } catch (...) {
    return say_for_thrown<P, std::invoke_result_t<Hook&>>();
  }
}

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/hook_error.cpp"
#endif
