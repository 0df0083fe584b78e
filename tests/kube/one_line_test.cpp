#include "kube/group_reading.hpp"

// Files of one line, as an API server answers: objects are not known by where they begin.

namespace gangsched::testing::one_line_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string listed(const std::vector<std::string>& items) {
  std::string all = R"({"kind": "List", "apiVersion": "v1", "items": [)";
  for (std::size_t i = 0; i < items.size(); ++i) all += (i == 0 ? "" : ", ") + items[i];
  return all + "]}";
}
std::string pod(const std::string& name, const std::string& spec, const std::string& meta = "") {
  return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name + "\"" + meta + R"(}, "spec": {)" +
         spec + "}}";
}
std::string asks(const std::string& cpu) {
  return R"("containers": [{"name": "c", "resources": {"requests": {"cpu": )" + cpu + "}}}]";
}
const std::string node = R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})";
const std::string bounds = R"({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, )"
                           R"("spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}})";
std::string deployment(const std::string& name, const std::string& cpu) {
  return R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": ")" + name +
         R"("}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {)" +
         asks(cpu) + "}}}}";
}

struct outcome {
  manifests made;
  std::vector<std::string> pods, mistakes;
};
outcome keep_going(const std::string& text) {
  std::vector<error> mistakes;
  auto made = read(source{"a.json", text}, {.mistakes = &mistakes});
  if (!made) FAIL(made.error().message());
  outcome all{*std::move(made), {}, {}};
  for (const pod_manifest& one : all.made.pods) all.pods.push_back(one.spec.name.substr(0, 4));
  for (const error& one : mistakes) all.mistakes.push_back(one.object);
  return all;
}
using words = std::vector<std::string>;

}  // namespace

TEST_CASE("of several objects on one line only those with mistakes are left out", "[kube][manifests]") {
  const outcome all = keep_going(listed({node, pod("p", asks("1"), R"(, "labels": {"a": 1})"), pod("good", asks("1")),
                                         pod("q", asks("\"1x\"")), pod("fine", asks("2"))}));
  CHECK(all.made.nodes.size() == 1);
  CHECK(all.pods == words{"good", "fine"});
  CHECK(all.mistakes == words{"a.json:1: Pod default/p", "a.json:1: Pod default/q"});
}

TEST_CASE("so it is where a mistake shows only when everything was read", "[kube][manifests]") {
  SECTION("in a pod, and in pods that are made") {
    const outcome all = keep_going(listed({node, bounds, pod("big", asks("8")), pod("good", asks("1")),
                                           deployment("large", "5"), deployment("small", "1")}));
    CHECK(all.made.nodes.size() == 1);
    CHECK(all.pods == words{"good", "smal"});
    REQUIRE(all.mistakes.size() == 2);
    CHECK(all.mistakes[0] == "a.json:1: Pod default/big");
    CHECK(all.mistakes[1].starts_with("a.json:1: Pod default/large-"));
  }
  SECTION("in a group") {
    const auto group = [](const std::string& name, const std::string& spec) {
      return R"({"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "PodGroup", "metadata": {"name": ")" + name +
             R"("}, "spec": {)" + spec + "}}";
    };
    const outcome all = keep_going(
        listed({node, group("g", R"("workloadRef": {"workloadName": "w", "templateName": "t"})"),
                group("other", R"("schedulingPolicy": {"gang": {"minCount": 2}})"), pod("good", asks("1"))}));
    CHECK(all.made.nodes.size() == 1);
    CHECK(all.pods == words{"good"});
    REQUIRE(all.made.groups.size() == 1);
    CHECK(all.made.groups[0].spec.name == "other");
    CHECK(all.mistakes == words{"a.json:1: PodGroup default/g"});
  }
}

TEST_CASE("a list whose items are none is left out like an object", "[kube][manifests]") {
  const outcome all = keep_going(R"({"kind": "PodList", "apiVersion": "v1", "items": 3} )" + node);
  CHECK(all.made.nodes.size() == 1);
  CHECK(all.mistakes.size() == 1);
}

TEST_CASE("what is told once for each object is told of each on the same line", "[kube][manifests]") {
  const std::string volume = R"("volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])";
  const manifests missing = fine(listed({pod("p", volume), pod("q", volume)}));
  CHECK(warned_lines(missing).find("Pod default/p: spec.volumes: no persistentvolumeclaim") != std::string::npos);
  CHECK(warned_lines(missing).find("Pod default/q: spec.volumes: no persistentvolumeclaim") != std::string::npos);
  const auto claim = [](const std::string& name) {
    return R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": ")" + name +
           R"("}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})";
  };
  const manifests refused = fine(listed(
      {R"({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "r"}, "spec": {"hard": {"persistentvolumeclaims": 0}}})",
       claim("x"), claim("y")}));
  CHECK(warned_lines(refused).find("PersistentVolumeClaim default/x: exceeded quota") != std::string::npos);
  CHECK(warned_lines(refused).find("PersistentVolumeClaim default/y: exceeded quota") != std::string::npos);
}

}  // namespace gangsched::testing::one_line_test
