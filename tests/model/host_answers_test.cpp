// Predicates on devices that the host evaluates: when it is asked, and what its answers mean.
#include <stdexcept>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::host_answers_test {

namespace {

/// A card of each model, and a NIC. The model "odd" cannot be evaluated.
a_node cards(const std::string& name, const std::vector<std::string>& models) {
  a_node made{name};
  for (const std::string& model : models) {
    std::vector<other_device>& all = made.spec.devices.others;
    other_device& one = all.emplace_back(other_device{.id = name + std::to_string(all.size()), .device_class = "card"});
    one.attributes["d/model"] = model;
    one.capacities["d/memory"] = {.amount = 8};
  }
  made.spec.devices.others.push_back({.id = name + "-nic", .device_class = "nic"});
  return made;
}
a_pod wanting(const std::string& name, const std::string& expression) {
  return a_pod{name}.device({.device_class = "card", .expressions = {expression}});
}

/// A host whose language has one word: what the model has to be.
struct host {
  std::vector<std::string> asked;
  gangsched::cluster cluster{{.device_matcher = {.ask = answer, .context = this}}};

  static device_verdict answer(void* context, std::string_view expression, const other_device& device) {
    host& me = *static_cast<host*>(context);
    const std::string& model = std::get<std::string>(device.attributes.at("d/model"));
    me.asked.push_back(std::string{expression} + " of " + model + (device.id.empty() ? "" : " with an id"));
    CHECK(device.device_class == "card");
    CHECK(device.attributes.size() == 1);
    CHECK(device.capacities.at("d/memory").amount == 8);
    CHECK_FALSE(me.cluster.add_node(a_node{"not now"}));
    if (model == "wild") throw std::runtime_error{"no such function"};
    if (model == "wilder") throw 7;
    if (model == "odd") return {.error = "no such key: " + std::string{expression}};
    return {.matches = model == expression};
  }
  /// The device that a new pod would have there, or why it has none.
  std::string chosen(node_id node, const std::string& name, const std::string& expression) {
    const pod_id pod = cluster.add_pod(wanting(name, expression)).value();
    const device_wants wants =
        inside(cluster).devices.wants_of(inside(cluster).classes[inside(cluster).pods.cls[pod.row]], node.row);
    device_claim claim;
    const status said = choose_devices(cluster.devices_of(node), wants, {}, claim);
    CHECK(devices_fit(cluster.devices_of(node), wants, {}).ok() == said.ok());
    if (said.ok()) return std::string{cluster.name_of(node, claim.grants.at(0))};
    return said.reason + std::string{inside(cluster).names.text(said.detail)};
  }
};
using words = std::vector<std::string>;

TEST_CASE("the host is asked once about a kind of device, when the expression or the device is new",
          "[model][host_answers]") {
  host h;
  const node_id n = h.cluster.add_node(cards("n", {"a", "b"})).value();
  CHECK(h.asked.empty());
  CHECK(h.chosen(n, "p", "b") == "n1");
  CHECK(h.asked == words{"b of a", "b of b"});
  CHECK(h.chosen(n, "q", "b") == "n1");
  const node_id same = h.cluster.add_node(cards("same", {"a", "b"})).value();
  CHECK(h.asked.size() == 2);
  CHECK(h.chosen(same, "r", "a") == "same0");
  CHECK(h.asked.size() == 4);
  const node_id other = h.cluster.add_node(cards("other", {"c", "a"})).value();
  CHECK(h.asked.size() == 8);
  CHECK(h.chosen(other, "s", "a") == "other1");
  CHECK(h.chosen(other, "t", "b") == "node(s) didn't have enough free card");
  CHECK(h.cluster.update_node(other, cards("other", {"b"})));
  CHECK(h.chosen(other, "u", "b") == "other0");
  CHECK(h.asked.size() == 10);
}

TEST_CASE("a device that cannot be evaluated ends the search of who comes upon it", "[model][host_answers]") {
  host h;
  const node_id n = h.cluster.add_node(cards("n", {"a", "odd", "b"})).value();
  CHECK(h.chosen(n, "p", "a") == "n0");
  CHECK(h.chosen(n, "q", "b") == "node(s) have a device that the host could not evaluate: no such key: b");
  CHECK(h.cluster.set_device_health(n, "n1", false));
  CHECK(h.chosen(n, "r", "b") == "n2");
}

TEST_CASE("a matcher that throws has answered that it cannot evaluate the device", "[model][host_answers]") {
  host h;
  const node_id n = h.cluster.add_node(cards("n", {"a", "wild", "b"})).value();
  const std::string why =
      "node(s) have a device that the host could not evaluate: the device_matcher threw an exception on \"b\": ";
  CHECK(h.chosen(n, "p", "a") == "n0");
  CHECK(h.chosen(n, "q", "b") == why + "no such function");
  const std::size_t asked = h.asked.size();
  CHECK(h.chosen(n, "r", "b") == why + "no such function");
  CHECK(h.asked.size() == asked);
  CHECK(h.cluster.update_node(n, cards("n", {"wilder", "b"})));
  CHECK(h.chosen(n, "s", "b") == why + "not a std::exception");
  CHECK_FALSE(inside(h.cluster).in_hook);
  CHECK(h.cluster.add_node(a_node{"m"}));
}

TEST_CASE("expressions of claims and of alternatives are asked about too, and only those of the class",
          "[model][host_answers]") {
  host h;
  CHECK(h.cluster.add_node(cards("n", {"a"})));
  CHECK(h.cluster.add_resource_claim({.name = "c", .devices = {{.device_class = "card", .expressions = {"x"}}}}));
  CHECK(h.cluster.add_pod(
      a_pod{"p"}.device({.first_of = {{.device_class = "nic"}, {.device_class = "card", .expressions = {"y"}}}})));
  CHECK(h.asked == words{"x of a", "y of a"});
}

TEST_CASE("without a host to ask, requests have no expressions", "[model][host_answers]") {
  cluster c;
  const char* const why = "have expressions, and the cluster has no device_matcher";
  const auto pod = c.add_pod(wanting("p", "x"));
  REQUIRE_FALSE(pod);
  CHECK(pod.error().message() == std::string{"pod default/p: devices: "} + why);
  const auto claim = c.add_resource_claim({.name = "c", .devices = {{.device_class = "card", .expressions = {"x"}}}});
  REQUIRE_FALSE(claim);
  CHECK(claim.error().message() == std::string{"resource claim default/c: devices: "} + why);
  CHECK_FALSE(c.find_resource_claim("default", "c"));
  const auto empty = c.add_pod(wanting("p", ""));
  REQUIRE_FALSE(empty);
  CHECK(empty.error().field == "devices[0].expressions[0]");
}

}  // namespace

}  // namespace gangsched::testing::host_answers_test
