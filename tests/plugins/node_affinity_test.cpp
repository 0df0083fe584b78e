#include "gangsched/plugins/node_affinity.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_affinity_test {

using scores = std::vector<std::int64_t>;
using names = std::vector<std::string>;
using op = selector_operator;

namespace {

const verdict no_match{code::unresolvable, {"node(s) didn't match Pod's node affinity/selector"}};
const verdict not_enforced{code::unresolvable, {"node(s) didn't match scheduler-enforced node affinity"}};

node_selector_term where(std::string key, op how, std::vector<std::string> values = {}) {
  return {.match_expressions = {{std::move(key), how, std::move(values)}}};
}
node_selector_term named(std::vector<std::pair<op, std::string>> fields) {
  node_selector_term term;
  for (auto& [how, name] : fields) term.match_fields.push_back({"metadata.name", how, {name}});
  return term;
}
a_pod requiring(std::vector<node_selector_term> terms) {
  a_pod pod{"p"};
  pod.spec.affinity.required = std::move(terms);
  return pod;
}

}  // namespace

TEST_CASE("NodeAffinity: operators") {
  struct example {
    op how;
    std::vector<std::string> values;
    bool on_5, on_x, on_absent;  // nodes with the label 5, the label x, without it
  };
  const example examples[] = {
      {op::in, {"5", "7"}, true, false, false},
      {op::in, {""}, false, false, false},
      {op::not_in, {"5"}, false, true, true},
      {op::exists, {}, true, true, false},
      {op::does_not_exist, {}, false, false, true},
      {op::gt, {"4"}, true, false, false},
      {op::gt, {"5"}, false, false, false},
      {op::lt, {"006"}, true, false, false},
      {op::lt, {"5"}, false, false, false},
      {op::gt, {"four"}, false, false, false},  // does not parse: matches nothing
      {op::lt, {"9223372036854775807"}, true, false, false},
      {op::lt, {"9223372036854775808"}, false, false, false},
      {op::gt, {"-1"}, false, false, false},  // no label value, so upstream makes no requirement of it
      {op::not_in, {"-x"}, false, false, false},
  };
  for (const example& one : examples) {
    CAPTURE(static_cast<int>(one.how), one.values);
    hooks on{node_affinity_plugin{}};
    const node_id five = on.add(a_node{"five"}.label("gen", "5"));
    const node_id text = on.add(a_node{"text"}.label("gen", "x"));
    const node_id absent = on.add(a_node{"absent"}.label("other", "5"));
    const pod_id pod = on.add(requiring({where("gen", one.how, one.values)}));
    CHECK(on.filter(pod, five) == (one.on_5 ? verdict{} : no_match));
    CHECK(on.filter(pod, text) == (one.on_x ? verdict{} : no_match));
    CHECK(on.filter(pod, absent) == (one.on_absent ? verdict{} : no_match));
  }
}

TEST_CASE("NodeAffinity: terms are alternatives, their requirements and the selector are not") {
  hooks on{node_affinity_plugin{}};
  const node_id ssd = on.add(a_node{"ssd"}.label("disk", "ssd").label("gen", "5"));
  const node_id hdd = on.add(a_node{"hdd"}.label("disk", "hdd").label("gen", "5"));
  const auto check = [&](const a_pod& spec, bool on_ssd, bool on_hdd) {
    const pod_id pod = on.add(spec);
    CHECK(on.filter(pod, ssd) == (on_ssd ? verdict{} : no_match));
    CHECK(on.filter(pod, hdd) == (on_hdd ? verdict{} : no_match));
    must(on.cluster.remove_pod(pod));
  };
  check(requiring({where("disk", op::in, {"ssd"}), where("disk", op::in, {"hdd"})}), true, true);
  check(requiring({where("disk", op::in, {"ssd"}), where("gen", op::gt, {"x"})}), true, false);
  check(requiring({}), false, false);
  check(requiring({{}}), false, false);
  check(requiring({{}, where("disk", op::exists)}), true, true);
  node_selector_term both = where("gen", op::gt, {"1"});
  both.match_expressions.push_back({"disk", op::not_in, {"hdd"}});
  check(requiring({both}), true, false);
  both.match_fields.push_back({"metadata.name", op::not_in, {"ssd"}});
  check(requiring({both}), false, false);
  check(requiring({where("disk", op::exists)}).select("disk", "hdd"), false, true);
  check(a_pod{"p"}.select("disk", "hdd").select("gen", "5"), false, true);
  check(a_pod{"p"}.select("disk", "hdd").select("gen", "6"), false, false);
}

