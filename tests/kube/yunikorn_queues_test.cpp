#include <limits>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"
#include "kube/queue_reading.hpp"

namespace gangsched::testing::yunikorn_queues_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;
namespace yk = gangsched::queues::yunikorn;

namespace {

std::string partition(const std::string& inside) { return "partitions:\n- name: default\n  " + inside + "\n---\n"; }
std::string root(const std::string& queues, const std::string& more = "") {
  return partition("queues: [{name: root, queues: [" + queues + "]}]" + more);
}
const yk::queue_settings& settings(const manifests& of, const std::string& path) {
  REQUIRE(of.yunikorn);
  for (std::size_t i = 0; i < of.yunikorn->names.size(); ++i)
    if (of.yunikorn->names[i] == path) return of.yunikorn->settings[i];
  FAIL("no queue " + path);
  return of.yunikorn->settings.front();
}
std::int64_t in(const manifests& of, const yk::resources& amounts, const std::string& type) {
  for (yk::resource_type i = 0; i < of.yunikorn->types.size(); ++i)
    if (of.yunikorn->types[i] == type) return amounts.has(i) ? amounts[i] : -1;
  return -1;
}
std::string app(const std::string& name, const std::string& words, const std::string& annotations = "") {
  return pod(name, "labels: {applicationId: a-" + name + words + "}, annotations: {" + annotations + "}");
}

}  // namespace

TEST_CASE("YuniKorn's queues.yaml becomes queues and the policy's settings", "[kube][queues]") {
  const std::string file = root(R"(
      {name: Batch, maxapplications: 4, submitacl: "*",
       resources: {guaranteed: {vcore: 2, memory: 4Gi}, max: {vcore: 2500m, nvidia.com/gpu: 6}},
       properties: {application.sort.policy: fair, application.sort.priority: disabled, priority.policy: fence, priority.offset: "7",
                    preemption.policy: fence, preemption.delay: 90s},
       limits: [{limit: some, users: [ann, bob], maxresources: {memory: 8G}}, {users: ["*"], groups: [dev], maxapplications: 2}]},
      {name: lent, parent: true, properties: {preemption.policy: disabled}, queues: [{name: deep, resources: {guaranteed: {vcore: 1}}}]},
      {name: shut, parent: true, properties: {preemption.policy: disabled},
       queues: [{name: open, properties: {preemption.policy: fence}}]})");
  const manifests all = fine(file);
  CHECK(all.warnings.empty());
  REQUIRE(all.yunikorn);
  CHECK(all.yunikorn->names ==
        std::vector<std::string>{"root", "root.batch", "root.lent", "root.lent.deep", "root.shut", "root.shut.open"});
  CHECK(all.yunikorn->parents == std::vector<std::string>{"", "root", "root", "root.lent", "root", "root.shut"});
  const queue_spec& batch = queue(all, "root.batch").spec;
  CHECK(batch.parent == "root");
  CHECK(said(batch.quotas.at(0).guaranteed, "cpu") == "2");
  CHECK(said(batch.quotas.at(0).limit, "cpu") == "2500m");
  CHECK(said(batch.quotas.at(0).limit, "nvidia.com/gpu") == "6");
  CHECK(batch.max_running == 4);
  CHECK(batch.priority == 7);
  CHECK(batch.within_queue == queue_preemption::never);
  CHECK(batch.reclaim == queue_reclaim::any);
  // Disabled: its pods are no victims. They may preempt others all the same.
  CHECK_FALSE(queue(all, "root.lent.deep").spec.lends_running);
  CHECK(queue(all, "root.lent.deep").spec.reclaim == queue_reclaim::any);
  CHECK(queue(all, "root.batch").spec.lends_running);
  CHECK_FALSE(queue(all, "root.shut").spec.lends_running);
  CHECK(queue(all, "root.shut.open").spec.lends_running);  // what it says itself counts
  CHECK(queue(all, "root.lent").spec.priority == 0);

  const yk::queue_settings& to = settings(all, "root.batch");
  CHECK(in(all, to.guaranteed, "cpu") == 2000);
  CHECK(in(all, to.guaranteed, "memory") == std::int64_t{4} << 30);
  CHECK(in(all, to.max, "cpu") == 2500);
  CHECK(in(all, to.max, "memory") == -1);
  CHECK(to.order == yk::application_order::fair);
  CHECK_FALSE(to.priority_first);
  CHECK(to.priority == yk::priority_policy::fence);
  CHECK(to.priority_offset == 7);
  CHECK(to.preemption == yk::preemption_policy::fence);
  CHECK(to.preemption_delay == std::chrono::seconds{90});
  REQUIRE(to.limits.size() == 2);
  CHECK(to.limits[0].users == std::vector<std::string>{"ann", "bob"});
  CHECK(in(all, to.limits[0].max, "memory") == 8'000'000'000);
  CHECK(to.limits[1].max_applications == 2);
  CHECK(to.limits[1].groups == std::vector<std::string>{"dev"});

  // The policy takes it as it is.
  std::vector<queues::queue_link> links;
  for (std::size_t i = 0; i < all.yunikorn->names.size(); ++i)
    links.push_back({all.yunikorn->names[i], all.yunikorn->parents[i]});
  const auto tree = queues::queue_tree::make(links);
  REQUIRE(tree);
  CHECK(yk::partition::make(*tree, all.yunikorn->settings));
  cluster on;
  REQUIRE(apply(on, all));
  CHECK(on.queues().find("root.lent.deep"));

  // In its ConfigMap it is the same.
  std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yunikorn-configs}\ndata:\n  queues.yaml: |\n";
  std::size_t from = 0;
  const std::string text = file.substr(0, file.find("\n---"));
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    map += "    " + text.substr(from, end - from) + "\n";
    from = end + 1;
  }
  const manifests mapped = fine(map);
  CHECK(mapped.warnings.empty());
  CHECK(mapped.yunikorn->names == all.yunikorn->names);
  CHECK(queue(mapped, "root.batch").from.line == 1);
}

