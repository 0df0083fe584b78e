#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/kube/manifests.hpp"
#include "gangsched/kube/simulation.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/src/kube/simulation/controllers.hpp"
#include "gangsched/src/kube/simulation/lowered_maxima.hpp"
#include "gangsched/what_if/autoscaling.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// When a pod comes and how long it runs, if that is known.
struct lifetime {
  instant arrives{};
  std::optional<instant> runs = {};
};

/// What to schedule, and how.
struct scenario {
  manifests what;
  std::vector<kernel_table> profiles;
  scheduler_options options;
  /// By pod, as it counts in `what.pods`; empty: all are there from the start and stay.
  std::vector<lifetime> lifetimes;
  std::optional<live_controllers> live = {};  ///< absent: controllers act once, before the start
  std::optional<lowered_maxima> maxima = {};  ///< absent: no pod goes because a queue's maximum was lowered
  /// When virtual time begins: when `--start` says, but not before the latest time that the files say something happened at.
  instant epoch = {};
  bool grace = true;
  bool timeline = false;                      ///< note which pod had which node when, and why pods waited
  std::vector<node_shape> shapes;             ///< of nodes that may be added for pods that are left over
  bool scale_up = false, scale_down = false;  ///< are asked for
  std::optional<std::size_t> explain;         ///< a pod, as it counts in `what.pods`
  std::optional<std::size_t> explain_group;   ///< or a group, as it counts in `what.groups`

  /// Whether some profile is for pods with that scheduler name.
  [[nodiscard]] bool schedules(std::string_view name) const {
    return std::ranges::any_of(profiles, [&](const kernel_table& one) { return one.scheduler_name == name; });
  }
};

/// Reads the files. Adds what was left out to @p warnings. Throws bad_input.
[[nodiscard]] scenario make_scenario(std::span<const source> files, const options& how, std::vector<warning>& warnings);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
