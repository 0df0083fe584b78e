#include "gangsched/devices/device_inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/flat_map.hpp>

#include "gangsched/devices/numa_layout.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Collects what is wrong with a node's devices: the first thing counts.
struct inventory_check {
  std::string object;
  std::optional<error> wrong = {};

  void fail(errc code, std::string field, std::string reason) {
    if (!wrong) wrong = error{code, object, std::move(field), std::move(reason)};
  }
  template <class T>
  void within(T value, T least, T most, std::string field) {
    if (value < least || value > most)
      fail(errc::out_of_range, std::move(field), fmt::format("is not in {} to {}", least, most));
  }
};

GANGSCHED_INLINE void check_gpus(const node_devices& spec, inventory_check& say) {
  const gpu_class& gpu = spec.gpu;
  if (spec.gpus.size() > max_node_gpus) {
    return say.fail(errc::out_of_range, "devices.gpus", fmt::format("are more than {}", max_node_gpus));
  }
  say.within<std::int64_t>(gpu.memory_mib, 0, std::int64_t{1} << 40, "devices.gpu.memory_mib");
  say.within<std::int32_t>(gpu.compute_capability, 0, 10'000, "devices.gpu.compute_capability");
  say.within<std::int32_t>(gpu.replicas, 1, 10'000, "devices.gpu.replicas");
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    const gpu_spec& one = spec.gpus[i];
    const auto field = [&](const char* name) { return fmt::format("devices.gpus[{}].{}", i, name); };
    say.within<std::int32_t>(one.numa, -1, 1023, field("numa"));
    say.within<std::int32_t>(one.pcie, -1, 1023, field("pcie"));
    if (one.mig == mig_mode::fixed && one.instances.empty())
      say.fail(errc::malformed, field("instances"), "are not told");
    if (one.mig != mig_mode::fixed && !one.instances.empty())
      say.fail(errc::malformed, field("instances"), "are for a fixed MIG mode");
    if (one.mig != mig_mode::off && gpu.replicas != 1) {
      say.fail(errc::malformed, field("mig"), "does not go together with replicas of whole GPUs");
    }
    for (std::size_t other = 0; other < i && !one.id.empty(); ++other) {
      if (spec.gpus[other].id == one.id)
        say.fail(errc::duplicate, field("id"), fmt::format("\"{}\" is there twice", one.id));
    }
  }
}

GANGSCHED_INLINE void check_capacities(const other_device& device, const std::string& object, inventory_check& say) {
  if (device.shared && device.units != 1)
    say.fail(errc::malformed, object + ".units", "are not 1, and its capacities are shared");
  if (device.shared && !device.consumes.empty()) {
    say.fail(errc::malformed, object + ".consumes", "counters, which cannot be told apart by who shares the device");
  }
  for (const auto& [name, one] : device.capacities) {
    if (auto wrong = check(one))
      say.fail(wrong->code, fmt::format("{}.capacities[\"{}\"].{}", object, name, wrong->field),
               std::move(wrong->reason));
  }
}

GANGSCHED_INLINE void check_others(const node_devices& spec, inventory_check& say) {
  if (spec.others.size() > max_other_devices) {
    return say.fail(errc::out_of_range, "devices.others", fmt::format("are more than {}", max_other_devices));
  }
  std::vector<std::pair<std::string_view, std::size_t>> ids;
  for (std::size_t i = 0; i < spec.others.size(); ++i) {
    const other_device& one = spec.others[i];
    const auto field = [&](const char* name) { return fmt::format("devices.others[{}].{}", i, name); };
    if (one.id.empty()) say.fail(errc::malformed, field("id"), "is empty");
    if (one.device_class.empty() || one.device_class == "gpu") {
      say.fail(errc::malformed, field("device_class"), one.device_class.empty() ? "is empty" : "is that of gpus");
    }
    ids.emplace_back(one.id, i);
    say.within<std::int64_t>(one.units, 1, std::int64_t{1} << 32, field("units"));
    say.within<std::int32_t>(one.numa, -1, 1023, field("numa"));
    say.within<std::int32_t>(one.pcie, -1, 1023, field("pcie"));
    check_capacities(one, fmt::format("devices.others[{}]", i), say);
    for (std::size_t c = 0; c < one.consumes.size(); ++c) {
      const counter_use& use = one.consumes[c];
      const std::string at = fmt::format("devices.others[{}].consumes[{}]", i, c);
      const auto counter = spec.counters.find(use.counter);
      if (counter == spec.counters.end()) {
        say.fail(errc::unknown, at + ".counter", fmt::format("the node has no counter \"{}\"", use.counter));
      } else if (use.amount < 0 || use.amount > counter->second / one.units) {
        say.fail(errc::out_of_range, at + ".amount",
                 fmt::format("{} of {} units exceed the counter, {}", use.amount, one.units, counter->second));
      }
    }
  }
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i].first != ids[i - 1].first) continue;
    say.fail(errc::duplicate, fmt::format("devices.others[{}].id", ids[i].second),
             fmt::format("\"{}\" is there twice", ids[i].first));
  }
  for (const auto& [name, value] : spec.counters) {
    if (value < 0) say.fail(errc::out_of_range, fmt::format("devices.counters[\"{}\"]", name), "is negative");
  }
}

