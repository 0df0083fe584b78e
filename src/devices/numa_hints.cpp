#include "gangsched/devices/numa_hints.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// Which of two masks kubelet's comparison keeps. It is a total order, so the order of candidates does not matter.
struct mask_order {
  const numa_distances* closest;
  unsigned widest;  ///< the cells that the most demanding resource needs: bestNonPreferredAffinityCount

  /// Among equally preferred masks: fewer cells, shorter distances, lower cells.
  [[nodiscard]] bool fitter(cell_mask a, cell_mask b) const noexcept {
    if (cell_count(a) != cell_count(b)) return cell_count(a) < cell_count(b);
    if (closest != nullptr && closest->sum(a) != closest->sum(b)) return closest->sum(a) < closest->sum(b);
    return a < b;
  }
  /// Among masks that are not preferred: up to the width needed the wider the better, above it the narrower.
  [[nodiscard]] bool better(cell_mask a, cell_mask b) const noexcept {
    const unsigned in_a = cell_count(a), in_b = cell_count(b);
    if (in_a == in_b || (in_a > widest && in_b > widest)) return fitter(a, b);
    if (in_a > widest || in_b > widest) return in_b > widest;
    return in_a > in_b;
  }
};

/// The fewest cells that any hint of the most demanding list names.
inline unsigned widest_need(std::span<const numa_hint_list> lists) {
  unsigned widest = 0;
  for (const numa_hint_list& list : lists) {
    unsigned narrowest = 0;
    for (const numa_hint& hint : list) {
      if (hint.cells == 0) continue;
      if (narrowest == 0 || cell_count(hint.cells) < narrowest) narrowest = cell_count(hint.cells);
    }
    widest = std::max(widest, narrowest);
  }
  return widest;
}

/// The best mask that every list prefers. Lists may agree on "any" only when all of them have it.
inline std::optional<cell_mask> agreed_mask(cell_mask machine, std::span<const numa_hint_list> lists,
                                            const mask_order& order) {
  // For each mask, how many lists prefer exactly it and have no preferred "any", which fits every mask.
  unsigned named = 0;
  for (const numa_hint_list& list : lists)
    for (const numa_hint& hint : list) named |= hint.cells;
  std::vector<std::uint32_t> agree(std::size_t{1} << std::bit_width(named), 0);
  std::vector<cell_mask> candidates;
  std::uint32_t picky = 0;
  for (const numa_hint_list& list : lists) {
    const bool any =
        std::any_of(list.begin(), list.end(), [](const numa_hint& h) { return h.cells == 0 && h.preferred; });
    if (!any) ++picky;
    for (const numa_hint& hint : list) {
      if (!hint.preferred || hint.cells == 0) continue;
      // A mask may be in a list twice; picky lists raise the count only from the number of picky lists before them.
      if (any)
        candidates.push_back(hint.cells);
      else if (agree[hint.cells] == picky - 1)
        agree[hint.cells] = picky, candidates.push_back(hint.cells);
    }
  }
  std::optional<cell_mask> best;
  if (picky == 0) best = machine;
  for (const cell_mask candidate : candidates) {
    const cell_mask merged = candidate & machine;
    if (agree[candidate] == picky && merged != 0 && (!best || order.fitter(merged, *best))) best = merged;
  }
  return best;
}

/// Replaces counts over masks by counts over their supersets, or back. O(n · 2ⁿ)
template <bool Forward>
inline void over_supersets(std::vector<std::uint64_t>& counts) {
  for (std::size_t bit = 1; bit < counts.size(); bit <<= 1)
    for (std::size_t m = 0; m < counts.size(); ++m)
      if ((m & bit) == 0) counts[m] = Forward ? counts[m] + counts[m | bit] : counts[m] - counts[m | bit];
}

