// What would kube-scheduler do? Schedules Kubernetes manifests in virtual time; docs/simulate.md is the user's page.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "replay/csv.hpp"
#include "report_page/page.hpp"
#include "simulate/arrivals.hpp"
#include "simulate/input.hpp"
#include "simulate/options.hpp"
#include "simulate/report.hpp"
#include "simulate/watching.hpp"

namespace {

using namespace simulate;

void write_file(const std::string& name, const std::string& text) {
  if (name.empty()) return;
  std::ofstream to{name, std::ios::binary};
  to << text << std::flush;
  if (!to) throw bad_file{name + ": cannot be written"};
}

std::string contents(const std::string& name) {
  std::ifstream from{name, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{from}, {}};
  if (!from) throw bad_file{name + ": cannot be read"};
  return text;
}

/// What the page shows is what --output json has with everything asked for.
std::string page(const outcome& made, const command_line& from) {
  std::string title;
  for (const std::string& file : from.files)
    title += (title.empty() ? "" : ", ") + std::filesystem::path{file}.filename().string();
  const report_options everything{.all = true, .gpus = true, .queues = true, .timeline = true, .indent = -1};
  return report_page::page_of("gangsched-simulate", title,
                              fmt::format("[{{\"name\": \"\", \"result\": {}}}]", json_of(made, everything)));
}

/// The library names options by their fields.
std::string message_of(gangsched::error one) {
  if (one.object != "options" || one.field.empty()) return one.message();
  std::ranges::replace(one.field, '_', '-');
  return fmt::format("--{}: {}", one.field, one.reason);
}

/// What the command line says, with the files that it names.
options options_of(const command_line& from) {
  options how = from.run;
  how.grace = !from.no_grace;
  how.most = whole_clusters;
  how.timeline = from.what.timeline || !from.report.empty();
  if (!from.config.empty()) how.configuration = read_file(from.config);
  if (!from.shapes.empty()) how.shapes = read_file(from.shapes);
  if (!from.arrivals.empty()) how.arrivals = read_arrivals(from.arrivals);
  if (!from.compare_with.empty()) how.compare_with = {from.compare_with, contents(from.compare_with)};
  return how;
}

int run(const command_line& from) {
  if (!from.report.empty() && !report_page::is_there()) throw bad_file{std::string{report_page::how_to_have_it}};
  options how = options_of(from);
  watching kept{!from.metrics.empty(), !from.trace.empty(), !from.log.empty()};
  how.watch = &kept;
  const outcome made = gangsched::kube::simulation::run(read_files(from.files, from.recursive), how);
  for (const gangsched::kube::warning& one : made.warnings) fmt::print(stderr, "warning: {}\n", one.message());
  if (!made.errors.empty()) {
    const bool own = made.errors.front().code == gangsched::errc::contract;
    for (const gangsched::error& one : made.errors)
      fmt::print(stderr, "{}: {}\n", own ? "gangsched-simulate" : "error", message_of(one));
    return own ? 3 : 2;
  }
  write_file(from.metrics, kept.metrics);
  write_file(from.trace, kept.trace);
  write_file(from.log, kept.log);
  if (!from.report.empty()) write_file(from.report, page(made, from));
  switch (from.output) {
    case format::table: fmt::print("{}", text_report(made, {from.what, from.ascii, from.top})); break;
    case format::json: fmt::print("{}", json_of(made, from.what)); break;
    case format::yaml: fmt::print("{}", yaml_of(made, from.what)); break;
  }
  return made.count().unscheduled == 0 ? 0 : 1;
}

int refuse(const std::exception& bad) {
  std::istringstream lines{bad.what()};
  for (std::string line; std::getline(lines, line);) fmt::print(stderr, "error: {}\n", line);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const auto [from, exit_code] = simulate::parse(argc, argv);
  if (exit_code) return *exit_code;
  try {
    return run(from);
  } catch (const simulate::bad_file& bad) {
    return refuse(bad);
  } catch (const replay::bad_input& bad) {
    return refuse(bad);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "gangsched-simulate: {}\n", failure.what());
    return 3;
  }
}