TEST_CASE("NodeAffinity: an empty label value is not an absent label") {
  hooks on{node_affinity_plugin{}};
  const node_id empty = on.add(a_node{"empty"}.label("gen", ""));
  const node_id absent = on.add(a_node{"absent"});
  const pod_id pod = on.add(requiring({where("gen", op::in, {""})}));
  CHECK(on.filter(pod, empty) == verdict{});
  CHECK(on.filter(pod, absent) == no_match);
  const pod_id selecting = on.add(a_pod{"selecting"}.select("gen", ""));
  CHECK(on.filter(selecting, empty) == verdict{});
  CHECK(on.filter(selecting, absent) == no_match);
}

TEST_CASE("NodeAffinity pre_filter: skips, narrows to named nodes, and sees conflicts") {
  hooks on{node_affinity_plugin{}};
  const auto ask = [&](const a_pod& spec) {
    std::optional<names> narrowed;
    const pod_id pod = on.add(spec);
    const verdict said = on.pre_filter(pod, &narrowed);
    must(on.cluster.remove_pod(pod));
    return std::pair{said, narrowed};
  };
  const std::optional<names> all;
  CHECK(ask(a_pod{"p"}) == std::pair{verdict{code::skip}, all});
  CHECK(ask(a_pod{"p"}.prefer(1, "disk", {"ssd"})) == std::pair{verdict{code::skip}, all});
  CHECK(ask(a_pod{"p"}.select("disk", "ssd")) == std::pair{verdict{}, all});
  CHECK(ask(requiring({})) == std::pair{verdict{}, all});
  CHECK(ask(requiring({named({{op::in, "a"}})})) == std::pair{verdict{}, std::optional{names{"a"}}});
  CHECK(ask(requiring({named({{op::in, "a"}}), named({{op::in, "b"}})})) ==
        std::pair{verdict{}, std::optional{names{"a", "b"}}});
  CHECK(ask(requiring({named({{op::in, "a"}, {op::in, "a"}})})) == std::pair{verdict{}, std::optional{names{"a"}}});
  // Any term without a name, or one that only excludes names: no narrowing.
  CHECK(ask(requiring({named({{op::in, "a"}}), where("disk", op::exists)})) == std::pair{verdict{}, all});
  CHECK(ask(requiring({named({{op::not_in, "a"}})})) == std::pair{verdict{}, all});
  CHECK(ask(requiring({named({{op::not_in, "a"}, {op::in, "b"}})})) == std::pair{verdict{}, std::optional{names{"b"}}});
  // Two names in one term conflict; nothing left is a rejection.
  const node_selector_term conflict = named({{op::in, "a"}, {op::in, "b"}});
  const verdict rejected{code::unresolvable, {"pod affinity terms conflict"}};
  CHECK(ask(requiring({conflict})) == std::pair{rejected, all});
  CHECK(ask(requiring({conflict, named({{op::in, "c"}})})) == std::pair{verdict{}, std::optional{names{"c"}}});
}

TEST_CASE("NodeAffinity score: the weights of the matching preferred terms, by their maximum") {
  hooks on{node_affinity_plugin{}};
  on.add(a_node{"both"}.label("disk", "ssd").label("gen", "5"));
  on.add(a_node{"ssd"}.label("disk", "ssd"));
  on.add(a_node{"gen"}.label("gen", "5"));
  on.add(a_node{"none"});
  a_pod pod = a_pod{"p"}.prefer(7, "disk", {"ssd"}).prefer(3, "gen", {"5"});
  pod.spec.affinity.preferred.push_back({50, {}});  // an empty term matches nothing
  CHECK(on.scores(on.add(pod)) == scores{100, 70, 30, 0});
  CHECK(on.scores(on.add(a_pod{"nobody"}.prefer(9, "disk", {"tape"}))) == scores{0, 0, 0, 0});
  CHECK(on.scores(on.add(a_pod{"three"}.prefer(2, "disk", {"ssd"}).prefer(1, "gen", {"5"}))) == scores{100, 66, 33, 0});
  CHECK(on.scores(on.add(a_pod{"plain"})) == std::nullopt);
  a_pod strict = requiring({where("disk", op::exists)});
  strict.spec.name = "strict";
  CHECK(on.scores(on.add(strict)) == std::nullopt);
}

