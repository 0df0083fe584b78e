#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/kueue/assignment.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// A local queue. The number of one that was forgotten is given to another.
using local_index = std::uint32_t;

struct local_usage_options {
  instant half_life{};  ///< after which past usage counts half; 0: it does not count at all
  instant sampling_interval = std::chrono::minutes{5};
  /// By resource, for one of the units that its amounts are in; not named: 1. Kueue weighs whole cores.
  std::map<std::string, double> resource_weights = {};
};

/// A local queue as the host names it.
struct local_queue_spec {
  std::string name;
  std::string queue;                            ///< its cluster queue
  double weight = 1;                            ///< 0 or less: it is ordered after all others
  std::map<std::string, double> consumed = {};  ///< by resource, as saved before a restart
};

/// What local queues have used in the past, which admission fair sharing orders their workloads by (Kueue 0.19,
/// pkg/util/admissionfairsharing). At a sample each resource's consumed := consumed · (1 − a) + used now · a, with
/// a = 1 − ½^(time since the last sample / half_life). An admission samples, and adds what was asked for times a of a sampling interval,
/// so that several at once do not count as none.
///
/// What is left below a billionth where nothing is used counts as nothing. A local queue of which nothing is left and whose weight is 1
/// does not differ from a new one: its time begins when it uses something, and unless it is kept it is forgotten, so that as many are known
/// as lately used something.
class GANGSCHED_API local_usage {
 public:
  /// @p of has to outlive it. Weights that are not numbers, and a negative time, count as 0.
  local_usage(const configuration& of, local_usage_options options);

  /// The number of a local queue, with the weight 1 if it is new, until time passes or it is let go. O(log local queues).
  local_index find_or_add(queue_index queue, std::string_view name);
  /// One more needs its number, or one less. O(log local queues + resources).
  void keep(local_index local) noexcept { ++locals_[local].users; }
  void let_go(local_index local) noexcept;
  [[nodiscard]] bool has(local_index local) const noexcept {
    return local < locals_.size() && locals_[local].queue != no_queue;
  }
  /// Another weight, and if anything is said of it what it has consumed. Errors: `unknown` (cluster queue), `out_of_range` (a number that
  /// is not finite, a negative amount).
  result<local_index> set(const local_queue_spec& spec);
  [[nodiscard]] std::optional<local_index> find(queue_index queue, std::string_view name) const;

  /// The weighted sum of what it has consumed, divided by its own weight: lower comes first. O(1).
  [[nodiscard]] double score(local_index local) const { return locals_[local].score; }
  [[nodiscard]] double consumed(local_index local, resource_index of) const {
    return consumed_[local * resources() + of];
  }
  [[nodiscard]] queue_index queue_of(local_index local) const { return locals_[local].queue; }
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }

  /// What is left of past usage after a time in which nothing was used.
  [[nodiscard]] static double left_of(double consumed, instant half_life, instant elapsed) noexcept {
    return nothing_if_small(consumed * (1 - part(half_life, elapsed)));
  }

  /// Samples local queues that were not sampled for an interval, and calls @p changed(queue) for each whose score may have changed. O(1) if
  /// none is due, otherwise O(local queues × (resources + log local queues)).
  template <class Changed>
  void sample(instant now, const Changed& changed) noexcept {
    if (now < next_sample_) return;
    next_sample_ = instant::max();
    for (local_index local = 0; local < locals_.size(); ++local) {
      if (!has(local)) continue;
      if (is_due(local, now)) {
        decay(local, now);
        changed(locals_[local].queue);
      }
      if (is_idle(local)) {
        locals_[local].sampled_at.reset();
        forget_if_idle(local);
        continue;
      }
      next_sample_ = std::min(next_sample_, later_by(*locals_[local].sampled_at, options_.sampling_interval));
    }
  }
  /// Samples one local queue. O(resources).
  void sample_one(local_index local, instant now) noexcept {
    decay(local, now);
    next_sample_ = std::min(next_sample_, later_by(now, options_.sampling_interval));
  }
  /// Adds an amount that an admitted workload asked for as if it had been used for a sampling interval. O(resources).
  void charge(local_index local, resource_index of, std::int64_t amount) noexcept;
  // A workload of the queue has quota, or gives it back. O(usage).

  void hold(local_index local, std::span<const fr_amount> usage) noexcept;
  void release(local_index local, std::span<const fr_amount> usage) noexcept;

 private:
  struct state {
    queue_index queue = no_queue;
    double weight = 1, score = 0;
    std::optional<instant> sampled_at = {};  ///< none: its time has not begun
    std::size_t users = 0;
    std::string name = {};
  };
  struct by_queue_and_name {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return a.first != b.first ? a.first < b.first : std::string_view{a.second} < std::string_view{b.second};
    }
  };
  [[nodiscard]] std::size_t resources() const noexcept { return weights_.size(); }
  [[nodiscard]] bool is_due(local_index local, instant now) noexcept;
  [[nodiscard]] static double part(instant half_life, instant elapsed) noexcept;
  [[nodiscard]] static double nothing_if_small(double consumed) noexcept {
    return consumed < 1e-9 ? 0 : consumed;  // Kueue keeps thousandths; what one admission of one unit adds is far above
  }
  void decay(local_index local, instant now) noexcept;
  void rate(local_index local) noexcept;
  /// Whether it does not differ from a new one.
  [[nodiscard]] bool is_idle(local_index local) const noexcept;
  /// Forgets it if it is idle and nobody needs its number.
  void forget_if_idle(local_index local) noexcept;

  const configuration* of_;
  local_usage_options options_;
  std::vector<double> weights_;          ///< by resource
  std::vector<resource_index> by_name_;  ///< resources in the order of names: sums of doubles depend on it
  std::map<std::pair<queue_index, std::string>, local_index, by_queue_and_name> numbers_;
  std::vector<state> locals_;  ///< without a queue: it was forgotten
  std::vector<local_index> free_;
  std::vector<double> consumed_, held_;  ///< by local queue, then resource
  instant next_sample_ = instant::min();
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/local_usage.cpp"
#endif
