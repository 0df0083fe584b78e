// Devices through the engine: who gets which, in pods, gangs and trials.
#include "world.hpp"

namespace gangsched::testing::devices_test {

namespace {

/// "bind p n 0:300 1" with the GPUs that the pod got; shares with their thousandths.
words with_devices(world& w) {
  words all;
  while (const cycle done = w.scheduler.schedule_cycle(w.now)) {
    for (const decision& one : done) {
      std::string text = w.word(one);
      for (const device_grant& grant : one.devices) {
        (text += ' ') += w.cluster.name_of(one.node, grant);
        if (grant.kind == device_grant::form::share) text += ":" + std::to_string(grant.milli);
      }
      all.push_back(std::move(text));
    }
  }
  return all;
}

struct second_gpu {
  static constexpr std::string_view name = "SecondGpu";
  using points = implements<point::choose_devices>;
  std::int8_t gpu = 1;
  std::uint32_t gpus = 0;
  [[nodiscard]] device_rules choose_devices(const pod_view&, node_view<reads::devices>) const {
    return {.gpu = gpu, .gpus = gpus};
  }
};

struct widest {
  static constexpr std::string_view name = "Widest";
  using points = implements<point::choose_devices>;
  [[nodiscard]] device_rules choose_devices(const pod_view&, node_view<reads::devices>) const {
    return {.share = share_rule::widest};
  }
};
kernel_table with_widest(bool filter) {
  if (filter) return profile{priority_sort{}, widest{}, device_fit{}};
  return profile{priority_sort{}, widest{}};
}

/// The next cycle, which a choice ends: the error and what was said to the host.
std::string broken(world& w) {
  const cycle done = w.scheduler.schedule_cycle(w.now);
  if (done.error() == nullptr) return {};
  CHECK(done.error()->code == errc::contract);
  for (const decision& one : done) CHECK(one.kind == decision_kind::reject);
  return done.error()->object + ": " + done.error()->reason;
}

}  // namespace

TEST_CASE("decisions say which devices a pod got", "[engine][devices]") {
  world w;
  w.add(a_node{"n"}.cpu(64).cards(4));
  w.add(a_pod{"a"}.milli(600));
  w.add(a_pod{"b"}.milli(600));
  w.add(a_pod{"c"}.milli(400));
  w.add(a_pod{"d"}.cards(2));
  w.add(a_pod{"e"}.cards(1));
  w.add(a_pod{"none"}.cpu(1));
  CHECK(with_devices(w) ==
        words{"bind a n 0:600", "bind b n 1:600", "bind c n 0:400", "bind d n 2 3", "reject e", "bind none n"});
  const auto why = w.scheduler.explain(w.pod("e"));
  REQUIRE(why);
  CHECK(why->summary.find("didn't have enough free GPUs") != std::string::npos);
  w.remove(w.pod("d"));
  CHECK(with_devices(w) == words{"bind e n 2"});
}

TEST_CASE("GPUs that are asked for by number are chosen, and both counts agree", "[engine][devices]") {
  world w;
  w.add(a_node{"told"}.cpu(64).gpus(2).cards(2));
  w.add(a_pod{"a"}.gpus(1));
  w.add(a_pod{"b"}.gpus(1));
  w.add(a_pod{"c"}.gpus(1));
  CHECK(with_devices(w) == words{"bind a told 0", "bind b told 1", "reject c"});
  w.add(a_node{"counted"}.cpu(64).gpus(2));
  CHECK(with_devices(w) == words{"bind c counted"});
}

TEST_CASE("a gang gets all its devices or none, and a rejected one leaves no trace", "[engine][devices]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(64).cards(4));
  const group_id gang = w.add(a_gang{"gang", 9});
  for (int i = 0; i < 9; ++i) w.add(a_pod{"m" + std::to_string(i)}.milli(500).in(gang));
  for (const std::string& one : w.run()) CHECK(one.starts_with("reject"));
  for (std::size_t gpu = 0; gpu < 4; ++gpu) CHECK(w.cluster.devices_of(n).gpu(gpu).idle());
  w.remove(w.pod("m8"));
  w.must(w.cluster.update_group(gang, a_gang{"gang", 8}));
  CHECK(w.run_at(1h).size() == 8);
  for (std::size_t gpu = 0; gpu < 4; ++gpu) CHECK(w.cluster.devices_of(n).gpu(gpu).milli() == whole_gpu);
}

TEST_CASE("a gang goes to the domain that has the devices for all of it", "[engine][devices]") {
  world w;
  for (int i = 0; i < 8; ++i) {
    w.add(a_node{"n" + std::to_string(i)}.cpu(64).cards(4).label("rack", i < 4 ? "a" : "b"));
  }
  for (int i = 0; i < 3; ++i) w.add(a_pod{"first" + std::to_string(i)}.milli(100).on(w.node("n" + std::to_string(i))));
  a_gang spec{"gang", 16};
  spec.spec.topology.within = {"rack"};
  const group_id gang = w.add(spec);
  for (int i = 0; i < 16; ++i) w.add(a_pod{"m" + std::to_string(i)}.cards(1).in(gang));
  const words all = w.run();
  CHECK(all.size() == 16);
  for (const std::string& one : all) CHECK(one.substr(one.rfind('n') + 1) >= "4");
}

TEST_CASE("victims leave the devices they really hold", "[engine][devices]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(64).cards(2));
  // Both GPUs are shared: only the pods on one of them need to go for a whole one.
  for (const char* name : {"a", "b", "c", "d"}) {
    a_pod made = a_pod{name}.milli(400).on(n);
    made.spec.held_devices = {{.id = name[0] < 'c' ? "0" : "1"}};
    w.add(made.priority(name[0] == 'a' ? 5 : 1));
  }
  w.add(a_pod{"whole"}.cards(1).priority(10));
  CHECK(w.run() == words{"nominate whole n", "evict c n", "evict d n"});
  w.remove(w.pod("c"));
  w.remove(w.pod("d"));
  CHECK(with_devices(w) == words{"bind whole n 1"});
}

TEST_CASE("what fails is given back, and a pod that comes again may get other devices", "[engine][devices]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(64).cards(2));
  const pod_id p = w.add(a_pod{"p"}.milli(700));
  CHECK(with_devices(w) == words{"bind p n 0:700"});
  w.fail(p);
  CHECK(w.cluster.devices_of(n).gpu(0).idle());
  CHECK(w.cluster.devices_of(p).empty());
  w.add(a_pod{"whole"}.cards(1));
  CHECK(with_devices(w) == words{"bind whole n 0"});
  w.now = 1h;
  CHECK(with_devices(w) == words{"bind p n 1:700"});
}

TEST_CASE("a device that becomes healthy wakes who waits for it", "[engine][devices]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::hints}) {
    scheduler_options options = world::lowest_first();
    options.wake = rule;
    world w{profiles::kube_default(), options};
    const node_id n = w.add(a_node{"n"}.cpu(64).cards(1));
    w.must(w.cluster.set_device_health(n, "0", false));
    w.add(a_pod{"p"}.cards(1));
    CHECK(w.run() == words{"reject p"});
    w.must(w.cluster.set_device_health(n, "0", true));
    CHECK(w.run_at(1h) == words{"bind p n"});
  }
}