TEST_CASE("NodeAffinity score: a preferred term that does not parse is an error, as upstream") {
  hooks on{node_affinity_plugin{}};
  a_pod pod{"p"};
  pod.spec.affinity.preferred.push_back({1, where("gen", op::gt, {"x"})});
  CHECK(on.pre_score(on.add(pod)).code == code::error);
}

TEST_CASE("NodeAffinity: an added affinity is asked first, never narrows, and counts in the score") {
  node_affinity added;
  added.required = {where("pool", op::in, {"mine"}), named({{op::in, "vip"}})};
  added.preferred = {{10, where("gen", op::gt, {"4"})}};
  hooks on{node_affinity_plugin{added}};
  const node_id mine = on.add(a_node{"mine"}.label("pool", "mine").label("gen", "5"));
  const node_id vip = on.add(a_node{"vip"}.label("disk", "ssd"));
  const node_id other = on.add(a_node{"other"}.label("disk", "ssd"));
  const pod_id plain = on.add(a_pod{"plain"});
  std::optional<names> narrowed;
  CHECK(on.pre_filter(plain, &narrowed) == verdict{});
  CHECK(narrowed == std::nullopt);
  CHECK(on.filter(plain, mine) == verdict{});
  CHECK(on.filter(plain, vip) == verdict{});
  CHECK(on.filter(plain, other) == not_enforced);
  CHECK(on.scores(plain) == scores{100, 0, 0});
  const pod_id ssd = on.add(a_pod{"ssd"}.select("disk", "ssd").prefer(30, "disk", {"ssd"}));
  CHECK(on.filter(ssd, mine) == no_match);
  CHECK(on.filter(ssd, vip) == verdict{});
  CHECK(on.filter(ssd, other) == not_enforced);
  CHECK(on.scores(ssd) == scores{33, 100, 100});
  // Labels that no node had when the plugin was made, and that no pod has named.
  const node_id late = on.add(a_node{"late"}.label("pool", "mine"));
  CHECK(on.filter(plain, late) == verdict{});
}

TEST_CASE("NodeAffinity arguments") {
  using fields = argument::fields;
  using list = argument::list;
  const auto term = [](const char* key, const char* how, list values) {
    return fields{{"matchExpressions", list{fields{{"key", key}, {"operator", how}, {"values", std::move(values)}}}}};
  };
  const auto wrong = [](argument added) {
    auto made = node_affinity_plugin::from(fields{{"addedAffinity", std::move(added)}});
    REQUIRE_FALSE(made);
    return made.error().message();
  };
  const char* const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const char* const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

  SECTION("what Kubernetes takes") {
    const argument args = fields{
        {"apiVersion", "kubescheduler.config.k8s.io/v1"},
        {"addedAffinity", fields{{required, fields{{"nodeSelectorTerms", list{term("pool", "In", {"mine"})}}}},
                                 {preferred, list{fields{{"weight", 10}, {"preference", term("gen", "Gt", {"4"})}}}}}}};
    hooks on{must(node_affinity_plugin::from(args))};
    on.add(a_node{"mine"}.label("pool", "mine").label("gen", "5"));
    const node_id other = on.add(a_node{"other"});
    const pod_id pod = on.add(a_pod{"p"});
    CHECK(on.filter(pod, other) == not_enforced);
    CHECK(on.scores(pod) == scores{100, 0});
  }
  SECTION("none") { CHECK(node_affinity_plugin::from({})); }
  SECTION("mistakes name their place") {
    CHECK(wrong(fields{{"required", 1}}) ==
          "plugin NodeAffinity: args.addedAffinity.required: there is no such argument");
    CHECK(contains(wrong(fields{{required, fields{{"nodeSelectorTerms", list{term("a", "Like", {"b"})}}}}}),
                   "nodeSelectorTerms[0].matchExpressions[0].operator: \"Like\" is not In, NotIn, Exists, "
                   "DoesNotExist, Gt or Lt"));
    CHECK(contains(wrong(fields{{preferred, list{fields{{"weight", 101}}}}}), "[0].weight: 101 is not in 1 to 100"));
    CHECK(contains(wrong(fields{{required, fields{{"nodeSelectorTerms", list{term("a", "Gt", {"x"})}}}}}),
                   "nodeSelectorTerms[0].matchExpressions"));
    CHECK(contains(wrong(fields{{required, fields{{"nodeSelectorTerms", list{term("a", "Exists", {"x"})}}}}}),
                   "args.addedAffinity: affinity.required[0].match_expressions[0].values"));
  }
}

}  // namespace gangsched::testing::node_affinity_test
