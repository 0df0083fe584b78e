// What reservations have of their nodes' devices as wholes, while the nodes and the reservations change.
#include "gangsched/model/cluster.hpp"
#include "model/held_devices.hpp"

namespace gangsched::testing::reserved_devices_test {

namespace {

node_spec machine(std::vector<gpu_spec> gpus) {
  node_spec made = a_node("n");
  made.devices.gpus = std::move(gpus);
  return made;
}

/// A node with three GPUs, a reservation of two of them, and a pod that draws the first of these.
struct drawn {
  cluster c;
  node_id n = c.add_node(machine({{.id = "g0"}, {.id = "g1"}, {.id = "g2"}})).value();
  pod_spec held = a_pod("r").cards(2).on(n);
  pod_id r, o;
  drawn() {
    held.held_devices = {{.id = "g0"}, {.id = "g1"}};
    held.reservation = reservation_spec{.once = false};
    r = c.add_pod(held).value();
    pod_spec mine = a_pod("o").cards(1).on(n);
    mine.draws_from = r;
    o = c.add_pod(mine).value();
  }
  [[nodiscard]] std::vector<std::string> ids(pod_id pod) const {
    std::vector<std::string> all;
    for (const std::uint16_t card : cards_of(c, pod)) all.push_back(inside(c).nodes.record[n.row]->devices->ids[card]);
    return all;
  }
};
using words = std::vector<std::string>;

}  // namespace

TEST_CASE("a reservation gets back what its owner leaves, after the devices of the node changed", "[model][devices]") {
  drawn w;
  REQUIRE(w.ids(w.r) == words{"g1"});
  REQUIRE(w.ids(w.o) == words{"g0"});
  REQUIRE(w.c.update_node(w.n, machine({{.id = "g0"}, {.id = "g1"}, {.id = "g2", .healthy = false}})));
  CHECK(w.ids(w.r) == words{"g1"});
  CHECK(w.ids(w.o) == words{"g0"});
  REQUIRE(w.c.remove_pod(w.o));
  CHECK(w.ids(w.r) == words{"g0", "g1"});
  CHECK_FALSE(is_free(w.c.devices_of(w.n), {.kind = device_grant::form::gpu, .device = 0}));
}

TEST_CASE("a reservation and its owner have again what comes back of their node's devices", "[model][devices]") {
  drawn w;
  REQUIRE(w.c.update_node(w.n, machine({{.id = "g2"}, {.id = "g1"}})));
  CHECK(w.ids(w.r) == words{"g1"});
  CHECK(w.ids(w.o).empty());
  REQUIRE(w.c.update_node(w.n, machine({})));
  REQUIRE(w.c.devices_of(w.r).empty());
  REQUIRE(w.c.update_node(w.n, machine({{.id = "g1"}, {.id = "g0"}})));
  CHECK(w.ids(w.r) == words{"g1"});
  CHECK(w.ids(w.o) == words{"g0"});
  CHECK(words_of(w.c, w.n) == claimed(w.c, w.n));
  REQUIRE(w.c.remove_pod(w.o));
  const words all = w.ids(w.r);
  CHECK(std::count(all.begin(), all.end(), "g0") == 1);
  CHECK(std::count(all.begin(), all.end(), "g1") == 1);
}

TEST_CASE("an owner that comes and goes takes nothing that a reservation waits for", "[model][devices]") {
  drawn w;
  REQUIRE(w.c.remove_pod(w.o));
  REQUIRE(w.c.update_node(w.n, machine({{.id = "g1"}, {.id = "g2"}})));
  pod_spec mine = a_pod("again").cards(1).on(w.n);
  mine.draws_from = w.r;
  REQUIRE(w.c.remove_pod(w.c.add_pod(mine).value()));
  REQUIRE(w.c.update_node(w.n, machine({{.id = "g0"}, {.id = "g1"}, {.id = "g2"}})));
  const words all = w.ids(w.r);
  CHECK(std::count(all.begin(), all.end(), "g0") == 1);
  CHECK(std::count(all.begin(), all.end(), "g1") == 1);
}

TEST_CASE("a pod holds what the host says of the reservation that it draws from", "[model][devices]") {
  drawn w;
  REQUIRE(w.c.remove_pod(w.o));
  pod_spec mine = a_pod("o").cards(1).on(w.n);
  mine.draws_from = w.r;
  mine.held_devices = {{.id = "g1"}};
  const pod_id o = w.c.add_pod(mine).value();
  CHECK(w.ids(o) == words{"g1"});
  CHECK(w.ids(w.r) == words{"g0"});
  mine.held_devices = {{.id = "g0"}};
  REQUIRE(w.c.update_pod(o, mine));
  CHECK(w.ids(o) == words{"g0"});
  CHECK(w.ids(w.r) == words{"g1"});
  pod_spec late = a_pod("late").cards(1);
  const pod_id waits = w.c.add_pod(late).value();
  late.node = w.n, late.draws_from = w.r;
  late.held_devices = {{.id = "g1"}};
  REQUIRE(w.c.update_pod(waits, late));
  CHECK(w.ids(waits) == words{"g1"});
  CHECK(w.ids(w.r).empty());
  CHECK(words_of(w.c, w.n) == claimed(w.c, w.n));
}

TEST_CASE("a reservation whose devices the node does not have is updated", "[model][devices]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  pod_spec held = a_pod("r").cards(1).on(n);
  held.held_devices = {{.id = "gpu-0"}};
  held.reservation = reservation_spec{.once = false};
  const pod_id r = c.add_pod(held).value();
  pod_spec mine = a_pod("o").on(n);
  mine.draws_from = r;
  REQUIRE(c.add_pod(mine));
  REQUIRE(c.update_pod(r, held));
  CHECK(c.devices_of(r).empty());
  REQUIRE(c.update_node(n, machine({{.id = "gpu-0"}})));  // what it waited for
  CHECK(cards_of(c, r) == std::vector<std::uint16_t>{0});
  CHECK(words_of(c, n) == claimed(c, n));
}

}  // namespace gangsched::testing::reserved_devices_test
