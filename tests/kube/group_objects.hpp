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

inline constexpr const char* kueue_levels = R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {name: default}
spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
)";

}  // namespace gangsched::kube::testing
