// Whom an event wakes is what a walk over all who wait says, though few of them are judged.
#include "gangsched/engine/unschedulable_pods.hpp"

#include <algorithm>
#include <memory>

#include "column_plugins.hpp"
#include "engine_parts.hpp"
#include "gangsched/engine/object_cache.hpp"
#include "gangsched/model/restored_cluster.hpp"
#include "plain_unschedulable_pods.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::unschedulable_pods_test {

namespace {

using engine::entity;
using engine::place;

/// Lets in who asks for no more cores than the host says.
struct core_limit {
  static constexpr std::string_view name = "CoreLimit";
  using points = implements<point::admission, point::requeue>;
  static constexpr bool ignores_group_identity = true;
  static constexpr events wakes_on = events::column_changed | events::node_added;
  by_host<scope_column> cores;

  void attach(column_maker& columns) { cores = columns.scope_column_by_host("limits", "cores"); }
  [[nodiscard]] status judge(std::int64_t milli, const cluster_view& cluster) const {
    const auto row = cluster.find_row(cores, "all");
    return row && milli > cluster.own(cores, *row) ? status::unschedulable("too many cores") : status{};
  }
  [[nodiscard]] status admit(const pod_view& pod, const cluster_view& cluster) const {
    return judge(pod.request(kinds::cpu), cluster);
  }
  [[nodiscard]] status admit(const group_view& group, const cluster_view& cluster) const {
    std::int64_t most = 0;
    group.each_pod_below([&](const pod_info& pod) { most = std::max(most, pod.request(kinds::cpu)); });
    return judge(most, cluster);
  }
  [[nodiscard]] hint requeue(const event&, const pod_view& pod) const {
    return pod.request(kinds::cpu) > 1000 ? hint::queue : hint::skip;
  }
};

/// Tells pods of a class apart, and says nothing of events.
struct turns {
  static constexpr std::string_view name = "Turns";
  using points = implements<point::admission>;
  std::shared_ptr<std::size_t> turn = std::make_shared<std::size_t>(0);

  [[nodiscard]] status admit(const pod_info& pod, const cluster_view&) const {
    return *turn % 3 != 0 && pod.name().size() % 2 == *turn % 2 ? status::pending("not its turn") : status{};
  }
};

/// Asks for a label, and says of which events it wants to hear.
struct picky {
  static constexpr std::string_view name = "Picky";
  using points = implements<point::filter, point::requeue>;
  static constexpr events wakes_on = events::node_labels | events::node_added;

  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::labels> node) const {
    const auto key = pod.find("clean");
    if (pod.request(kinds::cpu) % 1000 == 0 || (key && node.label(*key))) return status::success();
    return status::unschedulable("node(s) were not clean");
  }
  [[nodiscard]] hint requeue(const event& e, const pod_view&) const {
    return !e.node || e.node->id().row % 3 != 0 ? hint::queue : hint::skip;
  }
};

/// May refuse at the end, for what the host says of racks.
struct late_word {
  static constexpr std::string_view name = "LateWord";
  using points = implements<point::reserve>;
  by_host<scope_column> inspected;

  void attach(column_maker& columns) { inspected = columns.scope_column_by_host("racks", "inspected"); }
  status reserve(const new_reservation&) { return status::success(); }
  void unreserve(const reservation&) noexcept {}
};

/// Needs so many slots, as the host says.
struct shared_room {
  static constexpr std::string_view name = "SharedRoom";
  using points = implements<point::filter>;
  std::shared_ptr<std::int64_t> share;

  [[nodiscard]] status filter(const pod_view&, node_view<reads::allocatable | reads::usage> node) const {
    return node.free(kinds::pods) >= *share ? status{} : status::unschedulable("too few slots");
  }
  [[nodiscard]] std::vector<amount> least_free(const pod_view&) const { return {{kinds::pods, *share}}; }
};

