#include "gangsched/kube/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/src/kube/configuration/in_tree.hpp"
#include "gangsched/src/kube/documents/reader.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
argument to_argument(const value& from) {
  switch (from.kind) {
    case value_kind::null: return {};
    case value_kind::boolean: return from.text == "true";
    case value_kind::text: return from.text;
    case value_kind::number: {
      const char* const end = from.text.data() + from.text.size();
      std::int64_t whole = 0;
      if (const auto [at, wrong] = std::from_chars(from.text.data(), end, whole); wrong == std::errc{} && at == end)
        return whole;
      double number = 0;
      static_cast<void>(std::from_chars(from.text.data(), end, number));
      return number;
    }
    case value_kind::list: {
      argument::list all;
      for (const value& item : from.items) all.push_back(to_argument(item));
      return all;
    }
    case value_kind::object: {
      argument::fields all;
      for (std::size_t i = 0; i < from.keys.size(); ++i)  // null is absent
        if (from.items[i].kind != value_kind::null) all.emplace_back(from.keys[i], to_argument(from.items[i]));
      return all;
    }
  }
  return {};
}

namespace detail {

/// A PluginSet of the configuration.
struct plugin_set {
  std::vector<configured_plugin> enabled;
  std::vector<std::string> disabled;
  [[nodiscard]] bool disables(std::string_view name) const {
    return std::find(disabled.begin(), disabled.end(), name) != disabled.end();
  }
  [[nodiscard]] const configured_plugin* find(std::string_view name) const {
    for (const configured_plugin& one : enabled)
      if (one.name == name) return &one;
    return nullptr;
  }
};

struct profile_plugins {
  plugin_set multi_point;
  std::array<plugin_set, point_count> at;
};

/// Which plugins there are, here and in Kubernetes.
class known_plugins {
 public:
  explicit known_plugins(const plugin_registry& registry) : registry_(&registry), names_(registry.names()) {}
  [[nodiscard]] bool here(std::string_view name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  [[nodiscard]] bool anywhere(std::string_view name) const { return here(name) || find_in_tree(name) != nullptr; }
  /// The points that it can be configured at; of a host's plugin those that it implements.
  [[nodiscard]] point_set points(std::string_view name) const {
    if (const in_tree_plugin* own = find_in_tree(name)) return own->points;
    const auto made = registry_->make(name, {});
    if (made) return made->points;
    point_set all;  // its arguments are needed to make it: make_table finds out
    for (const named_point& one : named_points()) all.add(one.at);
    return all;
  }

 private:
  const plugin_registry* registry_;
  std::vector<std::string> names_;
};

/// What is compared with everything before it in its list; a profile is many times what it takes to write one.
constexpr std::size_t most_entries = 1000;
bool few_enough(reader& read, const place& of) {
  return of.at->items.size() <= most_entries ||
         read.fail(errc::out_of_range, of, fmt::format("has more than {} entries", most_entries));
}

bool read_plugin_set(reader& read, const place& of, const known_plugins& known, plugin_set& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "enabled" && key != "disabled") return read.ignore(key, v, {});
    const bool enables = key == "enabled";
    return few_enough(read, v) && read.items(v, [&](const place& item) {
      configured_plugin one;
      const bool fine = read.fields(item, [&](std::string_view field, const place& w) {
        if (field == "name") return read.text(w, one.name);
        if (field == "weight") return read.integer(w, one.weight, 0, std::numeric_limits<std::int32_t>::max());
        return read.ignore(field, w, {});
      });
      if (!fine) return false;
      if (!enables) {
        if (one.name != "*" && !known.anywhere(one.name))
          static_cast<void>(read.warn(item, "there is no plugin \"" + one.name + "\" to disable"));
        out.disabled.push_back(std::move(one.name));
        return true;
      }
      if (!known.anywhere(one.name)) return read.fail(errc::unknown, item, "there is no plugin \"" + one.name + "\"");
      if (out.find(one.name) != nullptr) return read.fail(errc::duplicate, item, one.name + " is enabled twice");
      out.enabled.push_back(std::move(one));
      return true;
    });
  });
}

