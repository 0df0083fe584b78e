#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "devices/numa_nodes.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/model/transaction.hpp"
#include "held_devices.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::devices_test {

namespace {

using form = device_grant::form;

TEST_CASE("a pod that is put on a node holds devices of it until it leaves", "[model][devices]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cards(4, "A100", 40960)).value();
  const std::uint64_t before = inside(c).digest_with_derived();
  {
    transaction trial{c};
    const pod_id two = c.add_pod(a_pod("two").cards(2)).value();
    CHECK(c.assume(two, n));
    CHECK(cards_of(c, two) == std::vector<std::uint16_t>{0, 1});
  }
  CHECK(inside(c).digest_with_derived() == before);

  const pod_id whole = c.add_pod(a_pod("whole").cards(1).on(n)).value();
  const pod_id share = c.add_pod(a_pod("share").milli(300).on(n)).value();
  const pod_id other = c.add_pod(a_pod("other").device({.milli = 500, .memory_percent = 25}).on(n)).value();
  const device_state now = c.devices_of(n);
  CHECK(now.gpu(0).milli() == whole_gpu);
  CHECK(now.gpu(0).slices() == 0xff);
  CHECK(now.used_memory_mib(0) == 40960);
  CHECK(now.free_milli(1) == 200);
  CHECK(now.used_memory_mib(1) == 10240);
  CHECK(now.gpu(1).pods() == 2);
  CHECK(cards_of(c, share) == cards_of(c, other));
  CHECK(c.name_of(n, c.devices_of(whole).front()) == "0");
  for (const pod_id pod : {whole, share, other}) CHECK(c.remove_pod(pod));
  for (std::size_t gpu = 0; gpu < 4; ++gpu) CHECK(c.devices_of(n).gpu(gpu).idle());
  CHECK(c.devices_of(whole).empty());
}

TEST_CASE("a request by number takes as many GPUs where the host told of them", "[model][devices]") {
  cluster c;
  const node_id told = c.add_node(a_node("told").gpus(8).cards(8)).value();
  const node_id counted = c.add_node(a_node("counted").gpus(8)).value();
  const pod_id p = c.add_pod(a_pod("p").gpus(3).on(told)).value();
  const pod_id q = c.add_pod(a_pod("q").gpus(3).on(counted)).value();
  CHECK(cards_of(c, p) == std::vector<std::uint16_t>{0, 1, 2});
  CHECK(c.devices_of(p).front().request == counted_request);
  CHECK(c.devices_of(q).empty());
  CHECK_FALSE(c.devices_of(counted));
}

TEST_CASE("a pod that others bound holds what the host says it holds", "[model][devices]") {
  cluster c;
  a_node node = a_node("n").cards(4);
  for (std::size_t i = 0; i < 4; ++i) node.spec.devices.gpus[i].id = "GPU-" + std::to_string(i);
  const node_id n = c.add_node(node).value();
  a_pod pod = a_pod("p").cards(2).on(n);
  pod.spec.held_devices = {{.id = "GPU-3"}, {.id = "GPU-1"}};
  const pod_id p = c.add_pod(pod).value();
  CHECK(cards_of(c, p) == std::vector<std::uint16_t>{3, 1});
  CHECK(c.name_of(n, c.devices_of(p).front()) == "GPU-3");
  CHECK(c.devices_of(n).gpu(0).idle());

  SECTION("and keeps it when the node's devices are told anew in another order") {
    std::swap(node.spec.devices.gpus[0], node.spec.devices.gpus[3]);
    CHECK(c.update_node(n, node));
    CHECK(cards_of(c, p) == std::vector<std::uint16_t>{0, 1});
    CHECK(claimed(c, n) == std::vector<std::int64_t>(c.devices_of(n).used, c.devices_of(n).used + 8));
  }
  SECTION("loses what is not there any more") {
    node.spec.devices.gpus.pop_back();
    CHECK(c.update_node(n, node));
    CHECK(cards_of(c, p) == std::vector<std::uint16_t>{1});
  }
  SECTION("and has no claim on what somebody else has") {
    a_pod late = a_pod("late").cards(1).on(n);
    late.spec.held_devices = {{.id = "GPU-1"}};
    CHECK(c.devices_of(c.add_pod(late).value()).empty());
  }
  SECTION("a pod that waits holds none") {
    a_pod waits = a_pod("waits").cards(1);
    waits.spec.held_devices = {{.id = "GPU-0"}};
    check_refused(c, errc::malformed, "pod default/waits", "held_devices", [&] { return c.add_pod(waits); });
  }
}

TEST_CASE("pods that ran before the host told of the node's devices get some then", "[model][devices]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").gpus(4)).value();
  const pod_id p = c.add_pod(a_pod("p").gpus(3).on(n)).value();
  CHECK(c.update_node(n, a_node("n").gpus(4).cards(4)));
  CHECK(cards_of(c, p).size() == 3);
  CHECK(c.devices_of(n).gpu(3).idle());
}

