#include <random>

#include "gangsched/gangsched.hpp"
#include "gangsched/profiles.hpp"
#include "kube/device_objects.hpp"
#include "kube/group_reading.hpp"

// Taints of devices, and claims that tolerate them, or not.
namespace gangsched::testing::device_taints_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;
using namespace gangsched::kube::testing::device_objects;

namespace {

const std::string before = node + of_driver;

std::string rule(const std::string& spec, const std::string& version = "v1beta2", const std::string& name = "r") {
  return "apiVersion: resource.k8s.io/" + version + "\nkind: DeviceTaintRule\nmetadata: {name: " + name + "}\nspec: {" +
         spec + "}\n---\n";
}
/// A pod with a claim of its own, made from a template of its name.
std::string pod(const std::string& name, const std::string& requests, const std::string& more = "") {
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: " + name +
         "}\nspec: {spec: {devices: {requests: [" + requests +
         "]}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + more +
         "}\nspec: {resourceClaims: [{name: mine, resourceClaimTemplateName: " + name +
         "}], containers: [{name: c, resources: {claims: [{name: mine}]}}]}\n---\n";
}
std::string exactly(const std::string& more) { return "{name: r, exactly: {deviceClassName: c" + more + "}}"; }
std::string tolerating(const std::string& toleration, const std::string& more = "") {
  return exactly(", tolerations: [" + toleration + "]" + more);
}

/// The devices that each pod gets, in the order of the files: "a b, -".
std::string given(const std::string& text) {
  const manifests all = fine(before + text);
  CHECK(warned_lines(all) == "");
  cluster on;
  if (auto done = apply(on, all); !done) FAIL(done.error().message());
  scheduler by{on, profiles::kube_default()};
  while (const cycle done = by.schedule_cycle({})) REQUIRE(done.error() == nullptr);
  std::string made;
  for (const pod_manifest& one : all.pods) {
    const pod_id id = on.find_pod("default", one.spec.name).value();
    std::string names;
    for (const device_grant& grant : on.devices_of(id))
      (names += names.empty() ? "" : " ") += on.name_of(on.node_of(id), grant);
    (made += made.empty() ? "" : ", ") += names.empty() ? "-" : names;
  }
  return made;
}

}  // namespace

TEST_CASE("a request is given tainted devices only if it tolerates all of their taints", "[kube][dra]") {
  const std::string tainted = slice("{name: a, taints: [{key: k, value: v, effect: NoSchedule}]}, {name: b}");
  CHECK(given(tainted + pod("p", exactly(""))) == "b");
  CHECK(given(tainted + pod("p", tolerating("{key: k, value: v}"))) == "a");
  CHECK(given(tainted + pod("p", tolerating("{key: k, operator: Equal, value: v, effect: NoSchedule}"))) == "a");
  CHECK(given(tainted + pod("p", tolerating("{key: k, operator: Exists}"))) == "a");
  CHECK(given(tainted + pod("p", tolerating("{operator: Exists}"))) == "a");
  CHECK(given(tainted + pod("p", tolerating("{key: k, value: w}"))) == "b");
  CHECK(given(tainted + pod("p", tolerating("{key: k, operator: Exists, effect: NoExecute}"))) == "b");
  CHECK(given(tainted + pod("p", tolerating("{key: j, operator: Exists}"))) == "b");
  CHECK(given(tainted + pod("p", exactly("")) + pod("q", exactly("")) + pod("r", tolerating("{operator: Exists}"))) ==
        "b, -, a");
  CHECK(given(slice("{name: a, taints: [{key: k, effect: None}]}") + pod("p", exactly(""))) == "a");
  const std::string two = slice("{name: a, taints: [{key: k, effect: NoSchedule}, {key: j, effect: NoExecute}]}");
  CHECK(given(two + pod("p", tolerating("{key: k, operator: Exists}"))) == "-");
  CHECK(given(two + pod("p", tolerating("{key: k, operator: Exists}, {key: j, operator: Exists}"))) == "a");
}