bool read_plugins(reader& read, const place& of, const known_plugins& known, profile_plugins& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "multiPoint") return read_plugin_set(read, v, known, out.multi_point);
    for (const named_point& one : named_points())
      if (one.name == key) return read_plugin_set(read, v, known, out.at[static_cast<std::size_t>(one.at)]);
    return read.ignore(key, v, {});
  });
}

/// kube's mergePluginSet: the default multiPoint plugins, each replaced in its place by one of the same name, then the
/// others.
plugin_set merge_defaults(const plugin_set& own, bool gang_scheduling) {
  plugin_set made;
  made.disabled = own.disabled;
  std::vector<std::string_view> replaced;
  if (!own.disables("*")) {
    for (const in_tree_plugin& one : in_tree()) {
      if (!one.by_default && !gang_scheduling) continue;
      if (own.disables(one.name)) continue;
      const configured_plugin* mine = own.find(one.name);
      if (mine != nullptr) replaced.push_back(one.name);
      made.enabled.push_back(mine != nullptr ? *mine : configured_plugin{std::string{one.name}, one.weight});
    }
  }
  for (const configured_plugin& one : own.enabled)
    if (std::find(replaced.begin(), replaced.end(), one.name) == replaced.end()) made.enabled.push_back(one);
  return made;
}

/// kube's expandMultiPointPlugins at one point: what both lists name in the point's order, then the rest of multiPoint,
/// then the rest of the point's own.
std::vector<configured_plugin> expand_point(const plugin_set& own, const plugin_set& multi, point at,
                                            const known_plugins& known) {
  if (own.disables("*")) return own.enabled;
  std::vector<configured_plugin> both, from_multi, rest;
  for (const configured_plugin& one : own.enabled) {
    const bool overrides = multi.find(one.name) != nullptr && !own.disables(one.name);
    (overrides ? both : rest).push_back(one);
  }
  for (const configured_plugin& one : multi.enabled) {
    if (!known.points(one.name).has(at) || own.disables(one.name) || own.find(one.name) != nullptr) continue;
    from_multi.push_back(one);
  }
  both.insert(both.end(), from_multi.begin(), from_multi.end());
  both.insert(both.end(), rest.begin(), rest.end());
  return both;
}

/// Whether a configuration can name plugins at that point.
bool is_named(point at) {
  return std::ranges::any_of(named_points(), [&](const named_point& one) { return one.at == at; });
}

/// Plugins that take part in a point that Kubernetes has not, and in none of its own: multiPoint alone enables them.
std::vector<configured_plugin> beside_kubernetes(const plugin_set& multi, point at, const known_plugins& known,
                                                 const scheduler_profile& made) {
  const auto has = [](const std::vector<configured_plugin>& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const configured_plugin& one) { return one.name == name; });
  };
  std::vector<configured_plugin> all;
  for (const configured_plugin& one : multi.enabled) {
    const bool elsewhere =
        std::ranges::any_of(named_points(), [&](const named_point& p) { return has(made.at(p.at), one.name); });
    if (!elsewhere && known.here(one.name) && known.points(one.name).has(at)) all.push_back({one.name});
  }
  return all;
}

bool read_plugin_config(reader& read, const place& of, const known_plugins& known, scheduler_profile& out) {
  return few_enough(read, of) && read.items(of, [&](const place& item) {
    std::string name;
    argument args;
    const bool fine = read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "name") return read.text(v, name);
      if (key == "args") return args = to_argument(*v.at), true;
      return read.ignore(key, v, {});
    });
    if (!fine) return false;
    for (const auto& [other, unused] : out.arguments)
      if (other == name) return read.fail(errc::duplicate, item, "there are arguments of " + name + " already");
    if (!known.here(name))
      static_cast<void>(read.warn(item, "arguments of \"" + name + "\", which is not here, are left out"));
    out.arguments.emplace_back(std::move(name), std::move(args));
    return true;
  });
}

