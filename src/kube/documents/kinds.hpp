#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "gangsched/src/kube/documents/trees.hpp"

/// What the words kind and apiVersion of an object say.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// "scheduling.k8s.io" of "scheduling.k8s.io/v1", and nothing of "v1".
inline std::string_view api_group(std::string_view version) {
  const std::size_t slash = version.find('/');
  return slash == std::string_view::npos ? std::string_view{} : version.substr(0, slash);
}

/// Whether objects of the kind are in no namespace.
inline bool is_cluster_scoped(std::string_view kind) {
  static constexpr std::string_view all[] = {"Node",
                                             "Namespace",
                                             "PriorityClass",
                                             "RuntimeClass",
                                             "DeviceClass",
                                             "ResourceSlice",
                                             "HyperNode",
                                             "Topology",
                                             "ClusterNetworkTopology",
                                             "ClusterQueue",
                                             "Cohort",
                                             "ResourceFlavor",
                                             "Queue",
                                             "WorkloadPriorityClass",
                                             "ClusterTrainingRuntime",
                                             "DeviceTaintRule",
                                             "PersistentVolume",
                                             "StorageClass",
                                             "CSINode",
                                             "CSIDriver",
                                             "VolumeAttachment",
                                             "Reservation",
                                             "NodeMetric",
                                             "ClusterColocationProfile"};
  return std::ranges::find(all, kind) != std::end(all);
}
/// Whether no scheduler reads objects of the kind, and nothing makes pods of them either.
inline bool never_matters(std::string_view group, std::string_view kind) {
  static constexpr std::string_view groups[] = {"rbac.authorization.k8s.io",
                                                "apiextensions.k8s.io",
                                                "apiregistration.k8s.io",
                                                "admissionregistration.k8s.io",
                                                "authentication.k8s.io",
                                                "authorization.k8s.io",
                                                "certificates.k8s.io",
                                                "coordination.k8s.io",
                                                "discovery.k8s.io",
                                                "events.k8s.io",
                                                "flowcontrol.apiserver.k8s.io",
                                                "gateway.networking.k8s.io",
                                                "networking.k8s.io",
                                                "kustomize.config.k8s.io",
                                                "cert-manager.io"};
  static constexpr std::pair<std::string_view, std::string_view> kinds[] = {{"", "ConfigMap"},
                                                                            {"", "Secret"},
                                                                            {"", "ServiceAccount"},
                                                                            {"", "Endpoints"},
                                                                            {"", "Event"},
                                                                            {"", "PodTemplate"},
                                                                            {"", "ComponentStatus"},
                                                                            {"apps", "ControllerRevision"},
                                                                            {"extensions", "Ingress"},
                                                                            {"policy", "PodSecurityPolicy"},
                                                                            {"monitoring.coreos.com", "ServiceMonitor"},
                                                                            {"monitoring.coreos.com", "PodMonitor"},
                                                                            {"monitoring.coreos.com", "PrometheusRule"},
                                                                            {"monitoring.coreos.com", "Probe"}};
  return std::ranges::find(groups, group) != std::end(groups) ||
         std::ranges::find(kinds, std::pair{group, kind}) != std::end(kinds);
}
inline bool is_list(const value& object, std::string_view kind) {
  return kind.ends_with("List") && object.find("items") != nullptr;
}
/// Items of a PodList, NodeList … need not say what they are.
inline std::pair<std::string_view, std::string_view> kind_in_list(const value& item, std::string_view list,
                                                                  std::string_view version) {
  const std::string_view own = text_at(item, "kind"), own_version = text_at(item, "apiVersion");
  return {own.empty() ? list.substr(0, list.size() - 4) : own,
          own_version.empty() && own.empty() ? version : own_version};
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
