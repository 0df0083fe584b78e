#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/host.hpp"

namespace replay {

struct command_line {
  std::string nodes, pods;  ///< files of openb; empty: generated
  std::string gangs;        ///< file of philly
  double speed = 1;
  bool stay = false;
  std::int64_t gpus = 0;
  std::int64_t spread = 60;
  profile_choice profile = profile_choice::pack;
  std::uint64_t seed = 1;
  bool json = false;
  bool timeline = false;              ///< in JSON
  std::string report;                 ///< a file to write; empty: none
  bool queues = false;                ///< philly by its tenants
  std::vector<std::string> policies;  ///< of queues; "FIFO" has none

  [[nodiscard]] bool wants_timeline() const { return timeline || !report.empty(); }
  [[nodiscard]] bool generated() const { return nodes.empty() && gangs.empty(); }
};

/// What the command line says; or, when there is nothing to run (--help, a mistake), the exit code.
struct parsed {
  command_line options;
  std::optional<int> exit_code;
};
[[nodiscard]] parsed parse(int argc, char** argv);

}  // namespace replay
