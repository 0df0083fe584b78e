#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/scheduler.hpp"

namespace gangsched::testing {

/// A host of identical machines and jobs, for properties of gangs: a member needs so many slots of one machine. It does what the
/// scheduler decides, keeps its own books of who holds what, and writes down the first thing that is not as it should be:
/// - a pod is given room, let go, taken back only from where it stands: no reservation is given back twice or forgotten;
/// - what a machine has in use is the sum of what its pods hold, and never more than it has;
/// - a member of a gang is let go only when the minimum has room, or had while it waited;
/// - a loop over `schedule_cycle` with a fixed time ends.
class gang_host {
 public:
  struct machine {
    std::int64_t slots;
  };
  struct job {
    gang policy;
    int members = 0;
    std::int64_t slots = 1;  ///< per member
  };

  gang_host(const std::vector<machine>& machines, const std::vector<job>& jobs, const scheduler_options& options);
  /// Another one that stands where this one does.
  [[nodiscard]] gang_host fork() const;

  /// The next member of a job comes; false if all are there.
  bool arrive(std::size_t which);
  /// One entity; false if there was none.
  bool cycle();
  /// Until nobody is active.
  void run();
  /// False if the answer was only "wait on".
  bool permit();
  /// Confirms, or fails, the n-th of the binds that are open; false if there are not so many.
  bool confirm(std::size_t which);
  bool fail(std::size_t which);
  void confirm_all();
  /// To the next deadline of the scheduler; false if there is none.
  bool wait_for_deadline(std::optional<instant> no_later_than = {});
  /// The job is over: its pods are removed.
  void finish(std::size_t which);

  [[nodiscard]] instant now() const noexcept { return now_; }
  [[nodiscard]] std::size_t open() const { return in_state(hold::binding).size(); }
  [[nodiscard]] bool all_there(std::size_t which) const { return jobs_[which].arrived == jobs_[which].of.members; }
  /// How many members hold room: waiting, being bound, or running.
  [[nodiscard]] int holding(std::size_t which) const;
  [[nodiscard]] int running(std::size_t which) const;
  /// The minimum holds room.
  [[nodiscard]] bool stands(std::size_t which) const {
    return finished(which) || holding(which) >= jobs_[which].of.policy.min_count;
  }
  [[nodiscard]] bool runs(std::size_t which) const { return running(which) >= jobs_[which].of.policy.min_count; }
  [[nodiscard]] bool finished(std::size_t which) const { return jobs_[which].finished; }
  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }
  [[nodiscard]] const std::optional<std::string>& complaint() const noexcept { return complaint_; }
  [[nodiscard]] std::string to_text() const;
  /// All that can be seen of cluster and scheduler: what looks the same is taken for the same.
  [[nodiscard]] std::uint64_t fingerprint() const;

 private:
  enum class hold : std::uint8_t { nothing, waiting, binding, running };
  struct member {
    std::size_t job;
    hold state = hold::nothing;
    node_id node = {};
    bool released = false;  ///< waited when the minimum was there: may go whatever becomes of the others
  };
  struct job_state {
    job of;
    group_id group;
    int arrived = 0;
    int named = 0;
    bool finished = false;
  };

  gang_host() = default;
  void take_all(std::span<const decision> all);
  void take(const decision& one);
  void check_books();
  void complain(const std::string& what);
  [[nodiscard]] std::vector<pod_id> in_state(hold state) const;

  cluster cluster_;
  std::optional<scheduler> scheduler_;
  std::vector<node_id> machines_;
  std::vector<std::int64_t> slots_;
  std::vector<job_state> jobs_;
  std::map<pod_id, member> members_;
  instant now_{0};
  std::optional<std::string> complaint_;
};

}  // namespace gangsched::testing
