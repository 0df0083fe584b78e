#include "gangsched/model/resource_kinds.hpp"

#include <algorithm>

#include "gangsched/model/node_table.hpp"
#include "gangsched/model/queue_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE resource_kinds::resource_kinds(interner& names, node_table& nodes, queue_table& queues)
    : names_(names), nodes_(nodes), queues_(queues) {
  for (const std::string_view name :
       {"cpu", "memory", "ephemeral-storage", "pods", "cpu (scored)", "memory (scored)"}) {
    by_number_.push_back(names_.keep(name));
  }
}

GANGSCHED_INLINE resource_kinds& resource_kinds::operator=(const resource_kinds& from) {
  by_number_ = from.by_number_;
  free_ = from.free_;
  free_.reserve(by_number_.size());
  made_ = from.made_;
  return *this;
}

GANGSCHED_INLINE std::optional<resource_kind> resource_kinds::find(std::string_view name) const {
  const std::optional<symbol> wanted = names_.find(name);
  if (!wanted) return std::nullopt;
  const auto found = std::find(by_number_.begin(), by_number_.end(), *wanted);
  if (found == by_number_.end()) return std::nullopt;
  return static_cast<resource_kind>(found - by_number_.begin());
}

GANGSCHED_INLINE resource_kind resource_kinds::number(std::string_view name) {
  if (const std::optional<resource_kind> known = find(name)) return *known;
  const symbol named = names_.intern(name);
  ++made_;
  if (!free_.empty()) {  // its amounts are 0 everywhere
    const resource_kind kind = free_.back();
    free_.pop_back();
    by_number_[kind] = named;
    return kind;
  }
  nodes_.allocatable.grow(nodes_.rows.count(), count() + 1);
  nodes_.used.grow(nodes_.rows.count(), count() + 1);
  queues_.widen(count() + 1);
  free_.reserve(by_number_.size() + 1);  // so that a sweep needs no memory
  by_number_.push_back(named);
  return count() - 1;
}

GANGSCHED_INLINE resource_kinds::swept resource_kinds::sweep(const std::vector<bool>& used) noexcept {
  swept done;
  for (resource_kind kind = count(); kind-- > 0;) {
    if (used[kind]) {
      names_.mark(by_number_[kind]);
      ++done.live;
    } else if (by_number_[kind] != free_number) {
      by_number_[kind] = free_number;
      free_.push_back(kind);
      done.freed = true;
    }
  }
  made_ = 0;
  return done;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