template <class... More>
kernel_table table_with(More... more) {
  return profile{priority_sort{},
                 gang_scheduling{},
                 taint_toleration{},
                 node_affinity_plugin{},
                 node_resources_fit{{.ignored_groups = {"power"}}},
                 inter_pod_affinity{},
                 topology_placement{},
                 picky{},
                 rack_temperature{},
                 node_power{},
                 late_word{},
                 std::move(more)...}
      .table();
}

/// A queue of its own, and who waits in it.
template <class Waiting>
struct side {
  engine::queue places;
  engine::requeue_judge judge;
  engine_statistics statistics;
  Waiting waiting;

  side(engine_parts& of, const engine::admission_checks& admission)
      : places{of.state, of.profiles.front().hooks(point::queue_sort)[0], nullptr, of.options},
        judge{of.state, of.profiles, of.entities, of.picks},
        waiting{of.state, of.entities, admission, of.parts, judge, places, of.options, statistics, of.now} {}
};

/// A cluster in which much happens, and who waits in it, twice.
struct house : engine_parts {
  dice random;
  std::shared_ptr<std::size_t> turn;
  engine::admission_checks admission{state, profiles, entities, now};
  side<engine::unschedulable_pods> real{*this, admission};
  side<plain_unschedulable_pods> plain{*this, admission};
  engine::in_flight_pods attempts{state};
  engine::object_cache cache{state};
  std::vector<node_id> nodes;
  std::vector<std::pair<pod_id, pod_spec>> running, single;
  std::vector<std::pair<group_id, group_spec>> groups;
  std::vector<group_id> roots;
  std::uint64_t read = 0;
  int made = 0;
  std::size_t events = 0, woken = 0, restarts = 0;

  house(std::uint64_t seed, wake_rule rule, std::shared_ptr<std::size_t> whose_turn, kernel_table table)
      : engine_parts({}, std::move(table)), random{seed}, turn(std::move(whose_turn)) {
    options.wake = rule;
    real.~side(), new (&real) side<engine::unschedulable_pods>{*this, admission};
    plain.~side(), new (&plain) side<plain_unschedulable_pods>{*this, admission};
    for (int i = 0; i < 5; ++i) nodes.push_back(add(node_of(i)));
    for (const char* rack : {"a", "b"}) set_rack(rack);
    for (int i = 0; i < 12; ++i) run_one();
    for (int i = 0; i < 24; ++i) {
      const pod_spec spec = wish("pod-" + std::to_string(i));
      single.push_back({add(spec), spec});
    }
    const group_id root = add(group_spec{.name = "tree", .composite = true});
    for (int i = 0; i < 12; ++i) {
      a_gang gang("gang-" + std::to_string(i), 2);
      if (random.percent(20)) gang.topology("rack");
      if (i >= 10) gang.spec.parent = root;
      groups.push_back({add(gang), gang.spec});
      const bool alike = i < 10 && random.percent(60);
      for (int member = 0; member < 2; ++member) {
        pod_spec spec = alike ? a_pod("m").cpu(3).spec : wish("m");
        spec.name = "member-" + std::to_string(i) + "-" + std::to_string(member);
        spec.group = groups.back().first;
        add(spec);
      }
      if (i < 10) roots.push_back(groups.back().first);
    }
    roots.push_back(root);
    real.waiting.clear(), plain.waiting.clear();
    real.waiting.grow();
    read = state.log.end();
    cache.start_over();
  }
  a_node node_of(int i) {
    a_node one("node-" + std::to_string(i));
    one.cpu(4 + random.between(0, 4)).memory("8Gi").gpus(random.between(0, 2));
    one.label("rack", random.percent(50) ? "a" : "b");
    if (random.percent(50)) one.label("clean", "yes");
    if (random.percent(20)) one.taint("dedicated");
    return one;
  }
  pod_spec wish(const std::string& name) {
    a_pod one(name);
    one.cpu_milli(500 * random.between(1, 10));
    if (random.percent(40)) one.memory(std::to_string(random.between(1, 8)) + "Gi");
    if (random.percent(20)) one.gpus(random.between(1, 2));
    if (random.percent(20)) one.select("rack", random.percent(50) ? "a" : "b");
    if (random.percent(10)) {
      const std::string named = "node-" + std::to_string(random.below(5));
      one.spec.affinity.required = {{.match_fields = {{"metadata.name", selector_operator::in, {named}}}}};
    }
    if (random.percent(6)) one.label("app", "a").avoid("app", "a");
    if (random.percent(20)) one.tolerate("dedicated");
    if (random.percent(15)) one.resource("power/watts", quantity{random.between(1, 3)});
    if (random.percent(25)) one.spec.held_room = random.percent(50) ? "first" : "second";
    if (random.percent(20)) one.priority(10);
    return one;
  }
  void run_one() {
    pod_spec spec = wish("running-" + std::to_string(made++));
    spec.node = random.of(nodes);
    running.push_back({add(spec), spec});
  }
  void set_rack(const char* rack) {
    const scope_row_id row = world::must(cluster.add_scope_row("racks", rack));
    world::must(cluster.set_column(row, random.percent(70) ? "celsius" : "inspected", random.between(25, 40)));
  }

