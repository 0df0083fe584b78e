#include "common.hpp"

#include <cmath>
#include <limits>

namespace bindings {

void raise(const gangsched::error& failure, nb::handle cause, nb::handle decisions) {
  if (cause.is_valid() && PyObject_IsInstance(cause.ptr(), PyExc_Exception) == 0) {  // an interrupt goes through
    if (decisions.is_valid() && PyObject_SetAttrString(cause.ptr(), "decisions", decisions.ptr()) != 0) PyErr_Clear();
    PyErr_SetObject(cause.type().ptr(), cause.ptr());
    throw nb::python_error();
  }
  const nb::object kind = nb::module_::import_("gangsched._errors").attr("Error");
  const std::string_view code = gangsched::to_string(failure.code);
  const nb::object made =
      kind(nb::str(code.data(), code.size()), failure.object, failure.field, failure.reason, failure.message());
  if (decisions.is_valid()) made.attr("decisions") = decisions;
  if (cause.is_valid()) {
    made.attr("__cause__") = cause;
    made.attr("__suppress_context__") = true;
  }
  PyErr_SetObject(kind.ptr(), made.ptr());
  throw nb::python_error();
}

void py_cluster::raise_busy() {
  raise({gangsched::errc::busy, "cluster", "", "another thread is in a call on it or its scheduler"});
}

void py_cluster::check_idle(const char* object) {
  static_cast<void>(open());
  if (runs_in_ != 0) raise({gangsched::errc::busy, object, "", "a hook is running"});
}

std::size_t py_cluster::open_trial() {
  check_idle("trial");
  trials_.reserve(trials_.size() + 1);
  trials_.push_back({std::make_unique<gangsched::transaction>(state_)});
  return trials_.size();
}

void py_cluster::end_trial(std::size_t number, bool keep) {
  check_idle("trial");
  if (number != trials_.size())
    raise({gangsched::errc::wrong_state, "trial", "", "another one was opened within it and is still open"});
  if (keep) trials_.back().what->commit();
  trials_.pop_back();
  undo_dropped();
}

void py_cluster::drop_trial(std::size_t number) noexcept {
  trials_[number - 1].dropped = true;
  undo_dropped();
}

void py_cluster::undo_dropped() noexcept {
  while (runs_in_ == 0 && !trials_.empty() && trials_.back().dropped) trials_.pop_back();
}

namespace {

template <class Id>
gangsched::result<Id> known(std::optional<Id> found, const char* kind, const std::string& name) {
  if (!found)
    return gangsched::error{gangsched::errc::unknown, std::string{kind} + " " + name, "", "there is none of that name"};
  return *found;
}

}  // namespace

std::pair<std::string, std::string> split_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {"default", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

gangsched::result<gangsched::node_id> look_up(const cluster& in, const node_ref& node) {
  if (const auto* id = std::get_if<gangsched::node_id>(&node)) return *id;
  const std::string& name = std::get<std::string>(node);
  return known(in.find_node(name), "node", name);
}

gangsched::result<gangsched::pod_id> look_up(const cluster& in, const pod_ref& pod) {
  if (const auto* id = std::get_if<gangsched::pod_id>(&pod)) return *id;
  const auto [ns, name] = split_name(std::get<std::string>(pod));
  return known(in.find_pod(ns, name), "pod", ns + "/" + name);
}

gangsched::result<gangsched::group_id> look_up(const cluster& in, const group_ref& group) {
  if (const auto* id = std::get_if<gangsched::group_id>(&group)) return *id;
  const auto [ns, name] = split_name(std::get<std::string>(group));
  auto found = in.find_group(ns, name);
  if (!found) found = in.find_group(ns, name, true);
  return known(found, "group", ns + "/" + name);
}

gangsched::result<gangsched::queue_id> look_up(const cluster& in, const queue_ref& queue) {
  if (const auto* id = std::get_if<gangsched::queue_id>(&queue)) return *id;
  const std::string& name = std::get<std::string>(queue);
  return known(in.queues().find(name), "queue", name);
}

gangsched::result<gangsched::resource_claim_id> look_up(const cluster& in, const std::string& ns,
                                                        const claim_ref& claim) {
  if (const auto* id = std::get_if<gangsched::resource_claim_id>(&claim)) return *id;
  const std::string& name = std::get<std::string>(claim);
  const auto [space, short_name] = name.find('/') == std::string::npos ? std::pair{ns, name} : split_name(name);
  return known(in.find_resource_claim(space, short_name), "resource claim", space + "/" + short_name);
}

gangsched::instant to_instant(nb::handle seconds) {
  constexpr std::int64_t nanos = 1'000'000'000;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (PyLong_Check(seconds.ptr())) {
    int beyond = 0;
    const std::int64_t whole = PyLong_AsLongLongAndOverflow(seconds.ptr(), &beyond);
    if (beyond == 0 && whole <= most / nanos && whole >= -(most / nanos)) return gangsched::instant{whole * nanos};
  } else {
    const double exact = PyFloat_AsDouble(seconds.ptr());
    if (exact == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (std::abs(exact) < static_cast<double>(most / nanos))
      return gangsched::instant{std::llround(exact * static_cast<double>(nanos))};
  }
  raise({gangsched::errc::out_of_range, "time", "", "is not within 292 years of the epoch"});
}

double to_seconds(gangsched::instant time) { return std::chrono::duration<double>{time}.count(); }

namespace {

template <class Id>
void add_id(nb::module_& to, const char* name, const char* doc) {
  nb::class_<Id>(to, name, doc)
      .def_ro("row", &Id::row, "The place in its table, which is used again when the object is gone")
      .def_ro("generation", &Id::generation, "Tells apart who had the row")
      .def("__bool__", [](const Id& id) { return static_cast<bool>(id); })
      .def(
          "__eq__",
          [](const Id& id, nb::handle other) { return nb::isinstance<Id>(other) && nb::cast<Id>(other) == id; },
          "other"_a, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Id& id) { return (std::uint64_t{id.generation} << 32 | id.row) * 0x9e3779b97f4a7c15u >> 1; })
      .def("__repr__", [name](const Id& id) {
        return std::string{name} +
               (id ? "(" + std::to_string(id.row) + ", " + std::to_string(id.generation) + ")" : "()");
      });
}

}  // namespace

void add_ids(nb::module_& to) {
  add_id<gangsched::node_id>(to, "NodeId", "Names a node until it is removed");
  add_id<gangsched::pod_id>(to, "PodId", "Names a pod until it is removed");
  add_id<gangsched::group_id>(to, "GroupId", "Names a group until it is removed");
  add_id<gangsched::resource_claim_id>(to, "ResourceClaimId", "Names a claim of devices until it is removed");
  add_id<gangsched::queue_id>(to, "QueueId", "Names a queue until it is removed");
}

}  // namespace bindings