bool read_profile(reader& read, const place& of, const known_plugins& known, const configuration_options& how,
                  scheduler_profile& out) {
  if (const value* name = of.at->find("schedulerName"); name != nullptr && name->kind == value_kind::text)
    out.scheduler_name = name->text;
  const std::string before = read.object();
  read.set_object("profile " + out.scheduler_name);
  out.where = fmt::format("{}:{}: {}", read.file(), of.at->line, read.object());
  profile_plugins plugins;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "schedulerName")
      return read.text(v, out.scheduler_name) &&
             (!out.scheduler_name.empty() || read.fail(errc::malformed, v, "is empty"));
    if (key == "plugins") return read_plugins(read, v, known, plugins);
    if (key == "pluginConfig") return read_plugin_config(read, v, known, out);
    if (key == "percentageOfNodesToScore") return read.integer(v, out.percentage_of_nodes_to_score.emplace(), 0, 100);
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  plugins.multi_point = merge_defaults(plugins.multi_point, how.gang_scheduling);
  for (const named_point& one : named_points()) {
    const auto index = static_cast<std::size_t>(one.at);
    std::vector<configured_plugin>& list = out.plugins[index];
    list = expand_point(plugins.at[index], plugins.multi_point, one.at, known);
    for (configured_plugin& plugin : list)
      plugin.weight = one.at == point::score ? std::max<std::int64_t>(1, plugin.weight) : 0;
    for (const configured_plugin& plugin : list)
      if (!known.points(plugin.name).has(one.at))
        return read.fail(errc::malformed, of, fmt::format("{} does not take part in {}", plugin.name, one.name));
  }
  for (std::size_t p = 0; p < point_count; ++p)
    if (!is_named(static_cast<point>(p)))
      out.plugins[p] = beside_kubernetes(plugins.multi_point, static_cast<point>(p), known, out);
  std::vector<std::string_view> missing;
  for (const auto& list : out.plugins) {
    for (const configured_plugin& plugin : list) {
      if (known.here(plugin.name) || plugin.name == "DefaultBinder") continue;  // the host binds
      if (std::find(missing.begin(), missing.end(), plugin.name) == missing.end()) missing.push_back(plugin.name);
    }
  }
  for (const std::string_view name : missing)
    static_cast<void>(read.warn(of, fmt::format("the plugin {} is not in the registry; it does nothing", name)));
  if (out.at(point::queue_sort).size() != 1)
    return read.fail(errc::malformed, of, "needs exactly one plugin that sorts the queue");
  read.set_object(before);
  return true;
}

