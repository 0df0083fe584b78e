#include "gangsched/kube/document.hpp"

#include <sstream>

#include "support/catch.hpp"

namespace gangsched::testing::document_test {

using namespace gangsched::kube;

namespace {

value yaml(const std::string& text, const limits& most = {}) {
  auto made = parse_yaml({"a.yaml", text}, most);
  if (!made) FAIL(made.error().message());
  REQUIRE(made->size() == 1);
  return made->front().root;
}
value json(const std::string& text) {
  auto made = parse_json({"a.json", text});
  if (!made) FAIL(made.error().message());
  REQUIRE(made->size() == 1);
  return made->front().root;
}
std::string refusal(const result<std::vector<document>>& of) { return of ? "fine" : of.error().message(); }
std::string yaml_refusal(const std::string& text, const limits& most = {}) {
  return refusal(parse_yaml({"a.yaml", text}, most));
}
std::string json_refusal(const std::string& text, const limits& most = {}) {
  return refusal(parse_json({"a.json", text}, most));
}

/// Kinds and texts, without lines: what both formats have to agree on.
std::string shown(const value& of) {
  switch (of.kind) {
    case value_kind::null: return "~";
    case value_kind::boolean: return "b:" + of.text;
    case value_kind::number: return "n:" + of.text;
    case value_kind::text: return "'" + of.text + "'";
    case value_kind::list: {
      std::string all = "[";
      for (const value& one : of.items) all += shown(one) + " ";
      return all + "]";
    }
    case value_kind::object: {
      std::string all = "{";
      for (std::size_t i = 0; i < of.keys.size(); ++i) all += of.keys[i] + "=" + shown(of.items[i]) + " ";
      return all + "}";
    }
  }
  return "?";
}

}  // namespace

TEST_CASE("JSON and YAML make the same tree", "[kube][document]") {
  const std::string text = R"({"a": [1, 2.50, true, null, "x"], "b": {"c": {}, "d": []}})";
  CHECK(shown(json(text)) == "{a=[n:1 n:2.50 b:true ~ 'x' ] b={c={} d=[] } }");
  CHECK(shown(yaml(text)) == shown(json(text)));
  CHECK(shown(yaml("a: [1, 2.50, true, ~, x]\nb:\n  c: {}\n  d: []\n")) == shown(json(text)));
}

TEST_CASE("numbers keep their digits", "[kube][document]") {
  CHECK(json("123456789012345678901234567890").text == "123456789012345678901234567890");
  CHECK(json("0.1000000000000000055").text == "0.1000000000000000055");
  CHECK(json("18446744073709551615").text == "18446744073709551615");
  CHECK(yaml("123456789012345678901234567890").text == "123456789012345678901234567890");
}

TEST_CASE("plain words of YAML mean what they mean to kubectl", "[kube][document]") {
  CHECK(shown(yaml("[yes, No, ON, off, y, true]")) == "[b:true b:false b:true b:false b:true b:true ]");
  CHECK(shown(yaml("[010, 0x1F, 0o17, 0b101, 1_000, +5, -0x10]")) == "[n:8 n:31 n:15 n:5 n:1000 n:5 n:-16 ]");
  CHECK(shown(yaml("[1., .5, 1e3, 1E-3, -2.5]")) == "[n:1. n:.5 n:1e3 n:1E-3 n:-2.5 ]");
  CHECK(shown(yaml("[1Gi, 100m, 1e, e3, 1.2.3, 08:30, -, null, Null]")) ==
        "['1Gi' '100m' '1e' 'e3' '1.2.3' '08:30' '-' ~ ~ ]");
  CHECK(shown(yaml("['5', \"true\", !!str 5, !!int 7]")) == "['5' 'true' '5' n:7 ]");
  CHECK(yaml_refusal("!!int x") == "a.yaml:1: syntax: \"x\" is no int");
  CHECK(yaml_refusal("!thing x") == "a.yaml:1: syntax: the tag !thing means nothing here");
}

TEST_CASE("every value knows its line", "[kube][document]") {
  const value a = yaml("# a comment\na: 1\nb:\n  - x\n  - k: 2\n");
  CHECK(a.find("a")->line == 2);
  CHECK(a.find("b")->items[0].line == 4);
  CHECK(a.find("b")->items[1].find("k")->line == 5);
  const value b = json("{\n\"a\": 1\n,\n\"b\": [\n\"x\",\n{\"y\":\n2}]}");
  CHECK(b.line == 1);
  CHECK(b.find("a")->line == 2);
  CHECK(b.find("b")->line == 4);
  CHECK(b.find("b")->items[0].line == 5);
  CHECK(b.find("b")->items[1].line == 6);
  CHECK(b.find("b")->items[1].find("y")->line == 7);
}

TEST_CASE("a file has several documents", "[kube][document]") {
  const auto all = parse_yaml({"a.yaml", "---\na: 1\n---\n# nothing\n---\nb: 2\n"});
  REQUIRE(all);
  REQUIRE(all->size() == 3);
  CHECK((*all)[1].root.kind == value_kind::null);
  CHECK((*all)[2].root.find("b")->line == 6);
  const auto lines = parse_json({"a.jsonl", "{\"a\":1}\n\n{\"b\":2} 3\n"});
  REQUIRE(lines);
  REQUIRE(lines->size() == 3);
  CHECK((*lines)[1].root.line == 3);
  CHECK((*lines)[2].root.text == "3");
  CHECK(parse_json({"a.json", " \n"})->empty());
  CHECK(parse_yaml({"a.yaml", ""})->empty());
}

TEST_CASE("the format follows the name, else the text", "[kube][document]") {
  CHECK(parse({"a.json", "a: 1"}).has_value() == false);
  CHECK(parse({"a.yaml", "{a: 1}"}).has_value());
  CHECK(parse({"stdin", "{a: 1}"}).has_value() == false);
  CHECK(parse({"stdin", " {\"a\": 1}"}).has_value());
  CHECK(parse({"stdin", "a: 1"}).has_value());
}

TEST_CASE("anchors, aliases and merge keys are followed", "[kube][document]") {
  CHECK(shown(yaml("a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\n")) ==
        "{a={p=n:1 q=n:2 } b={p=n:1 q=n:2 } c={q=n:3 p=n:1 } }");
  CHECK(shown(yaml("a: &x {p: 1}\nb: &y {p: 2, q: 3}\nc: {<<: [*x, *y]}\n")) ==
        "{a={p=n:1 } b={p=n:2 q=n:3 } c={p=n:1 q=n:3 } }");
  CHECK(shown(yaml("a: {\"<<\": 1}")) == "{a={<<=n:1 } }");
  CHECK(yaml_refusal("a: {<<: 1}") == "a.yaml:1: syntax: << takes an object or a list of objects");
  CHECK(yaml_refusal("a: &x [*x]\n") == "a.yaml:1: syntax: an alias of something that contains it");
  CHECK(yaml_refusal("a: *nobody\n").starts_with("a.yaml:1: syntax: "));
}

TEST_CASE("aliases cannot multiply a file without bound", "[kube][document]") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 0; k < 9; ++k) bomb += ", " + last;
    bomb += "]\n";
  }
  CHECK(yaml_refusal(bomb).find("make too much of the file") != std::string::npos);
}

