#pragma once
#include <optional>

#include "gangsched/devices/device_fit.hpp"
#include "gangsched/framework/views.hpp"

/// The members of node_view about devices. In a header of their own, because few hooks read devices.
namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

[[nodiscard]] GANGSCHED_API device_wants wants_of(const model::viewed_tables& tables, const pod_class& cls, row_t node);
[[nodiscard]] GANGSCHED_API std::optional<device_want> only_want(const model::viewed_tables& tables,
                                                                 const pod_class& cls, row_t node);
[[nodiscard]] GANGSCHED_API status devices_fit_on(const model::viewed_tables& tables, const pod_class& cls, row_t node,
                                                  const device_rules& rules);

}  // namespace detail

template <reads Reads>
device_state node_view<Reads>::devices() const noexcept {
  needs<reads::devices>();
  const device_inventory* const inventory = state_->nodes.inventory[row_];
  return inventory != nullptr ? device_state{inventory, state_->nodes.devices.row(row_)} : device_state{};
}
template <reads Reads>
device_wants node_view<Reads>::wants_of(const pod_class& cls) const {
  needs<reads::devices>();
  return detail::wants_of(*state_, cls, row_);
}
template <reads Reads>
std::optional<device_want> node_view<Reads>::only_want(const pod_class& cls) const {
  needs<reads::devices>();
  return detail::only_want(*state_, cls, row_);
}
template <reads Reads>
status node_view<Reads>::devices_fit(const pod_class& cls, const device_rules& rules) const {
  needs<reads::devices>();
  return detail::devices_fit_on(*state_, cls, row_, rules);
}

}  // namespace gangsched::inline GANGSCHED_ABI