  template <class What>
  void both(const What& what) {
    what(plain), what(real);
  }
  [[nodiscard]] bool waits(entity e) const {
    const engine::queue_item* item = plain.places.find(e);
    return item != nullptr && (item->where == place::unschedulable || item->where == place::timed);
  }

  // --- who fails
  void park(row_t pod) {
    if (const engine::refusal why = admission.ask({pod, false})) {
      both([&](auto& its) { its.waiting.add_refused(pod, why); });
    } else {
      engine::rejection by;
      std::uint64_t rejectors = picks.pick(pod).rejectors;
      if (random.percent(10)) rejectors = engine::unknown_rejectors;
      for (const plugin_entry& plugin : profiles.front().plugins) {
        if (random.percent(8))
          (random.percent(80) ? by.unschedulable : by.pending) |= engine::plugin_bit(profiles.front(), plugin);
      }
      if (random.percent(5)) by.unschedulable |= engine::rejection::elsewhere;
      plain.waiting.park(pod, by, rejectors);
      real.waiting.add(pod, by, rejectors, attempts, nullptr);
    }
    const bool next = random.percent(50);
    both([&](auto& its) { next ? its.waiting.pass_on(pod) : its.waiting.forget_wake(pod); });
  }
  void park_group(row_t group) {
    std::size_t members = 0;
    std::uint64_t rejectors = 0;
    entities.each_member(group, [&](row_t pod) { rejectors |= picks.pick(pod).rejectors, ++members; });
    if (random.percent(15)) rejectors = engine::unknown_rejectors;
    if (random.percent(5)) rejectors = 0;
    const bool hopeless = random.percent(5), timed = options.wake == wake_rule::hints || random.percent(10);
    const engine::refusal why = admission.ask({group, true});
    both([&](auto& its) {
      its.waiting.remove_group(group);
      if (timed && !why)
        its.places.retry_later({group, true}, now, members, false, false);
      else
        its.places.park({group, true}, now, members);
      if (why) its.waiting.add_refused_group(group, why);
    });
    if (hopeless && !why)
      plain.waiting.add_hopeless_group(group), real.waiting.add_hopeless_group(group, nullptr);
    else if (!why)
      both([&](auto& its) { its.waiting.add_group(group, rejectors); });
    const bool failed = random.percent(50) && !hopeless;
    both([&](auto& its) { failed ? its.waiting.fail_alike_groups(group) : its.waiting.pass_on_group(group); });
  }
  void fail() {
    for (const auto& [pod, spec] : single) {
      if (!waits({pod.row, false}) && random.percent(70)) park(pod.row);
    }
    for (const group_id group : roots) {
      if (!waits({group.row, true}) && random.percent(70)) park_group(group.row);
    }
    if (random.percent(20)) *turn = random.below(6);
    now += std::chrono::milliseconds{random.between(0, 4000)};
    for (int i = 0; i < 3; ++i) {  // some leave, and are not heard of; some have failed once more
      const entity e =
          random.percent(50) ? entity{random.of(single).first.row, false} : entity{random.of(roots).row, true};
      if (!waits(e)) continue;
      const std::size_t what = random.below(5);
      const instant ready = now - std::chrono::milliseconds{random.between(0, 2000)};
      both([&](auto& its) {
        if (what == 0)
          its.places.take_out(e);
        else if (what == 1)
          its.places.activate(e);
        else if (what == 2 && e.group)
          its.places.retry_later(e, ready, 1, false, false), its.waiting.item_changed(e.row);
        else if (!e.group || its.waiting.has_group(e.row))
          its.waiting.fail_again(e);
      });
    }
  }

