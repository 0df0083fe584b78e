#include <algorithm>
#include <utility>

#include "gangsched/src/kube/core/objects.hpp"

// Volumes of pods, and what claims of them ask for.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// What of an in-tree volume's source is told: by its words for the id, and whether it is only read.
struct disk_source {
  std::string id, pool;
  std::vector<std::string> monitors;
  bool read_only = false;
};

bool read_disk(reader& read, const place& of, disk_source& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    static constexpr std::string_view ids[] = {"pdName",  "volumeID", "iqn",       "image",
                                               "diskURI", "diskName", "volumePath"};
    if (key == "readOnly") return read.boolean(v, out.read_only);
    if (key == "pool") return read.text(v, out.pool);
    if (key == "monitors") return read.texts(v, out.monitors);
    if (key == "diskName" && of.at->find("diskURI") != nullptr) return true;
    return std::ranges::find(ids, key) == std::end(ids) || read.text(v, out.id);
  });
}

/// Disks that pods of a node cannot share, as VolumeRestrictions has it; not even to read where `never`.
bool add_disk(reader& read, const place& of, std::string_view kind, pod_volumes& out) {
  disk_source from;
  if (!read_disk(read, of, from)) return false;
  if (from.id.empty()) return true;
  if (kind == "gcePersistentDisk") out.disks.push_back({"gce/" + from.id, from.read_only});
  if (kind == "awsElasticBlockStore") out.disks.push_back({"ebs/" + from.id, false});
  if (kind == "iscsi") out.disks.push_back({"iscsi/" + from.id, from.read_only});
  if (kind != "rbd") return true;
  // It is the same image where a monitor is the same: other Ceph clusters may have pools and images of these names.
  const std::string image = (from.pool.empty() ? "rbd" : from.pool) + "/" + from.id;
  std::ranges::sort(from.monitors);
  from.monitors.erase(std::ranges::unique(from.monitors).begin(), from.monitors.end());
  for (const std::string& monitor : from.monitors)
    out.disks.push_back({"rbd/" + monitor + "/" + image, from.read_only});
  if (from.monitors.empty()) out.disks.push_back({"rbd/" + image, from.read_only});
  return true;
}

}  // namespace

std::string_view csi_driver_of(std::string_view in_tree) {
  static constexpr std::pair<std::string_view, std::string_view> all[] = {
      {"kubernetes.io/aws-ebs", "ebs.csi.aws.com"},         {"kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
      {"kubernetes.io/azure-disk", "disk.csi.azure.com"},   {"kubernetes.io/azure-file", "file.csi.azure.com"},
      {"kubernetes.io/cinder", "cinder.csi.openstack.org"}, {"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
      {"kubernetes.io/portworx-volume", "pxd.portworx.com"}};
  for (const auto& [from, to] : all)
    if (from == in_tree) return to;
  return {};
}

std::string_view in_tree_plugin_of(std::string_view source) {
  static constexpr std::pair<std::string_view, std::string_view> all[] = {
      {"awsElasticBlockStore", "kubernetes.io/aws-ebs"},
      {"gcePersistentDisk", "kubernetes.io/gce-pd"},
      {"azureDisk", "kubernetes.io/azure-disk"},
      {"azureFile", "kubernetes.io/azure-file"},
      {"cinder", "kubernetes.io/cinder"},
      {"vsphereVolume", "kubernetes.io/vsphere-volume"},
      {"portworxVolume", "kubernetes.io/portworx-volume"}};
  for (const auto& [from, to] : all)
    if (from == source) return to;
  return {};
}

bool read_volume_mode(reader& read, const place& of, bool& block) {
  return read.word(of, block, {{"Filesystem", false}, {"Block", true}});
}

bool read_storage_amount(reader& read, const place& of, quantity& out) {
  resource_list all;
  if (!read.amounts(of, all)) return false;
  if (const auto found = all.find("storage"); found != all.end()) out = found->second;
  return true;
}

bool read_claim_spec(reader& read, const place& of, volume_claim_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "storageClassName") return read.text(v, out.storage_class.emplace());
    if (key == "accessModes") return read.texts(v, out.access_modes);
    if (key == "volumeMode") return read_volume_mode(read, v, out.block);
    if (key == "selector") return read_label_selector(read, v, out.selector.emplace());
    if (key == "volumeName") return read.text(v, out.volume);
    if (key == "volumeAttributesClassName") return read.text(v, out.attributes_class);
    if (key == "resources") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "requests") return read_storage_amount(read, w, out.size);
        return read.ignore(field, w, {"limits"});
      });
    }
    return read.ignore(key, v, {"dataSource", "dataSourceRef"});
  });
}

bool read_pod_volume(reader& read, const place& of, pod_manifest& out) {
  pod_volume made;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, made.name);
    if (key == "image") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "reference") return read.text(w, out.spec.image_volumes.emplace_back());
        return read.ignore(field, w, {"pullPolicy"});
      });
    }
    if (key == "persistentVolumeClaim") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "claimName") return read.text(w, made.claim);
        return read.ignore(field, w, {"readOnly"});
      });
    }
    if (key == "ephemeral") {
      made.ephemeral = true;
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field != "volumeClaimTemplate") return read.ignore(field, w, {});
        auto spec = std::make_shared<volume_claim_spec>();
        const bool all = read.fields(w, [&](std::string_view word, const place& x) {
          return word == "spec" ? read_claim_spec(read, x, *spec) : read.ignore(word, x, {"metadata"});
        });
        made.made_of = std::move(spec);
        return all;
      });
    }
    if (key == "gcePersistentDisk" || key == "awsElasticBlockStore" || key == "iscsi" || key == "rbd") {
      if (!add_disk(read, v, key, out.spec.volumes)) return false;
    }
    if (const std::string_view plugin = in_tree_plugin_of(key); !plugin.empty()) {
      disk_source from;
      if (!read_disk(read, v, from)) return false;
      made.in_tree = plugin, made.driver = csi_driver_of(plugin), made.id = std::move(from.id);
      return true;
    }
    return read.ignore(key, v, {"cephfs",   "configMap", "csi",        "downwardAPI",
                                "emptyDir", "fc",        "flexVolume", "flocker",
                                "gitRepo",  "glusterfs", "hostPath",   "iscsi",
                                "nfs",      "projected", "rbd",        "photonPersistentDisk",
                                "quobyte",  "scaleIO",   "secret",     "storageos"});
  });
  const bool claimed = made.ephemeral || !made.claim.empty();
  if (claimed || !made.id.empty()) out.volumes.push_back(std::move(made));
  return fine;
}

bool read_claim_templates(reader& read, const place& of, std::vector<pod_volume>& out) {
  return read.items(of, [&](const place& item) {
    pod_volume made;
    auto spec = std::make_shared<volume_claim_spec>();
    const bool fine = read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "metadata") return read_name(read, v, made.name);
      if (key == "spec") return read_claim_spec(read, v, *spec);
      return read.ignore(key, v, {"apiVersion", "kind", "status"});
    });
    made.made_of = std::move(spec);
    if (fine && !made.name.empty()) out.push_back(std::move(made));
    return fine;
  });
}

void add_claim_templates(const std::vector<pod_volume>& templates, pod_manifest& to) {
  std::erase_if(to.volumes, [&](const pod_volume& volume) {
    return std::ranges::any_of(templates, [&](const pod_volume& by) { return by.name == volume.name; });
  });
  to.volumes.insert(to.volumes.end(), templates.begin(), templates.end());
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
