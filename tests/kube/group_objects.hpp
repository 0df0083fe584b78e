#pragma once
#include <string>
#include <vector>

#include "kube/group_reading.hpp"

/// What the tests of groups' own objects and of single systems' words share.
namespace gangsched::kube::testing {

inline std::string pod(const std::string& name, const std::string& meta, const std::string& spec = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", " + meta + "}\nspec: {containers: [{name: c}]" +
         spec + "}\n---\n";
}

/// Each role of a gang with its minimum.
inline std::vector<std::string> roles(const gang& of) {
  std::vector<std::string> all;
  for (const role_minimum& one : of.roles) all.push_back(one.role + " " + std::to_string(one.min_count));
  return all;
}
inline std::string templated(const std::string& meta = "") {
  return "template: {metadata: {" + meta + "}, spec: {containers: [{name: c, resources: {requests: {cpu: 256m}}}]}}";
}
inline std::string job_set(const std::string& spec) {
  return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec: {" + spec + "}\n---\n";
}
inline std::string replicated(const std::string& name, int replicas, int pods, const std::string& more = "",
                              const std::string& meta = "") {
  return "{name: " + name + ", replicas: " + std::to_string(replicas) +
         ", template: {spec: {parallelism: " + std::to_string(pods) + ", completions: " + std::to_string(pods) + ", " +
         templated(meta) + "}}" + more + "}";
}

inline constexpr const char* kueue_levels = R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {name: default}
spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
)";

}  // namespace gangsched::kube::testing
