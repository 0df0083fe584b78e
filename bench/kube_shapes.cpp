#include "kube_shapes.hpp"

#include <cstdio>

#include "support.hpp"

namespace bench {
namespace {

using namespace gangsched;

constexpr const char* host_key = "kubernetes.io/hostname";
constexpr const char* zone_key = "topology.kubernetes.io/zone";

kind of_mixed(int i) {
  const int s = 27 * i % 70;
  return s < 28 ? kind::plain : static_cast<kind>(static_cast<int>(kind::anti) + (s - 28) / 6);
}

std::vector<std::string> zones_upto(int last) {
  std::vector<std::string> zones;
  for (int zone = 1; zone <= last; ++zone) zones.push_back("zone" + std::to_string(zone));
  return zones;
}

void set_size(pod_spec& pod, quantity cpu) {
  pod.containers = {{.requests = {{"cpu", cpu}, {"memory", mebi(500)}}, .image = "example.com/pause:1"}};
}

topology_spread spread_over_zones(when_unsatisfiable action, const label_map& labels) {
  topology_spread made;
  made.topology_key = zone_key;
  made.max_skew = 5;
  made.action = action;
  made.selector = label_selector{.match_labels = labels};
  return made;
}

}  // namespace

std::string numbered(const char* format, int i) {
  char text[32];
  std::snprintf(text, sizeof text, format, i);
  return text;
}

namespace {

node_spec node_of(int i, const node_options& how) {
  const int zones = how.one_zone ? 1 : how.adverse ? 1000 : 3;
  node_spec node;
  node.name = numbered("node-%05d", i);
  node.labels = {{host_key, node.name},
                 {zone_key, "zone" + std::to_string(i % zones + 1)},
                 {"example.com/rack", numbered("rack%04d", i / 32)}};
  node.allocatable = {{"cpu", how.small ? 4 : 32}, {"memory", mebi(how.small ? 32768 : 65536)}, {"pods", 110}};
  if (how.adverse) {
    node.allocatable["cpu"] = quantity::from_milli(how.small ? 4000 + i % 97 : 32000 + i);
    node.allocatable["memory"] = mebi((how.small ? 32768 : 65536) + 7919 * i % 16384);
  }
  return node;
}

}  // namespace

std::vector<node_id> add_nodes(cluster& to, int count, const node_options& how) {
  std::vector<node_id> ids;
  for (int i = 0; i < count; ++i) ids.push_back(must(to.add_node(node_of(i, how))));
  return ids;
}

void change_images(cluster& of, const std::vector<node_id>& nodes, int turn, const node_options& how) {
  const auto which = static_cast<std::size_t>(turn) * 31 % nodes.size();
  node_spec node = node_of(static_cast<int>(which), how);
  node.images = {{{"example.com/pause:1"}, (300 + turn) << 20}};
  must(of.update_node(nodes[which], node));
}

pod_spec pod_of(kind which, int i, const std::string& name, const char* ns, const pod_options& how) {
  if (which == kind::mixed) which = of_mixed(i);
  pod_spec pod;
  pod.name = name;
  pod.ns = ns;
  set_size(pod, quantity::from_milli(how.adverse ? 100 + 10 * (i % 8) : 100));
  const auto term = [&](const char* key) {
    pod_affinity_term made{key, label_selector{.match_labels = pod.labels}};
    if (how.by_selector)
      made.namespace_selector = label_selector{.match_labels = {{"team", "devops"}}};
    else
      made.namespaces = {"sched-1", "sched-0"};
    return made;
  };
  switch (which) {
    case kind::plain:
    case kind::mixed: break;
    case kind::anti:
      pod.labels = {{"color", "green"}};
      pod.anti_affinity_to_pods.required = {term(host_key)};
      break;
    case kind::prefer:
      pod.labels = {{"color", "red"}};
      pod.affinity_to_pods.preferred = {{1, term(host_key)}};
      break;
    case kind::prefer_anti:
      pod.labels = {{"color", "yellow"}};
      pod.anti_affinity_to_pods.preferred = {{1, term(host_key)}};
      break;
    case kind::zone:
      pod.labels = {{"color", "blue"}};
      pod.affinity_to_pods.required = {term(zone_key)};
      break;
    case kind::spread_hard:
      pod.labels = {{"color", "black"}};
      pod.topology_spread_constraints = {spread_over_zones(when_unsatisfiable::do_not_schedule, pod.labels)};
      break;
    case kind::spread_soft:
      pod.labels = {{"color", "white"}};
      pod.topology_spread_constraints = {spread_over_zones(when_unsatisfiable::schedule_anyway, pod.labels)};
      break;
    case kind::node_aff:
      pod.affinity.required = {
          {.match_expressions = {{zone_key, selector_operator::in, zones_upto(how.adverse ? 500 : 2)}}}};
      break;
    case kind::filler: set_size(pod, quantity{20}); break;
    case kind::low:
      set_size(pod, quantity::from_milli(900));
      pod.priority = 0;
      break;
    case kind::high:
    case kind::equal:
      set_size(pod, quantity::from_milli(how.adverse ? 3000 - 10 * (i % 8) : 3000));
      pod.priority = which == kind::high ? 10 : 0;
      break;
    case kind::giant: set_size(pod, quantity{9}); break;
  }
  return pod;
}

void add_running(cluster& to, const std::vector<node_id>& nodes, kind which, int count, const pod_options& how) {
  const std::size_t step = which == kind::zone ? 3 : 1;  // in zone1, if there are three
  const std::size_t places = (nodes.size() + step - 1) / step;
  for (int i = 0; i < count; ++i) {
    pod_spec pod = pod_of(which, i, numbered("init-%06d", i), "sched-0", how);
    const int size = 7919 * i % 97;
    if (how.adverse) set_size(pod, quantity::from_milli(which == kind::low ? 800 + size : 100 + 50 * size));
    if (how.adverse && which == kind::low) pod.priority = i / 7 % 5;
    pod.node = nodes[step * (static_cast<std::size_t>(i) % places)];
    must(to.add_pod(pod));
  }
}

}  // namespace bench
