#pragma once
#include "common.hpp"

#include <initializer_list>

/// What is read out of dataclasses.
namespace bindings {

template <class T>
T field(nb::handle of, const char* name) {
  const nb::object value = nb::getattr(of, name);
  T made;
  if (!nb::try_cast(value, made)) {
    raise({gangsched::errc::malformed, nb::cast<std::string>(nb::str(of.type().attr("__name__"))), name,
           "cannot be " + nb::cast<std::string>(nb::repr(value))});
  }
  return made;
}

/// What Python writes for it. Throws malformed, if that is no Unicode: half of a pair of surrogates.
[[nodiscard]] inline std::string text_of(nb::handle value, const std::string& object, const std::string& where) {
  const nb::object text = nb::str(value);
  std::string made;
  if (!nb::try_cast(text, made))
    raise({gangsched::errc::malformed, object, where, "is no text: " + nb::cast<std::string>(nb::repr(text))});
  return made;
}

/// What a method of a number gave, which may have raised instead.
[[nodiscard]] inline nb::object not_raised(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

[[nodiscard]] inline Py_ssize_t size_of(nb::handle list) {
  const Py_ssize_t size = PyObject_Size(list.ptr());
  if (size < 0) throw nb::python_error();
  return size;
}

template <class Choice>
Choice one_of(const std::string& word, std::initializer_list<std::pair<const char*, Choice>> words,
              const std::string& object, const char* where) {
  std::string all;
  for (const auto& [known, choice] : words) {
    if (word == known) return choice;
    all += (all.empty() ? "" : ", ") + std::string{known};
  }
  raise({gangsched::errc::malformed, object, where, "\"" + word + "\" is none of " + all});
}

// Dataclasses of _devices.py, of @p object.
[[nodiscard]] gangsched::node_devices to_devices(nb::handle from, const std::string& object);
[[nodiscard]] std::vector<gangsched::device_request> to_device_requests(nb::handle from, const std::string& object);
[[nodiscard]] std::vector<gangsched::device_constraint> to_device_constraints(nb::handle from);
[[nodiscard]] gangsched::pod_volumes to_volumes(nb::handle from);
[[nodiscard]] gangsched::node_numa to_numa(nb::handle from, const std::string& object);
[[nodiscard]] gangsched::mig_table to_mig_table(nb::handle from, const std::string& object);
/// The CPUs that a Pod of _specs.py wants bound.
[[nodiscard]] gangsched::cpu_binding to_cpu_binding(nb::handle pod, const std::string& object);

}  // namespace bindings
