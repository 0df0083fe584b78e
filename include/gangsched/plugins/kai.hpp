#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/remembered.hpp"
#include "gangsched/queues/kai/min_runtime.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// KAI-Scheduler's policy on the queues of the cluster (docs/queues/kai.md): in which order queues are served, what a queue may hold, and
/// which jobs are evicted or moved so that another job fits.
///
/// A job is a tree of groups, or a pod without a group; its pod sets are the groups of pods in it, with their minimums. It is preemptible
/// below `non_preemptible_from`. Resources are cpu, memory and GPUs, with shares of them (`device_request::milli`) and MIG instances. KAI
/// reads a queue's guaranteed (deserved; `kai_snapshot::unbounded`: as much as there is), limit and weights of all nodes together, priority
/// and minimum run times. Queues are as old as their rows. Fair shares are computed at each call.
///
/// An admitted job keeps within the limits of its queue and those above, and if it is not preemptible, within what is deserved there. A job
/// that finds no nodes tries, in this order: room that terminating pods free anyway; moving preemptible jobs closer together
/// (`consolidate`); evicting from queues above their fair share (`reclaim`); evicting lower priorities of its own queue (`preempt`).
/// Victims are taken in reverse order of queues and jobs: surplus pods one by one, then whole jobs. Victims that fit elsewhere are moved.
class kai_policy {
 public:
  static constexpr std::string_view name = "Kai";
  static constexpr bool reads_queues = true;
  using points = implements<point::queue_sort, point::queue_order, point::admission, point::group_pre_filter,
                            point::post_filter, point::group_preempt>;

  /// The actions of a cycle, as KAI names them. For its stale gangs see `gang::stale_after`.
  struct actions {
    bool allocate = true;  ///< false: no group is placed on free nodes
    bool consolidate = true;
    bool reclaim = true;
    bool preempt = true;
  };
  struct options {
    kai_policy::actions actions = {};
    std::int32_t non_preemptible_from = 100;  ///< jobs of this priority or a higher one are not preemptible
    double saturation_multiplier = 1;         ///< at least 1: `queues::kai::reclaim_plan`
    std::int32_t most_moved_jobs = 16;        ///< jobs that a consolidation considers; −1: any number
    bool reclaim_may_move = true;           ///< victims of a reclaim that find another place do not count as reclaimed
    instant default_preempt_min_runtime{};  ///< for queues without one, also on the way up
    instant default_reclaim_min_runtime{};
    queues::kai::reclaim_protection protection = queues::kai::reclaim_protection::common_ancestor;
    std::string gpu = "nvidia.com/gpu";  ///< the resource that counts GPUs
  };
  kai_policy() = default;
  /// @pre check(chosen) finds nothing.
  explicit kai_policy(options chosen) : options_(std::move(chosen)) { GANGSCHED_ASSERT(!check(options_)); }
  /// The first option out of range, if any.
  [[nodiscard]] static std::optional<error> check(const options& chosen) {
    const auto wrong = [](const char* option, const char* reason) {
      return error{errc::out_of_range, "Kai", option, reason};
    };
    if (!(chosen.saturation_multiplier >= 1 && chosen.saturation_multiplier <= 1e9))
      return wrong("saturation_multiplier", "has to be at least 1");
    if (chosen.most_moved_jobs < -1) return wrong("most_moved_jobs", "has to be -1 or more");
    if (chosen.default_preempt_min_runtime < instant{} || chosen.default_reclaim_min_runtime < instant{})
      return wrong("default_min_runtime", "has to be at least 0");
    if (chosen.gpu.empty()) return wrong("gpu", "has to name a resource");
    return std::nullopt;
  }
  /// Arguments: nonPreemptibleFrom, mostMovedJobs, gpu, and actions, a list of allocate, consolidation, reclaim and preempt.
  [[nodiscard]] static result<kai_policy> from(const argument& args) {
    options chosen;
    argument_reader read{name};
    using bounds = std::numeric_limits<std::int32_t>;
    std::int64_t least = chosen.non_preemptible_from, moved = chosen.most_moved_jobs;
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key == "nonPreemptibleFrom") return read.number(value, path, bounds::min(), bounds::max(), least);
      if (key == "mostMovedJobs") return read.number(value, path, -1, bounds::max(), moved);
      if (key == "gpu") return read.text(value, path, chosen.gpu);
      if (key != "actions") return read.unknown(path);
      std::vector<std::string> named;
      if (!read.texts(value, path, named)) return false;
      actions& may = chosen.actions = {false, false, false, false};
      for (const std::string& one : named) {
        bool* const meant = one == "allocate"        ? &may.allocate
                            : one == "consolidation" ? &may.consolidate
                            : one == "reclaim"       ? &may.reclaim
                            : one == "preempt"       ? &may.preempt
                                                     : nullptr;
        if (meant == nullptr) return read.fail(errc::unknown, path, "there is no action \"" + one + "\"");
        *meant = true;
      }
      return true;
    });
    if (!fine) return std::move(read).failure();
    chosen.non_preemptible_from = static_cast<std::int32_t>(least);
    chosen.most_moved_jobs = static_cast<std::int32_t>(moved);
    if (const auto wrong = check(chosen)) return *wrong;
    return kai_policy{std::move(chosen)};
  }

  /// By priority, highest first, then age.
  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept {
    return a.priority != b.priority ? a.priority > b.priority : a.arrival < b.arrival;
  }
  /// Its queue, in thirds: jobs below their minimum, at it, above it.
  [[nodiscard]] GANGSCHED_API std::int64_t queue_of(const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API bool queue_before(const queue_head& a, const queue_head& b,
                                                const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const pod_info& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;
  /// Groups above a limit of their queue may still replace others in it.
  [[nodiscard]] GANGSCHED_API status group_pre_filter(const group_view& group) const;
  /// O(pods · tasks · victims) filter calls at most: see the class.
  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

 private:
  struct search;
  struct memory;
  options options_;
  remembered<memory> memory_ = {};
};

static_assert(queue_sort_plugin<kai_policy> && queue_order_plugin<kai_policy> && admission_plugin<kai_policy>);
static_assert(group_pre_filter_plugin<kai_policy> && post_filter_plugin<kai_policy> &&
              group_preempt_plugin<kai_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/kai.cpp"
#endif
