#include "gangsched/engine/requeue_index.hpp"

#include "engine_parts.hpp"

namespace gangsched::testing::requeue_index_test {

namespace {

using found = std::vector<std::uint32_t>;

struct with_a_node : engine_parts {
  node_id node = add(a_node("n").cpu(4));
  engine::requeue_index index;

  [[nodiscard]] event about_node(reads facets = reads::usage) {
    event made{change_kind::node_updated, facets, node_info{state, node.row}, std::nullopt};
    made.what = events::node_allocatable;
    return made;
  }
  [[nodiscard]] found candidates(const event& what) const { return index.candidates(state, what); }
  [[nodiscard]] static engine::help_condition cores(std::int64_t count, symbol owner = {}) {
    engine::help_condition made;
    made.nodes.push_back({{{kinds::cpu, 1000 * count}}, owner, {}});
    return made;
  }
};

}  // namespace

TEST_CASE("an event about no node may help only those who wait for anything, or for such an event", "[engine][wake]") {
  with_a_node w;
  w.index.set(1, {.anything = true});
  w.index.set(2, {.labels = true});
  w.index.set(3, w.cores(0));
  w.index.set(4, {.what = events::namespace_changed | events::node_added});
  event what{change_kind::namespace_changed, reads::nothing, std::nullopt, std::nullopt};
  what.what = events::namespace_changed;
  CHECK(w.candidates(what) == found{1, 4});
  what.what = events::node_removed;
  CHECK(w.candidates(what) == found{1});
  w.index.set(1, {});
  CHECK(w.candidates(what).empty());
  for (const std::uint32_t who : {1u, 1u, 2u, 3u, 4u}) w.index.erase(who);
  CHECK(w.index.empty());
}

TEST_CASE("a node may help those for whom it has room, by name, or by its labels", "[engine][wake]") {
  with_a_node w;
  w.index.set(1, w.cores(4));
  w.index.set(2, w.cores(5));
  w.index.set(3, {.labels = true});
  engine::help_condition named;
  named.nodes.push_back({{{kinds::cpu, 9000}}, {}, {w.state.nodes.record[w.node.row]->name}});
  w.index.set(4, named);
  named.nodes.front().named = {symbol{0xffffff}};
  w.index.set(5, named);
  CHECK(w.candidates(w.about_node()) == found{1, 4});
  CHECK(w.candidates(w.about_node(reads::labels)) == found{1, 3, 4});
  w.add(a_pod("p").cpu(1).on(w.node));
  CHECK(w.candidates(w.about_node()) == found{4});
}

TEST_CASE("to its owners what is left of a held room is free", "[engine][wake]") {
  with_a_node w;
  pod_spec mine = a_pod("mine").cpu(1).on(w.node);
  mine.held_room = "r";
  w.add(mine);
  const symbol owner = w.state.classes[w.state.class_of(w.cluster.find_pod("default", "mine")->row)].held_room;
  w.index.set(1, w.cores(3));
  w.index.set(2, w.cores(3, owner));
  w.index.set(3, w.cores(4, owner));
  CHECK(w.candidates(w.about_node()) == found{1, 2});
  world::must(w.cluster.set_held_room({.name = "r", .parts = {{w.node, {{"cpu", quantity{3}}}}}}));
  CHECK(w.candidates(w.about_node()) == found{2});
}

TEST_CASE("a column concerns those who wait for one with its facet", "[engine][wake]") {
  with_a_node w;
  w.index.set(1, {.columns = own_facet(0)});
  w.index.set(2, {.columns = own_facet(1)});
  event what{change_kind::column_changed, own_facet(1), std::nullopt, std::nullopt};
  what.what = events::column_changed;
  CHECK(w.candidates(what) == found{2});
  what.kind = change_kind::node_added, what.facets = reads::everything;
  CHECK(w.candidates(what).empty());
}

TEST_CASE("an event that touches nothing that somebody waits for is told apart at once", "[engine][wake]") {
  with_a_node w;
  const auto found_for = [&](reads facets) {
    event what = w.about_node(facets);
    what.what = events::pod_added;
    const found all = w.candidates(what);
    if (!w.index.may_find(what.what, change{.kind = change_kind::pod_added, .facets = facets})) CHECK(all.empty());
    return std::pair{w.index.may_find(what.what, change{.kind = change_kind::pod_added, .facets = facets}), all};
  };
  const auto nobody = std::pair{false, found{}};
  CHECK(found_for(reads::everything) == nobody);
  engine::help_condition room = w.cores(1);
  room.nodes.front().facets = reads::usage | reads::taints;
  w.index.set(1, room);
  CHECK(found_for(reads::pods) == nobody);
  CHECK(found_for(reads::pods | reads::taints) == std::pair{true, found{1}});
  w.index.set(2, {.labels = true});
  CHECK(found_for(reads::labels).second == found{1, 2});  // (that one may be there in vain)
  w.index.set(2, {.what = events::pod_added});
  CHECK(found_for(reads::pods) == std::pair{true, found{2}});
  CHECK(!w.index.may_find(events::node_added, change{.kind = change_kind::pod_added, .facets = reads::labels}));
  w.index.set(2, {.columns = own_facet(3)});
  CHECK(found_for(own_facet(3)) == nobody);
  CHECK(w.index.may_find(events::column_changed, change{.kind = change_kind::column_changed, .facets = own_facet(3)}));
  w.index.set(2, {.victims = true});
  const change used{.kind = change_kind::queue_changed, .facets = reads::queues};
  const change given{.kind = change_kind::queue_changed, .more = true, .facets = reads::queues};
  CHECK(!w.index.may_find(events::queue_changed, used));
  CHECK(w.index.may_find(events::queue_changed, given));
  const event changed{change_kind::queue_changed, reads::queues, std::nullopt, std::nullopt};
  CHECK(w.index.candidates(w.state, changed).empty());
  CHECK(w.index.candidates(w.state, changed, true) == found{2});
  w.index.set(1, {.anything = true});
  CHECK(found_for(reads::pods) == std::pair{true, found{1}});
  w.index.erase(1), w.index.erase(2);
  CHECK(!w.index.may_find(events::queue_changed, given));
  CHECK(found_for(reads::usage) == nobody);
  CHECK(!w.index.may_find(events::column_changed, change{.kind = change_kind::column_changed, .facets = own_facet(3)}));
}

TEST_CASE("by hints those hear of an event whom a plugin rejected that is told of it", "[engine][wake]") {
  engine::requeue_index index;
  index.set(3, {.hears = 0b011});
  index.set(1, {.hears = 0b100});
  index.set(2, {.hears = ~std::uint64_t{0}});
  CHECK(index.candidates(0b010) == found{2, 3});
  CHECK(index.candidates(0b110) == found{1, 2, 3});
  CHECK(index.candidates(0) == found{2});
}

}  // namespace gangsched::testing::requeue_index_test
