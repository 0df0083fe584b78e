#include "kube/queue_reading.hpp"

// Queues of Volcano and KAI, and the ElasticQuotas of Koordinator and scheduler-plugins.

namespace gangsched::testing::batch_queues_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string volcano(const std::string& meta, const std::string& spec) {
  return manifest_of("scheduling.volcano.sh/v1beta1", "Queue", meta, "spec: {" + spec + "}");
}
std::string kai(const std::string& name, const std::string& spec) {
  return manifest_of("scheduling.run.ai/v2", "Queue", "name: " + name, "spec: {" + spec + "}");
}
std::string elastic(const std::string& api, const std::string& meta, const std::string& spec) {
  return manifest_of("scheduling." + api + "k8s.io/v1alpha1", "ElasticQuota", meta, "spec: {" + spec + "}");
}

}  // namespace

TEST_CASE("Volcano's Queue is read", "[kube][queues]") {
  const manifests all = fine(
      volcano("name: dept", "") +
      volcano("name: q",
              "parent: dept, weight: 3, priority: 4, reclaimable: false, dequeueStrategy: fifo, "
              "capability: {cpu: 10, memory: 4G}, deserved: {cpu: 6}, guarantee: {resource: {cpu: 2, memory: 1G}}") +
      manifest_of("scheduling.volcano.sh/v1beta1", "Queue", "name: closed", "status: {state: Closed}"));
  CHECK(all.warnings.empty());
  const queue_spec& spec = queue(all, "q").spec;
  CHECK(spec.parent == "dept");
  CHECK(spec.weight == 3);
  CHECK(spec.priority == 4);
  CHECK_FALSE(spec.lends_running);
  CHECK(spec.heads == head_rule::strict);
  // What is deserved is lent, but for what is reserved.
  CHECK(said(spec.quotas.at(0).guaranteed, "cpu") == "6");
  CHECK(said(spec.quotas.at(0).lending_limit, "cpu") == "4");
  CHECK(said(spec.quotas.at(0).guaranteed, "memory") == "1G");
  CHECK(said(spec.quotas.at(0).lending_limit, "memory") == "0");
  CHECK(said(spec.quotas.at(0).limit, "memory") == "4G");
  CHECK(queue(all, "closed").spec.state == queue_state::hold);
  CHECK(queue(all, "dept").spec.weight == 1);
}

TEST_CASE("Volcano's queue root is above all others, and bounds something only if it is there", "[kube][queues]") {
  const manifests all = fine(volcano("name: root", "capability: {cpu: 9}") + volcano("name: q", "") + kai("k", ""));
  CHECK(queue(all, "q").spec.parent == "root");
  CHECK(queue(all, "root").spec.parent.empty());
  CHECK(queue(all, "k").spec.parent.empty());
  CHECK(queue(fine(volcano("name: q", "parent: root")), "q").spec.parent.empty());
  CHECK(warned(fine(volcano("name: q", "parent: dept"))) ==
        std::vector<std::string>{"a.yaml:1: Queue q: no queue \"dept\" above it: its pods wait for it"});
}

