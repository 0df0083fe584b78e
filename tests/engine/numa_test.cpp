// NUMA cells through the engine: pods go where the kubelet admits them, and decisions say what they get there.
#include "devices/numa_nodes.hpp"
#include "world.hpp"

namespace gangsched::testing::numa_test {

namespace {

/// Two sockets, a cell of eight CPUs each; so many GPUs in each.
a_node sockets(const std::string& name, std::size_t gpus = 0, numa_policy policy = numa_policy::single_numa_node) {
  a_node made = a_node(name).cpu(16).memory("200").gpus(static_cast<std::int64_t>(2 * gpus)).cards(2 * gpus);
  for (std::size_t i = 0; i < 2 * gpus; ++i) made.spec.devices.gpus[i].numa = i < gpus ? 0 : 1;
  made.spec.devices.numa = sockets_of_eight(2, 100, policy);
  return made;
}

/// "bind p n cpu=2 gpu=0": how many CPUs are the pod's own, and its GPUs.
words with_cells(world& w) {
  words all;
  while (const cycle done = w.scheduler.schedule_cycle(w.now)) {
    for (const decision& one : done) {
      std::string text = w.word(one);
      for (const device_grant& grant : one.devices) {
        if (grant.kind == device_grant::form::cpus) {
          text += " cpus" + std::to_string(grant.device) + ":" + std::to_string(std::popcount(grant.cpu_mask()));
        } else if (grant.kind == device_grant::form::memory) {
          text += " memory" + std::to_string(grant.device) + ":" + std::to_string(grant.amount);
        } else {
          (text += " gpu") += w.cluster.name_of(one.node, grant);
        }
      }
      all.push_back(std::move(text));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("decisions say which CPUs, memory and GPUs of a cell a pod got", "[engine][numa]") {
  world w;
  w.add(sockets("n", 2));
  w.add(a_pod{"a"}.guaranteed().cpu(6).memory("50"));
  w.add(a_pod{"b"}.guaranteed().cpu(4).memory("60").gpus(1));
  w.add(a_pod{"c"}.guaranteed().cpu(5));
  w.add(a_pod{"burstable"}.cpu(1).gpus(1));
  CHECK(with_cells(w) ==
        words{"bind a n cpus0:6 memory1:50", "bind b n gpu2 cpus1:4 memory2:60", "reject c", "bind burstable n gpu0"});
  const auto why = w.scheduler.explain(w.pod("c"));
  REQUIRE(why);
  CHECK(why->summary.find("TopologyAffinityError") != std::string::npos);
  // The counted resources have room for it all the time; the cell has once a is gone.
  w.remove(w.pod("a"));
  CHECK(with_cells(w) == words{"bind c n cpus0:5"});
}

TEST_CASE("a gang of aligned pods is placed as a whole, by cells and not by sums", "[engine][numa]") {
  world w;
  for (const char* name : {"n0", "n1"}) w.add(sockets(name));
  // Three fit on a node by CPUs, two by cells.
  const group_id big = w.add(a_gang{"big", 5});
  for (int i = 0; i < 5; ++i) w.add(a_pod{"b" + std::to_string(i)}.guaranteed().cpu(5).in(big));
  for (const std::string& one : w.run()) CHECK(one.starts_with("reject"));
  const device_state now = w.cluster.devices_of(w.node("n0"));
  for (std::uint32_t word = 0; word < now.inventory->words(); ++word) CHECK(now.used[word] == 0);
  const group_id gang = w.add(a_gang{"gang", 4});
  for (int i = 0; i < 4; ++i) w.add(a_pod{"m" + std::to_string(i)}.guaranteed().cpu(5).in(gang));
  words bound = with_cells(w);
  REQUIRE(bound.size() == 4);
  for (const std::string& one : bound) CHECK((one.starts_with("bind m") && one.find(":5") != std::string::npos));
}

TEST_CASE("victims are those whose cell the pod needs", "[engine][numa]") {
  world w;
  const node_id n = w.add(sockets("n"));
  w.add(a_pod{"low0"}.guaranteed().cpu(6).priority(1).on(n));
  w.add(a_pod{"high1"}.guaranteed().cpu(6).priority(9).on(n));
  w.add(a_pod{"p"}.guaranteed().cpu(4).priority(5));
  CHECK(w.run() == words{"nominate p n", "evict low0 n"});
  w.remove(w.pod("low0"));
  CHECK(with_cells(w) == words{"bind p n cpus0:4"});
}

TEST_CASE("the same pods go by sums where the host told of no cells, or the kubelet aligns nothing", "[engine][numa]") {
  world w;
  w.add(sockets("none", 0, numa_policy::none));
  w.add(a_node{"plain"}.cpu(16).memory("200"));
  for (int i = 0; i < 2; ++i) w.add(a_pod{"p" + std::to_string(i)}.guaranteed().cpu(10));
  const words all = with_cells(w);
  REQUIRE(all.size() == 2);
  CHECK(std::ranges::count(all, "bind p0 none cpus0:8 cpus1:2") +
            std::ranges::count(all, "bind p1 none cpus0:8 cpus1:2") + std::ranges::count(all, "bind p0 plain") +
            std::ranges::count(all, "bind p1 plain") ==
        2);
}

}  // namespace gangsched::testing::numa_test
