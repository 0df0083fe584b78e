#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>
#include "gangsched/kube/manifests.hpp"

#include "gangsched/kube/simulation_outcome.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// Keeps count of the groups' members: which groups came to their minimum, when, and where they are.
class group_ledger {
 public:
  explicit group_ledger(const manifests& of);

  /// A pod that comes last of all.
  void add(const pod_manifest& pod);
  /// A pod has a node from now on.
  void started(std::size_t pod, instant now);
  /// The pod is gone. Calls done(composite, namespace, name) for its group and each above that is done with that: each of its pods has
  /// ended or was replaced. O(groups above).
  template <class Done>
  void left(std::size_t pod, bool ended, const Done& done) {
    for (std::optional<std::size_t> group = take_out(pod, ended); group; group = entries_[*group].parent) {
      const entry& of = entries_[*group];
      if (of.open > 0) return;
      done(of.made.composite, of.made.ns, of.made.name);
    }
  }
  /// Another pod comes instead of it.
  void is_replaced(std::size_t pod);
  /// The groups in the order of the files; those that are only named come last. @p pods is what became of the pods.
  [[nodiscard]] std::vector<group_outcome> finish(const std::vector<pod_outcome>& pods) const;

 private:
  struct entry {
    group_outcome made;
    const group_spec* spec = nullptr;  // absent: only named
    std::optional<std::size_t> parent;
    std::vector<std::size_t> pods;
    std::size_t scheduled_children = 0;
    std::size_t open = 0;  ///< pods of it and of groups below that have neither ended nor were replaced
  };
  using full_key = std::tuple<bool, std::string, std::string>;  // composite, namespace, name

  std::size_t find_or_add(bool composite, const std::string& ns, const std::string& name);
  /// The pod has its node no more, if it had one. Its group, if it has one.
  std::optional<std::size_t> take_out(std::size_t pod, bool ended);
  void add_open(std::size_t group, std::ptrdiff_t count);
  void came_to_minimum(std::size_t group, instant now);
  void count_pods(group_outcome& to, std::size_t group, const std::vector<pod_outcome>& pods) const;
  void find_domain(group_outcome& to, std::size_t group, const std::vector<pod_outcome>& pods) const;
  void explain(group_outcome& to, std::size_t group, const std::vector<pod_outcome>& pods) const;
  /// Pods of a group and of those below it.
  [[nodiscard]] std::vector<std::size_t> all_pods(std::size_t group) const;

  std::vector<entry> entries_;
  std::map<full_key, std::size_t> by_name_;
  std::vector<std::optional<std::size_t>> group_of_;  // by pod
  std::vector<std::string> role_of_;
  std::vector<bool> has_node_;
  std::vector<std::vector<std::size_t>> children_;
  std::map<std::string, const label_map*> node_labels_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
