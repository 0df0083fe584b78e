#include <algorithm>

#include "kube/group_reading.hpp"

// What controllers do over time, as far as manifests say it: CronJobs and HorizontalPodAutoscalers.
namespace gangsched::testing::over_time_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

const read_options later{.now = std::chrono::minutes{100}, .over_time = true};

std::string workload(const std::string& kind, const std::string& name, const std::string& more) {
  return "{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: " + name + "}, spec: {" + more +
         "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: "
         "c}]}}}}\n---\n";
}
std::string scaled(const std::string& kind, const std::string& load, const std::string& more = "") {
  return "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h" +
         (load.empty() ? "" : ", annotations: {gangsched.dev/replicas: '" + load + "'}") +
         "}, spec: {scaleTargetRef: {kind: " + kind + ", name: w}, minReplicas: 2, maxReplicas: 6}" + more + "}\n---\n";
}
std::string cron(const std::string& more = "") {
  return "{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {schedule: '*/5 * * * *', " + more +
         "jobTemplate: {spec: {parallelism: 2, completions: 2, template: {spec: {containers: [{name: c}]}}}}}}\n---\n";
}

}  // namespace

TEST_CASE("a workload has as many pods as its autoscaler says", "[kube]") {
  for (const char* kind : {"Deployment", "StatefulSet", "ReplicaSet"}) {
    INFO(kind);
    const std::string web = workload(kind, "w", "replicas: 9, ");
    const auto pods = [&](const std::string& text, const read_options& how = {}) {
      return fine(text, how).pods.size();
    };
    CHECK(pods(web) == 9);
    CHECK(pods(web + scaled(kind, "")) == 6);  // as many as the workload says, within the bounds
    CHECK(pods(workload(kind, "w", "replicas: 4, ") + scaled(kind, "")) == 4);
    CHECK(pods(workload(kind, "w", "") + scaled(kind, "")) == 2);
    CHECK(pods(scaled(kind, "", ", status: {desiredReplicas: 4}") + web) == 4);
    CHECK(pods(web + scaled(kind, "", ", status: {desiredReplicas: 40}")) == 6);
    CHECK(pods(web + scaled(kind, "{1h: 5, 0s: 3}")) == 3);
    CHECK(pods(web + scaled(kind, "{1h: 5, 0s: 3}"), later) == 5);
    CHECK(pods(web + scaled(kind, "{1h: 50}")) == 6);
    CHECK(pods(workload(kind, "w", "replicas: 3, ") + scaled(kind, "{1h: 50}")) == 3);
    CHECK(pods(web + scaled(kind, "{1h: 50}"), later) == 6);
    CHECK(pods(workload(kind, "w", "replicas: 0, ") + scaled(kind, "")) == 0);  // as Kubernetes: it is off
    CHECK(pods(workload(kind, "other", "replicas: 9, ") + scaled(kind, "")) == 9);
  }
  const manifests all = fine(workload("Deployment", "w", "") + scaled("Deployment", "{2m: 9, 1m: 1}"));
  REQUIRE(all.autoscalers.size() == 1);
  const autoscaler_manifest& one = all.autoscalers[0];
  CHECK(one.kind == "ReplicaSet");
  CHECK(one.target == all.pods.at(0).owner_name);
  REQUIRE(one.replicas.size() == 2);
  CHECK(one.replicas[0].at == std::chrono::minutes{1});
  CHECK(one.replicas[0].count == 2);
  CHECK(one.replicas[1].count == 6);
  CHECK(one.desired_replicas == 2);
}

TEST_CASE("of two autoscalers of one workload the second is left out", "[kube]") {
  const std::string text = workload("StatefulSet", "w", "replicas: 3, ") + scaled("StatefulSet", "{0s: 4, 1h: 5}");
  CHECK(warned_lines(fine(text)) == "");
  std::string second = scaled("StatefulSet", "{0s: 6}");
  const manifests all = fine(text + second.replace(second.find("{name: h"), 8, "{name: i"));
  CHECK(all.pods.size() == 4);
  CHECK(warned_lines(all).find("another one scales StatefulSet w, too") != std::string::npos);
  CHECK(all.autoscalers.at(0).replicas.size() == 2);
  CHECK(all.autoscalers.at(1).replicas.empty());
}

