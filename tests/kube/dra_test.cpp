#include "kube/device_objects.hpp"
#include "kube/group_reading.hpp"

namespace gangsched::testing::dra_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;
using namespace gangsched::kube::testing::device_objects;

namespace {

std::string claim(const std::string& devices, const std::string& kind = "ResourceClaim") {
  const bool made_from = kind == "ResourceClaimTemplate";
  return "apiVersion: resource.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: x}\nspec: {" +
         (made_from ? "spec: {" : "") + "devices: {" + devices + "}}" + (made_from ? "}" : "") + "\n---\n";
}
std::string one_request(const std::string& more = "") {
  return "requests: [{name: r, exactly: {deviceClassName: c" + more + "}}]";
}
std::string pod(const std::string& name = "p", const std::string& by = "resourceClaimName: x") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {resourceClaims: [{name: mine, " + by +
         "}], containers: [{name: c, resources: {claims: [{name: mine}]}}]}\n---\n";
}
/// The selectors that a class has of @p cel, as the request of a claim has them.
std::vector<attribute_selector> selectors(const std::string& cel) {
  const manifests all = fine(device_class("c", "device.driver == \"d.io\" && " + cel) + claim(one_request()) + pod());
  INFO(cel);
  CHECK(all.warnings.empty());
  return all.claims.at(0).spec.devices.at(0).selectors;
}

}  // namespace

TEST_CASE("slices of all versions make an inventory", "[kube][dra]") {
  const std::string inside =
      "attributes: {model: {string: big}, index: {int: 3}, fast: {bool: true}, v: {version: 1.2.3}, other.io/x: {int: "
      "1}}, "
      "capacity: {memory: {value: 2Gi}}, consumesCounters: [{counterSet: g, counters: {slots: {value: \"1\"}}}]";
  const std::string counters = ", sharedCounters: [{name: g, counters: {slots: {value: \"2\"}}}]";
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    const bool basic = std::string{version} == "v1beta1";
    const manifests all =
        fine(slice("{name: g0, " + (basic ? "basic: {" + inside + "}" : inside) + "}", counters, version) + node);
    const node_devices& has = all.nodes.at(0).spec.devices;
    REQUIRE(has.others.size() == 1);
    const other_device& one = has.others[0];
    CHECK(one.id == "g0");
    CHECK(one.device_class == "d.io");
    CHECK(one.attributes.at("d.io/model") == device_attribute{std::string{"big"}});
    CHECK(one.attributes.at("d.io/index") == device_attribute{std::int64_t{3}});
    CHECK(one.attributes.at("d.io/fast") == device_attribute{true});
    CHECK(one.attributes.at("d.io/v") == device_attribute{std::string{"1.2.3"}});
    CHECK(one.attributes.at("other.io/x") == device_attribute{std::int64_t{1}});
    CHECK(one.capacities.at("d.io/memory").amount == std::int64_t{2} << 30);
    REQUIRE(one.consumes.size() == 1);
    CHECK(has.counters.at(one.consumes[0].counter) == 2);
    CHECK(all.warnings.empty());
  }
}

TEST_CASE("of a pool the newest generation counts, and tainted devices are not used", "[kube][dra]") {
  const auto generation = [](int number, const std::string& device) {
    std::string text = slice("{name: " + device + "}");
    text.replace(text.find("{name: n1}"), 10, "{name: n1, generation: " + std::to_string(number) + "}");
    return text;
  };
  const manifests all =
      fine(generation(1, "old") + generation(2, "new, taints: [{key: k, effect: NoSchedule}]") + node);
  REQUIRE(all.nodes[0].spec.devices.others.size() == 1);
  CHECK(all.nodes[0].spec.devices.others[0].id == "new");
  CHECK_FALSE(all.nodes[0].spec.devices.others[0].healthy);
  CHECK(warned_lines(fine(slice("{name: g}"))).find("there is no node \"n1\"") != std::string::npos);
  const std::string everywhere =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d.io, allNodes: true, "
      "pool: "
      "{name: p}, devices: [{name: g}]}\n";
  CHECK(warned_lines(fine(everywhere)).find("devices that several nodes reach are not modelled") != std::string::npos);
}

TEST_CASE("the common part of CEL is understood", "[kube][dra]") {
  using op = attribute_operator;
  const auto one = [](const std::string& cel) {
    const auto all = selectors(cel);
    REQUIRE(all.size() == 1);
    return all[0];
  };
  const std::string a = "device.attributes[\"d.io\"].";
  CHECK(one(a + "model == \"big\"").attribute == "d.io/model");
  CHECK(one(a + "model == \"big\"").values == std::vector<device_attribute>{std::string{"big"}});
  CHECK(one(a + "model != \"big\"").op == op::not_equal);
  CHECK(one(a + "index >= 3").op == op::greater_equal);
  CHECK(one("3 < " + a + "index").op == op::greater);
  CHECK(one(a + "index == -3").values == std::vector<device_attribute>{std::int64_t{-3}});
  CHECK(one(a + "model in [\"big\", \"small\"]").values.size() == 2);
  CHECK(one("(" + a + "model == \"big\" || " + a + "model == \"small\")").op == op::in);
  CHECK(one(a + "fast").values == std::vector<device_attribute>{true});
  CHECK(one("!" + a + "fast").values == std::vector<device_attribute>{false});
  CHECK(one("has(" + a + "fast)").op == op::exists);
  CHECK(one("device.attributes[\"d.io\"][\"model\"] == \"x\"").attribute == "d.io/model");
  CHECK(selectors("(" + a + "index > 1 && (" + a + "index < 5)) && " + a + "fast == true").size() == 3);
  const auto memory = one("device.capacity[\"d.io\"].memory.compareTo(quantity(\"40Gi\")) >= 0");
  CHECK(memory.attribute == "capacity.d.io/memory");
  CHECK(memory.op == op::greater_equal);
  CHECK(memory.values == std::vector<device_attribute>{std::int64_t{40} << 30});
  CHECK(one("device.capacity[\"d.io\"].memory.isLessThan(quantity(\"1\"))").op == op::less);
}

/// What the only pod waits for.
std::string waits_for(const std::string& text) {
  const manifests all = fine(text);
  REQUIRE(all.pods.size() == 1);
  REQUIRE(all.pods[0].unresolved.size() == 1);
  CHECK(all.pods[0].spec.devices.empty());
  CHECK(all.pods[0].shared_claims.empty());
  CHECK(all.claims.empty());
  const std::string& why = all.pods[0].unresolved[0];
  const auto told = [&](const warning& one) { return one.reason == why + "; the pod waits for it"; };
  CHECK(std::ranges::count_if(all.warnings, told) == 1);
  cluster on;
  REQUIRE(apply(on, all));
  CHECK(spec_for(on, all.pods[0])->scheduling_gates == std::vector<std::string>{unresolved_gate});
  return why;
}

TEST_CASE("selectors may ask whether several claims may have a device at once", "[kube][dra]") {
  for (const auto& [cel, op] : {std::pair{"device.allowMultipleAllocations == true", attribute_operator::exists},
                                std::pair{"device.allowMultipleAllocations", attribute_operator::exists},
                                std::pair{"device.allowMultipleAllocations != true", attribute_operator::absent},
                                std::pair{"!device.allowMultipleAllocations", attribute_operator::absent}}) {
    const std::vector<attribute_selector> made = selectors(cel);
    REQUIRE(made.size() == 1);
    CHECK(made[0].attribute == "gangsched.dev/allow-multiple-allocations");
    CHECK(made[0].op == op);
    CHECK(made[0].values.empty());
  }
  const manifests all = fine(slice("{name: nic, allowMultipleAllocations: true}, {name: gpu}", "", "v1") + node);
  CHECK(all.nodes.at(0).spec.devices.others[0].attributes.contains("gangsched.dev/allow-multiple-allocations"));
  CHECK(all.nodes.at(0).spec.devices.others[1].attributes.empty());
}

TEST_CASE("what is not understood of CEL is told, and who uses it waits", "[kube][dra]") {
  const auto told = [](const std::string& cel) {
    return waits_for(device_class("c", cel) + claim(one_request()) + pod());
  };
  const std::string at = "a.yaml:1: DeviceClass c: spec.selectors[0].cel.expression: ";
  const std::string a = "device.attributes[\"d.io\"].";
  CHECK(told(a + "model.startsWith(\"b\")") == at + "\".startsWith(\"b\")\" is not understood");
  CHECK(told("device.driver == \"d.io\" && " + a + "v.compareTo(semver(\"1.0.0\")) >= 0")
            .starts_with(at + "\".compareTo(semver("));
  CHECK(told(a + "model == \"x\" || " + a + "index == 1").find("|| of this is not understood") != std::string::npos);
  CHECK(told(a + "fast && " + a + "model == \"x\" || " + a + "model == \"y\"").find("|| beside && is not understood") !=
        std::string::npos);
  CHECK(told(a + "model ==") == at + "ends too early");
  CHECK(told("device.driver != \"d.io\"").find("a driver can only be equal to a text") != std::string::npos);
  CHECK(told(std::string(200, '(')).find("is too deep") != std::string::npos);
  const manifests unused = fine(device_class("c", "something()"));
  CHECK(warned_lines(unused) ==
        "a.yaml:4: DeviceClass c: spec.selectors[0].cel.expression: \"something()\" is not understood\n");
}

TEST_CASE("what is not understood of CEL goes to a host that has a device matcher", "[kube][dra]") {
  const auto request = [](const std::string& cel, const std::string& more = "") {
    read_options how;
    how.device_matcher = true;
    const auto made = read(source{"a.yaml", device_class("c", cel) + claim(one_request(more)) + pod()}, how);
    INFO(cel);
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made);
    CHECK(made->warnings.empty());
    return made->claims.at(0).spec.devices.at(0);
  };
  using expressions = std::vector<std::string>;
  const std::string a = "device.attributes[\"d.io\"].", driver = "device.driver == \"d.io\"";
  const device_request mixed =
      request(driver + " && " + a + "model.startsWith(\"a && b\") && " + a + "index > 1 && f(1 || 2)");
  CHECK(mixed.device_class == "d.io");
  CHECK(mixed.selectors.size() == 1);
  CHECK(mixed.expressions == expressions{a + "model.startsWith(\"a && b\") && f(1 || 2)"});
  CHECK(request(driver + " && " + a + "fast").expressions.empty());
  const device_request either = request(driver + " && (" + a + "fast || " + a + "index == 1)");
  CHECK(either.expressions == expressions{"(" + a + "fast || " + a + "index == 1)"});
  const std::string own = ", selectors: [{cel: {expression: 'weird() || x ? y : z'}}]";
  CHECK(request(driver, own).expressions == expressions{"weird() || x ? y : z"});
  // Comments and raw strings end otherwise: nothing is taken apart.
  const std::string comment = ", selectors: [{cel: {expression: 'f() // was: && device.driver == \"old\"'}}]";
  CHECK(request(driver, comment).expressions == expressions{"f() // was: && device.driver == \"old\""});
  const std::string raw = ", selectors: [{cel: {expression: 'r\"\\\" == f() && g(\"\")'}}]";
  CHECK(request(driver, raw).expressions == expressions{"r\"\\\" == f() && g(\"\")"});

