#pragma once
#include <map>
#include <set>
#include <utility>

#include "gangsched/core/instant.hpp"
#include "gangsched/engine/sorted_entities.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// For waiting entities, the time from which it is too late to start, each at most once; and which of them have been reported. Times only,
/// no reasons.
class late_starts {
 public:
  [[nodiscard]] bool empty() const noexcept { return order_.empty(); }
  /// When it is too late for the first entity, and which that is; not if empty. O(1).
  [[nodiscard]] instant when() const noexcept { return order_.begin()->first; }
  [[nodiscard]] entity who() const noexcept {
    const auto& [row, group] = order_.begin()->second;
    return {row, group};
  }
  /// O(log n).
  void set(entity e, instant when) {
    const key its{e.row, e.group};
    const auto found = when_.find(its);
    if (found != when_.end() && found->second == when) return;
    erase(e);
    const auto at = order_.emplace(when, its).first;
    try {
      when_.emplace(its, when);
    } catch (...) {
      order_.erase(at);
      throw;
    }
  }
  /// It has been reported: it has no time to check any more. O(log n).
  void set_told(entity e) {
    erase(e);
    when_.emplace(key{e.row, e.group}, told);
  }
  [[nodiscard]] bool is_told(entity e) const {
    const auto found = when_.find(key{e.row, e.group});
    return found != when_.end() && found->second == told;
  }
  /// O(log n).
  void erase(entity e) {
    const auto found = when_.find(key{e.row, e.group});
    if (found == when_.end()) return;
    order_.erase({found->second, found->first});
    when_.erase(found);
  }
  void clear() noexcept { when_.clear(), order_.clear(); }

 private:
  using key = std::pair<row_t, bool>;
  static constexpr instant told = instant::max();  // (entities that are never too late are not here)
  std::map<key, instant> when_;
  std::set<std::pair<instant, key>> order_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
