#include "gangsched/devices/device_fit.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

#include "gangsched/devices/device_grants.hpp"
#include "gangsched/devices/numa_fit.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// What a set of GPUs must be for @p demand. A scope that the host told nothing of has no sets.
GANGSCHED_INLINE gpu_set_requirement requirement_of(const device_inventory& inventory, const device_demand& demand) {
  static constexpr gpu_mask none[] = {0};
  const auto among = [](const std::vector<gpu_mask>& groups) {
    return gpu_set_requirement{link_level::sys,
                               groups.empty() ? std::span<const gpu_mask>{none} : std::span<const gpu_mask>{groups}};
  };
  switch (demand.within) {
    case device_scope::numa: return among(inventory.numa_groups);
    case device_scope::pcie: return among(inventory.pcie_groups);
    case device_scope::nvlink: return {link_level::nvlink, {}};
    case device_scope::node: break;
  }
  return {};
}

/// Whether @p count of them are GPUs that are not shared: several with all of their memory are as good as whole ones, and so is one where
/// there are partitions.
inline bool is_whole(const device_inventory& inventory, const device_demand& demand, std::int32_t count) noexcept {
  return demand.kind == device_demand::form::whole ||
         (demand.kind == device_demand::form::share && (count > 1 || inventory.partitions) &&
          demand.memory_percent == 100);
}
/// Whether they have to be inside one scope.
inline bool has_to_be_near(const device_demand& demand, std::int32_t count) noexcept {
  return count > 1 && demand.within != device_scope::node && !demand.within_preferred;
}

/// What no pod that leaves can change. @p profile becomes the one of a MIG instance.
inline status suits(const device_inventory& inventory, const device_demand& demand, mig_profile_index& profile) {
  if (inventory.gpus.empty()) return status::unresolvable("node(s) didn't have GPUs");
  if (!demand.models.empty() && !std::binary_search(demand.models.begin(), demand.models.end(), inventory.model)) {
    return status::unresolvable("node(s) didn't have GPUs of the models asked for");
  }
  if (demand.least_memory_mib > inventory.gpu_memory_mib)
    return status::unresolvable("node(s) had GPUs with too little memory");
  if (!knows_memory(inventory, demand)) return status::unresolvable("node(s) had GPUs with memory that is not known");
  if (demand.kind == device_demand::form::mig) {
    const std::optional<mig_profile_index> found = inventory.find_profile(demand.mig_profile);
    if (!found) return status::unresolvable("node(s) didn't have GPUs with MIG profile ", demand.mig_profile);
    profile = *found;
  }
  if (demand.least_compute_capability > inventory.compute_capability) {
    return status::unresolvable("node(s) had GPUs with too low a compute capability");
  }
  return status::success();
}

/// Narrows @p among, a bit for each GPU that will do, to those that have room for whole GPUs or shares; says why they are too few. Of
/// replicas and MIG instances, of which one GPU may give several, only whether the node is of the kind.
GANGSCHED_INLINE status free_gpus(const device_state& state, const device_demand& demand, std::int32_t count,
                                  std::uint32_t& among) {
  mig_profile_index profile = 0;
  if (status said = suits(*state.inventory, demand, profile); !said.ok()) return said;
  if (demand.kind == device_demand::form::replica || demand.kind == device_demand::form::mig) return status::success();
  if (static_cast<std::uint32_t>(count) > state.inventory->gpu_count())
    return status::unresolvable("node(s) didn't have enough GPUs");
  among &= gpus_for(state, demand);
  if (std::popcount(among) < count) return status::unschedulable("node(s) didn't have enough free GPUs");
  return status::success();
}

using device_words = boost::container::small_vector<std::int64_t, 64>;

/// What a search has chosen so far, with the words as they are then.
class device_search {
 public:
  device_search(const device_inventory& inventory, const std::int64_t* used, const device_rules& rules,
                device_claim& claim)
      : inventory_(&inventory), used_(used), rules_(rules), claim_(&claim) {}