  read_options how;
  how.device_matcher = true;
  const auto made =
      read(source{"a.yaml", device_class("c", driver + " && weird()") + claim(one_request()) + pod()}, how);
  REQUIRE(made);
  cluster deaf;
  const auto refused = apply(deaf, *made);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("have expressions, and the cluster has no device_matcher") != std::string::npos);
  cluster on{{.device_matcher = {.ask = [](void*, std::string_view, const other_device&) {
                return device_verdict{true, {}};
              }}}};
  CHECK(apply(on, *made));
}

TEST_CASE("capacities of devices that are shared, and what requests take of them", "[kube][dra]") {
  const std::string policy = "{default: 1Gi, validRange: {min: 1Gi, max: 4Gi, step: 1Gi}}";
  const manifests all =
      fine(slice("{name: g0, allowMultipleAllocations: true, capacity: {memory: {value: 8Gi, requestPolicy: " + policy +
                 "}, cores: {value: 4, requestPolicy: {default: 1, validValues: [1, 2]}}}}") +
           node + of_driver + claim(one_request(", capacity: {requests: {memory: 2Gi, d.io/cores: 2}}")) + pod());
  CHECK(all.warnings.empty());
  const other_device& device = all.nodes.at(0).spec.devices.others.at(0);
  CHECK(device.shared);
  constexpr std::int64_t gi = std::int64_t{1} << 30;
  const capacity_spec& memory = device.capacities.at("d.io/memory");
  CHECK(memory.amount == 8 * gi);
  REQUIRE(memory.policy);
  CHECK(memory.policy->standard == gi);
  CHECK(memory.policy->least == gi);
  CHECK(memory.policy->most == 4 * gi);
  CHECK(memory.policy->step == gi);
  CHECK(device.capacities.at("d.io/cores").policy->values == std::vector<std::int64_t>{1, 2});
  const auto& asked = all.claims.at(0).spec.devices.at(0).capacities;
  CHECK(asked.at("d.io/memory") == 2 * gi);
  CHECK(asked.at("d.io/cores") == 2);
  cluster on;
  CHECK(apply(on, all));

  const auto bad = [](const std::string& capacity) {
    return refusal(slice("{name: g, capacity: {m: " + capacity + "}}") + node);
  };
  const std::string at = "a.yaml:4: ResourceSlice s: spec.devices[0].capacity.m";
  CHECK(bad("{value: 1, requestPolicy: {default: 2}}") ==
        at + ": requestPolicy.default is negative, or more than there is");
  CHECK(bad("{value: 4, requestPolicy: {validValues: [2, 1]}}") ==
        at + ": requestPolicy.validValues are not ascending");
  CHECK(bad("{value: 4, requestPolicy: {validRange: {max: 1}}}") ==
        at + ": requestPolicy.validRange.min is not told beside the rest of the range");
  CHECK(bad("{value: 4, requestPolicy: {validRange: {min: 1, step: 0}}}") ==
        at + ": requestPolicy.validRange.step is not above 0");
  CHECK(bad("{value: -1}").starts_with(at + ".value: "));
  CHECK(refusal(claim(one_request(", capacity: {requests: {m: 1, d.io/m: 2}}")) + pod() + of_driver)
            .find("\"m\" is there with and without its domain") != std::string::npos);
  const manifests both = fine(
      slice(
          "{name: g, allowMultipleAllocations: true, consumesCounters: [{counterSet: s, counters: {n: {value: 1}}}]}") +
      node);
  CHECK(warned_lines(both).find("counters of a device that is shared are not modelled; it is not used") !=
        std::string::npos);
  CHECK_FALSE(both.nodes.at(0).spec.devices.others.at(0).healthy);
}

