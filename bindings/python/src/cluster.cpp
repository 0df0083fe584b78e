#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <gangsched/devices/device_inventory.hpp>
#include <gangsched/kube/manifests.hpp>
#include <gangsched/model/device_alternatives.hpp>

#include <map>
#include <set>
#include <string_view>
#include <type_traits>

#include "arrays.hpp"
#include "tables.hpp"

namespace bindings {
namespace {

using namespace gangsched;

const char* state_name(pod_state state) {
  switch (state) {
    case pod_state::none: return "none";
    case pod_state::pending: return "pending";
    case pod_state::assumed: return "assumed";
    case pod_state::bound: return "bound";
  }
  return "none";
}

/// Everything of text, or nothing. Returns what was left out.
std::vector<std::string> apply_texts(cluster& to, const std::vector<std::pair<std::string, std::string>>& texts,
                                     bool defaulting, bool expand) {
  std::vector<kube::source> files;
  for (const auto& [name, text] : texts) files.push_back({name, text});
  const kube::manifests read = must(kube::read(files, {.defaulting = defaulting, .expand = expand}));
  must(kube::apply(to, read));
  std::vector<std::string> warnings;
  for (const kube::warning& one : read.warnings) warnings.push_back(one.message());
  return warnings;
}

/// A transaction from `with` to its end. It keeps the cluster.
class trial {
 public:
  explicit trial(shared_cluster on) : on_(std::move(on)) {}
  trial(trial&&) = default;
  trial& operator=(trial&&) = delete;
  ~trial() {
    if (on_ != nullptr && number_ != 0) on_->drop_trial(number_);
  }
  void enter() {
    if (number_ != 0) raise({errc::wrong_state, "trial", "", "is entered already"});
    number_ = on_->open_trial();
  }
  void leave() {
    if (number_ != 0) end(false);
  }
  void commit() {
    if (number_ == 0) raise({errc::wrong_state, "trial", "", "is not open"});
    end(true);
  }
  [[nodiscard]] const shared_cluster& on() const noexcept { return on_; }

