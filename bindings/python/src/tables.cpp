#include "tables.hpp"

#include <gangsched/model/cluster_queues.hpp>

#include <type_traits>

#include "arrays.hpp"

namespace bindings {

using namespace gangsched;

node_table::node_table(const cluster& in, std::vector<std::string> of) : ids(in.nodes()), resources(std::move(of)) {
  const std::size_t size = ids.size() * resources.size();
  allocatable.reserve(size), requested.reserve(size), free.reserve(size);
  for (const node_id id : ids) {
    names.emplace_back(in.name_of(id));
    for (const std::string& resource : resources) {
      allocatable.push_back(in.allocatable(id, resource));
      requested.push_back(in.requested(id, resource));
      free.push_back(allocatable.back() - requested.back());
    }
  }
}

pod_table::pod_table(const cluster& in) : ids(in.pods()) {
  const queue_questions queues_of = in.queues();
  for (const pod_id id : ids) {
    names.emplace_back(in.name_of(id));
    state.push_back(static_cast<std::uint8_t>(in.state_of(id)));
    priority.push_back(in.priority_of(id));
    const node_id where = in.node_of(id);
    node.push_back(where.row);
    node_names.emplace_back(where ? in.name_of(where) : std::string_view{});
    attempt.push_back(static_cast<std::uint64_t>(in.attempt_of(id)));
    cookie.push_back(in.cookie_of(id));
    queues.emplace_back(queues_of.name_of(queues_of.queue_of(id)));
  }
}

void add_tables(nb::module_& to) {
  nb::class_<node_table>(to, "NodeTable", "Nodes as they were when it was made. Arrays are views of it.")
      .def_ro("ids", &node_table::ids)
      .def_ro("names", &node_table::names)
      .def_ro("resources", &node_table::resources, "Of the columns of the arrays")
      .def_prop_ro(
          "allocatable",
          [](nb::handle_t<node_table> self) {
            const auto& of = nb::cast<node_table&>(self);
            return view_of<std::int64_t, nb::ndim<2>>(of.allocatable, {of.ids.size(), of.resources.size()}, self);
          },
          "nodes × resources: cpu in milli, everything else in whole units")
      .def_prop_ro(
          "requested",
          [](nb::handle_t<node_table> self) {
            const auto& of = nb::cast<node_table&>(self);
            return view_of<std::int64_t, nb::ndim<2>>(of.requested, {of.ids.size(), of.resources.size()}, self);
          },
          "nodes × resources")
      .def_prop_ro(
          "free",
          [](nb::handle_t<node_table> self) {
            const auto& of = nb::cast<node_table&>(self);
            return view_of<std::int64_t, nb::ndim<2>>(of.free, {of.ids.size(), of.resources.size()}, self);
          },
          "nodes × resources: allocatable less requested")
      .def(
          "to_pandas",
          [](nb::handle self) { return nb::module_::import_("gangsched._frames").attr("nodes_to_pandas")(self); },
          nb::sig("def to_pandas(self) -> pandas.DataFrame"),
          "A row a node; columns allocatable_R, requested_R and free_R for each resource R.")
      .def(
          "to_arrow", [](nb::handle self) { return nb::module_::import_("gangsched._frames").attr("to_arrow")(self); },
          nb::sig("def to_arrow(self) -> pyarrow.Table"), "The same as a table of Arrow.")
      .def("__len__", [](const node_table& of) { return of.ids.size(); });

  const auto view = [](auto member) {
    return [member](nb::handle_t<pod_table> self) {
      const auto& data = nb::cast<pod_table&>(self).*member;
      using T = typename std::remove_cvref_t<decltype(data)>::value_type;
      return view_of<T, nb::ndim<1>>(data, {data.size()}, self);
    };
  };
  nb::class_<pod_table>(to, "PodTable", "Pods as they were when it was made. Arrays are views of it.")
      .def_ro("ids", &pod_table::ids)
      .def_ro("names", &pod_table::names)
      .def_ro("node_names", &pod_table::node_names, "Of its node; empty if it has none")
      .def_ro("queues", &pod_table::queues, "Of its queue; empty if it is in none")
      .def_prop_ro("state", view(&pod_table::state), "1 pending, 2 assumed, 3 bound")
      .def_prop_ro("priority", view(&pod_table::priority))
      .def_prop_ro("node", view(&pod_table::node), "The row of its node; 4294967295 if it has none")
      .def_prop_ro("attempt", view(&pod_table::attempt), "By which it has its node; 0 if it has none, or came with it")
      .def_prop_ro("cookie", view(&pod_table::cookie))
      .def(
          "to_pandas",
          [](nb::handle self) { return nb::module_::import_("gangsched._frames").attr("pods_to_pandas")(self); },
          nb::sig("def to_pandas(self) -> pandas.DataFrame"), "A row a pod.")
      .def(
          "to_arrow", [](nb::handle self) { return nb::module_::import_("gangsched._frames").attr("to_arrow")(self); },
          nb::sig("def to_arrow(self) -> pyarrow.Table"), "The same as a table of Arrow.")
      .def("__len__", [](const pod_table& of) { return of.ids.size(); });
}

}  // namespace bindings
