#include "gangsched/src/c/devices.hpp"

#include "gangsched/kube/device_selectors.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {

static_assert(static_cast<int>(mig_media::all) == GANGSCHED_MEDIA_ALL);
static_assert(static_cast<int>(numa_policy::single_numa_node) == GANGSCHED_NUMA_SINGLE_CELL);
static_assert(static_cast<int>(cpu_bind_policy::spread_by_pcpus) == GANGSCHED_CPUS_SPREAD_BY_CORES);
static_assert(static_cast<int>(cpu_exclusive_policy::numa_node_level) == GANGSCHED_CPUS_APART_BY_CELL);

namespace {

sorted_map<std::int64_t> counts(copier& copy, const gangsched_named_counts& from, const char* field) {
  sorted_map<std::int64_t> made;
  if (!copy.there(from.items, from.count, field)) return made;
  made.reserve(from.count);
  for (std::size_t i = 0; i < from.count; ++i) {
    const std::string name{text(from.items[i].name)};
    if (!made.insert({name, from.items[i].amount}).second)
      copy.fail(errc::duplicate, field, "\"" + name + "\" is there twice");
  }
  return made;
}

device_attribute attribute(copier& copy, const gangsched_attribute_value& from, const char* field) {
  switch (from.type) {
    case GANGSCHED_ATTRIBUTE_TEXT: return std::string{text(from.text)};
    case GANGSCHED_ATTRIBUTE_NUMBER: return from.number;
    case GANGSCHED_ATTRIBUTE_TRUTH: return from.number != 0;
    default: copy.fail(errc::out_of_range, field, std::to_string(from.type) + " is no type of an attribute"); return {};
  }
}

std::int32_t known(bool has, std::int32_t number) noexcept { return has ? number : -1; }

gpu_link link(copier& copy, const gangsched_gpu_link& from) {
  gpu_link made;
  if (from.nvlinks < 0 || from.nvlinks > link_matrix::max_nvlinks)
    copy.fail(errc::out_of_range, "devices.links", std::to_string(from.nvlinks) + " NVLinks");
  else
    made.nvlinks = static_cast<std::uint8_t>(from.nvlinks);
  copy.pick(from.path, link_level::board, made.path, "devices.links");
  return made;
}

capacity_spec capacity(copier& copy, const gangsched_capacity& from) {
  capacity_spec made{from.amount, std::nullopt};
  if (!from.has_policy) return made;
  capacity_policy& policy = made.policy.emplace();
  if (from.has_standard) policy.standard = from.standard;
  if (from.has_least) policy.least = from.least;
  if (from.has_most) policy.most = from.most;
  if (from.has_step) policy.step = from.step;
  if (copy.there(from.values, from.value_count, "devices.capacities"))
    policy.values.assign(from.values, from.values + from.value_count);
  return made;
}

other_device other(copier& copy, const gangsched_other_device& from) {
  other_device made;
  made.id = text(from.id);
  made.device_class = text(from.device_class);
  if (from.units != 0) made.units = from.units;
  made.healthy = !from.unhealthy;
  made.numa = known(from.has_numa, from.numa);
  made.pcie = known(from.has_pcie, from.pcie);
  if (copy.there(from.attributes, from.attribute_count, "devices.attributes"))
    for (std::size_t i = 0; i < from.attribute_count; ++i)
      made.attributes.insert_or_assign(std::string{text(from.attributes[i].name)},
                                       attribute(copy, from.attributes[i].value, "devices.attributes"));
  if (copy.there(from.consumes.items, from.consumes.count, "devices.consumes"))
    for (std::size_t i = 0; i < from.consumes.count; ++i)
      made.consumes.push_back({std::string{text(from.consumes.items[i].name)}, from.consumes.items[i].amount});
  copy.each_sized(from.capacities, from.capacity_count, "devices.capacities", [&](const gangsched_capacity& one) {
    made.capacities.insert_or_assign(std::string{text(one.name)}, capacity(copy, one));
  });
  made.shared = from.shared;
  return made;
}

device_request request(copier& copy, const gangsched_device_request& from, const char* field, bool nested) {
  device_request made;
  made.name = text(from.name);
  if (from.device_class != nullptr && *from.device_class != '\0')
    made.device_class = from.device_class;
  else if (from.cel.count != 0)
    made.device_class.clear();  // the driver that they name
  if (from.count != 0) made.count = from.count;
  if (from.has_milli) made.milli = from.milli;
  made.memory_mib = from.memory_mib;
  made.memory_percent = from.memory_percent;
  made.mig_profile = text(from.mig_profile);
  made.models = copy.texts(from.models, field);
  made.least_memory_mib = from.least_memory_mib;
  made.least_compute_capability = from.least_compute_capability;
  copy.pick(from.within, device_scope::nvlink, made.within, field);
  made.within_preferred = from.within_preferred;
  if (from.units != 0) made.units = from.units;
  made.all = from.all;
  made.admin = from.admin;
  if (copy.there(from.selectors, from.selector_count, field)) {
    for (std::size_t i = 0; i < from.selector_count; ++i) {
      const gangsched_attribute_selector& one = from.selectors[i];
      attribute_selector& to = made.selectors.emplace_back();
      to.attribute = text(one.attribute);
      copy.pick(one.op, attribute_operator::absent, to.op, field);
      if (copy.there(one.values, one.value_count, field))
        for (std::size_t k = 0; k < one.value_count; ++k) to.values.push_back(attribute(copy, one.values[k], field));
    }
  }
  if (copy.there(from.cel.items, from.cel.count, field)) {
    for (std::size_t i = 0; i < from.cel.count; ++i)
      if (const auto read = kube::add_device_selector(text(from.cel.items[i]), made); !read)
        copy.fail(read.error().code, std::string{field} + ".cel", read.error().reason);
    if (made.device_class.empty()) copy.fail(errc::malformed, std::string{field} + ".cel", "names no driver");
  }
  made.capacities = counts(copy, from.capacities, field);
  copy.pick(from.beside_gpus, device_scope::nvlink, made.beside_gpus, field);
  made.beside_preferred = from.beside_preferred;
  made.container = from.container;
  if (nested && from.first_of_count != 0)
    copy.fail(errc::malformed, std::string{field} + ".first_of", "cannot be inside another one");
  else
    copy.each_sized(from.first_of, from.first_of_count, field, [&](const gangsched_device_request& one) {
      made.first_of.push_back(request(copy, one, field, true));
    });
  return made;
}

std::vector<std::uint32_t> numbers(copier& copy, const uint32_t* from, std::size_t count, const char* field) {
  if (!copy.there(from, count, field)) return {};
  return {from, from + count};
}

numa_cell cell(copier& copy, const gangsched_numa_cell& from) {
  numa_cell made;
  made.id = from.id;
  made.memory_bytes = from.memory_bytes;
  if (copy.there(from.cpus, from.cpu_count, "devices.numa.cpus"))
    for (std::size_t i = 0; i < from.cpu_count; ++i)
      made.cpus.push_back({from.cpus[i].id, from.cpus[i].core, from.cpus[i].socket, from.cpus[i].uncore_cache});
  if (copy.there(from.hugepages, from.hugepage_count, "devices.numa.hugepages"))
    for (std::size_t i = 0; i < from.hugepage_count; ++i)
      made.hugepages.push_back({from.hugepages[i].page_bytes, from.hugepages[i].bytes});
  made.distances = numbers(copy, from.distances, from.distance_count, "devices.numa.distances");
  return made;
}

node_numa numa(copier& copy, const gangsched_node_numa& given) {
  node_numa made;
  const auto read = sized(&given);
  if (!read) return copy.fail(errc::malformed, "devices.numa.struct_size", "is not what the library can read"), made;
  copy.each_sized(read->cells, read->cell_count, "devices.numa.cells",
                  [&](const gangsched_numa_cell& one) { made.cells.push_back(cell(copy, one)); });
  copy.pick(read->policy, numa_policy::single_numa_node, made.policy, "devices.numa.policy");
  if (read->whole_pods) made.scope = numa_scope::pod;
  made.prefer_closest = read->prefer_closest;
  made.cpu = {.is_static = read->static_cpus,
              .full_pcpus_only = read->full_pcpus_only,
              .distribute_cpus_across_numa = read->distribute_cpus_across_numa,
              .align_by_socket = read->align_by_socket,
              .distribute_cpus_across_cores = read->distribute_cpus_across_cores,
              .strict_cpu_reservation = read->strict_cpu_reservation,
              .prefer_align_cpus_by_uncorecache = read->prefer_align_cpus_by_uncorecache};
  made.static_memory = read->static_memory;
  made.reserved_cpus = numbers(copy, read->reserved_cpus, read->reserved_cpu_count, "devices.numa.reserved_cpus");
  copy.pick(read->cpu_bind, cpu_bind_policy::spread_by_pcpus, made.cpu_bind, "devices.numa.cpu_bind");
  if (read->most_allocated_cells) made.cpu_strategy = numa_allocate_strategy::most_allocated;
  if (read->cpu_amplification_percent != 0) made.cpu_amplification_percent = read->cpu_amplification_percent;
  return made;
}

std::optional<mig_table> instances(copier& copy, const gangsched_mig_table& given) {
  const auto read = sized(&given);
  if (!read)
    return copy.fail(errc::malformed, "devices.mig_table.struct_size", "is not what the library can read"),
           std::nullopt;
  std::vector<mig_profile> profiles;
  copy.each_sized(read->profiles, read->profile_count, "devices.mig_table.profiles",
                  [&](const gangsched_mig_profile& one) {
                    mig_profile& to = profiles.emplace_back();
                    to.name = text(one.name);
                    to.compute_slices = one.compute_slices;
                    to.memory_slices = one.memory_slices;
                    to.starts = one.starts;
                    to.max_instances = one.max_instances;
                    copy.pick(one.media, mig_media::all, to.media, "devices.mig_table.profiles");
                    to.sm = one.multiprocessors;
                    to.memory_mib = one.memory_mib;
                  });
  auto made =
      mig_table::make(std::string{text(read->name)}, read->compute_slices, read->memory_slices, std::move(profiles));
  if (made) return *std::move(made);
  copy.fail(made.error().code, "devices.mig_table", made.error().field + ": " + made.error().reason);
  return std::nullopt;
}

}  // namespace

