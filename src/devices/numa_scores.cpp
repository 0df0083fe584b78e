#include "gangsched/devices/numa_scores.hpp"

#include <algorithm>
#include <cstddef>

#include "gangsched/core/percent.hpp"
#include "gangsched/core/saturating_add.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

using zone_amounts = std::vector<std::int64_t>;

/// Whether @p available is enough; other pods' CPU and memory is not aligned, so any will do.
inline bool zone_suits(const numa_zone_pod& pod, std::size_t resource, std::int64_t asked, std::int64_t available) {
  return (!pod.guaranteed && pod.resources[resource].numa_affine) || std::max<std::int64_t>(available, 0) >= asked;
}

/// The position of the zone with the lowest id that fits @p requests, if any.
inline std::optional<std::size_t> lowest_zone(const numa_zone_pod& pod, const std::vector<numa_zone>& zones,
                                              const zone_amounts& requests) {
  std::vector<bool> fits(zones.size(), true);
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (requests[r] <= 0) continue;
    if (!pod.resources[r].on_node) return std::nullopt;
    const bool listed =
        std::any_of(zones.begin(), zones.end(), [r](const numa_zone& z) { return z.available[r] != not_listed; });
    if (!listed && !pod.resources[r].numa_affine) continue;
    for (std::size_t i = 0; i < zones.size(); ++i)
      if (zones[i].available[r] == not_listed || !zone_suits(pod, r, requests[r], zones[i].available[r]))
        fits[i] = false;
  }
  std::optional<std::size_t> lowest;
  for (std::size_t i = 0; i < zones.size(); ++i)
    if (fits[i] && (!lowest || zones[i].id < zones[*lowest].id)) lowest = i;
  return lowest;
}

/// The pod's request as a whole: all app containers together, or the largest init container; then the overhead.
inline zone_amounts pod_request(const numa_zone_pod& pod) {
  zone_amounts sum(pod.resources.size(), not_listed), init = sum;
  const auto add = [](std::int64_t& to, std::int64_t amount) {
    if (amount != not_listed) to = saturating_add(std::max<std::int64_t>(to, 0), amount);
  };
  for (const numa_zone_container& container : pod.containers)
    for (std::size_t r = 0; r < container.requests.size(); ++r) {
      if (container.init)
        init[r] = std::max(init[r], container.requests[r]);
      else
        add(sum[r], container.requests[r]);
    }
  for (std::size_t r = 0; r < sum.size(); ++r) sum[r] = std::max(sum[r], init[r]);
  for (std::size_t r = 0; r < pod.overhead.size(); ++r) add(sum[r], pod.overhead[r]);
  return sum;
}

inline std::uint64_t zone_distance(const std::vector<numa_zone>& zones, cell_mask chosen) {
  std::uint64_t sum = 0;
  for (std::size_t a = 0; a < zones.size(); ++a)
    for (std::size_t b = 0; b < zones.size(); ++b)
      if ((chosen >> a & 1u) != 0 && (chosen >> b & 1u) != 0)
        sum += b < zones[a].costs.size() ? zones[a].costs[b] : 255u;
  return sum;
}

/// Whether the zones of @p chosen have @p requests together. Each has to list everything named, even if nothing of it is asked.
inline bool zones_fit(const numa_zone_pod& pod, const std::vector<numa_zone>& zones,
                      std::span<const std::int64_t> requests, cell_mask chosen) {
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (requests[r] == not_listed) continue;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < zones.size(); ++i) {
      if ((chosen >> i & 1u) == 0) continue;
      if (zones[i].available[r] == not_listed) return false;
      total = saturating_add(total, zones[i].available[r]);
    }
    if (requests[r] > 0 && !zone_suits(pod, r, requests[r], total)) return false;
  }
  return true;
}