TEST_CASE("a claim that is allocated keeps its devices though nobody runs with it", "[kube][dra]") {
  std::string allocated = claim(one_request(", capacity: {requests: {m: 1}}"));
  allocated.insert(allocated.size() - 4,
                   "status: {allocation: {devices: {results: [{request: r, driver: d.io, pool: n1, device: g1, "
                   "consumedCapacity: {m: 3}}]}}}\n");
  const std::string shared = "allowMultipleAllocations: true, capacity: {m: {value: 4}}";
  const std::string devices = of_driver + slice("{name: g0, " + shared + "}, {name: g1, " + shared + "}") + node;
  const auto has = [](const manifests& all) {
    cluster on;
    REQUIRE(apply(on, all));
    const resource_claim_id x = on.find_resource_claim("default", "x").value();
    CHECK(on.users_of(x) == 0);
    CHECK(on.name_of(on.node_of(x)) == "n1");
    REQUIRE(on.devices_of(x).size() == 2);
    CHECK(on.devices_of(x)[0].device == 1);
    CHECK(on.devices_of(x)[1].amount == 3);
  };
  SECTION("nobody at all") { has(fine(allocated + devices)); }
  SECTION("but somebody who waits") { has(fine(allocated + pod() + devices)); }
  SECTION("but somebody who waits, whom it was made for") {
    std::string text = pod("p", "resourceClaimTemplateName: t");
    text.insert(text.size() - 4, "status: {resourceClaimStatuses: [{name: mine, resourceClaimName: x}]}\n");
    const manifests all = fine(allocated + text + devices);
    CHECK(all.pods.at(0).shared_claims == std::vector<std::string>{"x"});
    has(all);
  }
  SECTION("unless nobody has the devices") {
    const manifests all = fine(allocated + of_driver + node);
    CHECK(all.claims.empty());
    CHECK(warned_lines(all).find(
              "ResourceClaim default/x: its allocation is left out: no node has the device \"d.io/n1/g1\"") !=
          std::string::npos);
  }
  SECTION("or nobody knows its class") {
    const manifests all = fine(allocated + devices.substr(of_driver.size()));
    CHECK(all.claims.empty());
    CHECK(warned_lines(all).find(
              "its allocation is left out: spec.devices.requests[0].deviceClassName: there is no DeviceClass") !=
          std::string::npos);
  }
}

