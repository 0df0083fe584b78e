#include "gangsched/src/kube/core/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/src/kube/core/objects.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

void settle_references(manifests& all) {
  std::set<std::string_view> classes{"system-cluster-critical", "system-node-critical"}, nodes;
  for (const priority_class_spec& one : all.priority_classes) classes.insert(one.name);
  for (const node_manifest& one : all.nodes) nodes.insert(one.spec.name);

  const auto no_class = [](const std::string& field, const std::string& name) {
    return error{errc::unknown, {}, field, fmt::format("no priority class \"{}\"", name)};
  };
  std::map<std::pair<std::string_view, std::string_view>, error> groups;  // that name a class in no file
  for (group_manifest& one : all.groups) {
    if (one.priority_class.empty() || one.spec.priority || classes.contains(one.priority_class)) continue;
    error wrong = no_class("spec.priorityClassName", one.priority_class);
    wrong.object = where(all, one.from, one.kind, one.spec.ns, one.spec.name);
    groups.emplace(std::pair<std::string_view, std::string_view>{one.spec.ns, one.spec.name}, std::move(wrong));
    one.priority_class.clear();
  }
  for (pod_manifest& one : all.pods) {
    if (const auto group = groups.find({one.spec.ns, one.group}); group != groups.end())
      wait_for(all, one, group->second);
    if (one.spec.priority_class.empty() || classes.contains(one.spec.priority_class)) continue;
    // Who has a number already was let in when there was such a class.
    if (one.spec.priority) {
      one.spec.priority_class.clear();
      continue;
    }
    error wrong = no_class("spec.priorityClassName", one.spec.priority_class);
    wrong.object = where(all, one.from, "Pod", one.spec.ns, one.spec.name);
    wait_for(all, one, wrong);
    one.spec.priority_class.clear();
  }
  std::erase_if(all.pods, [&](const pod_manifest& one) {
    if (one.node.empty() || nodes.contains(one.node)) return false;
    all.warnings.push_back({where(all, one.from, "Pod", one.spec.ns, one.spec.name), "spec.nodeName",
                            fmt::format("no node \"{}\": it runs there, and is left out", one.node)});
    return true;
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