TEST_CASE("a plugin chooses the GPU of a share", "[engine][devices]") {
  world w{profile{priority_sort{}, second_gpu{}, node_resources_fit{}, device_fit{}}};
  w.add(a_node{"n"}.cpu(64).cards(2));
  w.add(a_pod{"a"}.milli(600));
  w.add(a_pod{"b"}.milli(400));
  w.add(a_pod{"whole"}.cards(1));  // not for the plugin to say
  CHECK(with_devices(w) == words{"bind a n 1:600", "bind b n 1:400", "bind whole n 0"});
}

TEST_CASE("a GPU that a plugin chose and nobody can have is an error that names plugin, node and pod",
          "[engine][devices]") {
  world w{profile{priority_sort{}, second_gpu{}, node_resources_fit{}, device_fit{}}};
  const node_id n = w.add(a_node{"n"}.cpu(64).cards(2));
  w.add(a_pod{"a"}.milli(600));
  CHECK(with_devices(w) == words{"bind a n 1:600"});
  w.add(a_pod{"b"}.milli(600));
  CHECK(broken(w) ==
        "pod default/b: plugin SecondGpu, node n: pod default/b: choose_devices chose a GPU that has no room for the "
        "pod");
  CHECK(w.cluster.state_of(w.pod("b")) == pod_state::pending);
  CHECK(w.cluster.devices_of(n).gpu(0).idle());
  w.remove(w.pod("b"));

  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(a_pod{"m0"}.milli(300).in(gang));
  w.add(a_pod{"m1"}.milli(300).in(gang));
  CHECK(broken(w) ==
        "group default/gang: plugin SecondGpu, node n: pod default/m1: choose_devices chose a GPU that has no room for "
        "the pod");
  CHECK(w.cluster.devices_of(n).gpu(1).milli() == 600);

  world several{profile{priority_sort{}, second_gpu{.gpu = -1, .gpus = 0b11}, node_resources_fit{}, device_fit{}}};
  several.add(a_node{"n"}.cpu(64).cards(3));
  several.add(a_pod{"a"}.cards(1));
  CHECK(broken(several) ==
        "pod default/a: plugin SecondGpu, node n: pod default/a: choose_devices chose more or fewer GPUs than the pod "
        "asks for");
  several.remove(several.pod("a"));
  several.add(a_pod{"b"}.device({.count = 2, .milli = 500}));
  CHECK(with_devices(several) == words{"bind b n 0:500 1:500"});

  world none{profile{priority_sort{}, second_gpu{.gpu = 5}, node_resources_fit{}, device_fit{}}};
  none.add(a_node{"n"}.cpu(64).cards(2));
  none.add(a_pod{"a"}.milli(600));
  CHECK(
      broken(none) ==
      "pod default/a: plugin SecondGpu, node n: pod default/a: choose_devices chose a GPU that the node does not have");
}

TEST_CASE("rules that lead nowhere leave the choice to the next plugin, and are an error if there is none",
          "[engine][devices]") {
  // Two shares, of which the larger one has to go to the second GPU: by the widest rule the smaller one takes its place.
  const auto fill = [](world& w) {
    w.add(a_node{"n"}.cpu(64).cards(2));
    w.add(a_pod{"there"}.milli(400).on(w.node("n")));
    w.add(a_pod{"p"}.milli(500).milli(900));
  };
  world filtered{profile{priority_sort{}, device_fit{share_rule::tightest}}};
  fill(filtered);
  CHECK(with_devices(filtered) == words{"bind p n 0:500 1:900"});
  world next{with_widest(true)};
  fill(next);
  CHECK(with_devices(next) == words{"bind p n 0:500 1:900"});
  world alone{with_widest(false)};
  fill(alone);
  CHECK(broken(alone) ==
        "pod default/p: plugin Widest, node n: pod default/p: choose_devices leads to no devices that are free");
}

}  // namespace gangsched::testing::devices_test
