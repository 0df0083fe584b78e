#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/devices/gpu_machines.hpp"
#include "gangsched/devices/links.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::links_test {

namespace {

constexpr gpu_machine machine(std::size_t i) { return static_cast<gpu_machine>(i); }
constexpr link_level level(std::size_t i) { return static_cast<link_level>(i); }
unsigned count(unsigned set) { return static_cast<unsigned>(std::popcount(set)); }

gpu_mask set_of(std::initializer_list<unsigned> gpus) {
  unsigned set = 0;
  for (const unsigned gpu : gpus) set |= 1u << gpu;
  return static_cast<gpu_mask>(set);
}

/// What is asked of a set, said once more: the NVLinks and points of all sets, one pair at a time.
struct plain_sets {
  explicit plain_sets(const link_matrix& all)
      : links(all),
        points(std::size_t{1} << all.gpus()),
        nvlinks(points.size()),
        closest(points.size(), link_level::nvlink) {
    for (unsigned set = 0; set < points.size(); ++set) {
      for (unsigned a = 0; a < all.gpus(); ++a) {
        for (unsigned b = 0; b < a; ++b) {
          if ((set >> a & 1) == 0 || (set >> b & 1) == 0) continue;
          const gpu_link link = all(a, b);
          points[set] += link.nvlinks * 100;
          nvlinks[set] += link.nvlinks;
          switch (link.path) {
            case link_level::sys: points[set] += 10; break;
            case link_level::node: points[set] += 20; break;
            case link_level::phb: points[set] += 30; break;
            case link_level::pxb: points[set] += 40; break;
            case link_level::pix: points[set] += 50; break;
            case link_level::board: points[set] += 60; break;
            case link_level::nvlink: FAIL("a path over NVLink");
          }
          closest[set] = std::min(closest[set], link.nvlinks > 0 ? link_level::nvlink : link.path);
        }
      }
    }
  }

  unsigned best(unsigned free, unsigned k, link_level at_least, const std::vector<gpu_mask>& groups = {}) const {
    unsigned found = 0;
    for (unsigned set = 1; set <= free; ++set) {
      if ((set & ~free) != 0 || count(set) != k || closest[set] < at_least) continue;
      const auto holds = [&](gpu_mask group) { return (set & ~unsigned{group}) == 0; };
      if (!groups.empty() && std::none_of(groups.begin(), groups.end(), holds)) continue;
      const auto value = [&](unsigned s) {
        return std::tuple(nvlinks[s], nvlinks[free & ~s], points[s], points[free & ~s]);
      };
      if (found == 0 || value(set) > value(found)) found = set;
    }
    return found;
  }

  link_matrix links;
  std::vector<int> points, nvlinks;
  std::vector<link_level> closest;
};

link_matrix random_links(std::size_t gpus, testing::dice& dice) {
  std::vector<gpu_link> links(gpus * gpus);
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const auto nvlinks = static_cast<std::uint8_t>(dice.percent(40) ? dice.below(3) : 0);
      links[a * gpus + b] = links[b * gpus + a] = {nvlinks, level(dice.below(link_levels - 1))};
    }
  }
  return link_matrix::make(gpus, links).value();
}

std::string refusal(std::size_t gpus, const std::vector<gpu_link>& links) {
  const auto matrix = link_matrix::make(gpus, links);
  REQUIRE(!matrix);
  return matrix.error().message();
}

}  // namespace

TEST_CASE("NVLinks and the PCIe path of a pair both count", "[devices][links]") {
  CHECK(gpu_link{2, link_level::sys}.points() == 210);
  CHECK(gpu_link{18, link_level::pix}.points() == 1850);
  CHECK(gpu_link{0, link_level::node}.points() == 20);
  CHECK(gpu_link{0, link_level::phb}.points() == 30);
  CHECK(gpu_link{0, link_level::pxb}.points() == 40);
  CHECK(gpu_link{0, link_level::board}.points() == 60);
  CHECK(gpu_link{1, link_level::sys}.level() == link_level::nvlink);
  CHECK(gpu_link{0, link_level::pxb}.level() == link_level::pxb);
}

