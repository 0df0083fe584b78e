#include "gangsched/devices/links.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// What GPUs' links are worth, NVLinks in the upper half and paths over PCIe in the lower one: of several pairs.
using links_worth = std::uint32_t;

/// One pair's, of which up to 15, all of a GPU, can be summed: paths take 7 bits then, NVLinks 9.
constexpr std::uint16_t worth_of(gpu_link link) noexcept {
  return static_cast<std::uint16_t>(link.nvlinks << 7 | (static_cast<int>(link.path) + 1));
}
/// Such a sum as one to which others can be added.
constexpr links_worth widened(std::uint16_t of_gpu) noexcept {
  return static_cast<links_worth>(of_gpu >> 7) << 16 | (of_gpu & 127u);
}

/// Greater is better: the set's NVLinks, those that stay, the set's paths, those that stay.
constexpr std::uint64_t set_order(links_worth set, links_worth stays) noexcept {
  return std::uint64_t{set >> 16} << 48 | std::uint64_t{stays >> 16} << 32 | (set & 0xffffu) << 16 | (stays & 0xffffu);
}

/// Tries all sets of GPUs and keeps the best.
struct gpu_set_search {
  using worth_by_gpu = std::array<std::uint16_t, max_node_gpus>;

  const std::array<worth_by_gpu, max_node_gpus>& pairs;
  const std::array<gpu_mask, max_node_gpus>& peers;
  worth_by_gpu loss;  ///< what a GPU's pairs with free ones are worth

  gpu_mask best = 0;
  std::uint64_t best_order = 0;

  /// @p count of @p candidates, at least one.
  void search(gpu_mask candidates, unsigned count) noexcept { extend(candidates, count, 0, 0, 0, worth_by_gpu{}); }

  /// @p more of @p candidates, each of which may be with all of @p set. @p gain: what a GPU's pairs with @p set are worth.
  void extend(gpu_mask candidates, unsigned more, gpu_mask set, links_worth worth, links_worth lost,
              const worth_by_gpu& gain) noexcept {
    while (static_cast<unsigned>(std::popcount(candidates)) >= more) {
      const auto gpu = static_cast<std::size_t>(std::countr_zero(candidates));
      candidates = static_cast<gpu_mask>(candidates & (candidates - 1));
      const auto larger = static_cast<gpu_mask>(set | 1u << gpu);
      const links_worth now = worth + widened(gain[gpu]), gone = lost + widened(loss[gpu]);
      if (more == 1) {
        keep(larger, now, gone);
        if (candidates == 0) return;
        continue;
      }
      worth_by_gpu next;
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = static_cast<std::uint16_t>(gain[i] + pairs[gpu][i]);
      extend(static_cast<gpu_mask>(candidates & peers[gpu]), more - 1, larger, now, gone, next);
    }
  }

  /// Of sets with the same worth, what stays free has the most where the sum of losses is the least: the pairs within the set count twice
  /// in it, and that is the same for both.
  void keep(gpu_mask set, links_worth worth, links_worth lost) noexcept {
    const std::uint64_t order = set_order(worth, 0x7fff'ffffu - lost);
    if (best == 0 || order > best_order || (order == best_order && set < best)) best = set, best_order = order;
  }
};

/// Calls visit(link) for every pair of the set.
template <class Visit>
void each_link(const link_matrix& links, gpu_mask set, const Visit& visit) {
  for (std::size_t a = 0; a < links.gpus(); ++a) {
    for (std::size_t b = a + 1; b < links.gpus(); ++b) {
      if ((set >> a & set >> b & 1) != 0) visit(links(a, b));
    }
  }
}

/// What a GPU's pairs with @p set are worth, for every GPU.
inline gpu_set_search::worth_by_gpu gpu_losses(const std::array<gpu_set_search::worth_by_gpu, max_node_gpus>& pairs,
                                               gpu_mask set) noexcept {
  gpu_set_search::worth_by_gpu sum{};
  for (unsigned rest = set; rest != 0; rest &= rest - 1) {
    const auto& row = pairs[static_cast<std::size_t>(std::countr_zero(rest))];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<std::uint16_t>(sum[i] + row[i]);
  }
  return sum;
}

}  // namespace detail

GANGSCHED_INLINE result<link_matrix> link_matrix::make(std::size_t gpus, std::span<const gpu_link> links) {
  const auto refused = [](errc code, std::string field, std::string reason) {
    return error{code, "link matrix", std::move(field), std::move(reason)};
  };
  if (gpus < 1 || gpus > max_node_gpus) return refused(errc::out_of_range, "gpus", "not in 1 ... 16");
  if (links.size() != gpus * gpus) {
    return refused(errc::malformed, "links", std::to_string(links.size()) + " for " + std::to_string(gpus) + " GPUs");
  }
  link_matrix matrix;
  matrix.gpus_ = gpus;
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = 0; b < gpus; ++b) {
      const gpu_link link = links[a * gpus + b];
      const auto wrong = [&](errc code, std::string reason) {
        return refused(code, "links[" + std::to_string(a) + "][" + std::to_string(b) + "]", std::move(reason));
      };
      if (a == b) {
        if (link.nvlinks != 0) return wrong(errc::malformed, "a GPU linked to itself");
        continue;
      }
      if (link.nvlinks > max_nvlinks) return wrong(errc::out_of_range, "more than 18 NVLinks");
      if (link.path >= link_level::nvlink) return wrong(errc::malformed, "the path is the one over PCIe");
      if (link != links[b * gpus + a]) return wrong(errc::malformed, "another link than the one back");
      matrix.links_[a][b] = link;
    }
  }
  return matrix;
}

