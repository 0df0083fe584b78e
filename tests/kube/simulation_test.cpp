// A run of manifests as a library: what comes back as values. What a run decides is tested by tests/examples/simulate_*.py.
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/kube/simulation.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::simulation_test {

using namespace kube::simulation;
using words = std::vector<std::string>;

const kube::source cluster_file{
    "cluster.yaml", "{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, pods: 110}}}\n"};

kube::source pods_file(const std::string& more = {}) {
  return {"pods.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: small}, spec: {" + more +
                           "containers: [{name: c, resources: {requests: {cpu: 1}}}]}}\n"
                           "---\n"
                           "{apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {" +
                           more + "containers: [{name: c, resources: {requests: {cpu: 4}}}]}}\n"};
}

TEST_CASE("a run says who goes where and why somebody waits, as values and as the same text every time",
          "[simulation]") {
  const std::vector<kube::source> files{cluster_file, pods_file()};
  const outcome made = run(files);
  REQUIRE(made.errors.empty());
  REQUIRE(made.pods.size() == 2);
  CHECK(made.pods[0].node == "a");
  CHECK(made.pods[0].is == fate::placed);
  CHECK(made.pods[1].is == fate::unscheduled);
  CHECK(made.pods[1].reason.starts_with("0/1 nodes are available: 1 Insufficient cpu."));
  CHECK(made.count().unscheduled == 1);
  const std::string text = json_of(made);
  CHECK(text.find("\"node\": \"a\"") != std::string::npos);
  CHECK(text == json_of(run(files)));
  CHECK(json_of(made, {.indent = -1}).find('\n') == json_of(made, {.indent = -1}).size() - 1);
}

const kube::source tainted_node{
    "node.yaml",
    "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {taints: [{key: k, effect: NoExecute}]},"
    " status: {allocatable: {cpu: 8, memory: 16Gi, pods: 110}}}\n"};

/// Pods that tolerate the taint of that node for so many seconds.
kube::source tolerating(const std::string& kind, int replicas, std::int64_t seconds) {
  return {"workload.yaml",
          "{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: s}, spec: {replicas: " +
              std::to_string(replicas) + (kind == "StatefulSet" ? ", serviceName: s" : "") +
              ", selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c,"
              " image: x}], tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: " +
              std::to_string(seconds) + "}]}}}}\n"};
}

TEST_CASE("who comes again and again with long tolerations does so until time is over, and no longer", "[simulation]") {
  const std::vector<kube::source> files{tainted_node, tolerating("Deployment", 1, 1'000'000'000)};
  const outcome made = run(files, {.live_controllers = true});
  REQUIRE(made.errors.empty());
  CHECK(made.pods.size() > 2);
  CHECK(made.pods.size() < 12);  // 292 years in nanoseconds
}

TEST_CASE("who is evicted a hundred times is given up with a warning", "[simulation]") {
  const std::vector<kube::source> files{tainted_node, tolerating("Deployment", 1, 10)};
  const outcome made = run(files, {.live_controllers = true});
  REQUIRE(made.errors.empty());
  CHECK(made.pods.size() == 101);
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings[0].object == "Pod default/" + made.pods[0].name);
  CHECK(made.warnings[0].reason.starts_with(
      "was evicted more than 100 times: it is not made again, nor are others of ReplicaSet default/s-"));
}

TEST_CASE("an autoscaler makes nobody again who was given up", "[simulation]") {
  for (const std::string kind : {"StatefulSet", "Deployment"}) {
    const kube::source autoscaler{
        "autoscaler.yaml",
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, annotations:"
        " {gangsched.dev/replicas: '{0s: 1, 20000s: 2, 40000s: 1, 50000s: 2}'}}, spec: {scaleTargetRef:"
        " {apiVersion: apps/v1, kind: " +
            kind + ", name: s}, minReplicas: 1, maxReplicas: 4}}\n"};
    const std::vector<kube::source> files{tainted_node, tolerating(kind, 1, 10), autoscaler};
    const outcome made = run(files, {.live_controllers = true});
    INFO(kind);
    REQUIRE(made.errors.empty());
    CHECK(made.warnings.size() == 1);
    std::map<std::string, int> times;
    for (const pod_outcome& pod : made.pods) ++times[pod.name];
    if (kind == "StatefulSet")
      CHECK(times ==
            std::map<std::string, int>{{"s-0", 101}, {"s-1", 102}});  // s-1 is wanted anew, and evicted once more
    else
      CHECK(made.pods.size() == 303);  // a ReplicaSet has a new pod each time that it wants one more
  }
}

TEST_CASE("arrivals name what manifests name, and whom a what-if takes away", "[simulation]") {
  const std::vector<kube::source> files{
      cluster_file,
      {"more.yaml",
       "{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: 4, pods: 110}}}\n---\n"
       "{apiVersion: v1, kind: Pod, metadata: {name: r}, spec: {nodeName: a, containers: [{name: c}]}, status: {phase:"
       " Running}}\n---\n"
       "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {a: "
       "b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}}\n---\n"
       "{apiVersion: batch/v1, kind: CronJob, metadata: {name: report}, spec: {schedule: '0 * * * *', jobTemplate:"
       " {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}}}\n"}};
  const auto after = [](int seconds) { return instant{std::chrono::seconds{seconds}}; };
  const std::vector<arrival> arrivals{
      {"web", after(5), after(3)}, {"default/report", after(6), {}}, {"r", {}, after(9)}};
  const outcome made = run(files, {.arrivals = arrivals});
  REQUIRE(made.errors.empty());
  REQUIRE(made.pods.size() == 4);
  std::size_t ended = 0;
  for (const pod_outcome& pod : made.pods) ended += pod.is == fate::ended ? 1 : 0;
  CHECK(ended == 3);
  CHECK(made.end == after(9));
  const outcome without = run(files, {.arrivals = arrivals, .lose = {"a"}});
  REQUIRE(without.errors.empty());
  CHECK(without.pods.size() == 3);
  CHECK(without.end == after(8));
}

TEST_CASE("pods tolerate for a while that a node that may be added is not ready", "[simulation]") {
  const kube::source shapes{
      "shapes.yaml",
      "{apiVersion: v1, kind: Node, metadata: {name: s}, spec: {taints: [{key: node.kubernetes.io/not-ready, effect: "
      "NoExecute}]}, status: {allocatable: {cpu: 8, pods: 110}}}\n"};
  const std::vector<kube::source> files{cluster_file, pods_file()};
  const outcome made = run(files, {.shapes = shapes});
  REQUIRE(made.errors.empty());
  REQUIRE(made.scale_up);
  CHECK(made.scale_up->plans.size() == 1);
  CHECK(made.scale_up->left.empty());
}

TEST_CASE("a run is no different from itself, though names come again", "[simulation]") {
  const std::vector<kube::source> files{tainted_node, tolerating("StatefulSet", 2, 10)};
  const outcome first = run(files, {.live_controllers = true});
  REQUIRE(first.errors.empty());
  CHECK(first.pods.size() == 202);
  const outcome again =
      run(files, {.live_controllers = true, .compare_with = kube::source{"before.json", json_of(first)}});
  REQUIRE(again.diff);
  CHECK(again.diff->pods.empty());
  CHECK(again.diff->numbers.empty());
  const auto refused = [&](const char* text) {
    return run(files, {.compare_with = kube::source{"b", text}}).errors.at(0).message();
  };
  CHECK(refused("{\"summary\": {}, \"pods\": [{\"name\": \"x\"}, 1]}").starts_with("b: pods: is no list of"));
  CHECK(refused("{\"summary\": {}, \"pods\": [], \"groups\": 7}").starts_with("b: groups: is no list of"));
  CHECK(refused("{\"summary\": {\"pods\": \"x\"}, \"pods\": []}") == "b: summary.pods: is no number");
  const outcome once = run(files, {.compare_with = kube::source{"before.json", json_of(first)}});
  REQUIRE(once.diff);
  CHECK(once.diff->pods.size() == 202);  // two stay, which were evicted, and 200 are not there
}

TEST_CASE("live controllers make no more pods than they may", "[simulation]") {
  const std::vector<kube::source> files{
      cluster_file,
      {"cron.yaml",
       "{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {schedule: '* * * * *', jobTemplate: {spec:"
       " {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}}}\n"}};
  const outcome fine = run(files, {.live_controllers = true, .until = "100m", .most_made_pods = 100});
  REQUIRE(fine.errors.empty());
  CHECK(fine.pods.size() == 100);
  const outcome more = run(files, {.live_controllers = true, .until = "101m", .most_made_pods = 100});
  REQUIRE(more.errors.empty());
  CHECK(more.pods.size() == 100);
  REQUIRE(more.warnings.size() == 1);
  CHECK(more.warnings[0].message() == "live controllers: most_made_pods: have made 100 pods, and make no more");
}

TEST_CASE("pods that say nothing of it tolerate for a while that a node is not ready", "[simulation]") {
  const kube::source node{"node.yaml",
                          "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {taints: [{key: "
                          "node.kubernetes.io/not-ready, effect: NoExecute}]},"
                          " status: {allocatable: {cpu: 8, memory: 16Gi, pods: 110}}}\n"};
  const std::vector<kube::source> files{
      node,
      pods_file(),
      {"says.yaml",
       "{apiVersion: v1, kind: Pod, metadata: {name: says}, spec: {tolerations: [{key: node.kubernetes.io/not-ready,"
       " operator: Equal, value: other, effect: NoExecute}], containers: [{name: c}]}}\n"}};
  const outcome made = run(files, {.live_controllers = true});
  REQUIRE(made.errors.empty());
  REQUIRE(made.pods.size() == 3);
  CHECK(made.pods[0].evicted_at == instant{std::chrono::seconds{300}});
  CHECK(made.pods[2].is == fate::unscheduled);
}

TEST_CASE("the seconds of a toleration stay with it where a pod has tolerations from two places", "[simulation]") {
  const std::vector<kube::source> files{
      tainted_node,
      {"spark.yaml",
       "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: s, namespace: default}, "
       "spec:"
       " {type: Scala, mode: cluster, sparkVersion: 3.5.0, driver: {cores: 1, memory: 512m, template: {spec:"
       " {tolerations: [{key: other, operator: Exists}], containers: [{name: c, image: x}]}}, tolerations:"
       " [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]},"
       " executor: {cores: 1, instances: 1, memory: 512m,"
       " tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]}}}\n"}};
  const outcome made = run(files, {.live_controllers = true});
  REQUIRE(made.errors.empty());
  REQUIRE(made.pods.size() >= 2);
  CHECK(made.pods[0].is == fate::evicted);
  CHECK(made.pods[1].is == fate::evicted);
}

TEST_CASE("a document that is no object, or has no kind, is left out as any other mistake", "[simulation]") {
  for (const char* const text : {"hello\n", "{apiVersion: v1}\n", "[1, 2]\n"}) {
    INFO(text);
    const std::vector<kube::source> files{cluster_file, pods_file(), {"odd.yaml", text}};
    CHECK_FALSE(run(files).errors.empty());
    const outcome made = run(files, {.keep_going = true});
    CHECK(made.errors.empty());
    CHECK(made.pods.size() == 2);
    CHECK(made.warnings.size() == 1);
  }
}

TEST_CASE("mistakes of files come back, all of them, with file and line, and nothing is scheduled", "[simulation]") {
  const std::vector<kube::source> files{
      cluster_file,
      {"bad.yaml",
       "\n{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: 7}}\n---\n"
       "{apiVersion: v1, kind: Pod, metadata: {name: z}, spec: {priority: much, containers: [{name: c}]}}\n"}};
  const outcome made = run(files);
  REQUIRE(made.errors.size() == 2);
  CHECK(made.errors[0].object == "bad.yaml:2: Pod default/x");
  CHECK(made.errors[0].field == "spec.containers");
  CHECK(made.errors[1].object == "bad.yaml:4: Pod default/z");
  CHECK(made.pods.empty());
  const std::string text = json_of(made);
  CHECK(text.find("\"object\": \"bad.yaml:2: Pod default/x\"") != std::string::npos);
  CHECK(text.find("summary") == std::string::npos);
  // With keep_going they are warnings.
  std::vector<kube::source> more = files;
  more.push_back(pods_file());
  const outcome rest = run(more, {.keep_going = true});
  CHECK(rest.errors.empty());
  REQUIRE(rest.warnings.size() == 2);
  CHECK(rest.warnings[0].object == "bad.yaml:2: Pod default/x");
  CHECK(rest.pods.size() == 2);
}

TEST_CASE("files that are called the same are told apart", "[simulation]") {
  const std::string bad = "{apiVersion: v1, kind: Pod, metadata: {name: NAME}, spec: {containers: 7}}\n";
  const auto named = [&](const std::string& name) { return std::string{bad}.replace(bad.find("NAME"), 4, name); };
  const std::vector<kube::source> files{{"a.yaml", named("x")},
                                        {"a.yaml", named("z")},
                                        {"(2) a.yaml", named("v")},
                                        {"a.yaml", pods_file().text},
                                        cluster_file};
  const outcome made = run(files);
  words objects;
  for (const error& one : made.errors) objects.push_back(one.object);
  std::sort(objects.begin(), objects.end());
  CHECK(objects == words{"(2) a.yaml:1: Pod default/v", "(3) a.yaml:1: Pod default/z", "a.yaml:1: Pod default/x"});
  const outcome rest = run(files, {.keep_going = true});
  CHECK(rest.errors.empty());
  CHECK(rest.warnings.size() == 3);
  CHECK(rest.pods.size() == 2);  // though they begin in the same line of a file of that name
}

TEST_CASE("mistakes of options name the option", "[simulation]") {
  const std::vector<kube::source> files{cluster_file, pods_file()};
  const auto refused = [&](const options& how) {
    const outcome made = run(files, how);
    REQUIRE(made.errors.size() == 1);
    CHECK(made.pods.empty());
    return made.errors[0].message();
  };
  CHECK(refused({.start = "noon"}) ==
        "options: start: \"noon\" is no time like 2026-12-01T08:00:00Z, at most 100 years from 1970");
  CHECK(refused({.start = "1677-09-21T00:12:44Z"}).starts_with("options: start: "));
  CHECK(refused({.until = "soon"}) == "options: until: \"soon\" is no duration like 24h, of at most 100 years");
  CHECK(refused({.queues_policy = "Nobody"}) == "options: queues_policy: no plugin \"Nobody\"");
  CHECK(refused({.drain = {"b"}}) == "options: drain: no node \"b\"");
  CHECK(refused({.lose = {"b"}}) == "options: lose: no node and no zone \"b\"");
  CHECK(refused({.explain = "nobody"}) == "options: explain: no pod or group \"nobody\"");
  CHECK(refused({.arrivals = {{.name = "nobody", .where = "times.csv:2"}}}) ==
        "times.csv:2: name: \"nobody\" is no pod, no controller and no group");
  CHECK(refused({.arrivals = {{.name = "small", .arrives = instant{-1}}}}) ==
        "options.arrivals: arrives: of \"small\" is not between 0 and 100 years");
  CHECK(refused({.arrivals = {{.name = "small", .runs = instant::max()}}}) ==
        "options.arrivals: runs: of \"small\" is not between 0 and 100 years");
  CHECK(refused({.compare_with = kube::source{"before.json", "{}"}}) ==
        "before.json: is no result of gangsched-simulate --output json");
  CHECK(refused({.configuration = kube::source{"scheduler.yaml", "kind: Pod"}}).starts_with("scheduler.yaml:1: "));
  CHECK(run({}).errors.at(0).message() == "there is nothing to schedule: no pods, and nothing that makes some");
}

TEST_CASE("pods of other schedulers are left alone, unless all are to go by the first profile", "[simulation]") {
  const std::vector<kube::source> files{cluster_file, pods_file("schedulerName: volcano, ")};
  const outcome left = run(files);
  CHECK(left.pods.at(0).reason == "left to the scheduler \"volcano\"");
  const outcome taken = run(files, {.all_schedulers = true});
  CHECK(taken.pods.at(0).node == "a");
  CHECK(taken.pods.at(1).is == fate::unscheduled);
}

TEST_CASE("controllers are live if they are to be, and pods come when arrivals say so", "[simulation]") {
  const kube::source cron{"cron.yaml",
                          "{apiVersion: batch/v1, kind: CronJob, metadata: {name: tick}, spec: {schedule: '0 * * * *', "
                          "jobTemplate: {spec: {template: "
                          "{metadata: {annotations: {gangsched.dev/run-time: 60s}}, spec: {restartPolicy: Never, "
                          "containers: [{name: c, image: "
                          "i}]}}}}}}\n"};
  const std::vector<kube::source> files{cluster_file, cron};
  CHECK(run(files).pods.size() == 1);
  const outcome live = run(files, {.live_controllers = true, .start = "2026-12-01T08:30:00Z", .until = "3h"});
  REQUIRE(live.pods.size() == 3);
  CHECK(live.pods[0].placed_at == std::chrono::minutes{30});
  CHECK(live.pods[0].ended_at == std::chrono::minutes{31});
  const std::vector<kube::source> two{cluster_file, pods_file()};
  const outcome later = run(two, {.arrivals = {{"small", std::chrono::seconds{5}, std::chrono::seconds{2}},
                                               {"large", std::chrono::seconds{6}}}});
  CHECK(later.pods.at(0).placed_at == std::chrono::seconds{5});
  CHECK(later.pods.at(1).placed_at >= std::chrono::seconds{7});
}

/// Writes down what it is told.
struct listener final : watcher {
  words heard_of;
  std::uint64_t pods_heard = 0;
  bool fails = false;
  observer* begins(cluster& on, std::size_t pods) override {
    heard_of.push_back("begins " + std::to_string(pods) + " " + std::to_string(on.nodes().size()));
    if (fails) throw std::runtime_error{"no"};
    return nullptr;
  }
  void heard(std::uint64_t pods) override { pods_heard = pods; }
  void ends(const scheduler&, const cluster& on) override {
    heard_of.push_back("ends " + std::to_string(on.nodes().size()));
  }
  void leaves() noexcept override { heard_of.push_back("leaves"); }
};

TEST_CASE("who watches a run sees it begin, end and go, and what he throws comes through", "[simulation]") {
  const std::vector<kube::source> files{cluster_file, pods_file()};
  listener calm;
  CHECK(run(files, {.explain = "small", .watch = &calm}).errors.empty());  // which runs it twice
  CHECK(calm.heard_of == words{"begins 2 0", "ends 1", "leaves"});
  CHECK(calm.pods_heard == 2);
  listener upset;
  upset.fails = true;
  CHECK_THROWS_AS(run(files, {.watch = &upset}), std::runtime_error);
  CHECK(upset.heard_of == words{"begins 2 0", "leaves"});
}

TEST_CASE("an earlier result that is none is refused before the run", "[simulation]") {
  struct counts : watcher {
    observer* begins(cluster&, std::size_t) override { return ++begun, nullptr; }
    int begun = 0;
  } watch;
  const std::vector<kube::source> files{cluster_file, pods_file()};
  const auto run_beside = [&](const std::string& text) {
    return run(files, {.compare_with = kube::source{"before.json", text}, .watch = &watch});
  };
  for (const std::string text : {"{}", "no json", R"({"summary": {}, "pods": [], "groups": {}})",
                                 R"({"summary": {"nodes": "x"}, "pods": []})"}) {
    CHECK(run_beside(text).errors.size() == 1);
    CHECK(watch.begun == 0);
  }
  CHECK(run_beside(R"({"summary": {}, "pods": []})").errors.empty());
  CHECK(watch.begun == 1);
}

TEST_CASE("what a queue may have at most is no more than 64 bits hold", "[simulation]") {
  const auto queue = [](const std::string& flavors) {
    return kube::source{"queues.yaml",
                        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: f}}\n---\n"
                        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: g}}\n---\n"
                        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: q}, spec: {"
                        "cohort: c, resourceGroups: [{coveredResources: [memory], flavors: [" +
                            flavors + "]}]}}\n"};
  };
  const auto flavor = [](const std::string& name) {
    return "{name: " + name + ", resources: [{name: memory, nominalQuota: 7Ei, borrowingLimit: 7Ei}]}";
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), seven = std::int64_t{7} << 60;
  const auto amounts = [&](const std::string& flavors) {
    const outcome made = run(std::vector<kube::source>{cluster_file, pods_file(), queue(flavors)});
    for (const error& one : made.errors) FAIL(one.message());
    const auto found = std::ranges::find(made.queues, "q", &queue_outcome::name);
    REQUIRE(found != made.queues.end());
    return found->amounts;
  };
  const std::vector<queue_amount> one = amounts(flavor("f"));
  REQUIRE_FALSE(one.empty());
  CHECK(one[0].guaranteed == seven);
  CHECK(one[0].limit == most);
  const std::vector<queue_amount> both = amounts(flavor("f") + ", " + flavor("g"));
  REQUIRE(both.size() == 3);
  CHECK(both[0].guaranteed == most);
  CHECK(both[2].limit == most);
}

