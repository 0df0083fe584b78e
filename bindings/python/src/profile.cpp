#include <nanobind/stl/pair.h>
#include <gangsched/framework/plugin_entry.hpp>
#include <gangsched/kube/configuration.hpp>
#include <gangsched/profiles.hpp>

#include <algorithm>

#include "fields.hpp"
#include "plugins.hpp"

namespace bindings {
namespace {

using namespace gangsched;

/// Within the bounds of files: a list may be in itself, or in many others.
argument to_argument(nb::handle from, const std::string& plugin, std::size_t depth, std::size_t& values) {
  constexpr kube::limits most;
  if (++values > most.copied) raise({errc::out_of_range, plugin, "args", "has too many values"});
  if (from.is_none()) return {};
  if (PyBool_Check(from.ptr())) return argument{nb::cast<bool>(from)};
  if (PyLong_Check(from.ptr())) {
    std::int64_t whole = 0;
    if (!nb::try_cast(from, whole))
      raise({errc::out_of_range, plugin, "args", "has a number that does not fit into 64 bits"});
    return argument{whole};
  }
  if (PyFloat_Check(from.ptr())) return argument{nb::cast<double>(from)};
  if (nb::isinstance<nb::str>(from)) return argument{text_of(from, plugin, "args")};
  if (depth == most.depth) raise({errc::out_of_range, plugin, "args", "is nested too deeply"});
  if (nb::isinstance<nb::dict>(from)) {
    argument::fields made;
    for (const auto& [key, value] : nb::borrow<nb::dict>(from))
      made.emplace_back(text_of(key, plugin, "args"), to_argument(value, plugin, depth + 1, values));
    return argument{std::move(made)};
  }
  argument::list made;
  for (const nb::handle item : nb::iter(from)) made.push_back(to_argument(item, plugin, depth + 1, values));
  return argument{std::move(made)};
}

argument to_argument(nb::handle from, const std::string& plugin) {
  std::size_t values = 0;
  return to_argument(from, "plugin " + plugin, 0, values);
}

point point_called(const std::string& word) {
  static constexpr const char* words[] = {"queue_sort",
                                          "queue_order",
                                          "pre_enqueue",
                                          "requeue",
                                          "admission",
                                          "pre_filter",
                                          "filter",
                                          "post_filter",
                                          "pre_score",
                                          "score",
                                          "choose_devices",
                                          "reserve",
                                          "permit",
                                          "pre_bind",
                                          "bind",
                                          "post_bind",
                                          "group_pre_filter",
                                          "generate_placements",
                                          "placement_feasible",
                                          "score_placement",
                                          "group_preempt"};
  static_assert(std::size(words) == point_count);
  const auto found = std::find(std::begin(words), std::end(words), word);
  if (found == std::end(words)) raise({errc::unknown, "extension point " + word, "", "there is none of that name"});
  return static_cast<point>(found - std::begin(words));
}

/// One plugin at the end of a profile, of the library's by name or an object of Python's.
void add(py_profile& to, nb::handle plugin, std::int64_t weight, nb::handle args,
         const std::vector<std::string>& without) {
  const std::string object = "profile " + to.table.scheduler_name;
  if (weight < 0) raise({errc::out_of_range, object, "weight", "is negative"});
  const bool builtin = nb::isinstance<nb::str>(plugin);
  const std::string name = builtin ? text_of(plugin, object, "plugins") : std::string{};
  plugin_entry entry = builtin ? must(builtin_plugins().make(name, to_argument(args, name))) : to_entry(plugin, weight);
  if (weight != 0) entry.weight = weight;
  for (const std::string& word : without) entry.points.remove(point_called(word));
  const auto same = [&](const plugin_entry& one) { return one.name == entry.name; };
  if (std::any_of(to.table.plugins.begin(), to.table.plugins.end(), same))
    raise({errc::duplicate, object, "plugins", entry.name + " is enabled twice"});
  if (entry.points.has(point::queue_order) && !to.table.at(point::queue_order).empty())
    raise({errc::malformed, object, "plugins", "may have one plugin that orders several queues, not more"});
  add_plugin(to.table, std::move(entry));
  if (!builtin) to.plugins.push_back(nb::borrow(plugin));
}

/// The profiles of a KubeSchedulerConfiguration; @p plugins are registered under their names.
std::vector<py_profile> of_configuration(const std::string& text, const nb::list& plugins, const std::string& name) {
  plugin_registry registry = builtin_plugins();
  std::vector<nb::object> keep;
  for (const nb::handle one : plugins) {
    const plugin_entry entry = to_entry(one, 1);
    must(registry.add(entry.name, [entry](const argument&) -> result<plugin_entry> { return entry; }));
    keep.push_back(nb::borrow(one));
  }
  const kube::scheduler_configuration read = must(kube::read_configuration({name, text}, registry));
  std::vector<py_profile> made;
  for (kernel_table& table : must(kube::make_tables(read, registry))) made.push_back({std::move(table), keep});
  return made;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_plugins<py_profile>)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_plugins<py_profile>)},
                       {0, nullptr}};

}  // namespace

