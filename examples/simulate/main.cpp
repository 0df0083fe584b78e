// What would kube-scheduler do? Schedules Kubernetes manifests in virtual time; docs/simulate.md is the user's page.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "progress.hpp"
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

int run(const command_line& options) {
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
  const report_options how{
      .all = options.all, .gpus = options.gpus, .ascii = options.ascii, .queues = options.queues, .top = options.top};
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
