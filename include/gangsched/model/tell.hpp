#pragma once
#include <utility>

#include "gangsched/model/call_listener.hpp"
#include "gangsched/model/state.hpp"

/// How calls of a host are reported to the listener.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// During its life nothing is reported: calls made inside the reported call are part of it.
class untold {
 public:
  explicit untold(model::cluster_state& state) noexcept
      : state_(&state), listener_(std::exchange(state.listener, nullptr)) {}
  untold(const untold&) = delete;
  untold& operator=(const untold&) = delete;
  ~untold() { state_->listener = listener_; }

 private:
  model::cluster_state* state_;
  call_listener* listener_;
};

/// Makes the call by @p again, and reports it with its result.
template <class Again, class... Arguments>
auto tell(model::cluster_state& state, told what, const void* on, Again&& again, const Arguments&... arguments) {
  const void* const all[]{static_cast<const void*>(&arguments)..., nullptr};
  try {
    auto answer = [&] {
      const untold quiet{state};
      return again();
    }();
    state.listener->called({what, on, all, &answer, &state});
    return answer;
  } catch (...) {  // for want of memory: nothing was decided, and the scheduler will look at everything anew
    state.listener->called({what, on, all, nullptr, &state});
    throw;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

/// First in the body of a call: if there is a listener, @p again makes the call while nothing is reported. Calls by hooks are not reported.
#define GANGSCHED_TELL_OF(state, what, on, again, ...)                                  \
  if ((state).listener != nullptr && !(state).in_hook) [[unlikely]] {                   \
    return ::gangsched::detail::tell((state), ::gangsched::told::what, on,              \
                                     [&] { return again; } __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                     \
  static_assert(true)
#define GANGSCHED_TELL(what, again, ...) GANGSCHED_TELL_OF(*state_, what, nullptr, again, __VA_ARGS__)
