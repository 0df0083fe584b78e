#include "gangsched/model/requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>

#include "gangsched/core/saturating_add.hpp"
#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/model/name_rules.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

// Exact sums by name; a pod seldom asks for more than a few. The views are into the spec, or literals.
using request_sums = boost::container::small_flat_map<std::string_view, quantity, 6>;

// Which of the two resources a container gets the default of when it does not name it.
struct request_defaults {
  bool cpu = false;
  bool memory = false;
};

inline constexpr quantity default_cpu_request = quantity::from_milli(100);
inline constexpr quantity default_memory_request{200 * 1024 * 1024};

GANGSCHED_INLINE void add_list_to_sums(request_sums& sums, const resource_list& list) {
  for (const auto& [name, amount] : list) sums[name] += amount;
}

GANGSCHED_INLINE void add_container_to_sums(request_sums& sums, const container& from, request_defaults defaults) {
  add_list_to_sums(sums, from.requests);
  if (defaults.cpu && !from.requests.contains("cpu")) sums["cpu"] += default_cpu_request;
  if (defaults.memory && !from.requests.contains("memory")) sums["memory"] += default_memory_request;
}

GANGSCHED_INLINE void raise_sums(request_sums& sums, const request_sums& to) {
  for (const auto& [name, amount] : to) {
    quantity& sum = sums[name];
    sum = std::max(sum, amount);
  }
}

// What the containers need at once, at most: all that run together, or an init container and the sidecars before it.
GANGSCHED_INLINE request_sums container_sums(const pod_spec& spec, request_defaults defaults) {
  request_sums sums;
  for (const container& each : spec.containers) add_container_to_sums(sums, each, defaults);
  if (spec.init_containers.empty()) return sums;
  request_sums sidecars;
  request_sums peak;
  for (const container& each : spec.init_containers) {
    if (each.sidecar) {
      add_container_to_sums(sums, each, defaults);
      add_container_to_sums(sidecars, each, defaults);
      raise_sums(peak, sidecars);
    } else {
      request_sums use = sidecars;
      add_container_to_sums(use, each, defaults);
      raise_sums(peak, use);
    }
  }
  raise_sums(sums, peak);
  return sums;
}

GANGSCHED_INLINE bool is_pod_level_resource(std::string_view name) noexcept {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

// @return whether there was any.
GANGSCHED_INLINE bool apply_pod_level(request_sums& sums, const pod_spec& spec) {
  bool any = false;
  if (!spec.resources) return any;
  for (const auto& [name, amount] : *spec.resources) {
    if (!is_pod_level_resource(name)) continue;
    sums[name] = amount;
    any = true;
  }
  return any;
}

// cpu in milli, everything else in units, rounded up; false if it does not fit.
GANGSCHED_INLINE bool resource_to_integer(std::string_view name, const quantity& amount, std::int64_t& out) noexcept {
  return name == "cpu" ? amount.milli_value(out) : amount.value(out);
}

GANGSCHED_INLINE error request_overflow(const pod_spec& spec, std::string_view name) {
  request_sums own = container_sums(spec, {});
  apply_pod_level(own, spec);  // what a pod says of itself as a whole replaces what its containers sum up to
  std::int64_t ignored = 0;
  const bool fits = !own.contains(name) || resource_to_integer(name, own.at(name), ignored);
  const bool whole = spec.resources && is_pod_level_resource(name) && spec.resources->contains(name);
  const char* const field = fits && spec.overhead.contains(name) ? "overhead" : whole ? "resources" : "containers";
  return error{errc::overflow, fmt::format("pod {}/{}", spec.ns, spec.name), field,
               fmt::format("the sum of the {} requests does not fit into 64 bits", name)};
}

// @return the name of the first resource that does not fit, or an empty one.
GANGSCHED_INLINE std::string_view sums_to_integers(const request_sums& sums, integer_resources& out) {
  out.reserve(sums.size());
  for (const auto& [name, sum] : sums) {
    if (sum == quantity{} || !is_counted_resource(name)) continue;
    std::int64_t amount = 0;
    if (!resource_to_integer(name, sum, amount)) return name;
    out.emplace_hint(out.end(), std::string{name}, amount);
  }
  return {};
}

/// Whole GPUs that a request asks for.
GANGSCHED_INLINE std::int64_t whole_gpus(const device_request& one) noexcept {
  const bool whole = one.device_class == "gpu" && one.milli == whole_gpu && one.memory_mib == 0 &&
                     one.memory_percent == 0 && one.mig_profile.empty() && !one.all && !one.admin;
  return whole ? one.count : 0;
}

/// Where containers request whole GPUs by number, and the pod says beside that which ones, both say the same number: it would be granted
/// one and counted with the other.
GANGSCHED_INLINE std::optional<error> miscounted_gpus(const pod_spec& spec, const integer_resources& requests) {
  std::int64_t counted = 0, granted = 0;
  for (const auto& [name, amount] : requests)
    if (name == "nvidia.com/gpu" || name == "amd.com/gpu") counted = saturating_add(counted, amount);
  if (counted == 0) return std::nullopt;
  std::size_t last = 0;
  bool other = false;  // an alternative that is as many as no other
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    const device_request& one = spec.devices[i];
    const std::int64_t here = one.first_of.empty() ? whole_gpus(one) : whole_gpus(one.first_of.front());
    for (const device_request& choice : one.first_of) other = other || whole_gpus(choice) != here;
    if (here == 0 && !other) continue;
    granted += here;
    last = i;
  }
  if (granted == 0 && !other) return std::nullopt;
  if (granted == counted && !other) return std::nullopt;
  const bool list = !spec.devices[last].first_of.empty();
  return error{errc::malformed, fmt::format("pod {}/{}", spec.ns, spec.name),
               fmt::format("devices[{}].{}", last, list ? "first_of" : "count"),
               fmt::format("the containers request {} GPUs by number, the devices are {}{}", counted,
                           other ? "not always " : "", other ? counted : granted)};
}

