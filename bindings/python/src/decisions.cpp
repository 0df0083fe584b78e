#include "decisions.hpp"

#include <nanobind/make_iterator.h>
#include <nanobind/stl/map.h>

#include <map>

#include "arrays.hpp"

namespace bindings {

using namespace gangsched;

void decision_batch::add(const cluster& in, const decision& made) {
  rows.push_back({static_cast<std::uint8_t>(made.kind), static_cast<std::uint8_t>(made.code), 0, made.rank,
                  made.pod.row, made.pod.generation, made.node.row, made.node.generation, made.group.row,
                  made.group.generation, made.score, static_cast<std::uint64_t>(made.attempt), made.annotation,
                  made.pod_cookie, made.node_cookie});
  pods.emplace_back(in.name_of(made.pod));
  nodes.emplace_back(made.node ? in.name_of(made.node) : std::string_view{});
  groups.emplace_back(made.group ? in.name_of(made.group) : std::string_view{});
  reasons.emplace_back(made.reason == nullptr ? "" : made.reason);
  std::vector<std::string>& its = devices.emplace_back();
  for (const device_grant& grant : made.devices) its.emplace_back(in.name_of(made.node, grant));
}

std::string code_name(code of) {
  static constexpr const char* names[] = {"success", "error", "unschedulable", "unresolvable",
                                          "wait",    "skip",  "pending"};
  return names[static_cast<std::size_t>(of)];
}

namespace {

const decision_batch& batch_of(const decision_seen& of) { return *nb::inst_ptr<decision_batch>(of.batch); }
const decision_row& row_of(const decision_seen& of) { return batch_of(of).rows[of.at]; }
std::string kind_of(const decision_row& of) { return std::string{to_string(static_cast<decision_kind>(of.kind))}; }

template <class Id>
std::optional<Id> named(std::uint32_t row, std::uint32_t generation) {
  const Id id{row, generation};
  return id ? std::optional{id} : std::nullopt;
}

decision_seen at(nb::handle_t<decision_batch> self, Py_ssize_t index) {
  const auto count = static_cast<Py_ssize_t>(nb::cast<decision_batch&>(self).rows.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error();
  return {nb::borrow(self), static_cast<std::size_t>(index)};
}

}  // namespace

void add_decisions(nb::module_& to) {
  nb::class_<decision_seen>(to, "Decision", "What the host is to do")
      .def_prop_ro(
          "kind", [](const decision_seen& of) { return kind_of(row_of(of)); },
          "bind, wait, nominate, evict, reject, revoke, notice or withdraw")
      .def_prop_ro("pod",
                   [](const decision_seen& of) {
                     return pod_id{row_of(of).pod, row_of(of).pod_generation};
                   })
      .def_prop_ro("node",
                   [](const decision_seen& of) { return named<node_id>(row_of(of).node, row_of(of).node_generation); })
      .def_prop_ro(
          "group",
          [](const decision_seen& of) { return named<group_id>(row_of(of).group, row_of(of).group_generation); })
      .def_prop_ro("pod_name", [](const decision_seen& of) { return batch_of(of).pods[of.at]; })
      .def_prop_ro(
          "node_name", [](const decision_seen& of) { return batch_of(of).nodes[of.at]; }, "Empty without a node")
      .def_prop_ro("group_name", [](const decision_seen& of) { return batch_of(of).groups[of.at]; })
      .def_prop_ro(
          "score", [](const decision_seen& of) { return row_of(of).score; }, "The weighted sum of the chosen node")
      .def_prop_ro(
          "code", [](const decision_seen& of) { return code_name(static_cast<code>(row_of(of).code)); }, "Of a reject")
      .def_prop_ro(
          "reason", [](const decision_seen& of) { return batch_of(of).reasons[of.at]; },
          "Of a reject, revoke, notice or evict, if one text says it; `Scheduler.explain` says more")
      .def_prop_ro(
          "attempt", [](const decision_seen& of) { return row_of(of).attempt; },
          "The reservation that this is about; 0: none")
      .def_prop_ro(
          "rank", [](const decision_seen& of) { return row_of(of).rank; }, "Of the pod in its group; -1: none")
      .def_prop_ro("annotation", [](const decision_seen& of) { return row_of(of).annotation; })
      .def_prop_ro("pod_cookie", [](const decision_seen& of) { return row_of(of).pod_cookie; })
      .def_prop_ro("node_cookie", [](const decision_seen& of) { return row_of(of).node_cookie; })
      .def_prop_ro(
          "devices", [](const decision_seen& of) { return batch_of(of).devices[of.at]; },
          "Ids of the devices that the pod has there")
      .def("__repr__", [](const decision_seen& of) {
        std::string text = "Decision(" + kind_of(row_of(of)) + " " + batch_of(of).pods[of.at];
        if (!batch_of(of).nodes[of.at].empty()) text += " to " + batch_of(of).nodes[of.at];
        return text + ")";
      });

  const auto names = [](auto member) { return [member](const decision_batch& of) { return of.*member; }; };
  nb::class_<decision_batch>(to, "Decisions", "What calls of a scheduler decided, in order; good for ever")
      .def_ro("worked", &decision_batch::worked,
              "Whether there was anything to do: false ends a loop over `schedule_cycle`")
      .def("__len__", [](const decision_batch& of) { return of.rows.size(); })
      .def("__getitem__", &at, "index"_a)
      .def(
          "__iter__",
          [](nb::handle_t<decision_batch> self) {
            nb::list all;
            for (std::size_t i = 0; i < nb::cast<decision_batch&>(self).rows.size(); ++i)
              all.append(decision_seen{nb::borrow(self), i});
            return nb::iter(all);
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Decision]"))
      .def_prop_ro("pod_names", names(&decision_batch::pods))
      .def_prop_ro("node_names", names(&decision_batch::nodes))
      .def_prop_ro("group_names", names(&decision_batch::groups))
      .def_prop_ro("reasons", names(&decision_batch::reasons))
      .def(
          "count",
          [](const decision_batch& of) {
            nb::dict made;
            for (unsigned kind = 0; kind <= static_cast<unsigned>(decision_kind::withdraw); ++kind) {
              std::size_t number = 0;
              for (const decision_row& row : of.rows) number += row.kind == kind;
              const std::string_view word = to_string(static_cast<decision_kind>(kind));
              if (number > 0) made[nb::str(word.data(), word.size())] = number;
            }
            return made;
          },
          nb::sig("def count(self) -> dict[str, int]"), "How many of each kind.")
      .def("_bytes",
           [](nb::handle_t<decision_batch> self) {
             const auto& rows = nb::cast<decision_batch&>(self).rows;
             const auto* const data = reinterpret_cast<const std::uint8_t*>(rows.data());
             return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(data, {rows.size() * sizeof(decision_row)},
                                                                            self);
           })
      .def(
          "to_numpy",
          [](nb::handle self) { return nb::module_::import_("gangsched._frames").attr("decisions_to_numpy")(self); },
          nb::sig("def to_numpy(self) -> numpy.ndarray"),
          "A structured array (dtype `gangsched.DECISION`): a view of these, which it keeps, to be read only.")
      .def(
          "to_pandas",
          [](nb::handle self) { return nb::module_::import_("gangsched._frames").attr("decisions_to_pandas")(self); },
          nb::sig("def to_pandas(self) -> pandas.DataFrame"), "A row a decision, with names.")
      .def(
          "to_arrow", [](nb::handle self) { return nb::module_::import_("gangsched._frames").attr("to_arrow")(self); },
          nb::sig("def to_arrow(self) -> pyarrow.Table"), "The same as a table of Arrow.")
      .def("__repr__", [](const decision_batch& of) { return "Decisions(" + std::to_string(of.rows.size()) + ")"; });
}

}  // namespace bindings