TEST_CASE("a partition without a queue root gets one, and limits of the partition are the root's", "[kube][queues]") {
  const manifests all = fine(partition("queues: [{name: a}, {name: b}]\n  limits: [{users: [ann], maxapplications: "
                                       "3}]\n  preemption: {enabled: false}") +
                             pod("p", "labels: {queue: root.a}"));
  CHECK(all.yunikorn->names == std::vector<std::string>{"root", "root.a", "root.b"});
  CHECK(settings(all, "root").limits.at(0).max_applications == 3);
  CHECK(queue(all, "root.b").spec.reclaim == queue_reclaim::never);
  CHECK(pod_in(all, "p").spec.queue.empty());  // a label that anybody may have, of a pod that is not YuniKorn's
}

TEST_CASE("YuniKorn's pods are placed by what they say and by rules", "[kube][queues]") {
  const std::string queues =
      "{name: batch}, {name: default}, {name: teams, parent: true, childtemplate: {maxapplications: 2, resources: "
      "{max: {vcore: 4}}}, queues: [{name: maps}]}";
  const auto placed = [&](const std::string& rules, const std::string& of) {
    const manifests all = fine(root(queues, rules.empty() ? "" : "\n  placementrules: [" + rules + "]") + of);
    return all.pods.at(0).spec.queue;
  };
  CHECK(placed("", app("p", ", queue: root.batch")) == "root.batch");
  CHECK(placed("", app("p", ", queue: Batch")) == "root.batch");
  CHECK(placed("", app("p", ", queue: root.none")) == "root.default");  // no rule matches
  CHECK(placed("", app("p", "")) == "root.default");
  CHECK(placed("", app("p", ", queue: root.teams")) == "root.default");  // is no leaf
  CHECK(placed("", pod("p", "annotations: {yunikorn.apache.org/queue: root.batch}")) == "root.batch");
  CHECK(placed("", pod("p", "labels: {yunikorn.apache.org/queue: root.batch, yunikorn.apache.org/app-id: x}")) ==
        "root.batch");
  CHECK(placed("", pod("p", "labels: {a: b}", ", schedulerName: yunikorn")) == "root.default");
  CHECK(placed("", pod("p", "labels: {a: b}")).empty());
  const std::string by_namespace = "{name: tag, value: namespace, create: true, parent: {name: fixed, value: teams}}";
  CHECK(placed(by_namespace, app("p", "")) == "root.teams.default");
  CHECK(placed("{name: provided, create: true}, " + by_namespace, app("p", ", queue: root.teams.new.one")) ==
        "root.teams.new.one");
  CHECK(placed("{name: provided, create: true}", app("p", ", queue: root.batch.one")) ==
        "root.default");  // below a leaf
  CHECK(placed("{name: fixed, value: root.batch}", app("p", "")) == "root.batch");
  const std::string by_user =
      "{name: user, create: true, parent: {name: fixed, value: teams}, filter: {type: allow, users: [ann, x.y]}}";
  const std::string ann = "yunikorn.apache.org/user.info: '{\"user\": \"ann\", \"groups\": [\"dev\"]}'";
  const std::string xy = "yunikorn.apache.org/user.info: '{\"user\": \"x.y\"}'";
  CHECK(placed(by_user, app("p", "", ann)) == "root.teams.ann");
  CHECK(placed(by_user, app("p", "", xy)) == "root.teams.x_dot_y");
  CHECK(placed(by_user, app("p", "")) == "root.default");
  CHECK(placed("{name: fixed, value: batch, filter: {type: deny, groups: [dev]}}", app("p", "", ann)) ==
        "root.default");
  CHECK(placed("{name: fixed, value: batch, filter: {type: deny, groups: [dev, ops]}}", app("p", "", xy)) ==
        "root.batch");

  // What a rule makes has what the template says.
  const manifests made = fine(root(queues, "\n  placementrules: [" + by_namespace + "]") + app("p", "", ann));
  CHECK(queue(made, "root.teams.default").spec.max_running == 2);
  CHECK(said(quota(made, "root.teams.default").limit, "cpu") == "4");
  CHECK(settings(made, "root.teams.default").max_applications == 2);
  CHECK(pod_in(made, "p").user == "ann");
  CHECK(pod_in(made, "p").user_groups == std::vector<std::string>{"dev"});
}

