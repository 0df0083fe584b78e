// What FairShare remembers of queues between two heads that it compares is what it works out anew.
#include "gangsched/plugins/fair_share.hpp"
#include "queue_world.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::fair_share_turns_test {

TEST_CASE("heads are compared as by a policy that remembers nothing, whatever changed since it last was asked",
          "[engine][queues][property]") {
  std::size_t first = 0, compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    dice roll{seed};
    gpu_queues w{profiles::with_queues()};
    for (int i = 0; i < 3; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64).gpus(4));
    w.queue(gpu_queues::team("org", roll.between(0, 6)));
    const std::vector<std::string> names{"a", "b", "c", "d"};
    for (const std::string& name : names) {
      queue_spec spec = gpu_queues::team(name, roll.between(0, 3), name == "c" ? "" : "org");
      spec.weight = static_cast<double>(roll.between(1, 3));
      spec.priority = static_cast<std::int32_t>(roll.below(3));
      w.queue(spec);
    }
    const fair_share_policy remembers{};
    std::vector<std::string> pods;
    const auto compare = [&] {
      const cluster_view now{inside(w.cluster)};
      std::vector<queue_head> heads;
      for (const std::string& name : pods) {
        const auto pod = w.cluster.find_pod("default", name);
        if (!pod || !now.pod(*pod)->queue()) continue;
        queue_head head;
        head.pod = *pod;
        head.queue = remembers.queue_of(*now.pod(*pod));
        head.entered = std::chrono::minutes{static_cast<int>(roll.below(20))};
        head.now = std::chrono::minutes{30};
        heads.push_back(head);
      }
      for (int i = 0; i < 10 && heads.size() > 1; ++i) {
        const queue_head &a = roll.of(heads), &b = roll.of(heads);
        const bool plain = fair_share_policy{}.queue_before(a, b, now);
        CHECK(remembers.queue_before(a, b, now) == plain);
        first += plain ? 1 : 0;
        ++compared;
      }
    };
    for (int step = 0; step < 25; ++step) {
      CAPTURE(seed, step);
      if (roll.percent(60)) {
        pods.push_back("p" + std::to_string(step));
        const std::string queue = roll.percent(15) ? "" : roll.of(names);  // without one it takes of what is shared
        w.ask(a_pod{pods.back()}.gpus(roll.between(1, 3)), queue, static_cast<std::int32_t>(roll.below(3)));
      }
      if (roll.percent(20) && !pods.empty()) {
        const auto pod = w.cluster.find_pod("default", roll.of(pods));
        if (pod && roll.percent(50)) w.remove(*pod);
        if (pod && w.cluster.contains(*pod) && w.cluster.node_of(*pod)) w.must(w.cluster.set_terminating(*pod, true));
      }
      if (roll.percent(10)) {
        queue_spec spec = gpu_queues::team("a", roll.between(0, 5), "org");
        w.update(spec);
      }
      compare();
      w.act(std::chrono::minutes{step}, compare);
    }
  }
  CHECK(compared > 10'000);
  CHECK(first > 2'000);
}

}  // namespace gangsched::testing::fair_share_turns_test
