#include "gangsched/plugins/group_preemption.hpp"

#include "engine/world.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

// Preemption by groups and of groups, decided by a scheduler of its own. The recorded cases of 1.36 are in tests/conformance.
namespace gangsched::testing::group_preemption_test {

namespace {

/// The default profile with another group_preemption, or with none.
kernel_table with(std::optional<group_preemption> chosen) {
  kernel_table table = profiles::kube_default();
  for (auto& order : table.order) {
    std::erase_if(order, [&](std::uint16_t index) { return table.plugins[index].name == group_preemption::name; });
  }
  for (plugin_entry& one : table.plugins) {
    if (one.name == group_preemption::name) one.name = "unused", one.points = {};
  }
  if (chosen) add_plugin(table, lower(*std::move(chosen)));
  return table;
}

struct running : a_pod {
  running(const std::string& name, int cpus, std::int32_t importance = 0) : a_pod(name) {
    cpu(cpus), priority(importance);
  }
  running& since(int seconds) { return spec.start_time = std::chrono::seconds{seconds}, *this; }
};

struct fixture : world {
  using world::world;
  void nodes(const std::vector<std::string>& all, int cpus = 2) {
    for (const std::string& name : all) add(a_node{name}.cpu(cpus).label("rack", name.substr(0, 1)));
  }
  pod_id run_on(const char* node_name, running pod) { return add(pod.on(node(node_name))); }
  /// A gang of so many pending members.
  group_id gang_of(int count, int cpus, std::int32_t importance, a_gang gang) {
    const group_id made = add(gang.priority(importance));
    for (int i = 0; i < count; ++i) {
      add(a_pod{gang.spec.name + "-" + std::to_string(i)}.cpu(cpus).priority(importance).in(made));
    }
    return made;
  }
  group_id victims(const char* name, disruption_mode mode, std::int32_t importance = 0) {
    a_gang made{name, 1};
    made.spec.disruption = mode;
    return add(made.priority(importance));
  }
  void budget(const std::string& name, const std::string& app) {
    must(cluster.add_disruption_budget({.name = name, .selector = label_selector{.match_labels = {{"app", app}}}}));
  }
  /// Who is evicted in the first cycle.
  words evicted() {
    words all;
    for (const std::string& one : cycle()) {
      if (one.starts_with("evict ")) all.push_back(one.substr(6, one.rfind(' ') - 6));
    }
    return sorted(all);
  }
};

}  // namespace

TEST_CASE("a gang makes room for all its members, each of which is nominated, and is bound when the victims are gone") {
  fixture w;
  w.nodes({"n", "m"});
  const pod_id a = w.run_on("n", {"a", 2}), b = w.run_on("m", {"b", 2});
  w.gang_of(2, 2, 9, a_gang{"g", 2});
  CHECK(sorted(w.cycle()) == words{"evict a n", "evict b m", "nominate g-0 n", "nominate g-1 m"});
  CHECK(w.cluster.nominated_node_of(w.pod("g-1")) == w.node("m"));
  w.remove(a);
  w.remove(b);
  w.now += 20s;
  CHECK(sorted(w.run()) == words{"bind g-0 n", "bind g-1 m"});
}

TEST_CASE("B26, B34: nobody goes if the gang would not fit then") {
  fixture w;
  w.nodes({"n", "m"});
  w.run_on("n", {"low", 2});
  w.run_on("m", {"high", 2, 99});
  w.gang_of(2, 2, 9, a_gang{"g", 2});
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject g-0", "reject g-1"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
}

TEST_CASE("B36: nobody of the same or a higher priority goes, and nobody is bound in the cycle that evicts") {
  fixture w;
  w.nodes({"n", "m", "o"});
  w.run_on("n", {"low", 2, 8});
  w.run_on("m", {"equal", 2, 9});
  w.run_on("o", {"high", 2, 10});
  w.gang_of(2, 2, 9, a_gang{"g", 1});
  const words said = w.cycle();
  CHECK(std::count(said.begin(), said.end(), "evict low n") == 1);
  CHECK(std::none_of(said.begin(), said.end(), [](const std::string& one) {
    return one.starts_with("bind ") || one == "evict equal m" || one == "evict high o";
  }));
}

TEST_CASE("B27: a group whose disruption is all goes as a whole; of others the pod alone") {
  const bool whole = GENERATE(true, false);
  fixture w;
  w.nodes({"n", "m"});
  const group_id v = w.victims("v", whole ? disruption_mode::all : disruption_mode::single);
  running first{"v-0", 2}, second{"v-1", 1};
  first.in(v), second.in(v);
  w.run_on("n", first);
  w.run_on("m", second);
  w.gang_of(1, 2, 9, a_gang{"g", 1});
  const words gone = w.evicted();
  if (whole)
    CHECK(gone == words{"v-0", "v-1"});
  else
    CHECK(gone.size() == 1);
}

TEST_CASE(
    "B28: of equal priority a pod goes before a group, the smaller group before the larger, the younger pod before the "
    "older") {
  fixture w;
  w.nodes({"n", "m"});
  SECTION("pod and group") {
    running v{"v-0", 2};
    v.since(9).in(w.victims("v", disruption_mode::all));
    w.run_on("n", v);
    w.run_on("m", running{"s", 2}.since(1));
    w.gang_of(1, 2, 9, a_gang{"g", 1});
    CHECK(w.evicted() == words{"s"});
  }
  SECTION("groups") {
    const group_id big = w.victims("big", disruption_mode::all), small = w.victims("small", disruption_mode::all);
    running b0{"b-0", 1}, b1{"b-1", 1}, s0{"s-0", 2};
    b0.in(big), b1.in(big), s0.in(small);
    w.run_on("n", b0);
    w.run_on("n", b1);
    w.run_on("m", s0);
    w.gang_of(1, 2, 9, a_gang{"g", 1});
    CHECK(w.evicted() == words{"s-0"});
  }
  SECTION("pods") {
    w.run_on("n", running{"old", 2}.since(1));
    w.run_on("m", running{"young", 2}.since(2));
    w.gang_of(1, 2, 9, a_gang{"g", 1});
    CHECK(w.evicted() == words{"young"});
  }
}

TEST_CASE("B29, B30: broken budgets weigh more than priorities, and one protected member protects its whole group") {
  fixture w;
  w.nodes({"n", "m"});
  w.budget("b", "db");
  running low{"low", 2, 0}, mid{"mid", 2, 5};
  low.label("app", "db");
  SECTION("one protected") {
    w.run_on("n", low);
    w.run_on("m", mid);
    w.gang_of(1, 2, 9, a_gang{"g", 1});
    CHECK(w.evicted() == words{"mid"});
  }
  SECTION("both protected") {
    mid.label("app", "db");
    w.run_on("n", mid);
    w.run_on("m", low);
    w.gang_of(1, 2, 9, a_gang{"g", 1});
    CHECK(w.evicted() == words{"low"});
  }
  SECTION("a member") {
    const group_id v = w.victims("v", disruption_mode::all);
    running one{"v-0", 1}, other{"v-1", 1};
    one.in(v), other.in(v).label("app", "db");
    w.run_on("n", one);
    w.run_on("n", other);
    w.run_on("m", mid);
    w.gang_of(1, 2, 9, a_gang{"g", 1});
    CHECK(w.evicted() == words{"mid"});
  }
}

TEST_CASE("B31: the priority of the tree protects a pod, not its own") {
  fixture w;
  w.nodes({"n"});
  const disruption_mode mode = GENERATE(disruption_mode::all, disruption_mode::single);
  running v{"v-0", 2, 100};
  v.in(w.victims("v", mode, 10));
  w.run_on("n", v);
  SECTION("against a gang") {
    w.gang_of(1, 2, 50, a_gang{"g", 1});
    CHECK(w.evicted() == words{"v-0"});
  }
  SECTION("against a gang of equal priority") {
    w.gang_of(1, 2, 10, a_gang{"g", 1});
    CHECK(w.evicted().empty());
  }
  SECTION("against a pod") {
    w.add(a_pod{"p"}.cpu(2).priority(50));
    CHECK(w.evicted() == words{"v-0"});
  }
}

TEST_CASE("B32: a group that may not preempt does not") {
  fixture w;
  w.nodes({"n"});
  w.run_on("n", {"low", 2});
  a_gang gang{"g", 1};
  const bool by_group = GENERATE(true, false);
  if (by_group) gang.spec.preemption = preemption_policy::never;
  const group_id made = w.add(gang.priority(9));
  a_pod member{"g-0"};
  member.cpu(2).priority(9).in(made);
  if (!by_group) member.spec.preemption = preemption_policy::never;
  w.add(member);
  CHECK(w.run() == words{"reject g-0"});
}

TEST_CASE("B33: no second round while victims terminate; nominations stay") {
  fixture w;
  w.nodes({"n", "m"});
  const pod_id low = w.run_on("n", {"low", 2});
  w.run_on("m", {"lowest", 2, -1});
  w.gang_of(1, 2, 9, a_gang{"g", 1});
  CHECK(w.evicted() == words{"lowest"});
  running going{"lowest", 2, -1};
  going.spec.node = w.node("m"), going.spec.terminating = true, going.spec.preempted = true;
  w.must(w.cluster.update_pod(w.pod("lowest"), going));
  w.now += 6min;
  CHECK(w.run() == words{"reject g-0"});
  CHECK(w.cluster.nominated_node_of(w.pod("g-0")) == w.node("m"));
  w.remove(low);  // there is room elsewhere: it need not wait
  w.now += 6min;
  CHECK(w.run() == words{"bind g-0 n"});
}

TEST_CASE("B16, B17: of a running gang's new members one that fits is bound first; only if none fits others go") {
  fixture w;
  w.nodes({"n", "m"});
  const group_id gang = w.add(a_gang{"g", 1}.priority(9));
  running first{"g-0", 1, 9};
  first.in(gang);
  w.run_on("n", first);
  w.run_on("m", {"low", 2});
  w.add(a_pod{"g-1"}.cpu(1).priority(9).in(gang));
  w.add(a_pod{"g-2"}.cpu(1).priority(9).in(gang));
  CHECK(w.cycle() == words{"bind g-1 n", "reject g-2"});
  CHECK(sorted(w.cycle()) == words{"evict low m", "nominate g-2 m"});
  CHECK(w.cycle().empty());
}

TEST_CASE("B35: as many members as could be placed stay placed, though the minimum is less") {
  fixture w;
  w.nodes({"n", "m", "o"});
  for (const char* node : {"n", "m", "o"}) w.run_on(node, {std::string{"low-"} + node, 2});
  w.gang_of(3, 2, 9, a_gang{"g", 1});
  CHECK(w.evicted() == words{"low-m", "low-n", "low-o"});
}

TEST_CASE("an elastic gang has nobody evicted for more members than it desires") {
  fixture w;
  w.nodes({"n", "m", "o"});
  for (const char* node : {"n", "m", "o"}) w.run_on(node, {std::string{"low-"} + node, 2});
  a_gang gang{"g", 1};
  std::get<gangsched::gang>(gang.spec.policy).desired_count = 2;
  w.gang_of(3, 2, 9, gang);
  const words said = w.cycle();
  CHECK(std::count_if(said.begin(), said.end(), [](const std::string& one) { return one.starts_with("evict"); }) == 2);
  CHECK(std::count_if(said.begin(), said.end(), [](const std::string& one) { return one.starts_with("nominate"); }) ==
        2);
  CHECK(std::count(said.begin(), said.end(), "reject g-2") == 1);
}

TEST_CASE("surplus: members above the minimum go one by one, then the rest as one") {
  fixture w;
  w.nodes({"n", "m", "o"});
  a_gang gang{"v", 2};
  gang.spec.disruption = disruption_mode::surplus;
  const group_id v = w.add(gang.priority(0));
  int number = 0;
  for (const char* node : {"n", "m", "o"}) {
    running one{"v-" + std::to_string(number), 2};
    one.since(++number).in(v);
    w.run_on(node, one);
  }
  const int wanted = GENERATE(1, 2);
  w.gang_of(wanted, 2, 9, a_gang{"g", wanted});
  CHECK(w.evicted() == (wanted == 1 ? words{"v-2"} : words{"v-0", "v-1", "v-2"}));
}

TEST_CASE("surplus: a pod that preempts takes one member above the minimum, or the whole gang") {
  fixture w;
  w.nodes({"n", "m"}, 4);
  a_gang gang{"v", 2};
  gang.spec.disruption = disruption_mode::surplus;
  const group_id v = w.add(gang.priority(0));
  int number = 0;
  for (const char* node : {"n", "n", "m"}) {
    running one{"v-" + std::to_string(number), 2};
    one.since(++number).in(v);
    w.run_on(node, one);
  }
  w.run_on("m", {"stays", 2, 99});
  const bool large = GENERATE(false, true);
  w.add(a_pod{"p"}.cpu(large ? 4 : 2).priority(9));
  CHECK(w.evicted() == (large ? words{"v-0", "v-1", "v-2"} : words{"v-2"}));
}

TEST_CASE("surplus: an extender that leaves the victims as they are is believed, though some are on other nodes") {
  std::size_t asked = 0;
  fixture w{profile{priority_sort{}, node_resources_fit{}, gang_scheduling{},
                    default_preemption{}.ask({.preempt = [&](const pod_info&, const cluster_view&,
                                                             std::vector<default_preemption::candidate>&) {
                      ++asked;
                      return true;
                    }})}};
  w.nodes({"n", "m"});
  a_gang gang{"v", 2};
  gang.spec.disruption = disruption_mode::surplus;
  const group_id v = w.add(gang.priority(0));
  for (const char* node : {"n", "m"}) {
    running one{std::string{"v-"} + node, 2};
    one.in(v);
    w.run_on(node, one);
  }
  w.add(a_pod{"p"}.cpu(2).priority(9));
  CHECK(w.evicted() == words{"v-m", "v-n"});
  CHECK(asked == 1);
}

TEST_CASE("of victims as important the one that started last goes, though no other could have started earlier") {
  fixture w;
  w.nodes({"n", "m"});
  running first{"first", 2}, last{"last", 2};
  first.spec.start_time = instant::min(), last.spec.start_time = instant{};
  w.run_on("n", first), w.run_on("m", last);
  w.add(a_pod{"p"}.cpu(2).priority(9));
  CHECK(w.evicted() == words{"last"});
}

TEST_CASE("B49: in a tree the highest group that goes as a whole takes everything below it along") {
  fixture w;
  w.nodes({"n", "m"});
  group_spec root = a_gang{"root", 1}.priority(0);
  root.composite = true, root.disruption = disruption_mode::all;
  const group_id top = w.add(root);
  for (const char* name : {"n", "m"}) {
    group_spec leaf = a_gang{std::string{"leaf-"} + name, 1};
    leaf.parent = top, leaf.disruption = disruption_mode::all;
    running one{std::string{"v-"} + name, 2, 99};  // the root's priority counts
    one.in(w.add(leaf));
    w.run_on(name, one);
  }
  SECTION("for a gang") {
    w.gang_of(1, 2, 9, a_gang{"g", 1});
    CHECK(w.evicted() == words{"v-m", "v-n"});
  }
  SECTION("for a pod") {
    w.add(a_pod{"p"}.cpu(2).priority(9));
    CHECK(w.evicted() == words{"v-m", "v-n"});
  }
}

TEST_CASE("B37: a pod that preempts counts the whole group it would disturb when it compares nodes") {
  const bool old_release = GENERATE(false, true);
  fixture w{profiles::kube_default(), world::lowest_first(),
            cluster_options{.semantics = kube_semantics{old_release ? kube_release::v1_36 : kube_release::v1_37}}};
  w.nodes({"n", "m", "o"});
  const group_id v = w.victims("v", disruption_mode::all);
  running v0{"v-0", 2}, v1{"v-1", 2};
  v0.in(v).label("x", "y"), v1.in(v);
  w.run_on("n", v0);
  w.run_on("o", v1);
  w.run_on("m", {"a", 1});
  w.run_on("m", {"b", 1});
  w.add(a_pod{"p"}.cpu(2).priority(9));
  // Two pods either way: the first node, with the rest of its group on another one. Until 1.36 one pod there is cheaper.
  CHECK(w.evicted() == (old_release ? words{"v-0"} : words{"v-0", "v-1"}));
}

TEST_CASE("until 1.36 a pod is protected from a pod's preemption by its own priority, from 1.37 on by its group's") {
  const bool old_release = GENERATE(false, true);
  const bool important_group = GENERATE(false, true);
  fixture w{profiles::kube_default(), world::lowest_first(),
            cluster_options{.semantics = kube_semantics{old_release ? kube_release::v1_36 : kube_release::v1_37}}};
  w.nodes({"n"});
  const group_id group = w.add(group_spec{.name = "v", .priority = important_group ? 30 : 0});
  running victim{"victim", 2, important_group ? 0 : 30};
  victim.in(group);
  w.run_on("n", victim);
  w.add(a_pod{"p"}.cpu(2).priority(20));
  CHECK(w.evicted() == (important_group == old_release ? words{"victim"} : words{}));
}

TEST_CASE("what a node would cost a pod is not remembered while a group there reaches to other nodes") {
  fixture w;
  w.nodes({"n", "m", "o", "q"});
  const group_id v = w.victims("v", disruption_mode::all);
  running v0{"v-0", 2};
  v0.in(v);
  w.run_on("n", v0);
  w.run_on("m", {"a", 1});
  w.run_on("m", {"b", 1});
  const pod_id cheapest = w.run_on("o", {"cheapest", 2, -1});
  w.run_on("q", {"stays", 2, 99});
  w.add(a_pod{"p"}.cpu(2).priority(9));
  CHECK(w.evicted() == words{"cheapest"});
  w.remove(cheapest);
  w.now += 20s;
  CHECK(w.run(true) == words{"bind p o"});
  for (const char* name : {"v-1", "v-2"}) {
    running more{name, 0};
    more.in(v);
    w.run_on("q", more);
  }
  w.add(a_pod{"r"}.cpu(2).priority(9));
  CHECK(w.evicted() == words{"a", "b"});  // two pods; the group has three now
}

TEST_CASE("of several racks the one whose victims cost least is taken, by Kubernetes' rule the fullest") {
  const bool kubernetes = GENERATE(false, true);
  fixture w{with(kubernetes ? group_preemption{group_preemption::rule::kubernetes} : group_preemption{})};
  w.nodes({"a1", "a2", "b1"}, 4);
  w.run_on("a1", {"cheap", 2, 1});
  w.run_on("a2", {"stays", 4, 99});
  w.run_on("b1", {"dear", 4, 5});
  w.gang_of(2, 2, 9, a_gang{"g", 2}.topology("rack"));
  // With everybody gone rack a is used to 8 of 8, rack b to 4 of 4: a comes first. Then swap what it costs.
  CHECK(w.evicted() == words{"cheap"});
  fixture x{with(kubernetes ? group_preemption{group_preemption::rule::kubernetes} : group_preemption{})};
  x.nodes({"a1", "a2", "b1"}, 4);
  x.run_on("a1", {"dear", 4, 5});
  x.run_on("a2", {"stays", 4, 99});
  x.run_on("b1", {"cheap", 2, 1});
  x.gang_of(2, 2, 9, a_gang{"g", 2}.topology("rack"));
  CHECK(x.evicted() == (kubernetes ? words{"dear"} : words{"cheap"}));
}

TEST_CASE("the host says what work would be lost") {
  const auto hours = [](const pod_info& pod) {
    return pod.label("hours") ? std::stoll(std::string{*pod.label("hours")}) : 0;
  };
  fixture w{with(group_preemption{group_preemption::rule::least_disruption, hours})};
  w.nodes({"a1", "b1"});
  running much{"much", 2}, little{"little", 2};
  much.label("hours", "90"), little.label("hours", "1");
  w.run_on("a1", much.since(9));  // the younger: it would go otherwise
  w.run_on("b1", little.since(1));
  w.gang_of(1, 2, 9, a_gang{"g", 1}.topology("rack"));
  CHECK(w.evicted() == words{"little"});
}

TEST_CASE("arguments: the rule") {
  const auto from = [](const char* rule) { return group_preemption::from(argument::fields{{"rule", rule}}); };
  CHECK(group_preemption::from({}).has_value());
  CHECK(from("Kubernetes").has_value());
  CHECK(from("LeastDisruption").has_value());
  REQUIRE_FALSE(from("Fast").has_value());
  CHECK(from("Fast").error().message().find("args.rule") != std::string::npos);
}

// --- nobody goes without need

namespace {

struct drawn {
  std::vector<int> cpus;  ///< of nodes
  struct pod {
    int node, cpus, priority, group;  ///< group: -1 for none
  };
  std::vector<pod> pods;
  std::vector<bool> whole;  ///< groups
  int members, member_cpus, least;
  bool racks;

