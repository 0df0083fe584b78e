// Where a part of a group may be tried: the domains, how much room each has at most, and which nodes an affinity to other groups leaves.
#include "gangsched/engine/placement_candidates.hpp"

#include "engine_parts.hpp"

namespace gangsched::testing::placement_candidates_test {

using engine::candidate_list;
using engine::group_part;
using engine::placement_candidate;

namespace {

struct setting : engine_parts {
  engine::placement_candidates& candidates = search.candidates();
  setting() {
    for (const char* name : {"a1", "a2", "b1"})
      add(a_node{name}.cpu(name[0] == 'a' ? 1 : 4).label("rack", std::string(1, name[0])));
    add(a_node{"bare"}.cpu(8));
  }
  group_id gang(const group_spec& spec, int members) {
    const group_id made = add(spec);
    for (int i = 0; i < members; ++i) add(a_pod{spec.name + std::to_string(i)}.cpu(1).in(made));
    return made;
  }
  /// "name room tier" of each.
  words all(const group_part& what, const std::vector<row_t>* within = nullptr) {
    status said;
    const std::vector<placement> where = candidates.placements(what, said);
    CHECK(said.ok());
    words texts;
    for (const placement_candidate& one : candidates.of(what, where, within).all) {
      texts.push_back(std::string{one.name()} + " " + std::to_string(one.room) + " " + std::to_string(one.tier));
    }
    return texts;
  }
  [[nodiscard]] row_t row(const char* name) const { return cluster.find_node(name).value().row; }
};

}  // namespace

TEST_CASE("a group without a topology may be tried anywhere", "[engine][group][candidates]") {
  setting s;
  CHECK(s.all(s.parts.of(s.gang(a_gang{"g", 2}, 3).row)) == words{" 3 0"});
}

TEST_CASE("a group's candidates are the domains of its labels, by tier, with as many members as find room",
          "[engine][group][candidates]") {
  setting s;
  group_spec spec{.name = "g", .policy = gang{.min_count = 2}};
  spec.topology.within = {"rack"};
  spec.topology.or_anywhere = true;
  const group_part whole = s.parts.of(s.gang(spec, 5).row);
  CHECK(s.all(whole) == words{"a 2 0", "b 4 0", " 5 1"});
  world::must(s.cluster.assume(s.add(a_pod{"other"}.cpu(3)), s.cluster.find_node("b1").value()));
  CHECK(s.all(whole) == words{"a 2 0", "b 1 0", " 5 1"});
  const std::vector<row_t> within{s.row("a2"), s.row("b1")};
  CHECK(s.all(whole, &within) == words{"a 1 0", "b 1 0", " 2 1"});
}

TEST_CASE("the nodes of a candidate are those of its domain that are within bounds", "[engine][group][candidates]") {
  setting s;
  const group_part whole = s.parts.of(s.gang(a_gang{"g", 2}.topology("rack"), 2).row);
  status said;
  const std::vector<placement> where = s.candidates.placements(whole, said);
  const std::vector<row_t> within{s.row("a2"), s.row("b1"), s.row("bare")};
  const candidate_list list = s.candidates.of(whole, where, &within);
  REQUIRE(list.all.size() == 2);
  CHECK_FALSE(list.all[0].whole);
  CHECK(list.all[1].whole);
  CHECK(engine::placement_candidates::rows_of(list.all[0], &within) == std::vector<row_t>{s.row("a2")});
  CHECK(engine::placement_candidates::rows_of(list.all[1], &within) == std::vector<row_t>{s.row("b1")});
}

TEST_CASE("a slice may be tried in each domain that it may share", "[engine][group][candidates]") {
  setting s;
  group_spec spec{.name = "g", .policy = gang{.min_count = 4}};
  spec.topology.slices = {{"rack", 2}};
  const group_part whole = s.parts.of(s.gang(spec, 4).row);
  REQUIRE(whole.parts.size() == 2);
  CHECK(s.all(whole.parts[0]) == words{"a 2 0", "b 2 0"});
}

TEST_CASE("an affinity to another group leaves its domains, or the others, once it has a member on a node",
          "[engine][group][candidates]") {
  setting s;
  const bool apart = GENERATE(false, true);
  const group_id other = s.add(a_gang{"other"});
  group_spec spec{.name = "g", .policy = gang{.min_count = 1}};
  spec.affinity = {{other, "rack", apart}};
  const group_id mine = s.add(spec);
  std::vector<row_t> out;
  CHECK(s.candidates.beside_others(mine.row, nullptr, out) == nullptr);
  world::must(s.cluster.assume(s.add(a_pod{"o"}.cpu(1).in(other)), s.cluster.find_node("a1").value()));
  const std::vector<row_t>* const left = s.candidates.beside_others(mine.row, nullptr, out);
  REQUIRE(left == &out);
  if (apart)
    CHECK(*left == std::vector<row_t>{s.row("b1"), s.row("bare")});
  else
    CHECK(*left == std::vector<row_t>{s.row("a1"), s.row("a2")});
}

}  // namespace gangsched::testing::placement_candidates_test
