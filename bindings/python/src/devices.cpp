#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <gangsched/kube/device_selectors.hpp>

#include <map>
#include <tuple>

#include "fields.hpp"

// Devices, claims and volumes out of the dataclasses of _devices.py.
namespace bindings {
namespace {

using namespace gangsched;

using counts = std::map<std::string, std::int64_t>;

sorted_map<std::int64_t> to_counts(nb::handle from, const char* name) {
  sorted_map<std::int64_t> made;
  for (const auto& [key, amount] : field<counts>(from, name)) made.insert_or_assign(key, amount);
  return made;
}

/// Of Python's values a truth is a number as well: it is asked for first.
device_attribute to_attribute(nb::handle from, const std::string& object, const char* where) {
  if (PyBool_Check(from.ptr())) return nb::cast<bool>(from);
  if (nb::isinstance<nb::str>(from)) return nb::cast<std::string>(from);
  std::int64_t number = 0;
  if (nb::try_cast(from, number)) return number;
  raise({errc::malformed, object, where, "is neither a text, a whole number nor a truth"});
}

std::int32_t known(nb::handle of, const char* name) {
  return field<std::optional<std::int32_t>>(of, name).value_or(-1);
}

device_scope to_scope(nb::handle of, const char* name, const std::string& object) {
  return one_of<device_scope>(field<std::string>(of, name),
                              {{"node", device_scope::node},
                               {"numa", device_scope::numa},
                               {"pcie", device_scope::pcie},
                               {"nvlink", device_scope::nvlink}},
                              object, name);
}

gpu_spec to_gpu(nb::handle from, const std::string& object) {
  gpu_spec made{.id = field<std::string>(from, "id"),
                .healthy = field<bool>(from, "healthy"),
                .numa = known(from, "numa"),
                .pcie = known(from, "pcie")};
  made.mig = one_of<mig_mode>(field<std::string>(from, "mig"),
                              {{"off", mig_mode::off}, {"fixed", mig_mode::fixed}, {"dynamic", mig_mode::dynamic}},
                              object, "mig");
  for (const auto& [profile, start] : field<std::vector<std::pair<std::string, std::int32_t>>>(from, "instances"))
    made.instances.push_back({profile, start});
  return made;
}

capacity_spec to_capacity(nb::handle from) {
  std::int64_t amount = 0;
  if (nb::try_cast(from, amount)) return {amount, std::nullopt};
  using number = std::optional<std::int64_t>;
  return {field<std::int64_t>(from, "amount"),
          capacity_policy{.standard = field<number>(from, "standard"),
                          .values = field<std::vector<std::int64_t>>(from, "values"),
                          .least = field<number>(from, "least"),
                          .most = field<number>(from, "most"),
                          .step = field<number>(from, "step")}};
}

other_device to_device(nb::handle from, const std::string& object) {
  other_device made{.id = field<std::string>(from, "id"),
                    .device_class = field<std::string>(from, "device_class"),
                    .units = field<std::int64_t>(from, "units"),
                    .healthy = field<bool>(from, "healthy"),
                    .numa = known(from, "numa"),
                    .pcie = known(from, "pcie")};
  for (const auto& [name, value] : field<std::map<std::string, nb::object>>(from, "attributes"))
    made.attributes.insert_or_assign(name, to_attribute(value, object, "attributes"));
  for (const auto& [name, amount] : field<counts>(from, "consumes")) made.consumes.push_back({name, amount});
  for (const auto& [name, value] : field<std::map<std::string, nb::object>>(from, "capacities"))
    made.capacities.insert_or_assign(name, to_capacity(value));
  made.shared = field<bool>(from, "shared");
  return made;
}

attribute_selector to_selector(const std::tuple<std::string, std::string, std::vector<nb::object>>& from,
                               const std::string& object) {
  using op = attribute_operator;
  const auto& [name, word, values] = from;
  attribute_selector made{name, one_of<op>(word,
                                           {{"==", op::equal},
                                            {"!=", op::not_equal},
                                            {"<", op::less},
                                            {"<=", op::less_equal},
                                            {">", op::greater},
                                            {">=", op::greater_equal},
                                            {"in", op::in},
                                            {"exists", op::exists},
                                            {"absent", op::absent}},
                                           object, "selectors")};
  for (const nb::object& one : values) made.values.push_back(to_attribute(one, object, "selectors"));
  return made;
}

device_request to_request(nb::handle from, const std::string& object, bool nested) {
  device_request made{.device_class = field<std::string>(from, "device_class"),
                      .count = field<std::int32_t>(from, "count"),
                      .milli = field<std::int32_t>(from, "milli"),
                      .memory_mib = field<std::int64_t>(from, "memory_mib"),
                      .memory_percent = field<std::int32_t>(from, "memory_percent"),
                      .mig_profile = field<std::string>(from, "mig_profile"),
                      .models = field<std::vector<std::string>>(from, "models"),
                      .least_memory_mib = field<std::int64_t>(from, "least_memory_mib"),
                      .least_compute_capability = field<std::int32_t>(from, "least_compute_capability"),
                      .within = to_scope(from, "within", object),
                      .within_preferred = field<bool>(from, "within_preferred"),
                      .units = field<std::int64_t>(from, "units"),
                      .all = field<bool>(from, "all"),
                      .admin = field<bool>(from, "admin")};
  using selectors = std::vector<std::tuple<std::string, std::string, std::vector<nb::object>>>;
  for (const auto& one : field<selectors>(from, "selectors")) made.selectors.push_back(to_selector(one, object));
  const auto cel = field<std::vector<std::string>>(from, "cel");
  for (const std::string& one : cel) {
    if (const auto read = kube::add_device_selector(one, made); !read)
      raise({read.error().code, object, "cel", read.error().reason});
  }
  if (made.device_class.empty())
    raise({errc::malformed, object, "device_class", "is empty, and no selector names a driver"});
  made.capacities = to_counts(from, "capacities");
  made.beside_gpus = to_scope(from, "beside_gpus", object);
  made.beside_preferred = field<bool>(from, "beside_preferred");
  const nb::object choices = from.attr("first_of");
  if (size_of(choices) > 0 && nested) raise({errc::malformed, object, "first_of", "cannot be inside another one"});
  for (const nb::handle one : nb::iter(choices)) made.first_of.push_back(to_request(one, object, true));
  return made;
}

}  // namespace

node_devices to_devices(nb::handle from, const std::string& object) {
  node_devices made;
  made.gpu = {.model = field<std::string>(from, "model"),
              .memory_mib = field<std::int64_t>(from, "memory_mib"),
              .compute_capability = field<std::int32_t>(from, "compute_capability"),
              .replicas = field<std::int32_t>(from, "replicas"),
              .resource = field<std::string>(from, "resource")};
  for (const auto& [nvlinks, path] : field<std::vector<std::pair<std::uint8_t, std::string>>>(from, "links")) {
    made.gpu.links.push_back({nvlinks, one_of<link_level>(path,
                                                          {{"sys", link_level::sys},
                                                           {"node", link_level::node},
                                                           {"phb", link_level::phb},
                                                           {"pxb", link_level::pxb},
                                                           {"pix", link_level::pix},
                                                           {"board", link_level::board}},
                                                          object, "links")});
  }
  for (const nb::handle one : nb::iter(from.attr("gpus"))) made.gpus.push_back(to_gpu(one, object));
  for (const nb::handle one : nb::iter(from.attr("others"))) made.others.push_back(to_device(one, object));
  made.counters = to_counts(from, "counters");
  made.gpu.memory_rule = one_of<gpu_memory_rule>(
      field<std::string>(from, "memory_rule"), {{"mib", gpu_memory_rule::mib}, {"as_asked", gpu_memory_rule::as_asked}},
      object, "memory_rule");
  if (const nb::object table = from.attr("mig_table"); !table.is_none()) made.gpu.mig = to_mig_table(table, object);
  if (const nb::object numa = from.attr("numa"); !numa.is_none()) made.numa = to_numa(numa, object);
  return made;
}

std::vector<device_request> to_device_requests(nb::handle from, const std::string& object) {
  std::vector<device_request> made;
  for (const nb::handle one : nb::iter(from)) made.push_back(to_request(one, object, false));
  return made;
}

std::vector<device_constraint> to_device_constraints(nb::handle from) {
  std::vector<device_constraint> made;
  for (const nb::handle one : nb::iter(from))
    made.push_back({.attribute = field<std::string>(one, "attribute"),
                    .requests = field<std::vector<std::int32_t>>(one, "requests"),
                    .distinct = field<bool>(one, "distinct")});
  return made;
}

made_in<resource_claim_spec> to_resource_claim(nb::handle from) {
  resource_claim_spec made;
  made.name = field<std::string>(from, "name");
  made.ns = field<std::string>(from, "namespace");
  const std::string object = "resource claim " + made.ns + "/" + made.name;
  made.devices = to_device_requests(from.attr("devices"), object);
  made.constraints = to_device_constraints(from.attr("constraints"));
  made.most_pods = field<std::int32_t>(from, "most_pods");
  for (const std::string& id : field<std::vector<std::string>>(from, "held_devices")) made.held_devices.push_back({id});
  return [made = std::move(made),
          node = field<std::optional<node_ref>>(from, "node")](cluster& in) mutable -> result<resource_claim_spec> {
    if (node) {
      const auto where = look_up(in, *node);
      if (!where) return where.error();
      made.node = *where;
    }
    return std::move(made);
  };
}

pod_volumes to_volumes(nb::handle from) {
  pod_volumes made;
  made.unbound_claims = field<bool>(from, "unbound_claims");
  made.nodes = field<std::optional<std::vector<std::string>>>(from, "nodes");
  for (const auto& [key, values] : field<std::map<std::string, std::vector<std::string>>>(from, "zones"))
    made.zones.push_back({key, values});
  for (const auto& [id, read_only] : field<std::map<std::string, bool>>(from, "disks"))
    made.disks.push_back({id, read_only});
  made.exclusive_claims = field<std::vector<std::string>>(from, "exclusive_claims");
  for (const auto& [driver, id] : field<std::vector<std::pair<std::string, std::string>>>(from, "attachments"))
    made.attachments.push_back({driver, id});
  made.bindable_nodes = field<std::optional<std::vector<std::string>>>(from, "bindable_nodes");
  made.claim_problem = field<std::string>(from, "claim_problem");
  return made;
}

}  // namespace bindings