  explicit drawn(std::uint64_t seed) {
    dice roll{seed};
    const int count = 2 + static_cast<int>(roll.below(4));
    for (int i = 0; i < count; ++i) cpus.push_back(2 + static_cast<int>(roll.below(4)));
    for (int i = 0; i < 3; ++i) whole.push_back(roll.below(2) == 0);
    std::vector<int> left = cpus;
    for (int i = 0; i < 12; ++i) {
      const int node = static_cast<int>(roll.below(static_cast<std::uint32_t>(count)));
      const int wanted = 1 + static_cast<int>(roll.below(2));
      int& room = left[static_cast<std::size_t>(node)];
      if (wanted > room) continue;
      room -= wanted;
      pods.push_back({node, wanted, static_cast<int>(roll.below(4)), static_cast<int>(roll.below(5)) - 2});
    }
    members = 1 + static_cast<int>(roll.below(4));
    member_cpus = 1 + static_cast<int>(roll.below(3));
    least = 1 + static_cast<int>(roll.below(static_cast<std::uint32_t>(members)));
    racks = roll.below(3) == 0;
  }
  /// The cluster, without the pods of these names.
  void build(fixture& w, const words& gone) const {
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      w.add(a_node{"n" + std::to_string(i)}.cpu(cpus[i]).label("rack", i % 2 == 0 ? "a" : "b"));
    }
    std::vector<group_id> groups;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      groups.push_back(w.victims(("v" + std::to_string(i)).c_str(),
                                 whole[i] ? disruption_mode::all : disruption_mode::single,
                                 static_cast<std::int32_t>(i)));
    }
    for (std::size_t i = 0; i < pods.size(); ++i) {
      running one{"p" + std::to_string(i), pods[i].cpus, pods[i].group >= 0 ? pods[i].group : pods[i].priority};
      one.since(static_cast<int>(i));
      if (pods[i].group >= 0) one.in(groups[static_cast<std::size_t>(pods[i].group)]);
      if (std::find(gone.begin(), gone.end(), one.spec.name) == gone.end())
        w.run_on(("n" + std::to_string(pods[i].node)).c_str(), one);
    }
    a_gang gang{"g", least};
    if (racks) gang.topology("rack");
    w.gang_of(members, member_cpus, 3, gang);
  }
  [[nodiscard]] std::size_t placed_without(const words& gone) const {
    fixture w{with(std::nullopt)};
    build(w, gone);
    const words said = w.cycle();
    return static_cast<std::size_t>(
        std::count_if(said.begin(), said.end(), [](const std::string& one) { return one.starts_with("bind"); }));
  }
  /// The victims that go together with this one.
  [[nodiscard]] words unit_of(const std::string& victim) const {
    const pod& its = pods[static_cast<std::size_t>(std::stoi(victim.substr(1)))];
    words all;
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const bool same = "p" + std::to_string(i) == victim ||
                        (its.group >= 0 && whole[static_cast<std::size_t>(its.group)] && pods[i].group == its.group);
      if (same) all.push_back("p" + std::to_string(i));
    }
    return all;
  }
};

}  // namespace

