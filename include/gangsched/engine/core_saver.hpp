#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/restored_cluster.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

/// What the engine's parts hold, to plain data and back.
namespace gangsched::inline GANGSCHED_ABI::engine {

class GANGSCHED_API core_saver {
 public:
  /// @p classes: what saves the cluster afterwards. Both are kept elsewhere.
  core_saver(const core& of, model::cluster_saver& classes) noexcept : of_(&of), classes_(&classes) {}

  /// Whether it is a scheduler of the cluster.
  [[nodiscard]] bool stands_on(const model::cluster_state& state) const noexcept { return of_->state_ == &state; }
  /// O(what it holds).
  [[nodiscard]] saved_scheduler save() &&;
  /// From where on it has not read the log.
  [[nodiscard]] std::uint64_t unread() const noexcept;

 private:
  void save_queue();
  void save_lines();
  void save_rest_of_queue();
  void save_known_objects();
  [[nodiscard]] std::uint32_t number_of(const std::shared_ptr<const past_node>& was);
  [[nodiscard]] std::uint32_t number_of(const std::shared_ptr<const past_pod>& was);
  void save_reservations();
  void save_notes();

  const core* of_;
  model::cluster_saver* classes_;
  std::map<const void*, std::uint32_t> past_;  ///< numbers of objects as they were, from 1
  saved_scheduler made_;
};

/// Of a new core on a cluster that has been made again. What the data says is checked as far as tables could be left by it.
class GANGSCHED_API core_restorer {
 public:
  /// A new one that has only told its plugins to make their columns.
  [[nodiscard]] static std::unique_ptr<core> attached(cluster& on, std::vector<kernel_table> profiles,
                                                      const scheduler_options& options);
  /// @p classes: by their numbers in the data.
  core_restorer(core& to, const saved_scheduler& from, std::span<const class_id> classes) noexcept
      : to_(&to), from_(&from), classes_(classes) {}

  /// False if the data is not what a scheduler was saved as. O(what it holds).
  [[nodiscard]] bool restore();

 private:
  [[nodiscard]] bool restore_queue();
  [[nodiscard]] bool restore_lines();
  [[nodiscard]] bool restore_woken(std::span<const class_id> lines);
  [[nodiscard]] bool restore_groups();
  [[nodiscard]] bool restore_rest_of_queue();
  [[nodiscard]] bool restore_reservations();
  [[nodiscard]] bool restore_notes();
  [[nodiscard]] bool restore_rest();
  [[nodiscard]] bool restore_past();
  [[nodiscard]] std::optional<object_event> restored(const saved_event& one) const;
  [[nodiscard]] const model::cluster_state& state() const noexcept { return *to_->state_; }
  [[nodiscard]] bool has_pod(row_t row) const noexcept { return row < state().pods.rows.count(); }
  [[nodiscard]] bool has_group(row_t row) const noexcept { return row < state().groups.rows.count(); }
  /// One that was there once.
  template <class Id>
  [[nodiscard]] static bool fits(const slots& rows, Id id) noexcept {
    return id.row < rows.count() && id.generation <= rows.generation(id.row);
  }

  core* to_;
  const saved_scheduler* from_;
  std::span<const class_id> classes_;
  std::vector<std::shared_ptr<const past_node>> past_nodes_;
  std::vector<std::shared_ptr<const past_pod>> past_pods_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/restored_scheduler.cpp"
#include "gangsched/src/engine/saved_scheduler.cpp"
#endif
