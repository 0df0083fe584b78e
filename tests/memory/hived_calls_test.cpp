#include <string>
#include <vector>

#include "gangsched/queues/hived/cell_scheduler.hpp"
#include "memory/fails_without_memory.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::hived_calls_test {

using namespace gangsched::queues;
using known_pods = std::vector<std::vector<hived::known_device>>;

/// A cluster of two virtual clusters with something of everything in it.
struct used_cells {
  hived::cell_scheduler in = hived::cell_scheduler::make(configured()).value();
  hived::group_request gang = group("gang", "a", 2, 4, 4), high = group("high", "a", 3, 2, 4),
                       one = group("one", "b", 1, 1, 1);
  known_pods known{1};  ///< two devices of a node that nobody has
  hived::group_request restored = group("restored", "b", 1, 1, 2);

  used_cells() {
    in.place(group("low", "a", 0, 1, 3)).value();
    in.place(group("firm", "a", 1, 1, 4, false)).value();
    in.place(group("waits", "a", 2, 4, 4, false)).value();
    in.place(group("free", "b", hived::opportunistic, 3, 2)).value();
    in.set_bad("n5", true).value();
    for (const char* node : {"n0", "n1", "n2", "n3", "n4", "n6", "n7"})
      for (const hived::cell_index device : in.layout().devices_of(in.layout().find_node(node).value()))
        if (in.user(device).empty() && in.heir(device).empty() && known[0].size() < 2)
          known[0].push_back({node, in.layout().number_of(device), "node"});
  }
  static hived::group_request group(std::string name, std::string cluster, std::int32_t priority, std::uint32_t pods,
                                    std::uint32_t devices, bool lazy = true) {
    return {std::move(name), std::move(cluster), priority, {{pods, devices}}, "", "", lazy, std::nullopt};
  }
  static hived::configuration configured() {
    hived::configuration made;
    made.types = {{"node", "gpu", 4, true}, {"pair", "node", 2}};
    for (const int pair : {0, 2, 4, 6})
      made.cells.push_back(
          {.type = "pair",
           .children = {{.node = "n" + std::to_string(pair)}, {.node = "n" + std::to_string(pair + 1)}}});
    made.clusters = {{"a", {{"pair", "node", 2}, {"", "pair", 1}}, {}}, {"b", {{"pair", "node", 4}}, {}}};
    return made;
  }
  [[nodiscard]] std::string state() const {
    std::string made;
    const auto add = [&](std::int64_t number) { made += std::to_string(number) + " "; };
    const hived::buddy_cells& cells = in.cells().physical();
    for (hived::cell_index cell = 0; cell < static_cast<hived::cell_index>(in.layout().cells()); ++cell)
      for (const std::int32_t number :
           {cells.bound(cell), cells.listed_above(cell), cells.priority(cell), cells.user(cell), cells.heir(cell),
            cells.guaranteed_in(cell), cells.opportunistic_in(cell)})
        add(number);
    for (std::uint32_t cluster = 0; cluster < 2; ++cluster)
      for (hived::cell_index cell = in.layout().clusters()[cluster].first; cell < in.layout().clusters()[cluster].end;
           ++cell)
        for (const std::int32_t number :
             {in.cells().cluster(cluster).bound(cell), in.cells().cluster(cluster).used(cell),
              in.cells().cluster(cluster).is_doomed(cell) ? 1 : 0})
          add(number);
    for (std::uint32_t level = 0; level < 3; ++level) {
      add(cells.bad_left(0, level));
      for (const hived::cell_index cell : cells.free(0, level)) add(cell);
    }
    for (const char* name : {"low", "firm", "waits", "free", "gang", "high", "one", "restored"}) {
      const auto status = in.group(name);
      add(status ? static_cast<std::int64_t>(status->state) + (status->guaranteed ? 10 : 0) : -1);
    }
    return made;
  }
};

TEST_CASE("calls of HiveD's cells change nothing when there is no memory for them") {
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.place(of.gang).value(); }) > 5);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.place(of.high).value(); }) > 5);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.place(of.one).value(); }) > 5);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.look(of.high).value(); }) > 5);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.restore(of.restored, of.known).value(); }) > 5);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.remove("waits").value(); }) > 0);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.remove("firm").value(); }) > 0);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.set_bad("n5", false).value(); }) > 0);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.set_bad("n6", true).value(); }) > 0);
  CHECK(fails_without_memory<used_cells>([](used_cells& of) { of.in.start("waits").value(); }) > 0);
}

}  // namespace gangsched::testing::hived_calls_test