  // --- what happens
  void happen() {
    switch (random.below(14)) {
      case 0: run_one(); break;
      case 1:
      case 2:
      case 3:
        if (running.empty()) break;
        std::swap(random.of(running), running.back());
        world::must(cluster.remove_pod(running.back().first));
        running.pop_back();
        break;
      case 4:
      case 5: {
        const std::size_t at = random.below(nodes.size());
        world::must(cluster.update_node(nodes[at], node_of(static_cast<int>(at))));
        break;
      }
      case 6: world::must(cluster.remove_node(add(node_of(100 + made++)))); break;
      case 7: {
        held_room_spec held{.name = random.percent(50) ? "first" : "second"};
        if (random.percent(30)) {
          static_cast<void>(cluster.remove_held_room(held.name));
          break;
        }
        for (const node_id node : nodes) {
          if (random.percent(40)) held.parts.push_back({node, {{"cpu", quantity{random.between(1, 4)}}}});
        }
        static_cast<void>(cluster.set_held_room(held));
        break;
      }
      case 8: set_rack(random.percent(50) ? "a" : "b"); break;
      case 9: world::must(cluster.set_column(random.of(nodes), "watts", random.between(0, 4))); break;
      case 10: {
        const result<scope_row_id> row = cluster.add_scope_row("limits", "all");
        if (row && cluster.add_scope_column("limits", "cores"))
          world::must(cluster.set_column(*row, "cores", 1000 * random.between(1, 5)));
        break;
      }
      case 11: {
        auto& [group, spec] = random.of(groups);
        if (random.percent(50))
          spec.topology.within = {};
        else
          spec.topology.within = {"rack"};
        spec.affinity.clear();
        if (group_id other = random.of(roots); random.percent(30) && other != group)
          spec.affinity = {{.to = other, .key = "rack"}};
        static_cast<void>(cluster.update_group(group, spec));
        break;
      }
      case 12: {  // a pod is resized, or one that waits is another by now
        auto& [pod, spec] = random.percent(50) || running.empty() ? random.of(single) : random.of(running);
        spec.containers.back().requests["cpu"] = quantity::from_milli(500 * random.between(1, 10));
        static_cast<void>(cluster.update_pod(pod, spec));
        break;
      }
      default: world::must(cluster.set_namespace({"default", {{"team", std::to_string(random.below(3))}}})); break;
    }
  }