TEST_CASE("what YuniKorn's configuration says of users and fences holds in a run with its policy", "[simulation]") {
  const auto configured = [](const std::string& of_root, const std::string& queues) {
    return kube::source{"queues.yaml", "partitions: [{name: default, queues: [{name: root, " + of_root + "queues: [" +
                                           queues + "]}]}]\n"};
  };
  const auto pod = [](const std::string& name, const std::string& queue, const std::string& more = "",
                      const std::string& meta = "") {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", labels: {applicationId: of-" + queue +
           ", queue: root." + queue + "}, annotations: {" + meta + "}}, spec: {" + more +
           "schedulerName: yunikorn, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}}\n---\n";
  };
  const options how{.queues_policy = "YuniKorn", .all_schedulers = true};
  std::string three;
  for (const char* const name : {"p", "q", "r"})
    three += pod(name, "a", "", "yunikorn.apache.org/user.info: '{\"user\": \"ann\", \"groups\": [\"dev\"]}'");
  for (const char* const who : {"users: [ann]", "groups: [dev, '*']", "users: ['*']"}) {
    const std::string limits = std::string{"limits: [{limit: x, "} + who + ", maxresources: {vcore: 2}}], ";
    const outcome made =
        run(std::vector<kube::source>{cluster_file, configured(limits, "{name: a}"), {"p.yaml", three}}, how);
    INFO(who);
    for (const error& one : made.errors) UNSCOPED_INFO(one.message());
    REQUIRE(made.errors.empty());
    CHECK(made.count().placed == 2);
  }
  std::string full;
  for (const char* const name : {"u", "v", "w", "x"}) full += pod(name, "a", "nodeName: a, ");
  const auto evicted = [&](const std::string& of_a, const std::string& of_b) {
    const std::string queues = "{name: a, " + of_a + "resources: {guaranteed: {vcore: 1}}}, {name: b, " + of_b +
                               "resources: {guaranteed: {vcore: 2}}}";
    const outcome made =
        run(std::vector<kube::source>{cluster_file, configured("", queues), {"p.yaml", full + pod("p", "b")}}, how);
    for (const error& one : made.errors) UNSCOPED_INFO(one.message());
    REQUIRE(made.errors.empty());
    return made.count().evicted;
  };
  CHECK(evicted("", "") == 1);
  CHECK(evicted("", "properties: {preemption.policy: fence}, ") == 0);
  CHECK(evicted("properties: {preemption.policy: disabled}, ", "") == 0);
  CHECK(evicted("", "properties: {preemption.policy: disabled}, ") == 1);  // its pods are no victims
}

