#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "gangsched/model/validate.hpp"
#include "gangsched/plugins/hived.hpp"
#include "gangsched/queues/hived/cell_binding.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/queues/queues.hpp"

// HiveD's configuration (hivedscheduler, pkg/api/config.go): cells, and virtual clusters made of them; and what its pods say.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

namespace hived = queues::hived;

constexpr std::size_t most_cells = 1'000'000;  // physical and virtual ones, which a few lines may ask for
constexpr const char* hived_gpus = "nvidia.com/gpu";
constexpr const char* hived_enabled = "hivedscheduler.microsoft.com/pod-scheduling-enable";

bool read_address(reader& read, const place& of, std::string& out) {
  if (of.at->kind != value_kind::text && of.at->kind != value_kind::number) return read.text(of, out);
  out = of.at->text;
  return true;
}

class hived_reader {
 public:
  hived_reader(reader& read, hived_draft& out) : read_(&read), out_(&out) {}

  bool run(const place& of) {
    // Types first, whatever the order in the file: cells are of them.
    if (const value* physical = of.at->find("physicalCluster");
        physical != nullptr && physical->kind == value_kind::object) {
      const place at{physical, &of, "physicalCluster"};
      if (const value* all = physical->find("cellTypes"); all != nullptr && !types(place{all, &at, "cellTypes"}))
        return false;
    }
    const bool fine = read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "physicalCluster") {
        return read_->fields(v, [&](std::string_view field, const place& w) {
          if (field == "cellTypes") return true;
          if (field == "physicalCells") return cells(w);
          return read_->ignore(field, w, {"skuTypes", "leafCellTypes", "gpuTypes"});
        });
      }
      if (key == "virtualClusters") return clusters(v);
      return read_->ignore(key, v,
                           {"kubeApiServerAddress", "kubeConfigFilePath", "webServerAddress", "forcePodBindThreshold",
                            "waitingPodSchedulingBlockMilliSec"});
    });
    return fine && pins() && together(of);
  }

 private:
  bool types(const place& of) {
    return read_->fields(of, [&](std::string_view name, const place& v) {
      hived::cell_type& made = out_->configuration.types.emplace_back();
      made.name = name;
      by_type_.emplace(made.name, out_->configuration.types.size() - 1);
      return read_->fields(v, [&](std::string_view field, const place& w) {
        if (field == "childCellType") return read_->text(w, made.child);
        if (field == "childCellNumber") return read_->integer(w, made.children, 1, most_cells);
        if (field == "isNodeLevel") return read_->boolean(w, made.is_node);
        return read_->ignore(field, w, {});
      });
    });
  }

  [[nodiscard]] const hived::cell_type* type(const std::string& name) const {
    const auto found = by_type_.find(name);
    return found == by_type_.end() ? nullptr : &out_->configuration.types[found->second];
  }

  /// Cells in one of a type, itself included, and its devices; more than there may be if types are within themselves.
  struct size {
    std::size_t cells = 1, devices = 1;
  };
  [[nodiscard]] size size_of(const std::string& name) const {
    size made;
    std::vector<std::uint32_t> counts;
    for (const hived::cell_type* at = type(name); at != nullptr; at = type(at->child)) {
      counts.push_back(at->children);
      if (counts.size() > out_->configuration.types.size()) return {most_cells + 1, most_cells + 1};
    }
    for (const std::uint32_t count : counts) {
      made.devices = std::min(made.devices * count, most_cells + 1);
      made.cells = std::min(made.cells + made.devices, most_cells + 1);
    }
    return made;
  }
  bool afford(const place& of, std::size_t count, const std::string& name) {
    cells_ += std::min(count, most_cells + 1) * size_of(name).cells;
    return cells_ <= most_cells ||
           read_->fail(errc::out_of_range, of, fmt::format("there would be more than {} cells", most_cells));
  }

  bool cells(const place& of) {
    return read_->list(of, out_->configuration.cells, [&](const place& item, hived::physical_cell& one) {
      const value* named = item.at->find("cellType");
      if (named == nullptr || named->text.empty()) return read_->fail(errc::malformed, item, "needs a cellType");
      one.type = named->text;
      if (type(one.type) == nullptr)
        return read_->fail(errc::unknown, place{named, &item, "cellType"},
                           fmt::format("no cell type \"{}\"", one.type));
      return afford(item, 1, one.type) && cell(item, one, one.type, false);
    });
  }

  /// @p below: it is part of a node.
  bool cell(const place& of, hived::physical_cell& out, const std::string& of_type, bool below) {
    const hived::cell_type* const is = type(of_type);
    const bool node = is != nullptr && is->is_node;
    return read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "cellType") {
        std::string said;
        return read_->text(v, said) &&
               (said == of_type || read_->fail(errc::malformed, v, fmt::format("is in a cell of \"{}\"", of_type)));
      }
      if (key == "cellAddress") {
        std::string address;
        if (!read_address(*read_, v, address)) return false;
        if (node) return out.node = std::move(address), true;
        if (is != nullptr || !below) return true;  // only nodes and devices are called by it
        const auto [end, bad] = std::from_chars(address.data(), address.data() + address.size(), out.device.emplace());
        return (bad == std::errc{} && end == address.data() + address.size() && *out.device >= 0) ||
               read_->fail(errc::malformed, v, fmt::format("\"{}\" is no number of a device", address));
      }
      if (key == "pinnedCellId") {
        pin_types_[v.at->text] = of_type;
        return read_->text(v, out.pin);
      }
      if (key == "cellChildren") {
        if (is == nullptr && !v.at->items.empty()) return read_->fail(errc::malformed, v, "are in a device");
        return read_->list(v, out.children, [&](const place& item, hived::physical_cell& one) {
          return cell(item, one, is->child, below || node);
        });
      }
      return read_->ignore(key, v, {});
    });
  }

  bool clusters(const place& of) {
    return read_->fields(of, [&](std::string_view name, const place& v) {
      hived::virtual_cluster_spec& made = out_->configuration.clusters.emplace_back();
      made.name = name;
      out_->devices.push_back(0);
      return read_->fields(v, [&](std::string_view field, const place& w) {
        if (field == "virtualCells")
          return read_->list(w, made.cells,
                             [&](const place& item, hived::cell_quota& one) { return quota(item, one); });
        if (field == "pinnedCells") {
          return read_->list(w, made.pins, [&](const place& item, std::string& one) {
            return read_->fields(item, [&](std::string_view word, const place& x) {
              return word == "pinnedCellId" ? read_->text(x, one) : read_->ignore(word, x, {});
            });
          });
        }
        return read_->ignore(field, w, {});
      });
    });
  }

  /// {cellType: RACK.NODE.SOCKET, cellNumber}
  bool quota(const place& of, hived::cell_quota& out) {
    std::string way;
    const bool fine = read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "cellNumber") return read_->integer(v, out.count, 0, most_cells);
      if (key == "cellType") return read_->text(v, way);
      return read_->ignore(key, v, {});
    });
    if (!fine) return false;
    std::size_t from = 0;
    for (std::string before;; ++from) {
      const std::size_t dot = std::min(way.find('.', from), way.size());
      out.type = way.substr(from, dot - from);
      if (!before.empty() && (type(before) == nullptr || type(before)->child != out.type))
        return read_->fail(errc::unknown, of,
                           fmt::format("cellType: a \"{}\" is not made of \"{}\"", before, out.type));
      if (from == 0 && dot < way.size()) out.chain = out.type;
      if (dot == way.size()) break;
      before = out.type;
      from = dot;
    }
    if (!afford(of, out.count, out.type)) return false;
    out_->devices.back() += out.count * size_of(out.type).devices;
    return true;
  }

  bool pins() {
    for (std::size_t i = 0; i < out_->configuration.clusters.size(); ++i)
      for (const std::string& pin : out_->configuration.clusters[i].pins)
        if (const auto found = pin_types_.find(pin); found != pin_types_.end())
          out_->devices[i] += size_of(found->second).devices;
    return true;
  }

  /// Whether the cells make sense, and all virtual clusters fit into them at once.
  bool together(const place& of) {
    const auto wrong = [&](const error& why) {
      return read_->fail(why.code, of,
                         fmt::format("{}{}{}: {}", why.object, why.field.empty() ? "" : " ", why.field, why.reason));
    };
    auto layout = hived::cell_layout::make(out_->configuration);
    if (!layout) return wrong(layout.error());
    const auto bound = hived::cell_binding::make(std::make_shared<const hived::cell_layout>(*std::move(layout)));
    return bound ? true : wrong(bound.error());
  }

  reader* read_;
  hived_draft* out_;
  std::map<std::string, std::size_t> by_type_;
  std::map<std::string, std::string> pin_types_;
  std::size_t cells_ = 0;
};