TEST_CASE("aliases cannot multiply text without bound", "[kube][document]") {
  std::string text = "a: &a " + std::string(1000, 'x') + "\nb: &b {" + std::string(500, 'k') + ": 1}\nc:\n";
  for (int i = 0; i < 100; ++i) text += i % 2 == 0 ? "- *a\n" : "- *b\n";
  CHECK(yaml_refusal(text, {.bytes = 100'000}) == "fine");
  CHECK(yaml_refusal(text, {.bytes = 50'000}) == "a.yaml:68: syntax: aliases make too much of the file");
}

TEST_CASE("what ends no document and begins none is refused at once", "[kube][document]") {
  CHECK(yaml_refusal("{a: 1}, b", {.values = 20}) == "a.yaml:1: syntax: no document can begin like that");
  CHECK(yaml_refusal("{a: 1},\n", {.values = 20}) == "a.yaml:1: syntax: no document can begin like that");
  CHECK(yaml_refusal("a: 1\n---\n[1]\n, 2", {.values = 20}) == "a.yaml:4: syntax: no document can begin like that");
  CHECK(yaml_refusal("{\"id\": 1}, {\"id\": 5},\n", {.values = 20}) ==
        "a.yaml:1: syntax: no document can begin like that");
  CHECK(yaml_refusal("[1]\n&x , 2", {.values = 20}) == "a.yaml:2: syntax: no document can begin like that");
  CHECK(yaml_refusal("---\n---\n...\n---\n--- {a: 1}\n--- b\n", {.values = 20}) == "fine");
}

TEST_CASE("a file has a limit of bytes, which is looked at first", "[kube][document]") {
  CHECK(json_refusal("[1, 2", {.bytes = 5}) ==
        "a.json:1: syntax: syntax error while parsing array - unexpected end of input; expected ']'");
  CHECK(json_refusal("[1, 2", {.bytes = 4}) == "a.json: file: has more than 4 bytes");
  CHECK(yaml_refusal("[1, 2", {.bytes = 4}) == "a.yaml: file: has more than 4 bytes");
  std::istringstream endless{std::string(10'000'000, ' ')};
  CHECK(load(endless, "pipe", {.bytes = 1'000'000}).error().message() == "pipe: file: has more than 1000000 bytes");
  CHECK(endless.tellg() == 1'000'001);  // nothing after that was read
  std::istringstream whole{std::string(1'000'000, ' ')};
  CHECK(load(whole, "pipe", {.bytes = 1'000'000})->text.size() == 1'000'000);
  std::istringstream empty;
  CHECK(load(empty, "pipe")->text.empty());
}

TEST_CASE("nesting has an end", "[kube][document]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(json_refusal(nested(100)) == "fine");
  CHECK(json_refusal(nested(101)) == "a.json:1: syntax: is nested too deeply");
  CHECK(json_refusal(std::string(1'000'000, '[')) == "a.json:1: syntax: is nested too deeply");
  CHECK(yaml_refusal(nested(100)) == "fine");
  CHECK(yaml_refusal(nested(101)) == "a.yaml:1: syntax: is nested too deeply");
  CHECK(yaml_refusal(std::string(100'000, '[')).starts_with("a.yaml:1: syntax: "));
  CHECK(yaml_refusal("a: &x [[[[1]]]]\nb: [[[*x]]]", {.depth = 6}) == "a.yaml:2: syntax: is nested too deeply");
  CHECK(json_refusal("[1,\n2,3]", {.values = 3}) == "a.json:2: syntax: too many values");
  CHECK(yaml_refusal("[1,\n2,3]", {.values = 3}) == "a.yaml:2: syntax: too many values");
}

TEST_CASE("of a key that is there twice the last counts, as with an API server", "[kube][document]") {
  for (const source& from : {source{"a.json", "[1, {\"a\": 1, \"c\": 3,\n\"a\": 2, \"a\": {\"b\": 4}}]"},
                             source{"a.yaml", "- 1\n- a: 1\n  c: 3\n  a: 2\n  a: {b: 4}\n"}}) {
    const auto all = parse(from);
    REQUIRE(all);
    REQUIRE(all->size() == 1);
    const value& object = all->front().root.items.at(1);
    CHECK(object.keys == std::vector<std::string>{"c", "a"});
    CHECK(object.find("a")->find("b")->text == "4");
    REQUIRE(all->front().repeated.size() == 2);
    CHECK(all->front().repeated[1].key == "a");
    CHECK(all->front().repeated[1].line == object.line);
  }
}

TEST_CASE("broken text is refused with its line", "[kube][document]") {
  CHECK(json_refusal("{\"a\": 1,\n\"b\" 2}").starts_with("a.json:2: syntax: "));
  CHECK(json_refusal("{\"a\":\n").starts_with("a.json:"));
  CHECK(json_refusal("[\"\xff\"]").starts_with("a.json:1: syntax: "));
  CHECK(yaml_refusal("a: 1\nb: [\n").starts_with("a.yaml:"));
  CHECK(yaml_refusal("? [a]\n: 1\n") == "a.yaml:1: syntax: a key has to be a word");
  CHECK(yaml_refusal("a: 1\n\tb: 2\n").starts_with("a.yaml:2: syntax: "));
}

TEST_CASE("a file that cannot be opened is an error that names it", "[kube][document]") {
  CHECK(load("/no/such/file").error().message() == "/no/such/file: file: cannot be opened");
  CHECK(load("/").error().message() == "/: file: cannot be read");
}

}  // namespace gangsched::testing::document_test