bool read_seconds(reader& read, const place& of, instant& out) {
  std::int64_t seconds = 0;
  if (!read.integer(of, seconds, 0, 1'000'000'000)) return false;
  out = std::chrono::seconds{seconds};
  return true;
}

bool read_configuration(reader& read, const place& of, const known_plugins& known, const configuration_options& how,
                        scheduler_configuration& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "profiles") {
      return few_enough(read, v) && read.list(v, out.profiles, [&](const place& item, scheduler_profile& one) {
        const value* const name = item.at->find("schedulerName");
        if (v.at->items.size() > 1 && (name == nullptr || name->kind == value_kind::null))
          return read.fail(errc::malformed, item, "needs a schedulerName, as there are several profiles");
        if (!read_profile(read, item, known, how, one)) return false;
        for (const scheduler_profile& other : out.profiles)
          if (&other != &one && other.scheduler_name == one.scheduler_name)
            return read.fail(errc::duplicate, item, "there is a profile of that name already");
        return true;
      });
    }
    if (key == "podInitialBackoffSeconds") return read_seconds(read, v, out.initial_backoff);
    if (key == "podMaxBackoffSeconds") return read_seconds(read, v, out.max_backoff);
    if (key == "percentageOfNodesToScore") return read.integer(v, out.percentage_of_nodes_to_score.emplace(), 0, 100);
    if (key == "extenders") return v.at->items.empty() || read.warn(v, "extenders are the host's; they are left out");
    return read.ignore(
        key, v,
        {"apiVersion", "kind", "clientConnection", "delayCacheUntilActive", "enableContentionProfiling",
         "enableProfiling", "healthzBindAddress", "leaderElection", "metricsBindAddress", "parallelism"});
  });
  if (!fine) return false;
  if (out.initial_backoff <= instant::zero())
    return read.fail(errc::out_of_range, of, "podInitialBackoffSeconds has to be more than 0");
  if (out.max_backoff < out.initial_backoff)
    return read.fail(errc::out_of_range, of, "podMaxBackoffSeconds is less than podInitialBackoffSeconds");
  if (!out.profiles.empty()) return true;
  const value nothing{.kind = value_kind::object, .line = of.at->line};
  return read_profile(read, place{&nothing}, known, how, out.profiles.emplace_back());
}

}  // namespace detail

result<scheduler_configuration> read_configuration(const source& from, const plugin_registry& registry,
                                                   const configuration_options& how) {
  auto documents = parse(from, how.most);
  if (!documents) return std::move(documents).error();
  std::erase_if(*documents, [](const document& one) { return one.root.kind == value_kind::null; });
  value nothing{.kind = value_kind::object, .line = 1};
  const value& root = documents->empty() ? nothing : documents->front().root;
  scheduler_configuration made;
  detail::reader read{from.name, "KubeSchedulerConfiguration", &made.warnings};
  const detail::place top{&root};
  const value* kind = root.find("kind");
  const value* version = root.find("apiVersion");
  bool fine = true;
  if (documents->size() > 1)
    fine = read.fail(errc::malformed, top, "there is more than one document in the file");
  else if (!documents->empty() && !documents->front().repeated.empty())  // kube-scheduler decodes it strictly
    fine = read.fail(errc::duplicate, documents->front().repeated.front().line, {},
                     "\"" + documents->front().repeated.front().key + "\" is there twice");
  else if (kind != nullptr && kind->text != "KubeSchedulerConfiguration")
    fine = read.fail(errc::malformed, detail::place{kind, &top, "kind"},
                     "\"" + kind->text + "\" is not KubeSchedulerConfiguration");
  else if (version != nullptr && version->text != "kubescheduler.config.k8s.io/v1")
    fine = read.fail(errc::malformed, detail::place{version, &top, "apiVersion"},
                     "\"" + version->text + "\" is not kubescheduler.config.k8s.io/v1");
  if (!fine || !detail::read_configuration(read, top, detail::known_plugins{registry}, how, made))
    return std::move(read).failure();
  return made;
}

result<scheduler_profile> read_profile(const value& object, std::string_view file, const plugin_registry& registry,
                                       std::vector<warning>* warnings, const configuration_options& how) {
  detail::reader read{file, "profile", warnings};
  scheduler_profile made;
  if (!detail::read_profile(read, detail::place{&object}, detail::known_plugins{registry}, how, made))
    return std::move(read).failure();
  return made;
}

