// Parts of the engine that are saved and restored by themselves: what comes back is what was saved, and what nobody saved is refused with
// nothing changed.
#include "engine_parts.hpp"
#include "gangsched/engine/dependent_groups.hpp"
#include "gangsched/engine/in_flight_pods.hpp"
#include "gangsched/engine/leaving_pods.hpp"
#include "gangsched/engine/pending_member_counts.hpp"
#include "gangsched/engine/queue.hpp"
#include "gangsched/engine/rejection_notes.hpp"
#include "gangsched/engine/reported_reservations.hpp"
#include "gangsched/engine/saved_past.hpp"
#include "gangsched/engine/stale_gangs.hpp"
#include "gangsched/engine/waiting_pods.hpp"

namespace gangsched::testing::saved_parts_test {

namespace {

constexpr row_t nowhere = 99;

struct house : engine_parts {
  node_id node = add(a_node{"n"}.cpu(64));
  group_id gang = add(group_spec(a_gang{"gang", 2}));
  pod_id a = add(a_pod{"a"}.in(gang)), b = add(a_pod{"b"}.in(gang));

  engine::queue new_queue() const { return {state, profiles.front().hooks(point::queue_sort)[0], nullptr, options}; }
  bind_attempt assume(pod_id pod) {
    world::must(cluster.assume(pod, node));
    return cluster.attempt_of(pod);
  }
};

/// "" if it was restored.
std::string refusal(const std::optional<error>& of) {
  if (!of) return "";
  CHECK(of->code == errc::malformed);
  CHECK(of->object == "snapshot");
  return of->field;
}

/// Of a part whose data has a row out of bounds after harm(data): what it held is there as before.
template <class Part, class Saved, class Harm>
std::string refused(Part& part, Saved data, const Harm& harm) {
  harm(data);
  return refusal(part.restore(data));
}

}  // namespace

TEST_CASE("gates keep for whom they were closed", "[engine][parts][snapshot]") {
  house h;
  const pod_id gated = h.add(a_pod{"gated"}.in(h.gang).gate("later"));
  REQUIRE(h.gates.rejects({h.gang.row, true}));
  const engine::saved_gates made = h.gates.save();
  CHECK(made.rejected_members == std::vector{std::pair{h.gang.row, gated.row}});
  engine::pre_enqueue_gates again{h.state, h.entities};
  CHECK(refusal(again.restore(made)).empty());
  CHECK(again.save().rejected_members == made.rejected_members);
  CHECK(refused(again, made, [](auto& of) { of.rejected_members.push_back({nowhere, 0}); }) == "gates");
  CHECK(refused(again, made, [](auto& of) { of.rejected_members = {{0, nowhere}}; }) == "gates");
  CHECK(again.save().rejected_members == made.rejected_members);
}

TEST_CASE("members keep the order in which they entered", "[engine][parts][snapshot]") {
  house h;
  h.entered.enter(h.gang.row, {h.b.row, h.a.row});
  const engine::saved_entries made = h.entered.save();
  engine::entry_order again{h.state, h.gates};
  CHECK(refusal(again.restore(made)).empty());
  std::vector<row_t> members{h.a.row, h.b.row};
  again.sort(h.gang.row, members);
  CHECK(members == std::vector{h.b.row, h.a.row});
  CHECK(refused(again, made, [](auto& of) { of.entered.push_back({nowhere, 7}); }) == "the order of entries");
  CHECK(again.save().entered == made.entered);
}

TEST_CASE("who is counted counts again, once", "[engine][parts][snapshot]") {
  engine::pending_member_counts part;
  part.clear(4, 2);
  part.add(1, 0, 2), part.add(3, 0, 2);
  engine::pending_member_counts again;
  CHECK(refusal(again.restore(part.save(), 4, 2)).empty());
  CHECK(again.save() == part.save());
  CHECK(refusal(again.restore({{1, 0}, {1, 0}}, 4, 2)) == "members that wait");
  CHECK(refusal(again.restore({{4, 0}}, 4, 2)) == "members that wait");
  CHECK(refusal(again.restore({{1, 2}}, 4, 2)) == "members that wait");
  CHECK(again.remove(1) == 0);
  CHECK(again.any(0));
  CHECK(again.remove(3) == 0);
  CHECK_FALSE(again.any(0));
}

TEST_CASE("who waits for permit goes on waiting, with reasons that live as long as the library", "[parts][snapshot]") {
  house h;
  engine::waiting_pods part{h.state};
  engine::waiting_pods::entry one{h.a, h.assume(h.a), 7};
  engine::waiting_pods::hold(one, 1, instant{0}, 5s);
  part.add(engine::waiting_pods::entry{one});
  part.add({h.b, h.assume(h.b), 0, 0, 0, {}, "rejected by the host"});
  part.group_changed(h.gang.row);
  const engine::saved_waiting made = part.save();
  engine::waiting_pods again{h.state};
  CHECK(refusal(again.restore(made)).empty());
  CHECK(again.next_deadline() == instant{5s});
  REQUIRE(again.has(h.a.row));
  CHECK(again.find(h.a.row)->score == 7);
  CHECK(again.find(h.a.row)->plugins == one.plugins);
  CHECK(std::string{again.find(h.b.row)->rejected} == "rejected by the host");
  const std::string field = "pods that wait for permit";
  CHECK(refused(again, made, [](auto& of) { of.all[1].rejected = "no reason of the engine's"; }) == field);
  CHECK(refused(again, made, [](auto& of) { of.all[1].pod = of.all[0].pod; }) == field);
  CHECK(refused(again, made, [](auto& of) { of.all[0].attempt = bind_attempt::none; }) == field);
  CHECK(refused(again, made, [](auto& of) { of.all[0].deadline.clear(); }) == field);
  CHECK(refused(again, made, [](auto& of) { of.changed_groups = {nowhere}; }) == field);
  CHECK(again.count() == 2);
  CHECK(again.take_changed_groups() == std::vector{h.gang.row});
}

TEST_CASE("reservations that were reported, and ended, are known again", "[parts][snapshot]") {
  house h;
  engine::reported_reservations part{h.state};
  h.assume(h.a), h.assume(h.b);
  part.add(h.a.row), part.add(h.b.row);
  world::must(h.cluster.release(h.a));
  part.end(h.a.row);
  const engine::saved_reported made = part.save();
  CHECK(made.all.size() == 1);
  CHECK(made.ended.size() == 1);
  engine::reported_reservations again{h.state};
  CHECK(refusal(again.restore(made)).empty());
  const auto harmed = [&](const auto& harm) { return refused(again, made, harm); };
  CHECK(harmed([](auto& of) { of.all.push_back(of.all[0]); }) == "reservations that were reported");
  CHECK(harmed([](auto& of) { of.all[0].node.row = nowhere; }) == "reservations that were reported");
  CHECK(harmed([](auto& of) { ++of.ended[0].pod.generation; }) == "reservations that have ended");
  engine::decision_list decisions{h.state};
  again.report_ended(decisions);
  REQUIRE(decisions.of_cycle().size() == 1);
  CHECK(decisions.of_cycle()[0].pod == h.a);
}

TEST_CASE("groups and pods of the smaller parts are within their tables", "[engine][parts][snapshot]") {
  house h;
  engine::stale_gangs stale{h.state, h.entities};
  const engine::saved_stale were{{h.gang.row}, {{h.gang, 3s, true}}};
  CHECK(refusal(stale.restore(were)).empty());
  CHECK(refused(stale, were, [](auto& of) { of.changed.push_back(nowhere); }) == "gangs that may be stale");
  CHECK(refused(stale, were, [](auto& of) { ++of.all[0].group.generation; }) == "stale gangs");
  CHECK(stale.save().changed == were.changed);
  REQUIRE(stale.save().all.size() == 1);
  CHECK(stale.save().all[0].since == instant{3s});

  engine::leaving_pods draining{h.state, h.entities};
  const engine::saved_leaving told{true, false, false, {h.a.row}, {{h.a, 1s}, {h.b, 2s}}, 3s, {}};
  CHECK(refusal(draining.restore(told)).empty());
  CHECK(refused(draining, told, [](auto& of) { std::swap(of.told[0], of.told[1]); }) == "pods that drain");
  CHECK(refused(draining, told, [](auto& of) { of.changed = {nowhere}; }) == "pods that may have to drain");
  CHECK(draining.next_due() == instant{3s});
  CHECK(draining.save().told == told.told);

  engine::dependent_groups dependents{h.state, h.entities, h.limits};
  const engine::saved_dependents of{{h.gang.row}, {{h.gang, 2}}};
  CHECK(refusal(dependents.restore(of)).empty());
  CHECK(refused(dependents, of, [](auto& bad) { bad.starting = {nowhere}; }) == "groups that start after others");
  CHECK(refused(dependents, of, [](auto& bad) { bad.held_back[0].first.row = nowhere; }) ==
        "groups that ratios hold back");
  CHECK(dependents.save().starting == of.starting);
  CHECK(dependents.save().held_back == of.held_back);

  const std::vector<class_id> classes{h.state.pods.cls[h.a.row]};
  CHECK(refusal(h.room.restore(engine::saved_unhelped_gang{h.gang.row, 0}, classes)).empty());
  CHECK(refusal(h.room.restore(engine::saved_unhelped_gang{h.gang.row, 1}, classes)) ==
        "the gang that preemption does not help");
  model::cluster_saver saver{h.state};
  CHECK(h.room.save(saver).group == h.gang.row);
  h.add(a_pod{"more"});  // the log goes on, and it is not known any more
  CHECK(h.room.save(saver).group == no_row);
}

TEST_CASE("pods that were rejected with the same words share them again", "[parts][snapshot]") {
  house h;
  engine::rejection_notes part{h.state};
  const auto words = std::make_shared<const engine::rejection_words>(
      engine::rejection_words{{{"Plugin", "too small", 3}}, 3, "too few", h.a, 1});
  part.keep(h.a.row, status::unschedulable("no"), 5, words);
  part.keep(h.b.row, status::pending("later"), 0, words);
  const engine::saved_notes made = part.save();
  CHECK(made.words.size() == 1);
  engine::rejection_notes again{h.state};
  CHECK(refusal(again.restore(made)).empty());
  REQUIRE(again.find(h.b) != nullptr);
  CHECK(again.find(h.b)->code == code::pending);
  CHECK(again.find(h.a)->plugins == 5);
  CHECK(again.find(h.a)->words == again.find(h.b)->words);
  CHECK(again.find(h.a)->words->reasons[0].text == "too small");
  const auto harmed = [&](const auto& harm) { return refused(again, made, harm); };
  CHECK(harmed([](auto& of) { of.all[0].words = 2; }) == "notes of rejections");
  CHECK(harmed([](auto& of) { of.all[0].code = 77; }) == "notes of rejections");
  CHECK(harmed([](auto& of) { ++of.all[0].pod.generation; }) == "notes of rejections");
  CHECK(again.find(h.a)->words->group == "too few");
}

TEST_CASE("the queue pops in the order in which it was saved", "[engine][parts][snapshot]") {
  house h;
  engine::queue part = h.new_queue();
  const pod_id c = h.add(a_pod{"c"}), d = h.add(a_pod{"d"});
  std::uint64_t arrival = 0;
  for (const pod_id pod : {d, h.a, c}) {
    part.item({pod.row, false}).arrival = ++arrival;
    part.activate({pod.row, false});
  }
  part.park({h.b.row, false}, 1s);
  const engine::saved_places made = part.save();
  engine::queue again = h.new_queue();
  CHECK(refusal(again.restore(made)).empty());
  CHECK(again.counts().active == 3);
  CHECK(again.counts().unschedulable == 1);
  const auto harmed = [&](const auto& harm) { return refused(again, made, harm); };
  CHECK(harmed([](auto& of) { of.items[0].row = nowhere; }) == "the queue");
  CHECK(harmed([](auto& of) { of.items[0].where = 7; }) == "the queue");
  CHECK(harmed([](auto& of) { ++of.items[0].generation; }) == "the queue");
  CHECK(harmed([](auto& of) { of.items.push_back(of.items[0]); }) == "the queue");
  CHECK(harmed([](auto& of) { of.groups_left = {nowhere}; }) == "groups that left the queue");
  for (const pod_id pod : {d, h.a, c}) {
    const auto next = again.pop(2s);
    REQUIRE(next);
    CHECK(next->who.row == pod.row);
  }
  CHECK_FALSE(again.pop(2s));
}

TEST_CASE("attempts under way have not seen the same events, with objects as they were", "[engine][parts][snapshot]") {
  house h;
  engine::in_flight_pods part{h.state};
  part.begin_attempt({.who = {h.a.row, false}, .pod = h.a, .group = {}});
  const auto was = std::make_shared<const past_node>(h.state, h.node.row);
  for (const events what : {events::node_allocatable, events::node_labels}) {
    part.add_event({.record = {.kind = change_kind::node_updated, .row = h.node.row},
                    .what = what,
                    .old_node = was,
                    .new_node = was});
  }
  model::cluster_saver saver{h.state};
  engine::past_saver saved{saver};
  const engine::saved_in_flight made = part.save(saved);
  const engine::saved_past objects = std::move(saved).take();
  CHECK(objects.nodes.size() == 1);  // once, whoever has it
  engine::past_objects past;
  CHECK(refusal(past.restore(h.state, objects, {})).empty());
  engine::in_flight_pods again{h.state};
  CHECK(refusal(again.restore(made, past, true)).empty());
  std::vector<events> unseen;
  REQUIRE(again.find(h.a) != nullptr);
  again.each_event_since(*again.find(h.a), [&](const engine::object_event& one) {
    CHECK(one.old_node->name() == "n");
    unseen.push_back(one.what);
    return true;
  });
  CHECK(unseen == std::vector{events::node_allocatable, events::node_labels});

  const auto harmed = [&](bool by_hints, const auto& harm) {
    engine::saved_in_flight bad = made;
    harm(bad);
    return refusal(again.restore(bad, past, by_hints));
  };
  const std::string field = "attempts under way";
  CHECK(harmed(true, [](auto& of) { of.events[0].old_node = 2; }) == field);
  CHECK(harmed(true, [](auto& of) { of.events[0].old_node = 0; }) == field);  // what a hint is to look at
  CHECK(harmed(true, [](auto& of) { of.attempts[0].from = 3; }) == field);
  CHECK(harmed(true, [](auto& of) { of.attempts[0].row = nowhere; }) == field);
  CHECK(harmed(true, [](auto& of) { of.attempts.clear(); }) == field);
  CHECK(again.size() == 1);
  CHECK(harmed(false, [](auto& of) { of.events[0].old_node = 0; }).empty());

  engine::saved_past bad = objects;
  bad.nodes[0].node.row = nowhere;
  CHECK(refusal(past.restore(h.state, bad, {})) == "nodes as they were");
  CHECK(past.has_node(1));
  bad = objects;
  bad.pods.push_back({h.a, 0, {}, false, {}});  // of a class that nobody saved
  CHECK(refusal(past.restore(h.state, bad, {})) == "pods as they were");
}

}  // namespace gangsched::testing::saved_parts_test