TEST_CASE("Volcano's hierarchy is a tree of queues", "[kube][queues]") {
  const auto at = [](const std::string& path, const std::string& weights) {
    return "annotations: {volcano.sh/hierarchy: \"" + path + "\", volcano.sh/hierarchy-weights: \"" + weights + "\"}";
  };
  const manifests all = fine(volcano("name: prod, " + at("root/eng/prod", "1/2/8"), "weight: 1") +
                             volcano("name: dev, " + at("eng/dev", "2/2.5"), "weight: 1") +
                             volcano("name: sci, " + at("root/sci", "1/8"), ""));
  CHECK(queue(all, "prod").spec.parent == "root/eng");
  CHECK(queue(all, "prod").spec.weight == 8);
  CHECK(queue(all, "dev").spec.parent == "root/eng");
  CHECK(queue(all, "dev").spec.weight == 2.5);
  CHECK(queue(all, "root/eng").spec.weight == 2);
  CHECK(queue(all, "root/eng").spec.parent == "root");
  CHECK(queue(all, "sci").spec.parent == "root");
  CHECK(queue(all, "root").spec.parent.empty());
  CHECK(all.queues.size() == 5);

  const auto of = [&](const std::string& path, const std::string& weights, const std::string& more = "") {
    return refusal(volcano("name: a, " + at("root/eng/prod", "1/2/8"), "") +
                   volcano("name: q, " + at(path, weights), more));
  };
  const std::string where = "a.yaml:8: Queue q: metadata.annotations[\"volcano.sh/hierarchy\"]: ";
  CHECK(of("root/eng", "1") == where + "has 2 parts, and its weights are 1");
  CHECK(of("root/eng/x", "1/3/1").ends_with("\"root/eng\" weighs 3, and 2 by a.yaml:1: Queue a"));
  CHECK(of("root/eng", "1/2").ends_with("\"root/eng\" is on the way of a.yaml:1: Queue a already"));
  CHECK(of("root/eng/prod/x", "1/2/8/1").ends_with("\"root/eng/prod\" is on the way of a.yaml:1: Queue a already"));
  CHECK(of("root//x", "1/1/1") == where + "has an empty part");
  CHECK(of("root/x", "1/0").ends_with("hierarchy\"]-weights: \"0\" is no number above 0"));
  CHECK(of("root/x", "1/1", "parent: b") ==
        "a.yaml:9: Queue q: spec.parent: and the annotation volcano.sh/hierarchy exclude each other");
}

TEST_CASE("Volcano's pods name their queue in several ways, or are in the default one", "[kube][queues]") {
  const std::string text =
      volcano("name: q", "") +
      manifest_of("scheduling.volcano.sh/v1beta1", "PodGroup", "name: g", "spec: {minMember: 1, queue: q}") +
      manifest_of("scheduling.volcano.sh/v1beta1", "PodGroup", "name: d", "spec: {minMember: 1, queue: default}") +
      manifest_of("batch.volcano.sh/v1alpha1", "Job", "name: j",
                  "spec: {queue: q, tasks: [{name: t, replicas: 2, template: {spec: {containers: [{name: c}]}}}]}") +
      pod("in-g", "annotations: {scheduling.k8s.io/group-name: g}", ", schedulerName: volcano") +
      pod("in-d", "annotations: {scheduling.k8s.io/group-name: d}", ", schedulerName: volcano") +
      pod("said", "annotations: {scheduling.volcano.sh/queue-name: q}", ", schedulerName: volcano") +
      pod("none", "labels: {}", ", schedulerName: volcano") + pod("other", "labels: {}");
  const manifests all = fine(text);
  CHECK(all.warnings.empty());
  CHECK(group(all, "g").spec.queue == "q");
  CHECK(group(all, "j").spec.queue == "q");
  CHECK(group(all, "d").spec.queue.empty());
  CHECK(pod_in(all, "j-t-1").spec.queue == "q");
  CHECK(pod_in(all, "said").spec.queue == "q");
  CHECK(pod_in(all, "in-g").spec.queue.empty());  // its group says it
  CHECK(pod_in(all, "none").spec.queue.empty());

  const manifests with_default = fine(text + volcano("name: default", "capability: {cpu: 1}"));
  CHECK(pod_in(with_default, "none").spec.queue == "default");
  CHECK(pod_in(with_default, "in-d").spec.queue == "default");
  CHECK(group(with_default, "d").spec.queue == "default");
  CHECK(pod_in(with_default, "in-g").spec.queue.empty());
  CHECK(pod_in(with_default, "other").spec.queue.empty());
}

