#include "gangsched/devices/device_grants.hpp"

#include <algorithm>
#include <limits>

#include "gangsched/devices/device_fit.hpp"
#include "gangsched/devices/numa_fit.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE void fill_grant(const device_inventory& inventory, const device_demand& demand, device_grant& grant) {
  if (demand.kind == device_demand::form::whole) {
    grant.milli = whole_gpu;
    grant.amount = inventory.gpu_memory_mib;
  } else if (demand.kind == device_demand::form::share) {
    grant.kind = device_grant::form::share;
    grant.milli = demand.milli;
    grant.amount = demand.memory_of(inventory.gpu_memory_mib);
    const bool percent = inventory.memory_rule == gpu_memory_rule::as_asked && demand.memory_percent != 0;
    grant.mig_start = percent ? demand.memory_percent : -1;
  } else if (demand.kind == device_demand::form::replica) {
    grant.kind = device_grant::form::replica;
  } else if (demand.kind == device_demand::form::mig) {
    grant.kind = device_grant::form::mig;
    grant.mig_profile = demand.mig_profile;
  } else if (demand.kind == device_demand::form::other) {
    grant.kind = device_grant::form::other;
    grant.amount = demand.admin ? 0 : demand.units;
  }
}

GANGSCHED_INLINE std::uint8_t fixed_starts(const device_state& state, std::size_t gpu,
                                           mig_profile_index profile) noexcept {
  const std::uint8_t taken = state.gpu(gpu).slices();
  std::uint8_t starts = 0;
  for (const mig_placement& instance : state.inventory->gpus[gpu].instances) {
    const bool there = instance.profile == profile && (state.inventory->mig->slices(instance) & taken) == 0;
    if (there) starts = static_cast<std::uint8_t>(starts | 1u << instance.start);
  }
  return starts;
}

GANGSCHED_INLINE device_grant unit_of(const device_demand& demand, std::size_t device) noexcept {
  return {.kind = device_grant::form::other,
          .device = static_cast<std::uint16_t>(device),
          .amount = demand.admin ? 0 : demand.units};
}

/// Whether the counters that the device consumes have enough left for @p units of it.
inline bool counters_last(const device_state& state, const device_inventory::other& device,
                          std::int64_t units) noexcept {
  const device_inventory& inventory = *state.inventory;
  for (const auto& [counter, amount] : device.consumes) {
    if (amount * units > inventory.counters[counter].value - state.used[inventory.first_counter() + counter])
      return false;
  }
  return true;
}

/// MiB and hundredths of a GPU's memory, as its second word counts them.
GANGSCHED_INLINE std::uint64_t memory_word(const device_inventory& inventory, const device_grant& grant) noexcept {
  const auto mib = static_cast<std::uint64_t>(grant.amount);
  if (inventory.memory_rule != gpu_memory_rule::as_asked) return mib;
  const bool whole = grant.kind == device_grant::form::gpu;
  const std::int64_t percent = whole                 ? 100
                               : grant.mig_start > 0 ? grant.mig_start
                                                     : memory_percent_of(grant.amount, inventory.gpu_memory_mib);
  return mib + (static_cast<std::uint64_t>(percent) << memory_percent_bit);
}

GANGSCHED_INLINE std::optional<std::int64_t> asked_of(const device_demand& demand, symbol capacity) noexcept {
  for (const auto& [name, amount] : demand.capacities)
    if (name == capacity) return amount;
  return std::nullopt;
}

}  // namespace detail

GANGSCHED_INLINE std::optional<std::int64_t> capacity_taken(const capacity_spec& of,
                                                            std::optional<std::int64_t> asked) noexcept {
  const capacity_policy* const policy = of.policy ? &*of.policy : nullptr;
  std::int64_t amount = asked.value_or(policy != nullptr && policy->standard ? *policy->standard : of.amount);
  if (policy == nullptr) return amount <= of.amount ? std::optional{amount} : std::nullopt;
  if (policy->least) {
    if (asked) amount = std::max(amount, *policy->least);
    const std::int64_t above = policy->step ? (amount - *policy->least) % *policy->step : 0;
    if (asked && above != 0) {
      if (amount > std::numeric_limits<std::int64_t>::max() - *policy->step) return std::nullopt;
      amount += *policy->step - above;
    }
  } else if (asked) {
    const auto value = std::lower_bound(policy->values.begin(), policy->values.end(), amount);
    if (value != policy->values.end()) amount = *value;
  }
  const bool standard = policy->standard && *policy->standard == amount;
  const bool listed =
      policy->values.empty() || std::binary_search(policy->values.begin(), policy->values.end(), amount);
  const bool inside = (!policy->most || amount <= *policy->most) &&
                      (!policy->step || (amount >= *policy->least && (amount - *policy->least) % *policy->step == 0));
  if (!standard && !(listed && inside)) return std::nullopt;
  return amount <= of.amount ? std::optional{amount} : std::nullopt;
}

