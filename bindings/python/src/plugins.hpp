#pragma once
#include <gangsched/framework/plugin_entry.hpp>
#include <gangsched/framework/registry.hpp>
#include <gangsched/framework/views.hpp>

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common.hpp"

namespace bindings {

/// What hooks of a plugin, and of its copies, raised first since somebody asked.
struct first_raised {
  nb::object what;

  first_raised() = default;
  first_raised(const first_raised&) = delete;
  first_raised& operator=(const first_raised&) = delete;
  ~first_raised();
};

/// A plugin in Python, as its kernels see it. They hold no reference: whoever has the profile keeps the object (`py_profile::plugins`).
struct plugin_state {
  nb::handle self;
  std::string name;
  gangsched::reads may_read = gangsched::reads::everything;
  std::vector<std::string> columns;                                          ///< of nodes, by the host
  std::vector<gangsched::by_host<gangsched::node_column>> attached_columns;  ///< the same, in that order
  std::unordered_map<std::string, std::int64_t> queue_numbers;
  std::vector<std::string> queue_names;  ///< by number
  std::shared_ptr<first_raised> raised = std::make_shared<first_raised>();
};

/// A profile, and the Python objects that its plugins call.
struct py_profile {
  gangsched::kernel_table table;
  std::vector<nb::object> plugins = {};
};

/// A plugin of Python's ready for a table; the caller keeps the object. Throws malformed, if it has no hook.
[[nodiscard]] gangsched::plugin_entry to_entry(nb::handle plugin, std::int64_t weight);

/// Those of Python's among @p plugins.
[[nodiscard]] std::vector<std::shared_ptr<plugin_state>> states_in(std::span<const gangsched::plugin_entry> plugins);

/// The copies of Python's plugins that are made on this thread while it lives.
class copies_of_plugins {
 public:
  copies_of_plugins();
  copies_of_plugins(const copies_of_plugins&) = delete;
  copies_of_plugins& operator=(const copies_of_plugins&) = delete;
  ~copies_of_plugins();
  [[nodiscard]] const std::vector<std::shared_ptr<plugin_state>>& all() const noexcept { return made_; }
  static void add(const std::shared_ptr<plugin_state>& made);

 private:
  std::vector<std::shared_ptr<plugin_state>> made_;
  copies_of_plugins* before_;
};

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
template <class Holder>
int clear_plugins(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Holder>(self)->plugins.clear();
  return 0;
}

}  // namespace bindings