TEST_CASE("KAI's Queue is read in its units", "[kube][queues]") {
  const manifests all =
      fine(kai("dept", "displayName: Department") +
           kai("q",
               "parentQueue: dept, priority: 7, preemptMinRuntime: 90s, reclaimMinRuntime: 1h30m, resources: {"
               "gpu: {quota: 2.5, overQuotaWeight: 3, limit: -1}, cpu: {quota: 1500, overQuotaWeight: 1, limit: 4000}, "
               "memory: {quota: -1, limit: 2000}}"));
  CHECK(all.warnings.empty());
  const queue_spec& spec = queue(all, "q").spec;
  CHECK(spec.parent == "dept");
  CHECK(spec.priority == 7);
  CHECK(spec.preempt_min_runtime == std::chrono::seconds{90});
  CHECK(spec.reclaim_min_runtime == std::chrono::minutes{90});
  CHECK(said(spec.quotas.at(0).guaranteed, "nvidia.com/gpu") == "2500m");
  CHECK(said(spec.quotas.at(0).limit, "nvidia.com/gpu") == "nothing");
  CHECK(spec.quotas.at(0).weights.at("nvidia.com/gpu") == 3);
  CHECK(said(spec.quotas.at(0).guaranteed, "cpu") == "1500m");
  CHECK(said(spec.quotas.at(0).limit, "cpu") == "4");
  CHECK(said(spec.quotas.at(0).guaranteed, "memory") == "2G");  // no more than the limit
  CHECK(said(spec.quotas.at(0).limit, "memory") == "2G");
  // What is absent is 0.
  CHECK(queue(all, "dept").spec.priority == 100);
  CHECK(said(quota(all, "dept").limit, "cpu") == "0");
  CHECK(quota(all, "dept").weights.at("cpu") == 0);
  const std::string where = "a.yaml:4: Queue q: spec.resources.gpu.";
  CHECK(refusal(kai("q", "resources: {gpu: {quota: -2}}")) == where + "quota: -2 is not in -1 to 1000000000000");
  CHECK(refusal(kai("q", "resources: {gpu: {limit: \"3\"}}")) == where + "limit: has to be a number");
  CHECK(refusal(kai("q", "reclaimMinRuntime: soon")) ==
        "a.yaml:4: Queue q: spec.reclaimMinRuntime: \"soon\" is no duration like 60s");
  CHECK(refusal(kai("q", "parentQueue: q")) == "a.yaml:1: Queue q: is below itself");
  CHECK(refusal(kai("q", "parentQueue: r") + kai("r", "parentQueue: q")) ==
        "a.yaml:1: Queue q: spec: \"q\" is below itself");
}

TEST_CASE("KAI's pods are in the queue of their label, or in the default one", "[kube][queues]") {
  const std::string text =
      kai("default-queue", "") + kai("q", "") +
      manifest_of("scheduling.run.ai/v2alpha2", "PodGroup", "name: g", "spec: {minMember: 1, queue: q}") +
      pod("said", "labels: {kai.scheduler/queue: q}", ", schedulerName: kai-scheduler") +
      pod("none", "labels: {}", ", schedulerName: kai-scheduler") +
      pod("member", "annotations: {pod-group-name: g}", ", schedulerName: kai-scheduler");
  const manifests all = fine(text);
  CHECK(pod_in(all, "said").spec.queue == "q");
  CHECK(pod_in(all, "none").spec.queue == "default-queue");
  CHECK(pod_in(all, "member").spec.queue.empty());
  CHECK(group(all, "g").spec.queue == "q");
}

TEST_CASE("the label of KAI's pods or of their workload names their priority class", "[kube][queues]") {
  const std::string classes =
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: build}, value: 100}\n---\n"
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: train}, value: 50}\n---\n";
  const std::string by_kai = ", schedulerName: kai-scheduler";
  const manifests all =
      fine(classes + pod("own", "labels: {priorityClassName: build}", by_kai) +
           pod("before", "labels: {priorityClassName: build}", by_kai + ", priorityClassName: train") +
           pod("unknown", "labels: {priorityClassName: other}", by_kai + ", priorityClassName: train") +
           pod("elsewhere", "labels: {priorityClassName: build}") +
           "{apiVersion: batch/v1, kind: Job, metadata: {name: j, labels: {priorityClassName: build}}, spec: "
           "{template: {spec: "
           "{schedulerName: kai-scheduler, containers: [{name: c}]}}}}\n---\n");
  std::vector<std::optional<std::int32_t>> found;
  for (const pod_manifest& one : all.pods) found.push_back(one.spec.priority);
  CHECK(found == std::vector<std::optional<std::int32_t>>{100, 100, std::nullopt, std::nullopt, 100});
  CHECK(warned(all) ==
        std::vector<std::string>{"a.yaml:15: Pod default/unknown: metadata.labels[\"priorityClassName\"]: no "
                                 "priority class \"other\"; it is left out"});
}

