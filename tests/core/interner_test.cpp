#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::interner_test {

TEST_CASE("a new interner knows the empty string only, as symbol 0", "[core][interner]") {
  interner names;
  CHECK(names.size() == 1);
  CHECK(names.text(symbol{}).empty());
  CHECK(names.find("") == symbol{0});
  CHECK(names.intern("") == symbol{0});
  CHECK(names.intern(std::string_view{}) == symbol{0});
  CHECK(names.size() == 1);
}

TEST_CASE("symbols are dense, in the order of first sight", "[core][interner]") {
  interner names;
  CHECK(names.intern("cpu") == symbol{1});
  CHECK(names.intern("memory") == symbol{2});
  CHECK(names.intern("cpu") == symbol{1});
  CHECK(names.intern("nvidia.com/gpu") == symbol{3});
  CHECK(names.size() == 4);
  CHECK(names.text(symbol{2}) == "memory");
}

TEST_CASE("finding does not make a symbol", "[core][interner]") {
  interner names;
  CHECK_FALSE(names.find("zone").has_value());
  CHECK(names.size() == 1);
  const symbol zone = names.intern("zone");
  CHECK(names.find("zone") == zone);
  CHECK_FALSE(names.find("zon").has_value());
  CHECK_FALSE(names.find("zone2").has_value());
}

TEST_CASE("interned text does not depend on the caller's buffer", "[core][interner]") {
  interner names;
  std::string buffer = "a name that is too long for the small-string buffer of std::string";
  const std::string copy = buffer;
  const symbol made = names.intern(buffer);
  buffer.assign(buffer.size(), '#');
  CHECK(names.text(made) == copy);
  CHECK(names.find(copy) == made);
  CHECK_FALSE(names.find(buffer).has_value());
}

TEST_CASE("every byte counts: zero bytes, high bytes and a length without a terminator", "[core][interner]") {
  using namespace std::string_view_literals;
  interner names;
  const symbol plain = names.intern("a"), with_zero = names.intern("a\0"sv), longer = names.intern("a\0b"sv);
  const symbol high = names.intern("\xff\x80");
  CHECK(plain != with_zero);
  CHECK(with_zero != longer);
  CHECK(names.text(longer) == "a\0b"sv);
  CHECK(names.text(high) == "\xff\x80");
  CHECK(names.intern("abc"sv.substr(0, 1)) == plain);
}

TEST_CASE("text stays where it is while the interner grows and moves", "[core][interner]") {
  interner names;
  const symbol first = names.intern("s");
  const std::string_view text = names.text(first);
  std::vector<symbol> symbols;
  for (int i = 0; i < 20'000; ++i) symbols.push_back(names.intern("label-" + std::to_string(i)));
  CHECK(names.size() == 20'002);
  CHECK(names.text(first).data() == text.data());

  interner moved = std::move(names);
  CHECK(moved.text(first).data() == text.data());
  CHECK(text == "s");
  interner assigned;
  assigned.intern("gone");
  assigned = std::move(moved);
  CHECK_FALSE(assigned.find("gone").has_value());

  int wrong = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::string name = "label-" + std::to_string(i);
    wrong += assigned.text(symbols[i]) != name || assigned.find(name) != symbols[i] || symbols[i].value != i + 2;
  }
  CHECK(wrong == 0);
}

TEST_CASE("an interner is not copyable, because symbols belong to one", "[core][interner]") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<interner>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<interner>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<interner>);
}

TEST_CASE("a name goes when two sweeps running have found it unmarked, and its symbol is used again",
          "[core][interner]") {
  interner names;
  const symbol kept = names.keep("kept"), used = names.intern("used"), idle = names.intern("idle");
  CHECK(names.made() == 4);
  names.mark(used);
  CHECK(names.marked(used));
  CHECK_FALSE(names.marked(idle));
  interner::swept done = names.sweep();
  CHECK(done.live == 3);
  CHECK(done.freed == 0);
  CHECK(names.made() == 0);
  CHECK_FALSE(names.marked(used));
  CHECK(names.find("idle") == idle);
  CHECK(names.text(idle) == "idle");
  names.mark(used);
  done = names.sweep();
  CHECK(done.freed == 1);
  CHECK_FALSE(names.find("idle").has_value());
  CHECK(names.size() == 3);
  CHECK(names.find("kept") == kept);
  CHECK(names.find("") == symbol{});
  CHECK(names.intern("new") == idle);
  CHECK(names.text(idle) == "new");
  CHECK(names.bound() == 4);
}

TEST_CASE("a name that is marked between two sweeps stays what it is", "[core][interner]") {
  interner names;
  const symbol one = names.intern("one");
  for (int i = 0; i < 4; ++i) {
    CHECK(names.sweep().freed == 0);  // idle
    CHECK(names.intern("one") == one);
    names.mark(one);
    CHECK(names.sweep().freed == 0);
  }
  CHECK(names.text(one) == "one");
}

TEST_CASE("an interner of ever-new names is no longer than what is swept at a time", "[core][interner]") {
  interner names;
  for (int i = 0; i < 10'000; ++i) {
    const symbol name = names.intern("name-" + std::to_string(i));
    REQUIRE(names.text(name) == "name-" + std::to_string(i));
    if (i % 100 == 99) names.sweep();
  }
  CHECK(names.bound() <= 1 + 200);
  CHECK_FALSE(names.find("name-0").has_value());
}

}  // namespace gangsched::testing::interner_test
