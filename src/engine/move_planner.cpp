#include "gangsched/engine/move_planner.hpp"

#include <algorithm>

#include "gangsched/engine/supposed_moves.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What can be moved, node by node.
struct move_planner::movable_pods {
  struct guest {
    row_t pod, home;
    std::int64_t cost;
  };
  std::vector<std::pair<std::int64_t, row_t>> nodes;  ///< by what clearing them costs
  std::vector<guest> guests;                          ///< by home
};

GANGSCHED_INLINE move_planner::movable_pods move_planner::find_movable(row_t group, const move_options& options) const {
  movable_pods made;
  for (row_t node = 0; node < state_->nodes.rows.count(); ++node) {
    if (!state_->nodes.alive(node)) continue;
    std::int64_t sum = 0;
    bool any = false;
    for (row_t pod = state_->nodes.first_pod[node]; pod != no_row; pod = state_->pods.next_on_node[pod]) {
      const bool runs = state_->pods.state[pod] == pod_state::bound && !state_->pods.terminating[pod] &&
                        state_->pods.group[pod] != group;
      const std::int64_t cost = runs ? options.cost(pod_info{*state_, pod}) : -1;
      if (cost < 0) continue;
      made.guests.push_back({pod, node, cost});
      sum += cost, any = true;
    }
    if (any) made.nodes.emplace_back(sum, node);
  }
  std::sort(made.nodes.begin(), made.nodes.end());
  return made;
}

/// Back where it was, with the devices that it had, if that is still possible.
GANGSCHED_INLINE bool move_planner::goes_home(row_t pod, row_t home) {
  if (!state_->devices.claims_still_free(pod, home)) return false;
  const class_plan& plan = picks_->plan_of(state_->class_of(pod));
  if (!picks_->begin_cycle(plan, pod).ok()) return false;
  picks_->skip_idle(plan, pod);
  if (!picks_->filter(pod, home).ok()) return false;
  suppose_back(*state_, pod, home);
  return true;
}

/// Tries it with all movable pods away from the nodes @p cleared, which are in ascending order. The members were placed as if nobody were
/// there; an attempt after the moves finds these pods at home or where they went, and so the members are placed once more.
GANGSCHED_INLINE std::optional<move_plan> move_planner::try_moves(row_t group, const movable_pods& all,
                                                                  std::span<const row_t> cleared,
                                                                  const move_options& options) {
  transaction trial{*state_};
  std::vector<movable_pods::guest> away;
  for (const movable_pods::guest& one : all.guests) {
    if (!std::binary_search(cleared.begin(), cleared.end(), one.home)) continue;
    suppose_gone(*state_, one.pod);
    away.push_back(one);
  }
  group_placement found = search_->place(parts_->of(group, true), false);
  std::optional<move_plan> made;
  if (found.verdict.ok()) {
    made.emplace();
    made->placed = found.members.assignments();
    // The dear ones stay first.
    std::stable_sort(away.begin(), away.end(),
                     [](const movable_pods::guest& a, const movable_pods::guest& b) { return a.cost > b.cost; });
    std::erase_if(away, [&](const movable_pods::guest& one) { return goes_home(one.pod, one.home); });
    if (away.size() > options.most_moves) made.reset();
    for (const movable_pods::guest& one : away) {
      if (!made) break;
      state_->devices.drop_claim(one.pod);
      const picked other = picks_->pick(one.pod);
      if (status said; other.node == no_row ||
                       !state_->assigned.fits_in_words(other.node, state_->classes[state_->pods.cls[one.pod]]) ||
                       !reserved_->assume(one.pod, other.node, said)) {
        made.reset();
        break;
      }
      pod_move& move = made->moves.emplace_back();
      move.pod = {one.pod, state_->pods.rows.generation(one.pod)};
      move.from = {one.home, state_->nodes.rows.generation(one.home)};
      move.to = {other.node, state_->nodes.rows.generation(other.node)};
      if (const device_claim* claim = state_->pods.claim[one.pod]; claim != nullptr) {
        move.devices.assign(claim->grants.begin(), claim->grants.end());
      }
      made->cost += one.cost;
    }
  }
  if (made && !cleared.empty()) {
    found.members.undo(0);
    found = search_->place(parts_->of(group, true));
    made->placed = found.members.assignments();
    if (!found.verdict.ok()) made.reset();
  }
  found.members.discard();
  trial.roll_back();
  if (made)
    std::sort(made->moves.begin(), made->moves.end(),
              [](const pod_move& a, const pod_move& b) { return a.pod < b.pod; });
  return made;
}

GANGSCHED_INLINE std::optional<move_plan> move_planner::plan(row_t group, const move_options& options) {
  const picker::position stood = picks_->where();
  const movable_pods all = find_movable(group, options);
  const auto attempt = [&](std::span<const std::pair<std::int64_t, row_t>> nodes) {
    std::vector<row_t> cleared;
    for (const auto& [cost, node] : nodes) cleared.push_back(node);
    std::sort(cleared.begin(), cleared.end());
    std::optional<move_plan> made = try_moves(group, all, cleared, options);
    picks_->go_back(stood);
    return made;
  };
  const std::span<const std::pair<std::int64_t, row_t>> nodes{all.nodes};
  std::optional<move_plan> best = attempt({});
  for (std::size_t i = 0; !best && i < std::min(nodes.size(), options.nodes_tried); ++i)
    best = attempt(nodes.subspan(i, 1));
  if (best) return best;
  // The cheapest ones together: twice as many until it fits, then as few of them as will do.
  std::size_t few = 1, enough = 1;
  while (!best && enough < nodes.size()) {
    few = enough;
    enough = std::min(2 * enough, nodes.size());
    best = attempt(nodes.first(enough));
  }
  while (best && enough - few > 1) {
    const std::size_t middle = few + (enough - few) / 2;
    std::optional<move_plan> smaller = attempt(nodes.first(middle));
    if (!smaller) {
      few = middle;
      continue;
    }
    enough = middle;
    if (smaller->cost <= best->cost) best = std::move(smaller);
  }
  return best;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