  [[nodiscard]] status run(const device_wants& wants) {
    among(wants);
    return run(std::span{wants.data(), wants.size()});
  }
  [[nodiscard]] status run(std::span<const device_want> wants) {
    chosen_at_once_ = wants.size() == 1 && is_chosen_at_once(wants.front());
    for (const device_want& one : wants) {
      if (!one.what->wants_gpu()) continue;
      const status said = take_gpus(one);
      if (!said.ok()) return said;
    }
    for (const device_want& one : wants) {
      if (!one.what->wants_gpu()) others_.push_back(&one);
    }
    if (others_.empty()) return status::success();
    alternative_.assign(others_.size(), -1);
    if (take_others(0)) return status::success();
    if (broken_ != symbol{})
      return status::unschedulable("node(s) have a device that the host could not evaluate: ", broken_);
    return status::unschedulable(
        steps_ > max_steps ? "node(s) had too many ways to allocate devices" : "node(s) didn't have enough free ",
        steps_ > max_steps ? symbol{} : others_[deepest_]->what->device_class);
  }

  /// Takes the same other devices again in the same order, on a node where all are free, and returns by which alternatives, in the order of
  /// those wants that are about other devices. Empty: they are not what the wants lead to.
  [[nodiscard]] std::span<const std::int16_t> retrace(const device_wants& wants,
                                                      std::span<const device_grant> granted) {
    among(wants);
    same_as_ = granted;
    for (const device_grant& one : granted) {  // GPUs, which others may have to be beside, come first
      if (one.is_gpu()) claim_->grants.push_back(one);
    }
    for (const device_want& one : wants) {
      if (!one.what->wants_gpu()) others_.push_back(&one);
    }
    alternative_.assign(others_.size(), -1);
    if (!take_others(0)) return {};
    return {alternative_.data(), alternative_.size()};
  }

 private:
  static constexpr std::int32_t max_steps = 4096;

  [[nodiscard]] device_state now() const { return {inventory_, used_}; }
  void among(const device_wants& wants) {
    matches_ = wants.matches;
    allowed_ = wants.allowed;
  }
  /// Nothing is chosen after what this one, alone, takes: no words need to follow.
  [[nodiscard]] static bool is_chosen_at_once(const device_want& want) noexcept {
    const device_demand& demand = *want.what;
    if (!demand.first_of.empty()) return false;
    const bool as_a_set = demand.kind == device_demand::form::whole || demand.kind == device_demand::form::share;
    return as_a_set || (want.count == 1 && !demand.all);
  }

  void take(const device_grant& grant) {
    std::size_t next = claim_->changes.size();
    add_grant(*inventory_, grant, *claim_);
    if (chosen_at_once_) return;
    if (words_.empty()) {
      words_.assign(used_, used_ + inventory_->words());
      used_ = words_.data();
    }
    for (; next < claim_->changes.size(); ++next) {
      const device_claim::change& one = claim_->changes[next];
      words_[one.word] = static_cast<std::int64_t>(static_cast<std::uint64_t>(words_[one.word]) + one.more);
    }
  }
  void give_back(std::size_t changes, std::size_t grants) {
    while (claim_->changes.size() > changes) {
      const device_claim::change last = claim_->changes.back();
      if (!chosen_at_once_)
        words_[last.word] = static_cast<std::int64_t>(static_cast<std::uint64_t>(words_[last.word]) - last.more);
      claim_->changes.pop_back();
    }
    while (claim_->grants.size() > grants) claim_->grants.pop_back();
  }

  // --- GPUs

  [[nodiscard]] status take_gpus(const device_want& want) {
    const device_demand& demand = *want.what;
    if (demand.first_of.empty()) return take_gpus(want, demand);
    status first;
    const std::size_t changes = claim_->changes.size(), grants = claim_->grants.size();
    const std::uint32_t named = rules_.gpus;
    for (const device_demand& one : demand.first_of) {
      const status said = take_gpus({&one, one.count, want.request, want.gpus}, one);
      if (said.ok()) return said;
      if (first.ok()) first = said;
      give_back(changes, grants);  // instances and replicas are taken one by one
      rules_.gpus = named;
    }
    return first;
  }

