#pragma once
#include <string>

#include "kube/group_objects.hpp"

/// What the tests of readers of queues share.
namespace gangsched::kube::testing {

inline const queue_manifest& queue(const manifests& of, const std::string& name) {
  for (const queue_manifest& one : of.queues)
    if (one.spec.name == name) return one;
  FAIL("no queue " + name);
  return of.queues.front();
}
inline bool has_queue(const manifests& of, const std::string& name) {
  for (const queue_manifest& one : of.queues)
    if (one.spec.name == name) return true;
  return false;
}
/// What it has of all nodes together, or of a flavor.
inline const queue_quota& quota(const manifests& of, const std::string& name, const std::string& flavor = "") {
  for (const queue_quota& one : queue(of, name).spec.quotas)
    if (one.flavor == flavor) return one;
  FAIL("no quota of " + name);
  return of.queues.front().spec.quotas.front();
}
/// "nothing" if the list does not say.
inline std::string said(const resource_list& of, const std::string& resource) {
  const auto found = of.find(resource);
  return found == of.end() ? "nothing" : found->second.to_string();
}
inline const pod_manifest& pod_in(const manifests& of, const std::string& name) {
  for (const pod_manifest& one : of.pods)
    if (one.spec.name == name) return one;
  FAIL("no pod " + name);
  return of.pods.front();
}
inline std::string manifest_of(const std::string& api, const std::string& kind, const std::string& meta,
                               const std::string& rest) {
  return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {" + meta + "}\n" + rest + "\n---\n";
}

}  // namespace gangsched::kube::testing
