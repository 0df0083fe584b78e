#pragma once
#include <vector>

#include "gangsched/devices/device_fit.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/slots.hpp"
#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct resource_claim_record {
  resource_claim_spec spec;
  symbol ns;
  std::vector<device_demand> devices;
  std::vector<device_match> matches;
  /// Its requirements on a node. O(requests).
  [[nodiscard]] GANGSCHED_API device_wants wants() const;
  GANGSCHED_API void digest_into(digest& out) const;
};

/// Claims of devices that pods share, and their devices. A claim is allocated while it has a node and users. It keeps its devices while a
/// trial removes its last user, so that the user can be put back; a user that leaves for good drops them. A claim that is `kept` has its
/// node without users.
struct resource_claim_table {
  explicit resource_claim_table(undo_log& undo)
      : rows(undo),
        record(undo),
        classes(undo),
        users(undo),
        node(undo, no_row),
        kept(undo),
        held(undo),
        by_name(undo) {}

  slots rows;
  object_column<resource_claim_record> record;
  column<std::uint32_t> classes;     ///< of pods that name it, those with pods
  column<std::uint32_t> users;       ///< pods on nodes that name it
  column<row_t> node;                ///< where its devices are
  column<bool> kept;                 ///< it was allocated before a pod used it, and no user has run since
  object_column<device_claim> held;  ///< null: nowhere
  name_index by_name;

  [[nodiscard]] bool contains(resource_claim_id id) const noexcept {
    return id.row < rows.count() && record[id.row] != nullptr && rows.generation(id.row) == id.generation;
  }
  /// The node where it is allocated, or no_row.
  [[nodiscard]] row_t allocated_on(row_t row) const noexcept { return counts(row) ? node[row] : no_row; }
  /// Its devices, if it has any, are in use.
  [[nodiscard]] bool counts(row_t row) const noexcept { return users[row] != 0 || kept[row]; }

  void forget(row_t row) {
    held.set(row, nullptr);
    node.set(row, no_row);
    kept.set(row, false);
  }

  void digest_into(digest& out) const {
    rows.digest_into(out);
    for (const column_base* one : std::initializer_list<const column_base*>{&record, &users, &node, &kept, &held}) {
      one->digest_into(out, rows.count());
    }
    for (row_t row = 0; row < rows.count(); ++row) out.add(std::uint64_t{classes[row] != 0});
    by_name.digest_into(out, 0);
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::model