  [[nodiscard]] status take_gpus(const device_want& want, const device_demand& demand) {
    std::uint32_t free = want.gpus;
    if (status said = free_gpus(now(), demand, want.count, free); !said.ok()) return said;
    if (demand.kind == device_demand::form::replica) return take_replicas(want);
    if (demand.kind == device_demand::form::mig) return take_instances(want);
    const auto count = static_cast<std::uint32_t>(want.count);
    const bool whole = is_whole(*inventory_, demand, want.count);
    const auto best_of = [&](std::uint32_t gpus) {
      return whole ? best_gpus(*inventory_, gpus, count, demand) : shares(gpus, count, demand);
    };
    std::uint32_t chosen = named(free, count);
    if (chosen != 0) chosen = best_of(chosen);
    if (chosen == 0) chosen = best_of(free);
    if (chosen == 0) return status::unschedulable("node(s) didn't have enough free GPUs close to each other");
    if (whole) claim_->link_points += inventory_->sets->points(static_cast<gpu_mask>(chosen));
    claim_->grants.reserve(claim_->grants.size() + count);
    claim_->changes.reserve(claim_->changes.size() + 2 * count);
    for (std::uint32_t rest = chosen; rest != 0; rest &= rest - 1)
      take_gpu(static_cast<std::uint32_t>(std::countr_zero(rest)), want);
    return status::success();
  }

  void take_gpu(std::uint32_t gpu, const device_want& want) {
    const device_demand& demand = *want.what;
    device_grant grant{.request = want.request, .device = static_cast<std::uint16_t>(gpu)};
    fill_grant(*inventory_, demand, grant);
    take(grant);
  }

  /// The GPUs that a plugin named, if they are what is asked for; for one request only.
  [[nodiscard]] std::uint32_t named(std::uint32_t free, std::uint32_t count) {
    const std::uint32_t gpus = std::exchange(rules_.gpus, 0);
    return (gpus & ~free) == 0 && std::popcount(gpus) == static_cast<int>(count) ? gpus : 0;
  }

  /// Several that should be inside one scope are the closest there. (Partitions are for pods that have whole GPUs.)
  [[nodiscard]] std::uint32_t shares(std::uint32_t free, std::uint32_t count, const device_demand& demand) const {
    if (count > 1 && demand.within != device_scope::node) {
      const std::uint32_t near =
          inventory_->sets->best(static_cast<gpu_mask>(free), count, requirement_of(*inventory_, demand));
      if (near != 0 || !demand.within_preferred) return near;
    }
    if (rules_.gpu >= 0 && count == 1 && (free >> rules_.gpu & 1u) != 0) return std::uint32_t{1} << rules_.gpu;
    std::uint32_t chosen = 0;
    for (; count != 0; --count) {
      std::uint32_t best = 0;
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (std::uint32_t rest = free & ~chosen; rest != 0; rest &= rest - 1) {
        const auto gpu = static_cast<std::size_t>(std::countr_zero(rest));
        // By compute, then by memory: whichever is asked for.
        const std::int64_t left =
            (std::int64_t{now().free_milli(gpu)} << 32) + inventory_->gpu_memory_mib - now().used_memory_mib(gpu);
        const std::int64_t rank = rules_.share == share_rule::first    ? 0
                                  : rules_.share == share_rule::widest ? -left
                                                                       : left;
        if (best == 0 || rank < least) best = std::uint32_t{1} << gpu, least = rank;
      }
      chosen |= best;
    }
    return chosen;
  }

  /// Replicas may be of one and the same GPU: of the fullest that still has some, as many as it has.
  [[nodiscard]] status take_replicas(const device_want& want) {
    for (std::int32_t left = want.count; left != 0; --left) {
      std::uint32_t best = max_node_gpus;
      for (std::uint32_t gpu = 0; gpu < inventory_->gpu_count(); ++gpu) {
        if ((want.gpus >> gpu & 1u) == 0 || free_replicas(now(), gpu) <= 0) continue;
        if (best == max_node_gpus || now().gpu(gpu).replicas() > now().gpu(best).replicas()) best = gpu;
      }
      if (best == max_node_gpus) return status::unschedulable("node(s) didn't have enough free replicas of GPUs");
      take({.kind = device_grant::form::replica, .request = want.request, .device = static_cast<std::uint16_t>(best)});
    }
    return status::success();
  }

