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
#include "gangsched/scheduling/explanation.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What a status says, as users read it.
[[nodiscard]] inline std::string reason_text(const interner& names, const status& said) {
  std::string text = said.reason != nullptr ? said.reason : "";
  return text += names.text(said.detail);
}

/// What rejected somebody, in words that stay: members of a group share them.
struct rejection_words {
  std::vector<counted_reason> reasons;
  std::size_t nodes = 0;   ///< that were asked
  std::string group = {};  ///< of a group's attempt: its own reason
  pod_id member = {};      ///< and the member whose the others are
  std::size_t placed = 0;  ///< members that had a node when it found none
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

/// The reasons of the rows that a class's cached filters reject, as they said them last, and how many rows share them. What no row says
/// any more is gone.
class row_reasons {
 public:
  /// A filter's mark, and its reasons, sorted.
  using words = std::pair<std::uint8_t, std::vector<std::string>>;

  void clear() noexcept {
    of_.clear();
    rows_.clear();
  }
  /// O(reasons · log different ones).
  void set(row_t row, words said) {
    drop(row);
    if (of_.size() <= row) of_.resize(std::size_t{row} + 1);
    auto& shared = *rows_.try_emplace(std::move(said), 0).first;
    ++shared.second;
    of_[row] = &shared;
  }
  void drop(row_t row) {
    if (row >= of_.size() || of_[row] == nullptr) return;
    if (auto* const old = std::exchange(of_[row], nullptr); --old->second == 0) rows_.erase(rows_.find(old->first));
  }
  /// Null if nothing is known of it.
  [[nodiscard]] const words* find(row_t row) const noexcept {
    return row < of_.size() && of_[row] != nullptr ? &of_[row]->first : nullptr;
  }
  /// Calls visit(words, rows).
  template <class Visit>
  void each(const Visit& visit) const {
    for (const auto& [said, rows] : rows_) visit(said, rows);
  }

 private:
  using shared_rows = std::map<words, std::size_t>;
  shared_rows rows_;
  std::vector<shared_rows::value_type*> of_;  ///< by row
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