// 0 if there is none of it.
GANGSCHED_INLINE std::int64_t amount_of(const integer_resources& amounts, std::string_view name) {
  const auto found =
      std::find_if(amounts.begin(), amounts.end(), [&](const auto& entry) { return entry.first == name; });
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace detail

GANGSCHED_INLINE bool is_counted_resource(std::string_view name) noexcept {
  if (name == "cpu" || name == "memory" || name == "ephemeral-storage" || name == "pods") return true;
  if (name.starts_with("hugepages-") || name.starts_with("attachable-volumes-")) return true;
  if (name.find("kubernetes.io/") != std::string_view::npos) return true;
  // Extended: its quota name, with "requests." before it, has to be a qualified name too.
  constexpr std::string_view quota_prefix = "requests.";
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && slash + quota_prefix.size() <= 253 && !name.starts_with(quota_prefix) &&
         detail::is_qualified_name(name);
}

GANGSCHED_INLINE result<integer_resources> to_integers(const resource_list& list, std::string_view object,
                                                       std::string_view field) {
  integer_resources amounts;
  for (const auto& [name, amount] : list) {
    std::int64_t integer = 0;
    const bool fits = detail::resource_to_integer(name, amount, integer);
    if (amount.negative() || !fits)
      return error{amount.negative() ? errc::out_of_range : errc::overflow, std::string{object},
                   fmt::format("{}[\"{}\"]", field, name),
                   amount.negative() ? "is negative" : "does not fit into 64 bits"};
    if (is_counted_resource(name)) amounts.emplace_hint(amounts.end(), name, integer);
  }
  return amounts;
}

GANGSCHED_INLINE result<pod_requests> requests_of(const pod_spec& spec, const kube_semantics& semantics) {
  pod_requests made;
  detail::request_sums sums = detail::container_sums(spec, {});
  const bool pod_level = detail::apply_pod_level(sums, spec);
  detail::add_list_to_sums(sums, spec.overhead);
  if (const std::string_view name = detail::sums_to_integers(sums, made.requests); !name.empty())
    return detail::request_overflow(spec, name);
  if (auto wrong = detail::miscounted_gpus(spec, made.requests)) return std::move(*wrong);

  detail::request_sums scoring = detail::container_sums(spec, {.cpu = true, .memory = true});
  if (!semantics.has(quirk::scores_without_pod_level_requests)) detail::apply_pod_level(scoring, spec);
  detail::add_list_to_sums(scoring, spec.overhead);
  if (const std::string_view name = detail::sums_to_integers(scoring, made.for_scoring); !name.empty())
    return detail::request_overflow(spec, name);

  // With pod-level requests a default is only for what is named nowhere, overhead included (kube-scheduler 1.36,
  // getNonMissingContainerRequests), and then every container gets it, as for scoring.
  const auto placed = [&](std::string_view name) {
    return detail::amount_of(pod_level && sums.contains(name) ? made.requests : made.for_scoring, name);
  };
  made.scored_cpu = placed("cpu");
  made.scored_memory = placed("memory");
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