  [[nodiscard]] status take_instances(const device_want& want) {
    const mig_profile_index profile = *inventory_->find_profile(want.what->mig_profile);
    for (std::int32_t left = want.count; left != 0; --left) {
      const std::optional<mig_choice> found = choose_instance(now(), profile, rules_.mig, want.gpus);
      if (!found)
        return status::unschedulable("node(s) didn't have enough free GPU slices for MIG profile ",
                                     want.what->mig_profile);
      take({.kind = device_grant::form::mig,
            .request = want.request,
            .device = static_cast<std::uint16_t>(found->gpu),
            .mig_start = found->at.start,
            .mig_profile = want.what->mig_profile});
    }
    return status::success();
  }

  // --- other devices

  [[nodiscard]] bool take_others(std::size_t index) {
    if (index == others_.size()) return !same_as_ || claim_->grants.size() == same_as_->size();
    deepest_ = std::max(deepest_, index);
    const device_want& want = *others_[index];
    if (want.what->first_of.empty()) return take_devices(index, *want.what, want.count, 0, {});
    for (const device_demand& one : want.what->first_of) {
      ++alternative_[index];
      if (take_devices(index, one, one.count, 0, {})) return true;
    }
    alternative_[index] = -1;
    return false;
  }

  using taken_devices = boost::container::small_vector<std::uint16_t, 8>;

  /// The @p left last devices of a request, from device @p from on: in the order of the inventory, as Kubernetes' allocator goes.
  [[nodiscard]] bool take_devices(std::size_t index, const device_demand& demand, std::int32_t left, std::size_t from,
                                  const taken_devices& taken) {
    if (++steps_ > max_steps) return false;
    if (demand.all) return take_all(index, demand);
    if (left == 0) return take_others(index + 1);
    const bool near = demand.beside_gpus != device_scope::node;
    const std::int16_t others = others_[index]->others;
    const device_wants::other_set* const allowed = others < 0 ? nullptr : &allowed_[static_cast<std::size_t>(others)];
    for (const bool beside : {true, false}) {
      if (!beside && (!near || !demand.beside_preferred)) break;
      for (std::size_t i = near ? 0 : from; i < inventory_->others.size(); ++i) {
        if (!has_units(now(), demand, i)) continue;
        const bool again = inventory_->others[i].shared;  // one request may have it several times
        if (!again && std::find(taken.begin(), taken.end(), i) != taken.end()) continue;
        if (allowed != nullptr && !allowed->contains(static_cast<unsigned>(i))) continue;
        if (breaks(demand, i)) return false;
        if (!is_free(now(), demand, i)) continue;
        if (!agrees(index, i)) continue;
        if (near && is_beside(demand, i, taken.size()) != beside) continue;
        const std::size_t changes = claim_->changes.size(), grants = claim_->grants.size();
        if (take_device(index, demand, i)) {
          taken_devices more = taken;
          more.push_back(static_cast<std::uint16_t>(i));
          if (take_devices(index, demand, left - 1, again ? i : i + 1, more)) return true;
        }
        give_back(changes, grants);
        if (steps_ > max_steps) return false;
      }
    }
    return false;
  }

  /// Every device that the selectors admit must be free, and there must be one.
  [[nodiscard]] bool take_all(std::size_t index, const device_demand& demand) {
    const std::size_t changes = claim_->changes.size(), grants = claim_->grants.size();
    bool fine = true, any = false;
    for (std::size_t i = 0; i < inventory_->others.size() && fine; ++i) {
      if (breaks(demand, i)) fine = false;
      if (!fine || !is_kind(*inventory_, demand, i)) continue;
      fine = is_free(now(), demand, i) && agrees(index, i) && take_device(index, demand, i);
      any = any || fine;
    }
    if (fine && any && take_others(index + 1)) return true;
    give_back(changes, grants);
    return false;
  }