TEST_CASE("an unhealthy device is hidden at once, and who has it is said", "[model][devices]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cards(2)).value();
  const pod_id p = c.add_pod(a_pod("p").cards(1).on(n)).value();
  CHECK(c.set_device_health(n, "0", false).value() == std::vector{p});
  CHECK(c.set_device_health(n, "1", false).value().empty());
  const pod_id q = c.add_pod(a_pod("q").cards(1).on(n)).value();
  CHECK(c.devices_of(q).empty());
  CHECK(c.remove_pod(p));
  CHECK(c.devices_of(n).gpu(0).unhealthy());
  CHECK(c.set_device_health(n, "0", true).value().empty());
  CHECK(c.devices_of(n).free_milli(0) == whole_gpu);
  check_refused(c, errc::unknown, "node n", "devices", [&] { return c.set_device_health(n, "7", true); });
}

TEST_CASE("nonsense about devices is refused, and says what", "[model][devices]") {
  cluster c;
  const std::uint64_t before = inside(c).digest_with_derived();
  const auto node = [&](auto change) {
    a_node made = a_node("n").cards(2);
    change(made.spec.devices);
    return c.add_node(made);
  };
  check_refused(c, errc::out_of_range, "node n", "devices.gpus",
                [&] { return node([](node_devices& d) { d.gpus.resize(17); }); });
  check_refused(c, errc::duplicate, "node n", "devices.gpus[1].id",
                [&] { return node([](node_devices& d) { d.gpus[0].id = d.gpus[1].id = "x"; }); });
  check_refused(c, errc::out_of_range, "node n", "devices.gpu.replicas",
                [&] { return node([](node_devices& d) { d.gpu.replicas = 0; }); });
  check_refused(c, errc::out_of_range, "node n", "devices.gpu.memory_mib",
                [&] { return node([](node_devices& d) { d.gpu.memory_mib = -1; }); });
  check_refused(c, errc::malformed, "node n", "devices.gpus[1].instances", [&] {
    return node([](node_devices& d) { d.gpus[1].instances = {{"1g.5gb", 0}}; });
  });
  check_refused(c, errc::malformed, "node n", "devices.others[0].id",
                [&] { return node([](node_devices& d) { d.others = {{.id = "", .device_class = "rdma"}}; }); });
  check_refused(c, errc::duplicate, "node n", "devices.others[1].id", [&] {
    return node([](node_devices& d) {
      d.others = {{.id = "a", .device_class = "rdma"}, {.id = "a", .device_class = "rdma"}};
    });
  });
  check_refused(c, errc::out_of_range, "node n", "devices.others[0].consumes[0].amount", [&] {
    return node([](node_devices& d) {
      d.counters = {{"gpu-0/memory", 8}};
      d.others = {{.id = "a", .device_class = "mig", .consumes = {{"gpu-0/memory", 9}}}};
    });
  });
  check_refused(c, errc::unknown, "node n", "devices.others[0].consumes[0].counter", [&] {
    return node([](node_devices& d) { d.others = {{.id = "a", .device_class = "mig", .consumes = {{"nowhere", 1}}}}; });
  });

  const auto pod = [&](device_request request) { return c.add_pod(a_pod("p").device(std::move(request))); };
  check_refused(c, errc::out_of_range, "pod default/p", "devices[0].milli", [&] { return pod({.milli = 1500}); });
  check_refused(c, errc::malformed, "pod default/p", "devices[0].milli", [&] { return pod({.milli = 0}); });
  check_refused(c, errc::out_of_range, "pod default/p", "devices[0].count", [&] { return pod({.count = 0}); });
  check_refused(c, errc::malformed, "pod default/p", "devices[0].mig_profile",
                [&] { return pod({.milli = 200, .mig_profile = "1g.5gb"}); });
  check_refused(c, errc::malformed, "pod default/p", "devices[0].memory_percent",
                [&] { return pod({.memory_mib = 5, .memory_percent = 5}); });
  check_refused(c, errc::malformed, "pod default/p", "devices[0].device_class",
                [&] { return pod({.device_class = "rdma", .models = {"A100"}}); });
  check_refused(c, errc::malformed, "pod default/p", "devices[0].selectors[0].values", [&] {
    return pod({.device_class = "rdma", .selectors = {{"speed", attribute_operator::less, {}}}});
  });
  check_refused(c, errc::out_of_range, "pod default/p", "devices[0].first_of[0].count",
                [&] { return pod({.first_of = {{.count = 0}}}); });
  check_refused(c, errc::malformed, "pod default/p", "devices[0].first_of", [&] {
    return pod({.first_of = {{.count = 1}, {.device_class = "rdma"}}});
  });
  CHECK(inside(c).digest_with_derived() == before);
}