TEST_CASE("KAI's pods without a priority class have that of their kind of workload", "[kube][queues]") {
  const auto brought = [](const std::string& name, int value) {
    return "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: " + name +
           "}, value: " + std::to_string(value) + "}\n---\n";
  };
  const std::string by_kai = ", schedulerName: kai-scheduler";
  const std::string workloads =
      pod("alone", "labels: {}", by_kai) + pod("elsewhere", "labels: {}") +
      pod("other", "labels: {}", by_kai + ", priorityClassName: low") +
      manifest_of("scheduling.run.ai/v2alpha2", "PodGroup", "name: g", "spec: {minMember: 1, queue: q}") +
      pod("described", "annotations: {pod-group-name: g}", by_kai) +
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: {a: b}}, template: "
      "{metadata: {labels: {a: b}}, spec: {schedulerName: kai-scheduler, containers: [{name: c, image: x}]}}}}\n---\n";
  const auto priorities = [](const manifests& of) {
    std::vector<std::string> all;
    for (const pod_manifest& one : of.pods) all.push_back(one.spec.priority_class);
    return all;
  };
  CHECK(priorities(fine(brought("train", 50) + brought("inference", 125) + brought("low", 1) + workloads)) ==
        std::vector<std::string>{"train", "", "low", "", "inference"});
  CHECK(priorities(fine(brought("low", 1) + workloads)) == std::vector<std::string>{"", "", "low", "", ""});
}

TEST_CASE("Koordinator's ElasticQuota is read with its labels and annotations", "[kube][queues]") {
  const std::string of = "quota.scheduling.koordinator.sh/";
  const manifests all = fine(
      elastic("sigs.", "name: dept, labels: {" + of + "is-parent: \"true\", " + of + "parent: koordinator-root-quota}",
              "max: {cpu: 40, memory: 40Gi}, min: {cpu: 10}") +
      elastic("sigs.",
              "name: team, namespace: kube-system, labels: {" + of + "parent: dept, " + of +
                  "allow-lent-resource: \"false\"}, annotations: {" + of +
                  "shared-weight: '{\"cpu\": 30, \"memory\": \"20Gi\"}', " + of + "namespaces: '[\"red\", \"blue\"]'}",
              "max: {cpu: 40, memory: 40Gi}, min: {cpu: 4}") +
      elastic("sigs.", "name: own, namespace: own", "max: {cpu: 2}") + pod("p", "labels: {" + of + "name: team}"));
  CHECK(all.warnings.empty());
  CHECK(queue(all, "dept").spec.parent.empty());
  CHECK(quota(all, "dept").weights.at("cpu") == 40);  // max, unless it says another
  CHECK(queue(all, "team").spec.parent == "dept");
  CHECK(quota(all, "team").weights.at("cpu") == 30);
  CHECK(said(quota(all, "team").guaranteed, "cpu") == "4");
  CHECK(said(quota(all, "team").lending_limit, "cpu") == "0");
  CHECK(said(quota(all, "dept").lending_limit, "cpu") == "nothing");
  CHECK(queue(all, "team").spec.namespaces == std::vector<std::string>{"blue", "red"});
  CHECK(queue(all, "team").spec.reclaim == queue_reclaim::never);
  CHECK(queue(all, "own").spec.namespaces == std::vector<std::string>{"own"});
  CHECK(pod_in(all, "p").spec.queue == "team");

  CHECK(refusal(elastic("sigs.", "name: q", "min: {cpu: 2}, max: {cpu: 1}")) ==
        "a.yaml:4: ElasticQuota default/q: spec.min.cpu: 2 is above max, 1");
  CHECK(refusal(elastic("sigs.", "name: q", "min: {cpu: 2}")) ==
        "a.yaml:4: ElasticQuota default/q: spec.min.cpu: is not in max");
  CHECK(refusal(elastic("sigs.", "name: q", "max: {cpu: -2}")) ==
        "a.yaml:4: ElasticQuota default/q: spec.max.cpu: -2 is negative");
  CHECK(refusal(elastic("sigs.", "name: q, annotations: {" + of + "shared-weight: '{\"cpu\": -1}'}", "")) ==
        "a.yaml:3: ElasticQuota default/q: "
        "metadata.annotations[\"quota.scheduling.koordinator.sh/shared-weight\"].cpu: -1 is negative");
}