  /// False: it is not the one that `retrace` looks for.
  [[nodiscard]] bool take_device(std::size_t index, const device_demand& demand, std::size_t device) {
    device_grant grant = unit_of(demand, device);
    grant.request = others_[index]->request;
    const std::size_t before = claim_->grants.size();
    take(grant);
    for (const device_grant& one : capacity_grants(*inventory_, demand, grant)) take(one);
    return !same_as_ || (claim_->grants.size() <= same_as_->size() &&
                         std::equal(claim_->grants.begin() + static_cast<std::ptrdiff_t>(before), claim_->grants.end(),
                                    same_as_->begin() + static_cast<std::ptrdiff_t>(before)));
  }
  /// Ends the search if the host has an error to say of a device that could be the next one.
  [[nodiscard]] bool breaks(const device_demand& demand, std::size_t device) {
    const symbol said = host_error(*inventory_, demand, device);
    if (said == symbol{} || !is_free(now(), unit_of(demand, device))) return false;
    broken_ = said;
    steps_ = max_steps + 1;
    return true;
  }
  /// Whether the match is about what was chosen for a request.
  [[nodiscard]] bool concerns(const device_match& match, std::uint8_t request) const {
    if (match.requests.contains(request)) return true;
    return std::any_of(match.alternatives.begin(), match.alternatives.end(), [&](const auto& one) {
      if (one.first != request) return false;
      const auto at = std::find_if(others_.begin(), others_.end(),
                                   [&](const device_want* want) { return want->request == request; });
      return alternative_[static_cast<std::size_t>(at - others_.begin())] == one.second;
    });
  }
  /// Whether the device goes with those that were chosen before it.
  [[nodiscard]] bool agrees(std::size_t index, std::size_t device) const {
    return std::all_of(matches_.begin(), matches_.end(), [&](const device_match& match) {
      if (!concerns(match, others_[index]->request)) return true;
      const device_attribute* const mine = find_attribute(inventory_->others[device], match.attribute);
      return mine != nullptr &&
             std::all_of(claim_->grants.begin(), claim_->grants.end(), [&](const device_grant& grant) {
               if (grant.kind != device_grant::form::other || !concerns(match, grant.request)) return true;
               return (*find_attribute(inventory_->others[grant.device], match.attribute) == *mine) != match.distinct;
             });
    });
  }
  /// Whether the device is where the pod's GPU number @p nth is; GPUs are gone round again if there are fewer of them.
  [[nodiscard]] bool is_beside(const device_demand& demand, std::size_t device, std::size_t nth) const {
    // Where each GPU is, first each place once: fewer devices than GPUs are not all in the first place.
    boost::container::small_vector<std::int32_t, 8> places, again;
    const bool in_cell = demand.beside_gpus == device_scope::numa;
    for (const device_grant& grant : claim_->grants) {
      if (!grant.is_gpu()) continue;
      const device_inventory::gpu& gpu = inventory_->gpus[grant.device];
      const std::int32_t place = in_cell ? gpu.numa : gpu.pcie;
      (std::find(places.begin(), places.end(), place) == places.end() ? places : again).push_back(place);
    }
    if (places.empty()) return false;
    nth %= places.size() + again.size();
    const std::int32_t place = nth < places.size() ? places[nth] : again[nth - places.size()];
    const device_inventory::other& one = inventory_->others[device];
    return place >= 0 && place == (in_cell ? one.numa : one.pcie);
  }

  const device_inventory* inventory_;
  const std::int64_t* used_;  ///< now: the node's words, then `words_`
  device_words words_;        ///< from the first device taken on
  bool chosen_at_once_ = false;
  device_rules rules_;
  device_claim* claim_;
  std::span<const device_match> matches_;
  std::span<const device_wants::other_set> allowed_;
  boost::container::small_vector<const device_want*, 4> others_;
  boost::container::small_vector<std::int16_t, 4>
      alternative_;  ///< that is being taken for each of them; −1: it offers none
  std::optional<std::span<const device_grant>> same_as_;
  symbol broken_;
  std::size_t deepest_ = 0;
  std::int32_t steps_ = 0;
};

}  // namespace detail

