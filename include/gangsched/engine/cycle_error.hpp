#pragma once
#include <string>
#include <string_view>

#include "gangsched/engine/queue.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The contract error that a cycle ends with, of a hook that failed or threw.
class GANGSCHED_API cycle_error {
 public:
  explicit cycle_error(const model::cluster_state& state) noexcept : state_(&state) {}

  void clear() noexcept { reason_ = nullptr; }
  /// @p reason: valid until the next cycle begins; null for a hook that gave none. @p plugin: whose hook returned it, if one did.
  void set(entity whose, const char* reason, std::string_view plugin = {});
  /// What a hook threw, as an error that is valid until the next one.
  status thrown(const char* what);
  /// Null if there is none.
  [[nodiscard]] const char* reason() const noexcept { return reason_; }
  /// The pod or group whose cycle it was.
  [[nodiscard]] const std::string& object() const noexcept { return object_; }

 private:
  const model::cluster_state* state_;
  const char* reason_ = nullptr;
  std::string object_;
  std::string thrown_, named_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/cycle_error.cpp"
#endif
