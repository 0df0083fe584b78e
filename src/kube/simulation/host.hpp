#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>
#include "gangsched/model/cluster.hpp"

#include "gangsched/src/kube/simulation/budgets.hpp"
#include "gangsched/src/kube/simulation/controllers.hpp"
#include "gangsched/src/kube/simulation/ledger.hpp"
#include "gangsched/src/kube/simulation/lowered_maxima.hpp"
#include "gangsched/src/kube/simulation/ordered_sets.hpp"
#include "gangsched/src/kube/simulation/scenario.hpp"
#include "gangsched/src/kube/simulation/timeline.hpp"
#include "gangsched/src/kube/simulation/volumes.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// When in the run a pod got its node: which of the decisions of which cycle.
struct moment {
  instant at{};
  std::uint64_t cycle = 0;
  std::size_t decision = 0;
};

class host {
 public:
  /// @p of and @p watch, which may be null, have to outlive it.
  host(const scenario& of, watcher* watch);
  host(const host&) = delete;
  host& operator=(const host&) = delete;
  ~host();

  result<void> load();
  void run();
  /// Why @p pod went where it went in @p whole, a run of the same scenario that is over: this one is run until just before.
  asked explain_as_in(const host& whole, std::size_t pod);
  asked explain_now(std::size_t pod);
  asked_group explain_group(const group_spec& group);

  [[nodiscard]] outcome finish();
  [[nodiscard]] bool was_placed(std::size_t pod) const { return tasks_[pod].placed_in.has_value(); }

 private:
  struct task {
    pod_id id = {};
    bool in_cluster = false;
    bool present = false;        // it has come and is not gone
    bool replaced = false;       // there is another pod instead
    bool listed = false;         // in unplaced_
    bool heard = false;          // some decision was about it
    bool cut_off = false;        // its work is not done: its Job ends it, or makes another pod when it is gone
    std::uint64_t tried_in = 0;  // how many changes there had been at its latest try
    std::optional<moment> placed_in;
    std::string failure;
    std::optional<instant> runs;     // how long, if that is known
    std::optional<instant> ends_by;  // when its Job ends it
    std::string node_taint;          // for which it has to go
  };
  enum class turn : std::uint8_t { evicted, over, arrives, tainted, node_tainted, job_over };
  struct event {
    instant when;
    std::size_t pod;
    turn what;
    friend auto operator<=>(const event&, const event&) = default;
  };

  bool schedule();
  void execute(const cycle& done);
  void take_volumes(const cycle& done);
  void note(const decision& one);
  void tell_volumes(bool everybody = false);
  void tell_volumes_of(std::size_t pod);
  [[nodiscard]] pod_spec spec_now(std::size_t pod);
  void execute(const decision& one, const std::string& for_whom, std::size_t preemptor);
  void evict(std::size_t pod, std::string by);
  void plan(instant after, std::size_t pod, turn what);
  bool evict_over_maximum();
  void carry_out(wanted_changes todo);
  void make(pod_manifest pod, std::optional<instant> runs, std::optional<instant> ends_by);
  void end_by(std::size_t pod, std::optional<instant> when);
  void end(std::size_t pod);
  void arrive(std::size_t pod);
  void come(std::size_t pod);
  void let_come(std::size_t like);
  void join(std::size_t pod);
  void start(std::size_t pod);
  void count_taints(std::size_t pod, instant came);
  void leave(std::size_t pod, turn why);
  void is_done(bool composite, const std::string& ns, const std::string& name);
  void changed();
  void update_budgets();
  [[nodiscard]] budget_counts::standing standing_of(std::size_t pod) const;
  [[nodiscard]] bool over() const { return stop_before_ && now_ >= stop_before_->at && cycles_ >= stop_before_->cycle; }
  void note_unplaced(std::size_t pod);
  [[nodiscard]] bool all_were_tried();
  [[nodiscard]] std::optional<instant> next_time();
  /// The time that the scheduler is told. Start times of pods and deadlines are by this clock.
  [[nodiscard]] instant on_the_clock() const { return later_by(of_.epoch, now_); }
  void say_why();

  const scenario& of_;
  watcher* watch_;
  manifests what_;  // kept up to date
  group_ledger groups_;
  budget_counts budgets_;
  volume_news volumes_;
  std::optional<ordered_sets> orders_;  // absent: all of their pods are there from the start
  cluster cluster_;
  std::optional<timeline> timeline_;
  std::optional<scheduler> scheduler_;
  std::optional<controllers> controllers_;                // absent: they acted before the start
  std::optional<lowered_maxima> maxima_;                  // of queues that say when pods above a lowered maximum go
  std::map<std::string, const node_manifest*> evicting_;  // nodes with taints NoExecute, if controllers act
  std::vector<task> tasks_;
  std::set<std::tuple<bool, std::string, std::string>> awaited_;  // groups that others wait for, until they are done
  std::vector<std::size_t> unplaced_;  // pods that were tried; some may have a node, or be gone
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  outcome out_;
  instant now_{};  ///< since the start
  std::uint64_t changes_ = 0;
  std::uint64_t cycles_ = 0;
  std::uint64_t heard_ = 0;
  bool keeps_volumes_ = false;  // of pods that are taken back
  bool volumes_back_ = false;   // and waiting pods may have them
  std::optional<moment> stop_before_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