 private:
  void end(bool keep) {
    on_->end_trial(number_, keep);
    number_ = 0;
  }
  shared_cluster on_;
  std::size_t number_ = 0;  ///< of the cluster's open ones; 0: it is not open
};

/// A call whose spec may name groups that are expected from then on: nothing stays of it if it is refused. The transaction is over before
/// the error is raised, which runs code of Python's.
template <class Call>
auto whole(cluster& on, const Call& call) {
  auto said = [&] {
    transaction all{on};
    auto made = call(on);
    if (made) all.commit();
    return made;
  }();
  return must(std::move(said));
}

/// All of them, or none.
template <class Id, class Spec, class Add>
result<std::vector<Id>> add_all(cluster& in, const std::vector<Spec>& specs, const Add& add) {
  std::vector<Id> made;
  for (const Spec& one : specs) {
    auto added = add(in, one);
    if (!added) return added.error();
    made.push_back(*added);
  }
  return made;
}

result<pod_id> add_pod(cluster& in, const made_in<pod_spec>& spec) {
  auto made = spec(in);
  if (!made) return made.error();
  return in.add_pod(*std::move(made));
}

// The words of a column, by whose it is.
template <class Ref>
auto set_word = [](py_cluster& of, const Ref& ref, const std::string& column, std::int64_t value) {
  cluster& in = of.open();
  must(in.set_column(find(in, ref), column, value));
};
template <class Ref>
auto get_word = [](py_cluster& of, const Ref& ref, const std::string& column) {
  cluster& in = of.open();
  return in.column_of(find(in, ref), column);
};

using class_of_cluster = nb::class_<py_cluster>;

void add_nodes(class_of_cluster& to) {
  to.def(
        "_add_node",
        [](py_cluster& of, nb::handle spec) {
          node_spec made = to_node_spec(spec);
          return must(of.open().add_node(std::move(made)));
        },
        "spec"_a)
      .def(
          "_add_nodes",
          [](py_cluster& of, const nb::list& specs) {
            std::vector<node_spec> all;
            for (const nb::handle one : specs) all.push_back(to_node_spec(one));
            return whole(of.open(), [&](cluster& on) {
              return add_all<node_id>(on, all, [](cluster& in, const node_spec& one) { return in.add_node(one); });
            });
          },
          "specs"_a)
      .def(
          "_update_node",
          [](py_cluster& of, const node_ref& node, nb::handle spec) {
            node_spec made = to_node_spec(spec);
            must(of.open().update_node(find(of.open(), node), std::move(made)));
          },
          "node"_a, "spec"_a)
      .def(
          "remove_node",
          [](py_cluster& of, const node_ref& node) { return must(of.open().remove_node(find(of.open(), node))); },
          "node"_a,
          "Removes the node and the pods that are bound there, which are returned; what was assumed there is pending "
          "again.")
      .def(
          "allocatable",
          [](py_cluster& of, const node_ref& node, const std::string& resource) {
            return of.open().allocatable(find(of.open(), node), resource);
          },
          "node"_a, "resource"_a,
          "How much of a resource the node has for pods: cpu in milli, everything else in whole units.")
      .def(
          "requested",
          [](py_cluster& of, const node_ref& node, const std::string& resource) {
            return of.open().requested(find(of.open(), node), resource);
          },
          "node"_a, "resource"_a, "How much of it the pods there have requested, in the same units.")
      .def(
          "gpu_free_milli",
          [](py_cluster& of, const node_ref& node) {
            const device_state state = of.open().devices_of(find(of.open(), node));
            std::vector<std::int32_t> free;
            for (std::uint32_t gpu = 0; gpu < state.gpu_count(); ++gpu) free.push_back(state.free_milli(gpu));
            return array_of(std::move(free));
          },
          "node"_a, "Thousandths that nobody has of each GPU that the node tells of.")
      .def(
          "find_node", [](py_cluster& of, const std::string& name) { return of.open().find_node(name); }, "name"_a)
      .def(
          "_node_table",
          [](py_cluster& of, std::vector<std::string> resources) {
            return node_table{of.open(), std::move(resources)};
          },
          "resources"_a);
}

void add_pods(class_of_cluster& to) {
  to.def(
        "_add_pod",
        [](py_cluster& of, nb::handle spec) {
          const made_in<pod_spec> made = to_pod_spec(spec);
          return whole(of.open(), [&](cluster& in) { return add_pod(in, made); });
        },
        "spec"_a)
      .def(
          "_add_pods",
          [](py_cluster& of, const nb::list& specs) {
            std::vector<made_in<pod_spec>> all;
            for (const nb::handle one : specs) all.push_back(to_pod_spec(one));
            return whole(of.open(), [&](cluster& in) { return add_all<pod_id>(in, all, add_pod); });
          },
          "specs"_a)
      .def(
          "_update_pod",
          [](py_cluster& of, const pod_ref& pod, nb::handle spec) {
            const made_in<pod_spec> made = to_pod_spec(spec);
            const pod_id id = find(of.open(), pod);
            whole(of.open(), [&](cluster& in) -> result<void> {
              auto given = made(in);
              if (!given) return given.error();
              return in.update_pod(id, *std::move(given));
            });
          },
          "pod"_a, "spec"_a)
      .def(
          "remove_pod", [](py_cluster& of, const pod_ref& pod) { must(of.open().remove_pod(find(of.open(), pod))); },
          "pod"_a, "The pod is gone: what it held is free.")
      .def(
          "set_terminating",
          [](py_cluster& of, const pod_ref& pod, bool preempted) {
            must(of.open().set_terminating(find(of.open(), pod), preempted));
          },
          "pod"_a, "preempted"_a = false,
          "The pod is being deleted: not scheduled any more, and keeps what it holds until it is removed.")
      .def(
          "nominate",
          [](py_cluster& of, const pod_ref& pod, const std::optional<node_ref>& node) {
            cluster& in = of.open();
            must(in.nominate(find(in, pod), node ? find(in, *node) : node_id{}));
          },
          "pod"_a, "node"_a.none(), "The node that is meant for a pending pod once there is room; None: none.")
      .def(
          "find_pod",
          [](py_cluster& of, const std::string& name, const std::string& ns) { return of.open().find_pod(ns, name); },
          "name"_a, "namespace"_a = "default")
      .def(
          "state_of",
          [](py_cluster& of, const pod_ref& pod) {
            return std::string{state_name(of.open().state_of(find(of.open(), pod)))};
          },
          "pod"_a, "pending, assumed (a node is reserved), bound; none for an id that nothing has.")
      .def(
          "node_of",
          [](py_cluster& of, const pod_ref& pod) -> std::optional<node_id> {
            const node_id node = of.open().node_of(find(of.open(), pod));
            return node ? std::optional{node} : std::nullopt;
          },
          "pod"_a, "Where the pod runs or is assumed, if anywhere.")
      .def(
          "nominated_node_of",
          [](py_cluster& of, const pod_ref& pod) -> std::optional<node_id> {
            const node_id node = of.open().nominated_node_of(find(of.open(), pod));
            return node ? std::optional{node} : std::nullopt;
          },
          "pod"_a, "The node that is meant for a pending pod, or reserved for it, if any.")
      .def(
          "reserved_from",
          [](py_cluster& of, const pod_ref& pod) {
            const auto when = of.open().reserved_from(find(of.open(), pod));
            return when ? std::optional{to_seconds(*when)} : std::nullopt;
          },
          "pod"_a,
          "From when on that node is expected to have room for the pod, if it is reserved for it (`backfill` of "
          "`Scheduler`): seconds, or None.")
      .def(
          "reservation_of",
          [](py_cluster& of, const pod_ref& pod) -> std::optional<pod_id> {
            const pod_id made = of.open().reservation_of(find(of.open(), pod));
            return made ? std::optional{made} : std::nullopt;
          },
          "pod"_a, "The reservation that the pod was allocated from, if any.")
      .def(
          "left_of",
          [](py_cluster& of, const pod_ref& reservation, const std::string& resource) {
            return of.open().left_of(find(of.open(), reservation), resource);
          },
          "reservation"_a, "resource"_a,
          "What the owners of a reservation have not drawn of it, in the units of `NodeTable`.")
      .def(
          "name_of",
          [](py_cluster& of, const std::variant<node_id, pod_id, group_id, queue_id>& id) {
            cluster& in = of.open();
            if (const auto* queue = std::get_if<queue_id>(&id)) return std::string{in.queues().name_of(*queue)};
            if (const auto* node = std::get_if<node_id>(&id)) return std::string{in.name_of(*node)};
            if (const auto* pod = std::get_if<pod_id>(&id)) return std::string{in.name_of(*pod)};
            return std::string{in.name_of(std::get<group_id>(id))};
          },
          "id"_a, "The name of what an id names; empty if nothing has it any more.")
      .def(
          "devices_of",
          [](py_cluster& of, const pod_ref& pod) {
            cluster& in = of.open();
            const pod_id id = find(in, pod);
            std::vector<std::string> names;
            for (const device_grant& grant : in.devices_of(id)) names.emplace_back(in.name_of(in.node_of(id), grant));
            return names;
          },
          "pod"_a, "The ids of what the pod has of its node's devices, but for those of claims that it shares.")
      .def(
          "alternative_of",
          [](py_cluster& of, const pod_ref& pod, std::int32_t request) {
            return alternative_of(of.open(), find(of.open(), pod), request);
          },
          "pod"_a, "request"_a,
          "Which one of a request's `first_of` the pod's devices were chosen for, as its index; of devices that you "
          "named the first that leads to them. None if the request offers none or is about GPUs, if the pod has no "
          "devices, or if no alternative leads to those that you named.")
      .def(
          "pods", [](py_cluster& of) { return pod_table{of.open()}; }, "A table of all pods as they are now.");
}

void add_groups_and_names(class_of_cluster& to) {
  to.def(
        "_add_group",
        [](py_cluster& of, nb::handle spec) {
          const made_in<group_spec> made = to_group_spec(spec);
          return whole(of.open(), [&](cluster& in) -> result<group_id> {
            auto given = made(in);
            if (!given) return given.error();
            return in.add_group(*std::move(given));
          });
        },
        "spec"_a)
      .def(
          "_update_group",
          [](py_cluster& of, const group_ref& group, nb::handle spec) {
            const made_in<group_spec> made = to_group_spec(spec);
            const group_id id = find(of.open(), group);
            whole(of.open(), [&](cluster& in) -> result<void> {
              auto given = made(in);
              if (!given) return given.error();
              return in.update_group(id, *std::move(given));
            });
          },
          "group"_a, "spec"_a)
      .def(
          "remove_group",
          [](py_cluster& of, const group_ref& group) { must(of.open().remove_group(find(of.open(), group))); },
          "group"_a, "If it has members left it is expected from then on.")
      .def(
          "find_group",
          [](py_cluster& of, const std::string& name, const std::string& ns, bool composite) {
            return of.open().find_group(ns, name, composite);
          },
          "name"_a, "namespace"_a = "default", "composite"_a = false)
      .def(
          "set_namespace",
          [](py_cluster& of, const std::string& name, const std::map<std::string, std::string>& labels) {
            must(of.open().set_namespace({name, label_map(labels.begin(), labels.end())}));
          },
          "name"_a, "labels"_a, "Adds the namespace or replaces its labels.")
      .def(
          "set_priority_class",
          [](py_cluster& of, const std::string& name, std::int32_t value, bool global_default, bool preempts) {
            must(of.open().set_priority_class(
                {name, value, global_default,
                 preempts ? preemption_policy::preempt_lower_priority : preemption_policy::never}));
          },
          "name"_a, "value"_a, "global_default"_a = false, "preempts"_a = true, "Adds or replaces a priority class.");
}

void add_claims(class_of_cluster& to) {
  to.def(
        "_add_resource_claim",
        [](py_cluster& of, nb::handle spec) {
          const made_in<resource_claim_spec> made = to_resource_claim(spec);
          return must(of.open().add_resource_claim(must(made(of.open()))));
        },
        "spec"_a)
      .def(
          "remove_resource_claim",
          [](py_cluster& of, const claim_ref& claim) {
            must(of.open().remove_resource_claim(find(of.open(), "default", claim)));
          },
          "claim"_a, "Not while a pod names it (wrong_state).")
      .def(
          "deallocate",
          [](py_cluster& of, const claim_ref& claim) { must(of.open().deallocate(find(of.open(), "default", claim))); },
          "claim"_a,
          "A claim that was allocated before anybody used it has no devices any more; not while a pod on a node uses "
          "it "
          "(wrong_state).")
      .def(
          "claim_devices",
          [](py_cluster& of, const claim_ref& claim) {
            const cluster& in = of.open();
            const resource_claim_id id = find(in, "default", claim);
            std::vector<std::string> names;
            for (const device_grant& grant : in.devices_of(id)) names.emplace_back(in.name_of(in.node_of(id), grant));
            return names;
          },
          "claim"_a, "The ids of what the claim has of its node's devices.")
      .def(
          "claim_alternative",
          [](py_cluster& of, const claim_ref& claim, std::int32_t request) {
            return alternative_of(of.open(), find(of.open(), "default", claim), request);
          },
          "claim"_a, "request"_a, "As `alternative_of`, of a claim's devices.")
      .def(
          "claim_node",
          [](py_cluster& of, const claim_ref& claim) -> std::optional<node_id> {
            const node_id node = of.open().node_of(find(of.open(), "default", claim));
            return node ? std::optional{node} : std::nullopt;
          },
          "claim"_a, "Where the claim is allocated, if anywhere.")
      .def(
          "find_resource_claim",
          [](py_cluster& of, const std::string& name, const std::string& ns) {
            return of.open().find_resource_claim(ns, name);
          },
          "name"_a, "namespace"_a = "default")
      .def(
          "set_allocatable",
          [](py_cluster& of, const node_ref& node, nb::handle amounts) {
            const node_id id = find(of.open(), node);
            const resource_list made = to_allocatable(amounts, of.open().name_of(id));
            must(of.open().set_allocatable(id, made));
          },
          "node"_a, "amounts"_a,
          "How much the node has of resources that its spec does not name; 0: none. Each stays when the node is "
          "updated, "
          "unless its new spec names it.")
      .def(
          "set_device_health",
          [](py_cluster& of, const node_ref& node, const std::string& device, bool healthy) {
            return must(of.open().set_device_health(find(of.open(), node), device, healthy));
          },
          "node"_a, "device"_a, "healthy"_a,
          "A device of the node, by id, is healthy or not: an unhealthy one is hidden at once. Returns the pods that "
          "have "
          "some of it, which keep it until they are removed.");
}

void add_queues(class_of_cluster& to) {
  to.def(
        "_add_queue",
        [](py_cluster& of, nb::handle spec) {
          queue_spec made = to_queue_spec(spec);
          return must(of.open().queues().add(std::move(made)));
        },
        "spec"_a)
      .def(
          "_update_queue",
          [](py_cluster& of, const queue_ref& queue, nb::handle spec) {
            queue_spec made = to_queue_spec(spec);
            must(of.open().queues().update(find(of.open(), queue), std::move(made)));
          },
          "queue"_a, "spec"_a)
      .def(
          "remove_queue",
          [](py_cluster& of, const queue_ref& queue) { must(of.open().queues().remove(find(of.open(), queue))); },
          "queue"_a, "Pods that name it go on waiting.")
      .def(
          "find_queue", [](py_cluster& of, const std::string& name) { return of.open().queues().find(name); }, "name"_a)
      .def(
          "queues", [](py_cluster& of) { return of.open().queues().all(); },
          "All of them, parents first, siblings by name.")
      .def(
          "queue_of",
          [](py_cluster& of, const pod_ref& pod) -> std::optional<queue_id> {
            const queue_id queue = of.open().queues().queue_of(find(of.open(), pod));
            return queue ? std::optional{queue} : std::nullopt;
          },
          "pod"_a, "The queue that the pod is in, if any.")
      .def(
          "queue_usage",
          [](py_cluster& of, const queue_ref& queue) { return of.open().queues().usage_of(find(of.open(), queue)); },
          "queue"_a, "What the queue and those below it use and request.");
}

void add_rest(class_of_cluster& to) {
  to.def(
        "_apply",
        [](py_cluster& of, const std::vector<std::pair<std::string, std::string>>& texts, bool defaulting,
           bool expand) { return apply_texts(of.open(), texts, defaulting, expand); },
        "texts"_a, "defaulting"_a, "expand"_a)
      .def(
          "add_node_column", [](py_cluster& of, const std::string& name) { must(of.open().add_node_column(name)); },
          "name"_a, "Makes a column of numbers beside nodes, for plugins.")
      .def(
          "add_pod_column", [](py_cluster& of, const std::string& name) { must(of.open().add_pod_column(name)); },
          "name"_a, "Makes a column of numbers beside pods, for plugins.")
      .def("set_node_column", set_word<node_ref>, "node"_a, "column"_a, "value"_a,
           "Sets a node's word; wakes pods that it may help.")
      .def("set_pod_column", set_word<pod_ref>, "pod"_a, "column"_a, "value"_a,
           "Sets a pod's word; wakes pods that it may help.")
      .def("node_column", get_word<node_ref>, "node"_a, "column"_a, "A node's word; None if there is no such column.")
      .def("pod_column", get_word<pod_ref>, "pod"_a, "column"_a, "A pod's word; None if there is no such column.")
      .def(
          "digest", [](py_cluster& of) { return of.open().digest(); }, "Equal states, equal digests.")
      .def("_fork_into",
           [](py_cluster& of, py_cluster& into) {
             into.open() = must(of.away([](const cluster& in) { return in.fork(); }));
           })
      .def("_trial", [](shared_cluster of) { return trial{std::move(of)}; });
}

/// What it keeps, for Python's collector of cycles: a cluster may have an attribute that has its trial.
int visit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::find(nb::inst_ptr<trial>(self)->on()).ptr());
  return 0;
}

