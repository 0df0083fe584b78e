#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/volumes/volumes.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// An annotation, whichever it is about; empty if it is not there.
std::string_view annotation(const value& object, std::string_view key) {
  const value* const meta = object.find("metadata");
  const value* const all = meta == nullptr ? nullptr : meta->find("annotations");
  return all == nullptr || all->kind != value_kind::object ? std::string_view{} : text_at(*all, key);
}
/// What came before storageClassName, and goes before it.
constexpr std::string_view class_annotation = "volume.beta.kubernetes.io/storage-class";

std::string uid_of(const value& object) {
  const value* const meta = object.find("metadata");
  return meta == nullptr || meta->kind != value_kind::object ? std::string{} : std::string{text_at(*meta, "uid")};
}

bool read_terms(reader& read, const place& of, std::optional<std::vector<node_selector_term>>& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    return key == "required" ? read_node_selector(read, v, out.emplace()) : read.ignore(key, v, {});
  });
}

/// matchLabelExpressions of an allowed topology: each says In.
bool read_topology(reader& read, const place& of, node_selector_term& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "matchLabelExpressions") return read.ignore(key, v, {});
    return read.list(v, out.match_expressions, [&](const place& item, selector_requirement& one) {
      one.op = selector_operator::in;
      return read.fields(item, [&](std::string_view field, const place& w) {
        if (field == "key") return read.text(w, one.key);
        return field == "values" ? read.texts(w, one.values) : read.ignore(field, w, {});
      });
    });
  });
}

bool read_csi_source(reader& read, const place& of, volume_manifest& out) {
  return read.fields(of,
                     [&](std::string_view key, const place& v) { return key != "driver" || read.text(v, out.driver); });
}

bool read_claim_reference(reader& read, const place& of, claim_reference& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "namespace") return read.text(v, out.ns);
    if (key == "name") return read.text(v, out.name);
    return key != "uid" || read.text(v, out.uid);
  });
}

bool read_volume_spec(reader& read, const place& of, volume_manifest& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "capacity") return read_storage_amount(read, v, out.capacity);
    if (key == "accessModes") return read.texts(v, out.access_modes);
    if (key == "storageClassName") return read.text(v, out.storage_class);
    if (key == "volumeMode") return read_volume_mode(read, v, out.block);
    if (key == "volumeAttributesClassName") return read.text(v, out.attributes_class);
    if (key == "nodeAffinity") return read_terms(read, v, out.nodes);
    if (key == "claimRef") return read_claim_reference(read, v, out.claim.emplace());
    if (key == "csi") return read_csi_source(read, v, out);
    if (const std::string_view plugin = in_tree_plugin_of(key); !plugin.empty()) {
      out.in_tree = plugin, out.driver = csi_driver_of(plugin);
      return true;
    }
    return read.ignore(
        key, v,
        {"cephfs", "fc", "flexVolume", "flocker", "glusterfs", "hostPath", "iscsi", "local", "mountOptions", "nfs",
         "quobyte", "rbd", "scaleIO", "photonPersistentDisk", "persistentVolumeReclaimPolicy", "storageos"});
  });
}

bool read_volume(reader& read, const place& of, volume_manifest& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      out.name = std::move(meta.name), out.labels = std::move(meta.labels), out.terminating = meta.deleted.has_value();
      return true;
    }
    if (key == "spec") return read_volume_spec(read, v, out);
    if (key != "status") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      std::string phase;
      if (field != "phase") return true;
      if (!read.text(w, phase)) return false;
      out.available = phase.empty() || phase == "Available";
      return true;
    });
  });
  if (const std::string_view old = annotation(*of.at, class_annotation); !old.empty()) out.storage_class = old;
  return fine;
}

bool read_claim(reader& read, const place& of, volume_claim_manifest& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      out.name = std::move(meta.name), out.terminating = meta.deleted.has_value();
      if (!meta.ns.empty()) out.ns = std::move(meta.ns);
      if (meta.owner_kind == "Pod") out.owner_pod = std::move(meta.owner_name);
      return true;
    }
    if (key == "spec") return read_claim_spec(read, v, out.spec);
    if (key != "status") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      std::string phase;
      if (field != "phase") return true;
      if (!read.text(w, phase)) return false;
      out.phase = phase == "Bound"     ? claim_phase::bound
                  : phase == "Lost"    ? claim_phase::lost
                  : phase == "Pending" ? claim_phase::pending
                                       : claim_phase::none;
      return true;
    });
  });
  out.uid = uid_of(*of.at);
  out.selected_node = annotation(*of.at, "volume.kubernetes.io/selected-node");
  if (const std::string_view old = annotation(*of.at, class_annotation); !old.empty()) out.spec.storage_class = old;
  return fine;
}

