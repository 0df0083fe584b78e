#include "gangsched/queues/queue_tree.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::queue_tree_test {

using namespace gangsched::queues;

std::string failure_of(std::vector<queue_link> queues) {
  const result<queue_tree> made = queue_tree::make(queues);
  return made ? "" : made.error().message();
}

TEST_CASE("a tree of queues knows who is above and below whom, in the order of the host") {
  const std::vector<queue_link> queues{{"train", "ml"}, {"ml", "all"},   {"all"},
                                       {"alone"},       {"infer", "ml"}, {"web", "all"}};
  const queue_tree tree = queue_tree::make(queues).value();
  const auto at = [&](std::string_view name) { return tree.find(name).value(); };
  CHECK(tree.size() == 6);
  CHECK_FALSE(tree.find("ml2"));
  CHECK(std::ranges::equal(tree.children(at("ml")), std::vector{at("train"), at("infer")}));
  CHECK(std::ranges::equal(tree.roots(), std::vector{at("all"), at("alone")}));
  CHECK(tree.depth(at("train")) == 2);
  CHECK(tree.height(at("all")) == 2);
  CHECK(tree.height(at("web")) == 0);
  CHECK(tree.is_leaf(at("alone")));
  CHECK(tree.root_of(at("infer")) == at("all"));
  CHECK(tree.common_ancestor(at("train"), at("web")) == at("all"));
  CHECK(tree.common_ancestor(at("train"), at("ml")) == at("ml"));
  CHECK(tree.common_ancestor(at("train"), at("alone")) == no_queue);
  CHECK(tree.is_within(at("train"), at("all")));
  CHECK_FALSE(tree.is_within(at("all"), at("train")));
  CHECK_FALSE(tree.is_within(at("alone"), at("all")));
}

TEST_CASE("a tree of queues is refused by queue, field and reason") {
  CHECK(failure_of({{""}}) == "queue : name: is empty");
  CHECK(failure_of({{"a"}, {"b"}, {"a"}}) == "queue a: name: another queue has it");
  CHECK(failure_of({{"a"}, {"b", "c"}}) == "queue b: parent: there is no queue c");
  CHECK(failure_of({{"z"}, {"a", "b"}, {"b", "a"}}) == "queue a: parent: the queues above it lead back to one of them");
  CHECK(failure_of({{"a", "a"}}) == "queue a: parent: the queues above it lead back to one of them");
  CHECK(failure_of({}).empty());
}

TEST_CASE(
    "whatever the order in which queues are named, each comes after its parent and heights and depths are those of the "
    "paths") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 dice{seed};
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.push_back("q" + std::to_string(i));
    std::vector<queue_link> queues;
    for (std::size_t i = 0; i < names.size(); ++i)
      queues.push_back({names[i], i > 0 && dice() % 5 != 0 ? std::string_view{names[dice() % i]} : std::string_view{}});
    std::shuffle(queues.begin(), queues.end(), dice);
    const queue_tree tree = queue_tree::make(queues).value();
    std::vector<bool> seen(tree.size(), false);
    for (const queue_index queue : tree.top_down()) {
      std::uint32_t depth = 0;
      for (queue_index up = tree.parent(queue); up != no_queue; up = tree.parent(up), ++depth) {
        REQUIRE(seen[up]);
        REQUIRE(tree.height(up) > depth + tree.height(queue));
      }
      REQUIRE(tree.depth(queue) == depth);
      REQUIRE_FALSE(seen[queue]);
      seen[queue] = true;
    }
    REQUIRE(std::ranges::count(seen, true) == static_cast<std::ptrdiff_t>(tree.size()));
  }
}

}  // namespace gangsched::testing::queue_tree_test
