#include "simulate/input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gangsched/framework/plugin_entry.hpp>
#include <gangsched/kube/configuration.hpp>
#include <gangsched/profiles.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "simulate/arrivals.hpp"
#include "simulate/times.hpp"
#include "simulate/what_if.hpp"

namespace simulate {
namespace {

using namespace gangsched;

/// Files are the user's own: a large cluster is no attack.
constexpr kube::limits whole_clusters{.bytes = std::size_t{4} << 30, .values = 200'000'000};

template <class T>
T checked(result<T> got) {
  if (!got) throw bad_input{got.error().message()};
  return *std::move(got);
}

/// One below the other.
std::string lines(std::span<const error> mistakes) {
  std::vector<std::string> all;
  for (const error& one : mistakes) all.push_back(one.message());
  return fmt::format("{}", fmt::join(all, "\n"));
}

kube::source read_file(const std::string& path) {
  return checked(path == "-" ? kube::load(std::cin, "stdin", whole_clusters) : kube::load(path, whole_clusters));
}

/// Files in the order given; of a folder its manifests by name.
std::vector<std::string> files_at(const std::vector<std::string>& paths, bool recursive) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::error_code wrong;
    if (path == "-" || !fs::is_directory(path, wrong)) {
      all.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    const auto add = [&](const fs::directory_entry& one) {
      const std::string kind = one.path().extension().string();
      if (one.is_regular_file() && (kind == ".yaml" || kind == ".yml" || kind == ".json"))
        found.push_back(one.path().string());
    };
    try {
      if (recursive)
        for (const fs::directory_entry& one : fs::recursive_directory_iterator{path}) add(one);
      else
        for (const fs::directory_entry& one : fs::directory_iterator{path}) add(one);
    } catch (const fs::filesystem_error&) {
      throw bad_input{path + ": cannot be read"};
    }
    if (found.empty())
      throw bad_input{path + ": has no .yaml, .yml or .json" + (recursive ? "" : "; with -R folders in it count")};
    std::ranges::sort(found);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

/// The group that is called so, if no pod is.
std::optional<std::size_t> find_group(const kube::manifests& among, const std::string& wanted) {
  const auto called = [&](const auto& one) { return one.name == wanted || one.ns + "/" + one.name == wanted; };
  if (std::ranges::any_of(among.pods, [&](const auto& pod) { return called(pod.spec); })) return std::nullopt;
  const auto found = std::ranges::find_if(among.groups, [&](const auto& group) { return called(group.spec); });
  if (found == among.groups.end()) return std::nullopt;
  return static_cast<std::size_t>(found - among.groups.begin());
}

/// The pod that is called so, with or without its namespace.
std::size_t find_pod(const kube::manifests& among, const std::string& wanted) {
  std::vector<std::size_t> found;
  std::vector<std::string> similar;
  for (std::size_t i = 0; i < among.pods.size(); ++i) {
    const pod_spec& pod = among.pods[i].spec;
    const std::string full = pod.ns + "/" + pod.name;
    if (full == wanted || pod.name == wanted)
      found.push_back(i);
    else if (full.starts_with(wanted) || pod.name.starts_with(wanted))
      similar.push_back(full);
  }
  if (found.size() == 1) return found.front();
  std::string hint;
  for (const std::size_t i : found) similar.push_back(among.pods[i].spec.ns + "/" + among.pods[i].spec.name);
  constexpr std::size_t most = 5;
  if (similar.size() > most) similar.resize(most), similar.emplace_back("…");
  if (!similar.empty()) hint = fmt::format("; {}: {}", found.empty() ? "similar" : "one of", fmt::join(similar, ", "));
  throw bad_input{
      fmt::format("--explain: {} \"{}\"{}", found.empty() ? "no pod or group" : "more than one pod", wanted, hint)};
}

/// A plugin before all others, at each of its points. If it sorts the queue, no other does.
void put_first(const std::string& plugin, const plugin_registry& plugins, kube::scheduler_profile& in) {
  const result<plugin_entry> made = plugins.make(plugin, {});
  if (made && made->points.has(point::queue_sort)) in.plugins[static_cast<std::size_t>(point::queue_sort)].clear();
  for (std::vector<kube::configured_plugin>& at : in.plugins) {
    const auto same = [&](const kube::configured_plugin& one) { return one.name == plugin; };
    if (std::ranges::none_of(at, same)) at.insert(at.begin(), {plugin, 1});
  }
}

/// Whether the configuration names a policy of queues itself.
bool has_queue_policy(const kube::scheduler_configuration& settings, const plugin_registry& plugins) {
  const auto is_one = [&](const kube::configured_plugin& one) {
    const result<plugin_entry> made = plugins.make(one.name, {});
    return made && made->reads_queues;
  };
  return std::ranges::any_of(settings.profiles, [&](const kube::scheduler_profile& profile) {
    return std::ranges::any_of(profile.plugins, [&](const auto& at) { return std::ranges::any_of(at, is_one); });
  });
}

/// In seconds since 1970.
std::int64_t start_of(const command_line& how) {
  if (how.start.empty()) return 0;
  const auto made = parse_time(how.start);
  if (!made) throw bad_input{fmt::format("--start: \"{}\" is no time like 2026-12-01T08:00:00Z", how.start)};
  return *made;
}
instant until_of(const command_line& how) {
  if (how.until.empty()) return std::chrono::hours{24};
  const auto made = parse_duration(how.until);
  if (!made) throw bad_input{fmt::format("--until: \"{}\" is no duration like 24h", how.until)};
  return *made;
}

}  // namespace

scenario make_scenario(const command_line& how, std::span<const kube::source> files,
                       const std::optional<kube::source>& config, std::vector<kube::warning>& warnings) {
  const plugin_registry plugins = builtin_plugins();
  kube::scheduler_configuration settings = checked(kube::read_configuration({"defaults", ""}, plugins));
  if (config) {
    const std::vector<kube::warning> usual =
        std::exchange(settings, checked(kube::read_configuration(*config, plugins))).warnings;
    std::erase_if(settings.warnings, [&](const kube::warning& one) {  // what the defaults lack too is no news
      return std::ranges::any_of(usual, [&](const kube::warning& other) { return other.reason == one.reason; });
    });
    warnings.insert(warnings.end(), settings.warnings.begin(), settings.warnings.end());
  }

  scenario made;
  made.options = settings.options(with_kube_queue());
  made.options.seed = how.seed;
  made.grace = !how.no_grace;
  made.metrics = !how.metrics.empty();
  made.trace = !how.trace.empty();
  made.log = !how.log.empty();
  made.timeline = how.timeline || !how.report.empty();

  std::vector<error> mistakes;
  const std::int64_t start = start_of(how);
  auto read = kube::read(files, {.now = std::chrono::seconds{start},
                                 .over_time = how.live,
                                 .whole_cluster = true,
                                 .api_server_rules = true,
                                 .ns = how.ns,
                                 .mistakes = &mistakes,
                                 .most = whole_clusters});
  if (!how.keep_going && !mistakes.empty()) throw bad_input{lines(mistakes)};
  for (const error& one : mistakes) warnings.push_back({one.object, one.field, one.reason + "; it is left out"});
  made.what = checked(std::move(read));
  warnings.insert(warnings.end(), made.what.warnings.begin(), made.what.warnings.end());
  for (const kube::pod_manifest& pod : made.what.pods) static_cast<void>(run_time_of(pod));  // is it one?
  if (how.live) made.live = take_over(made.what, start, until_of(how), warnings);
  const bool later = made.live && !(made.live->cron_jobs.empty() && made.live->scaled.empty());
  if (made.what.pods.empty() && made.what.groups.empty() && !later && how.shapes.empty() && !how.scale_down)
    throw bad_input{"there is nothing to schedule: no pods, and nothing that makes some"};
  for (const std::string& node : how.drained) drain(made.what, node, warnings);
  for (const std::string& place : how.lost) lose(made.what, place, warnings);
  if (!how.drained.empty() || !how.lost.empty()) settle_volumes(made.what);
  made.scale_up = !how.shapes.empty();
  made.scale_down = how.scale_down;
  const bool has_own = made.what.queues.empty() || has_queue_policy(settings, plugins);
  const std::string policy = !how.queues_policy.empty() ? how.queues_policy : has_own ? "none" : "FairShare";
  if (policy != "none") {
    const std::vector<std::string> names = plugins.names();
    if (std::ranges::find(names, policy) == names.end())
      throw bad_input{fmt::format("--queues-policy: no plugin \"{}\"", policy)};
    for (kube::scheduler_profile& one : settings.profiles) put_first(policy, plugins, one);
  }
  add_quota_delays(made.what, settings);
  made.profiles = checked(kube::make_tables(settings, plugins));
  made.maxima = checked(lowered_maxima::made_for(settings));
  if (!how.explain.empty()) made.explain_group = find_group(made.what, how.explain);
  if (!how.explain.empty() && !made.explain_group) made.explain = find_pod(made.what, how.explain);
  return made;
}

scenario read_scenario(const command_line& from) {
  std::optional<kube::source> config;
  if (!from.config.empty()) config = read_file(from.config);
  std::vector<kube::source> files;
  for (const std::string& path : files_at(from.files, from.recursive)) files.push_back(read_file(path));
  std::vector<kube::warning> warnings;
  const auto show = [&] {
    for (const kube::warning& one : warnings) fmt::print(stderr, "warning: {}\n", one.message());
  };
  try {
    scenario made = make_scenario(from, files, config, warnings);
    if (!from.arrivals.empty()) made.lifetimes = read_arrivals(from.arrivals, made.what);
    if (made.scale_up) made.shapes = shapes_of(checked(kube::read(read_file(from.shapes), {.most = whole_clusters})));
    show();
    return made;
  } catch (const bad_input&) {
    show();
    throw;
  }
}

}  // namespace simulate