TEST_CASE("annotations of a namespace say what the queue has that a rule makes for its pods", "[kube][queues]") {
  const auto ns = [](const std::string& name, const std::string& annotations) {
    return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + ", annotations: {" + annotations +
           "}}}\n---\n";
  };
  const auto in_namespace = [](const std::string& name, const std::string& of) {
    return pod(name, "namespace: " + of + ", labels: {applicationId: a}");
  };
  const std::string by_namespace = partition(
      "queues: [{name: root, queues: [{name: said, resources: {max: {vcore: 8}}},"
      " {name: prod, parent: true}]}]\n"
      "  placementrules: [{name: tag, value: namespace, create: true,"
      " parent: {name: tag, value: namespace.parentqueue, create: true}},"
      " {name: tag, value: namespace, create: true}]");
  const manifests all =
      fine(by_namespace + ns("dev", R"(yunikorn.apache.org/namespace.quota: '{"cpu": "2", "memory": "10Gi"}',
          yunikorn.apache.org/namespace.guaranteed: '{"cpu": "500m"}', yunikorn.apache.org/namespace.maxApps: "3")") +
           ns("old", R"(yunikorn.apache.org/namespace.max.cpu: "1")") +
           ns("web",
              R"(yunikorn.apache.org/parentqueue: root.prod, yunikorn.apache.org/namespace.quota: '{"cpu": "many"}')") +
           ns("said", R"(yunikorn.apache.org/namespace.quota: '{"cpu": "1"}')") + in_namespace("p", "dev") +
           in_namespace("q", "old") + in_namespace("r", "web") + in_namespace("s", "web") + in_namespace("t", "said"));
  CHECK(said(quota(all, "root.dev").limit, "cpu") == "2");
  CHECK(said(quota(all, "root.dev").limit, "memory") == "10Gi");
  CHECK(said(quota(all, "root.dev").guaranteed, "cpu") == "500m");
  CHECK(queue(all, "root.dev").spec.max_running == 3);
  CHECK(said(quota(all, "root.old").limit, "cpu") == "1");
  CHECK(pod_in(all, "r").spec.queue == "root.prod.web");
  CHECK(said(quota(all, "root.prod.web").limit, "cpu") == "nothing");
  CHECK(said(quota(all, "root.said").limit, "cpu") == "8");  // a file names it
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings.front().object == "Namespace web");
  CHECK(all.warnings.front().field == R"(metadata.annotations["yunikorn.apache.org/namespace.quota"])");
}

