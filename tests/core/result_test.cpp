#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "gangsched/core/result.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::result_test {

namespace {

error bad_effect() {
  return {errc::malformed, "pod default/web-1", "tolerations[2].effect", "unknown effect \"NoRun\""};
}

result<int> half(int number) {
  if (number % 2 != 0) return error{errc::out_of_range, "number", std::to_string(number), "odd"};
  return number / 2;
}

result<void> reject(bool yes) {
  if (yes) return error{errc::busy, "scheduler", "", "a hook is running"};
  return {};
}

}  // namespace

TEST_CASE("an error message names the object, the field and the reason", "[core][result]") {
  CHECK(bad_effect().message() == "pod default/web-1: tolerations[2].effect: unknown effect \"NoRun\"");
}

TEST_CASE("value() of a result that has an error throws, and says the error", "[core][result]") {
  CHECK(half(4).value() == 2);
  reject(false).value();
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const bad_result_access& thrown) {
      return std::string{thrown.what()};
    }
    return std::string{"no exception"};
  };
  const result<int> none = half(3);
  result<int> changed = half(3);
  CHECK(message([&] { static_cast<void>(none.value()); }) == "number: 3: odd");
  CHECK(message([&] { static_cast<void>(changed.value()); }) == "number: 3: odd");
  CHECK(message([] { static_cast<void>(half(5).value()); }) == "number: 5: odd");
  CHECK(message([] { reject(true).value(); }) == "scheduler: a hook is running");
  const result<int> taken = std::move(changed);
  CHECK(message([&] { static_cast<void>(changed.value()); }) == "a result that was moved from");
  CHECK(taken.error().field == "3");
}

TEST_CASE("an error message leaves out what is empty", "[core][result]") {
  CHECK(error{errc::unknown, "node n1", "", "no such node"}.message() == "node n1: no such node");
  CHECK(error{errc::unknown, "", "name", "missing"}.message() == "name: missing");
  CHECK(error{errc::unknown, "", "", "missing"}.message() == "missing");
  CHECK(error{errc::wrong_state, "pod a/b", "", ""}.message() == "pod a/b: wrong_state");
}

TEST_CASE("an error message copies braces and percent signs as they are", "[core][result]") {
  CHECK(error{errc::malformed, "{}", "%s{0}", "}{"}.message() == "{}: %s{0}: }{");
}

TEST_CASE("every error code has its own name, as written in the code", "[core][result]") {
  CHECK(to_string(errc::malformed) == "malformed");
  CHECK(to_string(errc::out_of_range) == "out_of_range");
  CHECK(to_string(errc::overflow) == "overflow");
  CHECK(to_string(errc::duplicate) == "duplicate");
  CHECK(to_string(errc::unknown) == "unknown");
  CHECK(to_string(errc::wrong_state) == "wrong_state");
  CHECK(to_string(errc::outdated) == "outdated");
  CHECK(to_string(errc::busy) == "busy");
  CHECK(to_string(errc::time_went_back) == "time_went_back");
  CHECK(to_string(errc::contract) == "contract");
  std::set<std::string_view> names;
  for (unsigned char i = 0; i <= static_cast<unsigned char>(errc::contract); ++i)
    names.insert(to_string(static_cast<errc>(i)));
  CHECK(names.size() == 10);
  CHECK(names.count("?") == 0);
}

TEST_CASE("a result holds either a value or an error", "[core][result]") {
  const result<int> good = half(6), bad = half(7);
  REQUIRE(good);
  CHECK(good.has_value());
  CHECK(good.value() == 3);
  CHECK(*good == 3);
  REQUIRE_FALSE(bad);
  CHECK_FALSE(bad.has_value());
  CHECK(bad.error().code == errc::out_of_range);
  CHECK(bad.error().message() == "number: 7: odd");
}

TEST_CASE("a result without a value says success or why not", "[core][result]") {
  CHECK(reject(false));
  CHECK(reject(false).has_value());
  const result<void> refused = reject(true);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::busy);
  CHECK(reject(true).error().message() == "scheduler: a hook is running");
}

TEST_CASE("the value of a result can be changed, reached into and moved out", "[core][result]") {
  result<std::string> text = std::string("gang");
  text->append("sched");
  text.value() += '!';
  CHECK(*text == "gangsched!");
  CHECK(std::as_const(text)->size() == 10);
  const std::string taken = std::move(text).value();
  CHECK(taken == "gangsched!");

  result<std::unique_ptr<int>> owner = std::make_unique<int>(5);
  REQUIRE(owner);
  const std::unique_ptr<int> inside = *std::move(owner);
  CHECK(*inside == 5);
}

TEST_CASE("a result whose error was moved away is still not a value", "[core][result]") {
  result<int> bad = half(1);
  const result<int> moved = std::move(bad);
  CHECK_FALSE(moved);
  CHECK_FALSE(bad);  // NOLINT: that a moved-from failure does not turn into a success is the point
  CHECK(moved.error().code == errc::out_of_range);
}

TEST_CASE("a result does not turn into a number by accident", "[core][result]") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<result<int>, bool>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<result<int>, int>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<result<int>>);
}

}  // namespace gangsched::testing::result_test
