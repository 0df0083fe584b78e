#include "gangsched/model/node_tree.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::node_tree_test {

namespace {

/// The same order, kept as zones with lists of nodes that are searched.
struct plain_tree {
  std::vector<std::pair<std::string, std::vector<row_t>>> zones;

  [[nodiscard]] std::string zone_of(row_t node) const {
    for (const auto& [name, nodes] : zones) {
      if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return name;
    }
    return "none";
  }
  void remove(row_t node) {
    for (auto& [name, nodes] : zones) std::erase(nodes, node);
    std::erase_if(zones, [](const auto& zone) { return zone.second.empty(); });
  }
  void add(row_t node, const std::string& zone) {
    auto to = std::find_if(zones.begin(), zones.end(), [&](const auto& one) { return one.first == zone; });
    if (to == zones.end()) to = zones.insert(zones.end(), {zone, {}});
    to->second.push_back(node);
  }
  void update(row_t node, const std::string& zone) {
    for (const auto& [name, nodes] : zones) {
      if (name == zone && std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return;
    }
    remove(node);
    add(node, zone);
  }
  [[nodiscard]] std::vector<row_t> rows() const {
    std::vector<row_t> all;
    for (std::size_t i = 0, left = 1; left != 0; ++i) {
      left = 0;
      for (const auto& [name, nodes] : zones) {
        if (i < nodes.size()) all.push_back(nodes[i]), ++left;
      }
    }
    return all;
  }
  [[nodiscard]] std::uint64_t digest_of() const {
    digest made;
    for (const auto& [name, nodes] : zones) {
      made.add(nodes.size());
      for (const row_t node : nodes) made.add(node);
    }
    return made.value();
  }
};

struct trees {
  interner names;
  undo_log undo;
  model::node_tree tree{names, undo};
  plain_tree plain;

  std::vector<label_symbols> in_zone(const std::string& zone) {
    return {{names.intern("topology.kubernetes.io/zone"), names.intern(zone)}};
  }
  void add(row_t node, const std::string& zone) { tree.add(node, in_zone(zone)), plain.add(node, zone); }
  void update(row_t node, const std::string& zone) { tree.update(node, in_zone(zone)), plain.update(node, zone); }
  void remove(row_t node) { tree.remove(node), plain.remove(node); }
  [[nodiscard]] bool agree() {
    digest made;
    tree.digest_into(made, 0);
    return tree.rows() == plain.rows() && made.value() == plain.digest_of() && comes_again();
  }
  /// Its nodes, added to another tree zone by zone, stand there in the same order.
  [[nodiscard]] bool comes_again() {
    undo_log none;
    model::node_tree again{names, none};
    for (const row_t node : tree.by_zone()) again.add(node, in_zone(plain.zone_of(node)));
    return again.rows() == tree.rows();
  }
};

TEST_CASE("nodes are listed one of each zone in turn, and zones by age", "[model][node_tree]") {
  trees both;
  both.add(0, "a"), both.add(1, "a"), both.add(2, "b"), both.add(3, "c"), both.add(4, "b"), both.add(5, "a");
  CHECK(both.tree.rows() == std::vector<row_t>{0, 2, 3, 1, 4, 5});
  both.remove(0), both.remove(1), both.remove(5);
  both.add(1, "a");  // the zone has lost its place
  CHECK(both.tree.rows() == std::vector<row_t>{2, 3, 1, 4});
  CHECK(both.agree());
}

TEST_CASE("a transaction that is rolled back leaves the order of nodes as it was, whatever came and went in it",
          "[model][node_tree]") {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::size_t compared = 0, rolled_back = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    dice random{seed};
    trees both;
    std::vector<row_t> there, free;
    for (row_t row = 0; row < 12; ++row) free.push_back(row);
    struct mark {
      std::size_t at;
      plain_tree plain;
      std::vector<row_t> there, free;
    };
    std::vector<mark> open;
    for (int step = 0; step < 200; ++step) {
      const std::string& zone = random.of(names);
      switch (random.below(7)) {
        case 0:
        case 1:
          if (free.empty()) break;
          std::swap(random.of(free), free.back());
          both.add(free.back(), zone);
          there.push_back(free.back()), free.pop_back();
          break;
        case 2:
        case 3:
          if (there.empty()) break;
          std::swap(random.of(there), there.back());
          both.remove(there.back());
          free.push_back(there.back()), there.pop_back();
          break;
        case 4:
          if (!there.empty()) both.update(random.of(there), zone);
          break;
        case 5:
          if (open.size() < 3) open.push_back({both.undo.open(), both.plain, there, free});
          break;
        default:
          if (open.empty()) {
            both.tree.sweep();
          } else if (random.below(3) == 0) {
            both.undo.keep();
            open.pop_back();
          } else {
            both.undo.roll_back(open.back().at);
            ++rolled_back;
            both.plain = open.back().plain, there = open.back().there, free = open.back().free;
            open.pop_back();
          }
      }
      INFO("seed " << seed << ", step " << step);
      REQUIRE(both.agree());
      ++compared;
    }
  }
  CHECK(compared == 60 * 200);
  CHECK(rolled_back > 300);
}

TEST_CASE("a node that leaves a zone keeps nothing of the zone's other nodes to be undone", "[model][node_tree]") {
  trees both;
  for (row_t row = 0; row < 1000; ++row) both.add(row, "a");
  const std::size_t mark = both.undo.open();
  both.remove(500);
  CHECK(both.undo.size() - mark == 1);
  both.undo.roll_back(mark);
  both.plain.zones[0].second.clear();
  for (row_t row = 0; row < 1000; ++row) both.plain.zones[0].second.push_back(row);
  CHECK(both.agree());
}

}  // namespace

}  // namespace gangsched::testing::node_tree_test
