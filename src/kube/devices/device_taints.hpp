#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gangsched/src/kube/documents/reader.hpp"
#include "gangsched/src/kube/documents/taints.hpp"

/// Taints of devices (KEP-5055): what they say, what tolerates them, and how devices that a request may not have are kept from it.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Whole seconds from @p first to @p last, each rounded down; any times.
[[nodiscard]] std::int64_t seconds_between(instant first, instant last) noexcept;

struct device_taint : taint {
  std::optional<instant> since = {};  ///< from 1970
};

/// What a request, or a device that a claim has, tolerates.
struct device_toleration {
  toleration is;
  std::optional<std::int64_t> seconds = {};  ///< how long a taint NoExecute; absent: for ever
};
using device_tolerations = std::vector<device_toleration>;

/// Adds the taint, unless its effect is None.
bool read_device_taint(reader& read, const place& of, std::vector<device_taint>& to);
bool read_device_tolerations(reader& read, const place& of, device_tolerations& to);

/// As many as a device, or a request, may have.
inline constexpr std::size_t most_taints = 16;

/// Whether a request with these may be given the device.
[[nodiscard]] bool tolerates_all(const device_tolerations& these, std::span<const device_taint> taints);

/// When a pod has to go because of the NoExecute taints of a device that it has, and for which taint; nothing: it may stay. A toleration
/// must name the effect. Times are from 1970: a taint counts since it was added if it says so, else from @p now on.
[[nodiscard]] std::optional<taint_eviction> eviction_for(const device_tolerations& these,
                                                         std::span<const device_taint> taints, instant now);

/// Expresses taints of devices in the library's model. A device that no request of the files tolerates, and no claim has, is unhealthy. If
/// a driver has other tainted devices, its devices have an attribute for each list of tolerations that will do; requests select by it.
class tolerated_devices {
 public:
  tolerated_devices() { add({}); }

  /// What some request tolerates; before all else.
  void add(const device_tolerations& these);
  /// A device of the driver; before any device is marked.
  /// @p held: a claim has it.
  void look_at(const std::string& driver, std::span<const device_taint> taints, bool held);
  void mark(const std::string& driver, std::span<const device_taint> taints, bool held, other_device& device) const;
  /// How many lists there are that differ.
  [[nodiscard]] std::size_t lists() const { return lists_.size(); }
  /// How many tolerations are in them.
  [[nodiscard]] std::size_t tolerations() const { return tolerations_; }
  /// Whether some devices of the driver are for some requests only.
  [[nodiscard]] bool divides(const std::string& driver) const { return divided_.contains(driver); }
  /// The attribute of the devices that a request with these tolerations may be given.
  [[nodiscard]] static std::string attribute_of(const device_tolerations& these);

 private:
  [[nodiscard]] bool somebody_tolerates(std::span<const device_taint> taints) const;

  std::map<std::string, device_tolerations> lists_;  // by attribute
  std::size_t tolerations_ = 0;
  std::set<std::string> divided_;  // drivers
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
