#include "gangsched/engine/reservation_pass.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "gangsched/core/is_among.hpp"
#include "gangsched/core/percent.hpp"
#include "gangsched/core/saturating_add.hpp"
#include "gangsched/engine/picker.hpp"
#include "gangsched/engine/supposed_moves.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE reservation_pass::reservation_pass(picker* asks, model::cluster_state& state, row_t pod,
                                                    std::vector<row_t> gone)
    : asks_(asks),
      state_(&state),
      pod_(pod),
      node_(state.pods.node[gone.front()]),
      before_(state.reserved.aside()),
      gone_(std::move(gone)),
      pass_(state) {
  for (const row_t one : gone_) {
    suppose_gone(state, one);
    if (asks_ != nullptr) asks_->follow(pod_, one, node_, false);
  }
  state.reserved.set_aside(true);
}

GANGSCHED_INLINE reservation_pass::~reservation_pass() {
  state_->reserved.set_aside(before_);
  for (std::size_t i = gone_.size(); asks_ != nullptr && i-- > 0;) asks_->follow(pod_, gone_[i], node_, true);
}

namespace detail {

/// Whether the reservation runs and has something left.
[[nodiscard]] GANGSCHED_INLINE bool holds(const model::cluster_state& state, row_t reservation) noexcept {
  return state.pods.state[reservation] == pod_state::bound && !state.pods.terminating[reservation] &&
         !state.reserved.spent(reservation);
}

/// Whether the class requests any of what the reservation restricts or, if it restricts nothing, holds.
[[nodiscard]] GANGSCHED_INLINE bool shares(const pod_class& reservation, const pod_class& cls) {
  const std::vector<resource_kind>& restricted = reservation.reserves->restricted;
  const auto asks = [&](resource_kind kind) { return cls.request(kind) != 0; };
  if (!restricted.empty()) return std::any_of(restricted.begin(), restricted.end(), asks);
  return std::any_of(reservation.requests.begin(), reservation.requests.end(),
                     [&](const amount& one) { return asks(one.kind); });
}

/// Whether what the class requests is left there, of what is restricted; and, if it need not be in a reservation, whether it shares any
/// of it.
[[nodiscard]] GANGSCHED_INLINE bool has_for(const model::cluster_state& state, row_t reservation,
                                            const pod_class& cls) {
  const pod_class& its = state.classes[state.pods.cls[reservation]];
  return (cls.reservation_affinity != nullptr || shares(its, cls)) &&
         std::all_of(its.reserves->restricted.begin(), its.reserves->restricted.end(), [&](resource_kind kind) {
           return cls.request(kind) == 0 || cls.request(kind) <= state.reserved.left(reservation, kind);
         });
}

}  // namespace detail

GANGSCHED_INLINE std::int64_t score_reservation(const model::cluster_state& state, row_t reservation,
                                                const pod_class& cls) {
  const std::vector<amount>& held = state.classes[state.pods.cls[reservation]].requests;
  std::int64_t sum = 0, count = 0;
  for (const amount& one : held) {
    const std::int64_t full = saturating_add(state.reserved.drawn(reservation, one.kind), cls.request(one.kind));
    if (full <= one.value) sum += percent(full, one.value);
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

GANGSCHED_INLINE std::vector<row_t> usable_reservations(const model::cluster_state& state, class_id of, row_t node,
                                                        const std::vector<row_t>* within) {
  const pod_class& cls = state.classes[of];
  const model::pod_table& pods = state.pods;
  struct candidate {
    std::int64_t order, score;
    std::uint64_t arrival;
    row_t pod;
    [[nodiscard]] auto rank() const noexcept { return std::tuple{order, -score, arrival}; }
  };
  std::vector<candidate> found;
  for (const row_t set : cls.owned) {
    state.reserved.each_in(set, [&](row_t one) {
      const row_t there = pods.node[one];
      if (there == no_row || (node != no_row && there != node)) return;
      if (within != nullptr && !std::binary_search(within->begin(), within->end(), there)) return;
      if (!detail::holds(state, one) || !state.reserved.lets(state, one, cls, there, false) ||
          !detail::has_for(state, one, cls))
        return;
      const std::int64_t order = state.classes[pods.cls[one]].reserves->spec.order;
      found.push_back({order == 0 ? std::numeric_limits<std::int64_t>::max() : order,
                       score_reservation(state, one, cls), pods.arrival[one], one});
    });
  }
  std::sort(found.begin(), found.end(), [](const candidate& a, const candidate& b) { return a.rank() < b.rank(); });
  std::vector<row_t> made;
  made.reserve(found.size());
  for (const candidate& one : found) made.push_back(one.pod);
  return made;
}

GANGSCHED_INLINE std::vector<row_t> reservations_to_pass_over(const model::cluster_state& state, row_t node,
                                                              const pod_class& cls) {
  std::vector<row_t> found;
  const bool asks = any(model::assigned_pods::facets_of(cls) & reads::devices);
  for (row_t pod = state.nodes.first_pod[node]; pod != no_row; pod = state.pods.next_on_node[pod])
    if (state.reserved.row_of(pod) != no_row && !state.reserved.spent(pod) &&
        !(asks && state.pods.claim[pod] != nullptr))
      found.push_back(pod);
  return found;
}

namespace detail {

/// Of @p among, all of which are on nodes. @p failed, if it is there, gets what a hook says that failed.
[[nodiscard]] GANGSCHED_INLINE row_t first_fitting(picker& asks, model::cluster_state& state, row_t pod,
                                                   const std::vector<row_t>& among, status* failed = nullptr) {
  for (const row_t one : among) {
    const row_t node = state.pods.node[one];
    const reservation_pass pass{&asks, state, pod, {one}};
    status said = asks.filter(pod, node);
    if (said.ok()) said = asks.filter_with_nominated(pod, node);
    if (said.ok()) return one;
    if (failed != nullptr && said.code == code::error) *failed = said;
  }
  return no_row;
}

inline constexpr const char* none_matches = "node(s) no reservations match reservation affinity";
inline constexpr const char* none_is_of_its_size = "Reservation(s) is not exact matched";
inline constexpr const char* none_has_room = "node(s) no reservation(s) to meet the requirements";

}  // namespace detail

GANGSCHED_INLINE status no_reservation(const model::cluster_state& state, const pod_class& cls, row_t node) {
  bool any = false;  // that would do, but for its size
  for (const row_t set : cls.owned) {
    bool matches = false;
    state.reserved.each_in(set, [&](row_t one) {
      const row_t there = state.pods.node[one];
      if (matches || there == no_row || (node != no_row && there != node) || !detail::holds(state, one)) return;
      if (!state.reserved.admits(state, one, cls, there, false)) return;
      any = true;
      matches = state.reserved.lets(state, one, cls, there, false);
    });
    if (matches) return status::unschedulable(detail::none_has_room);
  }
  return status::unresolvable(any ? detail::none_is_of_its_size : detail::none_matches);
}

namespace detail {

/// Whether pods of the class may have one of its own.
[[nodiscard]] GANGSCHED_INLINE bool draws(const model::cluster_state& state, class_id cls) noexcept {
  return !state.reserved.aside() && !state.classes[cls].ignores_reservations && state.classes[cls].reserves == nullptr;
}

}  // namespace detail

GANGSCHED_INLINE row_t fitting_reservation(picker& asks, model::cluster_state& state, row_t pod, row_t node) {
  const class_id cls = state.class_of(pod);
  if (!detail::draws(state, cls)) return no_row;
  const std::vector<row_t> among = usable_reservations(state, cls, node, nullptr);
  const class_plan& plan = asks.plan_of(cls);
  if (among.empty() || !plan.rejected.ok() || !asks.begin_cycle(plan, pod).ok()) return no_row;
  return detail::first_fitting(asks, state, pod, among);
}

GANGSCHED_INLINE status find_reservation(picker& asks, model::cluster_state& state, row_t pod, row_t node,
                                         row_t& found) {
  found = no_row;
  const class_id cls = state.class_of(pod);
  if (!detail::draws(state, cls)) return {};
  const std::vector<row_t> among = usable_reservations(state, cls, node, nullptr);
  if (among.empty())
    return state.classes[cls].reservation_affinity == nullptr ? status{}
                                                              : no_reservation(state, state.classes[cls], node);
  const class_plan& plan = asks.plan_of(cls);
  if (!plan.rejected.ok()) return plan.rejected;
  if (const status said = asks.begin_cycle(plan, pod); !said.ok()) return said;
  status said;
  found = detail::first_fitting(asks, state, pod, among, &said);
  if (found != no_row || !said.ok()) return found != no_row ? status{} : said;
  if (state.classes[cls].reservation_affinity != nullptr) return no_reservation(state, state.classes[cls], node);
  const without_reservations plainly{state};
  said = asks.filter(pod, node);
  return said.ok() ? asks.filter_with_nominated(pod, node) : said;
}

GANGSCHED_INLINE std::vector<row_t> nodes_by_reservation(picker& asks, model::cluster_state& state, row_t pod) {
  std::vector<row_t> found;
  const class_id cls = state.class_of(pod);
  if (!look_into_reservations(state, cls)) return found;
  for (const row_t one : usable_reservations(state, cls, no_row, nullptr)) {
    const row_t node = state.pods.node[one];
    const auto at = std::lower_bound(found.begin(), found.end(), node);
    if (at != found.end() && *at == node) continue;
    if (fitting_reservation(asks, state, pod, node) != no_row) found.insert(at, node);
  }
  return found;
}

GANGSCHED_INLINE std::optional<std::vector<row_t>> pods_to_allocate_around(picker& asks, model::cluster_state& state,
                                                                           row_t reservation, row_t node) {
  const class_id cls = state.class_of(reservation);
  const class_plan& plan = asks.plan_of(cls);
  if (!plan.rejected.ok() || !asks.begin_cycle(plan, reservation).ok()) return std::nullopt;
  const bool required = state.classes[cls].reserves->spec.pre_allocation == pre_allocation::required;
  const auto fits = [&] {
    return asks.filter(reservation, node).ok() && asks.filter_with_nominated(reservation, node).ok();
  };
  {
    const without_reservations plainly{state};
    if (!required && fits()) return std::vector<row_t>{};
  }
  const auto fits_without = [&](std::vector<row_t> pods) {
    const reservation_pass pass{&asks, state, reservation, std::move(pods)};
    return fits();
  };
  struct candidate {
    std::int64_t score;
    std::uint64_t arrival;
    row_t pod;
  };
  std::vector<candidate> found;
  const row_t set = state.reserved.set_of(reservation);
  for (row_t pod = state.nodes.first_pod[node]; pod != no_row; pod = state.pods.next_on_node[pod]) {
    const pod_class& its = state.classes[state.class_of(pod)];
    if (state.pods.state[pod] != pod_state::bound || state.pods.terminating[pod] || state.reserved.involves(pod))
      continue;
    if (!is_among(set, its.owned) || !detail::shares(state.classes[cls], its)) continue;
    if (!state.reserved.lets(state, reservation, its, node, true)) continue;
    found.push_back({score_reservation(state, reservation, its), state.pods.arrival[pod], pod});
  }
  std::sort(found.begin(), found.end(), [](const candidate& a, const candidate& b) {
    return a.score != b.score ? a.score > b.score : a.arrival < b.arrival;
  });
  // Of what is restricted they may have no more than it will hold, together.
  const std::vector<resource_kind>& restricted = state.classes[cls].reserves->restricted;
  std::vector<std::int64_t> left;
  for (const resource_kind kind : restricted) left.push_back(state.classes[cls].request(kind));
  const auto takes = [&](row_t pod) {
    const pod_class& its = state.classes[state.class_of(pod)];
    for (std::size_t i = 0; i < left.size(); ++i)
      if (its.request(restricted[i]) > left[i]) return false;
    for (std::size_t i = 0; i < left.size(); ++i) left[i] -= its.request(restricted[i]);
    return true;
  };
  std::vector<row_t> gone;
  bool enough = false;
  for (std::size_t i = 0; i < found.size() && !enough; ++i)
    if (takes(found[i].pod)) gone.push_back(found[i].pod), enough = fits_without(gone);
  if (!enough) return std::nullopt;
  for (std::size_t i = gone.size(); i-- > 0 && gone.size() > 1;) {
    std::vector<row_t> less = gone;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits_without(less)) gone = std::move(less);
  }
  return gone;
}

namespace detail {

[[nodiscard]] GANGSCHED_INLINE picked pick_around_pods(picker& asks, model::cluster_state& state, row_t reservation,
                                                       const std::vector<row_t>* within) {
  picked found;
  if (state.classes[state.class_of(reservation)].reserves->spec.pre_allocation != pre_allocation::required) {
    const without_reservations plainly{state};
    found = asks.pick(reservation, within);
    if (found.node != no_row || !found.said.ok()) return found;
  }
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (row_t node = 0; node < state.nodes.rows.count(); ++node) {
    if (!state.nodes.alive(node) || state.nodes.first_pod[node] == no_row) continue;
    if (within != nullptr && !std::binary_search(within->begin(), within->end(), node)) continue;
    const auto around = pods_to_allocate_around(asks, state, reservation, node);
    if (around && around->size() < fewest) fewest = around->size(), found.node = node;
  }
  if (found.node == no_row && found.rejectors == 0) found.said = status::unschedulable(no_pods_to_allocate_around);
  return found;
}

}  // namespace detail

GANGSCHED_INLINE picked pick_with_reservations(picker& asks, model::cluster_state& state, row_t pod,
                                               const std::vector<row_t>* within) {
  const class_id cls = state.class_of(pod);
  const std::shared_ptr<const pod_class> of = state.classes.share(cls);
  if (of->reserves != nullptr) return detail::pick_around_pods(asks, state, pod, within);
  const bool ignores = of->ignores_reservations;
  const auto begun = [&] {  // (a trial may have made another plan)
    const class_plan& plan = asks.plan_of(cls);
    return plan.rejected.ok() && asks.begin_cycle(plan, pod).ok();
  };
  if (!ignores && begun()) {
    picked found;
    const std::vector<row_t> among = usable_reservations(state, cls, no_row, within);
    const row_t from = detail::first_fitting(asks, state, pod, among, &found.said);
    if (from != no_row) {
      found.said = {};
      found.node = state.pods.node[from];
      return found;
    }
    if (!found.said.ok()) return found;
    if (of->reservation_affinity != nullptr) {
      found.said = no_reservation(state, *of, no_row);
      return found;
    }
  }
  picked found;
  {
    const without_reservations plainly{state};
    found = asks.pick(pod, within);
  }
  if (!ignores || found.node != no_row || !found.said.ok() || !begun()) return found;
  std::vector<row_t> nodes;
  state.reserved.each([&](row_t one) {
    if (state.pods.node[one] != no_row) nodes.push_back(state.pods.node[one]);
  });
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const row_t node : nodes) {
    if (within != nullptr && !std::binary_search(within->begin(), within->end(), node)) continue;
    if (!asks.filter(pod, node).ok() || !asks.filter_with_nominated(pod, node).ok()) continue;
    found = {};
    found.node = node;
    break;
  }
  return found;
}

GANGSCHED_INLINE status filter_with_reservations(picker& asks, model::cluster_state& state, row_t pod, row_t node,
                                                 std::uint8_t* by) {
  const class_id cls = state.class_of(pod);
  const std::shared_ptr<const pod_class> of = state.classes.share(cls);
  if (of->reserves != nullptr) {
    if (pods_to_allocate_around(asks, state, pod, node)) return {};
  } else if (!of->ignores_reservations) {
    for (const row_t one : usable_reservations(state, cls, node, nullptr)) {
      const reservation_pass pass{&asks, state, pod, {one}};
      if (asks.filter(pod, node).ok()) return {};
    }
    if (of->reservation_affinity != nullptr) {
      if (by != nullptr) *by = 0;
      return no_reservation(state, *of, node);
    }
  } else if (std::vector<row_t> all = reservations_to_pass_over(state, node, *of); !all.empty()) {
    const reservation_pass pass{&asks, state, pod, std::move(all)};
    return asks.filter(pod, node, by);
  }
  const without_reservations plainly{state};
  return asks.filter(pod, node, by);
}

GANGSCHED_INLINE bool passes_with_reservations(picker& asks, model::cluster_state& state, class_id cls, row_t node) {
  const std::shared_ptr<const pod_class> of = state.classes.share(cls);
  if (of->reserves != nullptr) return true;  // its attempt will say
  if (!of->ignores_reservations) {
    for (const row_t one : usable_reservations(state, cls, node, nullptr)) {
      const reservation_pass pass{nullptr, state, no_row, {one}};
      if (asks.passes_locally(cls, node)) return true;
    }
    if (of->reservation_affinity != nullptr) return false;
  } else if (std::vector<row_t> all = reservations_to_pass_over(state, node, *of); !all.empty()) {
    const reservation_pass pass{nullptr, state, no_row, std::move(all)};
    return asks.passes_locally(cls, node);
  }
  const without_reservations plainly{state};
  return asks.passes_locally(cls, node);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
