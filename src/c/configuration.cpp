#include "gangsched/kube/configuration.hpp"

#include <algorithm>

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/src/c/scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {

kernel_table base_profile(std::int32_t base, const std::string& resource) {
  switch (base) {
    case GANGSCHED_PROFILE_WITH_QUEUES: return profiles::with_queues();
    case GANGSCHED_PROFILE_BIN_PACKING: return profiles::bin_packing(resource);
    case GANGSCHED_PROFILE_EMPTY: return {};
    default: return profiles::kube_default();
  }
}

namespace {

/// A plugin's arguments as they were written.
result<argument> read_arguments(const gangsched_profile_plugin& from) {
  if (text(from.arguments).empty()) return argument{};
  const auto all = kube::parse({"arguments of " + std::string{text(from.name)}, std::string{text(from.arguments)}});
  if (!all) return all.error();
  return all->empty() ? argument{} : kube::to_argument(all->front().root);
}

/// A profile as it was asked for. Every scheduler gets plugins of its own: they keep books of its cluster.
struct recipe {
  struct choice {
    std::string name;
    std::int64_t weight;
    argument args;
  };
  std::string scheduler_name = "default-scheduler", resource = "nvidia.com/gpu";
  std::int32_t base = GANGSCHED_PROFILE_DEFAULT;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::vector<std::string> without;
  std::vector<choice> plugins;

  [[nodiscard]] error wrong(errc code, std::string field, std::string why) const {
    return {code, "profile " + scheduler_name, std::move(field), std::move(why)};
  }
};

result<recipe> read_recipe(const gangsched_profile_spec& from) {
  recipe made;
  if (!text(from.scheduler_name).empty()) made.scheduler_name = text(from.scheduler_name);
  if (!text(from.resource).empty()) made.resource = text(from.resource);
  if ((from.plugins == nullptr && from.plugin_count != 0) || (from.without.items == nullptr && from.without.count != 0))
    return made.wrong(errc::malformed, "plugins", "is null, and not empty");
  if (from.base < GANGSCHED_PROFILE_DEFAULT || from.base > GANGSCHED_PROFILE_EMPTY)
    return made.wrong(errc::out_of_range, "base", std::to_string(from.base) + " is none of them");
  made.base = from.base;
  if (from.percentage_of_nodes_to_score < 0 || from.percentage_of_nodes_to_score > 100)
    return made.wrong(errc::out_of_range, "percentage_of_nodes_to_score", "is not from 0 to 100");
  if (from.percentage_of_nodes_to_score != 0) made.percentage_of_nodes_to_score = from.percentage_of_nodes_to_score;
  for (std::size_t i = 0; i < from.without.count; ++i) made.without.emplace_back(text(from.without.items[i]));
  for (std::size_t i = 0; i < from.plugin_count; ++i) {
    const gangsched_profile_plugin& one = from.plugins[i];
    const std::string name{text(one.name)};
    if (one.weight < 0) return made.wrong(errc::out_of_range, name + ".weight", "is negative");
    auto arguments = read_arguments(one);
    if (!arguments) return std::move(arguments).error();
    made.plugins.push_back({name, one.weight, *std::move(arguments)});
  }
  return made;
}

result<kernel_table> make_profile(const plugin_registry& registry, const recipe& from) {
  std::vector<plugin_entry> more;
  point_set taken;  // of points that one plugin alone may have
  for (const recipe::choice& one : from.plugins) {
    auto entry = registry.make(one.name, one.args);
    if (!entry) return std::move(entry).error();
    if (one.weight != 0) entry->weight = one.weight;
    for (const point at : {point::queue_sort, point::queue_order})
      if (entry->points.has(at)) taken.add(at);
    more.push_back(*std::move(entry));
  }
  kernel_table made;
  made.scheduler_name = from.scheduler_name;
  made.percentage_of_nodes_to_score = from.percentage_of_nodes_to_score;
  for (plugin_entry& one : base_profile(from.base, from.resource).plugins) {
    if (std::find(from.without.begin(), from.without.end(), one.name) != from.without.end()) continue;
    one.points.bits &= ~taken.bits;
    add_plugin(made, std::move(one));
  }
  for (plugin_entry& one : more) {
    const auto same = [&](const plugin_entry& other) { return other.name == one.name; };
    if (std::any_of(made.plugins.begin(), made.plugins.end(), same))
      return from.wrong(errc::duplicate, "plugins", one.name + " is there twice");
    add_plugin(made, std::move(one));
  }
  if (made.at(point::queue_sort).size() != 1)
    return from.wrong(errc::malformed, "plugins", "needs exactly one plugin that sorts the queue");
  if (made.at(point::queue_order).size() > 1)
    return from.wrong(errc::malformed, "plugins", "may have one plugin that orders several queues, not more");
  return made;
}

/// Adds profiles, if they can be made.
gangsched_code add(gangsched_configuration& on, gangsched_configuration::maker how, gangsched_error* error) {
  const auto made = how();
  if (!made) return refuse(error, made.error());
  on.profiles.push_back(std::move(how));
  return ok;
}

plugin_registry plugins_of(const gangsched_registry* registry) {
  return registry != nullptr ? registry->plugins : builtin_plugins();
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_configuration_create(gangsched_configuration** made, gangsched_error* error) noexcept {
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    *made = new gangsched_configuration;
    return c::ok;
  });
}
void gangsched_configuration_destroy(gangsched_configuration* on) noexcept { delete on; }
gangsched_code gangsched_configuration_add_profile(gangsched_configuration* on, const gangsched_registry* registry,
                                                   const gangsched_profile_spec* spec,
                                                   gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "configuration");
  if (spec == nullptr) return c::missing(error, "spec");
  return c::guarded(error, [&] {
    const auto read = c::sized(spec);
    if (!read) return c::wrong_size(error, "profile");
    auto asked = c::read_recipe(*read);
    if (!asked) return c::refuse(error, asked.error());
    return c::add(
        *on,
        [plugins = c::plugins_of(registry), recipe = *std::move(asked)]() -> result<std::vector<kernel_table>> {
          auto table = c::make_profile(plugins, recipe);
          if (!table) return std::move(table).error();
          return std::vector<kernel_table>{*std::move(table)};
        },
        error);
  });
}
gangsched_code gangsched_configuration_read(gangsched_configuration* on, const gangsched_registry* registry,
                                            const char* given, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "configuration");
  if (given == nullptr) return c::missing(error, "text");
  return c::guarded(error, [&] {
    plugin_registry plugins = c::plugins_of(registry);
    auto read = kube::read_configuration({"configuration", given}, plugins);
    if (!read) return c::refuse(error, read.error());
    const instant initial = read->initial_backoff, most = read->max_backoff;
    const gangsched_code said = c::add(
        *on, [plugins = std::move(plugins), read = *std::move(read)] { return kube::make_tables(read, plugins); },
        error);
    if (said == GANGSCHED_OK) on->initial_backoff = initial, on->max_backoff = most;
    return said;
  });
}