TEST_CASE("templates become requests of their pods, and claims are shared", "[kube][dra]") {
  const std::string cel = "selectors: [{cel: {expression: 'device.attributes[\"d.io\"].index > 0'}}]";
  for (const char* kind : {"ResourceClaim", "ResourceClaimTemplate"}) {
    const bool by_name = std::string{kind} == "ResourceClaim";
    const manifests all = fine(pod("p", by_name ? "resourceClaimName: x" : "resourceClaimTemplateName: x") +
                               claim(one_request(", count: 2, adminAccess: true, " + cel), kind) + of_driver);
    CHECK(all.pods.at(0).spec.devices.empty() == by_name);
    CHECK(all.pods[0].shared_claims == (by_name ? std::vector<std::string>{"x"} : std::vector<std::string>{}));
    const std::vector<device_request>& requests = by_name ? all.claims.at(0).spec.devices : all.pods[0].spec.devices;
    REQUIRE(requests.size() == 1);
    const device_request& made = requests[0];
    CHECK(made.name == (by_name ? "r" : "mine/r"));
    CHECK(made.device_class == "d.io");
    CHECK(made.count == 2);
    CHECK(made.admin);
    CHECK(made.selectors.at(0).attribute == "d.io/index");
    CHECK(all.warnings.empty());
  }
  const manifests alternatives =
      fine(claim("requests: [{name: r, firstAvailable: [{name: a, deviceClassName: c, allocationMode: All}, {name: b, "
                 "deviceClassName: c, count: 3}]}]") +
           pod() + of_driver);
  const device_request& first = alternatives.claims.at(0).spec.devices.at(0);
  REQUIRE(first.first_of.size() == 2);
  CHECK(first.first_of[0].all);
  CHECK(first.first_of[1].count == 3);
  // v1beta1 has no "exactly"
  CHECK(fine(claim("requests: [{name: r, deviceClassName: c, count: 4}]") + pod() + of_driver)
            .claims.at(0)
            .spec.devices[0]
            .count == 4);
}

