#include "gangsched/devices/device_manager.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<numa_hint_list> device_hints(const numa_topology& topology, const device_kind& kind,
                                                            const device_set& free, const device_set& reusable,
                                                            unsigned wanted) {
  unsigned named = 0;
  for (const cell_mask cells : kind.cells) named |= cells;
  if (named == 0) return std::nullopt;
  numa_hint_list hints;
  if ((free | reusable).count() < wanted) return hints;
  named &= topology.machine();
  if (named == 0) named = topology.machine();

  unsigned fewest = static_cast<unsigned>(std::popcount(named));
  for (unsigned mask = 1; mask <= named; ++mask) {
    if ((mask & ~named) != 0) continue;
    const auto cells = static_cast<cell_mask>(mask);
    const auto touching = [&](unsigned device) { return (kind.cells[device] & cells) != 0; };
    unsigned total = 0, usable = 0;
    bool all_reused = true;
    for (unsigned device = 0; device < kind.cells.size(); ++device) total += touching(device);
    if (total >= wanted) fewest = std::min(fewest, cell_count(cells));
    reusable.for_each([&](unsigned device) {
      if (kind.cells[device] == 0) return;
      all_reused &= touching(device);
      ++usable;
    });
    free.for_each([&](unsigned device) { usable += touching(device); });
    if (all_reused && usable >= wanted) hints.push_back({cells, false});
  }
  for (numa_hint& hint : hints) hint.preferred = cell_count(hint.cells) == fewest;
  return hints;
}

GANGSCHED_INLINE std::optional<device_set> allocate_devices(const device_kind& kind, const device_set& free,
                                                            const device_set& reusable, cell_mask affinity,
                                                            unsigned wanted) {
  device_set taken;
  const auto take = [&](const device_set& from) { taken |= (from - taken).lowest(wanted - taken.count()); };
  take(reusable);
  if (taken.count() == wanted) return taken;
  if ((free - taken).count() < wanted - taken.count()) return std::nullopt;
  device_set aligned, elsewhere;
  free.for_each([&](unsigned device) {
    if ((kind.cells[device] & affinity) != 0)
      aligned.insert(device);
    else if (kind.cells[device] != 0 && affinity != 0)
      elsewhere.insert(device);
  });
  take(aligned);
  take(elsewhere);
  take(free);
  return taken;
}

}  // namespace gangsched::inline GANGSCHED_ABI
