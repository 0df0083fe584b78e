// Which groups wait for others, asked of the parts that know it.
#include "gangsched/engine/dependent_groups.hpp"

#include "engine_parts.hpp"
#include "gangsched/engine/pending_member_counts.hpp"

namespace gangsched::testing::dependent_groups_test {

namespace {

struct setting : engine_parts {
  engine::dependent_groups dependents{state, entities, limits};
  node_id node = add(a_node{"n"}.cpu(99));
  group_id leader = add(group_spec{.name = "leader", .policy = gang{.min_count = 1}});
  group_id add_follower(const char* name) {
    group_spec made{.name = name, .policy = gang{.min_count = 1}};
    made.ratios = {{leader, 1, 1}};
    return add(made);
  }
  std::vector<pod_id> members(group_id of, const std::string& name, int count) {
    std::vector<pod_id> made;
    for (int i = 0; i < count; ++i) made.push_back(add(a_pod{name + std::to_string(i)}.cpu(1).in(of)));
    return made;
  }
  void place(group_id of, const std::string& name) { add(a_pod{name}.cpu(1).in(of).on(node)); }
  std::vector<row_t> starting() {
    std::vector<row_t> all;
    dependents.each_starting([&](row_t group) { all.push_back(group); });
    return all;
  }
};

}  // namespace

TEST_CASE("groups that start after others are known until their spec says otherwise or they are gone",
          "[engine][parts]") {
  setting s;
  group_spec made{.name = "late", .policy = gang{.min_count = 1}};
  made.start_after = {{.on = s.leader}};
  const group_id late = s.add(made);
  CHECK(s.starting().empty());
  s.dependents.note(late.row), s.dependents.note(late.row), s.dependents.note(s.leader.row);
  CHECK(s.starting() == std::vector<row_t>{late.row});
  made.start_after.clear();
  world::must(s.cluster.update_group(late, made));
  CHECK(s.starting().empty());
  made.start_after = {{.on = s.leader}};
  world::must(s.cluster.update_group(late, made));
  s.dependents.look_again();
  CHECK(s.starting() == std::vector<row_t>{late.row});
  world::must(s.cluster.remove_group(late));
  CHECK(s.starting().empty());
}

TEST_CASE("a group that a ratio keeps back is released when the other has grown so far that one more may start",
          "[engine][parts]") {
  setting s;
  const group_id follower = s.add_follower("follower");
  s.place(follower, "f-a"), s.place(follower, "f-b");
  s.members(follower, "f-", 1);
  s.dependents.note_ratios(follower.row);
  CHECK(s.dependents.take_released().empty());
  s.place(s.leader, "l-a");  // two may have a node, and two have one
  CHECK(s.dependents.take_released().empty());
  s.place(s.leader, "l-b");
  CHECK(s.dependents.take_released() == std::vector<row_t>{follower.row});
  CHECK(s.dependents.take_released().empty());
}

TEST_CASE("a group that may have all its members is not kept back, and one that is gone is forgotten",
          "[engine][parts]") {
  setting s;
  const group_id one = s.add_follower("one"), two = s.add_follower("two");
  s.members(one, "one-", 1);
  const std::vector<pod_id> its = s.members(two, "two-", 3);
  s.dependents.note_ratios(one.row), s.dependents.note_ratios(two.row);
  s.place(s.leader, "l-a");
  for (const pod_id pod : its) world::must(s.cluster.remove_pod(pod));
  world::must(s.cluster.remove_group(two));
  CHECK(s.dependents.take_released().empty());
}

TEST_CASE("members that wait are counted for the root under which they were added", "[engine][parts]") {
  engine::pending_member_counts waiting;
  waiting.clear(2, 1);
  CHECK(waiting.remove(0) == no_row);
  waiting.grow(5, 4);
  waiting.add(4, 7, 3);
  waiting.add(1, 7, 3);
  CHECK(waiting.counts(4));
  CHECK_FALSE(waiting.counts(0));
  CHECK(waiting.any(7));
  CHECK_FALSE(waiting.any(99));
  CHECK(waiting.remove(4) == 7);
  CHECK(waiting.remove(4) == no_row);
  CHECK(waiting.any(7));
  CHECK(waiting.remove(1) == 7);
  CHECK_FALSE(waiting.any(7));
  CHECK(waiting.place_of(4) != nullptr);
  CHECK(waiting.place_of(4000) == nullptr);
}

}  // namespace gangsched::testing::dependent_groups_test