GANGSCHED_INLINE std::uint32_t best_gpus(const device_inventory& inventory, std::uint32_t free, std::uint32_t count,
                                         const device_demand& demand) {
  const auto best = [&](const gpu_set_requirement& required) -> std::uint32_t {
    const auto mask = static_cast<gpu_mask>(free);
    if (inventory.partitions)
      return inventory.partitions->best(mask, count, inventory.partition_policy, *inventory.sets, required);
    return inventory.sets->best(mask, count, required);
  };
  const bool minds = count > 1 && demand.within != device_scope::node;
  const std::uint32_t close = minds ? best(detail::requirement_of(inventory, demand)) : 0;
  if (close != 0) return close;
  return !minds || demand.within_preferred ? best({}) : 0;
}

namespace detail {

/// Whether some GPU has room for one instance.
GANGSCHED_INLINE status instance_fits(const device_state& state, const device_demand& demand) {
  const device_inventory& inventory = *state.inventory;
  mig_profile_index profile = 0;
  if (status said = suits(inventory, demand, profile); !said.ok()) return said;
  const std::uint8_t* const fits = inventory.mig->fits_by_mask(profile);
  const std::uint32_t gpus = inventory.gpu_count();
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    // Most GPUs of a busy node are full, and that is quickly seen.
    if (fits[state.gpu(gpu).slices()] != 0 && mig_starts(state, gpu, profile) != 0) return status::success();
  }
  return status::unschedulable("node(s) didn't have enough free GPU slices for MIG profile ", demand.mig_profile);
}

/// As `free_gpus` says it of whole GPUs that are not divided, without finding all of them.
GANGSCHED_INLINE status idle_gpus_fit(const device_state& state, const device_demand& demand, std::int32_t count) {
  const device_inventory& inventory = *state.inventory;
  mig_profile_index profile = 0;
  if (status said = suits(inventory, demand, profile); !said.ok()) return said;
  const std::uint32_t gpus = inventory.gpu_count();
  if (static_cast<std::uint32_t>(count) > gpus) return status::unresolvable("node(s) didn't have enough GPUs");
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    count -= std::int32_t{state.gpu(gpu).bits == 0};
    if (count == 0) return status::success();
  }
  return status::unschedulable("node(s) didn't have enough free GPUs");
}

/// Whether one other device is free, by itself.
GANGSCHED_INLINE status device_fits(const device_state& state, const device_demand& demand) {
  const std::size_t devices = state.inventory->others.size();
  for (std::size_t i = 0; i < devices; ++i) {
    if (has_units(state, demand, i) && is_free(state, demand, i)) return status::success();
  }
  return status::unschedulable("node(s) didn't have enough free ", demand.device_class);
}

/// `devices_fit` in the cases that are less usual; the devices are chosen where only that can tell.
GANGSCHED_INLINE status choice_fits(const device_state& state, const device_want& only, const device_rules& rules) {
  const device_demand& demand = *only.what;
  if (state && demand.first_of.empty() && demand.wants_gpu()) {
    std::uint32_t free = ~std::uint32_t{0};
    const status said = free_gpus(state, demand, only.count, free);
    const bool by_set = (state.inventory->partitions && is_whole(*state.inventory, demand, only.count)) ||
                        has_to_be_near(demand, only.count);
    const bool one_by_one = demand.kind == device_demand::form::mig || demand.kind == device_demand::form::replica;
    if (!said.ok() || (!by_set && !one_by_one)) return said;
  }
  device_claim unused;
  return choose_devices(state, only, rules, unused);
}

}  // namespace detail

GANGSCHED_INLINE status devices_fit(const device_state& state, const device_want& only, const device_rules& rules) {
  using form = device_demand::form;
  const device_demand& demand = *only.what;
  if (!state || !demand.first_of.empty()) return detail::choice_fits(state, only, rules);
  if (demand.kind == form::mig && only.count == 1) return detail::instance_fits(state, demand);
  if (demand.kind == form::whole && !state.inventory->mig && !state.inventory->partitions &&
      !detail::has_to_be_near(demand, only.count))
    return detail::idle_gpus_fit(state, demand, only.count);
  if (demand.kind == form::other && only.count == 1 && !demand.all && demand.beside_gpus == device_scope::node &&
      demand.expressions.empty())
    return detail::device_fits(state, demand);
  return detail::choice_fits(state, only, rules);
}

