#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/framework/fwd.hpp"
#include "gangsched/kube/document.hpp"
#include "gangsched/kube/simulation_outcome.hpp"
#include "gangsched/scheduler.hpp"

/// What would kube-scheduler do? Schedules manifests in virtual time, as the program gangsched-simulate does (docs/simulate.md), for web
/// pages and CI jobs. No cluster, nothing is changed; nothing is printed, and no file is read but the tz database's.
namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// When pods come and how long they run, at most 100 years both.
struct arrival {
  std::string name;  ///< of a pod, of its controller or of its group, with or without `namespace/`
  instant arrives{};
  std::optional<instant> runs = {};
  std::string where = {};  ///< for errors: "arrivals.csv:7"
};

/// Sees a run from inside: for a host that counts, traces or records it, or shows how far it is.
class GANGSCHED_API watcher {
 public:
  watcher() = default;
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  virtual ~watcher() = default;

  /// The run begins: the cluster is still empty, and @p pods pods will look for a node. An observer that is returned, unless it is null, is
  /// told of the scheduler's calls and hooks.
  virtual observer* begins(cluster& /*on*/, std::size_t /*pods*/) { return nullptr; }
  /// A pod got its first decision; the argument is how many pods have had one by now.
  virtual void heard(std::uint64_t /*pods*/) {}
  /// The run is over: nothing changes any more.
  virtual void ends(const scheduler& /*by*/, const cluster& /*on*/) {}
  /// The cluster is about to be destroyed, whether the run finished or not. The scheduler is gone already.
  virtual void leaves() noexcept {}
};

/// How a run is to be; docs/simulate.md tells more of each.
struct options {
  std::string ns = {};                       ///< of objects that name none; empty: the default one
  std::optional<source> configuration = {};  ///< a KubeSchedulerConfiguration; absent: kube-scheduler's defaults
  std::string queues_policy = {};  ///< a plugin, or none; empty: FairShare if there are queues and no other is named
  bool all_schedulers = false;     ///< pods whose schedulerName has no profile are scheduled by the first profile
  bool keep_going = false;         ///< objects with mistakes are left out, with a warning each
  bool grace = true;               ///< evicted pods take their time to leave
  bool live_controllers = false;   ///< controllers go on while time passes; else they act once, before the start
  std::string start = {};          ///< the time at which the run starts, RFC 3339; empty: 1970-01-01T00:00:00Z
  std::string until = {};          ///< how long live CronJobs make runs: "90m"; empty: 24h
  std::size_t most_made_pods = 250'000;     ///< live controllers stop making pods after so many
  std::vector<arrival> arrivals = {};       ///< if several match the same pod, the last one counts
  std::vector<std::string> drain = {};      ///< nodes that are drained before the run
  std::vector<std::string> lose = {};       ///< nodes, or zones, that are gone before
  std::optional<source> shapes = {};        ///< nodes that may be added: which ones would make the rest fit
  bool scale_down = false;                  ///< say which nodes can be drained in the end
  std::string explain = {};                 ///< a pod or a group: what nodes say to it
  std::optional<source> compare_with = {};  ///< the JSON of an earlier run: report the differences
  bool timeline = false;                    ///< report which pod had which node when, and why pods waited
  std::uint64_t seed = 0;                   ///< for random choices between equally good nodes
  limits most{};                            ///< of each file
  /// Is handed each profile before the run: for plugins of the host's own.
  std::function<void(kernel_table&)> adjust = {};
  watcher* watch = nullptr;  ///< lives longer than the run
};

/// Schedules the pods of the files until nothing changes any more. Mistakes in the files or in @p how are in `errors` of the outcome. Equal
/// files and options give an equal outcome. Exceptions of `adjust` and `watch` reach the caller. O(length + decisions).
[[nodiscard]] GANGSCHED_API outcome run(std::span<const source> files, const options& how = {});

/// Which parts of an outcome are written.
struct report_options {
  bool all = false;       ///< pods that ran before and still do, too
  bool gpus = false;      ///< how full each GPU is in the end
  bool queues = false;    ///< what each queue has in the end
  bool timeline = false;  ///< what `options::timeline` had noted
  int indent = 2;         ///< of JSON; -1: all in one line

  [[nodiscard]] bool shows(const pod_outcome& pod) const noexcept { return all || pod.is != fate::running; }
};

/// What gangsched-simulate prints with --output json or yaml, with a newline at the end; docs/simulate.md describes the fields. If the
/// outcome has errors, `errors` is the only field. O(size).
[[nodiscard]] GANGSCHED_API std::string json_of(const outcome& of, const report_options& how = {});
[[nodiscard]] GANGSCHED_API std::string yaml_of(const outcome& of, const report_options& how = {});

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
