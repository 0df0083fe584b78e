#include <algorithm>

#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/tell.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<std::vector<pod_id>> cluster::set_device_health(node_id node, std::string_view device,
                                                                        bool healthy) {
  GANGSCHED_TELL(set_device_health, set_device_health(node, device, healthy), node, device, healthy);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "node");
  call_mark whole{state};
  if (!contains(node)) return detail::unknown_id("node");
  const model::node_record& record = *state.nodes.record[node.row];
  const std::optional<std::uint32_t> index = record.devices ? record.devices->find(device) : std::nullopt;
  if (!index) {
    return error{errc::unknown, detail::object_name("node", "", state.names.text(record.name)), "devices",
                 "no device \"" + std::string{device} + "\""};
  }
  const device_inventory& inventory = *record.devices->inventory;
  const bool gpu = *index < inventory.gpu_count();
  const std::uint32_t place = gpu ? *index : *index - inventory.gpu_count();
  if (record.devices->unhealthy[*index] == healthy) {
    auto changed = std::make_unique<model::node_record>(record);
    device_record devices = *record.devices;
    devices.unhealthy[*index] = !healthy;
    changed->devices = std::make_shared<const device_record>(std::move(devices));
    const std::uint32_t word = gpu ? 2 * place : inventory.first_other() + place;
    const auto now = static_cast<std::uint64_t>(state.nodes.devices.at(node.row, word));
    state.nodes.devices.set(node.row, word, static_cast<std::int64_t>(now ^ gpu_word::unhealthy_bit));
    state.nodes.set_record(node.row, std::move(changed));
    state.changed({.kind = change_kind::node_updated, .facets = reads::devices, .row = node.row});
  }
  std::vector<pod_id> there;
  for (row_t pod = state.nodes.first_pod[node.row]; pod != no_row; pod = state.pods.next_on_node[pod]) {
    const pod_id id{pod, state.pods.rows.generation(pod)};
    const auto has = [&](std::span<const device_grant> grants) {
      return std::any_of(grants.begin(), grants.end(), [&](const device_grant& one) {
        return (gpu ? one.is_gpu() : one.kind == device_grant::form::other) && one.device == place;
      });
    };
    const std::span<const resource_claim_id> shared = claims_of(id);
    const auto shares = [&](resource_claim_id claim) { return node_of(claim) == node && has(devices_of(claim)); };
    if (has(devices_of(id)) || std::any_of(shared.begin(), shared.end(), shares)) there.push_back(id);
  }
  std::sort(there.begin(), there.end());
  whole.keep();
  return there;
}

}  // namespace gangsched::inline GANGSCHED_ABI
