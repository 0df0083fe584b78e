// Two teams with 40 % and 60 % of the GPUs, as a host sees them, by each policy that lends what its owner leaves idle.
#include "kueue_world.hpp"

namespace gangsched::testing::borrowing_teams_test {

namespace {

/// Ten GPUs on two nodes: four are infer's, six train's.
struct two_teams : gpu_queues {
  explicit two_teams(bool by_kueue)
      : gpu_queues(by_kueue ? kueue_world::with_kueue() : profiles::with_queues()), kueue(by_kueue) {
    gpus("n", 5);
    gpus("m", 5);
    if (kueue) queue({.name = "all"});
    queue(its_own("infer", 4));
    queue(its_own("train", 6));
  }
  [[nodiscard]] queue_spec its_own(const std::string& name, std::int64_t gpus) const {
    return kueue ? kueue_world::shared::team(name, gpus) : team(name, gpus);
  }
  bool kueue;
};

}  // namespace

TEST_CASE("a team borrows what the other one leaves idle, and gives it back when the owner returns, once",
          "[engine][queues]") {
  two_teams w{GENERATE(false, true)};
  CAPTURE(w.kueue);
  w.ask("infer", 10);
  CHECK(count(w.act(0s), "bind infer") == 10);
  w.ask("train", 8);
  const words back = w.act(10s);
  CHECK(count(back, "evict infer") == 6);
  CHECK(count(back, "evict train") == 0);
  CHECK(w.used("infer") == 4);
  CHECK(w.used("train") == 6);
  for (int minute = 1; minute < 30; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());  // nobody wins back
  CHECK(w.scheduler.verify());
  // The owner's work ends: the others are served again.
  for (const auto& [name, spec] : w.specs)
    if (const auto pod = w.cluster.find_pod("default", name); name.starts_with("train") && pod) w.remove(*pod);
  CHECK(count(w.act(40min), "bind infer") == 6);
  CHECK(w.used("infer") == 10);
}

TEST_CASE("a more important pod of a team takes the place of a lesser one, at the team's limit too, if it may",
          "[engine][queues]") {
  two_teams w{GENERATE(false, true)};
  CAPTURE(w.kueue);
  queue_spec infer = w.its_own("infer", 4);
  (w.kueue ? infer.quotas[0].borrowing_limit : infer.quotas[0].limit)["nvidia.com/gpu"] = w.kueue ? 0 : 4;
  w.update(infer);
  w.ask("infer", 4);
  w.act(0s);
  w.ask("infer", 1, 5);
  const words said = w.act(10s);
  CHECK(count(said, "evict infer") == 1);
  CHECK(count(said, "bind infer-4") == 1);
  CHECK(w.used("infer") == 4);
  infer.within_queue = queue_preemption::never;
  w.update(infer);
  w.ask("infer", 1, 9);
  CHECK(w.act(60s).empty());
}

}  // namespace gangsched::testing::borrowing_teams_test
