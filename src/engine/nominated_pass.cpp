#include "gangsched/engine/nominated_pass.hpp"

#include "gangsched/engine/picker.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE nominated_pass::nominated_pass(picker& asks, model::cluster_state& state, row_t pod, row_t node)
    : asks_(&asks), pod_(pod), node_(node) {
  const auto counts = [&](row_t other) {
    if (other == pod || state.pods.node[other] != no_row) return false;
    return keeps_room_from(state.classes[state.pods.cls[other]], state.classes[state.pods.cls[pod]]);
  };
  for (row_t other = state.nodes.first_nominated[node]; other != no_row; other = state.pods.next_nominated[other]) {
    if (!counts(other)) continue;
    if (!pass_) pass_.emplace(state);
    if (!state.assigned.fits_in_words(node, state.classes[state.pods.cls[other]])) {
      said_ = status::unschedulable("the nominated pods' requests would not fit into 64 bits");
      return;
    }
    state.assigned.put_on_node(other, node);
    state.changed({.kind = change_kind::pod_added,
                   .facets = model::assigned_pods::facets_of(state.classes[state.pods.cls[other]]),
                   .row = other,
                   .after = node});
    asks.follow(pod, other, node, true);
    there_.push_back(other);
  }
}

GANGSCHED_INLINE nominated_pass::~nominated_pass() {
  for (const row_t other : there_) asks_->follow(pod_, other, node_, false);
}

GANGSCHED_INLINE status picker::filter_with_nominated(row_t pod, row_t node, std::uint8_t* by, bool counting) {
  const nominated_pass pass{*this, *state_, pod, node};
  if (!pass) return {};
  std::uint8_t mark = 0;
  const status said = pass.said().ok() ? filter(pod, node, &mark) : pass.said();
  if (by != nullptr) *by = mark;
  if (counting && mark != 0)
    count_reasons(plan_of(state_->pods.cls[pod]), plan_of(state_->pods.cls[pod]).filters[mark - 1u], pod, node, said);
  else if (counting && !said.ok())
    reasons_.add("", reason_text(state_->names, said), 1);
  return said;
}

GANGSCHED_INLINE void picker::withhold(const row_scores& rows, row_t pod, const std::vector<row_t>* among,
                                       picked& result) {
  buffers_.withheld.clear();
  const model::node_table& nodes = state_->nodes;
  if (nodes.first_wanted[0] == no_row) return;
  skip_idle(plan_of(state_->pods.cls[pod]), pod);
  for (row_t row = nodes.first_wanted[0]; row != no_row; row = nodes.next_wanted[row]) {
    if (row >= rows.verdict.size() || rows.verdict[row] != passes) continue;
    if (among != nullptr && !std::binary_search(among->begin(), among->end(), row)) continue;
    std::uint8_t by = 0;
    const status said = filter_with_nominated(pod, row, &by, options_.count_reasons);
    if (said.ok()) continue;
    buffers_.withheld.push_back(row);
    result.kept = true;
    if (by != 0) result.rejectors |= plan_of(state_->pods.cls[pod]).rejector(by);
    if (by == 0 && !said.rejected())
      result.said = said;
    else if (!said.rejected())
      result.said = broken(*plan_of(state_->pods.cls[pod]).filters[by - 1].plugin, said.reason, row);
  }
  std::sort(buffers_.withheld.begin(), buffers_.withheld.end());
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
