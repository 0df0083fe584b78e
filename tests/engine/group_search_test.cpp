// The search for a group's places, asked by itself: what it answers, that it answers by value, and that nothing is left of what nobody
// takes.
#include "gangsched/engine/group_search.hpp"

#include <stdexcept>

#include "engine_parts.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::testing::group_search_test {

using engine::group_placement;
using engine::placed_members;

namespace {

/// Who is told what, in order; may refuse or throw for one pod.
struct diary {
  words told;
  std::string refuses, throws;
};

struct bookkeeper {
  static constexpr std::string_view name = "Bookkeeper";
  using points = implements<point::reserve>;
  std::shared_ptr<diary> book;
  status reserve(const new_reservation& r) {
    const std::string pod{r.pod.name()};
    book->told.push_back("+" + pod);
    if (pod == book->throws) throw std::runtime_error("no more pages");
    return pod == book->refuses ? status::unschedulable("refused") : status::success();
  }
  void unreserve(const reservation& r) noexcept { book->told.push_back("-" + std::string{r.pod.name()}); }
};

struct setting : engine_parts {
  std::shared_ptr<diary> book;

  explicit setting(std::shared_ptr<diary> with = std::make_shared<diary>())
      : engine_parts({}, profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, topology_placement{},
                                 bookkeeper{with}}),
        book(std::move(with)) {}

  void nodes(std::initializer_list<std::pair<const char*, int>> all, bool racks = true) {
    for (const auto& [name, cores] : all) {
      a_node made{name};
      made.cpu(cores);
      if (racks) made.label("rack", std::string(1, name[0]));
      add(made);
    }
  }
  void members(group_id group, std::initializer_list<std::pair<const char*, int>> all) {
    for (const auto& [name, cores] : all) add(a_pod{name}.cpu(cores).in(group));
  }
  group_placement place(group_id group, bool complete = true) { return search.place(parts.of(group.row), complete); }
  [[nodiscard]] std::size_t assumed() const { return cluster.assumed().size(); }
};

}  // namespace

TEST_CASE("the search says who goes where, and gives back what nobody takes", "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 1}, {"b1", 1}, {"b2", 1}});
  const group_id gang = s.add(a_gang{"g", 2}.topology("rack"));
  s.members(gang, {{"p", 1}, {"q", 1}});
  const std::uint64_t before = s.state.digest_with_derived();
  {
    transaction trial{s.state};
    const group_placement found = s.place(gang);
    CHECK(found.verdict.ok());
    CHECK(s.where(found.members) == words{"p b1", "q b2"});
    CHECK(s.assumed() == 2);
    CHECK(s.book->told == words{"+p", "+q"});
  }
  CHECK(s.assumed() == 0);
  CHECK(s.book->told == words{"+p", "+q", "-q", "-p"});  // the last one first
  CHECK(s.state.digest_with_derived() == before);
}

TEST_CASE("what is taken of an answer stays", "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 2}});
  const group_id gang = s.add(a_gang{"g", 2});
  s.members(gang, {{"p", 1}, {"q", 1}});
  {
    group_placement found = s.place(gang);
    REQUIRE(found.verdict.ok());
    const std::vector<engine::member_place> taken = found.members.take();
    CHECK(taken.size() == 2);
    CHECK(found.members.empty());
  }
  CHECK(s.assumed() == 2);
  CHECK(s.book->told == words{"+p", "+q"});
}

TEST_CASE("two answers do not know of each other", "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 1}, {"b1", 1}}, false);
  const group_id one = s.add(a_gang{"one"}), other = s.add(a_gang{"other"});
  s.members(one, {{"p", 1}}), s.members(other, {{"q", 1}});
  transaction outer{s.state};
  const group_placement first = s.place(one);
  {
    transaction inner{s.state};
    const group_placement second = s.place(other);
    CHECK(s.where(second.members) == words{"q b1"});
    CHECK(s.where(first.members) == words{"p a1"});
  }
  CHECK(s.where(first.members) == words{"p a1"});
  CHECK(s.assumed() == 1);
  CHECK(s.book->told == words{"+p", "+q", "-q"});
}

TEST_CASE("a group that does not fit has nobody placed, and says what rejected its members",
          "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 1}, {"b1", 1}});
  const group_id gang = s.add(a_gang{"g", 2}.topology("rack"));
  s.members(gang, {{"p", 1}, {"q", 1}});
  const std::uint64_t before = s.state.digest_with_derived();
  const group_placement found = s.place(gang);
  CHECK(found.verdict.code == code::unschedulable);
  CHECK(found.members.empty());
  CHECK_FALSE(found.of_group);
  CHECK(found.rejectors != 0);
  CHECK(s.assumed() == 0);
  CHECK(s.state.digest_with_derived() == before);
}