TEST_CASE("an autoscaler is about the ReplicaSet that has its Deployment's pods", "[kube]") {
  const auto set = [](const std::string& name, const std::string& replicas) {
    std::string text = workload("ReplicaSet", name, "replicas: " + replicas + ", ");
    const std::string owner = ", ownerReferences: [{kind: Deployment, name: w, controller: true}]";
    return text.insert(text.find("name: " + name) + 6 + name.size(), owner);
  };
  const manifests all = fine(workload("Deployment", "w", "replicas: 4, ") + set("w-old", "0") + set("w-new", "4") +
                             scaled("Deployment", "", ", status: {desiredReplicas: 3}"));
  CHECK(all.pods.size() == 3);
  CHECK(all.autoscalers.at(0).target == "w-new");
}

TEST_CASE("what is wrong with an autoscaler is told", "[kube]") {
  CHECK(reading_refusal(scaled("Deployment", "{soon: 1}")).find("\"soon\" is no duration like 90s") !=
        std::string::npos);
  CHECK(reading_refusal(scaled("Deployment", "{-1s: 1}")).find("is no duration") != std::string::npos);
  CHECK(reading_refusal(scaled("Deployment", "{1s: -1}")).find("-1 is not in 0 to") != std::string::npos);
  CHECK(reading_refusal("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: "
                        "{maxReplicas: 2}}")
            .find("needs spec.scaleTargetRef") != std::string::npos);
  CHECK(reading_refusal("{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: "
                        "{scaleTargetRef: {kind: Deployment, name: w}, minReplicas: 3, maxReplicas: 2}}")
            .find("spec.maxReplicas below") != std::string::npos);
  CHECK(reading_refusal("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: "
                        "{scaleTargetRef: {kind: Deployment, name: w}}}")
            .find("needs spec.maxReplicas") != std::string::npos);
  const manifests other = fine(scaled("Rollout", "{0s: 2, 1h: 3}"));
  CHECK(warned_lines(other).find("how many pods a Rollout has is not followed") != std::string::npos);
  CHECK(other.autoscalers.at(0).replicas.empty());
}

TEST_CASE("a CronJob says when it runs, and which pods are a run of it", "[kube]") {
  using policy = cron_job_manifest::policy;
  const manifests all = fine(cron("timeZone: Europe/Berlin, concurrencyPolicy: Forbid, startingDeadlineSeconds: 30, "),
                             {.now = std::chrono::minutes{7}});
  REQUIRE(all.cron_jobs.size() == 1);
  const cron_job_manifest& one = all.cron_jobs[0];
  CHECK(one.name == "c");
  CHECK(one.ns == "default");
  CHECK(one.schedule == "*/5 * * * *");
  CHECK(one.time_zone == "Europe/Berlin");
  CHECK(one.concurrency == policy::forbid);
  CHECK(one.starting_deadline_seconds == 30);
  CHECK(one.job == "c-7");
  REQUIRE(all.pods.size() == 2);
  CHECK(all.pods[0].owner_name == "c-7");

  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: c-9, ownerReferences: [{kind: CronJob, name: c, controller: "
      "true}]}, spec: {template: {spec: {containers: [{name: c}]}}}}\n---\n";
  CHECK(fine(cron() + job).pods.size() == 1);  // the run that is there
  const manifests beside = fine(cron() + job, later);
  CHECK(beside.pods.size() == 3);
  CHECK(beside.cron_jobs.at(0).jobs == std::vector<std::string>{"c-9"});
  CHECK(beside.cron_jobs[0].concurrency == policy::allow);
  // A run whose Job is there already is not made twice; the pods of runs to come have an owner of their own.
  const read_options ninth{.now = std::chrono::minutes{9}}, from_ninth{.now = ninth.now, .over_time = true};
  CHECK(fine(cron() + job, ninth).pods.size() == 1);
  const manifests same = fine(cron() + job, from_ninth);
  CHECK(same.pods.size() == 3);
  CHECK(same.cron_jobs.at(0).job != "c-9");
  CHECK(std::ranges::count(same.pods, same.cron_jobs[0].job, &pod_manifest::owner_name) == 2);
  const manifests suspended = fine(cron("suspend: true, "), later);
  CHECK(suspended.pods.empty());
  CHECK(suspended.cron_jobs.at(0).suspended);
  CHECK(reading_refusal(cron("concurrencyPolicy: Sometimes, ")).find("is not one of Allow, Forbid, Replace") !=
        std::string::npos);
}

}  // namespace gangsched::testing::over_time_test
