#include "gangsched/src/kube/configuration/in_tree.hpp"

#include "gangsched/kube/configuration.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace detail {

template <point... Points>
constexpr point_set points_of = implements<Points...>::set;

std::span<const in_tree_plugin> in_tree() {
  using enum point;
  constexpr point_set filters = points_of<pre_filter, filter>;
  constexpr point_set all_scores = points_of<pre_filter, filter, pre_score, score>;
  static constexpr in_tree_plugin all[] = {
      {"SchedulingGates", points_of<pre_enqueue>},
      {"PrioritySort", points_of<queue_sort>},
      {"NodeUnschedulable", points_of<filter>},
      {"NodeName", points_of<filter>},
      {"TaintToleration", points_of<filter, pre_score, score>, 3},
      {"NodeAffinity", all_scores, 2},
      {"NodePorts", filters},
      {"NodeResourcesFit", points_of<pre_filter, filter, pre_score, score, score_placement>, 1},
      {"VolumeRestrictions", filters},
      {"NodeVolumeLimits", filters},
      {"VolumeBinding", points_of<pre_filter, filter, pre_score, score, reserve, pre_bind>},
      {"VolumeZone", filters},
      {"PodTopologySpread", all_scores, 2},
      {"InterPodAffinity", all_scores, 2},
      {"DynamicResources", points_of<pre_enqueue, pre_filter, filter, post_filter, score, reserve, pre_bind>, 2},
      {"DefaultPreemption", points_of<pre_enqueue, post_filter>},
      {"NodeResourcesBalancedAllocation", points_of<pre_score, score>, 1},
      {"ImageLocality", points_of<score>, 1},
      {"DefaultBinder", points_of<bind>},
      {"NodeDeclaredFeatures", filters},
      {"GangScheduling", points_of<pre_enqueue, permit>, 0, false},
      {"TopologyPlacementGenerator", points_of<generate_placements>, 0, false},
      {"PodGroupPodsCount", points_of<score_placement>, 1, false},
  };
  return all;
}

const in_tree_plugin* find_in_tree(std::string_view name) {
  for (const in_tree_plugin& one : in_tree())
    if (one.name == name) return &one;
  return nullptr;
}

std::span<const named_point> named_points() {
  using enum point;
  static constexpr named_point all[] = {{"preEnqueue", pre_enqueue},
                                        {"queueSort", queue_sort},
                                        {"preFilter", pre_filter},
                                        {"filter", filter},
                                        {"postFilter", post_filter},
                                        {"preScore", pre_score},
                                        {"score", score},
                                        {"reserve", reserve},
                                        {"permit", permit},
                                        {"preBind", pre_bind},
                                        {"bind", bind},
                                        {"postBind", post_bind},
                                        {"placementGenerate", generate_placements},
                                        {"placementScore", score_placement}};
  return all;
}

}  // namespace detail

std::vector<std::string> in_tree_plugins() {
  std::vector<std::string> all;
  for (const detail::in_tree_plugin& one : detail::in_tree()) all.emplace_back(one.name);
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
