#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simulate {

enum class format { table, json, yaml };

struct command_line {
  std::vector<std::string> files;  ///< "-": standard input; also folders
  std::string ns;                  ///< of objects that name none; empty: the default one
  std::string config;
  std::string explain;
  std::string metrics, trace, log, report;  ///< files to write; empty: none
  std::vector<std::string> drained, lost;   ///< nodes; lost ones also by zone
  std::string arrivals;                     ///< a table of when pods come and how long they run; empty: none
  std::string shapes;                       ///< a file with nodes that may be added; empty: not asked
  std::string start, until;   ///< of live controllers: what time it is at the start; how long they make runs
  std::string compare_with;   ///< a result in JSON; empty: none
  std::string queues_policy;  ///< a plugin, or none; empty: the library's own if there are queues
  format output = format::table;
  bool recursive = false;
  bool keep_going = false;
  bool all = false;
  bool no_grace = false;
  bool gpus = false;
  bool ascii = false;
  bool queues = false;
  bool timeline = false;
  bool scale_down = false;
  bool live = false;  ///< controllers go on while time passes
  std::size_t top = 10;
  std::uint64_t seed = 0;
};

/// What the command line says; or, when there is nothing to run (--help, --version, a mistake), the exit code.
struct parsed {
  command_line options;
  std::optional<int> exit_code;
};
[[nodiscard]] parsed parse(int argc, char** argv);

}  // namespace simulate