GANGSCHED_INLINE int link_matrix::points(gpu_mask set) const noexcept {
  int sum = 0;
  detail::each_link(*this, set, [&](gpu_link link) { sum += link.points(); });
  return sum;
}

GANGSCHED_INLINE int link_matrix::nvlinks(gpu_mask set) const noexcept {
  int sum = 0;
  detail::each_link(*this, set, [&](gpu_link link) { sum += link.nvlinks; });
  return sum;
}

GANGSCHED_INLINE link_level link_matrix::level(gpu_mask set) const noexcept {
  link_level farthest = link_level::nvlink;
  detail::each_link(*this, set, [&](gpu_link link) { farthest = std::min(farthest, link.level()); });
  return farthest;
}

GANGSCHED_INLINE gpu_mask link_matrix::peers(std::size_t gpu, link_level at_least) const noexcept {
  unsigned close = 0;
  for (std::size_t other = 0; other < gpus_; ++other) {
    if (other != gpu && links_[gpu][other].level() >= at_least) close |= 1u << other;
  }
  return static_cast<gpu_mask>(close);
}

GANGSCHED_INLINE best_sets::best_sets(const link_matrix& links) : links_(links) {
  for (std::size_t level = 0; level < link_levels; ++level) {
    for (std::size_t gpu = 0; gpu < links.gpus(); ++gpu)
      peers_[level][gpu] = links.peers(gpu, static_cast<link_level>(level));
    if (level > 0) {
      const bool same = peers_[level] == peers_[level - 1];
      slot_[level] = static_cast<std::uint8_t>(slot_[level - 1] + (same ? 0 : 1));
    }
  }
  for (std::size_t a = 0; a < links.gpus(); ++a) {
    for (std::size_t b = 0; b < links.gpus(); ++b)
      pairs_[a][b] = a == b ? std::uint16_t{0} : detail::worth_of(links(a, b));
  }
  if (links.gpus() <= 8) fill_table();
  for (std::size_t count = 2; count <= links.gpus(); ++count)
    most_nvlinks_[count] = static_cast<std::uint16_t>(nvlinks(best(links.all(), static_cast<unsigned>(count))));
}

GANGSCHED_INLINE void best_sets::fill_table() {
  const unsigned masks = 1u << links_.gpus();
  std::vector<detail::links_worth> worth(masks);
  for (unsigned set = 0; set < masks; ++set) {
    detail::each_link(links_, static_cast<gpu_mask>(set),
                      [&](gpu_link link) { worth[set] += detail::widened(detail::worth_of(link)); });
    points_.push_back(links_.points(static_cast<gpu_mask>(set)));
    nvlinks_.push_back(static_cast<std::uint16_t>(worth[set] >> 16));
  }
  table_.resize((std::size_t{slot_.back()} + 1) * masks * (links_.gpus() + 1), 0);
  for (std::size_t level = 0; level < link_levels; ++level) {
    if (level > 0 && slot_[level] == slot_[level - 1]) continue;
    for (unsigned set = 1; set < masks; ++set) {
      if (links_.level(static_cast<gpu_mask>(set)) < static_cast<link_level>(level)) continue;
      // Every free mask that has the set. In ascending order of sets the lowest of equals comes first, and stays.
      const unsigned others = (masks - 1) & ~set;
      for (unsigned stay = others;; stay = (stay - 1) & others) {
        const std::size_t here =
            at(slot_[level], static_cast<gpu_mask>(set | stay), static_cast<unsigned>(std::popcount(set)));
        const unsigned now = table_[here];
        const auto order = [&](unsigned taken) {
          return detail::set_order(worth[taken], worth[(set | stay) & ~taken]);
        };
        if (now == 0 || order(set) > order(now)) table_[here] = static_cast<std::uint8_t>(set);
        if (stay == 0) break;
      }
    }
  }
}

GANGSCHED_INLINE gpu_mask best_sets::best(gpu_mask free, unsigned count,
                                          const gpu_set_requirement& required) const noexcept {
  GANGSCHED_ASSERT((free & ~links_.all()) == 0);
  if (count == 0 || count > static_cast<unsigned>(std::popcount(free))) return 0;
  const auto level = static_cast<std::size_t>(required.at_least);
  if (required.groups.empty() && !table_.empty()) return table_[at(slot_[level], free, count)];

  detail::gpu_set_search sets{pairs_, peers_[level], detail::gpu_losses(pairs_, free)};
  if (required.groups.empty()) sets.search(free, count);
  for (const gpu_mask group : required.groups) sets.search(static_cast<gpu_mask>(free & group), count);
  return sets.best;
}

GANGSCHED_INLINE bool best_sets::meets(gpu_mask set, const gpu_set_requirement& required) const noexcept {
  bool grouped = required.groups.empty();
  for (const gpu_mask group : required.groups) grouped |= (set & ~group) == 0;
  return grouped && links_.level(set) >= required.at_least;
}

}  // namespace gangsched::inline GANGSCHED_ABI