/// The sets of @p k out of @p n positions in lexicographic order of their members: 01, 02, …, 12, ….
inline std::vector<cell_mask> zone_combinations(unsigned n, unsigned k) {
  std::vector<cell_mask> out;
  for (unsigned mask = 1; mask < (1u << n); ++mask)
    if (cell_count(static_cast<cell_mask>(mask)) == k) out.push_back(static_cast<cell_mask>(mask));
  // Of two sets, the one with the lowest position that only one of them has comes first.
  std::sort(out.begin(), out.end(), [](cell_mask a, cell_mask b) {
    const unsigned differ = static_cast<unsigned>(a ^ b);
    return (a & differ & (0u - differ)) != 0;
  });
  return out;
}

inline numa_zone_need zones_required(const numa_zone_pod& pod, const std::vector<numa_zone>& zones,
                                     std::span<const std::int64_t> requests) {
  const auto n = static_cast<unsigned>(zones.size());
  for (unsigned k = 1; k <= n; ++k) {
    const std::vector<cell_mask> sets = zone_combinations(n, k);
    std::uint64_t shortest = std::uint64_t{255} * k * k;
    for (const cell_mask set : sets) shortest = std::min(shortest, zone_distance(zones, set));
    std::optional<cell_mask> best;
    for (const cell_mask set : sets) {
      if (!zones_fit(pod, zones, requests, set)) continue;
      if (!best || zone_distance(zones, set) < zone_distance(zones, *best)) best = set;
    }
    if (best) return {*best, zone_distance(zones, *best) == shortest};
  }
  return {};
}

inline bool names_no_zone_resource(const std::vector<numa_zone>& zones, std::span<const std::int64_t> requests) {
  for (std::size_t r = 0; r < requests.size(); ++r)
    for (const numa_zone& zone : zones)
      if (requests[r] != not_listed && zone.available[r] != not_listed) return false;
  return true;
}

/// Takes @p requests out of the zones of @p chosen, lowest id first, as far as they have it.
inline void subtract_from_zones(std::vector<numa_zone>& zones, cell_mask chosen,
                                std::span<const std::int64_t> requests) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < zones.size(); ++i)
    if ((chosen >> i & 1u) != 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return zones[a].id < zones[b].id; });
  for (std::size_t r = 0; r < requests.size(); ++r) {
    std::int64_t rest = std::max<std::int64_t>(requests[r], 0);
    for (const std::size_t i : order) {
      const std::int64_t part = std::min(rest, std::max<std::int64_t>(zones[i].available[r], 0));
      if (part == 0) continue;
      zones[i].available[r] -= part;
      rest -= part;
    }
  }
}

/// @p amount in the unit that scores count in.
inline std::int64_t whole_amount(const numa_resource& resource, std::int64_t amount) {
  const std::int64_t known = std::max<std::int64_t>(amount, 0);
  return known / resource.whole + (known % resource.whole != 0);
}

inline std::int64_t balance_score(const numa_zone_pod& pod, std::span<const std::int64_t> requests,
                                  const numa_zone& zone) {
  std::vector<double> fractions;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (requests[r] == not_listed) continue;
    const auto asked = static_cast<double>(whole_amount(pod.resources[r], requests[r]));
    const std::int64_t capacity = whole_amount(pod.resources[r], zone.available[r]);
    fractions.push_back(capacity == 0 ? 1 : asked / static_cast<double>(capacity));
    if (fractions.back() > 1) return 0;
  }
  if (fractions.size() < 2) return 100;
  const auto n = static_cast<double>(fractions.size());
  double sum = 0, squares = 0, compensation = 0;
  for (const double f : fractions) sum += f;
  for (const double f : fractions) {
    const double off = f - sum / n;
    squares += off * off;
    compensation += off;
  }
  const double variance = (squares - compensation * compensation / n) / (n - 1);
  return static_cast<std::int64_t>((1 - variance) * 100);
}

