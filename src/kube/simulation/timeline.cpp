#include "gangsched/src/kube/simulation/timeline.hpp"

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/requests.hpp"

#include <string>
#include <utility>

#include "gangsched/src/kube/simulation/must.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

void timeline::joins(std::size_t pod, const cluster& in, pod_id id) {
  pod_outcome& to = (*pods_)[pod];
  to.requests = must(requests_of(of_->pods[pod].spec)).requests;
  to.queue = in.queues().name_of(in.queues().queue_of(id));
}

void timeline::gets_node(std::size_t pod, std::string_view node, instant now) {
  std::vector<stay>& stays = (*pods_)[pod].stays;
  const bool has_it = !stays.empty() && !stays.back().until && stays.back().node == node;
  if (!has_it) stays.push_back({std::string{node}, now, {}});
}

void timeline::leaves_node(std::size_t pod, instant now) {
  std::vector<stay>& stays = (*pods_)[pod].stays;
  if (!stays.empty() && !stays.back().until) stays.back().until = now;
}

void timeline::is_rejected(std::size_t pod, const scheduler& by, pod_id id, instant now) {
  const result<why_rejected> why = by.why(id);
  if (!why) return;  // the host took it back
  std::string text = why->text();
  std::vector<rejection>& all = (*pods_)[pod].rejections;
  if (all.empty() || all.back().reason != text) all.push_back({now, std::move(text)});
}

std::vector<node_outcome> timeline::nodes() const {
  std::vector<node_outcome> made;
  for (const node_manifest& one : of_->nodes)
    made.push_back({one.spec.name, must(to_integers(one.spec.allocatable, one.spec.name, "allocatable"))});
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
