#pragma once
#include <deque>
#include <span>
#include <vector>

#include "gangsched/core/text_pool.hpp"
#include "gangsched/engine/rejection_notes.hpp"
#include "gangsched/framework/hooks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The decisions of the scheduler's calls, and the data that they point at. The decisions of a cycle, or of a permit, are valid until the
/// next one begins; so is each answer to a failure, which is a list of its own.
class GANGSCHED_API decision_list {
 public:
  explicit decision_list(const model::cluster_state& state) : state_(&state), rejections_(state) {}

  /// Appends a decision about a pod, with its data from the tables: node, attempt, group, rank, cookies, devices. O(devices).
  decision& add(decision_kind kind, row_t pod);
  /// The same for a nomination to a node that there is.
  decision& nominate(row_t pod, node_id node);
  /// Whether the list says that the pod is evicted. O(1).
  [[nodiscard]] bool evicts(pod_id pod) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return current_->size(); }
  [[nodiscard]] decision& operator[](std::size_t at) noexcept { return (*current_)[at]; }
  /// Removes the last ones, down to @p size.
  void shrink(std::size_t size) { current_->resize(size); }

  /// Before a call that decides anew: drops everything.
  void clear() noexcept;
  /// What is added until `end_answer` is the answer to a failure.
  void begin_answer();
  std::span<const decision> end_answer() noexcept;
  /// For hosts that pop: they make no call that decides anew.
  void drop_answers() noexcept;
  /// Of the last cycle or permit.
  [[nodiscard]] std::span<const decision> of_cycle() const noexcept { return cycle_; }

  /// Reasons that hooks make at run time while decisions are made; dropped with them.
  [[nodiscard]] text_pool& texts() noexcept { return texts_; }
  /// Why each rejected pod was rejected. Outlives the decisions.
  [[nodiscard]] rejection_notes& rejections() noexcept { return rejections_; }
  [[nodiscard]] const rejection_notes& rejections() const noexcept { return rejections_; }

  // For a call that may be abandoned: `recall` drops the answers that were begun since `remember`.
  void remember() noexcept {
    answers_before_ = answers_.empty() ? 0 : answers_.size();
    grants_before_ = grants_used_;
  }
  void recall() noexcept;

 private:
  const model::cluster_state* state_;
  std::vector<decision> cycle_;
  std::deque<std::vector<decision>> answers_;
  std::vector<decision>* current_ = &cycle_;
  /// By row of a pod: where its eviction stood that was added last; the list itself says whether it still does.
  std::vector<std::uint32_t> eviction_at_;
  std::size_t answers_before_ = 0;
  /// what decisions point at: the first `grants_used_`; the others are kept for their memory
  std::vector<std::vector<device_grant>> grants_;
  std::size_t grants_used_ = 0, grants_before_ = 0;
  std::size_t grants_of_cycle_ = 0;  ///< if there are answers: theirs are the others
  text_pool texts_;
  rejection_notes rejections_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/decision_list.cpp"
#endif
