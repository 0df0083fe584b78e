#include <nanobind/stl/map.h>

#include <map>

#include "fields.hpp"

// NUMA cells, bound CPUs and MIG tables out of the dataclasses of _devices.py.
namespace bindings {
namespace {

using namespace gangsched;

numa_cell to_cell(nb::handle from, const std::string& object) {
  numa_cell made;
  made.id = field<std::uint32_t>(from, "id");
  made.memory_bytes = field<std::uint64_t>(from, "memory_bytes");
  for (const auto& one : field<std::vector<std::vector<std::uint32_t>>>(from, "cpus")) {
    if (one.size() < 3 || one.size() > 4)
      raise({errc::malformed, object, "cpus", "are each an id, a core, a socket, and maybe a cache"});
    made.cpus.push_back({one[0], one[1], one[2], one.back()});
  }
  for (const auto& [page, bytes] : field<std::map<std::uint64_t, std::uint64_t>>(from, "hugepages"))
    made.hugepages.push_back({page, bytes});
  made.distances = field<std::vector<std::uint32_t>>(from, "distances");
  return made;
}

mig_profile to_profile(nb::handle from, const std::string& object) {
  mig_profile made;
  made.name = field<std::string>(from, "name");
  made.compute_slices = field<std::uint8_t>(from, "compute_slices");
  made.memory_slices = field<std::uint8_t>(from, "memory_slices");
  for (const std::uint32_t start : field<std::vector<std::uint32_t>>(from, "starts")) {
    if (start > 7) raise({errc::out_of_range, object, "starts", "a GPU has at most 8 memory slices"});
    made.starts = static_cast<std::uint8_t>(made.starts | 1u << start);
  }
  made.media = one_of<mig_media>(
      field<std::string>(from, "media"),
      {{"none", mig_media::none}, {"any", mig_media::any}, {"one", mig_media::one}, {"all", mig_media::all}}, object,
      "media");
  made.max_instances = field<std::uint8_t>(from, "max_instances");
  made.sm = field<std::uint16_t>(from, "multiprocessors");
  made.memory_mib = field<std::uint32_t>(from, "memory_mib");
  return made;
}

}  // namespace

cpu_bind_policy to_cpu_bind(nb::handle of, const std::string& object) {
  return one_of<cpu_bind_policy>(field<std::string>(of, "cpu_bind"),
                                 {{"none", cpu_bind_policy::none},
                                  {"full_cores", cpu_bind_policy::full_pcpus},
                                  {"spread_by_cores", cpu_bind_policy::spread_by_pcpus}},
                                 object, "cpu_bind");
}

cpu_binding to_cpu_binding(nb::handle pod, const std::string& object) {
  return {.policy = to_cpu_bind(pod, object),
          .required = field<bool>(pod, "cpu_bind_required"),
          .exclusive = one_of<cpu_exclusive_policy>(field<std::string>(pod, "cpu_exclusive"),
                                                    {{"none", cpu_exclusive_policy::none},
                                                     {"core", cpu_exclusive_policy::pcpu_level},
                                                     {"cell", cpu_exclusive_policy::numa_node_level}},
                                                    object, "cpu_exclusive")};
}

node_numa to_numa(nb::handle from, const std::string& object) {
  node_numa made;
  for (const nb::handle one : nb::iter(from.attr("cells"))) made.cells.push_back(to_cell(one, object));
  made.policy = one_of<numa_policy>(field<std::string>(from, "policy"),
                                    {{"none", numa_policy::none},
                                     {"best-effort", numa_policy::best_effort},
                                     {"restricted", numa_policy::restricted},
                                     {"single-numa-node", numa_policy::single_numa_node}},
                                    object, "policy");
  made.scope = one_of<numa_scope>(field<std::string>(from, "scope"),
                                  {{"container", numa_scope::container}, {"pod", numa_scope::pod}}, object, "scope");
  made.prefer_closest = field<bool>(from, "prefer_closest");
  made.cpu = {.is_static = field<bool>(from, "static_cpus"),
              .full_pcpus_only = field<bool>(from, "full_pcpus_only"),
              .distribute_cpus_across_numa = field<bool>(from, "distribute_cpus_across_numa"),
              .align_by_socket = field<bool>(from, "align_by_socket"),
              .distribute_cpus_across_cores = field<bool>(from, "distribute_cpus_across_cores"),
              .strict_cpu_reservation = field<bool>(from, "strict_cpu_reservation"),
              .prefer_align_cpus_by_uncorecache = field<bool>(from, "prefer_align_cpus_by_uncorecache")};
  made.static_memory = field<bool>(from, "static_memory");
  made.reserved_cpus = field<std::vector<std::uint32_t>>(from, "reserved_cpus");
  made.cpu_bind = to_cpu_bind(from, object);
  made.cpu_strategy = one_of<numa_allocate_strategy>(
      field<std::string>(from, "cells_first"),
      {{"least", numa_allocate_strategy::least_allocated}, {"most", numa_allocate_strategy::most_allocated}}, object,
      "cells_first");
  made.cpu_amplification_percent = field<std::int32_t>(from, "cpu_amplification_percent");
  return made;
}

mig_table to_mig_table(nb::handle from, const std::string& object) {
  std::vector<mig_profile> profiles;
  for (const nb::handle one : nb::iter(from.attr("profiles"))) profiles.push_back(to_profile(one, object));
  auto made = mig_table::make(field<std::string>(from, "name"), field<std::uint8_t>(from, "compute_slices"),
                              field<std::uint8_t>(from, "memory_slices"), std::move(profiles));
  if (!made) raise({made.error().code, object, "mig_table", made.error().field + ": " + made.error().reason});
  return *std::move(made);
}

}  // namespace bindings
