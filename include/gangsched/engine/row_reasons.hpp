#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/core/status.hpp"
#include "gangsched/framework/row_reasons.hpp"
#include "gangsched/scheduling/explanation.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The text of a status, as users read it.
[[nodiscard]] inline std::string reason_text(const interner& names, const status& said) {
  std::string text = said.reason != nullptr ? said.reason : "";
  return text += names.text(said.detail);
}

/// The reasons of a rejection, in texts that stay valid: members of a group share them.
struct rejection_words {
  std::vector<counted_reason> reasons;
  std::size_t nodes = 0;         ///< that were asked
  std::string group = {};        ///< of a group's attempt: its own reason
  pod_id member = {};            ///< and the member whose the others are
  std::size_t placed = 0;        ///< members that had a node when it found none
  std::string post_filter = {};  ///< the reasons of post_filter hooks that did not help
};
using shared_words = std::shared_ptr<const rejection_words>;

/// Reasons with how many nodes gave each, while one pick goes on.
class reason_counts {
 public:
  void clear() noexcept { counts_.clear(); }
  void add(std::string_view plugin, std::string text, std::size_t nodes) {
    counts_[{std::string{plugin}, std::move(text)}] += nodes;
  }
  /// By text, then by plugin.
  [[nodiscard]] std::vector<counted_reason> all() const {
    std::vector<counted_reason> made;
    for (const auto& [what, nodes] : counts_) made.push_back({what.first, what.second, nodes});
    std::sort(made.begin(), made.end(), [](const counted_reason& a, const counted_reason& b) {
      return std::tie(a.text, a.plugin) < std::tie(b.text, b.plugin);
    });
    return made;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> counts_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
