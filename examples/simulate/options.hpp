#pragma once
#include <cstdint>
#include <gangsched/kube/simulation.hpp>
#include <optional>
#include <string>
#include <vector>

namespace simulate {

enum class format { table, json, yaml };

struct command_line {
  std::vector<std::string> files;            ///< "-": standard input; also folders
  gangsched::kube::simulation::options run;  ///< but for what is in files
  gangsched::kube::simulation::report_options what;
  std::string config, arrivals, shapes, compare_with;  ///< files to read; empty: none
  std::string metrics, trace, log, report;             ///< files to write; empty: none
  format output = format::table;
  bool recursive = false;
  bool no_grace = false;
  bool ascii = false;
  std::size_t top = 10;
};

/// What the command line says; or, when there is nothing to run (--help, --version, a mistake), the exit code.
struct parsed {
  command_line options;
  std::optional<int> exit_code;
};
[[nodiscard]] parsed parse(int argc, char** argv);

}  // namespace simulate
