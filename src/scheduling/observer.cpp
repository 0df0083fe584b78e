#include "gangsched/scheduling/observer.hpp"

#include <algorithm>
#include <exception>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE bool observed_step::evicts(pod_id who) const noexcept {
  return std::any_of(decisions.begin(), decisions.end(),
                     [&](const decision& one) { return one.kind == decision_kind::evict && one.pod == who; });
}

GANGSCHED_INLINE observer_list::observer_list(std::initializer_list<observer*> all) {
  for (observer* const one : all) {
    if (one != nullptr) all_.push_back(one);
  }
}

GANGSCHED_INLINE std::uint64_t observer_list::now_ns() noexcept {
  for (observer* const one : all_) {
    if (const std::uint64_t now = one->now_ns(); now != 0) return now;
  }
  return 0;
}

GANGSCHED_INLINE void observer_list::called(const observed_call& what) {
  std::exception_ptr first;
  for (observer* const one : all_) {
    try {
      one->called(what);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

GANGSCHED_INLINE void observer_list::hook_ran(const observed_hook& what) noexcept {
  for (observer* const one : all_) one->hook_ran(what);
}

GANGSCHED_INLINE bool observer_list::times_hooks() noexcept {
  bool any = false;
  for (observer* const one : all_) any = one->times_hooks() || any;
  return any;
}

}  // namespace gangsched::inline GANGSCHED_ABI
