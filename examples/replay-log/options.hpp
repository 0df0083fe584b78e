#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace replay_log {

struct command_line {
  std::string log, other;  ///< other: to compare with; empty: the log is replayed
  std::string config;      ///< a KubeSchedulerConfiguration; empty: `profile`
  std::string profile;     ///< empty: kube-default or kube-scheduler, by the plugins in the log
  bool show = false;
  std::uint64_t from = 1;
  std::uint64_t to = std::numeric_limits<std::uint64_t>::max();
};

/// What the command line says; or, when there is nothing to run (--help, --version, a mistake), the exit code.
struct parsed {
  command_line options;
  std::optional<int> exit_code;
};
[[nodiscard]] parsed parse(int argc, char** argv);

}  // namespace replay_log
