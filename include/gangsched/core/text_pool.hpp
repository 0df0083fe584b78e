#pragma once
#include <new>
#include <set>
#include <string>
#include <string_view>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Texts that hooks build for their statuses. Each distinct text is stored once, however often it is used, until all are cleared.
class text_pool {
 public:
  /// A copy of @p text, valid until `clear`; if memory runs out, a fixed text that says so. O(length · log texts).
  [[nodiscard]] const char* keep(std::string_view text) noexcept {
    try {
      auto at = texts_.lower_bound(text);
      if (at == texts_.end() || *at != text) at = texts_.emplace_hint(at, text);
      return at->c_str();
    } catch (const std::bad_alloc&) {
      return "(no memory for the reason)";
    }
  }
  void clear() noexcept { texts_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }

 private:
  std::set<std::string, std::less<>> texts_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