TEST_CASE("without a queues.yaml namespaces that say what their queue has get one each", "[kube][queues]") {
  const std::string ns =
      "{apiVersion: v1, kind: Namespace, metadata: {name: dev, annotations: {yunikorn.apache.org/namespace.quota: "
      "'{\"cpu\": \"2\"}'}}}\n---\n"
      "{apiVersion: v1, kind: Namespace, metadata: {name: other, annotations: "
      "{yunikorn.apache.org/namespace.generateAppId: "
      "\"true\"}}}\n---\n";
  const std::string pods = pod("p", "namespace: dev, labels: {applicationId: a}") +
                           pod("q", "namespace: other, labels: {applicationId: b}", ", schedulerName: yunikorn");
  const manifests all = fine(ns + pods);
  CHECK(said(quota(all, "root.dev").limit, "cpu") == "2");
  CHECK(pod_in(all, "p").spec.queue == "root.dev");
  CHECK(pod_in(all, "q").spec.queue == "root.other");
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings.front().object == "Namespace dev");
  CHECK(fine(ns.substr(ns.find("---\n") + 4) + pods).queues.empty());
}

TEST_CASE("what YuniKorn's policy reads of pods is in their labels", "[kube][queues]") {
  const manifests all =
      fine(root(R"({name: a, limits: [{limit: x, groups: [dev], maxapplications: 2}]},
          {name: b, limits: [{limit: y, groups: [ops], maxapplications: 1}]})") +
           "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: kept, annotations: "
           "{yunikorn.apache.org/allow-preemption: \"false\"}}, value: 7}\n---\n" +
           app("p", ", queue: root.a", R"(yunikorn.apache.org/user.info: '{"user": "ann", "groups": ["ops", "dev"]}',
          yunikorn.apache.org/allow-preemption: "false")") +
           "apiVersion: v1\nkind: Pod\nmetadata: {name: q, labels: {applicationId: b, queue: root.a}}\n"
           "spec: {priorityClassName: kept, containers: [{name: c, image: x}]}\n---\n" +
           "apiVersion: v1\nkind: Pod\nmetadata: {name: r, labels: {applicationId: c, queue: root.a}, annotations: "
           "{yunikorn.apache.org/allow-preemption: \"true\"}}\n"
           "spec: {priorityClassName: kept, containers: [{name: c, image: x}]}\n---\n");
  const auto label = [&](const std::string& name, const char* key) {
    const label_map& labels = pod_in(all, name).spec.labels;
    const auto found = labels.find(std::string{"yunikorn.apache.org/"} + key);
    return found == labels.end() ? std::string{"none"} : found->second;
  };
  CHECK(label("p", "username") == "ann");
  CHECK(label("p", "group") == "dev");
  CHECK(label("p", "allow-preemption") == "false");
  CHECK(label("q", "username") == "nobody");
  CHECK(label("q", "group") == "none");
  CHECK(label("q", "allow-preemption") == "false");
  CHECK(label("r", "allow-preemption") == "none");
}

