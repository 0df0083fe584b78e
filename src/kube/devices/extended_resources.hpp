#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/src/kube/devices/devices.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Extended resources that stand for devices of a class (KEP-5004): by the name that the class gives, or as
/// deviceclass.resource.kubernetes.io/CLASS. A pod that requests one claims devices, and goes on requesting the number, for quotas.
class extended_resources {
 public:
  /// Devices are on their nodes. A node has as many of the resource as it has devices of the class's driver, unless a device plugin counts
  /// the resource on some node: then only such nodes are used, with a warning. O(classes + pods + nodes · resources requested).
  extended_resources(manifests& into, const device_objects& objects);

  /// What kube-scheduler would claim for the pod, or nothing.
  [[nodiscard]] std::optional<claim_object> claim_for(const pod_manifest& pod) const;

 private:
  [[nodiscard]] const device_class* class_of(std::string_view resource) const;
  void put_on_nodes(manifests& into, const std::string& resource, const device_class& of, std::string driver);

  std::map<std::string, const device_class*, std::less<>> by_name_, by_resource_;
  std::map<std::string, const device_class*, std::less<>> used_;  ///< resources that devices stand for
  bool ask_host_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
