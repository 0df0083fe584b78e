// What a group's attempt consists of, asked of the parts that say it: who is tried and in which order, which runs share a domain, how many
// may have a node, and what the groups of a tree must agree on.
#include "gangsched/engine/group_parts.hpp"

#include "engine_parts.hpp"

namespace gangsched::testing::group_parts_test {

using engine::group_part;

namespace {

struct setting : engine_parts {
  using engine_parts::engine_parts;
  pod_id member(const char* name, group_id group, std::optional<std::int32_t> rank = {}, std::int32_t priority = 0) {
    a_pod made{name};
    made.cpu(1).in(group).priority(priority);
    made.spec.rank = rank;
    return add(made);
  }
  words pending(group_id group, bool desired = false) { return names(parts.pending_members(group.row, desired)); }
  /// The members of each part, in order.
  [[nodiscard]] std::vector<words> runs(const group_part& whole) const {
    std::vector<words> all;
    for (const group_part& one : whole.parts) all.push_back(names(one.all_members()));
    return all;
  }
};

}  // namespace

TEST_CASE("members are tried by priority, then by rank, then by age, and those with a node not at all",
          "[engine][group][parts]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(8));
  const group_id gang = s.add(a_gang{"g", 3});
  s.member("late", gang, 7), s.member("plain", gang), s.member("early", gang, 1), s.member("important", gang, 9, 5);
  world::must(s.cluster.assume(s.member("placed", gang, 0), node));
  CHECK(s.pending(gang) == words{"important", "early", "late", "plain"});
  CHECK(s.limits.with_node(gang.row) == 1);
}

TEST_CASE("an elastic gang tries members up to its maximum, or to what it desires", "[engine][group][parts]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(8));
  group_spec spec{.name = "g"};
  spec.policy = gang{.min_count = 1, .desired_count = 2, .max_count = 3};
  const group_id gang = s.add(spec);
  const pod_id first = s.member("a", gang);
  for (const char* name : {"b", "c", "d"}) s.member(name, gang);
  CHECK(s.pending(gang) == words{"a", "b", "c"});
  CHECK(s.pending(gang, true) == words{"a", "b"});
  CHECK_FALSE(s.limits.reached(gang.row));
  world::must(s.cluster.assume(first, node));
  CHECK(s.pending(gang) == words{"b", "c"});
  CHECK(s.pending(gang, true) == words{"b"});
  for (const char* name : {"b", "c"}) world::must(s.cluster.assume(s.cluster.find_pod("default", name).value(), node));
  CHECK(s.pending(gang).empty());
  CHECK(s.limits.reached(gang.row));
}

TEST_CASE("of the members that its maximum lets through nominated ones come first, if others are not more important",
          "[engine][group][parts]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(8));
  group_spec spec{.name = "g"};
  spec.policy = gang{.min_count = 1, .max_count = 2};
  const group_id gang = s.add(spec);
  s.member("a", gang), s.member("b", gang);
  world::must(s.cluster.nominate(s.member("c", gang), node));
  CHECK(s.pending(gang) == words{"a", "c"});
  s.member("first", gang, 9, 5), s.member("second", gang, 9, 5);
  CHECK(s.pending(gang) == words{"first", "second"});
}

TEST_CASE("a member that fits on no node keeps no other from what a maximum or a ratio lets through",
          "[engine][group][parts]") {
  const bool by_ratio = GENERATE(false, true);
  setting s;
  const group_id other = s.add(a_gang{"other", 1});
  group_spec spec{.name = "g", .policy = gang{.min_count = 2}};
  if (by_ratio)
    spec.ratios = {{other, 1, 1}};
  else
    spec.policy = gang{.min_count = 2, .max_count = 2};
  const group_id gang = s.add(spec);
  const auto big = [&](const char* name) { return s.add(a_pod{name}.cpu(9).in(gang).priority(5)); };
  const pod_id first = big("big");
  s.member("a", gang), s.member("b", gang);
  CHECK(s.pending(gang) == words{"big", "a"});  // nobody fits anywhere
  const node_id small = s.add(a_node{"small"}.cpu(8));
  CHECK(s.pending(gang) == words{"a", "b"});
  world::must(s.cluster.nominate(first, small));  // it may fit when its victims have left
  CHECK(s.pending(gang) == words{"big", "a"});
  world::must(s.cluster.nominate(first, {}));
  s.add(a_node{"large"}.cpu(9));
  CHECK(s.pending(gang) == words{"big", "a"});
}

TEST_CASE("a ratio lets a group have one member more than is in step with the other", "[engine][group][parts][ratio]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(8));
  const group_id other = s.add(a_gang{"other", 1});
  group_spec spec{.name = "mine", .policy = gang{.min_count = 1}};
  spec.ratios = {{other, 2, 1}};
  const group_id mine = s.add(spec);
  for (const char* name : {"a", "b", "c", "d"}) s.member(name, mine);
  CHECK(s.limits.by_ratios(other.row) == std::nullopt);
  CHECK(s.limits.by_ratios(mine.row) == 1);
  CHECK(s.pending(mine) == words{"a"});
  world::must(s.cluster.assume(s.member("o", other), node));
  CHECK(s.limits.by_ratios(mine.row) == 3);
  CHECK(s.pending(mine) == words{"a", "b", "c"});
  for (const char* name : {"a", "b", "c"})
    world::must(s.cluster.assume(s.cluster.find_pod("default", name).value(), node));
  CHECK(s.limits.reached(mine.row));
  CHECK(s.limits.explain(mine.row) == "waiting for more members of \"other\", 2 to 1");
  CHECK(s.limits.explain(other.row).empty());
}

TEST_CASE("slices are runs of neighbours in rank, and the run that a minimum by role needs comes first",
          "[engine][group][parts]") {
  setting s;
  group_spec spec{.name = "g"};
  spec.policy = gang{.min_count = 2, .roles = {{"leader", 1}}};
  spec.topology.slices = {{"rack", 2}};
  const group_id gang = s.add(spec);
  for (int i = 0; i < 6; ++i) {
    a_pod made{std::string(1, static_cast<char>('a' + i))};
    made.cpu(1).in(gang);
    made.spec.rank = i;
    made.spec.role = i == 4 ? "leader" : "worker";
    s.add(made);
  }
  const group_part whole = s.parts.of(gang.row);
  CHECK(whole.members.empty());
  CHECK(s.runs(whole) == std::vector<words>{{"e", "f"}, {"a", "b"}, {"c", "d"}});
  REQUIRE(whole.parts.size() == 3);
  CHECK(whole.parts.front().is_slice());
  CHECK(whole.parts.front().layer == 1);
  CHECK(s.names(whole.all_members()) == words{"e", "f", "a", "b", "c", "d"});
}

TEST_CASE("members that are alike and choose domains by room are planned, and keep the order of their runs",
          "[engine][group][parts]") {
  setting s;
  s.add(a_node{"n"}.cpu(8).label("rack", "r"));
  group_spec spec{.name = "g", .policy = gang{.min_count = 2}};
  spec.topology.slices = {{"rack", 2}};
  spec.topology.choice = domain_choice::best_fit;
  const group_id gang = s.add(spec);
  s.member("c", gang, 2), s.member("a", gang, 0), s.member("d", gang, 3), s.member("b", gang, 1);
  const group_part whole = s.parts.of(gang.row);
  CHECK(whole.planned);
  CHECK(whole.parts.empty());
  CHECK(s.names(whole.members) == words{"a", "b", "c", "d"});
  s.member("e", gang, 4);  // a shorter slice is cut, not planned
  CHECK_FALSE(s.parts.of(gang.row).planned);
}

TEST_CASE("the parts of a tree are those of its groups", "[engine][group][parts]") {
  setting s;
  const group_id root = s.add(group_spec{.name = "root", .policy = gang{.min_count = 2}, .composite = true});
  const group_id left = s.add(group_spec{.name = "left", .policy = gang{.min_count = 1}, .parent = root});
  const group_id right = s.add(group_spec{.name = "right", .policy = gang{.min_count = 1}, .parent = root});
  s.member("r", right), s.member("l", left);
  const group_part whole = s.parts.of(root.row);
  CHECK(s.runs(whole) == std::vector<words>{{"l"}, {"r"}});
  CHECK(s.parts.disagreement(root.row).ok());
  a_pod other{"other"};
  other.cpu(1).in(left);
  other.spec.scheduler_name = "somebody-else";
  s.add(other);
  CHECK(s.parts.disagreement(root.row).code == code::error);
}

TEST_CASE("as in 1.36 members are tried in the order of their entry, once they may enter", "[engine][group][parts]") {
  setting s{cluster_options{.semantics = kube_semantics{kube_release::v1_36}}};
  const group_id gang = s.add(a_gang{"g", 3});
  s.member("a", gang, 9), s.member("b", gang, 5);
  const pod_id gated = s.add(a_pod{"gated"}.cpu(1).in(gang).gate("wait"));
  s.member("d", gang, 1);
  CHECK(s.pending(gang) == words{"a", "b", "d"});
  s.parts.enter(gang.row);
  // Its gate opens: it comes after those that were let in before it.
  a_pod open{"gated"};
  world::must(s.cluster.update_pod(gated, open.cpu(1).in(gang)));
  CHECK(s.pending(gang) == words{"a", "b", "d", "gated"});
  s.parts.enter(gang.row);
  // A member whose place is forgotten enters anew.
  s.entered.forget(s.parts.pending_members(gang.row)[0]);
  CHECK(s.pending(gang) == words{"b", "d", "gated", "a"});
}

TEST_CASE("as in 1.36 the member that completes the minimum enters first", "[engine][group][parts]") {
  setting s{cluster_options{.semantics = kube_semantics{kube_release::v1_36}}};
  const group_id gang = s.add(a_gang{"g", 2});
  s.member("a", gang), s.member("completing", gang), s.member("c", gang);
  CHECK(s.pending(gang) == words{"completing", "a", "c"});
}

TEST_CASE("as in 1.36 members keep the order in which they entered, and a question is no entry",
          "[engine][group][parts]") {
  setting s{cluster_options{.semantics = kube_semantics{kube_release::v1_36}}};
  const group_id gang = s.add(a_gang{"g", 2});
  s.member("a", gang), s.member("b", gang), s.member("c", gang);
  CHECK(s.pending(gang) == words{"b", "a", "c"});
  const auto after_a_left = [&] {
    const pod_id a = s.cluster.find_pod("default", "a").value();
    world::must(s.cluster.remove_pod(a));
    s.entered.forget(a.row);
    s.member("d", gang);
    return s.pending(gang);
  };
  SECTION("asked only") { CHECK(after_a_left() == words{"c", "b", "d"}); }
  SECTION("entered") {
    s.parts.enter(gang.row);
    CHECK(after_a_left() == words{"b", "c", "d"});
  }
}

}  // namespace gangsched::testing::group_parts_test
