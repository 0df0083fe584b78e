#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// The number at the end of a name, as StatefulSets have it; of other names one above all.
[[nodiscard]] std::uint64_t ordinal_of(std::string_view name);

/// StatefulSets that make one pod after the other (podManagementPolicy OrderedReady): a pod is made when all of lower numbers run and none
/// of them is about to go. Pods are known by their place in a list. Each call is O(log pods).
class ordered_sets {
 public:
  /// O(controllers).
  explicit ordered_sets(const manifests& of);

  /// The pod is to come, and waits for its turn. False if it waits for none: it is of no such set, or of a group, which starts together.
  bool hold(const pod_manifest& pod, std::size_t index);
  /// The pod is there and has no node, or is about to go.
  void is_unready(const pod_manifest& pod, std::size_t index);
  /// The pod has a node.
  void runs(const pod_manifest& pod, std::size_t index);
  /// The pod is there no more, or never will be.
  void left(const pod_manifest& pod, std::size_t index);
  /// The pod of the set of @p like that comes now, if it is some pod's turn.
  [[nodiscard]] std::optional<std::size_t> next(const pod_manifest& like);

 private:
  using numbered_pods = std::set<std::pair<std::uint64_t, std::size_t>>;  // number, pod
  struct set {
    numbered_pods held = {}, unready = {};
  };
  [[nodiscard]] set* find(const pod_manifest& pod);

  std::map<std::pair<std::string, std::string>, set> sets_;  // by namespace, name
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