TEST_CASE("an application is a group, and a gang if it has task groups", "[kube][queues]") {
  const std::string tasks =
      R"(yunikorn.apache.org/task-groups: '[{"name": "w", "minMember": 2, "minResource": {"cpu": "1"}}, {"name": "d", "minMember": 1}]')";
  const auto member = [&](const std::string& name, const std::string& task) {
    return pod(name,
               "labels: {applicationId: spark, queue: root.a}, annotations: {yunikorn.apache.org/task-group-name: " +
                   task + (task == "d" ? ", " + tasks : "") + "}");
  };
  const manifests all = fine(root("{name: a}") + member("driver", "d") + member("one", "w") + member("two", "w") +
                             app("single", ", queue: root.a"));
  const gang& spark = gang_in(all, "spark");
  CHECK(spark.min_count == 3);
  REQUIRE(spark.roles.size() == 2);
  CHECK(spark.roles[1].role == "w");
  CHECK(spark.roles[1].min_count == 2);
  CHECK(pod_in(all, "one").spec.role == "w");
  CHECK(group(all, "spark").spec.queue == "root.a");
  CHECK(std::holds_alternative<basic>(group(all, "a-single").spec.policy));
  const auto refused = [&](const std::string& groups) {
    return refusal(
        root("{name: a}") +
        pod("p", "labels: {applicationId: x}, annotations: {yunikorn.apache.org/task-groups: '" + groups + "'}"));
  };
  CHECK(refused("{}").find("task-groups\"]: is no JSON list like") != std::string::npos);
  CHECK(refused(R"([{"name": "w", "minMember": 0}])").ends_with("0 members are not 1 to 2^31-1"));
  CHECK(refused(R"([{"name": "w", "minMember": 1}, {"name": "w", "minMember": 1}])")
            .ends_with("there is another task group \"w\""));
}

TEST_CASE("which application and user a YuniKorn pod has is found as its shim finds it", "[kube][queues]") {
  const auto read = [](const std::string& meta, const std::string& spec = "") {
    return fine(root("{name: a}, {name: b}, {name: default}") + pod("p", meta, spec));
  };
  const std::string in_a = "annotations: {yunikorn.apache.org/queue: root.a}";
  // What says which queue is no application.
  const manifests two = read("labels: {yunikorn.apache.org/queue: root.b}, " + in_a);
  CHECK(pod_in(two, "p").spec.queue == "root.b");
  CHECK(pod_in(two, "p").group == "yunikorn-default-autogen");
  CHECK(pod_in(read("labels: {spark-app-selector: spark-1}, " + in_a), "p").group == "spark-1");
  CHECK(pod_in(read("labels: {applicationId: one, spark-app-selector: spark-1}, " + in_a), "p").group == "one");
  CHECK(pod_in(read("labels: {applicationId: one}, annotations: {yunikorn.apache.org/app-id: two}"), "p").group ==
        "two");
  CHECK(pod_in(read("labels: {yunikorn.apache.org/app-id: three, applicationId: one}, annotations: "
                    "{yunikorn.apache.org/app-id: two}"),
               "p")
            .group == "three");
  CHECK(pod_in(read("labels: {yunikorn.apache.org/app-id: \"\", applicationId: one}"), "p").group == "one");
  // Pods that name none are one application in each namespace, unless each is to be one of its own.
  CHECK(pod_in(read("namespace: team", ", schedulerName: yunikorn"), "p").group == "yunikorn-team-autogen");
  CHECK(pod_in(read("labels: {applicationId: team-uniqueautogen}"), "p").group.empty());
  CHECK(pod_in(read("labels: {a: b}"), "p").group.empty());
  CHECK(pod_in(read(in_a), "p").user == "nobody");
  CHECK(pod_in(read("annotations: {yunikorn.apache.org/user.info: '{\"user\": \"\"}', yunikorn.apache.org/queue: a}"),
               "p")
            .user == "nobody");
  CHECK(pod_in(read("labels: {a: b}"), "p").user.empty());
}

