#pragma once
#include <string>
#include <vector>

#include "replay/host.hpp"
#include "replay/outcome.hpp"

namespace replay {

/// A workload, and what became of it in one or several ways.
struct chapter {
  std::string name;  ///< "openb", "philly"
  workload work;
  profile_choice profile = profile_choice::pack;
  std::uint64_t seed = 0;
  std::vector<outcome> outcomes;
};

[[nodiscard]] std::string text_report(const chapter& of);
/// The key figures of all chapters as one JSON object.
[[nodiscard]] std::string json_report(const std::vector<chapter>& all);

/// The runs of all chapters, for the page of --report: each with its key figures and its time line.
[[nodiscard]] std::string page_runs(const std::vector<chapter>& all);

/// The most memory this process ever had, in MiB.
[[nodiscard]] double peak_memory_mib();

[[nodiscard]] std::string_view name_of(handling gangs);

}  // namespace replay
