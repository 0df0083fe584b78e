#include "gangsched/model/image_table.hpp"

#include "gangsched/core/interner.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE void image_table::add(std::span<const image_symbols> images) {
  for (const image_symbols& one : images) {
    const row_t row = one.name.value;
    if (row >= rows_) {
      size_.grow(row + 1);
      nodes_.grow(row + 1);
      rows_ = row + 1;
    }
    if (nodes_[row] == 0) size_.set(row, one.size_bytes);
    nodes_.set(row, nodes_[row] + 1);
  }
}

GANGSCHED_INLINE void image_table::remove(std::span<const image_symbols> images) {
  for (const image_symbols& one : images) {
    const row_t row = one.name.value;
    nodes_.set(row, nodes_[row] - 1);
    if (nodes_[row] == 0) size_.set(row, 0);
  }
}

GANGSCHED_INLINE void image_table::replace(std::span<const image_symbols> before,
                                           std::span<const image_symbols> after) {
  while (!before.empty() || !after.empty()) {
    if (after.empty() || (!before.empty() && before.front().name < after.front().name)) {
      remove(before.first(1));
      before = before.subspan(1);
    } else if (before.empty() || after.front().name < before.front().name) {
      add(after.first(1));
      after = after.subspan(1);
    } else {  // it stays; if only this node lists it, its size is the node's
      const row_t row = after.front().name.value;
      if (nodes_[row] == 1 && size_[row] != after.front().size_bytes) size_.set(row, after.front().size_bytes);
      before = before.subspan(1), after = after.subspan(1);
    }
  }
}

GANGSCHED_INLINE void image_table::digest_into(digest& out) const {
  // Names without nodes count for nothing: a discarded trial may have made room for them.
  std::uint64_t sum = 0;
  for (row_t row = 0; row < rows_; ++row) {
    if (nodes_[row] == 0) continue;
    digest one = out.another();
    add_name(one, symbol{row});
    one.add(nodes_[row]);
    one.add(static_cast<std::uint64_t>(size_[row]));
    sum += one.value();
  }
  out.add(sum);
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