TEST_CASE("what YuniKorn says of how long a gang waits is read, and what is not acted on is said", "[kube][queues]") {
  const auto read = [&](const std::string& words) {
    return fine(root("{name: a}") +
                pod("p",
                    "labels: {applicationId: x, queue: root.a}, annotations: {yunikorn.apache.org/task-groups: "
                    "'[{\"name\": \"w\", \"minMember\": 1}]', yunikorn.apache.org/schedulingPolicyParameters: '" +
                        words + "'}"));
  };
  const manifests hard = read("placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard");
  CHECK(hard.warnings.empty());
  CHECK(gang_in(hard, "x").timeout == std::chrono::seconds{60});
  CHECK(gang_in(read("gangSchedulingStyle=Hard"), "x").timeout == gang{}.timeout);
  const auto warning = [&](const std::string& words) {
    const manifests all = read(words);
    REQUIRE(all.warnings.size() == 1);
    CHECK(all.warnings[0].field == "metadata.annotations[\"yunikorn.apache.org/schedulingPolicyParameters\"]");
    return all.warnings[0].reason;
  };
  CHECK(warning("gangSchedulingStyle=Soft") ==
        "gangSchedulingStyle Soft: a gang that is not placed in time waits on as a gang, and never goes on as single "
        "pods");
  CHECK(warning("gangSchedulingStyle=Firm") == "gangSchedulingStyle \"Firm\" is not Soft or Hard; it is left out");
  for (const char* seconds : {"0", "-1", "x", ""})
    CHECK(warning(std::string{"placeholderTimeoutInSeconds="} + seconds) ==
          "placeholderTimeoutInSeconds \"" + std::string{seconds} +
              "\" is no number of seconds above 0; it is left out");
  CHECK(warning("  timeout=5 ") == "\"timeout\" is not known; it is left out");
}

TEST_CASE("properties of queues hold for those below, and quotas are enforced where the partition says so",
          "[kube][queues]") {
  const std::string queues = R"(
      {name: a, properties: {application.sort.policy: fair, application.unschedasks.backoff: "3",
                             application.unschedasks.backoff.delay: 45s, quota.preemption.delay: 2m, preemption.delay: 90s},
       queues: [{name: b}, {name: c, properties: {quota.preemption.delay: 10s, application.sort.policy: fifo}}]},
      {name: d}, {name: t, parent: true, properties: {quota.preemption.delay: 10s, preemption.delay: 5s}})";
  const auto delay = [](const manifests& all, const std::string& path) {
    return settings(all, path).quota_preemption_delay;
  };
  const manifests off = fine(root(queues));
  CHECK(delay(off, "root.a") == instant{});
  const manifests on =
      fine(root(queues,
                "\n  preemption: {quotapreemptionenabled: true}\n  placementrules: [{name: provided, create: true}]") +
           app("p", ", queue: root.t.made"));
  CHECK(on.warnings.empty());
  CHECK(delay(on, "root") == instant{});
  CHECK(delay(on, "root.a") == std::chrono::minutes{2});
  CHECK(delay(on, "root.a.b") == std::chrono::minutes{2});
  CHECK(delay(on, "root.a.c") == std::chrono::seconds{10});
  CHECK(delay(on, "root.d") == instant{});
  CHECK(delay(on, "root.t.made") == instant{});
  CHECK(settings(on, "root.t.made").preemption_delay ==
        std::chrono::seconds{30});  // rules make queues that inherit nothing
  const yk::queue_settings& below = settings(on, "root.a.b");
  CHECK(below.order == yk::application_order::fair);
  CHECK(below.backoff_after == 3);
  CHECK(below.backoff == std::chrono::seconds{45});
  CHECK(below.preemption_delay == std::chrono::seconds{90});
  CHECK(settings(on, "root.a.c").order == yk::application_order::fifo);
  CHECK(settings(on, "root.d").backoff_after == 0);
  CHECK(refusal(root("{name: a, properties: {quota.preemption.delay: soon}}"))
            .ends_with("\"soon\" is not a duration like 30s"));
  CHECK(refusal(root("{name: a, properties: {application.unschedasks.backoff: \"-1\"}}"))
            .ends_with("\"-1\" is not a whole number from 0 upwards"));
  CHECK(refusal(root("{name: a, properties: {quota.preemption.delay: -1s}}"))
            .ends_with("\"-1s\" is not a duration like 30s"));
  CHECK(refusal(root("{name: a, properties: {preemption.delay: 0s}}")).ends_with("\"0s\" is not a duration like 30s"));
  const manifests kept = fine(root(R"(
      {name: a, properties: {quota.preemption.delay: 10s, application.unschedasks.backoff.delay: 45s},
       queues: [{name: never, properties: {quota.preemption.delay: 0s, application.unschedasks.backoff: "99999999999999999999"}},
                {name: zero, properties: {application.unschedasks.backoff.delay: 0s}},
                {name: bad, properties: {application.unschedasks.backoff.delay: soon}}]})",
                                   "\n  preemption: {quotapreemptionenabled: true}"));
  CHECK(delay(kept, "root.a") == std::chrono::seconds{10});
  CHECK(delay(kept, "root.a.never") == instant{});
  CHECK(settings(kept, "root.a.never").backoff_after == std::numeric_limits<std::uint32_t>::max());
  CHECK(settings(kept, "root.a.never").backoff == std::chrono::seconds{45});
  CHECK(settings(kept, "root.a.zero").backoff == std::chrono::seconds{30});
  CHECK(settings(kept, "root.a.bad").backoff == std::chrono::seconds{30});
  REQUIRE(kept.warnings.size() == 2);
  CHECK(warned(kept).at(0).ends_with("\"0s\" is no duration above 0; it is 30s, the default"));
  CHECK(warned(kept).at(1).ends_with("\"soon\" is no duration above 0; it is 30s, the default"));
}

