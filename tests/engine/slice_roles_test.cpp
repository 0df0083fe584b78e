// Gangs with slices and minimums by role, every small case against a search of everything.
#include <array>
#include <bit>

#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::slice_roles_test {

namespace {

/// Four members by rank, in runs of two; cpus[i] of each, and who is in the role.
struct small_gang {
  std::array<int, 4> cpus{1, 1, 1, 1};
  unsigned tails = 0;
  int least = 4, tail_least = 0;
  domain_choice choice = domain_choice::scored;
};

using racks = std::array<int, 3>;  ///< CPUs of its node

/// Each of the runs in one rack, or in none.
bool possible(const small_gang& gang, const racks& room) {
  const auto tail = [&](int i) { return static_cast<int>(gang.tails >> i & 1u); };
  for (int first = 0; first <= 3; ++first) {
    for (int second = 0; second <= 3; ++second) {
      racks left = room;
      int count = 0, tails = 0;
      const auto put = [&](int run, int rack) {
        if (rack == 3) return;
        for (int i = 2 * run; i < 2 * run + 2; ++i) {
          left[static_cast<std::size_t>(rack)] -= gang.cpus[static_cast<std::size_t>(i)];
          ++count, tails += tail(i);
        }
      };
      put(0, first), put(1, second);
      if (*std::min_element(left.begin(), left.end()) >= 0 && count >= gang.least && tails >= gang.tail_least)
        return true;
    }
  }
  return false;
}

struct outcome {
  std::array<int, 4> rack{};  ///< of each member, -1 for none
  bool explained = false;     ///< before it was tried explain said that it would be placed
};

/// @p order: in which the members come.
outcome run(const small_gang& of, const racks& room, const std::array<std::size_t, 4>& order) {
  world w;
  for (std::size_t i = 0; i < room.size(); ++i) {
    w.add(a_node{"n" + std::to_string(i)}.cpu(room[i]).label("rack", "r" + std::to_string(i)));
  }
  a_gang spec{"g", of.least};
  if (of.tail_least != 0) std::get<gang>(spec.spec.policy).roles = {{"tail", of.tail_least}};
  spec.spec.topology.slices = {{"rack", 2}};
  spec.spec.topology.choice = of.choice;
  const group_id group = w.add(spec);
  std::array<pod_id, 4> pods;
  for (const std::size_t i : order) {
    a_pod pod{"rank" + std::to_string(i)};
    pod.cpu(of.cpus[i]).in(group);
    pod.spec.rank = static_cast<std::int32_t>(i);
    if ((of.tails >> i & 1u) != 0) pod.spec.role = "tail";
    pods[i] = w.add(pod);
  }
  outcome made;
  const std::vector<group_explanation> explained = w.must(w.scheduler.explain(group));
  for (const placement_verdict& one : explained.front().placements) made.explained = made.explained || one.feasible;
  w.run();
  for (std::size_t i = 0; i < 4; ++i) {
    const node_id node = w.cluster.node_of(pods[i]);
    made.rack[i] = node ? w.cluster.name_of(node)[1] - '0' : -1;
  }
  return made;
}

}  // namespace

TEST_CASE("runs are cut by rank whatever roles need", "[engine][group][slices]") {
  const std::array<int, 4> where = run({.tails = 8, .least = 4, .tail_least = 1}, {2, 2, 0}, {0, 1, 2, 3}).rack;
  CHECK(where[0] == where[1]);
  CHECK(where[2] == where[3]);
  CHECK(where[0] != where[2]);
}

TEST_CASE("a gang in slices with minimums by role is placed, and said to fit, if and only if there is a place",
          "[engine][group][slices][property]") {
  constexpr std::array<int, 4> sizes{0, 1, 2, 4};
  dice roll{7};
  int placed = 0, refused = 0;
  for (unsigned tails = 0; tails < 16; ++tails) {
    for (int tail_least = 0; tail_least <= std::popcount(tails); ++tail_least) {
      for (int least = 2; least <= 4; ++least) {
        for (const bool large : {false, true}) {
          for (const domain_choice choice : {domain_choice::scored, domain_choice::best_fit}) {
            for (int which = 0; which < 64; ++which) {
              const racks room{sizes[static_cast<std::size_t>(which & 3)],
                               sizes[static_cast<std::size_t>(which >> 2 & 3)],
                               sizes[static_cast<std::size_t>(which >> 4)]};
              if (room[0] < room[1] || room[1] < room[2]) continue;
              small_gang gang{.tails = tails, .least = least, .tail_least = tail_least, .choice = choice};
              for (std::size_t i = 0; large && i < 4; ++i) gang.cpus[i] = 1 + static_cast<int>(tails >> i & 1u);
              std::array<std::size_t, 4> order{0, 1, 2, 3};
              for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[roll.below(i + 1)]);
              INFO("tails " << tails << ", at least " << tail_least << " of " << least << (large ? ", large" : "")
                            << ", choice " << static_cast<int>(choice) << ", racks " << room[0] << room[1] << room[2]);
              const auto [where, explained] = run(gang, room, order);
              CHECK(where[0] == where[1]);
              CHECK(where[2] == where[3]);
              int count = 0, in_role = 0;
              for (std::size_t i = 0; i < 4; ++i) {
                count += where[i] >= 0 ? 1 : 0;
                in_role += where[i] >= 0 ? static_cast<int>(tails >> i & 1u) : 0;
              }
              CHECK((count == 0 || (count >= least && in_role >= tail_least)));
              CHECK((count != 0) == possible(gang, room));
              CHECK(explained == possible(gang, room));
              (count != 0 ? placed : refused) += 1;
            }
          }
        }
      }
    }
  }
  CHECK(placed > 1000);
  CHECK(refused > 1000);
}

}  // namespace gangsched::testing::slice_roles_test
