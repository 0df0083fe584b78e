#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// Records the old values of numbers, so that a failed attempt can be undone. The numbers must not move until the journal is empty.
class journal {
 public:
  void set(std::int32_t& slot, std::int32_t value) {
    if (slot == value) return;
    undo_.push_back({&slot, slot});
    slot = value;
  }
  void add(std::int32_t& slot, std::int32_t delta) { set(slot, slot + delta); }

  [[nodiscard]] std::size_t mark() const noexcept { return undo_.size(); }
  /// Undoes everything since @p mark. O(changes).
  void roll_back(std::size_t mark = 0) noexcept {
    for (; undo_.size() > mark; undo_.pop_back()) *undo_.back().slot = undo_.back().before;
  }
  void keep() noexcept { undo_.clear(); }

 private:
  struct change {
    std::int32_t* slot;
    std::int32_t before;
  };
  std::vector<change> undo_;
};

/// Rolls back in its destructor unless `keep` was called.
class attempt {
 public:
  explicit attempt(journal& log) noexcept : log_{&log} {}
  attempt(const attempt&) = delete;
  attempt& operator=(const attempt&) = delete;
  ~attempt() { log_->roll_back(); }
  void keep() noexcept { log_->keep(); }

 private:
  journal* log_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