node_devices read_devices(copier& copy, const gangsched_node_devices& given) {
  node_devices made;
  const auto read = sized(&given);
  if (!read) return copy.fail(errc::malformed, "devices.struct_size", "is not what the library can read"), made;
  made.gpu.model = text(read->model);
  made.gpu.memory_mib = read->memory_mib;
  made.gpu.compute_capability = read->compute_capability;
  if (read->replicas != 0) made.gpu.replicas = read->replicas;
  if (!text(read->resource).empty()) made.gpu.resource = text(read->resource);
  copy.each_sized(read->gpus, read->gpu_count, "devices.gpus", [&](const gangsched_gpu& one) {
    gpu_spec& to = made.gpus.emplace_back();
    to.id = text(one.id);
    to.healthy = !one.unhealthy;
    to.numa = known(one.has_numa, one.numa);
    to.pcie = known(one.has_pcie, one.pcie);
    copy.pick(one.mig, mig_mode::dynamic, to.mig, "devices.gpus");
    if (!copy.there(one.instances, one.instance_count, "devices.gpus")) return;
    for (std::size_t i = 0; i < one.instance_count; ++i)
      to.instances.push_back({std::string{text(one.instances[i].profile)}, one.instances[i].start});
  });
  if (copy.there(read->links, read->link_count, "devices.links"))
    for (std::size_t i = 0; i < read->link_count; ++i) made.gpu.links.push_back(link(copy, read->links[i]));
  if (copy.there(read->partitions, read->partition_count, "devices.partitions")) {
    for (std::size_t i = 0; i < read->partition_count; ++i) {
      const gangsched_gpu_partition& one = read->partitions[i];
      if (one.gpus > std::numeric_limits<gpu_mask>::max())
        copy.fail(errc::out_of_range, "devices.partitions", "has GPUs that no node has");
      made.gpu.partitions.push_back({static_cast<gpu_mask>(one.gpus), one.score});
    }
  }
  if (read->partition_policy == GANGSCHED_PARTITIONS_HONOR)
    made.gpu.partition_policy = gpu_partition_policy::honor;
  else if (read->partition_policy != GANGSCHED_PARTITIONS_PREFER)
    copy.fail(errc::out_of_range, "devices.partition_policy",
              std::to_string(read->partition_policy) + " is none of them");
  copy.pick(read->memory_rule, gpu_memory_rule::as_asked, made.gpu.memory_rule, "devices.memory_rule");
  copy.each_sized(read->others, read->other_count, "devices.others",
                  [&](const gangsched_other_device& one) { made.others.push_back(other(copy, one)); });
  made.counters = counts(copy, read->counters, "devices.counters");
  if (read->mig_table != nullptr) made.gpu.mig = instances(copy, *read->mig_table);
  if (read->numa != nullptr) made.numa = numa(copy, *read->numa);
  return made;
}

