#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/model/spec.hpp"

/// PersistentVolumes, the claims of them and StorageClasses, as far as they say where pods can run.
namespace gangsched::inline GANGSCHED_ABI::kube {

/// Where an object was written. `file` counts in `manifests::files`, `object` in that file: several may begin on one line.
struct origin {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t object = 0;
};

/// What a claim asks for: the spec of a PersistentVolumeClaim, or of a template of one.
struct volume_claim_spec {
  std::optional<std::string> storage_class = {};  ///< absent: the default one; empty: volumes without a class
  std::vector<std::string> access_modes = {};
  quantity size = {};  ///< requests.storage
  bool block = false;  ///< volumeMode Block
  std::optional<label_selector> selector = {};
  std::string attributes_class = {};  ///< volumeAttributesClassName
  std::string volume = {};            ///< volumeName: which one it has, or is to have
};

/// status.phase of a claim; `none`: no controller has looked at the claim yet.
enum class claim_phase : std::uint8_t { none, pending, bound, lost };

/// A PersistentVolumeClaim, of the files or made of a template in them.
struct volume_claim_manifest {
  std::string name;
  std::string ns = "default";
  volume_claim_spec spec = {};
  claim_phase phase = claim_phase::none;
  bool terminating = false;
  std::string uid = {};
  std::string owner_pod = {};      ///< of a generic ephemeral volume
  std::string selected_node = {};  ///< where a provisioner makes its volume
  origin from = {};
};

/// The uid of a claim that is made anew for a pod in place of an earlier one of its name: what was bound to that one is not for it.
inline constexpr const char* renewed_claim = "renewed";

/// The claim that a volume is reserved for or bound to: claimRef.
struct claim_reference {
  std::string ns, name;
  std::string uid = {};
};

/// A PersistentVolume.
struct volume_manifest {
  std::string name;
  label_map labels = {};
  std::string storage_class = {};
  std::vector<std::string> access_modes = {};
  quantity capacity = {};
  bool block = false;
  std::string attributes_class = {};
  std::optional<std::vector<node_selector_term>> nodes = {};  ///< nodeAffinity.required: where it can be reached
  std::string driver = {};                                    ///< that attaches it, if one does
  std::string in_tree = {};  ///< the plugin whose work the driver does, if it is not the volume's own
  std::optional<claim_reference> claim = {};
  bool available = true;  ///< by its phase, which new objects have not
  bool terminating = false;
  origin from = {};
};

/// A StorageClass.
struct storage_class_manifest {
  std::string name;
  std::string provisioner = {};
  bool waits_for_consumer = false;  ///< volumeBindingMode WaitForFirstConsumer
  bool is_default = false;
  instant created = {};
  std::vector<node_selector_term> allowed_topologies = {};  ///< empty: everywhere
  origin from = {};

  /// Whether volumes are made for claims of the class.
  [[nodiscard]] bool provisions() const {
    return !provisioner.empty() && provisioner != "kubernetes.io/no-provisioner";
  }
};

/// A CSIStorageCapacity: how much room a driver has for volumes of a class on some nodes.
struct storage_capacity_manifest {
  std::string ns = "default", name = {};
  std::string storage_class = {};
  std::optional<label_selector> node_topology = {};  ///< absent: no node
  std::optional<quantity> capacity = {};
  std::optional<quantity> maximum_volume_size = {};  ///< counts instead, if it is there
  origin from = {};
};

/// A volume of a pod that is claimed or attached; the others ask nothing of where the pod runs.
struct pod_volume {
  std::string name = {};  ///< of the volume
  std::string claim =
      {};  ///< persistentVolumeClaim; empty: `<name>-<pod>` of a StatefulSet, `<pod>-<name>` of an ephemeral volume
  bool ephemeral = false;
  std::shared_ptr<const volume_claim_spec> made_of = {};  ///< the template of a claim that is made if it is not there
  std::string in_tree = {};  ///< no claim: the plugin that attaches it, now the work of `driver`
  std::string driver = {};
  std::string id = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube
