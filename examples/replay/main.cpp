// The main job: replays the workload of real GPU clusters, or a generated one of the same shape, and reports how it went.
#include <fmt/format.h>

#include <exception>
#include <vector>

#include "progress.hpp"
#include "replay/csv.hpp"
#include "replay/generate.hpp"
#include "replay/host.hpp"
#include "replay/openb.hpp"
#include "replay/options.hpp"
#include "replay/philly.hpp"
#include "replay/report.hpp"

namespace {

using namespace replay;

void run(chapter& of, handling gangs) {
  std::uint64_t pods = 0;
  for (const job& j : of.work.jobs) pods += j.workers;
  examples::progress bar{fmt::format("{}, {}", of.name, name_of(gangs)), 2 * pods};
  of.outcomes.push_back(replay_workload(of.work, {.profile = of.profile, .gangs = gangs, .seed = of.seed},
                                        [&](std::uint64_t done) { bar.show(done); }));
}

void finish(chapter of, const command_line& options, std::vector<chapter>& all) {
  if (!options.json) fmt::print("{}\n", text_report(of));
  all.push_back(std::move(of));
}

int run(const command_line& options) {
  // All files are read before anything runs: a bad one is reported at once.
  std::vector<chapter> todo;
  const auto add = [&](const char* name, workload work) {
    todo.push_back(
        {.name = name, .work = std::move(work), .profile = options.profile, .seed = options.seed, .outcomes = {}});
  };
  if (options.generated() || !options.nodes.empty()) {
    add("openb",
        to_workload(options.generated() ? generate_openb(options.seed) : openb::read(options.nodes, options.pods),
                    openb::options{.speed = options.speed, .stay = options.stay}));
  }
  if (options.generated() || !options.gangs.empty()) {
    add("philly", to_workload(options.generated() ? generate_philly(options.seed) : philly::read(options.gangs),
                              philly::options{.gpus = options.gpus, .speed = options.speed, .spread = options.spread}));
  }

  std::vector<chapter> done;
  for (chapter& one : todo) {
    const bool has_gangs = one.name == "philly";
    run(one, handling::group_cycle);
    if (has_gangs) run(one, handling::permit);
    if (has_gangs) run(one, handling::pod_by_pod);
    finish(std::move(one), options, done);
  }
  if (options.json)
    fmt::print("{}", json_report(done));
  else
    fmt::print("peak memory: {:.0f} MiB\n", peak_memory_mib());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto [options, exit_code] = replay::parse(argc, argv);
  if (exit_code) return *exit_code;
  try {
    return run(options);
  } catch (const replay::bad_input& bad) {
    fmt::print(stderr, "{}\n", bad.what());
    return 2;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "gangsched-replay: {}\n", failure.what());
    return 1;
  }
}