TEST_CASE("putting any victim back leaves room for fewer members", "[property]") {
  int with_victims = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const drawn one{seed};
    fixture w;
    one.build(w, {});
    words gone;
    std::size_t nominated = 0;
    for (const std::string& said : w.cycle()) {
      if (said.starts_with("evict ")) gone.push_back(said.substr(6, said.rfind(' ') - 6));
      nominated += said.starts_with("nominate ") ? 1 : 0;
    }
    if (gone.empty()) continue;
    ++with_victims;
    INFO("seed " << seed);
    REQUIRE(nominated >= static_cast<std::size_t>(one.least));
    REQUIRE(one.placed_without(gone) >= nominated);
    for (const std::string& victim : gone) {
      const words unit = one.unit_of(victim);
      words fewer;
      for (const std::string& other : gone) {
        if (std::find(unit.begin(), unit.end(), other) == unit.end()) fewer.push_back(other);
      }
      INFO("put back " << victim);
      REQUIRE(gone.size() - fewer.size() == unit.size());  // units go as a whole
      REQUIRE(one.placed_without(fewer) < nominated);
    }
  }
  CHECK(with_victims > 100);
}

TEST_CASE("who is put back may not be a member of a group that affinity keeps the gang away from, or beside") {
  const bool apart = GENERATE(true, false), tree = GENERATE(false, true);
  const auto rule = GENERATE(group_preemption::rule::least_disruption, group_preemption::rule::kubernetes);
  fixture w{with(group_preemption{rule})};
  w.nodes({"a", "b"}, 4);
  const group_id other = w.add(a_gang{"other", 1});
  running there{"there", 1};
  there.in(other);
  w.run_on("a", there);
  const char* const where = apart ? "a" : "b";  // the only node with room for the gang, once all that may go is gone
  w.run_on(apart ? "b" : "a", {"stays", apart ? 4 : 3, 99});
  group_spec spec{.name = "g", .policy = gang{.min_count = 1}, .priority = 9};
  spec.affinity = {{.to = other, .key = "rack", .apart = apart}};
  if (tree) {
    spec.name = "tree", spec.composite = true;
    const group_id root = w.add(spec);
    spec = {.name = "g", .policy = gang{.min_count = 1}, .parent = root, .priority = 9};
  }
  w.add(a_pod{"p"}.cpu(2).priority(9).in(w.add(spec)));
  CHECK(sorted(w.cycle()) == words{"evict there a", "nominate p " + std::string{where}});
  w.remove(w.pod("there"));
  CHECK(w.run_at(20s) == words{"bind p " + std::string{where}});
}

}  // namespace gangsched::testing::group_preemption_test
