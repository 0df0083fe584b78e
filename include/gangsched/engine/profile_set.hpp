#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The profiles of one scheduler: pods name theirs by `scheduler_name`; pods that name none of them belong to other schedulers.
class GANGSCHED_API profile_set {
 public:
  profile_set(std::vector<kernel_table> tables, model::cluster_state& state);
  /// Lets plugins make their columns, in order; from then on "own" in what a hook reads is those that its plugin asked for.
  void attach(model::cluster_state& state);
  /// What columns there were before.
  [[nodiscard]] const model::own_columns::extent& attached_at() const noexcept { return attached_at_; }

  /// A copy for a fork of the cluster: with plugins of its own, attached as these are, whose hooks are not measured. Without @p evicts
  /// those that make room by evictions are left out.
  [[nodiscard]] profile_set forked(const model::cluster_state& to, bool evicts) const;

  [[nodiscard]] std::span<const kernel_table> all() const noexcept { return tables_; }
  [[nodiscard]] const kernel_table& front() const noexcept { return tables_.front(); }
  /// The profile of a class of pods, or null. O(profiles).
  [[nodiscard]] const kernel_table* find(const pod_class& cls) const noexcept {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == cls.scheduler_name) return &tables_[i];
    }
    return nullptr;
  }

  /// The reason why @p tables cannot be in one scheduler.
  [[nodiscard]] static std::optional<error> difference(std::span<const kernel_table> tables);

 private:
  std::vector<kernel_table> tables_;
  std::vector<symbol> names_;
  model::own_columns::extent attached_at_{};
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/profile_set.cpp"
#endif
