#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_grant.hpp"
#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/devices/fixed_set.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A `device_request`, checked, its names interned: part of a pod's class.
struct device_demand {
  enum class form : std::uint8_t { whole, share, replica, mig, other };

  form kind = form::whole;
  bool within_preferred = false, beside_preferred = false, all = false, admin = false;
  device_scope within = device_scope::node;
  device_scope beside_gpus = device_scope::node;
  std::int32_t count = 1;
  std::int32_t milli = whole_gpu;
  std::int32_t memory_percent = 0;
  std::int64_t memory_mib = 0;
  std::int64_t least_memory_mib = 0;
  std::int32_t least_compute_capability = 0;
  std::uint16_t container = 0;
  symbol mig_profile;
  symbol device_class;
  std::int64_t units = 1;
  std::vector<symbol> models;  ///< ascending
  struct selector {
    symbol attribute;
    attribute_operator op;
    std::vector<device_attribute> values;
  };
  std::vector<selector> selectors;
  std::vector<symbol> expressions;
  std::vector<std::pair<symbol, std::int64_t>> capacities;  ///< by name
  std::vector<device_demand> first_of;

  [[nodiscard]] bool wants_gpu() const noexcept { return kind != form::other; }
  /// MiB it takes of a GPU that has @p total; hundredths are rounded down, so that the shares of all memory fit.
  [[nodiscard]] std::int64_t memory_of(std::int64_t total) const noexcept {
    return memory_percent == 0 ? memory_mib : total * memory_percent / 100;
  }
};

/// The device's value of an attribute; null if it has none. O(log attributes).
[[nodiscard]] GANGSCHED_API const device_attribute* find_attribute(const device_inventory::other& device, symbol name);
/// Whether a device has the class and attributes of @p demand, and the host's matcher accepts it. O(selectors + expressions).
[[nodiscard]] GANGSCHED_API bool is_kind(const device_inventory& inventory, const device_demand& demand,
                                         std::size_t device);
/// The matcher's error for a device that may match @p demand; the empty symbol if there was none.
[[nodiscard]] GANGSCHED_API symbol host_error(const device_inventory& inventory, const device_demand& demand,
                                              std::size_t device);

/// A `device_constraint`, checked, its name interned.
struct device_match {
  symbol attribute;
  bool distinct = false;
  device_set requests;                                              ///< by number
  std::vector<std::pair<std::uint8_t, std::uint8_t>> alternatives;  ///< request, place among its alternatives
};

/// Checks the requests of one pod. Errors name the field: milli outside 0 to 1000 or below 1000 with more than one GPU and no memory,
/// a share and a MIG profile at once, a count below 1, … O(size).
[[nodiscard]] GANGSCHED_API std::optional<error> check(std::span<const device_request> requests,
                                                       std::string_view object);
/// Checks the constraints on the devices of @p requests: an attribute without a name, a request that does not exist or is about GPUs. @p
/// field: the name of the list in errors. O(requests named).
[[nodiscard]] GANGSCHED_API std::optional<error> check(std::span<const device_constraint> constraints,
                                                       std::span<const device_request> requests,
                                                       std::string_view object, std::string_view field);
/// The demands of @p requests. @pre `check` accepted them. Interns new names.
[[nodiscard]] GANGSCHED_API std::vector<device_demand> make_demands(std::span<const device_request> requests,
                                                                    interner& names);

/// The same for the constraints on @p requests.
[[nodiscard]] GANGSCHED_API std::vector<device_match> make_matches(std::span<const device_constraint> constraints,
                                                                   std::span<const device_request> requests,
                                                                   interner& names);

/// A MIG profile by its name in its table: "1g.5gb+me" for "nvidia.com/mig-1g.5gb.me"; other text unchanged.
[[nodiscard]] GANGSCHED_API std::string mig_profile_name(std::string_view text);
/// The prefix of resources that count MIG instances; mig_resource_name() returns the resource of a profile.
inline constexpr std::string_view mig_resource_prefix = "nvidia.com/mig-";
[[nodiscard]] GANGSCHED_API std::string mig_resource_name(std::string_view profile);

/// What a pod holds of its node's devices, and its contribution to the node's words.
struct device_claim {
  struct change {
    std::uint32_t word;
    std::uint64_t more;
  };
  boost::container::small_vector<device_grant, 2> grants;
  boost::container::small_vector<change, 4> changes;
  std::int32_t link_points = 0;          ///< how well its GPUs are connected (links.hpp)
  std::vector<held_device> absent = {};  ///< held devices that the node lacks now: held again when they return

  /// Reset to the initial state; keeps its memory.
  void clear() noexcept {
    grants.clear();
    changes.clear();
    link_points = 0;
    absent.clear();
  }
  GANGSCHED_API void digest_into(digest& out) const;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/device_demand.cpp"
#endif
