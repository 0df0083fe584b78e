#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/model/pod_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// In a search for victims: beside which classes of pods, back on which nodes, members had no room. Another pod of the class need not be
/// tried while the same pods are away from the node, where members have their nodes, or from the cluster, where they may go anywhere.
class known_misfits {
 public:
  enum class scope : std::uint8_t { node, cluster };

  /// Follows which pods are away from now on. O(nodes) once.
  void follow(std::size_t nodes) {
    if (nodes_.empty()) nodes_.resize(nodes);
  }
  void came_back(row_t pod, row_t node) noexcept {
    if (nodes_.empty()) return;
    last_ = {pod, node, nodes_[node].version, cluster_};
    nodes_[node].version = cluster_ = ++clock_;
  }
  /// If it is the last that came back, all is again as before.
  void went(row_t pod, row_t node) noexcept {
    if (nodes_.empty()) return;
    const bool again = last_.pod == pod;
    nodes_[node].version = again ? last_.version : clock_ + 1;
    cluster_ = again ? last_.cluster : clock_ + 1;
    if (!again) ++clock_;
    last_.pod = no_row;
  }
  /// Of no pod anything is known any more: members are supposed to go elsewhere, or were put somewhere. O(1).
  void forget() noexcept {
    valid_from_ = all_.size();
    last_.pod = no_row;
  }

  /// Differs whenever other pods are away.
  [[nodiscard]] std::uint64_t version() const noexcept { return cluster_; }
  /// The pod that came back last, if nothing has changed since; or no_row.
  [[nodiscard]] row_t last() const noexcept { return last_.pod; }
  /// Members have no room beside it, a pod of class @p cls. O(classes that are known of its node).
  void note_last(class_id cls, scope of) {
    entry* known = find(last_.node, cls);
    if (known == nullptr) {
      known = &all_.emplace_back(entry{cls, nodes_[last_.node].first});
      nodes_[last_.node].first = all_.size();
    }
    if (of == scope::node)
      known->version = last_.version;
    else
      known->cluster = last_.cluster;
  }
  /// Whether this is known of a pod of class @p cls that is away from @p node. O(classes that are known of the node).
  [[nodiscard]] bool knows(row_t node, class_id cls, scope of) const noexcept {
    return !nodes_.empty() && knows(node, cls, of, nodes_[node].version, cluster_);
  }
  /// Whether it is known of the last one.
  [[nodiscard]] bool knows_last(class_id cls, scope of) const noexcept {
    return last_.pod != no_row && knows(last_.node, cls, of, last_.version, last_.cluster);
  }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  struct entry {
    class_id cls;
    std::size_t next;               ///< 1 + an older one of the node
    std::uint64_t version = never;  ///< of the node without the pod, when members had no room there beside it
    std::uint64_t cluster = never;  ///< of the cluster without the pod, when they had no room anywhere
  };
  struct on_node {
    std::uint64_t version = 0;  ///< moves with the pods that are there
    std::size_t first = 0;      ///< 1 + the newest entry
  };
  struct return_of {
    row_t pod = no_row, node = no_row;
    std::uint64_t version = 0, cluster = 0;  ///< before it
  };

  [[nodiscard]] const entry* find(row_t node, class_id cls) const noexcept {
    for (std::size_t at = nodes_[node].first; at > valid_from_; at = all_[at - 1].next)
      if (all_[at - 1].cls == cls) return &all_[at - 1];
    return nullptr;
  }
  [[nodiscard]] entry* find(row_t node, class_id cls) noexcept {
    return const_cast<entry*>(static_cast<const known_misfits&>(*this).find(node, cls));
  }
  [[nodiscard]] bool knows(row_t node, class_id cls, scope of, std::uint64_t version,
                           std::uint64_t cluster) const noexcept {
    const entry* const known = find(node, cls);
    return known != nullptr && (of == scope::node ? known->version == version : known->cluster == cluster);
  }

  std::vector<on_node> nodes_;  ///< by row; empty: nothing is followed
  std::vector<entry> all_;
  std::size_t valid_from_ = 0;
  std::uint64_t clock_ = 0, cluster_ = 0;
  return_of last_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
