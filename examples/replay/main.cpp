// The main job: replays the workload of real GPU clusters, or a generated one of the same shape, and reports how it went.
#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <vector>

#include "progress.hpp"
#include "replay/csv.hpp"
#include "replay/generate.hpp"
#include "replay/host.hpp"
#include "replay/openb.hpp"
#include "replay/options.hpp"
#include "replay/philly.hpp"
#include "replay/report.hpp"
#include "replay/tenants_report.hpp"
#include "report_page/page.hpp"

namespace {

using namespace replay;

void write_page(const command_line& options, const std::vector<chapter>& all) {
  if (options.report.empty()) return;
  std::string title;
  for (const chapter& one : all) title += (title.empty() ? "" : ", ") + one.name + " (" + one.work.source + ")";
  std::ofstream to{options.report, std::ios::binary};
  to << report_page::page_of("gangsched-replay", title, page_runs(all)) << std::flush;
  if (!to) throw bad_input{options.report + ": cannot be written"};
}

void run(chapter& of, handling gangs, bool timeline) {
  std::uint64_t pods = 0;
  for (const job& j : of.work.jobs) pods += j.workers;
  examples::progress bar{fmt::format("{}, {}", of.name, name_of(gangs)), 2 * pods};
  of.outcomes.push_back(replay_workload(of.work,
                                        {.profile = of.profile, .gangs = gangs, .timeline = timeline, .seed = of.seed},
                                        [&](std::uint64_t done) { bar.show(done); }));
}

void finish(chapter of, const command_line& options, std::vector<chapter>& all) {
  if (!options.json) fmt::print("{}\n", text_report(of));
  all.push_back(std::move(of));
}

workload philly_of(const command_line& options) {
  return to_workload(options.gangs.empty() ? generate_philly(options.seed) : philly::read(options.gangs),
                     philly::options{.gpus = options.gpus, .speed = options.speed, .spread = options.spread});
}

/// Philly under one policy after another, and each of its tenants alone.
int run_by_tenant(const command_line& options) {
  tenants_chapter all{.of = {.name = "philly",
                             .work = philly_of(options),
                             .profile = options.profile,
                             .seed = options.seed,
                             .outcomes = {}},
                      .alone = {},
                      .own = {}};
  const workload& work = all.of.work;
  if (work.tenants.empty()) throw bad_input{options.gangs + ": no column vc, which says whose job it is"};
  const auto replay = [&](const workload& what, const std::string& title, const std::string& policy, bool timeline) {
    std::uint64_t pods = 0;
    for (const job& one : what.jobs) pods += one.workers;
    examples::progress bar{fmt::format("{}, {}", all.of.name, title), 2 * pods};
    return replay_workload(what,
                           {.profile = options.profile,
                            .queue_policy = policy,
                            .by_age = true,
                            .timeline = timeline,
                            .seed = options.seed},
                           [&](std::uint64_t done) { bar.show(done); });
  };
  const auto each_alone = [&](const std::string& policy) {
    std::vector<tenant_outcome> made;
    for (std::uint32_t tenant = 0; tenant < work.tenants.size(); ++tenant) {
      const std::string title =
          fmt::format("{} alone{}{}", work.tenants[tenant].name, policy.empty() ? "" : ", ", policy);
      made.push_back(std::move(replay(alone(work, tenant), title, policy, false).tenants[tenant]));
    }
    return made;
  };
  all.alone = each_alone("");
  for (const std::string& one : options.policies) {
    const std::string policy = one == "FIFO" ? "" : one;
    all.own.push_back(policy.empty() ? all.alone : each_alone(policy));
    all.of.outcomes.push_back(replay(work, one, policy, options.wants_timeline()));
  }
  fmt::print("{}", options.json ? json_report(all) : text_report(all));
  write_page(options, {all.of});
  return 0;
}

int run(const command_line& options) {
  if (!options.report.empty() && !report_page::is_there()) throw bad_input{std::string{report_page::how_to_have_it}};
  if (options.queues) return run_by_tenant(options);
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
    add("philly", philly_of(options));
  }

  std::vector<chapter> done;
  for (chapter& one : todo) {
    const bool has_gangs = one.name == "philly";
    run(one, handling::group_cycle, options.wants_timeline());
    if (has_gangs) run(one, handling::permit, options.wants_timeline());
    if (has_gangs) run(one, handling::pod_by_pod, options.wants_timeline());
    finish(std::move(one), options, done);
  }
  if (options.json)
    fmt::print("{}", json_report(done));
  else
    fmt::print("peak memory: {:.0f} MiB\n", peak_memory_mib());
  write_page(options, done);
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
