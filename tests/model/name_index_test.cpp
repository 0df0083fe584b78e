#include "gangsched/model/name_index.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::name_index_test {

namespace {

constexpr symbol blue{1}, green{2};

std::uint64_t digest_of(const name_index& index) {
  digest out;
  index.digest_into(out, 0);
  return out.value();
}

TEST_CASE("a name index finds names by namespace", "[model][name_index]") {
  undo_log undo;
  name_index index{undo};
  index.insert(blue, "web", 1);
  index.insert(green, "web", 2);
  index.insert({}, "", 3);
  CHECK(index.find(blue, "web") == 1);
  CHECK(index.find(green, "web") == 2);
  CHECK(index.find({}, "") == 3);
  CHECK(index.find(blue, "we") == no_row);
  CHECK(index.find({}, "web") == no_row);
  CHECK(index.size() == 3);
  index.erase(blue, "web");
  CHECK(index.find(blue, "web") == no_row);
  CHECK(index.find(green, "web") == 2);
  CHECK(index.size() == 2);
}

TEST_CASE("a name index copies the name it is given", "[model][name_index]") {
  undo_log undo;
  name_index index{undo};
  std::string name = "a-name-that-is-longer-than-any-small-string-buffer";
  index.insert(blue, name, 1);
  name[0] = 'X';
  CHECK(index.find(blue, "a-name-that-is-longer-than-any-small-string-buffer") == 1);
}

TEST_CASE("a name can move to another row inside a transaction and back", "[model][name_index]") {
  undo_log undo;
  name_index index{undo};
  index.insert(blue, "kept", 1);
  index.insert(blue, "moved", 2);
  const std::uint64_t before = digest_of(index);

  const std::size_t mark = undo.open();
  index.erase(blue, "moved");
  index.insert(blue, "moved", 7);
  index.insert(blue, "new", 8);
  index.erase(blue, "new");
  index.insert(blue, "new", 9);
  CHECK(index.find(blue, "moved") == 7);
  CHECK(digest_of(index) != before);
  undo.roll_back(mark);

  CHECK(index.find(blue, "kept") == 1);
  CHECK(index.find(blue, "moved") == 2);
  CHECK(index.find(blue, "new") == no_row);
  CHECK(index.size() == 2);
  CHECK(digest_of(index) == before);
}

TEST_CASE("what a committed transaction erased is gone for good", "[model][name_index]") {
  undo_log undo;
  name_index index{undo};
  index.insert(blue, "old", 1);
  undo.open();
  index.erase(blue, "old");
  undo.open();
  index.insert(blue, "old", 2);
  index.erase(blue, "old");
  undo.keep();
  undo.keep();
  CHECK(index.size() == 0);
  CHECK(index.find(blue, "old") == no_row);
}

TEST_CASE("an index digests the same whatever the order of its names", "[model][name_index]") {
  undo_log undo;
  name_index one{undo}, other{undo};
  one.insert(blue, "a", 1), one.insert(blue, "b", 2), one.insert(green, "a", 3);
  other.insert(green, "a", 3), other.insert(blue, "b", 2), other.insert(blue, "a", 1);
  CHECK(digest_of(one) == digest_of(other));
}

TEST_CASE("an index's digest tells names, namespaces and rows apart", "[model][name_index]") {
  undo_log undo;
  name_index index{undo};
  std::vector<std::uint64_t> seen{digest_of(index)};
  const auto digest_with = [&](symbol ns, const char* name, row_t row) {
    index.insert(ns, name, row);
    const std::uint64_t value = digest_of(index);
    index.erase(ns, name);
    CHECK(digest_of(index) == seen.front());
    return value;
  };
  seen.push_back(digest_with(blue, "a", 1));
  seen.push_back(digest_with(green, "a", 1));
  seen.push_back(digest_with(blue, "b", 1));
  seen.push_back(digest_with(blue, "a", 2));
  std::sort(seen.begin(), seen.end());
  CHECK(std::unique(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("a name index agrees with a map over random nested transactions", "[model][name_index]") {
  using model = std::map<std::pair<symbol, std::string>, row_t>;
  gangsched::testing::dice dice{42};
  undo_log undo;
  name_index index{undo};
  model names;
  struct checkpoint {
    std::size_t mark;
    std::uint64_t digest;
    model names;
  };
  std::vector<checkpoint> open;
  for (int step = 0; step < 20'000; ++step) {
    const symbol ns = dice.percent(50) ? blue : green;
    const std::string name = "pod-" + std::to_string(dice.below(200));
    const std::size_t what = dice.below(20);
    if (what == 0 && open.size() < 4) {
      open.push_back({undo.open(), digest_of(index), names});
    } else if (what == 1 && !open.empty()) {
      undo.keep();
      open.pop_back();
    } else if (what == 2 && !open.empty()) {
      undo.roll_back(open.back().mark);
      names = std::move(open.back().names);
      REQUIRE(digest_of(index) == open.back().digest);
      open.pop_back();
    } else if (const auto known = names.find({ns, name}); known == names.end()) {
      REQUIRE(index.find(ns, name) == no_row);
      index.insert(ns, name, static_cast<row_t>(step));
      names[{ns, name}] = static_cast<row_t>(step);
    } else {
      REQUIRE(index.find(ns, name) == known->second);
      index.erase(ns, name);
      names.erase(known);
    }
    REQUIRE(index.size() == names.size());
  }
  while (!open.empty()) undo.keep(), open.pop_back();
  for (const auto& [key, row] : names) CHECK(index.find(key.first, key.second) == row);
}

}  // namespace

}  // namespace gangsched::testing::name_index_test