TEST_CASE("pods that name one claim share it", "[kube][dra]") {
  const std::string twice =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: twice}\nspec: {resourceClaims: [{name: a, "
      "resourceClaimName: x}, {name: b, resourceClaimName: x}], containers: [{name: c}]}\n---\n";
  const manifests all = fine(claim(one_request()) + pod("p") + pod("q") + twice + of_driver);
  CHECK(all.warnings.empty());
  REQUIRE(all.claims.size() == 1);
  CHECK(all.claims[0].spec.most_pods == 256);
  cluster on;
  REQUIRE(apply(on, all));
  const resource_claim_id x = on.find_resource_claim("default", "x").value();
  for (const char* name : {"p", "q", "twice"}) {
    const auto shared = on.claims_of(*on.find_pod("default", name));
    CHECK(std::vector(shared.begin(), shared.end()) == std::vector{x});
  }
}

TEST_CASE("a pod group's claims are shared by the members that name the same", "[kube][dra]") {
  const auto group = [](const std::string& by) {
    return "apiVersion: scheduling.k8s.io/v1alpha3\nkind: PodGroup\nmetadata: {name: g}\nspec: {schedulingPolicy: "
           "{gang: "
           "{minCount: 2}}, resourceClaims: [{name: mine, " +
           by + "}]}\n---\n";
  };
  const auto member = [](const std::string& name, const std::string& by) {
    std::string text = pod(name, by);
    text.replace(text.find("spec: {"), 7, "spec: {schedulingGroup: {podGroupName: g}, ");
    return text;
  };
  const std::string made = "resourceClaimTemplateName: x", named = "resourceClaimName: x";
  const manifests all = fine(group(made) + member("p", made) + member("q", made) + pod("alone", made) +
                             claim(one_request(), "ResourceClaimTemplate") + of_driver);
  CHECK(all.warnings.empty());
  REQUIRE(all.claims.size() == 1);
  CHECK(all.claims[0].spec.name == "g-mine");
  CHECK(all.claims[0].spec.most_pods == 0);  // the group reserves it, not each of its pods
  CHECK(all.pods[0].shared_claims == std::vector<std::string>{"g-mine"});
  CHECK(all.pods[1].shared_claims == all.pods[0].shared_claims);
  CHECK(all.pods[2].shared_claims.empty());
  CHECK(all.pods[2].spec.devices.size() == 1);
  cluster on;
  CHECK(apply(on, all));

  const manifests by_name = fine(group(named) + member("p", named) + pod("q") + claim(one_request()) + of_driver);
  REQUIRE(by_name.claims.size() == 1);
  CHECK(by_name.claims[0].spec.most_pods == 0);
  CHECK(by_name.pods[1].shared_claims == std::vector<std::string>{"x"});
}

TEST_CASE("constraints are about the devices of the requests that they name", "[kube][dra]") {
  const std::string two =
      "requests: [{name: r, exactly: {deviceClassName: c}}, {name: s, firstAvailable: [{name: a, "
      "deviceClassName: c}]}], constraints: ";
  const std::string template_name = "ResourceClaimTemplate";
  const manifests all =
      fine(pod("p", "resourceClaimTemplateName: x") +
           claim(two + "[{matchAttribute: d.io/root}, {requests: [s], distinctAttribute: d.io/index}]", template_name) +
           of_driver);
  CHECK(all.warnings.empty());
  const std::vector<device_constraint>& made = all.pods.at(0).spec.device_constraints;
  REQUIRE(made.size() == 2);
  CHECK(made[0].attribute == "d.io/root");
  CHECK(made[0].requests == std::vector<std::int32_t>{0, 1});
  CHECK_FALSE(made[0].distinct);
  CHECK(made[1].attribute == "d.io/index");
  CHECK(made[1].requests == std::vector<std::int32_t>{1});
  CHECK(made[1].distinct);
  CHECK(fine(pod() + claim(two + "[{requests: [r], matchAttribute: d.io/root}]") + of_driver)
            .claims.at(0)
            .spec.constraints.size() == 1);
  const manifests one = fine(pod() + claim(two + "[{requests: [r, s/a], matchAttribute: d.io/root}]") + of_driver);
  CHECK(one.warnings.empty());
  const device_constraint& part = one.claims.at(0).spec.constraints.at(0);
  CHECK(part.requests == std::vector<std::int32_t>{0});
  REQUIRE(part.alternatives.size() == 1);
  CHECK(part.alternatives[0].request == 1);
  CHECK(part.alternatives[0].place == 0);
  CHECK(refusal(pod() + claim(two + "[{requests: [s/b], matchAttribute: d.io/root}]") + of_driver)
            .ends_with("spec.devices.constraints[0].requests[0]: there is no alternative \"s/b\""));
  CHECK(refusal(pod() + claim(two + "[{requests: [t], matchAttribute: d.io/root}]") + of_driver)
            .ends_with("ResourceClaim default/x: spec.devices.constraints[0].requests[0]: there is no request \"t\""));
  CHECK(refusal(pod() + claim(two + "[{requests: [r]}]") + of_driver)
            .ends_with("ResourceClaim default/x: spec.devices.constraints[0]: has neither matchAttribute nor "
                       "distinctAttribute"));
}

TEST_CASE("the pods of a workload each get what its template says", "[kube][dra]") {
  const std::string set =
      "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: w}\nspec: {replicas: 2, template: {spec: "
      "{resourceClaims: [{name: mine, "
      "resourceClaimTemplateName: x}], containers: [{name: c}]}}}\n---\n";
  const manifests all = fine(set + claim(one_request(), "ResourceClaimTemplate") + of_driver);
  REQUIRE(all.pods.size() == 2);
  for (const pod_manifest& one : all.pods) CHECK(one.spec.devices.size() == 1);
}

TEST_CASE("who has claims that lead nowhere waits", "[kube][dra]") {
  CHECK(waits_for(pod()) == "spec.resourceClaims[0]: there is no ResourceClaim \"x\" in its namespace");
  CHECK(waits_for(pod("p", "resourceClaimTemplateName: t")).find("there is no ResourceClaimTemplate \"t\"") !=
        std::string::npos);
  CHECK(waits_for(claim(one_request()) + pod()) ==
        "a.yaml:1: ResourceClaim default/x: spec.devices.requests[0].deviceClassName: there is no DeviceClass \"c\"");
  CHECK(refusal(claim("requests: [{name: r}]") + of_driver) ==
        "a.yaml:4: ResourceClaim default/x: spec.devices.requests[0]: names no device class");
  const std::string other = "selectors: [{cel: {expression: 'device.driver == \"e.io\"'}}]";
  CHECK(waits_for(claim(one_request(", " + other)) + pod() + of_driver)
            .find("the class is about devices of d.io, the selector of e.io") != std::string::npos);
  CHECK(waits_for(claim(one_request()) + pod() + device_class("c", "device.attributes[\"d.io\"].fast"))
            .find("names no driver") != std::string::npos);
}

TEST_CASE("pods that run hold what their claim has", "[kube][dra]") {
  std::string allocated = claim(one_request());
  allocated.insert(allocated.size() - 4,
                   "status: {reservedFor: [{resource: pods, name: p}], allocation: {devices: {results: [{request: r, "
                   "driver: d.io, pool: "
                   "n1, device: g1}]}}}\n");
  const auto running = [](const std::string& name, const std::string& by) {
    std::string text = pod(name, by);
    return text.replace(text.find("spec: {"), 7, "spec: {nodeName: n1, ");
  };
  const std::string devices = of_driver + slice("{name: g0}, {name: g1}") + node;
  SECTION("that they share") {
    const manifests all =
        fine(allocated + running("p", "resourceClaimName: x") + running("q", "resourceClaimName: x") + devices);
    CHECK(all.claims.at(0).spec.held_devices.at(0).id == "g1");
    cluster on;
    REQUIRE(apply(on, all));
    const resource_claim_id x = on.find_resource_claim("default", "x").value();
    CHECK(on.users_of(x) == 2);
    REQUIRE(on.devices_of(x).size() == 1);
    CHECK(on.devices_of(x)[0].device == 1);
    CHECK(on.devices_of(*on.find_pod("default", "p")).empty());
  }
  SECTION("that was made for one of them") {
    std::string text = running("p", "resourceClaimTemplateName: t");
    text.insert(text.size() - 4, "status: {resourceClaimStatuses: [{name: mine, resourceClaimName: x}]}\n");
    const manifests all = fine(allocated + text + devices);
    CHECK(all.claims.empty());
    REQUIRE(all.pods.at(0).held_devices.size() == 1);
    CHECK(all.pods[0].held_devices[0].id == "g1");
    cluster on;
    REQUIRE(apply(on, all));
    const auto held = on.devices_of(*on.find_pod("default", "p"));
    REQUIRE(held.size() == 1);
    CHECK(held[0].device == 1);
  }
  SECTION("that was made for one of them, of whom the file has the status first") {
    std::string text = running("p", "resourceClaimTemplateName: t");
    text.insert(text.find("spec: {"), "status: {resourceClaimStatuses: [{name: mine, resourceClaimName: x}]}\n");
    const manifests all = fine(allocated + text + devices);
    CHECK(all.claims.empty());
    REQUIRE(all.pods.size() == 1);
    REQUIRE(all.pods[0].held_devices.size() == 1);
    CHECK(all.pods[0].held_devices[0].id == "g1");
  }
  SECTION("that a group has reserved") {
    std::string of_group = allocated;
    of_group.replace(of_group.find("resource: pods"), 14, "resource: podgroups");
    CHECK(fine(of_group + running("p", "resourceClaimName: x") + devices).claims.at(0).spec.most_pods == 0);
  }
}

TEST_CASE("a pod that runs may name claims that are not in the files", "[kube][dra]") {
  std::string running = pod();
  running.replace(running.find("spec: {"), 7, "spec: {nodeName: n1, ");
  const manifests all = fine(node + running);
  CHECK(warned_lines(all) ==
        "a.yaml:6: Pod default/p: spec.resourceClaims[0]: there is no ResourceClaim \"x\" in its namespace; it is left "
        "out\n");
  CHECK(all.pods.at(0).spec.devices.empty());
}

TEST_CASE("claims of pod groups are their own, whatever name is made of theirs", "[kube][dra]") {
  const auto group = [](const std::string& name, const std::string& its, const std::string& of) {
    return "apiVersion: scheduling.k8s.io/v1alpha3\nkind: PodGroup\nmetadata: {name: " + name +
           "}\nspec: {schedulingPolicy: {gang: {minCount: 1}}, resourceClaims: [{name: " + its +
           ", resourceClaimTemplateName: " + of + "}]}\n---\n";
  };
  const auto member = [](const std::string& name, const std::string& group_name, const std::string& its,
                         const std::string& of) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {schedulingGroup: {podGroupName: " + group_name + "}, resourceClaims: [{name: " + its +
           ", resourceClaimTemplateName: " + of + "}], containers: [{name: c}]}\n---\n";
  };
  const auto named = [](std::string text, const std::string& name) {
    return text.replace(text.find("{name: x}"), 9, "{name: " + name + "}");
  };
  const std::string made_of = named(claim(one_request(", count: 2"), "ResourceClaimTemplate"), "t1") +
                              named(claim(one_request(", count: 3"), "ResourceClaimTemplate"), "t2");
  using words = std::vector<std::string>;
  for (const char* const second : {"t1", "t2"}) {  // of one template they are two claims, too
    const manifests all =
        fine(of_driver + made_of + group("a", "b-c", "t1") + group("a-b", "c", second) + member("p", "a", "b-c", "t1") +
             member("q", "a-b", "c", second) + member("q2", "a-b", "c", second) + member("p2", "a", "b-c", "t1"));
    CHECK(all.claims.size() == 2);
    REQUIRE(all.pods.size() == 4);
    CHECK(all.pods[0].shared_claims == words{"a-b-c"});
    CHECK(all.pods[3].shared_claims == words{"a-b-c"});
    CHECK(all.pods[1].shared_claims == words{"a-b-c-2"});
    CHECK(all.pods[2].shared_claims == words{"a-b-c-2"});
    cluster on;
    REQUIRE(apply(on, all));
    const auto asked = on.find_resource_claim("default", "a-b-c-2");
    CHECK(asked);
    CHECK(all.claims.back().spec.devices.at(0).count == (std::string{second} == "t1" ? 2 : 3));
  }
  // A claim that is there has its name, whoever comes first.
  const manifests beside =
      fine(of_driver + made_of + group("train", "gpu", "t1") + member("p", "train", "gpu", "t1") +
           named(claim(one_request(", count: 5")), "train-gpu") + pod("q", "resourceClaimName: train-gpu"));
  REQUIRE(beside.claims.size() == 2);
  CHECK(beside.pods[0].shared_claims == words{"train-gpu-2"});
  CHECK(beside.pods[1].shared_claims == words{"train-gpu"});
}

TEST_CASE("nothing is given out of a pool that is being updated, or is wrong", "[kube][dra]") {
  const auto part = [](const std::string& name, const std::string& of, const std::string& where,
                       const std::string& devices) {
    return "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: " + name +
           "}\nspec: {driver: d.io, " + where + ", pool: {name: pool, " + of + "}, devices: [" + devices + "]}\n---\n";
  };
  const auto healthy = [](const manifests& all) {
    std::string made;
    for (const other_device& one : all.nodes.at(0).spec.devices.others) made += one.healthy ? one.id : "-";
    return made;
  };
  const std::string here = "nodeName: n1", two = "generation: 2, resourceSliceCount: 2";
  const manifests half = fine(node + part("s1", two, here, "{name: a}, {name: b}"));
  CHECK(healthy(half) == "--");
  CHECK(warned_lines(half) ==
        "a.yaml:6: ResourceSlice s1: its pool \"pool\" has 1 slices of 2: nothing of it is given out\n");
  // Of the newest generation, wherever they are.
  CHECK(healthy(fine(node + part("old", "generation: 1, resourceSliceCount: 1", here, "{name: z}") +
                     part("s1", two, here, "{name: a}"))) == "-");
  CHECK(healthy(fine(node + part("s1", two, here, "{name: a}") + part("s2", two, here, "{name: b}"))) == "ab");
  CHECK(healthy(fine(node + part("s1", two, here, "{name: a}") + part("s2", two, "allNodes: true", "{name: b}"))) ==
        "a");
  CHECK(healthy(fine(node + part("s1", "generation: 2", here, "{name: a}"))) == "a");  // who does not say is not asked
  const manifests twice = fine(node + part("s1", two, here, "{name: a}") + part("s2", two, here, "{name: a}"));
  CHECK(healthy(twice) == "--");
  CHECK(warned_lines(twice) ==
        "a.yaml:6: ResourceSlice s1: its pool \"pool\" has two devices \"a\": nothing of it is given out\n");
  CHECK(refusal(node + part("s1", "generation: 2, resourceSliceCount: -1", here, "{name: a}"))
            .starts_with("a.yaml:9: ResourceSlice s1: spec.pool.resourceSliceCount: "));
  // Whom a device was given to before keeps it, and nobody gets another.
  std::string allocated = claim(one_request());
  allocated.insert(allocated.size() - 4,
                   "status: {allocation: {devices: {results: [{request: r, driver: d.io, pool: pool, device: a}]}}}\n");
  cluster on;
  const manifests given = fine(node + of_driver + part("s1", two, here, "{name: a}, {name: b}") + allocated + pod());
  CHECK(healthy(given) == "a-");
  REQUIRE(apply(on, given));
  CHECK(on.devices_of(on.find_resource_claim("default", "x").value()).size() == 1);
}

TEST_CASE("what is not modelled of a device's binding is told", "[kube][dra]") {
  const manifests all = fine(
      node + slice("{name: a, bindsToNode: true, bindingConditions: [ready], bindingFailureConditions: [broken]}"));
  CHECK(warned_lines(all) ==
        "a.yaml:9: ResourceSlice s: spec.devices[0].bindingConditions: is not waited for: a pod is bound at once\n");
}

}  // namespace gangsched::testing::dra_test