bool read_storage_class(reader& read, const place& of, storage_class_manifest& out) {
  for (const std::string_view key :
       {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"})
    out.is_default = out.is_default || annotation(*of.at, key) == "true";
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      const value* const made = v.at->find("creationTimestamp");
      if (made != nullptr && made->kind == value_kind::text &&
          !read.time(place{made, &v, "creationTimestamp"}, out.created))
        return false;
      return read_name(read, v, out.name);
    }
    if (key == "provisioner") return read.text(v, out.provisioner);
    if (key == "volumeBindingMode")
      return read.word(v, out.waits_for_consumer, {{"Immediate", false}, {"WaitForFirstConsumer", true}});
    if (key == "allowedTopologies") {
      return read.list(v, out.allowed_topologies,
                       [&](const place& item, node_selector_term& one) { return read_topology(read, item, one); });
    }
    return read.ignore(key, v,
                       {"apiVersion", "kind", "parameters", "reclaimPolicy", "mountOptions", "allowVolumeExpansion"});
  });
}

bool read_csi_driver_of_node(reader& read, const place& of, csi_node_object& out) {
  std::string name;
  std::optional<std::int32_t> most;
  std::vector<std::string> keys;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, name);
    if (key == "topologyKeys") return read.texts(v, keys);
    if (key != "allocatable") return read.ignore(key, v, {"nodeID"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      return field == "count" ? read.integer(w, most.emplace(), 0) : read.ignore(field, w, {});
    });
  });
  if (!fine) return false;
  if (name.empty()) return read.fail(errc::malformed, of, "needs a name");
  if (most) out.limits[name] = *most;
  if (!keys.empty()) out.topology_keys[name] = std::move(keys);
  return true;
}

bool read_csi_node(reader& read, const place& of, csi_node_object& out) {
  std::string_view migrated = annotation(*of.at, "storage.alpha.kubernetes.io/migrated-plugins");
  while (!migrated.empty()) {
    const std::string_view one = migrated.substr(0, migrated.find(','));
    migrated.remove_prefix(std::min(one.size() + 1, migrated.size()));
    if (!one.empty()) out.migrated_plugins.emplace_back(one);
  }
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name(read, v, out.node);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "drivers") return read.ignore(field, w, {});
      return read.items(w, [&](const place& item) { return read_csi_driver_of_node(read, item, out); });
    });
  });
}

bool read_storage_capacity(reader& read, const place& of, storage_capacity_manifest& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, out.name, out.ns);
    if (key == "nodeTopology") return read_label_selector(read, v, out.node_topology.emplace());
    if (key == "storageClassName") return read.text(v, out.storage_class);
    if (key == "capacity") return read.amount(v, out.capacity.emplace());
    if (key == "maximumVolumeSize") return read.amount(v, out.maximum_volume_size.emplace());
    return read.ignore(key, v, {"apiVersion", "kind"});
  });
  return fine && (!out.storage_class.empty() || read.fail(errc::malformed, of, "needs a storageClassName"));
}

/// @p out: the drivers whose capacities count.
bool read_csi_driver(reader& read, const place& of, std::vector<std::string>& out) {
  std::string name;
  bool counts = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name(read, v, name);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "storageCapacity") return read.boolean(w, counts);
      return read.ignore(field, w,
                         {"attachRequired", "podInfoOnMount", "volumeLifecycleModes", "fsGroupPolicy", "tokenRequests",
                          "requiresRepublish", "seLinuxMount", "nodeAllocatableUpdatePeriodSeconds",
                          "serviceAccountTokenInSecrets", "preventPodSchedulingIfMissing"});
    });
  });
  if (fine && counts) out.push_back(std::move(name));
  return fine;
}

bool read_attachment(reader& read, const place& of, volume_attachment_object& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "metadata", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "attacher") return read.text(w, out.attacher);
      if (field == "nodeName") return read.text(w, out.node);
      if (field != "source") return read.ignore(field, w, {});
      return read.fields(w, [&](std::string_view word, const place& x) {
        return word == "persistentVolumeName" ? read.text(x, out.volume) : read.ignore(word, x, {"inlineVolumeSpec"});
      });
    });
  });
}

}  // namespace

std::optional<bool> read_volume_family(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                       origin from, manifests& into, volume_objects& out) {
  const auto one = [&](auto& all, const auto& read_it) {
    auto& made = all.emplace_back();
    made.from = from;
    return read_it(read, of, made);
  };
  if (api_group.empty()) {
    if (kind == "PersistentVolume") return one(into.volumes, read_volume);
    if (kind == "PersistentVolumeClaim") return one(into.volume_claims, read_claim);
  } else if (api_group == "storage.k8s.io") {
    if (kind == "StorageClass") return one(into.storage_classes, read_storage_class);
    if (kind == "CSINode") return one(out.nodes, read_csi_node);
    if (kind == "CSIStorageCapacity") return one(into.storage_capacities, read_storage_capacity);
    if (kind == "CSIDriver") return read_csi_driver(read, of, into.capacity_drivers);
    if (kind == "VolumeAttachment") return one(out.attachments, read_attachment);
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
