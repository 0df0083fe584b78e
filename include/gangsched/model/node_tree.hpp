#pragma once
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/model/pod_class.hpp"

namespace gangsched {

/// The order in which kube-scheduler's snapshot lists the nodes (kube-framework 1.7): zones in the order in which they came to be,
/// one node of each in turn; within a zone by arrival there. It depends on history: a zone that loses its last node loses its place.
class GANGSCHED_API node_tree {
 public:
  explicit node_tree(interner& names);

  /// O(zones).
  void add(row_t node, std::span<const label_symbols> labels);
  /// Its labels changed: goes to the end of its zone unless it was there. O(nodes).
  void update(row_t node, std::span<const label_symbols> labels);
  /// O(nodes).
  void remove(row_t node);
  /// Node rows in order. O(nodes) after a change.
  [[nodiscard]] const std::vector<row_t>& rows();

 private:
  struct zone {
    symbol region, name;
    std::vector<row_t> nodes;
  };
  /// The zone of these labels, made on first sight.
  zone& zone_of(std::span<const label_symbols> labels);
  symbol region_key_, zone_key_, old_region_key_, old_zone_key_;
  std::vector<zone> zones_;
  std::vector<row_t> order_;
  bool dirty_ = false;
};

}  // namespace gangsched

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_tree.cpp"
#endif