/// What a pod says: its part of a group of pods that get cells together.
struct hived_words {
  hived::group_request group = {.priority = 0, .lazy_preemption = false};
  std::uint32_t devices = 0;
  bool alone = true;  ///< it names no group
};

bool read_hived_member(reader& read, const place& of, hived::member& out) {
  out = {0, 0};
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "podNumber") return read.integer(v, out.pods, 1, std::numeric_limits<std::int32_t>::max());
    if (key == "leafCellNumber" || key == "gpuNumber") return read.integer(v, out.devices, 1, most_cells);
    return read.ignore(key, v, {});
  });
  return fine &&
         ((out.pods != 0 && out.devices != 0) || read.fail(errc::malformed, of, "needs podNumber and leafCellNumber"));
}

bool read_hived_words(reader& read, const place& of, hived_words& out) {
  constexpr std::size_t most_members = 1000;
  bool ignored = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "virtualCluster") return read.text(v, out.group.cluster);
    if (key == "priority") return read.integer(v, out.group.priority, hived::opportunistic, hived::highest_priority);
    if (key == "pinnedCellId") return read.text(v, out.group.pin);
    if (key == "leafCellType" || key == "gpuType") return read.text(v, out.group.device_type);
    if (key == "leafCellNumber" || key == "gpuNumber") return read.integer(v, out.devices, 1, most_cells);
    if (key == "lazyPreemptionEnable") return read.boolean(v, out.group.lazy_preemption);
    if (key == "affinityGroup") {
      out.alone = false;
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "name") return read.text(w, out.group.name);
        if (field != "members") return read.ignore(field, w, {});
        if (w.at->items.size() > most_members)
          return read.fail(errc::out_of_range, w, fmt::format("has more than {} entries", most_members));
        return read.list(w, out.group.members,
                         [&](const place& item, hived::member& one) { return read_hived_member(read, item, one); });
      });
    }
    if (key == "ignoreK8sSuggestedNodes") return read.boolean(v, ignored);
    return read.ignore(key, v, {"gangReleaseEnable"});
  });
  if (!fine) return false;
  if (out.group.cluster.empty()) return read.fail(errc::malformed, of, "needs a virtualCluster");
  if (out.devices == 0) return read.fail(errc::malformed, of, "needs a leafCellNumber");
  if (out.alone) return true;
  if (out.group.name.empty()) return read.fail(errc::malformed, of, "affinityGroup needs a name");
  return std::ranges::any_of(out.group.members, [&](const hived::member& one) { return one.devices == out.devices; }) ||
         read.fail(errc::malformed, of, "affinityGroup has no member with the leafCellNumber of this pod");
}

