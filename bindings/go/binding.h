#pragma once
// Calls whose results come back as values: a pointer that is handed to C makes Go allocate what it points to.
#include <gangsched/c/gangsched.h>
#include <stdlib.h>

typedef struct {
  gangsched_code code;
  uint64_t id;
} binding_made;
typedef struct {
  gangsched_code code;
  size_t count;
} binding_counted;

static inline binding_made binding_add_node(gangsched_cluster* c, const gangsched_node_spec* s, gangsched_error* e) {
  gangsched_node_id id = {0};
  const gangsched_code code = gangsched_cluster_add_node(c, s, &id, e);
  return (binding_made){code, id.value};
}
static inline binding_made binding_add_pod(gangsched_cluster* c, const gangsched_pod_spec* s, gangsched_error* e) {
  gangsched_pod_id id = {0};
  const gangsched_code code = gangsched_cluster_add_pod(c, s, &id, e);
  return (binding_made){code, id.value};
}
static inline binding_made binding_add_group(gangsched_cluster* c, const gangsched_group_spec* s, gangsched_error* e) {
  gangsched_group_id id = {0};
  const gangsched_code code = gangsched_cluster_add_group(c, s, &id, e);
  return (binding_made){code, id.value};
}
static inline binding_made binding_expect_group(gangsched_cluster* c, const char* ns, const char* name,
                                                gangsched_error* e) {
  gangsched_group_id id = {0};
  const gangsched_code code = gangsched_cluster_expect_group(c, ns, name, false, &id, e);
  return (binding_made){code, id.value};
}
static inline binding_made binding_add_queue(gangsched_cluster* c, const gangsched_queue_spec* s, gangsched_error* e) {
  gangsched_queue_id id = {0};
  const gangsched_code code = gangsched_cluster_add_queue(c, s, &id, e);
  return (binding_made){code, id.value};
}
static inline binding_made binding_add_resource_claim(gangsched_cluster* c, const gangsched_resource_claim_spec* s,
                                                      gangsched_error* e) {
  gangsched_resource_claim_id id = {0};
  const gangsched_code code = gangsched_cluster_add_resource_claim(c, s, &id, e);
  return (binding_made){code, id.value};
}
static inline binding_counted binding_set_device_health(gangsched_cluster* c, gangsched_node_id node,
                                                        const char* device, bool healthy, gangsched_pod_id* pods,
                                                        size_t capacity, gangsched_error* e) {
  size_t count = 0;
  const gangsched_code code = gangsched_cluster_set_device_health(c, node, device, healthy, pods, capacity, &count, e);
  return (binding_counted){code, count};
}
static inline binding_made binding_set_object(gangsched_cluster* c, const char* text, size_t size, uint64_t cookie,
                                              gangsched_error* e) {
  gangsched_object made = {0, 0};
  const gangsched_code code = gangsched_cluster_set_object(c, text, size, cookie, &made, e);
  return (binding_made){code, made.id};
}
static inline binding_counted binding_run(gangsched_scheduler* s, int64_t now, gangsched_decision* into,
                                          size_t capacity, gangsched_error* e) {
  size_t count = 0;
  const gangsched_code code = gangsched_scheduler_run(s, now, into, capacity, &count, e);
  return (binding_counted){code, count};
}
static inline binding_counted binding_take(gangsched_scheduler* s, gangsched_decision* into, size_t capacity,
                                           gangsched_error* e) {
  size_t count = 0;
  const gangsched_code code = gangsched_scheduler_take(s, into, capacity, &count, e);
  return (binding_counted){code, count};
}
static inline binding_counted binding_events(gangsched_scheduler* s, gangsched_pod_event* into, size_t capacity,
                                             gangsched_error* e) {
  size_t count = 0;
  const gangsched_code code = gangsched_scheduler_events(s, into, capacity, &count, e);
  return (binding_counted){code, count};
}

enum {
  BINDING_LESS = 1,
  BINDING_PRE_ENQUEUE = 2,
  BINDING_FILTER = 4,
  BINDING_SCORE = 8,
  BINDING_RESERVE = 16,
  BINDING_PERMIT = 32,
  BINDING_QUEUE_ORDER = 64
};
// Makes the callbacks of a plugin those of Go, at the points that it takes part in.
void binding_fill(gangsched_plugin* plugin, unsigned points);
