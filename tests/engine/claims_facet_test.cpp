// What a hook sees of claims that pods share changes with pods on other nodes: whoever's hook it is, and whatever its shape.
#include "world.hpp"

namespace gangsched::testing::claims_facet_test {

namespace {

using room = node_view<reads::claims>;

struct keyed_by_claims {
  static constexpr std::string_view name = "KeyedByClaims";
  using points = implements<point::filter>;
  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, room node) const {
    return node.claims_allow(pod.spec()).ok() ? 1 : 0;
  }
  void finish_filter(const pod_view&, std::span<filtered_group> groups) const {
    for (filtered_group& group : groups)
      if (group.key == 0) group.verdict = status::unschedulable("the claim is elsewhere");
  }
};

struct rejects_by_claims {
  static constexpr std::string_view name = "RejectsByClaims";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_view& pod, room node) const { return node.claims_allow(pod.spec()); }
};

struct scores_by_claims {
  static constexpr std::string_view name = "ScoresByClaims";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    return node.claims_allow(pod.spec()).ok() ? 100 : 0;
  }
};

struct counts_by_claims {
  static constexpr std::string_view name = "CountsByClaims";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    return node.claims_allow(pod.spec()).ok() ? 7 : 3;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = group.score == 7 ? 100 : 0;
  }
};

/// A claim is on n, where it keeps its pod, and is given back: nothing happens on m, which will do from then on. (Something happens on k,
/// which is as good, but comes later.)
template <class Plugin>
words after_the_claim_is_given_back(Plugin plugin) {
  world w{profile{scheduling_gates{}, priority_sort{}, node_resources_fit{}, std::move(plugin)}.table(),
          {.ties = tie_rule::lowest_row}};
  for (const char* name : {"n", "m", "k"}) w.add(a_node{name}.cpu(8).cards(2));
  // few changes among many nodes are followed, not read anew
  for (int i = 0; i < 60; ++i) w.add(a_node{"other" + std::to_string(i)}.cpu(1));
  const auto claim = w.must(w.cluster.add_resource_claim({.name = "c", .devices = {{.count = 1}}}));
  const auto sharing = [&](const std::string& name) {
    a_pod made{name};
    made.cpu(1).spec.resource_claims = {claim};
    return made;
  };
  a_pod keeps_the_class = sharing("gated");
  keeps_the_class.spec.scheduling_gates = {"closed"};
  w.add(keeps_the_class);
  w.add(sharing("a").on(w.node("n")));
  w.add(sharing("b"));
  words all = w.run();
  w.remove(w.pod("a"));
  w.remove(w.pod("b"));
  w.add(a_pod{"full"}.cpu(8).on(w.node("n")));
  w.add(a_pod{"small"}.cpu(1).cards(1).on(w.node("k")));
  w.add(sharing("c"));
  for (std::string& one : w.run()) all.push_back(std::move(one));
  return all;
}

}  // namespace

TEST_CASE("a hook that reads claims of others is asked again when pods on other nodes move them",
          "[engine][claims_facet]") {
  const words follows{"bind b n", "bind c m"};
  CHECK(after_the_claim_is_given_back(rejects_by_claims{}) == follows);
  CHECK(after_the_claim_is_given_back(keyed_by_claims{}) == follows);
  CHECK(after_the_claim_is_given_back(scores_by_claims{}) == follows);
  CHECK(after_the_claim_is_given_back(counts_by_claims{}) == follows);
}

TEST_CASE("a hook that reads claims of others is kept for pods that share none", "[engine][claims_facet]") {
  const kernel_table table =
      profile{priority_sort{}, rejects_by_claims{}, scores_by_claims{}, keyed_by_claims{}}.table();
  world w{table};
  w.add(a_node{"n"}.cpu(8).cards(2));
  const auto claim = w.must(w.cluster.add_resource_claim({.name = "c", .devices = {{.count = 1}}}));
  a_pod sharing{"sharing"};
  sharing.spec.resource_claims = {claim};
  w.add(sharing);
  w.add(a_pod{"plain"});
  CHECK(w.run() == words{"bind sharing n", "bind plain n"});
  const std::uint64_t before = w.scheduler.statistics().opaque_evaluations;
  w.add(a_pod{"plain2"});
  CHECK(w.run() == words{"bind plain2 n"});
  CHECK(w.scheduler.statistics().opaque_evaluations == before);
  a_pod second{"sharing2"};
  second.spec.resource_claims = {claim};
  w.add(second);
  CHECK(w.run() == words{"bind sharing2 n"});
  CHECK(w.scheduler.statistics().opaque_evaluations == before + 3);
}

}  // namespace gangsched::testing::claims_facet_test
