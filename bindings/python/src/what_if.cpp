#include <gangsched/fork.hpp>
#include <gangsched/what_if/autoscaling.hpp>

#include "fields.hpp"
#include "scheduler.hpp"

// Forks, and questions about nodes that are asked in them.
namespace bindings {
namespace {

using namespace gangsched;

nb::object fork(py_scheduler& of) {
  const copies_of_plugins copies;
  forked made = of.must(of.away([](const scheduler& core) { return core.fork(); }));
  // What hooks raise in the fork is not the original's.
  for (const auto& one : copies.all()) one->raised = std::make_shared<first_raised>();
  const nb::object cluster = nb::module_::import_("gangsched._cluster").attr("Cluster")();
  auto on = nb::cast<shared_cluster>(cluster);
  on->open() = std::move(made.cluster);
  const nb::object copy = nb::cast(
      py_scheduler{std::move(on), of.plugins, copies.all(), nullptr, std::optional{std::move(made.scheduler)}});
  return nb::module_::import_("gangsched._fork").attr("Fork")(cluster, copy);
}

template <class Id, class Ref>
std::vector<Id> ids_of(const cluster& in, const std::vector<Ref>& all) {
  std::vector<Id> made;
  for (const Ref& one : all) made.push_back(find(in, one));
  return made;
}

/// The dataclass NodeShape.
node_shape to_shape(nb::handle from) {
  node_shape made{.like = to_node_spec(from.attr("like"))};
  made.price = field<std::int64_t>(from, "price");
  if (const auto most = field<std::optional<std::uint32_t>>(from, "most")) made.most = *most;
  return made;
}

demand_answer ask_demand(py_scheduler& of, nb::handle shapes, nb::handle now, const std::vector<pod_ref>& pods,
                         const std::vector<group_ref>& groups, std::uint32_t most_nodes, std::uint32_t search_steps,
                         std::uint32_t most_trials) {
  std::vector<node_shape> all;
  for (const nb::handle one : nb::iter(shapes)) all.push_back(to_shape(one));
  const instant when = to_instant(now);
  const cluster& in = of.on->open();
  const auto whom = ids_of<pod_id>(in, pods);
  const auto which = ids_of<group_id>(in, groups);
  const demand_options options{.now = when,
                               .pods = whom,
                               .groups = which,
                               .most_nodes = most_nodes,
                               .search_steps = search_steps,
                               .most_trials = most_trials};
  return of.must(of.away([&](const scheduler& core) { return demand(core, all, options); }));
}

std::vector<removable_node> ask_removable(py_scheduler& of, nb::handle now,
                                          const std::optional<std::vector<node_ref>>& among,
                                          const std::vector<pod_ref>& stay) {
  const instant when = to_instant(now);
  const cluster& in = of.on->open();
  const auto nodes = among ? ids_of<node_id>(in, *among) : in.nodes();
  const auto fixed = ids_of<pod_id>(in, stay);
  const removal_options options{.now = when, .stay = fixed};
  return of.must(of.away([&](const scheduler& core) { return removable(core, nodes, options); }));
}

}  // namespace

void add_what_if(nb::module_& to, class_of_scheduler& by) {
  nb::class_<assignment>(to, "Assignment", "A node for a pod")
      .def_ro("pod", &assignment::pod)
      .def_ro("node", &assignment::node);
  nb::class_<demand_plan::added_node>(to, "AddedNode", "A node of a plan")
      .def_ro("shape", &demand_plan::added_node::shape, "The place of its shape among those that were asked about")
      .def_ro("pods", &demand_plan::added_node::pods, "That would run there");
  nb::class_<demand_plan>(to, "DemandPlan", "Nodes that make room for everybody for whom nodes can")
      .def_ro("price", &demand_plan::price)
      .def_ro("nodes", &demand_plan::nodes)
      .def_ro("elsewhere", &demand_plan::elsewhere, "Pods that would find room on nodes that there are, beside those")
      .def_ro("by_itself", &demand_plan::by_itself,
              "The scheduler finds these places, or as good ones, by itself. If not, it does if the pods are nominated "
              "(`Cluster.nominate`) to their nodes when these have come.");
  nb::class_<demand_answer>(to, "Demand", "Which nodes, and how many of them, make the waiting pods fit")
      .def_ro("plans", &demand_answer::plans,
              "Cheapest first: the best that was found, and the best of each shape alone")
      .def_ro("left", &demand_answer::left, "Whom no nodes of these shapes help, as many as there may be");
  nb::class_<removable_node>(to, "RemovableNode", "A node that can be drained after those before it in the list")
      .def_ro("node", &removable_node::node)
      .def_ro("moves", &removable_node::moves, "Where its pods would go");
  by.def("fork", &fork, nb::sig("def fork(self) -> object"),
         "A copy of the cluster and of the scheduler, for `with`. Raises wrong_state, where a plugin cannot be copied, "
         "and "
         "busy within a trial.")
      .def("demand", &ask_demand, "shapes"_a, "now"_a, nb::kw_only(), "pods"_a = std::vector<pod_ref>{},
           "groups"_a = std::vector<group_ref>{}, "most_nodes"_a = 256, "search_steps"_a = 200'000,
           "most_trials"_a = 64,
           nb::sig("def demand(self, shapes: collections.abc.Sequence[object], now: float, *, pods: "
                   "collections.abc.Sequence[PodId | str] = (), groups: collections.abc.Sequence[GroupId | str] = (), "
                   "most_nodes: int = 256, search_steps: int = 200000, most_trials: int = 64) -> Demand"),
           "Which nodes of these shapes, and how many of them, make the waiting pods fit (those that are named; none: "
           "all): gangs whole, topology and devices respected, nobody evicted. Each plan was tried in a fork, by the "
           "scheduler itself, which stays as it is.")
      .def("removable", &ask_removable, "now"_a, "among"_a = nb::none(), "stay"_a = std::vector<pod_ref>{},
           nb::sig("def removable(self, now: float, among: collections.abc.Sequence[NodeId | str] | None = None, stay: "
                   "collections.abc.Sequence[PodId | str] = ()) -> list[RemovableNode]"),
           "Which of the nodes, in this order (none: all), can be drained one after another with everybody placed "
           "elsewhere, disruption budgets honoured; pods of `stay` do not move. Each was tried in a fork, by the "
           "scheduler itself, which stays as it is.");
}

}  // namespace bindings
