#include "gangsched/model/node_records.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/model/make_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Absent if the node has no devices that the host knows of.
GANGSCHED_INLINE result<std::optional<device_inventory>> read_devices(model::cluster_state& state,
                                                                      const node_spec& spec,
                                                                      const std::string& object) {
  const node_devices& from = spec.devices;
  if (from.gpus.empty() && from.others.empty() && from.counters.empty() && !from.numa)
    return std::optional<device_inventory>{};
  auto made = make_inventory(from, state.names, object);
  if (!made) return std::move(made).error();
  return std::optional{std::move(*made)};
}

GANGSCHED_INLINE device_record make_device_record(model::cluster_state& state, const node_devices& spec,
                                                  device_inventory&& inventory) {
  device_record made;
  made.inventory = state.devices.share(std::move(inventory), spec);
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    made.ids.push_back(spec.gpus[i].id.empty() ? std::to_string(i) : spec.gpus[i].id);
    made.unhealthy.push_back(!spec.gpus[i].healthy);
  }
  for (const other_device& one : spec.others) made.ids.push_back(one.id), made.unhealthy.push_back(!one.healthy);
  if (!spec.gpus.empty() && !spec.gpu.resource.empty()) {
    device_demand counted;
    if (spec.gpu.replicas > 1) counted.kind = device_demand::form::replica;
    made.counted.emplace_back(state.kinds.number(spec.gpu.resource), counted);
  }
  std::vector<symbol> profiles;  // those that a GPU here can have
  for (const device_inventory::gpu& gpu : made.inventory->gpus) {
    if (gpu.mig == mig_mode::dynamic) profiles = made.inventory->mig_profiles;
  }
  for (const device_inventory::gpu& gpu : made.inventory->gpus) {
    for (const mig_placement& one : gpu.instances) profiles.push_back(made.inventory->mig_profiles[one.profile]);
  }
  // By name: how devices are chosen depends on the order, and must not on who was seen first.
  std::sort(profiles.begin(), profiles.end(),
            [&](symbol a, symbol b) { return state.names.text(a) < state.names.text(b); });
  profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
  for (const symbol profile : profiles) {
    device_demand counted;
    counted.kind = device_demand::form::mig;
    counted.mig_profile = profile;
    made.counted.emplace_back(state.kinds.number(mig_resource_name(state.names.text(profile))), counted);
  }
  if (made.inventory->numa) {
    for (const std::uint64_t page_bytes : made.inventory->numa->topology.memory_kinds()) {
      made.memory_kinds.push_back(state.kinds.number(memory_resource(page_bytes)));
    }
  }
  return made;
}

GANGSCHED_INLINE bool same_devices(const std::shared_ptr<const device_record>& a,
                                   const std::shared_ptr<const device_record>& b) {
  if ((a == nullptr) != (b == nullptr)) return false;
  return !a || (a->inventory == b->inventory && a->ids == b->ids && a->unhealthy == b->unhealthy);
}

GANGSCHED_INLINE std::unique_ptr<model::node_record> make_node_record(model::cluster_state& state,
                                                                      const node_spec& spec,
                                                                      const integer_resources& allocatable,
                                                                      std::optional<device_inventory> devices) {
  auto made = std::make_unique<model::node_record>();
  made->name_text = spec.name;
  made->name = state.names.intern(spec.name);
  made->labels = to_symbols(state.names, spec.labels);
  for (const taint& one : spec.taints) {
    made->taints.push_back({state.names.intern(one.key), state.names.intern(one.value), one.effect});
  }
  for (const node_image& image : spec.images) {
    for (const std::string& name : image.names) {
      made->images.push_back({state.names.intern(name), image.size_bytes});
    }
  }
  // A name that is listed twice has the size of its first place.
  std::stable_sort(made->images.begin(), made->images.end(),
                   [](const image_symbols& a, const image_symbols& b) { return a.name < b.name; });
  const auto same = [](const image_symbols& a, const image_symbols& b) { return a.name == b.name; };
  made->images.erase(std::unique(made->images.begin(), made->images.end(), same), made->images.end());
  made->allocatable = to_amounts(state, allocatable);
  for (const auto& [driver, most] : spec.volume_limits)
    made->volume_limits.push_back({state.names.intern(driver), most});
  if (devices)
    made->devices =
        std::make_shared<const device_record>(detail::make_device_record(state, spec.devices, std::move(*devices)));
  made->unschedulable = spec.unschedulable;
  made->cookie = spec.cookie;
  if (state.keeps_specs) made->spec = std::make_shared<const node_spec>(spec);
  return made;
}

GANGSCHED_INLINE std::int64_t amount_of(const model::node_record& record, resource_kind kind) noexcept {
  for (const amount& one : record.allocatable)
    if (one.kind == kind) return one.value;
  return 0;
}

GANGSCHED_INLINE void set_beside_spec(const model::resource_kinds& kinds, model::node_record& record, amount has) {
  std::erase_if(record.allocatable, [&](const amount& one) { return one.kind == has.kind; });
  std::erase(record.beside_spec, has.kind);
  if (has.value == 0) return;
  // Kept as if the spec named it too, so that nothing tells in which order that was said.
  const auto order = [&](resource_kind kind) {
    return std::pair{std::min(kind, gangsched::kinds::first_other), kinds.name(kind)};
  };
  const auto by_name = [&](resource_kind a, resource_kind b) { return order(a) < order(b); };
  auto& all = record.allocatable;
  all.insert(std::lower_bound(all.begin(), all.end(), has,
                              [&](const amount& a, const amount& b) { return by_name(a.kind, b.kind); }),
             has);
  auto& beside = record.beside_spec;
  beside.insert(std::lower_bound(beside.begin(), beside.end(), has.kind, by_name), has.kind);
}

GANGSCHED_INLINE void keep_beside_spec(const model::resource_kinds& kinds, const model::node_record& before,
                                       model::node_record& record) {
  for (const resource_kind kind : before.beside_spec)
    if (amount_of(record, kind) == 0) set_beside_spec(kinds, record, {kind, amount_of(before, kind)});
}

GANGSCHED_INLINE reads difference(const model::node_record& before, const model::node_record& after) {
  reads changed = reads::nothing;
  if (before.labels != after.labels) changed |= reads::labels;
  if (before.taints != after.taints) changed |= reads::taints;
  if (before.unschedulable != after.unschedulable) changed |= reads::schedulable;
  if (before.allocatable != after.allocatable || before.volume_limits != after.volume_limits)
    changed |= reads::allocatable;
  if (before.images != after.images) changed |= reads::images;
  if (!same_devices(before.devices, after.devices)) changed |= reads::devices;
  return changed;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
