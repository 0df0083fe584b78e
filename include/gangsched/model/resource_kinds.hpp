#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/model/pod_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct node_table;
struct queue_table;

/// The resources in use, by number: those of `namespace kinds` first, the others in order of first use. A number that a sweep freed is
/// reused. Writes to nodes and queues only that they have a column for every kind.
class GANGSCHED_API resource_kinds {
 public:
  resource_kinds(interner& names, node_table& nodes, queue_table& queues);
  resource_kinds(const resource_kinds&) = delete;
  resource_kinds& operator=(const resource_kinds& from);

  /// The kind of resource @p name, created on first use (`number`) or only if it is known. O(kinds).
  resource_kind number(std::string_view name);
  [[nodiscard]] std::optional<resource_kind> find(std::string_view name) const;
  /// "" for one that is free.
  [[nodiscard]] std::string_view name(resource_kind kind) const {
    return by_number_[kind] == free_number ? std::string_view{} : names_.text(by_number_[kind]);
  }
  /// The names as symbols, by kind.
  [[nodiscard]] const symbol* symbols() const noexcept { return by_number_.data(); }
  /// All kinds are below this.
  [[nodiscard]] resource_kind count() const noexcept { return static_cast<resource_kind>(by_number_.size()); }

  /// The number of kinds made since the last sweep.
  [[nodiscard]] std::size_t made() const noexcept { return made_; }
  struct swept {
    std::size_t live = 0;  ///< how many there are now
    bool freed = false;    ///< whether any was freed
  };
  /// Frees those that are not in @p used, by number, and marks the names of the others. @pre no object has amounts of what is freed
  swept sweep(const std::vector<bool>& used) noexcept;

 private:
  static constexpr symbol free_number{0xffffffffu};
  interner& names_;
  node_table& nodes_;
  queue_table& queues_;
  std::vector<symbol> by_number_;
  std::vector<resource_kind> free_;
  std::size_t made_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/resource_kinds.cpp"
#endif
