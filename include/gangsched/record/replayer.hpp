#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/fork.hpp"
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/record/log_reader.hpp"
#include "gangsched/scheduler.hpp"

/// Makes the calls of a decision log once more, and compares.
namespace gangsched::inline GANGSCHED_ABI::record {

/// What a log does not have: it names the plugins of each profile, and cannot bring them.
struct replay_setup {
  /// The profiles of the scheduler that was made as the @p number-th, from 1. They are as the log says, or the replay ends there.
  std::function<std::vector<kernel_table>(std::uint32_t number)> profiles;
  device_matcher matcher = {};  ///< where the recorded cluster had one
};

/// Where a replay and its log part.
struct replay_difference {
  logged_call call;      ///< as recorded; of a digest: the state differs, though every decision before was the same
  std::string text;      ///< the call in words
  std::string recorded;  ///< what came of it then
  std::string here;      ///< and now
};

/// A cluster of its own, on which the calls of a log are made.
class GANGSCHED_API replayer {
 public:
  /// @p log is kept elsewhere, as long as this. Error: as `log_reader::open`; wrong_state (the cluster had a device matcher, and there is
  /// none here, or the other way round).
  [[nodiscard]] static result<replayer> open(std::span<const std::byte> log, replay_setup setup);
  replayer(replayer&&) noexcept;
  replayer& operator=(replayer&&) noexcept;
  ~replayer();

  /// Makes the calls up to the one of that number. Nothing if all went as recorded; after a difference, an error or std::bad_alloc
  /// nothing more is made. Errors: malformed (damaged there), wrong_state (a profile is another one: the error names it and what differs).
  /// What the calls cost.
  [[nodiscard]] result<std::optional<replay_difference>> run(
      std::uint64_t last = std::numeric_limits<std::uint64_t>::max());
  /// Calls that were made.
  [[nodiscard]] std::uint64_t calls() const noexcept;
  /// As it is after them: a host may ask it, fork it, or go on with it.
  [[nodiscard]] gangsched::cluster& cluster() noexcept;
  /// The scheduler that was made last, if it is called later on in the log or was just now; null if there is none. Valid until `run`.
  [[nodiscard]] gangsched::scheduler* scheduler() noexcept;
  [[nodiscard]] const log_reader& log() const noexcept;
  /// Hands over the cluster and the scheduler that was made last: as they were, for whoever goes on with them. Nothing can be done with
  /// this afterwards. Error: wrong_state (there is no such scheduler, a transaction is open, or `run` makes nothing more). O(1).
  [[nodiscard]] result<forked> take();

 private:
  class replaying;
  explicit replayer(std::unique_ptr<replaying> made) noexcept;
  std::unique_ptr<replaying> replaying_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::record
