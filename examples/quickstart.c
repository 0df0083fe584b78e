#include <gangsched/c/gangsched.h>
#include <stdio.h>
#define MUST(call) \
  if ((call) != GANGSCHED_OK) return puts(gangsched_error_message(error)), 1
#define ONE_GPU "containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]"
static const char objects[] =
    "{apiVersion: v1, kind: Node, metadata: {name: node-a}, status: {allocatable: {pods: 110, nvidia.com/gpu: 4}}}\n"
    "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: research}, "
    "spec: {max: {nvidia.com/gpu: 3}}}\n"
    "---\n{apiVersion: v1, kind: Pod, metadata: {name: one-more}, spec: {priority: -1, " ONE_GPU
    "}}\n---\n{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: train}, spec: {minAvailable: 3, "
    "schedulerName: default-scheduler, tasks: [{name: worker, replicas: 3, template: {spec: {" ONE_GPU "}}}]}}\n";
int main(void) {
  gangsched_error* error = gangsched_error_create();
  gangsched_cluster* cluster = NULL;
  gangsched_scheduler* scheduler = NULL;
  const gangsched_scheduler_options options = {.struct_size = sizeof options, .profile = GANGSCHED_PROFILE_WITH_QUEUES};
  gangsched_decision decisions[16];
  size_t count = 0;
  MUST(gangsched_cluster_create(NULL, &cluster, error));
  MUST(gangsched_cluster_add_manifests(cluster, objects, sizeof objects - 1, "objects.yaml", 0, NULL, error));
  MUST(gangsched_scheduler_create(cluster, NULL, &options, &scheduler, error));
  MUST(gangsched_scheduler_run(scheduler, 0, decisions, 16, &count, error));
  for (size_t i = 0; i < count; ++i) puts(gangsched_scheduler_describe(scheduler, &decisions[i]));
  for (size_t i = 0; i < count; ++i)
    if (decisions[i].kind == GANGSCHED_BIND) MUST(gangsched_scheduler_confirm(scheduler, decisions[i].pod, 0, error));
  gangsched_scheduler_destroy(scheduler);
  gangsched_cluster_destroy(cluster);
  gangsched_error_destroy(error);
}
