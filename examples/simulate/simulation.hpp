#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gangsched/framework/kernel_table.hpp>
#include <gangsched/kube/manifests.hpp>
#include <gangsched/report/metrics.hpp>
#include <gangsched/scheduler.hpp>
#include <gangsched/what_if/autoscaling.hpp>
#include <optional>
#include <string>
#include <vector>

#include "simulate/controllers.hpp"
#include "simulate/lowered_maxima.hpp"
#include "simulate/outcome.hpp"

namespace simulate {

/// When a pod comes and how long it runs, if that is known.
struct lifetime {
  gangsched::instant arrives{};
  std::optional<gangsched::instant> runs = {};
};

/// What to schedule, and how.
struct scenario {
  gangsched::kube::manifests what;
  std::vector<gangsched::kernel_table> profiles;
  gangsched::scheduler_options options;
  std::vector<lifetime>
      lifetimes;  ///< by pod, as it counts in `what.pods`; empty: all are there from the start and stay
  std::optional<live_controllers> live = {};  ///< absent: controllers act once, before the start
  std::optional<lowered_maxima> maxima = {};  ///< absent: nobody goes because a queue's maximum was lowered
  bool grace = true;
  bool metrics = false, trace = false, log = false;  ///< to be had of it
  bool timeline = false;                             ///< and so who had which node when, and why pods waited
  gangsched::report::clock clock = nullptr;          ///< for those
  std::vector<gangsched::node_shape> shapes;         ///< of nodes that may be added for those who are left over
  bool scale_up = false, scale_down = false;         ///< are asked for
  std::optional<std::size_t> explain;                ///< a pod, as it counts in `what.pods`
  std::optional<std::size_t> explain_group;          ///< or a group, as it counts in `what.groups`

  /// Whether some profile is for pods with that scheduler name.
  [[nodiscard]] bool schedules(std::string_view name) const {
    return std::ranges::any_of(profiles,
                               [&](const gangsched::kernel_table& one) { return one.scheduler_name == name; });
  }
};

/// How many pods of how many have been heard of.
using progress_sink = std::function<void(std::uint64_t)>;

/// Schedules everything until nothing changes any more. Error: the manifests do not fit together; nothing was scheduled.
[[nodiscard]] gangsched::result<outcome> run(const scenario& of, const progress_sink& show);

}  // namespace simulate
