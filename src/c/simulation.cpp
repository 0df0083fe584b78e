#include "gangsched/c/simulation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/kube/simulation.hpp"
#include "gangsched/src/c/handles.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

namespace simulation = kube::simulation;

std::optional<kube::source> source_of(const gangsched_source& from, const char* otherwise) {
  if (from.text == nullptr) return std::nullopt;
  return kube::source{text(from.name).empty() ? otherwise : from.name, std::string{from.text, from.size}};
}

std::vector<std::string> texts_of(const gangsched_texts& from) {
  std::vector<std::string> made;
  for (std::size_t i = 0; i < from.count; ++i) made.emplace_back(text(from.items[i]));
  return made;
}

std::vector<simulation::arrival> arrivals_of(const gangsched_simulation_options& from) {
  std::vector<simulation::arrival> made;
  for (std::size_t i = 0; i < from.arrival_count; ++i) {
    const gangsched_arrival& one = from.arrivals[i];
    simulation::arrival& to = made.emplace_back();
    to.name = text(one.name);
    to.arrives = instant{one.arrives};
    if (one.runs != 0) to.runs = instant{one.runs};
  }
  return made;
}

simulation::options options_of(const gangsched_simulation_options& from) {
  const auto has = [&](std::uint32_t flag) { return (from.flags & flag) != 0; };
  simulation::options made;
  made.ns = text(from.default_namespace);
  made.configuration = source_of(from.configuration, "configuration");
  made.queues_policy = text(from.queues_policy);
  made.all_schedulers = has(GANGSCHED_SIMULATE_ALL_SCHEDULERS);
  made.keep_going = has(GANGSCHED_SIMULATE_KEEP_GOING);
  made.grace = !has(GANGSCHED_SIMULATE_NO_GRACE);
  made.live_controllers = has(GANGSCHED_SIMULATE_LIVE_CONTROLLERS);
  made.start = text(from.start);
  made.until = text(from.until);
  made.arrivals = arrivals_of(from);
  if (from.most_made_pods != 0) made.most_made_pods = from.most_made_pods;
  made.drain = texts_of(from.drain);
  made.lose = texts_of(from.lose);
  made.shapes = source_of(from.shapes, "shapes");
  made.scale_down = has(GANGSCHED_SIMULATE_SCALE_DOWN);
  made.explain = text(from.explain);
  made.compare_with = source_of(from.compare_with, "compare_with");
  made.timeline = has(GANGSCHED_SIMULATE_TIMELINE);
  made.seed = from.seed;
  return made;
}

simulation::report_options report_of(std::uint32_t flags) {
  return {.all = (flags & GANGSCHED_SIMULATE_SAY_ALL) != 0,
          .gpus = (flags & GANGSCHED_SIMULATE_SAY_GPUS) != 0,
          .queues = (flags & GANGSCHED_SIMULATE_SAY_QUEUES) != 0,
          .timeline = (flags & GANGSCHED_SIMULATE_TIMELINE) != 0};
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_simulate(const gangsched_source* files, size_t file_count,
                                  const gangsched_simulation_options* options, char** json, char** warnings,
                                  gangsched_error* error) noexcept {
  if (files == nullptr && file_count != 0) return c::missing(error, "files");
  if (json == nullptr) return c::missing(error, "json");
  *json = nullptr;
  if (warnings != nullptr) *warnings = nullptr;
  return c::guarded(error, [&] {
    gangsched_simulation_options asked{};
    if (options != nullptr) {
      const auto read = c::sized(options);
      if (!read) return c::wrong_size(error, "simulation options");
      asked = *read;
    }
    if ((asked.drain.items == nullptr && asked.drain.count != 0) ||
        (asked.lose.items == nullptr && asked.lose.count != 0))
      return c::missing(error, asked.drain.items == nullptr && asked.drain.count != 0 ? "drain" : "lose");
    if (asked.arrivals == nullptr && asked.arrival_count != 0) return c::missing(error, "arrivals");
    std::vector<kube::source> sources;
    for (std::size_t i = 0; i < file_count; ++i)
      if (auto one = c::source_of(files[i], "manifests")) sources.push_back(*std::move(one));
    const c::simulation::outcome made = c::simulation::run(sources, c::options_of(asked));
    std::string left_out;
    for (const kube::warning& one : made.warnings) {
      std::string line = one.message();
      std::ranges::replace(line, '\n', ' ');
      left_out += line + "\n";
    }
    const auto code = made.errors.empty() ? c::ok : c::refuse(error, made.errors.front());
    char* const said = c::copied(c::simulation::json_of(made, c::report_of(asked.flags)));
    if (warnings != nullptr && !left_out.empty()) {
      try {
        *warnings = c::copied(left_out);
      } catch (...) {
        gangsched_free(said);
        throw;
      }
    }
    *json = said;
    return code;
  });
}
