// The callbacks of plugins as C has them, const and all, over those that Go exports.
#include "_cgo_export.h"
#include "binding.h"

static bool less(void* plugin, const gangsched_queued* a, const gangsched_queued* b) {
  return gangschedLess(plugin, (gangsched_queued*)a, (gangsched_queued*)b);
}
static gangsched_verdict queue_of(void* plugin, const gangsched_pod_view* pod, int64_t* queue) {
  return gangschedQueueOf(plugin, (gangsched_pod_view*)pod, queue);
}
static gangsched_verdict queue_before(void* plugin, const gangsched_queue_head* a, const gangsched_queue_head* b,
                                      bool* before) {
  return gangschedQueueBefore(plugin, (gangsched_queue_head*)a, (gangsched_queue_head*)b, before);
}
static gangsched_verdict pre_enqueue(void* plugin, const gangsched_pod_view* pod) {
  return gangschedPreEnqueue(plugin, (gangsched_pod_view*)pod);
}
static void filter(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, size_t count,
                   gangsched_verdict* verdicts) {
  gangschedFilter(plugin, (gangsched_pod_view*)pod, (gangsched_nodes_view*)nodes, count, verdicts);
}
static void score(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, size_t count,
                  int64_t* scores) {
  gangschedScore(plugin, (gangsched_pod_view*)pod, (gangsched_nodes_view*)nodes, count, scores);
}
static gangsched_verdict reserve(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* node) {
  return gangschedReserve(plugin, (gangsched_pod_view*)pod, (gangsched_nodes_view*)node);
}
static void unreserve(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* node) {
  gangschedUnreserve(plugin, (gangsched_pod_view*)pod, (gangsched_nodes_view*)node);
}
static gangsched_verdict permit(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* node,
                                int64_t now, int64_t* timeout, gangsched_permit_room* room) {
  return gangschedPermit(plugin, (gangsched_pod_view*)pod, (gangsched_nodes_view*)node, now, timeout, room);
}

void binding_fill(gangsched_plugin* plugin, unsigned points) {
  plugin->destroy = gangschedDestroy;
  if (points & BINDING_LESS) plugin->less = less;
  if (points & BINDING_QUEUE_ORDER) plugin->queue_of = queue_of, plugin->queue_before = queue_before;
  if (points & BINDING_PRE_ENQUEUE) plugin->pre_enqueue = pre_enqueue;
  if (points & BINDING_FILTER) plugin->filter = filter;
  if (points & BINDING_SCORE) plugin->score = score;
  if (points & BINDING_RESERVE) plugin->reserve = reserve, plugin->unreserve = unreserve;
  if (points & BINDING_PERMIT) plugin->permit = permit;
}