inline std::int64_t zone_score(const numa_zone_pod& pod, numa_strategy strategy, std::span<const std::int64_t> requests,
                               const numa_zone& zone) {
  if (strategy == numa_strategy::balanced_allocation) return balance_score(pod, requests, zone);
  std::int64_t sum = 0, weights = 0;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (requests[r] == not_listed) continue;
    const std::int64_t weight = std::max<std::int64_t>(pod.resources[r].weight, 1);
    weights += weight;
    if (zone.available[r] <= 0 || requests[r] > zone.available[r]) continue;
    const std::int64_t asked = whole_amount(pod.resources[r], requests[r]);
    const std::int64_t capacity = whole_amount(pod.resources[r], zone.available[r]);
    sum += weight * percent(strategy == numa_strategy::most_allocated ? asked : capacity - asked, capacity);
  }
  return weights == 0 ? 0 : sum / weights;
}

inline std::int64_t worst_zone_score(const numa_zone_pod& pod, numa_strategy strategy,
                                     std::span<const std::int64_t> requests) {
  std::int64_t worst = 0;
  for (const numa_zone& zone : pod.zones) {
    const std::int64_t score = zone_score(pod, strategy, requests, zone);
    if (worst == 0 || (score != 0 && score < worst)) worst = score;
  }
  return worst;
}

}  // namespace detail

GANGSCHED_INLINE std::optional<std::vector<std::uint32_t>> single_numa_zones(const numa_zone_pod& pod) {
  std::vector<std::uint32_t> chosen;
  if (pod.scope == numa_scope::pod) {
    const auto zone = detail::lowest_zone(pod, pod.zones, detail::pod_request(pod));
    if (!zone) return std::nullopt;
    chosen.push_back(pod.zones[*zone].id);
    return chosen;
  }
  std::vector<numa_zone> zones = pod.zones;
  for (const numa_zone_container& container : pod.containers) {
    const auto zone = detail::lowest_zone(pod, zones, container.requests);
    if (!zone) return std::nullopt;
    chosen.push_back(zones[*zone].id);
    if (container.init) continue;
    for (std::size_t r = 0; r < container.requests.size(); ++r) {
      std::int64_t& available = zones[*zone].available[r];
      const bool counts = pod.guaranteed || !pod.resources[r].numa_affine;
      if (container.requests[r] > 0 && available != not_listed && counts) available -= container.requests[r];
    }
  }
  return chosen;
}

GANGSCHED_INLINE numa_zone_need numa_zones_required(const numa_zone_pod& pod, std::span<const std::int64_t> requests) {
  return detail::zones_required(pod, pod.zones, requests);
}

GANGSCHED_INLINE std::int64_t least_numa_score(const numa_zone_pod& pod, unsigned most_zones) {
  if (!pod.guaranteed) return 100;
  std::vector<numa_zone> zones = pod.zones;
  std::vector<std::vector<std::int64_t>> asked;
  if (pod.scope == numa_scope::pod)
    asked.push_back(detail::pod_request(pod));
  else
    for (const numa_zone_container& container : pod.containers) asked.push_back(container.requests);

  unsigned most = 0;
  bool closest = true;
  for (const std::vector<std::int64_t>& requests : asked) {
    if (detail::names_no_zone_resource(zones, requests)) continue;
    const numa_zone_need need = detail::zones_required(pod, zones, requests);
    if (need.zones == 0) return 0;
    most = std::max(most, cell_count(need.zones));
    closest &= need.least_distance;
    detail::subtract_from_zones(zones, need.zones, requests);
  }
  if (most == 0) return 100;
  const std::int64_t each = 100 / static_cast<std::int64_t>(most_zones);
  return std::max<std::int64_t>(0, 100 - static_cast<std::int64_t>(most) * each + (closest ? each / 2 : 0));
}

GANGSCHED_INLINE std::int64_t numa_allocation_score(const numa_zone_pod& pod, numa_strategy strategy) {
  if (!pod.guaranteed) return 100;
  if (pod.scope == numa_scope::pod) return detail::worst_zone_score(pod, strategy, detail::pod_request(pod));
  std::int64_t sum = 0;
  for (const numa_zone_container& container : pod.containers)
    sum += detail::worst_zone_score(pod, strategy, container.requests);
  return pod.containers.empty() ? 0 : sum / static_cast<std::int64_t>(pod.containers.size());
}

}  // namespace gangsched::inline GANGSCHED_ABI
