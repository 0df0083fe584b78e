#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/pod_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Why pods were woken, until they are placed or rejected: on behalf of their class, by a change.
class woken_pods {
 public:
  struct wake {
    class_id cls = no_class;
    std::uint64_t position = 0;  ///< of the change in the log
  };

  /// Rows that there is room for.
  [[nodiscard]] std::size_t size() const noexcept { return why_.size(); }
  void resize(std::size_t rows) { why_.resize(rows); }
  void clear(std::size_t rows) {
    why_.assign(rows, {});
    rows_.clear();
  }
  /// `no_class`: it was not woken.
  [[nodiscard]] const wake& operator[](row_t pod) const noexcept { return why_[pod]; }
  void set(row_t pod, const wake& why) {
    if (rows_.size() == rows_.capacity()) {
      drop_forgotten();
      rows_.reserve(std::max<std::size_t>(64, 2 * rows_.size()));
    }
    rows_.push_back(pod);
    why_[pod] = why;
  }
  wake take(row_t pod) noexcept { return std::exchange(why_[pod], {}); }
  /// Calls visit(row, wake), which may change it, for each that was woken, by row. O(woken · log woken).
  template <class Visit>
  void each(const Visit& visit) {
    drop_forgotten();
    for (const row_t pod : rows_) visit(pod, why_[pod]);
  }
  void prefetch(row_t pod) const noexcept {
    if (pod < why_.size()) gangsched::detail::prefetch(&why_[pod]);
  }

 private:
  void drop_forgotten() {
    std::erase_if(rows_, [&](row_t pod) { return why_[pod].cls == no_class; });
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
  }

  std::vector<wake> why_;    ///< by row
  std::vector<row_t> rows_;  ///< at least those that were woken, some several times
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
