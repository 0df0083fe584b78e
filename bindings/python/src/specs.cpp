#include <gangsched/kube/manifests.hpp>
#include <gangsched/model/queue_spec.hpp>

#include "fields.hpp"

// Specs out of the dataclasses of _specs.py.
namespace bindings {
namespace {

using gangsched::errc;

/// A truth is no amount; a fraction is what Python writes for it.
gangsched::quantity to_quantity(nb::handle from, const std::string& object, const std::string& where) {
  if (!PyBool_Check(from.ptr())) {
    if (PyIndex_Check(from.ptr())) {
      const nb::object whole = not_raised(PyNumber_Index(from.ptr()));
      int beyond = 0;
      const long long units = PyLong_AsLongLongAndOverflow(whole.ptr(), &beyond);
      if (beyond != 0) raise({errc::out_of_range, object, where, "does not fit into 64 bits"});
      return gangsched::quantity{std::int64_t{units}};
    }
    std::string text;
    if (nb::isinstance<nb::str>(from))
      text = text_of(from, object, where);
    else if (nb::hasattr(from, "__float__"))
      text = text_of(not_raised(PyNumber_Float(from.ptr())), object, where);
    if (!text.empty()) {
      auto parsed = gangsched::quantity::parse(text);
      if (!parsed) raise({parsed.error().code, object, where, "\"" + text + "\": " + parsed.error().reason});
      return *parsed;
    }
  }
  raise({errc::malformed, object, where, "is no amount: " + nb::cast<std::string>(nb::repr(from))});
}

gangsched::instant to_time(nb::handle from, const std::string& object, const char* name) {
  const nb::object seconds = from.attr(name);
  if (!PyNumber_Check(seconds.ptr()))
    raise({errc::malformed, object, name, "is no time: " + nb::cast<std::string>(nb::repr(seconds))});
  return to_instant(seconds);
}

/// The deadline and the longest wait of a pod or a group.
template <class Spec>
void put_limits(nb::handle from, const std::string& object, Spec& to) {
  if (!from.attr("deadline").is_none()) to.deadline = to_time(from, object, "deadline");
  to.max_wait = to_time(from, object, "max_wait");
}

/// Calls visit(key, value) for all of a mapping; an attribute that is none is an error.
template <class Visit>
void each_item(nb::handle mapping, const std::string& object, const char* name, const Visit& visit) {
  if (!PyMapping_Check(mapping.ptr())) raise({errc::malformed, object, name, "is no mapping"});
  const nb::object items = nb::steal(PyMapping_Items(mapping.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  for (const nb::handle item : items) visit(text_of(item[0], object, name), item[1]);
}

gangsched::resource_list to_amounts(nb::handle mapping, const std::string& object, const char* name) {
  gangsched::resource_list made;
  each_item(mapping, object, name, [&](std::string key, nb::handle value) {
    const std::string where = std::string{name} + "[" + key + "]";
    made.insert_or_assign(std::move(key), to_quantity(value, object, where));
  });
  return made;
}

gangsched::label_map to_labels(nb::handle mapping, const std::string& object, const char* name) {
  gangsched::label_map made;
  each_item(mapping, object, name, [&](std::string key, nb::handle value) {
    std::string text = text_of(value, object, std::string{name} + "[" + key + "]");
    made.insert_or_assign(std::move(key), std::move(text));
  });
  return made;
}

/// What JSON would have of it, within the bounds of files: a list may be in itself, or in many others.
gangsched::kube::value to_value(nb::handle from, const std::string& object, std::size_t depth, std::size_t& values) {
  using gangsched::kube::value_kind;
  constexpr gangsched::kube::limits most;
  gangsched::kube::value made;
  if (++values > most.copied) raise({errc::out_of_range, object, "", "has too many values"});
  if (from.is_none()) return made;
  if (PyBool_Check(from.ptr())) {
    made.kind = value_kind::boolean;
    made.text = from.is(nb::handle(Py_True)) ? "true" : "false";
  } else if (nb::isinstance<nb::str>(from)) {
    made.kind = value_kind::text;
    made.text = text_of(from, object, "");
  } else if (PyNumber_Check(from.ptr())) {
    made.kind = value_kind::number;
    made.text = text_of(from, object, "");
  } else if (depth == most.depth) {
    raise({errc::out_of_range, object, "", "is nested too deeply"});
  } else if (nb::hasattr(from, "items")) {
    made.kind = value_kind::object;
    each_item(from, object, "", [&](std::string key, nb::handle value) {
      made.keys.push_back(std::move(key));
      made.items.push_back(to_value(value, object, depth + 1, values));
    });
  } else {
    made.kind = value_kind::list;
    for (const nb::handle item : nb::iter(from)) made.items.push_back(to_value(item, object, depth + 1, values));
  }
  return made;
}

gangsched::kube::value to_value(nb::handle from, const std::string& object) {
  std::size_t values = 0;
  return to_value(from, object, 0, values);
}

gangsched::kube::value object_of(std::initializer_list<std::pair<const char*, gangsched::kube::value>> fields) {
  gangsched::kube::value made{.kind = gangsched::kube::value_kind::object};
  for (const auto& [key, value] : fields) {
    if (value.kind == gangsched::kube::value_kind::null) continue;
    made.keys.emplace_back(key);
    made.items.push_back(value);
  }
  return made;
}

gangsched::kube::value text_value(std::string text) {
  return {.kind = gangsched::kube::value_kind::text, .text = std::move(text)};
}

bool has_some(nb::handle of) { return !of.is_none() && size_of(of) > 0; }

/// Taints of a node, and tolerations of a pod, in Kubernetes' shape.
std::vector<gangsched::taint> to_taints(nb::handle from, const std::string& of) {
  if (!has_some(from)) return {};
  const gangsched::kube::value whole = object_of(
      {{"metadata", object_of({{"name", text_value(of)}})}, {"spec", object_of({{"taints", to_value(from, of)}})}});
  return must(gangsched::kube::read_node(whole, "python")).spec.taints;
}
std::vector<gangsched::toleration> to_tolerations(nb::handle from, const std::string& of) {
  if (!has_some(from)) return {};
  const gangsched::kube::value whole = object_of({{"metadata", object_of({{"name", text_value(of)}})},
                                                  {"spec", object_of({{"tolerations", to_value(from, of)}})}});
  return must(gangsched::kube::read_pod(whole, "python")).spec.tolerations;
}

gangsched::reservation_spec to_reservation(nb::handle from, const std::string& object) {
  using gangsched::allocate_policy;
  using gangsched::pre_allocation;
  gangsched::reservation_spec made;
  for (const nb::handle one : nb::iter(from.attr("owners"))) {
    gangsched::reservation_owner& owner = made.owners.emplace_back();
    owner.pod = field<std::string>(one, "pod");
    owner.ns = field<std::string>(one, "namespace");
    gangsched::label_map labels = to_labels(one.attr("labels"), object, "reservation");
    if (!labels.empty()) owner.labels = gangsched::label_selector{.match_labels = std::move(labels)};
  }
  made.once = field<bool>(from, "once");
  made.policy = one_of<allocate_policy>(
      field<std::string>(from, "policy"),
      {{"aligned", allocate_policy::aligned}, {"restricted", allocate_policy::restricted}}, object, "policy");
  made.restricted = field<std::vector<std::string>>(from, "restricted");
  made.pre_allocation = one_of<pre_allocation>(field<std::string>(from, "pre_allocation"),
                                               {{"none", pre_allocation::none},
                                                {"if_needed", pre_allocation::if_needed},
                                                {"required", pre_allocation::required}},
                                               object, "pre_allocation");
  made.order = field<std::int64_t>(from, "order");
  if (!from.attr("starts").is_none()) made.starts = to_time(from, object, "starts");
  if (!from.attr("expires").is_none()) made.expires = to_time(from, object, "expires");
  made.unschedulable = field<bool>(from, "unschedulable");
  made.taints = to_taints(from.attr("taints"), "reservation");
  return made;
}

/// The group that is meant; one that is named and not there is expected from then on.
gangsched::result<gangsched::group_id> expected(cluster& in, const std::string& ns, const group_ref& group,
                                                bool composite) {
  if (const auto* id = std::get_if<gangsched::group_id>(&group)) return *id;
  return in.expect_group(ns, std::get<std::string>(group), composite);
}

}  // namespace

gangsched::resource_list to_allocatable(nb::handle from, std::string_view node) {
  return to_amounts(from, "node " + std::string{node}, "allocatable");
}

gangsched::node_spec to_node_spec(nb::handle from) {
  if (PyMapping_Check(from.ptr())) return must(gangsched::kube::read_node(to_value(from, "node"), "python")).spec;
  gangsched::node_spec made{.name = field<std::string>(from, "name")};
  const std::string object = "node " + made.name;
  made.allocatable = to_amounts(from.attr("amounts")(), object, "allocatable");
  made.labels = to_labels(from.attr("labels"), object, "labels");
  made.declared_features = field<std::vector<std::string>>(from, "declared_features");
  made.unschedulable = field<bool>(from, "unschedulable");
  made.taints = to_taints(from.attr("taints"), made.name);
  if (const auto gpus = field<std::uint32_t>(from, "gpu_devices"); gpus > 0) {
    made.devices.gpu = {.model = field<std::string>(from, "gpu_model"), .resource = ""};
    if (gpus > 16) raise({errc::out_of_range, object, "gpu_devices", "a node tells of at most 16 GPUs"});
    made.devices.gpus.resize(gpus);
  }
  if (const nb::object devices = from.attr("devices"); !devices.is_none()) {
    if (!made.devices.gpus.empty()) raise({errc::malformed, object, "devices", "and gpu_devices exclude each other"});
    made.devices = to_devices(devices, object);
  }
  made.cookie = field<std::uint64_t>(from, "cookie");
  return made;
}

made_in<gangsched::pod_spec> to_pod_spec(nb::handle from) {
  if (PyMapping_Check(from.ptr())) {
    return [read = must(gangsched::kube::read_pod(to_value(from, "pod"), "python"))](cluster& in) {
      return gangsched::kube::spec_for(in, read);
    };
  }
  gangsched::pod_spec made;
  made.name = field<std::string>(from, "name");
  made.ns = field<std::string>(from, "namespace");
  const std::string object = "pod " + made.ns + "/" + made.name;
  made.labels = to_labels(from.attr("labels"), object, "labels");
  const nb::object tolerations = from.attr("tolerations"), affinity = from.attr("affinity"),
                   spread = from.attr("topology_spread_constraints");
  if (has_some(tolerations) || has_some(affinity) || has_some(spread)) {
    const gangsched::kube::value whole =
        object_of({{"metadata", object_of({{"name", text_value(made.name)},
                                           {"namespace", text_value(made.ns)},
                                           {"labels", to_value(from.attr("labels"), object)}})},
                   {"spec", object_of({{"tolerations", to_value(tolerations, object)},
                                       {"affinity", to_value(affinity, object)},
                                       {"topologySpreadConstraints", to_value(spread, object)}})}});
    gangsched::pod_spec read = must(gangsched::kube::read_pod(whole, "python")).spec;
    made.tolerations = std::move(read.tolerations);
    made.affinity = std::move(read.affinity);
    made.affinity_to_pods = std::move(read.affinity_to_pods);
    made.anti_affinity_to_pods = std::move(read.anti_affinity_to_pods);
    made.topology_spread_constraints = std::move(read.topology_spread_constraints);
  }
  made.containers.push_back({.requests = to_amounts(from.attr("amounts")(), object, "requests")});
  made.guaranteed = field<bool>(from, "guaranteed");
  made.bind_cpus = to_cpu_binding(from, object);
  made.node_selector = to_labels(from.attr("node_selector"), object, "node_selector");
  made.priority = field<std::optional<std::int32_t>>(from, "priority");
  made.priority_class = field<std::string>(from, "priority_class");
  made.scheduler_name = field<std::string>(from, "scheduler_name");
  made.scheduling_gates = field<std::vector<std::string>>(from, "scheduling_gates");
  made.required_features = field<std::vector<std::string>>(from, "required_features");
  made.queue = field<std::string>(from, "queue");
  made.role = field<std::string>(from, "role");
  made.rank = field<std::optional<std::int32_t>>(from, "rank");
  made.cookie = field<std::uint64_t>(from, "cookie");
  made.expected_run_time = to_time(from, object, "expected_run_time");
  if (!from.attr("start_time").is_none()) made.start_time = to_time(from, object, "start_time");
  put_limits(from, object, made);
  made.load.cpu_percent = field<std::optional<std::int64_t>>(from, "load_cpu_percent");
  made.load.memory_percent = field<std::optional<std::int64_t>>(from, "load_memory_percent");
  for (const auto& [name, to] : {std::pair{"load_after_scheduled", &made.load.after_scheduled},
                                 std::pair{"load_after_initialized", &made.load.after_initialized}})
    if (!from.attr(name).is_none()) *to = to_time(from, object, name);
  if (const auto gpus = field<std::int32_t>(from, "gpu_devices"); gpus != 0) {
    made.devices.push_back({.count = gpus,
                            .milli = field<std::int32_t>(from, "gpu_milli"),
                            .models = field<std::vector<std::string>>(from, "gpu_models")});
  }
  for (gangsched::device_request& one : to_device_requests(from.attr("devices"), object))
    made.devices.push_back(std::move(one));
  made.device_constraints = to_device_constraints(from.attr("device_constraints"));
  auto claims = field<std::vector<claim_ref>>(from, "resource_claims");
  if (const nb::object volumes = from.attr("volumes"); !volumes.is_none()) made.volumes = to_volumes(volumes);
  if (const nb::object held = from.attr("reservation"); !held.is_none())
    made.reservation = to_reservation(held, object);
  if (const nb::object room = from.attr("reservation_affinity"); !room.is_none())
    made.reservation_affinity = {.name = field<std::string>(room, "name"),
                                 .selector = to_labels(room.attr("labels"), object, "reservation_affinity"),
                                 .tolerations = to_tolerations(room.attr("tolerations"), made.name)};
  made.exact_reservation = field<std::vector<std::string>>(from, "exact_reservation");
  made.ignores_reservations = field<bool>(from, "ignores_reservations");
  if (const auto drawn = field<std::optional<gangsched::pod_id>>(from, "draws_from")) made.draws_from = *drawn;
  return [made = std::move(made), claims = std::move(claims), node = field<std::optional<node_ref>>(from, "node"),
          group = field<std::optional<group_ref>>(from, "group")](
             cluster& in) mutable -> gangsched::result<gangsched::pod_spec> {
    for (const claim_ref& one : claims) {
      const auto claim = look_up(in, made.ns, one);
      if (!claim) return claim.error();
      made.resource_claims.push_back(*claim);
    }
    if (node) {
      const auto where = look_up(in, *node);
      if (!where) return where.error();
      made.node = *where;
    }
    if (group) {
      const auto its = expected(in, made.ns, *group, false);
      if (!its) return its.error();
      made.group = *its;
    }
    return std::move(made);
  };
}

made_in<gangsched::group_spec> to_group_spec(nb::handle from) {
  using gangsched::gang_mode;
  gangsched::group_spec made{.name = field<std::string>(from, "name"), .ns = field<std::string>(from, "namespace")};
  const std::string object = "group " + made.ns + "/" + made.name;
  if (const auto least = field<std::optional<std::int32_t>>(from, "min_count")) {
    gangsched::gang gang{.min_count = *least};
    gang.desired_count = field<std::optional<std::int32_t>>(from, "desired_count");
    gang.max_count = field<std::optional<std::int32_t>>(from, "max_count");
    each_item(from.attr("roles"), object, "roles", [&](std::string role, nb::handle count) {
      std::int32_t least_of_role = 0;
      if (!nb::try_cast(count, least_of_role))
        raise({errc::malformed, object, "roles[" + role + "]", "cannot be " + nb::cast<std::string>(nb::repr(count))});
      gang.roles.push_back({std::move(role), least_of_role});
    });
    gang.mode =
        one_of<gang_mode>(field<std::string>(from, "mode"),
                          {{"group_cycle", gang_mode::group_cycle}, {"permit", gang_mode::permit}}, object, "mode");
    gang.timeout = to_time(from, object, "timeout");
    gang.atomic = field<bool>(from, "atomic");
    gang.strict = field<bool>(from, "strict");
    made.policy = std::move(gang);
  }
  made.priority = field<std::optional<std::int32_t>>(from, "priority");
  made.queue = field<std::string>(from, "queue");
  made.topology.within = field<std::vector<std::string>>(from, "within");
  made.topology.or_anywhere = field<bool>(from, "or_anywhere");
  made.composite = field<bool>(from, "composite");
  put_limits(from, object, made);
  made.cookie = field<std::uint64_t>(from, "cookie");
  return [made = std::move(made), parent = field<std::optional<group_ref>>(from, "parent")](
             cluster& in) mutable -> gangsched::result<gangsched::group_spec> {
    if (parent) {
      const auto its = expected(in, made.ns, *parent, true);
      if (!its) return its.error();
      made.parent = *its;
    }
    return std::move(made);
  };
}

gangsched::queue_spec to_queue_spec(nb::handle from) {
  using gangsched::queue_state;
  gangsched::queue_spec made;
  made.name = field<std::string>(from, "name");
  const std::string object = "queue " + made.name;
  made.parent = field<std::string>(from, "parent");
  gangsched::queue_quota quota;
  quota.guaranteed = to_amounts(from.attr("guaranteed"), object, "guaranteed");
  quota.limit = to_amounts(from.attr("limit"), object, "limit");
  quota.borrowing_limit = to_amounts(from.attr("borrowing_limit"), object, "borrowing_limit");
  quota.lending_limit = to_amounts(from.attr("lending_limit"), object, "lending_limit");
  if (!quota.guaranteed.empty() || !quota.limit.empty() || !quota.borrowing_limit.empty() ||
      !quota.lending_limit.empty())
    made.quotas.push_back(std::move(quota));
  made.weight = field<double>(from, "weight");
  made.priority = field<std::int32_t>(from, "priority");
  made.state = one_of<queue_state>(
      field<std::string>(from, "state"),
      {{"open", queue_state::open}, {"hold", queue_state::hold}, {"drain", queue_state::drain}}, object, "state");
  made.namespaces = field<std::vector<std::string>>(from, "namespaces");
  made.max_running = field<std::optional<std::int32_t>>(from, "max_running");
  made.cookie = field<std::uint64_t>(from, "cookie");
  return made;
}

}  // namespace bindings
