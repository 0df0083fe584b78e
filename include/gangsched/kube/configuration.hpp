#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/framework/registry.hpp"
#include "gangsched/kube/manifests.hpp"
#include "gangsched/scheduling/options.hpp"

/// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as profiles for the engine.
namespace gangsched::inline GANGSCHED_ABI::kube {

/// A plugin at an extension point.
struct configured_plugin {
  std::string name;
  std::int64_t weight = 0;  ///< of scores; 0 at every other point
  friend bool operator==(const configured_plugin&, const configured_plugin&) = default;
};

/// One profile, defaulted and expanded as kube-scheduler 1.36 does it (expandMultiPointPlugins): per point the plugins in
/// running order, in-tree plugins that the library does not have included.
struct scheduler_profile {
  std::string scheduler_name = "default-scheduler";
  std::array<std::vector<configured_plugin>, point_count> plugins;
  std::vector<std::pair<std::string, argument>> arguments;  ///< pluginConfig
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::string where;  ///< for errors: "scheduler.yaml:7: profile default-scheduler"

  [[nodiscard]] const std::vector<configured_plugin>& at(point p) const noexcept {
    return plugins[static_cast<std::size_t>(p)];
  }
};

/// A KubeSchedulerConfiguration, as far as it is about decisions.
struct scheduler_configuration {
  std::vector<scheduler_profile> profiles;  ///< at least one
  instant initial_backoff = std::chrono::seconds{1};
  instant max_backoff = std::chrono::seconds{10};
  std::optional<std::int32_t> percentage_of_nodes_to_score;  ///< of profiles without their own
  std::vector<warning> warnings;

  /// @p base with the backoffs of this configuration.
  [[nodiscard]] scheduler_options options(scheduler_options base = {}) const {
    base.initial_backoff = initial_backoff;
    base.max_backoff = max_backoff;
    return base;
  }
};

/// How a configuration is read.
struct configuration_options {
  /// Adds the plugins of pod groups to the default ones, as the gates for gangs and their topology do.
  bool gang_scheduling = true;
  limits most{};
};

/// Reads a configuration; an empty file is the default one. Plugins that neither Kubernetes nor @p registry has are
/// errors that name profile and plugin; in-tree plugins that @p registry lacks are warnings. More than 1,000 profiles, or plugins in one
/// list, are the error out_of_range. O(length).
[[nodiscard]] GANGSCHED_API result<scheduler_configuration> read_configuration(const source& from,
                                                                               const plugin_registry& registry,
                                                                               const configuration_options& how = {});
/// One entry of its `profiles`.
[[nodiscard]] GANGSCHED_API result<scheduler_profile> read_profile(const value& object, std::string_view file,
                                                                   const plugin_registry& registry,
                                                                   std::vector<warning>* warnings = nullptr,
                                                                   const configuration_options& how = {});

/// Makes a scheduler's table of those plugins of the profile that @p registry has. A plugin takes part in an extension point if the
/// profile enables it there. It also takes part in all its points that KubeSchedulerConfiguration does not know (requeue, the points of
/// groups). Error: bad arguments, a weight that is negative or too large, not exactly one queue sort.
[[nodiscard]] GANGSCHED_API result<kernel_table> make_table(const scheduler_profile& profile,
                                                            const plugin_registry& registry);

/// All profiles, for one scheduler. Errors: those of each profile, two profiles with one scheduler name, different queue sorts. Without
/// percentageOfNodesToScore all nodes are scored, where kube-scheduler would take a sample.
[[nodiscard]] GANGSCHED_API result<std::vector<kernel_table>> make_tables(const scheduler_configuration& configuration,
                                                                          const plugin_registry& registry);

/// A value of a document as a plugin's argument; of an object the fields that are not null. O(size).
[[nodiscard]] GANGSCHED_API argument to_argument(const value& from);

/// In-tree plugins of kube-scheduler 1.36 by name, in the order of the default profile.
[[nodiscard]] GANGSCHED_API std::vector<std::string> in_tree_plugins();

}  // namespace gangsched::inline GANGSCHED_ABI::kube