TEST_CASE("mistakes in queues.yaml name the queue's field and the reason", "[kube][queues]") {
  const auto of = [](const std::string& queues) {
    const std::string made = refusal(root(queues));
    const std::size_t at = made.find("YuniKorn: ");
    return at == std::string::npos ? made : made.substr(at + 10);
  };
  const std::string first = "partitions[0].queues[0].queues[0]";
  CHECK(of("{resources: {}}") == first + ": needs a name");
  CHECK(of("{name: a.b}") == first + ".name: \"a.b\" is not 1 to 64 letters, digits or _ : # / @ -");
  CHECK(of("{name: a}, {name: A}") == "partitions[0].queues[0].queues[1]: there is a queue of that name already");
  CHECK(of("{name: a, resources: {max: {memory: 500m}}}") ==
        first + ".resources.max.memory: \"500m\" is no quantity of YuniKorn's, like 10, 500m (vcore) or 4Gi");
  CHECK(of("{name: a, resources: {max: {vcore: 1.5}}}").find("\"1.5\" is no quantity") != std::string::npos);
  CHECK(of("{name: a, resources: {max: {vcore: 9223372036854775807}}}").find("is no quantity") != std::string::npos);
  CHECK(of("{name: a, resources: {guaranteed: {vcore: 2}, max: {vcore: 1}}}") ==
        first + ".resources.guaranteed: cpu: 2 is above max, 1");
  CHECK(of("{name: a, resources: {max: {vcore: 1}}, queues: [{name: b, resources: {max: {vcore: 2}}}]}") ==
        first + ".queues[0].resources.max: cpu: 2 is above 1, the max on the way up");
  CHECK(of("{name: a, resources: {guaranteed: {vcore: 3}}, queues: [{name: b, resources: {guaranteed: {vcore: 2}}}, "
           "{name: c, resources: "
           "{guaranteed: {vcore: 2}}}]}") ==
        first + ".queues: are guaranteed more together than the queue that they are in has");
  CHECK(of("{name: a, maxapplications: 2, queues: [{name: b}]}") ==
        first + ".queues[0].maxapplications: is not 1 to 2, as the queue above it has it");
  CHECK(of("{name: a, properties: {application.sort.policy: lifo}}") ==
        first + ".properties[\"application.sort.policy\"]: \"lifo\" is not one of fifo, fair, stateaware");
  CHECK(of("{name: a, limits: [{maxapplications: 1}]}") == first + ".limits[0]: names neither users nor groups");
  CHECK(of("{name: a, limits: [{users: [u]}]}") == first + ".limits[0]: bounds nothing");
  CHECK(of("{name: a, limits: [{users: [\"*\"], maxapplications: 1}, {users: [u], maxapplications: 1}]}") ==
        first + ".limits[1].users[0]: comes after \"*\", which has to be the last one");
  CHECK(of("{name: a, limits: [{groups: [\"*\"], maxapplications: 1}]}")
            .ends_with("\"*\" is the only group: that would be all of the queue"));
  CHECK(refusal(partition("queues: [{name: root, resources: {max: {vcore: 1}}}]"))
            .ends_with("partitions[0].queues[0].resources: the queue root has what all nodes have"));
  CHECK(refusal(root("{name: a}", "\n  placementrules: [{name: tag, value: team}]"))
            .ends_with("pods have no tag \"team\" but namespace and namespace.parentqueue"));
  CHECK(refusal(root("{name: a}", "\n  placementrules: [{name: user, filter: {users: [\"a.*\"]}}]"))
            .ends_with("is a pattern, which is not modelled"));
  CHECK(refusal(root("{name: a}") + root("{name: b}")).ends_with("there is a configuration of YuniKorn already"));
  CHECK(warned(fine("partitions: [{name: default, queues: []}, {name: gpu, queues: []}]"))
            .at(0)
            .ends_with("partitions[1]: no node of Kubernetes is in the partition \"gpu\"; it is left out"));
  std::string many;
  for (int i = 0; i < 33; ++i) many += "r" + std::to_string(i) + ": 1, ";
  CHECK(refusal(root("{name: a, resources: {max: {" + many + "}}}"))
            .ends_with("resources: there are more than 32 kinds of resources"));
}

