#include "gangsched/model/record_index.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::record_index_test {

namespace {

constexpr symbol blue{1}, green{2};

struct named {
  symbol ns;
  std::string name;
  [[nodiscard]] std::pair<symbol, std::string_view> key() const noexcept { return {ns, name}; }
  void digest_into(digest& out) const { out.add(std::string_view{name}); }
};

/// A table as the index wants it, and beside it the index that keeps names of its own.
struct table {
  undo_log undo;
  object_column<named> record{undo};
  record_index<object_column<named>> index{undo, record};
  name_index plain{undo};

  void insert(symbol ns, const std::string& name, row_t row) {
    record.grow(row + 1);
    index.insert(ns, name, row);
    plain.insert(ns, name, row);
    record.set(row, std::make_unique<const named>(named{ns, name}));
  }
  void erase(row_t row) {
    const named gone = *record[row];
    index.erase(index.key_of(gone.ns, gone.name), row);
    plain.erase(gone.ns, gone.name);
    record.set(row, nullptr);
  }
  static std::uint64_t digest_of(const column_base& one) {
    digest out;
    one.digest_into(out, 0);
    return out.value();
  }
};

TEST_CASE("an index over records finds them by namespace and name", "[model][name_index]") {
  table of;
  of.insert(blue, "web", 1);
  of.insert(green, "web", 2);
  CHECK(of.index.find(blue, "web") == 1);
  CHECK(of.index.find(green, "web") == 2);
  CHECK(of.index.find(blue, "we") == no_row);
  of.erase(1);
  CHECK(of.index.find(blue, "web") == no_row);
  CHECK(of.index.find(green, "web") == 2);
  CHECK(of.index.size() == 1);
}

TEST_CASE("an index over records is what one with names is, over random nested transactions", "[model][name_index]") {
  dice random{42};
  table of;
  std::map<std::pair<symbol, std::string>, row_t> names;
  std::vector<row_t> free;
  for (row_t row = 0; row < 400; ++row) free.push_back(row);
  struct checkpoint {
    std::size_t mark;
    std::map<std::pair<symbol, std::string>, row_t> names;
    std::vector<row_t> free;
  };
  std::vector<checkpoint> open;
  for (int step = 0; step < 20'000; ++step) {
    const symbol ns = random.percent(50) ? blue : green;
    const std::string name = "pod-" + std::to_string(random.below(150));
    const std::size_t what = random.below(20);
    if (what == 0 && open.size() < 4) {
      open.push_back({of.undo.open(), names, free});
    } else if (what == 1 && !open.empty()) {
      of.undo.keep();
      open.pop_back();
    } else if (what == 2 && !open.empty()) {
      of.undo.roll_back(open.back().mark);
      names = std::move(open.back().names), free = std::move(open.back().free);
      open.pop_back();
    } else if (const auto known = names.find({ns, name}); known == names.end()) {
      REQUIRE(of.index.find(ns, name) == no_row);
      const auto at = free.begin() + static_cast<std::ptrdiff_t>(random.below(free.size()));
      of.insert(ns, name, *at);
      names[{ns, name}] = *at;
      free.erase(at);
    } else {
      REQUIRE(of.index.find(ns, name) == known->second);
      of.erase(known->second);
      free.push_back(known->second);
      names.erase(known);
    }
    REQUIRE(of.index.size() == names.size());
    if (step % 50 == 0) REQUIRE(table::digest_of(of.index) == table::digest_of(of.plain));
  }
  while (!open.empty()) of.undo.keep(), open.pop_back();
  for (const auto& [key, row] : names) CHECK(of.index.find(key.first, key.second) == row);
}

}  // namespace

}  // namespace gangsched::testing::record_index_test