TEST_CASE("a link matrix must be square, symmetric and possible", "[devices][links]") {
  const gpu_link none, one{1, link_level::sys}, pix{0, link_level::pix};
  CHECK(refusal(0, {}) == "link matrix: gpus: not in 1 ... 16");
  CHECK(refusal(17, std::vector<gpu_link>(17 * 17)) == "link matrix: gpus: not in 1 ... 16");
  CHECK(refusal(2, {none, none, none}) == "link matrix: links: 3 for 2 GPUs");
  CHECK(refusal(2, {none, one, one, one}) == "link matrix: links[1][1]: a GPU linked to itself");
  CHECK(refusal(2, {none, one, none, none}) == "link matrix: links[0][1]: another link than the one back");
  CHECK(refusal(2, {none, none, pix, none}) == "link matrix: links[0][1]: another link than the one back");
  const gpu_link many{19, link_level::sys}, odd{0, link_level::nvlink};
  CHECK(refusal(2, {none, many, many, none}) == "link matrix: links[0][1]: more than 18 NVLinks");
  CHECK(refusal(2, {none, odd, odd, none}) == "link matrix: links[0][1]: the path is the one over PCIe");
  std::vector<gpu_link> eight(64);
  eight[2 * 8 + 5].nvlinks = 1;
  CHECK(refusal(8, eight) == "link matrix: links[2][5]: another link than the one back");
  const auto single =
      link_matrix::make(1, std::vector<gpu_link>{pix});  // what the diagonal says of the path does not matter
  REQUIRE(single);
  CHECK(single->all() == 1);
  CHECK(best_sets(*single).best(1, 1) == 1);
}

TEST_CASE("the sets of a DGX-1 V100 have the NVLinks that are known", "[devices][links]") {
  const gpu_topology box = make_gpu_topology(gpu_machine::dgx1_v100);
  std::array<std::map<int, int, std::greater<>>, 9> sets_by_links;
  std::vector<unsigned> best_quads;
  for (unsigned set = 0; set < 256; ++set) {
    int links = 0;
    for (unsigned a = 0; a < 8; ++a) {
      for (unsigned b = 0; b < a; ++b) {
        if ((set >> a & set >> b & 1) != 0) links += box.links(a, b).nvlinks;
      }
    }
    ++sets_by_links[count(set)][links];
    if (count(set) == 4 && links == 9) best_quads.push_back(set);
  }
  using histogram = std::map<int, int, std::greater<>>;
  CHECK(sets_by_links[2] == histogram{{2, 8}, {1, 8}, {0, 12}});
  CHECK(sets_by_links[3] == histogram{{5, 4}, {4, 8}, {3, 16}, {2, 16}, {1, 12}});
  CHECK(sets_by_links[4] == histogram{{9, 2}, {7, 6}, {6, 18}, {5, 22}, {4, 18}, {3, 2}, {2, 2}});
  CHECK(sets_by_links[5].begin()->first == 11);
  CHECK(sets_by_links[5].begin()->second == 4);
  CHECK(sets_by_links[5].rbegin()->first == 7);
  CHECK(sets_by_links[5].rbegin()->second == 12);
  CHECK(sets_by_links[6] == histogram{{14, 8}, {13, 8}, {12, 12}});
  CHECK(sets_by_links[8] == histogram{{24, 1}});
  CHECK(best_quads == std::vector<unsigned>{0x0f, 0xf0});
}

TEST_CASE("a DGX-1 is emptied in the sets that NVIDIA fixed for it", "[devices][links]") {
  const auto emptied = [](gpu_machine id, unsigned k) {
    const best_sets sets(make_gpu_topology(id).links);
    std::vector<gpu_mask> all;
    gpu_mask free = sets.links().all();
    while (free != 0) {
      const gpu_mask set = sets.best(free, k);
      REQUIRE(count(set) == k);
      REQUIRE((set & ~free) == 0);
      all.push_back(set);
      free = static_cast<gpu_mask>(free & ~set);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  using masks = std::vector<gpu_mask>;
  CHECK(emptied(gpu_machine::dgx1_v100, 2) == masks{set_of({1, 2}), set_of({0, 3}), set_of({5, 6}), set_of({4, 7})});
  CHECK(emptied(gpu_machine::dgx1_p100, 2) == masks{set_of({0, 2}), set_of({1, 3}), set_of({4, 6}), set_of({5, 7})});
  CHECK(emptied(gpu_machine::dgx1_v100, 4) == masks{0x0f, 0xf0});
  CHECK(emptied(gpu_machine::dgx1_p100, 4) == masks{0x0f, 0xf0});
  // The aligned blocks of a DGX-2.
  CHECK(emptied(gpu_machine::dgx2, 8) == masks{0x00ff, 0xff00});
  CHECK(emptied(gpu_machine::dgx2, 4) == masks{0x000f, 0x00f0, 0x0f00, 0xf000});
  CHECK(emptied(gpu_machine::dgx2, 2) == masks{0x0003, 0x000c, 0x0030, 0x00c0, 0x0300, 0x0c00, 0x3000, 0xc000});
  CHECK(emptied(gpu_machine::dgx2, 16) == masks{0xffff});
}

TEST_CASE("on a DGX-1 V100 the PCIe switches change which pairs are best, and not what all are worth",
          "[devices][links]") {
  const gpu_topology box = make_gpu_topology(gpu_machine::dgx1_v100);
  std::vector<gpu_link> links(64);
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) {
      if (a != b) links[a * 8 + b] = box.links(a, b);
      if (a != b && box.pcie_group[a] == box.pcie_group[b]) links[a * 8 + b].path = link_level::pix;
    }
  }
  const best_sets sets(link_matrix::make(8, links).value());
  CHECK(sets.best(0xff, 2) == set_of({2, 3}));
  const auto worth = [&](std::vector<gpu_mask> pairs) {
    int sum = 0;
    for (const gpu_mask pair : pairs) sum += sets.points(pair);
    return sum;
  };
  CHECK(worth({set_of({2, 3}), set_of({6, 7}), set_of({0, 4}), set_of({1, 5})}) == 920);
  CHECK(worth({set_of({0, 3}), set_of({1, 2}), set_of({4, 7}), set_of({5, 6})}) == 920);
}