TEST_CASE("ConfigMaps of others may have a key that YuniKorn or HiveD has", "[kube][queues]") {
  const auto map = [](const std::string& name, const std::string& text, const std::string& key = "queues.yaml") {
    return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: {" + key + ": \"" + text +
           "\"}}\n---\n";
  };
  const std::string left_out = "is no configuration of queues; it is left out";
  for (const char* const key : {"queues.yaml", "hivedscheduler.yaml"}) {
    const manifests other = fine(map("sidekiq", "- mail\\n- default\\n", key));
    CHECK_FALSE(other.yunikorn);
    CHECK(warned(other) == std::vector<std::string>{"a.yaml:1: ConfigMap default/sidekiq: data[\"" + std::string{key} +
                                                    "\"]: " + left_out});
    CHECK(warned(fine(map("broken", "{", key))).at(0).ends_with(left_out));
  }
  CHECK(refusal(map("yunikorn-configs", "- mail")).ends_with("data[\"queues.yaml\"]: is no configuration of queues"));
  CHECK(refusal(map("hivedscheduler-config", "- mail", "hivedscheduler.yaml"))
            .ends_with("is no configuration of queues"));
  // Of YuniKorn's two the one counts key by key, and the other where that says nothing.
  const std::string defaults = map("yunikorn-defaults", "partitions: [{name: default, queues: [{name: a}]}]"),
                    configs = map("yunikorn-configs", "partitions: [{name: default, queues: [{name: b}]}]");
  for (const std::string& text : {defaults + configs, configs + defaults}) {
    const manifests both = fine(text);
    REQUIRE(both.yunikorn);
    CHECK(both.yunikorn->names == std::vector<std::string>{"root", "root.b"});
    CHECK(both.warnings.empty());
  }
  CHECK(fine(defaults).yunikorn->names == std::vector<std::string>{"root", "root.a"});
  CHECK(refusal(configs + map("mine", "partitions: [{name: default, queues: [{name: c}]}]"))
            .ends_with("there is a configuration of YuniKorn already"));
}

}  // namespace gangsched::testing::yunikorn_queues_test
