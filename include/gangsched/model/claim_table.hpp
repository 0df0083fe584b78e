#pragma once
#include <cstdint>

#include "gangsched/model/column.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// How many pods on nodes use each exclusive claim, by the symbol of "namespace/claim".
class claim_table {
 public:
  explicit claim_table(undo_log& undo) : users_(undo) {}

  [[nodiscard]] std::uint32_t users(symbol claim) const noexcept {
    return claim.value < rows_ ? users_[claim.value] : 0;
  }
  void add(symbol claim, std::int32_t pods) {
    if (claim.value >= rows_) users_.grow(claim.value + 1), rows_ = claim.value + 1;
    users_.set(claim.value, users_[claim.value] + static_cast<std::uint32_t>(pods));
  }

 private:
  column<std::uint32_t> users_;
  row_t rows_ = 0;  ///< symbols there is room for; never fewer
};

}  // namespace gangsched::inline GANGSCHED_ABI::model