/// GPUs with the same number, which is known, as masks.
template <class Number>
std::vector<gpu_mask> known_groups(const std::vector<device_inventory::gpu>& gpus, const Number& number) {
  std::vector<std::pair<std::int16_t, gpu_mask>> groups;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::int16_t which = number(gpus[i]);
    if (which < 0) continue;
    auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == which; });
    if (found == groups.end()) found = groups.insert(found, {which, gpu_mask{0}});
    found->second = static_cast<gpu_mask>(found->second | 1u << i);
  }
  std::vector<gpu_mask> masks;
  for (const auto& [which, mask] : groups) masks.push_back(mask);
  return masks;
}

/// How close GPUs are if the node does not say how they are linked: by PCIe switch, NUMA cell, or across sockets.
GANGSCHED_INLINE std::vector<gpu_link> links_by_place(const std::vector<device_inventory::gpu>& gpus) {
  std::vector<gpu_link> links;
  for (const auto& a : gpus) {
    for (const auto& b : gpus) {
      const bool pcie = a.pcie >= 0 && a.pcie == b.pcie, numa = a.numa >= 0 && a.numa == b.numa;
      links.push_back({0, pcie ? link_level::pix : numa ? link_level::node : link_level::sys});
    }
  }
  return links;
}

GANGSCHED_INLINE std::optional<error> lay_out_links(const node_devices& spec, const std::string& object,
                                                    device_inventory& made) {
  if (spec.gpus.empty()) return std::nullopt;
  made.numa_groups = known_groups(made.gpus, [](const device_inventory::gpu& one) { return one.numa; });
  made.pcie_groups = known_groups(made.gpus, [](const device_inventory::gpu& one) { return one.pcie; });
  auto links = link_matrix::make(spec.gpus.size(), spec.gpu.links.empty() ? links_by_place(made.gpus) : spec.gpu.links);
  const auto within = [&](const error& wrong) {
    return error{wrong.code, object, "devices.gpu." + wrong.field, wrong.reason};
  };
  if (!links) return within(links.error());
  made.links = *links;
  if (spec.gpu.partitions.empty()) return std::nullopt;
  auto partitions = gpu_partition_table::make(spec.gpus.size(), spec.gpu.partitions);
  if (!partitions) return within(partitions.error());
  made.partitions = std::move(*partitions);
  made.partition_policy = spec.gpu.partition_policy;
  return std::nullopt;
}