TEST_CASE("HiveD's cells in the files are those of a run with its policy", "[simulation]") {
  const kube::source cells{
      "hivedscheduler.yaml",
      "physicalCluster: {cellTypes: {PAIR: {childCellType: GPU, childCellNumber: 2}, "
      "NODE: {childCellType: PAIR, childCellNumber: 2, isNodeLevel: true}}, "
      "physicalCells: [{cellType: NODE, cellAddress: n1}, {cellType: NODE, cellAddress: n2, pinnedCellId: mine}]}\n"
      "virtualClusters: {vc: {virtualCells: [{cellType: NODE.PAIR, cellNumber: 1}], "
      "pinnedCells: [{pinnedCellId: mine}]}}\n"};
  const auto node = [](const std::string& name) {
    return "{apiVersion: v1, kind: Node, metadata: {name: " + name +
           "}, status: {allocatable: {cpu: 8, pods: 110, nvidia.com/gpu: 4}}}\n---\n";
  };
  const auto pod = [](const std::string& name, const std::string& more, int gpus) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name +
           ", annotations: {"
           "hivedscheduler.microsoft.com/pod-scheduling-spec: '{virtualCluster: vc, priority: 1, leafCellNumber: " +
           std::to_string(gpus) + more + "}'}}, spec: {containers: [{name: c, image: x}]}}\n---\n";
  };
  const outcome made = run(std::vector<kube::source>{{"nodes.yaml", node("n1") + node("n2")},
                                                     cells,
                                                     {"pods.yaml", pod("pinned", ", pinnedCellId: mine", 4) +
                                                                       pod("due", "", 2) + pod("more", "", 1)}},
                           {.queues_policy = "HiveD"});
  REQUIRE(made.errors.empty());
  CHECK(made.pods[0].node == "n2");
  CHECK(made.pods[1].node == "n1");
  CHECK(made.pods[2].node.empty());  // n1 has room, but the virtual cluster has no cell left
}

