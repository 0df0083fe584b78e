#pragma once
#include <string>
#include <string_view>

#include "gangsched/core/status.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Whose hook an error is from, which a status does not say: the last one that was noted. And what hooks may say.
class hook_errors {
 public:
  /// Of a hook that may only accept or reject. @p otherwise: the error that anything else is.
  [[nodiscard]] static status accepts_or_rejects(const status& said, const char* otherwise) noexcept {
    return said.ok() || said.rejected() || said.code == code::error ? said : status::error(otherwise);
  }

  /// What the plugin's hook said. An error that it only passes on stays that of the plugin where it began.
  status note(std::string_view plugin, const status& said) {
    if (said.code != code::error || !whose(said).empty()) return said;
    plugin_ = plugin;
    reason_ = said.reason;
    return said;
  }
  /// The name of the plugin whose error it is; empty for one that no hook returned. Valid until the next is noted.
  [[nodiscard]] std::string_view whose(const status& said) const noexcept {
    return said.code == code::error && said.reason == reason_ ? std::string_view{plugin_} : std::string_view{};
  }
  void clear() noexcept { plugin_.clear(), reason_ = nullptr; }

 private:
  std::string plugin_;
  const char* reason_ = nullptr;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
