#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>

#include "gangsched/core/status.hpp"
#include "gangsched/devices/cpu_binding.hpp"
#include "gangsched/devices/device_demand.hpp"
#include "gangsched/devices/device_grants.hpp"
#include "gangsched/devices/fixed_set.hpp"
#include "gangsched/devices/numa_container.hpp"

/// Which devices of a node a pod gets: pure functions of the node's words and the pod's demands. Chosen devices are always free.
namespace gangsched::inline GANGSCHED_ABI {

/// A demand and its count: for demands that stand for a counted resource, the pod's count.
struct device_want {
  const device_demand* what;
  std::int32_t count;
  std::uint8_t request;                    ///< as in `device_grant`
  std::uint32_t gpus = ~std::uint32_t{0};  ///< a bit for each suitable GPU
  std::int16_t others = -1;  ///< index in `device_wants::allowed` of the suitable other devices; −1: any
};

/// All device requests of a pod, for one node.
struct device_wants : boost::container::small_vector<device_want, 4> {
  using other_set = fixed_set<max_other_devices>;

  bool guaranteed = false;
  /// The scheduler binds CPUs for the pod as a whole; else the kubelet may. And how many thousandths of a CPU it requests.
  cpu_binding binding = {};
  bool binding_conflict = false;  ///< the pod and the node require different policies
  std::int64_t cpu_milli = 0;
  /// If the node's kubelet aligns resources: the requests of each container, and its part of each want. Else empty.
  std::vector<numa_container> containers;
  std::vector<other_set> allowed;
  std::vector<device_match> matches;  ///< by the wants' `request`

  /// Neither devices nor anything else that the node assigns in units.
  [[nodiscard]] bool nothing() const noexcept { return empty() && containers.empty(); }
};

/// Which GPU a share goes to, among those with room.
enum class share_rule : std::uint8_t {
  tightest,  ///< the least that is left after it, then the lowest index: whole GPUs stay whole
  widest,    ///< the most
  first,     ///< the lowest index
};

/// Which GPU and start a MIG instance gets.
enum class mig_rule : std::uint8_t {
  fragmentation,  ///< what leaves the most for instances to come, then the GPU that most pods share, then the lowest index
  best_fit,       ///< the GPU with the least free slices, HAMi's rule for the start
  first_fit,      ///< the first GPU, the lowest start
};

struct device_rules {
  share_rule share = share_rule::tightest;
  mig_rule mig = mig_rule::fragmentation;
  std::int8_t gpu = -1;  ///< a plugin's choice for a share: this GPU, which has room for it; −1: the rule decides
  /// A plugin's choice for the first request for whole GPUs or shares: as many as requested, each with room; 0: the rules decide.
  std::uint32_t gpus = 0;
};

/// What one GPU of @p state has room for: a bit for each GPU that can take @p demand. O(GPUs).
[[nodiscard]] GANGSCHED_API std::uint32_t gpus_for(const device_state& state, const device_demand& demand) noexcept;

/// Whether all of @p claim is free, on the node that it was made for. O(its grants + words of the node).
[[nodiscard]] GANGSCHED_API bool still_free(const device_state& state, const device_claim& claim);

/// The grant of a device for @p demand, which is one of the alternatives where a request offers some.
[[nodiscard]] GANGSCHED_API device_grant grant_of(const device_inventory& inventory, const device_demand& demand,
                                                  std::uint8_t request, std::uint32_t device, std::int32_t mig_start);

/// Chooses devices for all of @p wants, or returns why there are none; @p out is empty then. Deterministic. O(GPUs) for a whole GPU or a
/// share; several requests are served one after another, other devices by backtracking of at most 4,096 steps.
[[nodiscard]] GANGSCHED_API status choose_devices(const device_state& state, const device_wants& wants,
                                                  const device_rules& rules, device_claim& out);
/// The same for a pod's only request, without constraints, where no kubelet aligns anything.
[[nodiscard]] GANGSCHED_API status choose_devices(const device_state& state, const device_want& only,
                                                  const device_rules& rules, device_claim& out);

/// Which of the alternatives of a request (`device_demand::first_of`) other devices among @p grants were chosen for: those that
/// `choose_devices` granted for @p wants on a node with @p inventory. Nothing: the request offers none or is about GPUs, or no alternatives
/// lead to these grants, which the host may have said. The choice is retraced: alternatives are tried in order, so that the first one that
/// leads to the same devices is the one. At most twice 4,096 steps.
[[nodiscard]] GANGSCHED_API std::optional<std::uint8_t> alternative_chosen(const device_inventory& inventory,
                                                                           const device_wants& wants,
                                                                           std::span<const device_grant> grants,
                                                                           std::uint8_t request);

/// Whether `choose_devices` would succeed: mostly without choosing.
[[nodiscard]] GANGSCHED_API status devices_fit(const device_state& state, const device_wants& wants,
                                               const device_rules& rules);
/// The same if @p only is the pod's only request, and no kubelet aligns anything. Mostly O(devices).
[[nodiscard]] GANGSCHED_API status devices_fit(const device_state& state, const device_want& only,
                                               const device_rules& rules);

/// A place for one more MIG instance, and the fragmentation that it adds.
struct mig_choice {
  std::uint32_t gpu;
  mig_placement at;
  std::int64_t delta;
};
/// By @p rule the best place for an instance of @p profile on one of the GPUs @p among, if there is one. O(GPUs · starts).
[[nodiscard]] GANGSCHED_API std::optional<mig_choice> choose_instance(const device_state& state,
                                                                      mig_profile_index profile, mig_rule rule,
                                                                      std::uint32_t among = ~std::uint32_t{0});

/// How many more pods with these wants the devices have room for, if each chooses like the one before; at most @p most.
[[nodiscard]] GANGSCHED_API std::int64_t device_capacity(const device_state& state, const device_wants& wants,
                                                         const device_rules& rules, std::int64_t most);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/device_fit.cpp"
#include "gangsched/src/devices/device_grants.cpp"
#include "gangsched/src/devices/mig_fit.cpp"
#endif
