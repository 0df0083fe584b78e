#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/src/kube/core/objects.hpp"

/// Koordinator's colocation: what nodes lend, as its controller and its agent have it, and which pods are made to borrow.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// A ClusterColocationProfile: what its webhook writes into new pods.
struct colocation_profile {
  std::string name;
  std::optional<label_selector> namespaces = {}, pods = {};  ///< absent: all
  label_map labels = {}, annotations = {};
  label_map label_keys = {}, annotation_keys = {};  ///< from which key to which a value is copied
  label_map label_suffixes = {};
  std::string scheduler_name = {}, qos = {}, priority_class = {};
  std::optional<std::int32_t> sub_priority = {};
  bool keeps_resources = false;  ///< its pods go on requesting cpu and memory
  bool of_nobody = false;        ///< a probability of 0
  origin from = {};
};

struct colocation_objects {
  std::vector<colocation_profile> profiles;
};

/// Reads a ClusterColocationProfile, a NodeMetric, or the ConfigMap slo-controller-config; nothing if it is none.
std::optional<bool> read_colocation_object(reader& read, const place& of, std::string_view api_group,
                                           std::string_view kind, origin from, colocation_objects& out,
                                           manifests& made);
bool read_profile(reader& read, const place& of, colocation_profile& out);
bool read_node_metric(reader& read, const place& of, node_metric_manifest& out);
/// A node, with what its annotations say of its load (`node_manifest::raw` and the fields beside it).
bool read_node_and_load(reader& read, const place& of, node_manifest& out, const read_options& how);
bool read_strategies(reader& read, const place& of, colocation_manifest& out);

/// New pods become what the profiles make of them, in the order of the profiles' names. A profile that names a priority class which is in
/// no file is left out with a warning. O(profiles) a pod, more for one that a profile selects.
class profile_admission final : public pod_admission {
 public:
  /// All objects have been read.
  profile_admission(manifests& into, const colocation_objects& all);

  /// Labels and annotations, and what these say; the rest below. A mistake in them goes to `mistakes`.
  void admit(pod_manifest& pod, const admission_words& words) override;
  /// Once their own priorities are settled and they have all requests: the classes, and resources that nodes lend.
  void settle();

  std::vector<std::pair<origin, error>> mistakes;

 private:
  using profiles = std::vector<const colocation_profile*>;

  [[nodiscard]] const priority_class_spec* class_of(std::string_view name) const;
  [[nodiscard]] bool applies(const colocation_profile& one, const pod_manifest& pod) const;
  void read_again(pod_manifest& pod, const label_map& written);
  void borrow(pod_manifest& pod) const;

  manifests* into_;
  profiles profiles_;                       ///< by name
  std::map<std::size_t, profiles> chosen_;  ///< for pods, by index
  std::map<std::string_view, const label_map*> namespaces_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string, std::string>> warned_;  ///< file, line, field, reason
  std::int32_t default_priority_ = 0;
};
/// Sets what was measured as columns, and what nodes lend. O(nodes · choices + pods measured).
std::optional<error> apply_measurements(cluster& on, const manifests& what);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