TEST_CASE("the ElasticQuota of scheduler-plugins is its namespace's", "[kube][queues]") {
  const manifests all =
      fine(elastic("x-", "name: q, namespace: team", "min: {cpu: 2, nvidia.com/gpu: 4}, max: {cpu: 4}"));
  const queue_spec& spec = queue(all, "team/q").spec;
  CHECK(spec.namespaces == std::vector<std::string>{"team"});
  CHECK(said(spec.quotas.at(0).guaranteed, "nvidia.com/gpu") == "4");
  CHECK(said(spec.quotas.at(0).limit, "cpu") == "4");
  CHECK(said(spec.quotas.at(0).limit, "nvidia.com/gpu") == "nothing");
  CHECK(spec.reclaim == queue_reclaim::any);
}

TEST_CASE("any pod and any PodGroup name their queue by an annotation of ours", "[kube][queues]") {
  const manifests all = fine(
      volcano("name: q", "") + pod("p", "annotations: {gangsched.dev/queue: q}") +
      manifest_of("scheduling.k8s.io/v1beta1", "PodGroup", "name: g, annotations: {gangsched.dev/queue: q}",
                  "spec: {schedulingPolicy: {gang: {minCount: 2}}}") +
      manifest_of("apps/v1", "Deployment", "name: d, annotations: {gangsched.dev/queue: q}",
                  "spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
                  "{containers: [{name: c}]}}}"));
  CHECK(all.warnings.empty());
  CHECK(pod_in(all, "p").spec.queue == "q");
  CHECK(group(all, "g").spec.queue == "q");
  CHECK(all.pods.back().spec.queue == "q");
}

TEST_CASE("a group of groups is in the queue that all its members name", "[kube][queues]") {
  const auto leaf = [](const std::string& name) {
    return manifest_of("scheduling.k8s.io/v1beta1", "PodGroup", "name: " + name,
                       "spec: {workloadRef: {workloadName: w, templateName: t}, parentCompositePodGroupName: top, "
                       "schedulingPolicy: {gang: {minCount: 1}}}");
  };
  const std::string groups =
      volcano("name: q", "") + volcano("name: r", "") + leaf("a") + leaf("b") +
      manifest_of(
          "scheduling.k8s.io/v1beta1", "CompositePodGroup", "name: top",
          "spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minGroupCount: 2}}}");
  const auto member = [](const std::string& name, const std::string& of, const std::string& in) {
    return pod(name, "annotations: {gangsched.dev/queue: " + in + "}", ", schedulingGroup: {podGroupName: " + of + "}");
  };
  const manifests same = fine(groups + member("p", "a", "q") + member("o", "b", "q"));
  CHECK(group(same, "top", true).spec.queue == "q");
  const manifests other = fine(groups + member("p", "a", "q") + member("o", "b", "r") + member("m", "b", "r"));
  CHECK(group(other, "a").spec.queue == "q");
  CHECK(group(other, "b").spec.queue == "r");
  CHECK(group(other, "top", true).spec.queue.empty());
}

}  // namespace gangsched::testing::batch_queues_test