PyType_Slot trial_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit)}, {0, nullptr}};

}  // namespace

void add_cluster(nb::module_& to) {
  nb::class_<removed_pod>(to, "RemovedPod", "A pod that is gone")
      .def_ro("id", &removed_pod::id)
      .def_ro("namespace", &removed_pod::ns)
      .def_ro("name", &removed_pod::name)
      .def_ro("cookie", &removed_pod::cookie);
  nb::class_<queue_usage>(to, "QueueUsage", "What is counted of a queue, with all that are below it: cpu in milli")
      .def_prop_ro(
          "used",
          [](const queue_usage& of) { return std::map<std::string, std::int64_t>(of.used.begin(), of.used.end()); })
      .def_prop_ro("requested",
                   [](const queue_usage& of) {
                     return std::map<std::string, std::int64_t>(of.requested.begin(), of.requested.end());
                   })
      .def_ro("running", &queue_usage::running, "Groups and single pods with somebody on a node");
  add_tables(to);
  nb::class_<trial>(to, "Trial", nb::type_slots(trial_slots),
                    "A transaction on a cluster: undone when it ends, unless it was committed")
      .def(
          "__enter__",
          [](nb::handle_t<trial> self) {
            nb::cast<trial&>(self).enter();
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> Trial"))
      .def(
          "__exit__", [](trial& of, nb::handle, nb::handle, nb::handle) { of.leave(); }, "kind"_a.none(),
          "value"_a.none(), "trace"_a.none(),
          nb::sig("def __exit__(self, kind: object, value: object, trace: object) -> None"))
      .def("commit", &trial::commit, "Keeps what was done; nothing can be undone any more.");

  class_of_cluster made(to, "ClusterBase", nb::dynamic_attr(), "Nodes, pods, groups and queues as the host knows them");
  made.def(
      "__init__",
      [](py_cluster* self, std::uint64_t attempts_after) { new (self) py_cluster({.attempts_after = attempts_after}); },
      nb::kw_only(), "attempts_after"_a = 0, "Attempts are numbered above attempts_after.");
  add_nodes(made);
  add_pods(made);
  add_groups_and_names(made);
  add_claims(made);
  add_queues(made);
  add_rest(made);
}

}  // namespace bindings
