#pragma once
#include <string>

#include "gangsched/kube/document.hpp"  // the namespace, which has an inline one around it

/// A node n1, devices of the driver d.io on it, and classes of devices, as manifests.
namespace gangsched::kube::testing::device_objects {

inline const std::string node =
    "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 8, pods: 9}}\n---\n";

inline std::string slice(const std::string& devices, const std::string& more = "", const std::string& version = "v1") {
  return "apiVersion: resource.k8s.io/" + version +
         "\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d.io, nodeName: n1, pool: {name: n1}" + more +
         ", devices: [" + devices + "]}\n---\n";
}
inline std::string device_class(const std::string& name, const std::string& cel) {
  return "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: " + name +
         "}\nspec: {selectors: [{cel: {expression: '" + cel + "'}}]}\n---\n";
}
inline const std::string of_driver = device_class("c", "device.driver == \"d.io\"");

}  // namespace gangsched::kube::testing::device_objects