void add_profile(nb::module_& to) {
  nb::class_<py_profile>(to, "Profile", nb::type_slots(slots),
                         "Plugins in order. Pods go by the profile that has their `scheduler_name`.")
      .def(
          "__init__",
          [](py_profile* self, const std::string& scheduler_name) {
            new (self) py_profile;
            self->table.scheduler_name = scheduler_name;
          },
          "scheduler_name"_a = "default-scheduler",
          "One without plugins, to be filled with `add`; it needs one that sorts the queue.")
      .def_static(
          "default", [] { return py_profile{profiles::kube_default()}; },
          "kube-scheduler's plugins and weights, with gangs.")
      .def_static(
          "with_queues", [] { return py_profile{profiles::with_queues()}; },
          "The same for clusters with queues: FairShare, the library's own policy.")
      .def_static(
          "bin_packing", [](const std::string& resource) { return py_profile{profiles::bin_packing(resource)}; },
          "resource"_a = "nvidia.com/gpu", "Packs instead of spreading, by that resource above all.")
      .def_static("of_configuration", &of_configuration, "text"_a, "plugins"_a = nb::list(), "name"_a = "configuration",
                  "The profiles of a KubeSchedulerConfiguration in YAML or JSON, which may name `plugins` of yours.")
      .def(
          "add",
          [](nb::handle_t<py_profile> self, nb::handle plugin, std::int64_t weight, nb::handle args,
             const std::vector<std::string>& without) {
            add(nb::cast<py_profile&>(self), plugin, weight, args, without);
            return nb::borrow(self);
          },
          "plugin"_a, "weight"_a = 0, "args"_a = nb::none(), "without"_a = std::vector<std::string>{},
          nb::sig("def add(self, plugin: object, weight: int = 0, args: object | None = None, without: "
                  "collections.abc.Sequence[str] = ()) "
                  "-> Profile"),
          "Adds a plugin of the library's by name, or one of your own, at the end of each of its extension points but "
          "those in `without`. "
          "Weight 0 is the plugin's own. Returns the profile.")
      .def_prop_rw(
          "scheduler_name", [](const py_profile& of) { return of.table.scheduler_name; },
          [](py_profile& of, const std::string& name) { of.table.scheduler_name = name; })
      .def_prop_ro(
          "plugins",
          [](const py_profile& of) {
            std::vector<std::pair<std::string, std::int64_t>> all;
            for (const plugin_entry& one : of.table.plugins) all.emplace_back(one.name, one.weight);
            return all;
          },
          "Names and weights")
      .def("__repr__", [](const py_profile& of) {
        std::string text = "Profile(" + of.table.scheduler_name + ":";
        for (const plugin_entry& one : of.table.plugins) text += " " + one.name;
        return text + ")";
      });
  to.def(
      "builtin_plugins", [] { return builtin_plugins().names(); }, "Names of the library's plugins.");
}

}  // namespace bindings
