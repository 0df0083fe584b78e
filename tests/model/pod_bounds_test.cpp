// What of limits is in a pod's class, and what plugins read of it.
#include "gangsched/policies/pod_bounds.hpp"

#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::pod_bounds_test {

namespace {

container uses(std::int64_t request_milli, std::int64_t limit_milli, bool sidecar = false) {
  container made;
  made.sidecar = sidecar;
  if (request_milli >= 0) made.requests["cpu"] = quantity::from_milli(request_milli);
  if (limit_milli >= 0) made.limits["cpu"] = quantity::from_milli(limit_milli);
  return made;
}

/// "app 100/200, init -/300": requests and limits of CPU, "-" where none is given.
std::string words(const pod_class& pod) {
  std::string made;
  const auto number = [](const std::optional<std::int64_t>& of) { return of ? std::to_string(*of) : std::string{"-"}; };
  each_container(pod, kinds::cpu, [&](container_kind kind, const auto& request, const auto& limit) {
    const char* const what = kind == container_kind::app ? "app " : kind == container_kind::init ? "init " : "sidecar ";
    made += (made.empty() ? "" : ", ") + (what + number(request)) + "/" + number(limit);
  });
  return made;
}

struct bounded {
  cluster c;
  class_id cls = no_class;
  const pod_class& add(const pod_spec& spec) {
    cls = inside(c).class_of(c.add_pod(spec).value().row);
    return inside(c).classes[cls];
  }
  const pod_class& add(std::vector<container> containers, std::vector<container> init = {}) {
    a_pod made{"p" + std::to_string(next_++)};
    made.spec.containers = std::move(containers), made.spec.init_containers = std::move(init);
    return add(made.spec);
  }

 private:
  int next_ = 0;
};

}  // namespace

TEST_CASE("what containers are bound by is in a class where requests do not say it", "[model][requests]") {
  bounded on;
  CHECK(words(on.add({uses(100, -1)})) == "app 100/-");
  CHECK(on.add({uses(100, -1)}).bounds.empty());
  CHECK(words(on.add({uses(-1, -1)})) == "app -/-");
  CHECK(words(on.add(std::vector<container>{})).empty());
  CHECK(words(on.add({uses(0, -1)})) == "app 0/-");
  CHECK(words(on.add({uses(100, 200)})) == "app 100/200");
  CHECK(words(on.add({uses(-1, 0)})) == "app -/0");
  CHECK(words(on.add({uses(100, 200), uses(-1, -1)}, {uses(300, -1), uses(50, 60, true)})) ==
        "init 300/-, sidecar 50/60, app 100/200, app -/-");
  a_pod over{"over"};
  over.cpu_milli(100).spec.overhead["cpu"] = quantity::from_milli(7);
  const pod_class& cls = on.add(over.spec);
  CHECK(words(cls) == "app 100/-");
  CHECK(overhead_of(cls, kinds::cpu) == 7);
  CHECK(overhead_of(cls, kinds::memory) == 0);
  CHECK(cls.request(kinds::cpu) == 107);
}

TEST_CASE("what a pod may use is what its containers may use at once", "[model][requests]") {
  bounded on;
  CHECK(limit_of(on.add({uses(100, -1)}), kinds::cpu) == 0);
  CHECK(limit_of(on.add({uses(100, 200), uses(-1, 300)}), kinds::cpu) == 500);
  CHECK(limit_of(on.add({uses(100, 200)}, {uses(-1, 700), uses(-1, 600)}), kinds::cpu) == 700);
  CHECK(limit_of(on.add({uses(100, 200)}, {uses(-1, 50, true), uses(-1, 700)}), kinds::cpu) == 750);
  CHECK(limit_of(on.add({uses(100, 200)}, {uses(-1, 100), uses(-1, 50, true)}), kinds::cpu) == 250);
  a_pod over{"over"};
  over.spec.containers = {uses(100, 200)};
  over.spec.overhead = {{"cpu", quantity::from_milli(7)}, {"memory", quantity{9}}};
  const pod_class& cls = on.add(over.spec);
  CHECK(limit_of(cls, kinds::cpu) == 207);
  CHECK(limit_of(cls, kinds::memory) == 0);
}

TEST_CASE("pods of one class have the same limits, of resources that load is about", "[model][requests]") {
  bounded on;
  const auto class_with = [&](const std::string& resource, std::int64_t limit) {
    container one = uses(100, -1);
    one.limits[resource] = quantity{limit};
    on.add({one});
    return on.cls;
  };
  CHECK(class_with("cpu", 1) == class_with("cpu", 1));
  CHECK(class_with("cpu", 1) != class_with("cpu", 2));
  CHECK(class_with("kubernetes.io/batch-cpu", 1) != class_with("kubernetes.io/batch-cpu", 2));
  CHECK(class_with("example.com/gpu", 1) == class_with("example.com/gpu", 2));
  const pod_class& cls = on.add({uses(100, 200)});
  const class_id with = on.cls;
  CHECK(cls.request(kinds::cpu) == 100);
  on.add({uses(100, -1)});
  CHECK(on.cls != with);
  CHECK(on.add(a_pod{"daemon"}).of_daemon_set == false);
  const class_id plain = on.cls;
  a_pod daemon{"another"};
  daemon.spec.controller = {controller_kind::daemon_set, "logs"};
  CHECK(on.add(daemon.spec).of_daemon_set);
  CHECK(on.cls != plain);
}

TEST_CASE("limits are checked as requests are, and keep nothing free", "[model][requests]") {
  cluster c;
  const node_id n = c.add_node(a_node{"n"}.cpu(1)).value();
  a_pod pod{"p"};
  pod.spec.containers.back().limits["cpu"] = quantity{8};
  REQUIRE(c.add_pod(pod.on(n)));
  CHECK(c.requested(n, "cpu") == 0);
  a_pod wrong{"q"};
  wrong.spec.containers.back().limits["cpu"] = quantity{-1};
  CHECK(c.add_pod(wrong).error().field == "containers[0].limits[\"cpu\"]");
  wrong.spec.containers.back().limits = {{"no name", quantity{1}}};
  CHECK(c.add_pod(wrong).error().code == errc::malformed);
}

}  // namespace gangsched::testing::pod_bounds_test