TEST_CASE("greedy placing lets the first member take what only the last could use; the complete search does not",
          "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 3}, {"b1", 1}}, false);
  const group_id gang = s.add(a_gang{"g", 2});
  s.members(gang, {{"small", 1}, {"large", 3}});
  {
    transaction trial{s.state};
    CHECK_FALSE(s.place(gang, false).verdict.ok());
  }
  const std::uint64_t steps = s.statistics.search_steps;
  transaction trial{s.state};
  const group_placement found = s.place(gang);
  CHECK(found.verdict.ok());
  CHECK(sorted(s.where(found.members)) == words{"large a1", "small b1"});
  CHECK(s.statistics.search_steps > steps);
}

TEST_CASE("the complete search goes by the members' order, whose class was met first or not",
          "[engine][group][search]") {
  const bool met_before = GENERATE(false, true);
  setting s;
  s.nodes({{"a1", 2}, {"b1", 2}, {"c1", 3}}, false);
  const auto second = [](const char* name) { return a_pod{name}.cpu(2).label("second", "yes"); };
  if (met_before) s.add(second("like-q"));
  const group_id gang = s.add(a_gang{"g", 3});
  s.members(gang, {{"p", 2}});
  s.add(second("q").in(gang));
  s.members(gang, {{"large", 3}});
  const std::uint64_t steps = s.statistics.search_steps;
  transaction trial{s.state};
  const group_placement found = s.place(gang);
  CHECK(found.verdict.ok());
  CHECK(s.statistics.search_steps > steps);
  CHECK(sorted(s.where(found.members)) == words{"large c1", "p a1", "q b1"});
}

TEST_CASE("among nodes that are given no other is taken, whatever placements there are", "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 1}, {"a2", 1}, {"b1", 1}});
  const group_id gang = s.add(a_gang{"g", 2}.topology("rack"));
  s.members(gang, {{"p", 1}, {"q", 1}});
  const row_t a2 = s.cluster.find_node("a2").value().row, b1 = s.cluster.find_node("b1").value().row;
  transaction trial{s.state};
  const group_placement found = s.search.place_within(s.parts.of(gang.row), {a2, b1});
  CHECK(found.verdict.ok());
  CHECK(s.where(found.members) == words{"p a2", "q b1"});
}

TEST_CASE("members one by one: those who fit are placed, though they are too few", "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 1}});
  const group_id gang = s.add(a_gang{"g", 2});
  s.members(gang, {{"p", 1}, {"q", 1}});
  transaction trial{s.state};
  const group_placement found = s.search.place_members(s.parts.of(gang.row));
  CHECK_FALSE(found.verdict.ok());
  CHECK(s.where(found.members) == words{"p a1"});
}

TEST_CASE("a hook that refuses costs its member, one that throws the whole attempt, and both leave the books in order",
          "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 4}});
  const group_id gang = s.add(a_gang{"g", 2});
  s.members(gang, {{"p", 1}, {"q", 1}, {"r", 1}});
  const std::uint64_t before = s.state.digest_with_derived();
  {
    transaction trial{s.state};
    s.book->refuses = "q";
    const group_placement found = s.place(gang);
    CHECK(found.verdict.ok());
    CHECK(s.where(found.members) == words{"p a1", "r a1"});
  }
  CHECK(s.book->told == words{"+p", "+q", "-q", "+r", "-r", "-p"});
  s.book->told.clear(), s.book->refuses.clear(), s.book->throws = "r";
  {
    transaction trial{s.state};
    const group_placement found = s.place(gang);  // a reserve hook says an error instead
    CHECK(found.verdict.code == code::error);
    CHECK(found.members.empty());
  }
  CHECK(std::count(s.book->told.begin(), s.book->told.end(), "-p") == 1);
  CHECK(s.state.digest_with_derived() == before);
}

TEST_CASE("a list of placed members takes back a part of it inside the trial, or all", "[engine][group][search]") {
  setting s;
  s.nodes({{"a1", 4}});
  const group_id gang = s.add(a_gang{"g", 3});
  s.members(gang, {{"p", 1}, {"q", 1}, {"r", 1}});
  transaction trial{s.state};
  placed_members placed = s.search.nobody();
  engine::picked where;
  where.node = s.cluster.find_node("a1").value().row;
  status said;
  for (const char* name : {"p", "q", "r"})
    REQUIRE(placed.place(s.cluster.find_pod("default", name).value().row, where, said));
  placed.undo(2);
  CHECK(s.where(placed) == words{"p a1", "q a1"});
  CHECK(s.assumed() == 2);
  CHECK(placed.assignments(1).size() == 1);
  placed.discard(1);  // only hooks are told: the cluster is the transaction's
  CHECK(s.where(placed) == words{"p a1"});
  CHECK(s.assumed() == 2);
  CHECK(s.book->told == words{"+p", "+q", "+r", "-r", "-q"});
  placed_members other = std::move(placed);
  CHECK(placed.empty());
  CHECK(other.size() == 1);
}

}  // namespace gangsched::testing::group_search_test
