#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/class_plan.hpp"
#include "gangsched/engine/row_reasons.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Why each pod's last attempt was rejected: by which plugins, and the reasons if they are counted (`scheduler_options::count_reasons`).
class GANGSCHED_API rejection_notes {
 public:
  struct note {
    pod_id of;
    gangsched::code code = gangsched::code::success;
    std::uint64_t plugins = 0;  ///< of the pod's profile (`plugin_bit`)
    shared_words words = {};    ///< null if they are not counted
  };

  explicit rejection_notes(const model::cluster_state& state) noexcept : state_(&state) {}
  void count_reasons() noexcept { counting_ = true; }

  /// Replaces the pod's note. @p said: success stands for unschedulable. O(1).
  void keep(row_t pod, const status& said, std::uint64_t plugins, shared_words words) {
    if (by_row_.size() <= pod) by_row_.resize(std::max<std::size_t>(std::size_t{pod} + 1, 2 * by_row_.size()));
    const gangsched::code why = said.ok() ? code::unschedulable : said.code;
    by_row_[pod] = {{pod, state_->pods.rows.generation(pod)}, why, plugins, std::move(words)};
  }
  /// One hook's reason, counted once: @p by may be null, which is the engine.
  void keep(row_t pod, const kernel_table& profile, const plugin_entry* by, const status& said) {
    const std::uint64_t plugin = by != nullptr && said.code != code::error ? plugin_bit(profile, *by) : 0;
    keep(pod, said, plugin, word_of(by, said));
  }
  /// The reasons of post_filter hooks that did not help a pod whose rejection is noted already; no effect where reasons are not counted.
  void add_post_filter(row_t pod, const std::string& said) {
    if (said.empty() || by_row_[pod].words == nullptr) return;
    rejection_words words = *by_row_[pod].words;
    words.post_filter = said;
    by_row_[pod].words = std::make_shared<const rejection_words>(std::move(words));
  }
  [[nodiscard]] shared_words word_of(const plugin_entry* by, const status& said) const {
    if (!counting_) return nullptr;
    rejection_words words;
    if (said.reason != nullptr)
      words.reasons.push_back({by != nullptr ? by->name : "", reason_text(state_->names, said), 0});
    return std::make_shared<const rejection_words>(std::move(words));
  }
  /// Null if its last attempt found a node, or there was none.
  [[nodiscard]] const note* find(pod_id pod) const noexcept {
    return pod.row < by_row_.size() && by_row_[pod.row].of == pod ? &by_row_[pod.row] : nullptr;
  }
  /// The pod's last attempt found a node.
  void drop(row_t pod) noexcept {
    if (pod < by_row_.size() && by_row_[pod].of) by_row_[pod] = {};
  }
  void clear() noexcept { by_row_.clear(); }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_notes save() const;
  [[nodiscard]] std::optional<error> restore(const saved_notes& from);

 private:
  peer<const model::cluster_state> state_;
  bool counting_ = false;
  std::vector<note> by_row_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/rejection_notes.cpp"
#endif