TEST_CASE("machines have the links, switches and NUMA cells that are known", "[devices][links]") {
  const std::map<gpu_machine, std::pair<std::size_t, int>> expected = {
      // GPUs, NVLinks of one GPU
      {gpu_machine::dgx1_p100, {8, 4}},    {gpu_machine::dgx1_v100, {8, 6}},      {gpu_machine::dgx2, {16, 90}},
      {gpu_machine::hgx_a100_4, {4, 12}},  {gpu_machine::hgx_a100_8, {8, 84}},    {gpu_machine::hgx_h100_8, {8, 126}},
      {gpu_machine::hgx_b200_8, {8, 126}}, {gpu_machine::bridged_pairs, {8, 12}}, {gpu_machine::two_quads, {8, 18}},
      {gpu_machine::nvl72_tray, {4, 54}}};
  REQUIRE(expected.size() == gpu_machines);
  for (const auto& [id, shape] : expected) {
    const gpu_topology box = make_gpu_topology(id);
    INFO(static_cast<int>(id));
    CHECK(box.links.gpus() == shape.first);
    for (std::size_t a = 0; a < box.links.gpus(); ++a) {
      int nvlinks = 0;
      for (std::size_t b = 0; b < box.links.gpus(); ++b) {
        if (a == b) continue;
        const gpu_link link = box.links(a, b);
        nvlinks += link.nvlinks;
        // Across cells is far, within is not; one switch is in one cell.
        if ((box.numa_cell[a] != box.numa_cell[b]) != (link.path == link_level::sys)) FAIL(a << "-" << b);
        if (box.pcie_group[a] == box.pcie_group[b] && box.numa_cell[a] != box.numa_cell[b]) FAIL(a << "-" << b);
      }
      if (nvlinks != shape.second) FAIL(a);
    }
    const auto cells = gpu_groups({box.numa_cell.data(), box.links.gpus()});
    CHECK(cells.size() == 2);
    CHECK(count(cells[0]) == box.links.gpus() / 2);
  }
  const gpu_topology box = make_gpu_topology(gpu_machine::dgx1_p100);
  CHECK(gpu_groups({box.pcie_group.data(), 8}) == std::vector<gpu_mask>{0x05, 0x0a, 0x50, 0xa0});
  CHECK(gpu_groups({}).empty());
}

TEST_CASE("the table has the best set for every mask, size and level", "[devices][links]") {
  testing::dice dice(1);
  std::vector<link_matrix> matrices;
  for (std::size_t i = 0; i < gpu_machines; ++i) {
    const link_matrix links = make_gpu_topology(machine(i)).links;
    if (links.gpus() <= 8) matrices.push_back(links);
  }
  for (std::size_t gpus = 1; gpus <= 8; ++gpus) matrices.push_back(random_links(gpus, dice));
  for (const link_matrix& links : matrices) {
    const best_sets sets(links);
    const plain_sets plain(links);
    const std::vector<gpu_mask> whole = {links.all()};  // as a group it goes past the table
    for (unsigned free = 0; free < plain.points.size(); ++free) {
      const auto mask = static_cast<gpu_mask>(free);
      if (sets.points(mask) != plain.points[free] || links.points(mask) != plain.points[free])
        FAIL("points of " << free);
      if (links.level(mask) != plain.closest[free]) FAIL("level of " << free);
      for (unsigned k = 0; k <= links.gpus() + 1; ++k) {
        for (std::size_t l = 0; l < link_levels; ++l) {
          const unsigned expected = k == 0 ? 0 : plain.best(free, k, level(l));
          if (sets.best(mask, k, {level(l)}) != expected)
            FAIL(links.gpus() << " GPUs, " << free << " free, size " << k << " level " << l);
          if (sets.best(mask, k, {level(l), whole}) != expected) FAIL("by search: " << free << " free, size " << k);
        }
      }
    }
  }
}

