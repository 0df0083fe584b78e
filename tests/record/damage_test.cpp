// Logs of somebody who means harm: bytes are changed and the checksums are right.
#include <cstdlib>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/record/recorder.hpp"
#include "gangsched/record/replayer.hpp"
#include "record/repaired.hpp"
#include "support/dice.hpp"
#include "support/world.hpp"

namespace gangsched::testing::damage_test {

namespace {

/// A call of nearly each kind.
std::vector<std::byte> some_log() {
  cluster on;
  record::recorder log = record::recorder::start(on).value();
  scheduler by{on, profiles::kube_default(), world::lowest_first()};
  on.reserve({.nodes = 4, .pods = 10, .groups = 2}).value();
  node_spec gpus = a_node("n1").cpu(8);
  gpus.devices.gpu = {.model = "NVIDIA-A100-SXM4-40GB", .memory_mib = 40960};
  gpus.devices.gpus = {{.id = "g0"}, {.id = "g1", .mig = mig_mode::dynamic}};
  gpus.devices.others = {{.id = "nic", .device_class = "rdma", .units = 4, .attributes = {{"speed", std::int64_t{3}}}}};
  const node_id n1 = on.add_node(gpus).value();
  const node_id n2 = on.add_node(a_node("n2").cpu(4)).value();
  on.set_priority_class({.name = "high", .value = 100}).value();
  on.set_namespace({.name = "default", .labels = {{"team", "a"}}}).value();
  on.set_service({.name = "s", .selector = {{"app", "web"}}}).value();
  on.queues().set_flavor({.name = "any"}).value();
  const queue_id queue =
      on.queues().add({.name = "q", .quotas = {{.flavor = "any", .guaranteed = {{"cpu", 4}}}}}).value();
  static_cast<void>(queue);
  const group_id train = on.add_group({.name = "train", .policy = gang{.min_count = 2}, .queue = "q"}).value();
  pod_spec member = a_pod("m0").cpu(1);
  member.group = train;
  const std::vector<std::string> names{"m0", "m1"};
  const std::vector<pod_id> members = on.add_pods(member, names).value();
  pod_spec shares = a_pod("share").cpu(1);
  shares.devices = {{.count = 1, .milli = 500}};
  shares.affinity.preferred = {{.weight = 5, .term = {.match_expressions = {{.key = "zone", .values = {"a"}}}}}};
  shares.tolerations = {{.key = "k", .op = toleration_operator::exists}};
  const pod_id share = on.add_pod(shares).value();
  const pod_id greedy = on.add_pod(a_pod("greedy").cpu(64)).value();
  on.add_disruption_budget({.name = "b", .selector = label_selector{}}).value();
  on.add_node_column("heat").value();
  on.set_column(n2, "heat", 7).value();
  on.set_held_room({.name = "room", .parts = {{.node = n2, .amounts = {{"cpu", 1}}}}}).value();
  pod_spec holds = a_pod("holds").cpu(1);
  holds.reservation =
      reservation_spec{.owners = {{.labels = label_selector{.match_labels = {{"app", "guest"}}}}}, .once = false};
  holds.node = n2;
  const pod_id held = on.add_pod(holds).value();
  pod_spec guest = a_pod("guest").cpu(1).label("app", "guest");
  guest.node = n2, guest.draws_from = held;
  on.add_pod(guest).value();
  for (const instant now : {instant{1s}, instant{3s}}) {
    while (by.schedule_cycle(now)) {
    }
    static_cast<void>(by.permit(now));
  }
  static_cast<void>(by.confirm(members[0]));
  static_cast<void>(by.fail(share, "no image"));
  on.nominate(greedy, n1).value();
  {
    transaction trial{on};
    static_cast<void>(on.assume(greedy, n1));
    static_cast<void>(on.remove_node(n2));
  }
  by.activate(std::vector{greedy}, 4s).value();
  static_cast<void>(by.pop(5s));
  static_cast<void>(by.add_unschedulable(greedy, {.unschedulable_plugins = {"NodeResourcesFit"}}, 6s));
  on.update_pod(greedy, a_pod("greedy").cpu(2)).value();
  static_cast<void>(by.schedule_cycle(60s));
  on.set_device_health(n1, "g0", false).value();
  on.remove_node(n1).value();
  log.write_digest().value();
  return log.take();
}

/// Calls that were made until something was wrong.
std::uint64_t replay(std::span<const std::byte> log) {
  auto again = record::replayer::open(
      log, {.profiles = [](std::uint32_t) { return std::vector<kernel_table>{profiles::kube_default()}; }});
  if (!again) return 0;
  for (int differences = 0; differences < 3; ++differences) {
    const auto ran = again->run();
    if (!ran || !*ran) break;
    if ((*ran)->text.empty()) break;
  }
  return again->calls();
}

}  // namespace

TEST_CASE("whatever stands in a log, with the right checksums, is made or refused", "[record]") {
  const std::vector<std::byte> log = some_log();
  REQUIRE(repaired(log) == log);
  const std::uint64_t all = replay(log);
  REQUIRE(all > 30);
  dice any{20};
  std::uint64_t made = 0;
  const char* const wanted = std::getenv("GANGSCHED_LOG_DAMAGE");  // more of them, by hand
  const long rounds = wanted != nullptr ? std::strtol(wanted, nullptr, 10) : 600;
  for (long round = 0; round < rounds; ++round) {
    std::vector<std::byte> harm = log;
    for (std::uint64_t changes = 1 + any.below(3); changes > 0; --changes) {
      const std::size_t at = 12 + static_cast<std::size_t>(any.below(harm.size() - 12));
      if (any.percent(50))
        harm[at] = static_cast<std::byte>(any.below(256));
      else
        harm[at] ^= static_cast<std::byte>(1u << any.below(8));
    }
    if (any.percent(10)) harm.resize(12 + any.below(harm.size() - 12));
    made += replay(repaired(harm));
  }
  CHECK(made > static_cast<std::uint64_t>(rounds) * all / 6);  // most get far
}

}  // namespace gangsched::testing::damage_test