std::vector<device_request> read_requests(copier& copy, const gangsched_device_request* from, std::size_t count,
                                          const char* field) {
  std::vector<device_request> made;
  copy.each_sized(from, count, field,
                  [&](const gangsched_device_request& one) { made.push_back(request(copy, one, field, false)); });
  return made;
}

std::vector<device_constraint> read_constraints(copier& copy, const gangsched_device_constraint* from,
                                                std::size_t count) {
  std::vector<device_constraint> made;
  if (!copy.there(from, count, "constraints")) return made;
  for (std::size_t i = 0; i < count; ++i) {
    device_constraint& to = made.emplace_back();
    to.attribute = text(from[i].attribute);
    to.distinct = from[i].distinct;
    if (copy.there(from[i].requests, from[i].request_count, "constraints"))
      to.requests.assign(from[i].requests, from[i].requests + from[i].request_count);
    if (copy.there(from[i].alternatives, from[i].alternative_count, "constraints"))
      for (std::size_t k = 0; k < from[i].alternative_count; ++k)
        to.alternatives.push_back({from[i].alternatives[k].request, from[i].alternatives[k].place});
  }
  return made;
}

std::vector<held_device> read_held_devices(copier& copy, const gangsched_held_device* from, std::size_t count) {
  std::vector<held_device> made;
  copy.each_sized(from, count, "held_devices", [&](const gangsched_held_device& one) {
    held_device& to = made.emplace_back();
    to.id = text(one.id);
    to.request = known(one.has_request, one.request);
    to.mig_start = known(one.has_mig_start, one.mig_start);
    to.capacities = counts(copy, one.capacities, "held_devices");
  });
  return made;
}

