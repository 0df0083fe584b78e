/* The README's cluster in C: three nodes with two GPUs each, a gang of four, and one pod that asks for too much. */
#include <gangsched/c/gangsched.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static gangsched_error* error;

/* Every call that can be refused returns a code, and says why in the error that it is given. */
static void must(gangsched_code code) {
  if (code == GANGSCHED_OK) return;
  fprintf(stderr, "%s\n", gangsched_error_message(error));
  exit(1);
}

int main(void) {
  error = gangsched_error_create();
  gangsched_cluster* cluster = NULL;
  must(gangsched_cluster_create(NULL, &cluster, error));

  const char* const nodes[] = {"node-a", "node-b", "node-c"};
  const gangsched_amount room[] = {{.resource = "cpu", .value = 16},
                                   {.resource = "memory", .quantity = "64Gi"},
                                   {.resource = "pods", .value = 110},
                                   {.resource = "nvidia.com/gpu", .value = 2}};
  for (size_t i = 0; i < 3; ++i) {
    const gangsched_node_spec node = {.struct_size = sizeof node, .name = nodes[i], .allocatable = {room, 4}};
    must(gangsched_cluster_add_node(cluster, &node, NULL, error));
  }

  gangsched_group_id train;
  const gangsched_group_spec gang = {.struct_size = sizeof gang, .name = "train", .min_count = 4};
  must(gangsched_cluster_add_group(cluster, &gang, &train, error));
  const gangsched_amount share[] = {{.resource = "cpu", .quantity = "1500m"},
                                    {.resource = "nvidia.com/gpu", .value = 1}};
  const gangsched_container worker = {.struct_size = sizeof worker, .requests = {share, 2}};
  for (int i = 0; i < 4; ++i) {
    char name[16];
    snprintf(name, sizeof name, "train-%d", i);
    const gangsched_pod_spec pod = {
        .struct_size = sizeof pod, .name = name, .containers = &worker, .container_count = 1, .group = train};
    must(gangsched_cluster_add_pod(cluster, &pod, NULL, error));
  }
  const gangsched_amount much[] = {{.resource = "cpu", .value = 15}, {.resource = "nvidia.com/gpu", .value = 1}};
  const gangsched_container hungry = {.struct_size = sizeof hungry, .requests = {much, 2}};
  const gangsched_pod_spec greedy = {
      .struct_size = sizeof greedy, .name = "greedy", .containers = &hungry, .container_count = 1};
  must(gangsched_cluster_add_pod(cluster, &greedy, NULL, error));

  gangsched_scheduler* scheduler = NULL;
  must(gangsched_scheduler_create(cluster, NULL, NULL, &scheduler, error));
  const int64_t now = 0; /* nanoseconds on the host's clock, not ours */

  gangsched_decision decisions[16];
  for (size_t count = 16; count == 16;) { /* fewer than there is room for: no pod is left to try */
    must(gangsched_scheduler_run(scheduler, now, decisions, 16, &count, error));
    for (size_t i = 0; i < count; ++i) {
      const gangsched_decision* one = &decisions[i];
      const gangsched_text pod = gangsched_cluster_pod_name(cluster, one->pod);
      printf("%.*s: %s", (int)pod.size, pod.data, gangsched_decision_kind_name(one->kind));
      if (one->kind == GANGSCHED_BIND) {
        const gangsched_text node = gangsched_cluster_node_name(cluster, one->node);
        printf(" to %.*s\n", (int)node.size, node.data);
        must(gangsched_scheduler_confirm(scheduler, one->pod, one->attempt, error)); /* the pod runs */
      } else {
        char* why = NULL;
        must(gangsched_scheduler_explain(scheduler, one->pod, GANGSCHED_SUMMARY, &why, error));
        printf(", %s\n", why);
        gangsched_free(why);
      }
    }
  }
  gangsched_scheduler_destroy(scheduler);
  gangsched_cluster_destroy(cluster);
  gangsched_error_destroy(error);
  return 0;
}
