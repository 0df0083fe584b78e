#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/policies/hived_books.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Nodes of one flavor with as many GPUs each, and what of their cells is left.
struct node_chain {
  std::string flavor;                     ///< empty: of none
  std::vector<std::uint32_t> sizes = {};  ///< of its cells, from the node down to 2
  std::vector<std::string> nodes = {};

  node_chain(std::string of, std::uint32_t gpus) : flavor{std::move(of)} {
    for (std::uint32_t size = gpus;;) {
      sizes.push_back(size);
      std::uint32_t parts = 2;
      while (parts < size && size % parts != 0) ++parts;
      if (size <= parts) return;
      size /= parts;
    }
  }
  [[nodiscard]] std::string name(std::size_t level) const {
    std::string made = std::to_string(sizes[level]) + " of " + std::to_string(sizes.front()) + " GPUs";
    return flavor.empty() ? made : made + " (" + flavor + ")";
  }
  [[nodiscard]] std::uint32_t parts(std::size_t level) const {
    return level + 1 == sizes.size() ? sizes[level] : sizes[level] / sizes[level + 1];
  }
};

/// What queues are due, by flavor; "" is on any node.
struct cells_due {
  std::map<std::string, std::int64_t> gpus = {};
};

inline std::vector<std::pair<queue_view, cells_due>> cells_due_to_queues(const cluster_view& cluster,
                                                                         const std::string& gpu) {
  std::vector<std::pair<queue_view, cells_due>> made;
  const auto kind = cluster.find_kind(gpu);
  const auto due = [&](const queue_view& queue, const std::string& name, flavor_id flavor) {
    std::int64_t its = kind && !queue.expected() ? queue.guaranteed(*kind, flavor) : 0;
    if (its <= 0) return;
    for (auto up = queue.parent(); up; up = up->parent()) {  // those above it come before it
      const auto above = std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == *up; });
      if (above == made.end() || up->guaranteed(*kind, flavor) == 0) continue;
      std::int64_t& left = above->second.gpus[name];
      left -= std::min(left, its);
      break;
    }
    made.back().second.gpus[name] = its;
  };
  cluster.each_queue([&](const queue_view& queue) {
    made.emplace_back(queue, cells_due{});
    due(queue, "", {});
    cluster.each_flavor([&](const flavor_view& flavor) { due(queue, std::string{flavor.name()}, flavor.id()); });
  });
  return made;
}

}  // namespace detail

GANGSCHED_INLINE queues::hived::configuration cells_of_nodes(const cluster_view& cluster, const std::string& gpu) {
  constexpr std::int64_t most_gpus = 1024;
  queues::hived::configuration made;
  auto queues = detail::cells_due_to_queues(cluster, gpu);
  std::map<flavor_id, std::string> flavors;
  cluster.each_flavor([&](const flavor_view& one) { flavors.emplace(one.id(), one.name()); });
  std::map<std::pair<std::string, std::uint32_t>, detail::node_chain> chains;
  cluster.each_node([&](const node_info& node) {
    const auto gpus = static_cast<std::uint32_t>(std::clamp<std::int64_t>(node.allocatable(gpu), 0, most_gpus));
    if (gpus == 0) return;
    const auto flavor = flavors.find(node.flavor());
    const std::string name = flavor == flavors.end() ? std::string{} : flavor->second;
    chains.try_emplace({name, gpus}, name, gpus).first->second.nodes.emplace_back(node.name());
  });

  struct step {
    const detail::node_chain* chain;
    std::size_t level;
    [[nodiscard]] std::uint32_t size() const { return chain->sizes[level]; }
  };
  std::vector<step> steps;
  for (const auto& [key, chain] : chains) {
    for (std::size_t level = 0; level < chain.sizes.size(); ++level) {
      const bool last = level + 1 == chain.sizes.size();
      made.types.push_back({chain.name(level), last ? "GPU" : chain.name(level + 1), chain.parts(level), level == 0});
      steps.push_back({&chain, level});
    }
    steps.push_back({&chain, chain.sizes.size()});
    for (const std::string& node : chain.nodes) made.cells.push_back({.type = chain.name(0), .node = node});
  }
  const auto size_of = [](const step& one) { return one.level == one.chain->sizes.size() ? 1 : one.size(); };
  std::stable_sort(steps.begin(), steps.end(), [&](const step& a, const step& b) {
    if (size_of(a) != size_of(b)) return size_of(a) > size_of(b);
    return a.level < b.level;
  });
  for (const auto& [queue, due] : queues) made.clusters.push_back({std::string{queue.name()}, {}, {}});
  // What no queue takes of a level is split for the next one.
  std::map<const detail::node_chain*, std::int64_t> left;
  for (const step& one : steps) {
    const detail::node_chain& chain = *one.chain;
    std::int64_t& free = left[&chain];
    free = one.level == 0 ? static_cast<std::int64_t>(chain.nodes.size()) : free * chain.parts(one.level - 1);
    const std::int64_t size = size_of(one);
    for (std::size_t q = 0; q < queues.size(); ++q) {
      std::int64_t count = 0;
      const auto take = [&](const std::string& flavor) {
        const auto found = queues[q].second.gpus.find(flavor);
        if (found == queues[q].second.gpus.end()) return;
        const std::int64_t more = std::min(found->second / size, free);
        found->second -= more * size;
        free -= more;
        count += more;
      };
      if (!chain.flavor.empty()) take(chain.flavor);
      take("");
      if (count == 0) continue;
      const bool leaf = one.level == chain.sizes.size();
      made.clusters[q].cells.push_back({one.level == 0 ? std::string{} : chain.name(0),
                                        leaf ? "GPU" : chain.name(one.level), static_cast<std::uint32_t>(count)});
    }
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
