// What is written as JSON, against nlohmann's writer.
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "gangsched/kube/json_tree.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::json_tree_test {

using kube::json_tree;
using other_tree = nlohmann::ordered_json;

/// Often no UTF-8. (Of a character that is cut off after two of its bytes nlohmann makes one replacement, the library two.)
std::string random_text(dice& random) {
  const std::string parts[] = {"a",
                               "\"",
                               "\\",
                               "/",
                               "\n",
                               "\t",
                               "\x01",
                               "\x7f",
                               "\xc3\xa9",
                               "\xe2\x82\xac",
                               "\xf0\x9f\x98\x80",
                               "\xc3",
                               "\xe2",
                               "\xed\xa0",
                               "\xf4",
                               "\xff",
                               "\xc0\x80",
                               std::string(1, '\0')};
  std::string made;
  for (auto left = random.below(8); left > 0; --left) made += parts[random.below(std::size(parts))];
  return made;
}

std::pair<json_tree, other_tree> random_tree(dice& random, int depth) {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0: return {json_tree{}, nullptr};
    case 1: return {true, true};
    case 2: {
      const auto number = static_cast<std::int64_t>(random.next());
      return {number, number};
    }
    case 3: {
      const double number = static_cast<double>(random.below(1000)) / 8;
      return {number, number};
    }
    case 4: {
      std::string text = random_text(random);
      return {text, text};
    }
    case 5:
    case 6: {
      std::pair<json_tree, other_tree> made{json_tree::list(), other_tree::array()};
      for (auto left = random.below(4); left > 0; --left) {
        auto [one, other] = random_tree(random, depth - 1);
        made.first.add(std::move(one)), made.second.push_back(std::move(other));
      }
      return made;
    }
    default: {
      std::pair<json_tree, other_tree> made{json_tree::object(), other_tree::object()};
      for (auto left = random.below(4); left > 0; --left) {
        auto [one, other] = random_tree(random, depth - 1);
        const std::string key = random_text(random);
        made.first[key] = std::move(one), made.second[key] = std::move(other);
      }
      return made;
    }
  }
}

TEST_CASE("a tree is written as nlohmann writes it", "[kube][document]") {
  dice random{7};
  for (int round = 0; round < 2'000; ++round) {
    const auto [tree, other] = random_tree(random, 4);
    for (const int indent : {-1, 2})
      CHECK(tree.json(indent) == other.dump(indent, ' ', false, other_tree::error_handler_t::replace));
  }
}

TEST_CASE("a number that is none is null", "[kube][document]") {
  CHECK(json_tree{std::numeric_limits<double>::quiet_NaN()}.json(-1) == "null");
  CHECK(json_tree{-std::numeric_limits<double>::infinity()}.json(-1) == "null");
}

}  // namespace gangsched::testing::json_tree_test
