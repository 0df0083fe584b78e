#include "gangsched/engine/nominated_pass.hpp"

#include <algorithm>

#include "gangsched/core/saturating_add.hpp"
#include "gangsched/engine/picker.hpp"
#include "gangsched/engine/supposed_moves.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// Whether @p other, which is nominated, keeps room from @p pod at all.
[[nodiscard]] inline bool keeps_its_room(const model::cluster_state& state, row_t other, row_t pod) noexcept {
  const model::pod_table& pods = state.pods;
  if (other == pod || pods.node[other] != no_row) return false;
  if (!keeps_room_from(state.classes[pods.cls[other]], state.classes[pods.cls[pod]])) return false;
  if (pods.times.reserved_from(other) == model::pod_times::never) return true;
  if (pods.times.reserved_from(other) == model::pod_times::unknown_yet || pods.terminating[other]) return false;
  const row_t group = pods.group[pod], its = pods.group[other];
  return group == no_row || its == no_row || state.groups.root(group) != state.groups.root(its);
}

}  // namespace detail

GANGSCHED_INLINE std::optional<instant> nominated_pass::next_time(const model::cluster_state& state, row_t pod,
                                                                  row_t node, instant now, instant time) {
  if (state.pods.times.empty()) return std::nullopt;
  const instant run = state.pods.record[pod]->details->expected_run_time;
  const instant end = run == instant{0} ? model::pod_times::never : later_by(now, run);
  std::optional<instant> next;
  for (row_t other = state.nodes.first_nominated[node]; other != no_row; other = state.pods.next_nominated[other]) {
    const instant from = state.pods.times.reserved_from(other);
    const bool matters = from > time && from < end && (!next || from < *next);
    if (matters && detail::keeps_its_room(state, other, pod)) next = from;
  }
  return next;
}

namespace detail {

/// Whether @p other, which is nominated and keeps its room, will be on the node @p at that time, as expected @p now.
[[nodiscard]] inline bool will_be_there(const model::pod_table& pods, row_t other, instant now, instant at) noexcept {
  const instant from = pods.times.reserved_from(other);
  if (from == model::pod_times::never) return true;
  const instant run = pods.record[other]->details->expected_run_time;
  return from <= at && (run == instant{0} || later_by(std::max(from, now), run) > at);
}

}  // namespace detail

GANGSCHED_INLINE bool nominated_pass::too_full(const model::cluster_state& state, row_t pod, row_t node, instant now,
                                               instant at) {
  const model::pod_table& pods = state.pods;
  const auto amount_of = [&](row_t one, resource_kind kind) {
    return kind == kinds::pods ? 1 : state.classes[pods.cls[one]].request(kind);
  };
  const auto short_of = [&](resource_kind kind) {
    std::int64_t reserved = 0, ended = 0;
    bool any = false;
    for (row_t other = state.nodes.first_nominated[node]; other != no_row; other = pods.next_nominated[other]) {
      if (!detail::keeps_its_room(state, other, pod) || !detail::will_be_there(pods, other, now, at)) continue;
      any = any || pods.times.reserved_from(other) != model::pod_times::never;
      reserved = saturating_add(reserved, amount_of(other, kind));
    }
    if (!any) return false;
    for (row_t other = state.nodes.first_pod[node]; other != no_row; other = pods.next_on_node[other])
      if (leaves_by(pods, other, at)) ended += amount_of(other, kind);
    const std::int64_t used = state.nodes.used.at(node, kind) - ended;
    return saturating_add(saturating_add(used, reserved), amount_of(pod, kind)) >
           state.nodes.allocatable.at(node, kind);
  };
  const std::vector<amount>& asked = state.classes[pods.cls[pod]].requests;
  return short_of(kinds::pods) || std::any_of(asked.begin(), asked.end(),
                                              [&](const amount& one) { return one.value > 0 && short_of(one.kind); });
}

GANGSCHED_INLINE nominated_pass::nominated_pass(picker& asks, model::cluster_state& state, row_t pod, row_t node,
                                                instant now, instant at)
    : asks_(&asks), pod_(pod), node_(node) {
  const model::pod_table& pods = state.pods;
  if (!pods.times.empty() && too_full(state, pod, node, now, at)) {
    pass_.emplace(state);
    said_ = status::unschedulable("the node is reserved for others from a time on at which the pod is expected to run");
    return;
  }
  bool reserved = false;
  for (row_t other = state.nodes.first_nominated[node]; other != no_row; other = pods.next_nominated[other]) {
    if (!detail::keeps_its_room(state, other, pod) || !detail::will_be_there(pods, other, now, at)) continue;
    if (!pass_) pass_.emplace(state);
    reserved = reserved || pods.times.reserved_from(other) != model::pod_times::never;
    put(state, other);
    if (!said_.ok()) return;
  }
  if (!reserved) return;
  for (row_t other = state.nodes.first_pod[node]; other != no_row;) {
    const row_t next = pods.next_on_node[other];
    if (pods.expected_end(other) <= at) {
      suppose_gone(state, other);
      asks.follow(pod, other, node, false);
      gone_.push_back(other);
    }
    other = next;
  }
}

GANGSCHED_INLINE void nominated_pass::put(model::cluster_state& state, row_t other) {
  if (!state.assigned.fits_in_words(node_, state.classes[state.pods.cls[other]])) {
    said_ = status::unschedulable("the nominated pods' requests would not fit into 64 bits");
    return;
  }
  state.assigned.put_on_node(other, node_);
  state.changed({.kind = change_kind::pod_added,
                 .facets = model::assigned_pods::facets_of(state.classes[state.pods.cls[other]]),
                 .row = other,
                 .after = node_});
  asks_->follow(pod_, other, node_, true);
  there_.push_back(other);
}

GANGSCHED_INLINE nominated_pass::~nominated_pass() {
  for (const row_t other : gone_) asks_->follow(pod_, other, node_, true);
  for (const row_t other : there_) asks_->follow(pod_, other, node_, false);
}

GANGSCHED_INLINE status picker::filter_with_nominated(row_t pod, row_t node, std::uint8_t* by, bool counting) {
  if (state_->nodes.first_nominated[node] == no_row) return {};
  const instant begin = supposed_time_.value_or(*now_);
  for (std::optional<instant> at = begin; at; at = nominated_pass::next_time(*state_, pod, node, begin, *at)) {
    const nominated_pass pass{*this, *state_, pod, node, *now_, *at};
    if (!pass) continue;
    std::uint8_t mark = 0;
    const status said = pass.said().ok() ? filter(pod, node, &mark) : pass.said();
    if (by != nullptr) *by = mark;
    if (counting && mark != 0)
      count_reasons(plan_of(state_->pods.cls[pod]), plan_of(state_->pods.cls[pod]).filters[mark - 1u], pod, node, said);
    else if (counting && !said.ok())
      reasons_.add("", reason_text(state_->names, said), 1);
    if (!said.ok()) return said;
  }
  return {};
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
    const class_plan& plan = plan_of(state_->pods.cls[pod]);
    if (by != 0) result.rejectors |= plan.rejector(by);
    if (by == 0 && said.rejected()) {  // for lack of room: whatever may bring some
      for (std::size_t mark = 1; mark <= plan.filters.size(); ++mark)
        result.rejectors |= plan.rejector(static_cast<std::uint8_t>(mark));
    }
    if (by == 0 && !said.rejected())
      result.said = said;
    else if (!said.rejected())
      result.said = broken(*plan_of(state_->pods.cls[pod]).filters[by - 1].plugin, said.reason, row);
  }
  std::sort(buffers_.withheld.begin(), buffers_.withheld.end());
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
