#include "gangsched/saved_state.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/restored_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<saved_state> saved_state::of(const gangsched::cluster& cluster,
                                                     const gangsched::scheduler* with) {
  const model::cluster_state& state = detail::inside(cluster);
  if (auto refused = detail::refuse_busy(state)) return std::move(*refused);
  model::cluster_saver saver{state};
  saved_state made;
  std::uint64_t unread = state.log.end();
  if (with != nullptr) {
    const engine::core& its = with->inside();
    if (&its.state() != &state)
      return error{errc::wrong_state, "scheduler", "cluster", "is a scheduler of another cluster"};
    made.scheduler = its.save(saver);
    unread = std::min(made.scheduler->events.position, made.scheduler->queue.unschedulable.groups_read);
  }
  made.cluster = std::move(saver).save(unread);
  return made;
}

GANGSCHED_INLINE std::span<const kernel_table> saved_state::profiles_of(const gangsched::scheduler& one) {
  return one.inside().profiles();
}

GANGSCHED_INLINE result<restored_state> saved_state::restore(std::vector<kernel_table> profiles,
                                                             const device_matcher& matcher,
                                                             std::uint64_t most_words) const {
  if (cluster.matches_devices != (matcher.ask != nullptr))
    return error{errc::wrong_state, "snapshot", "device_matcher",
                 cluster.matches_devices ? "the cluster had one" : "the cluster had none"};
  model::cluster_restorer made{cluster, matcher, most_words};
  if (!scheduler) {
    if (auto begun = made.begin({cluster.columns.all.size(), cluster.columns.scopes.size(), cluster.columns.makers});
        !begun)
      return std::move(begun).error();
    if (auto ended = made.finish(); !ended) return std::move(ended).error();
    return restored_state{std::move(made.cluster()), std::nullopt};
  }
  const engine::saved_scheduler& from = *scheduler;
  if (auto checked = gangsched::scheduler::check(profiles); !checked) return std::move(checked).error();
  const model::own_columns::extent before{static_cast<std::size_t>(from.columns), static_cast<std::size_t>(from.scopes),
                                          from.makers};
  if (auto begun = made.begin(before); !begun) return std::move(begun).error();
  std::unique_ptr<engine::core> core = engine::core::attached(made.cluster(), std::move(profiles), from.options);
  if (auto ended = made.finish(); !ended) return std::move(ended).error();
  if (auto wrong = core->restore(from, made.classes())) return *std::move(wrong);
  return restored_state{std::move(made.cluster()), gangsched::scheduler{std::move(core)}};
}

}  // namespace gangsched::inline GANGSCHED_ABI