TEST_CASE("who has a tainted device keeps it, and others get what is not tainted", "[kube][dra]") {
  const std::string tainted = slice("{name: a, taints: [{key: k, effect: NoSchedule}]}, {name: b}");
  const std::string has =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}\nspec: {devices: "
      "{requests: [" +
      exactly("") +
      "]}}\nstatus: {allocation: {devices: {results: [{request: r, driver: d.io, pool: n1, device: "
      "a}]}}}\n---\n";
  const auto running = [](const std::string& claim, const std::string& status = "") {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: n1, resourceClaims: [{name: mine, " +
           claim + "}], containers: [{name: c, resources: {claims: [{name: mine}]}}]}\nstatus: {phase: Running" +
           status + "}\n---\n";
  };
  const std::string by_name = has + running("resourceClaimName: x");
  const std::string made =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: "
      "{spec: {devices: {requests: [" +
      exactly("") + "]}}}\n---\n" + has +
      running("resourceClaimTemplateName: t", ", resourceClaimStatuses: [{name: mine, resourceClaimName: x}]");
  // What it shares is not among a pod's own.
  for (const auto& [p, own] : {std::pair{by_name, std::string{"-"}}, {made, "a"}}) {
    CHECK(given(tainted + p + pod("q", exactly(""))) == own + ", b");
    CHECK(given(tainted + p + pod("q", exactly("")) + pod("r", exactly(""))) == own + ", b, -");
    CHECK(given(tainted + p + pod("q", exactly(", allocationMode: All"))) == own + ", -");
  }
  CHECK(given(tainted + has + pod("q", exactly("")) + pod("r", exactly(""))) == "b, -");  // nobody uses the claim
}

TEST_CASE("a request for all devices is not met beside one that it does not tolerate", "[kube][dra]") {
  const std::string tainted = slice("{name: a, taints: [{key: k, effect: NoSchedule}]}, {name: b}");
  const std::string all = ", allocationMode: All", exists = "{operator: Exists}";
  CHECK(given(tainted + pod("p", exactly(all))) == "-");
  CHECK(given(tainted + pod("p", tolerating(exists, all))) == "a b");
  CHECK(given(tainted + pod("p", exactly(all)) + pod("q", tolerating(exists))) == "-, a");
  const auto alternatives = [&](const std::string& first) {
    return "{name: r, firstAvailable: [{name: all, deviceClassName: c" + all + first +
           "}, {name: one, deviceClassName: c}]}";
  };
  CHECK(given(tainted + pod("p", alternatives(""))) == "b");
  CHECK(given(tainted + pod("p", alternatives(", tolerations: [" + exists + "]"))) == "a b");
  CHECK(given(tainted + pod("p", alternatives("")) + pod("q", tolerating(exists))) == "b, a");
}

TEST_CASE("a DeviceTaintRule taints what it selects", "[kube][dra]") {
  const std::string two = slice("{name: a}, {name: b}"), taint = ", taint: {key: k, effect: NoExecute}";
  const std::string both = pod("p", exactly("")) + pod("q", exactly(""));
  CHECK(given(two + rule("deviceSelector: {}" + taint) + both) == "-, -");
  CHECK(given(two + rule("deviceSelector: {device: a}" + taint, "v1alpha3") + both) == "b, -");
  CHECK(given(two + rule("deviceSelector: {driver: d.io, pool: n1, device: b}" + taint) + both) == "a, -");
  CHECK(given(two + rule("deviceSelector: {driver: other.io}" + taint) + both) == "a, b");
  CHECK(given(two + rule("taint: {key: k, effect: NoExecute}") + both) == "a, b");  // no selector selects nothing
  CHECK(given(two + rule("deviceSelector: {}, taint: {key: k, effect: None}") + both) == "a, b");
  CHECK(given(two + rule("deviceSelector: {device: a}" + taint) + pod("p", tolerating("{key: k, operator: Exists}"))) ==
        "a");
  const manifests old = fine(before + two + rule("deviceSelector: {deviceClassName: c}" + taint));
  CHECK(warned_lines(old).find("no API selects devices so any more; the rule is left out") != std::string::npos);
  CHECK(old.nodes.at(0).spec.devices.others.at(0).healthy);
}

TEST_CASE("who asks for devices in other words tolerates no taint", "[kube][dra]") {
  const std::string text =
      slice("{name: a, taints: [{key: k, effect: NoSchedule}]}") + pod("p", tolerating("{operator: Exists}")) +
      "apiVersion: v1\nkind: Pod\nmetadata: {name: q, annotations: {gangsched.dev/devices: '{deviceClass: d.io}'}}\n"
      "spec: {priority: 9, containers: [{name: c}]}\n---\n";
  CHECK(given(text) == "a, -");
}

TEST_CASE("taints and tolerations at random are as a plain rule has them", "[kube][dra]") {
  std::mt19937 dice{7};
  const auto roll = [&](unsigned sides) { return static_cast<unsigned>(dice() % sides); };
  const std::vector<std::string> keys{"j", "k"}, values{"", "v"}, effects{"NoSchedule", "NoExecute", "None"};
  struct taint_said {
    std::string key, value, effect;
  };
  struct toleration_said {
    std::string key, value, effect;
    bool exists;
  };
  for (int round = 0; round < 150; ++round) {
    std::string devices;
    std::vector<std::vector<taint_said>> tainted(4);
    for (std::size_t i = 0; i < tainted.size(); ++i) {
      std::string taints;
      for (unsigned n = roll(3); n > 0; --n) {
        const taint_said& one = tainted[i].emplace_back(taint_said{keys[roll(2)], values[roll(2)], effects[roll(3)]});
        taints += "{key: " + one.key + ", value: '" + one.value + "', effect: " + one.effect + "},";
      }
      devices += "{name: d" + std::to_string(i) + ", taints: [" + taints + "]},";
    }
    std::string pods, wanted;
    std::vector<bool> taken(tainted.size());
    for (int p = 0; p < 3; ++p) {
      std::string written;
      std::vector<toleration_said> tolerations;
      for (unsigned n = roll(3); n > 0; --n) {
        toleration_said one{roll(4) == 0 ? "" : keys[roll(2)], values[roll(2)], roll(2) == 0 ? "" : effects[roll(3)],
                            roll(2) == 0};
        one.exists = one.exists || one.key.empty();
        if (one.exists) one.value.clear();
        written += "{key: '" + one.key + "', operator: " + (one.exists ? "Exists" : "Equal") + ", value: '" +
                   one.value + "', effect: '" + one.effect + "'},";
        tolerations.push_back(one);
      }
      const bool all = roll(3) == 0;
      pods += pod("p" + std::to_string(p), tolerating(written, all ? ", allocationMode: All" : ""));
      const auto keeps_out = [&](const taint_said& taint) {
        return taint.effect != "None" && std::ranges::none_of(tolerations, [&](const toleration_said& one) {
                 return (one.effect.empty() || one.effect == taint.effect) &&
                        (one.key.empty() || one.key == taint.key) && (one.exists || one.value == taint.value);
               });
      };
      std::string got;
      bool fine = true;
      for (std::size_t i = 0; i < tainted.size(); ++i) {
        const bool can = !taken[i] && std::ranges::none_of(tainted[i], keeps_out);
        fine = fine && can;
        if (!can || (!all && !got.empty())) continue;
        got += (got.empty() ? "d" : " d") + std::to_string(i);
        if (!all) taken[i] = true;
      }
      if (all && fine) taken.assign(taken.size(), true);
      if (got.empty() || (all && !fine)) got = "-";
      wanted += (wanted.empty() ? "" : ", ") + got;
    }
    INFO(slice(devices) + pods);
    REQUIRE(given(slice(devices) + pods) == wanted);
  }
}

TEST_CASE("who has a device with a taint NoExecute has to go, unless its claim tolerates that by name", "[kube][dra]") {
  const auto eviction = [](const std::string& tolerations, const std::string& taint = "effect: NoExecute",
                           instant now = {}) {
    const std::string text =
        before + slice("{name: a, taints: [{key: k, value: v, " + taint + "}]}") +
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}\nspec: {devices: {requests: [" +
        exactly("") + "]}}\nstatus: {allocation: {devices: {results: [{request: r, driver: d.io, pool: n1, device: a" +
        (tolerations.empty() ? "" : ", tolerations: [" + tolerations + "]") +
        "}]}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: n1, resourceClaims: [{name: "
        "mine, "
        "resourceClaimName: x}], containers: [{name: c}]}\n";
    const manifests all = fine(text, {.now = now});
    const auto& told = all.pods.at(0).evicted_for_taint;
    return told ? told->taint + " " + std::to_string(told->after_seconds) : "stays";
  };
  CHECK(eviction("") == "k=v:NoExecute 0");
  CHECK(eviction("", "effect: NoSchedule") == "stays");
  CHECK(eviction("{key: k, operator: Exists, effect: NoExecute}") == "stays");
  CHECK(eviction("{key: k, operator: Exists}") ==
        "k=v:NoExecute 0");  // as Kubernetes has it: without the effect it does not count
  CHECK(eviction("{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}") == "k=v:NoExecute 60");
  CHECK(eviction("{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}, {operator: Exists, effect: "
                 "NoExecute, tolerationSeconds: 20}") == "k=v:NoExecute 20");
  CHECK(eviction("{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}, {operator: Exists, effect: "
                 "NoExecute}") == "stays");
  CHECK(eviction("{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: -5}") == "k=v:NoExecute 0");
  for (const char* const long_time : {"2147483648", "10000000000", "9223372036854775807"})
    CHECK(eviction(std::string{"{operator: Exists, effect: NoExecute, tolerationSeconds: "} + long_time + "}") ==
          "k=v:NoExecute 2147483647");
  // From when the taint was added, if that is known and not later than now.
  const std::string a_minute = "{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}";
  const std::string added = "effect: NoExecute, timeAdded: '1970-01-01T00:01:00Z'";
  CHECK(eviction(a_minute, added, std::chrono::seconds{100}) == "k=v:NoExecute 20");
  CHECK(eviction(a_minute, added, std::chrono::seconds{500}) == "k=v:NoExecute 0");
  CHECK(eviction(a_minute, added, std::chrono::seconds{30}) == "k=v:NoExecute 60");
  CHECK(eviction(a_minute, added) == "k=v:NoExecute 60");
  CHECK(eviction(a_minute, "effect: NoExecute", std::chrono::seconds{100}) == "k=v:NoExecute 60");
}

TEST_CASE("taints and tolerations that Kubernetes refuses are refused", "[kube][dra]") {
  const auto says = [](const std::string& text, const std::string& why) {
    INFO(text);
    CHECK(reading_refusal(before + text).find(why) != std::string::npos);
  };
  says(slice("{name: a, taints: [{key: k}]}"), "spec.devices[0].taints[0]: needs a key and an effect");
  says(slice("{name: a, taints: [{effect: NoSchedule}]}"), "needs a key and an effect");
  says(slice("{name: a, taints: [{key: k, effect: PreferNoSchedule}]}"), "is not one of NoSchedule, NoExecute, None");
  says(pod("p", tolerating("{key: k, operator: In}")), "is not one of Equal, Exists");
  says(pod("p", tolerating("{operator: Exists, value: v}")), "has a value");
  says(pod("p", tolerating("{key: a=b, operator: Exists}")), "tolerations[0].key: is not the name of a label");
  says(pod("p", tolerating("{key: a, value: 'b c'}")), "tolerations[0].value: is not the value of a label");
  says(slice("{name: a, taints: [{key: 'a b', effect: NoSchedule}]}"), "taints[0].key: is not the name of a label");
  says(slice("{name: a, taints: [{key: a, value: 'b:c', effect: NoSchedule}]}"), "is not the value of a label");
  std::string taints, tolerations, devices, pods;
  for (int i = 0; i < 17; ++i) {
    taints += "{key: k" + std::to_string(i) + ", effect: NoSchedule},";
    tolerations += "{key: k" + std::to_string(i) + "},";
  }
  says(slice("{name: a, taints: [" + taints + "]}"), "spec.devices[0].taints: are more than 16");
  says(pod("p", tolerating(tolerations)), "tolerations: are more than 16");
  // Each list of tolerations may be an attribute of each device.
  for (int i = 0; i < 3300; ++i) {
    devices += "{name: d" + std::to_string(i) + "},";
    pods += pod("p" + std::to_string(i), tolerating("{key: k" + std::to_string(i) + "}"));
  }
  says(slice(devices) + pods, "times DeviceTaintRules and lists of tolerations, are more than 10000000");
  // Each taint of each device is compared with each toleration, and kept.
  std::string rules;
  for (int i = 0; i < 310; ++i) {
    const std::string number = std::to_string(i);
    rules += rule("deviceSelector: {}, taint: {key: k" + number + ", effect: NoSchedule}", "v1beta2", "r" + number);
  }
  says(slice(devices) + rules, "of all slices have more than 1000000 taints");
  pods.clear();
  for (int i = 0; i < 100; ++i) pods += pod("p" + std::to_string(i), tolerating("{key: k" + std::to_string(i) + "}"));
  says(slice(devices) + rules + pods, "of all slices have more than 99502 taints");
}

}  // namespace gangsched::testing::device_taints_test