TEST_CASE("whatever happens, the words of a node are the sum of what its pods hold, and nothing is overdrawn",
          "[model][devices]") {
  std::mt19937 random{20261121};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  for (int round = 0; round < 40; ++round) {
    cluster c;
    std::vector<node_id> nodes;
    for (int i = 0; i < 3; ++i) {
      a_node made = a_node("n" + std::to_string(i)).cards(static_cast<std::size_t>(1 + dice(8)), "m", 1000);
      if (dice(4) == 0) made.spec.devices.gpu.replicas = 3;
      if (dice(3) == 0) made.spec.devices.gpu.memory_rule = gpu_memory_rule::as_asked;
      for (int nic = 0; nic < dice(3); ++nic) {
        made.spec.devices.others.push_back(
            {.id = "nic" + std::to_string(nic), .device_class = "rdma", .units = 1 + dice(3)});
      }
      if (i != 0) {
        const auto policy = static_cast<numa_policy>(dice(4));
        const auto scope = static_cast<numa_scope>(dice(2));
        made.spec.devices.numa = gangsched::testing::sockets_of_eight(2, 100, policy, scope);
        for (gpu_spec& gpu : made.spec.devices.gpus) gpu.numa = dice(3) - 1;
      }
      nodes.push_back(c.add_node(made).value());
    }
    std::vector<pod_id> pods;
    for (int step = 0; step < 60; ++step) {
      if (dice(3) != 0 || pods.empty()) {
        a_pod made = a_pod("p" + std::to_string(step));
        switch (dice(5)) {
          case 0: made.cards(1 + dice(3)); break;
          case 1: made.milli(50 + 50 * dice(19)); break;
          case 2: made.gpus(1 + dice(2)); break;
          case 3: made.device({.milli = 0, .memory_mib = 100 + dice(900)}).device({.device_class = "rdma"}); break;
          case 4: made.device({.milli = 0, .memory_percent = 1 + dice(60)}); break;
        }
        made.spec.guaranteed = dice(2) == 0;
        made.cpu(dice(5)).resource("memory", quantity{dice(120)});
        if (dice(2) == 0) made.on(nodes[static_cast<std::size_t>(dice(3))]);
        pods.push_back(c.add_pod(made).value());
      } else {
        const std::size_t which = static_cast<std::size_t>(dice(static_cast<int>(pods.size())));
        const pod_id pod = pods[which];
        const node_id node = nodes[static_cast<std::size_t>(dice(3))];
        move_on_trial(c, pod, node, [&] { return dice(2) == 0; });
        if (dice(4) == 0) {
          CHECK(c.remove_pod(pod));
          pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(which));
        }
      }
      for (const node_id node : nodes) {
        const device_state now = c.devices_of(node);
        const std::vector<std::int64_t> words(now.used, now.used + now.inventory->words());
        REQUIRE(words == claimed(c, node));
        for (std::size_t gpu = 0; gpu < now.gpu_count(); ++gpu) {
          const gpu_word word = now.gpu(gpu);
          REQUIRE(word.milli() <= whole_gpu);
          const bool as_asked = now.inventory->memory_rule == gpu_memory_rule::as_asked;
          // As asked, a share by MiB may have less than a hundredth more than is counted of it.
          REQUIRE(now.used_memory_mib(gpu) <= 1000 + (as_asked ? 10 * word.pods() : 0));
          REQUIRE(now.used_memory_percent(gpu) <= (as_asked ? 100 : 0));
          REQUIRE(word.replicas() <= now.inventory->replicas);
          REQUIRE((word.slices() == 0 || (word.slices() == 0xff && word.milli() == whole_gpu && word.pods() == 1)));
        }
        if (now.inventory->numa) {
          // All cells of a group agree on what it is.
          const numa_state left = now.inventory->numa->state(now.used + now.inventory->first_numa());
          for (const memory_state::cell& cell : left.memory.cells) {
            for (unsigned j = 0; j < 2; ++j)
              REQUIRE(((cell.group >> j & 1u) == 0 || left.memory.cells[j].group == cell.group));
          }
        }
        for (std::size_t i = 0; i < now.inventory->others.size(); ++i) {
          REQUIRE(now.used[now.inventory->first_other() + i] <= now.inventory->others[i].units);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("whole GPUs are asked for as often as containers request them by number, or the pod is refused",
          "[model][devices]") {
  cluster c;
  const auto said = [](const auto& made) { return made ? std::string{} : made.error().message(); };
  const std::string wrong =
      "pod default/p: devices[0].count: the containers request 2 GPUs by number, the devices are 4";
  CHECK(said(c.add_pod(a_pod{"p"}.gpus(2).cards(4))) == wrong);
  CHECK(said(c.add_pod(a_pod{"amd"}.resource("amd.com/gpu", 1).cards(2))) != "");
  const pod_id p = c.add_pod(a_pod{"p"}.gpus(2).cards(2)).value();
  CHECK(said(c.update_pod(p, a_pod{"p"}.gpus(2).cards(4))) == wrong);
  CHECK(inside(c).classes[inside(c).pods.cls[p.row]].devices.front().count == 2);

  // In several requests, and with init containers, whose GPUs are the same ones.
  CHECK(said(c.add_pod(a_pod{"two"}.gpus(3).cards(1).cards(2))) == "");
  a_pod with_init = a_pod{"init"}.gpus(1).cards(1);
  with_init.spec.init_containers.emplace_back().requests["nvidia.com/gpu"] = 1;
  CHECK(said(c.add_pod(with_init)) == "");
  // Of alternatives every one.
  CHECK(said(c.add_pod(a_pod{"any"}.gpus(2).device({.first_of = {{.count = 2, .models = {"A"}}, {.count = 2}}}))) ==
        "");
  CHECK(said(c.add_pod(a_pod{"some"}.gpus(2).device({.first_of = {{.count = 2, .models = {"A"}}, {.count = 4}}}))) ==
        "pod default/some: devices[0].first_of: the containers request 2 GPUs by number, the devices are not always 2");
  // Shares, instances and other devices are counted by nobody.
  CHECK(said(c.add_pod(a_pod{"share"}.gpus(1).milli(500))) == "");
  CHECK(said(c.add_pod(a_pod{"mig"}.gpus(1).device({.mig_profile = "1g.5gb"}))) == "");
  CHECK(said(c.add_pod(a_pod{"nic"}.gpus(1).device({.device_class = "rdma", .count = 2}))) == "");
  CHECK(said(c.add_pod(a_pod{"none"}.cards(4))) == "");
}

TEST_CASE("GPUs by number that are more than there can be are counted to the end", "[model][devices]") {
  cluster c;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto added = c.add_pod(a_pod("p").gpus(most).resource("amd.com/gpu", quantity{most}).cards(1));
  REQUIRE_FALSE(added);
  CHECK(added.error().reason == "the containers request 9223372036854775807 GPUs by number, the devices are 1");
}

TEST_CASE("a GPU is shared or has replicas, also if a share is of its memory alone", "[model][devices]") {
  node_spec node = a_node("n").cpu(8).cards(1, "A100", 1000);
  node.allocatable["nvidia.com/gpu"] = quantity{3};
  node.devices.gpu.replicas = 3;
  const bool aligns = GENERATE(false, true), share_first = GENERATE(false, true);
  CAPTURE(aligns, share_first);
  if (aligns) {
    node.devices.numa = sockets_of_eight(1, 1 << 30, numa_policy::single_numa_node);
    node.devices.gpus[0].numa = 0;
  }
  cluster c;
  const node_id n = c.add_node(node).value();
  const auto add = [&](bool share) {
    a_pod pod{share ? "share" : "replica"};
    return c.add_pod(share ? pod.device({.milli = 0, .memory_mib = 900}).on(n) : pod.gpus(1).on(n)).value();
  };
  const pod_id first = add(share_first), second = add(!share_first);
  CHECK(cards_of(c, first) == std::vector<std::uint16_t>{0});
  CHECK(cards_of(c, second).empty());
  CHECK_FALSE(is_free(c.devices_of(n), {.kind = share_first ? form::replica : form::share, .amount = 1}));
  check_copies(c);
}

TEST_CASE("a grant of another cluster has no profile", "[model][devices]") {
  cluster c;
  CHECK(c.profile_of({.kind = device_grant::form::mig, .mig_profile = symbol{1'000'000}}).empty());
}

}  // namespace gangsched::testing::devices_test