result<kernel_table> make_table(const scheduler_profile& profile, const plugin_registry& registry) {
  kernel_table made;
  made.scheduler_name = profile.scheduler_name;
  made.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score;
  const detail::known_plugins known{registry};
  std::vector<point_set> implemented;  // by plugin
  const auto index_of = [&](const std::string& name) {
    const auto found =
        std::find_if(made.plugins.begin(), made.plugins.end(), [&](const plugin_entry& e) { return e.name == name; });
    return static_cast<std::size_t>(found - made.plugins.begin());
  };
  const auto add = [&](std::size_t index, point at) {
    made.plugins[index].points.add(at);
    made.order[static_cast<std::size_t>(at)].push_back(static_cast<std::uint16_t>(index));
  };

  const auto has = [&](const std::string& name) { return index_of(name) < made.plugins.size(); };
  const auto make = [&](const std::string& name) -> result<void> {
    const argument none;
    const argument* args = &none;
    for (const auto& [of, given] : profile.arguments)
      if (of == name) args = &given;
    auto entry = registry.make(name, *args);
    if (!entry) {
      error wrong = std::move(entry).error();
      wrong.object = profile.where + ": " + wrong.object;
      return wrong;
    }
    implemented.push_back(std::exchange(entry->points, {}));
    made.plugins.push_back(std::move(*entry));
    return {};
  };

  for (const detail::named_point& named : detail::named_points()) {
    for (const configured_plugin& one : profile.at(named.at)) {
      if (!known.here(one.name) || has(one.name)) continue;
      if (auto fine = make(one.name); !fine) return std::move(fine).error();
    }
  }
  for (std::size_t p = 0; p < point_count; ++p) {
    if (detail::is_named(static_cast<point>(p))) continue;
    for (const configured_plugin& one : profile.plugins[p]) {
      if (has(one.name)) continue;
      if (auto fine = make(one.name); !fine) return std::move(fine).error();
    }
  }
  // There preemption for groups is a part of DefaultPreemption, once there are gangs.
  const std::string groups = "GroupPreemption";
  if (has("DefaultPreemption") && has("GangScheduling") && known.here(groups) && !has(groups)) {
    if (auto fine = make(groups); !fine) return std::move(fine).error();
  }
  for (const detail::named_point& named : detail::named_points()) {
    for (const configured_plugin& one : profile.at(named.at)) {
      const std::size_t index = index_of(one.name);
      // Ours may do with fewer points than Kubernetes'.
      if (index == made.plugins.size() || !implemented[index].has(named.at)) continue;
      add(index, named.at);
      if (named.at == point::score) made.plugins[index].weight = one.weight;
    }
  }
  // Points where Kubernetes' plugin has no part cannot be configured: they follow from being enabled.
  for (std::size_t index = 0; index < made.plugins.size(); ++index) {
    const detail::in_tree_plugin* in_tree = detail::find_in_tree(made.plugins[index].name);
    for (std::size_t p = 0; p < point_count; ++p) {
      const auto at = static_cast<point>(p);
      const bool configurable = detail::is_named(at) && (in_tree == nullptr || in_tree->points.has(at));
      if (implemented[index].has(at) && !configurable) add(index, at);
    }
  }
  // The first there decides, and DynamicResources, which is enabled by default, always has something to say.
  std::ranges::stable_partition(made.order[static_cast<std::size_t>(point::choose_devices)], [&](std::uint16_t index) {
    return detail::find_in_tree(made.plugins[index].name) == nullptr;
  });
  if (made.at(point::queue_sort).size() != 1)
    return error{errc::malformed, profile.where, "plugins", "needs exactly one plugin that sorts the queue"};
  if (made.at(point::queue_order).size() > 1)
    return error{errc::malformed, profile.where, "plugins", "may have one plugin that orders several queues, not more"};
  return made;
}

result<std::vector<kernel_table>> make_tables(const scheduler_configuration& configuration,
                                              const plugin_registry& registry) {
  std::vector<kernel_table> all;
  for (const scheduler_profile& profile : configuration.profiles) {
    auto made = make_table(profile, registry);
    if (!made) return std::move(made).error();
    if (!made->percentage_of_nodes_to_score)
      made->percentage_of_nodes_to_score = configuration.percentage_of_nodes_to_score;
    all.push_back(*std::move(made));
  }
  if (auto fine = scheduler::check(all); !fine) return std::move(fine).error();
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
