#pragma once
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/undo_log.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The order in which kube-scheduler's snapshot lists the nodes (kube-framework 1.7): zones in the order in which they came to be,
/// one node of each in turn; within a zone by arrival there. It depends on history: a zone that loses its last node loses its place.
/// A removal that may be undone costs O(nodes) more: what was before is kept whole, because they are rare.
class GANGSCHED_API node_tree final : public column_base {
 public:
  node_tree(interner& names, undo_log& undo);

  /// O(zones).
  void add(row_t node, std::span<const label_symbols> labels);
  /// Its labels changed: goes to the end of its zone unless it was there. O(nodes).
  void update(row_t node, std::span<const label_symbols> labels);
  /// O(nodes).
  void remove(row_t node);
  /// Node rows in order. O(nodes) after a change.
  [[nodiscard]] const std::vector<row_t>& rows();

  void restore(row_t row, std::uint32_t sub, std::uint64_t old) noexcept override;
  void discard(std::uint32_t sub, std::uint64_t old) noexcept override;
  void digest_into(digest& out, row_t rows) const override;

 private:
  struct zone {
    symbol region, name;
    std::vector<row_t> nodes;
  };
  static constexpr std::uint32_t whole = 0, added = 1;
  /// The zone of these labels, as it is made.
  [[nodiscard]] zone named(std::span<const label_symbols> labels) const;
  /// The same if it is there, else the end.
  [[nodiscard]] std::vector<zone>::iterator find(const zone& like);
  undo_log* undo_;
  symbol region_key_, zone_key_, old_region_key_, old_zone_key_;
  std::vector<zone> zones_;
  std::vector<row_t> order_;
  bool dirty_ = false;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_tree.cpp"
#endif