TEST_CASE("how long pods have run is known of those that ran before, and of those that were placed", "[simulation]") {
  const std::string queues = [] {
    std::string made;
    for (const char* const name : {"a", "b"})
      made += std::string{"{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: "} + name +
              "}, spec: {reclaimMinRuntime: MIN, resources: {cpu: {quota: 2000, limit: -1, overQuotaWeight: 1}, "
              "memory: {quota: -1, limit: -1, overQuotaWeight: 1}, gpu: {quota: -1, limit: -1, overQuotaWeight: "
              "1}}}}\n---\n";
    return made;
  }();
  const auto pod = [](const std::string& name, const std::string& queue, const std::string& node,
                      const std::string& status) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", labels: {kai.scheduler/queue: " + queue +
           "}}, spec: {" + node + "containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}" + status +
           "}\n---\n";
  };
  const auto when = [&](const std::string& least, bool running, std::string start) {
    std::string text = queues, pods;
    for (std::size_t at = text.find("MIN"); at != std::string::npos; at = text.find("MIN")) text.replace(at, 3, least);
    for (const char* const name : {"u", "v", "w", "x"})
      pods += pod(name, "a", running ? "nodeName: a, " : "",
                  running ? ", status: {phase: Running, startTime: '2026-11-01T00:00:00Z'}" : "");
    options how{.queues_policy = "Kai"};
    how.arrivals = {{.name = "p", .arrives = std::chrono::minutes{1}}};
    how.start = std::move(start);
    const outcome made =
        run(std::vector<kube::source>{cluster_file, {"q.yaml", text}, {"p.yaml", pods + pod("p", "b", "", "")}}, how);
    for (const error& one : made.errors) UNSCOPED_INFO(one.message());
    REQUIRE(made.errors.empty());
    const auto p = std::ranges::find(made.pods, "p", &pod_outcome::name);
    return p->placed_at ? std::chrono::duration_cast<std::chrono::seconds>(*p->placed_at).count() : -1;
  };
  const std::int64_t grace = 30;
  CHECK(when("0s", true, "") == 60 + grace);
  CHECK(when("0s", false, "") == 60 + grace);
  CHECK(when("30s", true, "") == 60 + grace);
  CHECK(when("90m", true, "2026-11-01T00:00:00Z") == -1);
  CHECK(when("90m", true, "2026-11-01T02:00:00Z") == 60 + grace);  // they had run for two hours
  CHECK(when("90m", false, "2026-11-01T02:00:00Z") == -1);
}

