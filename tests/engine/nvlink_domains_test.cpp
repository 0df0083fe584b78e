// NVLink beyond a node, as in a GB200 NVL72: 18 nodes of four GPUs that share the label nvidia.com/gpu.clique.
#include <set>

#include "engine/world.hpp"

namespace gangsched::testing::nvlink_domains_test {

namespace {

constexpr const char* clique = "nvidia.com/gpu.clique";

/// Racks of 18 trays; of each the first @p busy are taken.
void add_racks(world& w, std::initializer_list<std::pair<const char*, int>> racks) {
  for (const auto& [name, busy] : racks) {
    for (int i = 0; i < 18; ++i) {
      const std::string tray = std::string{name} + "-" + std::to_string(i);
      a_node made = a_node(tray).cpu(144).gpus(4).label(clique, name);
      made.spec.devices = make_node_devices(gpu_machine::nvl72_tray, "NVIDIA-GB200", 189471);
      for (std::size_t gpu = 0; gpu < 4; ++gpu) made.spec.devices.gpus[gpu].id = "GPU-" + std::to_string(gpu);
      const node_id node = w.add(made);
      if (i < busy) w.add(a_pod("busy-" + tray).cpu(1).gpus(4).on(node));
    }
  }
}

/// The racks that a gang of so many trays is in; none if it waits.
std::set<std::string> place(world& w, const std::string& name, int trays) {
  a_gang gang = a_gang(name, trays).topology(clique);
  gang.spec.topology.choice = domain_choice::best_fit;
  const group_id group = w.add(gang);
  for (int i = 0; i < trays; ++i) w.add(a_pod(name + "-" + std::to_string(i)).cpu(8).gpus(4).in(group));
  std::set<std::string> racks, nodes;
  for (const std::string& word : w.run(true)) {
    if (!word.starts_with("bind ")) continue;
    const std::string node = word.substr(word.rfind(' ') + 1);
    nodes.insert(node);
    racks.insert(node.substr(0, node.find('-')));
  }
  CHECK((nodes.empty() || nodes.size() == static_cast<std::size_t>(trays)));
  return racks;
}

}  // namespace

TEST_CASE("a gang stays inside one NVLink domain, and takes the one that it leaves the least of", "[engine][devices]") {
  world w;
  add_racks(w, {{"a", 0}, {"b", 10}, {"c", 12}, {"d", 4}});
  CHECK(place(w, "eight", 8) == std::set<std::string>{"b"});  // c has six trays left, d fourteen
  CHECK(place(w, "six", 6) == std::set<std::string>{"c"});
  CHECK(place(w, "whole", 18) == std::set<std::string>{"a"});
  CHECK(place(w, "wide", 15).empty());
  CHECK(place(w, "rest", 14) == std::set<std::string>{"d"});
}

TEST_CASE("a gang that no NVLink domain has room for waits, though the cluster has it", "[engine][devices]") {
  world w;
  add_racks(w, {{"a", 9}, {"b", 9}});
  CHECK(place(w, "ten", 10).empty());
  CHECK(place(w, "nine", 9).size() == 1);
}

}  // namespace gangsched::testing::nvlink_domains_test