TEST_CASE("more than 8 GPUs are searched, with the same result as trying all sets", "[devices][links]") {
  testing::dice dice(2);
  std::vector<link_matrix> matrices = {make_gpu_topology(gpu_machine::dgx2).links};
  for (std::size_t gpus = 9; gpus <= 16; ++gpus) matrices.push_back(random_links(gpus, dice));
  for (const link_matrix& links : matrices) {
    const best_sets sets(links);
    const plain_sets plain(links);
    for (int round = 0; round < 40; ++round) {
      const auto free =
          static_cast<gpu_mask>(dice.next() & (round % 2 == 0 ? dice.next() | dice.next() : ~0u) & links.all());
      const auto k = static_cast<unsigned>(1 + dice.below(links.gpus()));
      const link_level at_least = dice.percent(50) ? link_level::sys : level(dice.below(link_levels));
      if (sets.best(free, k, {at_least}) != plain.best(free, k, at_least))
        FAIL(links.gpus() << " GPUs, " << free << " free, size " << k);
      if (sets.points(free) != plain.points[free]) FAIL("points of " << free);
    }
    CHECK(sets.best(links.all(), 8) == plain.best(links.all(), 8, link_level::sys));
  }
}

TEST_CASE("a set stays in one of the groups", "[devices][links]") {
  testing::dice dice(3);
  for (int round = 0; round < 300; ++round) {
    const link_matrix links = random_links(round < 250 ? 8 : 11, dice);
    const best_sets sets(links);
    const plain_sets plain(links);
    std::vector<std::uint8_t> cell;
    for (std::size_t gpu = 0; gpu < links.gpus(); ++gpu) cell.push_back(static_cast<std::uint8_t>(dice.below(3)));
    const std::vector<gpu_mask> groups = gpu_groups(cell);
    const auto free = static_cast<gpu_mask>((dice.next() | dice.next()) & links.all());
    for (unsigned k = 1; k <= 5; ++k) {
      const link_level at_least = level(dice.below(3));
      const gpu_mask set = sets.best(free, k, {at_least, groups});
      if (set != plain.best(free, k, at_least, groups)) FAIL(free << " free, size " << k);
      if (set != 0 && !sets.meets(set, {at_least, groups})) FAIL("not what was asked for");
    }
  }
}

TEST_CASE("a requirement holds or not", "[devices][links]") {
  const gpu_topology box = make_gpu_topology(gpu_machine::two_quads);
  const best_sets sets(box.links);
  const std::vector<gpu_mask> cells = gpu_groups({box.numa_cell.data(), 8}),
                              switches = gpu_groups({box.pcie_group.data(), 8});
  CHECK(sets.meets(0x0f, {link_level::nvlink, cells}));
  CHECK(!sets.meets(0x1e, {link_level::nvlink}));
  CHECK(!sets.meets(0x18, {link_level::sys, cells}));
  CHECK(sets.meets(0x0c, {link_level::pix, switches}));
  CHECK(sets.best(0x3c, 4, {link_level::nvlink}) == 0);
  CHECK(sets.best(0x3c, 4) == 0x3c);
  CHECK(sets.best(0x3e, 3, {link_level::sys, cells}) == 0x0e);
  CHECK(sets.best(0xaa, 2, {link_level::sys, switches}) == 0);
  CHECK(sets.best(0, 1) == 0);
}

TEST_CASE("quads stay whole for those who need four", "[devices][links]") {
  const best_sets sets(make_gpu_topology(gpu_machine::two_quads).links);
  CHECK(sets.best(0xff, 4) == 0x0f);
  CHECK(sets.best(0xfe, 4) == 0xf0);
  CHECK(sets.best(0xff, 1) == 0x01);
  CHECK(sets.best(0xfe, 1) == 0x02);  // from the quad that is broken: the worst connected one
  CHECK(sets.best(0x3f, 1) == 0x10);
  CHECK(sets.best(0x3f, 2) == 0x30);
  CHECK(sets.best(0x1f, 1) == 0x10);
  CHECK(sets.best(0xf9, 2) == 0x09);  // of the quad that is broken, though two of the other one are closer over PCIe
  CHECK(sets.best(0xf9, 2, {link_level::nvlink}) == 0x09);
  CHECK(sets.best(0xff, 8) == 0xff);
}

TEST_CASE("two GPUs get a bridge, and one GPU takes none apart if it can", "[devices][links]") {
  const best_sets sets(make_gpu_topology(gpu_machine::bridged_pairs).links);
  CHECK(sets.best(0xff, 2) == 0x03);
  CHECK(sets.best(0b1110'1001, 2) == 0b1100'0000);
  CHECK(sets.best(0b0000'1101, 1) == 0b0000'0001);
  CHECK(sets.best(0b0101'0101, 2, {link_level::nvlink}) == 0);
}

}  // namespace gangsched::testing::links_test
