#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gangsched/src/kube/core/objects.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// A RuntimeClass (node.k8s.io/v1): what its admission plugin writes into new pods.
struct runtime_class {
  std::string name;
  resource_list overhead = {};
  label_map node_selector = {};
  std::vector<toleration> tolerations = {};
  std::vector<std::optional<std::int64_t>> toleration_seconds = {};
  origin from = {};
};
bool read_runtime_class(reader& read, const place& of, runtime_class& out);

class runtime_classes {
 public:
  /// All objects have been read.
  runtime_classes(manifests& into, const std::vector<runtime_class>& all) : into_(&into) {
    for (const runtime_class& one : all) by_name_.emplace(one.name, &one);
  }

  /// A new pod gets the overhead of its class, the nodes and the tolerations. A class that is in no file is a warning. Error: what the pod
  /// says itself contradicts.
  std::optional<error> admit(pod_manifest& pod, const std::string& name);

 private:
  manifests* into_;
  std::map<std::string, const runtime_class*> by_name_;
  std::set<std::string> missing_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
