#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/src/kube/core/objects.hpp"

/// PersistentVolumes, claims, StorageClasses and what drivers say of nodes: where the pods that claim volumes can run.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// A CSINode: what CSI drivers say of the node of its name.
struct csi_node_object {
  std::string node;
  sorted_map<std::int32_t> limits;                     ///< volumes that can be attached, by driver
  sorted_map<std::vector<std::string>> topology_keys;  ///< by driver
  std::vector<std::string> migrated_plugins;
  origin from;
};
/// A VolumeAttachment: a volume that is attached to a node, whatever pod uses it.
struct volume_attachment_object {
  std::string attacher, node, volume;
  origin from;
};

struct volume_objects {
  std::vector<csi_node_object> nodes;
  std::vector<volume_attachment_object> attachments;
};

/// Reads the object if it is of this family; nothing if it is not.
std::optional<bool> read_volume_family(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                       origin from, manifests& into, volume_objects& out);

/// The claim that is made of a volume's template for the pod; nothing if it has none, or its name would be none.
std::optional<volume_claim_manifest> claim_made_of(const pod_manifest& pod, const pod_volume& volume);
/// Claims are made of the templates in the files. O(size).
void make_claims(manifests& into, const std::vector<controller_of_pods>& controllers);

/// What the drivers of nodes say goes to the nodes, and each pod is told what its volumes ask of nodes. Error: that would be too much.
/// O(size + nodes that pods can be on).
std::optional<error> settle_volumes(manifests& into, const volume_objects& objects, const read_options& how);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