/// Pods with annotations for HiveD.
class hived_pods {
 public:
  explicit hived_pods(manifests& into) : into_(&into) {
    for (const group_manifest& one : into.groups) taken_.emplace(one.spec.ns, one.spec.name);
  }

  std::optional<error> run() {
    for (pod_manifest& pod : into_->pods)
      if (auto wrong = one(pod)) return wrong;
    return std::nullopt;
  }

 private:
  std::optional<error> one(pod_manifest& pod) {
    const auto said = pod.annotations.find(hived_word);
    if (said == pod.annotations.end()) return std::nullopt;
    const std::string file = pod.from.file < into_->files.size() ? into_->files[pod.from.file] : std::string{"?"};
    reader read{file, object_name("Pod", pod.spec.ns, pod.spec.name), &into_->warnings};
    hived_words words;
    const spot at{pod.from.line, fmt::format("metadata.annotations[\"{}\"]", hived_word)};
    if (!read_inside(read, at, said->second,
                     [&](reader& inner, const place& v) { return read_hived_words(inner, v, words); }))
      return std::move(read).failure();
    pod.annotations[hived_cluster_word] = words.group.cluster;
    const hived_policy::options reads;  // of labels
    if (!words.group.pin.empty()) pod.spec.labels.emplace(reads.pin_label, words.group.pin);
    if (!words.group.device_type.empty()) pod.spec.labels.emplace(reads.type_label, words.group.device_type);
    if (!pod.spec.priority && pod.spec.priority_class.empty()) pod.spec.priority = words.group.priority;
    ask_for_devices(pod, words.devices);
    if (words.alone) {
      words.group.name = pod.spec.ns + "/" + pod.spec.name;
      words.group.members = {{1, words.devices}};
      if (into_->hived) into_->hived->groups.push_back(std::move(words.group));
      return std::nullopt;
    }
    return join(pod, std::move(words.group), at.path);
  }

