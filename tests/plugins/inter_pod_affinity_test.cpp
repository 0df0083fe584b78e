#include "gangsched/plugins/inter_pod_affinity.hpp"

#include "explained.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

// Cases of upstream's interpodaffinity/filtering_test.go and scoring_test.go.
namespace gangsched::testing::inter_pod_affinity_test {

namespace {

using list = std::vector<std::int64_t>;

constexpr const char* lonely = "UU node(s) didn't match pod affinity rules";
constexpr const char* minds = "U node(s) didn't match pod anti-affinity rules";
constexpr const char* minded = "U node(s) didn't satisfy existing pods anti-affinity rules";

label_selector app(const char* value) { return {.match_labels = {{"app", value}}}; }
pod_affinity_term term(const char* key, const char* value) { return {key, app(value), {}, {}}; }
a_pod labelled(const std::string& name, const char* value) { return a_pod(name).label("app", value); }
a_pod near(std::vector<pod_affinity_term> terms, const char* own = "own") {
  a_pod pod = labelled("p", own);
  pod.spec.affinity_to_pods.required = std::move(terms);
  return pod;
}
a_pod far(std::vector<pod_affinity_term> terms, const char* own = "own") {
  a_pod pod = labelled("p", own);
  pod.spec.anti_affinity_to_pods.required = std::move(terms);
  return pod;
}

/// Nodes a1, a2 in zone a, b1 in zone b, and one without labels.
struct zones : explained {
  explicit zones(inter_pod_affinity plugin = {}) : explained(std::move(plugin)) {
    a1 = add(a_node("a1").label("zone", "a").label("host", "a1"));
    a2 = add(a_node("a2").label("zone", "a").label("host", "a2"));
    b1 = add(a_node("b1").label("zone", "b").label("host", "b1"));
    bare = add(a_node("bare"));
  }
  node_id a1, a2, b1, bare;
};

}  // namespace

TEST_CASE("required affinity wants its pod in the same domain", "[plugins][affinity]") {
  zones w;
  w.add(labelled("web", "web").on(w.a1));
  CHECK(w.fitting(near({term("zone", "web")})) == "a1 a2");
  CHECK(w.fitting(near({term("host", "web")})) == "a1");
  CHECK(w.verdicts(near({term("zone", "web")}))["b1"] == lonely);
  CHECK(w.verdicts(near({term("zone", "web")}))["bare"] == lonely);
  CHECK(w.fitting(near({term("zone", "web"), term("host", "web")})) == "a1");
  CHECK(w.fitting(near({term("zone", "web")}).ns("other")).empty());
  pod_affinity_term here = term("zone", "web");
  here.namespaces = {"default"};
  CHECK(w.fitting(near({here}).ns("other")) == "a1 a2");
  // One pod has to match all terms; two that share them do not do.
  w.add(labelled("db", "db").on(w.a1));
  CHECK(w.fitting(near({term("zone", "web"), term("zone", "db")})).empty());
}

TEST_CASE("the first of pods that want each other may go anywhere its keys are", "[plugins][affinity]") {
  zones w;
  CHECK(w.fitting(near({term("zone", "own")})) == "a1 a2 b1");
  CHECK(w.fitting(near({term("zone", "web")})).empty());
  w.add(labelled("lost", "own").on(w.bare));  // in no domain
  CHECK(w.fitting(near({term("zone", "own")})) == "a1 a2 b1");
  w.add(labelled("first", "own").on(w.b1));
  CHECK(w.fitting(near({term("zone", "own")})) == "b1");
}

TEST_CASE("required anti-affinity keeps apart, from both sides", "[plugins][affinity]") {
  zones w;
  const pod_id web = w.add(labelled("web", "web").on(w.a1));
  CHECK(w.fitting(far({term("zone", "web")})) == "b1 bare");
  CHECK(w.fitting(far({term("host", "web")})) == "a2 b1 bare");
  CHECK(w.verdicts(far({term("host", "web")}))["a1"] == minds);
  w.add(far({term("zone", "own")}, "loner").on(w.b1));
  CHECK(w.fitting(labelled("q", "own")) == "a1 a2 bare");
  CHECK(w.verdicts(labelled("q", "own"))["b1"] == minded);
  CHECK(w.fitting(labelled("q", "else")) == "a1 a2 b1 bare");
  CHECK(w.fitting(labelled("q", "own").ns("other")) == "a1 a2 b1 bare");
  REQUIRE(w.cluster.set_terminating(web));  // counts until it is gone
  CHECK(w.fitting(far({term("zone", "web")}, "x")) == "b1 bare");
  REQUIRE(w.cluster.remove_pod(web));
  CHECK(w.fitting(far({term("zone", "web")}, "x")) == "a1 a2 b1 bare");
}

TEST_CASE("namespaces are chosen by label, as upstream does", "[plugins][affinity]") {
  zones w;
  REQUIRE(w.cluster.set_namespace({"blue", {{"team", "x"}}}));
  w.add(labelled("web", "web").ns("blue").on(w.a1));
  w.add(labelled("stray", "web").ns("nobody").on(w.b1));
  pod_affinity_term of_team = term("zone", "web");
  of_team.namespace_selector = label_selector{.match_labels = {{"team", "x"}}};
  CHECK(w.fitting(near({of_team})) == "a1 a2");
  REQUIRE(w.cluster.set_namespace({"blue", {}}));
  CHECK(w.fitting(near({of_team})).empty());
  REQUIRE(w.cluster.set_namespace({"nobody", {{"team", "x"}}}));
  CHECK(w.fitting(near({of_team})) == "b1");
  of_team.namespace_selector = label_selector{};
  CHECK(w.fitting(near({of_team})) == "a1 a2 b1");
  // Upstream's mistake: of the incoming pod, a selector of denials only takes in every namespace; of others it means what it says.
  pod_affinity_term denial = term("zone", "web");
  denial.namespace_selector = label_selector{.match_expressions = {{"team", selector_operator::not_in, {"x"}}}};
  CHECK(w.fitting(near({denial})) == "a1 a2 b1");
  zones other;
  REQUIRE(other.cluster.set_namespace({"nobody", {{"team", "x"}}}));
  other.add(far({denial}).on(other.a1));
  CHECK(other.fitting(labelled("q", "web").ns("nobody")) == "a1 a2 b1 bare");
  CHECK(other.fitting(labelled("q", "web").ns("blue")) == "b1 bare");
}

TEST_CASE("preferred terms of both sides and required ones of others make the score", "[plugins][affinity]") {
  const auto wants = [](const char* name, std::int32_t weight, const char* key, const char* value, bool anti = false) {
    a_pod pod = labelled(name, "own");
    (anti ? pod.spec.anti_affinity_to_pods : pod.spec.affinity_to_pods).preferred = {{weight, term(key, value)}};
    return pod;
  };
  zones w;
  CHECK_FALSE(w.scores(labelled("q", "own")));
  CHECK_FALSE(w.scores(wants("q", 5, "zone", "web")));  // nobody matches: absent, not zero
  w.add(labelled("web", "web").on(w.a1));
  CHECK(w.scores(wants("q", 5, "zone", "web")) == list{100, 100, 0, 0});
  CHECK(w.scores(wants("q", 5, "host", "web")) == list{100, 0, 0, 0});
  CHECK(w.scores(wants("q", 5, "zone", "web", true)) == list{0, 0, 100, 100});
  CHECK_FALSE(w.scores(labelled("q", "own")));
  w.add(wants("fan", 8, "host", "own").on(w.b1));
  CHECK(w.scores(labelled("q", "own")) == list{0, 0, 100, 0});
  w.add(near({term("host", "own")}).on(w.a2));  // hardPodAffinityWeight 1
  CHECK(w.scores(labelled("q", "own")) == list{0, 12, 100, 0});
  w.add(wants("foe", 8, "host", "own", true).on(w.b1));  // an entry of 0 is an entry
  CHECK(w.scores(labelled("q", "own")) == list{0, 100, 0, 0});

  zones ignoring{inter_pod_affinity{{.hard_pod_affinity_weight = 0, .ignore_preferred_terms_of_existing_pods = true}}};
  ignoring.add(wants("fan", 8, "host", "own").on(ignoring.b1));
  ignoring.add(near({term("host", "own")}).on(ignoring.a2));
  CHECK_FALSE(ignoring.scores(labelled("q", "own")));
  CHECK(ignoring.scores(wants("q", 1, "zone", "nobody")) == list{0, 0, 100, 0});
}

TEST_CASE("arguments of InterPodAffinity are read strictly", "[plugins][affinity]") {
  CHECK(inter_pod_affinity::from({}));
  CHECK(inter_pod_affinity::from(
      argument::fields{{"hardPodAffinityWeight", 0}, {"ignorePreferredTermsOfExistingPods", true}}));
  const auto wrong = [](argument given) { return inter_pod_affinity::from(given).error().field; };
  CHECK(wrong(argument::fields{{"hardPodAffinityWeight", 101}}) == "args.hardPodAffinityWeight");
  CHECK(wrong(argument::fields{{"ignorePreferredTermsOfExistingPods", 1}}) ==
        "args.ignorePreferredTermsOfExistingPods");
  CHECK(wrong(argument::fields{{"weight", 1}}) == "args.weight");
}

}  // namespace gangsched::testing::inter_pod_affinity_test