TEST_CASE("a pod goes where it gets an earlier alternative of its claim", "[simulation]") {
  std::string text =
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: c}, spec: {selectors: [{cel: {expression: "
      "\"device.driver == 'd.io'\"}}]}}\n---\n";
  const auto node = [](const std::string& name, const std::string& devices) {
    return "{apiVersion: v1, kind: Node, metadata: {name: " + name +
           "}, status: {allocatable: {cpu: 8, pods: 110}}}\n---\n"
           "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: " +
           name + "}, spec: {driver: d.io, nodeName: " + name + ", pool: {name: " + name +
           ", generation: 1, resourceSliceCount: 1}, devices: [" + devices + "]}}\n---\n";
  };
  const auto device = [](const std::string& name, const std::string& size) {
    return "{name: " + name + ", attributes: {size: {string: " + size + "}}}";
  };
  const auto of = [](const std::string& name, const std::string& size, int count) {
    return "{name: " + name + ", deviceClassName: c, count: " + std::to_string(count) +
           ", selectors: [{cel: {expression: \"device.attributes['d.io'].size == '" + size + "'\"}}]}";
  };
  text += node("small", device("a", "s") + ", " + device("b", "s")) + node("large", device("a", "l"));
  for (const char* const name : {"p", "q", "r"})
    text += std::string{"{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: "} + name +
            "}, spec: {devices: {requests: [{name: r, firstAvailable: [" + of("one", "l", 1) + ", " +
            of("two", "s", 2) + "]}]}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name +
            "}, spec: {resourceClaims: [{name: x, resourceClaimName: " + name +
            "}], containers: [{name: c, image: x}]}}\n---\n";
  for (const std::uint64_t seed : {0, 1, 2, 3}) {  // else the nodes are equally good
    const outcome made = run(std::vector<kube::source>{{"all.yaml", text}}, {.seed = seed});
    for (const error& one : made.errors) UNSCOPED_INFO(one.message());
    REQUIRE(made.errors.empty());
    REQUIRE(made.pods.size() == 3);
    CHECK(made.pods[0].node == "large");
    CHECK(made.pods[1].node == "small");
    CHECK(made.pods[2].node.empty());
  }
}

TEST_CASE("each profile is handed over before the run", "[simulation]") {
  words names;
  const std::vector<kube::source> files{cluster_file, pods_file()};
  const auto note = [&](kernel_table& profile) { names.push_back(profile.scheduler_name); };
  CHECK(run(files, {.adjust = note}).errors.empty());
  CHECK(names == words{"default-scheduler"});
}

}  // namespace gangsched::testing::simulation_test
