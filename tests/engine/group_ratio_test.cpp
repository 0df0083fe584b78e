// Groups that grow in step (group_spec::ratios).
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::group_ratio_test {

namespace {

struct graph : world {
  group_id prefill, decode;
  /// Prefill and decode, one to two, at least one and two.
  explicit graph(int cores, bool tree = false, bool both = true) {
    add(a_node{"n"}.cpu(cores));
    group_id parent{};
    if (tree) parent = add(group_spec{.name = "graph", .policy = gang{.min_count = 2}, .composite = true});
    prefill = add(spec("prefill", 1, parent)), decode = add(spec("decode", 2, parent));
    must(cluster.update_group(prefill, spec("prefill", 1, parent, {{decode, 1, 2}})));
    if (both) must(cluster.update_group(decode, spec("decode", 2, parent, {{prefill, 2, 1}})));
  }
  static group_spec spec(const char* name, int least, group_id parent = {}, std::vector<group_ratio> ratios = {}) {
    group_spec made{.name = name, .policy = gang{.min_count = least}, .parent = parent};
    made.ratios = std::move(ratios);
    return made;
  }
  void pods(group_id group, const std::string& name, int first, int count) {
    for (int i = first; i < first + count; ++i) add(a_pod{name + std::to_string(i)}.cpu(1).in(group));
  }
  [[nodiscard]] int placed(group_id group) const {
    return static_cast<int>(inside(cluster).groups.assumed[group.row] + inside(cluster).groups.bound[group.row]);
  }
  std::string why(group_id group) {
    for (const group_explanation& one : must(scheduler.explain(group))) {
      if (one.group == group) return one.summary;
    }
    return {};
  }
};

}  // namespace

TEST_CASE("two groups grow in step as far as there is room, in a tree or not, confirmed or not",
          "[engine][group][ratio]") {
  const bool tree = GENERATE(false, true), confirming = GENERATE(false, true);
  graph w{10, tree};
  w.pods(w.prefill, "p", 0, 9), w.pods(w.decode, "d", 0, 9);
  for (int cycles = 0;; ++cycles) {
    REQUIRE(cycles < 100);
    const cycle done = w.scheduler.schedule_cycle(w.now);
    REQUIRE(done.error() == nullptr);
    if (!done) break;
    for (const decision& one : done) {
      if (confirming && one.kind == decision_kind::bind) w.confirm(one.pod);
    }
    const int p = w.placed(w.prefill), d = w.placed(w.decode);
    if (p > 1) CHECK((p - 1) * 2 <= d);  // before the last one came they were in step
    if (d > 2) CHECK(d - 1 <= p * 2);
  }
  CHECK(w.placed(w.prefill) + w.placed(w.decode) == 10);
  CHECK(w.placed(w.prefill) >= 3);
  CHECK(w.placed(w.decode) >= 6);
}

TEST_CASE("a minimum does not wait for a ratio, and who waits for one starts when the other group grows",
          "[engine][group][ratio]") {
  graph w{20, false, false};
  w.pods(w.prefill, "p", 0, 3);
  CHECK(w.run(true) == words{"bind p0 n"});
  CHECK(w.why(w.prefill) == "waiting for more members of \"decode\", 1 to 2");
  CHECK(w.run_at(10min).empty());  // who waits for a ratio only is not tried
  CHECK(w.must(w.scheduler.standing(w.pod("p1"))).place == queue_place::kept_back);
  CHECK(w.must(w.scheduler.standing(w.pod("p0"))).place == queue_place::none);  // it has a node
  w.pods(w.decode, "d", 0, 2);
  CHECK(w.run(true) == words{"bind d0 n", "bind d1 n", "bind p1 n"});
  w.add(a_pod{"d2"}.cpu(1).in(w.decode).on(w.node("n")));  // others placed it: three are one and a half
  CHECK(w.run(true).empty());
  w.add(a_pod{"d3"}.cpu(1).in(w.decode).on(w.node("n")));
  CHECK(w.run(true) == words{"bind p2 n"});
  CHECK(w.why(w.prefill) == "nobody waits");
}

TEST_CASE("nobody is evicted when the other group shrinks; the surplus is reported, and who goes is replaced in step",
          "[engine][group][ratio]") {
  graph w{20, false, false};
  w.pods(w.decode, "d", 0, 6), w.pods(w.prefill, "p", 0, 4);
  w.run(true);
  CHECK(w.placed(w.prefill) == 4);
  for (const char* name : {"d0", "d1", "d2", "d3"}) w.remove(w.pod(name));
  CHECK(w.run().empty());
  CHECK(w.why(w.prefill) == "2 of its members are above 1 to 2 with \"decode\"");
  w.remove(w.pod("p3"));
  w.pods(w.prefill, "q", 0, 1);
  CHECK(w.run().empty());
  CHECK(w.placed(w.prefill) == 3);
  w.remove(w.pod("p2")), w.remove(w.pod("p1"));
  CHECK(w.run(true) == words{"bind q0 n"});
}

TEST_CASE("who waits for a ratio starts when the other group has grown far enough, be it one by one",
          "[engine][group][ratio]") {
  graph w{20, false, false};
  w.pods(w.decode, "d", 0, 4), w.pods(w.prefill, "p", 0, 3);
  w.run(true);
  CHECK(w.placed(w.prefill) == 3);
  for (const char* name : {"d0", "d1", "d2", "d3"}) w.remove(w.pod(name));
  w.pods(w.prefill, "q", 0, 1);
  for (int i = 0; i < 6; ++i) {
    CHECK(w.run(true).empty());
    CHECK(w.must(w.scheduler.standing(w.pod("q0"))).place == queue_place::kept_back);
    w.add(a_pod{"e" + std::to_string(i)}.cpu(1).in(w.decode).on(w.node("n")));
  }
  CHECK(w.run(true) == words{"bind q0 n"});
}

TEST_CASE("a member of a group at its ratio's limit that goes has its place taken by one that waits",
          "[engine][group][ratio]") {
  graph w{20, false, false};
  w.pods(w.decode, "d", 0, 2), w.pods(w.prefill, "p", 0, 3);
  w.run(true);
  CHECK(w.placed(w.prefill) == 2);
  w.remove(w.pod("p0"));
  CHECK(w.run(true) == words{"bind p2 n"});
}

TEST_CASE("a ratio to a group that is gone holds nobody back", "[engine][group][ratio]") {
  graph w{20, false, false};
  w.pods(w.prefill, "p", 0, 3);
  CHECK(w.run(true).size() == 1);
  w.must(w.cluster.remove_group(w.decode));
  CHECK(sorted(w.run(true)) == words{"bind p1 n", "bind p2 n"});
}

TEST_CASE("ratios that cannot be had are refused", "[engine][group][ratio]") {
  graph w{1, false, false};
  const auto refused = [&](errc code, std::string_view field, const result<void>& said) {
    REQUIRE_FALSE(said);
    INFO(said.error().message());
    CHECK(said.error().code == code);
    CHECK(said.error().object == "group default/decode");
    CHECK(said.error().field == field);
  };
  const auto update = [&](std::vector<group_ratio> ratios) {
    return w.cluster.update_group(w.decode, graph::spec("decode", 2, {}, std::move(ratios)));
  };
  refused(errc::malformed, "ratios[0].to", update({{w.decode, 1, 1}}));
  refused(errc::unknown, "ratios[0].to", update({{group_id{77, 0}, 1, 1}}));
  refused(errc::out_of_range, "ratios[1].mine", update({{w.prefill, 2, 1}, {w.prefill, 0, 1}}));
  refused(errc::out_of_range, "ratios[0].theirs", update({{w.prefill, 1, -1}}));
  refused(errc::out_of_range, "ratios[0].mine", update({{w.prefill, 1'000'001, 1}}));
  refused(errc::malformed, "ratios", update({{w.prefill, 1, 1}}));  // prefill has one for two
  w.must(update({{w.prefill, 3, 1}}));
  // Round three groups: one for two of decode, one for one of the third, and so two of that for one.
  const group_id third = w.add(graph::spec("third", 1, {}, {{w.prefill, 1, 1}}));
  refused(errc::malformed, "ratios", update({{third, 1, 1}}));
  w.must(update({{third, 2, 1}}));
  group_spec permit = graph::spec("g", 1, {}, {{third, 1, 1}});
  std::get<gang>(permit.policy).mode = gang_mode::permit;
  const result<group_id> none = w.cluster.add_group(permit);
  REQUIRE_FALSE(none);
  CHECK(none.error().field == "ratios");
  permit.policy = gang{}, permit.composite = true;
  CHECK(w.cluster.add_group(permit).error().field == "ratios");
}

TEST_CASE("ratios of many groups to each other are told in one search", "[engine][group][ratio]") {
  world w;
  std::vector<group_id> all;
  for (int i = 0; i < 20; ++i) all.push_back(w.add(graph::spec(("g" + std::to_string(i)).c_str(), 1, {}, {})));
  const auto to_all = [&](std::size_t i, std::int32_t theirs) {
    std::vector<group_ratio> ratios;
    for (const group_id other : all)
      if (other != all[i]) ratios.push_back({other, 1, theirs});
    return w.cluster.update_group(all[i], graph::spec(("g" + std::to_string(i)).c_str(), 1, {}, std::move(ratios)));
  };
  for (std::size_t i = 0; i < all.size(); ++i) w.must(to_all(i, 1));
  const result<void> said = to_all(7, 2);
  REQUIRE_FALSE(said);
  CHECK(said.error().field == "ratios");
  // A long way is no deep one, and its ends may be far apart.
  std::vector<group_id> chain{w.add(graph::spec("c0", 1, {}, {}))};
  for (int i = 1; i < 3000; ++i)
    chain.push_back(w.add(graph::spec(("c" + std::to_string(i)).c_str(), 1, {}, {{chain.back(), 1'000'000, 1}})));
  w.must(w.cluster.update_group(chain[0], graph::spec("c0", 1, {}, {{chain.back(), 1, 1'000'000}})));
}

}  // namespace gangsched::testing::group_ratio_test
