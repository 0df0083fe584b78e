// What would kube-scheduler do? Schedules Kubernetes manifests in virtual time; docs/simulate.md is the user's page.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "progress.hpp"
#include "report_page/page.hpp"
#include "simulate/diff.hpp"
#include "simulate/input.hpp"
#include "simulate/options.hpp"
#include "simulate/report.hpp"
#include "simulate/simulation.hpp"

namespace {

using namespace simulate;

std::uint64_t nanoseconds() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void write_file(const std::string& name, const std::string& text) {
  if (name.empty()) return;
  std::ofstream to{name, std::ios::binary};
  to << text << std::flush;
  if (!to) throw bad_input{name + ": cannot be written"};
}

std::string contents(const std::string& name) {
  std::ifstream from{name, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{from}, {}};
  if (!from) throw bad_input{name + ": cannot be read"};
  return text;
}

/// What the page shows is what --output json has with everything asked for.
std::string page(const outcome& made, const command_line& options) {
  std::string title;
  for (const std::string& file : options.files)
    title += (title.empty() ? "" : ", ") + std::filesystem::path{file}.filename().string();
  const report_options everything{.all = true, .gpus = true, .queues = true, .timeline = true, .indent = -1};
  return report_page::page_of("gangsched-simulate", title,
                              fmt::format("[{{\"name\": \"\", \"result\": {}}}]", json_report(made, everything)));
}

int run(const command_line& options) {
  if (!options.report.empty() && !report_page::is_there()) throw bad_input{std::string{report_page::how_to_have_it}};
  const std::string before = options.compare_with.empty() ? "" : contents(options.compare_with);
  scenario input = read_scenario(options);
  input.clock = nanoseconds;
  outcome made;
  {
    const auto pending = std::ranges::count_if(
        input.what.pods, [](const gangsched::kube::pod_manifest& pod) { return pod.node.empty(); });
    examples::progress bar{"scheduling", static_cast<std::uint64_t>(pending)};
    auto done = simulate::run(input, [&](std::uint64_t heard) { bar.show(heard); });
    if (!done) throw bad_input{done.error().message()};
    made = *std::move(done);
  }
  if (!options.compare_with.empty()) made.diff = compare(made, before, options.compare_with);
  write_file(options.metrics, made.metrics);
  write_file(options.trace, made.trace);
  write_file(options.log, made.log);
  if (!options.report.empty()) write_file(options.report, page(made, options));
  const report_options how{.all = options.all,
                           .gpus = options.gpus,
                           .ascii = options.ascii,
                           .queues = options.queues,
                           .timeline = options.timeline,
                           .top = options.top};
  switch (options.output) {
    case format::table: fmt::print("{}", text_report(made, how)); break;
    case format::json: fmt::print("{}", json_report(made, how)); break;
    case format::yaml: fmt::print("{}", yaml_report(made, how)); break;
  }
  return made.count().unscheduled == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto [options, exit_code] = simulate::parse(argc, argv);
  if (exit_code) return *exit_code;
  try {
    return run(options);
  } catch (const simulate::bad_input& bad) {
    std::istringstream lines{bad.what()};
    for (std::string line; std::getline(lines, line);) fmt::print(stderr, "error: {}\n", line);
    return 2;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "gangsched-simulate: {}\n", failure.what());
    return 3;
  }
}
