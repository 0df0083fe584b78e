#include <cstdint>
#include <string>

#include "gangsched/queues/yunikorn/gang_application.hpp"
#include "memory/fails_without_memory.hpp"
#include "queues/yunikorn_units.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::gang_calls_test {

using namespace gangsched::queues;
using namespace gangsched::queues::yunikorn;
using namespace std::chrono_literals;

/// Two placeholders have a node that is closed now, one is too small for the real ask that waits; a third waits.
struct gang_world {
  partition queues;
  node_book nodes;
  application_index which;
  gang_application gang;

  gang_world()
      : queues(partition::make(queue_tree::make(std::vector<queue_link>{{"root"}}).value(), {{}}).value()),
        nodes(queues, {.reservation_delay = instant::max(), .preempts = false}),
        which(queues.add_application({.queue = 0, .user = "ann"}).value()),
        gang(nodes, which, {.groups = {{"tg", 3}}, .style = gang_style::hard}) {
    nodes.add_node("closed", units(4)).value();
    for (const std::int64_t size : {1, 2, 9}) gang.add_placeholder(of(size), "tg").value();
    for (int i = 0; i < 2; ++i) gang.placed(nodes.cycle(1s).which, 1s);
    nodes.set_usable(0, false);
    nodes.add_node("open", units(4)).value();
    gang.add(of(2), "tg").value();
  }
  [[nodiscard]] ask_spec of(std::int64_t size) const { return {.application = which, .request = units(size)}; }
  [[nodiscard]] std::string state() const {
    const auto counts = gang.of("tg");
    std::string made =
        std::to_string(static_cast<int>(gang.phase())) + " " + std::to_string(gang.deadline().has_value());
    for (const std::uint32_t one : {counts.total, counts.replaced, counts.timed_out}) made += " " + std::to_string(one);
    for (const auto* list : {&queues.of(which).pending, &queues.of(which).allocations}) {
      made += " |";
      for (const ask_index one : *list) made += " " + std::to_string(one) + (queues.of_ask(one).held ? "h" : "");
    }
    made += " |";
    for (const ask_index one : gang_application{gang}.take_released()) made += " " + std::to_string(one);
    for (const booked_node& one : nodes.nodes()) made += " " + std::to_string(one.available[0]);
    return made;
  }
};

TEST_CASE("calls of a gang that find no memory change nothing") {
  CHECK(fails_without_memory<gang_world>([](gang_world& of) { of.gang.add_placeholder(of.of(1), "tg").value(); }) > 0);
  CHECK(fails_without_memory<gang_world>([](gang_world& of) { of.gang.add(of.of(1), "tg").value(); }) > 0);
  CHECK(fails_without_memory<gang_world>([](gang_world& of) { static_cast<void>(of.gang.try_replace()); }) > 1);
  CHECK(fails_without_memory<gang_world>([](gang_world& of) { of.gang.expire(1h); }) > 0);
  CHECK(fails_without_memory<gang_world>([](gang_world& of) { of.gang.node_lost(0); }) > 0);
  gang_world of;
  const auto made = of.gang.try_replace();
  REQUIRE(made);
  CHECK(made->node == 1);
}

}  // namespace gangsched::testing::gang_calls_test
