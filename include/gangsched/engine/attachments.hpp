#pragma once
#include <cstddef>

#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

/// What plugins register in the cluster while a scheduler is made (columns, default spreading). Undone without `keep`.
class attachments {
 public:
  explicit attachments(model::cluster_state& state) noexcept
      : state_(&state), columns_(state.columns.mark()), spread_(state.counting.default_spread.size()) {}
  attachments(const attachments&) = delete;
  attachments& operator=(const attachments&) = delete;
  ~attachments() {
    if (state_ == nullptr) return;
    state_->columns.cut(columns_);
    state_->counting.default_spread.erase(
        state_->counting.default_spread.begin() + static_cast<std::ptrdiff_t>(spread_),
        state_->counting.default_spread.end());
  }
  void keep() noexcept { state_ = nullptr; }

 private:
  model::cluster_state* state_;
  model::own_columns::extent columns_;
  std::size_t spread_;
};

}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI::engine