GANGSCHED_INLINE boost::container::small_vector<device_grant, 4> capacity_grants(const device_inventory& inventory,
                                                                                 const device_demand& demand,
                                                                                 const device_grant& of) {
  boost::container::small_vector<device_grant, 4> made;
  const device_inventory::other& device = inventory.others[of.device];
  if (!device.shared || demand.admin) return made;
  for (std::size_t i = 0; i < device.capacities.size(); ++i) {
    const auto& one = device.capacities[i];
    const std::int64_t taken = capacity_taken(one.has, detail::asked_of(demand, one.name)).value_or(one.has.amount);
    made.push_back({.kind = device_grant::form::capacity,
                    .request = of.request,
                    .device = of.device,
                    .milli = static_cast<std::int32_t>(i),
                    .amount = taken});
  }
  return made;
}

GANGSCHED_INLINE bool is_free(const device_state& state, const device_demand& demand, std::size_t device) {
  const device_inventory& inventory = *state.inventory;
  const device_inventory::other& one = inventory.others[device];
  if (!detail::has_units(state, demand, device) || !is_kind(inventory, demand, device) ||
      !detail::counters_last(state, one, demand.admin ? 0 : demand.units))
    return false;
  if (demand.capacities.empty() && !one.shared) return true;
  const auto known = [&](const auto& asked) {
    return std::any_of(one.capacities.begin(), one.capacities.end(),
                       [&](const auto& each) { return each.name == asked.first; });
  };
  if (!std::all_of(demand.capacities.begin(), demand.capacities.end(), known)) return false;
  return std::all_of(one.capacities.begin(), one.capacities.end(), [&](const device_inventory::other::capacity& each) {
    const std::optional<std::int64_t> taken = capacity_taken(each.has, detail::asked_of(demand, each.name));
    if (!one.shared || demand.admin) return taken || !detail::asked_of(demand, each.name);
    return taken &&
           *taken <= inventory.counters[each.counter].value - state.used[inventory.first_counter() + each.counter];
  });
}

GANGSCHED_INLINE bool is_free(const device_state& state, const device_grant& grant) noexcept {
  const device_inventory& inventory = *state.inventory;
  using form = device_grant::form;
  if (grant.kind == form::cpus || grant.kind == form::memory) return is_free_in_cells(state, grant);
  if (grant.kind == form::capacity) {
    const std::uint32_t counter =
        inventory.others[grant.device].capacities[static_cast<std::size_t>(grant.milli)].counter;
    return grant.amount <= inventory.counters[counter].value - state.used[inventory.first_counter() + counter];
  }
  if (grant.kind == form::other) {
    const device_inventory::other& one = inventory.others[grant.device];
    const std::int64_t used = state.used[inventory.first_other() + grant.device];
    if (used < 0) return false;  // unhealthy
    return grant.amount <= one.units - used && detail::counters_last(state, one, grant.amount);
  }
  const gpu_word word = state.gpu(grant.device);
  const mig_mode mig = inventory.gpus[grant.device].mig;
  if (word.unhealthy()) return false;
  switch (grant.kind) {
    case form::gpu: return word.idle() && mig != mig_mode::fixed;
    case form::share:
      // Slices are full where a pod has the whole GPU, and used where MIG is.
      if (mig != mig_mode::off || word.slices() != 0 || word.replicas() != 0) return false;
      if (word.milli() + grant.milli > whole_gpu || word.pods() == gpu_word::max_pods) return false;
      if (inventory.memory_rule == gpu_memory_rule::as_asked && grant.mig_start > 0)
        return grant.mig_start <= 100 - state.used_memory_percent(grant.device);
      return grant.amount <= inventory.gpu_memory_mib - state.used_memory_mib(grant.device);
    case form::replica: return detail::free_replicas(state, grant.device) > 0;
    case form::mig: {
      const std::optional<mig_profile_index> profile = inventory.find_profile(grant.mig_profile);
      return profile && grant.mig_start >= 0 &&
             (detail::mig_starts(state, grant.device, *profile) >> grant.mig_start & 1) != 0;
    }
    case form::other:
    case form::cpus:
    case form::memory:
    case form::capacity: break;
  }
  return false;
}