GANGSCHED_INLINE std::optional<error> lay_out_mig(const node_devices& spec, interner& names, const std::string& object,
                                                  device_inventory& made) {
  const auto divided =
      std::find_if(spec.gpus.begin(), spec.gpus.end(), [](const gpu_spec& one) { return one.mig != mig_mode::off; });
  if (divided == spec.gpus.end()) return std::nullopt;
  if (spec.gpu.mig) {
    made.mig = spec.gpu.mig;
  } else if (const auto product = find_mig_product(spec.gpu.model)) {
    made.mig = mig_table::of(*product);
  } else {
    return error{
        errc::unknown, object, "devices.gpu.model",
        fmt::format("\"{}\" has no MIG table that the library knows; give it in devices.gpu.mig", spec.gpu.model)};
  }
  for (const mig_profile& one : made.mig->profiles()) made.mig_profiles.push_back(names.intern(one.name));
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    mig_state filled;
    for (std::size_t k = 0; k < spec.gpus[i].instances.size(); ++k) {
      const mig_instance& one = spec.gpus[i].instances[k];
      const std::string field = fmt::format("devices.gpus[{}].instances[{}]", i, k);
      const auto profile = made.mig->find_profile(one.profile);
      if (!profile) {
        return error{errc::unknown, object, field + ".profile",
                     fmt::format("{} has no \"{}\"", made.mig->name(), one.profile)};
      }
      const bool legal = one.start >= 0 && one.start < 8 && (made.mig->fits(filled, *profile) >> one.start & 1) != 0;
      if (!legal) {
        return error{errc::malformed, object, field + ".start",
                     fmt::format("no \"{}\" can be at {} there", one.profile, one.start)};
      }
      made.gpus[i].instances.push_back({*profile, static_cast<std::uint8_t>(one.start)});
      filled = made.mig->place(filled, made.gpus[i].instances.back());
    }
  }
  return std::nullopt;
}

GANGSCHED_INLINE std::optional<error> lay_out_numa(const node_devices& spec, const std::string& object,
                                                   device_inventory& made) {
  if (!spec.numa) return std::nullopt;
  auto layout = make_numa_layout(*spec.numa, object);
  if (!layout) return std::move(layout).error();
  inventory_check say{object};
  const auto known = [&](std::int32_t cell, const char* list, std::size_t i) {
    if (cell < 0 || layout->cell(cell) != 0) return;
    say.fail(errc::unknown, fmt::format("devices.{}[{}].numa", list, i),
             fmt::format("the node has no NUMA cell {}", cell));
  };
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) known(spec.gpus[i].numa, "gpus", i);
  boost::container::flat_map<std::string_view, std::size_t> classes;
  for (std::size_t i = 0; i < spec.others.size(); ++i) {
    known(spec.others[i].numa, "others", i);
    if (++classes[spec.others[i].device_class] > device_set::capacity) {
      say.fail(errc::out_of_range, fmt::format("devices.others[{}]", i),
               fmt::format("a node with NUMA cells has at most {} devices of a class", device_set::capacity));
    }
  }
  if (say.wrong) return std::move(say.wrong);
  made.numa = std::make_shared<const numa_layout>(std::move(*layout));
  made.numa_words = made.numa->words();
  return std::nullopt;
}

}  // namespace detail

GANGSCHED_INLINE std::optional<error> check(const capacity_spec& capacity) {
  std::optional<error> wrong;
  const auto fail = [&](errc code, const char* field, const char* reason) {
    if (!wrong) wrong = error{code, {}, field, reason};
  };
  if (capacity.amount < 0) fail(errc::out_of_range, "amount", "is negative");
  if (!capacity.policy) return wrong;
  const capacity_policy& policy = *capacity.policy;
  const auto outside = [&](const std::optional<std::int64_t>& amount) {
    return amount && (*amount < 0 || *amount > capacity.amount);
  };
  if (outside(policy.standard)) fail(errc::out_of_range, "policy.standard", "is negative, or more than there is");
  if (outside(policy.least)) fail(errc::out_of_range, "policy.least", "is negative, or more than there is");
  if (policy.step && *policy.step <= 0) fail(errc::out_of_range, "policy.step", "is not above 0");
  if (policy.most && policy.least && *policy.most < *policy.least)
    fail(errc::out_of_range, "policy.most", "is less than the least");
  if ((policy.most || policy.step) && !policy.least)
    fail(errc::malformed, "policy.least", "is not told beside the rest of the range");
  if (policy.least && !policy.values.empty()) fail(errc::malformed, "policy.values", "are there beside a range");
  if (std::any_of(policy.values.begin(), policy.values.end(), outside)) {
    fail(errc::out_of_range, "policy.values", "are negative, or more than there is");
  }
  if (!std::is_sorted(policy.values.begin(), policy.values.end()))
    fail(errc::malformed, "policy.values", "are not ascending");
  return wrong;
}

