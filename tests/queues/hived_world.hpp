#pragma once
#include <string>
#include <utility>
#include <vector>

#include "gangsched/queues/hived/cell_scheduler.hpp"
#include "support/dice.hpp"

/// The cluster of HiveD's own example (example/config/design/hivedscheduler.yaml), which its numbered cases stand in, and random ones.
namespace gangsched::testing::hived_world {

using namespace gangsched::queues;

inline hived::physical_cell node(std::string name) { return {.node = std::move(name)}; }
inline hived::physical_cell dgx1(std::string type, std::vector<std::string> names) {
  hived::physical_cell made{.type = std::move(type)};
  for (std::string& name : names) made.children.push_back(node(std::move(name)));
  return made;
}
/// A cell of cells, the device numbers of the lowest ones given.
inline hived::physical_cell numbered(std::vector<std::vector<std::vector<int>>> sockets, std::string name) {
  hived::physical_cell made{.node = std::move(name)};
  for (const auto& socket : sockets) {
    hived::physical_cell& in = made.children.emplace_back();
    for (const auto& pci : socket) {
      hived::physical_cell& at = in.children.emplace_back();
      for (const int device : pci) at.children.push_back({.device = device});
    }
  }
  return made;
}
inline hived::physical_cell four(const std::string& prefix, std::string pin = {}) {
  hived::physical_cell made{.type = "4-DGX2"};
  made.children.push_back({.pin = std::move(pin), .children = {node(prefix + ".0"), node(prefix + ".1")}});
  made.children.push_back({.children = {node(prefix + ".2"), node(prefix + ".3")}});
  return made;
}

inline hived::configuration design() {
  hived::configuration made;
  made.types = {{"CT1-NODE", "CT1", 2, true},
                {"P100-PCI", "P100", 2},
                {"P100-SOCKET", "P100-PCI", 2},
                {"P100-NODE", "P100-SOCKET", 2, true},
                {"3-P100", "P100-NODE", 3},
                {"DGX2-2", "DGX2-GPU", 2},
                {"DGX2-4", "DGX2-2", 2},
                {"DGX2-8", "DGX2-4", 2},
                {"DGX2-NODE", "DGX2-8", 2, true},
                {"2-DGX2", "DGX2-NODE", 2},
                {"3-DGX2", "DGX2-NODE", 3},
                {"4-DGX2", "2-DGX2", 2},
                {"IB-2", "IB-GPU", 2},
                {"IB-4", "IB-2", 2},
                {"IB-8", "IB-4", 2},
                {"IB-NODE", "IB-8", 2, true},
                {"2-IB", "IB-NODE", 2}};
  const auto with = [](std::string type, hived::physical_cell cell) {
    cell.type = std::move(type);
    return cell;
  };
  made.cells = {with("CT1-NODE", node("0.0.0.0")),
                with("CT1-NODE", node("0.0.0.1")),
                {.type = "CT1-NODE", .node = "1.0.0.2", .children = {{.device = 8, .pin = "VC1-CT1"}, {.device = 9}}}};
  hived::physical_cell p100{.type = "3-P100"};
  p100.children = {node("1.0.0.2"), numbered({{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}}, "1.0.0.1"),
                   numbered({{{1, 3}, {4, 7}}, {{0, 2}, {6, 5}}}, "1.0.0.0")};
  made.cells.push_back(std::move(p100));
  // Upstream's test searches the chains of a device type by name, backwards; here they are searched in this order.
  made.cells.push_back(with("DGX2-NODE", node("0.0.1.0")));
  made.cells.push_back(with("DGX2-NODE", node("0.0.5.0")));
  made.cells.push_back(four("0.0.3", "VC1-DGX2"));
  made.cells.push_back(four("0.0.4"));
  made.cells.push_back(dgx1("3-DGX2", {"0.0.2.0", "0.0.2.1", "0.0.2.2"}));
  made.cells.push_back({.type = "2-IB", .pin = "VC1-IB", .children = {node("0.1.0.0"), node("0.1.0.1")}});
  made.clusters = {
      {"VC1",
       {{"4-DGX2", "DGX2-NODE", 2}, {"3-DGX2", "DGX2-NODE", 2}, {"", "DGX2-NODE", 2}, {"4-DGX2", "2-DGX2", 1}},
       {"VC1-CT1", "VC1-DGX2", "VC1-IB"}},
      {"VC2", {{"3-P100", "P100-NODE", 2}, {"3-P100", "P100-SOCKET", 2}, {"", "CT1-NODE", 1}}, {}}};
  return made;
}

inline hived::group_request group(std::string name, std::string cluster, int priority,
                                  std::vector<hived::member> members, std::string type = "DGX2-GPU",
                                  std::string pin = {}, bool lazy = true) {
  return {std::move(name), std::move(cluster), priority, std::move(members),
          std::move(type), std::move(pin),     lazy,     std::nullopt};
}
inline hived::group_request within(hived::group_request request, std::vector<std::string> nodes) {
  request.nodes = std::move(nodes);
  return request;
}

/// A small cluster: one or two chains of random shape, and virtual clusters that get random parts of it for as long as they fit.
inline hived::configuration small_world(dice& random) {
  hived::configuration made;
  int nodes = 0, pins = 0;
  std::vector<std::vector<std::string>> levels;
  std::vector<std::string> names{"one", "two", "three"};
  const std::size_t chains = 1 + random.below(2);
  for (std::size_t chain = 0; chain < chains; ++chain) {
    const std::string mark(1, static_cast<char>('a' + chain));
    std::vector<std::string>& types = levels.emplace_back(1, random.percent(50) ? "gpu" : "gpu-" + mark);
    const std::size_t in_node = 1 + random.below(2), above = random.below(3);
    for (std::size_t level = 1; level <= in_node + above; ++level) {
      made.types.push_back({mark + std::to_string(level), types.back(),
                            static_cast<std::uint32_t>(2 + random.below(level < 2 ? 3 : 2)), level == in_node});
      types.push_back(made.types.back().name);
    }
    const std::size_t tops = 1 + random.below(3);
    for (std::size_t top = 0; top < tops; ++top) {
      const auto build = [&](auto& self, std::size_t level) -> hived::physical_cell {
        hived::physical_cell cell;
        if (random.percent(5)) cell.pin = "pin" + std::to_string(pins++);
        if (level == in_node) cell.node = "n" + std::to_string(nodes++);
        if (level > in_node)
          for (std::uint32_t child = 0; child < made.types[made.types.size() - types.size() + level].children; ++child)
            cell.children.push_back(self(self, level - 1));
        return cell;
      };
      made.cells.push_back(build(build, in_node + above));
      made.cells.back().type = types.back();
    }
  }
  for (const std::string& name : names) made.clusters.push_back({name, {}, {}});
  for (int tries = 0; tries < 14; ++tries) {  // as much as fits
    hived::configuration more = made;
    hived::virtual_cluster_spec& to = random.of(more.clusters);
    if (pins > 0 && random.percent(25)) {
      to.pins.push_back("pin" + std::to_string(random.below(static_cast<std::size_t>(pins))));
    } else {
      const std::vector<std::string>& types = random.of(levels);
      to.cells.push_back({types.back(), random.of(types), 1 + static_cast<std::uint32_t>(random.below(2))});
    }
    if (hived::cell_scheduler::make(more)) made = std::move(more);
  }
  return made;
}

}  // namespace gangsched::testing::hived_world