/// @p left and @p right are sets of masks without repetition; returns all intersections of one each, without repetition.
inline std::vector<cell_mask> intersections(const std::vector<cell_mask>& left, const std::vector<cell_mask>& right,
                                            std::size_t masks) {
  std::vector<cell_mask> out;
  const std::size_t transformed = masks * static_cast<std::size_t>(std::bit_width(masks));
  if (left.size() * right.size() <= transformed) {
    std::vector<bool> seen(masks, false);
    for (const cell_mask a : left)
      for (const cell_mask b : right)
        if (const auto both = static_cast<cell_mask>(a & b); !seen[both]) seen[both] = true, out.push_back(both);
    return out;
  }
  // How many pairs intersect in a superset of m is the product of how many supersets of m each side has.
  std::vector<std::uint64_t> a(masks, 0), b(masks, 0);
  for (const cell_mask m : left) a[m] = 1;
  for (const cell_mask m : right) b[m] = 1;
  over_supersets<true>(a);
  over_supersets<true>(b);
  for (std::size_t m = 0; m < masks; ++m) a[m] *= b[m];
  over_supersets<false>(a);
  for (std::size_t m = 0; m < masks; ++m)
    if (a[m] != 0) out.push_back(static_cast<cell_mask>(m));
  return out;
}

/// Every mask that some combination of hints intersects in; none when a list is empty.
inline std::vector<cell_mask> reachable_masks(cell_mask machine, std::span<const numa_hint_list> lists) {
  const std::size_t masks = std::size_t{1} << std::bit_width(machine);
  std::vector<cell_mask> reached{machine};
  for (const numa_hint_list& list : lists) {
    std::vector<cell_mask> own;
    std::vector<bool> seen(masks, false);
    for (const numa_hint& hint : list) {
      const auto cells = static_cast<cell_mask>(hint.cells == 0 ? machine : hint.cells & machine);
      if (!seen[cells]) seen[cells] = true, own.push_back(cells);
    }
    reached = intersections(reached, own, masks);
  }
  return reached;
}

/// HintMerger.Merge
inline numa_hint best_hint(cell_mask machine, std::span<const numa_hint_list> lists, const numa_distances* closest) {
  const mask_order order{closest, widest_need(lists)};
  if (const std::optional<cell_mask> agreed = agreed_mask(machine, lists, order)) return {*agreed, true};
  cell_mask best = 0;
  for (const cell_mask cells : reachable_masks(machine, lists))
    if (cells != 0 && (best == 0 || order.better(cells, best))) best = cells;
  return {best == 0 ? machine : best, false};
}

/// A list without "cannot be satisfied" stays; kubelet reads an empty one as "any cell, not preferred".
inline std::vector<numa_hint_list> readable_lists(numa_policy policy, std::span<const numa_hint_list> lists) {
  std::vector<numa_hint_list> out;
  out.reserve(lists.size());
  for (const numa_hint_list& list : lists) {
    numa_hint_list& kept = out.emplace_back();
    if (policy == numa_policy::single_numa_node) {
      for (const numa_hint& hint : list)
        if (hint.preferred && cell_count(hint.cells) <= 1) kept.push_back(hint);
    } else if (list.empty()) {
      kept.push_back({0, false});
    } else {
      kept = list;
    }
  }
  return out;
}

}  // namespace detail

GANGSCHED_INLINE std::uint64_t numa_distances::sum(cell_mask cells_in) const noexcept {
  std::uint64_t total = 0;
  for (unsigned from = 0; from < cells; ++from)
    for (unsigned to = 0; to < cells; ++to)
      if ((cells_in >> from & 1u) != 0 && (cells_in >> to & 1u) != 0) total += at(from, to);
  return total;
}

GANGSCHED_INLINE numa_verdict merge_numa_hints(numa_policy policy, cell_mask machine,
                                               std::span<const numa_hint_list> lists, const numa_distances* closest) {
  if (policy == numa_policy::none) return {{}, true};
  const std::vector<numa_hint_list> readable = detail::readable_lists(policy, lists);
  if (policy == numa_policy::single_numa_node) {
    numa_hint best = detail::best_hint(machine, readable, nullptr);
    if (best.cells == machine) best.cells = 0;
    return {best, best.preferred};
  }
  const numa_hint best = detail::best_hint(machine, readable, closest);
  return {best, policy == numa_policy::best_effort || best.preferred};
}

}  // namespace gangsched::inline GANGSCHED_ABI
