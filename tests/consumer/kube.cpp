// Reads a manifest and a configuration with the component gangsched::kube, and schedules what they say.
#include <gangsched/gangsched.hpp>
#include <gangsched/kube/configuration.hpp>
#include <gangsched/kube/manifests.hpp>

#include <iostream>

int main() {
  namespace kube = gangsched::kube;
  const auto objects = kube::read(kube::source{"objects.yaml", R"(
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 3, template: {spec: {containers: [{name: c}]}}}}
)"});
  const auto plugins = gangsched::builtin_plugins();
  const auto settings = kube::read_configuration(
      {"scheduler.json", "{\"profiles\": [{\"schedulerName\": \"default-scheduler\"}]}"}, plugins);
  gangsched::cluster cluster;
  kube::apply(cluster, objects.value()).value();
  gangsched::scheduler scheduler{cluster, kube::make_table(settings.value().profiles.front(), plugins).value()};
  int bound = 0;
  while (const auto cycle = scheduler.schedule_cycle(gangsched::instant{}))
    for (const auto& decision : cycle) bound += decision.kind == gangsched::decision_kind::bind;
  const auto refused = kube::read(kube::source{"broken.yaml", "kind: Pod\napiVersion: v1\nspec: 5\n"});
  std::cout << bound << " bound; " << refused.error().message() << '\n';
  return bound == 3 && refused.error().object.starts_with("broken.yaml:3: ") ? 0 : 1;
}