GANGSCHED_INLINE status devices_fit(const device_state& state, const device_wants& wants, const device_rules& rules) {
  if (wants.size() == 1 && wants.containers.empty() && wants.matches.empty())
    return devices_fit(state, wants.front(), rules);
  device_claim unused;
  return choose_devices(state, wants, rules, unused);
}

GANGSCHED_INLINE status choose_devices(const device_state& state, const device_want& only, const device_rules& rules,
                                       device_claim& out) {
  out.clear();
  if (!state) return status::unresolvable("node(s) didn't have devices");
  const status said = detail::device_search{*state.inventory, state.used, rules, out}.run({&only, 1});
  if (!said.ok()) out.clear();
  return said;
}

GANGSCHED_INLINE status choose_devices(const device_state& state, const device_wants& wants, const device_rules& rules,
                                       device_claim& out) {
  out.clear();
  if (!state) return status::unresolvable("node(s) didn't have devices");
  const auto search = [&](const device_wants& all) {
    return detail::device_search{*state.inventory, state.used, rules, out}.run(all);
  };
  status said;
  if (wants.containers.empty()) {
    said = search(wants);
  } else {
    device_wants narrowed;
    boost::container::small_vector<device_grant, 8> own;
    narrowed.matches = wants.matches;
    const status refused = fit_cells(state, wants, narrowed, own);
    said = search(refused.ok() ? narrowed : wants);
    // What there is not enough of anywhere in the node is said first.
    if (said.ok() && !refused.ok()) said = refused;
    if (said.ok()) {
      for (const device_grant& one : own) add_grant(*state.inventory, one, out);
    }
  }
  if (!said.ok()) out.clear();
  return said;
}

GANGSCHED_INLINE std::optional<std::uint8_t> alternative_chosen(const device_inventory& inventory,
                                                                const device_wants& wants,
                                                                std::span<const device_grant> grants,
                                                                std::uint8_t request) {
  const auto offers = [&](const device_want& one) { return one.request == request && !one.what->first_of.empty(); };
  const auto has = [&](const device_grant& one) { return one.request == request && !one.of_container(); };
  if (std::none_of(wants.begin(), wants.end(), offers) || std::none_of(grants.begin(), grants.end(), has))
    return std::nullopt;
  std::vector<std::vector<device_grant>> units;  // a device and what is used of its capacities
  for (const device_grant& one : grants) {
    if (one.of_container()) continue;
    if (one.kind != device_grant::form::capacity || units.empty()) units.emplace_back();
    units.back().push_back(one);
  }
  const auto retraced = [&]() -> std::optional<std::uint8_t> {
    std::vector<device_grant> devices;
    for (const std::vector<device_grant>& one : units) devices.insert(devices.end(), one.begin(), one.end());
    const detail::device_words idle(inventory.words());
    device_claim again;
    detail::device_search search{inventory, idle.data(), {}, again};
    const std::span<const std::int16_t> places = search.retrace(wants, devices);
    std::size_t at = 0;
    for (const device_want& one : wants) {
      if (one.what->wants_gpu()) continue;
      if (at < places.size() && one.request == request && places[at] >= 0) return static_cast<std::uint8_t>(places[at]);
      ++at;
    }
    return std::nullopt;
  };
  if (const std::optional<std::uint8_t> found = retraced()) return found;
  // A host may name them in another order, or may have changed that of the node's devices.
  const auto order = [](const std::vector<device_grant>& one) { return std::pair{one[0].request, one[0].device}; };
  std::stable_sort(units.begin(), units.end(), [&](const auto& x, const auto& y) { return order(x) < order(y); });
  return retraced();
}

GANGSCHED_INLINE std::int64_t device_capacity(const device_state& state, const device_wants& wants,
                                              const device_rules& rules, std::int64_t most) {
  if (!state) return 0;
  detail::device_words words(state.used, state.used + state.inventory->words());
  for (std::int64_t count = 0; count < most; ++count) {
    device_claim claim;
    if (!choose_devices({state.inventory, words.data()}, wants, rules, claim).ok()) return count;
    for (const device_claim::change& one : claim.changes) {
      words[one.word] = static_cast<std::int64_t>(static_cast<std::uint64_t>(words[one.word]) + one.more);
    }
  }
  return most;
}

}  // namespace gangsched::inline GANGSCHED_ABI
