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

/// Repeats the calls of a decision log, and compares the outcomes.
namespace gangsched::inline GANGSCHED_ABI::record {

/// What a log lacks: it names the plugins of each profile, but does not contain them.
struct replay_setup {
  /// The profiles of the @p number-th scheduler, from 1. They must be those of the log, or the replay ends there.
  std::function<std::vector<kernel_table>(std::uint32_t number)> profiles;
  device_matcher matcher = {};  ///< if the recorded cluster had one
};

/// The first difference between a replay and its log.
struct replay_difference {
  logged_call call;      ///< as recorded; of a digest: the state differs, though every decision before was equal
  std::string text;      ///< the call in words
  std::string recorded;  ///< the recorded outcome
  std::string here;      ///< the outcome of the replay
};

/// A cluster of its own, on which the calls of a log are repeated.
class GANGSCHED_API replayer {
 public:
  /// @p log must outlive it. Error: as `log_reader::open`; wrong_state (the recorded cluster had a device matcher and @p setup has none, or
  /// the other way round).
  [[nodiscard]] static result<replayer> open(std::span<const std::byte> log, replay_setup setup);
  replayer(replayer&&) noexcept;
  replayer& operator=(replayer&&) noexcept;
  ~replayer();

  /// Repeats the calls up to the one with that number. Nothing if all outcomes were as recorded; after a difference, an error or
  /// std::bad_alloc no further call is made. Errors: malformed (damaged there), wrong_state (a profile differs: the error names it and the
  /// difference). Costs what the calls cost.
  [[nodiscard]] result<std::optional<replay_difference>> run(
      std::uint64_t last = std::numeric_limits<std::uint64_t>::max());
  /// The number of calls made.
  [[nodiscard]] std::uint64_t calls() const noexcept;
  /// The cluster after these calls: a host may query it, fork it, or continue with it.
  [[nodiscard]] gangsched::cluster& cluster() noexcept;
  /// The scheduler that was made last, if the log calls it later or has just called it; null if there is none. Valid until `run`.
  [[nodiscard]] gangsched::scheduler* scheduler() noexcept;
  [[nodiscard]] const log_reader& log() const noexcept;
  /// Hands over the cluster and the scheduler that was made last, in their present state. The replayer cannot be used afterwards. Error:
  /// wrong_state (there is no such scheduler, a transaction is open, or `run` makes no further calls). O(1).
  [[nodiscard]] result<forked> take();

 private:
  class replaying;
  explicit replayer(std::unique_ptr<replaying> made) noexcept;
  std::unique_ptr<replaying> replaying_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::record
