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

/// StatefulSets that make one pod after the other (podManagementPolicy OrderedReady): the next one comes when all that are there run, and
/// none is about to go that comes again. Pods are known by their place in a list.
class ordered_sets {
 public:
  /// O(controllers).
  explicit ordered_sets(const manifests& of);

  /// The pod is to come, and waits for its turn. False if it waits for none: it is of no such set, or of a group, which starts together.
  bool hold(const pod_manifest& pod, std::size_t index);
  /// The pod is about to go, and another one of its name comes.
  void goes(const pod_manifest& pod, std::size_t index);
  /// The pod is there no more, or never will be.
  void left(const pod_manifest& pod, std::size_t index);
  /// The pod of the set of @p like that comes now, if it is some pod's turn. @p waits(pod): it is there without a node. O(log pods).
  template <class Waits>
  [[nodiscard]] std::optional<std::size_t> next(const pod_manifest& like, const Waits& waits) {
    set* const of = find(like);
    if (of == nullptr || (of->latest && waits(*of->latest))) return std::nullopt;
    if (!of->going.empty() || of->held.empty()) return std::nullopt;
    of->latest = of->held.begin()->second;
    of->held.erase(of->held.begin());
    return of->latest;
  }

 private:
  struct set {
    std::set<std::pair<std::uint64_t, std::size_t>> held = {};  // number, pod
    std::optional<std::size_t> latest = {};                     // that came
    std::set<std::size_t> going = {};
  };
  [[nodiscard]] set* find(const pod_manifest& pod);

  std::map<std::pair<std::string, std::string>, set> sets_;  // by namespace, name
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