GANGSCHED_INLINE std::vector<std::int64_t> words_of_any_health(const device_state& state) {
  if (!state) return {};
  std::vector<std::int64_t> words(state.used, state.used + state.inventory->words());
  for (std::uint32_t word = 0; word < state.inventory->first_counter(); ++word)
    words[word] &= std::numeric_limits<std::int64_t>::max();
  return words;
}

GANGSCHED_INLINE void add_grant(const device_inventory& inventory, const device_grant& grant, device_claim& claim) {
  const auto add = [&](std::uint32_t word, std::uint64_t more) {
    if (more != 0) claim.changes.push_back({word, more});
  };
  const std::uint32_t gpu = 2 * std::uint32_t{grant.device};
  switch (grant.kind) {
    case device_grant::form::gpu: add(gpu, gpu_word::whole), add(gpu + 1, detail::memory_word(inventory, grant)); break;
    case device_grant::form::share:
      add(gpu, gpu_word::milli_of(grant.milli) + gpu_word::one_pod),
          add(gpu + 1, detail::memory_word(inventory, grant));
      break;
    case device_grant::form::replica: add(gpu, gpu_word::one_replica); break;
    case device_grant::form::mig: {
      const mig_placement at{*inventory.find_profile(grant.mig_profile), static_cast<std::uint8_t>(grant.mig_start)};
      add(gpu, gpu_word::instance(inventory.mig->place({}, at)) + gpu_word::one_pod);
      break;
    }
    case device_grant::form::other:
      add(inventory.first_other() + grant.device, static_cast<std::uint64_t>(grant.amount));
      for (const auto& [counter, amount] : inventory.others[grant.device].consumes) {
        add(inventory.first_counter() + counter, static_cast<std::uint64_t>(amount * grant.amount));
      }
      break;
    case device_grant::form::capacity:
      add(inventory.first_counter() +
              inventory.others[grant.device].capacities[static_cast<std::size_t>(grant.milli)].counter,
          static_cast<std::uint64_t>(grant.amount));
      break;
    case device_grant::form::cpus:
    case device_grant::form::memory: add_cells_grant(inventory, grant, claim); break;
  }
  claim.grants.push_back(grant);
}

GANGSCHED_INLINE device_grant grant_of(const device_inventory& inventory, const device_demand& demand,
                                       std::uint8_t request, std::uint32_t device, std::int32_t mig_start) {
  device_grant grant{.request = request, .device = static_cast<std::uint16_t>(device), .mig_start = mig_start};
  detail::fill_grant(inventory, demand, grant);
  return grant;
}

GANGSCHED_INLINE std::uint32_t gpus_for(const device_state& state, const device_demand& demand) noexcept {
  std::uint32_t fits = 0;
  const device_inventory& inventory = *state.inventory;
  if (!detail::knows_memory(inventory, demand)) return 0;
  if (!inventory.mig &&
      (demand.kind == device_demand::form::whole || (demand.kind == device_demand::form::share && demand.milli != 0 &&
                                                     demand.memory_mib == 0 && demand.memory_percent == 0))) {
    // is_free() for the usual two, without a branch: idle; or nothing in use but thousandths, of which enough are left.
    const std::uint32_t gpus = inventory.gpu_count();
    if (demand.kind == device_demand::form::whole) {
      for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) fits |= std::uint32_t{state.gpu(gpu).bits == 0} << gpu;
      return fits;
    }
    constexpr std::uint64_t shared = gpu_word::milli_of(0xffff) | (std::uint64_t{0x7fff} << 48);
    const std::int32_t most = whole_gpu - demand.milli;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      const gpu_word word = state.gpu(gpu);
      const bool room = (word.bits & ~shared) == 0 && word.milli() <= most;
      fits |= std::uint32_t{room} << gpu;
    }
    return fits;
  }
  device_grant grant;
  detail::fill_grant(*state.inventory, demand, grant);
  for (grant.device = 0; grant.device < state.gpu_count(); ++grant.device) {
    if (is_free(state, grant)) fits |= std::uint32_t{1} << grant.device;
  }
  return fits;
}

GANGSCHED_INLINE bool still_free(const device_state& state, const device_claim& claim) {
  if (!state) return false;
  boost::container::small_vector<std::int64_t, 64> words(state.used, state.used + state.inventory->words());
  device_claim again;
  for (const device_grant& one : claim.grants) {
    if (!is_free({state.inventory, words.data()}, one)) return false;
    std::size_t next = again.changes.size();
    for (add_grant(*state.inventory, one, again); next < again.changes.size(); ++next) {
      words[again.changes[next].word] += static_cast<std::int64_t>(again.changes[next].more);
    }
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI
