#include "gangsched/engine/waiting_pods.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

/// Why a pod that waits for permit is to be taken back: the engine's own text, which forks point at as well; null if it is none.
GANGSCHED_INLINE const char* text_for_good(std::string_view text) noexcept {
  for (const char* const known : {"rejected by the host", "its group needs more members at once"})
    if (text == known) return known;
  return nullptr;
}

}  // namespace detail

GANGSCHED_INLINE void waiting_pods::hold(entry& one, std::size_t plugin, instant now, instant timeout) {
  constexpr instant longest = std::chrono::minutes{15};
  one.plugins |= std::uint64_t{1} << plugin;
  if (one.deadline.size() <= plugin) one.deadline.resize(plugin + 1, instant::max());
  if (one.deadline[plugin] == instant::max()) one.deadline[plugin] = later_by(now, std::min(timeout, longest));
}

GANGSCHED_INLINE void waiting_pods::add(entry&& one) {
  const row_t pod = one.pod.row;
  if (place_.size() <= pod)
    place_.resize(std::max({pod + std::size_t{1}, std::size_t{state_->pods.rows.room()}, 2 * place_.size()}));
  moved_.emplace_back(pod, place_[pod]);
  all_.push_back(std::move(one));
  place_[pod] = static_cast<std::uint32_t>(all_.size());
}

GANGSCHED_INLINE const waiting_pods::entry* waiting_pods::find(row_t pod) const noexcept {
  if (pod >= place_.size() || place_[pod] == 0 || state_->pods.state[pod] != pod_state::assumed) return nullptr;
  const entry& one = all_[place_[pod] - 1];
  return one.attempt == state_->pods.attempt[pod] ? &one : nullptr;
}

GANGSCHED_INLINE std::vector<row_t> waiting_pods::members_of(row_t group) const {
  std::vector<row_t> members;
  each([&](const entry& one) {
    if (state_->pods.group[one.pod.row] == group) members.push_back(one.pod.row);
  });
  return members;
}

GANGSCHED_INLINE std::size_t waiting_pods::count() const noexcept {
  std::size_t sum = 0;
  each([&](const entry&) { ++sum; });
  return sum;
}

GANGSCHED_INLINE std::optional<instant> waiting_pods::next_deadline() const noexcept {
  std::optional<instant> next;
  each([&](const entry& one) {
    for (std::size_t i = 0; i < one.deadline.size(); ++i) {
      if (((one.plugins >> i) & 1u) != 0) next = std::min(next.value_or(one.deadline[i]), one.deadline[i]);
    }
  });
  return next;
}

GANGSCHED_INLINE void waiting_pods::group_changed(row_t group) {
  if (group != no_row && !all_.empty() && (changed_.empty() || changed_.back() != group)) changed_.push_back(group);
}

GANGSCHED_INLINE void waiting_pods::all_groups_changed() {
  changed_.clear();
  each([&](const entry& one) { group_changed(state_->pods.group[one.pod.row]); });
}

GANGSCHED_INLINE void waiting_pods::copy_entries() {
  before_.clear();
  for (std::size_t i = 0; i < count_before_; ++i) before_.push_back({all_[i].plugins, all_[i].rejected});
  kept_ = true;
}

GANGSCHED_INLINE void waiting_pods::recall() noexcept {
  while (all_.size() > count_before_) all_.pop_back();
  for (std::size_t i = 0; kept_ && i < count_before_; ++i) {
    all_[i].plugins = before_[i].plugins;
    all_[i].rejected = before_[i].rejected;
  }
  for (; !moved_.empty(); moved_.pop_back()) place_[moved_.back().first] = moved_.back().second;
  compact_ = false;
  kept_ = true;
}

GANGSCHED_INLINE void waiting_pods::end_call() noexcept {
  kept_ = true;  // until the next call
  if (!std::exchange(compact_, false)) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const row_t pod = all_[i].pod.row;
    if (!stands(i)) {
      if (place_[pod] == i + 1) place_[pod] = 0;  // the host took it back, as the log is about to say
      continue;
    }
    if (kept != i) all_[kept] = std::move(all_[i]);
    place_[pod] = static_cast<std::uint32_t>(++kept);
  }
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(kept), all_.end());
}

GANGSCHED_INLINE saved_waiting waiting_pods::save() const {
  saved_waiting made;
  each([&](const entry& one) {
    saved_waiting_pod& to = made.all.emplace_back(
        saved_waiting_pod{one.pod, one.attempt, one.score, one.plugins, one.overruled, one.deadline, {}});
    if (one.rejected != nullptr) to.rejected = one.rejected;
  });
  made.changed_groups = changed_;
  return made;
}

GANGSCHED_INLINE std::optional<error> waiting_pods::restore(const saved_waiting& from) {
  constexpr std::uint64_t most_hooks = 64;
  const model::pod_table& pods = state_->pods;
  const auto wrong = [] { return model::damaged("pods that wait for permit"); };
  std::vector<entry> all;
  std::vector<std::uint32_t> places(pods.rows.count());
  for (const saved_waiting_pod& one : from.all) {
    if (!gangsched::detail::names_pod(*state_, one.pod) || pods.state[one.pod.row] != pod_state::assumed ||
        pods.attempt[one.pod.row] != one.attempt || places[one.pod.row] != 0 || one.deadline.size() > most_hooks ||
        (one.plugins != 0 && one.deadline.size() < static_cast<std::size_t>(std::bit_width(one.plugins))))
      return wrong();
    entry made{one.pod, one.attempt, one.score, one.plugins, one.overruled, one.deadline, nullptr};
    if (one.rejected && (made.rejected = detail::text_for_good(*one.rejected)) == nullptr) return wrong();
    all.push_back(std::move(made));
    places[one.pod.row] = static_cast<std::uint32_t>(all.size());
  }
  for (const row_t group : from.changed_groups) {
    if (group >= state_->groups.rows.count()) return wrong();
  }
  changed_ = from.changed_groups;
  all_ = std::move(all);
  place_ = std::move(places);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
