#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/queues/queue_tree.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

/// What the property tests of all policies share. They live through random worlds, and ask after each step what has to hold for every
/// policy: nobody starts below its minimum; usage stays within quota; nobody goes who could stay; who went cannot win back at once; what
/// is divided adds up; what is counted is what a count from the beginning gives, after trials to the last bit; orders are orders; and
/// names decide rather than the order in which a host said things.
namespace gangsched::testing::invariants {

/// How many operations a test makes: so many thousandths of GANGSCHED_INVARIANTS, or of 1,200,000.
inline std::size_t operations(std::size_t thousandths) {
  const char* const text = std::getenv("GANGSCHED_INVARIANTS");
  const std::size_t all = text != nullptr ? std::strtoull(text, nullptr, 10) : 1'200'000;
  return std::max<std::size_t>(1, all / 1000 * thousandths);
}

/// Calls world(seed) for the seeds 0, 1, … until so many thousandths are counted in @p done; how many operations those are.
template <class World>
std::size_t in_worlds(std::size_t thousandths, const std::size_t& done, World&& world) {
  const std::size_t all = operations(thousandths);
  std::uint64_t seed = 0;
  while (done < all) {
    INFO("seed " << seed);
    world(seed++);
  }
  return all;
}

/// Steps of a life, which is checked after every fifth.
template <class Life>
void step_and_check(Life& of, int steps) {
  for (int step = 1; step <= steps; ++step) {
    of.step();
    if (step % 5 == 0) of.check();
  }
}

/// REQUIRE, for what is asked millions of times.
inline void holds(bool what, std::source_location where = std::source_location::current()) {
  if (!what) FAIL(where.file_name() << " line " << where.line());
}

/// The same elements in another order.
template <class List>
List shuffled(dice& random, List list) {
  for (std::size_t left = list.size(); left > 1; --left) std::swap(list[left - 1], list[random.below(left)]);
  return list;
}

/// A tree of queues q0, q1, … of random shape: parents come before their children, and no queue has more than @p deepest above it.
struct tree_plan {
  std::vector<std::string> names = {}, parents = {};  ///< an empty parent: a root
  std::vector<std::size_t> depths = {};

  tree_plan(dice& random, std::size_t queues, std::size_t deepest) {
    for (std::size_t i = 0; i < queues; ++i) {
      names.push_back("q" + std::to_string(i));
      const std::size_t above = i == 0 ? 0 : random.below(i);
      const bool is_root = i == 0 || depths[above] == deepest || random.percent(15);
      parents.push_back(is_root ? "" : names[above]);
      depths.push_back(is_root ? 0 : depths[above] + 1);
    }
  }
  /// Queues in the order of @p order, which numbers them.
  [[nodiscard]] queues::queue_tree make(const std::vector<std::size_t>& order) const {
    std::vector<queues::queue_link> links;
    for (const std::size_t at : order) links.push_back({names[at], parents[at]});
    return queues::queue_tree::make(links).value();
  }
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> made;
    for (std::size_t i = 0; i < names.size(); ++i) made.push_back(i);
    return made;
  }
};

}  // namespace gangsched::testing::invariants