GANGSCHED_INLINE void complete_inventory(device_inventory& inventory) {
  if (inventory.links) inventory.sets.emplace(*inventory.links);
  if (inventory.mig) inventory.fragmentation.emplace(*inventory.mig);
}

GANGSCHED_INLINE node_devices make_node_devices(gpu_machine machine, std::string model, std::int64_t memory_mib) {
  const gpu_topology inside = make_gpu_topology(machine);
  node_devices made;
  made.gpu.model = std::move(model);
  made.gpu.memory_mib = memory_mib;
  const std::size_t gpus = inside.links.gpus();
  for (std::size_t a = 0; a < gpus; ++a) {
    made.gpus.push_back({.numa = inside.numa_cell[a], .pcie = inside.pcie_group[a]});
    for (std::size_t b = 0; b < gpus; ++b) made.gpu.links.push_back(a == b ? gpu_link{} : inside.links(a, b));
  }
  return made;
}

GANGSCHED_INLINE result<device_inventory> make_inventory(const node_devices& spec, interner& names,
                                                         const std::string& object) {
  detail::inventory_check say{object};
  detail::check_gpus(spec, say);
  detail::check_others(spec, say);
  if (say.wrong) return std::move(*say.wrong);

  device_inventory made;
  made.model = names.intern(spec.gpu.model);
  made.resource = names.intern(spec.gpu.resource);
  made.gpu_memory_mib = spec.gpu.memory_mib;
  made.memory_rule = spec.gpu.memory_rule;
  made.compute_capability = spec.gpu.compute_capability;
  made.replicas = spec.gpu.replicas;
  for (const gpu_spec& one : spec.gpus) {
    made.gpus.push_back({static_cast<std::int16_t>(one.numa), static_cast<std::int16_t>(one.pcie), one.mig, {}});
  }
  if (auto wrong = detail::lay_out_links(spec, object, made)) return std::move(*wrong);
  if (auto wrong = detail::lay_out_mig(spec, names, object, made)) return std::move(*wrong);
  if (auto wrong = detail::lay_out_numa(spec, object, made)) return std::move(*wrong);
  for (const auto& [name, value] : spec.counters) made.counters.push_back({names.intern(name), value});
  for (const other_device& one : spec.others) {
    device_inventory::other& other = made.others.emplace_back();
    other.device_class = names.intern(one.device_class);
    other.units = one.units;
    other.numa = static_cast<std::int16_t>(one.numa);
    other.pcie = static_cast<std::int16_t>(one.pcie);
    other.shared = one.shared;
    if (one.shared) other.units = std::int64_t{1} << 32;
    for (const auto& [name, value] : one.attributes) other.attributes.emplace_back(names.intern(name), value);
    for (const auto& [name, has] : one.capacities) {
      other.attributes.emplace_back(names.intern(capacity_attribute(name)), has.amount);
      other.capacities.push_back({names.intern(name), has, static_cast<std::uint32_t>(made.counters.size())});
      if (one.shared) made.counters.push_back({names.intern(name), has.amount});
    }
    std::sort(other.attributes.begin(), other.attributes.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const counter_use& use : one.consumes) {
      other.consumes.emplace_back(static_cast<std::uint32_t>(spec.counters.find(use.counter) - spec.counters.begin()),
                                  use.amount);
    }
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
