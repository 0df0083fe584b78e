#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/pod_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// Pod classes by their canonical key. While a counter is live, pods that match it are in other classes than pods that do not. When a
/// counter becomes live or dead, the epoch moves and every pod is re-keyed on its next access.
class GANGSCHED_API class_table {
 public:
  explicit class_table(undo_log& undo);
  class_table& operator=(const class_table& from);
  ~class_table();

  [[nodiscard]] const pod_class& operator[](class_id id) const noexcept { return *classes_[id]; }
  /// For code that keeps a class longer than the table does.
  [[nodiscard]] std::shared_ptr<const pod_class> share(class_id id) const noexcept { return classes_[id]; }
  /// All class_ids are below this, those of swept classes included.
  [[nodiscard]] class_id size() const noexcept { return static_cast<class_id>(classes_.size()); }
  /// Moves when a sweep frees the class: after that the number may mean another class.
  [[nodiscard]] std::uint32_t generation(class_id id) const noexcept { return generations_[id]; }
  /// The number of classes.
  [[nodiscard]] std::size_t known() const noexcept;
  /// Whether any pod is of the class; the counters that it names are then live.
  [[nodiscard]] bool has_pods(class_id id) const noexcept { return pods_[id] != 0; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_[0]; }
  /// How often it has moved, also in calls that were rolled back: while both are the same no input of classes has changed.
  [[nodiscard]] std::uint64_t epoch_moves() const noexcept { return epoch_moves_; }

  /// The id of the class with @p made.key. A new class takes over @p made, and keeps the part of @p said that can make it again. O(key).
  class_id intern(pod_class&& made, const pod_spec* said = nullptr);
  /// A pod of class @p id was added (or removed). True if it was the first (or the last).
  bool add_pod(class_id id);
  bool remove_pod(class_id id);
  /// An input of classes has changed: every pod is re-keyed on its next access.
  void move_epoch() { epoch_.set(0, epoch_[0] + 1), ++epoch_moves_; }

  /// Whether enough classes were made since the last sweep that another sweep pays.
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }
  /// Frees classes without pods. @pre no transaction is open. O(classes); if only done when crowded, O(1) per new class.
  void sweep();
  /// Independent of the order of classes. @p of: a digest of each class, by number.
  void digest_into(digest& out, const std::vector<std::uint64_t>& of) const;

 private:
  struct impl;
  column<std::uint32_t> pods_;   ///< pods per class
  column<std::uint32_t> epoch_;  ///< row 0
  std::uint64_t epoch_moves_ = 0;
  std::vector<std::shared_ptr<const pod_class>> classes_;  ///< null: swept
  std::vector<std::uint32_t> generations_;
  bool crowded_ = false;
  std::unique_ptr<impl> impl_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/class_table.cpp"
#endif
