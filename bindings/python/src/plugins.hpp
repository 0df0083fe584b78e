#pragma once
#include <gangsched/framework/plugin_entry.hpp>
#include <gangsched/framework/registry.hpp>
#include <gangsched/framework/views.hpp>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common.hpp"

namespace bindings {

/// A plugin in Python, as its kernels see it. They hold no reference: whoever has the profile keeps the object (`py_profile::plugins`).
struct plugin_state {
  nb::handle self;
  std::string name;
  gangsched::reads may_read = gangsched::reads::everything;
  std::vector<std::string> columns;                                          ///< of nodes, by the host
  std::vector<gangsched::by_host<gangsched::node_column>> attached_columns;  ///< the same, in that order
  std::unordered_map<std::string, std::int64_t> queue_numbers;
  std::vector<std::string> queue_names;  ///< by number
  nb::object raised;                     ///< what a hook raised first since somebody asked
  const void* kernel = nullptr;          ///< its `plugin_entry::self`

  plugin_state() = default;
  plugin_state(const plugin_state&) = delete;
  plugin_state& operator=(const plugin_state&) = delete;
  ~plugin_state();
};

/// A profile, and the Python objects that it calls. What plugins keep is about one cluster (the numbers of their columns), so that each
/// scheduler has plugins of its own: `base` makes the first ones of the table anew, and `added` those of the library's behind them.
struct py_profile {
  gangsched::kernel_table table;
  std::function<gangsched::kernel_table()> base = {};
  std::vector<std::function<gangsched::plugin_entry()>> added = {};  ///< null for those of Python
  std::vector<nb::object> plugins = {};
  std::vector<std::shared_ptr<plugin_state>> states = {};
};

/// A plugin of Python's ready for a table, which is to be kept with @p keep. Throws malformed, if it has no hook.
[[nodiscard]] gangsched::plugin_entry to_entry(nb::handle plugin, std::int64_t weight, py_profile& keep);

/// The same profile for a scheduler of its own.
[[nodiscard]] py_profile own_copy(const py_profile& of);

/// What a hook raised lately, which is forgotten; an invalid object if none did.
[[nodiscard]] nb::object take_raised(const std::vector<std::shared_ptr<plugin_state>>& of);

/// Visits the plugins of a holder, for Python's collector of cycles.
template <class Holder>
int visit_plugins(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const nb::object& one : nb::inst_ptr<Holder>(self)->plugins) Py_VISIT(one.ptr());
  return 0;
}

}  // namespace bindings
