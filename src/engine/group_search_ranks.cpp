#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "gangsched/engine/group_search.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Members with a rank, alike but for that, swap their nodes so that neighbours in rank are close: nodes in order of the domains that
/// the group and those above it name, outermost first, then by row. Not if a slice would not be together any more.
GANGSCHED_INLINE status group_search::order_by_rank(const group_part& what, placed_members& placed, std::size_t from) {
  if (state_->groups.record[what.group]->spec.composite) return {};
  const auto rank = [&](row_t pod) { return state_->pods.record[pod]->rank; };
  std::vector<std::size_t> ranked;
  for (std::size_t i = from; i < placed.size(); ++i) {
    if (state_->pods.group[placed[i].pod] == what.group && rank(placed[i].pod)) ranked.push_back(i);
  }
  if (ranked.size() < 2) return {};
  std::vector<const domain_index*> levels;
  for (row_t up = what.group; up != no_row; up = state_->groups.parent[up]) {
    const group_topology& topology = state_->groups.record[up]->spec.topology;
    for (auto slice = topology.slices.rbegin(); slice != topology.slices.rend(); ++slice)
      levels.push_back(&candidates_.domains().of(slice->key));
    for (const std::string& key : topology.within) levels.push_back(&candidates_.domains().of(key));
  }
  std::reverse(levels.begin(), levels.end());
  const auto closer = [&](row_t a, row_t b) {
    for (const domain_index* level : levels) {
      if (level->of(a) != level->of(b)) return level->of(a) < level->of(b);
    }
    return a < b;
  };
  // Those of shorter slices, which are the last ones, swap among themselves, and so do those that complete one slice.
  const bool sliced = !what.parts.empty();
  std::size_t completed = 0;
  std::map<row_t, std::vector<std::size_t>> slices;
  const std::function<void(const group_part&, std::vector<std::size_t>)> note_slices =
      [&](const group_part& of, std::vector<std::size_t> sizes) {
        std::vector<row_t> members;
        if (of.is_slice()) of.collect(members), sizes.push_back(members.size());
        if (!of.only_in.empty()) sizes.push_back(++completed);
        for (const row_t pod : members) slices[pod] = sizes;
        for (const group_part& one : of.parts) note_slices(one, sizes);
      };
  note_slices(what, {});
  const auto alike = [&](std::size_t i) {
    return std::pair{state_->pods.cls[placed[i].pod], sliced ? slices[placed[i].pod] : std::vector<std::size_t>{}};
  };
  std::vector<placed_members::move> moves;
  std::sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple{alike(a), *rank(placed[a].pod), a} < std::tuple{alike(b), *rank(placed[b].pod), b};
  });
  for (std::size_t first = 0, last = 0; first < ranked.size(); first = last) {
    std::vector<std::size_t> places;
    for (; last < ranked.size() && alike(ranked[last]) == alike(ranked[first]); ++last) places.push_back(ranked[last]);
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t x, std::size_t y) { return closer(placed[x].node, placed[y].node); });
    for (std::size_t i = first; i < last; ++i) {
      if (places[i - first] != ranked[i]) moves.push_back({ranked[i], places[i - first]});
    }
  }
  std::map<row_t, row_t> after;
  for (std::size_t i = from; sliced && i < placed.size(); ++i) after[placed[i].pod] = placed[i].node;
  for (const placed_members::move& one : moves) {
    if (sliced) after[placed[one.which].pod] = placed[one.of].node;
  }
  const std::function<bool(const group_part&)> together = [&](const group_part& of) {
    std::vector<row_t> members;
    if (of.is_slice()) of.collect(members);
    std::erase_if(members, [&](row_t pod) { return !after.contains(pod); });
    for (const row_t pod : members) {
      const domain_index& domains =
          candidates_.domains().of(state_->groups.record[of.group]->spec.topology.slices[of.layer - 1].key);
      if (domains.of(after[pod]) != domains.of(after[members.front()])) return false;
    }
    return std::all_of(of.parts.begin(), of.parts.end(), together);
  };
  if (sliced && !together(what)) return {};
  return placed.swap_places(moves);
}

GANGSCHED_INLINE status group_search::order_all_by_rank(const group_part& of, placed_members& placed) {
  status said = order_by_rank(of, placed, 0);
  for (const group_part& one : of.parts) {
    if (said.ok() && !one.is_slice()) said = order_all_by_rank(one, placed);
  }
  return said;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