pod_volumes read_volumes(copier& copy, const gangsched_pod_volumes& given) {
  pod_volumes made;
  const auto read = sized(&given);
  if (!read) return copy.fail(errc::malformed, "volumes.struct_size", "is not what the library can read"), made;
  made.unbound_claims = read->unbound_claims;
  if (read->has_nodes) made.nodes = copy.texts(read->nodes, "volumes.nodes");
  if (copy.there(read->zones, read->zone_count, "volumes.zones"))
    for (std::size_t i = 0; i < read->zone_count; ++i)
      made.zones.push_back({std::string{text(read->zones[i].key)}, copy.texts(read->zones[i].values, "volumes.zones")});
  if (copy.there(read->disks, read->disk_count, "volumes.disks"))
    for (std::size_t i = 0; i < read->disk_count; ++i)
      made.disks.push_back({std::string{text(read->disks[i].id)}, read->disks[i].read_only});
  made.exclusive_claims = copy.texts(read->exclusive_claims, "volumes.exclusive_claims");
  if (copy.there(read->attachments, read->attachment_count, "volumes.attachments"))
    for (std::size_t i = 0; i < read->attachment_count; ++i)
      made.attachments.push_back(
          {std::string{text(read->attachments[i].driver)}, std::string{text(read->attachments[i].id)}});
  if (read->has_bindable_nodes) made.bindable_nodes = copy.texts(read->bindable_nodes, "volumes.bindable_nodes");
  made.claim_problem = text(read->claim_problem);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::c
