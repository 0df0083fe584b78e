#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "gangsched/src/kube/devices/devices.hpp"

// Koordinator's Device (scheduling.koordinator.sh/v1alpha1): what its agent found in a node, and which GPUs NVSwitch can cut off together.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

struct found_device {
  std::string type, id, pcie;
  std::int64_t minor = 0, numa = -1;
  bool healthy = true;
  resource_list resources = {};
};

bool read_found(reader& read, const place& of, found_device& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "type") return read.text(v, out.type);
    if (key == "id") return read.text(v, out.id);
    if (key == "minor") return read.integer(v, out.minor, 0, 1023);
    if (key == "health") return read.boolean(v, out.healthy);
    if (key == "resources") return read.amounts(v, out.resources);
    if (key == "topology") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "nodeID") return read.integer(w, out.numa, -1, 1023);
        if (field == "pcieID") return read.text(w, out.pcie);
        return read.ignore(field, w, {"socketID", "busID"});
      });
    }
    return read.ignore(key, v, {"labels", "moduleID", "vfGroups", "conditions"});
  });
}

/// {"2": [{"minors": [0, 1], "allocationScore": 1}]}; some releases have the kind of link between the two.
bool read_partitions(reader& read, const place& of, std::vector<gpu_partition>& out) {
  return read.fields(of, [&](std::string_view, const place& v) {
    if (v.at->kind == value_kind::object) return read_partitions(read, v, out);
    return read.list(v, out, [&](const place& item, gpu_partition& one) {
      return read.fields(item, [&](std::string_view key, const place& w) {
        if (key == "allocationScore") return read.integer(w, one.score);
        if (key != "minors")
          return read.ignore(key, w, {"gpuLinkType", "ringBusBandwidth", "ringAllReduceBandwidth", "minorsHash"});
        return read.items(w, [&](const place& minor) {
          std::int64_t number = 0;
          if (!read.integer(minor, number, 0, static_cast<std::int64_t>(max_node_gpus) - 1)) return false;
          one.gpus = static_cast<gpu_mask>(one.gpus | 1u << number);
          return true;
        });
      });
    });
  });
}

}  // namespace

bool read_device_object(reader& read, const place& of, device_object& out) {
  object_meta meta;
  std::vector<found_device> all;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_meta(read, v, meta);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "devices") return read.ignore(field, w, {});
      return read.list(w, all, [&](const place& item, found_device& one) { return read_found(read, item, one); });
    });
  });
  if (!fine) return false;
  out.node = meta.name;
  std::ranges::stable_sort(all, {}, &found_device::minor);
  std::map<std::string, std::int32_t> switches;  // numbered as Koordinator orders them: by id
  for (const found_device& one : all)
    if (!one.pcie.empty()) switches.emplace(one.pcie, 0);
  for (std::int32_t next = 0; auto& [id, number] : switches) number = next++;
  for (const found_device& one : all) {
    const std::int32_t pcie = one.pcie.empty() ? -1 : switches.at(one.pcie);
    const auto numa = static_cast<std::int32_t>(one.numa);
    const std::string id = one.id.empty() ? fmt::format("{}-{}", one.type, one.minor) : one.id;
    out.ids.emplace(std::pair{one.type, one.minor}, id);
    if (one.type != "gpu") {
      std::int64_t units = 100;
      const auto told = one.resources.find("koordinator.sh/" + one.type);
      if (told != one.resources.end() && (!told->second.value(units) || units < 1)) units = 100;
      out.has.others.push_back(
          {.id = id, .device_class = one.type, .units = units, .healthy = one.healthy, .numa = numa, .pcie = pcie});
      continue;
    }
    out.has.gpu.memory_rule = gpu_memory_rule::as_asked;
    out.has.gpus.push_back({.id = id, .healthy = one.healthy, .numa = numa, .pcie = pcie});
    const auto memory = one.resources.find("koordinator.sh/gpu-memory");
    std::int64_t bytes = 0;
    if (memory != one.resources.end() && memory->second.value(bytes)) out.has.gpu.memory_mib = bytes >> 20;
  }
  if (const auto model = meta.labels.find("node.koordinator.sh/gpu-model"); model != meta.labels.end())
    out.has.gpu.model = model->second;
  if (const auto policy = meta.labels.find("node.koordinator.sh/gpu-partition-policy"); policy != meta.labels.end()) {
    const spot at = find_spot(of, {"metadata", "labels", "node.koordinator.sh/gpu-partition-policy"});
    if (policy->second != "Honor" && policy->second != "Prefer")
      return read.fail(errc::unknown, at.line, at.path, fmt::format("\"{}\" is not Honor or Prefer", policy->second));
    if (policy->second == "Honor") out.has.gpu.partition_policy = gpu_partition_policy::honor;
  }
  const auto table = meta.annotations.find("scheduling.koordinator.sh/gpu-partitions");
  if (table == meta.annotations.end()) return true;
  const spot at = find_spot(of, {"metadata", "annotations", "scheduling.koordinator.sh/gpu-partitions"});
  return read_inside(read, at, table->second,
                     [&](reader& in, const place& root) { return read_partitions(in, root, out.has.gpu.partitions); });
}

void add_known_partitions(node_spec& node) {
  const auto label = [&](const char* key) {
    const auto found = node.labels.find(key);
    return found == node.labels.end() ? std::string_view{} : std::string_view{found->second};
  };
  const std::string_view vendor = label("node.koordinator.sh/gpu-vendor"),
                         model = label("node.koordinator.sh/gpu-model");
  if ((!vendor.empty() && vendor != "nvidia") || (model != "H100" && model != "H800" && model != "H20")) return;
  gpu_class& gpu = node.devices.gpu;
  const gpu_partition_table table = gpu_partition_table::nvswitch_8();
  for (const gpu_partition& one : table.partitions())
    if (one.gpus >> node.devices.gpus.size() == 0) gpu.partitions.push_back(one);
  const bool honored = label("node.koordinator.sh/gpu-partition-policy") == "Honor";
  gpu.partition_policy = honored ? gpu_partition_policy::honor : gpu_partition_policy::prefer;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
