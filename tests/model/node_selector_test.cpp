#include "gangsched/model/node_selector.hpp"

#include "support/catch.hpp"

namespace gangsched::testing::node_selector_test {

using op = selector_operator;

TEST_CASE("selector_number: signed decimal 64-bit integers") {
  CHECK(selector_number("0") == 0);
  CHECK(selector_number("010") == 10);
  CHECK(selector_number("-5") == -5);
  CHECK(selector_number("+5") == 5);
  CHECK(selector_number("9223372036854775807") == 9223372036854775807);
  for (const char* wrong :
       {"", "+", "-", "+-5", "--5", "5 ", " 5", "1.0", "1e3", "0x10", "9223372036854775808", "1_000"}) {
    CAPTURE(wrong);
    CHECK_FALSE(selector_number(wrong));
  }
}

TEST_CASE("parses: values are label values, and of gt and lt numbers") {
  CHECK(parses({"key", op::in, {"a", ""}}));
  CHECK(parses({"key", op::exists, {}}));
  CHECK(parses({"key", op::gt, {"010"}}));
  CHECK_FALSE(parses({"key", op::in, {"a", "-b"}}));
  CHECK_FALSE(parses({"key", op::not_in, {"a b"}}));
  CHECK_FALSE(parses({"key", op::gt, {"x"}}));
  CHECK_FALSE(parses({"key", op::lt, {"-5"}}));
}

namespace {

/// Anything with these words is a node.
struct paper_node {
  std::string_view key, value;
  [[nodiscard]] std::optional<std::string_view> label(std::string_view wanted) const {
    return wanted == key ? std::optional{value} : std::nullopt;
  }
  [[nodiscard]] static std::string_view name() { return "paper"; }
};

}  // namespace

TEST_CASE("matches takes a term as a host wrote it") {
  const paper_node node{"gen", "5"};
  const auto with = [](op how, std::vector<std::string> values) {
    return node_selector_term{.match_expressions = {{"gen", how, std::move(values)}}};
  };
  CHECK(matches(with(op::in, {"4", "5"}), node));
  CHECK(matches(with(op::gt, {"4"}), node));
  CHECK_FALSE(matches(with(op::lt, {"4"}), node));
  CHECK_FALSE(matches(with(op::not_in, {"-x"}), node));  // does not parse
  CHECK_FALSE(matches(node_selector_term{}, node));
  node_selector_term named = with(op::exists, {});
  named.match_fields = {{"metadata.name", op::in, {"paper"}}};
  CHECK(matches(named, node));
  named.match_fields.push_back({"metadata.name", op::not_in, {"paper"}});
  CHECK_FALSE(matches(named, node));
  // A node has no other field: absent, as a label can be.
  named.match_fields = {{"metadata.namespace", op::not_in, {"paper"}}};
  CHECK(matches(named, node));
}

}  // namespace gangsched::testing::node_selector_test
