#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/group_search.hpp"
#include "gangsched/engine/pre_enqueue_gates.hpp"
#include "gangsched/engine/unschedulable_pods.hpp"
#include "gangsched/scheduling/explanation.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Why a pod is not placed, from its gates to what its group lacks; and why a group is not: in each of its placements, how many members
/// find a node, and what the next one lacks. Keeps the host's messages of failures. Evaluates inside its caller's transaction.
class GANGSCHED_API explainer {
 public:
  explainer(model::cluster_state& state, const entity_view& entities, const admission_checks& admission,
            pre_enqueue_gates& gates, const group_limits& limits, group_parts& parts, group_search& search,
            picker& picks, const unschedulable_pods& rejected) noexcept
      : state_(&state),
        entities_(&entities),
        admission_(&admission),
        gates_(&gates),
        limits_(&limits),
        parts_(&parts),
        search_(&search),
        picks_(&picks),
        rejected_(&rejected) {}

  [[nodiscard]] explanation explain(row_t pod);
  /// Appends the group, after those below it.
  void explain_group(row_t group, std::vector<group_explanation>& out);
  /// Why none of the members @p waiting is tried now, whatever the nodes: gates, disagreement, admission. Empty if they are.
  [[nodiscard]] std::string why_not_tried(row_t group, const std::vector<row_t>& waiting);
  /// The host's message when the pod last failed or was rejected, or nothing.
  void note(row_t pod, std::string_view text);
  /// "" if there was none.
  [[nodiscard]] std::string_view noted(row_t pod) const;
  /// Drops notes of the row's earlier pods.
  void forget_row(row_t pod);

  /// The host's messages, as plain data; and sets those of a new one. Error: malformed, and nothing is changed. O(their size).
  [[nodiscard]] saved_host_words save() const { return {notes_.begin(), notes_.end()}; }
  [[nodiscard]] std::optional<error> restore(const saved_host_words& from);

 private:
  void add_words_of(const plugin_entry& plugin, row_t pod, explanation& why) const;
  [[nodiscard]] explanation rejected(const plugin_entry& plugin, const status& said, const char* word) const;
  [[nodiscard]] std::optional<explanation> why_gated(row_t pod);
  [[nodiscard]] std::string shortage(row_t pod, const std::vector<row_t>& rows, std::string& change,
                                     std::string& plugin);
  // explainer_groups.cpp
  void add_group_words(row_t pod, explanation& why);
  [[nodiscard]] std::string whom_it_waits_for(row_t group);
  [[nodiscard]] std::string labels_of_no_node(row_t group);
  void explain_placements(row_t group, group_explanation& why);
  void count_members(row_t group, const std::vector<row_t>& waiting, const std::vector<row_t>& rows,
                     placement_verdict& verdict, std::string& change);
  [[nodiscard]] std::string role_that_lacks(row_t group, const placement_verdict& verdict) const;
  [[nodiscard]] std::string why_not_together(row_t group, const status& said, const placement_verdict& verdict) const;
  void ask_whether_feasible(const group_part& attempt, const std::vector<row_t>& rows, std::uint64_t& budget,
                            placement_verdict& verdict);

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<const admission_checks> admission_;
  peer<pre_enqueue_gates> gates_;
  peer<const group_limits> limits_;
  peer<group_parts> parts_;
  peer<group_search> search_;
  peer<picker> picks_;
  peer<const unschedulable_pods> rejected_;
  std::map<pod_id, std::string> notes_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/explainer.cpp"
#include "gangsched/src/engine/explainer_groups.cpp"
#endif