  /// HiveD's pods count devices in the annotation only.
  static void ask_for_devices(pod_manifest& pod, std::uint32_t devices) {
    bool asks = false;
    for (container& each : pod.spec.containers) {
      each.requests.erase(hived_enabled);
      asks = asks || each.requests.contains(hived_gpus);
    }
    if (!asks && !pod.spec.containers.empty())
      pod.spec.containers.front().requests[hived_gpus] = quantity{std::int64_t{devices}};
  }

  std::optional<error> join(pod_manifest& pod, hived::group_request group, const std::string& field) {
    if (!pod.group.empty()) return std::nullopt;
    std::string name = group.name;
    std::ranges::replace(name, '/', '-');
    const auto wrong = [&](errc code, std::string reason) {
      return error{code, where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name), field + ".affinityGroup",
                   std::move(reason)};
    };
    const auto [known, first] = groups_.try_emplace({pod.spec.ns, name}, group);
    pod.group = name;
    if (!first) {
      const hived::group_request& other = known->second;
      const bool same =
          other.cluster == group.cluster && other.priority == group.priority && other.pin == group.pin &&
          std::ranges::equal(other.members, group.members, [](const hived::member& a, const hived::member& b) {
            return a.pods == b.pods && a.devices == b.devices;
          });
      if (same) return std::nullopt;
      return wrong(errc::malformed, fmt::format("is not what other pods of \"{}\" say", group.name));
    }
    if (taken_.contains({pod.spec.ns, name}))
      return wrong(errc::duplicate, fmt::format("another group is called \"{}\" too", name));
    group_manifest& made = into_->groups.emplace_back();
    made.kind = "Pod";
    made.from = pod.from;
    made.spec.ns = pod.spec.ns;
    made.spec.name = name;
    std::int64_t pods = 0;
    for (const hived::member& each : group.members) pods += each.pods;
    if (pods > std::numeric_limits<std::int32_t>::max())
      return wrong(errc::out_of_range, fmt::format("has {} pods", pods));
    made.spec.policy = gang{.min_count = static_cast<std::int32_t>(pods)};
    if (const auto bad = check(made.spec)) return wrong(bad->code, fmt::format("{}: {}", bad->field, bad->reason));
    if (into_->hived) into_->hived->groups.push_back(std::move(group));
    return std::nullopt;
  }

  manifests* into_;
  std::set<std::pair<std::string, std::string>> taken_;
  std::map<std::pair<std::string, std::string>, hived::group_request> groups_;
};

}  // namespace

bool read_hived(reader& read, const place& of, hived_draft& out) { return hived_reader{read, out}.run(of); }

std::optional<error> form_affinity_groups(manifests& into, queue_objects& queues) {
  if (queues.hived) {
    into.hived.emplace().configuration = queues.hived->configuration;
    for (std::size_t i = 0; i < queues.hived->devices.size(); ++i) {
      queue_manifest& made = queues.queues.emplace_back();
      made.api = "hivedscheduler.microsoft.com", made.kind = "VirtualCluster";
      made.name = queues.hived->configuration.clusters[i].name;
      made.from = queues.hived->from;
      made.spec.name = made.name;
      made.spec.quotas.push_back({.guaranteed = {{hived_gpus, quantity{queues.hived->devices[i]}}}});
    }
  }
  return hived_pods{into}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