  /// Who waits is saved, and what goes on is made of that.
  void start_again() {
    model::cluster_saver saver{state};
    const engine::saved_places stand = real.places.save();
    const engine::saved_unschedulable saved = real.waiting.save(saver);
    std::vector<class_id> classes;  // by number
    for (class_id cls = 0; cls < state.classes.size(); ++cls) {
      if (state.classes.share(cls) == nullptr) continue;
      const std::uint32_t number = saver.number_of(cls);
      if (number >= classes.size()) classes.resize(number + 1, no_class);
      classes[number] = cls;
    }
    // What makes groups alike is found anew from what they are now: one that was numbered before that changed is left out here.
    for (const engine::saved_unschedulable_group& one : saved.groups) {
      engine::rejected_group like{one.group, {}, one.rejectors};
      for (const std::uint32_t number : one.classes)
        like.classes.emplace_back(classes[number], state.classes.generation(classes[number]));
      if (one.kind != 0 && cluster.contains(one.group) && real.judge.kind_of(like) != one.kind) return;
    }
    ++restarts;
    const engine_statistics before = real.statistics;
    real.~side(), new (&real) side<engine::unschedulable_pods>{*this, admission};
    real.statistics = before;
    REQUIRE_FALSE(real.places.restore(stand));
    engine::saved_unschedulable bad = saved;
    bad.woken.push_back({.row = no_row});
    CHECK(real.waiting.restore(bad, classes).value().field == "pods and groups that wait for a change");
    CHECK(real.waiting.empty());
    REQUIRE_FALSE(real.waiting.restore(saved, classes));
  }
  void compare() {
    const auto same = [&](entity e) {
      const engine::queue_item* a = plain.places.find(e);
      const engine::queue_item* b = real.places.find(e);
      if (a == nullptr || b == nullptr) return a == b;
      return a->where == b->where && a->failures == b->failures && a->ready == b->ready && a->since == b->since;
    };
    for (const auto& [pod, spec] : single) REQUIRE(same({pod.row, false}));
    for (const group_id group : roots) REQUIRE(same({group.row, true}));
    REQUIRE(plain.statistics.wake_ups == real.statistics.wake_ups);
  }
  void read_log() {
    real.waiting.grow();
    plain.waiting.follow_classes();
    compare();
    for (; read < state.log.end(); ++read) {
      const change record = state.log[read];
      const std::uint64_t before = plain.statistics.wake_ups;
      if (options.wake == wake_rule::hints) {
        std::vector<engine::object_event> happened;
        cache.read(record, happened);
        for (const engine::object_event& one : happened) {
          both([&](auto& its) {
            engine::queueing_event what = its.judge.queueing_event_of(one);
            its.waiting.on_event(one, what, read);
          });
          ++events;
          compare();
        }
      } else {
        if (record.kind == change_kind::pod_updated && state.pods.state[record.row] == pod_state::pending)
          both([&](auto& its) { its.places.wake({record.row, false}, now); });
        const std::optional<change> helpful = real.judge.helpful(record);
        if (!helpful) continue;
        both([&](auto& its) { its.waiting.on_change(*helpful, read); });
        ++events;
        compare();
      }
      woken += plain.statistics.wake_ups - before;
    }
  }
};

}  // namespace

TEST_CASE("an event wakes whom a walk over everybody who waits wakes", "[engine][wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  std::size_t events = 0, woken = 0, restarts = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const turns by_turns;
    kernel_table table = seed % 3 == 0   ? table_with()
                         : seed % 3 == 1 ? table_with(core_limit{})
                                         : table_with(core_limit{}, by_turns);
    house h{seed, rule, by_turns.turn, std::move(table)};
    for (int step = 0; step < 60; ++step) {
      INFO("rule " << static_cast<int>(rule) << ", seed " << seed << ", step " << step);
      h.fail();
      h.compare();
      if (step % 7 == 3) h.start_again();
      for (std::size_t changes = h.random.below(3); changes > 0; --changes) h.happen();
      h.read_log();
    }
    events += h.events, woken += h.woken, restarts += h.restarts;
  }
  INFO("rule " << static_cast<int>(rule) << ": " << events << " events, " << woken << " woken");
  CHECK(events > 1000);
  CHECK(woken > 1000);
  CHECK(restarts > 100);
}

