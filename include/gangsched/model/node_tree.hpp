#pragma once
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/core/peer.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/undo_log.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// The order in which kube-scheduler's snapshot lists the nodes (backend/cache/node_tree.go): zones in the order of creation, one node of
/// each in turn; within a zone in the order in which they were added to it. It depends on history: a zone that loses its last node loses
/// its place.
class GANGSCHED_API node_tree final : public column_base {
 public:
  node_tree(interner& names, undo_log& undo);

  /// O(labels + log zones).
  void add(row_t node, std::span<const label_symbols> labels);
  /// Its labels changed: goes to the end of its zone unless it was there. O(labels + log zones).
  void update(row_t node, std::span<const label_symbols> labels);
  /// O(1).
  void remove(row_t node);
  /// Node rows in order. O(nodes) after a change.
  [[nodiscard]] const std::vector<row_t>& rows();
  /// Zone by zone: adding them again in this order reproduces the order. O(nodes).
  [[nodiscard]] std::vector<row_t> by_zone() const;
  /// Forgets the numbers of zones that have no node. @pre nothing is left to be undone. O(nodes + zones).
  void sweep();

  void restore(row_t row, std::uint32_t sub, std::uint64_t old) noexcept override;
  void digest_into(digest& out, row_t rows) const override;

 private:
  struct links {
    row_t before = no_row, after = no_row;
  };
  struct ends {
    row_t first = no_row, last = no_row;
  };
  /// A zone without nodes has no place in the list; until a sweep its number is kept for the same region and zone.
  struct zone {
    links at;
    ends nodes;
    std::size_t count = 0;
  };
  struct place {
    row_t zone = no_row;
    links at;
  };
  using words = std::pair<std::uint32_t, std::uint32_t>;  ///< of region and zone
  enum saved : std::uint32_t { node_added, node_removed, node_zone, node_links, zone_links };

  [[nodiscard]] words zone_words(std::span<const label_symbols> labels) const;
  void link(row_t node) noexcept;
  void relink(row_t node) noexcept;
  void unlink(row_t node) noexcept;
  peer<undo_log> undo_;
  symbol region_key_, zone_key_, old_region_key_, old_zone_key_;
  std::map<words, row_t> numbers_;  // of zones
  std::vector<zone> zones_;
  std::vector<place> places_;  // by row
  ends order_of_zones_;
  std::vector<row_t> order_;
  bool dirty_ = false;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_tree.cpp"
#endif