TEST_CASE("what a plugin needs may be less when the host says that it has changed", "[engine][wake]") {
  const auto share = std::make_shared<std::int64_t>(3);
  world w{profile{priority_sort{}, gang_scheduling{}, shared_room{share}}};
  const node_id n = w.add(a_node("n").cpu(4).pods(3));
  const pod_id first = w.add(a_pod("first").on(n));
  w.add(a_pod("second").on(n));
  w.add(a_pod("p"));
  CHECK(w.run() == words{"reject p"});
  w.now += 60s;
  const auto heard = [&] { return w.scheduler.statistics().wake_ups; };
  w.must(w.cluster.update_pod(first, a_pod("first").cpu(1).on(n)));
  CHECK(w.run().empty());
  CHECK(heard() == 0);
  *share = 1;
  w.must(w.scheduler.forget_cached());
  w.must(w.cluster.update_pod(first, a_pod("first").cpu(2).on(n)));
  CHECK(w.run() == words{"bind p n"});
  CHECK(heard() == 1);
}

TEST_CASE("by hints a pod that was updated while it waited hears of events when its class's number is another's",
          "[engine][wake]") {
  const turns none;
  house h{1, wake_rule::hints, none.turn, table_with()};
  for (const auto& [pod, spec] : h.single) h.both([&](auto& its) { its.places.take_out({pod.row, false}); });
  pod_spec lone = a_pod("lone").cpu_milli(123);
  const pod_id pod = h.add(lone);
  h.real.waiting.grow();
  const auto park = [&](pod_id who) {
    engine::rejection by;
    by.unschedulable = engine::plugin_bit(h.profiles.front(), h.profiles.front().hooks(point::filter)[0]);
    h.real.waiting.add(who.row, by, engine::unknown_rejectors, h.attempts, nullptr);
  };
  park(pod);
  const class_id before = h.state.pods.cls[pod.row];
  lone.containers.back().requests["cpu"] = quantity::from_milli(124);
  world::must(h.cluster.update_pod(pod, lone));
  CHECK(h.state.class_of(pod.row) != before);
  h.state.classes.sweep();
  const pod_id next = h.add(a_pod("next").cpu_milli(125));
  REQUIRE(h.state.class_of(next.row) == before);
  h.real.waiting.grow();
  park(next);
  h.cache.start_over();
  const std::uint64_t position = h.state.log.end();
  h.add(h.node_of(50));
  std::vector<engine::object_event> happened;
  h.cache.read(h.state.log[position], happened);
  for (const engine::object_event& one : happened) {
    engine::queueing_event what = h.real.judge.queueing_event_of(one);
    h.real.waiting.on_event(one, what, position);
  }
  CHECK(h.real.places.find({pod.row, false})->where != place::unschedulable);
  CHECK(h.real.places.find({next.row, false})->where != place::unschedulable);
}

TEST_CASE("a class that no member is of any more says nothing for its group, whether it is known still or not",
          "[engine][wake]") {
  const turns none;
  house h{1, wake_rule::one_per_class, none.turn, table_with()};
  a_gang gang("leaving", 1);
  const group_id group = h.add(gang);
  pod_spec stays = a_pod("stays").cpu_milli(123), leaves = a_pod("leaves").cpu_milli(124).select("rack", "far");
  stays.group = leaves.group = group;
  const pod_id left = h.add(leaves);
  engine::rejected_group one{group, {}, 0};
  for (const row_t pod : {h.add(stays).row, left.row}) {
    const class_id cls = h.state.class_of(pod);
    one.classes.emplace_back(cls, h.state.classes.generation(cls));
  }
  for (const plugin_entry& plugin : h.profiles.front().plugins) {
    if (plugin.name == "NodeAffinity") one.rejectors = engine::plugin_bit(h.profiles.front(), plugin);
  }
  REQUIRE(one.rejectors != 0);
  h.add(a_node("full").cpu(0));
  const change record = h.state.log[h.state.log.end() - 1];
  const auto helps = [&] { return h.real.judge.helps(one, record, h.real.judge.event_of(record)); };
  CHECK_FALSE(helps());
  world::must(h.cluster.remove_pod(left));
  CHECK(helps());  // nobody is left whom the plugin rejects
  h.state.classes.sweep();
  CHECK(helps());
}

}  // namespace gangsched::testing::unschedulable_pods_test
